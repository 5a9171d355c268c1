"""Derivations: every equation is true at random points and in random directions, and the last is the derivative."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.frontend.array import Array
from symdiff.frontend.formula import read_formula
from symdiff.frontend.text.vocabulary import VOCABULARY
from symdiff.graph import Node, inputs_of, substitute
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, Partial
from symdiff.tools.checking.differences import extrapolate
from symdiff.tools.checking.points import projected
from symdiff.tools.reading.derivation import Derivation
from symdiff.tools.reading.steps import Steps
from tests.support import formulas as collections
from tests.support import strategies

Values = dict[Any, Any]


def slope(node: Node, point: Mapping[Any, Any], direction: Mapping[Any, Any], inputs: list[Node]) -> tuple[Any, Any]:
    """Return the derivative of a formula along a direction, from its values alone, and an estimate of its error."""

    def moved(steps: Any) -> Any:
        at = [{k: v + s * direction[k] if k in direction else v for k, v in point.items()} for s in steps]
        return np.stack([evaluate([node], one, inputs)[0] for one in at])

    return extrapolate(moved, first=2.0**-5)


def check_truth(derivation: Derivation, point: Values, rng: np.random.Generator) -> None:
    """Compare each side of each equation with the other, in numbers."""
    inputs = inputs_of([derivation.formula])
    drawn = {w: rng.normal(size=np.shape(point[w.name])) for w in derivation.wrt}
    direction = {w.name: projected(w.assumptions.space, one) for w, one in drawn.items()}
    values = dict(point)
    errors = {}
    for leaf, of in derivation.differentials.items():
        if set(inputs_of([of])) <= set(inputs):
            values[leaf.name], errors[leaf] = slope(of, point, direction, inputs)
    for line in derivation.lines:
        if line.side != "derivative":
            (left,) = evaluate([line.left], values, inputs)
            (right,) = evaluate([line.right], values, inputs)
            scale = max(1.0, float(np.abs(left).max(initial=0.0)))
            doubt = max(float(errors[leaf].max(initial=0.0)) for leaf in errors)
            np.testing.assert_allclose(right, left, rtol=1e-6, atol=1e-7 * scale + 100 * doubt)
        if line.instance is not None:
            check_instance(line.instance, derivation, rng)


def check_instance(instance: tuple[Node, Node], derivation: Derivation, rng: np.random.Generator) -> None:
    """Compare the differential of one operation with differences of it."""
    left, right = instance
    of = derivation.differentials[left]
    letters = inputs_of([of])
    sizes = {"n": 3, "m": 2, "k": 2}
    point, direction = {}, {}
    for one in letters:
        shape = tuple(sizes[str(size)] if not isinstance(size, int) else size for size in one.shape)
        point[one.name] = rng.uniform(0.2, 0.9, shape) + (3 * np.eye(*shape) if len(shape) == 2 else 0)
        if len(shape) == 2 and shape[0] == shape[1]:
            point[one.name] = point[one.name] + point[one.name].T  # Cholesky's factor reads one triangle
        direction[one.name] = rng.normal(size=shape)
    differentials = derivation.differentials
    moving = {str(differentials[leaf].name) for leaf in inputs_of([right]) if leaf in differentials}
    want, error = slope(of, point, {name: direction[name] for name in moving}, letters)
    own = {leaf: str(of.name) for leaf, of in differentials.items() if of.op == "input"}
    given = {leaf.name: direction[name] for leaf, name in own.items() if name in direction}
    (got,) = evaluate([right], {**point, **given}, letters)
    settled = error <= 1e-6 * np.maximum(1.0, np.abs(want))
    np.testing.assert_allclose(np.where(settled, got, 0), np.where(settled, want, 0), rtol=1e-5, atol=1e-5)


CASES = [*collections.COOKBOOK, *collections.MATRICES[::2], *collections.SCIENCE[::9], *collections.STATISTICS[::7]]


@pytest.mark.parametrize(("name", "text", "point"), CASES, ids=[name for name, *_ in CASES])
def test_equations_of_books_are_true(name: str, text: str, point: Values) -> None:
    given = {key: np.asarray(value, float) for key, value in point.items()}
    shapes = {key: value.shape for key, value in given.items()}
    by = tuple(key for key in given if re.search(rf"\b{key}\b", text))
    found = sd.steps(text, by, shapes=shapes)
    check_truth(found.derivation, given, np.random.default_rng(len(text)))
    find = sd.jacobian if found.derivation.formula.shape else sd.gradient
    results = find(text, by, shapes=shapes)
    last = [line for line in found.derivation.lines if line.side == "derivative"]
    assert [line.right for line in last] == [result.node for result in results]
    assert [line.left.name for line in last] == list(by)


@settings(max_examples=25, deadline=None)
@given(strategies.formulas(smooth=True, steps=6), st.integers(0, 1000))
def test_equations_of_random_formulas_are_true(formula: strategies.Formula, seed: int) -> None:
    (root, *_) = formula.roots
    used = [leaf for leaf in inputs_of([root]) if leaf.op == "input"]
    if not used or len(inputs_of([root])) == 0:
        return
    values = strategies.sample(formula.inputs, (1,) * len(formula.inputs), seed)
    point = {leaf.name: value[0] for leaf, value in zip(formula.inputs, values, strict=True)}
    try:
        found = sd.steps(Array(root), tuple(map(Array, used)))
    except (sd.DisconnectedInputError, sd.LimitError):
        return
    assert str(found)
    if np.isfinite(evaluate([root], point, formula.inputs)[0]).all():
        check_truth(found.derivation, point, np.random.default_rng(seed))


def test_declared_matrices_move_within_their_space() -> None:
    rng = np.random.default_rng(3)
    for fact in ("symmetric", "skew", "diagonal"):
        S, x = sd.matrix("S", 3, 3, **{fact: True}), sd.vector("x", 3)
        found = sd.steps(np.exp(x @ S @ S @ x) + np.linalg.det(S + np.eye(3)), S)
        point = {"S": projected(fact, 0.3 * rng.normal(size=(3, 3))), "x": rng.normal(size=3)}
        check_truth(found.derivation, point, rng)
        assert found[-1].rule == "derivative within a space of matrices"


def test_steps_in_words_and_signs() -> None:
    found = sd.steps("trace(inv(A) @ B)", "A", A=("n", "n"), B=("n", "n"))
    assert isinstance(found, Steps)
    assert [step.number for step in found] == list(range(1, len(found) + 1))
    assert found[0].right == "trace(inv(A) @ B)"
    inverse = found[2]
    assert inverse.right == "-trace(inv(A) @ dA @ inv(A) @ B)"
    assert inverse.rule == "differential of an inverse"
    assert inverse.instance == "d(inv(U)) = -inv(U) @ dU @ inv(U)"
    assert inverse.source == "MN 8.4; MC 40"
    assert found[-1].left == "df/dA"
    assert found[-1].right == str(sd.gradient("trace(inv(A) @ B)", "A", A=("n", "n"), B=("n", "n")))
    assert "df = -tr(A⁻¹ dA A⁻¹ B)" in found.unicode()
    assert "∂f/∂A = " in found.unicode()
    assert r"\mathrm{d} f &= -\operatorname{tr}\left(A^{-1} \, \mathrm{d}A \, A^{-1} \, B\right)" in found.latex()
    assert found._repr_html_().count("<tr>") == len(found) + 1


def test_names_of_formulas_and_differentials_are_no_inputs() -> None:
    found = sd.steps("f * dx * x", ("x", "f"))
    assert found[0].left == "y"
    assert "d(x)" in str(found)  # since dx is an input
    assert found[-1].left == "dy/df"


def test_long_parts_get_names() -> None:
    text = "exp(tanh(W @ x + b) @ tanh(V @ x + c) + cos(W @ x + b) @ sin(V @ x + c)) + sum(x)"
    found = sd.steps(text, "x", W=(2, 3), V=(2, 3), x=3, b=2, c=2)
    assert "z1 = " in str(found)
    assert "dz1" in str(found)


def test_many_rules_are_steps_of_parts() -> None:
    text = "x"
    for _ in range(30):
        text = f"sin({text} + a)"
    found = sd.steps(text, "x")
    check_truth(found.derivation, {"x": np.array(0.3), "a": np.array(0.1)}, np.random.default_rng(0))
    assert len({step.left for step in found}) > 20
    with pytest.raises(sd.LimitError, match="person reads"):
        sd.steps(" + ".join(f"sin({k} * x)" for k in range(300)), "x")


def test_a_named_part_is_a_variable_of_its_own() -> None:
    text, shapes = "h = tanh(W @ x)\nq = h * y\nsum(q**2) + sum(exp(h))", {"W": (2, 3), "x": 3, "y": 2}
    rng = np.random.default_rng(3)
    point: Values = {"W": rng.normal(size=(2, 3)), "x": rng.normal(size=3), "y": rng.normal(size=2)}
    h = np.tanh(point["W"] @ point["x"])
    for wrt, held in (("h", {"h": h}), ("q", {"q": h * point["y"]}), (("h", "y"), {"h": h})):
        found = sd.steps(text, wrt, shapes=shapes)
        assert [step.rule for step in found[:2]] == ["a part, taken as a variable", "the formula"]
        check_truth(found.derivation, point | held, rng)
        lines = [line for line in found.derivation.lines if line.side == "derivative"]
        names = wrt if isinstance(wrt, tuple) else (wrt,)
        for name, line in zip(names, lines, strict=True):
            mine = evaluate([line.right], point | held, inputs_of([line.right]))[0]
            theirs = sd.compile(sd.gradient(text, name, shapes=shapes), inputs=list(point))(inputs=point)
            np.testing.assert_allclose(mine, theirs, rtol=1e-13)


def test_parts_that_are_made_of_each_other_are_refused() -> None:
    text, shapes = "h = 2 * x\nq = h * h\nsum(q)", {"x": 3}
    for wrt in (("q", "h"), ("x", "h")):
        with pytest.raises(sd.ArgumentError, match=r"of which it is made.*a call of steps for each"):
            sd.steps(text, wrt, shapes=shapes)
    x = sd.vector("x", 3)
    with pytest.raises(sd.ArgumentError, match="name of a sub-formula and of an input"):
        sd.steps(x @ sd.name(2 * sd.vector("y", 3), "x"), sd.name(2 * sd.vector("y", 3), "x"))


def test_what_has_no_steps_is_refused() -> None:
    x = sd.vector("x", 3)
    with pytest.raises(sd.UnsupportedError, match="part or unnamed sub-formula"):
        sd.steps(x @ x, x[0])
    with pytest.raises(sd.ArgumentError, match="several formulas"):
        sd.steps([x @ x, x], x)
    with pytest.raises(sd.DisconnectedInputError):
        sd.steps(x @ x, sd.scalar("t"))
    with pytest.raises(sd.ArgumentError, match="inputs, or names"):
        sd.steps(x @ x, 3)


def test_a_loop_is_one_step() -> None:
    a, y = sd.scalar("a"), sd.vector("y", 4)
    last, _ = sd.scan(lambda s, x: ((1 - a) * s + a * x,) * 2, 0.0, y)
    found = sd.steps(np.sin(last), a)
    assert "differential of a recurrence" in [step.rule for step in found]
    check_truth(found.derivation, {"a": np.array(0.3), "y": np.arange(4.0)}, np.random.default_rng(0))


def check_read_back(derivation: Derivation, point: Values, rng: np.random.Generator) -> None:
    """Read the text of each side again, with an input for each differential, and compare numbers."""
    names = {leaf: sd.array(f"differential{k}", leaf.shape) for k, leaf in enumerate(derivation.differentials)}
    known = {name: np.shape(value) for name, value in point.items()}
    known |= {str(one.node.name): one.shape for one in names.values()}
    values = {**point, **{str(one.node.name): rng.normal(size=one.shape) for one in names.values()}}
    for line in derivation.lines:
        for side in (line.left, line.right):
            (plain,) = substitute([side], {leaf: one.node for leaf, one in names.items()})
            again = read_formula(str(Array(plain)), {k: v for k, v in known.items() if k in _names(plain)}).value
            both = evaluate([plain, again.node], values, inputs_of([plain]))
            np.testing.assert_allclose(both[1], both[0], rtol=1e-8, atol=1e-8)


def _names(node: Node) -> set[str]:
    return {str(one.name) for one in inputs_of([node])}


@pytest.mark.parametrize(
    "formula",
    ["exp(-x @ A @ x) * sum(sin(x))", "log(det(A)) / (1 + x @ x)", "sum(abs(x)**3) * trace(inv(A))", "norm(A @ x)**2",
     "max(x) * logsumexp(x)", "x @ solve(A, x)", "sum(x * where(x > 0, x, tanh(x)))", "sqrt(x @ x) + det(A)"],
)
def test_sides_of_equations_are_read_back(formula: str) -> None:
    f = read_formula(formula, {"A": (3, 3), "x": (3,)}).value
    rng = np.random.default_rng(1)
    point: Values = {"A": rng.normal(size=(3, 3)) + 4 * np.eye(3), "x": rng.normal(size=3)}
    for by in sorted({str(one.name) for one in inputs_of([f.node])}):
        check_read_back(sd.steps(f, by).derivation, point, rng)


@pytest.mark.parametrize(("name", "text", "point"), CASES, ids=[name for name, *_ in CASES])
def test_equations_of_books_are_read_back(name: str, text: str, point: Values) -> None:
    given = {key: np.asarray(value, float) for key, value in point.items()}
    by = tuple(key for key in given if re.search(rf"\b{key}\b", text))
    found = sd.steps(text, by, shapes={key: value.shape for key, value in given.items()})
    check_read_back(found.derivation, given, np.random.default_rng(0))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name in VOCABULARY])
def test_equations_of_every_function_are_read_back(name: str) -> None:
    point: Values = dict(zip("xyzw", map(np.array, (0.31, 0.47, 0.6, 0.2)), strict=True))
    partials = FUNCTIONS[name].partials
    # an argument without a derivative may be an order, a whole number
    moving = [letter for letter, partial in zip("xyzw", partials, strict=False) if partial is not Partial.NONE]
    args = [letter if letter in moving else "1" for letter, _ in zip("xyzw", partials, strict=False)]
    f = read_formula(f"{name}({', '.join(args)})", dict.fromkeys(moving, ())).value
    for by in moving if isinstance(f, Array) and f.dtype == float else ():
        with contextlib.suppress(sd.NotDifferentiableError):  # where no book has a formula
            check_read_back(sd.steps(f, by).derivation, point, np.random.default_rng(0))


def test_a_vector_that_is_solved_for_is_one_step() -> None:
    """And not a column of a matrix, of which the vector is taken."""
    shapes: dict[str, Any] = {"A": ("n", "n"), "b": "n"}
    for formula in ("solve(A, b)", "b @ solve(A, b)", "sum(sin(solve(A, b)))", "solve(A, b) @ solve(A, 2 * b)"):
        text = str(sd.steps(formula, "A", **shapes))
        assert "[:, None]" not in text
        assert "differential of a solution" in text
    shown = "-outer(solve(A.T, cos(solve(A, b))), solve(A, b))"
    assert str(sd.gradient("sum(sin(solve(A, b)))", "A", **shapes)) == shown


def test_a_form_that_is_printed_as_the_formula_is_no_step() -> None:
    for style in ("__str__", "unicode", "latex"):
        found = sd.steps("sin(x) / x", "x")
        assert "rewritten" not in getattr(found, style)()
    assert [step.number for step in found] == [1, 2, 3, 4]
    assert "rewritten" in str(sd.steps("log(det(A))", "A", A=("n", "n")))
