"""Order statistics in formulas that are the same for every order of the elements.

``max(x) * median(x) * min(x)`` is the product of x: a smooth function, whose derivatives at elements that tie are
those of the product. Where the elements are eigenvalues, it has derivatives at equal ones as well, though no single
eigenvalue has. So the extrema and the sorted array are taken for elements of x as it stands, if the formula that is
then made is the same for every order of x.

That is decided in a field of residues, where sums, products, quotients and whole powers are exact; the value of any
other function is a hash of its name and its argument. The elements are random residues, in three orders: two
permutations make all others. So neither rounding nor the size of a term hides a difference (Schwartz, 1980).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ..graph import Node, dependents, inputs_of, placeholder, postorder, slicing, substitute
from ..graph.scalars.arithmetic import peel
from ..graph.scalars.functions import FUNCTIONS, scalar_constant

__all__ = ["in_any_order"]

#: An array of residues, as whole numbers of Python.
Residues: TypeAlias = "npt.NDArray[Any]"

#: A prime number; residues are below it.
_PRIME = 2**61 - 1
_ORDERS = frozenset(("max", "min", "sort"))
#: Nodes, and elements of all of them, up to which a formula is looked at.
_NODES, _ELEMENTS = 400, 20_000
#: Functions of arguments that may come in either order.
_EITHER = frozenset(("maximum", "minimum", "hypot", "logaddexp"))
#: Comparisons of a number with itself, which ask whether it is nan, and what they give for residues, which never are.
_ALIKE = {"equal": True, "not_equal": False, "less": False, "less_equal": True}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class _UnknownError(Exception):
    """An operation that has no meaning for residues."""


def in_any_order(root: Node) -> Node:
    """Write elements of an array for its order statistics, where a formula is the same for every order of them.

    Examples
    --------
    >>> from symdiff.graph import input, reduce
    >>> x = input("x", (2,))
    >>> largest, least = (reduce(name, x, (0,)) for name in ("max", "min"))
    >>> in_any_order(largest * least) is slicing(x, ((1, 1, None),)) * slicing(x, ((0, 1, None),))
    True
    >>> in_any_order(largest - least) is largest - least
    True
    """
    order = postorder([root])
    sorts: dict[Node, list[Node]] = {}
    for node in order:
        if node.op in _ORDERS and _axes_of(node) == (-1,) and all(isinstance(n, int) for n in node.args[0].shape):
            sorts.setdefault(peel(node.args[0]), []).append(node)
    for x, statistics in sorts.items():
        n = x.shape[-1]
        whole = {node.op for node in statistics}
        if len(order) > _NODES or n < 2 or not ("sort" in whole or (n == 2 and len(whole) == 2)):
            continue
        stand_in = placeholder(("order", n), x.shape)
        (made,) = substitute([root], {node: _element(node.op, stand_in) for node in statistics})
        if _is_in_any_order(made, stand_in):
            (root,) = substitute([made], {stand_in: x})
    return root


def _axes_of(node: Node) -> tuple[int, ...]:
    return (node.payload.axis,) if node.op == "sort" else tuple(node.payload.axes)


def _element(op: str, x: Node) -> Node:
    if op == "sort":
        return x
    at = x.shape[-1] - 1 if op == "max" else 0
    return slicing(x, (*((0, 1, n) for n in x.shape[:-1]), (at, 1, None)))


def _is_in_any_order(formula: Node, x: Node) -> bool:
    """Tell whether a formula is the same for x and for all its permutations along the last axis."""
    order = postorder([formula])
    if sum(_count(node) for node in order) > _ELEMENTS:
        return False
    moving = dependents(order, [x])
    if formula not in moving:
        return True
    order = [node for node in order if node in moving]
    beside = dict.fromkeys(arg for node in order for arg in node.args if arg not in moving)
    for seed in range(2):
        rng = Random(seed)  # noqa: S311 -- no secret
        fixed = {node: _fixed(node, rng) for node in beside}
        own = _drawn(x, rng)
        swapped = own[..., [1, 0, *range(2, own.shape[-1])]]
        try:
            here, *there = (
                _residues(order, fixed | {x: values}) for values in (own, swapped, np.roll(own, 1, -1))
            )
        except _UnknownError:
            return False
        if not all(np.array_equal(here, one) for one in there):
            return False
    return True


def _count(node: Node) -> int:
    """Return the number of elements, more than any bound where letters stand for sizes."""
    return math.prod(n if isinstance(n, int) else _ELEMENTS + 1 for n in node.shape)


def _drawn(node: Node, rng: Random) -> Residues:
    found = np.empty(_count(node), dtype=object)
    found[:] = [rng.randrange(2, _PRIME) for _ in range(_count(node))]
    return found.reshape(node.shape)


def _fixed(node: Node, rng: Random) -> Residues:
    """Return numbers as residues, and random ones for what depends on inputs: they are the same in every order."""
    if inputs_of([node]) or node.is_size:
        return _drawn(node, rng)
    from ..graph.reference.interpret import evaluate  # not needed by most formulas

    (values,) = evaluate([node], {})
    if values.dtype == np.bool_:
        return values.astype(object)
    if not np.isfinite(values).all():
        return _drawn(node, rng)
    found = np.empty(values.size, dtype=object)
    found[:] = [_of_number(float(value)) for value in values.ravel()]
    return found.reshape(values.shape)


def _of_number(value: float) -> int:
    top, bottom = value.as_integer_ratio()
    return top * pow(bottom, -1, _PRIME) % _PRIME


def _residues(order: Sequence[Node], known: Mapping[Node, Residues]) -> Residues:
    """Return the last of some nodes in residues."""
    found = dict(known)
    for node in order:
        if node not in found:
            found[node] = _residue_of(node, [found[arg] for arg in node.args])
    return found[order[-1]]


def _residue_of(node: Node, args: list[Residues]) -> Residues:
    op = node.op
    if node.is_named:
        return args[0]
    if op in FUNCTIONS:
        return np.broadcast_to(np.asarray(_of_function(node, args), dtype=object), node.shape)
    if node.is_contraction:
        return _of_product(node, args)
    if op == "slice":
        places = tuple(
            start if length is None else slice(start, None if (end := start + step * length) < 0 else end, step)
            for start, step, length in node.payload.items
        )
        return np.asarray(args[0][places], dtype=object)
    if node.is_reshape:
        return args[0].reshape(node.shape)
    if node.is_gather:
        return np.asarray(np.take(args[0], node.payload.indices, node.payload.axis), dtype=object)
    if node.is_concatenation:
        return np.concatenate(args, node.payload.axis)
    if op == "prod":
        return np.asarray(np.multiply.reduce(args[0], axis=node.payload.axes) % _PRIME, dtype=object)
    raise _UnknownError


def _of_product(node: Node, args: list[Residues]) -> Residues:
    labels, out, repeated = node.payload
    names = dict(zip(dict.fromkeys([label for own in (*labels, out) for label in own]), _LETTERS, strict=False))
    if len(names) == len(_LETTERS):
        raise _UnknownError
    ones = [np.full(size, 1, dtype=object) for _, size in repeated]
    own = ["".join([names[label] for label in row]) for row in (*labels, *((label,) for label, _ in repeated))]
    total = np.einsum(f"{','.join(own)}->{''.join([names[label] for label in out])}", *args, *ones)
    return np.asarray(total % _PRIME, dtype=object)


def _of_function(node: Node, args: list[Residues]) -> Any:
    """Return what a function gives element by element."""
    op = node.op
    if node.is_additive or node.is_multiplication:
        a, b = args
        return (a + b if node.is_addition else a - b if node.is_subtraction else a * b) % _PRIME
    if node.is_negation:
        return -args[0] % _PRIME
    if node.is_division:
        return args[0] * _inverse(args[1]) % _PRIME
    n = scalar_constant(node.args[1]) if node.is_power else None
    if n is not None and n.is_integer() and abs(n) <= _NODES:
        return np.frompyfunc(lambda x: pow(x, int(abs(n)), _PRIME), 1, 1)(args[0] if n > 0 else _inverse(args[0]))
    if op in _ALIKE:
        one, other = np.broadcast_arrays(*args)
        if not np.array_equal(one, other):
            raise _UnknownError
        return np.full(node.shape, _ALIKE[op], dtype=object)
    if node.is_choice:
        if not all(isinstance(one, bool) for one in args[0].ravel()):
            raise _UnknownError
        return np.where(args[0].astype(bool), args[1], args[2])
    if any(isinstance(one, bool) for arg in args for one in arg.ravel()):
        raise _UnknownError
    return np.frompyfunc(_hashed(op), len(args), 1)(*args)


def _inverse(x: Residues) -> Any:
    if (np.asarray(x) == 0).any():
        raise _UnknownError
    return np.frompyfunc(lambda one: pow(one, -1, _PRIME), 1, 1)(x)


def _hashed(op: str) -> Callable[..., int]:
    """Return a function of residues in place of one of numbers, even or odd as that is."""
    parity = FUNCTIONS[op].parity if FUNCTIONS[op].arity == 1 else ()
    name = crc32(op.encode())

    def made(*args: int) -> int:
        least = [min(x, _PRIME - x) for x in args] if parity[0:1] in (("even",), ("odd",)) else [*args]
        value = hash((name, *(sorted(least) if op in _EITHER else least))) % _PRIME
        return _PRIME - value if parity[0:1] == ("odd",) and least[0] != args[0] else value

    return made
