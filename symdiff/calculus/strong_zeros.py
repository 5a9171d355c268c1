"""Reach of strong zeros: which elements an operation lets depend on which, and what needs one.

A tangent or cotangent that counts in some places only has passed a branch that was not
taken. Behind a sum, a slice or a matrix product the places are others; the functions here
say which. They err towards more places, never towards fewer, and None stands for all. A mask
without axes is one condition for everything, and stays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from ..graph import (
    BOOL,
    Item,
    Node,
    arrange,
    axes_of,
    broadcast_to,
    constant,
    contract,
    elementwise,
    line_along,
    pad,
    reshape,
    slicing,
    transpose,
    turned,
    whole,
)
from ..graph.deltas.einsum import is_structured
from ..graph.deltas.parts import support
from ..graph.kinds import BRANCHING, CHOICE
from ..graph.primitives import LISTED, OF_MATRICES, PRIMITIVES, SELECTING, SINGULAR, Mixes
from ..graph.scalars.arithmetic import APART
from ..graph.scalars.functions import FUNCTIONS, compare, scalar_constant, to_real, where
from ..graph.sizes import Dim, Shape
from .linear import LINEAR, Linear, LinearProduct, part_items
from .masking import Masked, add, any_along, both, conjuncts, either, fit, is_single
from .rules import reached_so_far, reaches

# ---------------------------------------------------------------------------- what needs strong zeros


def is_unbounded(node: Node) -> bool:
    """Tell whether an operation may take finite numbers to infinity or nan, itself or in its derivatives."""
    if node.is_constant:
        return not np.isfinite(node.value).all()
    if node.is_division:
        return not _never_zero(node.args[1])
    if node.is_power:
        n = scalar_constant(node.args[1])
        return n is None or n < 0 or not n.is_integer()
    row = FUNCTIONS.get(node.op)
    return node.op in SINGULAR or node.op == "floor_divide" or (row is not None and row.singular)


def _never_zero(divisor: Node) -> bool:
    if divisor.is_constant:
        return bool(divisor.value.all())
    return divisor.is_size or bool(scalar_constant(divisor))


def unbounded_below(order: Iterable[Node], known: Callable[[Node], bool]) -> set[Node]:
    """Return the nodes of a postorder that are computed from something unbounded.

    So is what the formula compares with itself or with infinity, as ``isnan`` and ``isinf`` do.
    ``known`` tells it of arguments that the postorder leaves out.
    """
    found: set[Node] = set()
    order = list(order)
    for node in order:
        if node.op in ("equal", "not_equal", "less") and _asks(node):
            found.update(node.args)
            found.update(part for arg in node.args if arg.op == "abs" for part in arg.args)
    for node in order:
        found.update(arg for arg in node.args if known(arg))
        if node not in found and (is_unbounded(node) or not found.isdisjoint(node.args)):
            found.add(node)
    return found


def _asks(node: Node) -> bool:
    a, b = node.args
    return a is b or any(abs(scalar_constant(arg) or 0.0) == np.inf for arg in node.args)


def unbounded_above(order: Sequence[Node], below: set[Node]) -> set[Node]:
    """Return the nodes of a postorder that feed something unbounded, or are multiplied by it."""
    found: set[Node] = set()
    for node in reversed(order):
        if node in found or is_unbounded(node) or (node.op not in APART and not below.isdisjoint(node.args)):
            found.update(node.args)
    return found


@dataclass(frozen=True)
class Walk:
    """Knowledge of one walk over the graph about the nodes that it meets.

    Parameters
    ----------
    order : sequence of Node
        Those of this walk: a differential, differentiated in turn, ends where it reaches them.
    wild : set of Node
        Those that may be infinite or nan, or have such a derivative with respect to an argument.
    carried : set of Node
        Those at which a mask is made anew where a sum has ended it. A mask that goes through an
        operation as it is costs nothing and travels anyway.
    outer : Walk, optional
        The walk that this one is a part of.
    data : bool
        Whether inputs may be infinite or nan where they are not observed: somebody wrote ``where``. Of a
        maximum and its kin they are taken as finite, since the argument that loses was compared.
    """

    order: Sequence[Node]
    wild: set[Node]
    carried: set[Node]
    outer: Walk | None = None
    data: bool = False

    @cached_property
    def nodes(self) -> set[Node]:
        """Strong zeros of this walk, for callers."""
        return set(self.order)

    def __contains__(self, node: Node) -> bool:
        return node in self.nodes or (self.outer is not None and node in self.outer)

    def keeps(self, node: Node) -> bool:
        """Tell whether a mask at a node is worth its cost: what comes may be infinite, or data left out."""
        return self.data or node in self.carried

    def may_divide(self, node: Node) -> bool:
        """Tell whether an operation's differential may meet something infinite or nan."""
        return (node.op in SINGULAR and node.op != "norm") or any(map(self.is_wild, node.args))

    def keeps_sum(self, product: LinearProduct, node: Node) -> bool:
        """Tell whether a sum keeps a mask; of products of inputs it costs too much in networks written by where."""
        return node in self.carried or (self.data and len(product.operands) == 1)

    def is_wild(self, node: Node) -> bool:
        """Tell whether a node, of this walk or of one around it, may be infinite or nan."""
        return node in self.wild or (self.outer is not None and self.outer.is_wild(node))


def walk_over(
    order: Sequence[Node], roots: Iterable[Node], given: Iterable[Masked], outer: Walk | None, forward: bool
) -> Walk:
    """Find out which nodes of a walk below ``roots`` need masks; none does where nothing has a branch."""
    below = 0
    for node in roots if outer is None else order:
        below |= node.below
    data = (outer is not None and outer.data) or bool(below & CHOICE and any(map(_chooses, order)))
    walk = Walk(order, set(), set(), outer, data)
    if any(slope.mask is not None for slope in given) or (below & BRANCHING and any(map(_has_supports, order))):
        walk.wild.update(unbounded_below(order, _never if outer is None else outer.is_wild))
        walk.carried.update(unbounded_above(order, walk.wild) if forward else walk.wild)
    return walk


def _chooses(node: Node) -> bool:
    """Tell whether a node is a choice between formulas, and not between numbers."""
    return node.is_choice and any(arm.op not in ("constant", "where") for arm in node.args[1:])


def _never(node: Node) -> bool:
    return False


def _has_supports(node: Node) -> bool:
    row = FUNCTIONS.get(node.op)
    return (row is not None and bool(row.supports)) or node.op in SELECTING or node.is_custom


# ---------------------------------------------------------------------------- where it reaches


#: Operations that put zeros of their own beside what they move, as a tangent and as a cotangent.
_PLACING = frozenset(name for name, row in PRIMITIVES.items() if row.pads)
_PLACING_BACK = frozenset(name for name, row in PRIMITIVES.items() if row.drops)


def passes(node: Node, mask: Node | None) -> bool:
    """Tell whether a value may go through a linear operation unsettled: its mask is one condition for all elements."""
    return mask is None or node.is_named or is_single(mask)


def push_mask(linear: Linear, node: Node, i: int, mask: Node | None, exact: bool = True) -> Node | None:
    """Return where a linear operation's value can depend on any of the masked elements of argument ``i``.

    A mask that is not ``exact`` may hold at zeros that the operation puts beside what it moves: what follows is finite.
    """
    if mask is None or node.is_named:
        return mask
    return _moved(linear.push, node, i, mask, exact and node.op in _PLACING, back=False)


def pull_mask(linear: Linear, node: Node, i: int, mask: Node | None, exact: bool = True) -> Node | None:
    """Return where any of the masked elements can have an influence through a linear operation."""
    if mask is None or node.is_named:
        return mask
    return _moved(linear.pull, node, i, mask, exact and node.op in _PLACING_BACK, back=True)


def _moved(
    move: Callable[[Node, int, Node, int], Node], node: Node, i: int, mask: Node, pads: bool, back: bool
) -> Node:
    """Move a mask: conditions that are one along an axis stay it, apart from where the operation puts zeros."""
    given = node if back else node.args[i]
    kept: list[Node] = []
    rest: Node | None = None
    for part in conjuncts(mask):
        image = reshape(part, ()) if is_single(part) else _along_axes(node, i, part, back)
        if image is None:
            rest = both(rest, part)
        else:
            kept.append(image)
    if rest is not None:
        kept.append(compare("not_equal", move(node, i, to_real(broadcast_to(rest, given.shape)), 0), 0.0))
    elif pads:
        kept += [place for place in _places(move, node, i, back) if not any(map(_covers(place), kept))]
    result = reduce(both, kept, None)
    assert result is not None
    return result


def _covers(place: Node) -> Callable[[Node], bool]:
    """Tell whether a mask has its own values along the axes that a pattern is of."""
    wide = [axis - place.ndim for axis, size in enumerate(place.shape) if size != 1]
    return lambda mask: all(-axis <= mask.ndim and mask.shape[axis] != 1 for axis in wide)


def _places(move: Callable[[Node, int, Node, int], Node], node: Node, i: int, back: bool) -> list[Node]:
    """Return where an operation that puts zeros beside what it moves puts something else, axis by axis where it can."""
    given, made = (node, node.args[i].shape) if back else (node.args[i], node.shape)
    if node.op in ("slice", "pad", "concatenate"):
        items = part_items(node, i, ()) if node.is_concatenation else node.payload.items
        found = []
        for axis, (item, n) in enumerate(zip(items, made, strict=True)):
            if item != whole(n):
                filled = (item[0], item[1], 1 if item[2] is None else item[2])
                line = pad(broadcast_to(constant(1.0), (filled[2],)), (filled,), (n,))
                shape = (*[1] * axis, n, *[1] * (len(made) - axis - 1))
                found.append(reshape(compare("not_equal", line, 0.0), shape))
        return found
    keeps = (node.payload.axis,) if node.op in LISTED else (-2, -1) if node.op == "triangle" else None
    shape = tuple(n if keeps is None or a - given.ndim in keeps else 1 for a, n in enumerate(given.shape))
    return [compare("not_equal", move(node, i, broadcast_to(constant(1.0), shape), 0), 0.0)]


def _along_axes(node: Node, i: int, part: Node, back: bool) -> Node | None:
    """Return the image of a mask with axes of size 1, which stay; None where the operation does not leave them be."""
    given, made = (node, node.args[i].shape) if back else (node.args[i], node.shape)
    part = _with_rank(part, given.ndim)
    if node.op in ("slice", "pad", "concatenate"):
        taking = (node.is_slice) is not back
        items = part_items(node, i, ()) if node.is_concatenation else node.payload.items
        return _take_along(part, given.shape, items) if taking else _put_along(part, made, items)
    if node.is_reshape:
        return _reshape_along(part, given.shape, made)
    if node.op in LISTED or node.op == "cumsum":
        axis = node.payload.axis + node.ndim
        if part.shape[axis] == 1:
            return part
        linear = LINEAR[node.op].pull if back else LINEAR[node.op].push
        return compare("not_equal", linear(node, i, to_real(part), 0), 0.0)
    if node.op in ("triangle", "arrange"):
        axes = (node.ndim - 2, node.ndim - 1) if node.op == "triangle" else (node.payload.axis + node.args[1].ndim,)
        return part if all(part.shape[axis] == 1 for axis in axes) else None
    return None


def _take_along(part: Node, shape: Shape, items: Sequence[Item]) -> Node:
    """Take of a mask what an operation takes of what it is of; axes of size 1 stay."""
    own = []
    for item, size, n in zip(items, part.shape, shape, strict=True):
        own.append((0, 1, None if item[2] is None else 1) if size == 1 and n != 1 else item)
    return slicing(part, tuple(own))


def _put_along(part: Node, shape: Shape, items: Sequence[Item]) -> Node:
    """Put a mask where an operation puts what it is of; axes of size 1 stay, and those that are new have it."""
    sizes = iter(part.shape)
    lined = tuple(1 if count is None else next(sizes) for _, _, count in items)
    places = tuple(whole(1) if size == 1 else item for item, size in zip(items, lined, strict=True))
    wide = tuple(1 if size == 1 else n for size, n in zip(lined, shape, strict=True))
    part = reshape(part, lined)
    if places == tuple(map(whole, wide)):  # a reversal moves as many elements as there are
        return part
    return compare("not_equal", pad(to_real(part), places, wide), 0.0)


def _reshape_along(part: Node, before: Shape, after: Shape) -> Node:
    """Reshape a mask with the array it is of; where it is one along axes that are read as others, it stays that."""
    wide = list(part.shape)
    result: list[Dim] = [1 for _ in after]
    for old, new in _groups(before, after):
        if any(part.shape[axis] != 1 for axis in old):
            for axis in old:
                wide[axis] = before[axis]
            for axis in new:
                result[axis] = after[axis]
    # as numbers: no plan keeps conditions as arrays
    return compare("not_equal", reshape(broadcast_to(to_real(part), tuple(wide)), tuple(result)), 0.0)


def _groups(before: Shape, after: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the axes of two shapes of one array that have as many elements together, as few at a time as can be."""
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (before, after))
    while old and new:
        i = k = 1
        many, few = before[old[0]], after[new[0]]
        while many != few:
            if not (isinstance(many, int) and isinstance(few, int)) or (i == len(old) and k == len(new)):
                i, k = len(old), len(new)  # a letter: all that is left together
                break
            if k == len(new) or (many < few and i < len(old)):
                many, i = many * before[old[i]], i + 1
            else:
                few, k = few * after[new[k]], k + 1
        yield old[:i], new[:k]
        old, new = old[i:], new[k:]


def push_where(node: Node, slopes: Mapping[Node, Masked], prefix: int, kept: bool) -> Masked | None:
    """Push tangents through a choice: each counts where its branch is taken."""
    condition, yes, no = node.args
    arms = []
    for arm, taken in ((yes, condition), (no, elementwise("logical_not", (condition,), BOOL))):
        if arm in slopes:
            value, mask = slopes[arm].value, slopes[arm].mask
            arms.append((Masked(fit(value, prefix, arm.ndim, node.shape), both(mask, taken)), mask))
    if len(arms) < 2:
        return arms[0][0] if arms else None
    (a, own), (b, other) = arms
    mask = either(a.mask, b.mask) if kept and (own is not None or other is not None) else None
    if is_structured(a.value) or is_structured(b.value):
        return Masked(add(a, b, kept).settle(), mask)
    left = a.value if own is None else a.settle()
    right = b.value if other is None else b.settle()
    return Masked(where(condition, left, right), mask)


def push_reach(node: Node, arg: Node, mask: Node | None) -> Node | None:
    """Return where an array operation's value can depend on any of the masked elements of ``arg``."""
    return _reach(node, arg, mask, _push_together)


def pull_reach(node: Node, arg: Node, mask: Node | None) -> Node | None:
    """Return where elements of ``arg`` can influence any of the masked elements of an array operation's value."""
    return _reach(node, arg, mask, _pull_together)


def _reach(
    node: Node, arg: Node, mask: Node | None, move: Callable[[Node, Node, Node, tuple[int, ...]], Node]
) -> Node | None:
    together = _together(node, arg)
    if mask is not None and is_single(mask) and (together is not None or node.op in OF_MATRICES):
        return reshape(mask, ())
    return None if mask is None or together is None else move(node, arg, mask, together)


def _push_together(node: Node, arg: Node, mask: Node, together: tuple[int, ...]) -> Node:
    mask = any_along(_with_rank(mask, arg.ndim), together)
    if node.ndim == arg.ndim:
        return mask
    kept = tuple(size for axis, size in enumerate(mask.shape) if axis not in together)
    return reshape(mask, (*kept, *[1] * (node.ndim - len(kept))))


def _pull_together(node: Node, arg: Node, mask: Node, together: tuple[int, ...]) -> Node:
    mask = _with_rank(mask, node.ndim)
    if node.ndim == arg.ndim:
        return any_along(mask, together)
    stack = arg.ndim - len(together)
    mask = any_along(mask, tuple(range(stack, node.ndim)))  # eigenvalues have one axis more than the stack
    sizes = iter(mask.shape)
    return reshape(mask, tuple(1 if axis in together else next(sizes) for axis in range(arg.ndim)))


def selected(node: Node, arg: Node, slope: Masked, prefix: int) -> Node | None:
    """Return where chosen elements of ``arg`` reach what counts of a cotangent, which may be zeros in part."""
    mask = slope.mask
    if mask is None:
        found = support(slope.value)
        if found is not None:
            mask = any_along(compare("not_equal", found, 0.0), range(prefix))
            mask = reshape(mask, mask.shape[prefix:])
    if node.op in ("max", "min"):
        together = _together(node, arg)
        assert together is not None
        shape = tuple(1 if axis in together else size for axis, size in enumerate(arg.shape))
        return both(pull_reach(node, arg, mask), reaches(node, arg, reshape(node, shape)))
    if node.op not in ("sort", "cummax", "cummin"):
        return pull_reach(node, arg, mask)
    if mask is None:
        return None
    axis = node.payload.axis
    line = to_real(broadcast_to(mask, node.shape))
    if node.op == "sort":
        line = turned(line, axis) if node.payload.reverse else line
        return compare("not_equal", arrange(line, arg, axis + arg.ndim, True), 0.0)
    line = line_along(line, axis)
    counts = where(reached_so_far(node), reshape(line, (*line.shape[:-1], 1, line.shape[-1])), 0.0)
    labels = tuple(range(counts.ndim))
    total = contract([counts], [labels], labels[:-1])
    back = axis + total.ndim
    total = transpose(total, (*range(back), total.ndim - 1, *range(back, total.ndim - 1)))
    return compare("not_equal", total, 0.0)


def within(node: Node, mask: Node) -> tuple[Node, bool]:
    """Return where an operation's elements are computed together with any that count, and whether that is more."""
    row = PRIMITIVES[node.op]
    if row.mixes is Mixes.MATRIX and not row.keeps:
        together: tuple[int, ...] = tuple(range(node.args[0].ndim - 2, node.ndim))  # eigenvalues of one matrix
    else:
        together = (row.keeps and _together(node, node)) or ()
    wide = any_along(_with_rank(mask, node.ndim), together) if together and not is_single(mask) else mask
    return wide, wide is not mask


def _together(node: Node, arg: Node) -> tuple[int, ...] | None:
    """Return the axes of ``arg`` along which an array operation mixes all elements, or None if not known."""
    if node.op == "solve" and arg is not node.args[0]:
        return (arg.ndim - 2,)  # each column of the right-hand side by itself
    row = PRIMITIVES.get(node.op)
    if row is None:
        return None
    if node.op in OF_MATRICES and arg.ndim < node.ndim:
        return None  # a number, or one matrix of several
    if row.mixes is Mixes.MATRIX:
        return (arg.ndim - 2, arg.ndim - 1)
    if row.mixes is Mixes.AXES:
        return axes_of(node, arg)
    return (node.payload.axis + arg.ndim,) if row.mixes in (Mixes.AXIS, Mixes.SO_FAR) else None


def _with_rank(mask: Node, rank: int) -> Node:
    return reshape(mask, (*(1,) * (rank - mask.ndim), *mask.shape))
