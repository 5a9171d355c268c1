"""The machinery that reads SymPy, and the readers of scalar, matrix and array expressions.

SymPy objects keep SymPy's meaning (``A*B`` is a matrix product, matrices have two axes and stay whole). Nothing is
evaluated, differentiated or simplified on the way. A reader is a generator: it asks for the nodes of sub-expressions by
yielding them and returns its own, so nesting costs no recursion, and an object that occurs often is read once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import sympy as sp
from sympy.codegen import matrix_nodes, numpy_nodes
from sympy.codegen.ast import none
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import BooleanAtom
from sympy.matrices.expressions import diagonal, dotproduct, factorizations, permutation, special
from sympy.tensor.array.expressions import array_expressions as arrays
from sympy.tensor.array.expressions.array_expressions import _ArrayExpr

from ...errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ...graph import (
    Item,
    Labels,
    Node,
    broadcast_to,
    concatenate,
    constant,
    contract,
    cumulative,
    delta,
    extent,
    gather,
    matmul,
    matrix,
    reshape,
    slicing,
    sum_axes,
    swap,
    whole,
    zeros,
)
from ...graph import reduce as reduce_axes
from ...graph.reference.interpret import evaluate
from ...graph.scalars.functions import apply, compare, scalar_constant, to_real
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
        #: Values of symbols that are no inputs.
        self.defined: dict[Any, Node] = {}
        #: Nodes made of numbers alone.
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


# ---------------------------------------------------------------------------- matrices and arrays


def array_symbol(symbol: Any, inputs: Inputs) -> Node:
    """Return the input of a MatrixSymbol, an ArraySymbol or an IndexedBase."""
    if isinstance(symbol, sp.MatrixSymbol | arrays.ArraySymbol):
        return inputs.array(symbol, str(symbol.name), tuple(symbol.shape))
    if symbol.shape is None:
        raise UnsupportedError(
            f"the IndexedBase {str(symbol.label)!r} has no shape; give IndexedBase(name, shape=(...)) or a MatrixSymbol"
        )
    return inputs.array(symbol, str(symbol.label), tuple(symbol.shape))


@reads(sp.MatrixSymbol, arrays.ArraySymbol)
def _array_symbol(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    held = bound(expr, scope)
    if isinstance(held, Node):
        return held
    return run.defined[expr] if expr in run.defined else array_symbol(expr, run.inputs)


# ---------------------------------------------------------------------------- constants


@reads(sp.Identity)
def _identity(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    rows, columns = (run.inputs.size(size, scope) for size in expr.shape)
    return delta(rows, columns)


@reads(sp.ZeroMatrix, sp.OneMatrix, arrays.ZeroArray, arrays.OneArray)
def _filled(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    one = isinstance(expr, sp.OneMatrix | arrays.OneArray)
    return broadcast_to(constant(1.0 if one else 0.0), tuple(run.inputs.size(size, scope) for size in expr.shape))


# ---------------------------------------------------------------------------- algebra


@reads(sp.MatAdd, arrays.ArrayAdd)
def _matrix_sum(run: Reading, expr: Any, scope: Scope) -> Steps:
    total, *rest = yield from each(expr.args, scope)
    for term in rest:
        minus = term.is_negation
        total = apply("subtract", total, term.args[0]) if minus else apply("add", total, term)
    return total


@reads(sp.MatMul)
def _matmul(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)
    nodes = _adjugates(nodes)
    factors = [node for node in nodes if node.ndim]
    if not factors:
        raise refusal(expr)
    result = reduce(_product, factors)
    for node in nodes:
        if node is constant(-1.0):
            result = apply("negative", result)
        elif not node.ndim:
            result = apply("multiply", node, result)
    return result


def _product(a: Node, b: Node) -> Node:
    """Return a @ b. That with a matrix of ones, SymPy's form of a sum, is a sum: stable forms are those of sums."""
    for ones, other, axis in ((a, b, 0), (b, a, 1)):
        fits = ones.ndim == other.ndim == 2 and ones.shape[1 - axis] == other.shape[axis]
        if fits and scalar_constant(ones) == 1.0:
            total = sum_axes(other, (axis,))
            kept = (1, total.shape[0]) if axis == 0 else (total.shape[0], 1)
            return broadcast_to(reshape(total, kept), (a.shape[0], b.shape[1]))
    return matmul(a, b)


def _adjugates(nodes: Sequence[Node]) -> list[Node]:
    """Replace det(A) A⁻¹, SymPy's form of the adjugate, by the adjugate of A, which exists where A⁻¹ does not."""
    left = list(nodes)
    for det in nodes:
        if det.op == "det":
            for place, inverse in enumerate(left):
                if inverse.op == "inv" and inverse.args == det.args:
                    left[place] = matrix("adjugate", *det.args)
                    left.remove(det)
                    break
    return left


@reads(sp.HadamardProduct)
def _hadamard(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)
    return reduce(lambda a, b: apply("multiply", a, b), nodes)


@reads(sp.HadamardPower)
def _hadamard_power(run: Reading, expr: Any, scope: Scope) -> Steps:
    base, exponent = yield from each(expr.args, scope)
    if exponent is constant(-1.0):
        return apply("divide", constant(1.0), base)
    return apply("power", base, exponent)


@reads(sp.MatPow)
def _matpow(run: Reading, expr: Any, scope: Scope) -> Steps:
    held = bound(expr.exp, scope)
    exponent = sp.Integer(held) if isinstance(held, int) else expr.exp
    if not exponent.is_Integer:
        raise UnsupportedError(f"a matrix to the power {exponent!s:.40} came; expected a whole exponent")
    base = yield expr.base, scope
    count = int(exponent)
    if count < 0:
        base, count = matrix("inv", base), -count
    result: Node | None = None
    while count:  # by squaring
        if count & 1:
            result = base if result is None else matmul(result, base)
        count >>= 1
        if count:
            base = matmul(base, base)
    return delta(base.shape[0], base.shape[1]) if result is None else result


@reads(sp.Inverse)
def _inverse(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("inv", (yield expr.arg, scope))


@reads(matrix_nodes.MatrixSolve)
def _solve(run: Reading, expr: Any, scope: Scope) -> Steps:
    a, b = yield from each((expr.matrix, expr.vector), scope)
    return matrix("solve", a, b)


@reads(factorizations.LofCholesky, factorizations.UofCholesky)
def _cholesky(run: Reading, expr: Any, scope: Scope) -> Steps:
    lower = matrix("cholesky", (yield expr.arg, scope))
    return lower if isinstance(expr, factorizations.LofCholesky) else swap(lower)


@reads(sp.Transpose, sp.Adjoint)
def _transpose(run: Reading, expr: Any, scope: Scope) -> Steps:
    return swap((yield expr.arg, scope))


@reads(sp.adjoint, sp.transpose, sp.conjugate)
def _adjoint(run: Reading, expr: Any, scope: Scope) -> Steps:
    node = yield expr.args[0], scope
    return node if node.ndim == 0 or isinstance(expr, sp.conjugate) else swap(node)


@reads(sp.Trace)
def _trace(run: Reading, expr: Any, scope: Scope) -> Steps:
    return contract([(yield expr.arg, scope)], [(0, 0)], ())


@reads(sp.Determinant)
def _determinant(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("det", (yield expr.arg, scope))


@reads(dotproduct.DotProduct)
def _dot(run: Reading, expr: Any, scope: Scope) -> Steps:
    a, b = yield from each(expr.args, scope)
    return contract([_column(a), _column(b)], [(0,), (0,)], ())


def _column(x: Node) -> Node:
    """Return the vector that an n x 1 or 1 x n matrix holds."""
    if x.shape[1] == 1:
        return slicing(x, (whole(x.shape[0]), (0, 1, None)))
    if x.shape[0] == 1:
        return slicing(x, ((0, 1, None), whole(x.shape[1])))
    raise ShapeError(f"a matrix of shape {x.shape} came where a row or a column was expected")


@reads(sp.KroneckerProduct)
def _kronecker(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)

    def kronecker(a: Node, b: Node) -> Node:
        (i, j), (k, m) = a.shape, b.shape
        return reshape(contract([a, b], [(0, 2), (1, 3)], (0, 1, 2, 3)), (i * k, j * m))

    return reduce(kronecker, nodes)


# ---------------------------------------------------------------------------- diagonals, blocks and parts


@reads(diagonal.DiagMatrix)
def _diag_matrix(run: Reading, expr: Any, scope: Scope) -> Steps:
    v = _column((yield expr.args[0], scope))
    return contract([v, delta(v.shape[0], v.shape[0])], [(0,), (0, 1)], (0, 1))


@reads(diagonal.DiagonalMatrix)
def _diagonal_matrix(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    return apply("multiply", x, delta(x.shape[0], x.shape[1]))


@reads(diagonal.DiagonalOf)
def _diagonal_of(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    if x.shape[0] != x.shape[1]:
        raise UnsupportedError(f"the DiagonalOf a matrix of shape {x.shape} came; expected a square matrix")
    return reshape(contract([x], [(0, 0)], (0,)), (x.shape[0], 1))


@reads(sp.BlockMatrix)
def _blocks(run: Reading, expr: Any, scope: Scope) -> Steps:
    rows = []
    for i in range(expr.blockshape[0]):
        blocks = yield from each([expr.blocks[i, j] for j in range(expr.blockshape[1])], scope)
        rows.append(concatenate(blocks, 1))
    return concatenate(rows, 0)


@reads(sp.BlockDiagMatrix)
def _block_diagonal(run: Reading, expr: Any, scope: Scope) -> Steps:
    blocks = yield from each(expr.args, scope)
    rows = []
    for i, block in enumerate(blocks):
        parts = [block if i == j else zeros((block.shape[0], other.shape[1])) for j, other in enumerate(blocks)]
        rows.append(concatenate(parts, 1))
    return concatenate(rows, 0)


@reads(sp.MatrixSlice)
def _slice(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.parent, scope
    items: list[Item] = []
    for (start, stop, step), size in zip((expr.rowslice, expr.colslice), expr.shape, strict=True):
        if not step.is_Integer:
            raise UnsupportedError(f"a slice with the step {step!s:.40} came; expected a whole number")
        if step != 1 and not ((stop - start) / step).is_Integer:
            # SymPy 1.14 says that A[0:3:2, :] has one row
            raise UnsupportedError("SymPy miscounts slices with a step that does not divide their length; use step 1")
        items.append((run.inputs.size(start, scope), int(step), run.inputs.size(size, scope)))
    return slicing(x, tuple(items))


@reads(permutation.PermutationMatrix)
def _permutation(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    return constant(np.eye(int(expr.shape[0]))[list(expr.args[0].array_form)])


@reads(permutation.MatrixPermute)
def _permuted(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    return gather(x, int(expr.args[2]), tuple(expr.args[1].array_form))


# ---------------------------------------------------------------------------- functions of each element


@reads(sp.matrices.expressions.applyfunc.ElementwiseApplyFunction, arrays.ArrayElementwiseApplyFunc)
def _apply(run: Reading, expr: Any, scope: Scope) -> Steps:
    function, argument = expr.args
    if not isinstance(function, sp.Lambda) or len(function.variables) != 1:
        raise refusal(function)
    x = yield argument, scope
    # The body is a scalar formula; with an array for its symbol it works on every element.
    result = yield function.expr, (*scope, (function.variables[0], x))
    return broadcast_to(result, x.shape)


# ---------------------------------------------------------------------------- arrays of any number of axes


@reads(numpy_nodes.amax, numpy_nodes.amin)
def _largest(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.array, scope
    if expr.axis != none:
        raise UnsupportedError(f"the {type(expr).__name__} along one axis came; expected that of all elements")
    return reduce_axes("max" if isinstance(expr, numpy_nodes.amax) else "min", x, tuple(range(x.ndim)))


@reads(arrays.Reshape)
def _reshaped(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    return reshape(x, tuple(run.inputs.size(size, scope) for size in expr.shape))


@reads(arrays.ArrayTensorProduct, sp.tensor.functions.TensorProduct)
def _tensor_product(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)
    return _outer(nodes)


def _outer(nodes: Sequence[Node]) -> Node:
    labels: list[Labels] = []
    first = 0
    for node in nodes:
        labels.append(tuple(range(first, first + node.ndim)))
        first += node.ndim
    return contract(nodes, labels, tuple(range(first)))


def _joined_axes(x: Node, groups: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return labels for the axes of an array, one for each group of axes, and the axes that are in no group."""
    own = list(range(x.ndim))
    for group in groups:
        for axis in group:
            own[int(axis)] = int(group[0])
    grouped = {int(axis) for group in groups for axis in group}
    return tuple(own), tuple(axis for axis in range(x.ndim) if axis not in grouped)


@reads(arrays.ArrayContraction)
def _contraction(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    labels, kept = _joined_axes(x, expr.contraction_indices)
    return contract([x], [labels], kept)


@reads(arrays.ArrayDiagonal)
def _array_diagonal(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    labels, kept = _joined_axes(x, expr.diagonal_indices)
    return contract([x], [labels], (*kept, *(int(group[0]) for group in expr.diagonal_indices)))


@reads(arrays.PermuteDims)
def _permute(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    return contract([x], [tuple(range(x.ndim))], tuple(int(axis) for axis in expr.permutation.array_form))


@reads(special.GenericIdentity, special.GenericZeroMatrix)
def _generic(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    raise refusal(expr)


# ---------------------------------------------------------------------------- explicit matrices and arrays


def pack(entries: list[Node], shape: tuple[int, ...]) -> Node:
    """Return the array of the given shape with these entries, in C order."""
    if any(entry.ndim for entry in entries):
        raise UnsupportedError("a matrix with matrices as entries came; write it as a BlockMatrix")
    if all(entry.is_constant for entry in entries):
        return reshape(constant([float(entry.value) for entry in entries]), shape)
    if entries and all(entry is entries[0] for entry in entries):
        return broadcast_to(entries[0], shape)
    return reshape(concatenate([reshape(to_real(entry), (1,)) for entry in entries], 0), shape)


@reads(sp.MatrixBase, sp.NDimArray)
def _explicit(run: Reading, expr: Any, scope: Scope) -> Steps:
    shape = tuple(int(size) for size in expr.shape)
    flat = expr.flat() if isinstance(expr, sp.MatrixBase) else sp.flatten(expr.tolist()) if shape else [expr[()]]
    entries = yield from each(flat, scope)
    return pack(entries, shape)


@reads(sp.Tuple)
def _tuple(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    raise ArgumentError("a SymPy Tuple came where one expression was expected; give its expressions one by one")
