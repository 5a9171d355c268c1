"""An estimate of what a formula costs, to choose between two forms of it.

Counts scalar multiplications, additions and function calls as the graph stands, without those
on zeros that its structure shows; a symbolic size counts as a nominal one, so that the choice
does not wait for a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from ..graph import Node, number, postorder, survey
from ..graph.deltas.contraction_order import cheapest_step, multiplications, volume
from ..graph.kinds import BY_ARGUMENTS
from ..graph.primitives import BY_POSITION, DELTAS, Cost, costing
from ..graph.scalars.arithmetic import ARITHMETIC
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Dim, nominal, product

#: Nominal number of a symbolic size, and cost of a transcendental function in additions.
NOMINAL, TRANSCENDENTAL = 20, 10
#: Costs of a node and of each element of a product beside the operations: of two forms with as many,
#: the shorter, and the one that moves less.
_NODE = _PLACE = 0.01
#: Nanoseconds: a view, an operation on whole arrays and a product of them as NumPy calls; an addition of an element;
#: an operation of a product by BLAS; the same for each row or column of an element of an inverse by LAPACK.
_VIEW_CALL, _ARRAY_CALL, _PRODUCT_CALL = 300.0, 700.0, 3_000.0
_ELEMENT, _BLAS, _LAPACK = 1.0, 0.1, 0.3
#: Up to how many factors the cheapest order of a product is looked for among all.
_EXHAUSTIVE = 4
#: The highest power that is written in products.
_HIGHEST = 64
_CHEAP = frozenset({"where", "to_real", "abs", "sign", "maximum", "minimum"})
#: Operations of numbers of which each counts as an addition, and all that count alike whatever their arguments are.
_SIMPLE = (ARITHMETIC | _CHEAP) - {"divide"}
_OF_NUMBERS = frozenset(FUNCTIONS) - BY_ARGUMENTS
_FREE, _SEEDS, _MOVES, _VIEWS, _CUBIC = map(costing, (Cost.FREE, Cost.STRUCTURE, Cost.MOVE, Cost.VIEW, Cost.CUBIC))


def _number(size: Dim) -> int:
    return nominal(size, NOMINAL)


def _elements(node: Node) -> float:
    total = 1.0
    for size in node.shape:
        if not isinstance(size, int):
            return float(_number(product(node.shape)))
        total *= size
    return total


#: Estimates the operations of one contraction and how many of its elements may be nonzero, from the number of elements
#: and of nonzeros of each operand.
_Product: TypeAlias = "Callable[[Node, dict[Node, float], dict[Node, float]], tuple[float, float]]"


def cost(roots: Sequence[Node]) -> float:
    """Return the estimated number of scalar operations below ``roots``, in additions."""
    return _total(postorder(roots), TRANSCENDENTAL, _contraction)


def operations(roots: Sequence[Node]) -> float:
    """Return about how many scalar operations a program of ``roots`` has, a function counted as one.

    Products of several factors are multiplied two at a time, as a program does it, and what is taken at a position that
    a call brings is chosen among all elements of the axis.
    """
    apart, alike = survey(roots)
    total = _total(apart, 1.0, _planned) + (1.0 + _NODE) * sum(alike.values())
    return total + sum(_choices(node) for node in apart if node.op in BY_POSITION)


def _choices(node: Node) -> float:
    """Return how many comparisons and choices a program makes for elements at positions that a call brings."""
    indexed, listed = (node.args[0], node) if node.op == "take" else (node, node.args[0])
    return 2.0 * _elements(listed) * _number(indexed.shape[node.payload.axis])


class _Counts(dict[Node, float]):
    """Numbers of elements of nodes: one, where nothing else is noted."""

    def __missing__(self, node: Node) -> float:
        return 1.0


def _total(order: Iterable[Node], function: float, product: _Product) -> float:
    total = 0.0
    #: Number of elements of a node, and of those that may be other than zero.
    sizes, filled = _Counts(), _Counts()
    for node in order:
        op = node.op
        if op in _OF_NUMBERS and not node.shape:  # so are its arguments
            total += (1.0 if op in _SIMPLE else function) + _NODE
            continue
        sizes[node] = size = _elements(node) if node.shape else 1.0
        if op in _FREE:
            filled[node] = size
            continue
        own, full = 0.0, size
        if op in ARITHMETIC:
            terms = [filled[a] if sizes[a] == size else filled[a] * size / max(sizes[a], 1.0) for a in node.args]
            if node.is_multiplication:
                own = full = min(terms)
            elif node.is_division:
                full = terms[0]
                own = function * full
            elif node.is_negation:
                own = full = terms[0]
            else:
                full = min(size, sum(terms))
                own = sum(terms) - full
        elif node.is_contraction:
            own, full = product(node, sizes, filled)
        elif op in _CHEAP:
            own = size
        elif node.is_delta:
            full = float(min(map(_number, node.shape)))
        elif node.is_onehot:
            full = 1.0
        elif op in _VIEWS:
            full = min(size, filled[node.args[0]])
        elif op in _MOVES:
            full = min(size, sum([filled[a] for a in node.args]))
            own = 0.5 * full
        elif node.is_power and (products := _products(node)):
            own = products * size
        elif op in _CUBIC:
            own = float(_number(node.args[0].shape[-1])) ** 3 + size
        elif node.is_recurrence:
            own = _total(postorder(node.payload.body.results), function, product) * _number(node.payload.length) + size
        else:
            own = function * max(size, *[sizes[a] for a in node.args])
        filled[node] = full
        total += own + _NODE
    return total


def array_time(roots: Sequence[Node]) -> float:
    """Return the estimated nanoseconds that array operations take, one NumPy call for each node below ``roots``."""
    apart, alike = survey(roots)
    total = 0.0
    for op, count in alike.items():
        total += count * (_ARRAY_CALL + _ELEMENT * (1 if op in ARITHMETIC or op in _CHEAP else TRANSCENDENTAL))
    filled = _Counts()
    for node in apart:
        op = node.op
        size = filled[node] = _elements(node)
        if op in _FREE or op in _SEEDS:
            continue
        if op in _VIEWS:
            total += _VIEW_CALL
        elif node.is_contraction:
            total += _PRODUCT_CALL + _BLAS * _planned(node, filled, filled)[0]
        elif op in _CUBIC:
            total += _PRODUCT_CALL + _LAPACK * size * _number(node.args[0].shape[-1])
        elif node.is_recurrence:
            total += array_time(node.payload.body.results) * _number(node.payload.length)
        else:
            cheap = op in ARITHMETIC or op in _CHEAP or op in _MOVES
            total += _ARRAY_CALL + _ELEMENT * (1 if cheap else TRANSCENDENTAL) * size
    return total


def extent(roots: Sequence[Node]) -> float:
    """Return how many elements all nodes below ``roots`` have, zeros included."""
    return sum(map(_elements, postorder(roots)))


def _products(node: Node) -> float:
    """Return how many products a whole power is, 0 for other powers."""
    exponent = number(node.args[1])
    if exponent is None or exponent != int(exponent) or abs(exponent) > _HIGHEST:
        return 0.0
    return float(int(abs(exponent)).bit_length())


def _contraction(node: Node, counts: dict[Node, float], filled: dict[Node, float]) -> tuple[float, float]:
    """Count the products of one contraction, and the elements they fill; a delta makes its two labels one."""
    labels, out, repeated = node.payload
    sizes: dict[int, Dim] = dict(repeated)
    bound: set[int] = set()
    dense, density = 0, 1.0
    for arg, own in zip(node.args, labels, strict=True):
        sizes.update(zip(own, arg.shape, strict=True))
        if arg.is_delta:
            bound.add(own[1])
        elif arg.is_onehot:
            bound.add(own[0])
        else:
            dense += 1
            density *= filled[arg] / max(counts[arg], 1.0)
    points, places = density, 1.0
    for label, size in sizes.items():
        if label not in bound:
            points *= _number(size)
            if label in out:
                places *= _number(size)
    if not dense:
        return 0.0, places
    full = min(points, places)
    return points * (dense - 1) + points - full + _PLACE * full, full


def _planned(node: Node, counts: dict[Node, float], filled: dict[Node, float]) -> tuple[float, float]:
    """Count the operations of one contraction, two factors at a time, and the elements that it fills."""
    labels, out, repeated = node.payload
    sizes: dict[int, Dim] = dict(repeated)
    same: dict[int, int] = {}
    for arg, own in zip(node.args, labels, strict=True):
        sizes.update(zip(own, arg.shape, strict=True))
        if arg.is_delta:
            same[own[1]] = own[0]
        elif arg.is_onehot:
            sizes[own[0]] = 1
    known = {label: _number(size) for label, size in sizes.items()}

    def merged(some: Sequence[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys([same.get(label, label) for label in some]))

    wanted = frozenset(merged(out))
    factors = [
        (merged(own), filled[arg] / max(counts[arg], 1.0))
        for arg, own in zip(node.args, labels, strict=True)
        if arg.op not in DELTAS
    ]
    total = 0.0
    while len(factors) > 1:
        step = cheapest_step(
            [own for own, _ in factors], wanted, partial(multiplications, sizes=known), exhaustive=_EXHAUSTIVE
        )
        assert step is not None
        density = factors.pop(step.second)[1] * factors.pop(step.first)[1]
        points, places = density * multiplications(step, known), float(volume(step.kept, known))
        total += 2.0 * points - min(points, places)
        factors.insert(step.first, (step.kept, min(1.0, points / places) if places else 1.0))
    own, density = factors[0] if factors else ((), 1.0)
    places = float(volume(wanted, known))
    points = density * volume({*own, *wanted}, known)
    full = min(points, places)
    return total + points - full, full
