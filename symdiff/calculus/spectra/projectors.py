"""Products of eigenvectors that are functions of the matrix: projectors, and what is made of their columns in pairs.

V[:, S] diag(f(x[S])) V[:, S]^T with some columns S of the eigenvectors is f(A) for a function that is 0 beyond points
half way to the other eigenvalues. It is smooth where eigenvalues within S are equal, although the columns are not,
and as a function of the matrix it has derivatives there (Kato, Perturbation theory for linear operators, II.1.4). So
a formula has such functions in place of pairs of columns before it is differentiated.

Products are opened, and joined over several operations, as in ``V[:, :2] @ (V[:, :2].T @ x)``: as long as
eigenvectors are among its factors, a node is a product of factors with labels. A sum over the number of a column,
which two factors have that are the same columns, is a function of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from ...graph import (
    Item,
    Labels,
    Node,
    constant,
    contract,
    delta,
    dependents,
    elementwise,
    gather,
    matrix,
    onehot,
    part_of_part,
    placeholder,
    postorder,
    rebuild,
    reduce,
    reshape,
    slicing,
    substitute,
    whole,
)
from ...graph import gather as gathering
from ...graph.contractions import parameter
from ...graph.deltas.affine import is_identity
from ...graph.deltas.einsum import add_terms, einsum
from ...graph.kinds import EIGENVECTORS
from ...graph.scalars.arithmetic import terms_of
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...graph.sizes import Dim
from .recognition import OfEigenvalues, as_function, within
from .spectral import function_of


class EvenColumns(NamedTuple):
    """Columns from one at an even step: those of an axis of symbolic size."""

    start: Dim
    step: int
    length: Dim


#: Which columns are taken, in their order: their numbers, where these are known.
Picked: TypeAlias = "EvenColumns | tuple[int, ...]"


class Columns(NamedTuple):
    """Some columns of eigenvectors."""

    vectors: Node
    picked: Picked


def all_of(size: Dim) -> Picked:
    """Return all columns of a matrix."""
    return tuple(range(size)) if isinstance(size, int) else EvenColumns(0, 1, size)


def part_of(picked: Picked, item: Item) -> Picked | None:
    """Return a regular part of some columns; that of one place is the column there."""
    start, step, length = item
    length = 1 if length is None else length
    if isinstance(picked, EvenColumns):
        return _plain(picked.start + start * picked.step, step * picked.step, length)
    if not (isinstance(start, int) and isinstance(length, int)):
        return None
    return tuple([picked[start + k * step] for k in range(length)])


def _plain(start: Dim, step: int, length: Dim) -> Picked:
    if isinstance(start, int) and isinstance(length, int):
        return tuple(range(start, start + step * length, step))
    return EvenColumns(start, step, length)


def gathered_of(picked: Picked, indices: Sequence[int]) -> Picked | None:
    """Return the columns at some places of those given."""
    if not isinstance(picked, EvenColumns):
        return tuple([picked[k] for k in indices])
    if not isinstance(picked.start, int):
        return None
    return tuple([picked.start + k * picked.step for k in indices])


def along_last(x: Node, picked: Picked) -> Node:
    """Take the places of some columns from the last axis of an array."""
    if not isinstance(picked, EvenColumns):
        step = picked[1] - picked[0] if len(picked) > 1 else 1
        if picked != tuple(range(picked[0], picked[0] + step * len(picked), step or 1)):
            return gather(x, x.ndim - 1, picked)
        picked = EvenColumns(picked[0], step, len(picked))
    return slicing(x, (*map(whole, x.shape[:-1]), (picked.start, picked.step, picked.length)))


def _taken_as(node: Node, base: Node) -> Picked | None:
    """Return which places of ``base``'s last axis a node has, if it is that and nothing else."""
    steps = []
    while node is not base:
        if not (node.is_slice or node.is_gather) or node.ndim != base.ndim:
            return None
        steps.append(node)
        (node,) = node.args
    found: Picked | None = all_of(base.shape[-1])
    for step in reversed(steps):
        if found is None:
            return None
        if step.is_gather:
            found = gathered_of(found, step.payload.indices) if step.payload.axis == -1 else None
            continue
        *lead, last = step.payload.items
        if any(item != whole(size) for item, size in zip(lead, base.shape, strict=False)):
            return None
        found = part_of(found, last)
    return found


def _inward(weight: Node) -> Node:
    """Move what takes places of a formula's values, or their shape, to the eigenvalues inside."""
    if not (weight.is_reshape or (weight.ndim == 1 and (weight.is_slice or weight.is_gather))):
        return weight
    (arg,) = weight.args
    if arg.op not in FUNCTIONS:
        return weight
    new: dict[Node, Node] = {}
    for node in postorder([arg], lambda node: node.op not in FUNCTIONS or node.shape != arg.shape):
        for one in node.args:
            if one not in new:
                new[one] = _placed(weight, one) if one.shape == arg.shape else one
        new[node] = elementwise(node.op, tuple([new[one] for one in node.args]), node.dtype)
    return new[arg]


def _placed(taking: Node, x: Node) -> Node:
    return reshape(x, taking.shape) if taking.is_reshape else rebuild(taking, (x,))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give the first and the end of each run of neighbours."""
    rising = sorted(numbers)
    first = rising[0]
    for number, following in zip(rising, [*rising[1:], -1], strict=True):
        if following != number + 1:
            yield first, number + 1
            first = following


def _parts(picked: Picked, weights: Sequence[Node]) -> list[tuple[float, Dim, Dim]] | None:
    """Return runs of neighbouring columns, each with its number in the product of constant weights."""
    if isinstance(picked, EvenColumns):
        if weights or abs(picked.step) != 1:
            return None
        last = picked.start + picked.step * (picked.length - 1)
        first, end = (picked.start, last + 1) if picked.step > 0 else (last, picked.start + 1)
        return [(1.0, first, end)]
    if len(set(picked)) < len(picked):
        return None
    by_weight: dict[float, list[int]] = {}
    for place, column in enumerate(picked):
        weight = 1.0
        for one in weights:
            weight *= float(one.value[place])
        if weight:
            by_weight.setdefault(weight, []).append(column)
    return [(weight, *run) for weight, numbers in by_weight.items() for run in _runs(numbers)]


def weighted(columns: Columns, weights: Sequence[Node]) -> Node | None:
    """Return V diag(w) V^T of some columns V, as a function of the matrix; None if the weights are none.

    Parameters
    ----------
    columns : Columns
    weights : sequence of Node
        Their product is w: vectors of numbers, or formulas of the eigenvalues of the columns.
    """
    (a,) = columns.vectors.args
    x = matrix("eigvalsh", a)
    fixed = [w for w in weights if w.is_constant]
    parts = _parts(columns.picked, fixed)
    if parts is None:
        return None
    rest = [_inward(w) for w in weights if not w.is_constant]
    found = OfEigenvalues(constant(1.0), [])
    if rest:
        own = along_last(x, columns.picked)
        if any(w.shape != own.shape for w in rest):
            return None
        axes = tuple(range(own.ndim))
        product = contract(rest, [axes] * len(rest), axes)
        leaves = [node for node in postorder([product]) if _taken_as(node, x) == columns.picked]
        function = as_function(product, own, leaves)
        if function is None:
            return None
        found = function
    parameters = list(found.parameters)

    def taken(node: Node) -> Node:
        if node not in parameters:
            parameters.append(node)
        return parameter(parameters.index(node))

    total: Node | None = None
    for weight, first, end in parts:
        part = within(found.formula if weight == 1.0 else weight * found.formula, first, end, x, taken)
        total = part if total is None else total + part
    return function_of(constant(0.0) if total is None else total, a, parameters)


Factor: TypeAlias = tuple["Node | Columns", Labels]


class ColumnProduct(NamedTuple):
    """A node as a product: its factors with labels, the labels of its own axes, and the sizes of all."""

    factors: list[Factor]
    out: Labels
    sizes: dict[int, Dim]


def sizes_of(labels: Labels, node: Node) -> dict[int, Dim]:
    """Return the sizes of a node's labels."""
    return dict(zip(labels, node.shape, strict=True))


def columns_of(product: ColumnProduct) -> list[tuple[Columns, Labels]]:
    """Return the columns among the factors, with their labels."""
    return [(part, own) for part, own in product.factors if isinstance(part, Columns)]


def value_of(product: ColumnProduct) -> Node:
    """Return a product without columns as a node."""
    parts = [part for part, _ in product.factors if isinstance(part, Node)]
    return einsum(parts, [own for _, own in product.factors], product.out, product.sizes)


def is_column(label: int, factors: Sequence[Factor]) -> bool:
    """Tell whether a label is that of the numbers of columns."""
    return any(isinstance(part, Columns) and own[-1] == label for part, own in factors)


def taken_from(
    factors: Sequence[Factor], label: int, item: Item | None, indices: Sequence[int] = ()
) -> list[Factor] | None:
    """Take some columns, and their places in what they are multiplied by: a part of the axis, or some indices."""
    result: list[Factor] = []
    for part, own in factors:
        if label not in own:
            result.append((part, own))
        elif isinstance(part, Columns):
            picked = gathered_of(part.picked, indices) if item is None else part_of(part.picked, item)
            if picked is None:
                return None
            result.append((part._replace(picked=picked), own))
        else:
            kept = part
            for axis in [axis for axis, name in enumerate(own) if name == label]:
                kept = gathering(kept, axis, tuple(indices)) if item is None else _kept(kept, axis, item)
            result.append((kept, own))
    return result


def _kept(x: Node, axis: int, item: Item) -> Node:
    start, step, length = item
    kept = (start, step, 1 if length is None else length)
    return slicing(x, tuple([kept if a == axis else whole(n) for a, n in enumerate(x.shape)]))


# ---------------------------------------------------------------------------- sums over columns


def closed(product: ColumnProduct) -> ColumnProduct | None:
    """Put functions of the matrix for pairs of the same columns that are summed over; None if other sums are left."""
    product = _without_deltas(product)
    for label in dict.fromkeys(own[-1] for _, own in columns_of(product)):
        if label in product.out:
            continue
        own = [factor for factor in product.factors if label in factor[1]]
        pair = [(part, names) for part, names in own if isinstance(part, Columns)]
        if len(pair) == 1 and len(own) == 1 and product.sizes[label] == 1:
            continue  # one column, which has no axis
        if len(pair) != 2 or pair[0][0] != pair[1][0] or pair[0][1][:-2] != pair[1][1][:-2]:
            return None
        (columns, (*lead, row, _)), (_, other) = pair
        weights: list[Node] = []
        for part, names in own:
            if isinstance(part, Node):
                weight, axes = _without_unit_axes(part, names, product)
                if axes not in ((label,), (*lead, label)):
                    return None
                weights.append(weight)
        function = weighted(columns, weights)
        if function is None:
            return None
        rest = [factor for factor in product.factors if label not in factor[1]]
        sizes = {name: size for name, size in product.sizes.items() if name != label}
        product = ColumnProduct([*rest, (function, (*lead, row, other[-2]))], product.out, sizes)
    return product


def _without_unit_axes(part: Node, own: Labels, product: ColumnProduct) -> tuple[Node, Labels]:
    """Leave axes of size 1 out that nothing else has."""
    met = [*product.out, *[label for _, names in product.factors for label in names]]
    kept = [axis for axis, label in enumerate(own) if part.shape[axis] != 1 or met.count(label) > 1]
    return reshape(part, tuple([part.shape[a] for a in kept])), tuple([own[a] for a in kept])


def _without_deltas(product: ColumnProduct) -> ColumnProduct:
    """Give the two indices of a diagonal matrix one label, where one of them is that of a column."""
    factors, out, sizes = product
    place = 0
    while place < len(factors):
        part, own = factors[place]
        place += 1
        if not isinstance(part, Node) or len(own) != 2 or own[0] == own[1] or not _is_diagonal(part):
            continue
        if not any(is_column(label, factors) for label in own) or set(own) <= set(out):
            continue
        kept, gone = own if own[0] in out else own[::-1]
        rest = [*factors[: place - 1], *factors[place:]]
        if part.is_constant:
            rest.append((constant(np.diagonal(part.value).copy()), (kept,)))
        factors = [(x, tuple([kept if n == gone else n for n in names])) for x, names in rest]
        sizes = {label: size for label, size in sizes.items() if label != gone}
        place = 0
    return ColumnProduct(factors, out, sizes)


def _is_diagonal(node: Node) -> bool:
    if node.is_delta:
        return is_identity(node)
    if not node.is_constant or node.shape[0] != node.shape[1]:
        return False
    values = node.value
    return not np.any(values - np.diag(np.diagonal(values)))


#: Factors that a product has at most.
_MOST = 24


def in_projectors(node: Node) -> Node:
    """Return a formula with functions of the matrix in place of pairs of columns of its eigenvectors."""
    return _Opened().of(_of_single_matrices(node)) if node.below & EIGENVECTORS else node


#: Axes of the spectra of a matrix.
_AXES = {"eigenvectors": 2, "eigvalsh": 1}


def _of_single_matrices(root: Node) -> Node:
    """Take spectra of some matrices of a stack in place of some of the spectra of all."""
    new: dict[Node, Node] = {}
    for node in postorder([root]):
        made = new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if not made.is_slice:
            continue
        (arg,), items = made.args, made.payload.items
        if arg.is_slice:
            items = part_of_part(arg.payload.items, items)
            (arg,) = arg.args
        own = _AXES.get(arg.op, arg.ndim)
        lead = items[: arg.ndim - own]
        if any(item != whole(size) for item, size in zip(lead, arg.shape, strict=False)):
            (matrices,) = arg.args
            part = matrix(arg.op, slicing(matrices, (*lead, *map(whole, matrices.shape[-2:]))))
            new[node] = slicing(part, (*map(whole, part.shape[:-own]), *items[arg.ndim - own :]))
    return new[root]


class _Opened:
    """Nodes as products that hold columns, and what stands in the place of all."""

    def __init__(self) -> None:
        self.products: dict[Node, ColumnProduct] = {}
        self.new: dict[Node, Node] = {}
        self.labels: Iterator[int] = count()
        #: True where products of columns are taken one by one.
        self.single = False

    def of(self, root: Node) -> Node:
        for node in postorder([root], lambda node: node.is_barrier or not node.below & EIGENVECTORS):
            self.new[node] = self._written(node)
        return self.new.get(root, root)

    def _written(self, node: Node) -> Node:
        joined = self._joined(node) if node.is_additive and self.single else None
        if joined is not None:
            return joined
        product = self._product(node)
        if product is not None and not columns_of(product):
            return value_of(product)
        if product is not None and len(product.factors) <= _MOST:
            self.products[node] = product
        args = [self.new.get(arg, arg) for arg in node.args]
        if node.op == "norm" and node.args[0] in self.products:
            turned = self._projected(node)
            args = args if turned is None else [turned]
            return reduce("norm", args[0], tuple([axis + args[0].ndim for axis in node.payload.axes]))
        return rebuild(node, tuple(args))

    def _product(self, node: Node) -> ColumnProduct | None:
        if node.op == "eigenvectors":
            own = self._fresh(node.ndim)
            return ColumnProduct([(Columns(node, all_of(node.shape[-1])), own)], own, sizes_of(own, node))
        if not any(arg in self.products for arg in node.args):
            return None
        if node.is_named:
            return self.products[node.args[0]]
        if node.is_contraction:
            labels, out, repeated = node.payload
            return self._contracted(node.args, labels, out, dict(repeated))
        if node.is_slice:
            return self._sliced(node)
        if node.is_gather:
            return self._gathered(node)
        if node.is_additive:
            return self._added(node)
        return self._scaled(node)

    def _fresh(self, n: int) -> Labels:
        return tuple([next(self.labels) for _ in range(n)])

    # ------------------------------------------------------------------------ products

    def _factors(self, arg: Node, own: Labels) -> ColumnProduct:
        """Return an argument as a product with labels of its own inside, and ``own`` outside."""
        product = self.products.get(arg)
        if product is None:
            arg = self.new.get(arg, arg)
            if not arg.is_contraction or not any(part.is_delta for part in arg.args):
                return ColumnProduct([(arg, own)], own, sizes_of(own, arg))
            labels, out, repeated = arg.payload
            sizes = dict(repeated)
            for part, names in zip(arg.args, labels, strict=True):
                sizes.update(zip(names, part.shape, strict=True))
            product = ColumnProduct(list(zip(arg.args, labels, strict=True)), out, sizes)
        new = dict(zip(product.out, own, strict=True))
        for label in product.sizes:
            if label not in new:
                new[label] = next(self.labels)
        factors: list[Factor] = [(part, tuple([new[n] for n in names])) for part, names in product.factors]
        return ColumnProduct(factors, own, {new[label]: size for label, size in product.sizes.items()})

    def _contracted(
        self, args: Sequence[Node], labels: Sequence[Labels], out: Labels, repeated: Mapping[int, Dim]
    ) -> ColumnProduct | None:
        new = {label: next(self.labels) for own in (*labels, out) for label in own}
        whole_product = ColumnProduct([], tuple([new[n] for n in out]), {new[n]: size for n, size in repeated.items()})
        for arg, own in zip(args, labels, strict=True):
            part = self._factors(arg, tuple([new[n] for n in own]))
            whole_product.factors.extend(part.factors)
            whole_product.sizes.update(part.sizes)
        return closed(whole_product)

    def _scaled(self, node: Node) -> ColumnProduct | None:
        """Open products element by element, quotients by what has no columns, and squares."""
        args = list(node.args)
        if node.is_negation:
            args.append(constant(-1.0))
        elif node.is_power and scalar_constant(args[1]) == 2.0:
            args[1] = args[0]
        elif node.is_division and args[1] not in self.products:
            args[1] = elementwise("divide", (constant(1.0), self.new.get(args[1], args[1])))
        elif not node.is_multiplication:
            return None
        out = tuple(range(node.ndim))
        labels, other = [], count(node.ndim)
        for arg in args:
            axes = enumerate(arg.shape, node.ndim - arg.ndim)
            labels.append(tuple([a if size == node.shape[a] else next(other) for a, size in axes]))
        return self._contracted(args, labels, out, dict(enumerate(node.shape)))

    def _added(self, node: Node) -> ColumnProduct | None:
        """Add what is multiplied by the same columns."""
        rests: list[Node] = []
        picked: list[tuple[Columns, int]] = []
        for arg in node.args:
            product = self.products.get(arg)
            columns = [] if product is None else columns_of(product)
            if product is None or len(columns) != 1 or arg.shape != node.shape:
                return None
            ((found, (*lead, row, column)),) = columns
            others = [factor for factor in product.factors if factor[0] is not found]
            if lead or column not in product.out or any(column in own for _, own in others):
                return None
            if row in product.out:
                inner = next(self.labels)
                size = product.sizes[row]
                others.append((delta(size, size), (row, inner)))
                row, product = inner, product._replace(sizes={**product.sizes, inner: size})
            axes = tuple([label for label in product.out if label != column])
            rests.append(value_of(ColumnProduct(others, (*axes, row), product.sizes)))
            picked.append((found, product.out.index(column)))
        if picked[0] != picked[1]:
            return None
        (found, place), rest = picked[0], elementwise(node.op, tuple(rests))
        own, column = self._fresh(rest.ndim), next(self.labels)
        sizes = {**sizes_of(own, rest), column: node.shape[place]}
        out = (*own[:place], column, *own[place:-1])
        return ColumnProduct([(found, (own[-1], column)), (rest, own)], out, sizes)

    def _joined(self, node: Node) -> Node | None:
        """Add products of one column each that differ in their columns alone, as a product of several columns."""
        alike: dict[tuple[float, tuple[object, ...]], list[tuple[int, ColumnProduct, Node]]] = {}
        rest: list[tuple[float, Node]] = []
        for scale, term in terms_of(node)[0]:
            one = _of_one_column(self.products.get(term))
            if one is None:
                rest.append((scale, self.new.get(term, term)))
            else:
                alike.setdefault((scale, _described(one)), []).append((one.column, one.product, term))
        found = False
        for (scale, _), group in alike.items():
            numbers = [number for number, _, _ in group]
            several = _of_columns_together(group[0][1], numbers) if 1 < len(group) == len({*numbers}) else None
            whole_product = None if several is None else closed(several)
            if whole_product is None or columns_of(whole_product):
                rest += [(scale, self.new.get(term, term)) for _, _, term in group]
            else:
                rest.append((scale, value_of(whole_product)))
                found = True
        return add_terms(rest) if found else None

    # ------------------------------------------------------------------------ parts

    def _sliced(self, node: Node) -> ColumnProduct | None:
        whole_product = self.products[node.args[0]]
        factors, sizes = [*whole_product.factors], dict(whole_product.sizes)
        out: list[int] = []
        for label, item in zip(whole_product.out, node.payload.items, strict=True):
            start, step, length = item
            if item == whole(sizes[label]):
                out.append(label)
            elif is_column(label, factors):
                taken = taken_from(factors, label, item)
                if taken is None:
                    return None
                factors, sizes[label] = taken, 1 if length is None else length
                out += [label] * (length is not None)
                self.single = self.single or length is None
            elif length is None:
                factors.append((onehot(sizes[label], start), (label,)))
            else:
                part = next(self.labels)
                factors.append((delta(length, sizes[label], start, step), (part, label)))
                sizes[part] = length
                out.append(part)
        return ColumnProduct(factors, tuple(out), sizes)

    def _gathered(self, node: Node) -> ColumnProduct | None:
        product = self.products[node.args[0]]
        axis, indices = node.payload
        label = product.out[axis]
        if not is_column(label, product.factors):
            return None
        taken = taken_from(product.factors, label, None, indices)
        return None if taken is None else ColumnProduct(taken, product.out, {**product.sizes, label: len(indices)})

    def _projected(self, node: Node) -> Node | None:
        """Return what has the norm of an array with columns: the columns times their coefficients have it."""
        product = self.products[node.args[0]]
        columns = columns_of(product)
        if len(columns) != 1:
            return None
        ((found, own),) = columns
        places = [a - len(product.out) for a, label in enumerate(product.out) if label == own[-1]]
        if not places or places[0] not in node.payload.axes:
            return None
        if any(own[-1] in names for part, names in product.factors if part is not found):
            return None
        p = weighted(found, [])
        if p is None:
            return None
        place = next(self.labels)
        factors = [(p, (*own[:-1], place)) if part is found else (part, names) for part, names in product.factors]
        out = tuple([place if label == own[-1] else label for label in product.out])
        return value_of(ColumnProduct(factors, out, {**product.sizes, place: found.vectors.shape[-1]}))


# ---------------------------------------------------------------------------- sums of products of one column each


class _OneColumn(NamedTuple):
    """A product with one column twice, the number of the column, and its eigenvalue."""

    product: ColumnProduct
    column: int
    eigenvalue: Node


def _of_one_column(product: ColumnProduct | None) -> _OneColumn | None:
    """Return a product with its two columns in front, if it has one column twice."""
    columns = [] if product is None else columns_of(product)
    if product is None or len(columns) != 2 or columns[0][0] != columns[1][0]:
        return None
    vectors, picked = columns[0][0]
    if isinstance(picked, EvenColumns) or len(picked) != 1 or vectors.ndim != 2:
        return None
    ends = {own[-1] for _, own in columns}
    rest = [factor for factor in product.factors if isinstance(factor[0], Node)]
    if len(ends) < 2 or any(not ends.isdisjoint(own) for own in (product.out, *[own for _, own in rest])):
        return None
    eigenvalue = slicing(matrix("eigvalsh", *vectors.args), ((picked[0], 1, None),))
    return _OneColumn(product._replace(factors=[*columns, *rest]), picked[0], eigenvalue)


#: Placeholder of the eigenvalue of a column.
_EIGENVALUE = placeholder(("eigenvalue of a column",), ())


def _described(one: _OneColumn) -> tuple[object, ...]:
    """Return what products that differ in their columns alone have in common."""
    names: dict[int, int] = {}
    parts: list[object] = []
    for part, own in one.product.factors:
        if isinstance(part, Columns):
            parts.append(part.vectors)
        else:
            parts.append(substitute([part], {one.eigenvalue: _EIGENVALUE})[0] if not part.shape else part)
        parts.append(tuple([names.setdefault(label, len(names)) for label in own]))
    return (*parts, tuple([names.setdefault(label, len(names)) for label in one.product.out]))


def _of_columns_together(product: ColumnProduct, numbers: Sequence[int]) -> ColumnProduct | None:
    """Return the sum over some columns of a product with one of them."""
    (columns, own), (_, other), *rest = product.factors
    assert isinstance(columns, Columns)
    picked = tuple(sorted(numbers))
    x = matrix("eigvalsh", *columns.vectors.args)
    one, all_of_them = slicing(x, ((columns.picked[0], 1, None),)), along_last(x, picked)
    label = own[-1]
    factors: list[Factor] = [(columns._replace(picked=picked), names) for names in (own, (*other[:-1], label))]
    for part, names in rest:
        assert isinstance(part, Node)
        moving = {} if part.shape else dependents(postorder([part]), [one])
        if not moving:
            factors.append((part, names))
        elif all(node.op in FUNCTIONS or node is one for node in moving):
            factors.append((substitute([part], {one: all_of_them})[0], (label,)))
        else:
            return None
    return ColumnProduct(factors, product.out, {**product.sizes, label: len(picked)})
