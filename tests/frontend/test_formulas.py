"""Formulas from public collections: value, Jacobian and Hessian right from every front door, on both backends.

The reference is :mod:`multiprecision`, which reads the same text with Python's own parser and computes in a hundred
digits; the SymPy forms are built from that reading too (scalar formulas) or written out beside the table (matrices).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff.frontend.formula import read_formula
from tests.support import formulas, multiprecision

ROWS = {
    name: (text, {k: np.asarray(v, dtype=float) for k, v in point.items()})
    for table in (
        formulas.FEYNMAN,
        formulas.OPTIMISATION,
        formulas.SCIENCE,
        formulas.STATISTICS,
        formulas.COOKBOOK,
        formulas.MATRICES,
    )
    for name, text, point in table
}
SCALAR = [name for name, (_, point) in ROWS.items() if all(v.ndim == 0 for v in point.values()) and name != "seed 8"]

SYMPY_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(sp, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "erf")},
    "erfc": sp.erfc,
    "ln": sp.log, "arcsin": sp.asin, "arccos": sp.acos, "arctan": sp.atan, "arctan2": sp.atan2, "lgamma": sp.loggamma,
    "abs": sp.Abs, "maximum": sp.Max, "minimum": sp.Min, "number": sp.Float, "pi": sp.pi, "e": sp.E,
    "where": lambda condition, a, b: sp.Piecewise((a, condition), (b, True)),
    "expm1": lambda x: sp.exp(x) - 1, "log1p": lambda x: sp.log(1 + x), "sigmoid": lambda x: 1 / (1 + sp.exp(-x)),
}  # fmt: skip


@functools.cache
def reference(name: str) -> dict[str, Any]:
    text, point = ROWS[name]
    return multiprecision.reference(text, point)


def check(name: str, formula: Any, shapes: dict[str, Any], backend: str) -> None:
    """Compare every derivative of a formula with the reference."""
    read = read_formula(formula, shapes)
    point = {k: v.reshape(read.inputs[k].shape) for k, v in ROWS[name][1].items()}
    outputs = {"value": read.value}
    for k, symbol in read.inputs.items():
        outputs[f"jacobian {k}"] = sd.jacobian(read.value, symbol, disconnected="zero")
        if np.size(reference(name)["value"]) == 1 and read.value.shape == ():
            outputs[f"hessian {k}"] = sd.hessian(read.value, symbol, disconnected="zero")
    kernel = sd.compile(outputs, list(read.inputs.values()), backend=backend)
    assert kernel.backend == ("c" if backend == "native" else "numpy")
    for key, got in kernel(inputs=point).items():
        want = reference(name)[key]
        scale = np.max(np.abs(want), initial=0.0)
        # A block of zeros has no scale of its own; the points are near 1.
        close = np.allclose(
            np.reshape(got, want.shape), want, rtol=1e-9, atol=1e-12 * scale if scale > 1e-25 else 1e-13
        )
        assert close, f"{key}: {got} came, {want} is right"


@pytest.mark.parametrize("name", ROWS)
def test_text(name: str) -> None:
    text, point = ROWS[name]
    check(name, text, {k: v.shape for k, v in point.items()}, "numpy")


@pytest.mark.parametrize("name", list(ROWS)[::2])
def test_native_text(name: str) -> None:
    text, point = ROWS[name]
    check(name, text, {k: v.shape for k, v in point.items()}, "native")


@pytest.mark.parametrize("name", SCALAR)
def test_sympy_scalars(name: str) -> None:
    text, point = ROWS[name]
    check(name, multiprecision.read(text, {**SYMPY_FUNCTIONS, **{k: sp.Symbol(k) for k in point}}), {}, "numpy")


@pytest.mark.parametrize("name", formulas.SYMPY)
def test_sympy_matrices(name: str) -> None:
    _, point = ROWS[name]
    symbols = {
        k: sp.Symbol(k) if v.ndim == 0 else sp.MatrixSymbol(k, v.shape[0], v.shape[1] if v.ndim == 2 else 1)
        for k, v in point.items()
    }
    check(name, formulas.SYMPY[name](**symbols), {}, "numpy")


def test_every_builder_has_its_row() -> None:
    assert set(formulas.SYMPY) <= set(ROWS)
    assert len(ROWS) == sum(
        map(
            len,
            (
                formulas.FEYNMAN,
                formulas.OPTIMISATION,
                formulas.SCIENCE,
                formulas.STATISTICS,
                formulas.COOKBOOK,
                formulas.MATRICES,
            ),
        )
    )
