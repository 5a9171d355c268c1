"""Plans of formulas over long arrays: their steps, their sizes, their errors, and what they tell."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.errors import ShapeError, SingularMatrixError, UnsupportedError
from symdiff.frontend.formula import read_formula
from symdiff.graph import Node, broadcast_to, concatenate, inputs_of, pad, postorder, slicing, verify
from symdiff.graph import input as variable
from symdiff.graph.scalars.functions import apply
from symdiff.graph.sizes import LEAST, named, same_elements, sign
from symdiff.ground.limits import LIMITS
from symdiff.lowering.plan.access import NoLoopError, cut
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.plan import Plan
from symdiff.lowering.plan.steps import LoopStep
from symdiff.rewrite import inline, simplify
from symdiff.runtime.runners.interpreter import InterpreterRunner
from symdiff.runtime.runners.native import NativeRunner
from symdiff.runtime.runners.plans import PlanRunner
from tests.support.effort import calls
from tests.support.plan_formulas import CHAIN, EACH, near, numbers

Array = npt.NDArray[Any]
N, M = named("n"), named("m")


def planned(text: str, shapes: dict[str, Any]) -> Plan:
    nodes = simplify(inline([read_formula(text, shapes).value.node]), [])
    return one_sample(nodes)


def one_sample(nodes: list[Node], inputs: list[Node] | None = None) -> Plan:
    """Return the plan for one sample."""
    inputs = inputs_of(nodes) if inputs is None else inputs
    return plan_call(inputs, nodes, [False] * len(inputs), LIMITS.unrolled_operations)


def runner_of(inputs: list[Node], nodes: list[Node], kind: Any = InterpreterRunner) -> PlanRunner:
    return PlanRunner(inputs, nodes, kind, limit=100, usual=[False] * len(inputs))


def shown(plan: Plan) -> list[str]:
    """Return a word for each step: what it is, the number of its loops, and of its pieces if there are several."""
    words = []
    for step in plan.steps:
        if isinstance(step, LoopStep):
            pieces = f"/{len(step.pieces)}" if len(step.pieces) > 1 else ""
            words.append(f"{'sum' if step.total else 'map'}{len(step.loops)}{pieces}")
        else:
            words += [node.op for node in step.results]
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
    plan = planned(text, shapes)
    assert shown(plan) == steps
    for step in plan.steps:
        for piece in step.pieces if isinstance(step, LoopStep) else ():
            piece.program.validate()
            verify(port.source for port in piece.ports)


def test_axes_of_an_element_move_as_they_do_in_an_array() -> None:
    X = sd.matrix("X", 5000, 3)
    f = np.exp(np.take(X, [2, 0, 2, 1], axis=1)).reshape(5000, 1, 2, 2).transpose(3, 0, 1, 2)
    outputs = [f, np.cumsum(f, axis=0), sd.gradient(f[1].sum(), X)]
    kernel = sd.compile(outputs, [X])
    assert (kernel.stats["steps"], kernel.stats["numpy_steps"]) == (1, [])
    at = np.random.default_rng(0).normal(size=(5000, 3))
    for got, wanted in zip(kernel(at), sd.compile(outputs, [X], backend="numpy")(at), strict=True):
        near(got, wanted)


@pytest.mark.parametrize(
    "text", ["A @ x", "A @ x + 1", "inv(A) @ x", "max(where(x > 0, x, y))", "hessian(sum(exp(x)), x)"]
)
def test_what_ran_on_numpy_is_native(text: str) -> None:
    shapes = {name: shape for name, shape in {"A": ("n", "n"), "x": "n", "y": "n"}.items() if name in text}
    kernel = sd.compile(text, shapes=shapes, backend="interpreter")
    assert not kernel.stats["numpy_steps"]
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(0.5, 1.5, (20,) * (2 if name == "A" else 1)) for name in shapes]
    near(kernel(*arrays), sd.compile(text, shapes=shapes, backend="numpy")(*arrays))


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
    assert kernel.stats["steps"] == 1
    near(kernel(at), sd.compile(text, x=n, backend="numpy")(at))


@pytest.mark.parametrize("lag", [9, 40, 100, 500])
def test_a_plan_for_parts_that_are_far_apart_is_for_larger_sizes(lag: int) -> None:
    """Smaller ones have plans of their own."""
    text = f"gradient(sum(x[{lag}:] * exp(x[:-{lag}])), x)"
    kernel = sd.compile(text, x="n")
    assert kernel.stats["numpy_steps"] == []
    for n in (lag, lag + 1, 2 * lag - 1, 2 * lag, 2 * lag + 1, 1100):
        at = np.linspace(0, 1, n)
        near(kernel(at), sd.compile(text, x=n, backend="numpy")(at))
    assert kernel.plan is not None


def test_what_a_formula_is_before_it_is_simplified() -> None:
    """Paddings and joins read backwards, a part of a repeated number: simplification leaves few of these."""
    x, s = variable("x", (N,)), variable("s")
    padded = pad(apply("exp", x), ((2, 1, N),), (N + 5,))
    joined = concatenate([apply("sin", x), padded, x], 0)
    roots = [slicing(node, ((node.shape[0] - 1, -1, node.shape[0]),)) for node in (padded, joined)]
    at, two = np.linspace(0.5, 1.5, 33), np.array(2.0)
    runner = runner_of([x], roots)
    outs = [np.empty((1, 38)), np.empty((1, 104))]
    runner.run([at[None]], outs, False)
    wide = np.concatenate([[0, 0], np.exp(at), [0, 0, 0]])
    near(outs[0][0], wide[::-1])
    near(outs[1][0], np.concatenate([np.sin(at), wide, at])[::-1])

    part = slicing(broadcast_to(s, (N,)), ((20, 1, None),)) + apply("exp", x)
    runner = runner_of([x, s], [part])
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


def test_what_a_plan_tells() -> None:
    assert "steps" not in sd.compile("exp(x) * y", x=30, y=30).stats
    large = sd.compile("exp(x) * y", x=50_000, y=50_000)
    assert (large.stats["steps"], large.stats["numpy_steps"]) == (1, [])
    assert large.stats["operations"] < 10
    sorts = sd.compile("softmax(x) * sort(x)", x="n", backend="auto")
    assert sorts.stats["numpy_steps"] == []
    assert "arrays of (n)" in str(sorts.plan)
    native = sd.compile("exp(x) * y", x="n", y="n", backend="native")
    assert native.backend == "c"
    assert native.stats["build_seconds"] >= 0
    assert "long " in native.source()
    with pytest.raises(UnsupportedError, match="no address"):
        _ = native.address


def test_kernels_and_runners_are_pickled() -> None:
    kernel = sd.compile(f"gradient({CHAIN}, x)", x="n")
    x = np.linspace(0, 1, 100)
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(x), kernel(x))
    nodes = [read_formula("exp(x)", {"x": "n"}).value.node]
    runner = runner_of(inputs_of(nodes), nodes, NativeRunner)
    copy, out = pickle.loads(pickle.dumps(runner)), np.empty((1, 100))
    copy.run([x[None]], [out], False)
    near(out[0], np.exp(x))


def test_several_outputs_share_what_they_can() -> None:
    x = sd.vector("x", "n")
    f = np.log(1 + x**2)
    kernel = sd.compile({"f": f, "slope": sd.gradient(f.sum(), x), "sum": f.sum(), "same": f, "x": x})
    at = np.linspace(-1, 1, 1001)
    got = kernel(at)
    assert kernel.stats["steps"] == 2
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
    assert same_elements((N, 6), (N, 1, 2, 3)) == [([0], [0]), ([], [1]), ([1], [2, 3])]
    assert same_elements((2, N), (2 * N,)) == [([0, 1], [0])]
    assert same_elements((), (1, 1)) == [([], [0]), ([], [1])]
    assert same_elements((1, N, M), (N, M)) == [([0], []), ([1], [0]), ([2], [1])]


def test_many_pieces_are_refused() -> None:
    x = sd.vector("x", 10**5)
    parts: Any = np.concatenate([np.sin(x[k : k + 1000]) for k in range(0, 10**5, 1000)])
    with pytest.raises(NoLoopError, match="pieces"):
        one_sample([parts.node])


@pytest.mark.counted
def test_large_formulas_are_not_searched_for_loops() -> None:
    x = sd.vector("x", 50)
    y: Any = x[0]
    for i in range(8_000):
        y = np.sin(y) * x[i % 50]
    node = sd.gradient(y, x, disconnected="zero").node

    def look() -> None:
        with pytest.raises(UnsupportedError, match="no short elements"):
            one_sample([node])

    effort, _ = calls(look)
    assert effort < 20 * len(postorder([node]))
