from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tape import Tape

from symdiff.errors import ArgumentError, DtypeError, ShapeError, SingularMatrixError, UnsupportedError
from symdiff.frontend.outputs import LEAF
from symdiff.graph.sizes import Shape
from symdiff.runtime.calls.arguments import Parameter
from symdiff.runtime.kernel import Kernel
from symdiff.runtime.options import Options
from symdiff.runtime.origin import Origin
from symdiff.runtime.runners.interfaces import Runner
from symdiff.runtime.runners.programs import NativeRunner


class Python:
    """A runner for shapes of any kind: a function of one sample's arrays."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self.function = function

    def run(self, inputs: Sequence[npt.NDArray[Any]], outs: Sequence[npt.NDArray[Any]], reduce: bool) -> None:
        count = max([len(a) for a in inputs] + [1 if reduce else len(o) for o in outs])
        for out in outs:
            out[...] = 0
        for i in range(count):
            for out, result in zip(outs, self.function(*(a[i if len(a) > 1 else 0] for a in inputs)), strict=True):
                out[0 if reduce else i] += result


def unanswered(*args: Any) -> Any:
    raise UnsupportedError("not made by the compiler")


def kernel(
    inputs: dict[str, Shape], outputs: dict[str, Shape], runner: Runner, structure: Any = "single", **options: Any
) -> Kernel:
    origin = Origin(
        backend="c",
        source=unanswered,
        sympy=unanswered,
        latex=unanswered,
        texts=unanswered,
        request=unanswered,
        named=unanswered,
        apply=unanswered,
        cause=unanswered,
        rebuild=lambda: (affine, ()),
        problem=unanswered,
        rewrites=("log(1 + x) -> log1p(x)",),
        stats={"n": 1},
    )
    return Kernel(
        [Parameter(*item) for item in inputs.items()],
        [Parameter(*item) for item in outputs.items()],
        runner,
        origin,
        structure={"single": LEAF, "list": [LEAF] * len(outputs), "tuple": (LEAF,) * len(outputs)}.get(
            structure, dict.fromkeys(outputs, LEAF)
        ),
        options=Options(**options),
    )


def affine(**options: Any) -> Kernel:
    """``A @ x + s`` with A (2, 3): every element enters in its own way."""
    t = Tape(("A", (2, 3)), ("x", (3,)), ("s", ()))
    A, x, s = t.row(0), t.row(1), t.load(2)
    rows = []
    for i in range(2):
        total = s
        for j in range(3):
            total = t.op("add", total, t.op("multiply", A[3 * i + j], x[j]))
        rows.append(total)
    t.out((2,), rows)
    return kernel({"A": (2, 3), "x": (3,), "s": ()}, {"f": (2,)}, NativeRunner(t.program()), **options)


def expected(A: Any, x: Any, s: Any) -> Any:
    product = s
    product = np.asarray(product)[..., None] + np.asarray(A)[..., :, 0] * np.asarray(x)[..., None, 0]
    for j in (1, 2):
        product = product + np.asarray(A)[..., :, j] * np.asarray(x)[..., None, j]
    return product


def pair(structure: str, **options: Any) -> Kernel:
    """Both ``x * y`` of two scalars and the vector (x, y, x)."""
    t = Tape(("x", ()), ("y", ()))
    x, y = t.load(0), t.load(1)
    t.out((), [t.op("multiply", x, y)])
    t.out((3,), [x, y, x])
    t.check(y, "y is zero")
    runner = NativeRunner(t.program())
    return kernel({"x": (), "y": ()}, {"product": (), "all": (3,)}, runner, structure, **options)


def data(*batches: tuple[int, ...], seed: int = 0) -> list[npt.NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, (*b, *s)) for b, s in zip(batches, [(2, 3), (3,), ()], strict=True)]


BATCHES = [(), (0,), (1,), (7,), (8,), (9,), (1000,), (3, 5), (2, 0, 3)]


@pytest.mark.parametrize("batch", BATCHES)
def test_every_batch(batch: tuple[int, ...]) -> None:
    k = affine()
    A, x, s = data(batch, batch, batch)
    got = k(A, x, s)
    assert got.shape == (*batch, 2)
    np.testing.assert_array_equal(got, expected(A, x, s))
    out = np.full((*batch, 2), np.nan)
    assert k(A=A, x=x, s=s, out=out) is out
    np.testing.assert_array_equal(out, got)


@pytest.mark.parametrize(
    ("batches", "shape"),
    [
        (((), (7,), ()), (7,)),
        (((5,), (), ()), (5,)),
        (((), (), (3, 5)), (3, 5)),
        (((3, 1), (5,), ()), (3, 5)),
        (((3, 1), (1, 5), (3, 5)), (3, 5)),
        (((1,), (9,), (1, 1)), (1, 9)),
        (((0,), (1,), ()), (0,)),
        (((2, 1, 4), (3, 1), (4,)), (2, 3, 4)),
    ],
)
def test_batch_axes_broadcast(batches: Any, shape: tuple[int, ...]) -> None:
    A, x, s = data(*batches)
    got = affine()(A, x, s)
    assert got.shape == (*shape, 2)
    full = (np.broadcast_to(a, (*shape, *a.shape[len(b) :])) for a, b in zip((A, x, s), batches, strict=True))
    np.testing.assert_array_equal(got, expected(*full))


def test_batch_axes_that_do_not_broadcast() -> None:
    A, x, s = data((3,), (4,), ())
    with pytest.raises(ShapeError, match=r"A \(3,\), x \(4,\)"):
        affine()(A, x, s)


def strange(a: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """Lay out the same numbers in unusual ways."""
    raw = np.zeros(a.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(a.shape)
    unaligned[...] = a
    wide = np.zeros((*a.shape, 3))
    wide[..., 1] = a
    frozen = a.copy()
    frozen.flags.writeable = False
    return {
        "Fortran": np.asfortranarray(a),
        "strided": wide[..., 1],
        "backwards": a[::-1].copy()[::-1],
        "unaligned": unaligned,
        "read-only": frozen,
        "other byte order": a.astype(a.dtype.newbyteorder()),
        "list": a.tolist(),
    }


@pytest.mark.parametrize("name", strange(np.zeros((1,))))
@pytest.mark.parametrize("batch", [(9,), (3, 5), (20,)])
def test_every_layout(name: str, batch: tuple[int, ...]) -> None:
    A, x, s = data(batch, batch, batch)
    k = affine()
    want = k(A, x, s)
    for at in range(3):
        arguments = [strange(a)[name] if i == at else a for i, a in enumerate((A, x, s))]
        np.testing.assert_array_equal(k(*arguments), want)
    if name in ("read-only", "list"):
        return
    out = strange(np.full_like(want, np.nan))[name]
    if out.dtype.isnative:
        assert k(A, x, s, out=out) is out
        np.testing.assert_array_equal(out, want)


def test_kinds_of_numbers() -> None:
    k = affine()
    A, x, s = (np.rint(a) for a in data((4,), (4,), (4,)))
    want = k(A, x, s)
    for kind in (np.int8, np.int64, np.float16):
        got = k(A.astype(kind), x.astype(kind), s.astype(kind))
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, want)
    single = k(*(a.astype(np.float32) for a in (A, x, s)))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, want.astype(np.float32))
    assert k(A.astype(np.float32), x, s).dtype == np.float64
    assert k(A.astype(np.float32), x.astype(np.float32), 2).dtype == np.float32  # a Python number takes part in none
    assert k(A.astype(np.float32), x.astype(np.float32), np.float64(2)).dtype == np.float64  # NumPy's has a type
    assert np.isfinite(k(A, x, 2**70)).all()
    np.testing.assert_array_equal(k(A > 0, x, s), k((A > 0) * 1.0, x, s))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones(3, complex), "complex128.*the real and the imaginary part"),
        (np.array([1, "a", None], object), "x is an ndarray.*real numbers"),
        (["a", "b", "c"], "an array of <U1"),
        (np.ones(3, "M8[s]"), "datetime64"),
        (np.ones(3, np.longdouble), "float128|longdouble|complex"),
        (np.ma.masked_array(np.ones(3), [False, True, False]), "masked"),
        (object(), "x is a object"),
        (None, "x is a NoneType"),
        ({"a": 1}, "x is a dict"),
        ([10**400, 1, 1], "x is"),
    ],
)
def test_kinds_that_are_refused(value: Any, message: str) -> None:
    A, _, s = data((), (), ())
    with pytest.raises(DtypeError, match=message):
        affine()(A, value, s)


def test_ragged_lists_are_refused() -> None:
    A, _, s = data((), (), ())
    with pytest.raises(ShapeError, match="x is no array"):
        affine()(A, [1.0, [2.0, 3.0], 4.0], s)


def test_nan_passes() -> None:
    A, x, s = data((3,), (3,), (3,))
    A[1, 0, 2] = np.nan
    np.testing.assert_array_equal(np.isnan(affine()(A, x, s)), [[0, 0], [1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("args", "named_", "message"),
    [
        ((1, 2, 3, 4), {}, r"4 arguments by position for 3 inputs; expected A: \(2, 3\), x: \(3,\), s: \(\)"),
        ((1,), {"A": 2}, "'A' is given by position and by name"),
        ((1,), {"xx": 2}, "no input is called 'xx'; did you mean 'x'"),
        ((1,), {"inputs": {"q": 2}}, "no input is called 'q'"),
        ((1, 2), {}, r"missing s: \(\)"),
        ((), {"A": 1, "inputs": {"A": 1}}, "A given by name and in inputs="),
    ],
)
def test_names_and_counts(args: Any, named_: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        affine()(*args, **named_)


def test_names_that_are_options() -> None:
    double = kernel({"out": (), "inputs": ()}, {"f": ()}, Python(lambda out, inputs: [out - inputs]))
    assert double(inputs={"out": 5.0, "inputs": 3.0}) == 2.0
    assert double(5.0, 3.0) == 2.0


@pytest.mark.parametrize(
    ("A", "x", "message"),
    [
        ((3, 2), (3,), r"A has shape \(3, 2\); expected \(2, 3\) or \(\.\.\., 2, 3\)"),
        ((2, 3), (), r"x has shape \(\); expected \(3,\)"),
        ((2, 3), (2,), r"x has shape \(2,\)"),
        ((3,), (3,), r"A has shape \(3,\)"),
        ((4, 2, 3), (3, 4), r"x has shape \(3, 4\)"),
    ],
)
def test_shapes(A: tuple[int, ...], x: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        affine()(np.zeros(A), np.zeros(x), 0.0)


def test_scalars_come_back_as_from_ufuncs() -> None:
    single, row = pair("list")(2, 3.0)
    assert type(single) is np.float64
    assert single == 6.0
    np.testing.assert_array_equal(row, [2, 3, 2])
    single, row = pair("list")([2, 4], 3.0)
    np.testing.assert_array_equal(single, [6, 12])
    assert row.shape == (2, 3)
    out = np.empty(())
    k = kernel({"x": ()}, {"f": ()}, Python(lambda x: [x + 1]))
    assert k(1, out=out) is out
    assert out == 2


def test_structures() -> None:
    assert isinstance(pair("list")(1, 2), list)
    assert isinstance(pair("tuple")(1, 2), tuple)
    result = pair("dict")(1, 2)
    assert list(result) == ["product", "all"]
    out = {"product": np.empty(4), "all": np.empty((4, 3))}
    assert pair("dict")(np.arange(4.0), 2, out=out) is out
    np.testing.assert_array_equal(out["product"], [0, 2, 4, 6])
    outs = (np.empty(4), np.empty((4, 3)))
    assert pair("tuple")(np.arange(4.0), 2, out=outs) is outs
    np.testing.assert_array_equal(outs[1][:, 0], np.arange(4.0))


def test_batch_names() -> None:
    k = affine(batch=frozenset({"x"}))
    A, x, s = data((), (6,), ())
    np.testing.assert_array_equal(k(A, x, s), expected(A, x, s))
    with pytest.raises(ShapeError, match=r"A has shape \(6, 2, 3\); expected \(2, 3\); it is not among"):
        k(np.zeros((6, 2, 3)), x, s)
    with pytest.raises(ArgumentError, match="batch names q, not an input; inputs are A, x, s"):
        affine(batch=frozenset({"q"}))


@pytest.mark.parametrize("batch", BATCHES)
def test_sums(batch: tuple[int, ...]) -> None:
    A, x, s = data(batch, batch, batch)
    k = affine(reduce="sum")
    got = k(A, x, s)
    assert got.shape == (2,)
    np.testing.assert_allclose(got, affine()(A, x, s).reshape(-1, 2).sum(axis=0), rtol=1e-13, atol=1e-13)
    out = np.empty(2)
    k(A, x, s, out=out)
    np.testing.assert_array_equal(out, got)


def test_sum_of_a_scalar() -> None:
    total, row = pair("tuple", reduce="sum")(np.arange(4.0), 2.0)
    assert type(total) is np.float64
    assert total == 12.0
    np.testing.assert_array_equal(row, [6, 8, 6])


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_columns(n: int) -> None:
    A, x, s = data((n,), (n,), (n,))
    k = affine(batch_axis=-1)
    columns = [np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in (A, x, s)]
    want = affine()(A, x, s)
    got = k(*columns)
    assert got.shape == (2, n)
    np.testing.assert_array_equal(got, want.T)
    out = np.empty((2, n))
    k(*columns, out=out)
    np.testing.assert_array_equal(out, want.T)
    if n > 1:
        np.testing.assert_array_equal(k(columns[0], columns[1], 2.0), affine()(A, x, 2.0).T)
        with pytest.raises(ShapeError, match=r"expected \(2, 3\) or \(2, 3, \.\.\.\)"):
            k(A, x, s)


def test_options_that_are_not_offered() -> None:
    with pytest.raises(UnsupportedError, match="reduce='mean'"):
        affine(reduce="mean")
    with pytest.raises(UnsupportedError, match="batch_axis=1"):
        affine(batch_axis=1)


def test_a_failing_sample_is_told() -> None:
    y = np.ones((3, 5))
    y[2, 1] = y[2, 3] = 0
    with pytest.raises(SingularMatrixError, match=r"y is zero \(sample \(2, 1\) of the batch\)") as caught:
        pair("list")(1.0, y)
    assert caught.value.index == (2, 1)
    with pytest.raises(SingularMatrixError, match=r"sample 11 of") as caught:
        pair("list", reduce="sum")(1.0, y.ravel())
    assert caught.value.index == (11,)
    with pytest.raises(SingularMatrixError, match=r"^y is zero$") as alone:
        pair("list")(1.0, 0.0)
    assert isinstance(alone.value, np.linalg.LinAlgError)
    assert alone.value.index == ()
