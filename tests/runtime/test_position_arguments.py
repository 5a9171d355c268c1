"""Positions among the arguments: the compiled way of a call takes and refuses what ``Kernel._call`` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff._kernels.call import with_vectorcall
from symdiff.runtime.kernel import Kernel
from tests.runtime.test_arguments import outcome

INTEGERS = "bBhHiIlLqQ"
x, A = sd.vector("x", "n"), sd.matrix("A", 5, 3)
j, i = sd.indices("j"), sd.indices("i", "m")


def kernel(backend: str = "interpreter", **options: Any) -> Kernel:
    f = {"y": (x[i] ** 2).sum() * A[j], "z": [x[i], sd.gradient((x[i] ** 3).sum() + A[j, 1], x)]}
    kernel: sd.Kernel = sd.compile(f, [x, A, j, i], backend=backend, **options)
    return kernel


KERNELS = [kernel(), kernel(batch_axis=-1), kernel(batch=["x", "i"]), kernel(reduce="sum"), kernel("native")]


@with_vectorcall
class Short(Kernel):
    """A kernel that refuses what is not served without Python."""

    def _call(self, args: Any, out: Any, inputs: Any, named: Any) -> Any:
        raise NotImplementedError


def reals(draw: Any, shape: tuple[int, ...]) -> Any:
    kind = draw(st.sampled_from("ddddfq"))
    return np.random.default_rng(3).uniform(1, 9, shape).astype(kind)


def integers(draw: Any, shape: tuple[int, ...], size: int) -> Any:
    """Return positions of an axis of ``size``; now and then one that is out of range, or no integers."""
    least = draw(st.sampled_from([0, 0, 0, 0, -1]))
    most = draw(st.sampled_from([size - 1, size - 1, size - 1, size, 127]))
    numbers = draw(st.lists(st.integers(least, most), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    kind = draw(st.sampled_from([*INTEGERS, ">i4", "<u2", "d", "f", "?", "O", "m8[s]"]))
    if least < 0 and np.dtype(kind).kind == "u":
        kind = "q"
    array = np.array(numbers, "q").reshape(shape).astype(kind)
    way = draw(st.sampled_from(["array", "array", "array", "list", "turned", "scalar"]))
    if way == "list":
        return array.tolist()
    if way == "turned":
        return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    return array[()] if way == "scalar" else array


@st.composite
def arguments(draw: Any) -> tuple[Any, ...]:
    n, m = draw(st.sampled_from([1, 4, 7])), draw(st.sampled_from([1, 2, 5]))
    leads = [draw(st.sampled_from([(), (), (), (2,), (3, 2), (0,)])) for _ in range(4)]
    return (
        reals(draw, (*leads[0], n)),
        reals(draw, (*leads[1], 5, 3)),
        integers(draw, leads[2], 5),
        integers(draw, (*leads[3], m), n),
    )


@settings(max_examples=400)
@given(st.sampled_from(KERNELS), arguments())
def test_positions_are_taken_or_refused_as_in_python(k: Kernel, args: tuple[Any, ...]) -> None:
    whole = outcome(lambda: k._call(args, None, None, {}))
    again = outcome(lambda: k(*args))
    if k.options.reduce and isinstance(whole[1], list):
        # sums over the batch add in the order in which arrays lie
        assert again[0] == whole[0]
        return
    assert again == whole, args
    assert outcome(lambda: k(*args)) == whole, args


@pytest.mark.parametrize("kind", [*INTEGERS, ">i8", "list of numbers"])
def test_no_python_for(kind: str) -> None:
    f = {"y": A[j], "z": x[i] ** 2}
    k = sd.compile(f, [x, A, j, i], backend="native")
    serve = Short(k.inputs, k.outputs, k._runner, k._origin, structure=k._structure, plans=k._plans, ranges=k._ranges)
    values = np.arange(4.0), np.arange(15.0).reshape(5, 3)
    code = "q" if kind == "list of numbers" else kind
    places = np.array([3, 0, 3], code)
    for at in (4, np.dtype(code).newbyteorder("=").type(4), np.array(4, code)):
        want = k._call((*values, at, places), None, None, {})
        Kernel._call(serve, (*values, at, places), None, None, {})  # makes the plan
        got = serve(*values, at, places)
        assert all(np.array_equal(got[name], want[name]) for name in f)
        np.testing.assert_array_equal(got["y"], values[1][4])
        np.testing.assert_array_equal(got["z"], values[0][[3, 0, 3]] ** 2)


@pytest.mark.parametrize("backend", ["interpreter", "native", "numpy"])
def test_positions_have_no_part_in_the_type_of_a_call(backend: str) -> None:
    k = sd.compile([x[i] * 2, A[j]], [x, A, j, i], backend=backend)
    places = np.array([3, 0, 3])
    for kinds in ("dd", "ff", "df", "fd", "ff", "dd"):
        values = np.arange(4).astype(kinds[0]), np.arange(15).reshape(5, 3).astype(kinds[1])
        want = np.dtype("f" if kinds == "ff" else "d")
        assert [part.dtype for part in k(*values, 4, places)] == [want, want], kinds


@pytest.mark.parametrize("size", [1, 2, 3, 64, 1000])
def test_each_place_out_of_range_is_found(size: int) -> None:
    k = sd.compile(x[i], [x, i])
    values = np.arange(float(size))
    places = np.arange(size)
    np.testing.assert_array_equal(k(values, places), values)
    for at in {0, size // 2, size - 1}:
        for wrong in (-1, size, 2**62, -(2**62)):
            broken = places.copy()
            broken[at] = wrong
            with pytest.raises(sd.ShapeError, match=rf"i\[{at}\] is {wrong}; expected 0 to {size - 1}"):
                k(values, broken)
