"""Loops whose body is one program: what is carried stays in vectors, whatever else a turn reads or writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.plan.plan import programs_of
from symdiff.runtime.runners.native import NativeRunner
from symdiff.runtime.runners.pattern import Pattern

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


def test_programs_of_bodies_are_packed_and_others_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Pattern] = []
    made = Pattern.__init__

    def note(self: Pattern, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        found.append(self)

    monkeypatch.setattr(Pattern, "__init__", note)
    inputs, outputs = formula(BODIES["history"], 3, "m")
    k = sd.compile(outputs, inputs, backend="native")
    k(*numbers(3, 4))
    ((pattern),) = found
    packed = [packed for *_, packed in programs_of(pattern.plan)]
    assert packed[0]
    assert not any(packed[1:])
    for runner, one in zip(pattern.runners, packed, strict=True):
        assert isinstance(runner, NativeRunner)
        assert {variant.packed for variant in runner._units} == {one}, "no other unit is built, and waited for"
    unit = pattern.runners[0].call(*pattern.runners[0].usual)
    assert unit.packed
    with pytest.raises(ValueError, match="only the bodies of loops"):
        unit.run([], [], 1)
