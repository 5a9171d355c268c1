"""The formula of one sample as the formula of a whole call: the batch becomes an axis like any other.

What depends on an input with a batch axis has that axis in front, and what depends on none has not: it is computed
once a call. A product of shared weights with samples is an ordinary product of matrices then, and a sum over
the batch is a contraction. Nothing behind this pass knows of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from ...calculus.linearity import is_linear, linear_places
from ...graph import (
    BOOL,
    Item,
    Node,
    arrange,
    axes_of,
    broadcast_to,
    canonical,
    concatenate,
    contract,
    cumulative,
    dependents,
    elementwise,
    extent,
    external,
    gather,
    matrix,
    normalize,
    number,
    pad,
    parts_of,
    placeholder,
    postorder,
    put,
    rebuild,
    recurrence,
    reduce,
    reshape,
    result_of,
    scatter,
    slicing,
    take,
    transpose,
    triangle,
    whole,
)
from ...graph.deltas.einsum import einsum, is_zero
from ...graph.kinds import INLINED
from ...graph.primitives import CUMULATIVE, INNER, MATRIX_OPS, NORMALIZATIONS, REDUCTIONS, Body, complete
from ...graph.scalars.arithmetic import SUMS
from ...graph.scalars.functions import to_real
from ...graph.sizes import Dim, product
from .access import BATCH

__all__ = ["Lifted", "lift"]


class Lifted(NamedTuple):
    """A formula of all samples at once.

    Parameters
    ----------
    inputs : tuple of Node
        Those of one sample, with the batch's axis in front where they have it.
    outputs : tuple of Node
        The same, or sums over the batch.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]


def lift(inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], *, total: bool = False) -> Lifted:
    """Give a formula the axis of the batch.

    Parameters
    ----------
    inputs : sequence of Node
        Of the formula of one sample.
    outputs : sequence of Node
        Without names, barriers and custom functions.
    batched : sequence of bool
        Which inputs have the axis.
    total : bool
        Sum every output over the batch; what does not depend on the samples is multiplied by their number.

    Examples
    --------
    >>> from symdiff.graph import input, matmul
    >>> x = input("x", (3,))
    >>> lift([x], [elementwise("exp", (x,))], [True]).outputs[0].shape
    ((batch), 3)
    """
    if not any(batched):
        return Lifted(tuple(inputs), tuple(outputs))
    new: dict[Node, Node] = {}
    for k, (node, has) in enumerate(zip(inputs, batched, strict=True)):
        whole_call = (BATCH, *node.shape)
        new[node] = placeholder(("call", k, node.name), whole_call, node.dtype, node.assumptions) if has else node
    lifted = {node for node, has in zip(inputs, batched, strict=True) if has}
    for node in postorder(outputs):
        if node in new:
            continue
        args = [new.get(arg, arg) for arg in node.args]
        if lifted.isdisjoint(node.args):
            new[node] = node
            continue
        lifted.add(node)
        has_axis = [arg in lifted for arg in node.args]
        rule = _RULES.get(node.op, _elementwise)
        new[node] = rule(node, args, has_axis)
    results = []
    for node in outputs:
        result = new[node]
        if total:
            result = _summed(node, new, lifted)
        elif node not in lifted:
            result = broadcast_to(result, (BATCH, *node.shape))
        results.append(result)
    return Lifted(tuple(new[node] for node in inputs), tuple(results))


Rule = Callable[[Node, list[Node], list[bool]], Node]


def _elementwise(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    aligned = [
        reshape(arg, (BATCH, *(1,) * (node.ndim - old.ndim), *old.shape)) if has and old.ndim < node.ndim else arg
        for old, arg, has in zip(node.args, args, has_axis, strict=True)
    ]
    return elementwise(node.op, tuple(aligned), node.dtype)


def _contract(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    labels, out, repeated = node.payload
    axis = 1 + max([label for own in (*labels, out) for label in own], default=0)
    own = [(axis, *each) if has else each for each, has in zip(labels, has_axis, strict=True)]
    return contract(args, own, (axis, *out), dict(repeated))


def _summed(node: Node, new: Mapping[Node, Node], lifted: Collection[Node]) -> Node:
    """Sum an output over the batch, below loops and solutions that are linear in what differs among samples.

    The derivative of the exponential of a shared matrix is such a loop: it runs once then, and not for each sample.
    """
    places: dict[Node, tuple[int, ...]] = {}
    order: list[Node] = []
    stack = [node] if node in lifted else []
    while stack:
        each = stack.pop()
        found = _linear_places(each, lifted) if each.args and each.dtype is not BOOL else None
        if each in places or found is None:
            continue
        places[each] = found
        stack += [each.args[k] for k in found if each.args[k] in lifted]
    if any(each.is_recurrence or each.op in MATRIX_OPS for each in places):
        order = [each for each in postorder([node]) if each in places]
    sums: dict[Node, Node] = {}

    def of(arg: Node) -> Node:
        if arg not in sums and is_zero(arg):
            return to_real(arg)
        if arg not in sums:
            counted = elementwise("multiply", (to_real(arg), extent(BATCH)))
            sums[arg] = _total(to_real(new[arg])) if arg in lifted else counted
        return sums[arg]

    for each in order:
        args = tuple([of(arg) if k in places[each] else arg for k, arg in enumerate(each.args)])
        if each.is_recurrence:
            sums[each] = _summed_loop(rebuild(each, args), _differing(each, lifted))
        else:
            part = _joined_part(args[0], each.payload.items[0]) if each.is_slice and args[0].ndim == 1 else None
            sums[each] = rebuild(each, args) if part is None else part
    return of(node)


def _summed_loop(made: Node, moving: Sequence[bool]) -> Node:
    """Return the results of a loop over sums; those that differ in no sample are there once for each."""
    flat = []
    for part, moves in zip(parts_of(made), moving, strict=True):
        result = result_of(made, part)
        each = result if moves else elementwise("multiply", (result, extent(BATCH)))
        flat.append(reshape(each, (product(each.shape),)))
    return concatenate(flat, 0) if len(flat) > 1 else flat[0]


def _joined_part(x: Node, item: Item) -> Node | None:
    """Return the one of joined arrays that a slice along the last axis takes, if it is one."""
    start: Dim = 0
    for part in x.args if x.is_concatenation and x.payload.axis == -1 else ():
        if item == (start, 1, part.shape[-1]):
            return part
        start = start + part.shape[-1]
    return None


def _linear_places(node: Node, lifted: Collection[Node]) -> tuple[int, ...] | None:
    """Return the arguments in which a node that differs from sample to sample is linear together, None for others."""
    if not node.is_recurrence:
        return linear_places(node, lifted)
    body: Body = node.payload.body
    own, has = [*body.carried, *body.read, *body.held], _moving(body, [arg in lifted for arg in node.args])
    if not is_linear(body.results, [x for x, moves in zip(own, has, strict=True) if moves]):
        return None
    return tuple([k for k, moves in enumerate(has) if moves])


def _differing(node: Node, lifted: Collection[Node]) -> list[bool]:
    """Return which results of a loop differ from sample to sample."""
    body: Body = node.payload.body
    return _lifted_results(body, _moving(body, [arg in lifted for arg in node.args]))


def _total(node: Node) -> Node:
    """Sum over the first axis, within the terms of sums and the factors of products."""
    axes = tuple(range(1, node.ndim))
    outer = any(_is_outer(arg) for arg in node.args)
    if outer and node.op in SUMS and all(arg.shape == node.shape for arg in node.args):
        return elementwise(node.op, tuple(_total(arg) for arg in node.args))
    if node.is_multiplicative:
        a, b = node.args
        for scale, rest, swapped in ((b, a, False), (a, b, True)):
            # an infinite number times a sum is another thing than a sum of infinities
            simple = number(scale) is not None or _is_outer(rest)
            if not scale.ndim and rest.shape == node.shape and simple and not (swapped and node.is_division):
                total = _total(rest)
                return elementwise(node.op, (scale, total) if swapped else (total, scale))
    if outer and node.is_multiplication:
        labels = [_aligned(arg, node) for arg in node.args]
        parts = [_without_ones(arg, own) for arg, own in zip(node.args, labels, strict=True)]
        return einsum(parts, [tuple(label for label in own if label is not None) for own in labels], axes)
    if node.is_reshape and node.args[0].shape[:1] == (BATCH,):
        return reshape(_total(node.args[0]), node.shape[1:])
    return einsum([to_real(node)], [(0, *axes)], axes)


def _without_ones(node: Node, labels: Sequence[int | None]) -> Node:
    """Return an operand without the axes of length 1 that are repeated."""
    return slicing(
        node,
        tuple((0, 1, None) if label is None else whole(size) for label, size in zip(labels, node.shape, strict=True)),
    )


def _is_outer(node: Node) -> bool:
    """Tell whether a node may be a product that grows: its sum over the batch is a product of matrices."""
    while node.op in ("negative", "multiply", "divide", "add", "subtract", "reshape") and node.args:
        wide = [arg for arg in node.args if arg.size == node.size]
        if len(wide) != 1:
            break
        node = wide[0]
    return node.is_contraction and len(node.args) > 1


def _aligned(arg: Node, node: Node) -> list[int | None]:
    """Return the axis of a result that each axis of an operand goes along, None for what is repeated."""
    offset = node.ndim - arg.ndim
    return [
        None if size == 1 and node.shape[offset + axis] != 1 else offset + axis for axis, size in enumerate(arg.shape)
    ]


def _take(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    x, at = args
    shared = node.payload.shared
    if not has_axis[1]:
        return take(x, at, node.payload.axis + x.ndim, shared)
    # each sample has positions of its own; its axis stays the first, and the axes before go behind
    lead = node.payload.axis + node.args[0].ndim - shared
    if not has_axis[0] and not shared:
        return _from_behind(take(_to_behind(x, 0, lead, 1), at, 0), 1, lead, at.ndim - 1)
    if not has_axis[0]:
        x = broadcast_to(x, (BATCH, *x.shape))
    return _from_behind(take(_to_behind(x, 1, lead, shared + 1), at, shared + 1, shared + 1), 1, lead, at.ndim - 1)


def _arrange(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    x, key = args
    axis, back = node.payload
    if not has_axis[1]:
        return arrange(x, key, axis + key.ndim, back)
    # each sample has an order of its own
    if not has_axis[0]:
        x = broadcast_to(x, (BATCH, *x.shape))
    if x.ndim > key.ndim:
        key = broadcast_to(reshape(key, (BATCH, *[1] * (x.ndim - key.ndim), *key.shape[1:])), x.shape)
    return arrange(x, key, axis + key.ndim, back)


def _put(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    x, at = args
    size, shared = node.shape[node.payload.axis], node.payload.shared
    lead = node.payload.axis + node.ndim - shared  # before the axes that have positions of their own
    if not has_axis[1]:
        return put(x, at, lead + shared + 1, size, shared)
    if not has_axis[0]:
        x = broadcast_to(x, (BATCH, *x.shape))
    own = at.ndim - 1
    return _from_behind(put(_to_behind(x, 1, lead, own), at, shared + 1, size, shared + 1), 1, lead, shared + 1)


def _to_behind(x: Node, first: int, lead: int, own: int) -> Node:
    """Move ``lead`` axes from ``first`` on behind the ``own`` axes after them."""
    start, middle = first + lead, first + lead + own
    return transpose(x, (*range(first), *range(start, middle), *range(first, start), *range(middle, x.ndim)))


def _from_behind(x: Node, first: int, lead: int, own: int) -> Node:
    """Move ``lead`` axes back before the ``own`` axes from ``first`` on."""
    return _to_behind(x, first, own, lead)


def _recurrence(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    """Run all samples in one loop: what any step makes of samples has their axis, which stands before that of rows."""
    body, length, reverse = node.payload
    first, second = len(body.carried), len(body.carried) + len(body.read)
    has = _moving(body, has_axis)
    lifted = lift([*body.carried, *body.read, *body.held], body.results, has)
    results = list(lifted.outputs)
    for k in range(first):  # what no sample changes is carried on as it is
        if not has[k]:
            (results[k],) = body.results[k : k + 1]
    given = []
    for k, arg in enumerate(args):
        every = broadcast_to(arg, (BATCH, *arg.shape)) if has[k] and not has_axis[k] else arg
        given.append(_to_rows(every) if first <= k < second and has[k] else every)
    groups = tuple(lifted.inputs[:first]), tuple(lifted.inputs[first:second]), tuple(lifted.inputs[second:])
    made = recurrence(canonical(Body(*groups, tuple(results))), given, length, reverse)
    flat = []
    for k, part in enumerate(parts_of(made)):
        result = result_of(made, part)
        if k >= first:
            result = transpose(result, (1, 0, *range(2, result.ndim)))
        elif not has[k]:
            result = broadcast_to(result, (BATCH, *result.shape))
        flat.append(reshape(result, (BATCH, product(result.shape[1:]))))
    return concatenate(flat, 1) if len(flat) > 1 else flat[0]


def _external(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    """Call a function for each sample: the axis of samples stands before those of other calls."""
    lead = node.ndim - len(node.payload.shape)
    given = []
    for arg, own, axes, has in zip(args, node.args, node.payload.axes, has_axis, strict=True):
        missing = lead - (own.ndim - axes)
        given.append(reshape(arg, (BATCH, *(1,) * missing, *own.shape)) if has and missing else arg)
    return external(node.payload, given)


def _to_rows(x: Node) -> Node:
    turned = transpose(x, (1, 0, *range(2, x.ndim)))
    # rows that another loop wrote are turned already
    if x.is_contraction and len(x.args) == 1 and transpose(x.args[0], (1, 0, *range(2, x.ndim))) is x:
        return x.args[0]
    return turned


def _slice(node: Node, args: list[Node], has_axis: list[bool]) -> Node:
    """Take a part of each sample: of what a loop gives, which is joined, the one that was written."""
    (x,) = args
    items = (whole(BATCH), *node.payload.items)
    part = _joined_part(x, items[1]) if x.ndim == 2 and x.shape[0] == BATCH else None
    return slicing(x, items) if part is None else part


def _moving(body: Body, has_axis: Sequence[bool]) -> list[bool]:
    """Return which inputs of a loop's body differ from sample to sample, in some turn."""
    has = list(has_axis)
    while late := [k for k, moves in enumerate(_lifted_results(body, has)[: len(body.carried)]) if moves > has[k]]:
        for k in late:
            has[k] = True
    return has


def _lifted_results(body: Body, has: Sequence[bool]) -> list[bool]:
    own = [*body.carried, *body.read, *body.held]
    found = dependents(postorder(body.results), {x for x, moves in zip(own, has, strict=True) if moves})
    return [node in found for node in body.results]


_RULES: dict[str, Rule] = {
    "recurrence": _recurrence,
    "external": _external,
    "contract": _contract,
    "slice": _slice,
    "pad": lambda n, a, _: pad(a[0], (whole(BATCH), *n.payload.items), (BATCH, *n.shape)),
    "gather": lambda n, a, _: gather(a[0], n.payload.axis + a[0].ndim, n.payload.indices),
    "scatter": lambda n, a, _: scatter(
        a[0], n.payload.axis + a[0].ndim, n.payload.indices, n.shape[n.payload.axis]
    ),
    "take": _take,
    "put": _put,
    "arrange": _arrange,
    "reshape": lambda n, a, _: reshape(a[0], (BATCH, *n.shape)),
    "concatenate": lambda n, a, has: concatenate(
        [
            part if own else broadcast_to(part, (BATCH, *part.shape))
            for part, own in zip(a, has, strict=True)
        ],
        n.payload.axis + n.ndim + 1,
    ),
    "triangle": lambda n, a, _: triangle(a[0], n.payload.upper, n.payload.offset),
    **dict.fromkeys(CUMULATIVE, lambda n, a, _: cumulative(n.op, a[0], n.payload.axis + a[0].ndim, n.payload.reverse)),
    **dict.fromkeys(REDUCTIONS, lambda n, a, _: reduce(n.op, a[0], axes_of(n, a[0]))),
    **dict.fromkeys(NORMALIZATIONS, lambda n, a, _: normalize(n.op, a[0], axes_of(n, a[0]))),
    **dict.fromkeys(MATRIX_OPS, lambda n, a, _: matrix(n.op, *a)),
}
complete(_RULES, "symdiff.lowering.plan.batch", INNER, INLINED)
