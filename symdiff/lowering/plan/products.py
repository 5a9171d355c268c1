"""Products of arrays in an order that costs least, and which of them are worth a step of their own.

A product of many factors becomes products of two, where one of these is large enough; else it stays whole and
becomes a loop. What decides are the sizes of one sample, never the length of the batch.

Inverses that only multiply something are solutions of linear systems: half the work, and the smaller error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...graph import Node, contract, elementwise, intern, label_sizes, matrix, postorder, rebuild, reshape, swap
from ...graph.deltas.contraction_order import Step, cheapest_step
from ...graph.primitives import DELTAS, MATRIX_OPS, Labels
from ...graph.sizes import Dim, nominal, product
from ..matrices import ELIMINATION_LIMIT
from .access import BATCH, is_long
from .bound import USES

__all__ = [
    "FACTORED",
    "is_factored",
    "is_large_matrix",
    "is_product",
    "is_symmetric_product",
    "is_transpose",
    "shared_matrices",
    "solve_inverses",
    "solve_vectors",
    "split_products",
    "turned_inverses",
]


#: Functions of matrices that a factorization gives.
FACTORED = MATRIX_OPS & set(USES)


#: Rows up to which one matrix is a part of a scalar program: all its lanes would hold that matrix.
ALONE_LIMIT = 5


def is_large_matrix(node: Node) -> bool:
    """Tell whether a node is a function of matrices too large for scalar programs."""
    if node.op not in FACTORED:
        return False
    rows = node.args[0].shape[-1]
    return not isinstance(rows, int) or rows > (ELIMINATION_LIMIT if node.args[0].ndim > 2 else ALONE_LIMIT)


def shared_matrices(node: Node) -> Node:
    """Return the matrices that are repeated for all samples, where they are; else the node."""
    if node.is_contraction and len(node.args) == 1 and node.args[0].ndim == node.ndim - 1:
        (own,) = node.payload.labels
        if node.payload.out[1:] == own and node.shape[0] == BATCH:
            return node.args[0]
    return node


def is_factored(node: Node) -> bool:
    """Tell whether a node is a function of large matrices, or a solution with many right sides or shared matrices."""
    if node.op != "solve":
        return is_large_matrix(node)
    many = node.ndim == node.args[0].ndim and is_long(node.shape[-1])
    return many or is_large_matrix(node) or shared_matrices(node.args[0]) is not node.args[0]


def is_transpose(node: Node) -> bool:
    """Tell whether a node is other matrices with rows and columns exchanged."""
    if not node.is_contraction or len(node.args) != 1 or node.args[0].ndim != node.ndim:
        return False
    (own,) = node.payload.labels
    return bool(own == (*node.payload.out[:-2], node.payload.out[-1], node.payload.out[-2]))


def turned_inverses(roots: Sequence[Node]) -> set[Node]:
    """Return the transposes of large inverses that nothing else needs: the kernels write them as they are."""
    users: dict[Node, set[Node]] = defaultdict(set)
    for node in postorder(roots):
        for arg in node.args:
            if arg.op == "inv":
                users[arg].add(node)
    return {
        node
        for inverse, several in users.items()
        if len(several) == 1 and inverse not in roots and is_large_matrix(inverse)
        for node in several
        if is_transpose(node)
    }


def solve_vectors(roots: Sequence[Node]) -> list[Node]:
    """Make vectors of solutions that are written as matrices of one column: the last pass, which others do not know."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if made.op == "solve" and is_factored(made):
            a, b = made.args
            if b.is_reshape and b.shape[-1] == 1 and b.args[0].shape == b.shape[:-1]:
                made = reshape(intern("solve", (a, b.args[0]), None, b.args[0].shape), made.shape)
        new[node] = made
    return [new[root] for root in roots]


def solve_inverses(roots: Sequence[Node], needed: int | None = None) -> list[Node]:
    """Write products with inverses of large matrices as solutions, where nothing else needs the inverse.

    Parameters
    ----------
    roots : sequence of Node
    needed : int, optional
        How many of them are computed, the first ones; by default all. The others are kept in step.
    """
    users: dict[Node, list[Node]] = defaultdict(list)
    order = postorder(roots)
    for node in postorder(roots[:needed]):
        for arg in set(node.args):
            if arg.op == "inv":
                users[arg].append(node)
    kept = {node for node in roots[:needed] if node.op == "inv"}
    replaced = {
        inverse
        for inverse, several in users.items()
        if inverse not in kept and is_large_matrix(inverse) and all(_solved(node, inverse) for node in several)
    }
    if not replaced:
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        for old, arg in zip(node.args, made.args, strict=True):
            if old in replaced:
                made = _solved(made, arg) or made
                break
        new[node] = made
    return [new[root] for root in roots]


def _solved(node: Node, inverse: Node) -> Node | None:
    """Return a product of an inverse and another array as a solution, None where it is not such a product."""
    if not node.is_contraction or len(node.args) != 2 or node.args[0] is node.args[1]:
        return None
    which = node.args.index(inverse)
    other = node.args[1 - which]
    labels, out, repeated = node.payload
    own, rest = labels[which], labels[1 - which]
    *lead, row, column = own
    summed = [label for label in own if label not in out]
    if repeated or len(set(own)) < len(own) or len(set(rest)) < len(rest) or len(summed) != 1:
        return None
    (inner,) = summed
    if inner not in (row, column) or inner not in rest or any(label not in out for label in rest if label != inner):
        return None
    stays = row if inner == column else column
    if stays in rest:
        return None
    sizes = {**dict(zip(own, inverse.shape, strict=True)), **dict(zip(rest, other.shape, strict=True))}
    # one solution for each sample, whether the matrices or the right sides have the samples' axis, or both
    lead = [*lead, *(label for label in rest if sizes[label] == BATCH and label not in own)]
    return _solution(inverse, other, (tuple(lead), inner, stays), rest, out, inner == row, sizes)


def _solution(
    inverse: Node,
    other: Node,
    places: tuple[Labels, int, int],
    rest: Labels,
    out: Labels,
    transposed: bool,
    sizes: Mapping[int, Dim],
) -> Node:
    lead, inner, stays = places
    columns = tuple(label for label in rest if label != inner and label not in lead)
    start = tuple(sizes[label] for label in lead)
    right = contract([other], [rest], (*lead, inner, *columns), sizes)
    right = reshape(right, (*start, sizes[inner], product(sizes[label] for label in columns)))
    (a,) = inverse.args
    found = matrix("solve", swap(a) if transposed else a, right)
    found = reshape(found, (*start, a.shape[-1], *(sizes[label] for label in columns)))
    return contract([found], [(*lead, stays, *columns)], out)


#: Nominal numbers of a letter and of samples when products are put in order.
NOMINAL = 256
#: Multiplications, for one sample, from which a product of two is a step of its own: of two factors of the same
#: samples, of samples with what they share, where the samples are rows of one product, and summed over the samples.
LEAST, LEAST_SHARED, LEAST_SUMMED = 512, 256, 64
#: And along each of the axes that it goes over, at least.
SHORT = 4
#: Products of at most this many factors have every order tried.
EXHAUSTIVE = 5


def is_product(node: Node) -> bool:
    """Tell whether a contraction is a step of its own: two whole arrays, a sum over both, and work enough."""
    if not node.is_contraction or len(node.args) != 2 or any(not own for own in node.payload.labels):
        return False
    if any(arg.op in DELTAS for arg in node.args):
        return False
    a, b = node.payload.labels
    return worth(a, b, node.payload.out, label_sizes(node))


def worth(a: Labels, b: Labels, out: Sequence[int], sizes: dict[int, Dim]) -> bool:
    """Tell whether a product of two factors is worth a step of its own."""
    if len(set(a)) < len(a) or len(set(b)) < len(b):
        return False
    summed = [label for label in a if label in b and label not in out]
    rows = [label for label in a if label not in b and label in out]
    columns = [label for label in b if label not in a and label in out]
    if not summed or not (rows or columns) or any(label not in out for label in {*a, *b} - {*summed}):
        return False
    if any(is_long(sizes[label]) for label in summed) and any(is_long(sizes[label]) for label in (*rows, *columns)):
        return True  # no loop has an element that is such a sum
    own = [label for label in {*a, *b} if sizes[label] != BATCH]
    total = 1
    for label in own:
        total *= nominal(sizes[label], NOMINAL)
    if BATCH in [sizes[label] for label in summed]:
        return total >= LEAST_SUMMED
    shared = BATCH in [sizes[label] for label in (*rows, *columns)]
    if total < (LEAST_SHARED if shared else LEAST):
        return False
    return all(_count(group, sizes) >= SHORT for group in (summed, rows, columns) if group)


def _count(group: Sequence[int], sizes: dict[int, Dim]) -> int:
    total = 1
    for label in group:
        total *= nominal(sizes[label], NOMINAL)
    return total


def is_symmetric_product(node: Node) -> bool:
    """Tell whether a contraction is symmetric, since exchanging its two labels gives the same factors."""
    labels, out, _ = node.payload
    if len(out) < 2:
        return False
    i, j = out[-2:]
    swap = {i: j, j: i}
    factors = [found for arg, own in zip(node.args, labels, strict=True) for found in _factors(arg, own)]
    return Counter(factors) == Counter((arg, tuple(swap.get(label, label) for label in own)) for arg, own in factors)


def _factors(node: Node, labels: Labels) -> Iterator[tuple[Node, Labels]]:
    """Yield the arrays that a factor is the product of, element by element, and the labels of their axes, -1 of none.

    So X.T diag(w) X is known to be symmetric where it is written ``(w * X.T) @ X``.
    """
    if node.is_multiplication:
        for arg in node.args:
            own = zip(arg.shape, node.shape[-arg.ndim :], labels[-arg.ndim :], strict=True) if arg.ndim else ()
            yield from _factors(arg, tuple([label if size == whole else -1 for size, whole, label in own]))
    elif node.is_contraction and len(node.args) == 1 and sorted(node.payload.labels[0]) == sorted(node.payload.out):
        place = dict(zip(node.payload.out, labels, strict=True))
        yield from _factors(node.args[0], tuple([place[label] for label in node.payload.labels[0]]))
    else:
        yield node, labels


def split_products(roots: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """Write products of three and more arrays as products of two where one of these is worth a step.

    Returns
    -------
    list of Node
        The roots.
    set of Node
        The products that are symmetric matrices.
    """
    new: dict[Node, Node] = {}
    symmetric: set[Node] = set()
    for node in postorder(roots):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        made = _repeat_last(made)
        if made.is_contraction and len(made.args) > 1:
            is_symmetric = is_symmetric_product(made)
            made = _split(made) if len(made.args) > 2 else made
            if is_symmetric:
                symmetric.add(made)
        new[node] = made
    return [new[root] for root in roots], symmetric


def _repeat_last(node: Node) -> Node:
    """Return a sum that is repeated along new axes as the sum, repeated."""
    if not node.is_contraction or not node.payload.repeated:
        return node
    labels, out, repeated = node.payload
    if all(label in out for own in labels for label in own):
        return node
    new = {label for label, _ in repeated}
    kept = tuple(label for label in out if label not in new)
    return contract([contract(node.args, labels, kept)], [kept], out, dict(repeated))


def _split(node: Node) -> Node:
    labels, out, repeated = node.payload
    sizes = label_sizes(node)
    dense = [(arg, own) for arg, own in zip(node.args, labels, strict=True) if arg.ndim]
    if any(arg.op in DELTAS for arg, _ in dense) or len(dense) < 2 or repeated:
        return node
    factors = [*dense]
    numbers = {label: nominal(size, NOMINAL) for label, size in sizes.items()}
    found = any(is_large_matrix(arg) for arg, _ in dense)  # which become solutions

    def cost(step: Step) -> int:
        total = 1
        for label in {*step.left, *step.right}:
            total *= numbers[label]
        return total

    while len(factors) > 2:
        step = cheapest_step([own for _, own in factors], out, cost, EXHAUSTIVE)
        if step is None:
            return node
        found = found or worth(step.left, step.right, step.kept, sizes)
        first, second = factors[step.first], factors[step.second]
        # the samples' axis stands in front of every array, so that tiles of them are parts of it
        kept = tuple(sorted(step.kept, key=lambda label: sizes[label] != BATCH))
        product = contract([first[0], second[0]], [step.left, step.right], kept)
        factors = [factor for i, factor in enumerate(factors) if i not in (step.first, step.second)]
        factors.append((product, kept))
    if not found and not (len(factors) == 2 and worth(factors[0][1], factors[1][1], out, sizes)):
        return node
    result = contract([arg for arg, _ in factors], [own for _, own in factors], out)
    for arg in node.args:
        if not arg.ndim:
            result = elementwise("multiply", (arg, result))
    return result
