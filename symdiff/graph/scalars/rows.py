"""The rows of the table of scalar functions: one a function, read by everything else.

Adding a function is adding a row. A row's partial derivatives are written with the functions of the table
themselves, so every derivative can be differentiated again.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import BOOL, Node, broadcast_to, constant, elementwise
from .arithmetic import one_less
from .functions import Formula, Interval, Partial, compare, scalar_constant, to_real, where
from .logarithms import entr, kl_div, log1mexp, log_ratio, logit, part_of, rel_entr, xlog1py, xlog_sigmoid
from .making import ANY, NONE, POSITIVE, UNIT, ZERO
from .making import named as _f
from .making import order_of as _order
from .making import row as _row
from .making import unary as _unary
from .remainders import REMAINDERS

# ---------------------------------------------------------------------------- partial derivatives that need words

sqrt, exp, log, sin, cos = _f("sqrt"), _f("exp"), _f("log"), _f("sin"), _f("cos")
sinh, cosh, tanh = _f("sinh"), _f("cosh"), _f("tanh")
sigmoid, sign, floor, power = _f("sigmoid"), _f("sign"), _f("floor"), _f("power")
maximum, minimum, absolute = _f("maximum"), _f("minimum"), _f("abs")
hypot, direction_cos, direction_sin = _f("hypot"), _f("direction_cos"), _f("direction_sin")
inversion_x, inversion_y, one_minus_square = _f("inversion_x"), _f("inversion_y"), _f("one_minus_square")
unless_nan = _f("unless_nan")


def _power_base(x: Node, y: Node, f: Node) -> Node | None:
    # y x^(y-1); a constant exponent of 1 never meets 0^0, and with one of 0 the base is not looked at
    n = scalar_constant(y)
    if n is None:
        return f if x is y else y * power(x, y - 1)
    if n == 0:
        return None
    if n == 1:
        return constant(1.0)
    return 2.0 * x if n == 2 else n * power(x, one_less(n))


def _not_both_zero(x: Node, y: Node, f: Node) -> Node | None:
    # only y 0^(y-1) at y = 0 has no meaning; elsewhere y = 0 is a point like others, with d²/dxdy = 1/x
    if scalar_constant(y) is not None or x is y:
        return None
    return elementwise("logical_or", (compare("not_equal", x, 0.0), compare("not_equal", y, 0.0)), BOOL)


def _power_exponent(x: Node, y: Node, f: Node) -> Node:
    return _power_log(1.0, x, y)


def _power_log(order: float, x: Node, y: Node) -> Node:
    # a row, so that nothing is divided by x again: the product may have underflowed, or x be 0
    return power(x, y) if order == 0 else elementwise("power_log", (constant(order), x, y))


def _power_log_base(n: Node, x: Node, y: Node, f: Node) -> Node:
    order = _order(n)
    return y * _power_log(order, x, y - 1.0) + order * _power_log(order - 1.0, x, y - 1.0)


def _power_times_log(n: Node, x: Node, y: Node) -> Node:
    # x^y log(x)^n, whose limit at x = 0, y > 0 is 0
    vanishes = elementwise("logical_and", (compare("equal", x, 0.0), compare("greater", y, 0.0)), BOOL)
    return where(vanishes, 0.0, power(x, y) * power(log(x), n))


def _over_length(part: Node, x: Node, y: Node) -> Node:
    length = hypot(x, y)
    return where(compare("equal", length, 0.0), 0.0, part / length)


def _sum_of_squares(x: Node, y: Node) -> Node:
    return power(x, 2.0) + power(y, 2.0)


def _pseudo_huber(delta: Node, r: Node) -> Node:
    length = hypot(delta, r)
    near = compare("less", absolute(r), delta)
    return delta * where(near, r * (r / (length + delta)), length - delta)


def _pseudo_huber_slope(delta: Node, r: Node) -> Node:
    # g - delta g / hypot(delta, r) with g = hypot(delta, r) - delta, as a product
    length = hypot(delta, r)
    g = r * (r / (length + delta))
    return g * (g / length)


def _pseudo_huber_curvature(delta: Node, r: Node, f: Node) -> Node:
    length = hypot(delta, r)
    rest = direction_cos(r, delta) * (r / (length + delta))  # 1 - delta / hypot(delta, r)
    return -(power(rest, 2.0) * (2.0 + direction_cos(delta, r)))


def _lorentzian_slope(x: Node, f: Node) -> Node:
    # -2 x / (1 + x^2)^2, in factors that neither overflow nor vanish before the result does
    return -2.0 * (direction_sin(1.0, x) * power(direction_cos(1.0, x), 3.0))


def _share(x: Node, y: Node, f: Node) -> Node:
    # the mean of the one-sided derivatives, a half each, where both are equal; nan where one is nan
    moving = [part for part in (x, y) if scalar_constant(part) is None]
    whole = f if len(moving) != 1 or f.op == "minimum" else moving[0]
    return where(compare("equal", x, y), 0.5, unless_nan(whole))


def _second_share(x: Node, y: Node, f: Node) -> Node:
    # with the arguments in the other order: whose share it is decides second derivatives, see rewrite/cancelling/ties
    return _share(x, y, elementwise(f.op, (y, x)))


def _not_less(x: Node, y: Node, f: Node) -> Node:
    return elementwise("logical_not", (compare("less", x, y),), BOOL)


def _not_greater(x: Node, y: Node, f: Node) -> Node:
    return _not_less(y, x, f)


def _floor_divide(x: Node, y: Node) -> Node:
    # what mod leaves is taken away first: x / y may round up to a whole number that x does not reach;
    # of absolute values, whose difference cannot overflow
    size, divisor = absolute(x), absolute(y)
    rest = _f("mod")(size, divisor)
    whole = _f("rint")((size - rest) / divisor)
    below = -(whole + where(compare("equal", rest, 0.0), 0.0, 1.0))
    whole = where(compare("less", sign(x) * sign(y), 0.0), below, whole)
    return where(compare("equal", minimum(size, divisor), 0.0), x / y, whole)


def _sigmoid_slope(x: Node) -> Node:
    # the function is even; exp(-|x|) cannot overflow, and log1p(exp(x)) takes it too, and the sigmoid the quotient
    small = exp(-absolute(x))
    part = 1.0 / (1.0 + small)
    return small * part * part


def _log1p_exp(x: Node) -> Node:
    return maximum(x, 0.0) + elementwise("log1p", (exp(-absolute(x)),))


def _logaddexp(a: Node, b: Node) -> Node:
    # a - b is nan for two equal infinities, where the sum is that infinity
    gap = where(compare("equal", a, b), 0.0, -absolute(a - b))
    return maximum(a, b) + elementwise("log1p", (exp(gap),))


def _exp_share(b: Node, c: Node, t: Node) -> Node:
    # exp(-|t|) cannot overflow; with b = -c the difference is that of exp(-|t|) and 1
    small, far = exp(-absolute(t)), compare("greater", t, 0.0)
    first, second = scalar_constant(b), scalar_constant(c)
    if first is not None and second is not None and first == -second:
        rest = c * elementwise("expm1", (-absolute(t),))
        return where(far, -(small / rest), 1.0 / rest)
    return where(far, small / (b * small + c), 1.0 / (b + c * small))


def _exp_sum_as_written(b: Node, c: Node, t: Node) -> Node:
    first, second = scalar_constant(b), scalar_constant(c)
    power = exp(t)
    if first is not None and first < 0:
        return (power if second == 1.0 else c * power) - constant(-first)
    return b - power if second == -1.0 else b + (power if second == 1.0 else c * power)


def _log_exp_sum(b: Node, c: Node, t: Node) -> Node:
    small, far = exp(-absolute(t)), compare("greater", t, 0.0)
    large, rest = where(far, c, b), where(far, b, c) * small
    near_one = elementwise("log1p", (rest / large,))
    return maximum(t, 0.0) + where(compare("greater", large, 0.0), log(large) + near_one, log(large + rest))


def _root_beside(b: Node, d: Node) -> Node:
    square = b.args[0] if b.is_root else power(b, 2.0)
    return elementwise("sqrt", (square + d,))


def _root_gap(b: Node, d: Node) -> Node:
    root = _root_beside(b, d)
    return where(compare("less", 0.0, b), d / (root + b), root - b)


def _root_quotient(b: Node, d: Node) -> Node:
    root = _root_beside(b, d)
    return where(compare("less", 0.0, b), 1.0 / (root + b), (root - b) / d)


def _log_cosh(x: Node) -> Node:
    size, wave = absolute(x), sinh(x)
    far = size - LN2 + elementwise("log1p", (exp(-2.0 * size),))
    return where(compare("less", size, 1.0), 0.5 * elementwise("log1p", (wave * wave,)), far)


def _log_sinh_quotient(x: Node) -> Node:
    size = absolute(x)
    near = elementwise("log1p", (x * x * elementwise("sinh_remainder_3", (constant(0.0), x)),))
    far = size - LN2 + elementwise("log1p", (-exp(-2.0 * size),)) - log(size)
    return where(compare("less", size, 1.0), near, far)


def _log_exp_quotient(x: Node) -> Node:
    size = absolute(x)
    near = elementwise("log1p", (x * elementwise("exp_remainder_2", (constant(0.0), x)),))
    far = maximum(x, 0.0) + elementwise("log1p", (-exp(-size),)) - log(size)
    return where(compare("less", size, 1.0), near, far)


def _soft_sign(x: Node) -> Node:
    # an infinite number is one at which the quotient has been 1 for long
    near = maximum(minimum(x, 1e38), -1e38)
    return near / (1.0 + absolute(near))


def _xlogy(x: Node, y: Node) -> Node:
    zero = elementwise("logical_and", (compare("equal", x, 0.0), compare("equal", y, y)), BOOL)
    return where(zero, 0.0, x * log(y))


def _sinc(x: Node) -> Node:
    turn = math.pi * x
    near, far = compare("equal", turn, 0.0), compare("equal", absolute(turn), math.inf)
    moved = where(near, 1.0, turn)
    return where(near, 1.0, where(far, 0.0, sin(moved) / moved))


#: Distance from 1 up to which quotients of inverse cosines are power series.
_NEAR_ONE = 0.25


def _arccos_quotient(n: Node, x: Node) -> Node:
    """Return a derivative of arccos(x) / sqrt(1 - x^2), which beyond 1 is arccosh(x) / sqrt(x^2 - 1)."""
    order = int(_order(n))
    near = compare("less", absolute(1.0 - x), _NEAR_ONE)
    # F(1, 1; 3/2; (1 - x) / 2), DLMF 15.4.10 with 15.8.1, term by term
    z, inside = 0.5 * (1.0 - where(near, x, 1.0)), constant(1.0)
    for k in range(22 + 2 * order, 0, -1):
        inside = 1.0 + inside * ((order + k) ** 2 / (k * (order + k + 0.5))) * z
    scale = math.prod((j + 1.0) ** 2 / (j + 1.5) / -2.0 for j in range(order))
    y = where(near, 0.5, x)
    square = (1.0 - y) * (1.0 + y)
    angle = where(compare("less", y, 1.0), _f("arccos")(y), _f("arccosh")(y))
    return where(near, scale * inside, _angle_derivative(order, y, angle / sqrt(absolute(square)), square))


def _angle_derivative(order: int, x: Node, value: Node, square: Node) -> Node:
    """Return a derivative of q by its value and 1 - x^2: (1 - x^2) q' = x q - 1, differentiated k times."""
    below = constant(0.0)
    for k in range(order):
        last = constant(1.0) if k == 0 else -float(k * k) * below
        below, value = value, ((2.0 * k + 1.0) * x * value - last) / square
    return value


def _arccos_quotient_written(function: str, sign: float) -> Callable[[Node, Node], Node]:
    def written(n: Node, x: Node) -> Node:
        square = 1.0 - power(x, 2.0)
        return _angle_derivative(int(_order(n)), x, _f(function)(x) / sqrt(sign * square), square)

    return written


# ---------------------------------------------------------------------------- the table

LN2, LN10 = math.log(2.0), math.log(10.0)

# Arithmetic                                              DLMF 1.4(iii)
_row("add", (lambda x, y, f: constant(1.0), lambda x, y, f: constant(1.0)), (ANY, ANY), source="1.4.8",
     rule="linearity", infix="+", monotone="increasing")
_row("subtract", (lambda x, y, f: constant(1.0), lambda x, y, f: constant(-1.0)), (ANY, ANY), source="1.4.8",
     rule="linearity", infix="-", monotone=("increasing", "decreasing"))
_row("multiply", (lambda x, y, f: y, lambda x, y, f: x), (ANY, ANY), source="1.4.9", rule="product rule", infix="*",
     parity="odd")
_row("divide", (lambda x, y, f: 1.0 / y, lambda x, y, f: -f / y), (ANY, POSITIVE), source="1.4.10", singular=True,
     rule="quotient rule", infix="/", parity="odd")
_row("power", (_power_base, _power_exponent), (POSITIVE, ANY), sympy="Pow", source="4.4.4", vector="pow",
     supports=(_not_both_zero, None), singular=True, rule="power rule")
_row("power_log", (NONE, _power_log_base, lambda n, x, y, f: _power_log(_order(n) + 1.0, x, y)),
     ((1.0, 1.0), POSITIVE, ANY), numpy="power_log", source="4.4.4", expansion=_power_times_log,
     written=lambda n, x, y: power(x, y) * (log(x) if _order(n) == 1 else power(log(x), n)), singular=True)
_unary("negative", lambda x, f: constant(-1.0), source="1.4.8", rule="linearity",
       parity="odd", monotone="decreasing", at_zero=(0.0, -1.0))
_unary("sqrt", lambda x, f: 0.5 / f, POSITIVE, sympy="sqrt", source="4.4.4", instruction="sqrt", singular=True,
       range="[0, inf)", monotone="increasing", curvature="concave")
_unary("cbrt", lambda x, f: power(f, -2.0) / 3.0, POSITIVE, sympy="cbrt", source="4.4.4", vector="cbrt", singular=True,
       parity="odd", monotone="increasing", at_zero=(0.0, math.inf))

# Exponentials and logarithms
_unary("exp", lambda x, f: f, sympy="exp", source="4.7.7", vector="exp", singular=True,
       range="(0, inf)", monotone="increasing", curvature="convex", at_zero=(1.0, 1.0))
_unary("exp2", lambda x, f: LN2 * f, source="4.7.10", vector="exp2", singular=True,
       range="(0, inf)", monotone="increasing", curvature="convex", at_zero=(1.0, LN2))
_unary("expm1", lambda x, f: exp(x), source="4.7.7", vector="expm1", singular=True,
       range="(-1, inf)", monotone="increasing", curvature="convex", at_zero=(0.0, 1.0))
_unary("log", lambda x, f: 1.0 / x, POSITIVE, sympy="log", source="4.7.1", vector="log", singular=True,
       monotone="increasing", curvature="concave")
_unary("log2", lambda x, f: 1.0 / (LN2 * x), POSITIVE, source="4.7.1", vector="log2", singular=True,
       monotone="increasing", curvature="concave")
_unary("log10", lambda x, f: 1.0 / (LN10 * x), POSITIVE, source="4.7.1", vector="log10", singular=True,
       monotone="increasing", curvature="concave")
_unary("log1p", lambda x, f: 1.0 / (1.0 + x), (-0.9, 4.0), source="4.7.1", vector="log1p", singular=True,
       monotone="increasing", curvature="concave", at_zero=(0.0, 1.0))

# Circular functions                                      DLMF 4.20, 4.24
_unary("sin", lambda x, f: cos(x), sympy="sin", source="4.20.1", vector="sin",
       range="[-1, 1]", parity="odd", at_zero=(0.0, 1.0))
_unary("cos", lambda x, f: -sin(x), sympy="cos", source="4.20.2", vector="cos",
       range="[-1, 1]", parity="even", at_zero=(1.0, 0.0))
_unary("tan", lambda x, f: 1.0 + f * f, (-1.4, 1.4), sympy="tan", source="4.20.3", vector="tan", singular=True,
       parity="odd", at_zero=(0.0, 1.0))
_unary("arcsin", lambda x, f: 1.0 / sqrt(one_minus_square(x)), UNIT, sympy="asin", source="4.24.7", vector="asin",
       singular=True, range="[-pi/2, pi/2]", parity="odd", monotone="increasing", at_zero=(0.0, 1.0))
_unary("arccos", lambda x, f: -1.0 / sqrt(one_minus_square(x)), UNIT, sympy="acos", source="4.24.8", vector="acos",
       singular=True, range="[0, pi]", monotone="decreasing", at_zero=(0.5 * math.pi, -1.0))
_unary("one_minus_square", lambda x, f: -2.0 * x, numpy="one_minus_square", source="1.4.9",
       expansion=lambda x: (1.0 - x) * (1.0 + x), written=lambda x: 1.0 - power(x, 2.0),
       range="(-inf, 1]", parity="even", curvature="concave", at_zero=(1.0, 0.0))
_unary("arctan", lambda x, f: _f("lorentzian")(x), sympy="atan", source="4.24.9", vector="atan",
       range="(-pi/2, pi/2)", parity="odd", monotone="increasing", at_zero=(0.0, 1.0))
_unary("lorentzian", _lorentzian_slope, numpy="lorentzian", source="1.4.10",
       expansion=lambda x: 1.0 / (1.0 + x * x), written=lambda x: 1.0 / (1.0 + power(x, 2.0)),
       range="(0, 1]", parity="even", at_zero=(1.0, 0.0))
_row("arctan2", (lambda y, x, f: inversion_x(x, y), lambda y, x, f: -inversion_y(x, y)), (ANY, POSITIVE), sympy="atan2",
     source="4.24.9", vector="atan2", singular=True, range="[-pi, pi]")
_row("hypot", (lambda x, y, f: direction_cos(x, y), lambda x, y, f: direction_sin(x, y)), (ANY, POSITIVE),
     source="1.4.10", vector="hypot", singular=True, range="[0, inf)", parity="even", curvature="convex")
# x / r, y / r and x / r^2, y / r^2 for r = hypot(x, y): the derivatives of each are products of them
_row("direction_cos",
     (lambda x, y, f: direction_sin(x, y) * inversion_y(x, y), lambda x, y, f: -(f * inversion_y(x, y))),
     (ANY, POSITIVE), numpy="direction_cos", source="1.4.10",
     expansion=lambda x, y: _over_length(x, x, y), written=lambda x, y: x / hypot(x, y), singular=True,
     range="[-1, 1]", parity=("odd", "even"))
_row("direction_sin",
     (lambda x, y, f: -(f * inversion_x(x, y)), lambda x, y, f: direction_cos(x, y) * inversion_x(x, y)),
     (ANY, POSITIVE), numpy="direction_sin", source="1.4.10",
     expansion=lambda x, y: _over_length(y, x, y), written=lambda x, y: y / hypot(x, y), singular=True,
     range="[-1, 1]", parity=("even", "odd"))
_row("inversion_x", (lambda x, y, f: inversion_y(x, y) * inversion_y(x, y) - f * f,
                     lambda x, y, f: -2.0 * (f * inversion_y(x, y))),
     (ANY, POSITIVE), numpy="inversion_x", source="1.4.10",
     expansion=lambda x, y: direction_cos(x, y) / hypot(x, y), written=lambda x, y: x / _sum_of_squares(x, y),
     singular=True, parity=("odd", "even"))
_row("inversion_y", (lambda x, y, f: -2.0 * (f * inversion_x(x, y)),
                     lambda x, y, f: inversion_x(x, y) * inversion_x(x, y) - f * f),
     (ANY, POSITIVE), numpy="inversion_y", source="1.4.10",
     expansion=lambda x, y: direction_sin(x, y) / hypot(x, y), written=lambda x, y: y / _sum_of_squares(x, y),
     singular=True, parity=("even", "odd"))

# Hyperbolic functions                                    DLMF 4.34, 4.38
_unary("sinh", lambda x, f: cosh(x), sympy="sinh", source="4.34.1", vector="sinh", singular=True,
       parity="odd", monotone="increasing", at_zero=(0.0, 1.0))
_unary("cosh", lambda x, f: sinh(x), sympy="cosh", source="4.34.2", vector="cosh", singular=True,
       range="[1, inf)", parity="even", curvature="convex", at_zero=(1.0, 0.0))
_unary("tanh", lambda x, f: power(_f("sech")(x), 2.0), sympy="tanh", source="4.34.3", vector="tanh",
       range="(-1, 1)", parity="odd", monotone="increasing", at_zero=(0.0, 1.0))
# a row of its own: the derivative of cosh(x)**-2 meets 0 * inf beyond 710
_unary("sech", lambda x, f: -(f * tanh(x)), sympy="sech", numpy="sech", source="4.34.5",
       expansion=lambda x: 1.0 / cosh(x), range="(0, 1]", parity="even", at_zero=(1.0, 0.0))
_unary("csch", lambda x, f: -(f / tanh(x)), (0.2, 3.0), numpy="", source="4.34.6", expansion=lambda x: 1.0 / sinh(x),
       written=lambda x: 1.0 / sinh(x), singular=True, parity="odd")
_unary("arcsinh", lambda x, f: 1.0 / hypot(1.0, x), sympy="asinh", source="4.38.9", vector="asinh",
       parity="odd", monotone="increasing", at_zero=(0.0, 1.0))
_unary("arccosh", lambda x, f: 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)), (1.1, 4.0), sympy="acosh", source="4.38.10",
       vector="acosh", singular=True, range="[0, inf)", monotone="increasing", curvature="concave")
_unary("arctanh", lambda x, f: 1.0 / one_minus_square(x), UNIT, sympy="atanh", source="4.38.11", vector="atanh",
       singular=True, parity="odd", monotone="increasing", at_zero=(0.0, 1.0))

# Smooth steps and their logarithms                       DLMF 4.34, with x -> x/2
_unary("sigmoid", lambda x, f: _f("sigmoid_slope")(x), numpy="special.expit", source="4.34.3",
       expansion=lambda x: 1.0 / (1.0 + exp(-x)), range="(0, 1)", monotone="increasing", at_zero=(0.5, 0.25))
_unary("sigmoid_slope", lambda x, f: -(f * tanh(0.5 * x)), numpy="sigmoid_slope", source="4.34.5",
       expansion=_sigmoid_slope, written=lambda x: sigmoid(x) * sigmoid(-x),
       range="(0, 0.25]", parity="even", at_zero=(0.25, 0.0))
_unary("log_sigmoid", lambda x, f: sigmoid(-x), numpy="special.log_expit", source="4.34.3",
       expansion=lambda x: -_log1p_exp(-x),
       range="(-inf, 0)", monotone="increasing", curvature="concave", at_zero=(-LN2, 0.5))
_unary("softplus", lambda x, f: sigmoid(x), numpy="softplus", source="4.7.1", expansion=_log1p_exp,
       range="(0, inf)", monotone="increasing", curvature="convex", at_zero=(LN2, 0.5))
_row("logaddexp", (lambda x, y, f: sigmoid(x - y), lambda x, y, f: sigmoid(y - x)), (ANY, ANY), source="4.7.1",
     expansion=_logaddexp, monotone="increasing", curvature="convex")
# 1 / (b + c exp(t)): times exp(t) it is the same of (c, b, -t), so that all its derivatives are products of two of them
_row("exp_share", (lambda b, c, t, f: -(f * f), lambda b, c, t, f: -(f * _f("exp_share")(c, b, -t)),
                   lambda b, c, t, f: -(c * f * _f("exp_share")(c, b, -t))),
     (POSITIVE, POSITIVE, ANY), numpy="", source="4.7.7", expansion=_exp_share,
     written=lambda b, c, t: 1.0 / _exp_sum_as_written(b, c, t), singular=True)
_row("log_exp_sum", (lambda b, c, t, f: _f("exp_share")(b, c, t), lambda b, c, t, f: _f("exp_share")(c, b, -t),
                     lambda b, c, t, f: c * _f("exp_share")(c, b, -t)),
     (POSITIVE, POSITIVE, ANY), numpy="", source="4.7.1", expansion=_log_exp_sum,
     written=lambda b, c, t: log(_exp_sum_as_written(b, c, t)), singular=True)
# exp(a) (exp(t) - 1), which is exp(a + t) - exp(a): neither factor is 0 where the other is infinite
_row("exp_gap", (lambda a, t, f: f, lambda a, t, f: exp(a + t)), (ANY, ANY), numpy="", source="4.35.1",
     expansion=lambda a, t: (exp(a) + exp(a + t)) * tanh(0.5 * t), written=lambda a, t: exp(a) * _f("expm1")(t))
# sqrt(b^2 + d) - b, and what d is multiplied by in it
_row("root_gap", (lambda b, d, f: -f / _root_beside(b, d), lambda b, d, f: 0.5 / _root_beside(b, d)),
     (POSITIVE, POSITIVE), numpy="", source="1.11.3", expansion=_root_gap, written=lambda b, d: _root_beside(b, d) - b,
     singular=True)
_row("root_quotient",
     (lambda b, d, f: -f / _root_beside(b, d), lambda b, d, f: -0.5 * (f * f) / _root_beside(b, d)),
     (POSITIVE, POSITIVE), numpy="", source="1.11.3", expansion=_root_quotient,
     written=lambda b, d: 1.0 / (b + _root_beside(b, d)), singular=True)
_unary("log_cosh", lambda x, f: tanh(x), numpy="", source="4.34.2", expansion=_log_cosh, written=lambda x: log(cosh(x)),
       range="[0, inf)", parity="even", curvature="convex", at_zero=(0.0, 0.0))
_unary("log_sinh_quotient", lambda x, f: 1.0 / tanh(x) - 1.0 / x, numpy="", source="4.33.1",
       expansion=_log_sinh_quotient, written=lambda x: log(sinh(x) / x), range="[0, inf)", parity="even",
       curvature="convex", at_zero=(0.0, 0.0))
_unary("log_exp_quotient", lambda x, f: 1.0 / (1.0 - exp(-x)) - 1.0 / x, numpy="", source="4.2.19",
       expansion=_log_exp_quotient, written=lambda x: log((exp(x) - 1.0) / x), monotone="increasing",
       curvature="convex", at_zero=(0.0, 0.5))
_row("xlogy", (lambda x, y, f: log(y), lambda x, y, f: _f("part_of")(x, y)),
     (POSITIVE, POSITIVE), numpy="special.xlogy", source="4.7.1", expansion=_xlogy, singular=True)
# x / y, and 0 where both are; x = 0 alone is no exception, since its slope by x is 1/y there too
_row("part_of", (lambda x, y, f: 1.0 / y, lambda x, y, f: -_f("part_of")(f, y)), (POSITIVE, POSITIVE), numpy="",
     source="1.4.10", expansion=part_of, written=lambda x, y: x / y, singular=True)
_row("xlog1py", (lambda x, y, f: elementwise("log1p", (y,)), lambda x, y, f: _f("part_of")(x, 1.0 + y)),
     (POSITIVE, POSITIVE), numpy="", source="4.7.1", expansion=xlog1py, singular=True)
_row("xlog_sigmoid", (lambda a, x, f: elementwise("log_sigmoid", (x,)), lambda a, x, f: a * sigmoid(-x)),
     (POSITIVE, ANY), numpy="", source="4.34.3", expansion=xlog_sigmoid,
     written=lambda a, x: elementwise("xlogy", (a, sigmoid(x))), singular=True)
_unary("logit", lambda x, f: 1.0 / (x * (1.0 - x)), (0.05, 0.95), numpy="", source="4.7.1", expansion=logit,
       singular=True, monotone="increasing")
_unary("log1mexp", lambda x, f: _f("exp_share")(-1.0, 1.0, x), POSITIVE, numpy="", source="4.7.1",
       expansion=log1mexp, singular=True, range="(-inf, 0)", monotone="increasing", curvature="concave")
_unary("entr", lambda x, f: -log(x) - 1.0, POSITIVE, numpy="", source="4.7.1", expansion=entr, singular=True,
       range="(-inf, 1]", curvature="concave")
_row("rel_entr", (lambda x, y, f: _f("log_ratio")(x, y) + 1.0, lambda x, y, f: -x / y), (POSITIVE, POSITIVE),
     numpy="", source="4.7.1", expansion=rel_entr, singular=True)
_row("kl_div", (lambda x, y, f: _f("log_ratio")(x, y), lambda x, y, f: 1.0 - x / y), (POSITIVE, POSITIVE),
     numpy="", source="4.7.1", expansion=kl_div, singular=True, range="[0, inf)")
_row("log_ratio", (lambda x, y, f: 1.0 / x, lambda x, y, f: -1.0 / y), (POSITIVE, POSITIVE), numpy="", source="4.7.1",
     expansion=log_ratio, written=lambda x, y: log(x / y), singular=True)
# what a product's rule would multiply and divide by again cancels in its logarithm
_row("log_product", (lambda x, y, f: 1.0 / x, lambda x, y, f: 1.0 / y), (POSITIVE, POSITIVE), numpy="", source="4.7.1",
     expansion=lambda x, y: log(x * y), written=lambda x, y: log(x * y), singular=True)
_row("log_quotient", (lambda x, y, f: 1.0 / x, lambda x, y, f: -1.0 / y), (POSITIVE, POSITIVE), numpy="",
     source="4.7.1", expansion=lambda x, y: log(x / y), written=lambda x, y: log(x / y), singular=True)
_unary("sinc", lambda x, f: -math.pi * elementwise("spherical_jn", (constant(1.0), math.pi * x)), numpy="sinc",
       source="10.49.3", expansion=_sinc, range="[-0.25, 1]", parity="even", at_zero=(1.0, 0.0))

# Quotients that are 0 / 0 at 0, by the order of the derivative; an even one by x**2 as well
def _by_order(name: str) -> tuple[Formula | Partial, ...]:
    return NONE, lambda n, x, f: elementwise(name, (constant(_order(n) + 1.0), x))


def _whole(formula: Callable[[int, Node], Node]) -> Formula:
    return lambda n, x: formula(int(_order(n)), x)


def _root(s: Node) -> Node:
    """Return sqrt(s) as a person writes it."""
    return s.args[0] if s.is_power and scalar_constant(s.args[1]) == 2.0 else sqrt(s)


def _remainder_rows() -> None:
    for each in REMAINDERS:
        domain: Interval = (0.5, 0.9)  # where what is written has its digits as well
        _row(each.name, _by_order(each.name), ((0.0, 0.0), domain), numpy="", source=each.source,
             expansion=_whole(each.expansion), written=_whole(each.written))
        if each.even:
            name = each.name_by_square
            _row(name, _by_order(name), ((0.0, 0.0), domain), numpy="",
                 source=each.source, expansion=_whole(each.expansion_by_square),
                 written=_by_root(each.written_by_square))


def _by_root(formula: Callable[[int, Node], Node]) -> Formula:
    return lambda n, s: formula(int(_order(n)), _root(s))


_remainder_rows()


def _power_remainder_written(n: Node, x: Node, t: Node) -> Node:
    # by Leibniz's rule, of (x^t - 1) times 1 / t
    order, total, factor = int(_order(n)), None, 1.0
    for k in range(order + 1):
        part = _power_log(float(order - k), x, t)
        part = part - 1.0 if k == order else part
        part = math.comb(order, k) * factor * part / power(t, k + 1.0) if k else part / t
        total = part if total is None else total + part
        factor *= -(k + 1.0)
    assert total is not None
    return total


def _power_remainder(n: Node, x: Node, t: Node) -> Node:
    # with u = t log(x), log(x)^(n+1) times the derivative of (exp(u) - 1) / u near 0
    u = t * log(x)
    near = power(log(x), _order(n) + 1.0) * elementwise("exp_remainder_1", (n, u))
    return where(compare("less", absolute(u), 1.0), near, _power_remainder_written(n, x, t))


_row("power_remainder", (NONE, lambda n, x, t, f: _power_log(_order(n), x, t - 1.0),
     lambda n, x, t, f: elementwise("power_remainder", (constant(_order(n) + 1.0), x, t))),
     ((0.0, 0.0), POSITIVE, ANY), numpy="", source="4.2.19", expansion=_power_remainder,
     written=_power_remainder_written, orders=10, singular=True)
_unary("cos_of_root", lambda s, f: -0.5 * elementwise("sin_remainder_1_of_square", (constant(0.0), s)), POSITIVE,
       numpy="", source="4.20.2", expansion=lambda s: cos(sqrt(s)), written=lambda s: cos(_root(s)))
_unary("cosh_of_root", lambda s, f: 0.5 * elementwise("sinh_remainder_1_of_square", (constant(0.0), s)), POSITIVE,
       numpy="", source="4.34.2", expansion=lambda s: cosh(sqrt(s)), written=lambda s: cosh(_root(s)))

# Pieces: each kink by itself has the mean of its one-sided derivatives
_unary("abs", lambda x, f: sign(x), sympy="Abs", source="kink: mean of -1 and 1",
       range="[0, inf)", parity="even", curvature="convex")
# Charbonnier et al., "Two deterministic half-quadratic regularization algorithms for computed imaging" (1994)
_row("pseudo_huber_loss", (lambda delta, r, f: _f("pseudo_huber_slope")(delta, r),
                           lambda delta, r, f: _f("pseudo_huber_force")(delta, r)),
     (POSITIVE, ANY), numpy="", source="1.4.10", expansion=_pseudo_huber,
     written=lambda delta, r: power(r, 2.0) / (1.0 + hypot(1.0, r / delta)), parity=("", "even"))
_row("pseudo_huber_force", (lambda delta, r, f: power(direction_cos(r, delta), 3.0),
                            lambda delta, r, f: power(direction_cos(delta, r), 3.0)),
     (POSITIVE, ANY), numpy="", source="1.4.10", expansion=lambda delta, r: delta * direction_cos(r, delta),
     written=lambda delta, r: r / hypot(1.0, r / delta), parity=("", "odd"))
_row("pseudo_huber_slope", (_pseudo_huber_curvature, lambda delta, r, f: power(direction_cos(r, delta), 3.0)),
     (POSITIVE, ANY), numpy="", source="1.4.10", expansion=_pseudo_huber_slope, written=_pseudo_huber_slope)
# what a quotient's rule would subtract far out is not there in its square
_unary("soft_sign", lambda x, f: 1.0 / power(1.0 + absolute(x), 2.0), numpy="", source="1.4.10",
       expansion=_soft_sign,
       range="(-1, 1)", parity="odd", monotone="increasing", at_zero=(0.0, 1.0))
# its argument as far as the step of the approximate gelu is neither 0 nor 1 in float64
_unary("gelu_argument", lambda x, f: _f("gelu_inside")(x), numpy="", source="1.4.8",
       expansion=lambda x: maximum(minimum(x, 24.0), -24.0), written=lambda x: x, parity="odd")
_unary("gelu_inside", ZERO, numpy="", source="constant pieces",
       expansion=lambda x: where(compare("greater", absolute(x), 24.0), 0.0, unless_nan(x)),
       written=lambda x: broadcast_to(constant(1.0), x.shape), range="[0, 1]")
# squares of angles are smooth where angles are 0
for _name, _sign, _domain in (("arccos", 1.0, UNIT), ("arccosh", -1.0, (1.1, 4.0))):
    _row(f"{_name}_quotient", (NONE, lambda n, x, f, name=_name: elementwise(
         f"{name}_quotient", (constant(_order(n) + 1.0), x))), ((0.0, 0.0), _domain), numpy="", source="4.24.8",
         expansion=_arccos_quotient, written=_arccos_quotient_written(_name, _sign), orders=10, singular=True)
    _unary(f"{_name}_square", lambda x, f, name=_name, sign=_sign: -2.0 * sign * elementwise(
           f"{name}_quotient", (constant(0.0), x)), _domain, numpy="", source="4.24.8",
           expansion=lambda x, name=_name: power(_f(name)(x), 2.0),
           written=lambda x, name=_name: power(_f(name)(x), 2.0), singular=True, range="[0, inf)")
# a product with a weight that vanishes below, and is 1 above: 0 and inf at the ends, as its slopes 0 and 1
_row("gated", (lambda x, w, f: w, lambda x, w, f: _f("bounded")(x)), (ANY, UNIT), numpy="", source="1.4.2",
     expansion=lambda x, w: maximum(x, -1e38) * w, written=lambda x, w: x * w)
# of the distance from a removable singularity, by which formulas are chosen and nothing moves
_unary("size_of_distance", ZERO, numpy="", source="constant pieces", expansion=absolute, written=absolute,
       parity="even", range="[0, inf)")
_unary("bounded", lambda x, f: constant(1.0), numpy="", source="1.4.1",
       expansion=lambda x: maximum(minimum(x, 1e38), -1e38), written=lambda x: x, parity="odd")
_unary("sign", ZERO, sympy="sign", source="constant pieces", instruction="sd_sign",
       range="[-1, 1]", parity="odd", monotone="not decreasing")
_unary("floor", ZERO, sympy="floor", source="constant pieces", instruction="floor", monotone="not decreasing")
_unary("ceil", ZERO, sympy="ceiling", source="constant pieces", instruction="ceil", monotone="not decreasing")
_unary("rint", ZERO, source="constant pieces", instruction="rint", parity="odd", monotone="not decreasing")
_unary("trunc", ZERO, source="constant pieces", instruction="trunc", parity="odd", monotone="not decreasing")
_row("mod", (lambda x, y, f: constant(1.0), lambda x, y, f: -_f("floor_divide")(x, y)), (ANY, POSITIVE), sympy="Mod",
     source="x - y floor(x/y)", singular=True)
_row("floor_divide", (ZERO, ZERO), (ANY, POSITIVE), source="constant pieces", expansion=_floor_divide)
_row("maximum", (_share, _second_share), (ANY, ANY), sympy="Max",
     supports=(_not_less, _not_greater), source="kink: mean", monotone="not decreasing", curvature="convex")
_row("minimum", (_share, _second_share), (ANY, ANY), sympy="Min",
     supports=(_not_greater, _not_less), source="kink: mean", monotone="not decreasing", curvature="concave")
_unary("unless_nan", ZERO, numpy="unless_nan", source="constant pieces",
       expansion=lambda x: where(compare("equal", x, x), 1.0, math.nan),
       written=lambda x: broadcast_to(constant(1.0), x.shape), range="[1, 1]")
_row("where", (ZERO, lambda c, x, y, f: constant(1.0), lambda c, x, y, f: constant(1.0)), (ANY, ANY, ANY),
     supports=(None, lambda c, x, y, f: c, lambda c, x, y, f: elementwise("logical_not", (c,), BOOL)),
     source="the branch taken", rule="piece by piece")

# Comparisons and logic
for _name, _infix, _sympy in (("less", "<", "StrictLessThan"), ("less_equal", "<=", "LessThan"),
                              ("equal", "==", "Equality"), ("not_equal", "!=", "Unequality")):
    _row(_name, (ZERO, ZERO), (ANY, ANY), sympy=_sympy, gives=BOOL, source="constant pieces", infix=_infix)
for _name, _sympy in (("logical_and", "And"), ("logical_or", "Or"), ("logical_xor", "Xor")):
    _row(_name, (ZERO, ZERO), (ANY, ANY), sympy=_sympy, takes=BOOL, gives=BOOL, source="constant pieces",
         **({"expansion": lambda a, b: elementwise("not_equal", (to_real(a), to_real(b)), BOOL)}
            if _name == "logical_xor" else {}))
_unary("logical_not", ZERO, sympy="Not", takes=BOOL, gives=BOOL, source="constant pieces")
_unary("to_real", ZERO, takes=BOOL, numpy="to_real", source="constant pieces", range="[0, 1]")
