"""Rewrites of arithmetic: numbers, signs, like terms, common factors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ..graph import BOOL, Node, constant, elementwise, number
from ..graph.scalars.arithmetic import (
    LEAVES,
    PRODUCTS,
    SUMS,
    factors_of,
    has_one_more,
    is_leaf,
    powers_of,
    product_of,
    scaled,
    terms_of,
)
from ..ground.gc_pause import noted
from .rewriter import make, rule, spread


def folded(node: Node) -> Node | None:
    """Return the value of a function of numbers."""
    for arg in node.args:
        if not arg.is_constant or arg.shape != ():
            return None
    function = NUMBERS.get(node.op)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        value = function(*[arg.value for arg in node.args])
    return constant(bool(value) if node.dtype is BOOL else float(value))


#: Functions that are computed where their arguments are numbers.
NUMBERS: dict[str, Callable[..., float]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "power": np.power,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "unless_nan": lambda x: x if np.isnan(x) else 1.0,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}
rule(" ".join(NUMBERS), "f(2, 3)", "its value", inside="constant")(folded)

#: Functions of whole numbers, wherever they are whole numbers that doubles have.
_COUNTING: dict[str, Callable[..., int]] = {
    "gamma": lambda n: math.factorial(n - 1),
    "binom": math.comb,
    "poch": lambda n, k: math.perm(n + k - 1, k),
}
#: Arguments from and up to which they are computed.
_COUNTED = {"gamma": (1, 19), "binom": (0, 60), "poch": (1, 60)}


@rule(" ".join(_COUNTING), "gamma(4), binom(5, 2)", "6, 10", inside="constant")
def _counted(node: Node) -> Node | None:
    """Compute a function of whole numbers whose value is a whole number."""
    low, high = _COUNTED[node.op]
    values = [number(arg) for arg in node.args]
    if not all(value is not None and value.is_integer() and low <= value <= high for value in values):
        return None
    found = _COUNTING[node.op](*[int(value) for value in values if value is not None])
    return constant(float(found)) if 0 < found <= 2**53 else None


@rule("power_log", "e**x log(e)", "e**x", inside="constant")
def _power_of_e(node: Node) -> Node | None:
    """Leave out the logarithm of e in derivatives of its powers."""
    _, base, exponent = node.args
    return make("power", base, exponent) if number(base) == math.e else None


@rule("jv yv iv kv", "jv(-1, x), iv(-1, x), kv(-1, x)", "-jv(1, x), iv(1, x), kv(1, x)", inside="constant")
def _mirrored_order(node: Node) -> Node | None:
    """Write a Bessel function of a whole order below 0 as that of the order without the sign."""
    order, x = node.args
    n = number(order)
    if n is None or n >= 0.0 or not n.is_integer():
        return None
    found = make(node.op, constant(-n), x)
    return make("negative", found) if node.op in ("jv", "yv") and n % 2.0 == 1.0 else found


@rule("add", "x + 0, a + (-b), x + x, a c + b c", "x, a - b, 2 x, (a + b) c",
      inside="constant negative", linked=True)
def _sum_forms(node: Node) -> Node | None:
    a, b = node.args
    if number(a) == 0.0:
        return spread(b, node.shape)
    if number(b) == 0.0:
        return spread(a, node.shape)
    if b.is_negation:
        return make("subtract", a, b.args[0])
    if a.is_negation:
        return make("subtract", b, a.args[0])
    if a is not b and not a.is_multiplication and not b.is_multiplication:
        return None
    (p, x), (q, y) = scaled(a), scaled(b)
    if x is y and not x.is_constant and p + q != 0:
        return make("multiply", constant(p + q), x)
    if q < 0 and b.is_multiplication:
        return make("subtract", a, make("multiply", constant(-q), y))
    return _common_factor(node, "add")


@rule("subtract", "x - 0, 0 - x, a - (-b), a c - b c", "x, -x, a + b, (a - b) c",
      inside="constant negative", linked=True)
def _difference_forms(node: Node) -> Node | None:
    a, b = node.args
    if number(b) == 0.0:
        return spread(a, node.shape)
    if number(a) == 0.0:
        return make("negative", spread(b, node.shape))
    if b.is_negation:
        return make("add", a, b.args[0])
    if a.is_negation:
        return make("negative", make("add", a.args[0], b))
    if not a.is_multiplication and not b.is_multiplication:
        return None
    (p, x), (q, y) = scaled(a), scaled(b)
    if x is y and not x.is_constant and p != q:
        return make("multiply", constant(p - q), x)
    if q < 0 and b.is_multiplication:
        return make("add", a, make("multiply", constant(-q), y))
    return _common_factor(node, "subtract")


#: Most terms of a sum, or factors of a product, that are compared with each other.
_WINDOW = 9


@rule("add subtract", "a + b + a", "2 a + b", "reading", inside="add subtract negative")
def _like_terms(node: Node) -> Node | None:
    """Collect terms that differ only by a number."""
    return _collected(node, False)


@rule("add subtract", "a + b - a", "b", "derived", inside="add subtract negative divide")
def _opposite_terms(node: Node) -> Node | None:
    """Cancel terms of derivatives, which would take the digits of the others with them."""
    a, b = node.args
    if not (a.op in SUMS or b.op in SUMS or (a.is_division and b.is_division and a.args[1] is b.args[1])):
        return None  # two terms of which none is like the other
    return _collected(node, True)


@rule("multiply divide subtract contract", "0 x, 0 / x, x - x", "0", "derived")
def _nothing(node: Node) -> Node | None:
    """Leave out what is 0 of a derivative where it is a number."""
    if node.is_subtraction:
        zero = node.args[0] is node.args[1]
    else:
        zero = any(number(arg) == 0.0 for arg in (node.args[:1] if node.is_division else node.args))
    return spread(constant(0.0), node.shape) if zero else None


def _collected(node: Node, cancel: bool) -> Node | None:
    """Add up like terms: those of a sum where some cancel, or of one where none do."""
    total = _totals(node)
    if total is None:
        return None
    result: Node | None = None
    left = {x: c for x, c in total.items() if c}
    if cancel != (len(left) < len(total)):
        return None
    if not left:
        return spread(constant(0.0), node.shape)
    if any(x.shape == node.shape for x in total.keys() - left.keys()) and all(x.shape != node.shape for x in left):
        return None
    for x, c in left.items():
        if result is None:
            result = make("multiply", constant(c), x)
        else:
            part = make("multiply", constant(abs(c)), x)
            result = make("add" if c > 0 else "subtract", result, part)
    return result


@noted
def _totals(node: Node) -> dict[Node, float] | None:
    """Return the terms of a sum that are no numbers, and what they are multiplied by; None where none are alike."""
    total: dict[Node, float] = {}
    for sign, term in (terms := terms_of(node, _WINDOW).parts):
        c, x = scaled(term)
        above = number(x.args[0]) if x.is_division else None
        if above is not None and above not in (0.0, 1.0):
            c, x = c * above, elementwise("divide", (constant(1.0), x.args[1]))
        total[x] = total.get(x, 0.0) + sign * c
    return None if len(total) == len(terms) or any(x.is_constant for x in total) else total


@rule("add subtract", "x - x (1 + y)", "-x y", "reading", inside="multiply negative")
def _absorbed_term(node: Node) -> Node | None:
    """Subtract a product from one of its factors where that takes a number away: as written it loses digits."""
    a, b = node.args
    back = -1.0 if node.is_subtraction else 1.0
    for alone, other, signs in ((a, b, (1.0, back)), (b, a, (back, 1.0))):
        (p, x), (q, y) = scaled(alone), scaled(other)
        found = _further_factor(x, y) if y.is_multiplication and x.shape == node.shape else None
        if found is None:
            continue
        inside, q = found[0], product_of(q, found[1])
        terms = terms_of(inside, _WINDOW)
        numbers = [sign * c for sign, term in terms.parts if (c := number(term)) is not None]
        if not terms.whole or len(numbers) != 1 or signs[0] * p + signs[1] * q * numbers[0] != 0.0:
            continue
        rest: Node | None = None
        for sign, term in terms.parts:
            if number(term) is None:
                part = make("multiply", constant(signs[1] * q * sign), term)
                rest = part if rest is None else make("add", rest, part)
        return None if rest is None else make("multiply", rest, x)
    return None


def _further_factor(x: Node, y: Node) -> tuple[Node, float] | None:
    """Return z and a number c with y = c x z, for products."""
    if x in y.args:
        return y.args[y.args[0] is x], 1.0
    if x.op not in PRODUCTS or not has_one_more(_powers_in(y), _powers_in(x)):
        return None
    powers, ratio = dict[Node, float](), 1.0
    for product, side in ((y, 1.0), (x, -1.0)):
        sign, parts, whole = factors_of(product, _WINDOW)
        if not whole:
            return None
        ratio *= sign
        for base, n in parts:
            c = number(base)
            if c == 0.0:
                return None
            ratio = ratio if c is None else product_of(ratio, c ** (side * n))
            powers[base] = powers.get(base, 0.0) + (side * n if c is None else 0.0)
    return next(base for base, n in powers.items() if n), ratio


_powers_in = noted(partial(powers_of, most=_WINDOW))


@rule("add subtract", "1 - x / (1 + x), 1 / y - (x / (1 + x)) / y", "1 / (1 + x), (1 / (1 + x)) / y", "reading",
      inside="divide multiply")
def _whole_and_quotient(node: Node) -> Node | None:
    """Put a number beside a quotient into it where all but a number cancels, which loses no digits then.

    The divisor stays, with all that cancels: what is nan stays so, and what is infinite gives the limit.
    """
    a, b = node.args
    back = -1.0 if node.is_subtraction else 1.0
    for alone, other, signs in ((a, b, (1.0, back)), (b, a, (back, 1.0))):
        p, quotient = scaled(other)
        c, divisor = number(alone), None
        if alone.is_division and quotient.is_division and quotient.args[1] is alone.args[1]:
            c, divisor = number(alone.args[0]), alone.args[1]
            r, quotient = scaled(quotient.args[0])
            p *= r
        if c is None or not quotient.is_division or quotient.shape != node.shape:
            continue
        whole, part = signs[0] * c, signs[1] * p
        top, bottom = (terms_of(arg, _WINDOW) for arg in quotient.args)
        if not top.whole or not bottom.whole:
            continue
        total: dict[Node | None, float] = {None: 0.0}
        for factor, terms in ((part, top.parts), (whole, bottom.parts)):
            for sign, term in terms:
                own = number(term)
                q, x = (own, None) if own is not None else scaled(term)
                total[x] = total.get(x, 0.0) + factor * sign * q
        left = total.pop(None)
        if left != 0.0 and not any(total.values()):
            result = make("divide", constant(left), quotient.args[1])
            return result if divisor is None else make("divide", result, divisor)
    return None


def _common_factor(node: Node, op: str) -> Node | None:
    a, b = node.args
    factors: list[Node] = []
    shape = node.shape
    while a.is_multiplication and b.is_multiplication:
        (p, x), (q, y) = a.args, b.args
        if (p is q or p is y) and p.shape == shape:
            factor, a, b = p, x, y if p is q else q
        elif (x is q or x is y) and x.shape == shape:
            factor, a, b = x, p, y if x is q else q
        else:
            break
        factors.append(factor)
        # if what is left is another sum of products, no rule comes before this one: two terms may have thousands of
        # factors in common, and a call for each would be nested as deep
        shape = a.shape
        if shape != b.shape or a is b or not (a.is_multiplication and b.is_multiplication):
            break
        if number(a.args[0]) is not None or number(b.args[0]) is not None:
            break
    if not factors:
        return None
    result = make(op, a, b)
    for factor in factors[::-1]:
        result = make("multiply", result, factor)
    return result


@rule("multiply", "1 x, -1 x, (-a) b, 2 (3 x), x x, (1/y) x", "x, -x, -(a b), 6 x, x**2, x/y",
      inside=" ".join(("negative", "divide", *sorted(LEAVES))), linked=True)
def _product_forms(node: Node) -> Node | None:
    a, b = node.args
    c = number(a)
    if c is None and number(b) is not None:
        return make("multiply", b, a)
    if c == 1.0:
        return b
    if c == -1.0:
        return make("negative", b)
    if a.is_negation:
        return make("negative", make("multiply", a.args[0], b))
    if b.is_negation:
        if c is not None:
            return make("multiply", constant(-c), b.args[0])
        return make("negative", make("multiply", a, b.args[0]))
    if c is not None and b.is_multiplication and number(b.args[0]) is not None:
        return make("multiply", constant(product_of(c, float(b.args[0].value))), b.args[1])
    if c is not None:
        if b.is_division and (number(b.args[0]) is not None or scaled(b.args[0])[0] not in (1.0, -1.0)):
            return make("divide", make("multiply", a, b.args[0]), b.args[1])
        return None
    for x, y in ((a, b), (b, a)):
        if not x.is_multiplicative:
            continue
        p, rest = scaled(x)
        if x.is_division:
            p, top = scaled(x.args[0])
            if p not in (1.0, -1.0):
                return make("multiply", constant(p), make("multiply", y, make("divide", top, x.args[1])))
        elif p != 1.0 and x.is_multiplication:
            return make("multiply", x.args[0], make("multiply", *((rest, y) if x is a else (y, rest))))
        if x.is_division and number(x.args[0]) is not None:
            return make("divide", make("multiply", x.args[0], y), x.args[1])
    if b.op in LEAVES and is_leaf(b) and not is_leaf(a):
        return make("multiply", b, a)
    return None


@rule("multiply", "x y x", "x**2 y", "reading")
def _like_factors(node: Node) -> Node | None:
    """Collect equal factors into whole powers."""
    factors: list[tuple[Node, float]] = []
    for factor, _ in factors_of(node, _WINDOW, enter=lambda part, _: part.is_multiplication).parts:
        n = number(factor.args[1]) if factor.is_power else None
        factors.append((factor.args[0], n) if n is not None and n >= 1 and n.is_integer() else (factor, 1.0))
    total: dict[Node, float] = {}
    for base, n in factors:
        total[base] = total.get(base, 0.0) + n
    if len(total) == len(factors):
        return None
    result: Node | None = None
    for base, n in total.items():
        part = base if n == 1.0 else elementwise("power", (base, constant(n)))
        result = part if result is None else elementwise("multiply", (result, part))
    return result if result is None or result.shape == node.shape else spread(result, node.shape)


@rule("divide", "x / 1, x / 2, (-a) / b, (6 x) / 3, 6 / (3 x), 3 / (6 x)", "x, 0.5 x, -(a / b), 2 x, 2 / x, 1 / (2 x)")
def _quotient_forms(node: Node) -> Node | None:
    a, b = node.args
    c = number(b)
    if c == 1.0:
        return a
    if c == -1.0:
        return make("negative", a)
    if a.is_negation:
        return make("negative", make("divide", a.args[0], b))
    if b.is_negation:
        return make("negative", make("divide", a, b.args[0]))
    if c is not None and abs(math.frexp(c)[0]) == 0.5:
        return make("multiply", constant(1.0 / c), a)  # exact: a power of two
    if c is not None and c != 0 and a.is_multiplication:
        p = number(a.args[0])
        if p is not None and (p / c).is_integer():
            return make("multiply", constant(p / c), a.args[1])
    p, c = number(a), number(b.args[0]) if b.is_multiplication else None
    if p and c and math.isfinite(p) and math.isfinite(c):
        if (p / c).is_integer():
            return make("divide", constant(p / c), b.args[1])
        if (c / p).is_integer():
            return make("divide", constant(1.0), make("multiply", constant(c / p), b.args[1]))
    return None


@rule("negative", "-(-x), -(a - b), -(2 x)", "x, b - a, -2 x", inside="negative subtract", linked=True)
def _negative_forms(node: Node) -> Node | None:
    (x,) = node.args
    if x.is_negation:
        return x.args[0]
    if x.is_subtraction:
        return make("subtract", x.args[1], x.args[0])
    if x.is_multiplication and number(x.args[0]) is not None:
        return make("multiply", constant(-float(x.args[0].value)), x.args[1])
    return None


@rule("divide", "c sign(x) / abs(x)", "c / x", inside="abs")
def _sign_over_size(node: Node) -> Node | None:
    """Write the slope of log(abs(x)) as that of log(x); at 0 neither has one."""
    top, bottom = node.args
    if bottom.op != "abs":
        return None
    (x,) = bottom.args
    c, sign = top.args if top.is_multiplication else (constant(1.0), top)
    c, sign = (sign, c) if c.op == "sign" else (c, sign)
    if sign.op != "sign" or sign.args[0] is not x:
        return None
    return spread(make("divide", c, x), node.shape)


@rule("power", "x**1, x**0, (x**2)**3", "x, 1, x**6")
def _power_forms(node: Node) -> Node | None:
    x, y = node.args
    n = number(y)
    if n == 1.0:
        return x
    if n == 0.0:
        return spread(constant(1.0), node.shape)
    if n is not None and x.is_power:
        m = number(x.args[1])
        if m is not None and m.is_integer() and n.is_integer() and m > 0 and n > 0 and m * n < 2.0**53:
            return make("power", x.args[0], constant(m * n))
    return None


@rule("abs", "abs(x**2), abs(x**3)", "x**2, abs(x)**3", "form", inside="power")
def _absolute_power(node: Node) -> Node | None:
    (x,) = node.args
    n = number(x.args[1]) if x.is_power else None
    if n is None or not n.is_integer():
        return None
    return x if n % 2 == 0 else make("power", make("abs", x.args[0]), x.args[1])
