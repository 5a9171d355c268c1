"""Other libraries that take kernels as functions: each is a module of ``symdiff.libraries``, by way of ``later``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import UnsupportedError
from ...ground.stages import later

__all__ = ["wrapped"]

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
    return getattr(later, library).wrap(kernel, *options)
