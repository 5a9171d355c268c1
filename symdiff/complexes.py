"""Complex arrays as pairs of real symbolic arrays: graph, calculus and kernels stay real.

A complex result is compiled as its parts, ``sd.compile(w.parts, z.parts)``, and a real result of a complex input has
the derivatives by both parts, which :func:`wirtinger` joins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from .errors import ArgumentError, ShapeError, UnsupportedError
from .frontend.array import Array, asarray
from .frontend.derivatives import gradient
from .frontend.symbols import array, stop_gradient
from .graph.scalars.functions import apply as apply_node
from .graph.traversal import inputs_of
from .ground.guard import guarded

#: The largest whole exponent, which takes a product for each of its bits.
_LARGEST = 1024


class ComplexArray:
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

    def __neg__(self) -> ComplexArray:
        return ComplexArray(-self.real, -self.imag)

    def __pos__(self) -> ComplexArray:
        return self

    def __abs__(self) -> Any:
        return absolute(self)

    def __add__(self, other: Any) -> Any:
        return _FUNCTIONS["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return _FUNCTIONS["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return _FUNCTIONS["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return _FUNCTIONS["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return _FUNCTIONS["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return _FUNCTIONS["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return _FUNCTIONS["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _FUNCTIONS["divide"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return _FUNCTIONS["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _FUNCTIONS["matmul"](other, self)

    def __pow__(self, other: Any) -> Any:
        return _FUNCTIONS["power"](self, other)

    def __lt__(self, other: Any) -> NoReturn:
        raise UnsupportedError("a comparison of complex arrays; compare abs(z), z.real or z.imag")

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other: object) -> NoReturn:
        raise UnsupportedError("== of complex arrays; compare z.real and z.imag")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise UnsupportedError(
            "a complex array where a real one is expected; write z.real and z.imag, as in sd.compile(w.parts, z.parts)"
        )

    @guarded
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if kwargs:
            raise UnsupportedError(f"np.{name} of complex arrays with {', '.join(kwargs)}=; leave it out")
        return _function(name)(*inputs)

    @guarded
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
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
        return _function(func.__name__)(*args, **kwargs)


#: Functions of NumPy that move or add elements, and so work on each part.
_ON_PARTS = frozenset(
    ("sum", "mean", "trace", "diagonal", "transpose", "reshape", "ravel", "squeeze", "swapaxes", "expand_dims", "flip")
)

_PLACES = frozenset(("axes", "axis", "axis1", "axis2", "keepdims", "newshape", "offset", "order", "shape"))


def _function(name: str) -> Callable[..., Any]:
    if name not in _FUNCTIONS:
        offered = ", ".join(sorted({*_FUNCTIONS, *_ON_PARTS}))
        raise UnsupportedError(
            f"np.{name} of complex arrays is not offered; write it with z.real and z.imag, or with {offered}"
        )
    return _FUNCTIONS[name]


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
        (a, b), (c, d) = _pair(one), _pair(other)
        return ComplexArray(product(a, c) - product(b, d), product(a, d) + product(b, c))

    return of


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
    result, square, left = None, z, int(exponent)
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        square = square * square if left else square
    assert result is not None
    return result  # type: ignore[no-any-return]


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


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": absolute,
    "absolute": absolute,
    "add": _add,
    "angle": lambda z: np.arctan2(z.imag, z.real),
    "conj": ComplexArray.conj,
    "conjugate": ComplexArray.conj,
    "concatenate": _joined(np.concatenate),
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
    "matmul": _bilinear(np.matmul),
    "multiply": _bilinear(np.multiply),
    "negative": ComplexArray.__neg__,
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
