"""Rotations by a vector, in the spellings of practice: right at no rotation, near it and far from it, to second order.

The reference is Rodrigues' formula in many digits, and differences of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array
from symdiff.graph import postorder
from symdiff.tools.checking.multiprecision import doubles, evaluate_exact, exact

DIGITS, STEP = 700, "1e-25"  # 1 - cos(1e-200) loses 400 of them
w, g = sd.vector("w", 3), sd.vector("g", 3)
GAP = np.array([0.7, -1.3, 0.4])
#: How a length is written, an axis by it, and the matrix of a cross product.
ANGLES: dict[str, Callable[[], Any]] = {
    "norm": lambda: sd.norm(w),
    "sqrt": lambda: np.sqrt(w @ w),
    "sum": lambda: np.sqrt(np.sum(w**2)),
    "entries": lambda: np.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2),
}


def skew(u: Any) -> Array:
    zero = 0 * u[0]
    rows = [[zero, -u[2], u[1]], [u[2], zero, -u[0]], [-u[1], u[0], zero]]
    made: Array = sd.stack([sd.stack(row) for row in rows])
    return made


def cosine_part(t: Any) -> Any:
    return 1 - np.cos(t)


#: A rotation of g, or what goes with it, by the angle t and the axis k = w / t.
SPELLINGS: dict[str, Callable[[Any, Any], Array]] = {
    "cross": lambda t, k: g * np.cos(t) + np.cross(k, g) * np.sin(t) + k * (k @ g) * cosine_part(t),
    "cross, scalars first": lambda t, k: np.cos(t) * g + np.sin(t) * np.cross(k, g) + cosine_part(t) * (k @ g) * k,
    "cross twice": lambda t, k: g + np.sin(t) * np.cross(k, g) + cosine_part(t) * np.cross(k, np.cross(k, g)),
    "scaled axis": lambda t, k: g + np.cross(np.sin(t) * k, g) + np.cross(cosine_part(t) * k, np.cross(k, g)),
    "matrix": lambda t, k: (np.eye(3) + np.sin(t) * skew(k) + cosine_part(t) * (skew(k) @ skew(k))) @ g,
    "matrix, left to right": lambda t, k: (np.eye(3) + np.sin(t) * skew(k) + cosine_part(t) * skew(k) @ skew(k)) @ g,
    "matrix twice": lambda t, k: g + np.sin(t) * (skew(k) @ g) + cosine_part(t) * (skew(k) @ (skew(k) @ g)),
    "outer": lambda t, k: (np.cos(t) * np.eye(3) + np.sin(t) * skew(k) + cosine_part(t) * np.outer(k, k)) @ g,
    "by w": lambda t, k: (
        np.eye(3) + np.sin(t) / t * skew(w) + cosine_part(t) / t**2 * (skew(w) @ skew(w))
    ) @ g,
    "by w over t": lambda t, k: (
        np.eye(3) + np.sin(t) * (skew(w) / t) + cosine_part(t) * ((skew(w) / t) @ (skew(w) / t))
    ) @ g,
}
#: The left Jacobian of the rotations.
LEFT: dict[str, Callable[[Any, Any], Array]] = {
    "by w": lambda t, k: (
        np.eye(3) + cosine_part(t) / t**2 * skew(w) + (t - np.sin(t)) / t**3 * (skew(w) @ skew(w))
    ) @ g,
    "by k": lambda t, k: (
        np.sin(t) / t * np.eye(3) + (1 - np.sin(t) / t) * np.outer(k, k) + cosine_part(t) / t * skew(k)
    ) @ g,
    "mixed": lambda t, k: (
        np.eye(3) + cosine_part(t) / t**2 * skew(w) + (1 - np.sin(t) / t) * skew(k) @ skew(k)
    ) @ g,
    "cross": lambda t, k: g + cosine_part(t) / t * np.cross(k, g) + (1 - np.sin(t) / t) * np.cross(k, np.cross(k, g)),
}
FORMS = [(0, name, form) for name, form in SPELLINGS.items()] + [(1, name, form) for name, form in LEFT.items()]
#: Where the angle is: also at both sides of the end of the series, and where sine and cosine vanish.
LENGTHS = (0.0, 1e-200, 1e-9, 1e-3, 0.05, 0.4, 1.0, 1.999, 2.001, math.pi, 1.5 * math.pi, 25.0, 1e3)


def turned(u: list[Any], left: int) -> list[Any]:
    """Return the rotation of the gap by u, or the left Jacobian times it, in many digits."""

    def cross(v: list[Any]) -> list[Any]:
        return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]

    t = mpmath.sqrt(sum(x * x for x in u))
    gap = [mpmath.mpf(x) for x in GAP]
    if t == 0:
        return gap
    first, second = mpmath.sin(t) / t, (1 - mpmath.cos(t)) / t**2
    if left:
        first, second = second, (1 - first) / t**2
    once = cross(gap)
    return [x + first * y + second * z for x, y, z in zip(gap, once, cross(once), strict=True)]


def wanted(at: np.ndarray[Any, Any], left: int) -> list[Any]:
    """Return the value, its Jacobian and the Jacobian of that, by central differences in many digits."""
    with mpmath.workdps(DIGITS):
        h = mpmath.mpf(STEP)
        results = []
        for order in range(3):
            result = np.empty((3,) * (order + 1))
            for axes in itertools.product(range(3), repeat=order):
                total: list[Any] = [mpmath.mpf(0)] * 3
                for signs in itertools.product((1, -1), repeat=order):
                    u = [mpmath.mpf(x) for x in at]
                    for axis, sign in zip(axes, signs, strict=True):
                        u[axis] += sign * h
                    total = [a + math.prod(signs) * b for a, b in zip(total, turned(u, left), strict=True)]
                place: Any = (slice(None), *axes)
                result[place] = [float(x / (2 * h) ** order) for x in total]
            results.append(result)
        return results


@pytest.fixture(scope="module")
def references() -> dict[tuple[int, float], Any]:
    """Return the points, one of each length, and what is wanted there."""
    direction = np.array([0.6, -0.48, 0.64])
    found: dict[tuple[int, float], Any] = {}
    for left, length in itertools.product((0, 1), LENGTHS):
        at = length * direction
        found[left, length] = at, wanted(at, left)
    return found


def parts(form: Callable[[Any, Any], Array], angle: str) -> list[Array]:
    t = ANGLES[angle]()
    f = form(t, w / t)
    slope = sd.jacobian(f, w)
    return [f, slope, sd.jacobian(slope, w)]


@pytest.mark.parametrize(("left", "name", "form"), FORMS, ids=[f"{'left ' * n}{name}" for n, name, _ in FORMS])
@pytest.mark.parametrize("angle", ANGLES)
def test_rotation_to_second_order(
    left: int, name: str, form: Callable[[Any, Any], Array], angle: str, references: dict[tuple[int, float], Any]
) -> None:
    kernel = sd.compile(parts(form, angle), [w, g], backend="interpreter")
    for length in LENGTHS:
        at, want = references[left, length]
        for order, (got, right) in enumerate(zip(kernel(at, GAP), want, strict=True)):
            # a relative change of the angle by the unit roundoff changes a sine by as much times the angle
            bound = 5e-15 * max(1.0, np.abs(right).max()) * max(1.0, length)
            np.testing.assert_allclose(got, right, rtol=0, atol=bound, err_msg=f"{name} {angle} {length} {order}")


def along(a: Any, b: Any) -> Any:
    return np.sum(a * b, axis=1, keepdims=True)


#: Rotations of the rows of h by those of an array, by the lengths t of its rows and their directions k.
ROWS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "cross": lambda t, k, h: h * np.cos(t) + np.cross(k, h) * np.sin(t) + k * along(k, h) * cosine_part(t),
    "scalars first": lambda t, k, h: np.cos(t) * h + np.sin(t) * np.cross(k, h) + cosine_part(t) * along(k, h) * k,
    "cross twice": lambda t, k, h: h + np.sin(t) * np.cross(k, h) + cosine_part(t) * np.cross(k, np.cross(k, h)),
    "scaled axis": lambda t, k, h: h + np.cross(np.sin(t) * k, h) + np.cross(cosine_part(t) * k, np.cross(k, h)),
    "einsum": lambda t, k, h: (
        h * np.cos(t) + np.cross(k, h) * np.sin(t) + k * np.einsum("ij,ij->i", k, h)[:, None] * cosine_part(t)
    ),
}
#: How the lengths of rows are written.
ROW_ANGLES: dict[str, Callable[[Any], Any]] = {
    "norm": lambda u: np.linalg.norm(u, axis=1, keepdims=True),
    "norm, new axis": lambda u: np.linalg.norm(u, axis=1)[:, None],
    "sqrt": lambda u: np.sqrt(np.sum(u**2, axis=1, keepdims=True)),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("angle", ROW_ANGLES)
@pytest.mark.parametrize("size", ["n", len(LENGTHS)])
def test_rotations_of_rows_to_second_order(
    name: str, angle: str, size: Any, references: dict[tuple[int, float], Any]
) -> None:
    u, h = sd.matrix("u", size, 3), sd.matrix("h", size, 3)
    t = ROW_ANGLES[angle](u)
    f = ROWS[name](t, u / t, h)
    slope = sd.jacobian(f.sum(axis=0), u)
    curved = sd.hessian((f * [1.0, 2.0, 3.0]).sum(), u)
    kernel = sd.compile([f, slope, curved], [u, h], backend="numpy" if size == "n" else "interpreter")
    at = np.stack([references[0, length][0] for length in LENGTHS])
    value, first, second = kernel(at, np.tile(GAP, (len(LENGTHS), 1)))
    for row, length in enumerate(LENGTHS):
        want = references[0, length][1]
        bound = 1e-14 * max(1.0, length)
        np.testing.assert_allclose(value[row], want[0], rtol=0, atol=bound * np.abs(want[0]).max(), err_msg=str(length))
        np.testing.assert_allclose(first[:, row], want[1], rtol=0, atol=bound * np.abs(want[1]).max())
        weighted = np.tensordot([1.0, 2.0, 3.0], want[2], 1)
        np.testing.assert_allclose(second[row, :, row], weighted, rtol=0, atol=6 * bound * np.abs(want[2]).max())


@pytest.mark.parametrize("seed", range(40))
def test_random_products_within_linear_operations_of_rows(seed: int) -> None:
    """Where a row is none, what is beside it keeps its values."""
    rng = np.random.default_rng(seed)
    u, h = sd.matrix("u", "n", 3), sd.matrix("h", "n", 3)
    t = list(ROW_ANGLES.values())[rng.integers(3)](u)
    k = u / t
    linear: Any = [
        lambda k: np.cross(k, h),
        lambda k: k[:, ::-1] * h,
        lambda k: k[:, [0, 2, 2]] - 2 * k,
        lambda k: along(k, h) * h,
        lambda k: along(k * 2 + k * h, h) + 0 * h,
        lambda k: -k / 3,
        lambda k: np.concatenate([k, 2 * k], axis=1)[:, 1:4],
        lambda k: k @ np.arange(9.0).reshape(3, 3),
        lambda k: (k * h + t * h),  # not linear in one over the length, and left as they are
        lambda k: k[::-1] * h,
    ][rng.integers(10)]
    factor: Any = [np.sin, np.sinh, np.tan, np.arctan][rng.integers(4)]
    kernel = sd.compile(linear(k) * factor(t), [u, h], backend="numpy")
    rows, beside = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    rows[2] *= 1e-9

    direct = sd.compile([linear(k), factor(t)], [u, h], backend="numpy")
    first, second = direct(rows, beside)
    np.testing.assert_allclose(kernel(rows, beside), first * second, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("left", "name", "form"), FORMS, ids=[f"{'left ' * n}{name}" for n, name, _ in FORMS])
def test_no_length_and_no_direction_is_left(left: int, name: str, form: Callable[[Any, Any], Array]) -> None:
    for part in parts(form, "sqrt")[1:]:
        assert not {node.op for node in postorder([part.node])} & {"norm", "unit", "sin", "cos", "sqrt", "divide"}


def test_joined_cosine_is_told() -> None:
    kernel = sd.compile(parts(SPELLINGS["cross"], "sqrt")[:2], [w, g], backend="interpreter")
    assert any(line.startswith("cos(norm(w)) → ") for line in kernel.rewrites)
    alone = sd.compile(np.cos(sd.norm(w)), [w], backend="interpreter")
    assert not any("cos(norm(w)) →" in line for line in alone.rewrites)


def test_even_functions_of_a_length_have_no_kink() -> None:
    t = sd.norm(w)
    for f, curvature in ((np.cos(t), -1.0), (np.cosh(t), 1.0), (np.cos(2 * t) + np.sin(t) / t, -4 - 1 / 3)):
        slope, second = sd.compile([sd.gradient(f, w), sd.hessian(f, w)], [w], backend="numpy")(np.zeros(3))
        np.testing.assert_array_equal(slope, np.zeros(3))
        np.testing.assert_allclose(second, curvature * np.eye(3), rtol=1e-15)


def test_gradient_by_text_and_backends() -> None:
    turned = "cos(t)*g + sin(t)*cross(k, g) + (1 - cos(t))*(k @ g)*k"
    source = f"t = norm(w)\nk = w / t\ngradient(sum(({turned})**2 * [1, 2, 3]), w)"
    results = [sd.compile(source, w=3, g=3, backend=b)(np.zeros(3), GAP) for b in ("numpy", "interpreter", "native")]
    # at no rotation the slope of |R g|^2 with weights is 2 (g x (weights * g)), with the sign of dR g = dw x g
    want = 2 * np.cross(GAP, np.array([1.0, 2.0, 3.0]) * GAP)
    for result in results:
        np.testing.assert_allclose(result, want, rtol=1e-15)


@settings(max_examples=50, deadline=None)
@given(
    scale=st.sampled_from([1.0, 0.5, 2.0, -3.0]),
    factor=st.sampled_from(["sin", "sinh", "tan", "arctan"]),
    linear=st.sampled_from(["cross", "slice", "matrix", "sum", "negative", "stack", "root", "mixed", "square"]),
)
def test_random_products_within_linear_operations(scale: float, factor: str, linear: str) -> None:
    """Any function that vanishes at 0, beside any linear operation of a vector over its length."""
    t = sd.norm(w)
    k = w / t
    spelled: dict[str, Callable[[], Any]] = {
        "cross": lambda: np.cross(k, g),
        "slice": lambda: k[::-1] * g,
        "matrix": lambda: skew(k) @ g,
        "sum": lambda: (k * g + 2 * k) @ g,
        "negative": lambda: -k / 3,
        "stack": lambda: sd.stack([k, 2 * k]),
        "root": lambda: (g**2) ** 0.25 + k,  # not linear in one over the length, and left as they are
        "mixed": lambda: k * g + t * g,
        "square": lambda: np.outer(k, k) @ (t * g),
    }
    inside = spelled[linear]()
    f: Any = getattr(np, factor)(scale * t) * inside
    kernel = sd.compile([f, sd.jacobian(f, w)], [w, g], backend="numpy")
    near, far = 1e-7 * np.array([0.6, -0.48, 0.64]), np.array([0.1, -0.3, 0.2])
    # at 0 the function is linear: c w in place of sin(c t) w / t
    if linear not in ("root", "mixed", "square"):
        value, slope = kernel(np.zeros(3), GAP)
        assert np.array_equal(value, np.zeros(f.shape))
        np.testing.assert_allclose(kernel(near, GAP)[0], slope @ near, rtol=1e-12, atol=1e-20)
    (want,) = evaluate_exact([f.node], {"w": exact(far), "g": exact(GAP)})
    np.testing.assert_allclose(kernel(far, GAP)[0], doubles(want), rtol=1e-14)
    plain = sd.compile(f, [w, g], backend="numpy")
    for axis in range(3):
        step = 1e-6 * np.eye(3)[axis]
        change = (plain(far + step, GAP) - plain(far - step, GAP)) / 2e-6
        np.testing.assert_allclose(kernel(far, GAP)[1][..., axis], change, rtol=1e-7, atol=1e-8)
