"""Writes docs/gallery.md, derivations by field, from the table here: ``python docs/gallery.py``.

A test compares the page with what this makes, and runs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import symdiff as sd
from symdiff.frontend.formula import read_formula

PAGE = Path(__file__).with_name("gallery.md")

HEAD = """# Gallery

Formulas of several fields with the derivatives that symdiff gives, as a book has them and as text to copy. The page is
made by `python docs/gallery.py`, and what it shows is run by the tests. `symdiff serve` shows any other formula in the
same way, and `sd.steps(f, x)` how a derivative comes about.

```python
>>> import symdiff as sd

```
"""


class Row(NamedTuple):
    """A derivation: what it is, the formula, the variable, shapes as they are written, and the kind of derivative."""

    title: str
    formula: str
    wrt: str
    shapes: str
    kind: str = "gradient"


TABLE = {
    "Statistics": [
        Row("Least squares: the normal equations", "sum((y - X @ b)**2)", "b", 'X=("n", "p"), y="n", b="p"'),
        Row("Score of a logistic regression", "sum(log(1 + exp(-y * (X @ b))))", "b", 'X=("n", "p"), y="n", b="p"'),
        Row("Information of a Poisson regression", "sum(exp(X @ b) - y * (X @ b))", "b", 'X=("n", "p"), y="n", b="p"',
            "hessian"),
        Row("Gaussian likelihood by its covariance", "(logdet(S) + (x - m) @ solve(S, x - m)) / 2", "S",
            'S=sd.positive_definite("n"), x="n", m="n"'),
    ],
    "Machine learning": [
        Row("Jacobian of softmax", "softmax(z)", "z", 'z="n"', "jacobian"),
        Row("Cross-entropy by the weights", "logsumexp(W @ x) - y @ W @ x", "W", 'W=("m", "n"), x="n", y="m"'),
        Row("Backpropagation through a layer", "sum((y - tanh(W @ x + b))**2) / 2", "W",
            'W=("m", "n"), x="n", b="m", y="m"'),
        Row("Attention by the query", "softmax(K @ q) @ V", "q", 'q="d", K=("n", "d"), V=("n", "e")', "jacobian"),
        Row("Radial basis function", "exp(-sum((x - y)**2) / (2 * l**2))", "x", 'x="d", y="d", l=()'),
    ],
    "Matrix calculus": [
        Row("Determinant, singular or not", "det(X)", "X", 'X=("n", "n")'),
        Row("Trace of an inverse", "trace(inv(X) @ A)", "X", 'X=("n", "n"), A=("n", "n")'),
        Row("Power of a matrix", "trace(X @ X @ X)", "X", 'X=("n", "n")'),
        Row("Distance of a product", "norm(A @ X - B)", "X", 'A=("m", "n"), X=("n", "k"), B=("m", "k")'),
        Row("Quadratic form", "x @ A @ x", "x", 'x="n", A=("n", "n")', "hessian"),
    ],
    "Physics and chemistry": [
        Row("Force of the Lennard-Jones potential", "4 * e * ((s / norm(r))**12 - (s / norm(r))**6)", "r",
            "r=3, e=(), s=()"),
        Row("Field gradient of a point charge", "1 / norm(r)", "r", "r=3", "hessian"),
        Row("Velocity of a relativistic particle", "c * sqrt(m**2 * c**2 + p @ p)", "p", "p=3, m=(), c=()"),
    ],
    "Robotics": [
        Row("Direction to a beacon", "norm(p - b)", "p", "p=3, b=3"),
        Row("Velocity of a point on a turning body", "cross(w, p)", "w", "w=3, p=3", "jacobian"),
        Row("Pinhole camera", "f * p[:2] / p[2]", "p", "p=3, f=()", "jacobian"),
    ],
    "Finance": [
        Row("Mean and variance of a portfolio", "m @ w - g * (w @ C @ w) / 2", "w",
            'm="n", w="n", g=(), C=sd.symmetric("n")'),
        Row("Sharpe ratio", "m @ w / sqrt(w @ C @ w)", "w", 'm="n", w="n", C=sd.positive_definite("n")'),
    ],
}  # fmt: skip


def _entry(row: Row) -> str:
    shapes = eval(f"dict({row.shapes})", {"sd": sd})  # noqa: S307 - of the table above
    result = getattr(sd, row.kind)(row.formula, row.wrt, **shapes)
    formula = read_formula(row.formula, shapes).value
    return (
        f"### {row.title}\n\n$$\n{formula.latex()}\n$$\n\n$$\n{result.latex()}\n$$\n\n```python\n"
        f'>>> print(sd.{row.kind}("{row.formula}", "{row.wrt}", {row.shapes}))\n{result}\n\n```\n'
    )


def make_page() -> str:
    """Return the page."""
    fields = (f"## {field}\n\n" + "\n".join(map(_entry, rows)) for field, rows in TABLE.items())
    return "\n".join([HEAD, *fields])


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
