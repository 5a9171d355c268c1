"""Sums that are known beside what they are of: shares add up to 1, deviations from a mean to 0."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from tests.printing.test_shown import compare

x, y = sd.vector("x", "n"), sd.vector("y", "n")
X = sd.matrix("X", "n", "m")
S = sd.matrix("S", "n", "n", symmetric=True)
P = sd.matrix("P", "n", "n", positive_definite=True)
p, q = sd.softmax(x), sd.softmax(y)
P1, P0 = sd.softmax(X, axis=1), sd.softmax(X, axis=0)
c, d = x - np.mean(x), y - np.mean(y)
t = sd.scalar("t")

#: Formulas, what they are differentiated by, and the last line of what is shown.
SHOWN: list[tuple[Any, sd.Array, str]] = [
    (-np.sum(p * np.log(p)), x, "(softmax(x) @ log_softmax(x) - log_softmax(x)) * softmax(x)"),
    (np.sum(p), x, "zeros((n,))"),
    (
        -np.sum(P1 * np.log(P1)),
        X,
        "(sum(softmax(X) * log_softmax(X), axis=1)[:, None] - log_softmax(X)) * softmax(X)",
    ),
    (np.sum(P0 * P0), X, "2 * softmax(X, axis=0) * (softmax(X, axis=0) - sum(softmax(X, axis=0) ** 2, axis=0))"),
    (
        np.sum(p * np.log(p / q)),
        x,
        "(log_softmax(x) - log_softmax(y) - softmax(x) @ (log_softmax(x) - log_softmax(y))) * softmax(x)",
    ),
    (-np.sum(q * np.log(p)), x, "softmax(x) - softmax(y)"),
    (
        (c @ d) / (np.linalg.norm(c) * np.linalg.norm(d)),
        x,
        "(c - (u @ c) * u) / (norm(c1) * norm(c))",
    ),
    ((c @ d) / (c @ c), y, "c / (c @ c)"),
    ((c @ d) / (c @ c), x, "(c - 2 * q * c1) / (c1 @ c1)"),
    (np.sum((d - t * c) ** 2), x, "-2 * t * (y - mean(y) - t * (x - mean(x)))"),
    (np.log((y @ x) ** 2), x, "2 * y / (y @ x)"),
    (np.trace(P @ sd.logm(P)), P, "logm(P) + eye(n)"),
    (np.trace(P @ sd.logm(P) - P), P, "logm(P)"),
    (3 * np.sum(P * sd.logm(P)), P, "3 * (logm(P) + eye(n))"),
    (np.trace(sd.sqrtm(P) @ P), P, "1.5 * sqrtm(P)"),
    (np.trace(S @ sd.expm(S)), S, "expm(S) + funm(S, x -> x * exp(x))"),
]


@pytest.mark.parametrize(("formula", "wrt", "shown"), SHOWN, ids=[shown for _, _, shown in SHOWN])
def test_known_sums_are_not_shown(formula: Any, wrt: sd.Array, shown: str) -> None:
    assert str(sd.gradient(formula, wrt)).splitlines()[-1] == shown


SYMBOLS = {str(symbol): symbol for symbol in (x, y, t, X, S, P)}


def inputs_of(formula: Any, rng: np.random.Generator, n: int) -> dict[str, Any]:
    made = {"x": rng.normal(size=n), "y": rng.normal(size=n), "t": 0.7, "X": rng.normal(size=(n, 3))}
    square = rng.normal(size=(n, n))
    made["S"], made["P"] = 0.3 * (square + square.T), square @ square.T + 0.5 * np.eye(n)
    return {name: value for name, value in made.items() if name in signature(sd.compile(formula)).parameters}


def compiled(formula: Any, given: dict[str, Any]) -> Any:
    return sd.compile(formula, inputs=[SYMBOLS[name] for name in given])


@pytest.mark.parametrize(("formula", "wrt", "shown"), SHOWN, ids=[shown for _, _, shown in SHOWN])
@pytest.mark.parametrize("n", [2, 5])
def test_gradients_are_those_of_differences(formula: Any, wrt: sd.Array, shown: str, n: int) -> None:
    rng = np.random.default_rng(n)
    given = inputs_of(formula, rng, n)
    value = compiled(formula, given)
    gradient = compiled(sd.gradient(formula, wrt), given)(**given)
    name, step = str(wrt), 1e-6
    for _ in range(3):
        way = rng.normal(size=np.shape(given[name]))
        way = way + way.T if name in "SP" else way
        up, down = ({**given, name: given[name] + sign * step * way} for sign in (1, -1))
        slope = (value(**up) - value(**down)) / (2 * step)
        np.testing.assert_allclose(np.sum(gradient * way), slope, rtol=1e-6, atol=1e-8)


#: Gradients of arrays: one that is 0 has no part of them.
OF_ARRAYS = [row for row in SHOWN[:11] if row[2] != "zeros((n,))"]


@pytest.mark.parametrize(("formula", "wrt", "shown"), OF_ARRAYS, ids=[shown for _, _, shown in OF_ARRAYS])
def test_what_is_not_finite_is_still_seen(formula: Any, wrt: sd.Array, shown: str) -> None:
    rng = np.random.default_rng(0)
    given = inputs_of(formula, rng, 4)
    gradient = compiled(sd.gradient(formula, wrt), given)
    for name in ("x", "X"):
        if name in given:
            broken = np.array(given[name])
            broken[1] = np.nan
            assert np.isnan(gradient(**{**given, name: broken})).any()


def test_moments_of_deviations() -> None:
    shown = sd.gradient(np.mean(c**3) / np.mean(c**2) ** 1.5, x)
    assert str(shown).splitlines()[-1].count("mean") == 0
    numbers = np.random.default_rng(3).normal(size=6)
    six = sd.vector("x", 6)
    deviations = six - np.mean(six)
    compare(sd.gradient(np.mean(deviations**3) / np.mean(deviations**2) ** 1.5, six), [six], [numbers])


@pytest.mark.parametrize("shape", [(3,), (33,), (4, 3)])
@pytest.mark.parametrize("number", [1.0, -2.5])
def test_numbers_beside_deviations_in_a_mean_are_those_of_each_element(shape: tuple[int, ...], number: float) -> None:
    x = sd.array("x", shape)
    deviations = x - np.mean(x, axis=0, keepdims=True)
    parts = np.stack([deviations, 0.5 * deviations, number - deviations])
    a = np.random.default_rng(len(shape)).normal(size=shape)
    d = a - a.mean(axis=0)
    slope = 2.5 * d - 2.0 * (number - d)
    got = sd.compile(sd.gradient(np.sum(parts * parts), x), [x], backend="interpreter")(a)
    np.testing.assert_allclose(got, slope - slope.mean(axis=0), rtol=1e-12, atol=1e-13)
