"""Symbols and results of a kernel, for libraries that call it, and kernels of the products with its Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compiler import compile
from ..errors import UnsupportedError
from ..frontend import derivatives
from ..frontend.array import Array
from ..frontend.outputs import LEAF, leaves, template_of
from ..frontend.provenance import of_inputs
from ..frontend.symbols import symbol
from ..graph import input
from ..runtime.kernel import Kernel
from ..runtime.options import Backend

__all__ = ["check_one_sample", "free_name", "pulled", "pushed", "symbols_of", "template_of_results", "with_inputs"]


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


def with_inputs(formula: Array, inputs: Sequence[Array]) -> Array:
    """Return a formula of these inputs in this order, whether it depends on each or not."""
    return Array(formula.node, of_inputs(one.node for one in inputs).joined(formula.provenance))


def free_name(name: str, names: set[str]) -> str:
    """Return a name that is not among others, with marks behind it where it would be."""
    while name in names:
        name += "_"
    return name


def pulled(kernel: Kernel, number: int) -> Kernel:
    """Return the kernel of the vjp by one input, with a cotangent for each output behind the inputs."""
    symbols = symbols_of(kernel)
    formulas: list[Array] = leaves(kernel(*symbols))
    names = {p.name for p in kernel.inputs}
    seeds = [symbol(free_name(f"cotangent{k}", names), one.node.shape) for k, one in enumerate(formulas)]
    parts = [
        derivatives.vjp(one, symbols[number], seed, disconnected="zero")
        for one, seed in zip(formulas, seeds, strict=True)
    ]
    return compile(sum(parts[1:], parts[0]), [*symbols, *seeds], backend=_backend(kernel))


def pushed(kernel: Kernel, numbers: Sequence[int]) -> Kernel:
    """Return the kernel of the jvp by some inputs, with a tangent for each of these behind the inputs."""
    symbols = symbols_of(kernel)
    names = {p.name for p in kernel.inputs}
    tangents = [symbol(free_name(f"tangent{k}", names), symbols[k].node.shape) for k in numbers]
    wrt = tuple(symbols[k] for k in numbers)
    parts = [derivatives.jvp(one, wrt, tuple(tangents), disconnected="zero") for one in leaves(kernel(*symbols))]
    return compile(parts, [*symbols, *tangents], backend=_backend(kernel))


def _backend(kernel: Kernel) -> Backend:
    return "numpy" if kernel.backend == "numpy" else "auto"
