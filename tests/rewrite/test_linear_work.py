"""Work that grows with a formula, and no faster."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ShapeError
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import Node, postorder
from symdiff.graph.sizes import named
from symdiff.lowering.plan.loops.ranges import cut
from symdiff.lowering.unroll import expand_functions, unroll
from tests.ground.test_budget import doubling
from tests.support.effort import calls


def test_rows_of_an_array_are_joined_without_taking_it_apart() -> None:
    rng = np.random.default_rng(3)
    joins: list[Any] = [np.stack, np.concatenate, np.hstack, np.vstack, np.column_stack]
    for shape in ((4,), (4, 3), (4, 3, 2)):
        x, numbers = sd.array("x", shape), rng.normal(size=shape)
        for join in joins:
            if join is np.concatenate and len(shape) == 1:
                continue
            for axis in range(-len(shape) + 1, len(shape) - 1) if join in (np.stack, np.concatenate) else (None,):
                options = {} if axis is None else {"axis": axis}
                joined = join(x, **options)
                kernel = sd.compile(joined, [x], backend="numpy")
                np.testing.assert_array_equal(kernel(numbers), join(list(numbers), **options))
    long = sd.vector("long", 10**6)
    assert len(postorder([sd.stack(long).node])) == 1


def test_polynomials_of_numbers_leave_zeros_out() -> None:
    x = sd.scalar("x")
    for c in ([0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0, 1.0], [1.0, 0.0], [0.0, 0.0, 4.0]):
        kernel = sd.compile(np.polyval(np.array(c), x), [x], backend="interpreter")
        for number in (0.0, -1.5, 2.0):
            np.testing.assert_array_equal(kernel(number), np.polyval(c, number))
    assert len(postorder([sd.function("polyval")(np.zeros(10**4), x).node])) < 10


def _sum_of_elements(n: int) -> tuple[sd.Array, sd.Array]:
    x = sd.vector("x", n)
    total = x[0]
    for i in range(1, n):
        total = total + x[i]
    return total, x


def _maximum_of_elements(n: int) -> tuple[sd.Array, sd.Array]:
    x = sd.vector("x", n)
    largest: Any = x[0]
    for i in range(1, n):
        largest = np.maximum(largest, x[i])
    return largest, x


def _joined(n: int) -> tuple[sd.Array, sd.Array]:
    x = sd.vector("x", n)
    rows = np.stack([np.sin(x[i]) for i in range(n)])
    return (rows * rows).sum(), x


def _slices(n: int) -> tuple[sd.Array, sd.Array]:
    x = sd.vector("x", n + 2)
    part = x
    for _ in range(n):
        part = part[1:]
    return part.sum(), x


def _named(n: int) -> tuple[sd.Array, sd.Array]:
    x = sd.scalar("x")
    part = x
    for i in range(n):
        part = sd.name(part * x + 1, f"t{i}")
    return part, x


LONG = [_sum_of_elements, _maximum_of_elements, _joined, _slices, _named]


def _stages(formula: Callable[[int], tuple[sd.Array, sd.Array]], n: int) -> Iterator[tuple[str, int]]:
    gc.collect()  # what dies while something is built is counted with it
    count, (f, x) = calls(formula, n)
    yield "build", count
    count, slope = calls(sd.gradient, f, x)
    yield "differentiate", count
    yield "print", calls(str, f)[0]
    yield "sympy", calls(lambda: f.sympy)[0] if formula is not _joined else 0
    inputs: list[Node] = [x.node]
    nodes = [part.node for part in (f, slope)]
    yield "expand", calls(expand_functions, nodes)[0]
    from symdiff.rewrite import inline, simplify

    count, simplified = calls(lambda: simplify(inline(nodes)))
    yield "simplify", count
    yield "schedule", calls(unroll, inputs, simplified)[0]


@pytest.mark.counted
@pytest.mark.parametrize("formula", LONG)
def test_long_formulas_take_linear_work(formula: Callable[[int], tuple[sd.Array, sd.Array]]) -> None:
    once, twice = (dict(_stages(formula, n)) for n in (800, 1600))  # both beyond what is simplified again and again
    assert {stage for stage in once if twice[stage] > 2.3 * once[stage] + 1_000} == set()


@pytest.mark.counted
def test_products_of_many_factors_take_linear_work() -> None:
    counts = []
    for n in (100, 200):
        v = sd.vector("v", 3)
        value = np.polyval(np.ones(n), v)
        counts.append(calls(sd.jacobian, value, v)[0])
    assert counts[1] < 2.6 * counts[0]


@pytest.mark.counted
def test_text_of_many_operations_takes_linear_work() -> None:
    counts = []
    for n in (200, 400):
        text = "+".join(f"(x[{i + 1}] - x[{i}]**2)**2" for i in range(n))
        counts.append(calls(lambda text=text, n=n: sd.gradient(text, "x", x=n + 1))[0])
    assert counts[1] < 2.2 * counts[0]


@pytest.mark.counted
def test_names_that_are_inputs_and_indices_take_linear_work() -> None:
    counts = []
    for n in (100, 200):
        text = "+".join(["sum([i] -> x[i]*y[i]) + sum(y[j]) + sum(x[i])"] * n)
        shapes = {"x": "n", "y": "n", "i": (int, 3), "j": (int, 4)}
        counts.append(calls(parse_graph, text, shapes)[0])
    assert counts[1] < 2.1 * counts[0]


def test_ranges_are_cut_so_often_and_no_more() -> None:
    assert len(cut([(0, 10**6)], range(1, 10**4), 33)) == 33
    n = named("n")
    assert len(cut([(0, n)], [n - i for i in range(1, 300)], 5)) <= 5


@pytest.mark.parametrize("n", [1, 40, 100])
def test_numbers_alone_are_outputs_of_loops(n: int) -> None:
    u = sd.vector("u", "n")
    row = np.arange(n, dtype=float)
    both = sd.compile([sd.asarray(row), u + 1.0], [u])(np.ones(3))
    np.testing.assert_array_equal(both[0], row)
    np.testing.assert_array_equal(both[1], [2.0, 2.0, 2.0])


def test_empty_arrays_are_checked_and_written() -> None:
    assert sd.check("diff(v, 5)", v=3).ok
    assert not any(sd.parse("gradient(sum(diff(A, 5)**2), A)", A=(3, 3)))
    with pytest.raises(ShapeError, match="does not exist for n = 3"):
        sd.check("u[1:][1:][1:][1:]", u="n")


@pytest.mark.counted
def test_long_derivatives_are_printed_in_linear_work() -> None:
    for shape in ("+".join, "*".join):
        counts = []
        for n in (60, 120):
            slope = sd.gradient(shape(f"sin({i}*x)" for i in range(1, n + 1)), "x")
            counts.append(calls(str, slope)[0])
        assert counts[1] < 2.6 * counts[0], shape
    counts = []
    for n in (50, 100):
        slope = sd.gradient(doubling("sin(_) * cos(_)", n), "x")
        counts.append(calls(str, slope)[0])
    assert counts[1] < 2.6 * counts[0]


def test_choices_within_conditions_are_written_and_not_multiplied_out() -> None:
    lines = [f"c{k} = where({f'c{k - 1}' if k else 'x'} > {k}, x, {k} * x)" for k in range(20)]
    assert len(str(sd.parse("\n".join([*lines, "c19"])))) < 5_000
    nested = sd.parse("where(where(x > 1, x, 2) > y, x, y)")
    x, y = sorted(nested.free_symbols, key=str)
    for at in ((3.0, 1.0), (0.5, 1.5), (0.5, 2.5)):
        assert nested.subs({x: at[0], y: at[1]}) == np.where(np.where(at[0] > 1, at[0], 2) > at[1], at[0], at[1])
