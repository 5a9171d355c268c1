"""Scalars factored out of linear operations: ``cross(w / r, v) * sin(r)`` is ``cross(w, v) * sin(r) / r``.

A quotient such as sin(r) / r has a row in :mod:`symdiff.graph.scalars.remainders`. The rules that recognize it see one
product at a time. A numerator or denominator inside a slice, a matrix or a contraction is therefore factored out first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...graph import (
    Node,
    axes_of,
    constant,
    contract,
    elementwise,
    normalize,
    postorder,
    rebuild,
    reduce,
    substitute,
    sum_axes,
)
from ...graph.kinds import OF_SQUARE
from ...graph.scalars.arithmetic import PRODUCTS, factors_of, one_less, peel, without_numbers
from ...graph.scalars.functions import compare, scalar_constant, where
from ...graph.scalars.remainders import REMAINDERS
from ..facts import is_positive
from ..rewriter import equation_told, spread
from .roots import length_of, square_of

ONE, TWO = constant(1.0), constant(2.0)
#: Linear operations of one argument, and sums, whose terms must all have the same power of the scalar.
LINEAR = frozenset({"negative", "slice", "gather", "pad", "scatter", "reshape", "triangle", "cumsum"})
_SUMS = frozenset({"add", "subtract", "concatenate"})
#: Most uses of a root that is printed as a norm; a root with more uses gets a name.
_FEW = 2
#: Functions of the square of a length, which have no kink at 0.
_ROWS = frozenset(each.name_by_square for each in REMAINDERS if each.even)
#: Most factors of a product that are searched for a length and its direction.
_FACTORS = 8
#: Most nodes that are searched for one scalar.
_NODES = 100


def squares_of(length: Node) -> list[Node]:
    """Return the forms in which the square of a norm or a root may be written."""
    if length.op not in ("norm", "sqrt"):
        return []
    (x,) = length.args
    if length.is_root:
        return [x]
    axes = axes_of(length, x)
    labels = tuple(range(x.ndim))
    squares = [sum_axes(elementwise(*each), axes) for each in (("power", (x, TWO)), ("multiply", (x, x)))]
    squares.append(contract([x, x], [labels, labels], tuple(axis for axis in labels if axis not in axes), {}))
    return squares


class Scalar:
    """A scalar, and its power as a factor of other nodes.

    Parameters
    ----------
    node : Node
        Of shape ``()``.
    """

    def __init__(self, node: Node) -> None:
        self._powers: dict[Node, int | None] = {node: 1, **dict.fromkeys(squares_of(node), 2)}
        self._without: dict[Node, Node] = dict.fromkeys(self._powers, ONE)
        self._node = node

    def power(self, node: Node) -> int:
        """Return n with ``node = x * scalar**n``; 0 where none is seen."""
        return self._power(node) or 0

    def _power(self, node: Node) -> int | None:
        """Return the power, or None for zeros, which have any."""
        if node not in self._powers:
            limited = len(self._powers) >= _NODES
            self._powers[node] = 0  # while it is looked for
            self._powers[node] = 0 if limited else self._found(node)
        return self._powers[node]

    def _found(self, node: Node) -> int | None:
        if scalar_constant(node) == 0.0:
            return None
        if node.is_named or node.op in LINEAR:
            return self._power(node.args[0])
        if node.is_power:
            n = scalar_constant(node.args[1])
            return int(n) * self.power(node.args[0]) if n is not None and n.is_integer() else 0
        if node.op == "unit":
            return -1 if self._node is _norm_of(node) else 0
        if node.op in _SUMS:
            return self._common(node)
        if node.op not in ("multiply", "divide", "contract"):
            return 0
        powers = [self._power(arg) for arg in node.args]
        known = [n for n in powers if n is not None]
        if node.is_division:
            return None if powers[0] is None else powers[0] - (powers[1] or 0)
        return sum(known) if len(known) == len(powers) else None

    def _common(self, node: Node) -> int | None:
        """Return the power that all terms of a sum have; most sums are seen at their first terms to have none."""
        common: int | None = None
        for arg in node.args:
            n = self._power(arg)
            if n == 0 or (n is not None and common not in (None, n)):
                return 0
            common = common if n is None else n
        return common

    def without(self, node: Node) -> Node:
        """Return x with ``node = x * scalar**n``, of the same shape."""
        if node not in self._without:
            taken = self._power(node) != 0 and node.args  # from zeros, too, which may be 0 times a quotient by it
            self._without[node] = spread(self._rest(node), node.shape) if taken else node
        return self._without[node]

    def _rest(self, node: Node) -> Node:
        if node.is_named:
            return self.without(node.args[0])
        if node.op == "unit":
            return node.args[0]
        args = tuple([spread(self.without(arg), arg.shape) for arg in node.args])
        if node.is_multiplicative:
            return product(node.op, args)
        return rebuild(node, (args[0], node.args[1]) if node.is_power else args)


def _norm_of(unit: Node) -> Node | None:
    (x,) = unit.args
    whole = len(unit.payload.axes) == x.ndim
    return reduce("norm", x, axes_of(unit, x)) if whole else None


def product(op: str, args: Sequence[Node]) -> Node:
    """Multiply or divide, without factors and divisors of one."""
    a, b = args
    if scalar_constant(b) == 1.0:
        return a
    return b if op == "multiply" and scalar_constant(a) == 1.0 else elementwise(op, (a, b))


def cancelled(node: Node) -> Node | None:
    """Cancel a length that divides one factor and multiplies a function of its square in another."""
    for length in dict.fromkeys(_left_over(node)):
        scalar = Scalar(length)
        powers = [scalar.power(arg) for arg in node.args]
        if node.is_division:
            powers[1] = -powers[1]
        if min(powers) < 0 < max(powers):
            args = [scalar.without(arg) for arg in node.args]
            args = [spread(x, arg.shape) for x, arg in zip(args, node.args, strict=True)]
            result = rebuild(node, tuple(args)) if node.is_contraction else product(node.op, args)
            return times_power(spread(result, node.shape), length, sum(powers))
    return None


def joined(node: Node) -> Node | None:
    """Write a length times the direction of the same vector, in one product, as the vector."""
    if node.is_contraction:
        return joined_operands(node, _over)
    parts = factors_of(node, _FACTORS).parts
    lengths = {part.args[0]: part for part, n in parts if n == 1.0 and is_length(part)}
    powers = {part.args[0].args[0]: part for part, n in parts if n == 1.0 and _is_power_of_length(part)}
    squares = {x: part for part, n in parts if n == 1.0 and (x := _squared(part)) is not None}
    for part, n in parts:
        if n != 1.0 or part.op != "unit":
            continue
        (x,) = part.args
        if len(part.payload.axes) < part.ndim:
            found = _joined_rows(node, part, [other for other, m in parts if m == 1.0 and other is not part])
            if found is not None:
                return found
            continue
        if x in lengths:
            return _exchanged(node, {part: x, lengths[x]: ONE})
        if x in powers:
            length, exponent = powers[x].args
            shorter = elementwise("power", (length, constant((scalar_constant(exponent) or 0.0) - 1.0)))
            return _exchanged(node, {part: x, powers[x]: shorter})
        if x in squares:
            return _exchanged(node, {part: x, squares[x]: reduce("norm", x, tuple(range(x.ndim)))})
        length = reduce("norm", x, tuple(range(x.ndim)))
        for other, m in parts:
            rest = _over(other, length) if m == 1.0 and other.is_additive else None
            if rest is not None:
                return _exchanged(node, {part: x, other: rest})
    return None


def _joined_rows(node: Node, unit: Node, others: Sequence[Node]) -> Node | None:
    """Write lengths of the rows of an array times the directions of these as the array."""
    (x,) = unit.args
    axes = axes_of(unit, x)
    length = reduce("norm", x, axes)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    for other in others:
        if other.shape == kept and (shorter := _over(other, length)) is not None:
            return _exchanged(node, {unit: x, other: shorter})
    return None


def joined_operands(node: Node, over: Callable[[Node, Node], Node | None]) -> Node | None:
    """Write a direction in a contraction as what it is of, where another operand has its length as a factor.

    Parameters
    ----------
    node : Node
        A contraction.
    over : callable
        Takes an operand and a length, gives the operand over the length, None where the length is no factor of it.
    """
    labels, out, repeated = node.payload
    for i, unit in enumerate(node.args):
        if unit.op != "unit":
            continue
        (x,) = unit.args
        axes = axes_of(unit, x)
        kept = tuple(label for axis, label in enumerate(labels[i]) if axis not in axes)
        for j, other in enumerate(node.args):
            shorter = over(other, reduce("norm", x, axes)) if j != i and labels[j] == kept else None
            if shorter is not None:
                args = list(node.args)
                args[i], args[j] = x, shorter
                return contract(args, labels, out, dict(repeated))
    return None


def _over(node: Node, length: Node, depth: int = 6) -> Node | None:
    """Return x with ``node = x * length``, of the same shape, where the length is seen to be a factor."""
    if node is length or node.is_named:
        return spread(ONE, node.shape) if node is length else _over(node.args[0], length, depth)
    if node in squares_of(length):
        return length
    if depth == 0:
        return None
    if node.op in _SUMS or node.op in ("negative", "reshape"):
        parts = [_over(arg, length, depth - 1) for arg in node.args]
        known = [part for part in parts if part is not None]
        return rebuild(node, tuple(known)) if len(known) == len(parts) and not node.is_concatenation else None
    if node.is_power:
        n = scalar_constant(node.args[1])
        part = _over(node.args[0], length, depth - 1) if n is not None and n.is_integer() and n > 1 else None
        return None if part is None else times_power(part, node.args[0], int(n or 1) - 1)
    if node.is_multiplicative:
        for i in range(1 if node.is_division else 2):
            part = _over(node.args[i], length, depth - 1) if node.args[i].shape == node.shape else None
            if part is not None:
                return spread(product(node.op, (node.args[1 - i], part) if i else (part, node.args[1])), node.shape)
    return None


def share_of_length(node: Node) -> Node | None:
    """Write a length of two numbers times one of them over that length, in one product, as the number."""
    if node.is_contraction:
        return _beside_numbers(node, share_of_length)
    parts = factors_of(node, _FACTORS).parts
    for share, n in parts:
        if n != 1.0 or share.op not in ("direction_cos", "direction_sin"):
            continue
        x = share.args[share.op == "direction_sin"]
        length = elementwise("hypot", share.args)
        square = elementwise("add", tuple([elementwise("power", (arg, TWO)) for arg in share.args]))
        for other, m in parts:
            base, power = (other.args[0], scalar_constant(other.args[1])) if other.is_power else (other, 1.0)
            if m == 1.0 and base is length and power is not None and power >= 1.0:
                shorter = ONE if power == 1.0 else elementwise("power", (length, constant(power - 1.0)))
                return _exchanged(node, {share: x, other: shorter})
            if m == 1.0 and other is square:
                return _exchanged(node, {share: x, other: length})
            if m == 1.0 and other.op in ("direction_cos", "direction_sin"):
                first, second = other.args if other.op == "direction_cos" else other.args[::-1]
                if first is length and is_positive(second):
                    return _exchanged(node, {share: x / elementwise("hypot", (length, second)), other: ONE})
    return None


def root_of_length(node: Node) -> Node | None:
    """Write a vector over a root of its length as a root of the length times the direction, which is 0 at 0."""
    if node.is_contraction:
        return _beside_numbers(node, root_of_length) or _beside_roots(node)
    parts = factors_of(node, _FACTORS).parts
    for divisor, n in parts:
        if (found := _as_root(divisor, n)) is None:
            continue
        length, left = found
        if length.op == "hypot":
            shares = [elementwise(name, length.args) for name in ("direction_cos", "direction_sin")]
        else:
            shares = [_direction_of(length)]
        for x, share in zip(length.args, shares, strict=True):
            for part, m in parts:
                new = share if part is x else None
                if part.is_contraction and x in part.args:
                    at = part.args.index(x)
                    new = rebuild(part, (*part.args[:at], share, *part.args[at + 1 :]))
                if m == 1.0 and new is not None:
                    return elementwise("multiply", (left, _exchanged(node, {part: new, divisor: ONE})))
    return None


def root_beside_zero(node: Node) -> Node | None:
    """Write a number over a root of a length of it so that it is 0 where the length is."""
    parts = factors_of(node, _FACTORS).parts
    for divisor, n in parts:
        length = divisor.args[0] if divisor.is_power or divisor.is_root else divisor
        if length.op == "hypot" and _as_root(divisor, n) and any(m == 1.0 and x in length.args for x, m in parts):
            apart = where(compare("equal", length, 0.0), 1.0, length)
            return _exchanged(node, {divisor: substitute([divisor], {length: apart})[0]})
    return None


def _beside_roots(node: Node) -> Node | None:
    """Rewrite a contraction of a vector with an operand that is divided by a root of its length."""
    labels, out, repeated = node.payload
    for i, operand in enumerate(node.args):
        for divisor, n in factors_of(operand, _FACTORS).parts:
            found = _as_root(divisor, n)
            if found is None or not is_length(found[0]):
                continue
            for j, x in enumerate(node.args):
                if j != i and x is found[0].args[0]:
                    args = list(node.args)
                    args[i], args[j] = _exchanged(operand, {divisor: ONE}), _direction_of(found[0])
                    return elementwise("multiply", (found[1], contract(args, labels, out, dict(repeated))))
    return None


def _as_root(divisor: Node, n: float) -> tuple[Node, Node] | None:
    """Return a length and the length times a factor, where the factor divides by a root of it."""
    length, power = (divisor.args[0], scalar_constant(divisor.args[1])) if divisor.is_power else (divisor, 1.0)
    if divisor.is_root:
        length, power = divisor.args[0], 0.5
    if power is None or not -1.0 < n * power < 0.0 or not (length.op == "hypot" or is_length(length)):
        return None
    return length, elementwise("power", (length, constant(-one_less(-n * power))))


def _direction_of(length: Node) -> Node:
    (x,) = length.args
    return normalize("unit", x, axes_of(length, x))


def _beside_numbers(node: Node, rewrite: Callable[[Node], Node | None]) -> Node | None:
    """Rewrite a contraction as the product of its operands that are numbers and of the others."""
    labels, out, repeated = node.payload
    numbers = [arg for arg in node.args if not arg.shape]
    rest = [(arg, own) for arg, own in zip(node.args, labels, strict=True) if arg.shape]
    if not numbers or not rest:
        return None
    others = contract([arg for arg, _ in rest], [own for _, own in rest], out, dict(repeated))
    return rewrite(elementwise("multiply", (math.prod(numbers[1:], start=numbers[0]), others)))


def _is_power_of_length(node: Node) -> bool:
    n = scalar_constant(node.args[1]) if node.is_power else None
    return n is not None and n.is_integer() and n > 2 and is_length(node.args[0])


def _squared(node: Node) -> Node | None:
    """Return x for sum(x**2)."""
    if not node.is_contraction or node.shape or node.payload.repeated:
        return None
    if len(node.args) == 2:
        same = node.args[0] is node.args[1] and node.payload.labels[0] == node.payload.labels[1]
        return node.args[0] if same else None
    base = square_of(node.args[0]) if len(node.args) == 1 else None
    return base if base is not None and base.shape == node.args[0].shape else None


def _exchanged(node: Node, new: dict[Node, Node]) -> Node:
    """Put other factors in the place of some, each once."""
    if node in new:
        return new.pop(node)
    if node.is_negation:
        return elementwise("negative", (_exchanged(node.args[0], new),))
    if node.is_division:
        return product("divide", [_exchanged(arg, new) for arg in node.args])
    if node.is_multiplication:
        return product("multiply", [_exchanged(arg, new) for arg in node.args])
    return node


def times_power(x: Node, scalar: Node, n: int) -> Node:
    """Multiply or divide by a power, as the last operation, where :func:`cancelled` finds it."""
    if n == 0:
        return x
    factor = scalar if abs(n) == 1 else elementwise("power", (scalar, constant(float(abs(n)))))
    return elementwise("multiply" if n > 0 else "divide", (x, factor))


def _left_over(node: Node) -> list[Node]:
    """Return the lengths by which a product with a row of their squares is multiplied."""
    found = [arg for arg in node.args if is_length(arg) and any(_has_row(other, arg) for other in node.args)]
    for arg in node.args:
        part = arg
        while part.op in LINEAR or part.is_named:
            part = part.args[0]
        if part.is_multiplication and is_length(part.args[1]) and _has_row(*part.args):
            found.append(part.args[1])
    return found


def is_length(node: Node) -> bool:
    """Tell whether a node is the norm of a whole array."""
    return node.op == "norm" and node.shape == ()


def _has_row(node: Node, length: Node) -> bool:
    """Tell whether a factor is a row of the square of a length."""
    todo = [node]
    while todo:
        part = peel(todo.pop())
        if part.op in PRODUCTS:
            todo.extend(part.args)
        elif part.op in _ROWS and part.args[1] in squares_of(length):
            return True
    return False


def by_square(u: Node) -> Node | None:
    """Return u**2 where u is a number times a length: an even function of it has no kink there."""
    scale, length = without_numbers(peel(u))
    if length.op not in ("norm", "sqrt", "abs"):
        return None
    square = (squares_of(length) or [elementwise("power", (length.args[0], TWO))])[0]
    return square if scale in (1.0, -1.0) else elementwise("multiply", (constant(scale * scale), square))


def root_of(square: Node) -> Node:
    """Return the u that :func:`by_square` is given, or the root as it is."""
    scale, inside = without_numbers(square)
    length = length_of(inside) if scale > 0 else None
    if length is None:
        return elementwise("sqrt", (square,))
    return length if scale == 1.0 else elementwise("multiply", (constant(math.sqrt(scale)), length))


def shown_lengths(root: Node) -> Node:
    """Return a formula for reading with norm(x) for the root of its square, unless that is worth a name of its own."""
    order = postorder([root])
    roots = {node: length_of(node.args[0]) for node in order if node.is_root and node.args[0].is_contraction}
    uses = dict.fromkeys(order, 0)
    for node in order:
        for arg in node.args:
            uses[arg] += 1
    new = {
        node: length
        for node, length in roots.items()
        if length is not None and length.op == "norm" and (uses[node] <= _FEW or length in uses)
    }
    return substitute([root], new)[0] if new else root


def join_cosines(roots: Sequence[Node], rewrites: list[str]) -> list[Node]:
    """Write cos(norm(x)) as a function of sum(x**2) where other functions of the same square occur.

    The norm, which has a kink at 0, is then needed no more.

    What changes is added to ``rewrites``, a line each.
    """
    if not any(root.below & OF_SQUARE for root in roots):
        return list(roots)
    order = postorder(roots)
    squares = {node.args[1] for node in order if node.op in _ROWS}
    new: dict[Node, Node] = {}
    for node in order if squares else ():
        square = by_square(node.args[0]) if node.op in ("cos", "cosh") else None
        if square in squares:
            new[node] = elementwise(f"{node.op}_of_root", (square,))
    if not new:
        return list(roots)
    told = dict.fromkeys(equation_told(*pair) for pair in new.items())
    rewrites.extend(line for line in told if line not in rewrites)
    return substitute(roots, new)
