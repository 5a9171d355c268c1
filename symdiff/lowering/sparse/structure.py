"""Which elements of an array may be other than zero by the form of its formula: exact, element by element.

The reference interpreter over Booleans: a sum is zero where all terms are, a product where a factor is. Nothing
is cancelled. An array without zeros is one value, so that memory is taken only for arrays that have some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import LimitError
from ...graph import BOOL, Node, constant, elementwise, label_sizes, postorder, resize
from ...graph.primitives import BY_POSITION, CUMULATIVE, NORMALIZATIONS, PRIMITIVES, REDUCTIONS, Mixes, Zeros
from ...graph.reference import numeric
from ...graph.reference.interpret import evaluate
from ...graph.sizes import show, value
from .places import Taken

__all__ = ["MOST", "Mask", "deciding", "nonzeros"]

Mask: TypeAlias = npt.NDArray[np.bool_]
#: Elements of one array that are looked at one by one.
MOST = 50_000_000

FULL: Mask = np.ones((), bool)
NONE: Mask = np.zeros((), bool)
_Sizes: TypeAlias = Mapping[str, int]
_Rule: TypeAlias = Callable[[Node, Sequence[Mask], _Sizes], Mask]


def nonzeros(roots: Sequence[Node], sizes: _Sizes, taken: Taken | None = None) -> list[Mask]:
    """Return which elements of arrays may be other than zero.

    Parameters
    ----------
    roots : sequence of Node
    sizes : mapping
        Numbers for the letters.
    taken : mapping, optional
        The positions that a call brings. Where others stand decides nothing.

    Returns
    -------
    list of ndarray of bool
        Of the shape of each, or of shape () where all its elements are alike.

    Raises
    ------
    LimitError
        If an array with zeros has too many elements to look at each.
    """
    found: dict[Node, Mask] = {}
    moving: set[Node] = set()
    for node in postorder(roots):
        if node.is_input or not moving.isdisjoint(node.args):
            moving.add(node)
        masks = [found[arg] for arg in node.args]
        if node.dtype is BOOL:
            found[node] = FULL
            continue
        rule = _RULES.get(node.op, _function)
        if rule is not _full and any(mask.ndim for mask in masks):
            _check(node, sizes)
        if node.is_choice:
            mask = _where(node, masks, sizes, moving)
        elif node.op in BY_POSITION:
            mask = _by_position(node, masks[0], sizes, taken or {})
        else:
            mask = rule(node, masks, sizes)
        found[node] = _short(mask if mask.ndim == 0 else _spread(mask, _shape(node, sizes)))
    return [found[root] for root in roots]


def deciding(roots: Sequence[Node]) -> list[Node]:
    """Return the positions that a call brings which say where arrays are zero."""
    found: dict[Node, list[Node]] = {}
    for node in postorder(roots):
        own = [at for arg in node.args for at in found[arg]]
        if node.op == "put" or (node.op == "take" and _may_be_zero(node.args[0])):
            own.append(node.args[1])
        found[node] = list(dict.fromkeys(own)) if node.dtype is not BOOL else []
    return list(dict.fromkeys(at for root in roots for at in found[root]))


def _may_be_zero(root: Node) -> bool:
    """Tell whether some elements of an array may be zero by their form."""
    return any(node.op in _WITH_ZEROS or (node.is_constant and not node.value.all()) for node in postorder([root]))


def _shape(node: Node, sizes: _Sizes) -> tuple[int, ...]:
    return tuple(value(size, sizes) for size in node.shape)


def _check(node: Node, sizes: _Sizes) -> None:
    shape = _shape(node, sizes)
    count = 1
    for size in shape:
        count *= size
    if count > MOST:
        raise LimitError(
            f"where an array of shape {show(shape)} is zero has to be looked up element by element; that takes "
            f"{count:,} bytes, more than the limit of {MOST:,}. Write the formula with fewer elements in one array"
        )


def _short(mask: Mask) -> Mask:
    if mask.ndim == 0:
        return FULL if mask else NONE
    if mask.all():
        return FULL
    return mask if mask.any() else NONE


def _spread(mask: Mask, shape: tuple[int, ...]) -> Mask:
    return mask if mask.shape == shape else np.broadcast_to(mask, shape)


# ---------------------------------------------------------------------------- rules


def _full(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    return FULL


def _input(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    known = node.assumptions
    shape = _shape(node, sizes)
    if not (known.lower or known.upper or known.diagonal or known.skew) or shape[-1] ** 2 > MOST:
        return FULL
    row, column = np.ogrid[: shape[-2], : shape[-1]]
    mask = np.ones(shape[-2:], bool)
    if known.lower or known.diagonal:
        mask &= row >= column
    if known.upper or known.diagonal:
        mask &= row <= column
    return mask & (row != column) if known.skew else mask


def _constant(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    own: Mask = node.value != 0
    return own


def _delta(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    rows, columns = _shape(node, sizes)
    _check(node, sizes)
    result = np.zeros((rows, columns), bool)
    at = value(node.payload.start, sizes) + node.payload.step * np.arange(rows)
    inside = (at >= 0) & (at < columns)
    result[np.arange(rows)[inside], at[inside]] = True
    return result


def _onehot(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    result = np.zeros(_shape(node, sizes), bool)
    result[value(node.payload.at, sizes)] = True
    return result


def _function(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    """Say where a function of numbers is zero since its arguments are."""
    op = node.op
    shape = _shape(node, sizes)
    if node.is_multiplication:
        return np.logical_and(*masks)
    if node.is_division:
        return masks[0] if masks[0].ndim == 0 else _spread(masks[0], shape)
    if node.is_additive:
        return np.logical_or(*masks)
    if all(mask is FULL for mask in masks) or not masks:
        return FULL
    known = [arg.value if arg.is_constant and not arg.shape else None for arg in node.args]
    at_zero = elementwise(op, tuple(constant(0.0 if v is None else float(v)) for v in known), node.dtype)
    with np.errstate(all="ignore"):
        (result,) = evaluate([at_zero], {})
    if result != 0:
        return FULL
    any_of: Mask = NONE
    for mask, number in zip(masks, known, strict=True):
        if number is None:
            any_of = np.logical_or(any_of, mask)
    return any_of


def _where(node: Node, masks: Sequence[Mask], sizes: _Sizes, moving: Container[Node]) -> Mask:
    yes, no = _outcomes(node.args[0], sizes, moving)
    return np.logical_or(np.logical_and(yes, masks[1]), np.logical_and(no, masks[2]))


def _outcomes(condition: Node, sizes: _Sizes, moving: Container[Node], depth: int = 8) -> tuple[Mask, Mask]:
    """Return where a condition may hold and where it may not, as far as constants and sizes decide it."""
    if math.prod(_shape(condition, sizes)) > MOST:
        return FULL, FULL
    if condition not in moving:
        (fixed,) = resize([condition], {}, sizes)
        holds = np.asarray(evaluate([fixed], {})[0], bool)
        return holds, ~holds
    if condition.op in ("logical_and", "logical_or", "logical_not") and depth:
        parts = [_outcomes(arg, sizes, moving, depth - 1) for arg in condition.args]
        if condition.op == "logical_not":
            return parts[0][::-1]
        (yes, no), (also, neither) = parts
        if condition.op == "logical_and":
            return np.logical_and(yes, also), np.logical_or(no, neither)
        return np.logical_or(yes, also), np.logical_and(no, neither)
    return FULL, FULL


def _contract(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    labels, out, _ = node.payload
    if any(mask is NONE for mask in masks):
        return NONE
    lengths = {label: value(size, sizes) for label, size in label_sizes(node).items()}
    if any(length == 0 for label, length in lengths.items() if label not in out):
        return NONE
    pairs = [(mask, own) for mask, own in zip(masks, labels, strict=True) if mask is not FULL]
    if not pairs:
        return FULL
    names = {label: k for k, label in enumerate(dict.fromkeys(label for _, own in pairs for label in own))}
    kept = [label for label in out if label in names]
    _check(node, sizes)
    operands: list[Any] = []
    for mask, own in pairs:
        operands += [mask.astype(np.float32), [names[label] for label in own]]
    counts = np.einsum(*operands, [names[label] for label in kept], optimize="greedy" if len(pairs) > 2 else False)
    result = np.asarray(counts > 0.5)
    # labels that no array with zeros has: alike along them
    shape = tuple(lengths[label] if label in names else 1 for label in out)
    return np.broadcast_to(result.reshape(shape), tuple(lengths[label] for label in out))


def _by_position(node: Node, mask: Mask, sizes: _Sizes, taken: Taken) -> Mask:
    """Say where elements at positions are zero, as far as these are known and memory allows to look at each."""
    at = taken.get(node.args[1])
    if mask is NONE or (mask.ndim == 0 and node.op == "take"):
        return mask
    shapes = _shape(node, sizes), _shape(node.args[0], sizes)
    if at is None or max(map(math.prod, shapes)) > MOST:
        return FULL
    axis, shared = node.payload
    if node.op == "take":
        return numeric.take(_spread(mask, shapes[1]), at, axis, shared)
    own = _spread(mask, shapes[1]).astype(np.float32)
    return numeric.put(own, at, shapes[0][axis], axis, shared) > 0.5


def _slice(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    return masks[0][_key(node, sizes)] if masks[0].ndim else masks[0]


def _key(node: Node, sizes: _Sizes) -> tuple[Any, ...]:
    key: list[Any] = []
    for start, step, length in node.payload.items:
        first = value(start, sizes)
        key.append(first if length is None else first + step * np.arange(value(length, sizes)))
    rank = sum(isinstance(part, np.ndarray) for part in key)
    shaped: list[Any] = []
    for part in key:
        if isinstance(part, np.ndarray):
            at = sum(isinstance(p, np.ndarray) for p in shaped)
            shaped.append(part.reshape([-1 if a == at else 1 for a in range(rank)]))
        else:
            shaped.append(part)
    return tuple(shaped)


def _pad(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    _check(node, sizes)
    result = np.zeros(_shape(node, sizes), bool)
    result[_key(node, sizes)] = masks[0]
    return result


def _gather(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    return np.take(masks[0], node.payload.indices, node.payload.axis) if masks[0].ndim else masks[0]


def _scatter(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    _check(node, sizes)
    result = np.zeros(_shape(node, sizes), bool)
    front = np.moveaxis(result, node.payload.axis, 0)
    own = _spread(masks[0], _shape(node.args[0], sizes))
    np.logical_or.at(front, np.array(node.payload.indices, np.intp), np.moveaxis(own, node.payload.axis, 0))
    return result


def _reshape(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    return masks[0].reshape(_shape(node, sizes)) if masks[0].ndim else masks[0]


def _concatenate(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    if all(mask is FULL for mask in masks) or all(mask is NONE for mask in masks):
        return masks[0]
    _check(node, sizes)
    parts = [_spread(mask, _shape(arg, sizes)) for mask, arg in zip(masks, node.args, strict=True)]
    return np.concatenate(parts, node.payload.axis)


def _triangle(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    _check(node, sizes)
    upper, offset = node.payload
    return (np.triu if upper else np.tril)(_spread(masks[0], _shape(node, sizes)), offset)


def _along_axes(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    """Say where an operation along axes is zero, as its row tells."""
    row, (mask,) = PRIMITIVES[node.op], masks
    if not mask.ndim or row.zeros is Zeros.OWN:
        return mask
    if row.mixes is Mixes.SO_FAR:
        axis, reverse = node.payload
        fold = np.logical_and if row.zeros is Zeros.ANY else np.logical_or
        found: Mask = fold.accumulate(np.flip(mask, axis) if reverse else mask, axis)
        return np.flip(found, axis) if reverse else found
    axes = node.payload.axes if row.mixes is Mixes.AXES else (node.payload.axis,)
    combine = np.all if row.zeros is Zeros.ANY else np.any
    found = np.asarray(combine(mask, axes, keepdims=row.keeps))
    return np.broadcast_to(found, mask.shape) if row.keeps else found


def _arrange(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    """Say where an array is zero of which elements change places along an axis."""
    mask = masks[0]
    return np.broadcast_to(mask.any(node.payload.axis, keepdims=True), mask.shape) if mask.ndim else mask


def _adjugate_differential(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    """Say which of several matrices do not change."""
    return np.asarray(masks[1].any((-2, -1), keepdims=True)) if masks[1].ndim else masks[1]


def _same(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    return masks[0]


def _reached(mask: Mask) -> Mask:
    """Return which element of an inverse may be other than zero: where a path of nonzeros leads from row to column."""
    result = mask | np.eye(mask.shape[-1], dtype=bool)
    for _ in range(max(1, mask.shape[-1].bit_length())):
        result = np.matmul(result.astype(np.float32), result.astype(np.float32)) > 0.5
    return result


def _is_triangular_up_to_order(mask: Mask) -> bool:
    """Tell whether the diagonal is there, so that paths say where the inverse is zero."""
    return bool(np.diagonal(mask, axis1=-2, axis2=-1).all())


def _inverse(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    if not masks[0].ndim or not _is_triangular_up_to_order(masks[0]):
        return FULL
    return _reached(masks[0])


def _solve(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    if masks[1] is NONE:
        return NONE
    if not masks[0].ndim and not masks[1].ndim:
        return FULL
    right = _spread(masks[1], _shape(node.args[1], sizes)).astype(np.float32)
    if not masks[0].ndim or not _is_triangular_up_to_order(masks[0]):
        return np.asarray((right > 0).any(-2, keepdims=True))
    result: Mask = np.matmul(_reached(masks[0]).astype(np.float32), right) > 0.5
    return result


def _cholesky(node: Node, masks: Sequence[Mask], sizes: _Sizes) -> Mask:
    shape = _shape(node, sizes)
    _check(node, sizes)
    own = np.tril(_spread(masks[0], shape)).copy()
    for k in range(shape[-1]):  # eliminated column by column
        column = own[..., k + 1 :, k]
        own[..., k + 1 :, k + 1 :] |= column[..., :, None] & column[..., None, :]
    result: Mask = np.tril(own)
    return result


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(PRIMITIVES, _full),  # where nothing is known of zeros there are none
    **{
        name: _along_axes
        for name in (*REDUCTIONS, *NORMALIZATIONS, *CUMULATIVE)
        if PRIMITIVES[name].zeros is not Zeros.UNKNOWN
    },
    "constant": _constant,
    "delta": _delta,
    "onehot": _onehot,
    "contract": _contract,
    "slice": _slice,
    "pad": _pad,
    "gather": _gather,
    "scatter": _scatter,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "arrange": _arrange,
    "input": _input,
    "triangle": _triangle,
    **dict.fromkeys(("named", "stop_gradient"), _same),
    "inv": _inverse,
    "solve": _solve,
    "cholesky": _cholesky,
    "adjugate_differential": _adjugate_differential,
}
#: Operations that have zeros by their form.
_WITH_ZEROS = frozenset(("delta", "onehot", "pad", "scatter", "put", "triangle"))
