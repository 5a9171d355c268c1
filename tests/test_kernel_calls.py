"""Calls of kernels of any size, the short way, many inputs, pickles, threads."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tape import Tape
from test_kernel import Python, affine, data, kernel, pair
from test_kernel_out import frozen

import symdiff as sd
from symdiff._kernels.call import with_vectorcall
from symdiff.errors import ArgumentError, ShapeError, UnsupportedError
from symdiff.graph.size_equations import bind
from symdiff.graph.sizes import named
from symdiff.runtime.kernel import Kernel
from symdiff.runtime.runners.programs import NativeRunner

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
