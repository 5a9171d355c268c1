"""A formula as a sum of pieces: which elements of it are not zero by construction, and formulas for these alone.

One rule an operation. What an operation without a rule gives is one dense piece, and so is what the rules cannot
decide: :mod:`.structure` then says which of its elements are zero by their form, where it has a number of elements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import BOOL, Node, broadcast_to, constant, contract, elementwise, label_sizes, postorder, reshape
from ...graph.scalars.functions import FUNCTIONS
from ...graph.scalars.functions import where as choose
from ...graph.sizes import Dim, fixed, sign
from ...ground.budget import spend
from .joins import ONE, Join
from .moves import MOVES, Pieces, Rule
from .places import IndexTerm, Position, SparsePiece, UndecidedError, read, regular
from .positions import put_pieces, take_pieces

__all__ = ["PIECES", "decompose"]

#: Most pieces of one array. What has more is a formula written element by element, whose arrays are short.
PIECES = 128
#: Elements of pieces for one of an array, at most.
OVERLAP = 2
#: A constant is split where it has at least so many elements, of which at most this part is not zero.
MANY, SPARSE = 64, 0.25
#: Longest list that the places of a piece are written down as.
LISTED = 1_000_000



def decompose(root: Node) -> Pieces:
    """Return the pieces of a formula; their values are formulas, too.

    Parameters
    ----------
    root : Node
        Without names, barriers and custom functions; sizes may be symbolic, and are taken to be at least
        :data:`symdiff.graph.sizes.LEAST`.

    Returns
    -------
    list of SparsePiece
        None where all of it is zero.
    """
    found: dict[Node, Pieces] = {}
    for node in postorder([root]):
        rule = _RULES.get(node.op)
        pieces: Pieces | None = None
        if rule is not None and node.dtype is not BOOL and not _is_whole(node, found):
            several = [found[arg] for arg in node.args]
            try:
                pieces = rule(node, several)
            except UndecidedError:
                pieces = _by_lists(rule, node, several)
        if pieces is not None:
            pieces = _united(pieces)
            spend(len(pieces))
        found[node] = [SparsePiece.dense(node)] if pieces is None or _are_more(pieces, node) else pieces
    return found[root]


def _are_more(pieces: Pieces, node: Node) -> bool:
    """Tell whether pieces take more than the array does, whose zeros are then looked up one by one."""
    if len(pieces) > PIECES:
        return True
    shapes = [fixed(shape) for shape in (node.shape, *(piece.value.shape for piece in pieces))]
    if any(shape is None for shape in shapes):
        return False
    whole, *own = (math.prod(shape) for shape in shapes if shape is not None)
    return len(own) > 1 and sum(own) > OVERLAP * whole


def _is_whole(node: Node, found: dict[Node, Pieces]) -> bool:
    """Tell whether all that a node is made of is whole arrays, which it does not put among zeros."""
    if not node.args or node.op in ("pad", "scatter", "put"):
        return False
    return all(_is_plain(arg, found) for arg in node.args)


def _by_lists(rule: Rule, node: Node, several: Sequence[Pieces]) -> Pieces | None:
    """Apply a rule to pieces whose places are lists of numbers: all is decided then, as far as sizes are known."""
    try:
        return rule(node, [[_as_list(piece) for piece in pieces] for pieces in several])
    except UndecidedError:
        return None


def _as_list(piece: SparsePiece) -> SparsePiece:
    """Return a piece of one index, whose places are lists of numbers; a whole array as it is."""
    if piece.is_dense:
        return piece
    shape = fixed(piece.value.shape)
    if shape is None or math.prod(shape) > LISTED:
        raise UndecidedError("a list of positions of unknown or great length")
    places = []
    for place in piece.places:
        if place.is_taken:
            places.append(_taken_by_list(place, shape))
        elif place.terms or not shape:
            numbers = np.broadcast_to(place.numbers(shape, {}, {}), shape).reshape(-1)
            places.append(Position(0, (IndexTerm(0, 1, numbers.tobytes()),)))
        else:
            places.append(place)
    return SparsePiece(reshape(piece.value, (math.prod(shape),)), tuple(places))


def _taken_by_list(place: Position, shape: tuple[int, ...]) -> Position:
    """Return a place at positions that a call brings, by the one index of a piece that had several."""
    index = np.arange(math.prod(shape)).reshape(shape)
    plain = place._replace(terms=tuple(term for term in place.terms if not term.taken))
    terms = []
    for term in place.terms:
        if term.taken:
            own = np.unravel_index(index.reshape(-1), shape)[term.axis].astype(np.int64)
            terms.append(IndexTerm(0, term.step, None, (own.tobytes(), *term.taken)))
    if plain.terms:
        numbers = np.broadcast_to(plain._replace(start=0).numbers(shape, {}, {}), shape).reshape(-1)
        terms.append(IndexTerm(0, 1, numbers.tobytes()))
    return Position(place.start, tuple(terms))


def _is_plain(node: Node, found: dict[Node, Pieces]) -> bool:
    pieces = found[node]
    return len(pieces) == 1 and pieces[0].value is node and pieces[0].is_dense


def _united(pieces: Pieces) -> Pieces:
    """Add the values of pieces that stand at the same places."""
    same: dict[tuple[Any, ...], Node] = {}
    for value, places in map(_in_order, pieces):
        key = (value.shape, places)
        same[key] = value if key not in same else elementwise("add", (same[key], value))
    return [SparsePiece(value, key[1]) for key, value in same.items()]


def _in_order(piece: SparsePiece) -> SparsePiece:
    """Return a piece in the order of its places, where a list permutes a regular part of an axis."""
    for axis, place in enumerate(piece.places):
        if len(place.terms) != 1 or place.terms[0].listed is None:
            continue
        (term,) = place.terms
        order = np.argsort(term.positions, kind="stable")
        part = regular(term.positions[order])
        others = [one.axis for k, own in enumerate(piece.places) if k != axis for one in own.terms]
        if isinstance(part, tuple) and term.axis not in others:
            start, step, _ = part
            value = piece.value if (np.diff(order) == 1).all() else read(piece.value, term.axis, order)
            moved = Position(place.start + start, (IndexTerm(term.axis, step),))
            piece = SparsePiece(value, (*piece.places[:axis], moved, *piece.places[axis + 1 :]))
    return piece


# ---------------------------------------------------------------------------- leaves


def _constant(node: Node, _: Sequence[Pieces]) -> Pieces | None:
    values = node.value
    if values.dtype == bool:
        return None
    count = np.count_nonzero(values)
    if not count:
        return []
    if values.ndim == 0 or values.size < MANY or count > SPARSE * values.size:
        return None
    at = np.nonzero(values)
    places = tuple(Position(0, (IndexTerm(0, 1, own.astype(np.int64).tobytes()),)) for own in at)
    return [SparsePiece(constant(values[at]), places)]


def _delta(node: Node, _: Sequence[Pieces]) -> Pieces:
    rows, columns = node.shape
    start, step = node.payload
    if isinstance(rows, int) and isinstance(columns, int) and isinstance(start, int):
        inside = [i for i in (range(rows)) if 0 <= start + step * i < columns] if abs(step) > 1 else None
        if inside is None:
            ends = (-start, columns - start) if step == 1 else (start - columns + 1, start + 1)
            low, high = max(0, ends[0]), min(rows, ends[1])
        else:
            low, high = (inside[0], inside[-1] + 1) if inside else (0, 0)
        if high <= low:
            return []
        first, length = low, high - low
    else:
        last = start + step * (rows - 1)
        if not all(sign(at) == 1 and sign(columns - 1 - at) == 1 for at in (start, last)):
            raise UndecidedError("a diagonal leaves its array")
        first, length = 0, rows
    value = broadcast_to(ONE, (length,))
    row, column = Position(first, (IndexTerm(0, 1),)), Position(start + step * first, (IndexTerm(0, step),))
    return [SparsePiece(value, (row, column))]


def _input(node: Node, _: Sequence[Pieces]) -> Pieces | None:
    if node.ndim != 2 or not node.assumptions.diagonal:
        return None
    place = Position(0, (IndexTerm(0, 1),))
    return [SparsePiece(contract([node], [(0, 0)], (0,)), (place, place))]


def _onehot(node: Node, _: Sequence[Pieces]) -> Pieces:
    return [SparsePiece(ONE, (Position(node.payload.at, ()),))]


# ---------------------------------------------------------------------------- products and sums


def _choices(several: Sequence[Pieces]) -> Sequence[tuple[SparsePiece, ...]]:
    count = 1
    for pieces in several:
        count *= len(pieces)
        if count > PIECES:
            raise UndecidedError("a product of sums of many pieces")
    return list(itertools.product(*several))


def _contract(node: Node, several: Sequence[Pieces]) -> Pieces:
    labels, out, _ = node.payload
    made = []
    for choice in _choices(several):
        join = Join(choice, labels, label_sizes(node))
        if not join.is_empty:
            made.append(join.product(out))
    return made


def _broadcast(
    node: Node, choice: Sequence[SparsePiece], labels: Sequence[tuple[int, ...]], sizes: dict[int, Dim]
) -> Join:
    """Return the join of arguments that broadcast; an axis of length 1 that is repeated is read at 0."""
    join = Join(choice, labels, sizes)
    for label in range(node.ndim, len(sizes)):
        if label in join.places and not join.is_empty:
            join.restrict(label, 0)
    return join


def _labels(node: Node) -> tuple[list[tuple[int, ...]], dict[int, Dim]]:
    """Return labels for arguments that broadcast: an axis of length 1 that is repeated has one of its own."""
    sizes: dict[int, Dim] = dict(enumerate(node.shape))
    labels = []
    for arg in node.args:
        own = []
        for axis, size in enumerate(arg.shape, node.ndim - arg.ndim):
            if size != node.shape[axis]:
                own.append(len(sizes))
                sizes[len(sizes)] = 1
            else:
                own.append(axis)
        labels.append(tuple(own))
    return labels, sizes


def _spread(node: Node, several: Sequence[Pieces], which: int) -> Pieces:
    """Return the pieces of an argument, repeated to the shape of the result."""
    if node.args[which].shape == node.shape:
        return several[which]
    labels, sizes = _labels(node)
    joins = [_broadcast(node, [piece], [labels[which]], sizes) for piece in several[which]]
    return [join.product(range(node.ndim)) for join in joins if not join.is_empty]


def _add(node: Node, several: Sequence[Pieces]) -> Pieces:
    return [*_spread(node, several, 0), *_spread(node, several, 1)]


def _subtract(node: Node, several: Sequence[Pieces]) -> Pieces:
    first, second = _spread(node, several, 0), _spread(node, several, 1)
    same = {(piece.value.shape, piece.places): k for k, piece in enumerate(first)}
    made = list(first)
    for value, places in second:
        k = same.pop((value.shape, places), None)
        if k is None:
            made.append(SparsePiece(elementwise("negative", (value,)), places))
        else:
            made[k] = SparsePiece(elementwise("subtract", (made[k].value, value)), places)
    return made


def _joined(node: Node, several: Sequence[Pieces], zero: Sequence[int]) -> Pieces:
    """Apply a function that is 0 where each of the arguments ``zero`` is, and linear in them, to pieces of these."""
    whole = [pieces if k in zero else [SparsePiece.dense(node.args[k])] for k, pieces in enumerate(several)]
    labels, sizes = _labels(node)
    made = []
    for choice in _choices(whole):
        join = _broadcast(node, choice, labels, sizes)
        if join.is_empty:
            continue
        args, places = join.aligned(range(node.ndim))
        made.append(SparsePiece(elementwise(node.op, tuple(args), node.dtype), places))
    return made


def _multiply(node: Node, several: Sequence[Pieces]) -> Pieces:
    return _joined(node, several, (0, 1))


def _divide(node: Node, several: Sequence[Pieces]) -> Pieces:
    return _joined(node, several, (0,))


def _negative(node: Node, several: Sequence[Pieces]) -> Pieces:
    return [SparsePiece(elementwise(node.op, (value,)), places) for value, places in several[0]]


def _where(node: Node, several: Sequence[Pieces]) -> Pieces:
    condition = node.args[0]
    first, second = _spread(node, several, 1), _spread(node, several, 2)
    same = {(piece.value.shape, piece.places): piece for piece in second}
    labels, sizes = _labels(node)
    made = []
    own = tuple(range(node.ndim))
    for k, piece in [*((0, piece) for piece in first), *((1, piece) for piece in second)]:
        key = (piece.value.shape, piece.places)
        if k and key not in same:
            continue  # beside one of the first argument
        join = _broadcast(node, [SparsePiece.dense(condition), piece], [labels[0], own], sizes)
        (test, value), places = join.aligned(own)
        other: Node | float = 0.0
        if not k and key in same:
            other = Join([same.pop(key)], [own], sizes).aligned(own)[0][0]
        made.append(SparsePiece(choose(test, other, value) if k else choose(test, value, other), places))
    return made


def _zero_keeping(node: Node, several: Sequence[Pieces]) -> Pieces | None:
    """Apply a function of one array that is 0 at 0: to a single piece whose elements stand apart from each other."""
    (pieces,) = several
    if len(pieces) != 1 or not _stands_apart(pieces[0]):
        return None if pieces else []
    return [SparsePiece(elementwise(node.op, (pieces[0].value,), node.dtype), pieces[0].places)]


def _stands_apart(piece: SparsePiece) -> bool:
    single = {
        place.terms[0].axis
        for place in piece.places
        if len(place.terms) == 1 and place.terms[0].listed is None and not place.is_taken
    }
    return single == set(range(piece.value.ndim))


_RULES: dict[str, Rule] = {
    "input": _input,
    "constant": _constant,
    "delta": _delta,
    "onehot": _onehot,
    "contract": _contract,
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "where": _where,
    **MOVES,
    "take": take_pieces,
    "put": put_pieces,
    **{
        name: _zero_keeping
        for name in ("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "abs", "sqrt", "sign", "expm1", "log1p")
        if name in FUNCTIONS
    },
}
