"""Random formulas: what must hold whatever the formula is."""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symdiff as sd
from bench.cases import CASES
from symdiff import Array
from symdiff.errors import UnsupportedError
from symdiff.frontend.formula import read_formula
from symdiff.frontend.outputs import leaves
from symdiff.graph import Node, constant, postorder, verify
from symdiff.graph.deltas.einsum import einsum, is_plain, is_structured, scale_by
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import RULES, inline, simplify, stabilize
from symdiff.rewrite.rewriter import READING
from symdiff.tools.checking.multiprecision import directional
from tests.support.calculus import inner
from tests.support.strategies import Formula, formulas, sample

few = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
fewer = settings(few, max_examples=25)


def point(formula: Formula, seed: int) -> dict[str, Any]:
    values = sample(formula.inputs, (1,) * len(formula.inputs), seed)
    return {str(node.payload): v[0] for node, v in zip(formula.inputs, values, strict=True)}


def values_of(nodes: list[Node], at: dict[str, Any], formula: Formula) -> list[Any]:
    return evaluate(nodes, at, list(formula.inputs))


def near(got: Any, want: Any, tolerance: float = 1e-9) -> None:
    scale = (
        max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0.0)))
        if np.ndim(want)
        else max(1.0, abs(float(want)))
    )
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


@few
@given(formulas(), st.integers(0, 1000))
def test_simplify_keeps_the_value_and_the_graph_sound(formula: Formula, seed: int) -> None:
    roots = list(formula.roots)
    at = point(formula, seed)
    want = values_of(roots, at, formula)
    for make in (simplify, stabilize, inline, lambda nodes: simplify(simplify(nodes))):
        made = make(roots)
        verify(made)
        assert [n.shape for n in made] == [n.shape for n in roots]
        assert [n.dtype for n in made] == [n.dtype for n in roots]
        for got, value in zip(values_of(made, at, formula), want, strict=True):
            near(np.asarray(got, dtype=float), np.asarray(value, dtype=float), 1e-11)


def jacobian_of(formula: Formula) -> list[Node]:
    f = Array(formula.roots[0])
    return [j.node for j in sd.jacobian(f, tuple(map(Array, formula.inputs)), disconnected="zero")]


def check_settled(made: list[Node]) -> None:
    """Check that no rule fits what is marked, though it may not look inside by what it says of itself."""
    for root in made:
        assert root.settled
        assert min(node.settled for node in postorder([root])) == root.settled
    for node in postorder(made):
        for rule in RULES:
            scalar = node.shape == () and rule.kind == "arrays"
            if node.settled == READING and node.op in rule.ops and not scalar:
                found = rule.rewrite(node)
                assert found is None or found is node, rule.name


def check_short_ways(nodes: list[Node]) -> None:
    """Check that what is told of contractions at a glance is what all of the steps come to."""
    s = sd.scalar("s").node
    for node in postorder(nodes):
        if node.op == "contract" and is_plain(node):
            labels, out, repeated = node.payload
            assert einsum(node.args, labels, out, dict(repeated)) is node
            if is_structured(node):
                own = tuple(range(node.ndim))
                for factor in (s, constant(3.0), constant(0.0)):
                    assert scale_by(factor, node) is einsum([factor, node], [(), own], own)


@few
@given(formulas(smooth=True, steps=7))
def test_simplified_formulas_are_settled(formula: Formula) -> None:
    check_settled(simplify([*formula.roots, *jacobian_of(formula)]))


@few
@given(formulas(smooth=True, steps=7))
def test_contractions_known_at_a_glance(formula: Formula) -> None:
    check_short_ways([*formula.roots, *jacobian_of(formula)])


@pytest.mark.parametrize("name", ["P5", "P6-hessian", "P7", "P8", "P10-1"])
def test_long_derivatives_are_settled(name: str) -> None:
    case = CASES[name]
    given = case.derive(case.small)
    made = [output.node for output in leaves(read_formula(given["formula"], given.get("shapes")).value)]
    check_settled(made)
    check_short_ways(made)


@few
@given(formulas(), st.sampled_from([np.nan, np.inf, -np.inf, 1e200, 0.0]), st.integers(0, 1000))
def test_simplify_hides_no_nan(formula: Formula, odd: float, seed: int) -> None:
    """What is nan stays nan or becomes what it should have been; what is a number stays that number."""
    at = point(formula, seed)
    name = list(at)[seed % len(at)]
    at[name] = np.full_like(at[name], odd)
    try:
        before = values_of(list(formula.roots), at, formula)
    except np.linalg.LinAlgError:
        return
    for got, want in zip(values_of(simplify(list(formula.roots)), at, formula), before, strict=True):
        known = np.isfinite(want)
        near(np.where(known, got, 0.0), np.where(known, want, 0.0), 1e-9)
        if np.isnan(odd):
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))


@few
@given(formulas(smooth=True, steps=7), st.integers(0, 1000))
def test_forward_equals_reverse_equals_differences(formula: Formula, seed: int) -> None:
    f = Array(formula.roots[0])
    at = point(formula, seed)
    rng = np.random.default_rng(seed)
    group = tuple(map(Array, formula.inputs))
    ways = [[rng.normal(size=np.shape(at[str(n.payload)])) for n in formula.inputs] for _ in range(2)]
    cotangent = rng.normal(size=f.shape)
    pushed = sd.jvp(f, group, ways[0], disconnected="zero")
    pulled = sd.vjp(f, group, cotangent, disconnected="zero")
    twice = sd.jvp(pushed, group, ways[1], disconnected="zero")
    swapped = sd.jvp(sd.jvp(f, group, ways[1], disconnected="zero"), group, ways[0], disconnected="zero")
    nodes = [a.node for a in (pushed, twice, swapped, *pulled)]
    verify(nodes)
    first, second, other, *slopes = values_of(nodes, at, formula)
    total = sum(inner(s, w) for s, w in zip(slopes, ways[0], strict=True))
    near(np.asarray(total), np.asarray(inner(cotangent, first)))
    near(second, other)
    if "stop_gradient" in repr(formula):
        return  # differences do not stop there
    steps = [dict(zip(at, way, strict=True)) for way in ways]
    near(first, directional([f.node], at, steps[:1])[0])
    near(second, directional([f.node], at, steps)[0], 1e-8)


@fewer
@given(formulas(smooth=True, steps=6), st.integers(0, 1000))
def test_jacobians_are_their_columns_and_hessians_symmetric(formula: Formula, seed: int) -> None:
    f = Array(formula.roots[0])
    at = point(formula, seed)
    total = f.sum() if f.ndim else f
    x, A = Array(formula.inputs[1]), Array(formula.inputs[3])
    for w in (x, A):
        jacobian, hessian = sd.jacobian(f, w, disconnected="zero"), sd.hessian(total, w, disconnected="zero")
        verify([jacobian.node, hessian.node])
        columns = [sd.jvp(f, w, e, disconnected="zero").node for e in np.eye(int(w.size)).reshape(-1, *w.shape)]
        whole, second, *parts = values_of([jacobian.node, hessian.node, *columns], at, formula)
        near(whole.reshape(*f.shape, int(w.size)), np.stack(parts, axis=-1))
        square = second.reshape(int(w.size), int(w.size))
        near(square, square.T)
    mixed = [
        sd.jacobian(sd.gradient(total, u, disconnected="zero"), v, disconnected="zero").node
        for u, v in ((x, A), (A, x))
    ]
    one, other = values_of(mixed, at, formula)
    near(one, other.transpose(2, 0, 1))


@fewer
@given(formulas(steps=6), st.integers(0, 1000))
def test_kernels_of_derivatives_agree(formula: Formula, seed: int) -> None:
    """The interpreter, NumPy and C; and C to the bit at every position of a batch of any size."""
    f = Array(formula.roots[0])
    total = (f * f).sum() if f.ndim else f * f
    inputs = list(map(Array, formula.inputs))
    outputs = [f, *sd.gradient(total, tuple(inputs), disconnected="zero")]
    data = sample(formula.inputs, (7,) * len(inputs), seed)
    kernels = {"numpy": sd.compile(outputs, inputs, backend="numpy")}
    with suppress(UnsupportedError):  # a matrix too large for straight-line code; NumPy runs it
        kernels["native"] = sd.compile(outputs, inputs, backend="native")
    single = {str(node.payload): v[3] for node, v in zip(formula.inputs, data, strict=True)}
    want = values_of([o.node for o in outputs], single, formula)
    for kernel in kernels.values():
        for got, one in zip(kernel(*data), want, strict=True):
            near(got[3], one)
    if "native" in kernels:
        whole = kernels["native"](*data)
        for start, stop in ((0, 1), (3, 4), (2, 7), (0, 5)):
            part = kernels["native"](*(v[start:stop] for v in data))
            for got, all_ in zip(part, whole, strict=True):
                assert got.tobytes() == np.ascontiguousarray(all_[start:stop]).tobytes()


@fewer
@given(formulas(symbolic=True))
def test_formulas_survive_pickling(formula: Formula) -> None:
    for node in (*formula.roots, *simplify(list(formula.roots))):
        assert pickle.loads(pickle.dumps(node)) is node


def test_kernels_survive_pickling() -> None:
    x = sd.vector("x", 3)
    for backend in ("numpy", "native"):
        kernel = sd.compile({"f": np.sin(x).sum(), "g": sd.gradient(np.sin(x).sum(), x)}, [x], backend=backend)
        again = pickle.loads(pickle.dumps(kernel))
        at = np.array([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]])
        for name, value in kernel(at).items():
            assert again(at)[name].tobytes() == value.tobytes()


@fewer
@given(formulas(symbolic=True, smooth=True, steps=6), st.integers(0, 1000))
def test_symbolic_sizes_mean_the_same_as_numbers(formula: Formula, seed: int) -> None:
    f = Array(formula.roots[0])
    x = Array(formula.inputs[1])
    total = f.sum() if f.ndim else f
    nodes = [f.node, sd.gradient(total, x, disconnected="zero").node]
    verify(simplify(nodes))
    at = point(formula, seed)
    value, slope = values_of(nodes, at, formula)
    way = np.random.default_rng(seed).normal(size=slope.shape)
    assert slope.shape == at["x"].shape
    if "stop_gradient" not in repr(formula):
        near(np.asarray(inner(slope, way)), directional([total.node], at, [{"x": way}], formula.inputs)[0])
    (fast,) = simplify([f.node])
    near(values_of([fast], at, formula)[0], value, 1e-11)


@pytest.mark.parametrize("width", [2, 3, 4, 5])
def test_parts_of_short_rows(width: int) -> None:
    """Rows of which only some elements are used, strided and dense, alone and in batches."""
    x = sd.vector("x", width)
    data = np.arange(5.0 * width * 2).reshape(5, 2 * width)
    for start, stop in ((0, 1), (0, 2), (1, 2), (width - 1, width), (1, width)):
        kernel = sd.compile([2.0 * x[start:stop], x[start:stop].sum() * x[0]], [x], backend="native")
        for rows in (data[:, :width], np.ascontiguousarray(data[:, :width]), data[:, ::2]):
            part, total = kernel(rows)
            np.testing.assert_array_equal(part, 2.0 * rows[:, start:stop])
            np.testing.assert_array_equal(total, rows[:, start:stop].sum(axis=1) * rows[:, 0])
