"""Complex arrays as pairs of real symbolic arrays, and discrete Fourier transforms.

Graph, calculus and kernels stay real. A kernel takes and gives complex numbers, ``sd.compile(w, [z])``, or the parts,
``sd.compile(w.parts, z.parts)``. A real result of a complex input has derivatives with respect to both parts, which
``wirtinger`` joins. A function of NumPy's is one here, and its name in ``FUNCTIONS``.

A transform of n numbers is a product with a constant matrix of cosines and one of sines. A length that is a product of
two is taken in two steps, as Cooley and Tukey do (1965): n numbers are a matrix, whose columns are transformed, turned
and transformed along its rows, so the cost is n (n1 + n2). The result is linear, and its derivative a constant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from ..errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ..frontend.array import Array, asarray
from ..frontend.derivatives import gradient
from ..frontend.outputs import ComplexParts
from ..frontend.symbols import array, stop_gradient
from ..graph import constant, number
from ..graph.deltas.einsum import is_zero
from ..graph.scalars.functions import apply as apply_node
from ..graph.traversal import inputs_of
from ..ground.budget import limits, reserve
from ..ground.guard import guarded, guarded_operators

#: Functions of complex arrays by NumPy's names, which ``functions`` adds.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


@guarded_operators
class ComplexArray(ComplexParts):
    """A complex array of symbols: two real arrays of one shape.

    Made by :func:`complex_array`, and by calculating with those. Operators and NumPy's functions work on it as they do
    on an array of complex numbers; what is not offered is refused by name.
    A quotient is nan where the divisor is 0 or infinite.

    Parameters
    ----------
    real, imag : Array
        The parts, of one shape.

    Raises
    ------
    ShapeError
        If the shapes of the parts differ.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> z = sd.complex_array("z")
    >>> (z * np.conj(z)).real
    z_re * z_re + z_im * z_im
    """

    __slots__ = ("imag", "real")
    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, real: Any, imag: Any) -> None:
        self.real, self.imag = asarray(real), asarray(imag)
        if self.real.shape != self.imag.shape:
            raise ShapeError(
                f"a real part of shape {self.real.shape} and an imaginary part of shape {self.imag.shape}; "
                "expected one shape"
            )

    @property
    def parts(self) -> tuple[Array, Array]:
        """The real and the imaginary part, for :func:`compile` and derivatives."""
        return self.real, self.imag

    @property
    def shape(self) -> Any:
        """The shape of both parts."""
        return self.real.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.real.ndim

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.real.size

    @property
    def name(self) -> str | None:
        """The name of an input; None for any other array."""
        found = [part.node.name if part.node.is_input else "" for part in self.parts]
        name = found[0].removesuffix("_re")
        return name if found == [f"{name}_re", f"{name}_im"] else None

    @property
    def T(self) -> ComplexArray:
        """The axes in reverse order, without conjugation."""
        return ComplexArray(self.real.T, self.imag.T)

    def conj(self) -> ComplexArray:
        """Return the conjugate."""
        return ComplexArray(self.real, -self.imag)

    def __repr__(self) -> str:
        return f"ComplexArray({self.real}, {self.imag})"

    def __getitem__(self, key: Any) -> ComplexArray:
        return ComplexArray(self.real[key], self.imag[key])

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Iterator[ComplexArray]:
        return map(ComplexArray, self.real, self.imag)

    def __neg__(self) -> ComplexArray:
        return ComplexArray(-self.real, -self.imag)

    def __pos__(self) -> ComplexArray:
        return self

    def __abs__(self) -> Any:
        return FUNCTIONS["abs"](self)

    def __add__(self, other: Any) -> Any:
        return FUNCTIONS["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return FUNCTIONS["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return FUNCTIONS["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return FUNCTIONS["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return FUNCTIONS["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return FUNCTIONS["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return FUNCTIONS["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return FUNCTIONS["divide"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return FUNCTIONS["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return FUNCTIONS["matmul"](other, self)

    def __pow__(self, other: Any) -> Any:
        return FUNCTIONS["power"](self, other)

    def __lt__(self, other: Any) -> NoReturn:
        raise UnsupportedError("a comparison of complex arrays; compare abs(z), z.real or z.imag")

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other: object) -> NoReturn:
        raise UnsupportedError("== of complex arrays; compare z.real and z.imag")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise UnsupportedError("a complex array where a real one is expected; write z.real and z.imag")

    @guarded
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if kwargs:
            raise UnsupportedError(f"np.{name} of complex arrays with {', '.join(kwargs)}=; leave it out")
        return function_of(name)(*inputs)

    @guarded
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__module__ == "numpy.fft":
            return transform(func.__name__, args, kwargs)
        if args and func.__name__ in _ON_PARTS and isinstance(args[0], ComplexArray):
            first, *rest = args
            # initial= would be added to both parts, so that only what says where elements are goes on.
            strange = [name for name in kwargs if name not in _PLACES]
            if strange or len(rest) > 3:
                raise UnsupportedError(
                    f"np.{func.__name__} of complex arrays with {', '.join(strange) or 'more arguments'}; expected "
                    f"none but {', '.join(sorted(_PLACES))}"
                )
            return ComplexArray(func(first.real, *rest, **kwargs), func(first.imag, *rest, **kwargs))
        return function_of(func.__name__)(*args, **kwargs)


#: Functions of NumPy that move or add elements, and so work on each part.
_ON_PARTS = frozenset(
    (
        *("sum", "mean", "trace", "diagonal", "transpose", "reshape", "ravel", "squeeze", "swapaxes", "expand_dims"),
        *("flip", "moveaxis", "cumsum", "roll"),
    )
)

_PLACES = frozenset(
    (
        *("axes", "axis", "axis1", "axis2", "keepdims", "newshape", "offset", "order", "shape", "source"),
        *("destination", "shift"),
    )
)


def apply(name: str, args: Any) -> Any:
    """Apply a function to arrays of which some are complex numbers."""
    return function_of(name)(*args)


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of complex arrays that has a name of NumPy's."""
    if name not in FUNCTIONS:
        offered = ", ".join(sorted({*FUNCTIONS, *_ON_PARTS}))
        raise UnsupportedError(
            f"np.{name} of complex arrays is not offered; write it with z.real and z.imag, or with {offered}"
        )
    return FUNCTIONS[name]


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
        real, imag = value.parts
        if _is_zero(real) and _is_zero(imag):
            return real, imag
        return (None if _is_zero(real) else real), (None if _is_zero(imag) else imag)
    real, imag = _pair(value)
    if isinstance(value, Array):
        return real, None
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "buifc" or not numbers.any():
        return real, None
    return (real if numbers.real.any() else None), (imag if numbers.imag.any() else None)


def _times(x: Array, y: Array) -> Any:
    """Multiply; 1 of ``1j`` is no factor to show."""
    for factor, other in ((x, y), (y, x)):
        if factor.shape == () and number(factor.node) == 1.0:
            return other
    return x * y


def _dot_of_all(one: Any, other: Any) -> Any:
    return np.dot(np.ravel(one), np.ravel(other))


def _is_zero(part: Array) -> bool:
    """Tell whether a part is the 0 that the imaginary part of a real number is, or the real part of ``1j * x``."""
    return is_zero(part.node)


def _sum(a: Array, c: Array) -> Array:
    if _is_zero(c) and c.shape in ((), a.shape):
        return a
    return c if _is_zero(a) and a.shape in ((), c.shape) else a + c


def _add(one: Any, other: Any) -> ComplexArray:
    (a, b), (c, d) = _pair(one), _pair(other)
    return ComplexArray(_sum(a, c), _sum(b, d))


def _subtract(one: Any, other: Any) -> ComplexArray:
    (a, b), (c, d) = _pair(one), _pair(other)
    return ComplexArray(*(x if _is_zero(y) and y.shape in ((), x.shape) else x - y for x, y in ((a, c), (b, d))))


def _divide(one: Any, other: Any) -> ComplexArray:
    # The quotient does not depend on the scale, which keeps squares in range: so the scale has no derivative.
    (a, b), (c, d) = _pair(one), _pair(other)
    if _is_zero(d) or _is_zero(c):
        by, (real, imag) = (c, (a, b)) if _is_zero(d) else (d, (b, -a))
        return ComplexArray(*(x if _is_zero(x) and by.shape in ((), x.shape) else x / by for x in (real, imag)))
    scale = stop_gradient(np.maximum(abs(c), abs(d)))
    c, d = c / scale, d / scale
    size = (c * c + d * d) * scale
    product = FUNCTIONS["multiply"](one, ComplexArray(c, -d))
    return ComplexArray(product.real / size, product.imag / size)


def absolute(z: ComplexArray) -> Any:
    """Return the absolute value, in range where its square is not."""
    found: Any = np.hypot(*z.parts)
    return found


def _exp(z: ComplexArray) -> ComplexArray:
    if _is_zero(z.real):
        return ComplexArray(np.cos(z.imag), np.sin(z.imag))
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
    "multiply": _bilinear(_times),
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


@guarded
def complex_array(name: str, *shape: Any) -> ComplexArray:
    """Return a complex input: the pair of the real inputs ``name_re`` and ``name_im``.

    Parameters
    ----------
    name : str
    *shape : int or str
        Sizes, as :func:`array` takes them.

    Examples
    --------
    >>> import symdiff as sd
    >>> z = sd.complex_array("z", "n")
    >>> abs(z)
    hypot(z_re, z_im)
    """
    return ComplexArray(array(f"{name}_re", shape), array(f"{name}_im", shape))


@guarded
def wirtinger(f: Any, z: ComplexArray) -> ComplexArray:
    """Return the gradient of a real scalar with respect to a complex input, ∂f/∂Re z + i ∂f/∂Im z.

    This is 2 ∂f/∂conj(z), the direction in which f grows fastest, and PyTorch's convention; ``jax.grad`` returns the
    conjugate. Its parts are ∂f/∂Re z and ∂f/∂Im z. Source: Kreutz-Delgado 2009, The Complex Gradient Operator.

    Parameters
    ----------
    f : Array
        A real scalar, such as ``abs(z @ a)``.
    z : ComplexArray
        An input, as :func:`complex_array` gives it.

    Raises
    ------
    ArgumentError
        If f is complex, or z is not.

    Examples
    --------
    >>> import symdiff as sd
    >>> z = sd.complex_array("z")
    >>> wirtinger(z.real**2 + z.imag**2, z)
    ComplexArray(2 * z_re, 2 * z_im)
    """
    if isinstance(f, ComplexArray):
        raise ArgumentError("a complex result; expected a real one: f.real, f.imag or abs(f)")
    if not isinstance(z, ComplexArray):
        raise ArgumentError(f"z came as {type(z).__name__}; expected sd.complex_array('z', ...)")
    known = inputs_of([asarray(f).node])
    some = any(part.node in known for part in z.parts)  # f may depend on one of the parts
    return ComplexArray(*gradient(f, list(z.parts), disconnected="zero" if some else "error"))


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
