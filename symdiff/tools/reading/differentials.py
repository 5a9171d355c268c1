"""Equations between differentials, as books write them: d log det(A) = tr(A⁻¹ dA).

A differential is an input whose name a style spells as ``dA`` or ``d(A⁻¹)``. Sums of products with one are
read as traces and scalar products, with the differential behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...graph import Node, inputs_of
from ...printing.from_entries import present
from ...printing.latex import LatexStyle
from ...printing.layout import Layout, Piece, lay_out
from ...printing.notation import Reader, Readings, Term, names_in, postorder, transpose
from ...printing.signs import ATOM as SIGN
from ...printing.text import ATOM, TextStyle
from ...printing.unicode import MathStyle

__all__ = ["STYLES", "spell", "write"]


class _Spelled:
    """A style in which some names are spelled in their own way."""

    level = SIGN

    def __init__(self, spelled: Mapping[str, str], even: frozenset[str], *args: Any) -> None:
        super().__init__(*args)
        self.spelled = spelled
        self.readings = _readings(frozenset(spelled), even)

    def reference(self, name: str) -> Piece:
        """Return a name, or what it is spelled as."""
        if name in self.spelled:
            return Piece(self.spelled[name], self.level)
        plain: Piece = super().reference(name)  # type: ignore[misc]
        return plain


class _Text(_Spelled, TextStyle):
    level = ATOM


class _Unicode(_Spelled, MathStyle):
    pass


class _Latex(_Spelled, LatexStyle):
    pass


#: Styles by name, and how each writes a differential.
STYLES: dict[str, tuple[type[_Text | _Unicode | _Latex], str]] = {
    "text": (_Text, "d"),
    "unicode": (_Unicode, "d"),
    "latex": (_Latex, r"\mathrm{d}"),
}


def spell(node: Node, style: str, spelled: Mapping[str, str], taken: Iterable[str] = ()) -> str:
    """Return how the differential of a node is written: dx of an input, d(x * y) of a formula.

    Parameters
    ----------
    node : Node
    style : str
        A key of :data:`STYLES`.
    spelled : mapping of str to str
        Names that are spelled in their own way.
    taken : iterable of str, optional
        Names of inputs, of which the differential of another has none.
    """
    make, d = STYLES[style]
    one = make(spelled, frozenset())
    inner = write(node, style, spelled, derived=False)
    if node.is_input and f"d{node.name}" not in set(taken):
        return f"{d}{' ' if d[-1:].isalpha() and style == 'latex' else ''}{inner}"
    return f"{d}{one.parenthesised(inner)}"


def write(node: Node, style: str, spelled: Mapping[str, str], *, derived: bool = True) -> str:
    """Return a formula with differentials in it, in a style.

    Parameters
    ----------
    node : Node
    style : str
        A key of :data:`STYLES`.
    spelled : mapping of str to str
        How each differential is written, by the name of its input.
    derived : bool, optional
        Whether factors may be moved.

    Returns
    -------
    str
        Several lines where parts get names.
    """
    make, _ = STYLES[style]
    leaves = inputs_of([node])
    names = [str(leaf.name) for leaf in leaves]
    even = frozenset(str(leaf.name) for leaf in leaves if leaf.assumptions.symmetric)
    one = make(spelled, even, names) if style == "text" else make(spelled, even)
    layout = lay_out([present(node, derived=derived)], one, derived=derived, taken=names)
    return _joined(layout, style)


def _joined(layout: Layout, style: str) -> str:
    if style != "latex":
        return "\n".join([*(f"{name} = {value}" for name, value in layout.definitions), *layout.results])
    return r", \quad ".join([*layout.results, *(f"{name} = {value}" for name, value in layout.definitions)])


# ---------------------------------------------------------------------------- traces and scalar products


def _readings(moving: frozenset[str], even: frozenset[str]) -> Sequence[Readings]:
    """Return the rules that read sums of products with one of these differentials; some of them are symmetric."""

    def moves(term: Term) -> bool:
        return not moving.isdisjoint(names_in(postorder([term])))

    def total(reader: Reader, term: Term) -> Term | None:
        (inside,) = term.args
        product = inside.args[0] if inside.kind == "negative" else inside
        if product.kind != "product" or product.ndim not in (1, 2) or term.ndim:
            return None
        factors = list(zip(product.args, product.data, strict=True))
        own = [one for one, divides in factors if not divides and one.ndim and moves(one)]
        if len(own) != 1 or own[0].shape != product.shape:
            return None
        (differential,) = own
        numbers = [(one, divides) for one, divides in factors if not one.ndim]
        rest = [(one, divides) for one, divides in factors if one.ndim and one is not differential]
        if any(one.shape != product.shape for one, _ in rest) or all(divides for _, divides in rest):
            return None
        weight = reader.product([one for one, d in rest if not d], [one for one, d in rest if d], product.shape)
        found = _inner(reader, weight, differential, even)
        whole = reader.product([*(n for n, d in numbers if not d), found], [n for n, d in numbers if d], ())
        return whole if product is inside else reader.negative(whole)

    def dot(reader: Reader, term: Term) -> Term | None:
        differential, weight = term.args
        swaps = moves(differential) and not moves(weight) and weight.kind != "matmul"
        return reader.make("dot", (weight, differential), None, ()) if swaps else None

    return [{"total": [total], "dot": [dot]}]


def _inner(reader: Reader, weight: Term, differential: Term, even: frozenset[str]) -> Term:
    if weight.ndim == 1:
        return reader.make("dot", (weight, differential), None, ())
    if differential.kind == "transpose":
        factors = [weight, differential.args[0]]
    elif differential.kind == "name" and differential.data in even:
        factors = [weight, differential]
    else:
        factors = [transpose(weight), differential]
    return reader.make("trace", (reader.chain(factors),), None, ())
