r"""Formulas in MathML, which browsers draw without a script: what :class:`~symdiff.printing.latex.LatexStyle` writes.

A reader of the LaTeX that symdiff writes, whose commands are few: fractions, roots, fences, scripts, names and tables.
What it does not know is shown as text, and all text is quoted.
"""

from __future__ import annotations

import html
import re

__all__ = ["mathml"]

_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\S", re.DOTALL)
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "varsigma": "ς",
    "sigma": "σ", "tau": "τ", "upsilon": "υ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "phi": "ϕ",
    "varepsilon": "ε", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ",
    "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
_SIGNS = {
    "odot": "⊙", "otimes": "⊗", "oslash": "⊘", "times": "×", "land": "∧", "lor": "∨", "lnot": "¬", "mapsto": "↦",
    "le": "≤", "ge": "≥", "ne": "≠", "circ": "∘", "cdot": "·", "sum": "∑", "infty": "∞", "dots": "…",
    "ldots": "…", "to": "→", "in": "∈", "colon": ":", "partial": "∂",
}  # fmt: skip
_FENCES = {"lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "lVert": "‖", "rVert": "‖", "{": "{", "}": "}"}
_ESCAPED = re.compile(r"\\(textbackslash|textasciitilde|textasciicircum)\{\}|\\(.)")
_CHARACTERS = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^"}
#: Elements of scripts below and above.
_SCRIPTS = {"_": "msub", "^": "msup", "_^": "msubsup"}
_OF_SUMS = {"_": "munder", "^": "mover", "_^": "munderover"}
_SUM = "<mo>∑</mo>"
_ALIGNED = {"aligned": ("right", "left"), "bmatrix": (), "cases": ("left", "left")}


def mathml(latex: str, display: bool = True) -> str:
    r"""Return LaTeX that symdiff wrote as MathML.

    Parameters
    ----------
    latex : str
    display : bool
        As a line of its own, or within one.

    Examples
    --------
    >>> mathml(r"A^{-\top}", display=False)
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><msup><mi>A</mi><mrow><mo>−</mo><mi>⊤</mi></mrow></msup></math>'
    """
    block = ' display="block"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{block}>{_Reader(latex).row(())}</math>'


def _leaf(tag: str, text: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>{html.escape(text, quote=False)}</{tag}>"


class _Reader:
    """Reads marks from left to right, one method for each kind."""

    def __init__(self, latex: str) -> None:
        self._text, self._at = latex, 0

    def _next(self) -> str:
        found = _TOKEN.search(self._text, self._at)
        if found is None:
            self._at = len(self._text)
            return ""
        self._at = found.end()
        return found[0]

    def _peek(self) -> str:
        before = self._at
        mark = self._next()
        self._at = before
        return mark

    def row(self, ends: tuple[str, ...]) -> str:
        """Return what stands until one of some marks, which stays."""
        parts: list[str] = []
        while (mark := self._peek()) and mark not in ends:
            if mark in ("^", "_"):
                parts.append(self._scripts(parts.pop() if parts else "<mrow></mrow>"))
            else:
                parts.append(self._atom())
        return "".join(parts)

    def _scripts(self, base: str) -> str:
        found: dict[str, str] = {}
        while (mark := self._peek()) in ("^", "_") and mark not in found:
            self._next()
            found[mark] = self._argument()
        kind = "".join(sorted(found, reverse=True))
        tag = (_OF_SUMS if base == _SUM else _SCRIPTS)[kind]
        return f"<{tag}>{base}{''.join(found[mark] for mark in kind)}</{tag}>"

    def _argument(self) -> str:
        """Return a group in braces, or one atom, as one element."""
        if self._peek() != "{":
            return self._atom()
        self._next()
        parts = self.row(("}",))
        self._next()
        return f"<mrow>{parts}</mrow>"

    def _quoted(self) -> str:
        """Return the text in braces, with what is escaped in it."""
        if self._peek() != "{":
            return self._next()
        self._next()
        start = end = self._at
        depth = 1
        while depth and end < len(self._text):
            character = self._text[end]
            end += 2 if character == "\\" else 1
            depth += (character == "{") - (character == "}")
        self._at = end
        inside = self._text[start : end - 1]
        return _ESCAPED.sub(lambda found: _CHARACTERS.get(found[1] or "", found[2] or ""), inside)

    def _atom(self) -> str:
        mark = self._next()
        if mark == "{":
            self._at -= 1
            return self._argument()
        if mark.startswith("\\"):
            return self._command(mark[1:])
        if mark[:1].isdigit():
            return _leaf("mn", mark)
        if mark.isalpha():
            return _leaf("mi", mark)
        return _leaf("mo", "−" if mark == "-" else mark, ' separator="true"' if mark == "," else "")

    def _command(self, name: str) -> str:
        match name:
            case "frac":
                return f"<mfrac>{self._argument()}{self._argument()}</mfrac>"
            case "sqrt":
                return f"<msqrt>{self._argument()}</msqrt>"
            case "left":
                return self._fenced()
            case "begin":
                return self._table(self._quoted())
            case "operatorname" | "mathrm" | "mathbf":
                text = self._quoted().replace("1", "𝟏") if name == "mathbf" else self._quoted()
                single = ' mathvariant="normal"' if len(text) == 1 else ""
                return _leaf("mi", text, single) + (self._gap() if name == "operatorname" else "")
            case "text" | "texttt":
                return _leaf("mtext", self._quoted().replace(" ", "\u00a0"))
            case "," | "quad":
                return f'<mspace width="{0.17 if name == "," else 1.0}em"/>'
            case "displaystyle":
                return ""
        if name in _GREEK:
            return _leaf("mi", _GREEK[name])
        if name == "top":  # no operator, which would have room around it
            return _leaf("mi", "⊤")
        if name in _SIGNS:
            return _leaf("mo", _SIGNS[name])
        if name.isalpha():  # a function that has a command, as \log
            return _leaf("mi", name) + self._gap()
        return _leaf("mo", name)

    def _gap(self) -> str:
        """Return a gap between a function and an argument without parentheses."""
        return "" if self._peek() in ("\\left", "^", "_", "", "(", "}") else '<mspace width="0.17em"/>'

    def _fenced(self) -> str:
        opening = self._fence()
        inside = self.row(("\\right",))
        self._next()
        return f"<mrow>{opening}{inside}{self._fence()}</mrow>"

    def _fence(self) -> str:
        mark = self._next()
        return _leaf("mo", _FENCES.get(mark.lstrip("\\"), mark), ' fence="true" stretchy="true"')

    def _table(self, kind: str) -> str:
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(self.row(("&", "\\\\", "\\end")))
            mark = self._next()
            if mark == "\\\\":
                rows.append([])
            elif mark != "&":
                break
        self._quoted()
        sides = _ALIGNED.get(kind, ())
        body = ""
        for row in rows:
            aligned = [f' columnalign="{sides[k % 2]}"' if sides else "" for k in range(len(row))]
            body += "<mtr>" + "".join(f"<mtd{a}>{cell}</mtd>" for a, cell in zip(aligned, row, strict=True)) + "</mtr>"
        table = f'<mtable displaystyle="true">{body}</mtable>' if kind == "aligned" else f"<mtable>{body}</mtable>"
        opening, closing = {"bmatrix": ("[", "]"), "cases": ("{", "")}.get(kind, ("", ""))
        fences = [_leaf("mo", mark, ' fence="true" stretchy="true"') if mark else "" for mark in (opening, closing)]
        return f"<mrow>{fences[0]}{table}{fences[1]}</mrow>" if opening else table
