"""Formulas by index: what is read, what is refused, and derivatives of up to four axes that are read back."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ParseError, ShapeError, SymdiffError
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph.reference.interpret import evaluate

SHAPES: dict[str, Any] = {"A": (2, 3), "B": (3, 4), "V": (3, 3), "x": 3, "y": 2, "s": ()}

READ = [
    ("[i, j, k] -> A[i, j] * x[k]", "ij,k->ijk", ("A", "x")),
    ("[i, k] -> A[i, j] * B[j, k]", "ij,jk->ik", ("A", "B")),
    ("[j, i] -> A[i, j]", "ij->ji", ("A",)),
    ("[i] -> V[i, i]", "ii->i", ("V",)),
    ("[i] -> V[i, i] * x[j]", "ii,j->i", ("V", "x")),
    ("[i, j] -> V[i, j] * V[k, k]", "ij,kk->ij", ("V", "V")),
    ("[b, a] -> (A @ B)[a, b]", "ij,jk->ki", ("A", "B")),
    ("([i] -> x[i])", "i->i", ("x",)),
    ("[i] -> ([j] -> x[j])[i]", "i->i", ("x",)),
]


def _values() -> dict[str, Any]:
    rng = np.random.default_rng(8)
    sizes = {name: (shape if isinstance(shape, tuple) else (shape,)) for name, shape in SHAPES.items()}
    return {name: rng.uniform(0.5, 1.5, shape) for name, shape in sizes.items()}


def _value(text: str, values: dict[str, Any]) -> Any:
    read = parse_graph(text, SHAPES)
    return evaluate([read.result.node], values, [array.node for array in read.inputs.values()])[0]


@pytest.mark.parametrize(("text", "subscripts", "names"), READ)
def test_elements_by_index_are_einsum(text: str, subscripts: str, names: tuple[str, ...]) -> None:
    values = _values()
    expected = np.einsum(subscripts, *(values[name] for name in names))
    np.testing.assert_allclose(_value(text, values), expected, rtol=1e-12)


def test_scalars_signs_and_sums_of_products() -> None:
    v = _values()
    text = "[i, j] -> -2 * V[i, j] / s + s * x[i] * x[j] * 3 - (-V[j, i])"
    expected = -2 * v["V"] / v["s"] + 3 * v["s"] * np.outer(v["x"], v["x"]) + v["V"].T
    np.testing.assert_allclose(_value(text, v), expected, rtol=1e-12)
    np.testing.assert_allclose(_value("2 * sum([i] -> x[i] * x[i])", v), 2 * (v["x"] ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(_value("t = [i] -> x[i] * s\nt @ t", v), (v["s"] * v["x"]) @ (v["s"] * v["x"]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[i, j] -> y[i]", "index j of the result is in no factor"),
        ("[i] -> A[i, i]", "runs over axes of sizes 2 and 3"),
        ("[i] -> A[i]", "1 indices of an array of shape"),
        ("[i] -> x", "expected elements by index"),
        ("[i] -> x[i] + 1", "'+' with elements"),
        ("[i] -> x[i] * x", "an array of shape (3,) beside elements"),
        ("[i] -> (x[i] + x[i]) * x[i]", "a product with a sum of elements"),
        ("[i] -> x[i] ** 2", "'**' with elements"),
        ("[i] -> 1 / x[i]", "'/' with elements"),
        ("[i] -> exp(x[i])", "found elements by index"),
        ("[i] -> x[i + 1]", "found the index i"),
        ("[i] -> A[0, i]", "names of indices beside numbers"),
        ("[i, i] -> V[i, i]", "different names"),
        ("[2] -> x[i]", "different names"),
        ("i -> x[i]", "expected a whole number"),
        ("1 + [i] -> x[i]", "different names"),
        ("[i] -> [j] -> x[i]", "different names"),
        ("-> x[i]", "found '->'"),
        ("[i] ->", "found the end of the line"),
        ("x[i]", "'i' is not known here"),
        ("([i] -> x[i]) + x[i]", "'i' is not known here"),
    ],
)
def test_what_is_no_array_by_index_is_refused(text: str, message: str) -> None:
    with pytest.raises((ParseError, ShapeError), match=re.escape(message)) as refused:
        parse_graph(text, SHAPES)
    assert "^" in str(refused.value)


def test_an_index_may_have_the_name_of_an_input() -> None:
    made = parse_graph("[x, s] -> A[x, s] * y[x]", SHAPES).result
    v = _values()
    np.testing.assert_allclose(evaluate([made.node], v)[0], v["A"] * v["y"][:, None])
    shown = str(sd.jacobian("i @ j", "i", i=("k", "l"), j=("l", "m")))
    assert shown == "[n, p, q, r] -> eye(k)[n, q] * j[r, p]"


# ---------------------------------------------------------------------------- derivatives are read back

MATRICES = ["X", "X.T", "C", "X @ C", "tanh(X)", "X * X", "C + X.T", "inv(C + 5 * eye(3))", "outer(v, X @ v)", "u * X"]
VECTORS = ["v", "X @ v", "softmax(X @ v)", "sin(v) * u", "v / norm(v)", "diag(X)", "C.T @ v", "X[0]", "v[::-1]",
           "relu(v - u)", "cross(u, X @ v)", "pad(v[1:], (0, 1))", "shift(v, 1) * u", "v[[2, 0, 1]]"]  # fmt: skip
INPUTS: dict[str, Any] = {"X": (3, 3), "C": (3, 3), "u": 3, "v": 3}


def _formulas(count: int) -> list[str]:
    rng = np.random.default_rng(2)
    forms = [
        "jacobian(({0}) @ ({1}), {4})",
        "jacobian(({0}) @ ({2}), {4})",
        "jacobian(({2}) * ({3}), {4})",
        "hessian(sum(({0}) * ({1})), {4})",
        "hessian(({2}) @ ({3}), {4})",
        "gradient(({2}) @ ({3}) / (1 + ({2}) @ ({2})), {4})",
    ]
    drawn: list[str] = []
    while len(drawn) < count:
        wrt = str(rng.choice(["X", "v"]))
        form = str(rng.choice(forms))
        formula = form.format(*rng.choice(MATRICES, 2), *rng.choice(VECTORS, 2), wrt)
        if len(re.findall(rf"\b{wrt}\b", formula)) > 1:
            drawn.append(formula)
    return drawn


def _is_well_formed(latex: str) -> bool:
    """Tell whether braces and brackets close, and no base has two superscripts or subscripts in a row."""
    depth = 0
    for sign in latex.replace(r"\{", "").replace(r"\}", ""):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    pairs = latex.count(r"\left") == latex.count(r"\right") and latex.count(r"\begin") == latex.count(r"\end")
    inside = latex
    while True:  # innermost groups first
        shorter = re.sub(r"\{[^{}]*\}", "@", inside)
        if shorter == inside:
            break
        inside = shorter
        if re.search(r"\^@\^|_@_|\^@_@\^|_@\^@_", inside):
            return False
    return depth == 0 and pairs


@pytest.mark.parametrize("formula", _formulas(120))
def test_a_derivative_is_read_back_from_what_is_shown(formula: str) -> None:
    read = parse_graph(formula, INPUTS)
    made, inputs = read.result, [array.node for array in read.inputs.values()]
    rng = np.random.default_rng(5)
    values = {name: rng.uniform(0.2, 1.2, shape) for name, shape in INPUTS.items()}
    again = parse_graph(str(made), INPUTS).result
    assert again.shape == made.shape
    own = evaluate([made.node], values, inputs)[0]
    np.testing.assert_allclose(evaluate([again.node], values, inputs)[0], own, rtol=1e-9, atol=1e-10)
    assert _is_well_formed(made.latex()), made.latex()
    assert made.unicode()


def test_superscripts_in_a_row_are_seen() -> None:
    assert _is_well_formed(r"{x^{2}}^{3} + \left(A\right)_{i}^{2}")
    for bad in ("x^{2}^{3}", "x_{i}_{j}", "{x", "x_{i}^{2}_{j}", r"\left(x"):
        assert not _is_well_formed(bad)


def test_text_of_any_kind_with_arrows_is_read_or_refused() -> None:
    rng = np.random.default_rng(4)
    pieces = ["[i]", "->", "x[i]", "A[i, j]", *"*+-/()s2,\n", "y =", "sum(", "[j, i]"]
    accepted = 0
    for _ in range(3_000):
        text = " ".join(rng.choice(pieces, rng.integers(2, 9)))
        with suppress(SymdiffError):
            parse_graph(text, SHAPES)
            accepted += 1
    assert accepted > 20
