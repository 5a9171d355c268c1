"""What a kernel takes and gives, as libraries need it that differentiate or spread its calls: one place for all."""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedError
from ...frontend.array import Array
from ...frontend.outputs import LEAF, template_of
from ...graph import input
from ...runtime.kernel import Kernel

__all__ = ["check_one_sample", "free_name", "symbols_of", "template_of_results"]


def check_one_sample(kernel: Kernel, library: str, instead: str) -> None:
    """Refuse a kernel that is no function of arrays for one sample.

    Parameters
    ----------
    kernel : Kernel
    library : str
        Name of the library, for the message.
    instead : str
        What takes the place of ``reduce`` and of batch axes in the library.

    Raises
    ------
    UnsupportedError
        For a kernel that sums over its batch, has batch axes behind, or takes structures.
    """
    if kernel.options.is_reduced or kernel.options.in_columns or kernel.options.groups is not None:
        raise UnsupportedError(
            f"a function of {library} of a kernel with reduce=, batch_axis=-1 or structures as arguments; expected a "
            f"kernel of one sample ({instead})"
        )


def symbols_of(kernel: Kernel) -> list[Array]:
    """Return a symbol for each input, of its name, shape and kind, and with all that is declared of it."""
    return [Array(input(p.name, p.shape, p.dtype, assumptions=p.assumptions)) for p in kernel.inputs]


def template_of_results(kernel: Kernel) -> Any:
    """Return the structure of a kernel's results."""
    return template_of(kernel(*symbols_of(kernel))) if kernel.outputs else LEAF


def free_name(name: str, names: set[str]) -> str:
    """Return a name that is not among others, with marks behind it where it would be."""
    while name in names:
        name += "_"
    return name
