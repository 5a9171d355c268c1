"""The signs of books in Unicode; LaTeX has its own for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .layout import Piece, Style
from .notation import Term

COMPARISON, OR, AND, SUM, HADAMARD, PRODUCT, POWER, ATOM = range(1, 9)

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_VULGAR = {(1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾", (1, 5): "⅕", (1, 6): "⅙", (1, 8): "⅛"}


class MathSigns(Style):
    """How a name, a power, a quotient or a choice looks."""

    names: ClassVar[dict[str, str]] = {
        "sigmoid": "σ",
        "gamma": "Γ",
        "digamma": "ψ",
        "maximum": "max",
        "minimum": "min",
        "log_softmax": "log softmax",
        "adjugate": "adj",
        "cholesky": "chol",
        "logdet": "log det",
        "logabsdet": "log |det|",
        "trace": "tr",
    }
    fences: ClassVar[dict[str, tuple[str, str]]] = {
        "abs": ("|", "|"),
        "floor": ("⌊", "⌋"),
        "ceil": ("⌈", "⌉"),
        "norm": ("‖", "‖"),
    }
    compare: ClassVar[dict[str, str]] = {"less": "<", "less_equal": "≤", "equal": "=", "not_equal": "≠"}
    times, hadamard, tensor, over_each, conjunction, disjunction, negation = " ", " ⊙ ", " ⊗ ", " ⊘ ", " ∧ ", " ∨ ", "¬"
    crossed = " × "
    ones, identity, delta = "𝟏", "I", "δ"
    neighbours = True
    barred = False  # whether a quotient's bar says where the dividend ends

    mapped = " ↦ "

    def parenthesised(self, text: str) -> str:
        """Return ``text`` in parentheses."""
        return f"({text})"

    def summed(self, first: str, last: str) -> str:
        """Return the sign of a sum with its bounds."""
        return f"Σ[{first}…{last}] "

    def composed(self, function: str, count: str) -> str:
        """Return a function that is applied several times."""
        return function + (count.translate(_SUPERSCRIPT) if count.isdigit() else f"^({count})")

    def reference(self, name: str) -> Piece:
        """Return a name; one with odd characters is quoted."""
        return Piece(name if name.isidentifier() else repr(name), ATOM)

    def function(self, name: str, *args: str) -> str:
        """Return a call of a function."""
        return f"{self.names.get(name, name)}({', '.join(args)})"

    def raised(self, base: str, exponent: str, each: bool = False) -> str:
        """Return ``base`` with a superscript; ``each`` marks a power taken element by element."""
        plain = exponent.lstrip("-").isdigit()
        return base + ("∘" if each else "") + (exponent.translate(_SUPERSCRIPT) if plain else f"^{exponent}")

    def raised_fraction(self, text: str) -> str:
        """Return an exponent that is a fraction."""
        return f"({text})"

    def transposed(self, text: str) -> str:
        """Return a transpose."""
        return f"{text}ᵀ"

    def inverse_transposed(self, text: str) -> str:
        """Return the transpose of an inverse."""
        return f"{text}⁻ᵀ"

    def indexed(self, base: str, indices: Sequence[str]) -> str:
        """Return an element or a part of an array."""
        return f"{base}[{', '.join(indices)}]"

    def unit(self, place: str) -> str:
        """Return a unit vector."""
        return "e" + (place.translate(_SUBSCRIPT) if place.isdigit() else f"[{place}]")

    def fraction(self, over: str, under: str, loose: bool) -> Piece:
        """Return a quotient; ``loose`` says that the divisor is a product."""
        return Piece(f"{over} / {f'({under})' if loose else under}", HADAMARD)

    def root(self, term: Term) -> str:
        """Return a square root."""
        text, level = self.piece(term)
        return f"√{text}" if level == ATOM else f"√({text})"

    def rows_of(self, rows: Sequence[Sequence[str]], flat: bool) -> str:
        """Return a matrix, or a vector when ``flat``."""
        lines = ["[" + ", ".join(row) + "]" for row in rows]
        return lines[0] if flat else "[" + ", ".join(lines) + "]"

    def at_indices(self, text: str, indices: Sequence[str]) -> str:
        """Return the array that has the elements ``text`` at ``indices``."""
        return f"[{', '.join(indices)}] ↦ {text}"

    def turning(self, text: str) -> str:
        """Return the matrix of the cross product with a vector."""
        return f"[{text}]ₓ"

    def joined(self, parts: Sequence[str]) -> str:
        """Return numbers and vectors, one behind the other, as a vector."""
        return "[" + ", ".join(parts) + "]"

    def cases(self, condition: str, a: str, b: str) -> Piece:
        """Return a choice."""
        return Piece("{" + f"{a} if {condition}, else {b}" + "}", ATOM)

    def ratio(self, p: int, q: int) -> Piece:
        """Return a fraction of whole numbers."""
        sign = "-" if p < 0 else ""
        if (abs(p), q) in _VULGAR:
            return Piece(sign + _VULGAR[abs(p), q], SUM if sign else ATOM)
        return Piece(f"{p}/{q}", HADAMARD)

    def constant(self, name: str) -> str:
        """Return pi, e, log(2), ..."""
        roots = {"sqrt(pi)": "√π", "sqrt(2)": "√2", "sqrt(3)": "√3", "sqrt(5)": "√5", "sqrt(2 * pi)": "√(2π)"}
        return {"pi": "π", **roots}.get(name, name)
