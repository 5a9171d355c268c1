"""Routines of plans on whole arrays: positions, orders, triangles, spectra, adjugates; beside NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

import symdiff as sd
from symdiff._kernels.plan import Plan
from symdiff.lowering.plan.bound import ARENA, INPUT, OUTPUT, TILE, PlanArray, RoutineStep

Array = npt.NDArray[Any]
rng = np.random.default_rng(11)


def agree(formula: Any, *calls: Sequence[Array], tolerance: float = 1e-13, native: bool = True) -> None:
    """Compare calls of a kernel with those of the same formula in NumPy; tell that no step of it is NumPy's."""
    kernel, reference = sd.compile(formula), sd.compile(formula, backend="numpy")
    if native:
        assert kernel.stats["operations"] >= 0  # a program or a plan, and not array operations
        assert not kernel.stats.get("numpy_steps")
    for arguments in calls:
        got, wanted = kernel(*arguments), reference(*arguments)
        assert isinstance(got, np.ndarray)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        each = 1e-6 if got.dtype == np.float32 else tolerance
        np.testing.assert_allclose(got, wanted, rtol=each, atol=each * scale)


def several(*arrays: Array, count: int = 3) -> list[Array]:
    """Return a batch of each array, of which no two samples are alike."""
    return [np.stack([np.roll(array, k) for k in range(count)]) for array in arrays]


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_positions_of_any_axis(data: st.DataObject) -> None:
    """Elements at positions and their gradient, which adds them up, for any axis, of batches of either argument."""
    shape = tuple(data.draw(st.lists(st.sampled_from([2, 3, 40, 70]), min_size=1, max_size=3)))
    shape = shape if max(shape) > 32 else (*shape, 50)
    axis = data.draw(st.integers(0, len(shape) - 1))
    count = data.draw(st.sampled_from([1, 7, 60]))
    x = sd.array("x", shape)
    taken = np.take(x, sd.indices("at", count), axis=axis)
    values = rng.normal(size=shape)
    at = rng.integers(0, shape[axis], count)
    both = several(values, at)
    for formula in (taken, sd.gradient(np.sum(taken**3), x)):
        chosen = [values, at], [both[0], at], [values, both[1]], both, [both[0].astype(np.float32), at]
        agree(formula, *chosen, native=False)


def test_positions_are_no_step_of_numpy() -> None:
    x, i = sd.matrix("X", 60, 40), sd.indices("i", 50)
    X, at = rng.normal(size=(60, 40)), rng.integers(0, 40, 50)
    for taken in (x[i], x[:, i], np.sin(x)[i] * 2):
        for formula in (taken, sd.gradient(np.sum(taken**2), x)):
            agree(formula, [X, at], [several(X)[0], at], several(X, at))


def test_what_is_long_is_not_chosen_among_all_elements() -> None:
    kernel = sd.compile(sd.vector("x", 1000)[sd.indices("i", 50)])
    assert kernel.stats["steps"] == 1
    assert kernel.stats["operations"] == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_orders_with_ties_and_nan(axis: int) -> None:
    """The gradient of a sort gives ties the mean of their places: of zeros of both signs, and of nan."""
    x = sd.matrix("X", 50, 60)
    weights = rng.normal(size=(50, 60))
    formula = sd.gradient(np.sum(np.sort(x, axis=axis) * weights), x)
    X = rng.normal(size=(50, 60)).round(1)
    X[3, 4:7], X[5:9, 8], X[7, 7], X[8, 7] = 0.0, -0.0, np.inf, -np.inf
    agree(formula, [X], several(X), several(X.astype(np.float32)))
    X[9, 2], X[11, 2] = np.nan, np.nan
    arranged = sd.arrange(sd.matrix("Y", 50, 60), x, axis=axis)
    both = several(weights, X)
    agree(arranged, [weights, X], [both[0], X], both, [weights, both[1]])


@pytest.mark.parametrize("length", [1, 2, 39, 40, 41, 255, 1000])
def test_orders_of_any_length_are_stable(length: int) -> None:
    x, y = sd.vector("x", "n"), sd.vector("y", "n")
    keys = rng.choice(np.array([-3e300, -1.0, -1e-310, 0.0, 1e-310, 2.0, 3e300]), length)
    agree(sd.arrange(y, x), [rng.normal(size=length), keys], native=length > 8)


@pytest.mark.parametrize("offset", [-2, 0, 3])
@pytest.mark.parametrize("kept", [np.triu, np.tril])
def test_triangles(kept: Callable[..., Any], offset: int) -> None:
    x = sd.matrix("X", "n", 50)
    formula = kept(np.cumsum(np.exp(x), axis=0), offset)
    X = rng.normal(size=(40, 50))
    agree(formula, [X], several(X))


@pytest.mark.parametrize("shape", [("n",), (50, 3), (3, 50), ("n", "m"), (0,)])
def test_sorts(shape: tuple[int | str, ...]) -> None:
    x = sd.array("x", shape)
    X = rng.normal(size=(3, *[{"n": 41, "m": 5}.get(str(size), size) for size in shape])).round(1)
    if X.size:
        X.flat[[3, 8, 11, 12, 13]] = np.nan, -np.inf, np.inf, 0.0, -0.0
    for axis in range(len(shape)):
        for formula in (np.sort(x, axis=axis), np.flip(np.sort(x, axis=axis), axis)):
            agree(formula, [X[0]], [X], [X[::2]], [X.astype(np.float32)], [X.swapaxes(0, -1).copy().swapaxes(0, -1)])


def of_rank(rank: int, n: int, count: int = 4) -> Array:
    found: Array = rng.normal(size=(count, n, rank)) @ rng.normal(size=(count, rank, n)) / n
    return found


@pytest.mark.parametrize("n", [5, 6, 12, 40])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_adjugates_of_every_rank(n: int, lost: int) -> None:
    """Values and derivatives, those of float32 and of matrices that are not finite too."""
    a = sd.matrix("A", n, n)
    X = of_rank(n - lost, n)
    unknown = X.copy()
    unknown[0, 2, 1], unknown[2, 0, 0] = np.nan, np.inf
    value = sd.linalg.adjugate(a)
    for formula in (value, sd.gradient(np.linalg.det(a), a), sd.gradient(np.sum(value**2), a)):
        agree(formula, [X], [X[0]], [unknown], tolerance=1e-12)
    agree(value, [X.astype(np.float32)])


def test_adjugates_against_definitions() -> None:
    """Cofactors as minors; their derivatives as differences of what is linear in each row."""
    X, E = of_rank(4, 6)[0], np.zeros((6, 6))
    E[2] = rng.normal(size=6)
    a, e = sd.matrix("A", 6, 6), sd.matrix("E", 6, 6)

    def cofactors(x: Array) -> Array:
        minors = [[np.delete(np.delete(x, i, 0), j, 1) for i in range(6)] for j in range(6)]
        found: Array = np.linalg.det(minors) * (-1.0) ** np.add.outer(np.arange(6), np.arange(6))
        return found

    np.testing.assert_allclose(sd.compile(sd.linalg.adjugate(a))(X), cofactors(X), rtol=1e-9, atol=1e-9)
    got = sd.compile(sd.jvp(sd.linalg.adjugate(a), a, e))(X, E)
    np.testing.assert_allclose(got, cofactors(X + E) - cofactors(X), rtol=1e-9, atol=1e-9)


def test_adjugates_of_few_rows_in_letters() -> None:
    a = sd.matrix("A", "n", "n")
    formulas = [sd.linalg.adjugate(a), sd.gradient(np.sum(sd.linalg.adjugate(a) ** 2), a)]
    for n in range(6):
        X = rng.normal(size=(3, n, n))
        for formula in formulas:
            agree(formula, [X], [X[0]], native=False)
        X[1] = np.nan
        np.testing.assert_array_equal(np.isnan(sd.compile(formulas[0])(X)).any(axis=(1, 2)), [False, n > 1, False])


def test_a_hessian_factorizes_a_matrix_once_for_all_directions() -> None:
    a = sd.matrix("A", 5, 5)
    X = of_rank(3, 5)
    agree(sd.hessian(np.linalg.det(a), a), [X], [X[0]], tolerance=1e-12)


def test_batches_in_shapes_of_several_letters() -> None:
    a, b = sd.matrix("A", "m", "n"), sd.matrix("B", "p", "q")
    kernel, reference = sd.compile(np.kron(a, b)), sd.compile(np.kron(a, b), backend="numpy")
    for A, B in ((rng.normal(size=(7, 2, 3)), rng.normal(size=(7, 4, 5))), (rng.normal(size=(7, 2, 3)), np.eye(3))):
        np.testing.assert_array_equal(kernel(A, B), reference(A, B))
    assert "NumPy" not in str(kernel.plan)


def symmetric(n: int) -> Array:
    a: Array = rng.normal(size=(n, n))
    return a @ a.T / n


def test_spectra() -> None:
    a = sd.matrix("A", 40, 40)
    matrices = np.stack([symmetric(40) for _ in range(5)])
    values = np.linalg.eigvalsh(a)
    unknown = matrices.copy()
    unknown[1, 3, 4], unknown[3, 0, 0] = np.nan, np.inf
    for formula in (values, sd.gradient(np.sum(np.exp(values)), a), sd.gradient(np.max(values), a)):
        agree(formula, [matrices[0]], [matrices], [unknown], tolerance=1e-11)
    agree(values, [matrices + rng.normal(size=(40, 40))], tolerance=1e-11)  # of the symmetric part
    assert sd.compile(values)(matrices.astype(np.float32)).dtype == np.float32


def test_eigenvalues_and_eigenvectors_of_a_matrix_are_one_step() -> None:
    a = sd.matrix("A", "n", "n")
    value = np.sum(np.log(np.linalg.eigvalsh(a)) ** 2)
    kernel = sd.compile((value, sd.gradient(value, a)))
    assert str(kernel.plan).count("spectrum") == 1
    assert kernel.stats["bits"] == "library"
    A = symmetric(60) + np.eye(60)
    w, v = np.linalg.eigh(A)
    got, gradient = kernel(A)
    np.testing.assert_allclose(got, np.sum(np.log(w) ** 2), rtol=1e-12)
    np.testing.assert_allclose(gradient, v * (2 * np.log(w) / w) @ v.T, rtol=1e-9, atol=1e-10)


def test_a_loop_of_spectra_runs_without_python() -> None:
    x0 = sd.matrix("X", 35, 35)
    last = sd.iterate(lambda x: np.eye(35) * np.sum(np.linalg.eigvalsh(x)) / 35 + 0.5 * x, x0, 6)
    X = symmetric(35)
    wanted = X
    for _ in range(6):
        wanted = np.eye(35) * np.sum(np.linalg.eigvalsh(wanted)) / 35 + 0.5 * wanted
    kernel = sd.compile(last)
    assert kernel.stats["numpy_steps"] == []
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-12)


def test_threads_share_the_tiles_of_routines() -> None:
    x, i = sd.vector("x", 500), sd.indices("i", 400)
    formula = sd.gradient(np.sum(x[i] ** 2), x)
    X, at = rng.normal(size=(300, 500)), rng.integers(0, 500, (300, 400))
    one, many = (sd.compile(formula, threads=threads)(X, at) for threads in (1, 4))
    np.testing.assert_array_equal(one, many)


def test_wrong_routines_are_refused() -> None:
    """Whatever does not fit its arrays is no plan: the executor checks shapes once, and trusts them from there on."""

    def plan(arrays: list[PlanArray], step: RoutineStep, inputs: int = 2) -> Plan:
        return Plan(
            inputs=inputs, outputs=1, arrays=arrays, steps=[step], tile=4, tile_bytes=4096, kept_bytes=4096,
            single=False, lanes=4, units=None,
        )  # fmt: skip

    take = RoutineStep(TILE, True, "take", 0, 1, 2, 1, 0)
    good = [PlanArray(INPUT, 0, (0, 9), True), PlanArray(INPUT, 1, (5,)), PlanArray(OUTPUT, 0, (0, 5), True)]
    plan(good, take)
    for change in (
        {"op": "give"}, {"a": 3}, {"b": -1}, {"c": 0}, {"c": 1}, {"axis": 0}, {"axis": 2}, {"axis": -1}, {"own": 1},
        {"own": -1}, {"own": 2}, {"tiled": False}, {"phase": 0}, {"op": "put"}, {"op": "arrange"}, {"op": "spectrum"},
        {"op": "triangle"}, {"op": "sort"}, {"op": "sort", "b": -1}, {"op": "reshape", "b": -1}, {"op": "adjugate"},
        {"op": "adjugate", "b": -1},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^a plan with "):
            plan(good, take._replace(**change))
    for place, array in (
        (2, good[2]._replace(shape=(0, 6))), (1, good[1]._replace(shape=(6,))), (2, good[2]._replace(tiled=False)),
        (0, good[0]._replace(tiled=False, shape=(4, 9))), (1, PlanArray(ARENA, 0, (5,), integer=True)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^a plan with "):
            plan([*good[:place], array, *good[place + 1 :]], take, 1 if array.kind == ARENA else 2)
    spectrum = RoutineStep(TILE, True, "spectrum", 0, -1, 1)
    for shape, result in (((0, 3, 3), (0, 3)), ((0, 3, 4), (0, 3, 4)), ((0, 3), (0, 3)), ((0, 32001, 32001),) * 2):
        with pytest.raises(ValueError, match=r"^a plan with "):
            plan([PlanArray(INPUT, 0, shape, True), PlanArray(OUTPUT, 0, result, True)], spectrum, 1)


def test_wrong_sorts_and_adjugates_are_refused() -> None:
    def refused(step: RoutineStep, *shapes: tuple[int, ...]) -> None:
        arrays = [PlanArray(OUTPUT if k == len(shapes) - 1 else INPUT, k % (len(shapes) - 1), shape, True)
                  for k, shape in enumerate(shapes)]  # fmt: skip
        with pytest.raises(ValueError, match=r"^a plan with "):
            Plan(
                inputs=len(shapes) - 1, outputs=1, arrays=arrays, steps=[step], tile=4, tile_bytes=0, kept_bytes=0,
                single=False, lanes=4, units=None,
            )  # fmt: skip

    sort = RoutineStep(TILE, True, "sort", 0, -1, 1, 1)
    for change in ({"axis": 0}, {"axis": -1}, {"axis": 2}):
        refused(sort._replace(**change), (0, 9), (0, 9))
    refused(sort, (0, 9), (0, 8))
    refused(sort._replace(op="reshape"), (0, 9), (0, 2, 4))
    adjugate = RoutineStep(TILE, True, "adjugate", 0, -1, 1)
    for shape, result in (((0, 3, 3), (0, 3)), ((0, 3, 4), (0, 3, 4)), ((0, 3), (0, 3)), ((0, 32001, 32001),) * 2):
        refused(adjugate, shape, result)
    refused(adjugate._replace(b=1, c=2), (0, 3, 3), (0, 3, 4), (0, 3, 3))


def test_positions_out_of_range_read_nothing() -> None:
    """Calls check positions; a plan that is run without reads nan, writes nothing, and stays within its arrays."""
    arrays = [PlanArray(INPUT, 0, (3,)), PlanArray(INPUT, 1, (5,)), PlanArray(OUTPUT, 0, (5,))]
    common = {"inputs": 2, "outputs": 1, "tile": 1, "tile_bytes": 0, "kept_bytes": 0, "single": False, "lanes": 4}
    at = np.array([0.0, 3.0, -1.0, np.nan, 1e300])
    take = Plan(arrays=arrays, steps=[RoutineStep(0, False, "take", 0, 1, 2)], units=None, **common)
    out = np.zeros(5)
    assert take.run([np.arange(3.0) + 1, at], [out], 1) is None
    np.testing.assert_array_equal(out, [1, np.nan, np.nan, np.nan, np.nan])
    arrays = [PlanArray(INPUT, 0, (5,)), PlanArray(INPUT, 1, (5,)), PlanArray(OUTPUT, 0, (3,))]
    put = Plan(arrays=arrays, steps=[RoutineStep(0, False, "put", 0, 1, 2)], units=None, **common)
    out = np.full(3, 7.0)
    assert put.run([np.ones(5), at], [out], 1) is None
    np.testing.assert_array_equal(out, [1, 0, 0])


@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
def test_what_float32_cannot_hold_is_no_warning(backend: str) -> None:
    x = sd.vector("x", 3)
    big = np.full((2, 3), 1e30, np.float32)
    np.testing.assert_array_equal(sd.compile(x * x, backend=backend)(big), np.full((2, 3), np.inf))
    total = sd.compile(np.sum(np.log(x - 1e30)), backend=backend, reduce="sum")
    assert total(np.array([[1e30, 2e30, 3e30], [1.0, 1.0, 1.0]])) != 0
