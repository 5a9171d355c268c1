"""Derivatives of nodes: gradient, Jacobian, Hessian, and products with them.

The variable may be an input, a part of one (``X[0]``), or any sub-formula, which is then treated
as if it were an input. Results have the shape of the formula followed by the shape of the variable.

A derivative of high order is shown as a polynomial in a few functions: that of tan in tan and 1 + tan². The
derivatives of tan, tanh, the logistic function, exp(x) sin(x) and their like are sums of few products of powers,
whatever the order, and a person wants to see those. Here a formula is multiplied out, as far as its sums are not what
the formula began with: ``x - y`` stays a factor, since its powers multiplied out would cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias

from ..errors import DisconnectedInputError, ShapeError
from ..graph import Node, constant, elementwise, number, postorder, reshape, substitute, zeros
from ..graph.deltas.affine import ONE
from ..graph.deltas.einsum import einsum, is_zero
from ..graph.deltas.structural import identity
from ..graph.dump import brief, listing
from ..graph.kinds import WRAPPER
from ..graph.scalars.arithmetic import terms_of
from ..graph.sizes import Shape, Size, check_elements, show
from ..ground.budget import current, spend, uncounted
from ..ground.gc_pause import paused
from ..ground.limits import BUDGETS
from ..ground.tracing import record
from ..rewrite import by_inverses, simplify
from . import matrices, recurrence
from .cost import cost
from .modes import pullback, pushforward
from .row_jacobians import by_rows
from .spectra import spectral
from .wrt import Cut, InputPart, Known, Orders, disconnection

__all__ = ["Trail", "derivative", "gradient", "hessian", "hvp", "jacobian", "jvp", "vjp"]


#: Powers of atoms, in the order of the atoms.
_Monomial: TypeAlias = tuple[tuple[int, int], ...]
_Polynomial: TypeAlias = dict[_Monomial, float]

#: Terms that a polynomial on the way may have.
_TERMS = 48


def as_polynomial(root: Node, whole: Collection[Node]) -> Node | None:
    """Write a scalar formula as a sum of products of powers.

    Parameters
    ----------
    root : Node
        Of shape ``()``.
    whole : collection of Node
        Sums that are not multiplied out.

    Returns
    -------
    Node or None
        None if there are too many terms, or terms that cancel altogether, which could hide a NaN.
    """
    atoms: dict[Node, int] = {}
    known: dict[Node, _Polynomial] = {}
    for node in postorder([root]):
        own = None if node in whole else _expanded(node, known)
        if own is None:
            own = {((atoms.setdefault(node, len(atoms)), 1),): 1.0}
        if len(own) > _TERMS or 0.0 in own.values():
            return None
        known[node] = own
    names = list(atoms)
    total: Node | None = None
    for monomial, c in sorted(known[root].items(), key=lambda item: item[0]):
        term = _written(monomial, c, names)
        total = term if total is None else elementwise("add", (total, term))
    return total


def _expanded(node: Node, known: dict[Node, _Polynomial]) -> _Polynomial | None:
    """Return the polynomial of a sum, product, quotient by a number or whole power; None for anything else."""
    value = number(node)
    if value is not None:
        return {(): value} if value else None
    if node.shape != () or any(arg.shape != () for arg in node.args):
        return None
    parts = [known[arg] for arg in node.args]
    if node.is_additive:
        total = dict(parts[0])
        for monomial, c in parts[1].items():
            total[monomial] = total.get(monomial, 0.0) + (c if node.is_addition else -c)
        return total
    if node.is_negation:
        return {monomial: -c for monomial, c in parts[0].items()}
    if node.is_multiplication:
        return _product(*parts)
    if node.is_division and list(parts[1]) == [()]:
        return {monomial: c / parts[1][()] for monomial, c in parts[0].items()}
    exponent = number(node.args[1]) if node.is_power else None
    if exponent is not None and exponent.is_integer() and 2 <= exponent <= _TERMS and len(parts[0]) == 1:
        ((monomial, c),) = parts[0].items()
        return {tuple((atom, n * int(exponent)) for atom, n in monomial): c**exponent}
    return None


def _product(a: _Polynomial, b: _Polynomial) -> _Polynomial | None:
    if len(a) * len(b) > _TERMS * _TERMS:
        return None
    spend(len(a) * len(b) >> 2)
    total: _Polynomial = {}
    for first, c in a.items():
        for second, d in b.items():
            powers = dict(first)
            for atom, n in second:
                powers[atom] = powers.get(atom, 0) + n
            monomial = tuple(sorted(powers.items()))
            total[monomial] = total.get(monomial, 0.0) + c * d
    return total


def _written(monomial: _Monomial, c: float, names: list[Node]) -> Node:
    result: Node | None = None
    for atom, n in monomial:
        power = names[atom] if n == 1 else elementwise("power", (names[atom], constant(float(n))))
        result = power if result is None else elementwise("multiply", (result, power))
    if result is None:
        return constant(c)
    if c == -1.0:
        return elementwise("negative", (result,))
    return result if c == 1.0 else elementwise("multiply", (constant(c), result))


recurrence.register()
spectral.register()
matrices.register()


class Trail:
    """Record of one call's rewrites on the way to its derivatives, and which of them are Hessians."""

    def __init__(self) -> None:
        self.rewrites: dict[str, None] = {}
        #: True where matrices of which there is an adjugate have an inverse.
        self.invertible = False
        self.hessians: tuple[Node, ...] = ()

    def finish(
        self, cut: Cut, results: Sequence[Node], known: Known | None = None, views: Sequence[InputPart] = ()
    ) -> list[Node]:
        """Simplify results, project those by ``views``, put the sub-formulas back, and note what was rewritten."""
        self.rewrites.update(dict.fromkeys(cut.rewrites))
        results = _regular(results)
        if not self.invertible:
            return cut.finish(results, known, views)
        return simplify(by_inverses(cut.finish(by_inverses(results), known, views)))


def _regular(results: Sequence[Node]) -> list[Node]:
    """Write each solution as the one that its derivative has, where a result has both: they differ in what is nan."""
    if not any(result.below & WRAPPER for result in results):
        return list(results)
    found: dict[tuple[Any, ...], list[Node]] = {}
    for node in postorder(results):
        if node.is_custom:
            found.setdefault((node.payload.rule, node.args), []).append(node)
    both = [(rule, nodes) for (rule, _), nodes in found.items() if len(nodes) > 1]
    if not both:
        return list(results)
    chosen: dict[Node, Node] = {}
    for rule, nodes in both:
        (regular,) = {to for node in nodes for to in rule.stand_ins(node).values()}
        chosen |= dict.fromkeys(nodes, regular)
    return _regular(substitute(results, chosen))


def _is_scalar(node: Node) -> bool:
    return node.shape in ((), (1, 1))


def gradient(node: Node, group: Sequence[Node], disconnected: str, trail: Trail) -> list[Node]:
    """Return the gradient of a scalar, a part for each array."""
    if not _is_scalar(node):
        raise ShapeError(
            f"the gradient of a formula of shape {show(node.shape)}; expected a scalar. Write jacobian(f, wrt) for all "
            "outputs, vjp(f, wrt, seed) for a weighted sum of them, or gradient(sum(f), wrt)"
        )
    node = reshape(node, ())
    if len(group) == 1 and _magnitude(group[0].shape) == 1:  # by one number forward mode may be the cheaper
        return [jacobian(node, group[0], disconnected, {}, trail)]
    return vjp(node, ONE, group, disconnected, trail)


def jvp(
    node: Node, group: Sequence[Node], directions: Sequence[Node], disconnected: str, trail: Trail, opened: bool = False
) -> Node:
    """Return the product of the Jacobian with a tangent, given a part for each array."""
    cut = Cut(node, group, disconnected, opened)
    tangents: dict[Node, Node] = {}
    for view, direction in zip(cut.views, directions, strict=True):
        whole = view.push(direction, 0)
        known = tangents.get(view.base)
        tangents[view.base] = whole if known is None else known + whole
    (pushed,) = pushforward([cut.node], tangents)
    result = zeros(node.shape) if pushed is None else pushed
    finished = trail.finish(cut, [result])
    record("jvp.txt", lambda: _passes(node, group, [result], finished))
    return finished[0]


@paused
def vjp(node: Node, cotangent: Node, group: Sequence[Node], disconnected: str, trail: Trail) -> list[Node]:
    """Return the product of a cotangent with the Jacobian, a part for each array."""
    cut = Cut(node, group, disconnected)
    bases = list(dict.fromkeys(view.base for view in cut.views))
    pulled = dict(zip(bases, pullback({cut.node: cotangent}, bases), strict=True))
    results = []
    for view in cut.views:
        slope = pulled[view.base]
        results.append(zeros(view.node.shape) if slope is None else view.pull(slope, 0))
    finished = trail.finish(cut, results, views=cut.views)
    record("vjp.txt", lambda: _passes(node, group, results, finished))
    for w, result in zip(group, finished, strict=True):
        _check_part(node, w, result, disconnected, trail)
    return finished


def jacobian(node: Node, w: Node, disconnected: str, known: Known, trail: Trail) -> Node:
    """Return all partial derivatives, by the mode that costs less; ``known`` is kept from call to call."""
    if node.shape == () and _magnitude(w.shape) != 1:
        return vjp(node, ONE, [w], disconnected, trail)[0]
    cut = Cut(node, [w], disconnected, opened=True)
    (view,) = cut.views
    shape = (*node.shape, *w.shape)
    _check_size(shape)
    if view.base not in postorder([cut.node]):
        return trail.finish(cut, [zeros(shape)])[0]
    modes = _modes(node.shape, w.shape)
    rows = by_rows(cut.node, view.base)
    if rows:
        modes, candidates = [_forward, _reverse], [view.pull(row, node.ndim) for row in rows]
    else:
        candidates = [mode(cut, view, shape) for mode in modes]
    promising = _promising(candidates)
    finished = [trail.finish(cut, [c], known, [view])[0] for c in promising]
    best = min(finished, key=lambda result: cost([result])) if len(finished) > 1 else finished[0]
    names = ["forward" if mode is _forward else "reverse" for mode in modes]
    record("jacobian.txt", lambda: _modes_tried(node, w, names, candidates, promising, finished, best))
    _check_part(node, w, best, disconnected, trail)
    return best


def hessian(node: Node, group: Sequence[Node], disconnected: str, trail: Trail) -> list[list[Node]]:
    """Return the second derivatives of a scalar, a row of blocks for each array; mixed blocks may be zeros."""
    if not _is_scalar(node):
        raise ShapeError(
            f"the Hessian of a formula of shape {show(node.shape)}; expected a scalar. Write "
            "jacobian(jacobian(f, wrt), wrt) for all outputs, or hessian(sum(f), wrt)"
        )
    orders = Orders(node, group, disconnected)
    slopes = gradient(orders.formula, orders.wrt, disconnected, trail)
    known: Known = {}
    rows = [orders.finish([jacobian(s, w, "zero", known, trail) for w in orders.wrt]) for s in slopes]
    # a custom function's own derivative need not be one of any function
    if not any(part.is_custom for part in postorder([orders.formula])):
        trail.hessians = tuple(row[k] for k, row in enumerate(rows))
    return rows


def hvp(node: Node, group: Sequence[Node], directions: Sequence[Node], disconnected: str, trail: Trail) -> list[Node]:
    """Return the product of the Hessian of a scalar with a vector, a part for each array."""
    orders = Orders(node, group, disconnected)
    slopes = gradient(orders.formula, orders.wrt, disconnected, trail)
    return orders.finish([jvp(s, orders.wrt, directions, "zero", trail, opened=True) for s in slopes])


def derivative(node: Node, wrt: Node, order: int, disconnected: str, trail: Trail) -> Node:
    """Return the Jacobian taken ``order`` times."""
    orders = Orders(node, [wrt], disconnected)
    (by,), result = orders.wrt, orders.formula
    _check_size((*result.shape, *(by.shape * order)))
    start = result, 0
    longest = max(_LONGEST, 2 * len(postorder([result])))
    for step in range(order):
        if step > 1 and len(postorder([result])) > longest:
            result = _repeated(*start, by, order, trail)
            break
        result = jacobian(result, by, disconnected if step == 0 else "zero", {}, trail)
        if step == 0 and _magnitude(by.shape) != 1:
            start = result, 1  # of many numbers reverse mode takes the first derivative
    return orders.finish([result])[0]


#: A derivative of more nodes, and of twice as many as the formula, is not simplified between further orders.
_LONGEST = 60


def _repeated(f: Node, done: int, by: Node, order: int, trail: Trail) -> Node:
    """Return the derivative of order ``order`` of a formula differentiated ``done`` times.

    Forward mode again and again, and nothing simplified in between: the k-th derivative of each
    part is one node, met wherever a product or a chain rule asks for it, so that the formula grows
    as a polynomial of the order. Simplified forms of sums of products have no such parts in common,
    and would grow exponentially.
    """
    cut = Cut(f, [by], "zero")
    (view,) = cut.views
    whole = postorder([cut.node])
    for step in range(order - done):
        cut.node = view.narrow(_forward(cut, view, (*cut.node.shape, *by.shape)))
        if step == 0:
            terms, _ = terms_of(cut.node, enter=lambda part: not part.is_negation)
            whole += postorder([term for _, term in terms])
    (result,) = trail.finish(cut, [cut.node])
    if result.shape == ():
        collected = as_polynomial(cut.node, {node for node in whole if node.is_additive})
        if collected is not None:
            (shorter,) = trail.finish(cut, [collected])
            if len(postorder([shorter])) < len(postorder([result])):
                return shorter
    return result


def _check_size(shape: Shape) -> None:
    """Refuse a derivative of text that is too large, before it is made; by default it may be: most of it may be 0."""
    account = current()
    if account is not None and account.budget is not BUDGETS["default"]:
        check_elements(shape, account.budget.limits)


#: The more expensive of two results with more nodes than the first is discarded as it is; up to the second,
#: unless it costs at most so many times as much. Beyond that, one of two that cost the same is taken.
_LONG, _VERY_LONG, _CLOSE = 100, 200, 1.05


def _promising(candidates: list[Node]) -> list[Node]:
    """Return the results that may be the cheapest once they are simplified.

    Short ones may change a lot, and whose cost they are is seen then; of long ones, simplifying
    the more expensive one would take most of the time of the whole derivative.
    """
    lengths = [len(postorder([result])) for result in candidates]
    if min(lengths) <= _LONG:
        return candidates
    costs = [cost([result]) for result in candidates]
    if max(lengths) > _VERY_LONG:
        return [candidates[costs.index(min(costs))]]
    return [result for result, own in zip(candidates, costs, strict=True) if own <= _CLOSE * min(costs)]


def _check_part(node: Node, w: Node, result: Node, disconnected: str, trail: Trail) -> None:
    """Refuse a part of an input that the formula leaves out, as an input left out is refused."""
    if disconnected == "error" and is_zero(result):
        view = InputPart(w)
        if view.steps and not is_zero(jacobian(node, view.base, "zero", {}, trail)):
            raise DisconnectedInputError(disconnection(node, w))


def _modes(outputs: Shape, inputs: Shape) -> list[Callable[[Cut, InputPart, Shape], Node]]:
    """Return the modes worth trying: one of them where the shapes decide."""
    m, n = _magnitude(outputs), _magnitude(inputs)
    if n > 8 * m:
        return [_reverse]
    if m > 8 * n:
        return [_forward]
    return [_reverse, _forward] if m == n == 1 else [_forward, _reverse]


def _magnitude(shape: Shape) -> float:
    total = 1.0
    for size in shape:
        total *= 20.0 if isinstance(size, Size) else float(size)
    return total


def _forward(cut: Cut, view: InputPart, shape: Shape) -> Node:
    n = view.node.ndim
    if n and all(size == 1 for size in view.node.shape):
        # by one number: without axes of its own, which would be everywhere in the result
        (moved,) = pushforward([cut.node], {view.base: view.push(reshape(ONE, view.node.shape), 0)})
        return zeros(shape) if moved is None else reshape(moved, shape)
    # by a whole array the result is projected instead of the seed: it may be a short formula by then
    seed = view.push(identity(view.node.shape), n) if view.steps else identity(view.node.shape)
    (pushed,) = pushforward([cut.node], {view.base: seed}, n)
    if pushed is None:
        return zeros(shape)
    own = tuple(range(len(shape)))
    return einsum([pushed], [own], (*own[n:], *own[:n]))


def _reverse(cut: Cut, view: InputPart, shape: Shape) -> Node:
    m = cut.node.ndim
    (pulled,) = pullback({cut.node: identity(cut.node.shape)}, [view.base], m)
    return zeros(shape) if pulled is None else view.pull(pulled, m)


# ---------------------------------------------------------------------------- how one came about, as text


def _passes(node: Node, wrt: Sequence[Node], made: Sequence[Node], results: Sequence[Node]) -> Iterator[str]:
    """Give what was differentiated, what one pass over it made, and what is left of that when it is simplified."""
    yield f"of {brief(node)}"
    for one in wrt:
        yield f"with respect to {brief(one)}"
    for title, nodes in (("formula", [node]), ("made", made), ("simplified", results)):
        yield f"\n{title}:"
        yield from listing(nodes)


def _modes_tried(
    node: Node,
    wrt: Node,
    modes: Sequence[str],
    made: Sequence[Node],
    promising: Sequence[Node],
    finished: Sequence[Node],
    best: Node,
) -> list[str]:
    """Return what was differentiated, in which modes, what each takes, and which was kept.

    Parameters
    ----------
    node, wrt : Node
    modes, made : sequence of str, sequence of Node
        What each mode gave.
    promising, finished : sequence of Node
        Those that were simplified, and what became of them.
    best : Node
        The one of these that was kept.
    """
    simplified = dict(zip(promising, finished, strict=True))
    lines = [f"of {brief(node)}", f"with respect to {brief(wrt)}", ""]
    with uncounted():
        for mode, result in zip(modes, made, strict=True):
            line = f"{mode}: cost {cost([result]):.6g}, {len(postorder([result]))} nodes"
            final = simplified.get(result)
            if final is None:
                lines.append(f"{line}; discarded before it was simplified")
                continue
            kept = "kept" if final is best else "discarded"
            lines.append(f"{line}; simplified: cost {cost([final]):.6g}, {len(postorder([final]))} nodes; {kept}")
        titles = ["formula", *(f"{mode} mode" for mode in modes)]
        for title, one in zip(titles, [node, *made], strict=True):
            lines += ["", f"{title}:", *listing([one])]
        lines += ["", "simplified and kept:", *listing([best])]
    return lines
