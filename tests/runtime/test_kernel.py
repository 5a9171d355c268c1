"""Kernels: batches, results in given arrays, calls of any size, pickles and threads."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff._kernels.call import with_vectorcall
from symdiff.errors import ArgumentError, DtypeError, ShapeError, SingularMatrixError, UnsupportedError
from symdiff.frontend.outputs import LEAF
from symdiff.graph.size_equations import bind
from symdiff.graph.sizes import Shape, named
from symdiff.runtime.calls.arguments import Parameter
from symdiff.runtime.kernel import Kernel
from symdiff.runtime.options import Options
from symdiff.runtime.origin import Origin
from symdiff.runtime.runners.interfaces import Runner
from symdiff.runtime.runners.programs import NativeRunner
from tests.support.tape import Tape


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
    with pytest.raises(ShapeError, match=r"A has shape \(6, 2, 3\); expected \(2, 3\); batch= lets x alone"):
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


@pytest.mark.rows(1)
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


# ---------------------------------------------------------------------------- kernel calls
# Calls of kernels of any size, the short way, many inputs, pickles, threads.


N, M = named("n"), named("m")


def symbolic() -> Kernel:
    return kernel({"A": (N, N), "b": (N,)}, {"f": (N + 1,)}, Python(lambda A, b: [np.append(A @ b, len(b))]))


def test_sizes_come_from_the_arguments() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 4):
        A, b = rng.random((6, n, n)), rng.random(n)
        got = symbolic()(A, b)
        assert got.shape == (6, n + 1)
        np.testing.assert_allclose(got[:, :n], A @ b)
    assert symbolic().signature == "(A: (n, n), b: (n,)) -> (n + 1,)"


@pytest.mark.parametrize(
    ("A", "b", "message"),
    [
        ((3, 3), (4,), "n is 3 from A axis 0 and 4 from b axis 0"),
        ((3, 2), (3,), "n is 3 from A axis 0 and 2 from A axis 1"),
        ((3,), (3,), r"A has shape \(3,\); expected \(n, n\) or \(\.\.\., n, n\)"),
    ],
)
def test_sizes_that_contradict(A: tuple[int, ...], b: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        symbolic()(np.zeros(A), np.zeros(b))


def test_sizes_in_formulas() -> None:
    titles, shapes = ["a", "b"], [(2 * N - 1, N * M), (M,)]
    assert bind(titles, shapes, [(5, 6), (2,)]) == {"n": 3, "m": 2}
    with pytest.raises(ShapeError, match=r"a axis 0 has 4 elements, which no size 'n' makes 2\*n - 1"):
        bind(["a"], [(2 * N - 1,)], [(4,)])
    with pytest.raises(ShapeError, match=r"a axis 1 has 7 elements, which no size 'n' makes m\*n"):
        bind(titles, shapes, [(5, 7), (2,)])
    with pytest.raises(ShapeError, match=r"n is 4 from a axis 1, so a axis 0 should have .* = 7 elements and has 5"):
        bind(titles, shapes, [(5, 8), (2,)])
    with pytest.raises(ShapeError, match="the sizes m, n cannot be told"):
        bind(["a"], [(N * M,)], [(6,)])


def test_what_a_kernel_tells() -> None:
    k = affine(reduce="sum", batch=frozenset({"x"}))
    assert k.signature == "(A: (2, 3), x: (3,), s: ()) -> (2,)"
    assert repr(k) == f"<symdiff.Kernel {k.signature}, backend='c', reduce='sum', batch=['x']>"
    assert pair("dict").signature == "(x: (), y: ()) -> {product: (), all: (3,)}"
    assert pair("tuple").signature == "(x: (), y: ()) -> ((), (3,))"
    assert k.rewrites == ("log(1 + x) -> log1p(x)",)
    assert k.stats == {"n": 1}
    assert [p.name for p in k.inputs] == ["A", "x", "s"]
    assert [p.name for p in k.outputs] == ["f"]
    for question in (k.source, k.latex, lambda: k.sympy, lambda: k.values(1)):
        with pytest.raises(UnsupportedError):
            question()


def test_pickling_compiles_again() -> None:
    A, x, s = data((4,), (4,), (4,))
    k = affine()
    for other in (pickle.loads(pickle.dumps(k)), copy.deepcopy(k)):
        np.testing.assert_array_equal(other(A, x, s), k(A, x, s))


@with_vectorcall
class Short(Kernel):
    """Refuses what is not served by the compiled call path."""

    def _call(self, *args: Any) -> Any:
        raise NotImplementedError


def short(k: Kernel) -> Kernel:
    runner, origin = k._runner, k._origin
    return Short(k.inputs, k.outputs, runner, origin, structure=k._structure, options=k.options)


def long_way(k: Kernel, *arguments: Any, out: Any = None) -> Any:
    return k._call(arguments, out, None, {})


def test_the_short_way_agrees_with_the_whole_way() -> None:
    whole = affine()
    k = short(whole)
    for batches in [
        ((), (), ()),
        ((5,), (5,), (5,)),
        ((5,), (), (5,)),
        ((), (3, 5), ()),
        ((2, 3), (2, 3), ()),
        ((1,), (1,), ()),
        ((4, 1), (1, 3), (3,)),
    ]:
        arguments = data(*batches)
        got, want = k(*arguments), long_way(whole, *arguments)
        assert got.base is None
        assert got.flags.writeable
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape
        for form in (np.asfortranarray, lambda a: np.repeat(a, 2, -1)[..., ::2], np.float32):
            shaped = [form(a) if a.ndim else a for a in arguments]
            expected = long_way(whole, *shaped)  # builds the unit that both share
            got = k(*shaped)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
        named = dict(zip("Axs", arguments, strict=True))
        np.testing.assert_array_equal(k(**named), want)
        out = np.zeros(want.shape)
        assert k(arguments[0], out=out, s=arguments[2], x=arguments[1]) is out
        np.testing.assert_array_equal(out, want)
    A, x, _ = data((), (), ())
    np.testing.assert_array_equal(k(A, x, 2.0), long_way(whole, A, x, 2))
    for odd in [(A, x), (A, x, "2"), (A.T.copy(), x, 2.0), (A, np.zeros((0, 3)), 2.0), (A, [1, 2], 2.0)]:
        with pytest.raises(NotImplementedError):
            k(*odd)
    wrong: tuple[Any, ...] = (np.empty(3), np.empty(2, np.float32), frozen(2), x[:2], [0, 0])
    for out in wrong:
        with pytest.raises(NotImplementedError):
            k(A, x, 2.0, out=out)
    with pytest.raises(NotImplementedError):
        k(A, x, 2.0, z=1.0)


def test_many_inputs() -> None:
    t = Tape(*((f"x{i}", ()) for i in range(40)))
    total = t.load(0)
    for i in range(1, 40):
        total = t.op("add", total, t.load(i))
    t.out((), [total])
    k = kernel({f"x{i}": () for i in range(40)}, {"f": ()}, NativeRunner(t.program()))
    assert k(*range(40)) == 780
    np.testing.assert_array_equal(k(np.arange(9.0), *range(1, 40)), 780 + np.arange(9.0))


def test_no_inputs() -> None:
    t = Tape()
    t.out((2,), [t.const(1.5), t.const(-2.0)])
    runner = NativeRunner(t.program())
    np.testing.assert_array_equal(kernel({}, {"f": (2,)}, runner)(), [1.5, -2.0])
    np.testing.assert_array_equal(kernel({}, {"f": (2,)}, runner, reduce="sum")(), [1.5, -2.0])
    with pytest.raises(ArgumentError, match="1 arguments by position for 0 inputs; expected no inputs"):
        kernel({}, {"f": (2,)}, runner)(1.0)


def test_threads_share_a_kernel() -> None:
    k = affine()
    work = [data((300,), (300,), (300,), seed=i) for i in range(16)]
    wanted = [k(*arguments) for arguments in work]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for got, want in zip(pool.map(lambda arguments: k(*arguments), work), wanted, strict=True):
                np.testing.assert_array_equal(got, want)


@given(st.integers(0, 4), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=40)
def test_inputs_in_a_dict_are_those_by_position(count: int, order: Any, into: bool) -> None:
    names = ["a", "inputs", "out", "B", "v"]
    shapes: dict[str, Any] = {"a": (), "inputs": (), "out": (), "B": (2, 2), "v": 2}
    k = sd.compile("a * inputs + out * (v @ B @ v)", shapes=shapes, inputs=names, backend="interpreter")
    rng = np.random.default_rng(count)
    values = {name: rng.normal(size=(2, 2) if name == "B" else 2 if name == "v" else ()) for name in names}
    expected = k(*values.values())
    rest = names[count:]
    by_name = [name for name in rest if order.random() < 0.3 and name not in ("inputs", "out")]
    mapping = {name: values[name] for name in order.sample(rest, len(rest)) if name not in by_name}
    given_by_name = {name: values[name] for name in by_name}
    out = np.empty(()) if into else None
    found = k(*[values[name] for name in names[:count]], inputs=mapping, out=out, **given_by_name)
    assert found == expected
    assert not into or out == expected
    if mapping:
        wrong = dict(mapping)
        wrong["z"] = wrong.pop(next(iter(mapping)))
        with pytest.raises(sd.ArgumentError):
            k(*[values[name] for name in names[:count]], inputs=wrong, **given_by_name)
        with pytest.raises(sd.ArgumentError):
            k(*[values[name] for name in names[:count]], inputs={**mapping, **given_by_name, "z": 1}, **given_by_name)


# ---------------------------------------------------------------------------- kernel out
# Results in given arrays: out= is filled, or untouched where something does not fit.


@pytest.mark.parametrize(
    ("structure", "out", "message"),
    [
        ("dict", [np.empty(4), np.empty((4, 3))], "keys product, all; got a list of 2"),
        ("dict", {"product": np.empty(4)}, "got a dict with the keys product"),
        ("list", [np.empty(4)], "list of 2 arrays; got a list of 1"),
        ("tuple", np.empty(4), "tuple of 2 arrays; got a ndarray"),
        ("list", [np.empty(4), [1, 2]], "out for all is a list"),
    ],
)
def test_structures_of_out(structure: str, out: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pair(structure)(np.arange(4.0), 2, out=out)


def frozen(*shape: int) -> npt.NDArray[np.float64]:
    a = np.full(shape, 7.0)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.full((3, 4), 7.0), ShapeError, r"out has shape \(3, 4\); expected \(4, 2\)"),
        (np.full((4, 2), 7.0, np.float32), DtypeError, "out holds float32; expected float64"),
        (np.full((4, 2), 7), DtypeError, "out holds int64"),
        (frozen(4, 2), ArgumentError, "read-only"),
        (np.lib.stride_tricks.as_strided(np.full(2, 7.0), (4, 2), (0, 8)), ArgumentError, "share memory"),
        (np.lib.stride_tricks.as_strided(np.full(5, 7.0), (4, 2), (8, 8)), ArgumentError, "share memory"),
        (np.lib.stride_tricks.as_strided(np.full(5, 7.0)[3:], (4, 2), (-8, 8)), ArgumentError, "share memory"),
        (np.lib.stride_tricks.as_strided(np.full(9, 7.0), (4, 2), (4, 40)), ArgumentError, "share memory"),
        (np.full((1, 4, 2), 7.0), ShapeError, "expected"),
    ],
)
def test_out_that_does_not_fit_is_untouched(out: Any, error: type[Exception], message: str) -> None:
    A, x, s = data((4,), (4,), (4,))
    before = out.copy()
    with pytest.raises(error, match=message):
        affine()(A, x, s, out=out)
    np.testing.assert_array_equal(out, before)


def test_out_is_untouched_when_inputs_are_wrong() -> None:
    A, x, s = data((4,), (4,), (4,))
    out = np.full((4, 2), 7.0)
    with pytest.raises(ShapeError):
        affine()(A, x[:3], s, out=out)
    with pytest.raises(DtypeError):
        affine()(A, x, s * 1j, out=out)
    assert (out == 7.0).all()


def test_out_of_a_subclass(tmp_path: Path) -> None:
    A, x, s = data((4,), (4,), (4,))
    want = affine()(A, x, s)
    mapped = np.memmap(tmp_path / "out", np.float64, "w+", shape=(4, 2))
    matrix = np.zeros((4, 2)).view(np.recarray)
    for out in (mapped, matrix):
        assert affine()(A, x, s, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), want)
    with pytest.raises(ArgumentError, match="out is a MaskedArray"):
        affine()(A, x, s, out=np.ma.zeros((4, 2)))


@pytest.mark.parametrize("n", [1, 5, 8, 40])
def test_out_may_overlap_the_inputs(n: int) -> None:
    k = affine()
    room = np.random.default_rng(0).uniform(-2, 2, (n + 3, 2, 3))
    _, x, s = data((n,), (n,), (n,))
    for shift in (0, 1, 3):
        views: tuple[Callable[[Any], Any], ...] = (
            lambda a: a[..., 0],
            lambda a: a.reshape(-1)[: 2 * n].reshape(n, 2),
            lambda a: a[::-1][:n, :, 1],
        )
        for view in views:
            memory = room.copy()
            want = k(room[shift : shift + n], x, s)
            out = view(memory)[:n]
            k(memory[shift : shift + n], x, s, out=out)
            np.testing.assert_array_equal(out, want)
    both = np.empty(5)
    with pytest.raises(ArgumentError, match="overlaps another output"):
        pair("list")(1.0, 2.0, out=[both[:1].reshape(()), both[:3]])
