"""Symbols follow the Python array API standard: ``sd.xp`` does what NumPy's functions of the same names do.

Each case is code for the standard. It runs with NumPy on numbers, with ``sd.xp`` on arrays made of numbers alone, and
with ``sd.xp`` on symbols, whose formulas are evaluated; all three must agree.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import symdiff as sd
from symdiff.graph.reference.interpret import evaluate
from symdiff.libraries.xp import ABSENT, CHAPTERS, functions
from tests.support import standard

xp: Any = sd.xp
new_numpy = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy follows the standard")

#: Code for the standard, of a 4 x 3 array ``a`` of positive numbers, a vector ``v`` of 3, and a definite 3 x 3 ``s``.
Case = Callable[[Any, Any, Any, Any], Any]
CASES: dict[str, Sequence[Case]] = {
    "arange": (lambda x, a, v, s: a[0, :] + x.arange(3), lambda x, a, v, s: v * x.arange(5, -1, -2)),
    "argmax": (),
    "argmin": (),
    "argsort": (),
    "asarray": (lambda x, a, v, s: x.asarray([[1, 2, 3]]) + a, lambda x, a, v, s: x.asarray(v, dtype=x.float64)),
    "astype": (
        lambda x, a, v, s: x.astype(a > 1, x.float64) * a,
        lambda x, a, v, s: x.astype(3 * a - 4, x.int64),
        lambda x, a, v, s: x.astype(x.trunc(a), x.bool),
    ),
    "broadcast_arrays": (lambda x, a, v, s: x.broadcast_arrays(a, v),),
    "broadcast_shapes": (lambda x, a, v, s: x.broadcast_shapes(a.shape, v.shape),),
    "broadcast_to": (lambda x, a, v, s: x.broadcast_to(v, (2, 4, 3)),),
    "can_cast": (lambda x, a, v, s: x.can_cast(x.int32, x.int64), lambda x, a, v, s: x.can_cast(a.dtype, x.int64)),
    "clip": (
        lambda x, a, v, s: x.clip(a, 0.8, 1.5),
        lambda x, a, v, s: x.clip(a, max=v),
        lambda x, a, v, s: x.clip(a, min=1),
        lambda x, a, v, s: x.clip(a),
    ),
    "concat": (
        lambda x, a, v, s: x.concat([a, s]),
        lambda x, a, v, s: x.concat((a, a), axis=1),
        lambda x, a, v, s: x.concat([a, v], axis=None),
        lambda x, a, v, s: x.concat([a > 1, a < 1]),
    ),
    "count_nonzero": (lambda x, a, v, s: x.count_nonzero(x.trunc(a), axis=0),),
    "cumulative_prod": (lambda x, a, v, s: x.cumulative_prod(a, axis=0, include_initial=True),),
    "cumulative_sum": (
        lambda x, a, v, s: x.cumulative_sum(a, axis=-1),
        lambda x, a, v, s: x.cumulative_sum(v, include_initial=True, dtype=x.float64),
    ),
    "diff": (lambda x, a, v, s: x.diff(a, axis=0, n=2), lambda x, a, v, s: x.diff(v, prepend=x.zeros(1), append=v[:1])),
    "empty": (lambda x, a, v, s: x.empty((2, 3)).shape,),
    "empty_like": (lambda x, a, v, s: x.empty_like(a).shape,),
    "expand_dims": (lambda x, a, v, s: x.expand_dims(a, axis=-2),),
    "eye": (lambda x, a, v, s: x.eye(3) + s, lambda x, a, v, s: a @ x.eye(3, 5, k=1)),
    "finfo": (lambda x, a, v, s: (x.finfo(a.dtype).eps, x.finfo(x.float32).max, x.finfo(x.float64).smallest_normal),),
    "flip": (lambda x, a, v, s: x.flip(a), lambda x, a, v, s: x.flip(a, axis=1)),
    "from_dlpack": (lambda x, a, v, s: x.from_dlpack(np.arange(3.0)) * v,),
    "full": (lambda x, a, v, s: x.full((2, 3), 4.0) + v, lambda x, a, v, s: x.full(3, True)),
    "full_like": (lambda x, a, v, s: x.full_like(a, 2.5), lambda x, a, v, s: x.full_like(a, 3, dtype=x.bool)),
    "iinfo": (lambda x, a, v, s: (x.iinfo(x.int32).max, x.iinfo(x.uint8).bits),),
    "imag": (lambda x, a, v, s: x.imag(a),),
    "isdtype": (
        lambda x, a, v, s: [x.isdtype(a.dtype, kind) for kind in ("real floating", "integral", "numeric", "bool")],
        lambda x, a, v, s: [x.isdtype((a > 1).dtype, ("bool", "complex floating")), x.isdtype(a.dtype, x.float64)],
    ),
    "isin": (lambda x, a, v, s: x.isin(x.trunc(a), x.asarray([0, 2])),),
    "linspace": (
        lambda x, a, v, s: x.linspace(0, 1, 7),
        lambda x, a, v, s: x.linspace(-1, 2, 4, endpoint=False),
        lambda x, a, v, s: x.linspace(v[0], v[1], 5),
    ),
    "matmul": (lambda x, a, v, s: x.matmul(a, s), lambda x, a, v, s: x.matmul(a, v)),
    "matrix_transpose": (lambda x, a, v, s: x.matrix_transpose(a[None, ...]),),
    "meshgrid": (lambda x, a, v, s: x.meshgrid(v, v[:2]), lambda x, a, v, s: x.meshgrid(v, v[:2], indexing="ij")),
    "moveaxis": (lambda x, a, v, s: x.moveaxis(a[None, ...], 0, -1),),
    "nonzero": (),
    "ones": (lambda x, a, v, s: x.ones((4, 1)) * v, lambda x, a, v, s: x.ones(3, dtype=x.bool)),
    "ones_like": (lambda x, a, v, s: x.ones_like(a), lambda x, a, v, s: x.ones_like(a > 1)),
    "permute_dims": (lambda x, a, v, s: x.permute_dims(a[None, ...], (2, 0, 1)),),
    "repeat": (
        lambda x, a, v, s: x.repeat(a, 2, axis=0),
        lambda x, a, v, s: x.repeat(v, x.asarray([2, 0, 1])),
        lambda x, a, v, s: x.repeat(a, 3),
    ),
    "reshape": (lambda x, a, v, s: x.reshape(a, (2, -1)), lambda x, a, v, s: x.reshape(a, (12,))),
    "result_type": (
        lambda x, a, v, s: x.result_type(a, x.float32, x.int8),
        lambda x, a, v, s: x.result_type(x.int8, x.uint8),
        lambda x, a, v, s: x.result_type(a > 1, x.bool),
    ),
    "roll": (lambda x, a, v, s: x.roll(a, 2), lambda x, a, v, s: x.roll(a, (1, -1), axis=(0, 1))),
    "searchsorted": (
        lambda x, a, v, s: x.searchsorted(x.asarray([0.5, 1.0, 1.5]), a),
        lambda x, a, v, s: x.searchsorted(x.asarray([2.0, 1.0]), v, side="right", sorter=x.asarray([1, 0])),
    ),
    "signbit": (lambda x, a, v, s: x.signbit(x.asarray([0.0, 1.0, -1.0]) * v),),
    "sort": (
        lambda x, a, v, s: x.sort(a),
        lambda x, a, v, s: x.sort(a, axis=0) if x is np else x.flip(x.sort(a, axis=0, descending=True), axis=0),
    ),
    "squeeze": (lambda x, a, v, s: x.squeeze(a[None, :, None, :], axis=(0, 2)),),
    "stack": (lambda x, a, v, s: x.stack([v, 2 * v], axis=1), lambda x, a, v, s: x.stack([v > 1, v < 1])),
    "take": (
        lambda x, a, v, s: x.take(a, x.asarray([2, 0, -1]), axis=1),
        lambda x, a, v, s: x.take(v, x.asarray([[1, 2], [0, 0]])),
    ),
    "take_along_axis": (lambda x, a, v, s: x.take_along_axis(a, x.asarray([[2, 0], [1, 1], [0, 2], [1, 0]]), axis=1),),
    "tensordot": (
        lambda x, a, v, s: x.tensordot(a, s, axes=1),
        lambda x, a, v, s: x.tensordot(a, a, axes=((0,), (0,))),
    ),
    "tile": (lambda x, a, v, s: x.tile(a, (2, 1, 2)),),
    "tril": (lambda x, a, v, s: x.tril(a, k=-1), lambda x, a, v, s: x.tril(a > 1)),
    "triu": (lambda x, a, v, s: x.triu(a, k=1), lambda x, a, v, s: x.triu(s > 0)),
    "unique_all": (),
    "unique_counts": (),
    "unique_inverse": (),
    "unique_values": (),
    "unstack": (lambda x, a, v, s: x.unstack(a), lambda x, a, v, s: x.unstack(a, axis=1)),
    "vecdot": (lambda x, a, v, s: x.vecdot(a, v), lambda x, a, v, s: x.vecdot(a, a, axis=0)),
    "where": (lambda x, a, v, s: x.where(a > 1, a, v), lambda x, a, v, s: x.where(a > 1, 0.0, a)),
    "zeros": (lambda x, a, v, s: x.zeros((4, 1)) + v, lambda x, a, v, s: x.zeros(2, dtype=x.bool)),
    "zeros_like": (lambda x, a, v, s: x.zeros_like(a) + a,),
    "__array_namespace_info__": (lambda x, a, v, s: x.__array_namespace_info__().default_device(),),
    **{
        name: (
            lambda x, a, v, s, name=name: getattr(x, name)(a),  # type: ignore[misc]
            lambda x, a, v, s, name=name: getattr(x, name)(a, axis=0, keepdims=True),  # type: ignore[misc]
            lambda x, a, v, s, name=name: getattr(x, name)(a[None, ...], axis=(0, -1)),  # type: ignore[misc]
        )
        for name in ("max", "mean", "min", "prod", "sum")
    },
    **{
        name: (
            lambda x, a, v, s, name=name: getattr(x, name)(a, correction=1),  # type: ignore[misc]
            lambda x, a, v, s, name=name: getattr(x, name)(a, axis=1, correction=0.5, keepdims=True),  # type: ignore[misc]
        )
        for name in ("std", "var")
    },
    **{
        name: (
            lambda x, a, v, s, name=name: getattr(x, name)(a > 0.6),  # type: ignore[misc]
            lambda x, a, v, s, name=name: getattr(x, name)(x.trunc(a), axis=0, keepdims=True),  # type: ignore[misc]
        )
        for name in ("all", "any")
    },
}

OF_LINALG: dict[str, Sequence[Case]] = {
    "cholesky": (
        lambda x, a, v, s: x.linalg.cholesky(s),
        lambda x, a, v, s: x.linalg.cholesky(s, upper=True),
    ),
    "cross": (lambda x, a, v, s: x.linalg.cross(v[None, :], a), lambda x, a, v, s: x.linalg.cross(s, s @ s, axis=0)),
    "det": (lambda x, a, v, s: x.linalg.det(s),),
    "diagonal": (lambda x, a, v, s: x.linalg.diagonal(s[None, ...], offset=1),),
    "eigh": (lambda x, a, v, s: x.linalg.eigh(s).eigenvalues, lambda x, a, v, s: abs(x.linalg.eigh(s).eigenvectors)),
    "eigvalsh": (lambda x, a, v, s: x.linalg.eigvalsh(s),),
    "inv": (lambda x, a, v, s: x.linalg.inv(s),),
    "matmul": (lambda x, a, v, s: x.linalg.matmul(a, s),),
    "matrix_norm": tuple(
        lambda x, a, v, s, o=order: x.linalg.matrix_norm(a, ord=o, keepdims=True)  # type: ignore[misc]
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ),
    "matrix_power": (lambda x, a, v, s: x.linalg.matrix_power(s, 3), lambda x, a, v, s: x.linalg.matrix_power(s, -2)),
    "matrix_rank": (),
    "matrix_transpose": (lambda x, a, v, s: x.linalg.matrix_transpose(a),),
    "outer": (lambda x, a, v, s: x.linalg.outer(v, a[:, 0]),),
    "pinv": (lambda x, a, v, s: x.linalg.pinv(a),),
    "qr": (
        lambda x, a, v, s: x.linalg.qr(a).Q @ x.linalg.qr(a).R,
        lambda x, a, v, s: abs(x.linalg.qr(a).R),
        lambda x, a, v, s: abs(x.linalg.qr(a).Q),
    ),
    "slogdet": (lambda x, a, v, s: tuple(x.linalg.slogdet(s)), lambda x, a, v, s: x.linalg.slogdet(s).logabsdet),
    "solve": (lambda x, a, v, s: x.linalg.solve(s, v), lambda x, a, v, s: x.linalg.solve(s, a.T)),
    "svd": (
        lambda x, a, v, s: x.linalg.svd(a, full_matrices=False).S,
        lambda x, a, v, s: abs(x.linalg.svd(s).U),
        lambda x, a, v, s: abs(x.linalg.svd(a, full_matrices=False).Vh),
    ),
    "svdvals": (lambda x, a, v, s: x.linalg.svdvals(a),),
    "tensordot": (lambda x, a, v, s: x.linalg.tensordot(a, s, axes=1),),
    "trace": (lambda x, a, v, s: x.linalg.trace(s), lambda x, a, v, s: x.linalg.trace(s[None, ...], offset=-1)),
    "vecdot": (lambda x, a, v, s: x.linalg.vecdot(a, v),),
    "vector_norm": tuple(
        lambda x, a, v, s, o=order, over=axes: x.linalg.vector_norm(a, ord=o, axis=over)  # type: ignore[misc]
        for order in (0, 1, 2, 3, 0.5, np.inf, -np.inf)
        for axes in (None, 1, (0, 1))
    ),
}

#: What only numbers can tell: computed of arrays made of numbers alone, refused of symbols.
OF_NUMBERS: dict[str, Sequence[Callable[[Any, Any], Any]]] = {
    "argmax": (lambda x, c: x.argmax(c), lambda x, c: x.argmax(c, axis=0, keepdims=True)),
    "argmin": (lambda x, c: x.argmin(c), lambda x, c: x.argmin(c, axis=1)),
    "argsort": (
        lambda x, c: x.argsort(c, axis=0, stable=True),
        lambda x, c: x.argsort(-c, stable=True) if x is np else x.argsort(c, descending=True),
    ),
    "nonzero": (lambda x, c: x.nonzero(c),),
    "unique_all": (lambda x, c: tuple(x.unique_all(c)), lambda x, c: x.unique_all(c).inverse_indices),
    "unique_counts": (lambda x, c: tuple(x.unique_counts(c)), lambda x, c: x.unique_counts(c).counts),
    "unique_inverse": (lambda x, c: tuple(x.unique_inverse(c)), lambda x, c: x.unique_inverse(c).inverse_indices),
    "unique_values": (lambda x, c: x.unique_values(c),),
}


def numbers() -> tuple[Any, ...]:
    """Return the arrays of one run."""
    rng = np.random.default_rng(5)
    a = rng.uniform(0.3, 2.5, (4, 3))
    return a, rng.uniform(0.5, 2.0, 3), a.T @ a + np.eye(3)


def symbols() -> tuple[Any, ...]:
    return tuple(sd.symbol(name, x.shape) for name, x in zip("avs", numbers(), strict=True))


def read(result: Any) -> list[Any]:
    """Return the numbers of a result, symbols evaluated."""
    parts = list(result) if isinstance(result, tuple | list) else [result]
    given = dict(zip("avs", numbers(), strict=True))
    return [evaluate([p.node], given)[0] if isinstance(p, sd.Array) else p for p in parts]


def compare(got: Any, want: Any) -> None:
    wanted = list(want) if isinstance(want, tuple | list) else [want]
    found = read(got)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        if isinstance(other, np.dtype | str):
            assert one == other
            continue
        assert np.shape(one) == np.shape(other)
        assert (np.asarray(one).dtype == bool) == (np.asarray(other).dtype == bool)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def agree(case: Case) -> None:
    given = numbers()
    want = case(np, *given)
    compare(case(xp, *map(xp.asarray, given)), want)
    compare(case(xp, *symbols()), want)


def name_of(line: str) -> str:
    return line.partition("(")[0]


def arguments(function: Any) -> str:
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


NAMES = [*map(name_of, standard.FUNCTIONS), *standard.CONSTANTS, *standard.DTYPES, "fft", "linalg"]


@pytest.mark.rows(40)
@pytest.mark.parametrize("name", [*NAMES, "__array_api_version__", "__array_namespace_info__"])
def test_every_name_of_the_standard_is_there_or_refused_by_name(name: str) -> None:
    if name in ABSENT:
        assert name not in dir(xp)
        with pytest.raises(sd.AbsentError, match=rf"{name}.*; .{{10}}"):
            getattr(xp, name)
    else:
        assert name in dir(xp)
        getattr(xp, name)


def test_the_namespace_has_no_other_names_than_the_standard() -> None:
    own = {"__array_api_version__", "__array_namespace_info__", "special"}
    assert {*dir(xp), *ABSENT} == {*NAMES, *own}
    assert {n for chapter in CHAPTERS.values() for n in chapter} <= set(dir(xp))


def test_functions_have_the_arguments_of_the_standard() -> None:
    for line in standard.FUNCTIONS:
        if name_of(line) not in ABSENT:
            assert name_of(line) + arguments(getattr(xp, name_of(line))) == line
    assert [name + arguments(getattr(xp.linalg, name)) for name in xp.linalg.__all__] == standard.OF_LINALG


def test_every_function_has_a_case() -> None:
    own = {name for chapter in CHAPTERS.values() for name in chapter}
    rows = set(functions.ONE) | set(functions.TWO)
    assert own - rows == set(CASES)
    assert {name for name in CASES if not CASES[name]} == set(OF_NUMBERS)
    assert set(xp.linalg.__all__) == set(OF_LINALG)


@new_numpy
@pytest.mark.parametrize("name", sorted(name for name in CASES if CASES[name]))
def test_a_function_does_what_numpy_does(name: str) -> None:
    for case in CASES[name]:
        agree(case)


@new_numpy
@pytest.mark.parametrize("name", sorted(name for name in OF_LINALG if OF_LINALG[name]))
def test_linear_algebra_is_that_of_numpy(name: str) -> None:
    for case in OF_LINALG[name]:
        agree(case)


@new_numpy
@pytest.mark.parametrize("name", sorted({*functions.ONE, *functions.TWO}))
def test_an_elementwise_function_does_what_numpy_does(name: str) -> None:
    bits, logic = name.startswith("bitwise"), name.startswith("logical")
    shift = {"acosh": 1.1, "log": 0.1}.get(name, 0.0)
    scale = 0.3 if name in ("acos", "asin", "atanh") else 1.0

    def prepared(x: Any) -> Any:
        return x > 1.2 if bits else x - 1.2 if name in ("abs", "sign", "ceil", "floor", "trunc", "round") else (
            x * scale + shift)  # fmt: skip

    if name in functions.ONE:
        agree(lambda x, a, v, s: getattr(x, name)(prepared(a)))
        with pytest.raises(sd.ArgumentError, match="takes 1"):
            getattr(xp, name)(1.0, 2.0)
    else:
        agree(lambda x, a, v, s: getattr(x, name)(prepared(a), prepared(v)))
        if not bits and not logic:
            agree(lambda x, a, v, s: getattr(x, name)(prepared(a), 1.0))


@pytest.mark.parametrize("name", sorted(OF_NUMBERS))
def test_what_only_numbers_can_tell(name: str) -> None:
    c = np.random.default_rng(1).integers(-2, 3, (4, 3)).astype(float)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        for case in OF_NUMBERS[name]:
            compare(case(xp, xp.asarray(c)), case(np, c))
    with pytest.raises(sd.UnsupportedError, match=rf"xp\.{name} of symbols: .*; "):
        getattr(xp, name)(symbols()[0])


def test_ranks_are_of_numbers() -> None:
    a = np.ones((3, 2))
    assert int(xp.linalg.matrix_rank(xp.asarray(a))) == 1
    with pytest.raises(sd.UnsupportedError, match="rank"):
        xp.linalg.matrix_rank(symbols()[0])


# ---------------------------------------------------------------------------- array api objects
# Array objects of the standard, and code that others wrote for it.


def test_an_array_gives_its_namespace() -> None:
    x = sd.vector("x", 3)
    for version in (None, "2021.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(sd.UnsupportedError, match="api_version"):
        x.__array_namespace__(api_version="2019.12")
    assert (x.device, x.to_device("cpu"), x.ndim, x.shape, x.size) == ("cpu", x, 1, (3,), 3)
    assert x.dtype == xp.float64
    assert (x > 0).dtype == xp.bool
    with pytest.raises(sd.UnsupportedError, match="gpu"):
        x.to_device("gpu")
    with pytest.raises(sd.UnsupportedError, match="stream"):
        x.to_device("cpu", stream=1)


def test_arrays_made_of_numbers_alone_answer_for_them() -> None:
    c = xp.asarray([1.5, -2.0, 3.0])
    assert bool(xp.any(c > 2))
    assert not bool(xp.all(c > 2))
    assert (float(xp.sum(c)), int(c[2]), complex(c[1])) == (2.5, 3, -2 + 0j)
    assert [10, 20, 30, 40][c[2]] == 40
    np.testing.assert_array_equal(np.asarray(xp.exp(c)), np.exp([1.5, -2.0, 3.0]))
    assert np.asarray(c, dtype=np.float32).dtype == np.float32
    for make, told in (
        (lambda: bool(c), "one number"),
        (lambda: float(c), "one number"),
        (lambda: [1, 2][c[0]], "whole number"),
        (lambda: [1, 2][c[0] > 0], "whole number"),
    ):
        with pytest.raises(sd.SymbolError, match=told):
            make()


def test_symbols_have_no_numbers_and_say_what_to_write() -> None:
    x, n = sd.vector("x", 3), sd.scalar("s")
    vanished = x - x  # a number, of symbols
    letters = xp.sum(xp.ones("n"))  # a size that is known at call time
    for y in (n, vanished[0], letters, sd.gradient(3 * n, n)):
        for function in (bool, float, int, complex, lambda y: [1, 2][y]):
            with pytest.raises(sd.ShapeError if y is letters else sd.SymbolError, match=r"symbol|size"):
                function(y)
    with pytest.raises(sd.SymbolError, match="no numbers"):
        np.asarray(vanished)
    with pytest.raises(sd.UnsupportedError, match="where\\(condition"):
        x[x > 0]
    with pytest.raises(sd.UnsupportedError, match="symbol of real numbers"):
        x[n]
    with pytest.raises(sd.DtypeError, match="whole"):
        x[xp.asarray([0.5])]


def test_positions_made_by_the_namespace_index() -> None:
    a, *_ = symbols()
    numbers_a = numbers()[0]
    key = xp.asarray([2, 0])
    for got, want in (
        (a[key], numbers_a[[2, 0]]),
        (a[xp.asarray(1)], numbers_a[1]),
        (a[:, xp.arange(2)], numbers_a[:, :2]),
        (a[xp.asarray([True, False, True, False])], numbers_a[[0, 2]]),
        (a[key, xp.asarray([1, 1])], numbers_a[[2, 0], [1, 1]]),
        (a[xp.argsort(xp.asarray([3.0, 1.0, 2.0])), 0], numbers_a[[1, 2, 0], 0]),
    ):
        compare(got, want)


def test_dtypes_by_name() -> None:
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert info.dtypes(kind="complex floating") == {}
    assert info.dtypes()["float64"] == xp.float64
    assert info.default_dtypes()["real floating"] == xp.float64
    assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}
    assert (info.devices(), info.default_device()) == (["cpu"], "cpu")
    for make, error in (
        (lambda: xp.complex64, sd.AbsentError),
        (lambda: xp.zeros(3, dtype=complex), sd.UnsupportedError),
        (lambda: xp.astype(sd.vector("x", 2), "U3"), sd.UnsupportedError),
        (lambda: xp.zeros(3, dtype="number"), sd.ArgumentError),
        (lambda: xp.isdtype(xp.float64, "real"), sd.ArgumentError),
        (xp.result_type, sd.ArgumentError),
        (lambda: xp.ones(2, device="gpu"), sd.UnsupportedError),
        (lambda: xp.asarray(1j), sd.DtypeError),
        (lambda: xp.take(sd.matrix("A", 2, 2), [0]), sd.ShapeError),
        (lambda: xp.linalg.pinv(sd.matrix("A", 2, 2), rtol=0.1), sd.UnsupportedError),
        (lambda: xp.linalg.eig, sd.AbsentError),
    ):
        with pytest.raises(error):
            make()


def test_whole_parts_have_no_derivative() -> None:
    x = sd.vector("x", 3)
    np.testing.assert_array_equal(sd.compile(x.astype(int))(np.array([1.7, -1.7, 2.0])), [1, -1, 2])
    np.testing.assert_array_equal(
        sd.compile(sd.gradient((x * xp.astype(x, xp.int64)).sum(), x))(np.array([1.7, -1.7, 2.5])), [1, -1, 2]
    )


# ---------------------------------------------------------------------------- code written for the standard


def log_sum_exp(x: Any) -> Any:
    xp = x.__array_namespace__()
    top = xp.max(x, axis=-1, keepdims=True)
    return xp.squeeze(top, axis=-1) + xp.log(xp.sum(xp.exp(x - top), axis=-1))


def softmax(x: Any) -> Any:
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def zscore(x: Any) -> Any:
    xp = x.__array_namespace__()
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0, correction=1)


def distances(x: Any) -> Any:
    xp = x.__array_namespace__()
    gaps = xp.expand_dims(x, axis=1) - xp.expand_dims(x, axis=0)
    squares = xp.sum(gaps**2, axis=-1)
    return xp.where(squares > 0, xp.sqrt(xp.where(squares > 0, squares, 1.0)), 0.0)


def gaussian_process(x: Any) -> Any:
    """Return the log likelihood of a Gaussian process at the first columns, of data in the last one."""
    xp = x.__array_namespace__()
    places, y = x[:, :-1], x[:, -1]
    squares = xp.sum((xp.expand_dims(places, axis=1) - xp.expand_dims(places, axis=0)) ** 2, axis=-1)
    kernel = xp.exp(-0.5 * squares) + 0.1 * xp.eye(x.shape[0])
    factor = xp.linalg.cholesky(kernel)
    half = xp.sum(xp.log(xp.linalg.diagonal(factor)))
    return -0.5 * xp.vecdot(y, xp.linalg.solve(kernel, y)) - half - 0.5 * x.shape[0] * xp.log(xp.asarray(2 * xp.pi))


WRITTEN = (log_sum_exp, softmax, zscore, distances, gaussian_process)


@new_numpy
@pytest.mark.parametrize("function", WRITTEN)
def test_code_for_the_standard_runs_on_symbols_and_is_differentiated(function: Callable[[Any], Any]) -> None:
    x, values = sd.matrix("x", 4, 3), numbers()[0]
    formula = function(x)
    np.testing.assert_allclose(sd.compile(formula)(values), function(values), rtol=1e-12)
    weights = np.random.default_rng(2).normal(size=formula.shape)
    slope = sd.compile(sd.gradient(xp.sum(formula * xp.asarray(weights)), x))(values)
    step, direction = 1e-6, np.random.default_rng(3).normal(size=values.shape)
    ends = [(weights * function(values + sign * step * direction)).sum() for sign in (1, -1)]
    assert (slope * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-7)


def test_libraries_find_the_namespace() -> None:
    compat = pytest.importorskip("scipy._lib.array_api_compat")
    x = sd.vector("x", 3)
    assert compat.array_namespace(x, xp.ones(3)) is xp
    assert compat.size(x) == 3
    assert compat.device(x) == "cpu"


OF_SCIPY = """
import numpy as np, symdiff as sd
from scipy import integrate, optimize, special, stats
x, v = sd.vector("x", 4), np.array([0.3, 1.2, -0.4, 2.0])
cases = {
    "softmax": special.softmax, "softplus": special.softplus, "entr": lambda x: special.entr(x**2), "erf": special.erf,
    "xlogy": lambda x: special.xlogy(x, x**2), "gammaln": lambda x: special.gammaln(x**2), "sem": stats.sem,
    "gmean": lambda x: stats.gmean(x**2), "tvar": stats.tvar, "skew": stats.skew, "kurtosis": stats.kurtosis,
    "circmean": stats.circmean, "variation": stats.variation, "entropy": lambda x: stats.entropy(x**2),
    "ttest": lambda x: stats.ttest_1samp(x, 0.5).statistic, "rosen": optimize.rosen,
    "trapezoid": integrate.trapezoid,
}
k = sd.compile([function(x) for function in cases.values()], backend="numpy")
for (name, function), got in zip(cases.items(), k(v), strict=True):
    np.testing.assert_allclose(got, function(v), rtol=1e-12, err_msg=name)
slope = sd.compile(sd.gradient(stats.skew(x), x), backend="numpy")(v)
for i in range(4):
    shift = 1e-6 * np.eye(4)[i]
    want = (stats.skew(v + shift) - stats.skew(v - shift)) / 2e-6
    np.testing.assert_allclose(slope[i], want, rtol=1e-6)
for function in (special.logsumexp, stats.zscore):
    try:
        function(x)
    except sd.SymbolError as error:
        assert "sd.logsumexp" in str(error), error
    else:
        raise AssertionError(function)
"""


def test_functions_of_scipy_that_follow_the_standard() -> None:
    pytest.importorskip("scipy", minversion="1.15")
    told = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", OF_SCIPY],
        env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr[-2000:]


@pytest.mark.skipif("SCIPY_ARRAY_API" in os.environ, reason="SciPy takes symbols then")
def test_scipy_without_the_standard_is_told_what_to_write() -> None:
    with pytest.raises(sd.SymbolError, match=r"sd\.logsumexp"):
        logsumexp(sd.vector("x", 3))
