"""What calls of plans promise: what is not finite stays where it is, errors say where, memory stays small."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.errors import DtypeError, ShapeError, SingularMatrixError
from tests.support.plan_formulas import near

Array = npt.NDArray[Any]

#: Formulas whose plans differ by which inputs are shared, and what is a batch of them.
NET = ("W @ tanh(V @ x + b)", {"W": (5, 40), "V": (40, 30), "x": 30, "b": 40})
NET_GRADIENT = ("gradient(sum((W @ tanh(V @ x + b))**2), V)", NET[1])
LOGISTIC = ("hessian(log1p(exp(-y * (x @ t))), t)", {"y": (), "x": 40, "t": 40})
MAHALANOBIS = ("x @ solve(S, x)", {"S": (30, 30), "x": 30})
SHARED = ("exp(a) * sin(b) * tanh(a * b) * x", {"a": (), "b": (), "x": 7})
MASKED = ("gradient(sum(where(x > 0, log(x) * y, y**2) @ A), x)", {"x": 40, "y": 40, "A": (40, 40)})
MASKED_TWICE = ("where(x > 0, log(x), 0) @ where(y > 0, sqrt(y), 0)", {"x": 50, "y": 50})
MASKED_HESSIAN = ("hessian(sum(where(x * y > 0, log(x * y) * y, 0)), x)", {"x": 40, "y": 40})
MASKED_PRODUCT = ("gradient(sum(where(A @ x > 0, log(A @ x), 0)), A)", {"x": 40, "A": (40, 40)})
DETERMINANT = ("gradient(x @ solve(S, x) + logdet(S), S)", {"S": (14, 14), "x": 14})
REDUCED = ("max(x * y) + cumsum(x * y)", {"x": 50, "y": 50})
FORMULAS = [NET, NET_GRADIENT, LOGISTIC, MAHALANOBIS, SHARED, DETERMINANT, REDUCED]
MASKS = [MASKED, MASKED_TWICE, MASKED_HESSIAN, MASKED_PRODUCT]


def compiled(formula: tuple[str, dict[str, Any]], **options: Any) -> sd.Kernel:
    kernel: sd.Kernel = sd.compile(formula[0], shapes=formula[1], **{"backend": "interpreter", **options})
    return kernel


def numbers(kernel: sd.Kernel, pattern: tuple[bool, ...], count: int) -> list[Array]:
    rng = np.random.default_rng(4)
    result = []
    for parameter, has in zip(kernel.inputs, pattern, strict=True):
        array = rng.normal(size=(count, *parameter.shape) if has else parameter.shape)
        if parameter.name == "S":
            array = array @ np.swapaxes(array, -1, -2) / 20 + np.eye(array.shape[-1])
        result.append(array)
    return result


def patterns(kernel: sd.Kernel) -> list[tuple[bool, ...]]:
    return list(itertools.product([False, True], repeat=len(kernel.inputs)))


@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("formula", FORMULAS + MASKS)
def test_every_pattern_of_shared_inputs(formula: tuple[str, dict[str, Any]], reduce: str | None) -> None:
    kernel, reference = (compiled(formula, reduce=reduce, backend=b) for b in ("interpreter", "numpy"))
    for pattern in patterns(kernel):
        for count in (3, 70):  # one tile, and more
            arrays = numbers(kernel, pattern, count)
            for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 5e-3)):
                cast = [array.astype(dtype) for array in arrays]
                wanted = reference(*cast)
                scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
                for _ in range(2):
                    np.testing.assert_allclose(kernel(*cast), wanted, rtol=tolerance, atol=tolerance * scale)


# ---------------------------------------------------------------------------- nan and inf


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("formula", FORMULAS + MASKS)
def test_what_is_not_finite_stays_in_its_sample(formula: tuple[str, dict[str, Any]], reduce: str | None) -> None:
    kernel, reference = (compiled(formula, reduce=reduce, backend=b) for b in ("interpreter", "numpy"))
    others = np.arange(67) != 11
    for pattern in patterns(kernel):
        arrays = numbers(kernel, pattern, 67)
        base = kernel(*arrays)
        for number, number_has in enumerate(pattern):
            for bad in (np.nan, np.inf, -np.inf):
                given = [array.copy() for array in arrays]
                (given[number][11] if number_has else given[number]).reshape(-1)[-1:] = bad
                if given[number].ndim == 1 and number_has:
                    given[number][11] = bad
                try:
                    wanted = reference(*given)
                except SingularMatrixError:
                    with pytest.raises(SingularMatrixError):
                        kernel(*given)
                    continue
                got = kernel(*given)
                assert np.array_equal(np.isnan(got), np.isnan(wanted))
                near(np.where(np.isfinite(wanted), got, 0), np.where(np.isfinite(wanted), wanted, 0), 1e-7)
                if number_has and not reduce:
                    near(got[others], base[others])
                    assert np.array_equal(np.isfinite(got[others]), np.isfinite(base[others]))


# ---------------------------------------------------------------------------- errors


def test_the_lowest_singular_matrix_is_named() -> None:
    kernel = compiled(MAHALANOBIS)
    S, x = np.tile(np.eye(30), (4, 50, 1, 1)), np.ones((4, 50, 30))
    S[3, 2] = S[1, 49] = S[2, 0] = 0
    for threads in (1, 2, 3):
        several = compiled(MAHALANOBIS, threads=threads)
        for _ in range(2):
            with pytest.raises(SingularMatrixError, match=r"sample \(1, 49\) of the batch") as caught:
                several(S, x)
            assert caught.value.index == (1, 49)
    with pytest.raises(SingularMatrixError, match="sample 49 of the batch") as caught:
        kernel(S[1], x[0, 0])
    assert caught.value.index == (49,)
    for shared in (S[3, 2], S[3, 2][None]):
        for right in (x[0, 0], x[0], x):
            with pytest.raises(SingularMatrixError) as caught:
                kernel(shared, right)
            assert caught.value.index == ()
            assert "sample" not in str(caught.value)
    near(kernel(np.eye(30), x), 30.0)


def test_determinants_of_singular_matrices_are_numbers() -> None:
    kernel = sd.compile(["det(S)", "logdet(S)"], S=("n", "n"), backend="interpreter")
    S = np.tile(np.eye(20), (5, 1, 1))
    S[3, 2] = 0
    det, logdet = kernel(S)
    assert det.tolist() == [1, 1, 1, 0, 1]
    assert logdet.tolist() == [0, 0, 0, -np.inf, 0]


@pytest.mark.parametrize(
    ("text", "shapes", "arrays"),
    [
        ("exp(x) * y", {"x": "n", "y": "n"}, (np.ones(3), np.ones(4))),
        ("exp(x) * y", {"x": "n", "y": "n"}, (np.ones((2, 3)), np.ones((3, 3)))),
        ("A @ x", {"A": ("n", "n"), "x": "n"}, (np.ones((3, 4)), np.ones(4))),
        ("A @ x", {"A": ("m", "n"), "x": "n"}, (np.ones((3, 4)), np.ones(3))),
        ("A @ x", {"A": ("m", "n"), "x": "n"}, (np.ones(4), np.ones(4))),
        ("A @ x", {"A": (50, 50), "x": 50}, (np.ones((50, 49)), np.ones(50))),
        ("A @ x", {"A": (50, 50), "x": 50}, (np.ones((50, 50)), np.ones(50, complex))),
        ("A @ x", {"A": (50, 50), "x": 50}, (np.ones((50, 50)), np.array(["a"] * 50))),
        ("A @ x", {"A": (50, 50), "x": 50}, (np.ones((50, 50)),)),
        ("x[7] * exp(x)", {"x": "n"}, (np.ones(7),)),
        ("x[3:9] * 2", {"x": "n"}, (np.ones(8),)),
        ("x[2:] - x[:-2]", {"x": "n"}, (np.ones(1),)),
        ("max(x)", {"x": "n"}, (np.ones(0),)),
        ("max(x)", {"x": "n"}, (np.ones((4, 0)),)),
        ("min(A, axis=1)", {"A": ("m", "n")}, (np.ones((3, 0)),)),
        ("softmax(x)", {"x": "n"}, (np.ones(0),)),
        ("inv(A)", {"A": ("n", "n")}, (np.ones((4, 4)),)),
        ("cholesky(A)", {"A": ("n", "n")}, (-np.eye(4),)),
        ("solve(A, x)", {"A": ("n", "n"), "x": "n"}, (np.zeros((3, 0, 0)), np.zeros((3, 0)))),
    ],
)
def test_bad_input_is_refused_as_numpy_kernels_refuse_it(
    text: str, shapes: dict[str, Any], arrays: tuple[Array, ...]
) -> None:
    kernel, reference = (sd.compile(text, shapes=shapes, backend=b) for b in ("interpreter", "numpy"))

    def told(each: sd.Kernel) -> Any:
        try:
            return each(*arrays)
        except sd.SymdiffError as error:
            return type(error)

    for _ in range(2):
        got, wanted = told(kernel), told(reference)
        assert got is wanted if isinstance(wanted, type) else np.array_equal(got, wanted)


def test_bad_targets_are_refused_before_anything_is_written() -> None:
    kernel = compiled(NET)
    arrays = numbers(kernel, (False, False, True, False), 10)
    near(kernel(*arrays, out=np.empty((10, 5))), kernel(*arrays))
    for target, error in ((np.zeros((10, 4)), ShapeError), (np.zeros((10, 5), np.float32), DtypeError)):
        with pytest.raises(error):
            kernel(*arrays, out=target)
        assert not target.any()
    frozen = np.zeros((10, 5))
    frozen.flags.writeable = False
    with pytest.raises(sd.SymdiffError):
        kernel(*arrays, out=frozen)


# ---------------------------------------------------------------------------- memory, threads, processes, calls


@pytest.mark.parametrize(
    ("formula", "reduce", "batched"),
    [(NET, None, "x"), (NET_GRADIENT, "sum", "x"), (LOGISTIC, "sum", "yx"), (MAHALANOBIS, None, "x")],
)
def test_the_arena_does_not_grow_with_the_samples(
    formula: tuple[str, dict[str, Any]], reduce: str | None, batched: str
) -> None:
    kernel = compiled(formula, reduce=reduce)
    pattern = tuple(parameter.name in batched for parameter in kernel.inputs)
    found = []
    for count in (1_000, 30_000):
        small = numbers(kernel, pattern, 1_000)
        spread = [
            np.lib.stride_tricks.as_strided(a[0], (count, *a.shape[1:]), (0, *a.strides[1:])) if has else a
            for a, has in zip(small, pattern, strict=True)
        ]
        result = kernel(*spread)
        assert np.isfinite(result).all()
        found.append(kernel.stats["arena_bytes"])
    assert found[0] == found[-1] > 0
    assert found[0] < 4 << 20


def test_tiles_of_samples_that_are_large_are_short() -> None:
    kernel = sd.compile("sum(inv(A) * y[:, None, None], axis=0)", A=("n", 20, 20), y="n", backend="interpreter")
    reference = sd.compile("sum(inv(A) * y[:, None, None], axis=0)", A=("n", 20, 20), y="n", backend="numpy")
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(5, 1500, 20, 20)) + 10 * np.eye(20), rng.normal(size=(5, 1500))
    near(kernel(A, y), reference(A, y))
    assert kernel.stats["arena_bytes"] < 32 << 20


def test_positions_share_no_memory_with_numbers() -> None:
    """Which rows a factorization exchanged is told by integers, in tiles that hold other arrays as well."""
    text, shapes = "solve(X.T @ X + S, X.T @ y)", {"X": ("n", 40), "y": "n", "S": (40, 40)}
    kernel, reference = (sd.compile(text, shapes=shapes, backend=b) for b in ("interpreter", "numpy"))
    rng = np.random.default_rng(0)
    X, y, S = rng.normal(size=(2, 512, 40)), rng.normal(size=512), np.tile(np.eye(40), (2, 1, 1))
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 1e-3)):
        arrays = [array.astype(dtype) for array in (X, y, S)]
        near(kernel(*arrays), reference(*arrays), tolerance)


@pytest.mark.parametrize("formula", FORMULAS)
def test_calls_go_to_plans_without_python(formula: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call of a kind does not take the long way."""
    for reduce in (None, "sum"):
        kernel = compiled(formula, reduce=reduce)
        for pattern in patterns(kernel)[:8]:
            for dtype in (np.float64, np.float32):
                arrays = [array.astype(dtype) for array in numbers(kernel, pattern, 70)]
                wanted = kernel(*arrays)
                with monkeypatch.context() as patch:
                    patch.setattr(sd.Kernel, "_call", lambda *_: pytest.fail("the long way"))
                    assert np.array_equal(kernel(*arrays), wanted)
                    assert np.array_equal(kernel(*arrays, out=np.empty_like(wanted)), wanted)
                    longer = [np.concatenate([a, a]) if has else a for a, has in zip(arrays, pattern, strict=True)]
                    kernel(*longer)  # the length of the batch is open


def test_calls_of_other_sizes_and_patterns_in_turn() -> None:
    kernel = sd.compile("tanh(A @ x) * s", A=("m", "n"), x="n", s=(), backend="interpreter")
    rng = np.random.default_rng(0)
    for turn in range(60):  # more kinds than are kept
        m, n, count = rng.integers(1, 50, 3)
        lead = [(count,) if has else () for has in rng.integers(0, 2, 3)]
        A, x, s = (rng.normal(size=(*own, *shape)) for own, shape in zip(lead, ((m, n), (n,), ()), strict=True))
        got = kernel(A, x, s)
        near(got, np.tanh((A @ x[..., None])[..., 0]) * s[..., None])
        assert got.shape == (*np.broadcast_shapes(*lead), m), turn


def test_threads_share_a_kernel() -> None:
    kernel = compiled(NET_GRADIENT, backend="auto")
    chosen = patterns(kernel)
    inputs = [numbers(kernel, pattern, 30 + k) for k, pattern in enumerate(chosen)]
    reference = compiled(NET_GRADIENT, backend="numpy")
    wanted = [reference(*arrays) for arrays in inputs]
    wrong: list[tuple[bool, ...]] = []

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).integers(0, len(inputs), 60)
        wrong.extend(chosen[k] for k in order if not np.allclose(kernel(*inputs[k]), wanted[k], rtol=1e-9, atol=1e-9))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_child(kernel: sd.Kernel, arrays: list[Array], wanted: Array, result: Any) -> None:
    result.put(bool(np.allclose(kernel(*arrays), wanted)))


@pytest.mark.parametrize("formula", [NET, DETERMINANT])
def test_kernels_work_after_a_fork_and_a_pickle(formula: tuple[str, dict[str, Any]]) -> None:
    kernel = compiled(formula, threads=2)
    pattern = tuple(parameter.name == "x" for parameter in kernel.inputs)
    arrays = numbers(kernel, pattern, 300)
    wanted = kernel(*arrays)
    copy = pickle.loads(pickle.dumps(kernel))
    assert np.array_equal(copy(*arrays), wanted)
    context = multiprocessing.get_context("fork")
    result = context.Queue()
    child = context.Process(target=_in_child, args=(kernel, arrays, wanted, result))
    child.start()
    assert result.get(timeout=60)
    child.join()
