"""Formulas in LaTeX: the book's style with LaTeX's signs. Names are escaped, never trusted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import ClassVar

from .layout import PRODUCT, SUM, Layout, Piece
from .notation import Term
from .unicode import MathStyle

_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|"
    "phi|varphi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)
_PLAIN = re.compile(r"\\?[A-Za-z]+|\\mathrm\{[A-Za-z]+\}")
_PARTS = re.compile(r"([A-Za-z]+)_?([A-Za-z0-9]*)")
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
#: Functions that LaTeX has a command for.
_COMMANDS = {name: rf"\{name}" for name in (
    "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "max", "min", "det"
)}  # fmt: skip


def aligned(rows: Iterable[str], between: str = "\n") -> str:
    """Return rows, in which ``&`` stands where they are aligned, as one environment."""
    return r"\begin{aligned}" + rf" \\{between}".join(rows) + r"\end{aligned}"


def laid_out(layout: Layout) -> str:
    """Return a formula behind the definitions that it needs, if any."""
    if not layout.definitions:
        return layout.results[0]
    return aligned(
        [rf"{name} &= {value}" for name, value in layout.definitions] + [f"& {value}" for value in layout.results]
    )


class LatexStyle(MathStyle):
    """LaTeX, for a formula in mathematics mode."""

    names: ClassVar[dict[str, str]] = {
        **MathStyle.names,
        **_COMMANDS,
        "maximum": r"\max",
        "minimum": r"\min",
        "sigmoid": r"\sigma",
        "gamma": r"\Gamma",
        "digamma": r"\psi",
        "logdet": r"\log\det",
        "log_softmax": r"\log\operatorname{softmax}",
    }
    fences: ClassVar[dict[str, tuple[str, str]]] = {
        "abs": (r"\left|", r"\right|"),
        "floor": (r"\left\lfloor ", r" \right\rfloor"),
        "ceil": (r"\left\lceil ", r" \right\rceil"),
        "norm": (r"\left\lVert ", r" \right\rVert"),
    }
    compare: ClassVar[dict[str, str]] = {"less": "<", "less_equal": r"\le", "equal": "=", "not_equal": r"\ne"}
    times, hadamard, tensor, over_each = r" \, ", r" \odot ", r" \otimes ", r" \oslash "
    crossed = r" \times "
    conjunction, disjunction, negation = r" \land ", r" \lor ", r"\lnot "
    ones, identity, delta = r"\mathbf{1}", "I", r"\delta"
    barred = True

    mapped = r" \mapsto "
    parenthesised, summed, raised_fraction = r"\left({}\right)".format, r"\sum_{{{}}}^{{{}}} ".format, "{}".format
    transposed, inverse_transposed = r"{}^{{\top}}".format, r"{}^{{-\top}}".format
    turning, composed, unit = r"\left[{}\right]_{{\times}}".format, "{}^{{{}}}".format, "e_{{{}}}".format

    def reference(self, name: str) -> Piece:
        """Return a name: Greek letters and subscripts as such, odd characters escaped."""
        match = _PARTS.fullmatch(name)
        if match:
            stem, below = match.groups()
            if _GREEK.fullmatch(stem):
                stem = f"\\{stem}"
            elif len(stem) > 1:
                stem = rf"\mathrm{{{stem}}}"
            below = (
                f"\\{below}" if _GREEK.fullmatch(below) else rf"\mathrm{{{below}}}" if below[1:].isalpha() else below
            )
            return Piece(stem + (f"_{{{below}}}" if below else ""))
        printable = "".join(_ESCAPES.get(c, c if c.isprintable() else "?") for c in name)
        return Piece(rf"\text{{{printable}}}")

    def function(self, name: str, *args: str) -> str:
        """Return a call of a function."""
        known = self.names.get(name, name)
        if not known.startswith("\\"):
            known = rf"\operatorname{{{''.join(_ESCAPES.get(c, c) for c in known)}}}"
        return known + self.parenthesised(", ".join(args))

    def raised(self, base: str, exponent: str, each: bool = False) -> str:
        """Return ``base`` with a superscript; ``each`` marks a power taken element by element."""
        sign = r"\circ " if each else ""
        return f"{base}^{{{sign}{exponent}}}"

    def indexed(self, base: str, indices: Sequence[str]) -> str:
        """Return an element or a part of an array."""
        single = all(len(index) == 1 and index.isalnum() for index in indices)
        base = base if _PLAIN.fullmatch(base) else f"{{{base}}}"  # which may have a subscript or power of its own
        return f"{base}_{{{('' if single else ', ').join(indices)}}}"

    def fraction(self, over: str, under: str, loose: bool) -> Piece:
        """Return a fraction."""
        return Piece(rf"\frac{{{over}}}{{{under}}}", PRODUCT)

    def root(self, term: Term) -> str:
        """Return a square root."""
        return rf"\sqrt{{{self.plain(term)}}}"

    def rows_of(self, rows: Sequence[Sequence[str]], flat: bool) -> str:
        """Return a matrix; a vector is a column."""
        lines = [entry for row in rows for entry in row] if flat else [" & ".join(row) for row in rows]
        return r"\begin{bmatrix}" + r" \\ ".join(lines) + r"\end{bmatrix}"

    def at_indices(self, text: str, indices: Sequence[str]) -> str:
        """Return the array that has the elements ``text`` at ``indices``."""
        return rf"\left[{text}\right]_{{{''.join(indices)}}}"

    def cases(self, condition: str, a: str, b: str) -> Piece:
        """Return a choice."""
        body = rf"{a} & \text{{if }} {condition} \\ {b} & \text{{otherwise}}"
        return Piece(rf"\begin{{cases}}{body}\end{{cases}}", SUM)

    def ratio(self, p: int, q: int) -> Piece:
        """Return a fraction of whole numbers."""
        sign = "-" if p < 0 else ""
        return Piece(rf"{sign}\frac{{{abs(p)}}}{{{q}}}", SUM if sign else PRODUCT)

    def constant(self, name: str) -> str:
        """Return pi, e, log(2), ..."""
        plain = name.replace("pi", r"\pi").replace(" ** 2", "^{2}").replace(" * ", " ")
        return re.sub(r"log\((.*)\)", r"\\log \1", re.sub(r"sqrt\((.*)\)", r"\\sqrt{\1}", plain))

    def number(self, value: float) -> Piece:
        """Return a number; powers of ten are written out."""
        text, level = super().number(value)
        mantissa, mark, exponent = text.partition("e")
        if mark and exponent.lstrip("+-").isdigit():
            return Piece(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", PRODUCT)
        return Piece(text.replace("∞", r"\infty").replace("nan", r"\mathrm{nan}").replace("·", r"\cdot"), level)
