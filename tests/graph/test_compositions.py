"""Functions of numbers that are made of rows: activations and ufuncs, to third order, near kinks and far out.

The references are written out over mpmath's numbers and differentiated there; NumPy and SciPy have some of the
functions, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import symdiff as sd
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph.scalars.compositions import COMPOSED

Real = Any


def clipped(x: Real, low: Real, high: Real) -> Real:
    return min(max(x, mp.mpf(low)), mp.mpf(high))


def elu(x: Real, alpha: Real = 1) -> Real:
    return x if x > 0 else alpha * mp.expm1(x)


def normal(x: Real) -> Real:
    return mp.erfc(-x / mp.sqrt(2)) / 2


SELU_ALPHA, SELU_SCALE = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")
ROOT = [0.3, -0.7, 1.7, -2.9, 4.5, -11.0, 40.0, -40.0, 300.0, -300.0, 1e-9, -1e-9]
#: Names, further arguments, reference, and the slope towards which the function tends at -inf and inf.
ACTIVATIONS: list[tuple[str, dict[str, Any], Callable[[Real], Real], tuple[float, float]]] = [
    ("relu", {}, lambda x: max(x, mp.mpf(0)), (0, 1)),
    ("relu6", {}, lambda x: clipped(x, 0, 6), (0, 0)),
    ("silu", {}, lambda x: x / (1 + mp.exp(-x)), (0, 1)),
    ("swish", {}, lambda x: x / (1 + mp.exp(-x)), (0, 1)),
    ("gelu", {"approximate": False}, lambda x: x * normal(x), (0, 1)),
    (
        "gelu",
        {},
        lambda x: x * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))) / 2,
        (0, 1),
    ),
    ("elu", {}, elu, (0, 1)),
    ("elu", {"alpha": 0.3}, lambda x: elu(x, mp.mpf(0.3)), (0, 1)),
    ("selu", {}, lambda x: SELU_SCALE * elu(x, SELU_ALPHA), (0, float(SELU_SCALE))),
    ("celu", {}, elu, (0, 1)),
    ("celu", {"alpha": 2.5}, lambda x: x if x > 0 else mp.mpf(2.5) * mp.expm1(x / 2.5), (0, 1)),
    ("mish", {}, lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), (0, 1)),
    ("leaky_relu", {}, lambda x: x if x > 0 else mp.mpf(0.01) * x, (0.01, 1)),
    ("leaky_relu", {"negative_slope": 0.25}, lambda x: x if x > 0 else x / 4, (0.25, 1)),
    ("hard_tanh", {}, lambda x: clipped(x, -1, 1), (0, 0)),
    ("hard_sigmoid", {}, lambda x: clipped(x + 3, 0, 6) / 6, (0, 0)),
    ("hard_silu", {}, lambda x: x * clipped(x + 3, 0, 6) / 6, (0, 1)),
    ("hard_swish", {}, lambda x: x * clipped(x + 3, 0, 6) / 6, (0, 1)),
    ("soft_sign", {}, lambda x: x / (1 + abs(x)), (0, 0)),
    ("squareplus", {}, lambda x: (x + mp.sqrt(x * x + 4)) / 2, (0, 1)),
    ("squareplus", {"b": 0.5}, lambda x: (x + mp.sqrt(x * x + 0.5)) / 2, (0, 1)),
    ("sparse_plus", {}, lambda x: mp.mpf(0) if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4, (0, 1)),
    ("sparse_sigmoid", {}, lambda x: clipped((x + 1) / 2, 0, 1), (0, 0)),
    ("exp10", {}, lambda x: mp.mpf(10) ** x, (0, math.inf)),
    ("softplus", {}, lambda x: mp.log1p(mp.exp(x)), (0, 1)),
    ("log_sigmoid", {}, lambda x: -mp.log1p(mp.exp(-x)), (1, 0)),
]
IDS = [name + "".join(options) for name, options, _, _ in ACTIVATIONS]


def slopes(name: str, options: dict[str, Any], most: int = 3) -> Callable[..., Any]:
    """Compile an activation and its derivatives."""
    x = sd.scalar("x")
    found = [sd.function(name)(x, **options)]
    for _ in range(most):
        found.append(sd.gradient(found[-1], x, disconnected="zero"))
    kernel: Callable[..., Any] = sd.compile(found, [x], backend="interpreter")
    return kernel


@pytest.mark.parametrize(("name", "options", "reference", "far"), ACTIVATIONS, ids=IDS)
def test_activation_to_third_order(
    name: str, options: dict[str, Any], reference: Callable[[Real], Real], far: tuple[float, float]
) -> None:
    got = np.stack([np.broadcast_to(part, len(ROOT)) for part in slopes(name, options)(np.array(ROOT))])
    for column, at in enumerate(ROOT):
        with mp.workdps(60 + int(2 * abs(at)) + int(at * at / 3 if name == "gelu" and abs(at) < 100 else 0)):
            x, step = mp.mpf(at), mp.mpf(10) ** -18 * abs(mp.mpf(at))
            values = [reference(x + k * step) for k in (-2, -1, 0, 1, 2)]
            a, b, c, d, e = values
            want = [c, (d - b) / (2 * step), (d - 2 * c + b) / step**2, (e - 2 * d + 2 * b - a) / (2 * step**3)]
            digits = max(map(abs, values)) * mp.mpf(10) ** (5 - mp.mp.dps)
            for order in range(4):
                allowed = 1e-12 * abs(want[order]) + 1e-300 + 100 * digits / step**order
                if order < 3:  # half a unit of the argument moves it by so much
                    allowed += 4e-16 * abs(x * want[order + 1])
                error = abs(mp.mpf(float(got[order, column])) - want[order])
                assert error <= allowed, f"{name} d{order} at {at}: {got[order, column]!r}; expected {want[order]}"


@pytest.mark.parametrize(("name", "options", "reference", "far"), ACTIVATIONS, ids=IDS)
def test_far_out_an_activation_is_a_line(
    name: str, options: dict[str, Any], reference: Callable[[Real], Real], far: tuple[float, float]
) -> None:
    value, first, second, third = slopes(name, options)(np.array([-1e50, -1e4, 1e4, 1e50]))
    assert not np.isnan(value).any()
    np.testing.assert_allclose(np.broadcast_to(first, 4), np.repeat(far, 2), rtol=1e-12, atol=1e-7)
    if math.isfinite(far[1]):
        np.testing.assert_allclose(np.broadcast_to(second, 4), 0, atol=1e-7)
        np.testing.assert_allclose(np.broadcast_to(third, 4), 0, atol=1e-7)


@pytest.mark.parametrize(("name", "options", "reference", "far"), ACTIVATIONS, ids=IDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_activation_is_that_line_up_to_the_largest_numbers(
    dtype: str, name: str, options: dict[str, Any], reference: Callable[[Real], Real], far: tuple[float, float]
) -> None:
    at = np.array([-1e38, -1e20, -1e13, -24.5, 1e13, 1e20, 1e38], dtype)
    value, first, second, _ = (np.broadcast_to(part, 7) for part in slopes(name, options)(at))
    line = np.where(at < 0, *far) * at.astype(float)
    if name not in ("exp10", "elu", "celu", "selu", "softplus", "squareplus"):  # that are not 0 at the end of the line
        tops = {"relu6": 6.0, "hard_tanh": 1.0, "hard_sigmoid": 1.0, "soft_sign": 1.0, "sparse_sigmoid": 1.0}
        low = -1.0 if name in ("hard_tanh", "soft_sign") else 0.0
        line = np.where(at < 0, low, tops[name]) if name in tops else line
        np.testing.assert_allclose(value, line, rtol=1e-6, atol=0.05)
    if math.isfinite(far[1]):
        np.testing.assert_allclose(first, np.where(at < 0, *far), rtol=1e-6, atol=0.01)
        np.testing.assert_allclose(second, 0, atol=1e-3)


def test_a_bounded_activation_takes_infinite_numbers() -> None:
    at = np.array([-math.inf, math.inf, math.nan])
    np.testing.assert_array_equal(slopes("soft_sign", {})(at)[0], [-1, 1, math.nan])
    np.testing.assert_array_equal(slopes("hard_silu", {})(at)[0], [0, math.inf, math.nan])


def test_every_composition_is_compared_with_something() -> None:
    own = {name for name, _, _, _ in ACTIVATIONS}
    elsewhere = {name for name in COMPOSED if isinstance(getattr(np, name, None), np.ufunc)}
    assert COMPOSED.keys() <= own | elsewhere | UFUNCS.keys() | {"sec", "csc", "cot"}


def _random(count: int) -> np.ndarray[Any, Any]:
    return np.round(np.random.default_rng(3).normal(scale=3.0, size=(count, 40)), 2)


#: Functions of NumPy and SciPy on symbols, and how many arguments they have.
UFUNCS: dict[str, tuple[Callable[..., Any], int]] = {
    **{name: (getattr(np, name), 2) for name in ("fmod", "fmax", "fmin", "copysign", "heaviside", "logaddexp2")},
    **{name: (getattr(np, name), 1) for name in ("fix", "trunc", "deg2rad", "rad2deg", "degrees", "radians", "exp2")},
    **{name: (getattr(np, name), 1) for name in ("positive", "fabs", "isposinf", "isneginf", "sinc", "cbrt")},
    **{name: (getattr(np, name), 2) for name in ("true_divide", "remainder", "float_power")},
    "round": (np.round, 1),
    "exp10": (scipy.special.exp10, 1),
    "huber": (scipy.special.huber, 2),
    **{name: (getattr(scipy.special, name), 2) for name in ("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p")},
    "pseudo_huber": (scipy.special.pseudo_huber, 2),
    "exprel": (scipy.special.exprel, 1),
    "ldexp": (lambda x, n: np.ldexp(x, np.trunc(n).astype(int) if isinstance(n, np.ndarray) else np.trunc(n)), 2),
    "entr": (scipy.special.entr, 1),
    "rel_entr": (scipy.special.rel_entr, 2),
    "kl_div": (scipy.special.kl_div, 2),
    "xlogy": (scipy.special.xlogy, 2),
    "xlog1py": (scipy.special.xlog1py, 2),
    "logit": (scipy.special.logit, 1),
    "expit": (scipy.special.expit, 1),
    "log_expit": (scipy.special.log_expit, 1),
}


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_symbols_are_those_of_numbers(name: str) -> None:
    function, arity = UFUNCS[name]
    x, y = sd.vector("x", 40), sd.vector("y", 40)
    at = _random(2)
    at[1, ::7] = 0.0
    f = function(*[x, y][:arity])
    got = sd.compile(f, [x, y], backend="interpreter")(*at)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, function(*at[:arity]), rtol=1e-13, atol=1e-15)


def test_fmod_has_the_slopes_of_a_remainder() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    k = sd.compile(sd.gradient(np.fmod(x, y), [x, y]), [x, y], backend="interpreter")
    for a in (-7.3, -0.2, 5.9):
        for b in (-2.0, 3.5):
            np.testing.assert_array_equal(k(a, b), (1.0, -math.trunc(a / b)))


def test_nan_is_dropped_with_its_slope() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for name in ("fmax", "fmin"):
        f = getattr(np, name)(x, y)
        k = sd.compile([f, *sd.gradient(f, [x, y])], [x, y], backend="interpreter")
        assert list(k(math.nan, 2.0)) == [2.0, 0.0, 1.0]
        assert list(k(3.0, math.nan)) == [3.0, 1.0, 0.0]
        assert np.isnan(k(math.nan, math.nan)[0])
        assert list(k(1.0, 1.0)) == [1.0, 0.5, 0.5]


def test_slopes_of_entropies_at_the_ends() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for f, by, want in (
        (sd.entr(x), x, math.inf),
        (sd.rel_entr(x, y), x, -math.inf),
        (sd.rel_entr(x, y), y, 0.0),
        (sd.special.kl_div(x, y), y, 1.0),
        (sd.xlog1py(x, y), y, 0.0),
        (sd.logit(x), x, math.inf),
    ):
        assert sd.compile(sd.gradient(f, by), [x, y], backend="interpreter")(0.0, 2.0) == want


def rows(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).normal(size=(count, 6))


def test_standardize_glu_and_logmeanexp() -> None:
    x = sd.matrix("x", 3, 6)
    at = rows(3)
    f = [sd.standardize(x), sd.standardize(x, axis=0, epsilon=0.5), sd.nn.glu(x), sd.logmeanexp(x, axis=1)]
    k = sd.compile(f, [x])
    gap = at - at.mean(axis=-1, keepdims=True)
    down = at - at.mean(axis=0)
    want: Sequence[Any] = (
        gap / np.sqrt(at.var(axis=-1, keepdims=True) + 1e-5),
        down / np.sqrt(at.var(axis=0) + 0.5),
        at[:, :3] * scipy.special.expit(at[:, 3:]),
        np.log(np.exp(at).mean(axis=1)),
    )
    for got, each in zip(k(at), want, strict=True):
        np.testing.assert_allclose(got, each, rtol=1e-12)
    with pytest.raises(sd.ShapeError, match="known, even size"):
        sd.nn.glu(sd.vector("v", 5))


def test_one_hot_of_numbers_and_of_positions() -> None:
    np.testing.assert_array_equal(sd.compile(sd.one_hot([0, 2, 5], 3), [])(), [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
    idx = sd.indices("idx", 4)
    at = np.array([2, 0, 1, 1])
    np.testing.assert_array_equal(sd.compile(sd.one_hot(idx, 3), [idx])(at), np.eye(3)[at])
    w, at_w = sd.vector("w", 3), np.array([1.0, 2.0, 5.0])
    k = sd.compile(sd.gradient((sd.one_hot(idx, 3) @ w**2).sum(), w), [idx, w])
    np.testing.assert_array_equal(k(at, at_w), 2 * at_w * np.eye(3)[at].sum(axis=0))


@pytest.mark.parametrize(
    "text", ["elu(v, a)", "elu(v, alpha=a)", "celu(v, a)", "leaky_relu(v, a)", "squareplus(v, b=a)"]
)
def test_options_of_activations_may_be_symbols(text: str) -> None:
    at, alpha = np.array([-0.5, 0.4, -1.3]), 0.7
    k = sd.compile(sd.gradient(f"sum({text})", "a", v=3, a=()), backend="interpreter")
    f = sd.compile(f"sum({text})", v=3, a=(), backend="interpreter")
    step = 1e-6
    want = (f(v=at, a=alpha + step) - f(v=at, a=alpha - step)) / (2 * step)
    assert abs(k(v=at, a=alpha) - want) < 1e-8


def test_text_knows_the_activations() -> None:
    for name in {name for name, _, _, _ in ACTIVATIONS}:
        assert LIBRARY[name].in_text
        x = sd.scalar("x")
        assert str(sd.gradient(f"{name}(x)", "x")) == str(sd.gradient(sd.function(name)(x), x))


#: Transforms by their definitions, and places for them: near a power of 0, near 0 and 1, and far out.
TRANSFORMS: dict[str, tuple[Callable[[Real, Real], Real], list[tuple[float, float]]]] = {
    "boxcox": (
        lambda x, a: (x**a - 1) / a,
        [(2.0, 0.5), (2.0, 1e-9), (1.0 + 1e-9, 3.0), (1e-9, 0.3), (1e-9, -0.3), (0.3, 1e-3), (40.0, -20.0)],
    ),
    "boxcox1p": (
        lambda x, a: ((1 + x) ** a - 1) / a,
        [(2.0, 0.5), (2.0, 1e-9), (1e-9, 3.0), (-1 + 2**-30, 0.3), (-0.5, 1e-3), (-1e-3, 1e4), (40.0, -20.0)],
    ),
    "inv_boxcox": (
        lambda y, a: (1 + a * y) ** (1 / a),
        [(2.0, 0.5), (2.0, 1e-9), (1e-9, 3.0), (-1.0, 0.3), (40.0, 1e-3), (0.01, -20.0)],
    ),
    "inv_boxcox1p": (
        lambda y, a: (1 + a * y) ** (1 / a) - 1,
        [(2.0, 0.5), (2.0, 1e-9), (1e-9, 3.0), (-1.0, 0.3), (40.0, 1e-3), (0.01, -20.0)],
    ),
    "pseudo_huber": (
        lambda d, r: d**2 * (mp.sqrt(1 + (r / d) ** 2) - 1),
        [(2.0, 0.5), (1e-9, 3.0), (0.5, -40.0)],
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_to_second_order(name: str) -> None:
    reference, places = TRANSFORMS[name]
    args = [sd.scalar("x"), sd.scalar("y")]
    f = sd.function(name)(*args)
    slopes = [sd.gradient(f, one) for one in args]
    curves = [sd.gradient(slopes[i], args[j]) for i, j in ((0, 0), (0, 1), (1, 1))]
    kernel = sd.compile([f, *slopes, *curves], args, backend="interpreter")
    with mp.workdps(120):
        for place in places:
            at = [mp.mpf(one) for one in place]
            for got, order in zip(kernel(*place), ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)), strict=True):
                want = mp.diff(reference, tuple(at), order) if any(order) else reference(*at)
                assert abs(float(got) - want) <= 1e-11 * abs(want), f"{name}{place} {order}: {got} {float(want)}"


def test_transforms_at_their_ends() -> None:
    """A power of 0 has a value and a slope; the limit for an exponent of 0 is a logarithm or an exponential."""
    x = sd.scalar("x")
    formulas = [sd.special.boxcox(x, 2.0), sd.gradient(sd.special.boxcox(x, 1.0), x)]
    kernel = sd.compile(formulas, [x], backend="interpreter")
    assert [*map(float, kernel(0.0))] == [-0.5, 1.0]
    assert str(sd.special.boxcox(x, 0.0)) == "log(x)"
    assert str(sd.special.inv_boxcox1p(x, 0.0)) == "expm1(x)"
    a = sd.scalar("a")
    at_zero = sd.compile(sd.gradient(sd.special.boxcox(x, a), a), [x, a], backend="interpreter")(3.0, 0.0)
    assert at_zero == pytest.approx(math.log(3.0) ** 2 / 2, rel=1e-14)
