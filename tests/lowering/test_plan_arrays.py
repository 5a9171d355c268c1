"""Arrays in plans: many short axes, arrays put together from others, and stencils of stencils."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import pad
from symdiff.graph.reference.interpret import evaluate
from symdiff.lowering.plan.calls import MOST_ELEMENTS, plan_call
from symdiff.lowering.plan.planner import make_plan
from symdiff.lowering.plan.steps import Call, LoopStep
from symdiff.lowering.plan.sums import PADDED, padded_once

#: Arrays made of parts of a matrix, of a vector and of constants; the parts follow each other along either axis.
WHOLE: dict[str, Any] = {
    "row behind": lambda A, x: np.concatenate([A, x[None, :]]),
    "column before": lambda A, x: np.concatenate([x[:, None], A], axis=1),
    "stack of three": lambda A, x: np.concatenate([A, 2.0 * A, A.T]),
    "columns beside": lambda A, x: np.concatenate([A, A.T, x[:, None] * x], axis=1),
    "blocks": lambda A, x: np.block([[A, x[:, None]], [x[None, :], np.zeros((1, 1))]]),
    "pad": lambda A, x: np.pad(A, ((2, 1), (1, 3)), constant_values=0.5),
    "edges": lambda A, x: np.pad(A, 1, mode="edge"),
    "roll of rows": lambda A, x: np.roll(A, 2, axis=0),
    "roll of columns": lambda A, x: np.roll(A, -3, axis=1),
    "differences": lambda A, x: np.diff(A, axis=0, append=x[None, :]),
    "slopes": lambda A, x: np.gradient(A, axis=1),
}
#: What is done with each element.
INSIDE: dict[str, Any] = {
    "as it is": lambda B: B,
    "squares": lambda B: B * B,
    "exponentials": lambda B: np.exp(-0.1 * B),
    "centred": lambda B: B - np.mean(B, axis=1, keepdims=True),
    "products": lambda B: np.exp(0.1 * B) @ B.T,
}
#: What is made of all elements along an axis.
ALONG: dict[str, Any] = {
    "sum": lambda B, axis: np.sum(B, axis=axis),
    "mean of squares": lambda B, axis: np.mean(B**2, axis=axis),
    "norm": lambda B, axis: np.sqrt(np.sum(B * B, axis=axis)),
    "variance": lambda B, axis: np.var(B, axis=axis),
    "soft maximum": lambda B, axis: np.log(np.sum(np.exp(B), axis=axis)),
    "running sum": lambda B, axis: np.cumsum(B, axis=axis),
}


def compared(whole: str, inside: str, along: str, axis: int | None, n: int, letters: bool, samples: int) -> None:
    def made(A: Any, x: Any) -> Any:
        return ALONG[along](INSIDE[inside](WHOLE[whole](A, x)), axis)

    size: int | str = "n" if letters else n
    A, x = sd.matrix("A", size, size), sd.vector("x", size)
    value = made(A, x)
    weight = np.cos(np.arange(value.size)).reshape(value.shape) if isinstance(value.size, int) else 1.0
    slope = sd.gradient((value * value * weight).sum(), (A, x), disconnected="zero")
    kernel = sd.compile([value, *slope], inputs=[A, x], backend="interpreter")
    rng = np.random.default_rng(n)
    X = rng.uniform(0.1, 0.9, (samples, n))
    M = rng.uniform(0.1, 0.9, (n, n))
    found = kernel(M, X)
    for k in range(samples):
        np.testing.assert_allclose(found[0][k], made(M, X[k]), rtol=1e-9, atol=1e-11)
        for part, alone in zip(found, kernel(M, X[k]), strict=True):
            np.testing.assert_allclose(part[k], alone, rtol=1e-9, atol=1e-10)
    turn, bend = rng.normal(size=M.shape), rng.normal(size=n)

    def loss(h: float) -> float:
        return float(np.sum(made(M + h * turn, X[0] + h * bend) ** 2 * weight))

    differences = (8 * (loss(1e-4) - loss(-1e-4)) - (loss(2e-4) - loss(-2e-4))) / 12e-4
    total = np.sum(found[1][0] * turn) + np.sum(found[2][0] * bend)
    assert total == pytest.approx(differences, rel=1e-6, abs=1e-6 * (1 + abs(loss(0.0))))


@pytest.mark.parametrize("letters", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("whole", WHOLE)
def test_sums_of_arrays_in_parts(whole: str, axis: int, letters: bool) -> None:
    for n in (5, 17, 40):
        compared(whole, "as it is", "sum", axis, n, letters, 2)


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(
    st.sampled_from([*WHOLE]),
    st.sampled_from([*INSIDE]),
    st.sampled_from([*ALONG]),
    st.sampled_from([0, 1]),
    st.sampled_from([4, 16, 33, 70]),
    st.booleans(),
    st.integers(1, 3),
)
def test_reductions_of_arrays_in_parts(
    whole: str, inside: str, along: str, axis: int, n: int, letters: bool, samples: int
) -> None:
    compared(whole, inside, along, axis, n, letters, samples)


def _gates(z: Any, count: int, axis: int) -> list[Any]:
    length = z.shape[axis] // count
    parts = [slice(k * length, (k + 1) * length) for k in range(count)]
    return [z[part] if axis == 0 else z[:, part] for part in parts]


@pytest.mark.exhaustive
@settings(max_examples=40)
@given(
    st.integers(2, 5),
    st.sampled_from([0, 1]),
    st.sampled_from([3, 20, 33]),
    st.lists(st.sampled_from(["tanh", "sin", "exp", "cos"]), min_size=5, max_size=5),
    st.integers(1, 2),
)
def test_parts_made_of_each_other(
    count: int, axis: int, length: int, functions: list[str], samples: int
) -> None:
    """The slope by each gate is made of all gates: the array that they are joined to is one loop."""
    shape = (18, count * length) if axis else (count * length, 18)
    z = sd.matrix("z", *shape)
    made = 1.0
    for name, gate in zip(functions, _gates(z, count, axis), strict=False):
        made = made * getattr(np, name)(0.3 * gate) + gate
    loss = np.sum(np.tanh(0.1 * made))
    slope, alone = sd.gradient(loss, z), sd.gradient(loss, _gates(z, count, axis)[0])
    kernel = sd.compile([slope, alone, np.exp(0.1 * slope)], backend="interpreter")
    values = np.random.default_rng(count).normal(size=(samples, *shape))
    for found, formula in zip(kernel(values), (slope, alone, np.exp(0.1 * slope)), strict=True):
        for k in range(samples):
            (want,) = evaluate([formula.node], {"z": values[k]})
            np.testing.assert_allclose(found[k], want, rtol=1e-10, atol=1e-12)


def test_parts_with_much_in_common_are_one_loop() -> None:
    z = sd.matrix("z", 64, 256)
    i, f, g, o = _gates(z, 4, 1)
    cell = np.sum(sd.sigmoid(o) * np.tanh(sd.sigmoid(f) + sd.sigmoid(i) * np.tanh(g)))
    slope = sd.gradient(cell, z).node
    (step,) = make_plan([z.node], [slope], 10_000).steps
    assert isinstance(step, LoopStep)
    assert step.loops == (64, 64)
    assert step.results == (slope,) * 4
    assert [place[1].start for place in step.places] == [0, 64, 128, 192]
    (piece,) = step.pieces
    assert len([op for op in piece.program.ops if op in ("exp", "tanh", "cosh")]) <= 12


def test_parts_with_nothing_in_common_stay_apart() -> None:
    z = sd.matrix("z", 64, 256)
    i, f, g, o = _gates(z, 4, 1)
    joined = sd.asarray(np.concatenate([np.exp(i), np.sin(f), np.tanh(g), np.cos(o)], axis=1)).node
    (step,) = make_plan([z.node], [joined], 10_000).steps
    assert isinstance(step, LoopStep)
    assert len(step.pieces) == 4


# ---------------------------------------------------------------------------- plan axes
# Arrays of many elements along axes of which each is short: loops go over these, as over long ones.


rng = np.random.default_rng(5)
SHAPES = [(30, 30, 30), (20, 20, 20, 20), (8, 8, 8, 8, 8), (32, 4, 32, 2), (32, 32, 6)]
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda x, v: np.exp(-(x**2)) * v,
    "sum": lambda x, v: np.sum(x * v, axis=(0, -1)),
    "max": lambda x, v: np.max(x, axis=1),
    "differences": lambda x, v: x[1:] - x[:-1],
    "softmax": lambda x, v: sd.softmax(x, axis=-1),
    "all": lambda x, v: np.sum(np.log1p(x**2)) + np.sum(v),
    "gradient": lambda x, v: sd.gradient(np.sum(np.exp(-(x**2)) * v), x),
    "gradient of differences": lambda x, v: sd.gradient(np.sum((x[1:] - x[:-1]) ** 2), x),
    "product": lambda x, v: x @ v,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FORMULAS)
def test_many_elements_along_short_axes(name: str, shape: tuple[int, ...]) -> None:
    x, v = sd.array("x", shape), sd.vector("v", shape[-1])
    formula = FORMULAS[name](x, v)
    kernel, reference = sd.compile(formula), sd.compile(formula, backend="numpy")
    assert kernel.stats["steps"] >= 1
    assert not kernel.stats["numpy_steps"]
    assert kernel.stats["operations"] < MOST_ELEMENTS
    X, V = rng.normal(size=shape), rng.normal(size=shape[-1])
    arguments = {"x": X, "v": V}
    given = [arguments[p.name] for p in kernel.inputs]
    np.testing.assert_allclose(kernel(*given), reference(*given), rtol=1e-12, atol=1e-12)
    several = [np.stack([a, 2 * a, -a]) if a is X else a for a in given]
    np.testing.assert_allclose(kernel(*several), reference(*several), rtol=1e-12, atol=1e-12)
    single = [a.astype(np.float32) for a in given]
    np.testing.assert_allclose(kernel(*single), reference(*single), rtol=2e-4, atol=2e-4)


# ---------------------------------------------------------------------------- plan stencils
# Stencils of stencils: no step of NumPy, whatever the size, and arrays where an element is made of many places.


Grid = Callable[[Any], Any]


def inside(u: Any) -> Any:
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def around(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def second(v: Any) -> Any:
    return v[2:] - 2.0 * v[1:-1] + v[:-2]


#: Functions of a grid or of a vector, by name, and how many axes it has.
STENCILS: dict[str, tuple[Grid, int]] = {
    "laplacian": (lambda u: np.sum(inside(u) ** 2), 2),
    "biharmonic": (lambda u: np.sum(inside(inside(u)) ** 2), 2),
    "with functions": (lambda u: np.sum(np.exp(-(inside(np.tanh(inside(u))) ** 2))), 2),
    "on a torus": (lambda u: np.sum(around(u) ** 2), 2),
    "second differences": (lambda v: np.sum(second(second(second(v))) ** 2), 1),
    "between functions": (lambda v: np.sum(second(np.tanh(second(np.tanh(second(v))))) ** 2), 1),
    "shifts on a ring": (lambda v: np.sum(np.roll(np.sin(np.roll(np.sin(np.roll(v, 2) - v), -1)), 3) ** 2), 1),
}


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(STENCILS)), st.integers(7, 40), st.booleans())
def test_gradients_of_stencils_are_native_and_right(name: str, n: int, letters: bool) -> None:
    function, axes = STENCILS[name]
    shape: tuple[int | str, ...] = ("n", "m")[:axes] if letters else (n, n + 1)[:axes]
    u = sd.array("u", shape)
    gradient = sd.gradient(function(u), u)
    kernel = sd.compile(gradient, [u])
    assert not kernel.stats.get("numpy_steps")
    value = np.random.default_rng(n).normal(size=(n, n + 1)[:axes])
    direction = np.cos(np.arange(value.size)).reshape(value.shape)
    right = np.imag(function(value + 1e-30j * direction)) / 1e-30
    np.testing.assert_allclose(np.sum(kernel(value) * direction), right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [9, 12, 15, 16, 40])
def test_letters_have_plans_at_any_number(n: int) -> None:
    """The plan with letters is for those from 16 on; below, numbers stand for them, in loops where there are many."""
    u = sd.matrix("u", "n", "m")
    kernel = sd.compile(sd.gradient(STENCILS["biharmonic"][0](u), u), [u])
    value = np.random.default_rng(n).normal(size=(n, n))
    kernel(value)
    titles = [line for line in str(kernel.plan).splitlines() if line.startswith("one sample")]
    assert (f"one sample, m = {n}, n = {n}:" in titles) == (n < 16)
    assert not kernel.stats["numpy_steps"]


@pytest.mark.exhaustive
def test_which_arrays_are_steps_depends_on_what_they_take() -> None:
    """Sums of neighbours are computed again for each place; hyperbolic tangents are not."""
    v = sd.vector("v", "n")

    def steps(name: str) -> list[Any]:
        gradient = sd.gradient(STENCILS[name][0](v), v)
        return list(plan_call([v.node], [gradient.node], [False], 100_000).steps)

    summed, between = steps("second differences"), steps("between functions")
    assert len(summed) == 1
    assert len(between) > 3
    assert not any(isinstance(step, Call) for step in [*summed, *between])


def correlation(image: Any, weights: Any, rows: int, columns: int) -> Any:
    height, width = (size - part + 1 for size, part in zip(image.shape, (rows, columns), strict=True))
    moved = [(weights[i, j], image[i : i + height, j : j + width]) for i in range(rows) for j in range(columns)]
    return sum(weight * part for weight, part in moved)


@settings(max_examples=12, deadline=None)
@given(
    shape=st.tuples(st.integers(6, 40), st.integers(6, 40)),
    kernel=st.sampled_from([(3, 3), (5, 2), (1, 9), (5, 5), (9, 1)]),
    square=st.booleans(),
    single=st.booleans(),
)
def test_gradients_of_correlations(shape: tuple[int, int], kernel: tuple[int, int], square: bool, single: bool) -> None:
    if any(size < part for size, part in zip(shape, kernel, strict=True)):
        return
    x, w = sd.matrix("x", *shape), sd.matrix("w", *kernel)
    made = correlation(x, w, *kernel)
    g = sd.gradient(np.sum(made**2 if square else made), x)
    dtype = np.float32 if single else np.float64
    rng = np.random.default_rng(shape[0])
    a, b = rng.normal(size=(2, *shape)).astype(dtype), rng.normal(size=kernel).astype(dtype)
    kernels = [sd.compile(g, [x, w], backend=backend, batch=["x"]) for backend in ("interpreter", "numpy")]
    found, wanted = (k(a, b) for k in kernels)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=(1e-5 if single else 1e-14) * (1 + np.abs(wanted).max()))
    # by hand: the transpose of a correlation is a convolution
    own = np.zeros((2, *shape))
    value = np.stack([correlation(one.astype(float), b.astype(float), *kernel) for one in a])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            part = own[:, i : i + value.shape[1], j : j + value.shape[2]]
            part += b[i, j] * (2.0 * value if square else 1.0)
    np.testing.assert_allclose(found, own, rtol=0, atol=(1e-5 if single else 1e-13) * (1 + np.abs(own).max()))


@pytest.mark.parametrize(
    ("shape", "kernel", "single"), [((90, 42), (3, 3), False), ((90, 65), (4, 5), False), ((90, 65), (2, 3), True)]
)
def test_short_rows_are_read_where_they_lie(shape: tuple[int, int], kernel: tuple[int, int], single: bool) -> None:
    """Weights in registers or not, rows that fill vectors or not: each number has the bits of the interpreter."""
    x, w = sd.matrix("x", *shape), sd.matrix("w", *kernel)
    made = correlation(x, w, *kernel)
    dtype = np.float32 if single else np.float64
    rng = np.random.default_rng(shape[1])
    a, b = rng.normal(size=shape).astype(dtype), rng.normal(size=kernel).astype(dtype)
    wanted = correlation(a.astype(float), b.astype(float), *kernel)
    for formula, value in ((made, wanted), (np.sum(made**2), np.sum(wanted**2))):
        kernels = [sd.compile(formula, [x, w], batch=[], backend=backend) for backend in ("native", "interpreter")]
        native, other = (kernel(a, b) for kernel in kernels)
        np.testing.assert_array_equal(native, other)
        np.testing.assert_allclose(native, value, rtol=1e-4 if single else 1e-12, atol=1e-4 if single else 1e-12)


def test_what_is_infinite_stays_where_it_is() -> None:
    x, w = sd.matrix("x", 20, 20), sd.matrix("w", 5, 5)
    k = sd.compile(sd.gradient(np.sum(correlation(x, w, 5, 5)), x), [x, w], backend="interpreter")
    weights = np.ones((5, 5))
    weights[4, 4] = np.inf
    found = k(np.ones((20, 20)), weights)
    assert np.isfinite(found[:4]).all()
    assert np.isinf(found[4:, 4:]).all()


@pytest.mark.parametrize("reach", [3, 5])
def test_borders_share_one_program(reach: int) -> None:
    """Compilers take most of the time of a build, which has one program for the inside and one for all borders."""
    x, w = sd.matrix("x", 32, 32), sd.matrix("w", reach, reach)
    k = sd.compile(sd.gradient(np.sum(correlation(x, w, reach, reach) ** 2), x), [x, w], backend="native")
    programs = re.split(r"/\* program \d+ \*/", k.source())[1:]
    assert len(programs) == 1 + 9
    assert len({program.strip() for program in programs}) == 3


@pytest.mark.parametrize(("count", "arrays", "once"), [(PADDED - 1, 1, False), (PADDED, 1, True), (PADDED, 4, False)])
def test_multiples_of_one_array_in_many_places_are_padded_once(count: int, arrays: int, once: bool) -> None:
    x, c = sd.vector("x", 60), sd.vector("c", count)
    terms = [pad((c[k] * sd.exp(x * (k % arrays + 1))).node, ((k, 1, 60),), (80,)) for k in range(count)]
    total = reduce(operator.add, terms)
    made, apart = padded_once([total])
    assert len(apart) == once
    assert (made == [total]) != once


@pytest.mark.parametrize(("reach", "batched"), [(900, False), (5000, False), (900, True)])
def test_sums_of_padded_arrays(reach: int, batched: bool) -> None:
    """An infinite factor stays within its own term, also where arrays have no place in common."""
    rng = np.random.default_rng(reach)
    size, count = 2000, PADDED + 2
    places = rng.integers(0, reach, count)
    x, c = sd.vector("x", size), sd.vector("c", count)
    total = reduce(operator.add, [c[k] * sd.pad(sd.exp(x), (at, reach - at)) for k, at in enumerate(places)])
    kernel = sd.compile(total, [x, c], batch=["x"] if batched else [], backend="interpreter")
    values, factors = rng.normal(size=(3, size) if batched else size), rng.normal(size=count)
    factors[0] = np.inf
    wanted = np.zeros((*values.shape[:-1], size + reach))
    for factor, at in zip(factors, places, strict=True):
        wanted[..., at : at + size] += factor * np.exp(values)
    np.testing.assert_allclose(kernel(values, factors), wanted, rtol=1e-13, atol=1e-13)
    assert "step" in str(kernel.plan)


def test_lists_of_many_sums_are_one_step() -> None:
    """A vector of more short parts than a loop may have pieces: one step has all of them."""
    x = sd.vector("x", 500)
    parts = [np.sum(np.sin((k + 1.0) * x)) for k in range(50)]
    for formula in (np.stack(parts), np.exp(np.stack(parts)), np.stack(parts).reshape(5, 10), np.stack(parts)[3:40]):
        kernel = sd.compile(formula, [x], batch=[], backend="interpreter")
        assert not kernel.stats["numpy_steps"]
        value = np.linspace(0.0, 1.0, 500)
        own = sd.compile(formula, [x], batch=[], backend="numpy")(value)
        np.testing.assert_allclose(kernel(value), own, rtol=1e-12)


@st.composite
def boxes(draw: Any) -> tuple[tuple[int, ...], list[tuple[int, int]], str]:
    """Draw the shape of an array of three axes, shifts along them, and the type of its numbers."""
    long = st.sampled_from([9, 17, 34, 40])
    shape = tuple(draw(st.permutations([draw(long), draw(long), draw(st.sampled_from([1, 2, 3, 9, 34]))])))
    shifts = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=4))
    return shape, shifts, draw(st.sampled_from(["float64", "float32"]))


@settings(max_examples=12, deadline=None)
@given(boxes(), st.sampled_from(["native", "interpreter"]))
def test_borders_of_several_axes(drawn: tuple[tuple[int, ...], list[tuple[int, int]], str], backend: str) -> None:
    """Pieces along borders have loops of one turn or a few, in any order among longer ones."""
    shape, shifts, dtype = drawn

    def energy(x: Any) -> Any:
        total = (x**4).sum()
        for axis, by in shifts:
            if by < shape[axis]:
                ahead, behind = ([slice(None)] * len(shape) for _ in range(2))
                ahead[axis], behind[axis] = slice(by, None), slice(None, -by)
                total = total + ((x[tuple(ahead)] - x[tuple(behind)]) ** 2).sum() * 0.5
        return total

    def slope(x: Any) -> Any:
        found = 4.0 * x**3
        for axis, by in shifts:
            if by < shape[axis]:
                ahead, behind = ([slice(None)] * len(shape) for _ in range(2))
                ahead[axis], behind[axis] = slice(by, None), slice(None, -by)
                gap = x[tuple(ahead)] - x[tuple(behind)]
                found[tuple(ahead)] += gap
                found[tuple(behind)] -= gap
        return found

    x = sd.symbol("x", shape)
    k = sd.compile([energy(x), sd.gradient(energy(x), x)], [x], backend=backend)
    data = np.random.default_rng(5).normal(size=shape).astype(dtype)
    value, found = k(data)
    wide = data.astype(np.float64)
    exact = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(value, energy(wide), rtol=exact)
    np.testing.assert_allclose(found, slope(wide), rtol=exact, atol=exact)
