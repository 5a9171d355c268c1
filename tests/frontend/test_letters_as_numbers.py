"""A size that is a letter, where Python or a formula takes a number."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import symdiff as sd

V, A, S = sd.vector("v", "n"), sd.matrix("A", "n", "m"), sd.scalar("s")
N: Any = V.shape[0]


@pytest.mark.parametrize("use", [list, sum, max, sorted, enumerate, reversed, lambda x: [*zip(x, x, strict=True)]])
@pytest.mark.parametrize("x", [V, A, S, V[1:]])
def test_going_over_what_has_no_length_says_what_to_write(use: Callable[[Any], Any], x: sd.Array) -> None:
    with pytest.raises(sd.SymbolError, match=r"going over a|len\(\) of a"):
        use(x)


def test_the_advice_works() -> None:
    with pytest.raises(sd.SymbolError, match=r"np.sum\(x\).*sd.scan\(step, start, x\)"):
        iter(V)
    with pytest.raises(sd.SymbolError, match=r"x.shape\[0\], which formulas take as a number"):
        len(V)
    numbers = np.array([1.0, 2.0, 4.0])
    total = sd.scan(lambda s, e: (s + e, None), 0.0, V)[0]
    assert sd.compile(total)(numbers) == 7
    assert sd.compile(np.sum(V) / V.shape[0])(numbers) == pytest.approx(7 / 3)
    assert sd.compile(sd.zeros(V.shape) + V)(numbers).tolist() == numbers.tolist()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "lt", "ge"])
@pytest.mark.parametrize(("size", "number"), [(N, 3), (N + 1, 4), (A.shape[0] * A.shape[1], 6)])
@pytest.mark.parametrize("x", [V, S])
def test_a_size_is_a_number_beside_symbols(name: str, size: Any, number: int, x: sd.Array) -> None:
    act = getattr(operator, name)
    numbers = {"v": np.array([1.0, 2.0, 4.0]), "A": np.ones((3, 2)), "s": 1.5}
    for made, meant in ((act(x, size), act(numbers[str(x)], number)), (act(size, x), act(number, numbers[str(x)]))):
        kernel = sd.compile(made, [V, A, S])
        assert np.array_equal(kernel(numbers["v"], numbers["A"], numbers["s"]), meant)


@pytest.mark.parametrize("name", ["floordiv", "mod", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("other", [2, 2.5, N, True])
def test_arithmetic_that_gives_no_size_says_what_to_write(name: str, other: Any) -> None:
    act = getattr(operator, name)
    with pytest.raises(sd.SymbolError, match=r"sd.asarray\(x.shape\[0\]\)"):
        act(N, other)
    with pytest.raises(sd.SymbolError, match=r"sd.asarray\(x.shape\[0\]\)"):
        act(other, N)
    if name not in ("floordiv", "mod"):
        assert isinstance(act(sd.asarray(N), other), sd.Array)


#: Arithmetic of one number, as likelihoods have it: -n / 2 * log(2 * pi).
FRACTIONS: list[Callable[[Any], Any]] = [
    lambda n: n / 2,
    lambda n: 2 / n,
    lambda n: n / n,
    lambda n: True / n,
    lambda n: 0.5 * n,
    lambda n: n + 0.5,
    lambda n: 1.5 - n,
    lambda n: n - 1.5,
    lambda n: n**0.5,
    lambda n: n**-1,
    lambda n: 2**n,
    lambda n: (n - 1) / (n + 1),
    lambda n: -n / 2 * np.log(2 * np.pi),
    lambda n: np.float64(3.0) * n,
    lambda n: np.float32(2.0) * n,
    np.log,
    lambda n: np.sqrt(n * n + 1),
    lambda n: np.maximum(n, 4),
    lambda n: np.ones(3) * n,
    lambda n: np.array([1.0, 2.0]) / (n + 1),
]


@pytest.mark.parametrize("make", FRACTIONS)
@pytest.mark.parametrize("length", [3, 7])
def test_what_is_no_size_is_a_number_of_the_formula(make: Callable[[Any], Any], length: int) -> None:
    made = make(N)
    assert isinstance(made, sd.Array)
    assert np.allclose(sd.compile(made + 0 * np.sum(V), [V])(np.zeros(length)), make(length), rtol=1e-15)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: n**2,
        lambda n: n**0 * n**1,
        lambda n: np.int64(2) * n - np.int32(1),
        lambda n: np.add(n, 1),
        lambda n: np.prod((n, n + 1)),
        lambda n: 3 * n - n,
    ],
)
def test_whole_sums_and_products_of_sizes_are_sizes(make: Callable[[Any], Any]) -> None:
    made = make(N)
    assert not isinstance(made, sd.Array)
    assert sd.compile(sd.zeros(made) + 0 * np.sum(V), [V])(np.zeros(4)).shape == (make(4),)


@pytest.mark.parametrize("other", ["a", None, 1j])
@pytest.mark.parametrize("name", ["add", "sub", "truediv", "pow"])
def test_a_size_and_what_is_no_number_are_refused(name: str, other: Any) -> None:
    with pytest.raises(TypeError):
        getattr(operator, name)(N, other)


#: What asks a size for its number: Python, and what of NumPy's and SciPy's makes arrays of a length.
NUMBERS: list[Callable[[Any], Any]] = [
    *(range, float, int, round, math.sqrt, math.floor, lambda n: [0] * n, lambda n: [0][n]),
    *(lambda n: f"{n:d}", lambda n: f"{n:8.3f}", np.float64),
    *(np.zeros, np.ones, np.empty, np.eye, np.identity, np.arange, np.ndarray, scipy.linalg.hilbert),
    *(lambda n: np.zeros((n, 2)), lambda n: np.zeros(shape=n), lambda n: np.zeros(n / 2), lambda n: np.full(n, 2.0)),
    *(lambda n: np.full((n, n), 2.0), lambda n: np.arange(1, n), lambda n: np.linspace(0, 1, n)),
    *(lambda n: np.eye(2, n), lambda n: np.repeat(np.ones(2), n), lambda n: np.ones(6).reshape(n)),
    *(lambda n: np.reshape(np.ones(6), (n, 2)), lambda n: np.random.default_rng(0).normal(size=n)),
    *(lambda n: np.random.default_rng(0).random((n, 2)), lambda n: np.ones(3)[:n], lambda n: np.roll(np.ones(3), n)),
    *(lambda n: np.bincount([1, 2], minlength=n), lambda n: np.indices((n, n)), lambda n: np.diag(np.ones(3), n)),
    *(lambda n: np.vander(np.ones(3), n), lambda n: np.logspace(0, 1, n)),
    *(lambda n: np.linalg.matrix_power(np.eye(2), n), lambda n: np.fromfunction(lambda i: i, (n,))),
]


@pytest.mark.parametrize("use", NUMBERS)
def test_a_size_is_no_number_of_python(use: Callable[[Any], Any]) -> None:
    for size in (N, N + 1):
        with pytest.raises(sd.ShapeError, match=r"sd.zeros\(shape\).*sd.scan.*give the size a number"):
            use(size)


@pytest.mark.parametrize("use", [np.tri, np.tril_indices, np.hanning, lambda n: np.broadcast_to(1.0, (n,)), np.ndindex])
def test_arrays_that_compare_their_size_say_what_to_write(use: Callable[[Any], Any]) -> None:
    with pytest.raises(sd.SymbolError, match=r"the size n compared.*sd.zeros\(shape\), sd.arange\(n\), sd.tri\(n\)"):
        use(N)


@pytest.mark.parametrize("use", [np.tile, np.repeat, np.roll, np.vander])
def test_counts_beside_symbols_are_named(use: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(sd.ArgumentError, match="=n, a size that is known at call time only; expected a whole number"):
        use(V, N)


#: Functions of NumPy's of a size in the place of an array.
OF_SIZES: list[Callable[[Any, Any], Any]] = [
    lambda n, v: np.linspace(0, n, 5),
    lambda n, v: np.linspace(n, 0.0, 4),
    lambda n, v: np.where(True, n, 0),
    lambda n, v: np.where(v > 1, n, 0),
    lambda n, v: np.clip(n, 1, 5),
    lambda n, v: np.stack([n, 1, v[0]]),
    lambda n, v: np.stack([n, n + 1]),
    lambda n, v: np.concatenate([v, [n, 2 * n]]),
    lambda n, v: np.array([n, 1]) * v[0],
    lambda n, v: np.outer(v, n),
    lambda n, v: np.round(n / 2) + abs(-n),
    lambda n, v: np.full_like(v, n),
    lambda n, v: np.sum(n),
    lambda n, v: np.broadcast_to(n, (2, n)),
    lambda n, v: v / 1 + n / 1,
]


@pytest.mark.parametrize("make", OF_SIZES)
@pytest.mark.parametrize("length", [3, 7])
def test_a_size_is_an_array_for_functions_of_arrays(make: Callable[[Any, Any], Any], length: int) -> None:
    numbers = np.arange(float(length))
    made = sd.compile(make(N, V) + 0 * np.sum(V), [V])(numbers)
    meant = make(length, numbers)
    assert made.shape == np.shape(meant)
    assert np.allclose(made, meant, rtol=1e-15)


#: Formulas of a number with a letter that no input has, each in another place.
LOST: list[Callable[[], Any]] = [
    lambda: S * sd.eye("k"),
    lambda: sd.sum(S * sd.ones(("k", 2))),
    lambda: sd.iterate(lambda c: 2 * c, S, "k"),
    lambda: sd.sum_over("i", "k", lambda i: S * i),
    lambda: sd.iterate(lambda c: c + sd.sum(c * sd.ones("k")), S, 3),
    lambda: sd.sum(sd.iterate(lambda c: sd.iterate(lambda d: d + c, c, "k"), S, 3)),
    lambda: S * sd.asarray(sd.vector("u", "k").shape[0]),
    lambda: S * sd.arange("k"),
]


@pytest.mark.parametrize("backend", ["auto", "interpreter", "native", "numpy"])
@pytest.mark.parametrize("place", range(len(LOST)))
def test_a_size_that_no_input_has_is_refused_when_it_is_compiled(place: int, backend: Any) -> None:
    formula = LOST[place]()
    for f in (formula, [S, formula], sd.gradient(sd.sum(formula), S)):
        with pytest.raises(sd.ShapeError, match=r"the size 'k' is in the shape of no input.*sd.vector\('t', 'k'\)"):
            sd.compile(f, [S], backend=backend)
        kernel = sd.compile(f, [S, sd.vector("t", "k")], backend=backend)  # as the message says
        kernel(2.0, np.ones(3))


def test_a_size_of_text_that_no_input_has() -> None:
    assert sd.compile("c * eye(k)", c=(), t="k")(2.0, np.ones(2)).tolist() == [[2, 0], [0, 2]]
    with pytest.raises(sd.ShapeError, match=r"\(inputs: c: \(\)\).*in inputs= beside symbols"):
        sd.compile(lambda c: c * sd.eye("k"), c=())


@pytest.mark.parametrize("shape", [(), ("n",), (2,)])
@pytest.mark.parametrize("name", ["compile", "gradient", "check", "steps", "objective"])
def test_an_input_that_has_the_name_of_a_size_is_refused(name: str, shape: Any) -> None:
    n, x = sd.symbol("n", shape), sd.vector("x", "n")
    more = () if name == "check" else (["n", "x"],) if name == "compile" else ("x",)
    with pytest.raises(sd.ArgumentError, match=r"'n' is an input and a size of .*text has it as n, symbols as x.shape"):
        getattr(sd, name)("sum(n) * sum(x)", *more, shapes={"x": "n", "n": shape})
    with pytest.raises(sd.ArgumentError, match="expected two names"):
        getattr(sd, name)(sd.sum(n) * sd.sum(x), *more)
    with pytest.raises(sd.ArgumentError, match="expected two names"):
        sd.compile(lambda n, x: sd.sum(n) * sd.sum(x), n=shape, x="n")


def test_the_size_itself_needs_no_input() -> None:
    x: Any = sd.vector("x", "n")
    assert str(sd.gradient("n * mean(x**2)", "x", x="n")) == str(sd.gradient(np.mean(x**2) * x.shape[0], x)) == "2 * x"
