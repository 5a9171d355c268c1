"""What people read: formulas straight from the graph, without SymPy and without recursion.

Long formulas come as definitions and a result, so a graph of any size is printed in linear
time and no line grows beyond reading.
"""

from __future__ import annotations

from ..graph import Node, inputs_of
from .latex import LatexStyle
from .layout import Layout, lay_out
from .text import TextStyle
from .unicode import MathStyle

__all__ = ["latex", "text", "unicode"]


def text(node: Node) -> str:
    """Return a formula in the language of :func:`symdiff.frontend.text.parse`, with NumPy's meaning.

    Parameters
    ----------
    node : Node

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
    names = [str(leaf.payload) for leaf in inputs_of([node])]
    return _lines(lay_out([node], TextStyle(names)))


def unicode(node: Node) -> str:
    """Return a formula as a book prints it, in Unicode; see :mod:`symdiff.printing.unicode`.

    Examples
    --------
    >>> from symdiff.graph import input, matrix, swap
    >>> unicode(swap(matrix("inv", input("A", (2, 2)))))
    '(A⁻¹)ᵀ'
    """
    return _lines(lay_out([node], MathStyle()))


def latex(node: Node) -> str:
    r"""Return a formula in LaTeX, for mathematics mode.

    Returns
    -------
    str
        With definitions, an ``aligned`` environment.

    Examples
    --------
    >>> from symdiff.graph import input, matrix, swap
    >>> print(latex(swap(matrix("inv", input("A", (2, 2))))))
    \left(A^{-1}\right)^{\top}
    """
    layout = lay_out([node], LatexStyle())
    if not layout.definitions:
        return layout.results[0]
    rows = [rf"{name} &= {value}" for name, value in layout.definitions] + [f"& {value}" for value in layout.results]
    return r"\begin{aligned}" + " \\\\\n".join(rows) + r"\end{aligned}"


def _lines(layout: Layout) -> str:
    return "\n".join([*(f"{name} = {value}" for name, value in layout.definitions), *layout.results])
