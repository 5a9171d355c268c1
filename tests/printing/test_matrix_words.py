"""Products of matrices and vectors as words: what terms begin or end with is written once, and the value stays."""

from __future__ import annotations

import numpy as np
import pytest

from symdiff.frontend.formula import read_formula
from symdiff.graph import Node, inputs_of
from symdiff.graph.reference.interpret import evaluate
from symdiff.printing import text

SHAPES = {"A": (3, 3), "B": (3, 3), "C": (3, 3), "x": (3,), "y": (3,), "s": ()}
MATRICES = ["A", "B", "C", "A.T", "diag(x)", "outer(x, y)", "(A + B)", "(x[:, None] * C)", "(C * y)"]
SCALARS = ["", "2 * ", "s * ", "-3 * ", "-"]


def read(formula: str) -> Node:
    node: Node = read_formula(formula, SHAPES, ("shapes",)).value.node
    return node


def value(node: Node) -> np.ndarray:
    rng = np.random.default_rng(5)
    point = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    inputs = inputs_of([node])
    return np.asarray(evaluate([node], {str(x.name): point[str(x.name)] for x in inputs}, inputs)[0])


@pytest.mark.parametrize(("formula", "shown"), [
    ("A @ B + A @ C", "A @ (B + C)"),
    ("B @ A - C @ A", "(B - C) @ A"),
    ("A @ B @ x + A @ C @ x", "A @ (B + C) @ x"),
    ("A @ x + A.T @ x + y", "(A + A.T) @ x + y"),
    ("A - A @ B", "A @ (eye(3) - B)"),
    ("A * x + 2 * A", "A * (x + 2)"),
    ("outer(x, y) + s * outer(x, A @ y) + B", "outer(x, y + s * (A @ y)) + B"),
    ("outer(x - y, x) + outer(y - x, A @ x)", "outer(x - y, x - A @ x)"),
    ("A * x - outer(A @ x, x)", "A @ (diag(x) - outer(x, x))"),
    ("A + A @ B + C", "A + A @ B + C"),
])
def test_what_terms_have_in_common_is_written_once(formula: str, shown: str) -> None:
    assert text(read(formula), derived=True) == shown


@pytest.mark.parametrize("seed", range(150))
def test_random_sums_of_products_keep_their_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    end = rng.choice(["", "x", "(x - y)", "outer"])
    terms = []
    for _ in range(rng.integers(2, 6)):
        chain = " @ ".join(rng.choice(MATRICES, size=rng.integers(1, 4)))
        if end == "outer":
            chain = f"outer({chain} @ {rng.choice(['x', '(x - y)', '(y - x)'])}, {rng.choice(MATRICES)} @ y)"
        elif end:
            chain = f"{chain} @ {end}"
        terms.append(f"{rng.choice(SCALARS)}({chain})")
    node = read(" + ".join(terms))
    shown = text(node, derived=True)
    lines = shown.splitlines()
    again = read("\n".join(lines))
    np.testing.assert_allclose(value(again), value(node), rtol=1e-9, atol=1e-9, err_msg=shown)
