"""Tell whether a rewrite keeps the range in which a formula is finite.

A number of a dtype has a largest and a smallest size. A product that is grouped in another way has other partial
products, and these may overflow, or underflow, where those that were written do not: ``exp(2 u) * y**2`` is nan or 0 at
half the exponents at which ``(exp(u) * y)**2`` is. So sizes are compared before a rewrite is made, at points far out.

A size is a logarithm. That of a product is a sum, that of a sum is the largest one, and that of ``exp(u)`` is u. What
is none of these is a size of its own, which may be anything. A rewrite shrinks the range if a part of what it gives is
larger or smaller there than all parts of what was written, and than the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeVar
from zlib import crc32

from .._kernels.system.unique import Sizes, Span, drawn, exceeds, larger, leaves, repeated, smaller
from ..graph import Node, postorder
from ..graph.kinds import EXPONENTIAL
from ..graph.scalars.arithmetic import SUMS
from ..graph.scalars.functions import scalar_constant
from ..ground.gc_pause import noted, notes

T = TypeVar("T")

#: Number of sizes of which those of variables are made.
_VARIABLES = 64
#: Sizes up to which nothing overflows, and by how much one may exceed another: numbers such as 2 and pi, and roundings.
_SMALL, _SLACK = 40.0, 4.0
#: Numbers between which a constant has all its digits, with room for what it is multiplied by.
_LEAST, _LARGEST = 1e-290, 1e290
#: Most signs, names and numbers in front that are looked through.
_DEPTH = 12
#: Depth to which nodes are told apart.
_FORM = 3
#: Operations whose results are products that may be grouped in several ways.
PRODUCTS = frozenset(("multiply", "divide", "power", "sqrt"))


@cache
def _row(place: int) -> Sizes:
    """Return sizes at all points, in any direction."""
    return drawn(place, 200.0)


_ZERO = repeated(0.0)

#: The size of a function of one number by that number, far out.
_OF_VALUE: dict[str, Callable[[Sizes], Sizes]] = {
    "exp": lambda t: t,
    "expm1": lambda t: larger(t, _ZERO),
    "cosh": abs,
    "sinh": abs,
    "sech": lambda t: -abs(t),
    "csch": lambda t: -abs(t),
    "sigmoid": lambda t: smaller(t, _ZERO),
    "sigmoid_slope": lambda t: -abs(t),
}
#: The size of an operation by the sizes of its arguments.
_OF_SIZES: dict[str, Callable[..., Sizes]] = {
    "multiply": lambda a, b: a + b,
    "divide": lambda a, b: a - b,
    "negative": lambda a: a,
    "abs": lambda a: a,
    "named": lambda a: a,
    "add": larger,
    "subtract": larger,
    "sqrt": lambda a: a * 0.5,
    "hypot": larger,
    "direction_cos": lambda a, b: a - larger(a, b),
    "direction_sin": lambda a, b: b - larger(a, b),
}
#: Operations of which a part that is small beside the result may vanish.
_ADDING = SUMS | {"hypot"}
#: The size of a quotient that is right at 0 by the number that it is of, its second argument.
_OF_QUOTIENT: dict[str, Callable[[Sizes], Sizes]] = {
    "bernoulli_quotient": lambda t: -larger(t, _ZERO),
    **dict.fromkeys(("exp_remainder_1", "exp_remainder_2", "exp_remainder_3"), lambda t: larger(t, _ZERO)),
}
#: Functions that are near 1 far out.
_NEAR_ONE = frozenset(("tanh", "sign"))
#: The value of an operation by the values of its arguments, in exponents.
_VALUES: dict[str, Callable[..., Sizes]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "negative": lambda a: -a,
    "named": lambda a: a,
    "softplus": lambda a: larger(a, _ZERO),
    "log_sigmoid": lambda a: smaller(a, _ZERO),
    "logaddexp": larger,
    "maximum": larger,
    "minimum": smaller,
    "abs": abs,
}


class _Sized(NamedTuple):
    """The sizes of a node and of all its parts, and what may be anything."""

    span: Span
    unknown: frozenset[Node]


def _parts_of(node: Node) -> tuple[Node, ...]:
    """Return the parts on whose sizes that of a node depends."""
    op = node.op
    if op in _OF_SIZES:
        return node.args
    if op == "power":
        n = scalar_constant(node.args[1])
        return node.args[:1] if n is not None and math.isfinite(n) else ()
    return node.args[:2] if op == "exp_share" else ()


def _sized(root: Node) -> _Sized:
    """Return the size of a node; what is found lasts as long as the notes of a pass."""
    return _from_below(root, "sizes", _parts_of, _sized_by)


def _from_below(
    root: Node, name: str, parts_of: Callable[[Node], Sequence[Node]], made: Callable[[Node, list[T]], T]
) -> T:
    """Return what is made of a node by what is made of its parts, noted under a name."""
    known: dict[Node, T] = notes().setdefault((__name__, name), {})
    found = known.get(root)
    todo = [] if found is not None else [root]
    while todo:
        node, parts = todo[-1], []
        for part in parts_of(node):
            there = known.get(part)
            if there is None:
                todo.append(part)
            else:
                parts.append(there)
        if todo[-1] is node:
            todo.pop()
            known[node] = found = made(node, parts)
    assert found is not None
    return found


_NOTHING: frozenset[Node] = frozenset()


def _sized_by(node: Node, parts: list[_Sized]) -> _Sized:
    op, c = node.op, scalar_constant(node)
    unknown = _NOTHING
    if c is not None:
        size = repeated(math.log(abs(c)) if c and math.isfinite(c) else 0.0)
        if not _LEAST < abs(c) < _LARGEST:
            unknown = frozenset((node,))
    elif op in _OF_SIZES:
        size = _OF_SIZES[op](*[part.span.size for part in parts])
    elif op == "power" and parts:
        size = parts[0].span.size * (scalar_constant(node.args[1]) or 0.0)
    elif op in _OF_VALUE:
        value, unknown = _value(node.args[0])
        size = _OF_VALUE[op](value)
    elif op in _OF_QUOTIENT:
        value, unknown = _value(node.args[1])
        size = _OF_QUOTIENT[op](value)
    elif op == "exp_share":
        value, unknown = _value(node.args[2])
        size = -larger(parts[0].span.size, parts[1].span.size + value)
    elif op == "exp_gap":
        value, unknown = _value(node.args[0])
        further, more = _value(node.args[1])
        size, unknown = larger(value, value + further), unknown | more
    elif op in _NEAR_ONE:
        size = _ZERO
    else:
        size, unknown = _variable(node)
        size = size.everywhere()
    for part in parts:
        unknown = unknown | part.unknown if unknown else part.unknown
    return _Sized(Span(size, [part.span for part in parts], op in _ADDING, _SLACK), unknown)


def _value(exponent: Node) -> tuple[Sizes, frozenset[Node]]:
    """Return the value of an exponent at all points, and the parts of which nothing is known."""
    return _from_below(exponent, "values", _valued_parts, _valued_by)


def _valued_parts(node: Node) -> tuple[Node, ...]:
    """Return the parts on whose values that of a node depends: all, or the one beside a number."""
    if node.op in _VALUES:
        return node.args
    if node.is_multiplicative and not _is_positive(node) and scalar_constant(node) is None:
        if node.is_multiplication and scalar_constant(node.first):
            return node.args[1:]
        return node.args[:1] if scalar_constant(node.second) else ()
    return ()


def _valued_by(node: Node, parts: list[tuple[Sizes, frozenset[Node]]]) -> tuple[Sizes, frozenset[Node]]:
    c = scalar_constant(node)
    if c is not None:
        return repeated(c if math.isfinite(c) else 0.0), _NOTHING
    if node.op in _VALUES:
        return _VALUES[node.op](*[value for value, _ in parts]), _NOTHING.union(*[own for _, own in parts])
    if parts:
        ((value, unknown),) = parts
        if node.is_division:
            return value / (scalar_constant(node.second) or 1.0), unknown
        return value * (scalar_constant(node.first) or scalar_constant(node.second) or 1.0), unknown
    if node.op == "log":
        found = _sized(node.first)
        return found.span.size, found.unknown
    value, unknown = _variable(node)
    return abs(value) if _is_positive(node) else value, unknown


def _is_positive(node: Node) -> bool:
    if node.op == "exp":
        return True
    if node.is_power:
        n = scalar_constant(node.args[1])
        return n is not None and n % 2.0 == 0.0
    return node.is_multiplication and node.args[0] is node.args[1]


@noted
def _variable(node: Node) -> tuple[Sizes, frozenset[Node]]:
    """Return sizes that depend on the form of a node alone: what is rewritten must not depend on other formulas."""
    key = crc32(form_of(node, _FORM).encode())
    sizes = _row(key % _VARIABLES) + _row(_VARIABLES + key // _VARIABLES % _VARIABLES)  # one of each of two tables
    return sizes, frozenset((node,))


def form_of(node: Node, depth: int) -> str:
    """Return a text of a node and of what is below it to a depth: what depends on it depends on nothing else."""
    payload = node.name if node.is_input else tuple(node.payload) if isinstance(node.payload, tuple) else node.payload
    inner = ",".join([form_of(arg, depth - 1) for arg in node.args]) if depth else ""
    return f"{node.op} {payload!r:.60} {inner}"


def keeps_range(old: Node, new: Node) -> bool:
    """Tell whether no part of ``new`` leaves the range of numbers where ``old`` and the result stay within it.

    What has a function in it that was not there before is not compared.
    """
    parts = _parts_of(new)
    if not parts or _is_made_of_parts(old, new):
        return True
    before, after = _sized(old), _sized(new)
    if not after.unknown <= before.unknown:  # a number that has overflowed or vanished is none that was written
        return all(scalar_constant(part) is None for part in after.unknown - before.unknown)
    shrinks = leaves(
        before.span, after.span, [_sized(part).span for part in parts], new.op in _ADDING, _SMALL, _SLACK
    )
    return not shrinks or _mends(old, before, after)


#: Most parts of what was written that are looked through.
_LOOKED = 24


def _is_made_of_parts(old: Node, new: Node) -> bool:
    """Tell whether what is made has no part of another size than the result that was not written."""
    for _ in range(_DEPTH):
        if new.is_negation or new.is_named:
            new = new.first
        elif new.is_multiplication and _is_ordinary(new.first):
            new = new.second
        else:
            break
    wanted = [part for part in new.args if not _is_ordinary(part)] if new.op in PRODUCTS or new.op in SUMS else [new]
    found = [old]
    for part in found:  # what is nearest comes first
        if part in wanted:
            wanted = [other for other in wanted if other is not part]
            if not wanted:
                break
        if len(found) < _LOOKED:
            found += _parts_of(part)
    return not wanted


def is_ordinary(c: float) -> bool:
    """Tell whether a number changes no size by much that it multiplies."""
    return 0.0625 <= abs(c) <= 16.0


def is_tame(node: Node) -> bool:
    """Tell whether a scalar is made of sizes and numbers that change no size by much."""
    leaves = [part for part in postorder([node], most=_LOOKED) if not part.args]
    return all(part.is_size or is_ordinary(scalar_constant(part) or 0.0) for part in leaves)


def _is_ordinary(node: Node) -> bool:
    """Tell whether a node is a number that changes no size by much."""
    c = scalar_constant(node) if node.is_constant else None
    return c is not None and is_ordinary(c)


def _mends(old: Node, before: _Sized, after: _Sized) -> bool:
    """Tell whether quotients by sums of exponentials, which are 0/0 or inf/inf far out, are so no more."""
    if not exceeds(before.span, after.span, 1.2, _SMALL):
        return False
    meeting = SUMS | _OF_QUOTIENT.keys()
    divisors = [part.second for part in _all_parts(old) if part.is_division]
    return any(part.below & EXPONENTIAL and part.op in meeting for each in divisors for part in _all_parts(each))


def _all_parts(root: Node) -> set[Node]:
    found, todo = {root}, [root]
    while todo:
        for part in _parts_of(todo.pop()):
            if part not in found:
                found.add(part)
                todo.append(part)
    return found
