"""Loops in formulas: scan, iterate and sum_over, their derivatives, lags, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff._kernels.plan import Plan
from symdiff.calculus import lifted
from symdiff.calculus import recurrence as rules
from symdiff.calculus.lifted import lift_products
from symdiff.errors import ArgumentError, DtypeError, ShapeError
from symdiff.graph import postorder, verify
from symdiff.lowering.plan import bound

BACKENDS = ("numpy", "auto", "interpreter")


def averages(a: Any, y: Any, start: Any = 0.0) -> Any:
    """Run the exponential average in plain Python, for complex numbers as well."""
    s = start
    all_: list[Any] = []
    for x in y:
        s = (1 - a) * s + a * x
        all_.append(s)
    return s, np.array(all_)


def average(n: Any = "n", reverse: bool = False) -> Any:
    a, y = sd.scalar("a"), sd.vector("y", n)
    last, outputs = sd.scan(lambda s, x: ((1 - a) * s + a * x,) * 2, 0.0, y, reverse=reverse)
    return a, y, last, outputs


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_values_and_gradients_of_any_length(backend: str, count: int) -> None:
    a, y, last, outputs = average()
    data = np.random.default_rng(count).normal(size=count)
    k = sd.compile([last, outputs, sd.gradient(last, a), sd.gradient(last, y)], [a, y], backend=backend)
    final, all_, slope, slopes = k(0.3, data)
    expected, rows = averages(0.3, data)
    np.testing.assert_allclose(final, expected, rtol=1e-14)
    np.testing.assert_allclose(all_, rows, rtol=1e-14)
    np.testing.assert_allclose(slope, np.imag(averages(0.3 + 1e-30j, data)[0]) / 1e-30, rtol=1e-12)
    np.testing.assert_allclose(slopes, 0.3 * 0.7 ** np.arange(count)[::-1], rtol=1e-13)


def test_the_last_row_may_come_first() -> None:
    a, y, last, outputs = average(reverse=True)
    data = np.array([1.0, -2.0, 5.0])
    final, rows = sd.compile([last, outputs], [a, y])(0.4, data)
    expected, backward = averages(0.4, data[::-1])
    np.testing.assert_allclose(final, expected)
    np.testing.assert_allclose(rows, backward[::-1])


def system(n: Any) -> Any:
    """A nonlinear system with a structure carried along, rows of two arrays, and something held."""
    p, A = sd.vector("p", 2), sd.matrix("A", 2, 2)
    start, u, v = sd.vector("start", 2), sd.matrix("u", n, 2), sd.vector("v", n)

    def step(carried: Any, row: Any) -> Any:
        x, m = carried["x"], carried["m"]
        u_k, v_k = row
        new = np.tanh(A @ x + u_k * p) + v_k
        return {"x": new, "m": m + sd.outer(new, x) * p[0]}, (np.sin(new), v_k * m[0, 1])

    last, outputs = sd.scan(step, {"x": start, "m": np.eye(2)}, (u, v))
    return [p, A, start, u, v], last, outputs


def reference(p: Any, A: Any, start: Any, u: Any, v: Any) -> Any:
    x, m = start, np.eye(2)
    rows: list[Any] = []
    numbers: list[Any] = []
    for u_k, v_k in zip(u, v, strict=True):
        new = np.tanh(A @ x + u_k * p) + v_k
        numbers.append(v_k * m[0, 1])
        x, m = new, m + np.outer(new, x) * p[0]
        rows.append(np.sin(new))
    return x, m, np.array(rows).reshape(-1, 2), np.array(numbers)


def loss(last: Any, outputs: Any) -> Any:
    return (last["x"] ** 2).sum() + (last["m"] * np.arange(4.0).reshape(2, 2)).sum() + (outputs[0] ** 3).sum() + (
        outputs[1].sum()
    )


def loss_of(values: Any) -> Any:
    x, m, rows, numbers = reference(*values)
    return (x**2).sum() + (m * np.arange(4.0).reshape(2, 2)).sum() + (rows**3).sum() + numbers.sum()


def numbers_for(n: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in (2, (2, 2), 2, (n, 2), n)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [5, "n"])
def test_gradients_of_a_system_against_the_complex_step(n: Any, backend: str) -> None:
    inputs, last, outputs = system(n)
    values = numbers_for(5)
    k = sd.compile([sd.gradient(loss(last, outputs), x) for x in inputs], inputs, backend=backend)
    for which, found in enumerate(k(*values)):
        for place in np.ndindex(values[which].shape):
            moved = [v.astype(complex) for v in values]
            moved[which][place] += 1e-30j
            assert found[place] == pytest.approx(np.imag(loss_of(moved)) / 1e-30, rel=1e-10, abs=1e-13)


def test_forward_and_reverse_agree() -> None:
    inputs, last, outputs = system(4)
    values, p = numbers_for(4), inputs[0]
    t, c = sd.vector("t", 2), sd.vector("c", 2)
    f = last["x"] * outputs[1].sum()
    forward = sd.compile(sd.jvp(f, p, t), [*inputs, t])
    backward = sd.compile(sd.vjp(f, p, c), [*inputs, c])
    J = sd.compile(sd.jacobian(f, p), inputs)(*values)
    for e in np.eye(2):
        np.testing.assert_allclose(forward(*values, e), J @ e, rtol=1e-12)
        np.testing.assert_allclose(backward(*values, e), e @ J, rtol=1e-12)


@pytest.mark.parametrize("which", [0, 1, 3])
def test_hessians_against_differences_of_gradients(which: int) -> None:
    inputs, last, outputs = system(3)
    values, x = numbers_for(3), inputs[which]
    gradient = sd.compile(sd.gradient(loss(last, outputs), x), inputs)
    found = sd.compile(sd.hessian(loss(last, outputs), x), inputs)(*values)
    h = 1e-5
    for place in np.ndindex(values[which].shape):
        up, down = [[v.copy() for v in values] for _ in range(2)]
        up[which][place] += h
        down[which][place] -= h
        column = (gradient(*up) - gradient(*down)) / (2 * h)
        np.testing.assert_allclose(found[(..., *place)], column, rtol=2e-7, atol=1e-7)


def test_products_with_a_hessian() -> None:
    inputs, last, outputs = system("n")
    values, p = numbers_for(6), inputs[0]
    t = sd.vector("t", 2)
    H = sd.compile(sd.hessian(loss(last, outputs), p), inputs)(*values)
    found = sd.compile(sd.hvp(loss(last, outputs), p, t), [*inputs, t])(*values, np.array([1.0, -2.0]))
    np.testing.assert_allclose(found, H @ [1.0, -2.0], rtol=1e-11)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_batches_of_samples(backend: str) -> None:
    inputs, last, outputs = system(4)
    k = sd.compile([last["x"], outputs[0], sd.gradient(loss(last, outputs), inputs[0])], inputs, backend=backend)
    samples = [numbers_for(4, seed) for seed in range(3)]
    x, rows, slopes = k(*map(np.stack, zip(*samples, strict=True)))
    shared = sd.compile(last["x"], inputs, batch=["start"], backend=backend)
    starts = np.stack([values[2] for values in samples])
    first = samples[0]
    for s, values in enumerate(samples):
        np.testing.assert_allclose(x[s], reference(*values)[0], rtol=1e-13)
        np.testing.assert_allclose(rows[s], reference(*values)[2], rtol=1e-13)
        np.testing.assert_allclose(slopes[s], k(*values)[2], rtol=1e-12)
        alone = reference(first[0], first[1], starts[s], *first[3:])[0]
        np.testing.assert_allclose(shared(first[0], first[1], starts, *first[3:])[s], alone, rtol=1e-13)


def test_sums_over_the_samples() -> None:
    a, y, last, _ = average(4)
    data = np.random.default_rng(3).normal(size=(5, 4))
    k = sd.compile(sd.gradient(last, a), [a, y], batch=["y"], reduce="sum")
    expected = sum(np.imag(averages(0.2 + 1e-30j, row)[0]) / 1e-30 for row in data)
    np.testing.assert_allclose(k(0.2, data), expected, rtol=1e-12)


def test_loops_within_loops() -> None:
    x, w = sd.scalar("x"), sd.vector("w", 3)

    def outer(s: Any, v: Any) -> Any:
        inner = sd.iterate(lambda r: r + np.sin(r * x) * v, s, 4)
        return inner * w[0], inner

    last, rows = sd.scan(outer, x, w)
    f = last + rows.sum()

    def plain(x: Any, w: Any) -> Any:
        s, total = x, 0
        for v in w:
            r = s
            for _ in range(4):
                r = r + np.sin(r * x) * v
            s, total = r * w[0], total + r
        return s + total

    at, data = 0.3, np.array([0.5, -0.2, 0.7])
    k = sd.compile([f, sd.gradient(f, x), sd.gradient(f, w), sd.hessian(f, x)], [x, w])
    value, slope, slopes, second = k(at, data)
    assert value == pytest.approx(plain(at, data), rel=1e-13)
    assert slope == pytest.approx(np.imag(plain(at + 1e-30j, data)) / 1e-30, rel=1e-12)
    for j in range(3):
        moved = data.astype(complex)
        moved[j] += 1e-30j
        assert slopes[j] == pytest.approx(np.imag(plain(at, moved)) / 1e-30, rel=1e-12)
    h = 1e-6
    ends = [np.imag(plain(at + d + 1e-30j, data)) / 1e-30 for d in (h, -h)]
    assert second == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)


def test_newton_by_repetition() -> None:
    x = sd.scalar("x")
    root = sd.iterate(lambda r: (r + x / r) / 2, x, 6)
    k = sd.compile([root, sd.gradient(root, x), sd.hessian(root, x), sd.derivative(root, x, order=3)])
    np.testing.assert_allclose(k(4.0), [2, 0.25, -1 / 32, 3 / 256], rtol=1e-9)


def test_sums_over_a_number() -> None:
    x, i = sd.scalar("x"), sd.scalar("i")
    y = sd.vector("y", "n")
    f = sd.sum_over(i, (1, 5), x**i / i)
    assert sd.compile(f)(0.5) == pytest.approx(sum(0.5**k / k for k in range(1, 6)))
    assert sd.compile(sd.gradient(f, x))(0.5) == pytest.approx(sum(0.5 ** (k - 1) for k in range(1, 6)))
    with_letter = sd.compile(sd.sum_over(i, "n", np.cos(i * y)), [y])
    data = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(with_letter(data), sum(np.cos(k * data) for k in range(3)))
    assert sd.compile(sd.sum_over(i, (3, 2), x * i))(2.0) == 0.0


def test_a_backward_loop_keeps_no_states_it_does_not_read() -> None:
    x, i = sd.scalar("x"), sd.scalar("i")
    assert str(sd.gradient(sd.sum_over(i, 9, x * i), x)) == "sum_over(k, 9, k)"


def test_a_branch_that_is_not_taken_is_a_strong_zero() -> None:
    x = sd.scalar("x")
    f = np.where(x > 0, sd.iterate(lambda s: s * np.log(x), x, 3), 0.0)
    k = sd.compile(sd.gradient(f, x))
    assert k(0.0) == 0.0
    assert k(2.0) == pytest.approx(np.log(2) ** 3 + 3 * np.log(2) ** 2)


def test_conditions_from_outside() -> None:
    x, t = sd.scalar("x"), sd.scalar("t")
    f = sd.iterate(lambda s: np.where(t > 0, s * x, s + x), x, 3)
    k = sd.compile([f, sd.gradient(f, x)], [x, t])
    np.testing.assert_allclose(k(2.0, 1.0), [16.0, 32.0])
    np.testing.assert_allclose(k(2.0, -1.0), [8.0, 4.0])


def test_functions_with_a_rule_of_their_own_in_a_step() -> None:
    x = sd.scalar("x")
    twice = sd.custom(np.exp, differential=lambda args, t: 2 * np.exp(args[0]) * t[0], approximate=True)
    f = sd.iterate(lambda s: twice(s) / 4, x, 2)
    inner = np.exp(0.5) / 4
    assert sd.compile(sd.gradient(f, x))(0.5) == pytest.approx(2 * np.exp(inner) / 4 * 2 * inner)


def test_how_loops_are_written() -> None:
    _, _, last, outputs = average()
    step = "((s, x) -> ((1 - a) * s + a * x, (1 - a) * s + a * x), 0, y)"
    assert (str(last), str(outputs)) == (f"scan{step}[0]", f"scan{step}[1][0]")
    x, i = sd.scalar("x"), sd.scalar("i")
    root = sd.iterate(lambda r: (r + x / r) / 2, x, 6)
    assert str(root) == "iterate(s -> (s + x / s) / 2, x, 6)"
    assert root.unicode() == "(s ↦ (s + x / s) / 2)⁶(x)"
    total = sd.sum_over(i, 60, x**i)
    assert str(total) == "sum_over(k, 60, x ** k)"
    assert total.unicode() == "Σ[k=0…59] x^k"
    assert total.latex() == r"\sum_{k=0}^{59} x^{k}"


def test_what_a_scan_refuses() -> None:
    a, y = sd.scalar("a"), sd.vector("y", 3)
    with pytest.raises(ShapeError, match="carries on one of shape"):
        sd.scan(lambda s, x: (s * y, None), 0.0, y)
    with pytest.raises(ShapeError, match="one length"):
        sd.scan(lambda s, x: (s, None), 0.0, (y, sd.vector("z", 4)))
    with pytest.raises(ArgumentError, match="two things"):
        sd.scan(lambda s, x: s, 0.0, y)
    with pytest.raises(ArgumentError, match="structure of the start"):
        sd.iterate(lambda s: (s, s), a, 3)
    with pytest.raises(ArgumentError, match="number of steps"):
        sd.scan(lambda s, x: (s, None), a)
    with pytest.raises(DtypeError, match="positions"):
        sd.iterate(lambda s: s + y[sd.index("at")], a, 3)
    kept: list[Any] = []

    def keeping(s: Any) -> Any:
        kept.append(s)
        return s * 2

    sd.iterate(keeping, a, 3)
    with pytest.raises(ArgumentError, match="used outside"):
        sd.compile(kept[0] + 1)


def test_numbers_of_single_precision() -> None:
    inputs, last, outputs = system(4)
    values = numbers_for(4)
    k = sd.compile([last["x"], last["m"], outputs[1], sd.gradient(loss(last, outputs), inputs[0])], inputs)
    exact = k(*values)
    for found, wanted in zip(k(*(v.astype(np.float32) for v in values)), exact, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-4)


@pytest.mark.rows(1)
@pytest.mark.parametrize("seed", range(4))
def test_steps_of_many_shapes_in_each_backend(seed: int) -> None:
    """Arrays of one element and of more, long and short, carried, gone along and held; results that are not changed."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 40)), int(rng.integers(1, 6))
    a, w, z, x = sd.scalar("a"), sd.vector("w", m), sd.matrix("z", n, m), sd.vector("x", n)

    def step(carried: Any, row: Any) -> Any:
        u, v, kept = carried
        z_k, x_k = row
        new = np.tanh(u * x_k + (v * w).sum() / m)
        return (new, 0.5 * v + z_k * a, kept), (u, v * x_k, kept * new)

    (last, outputs) = sd.scan(step, (a, w, 1.5), (z, x), reverse=bool(seed % 2))
    formulas = [*last, *outputs, sd.gradient(last[0] + outputs[1].sum() + outputs[2].sum(), w)]
    data = [rng.normal(), rng.normal(size=m), rng.normal(size=(n, m)), rng.normal(size=n)]
    wanted = sd.compile(formulas, [a, w, z, x], backend="numpy")(*data)
    for backend in ("interpreter", "native"):
        for found, right in zip(sd.compile(formulas, [a, w, z, x], backend=backend)(*data), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)


def test_a_value_and_its_derivatives_are_one_loop() -> None:
    x = sd.scalar("x")
    f = sd.iterate(lambda s: np.sin(s) * x, x, 5)
    k = sd.compile([f, sd.gradient(f, x), sd.hessian(f, x)], backend="numpy")
    assert k.source().count("for ") == 1

    def plain(at: Any) -> Any:
        s = at
        for _ in range(5):
            s = np.sin(s) * at
        return s

    value, slope, second = k(0.7)
    assert value == pytest.approx(plain(0.7), rel=1e-14)
    assert slope == pytest.approx(np.imag(plain(0.7 + 1e-30j)) / 1e-30, rel=1e-12)
    ends = [np.imag(plain(0.7 + d + 1e-30j)) / 1e-30 for d in (1e-6, -1e-6)]
    assert second == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def looped(*, pace: int = 2, turns: int = 3, span: int = 1, offset: int = 0, swap: int = 3) -> Plan:
    """A plan that copies the rows of an array to a vector, of which the last stays."""
    arrays = [
        bound.PlanArray(bound.INPUT, 0, (3, 2)),
        bound.PlanArray(bound.OUTPUT, 0, (2,)),
        bound.PlanArray(bound.ARENA, 0, (3, 2)),
        bound.PlanArray(bound.ARENA, 64, (2,)),
        bound.PlanArray(bound.WINDOW, 2, (2,), False, None, False, offset),
    ]
    row, whole = ((0, 0, 1, -1),), ((0, 0, 1, -1), (1, 0, 1, -1))
    steps = [
        bound.CopyStep(bound.BEFORE, (3, 2), False, bound.View(0, whole), bound.View(2, whole)),
        bound.RepeatStep(bound.BEFORE, False, span, turns, False, ((4, pace),), ((3, swap),)),
        bound.CopyStep(bound.BEFORE, (2,), False, bound.View(4, row), bound.View(3, row)),
        bound.CopyStep(bound.BEFORE, (2,), False, bound.View(3, row), bound.View(1, row)),
    ]
    return Plan(
        inputs=1, outputs=1, arrays=arrays, steps=steps, tile=1, tile_bytes=0, kept_bytes=128, single=False, lanes=2,
        units=None,
    )


def test_the_executor_runs_loops_and_refuses_those_that_lead_out_of_arrays() -> None:
    rows, out = np.arange(6.0).reshape(3, 2), np.zeros(2)
    assert looped().run([rows], [out], 1) is None
    np.testing.assert_array_equal(out, rows[2])
    for wrong in ({"pace": 3}, {"turns": 4}, {"offset": 1}, {"offset": -1}, {"span": 3}, {"swap": 2}, {"pace": -1}):
        with pytest.raises(ValueError, match="a plan with"):
            looped(**wrong)


@pytest.mark.parametrize("reverse", [False, True])
def test_states_of_segments_are_made_again(monkeypatch: pytest.MonkeyPatch, reverse: bool) -> None:
    a = sd.scalar("a")

    def derivatives(n: int) -> list[Any]:
        y = sd.vector("y", n)

        def step(s: Any, x: Any) -> Any:
            new = np.sin(s * a) + x * x
            return new, new * s

        last, rows = sd.scan(step, a, y, reverse=reverse)
        counted, _ = sd.scan(lambda s, number: (s * np.cos(a * number), None), a, n=n, reverse=reverse)
        f = last + (rows * np.arange(1.0, n + 1)).sum() + counted
        slopes = sd.gradient(f, y)
        return [sd.compile(formula, [a, y], backend="interpreter") for formula in (slopes, sd.jacobian(slopes, y))]

    for n in (4, 7, 9):
        data = np.random.default_rng(n).normal(size=n)
        monkeypatch.setattr(rules, "KEPT", 1 << 20)
        wanted = [kernel(0.4, data) for kernel in derivatives(n)]
        monkeypatch.setattr(rules, "KEPT", 0)
        for kernel, right in zip(derivatives(n), wanted, strict=True):
            np.testing.assert_allclose(kernel(0.4, data), right, rtol=1e-11, atol=1e-13)


def test_a_gradient_of_many_steps_keeps_few_states() -> None:
    x, n = sd.vector("x", 3), 4_000_000
    g = sd.gradient(sd.iterate(lambda s: np.sin(s) * x, x, n).sum(), x)
    largest, waiting = 0, [g.node]
    seen: set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            largest = max(largest, int(str(node.size)))
            waiting += [*node.args, *(node.payload.body.results if node.op == "recurrence" else ())]
    assert 1000 < largest < 10_000


def test_a_sum_takes_a_function_and_a_name() -> None:
    x = sd.scalar("x")
    i = sd.scalar("i")
    assert str(sd.sum_over("i", 5, lambda k: x**k / (1 + k))) == str(sd.sum_over(i, 5, x**i / (1 + i)))
    assert str(sd.sum_over(i, 5, lambda k: x**k)) == str(sd.sum_over(i, 5, x**i))
    with pytest.raises(sd.ArgumentError, match=r"expected a symbol, as scalar\('i'\), or a function"):
        sd.sum_over("i", 5, x**i)
    with pytest.raises(sd.ShapeError, match="size 'n' is in the shape of no input"):
        sd.compile(sd.sum_over(i, "n", x**i), [x])


@pytest.mark.parametrize("inner", ["k", "j"])
@pytest.mark.parametrize("taken", [True, False])
def test_the_name_of_a_number_is_that_of_nothing_else(inner: str, taken: bool) -> None:
    x, k = sd.scalar("x"), sd.scalar("k")
    own = k if taken else 0.0
    nested = sd.sum_over("k", 3, lambda i: sd.sum_over(inner, (1, 4), lambda j: (i + 1) * x**j + own))
    total = sum((i + 1) * 2.0**j + (5.0 if taken else 0.0) for i in range(3) for j in range(1, 5))
    for formula in (nested, str(nested)):
        assert sd.compile(formula, ["k", "x"] if taken else ["x"])(*([5.0, 2.0] if taken else [2.0])) == total


# ---------------------------------------------------------------------------- loop lags
# Loops of which the next state does not depend on the state, or on one part of it: lags, exchanges, restarts.


S, U, P = sd.scalar("s0"), sd.scalar("u0"), sd.scalar("p")

#: What the next state and the outputs are made of: the two parts of the state, the row, the parameter.
PIECES: dict[str, Callable[..., Any]] = {
    "first": lambda s, u, t, p: s,
    "second": lambda s, u, t, p: u,
    "row": lambda s, u, t, p: t * 1.0,
    "parameter": lambda s, u, t, p: p + 0.3,
    "both": lambda s, u, t, p: 0.5 * s * u + t,
    "scaled": lambda s, u, t, p: p * s,
    "product": lambda s, u, t, p: s * u * t,
    "kinked": lambda s, u, t, p: np.maximum(p, t) * 1.0,
}
names = st.sampled_from(sorted(PIECES))


def run(step: tuple[str, str, str], s: Any, u: Any, x: Any, p: Any) -> Any:
    """Return a number that the loop leads to, with NumPy."""
    written = 0.0
    for t in x:
        first, second, output = (PIECES[name](s, u, t, p) for name in step)
        s, u, written = first, second, written + np.sin(output)
    return s**2 + 2 * s * u + written


def formula(step: tuple[str, str, str], x: Any) -> Any:
    """Return the same as a formula."""

    def body(state: Any, t: Any) -> Any:
        first, second, output = (PIECES[name](*state, t, P) for name in step)
        return (first, second), output

    (last, other), outputs = sd.scan(body, (S, U), x)
    return last**2 + 2 * last * other + np.sin(outputs).sum()


def by_differences(f: Callable[..., Any], at: list[float], place: int) -> float:
    """Return a central difference of fourth order."""
    h = 1e-3
    moved = [[v + k * h * (j == place) for j, v in enumerate(at)] for k in (-2, -1, 1, 2)]
    a, b, c, d = (float(f(*one)) for one in moved)
    return (a - 8 * b + 8 * c - d) / (12 * h)


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(st.tuples(names, names, names), st.sampled_from([3, "n"]), st.sampled_from(["interpreter", "numpy"]))
def test_slopes_by_what_a_loop_begins_with(step: tuple[str, str, str], size: Any, backend: str) -> None:
    rows = np.array([0.3, 0.9, 0.7])
    f, at = formula(step, sd.vector("x", size)), [0.9, 1.5, 0.55]
    inputs = [S, U, P, sd.vector("x", size)]

    def value(*numbers: float) -> float:
        s, u, p = numbers
        return float(run(step, s, u, rows, p))

    for place, symbol in enumerate((S, U, P)):
        expected = by_differences(value, at, place)
        for derive in (sd.gradient, sd.jacobian):
            kernel = sd.compile(derive(f, symbol, disconnected="zero"), inputs=inputs, backend=backend)
            assert kernel(*at, rows) == pytest.approx(expected, abs=1e-7)
        slope = sd.gradient(f, symbol, disconnected="zero")
        first = sd.compile(slope, inputs=inputs, backend=backend)
        for other, second in enumerate((S, U, P)):
            expected = by_differences(lambda *numbers: first(*numbers, rows), at, other)  # noqa: B023  # called at once
            twice = sd.compile(sd.gradient(slope, second, disconnected="zero"), inputs=inputs, backend=backend)
            assert twice(*at, rows) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_a_lag_has_the_slope_of_its_first_row(backend: str) -> None:
    x = sd.vector("x", "n")
    _, outputs = sd.scan(lambda s, t: (t, s * t), S, x)
    slope = sd.compile(sd.gradient(outputs.sum(), S), inputs=[S, x], backend=backend)
    assert slope(2.0, [3.0, 5.0, 7.0]) == 3.0
    second = sd.compile(sd.hessian((outputs * outputs).sum(), S), inputs=[S, x], backend=backend)
    assert second(2.0, [3.0, 5.0, 7.0]) == 18.0
    np.testing.assert_array_equal(slope([2.0, 1.0], [[3.0, 5.0, 7.0], [4.0, 5.0, 7.0]]), [3.0, 4.0])


@pytest.mark.parametrize("n", [1, 3])
def test_a_step_that_forgets_has_second_derivatives(n: int) -> None:
    y, start = sd.vector("y", 3), sd.vector("v0", 3)
    for step in (lambda p: np.maximum(p, y), lambda p: sd.where(y < p, p, y), lambda p: np.tanh(p * y)):
        found = sd.hessian((sd.iterate(lambda s: step(P), start, n) ** 2).sum(), P)  # noqa: B023  # called at once
        expected = sd.compile(sd.hessian((step(P) ** 2).sum(), P), inputs=[P, y])
        at = (0.7, [0.2, 1.4, 0.5])
        assert sd.compile(found, inputs=[P, y, start])(*at, np.zeros(3)) == pytest.approx(expected(*at), rel=1e-13)


# ---------------------------------------------------------------------------- loop products
# Products that stand before or behind a loop in place of in it, and programs of bodies that hold arrays of a call.


SIZE = 24  # a product of two such vectors has enough elements to be worth it


def cells(tanh: Any, start: Any, W: Any, U: Any, x: Any, outer: Any) -> Any:
    """One step: a cell, and a sum of products that nothing reads."""
    h, M = start[0], start[1]
    h = tanh(W @ x + U @ h)
    return h, M + 2 * outer(h, x) - outer(x, x) + 0.5


def network(n: Any, reverse: bool = False) -> Any:
    W, U, X = sd.matrix("W", SIZE, SIZE), sd.matrix("U", SIZE, SIZE), sd.matrix("X", n, SIZE)

    def step(carried: Any, x: Any) -> Any:
        h, M = cells(np.tanh, carried, W, U, x, sd.outer)
        return (h, M), h[:3]

    start = (np.zeros(SIZE), np.ones((SIZE, SIZE)))
    (h, M), rows = sd.scan(step, start, X, reverse=reverse)
    return [W, U, X], h, M, rows


def product_reference(W: Any, U: Any, X: Any, *, reverse: bool = False) -> Any:
    h, M = np.zeros(SIZE), np.ones((SIZE, SIZE))
    rows: list[Any] = []
    for x in X[::-1] if reverse else X:
        h, M = cells(np.tanh, (h, M), W, U, x, np.outer)
        rows.append(h[:3])
    return h, M, np.array(rows[::-1] if reverse else rows).reshape(-1, 3)


def numbers(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [0.2 * rng.normal(size=(SIZE, SIZE)), 0.2 * rng.normal(size=(SIZE, SIZE)), rng.normal(size=(n, SIZE))]


def bodies(outputs: Any) -> list[Any]:
    found = []
    for node in postorder(outputs):
        if node.op == "recurrence":
            found += [node, *bodies(node.payload.body.results)]
    return found


def products(outputs: Any) -> int:
    return sum(
        node.op == "contract" and len(node.args) == 2
        for loop in bodies(outputs)
        for node in postorder(loop.payload.body.results)
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", ["n", 5])
def test_one_product_stays_in_a_step(n: Any, reverse: bool) -> None:
    _, h, M, rows = network(n, reverse)
    outputs = [h.node, M.node, rows.node]
    after = lift_products(outputs)
    verify(after)
    assert products(outputs) > products(after) == 1  # U @ h


@pytest.mark.parametrize("backend", ["numpy", "auto", "interpreter"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_values(backend: str, reverse: bool, count: int) -> None:
    inputs, h, M, rows = network("n", reverse)
    values = numbers(count)
    kernel = sd.compile([h, M, rows], inputs, backend=backend)
    for found, expected in zip(kernel(*values), product_reference(*values, reverse=reverse), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("n", ["n", 7])
def test_gradients_against_the_complex_step(backend: str, n: Any) -> None:
    inputs, h, M, rows = network(n)
    weights = np.random.default_rng(1).normal(size=(SIZE, SIZE))
    loss = (h**2).sum() + (M * weights).sum() + (rows**3).sum()

    def of(values: Any) -> Any:
        own = product_reference(*values)
        return (own[0] ** 2).sum() + (own[1] * weights).sum() + (own[2] ** 3).sum()

    values = numbers(7)
    kernel = sd.compile([sd.gradient(loss, x) for x in inputs], inputs, backend=backend)
    rng = np.random.default_rng(2)
    for which, found in enumerate(kernel(*values)):
        direction = rng.normal(size=found.shape)
        moved = [v.astype(complex) for v in values]
        moved[which] += 1e-30j * direction
        assert (found * direction).sum() == pytest.approx(np.imag(of(moved)) / 1e-30, rel=1e-11)


def test_what_is_read_again_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that a step reads is carried, and so is one whose factors are too many numbers to be kept."""
    X = sd.matrix("X", 5, SIZE)
    (M, t), _ = sd.scan(
        lambda s, x: ((s[0] + sd.outer(x, np.sin(x)), s[1] + s[0][0, 1]), None), (np.zeros((SIZE, SIZE)), 0.0), X
    )
    assert products(lift_products([M.node, t.node])) == products([M.node, t.node])
    data = numbers(5)[2]
    expected = sum(np.outer(x, np.sin(x)) for x in data)
    np.testing.assert_allclose(sd.compile(M, [X])(data), expected, rtol=1e-13, atol=1e-14)
    alone, _ = sd.scan(lambda s, x: (s + sd.outer(x, np.sin(x)), None), np.zeros((SIZE, SIZE)), X)
    assert products(lift_products([alone.node])) == 0
    monkeypatch.setattr(lifted, "KEPT", 5 * SIZE - 1)
    assert products(lift_products([alone.node])) == 1
    np.testing.assert_allclose(sd.compile(alone + 0.0, [X])(data), expected, rtol=1e-13, atol=1e-14)


def test_rows_that_are_matrices() -> None:
    W, Y = sd.matrix("W", SIZE, SIZE), sd.array("Y", ("n", SIZE, 2))
    last, _ = sd.scan(lambda s, y: (np.sin(s) + W @ y, None), np.zeros((SIZE, 2)), Y)
    assert products(lift_products([last.node])) == 0
    rng = np.random.default_rng(0)
    own, rows = rng.normal(size=(SIZE, SIZE)), rng.normal(size=(4, SIZE, 2))
    s = np.zeros((SIZE, 2))
    for y in rows:
        s = np.sin(s) + own @ y
    np.testing.assert_allclose(sd.compile(last, [W, Y])(own, rows), s, rtol=1e-12, atol=1e-13)


def test_arrays_of_a_call_in_any_order_are_held() -> None:
    A, y = sd.matrix("A", 2, 2), sd.matrix("y", "n", 2)
    last, rows = sd.scan(lambda s, x: (np.tanh(A @ s + x), s), np.zeros(2), y)
    kernel = sd.compile([last, rows], [A, y])
    a, data = np.random.default_rng(0).normal(size=(2, 4)), np.random.default_rng(1).normal(size=(2, 9))
    for own in (a[:, ::2], a[:, :2].T, a[::-1, 1:3], np.ascontiguousarray(a[:, 2:])):
        s, all_ = np.zeros(2), []
        for x in data.T:
            all_.append(s)
            s = np.tanh(own @ s + x)
        found = kernel(own, data.T)
        np.testing.assert_allclose(found[0], s, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(found[1], all_, rtol=1e-13, atol=1e-14)
