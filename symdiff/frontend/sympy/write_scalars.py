"""Scalar functions, numbers and sizes as SymPy writes them.

SymPy must not change a formula's meaning on the way (``exp(log(x))`` is not ``x`` for a negative
x), so everything is made unevaluated. Nor is SymPy asked what it knows of an expression: to answer
whether ``zeta(108, oo)`` is 0 it computes digits without end, and the text is a stranger's. Only a
Number may be compared. Sums and products have their terms in SymPy's own order, so that they
equal what a user would write wherever SymPy would not have merged terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key, reduce
from typing import Any

import sympy as sp
from sympy.core.function import Application
from sympy.core.sorting import ordered
from sympy.functions.elementary.piecewise import ExprCondPair

from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim, Size
from ...ground.budget import spend
from ...printing.notation import spelled
from .own_functions import own_function

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
    "sqrt(2)": sp.sqrt(2),
    "sqrt(3)": sp.sqrt(3),
    "sqrt(5)": sp.sqrt(5),
    "sqrt(pi)": sp.sqrt(sp.pi),
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


#: Special functions that have a name in SymPy.
_SPECIAL: dict[str, Callable[..., Any]] = {
    **{"jv": _f(sp.besselj), "yv": _f(sp.bessely), "iv": _f(sp.besseli), "kv": _f(sp.besselk)},
    **{f"{letter}{n}": _of_order(cls, n) for n in (0, 1) for letter, cls in (("j", sp.besselj), ("y", sp.bessely))},
    **{f"{letter}{n}": _of_order(cls, n) for n in (0, 1) for letter, cls in (("i", sp.besseli), ("k", sp.besselk))},
    "erfinv": _f(sp.erfinv),
    "betainc": lambda a, b, x: sp.Function.__new__(sp.betainc_regularized, a, b, sp.S.Zero, x, evaluate=False),
    "zeta": _f(sp.zeta),
    "exp1": lambda x: sp.expint(sp.S.One, x, evaluate=False),
    "expn": _f(sp.expint),
    "expi": _f(sp.Ei),
    "spence": lambda x: sp.polylog(sp.Integer(2), add([sp.S.One, negative(x)]), evaluate=False),
}

#: What SymPy calls each function of the table, or composes it of without losing range or digits.
SCALARS: dict[str, Callable[..., Any]] = {
    "negative": negative,
    "sqrt": lambda x: power(x, HALF),
    "cbrt": _cbrt,
    "exp": exp,
    "exp2": lambda x: power(sp.Integer(2), x),
    "log": log,
    "log2": lambda x: mul(log(x), inverse(sp.log(2))),
    "log10": lambda x: mul(log(x), inverse(sp.log(10))),
    "sin": _f(sp.sin),
    "cos": _f(sp.cos),
    "tan": _f(sp.tan),
    "arcsin": _f(sp.asin),
    "arccos": _f(sp.acos),
    "arctan": _f(sp.atan),
    "arctan2": _f(sp.atan2),
    "sinh": _f(sp.sinh),
    "cosh": _f(sp.cosh),
    "tanh": _f(sp.tanh),
    "sech": _f(sp.sech),
    "arcsinh": _f(sp.asinh),
    "arccosh": _f(sp.acosh),
    "arctanh": _f(sp.atanh),
    "erf": _f(sp.erf),
    "erfc": _f(sp.erfc),
    "gamma": _f(sp.gamma),
    "beta": _f(sp.beta),
    "binom": _f(sp.binomial),
    "poch": _f(sp.RisingFactorial),
    "lgamma": _f(sp.loggamma),
    "digamma": lambda x: sp.polygamma(sp.S.Zero, x, evaluate=False),
    "polygamma": _f(sp.polygamma),
    "spherical_jn": _f(sp.jn),
    **{"ellipk": _f(sp.elliptic_k), "ellipe": _f(sp.elliptic_e), "si": _f(sp.Si), "ci": _f(sp.Ci)},
    **{"fresnels": _f(sp.fresnels), "fresnelc": _f(sp.fresnelc), "lambertw": _f(sp.LambertW)},
    **{name: _f(getattr(sp, name)) for name in ("airyai", "airyaiprime", "airybi", "airybiprime")},
    "lambertwm1": lambda x: sp.LambertW(x, sp.S.NegativeOne, evaluate=False),
    "sinc": lambda x: sp.sinc(mul(sp.pi, x), evaluate=False),
    "abs": _f(sp.Abs),
    "sign": _f(sp.sign),
    "floor": _f(sp.floor),
    "ceil": _f(sp.ceiling),
    "rint": _rint,
    "trunc": lambda x: mul(sp.sign(x, evaluate=False), sp.floor(sp.Abs(x, evaluate=False), evaluate=False)),
    "mod": _mod,
    "floor_divide": lambda x, y: sp.floor(mul(x, inverse(y)), evaluate=False),
    "maximum": _f(sp.Max),
    "minimum": _f(sp.Min),
    "less": _relation(sp.StrictLessThan),
    "less_equal": _relation(sp.LessThan),
    "equal": _relation(sp.Equality),
    "not_equal": _relation(sp.Unequality),
    "logical_xor": just_one,
    **_SPECIAL,
}
#: Of these another part of the writing takes care, or people write them by other functions.
_OTHERS = ("power", "where", "to_real", "logical_and", "logical_or", "logical_not")
SCALARS |= {
    name: _f(own_function(name))
    for name, row in FUNCTIONS.items()
    if not (name in SCALARS or name in _OTHERS or row.infix or row.written)
}
