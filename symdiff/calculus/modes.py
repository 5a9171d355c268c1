"""Forward and reverse mode over the array graph: tangents in, or cotangents out.

Both walk the graph once. Scalar functions take their partial derivatives from
:mod:`symdiff.graph.scalars.rows`, array operations their differential from :mod:`symdiff.calculus.rules`;
reverse mode transposes a differential by pulling a cotangent back through it.

A derivative through a branch not taken is a strong zero: beside each value travels the
condition under which it counts (:mod:`symdiff.calculus.masking`), applied after multiplications and
before sums, so that an infinite partial derivative in the other branch never shows.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial, reduce
from typing import TypeAlias

from ..errors import NotDifferentiableError
from ..graph import Node, broadcast_to, dependents, elementwise, placeholder, postorder, substitute, zeros
from ..graph.deltas.einsum import is_structured, is_zero
from ..graph.deltas.parts import plain
from ..graph.deltas.structural import identity, single_entries
from ..graph.kinds import WRAPPER
from ..graph.primitives import FIRST, MATRIX_OPS, OF_MATRICES, SELECTING
from ..graph.scalars.functions import BY_FACTORS, FUNCTIONS, by_factors, constant_partials, partial_of
from ..graph.sizes import Shape
from ..ground.gc_pause import paused
from .linear import LINEAR, PULLS, LinearProduct, pulled_product, push_whole, pushed_product
from .masking import (
    Masked,
    add,
    assemble,
    both,
    contract_tangent,
    either,
    fit,
    is_single,
    multiply,
    scaled_by,
    shrink,
    split,
    times_block,
)
from .rules import DIFFERENTIALS, LINEAR_IN, CustomRule
from .strong_zeros import (
    Walk,
    passes,
    pull_mask,
    pull_reach,
    push_mask,
    push_reach,
    push_where,
    selected,
    walk_over,
    within,
)

Slopes: TypeAlias = dict[Node, Masked]

#: Operations that push tangents, or pull a cotangent back to the arguments that are asked for, all at once and with
#: their masks. The second takes the number of the seed's axes as well.
PUSHED: dict[str, Callable[[Node, Sequence[Masked | None], Walk], Masked]] = {}
TRANSPOSED: dict[str, Callable[[Node, Masked, Sequence[bool], int, Walk], list[Masked | None]]] = {}


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
    if (whole := push_whole(roots, tangents, prefix)) is not None:
        return whole
    pushed = push(roots, {node: Masked(tangent, None) for node, tangent in tangents.items()}, prefix)
    return [None if slope is None else slope.settle() for slope in pushed]


def push(
    roots: Sequence[Node], given: Mapping[Node, Masked], prefix: int, outer: Walk | None = None
) -> list[Masked | None]:
    """Return what :func:`pushforward` does, with masks; ``outer`` is the walk that this one is a part of."""
    order = postorder(roots, _outside(outer, given))
    active = dependents(order, given)
    if any(root.below & WRAPPER for root in roots):
        active &= _before_barriers(order, roots)
    slopes: Slopes = dict(given)
    seed = next(iter(given.values())).value.shape[:prefix] if given else ()
    walk = walk_over(order, roots, given.values(), outer, forward=True)
    for node in order:
        if node in slopes or node not in active:
            continue
        slope = _push_node(node, slopes, seed, walk, given)
        if slope is not None:
            slopes[node] = slope
    return [slopes.get(root) for root in roots]


def _before_barriers(order: Sequence[Node], roots: Sequence[Node]) -> set[Node]:
    """Return the nodes that roots are computed from on some way without a barrier: of others no derivative is asked."""
    found = set(roots)
    for node in reversed(order):
        if node in found and not node.is_barrier:
            found.update(node.args)
    return found


def _outside(outer: Walk | None, independent: Container[Node]) -> Callable[[Node], bool] | None:
    """Return what tells which nodes a walk leaves to the one around it."""
    return None if outer is None else lambda node: node in outer and node not in independent


def _push_node(node: Node, slopes: Slopes, seed: Shape, walk: Walk, given: Container[Node]) -> Masked | None:
    prefix = len(seed)
    if node.is_barrier:
        return None
    node = by_factors(node, given)
    if node.is_choice:
        return push_where(node, slopes, prefix, node in walk.carried)
    if node.op in DIFFERENTIALS or node.is_custom:
        moving = [slopes.get(arg) for arg in node.args]
        if node.is_custom:
            moving = [m if m and _has_rule(node, i, m.may_move) else None for i, m in enumerate(moving)]
        return _push_operation(node, moving, seed, walk)
    total: Masked | None = None
    for i, arg in enumerate(node.args):
        if arg in slopes and not (i and node.op in FIRST):
            if node.op in LINEAR:
                part: Masked | None = _move_linear(node, i, slopes[arg], prefix, walk, back=False)
            else:
                part = _push_function(node, i, slopes[arg], prefix, walk)
            if part is not None:
                total = part if total is None else add(total, part, walk.keeps(node))
    return total


def _move_linear(node: Node, i: int, slope: Masked, prefix: int, walk: Walk, *, back: bool) -> Masked:
    """Move the tangent of argument ``i`` through a linear operation, or the operation's cotangent back to it."""
    reached = node.args[i] if back else node
    if node.is_contraction:
        product = (pulled_product if back else pushed_product)(node, i, slope.value, prefix)
        return multiply(product, slope, walk.is_wild, walk.keeps_sum(product, reached), data=walk.data)
    linear, exact = LINEAR[node.op], walk.keeps(reached)
    move, move_mask = (linear.pull, pull_mask) if back else (linear.push, push_mask)
    free = passes(node, slope.mask)
    if exact or free:
        value = plain(move(node, i, slope.value if free else slope.settle(), prefix))
        return Masked(value, move_mask(linear, node, i, slope.mask, exact), slope.settled or not free)
    whole, (rest,) = split(slope)
    return Masked(move(node, i, rest.settle(), prefix), whole, rest.settled)


def _push_function(node: Node, i: int, slope: Masked, prefix: int, walk: Walk) -> Masked | None:
    factor, condition = partial_of(node, i)
    if factor is None:
        return None
    value = slope.value
    arg = node.args[i]
    if prefix or node.shape != arg.shape or factor.shape != node.shape:
        value = fit(value, prefix, arg.ndim, node.shape)
    return scaled_by(node, factor, Masked(value, slope.mask, slope.settled), condition, node in walk.carried)


def _push_operation(node: Node, moving: Sequence[Masked | None], seed: Shape, walk: Walk) -> Masked | None:
    """Apply an operation's differential; where a tangent is masked, what it is multiplied by may be anything."""
    slopes = [slope for slope in moving if slope is not None]
    if not slopes:
        return None
    masked = any(slope.mask is not None for slope in slopes)
    if node.is_custom:
        return Masked(_push_custom(node, moving, seed, walk), None)
    if node.op in PUSHED:
        slopes = [slope for slope in slopes if not is_zero(slope.value)]
        if not slopes:
            return Masked(zeros((*seed, *node.shape)), None)
        whole, rest = split(*slopes)
        left = iter(rest)
        moved = [None if m is None or is_zero(m.value) else next(left) for m in moving]
        along = PUSHED[node.op](node, moved, walk)
        return Masked(along.value, both(whole, along.mask), whole is None)
    if not masked:
        return Masked(_differential(node, [None if m is None else m.value for m in moving], seed), None)
    known = node in walk.carried or walk.may_divide(node)
    if not known:
        whole, rest = split(*slopes)
        if whole is not None:
            left = iter(rest)
            pushed = _push_operation(node, [None if m is None else next(left) for m in moving], seed, walk)
            assert pushed is not None
            return Masked(pushed.settle(), both(whole, pushed.mask))
    reached = [push_reach(node, arg, m.mask) for arg, m in zip(node.args, moving, strict=True) if m is not None]
    mask = reduce(either, reached)
    if node.op not in (*MATRIX_OPS, *OF_MATRICES) and any(map(walk.is_wild, node.args)):
        # the products within are looked at one by one
        stand_in = [placeholder(("tangent", node.op, i), arg.shape) for i, arg in enumerate(node.args)]
        image = _differential(node, [s if m is not None else None for s, m in zip(stand_in, moving, strict=True)], ())
        given = {s: m for s, m in zip(stand_in, moving, strict=True) if m is not None}
        (image_pushed,) = push([image], given, len(seed), walk)
        value = zeros((*seed, *node.shape)) if image_pushed is None else image_pushed.settle()
    else:
        value = _differential(node, [None if m is None else m.settle() for m in moving], seed)
    return Masked(value, mask if known or walk.data else None)


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
    pulled = pull({node: Masked(value, None) for node, value in cotangents.items()}, wrt, prefix)
    return [None if slope is None else slope.settle() for slope in pulled]


def pull(
    cotangents: Mapping[Node, Masked], wrt: Sequence[Node], prefix: int, outer: Walk | None = None
) -> list[Masked | None]:
    """Return what :func:`pullback` does, with masks; ``outer`` is the walk that this one is a part of."""
    independent = set(wrt)
    order = postorder(cotangents, _outside(outer, independent))
    active = dependents(order, independent)
    slopes: Slopes = {node: value for node, value in cotangents.items() if node in active}
    walk = walk_over(order, cotangents, cotangents.values(), outer, forward=False)
    single = single_entries([node for node in order if node.payload is not None and node in active])
    pending: dict[Node, list[tuple[Node, Masked]]] = {}
    for node in reversed(order):
        if node in pending:
            whole = assemble(pending.pop(node), single, prefix)
            slopes[node] = whole if node not in slopes else add(slopes[node], whole, walk.keeps(node))
        if node not in slopes or node in independent or not node.args:
            continue
        slope = slopes.pop(node) if node not in cotangents else slopes[node]
        if node in single and not is_structured(slope.value):
            pending.setdefault(node.args[0], []).append((node, slope))
            continue
        if node.op in TRANSPOSED:
            _pull_together(node, slope, [arg in active for arg in node.args], slopes, prefix, walk)
            continue
        seen = by_factors(node, independent) if node.op in BY_FACTORS else node
        if not prefix and not node.shape and slope.mask is None and seen.op in FUNCTIONS:
            _pull_number(seen, slope, active, slopes, walk)
            continue
        for i, arg in enumerate(seen.args):
            if arg not in active or (i and seen.op in FIRST):
                continue
            if seen.is_custom and not _has_rule(seen, i, partial(_moves, arg, wrt)):
                continue
            part = _pull_arg(seen, i, slope, prefix, walk)
            if part is not None:
                known = slopes.get(arg)
                slopes[arg] = part if known is None else add(known, part, walk.keeps(arg))
    return [slopes.get(node) for node in wrt]


def _pull_together(node: Node, slope: Masked, wanted: Sequence[bool], slopes: Slopes, prefix: int, walk: Walk) -> None:
    """Pull a cotangent back to all arguments that are wanted at once."""
    whole, (rest,) = split(slope)
    given = Masked(slope.settle(), None) if rest.mask is None else rest
    for arg, part in zip(node.args, TRANSPOSED[node.op](node, given, wanted, prefix, walk), strict=True):
        if part is not None:
            one, known = Masked(part.value, both(whole, part.mask), whole is None and part.settled), slopes.get(arg)
            slopes[arg] = one if known is None else add(known, one, walk.keeps(arg))


def _pull_number(node: Node, slope: Masked, active: Container[Node], slopes: Slopes, walk: Walk) -> None:
    """Pull a number, the cotangent of a function of numbers, back to those of its arguments that are active."""
    constants = constant_partials(node.op)
    for i, arg in enumerate(node.args):
        if arg in active:
            factor, condition = partial_of(node, i) if constants is None else (constants[i], None)
            if factor is None:
                continue
            part = scaled_by(node, factor, slope, condition, condition is not None and arg in walk.carried)
            known = slopes.get(arg)
            slopes[arg] = part if known is None else add(known, part, walk.keeps(arg))


def _pull_arg(node: Node, i: int, slope: Masked, prefix: int, walk: Walk) -> Masked | None:
    op, arg = node.op, node.args[i]
    if node.is_barrier:
        return None
    if op in LINEAR:
        return _move_linear(node, i, slope, prefix, walk, back=True)
    if op in DIFFERENTIALS or node.is_custom:
        return _pull_operation(node, i, slope, prefix, walk)
    factor, condition = partial_of(node, i)
    if factor is None:
        return None
    scaled = scaled_by(node, factor, slope, condition, arg in walk.carried)
    return shrink(scaled, prefix, arg.shape, walk.keeps(arg))


def _pull_operation(node: Node, i: int, slope: Masked, prefix: int, walk: Walk) -> Masked:
    arg, kept = node.args[i], node.args[i] in walk.carried
    if node.op in SELECTING and kept:
        pulled = _transpose(node, i, Masked(slope.settle(), None), prefix, walk)
        return Masked(pulled, selected(node, arg, slope, prefix))
    known = kept or walk.may_divide(node)
    if not known:
        whole, (slope,) = split(slope)
        if whole is not None:
            part = _pull_operation(node, i, slope, prefix, walk)
            return Masked(part.value, both(whole, part.mask))
    if slope.mask is None:
        return Masked(_transpose(node, i, slope, prefix, walk), None)
    mask, wider = within(node, slope.mask)
    value = slope.settle() if wider else slope.value
    # columns of a solution, and what an author wrote, are looked at one by one
    apart = node.op in ("custom", *OF_MATRICES) or (node.op == "solve" and i == 0 and not is_single(mask))
    pulled = _transpose(node, i, Masked(value, mask if apart else None), prefix, walk)
    if wider and not (known or walk.data):
        return Masked(pulled, None)
    return Masked(pulled, pull_reach(node, arg, mask))


def _transpose(node: Node, i: int, slope: Masked, prefix: int, walk: Walk) -> Node:
    """Pull back through an array operation by transposing its differential."""
    known = LINEAR_IN.get((node.op, i))
    if known is not None:
        return known(node, i, slope.settle(), prefix)
    if node.op in PULLS and (own := PULLS[node.op](node, i, slope.settle(), prefix)) is not None:
        return own
    if node.is_custom and node.payload.rule.form != "differential":
        return _custom_pull(node, i, slope, prefix, walk)
    direction = placeholder(("direction", node.op, i), node.args[i].shape)
    directions = [direction if j == i else None for j in range(len(node.args))]
    if node.is_custom:
        image = _push_custom(node, [None if d is None else Masked(d, None) for d in directions], (), walk)
    else:
        image = _differential(node, directions, ())
    (pulled,) = pull({image: slope}, [direction], prefix, walk)
    return zeros((*slope.value.shape[:prefix], *direction.shape)) if pulled is None else pulled.settle()


# ---------------------------------------------------------------------------- operations as a whole


def _differential(node: Node, directions: Sequence[Node | None], seed: Shape) -> Node:
    shown = [None if d is None or is_zero(d) else d for d in directions]
    if all(d is None for d in shown):
        return zeros((*seed, *node.shape))
    result = DIFFERENTIALS[node.op](node, shown)
    return result if result.shape == (*seed, *node.shape) else broadcast_to(result, (*seed, *node.shape))


def _push_custom(node: Node, moving: Sequence[Masked | None], seed: Shape, walk: Walk) -> Node:
    rule: CustomRule = node.payload.rule
    prefix = len(seed)
    if rule.form == "differential":
        given = {k: slope for k, slope in enumerate(moving) if slope is not None}
        return _image(node, 0, given, prefix, walk)
    total: Node | None = None
    for i, slope in enumerate(moving):
        if slope is not None:
            part = None if rule.form != "vjp" else _transposed_image(node, i, slope, prefix, walk)
            if part is None:
                part = contract_tangent(_custom_jacobian(node, i, walk), slope, node.args[i].ndim, prefix)
            total = part if total is None else elementwise("add", (total, part))
    assert total is not None
    return total


def _transposed_image(node: Node, i: int, slope: Masked, prefix: int, walk: Walk) -> Node | None:
    """Push a tangent through a rule that pulls: it is linear in the cotangent, and its transpose is the differential.

    None for a rule with a function that only Python knows, which has no transpose.
    """
    cotangent = placeholder(("cotangent", node.payload.rule), node.shape)
    image = _image(node, i, {0: Masked(cotangent, None)}, 0, walk)
    order = postorder([image])
    if any(one.op == "external" for one in dependents(order, {cotangent})):
        return None
    (pushed,) = pull({image: slope}, [cotangent], prefix, walk)
    return zeros((*slope.value.shape[:prefix], *node.shape)) if pushed is None else pushed.settle()


def _image(node: Node, which: int, given: Mapping[int, Masked], prefix: int, walk: Walk) -> Node:
    """Return an image of a custom rule at the node's arguments, for the seeds ``given`` by number."""
    rule: CustomRule = node.payload.rule
    if rule.form == "vjp" and not prefix and given[0].mask is None:
        seeds = dict(zip((*rule.parameters, *rule.seeds), (*node.args, given[0].value), strict=True))
        return substitute([rule.images[which]], seeds | rule.stand_ins(node))[0]
    # it is written for one seed: put a placeholder in, then push all of them through, since it is linear
    stand_in = [placeholder(("seed", rule, k), seed.shape) for k, seed in enumerate(rule.seeds)]
    written = dict(zip((*rule.parameters, *rule.seeds), (*node.args, *stand_in), strict=True)) | rule.stand_ins(node)
    (image,) = substitute([rule.images[which]], written)
    if rule.form == "jacobian":
        return image
    (pushed,) = push([image], {stand_in[k]: slope for k, slope in given.items()}, prefix, walk)
    lead = next(iter(given.values())).value.shape[:prefix]
    return zeros((*lead, *image.shape)) if pushed is None else pushed.settle()


def _has_rule(node: Node, i: int, moves: Callable[[], bool]) -> bool:
    """Tell whether a custom function has a derivative with respect to argument ``i``; a captured one has none.

    Raises
    ------
    NotDifferentiableError
        If the value changes with a captured array that ``moves``.
    """
    rule: CustomRule = node.payload.rule
    if i < rule.arity:
        return True
    captured = rule.captured[i - rule.arity]
    if captured.counts and moves():
        raise NotDifferentiableError(
            f"{rule.name} uses {captured.title} without taking it as an argument, so its rule gives no derivative "
            "with respect to it; pass it as an argument, or use stop_gradient of it to hold it fixed"
        )
    return False


def _moves(node: Node, wrt: Sequence[Node]) -> bool:
    """Tell whether ``node`` depends smoothly on any of ``wrt``, which barriers and steps may prevent."""
    (slope,) = pushforward([node], {w: w for w in wrt})
    return slope is not None and not is_zero(slope)


def _custom_pull(node: Node, i: int, slope: Masked, prefix: int, walk: Walk) -> Node:
    if node.payload.rule.form == "vjp":
        return _image(node, i, {0: slope}, prefix, walk)
    block = _custom_jacobian(node, i, walk)
    lead = tuple(range(-prefix, 0))
    labels = tuple(range(block.ndim))
    own, result = labels[: node.ndim], labels[node.ndim :]
    given = [(*lead, *own), labels]
    return times_block(LinearProduct([slope.value, block], given, (*lead, *result), {}, 0, own, result), slope)


def _custom_jacobian(node: Node, i: int, walk: Walk) -> Node:
    """Return d node / d args[i], shape node + argument, from whichever derivative the author gave."""
    if node.payload.rule.form == "jacobian":
        return _image(node, i, {}, 0, walk)
    return _custom_pull(node, i, Masked(identity(node.shape), None), node.ndim, walk)
