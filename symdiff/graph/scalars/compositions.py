"""Functions of numbers that are made of rows of the table: activations of networks, and the rest of NumPy's ufuncs.

Each takes nodes or numbers and gives a node, element by element. Branches are ``where``, which looks at nothing in the
branch that is not taken, its derivatives included, so a branch may overflow outside of its place. What follows jax.nn
has its names, defaults and constants; a kink has the mean of its slopes, as everywhere in symdiff.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .. import Node, as_node, constant, elementwise, number
from ..dump import record_text
from .functions import apply, compare, where

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
    return x * apply("sigmoid", x)


def gelu(x: Node, approximate: bool = True) -> Node:
    """Return x times the normal distribution function; approximately by a tanh, as jax.nn does by default.

    Hendrycks and Gimpel, "Gaussian error linear units" (2016): ``(1 + tanh(z)) / 2`` is ``sigmoid(2 z)``.
    """
    if not approximate:
        return x * apply("ndtr", x)
    # where the step is 0 or 1, a cube overflows in float32, and so does the slope that 0 is multiplied by
    near = apply("gelu_argument", x)
    return x * apply("sigmoid", math.sqrt(8.0 / math.pi) * (near + 0.044715 * apply("power", near, 3.0)))


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
    return x * apply("tanh", apply("softplus", x))


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
