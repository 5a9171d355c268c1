"""Sums of single entries, shown as the vector or matrix they make up.

The derivative of ``x[0] * x[1]`` is a sum of unit vectors, one for each entry. That is the
right form to compute with (the zeros are structure), but a person wants to read
``[x[1], x[0]]``. This pass runs before printing only.

Matrices of one column, or one row, are collected as vectors, without axes of length 1. What is an n x 1 matrix to
SymPy, and to many a book, has two readings: ``w.T @ A`` and ``A.T @ w`` hold the same numbers, and only vectors show
that they are alike. So a derivative is read without axes of length 1, and products of matrices with columns are put
back as such: the text has NumPy's meaning for the shapes as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np

from ..graph import (
    REAL,
    Labels,
    Node,
    concatenate,
    constant,
    contract,
    elementwise,
    inputs_of,
    label_sizes,
    number,
    postorder,
    rebuild,
    reshape,
    slicing,
    substitute,
)
from ..graph.deltas.affine import STRUCTURE
from ..graph.deltas.einsum import einsum
from ..graph.kinds import bit_of
from ..graph.primitives import EACH, TOGETHER
from ..graph.reference.interpret import evaluate
from ..graph.scalars.arithmetic import PowerProduct
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Shape, fixed
from ..ground.gc_pause import paused
from ..rewrite.cancelling.kinks import without_limits
from ..rewrite.cancelling.lowest_terms import on_one_denominator, wholes_in_lowest_terms
from ..rewrite.cancelling.monomials import monomial, total_of, written
from ..rewrite.narrowing import narrow
from ..rewrite.rewriter import READ, finish, make, shorten, simplify
from .collect import collect
from .elements import by_elements
from .layout import lay_out
from .text import TextStyle

__all__ = ["as_columns", "has_unit_axes", "without_axes_of_one"]


def has_unit_axes(order: Sequence[Node]) -> bool:
    """Tell whether any array of a graph is a matrix of one row or column, or has another axis of length 1."""
    return any(1 in node.shape for node in order)


def _tight(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def without_axes_of_one(order: Sequence[Node]) -> Node:
    """Return the formula, whose nodes come in order, calculated with arrays that have no axes of length 1.

    Parameters
    ----------
    order : sequence of Node
        The last is the formula.

    Returns
    -------
    Node
        Of the same shape and value.
    """
    cores: dict[Node, Node] = {}
    for node in order:
        cores[node] = _core(node, cores)
    return reshape(cores[order[-1]], order[-1].shape)


def _core(node: Node, cores: dict[Node, Node]) -> Node:
    """Return a node without its axes of length 1."""
    shape = _tight(node.shape)
    if node.is_contraction:
        return _contraction(node, cores)
    if node.is_reshape and cores[node.args[0]].shape == shape:
        return cores[node.args[0]]
    if node.op in FUNCTIONS and all(cores[arg].shape in ((), shape) for arg in node.args):
        return elementwise(node.op, tuple(cores[arg] for arg in node.args), node.dtype)
    if node.is_slice and 0 not in node.shape:  # nothing of an axis of length 1 is not the whole of it
        (x,) = node.args
        items = [
            (start, step, None if length == 1 else length)
            for (start, step, length), size in zip(node.payload.items, x.shape, strict=True)
            if size != 1
        ]
        return slicing(cores[x], tuple(items)) if items else cores[x]
    if not node.args:
        return reshape(node, shape)
    args = tuple(reshape(cores[arg], arg.shape) for arg in node.args)
    return reshape(node if args == node.args else rebuild(node, args), shape)


def _contraction(node: Node, cores: dict[Node, Node]) -> Node:
    labels, out, repeated = node.payload
    sizes = {**label_sizes(node), **dict(repeated)}

    def kept(own: Labels) -> Labels:
        return tuple(label for label in own if sizes[label] != 1)

    lasting = {label: size for label, size in repeated if size != 1}
    factors = [(cores[arg], kept(own)) for arg, own in zip(node.args, labels, strict=True)]
    if len(kept(out)) == 1:  # xᵀ A, a row, is Aᵀ x, a column: the same vector
        factors.sort(key=lambda factor: -factor[0].ndim)
    return einsum([x for x, _ in factors], [own for _, own in factors], kept(out), lasting)


def as_columns(root: Node) -> Node:
    """Return a formula in which columns that become vectors and columns again stay columns.

    Parameters
    ----------
    root : Node

    Returns
    -------
    Node
        Of the same shape and value: where a vector is reshaped to an n x 1 matrix, the formula of the
        vector is that of the matrix as far as its operations allow.
    """
    order = postorder([root])
    columns: dict[Node, Node] = {}
    new: dict[Node, Node] = {}
    for node in order:
        if node.ndim == 1:
            columns[node] = _column(node, columns)
    for node in order:
        args = tuple(new[arg] for arg in node.args)
        made = node if args == node.args else rebuild(node, args)
        if node.is_reshape and node.args[0].ndim == 1 and node.shape == (*node.args[0].shape, 1):
            column = columns[node.args[0]]
            made = made if column.is_reshape else column
        new[node] = made
    return new[root]


def _column(node: Node, columns: dict[Node, Node]) -> Node:
    """Return a vector as a matrix of one column."""
    shape = (*node.shape, 1)
    if node.is_reshape and node.args[0].shape == shape:
        return node.args[0]
    if node.op in FUNCTIONS and all(arg.shape in ((), node.shape) for arg in node.args):
        return elementwise(node.op, tuple(columns[arg] if arg.ndim else arg for arg in node.args), node.dtype)
    if node.is_contraction and not node.payload.repeated:
        labels, out, _ = node.payload
        vectors = {own for own in labels if len(own) == 1}
        matrices = [(arg, own) for arg, own in zip(node.args, labels, strict=True) if len(own) == 2]
        if len(vectors) == 1 and matrices and out not in vectors and all(map(len, labels)):
            (own,) = vectors
            parts = [columns[arg] for arg, mine in zip(node.args, labels, strict=True) if mine == own]
            if any(not part.is_reshape for part in parts):
                column = reduce(lambda a, b: elementwise("multiply", (a, b)), parts)
                last = max(label for mine in labels for label in mine) + 1
                operands = [*(arg for arg, _ in matrices), column]
                return contract(operands, [*(mine for _, mine in matrices), (*own, last)], (*out, last))
    return reshape(node, shape)


#: Quotients by sums of exponentials, and integrals of densities, beside which these cancel.
_MEETING = bit_of("sech") | bit_of("ndtr")
#: The entries that are no structural zeros, by their places.
Entries: TypeAlias = dict[tuple[int, ...], Node]
#: Arrays of more elements stay sums.
_LARGEST = 64
#: Arrays of at most so many elements are looked at element by element.
_FEW = 36
#: Length up to which a part of a derivative is shown as a formula of its own, by that of the whole with an index.
_PART = 1.4
#: Least gain of another form of the same derivative: below, they differ in the order of factors.
_MUCH = 0.94
#: Length that a line counts for, besides its letters.
_LINE = 8
#: Part of the length of a form with names that counts.
_NAMED = 0.9
#: Operations that have a slope wherever they have a value.
_PLAIN = {"input", "constant", "slice", "gather", "reshape", "named", "contract", "add", "subtract", "multiply",
          "negative", "exp", "sin", "cos", "tanh", "sech", "sigmoid", "sinh", "cosh", "arctan", "softplus"}  # fmt: skip


#: Operations whose values, of numbers, may be shown in their place: ``exp(1)`` stays, and so does what a person named.
_OF_NUMBERS = ({"add", "subtract", "multiply", "negative"} | STRUCTURE | TOGETHER | EACH) - {"named"}


@paused
def present(root: Node, *, derived: bool) -> Node:
    """Return the formula as a person would write it.

    Parameters
    ----------
    root : Node
    derived : bool
        Whether it is a derivative or made of one, which is shown collected; what a person wrote
        is shown as it was written.

    Returns
    -------
    Node
        Equal in value.
    """
    if not derived:
        return _made_whole(root, derived=False)
    finished = finish([without_limits(root)])[0]
    whole = wholes_in_lowest_terms(finished)
    joined = on_one_denominator(finished)
    if joined is not None and not (joined.is_division and joined.args[1].is_root):  # others are read as they stand
        joined = None
    different = [other for other in (whole, joined) if other is not None and other is not finished]
    forms = dict.fromkeys((shorten(finished), finished, *map(shorten, different)))
    shown = _written(next(iter(forms)))
    for other in map(_written, [*forms][1:]):
        if _cost(other) < _MUCH * _cost(shown):
            shown = other
    is_part = shown.is_slice or (shown.is_reshape and shown.args[0].is_slice)
    longest = (_PART if is_part else _MUCH) * _cost(shown)
    for other in map(_written, _read_in_part(finished)):
        if _cost(other) < longest:
            shown, longest = other, _MUCH * _cost(other)
    return shown


def _written(form: Node) -> Node:
    """Return a form collected, and with arrays in place of what is made of single entries."""
    made = _in_numbers(_shortest(_made_whole(form, derived=True)))
    return _made_whole(made, derived=True)  # of single entries that came out meanwhile


def _read_in_part(root: Node) -> list[Node]:
    """Return other forms of what was made of derivatives, such as an element or a trace of one.

    What is read of an array is a formula of its own. A small array is looked at element by element, too: of products
    of small matrices the elements may be short.
    """
    order = postorder([root], most=READ)
    if len(order) > READ or any(node.is_named for node in order):
        return []
    forms = [_alone(root)]
    shape = fixed(root.shape)
    summed = any(node.is_contraction or node.op == "prod" for node in order)
    if shape is not None and math.prod(shape) <= _FEW and summed:
        elements = by_elements(root, _alone)
        forms += [elements] if elements is not None else []
    return [form for form in forms if form is not root]


def _alone(root: Node) -> Node:
    (found,) = simplify(narrow(simplify([root])))
    if found is root:
        return root
    return min((collect(form) for form in dict.fromkeys((shorten(found), found))), key=_text_length)


def _cost(form: Node) -> float:
    """Return the length of a form's text; less where it has names that a person gave, who knows what they stand for."""
    names = sum(node.is_named for node in postorder([form]))
    return (_text_length(form) - _LINE * names) * (_NAMED if names else 1.0)


def _in_numbers(root: Node) -> Node:
    """Return a derivative with small arrays of numbers as such, where these are shorter than how they came about."""
    order = postorder([root])
    numeric: set[Node] = set()
    for node in order:
        shape = fixed(node.shape)
        is_small = shape is not None and math.prod(shape) <= _LARGEST and node.dtype is REAL
        if is_small and (node.is_constant or node.op in _OF_NUMBERS) and numeric.issuperset(node.args):
            numeric.add(node)
    above = {arg for node in order if node not in numeric for arg in node.args if arg in numeric} | {root} & numeric
    new: dict[Node, Node] = {}
    for node in above:
        if node.args and node.shape:
            (value,) = evaluate([node], {})
            number = constant(value)
            if np.isfinite(value).all() and _text_length(number) < _text_length(node):
                new[node] = number
    # single entries of a sum that are still such are put together behind this
    return min(root, *substitute([root], new), key=_text_length) if new else root


def _made_whole(root: Node, *, derived: bool) -> Node:
    """Return the formula with arrays in place of what is made of single entries."""
    order = postorder([root])
    entries: dict[Node, Entries] = {}
    new: dict[Node, Node] = {}
    for node in order:
        found = _entries(node, entries)
        if found is not None:
            entries[node] = found
        if node.args:
            shown = tuple([_assembled(new, entries, arg, derived) for arg in node.args])
            new[node] = rebuild(node, shown) if node not in entries else node
        else:
            new[node] = node
    return _assembled(new, entries, root, derived)


def _text_length(formula: Node) -> int:
    layout = lay_out([formula], TextStyle([str(leaf.name) for leaf in inputs_of([formula])]), derived=True)
    return sum(map(len, layout.results)) + sum(len(name) + _LINE + len(value) for name, value in layout.definitions)


def _shortest(derivative: Node) -> Node:
    """Return a derivative collected, with its columns as vectors where that is shorter."""
    order = postorder([derivative])
    plain = collect(derivative)
    meets = not plain.shape and plain.below & _MEETING
    shorter = shorten(plain) if meets else plain  # exponentials that were apart may have met
    if shorter is not plain:
        plain = min(plain, shorter, key=_cost)
    if not has_unit_axes(order):
        return plain
    vectors = collect(without_axes_of_one(order))
    return min(plain, as_columns(vectors), vectors, key=_text_length)


def _entries(node: Node, known: dict[Node, Entries]) -> Entries | None:
    """Return the entries that are not structural zeros, if the node is made of single ones."""
    shape = fixed(node.shape)
    if not shape or math.prod(shape) > _LARGEST:
        return None
    if node.is_negation and node.args[0] in known:
        return {index: make("negative", value) for index, value in known[node.args[0]].items()}
    if node.is_multiplication:
        for factor, other in (node.args, node.args[::-1]):
            if factor.shape == () and other in known:
                return {index: make("multiply", factor, value) for index, value in known[other].items()}
    if node.is_additive and all(arg in known and arg.shape == node.shape for arg in node.args):
        result = dict(known[node.args[0]])
        for index, value in known[node.args[1]].items():
            if index in result:
                result[index] = make(node.op, result[index], value)
            else:
                result[index] = value if node.is_addition else make("negative", value)
        return result
    if node.op in STRUCTURE or node.is_contraction:
        return _unit_entry(node, known)
    if node.size == 1 and node.dtype is REAL and node.op in FUNCTIONS:
        return _of_one(node, known)
    if node.is_reshape:
        return _reshaped(node, known)
    return _padded(node, known) if node.is_pad else None


def _of_one(node: Node, known: dict[Node, Entries]) -> Entries | None:
    """Return a function of arrays of one element as one of their elements."""
    args = [(_listed(arg, known) or {}).get((0,) * arg.ndim) for arg in node.args]
    found = [arg for arg in args if arg is not None]
    return {(0,) * node.ndim: make(node.op, *found)} if len(found) == len(args) else None


def _reshaped(node: Node, known: dict[Node, Entries]) -> Entries | None:
    (x,), shape = node.args, fixed(node.shape)
    if x.shape == ():
        return {(0,) * node.ndim: x}
    before, inside = fixed(x.shape), _listed(x, known) if x.is_concatenation and node.ndim > 1 else known.get(x)
    if inside is None or shape is None or before is None:
        return None
    return {
        tuple(map(int, np.unravel_index(np.ravel_multi_index(index, before), shape))): value
        for index, value in inside.items()
    }


def _padded(node: Node, known: dict[Node, Entries]) -> Entries | None:
    (x,), items = node.args, node.payload.items
    inside = _listed(x, known)
    if inside is None or not all(isinstance(start, int) and isinstance(step, int) for start, step, _ in items):
        return None
    found = {}
    for index, value in inside.items():
        place = iter(index)
        found[tuple(start if size is None else start + step * next(place) for start, step, size in items)] = value
    return found


def _listed(node: Node, known: dict[Node, Entries]) -> Entries | None:
    """Return the entries of a scalar, of what is made of single ones, of a few numbers, or of a list of scalars."""
    if node.shape == ():
        return {(): node}
    if node in known or node.is_onehot:
        return known.get(node)
    if node.is_constant and node.dtype is REAL and node.value.size <= _LARGEST:
        return {index: constant(float(value)) for index, value in np.ndenumerate(node.value) if value}
    if not node.is_concatenation or node.ndim != 1:
        return None
    found: Entries = {}
    for at, x in enumerate(node.args):
        inside = {(0,): x.args[0]} if x.is_reshape and x.args[0].shape == () else _listed(x, known)
        if inside is None or x.size != 1:
            return None
        for value in inside.values():
            found[at,] = value
    return found


def _unit_entry(node: Node, known: dict[Node, Entries]) -> Entries | None:
    """Return the entries of a unit vector, or of a product of arrays with such, of which one at most has several."""
    if node.is_onehot:
        return {(node.payload.at,): constant(1.0)} if isinstance(node.payload.at, int) else None
    if not node.is_contraction:
        return None
    labels, out, repeated = node.payload
    parts = [(own, _listed(arg, known)) for arg, own in zip(node.args, labels, strict=True)]
    places: dict[int, int] = {label: 0 for label, size in repeated if size == 1}
    is_unit = [entries is not None and len(entries) == 1 for own, entries in parts if own]
    if {*places, *(label for own in labels for label in own)} != set(out) or not any(is_unit or [True]):
        return None
    found: list[tuple[dict[int, int], Node]] = [(places, constant(1.0))]
    for own, entries in parts:
        if entries is None or (len(entries) > 1 and len(found) > 1):
            return None
        found = [
            ({**place, **dict(zip(own, index, strict=True))}, make("multiply", one, value))
            for place, one in found
            for index, value in entries.items()
            if all(place.get(label, at) == at for label, at in zip(own, index, strict=True))
        ]
    return {tuple(place[label] for label in out): value for place, value in found}


def _assembled(new: dict[Node, Node], entries: dict[Node, Entries], node: Node, derived: bool) -> Node:
    """Return the array of the entries, or the node where it is not made of single ones."""
    if node not in entries:
        return new[node]
    shape = fixed(node.shape)
    assert shape is not None
    found = entries[node]
    is_one = len(found) == 1 or node.is_contraction or node.op in STRUCTURE
    if is_one and math.prod(shape) > max(4, 2 * len(found)) and not node.is_additive:
        return new[node]
    if len(shape) == 2 and shape[1] == 1:
        return reshape(_stack({index[:1]: value for index, value in found.items()}, shape[:1], ()), shape)
    common, found = _apart(found) if derived else (None, found)
    whole = _array_of_elements(found, shape) or _stack(found, shape, ())
    return whole if common is None else elementwise("multiply", (common, whole))


def _array_of_elements(found: Entries, shape: tuple[int, ...]) -> Node | None:
    """Return the array whose elements, all of them in order, entries are."""
    whole: Node | None = None
    for index in np.ndindex(*shape):
        part = found.get(index)
        while part is not None and part.is_reshape:
            (part,) = part.args
        if part is None or not part.is_slice or (whole is not None and part.args[0] is not whole):
            return None
        (whole,) = part.args
        if whole.shape != shape or tuple(start for start, _, _ in part.payload.items) != index or part.size != 1:
            return None
    return whole


def _apart(found: Entries) -> tuple[Node | None, Entries]:
    """Return the factors that all entries have, and the entries without them."""
    products = [monomial(1.0, value) for value in found.values()]
    known = [product for product in products if product is not None]
    if len(found) < 2 or len(known) < len(found):
        return None, found
    shared = {base: min(product.powers.get(base, 0) for product in known) for base in known[0].powers}
    common = {base: n for base, n in shared.items() if n > 0 and _is_smooth(base)}
    if not common:
        return None, found
    sizes = {abs(product.number) for product in known}
    scale = sizes.pop() if len(sizes) == 1 else 1.0
    factor = PowerProduct(scale, common)
    inverse = factor.inverse()
    rest = [total_of([written(product.times(inverse))]) for product in known]
    return written(factor)[1], dict(zip(found, rest, strict=True))


def _is_smooth(base: Node) -> bool:
    """Tell whether a factor has a slope everywhere. That of x * sqrt(x) at 0 is only known of the whole product."""
    return all(node.op in _PLAIN or (node.is_power and _is_whole(node)) for node in postorder([base]))


def _is_whole(power: Node) -> bool:
    n = number(power.args[1])
    return n is not None and n > 0.0 and n.is_integer()


def _stack(found: Entries, shape: tuple[int, ...], index: tuple[int, ...]) -> Node:
    if not shape:
        return found.get(index, constant(0.0))
    parts = [_stack(found, shape[1:], (*index, i)) for i in range(shape[0])]
    return concatenate([reshape(part, (1, *part.shape)) for part in parts], 0)
