"""Scalar functions, numbers, sizes and whole matrices as SymPy writes them; a vector is an n x 1 matrix.

SymPy must not change a formula's meaning on the way (``exp(log(x))`` is not ``x`` for a negative x), so everything is
made unevaluated. Nor is SymPy asked what it knows of an expression: to tell whether ``zeta(108, oo)`` is 0 it computes
digits without end, and the text is a stranger's. Only a Number may be compared. Sums and products have their terms in
SymPy's own order, so that they equal what a user would write wherever SymPy would not have merged terms. A function of
whole matrices gives None where SymPy has no form for the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key, reduce
from typing import Any

import sympy as sp
from sympy.combinatorics import Permutation
from sympy.core.function import Application
from sympy.core.sorting import ordered
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.matrices.expressions import diagonal
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.factorizations import LofCholesky
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.tensor.array.expressions import array_expressions as arrays

from ...graph import whole
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim, Size, product
from ...ground.budget import spend
from ...printing.notation import Term, spelled
from .forms import Adjugate, AdjugateDifferential
from .functions import CLASSES, own_function

Sizes = Mapping[str, Any]
Build = Callable[..., Any]


def matmul(*factors: Any) -> Any:
    """Return a product of matrices and scalars, unevaluated and flat."""
    flat: list[Any] = []
    for factor in factors:
        flat.extend(factor.args if isinstance(factor, sp.MatMul) and factor.args[0].is_Matrix else [factor])
    return sp.MatMul(*flat) if len(flat) > 1 else flat[0]


def scaled(factor: Any, x: Any) -> Any:
    """Return a number times a matrix."""
    if factor is sp.S.One:
        return x
    if isinstance(x, sp.MatMul) and not x.args[0].is_Matrix:
        return sp.MatMul(mul(factor, x.args[0]), *x.args[1:])
    return sp.MatMul(factor, *(x.args if isinstance(x, sp.MatMul) else (x,)))


def hadamard(*factors: Any) -> Any:
    """Return a product element by element."""
    return sp.HadamardProduct(*factors) if len(factors) > 1 else factors[0]


def applied(function: Callable[[Any], Any], x: Any) -> Any:
    """Return a scalar function applied to every element, and not to a 1 x 1 matrix to see what comes, as SymPy does."""
    d = sp.Dummy("d")
    return sp.MatrixExpr.__new__(ElementwiseApplyFunction, sp.Lambda(d, function(d)), x)


def entry(x: Any) -> Any:
    """Return the entry of a 1 x 1 matrix."""
    return MatrixElement(x, sp.S.Zero, sp.S.Zero)


#: Reductions and normalizations that matrices of SymPy can say; any other is written as an operation of its own.
_REDUCED = frozenset(("unit", "softmax", "log_softmax", "logsumexp", "norm", "mean", "var"))


class Wholes:
    """Builds whole matrices.

    Parameters
    ----------
    sizes : mapping of str to sympy.Symbol
        Symbols for the names of sizes.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def size(self, dim: Dim) -> Any:
        """Return a size as SymPy's."""
        return size(dim, self.sizes)

    def shape(self, term: Term) -> tuple[Any, Any]:
        """Return the shape of the matrix that stands for a term."""
        rows, columns = (*term.shape, 1)[:2]
        return self.size(rows), self.size(columns)

    def ones(self, rows: Any, columns: Any) -> Any:
        """Return a matrix of ones."""
        return sp.OneMatrix(rows, columns)

    def fit(self, arg: Term, x: Any, term: Term) -> Any:
        """Return an argument repeated to the shape of an elementwise operation; scalars stay."""
        if arg.ndim == 0 or arg.shape == term.shape:
            return x
        rows, columns = self.shape(term)
        if arg.ndim == 1 and term.ndim == 2:
            x = x.T if isinstance(x, sp.MatrixBase) else sp.Transpose(x)
        have = x.shape
        if have[0] == 1 and rows != 1:
            x = matmul(self.ones(rows, 1), x)
        if have[1] == 1 and columns != 1:
            x = matmul(x, self.ones(1, columns))
        return x

    def build(self, term: Term, args: tuple[Any, ...]) -> Any:
        """Return the matrix (or scalar) for a term with its arguments built, or None."""
        method: Build | None = getattr(self, f"_{term.kind}", None)
        return None if method is None else method(term, *args)

    # ------------------------------------------------------------ leaves

    def _filled(self, term: Term) -> Any:
        shape = self.shape(term)
        return sp.ZeroMatrix(*shape) if term.data == 0 else scaled(number(term.data), sp.OneMatrix(*shape))

    def _eye(self, term: Term) -> Any:
        return sp.Identity(self.size(term.shape[0])) if term.data == (0, 1) and len(set(term.shape)) == 1 else None

    # ------------------------------------------------------------ arithmetic

    def _sum(self, term: Term, *args: Any) -> Any:
        parts = []
        for arg, x, minus in zip(term.args, args, term.data, strict=True):
            fitted = self.fit(arg, x, term) if arg.ndim else scaled(x, self.ones(*self.shape(term)))
            parts.append(scaled(sp.S.NegativeOne, fitted) if minus else fitted)
        return sp.MatAdd(*parts)

    def _product(self, term: Term, *args: Any) -> Any:
        scalars, matrices = [], []
        for arg, x, divides in zip(term.args, args, term.data, strict=True):
            if arg.ndim:
                fitted = self.fit(arg, x, term)
                matrices.append(sp.HadamardPower(fitted, -1) if divides else fitted)
            else:
                scalars.append(inverse(x) if divides else x)
        return scaled(mul(*scalars) if scalars else sp.S.One, hadamard(*matrices))

    def _negative(self, term: Term, x: Any) -> Any:
        return scaled(sp.S.NegativeOne, x)

    def _power(self, term: Term, x: Any, exponent: Any) -> Any:
        base, above = term.args
        if base.shape == term.shape and (above.ndim == 0 or above.shape == term.shape):
            return sp.HadamardPower(x, exponent)
        return None

    def _call(self, term: Term, *args: Any) -> Any:
        arrays_ = [i for i, arg in enumerate(term.args) if arg.ndim]
        if len(arrays_) != 1:
            return None
        place = arrays_[0]

        def function(d: Any) -> Any:
            return SCALARS[term.data](*(d if i == place else x for i, x in enumerate(args)))

        return applied(function, self.fit(term.args[place], args[place], term))

    # ------------------------------------------------------------ products

    def _matmul(self, term: Term, *args: Any) -> Any:
        return matmul(*args)

    def _dot(self, term: Term, a: Any, b: Any) -> Any:
        return entry(matmul(sp.Transpose(a), b))

    def _transpose(self, term: Term, x: Any) -> Any:
        return sp.Transpose(x)

    def _outer(self, term: Term, a: Any, b: Any) -> Any:
        return matmul(a, sp.Transpose(b))

    def _trace(self, term: Term, x: Any) -> Any:
        return sp.Trace(x)

    def _diag(self, term: Term, v: Any) -> Any:
        return diagonal.DiagMatrix(v)

    def _diagonal(self, term: Term, x: Any) -> Any:
        return diagonal.DiagonalOf(x) if term.args[0].ndim == 2 else None

    def _total(self, term: Term, x: Any) -> Any:
        rows, columns = self.shape(term.args[0])
        if term.data == (0, 1) or term.args[0].ndim == 1:
            right = matmul(x, self.ones(columns, 1)) if term.args[0].ndim == 2 else x
            return entry(matmul(self.ones(1, rows), right))
        if term.data == (1,):
            return matmul(x, self.ones(columns, 1))
        return matmul(sp.Transpose(x), self.ones(rows, 1))

    def _rows(self, term: Term, v: Any, x: Any) -> Any:
        return matmul(diagonal.DiagMatrix(v), x)

    def _columns(self, term: Term, x: Any, v: Any) -> Any:
        return matmul(x, diagonal.DiagMatrix(v))

    def _expand(self, term: Term, x: Any) -> Any:
        if term.data == (True, False):
            return x
        return sp.Transpose(x) if term.data == (False, True) else sp.ImmutableDenseMatrix([[x]])

    def _broadcast(self, term: Term, x: Any) -> Any:
        if term.args[0].ndim == 0:
            return scaled(x, self.ones(*self.shape(term)))
        return self.fit(term.args[0], x, term)

    def _tensor(self, term: Term, *args: Any) -> Any:
        """Write a product of arrays, summed over some axes, as SymPy's array expressions."""
        labels, out = term.data
        if term.ndim < 3:
            return None
        flat = [label for own in labels for label in own]
        factors = [
            arrays.Reshape(x, x.shape[:1]) if arg.ndim == 1 else x for arg, x in zip(term.args, args, strict=True)
        ]
        for label in dict.fromkeys(flat):
            if flat.count(label) == 1 and label not in out:  # a sum over one axis is a product with ones
                axis = flat.index(label)
                factors.append(arrays.OneArray(self._sizes(term)[axis]))
                flat.append(label)
        whole = arrays.ArrayTensorProduct(*factors) if len(factors) > 1 else factors[0]
        repeated = [label for label in dict.fromkeys(flat) if flat.count(label) > 1]
        for label in repeated:
            axes = tuple(axis for axis, own in enumerate(flat) if own == label)
            if label in out:
                whole = arrays.ArrayDiagonal(whole, axes)
                flat = [*(own for own in flat if own != label), label]
            else:
                whole = arrays.ArrayContraction(whole, axes)
                flat = [own for own in flat if own != label]
        order = [flat.index(label) for label in out]
        return whole if order == sorted(order) else arrays.PermuteDims(whole, Permutation(order))

    def _sizes(self, term: Term) -> list[Any]:
        """Return the sizes of all axes of a term's arguments, one after the other."""
        return [self.size(n) for arg in term.args for n in arg.shape]

    # ------------------------------------------------------------ structure

    def _index(self, term: Term, x: Any) -> Any:
        if any(step != 1 for _, step, _ in term.data):
            return None
        items = [*term.data, (0, 1, None)][:2]
        if (
            len(term.data) == 2
            and items[1][2] is None
            and term.args[0].shape[1] == 1
            and items[0] == whole(term.args[0].shape[0])
        ):
            return x  # the only column of a matrix
        places = [self.size(start) for start, _, _ in items]
        if term.ndim == 0:
            return MatrixElement(x, *places)
        ends = [self.size(start + (1 if length is None else length)) for start, _, length in items]
        (i, j), (k, m) = places, ends
        try:
            part = sp.MatrixSlice(x, (i, k, 1), (j, m, 1))
        except (IndexError, TypeError):  # an empty part; an end of which SymPy cannot tell whether it is inside
            return None
        return sp.Transpose(part) if len(term.data) == 2 and items[0][2] is None else part

    def _reduce(self, term: Term, x: Any) -> Any:
        (own,), (name, axes) = term.args, term.data
        if name not in _REDUCED:
            return None

        def total(y: Any) -> Any:
            return self._total(Term("total", (own,), axes, term.shape), y)

        def widened(y: Any) -> Any:
            if len(axes) == own.ndim:
                return scaled(y, self.ones(*self.shape(own)))
            rows, columns = self.shape(own)
            return matmul(y, self.ones(1, columns)) if axes == (1,) else matmul(self.ones(rows, 1), sp.Transpose(y))

        def of(function: str, y: Any) -> Any:
            return applied(SCALARS[function], y) if getattr(y, "is_Matrix", False) else SCALARS[function](y)

        if name == "unit":
            length = of("sqrt", total(sp.HadamardPower(x, 2)))
            if len(axes) == own.ndim:
                return scaled(inverse(length), x)
            return hadamard(x, sp.HadamardPower(widened(length), -1))
        exps = of("exp", x)
        if name == "softmax":
            if len(axes) == own.ndim:
                return scaled(inverse(total(exps)), exps)
            return hadamard(exps, sp.HadamardPower(widened(total(exps)), -1))
        if name == "log_softmax":
            return sp.MatAdd(x, scaled(sp.S.NegativeOne, widened(of("log", total(exps)))))
        if name == "logsumexp":
            return of("log", total(exps))
        if name == "norm":
            return of("sqrt", total(sp.HadamardPower(x, 2)))
        count = inverse(self.size(product(own.shape[axis] for axis in axes)))
        mean = self._times(count, total(x))
        if name == "mean":
            return mean
        gap = sp.MatAdd(x, scaled(sp.S.NegativeOne, widened(mean)))
        return self._times(count, total(sp.HadamardPower(gap, 2)))

    def _times(self, factor: Any, y: Any) -> Any:
        return scaled(factor, y) if getattr(y, "is_Matrix", False) else mul(factor, y)

    def _concatenate(self, term: Term, *args: Any) -> Any:
        return sp.BlockMatrix([[arg] for arg in args] if term.data == 0 else [list(args)])

    def _stack(self, term: Term, *args: Any) -> Any:
        if term.ndim != 2:
            return None
        if term.data == 1:
            return sp.BlockMatrix([list(args)])
        return sp.BlockMatrix([[sp.Transpose(arg)] for arg in args])

    def _inv(self, term: Term, x: Any) -> Any:
        return sp.Inverse(x)

    def _matrix(self, term: Term, x: Any, *rest: Any) -> Any:
        if term.data == "solve":
            return matmul(sp.Inverse(x), *rest)
        if term.data == "adjugate":
            return Adjugate(x)
        if term.data == "adjugate_differential":
            return AdjugateDifferential(x, *rest)
        if term.data == "cholesky":
            return LofCholesky(x)
        det = sp.Determinant(x)
        if term.data == "det":
            return det
        if term.data == "logdet":
            return log(det)
        return log(sp.Abs(det, evaluate=False)) if term.data == "logabsdet" else None

    def _function(self, term: Term, *args: Any) -> Any:
        if term.data == "stop_gradient":
            return args[0]
        return sp.KroneckerProduct(*args) if term.data == "kron" and term.ndim == 2 else None


HALF = sp.Rational(1, 2)
#: More terms than this are not sorted; SymPy would take too long to compare them.
SORTED = 64
#: Largest denominator, up to powers of two, of a number that is written as a fraction.
LARGEST = 12


def number(value: float) -> Any:
    """Return a double: exactly where a reader knows its name, as a Float otherwise."""
    p, name, q = spelled(value)
    if q and (name or q <= LARGEST or q & (q - 1) == 0):
        constant = _CONSTANTS[name.strip("/")]
        top = constant if name[:1] != "/" else 1 / constant
        return sp.Rational(p, q) if not name else sp.Mul(sp.Rational(p, q), top)
    if math.isnan(value):
        return sp.nan
    if math.isinf(value):
        return sp.oo if value > 0 else -sp.oo
    return sp.Integer(int(value)) if value.is_integer() and value else sp.Float(value)


_CONSTANTS = {
    "": sp.S.One,
    "pi": sp.pi,
    "e": sp.E,
    "log(2)": sp.log(2),
    "log(10)": sp.log(10),
    "pi ** 2": sp.pi**2,
    "sqrt(2)": sp.sqrt(2),
    "sqrt(3)": sp.sqrt(3),
    "sqrt(5)": sp.sqrt(5),
    "sqrt(pi)": sp.sqrt(sp.pi),
    "sqrt(2 / pi)": sp.sqrt(2 / sp.pi),
    "sqrt(pi / 2)": sp.sqrt(sp.pi / 2),
    "sqrt(2 * pi)": sp.sqrt(2 * sp.pi),
}


def size(dim: Dim, symbols: Mapping[str, Any]) -> Any:
    """Return a size; ``symbols`` are those given for names."""
    if not isinstance(dim, Size):
        return sp.Integer(dim)
    terms = []
    for names, coefficient in dim.terms:
        terms.append(sp.Mul(sp.Integer(coefficient), *(symbols.get(name, sp.Symbol(name)) for name in names)))
    return sp.Add(*terms)


def add(terms: Sequence[Any]) -> Any:
    """Return a sum."""
    return _joined(sp.Add, terms)


def mul(*factors: Any) -> Any:
    """Return a product."""
    return _joined(sp.Mul, [f for f in factors if f is not sp.S.One] or [sp.S.One])


def _joined(kind: Any, parts: Sequence[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    flat = [own for part in parts for own in kind.make_args(part)]
    spend(8 * len(flat))
    if len(flat) <= SORTED:
        flat.sort(key=cmp_to_key(sp.Basic.compare))
        flat.sort(key=lambda part: not part.is_Number)
    return kind(*flat, evaluate=False)


def replaced(expr: Any, values: Mapping[Any, Any]) -> Any:
    """Return ``expr`` with symbols replaced, unevaluated (``xreplace`` would evaluate)."""
    if expr in values:
        return values[expr]
    args = [replaced(arg, values) for arg in expr.args]
    if all(new is old for new, old in zip(args, expr.args, strict=True)):
        return expr
    if isinstance(expr, sp.Piecewise):
        return piecewise(*args)
    if expr.func in _CONDITIONS:
        return reduce(_CONDITIONS[expr.func], args)
    if isinstance(expr, sp.Add | sp.Mul | sp.Pow | Application | sp.Rel):
        return expr.func(*args, evaluate=False)
    return sp.Tuple.__new__(ExprCondPair, *args) if isinstance(expr, ExprCondPair) else expr.func(*args)


def power(base: Any, exponent: Any) -> Any:
    """Return a power."""
    return sp.Pow(base, exponent, evaluate=False)


def inverse(x: Any) -> Any:
    """Return 1/x."""
    if x.is_Pow and x.exp.is_Number and x.exp.is_positive:
        return power(x.base, -x.exp)
    return x**-1 if x.is_Number and x != 0 else power(x, sp.S.NegativeOne)


def negative(x: Any) -> Any:
    """Return -x."""
    if x.is_Number:
        return -x
    first, *rest = sp.Mul.make_args(x)
    if first.is_Number and rest:
        return mul(-first, *rest)  # the sign of a number changes exactly
    return mul(sp.S.NegativeOne, x)


def piecewise(*cases: tuple[Any, Any]) -> Any:
    """Return a choice, as ``Piecewise(..., evaluate=False)`` does.

    That would look through each condition for choices and multiply them out, evaluated or not, and
    there may be 2**n of them.
    """
    spend(10)
    pairs = []
    for x, condition in cases:
        c = {True: sp.true, False: sp.false}[condition] if isinstance(condition, bool) else condition
        if c is sp.false:
            continue
        pairs.append(sp.Tuple.__new__(ExprCondPair, x, c))
        if c is sp.true:
            break
    if len(pairs) == 1 and pairs[0].cond is sp.true:
        return pairs[0].expr
    return sp.Basic.__new__(sp.Piecewise, *pairs)


def _f(cls: Any) -> Callable[..., Any]:
    return lambda *args: cls(*args, evaluate=False)


def _relation(cls: Any) -> Callable[..., Any]:
    """Return a comparison; of numbers it is decided, since ``subs`` of SymPy takes such a choice for another one."""
    return lambda x, y: cls(x, y, evaluate=bool(x.is_Number and y.is_Number))


def both(p: Any, q: Any) -> Any:
    """Return where two conditions hold."""
    if sp.true in (p, q):
        return q if p is sp.true else p
    return sp.false if sp.false in (p, q) else _lattice(sp.And, p, q)


def either(p: Any, q: Any) -> Any:
    """Return where one of two conditions holds."""
    if sp.false in (p, q):
        return q if p is sp.false else p
    return sp.true if sp.true in (p, q) else _lattice(sp.Or, p, q)


def just_one(p: Any, q: Any) -> Any:
    """Return where one of two conditions holds and the other does not."""
    if sp.false in (p, q):
        return q if p is sp.false else p
    if sp.true in (p, q):
        return unless(q if p is sp.true else p)
    return sp.false if p == q else _made(sp.Xor, {p, q})


def _lattice(kind: Any, p: Any, q: Any) -> Any:
    """Return conditions joined, as ``kind(p, q)`` does but for comparing what they compare, evaluated or not."""
    parts = {own for part in (p, q) for own in (part.args if isinstance(part, kind) else [part])}
    spend(8 * len(parts))
    return parts.pop() if len(parts) == 1 else _made(kind, parts)


def _made(kind: Any, parts: set[Any]) -> Any:
    made = sp.Basic.__new__(kind, *ordered(parts))
    made._argset = frozenset(parts)
    return made


_CONDITIONS: dict[Any, Callable[[Any, Any], Any]] = {sp.And: both, sp.Or: either, sp.Xor: just_one}


def unless(p: Any) -> Any:
    """Return where a condition does not hold."""
    return sp.Not(p, evaluate=p in (sp.true, sp.false))


def exp(x: Any) -> Any:
    """Return the exponential."""
    return sp.exp(x, evaluate=False)


def log(x: Any) -> Any:
    """Return the logarithm."""
    return sp.log(x, evaluate=False)


def _mod(x: Any, y: Any) -> Any:
    return sp.nan if y.is_Number and y.is_zero else sp.Mod(x, y, evaluate=False)


def _rint(x: Any) -> Any:
    up = add([x, HALF])
    floor = sp.floor(up, evaluate=False)
    tie = sp.Eq(sp.Mod(up, 2, evaluate=False), 1, evaluate=False)
    return piecewise((add([floor, sp.S.NegativeOne]), tie), (floor, True))


def _cbrt(x: Any) -> Any:
    return mul(sp.sign(x, evaluate=False), power(sp.Abs(x, evaluate=False), sp.Rational(1, 3)))


def _of_order(cls: Any, order: int) -> Callable[..., Any]:
    return lambda x: cls(sp.Integer(order), x, evaluate=False)


#: Functions that other parts of the writing take care of.
_OTHERS = ("power", "where", "to_real", "logical_and", "logical_or", "logical_not")
#: Functions of the table as SymPy's, or composed of SymPy's without losing range or digits.
SCALARS: dict[str, Callable[..., Any]] = {
    # SymPy has no digits of erfcinv
    **{name: _f(cls) for name, cls in CLASSES.items() if name not in (*_OTHERS, "erfcinv")},
    "negative": negative,
    "sqrt": lambda x: power(x, HALF),
    "cbrt": _cbrt,
    "exp": exp,
    "exp2": lambda x: power(sp.Integer(2), x),
    "log": log,
    "log2": lambda x: mul(log(x), inverse(sp.log(2))),
    "log10": lambda x: mul(log(x), inverse(sp.log(10))),
    "digamma": lambda x: sp.polygamma(sp.S.Zero, x, evaluate=False),
    "lambertwm1": lambda x: sp.LambertW(x, sp.S.NegativeOne, evaluate=False),
    "sinc": lambda x: sp.sinc(mul(sp.pi, x), evaluate=False),
    "rint": _rint,
    "trunc": lambda x: mul(sp.sign(x, evaluate=False), sp.floor(sp.Abs(x, evaluate=False), evaluate=False)),
    "mod": _mod,
    "floor_divide": lambda x, y: sp.floor(mul(x, inverse(y)), evaluate=False),
    **{name: _relation(CLASSES[name]) for name in ("less", "less_equal", "equal", "not_equal")},
    "logical_xor": just_one,
    **{f"{letter}{n}": _of_order(CLASSES[f"{letter}v"], n) for n in (0, 1) for letter in "jyik"},
    "betainc": lambda a, b, x: sp.Function.__new__(sp.betainc_regularized, a, b, sp.S.Zero, x, evaluate=False),
    "exp1": lambda x: sp.expint(sp.S.One, x, evaluate=False),
    "spence": lambda x: sp.polylog(sp.Integer(2), add([sp.S.One, negative(x)]), evaluate=False),
}
SCALARS |= {
    name: _f(own_function(name))
    for name, row in FUNCTIONS.items()
    if not (name in SCALARS or name in _OTHERS or row.infix or row.written)
}
