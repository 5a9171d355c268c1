# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Whole calls of the executor of plans: Python steps, threads, forks, units, and what is refused."""

from __future__ import annotations

import itertools
import os
import threading
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.plan import PlanUnits
from symdiff.errors import SingularMatrixError
from symdiff.lowering.plan import bound
from symdiff.lowering.plan.bound import (
    BEFORE,
    CONSTANT,
    COUNT,
    INPUT,
    OUTPUT,
    TILE,
    CallStep,
    CopyStep,
    FactorUse,
    GatherStep,
    ProductStep,
    ProgramStep,
    ReduceStep,
    View,
)
from symdiff.lowering.program import Program
from symdiff.lowering.unroll import unroll
from symdiff.runtime.runners.programs import InterpreterRunner
from tests.support.plan_layouts import (
    TIMES_SINE,
    Floats,
    Layout,
    check,
    factored,
    program,
    rng,
    units_of,
)


@pytest.mark.parametrize("single", [False, True])
def test_a_function_in_python(single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(4, single)
    a, b = layout.given(INPUT, 0, 3, tiled=True), layout.given(INPUT, 1, 3)
    between, out = layout.arena(3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
    steps = [
        CallStep(TILE, True, lambda p, q: np.sort(p * q, axis=-1), (a, b), between),
        CopyStep(TILE, (0, 3), True, layout.view(between, 0, 1), layout.view(out, 0, 1)),
    ]
    inputs = [rng.normal(size=(10, 3)).astype(dtype), rng.normal(size=3).astype(dtype)]
    check(layout, steps, inputs, [np.empty((10, 3), dtype)], 10, threads=2, tolerance=1e-6)


def test_what_a_function_raises_is_raised() -> None:
    layout = Layout(4)
    a, out = layout.given(INPUT, 0, tiled=True), layout.given(OUTPUT, 0, tiled=True)

    def one(p: Floats) -> Floats:
        raise KeyError("mine")

    def other(p: Floats) -> Floats:
        if (p < 0).any():
            raise SingularMatrixError("singular there", (int(np.argmax(p < 0)),))
        return p

    values = np.arange(20.0)
    with pytest.raises(KeyError, match="mine"):
        layout.plan(1, 1, [CallStep(TILE, True, one, (a,), out)]).run([values], [np.empty(20)], 20)
    plan = layout.plan(1, 1, [CallStep(TILE, True, other, (a,), out)])
    assert plan.run([values], [np.empty(20)], 20) is None
    values[14:] = -1.0
    assert plan.run([values], [np.empty(20)], 20) == ((14,), "singular there")


# ---------------------------------------------------------------------------- calls


def network() -> tuple[Layout, list[bound.BoundStep], Program]:
    """A layer over a batch and the sum of its weights' gradients: a product, a program, a product over the batch."""
    layout = Layout(16)
    a, w = layout.given(INPUT, 0, 7, tiled=True), layout.given(INPUT, 1, 7, 12)
    hidden, active = layout.arena(12, tiled=True), layout.arena(12, tiled=True)
    out, total = layout.given(OUTPUT, 0, 12, tiled=True), layout.given(OUTPUT, 1, 7, 12)
    scalar = sd.scalar("s")
    steps: list[bound.BoundStep] = [
        ProductStep(TILE, (0, 7, 12), True, layout.view(a, 0, 1), layout.view(w, 1, 2), layout.view(hidden, 0, 2)),
        ProgramStep(TILE, 0, (0, 12), True, (layout.view(hidden, 0, 1),), (layout.view(active, 0, 1),)),
        ProgramStep(TILE, 0, (0, 12), True, (layout.view(active, 0, 1),), (layout.view(out, 0, 1),)),
        ProductStep(
            TILE,
            (0, 7, 12),
            True,
            layout.view(a, 0, 1),
            layout.view(active, 0, 2),
            layout.view(total, 1, 2),
            accumulate=True,
        ),
    ]
    return layout, steps, program(np.tanh(scalar), scalar)


def test_results_do_not_depend_on_threads() -> None:
    layout, steps, f = network()
    inputs = [rng.normal(size=(40_000, 7)), rng.normal(size=(7, 12))]
    plan = layout.plan(2, 2, steps, units_of(f))
    found = []
    for threads in (1, 2, 3, 64):
        outs = [np.empty((40_000, 12)), np.empty((7, 12))]
        assert plan.run(inputs, outs, 40_000, threads) is None
        found.append(outs)
    for outs in found[1:]:
        np.testing.assert_array_equal(outs[0], found[0][0])
        np.testing.assert_array_equal(outs[1], found[0][1])
    active = np.tanh(inputs[0] @ inputs[1])
    np.testing.assert_allclose(found[0][1], inputs[0].T @ active, rtol=1e-11)


def test_sums_of_float32_over_a_long_batch_keep_their_digits() -> None:
    layout = Layout(64, single=True)
    a, b = layout.given(INPUT, 0, 9, tiled=True), layout.given(INPUT, 1, 9, tiled=True)
    total = layout.given(OUTPUT, 0, 9, 9)
    steps = [
        ProductStep(
            TILE, (0, 9, 9), True, layout.view(a, 0, 1), layout.view(b, 0, 2), layout.view(total, 1, 2), accumulate=True
        )
    ]
    count = 1_000_000
    inputs = [np.broadcast_to(np.float32(0.1), (count, 9)), np.broadcast_to(np.float32(0.3), (count, 9))]
    out = np.empty((9, 9), np.float32)
    assert layout.plan(2, 1, steps).run(inputs, [out], count) is None
    np.testing.assert_allclose(out, count * (float(np.float32(0.1)) * float(np.float32(0.3))), rtol=1e-5)


def test_threads_of_python_share_a_plan() -> None:
    layout, steps, f = network()
    plan = layout.plan(2, 2, steps, units_of(f))
    wrong: list[int] = []

    def work(seed: int) -> None:
        mine = np.random.default_rng(seed)
        for _ in range(60):
            count = int(mine.integers(1, 600))
            inputs = [mine.normal(size=(count, 7)), mine.normal(size=(7, 12))]
            outs = [np.empty((count, 12)), np.empty((7, 12))]
            failed = plan.run(inputs, outs, count, 2)
            active = np.tanh(inputs[0] @ inputs[1])
            if (
                failed is not None
                or not np.allclose(outs[0], np.tanh(active))
                or not np.allclose(outs[1], inputs[0].T @ active)
            ):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_plan_runs_after_a_fork() -> None:
    layout, steps, f = network()
    plan = layout.plan(2, 2, steps, units_of(f))
    inputs = [rng.normal(size=(5_000, 7)), rng.normal(size=(7, 12))]
    outs, again = ([np.empty((5_000, 12)), np.empty((7, 12))] for _ in range(2))
    plan.run(inputs, outs, 5_000, 2)
    child = os.fork()
    if child == 0:
        failed = plan.run(inputs, again, 5_000, 2)
        same = all(np.array_equal(one, other) for one, other in zip(outs, again, strict=True))
        os._exit(0 if failed is None and same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_units_are_made_when_needed_and_replaced() -> None:
    layout = Layout(4096)
    v = sd.vector("v", 3)
    f = unroll([v.node], [(v * 2.0).node])
    a, out = layout.given(INPUT, 0, 3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
    steps = [ProgramStep(TILE, 0, (0,), True, (layout.view(a, 0, None),), (layout.view(out, 0, None),))]
    runner = InterpreterRunner(f)
    asked: list[tuple[int, ...]] = []

    def make(number: int, *variant: bool) -> Any:
        asked.append((number, *variant))
        return runner.call(*variant)

    units = PlanUnits(make, [([3], [3])], [False], [()])
    plan = layout.plan(1, 1, steps, units)
    for order in "CFCF":
        values = np.array(rng.normal(size=(2000, 3)), order=order)
        result = np.empty((2000, 3), order=order)
        assert plan.run([values], [result], 2000) is None
        np.testing.assert_array_equal(result, 2 * values)
    assert asked == [(0, False, False, False, False), (0, False, True, False, False)]  # rows, then columns
    other = InterpreterRunner(unroll([v.node], [(v * 3.0).node]))
    units.install(0, other.call())
    result = np.empty((5, 3))
    assert plan.run([np.ones((5, 3))], [result], 5) is None
    np.testing.assert_array_equal(result, np.full((5, 3), 3.0))
    with pytest.raises(ValueError, match="another program"):
        units.install(0, InterpreterRunner(TIMES_SINE).call())

    def fail(*_: Any) -> Any:
        raise KeyError("no unit")

    with pytest.raises(KeyError, match="no unit"):
        layout.plan(1, 1, steps, PlanUnits(fail, [([3], [3])], [False], [()])).run([np.ones((5, 3))], [result], 5)
    with pytest.raises(ValueError, match="shares other inputs"):
        PlanUnits(fail, [([3], [3])], [False], [(True,)]).install(0, runner.call())
    with pytest.raises(ValueError, match="layouts of 1 and 1 programs, or of others, for 1"):
        PlanUnits(fail, [([3], [3])], [False], [(True, False)])


def test_arrays_that_do_not_fit_are_refused() -> None:
    layout, steps, f = network()
    plan = layout.plan(2, 2, steps, units_of(f))
    a, w, out, total = np.ones((3, 7)), np.ones((7, 12)), np.empty((3, 12)), np.empty((7, 12))
    frozen = np.empty((3, 12))
    frozen.flags.writeable = False
    for inputs, outputs, count in (
        ([a], [out, total], 3),
        ([a, w], [out, total], 4),
        ([a, w], [out, total], -1),
        ([a, w.T], [out, total], 3),
        ([a, w], [out[:2], total], 3),
        ([a, w], [frozen, total], 3),
        ([a, w[0]], [out, total], 3),
    ):
        with pytest.raises(ValueError, match=r"for a plan of|were expected|samples|read-only"):
            plan.run(inputs, outputs, count)
    with pytest.raises(TypeError):
        plan.run([a.astype(np.float32), w], [out, total], 3)
    with pytest.raises(TypeError):
        plan.run([a.tolist(), w], [out, total], 3)


def test_descriptions_that_lead_out_of_an_array_are_refused() -> None:
    """Each change of a right plan makes a wrong one."""
    layout = Layout(8)
    a, out, total = (
        layout.given(INPUT, 0, 5, tiled=True),
        layout.given(OUTPUT, 0, 5, tiled=True),
        layout.given(OUTPUT, 1, 5),
    )
    shared, between = layout.given(INPUT, 1, 5), layout.arena(5, tiled=True)
    square = layout.given(INPUT, 2, 5, 5)
    factors = factored(layout, square)
    whole, here = layout.view(a, 0, 1), layout.view(out, 0, 1)
    copy = CopyStep(TILE, (0, 5), True, whole, layout.view(between, 0, 1))
    run = ProgramStep(TILE, 0, (0, 5), True, (whole, layout.view(shared, 1)), (here,))
    product = ProductStep(TILE, (0, 5), True, whole, layout.view(shared, 1), layout.view(total, 1), accumulate=True)
    product = product._replace(b=layout.view(a, 0, 1))
    gather = GatherStep(TILE, (0, 5), True, False, 1, np.zeros(5, np.int64).tobytes(), whole, here)
    solve = FactorUse(BEFORE, False, "solve", *factors[2:6], shared, total, "singular")
    reduce = ReduceStep(TILE, (0, 5), True, "max", whole, layout.view(total, 1), True)
    units = units_of(TIMES_SINE)
    layout.plan(3, 2, [copy, run, product, gather, factors, solve, reduce], units)

    def axis(step: Any, field: str, *numbers: int) -> Any:
        view = getattr(step, field)
        view = view[0] if isinstance(view, tuple) and not isinstance(view, View) else view
        changed = View(view.array, (*view.axes[:-1], numbers))
        return step._replace(**{field: (changed, *getattr(step, field)[1:]) if field.endswith("s") else changed})

    def listed(*places: int, axis: int = 1, view: View = whole) -> View:
        return view._replace(listed=((axis, np.array(places, np.int64).tobytes()),))

    fixed = View(a, ((0, 0, 1, -1), (1, 1, 0, -1)))
    part = View(a, ((0, 0, 1, -1), (-1, 0, 1, 1)))
    several = whole._replace(listed=listed(0, 1, 2, 3, 4).listed * 2)
    layout.plan(3, 2, [run._replace(inputs=(listed(4, 0, 0, 1, 2), run.inputs[1]))], units)
    wrong: list[list[Any]] = [
        *(
            [run._replace(inputs=(view, run.inputs[1]))]
            for view in (
                listed(0, 0, 5, 0, 0),
                listed(0, 0, -1, 0, 0),
                listed(0, 0, 0, 0),
                listed(0, 0, 0, 0, 0, 0),
                listed(0, 0, 0, 0, 0, axis=0),
                listed(0, 0, 0, 0, 0, axis=2),
                listed(0, 0, 0, 0, 0, view=fixed),
                listed(0, view=part),
                several,
            )
        ),
        [run._replace(outputs=(listed(0, 1, 2, 3, 4, view=here),))],
        [copy._replace(input=listed(0, 1, 2, 3, 4))],
        [axis(copy, "input", 1, 1, 1, -1)],
        [axis(copy, "input", 1, 0, -1, -1)],
        [axis(copy, "input", 1, -1, 1, -1)],
        [axis(copy, "input", 2, 0, 1, -1)],
        [axis(copy, "input", 0, 0, 1, -1)],
        [axis(copy, "input", -1, 0, 1, 5)],
        [axis(copy, "output", 1, 0, 0, -1)],
        [axis(copy, "output", -1, 5, 0, -1)],
        [axis(run, "inputs", -1, 0, 1, 5)],
        [axis(run, "inputs", -1, 0, 2, 3)],
        [copy._replace(tiled=False)],
        [copy._replace(phase=BEFORE)],
        [copy._replace(phase=3)],
        [copy._replace(lengths=(0, 6))],
        [copy._replace(lengths=(0, -1))],
        [copy._replace(lengths=(0, *[1] * 9))],
        [copy._replace(input=View(99, whole.axes))],
        [copy._replace(input=View(a, ((0, 0, 1, -1),)))],
        [copy._replace(input=View(a, ((0, 1, 1, -1), (1, 0, 1, -1))))],
        [copy._replace(output=whole)],
        [copy._replace(output=layout.view(total, 1))],
        [run._replace(units=1)],
        [run._replace(sums=True)],
        [run._replace(kept=True)],
        [run._replace(accumulate=True)],
        [run._replace(inputs=(whole,))],
        [product._replace(accumulate=False)],
        [product._replace(c=here)],
        [gather._replace(indices=np.array([0, 0, 5, 0, 0]).tobytes())],
        [gather._replace(indices=np.array([0, 0, -1, 0, 0]).tobytes())],
        [gather._replace(indices=b"")],
        [gather._replace(axis_loop=0)],
        [gather._replace(axis_loop=2)],
        [reduce._replace(op="mean")],
        [solve],
        [factors, solve._replace(b=-1)],
        [factors, solve._replace(c=out)],
        [factors, solve._replace(op="pinv")],
        [factors, solve._replace(pivots=factors.state)],
        [factors._replace(a=shared)],
        [factors._replace(symmetric=3)],
        [factors._replace(pivots=factors.factor)],
        [factors._replace(tiled=True)],
        [CopyStep(BEFORE, (5,), False, layout.view(factors.pivots, 0), layout.view(total, 0))],
        [CallStep(TILE, True, abs, (a,), total)],
        [CallStep(BEFORE, False, abs, (a,), total)],
    ]
    for steps in wrong:
        with pytest.raises(ValueError, match=r"^a plan with "):
            layout.plan(3, 2, steps, units)
    good = layout.arrays
    for number, changes in (
        (a, {"kind": 7}),
        (a, {"number": 3}),
        (a, {"integer": True}),
        (out, {"number": 1}),
        (between, {"number": layout.bytes[True] - 8}),
        (between, {"number": -8}),
        (between, {"number": 4}),
        (between, {"shape": (7, 5)}),
        (factors.pivots, {"number": layout.arrays[factors.factor].number}),
        (shared, {"kind": CONSTANT, "number": 0, "data": b"12345678"}),
        (shared, {"kind": CONSTANT, "number": 0}),
        (shared, {"kind": COUNT}),
    ):
        layout.arrays = list(good)
        layout.arrays[number] = good[number]._replace(**changes)
        with pytest.raises(ValueError, match=r"^a plan with "):
            layout.plan(3, 2, [copy, factors], units)


def test_an_overwritten_array_is_read_in_order_of_the_steps() -> None:
    """Arrays of the arena may share memory: a later step's result where an earlier one's was."""
    layout = Layout(4)
    a, out = layout.given(INPUT, 0, 3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
    one, other = layout.arena(3, tiled=True), layout.arena(3, tiled=True)
    again = layout.arena(3, tiled=True)
    layout.arrays[again] = layout.arrays[again]._replace(number=layout.arrays[one].number)
    views = [layout.view(k, 0, 1) for k in (a, one, other, again, out)]
    steps = [
        ProgramStep(TILE, 0, (0, 3), True, (before, layout.view(a, 0, 1)), (after,))
        for before, after in itertools.pairwise(views)
    ]
    check(layout, steps, [rng.normal(size=(10, 3))], [np.empty((10, 3))], 10, [TIMES_SINE])


def test_ports_without_elements_have_room() -> None:
    """Of the parts of an array that is put together many may be empty; what describes them stood beyond its memory."""
    y = sd.vector("y", "n")
    pair = np.stack([y[:, None], np.sin(y[:, None])], axis=-1)
    padded = np.pad(pair, [(0, 1), (1, 0), (1, 0)], mode="edge")
    whole = np.concatenate([padded, np.cos(padded)])
    kernel = sd.compile(sd.gradient((whole * whole).sum(), y), backend="interpreter")
    at = np.full(20, 0.3)
    for _ in range(20):  # memory is looked at when more is asked for
        found = kernel(at)
        _ = [np.empty(size) for size in range(100, 1500, 50)]
    sine = np.sin(0.3)
    each = 2 * (2 * (0.6 - np.sin(0.6)) + (2 * sine - np.sin(2 * sine)) * np.cos(0.3))
    np.testing.assert_allclose(found, np.r_[np.full(19, each), 2 * each])
