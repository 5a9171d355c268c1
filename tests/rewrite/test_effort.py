"""Work that grows with a formula, and no faster, whatever its functions are."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ShapeError
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import Node, broadcast_to, constant, elementwise, input, label, postorder, reshape
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.graph.sizes import named
from symdiff.lowering.plan.access import cut
from symdiff.lowering.unroll import expand_functions, unroll
from symdiff.rewrite import RULES
from symdiff.rewrite.rewriter import Rule, _Rules, _settle, is_linked
from symdiff.rewrite.stability.rational_form import is_nonzero
from tests.ground.test_budget import doubling
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


# ---------------------------------------------------------------------------- linear work
# Work that grows with a formula, and no faster.


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


@pytest.mark.rows(1)
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
