"""Opposite arrays are added up once, and a value shares the loop of its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import Node, contract, elementwise, input, postorder, scatter
from symdiff.graph.reference.interpret import evaluate
from symdiff.lowering.plan import bind, bound
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.steps import LoopStep, Move
from symdiff.lowering.plan.sums import subtract_opposites


def pairs(n: int, form: str, r: Any, i: Any, j: Any, np: Any = np) -> Any:
    """Return an energy of pairs, by lists of positions or of all with all."""
    if form == "list":
        d = r[i] - r[j]
        s = 1 / (1 + np.sum(d * d, axis=1))
        return np.sum(s**3 - s)
    d = r[:, None] - r[None]
    s = 1 / (1 + np.sum(d * d, axis=2))
    if form == "cut":
        return np.sum(np.where(s > 0.3, s**3 - s, 0.0) * (1 - np.eye(n))) / 2
    return np.sum((s**3 - s) * (1 - np.eye(n))) / 2


@pytest.mark.exhaustive
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(("list", "all", "cut")), st.integers(2, 50), st.integers(1, 4), st.sampled_from((8, 4)))
def test_values_and_forces_are_right_and_have_the_same_bits_everywhere(form: str, n: int, d: int, item: int) -> None:
    r = sd.matrix("r", n, d)
    i, j = np.triu_indices(n, 1)
    energy = pairs(n, form, r, i, j)
    gradient = sd.gradient(energy, r)
    dtype = np.float64 if item == 8 else np.float32
    at: Any = np.random.default_rng(n).normal(size=(n, d)).astype(dtype)
    direction = np.cos(np.arange(n * d)).reshape(n, d)
    right = np.imag(pairs(n, "all" if form == "cut" else form, at + 1e-30j * direction, i, j)) / 1e-30
    if form == "cut":
        delta = at[:, None].astype(float) - at
        s = 1 / (1 + np.sum(delta * delta, axis=2))
        slopes = np.where(s > 0.3, 3 * s**2 - 1, 0.0) * -2 * s**2
        right = np.sum(np.sum(slopes[..., None] * delta, axis=1) * direction)
    near = {"rtol": 1e-9, "atol": 1e-9} if item == 8 else {"rtol": 2e-4, "atol": 2e-4}
    native = sd.compile([energy, gradient], [r], backend="native")
    value, forces = native(at)
    np.testing.assert_allclose(np.sum(forces * direction), right, **near)
    np.testing.assert_allclose(value, pairs(n, form, at.astype(float), i, j), **near)
    same = sd.compile([energy, gradient], [r], backend="interpreter")(at)
    assert np.array_equal(same[0], value)
    assert np.array_equal(same[1], forces)
    several = native(np.stack([at, -at, at]))
    np.testing.assert_allclose(several[1], [forces, -forces, forces], **near)


@pytest.mark.exhaustive
def test_both_ends_of_pairs_are_one_array() -> None:
    r = sd.matrix("r", 40, 3)
    i, j = np.triu_indices(40, 1)
    energy = pairs(40, "list", r, i, j)
    plan = plan_call([r.node], [energy.node, sd.gradient(energy, r).node], [False], 10_000)
    moves = [step.source.source for step in plan.steps if isinstance(step, Move)]
    assert len(moves) == 2
    assert moves[0] is moves[1]
    # one loop over pairs makes the terms of the value and the forces, and no other computes distances again
    loops = [step for step in plan.steps if isinstance(step, LoopStep) and step.loops == (780,)]
    assert sorted(len(step.results) for step in loops) == [1, 2]


@pytest.mark.parametrize(("n", "count"), [(40, 1), (300, 1), (1000, 2)])
def test_value_and_gradient_of_a_lattice_share_their_loop(n: int, count: int) -> None:
    """Its pieces run one after the other: terms that would leave the cache are made in the sum."""
    x = sd.matrix("x", n, n)

    def action(x: Any) -> Any:
        steps = (np.roll(x, 1, axis=0) - x) ** 2 + (np.roll(x, 1, axis=1) - x) ** 2
        return np.sum(0.5 * steps + 0.25 * (x**2 - 1.0) ** 2)

    outputs = [action(x), sd.gradient(action(x), x)]
    plan = plan_call([x.node], [one.node for one in outputs], [False], 10_000)
    loops = [step for step in plan.steps if isinstance(step, LoopStep) and len(step.pieces) > 1]
    assert len(loops) == count
    if n < 100:
        point = np.random.default_rng(n).normal(size=(n, n))
        value, gradient = sd.compile(outputs, [x], backend="native")(point)
        np.testing.assert_allclose(value, action(point), rtol=1e-12)
        rolled = sum(np.roll(point, k, axis) for k in (1, -1) for axis in (0, 1))
        np.testing.assert_allclose(gradient, 4.0 * point - rolled + point * (point**2 - 1.0), rtol=1e-12, atol=1e-12)


def triples(r: Any, i: Any, j: Any, k: Any, np: Any = np) -> Any:
    """Return an energy of triples of points."""
    a, b = r[i] - r[j], r[k] - r[j]
    return np.sum(np.exp(-np.sum(a * b, axis=1) ** 2) + np.sum(a * a, axis=1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("item", [8, 4])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    form=st.sampled_from(("list", "all", "cut", "triples")),
    n=st.integers(36, 60),
    part=st.sampled_from((1, 7, 64, 1000)),
)
def test_parts_of_an_axis_give_what_the_whole_gives(
    monkeypatch: pytest.MonkeyPatch, item: int, form: str, n: int, part: int
) -> None:
    r = sd.matrix("r", n, 3)
    i, j = np.triu_indices(n, 1)
    if form == "triples":
        energy = triples(r, *np.random.default_rng(n).integers(0, n, (3, 3 * n)))
    else:
        energy = pairs(n, form, r, i, j)
    gradient = sd.gradient(energy, r)
    dtype = np.float64 if item == 8 else np.float32
    point = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
    whole = sd.compile([energy, gradient], [r], backend="native")
    right = whole(point)
    parts: list[int] = []
    in_blocks = bind.in_blocks

    def counted(*args: Any) -> Any:
        arrays, steps = in_blocks(*args)
        parts.extend(step.span for step in steps if isinstance(step, bound.BlockStep))
        return arrays, steps

    with monkeypatch.context() as patch:
        patch.setattr(bind, "in_blocks", counted)
        patch.setattr(bind, "LARGE", 0)
        patch.setattr(bind, "FEWEST", part)
        patch.setattr(bind, "CACHE", 0)
        found = []
        for backend in ("native", "interpreter"):
            kernel = sd.compile([energy, gradient], [r], backend=backend)
            found.append(kernel(point))
    assert len(parts) == 2
    assert min(parts) > 1
    near = {"rtol": 1e-12, "atol": 1e-12} if item == 8 else {"rtol": 1e-4, "atol": 1e-4}
    for a, b, c in zip(right, *found, strict=True):
        np.testing.assert_allclose(b, a, **near)
        assert np.array_equal(b, c)


@st.composite
def opposites(draw: st.DrawFn) -> tuple[Node, Node]:
    """Give two arrays, the second with signs in other places."""
    x, y = input("x", (40,)), input("y", (40,))
    a, b = x, x
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(("negative", "multiply", "subtract", "divide", "where", "both")))
        if kind == "negative":
            b = elementwise("negative", (b,))
        elif kind == "multiply":
            a, b = elementwise("multiply", (a, y)), elementwise("multiply", (y, b))
        elif kind == "subtract":
            difference = elementwise("subtract", (x, y)), elementwise("subtract", (y, x))
            a, b = elementwise("multiply", (a, difference[0])), elementwise("multiply", (b, difference[1]))
        elif kind == "divide":
            a, b = elementwise("divide", (a, y)), elementwise("divide", (b, y))
        elif kind == "where":
            zero, above = input("x", (40,)) * 0.0, elementwise("less", (x, y))
            a, b = (elementwise("where", (above, each, zero)) for each in (a, b))
        else:
            a, b = (elementwise("multiply", (each, elementwise("subtract", (each, y)))) for each in (a, b))
    return a, b


@settings(max_examples=100, deadline=None)
@given(opposites(), st.integers(0, 100))
def test_sums_of_arrays_with_signs_in_other_places_stay_what_they_are(arrays: tuple[Node, Node], seed: int) -> None:
    rng = np.random.default_rng(seed)
    positions = tuple(rng.integers(0, 50, 40).tolist())
    a, b = arrays
    roots = [scatter(a, 0, positions, 50), scatter(b, 0, positions[::-1], 50), contract([b], [(0,)], ())]
    at = {"x": rng.normal(size=40), "y": rng.normal(size=40)}
    for before, after in zip(evaluate(roots, at), evaluate(subtract_opposites(roots), at), strict=True):
        np.testing.assert_array_equal(before, after)


def test_the_sign_of_a_zero_divisor_counts() -> None:
    x, y = input("x", (40,)), input("y", (40,))
    one = elementwise("divide", (x, elementwise("subtract", (x, y))))
    other = elementwise("divide", (x, elementwise("subtract", (y, x))))
    roots = [scatter(each, 0, tuple(range(40)), 41) for each in (one, other)]
    found = subtract_opposites(roots)
    assert len({node for node in postorder(found) if node.op == "divide"}) == 2
    at = {"x": np.ones(40), "y": np.ones(40)}
    for before, after in zip(evaluate(roots, at), evaluate(found, at), strict=True):
        np.testing.assert_array_equal(before, after)


FORMULAS = {
    "a step of heat": lambda u: u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]),
    "a total variation": lambda u: np.sum(np.sqrt(np.diff(u[:, :-1], axis=0) ** 2 + np.diff(u[:-1], axis=1) ** 2 + 1)),
    "sums": lambda u: np.sum(np.tanh(u) * u, axis=0),
    "shifts": lambda u: np.roll(u, 1, 0) * np.exp(-np.roll(u, -1, 1)),
}


@pytest.mark.exhaustive
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(FORMULAS)), st.integers(9, 32), st.integers(9, 32), st.sampled_from((8, 4)))
def test_one_sample_and_a_batch_agree(name: str, m: int, n: int, item: int) -> None:
    u = sd.matrix("u", m, n)
    formula = FORMULAS[name](u)
    dtype = np.float64 if item == 8 else np.float32
    at = np.random.default_rng(m * n).normal(size=(3, m, n)).astype(dtype)
    near = {"rtol": 1e-11, "atol": 1e-11} if item == 8 else {"rtol": 1e-4, "atol": 1e-4}
    native, other = (sd.compile(formula, [u], backend=backend) for backend in ("native", "interpreter"))
    together = native(at)
    for one, result in zip(at, together, strict=True):
        alone = native(one)
        np.testing.assert_allclose(alone, result, **near)
        np.testing.assert_allclose(alone, FORMULAS[name](one.astype(float)), **near)
        assert np.array_equal(other(one), alone)
        out = np.empty(alone.shape, dtype)
        assert native(one, out=out) is out or out.shape == ()
        assert np.array_equal(native(one[None])[0], alone)
        np.testing.assert_array_equal(native(np.asfortranarray(one)), alone)
        np.testing.assert_array_equal(native(one.tolist()).astype(dtype), alone.astype(dtype)) if item == 8 else None


@pytest.mark.exhaustive
def test_a_plan_for_one_sample_stands_beside_a_program() -> None:
    u = sd.matrix("u", 32, 32)
    kernel = sd.compile(FORMULAS["a total variation"](u), [u], backend="native")
    told = kernel.plan.splitlines()
    assert told[0].startswith("every sample: one program")
    assert told[1] == "one sample:"
    small = sd.compile(np.sum(u[:3, :3] ** 2), [u], backend="native")
    assert len(small.plan.splitlines()) == 1


@pytest.mark.parametrize("backend", ["auto", "native", "interpreter"])
def test_a_long_formula_of_short_axes_is_a_plan(backend: Any) -> None:
    n, m = 32, 5
    u, w = sd.matrix("u", n, n), sd.matrix("w", m, m)
    size = n - m + 1
    kernel = sd.compile(
        sum(w[p, q] * u[p : p + size, q : q + size] for p in range(m) for q in range(m)), [u, w], backend=backend
    )
    rng = np.random.default_rng(0)
    image, weights = rng.normal(size=(4, n, n)), rng.normal(size=(m, m))
    windows = np.lib.stride_tricks.sliding_window_view(image, (m, m), (1, 2))
    right = np.einsum("bijpq,pq->bij", windows, weights)
    np.testing.assert_allclose(kernel(image[0], weights), right[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(image, weights), right, rtol=1e-12, atol=1e-12)
    assert not kernel.stats["numpy_steps"]


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.integers(1, 40), st.integers(1, 40), st.integers(0, 70), st.sampled_from((8, 4)))
def test_rows_at_positions_of_a_call(users: int, items: int, width: int, count: int, item: int) -> None:
    dtype = np.float64 if item == 8 else np.float32
    u, v, y = sd.matrix("u", "m", width), sd.matrix("v", "k", width), sd.vector("y", "n")
    i, j = sd.indices("i", "n"), sd.indices("j", "n")
    loss = np.sum((np.sum(u[i] * v[j], axis=1) - y) ** 2)
    outputs = [loss, *sd.gradient(loss, [u, v])]
    rng = np.random.default_rng(users + 100 * items + 1000 * count)
    at = [rng.normal(size=shape).astype(dtype) for shape in ((users, width), (items, width), (count,))]
    rows, columns = rng.integers(0, users, count), rng.integers(0, items, count)
    found = sd.compile(outputs, [u, v, y, i, j], backend="native")(*at, rows, columns)
    same = sd.compile(outputs, [u, v, y, i, j], backend="interpreter")(*at, rows, columns)
    a, b, c = (one.astype(np.float64) for one in at)
    rest = np.sum(a[rows] * b[columns], axis=1) - c
    of_users, of_items = np.zeros_like(a), np.zeros_like(b)
    np.add.at(of_users, rows, 2 * rest[:, None] * b[columns])
    np.add.at(of_items, columns, 2 * rest[:, None] * a[rows])
    near = 1e-11 if item == 8 else 3e-3
    for own, other, right in zip(found, same, (np.sum(rest**2), of_users, of_items), strict=True):
        np.testing.assert_allclose(own, right, rtol=near, atol=near)
        assert np.array_equal(own, other)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(-1, 1), st.integers(-100, 100), st.integers(1, 4))
def test_slopes_of_powers_of_lengths_of_rows(n: int, d: int, axis: int, scale: int, k: int) -> None:
    x = sd.matrix("x", n, d)
    at = np.random.default_rng(n * d).normal(size=(n, d)) * 10.0 ** (scale / k)
    gradient = sd.gradient(np.sum(1 / np.linalg.norm(x, axis=axis) ** k), x)
    wide = at.astype(np.longdouble)
    length = np.sqrt(np.sum(wide * wide, axis=axis, keepdims=True))
    right = -k * wide / length ** (k + 2)
    np.testing.assert_allclose(sd.compile(gradient, [x])(at), right.astype(float), rtol=1e-13)


def test_the_slope_of_a_potential_has_no_directions() -> None:
    x = sd.matrix("x", 5, 3)
    assert str(sd.gradient(np.sum(1 / np.linalg.norm(x, axis=1)), x)) == "-x / norm(x, axis=1)[:, None] ** 3"
    at_zero = sd.compile(sd.gradient(np.sum(1 / np.linalg.norm(x, axis=1)), x), [x])(np.zeros((5, 3)))
    assert np.isnan(at_zero).all()
