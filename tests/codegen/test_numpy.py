"""Emitted NumPy source against the interpreter: every operation, every batch, random formulas."""

from __future__ import annotations

import ast
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symdiff.codegen.numpy.emit import emit_numpy, load_numpy
from symdiff.errors import ArgumentError, LimitError, ShapeError, SingularMatrixError
from symdiff.graph import (
    BOOL,
    constant,
    contract,
    custom,
    delta,
    elementwise,
    gather,
    matmul,
    matrix,
    onehot,
    pad,
    postorder,
    reduce,
    scatter,
    slicing,
    transpose,
)
from symdiff.graph import (
    input as variable,
)
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, apply
from symdiff.graph.sizes import named, value
from symdiff.runtime.runners.numpy import NumpyRunner
from tests.graph.test_interpret import AT, POSITIONS, STRUCTURE, X, x34
from tests.support.effort import calls
from tests.support.strategies import SIZES, Formula, formulas, sample

N = named("n")


def run(inputs: Any, roots: Any, arrays: Any, batch: Any, *, reduce_batch: Any=False, sizes: Any=SIZES) -> Any:
    """Run the emitted source over a batch."""
    runner = NumpyRunner(emit_numpy(inputs, roots))
    length = 1 if reduce_batch else batch
    outs = [np.full((length, *(max(0, value(size, sizes)) for size in root.shape)), 7.0) for root in roots]
    runner.run(arrays, outs, reduce_batch)
    return outs


def one_by_one(inputs: Any, roots: Any, arrays: Any, batch: Any) -> Any:
    """Run the interpreter on each sample."""
    return [
        evaluate(
            roots,
            {node.name: array[0 if len(array) == 1 else i] for node, array in zip(inputs, arrays, strict=True)},
            inputs,
        )
        for i in range(batch)
    ]


def agree(inputs: Any, roots: Any, arrays: Any, batch: Any, *, sizes: Any = SIZES, tolerance: float = 1e-10) -> None:
    outs = run(inputs, roots, arrays, batch, sizes=sizes)
    for i, expected in enumerate(one_by_one(inputs, roots, arrays, batch)):
        for out, want in zip(outs, expected, strict=True):
            scale = max(1.0, np.abs(want, where=np.isfinite(want), out=np.zeros(want.shape)).max(initial=0.0))
            np.testing.assert_allclose(out[i], want, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.rows(40)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shapes", ["scalars", "broadcast"])
def test_every_function(name: str, shapes: Any) -> None:
    row = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    nodes, inputs, arrays = [], [], []
    for i, (low, high) in enumerate(row.domain):
        if low == high:
            nodes.append(constant(low))
            continue
        condition = row.takes is BOOL or (name == "where" and i == 0)
        shape = () if shapes == "scalars" else ((3,), (2, 1), (2, 3))[i % 3]
        inputs.append(variable(f"x{i}", shape, BOOL if condition else "real"))
        nodes.append(inputs[-1])
        draws = rng.uniform(low, high, (7, *shape))
        arrays.append(draws > 0 if condition else draws)
    root = elementwise(name, tuple(nodes), row.gives)
    agree(inputs, [root], arrays, 7, tolerance=1e-13)


@pytest.mark.parametrize("case", STRUCTURE)
def test_every_structural_operation(case: Any) -> None:
    node, want = STRUCTURE[case]
    by_place = AT in postorder([node])  # positions that a call brings
    inputs = [x34, AT] if by_place else [x34]
    data = [np.stack([X, X[::-1], 2 * X]), np.stack([POSITIONS, POSITIONS[::-1], 0 * POSITIONS])][: len(inputs)]
    agree(inputs, [node], data, 3, tolerance=1e-13)
    outs = [np.empty((1, *want.shape), want.dtype)]
    NumpyRunner(emit_numpy(inputs, [node])).run([array[:1] for array in data], outs, reduce=False)
    np.testing.assert_allclose(outs[0][0], want, rtol=1e-14)


@pytest.mark.parametrize("name", [name for name, row in FUNCTIONS.items() if row.takes == "real" and name != "where"])
def test_nan_and_infinity_are_as_in_the_interpreter(name: str) -> None:
    row = FUNCTIONS[name]
    x = variable("x")
    points = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])
    fixed = [constant(high) if low == high else None for low, high in row.domain]
    for place in range(row.arity):
        if fixed[place] is None:
            args = tuple(x if i == place else fixed[i] or constant(0.5) for i in range(row.arity))
            agree([x], [elementwise(name, args, row.gives)], [points], len(points))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(formulas(), st.sampled_from([0, 1, 7]), st.lists(st.booleans(), min_size=5, max_size=5), st.integers(0, 99))
def test_random_formulas(formula: Formula, batch: int, shared: list[bool], seed: int) -> None:
    lengths = tuple(1 if one else batch for one in shared)
    if all(shared):
        batch = 1
    agree(formula.inputs, formula.roots, sample(formula.inputs, lengths, seed), batch)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(formulas(symbolic=True), st.integers(2, 5), st.integers(2, 4), st.integers(0, 99))
def test_random_formulas_with_symbolic_sizes(formula: Formula, n: int, m: int, seed: int) -> None:
    sizes = {"n": n, "m": m}
    agree(formula.inputs, formula.roots, sample(formula.inputs, (3,) * 5, seed, sizes), 3, sizes=sizes)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(formulas(), st.sampled_from([0, 1, 7]), st.integers(0, 99))
def test_sum_over_the_batch(formula: Formula, batch: int, seed: int) -> None:
    arrays = sample(formula.inputs, (batch,) * 5, seed)
    roots = [root for root in formula.roots if root.dtype != BOOL]
    whole = run(formula.inputs, roots, arrays, batch)
    for total, each in zip(run(formula.inputs, roots, arrays, batch, reduce_batch=True), whole, strict=True):
        np.testing.assert_allclose(
            total[0], each.sum(axis=0), rtol=1e-9, atol=1e-9 * max(1, np.abs(each).max(initial=0))
        )


def test_sum_counts_every_sample_of_a_shared_result() -> None:
    x, y = variable("x"), variable("y")
    (total, twice) = run([x, y], [x + y, 2.0 * y], [np.ones(5), np.ones(1)], 5, reduce_batch=True)
    assert (total[0], twice[0]) == (10.0, 10.0)


def test_single_precision_is_computed_with_in_double() -> None:
    x = variable("x", (2,))
    data = np.array([[1e30, 1.0]], np.float32)
    (out,) = run([x], [contract([x, x], [(0,), (0,)], ())], [data], 1)
    assert out[0] == np.sum(data[0].astype(float) ** 2)


def test_tiles_give_what_one_call_gives(monkeypatch: Any) -> None:
    A, x = variable("A", (3, 3)), variable("x", (3,))
    roots = [contract([matrix("inv", A), x], [(0, 1), (1,)], (0,)), apply("exp", x)]
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(23, 3, 3)) + 4 * np.eye(3), rng.normal(size=(23, 3))]
    whole = run([A, x], roots, arrays, 23)
    monkeypatch.setattr("symdiff.runtime.runners.numpy.WANTED", 5)
    monkeypatch.setattr("symdiff.runtime.runners.numpy.CACHE_BYTES", 1)
    for out, want in zip(run([A, x], roots, arrays, 23), whole, strict=True):
        np.testing.assert_array_equal(out, want)


def test_temporaries_of_a_tile_are_bounded() -> None:
    x = variable("x", (1000,))
    emitted = emit_numpy([x], [contract([apply("sin", x), apply("cos", x)], [(0,), (1,)], (0,))])
    runner, footprint = NumpyRunner(emitted), emitted.footprint
    assert isinstance(footprint, int)
    assert 8 * footprint * runner._tile([(1000,)]) <= 1 << 26


# ---------------------------------------------------------------------------- deltas


def test_a_surviving_delta_is_written_into_a_diagonal_not_multiplied() -> None:
    V = variable("V", (100, 5))
    hessian = contract([constant(2.0), delta(100, 100), V, V], [(), (0, 1), (2, 3), (2, 4)], (0, 3, 1, 4))
    source = emit_numpy([V], [hessian])
    assert "np.eye" not in source.text
    assert "shifted_identity" not in source.text
    v = np.random.default_rng(0).normal(size=(1, 100, 5))
    (out,) = load_numpy(source)(v)
    np.testing.assert_allclose(out[0], 2 * np.einsum("ac,ki,kj->aicj", np.eye(100), v[0], v[0]), rtol=1e-12)


@pytest.mark.parametrize("out", [(0, 1, 2), (2, 1, 0), (0, 2), (1, 2), (2,), (1, 0), ()])
@pytest.mark.parametrize(
    "first",
    [
        delta(3, 3),
        delta(3, 5, 1, 1),
        delta(3, 5, 4, -2),
        delta(3, 5, 3, 1),
        delta(4, 5, 4, -2),
        delta(4, 3),
        delta(N, N + 2, 2, 1),
    ],
)
def test_deltas_of_every_kind(first: Any, out: Any) -> None:
    rows, columns = first.shape
    x, y = variable("x", (rows, 2)), variable("y", (columns,))
    sizes = {"n": 3}
    roots = [
        contract([first, x], [(0, 1), (0, 2)], out),
        contract([first, x, y], [(0, 1), (0, 2), (1,)], out),
        contract([first, x, first], [(0, 1), (0, 2), (0, 1)], out),
        contract([first, first, x], [(0, 1), (3, 1), (0, 2)], (*out, 3)),
    ]
    lengths = [[value(size, sizes) for size in node.shape] for node in (x, y)]
    rng = np.random.default_rng(0)
    agree([x, y], roots, [rng.normal(size=(4, *shape)) for shape in lengths], 4, sizes=sizes)


def test_chains_of_deltas_and_onehots() -> None:
    x = variable("x", (4,))
    roots = [
        contract([delta(3, 4, 1, 1), delta(2, 3, 1, 1), x], [(0, 1), (2, 0), (1,)], (2, 0, 1)),
        contract([delta(4, 4), delta(4, 4), x], [(0, 1), (1, 2), (2,)], (0, 1, 2)),
        contract([onehot(4, 2), onehot(4, 2), x], [(0,), (0,), (1,)], (0, 1)),
        contract([onehot(4, 2), delta(4, 6, 1, 1), x], [(0,), (0, 1), (2,)], (0, 1)),
        contract([onehot(4, 1), x], [(0,), (0,)], ()),
        contract([delta(4, 4)], [(0, 0)], ()),
        contract([delta(4, 4)], [(0, 1)], (1, 0)),
        contract([delta(3, 4, 1, 1)], [(0, 1)], ()),
        delta(3, 4, 1, 1),
        onehot(4, 3),
    ]
    agree([x], roots, [np.random.default_rng(0).normal(size=(3, 4))], 3)


# ---------------------------------------------------------------------------- contractions


def test_a_product_of_many_factors_is_taken_in_the_cheap_order() -> None:
    A, x = variable("A", (40, 40)), variable("x", (40,))
    text = emit_numpy([A, x], [contract([A, A, A, x], [(0, 1), (1, 2), (2, 3), (3,)], (0,))]).text
    assert "@" not in text  # never a matrix by a matrix
    assert text.count("np.einsum") == 3


def test_twenty_factors_and_too_many_indices() -> None:
    xs = [variable(f"x{i}", (2,)) for i in range(20)]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, 2)) for _ in xs]
    agree(xs, [contract(xs, [(0,)] * 20, ()), contract(xs, [(i % 2,) for i in range(20)], (1, 0))], arrays, 2)
    deep = variable("deep", (1,) * 60)
    with pytest.raises(LimitError, match="different indices"):
        emit_numpy([deep], [contract([deep, deep], [tuple(range(60)), tuple(range(60))], ())])


def test_matrix_products_use_matmul() -> None:
    A, B = variable("A", (3, 4)), variable("B", (4, 2))
    source = emit_numpy([A, B], [matmul(A, B), transpose(matmul(A, B))])
    assert source.text.count("x0 @ x1") == 1
    agree([A, B], source.outputs, [np.random.default_rng(0).normal(size=(2, *s)) for s in ((3, 4), (4, 2))], 2)


@pytest.mark.parametrize("op", ["solve", "adjugate_differential"])
def test_stacks_of_matrices_broadcast_behind_the_batch(op: str) -> None:
    A, B = variable("A", (2, 3, 3)), variable("B", (3, 3))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(7, 2, 3, 3)), rng.normal(size=(7, 3, 3))]
    agree([A, B], [matrix(op, A, B), matrix(op, B, A)], arrays, 7)


# ---------------------------------------------------------------------------- text


def test_the_source_is_readable() -> None:
    X, y = variable("X", (2, 4)), variable("y", (4,))
    z = contract([X, y], [(0, 1), (1,)], (0,))
    e = apply("exp", z)
    root = e / contract([e], [(0,)], ())
    assert emit_numpy([X, y], [root]).text == "\n".join(
        [
            "import numpy as np",
            "",
            "",
            "def kernel(x0, x1):",
            "    # x0: (N, 2, 4)",
            "    # x1: (N, 4)",
            "    v0 = np.einsum('zij,zj->zi', x0, x1)",
            "    v1 = np.exp(v0)",
            "    v0 = v1.sum(axis=1)",
            "    v2 = v1 / v0[:, None]",
            "    return (v2,)",
        ]
    )


def test_names_of_the_user_never_reach_the_source() -> None:
    evil = variable('x"; import os; os.system("true")', (named("n; import os"),))
    source = emit_numpy([evil], [apply("sin", evil)])
    assert "os" not in source.text
    (out,) = load_numpy(source)(np.zeros((2, 3)))
    assert out.shape == (2, 3)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(formulas(symbolic=True))
def test_only_generated_identifiers(formula: Formula) -> None:
    source = emit_numpy(formula.inputs, formula.roots)
    tree = ast.parse(source.text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    generated = {name for name in names if name[0] in "vxnc" and name[1:].isdigit()}
    assert names - generated - imported <= {"np", "len"}


def test_numbers_survive_printing() -> None:
    x = variable("x")
    odd = [0.1, 1e-310, -0.0, np.inf, -np.inf, np.nan, 1.7976931348623157e308]
    (scaled,) = load_numpy(emit_numpy([x], [apply("maximum", x, -5e-324)]))(np.array([-1.0]))
    assert scaled[0] == -5e-324
    (out,) = load_numpy(emit_numpy([], [constant(odd)]))()
    np.testing.assert_array_equal(out[0], odd)
    assert np.signbit(out[0][2])


def test_large_constants_are_bound_and_small_ones_printed() -> None:
    x = variable("x", (100,))
    source = emit_numpy([x], [x * constant(np.arange(100.0)), slicing(x, ((0, 1, 3),)) * constant([1.0, 2.5, 3.0])])
    assert set(source.constants) == {"c0"}
    assert "np.array([[1.0, 2.5, 3.0]])" in source.text
    agree([x], source.outputs, [np.ones((2, 100))], 2)


def test_constants_alone() -> None:
    roots = [constant(2.0), apply("sin", 2.0), constant([1.0, 2.0]), constant(np.zeros((0, 2))), constant(True)]
    outs = run([], roots, [], 3)
    assert [out.shape for out in outs] == [(3,), (3,), (3, 2), (3, 0, 2), (3,)]
    np.testing.assert_array_equal(outs[1], np.sin(2.0))


def test_a_runner_survives_pickling() -> None:
    x = variable("x", (N,))
    runner = pickle.loads(pickle.dumps(NumpyRunner(emit_numpy([x], [x * x]))))
    out = np.empty((2, 3))
    runner.run([np.full((2, 3), 3.0)], [out], False)
    assert (out == 9.0).all()


# ---------------------------------------------------------------------------- refusals


def test_an_input_that_is_missing_is_named() -> None:
    with pytest.raises(ArgumentError, match="'y'"):
        emit_numpy([variable("x")], [variable("x") + variable("y")])


def test_custom_functions_are_inlined_before() -> None:
    x = variable("x")
    with pytest.raises(AssertionError, match="inlined"):
        emit_numpy([x], [custom("rule", [x], x)])


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda x: slicing(x, ((2, 1, 3),)), (2, 4)),
        (lambda x: slicing(x, ((7, 1, None),)), (2, 4)),
        (lambda x: slicing(x, ((2, 1, N - 2),)), (2, 1)),
        (lambda x: gather(x, 0, (0, 5)), (2, 4)),
        (lambda x: scatter(slicing(x, ((0, 1, 2),)), 0, (0, 9), N), (2, 4)),
        (lambda x: pad(x, ((3, 1, N),), (N + 2,)), (2, 4)),
        (lambda x: reduce("max", x, (0,)), (2, 0)),
    ],
)
def test_symbolic_bounds_are_checked_at_call_time(build: Any, shape: Any) -> None:
    x = variable("x", (N,))
    root = build(x)
    data = np.ones(shape)
    with pytest.raises(ShapeError):
        run([x], [root], [data], 2, sizes={"n": shape[1]})
    with pytest.raises(ShapeError):
        evaluate([root], {"x": data[0]})


@pytest.mark.parametrize("op", ["inv", "solve", "cholesky"])
def test_the_first_singular_sample_is_named(op: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("symdiff.runtime.runners.numpy.WANTED", 4)
    monkeypatch.setattr("symdiff.runtime.runners.numpy.CACHE_BYTES", 1)
    A = variable("A", (2, 2))
    root = matrix(op, A, A) if op == "solve" else matrix(op, A)
    data = np.broadcast_to(np.eye(2), (20, 2, 2)).copy()
    data[3] = np.nan
    data[11] = data[15] = 0.0
    with pytest.raises(SingularMatrixError, match=op) as caught:
        run([A], [root], [data], 20)
    assert caught.value.index == (11,)
    (out,) = run([A], [root], [data[:8]], 8)
    assert np.isnan(out[3][np.tril_indices(2)]).all()
    assert np.isfinite(np.delete(out, 3, 0)).all()


# ---------------------------------------------------------------------------- scale


@pytest.mark.counted
def test_a_deep_graph_is_emitted_in_linear_time() -> Any:
    def deep(depth: int) -> Any:
        x = y = variable("x")
        for i in range(depth):
            y = apply("sin", y) * x + float(i)
        return [x], [y]

    few, _ = calls(emit_numpy, *deep(1_500))
    many, source = calls(emit_numpy, *deep(15_000))
    assert many < 12 * few
    function = load_numpy(source)
    assert np.isfinite(function(np.array([0.5]))[0]).all()
