"""Cotangents of eigenvalues that are one function of each of them, found by their form.

What a sum over eigenvalues is differentiated to, such as 1 / x for the sum of log(x), is a function of the matrix, and
has derivatives where eigenvalues are equal. So has what counts for neighbouring eigenvalues alone, as for the sum of
the three largest, where these are apart from the others: it is 0 beyond points half way between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, nan
from typing import NamedTuple, TypeAlias

from ...graph import (
    BOOL,
    Labels,
    Node,
    broadcast_to,
    concatenate,
    constant,
    contract,
    elementwise,
    label_sizes,
    postorder,
    reduce,
    slicing,
    stop_gradient,
    substitute,
    whole,
)
from ...graph.contractions import parameter, point
from ...graph.scalars.functions import FUNCTIONS, apply, compare, scalar_constant, to_real, where
from ...graph.sizes import Dim
from ...rewrite.matrices.functions import EQUAL

#: Nodes as formulas of one eigenvalue, and the maker of a parameter of a node.
Forms: TypeAlias = dict[Node, Node | None]
Taking: TypeAlias = Callable[[Node], Node]


class OfEigenvalues(NamedTuple):
    """A formula of one eigenvalue, and what else it takes: arrays without the axis of eigenvalues."""

    formula: Node
    parameters: list[Node]


def as_function(c: Node, x: Node, leaves: Iterable[Node] = ()) -> OfEigenvalues | None:
    """Return ``c`` as one function of each of the eigenvalues ``x``, along the last axis of both, if it is one.

    Eigenvalues are what ``leaves`` are, too: nodes that are those in x.
    """
    parameters: dict[Node, Node] = {}
    forms: Forms = dict.fromkeys((x, *leaves), point(0))

    def taken(node: Node) -> Node:
        return parameters.setdefault(node, parameter(len(parameters)))

    order = postorder([c], lambda node: node in forms)
    ranges = {_range(node, x) for node in order if node.is_pad and node.shape[-1] == x.shape[-1]}
    if len(ranges) > 1 and _cover(ranges, x.shape[-1]):  # together they may be one smooth function of all eigenvalues
        return None
    for node in order:
        if node not in forms:
            forms[node] = _form(node, x, forms, taken)
    formula = forms[c]
    if formula is None:
        return None
    from .divided_differences import is_known  # not needed by most programs

    if not is_known(formula):
        return None
    used = postorder([formula])
    rest = {p: taken_from for taken_from, p in parameters.items() if p in used}
    renamed = {p: parameter(k) for k, p in enumerate(rest)}
    return OfEigenvalues(substitute([formula], renamed)[0], list(rest.values()))


def factored(found: OfEigenvalues) -> tuple[Node | None, Node]:
    """Return a parameter that all is multiplied by, and the rest."""
    formula = found.formula
    if formula.is_multiplication:
        for one, other in (formula.args, formula.args[::-1]):
            for k, node in enumerate(found.parameters):
                if one is parameter(k) and parameter(k) not in postorder([other]):
                    return node, other
    return None, formula


def _form(node: Node, x: Node, forms: Forms, taken: Taking) -> Node | None:
    """Return a node as a formula of one eigenvalue, None if its elements along the last axis are of several kinds."""
    number = scalar_constant(node)
    if number is not None:
        return constant(number)
    if not node.ndim:
        return None  # taken as a whole by what it is broadcast in
    if node.is_slice and node.args[0] is x and node.payload.items[-1][2] is not None:
        return point(0) if _range(node, x) is not None else None
    if node.is_pad:
        return _form_of_range(node, x, forms, taken)
    if node.op in FUNCTIONS:
        parts = [_argument(arg, node, forms, taken) for arg in node.args]
        if any(part is None for part in parts):
            return None
        return elementwise(node.op, tuple([part for part in parts if part is not None]), node.dtype)
    if node.is_contraction:
        return _form_of_product(node, forms, taken)
    if node.op in ("softmax", "unit") and node.payload.axes == (-1,):
        inner = forms.get(node.args[0])
        if inner is None:
            return None
        if node.op == "unit":
            length = taken(reduce("norm", node.args[0], (node.ndim - 1,)))
            return where(compare("equal", length, 0.0), 0.0, inner / length)
        total = reduce("logsumexp", node.args[0], (node.ndim - 1,))
        return apply("exp", inner - taken(total))
    return None


def _argument(arg: Node, whole_node: Node, forms: Forms, taken: Taking) -> Node | None:
    number = scalar_constant(arg)
    if number is not None:
        return constant(number)
    if arg.dtype is BOOL and (not arg.ndim or arg.shape[-1] == 1):
        taken_as = _argument(to_real(arg), whole_node, forms, taken)
        return None if taken_as is None else compare("not_equal", taken_as, 0.0)
    if not arg.ndim:
        return taken(arg)
    if arg.shape[-1] == 1 and whole_node.shape[-1] != 1:
        items = (*(whole(n) for n in arg.shape[:-1]), (0, 1, None))
        return taken(slicing(arg, items))
    return forms.get(arg)


def _form_of_product(node: Node, forms: Forms, taken: Taking) -> Node | None:
    labels, out, repeated = node.payload
    last = out[-1]
    factors: list[Node] = []
    rest: list[tuple[Node, Labels]] = []
    for arg, own in zip(node.args, labels, strict=True):
        if last not in own:
            rest.append((arg, own))
            continue
        form = forms.get(arg)
        if form is None or own[-1] != last or own[:-1] != out[len(out) - len(own) : -1]:
            return None
        factors.append(form)
    if rest or not factors:
        sizes = label_sizes(node)
        kept = [arg for arg, _ in rest] or [constant(1.0)]
        own_labels = [own for _, own in rest] or [()]
        present = {label for own in own_labels for label in own}
        free = tuple(label for label in out[:-1] if label in present or label in dict(repeated))
        if free == out[len(out) - 1 - len(free) : -1]:
            factors.append(taken(contract(kept, own_labels, free, sizes)))
        else:
            factors.append(taken(contract(kept, own_labels, out[:-1], sizes)))
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


class _Range(NamedTuple):
    """Neighbouring eigenvalues: number ``first``, and those up to ``end``, which is behind them."""

    first: Dim
    end: Dim
    falling: bool


def _cover(ranges: Iterable[_Range | None], n: Dim) -> bool:
    """Tell whether each eigenvalue is in one of some ranges."""
    places = [range(own.first, own.end) for own in ranges if own is not None]
    return isinstance(n, int) and {*range(n)} <= {place for each in places for place in each}


def _range(node: Node, x: Node) -> _Range | None:
    """Return which eigenvalues a slice takes, or a pad puts values in the places of; the stack must be whole."""
    *lead, (start, step, length) = node.payload.items
    n = x.shape[-1]
    if length is None:
        step, length = 1, 1
    if not (isinstance(n, int) and isinstance(start, int) and isinstance(length, int)) or abs(step) != 1 or not length:
        return None
    stack = node.shape[:-1] if node.is_pad else x.shape[:-1]
    if any(item != whole(size) for item, size in zip(lead, stack, strict=True)):
        return None
    last = start + step * (length - 1)
    return _Range(min(start, last), max(start, last) + 1, step < 0)


def _form_of_range(node: Node, x: Node, forms: Forms, taken: Taking) -> Node | None:
    """Return what counts for neighbouring eigenvalues alone: a function that is 0 beyond those half way to the others.

    It is nan where the first or the last of them is equal to one that does not count.
    """
    (arg,) = node.args
    own = _range(node, x)
    if own is None or node.shape[-1] != x.shape[-1]:
        return None
    if node.payload.items[-1][2] is None:
        form: Node | None = taken(arg)
    else:
        parts = [part for part in postorder([arg]) if part.is_slice and part.args[0] is x]
        form = forms.get(arg)
        if any(_range(part, x) != own for part in parts if part.payload.items[-1][2] is not None):
            return None
    return None if form is None else within(form, own.first, own.end, x, taken)


def within(form: Node, first: Dim, end: Dim, x: Node, taken: Taking) -> Node:
    """Return a formula for the eigenvalues from number ``first`` up to ``end``, and 0 for the others.

    It is nan where the first or the last of them is equal to one that does not count.
    """
    still = stop_gradient(x)
    largest = reduce("max", apply("abs", still), (x.ndim - 1,))
    for edge, above in ((first, True), (end, False)):
        if edge not in (0, x.shape[-1]):
            below, here = _beside(edge, still)
            apart = where(compare("less", EQUAL * largest, here - below), 1.0, nan)
            half = taken(0.5 * (below + here))
            # an eigenvalue at the edge is inside, where it is nan
            inside = compare("less_equal", half, point(0)) if above else compare("less_equal", point(0), half)
            form = where(inside, form * taken(apart), 0.0)
    return form


def _beside(edge: Dim, x: Node) -> tuple[Node, Node]:
    """Return eigenvalues number ``edge - 1`` and ``edge``; beyond the ends they are infinite."""
    lead = x.shape[:-1]
    if not isinstance(x.shape[-1], int):  # the edge may be an end for some sizes
        ends = [broadcast_to(constant(value), (*lead, 1)) for value in (-inf, inf)]
        x, edge = concatenate([ends[0], x, ends[1]], x.ndim - 1), edge + 1
    one, other = (slicing(x, (*map(whole, lead), (edge - k, 1, None))) for k in (1, 0))
    return one, other
