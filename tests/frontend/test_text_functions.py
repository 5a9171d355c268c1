"""Functions that a text defines: values are those of Python's functions, letters keep apart, nothing recurses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

#: A formula: a name, a number, ("+", a, b), ("sin", a), ("sum", letter, n, a) or ("call", function, arguments).
Formula = Any
LETTERS = ("k", "j", "x")


def formulas(names: tuple[str, ...], functions: dict[str, int]) -> st.SearchStrategy[Formula]:
    """Draw formulas over names, whose sums may have letters that are names as well."""
    leaf = st.sampled_from(names) | st.sampled_from([0.5, 2])

    def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        made = [
            st.tuples(st.sampled_from("+-*"), inner, inner),
            st.tuples(st.just("sin"), inner),
            st.sampled_from(LETTERS).flatmap(
                lambda letter: st.tuples(st.just("sum"), st.just(letter), st.integers(1, 3), inner | st.just(letter))
            ),
        ]
        for name, count in functions.items():
            arguments = st.tuples(*[inner | st.sampled_from(names)] * count)
            made.append(st.tuples(st.just("call"), st.just(name), arguments))
        return st.one_of(made)

    return st.recursive(leaf, larger, max_leaves=6)


@st.composite
def programs(draw: Any) -> tuple[list[tuple[str, tuple[str, ...], Formula]], Formula]:
    """Draw functions, each in terms of those before it, and a formula."""
    lines: list[tuple[str, tuple[str, ...], Formula]] = []
    known: dict[str, int] = {}
    for name in ("f", "g", "h")[: draw(st.integers(1, 3))]:
        parameters = tuple(draw(st.lists(st.sampled_from(["x", "y", "k", "a"]), min_size=1, max_size=2, unique=True)))
        body = draw(formulas((*parameters, "b"), dict(known)))
        lines.append((name, parameters, body))
        known[name] = len(parameters)
    return lines, draw(formulas(("a", "b", "x"), known))


def written(formula: Formula) -> str:
    if not isinstance(formula, tuple):
        return str(formula)
    kind, *rest = formula
    if kind == "sin":
        return f"sin({written(rest[0])})"
    if kind == "sum":
        return f"sum_over({rest[0]}, {rest[1]}, {written(rest[2])})"
    if kind == "call":
        return f"{rest[0]}({', '.join(map(written, rest[1]))})"
    return f"({written(rest[0])} {kind} {written(rest[1])})"


def value(formula: Formula, known: dict[str, float], functions: dict[str, Any]) -> float:
    """Return the value as Python has it: a function sees its parameters and the inputs."""
    if isinstance(formula, str):
        return known[formula]
    if not isinstance(formula, tuple):
        return float(formula)
    kind, *rest = formula
    if kind == "sin":
        return float(np.sin(value(rest[0], known, functions)))
    if kind == "sum":
        return sum(value(rest[2], {**known, rest[0]: float(k)}, functions) for k in range(rest[1]))
    if kind == "call":
        return float(functions[rest[0]](*[value(one, known, functions) for one in rest[1]]))
    left, right = (value(one, known, functions) for one in rest)
    return left + right if kind == "+" else left - right if kind == "-" else left * right


POINT = {"a": 0.7, "b": -0.4, "x": 1.3}


@given(programs())
@settings(max_examples=150)
def test_a_call_is_the_formula_with_its_arguments(program: Any) -> None:
    lines, result = program
    text = "\n".join([f"{name}({', '.join(p)}) = {written(body)}" for name, p, body in lines] + [written(result)])
    text += " + 0 * (a + b + x)"
    shapes: dict[str, Any] = dict.fromkeys(POINT, ())
    k = sd.compile(text, shapes=shapes, backend="interpreter")
    assert k(**POINT) == pytest.approx(at(program, POINT["a"]), rel=1e-9, abs=1e-9)
    slope = sd.compile(sd.gradient(text, "a", shapes=shapes), backend="interpreter")
    step = 1e-5
    expected = (at(program, POINT["a"] + step) - at(program, POINT["a"] - step)) / (2 * step)
    assert slope(**POINT) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def at(program: Any, a: float) -> float:
    """Return the value of a program at another a."""
    lines, result = program
    point, functions = {**POINT, "a": a}, dict[str, Any]()
    for name, parameters, body in lines:
        earlier = dict(functions)

        def call(*given: float, parameters: Any = parameters, body: Any = body, earlier: Any = earlier) -> float:
            return value(body, {**point, **dict(zip(parameters, given, strict=True))}, earlier)

        functions[name] = call
    return value(result, point, functions)


def test_functions_of_arrays_indices_and_derivatives() -> None:
    x, M = np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3)
    cases: list[tuple[str, Any]] = [
        ("sq(v) = v @ v\nsq(x) + sq(x[1:])", 14 + 13),
        ("both(u, v) = [i, j] -> u[i] * v[j]\nboth(x, x)", np.outer(x, x)),
        ("mul(A, v) = [i] -> A[i, k] * v[k]\nmul(M, mul(M, x))", M @ M @ x),
        ("mul(A, v) = [i] -> A[i, k] * v[k]\n[k] -> mul(M, x)[k] * x[k]", (M @ x) * x),
        ("cube(t) = gradient(t**3, t)\ncube(sum(x))", 3 * 36),
        ("id(n) = eye(n)\nid(3) + M", np.eye(3) + M),
        ("first(A) = A[0]\nr = first(M)\ngradient(r @ r, r)", 2 * M[0]),
        ("f(beta) = beta * 2\nf(sum(x))", 12),
    ]
    for text, expected in cases:
        used = {name: one for name, one in {"x": x, "M": M}.items() if name in text.replace("exp", "")}
        k = sd.compile(text, shapes={name: one.shape for name, one in used.items()})
        np.testing.assert_allclose(k(**used), expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f(x) = f(x) + 1\nf(a)", "f calls itself; text has no recursion"),
        ("g(x) = f(x)\nf(x) = g(x)\nf(a)", "'f' is not a function of formulas"),
        ("f(x) = x + 1\nf(a, b)", r"f\(\) takes 1 argument, x; found 2"),
        ("f(x, y) = x + y\nf(a)", r"f\(\) takes 2 arguments, x, y; found 1"),
        ("f(x) = x + 1\nf(x=a)", r"f\(\) has no arguments by name"),
        ("f(x) = x + 1\nf * 2", "'f' is a function; expected its arguments"),
        ("f(x) = x + 1\nf(x) = 2\nf(a)", "'f' is defined already"),
        ("f = 3\nf(x) = 2 * x\nf(a)", "'f' is defined already"),
        ("f(x) = 2 * x\nf = 3\nf", "'f' is"),
        ("sin(x) = x + 1\nsin(a)", "'sin' is a function; expected a new name"),
        ("pi(x) = x + 1\npi(a)", "'pi' is a constant"),
        ("f(x) = x + 1", "this only defines 'f'"),
        ("f(2) = x + 1\nf(2)", "with names in the brackets"),
        ("f(x, x) = x + 1\nf(2)", "two parameters of f have one name"),
        ("f(x)[0] = x + 1\nf(2)", "'=' names a formula"),
        ("f() = 3\nf()", "with names in the brackets"),
        ("f(x) = x @ x\nf(a)", "@ of shapes"),
        ("f(x) = x + \nf(a)", "found the end of the line"),
        ("f(x), y = x\nf(a)", "'=' names a formula"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    with pytest.raises(sd.SymdiffError, match=words):
        sd.compile(text)


@pytest.mark.parametrize("budget", ["default", "strict"])
def test_doubling_functions_are_refused_before_they_are_written(budget: Any) -> None:
    lines = ["f0(x) = x + x", *[f"f{k}(x) = f{k - 1}(f{k - 1}(x))" for k in range(1, 60)], "f59(a)"]
    with pytest.raises(sd.LimitError, match="operators, calls and commas"):
        sd.compile("\n".join(lines), budget=budget)


def test_a_long_chain_of_functions_is_read() -> None:
    lines = ["f0(x) = x", *[f"f{k}(x) = f{k - 1}(x) + 1" for k in range(1, 200)], "f199(a)"]
    assert sd.compile("\n".join(lines), backend="interpreter")(1.0) == 200
