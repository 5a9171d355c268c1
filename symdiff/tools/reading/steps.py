"""The steps of a derivative, to read: numbered equations, each with the name of its rule and its source."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

from ...errors import ArgumentError
from ...frontend.array import Array
from ...frontend.array_derivatives import gradient, jacobian
from ...frontend.formula import merge_shapes, read_formula
from ...frontend.outputs import leaves
from ...graph import BOOL, INT, Node, input, inputs_of, postorder
from ...graph.scalars.functions import to_real
from ...ground.budget import budgeted, spend
from ...ground.guard import guarded
from ...ground.limits import Budget
from ...printing.latex import aligned
from ...printing.mathml import mathml
from .derivation import STYLES, Derivation, Line, cut, derive, spell, write

__all__ = ["NumberedEquation", "Steps", "steps"]

#: Characters of a sub-formula that is written out within its differential.
_LONG = 40
#: What printing a node takes, charged for each line: a line is printed whole.
_PRINTED = 12
#: Names of a formula, of which the first is taken that no input has.
_FORMULAS = ("f", "y", "F", "phi", "f_0")


def _equation(left: str, right: str) -> str:
    """Return an equation behind the definitions of its right side, a line each."""
    *definitions, last = right.split("\n")
    return "\n".join([*definitions, f"{left} = {last}"])


class NumberedEquation(NamedTuple):
    """One equation of a derivation.

    Parameters
    ----------
    number : int
        From 1 on.
    left, right : str
        The equation, in formula text; ``right`` may have lines of definitions before its last.
    rule : str
        What books call the rule.
    instance : str
        The rule for the operation at hand, or in general.
    source : str
        Where the rule stands in print; :class:`symdiff.calculus.linear.Law` has the books.
    """

    number: int
    left: str
    right: str
    rule: str
    instance: str
    source: str

    def __str__(self) -> str:
        return _equation(self.left, self.right)


class Steps(Sequence[NumberedEquation]):
    """A derivation: a sequence of equations, shown as text, and in notebooks as typeset mathematics.

    Parameters
    ----------
    derivation : Derivation
    """

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation

    @overload
    def __getitem__(self, place: int) -> NumberedEquation: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[NumberedEquation]: ...

    def __getitem__(self, place: int | slice) -> NumberedEquation | Sequence[NumberedEquation]:
        return self._steps[place]

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[NumberedEquation]:
        return iter(self._steps)

    @cached_property
    def _steps(self) -> tuple[NumberedEquation, ...]:
        return tuple(_Writer(self.derivation, "text").steps())

    def _written(self, style: str) -> tuple[list[tuple[str, str]], list[NumberedEquation]]:
        writer = _Writer(self.derivation, style)
        return writer.abbreviations, list(writer.steps())

    @guarded
    def __str__(self) -> str:
        return _as_lines(*self._written("text"))

    __repr__ = __str__

    @guarded
    def unicode(self) -> str:
        """Return the steps in the signs of books."""
        return _as_lines(*self._written("unicode"))

    @guarded
    def latex(self) -> str:
        r"""Return the steps as an ``aligned`` environment of LaTeX, without dollar signs."""
        known, steps = self._written("latex")
        rows = [
            *(rf"& {name} &= {value} && \text{{as a name}}" for name, value in known),
            *(rf"{s.number}. \quad & {s.left} &= {s.right} && {_note(s)}" for s in steps),
        ]
        return aligned(rows)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    @guarded
    def _repr_html_(self) -> str:
        return self.html("mathml")

    @guarded
    def html(self, style: str = "unicode") -> str:
        """Return the steps as a table of HTML: in Unicode, in LaTeX between dollar signs, or in MathML."""
        styles = (*STYLES, "mathml")
        if not isinstance(style, str) or style not in styles:
            raise ArgumentError(f"style={style!r:.40}; expected one of {', '.join(map(repr, styles))}")
        known, steps = self._written("latex" if style == "mathml" else style)

        def shown(formula: str) -> str:
            if style == "mathml":
                return mathml(formula, display=False) if formula else ""
            formula = f"$\\displaystyle {formula}$" if style == "latex" and formula else formula
            return html.escape(formula).replace("\n", "<br>")

        rows = [("", _equation(name, value), "as a name", "", "") for name, value in known]
        rows += [(f"{s.number}", str(s), s.rule, s.instance, s.source) for s in steps]
        body = "".join(
            f'<tr><td>{number}</td><td style="text-align: left">{shown(equation)}</td>'
            f'<td style="text-align: left">{html.escape(rule)}{": " if instance else ""}'
            f"{shown(instance) if number else ''}</td><td>{html.escape(source)}</td></tr>"
            for number, equation, rule, instance, source in rows
        )
        return f'<table class="steps"><tr><th></th><th>equation</th><th>rule</th><th>source</th></tr>{body}</table>'


@guarded
@budgeted
def steps(
    f: Any,
    wrt: Any,
    /,
    *,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> Steps:
    r"""Derive a gradient, Jacobian or derivative step by step, as a textbook does.

    Parameters
    ----------
    f : str, SymPy expression or Array
        A formula of any shape.
    wrt : str, SymPy symbol or Array, or tuple or list of them
        Inputs of the formula, or named sub-formulas, which are held as variables of their own.
    shapes, functions, budget, **named_shapes
        As for :func:`gradient`.

    Returns
    -------
    Steps
        Numbered equations between differentials, each with the name of its rule and its source. The last is what
        :func:`gradient` (of a formula of shape ``()``) or :func:`jacobian` returns. Each equation is true at every
        point, in every direction ``dx``.

    Raises
    ------
    ArgumentError
        If there are several formulas, or a variable is made of another.
    UnsupportedError
        If a variable is neither an input nor a named sub-formula.
    LimitError
        If there are more steps than anybody reads.
    NotDifferentiableError, DisconnectedInputError
        As :func:`gradient`.

    Notes
    -----
    The method is that of Magnus and Neudecker, Matrix Differential Calculus (2019).

    Examples
    --------
    >>> import symdiff as sd
    >>> sd.steps("log(det(A))", "A", A=("n", "n"))
    1. f = log(det(A))          the formula
    2. f = logdet(A)            rewritten for stability [equal on paper]
    3. df = trace(inv(A) @ dA)  differential of a log-determinant [MN 8.3; MC 43]
    4. df/dA = inv(A).T         first identification theorem [MN 9, theorem 5.11]
    >>> sd.steps("h = W @ x\nsum(h**2)", "h", W=("m", "n"), x="n")
    1. h = W @ x            a part, taken as a variable
    2. f = sum(h ** 2)      the formula
    3. df = sum(d(h ** 2))  linearity [MN 8.2; MC 34-36, 44]
    4. df = 2 * (h @ dh)    power rule [DLMF 4.4.4]
    5. df/dh = 2 * h        first identification theorem [MN 9, theorem 5.11]
    """
    read = read_formula(f, merge_shapes(shapes, named_shapes), ("wrt", "shapes", "functions", "budget"), functions)
    if not isinstance(read.value, Array):
        raise ArgumentError("the steps of several formulas; expected one (call it for each)")
    by = read.variables(wrt)
    read.refuse_unused()
    several = leaves(by)
    for one in several:
        if not isinstance(one, Array):
            raise ArgumentError(f"wrt of type {type(one).__name__}; expected inputs, or names of them")
    if not several or any(one.node.dtype in (BOOL, INT) for one in several):
        raise ArgumentError("no real input to differentiate with respect to; expected one, or a tuple of them")
    node = to_real(read.value.node)
    find = jacobian if node.shape else gradient
    parts, variables, whole = cut([node], [one.node for one in several])
    provenance = None if parts else read.value.provenance
    results = leaves(find(Array(whole[0], provenance), tuple(map(Array, variables))))
    found = derive(whole[0], variables, [result.node for result in results], parts)
    spend(_PRINTED * sum(len(postorder([line.right])) for line in found.lines))
    return Steps(found)


class _Writer:
    """Writes a derivation in one style."""

    def __init__(self, derivation: Derivation, style: str) -> None:
        self.derivation = derivation
        self.style = style
        names = {str(one.name) for one in inputs_of([derivation.formula])}
        self.taken = names
        self.name = next((name for name in _FORMULAS if name not in names), "f'")
        self.spelled: dict[str, str] = {}
        #: Long sub-formulas, and what they are called.
        self.abbreviations: list[tuple[str, str]] = []
        sides = [side for line in derivation.lines for side in (line.left, line.right, *(line.instance or ()))]
        used = set(inputs_of(sides))
        for leaf, node in derivation.differentials.items():
            if leaf not in used:
                continue
            self.spelled[str(leaf.name)] = self.differential(leaf, node)

    def differential(self, leaf: Node, node: Node) -> str:
        """Return how the differential of a node is written; that of a long one by a name."""
        d = r"\mathrm{d} " if self.style == "latex" else "d"
        if leaf is self.derivation.df:
            return d + self.named(self.name)
        inner = write(node, "text", {}, derived=False)
        if "\n" not in inner and len(inner) <= _LONG:
            return spell(node, self.style, {}, self.taken)
        number = len(self.abbreviations) + 1
        while f"z{number}" in self.taken:
            number += 1
        self.taken = {*self.taken, f"z{number}"}
        self.abbreviations.append((self.named(f"z{number}"), write(node, self.style, {}, derived=False)))
        return d + self.named(f"z{number}")

    def named(self, name: str) -> str:
        """Return a name that is no input."""
        return write(input(name), self.style, {})

    def steps(self) -> Iterator[NumberedEquation]:
        number, before = 0, ("", "")
        for line in self.derivation.lines:
            sides = self.left(line), self.right(line)
            if sides != before:  # a form for numbers may be printed as the formula is
                number += 1
                yield NumberedEquation(number, *sides, *self.rule(line))
            before = sides

    def left(self, line: Line) -> str:
        if line.side == "formula":
            return self.named(self.name)
        if line.side == "part":
            return write(line.left, self.style, {})
        if line.side == "differential":
            return self.spelled[str(line.left.name)]
        f, w = self.named(self.name), write(line.left, self.style, {})
        if self.style == "latex":
            return rf"\frac{{\partial {f}}}{{\partial {w}}}"
        return f"∂{f}/∂{w}" if self.style == "unicode" else f"d{f}/d{w}"

    def right(self, line: Line) -> str:
        return write(line.right, self.style, self.spelled, derived=line.collected)

    def rule(self, line: Line) -> tuple[str, str, str]:
        name, equation, source = line.law
        if line.instance is not None:
            equation = " = ".join(write(side, self.style, self.spelled) for side in line.instance)
        elif self.style == "latex" and equation:
            equation = rf"\text{{{_plain(equation)}}}"
        return name, equation, source


def _plain(text: str) -> str:
    """Return text within LaTeX's text, without what LaTeX would take for a command."""
    signs = {"\\": "/", "{": "(", "}": ")", "$": "", "&": "and", "#": "", "_": r"\_", "%": r"\%", "~": "", "^": ""}
    return "".join(signs.get(c, c) for c in text)


def _note(step: NumberedEquation) -> str:
    source = f" [{step.source}]" if step.source else ""
    return rf"\text{{{_plain(step.rule + source)}}}"


def _as_lines(known: Sequence[tuple[str, str]], steps: Sequence[NumberedEquation]) -> str:
    """Return steps as lines of text, the rules behind the equations."""
    lines = [f"   {line}" for name, value in known for line in _equation(name, value).split("\n")]
    shown = [f"{step.number}. {step}".split("\n") for step in steps]
    width = max((len(one) for rows in shown for one in rows if len(one) <= _WIDE), default=0)
    for step, rows in zip(steps, shown, strict=True):
        source = f" [{step.source}]" if step.source else ""
        detail = f": {step.instance}" if step.instance and not step.source else ""
        note = f"{step.rule}{detail}{source}"
        *before, last = rows
        lines += [row if k == 0 else f"   {row}" for k, row in enumerate(before)]
        last = f"   {last}" if before else last
        lines += [f"{last:<{width}}  {note}"] if len(last) <= width else [last, f"   {note}"]
    return "\n".join(lines)


#: Characters of an equation behind which its rule stands on the same line.
_WIDE = 64
