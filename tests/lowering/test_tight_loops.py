"""Loops whose body is one program: what is carried stays in registers, whatever else a turn reads or writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff._kernels.plan.executor import PlanUnits
from symdiff.codegen.c.emit import Target, emit_c
from symdiff.frontend.array import Array
from symdiff.graph import constant, parts_of, placeholder, recurrence, result_of, step_number
from symdiff.graph.primitives import Body
from symdiff.lowering.plan.plan import MEMORY, Wiring, programs_of
from symdiff.lowering.unroll import unroll
from symdiff.runtime.runners.pattern import Pattern
from symdiff.runtime.runners.programs import NativeRunner

Step = Callable[[Any, Any, Any], tuple[tuple[Any, ...], Any]]

#: Bodies of a state of a vector, another one and a number, with a row and what is held.
BODIES: dict[str, Step] = {
    "all carried": lambda c, x, w: ((0.5 * c[0] * w + x, np.tanh(c[1] - c[0]), 0.9 * c[2] + np.sum(c[0])), None),
    "history": lambda c, x, w: ((np.cos(c[0] + x), c[1] * w, c[2] + 1.0), c[0] * c[2]),
    "state before": lambda c, x, w: ((np.cos(c[0] + x), c[1] * w, c[2] + 1.0), c[0]),
    "lag": lambda c, x, w: ((0.3 * c[0] + c[1] * x, c[0], c[2] - np.sum(c[1])), c[1]),
    "exchange": lambda c, x, w: ((c[1], c[0], 0.5 * c[2] + np.sum(w * x * c[0])), c[2]),
    "not read": lambda c, x, w: ((x * w, np.sin(x) + c[1], np.sum(x)), c[1] * c[1]),
    "kept as it is": lambda c, x, w: ((c[0], 0.1 * c[1] * c[0] + x, c[2] * 0.5), c[1]),
    "numbers alone": lambda c, x, w: ((c[0], c[1], np.sin(c[2]) * 1.5 + 0.1), c[2]),
    "divided": lambda c, x, w: ((c[0] / (1.0 + c[1] ** 2), w / (2.0 + np.cos(c[0])), np.log(2.0 + c[2] ** 2)), x * w),
}
SIZES = (1, 2, 3, 5)


def formula(body: Step, n: int, m: int | str) -> tuple[list[Any], list[Any]]:
    a, b, t = sd.vector("a", n), sd.vector("b", n), sd.scalar("t")
    X, w = sd.matrix("X", m, n), sd.vector("w", n)
    end, rows = sd.scan(lambda c, x: body(c, x, w), (a, b, t), X)
    return [a, b, t, X, w], [*end, *([] if rows is None else [rows])]


def by_hand(body: Step, a: Any, b: Any, t: Any, X: Any, w: Any) -> list[Any]:
    carried, rows = (a, b, t), []
    for x in X:
        carried, row = body(carried, x, w)
        rows.append(row)
    return [*carried, *([] if rows[0] is None else [np.array(rows)])]


def numbers(n: int, m: int, dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(10 * n + m)
    return [rng.normal(size=shape).astype(dtype) for shape in ((n,), (n,), (), (m, n), (n,))]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", BODIES)
def test_every_turn_reads_what_the_one_before_has_made(name: str, n: int) -> None:
    inputs, outputs = formula(BODIES[name], n, "m")
    native, machine = (sd.compile(outputs, inputs, backend=b) for b in ("native", "interpreter"))
    for m in (1, 2, 7):
        given = numbers(n, m)
        found = native(*given)
        for got, want, same in zip(found, by_hand(BODIES[name], *given), machine(*given), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
            np.testing.assert_array_equal(got, same)


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", BODIES)
def test_float32_is_carried_as_such(name: str) -> None:
    inputs, outputs = formula(BODIES[name], 3, "m")
    native, machine = (sd.compile(outputs, inputs, backend=b) for b in ("native", "interpreter"))
    given = numbers(3, 6, np.float32)
    for got, want, same in zip(native(*given), by_hand(BODIES[name], *given), machine(*given), strict=True):
        assert np.asarray(got).dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-4)
        np.testing.assert_array_equal(got, same)


@pytest.mark.parametrize("name", BODIES)
def test_gradients_go_backward_through_the_same_loops(name: str) -> None:
    inputs, outputs = formula(BODIES[name], 2, "m")
    loss = sum(np.sum(np.sin(output)) for output in outputs)
    native = sd.compile(sd.gradient(loss, inputs, disconnected="zero"), inputs, backend="native")
    given = numbers(2, 5)

    def value(arrays: list[Any]) -> Any:
        return sum(np.sum(np.sin(output)) for output in by_hand(BODIES[name], *arrays))

    for k, got in enumerate(native(*given)):
        for place in np.ndindex(given[k].shape):
            moved = [array.astype(complex) for array in given]
            moved[k][place] += 1e-30j
            np.testing.assert_allclose(np.asarray(got)[place], np.imag(value(moved)) / 1e-30, rtol=1e-11, atol=1e-12)


#: Parts of random bodies: of two vectors of the state, the row and what is held.
PARTS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda p, q, x, w: p + 0.1 * x,
    lambda p, q, x, w: np.tanh(p * w - q),
    lambda p, q, x, w: p * np.sum(q * x) * 0.1,
    lambda p, q, x, w: p / (1.5 + np.cos(q)),
    lambda p, q, x, w: q,
    lambda p, q, x, w: p[::-1] * w,
    lambda p, q, x, w: x - w,
]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=2, max_size=5), st.integers(1, 4), st.booleans())
def test_random_bodies(chosen: list[tuple[int, int, int]], n: int, told: bool) -> None:
    count = len(chosen)

    def body(c: Any, x: Any, w: Any) -> Any:
        made = tuple(PARTS[f % len(PARTS)](c[p % count], c[q % count], x, w) for f, p, q in chosen)
        return made, (made[0] * c[-1] if told else c[0])

    starts = [sd.vector(f"s{k}", n) for k in range(count)]
    X, w = sd.matrix("X", 4, n), sd.vector("w", n)
    end, rows = sd.scan(lambda c, x: body(c, x, w), tuple(starts), X)
    inputs, outputs = [*starts, X, w], [*end, rows]
    rng = np.random.default_rng(count)
    given = [rng.normal(size=n) for _ in starts] + [rng.normal(size=(4, n)), rng.normal(size=n)]
    carried, written = tuple(given[:count]), []
    for x in given[count]:
        carried, row = body(carried, x, given[-1])
        written.append(row)
    for backend in ("native", "interpreter"):
        for got, want in zip(
            sd.compile(outputs, inputs, backend=backend)(*given), [*carried, np.array(written)], strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


def test_a_singular_turn_is_told() -> None:
    A, x = sd.matrix("A", 2, 2), sd.vector("x", 2)
    end, _ = sd.scan(lambda c, a: (sd.solve(A * a, c), None), x, sd.vector("t", "m"))
    k = sd.compile(end, [A, x, sd.vector("t", "m")], backend="native")
    np.testing.assert_allclose(k(np.eye(2), [1.0, 2.0], [2.0, 4.0]), [0.125, 0.25])
    with pytest.raises(sd.SingularMatrixError):
        k(np.eye(2), [1.0, 2.0], [2.0, 0.0, 1.0])


def test_a_failure_is_told_in_any_turn() -> None:
    A, x, t = sd.matrix("A", 2, 2), sd.vector("x", 2), sd.vector("t", "m")
    end, _ = sd.scan(lambda c, a: (sd.solve(A * a, c), None), x, t)
    k = sd.compile(end, [A, x, t], backend="native")
    for turn in (0, 4095, 4096, 9000):
        scales = np.ones(9001)
        np.testing.assert_array_equal(k(np.eye(2), [1.0, 2.0], scales), [1.0, 2.0])
        scales[turn] = 0.0
        with pytest.raises(sd.SingularMatrixError):
            k(np.eye(2), [1.0, 2.0], scales)


@pytest.mark.rows(1)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("accuracy", ["default", "high"])
def test_long_loops_have_the_interpreters_bits(accuracy: Any, dtype: Any) -> None:
    # longer than what runs between two looks for a signal, forward and backward
    a, b, y = sd.scalar("a"), sd.scalar("b"), sd.vector("y", "n")
    last, rows = sd.scan(lambda s, x: (a * s + sd.sqrt(b + x * x), s), 0.1, y)
    loss = np.sum(np.log1p(rows * rows)) + last
    outputs = [last, rows, *sd.gradient(loss, [a, b, y])]
    native, machine = (
        sd.compile(outputs, [a, b, y], backend=backend, accuracy=accuracy) for backend in ("native", "interpreter")
    )
    for n in (1, 2, 4095, 4096, 4097, 10000):
        given = [np.asarray(v, dtype) for v in (0.9, 0.2, np.random.default_rng(n).normal(size=n))]
        found = native(*given)
        for got, same in zip(found, machine(*given), strict=True):
            np.testing.assert_array_equal(got, same)
        s, want = given[0] * 0 + dtype(0.1), []
        for x in given[2]:
            want.append(s)
            s = given[0] * s + np.sqrt(given[1] + x * x)
        np.testing.assert_allclose(found[1], want, rtol=1e-4 if dtype is np.float32 else 1e-12)
        np.testing.assert_allclose(found[0], s, rtol=1e-4 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_turns_are_counted_from_both_ends(reverse: bool) -> None:
    state, row = placeholder(("carried", 0), ()), placeholder(("read", 0), ())
    made = 0.5 * Array(state) + Array(step_number()) * Array(row)
    y = sd.vector("y", "n")
    loop = recurrence(Body((state,), (row,), (), (made.node, made.node)), [constant(1.0), y.node], y.shape[0], reverse)
    outputs = [Array(result_of(loop, part)) for part in parts_of(loop)]
    native, machine = (sd.compile(outputs, [y], backend=backend) for backend in ("native", "interpreter"))
    for n in (1, 2, 7, 4100):
        given = np.random.default_rng(n).normal(size=n)
        s, want = 1.0, np.empty(n)
        for k in reversed(range(n)) if reverse else range(n):
            s = want[k] = 0.5 * s + k * given[k]
        for got, same, by_hand in zip(native(given), machine(given), (s, want), strict=True):
            np.testing.assert_array_equal(got, same)
            np.testing.assert_allclose(got, by_hand, rtol=1e-12, atol=1e-12)


def test_sums_over_a_number_count_turns() -> None:
    k, a = sd.scalar("k"), sd.scalar("a")
    total = sd.sum_over(k, (1, 5000), np.cos(k * a) / k**2)
    outputs = [total, sd.gradient(total, a), sd.gradient(sd.gradient(total, a), a)]
    native, machine = (sd.compile(outputs, [a], backend=backend) for backend in ("native", "interpreter"))
    m = np.arange(1, 5001)
    want = [np.sum(np.cos(0.3 * m) / m**2), np.sum(-np.sin(0.3 * m) / m), np.sum(-np.cos(0.3 * m))]
    np.testing.assert_allclose(native(0.3), want, rtol=1e-10)
    np.testing.assert_array_equal(native(0.3), machine(0.3))


def test_arrays_of_any_strides_and_results_given() -> None:
    inputs, outputs = formula(BODIES["history"], 3, "m")
    k = sd.compile(outputs, inputs, backend="native")
    plain = numbers(3, 6)
    want = k(*plain)
    turned = [np.asfortranarray(np.repeat(array, 2, axis=0))[::2] if array.ndim else array for array in plain]
    room = [np.empty((*np.shape(each), 2))[..., 0] for each in want]
    k(*turned, out=room)
    for got, same in zip(room, want, strict=True):
        np.testing.assert_array_equal(got, same)
    lists = k(*[array.tolist() for array in plain])
    for got, same in zip(lists, want, strict=True):
        np.testing.assert_array_equal(got, same)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("read_beside", [False, True])
def test_rows_lie_anywhere(backend: Any, dtype: Any, read_beside: bool) -> None:
    """Rows without gaps are read where they are, others are copied, in one call after the other."""
    y, X, w = sd.vector("y", "n"), sd.matrix("X", "n", 3), sd.vector("w", 3)
    last, told = sd.scan(lambda s, r: (0.5 * s + r[0] * np.sum(w * r[1]),) * 2, 0.1, (y, X))
    beside = [np.sum(y * X[:, 0])] if read_beside else []
    k = sd.compile([last, told, *beside], [y, X, w], backend=backend)
    for n in (1, 2, 9, 40):
        rng = np.random.default_rng(n)
        one, rows, held = (rng.normal(size=shape).astype(dtype) for shape in (n, (n, 3), 3))
        want = k(one.copy(), rows.copy(), held.copy())
        ways: list[Callable[[Any], Any]] = [
            lambda a: np.repeat(a, 2, axis=0)[::2],
            lambda a: a[::-1].copy()[::-1],
            np.asfortranarray,
            lambda a: np.stack([a, a], axis=-1)[..., 1],
            lambda a: np.concatenate([a, a])[len(a) :],
            lambda a: a,
        ]
        for first in ways:
            for second in ways:
                for got, same in zip(k(first(one), second(rows), second(held)), want, strict=True):
                    np.testing.assert_array_equal(got, same)


def test_samples_and_threads_change_no_bit() -> None:
    a, y = sd.scalar("a"), sd.vector("y", "n")
    last, rows = sd.scan(lambda s, x: ((1 - a) * s + a * x,) * 2, 0.0, y)
    outputs = [last, rows, sd.gradient(np.sum(rows**2), a)]
    k = sd.compile(outputs, [a, y], backend="native", batch=[y])
    given = np.random.default_rng(5).normal(size=(5, 40))
    alone = [k(0.3, row) for row in given]
    for threads in (1, 2):
        several = sd.compile(outputs, [a, y], backend="native", batch=[y], threads=threads)(0.3, given)
        for number, result in enumerate(several):
            np.testing.assert_array_equal(result, [each[number] for each in alone])


#: Operations of random bodies of numbers, without functions of whole vectors, and with such.
ARITHMETIC: list[Callable[[Any, Any, Any], Any]] = [
    lambda p, q, x: p + q * x,
    lambda p, q, x: 0.5 * p - x,
    lambda p, q, x: p / (1.0 + q * q),
    lambda p, q, x: np.where(p > x, q, 0.3 * p),
    lambda p, q, x: np.maximum(p, q) - np.minimum(x, p),
    lambda p, q, x: np.sqrt(abs(p) + 0.1) * np.sign(x),
    lambda p, q, x: np.floor(2.0 * p) * 0.1 + x,
    lambda p, q, x: q,
    lambda p, q, x: x,
]
FUNCTIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda p, q, x: np.tanh(p + x),
    lambda p, q, x: np.exp(-p * p) * q,
    lambda p, q, x: np.log(1.0 + q * q) - x,
]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 5]),
)
def test_random_bodies_of_numbers(chosen: list[tuple[int, int, int]], functions: bool, single: bool, n: int) -> None:
    parts, count = ARITHMETIC + FUNCTIONS * functions, len(chosen)

    def body(c: Any, x: Any) -> Any:
        made = tuple(parts[f % len(parts)](c[p % count], c[q % count], x) for f, p, q in chosen)
        return made, made[0] * c[-1]

    starts, y = [sd.scalar(f"s{k}") for k in range(count)], sd.vector("y", "n")
    end, rows = sd.scan(body, tuple(starts), y)
    loss = np.sum(rows) + sum(end)
    outputs = [*end, rows, *sd.gradient(loss, [*starts, y], disconnected="zero")]
    rng = np.random.default_rng(count)
    given = [np.asarray(v, np.float32 if single else float) for v in (*rng.normal(size=count), rng.normal(size=n))]
    found, same = (sd.compile(outputs, [*starts, y], backend=b)(*given) for b in ("native", "interpreter"))
    for got, bits in zip(found, same, strict=True):
        np.testing.assert_array_equal(got, bits)
    carried, written = tuple(given[:count]), []
    for x in given[count]:
        carried, row = body(carried, x)
        written.append(row)
    if single:
        return  # where a float32 is compared with another, rounding decides
    for got, want in zip(found, [*carried, np.array(written)], strict=False):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", BODIES)
def test_native_code_of_a_body_has_the_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Pattern] = []
    made = Pattern.__init__

    def note(self: Pattern, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        found.append(self)

    monkeypatch.setattr(Pattern, "__init__", note)
    inputs, outputs = formula(BODIES[name], 3, "m")
    k = sd.compile(outputs, inputs, backend="native")
    k(*numbers(3, 4))
    ((pattern),) = found
    packed = [packed for *_, packed, _ in programs_of(pattern.plan)]
    assert sum(packed) == 1, "functions that no step waits for stand before and behind the loop"
    at = packed.index(True)
    for runner, one in zip(pattern.runners, packed, strict=True):
        assert isinstance(runner, NativeRunner)
        assert {variant.packed for variant in runner._units} == {one}, "no other unit is built, and waited for"
    runner = pattern.runners[at]
    unit = runner.call(*runner.usual)
    assert unit.packed
    assert unit.turns
    with pytest.raises(ValueError, match="only the bodies of loops"):
        unit.run([], [], 1)
    ports = [pattern.units.ports[at][:2]]
    with pytest.raises(ValueError, match="a unit with a loop"):
        PlanUnits(lambda *_: unit, ports, [False], [runner.constant]).install(0, unit)
    with pytest.raises(ValueError, match="2 loops"):
        PlanUnits(lambda *_: unit, ports, [False], [runner.constant], pattern.units.wirings[:1] * 2)


def test_the_shortest_vectors_serve_what_has_the_same_bits_in_all() -> None:
    y = sd.vector("y", 1)
    for body, shortest in ((y / (1.0 + y * y), True), (sd.sqrt(y), True), (sd.exp(y), False)):
        program = unroll([y.node], [body.node])
        wiring = Wiring((1,), (MEMORY,), (0,), ())
        source = emit_c(program, Target(8, "_ZGVe"), columns=True, packed=True, wiring=wiring)
        assert source.turns
        assert source.lanes == (2 if shortest else 8)
