from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symdiff.codegen.numpy.emit import emit_numpy
from symdiff.graph import contract
from symdiff.graph import input as variable
from symdiff.graph.deltas.contraction_order import Step, cheapest_step, growth, multiplications, steps, volume
from symdiff.graph.deltas.einsum import einsum
from symdiff.lowering.unroll import unroll

SIZES = {0: 2, 1: 3, 2: 5, 3: 4, 4: 1}
Factor = tuple[tuple[int, ...], npt.NDArray[Any]]
LABELS = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def products(draw: st.DrawFn, most: int = 5) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    labels = draw(st.lists(LABELS, min_size=2, max_size=most))
    used = sorted({label for own in labels for label in own})
    out = draw(st.lists(st.sampled_from(used), unique=True, max_size=3)) if used else []
    return labels, tuple(out)


def contracted(factors: list[Factor], out: tuple[int, ...]) -> npt.NDArray[Any]:
    operands = [part for own, x in factors for part in (x, list(own))]
    result: npt.NDArray[Any] = np.einsum(*operands, list(out))
    return result


def arrays(labels: list[tuple[int, ...]]) -> list[Factor]:
    rng = np.random.default_rng(1)
    return [(own, rng.integers(-3, 4, [SIZES[label] for label in own])) for own in labels]


def least_cost(labels: list[tuple[int, ...]], out: tuple[int, ...]) -> int:
    """Return the cost of the cheapest order, by following every one of them."""
    if len(labels) < 2:
        return 0
    totals = []
    for i, j in combinations(range(len(labels)), 2):
        rest = [own for k, own in enumerate(labels) if k not in (i, j)]
        both = {*labels[i], *labels[j]}
        kept = tuple(both & {*out, *(label for own in rest for label in own)})
        totals.append(int(np.prod([SIZES[label] for label in both])) + least_cost([*rest, kept], out))
    return min(totals)


def cost_of_plan(labels: list[tuple[int, ...]], out: tuple[int, ...], exhaustive: int) -> int:
    total = 0
    while len(labels) > 1:
        step = cheapest_step(labels, out, lambda step: multiplications(step, SIZES), exhaustive)
        assert step is not None
        total += multiplications(step, SIZES)
        labels = [*(own for k, own in enumerate(labels) if k not in (step.first, step.second)), step.kept]
    return total


@given(products())
def test_steps_leave_the_value_of_a_product(product: tuple[list[tuple[int, ...]], tuple[int, ...]]) -> None:
    labels, out = product
    factors = arrays(labels)
    expected = contracted(factors, out)
    while len(factors) > 1:
        step = cheapest_step([own for own, _ in factors], out, lambda step: growth(step, SIZES))
        assert step is not None
        both = [factors[step.first], factors[step.second]]
        assert [own for own, _ in both] == [step.left, step.right]
        rest = [factor for k, factor in enumerate(factors) if k not in (step.first, step.second)]
        factors = [*rest, (step.kept, contracted(both, step.kept))]
    assert np.array_equal(contracted(factors, out), expected)


@given(products())
def test_a_step_keeps_what_others_have_in_the_order_of_first_use(
    product: tuple[list[tuple[int, ...]], tuple[int, ...]],
) -> None:
    labels, out = product
    found = list(steps(labels, out))
    assert [(step.first, step.second) for step in found] == list(combinations(range(len(labels)), 2))
    for step in found:
        others = {label for k, own in enumerate(labels) if k not in (step.first, step.second) for label in own}
        assert list(step.kept) == [x for x in dict.fromkeys((*step.left, *step.right)) if x in others | set(out)]


@given(products(4))
def test_few_factors_have_the_cheapest_of_all_orders(product: tuple[list[tuple[int, ...]], tuple[int, ...]]) -> None:
    labels, out = product
    assert cost_of_plan(labels, out, exhaustive=4) == least_cost(labels, out)


def test_the_cheapest_step_may_begin_a_dearer_order() -> None:
    labels: list[tuple[int, ...]] = [(1, 2), (3,), (1,)]
    assert cost_of_plan(labels, (3,), exhaustive=0) == 12 + 60
    assert cost_of_plan(labels, (3,), exhaustive=4) == 15 + 4


def test_steps_without_a_cost_are_not_taken() -> None:
    def only_last(step: Step) -> int | None:
        return 1 if step.first == 1 else None

    labels = [(0,), (0, 1), (1, 2)]
    step = cheapest_step(labels, (2,), only_last)
    assert step is not None
    assert (step.first, step.second, step.kept) == (1, 2, (0, 2))
    assert cheapest_step(labels, (2,), lambda step: None) is None


def test_of_equal_steps_the_first_is_taken() -> None:
    step = cheapest_step([(0,), (0,), (0,)], (), lambda step: 7)
    assert step is not None
    assert (step.first, step.second) == (0, 1)


def test_an_array_has_a_repeated_label_along_one_axis() -> None:
    assert volume((0, 0, 2), SIZES) == 10


@pytest.mark.parametrize("n", [3, 6])
def test_every_stage_multiplies_a_chain_from_the_vector(n: int) -> None:
    a, b, v = variable("A", (n, n)), variable("B", (n, n)), variable("v", (n,))
    operands, labels = [a, b, v], [(0, 1), (1, 2), (2,)]
    whole = contract(operands, labels, (0,))
    planned = einsum(operands, labels, (0,))
    assert [len(arg.shape) for arg in planned.args] == [2, 1]
    multiplied = [op for op in unroll(operands, [whole]).ops if op == "multiply"]
    assert len(multiplied) == 2 * n * n
    assert "@" not in emit_numpy(operands, [whole]).text  # that would be a product of two matrices
