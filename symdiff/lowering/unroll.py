"""Scalarizing a formula: every node is lowered in turn, then the values are put in order."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Collection, Sequence

import numpy as np

from ..errors import UnsupportedError
from ..graph import INT, Node, Numbered, number_nodes, postorder, rebuild
from ..graph.kinds import EXPANDED
from ..graph.scalars.functions import FUNCTIONS, to_real
from ..graph.sizes import show
from ..ground.gc_pause import paused
from ..rewrite import is_symmetric
from .arrays import ARRAYS, is_plain, lower_elementwise, lower_scalar
from .builder import PAIRS, Ids, ProgramBuilder, fixed_shape
from .factorize import factor_out
from .program import CODES, Port, Program


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
        Without names, barriers and custom functions (see :func:`symdiff.rewrite.inline`).
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
    given: dict[Node, Ids | int] = {}
    for number, node in enumerate(inputs):
        shape = fixed_shape(node.shape)
        size = math.prod(shape)
        ids = [builder.emit("load", number, offset) for offset in range(size)]
        given[node] = np.array(ids, np.int64).reshape(shape) if shape else ids[0]
    # A condition is stored as the numbers 0 and 1, a position that is computed as it is.
    counted = [node if node.dtype is INT and node.args else to_real(node) for node in outputs]
    graph = number_nodes(expand_functions(counted))
    numbers, arrays = array("i", bytes(4 * len(graph.order))), dict[int, Ids]()
    _lower_all(builder, given, graph, numbers, arrays)
    stores = []
    for k, (node, place) in enumerate(zip(outputs, graph.roots, strict=True)):
        symmetric = k in hessians or (node.ndim == 2 and is_symmetric(node))
        values = _output(arrays[place], symmetric) if place in arrays else [numbers[place]]
        stores.append([builder.stored(v) for v in values])
    del given, graph, numbers, arrays
    new = factor_out(builder, array("i", itertools.chain((v for v, _ in builder.checks), *stores)))
    stores = [[new[v] for v in store] for store in stores]
    builder.checks = [(new[v], message) for v, message in builder.checks]
    ports_in = tuple(_port(node, f"x{i}") for i, node in enumerate(inputs))
    ports_out = tuple(_port(node, f"out{i}") for i, node in enumerate(outputs))
    return builder.finish(ports_in, ports_out, stores)


_OTHER, _NONE, _FUNCTION = -1, -2, 256
#: How functions of numbers are lowered: the number of one of :data:`PAIRS`; that of a function of one number, which is
#: an operation of programs as it is, and this more; or something else.
_SCALAR = {name: _FUNCTION + CODES[name] if is_plain(name) else PAIRS.get(name, _OTHER) for name in FUNCTIONS}


def _lower_all(
    builder: ProgramBuilder, given: dict[Node, Ids | int], graph: Numbered, numbers: array[int], arrays: dict[int, Ids]
) -> None:
    """Lower all nodes of a graph.

    Parameters
    ----------
    builder : ProgramBuilder
    given : dict of Node to array of int or int
        Values that stand for some nodes, whatever these are computed from.
    graph : Numbered
    numbers : array of int
        Receives the value of each node without axes, by its place.
    arrays : dict of int to array of int
        Receives the values of nodes with axes, by their places.
    """
    order, starts, places, _ = graph
    for i in range(len(order)):
        node = order[i]
        if node in given:
            value = given[node]
            if isinstance(value, int):
                numbers[i] = value
            else:
                arrays[i] = value
            continue
        op, begin, end = node.op, starts[i], starts[i + 1]
        code = _NONE if node.shape else _SCALAR.get(op, _NONE)
        if code != _NONE:  # a function of numbers
            if code >= _FUNCTION:
                numbers[i] = builder.function(code - _FUNCTION, numbers[places[begin]])
            elif code != _OTHER:
                numbers[i] = builder.pair(code, numbers[places[begin]], numbers[places[begin + 1]])
            else:
                numbers[i] = lower_scalar(builder, op, [numbers[places[k]] for k in range(begin, end)])
            builder.charge()
            continue
        builder.reserve(node)
        args = []
        for k in range(begin, end):
            place = places[k]
            args.append(arrays[place] if place in arrays else np.array(numbers[place], np.int64))
        found = _lower(builder, node, args)
        if node.shape:
            arrays[i] = found
        else:
            numbers[i] = int(found)


def _output(values: Ids, symmetric: bool) -> list[int]:
    """Return the elements of an output: of a symmetric one the lower triangle twice, and nothing computes the other."""
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
