"""Each equation of the pages holds in many digits, fires on its own left side, and is what a kernel shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd
from symdiff.graph import BOOL, Node, input, verify
from symdiff.graph.primitives import Assumptions
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.rewrite import IDENTITIES
from symdiff.rewrite.equations import Applied, Identity, Letter, Pattern, Plus, Times, Transposed, match, write
from symdiff.rewrite.equations import plain as apply
from symdiff.rewrite.pages import OF_THE_TABLE
from symdiff.tools.checking.multiprecision import doubles, evaluate_exact, exact

#: Numbers for letters: ordinary ones, small, large and far out, and 0. References of inverses fail far out.
NUMBERS = (0.7, -1.3, 2.5, 1e-9, -1e-9, 20.0, -20.0, 0.0)
ASSUMED = {
    "positive": Assumptions(positive=True),
    "definite": Assumptions(symmetric=True, definite=True),
    "semidefinite": Assumptions(symmetric=True, definite=True),
    "symmetric": Assumptions(symmetric=True),
    "orthogonal": Assumptions(orthogonal=True),
}
ids = [equation.name for equation in IDENTITIES]


def letters(pattern: Pattern, condition: bool = False) -> Iterator[tuple[Letter, bool]]:
    """Give the letters of a pattern, and whether each stands for a condition."""
    if isinstance(pattern, Letter):
        yield pattern, condition
    elif isinstance(pattern, Applied):
        for place, arg in enumerate(pattern.args):
            logical = pattern.op.startswith("logical") or (pattern.op == "where" and place == 0)
            yield from letters(arg, logical)
    elif isinstance(pattern, Transposed):
        yield from letters(pattern.inside)
    elif isinstance(pattern, Plus):
        for _, term in pattern.terms:
            yield from letters(term)
    elif isinstance(pattern, Times):
        for factor, _ in pattern.factors:
            yield from letters(factor)


def inputs(equation: Identity) -> dict[str, Node]:
    """Return an input for each letter: capitals are matrices, letters of numbers are numbers."""
    made = {}
    for letter, condition in letters(equation.left):
        shape = (3, 3) if letter.name.isupper() else ()
        made[letter.name] = input(
            letter.name, shape, BOOL if condition else "real", ASSUMED.get(letter.kind, Assumptions())
        )
    return made


def draw(equation: Identity, letter: Letter, node: Node, rng: np.random.Generator) -> Any:
    if node.dtype is BOOL:
        return bool(rng.integers(2))
    if node.shape:
        a = rng.normal(size=(3, 3))
        if letter.kind == "orthogonal":
            return np.linalg.qr(a)[0]
        return a @ a.T + np.eye(3) if letter.kind else a
    if letter.kind in ("number", "whole", "even", "odd"):
        return float(rng.choice({"even": [2.0, 4.0], "odd": [1.0, 3.0]}.get(letter.kind, [-2.0, 0.5, 1.5, 2.0, 3.0])))
    numbers = [x for x in NUMBERS if abs(x) < 4.0] if equation in OF_THE_TABLE else NUMBERS
    value = float(rng.choice(numbers)) * (1.0 if rng.integers(2) else float(rng.uniform(0.5, 1.5)))
    return abs(value) or 1.0 if letter.kind == "positive" else value


def domain_of(equation: Identity) -> dict[str, tuple[float, float]]:
    """Return where the arguments of a function of parameters are drawn from, whose reference takes long elsewhere."""
    left = equation.left
    of_another = isinstance(left, Applied) and (equation.kind == "differentiated" or left.op == "log")
    inner = left.args[-1] if isinstance(left, Applied) and of_another else None
    if not isinstance(inner, Applied) or len(inner.args) < 2:
        return {}
    domains = zip(inner.args, FUNCTIONS[inner.op].domain, strict=True)
    return {arg.name: domain for arg, domain in domains if isinstance(arg, Letter)}


def sides(equation: Identity, values: dict[str, Any], nodes: dict[str, Node]) -> list[Any]:
    """Return both sides in many digits; None where a side has no value in real arithmetic."""
    found: list[Any] = []
    for side in (equation.left, equation.right):
        node = write(side, dict(nodes), apply)
        try:
            with np.errstate(all="ignore"):
                (value,) = evaluate_exact([node], {nodes[name].payload: exact(value) for name, value in values.items()})
        except (ZeroDivisionError, ValueError, np.linalg.LinAlgError):
            found.append(None)
            continue
        value = np.asarray(value)
        complete = all(isinstance(x, (bool, np.bool_)) or (mp.im(x) == 0 and mp.isfinite(x)) for x in value.flat)
        found.append(value if complete else None)
    return found


@pytest.mark.rows(1000)
@pytest.mark.parametrize("equation", IDENTITIES, ids=ids)
def test_both_sides_are_equal_and_have_one_domain(equation: Identity) -> None:
    nodes = inputs(equation)
    kinds = {letter.name: letter for letter, _ in letters(equation.left)}
    rng = np.random.default_rng(7)
    # orthogonal matrices, and numbers in equations, have the digits of doubles
    tolerance = mp.mpf(10) ** (-13 if "orthogonal" in equation.kinds.values() or not nodes else -30)
    floor = mp.mpf(10) ** -35  # below it, a number beside 0 is what the digits of the reference leave
    held = 0
    inner = domain_of(equation)
    for _ in range(8 if inner else 40):
        if inner:
            values: dict[str, Any] = {name: float(rng.uniform(*inner[name])) for name in nodes}
        else:
            values = {name: draw(equation, kinds[name], node, rng) for name, node in nodes.items()}
        with mp.workdps(40 if inner else 600):  # for what cancels on the left, far out
            left, right = sides(equation, values, nodes)
        if left is None:
            assert right is None or equation.kind in ("derived", "differentiated", "shown"), values
            continue
        assert right is not None, values
        for a, b in zip(left.flat, right.flat, strict=True):
            scale = max(1 if left.size > 1 else 0, abs(a), abs(b)) if not isinstance(a, (bool, np.bool_)) else 0
            assert a == b or abs(a - b) <= scale * tolerance + floor, (values, a, b)
        held += 1
    assert held >= 5


@pytest.mark.parametrize("equation", IDENTITIES, ids=ids)
def test_it_fires_on_its_left_side(equation: Identity) -> None:
    nodes = inputs(equation)
    kinds = {letter.name: letter.kind for letter, _ in letters(equation.left)}
    rng = np.random.default_rng(1)
    for name, kind in kinds.items():
        if kind in ("number", "whole", "even", "odd"):
            nodes[name] = sd.graph.constant(float(rng.choice([2.0, 4.0] if kind == "even" else [3.0, 5.0])))
    left = write(equation.left, dict(nodes), apply)
    found = equation.rewrite(left)
    assert found is not None
    assert found is not left
    assert found.shape == left.shape
    verify([found])


@pytest.mark.parametrize("equation", IDENTITIES, ids=ids)
def test_it_does_not_fire_on_its_right_side(equation: Identity) -> None:
    nodes = inputs(equation)
    right = write(equation.right, dict(nodes), apply)
    assert not any(row.rewrite(right) for row in IDENTITIES if row is equation and right.op in row.ops)


def test_a_sum_is_found_in_a_longer_one_and_as_a_multiple() -> None:
    text = "y + 3 - 3 * sigmoid(x) + z"
    kernel = sd.compile(text)
    assert kernel.rewrites == ("y + 3 - 3 * sigmoid(x) → 3 * sigmoid(-x) + y",)
    assert kernel(x=1.0, y=2.0, z=3.0) == pytest.approx(5.0 + 3.0 / (1.0 + np.exp(1.0)), rel=1e-15)


def test_letters_are_the_same_node_at_all_places() -> None:
    assert not sd.compile("softplus(x) - softplus(-y)").rewrites
    assert any(line.endswith("→ 2 * x") for line in sd.compile("softplus(2*x) - softplus(-2*x)").rewrites)


def test_a_formula_without_a_value_keeps_none() -> None:
    assert np.isnan(sd.compile("cosh(log(x))**2 - sinh(log(x))**2")(-1.0))
    assert np.isnan(sd.compile("log(sqrt(x))")(-1.0))


@pytest.mark.parametrize("text", [identity.pattern for identity in OF_THE_TABLE if identity.result == "x"])
def test_a_function_of_its_inverse_has_the_derivatives_of_its_argument(text: str) -> None:
    assert str(sd.gradient(text, "x")) == "1"
    assert str(sd.gradient(text.replace("x)", "x + 2 * y)"), "y")) == "2"
    assert sd.compile(sd.gradient(text, "x")).rewrites


def test_a_function_of_its_inverse_has_no_value_where_that_has_none() -> None:
    assert np.isnan(sd.compile("sin(arcsin(x))")(2.0))
    assert np.isnan(sd.compile("erf(erfinv(x))")(2.0))
    assert sd.compile("tan(arctan(x))")(1e300) == 1e300
    assert sd.compile("erfinv(erf(x))")(30.0) == 30.0


def test_numbers_far_out_are_mended() -> None:
    assert sd.compile("cosh(x)**2 - sinh(x)**2")(800.0) == 1.0
    assert sd.compile("softplus(x) - softplus(-x)")(1e5) == 1e5


def test_matches_are_found_in_any_order_of_factors() -> None:
    x, y = input("x"), input("y")
    pattern = Times(1.0, ((Letter("a", "positive"), 1.0), (Letter("b"), -1.0)))
    s = input("s", (), assumptions=Assumptions(positive=True))
    assert list(match(pattern, s / y, {})) == [{"a": s, "b": y}]
    assert list(match(pattern, x / y, {})) == []
    assert doubles(exact(2.0)) == 2.0


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("erf(x) + erfc(x)", "0"), ("ndtr(x) + ndtr(-x)", "0"),
        ("sigmoid(x) + sigmoid(-x)", "0"),
        ("cosh(x)**2 - sinh(x)**2", "0"), ("0*sin(x) + x", "1"),
        ("sqrt(x)**2", "1"), ("sqrt(x)**4", "2 * x"), ("logaddexp(x, x)", "1"), ("x - log(exp(x))", "0"),
    ],
)  # fmt: skip
def test_derivatives_may_have_a_value_where_the_formula_has_none(text: str, slope: str) -> None:
    found = sd.gradient(text, "x", x=())
    assert str(found) == slope
    assert np.isfinite(sd.compile(found, ["x"])(-1.0))
    again = sd.hessian(text, "x", x=())
    assert str(again) == ("2" if slope == "2 * x" else "0")


def test_a_value_keeps_its_domain() -> None:
    assert np.isnan(sd.compile("0*log(x)", x=())(-1.0))
    assert np.isnan(sd.compile("sqrt(x)**2", x=())(-1.0))
    assert np.isnan(sd.compile("log(x) - log(x)", x=())(-1.0))


def test_sums_of_shares_are_left_out_of_derivatives() -> None:
    entropy = sd.hessian("-sum(softmax(x)*log(softmax(x)))", "x", x=3)
    assert "sum(softmax" not in str(entropy)
    x, h = np.array([0.3, -0.4, 1.1]), 1e-5
    slope = sd.compile(sd.gradient("-sum(softmax(x)*log(softmax(x)))", "x", x=3))
    numbers = [(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(sd.compile(entropy)(x), numbers, atol=1e-9)
