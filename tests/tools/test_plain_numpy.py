"""The baseline of symdiff bench: formulas as calls of NumPy alone, with a batch in front or without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.tools.command.inspect import plain_numpy

ROWS: list[tuple[str, str, dict[str, Any]]] = [
    ("log(det(A))", "A", {"A": (4, 4)}),
    ("x @ A @ x", "x", {"A": (3, 3), "x": (3,)}),
    ("sum(exp(x) * y)", "x", {"x": (4,), "y": ()}),
    ("sum((X @ w - y)**2)", "w", {"X": (5, 3), "w": (3,), "y": (5,)}),
    ("b @ solve(A, b)", "b", {"A": (3, 3), "b": (3,)}),
    ("sum(erf(x) * log(1 + exp(x)))", "x", {"x": (4,)}),
    ("sum(tanh(outer(x, y)))", "y", {"x": (3,), "y": (2,)}),
    ("sin(x) * y", "x", {"x": (), "y": ()}),
]


@pytest.mark.parametrize(("formula", "by", "shapes"), ROWS)
def test_numbers_are_those_of_the_kernel(formula: str, by: str, shapes: dict[str, Any]) -> None:
    read = read_formula(formula, shapes)
    result = {"slope": sd.gradient(read.value, read.inputs[by])}
    rng = np.random.default_rng(0)
    sample = {name: rng.uniform(0.5, 1.5, shape) + 3 * np.eye(*shape[:2]) * (len(shape) == 2 and shape[0] == shape[1])
              if len(shape) == 2 else rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}  # fmt: skip
    sample = {name: sample[name] for name in read.inputs}
    plain = plain_numpy(result, sample)
    assert plain is not None
    kernel = sd.compile(result, [*read.inputs.values()])
    batch = [np.stack([one, 1.1 * one, 1.2 * one]) for one in sample.values()]
    for arrays in ([*sample.values()], batch):
        np.testing.assert_allclose(plain(*arrays)["slope"], kernel(*arrays)["slope"], rtol=1e-10)


def test_an_operation_that_numpy_lacks_has_no_baseline() -> None:
    read = read_formula("adjugate(A)", {"A": (3, 3)})
    assert plain_numpy({"f": read.value}, {"A": np.eye(3)}) is None
