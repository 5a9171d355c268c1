"""What is shown of a derivative is text of the same derivative: random formulas, sizes with letters and without."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate

N, M = 4, 3
LEAVES = {
    "s": "a|b|2.5|x[0]|x[1]",
    "v": "x|y|A[0]|A[:, 1]|diag(A)",
    "Q": "A|B|S|P|eye(n)",
    "R": "R",
    "u": "z|R[:, 0]",
}
#: Formulas by their shape: a number, n, n×n, m×n and m; letters stand for formulas of these.
GRAMMAR = {
    "s": "sum({v})|{v} @ {v}|norm({v})|trace({Q})|sin({s})|{s} * {s}|{s} - {s}|log(1 + {s}**2)|{v} @ {Q} @ {v}|"
    "logsumexp({v})|sum({Q}**2)|mean({v})|var({v})|max({v})|norm({R})|exp(-norm({v})**2)|prod(2 + sin({v}))|"
    "where({s} > 0.3, {s}, {s})|{s} / (2 + {s}**2)|sum({u})|trace(expm(S * {s} / 9) @ {Q})",
    "v": "{v} * {v}|{v} + {v}|{Q} @ {v}|{s} * {v}|softmax({v})|tanh({v})|cumsum({v})|solve(P, {v})|{v}[::-1]|"
    "concatenate([{v}[1:], {v}[:1]])|sum({Q}, axis=0)|diag({Q})|maximum({v}, {v})|{u} @ {R}|sort({v})|"
    "where({v} > 0.2, {v}, {v})|abs({v})|{v} - mean({v})|cumprod(1.5 + sin({v}))|roll({v}, 1)|unit({v})|"
    "pad(diff({v}), (1, 0))|pad(diff({v}, 2), (1, 1))|{v} / (1.5 + {v}**2)|log_softmax({v})",
    "Q": "{Q} @ {Q}|{Q}.T|{Q} * {Q}|outer({v}, {v})|diag({v})|inv(P + {s}**2 * eye(n))|{R}.T @ {R}|{Q} - {Q}|tril({Q})|"
    "{v}[:, None] * {Q}|{s} * {Q}|sin({Q})|solve(P, {Q})|exp(-{Q}**2)|cholesky(P)|matrix_power({Q}, 2)|expm(S / 4)|"
    "sqrtm(P)|logm(P)|softmax({Q}, axis=1)",
    "R": "{R} @ {Q}|outer({u}, {v})|{R} * {R}|{R} + {v}|tanh({R})|{R} * {s}",
    "u": "{R} @ {v}|sum({R}, axis=1)|{u} * {u}|sigmoid({u})|logsumexp({R}, axis=1)|norm({R}, axis=1)|max({R}, axis=1)",
}


def _drawn(rng: np.random.Generator, kind: str, depth: int) -> str:
    if depth == 0:
        return str(rng.choice(LEAVES[kind].split("|")))
    form = str(rng.choice(GRAMMAR[kind].split("|")))
    less = depth - 1 if rng.random() < 0.8 else 0
    return "(" + re.sub(r"\{(\w)\}", lambda found: _drawn(rng, found[1], less), form) + ")"


def _shapes(n: Any, m: Any) -> dict[str, Any]:
    known = {"a": (), "b": (), "x": n, "y": n, "z": m, "A": (n, n), "B": (n, n), "R": (m, n)}
    return {**known, "S": sd.symmetric(n), "P": sd.positive_definite(n)}


def _point(rng: np.random.Generator) -> dict[str, Any]:
    sizes = {"a": (), "b": (), "x": N, "y": N, "z": M, "A": (N, N), "B": (N, N), "R": (M, N), "S": (N, N), "P": (N, N)}
    point: dict[str, Any] = {name: np.asarray(rng.normal(size=size)) for name, size in sizes.items()}
    return {**point, "S": point["S"] + point["S"].T, "P": point["P"] @ point["P"].T + np.eye(N)}


@pytest.mark.parametrize("seed", range(120))
def test_what_is_shown_is_the_same_derivative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = seed % 2 == 0
    kind = str(rng.choice(list("sssvQRu")))
    text = _drawn(rng, kind, int(rng.integers(1, 4))) + (" + x[0]" if letters else " + a")
    if not letters:
        text = text.replace("eye(n)", f"eye({N})")
    shapes = {
        name: shape
        for name, shape in _shapes(*(("n", "m") if letters else (N, M))).items()
        if re.search(rf"(?<![A-Za-z_]){name}(?![A-Za-z_0-9])", text)
    }
    wrt = str(rng.choice(list(shapes)))
    second = kind == "s" and rng.random() < 0.35
    derivative = (sd.hessian if second else sd.jacobian)(text, wrt, shapes=shapes)
    inputs = inputs_of([read_formula(text, shapes, ("shapes",)).value.node])
    again = read_formula(str(derivative), shapes, ("shapes",)).value.node
    for _ in range(2):
        point = {node.name: value for node in inputs for name, value in _point(rng).items() if node.name == name}
        with np.errstate(all="ignore"):
            want, got = evaluate([derivative.node, again], point, inputs)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("text", ["True", "False", "array_equal(5, x)", "any(zeros(2) > 1)", "inf > 1"])
def test_a_condition_that_is_decided_is_a_formula(text: str) -> None:
    shown = str(read_formula(text, {"x": "n"}).value)
    assert str(read_formula(shown).value) == shown
