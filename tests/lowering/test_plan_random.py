# mypy: disable-error-code="index"
"""Random formulas as plans, in calls of every kind: what NumPy gives, or the error that it gives."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.codegen.numpy.emit import emit_numpy
from symdiff.errors import SymdiffError, UnsupportedError
from symdiff.frontend.array import Array as Formulated
from symdiff.graph import Node
from symdiff.graph.sizes import value
from symdiff.rewrite import inline
from symdiff.runtime.runners.numpy import NumpyRunner
from symdiff.runtime.runners.plans import PlanRunner
from symdiff.runtime.runners.programs import InterpreterRunner
from tests.support.plan_formulas import near
from tests.support.strategies import LONG, Formula, formulas, sample

Array = npt.NDArray[Any]

SIZES = st.sampled_from([{"n": 3, "m": 2}, {"n": 17, "m": 16}, {"n": 1, "m": 1}, {"n": 40, "m": 19}])
#: Whether each input has the batch.
PATTERN = st.tuples(*[st.booleans()] * 5)


def shapes_of(nodes: tuple[Node, ...], sizes: dict[str, int]) -> list[tuple[int, ...]]:
    return [tuple(value(size, sizes) for size in node.shape) for node in nodes]


def compare_plan(formula: Formula, sizes: dict[str, int], pattern: tuple[bool, ...], reduce: bool) -> None:
    """Compare a plan made for a pattern, whatever else would serve it, with NumPy."""
    roots = inline(list(formula.roots))
    shapes = shapes_of(tuple(roots), sizes)
    if any(size < 0 or size > 10**5 for shape in shapes for size in (*shape, math.prod(shape))):
        return
    try:
        runner = PlanRunner(formula.inputs, roots, InterpreterRunner, limit=20_000, usual=pattern, reduce=reduce)
    except UnsupportedError:
        return
    batch = tuple(3 if has else 1 for has in pattern)
    arrays = sample(formula.inputs, batch, 5, sizes)
    wanted, got = ([np.full((1 if reduce else max(batch), *s), np.nan) for s in shapes] for _ in range(2))
    errors: list[type[Exception] | None] = []
    for each, outs in ((NumpyRunner(emit_numpy(formula.inputs, roots)), wanted), (runner, got)):
        try:
            each.run(arrays, outs, reduce)
            errors.append(None)
        except SymdiffError as error:
            errors.append(type(error))
    assert errors[0] is errors[1]
    if errors[0] is None:
        for one, other in zip(got, wanted, strict=True):
            near(one, other, 1e-8)


@settings(max_examples=100)
@given(formulas(symbolic=True), SIZES, PATTERN, st.booleans())
def test_plans_of_any_size(formula: Formula, sizes: dict[str, int], pattern: tuple[bool, ...], reduce: bool) -> None:
    compare_plan(formula, sizes, pattern, reduce)


@settings(max_examples=50)
@given(formulas(long=True), PATTERN, st.booleans())
def test_plans_of_fixed_size(formula: Formula, pattern: tuple[bool, ...], reduce: bool) -> None:
    compare_plan(formula, LONG, pattern, reduce)


# ---------------------------------------------------------------------------- kernels


class Kind(NamedTuple):
    """A kind of call: which axes each input has in front, of which type, and how arrays lie."""

    batch: tuple[int, ...]
    axes: tuple[int, ...]
    reduce: bool
    columns: bool
    dtype: str
    layout: str


KINDS = st.builds(
    Kind,
    st.sampled_from([(), (3,), (1,), (4, 3), (1, 3), (4, 1), (0,), (2, 1, 3)]),
    st.tuples(*[st.sampled_from(range(5))] * 5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["float64", "float32", "mixed"]),
    st.sampled_from(["plain", "backwards", "strided", "crossed"]),
)


def laid(array: Array, layout: str) -> Array:
    """Return the same numbers in memory of another order."""
    if layout == "backwards":
        turn = (*(slice(None, None, -1) for _ in array.shape), ...)
        return array[turn].copy()[turn]
    if layout == "strided":
        wide = np.full([2 * n + 1 for n in array.shape], np.nan, array.dtype)
        view = wide[(*(slice(1, None, 2) for _ in array.shape), ...)]
        view[...] = array
        return view
    return array.copy(order="F" if layout == "crossed" else "C")


def arguments(formula: Formula, sizes: dict[str, int], kind: Kind) -> list[Array]:
    rng = np.random.default_rng(5)
    result = []
    for number, (shape, which) in enumerate(zip(shapes_of(formula.inputs, sizes), kind.axes, strict=True)):
        own = kind.batch
        ones = tuple(1 for _ in own)
        lead = ((), own, own[1:], ones, (*ones[:1], *own[1:]))[which]
        single = kind.dtype == "float32" or (kind.dtype == "mixed" and number % 2 == 0)
        array = rng.uniform(-1.5, 1.5, (*lead, *shape)).astype(np.float32 if single else np.float64)
        if kind.columns:
            array = np.moveaxis(array, range(len(lead)), range(len(shape), array.ndim))
        result.append(laid(array, kind.layout))
    return result


def told(kernel: Any, arrays: list[Array], **options: Any) -> Any:
    try:
        return kernel(*arrays, **options)
    except SymdiffError as error:
        return type(error), str(error)


def compare_calls(formula: Formula, sizes: dict[str, int], kind: Kind) -> None:
    roots, inputs = ([Formulated(node) for node in nodes] for nodes in (formula.roots, formula.inputs))
    options: dict[str, Any] = {"reduce": "sum" if kind.reduce else None, "batch_axis": -1 if kind.columns else 0}
    try:
        kernel = sd.compile(roots, inputs, backend="interpreter", **options)
    except UnsupportedError:
        return
    arrays = arguments(formula, sizes, kind)
    wanted = told(sd.compile(roots, inputs, backend="numpy", **options), arrays)
    for _ in range(2):  # the second call finds what the first one made
        results = told(kernel, arrays)
        if isinstance(wanted, tuple):
            assert results == wanted
            continue
        assert isinstance(results, list)
        for got, want in zip(results, wanted, strict=True):
            assert (np.shape(got), got.dtype) == (np.shape(want), want.dtype)
            near(got, want, 5e-3 if want.dtype == np.float32 else 1e-8)
    if isinstance(wanted, tuple):
        return
    targets = [laid(np.full_like(want, np.nan), kind.layout) for want in wanted]
    told(kernel, arrays, out=targets)
    assert all(np.array_equal(target, got, equal_nan=True) for target, got in zip(targets, results, strict=True))
    for given_one, number in ((i, k) for i in range(5) for k in range(len(wanted))):
        into = arrays[given_one]
        if (into.shape, into.dtype) == (np.shape(wanted[number]), wanted[number].dtype) and into.ndim:
            mine = [array.copy() for array in arrays]
            targets = [np.empty_like(want) for want in wanted]
            targets[number] = mine[given_one]
            kernel(*mine, out=targets)
            for target, want in zip(targets, wanted, strict=True):
                near(target, want, 5e-3 if want.dtype == np.float32 else 1e-8)


@settings(max_examples=60)
@given(formulas(symbolic=True), st.one_of(SIZES, st.just({"n": 0, "m": 2})), KINDS)
def test_calls_with_letters(formula: Formula, sizes: dict[str, int], kind: Kind) -> None:
    compare_calls(formula, sizes, kind)


@settings(max_examples=15)
@given(formulas(long=True), KINDS)
def test_calls_of_fixed_size(formula: Formula, kind: Kind) -> None:
    compare_calls(formula, LONG, kind)
