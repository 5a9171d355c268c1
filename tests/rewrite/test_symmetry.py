"""Transposes of what is symmetric by construction are left out, and only those."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array
from symdiff.errors import SymdiffError
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import contract, matrix, postorder, swap
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import simplify
from symdiff.rewrite.facts import is_symmetric
from symdiff.rewrite.matrices.symmetry import upright
from tests.support.strategies import SIZES, Formula, formulas, sample

SHAPES = {"X": (3, 2), "A": (3, 3), "x": 3, "y": 3}
SYMMETRIC = [
    "X @ X.T",
    "A.T @ A",
    "A + A.T",
    "inv(X @ X.T)",
    "X @ inv(X.T @ X) @ X.T",
    "X @ X.T + 2 * eye(3)",
    "outer(x, x)",
    "diag(x)",
    "exp(outer(x, x)) / norm(x)",
    "X @ A[:2, :2] @ A[:2, :2].T @ X.T",
]
SKEWED = ["A", "X @ A[:2, :2] @ X.T", "A - A.T", "outer(x, y)", "A @ A", "A * x", "outer(x, x) + A", "inv(A)"]


@pytest.mark.parametrize("text", SYMMETRIC + SKEWED)
def test_known_by_its_form(text: str) -> None:
    node = simplify([parse_graph(text, SHAPES).result.node])[0]
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    value = evaluate([node], values)[0]
    assert np.allclose(value, value.T) == (text in SYMMETRIC)
    assert is_symmetric(node) == (text in SYMMETRIC)
    assert (simplify([swap(node)])[0] is node) == (text in SYMMETRIC and text != "A + A.T")  # whose terms change places


#: Differences, sums and products of pairs of points, or of numbers, from which functions of pairs are drawn.
PAIRS = [
    *("x[:, None] - x", "x[:, None] + x", "x[:, None] * x", "x[:, None] / x", "minimum(x[:, None], x)"),
    *("sum((X[:, None, :] - X)**2, axis=2)", "norm(X[:, None, :] - X[None, :, :], axis=2)"),
    *("sum(X[:, None, :] - X, axis=2)", "sum(X**2, axis=1)[:, None] + sum(X**2, axis=1) - 2 * X @ X.T"),
    *("sum(abs(X[:, None, :] - X) * v, axis=2)", "max(X[:, None, :] - X, axis=2)", "2 * eye(3)", "x", "A * A.T"),
]
OF_PAIRS = ["exp(-({}))", "sin({})", "cos({})", "({})**2", "({})**3", "abs({})", "tanh({}) * ({})", "1 / (2 + cos({}))"]


@given(st.lists(st.tuples(st.sampled_from(PAIRS), st.sampled_from([*OF_PAIRS, "{}"])), min_size=1, max_size=3),
       st.sampled_from([" + ", " * ", " - "]))  # fmt: skip
def test_functions_of_pairs(parts: list[tuple[str, str]], joined: str) -> None:
    text = joined.join(f"({function.replace('{}', pair)})" for pair, function in parts)
    node = parse_graph(text, SHAPES | {"v": 2}).result.node
    rng = np.random.default_rng(1)
    values = {name: rng.normal(size=shape) for name, shape in (SHAPES | {"v": 2}).items()}
    value = evaluate([node], values)[0]
    if value.ndim == 2 and is_symmetric(node):
        np.testing.assert_allclose(value, value.T, rtol=1e-12)
    elif value.ndim == 2 and len(parts) == 1 and parts[0][1] != "({})**3" and parts[0][0] != PAIRS[-1]:
        assert not np.allclose(value, value.T), text  # nothing that is symmetric is missed


def test_a_kernel_of_distances_has_an_inverse_without_transposes() -> None:
    text = "logdet(exp(-sum((X[:, None, :] - X[None, :, :])**2, axis=2) / l**2) + s * eye(n))"
    assert ".T" not in str(sd.gradient(text, "l", X=("n", "d"), s=(), l=()))


def test_two_products_with_one_symmetric_matrix_are_one() -> None:
    X, v = variable("X", (3, 2)), variable("v", (3,))
    S = matrix("inv", contract([X, X], [(0, 1), (2, 1)], (0, 2)))
    left, right = contract([S, v], [(1, 0), (1,)], (0,)), contract([S, v], [(0, 1), (1,)], (0,))
    made = simplify([left + right])[0]
    assert Counter(node.op for node in postorder([made]))["contract"] == 2  # X Xᵀ, and its inverse times v


def test_a_gradient_without_transposes() -> None:
    assert str(sd.gradient("logdet(X @ X.T)", "X", X=("n", "m"))) == "2 * (inv(X @ X.T) @ X)"


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(formulas(smooth=True))
def test_what_is_called_symmetric_is(formula: Formula) -> None:
    data = sample(formula.inputs, (1,) * len(formula.inputs), 0, SIZES)
    values = {leaf.payload: array[0] for leaf, array in zip(formula.inputs, data, strict=True)}
    for node in postorder(formula.roots):
        for tried in (node, contract([node, node], [(0, 1), (2, 1)], (0, 2)) if node.ndim == 2 else node):
            try:
                value = evaluate([tried], values)[0]
            except SymdiffError:
                continue
            if is_symmetric(tried):
                np.testing.assert_allclose(value, value.T, rtol=1e-9, atol=1e-9 * np.abs(value).max(initial=1.0))
            if tried.op == "contract" and tried.dtype == "real":
                np.testing.assert_allclose(evaluate([upright(tried)], values)[0], value, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------- outputs


def _hessians() -> dict[str, tuple[Array, Array]]:
    x, A = sd.vector("x", 5), sd.matrix("A", 2, 2)
    return {
        "log of a sum": (sd.hessian(np.log(np.sum(np.exp(np.sin(x) * x[::-1]))), x), x),
        "product": (sd.hessian(np.prod(x), x), x),
        "by a matrix": (sd.hessian(np.log(np.linalg.det(A)) * np.sum(np.sin(A)), A), A),
        "by a part": (sd.hessian(np.exp(x[0] * x[3] ** 2) / x[1], x[1:4]), x),
    }


@pytest.mark.parametrize("name", _hessians())
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_of_a_hessian_one_triangle_is_computed(name: str, backend: str) -> None:
    hessian, wrt = _hessians()[name]
    half = sd.compile(hessian, backend=backend)
    at = np.random.default_rng(3).uniform(0.5, 2.0, (20, *wrt.shape))
    got = half(at).reshape(20, -1)
    side = round(got.shape[1] ** 0.5)
    square = got.reshape(20, side, side)
    np.testing.assert_array_equal(square, square.swapaxes(1, 2))
    again = pickle.loads(pickle.dumps(half))
    np.testing.assert_array_equal(again(at).reshape(20, -1), got)
    whole = sd.compile(Array(hessian.node), backend=backend)  # the node itself does not tell
    np.testing.assert_allclose(got, whole(at).reshape(20, -1), rtol=1e-12, atol=1e-13)
    assert half.stats["operations"] < 0.95 * whole.stats["operations"]


def test_what_a_custom_rule_makes_of_a_hessian_is_kept() -> None:
    x = sd.vector("x", 2)
    wrong = sd.custom(lambda a: a[0] * a[1], vjp=lambda args, c: (c * np.stack([args[0][1], args[0][0] * 3.0]),))
    hessian = sd.compile(sd.hessian(wrong(x), x), [x], backend="native")(np.ones(2))
    np.testing.assert_array_equal(hessian, [[0.0, 1.0], [3.0, 0.0]])


def test_a_formula_derived_again_is_computed_alike() -> None:
    """What is known of a Hessian by then must not change what is made of it."""
    v = sd.vector("v", 3)
    sources = []
    for _ in range(2):
        f = np.log(v[0] / v[1]) + (v[0] - 1.0) * np.log(v[2] / v[1]) - (v[2] / v[1]) ** v[0]
        outputs = [f, sd.gradient(f, v[:2]), sd.hessian(f, v[:2])]
        sources.append(sd.compile(outputs, [v], backend="native").source())
    assert sources[0] == sources[1]
