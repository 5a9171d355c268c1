"""Functions of numbers made of rows of the table: activations of networks, NumPy's other ufuncs, polynomials.

Each takes nodes or numbers and gives a node, element by element. Branches are ``where``, which looks at nothing in
the branch that is not taken, its derivatives included, so a branch may overflow outside of its place. What follows
jax.nn has its names, defaults and constants; a kink has the mean of its slopes, as everywhere in symdiff.

Orthogonal polynomials of a degree known beforehand are recurrences (DLMF 18.9). What is differentiated is the
recurrence, so that a derivative of any order is right everywhere, at the ends of the interval too, where the closed
relations divide by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...errors import UnsupportedError
from .. import Node, as_node, broadcast_to, constant, elementwise, number
from ..dump import record_text
from .functions import apply, compare, scalar_constant, where

__all__ = ["POLYNOMIALS", "factorial", "multigammaln", "sph_harm_y_imag", "sph_harm_y_real"]


#: Degrees up to which a polynomial is written out.
DEGREES = 200


def degree_of(name: str, n: Node | float) -> int:
    """Return a degree that is a whole number known beforehand."""
    degree = scalar_constant(n) if isinstance(n, Node) else float(n)
    if degree is None or not degree.is_integer() or not 0 <= degree <= DEGREES:
        came = "that is no constant" if degree is None else f"{degree:g}"
        raise UnsupportedError(f"{name} of a degree {came}; expected a whole number from 0 to {DEGREES}")
    return int(degree)


def _recurrence(n: int, first: Node, step: Callable[[int, Node, Node], Node]) -> Node:
    """Return the polynomial of degree ``n``, whose successors come from the two before them."""
    before, here = broadcast_to(constant(1.0), first.shape), first
    if n == 0:
        return before
    for k in range(1, n):
        before, here = here, step(k, before, here)
    return here


def eval_legendre(n: Node | float, x: Node) -> Node:
    """Return the Legendre polynomial of degree ``n`` (DLMF 18.9.1)."""
    degree = degree_of("eval_legendre", n)
    return _recurrence(degree, x, lambda k, p, q: ((2 * k + 1) * (x * q) - k * p) / (k + 1))


def eval_chebyt(n: Node | float, x: Node) -> Node:
    """Return the Chebyshev polynomial of the first kind (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_chebyt", n), x, lambda k, p, q: 2.0 * (x * q) - p)


def eval_chebyu(n: Node | float, x: Node) -> Node:
    """Return the Chebyshev polynomial of the second kind (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_chebyu", n), 2.0 * x, lambda k, p, q: 2.0 * (x * q) - p)


def eval_hermite(n: Node | float, x: Node) -> Node:
    """Return the physicists' Hermite polynomial (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_hermite", n), 2.0 * x, lambda k, p, q: 2.0 * (x * q) - (2.0 * k) * p)


def eval_hermitenorm(n: Node | float, x: Node) -> Node:
    """Return the probabilists' Hermite polynomial (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_hermitenorm", n), x, lambda k, p, q: x * q - float(k) * p)


def eval_genlaguerre(n: Node | float, alpha: Node | float, x: Node) -> Node:
    """Return the generalized Laguerre polynomial (DLMF 18.9.13)."""
    a, degree = as_node(alpha), degree_of("eval_genlaguerre", n)
    return _recurrence(
        degree, 1.0 + a - x, lambda k, p, q: ((2.0 * k + 1.0 + a - x) * q - (k + a) * p) / (k + 1.0)
    )


def eval_laguerre(n: Node | float, x: Node) -> Node:
    """Return the Laguerre polynomial (DLMF 18.9.13)."""
    return eval_genlaguerre(degree_of("eval_laguerre", n), 0.0, x)


def _spherical(n: Node | float, m: Node | float, theta: Node) -> tuple[Node, int]:
    """Return the factor of a spherical harmonic that depends on the angle from the pole, and m."""
    degree, order = degree_of("sph_harm_y", n), scalar_constant(m) if isinstance(m, Node) else float(m)
    if order is None or not order.is_integer():
        raise UnsupportedError("sph_harm_y of an order that is no constant whole number; expected one from -n to n")
    most = int(abs(order))
    if most > degree:
        return broadcast_to(constant(0.0), theta.shape), int(order)
    x, first = apply("cos", theta), math.sqrt(0.25 / math.pi)
    for k in range(1, most + 1):
        first *= -math.sqrt((2 * k + 1) / (2 * k))
    before, here = broadcast_to(constant(0.0), theta.shape), broadcast_to(constant(first), theta.shape)
    if most:
        here = first * apply("power", apply("sin", theta), float(most))
    for k in range(most + 1, degree + 1):  # DLMF 14.10.3, normalized, so that no factor overflows
        scale = math.sqrt((4 * k * k - 1) / (k * k - most * most))
        less = math.sqrt(((k - 1) ** 2 - most * most) / (4 * (k - 1) ** 2 - 1))
        before, here = here, scale * (x * here - less * before)
    return (-here if order < 0 and most % 2 else here), int(order)


def sph_harm_y_real(n: Node | float, m: Node | float, theta: Node, phi: Node) -> Node:
    """Return the real part of a spherical harmonic at the angles from the pole and around it (DLMF 14.30.1)."""
    factor, order = _spherical(n, m, theta)
    return factor * apply("cos", float(order) * phi)


def sph_harm_y_imag(n: Node | float, m: Node | float, theta: Node, phi: Node) -> Node:
    """Return the imaginary part of a spherical harmonic (DLMF 14.30.1)."""
    factor, order = _spherical(n, m, theta)
    return factor * apply("sin", float(order) * phi)


def factorial(x: Node) -> Node:
    """Return gamma(x + 1) (DLMF 5.4.1)."""
    return apply("gamma", x + 1.0)


def multigammaln(a: Node, d: Node | float) -> Node:
    """Return the logarithm of the multivariate gamma function of a dimension known beforehand (DLMF 35.3.4)."""
    size = degree_of("multigammaln", d)
    if not size:
        raise UnsupportedError("multigammaln of dimension 0; expected a whole number from 1 on")
    total = apply("lgamma", a)
    for j in range(1, size):
        total = total + apply("lgamma", a - 0.5 * j)
    return total + 0.25 * size * (size - 1) * math.log(math.pi)


#: Functions whose first argument is a degree, and how many arrays follow it.
POLYNOMIALS: dict[str, tuple[Callable[..., Node], int]] = {
    **{
        f.__name__: (f, 1)
        for f in (eval_legendre, eval_chebyt, eval_chebyu, eval_hermite, eval_hermitenorm, eval_laguerre)
    },
    "eval_genlaguerre": (eval_genlaguerre, 2),
}


#: Klambauer, Unterthiner, Mayr and Hochreiter, "Self-normalizing neural networks" (2017), equation 14.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
LN2, LN10 = math.log(2.0), math.log(10.0)


def _clipped(x: Node, low: float, high: float) -> Node:
    return apply("minimum", apply("maximum", x, low), high)


# ---------------------------------------------------------------------------- ufuncs


def is_finite(x: Node) -> Node:
    """Tell which numbers are neither infinite nor nan."""
    return compare("less", apply("abs", x), math.inf)


def copysign(x: Node, y: Node) -> Node:
    """Return the size of ``x`` with the sign of ``y``."""
    size = apply("abs", x)
    return where(compare("less", y, 0.0), -size, size)


def heaviside(x: Node, h: Node) -> Node:
    """Return 0 below 0, 1 above it, and ``h`` at 0; written as the slope of maximum(x, 0) is, and nan stays nan."""
    return where(compare("less", x, 0.0), 0.0, where(compare("equal", x, 0.0), h, elementwise("unless_nan", (x,))))


def fmod(x: Node, y: Node) -> Node:
    """Return what a division leaves, with the sign of the dividend, as C has it."""
    size = apply("abs", y)
    return where(compare("less", x, 0.0), -apply("mod", -x, size), apply("mod", x, size))


def fmax(x: Node, y: Node) -> Node:
    """Return the larger of two numbers; where one is nan, the other."""
    return _unless_nan(x, y, apply("maximum", x, y))


def fmin(x: Node, y: Node) -> Node:
    """Return the smaller number, and of a number and nan the number."""
    return _unless_nan(x, y, apply("minimum", x, y))


def _unless_nan(x: Node, y: Node, both: Node) -> Node:
    return where(compare("not_equal", x, x), y, where(compare("not_equal", y, y), x, both))


def logaddexp2(x: Node, y: Node) -> Node:
    """Return ``log2(2**x + 2**y)``."""
    return apply("divide", apply("logaddexp", LN2 * x, LN2 * y), LN2)


def huber(delta: Node, r: Node) -> Node:
    """Return ``r**2 / 2``, and beyond ``delta`` the line that goes on from there; inf for a ``delta`` below 0."""
    size = apply("abs", r)
    loss = where(compare("less_equal", size, delta), 0.5 * apply("power", r, 2.0), delta * (size - 0.5 * delta))
    return where(compare("less", delta, 0.0), math.inf, loss)


# ---------------------------------------------------------------------------- transforms of SciPy's


def exprel(x: Node) -> Node:
    """Return ``(exp(x) - 1) / x``, 1 at 0."""
    return apply("exp_remainder_1", constant(0.0), x)


def boxcox(x: Node, lmbda: Node) -> Node:
    """Return ``(x**lmbda - 1) / lmbda``, whose limit for 0 is ``log(x)``; Box and Cox (1964)."""
    return _boxcox(x, apply("log", x), lmbda)


def boxcox1p(x: Node, lmbda: Node) -> Node:
    """Return ``boxcox(1 + x, lmbda)`` with the digits of ``x``."""
    return _boxcox(1.0 + x, apply("log1p", x), lmbda)


def _boxcox(x: Node, logarithm: Node, lmbda: Node) -> Node:
    if number(lmbda) == 0:
        return logarithm
    # x far below 1 by the power, which at 0 has a value and slopes where the logarithm has none
    step = apply("multiply", lmbda, logarithm)
    small = apply("logical_and", compare("less", logarithm, -1.0), compare("less", step, -1.0))
    return where(small, (apply("power", x, lmbda) - 1.0) / lmbda, logarithm * exprel(step))


def inv_boxcox(y: Node, lmbda: Node) -> Node:
    """Return ``(1 + lmbda * y)**(1 / lmbda)``, whose limit for 0 is ``exp(y)``."""
    return apply("exp", _log_of_inverse(y, lmbda))


def inv_boxcox1p(y: Node, lmbda: Node) -> Node:
    """Return ``inv_boxcox(y, lmbda) - 1`` with its digits near 0."""
    return apply("expm1", _log_of_inverse(y, lmbda))


def _log_of_inverse(y: Node, lmbda: Node) -> Node:
    if number(lmbda) == 0:
        return y
    return y * apply("log1p_remainder_1", constant(0.0), apply("multiply", lmbda, y))


def pseudo_huber(delta: Node, r: Node) -> Node:
    """Return ``delta**2 * (sqrt(1 + (r / delta)**2) - 1)`` without loss near 0; inf for a ``delta`` below 0."""
    return where(compare("less", delta, 0.0), math.inf, apply("pseudo_huber_loss", delta, r))


def ldexp(x: Node, n: Node) -> Node:
    """Return ``x * 2**n``."""
    return x * apply("exp2", n)


# ---------------------------------------------------------------------------- activations


def relu(x: Node) -> Node:
    """Return ``max(x, 0)``; the slope at 0 is 1/2."""
    return apply("maximum", x, 0.0)


def relu6(x: Node) -> Node:
    """Return ``min(max(x, 0), 6)``."""
    return _clipped(x, 0.0, 6.0)


def silu(x: Node) -> Node:
    """Return ``x * sigmoid(x)``, which is called swish, too."""
    return apply("gated", x, apply("sigmoid", x))


def gelu(x: Node, approximate: bool = True) -> Node:
    """Return x times the normal distribution function; approximately by a tanh, as jax.nn does by default.

    Hendrycks and Gimpel, "Gaussian error linear units" (2016): ``(1 + tanh(z)) / 2`` is ``sigmoid(2 z)``.
    """
    if not approximate:
        return apply("gated", x, apply("ndtr", x))
    # where the step is 0 or 1, a cube overflows in float32, and so does the slope that 0 is multiplied by
    near = apply("gelu_argument", x)
    inside = math.sqrt(8.0 / math.pi) * (near + 0.044715 * apply("power", near, 3.0))
    return apply("gated", x, apply("sigmoid", inside))


def elu(x: Node, alpha: Node | float = 1.0) -> Node:
    """Return x above 0, and ``alpha * (exp(x) - 1)`` below."""
    return where(compare("greater", x, 0.0), x, apply("multiply", alpha, apply("expm1", x)))


def selu(x: Node) -> Node:
    """Return ``elu(x, alpha)`` times a scale, for which mean 0 and variance 1 are a fixed point."""
    return SELU_SCALE * elu(x, SELU_ALPHA)


def celu(x: Node, alpha: Node | float = 1.0) -> Node:
    """Return x above 0, and ``alpha * (exp(x / alpha) - 1)`` below."""
    if number(as_node(alpha)) == 1.0:
        return elu(x)
    below = apply("multiply", alpha, apply("expm1", apply("divide", x, alpha)))
    return where(compare("greater", x, 0.0), x, below)


def mish(x: Node) -> Node:
    """Return ``x * tanh(softplus(x))``."""
    return apply("gated", x, apply("tanh", apply("softplus", x)))


def leaky_relu(x: Node, negative_slope: Node | float = 0.01) -> Node:
    """Return x above 0, and ``negative_slope * x`` below."""
    return where(compare("greater_equal", x, 0.0), x, apply("multiply", negative_slope, x))


def hard_tanh(x: Node) -> Node:
    """Return x within -1 and 1, and these beyond."""
    return _clipped(x, -1.0, 1.0)


def hard_sigmoid(x: Node) -> Node:
    """Return ``relu6(x + 3) / 6``."""
    return relu6(x + 3.0) / 6.0


def hard_silu(x: Node) -> Node:
    """Return ``x * hard_sigmoid(x)``, which is called hard_swish, too."""
    return apply("maximum", x, -3.0) * hard_sigmoid(x)


def squareplus(x: Node, b: Node | float = 4.0) -> Node:
    """Return ``(x + sqrt(x**2 + b)) / 2``; below 0 as the quotient ``b / 2 / (sqrt(x**2 + b) - x)``, without loss."""
    known = number(as_node(b))
    width, half = apply("sqrt", b), apply("multiply", 0.5, b)
    if known is not None and known >= 0:
        width, half = constant(math.sqrt(known)), constant(0.5 * known)
    root = apply("hypot", x, width)
    below = half / (root - x)
    return where(compare("greater", x, 0.0), 0.5 * (x + root), below)


def sparse_plus(x: Node) -> Node:
    """Return 0 up to -1, x from 1 on, and ``(x + 1)**2 / 4`` between them."""
    between = 0.25 * apply("power", x + 1.0, 2.0)
    return where(compare("less_equal", x, -1.0), 0.0, where(compare("less", x, 1.0), between, x))


def sparse_sigmoid(x: Node) -> Node:
    """Return the slope of sparse_plus: 0 up to -1, 1 from 1 on, and ``(x + 1) / 2`` between them."""
    return _clipped(0.5 * (x + 1.0), 0.0, 1.0)


class Composition(NamedTuple):
    """A function, the number of its arrays, and the names of further numbers or of flags, which have defaults."""

    call: Callable[..., Node]
    arrays: int = 1
    options: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return record_text(self)


COMPOSED: dict[str, Composition] = {
    "square": Composition(lambda x: apply("power", x, 2.0)),
    "reciprocal": Composition(lambda x: apply("divide", 1.0, x)),
    "positive": Composition(lambda x: x),
    "greater": Composition(lambda x, y: compare("greater", x, y), 2),
    "greater_equal": Composition(lambda x, y: compare("greater_equal", x, y), 2),
    "degrees": Composition(lambda x: apply("multiply", x, 180.0 / math.pi)),
    "radians": Composition(lambda x: apply("multiply", x, math.pi / 180.0)),
    "isnan": Composition(lambda x: compare("not_equal", x, x)),
    "isinf": Composition(lambda x: compare("equal", apply("abs", x), math.inf)),
    "isposinf": Composition(lambda x: compare("equal", x, math.inf)),
    "isneginf": Composition(lambda x: compare("equal", x, -math.inf)),
    "isfinite": Composition(is_finite),
    "sec": Composition(lambda x: apply("divide", 1.0, apply("cos", x))),
    "csc": Composition(lambda x: apply("divide", 1.0, apply("sin", x))),
    "cot": Composition(lambda x: apply("divide", 1.0, apply("tan", x))),
    "exp10": Composition(lambda x: apply("power", 10.0, x)),
    **{f.__name__: Composition(f, 2) for f in (copysign, heaviside, fmod, fmax, fmin, logaddexp2, huber)},
    **{f.__name__: Composition(f, 2) for f in (boxcox, boxcox1p, inv_boxcox, inv_boxcox1p, pseudo_huber, ldexp)},
    "exprel": Composition(exprel),
    **{f.__name__: Composition(f) for f in (relu, relu6, silu, selu, mish, hard_tanh, hard_sigmoid, hard_silu)},
    **{f.__name__: Composition(f) for f in (sparse_plus, sparse_sigmoid)},
    **{f.__name__: Composition(f, options=("alpha",)) for f in (elu, celu)},
    "gelu": Composition(gelu, flags=("approximate",)),
    "leaky_relu": Composition(leaky_relu, options=("negative_slope",)),
    "squareplus": Composition(squareplus, options=("b",)),
}
