"""Plans with numbers for letters: few elements of many samples, and sizes that the plan with letters is not for."""

from __future__ import annotations

import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

import symdiff as sd
from symdiff.errors import ShapeError, SingularMatrixError

Array = npt.NDArray[Any]
FORMULAS: dict[str, dict[str, Any]] = {
    "sum(x**2) / max(x)": {"x": "n"},
    "softmax(x) * cumsum(y)": {"x": "n", "y": "n"},
    "gradient(sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2), x)": {"x": "n"},
    "hessian(logsumexp(x), x)": {"x": "n"},
    "gradient(x @ A @ x + logdet(A @ A.T), x)": {"x": "n", "A": ("n", "n")},
    "solve(A, B)": {"A": ("n", "n"), "B": ("n", "m")},
    "gradient(sum(exp(B @ y)), y)": {"y": "m", "B": ("n", "m")},
    "kron(B, B)[0] * s": {"B": ("n", "m"), "s": ()},
    "sort(x) * mean(y)": {"x": "n", "y": "n"},
    "gradient(det(A), A)": {"A": ("n", "n")},
    "gradient(sum(cumprod(x)**2), x) + t": {"x": "n", "t": ()},
}


def numbers(rng: np.random.Generator, kernel: sd.Kernel, sizes: dict[str, int], samples: int) -> list[Array]:
    """Return arguments, of which one at least has a batch."""
    found: list[Array] = []
    for k, parameter in enumerate(kernel.inputs):
        shape = tuple(size if isinstance(size, int) else sizes[str(size)] for size in parameter.shape)
        batch = (samples,) if samples and (k == 0 or rng.random() < 0.7) else ()
        found.append(rng.uniform(0.5, 1.5, (*batch, *shape)))
        if len(shape) == 2 and shape[0] == shape[1]:
            found[-1] += shape[0] * np.eye(shape[0])
    return found


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_all_sizes_give_the_numbers_of_numpy(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(list(FORMULAS)))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    kernel = sd.compile(text, **FORMULAS[text], backend="interpreter")
    reference = sd.compile(text, **FORMULAS[text], backend="numpy")
    for _ in range(4):
        sizes = {name: data.draw(st.sampled_from([1, 2, 3, 5, 8, 15, 16, 32, 33, 40])) for name in "nm"}
        given = numbers(rng, kernel, sizes, data.draw(st.sampled_from([0, 1, 2, 30])))
        got, wanted = np.asarray(kernel(*given)), np.asarray(reference(*given))
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.max(np.abs(wanted), initial=1.0))


@pytest.mark.parametrize("text", FORMULAS)
def test_few_elements_of_many_samples_have_the_bits_of_numbers_for_sizes(text: str) -> None:
    rng = np.random.default_rng(3)
    sizes = {"n": 4, "m": 3}
    kernel = sd.compile(text, **FORMULAS[text])
    shapes = {
        name: tuple(sizes.get(s, s) for s in ((shape,) if isinstance(shape, str) else shape))
        for name, shape in FORMULAS[text].items()
    }
    fixed = sd.compile(text, shapes=shapes)
    given = numbers(rng, kernel, sizes, 50)
    np.testing.assert_array_equal(kernel(*given), fixed(*given))
    assert kernel.wait()
    np.testing.assert_array_equal(kernel(*given), fixed(*given))
    assert "n = 4" in str(kernel.plan)


def test_sizes_too_small_for_the_plan_with_letters_run_in_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = sd.compile("gradient(sum((x[1:] - x[:-1])**2), x)", x="n", backend="interpreter")
    monkeypatch.setattr("symdiff.runtime.runners.numpy.NumpyRunner.run", None)
    for n in (1, 2, 5, 15, 16):
        x = np.random.default_rng(n).normal(size=n)
        wanted = -2 * np.diff(np.r_[0.0, np.diff(x), 0.0])
        np.testing.assert_allclose(kernel(x), wanted, rtol=1e-13, atol=1e-14)


def test_a_reproducible_sample_has_its_bits_alone_and_among_others() -> None:
    kernel = sd.compile("softmax(x) * sum(x**2)", x="n", batch=["x"], reproducible=True)
    for n in (2, 7, 31, 33):
        x = np.random.default_rng(n).normal(size=(19, n))
        np.testing.assert_array_equal(kernel(x), [kernel(row) for row in x])


def test_many_sizes_in_turn() -> None:
    """More than are kept, twice; a pickle of the kernel has none."""
    kernel = sd.compile("outer(x, y) * sum(x)", x="n", y="m", backend="interpreter")
    rng = np.random.default_rng(0)
    for _ in range(2):
        for n in range(1, 13):
            for m in range(1, 9):
                x, y = rng.normal(size=(3, n)), rng.normal(size=(3, m))
                wanted = np.einsum("si,sj,s->sij", x, y, x.sum(axis=1))
                np.testing.assert_allclose(kernel(x, y), wanted, rtol=1e-12, atol=1e-13)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(x, y), kernel(x, y))


def test_what_is_wrong_is_told_as_for_other_sizes() -> None:
    kernel = sd.compile("sum(x[9:] * exp(x[:-9])) + y[0]", x="n", y="m")
    for samples in ((), (5,)):
        with pytest.raises(ShapeError, match="length"):
            kernel(np.ones((*samples, 3)), np.ones((*samples, 4)))
    with pytest.raises(ShapeError, match="n"):
        sd.compile("x + y", x="n", y="n")(np.ones((5, 3)), np.ones((5, 4)))
    A = np.stack([np.eye(3)] * 6)
    A[4] = 1.0
    with pytest.raises(SingularMatrixError) as caught:
        sd.compile("inv(A)", A=("n", "n"))(A)
    assert caught.value.index == (4,)


def test_empty_arrays_and_batches() -> None:
    kernel = sd.compile("exp(x) * sum(x)", x="n")
    for shape in ((0,), (4, 0), (0, 3), (0, 40)):
        assert np.shape(kernel(np.ones(shape))) == shape


def test_custom_functions_keep_their_letters() -> None:
    x = sd.vector("x", "n")
    double = sd.custom(lambda v: 2 * v, name="double", vjp=lambda args, seed: (2 * seed,))
    kernel = sd.compile(sd.gradient(np.sum(double(x) ** 2), x))
    for n in (3, 40):
        X = np.random.default_rng(n).normal(size=(6, n))
        np.testing.assert_allclose(kernel(X), 8 * X, rtol=1e-14)
