"""Rewrites of array operations: contractions, slices, inverses, paddings."""

from __future__ import annotations

from functools import partial, reduce
from itertools import permutations

import numpy as np

from ..graph import (
    BOOL,
    REAL,
    Item,
    Node,
    broadcast_shapes,
    broadcast_to,
    concatenate,
    constant,
    contract,
    elementwise,
    extent,
    matrix,
    number,
    pad,
    part_of_part,
    postorder,
    reshape,
    slicing,
    triangle,
    zeros,
)
from ..graph.deltas.affine import STRUCTURE, is_identity
from ..graph.deltas.einsum import add_terms, einsum, is_plain, is_structured, scale_by, signed_terms, structured_terms
from ..graph.deltas.structural import take_items
from ..graph.kinds import LOG_SUM, LOGARITHM
from ..graph.scalars.arithmetic import SUMS, scaled, terms_of
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Dim, Shape
from .facts import transposed
from .kept_range import is_tame
from .rewriter import make, rule, settle


@rule("contract", "a sum over no elements", "0")
def _sum_of_none(node: Node) -> Node | None:
    """Return zeros: a factor moved out of the sum may be infinite."""
    if len(node.args) < 2 and not node.args[0].is_multiplication:
        return None
    labels, out, _ = node.payload
    empty = any(
        size == 0 and label not in out
        for arg, own in zip(node.args, labels, strict=True)
        for size, label in zip(arg.shape, own, strict=True)
    )
    return zeros(node.shape) if empty and node.dtype is not BOOL else None


@rule("concatenate", "[x[0], x[1], x[2]], concatenate([x[:k], x[k:]])", "x[:3], x", "arrays", inside="slice reshape")
def _joined_parts(node: Node) -> Node | None:
    """Take parts of an array that follow one another as one part."""
    axis = node.payload.axis % node.ndim
    whole, begin, end = None, 0, None
    for arg in node.args:
        part = arg
        while node.ndim == 1 and part.is_reshape and part.args[0].ndim <= 1:
            (part,) = part.args
        if not part.is_slice or part.args[0].ndim != node.ndim or (whole is not None and part.args[0] is not whole):
            return None
        start, step, length = part.payload.items[axis]
        count = 1 if length is None else length
        others = [item for k, item in enumerate(part.payload.items) if k != axis]
        sizes = [size for k, size in enumerate(part.args[0].shape) if k != axis]
        if step != 1 or others != [(0, 1, size) for size in sizes] or (end is not None and start != end):
            return None
        (whole,) = part.args
        begin, end = (start if end is None else begin), start + count
    assert whole is not None  # a concatenation has parts
    assert end is not None
    items = [(0, 1, size) for size in whole.shape]
    items[axis] = (begin, 1, end - begin)
    return slicing(whole, tuple(items))


@rule("contract", "trace(eye(n))", "n", inside="delta")
def _trace_of_identity(node: Node) -> Node | None:
    """Count the ones of an identity that is summed along its diagonal, which no other factor has."""
    labels, out, repeated = node.payload
    for k, (arg, own) in enumerate(zip(node.args, labels, strict=True)):
        if not arg.is_delta or len(own) != 2 or own[0] != own[1] or not is_identity(arg):
            continue
        rest, others = (*node.args[:k], *node.args[k + 1 :]), (*labels[:k], *labels[k + 1 :])
        if own[0] not in out and not any(own[0] in other for other in others):
            return contract((extent(arg.shape[0]), *rest), ((), *others), out, dict(repeated))
    return None


@rule("triangle", "tril(tril(A)), tril(cholesky(A)), triu(cholesky(A)ᵀ)", "tril(A), cholesky(A), cholesky(A)ᵀ",
      inside="triangle cholesky contract")  # fmt: skip
def _half_of_half(node: Node) -> Node | None:
    """Leave out a half of what is zero elsewhere."""
    (x,), (upper, offset) = node.args, node.payload
    turned = transposed(x)
    if x.op == "cholesky" or (turned is not None and turned.op == "cholesky"):
        whole = offset <= 0 if upper else offset >= 0
        return x if whole and upper == (turned is not None) else None
    if x.op != "triangle":
        return None
    own, first = x.payload
    if own != upper:
        return None
    return x if (first >= offset if upper else first <= offset) else triangle(x.args[0], upper, offset)


#: Operations that put elements among zeros.
_PUTTING = frozenset(("pad", "scatter", "put"))


@rule("slice gather take negative add subtract multiply divide power pad scatter put concatenate",
      "2 * x[:0], pad(x[:0], (0, n)), concatenate([x, y[:0]])", "zeros(0), zeros(n), x", "arrays")  # fmt: skip
def _of_no_elements(node: Node) -> Node | None:
    """Return zeros for an array without elements and for one that none are put into, and join no such arrays."""
    if 0 in node.shape or (node.op in _PUTTING and 0 in node.args[0].shape):
        return zeros(node.shape)
    if not node.is_concatenation:
        return None
    axis = node.payload.axis
    parts = [part for part in node.args if part.shape[axis] != 0]
    return concatenate(parts, axis + node.ndim) if len(parts) < len(node.args) else None


@rule("contract", "Aᵀᵀ, sums of transposes, I A, (2 A) B", "A, sums, A, 2 (A B)")
def _contract_forms(node: Node) -> Node | None:
    labels, out, repeated = node.payload
    if len(labels) > 1 and all(own == out for own in labels) and not any(arg.op in STRUCTURE for arg in node.args):
        return reduce(partial(make, "multiply"), node.args)
    if node.dtype is BOOL or (is_plain(node) and not any(map(_is_scaled, node.args))):
        return None
    operands = list(node.args)
    if len(operands) == 1 and operands[0].shape == () and operands[0].op in SUMS:
        return None  # a repeated sum stays one, too
    factor = 1.0
    scalars: list[Node] = []
    for i, arg in enumerate(operands):
        if arg.shape == () and len(operands) == 1:
            break  # a repeated number stays one
        c, x = scaled(arg)
        if x.shape == arg.shape and c != 1.0:
            factor, operands[i] = factor * c, x
        elif len(node.args) > 1 or not repeated:
            lone = _lone_scalar(arg)
            # with another array, sums of products that this number is no factor of may overflow, or vanish
            tame = lone is not None and (len(operands) == 1 or is_tame(lone[0]))
            if lone is not None and tame and not _is_endless_without_elements(lone[0], arg):
                scalars.append(lone[0])
                operands[i] = lone[1]
    plain = tuple(operands) == node.args
    result = einsum(operands, labels, out, dict(repeated))
    if plain:
        return None if result is node else result
    for scalar in scalars:
        result = make("multiply", scalar, result)
    if factor == 1.0:
        return result
    return make("negative", result) if factor == -1.0 else make("multiply", constant(factor), result)


def _is_endless_without_elements(scalar: Node, arg: Node) -> bool:
    """Tell whether a scalar may be infinite at a size of 0 at which the sum of its multiples is 0."""
    if not scalar.below & (LOGARITHM | LOG_SUM):
        return False
    letters = {size for size in arg.shape if not isinstance(size, int)}
    return bool(letters) and any(not letters.isdisjoint(part.shape) for part in postorder([scalar]))


def _is_scaled(arg: Node) -> bool:
    """Tell whether a number, a sign or a scalar may be factored out of a factor."""
    if not arg.is_multiplication:
        return arg.is_negation
    a, b = arg.args
    return a.shape == () or b.shape == () if arg.shape else a.is_constant


@rule("contract", "A @ broadcast_to(v, (m, n))", "outer(sum(A, axis=1), v)", inside="contract")
def _repeated_factor(node: Node) -> Node | None:
    """Leave out axes along which a factor repeats, and which another one has, and sum each factor by itself."""
    labels, out, repeated = node.payload
    operands, own = list(node.args), list(labels)
    for place, arg in enumerate(node.args):
        if not arg.is_contraction or not arg.payload.repeated:
            continue
        inner, axes, again = arg.payload
        others = {label for k, each in enumerate(own) if k != place for label in each}
        left = [
            (axis, label)
            for axis, label in zip(axes, own[place], strict=True)
            if axis not in dict(again) or label not in others or own[place].count(label) > 1
        ]
        if len(left) < arg.ndim:
            operands[place] = contract(arg.args, inner, tuple(axis for axis, _ in left), dict(again))
            own[place] = tuple(label for _, label in left)
    if own == list(labels):
        return None
    for place, each in enumerate(own):
        wanted = {*out}.union(*[other for k, other in enumerate(own) if k != place])
        kept = tuple(label for label in dict.fromkeys(each) if label in wanted)
        if len(kept) < len({*each}):
            operands[place], own[place] = contract([operands[place]], [each], kept), kept
    return einsum(operands, own, out, dict(repeated))


@rule("contract", "(I - A)ᵀ", "I - Aᵀ", inside="add subtract negative")
def _transposed_sum(node: Node) -> Node | None:
    """Push a transpose into a sum whose terms hold deltas or transposes."""
    if len(node.args) != 1 or node.args[0].op not in SUMS:
        return None
    labels, out, repeated = node.payload
    if repeated or sorted(labels[0]) != sorted(out):
        return None
    terms = signed_terms(node.args[0])
    if terms is None or not any(t.op in STRUCTURE or t.is_contraction for _, t in terms):
        return None
    return add_terms([(sign, einsum([term], labels, out)) for sign, term in terms])


@rule("add subtract", "A ⊗ x + B ⊗ x", "(A + B) ⊗ x", "reading", inside="contract multiply negative")
def _common_outer_factor(node: Node) -> Node | None:
    """Factor an array that both products have, along axes of its own, out of their sum."""
    (p, a), (q, b) = (scaled(arg) for arg in node.args)
    if not a.is_contraction or not b.is_contraction or not a.shape == b.shape == node.shape:
        return None
    common = {key for key in _own_factors(a).values() if key in _own_factors(b).values()}
    taken = {place for _, places in common for place in places}
    kept = [axis for axis in range(node.ndim) if axis not in taken]
    if not common or not kept:
        return None
    rests = []
    for c, x in ((p, a), (q, b)):
        labels, out, _ = x.payload
        mine = _own_factors(x)
        rest = [i for i in range(len(x.args)) if mine.get(i) not in common]
        if not rest:
            return None
        operands = [constant(c), *(x.args[i] for i in rest)]
        sizes = dict(zip(out, x.shape, strict=True))
        rests.append(einsum(operands, [(), *(labels[i] for i in rest)], tuple(out[k] for k in kept), sizes))
    total = settle(elementwise(node.op, (settle(rests[0]), settle(rests[1]))))
    factors = [x for x, _ in sorted(common, key=lambda key: key[1])]
    places = [places for _, places in sorted(common, key=lambda key: key[1])]
    return einsum([total, *factors], [tuple(kept), *places], tuple(range(node.ndim)))


def _own_factors(x: Node) -> dict[int, tuple[Node, tuple[int, ...]]]:
    """Return the factors of a product that have axes of the result to themselves, with those axes."""
    labels, out, _ = x.payload
    uses: dict[int, int] = {}
    for own in labels:
        for label in own:
            uses[label] = uses.get(label, 0) + 1
    return {
        i: (arg, tuple(out.index(label) for label in own))
        for i, (arg, own) in enumerate(zip(x.args, labels, strict=True))
        if own and arg.op not in STRUCTURE and all(label in out and uses[label] == 1 for label in own)
    }


@rule("add subtract", "diag(x) + diag(y)", "diag(x + y)", "reading", inside="contract multiply negative")
def _sum_of_diagonals(node: Node) -> Node | None:
    """Add the diagonals, whose terms may cancel or have a factor in common."""
    if node.ndim != 2 or any(arg.shape != node.shape for arg in node.args):
        return None
    parts = [(c, _diagonal(x)) for c, x in map(scaled, node.args)]
    vectors = [x if c == 1.0 else make("multiply", constant(c), x) for c, x in parts if x is not None]
    if len(vectors) < 2:
        return None
    one = next(arg for arg in scaled(node.args[0])[1].args if _is_one(arg))
    return einsum([one, settle(elementwise(node.op, tuple(vectors)))], [(0, 1), (0,)], (0, 1))


def _is_one(node: Node) -> bool:
    return node.is_delta and is_identity(node)


def _diagonal(node: Node) -> Node | None:
    """Return the vector on the diagonal of a product with one identity; None where it is a number, or none at all."""
    if not node.is_contraction or node.payload.repeated:
        return None
    labels, out, _ = node.payload
    at = [place for place, arg in enumerate(node.args) if _is_one(arg)]
    if len(at) != 1 or sorted(labels[at[0]]) != sorted(out) or len({*out}) != 2:
        return None
    rest = [(arg, own) for place, (arg, own) in enumerate(zip(node.args, labels, strict=True)) if place != at[0]]
    if not any(arg.shape for arg, _ in rest) or any(len(own) > 1 or not {*own} <= {*out} for _, own in rest):
        return None
    total, *others = (arg for arg, _ in rest)
    for arg in others:
        total = make("multiply", total, arg)
    return total


@rule("multiply", "v[:, None] * w", "outer(v, w)", "arrays")
def _outer_product(node: Node) -> Node | None:
    """Multiply arrays that repeat along each other's axes as an outer product."""
    if node.ndim < 2:
        return None
    a, b = (broadcast_labels(arg, node) for arg in node.args)
    if not a or not b or set(a.values()) & set(b.values()):
        return None
    factors = [reshape(arg, tuple(arg.shape[axis] for axis in own)) for arg, own in zip(node.args, (a, b), strict=True)]
    labels = [tuple(own.values()) for own in (a, b)]
    return einsum([settle(f) for f in factors], labels, tuple(range(node.ndim)), dict(enumerate(node.shape)))


@rule("multiply", "u[:, None] * outer(v, w)", "outer(u * v, w)", "shown", inside="contract")
def _scaled_outer_product(node: Node) -> Node | None:
    """Multiply one factor of an outer product, which stays one."""
    for whole, other in (node.args, node.args[::-1]):
        labels, out, repeated = whole.payload if whole.is_contraction else ((), (), ())
        outer = len(labels) > 1 and not repeated and {*out} == {label for own in labels for label in own}
        if not outer or whole.shape != node.shape:
            continue
        own = broadcast_labels(other, node)
        axes = tuple(out[axis] for axis in own.values())
        if axes in labels:
            factor = reshape(other, tuple(other.shape[axis] for axis in own))
            place = labels.index(axes)
            factors = [make("multiply", factor, arg) if k == place else arg for k, arg in enumerate(whole.args)]
            return einsum(factors, labels, out)
    return None


def broadcast_labels(arg: Node, node: Node) -> dict[int, int]:
    """Return which axes of ``arg`` that are not of size 1 become which axes of ``node``."""
    offset = node.ndim - arg.ndim
    return {axis: axis + offset for axis, size in enumerate(arg.shape) if size != 1}


@rule("multiply", "s (I - A)", "s I - s A", "arrays", inside="add subtract negative")
def _scaled_identity(node: Node) -> Node | None:
    """Multiply a sum with deltas term by term, so that they stay factors."""
    for x, y in (node.args, node.args[::-1]):
        if y.op in SUMS and y.shape == node.shape and y.ndim:
            terms = structured_terms(y)
            if terms is not None:
                return add_terms([(sign, settle(scale_by(x, term))) for sign, term in terms])
    return None


def _lone_scalar(node: Node) -> tuple[Node, Node] | None:
    """Return (s, x) with node = s x, s without axes and x an array."""
    if not node.is_multiplication or node.shape == ():
        return None
    a, b = node.args
    if a.shape == () and b.shape == node.shape:
        return a, b
    return (b, a) if b.shape == () and a.shape == node.shape else None


def uniform(node: Node) -> Node | None:
    """Return the scalar that a repeated scalar repeats; an identity of one row has a single 1."""
    if node.is_contraction and len(node.args) == 1 and node.args[0].shape == ():
        return node.args[0]
    return constant(1.0) if node.is_onehot and node.shape == (1,) else None


def _uniform_args(node: Node) -> Node | None:
    if node.shape == ():
        return None
    lone = [uniform(arg) for arg in node.args]
    if not any(lone):
        return None
    if all(u is not None or a.shape == () for u, a in zip(lone, node.args, strict=True)):
        scalars = [a if u is None else u for u, a in zip(lone, node.args, strict=True)]
        return broadcast_to(settle(elementwise(node.op, tuple(scalars), node.dtype)), node.shape)
    return None


def _implicit_broadcast(node: Node) -> Node | None:
    """Leave to the function itself the repetitions it would make anyway."""
    if node.shape == () or len(node.args) < 2:
        return None
    args = list(node.args)
    for i, arg in enumerate(args):
        small = _unrepeated(arg)
        shapes = [a.shape for j, a in enumerate(args) if j != i]
        if small is not None and broadcast_shapes([small.shape, *shapes]) == node.shape:
            args[i] = small
    if tuple(args) != node.args:
        return settle(elementwise(node.op, tuple(args), node.dtype))
    if scaled(node)[0] != 1.0:
        return None  # numbers and signs stand outside of repetitions
    found = [_unrepeated(arg) for arg in args]
    tight = [arg if small is None else small for arg, small in zip(args, found, strict=True)]
    if tuple(tight) == node.args or broadcast_shapes([a.shape for a in tight]) == node.shape:
        return None
    return broadcast_to(settle(elementwise(node.op, tuple(tight), node.dtype)), node.shape)


def _unrepeated(x: Node) -> Node | None:
    """Return what ``x`` repeats, with axes of size 1 where it is repeated."""
    if not x.is_contraction or not x.payload.repeated:
        return None
    labels, out, repeated = x.payload
    again = {label for label, _ in repeated}
    once = contract(x.args, labels, tuple(label for label in out if label not in again))
    shape = [1 if label in again else size for label, size in zip(out, x.shape, strict=True)]
    while shape and out[len(out) - len(shape)] in again:
        shape.pop(0)
    return settle(reshape(once, tuple(shape)))


_EACH = " ".join(FUNCTIONS)
rule(_EACH, "f(equal numbers)", "equal numbers f(number)", "arrays", inside="contract")(_uniform_args)
rule(_EACH, "f(x, an array that repeats y)", "f(x, y)", "arrays", inside="contract")(_implicit_broadcast)


@rule("reshape", "reshapes of repeated numbers and of element-by-element functions", "the function of the reshapes")
def _reshape_forms(node: Node) -> Node | None:
    x = node.args[0]
    scalar = uniform(x)
    if scalar is not None:
        return broadcast_to(scalar, node.shape)
    if _moves_through(x, node.shape):
        return _reshape_function(x, node.shape)
    if x.is_slice and x.dtype is REAL and _keeps_units(x, node):
        items = tuple((start, step, 1 if length is None else length) for start, step, length in x.payload.items)
        return slicing(x.args[0], items)
    return None


def _moves_through(x: Node, shape: Shape) -> bool:
    """Tell whether a reshape to ``shape`` is better made of the arguments of ``x``."""
    if x.op not in FUNCTIONS or any(a.shape not in (x.shape, ()) for a in x.args):
        return False
    same = [n for n in shape if n != 1] == [n for n in x.shape if n != 1]
    return same or any(a.is_reshape and a.args[0].shape == shape for a in x.args)


#: Most nodes of element-by-element functions that a reshape is moved through.
_REACH = 64


def _reshape_function(x: Node, shape: Shape) -> Node | None:
    """Return the function ``x`` of reshaped arguments, or None where there is too much to move through.

    Each shared part is moved once, and nothing recurses: formulas may be deep.
    """
    new: dict[Node, Node] = {}
    todo = [x]
    while todo:
        node = todo[-1]
        if node in new:
            todo.pop()
        elif node.shape != x.shape or number(node) is not None:  # an order is one number, and stays one
            new[node] = node
        elif not _moves_through(node, shape):
            new[node] = settle(reshape(node, shape))
        else:
            waiting = [a for a in node.args if a not in new]
            if not waiting:
                new[node] = settle(elementwise(node.op, tuple([new[a] for a in node.args]), node.dtype))
            elif len(new) + len(todo) > _REACH:
                return None
            todo.extend(waiting)
    return new[x] if new[x].shape == shape else None


def _keeps_units(x: Node, node: Node) -> bool:
    """Tell whether a reshape puts back the axes that a slice dropped."""
    return node.shape == tuple(1 if length is None else length for _, _, length in x.payload.items)


@rule("slice", "slices of slices, of products with deltas, of concatenations, of paddings", "the part they take")
def _slice_forms(node: Node) -> Node | None:
    x = node.args[0]
    items = node.payload.items
    if all(
        item in ((0, 1, size), (0, 1, None)) and (item[2] is not None or size == 1)
        for item, size in zip(items, x.shape, strict=True)
    ):
        return settle(reshape(x, node.shape))
    if is_structured(x) or (x.is_contraction and x.dtype is REAL):
        found = _slice_contract(x, items)
        return None if found is node else found
    if x.is_slice:
        return _compose(x, items)
    if x.is_pad:
        return _slice_padding(x, items)
    if x.is_concatenation:
        return _slice_concatenate(x, items)
    if x.is_constant and x.size != 0 and isinstance(node.size, int) and node.size <= 64:
        return _slice_constant(x, items, node)
    return None


def _slice_constant(x: Node, items: tuple[Item, ...], node: Node) -> Node | None:
    picks = []
    for start, step, length in items:
        if not isinstance(start, int) or not isinstance(length, int | None):
            return None
        picks.append(start if length is None else [start + step * i for i in range(length)])
    value = x.value
    for axis in reversed(range(len(picks))):
        value = np.take(value, picks[axis], axis=axis)
    return constant(value)


def _slice_contract(x: Node, items: tuple[Item, ...]) -> Node | None:
    if is_structured(x):
        return take_items(x, items)
    labels, out, repeated = x.payload
    # a transpose, diagonal or broadcast, or a product without a sum: slice what it reads
    wanted = dict(zip(out, items, strict=True))
    if any(len(set(own)) != len(own) or not wanted.keys() >= set(own) for own in labels):
        return None
    inner = [
        settle(slicing(arg, tuple([wanted[label] for label in own]))) if own else arg
        for arg, own in zip(x.args, labels, strict=True)
    ]
    kept = [tuple([label for label in own if wanted[label][2] is not None]) for own in labels]
    result = tuple(label for label in out if wanted[label][2] is not None)
    sizes = {label: wanted[label][2] for label, _ in repeated}
    known = {label: size for label, size in sizes.items() if size is not None}
    return einsum(inner, kept, result, known)


def _compose(x: Node, items: tuple[Item, ...]) -> Node:
    return slicing(x.args[0], part_of_part(x.payload.items, items))


def _slice_padding(x: Node, items: tuple[Item, ...]) -> Node | None:
    """Take a part of an array among zeros that is a part of the array, or of the zeros."""
    inner: list[Item] = []
    is_inside = True
    for (begin, pace, count), (start, step, length) in zip(x.payload.items, items, strict=True):
        if (begin, pace, count) == (start, step, length):
            inner += [] if count is None else [(0, 1, count)]
            continue
        shift = start - begin
        if pace != 1 or not isinstance(shift, int) or not isinstance(count, int) or not isinstance(length, int | None):
            return None
        last = shift if length is None else shift + (length - 1) * step
        if length != 0 and (max(shift, last) < 0 or min(shift, last) >= count):
            return zeros(slicing(x, items).shape)
        is_inside &= 0 <= shift < count and 0 <= last < count
        inner.append((shift, step, length))
    return settle(slicing(x.args[0], tuple(inner))) if is_inside else None


def _slice_concatenate(x: Node, items: tuple[Item, ...]) -> Node | None:
    axis = x.payload.axis + x.ndim
    start, step, length = items[axis]
    begin: Dim = 0
    for part in x.args:
        size = part.shape[axis]
        shift = start - begin
        inside = shift == 0 and length == size and step == 1
        if not inside and isinstance(shift, int) and isinstance(size, int) and isinstance(length, int | None):
            last = shift if length is None else shift + (length - 1) * step
            inside = 0 <= shift < size and 0 <= last < size and length != 0
        if inside:
            return slicing(part, (*items[:axis], (shift, step, length), *items[axis + 1 :]))
        begin = begin + size
    return None


@rule("adjugate", "adjugate(inv(A))", "det(inv(A)) A", inside="inv")
def _adjugate_of_inverse(node: Node) -> Node | None:
    """Write the adjugate of what is invertible, if it has a value at all, without one."""
    (x,) = node.args
    return settle(elementwise("multiply", (matrix("det", x), x.args[0]))) if x.op == "inv" and x.ndim == 2 else None


@rule("pad", "padding of a padding, of what is turned around", "one padding, what is turned around")
def _pad_forms(node: Node) -> Node | None:
    x = node.args[0]
    if x.shape == node.shape and all(
        item in ((0, 1, size), (size - 1, -1, size)) for item, size in zip(node.payload.items, node.shape, strict=True)
    ):
        return settle(slicing(x, node.payload.items))
    if not x.is_pad or any(length is None for _, _, length in (*x.payload.items, *node.payload.items)):
        return None
    joined = tuple(
        (start + begin * step, step * pace, length)
        for (begin, pace, length), (start, step, _) in zip(x.payload.items, node.payload.items, strict=True)
    )
    return pad(x.args[0], joined, node.shape)


#: Most terms of a sum that are compared with each other, and nodes that are looked at for zeros.
_WINDOW, _LOOKED = 9, 200


@rule("add", "pad(x, (0, n)) + pad(y, (m, 0)), x of m and y of n elements", "concatenate([x, y])", "reading",
      inside="pad")
def _pads_side_by_side(node: Node) -> Node | None:
    """Join arrays that are put into zeros beside each other, as in the derivative of a roll."""
    terms = terms_of(node, _WINDOW)
    padded = [at for at, (sign, part) in enumerate(terms.parts) if sign > 0 and part.is_pad]
    for i, j in permutations(padded, 2) if terms.whole else ():
        joined = _side_by_side(terms.parts[i][1], terms.parts[j][1])
        if joined is None:
            continue
        result = settle(joined)
        for at, (sign, part) in enumerate(terms.parts):
            if at not in (i, j):
                result = make("add" if sign > 0 else "subtract", result, part)
        return result
    return None


def _side_by_side(first: Node, second: Node) -> Node | None:
    """Return two arrays joined that zeros around each leave to the other, the first one in front.

    None where one may be a few numbers in zeros itself: all of an array is computed that others are joined to.
    """
    apart = [k for k in range(first.ndim) if first.payload.items[k] != second.payload.items[k]]
    if len(apart) != 1 or first.shape != second.shape or first.dtype is not second.dtype:
        return None
    (axis,) = apart
    whole = [(0, 1, size) for size in first.shape]
    (start, step, length), (further, pace, rest) = first.payload.items[axis], second.payload.items[axis]
    others = all(item == whole[k] for k, item in enumerate(first.payload.items) if k != axis)
    if not others or length is None or rest is None or (start, step, pace) != (0, 1, 1):
        return None
    if further != length or length + rest != first.shape[axis]:
        return None
    if any(part.op in _PUTTING for part in postorder([*first.args, *second.args], most=_LOOKED)):
        return None
    pieces = [
        piece
        for x in (*first.args, *second.args)
        for piece in (x.args if x.is_concatenation and x.payload.axis + x.ndim == axis else (x,))
    ]
    return concatenate(pieces, axis)


@rule("stop_gradient", "stop_gradient(2)", "2")
def _stop_forms(node: Node) -> Node | None:
    return node.args[0] if node.args[0].op in ("constant", "stop_gradient") else None
