"""Functions of several arguments give the same where an argument is a number in the formula as where it is an input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from symdiff.errors import NotDifferentiableError, UnsupportedError
from symdiff.graph import REAL, Node, constant, elementwise, input, inputs_of
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, Function, partial_of
from symdiff.graph.scalars.functions import where as choose

NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5)


def _takes_an_order(row: Function) -> bool:
    """Tell whether a function is one of a family, whose order is a number in every formula."""
    try:
        _slopes(row.name, _inputs(row))
    except UnsupportedError:
        return True
    return row.orders > 0


def _inputs(row: Function) -> list[Node]:
    return [input(letter) for letter in "abcd"[: row.arity]]


def _value(node: Node, point: dict[str, float]) -> float:
    here = {str(leaf.name): point[str(leaf.name)] for leaf in inputs_of([node])}
    with np.errstate(all="ignore"):
        return float(evaluate([node], here)[0])


def _slopes(op: str, args: list[Node]) -> list[Node]:
    """Return the value and each partial derivative that there is."""
    node = elementwise(op, tuple(args), FUNCTIONS[op].gives)
    found = [node]
    for place in range(len(args)):
        try:
            slope, condition = partial_of(node, place)
        except NotDifferentiableError:
            continue
        if slope is not None and node.op == op:
            found.append(slope if condition is None else choose(condition, slope, 0.0))
    return found


ROWS = [row for row in FUNCTIONS.values() if row.arity > 1 and row.takes == REAL and not _takes_an_order(row)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_number_is_an_input_of_that_value(row: Function) -> None:
    rng = np.random.default_rng(len(row.name))
    inputs = _inputs(row)
    by_inputs = _slopes(row.name, inputs)
    for place, value in itertools.product(range(row.arity), NUMBERS):
        point = {
            letter: float(rng.uniform(max(low, -3.0), max(low, min(high, 3.0))))
            for letter, (low, high) in zip("abcd", row.domain, strict=False)
        }
        point["abcd"[place]] = value
        by_number = _slopes(row.name, [constant(value) if k == place else arg for k, arg in enumerate(inputs)])
        if len(by_number) != len(by_inputs):
            continue
        for one, other in zip(by_inputs, by_number, strict=True):
            want, got = _value(one, point), _value(other, point)
            assert got == pytest.approx(want, rel=1e-12, abs=1e-300, nan_ok=True), (place, value, point)
