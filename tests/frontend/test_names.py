"""Names of sub-formulas change no number: values, gradients and Hessians are those of the formula without names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import Node, label, postorder, rebuild

X = sd.vector("x", 3)
A = sd.matrix("A", 3, 3)

#: Formulas, and points where rules matter: ties, zeros, equal eigenvalues, extremes.
TEXTS = [
    "sum(eigvalsh(A)**1.5)", "eigvalsh(A)[0]**2 + eigvalsh(A)[1]**2 + eigvalsh(A)[2]**2", "log(prod(eigvalsh(A)))",
    "sum(svdvals(A)**2)", "sum(log(1 + svdvals(A)**2))", "trace(A @ A.T)**0.5", "log(det(A @ A.T + eye(3)))",
    "log(1 + exp(x[0]))", "log(exp(x[0]) + exp(x[1]))", "(exp(x[0]) - 1) / x[0]", "sin(x[0]) / x[0]",
    "sqrt(x @ x)", "norm(x)**2", "sqrt(x @ x)**2", "norm(x)**4", "arctan(norm(x) / x[0])**2",
    "maximum(x[0], x[1])**2", "abs(x[0])**3", "abs(x[0] * x[0])", "x[0] * abs(x[0])", "exp(-x @ x / 2) * cos(x[1])",
    "log(sum(exp(x)))", "exp(x[0]) / sum(exp(x))", "tanh(x[0]) * (1 - tanh(x[0])**2)", "1 / (1 + exp(-x[0]))",
    "x[0] * log(x[0])", "where(x[0] > 0, x[0] * log(x[0]), 0)", "(1 - cos(x[1])) / x[1]**2", "var(x)",
    "sum((x - mean(x))**2)", "(x @ x) / (1 + x @ x)", "sqrt(1 + x[0]**2) - 1", "log(cosh(x[0]))",
    "sin(x[0])**2 + cos(x[0])**2", "erf(x[0]) * exp(-x[0]**2)", "x @ A @ x / (x @ x)", "sum(A @ x)**2",
    "x @ inv(A @ A.T + eye(3)) @ x", "logsumexp(x) - max(x)", "hypot(x[0], x[1])", "cumsum(x)[2] * cumprod(x)[1]",
]  # fmt: skip
POINTS = [
    np.zeros(3), np.ones(3), np.array([0.0, 0.0, 1.0]), np.array([0.3, -0.7, 1.2]), np.array([40.0, 40.0, -3.0]),
    np.array([800.0, -800.0, 1e-9]), np.array([1e-200, 1e-9, 1e150]),
]  # fmt: skip
MATRICES = [np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, 2.0]), np.diag([3.0, 2.0, 0.5]) + 0.1, np.ones((3, 3))]


def read(text: str) -> Any:
    """Return a formula as an array."""
    shapes = {name: shape for name, shape in (("x", 3), ("A", (3, 3))) if re.search(rf"\b{name}\b", text)}
    return read_formula(text, shapes, ()).value


def named_at_random(root: Node, rng: np.random.Generator) -> Node:
    """Give names to sub-formulas drawn at random, wherever they occur."""
    new: dict[Node, Node] = {}
    for node in postorder([root]):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if node.args and rng.random() < 0.4 and node.dtype is root.dtype:
            made = label(made, f"h{len(new)}")
        new[node] = made
    return new[root]


def results(f: Any) -> Any:
    parts: dict[str, Any] = {"value": f}
    by = [w for w in (X, A) if w.node in postorder([f.node])]
    for w in by:
        parts[f"slope {w}"] = sd.gradient(f, w)
        parts[f"bend {w}"] = sd.hessian(f, w)
    if len(by) == 2:
        parts["mixed"] = sd.jacobian(parts["slope A"], X)
    parts["moved"] = sd.jvp(f, by[0], by[0])
    kernel = sd.compile(parts, by, backend="numpy")

    def run(x: Any, a: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = kernel(*(a if w is A else x for w in by))
        except sd.SingularMatrixError as error:
            return {"raises": str(error)}
        return found

    return run


@pytest.mark.parametrize("text", TEXTS)
def test_names_change_no_number(text: str) -> None:
    f = read(text)
    plain = results(f)
    rng = np.random.default_rng(sum(map(ord, text)))
    for _ in range(2):
        named = sd.Array(named_at_random(f.node, rng))
        kernel = results(named)
        for x in POINTS:
            for a in MATRICES if "A" in text else MATRICES[:1]:
                want, got = plain(x, a), kernel(x, a)
                for part, one in want.items():
                    np.testing.assert_array_equal(got[part], one, err_msg=f"{part} of {named} at {x}, {a}")


@pytest.mark.parametrize("text", TEXTS)
def test_definitions_in_text_change_no_number(text: str) -> None:
    """Each call of a function is a definition of its own."""
    lines: list[str] = []
    rest = text
    while (found := re.search(r"\b(?!h\d)[a-z]+\d*\((?:[^()]*)\)", rest)) is not None:
        lines.append(f"h{len(lines)} = {found[0]}")
        rest = f"{rest[: found.start()]}h{len(lines) - 1}{rest[found.end() :]}"
    written = "\n".join([*lines, rest])
    kernels = [results(read(one)) for one in (text, written)]
    for x in POINTS:
        for a in MATRICES if "A" in text else MATRICES[:1]:
            want, got = (kernel(x, a) for kernel in kernels)
            for part, value in want.items():
                np.testing.assert_array_equal(got[part], value, err_msg=f"{part} of {written} at {x}, {a}")


def test_a_name_is_still_a_variable_and_is_shown() -> None:
    text = "h = x @ x\nexp(h) * h"
    k = sd.compile(sd.gradient(text, "h", x=3))
    np.testing.assert_allclose(k([1.0, 0.5, 0.0]), np.exp(1.25) * 2.25)
    assert "h = x @ x" in str(sd.gradient(text, "x", x=3))
    second = sd.compile(sd.hessian(text, "h", x=3))
    np.testing.assert_allclose(second([1.0, 0.5, 0.0]), np.exp(1.25) * 3.25)
