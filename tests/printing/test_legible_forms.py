"""Forms that derivatives take in a book: what is shown, its value against differences at 80 digits, and read back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import Node, contract, input, inputs_of, matmul, swap
from symdiff.graph.primitives import Assumptions
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.arithmetic import fraction_of, one_less, product_of
from symdiff.rewrite import simplify
from symdiff.tools.checking.multiprecision import directional
from tests.support.legible_rows import DATA, LAYER, LOSS, ROWS, SIZES, SQUARE, XY, Floats, Row, S, X


def computed(node: Node, point: Mapping[str, Any], inputs: list[Node]) -> Floats:
    return np.asarray(evaluate([node], point, inputs)[0], dtype=float)


def point_of(shapes: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Floats]:
    """Return numbers that are what was declared."""
    found = {}
    for name, shape in shapes.items():
        facts = getattr(shape, "assumptions", None)
        plain: Any = getattr(shape, "shape", shape)
        sizes = [SIZES.get(s, s) for s in (plain if isinstance(plain, tuple) else (plain,))]
        x = rng.uniform(0.3, 1.7, size=sizes)
        if facts is not None and facts.definite:
            x = x @ x.T + np.eye(len(x))
        elif facts is not None and facts.symmetric:
            x = x + x.T
        found[name] = x
    return found


def restricted(shapes: Mapping[str, Any], text: str) -> dict[str, Any]:
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    return {name: shape for name, shape in shapes.items() if name in words}


def derived(row: Row) -> Any:
    found: Any = read_formula(row.text, row.shapes, ("shapes",)).value
    for _ in range(row.order):
        leaf = next(n for n in inputs_of([found.node]) if n.name == row.wrt)
        found = sd.jacobian(found, sd.Array(leaf))
    return found


@pytest.mark.rows(1000)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.text} {row.wrt} {row.order}")
def test_what_is_shown_and_its_value(row: Row) -> None:
    row = row._replace(shapes=restricted(row.shapes, row.text))
    f = read_formula(row.text, row.shapes, ("shapes",)).value.node
    plain = {name: getattr(shape, "shape", shape) for name, shape in row.shapes.items()}
    by_itself = read_formula(row.text, plain, ("shapes",)).value.node
    found = derived(row)
    assert str(found) == row.shown
    again = read_formula(row.shown, row.shapes, ("shapes",)).value.node
    inputs = inputs_of([f])
    rng = np.random.default_rng(len(row.text))
    for _ in range(3):
        point = point_of(row.shapes, rng)
        got = computed(found.node, point, inputs)
        np.testing.assert_allclose(computed(again, point, inputs), got, rtol=1e-9, atol=1e-11)
        ways = [{row.wrt: way} for way in directions(row, point, rng)]
        want = np.asarray(directional([by_itself], point, ways)[0], dtype=float)
        for way in ways[::-1]:
            got = np.tensordot(got, way[row.wrt], axes=way[row.wrt].ndim)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


def directions(row: Row, point: Mapping[str, Floats], rng: np.random.Generator) -> list[Floats]:
    ways = [rng.normal(size=point[row.wrt].shape) for _ in range(row.order)]
    if getattr(row.shapes[row.wrt], "assumptions", None) is not None:
        ways = [way + way.T for way in ways]
    return ways


# ---------------------------------------------------------------------------- signs


@pytest.mark.parametrize("seed", range(40))
def test_random_products_with_opposite_differences_keep_their_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = ["(x - m)", "(m - x)", "(x - 1)", "(1 - x)"]
    first, last, third = (str(rng.choice(pool)) for _ in range(3))
    middle = str(rng.choice(["", " @ P", " @ P @ P.T", " @ (P @ P)"]))
    text = f"{first}{middle} @ {last} * {rng.choice(['1', '0.5', '-3', '2.5'])} + {first} @ {third}"
    shapes: dict[str, Any] = {"x": 3, "m": 3, "P": (3, 3)}
    node = read_formula(text, restricted(shapes, text), ("shapes",)).value.node
    (new,) = simplify([node])
    shown = str(sd.gradient(f"t * ({text})", "t", t=(), shapes=restricted(shapes, text)))
    again = read_formula(shown, restricted(shapes, shown), ("shapes",)).value.node
    inputs = [input(name, (3, 3) if name == "P" else (3,)) for name in shapes]
    for special in (0.5, np.inf, np.nan):
        point = {name: rng.integers(-3, 4, size=(3, 3) if name == "P" else 3).astype(float) for name in shapes}
        point["x"][0] = special
        with np.errstate(all="ignore"):
            want = computed(node, point, inputs)
            np.testing.assert_array_equal(computed(new, point, inputs), want)
            if np.isfinite(special):
                np.testing.assert_array_equal(computed(again, point, inputs), want)


# ---------------------------------------------------------------------------- functions


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv"])
@pytest.mark.parametrize("order", ["-1", "-2", "-3", "-0.5", "0", "-7"])
def test_bessel_functions_of_orders_below_0_keep_their_value(name: str, order: str) -> None:
    node = read_formula(f"{name}({order}, x)", X, ("shapes",)).value.node
    (new,) = simplify([node])
    for x in (-np.inf, -2.5, -0.0, 0.0, 1e-300, 0.7, 12.0, 800.0, np.inf, np.nan):
        point = {"x": np.array(x)}
        with np.errstate(all="ignore"):
            got, want = (computed(each, point, [input("x", ())]) for each in (new, node))
            assert abs(got - want) <= 1e-12 * abs(want) or got == want or (np.isnan(got) and np.isnan(want))


@pytest.mark.parametrize("text", ["cot(x)", "1 / tan(x)**3", "1 / tanh(x)**2", "log(tan(x))", "y / tanh(2 * x)",
                                  "sqrt(x**2 + y**2)**3", "arctan2(y, x)", "x / hypot(x, y)", "tan(x) / tan(y)"])
@pytest.mark.parametrize("order", [1, 2])
def test_quotients_by_fewer_functions_keep_their_value(text: str, order: int) -> None:
    shapes = restricted(XY, text)
    found = derived(Row(text, "x", shapes, "", order))
    again = read_formula(str(found), shapes, ("shapes",)).value.node
    inputs = [input(name, ()) for name in shapes]
    special = [(0.0, 1.0), (np.nan, 1.0), (1.0, np.nan), (np.inf, 2.0)]
    for at in ((0.3, 0.8), (-1.2, 2.5), (1e-9, 1.0), (4.0, -3.0), *special):
        point = {name: np.array(value) for name, value in zip(("x", "y"), at, strict=True) if name in shapes}
        with np.errstate(all="ignore"):
            got, want = computed(again, point, inputs), computed(found.node, point, inputs)
        if np.isfinite(want):
            np.testing.assert_allclose(got, want, rtol=1e-9)
        else:
            assert not np.isfinite(got) or not np.isfinite(at).all()


@pytest.mark.parametrize("seed", range(20))
def test_random_sums_of_outer_products_keep_their_value(seed: int) -> None:
    """Whole numbers and vectors in common are written once."""
    rng = np.random.default_rng(seed)
    pool = ["outer(x, B @ x)", "outer(B.T @ x, x)", "outer(x, x)", "B", "eye(3)", "outer(B @ x, B.T @ x)",
            "outer(x, B.T @ x)"]
    numbers = ["2", "4", "6", "3", "1", "10"]
    terms = [f"{rng.choice(['+', '-'])} {rng.choice(numbers)} * {rng.choice(pool)} / {rng.choice(['1', '(x @ x)'])}"
             for _ in range(4)]
    text = f"0 * B {' '.join(terms)}"
    shapes: dict[str, Any] = {"x": 3, "B": (3, 3)}
    shown = str(sd.gradient(f"sum(V * ({text}))", "V", V=(3, 3), shapes=shapes))
    again, node = (read_formula(each, shapes, ("shapes",)).value.node for each in (shown, text))
    point = {"x": rng.normal(size=3), "B": rng.normal(size=(3, 3))}
    inputs = [input("x", (3,)), input("B", (3, 3))]
    np.testing.assert_allclose(computed(again, point, inputs), computed(node, point, inputs), rtol=1e-11, atol=1e-12)


# ---------------------------------------------------------------------------- along an axis


@pytest.mark.parametrize("seed", range(30))
def test_random_differences_of_neighbours_keep_their_value(seed: int) -> None:
    """Slices and paddings of a vector or of rows, subtracted from each other, those that are no differences too."""
    rng = np.random.default_rng(seed)
    shape: dict[str, Any] = {"x": 5} if rng.integers(2) else {"x": (2, 5)}
    front = "" if shape["x"] == 5 else ":, "
    parts = [f"x[{front}{part}]" for part in ("1:", ":-1")]
    zeros = "({}, {})" if not front else "((0, 0), ({}, {}))"
    pads = [f"pad(x, {zeros.format(*widths)})" for widths in ((0, 2), (1, 1), (2, 0))]
    pool = parts if rng.integers(2) else pads
    terms = [f"{rng.choice(['+', '-'])} {rng.choice(['', '2 * ', 't * '])}{rng.choice(pool)}" for _ in range(3)]
    text = f"0 {' '.join(terms)}"
    point = {"x": rng.normal(size=shape["x"]), "t": np.array(1.5)}
    inputs = [input("x", point["x"].shape), input("t", ())]
    node = read_formula(f"({text}) * t", {**shape, "t": ()}, ("shapes",)).value.node
    total = sd.gradient(f"sum(V * ({text}) * t)", "V", shapes={**shape, "t": (), "V": node.shape})
    again = read_formula(str(total), {**shape, "t": ()}, ("shapes",)).value.node
    np.testing.assert_allclose(computed(again, point, inputs), computed(node, point, inputs), atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_jacobian_of_cumulated_sums_is_a_triangle_of_ones(size: int) -> None:
    text = str(sd.jacobian("cumsum(x)", "x", x=size))
    triangle = computed(read_formula(text, {}, ("shapes",)).value.node, {}, [])
    np.testing.assert_array_equal(triangle, np.tri(size))


# ---------------------------------------------------------------------------- choices


def a_condition(rng: np.random.Generator, depth: int) -> str:
    kind = rng.integers(5) if depth else 4
    if kind == 0:
        return f"~({a_condition(rng, depth - 1)})"
    if kind in (1, 2):
        return f"({a_condition(rng, depth - 1)}) {'&|'[kind - 1]} ({a_condition(rng, depth - 1)})"
    return f"{rng.choice(['x', 'y'])} {rng.choice(['<', '<=', '==', '!='])} {rng.choice(['0', '1', 'y', 'x'])}"


def a_choice(rng: np.random.Generator, conditions: list[str], depth: int) -> str:
    if depth == 0:
        return str(rng.choice(["x", "y", "x*y", "0", "1", "sin(x)"]))
    one, other = (str(rng.choice(conditions)) for _ in range(2))
    condition = one if rng.integers(2) else f"({one}) {rng.choice(['&', '|'])} {rng.choice(['~', ''])}({other})"
    return f"where({condition}, {a_choice(rng, conditions, depth - 1)}, {a_choice(rng, conditions, depth - 1)})"


@pytest.mark.parametrize("seed", range(80))
def test_random_choices_keep_their_value(seed: int) -> None:
    """Conditions that are known, turned or left out hold for the same numbers, nan and infinities among them."""
    rng = np.random.default_rng(seed)
    text = a_choice(rng, [a_condition(rng, 2) for _ in range(2)], 3)
    node = read_formula(text, XY, ("shapes",)).value.node
    (new,) = simplify([node])
    # of a derivative, which may be shown by other conditions
    shown = str(sd.gradient(f"t * ({text})", "t", t=(), shapes=restricted(XY, text)))
    again = read_formula(shown, restricted(XY, shown), ("shapes",)).value.node
    inputs = [input("x", ()), input("y", ())]
    for x in (-1.0, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan):
        for y in (0.0, 0.3, 1.0, -np.inf, np.nan):
            point = {"x": np.array(x), "y": np.array(y)}
            with np.errstate(all="ignore"):
                want = computed(node, point, inputs)
                np.testing.assert_array_equal(computed(new, point, inputs), want)
                np.testing.assert_array_equal(computed(again, point, inputs), want)


@pytest.mark.parametrize("text", ["s {} {}", "-s {} {}", "{1} {0} s", "{1} {0} -s", "1 + s {} {}", "s + t {} {}"])
@pytest.mark.parametrize("bound", ["0", "-1", "1", "0 - nan", "-inf"])
def test_comparisons_of_positive_numbers_are_decided_as_they_are(text: str, bound: str) -> None:
    for sign in ("<", "<=", ">", ">=", "==", "!="):
        condition = text.format(sign, bound)
        declared = {"s": sd.positive(), "t": sd.positive()}
        free = {"s": (), "t": ()}
        chosen = f"where({condition}, 1, 0) + 0 * s + 0 * t"
        inputs = [input("s", ()), input("t", ())]
        known, plain = (read_formula(chosen, shapes, ("shapes",)).value.node for shapes in (declared, free))
        (new,) = simplify([known])
        for s in (5e-324, 1e-3, 1.0, 1e308):
            point = {"s": np.array(s), "t": np.array(1e-300)}
            want = computed(plain, point, inputs)
            np.testing.assert_array_equal(computed(new, point, inputs_of([new])), want)


@pytest.mark.parametrize("seed", range(20))
def test_products_with_steps_keep_their_value(seed: int) -> None:
    """Unit steps in outer products, beside rows and columns: with the value of the choices, kinks among them."""
    rng = np.random.default_rng(seed)
    inner = str(rng.choice(["X@w", "X@w - 1", "y*(X@w)", "1 - X@w"]))
    f = str(rng.choice(["relu({0})", "maximum({0}, 0)", "maximum(0, {0})", "maximum({0}, 0)**2"])).format(inner)
    text = f"sum({rng.choice(['', 'y * ', '2 * y * '])}{f})"
    shapes = restricted(LAYER, text)
    for wrt in "Xw":
        slope = sd.gradient(text, wrt, shapes=shapes)
        assert "where" not in str(slope)
        again = read_formula(str(slope), restricted(shapes, str(slope)), ("shapes",)).value.node
        inputs = [input(name, tuple(np.shape(value))) for name, value in point_of(shapes, rng).items()]
        point = {n.name: rng.integers(-2, 3, size=tuple(map(int, n.shape))).astype(float) for n in inputs}
        np.testing.assert_allclose(computed(again, point, inputs), computed(slope.node, point, inputs), atol=1e-12)


# ---------------------------------------------------------------------------- shares


@pytest.mark.parametrize("seed", range(30))
def test_random_sums_of_a_share_and_its_complement_keep_their_value(seed: int) -> None:
    """``a sigmoid(z) + b sigmoid(-z)`` is shown by one of both where that is shorter, and nan stays nan."""
    rng = np.random.default_rng(seed)
    f = str(rng.choice(["sigmoid", "ndtr"]))
    z = str(rng.choice(["x", "2*x", "x*u"]))
    factors = ["y", "(y - 1)", "(1 - y)", "u", "(u + y)", "3"]
    a, b = (factors[rng.integers(len(factors))] for _ in range(2))
    text = f"{a}*{f}({z}) {rng.choice(['+', '-'])} {b}*{f}(-({z}))"
    shapes: dict[str, Any] = {"x": (), "u": (), "y": ()}
    node = read_formula(text, shapes, ("shapes",)).value.node
    shown = str(sd.gradient(f"t * ({text})", "t", t=(), shapes=restricted(shapes, text)))
    again = read_formula(shown, restricted(shapes, shown), ("shapes",)).value.node
    inputs = [input(name, ()) for name in shapes]
    for at in (*rng.normal(size=(4, 3)), (1.0, 2.0, np.nan), (np.nan, 1.0, 1.0), (1.0, np.nan, 1.0)):
        point = dict(zip(shapes, map(np.array, at), strict=True))
        want = computed(node, point, inputs)
        np.testing.assert_allclose(computed(again, point, inputs), want, rtol=1e-12, atol=1e-15)


def test_the_slope_of_a_confident_prediction_keeps_its_digits() -> None:
    """What is computed has sigmoid(-z), which the difference that is shown has not."""
    loss = f"-sum({LOSS.format(z='X@w')})"
    slope = sd.compile(sd.gradient(loss, "w", shapes=restricted(DATA, loss)))
    got = slope(X=np.array([[40.0]]), w=np.array([1.0]), y=np.array([1.0]))
    np.testing.assert_allclose(got, [-40.0 * math.exp(-40.0)], rtol=1e-12)


# ---------------------------------------------------------------------------- transposes


def a_matrix(rng: np.random.Generator, depth: int) -> Node:
    """Return a random sum or product of square matrices, some symmetric, and their transposes."""
    kind = rng.integers(6) if depth else 5
    if kind == 0:
        return swap(a_matrix(rng, depth - 1))
    if kind == 1:
        return matmul(a_matrix(rng, depth - 1), a_matrix(rng, depth - 1))
    if kind in (2, 3):
        a, b = a_matrix(rng, depth - 1), a_matrix(rng, depth - 1)
        return a + b if rng.integers(2) else a - float(rng.integers(1, 4)) * b
    if kind == 4:
        return swap(LEAVES[rng.integers(len(LEAVES))])
    return LEAVES[rng.integers(len(LEAVES))]


LEAVES = [input("A", (3, 3)), input("B", (3, 3)), input("C", (3, 3), assumptions=Assumptions(symmetric=True))]


@pytest.mark.parametrize("seed", range(60))
def test_random_sums_of_transposes_keep_their_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, z = (a_matrix(rng, 3) for _ in range(3))
    roots = [matmul(x, y), matmul(swap(x - y), matmul(z, x - swap(y))), matmul(swap(x) + y, z) + matmul(x + swap(y), z)]
    point = {name: rng.integers(-3, 4, size=(3, 3)).astype(float) for name in "AB"}
    half = rng.integers(-3, 4, size=(3, 3)).astype(float)
    point["C"] = half + half.T
    shown = [read_formula(str(sd.gradient(sd.Array(contract([root, input("V", (3, 3))], [(0, 1), (0, 1)], ())), "V")),
                          {"A": (3, 3), "B": (3, 3), "C": S(3)}, ("shapes",)).value.node for root in roots]
    before = evaluate(roots, point, LEAVES)
    for old, new, read in zip(
        before, evaluate(simplify(roots), point, LEAVES), evaluate(shown, point, LEAVES), strict=True
    ):
        np.testing.assert_array_equal(new, old)
        np.testing.assert_array_equal(read, old)


@pytest.mark.parametrize("seed", range(20))
def test_a_sum_and_its_transpose_are_collected(seed: int) -> None:
    """The gradient of tr((P - Q)ᵀ C (P - Q)) is one product, however P and Q are written."""
    rng = np.random.default_rng(seed)
    pool = ["A", "A.T", "2 * A", "A @ D", "D.T @ A.T"]
    other = ["B", "B.T", "D @ B", "3 * B.T"]
    gap = f"{pool[rng.integers(len(pool))]} - {other[rng.integers(len(other))]}"
    shapes = restricted(SQUARE, f"{gap} C")
    text = str(sd.gradient(f"trace(({gap}).T @ C @ ({gap}))", "B", shapes=shapes))
    assert text.count("C") == 1, text


# ---------------------------------------------------------------------------- numbers


def test_fractions_are_those_that_a_double_is_nearest_to() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        p, q, r, t = (int(n) for n in rng.integers(-40, 41, size=4))
        a, b = p / (q or 1), r / (t or 1)
        fraction = fraction_of(a)
        assert fraction is not None
        assert float(fraction) == a
        assert math.isclose(one_less(a), a - 1.0, rel_tol=1e-15, abs_tol=1e-15)
        assert math.isclose(product_of(a, b), a * b, rel_tol=4e-16)
        assert one_less(a) == float(fraction - 1)
    for value in (*rng.normal(size=50), 1e300, -1e-300, 5e-324):
        assert one_less(value) == value - 1.0
        assert product_of(value, 3.0) == value * 3.0
    for value in (np.inf, -np.inf, np.nan):
        np.testing.assert_equal(product_of(value, 0.5), value * 0.5)


@pytest.mark.parametrize("text", ["gamma(0)", "gamma(-1)", "gamma(25)", "gamma(4.5)", "binom(3, 5)", "binom(-2, 2)",
                                  "poch(0, 2)", "poch(3, 4)", "gamma(7)", "exp(1)", "cos(0)", "binom(60, 30)"])
def test_counting_functions_of_numbers_keep_their_value(text: str) -> None:
    node = read_formula(f"{text} * x", {"x": ()}, ("shapes",)).value.node
    alone = read_formula(text, {}, ("shapes",)).value.node
    slope = sd.gradient(sd.Array(node), "x").node
    np.testing.assert_allclose(evaluate([slope], {})[0], evaluate([alone], {})[0], rtol=1e-14)


@pytest.mark.parametrize("exponent", ["2/3", "1/3", "-1/3", "7/5", "-0.3", "-2", "3"])
def test_powers_at_the_ends_of_their_domain(exponent: str) -> None:
    """What is shown has the limits, signs and nan that SciPy's power has there."""
    with np.errstate(all="ignore"):
        for order in (1, 2):
            found = derived(Row(f"x**({exponent})", "x", X, "", order))
            again = read_formula(str(found), X, ("shapes",)).value.node
            a = float(np.float64(eval_fraction(exponent)))
            factor = a if order == 1 else a * (a - 1)
            for x in (0.0, np.inf, -1.0, -np.inf, np.nan, 1e-12, 1e12):
                want = factor * np.float64(x) ** (a - order)
                for node in (found.node, again):
                    got = computed(node, {"x": np.array(x)}, [input("x", ())])
                    np.testing.assert_allclose(got, want, rtol=1e-12)


def eval_fraction(text: str) -> float:
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or "1")


def test_a_name_of_an_input_is_no_constant() -> None:
    shapes: dict[str, Any] = {"x": (), "pi": ()}
    text = str(sd.gradient("x**2 * pi * 2.5066282746310002", "x", shapes=shapes))
    assert "sqrt" not in text
    assert str(sd.gradient("x * 2.5066282746310002 * y", "x", x=(), y=())) == "sqrt(2 * pi) * y"
