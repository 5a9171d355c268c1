"""Kernels as functions of JAX: under jit, vmap, and grad of any order.

Three primitives call kernels back with NumPy's arrays (``jax.pure_callback``): the kernel itself, its jvp by one input,
and its vjp by one input. Each of the last two is the transpose of the other, and both are kernels that symdiff derives.
So forward and reverse mode, and derivatives of derivatives, follow without the matrix that they multiply by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..errors import ShapeError
from ..frontend.outputs import leaves, pack
from ..graph import INT
from ..graph.size_equations import bind
from ..graph.sizes import Size, show
from ..runtime.calls.arguments import sample_shape
from ..runtime.kernel import Kernel
from .signature import check_one_sample, pulled, pushed, template_of_results

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
        Takes arrays for one sample of each input, of whole numbers for positions (``jax.vmap`` adds batch axes), and
        returns arrays in the kernel's structure. Numbers have JAX's type: float64 where ``jax_enable_x64`` is set,
        float32 otherwise.

    Raises
    ------
    UnsupportedError
        For a kernel that sums over its batch, has batch axes behind, or takes structures.
    """
    check_one_sample(kernel, "JAX", "jax.vmap and jnp.sum take the place of the first two")
    own, template = _Kernel(kernel), template_of_results(kernel)

    def call(*args: Any) -> Any:
        if len(args) != len(kernel.inputs):
            raise ShapeError(f"{len(args)} arguments; expected {len(kernel.inputs)}: {kernel.signature}")
        kinds = [jnp.result_type(int if p.dtype is INT else float) for p in kernel.inputs]
        arrays = [jnp.asarray(arg, kind) for arg, kind in zip(args, kinds, strict=True)]
        for p, array in zip(kernel.inputs, arrays, strict=True):
            fits = [isinstance(want, Size) or want == got for want, got in zip(p.shape, array.shape, strict=False)]
            if array.ndim != len(p.shape) or not all(fits):
                came = f"{p.name} has shape {show(array.shape)}"
                raise ShapeError(f"{came}; expected {show(p.shape)} (jax.vmap adds axes of a batch)")
        return pack(template, iter(_value.bind(*arrays, own=own)))

    call.__name__ = call.__qualname__ = "kernel"
    call.__doc__ = f"{kernel.signature}, of JAX's arrays."
    return call


class _Kernel:
    """A kernel, and those of its products with a Jacobian once they are asked for."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.pushes: dict[int, _Kernel] = {}
        self.pulls: dict[int, _Kernel] = {}

    def push(self, number: int) -> _Kernel:
        """Return the jvp by one input, whose tangent stands behind the inputs."""
        if number not in self.pushes:
            self.pushes[number] = _Kernel(pushed(self.kernel, (number,)))
        return self.pushes[number]

    def pull(self, number: int) -> _Kernel:
        """Return the vjp by one input, with a cotangent for each output behind the inputs."""
        if number not in self.pulls:
            self.pulls[number] = _Kernel(pulled(self.kernel, number))
        return self.pulls[number]

    def run(self, *args: Any) -> list[Any]:
        """Return the results of a batch."""
        arrays = [np.asarray(arg) for arg in args]
        return [np.asarray(result, _real(arrays)) for result in leaves(self.kernel(*arrays))]

    def shapes(self, given: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Return the shapes of the results: axes of the batch, which arguments share or lack, then a sample's."""
        inputs = self.kernel.inputs
        own = [shape[len(shape) - len(p.shape) :] for p, shape in zip(inputs, given, strict=True)]
        leads = [shape[: len(shape) - len(sample)] for shape, sample in zip(given, own, strict=True)]
        sizes = bind([p.name for p in inputs], [p.shape for p in inputs], own)
        lead = np.broadcast_shapes(*leads)
        return [(*lead, *sample_shape(p.shape, sizes)) for p in self.kernel.outputs]


def _real(arrays: Sequence[Any]) -> Any:
    """Return the type of the real numbers among arrays, of which others hold positions."""
    reals = [array.dtype for array in arrays if jnp.issubdtype(array.dtype, jnp.floating)]
    return reals[0] if reals else jnp.result_type(float)


def _chosen(own: _Kernel, number: int | None, way: str | None) -> _Kernel:
    if number is None:
        return own
    return own.push(number) if way == "push" else own.pull(number)


def _primitive(name: str, way: str | None) -> Primitive:
    """Return a primitive that calls a kernel, its jvp or its vjp, with its shapes, its program and its batches."""
    made = Primitive(name)
    made.multiple_results = True

    def abstract(*args: Any, own: _Kernel, number: int | None = None) -> list[Any]:
        found = _chosen(own, number, way).shapes([arg.shape for arg in args])
        return [jax.core.ShapedArray(shape, _real(args)) for shape in found]

    def compute(*args: Any, own: _Kernel, number: int | None = None) -> list[Any]:
        called = _chosen(own, number, way)
        kinds = [jax.ShapeDtypeStruct(shape, _real(args)) for shape in called.shapes([arg.shape for arg in args])]
        results: list[Any] = jax.pure_callback(called.run, kinds, *args, vmap_method="broadcast_all")
        return results

    def map_batch(args: Sequence[Any], axes: Sequence[Any], own: _Kernel, number: int | None = None) -> tuple[Any, Any]:
        """Call the kernel once: the mapped axis is one more of its batch, in front of all others."""
        ranks = [len(p.shape) for p in _chosen(own, number, way).kernel.inputs]
        leads = [jnp.ndim(a) - n - (at is not None) for a, n, at in zip(args, ranks, axes, strict=True)]
        moved = []
        for array, axis, lead in zip(args, axes, leads, strict=True):
            if axis is None:
                moved.append(array)
                continue
            front = jnp.moveaxis(array, axis, 0)
            moved.append(front.reshape(front.shape[:1] + (1,) * (max(leads) - lead) + front.shape[1:]))
        named = {} if number is None else {"number": number}
        results = made.bind(*moved, own=own, **named)
        return results, [0] * len(results)

    made.def_impl(jax.jit(compute, static_argnames=("own", "number")))
    made.def_abstract_eval(abstract)
    mlir.register_lowering(made, mlir.lower_fun(compute, multiple_results=True))
    batching.primitive_batchers[made] = map_batch
    return made


_value = _primitive("symdiff_value", None)
_push = _primitive("symdiff_jvp", "push")
_pull = _primitive("symdiff_vjp", "pull")


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, ad.Zero)


def _along(primals: Sequence[Any], tangents: Sequence[Any], own: _Kernel) -> list[Any]:
    """Return the terms of a derivative wrt the first arguments, in the direction of the tangents that are not zero."""
    return [
        _push.bind(*primals, tangent, own=own, number=number)
        for number, tangent in enumerate(tangents)
        if not _is_zero(tangent)
    ]


def _added(results: Sequence[Any], terms: Sequence[Sequence[Any]]) -> list[Any]:
    if not terms:
        return [ad.Zero.from_primal_value(one) for one in results]
    return [sum(each[1:], each[0]) for each in zip(*terms, strict=True)]


def _value_jvp(primals: Sequence[Any], tangents: Sequence[Any], own: _Kernel) -> tuple[Any, Any]:
    results = _value.bind(*primals, own=own)
    return results, _added(results, _along(primals, tangents, own))


def _linear_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], own: _Kernel, number: int
) -> tuple[Any, Any]:
    """Return a product with a Jacobian and its tangent: it is linear in the arguments behind the inputs."""
    results = primitive.bind(*primals, own=own, number=number)
    count = len(own.kernel.inputs)
    called = own.push(number) if primitive is _push else own.pull(number)
    terms = _along(primals, tangents[:count], called)
    if not all(map(_is_zero, tangents[count:])):
        given = [ad.instantiate_zeros(one) for one in tangents[count:]]
        terms.append(primitive.bind(*primals[:count], *given, own=own, number=number))
    return results, _added(results, terms)


def _turned(primitive: Primitive, cotangents: Sequence[Any], *args: Any, own: _Kernel, number: int) -> list[Any]:
    """Transpose a product with a Jacobian: that of the other direction, summed over what arguments share."""
    count = len(own.kernel.inputs)
    given = [ad.instantiate_zeros(one) for one in cotangents]
    found = (_pull if primitive is _push else _push).bind(*args[:count], *given, own=own, number=number)
    return [None] * count + [
        _summed(one, arg.aval.shape) if ad.is_undefined_primal(arg) else None
        for one, arg in zip(found, args[count:], strict=True)
    ]


def _summed(array: Any, shape: tuple[int, ...]) -> Any:
    array = array.sum(tuple(range(array.ndim - len(shape))))
    shared = tuple(k for k, (n, m) in enumerate(zip(array.shape, shape, strict=True)) if m == 1 and n > 1)
    return array.sum(shared, keepdims=True) if shared else array


ad.primitive_jvps[_value] = _value_jvp
for _each in (_push, _pull):
    ad.primitive_jvps[_each] = partial(_linear_jvp, _each)
    ad.primitive_transposes[_each] = partial(_turned, _each)
