"""Kernels in C: rows, layouts, batches, checks and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.codegen.c.body import HELD
from symdiff.codegen.c.emit import CHUNK, Target, emit_c
from symdiff.errors import SingularMatrixError
from symdiff.lowering.program import SIGNATURES, Program
from symdiff.runtime.runners.programs import NativeRunner
from symdiff.runtime.toolchain.load import native_target
from tests.support.c_programs import TARGETS, Floats, call, layouts, rational, results, samples
from tests.support.orders import in_order
from tests.support.program_reference import evaluate
from tests.support.tape import Tape


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize(("inputs", "count"), [(2, 20), (3, 40), (5, 60), (8, 100), (17, 2 * CHUNK + 700)])
def test_rows_of_any_width(inputs: int, count: int, target: Target) -> None:
    program = rational(inputs, count)
    n = 2 * target.lanes + 1
    x, out = samples(program, n), results(program, n)
    assert call(program, target).run(x, out, n) is None
    for i in range(n):
        for got, want in zip(out, evaluate(program, [a[i] for a in x]), strict=True):
            np.testing.assert_array_equal(got[i], want)


@pytest.mark.parametrize("count", [100, 2 * CHUNK + 200])
def test_same_bits_in_any_batch_at_any_place(count: int) -> None:
    t = Tape(("x", (3,)))
    values = t.row(0)
    for i in range(count):
        op = ("sin", "add", "exp", "multiply", "tanh", "subtract", "digamma", "power")[i % 8]
        a, b = t.op("abs", values[-1]), values[-2]
        values.append(t.op(op, *(t.op("tanh", v) if op == "exp" else v for v in (a, b)[: len(SIGNATURES[op])])))
    t.out((4,), values[-4:])
    program = t.program()
    run_call = call(program, native_target())
    (x,) = samples(program, 40)
    x[5, 0], x[6, 1], x[7, 2] = np.nan, np.inf, 1e300
    whole = np.empty((40, 4))
    run_call.run([x], [whole], 40)
    for begin, end in [(0, 1), (5, 6), (39, 40), (1, 8), (3, 20), (7, 40), (0, 39)]:
        part = np.empty((end - begin, 4))
        run_call.run([x[begin:end]], [part], end - begin)
        np.testing.assert_array_equal(part.view(np.int64), whole[begin:end].view(np.int64))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 64, 1000])
def test_every_layout(n: int) -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    x, want = samples(program, n), results(program, n)
    run_call.run(x, want, n)
    for name in layouts(x[0]):
        out = results(program, n)
        run_call.run([layouts(a)[name] for a in x], out, n)
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=name)
        if name == "read-only":
            continue
        out = [layouts(a)[name] for a in results(program, n)]
        run_call.run(x, out, n)
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=name)


def test_nothing_outside_is_written() -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    for n in (1, 7, 8, 9, 17):
        x = samples(program, n)
        around = [np.full((n + 2, *port.shape), 3.25) for port in program.outputs]
        run_call.run(x, [a[1:-1] for a in around], n)
        for a in around:
            np.testing.assert_array_equal(a[[0, -1]], np.full_like(a[[0, -1]], 3.25))


def test_inputs_without_a_batch_axis() -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    n = 21
    x = samples(program, n)
    for alone in range(3):
        y = [a[:1] if k == alone else a for k, a in enumerate(x)]
        full = [np.repeat(a[:1], n, axis=0) if k == alone else a for k, a in enumerate(x)]
        out, want = results(program, n), results(program, n)
        run_call.run(y, out, n)
        run_call.run(full, want, n)
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_single_precision_is_computed_in_double() -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    x = [a.astype(np.float32) for a in samples(program, 300)]
    out = [a.astype(np.float32) for a in results(program, 300)]
    want = results(program, 300)
    run_call.run(x, out, 300)
    run_call.run([a.astype(np.float64) for a in x], want, 300)
    for got, expected in zip(out, want, strict=True):
        np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("count", [60, 2 * CHUNK + 200])
def test_checks_tell_the_first_sample(count: int) -> None:
    program = rational(5, count)
    runner = NativeRunner(program)
    x, out = samples(program, 50), results(program, 50)
    runner.run(x, out, False)
    x[0][41, 0] = x[0][13, 1] = -4.0
    with pytest.raises(SingularMatrixError, match=r"x\[1\] is -4") as caught:
        runner.run(x, out, False)
    assert caught.value.index == (13,)
    x[0][13, 1] = np.nan
    with pytest.raises(SingularMatrixError, match=r"x\[0\] is -4") as caught:
        runner.run(x, out, False)
    assert caught.value.index == (41,)
    x[0][41, 0], x[0][49, 0] = 0.0, -4.0
    with pytest.raises(SingularMatrixError) as caught:
        runner.run(x, [np.zeros((1, *port.shape)) for port in program.outputs], True)
    assert caught.value.index == (49,)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_a_check_sees_every_lane(target: Target) -> None:
    program = rational(5, 60)
    run_call, out = call(program, target), results(program, 32)
    for k in range(32):
        x = samples(program, 32)
        x[0][k, 0] = -4.0
        found = run_call.run(x, out, 32)
        assert found is not None
        assert found[0] == k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_check_sees_every_lane_of_a_dtype(dtype: Any) -> None:
    A = sd.matrix("A", 1, 1)
    compute = sd.compile(sd.inv(A), [A], batch=[A], backend="native")
    for k in range(64):
        a = np.ones((64, 1, 1), dtype)
        a[k] = 0.0
        with pytest.raises(SingularMatrixError) as caught:
            compute(a)
        assert caught.value.index == (k,)


def summed(program: Program, x: list[Floats], target: Target | None = None) -> list[Floats]:
    out = [np.full((1, *port.shape), np.nan) for port in program.outputs]
    n = max(len(a) for a in x)
    call(program, target or native_target(), reduce=True).run(x, out, n)
    return [a[0] for a in out]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000, 1024, 1025, 5000, 9001])
def test_sums_in_a_in_order(n: int) -> None:
    program = rational(5, 60)
    x, rows = samples(program, n), results(program, n)
    call(program, native_target()).run(x, rows, n)
    for got, row in zip(summed(program, x), rows, strict=True):
        np.testing.assert_array_equal(got, in_order(row, native_target().lanes))
    for got, again in zip(summed(program, x), summed(program, [np.asfortranarray(a) for a in x]), strict=True):
        np.testing.assert_array_equal(got, again)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("outputs", [1, 2, 4, 5, 8, 9])
def test_sums_in_registers_and_in_memory_have_one_order(outputs: int, target: Target) -> None:
    t = Tape(("x", ()), ("y", (2,)))
    x, (y, z) = t.load(0), t.row(1)
    t.out((outputs,), [t.op("add", t.op("multiply", x, t.const(0.5 + k)), (y, z)[k % 2]) for k in range(outputs)])
    program = t.program()
    assert (",acc);" in emit_c(program, target, reduce=True).text) == (outputs <= HELD[target.lanes])
    for n in (0, 1, target.lanes, 3 * target.lanes, 3 * target.lanes + 1, 1023, 2500):
        given, rows = samples(program, n), results(program, n)
        call(program, target).run(given, rows, n)
        np.testing.assert_array_equal(summed(program, given, target)[0], in_order(rows[0], target.lanes))


def test_sums_of_a_long_program() -> None:
    program = rational(5, 2 * CHUNK + 200)
    x, rows = samples(program, 1030), results(program, 1030)
    call(program, native_target()).run(x, rows, 1030)
    for got, row in zip(summed(program, x), rows, strict=True):
        np.testing.assert_array_equal(got, in_order(row, native_target().lanes))


def test_ports_without_elements() -> None:
    t = Tape(("x", (0,)), ("y", (2, 0)))
    t.out((0,), [])
    t.out((), [t.const(2.0)])
    out = [np.empty((5, 0)), np.empty(5)]
    call(t.program(), native_target()).run([np.empty((5, 0)), np.empty((5, 2, 0))], out, 5)
    np.testing.assert_array_equal(out[1], 2.0)
