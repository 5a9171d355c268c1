"""Where a strong zero reaches: which elements an operation lets depend on which, and what needs one.

A tangent or cotangent that counts in some places only has passed a branch that was not
taken. Behind a sum, a slice or a matrix product the places are others; the functions here
say which. They err towards more places, never towards fewer, and None stands for all. A mask
without axes is one condition for everything, and stays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..graph import BOOL, Node, broadcast_to, elementwise, reshape, slicing, whole
from ..graph.deltas.einsum import is_structured
from ..graph.kinds import BRANCHING, CHOICE
from ..graph.primitives import PRIMITIVES, SINGULAR, Mixes
from ..graph.scalars.functions import FUNCTIONS, compare, scalar_constant, to_real, where
from .linear import Linear, LinearProduct, part_items
from .masking import Masked, add, any_along, both, either, fit, is_single
from .rules import reaches

# ---------------------------------------------------------------------------- what needs strong zeros


def is_unbounded(node: Node) -> bool:
    """Tell whether an operation may take finite numbers to infinity or nan, itself or in its derivatives."""
    if node.op == "constant":
        return not np.isfinite(node.value).all()
    if node.op == "divide":
        return not _never_zero(node.args[1])
    if node.op == "power":
        n = scalar_constant(node.args[1])
        return n is None or n < 0 or not n.is_integer()
    row = FUNCTIONS.get(node.op)
    return node.op in SINGULAR or node.op == "floor_divide" or (row is not None and row.singular)


def _never_zero(divisor: Node) -> bool:
    if divisor.op == "constant":
        return bool(divisor.value.all())
    return divisor.op == "size" or bool(scalar_constant(divisor))


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


#: Operations that multiply no argument by another: what one is cannot reach the other's derivative.
_APART = frozenset({"add", "subtract", "negative", "where", "concatenate"})


def unbounded_above(order: Sequence[Node], below: set[Node]) -> set[Node]:
    """Return the nodes of a postorder that feed something unbounded, or are multiplied by it."""
    found: set[Node] = set()
    for node in reversed(order):
        if node in found or is_unbounded(node) or (node.op not in _APART and not below.isdisjoint(node.args)):
            found.update(node.args)
    return found


@dataclass(frozen=True)
class Walk:
    """What one walk over the graph knows of the nodes it meets.

    Parameters
    ----------
    nodes : set of Node
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

    nodes: set[Node]
    wild: set[Node]
    carried: set[Node]
    outer: Walk | None = None
    data: bool = False

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


def walk_over(order: Sequence[Node], given: Iterable[Masked], outer: Walk | None, forward: bool) -> Walk:
    """Find out which nodes of a walk need masks; none does where nothing has a branch."""
    below = 0
    for node in order:
        below |= node.below
    data = (outer is not None and outer.data) or bool(below & CHOICE and any(map(_chooses, order)))
    walk = Walk(set(order), set(), set(), outer, data)
    if any(slope.mask is not None for slope in given) or (below & BRANCHING and any(map(_has_supports, order))):
        walk.wild.update(unbounded_below(order, _never if outer is None else outer.is_wild))
        walk.carried.update(unbounded_above(order, walk.wild) if forward else walk.wild)
    return walk


def _chooses(node: Node) -> bool:
    """Tell whether a node is a choice between formulas, and not between numbers."""
    return node.op == "where" and any(arm.op not in ("constant", "where") for arm in node.args[1:])


def _never(node: Node) -> bool:
    return False


def _has_supports(node: Node) -> bool:
    row = FUNCTIONS.get(node.op)
    return (row is not None and bool(row.supports)) or node.op in ("max", "min", "custom")


# ---------------------------------------------------------------------------- where it reaches


#: Operations that put zeros of their own beside what they move, as a tangent and as a cotangent.
_PLACING = frozenset(name for name, row in PRIMITIVES.items() if row.pads)
_PLACING_BACK = frozenset(name for name, row in PRIMITIVES.items() if row.drops)


def passes(node: Node, mask: Node | None, back: bool, exact: bool = True) -> bool:
    """Tell whether a mask is one condition for all elements, on both sides of a linear operation.

    Zeros that the operation itself puts beside what it moves do not count anyway. A mask that is not
    ``exact`` may hold at them: what follows is finite there, unless a branch is not taken.
    """
    if mask is None or node.op == "named":
        return True
    return is_single(mask) and not (exact and node.op in (_PLACING_BACK if back else _PLACING))


def push_mask(linear: Linear, node: Node, i: int, mask: Node | None, exact: bool = True) -> Node | None:
    """Return where a linear operation's value can depend on any of the masked elements of argument ``i``."""
    if mask is None or node.op == "named":
        return mask
    if passes(node, mask, back=False, exact=exact):
        return reshape(mask, ())
    spread = to_real(broadcast_to(mask, node.args[i].shape))
    return compare("not_equal", linear.push(node, i, spread, 0), 0.0)


def pull_mask(linear: Linear, node: Node, i: int, mask: Node | None, exact: bool = True) -> Node | None:
    """Return where any of the masked elements can have an influence through a linear operation."""
    if mask is None or node.op == "named":
        return mask
    if passes(node, mask, back=True, exact=exact):
        return reshape(mask, ())
    if node.op == "concatenate":
        return _part_of_mask(node, i, _with_rank(mask, node.ndim))
    spread = to_real(broadcast_to(mask, node.shape))
    return compare("not_equal", linear.pull(node, i, spread, 0), 0.0)


def _part_of_mask(node: Node, i: int, mask: Node) -> Node:
    """Return the part of a concatenation's mask that is of argument ``i``; axes of size 1 stay, so rows stay single."""
    axis = node.payload.axis + node.ndim
    if mask.shape[axis] == 1:
        return mask
    part = part_items(node, i, ())[axis]
    return slicing(mask, tuple(part if a == axis else whole(n) for a, n in enumerate(mask.shape)))


def push_where(node: Node, slopes: Mapping[Node, Masked], prefix: int, kept: bool) -> Masked | None:
    """Push tangents through a choice: each counts where its branch is taken."""
    condition, yes, no = node.args
    arms = []
    for arm, taken in ((yes, condition), (no, elementwise("logical_not", (condition,), BOOL))):
        if arm in slopes:
            value, mask, _ = slopes[arm]
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
    together = _together(node, arg)
    if mask is not None and is_single(mask) and (together is not None or node.op == "spectral"):
        return reshape(mask, ())
    if mask is None or together is None:
        return None
    mask = any_along(_with_rank(mask, arg.ndim), together)
    if node.ndim == arg.ndim:
        return mask
    kept = tuple(size for axis, size in enumerate(mask.shape) if axis not in together)
    return reshape(mask, (*kept, *[1] * (node.ndim - len(kept))))


def pull_reach(node: Node, arg: Node, mask: Node | None) -> Node | None:
    """Return where elements of ``arg`` can influence any of the masked elements of an array operation's value."""
    together = _together(node, arg)
    if mask is not None and is_single(mask) and (together is not None or node.op == "spectral"):
        return reshape(mask, ())
    if mask is None or together is None:
        return None
    mask = _with_rank(mask, node.ndim)
    if node.ndim == arg.ndim:
        return any_along(mask, together)
    stack = arg.ndim - len(together)
    mask = any_along(mask, tuple(range(stack, node.ndim)))  # eigenvalues have one axis more than the stack
    sizes = iter(mask.shape)
    return reshape(mask, tuple(1 if axis in together else next(sizes) for axis in range(arg.ndim)))


def extremum_reach(node: Node, arg: Node, mask: Node | None) -> Node | None:
    """Return :func:`pull_reach` of a maximum or minimum, for the elements that reach it alone."""
    together = _together(node, arg)
    assert together is not None
    shape = tuple(1 if axis in together else size for axis, size in enumerate(arg.shape))
    return both(pull_reach(node, arg, mask), reaches(node, arg, reshape(node, shape)))


def within(node: Node, mask: Node) -> tuple[Node, bool]:
    """Return where an operation's elements are computed together with any that count, and whether that is more."""
    together = (PRIMITIVES[node.op].keeps and _together(node, node)) or ()
    wide = any_along(_with_rank(mask, node.ndim), together) if together and not is_single(mask) else mask
    return wide, wide is not mask


def _together(node: Node, arg: Node) -> tuple[int, ...] | None:
    """Return the axes of ``arg`` along which an array operation mixes all elements, or None if not known."""
    if node.op == "solve" and arg is not node.args[0]:
        return (arg.ndim - 2,)  # each column of the right-hand side by itself
    row = PRIMITIVES.get(node.op)
    if row is None:
        return None
    if node.op == "spectral" and arg.ndim < node.ndim:
        return None  # a number, or one matrix of several
    if row.mixes is Mixes.MATRIX:
        return (arg.ndim - 2, arg.ndim - 1)
    if row.mixes is Mixes.AXES:
        return tuple(axis + arg.ndim for axis in node.payload.axes)
    return (node.payload.axis + arg.ndim,) if row.mixes is Mixes.AXIS else None


def _with_rank(mask: Node, rank: int) -> Node:
    return reshape(mask, (*(1,) * (rank - mask.ndim), *mask.shape))
