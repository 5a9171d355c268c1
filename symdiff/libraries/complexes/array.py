"""The complex array: what holds the parts, and hands NumPy's functions to those for complex arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ...errors import ShapeError, UnsupportedError
from ...frontend.array import Array, asarray
from ...frontend.outputs import ComplexParts
from ...ground.guard import guarded, guarded_operators
from ...ground.stages import hook

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
            return hook("fourier").transform(func.__name__, args, kwargs)
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
