"""Scalarizing a formula: every node is lowered in turn, then the values are put in order.

Common factors and divisors are factored out of sums: ``x*a + x*b`` is computed as ``x*(a + b)``. A derivative arrives
as a sum over the ways from the input to the result, and ways that part late share what they pass through. What is
used elsewhere as well is left alone, so nothing that was shared is computed twice. Only the last factor of a product
is factored out: the rest was computed before as well, so it does not overflow where ``(x*a)*b`` did not and ``a*b``
does. A sum keeps its order where nothing is factored out.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from .._kernels.programs.tape import count_uses, renumber, sums_to_search
from ..errors import UnsupportedError
from ..graph import INT, Node, Numbered, constant, elementwise, number_nodes, postorder, rebuild
from ..graph.kinds import EXPANDED
from ..graph.scalars.functions import FUNCTIONS, compare, to_real
from ..graph.sizes import show
from ..ground.gc_pause import paused
from ..rewrite import is_symmetric
from .arrays import ARRAYS, is_plain, lower_elementwise, lower_scalar
from .builder import PAIRS, Ids, ProgramBuilder, fixed_shape
from .program import CODES, OPERATIONS, Port, Program

#: Terms of the longest sum that is searched: the time stays linear in the length of the program.
_LONGEST = 64
#: Cost of a division beside a product.
_DIVISION = 6
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _NEGATIVE = (
    CODES[name] for name in ("add", "subtract", "multiply", "divide", "negative")
)
#: True for each operation that is a sum; and the kind of each, by the numbers of :meth:`Tape.sums_to_search`.
_IS_SUM = bytes(name in ("add", "subtract") for name in OPERATIONS)
_KIND_OF = {"multiply": 1, "divide": 2, "negative": 3, "add": 4, "subtract": 5}
_KINDS = bytes(_KIND_OF.get(name, 0) for name in OPERATIONS)


class _Product(NamedTuple):
    """``left * right`` or ``left / right``, in the order it was written."""

    left: _Tree
    right: _Tree
    divides: bool


#: A decomposed product, or a value.
_Tree: TypeAlias = "_Product | int"
#: A value, and whether it is divided by.
_Factor: TypeAlias = tuple[int, bool]
#: Terms of a sum and their signs.
_Terms: TypeAlias = list[tuple[int, _Tree]]


def factor_out(builder: ProgramBuilder, roots: array[int]) -> array[int]:
    """Append shorter forms of sums to ``builder``; return the new number of each value.

    Parameters
    ----------
    builder : ProgramBuilder
    roots : array of int
        What is stored or checked. Values that they do not need keep their numbers.
    """
    tape = builder.tape
    uses, inside = count_uses(tape, roots, _IS_SUM)
    sums = _Sums(builder, uses)
    new = sums.new
    changed, done = False, 0
    for v in sums_to_search(tape, uses, inside, _KINDS, _LONGEST):
        if changed:
            renumber(tape, done, v, uses, new)
        shorter = sums.shorter(v)
        if shorter is not None:
            new[v] = shorter
            changed = True
        elif changed:
            renumber(tape, v, v + 1, uses, new)
        done = v + 1
    if changed:
        renumber(tape, done, len(uses), uses, new)
    return new


class _Sums:
    """The sums of a program, one after the other."""

    def __init__(self, builder: ProgramBuilder, uses: array[int]) -> None:
        self.builder, self.tape, self.uses = builder, builder.tape, uses
        self.new = array("i", range(len(uses)))

    def shorter(self, root: int) -> int | None:
        """Return a sum with factors factored out, or None where there are none."""
        terms = self.search(root)
        return None if terms is None else self._sum(terms)

    def search(self, root: int) -> _Terms | None:
        """Return the terms of a sum of which two have a factor in common, None where there are none."""
        terms = self._terms(root)
        return None if len(terms) > _LONGEST or _best(terms) is None else terms

    def _terms(self, root: int) -> _Terms:
        """Return the terms of a sum from the left, each with its sign."""
        found: _Terms = []
        stack = [(1, root)]
        while stack and len(found) <= _LONGEST:
            sign, v = stack.pop()
            code = self.tape.code(v)
            if code in (_ADD, _SUBTRACT) and (v == root or self.uses[v] == 1):
                stack += [(sign if code == _ADD else -sign, self.tape.operand(v, 1)), (sign, self.tape.operand(v))]
            elif code == _NEGATIVE and self.uses[v] == 1:
                stack.append((-sign, self.tape.operand(v)))
            else:
                found.append((sign, self._tree(v, False)))
        return found

    def _tree(self, v: int, within: bool) -> _Tree:
        """Decompose a product whose parts are used here only, down to the last factor that is no number."""
        code, consts = self.tape.code(v), self.builder.consts
        if self.uses[v] > 1 or code not in (_MULTIPLY, _DIVIDE):
            return v
        a, b = self.tape.operand(v), self.tape.operand(v, 1)
        if code == _DIVIDE:
            return _Product(a, b, True)
        left = self._tree(a, True) if b in consts and not within else a
        right = self._tree(b, True) if a in consts and not within else b
        return _Product(left, right, False)

    def _sum(self, terms: _Terms) -> int:
        """Write a sum, with the factor that saves most factored out, and so on."""
        builder, best = self.builder, _best(terms)
        if best is None:
            # what is added comes first, so that no sign has to be turned
            first = next((i for i, (sign, _) in enumerate(terms) if sign > 0), 0)
            total = self._value(terms[first][1])
            total = total if terms[first][0] > 0 else builder.negative(total)
            for sign, term in terms[:first] + terms[first + 1 :]:
                value = self._value(term)
                total = builder.add(total, value) if sign > 0 else builder.subtract(total, value)
            return total
        common = [(sign, _without(term, best)) for sign, term in terms if best in _factors(term)]
        others = [(sign, term) for sign, term in terms if best not in _factors(term)]
        turned = all(sign < 0 for sign, _ in common)
        body = self._sum([(-sign, term) for sign, term in common] if turned else common)
        factor, divides = self.new[best[0]], best[1]
        whole = builder.divide(body, factor) if divides else builder.multiply(body, factor)
        if not others:
            return builder.negative(whole) if turned else whole
        rest = self._sum(others)
        return builder.subtract(rest, whole) if turned else builder.add(rest, whole)

    def _value(self, tree: _Tree) -> int:
        if isinstance(tree, int):
            return self.new[tree]
        left, right = self._value(tree.left), self._value(tree.right)
        return self.builder.divide(left, right) if tree.divides else self.builder.multiply(left, right)


def _best(terms: _Terms) -> _Factor | None:
    """Return the factor that saves most when it is factored out, or None."""
    gains: dict[_Factor, int] = {}
    for _, term in terms:
        for factor in _factors(term):
            gains[factor] = gains.get(factor, -1) + 1
    best = max(gains, key=lambda factor: gains[factor] * (_DIVISION if factor[1] else 1), default=None)
    return best if best is not None and gains[best] else None


def _factors(tree: _Tree) -> dict[_Factor, None]:
    """Return the factors that can be factored out of a product, once each."""
    if isinstance(tree, int):
        return {}
    if tree.divides:
        assert isinstance(tree.right, int)
        return {(tree.right, True): None}
    found: dict[_Factor, None] = {}
    for side in (tree.left, tree.right):
        found |= {(side, False): None} if isinstance(side, int) else _factors(side)
    return found


def _without(tree: _Tree, factor: _Factor) -> _Tree:
    """Return a product without one of its :func:`_factors`."""
    assert isinstance(tree, _Product)
    if factor == (tree.right, tree.divides):
        return tree.left
    if factor == (tree.left, False) and not tree.divides:
        return tree.right
    # it is in the side that is a product, beside a number
    left, right = ((side if isinstance(side, int) else _without(side, factor)) for side in (tree.left, tree.right))
    return _Product(left, right, tree.divides)


#: Functions whose expansions have the exponential of -|x|.
_OF_MAGNITUDE = frozenset({"softplus", "log_sigmoid", "sigmoid_slope"})


def _sigmoid_of_magnitude(x: Node) -> Node:
    """Return the sigmoid by the exponential of -|x|, and by the quotient that its slope has."""
    small = elementwise("exp", (-elementwise("abs", (x,)),))
    return elementwise("where", (compare("less", x, 0.0), small, constant(1.0))) * (1.0 / (1.0 + small))


def _unsigned(x: Node) -> Node:
    return x.args[0] if x.is_negation else x


def expand_functions(roots: Sequence[Node]) -> list[Node]:
    """Replace functions the scalar program lacks by their expansion in the table of functions.

    A logistic likelihood and its slope have one exponential: beside functions of -|x|, the sigmoid is one as well.
    """
    if not any(root.below & EXPANDED for root in roots):
        return list(roots)
    magnitudes = {_unsigned(node.args[0]) for node in postorder(roots) if node.op in _OF_MAGNITUDE}
    new: dict[Node, Node] = {}
    done: set[Node] = set()  # without such functions, as is everything below

    def expand(tops: Sequence[Node]) -> None:
        for node in postorder(tops, lambda node: not node.below & EXPANDED or node in done):
            row = FUNCTIONS.get(node.op)
            args = tuple([new.get(arg, arg) for arg in node.args])
            if row is not None and row.expansion is not None and not row.c:
                shares = node.op == "sigmoid" and _unsigned(node.args[0]) in magnitudes
                body = _sigmoid_of_magnitude(*args) if shares else row.expansion(*args)
                expand([body])  # by functions that may have to be expanded, too
                made = new.get(body, body)
            else:
                made = rebuild(node, args) if args else node
            new[node] = made
            done.add(made)

    expand(roots)
    return [new.get(root, root) for root in roots]


@paused
def unroll(
    inputs: Sequence[Node], outputs: Sequence[Node], limit: int = 50_000_000, hessians: Collection[int] = ()
) -> Program:
    """Lower a formula to scalar operations.

    Parameters
    ----------
    inputs : sequence of Node
        In the order of the kernel's arguments; all sizes fixed.
    outputs : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.rewrite.inline`).
    limit : int
        Number of scalar operations beyond which the formula is refused.
    hessians : collection of int
        Which outputs are Hessians with respect to one array, and so symmetric, whatever their form.

    Returns
    -------
    Program

    Raises
    ------
    UnsupportedError
        If the formula has symbolic sizes, a matrix too large to be scalarized, or more than
        ``limit`` operations.
    """
    builder = ProgramBuilder(limit)
    given: dict[Node, Ids | int] = {}
    for number, node in enumerate(inputs):
        shape = fixed_shape(node.shape)
        size = math.prod(shape)
        ids = [builder.emit("load", number, offset) for offset in range(size)]
        given[node] = np.array(ids, np.int64).reshape(shape) if shape else ids[0]
    # A condition is stored as the numbers 0 and 1, a position that is computed as it is.
    counted = [node if node.dtype is INT and node.args else to_real(node) for node in outputs]
    graph = number_nodes(expand_functions(counted))
    numbers, arrays = array("i", bytes(4 * len(graph.order))), dict[int, Ids]()
    _lower_all(builder, given, graph, numbers, arrays)
    stores = []
    for k, (node, place) in enumerate(zip(outputs, graph.roots, strict=True)):
        symmetric = k in hessians or (node.ndim == 2 and is_symmetric(node))
        values = _output(arrays[place], symmetric) if place in arrays else [numbers[place]]
        stores.append([builder.stored(v) for v in values])
    del given, graph, numbers, arrays
    new = factor_out(builder, array("i", itertools.chain((v for v, _ in builder.checks), *stores)))
    stores = [[new[v] for v in store] for store in stores]
    builder.checks = [(new[v], message) for v, message in builder.checks]
    ports_in = tuple(_port(node, f"x{i}") for i, node in enumerate(inputs))
    ports_out = tuple(_port(node, f"out{i}") for i, node in enumerate(outputs))
    return builder.finish(ports_in, ports_out, stores)


_OTHER, _NONE, _FUNCTION = -1, -2, 256
#: Ways to lower functions of numbers: the number of one of :data:`PAIRS`; that of a function of one number, which is
#: an operation of programs as it is, and this more; or something else.
_SCALAR = {name: _FUNCTION + CODES[name] if is_plain(name) else PAIRS.get(name, _OTHER) for name in FUNCTIONS}


def _lower_all(
    builder: ProgramBuilder, given: dict[Node, Ids | int], graph: Numbered, numbers: array[int], arrays: dict[int, Ids]
) -> None:
    """Lower all nodes of a graph.

    Parameters
    ----------
    builder : ProgramBuilder
    given : dict of Node to array of int or int
        Values that stand for some nodes, whatever these are computed from.
    graph : Numbered
    numbers : array of int
        Receives the value of each node without axes, by its place.
    arrays : dict of int to array of int
        Receives the values of nodes with axes, by their places.
    """
    order, starts, places, _ = graph
    for i in range(len(order)):
        node = order[i]
        if node in given:
            value = given[node]
            if isinstance(value, int):
                numbers[i] = value
            else:
                arrays[i] = value
            continue
        op, begin, end = node.op, starts[i], starts[i + 1]
        code = _NONE if node.shape else _SCALAR.get(op, _NONE)
        if code != _NONE:  # a function of numbers
            if code >= _FUNCTION:
                numbers[i] = builder.function(code - _FUNCTION, numbers[places[begin]])
            elif code != _OTHER:
                numbers[i] = builder.pair(code, numbers[places[begin]], numbers[places[begin + 1]])
            else:
                numbers[i] = lower_scalar(builder, op, [numbers[places[k]] for k in range(begin, end)])
            builder.charge()
            continue
        builder.reserve(node)
        args = []
        for k in range(begin, end):
            place = places[k]
            args.append(arrays[place] if place in arrays else np.array(numbers[place], np.int64))
        found = _lower(builder, node, args)
        if node.shape:
            arrays[i] = found
        else:
            numbers[i] = int(found)


def _output(values: Ids, symmetric: bool) -> list[int]:
    """Return the elements of an output: of a symmetric one the lower triangle twice, and nothing computes the other."""
    if not symmetric:
        whole: list[int] = values.ravel().tolist()
        return whole
    side = math.isqrt(values.size)
    square = values.reshape(side, side)
    lower: list[int] = np.where(np.tri(side, dtype=bool), square, square.T).ravel().tolist()
    return lower


def _port(node: Node, default: str) -> Port:
    shape = fixed_shape(node.shape)
    name = node.name if node.is_input and isinstance(node.name, str) else default
    return Port(name, shape, math.prod(shape))


def _lower(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    row = FUNCTIONS.get(node.op)
    if row is not None:
        return lower_elementwise(builder, node, args)
    rule = ARRAYS.get(node.op)
    if rule is None:
        raise UnsupportedError(f"{node.op} of an array of shape {show(node.args[0].shape)} as straight-line code")
    return rule(builder, node, args)
