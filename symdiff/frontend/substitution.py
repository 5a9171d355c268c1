"""Formulas with other arrays in place of inputs and parts: sizes that were letters follow from what comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..graph import Node, broadcast_to, inputs_of, postorder, resize
from ..graph import substitute as exchange
from ..graph.size_equations import match
from ..graph.sizes import show
from ..ground.advice import close_to
from .numpy.operands import as_node
from .shapes import words

__all__ = ["apply_to", "substituted"]


def apply_to(outputs: Sequence[Node], inputs: Sequence[Node], given: Sequence[Node]) -> list[Node]:
    """Return formulas with other arrays in place of inputs, and the sizes that these have in place of letters.

    Raises
    ------
    ArgumentError
        If something is not known to be what the input in its place is declared.
    ShapeError
        If shapes do not fit.
    """
    from ..rewrite.facts import lacks  # not needed by a value

    for own, node in zip(inputs, given, strict=True):
        if lacks(node, own.assumptions):
            raise ArgumentError(
                f"{own.name} is declared {' and '.join(words(own.assumptions))}, which what comes in its place is not "
                "known to be; declare its inputs so that it is, or compile a formula of undeclared inputs"
            )
    sizes = match([str(own.name) for own in inputs], [own.shape for own in inputs], [one.shape for one in given])
    return resize(outputs, dict(zip(inputs, given, strict=True)), sizes)


def substituted(root: Node, known: Sequence[Node], values: Mapping[Any, Any]) -> tuple[Node, list[Node]]:
    """Return a formula with values in place of inputs, which may be named, and of parts; and its inputs in order.

    Parameters
    ----------
    root : Node
    known : sequence of Node
        The inputs of the formula, those that vanished from it among them.
    values : mapping
        Of a name, an input, or a part of the formula, to what comes in its place.

    Raises
    ------
    ArgumentError, ShapeError
        If one is not in the formula, or a value does not fit.
    """
    within = set(postorder([root]))
    names = {str(part.payload): part for part in within if part.is_named}
    names |= {str(one.name): one for one in known}
    inputs: dict[Node, Node] = {}
    parts: dict[Node, Node] = {}
    for key, value in values.items():
        own = names.get(key) if isinstance(key, str) else as_node(key)
        if own is None or (own not in within and own not in known):
            told = repr(key)[:60] if isinstance(key, str) else f"the part {key!s:.60}"
            close = close_to(key, names) if isinstance(key, str) else ""
            raise ArgumentError(f"{told} is not in the formula{close}; it has {', '.join(names) or 'no inputs'}")
        node = as_node(value)
        if own.is_input and not own.shape and node.shape:
            raise ShapeError(
                f"{own.name} is a number, and what comes in its place has shape {show(node.shape)}; expected a number "
                "(a kernel of the formula takes a batch of them; for a formula of arrays write a Python function)"
            )
        if own.is_input:
            inputs[own] = broadcast_to(node, own.shape) if not node.shape else node
        elif node.shape != own.shape:
            raise ShapeError(f"a value of shape {show(node.shape)} for a part of shape {show(own.shape)}")
        else:
            parts[own] = node
    reduced = exchange([root], parts)
    left = set(postorder(reduced))
    kept = [one for one in known if one in left or one not in within]  # not what vanished with a part
    result, *others = apply_to([*reduced, *kept], list(inputs), list(inputs.values()))
    return result, inputs_of([*others, *parts.values()])
