"""Kernels as functions of JAX: under jit, vmap, and grad of any order.

JAX calls the kernel back with NumPy's arrays (``jax.pure_callback``), and gets derivatives as further kernels: the
tangent is the Jacobian, which a kernel computes, times the tangents of the inputs, which JAX multiplies. So forward and
reverse mode, and derivatives of derivatives, follow from one rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..compiler import compile
from ..errors import ShapeError
from ..frontend import derivatives
from ..frontend.array import Array
from ..frontend.outputs import leaves, pack
from ..graph.size_equations import bind
from ..graph.sizes import Size, show
from ..runtime.calls.arguments import sample_shape
from ..runtime.kernel import Kernel
from ..runtime.options import Backend
from .signature import check_one_sample, symbols_of, template_of_results

__all__ = ["wrap"]


def wrap(kernel: Kernel) -> Callable[..., Any]:
    """Return a kernel as a function of JAX's arrays.

    Parameters
    ----------
    kernel : Kernel
        Without ``reduce`` and with batch axes in front.

    Returns
    -------
    callable
        Takes arrays for one sample of each input (``jax.vmap`` adds batch axes), and returns arrays in the kernel's
        structure. Numbers have JAX's type: float64 where ``jax_enable_x64`` is set, float32 otherwise.

    Raises
    ------
    UnsupportedError
        For a kernel that sums over its batch, has batch axes behind, or takes structures or positions.
    """
    check_one_sample(kernel, "JAX", "jax.vmap and jnp.sum take the place of the first two")
    return _Function(kernel).callable


class _Function:
    """A kernel, and the function of its Jacobians once that is asked for."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.template = template_of_results(kernel)
        self.slopes: dict[int, Callable[..., Any]] = {}
        function = jax.custom_jvp(self._call)
        function.defjvp(self._tangents)
        self.callable: Callable[..., Any] = function

    def _call(self, *args: Any) -> Any:
        kernel = self.kernel
        if len(args) != len(kernel.inputs):
            raise ShapeError(f"{len(args)} arguments; expected {len(kernel.inputs)}: {kernel.signature}")
        dtype = jnp.result_type(float)
        arrays = [jnp.asarray(arg, dtype) for arg in args]
        for p, array in zip(kernel.inputs, arrays, strict=True):
            fits = [isinstance(want, Size) or want == got for want, got in zip(p.shape, array.shape, strict=False)]
            if array.ndim != len(p.shape) or not all(fits):
                came = f"{p.name} has shape {show(array.shape)}"
                raise ShapeError(f"{came}; expected {show(p.shape)} (jax.vmap adds axes of a batch)")
        sizes = bind([p.name for p in kernel.inputs], [p.shape for p in kernel.inputs], [a.shape for a in arrays])
        kinds = [jax.ShapeDtypeStruct(sample_shape(p.shape, sizes), dtype) for p in kernel.outputs]
        results = jax.pure_callback(self._run, kinds, *arrays, vmap_method="expand_dims")
        return pack(self.template, iter(results))

    def _run(self, *args: Any) -> list[Any]:
        results = self.kernel(*(np.asarray(arg) for arg in args))
        return [np.asarray(result) for result in leaves(results)]

    def _tangents(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        result = self.callable(*primals)
        totals: list[Any] = [jnp.zeros_like(one) for one in leaves(result)]
        for number, tangent in enumerate(tangents):
            if isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                continue
            for k, slope in enumerate(leaves(self._slope(number)(*primals))):
                totals[k] = totals[k] + jnp.tensordot(slope, tangent, axes=jnp.ndim(tangent))
        return result, pack(self.template, iter(totals))

    def _slope(self, number: int) -> Callable[..., Any]:
        """Return the function of the Jacobians of all outputs by one input."""
        if number not in self.slopes:
            symbols = symbols_of(self.kernel)
            formulas: list[Array] = leaves(self.kernel(*symbols))
            parts = [derivatives.jacobian(one, symbols[number], disconnected="zero") for one in formulas]
            backend: Backend = "numpy" if self.kernel.backend == "numpy" else "auto"
            self.slopes[number] = wrap(compile(parts, symbols, backend=backend))
        return self.slopes[number]
