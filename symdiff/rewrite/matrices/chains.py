"""Products of matrices as words: like products are one term, and a matrix beside its inverse cancels.

A derivative of a product has a term for each place of a matrix in it, and these are often the same product,
associated in another way or turned over: the gradient of ``trace(X @ X @ X)`` is ``3 * (X.T @ X.T)``. A contraction
of matrices and vectors is a set of chains, from an axis of the result or a vector to another such end, or around.
Read in one direction, and with symmetric matrices upright, equal chains are equal words.

Exponentials of matrices have derivatives in directions that commute with the matrix, and determinants, of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

from ...graph import (
    REAL,
    Labels,
    Node,
    constant,
    contract,
    delta,
    elementwise,
    exponential,
    matmul,
    matrix,
    postorder,
    rebuild,
    swap,
)
from ...graph.deltas.affine import STRUCTURE
from ...graph.deltas.einsum import einsum
from ...graph.kinds import CONTRACTED, FAILING
from ...graph.primitives import DETERMINANTS
from ...graph.scalars.arithmetic import SUMS, scaled, terms_of
from ...graph.scalars.functions import scalar_constant
from ..facts import factors_along, is_definite, is_symmetric
from ..rewriter import make, rule, settle

#: Most terms of a sum that are compared with each other.
_WINDOW = 9


class Link(NamedTuple):
    """A factor of a chain.

    Parameters
    ----------
    node : Node
        A matrix, or a vector at the end of a chain.
    turned : bool
        Whether the matrix stands transposed; False where it is symmetric.
    """

    node: Node
    turned: bool


class Chain(NamedTuple):
    """A product of matrices from one end to the other.

    Parameters
    ----------
    ends : tuple of two of int or None
        Axes of the result at which it begins and ends; None at a vector.
    links : tuple of Link
    closed : bool
        Whether the last matrix is joined to the first, as in a trace.
    """

    ends: tuple[int | None, int | None]
    links: tuple[Link, ...]
    closed: bool


_Key: TypeAlias = tuple[object, ...]


def chains_of(node: Node) -> list[Chain] | None:
    """Return the chains that a contraction is made of, or None where it is no product of matrices and vectors."""
    if node.op not in ("contract", "multiply") or node.dtype is not REAL or node.ndim > 2:
        return None
    if node.is_contraction and node.payload.repeated:
        return None
    out: Labels = tuple(range(node.ndim))
    factors = factors_along(node, out)
    uses = Counter(label for _, own in factors for label in own)
    uses.update(out)
    if any(times != 2 for times in uses.values()):
        return None
    for arg, own in factors:
        if arg.op in STRUCTURE or arg.dtype is not REAL or len(own) > 2 or len(set(own)) < len(own):
            return None
        if arg.is_contraction and arg.payload.repeated:
            return None
    return _walked(factors, out)


def _walked(factors: Sequence[tuple[Node, Labels]], out: Labels) -> list[Chain]:
    """Follow each chain from its beginning: the result's axes in order, then vectors, then what is closed."""
    at: dict[int, list[int]] = {}
    for place, (_, own) in enumerate(factors):
        for label in own:
            at.setdefault(label, []).append(place)
    left = dict.fromkeys(range(len(factors)))
    found = [
        Chain((None, None), (Link(arg, False),), False) for place, (arg, own) in enumerate(factors) if not own
    ]
    for place, (_, own) in enumerate(factors):
        if not own:
            del left[place]

    def follow(begin: int | None, place: int, label: int | None) -> None:
        """Follow a chain into a factor, by one of its labels where it is a matrix or an end at an axis."""
        first = label
        links: list[Link] = []
        while True:
            arg, own = factors[place]
            del left[place]
            links.append(Link(arg, len(own) == 2 and own[0] != label and not is_symmetric(arg)))
            rest = [other for other in own if other != label]
            if not rest:
                found.append(Chain((begin, None), tuple(links), False))
                return
            (label,) = rest
            if label in out:
                found.append(Chain((begin, out.index(label)), tuple(links), False))
                return
            following = [other for other in at[label] if other in left]
            if not following:
                assert label == first
                found.append(Chain((None, None), tuple(links), True))
                return
            (place,) = following

    for axis, label in enumerate(out):
        if at[label][0] in left:
            follow(axis, at[label][0], label)
    for place, (_, own) in enumerate(factors):
        if place in left and len(own) == 1:
            follow(None, place, None)
    while left:
        place = next(iter(left))
        follow(None, place, factors[place][1][0])
    return found


def _turned(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return the transpose of a product."""
    return tuple(
        Link(node, node.ndim == 2 and not turned and not is_symmetric(node)) for node, turned in reversed(links)
    )


def _key(chains: Sequence[Chain], order: dict[Node, int]) -> _Key:
    """Return what equal products have in common; nodes are told apart by numbers given in order of first use."""

    def word(links: Sequence[Link]) -> tuple[tuple[int, bool], ...]:
        return tuple((order.setdefault(node, len(order)), turned) for node, turned in links)

    keys = []
    for ends, links, closed in chains:
        forms = [word(links)]
        if closed:
            forms = [w[k:] + w[:k] for w in (word(links), word(_turned(links))) for k in range(len(w))]
        elif ends == (None, None):
            forms.append(word(_turned(links)))
        keys.append((tuple(-1 if end is None else end for end in ends), min(forms)))
    return tuple(sorted(keys))


def _have_likes(a: Node, b: Node) -> bool:
    """Tell whether a product of one sum has the kinds of operations, and the length, of one of another."""
    known = set(_signs_of(b))
    return bool(known) and not known.isdisjoint(_signs_of(a))


def _signs_of(node: Node) -> list[tuple[int, int]]:
    """Return what is seen at once of the products of matrices that are terms of a sum."""
    terms = [node] if node.op not in SUMS else [part for _, part in terms_of(node, _WINDOW).parts]
    found = []
    for term in terms:
        x = scaled(term)[1]
        if x.is_contraction or (x.is_multiplication and x.args[x.args[0].shape == ()].is_contraction):
            found.append((x.below, _length(x)))
    return found


def _length(node: Node) -> int:
    """Return how many factors a product of products has."""
    total, todo = 0, [node]
    while todo and total < 2 * _WINDOW:
        part = todo.pop()
        if part.is_contraction:
            is_product = not part.payload.repeated
        else:
            is_product = part.is_multiplication and () in (part.args[0].shape, part.args[1].shape)
        if is_product:
            todo.extend(part.args)
        else:
            total += 1
    return total


@rule("add subtract", "A B C + Aᵀᵀ (B C), x·(A y) + y·(Aᵀ x)", "2 A B C, 2 x·(A y)", "reading",
      inside="contract multiply negative add subtract", below=(CONTRACTED,))
def _like_products(node: Node) -> Node | None:
    """Collect products of matrices that are equal, unless they cancel (which could hide a NaN)."""
    if node.ndim > 2 or not _have_likes(*node.args):
        return None
    order: dict[Node, int] = {}
    total: dict[object, tuple[float, Node]] = {}
    parts = [(sign, *scaled(part)) for sign, part in terms_of(node, _WINDOW).parts]
    for sign, c, x in parts:
        if x.shape != node.shape:
            return None
        chains = chains_of(x)
        key = x if chains is None else _key(chains, order)
        known, shown = total.get(key, (0.0, x))
        total[key] = known + sign * c, shown
    if len(total) == len(parts) or any(c == 0.0 for c, _ in total.values()):
        return None
    result: Node | None = None
    for c, x in total.values():
        if result is None:
            result = make("multiply", constant(c), x)
        else:
            result = make("add" if c > 0 else "subtract", result, make("multiply", constant(abs(c)), x))
    return result


def with_equal_products(root: Node) -> Node:
    """Return a formula where products of matrices that are equal are one node, however they are associated.

    Powers and quotients of ``w @ (S @ w)`` and ``(w @ S) @ w`` are then those of one base.
    """
    order = postorder([root]) if root.below & CONTRACTED else ()
    if sum(node.is_contraction for node in order) < 2:
        return root
    new: dict[Node, Node] = {}
    first: dict[_Key, Node] = {}
    numbers: dict[Node, int] = {}
    for node in order:
        made = new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if made.is_contraction and _length(made) <= _WINDOW and not made.payload.repeated:
            chains = chains_of(contract(*_operands(made), made.payload.out))
            if chains is not None:
                new[node] = first.setdefault((made.shape, _key(chains, numbers)), made)
    return new[root]


# ---------------------------------------------------------------------------- determinants


@rule("det logdet logabsdet", "det(X Xᵀ X), log |det(X Y)|, X, Y square",
      "det(X)**3, log |det(X)| + log |det(Y)|", "form", inside="contract")
def _determinant_of_product(node: Node) -> Node | None:
    """Take the determinants of the factors of a product: that of the product has lost digits, and overflows."""
    (x,) = node.args
    powers = Counter(link.node for link in word_of(x))
    if powers.total() < 2 or any(factor.shape != x.shape for factor in powers):
        return None
    odd = [factor for factor, n in powers.items() if n % 2 and not is_definite(factor)]
    if node.op == "logdet" and len(odd) > 1:
        return None  # two negative determinants have a product above 0, and no logarithms
    if node.op == "det" and len(powers) > 1 and not all(map(is_definite, powers)):
        return None  # a logarithm of the determinant would no longer be seen as one
    result: Node | None = None
    for factor, n in powers.items():
        if node.op == "det":
            part = matrix("det", factor)
            part = part if n == 1 else make("power", part, constant(float(n)))
        else:
            is_signed = node.op == "logdet" and (factor in odd or is_definite(factor))
            part = matrix("logdet" if is_signed else "logabsdet", factor)
            part = part if n == 1 else make("multiply", constant(float(n)), part)
        result = part if result is None else make("multiply" if node.op == "det" else "add", result, part)
    return result


# ---------------------------------------------------------------------------- inverses


@rule("contract", "inv(A) A inv(A)", "inv(A)", below=(FAILING,))
def _inverse_beside_matrix(node: Node) -> Node | None:
    """Cancel a matrix beside its inverse, if it has one for certain, or another inverse of it stays.

    It has one for certain where it is declared positive definite. What stays raises, or is nan, as this did.
    """
    if node.dtype is not REAL or not any(arg.below & FAILING for arg in node.args):
        return None
    chains = chains_of(node)
    if chains is None:
        return None
    rest = [_cancelled(chain, chains, False) for chain in chains]
    return None if rest == chains else _rebuilt(rest, node)


@rule("contract", "A inv(B A), inv(A B) A", "inv(B)", "derived", below=(FAILING,))
def _inverse_of_product_beside_factor(node: Node) -> Node | None:
    """Cancel a factor of a product beside its inverse: a derivative may have a value where the formula has none."""
    chains = chains_of(node)
    if chains is None:
        return None
    rest = [_without_factor(chain) for chain in chains]
    return None if rest == chains else _rebuilt(rest, node)


def _without_factor(chain: Chain) -> Chain:
    """Take one square factor of a product out of its inverse, if it stands beside that."""
    links = list(chain.links)
    for place, (node, turned) in enumerate(links):
        word = word_of(node.first) if node.op == "inv" else ()
        if len(word) < 2 or any(part.node.shape != node.shape for part in word):
            continue
        step = -1 if turned else 1
        for beside, factor, left in ((place - step, word[-1], word[:-1]), (place + step, word[0], word[1:])):
            if 0 <= beside < len(links) and links[beside] == (_turned([factor])[0] if turned else factor):
                inverse = word_of(settle(matrix("inv", _rebuilt([Chain((0, 1), left, False)], node))))
                links[min(place, beside) : max(place, beside) + 1] = _turned(inverse) if turned else inverse
                return chain._replace(links=tuple(links))
    return chain


def without_inverses(node: Node) -> Node:
    """Cancel matrices beside their inverses, and beside those of products, all of which have one."""
    chains = chains_of(node)
    if chains is None or not node.below & FAILING:
        return node
    apart = [chain._replace(links=tuple(part for link in chain.links for part in _factored(link))) for chain in chains]
    rest = [_cancelled(chain, apart, True) for chain in apart]
    if rest == apart:
        return node
    return without_inverses(_rebuilt(rest, node))


def _factored(link: Link) -> tuple[Link, ...]:
    """Return the inverse of a product of square matrices as the product of their inverses."""
    if link.node.op != "inv":
        return (link,)
    word = word_of(link.node.args[0])
    if any(part.node.shape != link.node.shape for part in word):
        return (link,)
    inverses = tuple(Link(matrix("inv", part.node), part.turned) for part in reversed(word))
    return _turned(inverses) if link.turned else inverses


def _cancelled(chain: Chain, chains: Sequence[Chain], certain: bool) -> Chain:
    """Take a matrix beside its inverse out of a chain, if it has one for certain."""
    links = list(chain.links)
    for place, (node, turned) in enumerate(links):
        if node.op != "inv":
            continue
        (inside,) = node.args
        word = word_of(inside)
        if turned:
            word = _turned(word)
        stays = certain or is_definite(inside) or any(
            _holds_inverse(link.node, node)
            for other in chains
            for k, link in enumerate(other.links)
            if other is not chain or k != place
        )
        if not stays:
            continue
        n = len(word)
        for first, last in ((place + 1, place + 1 + n), (place - n, place)):
            if first >= 0 and tuple(links[first:last]) == word:
                begin, end = min(first, place), max(last, place + 1)
                links[begin:end] = [Link(delta(*node.shape), False)]
                return chain._replace(links=tuple(links))
    return chain


def word_of(node: Node) -> tuple[Link, ...]:
    """Return a matrix as the product that it is."""
    chains = chains_of(node)
    if chains is not None and len(chains) == 1 and chains[0].ends == (0, 1):
        return chains[0].links
    return (Link(node, False),)


def _holds_inverse(node: Node, inverse: Node) -> bool:
    """Tell whether a factor is nan, or raises, wherever an inverse does."""
    return node is inverse or (node.op in DETERMINANTS and node.args[0] is inverse)


def _rebuilt(chains: Sequence[Chain], node: Node) -> Node:
    """Write chains as one contraction again."""
    operands: list[Node] = []
    labels: list[Labels] = []
    fresh = count(node.ndim)
    for (begin, end), links, closed in chains:
        label = next(fresh) if begin is None else begin
        first = label
        for arg, turned in links:
            operands.append(arg)
            if arg.ndim < 2:
                labels.append((label,) * arg.ndim)
                continue
            following = next(fresh)
            labels.append((following, label) if turned else (label, following))
            label = following
        if closed or end is not None:  # the last label is that of the beginning, or of the result
            known = first if closed else end
            assert known is not None
            labels[-1] = tuple(known if own == label else own for own in labels[-1])
    return einsum(operands, labels, tuple(range(node.ndim)), dict(enumerate(node.shape)))


#: Most factors that a matrix is looked for under.
_DEPTH = 8


@rule("expm", "expm_differential(s X, t X)", "t X @ expm(s X)")
def _along_itself(node: Node) -> Node | None:
    """Take a direction that is a number times the matrix itself, as in the derivative of exp(t X) by t."""
    if len(node.args) != 2 or node.ndim != 2:
        return None
    a, e = node.args
    return matmul(e, exponential(a)) if _core(a) is _core(e) else None


@rule("contract", "sum(X * expm_differential(X.T, C))", "sum(C * (X @ expm(X)))", inside="expm multiply")
def _weighed(node: Node) -> Node | None:
    """Move a derivative over to the matrix that it is weighed with, where that is a number times its own."""
    args, labels = _operands(node)
    for i, derivative in enumerate(args):
        if derivative.op != "expm" or len(derivative.args) != 2 or derivative.ndim != 2 or len({*labels[i]}) < 2:
            continue
        turned = swap(derivative.args[0])
        for j, weights in enumerate(args):
            beside = [*node.payload.out, *(one for k, own in enumerate(labels) if k not in (i, j) for one in own)]
            if j == i or labels[j] not in (labels[i], labels[i][::-1]) or set(labels[i]) & {*beside}:
                continue
            along = weights if labels[j] == labels[i] else swap(weights)
            if _core(turned) is _core(along):
                args[i], args[j] = derivative.args[1], matmul(along, exponential(turned))
                labels[j] = labels[i]
                return contract(args, labels, node.payload.out, dict(node.payload.repeated))
    return None


def _operands(node: Node) -> tuple[list[Node], list[Labels]]:
    """Return what is multiplied in a contraction, in products element by element as well."""
    args: list[Node] = []
    labels: list[Labels] = []
    for arg, own in zip(node.args, node.payload.labels, strict=True):
        parts: tuple[Node, ...] = (arg,)
        if arg.is_multiplication and all(part.shape == arg.shape for part in arg.args):
            parts = arg.args
        elif arg.is_power and scalar_constant(arg.args[1]) == 2.0:
            parts = (arg.args[0], arg.args[0])
        args += parts
        labels += [own] * len(parts)
    return args, labels


@rule("det logdet logabsdet", "det(expm(A)), log(det(expm(A)))", "exp(trace(A)), trace(A)", "stability", inside="expm")
def _of_exponential(node: Node) -> Node | None:
    (x,) = node.args
    if x.op != "expm" or len(x.args) != 1:
        return None
    (a,) = x.args
    total = contract([a], [(*range(a.ndim - 2), a.ndim, a.ndim)], tuple(range(a.ndim - 2)))
    return elementwise("exp", (total,)) if node.op == "det" else total


def _core(node: Node) -> Node:
    """Return a matrix without the numbers that it is multiplied with."""
    turned = False
    for _ in range(_DEPTH):
        if node.is_negation or (node.is_division and _is_repeated(node.args[1])):
            node = node.args[0]
        elif node.is_multiplication and any(map(_is_repeated, node.args)):
            node = node.args[1 if _is_repeated(node.args[0]) else 0]
        elif node.is_contraction and sum(bool(arg.shape) for arg in node.args) == 1:
            k = next(k for k, arg in enumerate(node.args) if arg.shape)
            own, out = node.payload.labels[k], node.payload.out
            if node.args[k].ndim != 2 or own not in (out, out[::-1]) or len(set(own)) < 2:
                break
            node, turned = node.args[k], turned != (own != out)
        else:
            break
    return swap(node) if turned else node


def _is_repeated(x: Node) -> bool:
    return not x.shape or (x.is_contraction and not any(arg.shape for arg in x.args))
