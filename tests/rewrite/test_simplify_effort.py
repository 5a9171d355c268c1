"""Deriving and simplifying a formula takes work in proportion to its size, whatever its functions are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.graph import Node, broadcast_to, constant, elementwise, input, label, reshape
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.rewrite import RULES
from symdiff.rewrite.rewriter import Rule, _Rules, _settle, is_linked
from symdiff.rewrite.stability.points import is_nonzero
from tests.support.effort import calls

Array = sd.Array


def _above(a: Array) -> Array:
    return 1.5 + a * a


STEPS: dict[str, Callable[[Array, Array], Any]] = {
    "bells": lambda a, b: sd.exp(-a * a) * b,
    "differences of exponentials": lambda a, b: sd.exp(a) - sd.exp(b),
    "products with exponentials": lambda a, b: sd.exp(a) * b,
    "quotients of exponentials": lambda a, b: (sd.exp(a) - 1) / _above(b),
    "error functions": lambda a, b: sd.erf(a - b),
    "sigmoids": lambda a, b: b / (1 + sd.exp(-a)),
    "logarithms": lambda a, b: sd.log(_above(a) / _above(b)),
    "quotients": lambda a, b: a / _above(b),
    "roots": lambda a, b: sd.sqrt(_above(a) * _above(b)),
    "powers": lambda a, b: _above(a) ** b,
    "cubes": lambda a, b: (a - b) ** 3,
    "waves": lambda a, b: np.sin(a * b) + np.cosh(a - b),
    "choices": lambda a, b: np.where(a > b, np.maximum(a, 2 * b), abs(a - b)),
}

_OUTER: list[Callable[[Array, Array], Array]] = [
    lambda f, c: f,
    lambda f, c: f * sd.exp(c),
    lambda f, c: f / (1 + c * c),
]


def drawn(steps: list[Callable[[Array, Array], Any]], count: int, seed: int) -> tuple[Array, list[Array]]:
    """Return a formula of some operations, a half of them sums and products, and its inputs."""
    draw = random.Random(seed)
    inputs = [sd.scalar(f"x{i}") for i in range(6)]
    pool = list(inputs)
    for _ in range(count):
        a, b = draw.choice(pool[-30:]), draw.choice(pool[-30:])
        kind = draw.random()
        pool.append(a + b if kind < 0.25 else a * b * 0.5 if kind < 0.5 else draw.choice(steps)(a, b))
    parts = [*pool[-12:], *inputs]
    return sum(parts[1:], parts[0]), inputs


@pytest.mark.counted
@pytest.mark.parametrize("name", [*STEPS, "all of them"])
def test_gradients_take_some_calls_an_operation(name: str) -> None:
    steps = list(STEPS.values()) if name == "all of them" else [STEPS[name]]
    small, large = 40, 120
    efforts = {}
    for count in (small, large):
        formula, inputs = drawn(steps, count, 1)
        efforts[count] = calls(sd.gradient, formula, inputs)[0] / count
        assert efforts[count] < 50_000, efforts
    assert efforts[large] < 5 * efforts[small] + 3_000, efforts


def test_rules_that_undo_each_other_end() -> None:
    """Two rules that take turns stop where a node comes back, and not after a thousand turns."""
    turns = 0

    def turn(node: Node) -> Node:
        nonlocal turns
        turns += 1
        return elementwise("add", node.args[::-1])

    x, y = sd.scalar("x").node, sd.scalar("y").node
    node = elementwise("add", (x, y))
    rules = _Rules([Rule("turn", ("add",), "x + y", "y + x", turn)], 0)
    assert _settle(node, rules, None) in (node, elementwise("add", (y, x)))
    assert turns < 20


def test_a_point_never_tells_what_is_zero_from_zero() -> None:
    """Formulas less themselves in other words: expanded, exponentials of sums as products, powers as exponentials."""
    draw = random.Random(5)
    told = 0
    for _ in range(300):
        a, b, c = (sd.scalar(name) * draw.choice([1, 1, 1e-3, 40]) for name in "abc")
        n = draw.choice([2, 3, 5])
        pairs = [
            ((a + b) * c, a * c + b * c),
            (sd.exp(a + b) * c, sd.exp(a) * sd.exp(b) * c),
            (sd.exp(n * sd.log(a)) * b, a**n * b),
            ((a - b) * (a + b), a * a - b * b),
            (a / b - c, (a - b * c) / b),
            (sd.sqrt(a) * sd.sqrt(a) + b, a + b),
            (sd.exp(-((a - b) ** 2) / 2), sd.exp(-a * a / 2) * sd.exp(a * b) * sd.exp(-b * b / 2)),
        ]
        one, other = draw.choice(pairs)
        outer = draw.choice(_OUTER)
        terms = [(1.0, outer(one, c).node), (-1.0, outer(other, c).node)]
        assert not is_nonzero(terms)
        assert not is_nonzero([(1.0, (outer(one, c) - outer(other, c)).node)])
        told += is_nonzero([(1.0, (outer(one, c) - outer(other, c) * 1.001).node)])
    assert told > 250


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_powers_of_what_cancels_have_a_value(power: int) -> None:
    """A square of x - x, which stays for where it is nan, says nothing of what stands beside it."""
    draw = random.Random(power)
    x, y = sd.scalar("x"), sd.scalar("y")
    for _ in range(100):
        a, b = draw.uniform(-3, 3), draw.uniform(-3, 3)
        nothing = draw.choice(
            (x - x, (x + a) ** 2 - x * x - 2 * a * x - a * a, (x + a) * (y + b) - x * y - b * x - a * y - a * b)
        )
        assert not is_nonzero([(1.0, (nothing**power).node)])
        assert not is_nonzero([(1.0, (sd.exp(x / (nothing**power + 1.5)) - sd.exp(x / 1.5)).node)])
        assert is_nonzero([(1.0, (sd.exp(x / (nothing**power + 1.5)) - y).node)])


def _numbers(draw: random.Random) -> list[Node]:
    """Return functions of few numbers, many of which come twice, stand under a name or in an array of one."""
    pool = [*map(input, "abc"), *map(constant, (2.0, -1.0, 0.0, 1.0, 0.5)), reshape(input("v", (1,)), ())]
    pool.append(reshape(broadcast_to(constant(-3.0), (1, 1)), ()))
    for _ in range(60):
        op = draw.choice(("add", "subtract", "multiply", "multiply", "negative", "divide", "power", "abs", "sin"))
        pool.append(elementwise(op, tuple(draw.choices(pool[-14:], k=FUNCTIONS[op].arity))))
        if draw.random() < 0.1:
            pool.append(label(draw.choice(pool), f"named{len(pool)}"))
    return pool


@pytest.mark.parametrize("row", [row for row in RULES if row.linked], ids=lambda row: row.name)
def test_rules_fit_no_number_that_is_not_linked(row: Rule) -> None:
    """What the table leaves out without a call is left alone by the rule itself."""
    draw = random.Random(17)
    left_out = fits = 0
    for _ in range(100):
        for node in _numbers(draw):
            if node.op in row.ops and not node.shape:
                found = row.rewrite(node)
                alone = row.inside.isdisjoint([arg.op for arg in node.args]) and not is_linked(node)
                assert not alone or found is None or found is node, node
                left_out, fits = left_out + alone, fits + (found is not None)
    assert left_out > 50
    assert fits > 5
