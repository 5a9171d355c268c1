"""What is printed of a derivative is the derivative: compiled again as text, it has the same values."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from fuzz import sizes


def chain(rng: random.Random, n: int) -> list[tuple[str, list[int]]]:
    """Draw a chain of functions that move, join and add up parts of small arrays."""
    made: list[Any] = list(sizes._leaves(n, 1))
    steps: list[tuple[str, list[int]]] = []
    length = rng.randint(1, 4)
    for _ in range(60):
        if len(steps) == length:
            break
        last = len(made) - 1 if rng.random() < 0.8 else rng.randrange(len(made))
        places = [last] if rng.random() < 0.7 else [last, rng.randrange(len(made))]
        name = rng.choice([*(sizes.ONE if len(places) == 1 else sizes.TWO)])
        if any(made[place].ndim <= (name in sizes._OF_MATRICES) for place in places):
            continue
        try:
            value = np.asarray((sizes.ONE.get(name) or sizes.TWO[name])(*[made[place] for place in places]))
        except (IndexError, TypeError, ValueError):
            continue
        if value.ndim <= 2 and 0 < value.size <= 40:
            made.append(value)
            steps.append((name, places))
    return steps or [("tanh", [0])]


def derivatives(formula: sd.Array, wrt: sd.Array) -> list[sd.Array]:
    shown = [formula, sd.gradient((formula * np.cos(formula)).sum(), wrt, disconnected="zero")]
    shown.append(sd.jacobian(formula, wrt, disconnected="zero"))
    if wrt.ndim == 1:
        shown.append(sd.hessian((formula * formula * 0.5).sum(), wrt, disconnected="zero"))
    return shown


def compare(shown: sd.Array, symbols: list[sd.Array], given: list[Any]) -> None:
    shapes = {str(symbol): symbol.shape for symbol in symbols}
    value = sd.compile(shown, inputs=symbols, backend="numpy")(*given)
    again = sd.compile(str(shown), inputs=list(shapes), backend="numpy", **shapes)(*given)
    assert np.shape(again) == np.shape(value), str(shown)
    np.testing.assert_allclose(again, value, rtol=1e-9, atol=1e-11, err_msg=str(shown))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_printed_of_chains_has_their_values(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        n = rng.choice((3, 4))
        steps = chain(rng, n)
        symbols = [sd.matrix("A", n, n), sd.vector("x", n), sd.vector("y", n)]
        formula = sd.asarray(sizes._value(steps, symbols))
        for shown in derivatives(formula, symbols[rng.randrange(3)]):
            compare(shown, symbols, sizes._leaves(n, rng.randrange(1000)))


def test_numbers_that_terms_have_in_common_are_taken_out_as_often_as_all_have_them() -> None:
    x = sd.vector("x", 4)
    stacked = np.stack([x, x * 0.5, 1 - x])
    squares = stacked @ stacked.T / 4
    shown = sd.gradient((squares * np.cos(squares)).sum(), x)
    assert str(shown).endswith("0.25 * t3[1] - 0.5 * t3[2] + 0.5 * t3[0]")
    compare(shown, [x], [np.array([0.3, 0.5, 0.9, 0.2])])


def test_terms_that_cancel_hide_no_others() -> None:
    y = sd.vector("y", 3)
    centred = y - np.mean(y, axis=0, keepdims=True)
    formula = -centred + centred
    assert str(sd.hessian((formula * formula * 0.5).sum(), y)) == "zeros((3, 3))"


def test_entries_of_a_row_that_is_broadcast_are_no_entries_of_the_whole() -> None:
    y = sd.vector("y", 3)
    padded = np.pad(y[2:], [(1, 2)], constant_values=0.25)
    shown = sd.jacobian(padded - np.mean(padded, axis=0, keepdims=True), y)
    assert str(shown) == "outer(eye(4)[1], eye(3)[2]) + [0, 0, -0.25]"


def test_vectors_on_a_diagonal_that_is_no_square_stay_apart() -> None:
    x = sd.vector("x", 4)
    compare(sd.hessian(np.sqrt(x)[1:] @ np.cos(x[1:]), x), [x], [np.array([0.3, 0.5, 0.9, 0.2])])
    compare(sd.hessian((np.sqrt(x)[1:] * np.cos(x[:-1])).sum(), x), [x], [np.array([0.3, 0.5, 0.9, 0.2])])


def test_a_number_on_a_diagonal_stays_a_vector() -> None:
    x = sd.scalar("x")
    number = sd.gradient(x * x, x)
    assert str(np.diagflat(number, 1)) == "pad([[2 * x]], ((0, 1), (1, 0)))"
    assert str(np.diagflat(np.exp(sd.gradient(x, x)), 1)) == "pad([[exp(1)]], ((0, 1), (1, 0)))"
