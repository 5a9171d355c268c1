"""Walking, rebuilding, checking and flattening a graph, none of it by recursion."""

from __future__ import annotations

import copyreg
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from .._kernels.system import unique
from .._kernels.system.scopes import Bound
from .._kernels.system.unique import LEAVES, walk
from ..errors import UnsupportedError
from ..ground.budget import spend
from ..ground.pickles import written
from .contractions import contract, exponential, isotropic, matrix, pseudo_inverse, spectral
from .kinds import REPEATED
from .nodes import BOOL, INT, REAL, Node, elementwise, intern, placeholder
from .primitives import INNER, LISTED, PRIMITIVES, Body, complete
from .sizes import Dim, Size, Span, replaced, show
from .structural import (
    arrange,
    concatenate,
    cumulative,
    custom,
    external,
    gather,
    label,
    normalize,
    pad,
    put,
    recurrence,
    reduce,
    reshape,
    scatter,
    slicing,
    step_number,
    stop_gradient,
    take,
    triangle,
)


def postorder(
    roots: Iterable[Node], skip: Callable[[Node], bool] | None = None, *, settled: int = 0, most: int = -1
) -> list[Node]:
    """Return every node below ``roots`` once, arguments before uses, without recursion.

    The order depends on the formula alone, not on what was built before it. Where ``skip`` holds
    of a node, it is left out, and so is what is below it alone; so are nodes that are ``settled``
    at a level or above, if that is not 0. The walk ends behind ``most`` nodes and one, if that is not -1.
    """
    order = walk(roots, settled, most) if skip is None else _without(roots, skip)
    spend(len(order) >> 2)
    return order


class Numbered(NamedTuple):
    """Nodes in postorder, and how they hang together by numbers.

    Parameters
    ----------
    order : list of Node
    starts : array of int
        Where the arguments of each node begin in ``args``, and where those of the last one end.
    args : array of int
        Arguments by their places in ``order``.
    roots : array of int
        The places of the roots.
    """

    order: list[Node]
    starts: array[int]
    args: array[int]
    roots: array[int]


def number_nodes(roots: Iterable[Node]) -> Numbered:
    """Return the nodes that :func:`postorder` gives, and the arguments of each by their places in that order."""
    found = Numbered(*unique.numbered(roots))
    spend(len(found.order) >> 2)
    return found


class Survey(NamedTuple):
    """Survey of the nodes below some roots.

    Parameters
    ----------
    apart : list of Node
        All but functions of numbers, of which a formula may have a million, arguments before uses.
    alike : dict of str to int
        How many functions of numbers there are, by operation. Those of which some take longer than others, such as
        powers, are among the nodes ``apart``.
    """

    apart: list[Node]
    alike: dict[str, int]

    @property
    def length(self) -> int:
        """Number of nodes."""
        return len(self.apart) + sum(self.alike.values())


_surveys: ContextVar[dict[tuple[Node, ...], Survey] | None] = ContextVar("symdiff_surveys", default=None)


def surveyed() -> Bound[dict[tuple[Node, ...], Survey] | None]:
    """Return a block within which each formula is surveyed once: its stages ask for the same of the same roots."""
    return Bound(_surveys, {}, _surveys.get() is None)


def survey(roots: Iterable[Node]) -> Survey:
    """Return what there is below ``roots``."""
    tops, known = tuple(roots), _surveys.get()
    found = None if known is None else known.get(tops)
    if found is None:
        found = Survey(*unique.survey(tops))
        if known is not None:
            known[tops] = found
    spend(len(found.apart) >> 2)
    return found


def _without(roots: Iterable[Node], skip: Callable[[Node], bool]) -> list[Node]:
    done: set[Node] = set()
    order: list[Node] = []
    stack: list[Node | None] = [*roots]
    stack.reverse()
    path: list[Node] = []
    while stack:
        node = stack.pop()
        if node is None:
            node = path.pop()
            if node not in done:
                done.add(node)
                order.append(node)
        elif node not in done and not skip(node):
            if node.args:
                path.append(node)
                stack.append(None)
                stack.extend(node.args[::-1])
            else:
                done.add(node)
                order.append(node)
    return order


def dependents(order: Iterable[Node], on: Iterable[Node]) -> set[Node]:
    """Return the nodes of ``order`` (a postorder) that depend on any of ``on``, themselves included."""
    found = set(on)
    for node in order:
        if node not in found:
            for arg in node.args:
                if arg in found:
                    found.add(node)
                    break
    return found


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """Return ``node`` with other arguments, through its constructor."""
    return node if args == node.args else remake(node, args)


def remake(node: Node, args: tuple[Node, ...]) -> Node:
    """Make ``node`` again from its description and ``args``."""
    op = node.op
    if op == "contract":
        labels, out, repeated = node.payload
        return contract(args, labels, out, dict(repeated))
    again = _REMAKE.get(op)
    if again is None and not node.shape:
        for arg in args:
            if arg.shape:
                break
        else:
            return intern(op, args, None, (), node.dtype)
    return elementwise(op, args, node.dtype) if again is None else again(node, args)


def axes_of(node: Node, x: Node) -> tuple[int, ...]:
    """Return the axes that ``node`` reduces or normalizes, counted from the front of an array ``x``."""
    return tuple([axis + x.ndim for axis in node.payload.axes])


def _matrix(node: Node, args: tuple[Node, ...]) -> Node:
    """Make a function of matrices anew; a solution that a plan has made a vector stays one."""
    is_vector = node.op == "solve" and node.args[1].ndim < node.args[0].ndim
    return intern("solve", args, None, args[1].shape) if is_vector else matrix(node.op, *args)


#: Calls of each constructor with a node's payload and other arguments.
_CALLS: dict[str, Callable[[Node, tuple[Node, ...]], Node]] = {
    "contract": lambda n, a: contract(a, n.payload.labels, n.payload.out, dict(n.payload.repeated)),
    "reduce": lambda n, a: reduce(n.op, a[0], axes_of(n, a[0])),
    "normalize": lambda n, a: normalize(n.op, a[0], axes_of(n, a[0])),
    "cumulative": lambda n, a: cumulative(n.op, a[0], n.payload.axis + a[0].ndim, n.payload.reverse),
    "matrix": _matrix,
    "arrange": lambda n, a: arrange(a[0], a[1], n.payload.axis + a[1].ndim, n.payload.reverse),
    "spectral": lambda n, a: spectral(n.payload, a),
    "isotropic": lambda n, a: isotropic(n.payload, a),
    "exponential": lambda n, a: exponential(*a),
    "pseudo_inverse": lambda n, a: pseudo_inverse(*a),
    "triangle": lambda n, a: triangle(a[0], n.payload.upper, n.payload.offset),
    "reshape": lambda n, a: reshape(a[0], n.shape),
    "slicing": lambda n, a: slicing(a[0], n.payload.items),
    "pad": lambda n, a: pad(a[0], n.payload.items, n.shape),
    "gather": lambda n, a: gather(a[0], n.payload.axis + a[0].ndim, n.payload.indices),
    "scatter": lambda n, a: scatter(
        a[0], n.payload.axis + a[0].ndim, n.payload.indices, n.shape[n.payload.axis]
    ),
    "take": lambda n, a: take(a[0], a[1], n.payload.axis + a[0].ndim, n.payload.shared),
    "put": lambda n, a: put(
        a[0],
        a[1],
        n.payload.axis + n.ndim - n.args[0].ndim + a[0].ndim,
        n.shape[n.payload.axis],
        n.payload.shared,
    ),
    "concatenate": lambda n, a: concatenate(a, n.payload.axis + n.ndim),
    "stop_gradient": lambda n, a: stop_gradient(a[0]),
    "label": lambda n, a: label(a[0], n.payload),
    "custom": lambda n, a: custom(n.payload.rule, a, n.payload.body),
    "external": lambda n, a: external(n.payload, a),
    "recurrence": lambda n, a: recurrence(n.payload.body, a, n.payload.length, n.payload.reverse),
}
complete(_CALLS, "symdiff.graph.traversal", {PRIMITIVES[name].constructor for name in INNER})
_REMAKE = {name: _CALLS[PRIMITIVES[name].constructor] for name in INNER}


def substitute(roots: Sequence[Node], replace: Mapping[Node, Node]) -> list[Node]:
    """Return ``roots`` with nodes exchanged for others of the same shape, in elementwise formulas for any arrays."""
    new: dict[Node, Node] = dict(replace)
    for node in postorder(roots):
        if node not in new:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    return [new[root] for root in roots]


def resize(roots: Sequence[Node], replace: Mapping[Node, Node], sizes: Mapping[str, Dim]) -> list[Node]:
    """Return ``roots`` with named sizes exchanged for others or for numbers, and nodes for others of the new shapes.

    Raises
    ------
    UnsupportedError
        For a custom function of named sizes, whose rule is made for the sizes that it has.
    """
    new: dict[Node, Node] = dict(replace)
    for node in postorder(roots):
        if node in new:
            continue
        args = tuple([new[arg] for arg in node.args])
        shape, payload = _resized(node.shape, sizes), _resized(node.payload, sizes)
        if node.is_custom and [arg.shape for arg in args] != [arg.shape for arg in node.args]:
            raise UnsupportedError(
                f"a custom function of an array of shape {show(node.shape)} for other sizes; expected the same letters "
                "for sizes, or a formula of NumPy functions in its place"
            )
        if node.is_recurrence:
            payload = payload._replace(body=_resized_body(payload.body, sizes))
        if node.op == "isotropic":
            function, slopes = resize([payload.function, payload.slopes], {}, sizes)
            payload = payload._replace(function=function, slopes=slopes)
        if shape == node.shape and payload == node.payload:
            new[node] = rebuild(node, args) if args else node
        else:
            described = intern(node.op, args, payload, shape, node.dtype)
            new[node] = remake(described, args) if args else described
    return [new[root] for root in roots]


def _resized(value: Any, sizes: Mapping[str, Dim]) -> Any:
    """Return a shape or a payload with named sizes exchanged."""
    if isinstance(value, Size):
        return replaced(value, sizes)
    if not isinstance(value, tuple):
        return value
    parts = [_resized(part, sizes) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _resized_body(body: Body, sizes: Mapping[str, Dim]) -> Body:
    own = [*body.carried, *body.read, *body.held]
    fresh = {
        node: placeholder(node.name.key, _resized(node.shape, sizes), node.dtype, node.assumptions) for node in own
    }
    groups = [tuple(fresh[node] for node in nodes) for nodes in body[:3]]
    return Body(groups[0], groups[1], groups[2], tuple(resize(body.results, fresh, sizes)))


def canonical(body: Body) -> Body:
    """Return a body with the placeholders that all bodies have, so that equal ones are the same."""
    stand_in: dict[Node, Node] = {}
    for what, nodes in (("carried", body.carried), ("read", body.read), ("held", body.held)):
        stand_in |= {node: placeholder((what, k), node.shape, node.dtype) for k, node in enumerate(nodes)}
    groups = [tuple(stand_in[node] for node in nodes) for nodes in body[:3]]
    return Body(groups[0], groups[1], groups[2], tuple(substitute(body.results, stand_in)))


def within(roots: Sequence[Node], change: Callable[[Sequence[Node]], list[Node]]) -> list[Node]:
    """Return ``roots`` with ``change`` of the results of each recurrence's body in their place.

    ``change`` sees to recurrences in bodies itself.
    """
    if not any(root.below & REPEATED for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        args = tuple([new[arg] for arg in node.args])
        if node.is_recurrence:
            new[node] = with_results(node, args, change(node.payload.body.results))
        else:
            new[node] = rebuild(node, args) if args else node
    return [new[root] for root in roots]


def with_results(node: Node, args: tuple[Node, ...], results: Sequence[Node]) -> Node:
    """Return a recurrence with another formula of the same shapes for its body."""
    body, length, reverse = node.payload
    return recurrence(body._replace(results=tuple(results)), args, length, reverse)


def settles(body: Body) -> bool:
    """Tell whether a step that changes nothing is the last to: each step depends on what is carried alone."""
    return not body.read and len(body.results) == len(body.carried) and step_number() not in inputs_of(body.results)


def inputs_of(roots: Iterable[Node]) -> list[Node]:
    """Return the inputs below ``roots`` in order of first use."""
    if _surveys.get() is not None:
        return [node for node in survey(roots).apart if node.is_input]
    found = walk(roots, 0, -1, LEAVES)
    spend(len(found) >> 2)
    return [node for node in found if node.is_input]


def spans_of(roots: Iterable[Node]) -> list[Span]:
    """Return what formulas take of axes whose sizes are letters, where that may be more than an axis has."""
    found: dict[Span, None] = {}
    for node in postorder(roots):
        if node.is_recurrence:
            found |= dict.fromkeys(spans_of(node.payload.body.results))
        elif node.is_custom:
            found |= dict.fromkeys(spans_of([node.payload.body]))
        elif node.op in ("slice", "pad"):
            axes = node.args[0].shape if node.is_slice else node.shape
            for (start, step, length), size in zip(node.payload.items, axes, strict=True):
                found[Span(start, step, length, size)] = None
        elif node.op in LISTED and node.payload.indices:
            axes = node.args[0].shape if node.is_gather else node.shape
            found[Span(max(node.payload.indices), 1, None, axes[node.payload.axis])] = None
    return [span for span in found if not span.always_fits]


def verify(roots: Iterable[Node]) -> None:
    """Check that every node below ``roots`` is one its constructor would make.

    Raises
    ------
    AssertionError
        Naming the first node that is not. Passes are tested with this after every run.
    """
    for node in postorder(roots):
        again = intern(node.op, node.args, node.payload, node.shape, node.dtype)
        assert again is node, f"{node!r} is not interned"
        assert node.dtype in (REAL, BOOL, INT), node
        assert all(isinstance(n, Size) or n >= 0 for n in node.shape), node
        if node.args:
            fresh = remake(node, node.args)
            assert fresh is node, f"{node!r} would be made as {fresh!r}"


def flatten(roots: Iterable[Node]) -> list[tuple[Any, ...]]:
    """Return the nodes below ``roots`` as plain tuples, arguments as positions; the roots last."""
    tops = list(roots)
    order = postorder(tops)
    position = {node: i for i, node in enumerate(order)}
    rows: list[tuple[Any, ...]] = [
        (n.op, tuple(position[a] for a in n.args), n.payload, n.shape, n.dtype) for n in order
    ]
    return [*rows, tuple(position[root] for root in tops)]


def tabulate(roots: Iterable[Node]) -> tuple[list[tuple[Any, ...]], bytes]:
    """Return what tells the nodes below ``roots`` apart, and in which order they are put together.

    Returns
    -------
    rows : list of tuple
        Operation, payload, shape and dtype.
    order : bytes
        See :func:`symdiff._kernels.system.unique.tabulate`.
    """
    rows, order = unique.tabulate(roots)
    spend(len(order) >> 6)
    return rows, order


#: Kinds of elements, each one object, which are compared by identity.
_DTYPES = {kind: kind for kind in (REAL, BOOL, INT)}


def unflatten(rows: list[tuple[Any, ...]], which: int | None = None) -> Any:
    """Return the nodes that :func:`flatten` wrote (or only number ``which`` of them)."""
    made: list[Node] = []
    for op, args, payload, shape, dtype in rows[:-1]:
        made.append(intern(str(op), tuple(made[i] for i in args), payload, shape, _DTYPES[dtype]))
    tops = [made[i] for i in rows[-1]]
    return tops if which is None else tops[which]


def walk_sizes(roots: Iterable[Node]) -> Iterator[str]:
    """Yield the names of the symbolic sizes that the inputs below ``roots`` carry."""
    for node in inputs_of(roots):
        for size in node.shape:
            if isinstance(size, Size):
                yield from sorted(size.names)


def _reduce(node: Node) -> tuple[Any, ...]:
    return written(unflatten, flatten([node]), 0)


copyreg.pickle(Node, _reduce)
