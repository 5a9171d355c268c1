"""Discrete Fourier transforms of symbols, under the names that ``numpy.fft`` has.

A transform of n numbers is a product with a constant matrix of cosines and one of sines. A length that is a product of
two is taken in two steps, as Cooley and Tukey do (1965): n numbers are a matrix, whose columns are transformed, turned
and transformed along its rows, so the cost is n (n1 + n2). The result is linear, and its derivative a constant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ...frontend.array import Array, asarray
from ...ground.budget import limits, reserve
from .array import ComplexArray

#: The real and the imaginary part; None for that of a real array.
Parts = tuple[Array, Array | None]

#: Length up to which one product with a matrix is taken.
_SHORT = 32


def transform(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what NumPy's function of this name in ``numpy.fft`` gives of symbols.

    Parameters
    ----------
    name : str
        Such as ``"rfft"``.
    args, kwargs
        As NumPy's function takes them; an array of symbols, real or complex, first.

    Returns
    -------
    ComplexArray or Array

    Raises
    ------
    UnsupportedError
        For another name, and for an axis whose length is a letter.
    ArgumentError, ShapeError
        If a length, a shape or an axis does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> x = sd.vector("x", 4)
    >>> k = sd.compile(np.fft.rfft(x), [x])
    >>> k([1.0, 2.0, 3.0, 4.0]).round(12)
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    if name not in _TRANSFORMS:
        raise UnsupportedError(f"np.fft.{name} of symbols; known: {', '.join(_TRANSFORMS)}")
    return _TRANSFORMS[name](*args, **kwargs)


# ---------------------------------------------------------------------------- one axis


def _fft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ComplexArray:
    return _along(a, n, axis, norm, out, backward=False)


def _ifft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ComplexArray:
    return _along(a, n, axis, norm, out, backward=True)


def _rfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ComplexArray:
    if isinstance(a, ComplexArray):
        raise UnsupportedError("np.fft.rfft of a complex array; expected a real one, such as z.real")
    length = _length(a, n, axis)
    z = _fft(a, length, axis, norm, out)
    return z[_until(z.ndim, axis, length // 2 + 1)]


def _ihfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ComplexArray:
    return _rfft(a, n, axis, _other(norm), out).conj()


def _irfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    z = _complex(a)
    known = _length(z, None, axis)
    length = 2 * (known - 1) if n is None else _length(z, n, axis)
    if length < 1:
        raise ArgumentError(f"irfft to {length} numbers; expected 1 at least")
    real, imag = _resized(z.parts, length // 2 + 1, axis)
    return _along(_hermitian(ComplexArray(real, imag), length, axis), length, axis, norm, out, backward=True).real


def _hfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return _irfft(_complex(a).conj(), n, axis, _other(norm), out)


def _along(a: Any, n: Any, axis: int, norm: str | None, out: Any, *, backward: bool) -> ComplexArray:
    if out is not None:
        raise UnsupportedError("a Fourier transform of symbols with out=; use the value returned")
    length = _length(a, n, axis)
    z = _resized(_parts(a), length, axis)
    found = _dft(_each(np.moveaxis, z, axis, -1), length, 1.0 if backward else -1.0)
    scale = _scale(norm, length, backward)
    real, imag = _each(np.moveaxis, found, -1, axis)
    assert imag is not None  # as that of a product with complex numbers
    return ComplexArray(real, imag) if scale == 1.0 else ComplexArray(real * scale, imag * scale)


def _dft(z: Parts, n: int, sign: float) -> Parts:
    """Return sums of exp(sign 2 pi i j k / n) z_j along the last axis."""
    first = _factor(n)
    if n <= _SHORT or first == 1:
        return _product(np.matmul, z, _roots(np.arange(n)[:, None] * np.arange(n), n, sign))
    second = n // first
    lead = z[0].shape[:-1]
    # j = second a + b and k = first d + c: sums over a, turned by b c, and then sums over b
    rows = _each(np.reshape, z, (*lead, first, second))
    columns = _dft(_each(np.swapaxes, rows, -1, -2), first, sign)  # [..., b, c]
    twiddled = _product(np.multiply, columns, _roots(np.arange(second)[:, None] * np.arange(first), n, sign))
    found = _dft(_each(np.swapaxes, twiddled, -1, -2), second, sign)  # [..., c, d]
    return _each(np.reshape, _each(np.swapaxes, found, -1, -2), (*lead, n))


def _product(product: Callable[..., Any], z: Parts, numbers: Any) -> Parts:
    """Multiply by complex numbers; a real array takes one product for each part."""
    real, imag = z
    c, s = numbers.real.copy(), numbers.imag.copy()
    if imag is None:
        return product(real, c), product(real, s)
    return product(real, c) - product(imag, s), product(real, s) + product(imag, c)


def _factor(n: int) -> int:
    """Return the largest divisor up to the root of n."""
    return max(d for d in range(1, math.isqrt(n) + 1) if n % d == 0)


def _roots(powers: Any, n: int, sign: float) -> Any:
    """Return exp(sign 2 pi i p / n), exact at the quarters of a turn."""
    if powers.size > limits().elements:
        raise LimitError(
            f"a Fourier transform with a matrix of {powers.size} numbers, more than {limits().elements}, the limit; "
            "take a length that is a product of small numbers"
        )
    reserve(16 * powers.size)
    # a quarter of a turn, and the rest of at most an eighth, where both functions have their digits
    powers = powers % n
    quarter = (8 * powers + n) // (2 * n)
    angle = (4 * powers - quarter * n) * (0.5 * np.pi / n)
    c, s = np.cos(angle), np.sin(angle)
    cosine = np.choose(quarter % 4, [c, -s, -c, s])
    sine = np.choose(quarter % 4, [s, c, -s, -c])
    return cosine + 1j * (sign * sine)


# ---------------------------------------------------------------------------- several axes


def _several(one: Callable[..., Any]) -> Callable[..., ComplexArray]:
    def run(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> ComplexArray:
        sizes, chosen = _sizes_and_axes(a, s, axes)
        for size, axis in zip(sizes[::-1], chosen[::-1], strict=True):
            a = one(a, size, axis, norm, out)
        result: ComplexArray = a
        return result

    return run


_fftn, _ifftn = _several(_fft), _several(_ifft)


def _rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> ComplexArray:
    sizes, chosen = _sizes_and_axes(a, s, axes)
    z = _rfft(a, sizes[-1], chosen[-1], norm, out)
    return _fftn(z, sizes[:-1], chosen[:-1], norm, out) if len(chosen) > 1 else z


def _irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    sizes, chosen = _sizes_and_axes(a, s, axes)
    z = _ifftn(a, sizes[:-1], chosen[:-1], norm, out) if len(chosen) > 1 else a
    return _irfft(z, sizes[-1], chosen[-1], norm, out)


def _of_two(several: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Any:
        return several(a, s, axes, norm, out)

    return run


def _sizes_and_axes(a: Any, s: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """Return the lengths of a transform along several axes, None where an axis keeps its own, and the axes."""
    rank = a.ndim
    if axes is None:
        count = rank if s is None else len(s)
        chosen = list(range(rank - count, rank))
    else:
        chosen = [operator.index(axis) for axis in axes]
    sizes = [None] * len(chosen) if s is None else [None if n == -1 else n for n in s]
    if len(sizes) != len(chosen) or not chosen:
        raise ShapeError(f"a Fourier transform with s of {len(sizes)} lengths and {len(chosen)} axes; expected as many")
    return sizes, chosen


def _shifted(sign: int) -> Callable[..., Any]:
    def run(x: Any, axes: Any = None) -> Any:
        chosen = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
        for axis in chosen:
            n = _length(x, None, axis)
            x = np.roll(x, n // 2 if sign > 0 else -(n // 2), axis)
        return x

    return run


_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fft": _fft,
    "ifft": _ifft,
    "rfft": _rfft,
    "irfft": _irfft,
    "hfft": _hfft,
    "ihfft": _ihfft,
    "fftn": _fftn,
    "ifftn": _ifftn,
    "rfftn": _rfftn,
    "irfftn": _irfftn,
    "fft2": _of_two(_fftn),
    "ifft2": _of_two(_ifftn),
    "rfft2": _of_two(_rfftn),
    "irfft2": _of_two(_irfftn),
    "fftshift": _shifted(1),
    "ifftshift": _shifted(-1),
}


# ---------------------------------------------------------------------------- parts and shapes


def _parts(a: Any) -> Parts:
    """Return the real and the imaginary part, None for that of a real array."""
    return a.parts if isinstance(a, ComplexArray) else (asarray(a), None)


def _complex(a: Any) -> ComplexArray:
    real, imag = _parts(a)
    return ComplexArray(real, np.zeros_like(real) if imag is None else imag)


def _each(function: Callable[..., Any], z: Parts, *rest: Any) -> Parts:
    real, imag = z
    return function(real, *rest), None if imag is None else function(imag, *rest)


def _length(a: Any, n: Any, axis: int) -> int:
    if a.ndim < 1 or not -a.ndim <= axis < a.ndim:
        raise ShapeError(f"a Fourier transform along axis {axis} of an array with {a.ndim} axes")
    size = a.shape[axis] if n is None else operator.index(n)
    if not isinstance(size, int):
        raise UnsupportedError(f"a Fourier transform along an axis of symbolic size {size}; expected a fixed size")
    if size < 1:
        raise ArgumentError(f"a Fourier transform of {size} numbers; expected 1 at least")
    return size


def _resized(z: Parts, length: int, axis: int) -> Parts:
    """Cut an axis, or put zeros behind it."""
    size, rank = _length(z[0], None, axis), z[0].ndim
    if length <= size:
        return z if length == size else _each(operator.getitem, z, _until(rank, axis, length))
    widths = [(0, 0)] * rank
    widths[axis] = (0, length - size)
    return _each(np.pad, z, widths)


def _until(rank: int, axis: int, stop: int, start: int = 0) -> tuple[slice, ...]:
    key = [slice(None)] * rank
    key[axis] = slice(start, stop)
    return tuple(key)


def _hermitian(half: ComplexArray, n: int, axis: int) -> ComplexArray:
    """Return all n numbers whose first n // 2 + 1 are given: the others are conjugates, and their own are real."""
    count = n // 2 + 1
    own = np.array([0.0 if 2 * k % n == 0 else 1.0 for k in range(count)])
    imag = half.imag * own.reshape([-1 if k == axis % half.ndim else 1 for k in range(half.ndim)])
    rest = half[_until(half.ndim, axis, n - count + 1, 1)]
    return ComplexArray(
        np.concatenate([half.real, np.flip(rest.real, axis)], axis),
        np.concatenate([imag, -np.flip(rest.imag, axis)], axis),
    )


def _scale(norm: str | None, n: int, backward: bool) -> float:
    if norm not in (None, "backward", "forward", "ortho"):
        raise ArgumentError(f"a Fourier transform with norm={norm!r:.40}; expected 'backward', 'forward' or 'ortho'")
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if backward == (norm != "forward") else 1.0


def _other(norm: str | None) -> str | None:
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)
