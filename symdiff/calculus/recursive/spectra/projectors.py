"""Products of eigenvectors that are functions of the matrix: projectors, and what is made of their columns in pairs.

V[:, S] diag(f(x[S])) V[:, S]^T with some columns S of the eigenvectors is f(A) for a function that is 0 beyond points
half way to the other eigenvalues. It is smooth where eigenvalues within S are equal, although the columns are not, and
as a function of the matrix it has derivatives there (Kato, Perturbation theory for linear operators, II.1.4). So a
formula has such functions in place of pairs of columns before it is differentiated.

Products are opened, and joined over several operations, as in ``V[:, :2] @ (V[:, :2].T @ x)``: as long as eigenvectors
are among its factors, a node is a product of factors with labels. A sum over the number of a column, which two factors
have that are the same columns, is a function of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from ....graph import (
    Item,
    Labels,
    Node,
    constant,
    delta,
    elementwise,
    onehot,
    postorder,
    rebuild,
    reduce,
    slicing,
    whole,
)
from ....graph import gather as gathering
from ....graph.deltas.affine import is_identity
from ....graph.deltas.einsum import einsum
from ....graph.kinds import EIGENVECTORS
from ....graph.scalars.functions import scalar_constant
from ....graph.sizes import Dim
from .columns import Columns, all_of, gathered_of, part_of, weighted

#: Factors that a product has at most.
_MOST = 24

Factor: TypeAlias = tuple["Node | Columns", Labels]


class Product(NamedTuple):
    """A node as a product: its factors with labels, the labels of its own axes, and the sizes of all."""

    factors: list[Factor]
    out: Labels
    sizes: dict[int, Dim]


def in_projectors(node: Node) -> Node:
    """Return a formula with functions of the matrix in place of pairs of columns of its eigenvectors."""
    return _Opened().of(node) if node.below & EIGENVECTORS else node


class _Opened:
    """Nodes as products that hold columns, and what stands in the place of all."""

    def __init__(self) -> None:
        self.products: dict[Node, Product] = {}
        self.new: dict[Node, Node] = {}
        self.labels: Iterator[int] = count()

    def of(self, root: Node) -> Node:
        for node in postorder([root], lambda node: node.is_barrier or not node.below & EIGENVECTORS):
            known = not node.is_barrier and bool(node.below & EIGENVECTORS)
            self.new[node] = self._written(node) if known else node
        return self.new[root]

    def _written(self, node: Node) -> Node:
        product = self._product(node)
        if product is not None and not _columns(product):
            return _value(product)
        if product is not None and len(product.factors) <= _MOST:
            self.products[node] = product
        args = [self.new.get(arg, arg) for arg in node.args]
        if node.op == "norm" and node.args[0] in self.products:
            turned = self._projected(node)
            args = args if turned is None else [turned]
            return reduce("norm", args[0], node.payload.axes)
        return rebuild(node, tuple(args))

    def _product(self, node: Node) -> Product | None:
        if node.op == "eigenvectors":
            own = self._fresh(node.ndim)
            return Product([(Columns(node, all_of(node.shape[-1])), own)], own, _sizes(own, node))
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

    def _factors(self, arg: Node, own: Labels) -> Product:
        """Return an argument as a product with labels of its own inside, and ``own`` outside."""
        product = self.products.get(arg)
        if product is None:
            arg = self.new.get(arg, arg)
            if not arg.is_contraction or not any(part.is_delta for part in arg.args):
                return Product([(arg, own)], own, _sizes(own, arg))
            labels, out, repeated = arg.payload
            sizes = dict(repeated)
            for part, names in zip(arg.args, labels, strict=True):
                sizes.update(zip(names, part.shape, strict=True))
            product = Product(list(zip(arg.args, labels, strict=True)), out, sizes)
        new = dict(zip(product.out, own, strict=True))
        for label in product.sizes:
            if label not in new:
                new[label] = next(self.labels)
        factors: list[Factor] = [(part, tuple([new[n] for n in names])) for part, names in product.factors]
        return Product(factors, own, {new[label]: size for label, size in product.sizes.items()})

    def _contracted(
        self, args: Sequence[Node], labels: Sequence[Labels], out: Labels, repeated: Mapping[int, Dim]
    ) -> Product | None:
        new = {label: next(self.labels) for own in (*labels, out) for label in own}
        whole_product = Product([], tuple([new[n] for n in out]), {new[n]: size for n, size in repeated.items()})
        for arg, own in zip(args, labels, strict=True):
            part = self._factors(arg, tuple([new[n] for n in own]))
            whole_product.factors.extend(part.factors)
            whole_product.sizes.update(part.sizes)
        return _closed(whole_product)

    def _scaled(self, node: Node) -> Product | None:
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

    def _added(self, node: Node) -> Product | None:
        """Add what is multiplied by the same columns."""
        rests: list[Node] = []
        picked: list[tuple[Columns, int]] = []
        for arg in node.args:
            product = self.products.get(arg)
            columns = [] if product is None else _columns(product)
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
            rests.append(_value(Product(others, (*axes, row), product.sizes)))
            picked.append((found, product.out.index(column)))
        if picked[0] != picked[1]:
            return None
        (found, place), rest = picked[0], elementwise(node.op, tuple(rests))
        *axes, row = self._fresh(rest.ndim)
        column = next(self.labels)
        sizes = {**_sizes((*axes, row), rest), column: node.shape[place]}
        return Product(
            [(found, (row, column)), (rest, (*axes, row))], (*axes[:place], column, *axes[place:]), sizes
        )

    # ------------------------------------------------------------------------ parts

    def _sliced(self, node: Node) -> Product | None:
        whole_product = self.products[node.args[0]]
        factors, sizes = [*whole_product.factors], dict(whole_product.sizes)
        out: list[int] = []
        for label, item in zip(whole_product.out, node.payload.items, strict=True):
            start, step, length = item
            if item == whole(sizes[label]):
                out.append(label)
            elif _is_column(label, factors):
                taken = _of_columns(factors, label, item)
                if taken is None:
                    return None
                factors, sizes[label] = taken, 1 if length is None else length
                out += [label] * (length is not None)
            elif length is None:
                factors.append((onehot(sizes[label], start), (label,)))
            else:
                part = next(self.labels)
                factors.append((delta(length, sizes[label], start, step), (part, label)))
                sizes[part] = length
                out.append(part)
        return Product(factors, tuple(out), sizes)

    def _gathered(self, node: Node) -> Product | None:
        product = self.products[node.args[0]]
        axis, indices = node.payload
        label = product.out[axis]
        if not _is_column(label, product.factors):
            return None
        taken = _of_columns(product.factors, label, None, indices)
        return None if taken is None else Product(taken, product.out, {**product.sizes, label: len(indices)})

    def _projected(self, node: Node) -> Node | None:
        """Return what has the norm of an array with columns: the columns times their coefficients have it."""
        product = self.products[node.args[0]]
        columns = _columns(product)
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
        return _value(Product(factors, out, {**product.sizes, place: found.vectors.shape[-1]}))


# ---------------------------------------------------------------------------- factors


def _sizes(labels: Labels, node: Node) -> dict[int, Dim]:
    return dict(zip(labels, node.shape, strict=True))


def _columns(product: Product) -> list[tuple[Columns, Labels]]:
    return [(part, own) for part, own in product.factors if isinstance(part, Columns)]


def _value(product: Product) -> Node:
    """Return a product without columns as a node."""
    parts = [part for part, _ in product.factors if isinstance(part, Node)]
    return einsum(parts, [own for _, own in product.factors], product.out, product.sizes)


def _is_column(label: int, factors: Sequence[Factor]) -> bool:
    return any(isinstance(part, Columns) and own[-1] == label for part, own in factors)


def _of_columns(
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
            for axis, name in enumerate(own):
                if name == label:
                    part = gathering(part, axis, tuple(indices)) if item is None else _kept(part, axis, item)
            result.append((part, own))
    return result


def _kept(x: Node, axis: int, item: Item) -> Node:
    start, step, length = item
    kept = (start, step, 1 if length is None else length)
    return slicing(x, tuple([kept if a == axis else whole(n) for a, n in enumerate(x.shape)]))


# ---------------------------------------------------------------------------- sums over columns


def _closed(product: Product) -> Product | None:
    """Put functions of the matrix for pairs of the same columns that are summed over; None if other sums are left."""
    product = _without_deltas(product)
    for label in dict.fromkeys(own[-1] for _, own in _columns(product)):
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
                if names not in ((label,), (*lead, label)):
                    return None
                weights.append(part)
        function = weighted(columns, weights)
        if function is None:
            return None
        rest = [factor for factor in product.factors if label not in factor[1]]
        sizes = {name: size for name, size in product.sizes.items() if name != label}
        product = Product([*rest, (function, (*lead, row, other[-2]))], product.out, sizes)
    return product


def _without_deltas(product: Product) -> Product:
    """Give the two indices of a diagonal matrix one label, where one of them is that of a column."""
    factors, out, sizes = product
    for place, (part, own) in enumerate(factors):
        if not isinstance(part, Node) or len(own) != 2 or own[0] == own[1] or not _is_diagonal(part):
            continue
        if not any(_is_column(label, factors) for label in own) or set(own) <= set(out):
            continue
        kept, gone = own if own[0] in out else own[::-1]
        rest = [*factors[:place], *factors[place + 1 :]]
        if part.is_constant:
            rest.append((constant(np.diagonal(part.value).copy()), (kept,)))
        new: list[Factor] = [(x, tuple([kept if n == gone else n for n in names])) for x, names in rest]
        kept_sizes = {label: size for label, size in sizes.items() if label != gone}
        return _without_deltas(Product(new, out, kept_sizes))
    return product


def _is_diagonal(node: Node) -> bool:
    if node.is_delta:
        return is_identity(node)
    if not node.is_constant or node.shape[0] != node.shape[1]:
        return False
    values = node.value
    return not np.any(values - np.diag(np.diagonal(values)))
