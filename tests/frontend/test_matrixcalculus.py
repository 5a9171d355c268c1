"""The language of matrixcalculus.org: values against NumPy, lengths, refusals, budgets."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ArgumentError, LimitError, ParseError, ShapeError, SymdiffError
from symdiff.frontend.text.matrixcalculus import split_declarations
from symdiff.graph.sizes import value

KINDS = {"S": "symmetric matrix", "T": "symmetric matrix", **dict.fromkeys("ABCDXYMW", "matrix"),
         **dict.fromkeys("xyzabvwu", "vector"), **dict.fromkeys("cdst", "scalar")}
SIZES = {"n": 3, "m": 4, "p": 2, "q": 5, "r": 6}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


inv, det, tr, norm, ones = np.linalg.inv, np.linalg.det, np.trace, np.linalg.norm, np.ones

#: Formulas of the site's examples and of what people bring there, and the same in NumPy.
FORMULAS: list[tuple[str, Callable[..., Any]]] = [
    ("x'*A*x", lambda x, A: x @ A @ x),
    ("x'*A*x + c*sin(y)'*x", lambda x, A, c, y: x @ A @ x + c * np.sin(y) @ x),
    ("norm2(A*x - y)^2", lambda A, x, y: norm(A @ x - y) ** 2),
    ("(A*x - y)'*(A*x - y)", lambda A, x, y: (A @ x - y) @ (A @ x - y)),
    ("sum(log(exp(-y .* (X*w)) + vector(1)))", lambda y, X, w: np.log(np.exp(-y * (X @ w)) + 1).sum()),
    ("norm2(X*w - y)^2 + c*norm2(w)^2", lambda X, w, y, c: norm(X @ w - y) ** 2 + c * w @ w),
    ("norm1(A*x - b)", lambda A, x, b: np.abs(A @ x - b).sum()),
    ("norm2(A*x - b) + c*norm1(x)", lambda A, x, b, c: norm(A @ x - b) + c * np.abs(x).sum()),
    ("tr(A*X'*B*X*C)", lambda A, X, B, C: tr(A @ X.T @ B @ X @ C)),
    ("tr(A*X)", lambda A, X: tr(A @ X)),
    ("tr(X'*A*X)", lambda X, A: tr(X.T @ A @ X)),
    ("tr(A'*A)", lambda A: (A * A).sum()),
    ("sqrt(tr(X'*X))", lambda X: norm(X.ravel())),
    ("a'*X*b", lambda a, X, b: a @ X @ b),
    ("a'*X'*b", lambda a, X, b: a @ X.T @ b),
    ("a'*X'*X*b", lambda a, X, b: a @ X.T @ X @ b),
    ("log(det(A))", lambda A: np.log(det(A))),
    ("log(det(S))", lambda S: np.log(det(S))),
    ("logdet(S) - tr(A*S)", lambda S, A: np.linalg.slogdet(S)[1] - tr(A @ S)),
    ("det(A)", lambda A: det(A) * 1),
    ("inv(A)", lambda A: inv(A) * 1),
    ("inv(A)*x", lambda A, x: inv(A) @ x),
    ("x'*inv(S)*x", lambda x, S: x @ inv(S) @ x),
    ("tr(inv(A)*B)", lambda A, B: tr(inv(A) @ B)),
    ("a'*inv(X)*b", lambda a, X, b: a @ inv(X) @ b),
    ("(x - u)'*inv(S)*(x - u)/2 + log(det(S))/2", lambda x, u, S: (x - u) @ inv(S) @ (x - u) / 2 + np.log(det(S)) / 2),
    ("x*y'", lambda x, y: x[:, None] * y),
    ("x*x' + c*eye", lambda x, c: np.outer(x, x) + c * np.eye(3)),
    ("S*x", lambda S, x: S @ x),
    ("x'*S*x/(x'*x)", lambda x, S: x @ S @ x / (x @ x)),
    ("x'*A", lambda x, A: x @ A),
    ("sin(x)'*cos(y)", lambda x, y: np.sin(x) @ np.cos(y)),
    ("exp(x).*y", lambda x, y: np.exp(x) * y),
    ("x./y", lambda x, y: x / y),
    ("x.^2", lambda x: x**2),
    ("2.^x", lambda x: 2.0**x),
    ("x.^-y", lambda x, y: x**-y),
    ("-x.^2 + vector(c)", lambda x, c: -(x**2) + c),
    ("sum(x.*log(x))", lambda x: (x * np.log(x)).sum()),
    ("log(sum(exp(x)))", lambda x: np.log(np.exp(x).sum())),
    ("exp(x)/sum(exp(x))", lambda x: np.exp(x) / np.exp(x).sum()),
    ("tanh(W*x + b)", lambda W, x, b: np.tanh(W @ x + b)),
    ("v'*tanh(W*x + b)", lambda v, W, x, b: v @ np.tanh(W @ x + b)),
    (
        "sum(relu(vector(1) - y.*(X*w))) + c/2*w'*w",
        lambda y, X, w, c: np.maximum(1 - y * (X @ w), 0).sum() + c / 2 * w @ w,
    ),
    ("norm2(y - exp(X*w))^2", lambda y, X, w: norm(y - np.exp(X @ w)) ** 2),
    ("y'*X*w - vector(1)'*exp(X*w)", lambda y, X, w: y @ X @ w - np.exp(X @ w).sum()),
    ("sum(log(sigmoid(y.*(X*w))))", lambda y, X, w: np.log(sigmoid(y * (X @ w))).sum()),
    ("vector(1)'*(X - Y*W).^2*vector(1)", lambda X, Y, W: ((X - Y @ W) ** 2).sum()),
    ("tr((X - Y*W)'*(X - Y*W)) + c*tr(W'*W)", lambda X, Y, W, c: ((X - Y @ W) ** 2).sum() + c * (W * W).sum()),
    ("diag(x)*A*diag(y)", lambda x, A, y: np.diag(x) @ A @ np.diag(y)),
    ("diag(A)'*x", lambda A, x: np.diag(A) @ x),
    ("A .* B + matrix(1)", lambda A, B: A * B + 1),
    ("A^2*x", lambda A, x: A @ A @ x),
    ("(A*B)'", lambda A, B: (A @ B).T),
    ("A'*A*x - A'*b", lambda A, x, b: A.T @ A @ x - A.T @ b),
    ("x'*A'*S*A*x", lambda x, A, S: x @ A.T @ S @ A @ x),
    ("c^2 + d*s - t/c", lambda c, d, s, t: c**2 + d * s - t / c),
    ("tr(S*T) - 2*x'*S*y", lambda S, T, x, y: tr(S @ T) - 2 * x @ S @ y),
    ("inv(X'*X + c*eye)*X'*y", lambda X, c, y: inv(X.T @ X + c * np.eye(4)) @ X.T @ y),
    ("arctan(x)'*A*abs(y)", lambda x, A, y: np.arctan(x) @ A @ np.abs(y)),
    ("adj(A)*x", lambda A, x: det(A) * inv(A) @ x),
    ("norm2(x*y' * z)", lambda x, y, z: norm(np.outer(x, y) @ z)),
]


def letters(text: str) -> dict[str, str]:
    """Return the kinds of the letters of a formula, in order of use."""
    words = "".join(c if c.isalnum() else " " for c in text).split()
    return {word: KINDS[word] for word in words if word in KINDS}


def numbers(inputs: Any, seed: int) -> dict[str, Any]:
    """Return numbers for inputs: positive, and matrices far from singular."""
    rng = np.random.default_rng(seed)
    found = {}
    for p in inputs:
        shape = tuple(value(size, SIZES) for size in p.shape)
        x = rng.uniform(0.3, 1.2, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            x = x + x.T + 4 * np.eye(shape[0]) if p.assumptions.symmetric else x + 2 * np.eye(shape[0])
        found[p.name] = x
    return found


@pytest.mark.parametrize(("text", "reference"), FORMULAS, ids=[text for text, _ in FORMULAS])
def test_values(text: str, reference: Callable[..., Any]) -> None:
    formula = sd.parse(text, dialect="matrixcalculus", **letters(text))
    kernel = sd.compile(formula, backend="numpy")
    for seed in range(2):
        given = numbers(kernel.inputs, seed)
        want = reference(**given)
        got = kernel(inputs=given)
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-11)


def test_the_table_has_what_was_asked_for() -> None:
    assert len(FORMULAS) >= 55
    assert len({text for text, _ in FORMULAS}) == len(FORMULAS)


@pytest.mark.parametrize("text", [text for text, _ in FORMULAS[::6]])
def test_gradients_are_the_differences(text: str) -> None:
    formula = sd.parse(text, dialect="matrixcalculus", **letters(text))
    kernel = sd.compile(formula, backend="numpy")
    name = kernel.inputs[0].name
    slope = sd.compile(sd.jvp(formula, name, sd.array("step", formula_shape(kernel, name))), backend="numpy")
    given = numbers(kernel.inputs, 3)
    step = np.ones(np.shape(given[name]))
    h = 1e-6
    far = [kernel(inputs={**given, name: given[name] + s * h * step}) for s in (1, -1)]
    used = {p.name: {**given, "step": step}[p.name] for p in slope.inputs}
    np.testing.assert_allclose(slope(inputs=used), (far[0] - far[1]) / (2 * h), rtol=1e-6, atol=1e-7)


def formula_shape(kernel: Any, name: str) -> Any:
    return next(p.shape for p in kernel.inputs if p.name == name)


def test_declarations_in_the_text() -> None:
    text = "A is a symmetric matrix\nx, y are vectors.\nc: scalar\n\nc*x'*A*y"
    formula = sd.parse(text, dialect="matrixcalculus")
    assert str(sd.compile(formula).signature) == "(A: (n, n), x: (n,), y: (n,), c: ()) -> ()"
    slope = sd.compile(sd.gradient(formula, "A"), ["A", "x", "y", "c"])
    x, y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    np.testing.assert_allclose(slope(np.eye(2), x, y, 2.0), np.outer(x, y) + np.outer(y, x))
    found, start = split_declarations("x vector\ny: row vector;\nB is a matrix\n x'*B")
    assert found == {"x": "vector", "y": "row vector", "B": "matrix"}
    assert start == 39
    assert split_declarations("vector(1)'*x") == ({}, 0)
    with pytest.raises(ParseError, match="declared twice"):
        sd.parse("x vector\nx scalar\nx", dialect="matrixcalculus")
    with pytest.raises(ArgumentError, match="in the text and beside it"):
        sd.parse("x vector\nx", dialect="matrixcalculus", x="vector")


def test_lengths_follow_from_the_formula() -> None:
    def shapes(text: str, **kinds: Any) -> str:
        signature: str = sd.compile(sd.parse(text, dialect="matrixcalculus", **kinds)).signature
        return signature

    assert shapes("A*x - y", A="matrix", x="vector", y="vector") == "(A: (n, m), x: (m,), y: (n,)) -> (n,)"
    assert shapes("A*B*C", A="matrix", B="matrix", C="matrix") == "(A: (n, m), B: (m, p), C: (p, q)) -> (n, q)"
    assert shapes("A*x", A=(2, 3), x="vector") == "(A: (2, 3), x: (3,)) -> (2,)"
    assert shapes("n*x", n="scalar", x="vector") == "(n: (), x: (m,)) -> (m,)"
    assert shapes("A*x", A=("n", "n"), x="vector") == "(A: (n, n), x: (n,)) -> (n,)"
    assert shapes("x.*y", x="vector", y="m") == "(x: (m,), y: (m,)) -> (m,)"
    with pytest.raises(ShapeError, match=r"meets one of(.|\n)*A\*x\n"):
        sd.parse("A*x", dialect="matrixcalculus", A=(2, 3), x=4)


REFUSED = [
    ("x*y", "write x'\\*y, x\\*y' or x.\\*y"),
    ("x + 1", r"write vector\(1\) times the number"),
    ("A - 2", r"write matrix\(1\) times the number"),
    ("x + A", "may have to be transposed"),
    ("x' + x", "a row"),
    ("x/y", "write ./"),
    ("A/B", r"A \* inv\(B\)"),
    ("x^2", r"written .\^"),
    ("A^x", r"written .\^"),
    ("A^0.5", "whole number"),
    ("A^1000000000", "whole number"),
    ("A*x'", "transposed"),
    ("norm2(A)", "Frobenius"),
    ("sum(A)", r"vector\(1\)'\*A\*vector\(1\)"),
    ("sum(vector(1))", "no input tells this length"),
    ("tr(x)", "expected a matrix"),
    ("vector(x)", "expected a scalar"),
    ("gradient(x, x)", "no function of this language"),
    ("x(1)", "declared, and no function"),
    ("q*x", "'q' is not declared"),
    ("exp", "expected its argument"),
    ("exp()", "no arguments"),
    ("exp(x, y)", "1 argument"),
    ("x @ y", r"written \*"),
    ("[x, y]", "no elements"),
    ("x < y", "no conditions"),
    ("x y", "expected an operator"),
    ("2x", "expected an operator"),
    ("x'y", "expected an operator"),
    ("(x", "never closed"),
    ("x)", "no meaning"),
    ("x*", "found the end"),
    ("*x", "expected a number"),
    ("", "found the end"),
    ("x = y", "no meaning"),
    ("x, y", "no meaning"),
    ("x\ny", "one formula"),
    ("x\N{MINUS SIGN}y", "write -"),
    ("1e999*x", "beyond the range"),
    ("\x00", "no meaning"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_refusals(text: str, words: str) -> None:
    words_of = set("".join(c if c.isalnum() else " " for c in text).split())
    kinds = {name: KINDS[name] for name in ("x", "y", "A", "B") if name in words_of}
    with pytest.raises((ParseError, ShapeError, LimitError), match=words):
        sd.parse(text, dialect="matrixcalculus", **kinds)


def test_what_is_declared_is_looked_at() -> None:
    for name in ("exp", "pi", "eye", "vector"):
        with pytest.raises(ArgumentError, match="function of this language"):
            sd.parse("x", dialect="matrixcalculus", shapes={"x": "vector", name: "vector"})
    with pytest.raises(ArgumentError, match="does not mention"):
        sd.parse("x", dialect="matrixcalculus", x="vector", y="vector")
    with pytest.raises((ArgumentError, ShapeError)):
        sd.parse("x", dialect="matrixcalculus", x=(2, 3, 4))
    with pytest.raises(ArgumentError, match="expected one of 'matrixcalculus', or None"):
        sd.parse("x", dialect="matlab")
    with pytest.raises(ParseError, match="expected text"):
        sd.parse(3, dialect="matrixcalculus")


@pytest.mark.parametrize("text", ["A'*x", "A.*B", "x./y", "x.^2"])
def test_the_default_dialect_names_this_one(text: str) -> None:
    with pytest.raises(ParseError, match="dialect='matrixcalculus'"):
        sd.parse(text, A=(2, 2), B=(2, 2), x=2, y=2)


PIECES = ["x", "y", "A", "S", "c", "3", "0.5", "+", "-", "*", "/", "^", ".*", "./", ".^", "'", "(", ")", "exp(", "inv(",
          "tr(", "norm2(", "vector(", "matrix(", "eye", ",", "\n", " ", "sum(", "diag(", "=", "x vector\n"]


def test_random_text_is_read_or_refused() -> None:
    rng = random.Random(5)
    kinds = {"x": "vector", "y": "vector", "A": "matrix", "S": "symmetric matrix", "c": "scalar"}
    read = 0
    for _ in range(1500):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 9)))
        letters_of_text = text.replace("exp", "").replace("matrix", "")
        mentioned = {name: kind for name, kind in kinds.items() if name in letters_of_text}
        try:
            sd.parse(text, dialect="matrixcalculus", **mentioned)
            read += 1
        except SymdiffError:
            pass
    assert read > 40


@pytest.mark.parametrize("text", [
    "(" * 19_000, "x" + "'" * 19_000, "-" * 9_000 + "x", "x" + "+x" * 9_000, "A*" * 9_000 + "x", "exp(" * 4_000,
    "x" + " " * 19_000 + "vector y", "x" + ",x" * 9_000 + " vector\nx", "x vector" + " " * 19_000 + "q",
    "A^64" + "^64" * 100,
    "\n" * 19_000, "x'*" * 4_000, "2^" * 8_000 + "2", "x.^-" * 4_000 + "2",
])
def test_work_is_counted(text: str) -> None:
    start = time.process_time()
    with contextlib.suppress(SymdiffError):
        sd.parse(text, dialect="matrixcalculus", budget="strict", **letters(text))
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize(("what", "kind"), [("Matrix", "matrix"), (" symmetric  Matrix", "symmetric matrix"),
                                            ("VECTOR", "vector"), ("column vector", "vector"), ("Scalar", "scalar")])
def test_kinds_are_words_in_any_case(what: str, kind: str) -> None:
    text = {"matrix": "tr(A)", "symmetric matrix": "tr(A)", "vector": "A'*A", "scalar": "A^2"}[kind]
    first, second = (sd.parse(text, A=own, dialect="matrixcalculus") for own in (what, kind))
    assert str(first) == str(second)
    assert sd.compile(first).inputs[0].assumptions == sd.compile(second).inputs[0].assumptions


@pytest.mark.parametrize("what", ["symmetric", "vectr", "matrx", "sym matrix", "row", "matrix A", "square matrix"])
def test_what_is_nearly_a_kind_is_no_size(what: str) -> None:
    with pytest.raises(ArgumentError, match="symmetric matrix, or a shape"):
        sd.parse("A*A", A=what, dialect="matrixcalculus")


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("text", "advice"),
    [
        *(("x**2", r"\^"), ("A^T*x", "A'"), ("max(x)", "default dialect"), ("logistic(x)", "sigmoid")),
        *(("eye(3)*x", "eye, whose"), ("norm(x)", "norm2"), ("transpose(A)", "A'")),
    ],
)
def test_words_of_other_languages_get_advice(text: str, advice: str) -> None:
    own = {name: KINDS[name] for name in "Ax" if name in text.rpartition("(")[2]}
    with pytest.raises(ParseError, match=advice):
        sd.parse(text, dialect="matrixcalculus", **own)


def test_a_semicolon_may_end_a_formula() -> None:
    assert str(sd.parse("x'*x; ", x="vector", dialect="matrixcalculus")) == "x @ x"
    with pytest.raises(ParseError, match="one formula"):
        sd.parse("x'*x; x", x="vector", dialect="matrixcalculus")
