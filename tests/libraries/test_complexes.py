"""Complex arrays as pairs of real ones, and Fourier transforms: values against NumPy."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd

FORMULAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product": lambda A, x, y: (A @ x) * (2 - 1j) - y,
    "quotient": lambda A, x, y: (1 + 2j) / x + y / x,
    "real left": lambda A, x, y: x.real * y + x.real - y + (x.imag - y) / y,
    "matrix left": lambda A, x, y: A.real @ x,
    "exp": lambda A, x, y: np.exp(x) + np.log(y),
    "sin": lambda A, x, y: np.sin(x) - np.cos(y),
    "power": lambda A, x, y: x**5 + np.power(y, 2),
    "solve": lambda A, x, y: np.linalg.solve(A, x),
    "solve real": lambda A, x, y: np.linalg.solve(A * 3, x.real),
    "vdot": lambda A, x, y: np.vdot(x, y) + np.vdot(A, A * 1j) + np.inner(x, y) + np.sum(np.outer(x, y)),
    "shapes": lambda A, x, y: np.trace(A) * x[0] + np.mean(A.T, axis=0)[1:],
    "roots": lambda A, x, y: np.sqrt(x) + 1 / np.sqrt(-y) + np.reciprocal(x) + np.square(y),
    "hyperbolic": lambda A, x, y: np.sinh(x) - np.cosh(y) + np.tanh(x) * np.tan(y),
    "inverse": lambda A, x, y: np.linalg.inv(A) @ x + np.einsum("ij,j->i", A, y) + np.einsum("ii->i", A),
    "joined": lambda A, x, y: np.concatenate([x, y]) * 2j + np.kron([1.0, 1j], x) + np.sum(np.stack([x, y]), axis=0)[0],
    "signals": lambda A, x, y: np.convolve(x, y) + np.correlate(x, y, "full") * np.convolve(y, y),
    "lengths": lambda A, x, y: x * np.linalg.norm(y) + np.linalg.norm(A) + np.log10(x) - np.log2(y),
    "constants": lambda A, x, y: np.array([1j, 2, 3 - 1j]) * np.conj(x),
}


def members(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((3, 3), (3,), (3,))]


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_gradients(name: str) -> None:
    """A result is NumPy's, and a gradient that of central differences along real and imaginary directions."""
    symbols = [sd.complex_array("A", "n", "n"), sd.complex_array("x", "n"), sd.complex_array("y", "n")]
    if name == "constants":
        symbols = [sd.complex_array("A", 3, 3), sd.complex_array("x", 3), sd.complex_array("y", 3)]
    inputs = [part for z in symbols for part in z.parts]
    result = FORMULAS[name](*symbols)
    kernel = sd.compile(result.parts, inputs)
    f = np.sum(np.sin(abs(result)) + result.real * np.angle(result))
    slope = sd.compile(sd.wirtinger(f, symbols[1]).parts, inputs)

    def reference(A: Any, x: Any, y: Any) -> Any:
        w = FORMULAS[name](A, x, y)
        return np.sum(np.sin(abs(w)) + w.real * np.angle(w))

    for seed in range(3):
        A, x, y = members(seed)
        parts = [part for z in (A, x, y) for part in (z.real.copy(), z.imag.copy())]
        re, im = kernel(*parts)
        np.testing.assert_allclose(re + 1j * im, FORMULAS[name](A, x, y), rtol=1e-11, atol=1e-12)
        found = np.add(*(one * unit for one, unit in zip(slope(*parts), (1, 1j), strict=True)))
        for k, h in ((k, h) for k in range(3) for h in (1e-6, 1e-6j)):
            step = np.eye(3)[k] * h
            expected = (reference(A, x + step, y) - reference(A, x - step, y)) / 2e-6
            got = found[k].real if isinstance(h, float) else found[k].imag
            assert got == pytest.approx(expected, rel=2e-6, abs=2e-6), (name, seed, k, h)


def test_quotients_stay_in_range() -> None:
    """Squares of what is divided by may leave the range of numbers, and the quotient and its slope do not."""
    z = sd.complex_array("z")
    w = 1e200 / z
    kernel = sd.compile([*w.parts, abs(z)], z.parts)
    got = kernel(3e200, 4e200)
    np.testing.assert_allclose(got, [0.12, -0.16, 5e200], rtol=1e-14)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda z: z < 1, "abs"),
        (lambda z: z == 1, "z.real"),
        (np.arctan, "not offered"),
        (lambda z: z**0.5, "np.exp"),
        (lambda z: z**-1, "1 / z"),
        (lambda z: sd.hessian(np.sum(abs(z)), z), "z.real"),
        (lambda z: sd.jacobian(z * z, z), "structure"),
        (lambda z: sd.compile(z * z, [z])(["a", "b", "c"]), "complex numbers"),
        (lambda z: sd.compile(z * z, [z])([1j, 2j]), "shape"),
        (lambda z: np.sum(z, initial=1.0), "initial"),
        (lambda z: sd.wirtinger(sd.scalar("t"), z), "depend"),
        (lambda z: sd.wirtinger(z * z, z), "expected a real one"),
        (lambda z: sd.wirtinger(z.real.sum(), z.real), "complex_array"),
        (lambda z: sd.ComplexArray(z.real, z.imag[0]), "one shape"),
    ],
)
def test_what_is_not_offered_is_refused(wrong: Callable[[Any], Any], said: str) -> None:
    """What is refused says what to write."""
    with pytest.raises(sd.SymdiffError, match=said):
        wrong(sd.complex_array("z", 3))


def test_roots_and_tangents_at_hard_points() -> None:
    """Both sides of the cut, 0, numbers whose squares are out of range, and a tangent whose exponentials are."""
    z: Any = sd.complex_array("z")
    points = [-1 + 0j, complex(-1, -0.0), 0j, 1e300 - 1e300j, -1e-300 + 1e-310j, 2j, -4 + 1e-200j]
    root = sd.compile(np.sqrt(z).parts, z.parts)
    for point in points:
        re, im = root(point.real, point.imag)
        want = np.sqrt(point)
        np.testing.assert_allclose([re, im], [want.real, want.imag], rtol=1e-15)
        assert np.signbit(im) == np.signbit(want.imag)
    tangent = sd.compile(np.tanh(z).parts, z.parts)
    for point in (800 + 1j, -800 - 3j, 1e-9 + 1.5707963j, 1e-300 + 1e-300j):
        re, im = tangent(point.real, point.imag)
        want = np.tanh(point)
        np.testing.assert_allclose(re + 1j * im, want, rtol=1e-7 if abs(want) > 1e3 else 1e-14, atol=1e-300)


def test_kernels_take_and_give_complex_numbers() -> None:
    """Arrays of either precision, lists, batches, views and names; the gradient of a real result, and pickles."""
    z, t = sd.complex_array("z", 3), sd.scalar("t")
    kernel = sd.compile(t * np.exp(z) * 2j + np.array([1j, 2, 3]), [z, t])
    rng = np.random.default_rng(5)
    batch = rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))

    def wanted(w: Any) -> Any:
        return 0.5 * np.exp(w) * 2j + np.array([1j, 2, 3])

    for given in (batch[:, ::2], batch[0, :3], batch[0, 2::-1], [1j, 2, 3 - 1j], np.arange(3)):
        got = kernel(given, 0.5)
        assert got.dtype == complex
        np.testing.assert_allclose(got, wanted(np.asarray(given)), rtol=1e-14)
    assert kernel(batch[0, :3].astype(np.complex64), np.float32(0.5)).dtype == np.complex64
    out = np.empty(3, complex)
    assert kernel(z=batch[0, :3], t=0.5, out=out) is out
    np.testing.assert_array_equal(out, kernel(batch[0, :3], 0.5))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(batch[0, :3], 0.5), out)
    one = sd.compile(z[0] * z[1], z)(batch[0, :3])
    assert isinstance(one, np.complex128)
    infinite = sd.compile(z + 1.0, [z])([complex(np.inf, 0), 1, 2])
    np.testing.assert_array_equal(infinite.imag, 0)
    symbolic = kernel(sd.complex_array("q", 3), 2.0)
    assert isinstance(symbolic, sd.ComplexArray)
    f = np.sum(abs(z) ** 2 * t)
    slope = sd.compile({"slope": sd.gradient(f, z), "by t": sd.gradient(f, t)}, [z, t])(batch[0, :3], 2.0)
    np.testing.assert_allclose(slope["slope"], 4 * batch[0, :3], rtol=1e-13)
    assert sd.compile(sd.jvp(f, z, np.array([1j, 0, 0])), [z, t])([1 + 3j, 0.5, 0.5], 2.0) == pytest.approx(12)


def test_real_arrays_times_complex_numbers() -> None:
    """A real array and a complex number are a complex array, whatever comes first."""
    x = sd.vector("x", 3)
    turned = np.array([1j, -1, 2 + 1j])
    kernel = sd.compile([x * 1j, 2 - 1j + x, turned * x, x / turned, np.exp(1j * x)], [x])
    at = np.array([0.5, 1.0, -2.0])
    for got, want in zip(kernel(at), (at * 1j, 2 - 1j + at, turned * at, at / turned, np.exp(1j * at)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15, atol=1e-300)


# ---------------------------------------------------------------------------- fourier
# Fourier transforms of symbols: NumPy's on random numbers, of random lengths, axes, sizes and norms.


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


def test_parts_that_are_0_by_how_they_are_written_are_left_out() -> None:
    """Impedances and transfer functions at ``1j * w`` read as in a book, and have NumPy's values."""
    w, r, c = sd.scalar("w"), sd.scalar("r"), sd.scalar("c")
    z = r + 1 / (1j * w * c) + 2j * w
    assert str(abs(z)) == "hypot(r, 2 * w - 1 / (w * c))"
    assert str((1j * w) ** 2) == "ComplexArray(-w * w, 0)"
    assert str(np.exp(1j * w)) == "ComplexArray(cos(w), sin(w))"
    low = r / (1 + 1j * w * c)
    assert str(sd.gradient(np.angle(low), w)) == "-c / (1 + w ** 2 * c ** 2)"
    numbers: Any = {"w": 0.7, "r": 1.3, "c": 0.4}
    for formula, value in (
        (z, 1.3 + 1 / (0.28j) + 1.4j), (low, 1.3 / (1 + 0.28j)), (1j * w / (2j + w), 0.7j / (2j + 0.7)),
        (low / (1j * w), 1.3 / (1 + 0.28j) / 0.7j), (1j * w - 1j * w * low, 0.7j - 0.7j * 1.3 / (1 + 0.28j)),
    ):  # fmt: skip
        parts = [part.substitute({name: numbers[name] for name in ("w", "r", "c")
                                  if name in map(str, part.inputs)}) for part in formula.parts]  # fmt: skip
        np.testing.assert_allclose(complex(*map(float, parts)), value, rtol=1e-13)
