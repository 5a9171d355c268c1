"""Ratios that are 1 and means that are 0, where what stays is nan or infinite wherever they would have been.

``p / p`` stays, since it is nan at 0. Beside ``log(p)``, as in the derivative of ``p * log(p)``, it is 1: the logarithm
is infinite there. The mean of deviations from a mean is 0 beside these deviations, all of which are nan or infinite
where one is. And ``p / p`` is 1 where p is declared positive, since calls refuse other numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..graph import Node, axes_of, constant, contract, elementwise, extent, postorder, substitute
from ..graph.kinds import INVERSE, SHARES
from ..graph.scalars.arithmetic import SUMS, factors_of, terms_of
from ..graph.sizes import product
from .facts import hides_nan, is_surely_positive
from .rewriter import make, rule, spread

#: Most factors of a product and terms of a sum that are compared.
_FACTORS, _TERMS = 12, 9
#: Most nodes of a product that are searched for logarithms.
_LOOKED = 96
#: How many operations are looked through from a sum to the deviations it is of.
_DEPTH = 8


# ---------------------------------------------------------------------------- ratios


@rule("divide", "p x / (p y), p positive or in a logarithm of x", "x / y", "reading")
def _ratio_of_positive(node: Node) -> Node | None:
    """Cancel equal factors above and below that are declared positive, or that a logarithm in another factor is of."""
    above, below = (factors_of(arg, _FACTORS) for arg in node.args)
    if not above.whole or not below.whole:
        return None
    top, bottom = list(above.parts), list(below.parts)
    for base, n in above.parts:
        if (base, n) in bottom and base.op != "constant" and is_surely_positive(base):
            bottom.remove((base, n))
            top.remove((base, n))
    for base, n in _alike(top, bottom):
        if base in _bases_of_logarithms(part for part, _ in [*top, *bottom]):
            bottom.remove((base, n))
            top.remove((base, n))
    if len(top) == len(above.parts):
        return None
    over = [*_bases(top, 1.0), *_bases(bottom, -1.0)]
    under = [*_bases(top, -1.0), *_bases(bottom, 1.0)]
    result = _product(over)
    if under:
        result = make("divide", result, _product(under))
    result = result if above.sign * below.sign > 0 else make("negative", result)
    return spread(result, node.shape)


def _alike(top: list[tuple[Node, float]], bottom: list[tuple[Node, float]]) -> list[tuple[Node, float]]:
    return [part for part in dict.fromkeys(top) if part in bottom and part[0].op != "constant"]


def _bases_of_logarithms(parts: Iterable[Node]) -> set[Node]:
    """Return the factors of what logarithms in some factors are of: where one is 0, its logarithm is infinite."""
    found: set[Node] = set()
    todo = list(parts)
    for _ in range(_LOOKED):
        if not todo:
            break
        node = todo.pop()
        if node.op == "log":
            found.update(base for base, _ in factors_of(node.args[0], _FACTORS).parts)
        elif not hides_nan(node):
            todo.extend(node.args)
    return found


def _bases(parts: list[tuple[Node, float]], sign: float) -> list[Node]:
    return [
        base if abs(n) == 1.0 else elementwise("power", (base, constant(abs(n)))) for base, n in parts if n * sign > 0
    ]


def _product(factors: list[Node]) -> Node:
    result = constant(1.0)
    for factor in factors:
        result = make("multiply", result, factor)
    return result


@rule("multiply", "p sum(p), p = softmax(x)", "p", "reading", inside="softmax")
def _sum_of_shares(node: Node) -> Node | None:
    """Write 1 for the sum of what softmax gives, beside these: they are nan where it is."""
    for share, other in (node.args, node.args[::-1]):
        if share.op == "softmax" and share.shape == node.shape and _is_sum_of(other, share):
            return share
    return None


@rule("add subtract", "sum(p) x + p, p = softmax(y)", "x + p", "reading", below=(SHARES,))
def _sum_of_shares_beside(node: Node) -> Node | None:
    """Write 1 for the sum of what softmax gives in one term of a sum, where it is a factor of another."""
    terms = terms_of(node, _TERMS)
    if not terms.whole:
        return None
    factors = [_factors(term) for _, term in terms.parts]
    for k, (sign, term) in enumerate(terms.parts):
        shares = {base for i, own in enumerate(factors) if i != k for base, under in own
                  if base.op == "softmax" and base.shape == node.shape and not under}  # fmt: skip
        total = next((base for base, under in factors[k] for p in shares if not under and _is_sum_of(base, p)), None)
        if total is not None:
            parts = [*terms.parts[:k], (sign, _without_factor(term, total)), *terms.parts[k + 1 :]]
            return spread(_total(parts), node.shape)
    return None


def _without_factor(term: Node, factor: Node) -> Node:
    """Return a product without a factor, which may be in front of an array."""
    found = factors_of(term, _FACTORS)
    result = constant(float(found.sign))
    for base, n in found.parts:
        if base is factor:
            continue
        inner = base.args[1] if base.op == "contract" and base.args[0] is factor else base
        for _ in range(int(abs(n))):
            result = make("multiply" if n > 0 else "divide", result, inner)
    return result


def _is_sum_of(node: Node, share: Node) -> bool:
    """Tell whether a node is the sum of what softmax gives along its axes, of which each may be left with size 1."""
    total = node.args[0] if node.op == "reshape" else node
    if total.op != "contract" or total.args != (share,) or len({*total.payload.labels[0]}) < share.ndim:
        return False
    (own,), out, _ = total.payload
    over = axes_of(share, share)
    rest = [label for axis, label in enumerate(own) if axis not in over]
    if [label for label in out if label in own] != rest:
        return False
    kept = tuple([1 if axis in over else size for axis, size in enumerate(share.shape)])
    lead = len(kept) - node.ndim
    return all(size == 1 for size in kept[:lead]) and node.shape == kept[lead:]


@rule("add subtract", "log(p / q) + p / (p / q) / q", "log(p / q) + 1", "reading", below=(INVERSE,))
def _ratio_beside_logarithm(node: Node) -> Node | None:
    """Write 1 for a ratio of equal products beside the logarithm of all that is in them."""
    terms = terms_of(node, _TERMS)
    if not terms.whole:
        return None
    inside: set[Node] = set()
    for _, term in terms.parts:
        for factor, _ in factors_of(term, _FACTORS).parts:
            if factor.op == "log":
                inside.update(base for base, _ in factors_of(factor.args[0], _FACTORS).parts)
    if not inside:
        return None
    parts = [(sign, _without_ratio(term, inside)) for sign, term in terms.parts]
    if all(new is term for (_, new), (_, term) in zip(parts, terms.parts, strict=True)):
        return None
    return spread(_total(parts), node.shape)


def _without_ratio(term: Node, inside: set[Node]) -> Node:
    """Return a product without factors that cancel, all of which are among some."""
    found = factors_of(term, _FACTORS)
    powers: dict[Node, float] = {}
    for base, n in found.parts:
        powers[base] = powers.get(base, 0.0) + n
    gone = {base for base in powers if powers[base] == 0.0 and base in inside}
    if not found.whole or not gone:
        return term
    result = constant(float(found.sign))
    for base, n in found.parts:
        if base not in gone:
            for _ in range(int(abs(n))):
                result = make("multiply" if n > 0 else "divide", result, base)
    return result


def _total(parts: list[tuple[float, Node]]) -> Node:
    (sign, total), *rest = parts
    if sign < 0:
        total = make("negative", total)
    for sign, part in rest:
        total = make("add" if sign > 0 else "subtract", total, part)
    return total


# ---------------------------------------------------------------------------- deviations from a mean


@rule("add subtract", "z - mean(z), z = x - mean(x)", "z", "reading",
      inside="contract divide multiply negative reshape")
def _mean_of_deviations(node: Node) -> Node | None:
    """Leave the mean of deviations out where the deviations, and its scalars, are factors of another term."""
    if not any(_is_sum(arg) or arg.op in SUMS for arg in node.args):
        return None
    terms = terms_of(node, _TERMS)
    if not terms.whole or not any(_is_sum(term) for _, term in terms.parts):
        return None
    for k, (sign, term) in enumerate(terms.parts):
        found = _summed(term)
        if found is None:
            continue
        others = [part for i, part in enumerate(terms.parts) if i != k]
        beside = [_factors(other) for _, other in others]
        parts, wanted = found.terms(), found.deviations()
        kept = [part for part, own in zip(parts, wanted, strict=True) if own is None or not _is_within(own, beside)]
        if not kept or (None not in wanted and _is_within(found.whole, beside)):
            return spread(_total(others), node.shape)
        if len(kept) < len(parts) and found.is_only_sum:
            (shorter,) = substitute([term], {found.total: found.of(_total(kept))})
            return spread(_total([*others[:k], (sign, shorter), *others[k:]]), node.shape)
    return None


def _is_within(wanted: set[tuple[Node, bool]], beside: list[set[tuple[Node, bool]]]) -> bool:
    return any(wanted <= factors for factors in beside)


def _is_sum(node: Node) -> bool:
    """Tell whether a node looks like a number times a sum."""
    for _ in range(_DEPTH):
        if node.op in ("negative", "reshape", "divide"):
            node = node.args[0]
        elif node.op == "multiply" and () in (node.args[0].shape, node.args[1].shape):
            node = node.args[node.args[0].shape == ()]
        else:
            break
    return node.op == "contract" and not any(arg.shape for arg in node.args[:-1])


def _factors(node: Node) -> set[tuple[Node, bool]]:
    """Return the factors of a term, with whether each is a divisor; x for the direction of x."""
    found: set[tuple[Node, bool]] = set()
    for base, n in factors_of(node, _FACTORS).parts:
        core = _without_scalars(base, found, ()) if n == 1.0 else base
        found.add((core.args[0] if core.op == "unit" else core, n < 0))
    return found


class _Summed(NamedTuple):
    """Scalars times a sum along axes: the sum, the array that it is of, and the scalars, in the sum as well."""

    total: Node
    array: Node
    scalars: set[tuple[Node, bool]]

    @property
    def is_only_sum(self) -> bool:
        """Whether no scalar is made of the sum."""
        return self.total not in postorder([node for node, _ in self.scalars])

    @property
    def whole(self) -> set[tuple[Node, bool]]:
        """The array and the scalars."""
        return {(self.array, False), *(scalar for scalar in self.scalars if not _is_number(scalar[0]))}

    @property
    def axes(self) -> set[int]:
        """The axes that are summed."""
        labels, out, _ = self.total.payload
        return {axis for axis, label in enumerate(labels[-1]) if label not in out}

    def terms(self) -> list[tuple[float, Node]]:
        """Return what is summed, apart from deviations from a mean."""
        parts = [*terms_of(self.array, _TERMS).parts]
        for sign, x in list(parts):
            mean = next((part for part in parts if part[0] == -sign and _is_mean(part[1], x, self.axes)), None)
            if mean is not None and (sign, x) in parts and x.shape == self.array.shape:
                parts[parts.index((sign, x))] = sign, elementwise("subtract", (x, mean[1]))
                parts.remove(mean)
        return parts

    def deviations(self) -> list[set[tuple[Node, bool]] | None]:
        """Return z = x - mean(x), with scalars, for each term that is these scalars times z; None for others."""
        found: list[set[tuple[Node, bool]] | None] = []
        for _, term in self.terms():
            own = set(self.scalars)
            z = _deviation(_without_scalars(term, own, ("negative",)), self.axes)
            whole = z is not None and term.shape == self.array.shape
            kept = {scalar for scalar in own if not _is_number(scalar[0])}
            found.append({(z, False), *kept} if whole and z is not None else None)
        return found

    def of(self, array: Node) -> Node:
        """Return the sum of another array."""
        labels, out, repeated = self.total.payload
        return contract([*self.total.args[:-1], array], labels, out, dict(repeated))


def _summed(node: Node) -> _Summed | None:
    scalars: set[tuple[Node, bool]] = set()
    total = _without_scalars(node, scalars, ("negative", "reshape"))
    if total.op != "contract" or any(arg.shape for arg in total.args[:-1]):
        return None
    for arg in total.args[:-1]:
        scalars.update(_scalars(arg))
    found = _Summed(total, total.args[-1], scalars)
    return found if found.axes else None


def _without_scalars(node: Node, scalars: set[tuple[Node, bool]], through: tuple[str, ...]) -> Node:
    """Return an array without the scalars that multiply and divide it, which are added to a set."""
    for _ in range(_DEPTH):
        if node.op in through:
            node = node.args[0]
        elif node.op == "divide" and node.args[1].shape == ():
            scalars.add((node.args[1], True))
            node = node.args[0]
        elif node.op == "multiply" and () in (node.args[0].shape, node.args[1].shape):
            first = node.args[0].shape == ()
            scalars.update(_scalars(node.args[not first]))
            node = node.args[first]
        elif node.op == "contract" and len(node.args) == 2 and node.args[0].shape == ():
            if node.payload.labels[1] != node.payload.out:
                break
            scalars.update(_scalars(node.args[0]))
            node = node.args[1]
        else:
            break
    return node


def _scalars(node: Node) -> set[tuple[Node, bool]]:
    return {(base, n < 0) for base, n in factors_of(node, _FACTORS).parts}


def _deviation(node: Node, axes: set[int]) -> Node | None:
    """Return z for z = x - mean(x) along some axes, and for its direction."""
    if node.op == "unit" and set(axes_of(node, node)) == axes:
        node = node.args[0]
    if node.op != "subtract" or node.args[0].shape != node.shape or not _is_mean(node.args[1], node.args[0], axes):
        return None
    return node


def _is_number(node: Node) -> bool:
    """Tell whether a factor is a number or a size: anything else may be what makes a term nan."""
    return node.shape == () and all(leaf.op in ("constant", "size") for leaf in _below(node))


def _below(node: Node) -> list[Node]:
    """Return the leaves of a short formula, or the node where it is not short."""
    leaves: list[Node] = []
    todo = [node]
    while todo:
        part = todo.pop()
        if part.args and len(leaves) + len(todo) < _DEPTH:
            todo.extend(part.args)
        else:
            leaves.append(part)
    return leaves


def _is_mean(node: Node, x: Node, axes: set[int]) -> bool:
    """Tell whether a node is the mean of x along axes, which may be left."""
    count = constant(1.0)
    size = 1.0
    for _ in range(_DEPTH):
        if node.op == "reshape":
            node = node.args[0]
        elif node.op == "divide" and _is_number(node.args[1]):
            count = make("multiply", count, node.args[1])
            node = node.args[0]
        elif node.op == "multiply" and node.args[0].op == "constant" and node.args[0].shape == ():
            size *= float(node.args[0].value)
            node = node.args[1]
        else:
            break
    if node.op != "contract" or node.args != (x,) or node.payload.repeated:
        return False
    (own,), out, _ = node.payload
    if {axis for axis, label in enumerate(own) if label not in out} != axes or len({*own}) < len(own):
        return False
    wanted = extent(product([x.shape[axis] for axis in axes]))
    return make("multiply", constant(size), wanted) is count or (
        count.op == wanted.op == "constant" and float(wanted.value) * size == float(count.value)
    )
