"""Order statistics in formulas that are the same for every order: their derivatives are those of the elements."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd

#: Functions of three numbers that do not depend on their order.
SYMMETRIC: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product": lambda a, b, c: a * b * c,
    "sum": lambda a, b, c: a + b + c,
    "pairs": lambda a, b, c: a * b + a * c + b * c,
    "squares": lambda a, b, c: a**2 + b**2 + c**2,
    "exponentials": lambda a, b, c: np.exp(a) + np.exp(b) + np.exp(c),
    "differences": lambda a, b, c: (a - b) ** 2 + (b - c) ** 2 + (a - c) ** 2,
    "discriminant": lambda a, b, c: ((a - b) * (b - c) * (a - c)) ** 2,
    "entropy": lambda a, b, c: np.log(2 + a**2) * (np.sin(b) + np.sin(c))
    + np.log(2 + b**2) * (np.sin(a) + np.sin(c)) + np.log(2 + c**2) * (np.sin(a) + np.sin(b)),
}  # fmt: skip
#: Ways to take three numbers in order.
TAKEN: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "extrema and median": lambda x: (np.max(x), np.median(x), np.min(x)),
    "sorted": lambda x: tuple(np.sort(x)[k] for k in range(3)),
    "sorted the other way": lambda x: tuple(np.sort(x)[::-1][k] for k in (2, 0, 1)),
    "largest beside sorted": lambda x: (np.max(x), np.sort(x)[0], np.sort(x)[1]),
}


def _values(formulas: dict[str, Any], wrt: Any, at: Any) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for name, formula in formulas.items():
        outputs |= {name: formula, f"{name}'": sd.gradient(formula, wrt), f"{name}''": sd.hessian(formula, wrt)}
    kernel = sd.compile(outputs, [wrt], backend="interpreter")
    return {name: np.asarray(value) for name, value in kernel(at).items()}


def _agree(written: Any, wanted: Any, wrt: Any, at: Any) -> None:
    found = _values({"written": written, "wanted": wanted}, wrt, at)
    for order in ("", "'", "''"):
        got, right = found[f"written{order}"], found[f"wanted{order}"]
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9, err_msg=f"order {order!r}")


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("function", SYMMETRIC)
def test_symmetric_functions_of_the_order(function: str, taken: str) -> None:
    x, F = sd.vector("x", 3), SYMMETRIC[function]
    for at in ([1.0, 1.0, 1.0], [2.0, -1.0, 2.0], [0.3, 0.3, 1.0], [0.5, 0.2, -0.7], [0.0, 0.0, 0.0]):
        _agree(F(*TAKEN[taken](x)), F(x[0], x[1], x[2]), x, np.array(at))


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("function", [name for name in SYMMETRIC if name != "entropy"])
def test_symmetric_functions_of_eigenvalues_that_are_equal(function: str, taken: str) -> None:
    A, F = sd.matrix("A", 3, 3), SYMMETRIC[function]
    S = 0.5 * (A + A.T)
    invariants = {
        "product": np.linalg.det(S),
        "sum": np.trace(S),
        "pairs": 0.5 * (np.trace(S) ** 2 - np.trace(S @ S)),
        "squares": np.trace(S @ S),
        "exponentials": np.trace(sd.expm(S)),
        "differences": 3 * np.trace(S @ S) - np.trace(S) ** 2,
    }
    if function not in invariants:
        s1, s2, s3 = np.trace(S), 0.5 * (np.trace(S) ** 2 - np.trace(S @ S)), np.linalg.det(S)
        invariants[function] = s1**2 * s2**2 - 4 * s2**3 - 4 * s1**3 * s3 + 18 * s1 * s2 * s3 - 27 * s3**2
    for at in (np.eye(3), np.diag([1.0, 2.0, 2.0]), np.diag([0.3, -1.0, 2.0])):
        _agree(F(*TAKEN[taken](np.linalg.eigvalsh(S))), invariants[function], A, at)


def test_stacks_of_eigenvalues() -> None:
    A = sd.array("A", (2, 2, 2))
    w = np.linalg.eigvalsh(0.5 * (A + np.swapaxes(A, -1, -2)))
    _agree(np.sum(np.max(w, axis=-1) * np.min(w, axis=-1)), np.sum(np.linalg.det(0.5 * (A + np.swapaxes(A, -1, -2)))),
           A, np.stack([np.eye(2), np.diag([1.0, 3.0])]))  # fmt: skip


@given(st.lists(st.sampled_from(["max", "median", "min"]), min_size=1, max_size=3, unique=True),
       st.lists(st.floats(-2, 2), min_size=3, max_size=3), st.booleans())  # fmt: skip
def test_what_depends_on_the_order_stays(names: list[str], weights: list[float], symmetric: bool) -> None:
    x = sd.vector("x", 3)
    statistics = {"max": np.max(x), "median": np.median(x), "min": np.min(x)}
    formula: Any = 0.0
    for name, weight in zip(names, weights, strict=False):
        formula = formula + (1.0 if symmetric else weight) * statistics[name]
    slope = sd.compile(sd.gradient(formula + 0 * x[0], x), [x], backend="interpreter")
    for at in permutations((1.0, 2.0, 4.0)):
        order = {"max": 4.0, "median": 2.0, "min": 1.0}
        wanted = [0.0, 0.0, 0.0]
        for name, weight in zip(names, weights, strict=False):
            wanted[at.index(order[name])] += 1.0 if symmetric else weight
        np.testing.assert_allclose(slope(np.array(at)), wanted, rtol=1e-13)


#: Formulas of two numbers that depend on their order at some place, or by a small part; and points where they do.
HIDDEN: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "a constant": (lambda x: 1e14 + np.max(x), (1.0, 2.0)),
    "a small part": (lambda x: np.max(x) + np.min(x) + 1e-6 * np.max(x), (1.0, 2.0)),
    "a threshold": (lambda x: np.maximum(np.max(x) - 10.0, 0.0), (1.0, 12.0)),
    "a branch": (lambda x: np.sum(np.sort(x)) + sd.where(np.max(x) > 100.0, np.max(x), 1.0), (3.0, 200.0)),
    "far out": (lambda x: np.max(x) * np.min(x) + sd.sigmoid(50.0 * (np.max(x) - 7.0)), (6.0, 7.01)),
    "near 0": (lambda x: np.sum(np.sort(x)) + np.tanh(1e4 * np.max(x)), (-1e-4, 1e-5)),
    "second order": (lambda x: 1e14 * np.sum(np.sort(x)) + 1e3 * np.max(x) ** 2, (1.0, 2.0)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_depends_on_the_order_anywhere_stays(name: str) -> None:
    x = sd.vector("x", 2)
    formula, at = HIDDEN[name]
    low, high = at
    swapped = sd.compile(sd.gradient(formula(x), x), [x], backend="interpreter")(np.array([high, low]))
    a, b = sd.scalar("a"), sd.scalar("b")  # a > b
    plain = _in_order(formula, a, b)
    slopes = [sd.gradient(plain, by, disconnected="zero") for by in (a, b)]
    wanted = sd.compile(slopes, [a, b], backend="interpreter")(high, low)
    np.testing.assert_allclose(swapped, wanted, rtol=1e-12)
    turned = sd.compile(sd.gradient(formula(x), x), [x], backend="interpreter")(np.array([low, high]))
    np.testing.assert_allclose(turned, wanted[::-1], rtol=1e-12)
    second = sd.compile(sd.hessian(formula(x), x), [x], backend="interpreter")(np.array([high, low]))
    double = sd.compile(sd.derivative(plain, a, 2), [a, b], backend="interpreter")(high, low)
    np.testing.assert_allclose(second[0, 0], double, rtol=1e-12)


def _in_order(formula: Callable[[Any], Any], a: Any, b: Any) -> Any:
    """Return the formula where a is known to be the larger number."""

    class Pair:
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return {np.max: a, np.min: b, np.sort: sd.array([b, a])}[function]

    return formula(Pair())


def test_the_formula_is_that_of_the_elements() -> None:
    x = sd.vector("x", 3)
    assert str(sd.gradient(np.sum(np.sort(x) ** 2), x)) == "2 * x"
    assert str(sd.gradient(np.prod(np.sort(x)), x)) == str(sd.gradient(np.prod(x), x))


@pytest.mark.parametrize("function", ["cos", "exp", "tanh", "arctan", "abs"])
@pytest.mark.parametrize("statistic", ["sort(x)", "stack([max(x), median(x), min(x)])"])
def test_functions_of_a_product_are_those_of_the_elements(function: str, statistic: str) -> None:
    at = np.array([1.0, 1.0, 0.5])
    for taken, plain in ((f"prod({statistic})", "prod(x)"), (f"x[0] * prod({statistic})", "x[0] * prod(x)")):
        pair = [sd.derivative(f"{function}({part})", "x", 2, x=3) for part in (taken, plain)]
        found, expected = (np.asarray(sd.compile(one)(at)) for one in pair)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


#: Conditions of an array and its extrema that are no counts of ties: elements of it, and in another order.
OTHERS = ["v", "v[::-1]", "roll(v, 1)", "v[1]", "v[[1, 0, 2]]", "2*v[::-1]"]
EXTREMA = ["max(v)", "min(v)", "cummax(v)", "cummin(v)[::-1]", "max(v[::-1])", "max(v[:2])"]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("extremum", EXTREMA)
def test_arrays_in_another_order_are_compared_with_extrema(other: str, extremum: str) -> None:
    for relation in ("<", ">="):
        text = f"sum(where({other} {relation} {extremum}, v**2, 3*v) * [1, 2, 4])"
        kernel = sd.compile(f"gradient({text}, v)", v=3, backend="interpreter")
        taken = sd.compile(f"where({other} {relation} {extremum}, ones(3), zeros(3))", v=3, backend="interpreter")
        for at in (np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])):
            wanted = np.where(taken(at) == 1.0, 2.0 * at, 3.0) * np.array([1.0, 2.0, 4.0])
            np.testing.assert_array_equal(kernel(at), wanted, err_msg=text)


@pytest.mark.parametrize(("text", "slope"), [
    ("where(x == 0, 1, sign(x)) * sin(x)", 1.0), ("where(x == 0, -1, sign(x)) * exp(x)", -1.0),
    ("where(x == 0, 5*x, sign(x))", 5.0),
])  # fmt: skip
def test_signs_with_a_branch_of_their_own_at_zero_take_it(text: str, slope: float) -> None:
    assert sd.compile(sd.gradient(text, "x"), backend="interpreter")(0.0) == slope
