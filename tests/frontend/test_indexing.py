"""Indexing with integer inputs, alone and beside whole numbers, slices, None and '...', against NumPy."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff import graph
from symdiff.errors import ArgumentError, DtypeError, ParseError, ShapeError, SymdiffError, UnsupportedError
from symdiff.graph.reference.interpret import evaluate

BACKENDS = ("native", "interpreter", "numpy", "auto")

#: Formulas of c (5, 3), p (4, 2), i (n,), j (n,), s () and E (n, 2), which NumPy's arrays go through as well.
FORMULAS: dict[str, Callable[..., Any]] = {
    "rows": lambda c, p, i, j, s, e: c[i],
    "columns": lambda c, p, i, j, s, e: p.T[:, j],
    "one row": lambda c, p, i, j, s, e: c[s] * c,
    "one column": lambda c, p, i, j, s, e: c.T[:, s] + p[0, 0],
    "functions of rows": lambda c, p, i, j, s, e: np.sin(c[i]) * np.exp(c[i][:, :1]),
    "two gathers": lambda c, p, i, j, s, e: c[i][:, :2] * p[j] + np.cos(p[j]),
    "sum of squares": lambda c, p, i, j, s, e: ((c[i][:, 1:] - p[j]) ** 2).sum(),
    "the same twice": lambda c, p, i, j, s, e: c[i] * c[i[::-1]],
    "an elementwise argument": lambda c, p, i, j, s, e: np.exp(c)[i] * c[s],
    "a product": lambda c, p, i, j, s, e: c[i] @ c.T,
    "a matrix of positions": lambda c, p, i, j, s, e: c[e] - c[s],
    "edges": lambda c, p, i, j, s, e: (c[e[:, 0]] - c[e[:, 1]]) ** 3,
    "points": lambda c, p, i, j, s, e: np.exp(c[i, j]),
    "points behind": lambda c, p, i, j, s, e: (c[:, :2] * np.ones((5, 2)))[s, :] * p[j][:, :1],
    "gather of gather": lambda c, p, i, j, s, e: np.sin(c[i])[j] * c[j],
    "new axes": lambda c, p, i, j, s, e: c[i][:, None, :] * p[j][:, :, None],
    "norms": lambda c, p, i, j, s, e: np.sqrt((c[i] ** 2).sum(axis=1)),
    "maximum": lambda c, p, i, j, s, e: np.sin(c[i]).sum(axis=0),
    "cross": lambda c, p, i, j, s, e: np.cross(c[i], c[j]),
}
CASES = [pytest.param(formula, id=name) for name, formula in FORMULAS.items()]


def symbols(n: int | str) -> list[sd.Array]:
    return [
        sd.matrix("c", 5, 3),
        sd.matrix("p", 4, 2),
        sd.indices("i", n),
        sd.indices("j", n),
        sd.index("s"),
        sd.indices("e", n, 2),
    ]


def numbers(seed: int, n: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    c, p = rng.normal(size=(5, 3)), rng.normal(size=(4, 2))
    return [c, p, rng.integers(0, 5, n), rng.integers(0, 3, n), rng.integers(0, 4), rng.integers(0, 5, (n, 2))]


def slope(f: Callable[..., Any], values: list[Any], which: int, shape: tuple[int, ...]) -> Any:
    """The Jacobian by complex steps."""
    x = values[which]
    columns = []
    for k in range(x.size):
        moved = x.astype(complex)
        moved.flat[k] += 1e-30j
        columns.append(np.imag(f(*values[:which], moved, *values[which + 1 :])) / 1e-30)
    return np.stack(columns, -1).reshape(*shape, *x.shape)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, "n"])
@pytest.mark.parametrize("formula", CASES)
def test_values_and_jacobians(formula: Callable[..., Any], n: int | str, backend: str) -> None:
    given = symbols(n)
    f = formula(*given)
    parts = [f, sd.jacobian(f, given[0], disconnected="zero"), sd.jacobian(f, given[1], disconnected="zero")]
    k = sd.compile(parts, given, backend=backend)
    for seed in range(3):
        values = numbers(seed, 3)
        value, *jacobians = k(*values)
        expected = formula(*values)
        np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-13)
        for which, found in enumerate(jacobians):
            np.testing.assert_allclose(
                found, slope(formula, values, which, np.shape(expected)), rtol=1e-11, atol=1e-11
            )


@pytest.mark.parametrize("formula", CASES)
def test_products_and_second_derivatives(formula: Callable[..., Any]) -> None:
    given = symbols("n")
    c, p = given[:2]
    f = (formula(*given) ** 2).sum() if formula(*given).shape else formula(*given)
    d, v = sd.matrix("d", 5, 3), sd.matrix("v", 4, 2)
    gradients = sd.gradient(f, (c, p), disconnected="zero")
    parts = [
        sd.jvp(f, (c, p), (d, v), disconnected="zero"),
        gradients,
        sd.hessian(f, c, disconnected="zero"),
        sd.hvp(f, c, d, disconnected="zero"),
        sd.jacobian(gradients[1], c, disconnected="zero"),
    ]
    k = sd.compile(parts, [*given, d, v])
    values = numbers(7, 4)
    rng = np.random.default_rng(8)
    way, other = rng.normal(size=(5, 3)), rng.normal(size=(4, 2))
    jvp, found, hessian, hvp, mixed = k(*values, way, other)

    def total(*args: Any) -> Any:
        result = formula(*args)
        return (result**2).sum() if np.ndim(result) else result

    exact = [slope(total, values, which, ()) for which in (0, 1)]
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found[1], exact[1], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(jvp, (exact[0] * way).sum() + (exact[1] * other).sum(), rtol=1e-11, atol=1e-11)
    step = 1e-6
    for index in np.ndindex(5, 3):
        moved = [values[0].copy(), values[0].copy()]
        moved[0][index] += step
        moved[1][index] -= step
        for which, second in ((0, hessian), (1, mixed)):
            up, down = (slope(total, [m, *values[1:]], which, ()) for m in moved)
            np.testing.assert_allclose(second[(..., *index)], (up - down) / (2 * step), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(hvp, np.einsum("abcd,cd->ab", hessian, way), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, "n"])
@pytest.mark.parametrize("name", ["rows", "two gathers", "one row", "edges", "points", "gather of gather", "columns"])
@pytest.mark.parametrize("shared", ["nothing", "arrays", "positions", "all but one"])
def test_batches(name: str, shared: str, n: int | str, backend: str) -> None:
    formula, given = FORMULAS[name], symbols(n)
    f = formula(*given)
    k = sd.compile([f, sd.jacobian(f, given[0], disconnected="zero")], given, backend=backend)
    samples = [numbers(seed, 3) for seed in range(7)]
    alone = {"nothing": (), "arrays": (0, 1), "positions": (2, 3, 4, 5), "all but one": (0, 1, 3, 4, 5)}[shared]
    batch = [samples[0][m] if m in alone else np.stack([own[m] for own in samples]) for m in range(6)]
    value, jacobian = k(*batch)
    for number, own in enumerate(samples):
        one = [samples[0][m] if m in alone else own[m] for m in range(6)]
        found, slopes = k(*one)
        np.testing.assert_allclose(value[number], found, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(jacobian[number], slopes, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(found, formula(*one), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, "n"])
def test_sums_over_the_batch_and_columns(n: int | str, backend: str) -> None:
    given = symbols(n)
    f = (np.sin(given[0][given[2]]) ** 2).sum()
    g = sd.gradient(f, given[0])
    samples = [numbers(seed, 3) for seed in range(5)]
    c, i = samples[0][0], np.stack([own[2] for own in samples])
    each = sd.compile(g, [given[0], given[2]], backend="numpy")(c, i)
    total = sd.compile(g, [given[0], given[2]], backend=backend, reduce="sum")(c, i)
    np.testing.assert_allclose(total, each.sum(axis=0), rtol=1e-13)
    columns = sd.compile(g, [given[0], given[2]], backend=backend, batch_axis=-1, batch=["i"])(c, i.T)
    np.testing.assert_allclose(np.moveaxis(columns, -1, 0), each, rtol=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [6, 3000])
def test_float32_leaves_positions_whole(rows: int, backend: str) -> None:
    x, i = sd.matrix("x", "m", 2), sd.indices("i", "n")
    k = sd.compile(2 * x[i], [x, i], backend=backend)
    values = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
    at = np.arange(rows)[::-1].astype(np.int32)
    result = k(values, at)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, 2 * values[at])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, ">i4"])
def test_integers_of_every_type(kind: Any) -> None:
    x, i = sd.vector("x", 4), sd.indices("i", 3)
    k = sd.compile(x[i], [x, i])
    np.testing.assert_array_equal(k([1.0, 2.0, 3.0, 4.0], np.array([3, 0, 3], kind)), [4.0, 1.0, 4.0])
    wide = np.array([3, 9, 0, 9, 3, 9], kind)[::2]
    np.testing.assert_array_equal(k([1.0, 2.0, 3.0, 4.0], wide), [4.0, 1.0, 4.0])


def test_lists_and_no_positions() -> None:
    x, i = sd.vector("x", 4), sd.indices("i", "n")
    k = sd.compile(sd.gradient((x[i] ** 2).sum(), x), [x, i])
    np.testing.assert_array_equal(k([1, 2, 3, 4], []), np.zeros(4))
    np.testing.assert_array_equal(k([1, 2, 3, 4], [1, 1]), [0.0, 8.0, 0.0, 0.0])
    one = sd.compile(x[sd.index("q")], [x, sd.index("q")])
    assert one([1.0, 2.0, 3.0, 4.0], 2) == 3.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("position", "error", "message"),
    [
        ([0, 4, 1], ShapeError, r"^i\[1\] is 4; expected 0 to 3, positions of an axis of size 4$"),
        ([0, 1, -1], ShapeError, r"^i\[2\] is -1; expected 0 to 3, .*negative ones are refused"),
        ([0.0, 1.0, 2.0], DtypeError, r"^i is an array of float64; expected integers .*not rounded"),
        ([True, False, True], DtypeError, "^i is an array of bool; expected integers"),
        ([0, 1, None], DtypeError, "expected integers"),
        ([2**63, 0, 1], (ShapeError, DtypeError), "^i"),
        (np.ma.masked_array([0, 1, 2], [0, 1, 0]), DtypeError, "masked"),
        ([[0, 1, 2], [0, 3, 9]], ShapeError, r"^i\[1, 2\] is 9; expected 0 to 3"),
        ([0, 1], ShapeError, r"i has shape \(2,\); expected \(3,\)"),
    ],
)
def test_bad_positions_are_refused_before_anything_is_written(
    position: Any, error: Any, message: str, backend: str
) -> None:
    x, i = sd.vector("x", 4), sd.indices("i", 3)
    for formula in (x[i], sd.gradient((x[i] ** 2).sum(), x)):
        k = sd.compile(formula, [x, i], backend=backend)
        out = np.full(k([1.0, 2.0, 3.0, 4.0], [0, 1, 2]).shape, 7.0)
        with pytest.raises(error, match=message):
            k([1.0, 2.0, 3.0, 4.0], position, out=out if np.ndim(position) < 2 else None)
        assert (out == 7.0).all()


def test_the_place_of_a_bad_position_is_that_in_the_argument() -> None:
    x, e = sd.vector("x", "n"), sd.indices("e", "m", 2)
    k = sd.compile(x[e[1:, 1]], [x, e], backend="numpy")
    at = np.array([[9, 9], [9, 0], [9, 5]])
    with pytest.raises(ShapeError, match=r"^e\[2, 1\] is 5; expected 0 to 3, positions of an axis of size 4 = n$"):
        k(np.ones(4), at)
    with pytest.raises(ShapeError, match=r"^e\[1, 2, 1\] is 5"):
        k(np.ones(4), np.stack([np.minimum(at, 3), at]))
    behind = sd.compile(x[e[1:, 1]], [x, e], batch_axis=-1)
    with pytest.raises(ShapeError, match=r"^e\[2, 1, 1\] is 5"):
        behind(np.ones(4), np.stack([np.minimum(at, 3), at], axis=-1))
    with pytest.raises(ShapeError, match="size 0 = n, and no positions"):
        k(np.ones(0), at)
    np.testing.assert_array_equal(k(np.arange(4.0), np.minimum(at, 3))[0], 0.0)


@pytest.mark.parametrize(
    ("shape", "at", "axis"), [((5, 2, 3), (5, 2), 0), ((5, 2, 3), (3,), 2), ((4,), (4,), 0), ((0, 2), (0,), 0)]
)
def test_parts_are_added_at_known_positions(shape: Any, at: Any, axis: int) -> None:
    rng = np.random.default_rng(5)
    places, x = rng.integers(0, 3, at), rng.normal(size=shape)
    symbol = sd.array("x", shape)
    added = sd.add_at(symbol, places, 4, axis)
    expected = np.zeros((*shape[:axis], 4, *shape[axis + len(at) :]))
    np.add.at(expected, (*[slice(None)] * axis, places), x)
    whole = np.sum(sd.sin(added))
    for backend in BACKENDS:
        value, slope = sd.compile([added, sd.gradient(whole, symbol)], backend=backend)(x)
        np.testing.assert_allclose(value, expected, atol=1e-15)
        np.testing.assert_allclose(slope, np.take(np.cos(expected), places, axis), atol=1e-15)


SHIFTED: dict[str, Callable[[Any, Any], Any]] = {
    "c[i + 1]": lambda c, i: c[i + 1],
    "c[i - 2] * c[i]": lambda c, i: c[i - 2] * c[i],
    "c[1 + i - 3 + 1]": lambda c, i: c[i - 1],
    "c.T[..., i + 1]": lambda c, i: c.T[..., i + 1],
    "c[None, i - 1] - c[None, 1:][:, i]": lambda c, i: c[None, i - 1] - c[None, 1:][:, i],
    "c.T[None, :, i - 1, None]": lambda c, i: c.T[None, :, i - 1, None],
}


@pytest.mark.parametrize("text", SHIFTED)
@pytest.mark.parametrize("shape", [(6, 3), ("n", 3)])
def test_text_takes_elements_beside_positions(text: str, shape: Any) -> None:
    rng = np.random.default_rng(6)
    c, i, weight = rng.normal(size=(6, 3)), np.array([0, 4, 2, 4]), 1e-30j
    value, slope = sd.compile([text, f"gradient(sum(sin({text})), c)"], c=shape, i=(int, "m"))(c, i)
    np.testing.assert_allclose(value, SHIFTED[text](c, i), atol=1e-15)
    for place in np.ndindex(c.shape):
        moved = c.astype(complex)
        moved[place] += weight
        expected = np.sin(SHIFTED[text](moved, i)).sum().imag / weight.imag
        np.testing.assert_allclose(slope[place], expected, atol=1e-13)


@pytest.mark.parametrize("text", SHIFTED)
@pytest.mark.parametrize("rows", [6, "n"])
def test_symbols_take_elements_beside_positions_as_text_does(text: str, rows: Any) -> None:
    c, i = sd.matrix("c", rows, 3), sd.indices("i", "m")
    found = SHIFTED[text](c, i)
    at = np.random.default_rng(6).normal(size=(6, 3)), np.array([2, 4, 2, 4])
    np.testing.assert_allclose(sd.compile(found, [c, i])(*at), SHIFTED[text](*at), atol=1e-15)
    np.testing.assert_array_equal(sd.compile(c[np.int64(1) + i], [c, i])(*at), at[0][at[1] + 1])


POINTS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, i, j: a[[0, 2, 3], i],
    lambda a, i, j: a[[0, 2, 3], :, i],
    lambda a, i, j: a[:, [0, 2, 2], i],
    lambda a, i, j: a[i, [0, 2, 4], 1:],
    lambda a, i, j: a[:, j, [0, 1]],
    lambda a, i, j: a[i, [0, 1, 1], [5, 5, 4]],
    lambda a, i, j: a[1:, np.arange(3), i],
    lambda a, i, j: a[None, [0, 2, 3], i + 1],
    lambda a, i, j: a[..., np.arange(3), i],
    lambda a, i, j: a[[-1, 0, -2], i, -1],
]


@pytest.mark.rows(1000)
@pytest.mark.parametrize("number", range(len(POINTS)))
def test_constant_positions_beside_integer_inputs_pick_points(number: int) -> None:
    f, rng = POINTS[number], np.random.default_rng(7)
    a, i, j = sd.symbol("a", (4, 5, 6)), sd.indices("i", 3), sd.index("j")
    at = rng.normal(size=(4, 5, 6)), np.array([1, 0, 3]), 2
    found = f(a, i, j)
    value, slope = sd.compile([found, sd.vjp(found, a, np.ones(found.shape))], [a, i, j])(*at)
    np.testing.assert_array_equal(value, f(*at))
    places = np.zeros(at[0].size)
    np.add.at(places, f(np.arange(at[0].size).reshape(at[0].shape), *at[1:]).ravel(), 1.0)
    np.testing.assert_array_equal(slope.ravel(), places)


def test_the_rows_loss_of_a_classifier_is_taken_at_its_labels() -> None:
    p, label = sd.matrix("p", 3, 4), sd.indices("label", 3)
    loss = -np.sum(np.log(p[np.arange(3), label]))
    assert str(sd.gradient(loss, p)) == (
        "add_at(-1 / take_at(p, label, axis=1, shared=1), label, 4, axis=1, shared=1)"
    )


def test_positions_in_text_stand_in_an_index_alone() -> None:
    shapes: dict[str, Any] = {"c": (6, 3), "i": (int, "m")}
    with pytest.raises(ParseError, match="positions, which stand in an index"):
        sd.compile("sin(i + 1)", shapes=shapes)
    with pytest.raises(DtypeError, match="integer inputs are positions"):
        sd.compile("c[2 * i]", shapes=shapes)
    with pytest.raises(ShapeError, match="positions 7 in front"):
        sd.compile("c[i - 7]", shapes=shapes)
    with pytest.raises(ShapeError, match="expected 0 to 4"):
        sd.compile("c[i + 1]", shapes=shapes)(np.zeros((6, 3)), np.array([5]))


def test_what_cannot_be_done_with_positions() -> None:
    x, y, i, j = sd.matrix("x", 4, 3), sd.vector("y", 3), sd.indices("i", 3), sd.indices("j", 2)
    refused: list[tuple[Callable[[], Any], type[SymdiffError], str]] = [
        (lambda: np.sin(i + 1), DtypeError, "positions stand in an index and nowhere else: x[i + 1]"),
        (lambda: 2 * (i - 1), DtypeError, "x[i - 1]"),
        (lambda: 1 - i, DtypeError, "positions"),
        (lambda: -i, DtypeError, "positions"),
        (lambda: np.sin(i), DtypeError, "positions"),
        (lambda: i == 1, DtypeError, "positions"),
        (lambda: x @ i, DtypeError, "positions"),
        (i.sum, DtypeError, "positions"),
        (lambda: np.max(i), DtypeError, "positions"),
        (lambda: np.concatenate([i, i]), DtypeError, "integer"),
        (lambda: np.stack([i, y]), DtypeError, "integer"),
        (lambda: np.where(y > 0, i, y), DtypeError, "positions"),
        (lambda: i.astype(float), UnsupportedError, "astype"),
        (lambda: i[i], SymdiffError, "index"),
        (lambda: x[i, j], ShapeError, "one shape"),
        (lambda: x[y], UnsupportedError, "symbol of real numbers"),
        (lambda: x[y > 0], UnsupportedError, "where"),
        (lambda: x[i, i, i], ShapeError, "3 indices"),
        (lambda: sd.gradient((x[i] ** 2).sum(), i), DtypeError, "whole numbers"),
        (lambda: sd.gradient(i, x), DtypeError, "positions"),
        (lambda: sd.compile(i), DtypeError, "positions"),
        (lambda: sd.add_at(y, y, 4), DtypeError, "integer input"),
        (lambda: sd.add_at(x, i, 4), ShapeError, "do not fit"),
        (lambda: sd.add_at(y, np.zeros(7, int), 4), ShapeError, "axis 0"),
        (lambda: sd.add_at(y, np.full(y.shape, 4), 4), ShapeError, "add_at at 4 of an axis of length 4"),
        (lambda: sd.add_at(y, np.full(y.shape, -1), 4), ShapeError, "add_at at -1 of"),
        (lambda: sd.add_at(y, np.full(y.shape, 0.5), 4), DtypeError, "not whole"),
        (lambda: sd.add_at(y, i, 4, axis=2), ShapeError, "axis 2"),
        (lambda: sd.function("take_at")(x, i, 5), ShapeError, "axis 5"),
        (lambda: sd.function("take_at")(x, i, 1, 2), ShapeError, "shared"),
        (lambda: sd.indices("i j", 3), ArgumentError, "called"),
        (lambda: sd.indices("i", -3), ShapeError, "size"),
        (lambda: x[i].sympy, UnsupportedError, "SymPy"),
        (lambda: sd.compile(x[i], backend="native").address, UnsupportedError, "positions"),
    ]
    for number, (make, error, message) in enumerate(refused):
        try:
            made = make()
        except error as found:
            told = str(found)
        else:
            pytest.fail(f"case {number} was taken: {made!r}")
        assert message in told, number


def test_what_is_printed_is_read_again() -> None:
    shapes = {"c": (5, 3), "p": (4, 2), "i": (int, "n"), "j": (int, "n"), "s": int, "e": (int, "n", 2)}
    given = symbols("n")
    for formula in FORMULAS.values():
        f = formula(*given)
        slope = sd.gradient(f.sum(), given[1], disconnected="zero")
        for one in (f, sd.jacobian(f, given[0], disconnected="zero"), slope):
            text = str(one)
            again = sd.compile(text, list(shapes), **shapes)
            values = numbers(3, 4)
            np.testing.assert_allclose(again(*values), sd.compile(one, given)(*values), rtol=1e-12, atol=1e-12)
            assert one.latex()


def test_positions_behind_an_arrow() -> None:
    c, v, i = np.arange(6.0).reshape(3, 2), np.array([2.0, 3.0]), np.array([2, 0])
    shapes = {"c": (3, 2), "v": 2, "i": (int, 2)}
    picked = sd.compile("[j, k] -> cos(c[i])[j, k] * v[k]", list(shapes), **shapes)
    np.testing.assert_allclose(picked(c, v, i), np.cos(c[i]) * v)
    around = sd.compile("[j] -> v[j] * sum(c[i]) + v[j] * sum([i, k] -> c[i, k] * v[k])", list(shapes), **shapes)
    np.testing.assert_allclose(around(c, v, i), v * (c[i].sum() + (c * v).sum()))
    with pytest.raises(ParseError, match="beside numbers, positions"):
        sd.compile("[j] -> c[i, j]", c=(3, 2), i=(int, 2))


def test_text_and_functions() -> None:
    k = sd.compile("gradient(sum((cs[idx] - y)**2), cs)", cs=("m", 2), idx=(int, "n"), y=("n", 2))
    assert k.signature == "(cs: (m, 2), idx: int (n,), y: (n, 2)) -> (m, 2)"
    cs, y, idx = np.arange(8.0).reshape(4, 2), np.ones((3, 2)), [3, 3, 0]
    expected = np.zeros((4, 2))
    np.add.at(expected, idx, 2 * (cs[idx] - y))
    np.testing.assert_allclose(k(cs, idx, y), expected)
    same = sd.compile(lambda cs, idx, y: ((cs[idx] - y) ** 2).sum(), cs=(4, 2), idx=(int, 3), y=(3, 2))
    assert same(cs, idx, y) == ((cs[idx] - y) ** 2).sum()
    assert str(sd.gradient("X[i] @ X[i]", "X", X=("n", 3), i=int)) == "add_at(2 * X[i], i, n)"


def test_take_and_put_by_themselves() -> None:
    x, at = graph.input("x", (2, 3, 4, 5)), graph.input("at", (3, 6), graph.INT)
    rng = np.random.default_rng(0)
    values, places = rng.normal(size=(2, 3, 4, 5)), rng.integers(0, 4, (3, 6))
    taken = graph.take(x, at, 2, 1)
    assert taken.shape == (2, 3, 6, 5)
    (found,) = evaluate([taken], {"x": values, "at": places})
    np.testing.assert_array_equal(found, np.take_along_axis(values, places[None, :, :, None], 2))
    y = graph.input("y", (2, 3, 6, 5))
    put = graph.put(y, at, 2, 4, 1)
    seeds = rng.normal(size=(2, 3, 6, 5))
    (back,) = evaluate([put], {"y": seeds, "at": places})
    np.testing.assert_allclose((back * values).sum(), (seeds * found).sum())
    graph.verify([taken, put])
    assert pickle.loads(pickle.dumps(taken)) is taken
    with pytest.raises(ShapeError, match="do not fit"):
        graph.take(x, at, 1, 1)
    with pytest.raises(ShapeError, match="do not fit"):
        graph.put(y, at, 1, 4, 1)
    with pytest.raises(DtypeError, match="no integers"):
        graph.take(x, x, 1)


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_kernel_is_pickled(backend: str) -> None:
    given = symbols("n")
    k = sd.compile(sd.jacobian(given[0][given[2]] ** 2, given[0]), [given[0], given[2]], backend=backend)
    again = pickle.loads(pickle.dumps(k))
    values = numbers(0, 4)
    np.testing.assert_array_equal(again(values[0], values[2]), k(values[0], values[2]))
    with pytest.raises(ShapeError, match=r"i\[0\] is 5"):
        again(values[0], [5])


def test_infinite_elements_stay_where_they_are() -> None:
    x, i = sd.vector("x", 4), sd.indices("i", "n")
    for n in (3, "n"):
        i = sd.indices("i", n)
        for backend in BACKENDS:
            k = sd.compile(sd.jacobian(np.sqrt(x[i]), x), [x, i], backend=backend)
            jacobian = k([0.0, 1.0, 4.0, 9.0], [0, 1, 0])
            np.testing.assert_array_equal(jacobian, [[np.inf, 0, 0, 0], [0, 0.5, 0, 0], [np.inf, 0, 0, 0]])
            chosen = sd.compile(
                sd.gradient(np.where(x[i] > 0, x[i] * np.log(x[i]), 0.0).sum(), x), [x, i], backend=backend
            )([0.0, 1.0, -4.0, 1.0], [0, 1, 2])
            np.testing.assert_array_equal(chosen, [0.0, 1.0, 0.0, 0.0])


#: Formulas of rows, in text: D has 4 rows of 3, w has 5, th has 5 numbers; i, j are positions and ix three of them.
ROWS: dict[str, tuple[str, str]] = {
    "D[i] @ D[i]": ("D[i]", "D"),
    "D[i] @ D[j]": ("D[i]", "D"),
    "sum(D**2) + D[i][0]": ("D[i]", "D"),
    "(D[i] @ w[j] - r)**2": ("D[i]", "D"),
    "exp(D[i] @ v) * D[0] @ v": ("D[i]", "D"),
    "sum(th[ix]**2) * th[j]": ("th[j]", "th"),
    "th[i]**3": ("th[i]", "th"),
    "D[:, j] @ D[:, j]": ("D[:, j]", "D"),
}
ROW_SHAPES: dict[str, Any] = {
    "D": (4, 3), "w": (5, 3), "th": 5, "v": 3, "r": (), "i": int, "j": int, "ix": (int, 3)
}  # fmt: skip


@pytest.mark.parametrize("text", ROWS)
@pytest.mark.parametrize(("i", "j"), [(0, 2), (2, 2), (3, 0)])
def test_rows_at_positions_are_variables(text: str, i: int, j: int) -> None:
    by, whole = ROWS[text]
    shapes = {name: own for name, own in ROW_SHAPES.items() if re.search(rf"\b{name}\b", text)}
    rng = np.random.default_rng(i + 3 * j)
    known: dict[str, Any] = {"i": i, "j": j, "ix": np.array([1, j, 1])}
    point = {
        name: known[name] if name in known else rng.normal(size=3 if own == 3 else 5 if own == 5 else own)
        for name, own in shapes.items()
    }
    place: Any = {"D[i]": i, "th[j]": j, "th[i]": i, "D[:, j]": (slice(None), j)}[by]
    slope = sd.compile(sd.gradient(text, whole, shapes=shapes))(**point)
    part = sd.compile(sd.gradient(text, by, shapes=shapes))(**point)
    np.testing.assert_allclose(part, slope[place], rtol=1e-12)
    curvature = sd.compile(sd.hessian(text, whole, shapes=shapes))(**point)
    own = sd.compile(sd.hessian(text, by, shapes=shapes))(**point)
    every = place if isinstance(place, tuple) else (place, *[slice(None)] * (slope.ndim - 1))
    np.testing.assert_allclose(own, curvature[(*every, *every)], rtol=1e-11, atol=1e-12)


# ---------------------------------------------------------------------------- mixed indices
# Integer inputs beside whole numbers, slices, None and '...' in one index, and the advice for what is refused.


SHAPES = st.lists(st.integers(2, 4), min_size=1, max_size=4).map(tuple)
X, V, A, C = sd.vector("x", 3), sd.vector("v", "n"), sd.matrix("A", 3, 3), sd.scalar("c")
P, J, K, L = sd.index("i"), sd.indices("j", 2), sd.indices("k", 2), sd.indices("l", 3)
NUMBERS = {
    "x": np.array([1.0, 2.0, 4.0]),
    "v": np.array([5.0, 6.0, 7.0]),
    "A": np.arange(9.0).reshape(3, 3),
    "i": 1,
    "j": np.array([0, 2]),
    "k": np.array([2, 1]),
    "l": np.array([0, 1, 1]),
}


@given(data=st.data(), shape=SHAPES, several=st.sampled_from([(2,), (3,), (2, 2)]))
def test_mixed_indices_have_the_meaning_of_numpy(data: st.DataObject, shape: tuple[int, ...], several: Any) -> None:
    symbol, numbers = sd.symbol("T", shape), np.arange(float(np.prod(shape))).reshape(shape)
    key: list[Any] = []
    meant: list[Any] = []
    inputs, values = [symbol], [numbers]
    for axis, size in enumerate(shape):
        kind = data.draw(st.sampled_from(["one", "several", "number", "slice"]))
        if kind in ("one", "several"):
            own = () if kind == "one" else several
            inputs.append(sd.index(f"i{axis}") if kind == "one" else sd.indices(f"i{axis}", *several))
            flat = data.draw(st.lists(st.integers(0, size - 1), min_size=4, max_size=4))
            values.append(np.array(flat)[: int(np.prod(own))].reshape(own))
            key.append(inputs[-1])
            meant.append(values[-1])
        else:
            part: Any = data.draw(
                st.integers(0, size - 1) if kind == "number" else st.sampled_from([slice(None), slice(1, None)])
            )
            key.append(part)
            meant.append(part)
    others: Any = data.draw(st.sampled_from([[], [None], [...], [None, ...]]))
    for more in others:
        place = data.draw(st.integers(0, len(key)))
        key.insert(place, more)
        meant.insert(place, more)
    kernel = sd.compile(symbol[tuple(key)], inputs, backend="numpy")
    assert np.array_equal(kernel(*values), numbers[tuple(meant)])


#: What is refused, what is said, and the advice taken, with what it gives.
ADVICE: list[tuple[Callable[[], Any], str, Any, Any]] = [
    (lambda: X[[0, P]], r"sd.stack\(\[x\[0\], x\[i\]\]\)", sd.stack([X[0], X[P]]), [1, 2]),
    (lambda: V[[P, J]], r"x\[idx\], with idx = sd.indices", V[L], [5, 6, 6]),
    (lambda: X[[0, C]], "a list with symbols", sd.stack([X[0], X[P]]), [1, 2]),
    (lambda: A[[0, 1, 2], J], r"A\[\[0, 1\]\]\[:, idx\]", A[[0, 1]][:, J], [[0, 2], [3, 5]]),
    (lambda: A[J, L], r"x\[i\]\[:, j\]", A[J][:, L], [[0, 1, 1], [6, 7, 7]]),
    (lambda: X[np.array([0.0, 1.0])], r"\.astype\(int\)", X[np.array([0.0, 1.0]).astype(int)], [1, 2]),
    (lambda: V[[0, -1]], r"sd.stack\(\[x\[0\], x\[-1\]\]\)", sd.stack([V[0], V[-1]]), [5, 7]),
    (lambda: X[P:], r"x\[idx\], with idx", X[L], [1, 2, 2]),
    (lambda: A[np.eye(3) == 1], r"np.ravel\(x\)\[np.ravel\(mask\)\]", np.ravel(A)[np.ravel(np.eye(3) == 1)], [0, 4, 8]),
    (lambda: X[X > 1], r"where\(condition, x, 0\)", np.where(X > 1, X, 0), [0, 2, 4]),
]


@pytest.mark.parametrize("place", range(len(ADVICE)))
def test_the_advice_of_what_is_refused_works(place: int) -> None:
    use, said, advised, gives = ADVICE[place]
    with pytest.raises(sd.SymdiffError, match=said):
        use()
    kernel = sd.compile(advised)
    assert kernel(*(NUMBERS[port.name] for port in kernel.inputs)).tolist() == gives


def test_the_advice_of_text_works() -> None:
    with pytest.raises(sd.ParseError, match=r"i=int for one, i=\(int, 'm'\) for several"):
        sd.compile("x[i]", x=3, i=())
    assert sd.compile("x[i]", x=3, i=int)([1, 2, 4], 2) == 4
    with pytest.raises(sd.ParseError, match=r"as in \[x\[0\], x\[i\]\]"):
        sd.compile("x[[0, i]]", x=3, i=int)
    assert sd.compile("[x[0], x[i]]", x=3, i=int)([1, 2, 4], 2).tolist() == [1, 4]


# ---------------------------------------------------------------------------- gathers
# Positions listed by a formula (``x[i]``), read by loops and added to by their gradients, against NumPy.


FIRST, SECOND = np.triu_indices(70, 1)
rng = np.random.default_rng(7)
SHUFFLED = rng.permutation(len(FIRST))
RANDOM = rng.integers(0, 5000, 9000)
GATHERED, COLUMNS = rng.integers(0, 90, 300), rng.integers(0, 80, 300)

GATHERS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "pairs": ((70, 3), lambda x: 1 / (1 + ((x[FIRST] - x[SECOND]) ** 2).sum(axis=1))),
    "shuffled pairs": ((70, 3), lambda x: x[FIRST[SHUFFLED]] * x[SECOND[SHUFFLED]]),
    "elements": ((5000,), lambda x: np.exp(x[RANDOM]) * x[RANDOM[::-1]]),
    "a part of a list": ((5000,), lambda x: x[RANDOM][10:8000:3] * 2),
    "a list in pieces": ((5000,), lambda x: np.concatenate([x[:50] * x[RANDOM][1:51], x[50:] + x[RANDOM][50:5000]])),
    "a list of what is computed": ((5000,), lambda x: np.exp(x)[RANDOM] + 1),
    "columns": ((90, 80), lambda x: np.sin(x[:, COLUMNS]) * 3),
    "rows and columns": ((90, 80), lambda x: x[GATHERED][:, COLUMNS] + 1),
    "a product": ((90, 80), lambda x: x[GATHERED] @ x[GATHERED[:40]].T),
}


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("batch", [(), (1,), (5,)])
@pytest.mark.parametrize("case", GATHERS)
def test_lists(case: str, batch: tuple[int, ...], backend: str) -> None:
    shape, f = GATHERS[case]
    x = (sd.matrix if len(shape) == 2 else sd.vector)("x", *shape)
    kernel = sd.compile(f(x), backend=backend)
    assert not kernel.stats.get("numpy_steps")
    for order in "CF":
        data = np.array(rng.normal(size=(*batch, *shape)), order=order)
        wanted = np.stack([f(one) for one in data]) if batch else f(data)
        np.testing.assert_allclose(kernel(data), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", GATHERS)
def test_gradients_add_up_what_is_listed_more_than_once(case: str) -> None:
    shape, f = GATHERS[case]
    x = (sd.matrix if len(shape) == 2 else sd.vector)("x", *shape)
    gradient = sd.gradient(np.sin(f(x)).sum(), x)
    data = rng.normal(size=shape)
    wanted = sd.compile(gradient, backend="numpy")(data)
    np.testing.assert_allclose(sd.compile(gradient, backend="native")(data), wanted, rtol=1e-10, atol=1e-10)


def test_short_axes_of_positions_along_a_long_one_are_in_a_plan() -> None:
    rng = np.random.default_rng(8)
    order = rng.integers(0, 30, 64)
    low, x = sd.matrix("low", 40, 30), sd.matrix("x", 50, 8)
    parts = np.take(low, order, axis=1).reshape(40, 8, 8)
    kernel = sd.compile(sd.gradient((np.einsum("kij,nj->nki", parts, x) ** 2).sum(), low), [low, x], batch=[])
    assert kernel.stats["numpy_steps"] == []
    a, b = rng.normal(size=(40, 30)), rng.normal(size=(50, 8))
    slope = 2 * np.einsum("kij,nj,nl->kil", a[:, order].reshape(40, 8, 8), b, b).reshape(40, 64)
    wanted = np.zeros((40, 30))
    np.add.at(wanted, (slice(None), order), slope)
    np.testing.assert_allclose(kernel(a, b), wanted, rtol=1e-11)


# ---------------------------------------------------------------------------- long lists
# Long lists of positions: compiling looks at them as a whole, and not number by number in Python.


LISTS: dict[str, Callable[..., Any]] = {
    "springs": lambda x, a, b, c: sd.gradient(np.sum((x[a] - x[b]) ** 4), x),
    "positions of positions": lambda x, a, b, c: sd.gradient(np.sum(np.sin(x[a])[c] * x[b]), x),
    "hvp": lambda x, a, b, c: sd.hvp(np.sum(np.cos(x[a] - x[b])), x, sd.vector("v", x.shape[0])),
    "joined": lambda x, a, b, c: np.concatenate([x[a] - x[b], x[b] ** 2]),
}
SPARSE: dict[str, Callable[..., Any]] = {
    "jacobian": lambda x, a, b, c: sd.jacobian(np.sin(x[a])[c] - x[b], x),
    "hessian": lambda x, a, b, c: sd.hessian(np.sum((x[a] - x[b]) ** 4), x),
}


def calls_to_compile(make: Callable[..., Any], length: int, sparse: str | None) -> int:
    """Return how many calls of functions it takes to build and compile a formula."""
    rng = np.random.default_rng(length)
    nodes = length // 4
    a, b = rng.integers(0, nodes, length), rng.integers(-nodes, nodes, length)
    c = rng.integers(0, length, length)
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        kernel = sd.compile(make(sd.vector("x", nodes), a, b, c), sparse=sparse, backend="interpreter")
    finally:
        sys.setprofile(before)
    values = [rng.normal(size=p.shape) for p in kernel.inputs]
    result = kernel(*values)
    assert np.isfinite(result.data if sparse else result).all()
    return count


@pytest.mark.parametrize(("name", "sparse"), [*((n, None) for n in LISTS), *((n, "csr") for n in SPARSE)])
def test_the_work_does_not_grow_with_the_list(name: str, sparse: str | None) -> None:
    make = (SPARSE if sparse else LISTS)[name]
    calls_to_compile(make, 4_000, sparse)  # what is imported and cached the first time
    short, long = calls_to_compile(make, 8_000, sparse), calls_to_compile(make, 24_000, sparse)
    assert long < short * 1.2 + 2_000


def test_lists_mean_what_they_mean_to_numpy() -> None:
    rng = np.random.default_rng(3)
    a, c = rng.integers(-50, 50, (70, 3)), rng.integers(0, 210, 999)
    x = rng.normal(size=50)
    f = np.sin(sd.vector("x", 50)[a]).reshape(210)[c][::-3]
    np.testing.assert_allclose(sd.compile(f)(x), np.sin(x[a]).reshape(210)[c][::-3], rtol=1e-14)
    for bad in (50, -51):
        with pytest.raises(sd.ShapeError, match=f"index {bad} is out of range"):
            sd.vector("x", 50)[np.array([0, bad])]


@pytest.mark.parametrize("pick", [
    lambda B, i, r: B[r, i], lambda B, i, r: B[r, :, i], lambda B, i, r: B[r, i, 2], lambda B, i, r: B[r, i, i],
    lambda B, i, r: B[r, None, i], lambda B, i, r: B[r, 1:3, i], lambda B, i, r: B.T[:, i, r],
    lambda B, i, r: B.T[2, i, r], lambda B, i, r: B.T[i, 1:, r],
])  # fmt: skip
@pytest.mark.rows(1000)
def test_one_element_of_each_row(pick: Any) -> None:
    B, i = sd.array("B", ("n", 4, 5)), sd.indices("i", "n")
    numbers, at = np.random.default_rng(0).normal(size=(3, 4, 5)), np.array([3, 0, 2])
    kernel = sd.compile([pick(B, i, sd.arange("n")), sd.gradient(pick(B, i, sd.arange("n")).sum(), B)], [B, i])
    value, slope = kernel(numbers, at)
    want = np.zeros_like(numbers)
    np.add.at(want.reshape(-1), pick(np.arange(60).reshape(3, 4, 5), at, np.arange(3)).ravel(), 1.0)
    np.testing.assert_array_equal(value, pick(numbers, at, np.arange(3)))
    np.testing.assert_array_equal(slope, want)


def test_one_element_of_each_row_in_text() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    kernel = sd.compile("A[arange(n), i] + arange(1, n + 1)", A=("n", 3), i=(int, "n"))
    np.testing.assert_array_equal(kernel(numbers, [2, 0]), [3.0, 5.0])
    np.testing.assert_array_equal(sd.compile("A[arange(2), i]", A=("n", 3), i=(int, 2))(numbers, [2, 0]), [2.0, 3.0])
    with pytest.raises(sd.ParseError, match="as index, found a formula"):
        sd.compile("A[arange(0.5, 2), i]", A=(2, 3), i=(int, 2))
    with pytest.raises(sd.ShapeError, match=r"an integer input of shape \(m,\) beside arange\(n\)"):
        sd.compile("A[arange(n), i]", A=("n", 3), i=(int, "m"))
