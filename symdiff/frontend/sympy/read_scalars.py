"""The machinery that reads SymPy, and the readers of scalar classes.

SymPy objects keep SymPy's meaning (``A*B`` is a matrix product, matrices have two axes).
Nothing is evaluated, differentiated or simplified on the way. A reader is a generator: it
asks for the nodes of sub-expressions by yielding them and returns its own, so nesting costs
no recursion, and an object that occurs often is read once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import BooleanAtom
from sympy.tensor.array.expressions.array_expressions import _ArrayExpr

from ...errors import ArgumentError, LimitError, UnsupportedError
from ...graph import Node, broadcast_to, constant, cumulative, extent, reshape
from ...graph.reference.interpret import evaluate
from ...graph.scalars.functions import apply, compare
from ...ground.limits import LIMITS
from ...printing.notation import spelled
from . import functions
from .functions import OwnFunction
from .inputs import Inputs, Scope, SymbolicIndex

Request: TypeAlias = tuple[Any, Scope]
Steps: TypeAlias = Generator[Request, Node, Node]
Reader: TypeAlias = Callable[["Reading", Any, Scope], Steps]

READERS: dict[type[Any], Reader] = {}


class Reading:
    """One walk over one expression.

    Parameters
    ----------
    inputs : Inputs
        Where its symbols become inputs.
    readers : mapping of type to generator function
        Who reads which SymPy class.
    """

    def __init__(self, inputs: Inputs, readers: Mapping[type[Any], Reader]) -> None:
        self.inputs, self.readers = inputs, readers
        self.unrolled = 0
        #: Sizes that ranges mention; an input must tell them.
        self.ranged: set[str] = set()
        #: What symbols stand for that are no inputs.
        self.defined: dict[Any, Node] = {}
        #: What is made of numbers alone.
        self.numbers: set[Node] = set()
        # By identity, since hashing a deep expression recurses; the object is kept so that its id stays its own.
        self._done: dict[tuple[int, Scope], tuple[Any, Node]] = {}

    def read(self, expr: Any) -> Node:
        """Return the node of ``expr``."""
        work: list[tuple[Any, Scope, Steps]] = [(expr, (), self._start(expr, ()))]
        answer: Node | None = None
        while True:
            own, scope, steps = work[-1]
            try:
                child, inner = next(steps) if answer is None else steps.send(answer)
            except StopIteration as stop:
                work.pop()
                answer = stop.value
                self._done[id(own), scope] = (own, stop.value)
                if not work:
                    return self._done[id(own), scope][1]
                continue
            known = self._done.get((id(child), inner))
            if known is not None:
                answer = known[1]
            else:
                work.append((child, inner, self._start(child, inner)))
                answer = None

    def _start(self, expr: Any, scope: Scope) -> Steps:
        if isinstance(expr, ARRAYS):
            self._check_indices(expr, scope)
        for cls in type(expr).__mro__:
            if cls in self.readers:
                return self.readers[cls](self, expr, scope)
        held = {symbol: sp.Integer(value) for symbol, value in scope if isinstance(value, int)}
        if isinstance(expr, sp.Function) and held and expr.free_symbols <= held.keys():
            value = expr.xreplace(held)  # what SymPy knows of numbers alone, such as the k-th of Fibonacci
            if value.is_number and not isinstance(value, type(expr)):
                return _of_number(value)
        raise refusal(expr)

    def _check_indices(self, expr: Any, scope: Scope) -> None:
        indices = {symbol for symbol, value in scope if isinstance(value, SymbolicIndex)}
        if indices and indices & expr.free_symbols:
            raise UnsupportedError(
                f"a {type(expr).__name__} that depends on an index over a range of symbolic size came; write the sum "
                "with matrices, or over the entries of a matrix, such as A[i, j]"
            )

    def checked(self, expr: Any, node: Node, args: Sequence[Node]) -> Node:
        """Return a node; refuse a number that is not real, such as ``asin(2)``, which would be nan.

        Raises
        ------
        UnsupportedError
            With the number.
        """
        if args and all(arg.is_constant or arg in self.numbers for arg in args):
            self.numbers.add(node)
            value = np.asarray(evaluate([node], {})[0])
            if value.dtype.kind == "f" and np.isnan(value).any() and not any(_is_nan(arg) for arg in args):
                raise UnsupportedError(
                    f"the number {expr!s:.40} came, which is not real, or too large; complex numbers are not supported"
                )
        return node

    def truth_of(self, condition: Node) -> bool | None:
        """Return whether a condition of numbers alone holds, and None of any other."""
        value = self.number_of(condition)
        return None if value is None else bool(value)

    def number_of(self, node: Node) -> Any:
        """Return the number, or truth, of a node made of numbers alone, None of any other."""
        if node.ndim or (not node.is_constant and node not in self.numbers):
            return None
        return evaluate([node], {})[0]

    def count(self, terms: int) -> None:
        """Count terms of unrolled sums.

        Raises
        ------
        LimitError
            If there are too many.
        """
        self.unrolled += terms
        if self.unrolled > LIMITS.nodes:
            raise LimitError(
                f"Sums and Products of this expression unroll to more than {LIMITS.nodes} terms; "
                "write them with matrices (a product, a Trace, HadamardProduct)"
            )


_QUADRATURE = "evaluate it first (.doit()), if it has a closed form, or write a quadrature of it as a Sum"
_COORDINATES = "write its coordinates in a frame as a matrix, by v.to_matrix(frame)"
_CODE = "give the expression in it, without the code around"
_FACTORS = "write what it is used for in terms of A.inv(), Determinant(A) or LofCholesky(A)"
_REMEDIES = {
    "Integral": _QUADRATURE,
    "Limit": "evaluate it first (.doit())", "Order": "leave it out (.removeO())",
    "Vector": _COORDINATES,
    "VectorAdd": _COORDINATES,
    "VectorMul": _COORDINATES,
    "BaseVector": _COORDINATES,
    "Dyadic": "write its components as a matrix, by d.to_matrix(frame)",
    "BaseScalar": "put a symbol in its place, by expr.subs(C.x, x)",
    "Assignment": _CODE,
    "CodeBlock": _CODE,
    "FunctionDefinition": _CODE,
    "Quantity": "put a number in its place, by sympy.physics.units.convert_to and .subs",
    "RandomSymbol": "put a symbol in its place",
    "EigenValues": _FACTORS,
    "EigenVectors": _FACTORS,
    "QofQR": _FACTORS,
    "RofQR": _FACTORS,
    "SofSVD": _FACTORS,
    "Interval": "write what it says of a number as a condition, by interval.as_relational(x)",
    "FiniteSet": "give its elements one by one, in a list",
    "Dict": "give its expressions in a dict of Python",
    "ImaginaryUnit": "complex numbers are not supported; write real and imaginary parts separately",
    "ComplexInfinity": "complex infinity is no real number",
    "DiracDelta": "it is not a function of a real number; evaluate what it samples first (.doit() of its Integral)",
    "Sum": "give it a range of whole numbers, or write it with matrices",
    "Product": "give it a range of whole numbers",
    "str": "formula text goes to symdiff.frontend.text.parse",
    "Lambda": "apply it to a symbol first",
}


def refusal(expr: Any) -> UnsupportedError | ArgumentError:
    """Return the error for an object that has no reader."""
    name = type(expr).__name__
    if isinstance(expr, AppliedUndef | sp.FunctionClass):
        title = getattr(expr, "name", None) or getattr(expr, "__name__", name)
        return UnsupportedError(
            f"the function {str(title)!r} has no formula in SymPy; apply it to a symbol, as in q(t), for an input, "
            "write its formula in its place, or use a custom function of symdiff on symdiff's own symbols"
        )
    usual = "write it in terms of elementary functions and matrix operations"
    if isinstance(expr, sp.Function):
        usual += ", as .doit() or .rewrite() may do, or as a custom function on symdiff's own symbols (symdiff.custom)"
    remedy = _REMEDIES.get(name, usual)
    if not isinstance(expr, sp.Basic):
        return ArgumentError(f"a {name} came where a SymPy expression was expected; {remedy}")
    return UnsupportedError(f"symdiff does not read SymPy's {name}; {remedy}")


def reads(*classes: type[Any]) -> Callable[[Reader], Reader]:
    """Register the reader of SymPy classes."""

    def register(reader: Reader) -> Reader:
        for cls in classes:
            READERS[cls] = reader
        return reader

    return register


def each(parts: Iterable[Any], scope: Scope) -> Generator[Request, Node, list[Node]]:
    """Ask for the nodes of ``parts``."""
    nodes = []
    for part in parts:
        node = yield part, scope
        nodes.append(node)
    return nodes


def _of_number(value: Any) -> Steps:
    """Ask for the node of a number."""
    return (yield value, ())


def _is_nan(node: Node) -> bool:
    return node.is_constant and bool(np.isnan(node.value).any())


def bound(symbol: Any, scope: Scope) -> int | SymbolicIndex | Node | None:
    """Return what ``symbol`` is bound to."""
    return next((value for known, value in reversed(scope) if known == symbol), None)


def places(index: SymbolicIndex) -> Node:
    """Return the first place, the next and so on along the index's axis, which axes of length 1 follow."""
    count = cumulative("cumsum", broadcast_to(constant(1.0), (index.size,)), 0) - 1.0
    if index.first != 0:
        count = count + (constant(index.first) if isinstance(index.first, int) else extent(index.first))
    return reshape(count, (index.size, *(1,) * (-index.axis - 1)))


def value_of(value: int | SymbolicIndex | Node) -> Node:
    """Return the node of what a symbol is bound to."""
    if isinstance(value, SymbolicIndex):
        return places(value)
    return value if isinstance(value, Node) else constant(value)


ARRAYS = (sp.MatrixBase, sp.MatrixExpr, sp.NDimArray, _ArrayExpr, sp.tensor.array.ArrayComprehension)


def _scalars(expr: Any, scope: Scope) -> Generator[Request, Node, list[Node]]:
    for arg in expr.args:
        if isinstance(arg, ARRAYS):
            raise UnsupportedError(
                f"SymPy's {type(expr).__name__} of a matrix ({type(arg).__name__}) came, which may mean a function of "
                "the matrix or one of each element; write A.applyfunc(f), HadamardProduct or HadamardPower for that"
            )
    return (yield from each(expr.args, scope))


# ---------------------------------------------------------------------------- leaves


@reads(sp.Idx)
def _idx(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    value = bound(expr, scope)
    if value is None:
        raise UnsupportedError(f"the index {expr!s:.40} came outside of a Sum over it; write a number in its place")
    return value_of(value)


@reads(sp.Symbol)
def _symbol(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    value = bound(expr, scope)
    if value is not None:
        return value_of(value)
    return run.defined[expr] if expr in run.defined else run.inputs.scalar(expr)


@reads(sp.Integer)
def _integer(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    return constant(int(expr))


@reads(sp.Rational)
def _rational(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    try:
        return constant(int(expr.p) / int(expr.q))  # whole numbers divide with one rounding
    except OverflowError:
        raise LimitError("a Rational beyond the range of a double came") from None


@reads(sp.AlgebraicNumber, sp.polys.rootoftools.ComplexRootOf)
def _root(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    if not expr.is_real:
        raise UnsupportedError(f"the number {expr!s:.40} came, which is not real; complex numbers are not supported")
    return constant(float(expr))


@reads(sp.Float, sp.NumberSymbol, sp.core.numbers.Infinity, sp.core.numbers.NegativeInfinity, sp.core.numbers.NaN)
def _number(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    return constant(float(expr))


@reads(BooleanAtom)
def _truth(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    return constant(bool(expr))


# ---------------------------------------------------------------------------- scalars


def _function(name: str, build: Callable[..., Node]) -> Reader:
    def read(run: Reading, expr: Any, scope: Scope) -> Steps:
        nodes = yield from _scalars(expr, scope)
        if isinstance(expr, functions.ORDERED) and not nodes[0].is_constant:
            raise UnsupportedError(f"the order of {name} is a formula; expected a whole number")
        return run.checked(expr, build(*nodes), nodes)

    return read


@reads(OwnFunction)
def _own(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from _scalars(expr, scope)
    if expr.row.orders and not nodes[0].is_constant:
        raise UnsupportedError(f"the order of {expr.row.name} is a formula; expected a whole number")
    return run.checked(expr, apply(expr.row.name, *nodes), nodes)


READERS.update({cls: _function(cls.__name__, build) for cls, build in functions.SCALAR_FUNCTIONS.items()})


@reads(sp.Add)
def _add(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from _scalars(expr, scope)
    total, *rest = nodes
    for term in rest:
        minus = term.is_negation
        total = apply("subtract", total, term.args[0]) if minus else apply("add", total, term)
    return run.checked(expr, total, nodes)


@reads(sp.Mul)
def _mul(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from _scalars(expr, scope)
    if any(_vanishes(run, arg, node) for arg, node in zip(expr.args, nodes, strict=True)):
        return constant(0.0)
    over: Node | None = None
    under: Node | None = None
    wanted: Node | None = None
    negative = False
    for arg, node in _with_one_number(run, list(zip(expr.args, nodes, strict=True))):
        if arg is sp.S.NegativeOne:
            negative = not negative
        elif isinstance(arg, sp.KroneckerDelta) and node.is_choice:
            condition = node.args[0]
            wanted = condition if wanted is None else apply("logical_and", wanted, condition)
        elif isinstance(arg, sp.Pow) and node.is_division and node.args[0] is constant(1.0):
            under = node.args[1] if under is None else apply("multiply", under, node.args[1])
        else:
            over = node if over is None else apply("multiply", over, node)
    result = over if over is not None else constant(1.0)
    if under is not None:
        result = apply("divide", result, under)
    if negative:
        result = apply("negative", result)
    # where a delta is 0 SymPy has no term, whatever the other factors are
    result = result if wanted is None else apply("where", wanted, result, constant(0.0))
    return run.checked(expr, result, nodes)


def _with_one_number(run: Reading, factors: list[tuple[Any, Node]]) -> list[tuple[Any, Node]]:
    """Put numbers such as sqrt(2)/(2 sqrt(pi)) together, where a reader knows the product by a name."""
    known = {node for _, node in factors if node.is_constant or node in run.numbers}
    numbers = [arg for arg, node in factors if node in known]
    if len(numbers) < 2 or sum(not arg.is_Rational for arg in numbers) < 2:
        return factors
    whole = sp.Mul(*numbers)
    value = float(whole.evalf(20)) if whole.is_number and whole.is_real else math.nan
    if not math.isfinite(value) or not spelled(value)[2]:
        return factors
    return [(whole, constant(value)), *((arg, node) for arg, node in factors if node not in known)]


def _vanishes(run: Reading, arg: Any, node: Node) -> bool:
    """Tell whether a factor is a 0 that came from an index, not one that was written: SymPy drops such a product."""
    return not arg.is_Number and not node.ndim and run.number_of(node) == 0.0


@reads(sp.Pow)
def _pow(run: Reading, expr: Any, scope: Scope) -> Steps:
    base, exponent = yield from _scalars(expr, scope)
    return run.checked(expr, functions.power(base, expr.args[1], exponent), [base, exponent])


@reads(sp.SingularityFunction)
def _singularity(run: Reading, expr: Any, scope: Scope) -> Steps:
    x, offset, exponent = yield from _scalars(expr, scope)
    order = expr.args[2]
    if not (order.is_number and order.is_nonnegative):
        raise UnsupportedError(
            f"a SingularityFunction of the exponent {order!s:.40} came, which is no function of a number; expected a "
            "number that is not negative"
        )
    gap = x - offset
    return apply("where", compare("greater_equal", gap, 0.0), apply("power", gap, exponent), constant(0.0))


@reads(sp.Contains)
def _contains(run: Reading, expr: Any, scope: Scope) -> Steps:
    member, held = expr.args
    if not isinstance(held, sp.Interval | sp.FiniteSet | sp.Union | sp.Intersection):
        raise refusal(expr)
    return (yield held.as_relational(member), scope)


@reads(sp.Poly)
def _polynomial(run: Reading, expr: Any, scope: Scope) -> Steps:
    return (yield expr.as_expr(), scope)


@reads(sp.exp)
def _exp(run: Reading, expr: Any, scope: Scope) -> Steps:
    (x,) = yield from _scalars(expr, scope)
    return apply("exp", x)


@reads(sp.UnevaluatedExpr)
def _unevaluated(run: Reading, expr: Any, scope: Scope) -> Steps:
    return (yield expr.args[0], scope)


@reads(sp.Piecewise)
def _piecewise(run: Reading, expr: Any, scope: Scope) -> Steps:
    result = constant(float("nan"))  # where no condition holds, as in SymPy
    cases = []
    for value, condition in expr.args:
        test = yield condition, scope
        decided = run.truth_of(test)  # of an index of a sum
        if decided is not False:
            cases.append((test, (yield value, scope)))
        if decided:
            result = cases.pop()[1]
            break
    for test, chosen in reversed(cases):
        result = apply("where", test, chosen, result)
    return result
