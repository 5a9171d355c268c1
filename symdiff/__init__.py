"""symdiff compiles a formula to a fast derivative.

Write a formula with scalars, vectors and matrices as text, as SymPy, or as ordinary NumPy
code over symbols; ask for its gradient, Jacobian, Hessian or a product with one; read the
result as a short closed formula; run it as a native kernel over NumPy arrays.

Examples
--------
>>> import numpy as np
>>> import symdiff as sd
>>> sd.gradient("log(det(A))", "A", A=("n", "n"))
inv(A).T
>>> X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
>>> k = sd.compile(sd.jacobian(np.log(sd.softmax(X @ y)), X), [X, y])
>>> k(np.ones((1000, 2, 4)), np.ones((1000, 4))).shape
(1000, 2, 2, 4)
"""

from __future__ import annotations

from importlib import import_module
from os.path import dirname as _dirname
from typing import TYPE_CHECKING, Any, Literal
from warnings import warn as _warn

from .errors import (
    AbsentError,
    ArgumentError,
    BuildError,
    DataError,
    DisconnectedInputError,
    DtypeError,
    InternalError,
    LimitError,
    NonfiniteError,
    NotDifferentiableError,
    ParseError,
    ShapeError,
    SingularMatrixError,
    SymbolError,
    SymdiffError,
    UnsupportedError,
)
from .frontend.array import Array, asarray
from .frontend.formula import merge_shapes as _merge_shapes
from .frontend.formula import read_formula as _read_formula
from .frontend.numpy.library import DAILY as _DAILY
from .frontend.numpy.library import public_name as _public_name
from .frontend.outputs import leaves as _leaves
from .frontend.outputs import pack as _pack
from .frontend.outputs import template_of as _template_of
from .frontend.symbols import Operations as _Operations
from .frontend.symbols import (
    array,
    csr,
    diagonal,
    function,
    index,
    indices,
    lower,
    matrix,
    name,
    orthogonal,
    positive,
    positive_definite,
    scalar,
    skew,
    stop_gradient,
    symbol,
    symmetric,
    upper,
    vector,
)
from .ground.advice import MODULE as _MODULE
from .ground.advice import REFUSED as _REFUSED
from .ground.advice import advice as _advice
from .ground.budget import budgeted as _budgeted
from .ground.guard import guarded as _guarded
from .ground.limits import Budget
from .ground.stages import later as _later
from .ground.version import VERSION as _VERSION
from .ground.version import other_distribution as _other_distribution

if TYPE_CHECKING:
    from collections.abc import Callable as _Callable

    from .frontend.derivatives import derivative, gradient, hessian, hvp, jacobian, jvp, value_and_gradient, vjp
    from .frontend.functions.custom import custom, external
    from .frontend.functions.recurrence import iterate, scan, sum_over, while_loop
    from .frontend.functions.solutions import fixed_point, laplace, minimizer, root
    from .frontend.sympy.forms import Definitions
    from .libraries import stats, xp
    from .libraries.complexes import ComplexArray, complex_array, wirtinger
    from .libraries.density import density
    from .libraries.objective import Objective, objective
    from .libraries.problem import problem
    from .libraries.read_jax import from_jax
    from .libraries.read_torch import from_torch
    from .libraries.scipy import linear_operator
    from .runtime.kernel import Kernel
    from .runtime.typed import compile as compile
    from .tools.checking.check import Report, check
    from .tools.export import export
    from .tools.reading.steps import Steps, steps

__version__ = _VERSION

_other = _other_distribution(_dirname(_dirname(__file__)))
if _other is not None:
    _warn(_other, stacklevel=2)

#: Operations by subject; those that are used daily are attributes of the package, too.
linalg, nn, special = (_Operations(f"sd.{module}") for module in ("linalg", "nn", "special"))


@_guarded
@_budgeted
def parse(
    text: str,
    /,
    shapes: dict[str, Any] | None = None,
    *,
    dialect: Literal["matrixcalculus"] | None = None,
    functions: dict[str, Any] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> Any:
    """Read formula text as SymPy, or text in another language as symbols.

    Parameters
    ----------
    text : str
        A formula, or lines ``name = formula`` and a last line with the result.
    shapes : dict of str to shape, optional
    dialect : {None, "matrixcalculus"}
        "matrixcalculus" is the language of matrixcalculus.org, ``x'*A*x``; letters are declared as there.
    functions : dict of str to callable, optional
        What text may call besides the functions of the language.
    budget : {None, "default", "strict"} or Budget, optional
        How much work the formula may take: "strict" for text from strangers. See :class:`Budget`.
    **named_shapes
        Shapes of the inputs: ``X=(2, 4)``, ``y=4``, ``A=("n", "n")``; without any, inputs are scalars. With the
        dialect: ``x="vector"``, ``A="matrix"``, ``S="symmetric matrix"``, ``c="scalar"``, or a shape.

    Returns
    -------
    SymPy expression, matrix or array
        With a dialect an :class:`Array`, for :func:`gradient` and :func:`compile`; its ``sympy`` is the expression.
        Or :class:`symdiff.Definitions`, a tuple ``(definitions, result)``, where the formula is nested
        deeper than SymPy can hold. A tuple of these where the text gives several derivatives.

    Raises
    ------
    ParseError, ShapeError, LimitError
        If the text is not a sound formula; nothing in it is ever executed.
    UnsupportedError
        If SymPy has no form for it.

    Examples
    --------
    >>> parse("x * sin(x)")
    x*sin(x)
    >>> gradient(parse("x'*A*x", dialect="matrixcalculus", x="vector", A="matrix"), "x")
    (A.T + A) @ x
    """
    if dialect is not None:
        from .frontend.text.dialects import DIALECTS

        if dialect not in DIALECTS:
            raise ArgumentError(f"dialect={dialect!r:.80}; expected one of {', '.join(map(repr, DIALECTS))}, or None")
        return DIALECTS[dialect](text, _merge_shapes(shapes, named_shapes)).result
    if not isinstance(text, str):
        raise ParseError(f"a formula came as {type(text).__name__}; expected text (str)")
    options = ("shapes", "dialect", "functions", "budget")
    read = _read_formula(text, _merge_shapes(shapes, named_shapes), options, functions)
    read.refuse_unused()
    return _pack(_template_of(read.value), (result.sympy for result in _leaves(read.value)))


#: Names that are imported at their first use, and their modules: differentiation comes with the first derivative, all
#: from lowering to kernels with the first ``compile``.
_LATER = {
    **dict.fromkeys(("derivative", "gradient", "hessian", "jacobian", "value_and_gradient"), ".frontend.derivatives"),
    **dict.fromkeys(("hvp", "jvp", "vjp"), ".frontend.derivatives"),
    "Definitions": ".frontend.sympy.forms",
    "Kernel": ".runtime.kernel",
    "Objective": ".libraries.objective",
    "Report": ".tools.checking.check",
    "Steps": ".tools.reading.steps",
    "check": ".tools.checking.check",
    "compile": ".compiler",
    "custom": ".frontend.functions.custom",
    "density": ".libraries.density",
    "external": ".frontend.functions.custom",
    "complex_array": ".libraries.complexes",
    "export": ".tools.export",
    "fixed_point": ".frontend.functions.solutions",
    "from_jax": ".libraries.read_jax",
    "from_torch": ".libraries.read_torch",
    "iterate": ".frontend.functions.recurrence",
    "laplace": ".frontend.functions.solutions",
    "linear_operator": ".libraries.scipy",
    "minimizer": ".frontend.functions.solutions",
    "objective": ".libraries.objective",
    "problem": ".libraries.problem",
    "root": ".frontend.functions.solutions",
    "scan": ".frontend.functions.recurrence",
    "steps": ".tools.reading.steps",
    "sum_over": ".frontend.functions.recurrence",
    "ComplexArray": ".libraries.complexes",
    "while_loop": ".frontend.functions.recurrence",
    "wirtinger": ".libraries.complexes",
}
#: Modules that users meet as attributes, imported when they are first used.
_MODULES = ("stats", "xp")
#: Modules of later stages that earlier ones call, imported at the first call.
_CALLED = {
    "benchmark": ".tools.reading.benchmark",
    "complexes": ".libraries.complexes",
    "page": ".tools.reading.page",
    "sparse_matrices": ".frontend.functions.sparse_matrices",
    "stats": ".libraries.stats.table",
    "sympy": ".frontend.sympy",
    "text": ".frontend.text.parse",
    "xp": ".libraries.xp",
    **{library: f".libraries.{library}" for library in ("dask", "jax", "numba", "scipy", "torch")},
}
_later.register({name: f"{__name__}{module}" for name, module in _CALLED.items()})


if TYPE_CHECKING:

    def __getattr__(attribute: str) -> _Callable[..., Array]:
        """Functions of the library that are used daily; docs/functions.md lists all."""

else:

    @_guarded
    def __getattr__(attribute):
        return _found(attribute)


def _found(attribute: str) -> Any:
    if attribute in _MODULES:
        return import_module(f".libraries.{attribute}", __name__)
    if attribute in _LATER:
        found = globals()[attribute] = getattr(import_module(_LATER[attribute], __name__), attribute)
        return found
    if attribute in _DAILY:
        return function(attribute)
    known = _public_name(attribute)
    page = "docs/reference.md, and docs/functions.md of functions,"
    told = f"; write {known}" if known else _advice(attribute, {**_REFUSED, **_MODULE}, __all__, page)
    raise AbsentError(f"module 'symdiff' has no attribute {attribute!r}{told}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AbsentError",
    "ArgumentError",
    "Array",
    "Budget",
    "BuildError",
    "ComplexArray",
    "DataError",
    "Definitions",
    "DisconnectedInputError",
    "DtypeError",
    "InternalError",
    "Kernel",
    "LimitError",
    "NonfiniteError",
    "NotDifferentiableError",
    "Objective",
    "ParseError",
    "Report",
    "ShapeError",
    "SingularMatrixError",
    "Steps",
    "SymbolError",
    "SymdiffError",
    "UnsupportedError",
    "array",
    "asarray",
    "check",
    "compile",
    "complex_array",
    "csr",
    "custom",
    "density",
    "derivative",
    "diagonal",
    "export",
    "external",
    "fixed_point",
    "from_jax",
    "from_torch",
    "function",
    "gradient",
    "hessian",
    "hvp",
    "index",
    "indices",
    "iterate",
    "jacobian",
    "jvp",
    "laplace",
    "linalg",
    "linear_operator",
    "lower",
    "matrix",
    "minimizer",
    "name",
    "nn",
    "objective",
    "orthogonal",
    "parse",
    "positive",
    "positive_definite",
    "problem",
    "root",
    "scalar",
    "scan",
    "skew",
    "special",
    "stats",
    "steps",
    "stop_gradient",
    "sum_over",
    "symbol",
    "symmetric",
    "upper",
    "value_and_gradient",
    "vector",
    "vjp",
    "while_loop",
    "wirtinger",
    "xp",
]
__all__ += tuple(name for name in _DAILY if name not in __all__)
