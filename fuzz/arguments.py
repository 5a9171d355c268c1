"""Wrong arguments: every public function, operation and method returns, or refuses in symdiff's own words.

Where NumPy takes the same call on numbers, the result has NumPy's shape.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import sympy

import symdiff as sd
from symdiff.frontend.numpy.library import DAILY, LIBRARY

#: How an argument is told: ("symbol", which), ("wrong", which), or ("list", arguments).
Told: TypeAlias = tuple[str, Any]
#: Kind of target, its name, arguments by position and by name.
ArgumentCase: TypeAlias = tuple[str, str, list[Told], dict[str, Told]]

SHAPES = ((), (3,), (4,), (1,), (0,), (2, 3), (3, 3), (2, 2), (3, 1), (2, 3, 3), (1, 3), (2, 1, 4))


class _Plain:
    """An object that is nothing that symdiff knows."""


class _Whole:
    def __index__(self) -> int:
        return 1


class _Broken:
    """An object whose own methods fail."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("its own")

    def __index__(self) -> int:
        raise KeyError("its own")


_ENDLESS: list[Any] = []
_ENDLESS.append(_ENDLESS)
#: What no argument should be, and what some may be.
WRONG: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, -2, -3, 5, 10**6, -(10**6), 2**31, 2**63, 2**64, 10**20, -(10**20), 10**400, True, False, None),
    *(1.5, -0.5, 2.0, float("nan"), float("inf"), -float("inf"), 1e308, 1j, complex("nan")),
    *("", "a", "n", "1", "->", "ij,jk->ik", "fro", "x+", "sin(x)", "A@A", "x.__class__", "\x00", "\ud800", b"x"),
    *((), [], (1,), (0,), (-1,), (0, 1), (1, 0), (0, 0), (-1, -1), (2, 3), (3, 2), (3, -1), (-1, 3), (-2, 3), (1.5,)),
    *((True,), (None,), ("a",), [[1, 2], [3]], [[1.0, 2], [3, 4]], [[], []], [None, 1], [1, "a"], ((0,), (1,))),
    *(([0], [0]), ([1, 0], [0, 1]), (0, 1, 2), (10**20,), (2**62, 4), _ENDLESS, {}, {1: 2}, {"x": 1}, {"x": (2,)}),
    *(set(), {0, 1}, range(2), slice(None), slice(1, None), Ellipsis, len, np.float64, "float64", int, sd, object()),
    *(
        _Plain(),
        _Plain,
        _Whole(),
        _Broken(),
        datetime.date(2020, 1, 1),
        decimal.Decimal("1.5"),
        fractions.Fraction(1, 2),
    ),
    *(
        np.datetime64("2020"),
        np.timedelta64(3, "D"),
        np.float32(2),
        np.int8(-1),
        np.int64(1),
        np.uint8(2),
        np.bool_(True),
    ),
    *(np.array(1), np.array([0, 1]), np.array([1.5]), np.array([True, False, True]), np.array(["a"]), np.array([None])),
    np.ma.array([1, 2], mask=[False, True]),
    *(np.array([], int), np.zeros((2, 0)), np.zeros((3, 3)), np.zeros((1,) * 32)),
    *(np.zeros(3, [("a", float)]), np.longdouble(1), bytearray(3), memoryview(b"abc")),
    *(sympy.Symbol("x"), sympy.Function("f")(sympy.Symbol("x")), sympy.zoo, sympy.oo, sympy.nan, sympy.I, sympy.sin),
    *(sympy.MatrixSymbol("A", 2, 2), sympy.Matrix([[sympy.Symbol("x")]]), sympy.Integral(sympy.Symbol("x"))),
)
_KEYWORDS = (
    "axis",
    "keepdims",
    "ddof",
    "k",
    "n",
    "reps",
    "shape",
    "axes",
    "axis1",
    "axis2",
    "offset",
    "M",
    "weights",
    "ord",
    "decimals",
    "source",
    "destination",
    "order",
    "min",
    "max",
    "a_min",
    "a_max",
    "foo",
    "out",
    "dtype",
    "optimize",
)
_PUBLIC_KEYWORDS = (
    "shapes",
    "x",
    "y",
    "A",
    "batch",
    "reduce",
    "batch_axis",
    "threads",
    "accuracy",
    "inputs",
    "at",
    "seed",
    "disconnected",
    "order",
    "wrt",
    "out",
    "name",
    "vjp",
    "jacobian",
    "tangent",
    "vector",
)
#: Public functions that are no operations of the library.
PUBLIC = [
    name
    for name in sd.__all__
    if name not in DAILY and callable(getattr(sd, name)) and not isinstance(getattr(sd, name), type)
]
_UNARY = (
    "__len__",
    "__neg__",
    "__invert__",
    "__abs__",
    "__bool__",
    "__float__",
    "__int__",
    "__index__",
    "__complex__",
    "__str__",
    "__repr__",
    "__hash__",
    "_repr_latex_",
)
_OPERATORS = (
    "__add__",
    "__sub__",
    "__mul__",
    "__truediv__",
    "__floordiv__",
    "__mod__",
    "__pow__",
    "__matmul__",
    "__divmod__",
    "__eq__",
    "__lt__",
    "__ge__",
    "__and__",
    "__xor__",
    "__getitem__",
    "__contains__",
    "__round__",
)
_REFLECTED = tuple(f"__r{name[2:]}" for name in _OPERATORS[:9])
_METHODS = (
    "reshape",
    "transpose",
    "astype",
    "copy",
    "latex",
    "sum",
    "mean",
    "var",
    "dot",
    "trace",
    "diagonal",
    "cumsum",
    "clip",
    "round",
    "squeeze",
    "swapaxes",
    "ravel",
    "take",
    "repeat",
    "all",
    "flatten",
    "T",
    "mT",
    "sympy",
    "dtype",
    "size",
    "nonsense",
    "exp",
)
_OF_KERNELS = (
    "__call__",
    "__call__",
    "__call__",
    "values",
    "source",
    "latex",
    "sympy",
    "backend",
    "stats",
    "signature",
    "address",
    "__repr__",
)


def draw(rng: random.Random) -> ArgumentCase:
    """Draw a target and arguments."""
    kind = rng.choice(("library", "library", "library", "array", "public", "kernel"))
    if kind == "library":
        return _operation(rng)
    keywords: dict[str, Told] = {}
    if kind == "array":
        name = rng.choice((*_UNARY, *_OPERATORS, *_OPERATORS, *_REFLECTED, *_METHODS, *_METHODS))
        count = 0 if name in _UNARY else 1 if name.startswith("__") else rng.randint(0, 3)
        return kind, name, [("symbol", rng.randrange(len(SHAPES))), *(_told(rng) for _ in range(count))], {}
    if kind == "kernel":
        name = rng.choice(_OF_KERNELS)
        count = rng.choice((0, 3, 3, 4)) if name in ("__call__", "values") else rng.randint(0, 1) * (name == "source")
        if name in ("__call__", "values") and rng.random() < 0.4:
            keywords[rng.choice(("out", "inputs", "x", "z"))] = _told(rng)
        return kind, name, [_told(rng) for _ in range(count)], keywords
    for _ in range(rng.randint(0, 2)):
        keywords[rng.choice(_PUBLIC_KEYWORDS)] = _told(rng)
    return kind, rng.choice(PUBLIC), [_told(rng) for _ in range(rng.choice((0, 1, 2, 2, 3)))], keywords


def _operation(rng: random.Random) -> ArgumentCase:
    entry = LIBRARY[name := rng.choice([*LIBRARY])]
    count = rng.randint(0, 4) if rng.random() < 0.1 else rng.randint(entry.least, entry.most or entry.least + 2)
    told = [_told(rng) for _ in range(count)]
    if told and rng.random() < 0.8 and entry.arrays not in ("none", "text"):
        some = [("symbol", rng.randrange(len(SHAPES))) for _ in range(rng.randint(1, 2))] * rng.choice((1, 2))
        told[0] = ("list", some) if entry.arrays in ("list", "rows") else some[0]
    keywords = {}
    if rng.random() < 0.4:
        known = [*entry.keywords, "foo"] if entry.keywords and rng.random() < 0.9 else _KEYWORDS
        keywords[rng.choice(known)] = _told(rng)
    return "library", name, told, keywords


def _told(rng: random.Random) -> Told:
    way = rng.random()
    if way < 0.45:
        return "symbol", rng.randrange(len(SHAPES))
    if way < 0.5:
        return "list", [("symbol", rng.randrange(len(SHAPES))) for _ in range(rng.randint(0, 3))]
    return "wrong", rng.randrange(len(WRONG))


@cache
def _symbol(which: int) -> sd.Array:
    return sd.array(f"a{which}", SHAPES[which])


def _built(told: Told, symbols: Callable[[int], Any]) -> Any:
    kind, which = told
    if kind == "list":
        return [_built(part, symbols) for part in which]
    return symbols(which) if kind == "symbol" else WRONG[which]


def _numbers(which: int) -> Any:
    return np.random.default_rng(which).uniform(0.2, 1.5, SHAPES[which])


@cache
def _kernel() -> sd.Kernel:
    return sd.compile("sum(x*y) + z", x=3, y=3, z=(), backend="interpreter")


def run(case: ArgumentCase) -> str:
    """Make the call; an error that is not symdiff's, or a shape that is not NumPy's, is a finding."""
    kind, name, told, named = case
    args = [_built(one, _symbol) for one in told]
    kwargs = {key: _built(one, _symbol) for key, one in named.items()}
    try:
        if kind == "library":
            found = sd.function(name)(*args, **kwargs)  # a few names make declarations of shapes, too
        elif kind == "public":
            found = getattr(sd, name)(*args, **kwargs)
        else:
            owner, rest = (args[0], args[1:]) if kind == "array" else (_kernel(), args)
            attribute = getattr(owner, name)
            found = attribute(*rest, **kwargs) if callable(attribute) else attribute
    except sd.InternalError as error:
        if "its own" in str(error):
            return ""
        return f"{name}: {error}"
    except sd.SymdiffError:
        return ""
    return _against_numpy(name, told, named, found) if kind == "library" else ""


#: Functions whose shapes NumPy takes from numbers: it leaves out leading coefficients that are 0.
BY_VALUE = {"polymul"}


def _against_numpy(name: str, told: list[Told], named: Mapping[str, Told], found: Any) -> str:
    function = getattr(np, name, None) or getattr(np.linalg, name, None)
    if not callable(function) or name in BY_VALUE or any(_long(one) for one in (*told, *named.values())):
        return ""
    try:
        known = function(
            *(_built(one, _numbers) for one in told), **{key: _built(one, _numbers) for key, one in named.items()}
        )
    except Exception:
        return ""
    ours, theirs = ([*one] if isinstance(one, tuple | list) else [one] for one in (found, known))
    shapes = [np.shape(one) if isinstance(one, int) else one.shape for one in ours]
    if any(not isinstance(size, int) for shape in shapes for size in shape):
        return ""
    wanted = [np.shape(one) for one in theirs]
    return "" if shapes == wanted else f"{name} has the shapes {shapes}, NumPy's {wanted}"


def _long(told: Told) -> bool:
    """Tell whether an argument is a count up to which NumPy may take for ever."""
    value = WRONG[told[1]] if told[0] == "wrong" else 0
    return isinstance(value, int) and abs(value) > 1000


def smaller(case: ArgumentCase) -> Iterator[ArgumentCase]:
    """Give calls with fewer arguments, or plainer ones."""
    kind, name, told, named = case
    for key in named:
        yield kind, name, told, {k: v for k, v in named.items() if k != key}
    for k in reversed(range(len(told))):
        yield kind, name, [*told[:k], *told[k + 1 :]], named
        if told[k][0] == "list":
            yield kind, name, [*told[:k], ("symbol", 1), *told[k + 1 :]], named
