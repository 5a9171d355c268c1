"""Formulas over long arrays: as loops they give what NumPy gives, whatever the sizes, strides, batches and threads."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from effort import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from orders import in_order
from strategies import Formula, formulas, sample

import symdiff as sd
from symdiff.codegen.numpy.emit import emit_numpy
from symdiff.errors import ShapeError, SingularMatrixError, SymdiffError, UnsupportedError
from symdiff.frontend.formula import read_formula
from symdiff.graph import broadcast_to, concatenate, inputs_of, pad, postorder, slicing, verify
from symdiff.graph import input as variable
from symdiff.graph.scalars.functions import apply
from symdiff.graph.sizes import named, value
from symdiff.ground.limits import LIMITS
from symdiff.lower import plan_loops
from symdiff.lower.loops.access import NoLoopError, groups
from symdiff.lower.loops.plan import Loops, LoopStep
from symdiff.lower.loops.ranges import LEAST, cut, sign
from symdiff.runtime.runners.interpreter import InterpreterRunner
from symdiff.runtime.runners.loops import LoopRunner
from symdiff.runtime.runners.native import NativeRunner, target_of
from symdiff.runtime.runners.numpy import NumpyRunner
from symdiff.simplify import inline, simplify

Array = npt.NDArray[Any]
N, M = named("n"), named("m")
CHAIN = "sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"


def plan(text: str, **shapes: Any) -> Loops:
    nodes = simplify(inline([read_formula(text, shapes).value.node]), [])
    return plan_loops(inputs_of(nodes), nodes, LIMITS.unrolled_operations)


def shown(loops: Loops) -> list[str]:
    """Return a word for each step: what it is, the number of its loops, and of its pieces if there are several."""
    words = []
    for step in loops.steps:
        if isinstance(step, LoopStep):
            pieces = f"/{len(step.pieces)}" if len(step.pieces) > 1 else ""
            words.append(f"{'sum' if step.total else 'map'}{len(step.loops)}{pieces}")
        else:
            words.append(step.result.op)
    return words


#: Formula, shapes, and the steps expected.
PLANS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("exp(-x**2) * y", {"x": 10**6, "y": 10**6}, ["map1"]),
    ("exp(-x**2) * y", {"x": "n", "y": "n"}, ["map1"]),
    ("x * s", {"x": ("n", "m"), "s": ()}, ["map2"]),
    ("x * w[:, None]", {"x": ("n", "m"), "w": "n"}, ["map2"]),
    ("gradient(sum(log1p(exp(-y*x))), x)", {"x": "n", "y": "n"}, ["map1"]),
    ("softmax(X @ A)", {"X": ("n", 3), "A": (3, 2)}, ["map1"]),
    ("inv(X)", {"X": ("n", 3, 3)}, ["map1"]),
    ("sum(X, axis=1)", {"X": ("n", 3)}, ["map1"]),
    ("cumsum(X, axis=1)[:, ::-1]", {"X": ("n", 3)}, ["map1"]),
    ("sum(exp(x))", {"x": "n"}, ["sum1"]),
    ("sum(x * A)", {"A": ("m", "n"), "x": "n"}, ["sum2"]),
    ("A.T + A", {"A": ("n", "n")}, ["map2"]),
    ("x / sum(x**2)", {"x": "n"}, ["sum1", "map1"]),
    ("exp(x - s / sqrt(s))", {"x": "n", "s": ()}, ["map0", "map1"]),
    ("sum((x - mean(x))**2)", {"x": "n"}, ["sum1", "map0", "sum1"]),
    ("softmax(x)", {"x": "n"}, ["max", "sum1", "map1"]),
    ("log_softmax(x)", {"x": 10**5}, ["max", "sum1", "map0", "map1"]),
    ("logsumexp(x)", {"x": "n"}, ["max", "sum1", "map0"]),
    ("norm(x)", {"x": "n"}, ["sum1", "map0"]),
    ("hessian(sum(softplus(-y * (X @ t))), t)", {"X": ("n", 3), "y": "n", "t": 3}, ["sum1"]),
    ("tanh(W @ x + b)", {"W": ("m", "n"), "x": "n", "b": "m"}, ["contract", "map1"]),
    ("x[1:] - x[:-1]", {"x": "n"}, ["map1"]),
    ("x[::-1] * x[3]", {"x": "n"}, ["map1"]),
    (f"gradient({CHAIN}, x)", {"x": "n"}, ["map1/3"]),
    (f"gradient({CHAIN}, x)", {"x": 10**6}, ["map1/3"]),
    ("concatenate([sin(x), y])", {"x": "n", "y": "m"}, ["map1/2"]),
    ("x[2:5] * y", {"x": 1000, "y": 3}, ["map0"]),
]


@pytest.mark.parametrize(("text", "shapes", "steps"), PLANS)
def test_steps(text: str, shapes: dict[str, Any], steps: list[str]) -> None:
    loops = plan(text, **shapes)
    assert shown(loops) == steps
    for step in loops.steps:
        for piece in step.pieces if isinstance(step, LoopStep) else ():
            piece.program.validate()
            verify(port.source for port in piece.ports)


def test_axes_of_an_element_move_as_they_do_in_an_array() -> None:
    X = sd.matrix("X", 5000, 3)
    f = np.exp(np.take(X, [2, 0, 2, 1], axis=1)).reshape(5000, 1, 2, 2).transpose(3, 0, 1, 2)
    outputs = [f, np.cumsum(f, axis=0), sd.gradient(f[1].sum(), X)]
    kernel = sd.compile(outputs, [X])
    assert (kernel.stats["loops"], kernel.stats["numpy_steps"]) == (1, [])
    at = np.random.default_rng(0).normal(size=(5000, 3))
    for got, wanted in zip(kernel(at), sd.compile(outputs, [X], backend="numpy")(at), strict=True):
        near(got, wanted)


@pytest.mark.parametrize(
    ("text", "shapes", "why"),
    [
        ("hessian(sum(exp(x)), x)", {"x": "n"}, "a diagonal"),
        ("inv(A) @ x", {"A": ("n", "n"), "x": "n"}, "no part of it"),
        ("A @ x", {"A": ("n", "n"), "x": "n"}, "no part of it"),
        ("A @ x + 1", {"A": ("n", "n"), "x": "n"}, "a small part of the work"),
        ("max(where(x > 0, x, y))", {"x": "n", "y": "n"}, "a small part of the work"),
        ("concatenate([x, y])[5] * exp(z)", {"x": "n", "y": "n", "z": "n"}, ""),
    ],
)
def test_what_is_no_loop_runs_on_numpy_and_says_why(text: str, shapes: dict[str, Any], why: str) -> None:
    kernel = sd.compile(text, **shapes)
    if why:
        assert kernel.backend == "numpy"
        assert why in kernel.stats["reason"]
        with pytest.raises(UnsupportedError, match="backend='numpy' runs it"):
            sd.compile(text, **shapes, backend="interpreter")
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(0.5, 1.5, (20,) * (len(s) if isinstance(s, tuple) else 1)) for s in shapes.values()]
    np.testing.assert_allclose(kernel(*arrays), sd.compile(text, **shapes, backend="numpy")(*arrays), rtol=1e-12)


# ---------------------------------------------------------------------------- against NumPy


def near(got: Any, wanted: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


SIZES = st.sampled_from([{"n": 3, "m": 2}, {"n": 17, "m": 16}, {"n": 1, "m": 1}, {"n": 40, "m": 19}])


@settings(max_examples=100)
@given(formulas(symbolic=True), SIZES, st.tuples(*[st.sampled_from([1, 3])] * 5), st.booleans())
def test_random_formulas_of_any_size(
    formula: Formula, sizes: dict[str, int], batch: tuple[int, ...], reduce: bool
) -> None:
    roots = inline(list(formula.roots))
    try:
        loops = plan_loops(formula.inputs, roots, 20_000)
    except UnsupportedError:
        return
    shapes = [tuple(value(size, sizes) for size in root.shape) for root in roots]
    if any(size < 0 or size > 10**5 for shape in shapes for size in (*shape, math.prod(shape))):
        return
    arrays = sample(formula.inputs, batch, 5, sizes)
    wanted, got = ([np.full((1 if reduce else max(batch), *s), np.nan) for s in shapes] for _ in range(2))
    errors = []
    for runner, outs in (
        (NumpyRunner(emit_numpy(formula.inputs, roots)), wanted),
        (LoopRunner(loops, roots, InterpreterRunner), got),
    ):
        try:
            runner.run(arrays, outs, reduce)
            errors.append(False)
        except SymdiffError:
            errors.append(True)
    assert errors[0] == errors[1]
    if not errors[0]:
        for one, other in zip(got, wanted, strict=True):
            near(one, other, 1e-8)


#: Formula, shapes; "n" is bound by each test.
FORMULAS: list[tuple[str, dict[str, Any]]] = [
    ("exp(-x**2) * y", {"x": "n", "y": "n"}),
    ("where(x > 1, softmax(X @ A)[:, 0], x)", {"x": "n", "X": ("n", 3), "A": (3, 2)}),
    ("exp(-(x[:, None] - y)**2) * t", {"x": "n", "y": "m", "t": ()}),
    ("gradient(log(sum(exp(x * y))), x)", {"x": "n", "y": "n"}),
    ("hessian(sum(softplus(-y * (X @ t))), t)", {"X": ("n", 3), "y": "n", "t": 3}),
    ("sum((x - mean(x))**2) / sum(x)", {"x": "n"}),
    (f"gradient({CHAIN}, x)", {"x": "n"}),
    ("tanh(W @ x + b)", {"W": ("m", "n"), "x": "n", "b": "m"}),
    ("concatenate([exp(x[1:]), log(y)[::-1]])", {"x": "n", "y": "m"}),
    ("sum(logdet(X) * y)", {"X": ("n", 2, 2), "y": "n"}),
]
EACH = pytest.mark.parametrize(("text", "shapes"), FORMULAS)
DIMS = {"n": 70, "m": 41}


def numbers(shapes: dict[str, Any], batch: tuple[int, ...] = (), **dims: int) -> list[Array]:
    rng = np.random.default_rng(3)
    known = {**DIMS, **dims}
    result = []
    for shape in shapes.values():
        axes = shape if isinstance(shape, tuple) else (shape,)
        lengths = tuple(known.get(size, size) for size in axes)
        array = rng.uniform(0.5, 1.5, (*batch, *lengths))
        result.append(array + 2 * np.eye(2) if lengths[-2:] == (2, 2) else array)
    return result


@EACH
@pytest.mark.parametrize("batch", [(), (0,), (1,), (7,), (3, 5)])
def test_batches(text: str, shapes: dict[str, Any], batch: tuple[int, ...]) -> None:
    kernel, reference = (sd.compile(text, shapes=shapes, backend=b) for b in ("auto", "numpy"))
    assert kernel.stats["loops"] > 0
    arrays = numbers(shapes, batch)
    near(kernel(*arrays), reference(*arrays))
    alone = numbers(shapes)
    for k in range(len(arrays)):  # some with batch axes, some without
        mixed = [*alone[:k], *arrays[k : k + 1], *alone[k + 1 :]]
        near(kernel(*mixed), reference(*mixed))
    if not math.prod(batch):
        return
    got = kernel(*arrays)
    for index in np.ndindex(batch):  # a sample's bits do not depend on the batch it is in
        assert np.array_equal(kernel(*[array[index] for array in arrays]), got[index])


@EACH
@pytest.mark.parametrize("reduce", [None, "sum"])
def test_columns_and_sums_over_the_batch(text: str, shapes: dict[str, Any], reduce: str | None) -> None:
    options: dict[str, Any] = {"batch_axis": -1, "reduce": reduce, "shapes": shapes}
    arrays = [np.moveaxis(array, 0, -1).copy() for array in numbers(shapes, (9,))]
    near(sd.compile(text, **options)(*arrays), sd.compile(text, **options, backend="numpy")(*arrays))


@EACH
def test_strides_types_and_places(text: str, shapes: dict[str, Any]) -> None:
    kernel = sd.compile(text, shapes=shapes)
    arrays = numbers(shapes)
    wanted = kernel(*arrays)

    def spaced(array: Array) -> Array:
        wide = np.zeros([2 * n for n in array.shape])
        view = wide[(*(slice(None, None, -2) for _ in array.shape), ...)]
        view[...] = array
        return view

    def crooked(array: Array) -> Array:
        memory = np.zeros(8 * array.size + 1, np.uint8)
        view = memory[1:].view(np.float64).reshape(array.shape)
        view[...] = array
        return view

    for changed in (spaced, crooked, lambda a: np.array(a, order="F"), lambda a: a.astype(">f8")):
        assert np.array_equal(kernel(*[changed(array) for array in arrays]), wanted)
    single = kernel(*[array.astype(np.float32) for array in arrays])
    assert single.dtype == np.float32
    near(single, wanted, 2e-3)
    if np.ndim(wanted):
        out = np.full([3 * n for n in wanted.shape], np.nan)
        view = out[tuple(slice(None, None, 3) for _ in wanted.shape)]
        assert kernel(*arrays, out=view) is view
        assert np.array_equal(view, wanted)
        assert np.isnan(out).sum() == out.size - view.size


@pytest.mark.parametrize("text", ["x * sin(y) + exp(-x)", "sum(exp(y) * x[1:]) + sum(y**2) * x", "sum(sin(x * y)) * x"])
def test_float32_beside_float64_is_computed_in_float64(text: str) -> None:
    kernel = sd.compile(text, x="n", y=(), backend="native")
    x, y = np.random.default_rng(3).random((5, 40)), np.array([0.1, 0.2, 0.3, 0.4, 0.5], np.float32)
    pairs: list[tuple[Any, Any]] = [(x, y), (x.astype(np.float32), y.astype(float))]
    for parts in pairs:
        double = [part.astype(float) for part in parts]
        np.testing.assert_array_equal(kernel(*parts), kernel(*double))
        np.testing.assert_array_equal(kernel(parts[0][0], parts[1][0]), kernel(double[0][0], double[1][0]))


def test_in_place() -> None:
    x = np.linspace(0.5, 1.5, 1000)
    kernel = sd.compile(f"gradient({CHAIN}, x)", x="n")
    wanted = kernel(x)
    kernel(x, out=x)
    assert np.array_equal(x, wanted)


@EACH
def test_the_same_bits_with_any_threads_and_natively(text: str, shapes: dict[str, Any]) -> None:
    arrays = numbers(shapes, n=30_001)
    insist = "tanh(W" not in text and "log(sum" not in text  # which NumPy has a part in
    kernels = [sd.compile(text, shapes=shapes, backend="auto", threads=t) for t in (1, 2, 3)]
    if insist:
        kernels += [sd.compile(text, shapes=shapes, backend=b) for b in ("native", "interpreter")]
    first = kernels[0](*arrays)
    for kernel in kernels:
        assert np.array_equal(kernel(*arrays), first)
        assert kernel.wait()
        assert np.array_equal(kernel(*arrays), first)
        assert kernel.backend == ("interpreter" if kernel is kernels[-1] and insist else "c")
        assert not kernel.stats.get("building")
    assert "long sd_kernel" in kernels[0].source() or "long " in kernels[0].source()


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("count", [1, 3, 8, 17, 500, 1024, 1025, 2100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_samples_together_have_the_bits_of_sums_one_by_one(count: int, dtype: type, backend: str) -> None:
    kernel = sd.compile("sum(X * y, axis=0)", X=("n", 2), y=("n", 1), backend=backend)
    rng = np.random.default_rng(0)
    X: Array = rng.normal(size=(5, count, 2)).astype(dtype)
    y: Array = rng.normal(size=(5, count, 1)).astype(dtype)
    X[0], y[1] = -0.0, -1.0
    X[2, 0] = np.inf
    together = kernel(X, y)
    lanes = target_of("default").lanes * (2 if dtype is np.float32 else 1)
    for k in range(5):
        assert np.array_equal(kernel(X[k], y[k]).view(np.uint8), together[k].view(np.uint8))
        assert np.array_equal(in_order(X[k] * y[k], lanes).astype(dtype), together[k])
    assert np.array_equal(kernel(X[::-1], y[3])[::-1], [kernel(x, y[3]) for x in X])  # what all samples share


def test_a_batch_of_sums_is_computed_without_arrays_of_its_elements() -> None:
    kernel = sd.compile("sum((x - m)**2)", x="n", m=(), backend="native")
    x, m = np.ones((3000, 100)), np.zeros(3000)
    kernel(x, m)
    tracemalloc.start()
    try:
        kernel(x, m)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_the_sample_that_has_a_singular_matrix_in_a_sum(backend: str) -> None:
    kernel = sd.compile("sum(inv(X)[:, 0, 0] * y)", X=("n", 2, 2), y="n", backend=backend)
    assert kernel.stats["loops"] == 1
    for n in (3, 19, 1040):
        X, y = np.tile(np.eye(2), (4, n, 1, 1)), np.ones((4, n))
        near(kernel(X, y), np.full(4, n))
        for number, at in ((3, 0), (2, n - 1), (1, n // 2)):
            X[number, at] = 0.0
            with pytest.raises(SingularMatrixError) as caught:
                kernel(X, y)
            assert caught.value.index == (number,)


def test_long_sums_are_accurate() -> None:
    x = np.random.default_rng(0).normal(size=10**6 + 7) + 1e4
    kernel = sd.compile("sum(x)", x="n")
    exact = math.fsum(x)
    assert abs(kernel(x) - exact) <= 4 * np.spacing(exact)
    single = kernel(x.astype(np.float32))
    assert abs(single - math.fsum(x.astype(np.float32).tolist())) <= 4 * np.spacing(np.float32(exact))


# ---------------------------------------------------------------------------- sizes and errors


@EACH
@pytest.mark.parametrize("n", [2, 5, LEAST - 1, LEAST, 65, 1025])
def test_sizes(text: str, shapes: dict[str, Any], n: int) -> None:
    arrays = numbers(shapes, n=n, m=max(n // 2, 1))
    near(sd.compile(text, shapes=shapes)(*arrays), sd.compile(text, shapes=shapes, backend="numpy")(*arrays))


@pytest.mark.parametrize("text", ["exp(x) * y", "sum(exp(x * y))", "sum(x) * exp(y)", "softmax(x) * y"])
def test_no_elements(text: str) -> None:
    got = sd.compile(text, x="n", y="n")(np.zeros(0), np.zeros(0))
    near(got, sd.compile(text, x="n", y="n", backend="numpy")(np.zeros(0), np.zeros(0)))
    fixed = sd.compile(text, x=(0,), y=(0,))(np.zeros(0), np.zeros(0))
    assert np.array_equal(got, fixed)


def test_sizes_that_do_not_fit() -> None:
    kernel = sd.compile("exp(x) * y[3]", x="n", y="m")
    with pytest.raises(ShapeError, match="index 3 is out of range for an axis of size 3"):
        kernel(np.ones(100), np.ones(3))
    assert kernel(np.ones(100), np.ones(4)).shape == (100,)
    kernel = sd.compile("exp(x) * y", x="n", y="n")
    with pytest.raises(ShapeError, match="n is 3 from x axis 0 and 4 from y axis 0"):
        kernel(np.ones(3), np.ones(4))
    kernel = sd.compile("(x * x[:, None])[7] + exp(x)", x="n")  # a slice whose place no input is read at
    with pytest.raises(ShapeError, match="out of range"):
        kernel(np.ones(5))
    kernel = sd.compile("(s + 0 * x)[7] + exp(y)", s=(), x="n", y="m")
    with pytest.raises(ShapeError, match="out of range"):
        kernel(1.0, np.ones(5), np.ones(40))


@pytest.mark.parametrize("n", [8, 10, 13, LEAST, 20, 40])
def test_cuts_whose_order_depends_on_the_size(n: int) -> None:
    text = "gradient(sum(x[7:] * exp(x[:-7])), x)"
    kernel, at = sd.compile(text, x="n"), np.linspace(0, 1, n)
    assert kernel.stats["loops"] == 1
    near(kernel(at), sd.compile(text, x=n, backend="numpy")(at))
    assert sd.compile("gradient(sum(x[9:] * exp(x[:-9])), x)", x="n").backend == "numpy"


def test_what_a_formula_is_before_it_is_simplified() -> None:
    """Paddings and joins read backwards, a part of a repeated number: simplification leaves few of these."""
    x, s = variable("x", (N,)), variable("s")
    padded = pad(apply("exp", x), ((2, 1, N),), (N + 5,))
    joined = concatenate([apply("sin", x), padded, x], 0)
    roots = [slicing(node, ((node.shape[0] - 1, -1, node.shape[0]),)) for node in (padded, joined)]
    at, two = np.linspace(0.5, 1.5, 33), np.array(2.0)
    runner = LoopRunner(plan_loops([x], roots, 100), roots, InterpreterRunner)
    outs = [np.empty((1, 38)), np.empty((1, 104))]
    runner.run([at[None]], outs, False)
    wide = np.concatenate([[0, 0], np.exp(at), [0, 0, 0]])
    near(outs[0][0], wide[::-1])
    near(outs[1][0], np.concatenate([np.sin(at), wide, at])[::-1])

    part = slicing(broadcast_to(s, (N,)), ((20, 1, None),)) + apply("exp", x)
    runner = LoopRunner(plan_loops([x, s], [part], 100), [part], InterpreterRunner)
    runner.run([at[None], two[None]], [np.empty((1, 33))], False)
    with pytest.raises(ShapeError, match="index 20 is out of range for an axis of size 18"):
        runner.run([at[None, :18], two[None]], [np.empty((1, 18))], False)


def test_a_singular_matrix_is_located() -> None:
    kernel = sd.compile("inv(X) * exp(X)", X=("n", 2, 2))
    X = np.tile(np.eye(2), (4, 100, 1, 1))
    X[2, 50] = 0
    with pytest.raises(SingularMatrixError, match="sample 2 of the batch") as caught:
        kernel(X)
    assert caught.value.index == (2,)
    with pytest.raises(SingularMatrixError) as caught:
        kernel(X[2])
    total = sd.compile("sum(inv(X) * exp(X))", X=("n", 2, 2))
    for batch in (X, np.tile(X, (1, 20, 1, 1))):
        with pytest.raises(SingularMatrixError) as caught:
            total(batch)
        assert caught.value.index == (2,)


# ---------------------------------------------------------------------------- what it tells, what is chosen


def test_small_formulas_are_taken_apart_and_large_ones_are_loops() -> None:
    assert "loops" not in sd.compile("exp(x) * y", x=1000, y=1000).stats
    large = sd.compile("exp(x) * y", x=50_000, y=50_000)
    assert large.stats["loops"] == 1
    assert large.stats["numpy_steps"] == []
    assert large.stats["operations"] < 10
    assert sd.compile("softmax(x)", x="n").stats["numpy_steps"] == ["max"]
    with pytest.raises(UnsupportedError, match="a part of it is no loop"):
        sd.compile("softmax(x)", x="n", backend="native")
    native = sd.compile("exp(x) * y", x="n", y="n", backend="native")
    assert native.backend == "c"
    assert native.stats["build_seconds"] >= 0
    with pytest.raises(UnsupportedError, match="no address"):
        _ = native.address


def test_kernels_and_runners_are_pickled() -> None:
    kernel = sd.compile(f"gradient({CHAIN}, x)", x="n")
    x = np.linspace(0, 1, 100)
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(x), kernel(x))
    nodes = [read_formula("exp(x)", {"x": "n"}).value.node]
    runner = LoopRunner(plan_loops(inputs_of(nodes), nodes, 100), nodes, NativeRunner)
    copy, out = pickle.loads(pickle.dumps(runner)), np.empty((1, 100))
    copy.run([x[None]], [out], False)
    near(out[0], np.exp(x))


def test_several_outputs_share_what_they_can() -> None:
    x = sd.vector("x", "n")
    f = np.log(1 + x**2)
    kernel = sd.compile({"f": f, "slope": sd.gradient(f.sum(), x), "sum": f.sum(), "same": f, "x": x})
    at = np.linspace(-1, 1, 1001)
    got = kernel(at)
    assert kernel.stats["loops"] == 2
    near(got["f"], np.log1p(at**2))
    near(got["slope"], 2 * at / (1 + at**2))
    near(got["sum"], np.log1p(at**2).sum())
    assert np.array_equal(got["f"], got["same"])
    assert np.array_equal(got["x"], at)


# ---------------------------------------------------------------------------- the parts


def test_signs_of_sizes() -> None:
    assert [sign(size) for size in (0, 3, -1, N, N - LEAST, N - 1 - N, N * M - N, 2 - N, N - LEAST - 1, N - M)] == [
        *(1, 1, -1, 1, 1, -1, 1, -1, 0, 0)
    ]


def test_ranges_are_cut_at_places_within() -> None:
    assert cut([(0, N)], [0, 1, N - 1, N]) == [(0, 1), (1, N - 1), (N - 1, N)]
    assert cut([(0, N)], [M]) == [(0, N)]
    assert cut([(0, 4), (4, 9)], [2, 4, 8]) == [(0, 2), (2, 4), (4, 8), (8, 9)]


def test_axes_of_shapes_in_groups() -> None:
    assert groups((N, 6), (N, 1, 2, 3)) == [([0], [0]), ([], [1]), ([1], [2, 3])]
    assert groups((2, N), (2 * N,)) == [([0, 1], [0])]
    assert groups((), (1, 1)) == [([], [0]), ([], [1])]
    assert groups((1, N, M), (N, M)) == [([0], []), ([1], [0]), ([2], [1])]


def test_many_pieces_are_refused() -> None:
    x = sd.vector("x", 10**5)
    parts: Any = np.concatenate([np.sin(x[k : k + 1000]) for k in range(0, 10**5, 1000)])
    with pytest.raises(NoLoopError, match="pieces"):
        plan_loops(inputs_of([parts.node]), [parts.node], 20_000)


# ---------------------------------------------------------------------------- batches of several axes


@pytest.mark.parametrize("run", [63, 64, 100, 257])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [False, True])
def test_batches_whose_axes_have_strides_of_their_own(run: int, dtype: type, columns: bool) -> None:
    """Arrays that lack one of the batch's axes are read where they lie, a run along the last axis at a time."""
    kernel = sd.compile("[p @ q + s, p[0] - s]", p=3, q=3, s=(), backend="native", batch_axis=-1 if columns else 0)
    rng = np.random.default_rng(2)
    shapes = ((5, 1, run, 3), (4, 1, 3), (5, 4, run))
    arrays: list[Array] = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    p, q, s = arrays
    wide: Array = np.full((5, 4, 2 * run, 2), np.nan, dtype)
    target = wide[:, :, ::2]
    wanted = np.stack([(p * q).sum(-1) + s, p[..., 0] - s], -1)

    def put(array: Array, own: int) -> Array:
        return np.moveaxis(array, -1, 0) if columns and own else array

    got = kernel(put(p, 1), put(q, 1), s, out=put(target, 1), inputs=None)
    assert np.shares_memory(got, wide)
    near(target, wanted, 1e-5 if dtype is np.float32 else 1e-12)
    assert np.isnan(wide[:, :, 1::2]).all()
    for threads in (2, 3):
        many = sd.compile("exp(p @ q + s)", p=3, q=3, s=(), threads=threads, backend="native")
        alone = sd.compile("exp(p @ q + s)", p=3, q=3, s=(), backend="native")
        long = np.tile(s, (60, 1, 1))
        assert np.array_equal(many(p[0], q, long), alone(p[0], q, long))


@pytest.mark.counted
def test_large_formulas_are_not_searched_for_loops() -> None:
    x = sd.vector("x", 50)
    y: Any = x[0]
    for i in range(8_000):
        y = np.sin(y) * x[i % 50]
    node = sd.gradient(y, x, disconnected="zero").node

    def look() -> None:
        with pytest.raises(UnsupportedError, match="no short elements"):
            plan_loops([x.node], [node], 20_000)

    effort, _ = calls(look)
    assert effort < 20 * len(postorder([node]))
