"""Kernels in the forms that SciPy takes: integrands, filters of images, and linear operators for iterative solvers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import LowLevelCallable

from ..codegen.c.standalone import FILTER, INTEGRAND
from ..compiler import compile
from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..frontend.array import Array
from ..frontend.array_derivatives import hvp, jvp, vjp
from ..frontend.formula import merge_shapes, order_inputs, read_formula
from ..frontend.symbols import array
from ..graph.sizes import show
from ..ground.budget import budgeted
from ..ground.guard import guarded
from ..ground.limits import Budget
from ..runtime.calls.arguments import Parameter, match, sample_shape, stack_batches
from ..runtime.kernel import Kernel

__all__ = ["OperatorKernel", "linear_operator", "wrap"]


class OperatorKernel:
    """A function of the inputs of a formula that returns a linear operator at them.

    Parameters
    ----------
    inputs : sequence of Parameter
        Of the formula, in the order of a call.
    shapes : two of tuple
        Of the formula and of the variable.
    forward : Kernel
        Products with the matrix; takes a vector behind the inputs.
    backward : Kernel
        Products with its transpose; the same for a Hessian.
    """

    def __init__(self, inputs: Sequence[Parameter], shapes: tuple[Any, Any], forward: Kernel, backward: Kernel) -> None:
        self.inputs = tuple(inputs)
        self._shapes = shapes
        self.forward = forward
        self.backward = backward

    @guarded
    def __call__(self, *args: Any, inputs: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """Return the operator at a point.

        Parameters
        ----------
        *args, **named, inputs
            The inputs of the formula, one sample, as for a kernel.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            Of shape (size of the formula, size of the variable), float32 if all inputs are, else float64. A vector is
            an array of the variable, flattened; several of them are columns.

        Raises
        ------
        ArgumentError, ShapeError, DtypeError
            If an input does not fit.
        """
        from scipy.sparse.linalg import LinearOperator

        point = match(self.inputs, args, {**named, **(inputs or {})})
        batch = stack_batches(self.inputs, point, frozenset(), columns=False)
        rows, columns = (sample_shape(shape, batch.sizes) for shape in self._shapes)
        arrays = [np.array(own) for own in batch.arrays]  # as they are now

        def product(kernel: Kernel, vectors: Any, shape: tuple[int, ...]) -> Any:
            own = np.asarray(vectors, batch.dtype)
            if own.ndim == 1:
                return np.asarray(kernel(*arrays, own.reshape(shape))).reshape(-1)
            several = np.ascontiguousarray(own.T).reshape(-1, *shape)
            return np.asarray(kernel(*arrays, several)).reshape(own.shape[1], -1).T

        return LinearOperator(
            (int(np.prod(rows)), int(np.prod(columns))),
            dtype=batch.dtype,
            matvec=lambda v: product(self.forward, np.reshape(v, -1), columns),
            rmatvec=lambda v: product(self.backward, np.reshape(v, -1), rows),
            matmat=lambda v: product(self.forward, v, columns),
            rmatmat=lambda v: product(self.backward, v, rows),
        )

    def __repr__(self) -> str:
        return f"<symdiff.OperatorKernel ({', '.join(map(str, self.inputs))})>"


@guarded
@budgeted
def linear_operator(
    formula: Any,
    wrt: Any,
    /,
    inputs: Sequence[Any] | None = None,
    *,
    hessian: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> OperatorKernel:
    """Compile products with a Jacobian, or with a Hessian, for ``scipy.sparse.linalg``.

    Parameters
    ----------
    formula : str, SymPy expression or Array
        Of any shape; a scalar for a Hessian.
    wrt : Array, SymPy symbol or str
        One input, part of one or sub-formula.
    inputs : sequence, optional
        Order of the inputs, as for :func:`symdiff.compile`.
    hessian : bool
        Second derivatives of a scalar (its products are hvp), in place of first ones (jvp and vjp).
    backend, threads
        As for :func:`symdiff.compile`.
    shapes, functions, budget, **named_shapes
        Shapes of the inputs of text, what it may call besides, and how much work it may take.

    Returns
    -------
    OperatorKernel
        Call it with the inputs of the formula: it gives the ``LinearOperator`` at that point.

    Raises
    ------
    ArgumentError, ShapeError
        For several formulas or variables, and for the Hessian of what is no scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> at = sd.linear_operator("x[1:] * x[:-1]", "x", x="n")
    >>> J = at(np.arange(4.0))
    >>> J.shape, J @ np.ones(4), J.T @ np.ones(3)
    ((3, 4), array([1., 3., 5.]), array([1., 2., 4., 2.]))
    """
    keywords = ("inputs", "hessian", "backend", "threads", "shapes", "functions", "budget")
    read = read_formula(formula, merge_shapes(shapes, named_shapes), keywords, functions)
    if not isinstance(read.value, Array):
        raise ArgumentError("linear_operator of several formulas; expected one")
    by = read.variables(wrt)
    if not isinstance(by, Array):
        raise ArgumentError(f"wrt={wrt!r:.60}; expected one array (stack several into one)")
    arguments = {name: Array(node) for name, node in order_inputs(read, inputs).items()}
    read.refuse_unused()
    f = read.value
    if hessian and f.shape != ():
        raise ShapeError(f"the Hessian of a formula of shape {show(f.shape)}; expected a scalar")
    name = "vector"
    while name in arguments:
        name += "_"
    right = array(name, by.node.shape)
    own = [*arguments.values()]
    options: dict[str, Any] = {"backend": backend, "threads": threads, "batch": [right]}
    if hessian:
        forward = backward = compile(hvp(f, by, right), [*own, right], **options)
    else:
        left = array(name, f.node.shape)
        forward = compile(jvp(f, by, right), [*own, right], **options)
        backward = compile(vjp(f, by, left), [*own, left], **{**options, "batch": [left]})
    parameters = [Parameter(key, one.node.shape) for key, one in arguments.items()]
    return OperatorKernel(parameters, (by.node.shape if hessian else f.node.shape, by.node.shape), forward, backward)


_KINDS: dict[str, tuple[str, Any]] = {
    "integrand": (INTEGRAND, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.POINTER(ctypes.c_double))),
    "filter": (
        FILTER,
        ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_ssize_t,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_void_p,
        ),
    ),
}


def wrap(kernel: Kernel, kind: str = "integrand") -> LowLevelCallable:
    """Return a kernel as a ``scipy.LowLevelCallable``.

    Parameters
    ----------
    kernel : Kernel
        Of one number. For "integrand" its inputs are numbers, for "filter" one vector.
    kind : {"integrand", "filter"}
        For ``scipy.integrate.quad`` and ``nquad``, or for ``scipy.ndimage.generic_filter``.

    Returns
    -------
    scipy.LowLevelCallable
        It keeps the native code loaded for as long as the process.

    Raises
    ------
    ArgumentError
        For another kind.
    UnsupportedError
        For a kernel of other shapes, or one that has no address.
    """
    if kind not in _KINDS:
        raise ArgumentError(f"kind={kind!r}; expected 'integrand' or 'filter'")
    shapes = [p.shape for p in kernel.inputs]
    if [p.shape for p in kernel.outputs] != [()]:
        raise UnsupportedError(f"a function for SciPy of a kernel {kernel.signature}; expected one number as result")
    if kind == "integrand" and (not shapes or any(shapes)):
        raise UnsupportedError(f"an integrand of a kernel {kernel.signature}; expected numbers as its inputs")
    if kind == "filter" and [len(shape) for shape in shapes] != [1]:
        raise UnsupportedError(f"a filter of a kernel {kernel.signature}; expected one vector as its input")
    name, signature = _KINDS[kind]
    return LowLevelCallable(signature(kernel.function_address(name)))
