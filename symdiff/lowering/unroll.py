"""Scalarizing a formula: every node is lowered in turn, then the values are put in order."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..graph import Node, postorder, rebuild
from ..graph.kinds import EXPANDED
from ..graph.scalars.functions import FUNCTIONS, to_real
from ..graph.sizes import show
from ..ground.gc_pause import paused
from ..simplify import is_symmetric
from .arrays import ARRAYS, lower_elementwise, lower_scalar
from .builder import ARITHMETIC, Ids, ProgramBuilder, fixed_shape
from .factorize import factor_out
from .program import Port, Program


def expand_functions(roots: Sequence[Node]) -> list[Node]:
    """Replace functions the scalar program lacks by their expansion in the table of functions."""
    if not any(root.below & EXPANDED for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    done: set[Node] = set()  # without such functions, as is everything below

    def expand(tops: Sequence[Node]) -> None:
        for node in postorder(tops, lambda node: not node.below & EXPANDED or node in done):
            row = FUNCTIONS.get(node.op)
            args = tuple([new.get(arg, arg) for arg in node.args])
            if row is not None and row.expansion is not None and not row.c:
                body = row.expansion(*args)
                expand([body])  # by functions that may have to be expanded, too
                made = new.get(body, body)
            else:
                made = rebuild(node, args) if args else node
            new[node] = made
            done.add(made)

    expand(roots)
    return [new.get(root, root) for root in roots]


@paused
def unroll(
    inputs: Sequence[Node], outputs: Sequence[Node], limit: int = 50_000_000, hessians: Collection[int] = ()
) -> Program:
    """Lower a formula to scalar operations.

    Parameters
    ----------
    inputs : sequence of Node
        In the order of the kernel's arguments; all sizes fixed.
    outputs : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.simplify.inline`).
    limit : int
        Number of scalar operations beyond which the formula is refused.
    hessians : collection of int
        Which outputs are Hessians with respect to one array, and so symmetric, whatever their form.

    Returns
    -------
    Program

    Raises
    ------
    UnsupportedError
        If the formula has symbolic sizes, a matrix too large to be scalarized, or more than
        ``limit`` operations.
    """
    builder = ProgramBuilder(limit)
    values: dict[Node, Any] = {}  # a number for a scalar, else an array of numbers
    for number, node in enumerate(inputs):
        shape = fixed_shape(node.shape)
        size = math.prod(shape)
        ids = [builder.emit("load", number, offset) for offset in range(size)]
        values[node] = np.array(ids, np.int64).reshape(shape) if shape else ids[0]
    # A condition is stored as the numbers 0 and 1.
    lowered = expand_functions([to_real(node) for node in outputs])
    _lower_all(builder, postorder(lowered), values)
    stores = [
        [builder.stored(v) for v in _output(values[root], k in hessians or (node.ndim == 2 and is_symmetric(node)))]
        for k, (node, root) in enumerate(zip(outputs, lowered, strict=True))
    ]
    values.clear()
    new = factor_out(builder, array("i", itertools.chain((v for v, _ in builder.checks), *stores)))
    stores = [[new[v] for v in store] for store in stores]
    builder.checks = [(new[v], message) for v, message in builder.checks]
    ports_in = tuple(_port(node, f"x{i}") for i, node in enumerate(inputs))
    ports_out = tuple(_port(node, f"out{i}") for i, node in enumerate(outputs))
    return builder.finish(ports_in, ports_out, stores)


def _lower_all(builder: ProgramBuilder, order: list[Node], values: dict[Node, Any]) -> None:
    """Lower nodes, arguments before uses, and note what became of each."""
    for node in order:
        if node in values:
            continue
        args = [values[arg] for arg in node.args]
        op = node.op
        if not node.shape and op in FUNCTIONS:  # so are its arguments
            values[node] = builder.apply(op, args) if op in ARITHMETIC else lower_scalar(builder, op, args)
            builder.charge()
            continue
        builder.reserve(node)
        found = _lower(builder, node, [np.array(arg, np.int64) if isinstance(arg, int) else arg for arg in args])
        values[node] = found if node.shape else int(found)


def _output(values: Ids | int, symmetric: bool) -> list[int]:
    """Return the elements of an output: of a symmetric one the lower triangle twice, and nothing computes the other."""
    if isinstance(values, int):
        return [values]
    if not symmetric:
        whole: list[int] = values.ravel().tolist()
        return whole
    side = math.isqrt(values.size)
    square = values.reshape(side, side)
    lower: list[int] = np.where(np.tri(side, dtype=bool), square, square.T).ravel().tolist()
    return lower


def _port(node: Node, default: str) -> Port:
    shape = fixed_shape(node.shape)
    name = node.name if node.is_input and isinstance(node.name, str) else default
    return Port(name, shape, math.prod(shape))


def _lower(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    row = FUNCTIONS.get(node.op)
    if row is not None:
        return lower_elementwise(builder, node, args)
    rule = ARRAYS.get(node.op)
    if rule is None:
        raise UnsupportedError(f"{node.op} of an array of shape {show(node.args[0].shape)} as straight-line code")
    return rule(builder, node, args)
