"""Forward and reverse mode over the array graph: tangents in, or cotangents out.

Both walk the graph once. Scalar functions take their partial derivatives from
:mod:`symdiff.functions`, array operations their differential from :mod:`symdiff.rules`;
reverse mode transposes a differential by pulling a cotangent back through it.

A derivative through a branch not taken is a strong zero: beside each value travels the
condition under which it can be anything else than zero, applied after multiplications
and before sums, so that an infinite partial derivative in the other branch never shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple, TypeAlias

from .collector import paused
from .contraction import einsum, is_structured, is_zero, scale_by
from .deltas import ONE
from .errors import NotDifferentiableError
from .functions import FUNCTIONS, Formula, Partial, compare, to_real, where
from .graph import (
    BOOL,
    Node,
    broadcast_to,
    delta,
    dependents,
    elementwise,
    placeholder,
    postorder,
    substitute,
    zeros,
)
from .influence import both, pull_mask, pull_reach, push_mask, push_reach
from .propagation import assemble_entries, mask_product, single_entries
from .rules import DIFFERENTIALS, LINEAR, LINEAR_IN, SINGULAR_OPS, CustomRule
from .sizes import Dim, Shape


class Masked(NamedTuple):
    """A tangent or cotangent that counts only where ``mask`` holds (everywhere if None)."""

    value: Node
    mask: Node | None

    def settle(self) -> Node:
        """Return the plain array, with a strong zero outside the mask."""
        return self.value if self.mask is None else mask_product(self.mask, self.value)


Slopes: TypeAlias = dict[Node, Masked]


def _either(a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return None
    return a if a is b else elementwise("logical_or", (a, b), BOOL)


def _add(a: Masked, b: Masked) -> Masked:
    value = elementwise("add", (a.settle(), b.settle()))
    return Masked(value, _either(a.mask, b.mask))


def _fit(x: Node, prefix: int, own: int, shape: Shape) -> Node:
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


def _shrink(x: Node, prefix: int, shape: Shape) -> Node:
    """Sum ``x`` over what broadcasting repeated, down to ``shape`` behind the prefix."""
    if x.shape[prefix:] == shape:
        return x
    gap = x.ndim - len(shape)
    out = list(range(prefix))
    sizes: dict[int, Dim] = {}
    for axis, size in enumerate(shape, gap):
        same = size == x.shape[axis]
        out.append(axis if same else -1 - axis)
        sizes[-1 - axis] = 1
    return einsum([x], [tuple(range(x.ndim))], tuple(out), sizes)


def _partial(node: Node, i: int) -> tuple[Node | None, Node | None]:
    """Return the partial derivative by argument ``i`` and the condition under which it counts.

    The first is None for a function that is constant in pieces.
    """
    row = FUNCTIONS.get(node.op)
    if row is None:
        raise NotDifferentiableError(f"symdiff has no derivative rule for {node.op!r}")
    rule = row.partials[i]
    if rule is Partial.ZERO:
        return None, None
    if isinstance(rule, Partial):
        raise NotDifferentiableError(f"{node.op} is {rule.value} by its argument {i + 1}")
    formula: Formula = rule
    support = row.supports[i] if row.supports else None
    condition = support(*node.args, node) if support is not None else None
    return formula(*node.args, node), condition


def _singular_above(order: Sequence[Node]) -> set[Node]:
    """Return the nodes that feed something whose derivative can be infinite."""
    found: set[Node] = set()
    for node in reversed(order):
        row = FUNCTIONS.get(node.op)
        if node in found or node.op in SINGULAR_OPS or (row is not None and row.singular):
            found.update(node.args)
    return found


def _singular_below(order: Sequence[Node]) -> set[Node]:
    """Return the nodes that are computed from something whose derivative can be infinite."""
    found: set[Node] = set()
    for node in order:
        row = FUNCTIONS.get(node.op)
        if node.op in SINGULAR_OPS or (row is not None and row.singular) or any(a in found for a in node.args):
            found.add(node)
    return found


# ---------------------------------------------------------------------------- forward


@paused
def pushforward(roots: Sequence[Node], tangents: Mapping[Node, Node], prefix: int = 0) -> list[Node | None]:
    """Apply the differential of ``roots`` to ``tangents``.

    Parameters
    ----------
    roots : sequence of Node
        What to differentiate.
    tangents : mapping of Node to Node
        For each independent node a direction of its shape, behind ``prefix`` seed axes. An
        independent node is treated as an input, whatever it is computed from.
    prefix : int
        Number of seed axes.

    Returns
    -------
    list of Node or None
        For each root its tangent, shape ``seed + root.shape``; None where it does not depend
        on any of the independent nodes.

    Raises
    ------
    NotDifferentiableError
        If an operation on the way has no derivative.
    """
    order = postorder(roots)
    active = dependents(order, tangents)
    slopes: Slopes = {node: Masked(tangent, None) for node, tangent in tangents.items()}
    seed = next(iter(tangents.values())).shape[:prefix] if tangents else ()
    risky = _singular_above(order) if any(_has_supports(node) for node in order) else set()
    for node in order:
        if node in slopes or node not in active:
            continue
        slope = _push_node(node, slopes, seed, node in risky)
        if slope is not None:
            slopes[node] = slope if slope.mask is None or node in risky else Masked(slope.settle(), None)
    return [slopes[root].settle() if root in slopes else None for root in roots]


def _has_supports(node: Node) -> bool:
    row = FUNCTIONS.get(node.op)
    return (row is not None and bool(row.supports)) or node.op in ("max", "min")


def _push_node(node: Node, slopes: Slopes, seed: Shape, risky: bool) -> Masked | None:
    prefix = len(seed)
    if node.op == "stop_gradient":
        return None
    if node.op == "where":
        return _push_where(node, slopes, prefix)
    total: Masked | None = None
    if node.op in LINEAR:
        for i, arg in enumerate(node.args):
            if arg in slopes:
                slope = slopes[arg]
                mask = push_mask(LINEAR[node.op], node, i, slope.mask) if risky else None
                part = Masked(LINEAR[node.op].push(node, i, slope.settle(), prefix), mask)
                total = part if total is None else _add(total, part)
        return total
    if node.op in DIFFERENTIALS or node.op == "custom":
        moving = [slopes.get(arg) for arg in node.args]
        if node.op == "custom":
            moving = [m if m and _has_rule(node, i, partial(_is_nonzero, m)) else None for i, m in enumerate(moving)]
        if not any(moving):
            return None
        value = _differential(node, [None if m is None else m.settle() for m in moving], seed)
        masks = [push_reach(node, arg, m.mask) for arg, m in zip(node.args, moving, strict=True) if m is not None]
        return Masked(value, reduce(_either, masks) if risky else None)
    for i, arg in enumerate(node.args):
        if arg not in slopes:
            continue
        factor, condition = _partial(node, i)
        if factor is None:
            continue
        slope = slopes[arg]
        if prefix or node.shape != arg.shape or factor.shape != node.shape:
            value = _fit(slope.value, prefix, arg.ndim, node.shape)
            mask = slope.mask
        else:
            value, mask = slope
        part = Masked(scale_by(factor, value), both(mask, condition))
        total = part if total is None else _add(total, part)
    return total


def _push_where(node: Node, slopes: Slopes, prefix: int) -> Masked | None:
    condition, yes, no = node.args
    arms = []
    for arm, taken in ((yes, condition), (no, elementwise("logical_not", (condition,), BOOL))):
        if arm in slopes:
            value, mask = slopes[arm]
            arms.append((Masked(_fit(value, prefix, arm.ndim, node.shape), both(mask, taken)), mask))
    if len(arms) < 2:
        return arms[0][0] if arms else None
    (a, own), (b, other) = arms
    mask = None if own is None and other is None else _either(a.mask, b.mask)
    if is_structured(a.value) or is_structured(b.value):
        return Masked(_add(a, b).value, mask)
    left = a.value if own is None else a.settle()
    right = b.value if other is None else b.settle()
    return Masked(where(condition, left, right), mask)


# ---------------------------------------------------------------------------- reverse


@paused
def pullback(cotangents: Mapping[Node, Node], wrt: Sequence[Node], prefix: int = 0) -> list[Node | None]:
    """Apply the transposed differential to ``cotangents``.

    Parameters
    ----------
    cotangents : mapping of Node to Node
        For each root a cotangent of its shape, behind ``prefix`` seed axes.
    wrt : sequence of Node
        The independent nodes; each is treated as an input, whatever it is computed from.
    prefix : int
        Number of seed axes.

    Returns
    -------
    list of Node or None
        For each of ``wrt`` its cotangent, shape ``seed + node.shape``; None where no root
        depends on it.

    Raises
    ------
    NotDifferentiableError
        If an operation on the way has no derivative.
    """
    order = postorder(cotangents)
    independent = set(wrt)
    active = dependents(order, independent & set(order))
    slopes: Slopes = {node: Masked(value, None) for node, value in cotangents.items() if node in active}
    risky = _singular_below(order) if any(_has_supports(node) for node in order) else set()
    single = single_entries(node for node in order if node in active)
    pending: dict[Node, list[tuple[Node, Node]]] = {}
    for node in reversed(order):
        for whole in assemble_entries(pending.pop(node), single, prefix) if node in pending else ():
            slopes[node] = Masked(whole, None) if node not in slopes else _add(slopes[node], Masked(whole, None))
        if node not in slopes or node in independent or not node.args:
            continue
        slope = slopes.pop(node) if node not in cotangents else slopes[node]
        if node in single and slope.mask is None and not is_structured(slope.value):
            pending.setdefault(node.args[0], []).append((node, slope.value))
            continue
        for i, arg in enumerate(node.args):
            if arg not in active or (node.op == "custom" and not _has_rule(node, i, partial(_moves, arg, wrt))):
                continue
            part = _pull_arg(node, i, slope, prefix, risky)
            if part is not None:
                known = slopes.get(arg)
                part = part if known is None else _add(known, part)
                if part.mask is not None and arg not in risky:
                    part = Masked(part.settle(), None)
                slopes[arg] = part
    return [slopes[node].settle() if node in slopes else None for node in wrt]


def _pull_arg(node: Node, i: int, slope: Masked, prefix: int, risky: set[Node]) -> Masked | None:
    op, arg = node.op, node.args[i]
    if op == "stop_gradient":
        return None
    if op in LINEAR:
        pulled = LINEAR[op].pull(node, i, slope.settle(), prefix)
        return Masked(pulled, pull_mask(LINEAR[op], node, i, slope.mask) if arg in risky else None)
    if op in DIFFERENTIALS or op == "custom":
        pulled = _transpose(node, i, slope.settle(), prefix)
        # An operation singular itself, a norm of zeros, makes nan of a strong zero.
        kept = arg in risky or node.op in SINGULAR_OPS
        return Masked(pulled, pull_reach(node, arg, slope.mask) if kept else None)
    factor, condition = _partial(node, i)
    if factor is None:
        return None
    if not prefix and node.shape == arg.shape and slope.value.shape == node.shape:
        return Masked(scale_by(factor, slope.value), both(slope.mask, condition))
    value = scale_by(factor, slope.value)
    mask = both(slope.mask, condition)
    if arg.shape == node.shape:
        return Masked(value, mask)
    summed = _shrink(Masked(value, mask).settle(), prefix, arg.shape)
    if mask is None or arg not in risky:
        return Masked(summed, None)
    reached = _shrink(to_real(broadcast_to(mask, node.shape)), 0, arg.shape)
    return Masked(summed, compare("not_equal", reached, 0.0))


def _transpose(node: Node, i: int, cotangent: Node, prefix: int) -> Node:
    """Pull back through an array operation by transposing its differential."""
    known = LINEAR_IN.get((node.op, i))
    if known is not None:
        return known(node, i, cotangent, prefix)
    if node.op == "custom" and node.payload[0].form != "differential":
        return _custom_pull(node, i, cotangent, prefix)
    direction = placeholder(("direction", node.op, i), node.args[i].shape)
    directions = [direction if j == i else None for j in range(len(node.args))]
    image = _differential(node, directions, ())
    (pulled,) = pullback({image: cotangent}, [direction], prefix)
    return zeros((*cotangent.shape[:prefix], *direction.shape)) if pulled is None else pulled


# ---------------------------------------------------------------------------- operations with a differential


def _differential(node: Node, directions: Sequence[Node | None], seed: Shape) -> Node:
    if node.op != "custom":
        shown = [None if d is None or is_zero(d) else d for d in directions]
        if all(d is None for d in shown):
            return zeros((*seed, *node.shape))
        result = DIFFERENTIALS[node.op](node, shown)
        return result if result.shape == (*seed, *node.shape) else broadcast_to(result, (*seed, *node.shape))
    rule: CustomRule = node.payload[0]
    prefix = len(seed)
    if rule.form == "differential":
        given = {k: direction for k, direction in enumerate(directions) if direction is not None}
        return _image(node, 0, given, prefix)
    total: Node | None = None
    for i, direction in enumerate(directions):
        if direction is not None:
            block = _custom_jacobian(node, i)
            part = _contract_tangent(block, direction, node.args[i].ndim, prefix)
            total = part if total is None else elementwise("add", (total, part))
    assert total is not None
    return total


# ---------------------------------------------------------------------------- custom functions


def _image(node: Node, which: int, given: Mapping[int, Node], prefix: int = 0) -> Node:
    """Return an image of a custom rule at the node's arguments, for the seeds ``given`` by number."""
    rule: CustomRule = node.payload[0]
    # it is written for one seed: put a placeholder in, then push all of them through, since it is linear
    stand_in = [placeholder(("seed", rule, k), seed.shape) for k, seed in enumerate(rule.seeds)]
    written = dict(zip((*rule.parameters, *rule.seeds), (*node.args, *stand_in), strict=True))
    (image,) = substitute([rule.images[which]], written)
    if rule.form == "jacobian":
        return image
    (pushed,) = pushforward([image], {stand_in[k]: seed for k, seed in given.items()}, prefix)
    lead = next(iter(given.values())).shape[:prefix]
    return zeros((*lead, *image.shape)) if pushed is None else pushed


def _has_rule(node: Node, i: int, moves: Callable[[], bool]) -> bool:
    """Tell whether a custom function has a derivative by argument ``i``; one captured from outside has none.

    Raises
    ------
    NotDifferentiableError
        If the value changes with a captured array that ``moves``.
    """
    rule: CustomRule = node.payload[0]
    if i < rule.arity:
        return True
    captured = rule.captured[i - rule.arity]
    if captured.counts and moves():
        raise NotDifferentiableError(
            f"{rule.name} uses {captured.title} without taking it as an argument, so its rule gives no derivative by "
            "it; pass it as an argument, or use stop_gradient of it to hold it fixed"
        )
    return False


def _is_nonzero(slope: Masked) -> bool:
    value = slope.value
    return not is_zero(value) and (value.op != "constant" or bool(value.value.any()))


def _moves(node: Node, wrt: Sequence[Node]) -> bool:
    """Tell whether ``node`` has a derivative by any of ``wrt``, which barriers and steps may keep from it."""
    (slope,) = pushforward([node], {w: w for w in wrt})
    return slope is not None and not is_zero(slope)


def _contract_tangent(block: Node, direction: Node, rank: int, prefix: int) -> Node:
    lead = tuple(range(-prefix, 0))
    own = tuple(range(block.ndim))
    return einsum([block, direction], [own, (*lead, *own[block.ndim - rank :])], (*lead, *own[: block.ndim - rank]))


def _custom_pull(node: Node, i: int, cotangent: Node, prefix: int) -> Node:
    if node.payload[0].form == "vjp":
        return _image(node, i, {0: cotangent}, prefix)
    return inner_front(cotangent, _custom_jacobian(node, i), node.ndim, prefix)


def inner_front(cotangent: Node, block: Node, rank: int, prefix: int) -> Node:
    """Contract the last ``rank`` axes of a seeded cotangent with the first of a Jacobian."""
    lead = tuple(range(-prefix, 0))
    own = tuple(range(block.ndim))
    return einsum([cotangent, block], [(*lead, *own[:rank]), own], (*lead, *own[rank:]))


def _custom_jacobian(node: Node, i: int) -> Node:
    """Return d node / d args[i], shape node + argument, from whichever derivative the author gave."""
    if node.payload[0].form == "jacobian":
        return _image(node, i, {})
    return _custom_pull(node, i, identity(node.shape), node.ndim)


def identity(shape: Shape) -> Node:
    """Return the identity map of arrays of ``shape``, as an array of shape ``shape + shape``."""
    n = len(shape)
    pairs = [delta(size, size) for size in shape]
    if not pairs:
        return ONE
    return einsum(pairs, [(a, a + n) for a in range(n)], tuple(range(2 * n)))
