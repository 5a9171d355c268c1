"""Strong-zero masks: tangents and cotangents that count in some places only, and how they are multiplied and summed.

The derivative through a branch that is not taken is zero, whatever the other factor is. A value
that has passed a branch carries the condition under which it counts, its mask. Outside it the
value may be anything, nan too, until :meth:`Masked.settle` replaces it by a strong zero.

* An elementwise operation, or a product whose result has all indices of the mask, passes the mask
  on. This costs nothing. Values with the same mask are added before they are settled.
* A sum over one of the mask's indices settles first. Every other factor that may be infinite or nan
  is masked as well, element by element of the product: with the mask's own axes where the factor has
  them, broadcast over them where it has not (the elementwise mask of ``(A/x) @ B`` makes a product of
  three indices, which is then summed). Behind the sum a new mask, *any of them*, is made only where
  a factor that may be infinite is still to come.
* An operation with a differential (``inv``, ``norm``, a custom function) is pulled back as a whole:
  the elements that are computed together are settled, and the result counts where any of them
  does. Columns of a solution, and rules of custom functions, are followed product by product.

Whether a factor may be infinite is read off its form: functions that the table calls singular,
divisions unless by a number, array operations that their row calls singular, and what the formula itself
tests for nan or infinity. Inputs may be nan where somebody wrote ``where``, and are masked where
they have all of the mask's indices, which costs no more than the product. Such masks last: a condition that is
one for all elements passes everything, and one with axes passes what moves elements, loops, sums of one array and
operations with a differential. A condition that is one for a whole row stays that, a part of the mask by itself beside
those that differ within the row, so rows of data may be left out through any formula of rows. Inputs count as finite as
arguments of ``maximum`` and its kin, which were compared, behind products that sum over all indices that a part of
the mask has, and where masking them would take an array of more indices, as the elementwise mask of a product of two
input matrices does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from ..graph import BOOL, Labels, Node, broadcast_to, contract, elementwise, reshape, slicing
from ..graph.deltas.affine import STRUCTURE, is_identity
from ..graph.deltas.einsum import einsum, is_structured, is_zero, scale_by
from ..graph.deltas.parts import is_part, narrowed, scaled_part, summed
from ..graph.deltas.structural import assemble_entries, mask_product
from ..graph.scalars.functions import compare, scalar_constant, to_real, where
from ..graph.sizes import Dim, Shape
from .linear import LinearProduct


class Masked:
    """A tangent or cotangent that counts only where ``mask`` holds (everywhere if None).

    The mask broadcasts to the axes behind the seed's. What is ``settled`` is zero outside it already: the mask
    is there for what it will be multiplied by. It does not change.
    """

    def __init__(self, value: Node, mask: Node | None, settled: bool = False) -> None:
        self.value, self.mask, self.settled = value, mask, settled

    def settle(self) -> Node:
        """Return the plain array, with a strong zero outside the mask."""
        return self.value if self.mask is None or self.settled else mask_product(self.mask, self.value)

    def may_move(self) -> bool:
        """Tell whether the value is not known to be zero."""
        value = self.value
        return not is_zero(value) and (not value.is_constant or bool(value.value.any()))


def _plain(value: Node, settled: bool) -> Masked:
    """Return a value that counts everywhere, as there is one for each argument of each function of numbers."""
    made = Masked.__new__(Masked)
    made.value, made.mask, made.settled = value, None, settled
    return made


def both(a: Node | None, b: Node | None) -> Node | None:
    """Return where both conditions hold; None holds everywhere."""
    if a is None or b is None or a is b:
        return a if b is None else b
    if _implies(a, b) or _implies(b, a):
        return a if _implies(a, b) else b
    return elementwise("logical_and", (a, b), BOOL)


def either(a: Node | None, b: Node | None) -> Node | None:
    """Return where one of two conditions holds; None holds everywhere."""
    if a is None or b is None:
        return None
    if _implies(a, b) or _implies(b, a):
        return b if _implies(a, b) else a
    known = _parts(a, "logical_or")
    new: Node | None = b
    while new is not None:  # what is true either way falls out: the branches of a select are everywhere
        merged = next(((part, _merged(part, new)) for part in known if _merged(part, new) != (part, new)), None)
        if merged is None:
            break
        part, (left, new) = merged
        if left is None and new is None:
            return None
        known.remove(part)
        if left is not None and new is not None:
            known.append(left)
        new = left if new is None else new
    return _with_coarser(a, b, reduce(_or, known, new))


def _with_coarser(a: Node, b: Node, whole: Node | None) -> Node | None:
    """Add to where one of two conditions holds what is one along an axis, where each has such a part besides others."""
    first, second = conjuncts(a), conjuncts(b)
    if whole is None or len(first) + len(second) < 3:
        return whole
    for axis, size in enumerate(whole.shape, -whole.ndim):
        if size != 1:
            flat = [[part for part in parts if part.ndim < -axis or part.shape[axis] == 1] for parts in (first, second)]
            if all(flat):
                one, other = (reduce(both, parts, None) for parts in flat)
                whole = both(_or(one, other), whole)
    return whole


def _or(a: Node | None, b: Node | None) -> Node | None:
    return None if a is None or b is None else elementwise("logical_or", (a, b), BOOL)


def _merged(a: Node, b: Node) -> tuple[Node | None, Node | None]:
    """Return two conditions, shorter: one and None where one is enough, None twice where they hold everywhere."""
    first, second = conjuncts(a), conjuncts(b)
    shared = [part for part in first if part in second]
    own, other = ([part for part in parts if part not in shared] for parts in (first, second))
    if not own or not other:
        return reduce(both, shared, None), None
    if len(own) == 1 == len(other) and _excludes(own[0], other[0]):
        return reduce(both, shared, None), None
    for one, rest, swap in ((own, other, False), (other, own, True)):
        if len(one) == 1 and not shared:
            left = [part for part in rest if not _excludes(part, one[0])]
            if len(left) < len(rest):
                if not left:
                    return None, None
                pair = (one[0], reduce(both, left, None))
                return (pair[1], pair[0]) if swap else pair
    return a, b


def _excludes(a: Node, b: Node) -> bool:
    """Tell whether one condition is the negation of the other."""
    return (a.op == "logical_not" and a.args[0] is b) or (b.op == "logical_not" and b.args[0] is a)


def _implies(a: Node, b: Node) -> bool:
    """Tell whether ``a`` is ``b`` and, perhaps, something else besides."""
    return a is b or (a.op == "logical_and" and b in a.args)


def split(*slopes: Masked) -> tuple[Node | None, list[Masked]]:
    """Split masks into the condition that all elements of all of them share, and the rest.

    No sum ends such a condition. Outside it what is left may be anything, as with any mask.
    """
    parts = [conjuncts(slope.mask) for slope in slopes]
    alone = [part for part in parts[0] if is_single(part) and all(part in other for other in parts[1:])]
    rest = [reduce(both, [part for part in own if part not in alone], None) for own in parts]
    whole = reduce(both, [reshape(part, ()) for part in alone], None)
    return whole, [
        Masked(slope.value, mask, slope.settled) for slope, mask in zip(slopes, rest, strict=True)
    ]


def conjuncts(mask: Node | None) -> list[Node]:
    """Return the conditions that a mask is the conjunction of, single ones whole; of many, the outer ones."""
    return [] if mask is None else _parts(mask, "logical_and")


def _parts(mask: Node, op: str) -> list[Node]:
    """Take a mask apart at ``op``; single conditions stay whole."""
    parts = [mask]
    for _ in range(_PARTS):
        long = next((part for part in parts if part.op == op and not is_single(part)), None)
        if long is None:
            break
        at = parts.index(long)
        parts[at : at + 1] = long.args
    return parts


#: Operations of a mask that are looked into, so that work stays linear.
_PARTS = 8


def is_single(mask: Node) -> bool:
    """Tell whether a mask is one condition for all elements."""
    return all(size == 1 for size in mask.shape)


def add(a: Masked, b: Masked, kept: bool) -> Masked:
    """Add two values, each where it counts; ``kept`` asks for where either does, if these are different places."""
    if a.mask is None and b.mask is None and a.value.payload is None and b.value.payload is None:
        return _plain(elementwise("add", (a.value, b.value)), a.settled and b.settled)
    if is_zero(a.value) or is_zero(b.value):
        return b if is_zero(a.value) else a
    if a.mask is None and b.mask is None:
        return _plain(summed(a.value, b.value), a.settled and b.settled)
    if a.mask is b.mask and not (is_structured(a.value) or is_structured(b.value)):
        return Masked(elementwise("add", (a.value, b.value)), a.mask, a.settled and b.settled)
    if kept or a.mask is b.mask:
        return Masked(elementwise("add", (a.settle(), b.settle())), either(a.mask, b.mask), True)
    whole, (a, b) = split(a, b)
    return Masked(elementwise("add", (a.settle(), b.settle())), whole, a.settled and b.settled)


def any_along(mask: Node, axes: Container[int]) -> Node:
    """Return where a mask holds anywhere along ``axes`` (non-negative), which keep size 1."""
    long = [axis for axis, size in enumerate(mask.shape) if axis in axes and size != 1]
    if not long:
        return mask
    labels = tuple(range(mask.ndim))
    total = contract([to_real(mask)], [labels], tuple(axis for axis in labels if axis not in long))
    shape = tuple(1 if axis in long else size for axis, size in enumerate(mask.shape))
    return compare("not_equal", reshape(total, shape), 0.0)


def multiply(
    product: LinearProduct,
    slope: Masked,
    is_wild: Callable[[Node], bool],
    kept: bool = False,
    *,
    data: bool = False,
) -> Masked:
    """Contract a product with a value that counts where its mask holds.

    Parameters
    ----------
    product : LinearProduct
    slope : Masked
        Operand ``product.at``, whose mask broadcasts to the axes that ``product.own`` labels.
    is_wild : callable
        Tells which of the other factors may be infinite or nan.
    kept : bool
        Whether a sum, which needs no mask of its own any more, keeps one for what follows.
    data : bool
        Whether inputs may be infinite or nan where the mask does not hold, such as rows of data that a
        condition leaves out. They are masked where that takes no more than the product itself.
    """
    operands, labels, out, sizes = product.operands, product.labels, product.out, product.sizes
    mask, settled = slope.mask, slope.settled
    if mask is None:
        part = narrowed(operands, labels, out, sizes, product.at) if is_part(slope.value) else None
        return Masked(einsum(operands, labels, out, sizes) if part is None else part, None)
    same = _one_index(product)
    result = [same.get(k, k) for k in product.result]
    parts = [(part, *_bare(part, [same.get(k, k) for k in product.own])) for part in conjuncts(mask)]
    ended = [(small, names) for _, small, names in parts if not set(names) <= set(result)]
    if not ended:
        return Masked(einsum(operands, labels, out, sizes), reach(product, mask), settled and len(operands) == 1)
    operands, labels = list(operands), list(labels)
    guarded = False
    for i, factor in enumerate(product.operands):
        for small, names in ended if i != product.at else ():
            if is_wild(factor) or (data and _holds_mask(factor, product.labels[i], names, same)):
                operands[i], labels[i] = _guard(operands[i], labels[i], small, names, same, sizes)
                guarded = True
    known = scalar_constant(operands[product.at])
    single, (rest,) = (None, (slope,)) if kept else split(slope)
    if not settled and (not guarded or known is None or not math.isfinite(known)):
        assert rest.mask is not None
        operands[product.at] = mask_product(rest.mask, operands[product.at])
    product_sum = einsum(operands, labels, out, sizes)
    alone = len(operands) == 1  # what else there is may be nan where a condition that goes on does not hold
    if kept:
        return Masked(product_sum, reach(product, mask), alone)
    passed = [_placed(small, names, result) for _, small, names in parts if names and set(names) <= set(result)]
    return Masked(product_sum, reduce(both, passed, single), settled and alone)


def _holds_mask(factor: Node, own: Labels, names: Labels, same: Mapping[int, int]) -> bool:
    """Tell whether a factor has all of a mask's indices, so that a select masks it element by element as it is."""
    if factor.op in STRUCTURE or (factor.is_constant and np.isfinite(factor.value).all()):
        return False
    return set(names) <= {same.get(label, label) for label in own}


def reach(product: LinearProduct, mask: Node) -> Node:
    """Return where a product can depend on any element of its operand ``product.at`` that counts."""
    same = _one_index(product)
    result = [same.get(k, k) for k in product.result]
    kept: Node | None = None
    ended: Node | None = None
    for part in conjuncts(mask):
        small, names = _bare(part, [same.get(k, k) for k in product.own])
        if set(names) <= set(result):
            kept = both(kept, _placed(small, names, result))
        else:
            ended = both(ended, part)
    if ended is not None:
        small, names = _bare(ended, [same.get(k, k) for k in product.own])
        left = tuple(dict.fromkeys(name for name in names if name in result))
        kept = both(kept, _placed(compare("not_equal", contract([to_real(small)], [names], left), 0.0), left, result))
    assert kept is not None
    return kept


def _one_index(product: LinearProduct) -> dict[int, int]:
    """Return, for labels that an identity among the factors makes equal, the one that stands for them."""
    same: dict[int, int] = {}
    for factor, own in zip(product.operands, product.labels, strict=True):
        for pair in _identities(factor, own):
            i, k = (same.get(label, label) for label in pair)
            kept, gone = (i, k) if i in product.result or k not in product.result else (k, i)
            same.update(dict.fromkeys([i, k, *(a for a, b in same.items() if b == gone)], kept))
    return same


def _identities(factor: Node, own: Labels) -> Iterator[Labels]:
    """Yield the pairs of labels of a factor that an identity in it makes equal."""
    if not is_structured(factor):
        return
    args, labels, out = (factor.args, *factor.payload[:2]) if factor.is_contraction else ((factor,), (own,), own)
    names = dict(zip(out, own, strict=True))
    for arg, places in zip(args, labels, strict=True):
        if arg.is_delta and is_identity(arg) and set(places) <= names.keys():
            yield tuple(names[label] for label in places)


def _bare(mask: Node, own: Sequence[int]) -> tuple[Node, Labels]:
    """Return a mask without its axes of size 1, and the labels of those that are left."""
    own = own[len(own) - mask.ndim :]
    wide = [size != 1 for size in mask.shape]
    items = tuple((0, 1, size if w else None) for size, w in zip(mask.shape, wide, strict=True))
    return slicing(mask, items), tuple(label for label, w in zip(own, wide, strict=True) if w)


def _placed(small: Node, names: Labels, labels: Sequence[int]) -> Node:
    """Lay a mask out along ``labels``, with size 1 where it has no such axis."""
    kept = tuple(dict.fromkeys(label for label in labels if label in names))
    line = contract([small], [names], kept)
    sizes: dict[int, Dim] = dict(zip(kept, line.shape, strict=True))
    # of a label that comes twice, a diagonal, the first place carries the mask
    shape = tuple(sizes.pop(label, 1) for label in labels)
    while shape and shape[0] == 1:
        shape = shape[1:]
    return reshape(line, shape)


def _guard(
    factor: Node, own: Labels, small: Node, names: Labels, same: Mapping[int, int], sizes: Mapping[int, Dim]
) -> tuple[Node, Labels]:
    """Put strong zeros into a factor, for each element of the product that does not count."""
    known = [same.get(label, label) for label in own]
    more = tuple(label for label in dict.fromkeys(names) if label not in known)
    places = (*more, *own)
    if more and is_structured(factor) and len(set(own)) == len(own):
        factor = einsum([factor], [own], places, sizes)
    mask = _placed(small, names, (*more, *known))
    return (where(mask, factor, 0.0) if factor.ndim < len(places) else mask_product(mask, factor)), places


def contract_tangent(block: Node, slope: Masked, rank: int, prefix: int) -> Node:
    """Multiply a Jacobian, an array, by a tangent of an argument of some rank."""
    lead = tuple(range(-prefix, 0))
    labels = tuple(range(block.ndim))
    result, own = labels[: block.ndim - rank], labels[block.ndim - rank :]
    given = [labels, (*lead, *own)]
    return times_block(LinearProduct([block, slope.value], given, (*lead, *result), {}, 1, own, result), slope)


def times_block(product: LinearProduct, slope: Masked) -> Node:
    """Multiply by a Jacobian that an author wrote, of which nothing is known."""
    return multiply(product, slope, lambda factor: True).settle()


def assemble(parts: Sequence[tuple[Node, Masked]], single: Mapping[Node, tuple[int, int]], prefix: int) -> Masked:
    """Put the cotangents of single entries together, and their masks if every one has one."""
    total = reduce(_sum, assemble_entries([(node, slope.settle()) for node, slope in parts], single, prefix))
    masks = [(node, slope.mask) for node, slope in parts if slope.mask is not None]
    if len(masks) < len(parts):
        return Masked(total, None)
    whole = [(node, [reshape(part, ()) for part in conjuncts(mask) if is_single(part)]) for node, mask in masks]
    alone = [(node, reduce(both, conditions, None)) for node, conditions in whole]
    rows = None
    if all(condition is not None for _, condition in alone):  # one condition an entry stays it
        rows = _assembled([(node, condition) for node, condition in alone if condition is not None], single)
        if all(condition is mask or mask.ndim == 0 for (_, condition), (_, mask) in zip(alone, masks, strict=True)):
            return Masked(total, rows)
    return Masked(total, both(rows, _assembled(masks, single)))


def _assembled(masks: Sequence[tuple[Node, Node]], single: Mapping[Node, tuple[int, int]]) -> Node:
    """Return where an array's elements count from where those of its entries do; what is one along an axis stays it."""
    one = all(is_single(mask) for _, mask in masks)
    spread = [
        (node, to_real(reshape(mask, (1,) * node.ndim) if one else broadcast_to(mask, node.shape)))
        for node, mask in masks
    ]
    return compare("not_equal", reduce(_sum, assemble_entries(spread, single, 0)), 0.0)


def _sum(a: Node, b: Node) -> Node:
    return a + b


# ---------------------------------------------------------------------------- element by element


def fit(x: Node, prefix: int, own: int, shape: Shape) -> Node:
    """Repeat ``x``, whose last ``own`` axes follow the prefix, to ``shape`` behind the prefix."""
    if x.shape[prefix:] == shape:
        return x
    lead = tuple(range(prefix))
    gap = len(shape) - own
    labels = list(lead)
    sizes: dict[int, Dim] = {}
    out = [*lead, *range(prefix, prefix + len(shape))]
    for axis, size in enumerate(shape):
        sizes[prefix + axis] = size
        if axis >= gap:
            at = prefix + axis - gap
            labels.append(-1 - at if x.shape[at] == 1 and size != 1 else prefix + axis)
    return einsum([x], [tuple(labels)], tuple(out), sizes)


def shrink(slope: Masked, prefix: int, shape: Shape, kept: bool) -> Masked:
    """Sum over what broadcasting repeated, down to ``shape`` behind the prefix."""
    x = slope.value
    if x.shape[prefix:] == shape:
        return slope
    gap = x.ndim - len(shape)
    out = list(range(prefix))
    sizes: dict[int, Dim] = {}
    for axis, size in enumerate(shape, gap):
        same = size == x.shape[axis]
        out.append(axis if same else -1 - axis)
        sizes[-1 - axis] = 1
    labels = tuple(range(x.ndim))
    product = LinearProduct([x], [labels], tuple(out), sizes, 0, labels[prefix:], tuple(out[prefix:]))
    return multiply(product, slope, lambda factor: False, kept)


def scaled_by(node: Node, factor: Node, slope: Masked, condition: Node | None, kept: bool) -> Masked:
    """Multiply by a partial derivative that counts under a condition."""
    if is_zero(slope.value):
        return slope
    is_plain = slope.value.payload is None or not is_part(slope.value)
    scaled = scale_by(factor, slope.value) if is_plain else scaled_part(factor, slope.value)
    if condition is None:
        known = scalar_constant(factor) if slope.settled else None
        settled = known is not None and math.isfinite(known)
        return _plain(scaled, settled) if slope.mask is None else Masked(scaled, slope.mask, settled)
    if slope.mask is None and node.is_power and not kept:
        # no branch, but the one point (0, 0): settled where it stands
        return Masked(Masked(scaled, condition).settle(), None)
    return Masked(scaled, both(slope.mask, condition))
