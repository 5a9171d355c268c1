"""Forms of formula text: functions that it defines, options of derivatives, and subscripts of Einstein's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.frontend.formula import read_formula

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


@pytest.mark.exhaustive
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


# ---------------------------------------------------------------------------- convention text
# Options of derivatives in text: ``gradient(f, S, convention="entries")``.


S = sd.symmetric(3)


def shown(text: str, **shapes: Any) -> str:
    """Return how a formula of a text is printed."""
    return str(read_formula(text, shapes, ("shapes",)).value)


@pytest.mark.parametrize("function", ["gradient", "jacobian", "hessian"])
@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("convention", ["entries", "projected"])
def test_conventions_are_those_of_the_functions(function: str, quote: str, convention: str) -> None:
    text = f"{function}(log(det(S)), S, convention={quote}{convention}{quote})"
    expected = getattr(sd, function)("log(det(S))", "S", S=S, convention=convention)
    assert shown(text, S=S) == str(expected)


def test_what_is_shown_is_read_again() -> None:
    printed = str(sd.gradient("log(det(S))", "S", S=S, convention="entries"))
    assert printed == shown(printed, S=S) == "2 * inv(S) - diag(diag(inv(S)))"


def test_invertible_matrices_are_told() -> None:
    text = "gradient(log(abs(det(A @ X))), X, invertible=True)"
    assert shown(text, A=(3, 3), X=(3, 3)) == "inv(X).T"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('gradient(trace(S), S, convention="other")', "in quotes"),
        ("gradient(trace(S), S, convention=True)", "expected 'projected' or 'entries'"),
        ('gradient(trace(S), S, invertible="entries")', "expected True or False"),
        ('jvp(trace(S), S, S, convention="entries")', "no argument 'convention'"),
        ('sum(S, axis="entries")', "expected a whole number"),
        ('"entries"', "expected a formula"),
        ('S["entries"]', "expected a whole number"),
        ('"entries" + S', "expected a formula"),
    ],
)
def test_words_in_quotes_are_no_formulas(text: str, said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        sd.compile(text, S=S)


# ---------------------------------------------------------------------------- einsum text
# Einstein's notation in text: subscripts are the one text that a formula quotes, and only where einsum begins.


rng = np.random.default_rng(0)
SHAPES = {"A": (3, 4), "B": (4, 5), "S": (3, 3), "x": (4,), "T": (2, 3, 4)}


@pytest.mark.parametrize(
    ("subscripts", "names"),
    [
        ("ij,jk->ik", "AB"),
        ("ij,j", "Ax"),
        ("ij,ij->", "AA"),
        ("ii", "S"),
        ("ii->i", "S"),
        ("...j,j->...", "Tx"),
        ("aij, ij -> a", "TA"),
        ("ij,jk,il->kl", "ABS"),
        ("i,j->ji", "xx"),
    ],
)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_subscripts_mean_what_they_mean_in_numpy(subscripts: str, names: str, quote: str) -> None:
    shapes: dict[str, Any] = {name: SHAPES[name] for name in names}
    given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    text = f"einsum({quote}{subscripts}{quote}, {', '.join(names)})"
    kernel = sd.compile(text, **shapes)
    wanted = np.einsum(subscripts, *(given[name] for name in names))
    arguments = [given[p.name] for p in kernel.inputs]
    np.testing.assert_allclose(kernel(*arguments), wanted, rtol=1e-13, atol=1e-13)
    slope = sd.compile(f"gradient(sum({text}**2), {names[0]})", **shapes)
    symbols = {name: sd.array(name, shape) for name, shape in shapes.items()}
    other = sd.gradient(np.sum(np.einsum(subscripts, *(symbols[name] for name in names)) ** 2), symbols[names[0]])
    of_symbols = sd.compile(other, inputs=[symbols[p.name] for p in kernel.inputs])
    np.testing.assert_allclose(slope(*arguments), of_symbols(*arguments), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("einsum('ij,jk', A)", "names 2 operands; 1 came"),
        ("einsum('ij->ikz', A)", "'k' is in the result"),
        ("einsum('i;j', A)", "text in quotes is not part"),
        ("einsum('ij' , 'ij')", "text in quotes is not part"),
        ("sum('ij')", "text in quotes is not part"),
        ("einsum(A, A)", "expected subscripts"),
        ("einsum('ijk', A)", "against an array of shape"),
        ("A'*A", "dialect='matrixcalculus'"),
    ],
)
def test_other_text_is_refused(text: str, told: str) -> None:
    with pytest.raises(sd.SymdiffError, match=told):
        sd.compile(text, A=(3, 4))


# ---------------------------------------------------------------------------- mapped text
# Functions of matrices in text: ``funm(A, x -> exp(x))`` is read, and printed so that it can be read again.


Floats = npt.NDArray[np.float64]
MAPPED: dict[str, Any] = {"A": sd.symmetric(3), "t": ()}
T = 0.3


def symmetric_numbers() -> Floats:
    """Return a symmetric matrix."""
    a = np.random.default_rng(4).normal(size=(3, 3))
    return a + a.T


def by_eigenvalues(a: Floats, function: Callable[[Floats], Floats]) -> Floats:
    """Return a function of a matrix."""
    values, vectors = np.linalg.eigh(a)
    return np.asarray(vectors @ np.diag(function(values)) @ vectors.T)


CASES: list[tuple[str, Callable[[Floats], Any]]] = [
    ("funm(A, x -> exp(-t * x) + x ** 2)", lambda a: by_eigenvalues(a, lambda x: np.exp(-T * x) + x**2)),
    ("funm(A, t -> sin(t)) * t", lambda a: T * by_eigenvalues(a, np.sin)),  # the letter hides an input
    ("t * funm(A, A -> 1 / (1 + A ** 2))", lambda a: T * by_eigenvalues(a, lambda x: 1 / (1 + x**2))),
    ("trace(funm(A, x -> x)) * t + sum(funm(A, (x) -> x * t))", lambda a: T * (np.trace(a) + a.sum())),
    ("funm(funm(A, x -> x * t), x -> cos(x))", lambda a: by_eigenvalues(a, lambda x: np.cos(x * T))),
    ("t * funm(A, x -> x)[0]", lambda a: T * a[0]),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_text_means_the_function_and_is_printed_to_be_read_again(text: str, expected: Callable[[Floats], Any]) -> None:
    a = symmetric_numbers()
    kernel = sd.compile(text, shapes=MAPPED)
    args = [{"A": a, "t": T}[p.name] for p in kernel.inputs]
    np.testing.assert_allclose(kernel(*args), expected(a), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "text", ["sum(log(t + eigvalsh(A) ** 2))", "sum(eigvalsh(A) * exp(t * eigvalsh(A)))", "t * trace(sqrtm(A))"]
)
def test_gradients_are_read_again(text: str) -> None:
    a = symmetric_numbers() + 5 * np.eye(3)
    gradient = sd.gradient(text, "A", shapes=MAPPED)
    again = sd.compile(str(gradient), shapes=MAPPED)
    kernel = sd.compile(gradient)
    values = {"A": a, "t": T}
    got, expected = (k(*[values[p.name] for p in k.inputs]) for k in (again, kernel))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_a_matrix_that_is_not_declared_symmetric_is_made_so() -> None:
    gradient = sd.gradient("sum(eigvalsh(M) ** 4)", "M", M=(3, 3))
    assert str(gradient) == "funm((M + M.T) / 2, x -> 4 * x ** 3)"
    a = symmetric_numbers()
    np.testing.assert_allclose(sd.compile(str(gradient), M=(3, 3))(a), 4 * a @ a @ a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x -> x", "a function of a letter"),
        ("sum(A, x -> x)", "a function of a letter"),
        ("trace(A) * (x -> x)", "a function of a letter"),
        ("funm(A, x -> A)", "no symbolic number"),
        ("funm(A, 3)", "a function of one number"),
        ("funm(A, 3 -> 3)", "stands behind"),
    ],
)
def test_what_is_no_function_is_refused(text: str, said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        sd.compile(text, shapes=MAPPED)


def test_a_part_of_what_a_loop_writes_is_shown() -> None:
    x = sd.vector("x", 6)
    written = sd.scan(lambda s, r: (s * 0.5 + r,) * 2, 0.0, x)[1]
    shown = str(written)
    assert str(written[1:3]) == f"{shown}[1:3]"
    assert str(written[::-1][0]) == f"{shown}[::-1][0]"
