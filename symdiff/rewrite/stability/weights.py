"""Quotients of sums along axes whose terms hold exponentials: ``sum(w * exp(x)) / sum(exp(x))``.

Above and below the line the exponentials are divided by their sum, so that softmax stands in their
place: nothing overflows, and where they were all there was below, the line is gone.
"""

from __future__ import annotations

from ...graph import Node, constant, elementwise, normalize, rebuild, reduce, reshape
from ...graph.kinds import EXPONENTIAL, LOG_SUM
from ...graph.scalars.arithmetic import peel
from ...graph.scalars.functions import scalar_constant
from ...graph.sizes import Shape
from ..rewriter import rule, spread

#: Most operations above and below the line that are searched.
_LOOK = 16
#: What passes a factor along: ``f(a, b)`` times s is ``f(s a, b)``.
_FACTORS = frozenset(("multiply", "named", "negative", "contract", "reshape", "divide"))


def find_exponential(node: Node) -> Node | None:
    """Return the exponential that is a factor of each term of a sum along axes."""
    todo = [node]
    steps = 0
    while todo and steps < _LOOK:
        part = todo.pop()
        steps += 1
        if part.op == "exp":
            return part
        if part.op in _FACTORS:
            todo.extend(part.args[:1] if part.is_division else part.args[::-1])
    return None


def summed_axes(node: Node, factor: Node) -> tuple[int, ...] | None:
    """Return the axes of ``factor`` that are summed on the way to ``node``; None where it is not one factor of it."""
    places = _places(node, factor)
    return None if places is None else tuple(axis for axis in range(factor.ndim) if axis not in places)


def _places(node: Node, factor: Node) -> dict[int, int] | None:
    """Return, for each axis of ``factor`` that is left, its axis of ``node``."""
    if node is factor:
        return {axis: axis for axis in range(factor.ndim)}
    if node.op in ("named", "negative"):
        return _places(node.args[0], factor)
    if node.is_multiplicative:
        for arg in node.args[: 1 if node.is_division else 2]:
            below = _places(arg, factor) if find_exponential(arg) is factor else None
            if below is not None:
                shift = node.ndim - arg.ndim
                if any(arg.shape[axis] != node.shape[axis + shift] for axis in below.values()):
                    return None
                return {own: axis + shift for own, axis in below.items()}
        return None
    if node.is_contraction:
        labels, out, repeated = node.payload
        for arg, own_labels in zip(node.args, labels, strict=True):
            below = _places(arg, factor) if find_exponential(arg) is factor else None
            if below is not None:
                if repeated or len(set(own_labels)) < len(own_labels):
                    return None
                kept = {own: own_labels[axis] for own, axis in below.items()}
                return {own: out.index(label) for own, label in kept.items() if label in out}
        return None
    if node.is_reshape:
        below = _places(node.args[0], factor)
        wide = [axis for axis, size in enumerate(node.shape) if size != 1]
        old = [axis for axis, size in enumerate(node.args[0].shape) if size != 1]
        if below is None or [node.shape[a] for a in wide] != [node.args[0].shape[a] for a in old]:
            return None
        if any(axis not in old for axis in below.values()):
            return None
        return {own: wide[old.index(axis)] for own, axis in below.items()}
    return None


def exchange(node: Node, factor: Node, other: Node) -> Node:
    """Put ``other`` in the place of one factor."""
    if node is factor:
        return other
    args = list(node.args)
    for i, arg in enumerate(args):
        if find_exponential(arg) is factor and (i == 0 or not node.is_division):
            args[i] = exchange(arg, factor, other)
            break
    return rebuild(node, tuple(args))


def softmax_form(top: Node, bottom: Node, shape: Shape) -> Node | None:
    """Return a quotient whose divisor sums exponentials along axes, by softmax; None for any other."""
    below = find_exponential(bottom)
    if below is None:
        return None
    axes = summed_axes(bottom, below)
    if not axes:
        return None
    x = below.args[0]
    shares = normalize("softmax", x, axes)
    lone = _is_plain_sum(bottom, below)
    above = find_exponential(top)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    if above is below and _lined_up(top, bottom, below, axes, kept, shape):
        result = exchange(top, below, shares)
        return spread(result if lone else result / exchange(bottom, below, shares), shape)
    total = reduce("logsumexp", x, axes)
    where = _places(bottom, below)
    if where is None or [where[axis] for axis in kept] != sorted(where[axis] for axis in kept):
        return None
    total = reshape(total, tuple(bottom.shape[a] if a in where.values() else 1 for a in range(bottom.ndim)))
    if peel(top).op == "exp":
        result = elementwise("exp", (peel(top).args[0] - total,))
    elif scalar_constant(top) is not None or above is None:
        power = elementwise("exp", (-total,))
        result = power if scalar_constant(top) == 1.0 else top * power
    else:
        return None
    return spread(result if lone else result / exchange(bottom, below, shares), shape)


def _is_plain_sum(bottom: Node, below: Node) -> bool:
    """Tell whether a divisor is nothing but the sum of the exponentials."""
    while bottom is not below:
        if bottom.op not in ("named", "contract", "reshape") or len(bottom.args) != 1:
            return False
        bottom = bottom.args[0]
    return True


def _lined_up(
    top: Node, bottom: Node, factor: Node, axes: tuple[int, ...], kept: list[int], shape: Shape
) -> bool:
    """Tell whether the divisor belongs to each element above the line, and is the same in each sum there."""
    above, below = _places(top, factor), _places(bottom, factor)
    if above is None or below is None or any(axis not in above for axis in kept):
        return False
    return all(above[axis] - top.ndim == below[axis] - bottom.ndim for axis in kept) and (
        all(size == 1 for a, size in enumerate(bottom.shape) if a not in below.values())
    )


# ---------------------------------------------------------------------------- exponentials beside their sum


@rule("multiply contract", "exp(-logsumexp(x)) * f(exp(x)), f linear", "f(softmax(x))", "stability",
      below=(EXPONENTIAL, LOG_SUM))
def _exponentials_over_their_sum(node: Node) -> Node | None:
    """Write exponentials that are multiplied with one over their sum as softmax, so that neither overflows."""
    for k, scale in enumerate(node.args):
        one = _over_sum(scale) if scale.below & LOG_SUM else None
        if one is None:
            continue
        (x,) = one.args[0].args[0].args
        rest = exchanged(scale, one, constant(1.0))
        if rest is None:
            continue
        exponential = elementwise("exp", (x,))
        for j, arg in enumerate(node.args):
            found = None if j == k else exchanged(arg, exponential, _shares(x))
            if found is not None:
                args = list(node.args)
                args[j], args[k] = found, rest
                return rebuild(node, tuple(args))
    return None


@rule("exp", "exp(x - logsumexp(x))", "softmax(x)", "stability", inside="subtract")
def _share(node: Node) -> Node | None:
    (inside,) = node.args
    if not inside.is_subtraction:
        return None
    x, total = inside.args
    total = peel(total)
    whole = total.op == "logsumexp" and total.args[0] is x and not total.shape
    return _shares(x) if whole and x.shape == node.shape else None


def _over_sum(node: Node) -> Node | None:
    """Return a number exp(-logsumexp(x)) among the factors of a node."""
    todo = [node]
    for _ in range(_LOOK):
        if not todo:
            break
        part = todo.pop()
        if part.op in _FACTORS:
            todo.extend(part.args[:1] if part.is_division else part.args)
        elif part.op == "exp" and not part.shape and _is_less_sum(part.args[0]):
            return part
    return None


def _is_less_sum(node: Node) -> bool:
    return node.is_negation and node.args[0].op == "logsumexp"


def _shares(x: Node) -> Node:
    return normalize("softmax", x, tuple(range(x.ndim)))


def exchanged(node: Node, factor: Node, other: Node, depth: int = _LOOK) -> Node | None:
    """Put ``other`` in the place of a factor of each term; None where a term has it not."""
    if node is factor:
        return other
    if depth == 0 or not node.args:
        return None
    if node.op in ("add", "subtract"):
        parts = [exchanged(arg, factor, other, depth // 2) for arg in node.args]
        return rebuild(node, tuple(part for part in parts if part is not None)) if None not in parts else None
    if node.op not in _FACTORS:
        return None
    for k, arg in enumerate(node.args[:1] if node.is_division else node.args):
        found = exchanged(arg, factor, other, depth - 1)
        if found is not None:
            return rebuild(node, (*node.args[:k], found, *node.args[k + 1 :]))
    return None
