from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.graph import Node, constant, delta, normalize, pad, postorder, reduce, reshape
from symdiff.graph import input as variable
from symdiff.graph.primitives import NORMALIZATIONS
from symdiff.graph.reference import numeric
from symdiff.graph.reference.interpret import evaluate as interpret
from symdiff.graph.scalars.functions import compare, where
from symdiff.lowering.expand import EXPANSIONS, expand_node, others_along_line
from symdiff.lowering.unroll import unroll
from tests.support.program_reference import evaluate

FAR = [0.0, 1.0, -1.0, 700.0, -700.0, 1e5, -1e5, np.inf, -np.inf, np.nan, 0.5, -3.0]


def rows(shape: tuple[int, ...], count: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    near = [rng.normal(size=shape) for _ in range(count)]
    return near + [rng.choice(FAR, shape) for _ in range(count)]


def whole(op: str, x: Node, axes: tuple[int, ...]) -> Node:
    return normalize(op, x, axes) if op in NORMALIZATIONS else reduce(op, x, axes)


def is_far(op: str, value: np.ndarray[Any, Any]) -> bool:
    """Tell whether the squares of a norm leave the range of a double: it is expanded without a scale."""
    return op == "norm" and not np.isfinite(np.sum(value * value))


@pytest.mark.parametrize("op", EXPANSIONS)
@pytest.mark.parametrize(
    ("shape", "axes"), [((1,), (0,)), ((2,), (0,)), ((4,), (0,)), ((3, 2), (0,)), ((2, 3), (0, 1))]
)
def test_both_expansions_give_what_numpy_gives(op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = variable("x", shape)
    nodes = expand_node(op, x, axes)
    assert not {node.op for node in postorder([nodes])} & set(EXPANSIONS)
    program = unroll([x], [whole(op, x, axes)])
    reference: Callable[..., Any] = getattr(numeric, op)
    with np.errstate(all="ignore"):
        for value in rows(shape, 40):
            if is_far(op, value):
                continue
            expected = reference(value, axes)
            (scalars,) = evaluate(program, [value])
            (arrays,) = interpret([nodes], {"x": value})
            np.testing.assert_allclose(scalars, expected, rtol=1e-14, atol=1e-300)
            np.testing.assert_allclose(arrays, expected, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("op", EXPANSIONS)
def test_scalars_and_nodes_have_the_same_bits(op: str) -> None:
    x = variable("x", (5,))
    (one, other) = (unroll([x], [node]) for node in (whole(op, x, (0,)), expand_node(op, x, (0,))))
    with np.errstate(all="ignore"):
        for value in rows((5,), 60):
            assert np.array_equal(evaluate(one, [value])[0], evaluate(other, [value])[0], equal_nan=True)


def test_structural_zeros_stay_zeros_of_a_unit_vector() -> None:
    x = variable("x", (2,))
    ops = unroll([x], [normalize("unit", pad(x, ((0, 1, 2),), (6,)), (0,))]).ops
    assert ops.count("divide") == 2
    assert ops.count("multiply") == 3 * 2  # squares, what is scaled, and squares of that


def test_what_is_beside_a_share_is_the_sum_of_the_others() -> None:
    x = variable("x", (3,))
    program = unroll([x], [1.0 - normalize("softmax", x, (0,))])
    assert evaluate(program, [np.array([0.0, 0.0, 50.0])])[0][2] == pytest.approx(2 * np.exp(-50.0), rel=1e-14)


def test_two_exponentials_take_one_call() -> None:
    x = variable("x", (2,))
    for op in ("softmax", "log_softmax", "logsumexp"):
        assert unroll([x], [whole(op, x, (0,))]).ops.count("exp") == 1


def test_rows_without_elements() -> None:
    x = variable("x", (0, 3))
    assert np.array_equal(evaluate(unroll([x], [reduce("logsumexp", x, (0,))]), [np.zeros((0, 3))])[0], [-np.inf] * 3)
    assert np.array_equal(evaluate(unroll([x], [reduce("norm", x, (0,))]), [np.zeros((0, 3))])[0], [0.0] * 3)
    assert evaluate(unroll([x], [normalize("softmax", x, (0,))]), [np.zeros((0, 3))])[0].shape == (0, 3)


def test_a_sum_of_squares_of_numbers_is_one() -> None:
    x = constant(np.array([3.0, 4.0]))
    assert interpret([expand_node("norm", x, (0,))], {})[0] == 5.0


def products_of_others(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.stack([np.prod(np.delete(value, i, -1), -1) for i in range(value.shape[-1])], -1)


@pytest.mark.parametrize("size", [1, 2, 7, 32, 33, 70, "n"])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_products_of_all_others(size: int | str, backend: str) -> None:
    x = sd.array("x", (2, size))
    slopes = sd.compile(sd.gradient(x.prod(axis=1) @ np.array([2.0, 1.0]), x), [x], backend=backend)
    rng = np.random.default_rng(2)
    for n in [1, 2, 33, 80] if isinstance(size, str) else [size]:
        value = rng.uniform(0.5, 1.5, (2, n)) * rng.choice([-1, 1], (2, n))
        value[0, rng.integers(n)] = 0.0
        want = products_of_others(value) * np.array([[2.0], [1.0]])
        np.testing.assert_allclose(slopes(value), want, rtol=1e-13)
        if not isinstance(size, str):
            np.testing.assert_array_equal(slopes(np.stack([1.0 + value, value]))[1], slopes(value))


def test_products_of_all_others_share_those_of_pairs() -> None:
    x = variable("x", (32,))
    others = products_of_others_of(x)
    assert unroll([x], [others]).ops.count("multiply") <= 32 * 6
    apart = others_along_line(others)
    assert apart is not None
    assert {node.op for node in postorder([apart])}.isdisjoint({"prod", "where"})
    value = np.linspace(0.5, 1.5, 32)
    want = products_of_others(value)
    for node in (others, apart):
        np.testing.assert_allclose(interpret([node], {"x": value})[0], want, rtol=1e-14)


def products_of_others_of(x: Node) -> Node:
    (n,) = x.shape
    own = compare("equal", delta(n, n), 1.0)
    return reduce("prod", where(own, 1.0, reshape(x, (1, n))), (1,))


def test_other_products_stay_as_they_are() -> None:
    x, y = variable("x", (5,)), variable("y", (5, 5))
    own = compare("equal", delta(5, 5), 1.0)
    for others in (
        reduce("prod", where(own, 2.0, reshape(x, (1, 5))), (1,)),
        reduce("prod", where(own, 1.0, y), (1,)),
        reduce("prod", where(own, 1.0, reshape(x, (5, 1))), (1,)),
        reduce("prod", where(own, reshape(x, (1, 5)), 1.0), (1,)),
        reduce("prod", where(compare("equal", delta(5, 5, 1), 1.0), 1.0, reshape(x, (1, 5))), (1,)),
        reduce("prod", where(compare("equal", delta(5, 5), 0.0), 1.0, reshape(x, (1, 5))), (1,)),
    ):
        assert others_along_line(others) is None
