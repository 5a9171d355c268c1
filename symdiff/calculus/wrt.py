"""The variables of a derivative: inputs, parts of inputs (``X[0]``), or sub-formulas.

A sub-formula is treated as if it were an input, so one stands in its place while the formula is
differentiated, and it is put back into the result.

A matrix that is declared symmetric, skew, diagonal or triangular moves within the linear space of such matrices. A
tangent is projected on that space, and so is a cotangent, orthogonally in the Frobenius product. The derivative by
independent entries is that projection times the square of the length of each entry's direction (Magnus and
Neudecker, chapter 3: the duplication matrix D has DᵀD diagonal).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from ..errors import ArgumentError, DisconnectedInputError
from ..graph import INT, Node, broadcast_to, constant, delta, inputs_of, placeholder, postorder, substitute, triangle
from ..graph.deltas.einsum import add_terms, einsum, scale_by, signed_terms
from ..graph.deltas.structural import transposed
from ..graph.dump import term_text
from ..graph.kinds import BRANCHING
from ..graph.sizes import show
from ..rewrite import (
    beside_zeros,
    join_cosines,
    lengths_of_one,
    named_signs,
    paired_signs,
    prepare,
    simplify,
    smooth_directions,
    with_names,
    without_limits,
    without_names,
    zeros_of_lengths,
)
from ..rewrite.cancelling.kinks import Zero
from ..rewrite.facts import are_transposes, is_diagonal, is_lower, is_skew, is_symmetric, is_upper
from ..rewrite.matrices.chains import with_equal_products
from .linear import LINEAR
from .modes import pushforward
from .selections import has_jumps, mean_of_sides, selections_that_meet, without_sides
from .spectra.projectors import in_projectors

__all__ = ["Cut", "InputPart", "Known", "Orders", "disconnection", "refuse_disconnected"]

#: Simplified nodes, for derivatives of one formula with respect to several arrays.
Known: TypeAlias = dict[Node, Node]
_VIEWS = ("slice", "gather", "reshape", "contract", "take")


class InputPart:
    """A part of an independent array: the array, and the linear steps from it to the part."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.steps: list[Node] = []
        base = node
        while base.op in _VIEWS and _is_choice(base):
            self.steps.append(base)
            base = base.args[0]
        if base.op not in ("input", "named"):
            base, self.steps = node, []
        self.base = base
        #: The linear space of the array's matrices, "" where any matrix is one.
        self.space = base.assumptions.space if base.is_input else ""

    def push(self, tangent: Node, prefix: int) -> Node:
        """Return the tangent of the whole array, within its space, when the part moves along ``tangent``."""
        for step in self.steps:
            tangent = LINEAR[step.op].pull(step, 0, tangent, prefix)
        return project(self.space, tangent)

    def pull(self, cotangent: Node, prefix: int) -> Node:
        """Return the part of a cotangent of the whole array, of which the whole is projected by :meth:`narrow`."""
        if self.steps:
            cotangent = project(self.space, cotangent)
        return self._taken(cotangent, prefix)

    def _taken(self, whole: Node, prefix: int) -> Node:
        for step in reversed(self.steps):
            whole = LINEAR[step.op].push(step, 0, whole, prefix)
        return whole

    def narrow(self, result: Node) -> Node:
        """Project a derivative with respect to the whole array, once it is simplified; one by a part stays."""
        return result if self.steps else project(self.space, result)

    def by_entries(self, result: Node, axis: int) -> Node:
        """Return the derivative with respect to independent entries, of one whose axes from ``axis`` are the part's."""
        if self.space not in ("symmetric", "skew"):
            return result
        twice = scale_by(constant(2.0), result)
        if self.space == "skew":
            return twice
        own = tuple(range(result.ndim))
        mine = own[axis : axis + self.node.ndim]
        if not self.steps:
            rows, columns = mine[-2:]
            along = delta(result.shape[rows], result.shape[columns])
            return twice - einsum([result, along], [own, (rows, columns)], own)
        n = self.base.shape[-1]
        weights = self._taken(2.0 - broadcast_to(delta(n, n), self.base.shape), 0)
        return einsum([result, weights], [own, mine], own)


def project(space: str, node: Node) -> Node:
    """Project the matrices in the last two axes on a linear space, orthogonally in the Frobenius product.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> from symdiff.printing import text
    >>> print(text(project("symmetric", input("G", (2, 2)))))
    0.5 * (G + G.T)
    """
    own = tuple(range(node.ndim))
    if space == "diagonal" and not is_diagonal(node):
        return einsum([node, delta(*node.shape[-2:])], [own, own[-2:]], own)
    if space == "lower" and not is_lower(node):
        return triangle(node, False)
    if space == "upper" and not is_upper(node):
        return triangle(node, True)
    if space == "symmetric":
        return _half(node, 1.0)
    return _half(node, -1.0) if space == "skew" else node


def _half(node: Node, sign: float) -> Node:
    """Return (G + Gᵀ) / 2, or (G - Gᵀ) / 2, of a sum term by term: many terms are symmetric, or come in pairs."""
    known, gone = (is_symmetric, is_skew) if sign > 0 else (is_skew, is_symmetric)
    kept: list[tuple[float, Node]] = []
    rest: list[tuple[float, Node]] = []
    for own, term in signed_terms(node) or [(1.0, node)]:
        if known(term):
            kept.append((own, term))
        elif not gone(term):
            like = (i for i, (c, other) in enumerate(rest) if c == sign * own and are_transposes(other, term))
            pair = next(like, None)
            if pair is None:
                rest.append((own, term))
            else:
                kept += [rest.pop(pair), (own, term)]
    if rest:
        turned = [(sign * c, transposed(term)) for c, term in rest]
        kept.append((1.0, scale_by(constant(0.5), add_terms([*rest, *turned]))))
    return add_terms(kept) if kept else broadcast_to(constant(0.0), node.shape)


def _is_choice(node: Node) -> bool:
    """Tell whether a step takes each element at most once, so that it is a part and not a formula."""
    if node.op == "take":  # of several positions some may be equal
        return node.args[1].shape == ()
    if node.is_gather:
        return len(set(node.payload.indices)) == len(node.payload.indices)
    if node.is_contraction:
        labels, out, repeated = node.payload
        return len(node.args) == 1 and not repeated and set(labels[0]) == set(out)
    return True


#: Most names that are looked for in their simplified forms, too.
_NAMES = 30


def refuse_disconnected(node: Node, views: Sequence[InputPart]) -> None:
    """Refuse variables that a formula does not depend on."""
    sought = {view.base for view in views}
    below = sought.intersection((inputs_of if all(base.is_input for base in sought) else postorder)([node]))
    for view in views:
        if view.base not in below:
            raise DisconnectedInputError(disconnection(node, view.node))


class Cut:
    """The formula with its variables made inputs, without names, stabilised; and the way back.

    A name is a label for readers, and no operation: with names left out, every rule sees through them. They come back
    where the result holds what they stand for.
    """

    def __init__(self, node: Node, group: Sequence[Node], disconnected: str, opened: bool = False) -> None:
        if disconnected not in ("error", "zero"):
            raise ArgumentError(f"disconnected={disconnected!r}; expected 'error' or 'zero'")
        views = self.views = [InputPart(w) for w in group]
        if disconnected == "error":
            refuse_disconnected(node, views)
        bases = list(dict.fromkeys(view.base for view in views))
        stand_in = {
            b: placeholder(("wrt", i), b.shape, text=_text(b)) for i, b in enumerate(bases) if not b.is_input
        }
        self._check_nested(bases)
        self.back = {s: b for b, s in stand_in.items()}
        cut, *by = substitute([node, *group], stand_in) if stand_in else [node, *group]
        cut, self.names = without_names(cut)
        if opened:
            from ..rewrite.cancelling.kinks import opened_shares  # not needed by an import

            cut = opened_shares(cut, by)
        one_side = without_sides(cut)
        was_mean = one_side is not cut
        cut = without_limits(one_side)
        if cut.below & BRANCHING:
            from .any_order import in_any_order  # not needed by an import

            cut = in_any_order(cut)
        for view in views:
            view.base = stand_in.get(view.base, view.base)
        self.rewrites: list[str] = []
        (stable,) = join_cosines([with_equal_products(prepare(in_projectors(cut), self.rewrites))], self.rewrites)
        from ..rewrite.narrowing import narrow  # not needed by an import

        (narrowed,) = narrow([stable])
        self.node, self.signs = named_signs(
            smooth_directions(lengths_of_one(narrowed), _elementwise_slope), was_mean
        )
        self.meeting = selections_that_meet(self.node, [view.base for view in views], was_mean)
        self.again = bool(self.signs or self.meeting) or has_jumps(self.node)
        self._forms: dict[Node, str] | None = None

    @cached_property
    def zeros(self) -> list[Zero]:
        """Zeros of lengths at which derivatives may have limits."""
        return zeros_of_lengths(self.node)

    @staticmethod
    def _check_nested(bases: list[Node]) -> None:
        several, above = set(bases), set[Node]()
        for node in postorder(bases) if len(several) > 1 else ():
            if any(arg in several or arg in above for arg in node.args):
                above.add(node)
        if not above.isdisjoint(several):
            raise ArgumentError(
                "one of the variables is computed from another; expected independent ones "
                "(differentiate with respect to each in a call of its own)"
            )

    def finish(
        self, results: Sequence[Node], known: Known | None = None, views: Sequence[InputPart] = ()
    ) -> list[Node]:
        """Simplify results, project those by ``views``, and put the sub-formulas back."""
        found = mean_of_sides(results, self.meeting, self.signs, self.again)
        found = simplify(paired_signs(results, self.signs) if found is None else found, known=known)
        found = beside_zeros(found, self.zeros)
        if any(view.space and not view.steps for view in views):
            found = simplify([view.narrow(one) for view, one in zip(views, found, strict=True)], known=known)
        return _put_back(with_names(found, self._names_of_forms(known)), self.back)

    def _names_of_forms(self, known: Known | None) -> dict[Node, str]:
        """Return the names of sub-formulas as they were written, and as they are simplified."""
        if self._forms is None:
            self._forms = self.names
            if 0 < len(self.names) <= _NAMES:  # nobody reads more
                forms = simplify(list(self.names), known=known)
                self._forms = {**dict(zip(forms, self.names.values(), strict=True)), **self.names}
        return self._forms


def _elementwise_slope(formula: Node, variable: Node) -> Node | None:
    (slope,) = pushforward([formula], {variable: broadcast_to(constant(1.0), variable.shape)})
    return slope


class Orders:
    """A formula and the variables of repeated derivatives: sub-formulas are inputs until the end.

    A simplified first derivative need not contain a sub-formula any more: with respect to ``z = -x``, that of
    ``1 / z`` is ``-1 / x ** 2``, from which the second with respect to ``z`` cannot be found.
    """

    def __init__(self, f: Node, group: Sequence[Node], disconnected: str) -> None:
        self._back: dict[Node, Node] = {}
        if any(not InputPart(w).base.is_input for w in group):
            self._back = Cut(f, group, disconnected).back
            stand_in = {base: stand for stand, base in self._back.items()}
            f, *group = substitute([f, *group], stand_in)
        self.formula, self.wrt = f, list(group)

    def finish(self, results: Sequence[Node]) -> list[Node]:
        """Put the sub-formulas back."""
        return _put_back(results, self._back)


def _put_back(results: Sequence[Node], back: Mapping[Node, Node]) -> list[Node]:
    """Put sub-formulas back as they were written, so that they may be variables of the result again."""
    if back:
        known = {base: base for base in back.values()}
        return simplify(substitute(results, back), known=known, stability=False)
    return list(results)


def disconnection(f: Node, w: Node) -> str:
    """Say that a formula does not depend on a variable."""
    known = ", ".join(n.name for n in inputs_of([f]) if isinstance(n.name, str)) or "no input"
    if f is not w and f in set(postorder([w])):
        return (
            f"the formula {_shown(f)} does not depend on {_name(w)}, which is made of it; the formula comes first, and "
            "then what it is differentiated with respect to: gradient(f, wrt)"
        )
    positions = [n for n in inputs_of([w]) if n.dtype is INT]
    base = next((n for n in inputs_of([w]) if n.dtype is not INT), None)
    if not w.is_input and positions and base in inputs_of([f]):
        at = ", ".join(repr(n.name) for n in positions)
        return (
            f"{_name(w)} is a part of {_name(base)} at a place that only a call tells ({at}), which is no "
            f"variable; differentiate with respect to {_name(base)} and take the part of the result: "
            f"gradient(f, {base.name})[...]"
        )
    return (
        f"the formula of shape {show(f.shape)} does not depend on {_name(w)} (it depends on: {known}); differentiate "
        "with respect to one of those, or pass disconnected='zero' for zeros"
    )


def _text(node: Node) -> str:
    return str(node.name) if node.is_named else f"({term_text(node)})"


def _name(node: Node) -> str:
    if node.op in ("input", "named") and isinstance(node.name, str):
        return repr(node.name)
    return f"the sub-formula {_shown(node)}"


def _shown(node: Node) -> str:
    from ..printing import text

    shown = text(node)
    return shown if len(shown) <= 60 else shown[:57] + "..."
