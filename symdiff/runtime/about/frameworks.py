"""Other libraries that take kernels as functions: each is a module of ``integrations``, imported when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import UnsupportedError

__all__ = ["tool", "wrapped"]

#: Names of libraries, as users of symdiff know them and as pip installs them.
_PACKAGES = {"jax": "jax", "torch": "torch", "numba": "numba", "scipy": "scipy"}


def wrapped(library: str, kernel: Any, *options: Any) -> Any:
    """Return a kernel as a function of a library.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or cannot take the kernel.
    """
    try:
        import_module(library)
    except ImportError as error:
        raise UnsupportedError(
            f"{library} is not installed here ({error}); install it, e.g. by pip install {_PACKAGES[library]}"
        ) from None
    return import_module(f"symdiff.integrations.{library}").wrap(kernel, *options)


def tool(module: str) -> Any:
    """Return a module of ``tools``, which stands above kernels and is imported when somebody asks for it."""
    return import_module(f"symdiff.tools.{module}")
