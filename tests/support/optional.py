"""Modules of the package whose libraries may not be installed."""

from __future__ import annotations

#: Ends of their names.
OPTIONAL = tuple(f".libraries.{name}" for name in ("dask", "jax", "numba", "torch", "read_jax", "read_torch"))
