"""Formulas for people to read: text, Unicode, LaTeX and MathML, straight from the graph.

Takes
    graph nodes
Gives
    text in the language of the parser, Unicode as in a book, or LaTeX; a long formula as definitions and a result
Invariants
    * A formula that a person wrote is printed as written. Only derivatives are collected.
    * Text that is printed can be parsed again and means the same.
    * Time is linear in the graph, nothing recurses, and no line grows beyond reading.
Files
    notation      nodes to terms: matrix products, transposes, traces, numbers as 1/3
    products      products as a number and powers of factors
    collect       derivatives with equal factors as powers and like terms added
    elements      arrays of a few numbers by their elements, each simplified by itself
    from_entries  sums of single entries as the vector or matrix they make up, n x 1 matrices as vectors
    layout        one line, or definitions and a result
    calls         what is written as a call
    text          the language of the parser
    unicode       one line as a book prints it
    latex         the same with LaTeX's signs
    mathml        what that style writes as MathML
Add
    a style: a class like ``text.TextStyle``, and a function below
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, inputs_of
from .latex import LatexStyle, laid_out
from .layout import Layout, lay_out
from .text import TextStyle
from .unicode import MathStyle

__all__ = ["latex", "text", "unicode"]


def text(node: Node, *, derived: bool = False, taken: Sequence[str] = ()) -> str:
    """Return a formula in the language of :func:`symdiff.frontend.text.parse`, with NumPy's meaning.

    Parameters
    ----------
    node : Node
    derived : bool, optional
        Whether it is a derivative or made of one, whose factors may be moved and whose parts may get names.
    taken : sequence of str, optional
        Names that no definition may have, besides those in the formula.

    Returns
    -------
    str
        The formula; a long one as lines ``name = formula`` and the result on the last line.

    Examples
    --------
    >>> from symdiff.graph import input, matrix, swap
    >>> text(swap(matrix("inv", input("A", (2, 2)))))
    'inv(A).T'
    """
    names = [str(leaf.name) for leaf in inputs_of([node])]
    return _lines(lay_out([node], TextStyle([*names, *taken]), derived=derived, taken=taken))


def unicode(node: Node, *, derived: bool = False, taken: Sequence[str] = ()) -> str:
    """Return a formula as a book prints it, in Unicode; see :mod:`symdiff.printing.unicode`.

    Examples
    --------
    >>> from symdiff.graph import input, matrix, swap
    >>> unicode(swap(matrix("inv", input("A", (2, 2)))))
    'A⁻ᵀ'
    """
    return _lines(lay_out([node], MathStyle(), derived=derived, taken=taken))


def latex(node: Node, *, derived: bool = False, taken: Sequence[str] = ()) -> str:
    r"""Return a formula in LaTeX, for mathematics mode.

    Returns
    -------
    str
        With definitions, an ``aligned`` environment.

    Examples
    --------
    >>> from symdiff.graph import input, matrix, swap
    >>> print(latex(swap(matrix("inv", input("A", (2, 2))))))
    A^{-\top}
    """
    layout = lay_out([node], LatexStyle(), derived=derived, taken=taken)
    return laid_out(layout)


def _lines(layout: Layout) -> str:
    return "\n".join([*(f"{name} = {value}" for name, value in layout.definitions), *layout.results])
