"""Loops made less: products that no step waits for are taken out, and loops of the same steps are one.

**Products that no step has to wait for**: many small ones become one large one. Before a loop stands what multiplies
rows by what is held: W x_k for all k is X Wᵀ. Behind it stands a sum of products that is carried along and read by
nothing else, as the gradient with respect to a matrix is: Σ_k a_k b_kᵀ is AᵀB, where the loop writes a_k and b_k
down. Both are kept as arrays, so they are lifted only where they are small beside what is read or carried anyway, and
no step is lifted whose product is as cheap as reading its result.

**Loops of the same steps**: a value beside its derivative, and the states that a way back reads. Two carried arrays
are equal in every step where they start equal and have equal updates. Which ones are is found by partition
refinement: arrays that start equal form a class, and a class is split where updates differ, until nothing changes
(Hopcroft 1971, for the states of automata).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..graph import (
    Node,
    canonical,
    contract,
    dependents,
    inputs_of,
    joined_results,
    label_sizes,
    placeholder,
    postorder,
    rebuild,
    recurrence,
    results_of,
    substitute,
    with_results,
)
from ..graph.kinds import REPEATED
from ..graph.primitives import Body
from ..graph.scalars.arithmetic import scaled
from ..rewrite import simplify
from .recurrence import KEPT

__all__ = ["added_to", "join", "join_recurrences", "lift_products"]


def join_recurrences(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with one loop for those that have carried arrays in common."""
    current = list(roots)
    while any(root.below & REPEATED for root in current):
        found = _joined(current)
        if found is None:
            break
        current = simplify(found)
    return current


def _joined(roots: Sequence[Node]) -> list[Node] | None:
    """Join the first two loops that may be; None where there are none."""
    order = postorder(roots)
    loops = [node for node in order if node.is_recurrence]
    for k, first in enumerate(loops):
        after = dependents(order, [first])
        for second in loops[k + 1 :]:
            if first.payload[1:] != second.payload[1:] or second in after:
                continue
            made = join(first, second, alike=True)
            if made is not None:
                return substitute(roots, dict(zip((first, second), made, strict=True)))
    return None


def join(first: Node, second: Node, *, alike: bool = False) -> tuple[Node, Node] | None:
    """Return two loops as parts of one; None where they are to be ``alike`` and carry nothing in common.

    The second may read rows that the first writes: a step has them before.
    """
    carried: list[tuple[Node, Node, Node, int]] = []  # placeholder, start, result, of which
    written: list[tuple[Node, int]] = []
    read: dict[Node, Node] = {}
    held: dict[Node, Node] = {}
    told: dict[Node, Node] = {}
    for which, node in enumerate((first, second)):
        body = node.payload.body
        count, rows = len(body.carried), len(body.carried) + len(body.read)
        own = {x: placeholder(("joined", which, k), x.shape) for k, x in enumerate(body.carried)}
        stand_in = dict(own)
        for what, given, inputs in (("rows", read, node.args[count:rows]), ("held", held, node.args[rows:])):
            for x, arg in zip(body.read if given is read else body.held, inputs, strict=True):
                if arg in told and given is read:
                    stand_in[x] = told[arg]
                else:
                    stand_in[x] = given.setdefault(arg, placeholder((what, len(given)), x.shape, x.dtype))
        results = substitute(body.results, stand_in)
        told = dict(zip(results_of(node)[count:], results[count:], strict=True))
        carried += [(own[x], start, result, which) for x, start, result in zip(own, node.args, results, strict=False)]
        written += [(result, which) for result in results[count:]]
    same = _classes([(x, start, result) for x, start, result, _ in carried])
    leaders = list(dict.fromkeys(same.values()))
    if alike and len(leaders) == len(carried):
        return None
    of = {x: (start, result) for x, start, result, _ in carried}
    after = substitute([of[x][1] for x in leaders] + [result for result, _ in written], same)
    outputs = list(dict.fromkeys(after[len(leaders) :]))
    body = Body(tuple(leaders), tuple(read.values()), tuple(held.values()), (*after[: len(leaders)], *outputs))
    starts = [of[x][0] for x in leaders]
    joined = recurrence(canonical(body), [*starts, *read, *held], *first.payload[1:])
    values = results_of(joined)
    made = []
    for which, node in enumerate((first, second)):
        pieces = [values[leaders.index(same[x])] for x, _, _, own in carried if own == which]
        rows_of = [after[len(leaders) + k] for k, (_, own) in enumerate(written) if own == which]
        pieces += [values[len(leaders) + outputs.index(result)] for result in rows_of]
        made.append(joined_results(node, pieces))
    return made[0], made[1]


def _classes(carried: Sequence[tuple[Node, Node, Node]]) -> dict[Node, Node]:
    """Return for each carried array the first of those that are always equal to it."""
    leader: dict[object, Node] = {}
    same = {x: leader.setdefault((start, x.shape), x) for x, start, _ in carried}
    while True:
        results = substitute([result for _, _, result in carried], same)
        leader = {}
        finer = {
            x: leader.setdefault((same[x], result), x) for (x, _, _), result in zip(carried, results, strict=True)
        }
        if finer == same:
            return same
        same = finer


#: Multiplications of a step from which a product is worth an array of its own.
LEAST = 128
#: Elements that are kept for a step, at most, for one that the step reads; a sum has so many for each that is written.
GROWTH = 4


class _Loop(NamedTuple):
    """A recurrence in parts: placeholders with what they are given, and results by carried placeholder."""

    carried: dict[Node, Node]
    read: dict[Node, Node]
    held: dict[Node, Node]
    after: dict[Node, Node]
    written: list[Node]


def lift_products(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with products before and behind the loops that need not be in them."""
    lifted = _lift(roots)
    return list(roots) if lifted == list(roots) else simplify(lifted)


def _lift(roots: Sequence[Node]) -> list[Node]:
    if not any(root.below & REPEATED for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        args = tuple([new[arg] for arg in node.args])
        new[node] = _of_loop(node, args) if node.is_recurrence else rebuild(node, args) if args else node
    return [new[root] for root in roots]


def _of_loop(node: Node, args: Sequence[Node]) -> Node:
    """Return the value of a loop, whose arguments are lifted, by one without products that need not be in it."""
    body, length, reverse = node.payload
    first, second = len(body.carried), len(body.carried) + len(body.read)
    inside = _lift(body.results)
    loop = _Loop(
        dict(zip(body.carried, args, strict=False)),
        dict(zip(body.read, args[first:second], strict=True)),
        dict(zip(body.held, args[second:], strict=True)),
        dict(zip(body.carried, inside, strict=False)),
        inside[first:],
    )
    with_rows = _with_rows(loop)
    count = len(loop.written)
    sums = _behind(with_rows)
    if isinstance(length, int) and length * sum(_numbers(x) for x in with_rows.written[count:]) > KEPT:
        del with_rows.written[count:]
        sums = {}
    if with_rows is loop and not sums:
        return with_results(node, tuple(args), inside)
    loop = with_rows
    after = {x: _sum([x, *sums[x].rest]) if x in sums else result for x, result in loop.after.items()}
    carried = [x for x in body.carried if x not in sums or sums[x].rest]
    results = [*(after[x] for x in carried), *loop.written]
    found = set(inputs_of(results))
    read, held = [x for x in loop.read if x in found], [x for x in loop.held if x in found]
    own = canonical(Body(tuple(carried), tuple(read), tuple(held), tuple(results)))
    given = {**loop.carried, **loop.read, **loop.held}
    values = results_of(recurrence(own, [given[x] for x in (*carried, *read, *held)], length, reverse))
    last = loop.carried | dict(zip(carried, values, strict=False))
    rows = dict(zip(loop.written, values[len(carried) :], strict=True))
    for x, several in sums.items():
        last[x] = _sum([last[x], *(_over_rows(product, loop, rows) * scale for scale, product in several.products)])
    pieces = [*(last[x] for x in body.carried), *values[len(carried) : len(carried) + count]]
    return joined_results(node, pieces)


def _sum(addends: Sequence[Node]) -> Node:
    total = addends[0]
    for one in addends[1:]:
        total = total + one
    return total


def _numbers(x: Node) -> int:
    return x.size if isinstance(x.size, int) else KEPT


# ---------------------------------------------------------------------------- before


def _with_rows(loop: _Loop) -> _Loop:
    """Return a loop that reads products of its rows with what it holds."""
    results = [*loop.after.values(), *loop.written]
    made: dict[Node, Node] = {}
    read = dict(loop.read)
    for node in postorder(results):
        if _is_of_rows(node, loop):
            made[node] = placeholder(("lifted", len(made)), node.shape)
            read[made[node]] = _rows_of(node, {**loop.read, **loop.held}, loop.read)
    if not made:
        return loop
    new = substitute(results, made)
    after = dict(zip(loop.after, new, strict=False))
    written = new[len(after) :]
    return loop._replace(read=read, after=after, written=written)


def _is_of_rows(node: Node, loop: _Loop) -> bool:
    """Tell whether a node is a product of rows with what is held, worth to be made of all rows at once."""
    if not node.is_contraction or not all(_is_there(arg, loop) for arg in node.args):
        return False
    rows = [arg.size for arg in node.args if arg in loop.read]
    sizes = label_sizes(node).values()
    numbers = [size for size in (*rows, *sizes, node.size) if isinstance(size, int)]
    if not rows or len(numbers) < len(rows) + len(sizes) + 1:
        return False
    read, work, made = sum(numbers[: len(rows)]), prod(numbers[len(rows) : -1]), numbers[-1]
    return work >= LEAST and work >= GROWTH * made and made <= GROWTH * read


def _rows_of(node: Node, given: dict[Node, Node], moving: dict[Node, Node]) -> Node:
    """Return a product for all rows: they are one more label, the first of the result."""
    labels, out, _ = node.payload
    sizes = label_sizes(node)
    row = 1 + max(sizes, default=0)
    own = [(row, *each) if arg in moving else each for arg, each in zip(node.args, labels, strict=True)]
    return contract([given.get(arg, arg) for arg in node.args], own, (row, *out), sizes)


# ---------------------------------------------------------------------------- behind


class _Addends(NamedTuple):
    """Terms that a step adds to a sum: products, with numbers in front, that are made behind the loop, and the rest."""

    products: list[tuple[float, Node]]
    rest: list[Node]


def _behind(loop: _Loop) -> dict[Node, _Addends]:
    """Return the sums that are made behind the loop, which writes down what their products are of."""
    found = {}
    for x, result in loop.after.items():
        others = [other for own, other in loop.after.items() if own is not x]
        rest = added_to(x, result)
        products = [(scale, one) for scale, one in rest if one.shape == x.shape and _is_large(one, loop)]
        stays = [one if scale == 1 else one * scale for scale, one in rest if (scale, one) not in products]
        if products and x not in inputs_of([*others, *loop.written, *(one for _, one in rest)]):
            found[x] = _Addends(products, stays)
            for _, product in products:
                for arg in product.args:
                    if not _is_there(arg, loop) and arg not in loop.written:
                        loop.written.append(arg)
    return found


def added_to(x: Node, result: Node) -> list[tuple[float, Node]]:
    """Return what a step adds to x, each with the number in front of it; nothing where it does more with x."""
    terms = _addends(result)
    rest = [(scale, one) for scale, one in terms if one is not x]
    return rest if len(rest) == len(terms) - 1 and (1.0, x) in terms else []


def _addends(node: Node, scale: float = 1.0) -> list[tuple[float, Node]]:
    """Return what is added up, each with the number in front of it; what is repeated along an axis is not opened."""
    if node.is_additive:
        a, b = node.args
        pairs = (a, scale), (b, scale if node.is_addition else -scale)
        return [
            pair for arg, own in pairs for pair in (_addends(arg, own) if arg.shape == node.shape else [(own, arg)])
        ]
    own, inner = scaled(node)
    return [(scale, node)] if inner is node or inner.shape != node.shape else _addends(inner, scale * own)


def _is_there(arg: Node, loop: _Loop) -> bool:
    return arg in loop.read or arg in loop.held or arg.is_constant


def _is_large(node: Node, loop: _Loop) -> bool:
    """Tell whether a product has many more elements than what it is of, which are to be kept."""
    if not node.is_contraction or not isinstance(node.size, int) or node.size < LEAST:
        return False
    sizes = [arg.size for arg in node.args if arg not in loop.held]
    numbers = [size for size in sizes if isinstance(size, int)]
    return 0 < len(sizes) == len(numbers) and GROWTH * sum(numbers) <= node.size


def _over_rows(node: Node, loop: _Loop, rows: dict[Node, Node]) -> Node:
    """Return the sum of a product over all steps: they are one more label, which the result lacks."""
    labels, out, _ = node.payload
    sizes = label_sizes(node)
    row = 1 + max(sizes, default=0)
    moving = {**loop.read, **rows}
    own = [(row, *each) if arg in moving else each for arg, each in zip(node.args, labels, strict=True)]
    given = {**loop.held, **moving}
    return contract([given.get(arg, arg) for arg in node.args], own, out, sizes)
