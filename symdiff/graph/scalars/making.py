"""Makers of rows of the table of scalar functions, functions by name, usual domains, and facts of all rows.

Facts are inverses, logarithms, exact values, and which functions have a value everywhere. They are columns of the
rows (``inverse``, ``logarithm``, ``exact`` and ``total``) beside those of signs, and stand here side by side, as a
book's table has them. Rewriting makes equations of them: ``tan(arctan(x)) -> x`` for every function, one that is
added later too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._kernels.system.unique import assign_alike
from ...errors import UnsupportedError
from .. import Node, as_node, constant, elementwise
from ..kinds import BRANCHING, BY_ARGUMENTS, EXPANDED, note
from .functions import FUNCTIONS, Function, Interval, Partial, Range, Slope, scalar_constant

#: f and g with f(g(x)) = x wherever g has a value; parameters of both come first. DLMF 4.2, 4.23, 4.37, 7.17, 8.2, 8.17
INVERSES = {"exp": "log", "log": "exp", "exp2": "log2", "log2": "exp2", "expm1": "log1p", "log1p": "expm1",
    "sin": "arcsin", "cos": "arccos", "tan": "arctan",
    "sinh": "arcsinh", "arcsinh": "sinh", "cosh": "arccosh", "tanh": "arctanh", "arctanh": "tanh",
    "erf": "erfinv", "erfinv": "erf", "erfc": "erfcinv", "erfcinv": "erfc",
    "ndtr": "ndtri", "ndtri": "ndtr", "sigmoid": "logit", "logit": "sigmoid",
    "gammainc": "gammaincinv", "gammaincinv": "gammainc", "gammaincc": "gammainccinv",
    "gammainccinv": "gammaincc", "betainc": "betaincinv", "betaincinv": "betainc", "stdtr": "stdtrit",
    "stdtrit": "stdtr",}

#: Functions whose logarithm is a function of its own, which is finite where they overflow or vanish.
LOGARITHMS = {"gamma": "log_gamma", "beta": "log_beta", "binom": "log_binom", "poch": "log_poch",
    "sigmoid": "log_sigmoid", "ndtr": "log_ndtr", "erfc": "log_erfc", "erfcx": "log_erfcx", "stdtr": "log_stdtr",
    "gammainc": "log_gammainc", "gammaincc": "log_gammaincc", "betainc": "log_betainc",
    "i0": "log_i0", "i1": "log_i1", "k0": "log_k0", "k1": "log_k1", "kv": "log_kv",
    "iv": "log_iv", "exp1": "log_exp1", "expi": "log_expi",}

#: Functions that have a value wherever their arguments have one.
TOTAL = frozenset((
    "abs", "add", "arcsinh", "arctan", "arctan2", "cbrt", "cos", "cosh", "dawsn", "erf", "erfc", "erfcx", "exp",
    "exp2", "expm1", "hypot", "log_cosh", "log_exp_quotient", "log_ndtr", "log_sigmoid", "log_sinh_quotient",
    "logaddexp", "lorentzian", "maximum", "minimum", "multiply", "ndtr", "negative", "sech", "sigmoid", "sign", "sin",
    "sinc", "sinh", "soft_sign", "softplus", "subtract", "tanh", "where",
))

#: Arguments other than 0 at which a function is a number that books print, and that number.
EXACT = {
    "log": ((1.0, 0.0), (math.e, 1.0)),
    "log2": ((1.0, 0.0), (2.0, 1.0)),
    "log10": ((1.0, 0.0), (10.0, 1.0)),
    "log1p": ((1.0, math.log(2.0)),),
    "exp2": ((1.0, 2.0),),
    "cbrt": ((1.0, 1.0),),
    "gamma": ((1.0, 1.0), (2.0, 1.0)),
    "lgamma": ((1.0, 0.0), (2.0, 0.0)),
    "arcsin": ((1.0, 0.5 * math.pi),),
    "arctan": ((1.0, 0.25 * math.pi),),
    "arccos": ((1.0, 0.0), (-1.0, math.pi)),
    "ellipk": ((0.0, 0.5 * math.pi),),
    "ellipkm1": ((1.0, 0.5 * math.pi),),
    "ellipe": ((0.0, 0.5 * math.pi), (1.0, 1.0)),
    "i0e": ((0.0, 1.0),),
    "spence": ((1.0, 0.0),),
    "sinc": ((1.0, 0.0),),
    "entr": ((0.0, 0.0), (1.0, 0.0)),
    "soft_sign": ((1.0, 0.5),),
    "log_ndtr": ((0.0, -math.log(2.0)),),
    "arccosh": ((1.0, 0.0),),
    "logit": ((0.5, 0.0),),
    "ndtri": ((0.5, 0.0),),
}


ZERO, NONE, ABSENT = Partial.ZERO, Partial.NONE, Partial.ABSENT

ANY: Interval = (-3.0, 3.0)
POSITIVE: Interval = (0.1, 4.0)
UNIT: Interval = (-0.95, 0.95)
TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def named(name: str) -> Callable[..., Node]:
    """Return a function of the table as one of nodes and numbers."""

    def call(*args: Node | float) -> Node:
        return elementwise(name, tuple([as_node(a) for a in args]))

    call.__name__ = name
    return call


def order_of(n: Node) -> float:
    """Return the order of a family of functions, which simplification may have repeated or reshaped."""
    order = scalar_constant(n)
    if order is None:
        raise UnsupportedError("an order that is no number known beforehand")
    return order


def next_order(n: Node) -> Node:
    """Return the order of a derivative after this one."""
    order = scalar_constant(n)
    return n + 1.0 if order is None else constant(order + 1.0)


def row(name: str, partials: tuple[Slope | Partial, ...], domain: tuple[Interval, ...], **rest: Any) -> None:
    """Add a row: :class:`~symdiff.graph.scalars.functions.Function` has the columns.

    A range is written as an interval; a parity or monotony that is not one an argument is that by each of them.
    """
    rest |= {"inverse": INVERSES.get(name, ""), "logarithm": LOGARITHMS.get(name, "")}
    rest |= {"total": name in TOTAL, "exact": EXACT.get(name, ())}
    rest.setdefault("numpy", f"np.{name}")
    rest.setdefault("c", "" if "expansion" in rest else name)
    rest["range"] = Range.read(rest.get("range", ""))
    for column in ("parity", "monotone"):
        fact = rest.get(column, "")
        rest[column] = (fact,) * len(partials) if isinstance(fact, str) else fact
    FUNCTIONS[name] = made = Function(name, partials, domain, **rest)
    if name not in BY_ARGUMENTS:
        assign_alike(name)
    if made.expansion is not None and not made.c:
        note(name, EXPANDED)
    if made.supports:
        note(name, BRANCHING)


def unary(name: str, partial: Slope | Partial, domain: Interval = ANY, **rest: Any) -> None:
    """Add the row of a function of one argument."""
    row(name, (partial,), (domain,), **rest)
