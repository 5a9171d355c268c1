# mypy: disable-error-code="no-untyped-call"
"""Kinds of arguments: the compiled way of a call against ``Kernel._call``, which checks and converts in Python."""

from __future__ import annotations

import array
import enum
import itertools
import mmap
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff._kernels.call import with_vectorcall
from symdiff.runtime.kernel import Kernel

SHAPES: dict[str, tuple[int, ...]] = {"a": (), "x": (2,), "A": (2, 3)}
#: Real types of at most 8 bytes, in both orders of bytes, and what is none of them.
REAL = ["?", *"bBhHiIlLqQ", "e", "f", "d", ">f4", ">f8", ">i4", "<f2"]
OTHER = ["g", "F", "D", "O", "U4", "S4", "M8[s]", "m8[s]"]


class OfFloats(float):
    """A class of a user's, derived from a number."""


class OfArrays(np.ndarray):
    """A class of a user's, derived from arrays."""


class Level(enum.IntEnum):
    LOW = 3


class Series:
    """Like a column of a table: NumPy asks it for an array."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if isinstance(self.values, Exception):
            raise self.values
        return np.asarray(self.values, dtype)


class Wrapped:
    """Like a proxy of a masked array: it says that it is one."""

    __class__ = np.ma.MaskedArray  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.zeros(2)


def kernel(**options: Any) -> Kernel:
    a, x, A = sd.scalar("a"), sd.vector("x", 2), sd.matrix("A", 2, 3)
    f = {"y": a * x + A.sum(), "z": [a + x[0] * 3, (A * a,)]}
    kernel: sd.Kernel = sd.compile(f, [a, x, A], backend="interpreter", **options)
    return kernel


KERNELS = [kernel(), kernel(reduce="sum"), kernel(batch_axis=-1), kernel(batch=["x"]), kernel(batch=[])]

# ---------------------------------------------------------------------------- drawing arguments

numbers: st.SearchStrategy[Any] = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=32),
    st.floats(),
    st.integers(-5, 5),
    st.booleans(),
    st.sampled_from([2**53 + 1, -(2**53) - 1, 2**63, 2**64, -(2**64), 10**30, 10**308, 10**309, 10**400, 2**63 - 1]),
    st.sampled_from([1e300, 3.4028235677973366e38, 3.4028235e38, -0.0, 5e-324, OfFloats(2.5), Level.LOW, [], ()]),
    st.sampled_from([np.dtype(code).type(3) for code in "?bBhHiIlLqQefdg"]),
    st.sampled_from([np.float64("nan"), np.float32("inf"), np.uint64(2**64 - 1), np.int64(2**62 + 1), np.float32(0.1)]),
)
WRONG: list[Any] = [
    *(None, "1", b"1", 1j, np.complex64(1), np.str_("1"), np.datetime64("2020"), np.timedelta64(3, "ns")),
    *(Fraction(1, 2), Decimal(1), {}, {1.0}, "ab", ["1", "2"], [None, 1.0], [[1.0, 2.0], [3.0]], object()),
    *(np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.masked, Series(ValueError("its own")), Series("ab"), Wrapped()),
    *([sd.scalar("a")] * 5, np.zeros((1, 2, 3), object), np.zeros(2, [("u", float)]), len, 10**400, [10**400, 1]),
    np.ones(2, "g"),
    *(np.ones(2, "m8[s]"), np.ones(2, "F"), np.longdouble(1), np.ones(2, object), np.ma.array(1.0), iter("1")),
]


def arrays(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Return arrays of a shape, of any type and layout."""

    def made(kind: str, values: list[int], layout: int) -> Any:
        plain: Any = np.array(values, "d").reshape(shape)
        if kind in "OMm" or "8[" in kind:
            return plain.astype("q").astype(kind)
        typed = np.asarray(plain).astype(kind)
        if layout == 1:
            return np.asfortranarray(typed)
        if layout == 2 and typed.ndim:
            return np.repeat(typed, 2, -1)[..., ::2]
        if layout == 3 and typed.ndim:
            return typed[..., ::-1]
        if layout == 4:
            typed.flags.writeable = False
        if layout == 5:
            odd = np.zeros(typed.nbytes + 1, np.uint8)[1:].view(typed.dtype) if typed.nbytes and kind != "O" else None
            if odd is not None:
                odd = odd.reshape(shape)
                odd[...] = typed
                return odd
        return typed

    count = int(np.prod(shape))
    kinds = st.sampled_from([*REAL * 3, *OTHER])
    values = st.lists(st.integers(0, 3), min_size=count, max_size=count)
    return st.builds(made, kinds, values, st.integers(0, 5))


def as_list(values: Any) -> Any:
    """Return an array as nested lists of NumPy's scalars."""
    return [as_list(part) for part in values] if np.ndim(values) else values


def as_tuple(values: Any) -> Any:
    return tuple(as_tuple(part) for part in values) if isinstance(values, list) else values


def mapped(values: Any) -> Any:
    """Return an array in memory of the system's own, such as that of a file."""
    taken = np.frombuffer(mmap.mmap(-1, values.nbytes or 1), values.dtype, values.size).reshape(values.shape)
    taken[...] = values
    return taken.view(np.memmap)


FORMS: list[Callable[[Any], Any]] = [
    *[lambda v: v] * 5,
    *(lambda v: v.tolist(), as_list, lambda v: as_tuple(v.tolist()), list, lambda v: v.view(OfArrays)),
    *(lambda v: v.view(np.matrix) if v.ndim == 2 else v, np.ma.array, Series, memoryview, mapped),
    *(lambda v: array.array("d", [float(k) for k in range(v.size)]), lambda v: range(v.size)),
    lambda v: v.view(np.recarray),
]


@st.composite
def arguments(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw arguments of a call, of shapes that mostly fit."""
    batch = draw(st.sampled_from([(), (), (), (2,), (3,), (1,), (0,), (2, 3)]))
    behind = draw(st.sampled_from([False, False, False, False, True]))

    def one(shape: tuple[int, ...]) -> Any:
        choice = draw(st.integers(0, 19))
        if choice == 0 or (choice < 10 and not shape):
            return draw(numbers)
        if choice == 19:
            return draw(st.one_of(st.sampled_from(WRONG), st.lists(numbers, min_size=2, max_size=2)))
        lead = draw(st.sampled_from([(), *[batch] * 4, batch[1:], (2,)]))
        values = draw(arrays((*shape, *lead) if behind else (*lead, *shape)))
        try:
            return draw(st.sampled_from(FORMS))(values)
        except (TypeError, ValueError):  # no such form of these
            return values

    return tuple(one(shape) for shape in SHAPES.values())


# ---------------------------------------------------------------------------- both ways


def flat(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [part for value in result.values() for part in flat(value)]
    return [part for value in result for part in flat(value)] if isinstance(result, list | tuple) else [result]


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, to the bit, or how it fails."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    if any(isinstance(part, sd.Array) for part in flat(result)):
        return [part.node for part in flat(result)]
    parts = [(type(part), part.dtype, part.shape, part.tobytes()) for part in flat(result)]
    return str(result.keys()), [type(part) for part in result.values()], parts


def outs(k: Kernel, args: tuple[Any, ...], dtype: npt.DTypeLike) -> Any:
    """Return arrays that the results of a call may be written to, or None if it fails."""
    try:
        result = k._call(args, None, None, {})
    except (Exception, Warning):
        return None
    y, (z0, (z1,)) = result["y"], result["z"]
    return {"y": np.full_like(y, 7, dtype), "z": [np.full_like(z0, 7, dtype), (np.full_like(z1, 7, dtype),)]}


@settings(max_examples=300)
@given(st.sampled_from(KERNELS), arguments(), st.sampled_from(["f", "d"]), st.booleans())
def test_any_argument_is_taken_or_refused_as_in_python(
    k: Kernel, args: tuple[Any, ...], dtype: str, by_name: bool
) -> None:
    whole = outcome(lambda: k._call(args, None, None, {}))
    named = dict(zip(SHAPES, args, strict=True))
    assert outcome(lambda: k(**named) if by_name else k(*args)) == whole
    first, second = outs(k, args, dtype), outs(k, args, dtype)
    if first is not None:
        written = outcome(lambda: k._call(args, first, None, {}))
        assert outcome(lambda: k(*args, out=second)) == written
        assert [a.tobytes() for a in flat(second)] == [a.tobytes() for a in flat(first)]


@given(arguments(), arguments(), st.sets(st.sampled_from(["a", "x", "A", "b", "inputs"])))
def test_names_are_matched_as_in_python(args: tuple[Any, ...], more: tuple[Any, ...], names: set[str]) -> None:
    k = KERNELS[0]
    for count in range(4):
        named = dict(zip(sorted(names), more, strict=False))
        others = {name: value for name, value in named.items() if name != "inputs"}
        whole = outcome(lambda: k._call(args[:count], None, named.get("inputs"), others))  # noqa: B023
        assert outcome(lambda: k(*args[:count], **named)) == whole  # noqa: B023


# ---------------------------------------------------------------------------- what needs no Python


@with_vectorcall
class Short(Kernel):
    """A kernel that refuses what is not served without Python."""

    def _call(self, args: Any, out: Any, inputs: Any, named: Any) -> Any:
        raise NotImplementedError


def short(k: Kernel) -> Kernel:
    k._call([1.0, [1.0, 2.0], np.zeros((2, 3))], None, None, {})
    k._call([np.float32(1.0), np.ones(2, "f"), np.zeros((2, 3), "f")], None, None, {})
    return Short(k.inputs, k.outputs, k._runner, k._origin, structure=k._structure, options=k.options)


A = np.arange(6.0).reshape(2, 3)


SCALARS = [1.5, 3, True, 2**70, *(np.dtype(code).type(1) for code in "?bBhHiIlLqQefd"), np.array(2), np.array(2, ">f4")]
VECTORS = [
    *([1.0, 2.0], (1, 2), [True, 2.5], [np.float32(1), np.float32(2)], [np.int8(1), np.array(2.0)], range(2)),
    *(np.ones(2, code) for code in REAL),
    *(np.ones((3, 2)).view(np.memmap), np.ones(2).view(OfArrays), Series([1, 2]), array.array("f", [1, 2])),
]
MATRICES = [A, A.astype("f"), A.tolist(), A.view(np.matrix), A.astype("i")]


@pytest.mark.parametrize("number", range(2), ids=["each", "sum"])
def test_no_python_for(number: int) -> None:
    k = KERNELS[number]
    serve = short(k)
    for args in itertools.product(SCALARS, VECTORS, MATRICES):
        want = outcome(lambda: k._call(args, None, None, {}))  # noqa: B023
        assert isinstance(want[1], list)
        a, x, matrix = args
        assert outcome(lambda: serve(*args)) == want, args  # noqa: B023
        assert outcome(lambda: serve(a, A=matrix, x=x)) == want, args  # noqa: B023


def test_arrays_made_of_arguments_may_lie_in_the_memory_of_results() -> None:
    k = sd.compile("x[::-1] + 1", x=2, backend="interpreter")
    for way in (k, lambda x, out: k._call([x], out, None, {})):
        out = np.zeros(2)
        given = out.view("q")
        given[...] = [5, 7]
        assert way(given, out=out) is out
        np.testing.assert_array_equal(out, [8.0, 6.0])


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_told_as_in_python(number: int) -> None:
    wrong = WRONG[number]
    for args in ((wrong, [1.0, 2.0], A), (1.0, wrong, A), (1, (1, 2), wrong)):
        refused = outcome(lambda: KERNELS[0]._call(args, None, None, {}))  # noqa: B023
        assert issubclass(refused[0], sd.SymdiffError)
        assert outcome(lambda: KERNELS[0](*args)) == refused  # noqa: B023


@pytest.mark.parametrize("wide", [1e300, -1e300, 10**300, 3.4028236e38])
def test_numbers_beyond_float32_are_told_of(wide: float) -> None:
    args = wide, np.ones(2, "f"), np.ones((2, 3), "f")
    for way in (lambda: KERNELS[0]._call(args, None, None, {}), lambda: KERNELS[0](*args)):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(way()["y"]).all()


def test_an_interrupt_while_numpy_asks_is_not_lost() -> None:
    asked = []

    class Slow:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            asked.append(dtype)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sd.compile("x + 1", x=2, backend="interpreter")(Slow())
    assert len(asked) == 1


def test_many_results_need_no_python() -> None:
    t = sd.scalar("t")
    k = sd.compile({f"y{i}": t * i for i in range(60)}, [t], backend="interpreter")
    want = k._call([2.0], None, None, {})
    serve = Short(k.inputs, k.outputs, k._runner, k._origin, structure=k._structure, options=k.options)
    assert serve(2.0) == want
    out = {f"y{i}": np.zeros(5) for i in range(60)}
    assert serve(np.arange(5), out=out) is out
    np.testing.assert_array_equal(out["y7"], np.arange(5) * 7.0)
