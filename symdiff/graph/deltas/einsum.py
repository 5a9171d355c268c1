"""Elimination of deltas: the step that turns a seeded derivative into a closed formula.

A Jacobian starts from the identity, written as deltas (index pairs). Whenever such a factor
meets a contraction, a slice or a broadcast, the sum over its index is not computed: the
index is renamed, so that d(X Wᵀ)/dX comes out as W. What survives is structure.

Source: Laue, Mitterreiter and Giesen, "Computing higher order derivatives of matrix and
tensor expressions" (2018) and "A simple and efficient tensor calculus" (2020).

A product is a list of factors with labels on their axes. One delta at a time has its index renamed, or its row taken,
or is kept as structure; what is left of the list is written down.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ground.budget import spend
from .. import (
    REAL,
    Item,
    Labels,
    Node,
    broadcast_to,
    constant,
    contract,
    elementwise,
    extent,
    intern,
    number,
    onehot,
    reshape,
    zeros,
)
from ..primitives import Contraction
from ..scalars.arithmetic import SUMS, terms_of
from ..sizes import Dim
from .affine import ONE, STRUCTURE, is_identity, put, stays, take
from .contraction_order import Step, cheapest_step


@dataclass(slots=True)
class Factor:
    """A factor of a product, and the label of each of its axes."""

    node: Node
    labels: list[int]


def users_of(factors: list[Factor], label: int, but: Factor) -> list[Factor]:
    """Return the other factors that have an index."""
    return [f for f in factors if f is not but and label in f.labels]


def eliminate(factors: list[Factor], out: Labels, extra: dict[int, Dim]) -> bool:
    """Remove or simplify one delta; tell whether anything changed."""
    for factor in factors:
        if factor.node.is_delta and is_identity(factor.node) and _drop_identity(factor, factors, out, extra):
            return True
    for factor in factors:
        if factor.node.is_onehot and _drop_onehot(factor, factors, out):
            return True
        if factor.node.is_delta and not is_identity(factor.node) and _drop_affine(factor, factors, out, extra):
            return True
    return False


def _drop_identity(factor: Factor, factors: list[Factor], out: Labels, extra: dict[int, Dim]) -> bool:
    i, k = factor.labels
    if i == k:
        if i in out or users_of(factors, i, factor):
            factors.remove(factor)
            extra.setdefault(i, factor.node.shape[0])
            return True
        if isinstance(factor.node.shape[0], int):  # the trace of the identity
            factor.node, factor.labels = constant(float(factor.node.shape[0])), []
            return True
        return False
    if i in out and k in out:
        if any(
            f is not factor and f.node.is_delta and is_identity(f.node) and set(f.labels) == {i, k}
            for f in factors
        ):
            factors.remove(factor)  # said twice
            return True
        if out.index(k) < out.index(i):  # always towards the first, or two deltas would take turns
            i, k = k, i
        users = users_of(factors, k, factor)
        users = [f for f in users if f.node.op not in STRUCTURE]
        for user in users:
            user.labels = [i if label == k else label for label in user.labels]
        return bool(users)
    gone, kept = (i, k) if i not in out else (k, i)
    if kept not in out and not users_of(factors, kept, factor) and not users_of(factors, gone, factor):
        if isinstance(factor.node.shape[0], int):
            factor.node, factor.labels = constant(float(factor.node.shape[0])), []
            return True
        return False
    factors.remove(factor)
    extra.setdefault(kept, factor.node.shape[0])
    for user in factors:
        user.labels = [kept if label == gone else label for label in user.labels]
    return True


def _drop_onehot(factor: Factor, factors: list[Factor], out: Labels) -> bool:
    (k,) = factor.labels
    users = users_of(factors, k, factor)
    if k in out and not [f for f in users if not f.node.is_onehot]:
        return False
    if k not in out:
        factors.remove(factor)
    for user in users:
        while k in user.labels:
            user.node = take(user.node, user.labels.index(k), (factor.node.payload.at, 1, None))
            user.labels.remove(k)
    return True


def _drop_affine(factor: Factor, factors: list[Factor], out: Labels, extra: dict[int, Dim]) -> bool:
    i, k = factor.labels
    if i == k:
        return False
    rows, columns = factor.node.shape
    start, step = factor.node.payload
    item: Item = (start, step, rows)
    if k not in out:
        factors.remove(factor)
        extra.setdefault(i, rows)
        for user in users_of(factors, k, factor):
            while k in user.labels:
                axis = user.labels.index(k)
                user.node = take(user.node, axis, item)
                user.labels[axis] = i
        if i not in out and not users_of(factors, i, factor):
            factors.append(Factor(broadcast_to(ONE, (rows,)), [i]))
        return True
    if i not in out:
        users = users_of(factors, i, factor)
        factors.remove(factor)
        extra.setdefault(k, columns)
        if rows == 1 and not (isinstance(start, int) and isinstance(columns, int) and not 0 <= start < columns):
            # a single row is one position of k
            factors.append(Factor(onehot(columns, start), [k]))
            for user in users:
                while i in user.labels:
                    axis = user.labels.index(i)
                    user.node = take(user.node, axis, (0, 1, None))
                    user.labels.remove(i)
            return True
        if not users:
            factors.append(Factor(put(broadcast_to(ONE, (rows,)), 0, item, columns), [k]))
        for user in users:
            while i in user.labels:
                axis = user.labels.index(i)
                user.node = put(user.node, axis, item, columns)
                user.labels[axis] = k
        return True
    return False


MINUS_ONE = constant(-1.0)


def is_structured(node: Node) -> bool:
    """Tell whether ``node`` is a delta or a product that holds one."""
    if node.payload is None:  # as of functions of numbers, of which a formula may have a million
        return False
    if not node.is_contraction:
        return node.op in STRUCTURE
    return not STRUCTURE.isdisjoint([arg.op for arg in node.args])


def is_zero(node: Node) -> bool:
    """Tell whether ``node`` is zero everywhere by construction."""
    if node.payload is None:
        return False
    if node.is_contraction:
        node = node.args[0]
    return node.is_constant and node.shape == () and node.payload in _ZEROS


_ZEROS = frozenset(constant(zero).payload for zero in (0.0, -0.0, False))
#: Factors that are looked into: numbers, and what is merged with the product it is in.
_MERGED = frozenset({"constant", "negative", "reshape", "contract"})
_NUMBERS = ("constant", "contract")


def is_plain(node: Node) -> bool:
    """Tell at a glance whether :func:`einsum` makes a contraction just as it is; False may be wrong."""
    labels, out, _ = node.payload
    fixed: list[int] = []  # labels of structure
    free: list[int] = []
    kinds = ""
    for arg, own in zip(node.args, labels, strict=True):
        op = arg.op
        if op in STRUCTURE:
            kinds += "s"
            fixed.extend(own)
        elif op == "constant" and arg.shape == () and arg.payload not in _TRIVIAL:
            kinds += "n"
        elif op in _MERGED or 1 in arg.shape or (op in SUMS and structured_terms(arg) is not None):
            return False
        else:
            kinds += "d" if own else "f"
            free.extend(own)
    if not _PLAIN.fullmatch(kinds) or kinds.count("d") > 2:
        return False
    alone = set(fixed)
    if len(alone) < len(fixed) or not alone.isdisjoint(free):
        return False
    return alone.issubset(out) and (len(kinds) == 1 or bool(fixed or free))


#: Structure before other factors; a number in front of them if there are others, else behind.
_PLAIN = re.compile("s*[df]*|ns+[df]+|n[df]{2,}|s+n")
_TRIVIAL = frozenset({*_ZEROS, ONE.payload, constant(True).payload})


def einsum(
    operands: Sequence[Node], labels: Sequence[Labels], out: Labels, sizes: Mapping[int, Dim] | None = None
) -> Node:
    """Contract as :func:`symdiff.graph.contract` does, and eliminate the deltas among the factors.

    Factors that are themselves relabelings or products with deltas are merged first, and
    numbers are multiplied together.

    Examples
    --------
    >>> from symdiff.graph import delta, input
    >>> x = input("x", (3,))
    >>> einsum([delta(3, 3), x], [(0, 1), (1,)], (0,)) is x
    True
    """
    spend(1 + (len(out) >> 1))
    spread = _distribute(operands, labels, out, sizes) if not SUMS.isdisjoint([n.op for n in operands]) else None
    if spread is not None:
        return spread
    extra = dict(sizes) if sizes else {}
    apart = True
    for node, own in zip(operands, labels, strict=True):
        extra.update(zip(own, node.shape, strict=True))
        apart = apart and node.op not in _MERGED
    scale = 1.0
    if apart:
        factors = [Factor(node, list(own)) for node, own in zip(operands, labels, strict=True)]
    else:
        factors, scale = _flatten(operands, labels, extra)
    for factor in factors:
        if 1 in factor.node.shape:
            _drop_unit_axes(factor, factors, out)
    if not apart:
        scale = _count_lost(scale, factors, labels, out, extra)
    if scale != 0.0 and [factor for factor in factors if factor.node.op in STRUCTURE]:
        while eliminate(factors, out, extra):
            pass
    if scale == 0.0 or [factor for factor in factors if factor.node.op in _NUMBERS and is_zero(factor.node)]:
        for factor in factors:
            extra.update(zip(factor.labels, factor.node.shape, strict=True))
        return zeros(tuple(extra[label] for label in out))
    if len(factors) > 1 and not any(factor.labels for factor in factors):
        product = factors[0].node
        for factor in factors[1:]:
            product = elementwise("multiply", (product, factor.node))
        factors = [Factor(product, [])]
    if len(factors) > _MANY:
        factors = _grouped(factors)
    if len(factors) > 2:
        _associate(factors, out)
    if scale != 1.0 or not factors:
        factors.insert(0, Factor(constant(scale), []))
    return _product(factors, scale, out, extra)


#: From so many factors on, those along the same axes are multiplied element by element first.
_MANY = 12


def _grouped(factors: list[Factor]) -> list[Factor]:
    """Multiply dense factors with the same labels: a product that grows in every step would be copied in each."""
    groups: dict[object, Factor] = {}
    for factor in factors:
        node, own = factor.node, factor.labels
        alone = stays(node) or node.dtype is not REAL or len(set(own)) < len(own)
        known = groups.setdefault(len(groups) if alone else tuple(own), factor)
        if known is not factor:
            known.node = elementwise("multiply", (known.node, node))
    return list(groups.values())


def _product(factors: list[Factor], scale: float, out: Labels, extra: Mapping[int, Dim]) -> Node:
    """Contract factors, structure first; one whole array times a number is written so."""
    structure = [f for f in factors if f.node.op in STRUCTURE]
    ordered = factors
    if structure:
        ordered = structure + [f for f in factors if f.node.op not in STRUCTURE]
    first = ordered[0]
    if scale != 1.0 and len(ordered) == 2 and ordered[1].node.op not in STRUCTURE and not is_structured(first.node):
        inner = contract([ordered[1].node], [tuple(ordered[1].labels)], tuple(out), extra)
        return elementwise("multiply", (constant(scale), inner)) if scale != -1.0 else elementwise("negative", (inner,))
    dense = len(structure)
    if 0 < dense < len(ordered) - 1 and ordered[dense].labels == [] and ordered[dense].node.is_constant:
        ordered.insert(0, ordered.pop(dense))  # numbers stand first
    return contract([f.node for f in ordered], [tuple(f.labels) for f in ordered], tuple(out), extra)


#: Products of more factors than this stay as they are.
_FACTORS = 4
#: Sums of more terms than this are contracted as they are.
_TERMS = 6


def _distribute(
    operands: Sequence[Node], labels: Sequence[Labels], out: Labels, sizes: Mapping[int, Dim] | None
) -> Node | None:
    """Contract a sum term by term when that eliminates a delta of one of the terms."""
    for i, node in enumerate(operands):
        if node.op not in SUMS:
            continue
        terms = structured_terms(node)
        if terms is None or not any(_loses_delta(term, labels[i], out) for _, term in terms):
            continue
        return add_terms(
            [(sign, einsum([*operands[:i], term, *operands[i + 1 :]], labels, out, sizes)) for sign, term in terms]
        )
    return None


def add_terms(terms: Sequence[tuple[float, Node]]) -> Node:
    """Return the sum of terms with signs."""
    (sign, total), *rest = terms
    if sign < 0:
        total = scale_by(MINUS_ONE, total)
    for sign, term in rest:
        total = elementwise("add" if sign > 0 else "subtract", (total, term))
    return total


def signed_terms(node: Node) -> list[tuple[float, Node]] | None:
    """Return the terms of a sum with their signs, each of its shape; None if they are many."""
    terms, whole = terms_of(node, _TERMS)
    return [(sign, broadcast_to(term, node.shape)) for sign, term in terms] if whole else None


def structured_terms(node: Node) -> list[tuple[float, Node]] | None:
    """Return the terms of a sum, as :func:`signed_terms` does, if one of them holds a delta."""
    terms, whole = terms_of(node, _TERMS)
    if not whole or not any(is_structured(term) for _, term in terms):
        return None
    return [(sign, broadcast_to(term, node.shape)) for sign, term in terms]


def _loses_delta(term: Node, own: Labels, out: Labels) -> bool:
    """Tell whether a delta of ``term`` has an index that is summed over."""
    if term.op in STRUCTURE:
        return any(label not in out for label in own)
    if not term.is_contraction:
        return False
    inner, result, _ = term.payload
    names = dict(zip(result, own, strict=True))
    return any(
        names.get(label) not in out
        for arg, arg_labels in zip(term.args, inner, strict=True)
        if arg.op in STRUCTURE
        for label in arg_labels
    )


def _flatten(operands: Sequence[Node], labels: Sequence[Labels], extra: dict[int, Dim]) -> tuple[list[Factor], float]:
    factors: list[Factor] = []
    scale = 1.0
    fresh = 1 + max(0, max(extra, default=0))
    todo = [Factor(n, list(own)) for n, own in zip(operands, labels, strict=True)]
    todo.reverse()
    while todo:
        factor = todo.pop()
        node = factor.node
        op = node.op
        if op not in _MERGED:
            factors.append(factor)
        elif op == "constant":
            if node.shape == ():
                scale *= float(node.value)
            else:
                factors.append(factor)
        elif op == "negative" and is_structured(node.args[0]):
            scale = -scale
            todo.append(Factor(node.args[0], factor.labels))
        elif op == "reshape" and node.dtype is REAL and _only_unit_axes(node):
            wide = iter([label for label, size in zip(factor.labels, node.shape, strict=True) if size != 1])
            narrow = itertools.count(fresh)
            fresh += len(node.args[0].shape)
            own = [next(wide) if size != 1 else next(narrow) for size in node.args[0].shape]
            todo.append(Factor(node.args[0], own))
        elif op == "contract" and _merges(node):
            inner, result, repeated = node.payload
            names = dict(zip(result, factor.labels, strict=True))
            for label, size in repeated:
                extra.setdefault(names[label], size)
            parts = []
            for arg, places in zip(node.args, inner, strict=True):
                own = []
                for label, size in zip(places, arg.shape, strict=True):
                    name = names.get(label)
                    if name is None:
                        name = names[label] = fresh
                        fresh += 1
                    extra.setdefault(name, size)
                    own.append(name)
                parts.append(Factor(arg, own))
            todo.extend(parts[::-1])
        else:
            factors.append(factor)
    return factors, scale


def _drop_unit_axes(factor: Factor, factors: list[Factor], out: Labels) -> None:
    """Drop the axes of size 1 that would be summed alone."""
    if factor.node.op in STRUCTURE or factor.node.dtype is not REAL:
        return
    lone = [
        axis
        for axis, (label, size) in enumerate(zip(factor.labels, factor.node.shape, strict=True))
        if size == 1 and label not in out and factor.labels.count(label) == 1 and not users_of(factors, label, factor)
    ]
    if lone:
        factor.node = reshape(factor.node, tuple(n for a, n in enumerate(factor.node.shape) if a not in lone))
        factor.labels = [label for a, label in enumerate(factor.labels) if a not in lone]


def _count_lost(
    scale: float, factors: list[Factor], labels: Sequence[Labels], out: Labels, extra: Mapping[int, Dim]
) -> float:
    """Multiply by the size of each summed label that no factor has any more: a sum of equal terms."""
    alive = {*out, *(label for factor in factors for label in factor.labels)}
    for label in dict.fromkeys([label for own in labels for label in own if label not in alive]):
        size = extra[label]
        if isinstance(size, int):
            scale *= float(size)
        else:
            factors.append(Factor(extent(size), []))
    return scale


def _only_unit_axes(node: Node) -> bool:
    """Tell whether a reshape only adds and drops axes of size 1."""
    return [n for n in node.shape if n != 1] == [n for n in node.args[0].shape if n != 1]


def _merges(node: Node) -> bool:
    """Tell whether a contraction is merged: one with deltas, a relabeling, or a product that sums over nothing."""
    if is_structured(node):
        return True
    labels, out, _ = node.payload
    if len(node.args) > 1 and (node.dtype is not REAL or len(node.args) > _FACTORS):
        return False
    for own in labels:
        for label in own:
            if label not in out:
                return False
    return True


def _associate(factors: list[Factor], out: Labels) -> None:
    """Multiply first, of three or more dense factors, two that share a sum and give nothing larger."""
    while True:
        dense = [f for f in factors if not stays(f.node) and f.labels]
        if len(dense) < 3:
            return
        outside = {*out, *[label for f in factors if stays(f.node) for label in f.labels]}
        step = cheapest_step([tuple(f.labels) for f in dense], outside, _axes_of_sum)
        if step is None:
            return
        first, second = dense[step.first], dense[step.second]
        first.node = contract([first.node, second.node], [step.left, step.right], step.kept)
        first.labels = list(step.kept)
        factors.remove(second)


def _axes_of_sum(step: Step) -> int | None:
    """Return the number of axes of a product that sums over a shared label and is no larger than its factors."""
    if len(step.kept) > max(len(step.left), len(step.right)):
        return None
    return len(step.kept) if not set(step.left).intersection(step.right).issubset(step.kept) else None


def scale_by(factor: Node, x: Node) -> Node:
    """Multiply ``x`` by ``factor`` element by element (``factor`` broadcasts to the last axes of ``x``)."""
    if factor is ONE:
        return x
    if is_structured(x):
        return _spread(factor, x)
    if x.shape and x.op in SUMS:
        terms = structured_terms(x)
        if terms is not None:
            return add_terms([(sign, scale_by(factor, term)) for sign, term in terms])
    return elementwise("negative", (x,)) if factor is MINUS_ONE else elementwise("multiply", (factor, x))


def _spread(factor: Node, x: Node) -> Node:
    """Multiply ``x``, a product with deltas."""
    if not factor.shape and factor.dtype is REAL and factor.op not in ("contract", "reshape"):
        return _scaled_product(factor, x)
    offset = x.ndim - factor.ndim
    own = tuple(range(x.ndim))
    labels = tuple(-1 - a if n == 1 and x.shape[a + offset] != 1 else a + offset for a, n in enumerate(factor.shape))
    return einsum([factor, x], [labels, own], own, dict(enumerate(x.shape)))


def _scaled_product(factor: Node, x: Node) -> Node:
    """Multiply a product with deltas by a factor without axes, as :func:`einsum` would in more steps."""
    own: Labels = tuple(range(len(x.shape)))
    args, (labels, out, repeated) = (x.args, x.payload) if x.is_contraction else ((x,), ((own,), own, ()))
    known = number(factor)
    scale = 1.0 if known is None else known
    structure: list[tuple[Node, Labels]] = []
    dense: list[tuple[Node, Labels]] = [(factor, ())] if known is None else []
    first = len(dense)
    in_order = True
    for part in zip(args, labels, strict=True):
        node = part[0]
        if node.op in STRUCTURE:
            structure.append(part)
            in_order = in_order and len(dense) == first
            continue
        known = number(node)
        if known is None:
            dense.append(part)
        else:
            scale *= known
    if scale == 0.0:
        return zeros(x.shape)
    if scale != 1.0:
        structure.insert(0 if dense else len(structure), (constant(scale), ()))
    structure.extend(dense)
    nodes = [node for node, _ in structure]
    own_labels = [own for _, own in structure]
    if in_order and len(nodes) > 1:  # labels count from the first factor that has any: they are right as they are
        return intern("contract", tuple(nodes), Contraction(tuple(own_labels), out, repeated), x.shape)
    return contract(nodes, own_labels, out, dict(repeated))
