"""Functions of complex arrays, by their parts and without loss where a square would leave the range of numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...frontend.array import Array, asarray
from ...frontend.symbols import stop_gradient
from ...graph import constant
from ...graph.scalars.functions import apply as apply_node
from .array import FUNCTIONS, ComplexArray

#: The largest whole exponent, which takes a product for each of its bits.
_LARGEST = 1024


def _pair(value: Any) -> tuple[Array, Array]:
    """Return the parts of a complex array, and of numbers; those of a real array, whose imaginary part is 0."""
    if isinstance(value, ComplexArray):
        return value.parts
    if not isinstance(value, Array):
        with suppress(ValueError):  # of nested lists of several lengths, which asarray refuses
            numbers = np.asarray(value)
            if numbers.dtype.kind == "c":
                return asarray(numbers.real), asarray(numbers.imag)
    real = asarray(value)
    return real, asarray(np.zeros_like(real))


def _bilinear(product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], ComplexArray]:
    def of(one: Any, other: Any) -> ComplexArray:
        (a, b), (c, d) = _factors(one), _factors(other)
        first, second, third, fourth = (
            None if x is None or y is None else product(x, y) for x, y in ((a, c), (b, d), (a, d), (b, c))
        )
        real = first if second is None else -second if first is None else first - second
        imag = third if fourth is None else fourth if third is None else third + fourth
        if real is None or imag is None:
            real, imag = (np.zeros_like(imag), imag) if real is None else (real, np.zeros_like(real))
        return ComplexArray(real, imag)

    return of


def _factors(value: Any) -> tuple[Array | None, Array | None]:
    """Return the parts of a factor, None for one that is 0, as the imaginary part of a real number."""
    if isinstance(value, ComplexArray):
        return value.parts
    real, imag = _pair(value)
    if isinstance(value, Array):
        return real, None
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "buifc" or not numbers.any():
        return real, None
    return (real if numbers.real.any() else None), (imag if numbers.imag.any() else None)


def _dot_of_all(one: Any, other: Any) -> Any:
    return np.dot(np.ravel(one), np.ravel(other))


def _add(one: Any, other: Any) -> ComplexArray:
    (a, b), (c, d) = _pair(one), _pair(other)
    return ComplexArray(a + c, b + d)


def _subtract(one: Any, other: Any) -> ComplexArray:
    (a, b), (c, d) = _pair(one), _pair(other)
    return ComplexArray(a - c, b - d)


def _divide(one: Any, other: Any) -> ComplexArray:
    # The quotient does not depend on the scale, which keeps squares in range: so the scale has no derivative.
    (a, b), (c, d) = _pair(one), _pair(other)
    scale = stop_gradient(np.maximum(abs(c), abs(d)))
    c, d = c / scale, d / scale
    size = (c * c + d * d) * scale
    return ComplexArray((a * c + b * d) / size, (b * c - a * d) / size)


def absolute(z: ComplexArray) -> Any:
    """Return the absolute value, in range where its square is not."""
    found: Any = np.hypot(*z.parts)
    return found


def _exp(z: ComplexArray) -> ComplexArray:
    size = np.exp(z.real)
    return ComplexArray(size * np.cos(z.imag), size * np.sin(z.imag))


def _log(z: ComplexArray) -> ComplexArray:
    return ComplexArray(np.log(absolute(z)), np.arctan2(z.imag, z.real))


def _sin(z: ComplexArray) -> ComplexArray:
    return ComplexArray(np.sin(z.real) * np.cosh(z.imag), np.cos(z.real) * np.sinh(z.imag))


def _cos(z: ComplexArray) -> ComplexArray:
    return ComplexArray(np.cos(z.real) * np.cosh(z.imag), -np.sin(z.real) * np.sinh(z.imag))


def _sinh(z: ComplexArray) -> ComplexArray:
    return ComplexArray(np.sinh(z.real) * np.cos(z.imag), np.cosh(z.real) * np.sin(z.imag))


def _cosh(z: ComplexArray) -> ComplexArray:
    return ComplexArray(np.cosh(z.real) * np.cos(z.imag), np.sinh(z.real) * np.sin(z.imag))


def _tanh(z: ComplexArray) -> ComplexArray:
    # DLMF 4.35.36, over cosh squared: nothing overflows, and only near a pole is the divisor small
    slope, lean = Array(apply_node("sech", z.real.node)) ** 2, np.tanh(z.real)
    size = lean**2 + np.cos(z.imag) ** 2 * slope
    return ComplexArray(lean / size, np.sin(z.imag) * np.cos(z.imag) * slope / size)


def _tan(z: ComplexArray) -> ComplexArray:
    turned = _tanh(ComplexArray(-z.imag, z.real))
    return ComplexArray(turned.imag, -turned.real)


def _wofz(z: ComplexArray) -> ComplexArray:
    order = constant(0.0)
    parts = (Array(apply_node(f"wofz_{part}", order, z.real.node, z.imag.node)) for part in ("real", "imag"))
    return ComplexArray(*parts)


def _sqrt(z: ComplexArray) -> ComplexArray:
    # DLMF 4.2.25: the part that is no difference first, the other by the product of both
    large = np.sqrt(0.5 * absolute(z) + 0.5 * abs(z.real))
    small = np.where(large > 0, abs(z.imag) / (2 * large), 0.0)
    right = z.real >= 0
    size = np.where(right, small, large)
    below = np.arctan2(z.imag, -1.0) < 0  # of -0.0 as well
    return ComplexArray(np.where(right, large, small), np.where(below, -size, size))


def _power(z: Any, exponent: Any) -> ComplexArray:
    if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer) or not 0 < exponent <= _LARGEST:
        raise UnsupportedError(
            f"a power of complex arrays with the exponent {exponent!r:.40}; expected a whole number from 1 to "
            f"{_LARGEST}; write np.exp(w * np.log(z)), or 1 / z**n"
        )
    result: ComplexArray | None = None
    square, left = z, int(exponent)
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        square = square * square if left else square
    assert result is not None
    return result


def _block(z: Any) -> Any:
    """Return the real matrix [[A, -B], [B, A]] of A + iB, which multiplies as that does."""
    a, b = _pair(z)
    return np.concatenate([np.concatenate([a, -b], axis=1), np.concatenate([b, a], axis=1)])


def _inv(z: ComplexArray) -> ComplexArray:
    if z.ndim != 2:
        raise UnsupportedError(f"np.linalg.inv of complex arrays with {z.ndim} axes; expected a matrix")
    n = z.shape[0]
    found: Any = np.linalg.inv(_block(z))
    return ComplexArray(found[:n, :n], found[n:, :n])


def _joined(function: Callable[..., Any]) -> Callable[..., ComplexArray]:
    def of(arrays: Any, axis: int = 0) -> ComplexArray:
        parts = [_pair(one) for one in arrays]
        return ComplexArray(function([a for a, _ in parts], axis), function([b for _, b in parts], axis))

    return of


def _correlate(a: Any, v: Any, mode: Any = "valid") -> ComplexArray:
    turned = ComplexArray(*_pair(v)).conj()
    return _bilinear(lambda x, y: np.correlate(x, y, mode))(a, turned)


def _norm(z: ComplexArray, ord: Any = None, axis: Any = None) -> Any:
    if ord is not None or axis is not None:
        raise UnsupportedError("a norm of complex arrays with ord or axis; write np.linalg.norm(abs(z), ord, axis)")
    found: Any = np.linalg.norm(np.concatenate([np.ravel(part) for part in z.parts]))
    return found


def _einsum(subscripts: Any, *operands: Any) -> ComplexArray:
    if len(operands) == 1:
        a, b = _pair(operands[0])
        return ComplexArray(np.einsum(subscripts, a), np.einsum(subscripts, b))
    if len(operands) != 2:
        raise UnsupportedError(f"einsum of {len(operands)} operands, some of them complex; expected one or two")
    return _bilinear(lambda a, b: np.einsum(subscripts, a, b))(*operands)


def _solve(one: Any, other: Any) -> ComplexArray:
    # (A + iB)(x + iy) = c + id is [[A, -B], [B, A]] (x, y) = (c, d).
    (a, _), (c, d) = _pair(one), _pair(other)
    if a.ndim != 2 or c.ndim not in (1, 2):
        raise UnsupportedError(
            f"np.linalg.solve of complex arrays with {a.ndim} and {c.ndim} axes; expected a matrix, and a vector or "
            "matrix; give a kernel more by batch axes in front"
        )
    found: Any = np.linalg.solve(_block(one), np.concatenate([c, d]))
    n = a.shape[0]
    return ComplexArray(found[:n], found[n:])


FUNCTIONS |= {
    "abs": absolute,
    "absolute": absolute,
    "add": _add,
    "angle": lambda z: np.arctan2(z.imag, z.real),
    "conj": ComplexArray.conj,
    "conjugate": ComplexArray.conj,
    "concatenate": _joined(np.concatenate),
    "convolve": lambda a, v, mode="full": _bilinear(lambda x, y: np.convolve(x, y, mode))(a, v),
    "correlate": _correlate,
    "cos": _cos,
    "cosh": _cosh,
    "divide": _divide,
    "dot": _bilinear(np.dot),
    "einsum": _einsum,
    "exp": _exp,
    "imag": lambda z: z.imag,
    "inner": _bilinear(np.inner),
    "inv": _inv,
    "kron": _bilinear(np.kron),
    "log": _log,
    "log10": lambda z: _log(z) * (1 / np.log(10.0)),
    "log2": lambda z: _log(z) * (1 / np.log(2.0)),
    "matmul": _bilinear(np.matmul),
    "multiply": _bilinear(np.multiply),
    "negative": ComplexArray.__neg__,
    "norm": _norm,
    "outer": _bilinear(np.outer),
    "power": _power,
    "real": lambda z: z.real,
    "reciprocal": lambda z: _divide(1.0, z),
    "sin": _sin,
    "sinh": _sinh,
    "solve": _solve,
    "sqrt": _sqrt,
    "square": lambda z: z * z,
    "stack": _joined(np.stack),
    "subtract": _subtract,
    "tan": _tan,
    "tanh": _tanh,
    "wofz": _wofz,
    "vdot": lambda a, b: _bilinear(_dot_of_all)(ComplexArray(*_pair(a)).conj(), b),
}
