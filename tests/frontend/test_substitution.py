"""Other arrays in place of inputs and parts: values are those of the formula at these arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

#: Formulas of a number s, a vector x and a square matrix A, and NumPy's of the same.
FORMULAS = ["x @ A @ x * s", "sum(tanh(A @ x) * s)", "A @ x - s", "sum(A, axis=0) * x", "s * x + x**2", "trace(A) * s"]
VALUES: dict[str, list[Any]] = {
    "s": [2.0, "t", "t * t - 1", "sum(y)"],
    "x": [[1.0, 2.0, 3.0], "y", "y * t", "B @ y", "y[::-1]"],
    "A": [np.arange(9.0).reshape(3, 3), "B", "B.T @ B", "outer(y, y) + t"],
}
SHAPES: dict[str, Any] = {"s": (), "x": 3, "A": (3, 3), "t": (), "y": 3, "B": (3, 3)}


def formula(text: Any) -> Any:
    """Return the array that text stands for, over symbols of ``SHAPES``."""
    if not isinstance(text, str):
        return text
    known = {name: sd.array(name, shape) for name, shape in SHAPES.items()}
    functions = {name: getattr(np, name) for name in ("sum", "tanh", "trace", "outer")}
    return eval(text, {**known, **functions})  # noqa: S307  # of this file


@given(st.data(), st.sampled_from(FORMULAS))
@settings(max_examples=60)
def test_a_substituted_formula_has_the_values_of_the_formula_there(data: Any, text: str) -> None:
    f = formula(text)
    names = [str(one) for one in f.inputs]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    put = {name: formula(data.draw(st.sampled_from(VALUES[name]))) for name in chosen}
    result = f.substitute(put) if data.draw(st.booleans()) else f.substitute(**put)
    rng = np.random.default_rng(0)
    point = {name: rng.normal(size=sd.array(name, shape).shape) for name, shape in SHAPES.items()}

    def at(g: Any) -> Any:
        if not isinstance(g, sd.Array):
            return g
        return sd.compile(g, backend="numpy")(*[point[str(one)] for one in g.inputs])

    values = {name: at(one) for name, one in put.items()}
    expected = sd.compile(f, backend="numpy")(*[values.get(name, point[name]) for name in names])
    np.testing.assert_allclose(at(result), expected, rtol=1e-13)


def test_inputs_are_those_of_a_kernel_in_its_order() -> None:
    A, x, c = sd.matrix("A", "n", "n"), sd.vector("x", "n"), sd.scalar("c")
    for f in (x @ A @ x * c, sd.gradient(x @ A @ x, x), sd.hessian(x @ A @ x, x), c + x, sd.asarray(3.0)):
        assert [str(one) for one in f.inputs] == [one.name for one in sd.compile(f).inputs]
    assert [str(one) for one in sd.hessian("x @ A @ x", "x", A=(2, 2), x=2).inputs] == ["A", "x"]


def test_sizes_follow_and_parts_vanish() -> None:
    A, x, c = sd.matrix("A", "n", "n"), sd.vector("x", "n"), sd.scalar("c")
    f = sd.gradient(x @ A @ x * c, x)
    g = f.substitute(A=np.eye(3), c=2)
    assert [(str(one), one.shape) for one in g.inputs] == [("x", (3,))]
    np.testing.assert_array_equal(sd.compile(g)([1.0, 2.0, 3.0]), [4.0, 8.0, 12.0])
    named = sd.name(x @ x, "r")
    assert str((named * c).substitute(r=3)) == "3 * c"
    assert [str(one) for one in (named * c).substitute(r=3).inputs] == ["c"]
    assert str((x @ x * c + c).substitute({x @ x: c})) == "c * c + c"
    assert str((c * c + 1).substitute(c=sd.scalar("d"))) == "d * d + 1"
    swapped = (x * c).substitute({x: 2 * x, "c": c + 1})
    assert str(swapped) == "2 * x * (c + 1)"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"z": 3}, "'z' is not in the formula"),
        ({"xx": 3}, "close: x"),
        ({"x": np.ones(2), "A": np.eye(3)}, "expected"),
        ({"x": np.ones((3, 1))}, "expected"),
        ({sd.scalar("z"): 3}, "the part z is not in the formula"),
        ({"S": np.array([[1.0, 2.0], [3.0, 4.0]])}, "declared symmetric"),
        ({"x": "y"}, "text"),
        ({"x": None}, "NoneType"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[Any, Any], words: str) -> None:
    A, x, S = sd.matrix("A", "n", "n"), sd.vector("x", "n"), sd.matrix("S", 2, 2, symmetric=True)
    with pytest.raises(sd.SymdiffError, match=words):
        (x @ A @ x + S.sum()).substitute(values)
