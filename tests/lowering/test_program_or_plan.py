"""Program, plan or arrays: what is estimated to cost least, on both sides of each border."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import special

import symdiff as sd
from symdiff._kernels.interpreter import VECTORS
from symdiff.codegen import Request
from symdiff.errors import UnsupportedError
from symdiff.graph import REAL, elementwise
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.ground.limits import LIMITS
from symdiff.lowering.builder import ProgramBuilder
from symdiff.lowering.plan.plan import Plan, programs_of
from symdiff.lowering.plan.steps import Call
from symdiff.lowering.program import Program
from symdiff.lowering.unroll import unroll
from symdiff.runtime.runners import BACKENDS
from symdiff.runtime.runners.lowering import OPERATION, lower, most_operations
from symdiff.runtime.runners.programs import target_of
from symdiff.runtime.runners.variants import Variant

SHORT = LIMITS.unrolled_operations


def form(*outputs: Any, inputs: Sequence[Any], insist: bool = False) -> tuple[Program | Plan | str, list[int]]:
    """Return the form that a formula takes, or why it has none, and the limits that scheduling was tried with."""
    nodes, given = [output.node for output in outputs], [x.node for x in inputs]
    tried: list[int] = []

    def scheduled(limit: int) -> Program:
        tried.append(limit)
        return unroll(given, nodes, limit)

    one = [False] * len(given)
    request = Request(given, nodes, scheduled, lambda: target_of("default"), [True] * len(given), usual=one)
    try:
        return lower(request, insist=insist), tried
    except UnsupportedError as error:
        return str(error), tried


def tape(count: int, x: Any) -> Any:
    """Return a formula of numbers of so many operations, each of which uses several before it."""
    values = [x[i] for i in range(x.shape[0])]
    for i in range(count):
        a, b = values[-1 - (7 * i) % 5], values[-1 - (3 * i) % 7]
        values.append(a * np.sin(b) if i % 4 == 0 else a - b if i % 3 else a + 0.5 * b)
    return values[-1]


def test_what_the_other_form_takes_decides() -> None:
    assert most_operations(0.0) == most_operations(OPERATION * SHORT) == SHORT
    assert most_operations(OPERATION * 3 * SHORT) == 3 * SHORT
    assert most_operations(np.inf) == most_operations(1e30) == LIMITS.native_operations


@pytest.mark.parametrize("count", [SHORT // 4, 2 * SHORT])
def test_formulas_of_numbers_are_programs_however_long(count: int) -> None:
    x = sd.vector("x", 9)
    made, tried = form(tape(count, x), inputs=[x])
    assert isinstance(made, Program)
    assert len(tried) == 1
    assert (len(made.ops) > SHORT) == (count > SHORT)


def test_a_long_formula_of_numbers_is_served_at_once() -> None:
    x = sd.vector("x", 9)
    k = sd.compile(tape(3 * SHORT // 2, x), inputs=[x], build_seconds=0)
    assert k.backend == "interpreter"
    assert k.stats["operations"] > SHORT
    point = np.linspace(0.1, 0.9, 9)
    want = sd.compile(tape(3 * SHORT // 2, x), inputs=[x], backend="numpy")(point)
    np.testing.assert_allclose(k(point), want, rtol=1e-9)


@pytest.mark.parametrize(("n", "expected"), [(33, Program), (199, Program), (200, Plan), (30_000, Plan)])
def test_a_long_axis_is_a_loop_from_some_length_on(n: int, expected: type) -> None:
    x, y = sd.vector("x", n), sd.vector("y", n)
    for insist in (False, True):
        for f in (np.exp(-(x**2)) * y.sum(), sd.softmax(x * y), sd.gradient(np.log(1 + np.exp(x @ y)), x)):
            assert isinstance(form(f, inputs=[x, y], insist=insist)[0], expected)


@pytest.mark.parametrize("n", [40, 150, 199, 200, 300])
@pytest.mark.parametrize("text", ["x * exp(y)", "sum((x - y)**2)", "softmax(x * y)", "logsumexp(x) + x @ y"])
def test_rows_and_columns_have_the_same_bits_on_both_sides_of_the_border(text: str, n: int) -> None:
    x, y = np.random.default_rng(n).normal(size=(2, 20, n))
    rows = sd.compile(text, x=n, y=n, backend="interpreter")(x, y)
    columns = sd.compile(text, x=n, y=n, backend="interpreter", batch_axis=-1)(x.T, y.T)
    np.testing.assert_array_equal(rows, np.asarray(columns).T)


def test_joined_arrays_are_programs_as_long_as_they_are_short() -> None:
    x, y = sd.vector("x", 150), sd.vector("y", 150)
    assert isinstance(form(np.concatenate([x * y, 2.0 * x, x[1:] - y[:-1]]), inputs=[x, y])[0], Program)
    value = np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    kernel = sd.compile(sd.hessian(value, x), [x], sparse="values", backend="interpreter")
    assert "steps" not in kernel.stats


def test_steps_over_several_axes_are_chosen_by_what_they_take() -> None:
    A, x = sd.matrix("A", 33, 33), sd.vector("x", 33)
    made = form(sd.gradient(np.sum(np.tanh(A @ x) ** 2), A), inputs=[A, x])[0]
    assert isinstance(made, Program)


@pytest.mark.parametrize(("n", "expected"), [(32, Program), (33, Plan), (100, Plan)])
def test_a_map_over_a_long_axis_is_a_loop_at_any_length(n: int, expected: type) -> None:
    x, y, c = sd.vector("x", n), sd.vector("y", n), sd.scalar("c")
    for made in ([np.exp(-(x**2)) * y], [c * x], [x * np.sin(y), x[::-1] + c], [sd.gradient(np.sum(np.tanh(x)), x)]):
        for insist in (False, True):
            assert isinstance(form(*made, inputs=[x, y, c], insist=insist)[0], expected)


def test_short_formulas_that_are_no_map_of_one_axis_are_programs() -> None:
    x, y, A = sd.vector("x", 40), sd.vector("y", 40), sd.matrix("A", 40, 33)
    for f in (np.sum(x * y), np.outer(x, y), A.T * 2.0, x / np.linalg.norm(y), np.concatenate([x, y])):
        assert isinstance(form(f, inputs=[x, y, A])[0], Program), f
    columns = sd.compile(x * y, inputs=[x, y], batch_axis=-1, backend="interpreter")  # whose samples are neighbours
    assert columns.stats["operations"] == 40
    assert "steps" not in columns.stats


@pytest.mark.exhaustive
def test_many_short_loops_are_a_plan_of_as_many_steps() -> None:
    """Straight-line code of 20,000 operations takes as long, and twice as long to build."""
    x = sd.vector("x", 34)
    y = x
    for _ in range(300):
        y = np.sin(y) + y * y[::-1].sum()  # a sum over the axis ends each loop
    made, _ = form(y, inputs=[x])
    assert isinstance(made, Plan)
    assert len(made.steps) == 600
    assert not any(isinstance(step, Call) for step in made.steps)


@pytest.mark.parametrize(("n", "expected"), [(6, Program), (20, Plan), (300, Plan)])
def test_products_of_large_matrices_are_plans(n: int, expected: type) -> None:
    A, B = sd.matrix("A", n, n), sd.matrix("B", n, n)
    made, tried = form(A @ B, inputs=[A, B])
    assert isinstance(made, expected)
    assert bool(tried) == (expected is Program)  # the estimate tells before anything is scheduled


def test_structural_zeros_are_no_operations() -> None:
    x = sd.vector("x", 250)
    f = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    for formula in (sd.hessian(f, x), sd.jacobian(np.exp(x) * np.sin(x), x)):
        made, _ = form(formula, inputs=[x])
        assert isinstance(made, Program | Plan)
        programs = [made] if isinstance(made, Program) else [program for program, *_ in programs_of(made)]
        assert sum(len(program.ops) for program in programs) < 20 * 250 < 250**2
    point = np.linspace(-1, 1, 250)
    k = sd.compile(sd.hessian(f, x), build_seconds=0)
    np.testing.assert_allclose(k(point), sd.compile(sd.hessian(f, x), backend="numpy")(point), rtol=1e-12)


def test_a_product_of_a_delta_is_a_program() -> None:
    U, V, T = sd.matrix("U", 60, 4), sd.matrix("V", 60, 4), sd.matrix("T", 60, 60)
    made, _ = form(sd.hessian(((T - U @ V.T) ** 2).sum(), U), inputs=[U, V, T])
    assert isinstance(made, Program | Plan)
    programs = [made] if isinstance(made, Program) else [program for program, *_ in programs_of(made)]
    assert sum(len(program.ops) for program in programs) < 6_000 < (60 * 4) ** 2


def test_a_product_beyond_the_limit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    class Counted(ProgramBuilder):
        def multiply(self, a: int, b: int) -> int:
            nonlocal made
            made += 1
            return super().multiply(a, b)

    monkeypatch.setattr(sys.modules[unroll.__module__], "ProgramBuilder", Counted)
    A, B = sd.matrix("A", 70, 70), sd.matrix("B", 70, 70)
    with pytest.raises(UnsupportedError, match="more than 20000 scalar operations"):
        unroll([A.node, B.node], [(A @ B).node], 20_000)
    assert made == 0
    unroll([A.node, B.node], [(A @ B).node])
    assert made >= 70**3


def test_arrays_of_zeros_without_end_are_refused() -> None:
    x = sd.vector("x", 3_000)
    with pytest.raises(UnsupportedError, match="more than 20000 scalar operations"):
        unroll([x.node], [sd.jacobian(np.exp(x), x).node], 20_000)


def test_backends_that_insist_take_a_program_where_there_are_no_loops() -> None:
    A, B = sd.matrix("A", 30, 30), sd.matrix("B", 30, 30)
    product = A @ B
    x = sd.array("x", (30, 30))
    made, tried = form(x * np.sin(x), inputs=[x], insist=True)
    assert isinstance(made, Program)
    assert tried == [LIMITS.native_operations]
    assert isinstance(form(product, inputs=[A, B], insist=True)[0], Program | Plan)
    assert BACKENDS["interpreter"].instead is None


def test_the_interpreter_addresses_every_value_of_the_longest_program() -> None:
    widest = 64  # bytes of a vector
    assert LIMITS.native_operations * VECTORS * widest < 2**31


def test_symbolic_sizes_are_not_scheduled() -> None:
    x = sd.vector("x", "n")
    made, _ = form(np.exp(x) + 1, inputs=[x])
    assert isinstance(made, Plan)


@pytest.mark.parametrize("name", [name for name, row in FUNCTIONS.items() if row.arity == 2 and row.gives == REAL])
def test_functions_take_numbers_that_are_structural_zeros(name: str) -> None:
    """Each function of two numbers, one of which is an element of an identity, beside NumPy's formula of it."""
    x = sd.scalar("x")
    eye = sd.xp.eye(2)
    for first, second in ((x, eye), (eye, x)):
        kernels = {}
        for backend in ("numpy", "interpreter"):
            try:
                formula = sd.Array(elementwise(name, (first.node, second.node)))
                kernels[backend] = sd.compile([formula], [x], backend=backend)
            except UnsupportedError:
                return
        for value in (0.7, 2.0):
            with np.errstate(all="ignore"):
                (expected,), (found,) = kernels["numpy"](value), kernels["interpreter"](value)
            places = np.isfinite(expected)  # a zero of structure hides what is not
            np.testing.assert_allclose(found[places], expected[places], rtol=1e-11, atol=1e-14)


@pytest.mark.rows(10)
@pytest.mark.parametrize("length", [16, 24, 31, 32, 33, 40])
def test_attention_has_a_native_form_at_any_length(length: int) -> None:
    q, k, v = (sd.matrix(name, length, 16) for name in "qkv")
    z = q @ k.T / 4.0
    p = np.exp(z - z.max(axis=1, keepdims=True))
    loss = ((p / p.sum(axis=1, keepdims=True) @ v) ** 2).sum()
    kernel = sd.compile([loss, *sd.gradient(loss, (q, k, v))], [q, k, v], backend="interpreter")
    data = np.random.default_rng(length).standard_normal((3, length, 16))
    shares = special.softmax(data[0] @ data[1].T / 4.0, axis=1)
    np.testing.assert_allclose(kernel(*data)[3], 2.0 * shares.T @ shares @ data[2], rtol=1e-10, atol=1e-12)
    assert sd.compile([loss, *sd.gradient(loss, (q, k, v))], [q, k, v]).backend in ("interpreter", "c")


@pytest.mark.parametrize("backend", ["native", "auto"])
@pytest.mark.parametrize(("n", "is_late"), [(33, False), (90, True)])
def test_a_long_program_is_built_when_a_batch_asks_for_it(backend: str, n: int, is_late: bool) -> None:
    """A plan serves single samples meanwhile; a short program is there from the beginning."""
    x = sd.vector("x", n)
    outputs = sd.hessian(sd.logsumexp(3.0 * x), x)
    kernel = sd.compile(outputs, backend=backend)
    built: list[Variant] = []
    runner: Any = kernel._runner
    make = runner.make

    def counted(variant: Variant) -> Any:
        built.append(variant)
        return make(variant)

    runner.make = counted
    assert (runner.usual not in runner._units) == is_late
    points = np.random.default_rng(n).normal(size=(3, n))
    share = np.exp(3.0 * points) / np.sum(np.exp(3.0 * points), axis=1, keepdims=True)
    right = 9.0 * (share[:, None] * np.eye(n) - share[:, :, None] * share[:, None])
    assert kernel.wait()
    assert kernel.backend == "c"
    np.testing.assert_allclose(kernel(points[0]), right[0], rtol=1e-12, atol=1e-14)
    assert not built
    np.testing.assert_allclose(kernel(points), right, rtol=1e-12, atol=1e-14)
    assert len(built) == is_late
    assert kernel.wait()
    assert kernel.backend == "c"
    np.testing.assert_allclose(kernel(points), right, rtol=1e-12, atol=1e-14)
