"""Random calls of the array API standard: arrays made of numbers alone beside ``array_api_strict``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.libraries.xp import functions

strict: Any = pytest.importorskip("array_api_strict")
xp: Any = sd.xp
SEEDS = range(12)
Call = Callable[[Any, Callable[..., Any], np.random.Generator], Any]

#: Where values of functions of one number are taken from; (-3, 3) for others.
DOMAINS = {
    **{"acos": (-1, 1), "asin": (-1, 1), "atanh": (-1, 1), "acosh": (1, 5), "log": (0.01, 9), "log2": (0.01, 9)},
    **{"log10": (0.01, 9), "log1p": (-0.9, 9), "sqrt": (0, 9), "reciprocal": (0.2, 3)},
}
#: What is not that of the standard, and why.
EXCEPTIONS = {
    "nextafter": "absent",
    "signbit": "zeros have no sign",
    "bitwise_left_shift": "numbers have no bits",
    "bitwise_right_shift": "numbers have no bits",
}


def shape(rng: np.random.Generator, least: int = 0, most: int = 3) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, 5, rng.integers(least, most + 1)))


def axis(rng: np.random.Generator, ndim: int) -> int:
    return int(rng.integers(-ndim, ndim))


def axes(rng: np.random.Generator, ndim: int) -> Any:
    some = tuple(int(a) for a in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])
    return [None, some, some[0]][rng.integers(3)]


def reduction(name: str) -> Call:
    def call(x: Any, a: Any, rng: np.random.Generator) -> Any:
        numbers = rng.normal(size=shape(rng, 1))
        given: dict[str, Any] = {"axis": axes(rng, numbers.ndim), "keepdims": bool(rng.integers(2))}
        if name in ("std", "var"):
            given["correction"] = float(rng.integers(2)) * 0.5
        if name in ("all", "any"):
            return getattr(x, name)(a(numbers > -1), **given)
        if name in ("argmax", "argmin"):
            given["axis"] = given["axis"] if given["axis"] is None else axis(rng, numbers.ndim)
        return getattr(x, name)(a(numbers), **given)

    return call


def of_shape(function: Callable[[Any, Any, np.random.Generator], Any], least: int = 1) -> Call:
    return lambda x, a, rng: function(x, a(rng.normal(size=shape(rng, least))), rng)


def _joined(name: str) -> Call:
    def call(x: Any, a: Any, rng: np.random.Generator) -> Any:
        size = shape(rng, 1)
        return getattr(x, name)([a(rng.normal(size=size)) for _ in range(3)], axis=axis(rng, len(size)))

    return call


def _products(name: str) -> Call:
    def call(x: Any, a: Any, rng: np.random.Generator) -> Any:
        m, n, k = (int(s) for s in rng.integers(1, 5, 3))
        lead = shape(rng, 0, 1)
        left, right = rng.normal(size=(*lead, m, n)), rng.normal(size=(n, k))
        if name == "vecdot":
            return x.vecdot(a(left), a(rng.normal(size=n)))
        if name == "tensordot":
            return x.tensordot(a(left), a(right), axes=1)
        return x.matmul(a(left), a(right))

    return call


def _searched(x: Any, a: Any, rng: np.random.Generator) -> Any:
    side = ("left", "right")[rng.integers(2)]
    return x.searchsorted(a(np.sort(rng.normal(size=6).round(1))), a(rng.normal(size=(2, 3)).round(1)), side=side)


def _chosen(x: Any, a: Any, rng: np.random.Generator) -> Any:
    size = shape(rng, 1)
    return x.where(a(rng.normal(size=size) > 0), a(rng.normal(size=size)), a(rng.normal(size=size[-1:])))


def _taken(x: Any, a: Any, rng: np.random.Generator) -> Any:
    size = shape(rng, 1)
    at = axis(rng, len(size))
    return x.take(a(rng.normal(size=size)), a(rng.integers(0, size[at], 4)), axis=at)


def _definite(rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    n = int(rng.integers(1, 5))
    b = rng.normal(size=(*shape(rng, 0, 1), n, n))
    return np.asarray(b @ np.swapaxes(b, -1, -2) + n * np.eye(n))


def _linear(name: str) -> Call:
    def call(x: Any, a: Any, rng: np.random.Generator) -> Any:
        matrix = _definite(rng)
        function = getattr(x.linalg, name)
        if name == "solve":
            return function(a(matrix), a(rng.normal(size=(matrix.shape[-1], 2))))
        if name == "matrix_power":
            return function(a(matrix), int(rng.integers(-2, 4)))
        if name == "matrix_norm":
            return function(a(matrix), ord=["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf][rng.integers(8)])
        if name == "vector_norm":
            return function(a(matrix), axis=-1, ord=[1, 2, 3, np.inf, -np.inf][rng.integers(5)])
        if name == "slogdet":
            return tuple(function(a(matrix)))
        if name == "outer":
            return function(a(matrix[..., 0].ravel()), a(matrix[..., 0].ravel()))
        if name == "cross":
            return function(a(rng.normal(size=(2, 3))), a(rng.normal(size=(2, 3))))
        return function(a(matrix))

    return call


CALLS: dict[str, Call] = {
    **{n: reduction(n) for n in ("sum", "prod", "mean", "std", "var", "max", "min", "all", "any", "argmax", "argmin")},
    **{n: _joined(n) for n in ("concat", "stack")},
    **{n: _products(n) for n in ("matmul", "tensordot", "vecdot")},
    **{
        f"linalg.{n}": _linear(n)
        for n in (
            *("cholesky", "cross", "det", "diagonal", "eigvalsh", "inv", "matrix_norm", "matrix_power", "matrix_rank"),
            *("matrix_transpose", "outer", "pinv", "slogdet", "solve", "svdvals", "trace", "vector_norm"),
        )
    },
    "argsort": of_shape(lambda x, v, rng: x.argsort(v, axis=axis(rng, v.ndim), descending=bool(rng.integers(2)))),
    "sort": of_shape(lambda x, v, rng: x.sort(v, axis=axis(rng, v.ndim), descending=bool(rng.integers(2)))),
    "clip": of_shape(lambda x, v, rng: x.clip(v, -0.5, 0.5)),
    "count_nonzero": of_shape(lambda x, v, rng: x.count_nonzero(x.trunc(v), axis=axis(rng, v.ndim))),
    "cumulative_sum": of_shape(
        lambda x, v, rng: x.cumulative_sum(v, axis=axis(rng, v.ndim), include_initial=bool(rng.integers(2)))
    ),
    "cumulative_prod": of_shape(
        lambda x, v, rng: x.cumulative_prod(v, axis=axis(rng, v.ndim), include_initial=bool(rng.integers(2)))
    ),
    "diff": of_shape(lambda x, v, rng: x.diff(v, axis=axis(rng, v.ndim))),
    "expand_dims": of_shape(lambda x, v, rng: x.expand_dims(v, axis=axis(rng, v.ndim + 1))),
    "flip": of_shape(lambda x, v, rng: x.flip(v, axis=axes(rng, v.ndim))),
    "moveaxis": of_shape(lambda x, v, rng: x.moveaxis(v, axis(rng, v.ndim), axis(rng, v.ndim))),
    "permute_dims": of_shape(lambda x, v, rng: x.permute_dims(v, tuple(int(k) for k in rng.permutation(v.ndim)))),
    "repeat": of_shape(lambda x, v, rng: x.repeat(v, int(rng.integers(1, 4)), axis=axis(rng, v.ndim))),
    "reshape": of_shape(lambda x, v, rng: x.reshape(v, (-1, v.shape[0]))),
    "roll": of_shape(lambda x, v, rng: x.roll(v, int(rng.integers(-4, 5)), axis=axis(rng, v.ndim))),
    "squeeze": of_shape(lambda x, v, rng: x.squeeze(x.expand_dims(v, axis=0), axis=0)),
    "tile": of_shape(lambda x, v, rng: x.tile(v, tuple(int(k) for k in rng.integers(1, 3, 2)))),
    "tril": of_shape(lambda x, v, rng: x.tril(v, k=int(rng.integers(-2, 3))), 2),
    "triu": of_shape(lambda x, v, rng: x.triu(v, k=int(rng.integers(-2, 3))), 2),
    "unstack": of_shape(lambda x, v, rng: x.unstack(v, axis=axis(rng, v.ndim))),
    "broadcast_to": of_shape(lambda x, v, rng: x.broadcast_to(v, (2, *v.shape))),
    "meshgrid": lambda x, a, rng: tuple(x.meshgrid(a(rng.normal(size=3)), a(rng.normal(size=2)), indexing="ij")),
    "take": _taken,
    "where": _chosen,
    "searchsorted": _searched,
    "arange": lambda x, a, rng: x.arange(float(rng.integers(0, 3)), 7.5, 0.5 + float(rng.integers(1, 4))),
    "linspace": lambda x, a, rng: x.linspace(-1.0, 2.5, num=int(rng.integers(1, 7)), endpoint=bool(rng.integers(2))),
    "eye": lambda x, a, rng: x.eye(int(rng.integers(1, 5)), int(rng.integers(1, 5)), k=int(rng.integers(-2, 3))),
    "full": lambda x, a, rng: x.full(shape(rng), 2.5),
    "nonzero": lambda x, a, rng: tuple(x.nonzero(a(rng.integers(0, 2, shape(rng, 1)).astype(float)))),
    "unique_values": lambda x, a, rng: x.sort(x.unique_values(a(rng.integers(0, 4, 9).astype(float)))),
}


def numbers(value: Any) -> list[Any]:
    return [np.asarray(one) for one in (value if isinstance(value, tuple | list) else (value,))]


def agree(call: Call, seed: int) -> None:
    ours = numbers(call(xp, xp.asarray, np.random.default_rng(seed)))
    wanted = numbers(call(strict, strict.asarray, np.random.default_rng(seed)))
    assert len(ours) == len(wanted)
    for found, right in zip(ours, wanted, strict=True):
        assert found.shape == right.shape
        np.testing.assert_allclose(found.astype(float), right.astype(float), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", CALLS)
def test_random_calls_do_what_the_standard_says(name: str) -> None:
    for seed in SEEDS:
        agree(CALLS[name], seed)


@pytest.mark.parametrize("name", [name for name in (*functions.ONE, *functions.TWO) if name not in EXCEPTIONS])
def test_random_elements_do_what_the_standard_says(name: str) -> None:
    low, high = DOMAINS.get(name, (-3.0, 3.0))
    conditions = name.startswith(("bitwise", "logical"))

    def call(x: Any, a: Any, rng: np.random.Generator) -> Any:
        size = shape(rng)
        first, second = rng.uniform(low, high, size), rng.uniform(0.2, 3, size[-1:])
        first = np.abs(first) if name == "pow" else first
        args = [a(v > 0.5 if conditions else v) for v in (first, second)]
        return getattr(x, name)(*args[: 1 if name in functions.ONE else 2])

    for seed in SEEDS:
        agree(call, seed)
