"""What is said of results that are nan or infinite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import input, substitute
from symdiff.graph.reference.interpret import evaluate

CASES = [
    ("log(x)", {"x": 0.0}, "log(x) is -inf"),
    ("sqrt(x) * y", {"x": -1.0, "y": 2.0}, "sqrt(x) is nan"),
    ("exp(x) - exp(y)", {"x": 1.0, "y": 1001.0}, "exp(y) is inf"),
    ("x / y + 1", {"x": 1.0, "y": 0.0}, "x / y is inf"),
    ("where(x > 0, log(x), log(y))", {"x": -1.0, "y": 0.0}, "log(y) is -inf"),
    ("x * y", {"x": np.nan, "y": 1.0}, "the input x is nan"),
    ("sum(log(v))", {"v": np.array([1.0, 2.0, 0.0])}, "log(v) is -inf at [2]"),
    ("v[0] + log(v)[1:] @ v[1:]", {"v": np.array([-1.0, 2.0, 0.0])}, "log(v) is -inf at [2]"),
    ("norm(v) / (sum(v) - 3)", {"v": np.array([1.0, 1.0, 1.0])}, "is inf"),
    ("sum(A @ v)", {"A": np.array([[1.0, np.inf], [0.0, 1.0]]), "v": np.ones(2)}, "the input A is inf at [0, 1]"),
    ("gradient(norm(v), v)", {"v": np.zeros(3)}, "unit(v)"),
]


@pytest.mark.parametrize(("text", "values", "message"), CASES)
def test_the_part_is_named(text: str, values: dict[str, Any], message: str) -> None:
    kernel = sd.compile(text, shapes={name: np.shape(value) for name, value in values.items()}, backend="numpy")
    if np.isfinite(kernel(**values)).all():  # a derivative at a kink is finite
        assert not kernel.explain(**values)
        return
    told = kernel.explain(**values)
    assert told
    assert message in str(told)
    assert told.sample == ()


@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("place", [0, 12_345, 19_999])
def test_the_sample_is_found(place: int, axis: int, reduce: str | None) -> None:
    kernel = sd.compile("x @ c / y", x=2, c=2, y=(), reduce=reduce, batch_axis=axis, backend="interpreter")
    x, y = np.ones((20_000, 2)), np.ones(20_000)
    y[place] = y[-1] = 0.0
    told = kernel.explain(x.T if axis else x, [1.0, 2.0], y)
    assert told.sample == (place,)
    assert str(told).startswith(f"sample {place}: ")
    assert "y = 0.0" in str(told)


def test_samples_of_several_axes_and_several_outputs() -> None:
    kernel = sd.compile({"a": "x + 1", "b": "log(x * y)"}, x=(), y=())
    x, y = np.ones((3, 1)), np.ones(4)
    y[2] = 0.0
    told = kernel.explain(x, y)
    assert (told.output, told.sample) == ("b", (0, 2))
    assert "sample (0, 2): " in str(told)


def test_finite_results_have_no_cause() -> None:
    kernel = sd.compile("where(x > 0, log(x), 0)", x=())
    told = kernel.explain([-1.0, 0.0, 2.0])
    assert not told
    assert str(told) == "all results are finite"


def test_sums_and_types_that_are_too_narrow_are_told() -> None:
    assert "sum over the batch" in str(sd.compile("x", x=(), reduce="sum").explain(np.full(4, 1e308)))
    big = np.float32(1e30)
    assert "float32" in str(sd.compile("x * y", x=(), y=()).explain(big, big))


def test_singular_matrices_are_named_by_their_formula() -> None:
    kernel = sd.compile("sum(inv(A - eye(2)))", A=(2, 2), backend="numpy")
    with pytest.raises(sd.SingularMatrixError):
        kernel(np.eye(2))
    told = kernel._origin.cause(0, [np.eye(2)])
    assert told.singular
    assert "inv(A - eye(2)) has no value" in str(told)


def test_kernels_raise_where_they_are_told_to() -> None:
    kernel = sd.compile("log(x)", x=2, nonfinite="raise")
    np.testing.assert_array_equal(kernel([[1.0, 1.0]]), [[0.0, 0.0]])
    for more in ({}, {"out": np.empty((2, 2))}):
        with pytest.raises(sd.NonfiniteError, match=r"sample 1: log\(x\) is -inf at \[0\]") as caught:
            kernel([[1.0, 2.0], [0.0, 3.0]], **more)
        assert isinstance(caught.value, FloatingPointError)
    with pytest.raises(sd.ArgumentError, match="expected 'keep' or 'raise'"):
        sd.compile("x", x=(), nonfinite="ignore")


PARTS = ["log({0})", "sqrt({0})", "1 / {0}", "exp({0} * 300)", "{0} * {1}", "{0} - {1}", "where({0} > 0, {0}, {1})"]
PARTS += ["sin({0})", "{0} ** 2", "maximum({0}, {1})", "sum(stack([{0}, {1}]))", "abs({0})"]


@pytest.mark.exhaustive
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_cause_is_not_finite_and_its_operands_are(data: st.DataObject) -> None:
    text = ["x", "y"]
    for _ in range(data.draw(st.integers(1, 6))):
        part = data.draw(st.sampled_from(PARTS))
        text.append("(" + part.format(data.draw(st.sampled_from(text[-3:])), data.draw(st.sampled_from(text))) + ")")
    number = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0])
    values = {"x": data.draw(number), "y": data.draw(number)}
    kernel = sd.compile(text[-1] + " + 0*(x + y)", shapes={"x": (), "y": ()}, backend="numpy")
    with np.errstate(all="ignore"):
        assume(not np.isfinite(kernel(**values)))
        told = kernel.explain(**values)
    assume(told.cause is not None)  # the kernel's order of operations may overflow where the formula does not
    cause = told.cause
    assert cause is not None
    (own,) = evaluate([cause.part.node], values)
    assert not np.isfinite(own[cause.place])
    for array, value in cause.operands:
        np.testing.assert_array_equal(evaluate([array.node], values)[0], value)
    # with finite operands, too, the part is not finite
    operands = {f"o{k}": np.where(np.isfinite(value), value, 1.0) for k, (_, value) in enumerate(cause.operands)}
    exchanged = {array.node: input(f"o{k}", value.shape) for k, (array, value) in enumerate(cause.operands)}
    if cause.part.node.dtype == "real" and all(array.node.dtype == "real" for array, _ in cause.operands):
        (mended,) = substitute([cause.part.node], exchanged)
        assert not np.isfinite(evaluate([mended], operands)[0][cause.place])


def test_positions_that_a_call_brings_are_no_cause() -> None:
    rows, at = sd.matrix("rows", 4, 2), sd.indices("at", "n")
    kernel = sd.compile(np.sum(np.log(rows[at]) ** 2), [rows, at])
    values = np.ones((4, 2))
    values[2, 1] = 0.0
    assert not kernel.explain(values, [0, 1, 3])
    told = kernel.explain(values, [0, 2, 3])
    assert "log(rows[at]) is -inf at [1, 1]" in str(told)
