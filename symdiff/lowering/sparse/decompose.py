"""A formula as a sum of pieces: which elements of it are not zero by construction, and formulas for these alone.

One rule an operation. What an operation without a rule gives is one dense piece, and so is what the rules cannot
decide: :mod:`.structure` then says which of its elements are zero by their form, where it has a number of elements.

Pieces at positions that a call brings are products with rows of the identity at these positions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...graph import BOOL, Node, broadcast_to, constant, contract, elementwise, label_sizes, postorder, reshape, slicing
from ...graph.scalars.functions import FUNCTIONS
from ...graph.scalars.functions import where as choose
from ...graph.sizes import Dim, divide, fixed, nominal, product, same_elements, sign
from ...ground.budget import spend
from .joins import ONE, Join
from .places import (
    IndexTerm,
    Part,
    Position,
    SparsePiece,
    UndecidedError,
    as_int,
    listed_at,
    placed,
    read,
    regular,
    shifted,
    times,
)

__all__ = ["MOVES", "PIECES", "Pieces", "Rule", "decompose", "put_pieces", "take_pieces"]


Pieces: TypeAlias = list[SparsePiece]
#: Takes a node and the pieces of its arguments; gives its pieces, or None where it is one dense piece.
Rule: TypeAlias = Callable[[Node, Sequence[Pieces]], Pieces | None]


def _slice(node: Node, several: Sequence[Pieces]) -> Pieces:
    (arg,) = node.args
    own = tuple(range(arg.ndim))
    made = []
    for piece in several[0]:
        join = Join([piece], [own], dict(enumerate(arg.shape)))
        out = []
        for axis, (start, step, length) in enumerate(node.payload.items):
            if length is not None:
                out.append(axis)
            if (start, step, length) != (0, 1, arg.shape[axis]) and not join.is_empty:
                join.restrict(axis, start if length is None else (start, step, length))
        if not join.is_empty:
            made.append(join.product(out))
    return made


def _pad(node: Node, several: Sequence[Pieces]) -> Pieces:
    made = []
    for value, places in several[0]:
        rest = iter(places)
        put = tuple(
            Position(start, ()) if length is None else shifted(next(rest), start, step)
            for start, step, length in node.payload.items
        )
        made.append(SparsePiece(value, put))
    return made


def _concatenate(node: Node, several: Sequence[Pieces]) -> Pieces:
    axis = node.payload.axis + node.ndim
    made, start = [], 0
    for arg, pieces in zip(node.args, several, strict=True):
        for value, places in pieces:
            moved = tuple(shifted(p, start) if a == axis else p for a, p in enumerate(places))
            made.append(SparsePiece(value, moved))
        start = start + arg.shape[axis]
    return made


def _gather(node: Node, several: Sequence[Pieces]) -> Pieces:
    (arg,) = node.args
    axis = node.payload.axis + arg.ndim
    own = tuple(range(arg.ndim))
    part: Part = np.array(node.payload.indices, np.int64)
    made = []
    for piece in several[0]:
        join = Join([piece], [own], dict(enumerate(arg.shape)))
        join.restrict(axis, part)
        if not join.is_empty:
            made.append(join.product(own))
    return made


def _scatter(node: Node, several: Sequence[Pieces]) -> Pieces:
    axis = node.payload.axis + node.ndim
    indices = np.array(node.payload.indices, np.int64)
    made = []
    for value, places in several[0]:
        start, terms = places[axis]
        if not terms:
            moved = Position(int(indices[as_int(start)]), ())
        elif len(terms) == 1:
            (term,) = terms
            if term.taken:
                own = Position(0, (IndexTerm(0, 1, indices.tobytes()),))
                moved = placed(own, 0, places[axis])
                made.append(SparsePiece(value, tuple(moved if a == axis else p for a, p in enumerate(places))))
                continue
            length = as_int(value.shape[term.axis])
            at = as_int(start) + (term.positions if term.listed else as_int(term.step) * np.arange(length))
            moved = Position(0, (IndexTerm(term.axis, 1, indices[at].tobytes()),))
        else:
            raise UndecidedError("places of several indices are listed")
        made.append(SparsePiece(value, tuple(moved if a == axis else p for a, p in enumerate(places))))
    return made


def _triangle(node: Node, several: Sequence[Pieces]) -> Pieces:
    upper, offset = node.payload
    made = []
    for value, places in several[0]:
        row, column = places[-2:]
        gap = times((column, row, Position(-offset, ())), (1, -1, 1))
        gap = gap if upper else shifted(gap, 0, -1)
        if gap.terms:
            made += _beyond(SparsePiece(value, places), gap)
        elif sign(gap.start) == 1:
            made.append(SparsePiece(value, places))
        elif sign(-gap.start - 1) != 1:
            raise UndecidedError("whether a diagonal is in a triangle depends on sizes that are known at call time")
    return made


def _beyond(piece: SparsePiece, gap: Position) -> Pieces:
    """Keep the elements of a piece at which a place is not negative."""
    if len(gap.terms) > 1 or gap.is_taken:
        raise UndecidedError("a triangle of what is no diagonal")
    (term,) = gap.terms
    length = as_int(piece.value.shape[term.axis])
    at = term.positions if term.listed is not None else as_int(term.step) * np.arange(length)
    (kept,) = np.nonzero(as_int(gap.start) + at >= 0)
    if not kept.size:
        return []
    join, axes = _alone(piece)
    join.select(term.axis, regular(kept))
    return [join.product(axes)]


def _alone(piece: SparsePiece) -> tuple[Join, range]:
    """Return a join of one piece, whose indices have its axes as their numbers, and its labels."""
    axes = range(len(piece.places))
    return Join([piece], [tuple(axes)], {}), axes


def _reshape(node: Node, several: Sequence[Pieces]) -> Pieces:
    old = node.args[0].shape
    groups = same_elements(old, node.shape)
    made = []
    for piece in several[0]:
        apart = piece
        for own, new in groups:
            lengths = [node.shape[k] for k in new]
            apart = _apart(apart, lambda p, own=own: _merged(p, own, old), lengths)  # type: ignore[misc]
        places: list[Position] = []
        for own, new in groups:
            lengths = [node.shape[k] for k in new]
            merged = _merged(apart, own, old)
            if len(new) == 1:
                places.append(merged)
            elif merged.is_taken:
                places += _taken_digits(own, new, piece, old, node.shape)
            elif any(term.listed for term in merged.terms):
                places += _listed_digits(merged, lengths)
            elif new:
                places += _affine_digits(apart.value, merged, lengths)
        made.append(SparsePiece(apart.value, tuple(places)))
    return made


def _merged(piece: SparsePiece, axes: list[int], shape: Sequence[Dim]) -> Position:
    """Return the place along several axes as one."""
    strides = tuple(product(shape[k + 1 : axes[-1] + 1]) for k in axes)
    return times(tuple(piece.places[k] for k in axes), strides)


def _apart(piece: SparsePiece, place_of: Callable[[SparsePiece], Position], lengths: list[Dim]) -> SparsePiece:
    """Split those indices of a piece that run over several of the axes into which one axis is reshaped."""
    strides = _strides(lengths)
    ranges = [(first, last + 1) for last in range(1, len(lengths)) for first in range(last)]
    while True:
        for term, (first, end) in itertools.product(place_of(piece).terms, ranges):
            runs_over = term.step == strides[end - 1] and piece.value.shape[term.axis] == product(lengths[first:end])
            if runs_over and term.listed is None and not term.taken:
                join, axes = _alone(piece)
                join.split(term.axis, lengths[first:end])
                piece = join.product(axes)
                break
        else:
            return piece


def _strides(lengths: Sequence[Dim]) -> list[Dim]:
    return [product(lengths[k + 1 :]) for k in range(len(lengths))]


def _listed_digits(place: Position, lengths: list[Dim]) -> list[Position]:
    if len(place.terms) > 1:
        raise UndecidedError("positions in a list are split")
    (term,) = place.terms
    at = as_int(place.start) + term.positions
    digits = []
    for length, stride in zip(lengths, _strides(lengths), strict=True):
        own = at // as_int(stride) % as_int(length)
        digits.append(Position(0, (IndexTerm(term.axis, 1, own.astype(np.int64).tobytes()),)))
    return digits


def _taken_digits(
    own: Sequence[int], new: Sequence[int], piece: SparsePiece, old: Sequence[Dim], shape: Sequence[Dim]
) -> list[Position]:
    """Return the places along axes of a group that differ by axes of length 1 alone."""
    wide = [axis for axis in own if old[axis] != 1]
    if [old[axis] for axis in wide] != [shape[axis] for axis in new if shape[axis] != 1]:
        raise UndecidedError("positions that a call brings are split")
    rest = iter(wide)
    return [piece.places[next(rest)] if shape[axis] != 1 else Position(0, ()) for axis in new]


def _affine_digits(value: Node, place: Position, lengths: list[Dim]) -> list[Position]:
    """Return a place along several axes of what was one, where each index runs over one of them."""
    strides = _strides(lengths)
    terms: list[list[IndexTerm]] = [[] for _ in lengths]
    rest = place.start
    starts: list[Dim] = []
    for stride in strides:
        if isinstance(rest, int) and isinstance(stride, int):
            starts.append(rest // stride)
            rest = rest % stride
        elif sign(stride - 1 - rest) == 1:
            starts.append(0)
        elif (whole := divide(rest, stride)) is not None:
            starts.append(whole)
            rest = 0
        else:
            raise UndecidedError("where a part of an array stands depends on its sizes")
    ends = list(starts)
    for term in place.terms:
        span = value.shape[term.axis]
        for k, stride in enumerate(strides):
            step = divide(term.step, stride)
            if step is not None and sign(lengths[k] - 1 - step * (span - 1)) == 1 == sign(step * (span - 1)):
                terms[k].append(IndexTerm(term.axis, step))
                ends[k] = ends[k] + step * (span - 1)
                break
        else:
            raise UndecidedError("an index runs over several axes")
    for end, length in zip(ends, lengths, strict=True):
        if sign(length - 1 - end) != 1:
            raise UndecidedError("an index runs over the end of an axis")
    return [Position(start, tuple(sorted(own))) for start, own in zip(starts, terms, strict=True)]


#: The rule of each operation that moves elements.
MOVES: dict[str, Rule] = {
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "gather": _gather,
    "scatter": _scatter,
    "triangle": _triangle,
    "reshape": _reshape,
}


#: Sample sizes used to compare numbers of elements.
_LONG = 1000
#: Longest axis of positions whose elements are pieces of their own.
_SHORT = 8


def take_pieces(node: Node, several: Sequence[list[SparsePiece]]) -> list[SparsePiece]:
    """Return the pieces of elements at positions."""
    arg, at = node.args
    axis, shared = node.payload.axis + arg.ndim, node.payload.shared
    fresh = tuple(range(arg.ndim, arg.ndim + at.ndim - shared))
    places = (*range(axis - shared, axis), *fresh)
    out = (*range(axis), *fresh, *range(axis + 1, arg.ndim))
    sizes = {**dict(enumerate(arg.shape)), **dict(zip(fresh, at.shape[shared:], strict=True))}
    made = []
    for rows in _rows(at):
        for piece in several[0]:
            join = Join([piece, rows], [tuple(range(arg.ndim)), (*places, axis)], sizes)
            if not join.is_empty:
                made.append(join.product(out))
    return made


def _rows(at: Node) -> list[SparsePiece]:
    """Return rows of the identity at positions, shape ``(*at.shape, n)``: one element each."""
    if not at.ndim:
        return [SparsePiece(broadcast_to(ONE, (1,)), (Position(0, (IndexTerm(0, 1, None, (reshape(at, (1,)),)),)),))]
    if at.ndim == 1:
        row, column = Position(0, (IndexTerm(0, 1),)), Position(0, (IndexTerm(0, 1, None, (at,)),))
        return [SparsePiece(broadcast_to(ONE, at.shape), (row, column))]
    short = [a for a, size in enumerate(at.shape) if isinstance(size, int)]
    which = min(short, key=lambda a: as_int(at.shape[a]), default=0)
    shape = fixed(at.shape)
    if not short or (as_int(at.shape[which]) > _SHORT and shape is None):
        raise UndecidedError("positions along several axes of symbolic size")
    if as_int(at.shape[which]) > _SHORT and shape is not None:
        flat = reshape(at, (int(np.prod(shape)),))
        own = [Position(0, (listed_at(0, n.reshape(-1)),)) for n in np.indices(shape)]
        last = Position(0, (IndexTerm(0, 1, None, (flat,)),))
        return [SparsePiece(broadcast_to(ONE, flat.shape), (*own, last))]
    made = []
    for k in range(as_int(at.shape[which])):
        for value, places in _rows(_part(at, which, k)):
            made.append(SparsePiece(value, (*places[:which], Position(k, ()), *places[which:])))
    return made


def _part(at: Node, axis: int, k: int) -> Node:
    items = tuple((k, 1, None) if a == axis else (0, 1, size) for a, size in enumerate(at.shape))
    return slicing(at, items)


def put_pieces(node: Node, several: Sequence[list[SparsePiece]]) -> list[SparsePiece]:
    """Return the pieces of what is put at positions, which become their places."""
    x, at = node.args
    pieces = several[0]
    if sum(nominal(value.size, _LONG) for value, _ in pieces) >= nominal(x.size, _LONG):
        # its zeros, if any, are looked up one by one
        pieces = [SparsePiece.dense(x)]
    axis, shared = node.payload.axis + node.ndim, node.payload.shared
    return [own for piece in pieces for own in _put_piece(piece, x.shape, at, axis, shared)]


def _put_piece(piece: SparsePiece, shape: Sequence[Dim], at: Node, axis: int, shared: int) -> list[SparsePiece]:
    """Return where a piece of an array of ``shape`` is put, at positions along at most one long axis."""
    if at.ndim > 1:
        short = [a for a, size in enumerate(at.shape) if isinstance(size, int)]
        if not short:
            raise UndecidedError("positions along several axes of symbolic size")
        which = min(short, key=lambda a: as_int(at.shape[a]))
        return _one_by_one(piece, shape, at, axis, shared, which)
    value, places = piece
    if not at.ndim:  # one position for all: an index of its own
        value = reshape(value, (1, *value.shape))
        places = tuple(Position(p.start, tuple(t._replace(axis=t.axis + 1) for t in p.terms)) for p in places)
        own = Position(0, (IndexTerm(0, 1, None, (reshape(at, (1,)),)),))
        return [SparsePiece(value, (*places[:axis], own, *places[axis:]))]
    place = places[axis - shared]
    start, terms = place
    if not terms:
        value = reshape(value, (*value.shape, 1))
        column = Position(0, (IndexTerm(value.ndim - 1, 1, None, (_counted(at, start, 1, 1),)),))
    elif len(terms) > 1:
        raise UndecidedError("positions of several indices")
    else:
        (term,) = terms
        if term.taken or term.listed is not None:
            own = Position(0, (IndexTerm(0, 1, None, (at,)),))
            column = placed(own, 0, place if term.taken else _linked(place))
        elif isinstance(term.step, int) and term.step > 0:
            link = _counted(at, start, term.step, value.shape[term.axis])
            column = Position(0, (IndexTerm(term.axis, 1, None, (link,)),))
        else:
            raise UndecidedError("positions that are counted in steps of unknown length")
    return [SparsePiece(value, (*places[:axis], column, *places[axis - shared + 1 :]))]


def _linked(place: Position) -> Position:
    """Return a place in a list as one of positions."""
    (term,) = place.terms
    return Position(place.start, (IndexTerm(term.axis, 1, None, (term.listed or b"",)),))


def _counted(at: Node, start: Dim, step: Dim, length: Dim) -> Node:
    if (start, step, length) == (0, 1, at.shape[0]):
        return at
    return slicing(at, ((start, as_int(step), length),))


def _one_by_one(
    piece: SparsePiece, shape: Sequence[Dim], at: Node, axis: int, shared: int, which: int
) -> list[SparsePiece]:
    """Put the parts of a piece along one short axis of the positions."""
    place = axis - shared + which
    rest = [*shape[:place], *shape[place + 1 :]]
    made = []
    for k in range(as_int(at.shape[which])):
        join = Join([piece], [tuple(range(len(shape)))], dict(enumerate(shape)))
        join.restrict(place, k)
        if join.is_empty:
            continue
        part = join.product([a for a in range(len(shape)) if a != place])
        own = which < shared  # an axis of the result, too
        for value, places in _put_piece(part, rest, _part(at, which, k), axis - own, shared - own):
            made.append(SparsePiece(value, (*places[:place], Position(k, ()), *places[place:]) if own else places))
    return made


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
