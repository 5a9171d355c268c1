"""Scalar functions of SymPy: the table of classes for reading and writing, compositions, classes made from rows.

Compositions are definitions by functions of the table, from DLMF 4.14, 4.23, 4.28, 4.37 and 5.12. Functions that SymPy
lacks, or would unfold into what overflows or cancels, become classes of SymPy made from their rows: a class is read
back to the same row, and its digits are those of mpmath, as many as are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, reduce
from itertools import pairwise
from typing import Any, ClassVar

import mpmath as mp
import numpy as np
import sympy as sp
from sympy.codegen import cfunctions, numpy_nodes, scipy_nodes
from sympy.core.function import ArgumentIndexError

from ...errors import NotDifferentiableError, UnsupportedError
from ...graph import Node, constant
from ...graph import input as variable
from ...graph.reference.interpret import evaluate
from ...graph.reference.many_digits import digits_of
from ...graph.scalars.compositions import POLYNOMIALS
from ...graph.scalars.functions import FUNCTIONS, Function, apply, compare, partial_of, where
from ...ground.stages import later


class OwnFunction(sp.Function):  # type: ignore[misc]  # SymPy has no types
    """A function of a row of the table; see :func:`own_function`."""

    row: ClassVar[Function]

    def _eval_evalf(self, prec: int) -> Any:
        if not self.is_number:
            return None
        found = digits_of(self.row.name, lambda more: [arg._to_mpmath(more) for arg in self.args], prec)
        return sp.Expr._from_mpmath(found, prec)

    def fdiff(self, argindex: int = 1) -> Any:
        """Return the derivative by an argument, as the row has it."""
        place = argindex - 1
        if not 0 <= place < self.row.arity:
            raise ArgumentIndexError(self, argindex)
        letters = [f"a{i}" for i in range(self.row.arity)]
        nodes: list[Node] = [variable(letter) for letter in letters]
        if self.row.orders:
            nodes[0] = constant(float(self.args[0]))
        node = apply(self.row.name, *nodes)
        try:
            slope, condition = partial_of(node, place)
        except NotDifferentiableError:
            raise ArgumentIndexError(self, argindex) from None
        if slope is None:
            return sp.S.Zero
        written = later.sympy.to_sympy(slope if condition is None else where(condition, slope, 0.0))
        return written.xreplace(dict(zip(map(sp.Symbol, letters), self.args, strict=True)))

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        name = rf"\operatorname{{{self.row.name}}}".replace("_", r"\_")
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"{name}{power}{{\left({', '.join(map(printer._print, self.args))} \right)}}"

    def _mpmathcode(self, printer: Any) -> str:
        number = printer._module_format("mpmath.mpf")
        return f"{self.row.name}({', '.join(f'{number}({printer._print(arg)})' for arg in self.args)})"


@cache
def own_function(name: str) -> type[OwnFunction]:
    """Return the class of a row.

    Examples
    --------
    >>> import sympy
    >>> own_function("erfcx")(sympy.Integer(100)).evalf(20)
    0.0056416137829894329036
    """
    row = FUNCTIONS[name]

    def compute(*args: Any) -> Any:
        # what sympy.lambdify calls, with the numbers of the library that it was asked for
        if any(isinstance(arg, mp.mpf) for arg in args):
            return digits_of(name, lambda _: args, mp.mp.prec)
        return evaluate([apply(name, *(constant(np.asarray(arg, dtype=float)) for arg in args))], {})[0]

    own = {"row": row, "nargs": row.arity, "_imp_": staticmethod(compute), "__module__": __name__, "__doc__": None}
    return type(name, (OwnFunction,), own)


def __getattr__(name: str) -> Any:
    # pickles, and the code that SymPy writes, find a class by its module and name
    if name in FUNCTIONS:
        return own_function(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


#: SymPy's classes of rows of the table, as they are read and written: ``sympy=`` in a row, and those that are read
#: with conditions.
CLASSES: dict[str, type[Any]] = {
    **{
        row.name: getattr(sp, row.sympy)
        for row in FUNCTIONS.values()
        if row.sympy and isinstance(getattr(sp, row.sympy), type) and row.sympy != "Pow"
    },
    "binom": sp.binomial,
    "expi": sp.Ei,
    "expn": sp.expint,
    "lambertw": sp.LambertW,
    "poch": sp.RisingFactorial,
    "spherical_jn": sp.jn,
    "zeta": sp.zeta,
}
#: Families of polynomials. SymPy expands those of a whole order itself; those whose order is the index of a sum stay.
_POLYNOMIALS: dict[Any, str] = {
    sp.legendre: "eval_legendre",
    sp.chebyshevt: "eval_chebyt",
    sp.chebyshevu: "eval_chebyu",
    sp.hermite: "eval_hermite",
    sp.hermite_prob: "eval_hermitenorm",
    sp.laguerre: "eval_laguerre",
    sp.assoc_laguerre: "eval_genlaguerre",
}


def _f(name: str) -> Callable[..., Node]:
    return lambda *args: apply(name, *args)


def _fold(name: str) -> Callable[..., Node]:
    return lambda *args: reduce(lambda a, b: apply(name, a, b), args)


def _inverse(name: str) -> Callable[[Node], Node]:
    return lambda x: apply("divide", 1.0, apply(name, x))


def _of_inverse(name: str) -> Callable[[Node], Node]:
    return lambda x: apply(name, apply("divide", 1.0, x))


def _heaviside(x: Node, at_zero: Node) -> Node:
    # written so that a nan stays one
    return where(compare("equal", x, 0.0), at_zero, (apply("sign", x) + 1.0) * 0.5)


def _gamma(x: Node) -> Node:
    return apply("gamma", x)


#: Up to here a binomial of a number below is a product.
_PRODUCT = 20


def _binomial(n: Node, k: Node) -> Node:
    below = _whole(k)
    if below is None or not 0 <= below <= _PRODUCT or n.is_constant:
        return apply("binom", n, k)
    total = constant(1.0 / math.factorial(below))  # of numbers below 0 too
    for j in range(below):
        total = total * (n - float(j) if j else n)
    return total


def _imaginary(x: Node) -> Node:
    # of what has no real value there is none
    return constant(0.0) if x.is_input else where(compare("equal", x, x), 0.0, math.nan)


def _argument(x: Node) -> Node:
    return where(compare("greater", x, 0.0), 0.0, where(compare("less", x, 0.0), math.pi, math.nan))


def _falling(x: Node, k: Node) -> Node:
    return _gamma(x + 1.0) / _gamma(x - k + 1.0)


def _kronecker_delta(i: Node, j: Node) -> Node:
    if i.is_constant and j.is_constant:
        return constant(float(i.value == j.value))
    return where(compare("equal", i, j), 1.0, 0.0)


def _levi_civita(*indices: Node) -> Node:
    if all(index.is_constant for index in indices):
        return constant(float(sp.LeviCivita(*(int(index.value) for index in indices))))
    total = constant(1.0)
    for i, own in enumerate(indices):
        for count, other in enumerate(indices[i + 1 :], start=1):
            total = total * ((other - own) * (1.0 / count))
    return total


def _equivalent(*conditions: Node) -> Node:
    pairs = [apply("logical_not", apply("logical_xor", a, b)) for a, b in pairwise(conditions)]
    return reduce(lambda a, b: apply("logical_and", a, b), pairs)


def _logaddexp2(x: Node, y: Node) -> Node:
    log2 = float(sp.log(2))
    return apply("logaddexp", x * log2, y * log2) * (1.0 / log2)


def _lambert(x: Node, *branch: Node) -> Node:
    k = branch[0].value if branch else 0.0
    if k not in (0.0, -1.0):
        raise UnsupportedError(f"SymPy's LambertW of branch {k}; the branches that are real are 0 and -1")
    return apply("lambertwm1" if k else "lambertw", x)


def _whole(node: Node) -> int | None:
    """Return the whole number that a node is, or None."""
    return int(node.value) if node.is_constant and float(node.value).is_integer() else None


def _bessel(letter: str) -> Callable[[Node, Node], Node]:
    """Return a Bessel function, that of order 0 or 1 by its own name: its logarithms and ratios are known."""

    def build(v: Node, x: Node) -> Node:
        order = _whole(v)
        return apply(f"{letter}{order}", x) if order in (0, 1) else apply(f"{letter}v", v, x)

    return build


def _exponential_integral(n: Node, x: Node) -> Node:
    order = _whole(n)
    if order is None or order < 0:
        raise UnsupportedError("SymPy's expint of an order that is no whole number from 0 on; write it by uppergamma")
    return apply("exp1", x) if order == 1 else apply("expn", n, x)


def _of_degree(name: str) -> Callable[..., Node]:
    """Return a polynomial of a degree that is a number, by its recurrence."""

    def build(n: Node, *args: Node) -> Node:
        degree = _whole(n)
        if degree is None:
            own = name.removeprefix("eval_")
            raise UnsupportedError(f"SymPy's {own} of a degree that is no number; expected a whole one")
        return POLYNOMIALS[name][0](degree, *args)

    return build


def _harmonic(n: Node, *order: Node) -> Node:
    if order and order[0] is not constant(1.0):
        raise UnsupportedError("SymPy's harmonic of an order other than 1; write it as a Sum")
    if _whole(n) is not None:
        return constant(float(sp.harmonic(_whole(n))))
    return apply("digamma", n + 1.0) + float(sp.EulerGamma)


def _zeta(s: Node, *a: Node) -> Node:
    if s.is_constant and not float(s.value) > 1.0:
        raise UnsupportedError(f"SymPy's zeta of {float(s.value):g}, which is offered beyond 1")
    return apply("zeta", s, *(a or (constant(1.0),)))


def _polylog(s: Node, x: Node) -> Node:
    if _whole(s) != 2:
        raise UnsupportedError("SymPy's polylog of an order other than 2")
    return apply("spence", 1.0 - x)


def _betainc_regularized(a: Node, b: Node, low: Node, high: Node) -> Node:
    above = apply("betainc", a, b, high)
    return above if low is constant(0.0) else above - apply("betainc", a, b, low)


def _ite(condition: Node, a: Node, b: Node) -> Node:
    other = apply("logical_and", apply("logical_not", condition), b)
    return apply("logical_or", apply("logical_and", condition, a), other)


SCALAR_FUNCTIONS: dict[type[Any], Callable[..., Node]] = {
    **{cls: _f(name) for name, cls in CLASSES.items()},
    **{CLASSES[f"{letter}v"]: _bessel(letter) for letter in "jyik"},
    sp.StrictGreaterThan: lambda a, b: compare("greater", a, b),
    sp.GreaterThan: lambda a, b: compare("greater_equal", a, b),
    sp.And: _fold("logical_and"),
    sp.Or: _fold("logical_or"),
    sp.Xor: _fold("logical_xor"),
    sp.Implies: lambda a, b: apply("logical_or", apply("logical_not", a), b),
    sp.ITE: _ite,
    sp.Nand: lambda *args: apply("logical_not", _fold("logical_and")(*args)),
    sp.Nor: lambda *args: apply("logical_not", _fold("logical_or")(*args)),
    sp.Equivalent: _equivalent,
    sp.Max: _fold("maximum"),
    sp.Min: _fold("minimum"),
    sp.sec: _inverse("cos"),
    sp.csc: _inverse("sin"),
    sp.cot: _inverse("tan"),
    sp.csch: _inverse("sinh"),
    sp.coth: _inverse("tanh"),
    sp.asec: _of_inverse("arccos"),
    sp.acsc: _of_inverse("arcsin"),
    sp.acot: _of_inverse("arctan"),
    sp.asech: _of_inverse("arccosh"),
    sp.acsch: _of_inverse("arcsinh"),
    sp.acoth: _of_inverse("arctanh"),
    sp.log: lambda x, *base: apply("divide", apply("log", x), apply("log", *base)) if base else apply("log", x),
    sp.sinc: lambda x: apply("sinc", apply("divide", x, constant(float(sp.pi)))),
    sp.frac: lambda x: x - apply("floor", x),
    sp.Heaviside: _heaviside,
    sp.factorial: lambda n: _gamma(n + 1.0),
    sp.binomial: _binomial,
    sp.erf2: lambda x, y: apply("erf", y) - apply("erf", x),
    sp.LambertW: _lambert,
    sp.expint: _exponential_integral,
    sp.li: lambda x: apply("expi", apply("log", x)),
    sp.Li: lambda x: apply("expi", apply("log", x)) - float(sp.li(2)),
    sp.zeta: _zeta,
    sp.polylog: _polylog,
    sp.erf2inv: lambda x, y: apply("erfinv", apply("erf", x) + y),
    sp.betainc: lambda a, b, low, high: _betainc_regularized(a, b, low, high) * apply("beta", a, b),
    sp.betainc_regularized: _betainc_regularized,
    sp.lowergamma: lambda a, x: apply("gammainc", a, x) * _gamma(a),
    sp.uppergamma: lambda a, x: apply("gammaincc", a, x) * _gamma(a),
    **{cls: _of_degree(name) for cls, name in _POLYNOMIALS.items()},
    sp.trigamma: lambda x: apply("polygamma", constant(1.0), x),
    sp.harmonic: _harmonic,
    sp.FallingFactorial: _falling,
    sp.KroneckerDelta: _kronecker_delta,
    sp.LeviCivita: _levi_civita,
    sp.polygamma: lambda n, x: apply("digamma", x) if n.value == 0 else apply("polygamma", n, x),
    # Every input is real.
    sp.re: lambda x: x,
    sp.conjugate: lambda x: x,
    sp.im: _imaginary,
    sp.arg: _argument,
    cfunctions.expm1: _f("expm1"),
    cfunctions.log1p: _f("log1p"),
    cfunctions.exp2: _f("exp2"),
    cfunctions.log2: _f("log2"),
    cfunctions.log10: _f("log10"),
    cfunctions.hypot: _f("hypot"),
    cfunctions.Sqrt: _f("sqrt"),
    cfunctions.Cbrt: _f("cbrt"),
    cfunctions.fma: lambda a, b, c: a * b + c,
    cfunctions.isnan: lambda x: compare("not_equal", x, x),
    cfunctions.isinf: lambda x: compare("equal", apply("abs", x), float("inf")),
    numpy_nodes.logaddexp: _f("logaddexp"),
    numpy_nodes.logaddexp2: _logaddexp2,
    numpy_nodes.maximum: _fold("maximum"),
    numpy_nodes.minimum: _fold("minimum"),
    scipy_nodes.cosm1: lambda x: apply("power", apply("sin", x * 0.5), 2.0) * -2.0,
    scipy_nodes.powm1: lambda x, y: apply("expm1", y * apply("log", x)),
}

#: Functions whose first argument picks the function and must be a number.
ORDERED = (sp.polygamma, sp.jn)


def power(base: Node, exponent: Any, exponent_node: Node) -> Node:
    """Return SymPy's ``Pow``; ``exponent`` is the SymPy object behind ``exponent_node``."""
    if exponent == -1:
        return apply("divide", 1.0, base)
    if exponent == sp.S.Half:
        return apply("sqrt", base)
    if exponent == -sp.S.Half:
        return apply("divide", 1.0, apply("sqrt", base))
    if base is constant(2.0) and not exponent_node.is_constant:
        return apply("exp2", exponent_node)
    return apply("power", base, exponent_node)
