"""What notebooks show: LaTeX of several formulas, tables of kernels and checks."""

from __future__ import annotations

import html
import inspect
import pickle
import pydoc
from collections import namedtuple
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.display import FormulaDict, FormulaTuple, rows_of
from symdiff.printing.mathml import mathml

X, Y, W = sd.scalar("x"), sd.scalar("y"), sd.matrix("W_1", 2, 2)


def test_tuples_and_dicts_of_derivatives_are_shown_in_latex() -> None:
    pair: Any = sd.gradient(X * Y**2, (X, Y))
    assert type(pair) is FormulaTuple
    assert tuple(pair) == (pair[0], pair[1])
    first, second = (one.latex() for one in pair)
    rows = rf"\texttt{{[0]}} &\colon {first} \\ \texttt{{[1]}} &\colon {second}"
    assert pair._repr_latex_() == rf"$\displaystyle \begin{{aligned}}{rows}\end{{aligned}}$"
    named: Any = sd.gradient(X * Y**2, {"first": X, "the_second": (Y,)})
    assert type(named) is FormulaDict
    assert rf'\texttt{{["the\_second"][0]}} &\colon {second}' in named._repr_latex_()
    assert isinstance(sd.value_and_gradient(X, X), FormulaTuple)
    assert isinstance(sd.hessian(X * Y, {"x": X, "y": Y})["x"], FormulaDict)


def test_structures_stay_what_they_are() -> None:
    pair = sd.gradient(X * Y, (X, Y))
    assert type(sd.compile(pair)(2.0, 3.0)) is tuple
    assert pickle.loads(pickle.dumps(pair))[0].node is pair[0].node
    Pair = namedtuple("Pair", "x y")
    assert type(sd.gradient(X * Y, Pair(X, Y))) is Pair
    assert [path for path, _ in rows_of(Pair(X, [Y]), str)] == [".x", ".y[0]"]


class Reader(HTMLParser):
    """Collects the cells of a table, and refuses tags that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        (lambda: sd.compile("where(x < y, log(1 + x), 2)", x=(), y=()), ["(x: (), y: ()) -> ()", "rewritten"]),
        (lambda: sd.check("x * y", at={"x": 1.0, "y": 2.0}), ["ok", "6 numbers with differences"]),
    ],
)
def test_kernels_and_checks_are_tables(value: Any, cells: list[str]) -> None:
    reader = Reader()
    reader.feed(value()._repr_html_())
    reader.close()
    assert not reader.open
    for cell in cells:
        assert cell in reader.cells


def test_plans_and_explanations_are_shown_as_lines() -> None:
    kernel = sd.compile("sqrt(x) * (x < y)", x="n", y=())
    plan: Any = kernel.plan
    assert plan._repr_html_() == f"<pre>{html.escape(kernel.plan)}</pre>"
    told = kernel.explain(np.array([1.0, -1.0]), 2.0)
    assert str(told) in html.unescape(told._repr_html_())


def test_kernels_tell_their_arguments_to_python() -> None:
    kernel = sd.compile("A @ x", A=("m", 3), x=3)
    assert list(inspect.signature(kernel).parameters) == ["A", "x", "out", "inputs"]
    assert inspect.signature(kernel).parameters["A"].annotation == "(m, 3)"
    assert "inputs" in inspect.signature(sd.Kernel).parameters  # of the class, as before
    structured = sd.compile(lambda p: p["a"] * p["b"], p={"a": (), "b": ()})
    assert next(iter(inspect.signature(structured).parameters)) == "p"
    odd = sd.compile(sd.symbol("out") * 2)
    inspect.signature(odd).bind(1.0)
    for other in (kernel, odd):
        assert pickle.loads(pickle.dumps(other)).signature == other.signature


def test_patterns_are_drawn_in_a_notebook_and_stay_pairs() -> None:
    kernel = sd.compile("jacobian(x[1:] * x[:-1], x)", x="n", sparse="csr")
    for n in (3, 300):  # a larger one is drawn in blocks
        found = kernel.pattern(n=n)
        rows, columns = found
        assert found.shape == (n - 1, n)
        assert isinstance(pickle.loads(pickle.dumps(found)), tuple)
        drawn = found._repr_html_()
        block = -(-n // 120)
        cells = {(i // block, j // block) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)}
        assert drawn.count('class="dot"') == len(cells)
        assert f"{2 * (n - 1)} nonzeros of {n - 1}×{n}" in drawn


def test_help_tells_of_the_kernel_itself() -> None:
    plain = sd.compile("sum(A @ x)", A=("m", 3), x=3, batch=["x"])
    sparse = sd.compile("jacobian(x * x, x)", x=3, sparse="csr")
    told = pydoc.plain(pydoc.render_doc(plain))
    assert plain.signature in told
    assert "The formula sum(A @ x), compiled." in told
    assert "A : array of shape (m, 3)\n" in told
    assert "x : array of shape (3,), or (..., 3) for a batch" in told
    assert "x : array of shape (3,)" in (inspect.getdoc(sparse) or "")
    assert "A compiled formula" in (sd.Kernel.__doc__ or "")
    assert type(sparse).__doc__ not in (sparse.__doc__, sd.Kernel.__doc__)
    many = sd.compile([f"sin({k} * x) ** {k}" for k in range(1, 40)], x=())
    assert 25 < len((many.__doc__ or "").splitlines()) < 40


def test_a_divisor_has_one_pair_of_parentheses() -> None:
    x, y = sd.vector("x", "n"), sd.vector("y", "n")
    assert (x / (1 + y)).latex() == r"x \oslash \left(1 + y\right)"
    assert (x / (y * x)).unicode() == "x ⊘ (y ⊙ x)"
    assert (sd.matrix("A", "n", "n") / (1 + x)).unicode() == "A ⊘ 𝟏 (1 + x)ᵀ"


@pytest.mark.parametrize(
    ("formula", "shapes", "title", "step"),
    [
        ("sum(exp(-v**2))", {"v": "n"}, "one sample:", "i0<n"),
        ("exp(v) * sum(v**2)", {"v": "k"}, "one sample (times for k = 1000):", "i0<k"),
        ("v * exp(-v**2) @ A", {"v": "n", "A": ("n", "m")}, "one sample (times for m = 1000):", "for each of n"),
        ("2 * v", {"v": 100_000}, "one sample:", "for each of 100000"),
    ],
)
def test_plans_say_for_which_sizes_their_times_are(formula: str, shapes: dict[str, Any], title: str, step: str) -> None:
    plan = sd.compile(formula, shapes=shapes).plan
    assert plan.splitlines()[0] == title
    assert step in plan
    assert "(batch)" not in plan
    assert "sample by sample" not in plan


def test_plans_of_batches_speak_of_samples() -> None:
    kernel = sd.compile("A @ x", A=("n", "m"), x="m")
    kernel(np.ones((30, 40)), np.ones((500, 40)))
    assert "a sample; " in kernel.plan.partition("a batch of x")[2]


def test_objectives_and_certificates_are_shown() -> None:
    x, a = sd.vector("x", 3), sd.scalar("a")
    f = a * (x @ x)
    told = html.unescape(sd.objective(f, x)._repr_html_())
    for part in ("fun(x, a)", "x (3,)", "a ()", mathml(f.latex(), display=False)):
        assert part in told
    certificate = sd.check("x * y", at={"x": 1.0, "y": 2.0}).certificate()
    assert html.unescape(certificate._repr_html_()) == f"<pre>{certificate}</pre>"
