"""Linearity of a formula in its seeds, judged by its form, for the rules of custom functions.

Forward and reverse mode push many seeds at once through a rule that is written for one, and transpose
it, which is right for a linear rule only. One that is not would give a wrong derivative in silence, so
what cannot be seen to be linear is refused by the name of its operation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..errors import NotDifferentiableError
from ..graph import REAL, Node, dependents, placeholder, postorder, substitute, zeros
from ..graph.deltas.einsum import is_zero
from ..graph.primitives import EACH, SECOND, TOGETHER
from ..graph.scalars.arithmetic import SUMS
from .modes import pushforward

#: Operations that are linear in all their arguments at once.
_SUMS = SUMS | TOGETHER
_PRODUCTS = frozenset({"multiply"}) | EACH
#: Operations that are linear in one of their arguments, and which it is.
_LINEAR_IN = {"divide": 0, **dict.fromkeys(SECOND, 1)}


def require_linear(image: Node, seeds: Sequence[Node], rule: str, of: str) -> Node:
    """Return a rule's image, if it is linear in the seeds by its form.

    Parameters
    ----------
    image : Node
    seeds : sequence of Node
        Placeholders of the tangents, or of the cotangent.
    rule, of : str
        How messages call the rule ("the vjp of wave") and its seeds ("cotangent").

    Returns
    -------
    Node
        ``image``, with plain zeros for what is zero by construction.

    Raises
    ------
    NotDifferentiableError
        Naming the operation that is not linear, or saying that the seeds are missing.
    """
    order = postorder([image])
    vanishing = _vanishing(order)
    if image in vanishing:
        return zeros(image.shape)
    live = dependents(order, seeds)
    if not vanishing.isdisjoint(live):
        (image,) = substitute([image], {node: zeros(node.shape) for node in vanishing & live})
        order = postorder([image])
        vanishing = _vanishing(order)
    if not set(seeds) & set(order):
        raise NotDifferentiableError(
            f"{rule} does not contain the {of}, and is not zero; expected sums of products with one of the {of} each "
            f"(an array that does not depend on the {of} is for jacobian=)"
        )
    reason = _first_nonlinear(order, seeds, vanishing)
    if reason is not None:
        raise NotDifferentiableError(
            f"{rule} is not linear in the {of}: {reason}; expected sums of products with one of the {of} each"
        )
    if any(node.is_custom for node in dependents(order, seeds) & set(order)):
        _require_constant_slope(image, seeds, rule, of)
    return image


def linear_places(node: Node, live: Collection[Node]) -> tuple[int, ...] | None:
    """Return the arguments in which a node is linear together, if those that are ``live`` are among them; else None.

    Parameters
    ----------
    node : Node
        No custom function.
    live : collection of Node

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> x, y = input("x", ()), input("y", ())
    >>> linear_places(elementwise("add", (x, y)), {x}), linear_places(elementwise("multiply", (x, y)), {x})
    ((0, 1), (0,))
    >>> linear_places(elementwise("multiply", (x, y)), {x, y}) is None
    True
    """
    places = tuple([i for i, arg in enumerate(node.args) if arg in live])
    if node.op in _SUMS:
        return tuple(range(len(node.args)))
    if node.is_choice:
        return None if 0 in places else (1, 2)
    if (node.op in _PRODUCTS and len(places) == 1) or places == (_LINEAR_IN.get(node.op),):
        return places
    return None


def is_linear(outputs: Sequence[Node], seeds: Iterable[Node]) -> bool:
    """Tell whether outputs are linear in the seeds by their form, those apart that do not depend on them."""
    order = postorder(outputs)
    return _first_nonlinear(order, seeds, _vanishing(order)) is None


def _first_nonlinear(order: Sequence[Node], seeds: Iterable[Node], vanishing: set[Node]) -> str | None:
    """Say what keeps the last of ``order`` from being linear in the seeds, if anything does."""
    live = dependents(order, seeds)
    for node in order:
        if node not in live or not node.args:
            continue
        places = [i for i, arg in enumerate(node.args) if arg in live]
        rest = [arg for i, arg in enumerate(node.args) if i not in places]
        if node.op in _SUMS:
            if not vanishing.issuperset(rest):
                return f"{node.op} of them and of a term without them, which is not zero"
        elif node.is_choice and 0 not in places:
            if not vanishing.issuperset(rest[1:]):
                return "where of them or of a value without them, which is not zero"
        elif node.is_custom:
            reason = _nonlinear_custom(node, places)
            if reason is not None:
                return reason
        elif node.op == "external" and set(places) <= set(node.payload.linear):
            if not vanishing.issuperset(node.args[i] for i in node.payload.linear if i not in places):
                return f"{node.payload.name} of them and of other arguments of its rule"
        elif not (node.op in _PRODUCTS and len(places) == 1) and places != [_LINEAR_IN.get(node.op)]:
            return f"{node.op} of {'them' if len(places) == 1 else 'several of them'}"
    return None


def _nonlinear_custom(node: Node, places: Sequence[int]) -> str | None:
    """Say what keeps a custom function's value from being linear in its arguments at ``places``."""
    rule, body = node.payload
    order = postorder([body])
    vanishing = _vanishing(order)
    moving = {rule.parameters[i] for i in places}
    if body in vanishing:
        return None
    reason = _first_nonlinear(order, moving, vanishing) if moving & set(order) else "a value without them"
    return None if reason is None else f"{reason}, in {rule.name}"


def _vanishing(order: Sequence[Node]) -> set[Node]:
    """Return the nodes that are zero by their form wherever their arguments are finite, as ``0 * x`` is."""
    found: set[Node] = set()
    for node in order:
        if is_zero(node) or (node.is_constant and node.dtype is REAL and not node.value.any()):
            found.add(node)
        elif node.op in _PRODUCTS:
            if not found.isdisjoint(node.args):
                found.add(node)
        elif node.op in _SUMS or node.is_choice:
            if found.issuperset(node.args[1:] if node.is_choice else node.args):
                found.add(node)
        elif node.op in _LINEAR_IN and node.args[_LINEAR_IN[node.op]] in found:
            found.add(node)
    return found


def _require_constant_slope(image: Node, seeds: Sequence[Node], rule: str, of: str) -> None:
    """Refuse an image whose own derivative, by the rules of custom functions in it, is not free of the seeds."""
    ways = {seed: placeholder(("way", i), seed.shape) for i, seed in enumerate(seeds)}
    (slope,) = pushforward([image], ways)
    if slope is not None and not set(seeds).isdisjoint(postorder([slope])):
        names = ", ".join(
            sorted({n.payload.rule.name for n in dependents(postorder([image]), seeds) if n.is_custom})
        )
        raise NotDifferentiableError(
            f"{rule} is not linear in the {of}: it goes through {names}, whose own rule gives a derivative that "
            f"depends on the {of}; expected sums of products with one of the {of} each"
        )
