"""Kernels of the products with a kernel's Jacobian, which libraries of automatic differentiation ask for."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler import compile
from ...frontend import derivatives
from ...frontend.array import Array
from ...frontend.outputs import leaves
from ...frontend.symbols import symbol
from ...runtime.kernel import Kernel
from ...runtime.options import Backend
from .signature import free_name, symbols_of

__all__ = ["pulled", "pushed"]


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
