"""Fourier transforms of symbols: NumPy's on random numbers, of random lengths, axes, sizes and norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd

REAL = ("rfft", "ihfft", "rfft2", "rfftn")
COMPLEX = ("fft", "ifft", "irfft", "hfft", "fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn")


def symbol(array: Any) -> Any:
    return sd.complex_array("z", *array.shape) if np.iscomplexobj(array) else sd.array("x", array.shape)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], is_real: bool) -> Any:
    real = rng.normal(size=shape)
    return real if is_real else real + 1j * rng.normal(size=shape)


def compare(array: Any, call: Any) -> None:
    x = symbol(array)
    got, want = sd.compile(call(x), [x], backend="numpy")(array), call(array)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13 * max(1.0, abs(want).max()))


@pytest.mark.parametrize("name", [*REAL, *COMPLEX])
def test_random_transforms_are_numpys(name: str) -> None:
    rng = np.random.default_rng(sum(map(ord, name)))
    function = getattr(np.fft, name)
    for _ in range(6):
        norm = str(rng.choice(["backward", "ortho", "forward"]))
        shape = tuple(int(n) for n in rng.integers(2, 7, size=3))
        options: dict[str, Any] = {"norm": norm}
        axes = [int(a) for a in rng.permutation(3)[:2]]
        if name[-1] in "2n":
            options |= {"axes": axes} | (
                {"s": [int(n) for n in rng.integers(2, 8, size=2)]} if rng.random() < 0.5 else {}
            )
        else:
            options |= {"axis": axes[0] - 3} | ({"n": int(rng.integers(1, 9))} if rng.random() < 0.5 else {})
        compare(drawn(rng, shape, name in REAL or rng.random() < 0.3), lambda x, o=options: function(x, **o))


@pytest.mark.parametrize("n", [1, 2, 31, 33, 37, 64, 97, 120, 256, 1009])
def test_lengths(n: int) -> None:
    """Primes, products of many factors, and 1: each within some units of the last place of the largest number."""
    rng = np.random.default_rng(n)
    compare(rng.normal(size=n), np.fft.rfft)
    compare(drawn(rng, (n,), False), np.fft.ifft)
    compare(drawn(rng, (n // 2 + 1,), False), lambda z: np.fft.irfft(z, n))


def test_shifts() -> None:
    rng = np.random.default_rng(2)
    compare(rng.normal(size=(5, 4)), np.fft.fftshift)
    compare(drawn(rng, (5, 4), False), lambda x: np.fft.ifftshift(x, axes=1))


def test_derivatives() -> None:
    """The gradient of a function of a spectrum against complex steps, and Parseval's theorem in a Hessian."""
    n = 36
    rng = np.random.default_rng(3)
    window, at = rng.normal(size=n // 2 + 1), rng.normal(size=n)

    def f(x: Any) -> Any:
        z = np.fft.rfft(x) * window
        return np.sum(np.sin(z.real) * z.imag)

    x = sd.vector("x", n)
    slope = sd.compile(sd.gradient(f(x), x), [x], backend="interpreter")(at)
    cosines = np.fft.rfft(np.eye(n)).T

    def by_parts(t: Any) -> Any:  # NumPy's transform has no analytic continuation: real and imaginary part are linear
        re, im = (cosines.real @ t) * window, (cosines.imag @ t) * window
        return np.sum(np.sin(re) * im)

    wanted = [by_parts(at + 1e-30j * e).imag / 1e-30 for e in np.eye(n)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-12, atol=1e-13)
    hessian = sd.compile(sd.hessian(np.sum(np.fft.fft(x).real ** 2 + np.fft.fft(x).imag ** 2), x), [x], backend="numpy")
    np.testing.assert_allclose(hessian(at), 2 * n * np.eye(n), atol=1e-11)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x: np.fft.fft(sd.vector("y", "n")), "symbolic size"),
        (lambda x: np.fft.fft(sd.vector("y", "n"), 4), "symbolic size"),
        (lambda x: np.fft.rfft(x * 1j), "z.real"),
        (lambda x: np.fft.fft(x, axis=1), "axis 1"),
        (lambda x: np.fft.fft(x, n=0), "1 at least"),
        (lambda x: np.fft.fft(x, norm="other"), "ortho"),
        (lambda x: np.fft.fftn(x, s=(2, 2), axes=(0,)), "as many"),
        (lambda x: np.fft.irfft(x[:1]), "1 at least"),
        (lambda x: np.fft.fft(sd.vector("y", 10007)), "limit"),
    ],
)
def test_what_is_refused(wrong: Any, said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        wrong(sd.vector("x", 4))
