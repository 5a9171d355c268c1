"""Functions whose derivative their author gives: as a differential, a vjp, or a Jacobian.

The value is an ordinary function over symbols, so it is compiled like the rest. One form of
derivative is enough: forward and reverse mode come from it, and since it is written over
symbols as well, it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .array import Array, as_node
from .contraction import is_zero
from .errors import ArgumentError, NotDifferentiableError, ShapeError
from .graph import Node, dependents, placeholder, postorder, zeros
from .graph import custom as custom_node
from .guard import guarded, users
from .rules import CustomRule
from .sizes import show


@guarded
def custom(
    function: Callable[..., Any],
    *,
    differential: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    jacobian: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Callable[..., Array]:
    """Give a function a derivative of your own.

    Parameters
    ----------
    function : callable
        Takes symbolic arrays, returns one.
    differential : callable, optional
        ``differential(args, tangents)``: the change of the value for changes of the arguments,
        linear in the tangents. ``args`` and ``tangents`` are tuples of arrays.
    vjp : callable, optional
        ``vjp(args, cotangent)``: for each argument the cotangent times the Jacobian.
    jacobian : callable, optional
        ``jacobian(args)``: for each argument an array of shape ``value + argument``.
    name : str, optional
        How messages call it; by default the function's name.

    Returns
    -------
    callable
        Takes arrays and returns one, differentiable by the rule given.

    Raises
    ------
    ArgumentError
        If not exactly one derivative is given.
    NotDifferentiableError
        When called: if the differential is not linear in the tangents, or the vjp in the cotangent.
    ShapeError
        When called: if a derivative has the wrong shape.

    See Also
    --------
    check : compares a rule with the function's own derivative, and with differences.

    Examples
    --------
    >>> import numpy as np
    >>> from symdiff import custom, gradient, scalar
    >>> clipped = custom(np.exp, vjp=lambda args, seed: (seed * np.minimum(np.exp(args[0]), 1.0),))
    >>> x = scalar("x")
    >>> gradient(clipped(x), x)
    minimum(exp(x), 1)
    """
    given = [rule for rule in (differential, vjp, jacobian) if rule is not None]
    if len(given) != 1:
        raise ArgumentError(f"{len(given)} derivatives; expected exactly one of differential=, vjp= and jacobian=")
    for one in (function, *given):
        if not callable(one):
            raise ArgumentError(f"a {type(one).__name__} came; expected a function of symbolic arrays")
    title = name or str(getattr(function, "__name__", "custom"))

    @guarded
    def call(*args: Any) -> Array:
        nodes = [as_node(a) for a in args]
        parameters = tuple(placeholder((title, i), node.shape) for i, node in enumerate(nodes))
        body = as_node(users(function)(*map(Array, parameters)))
        rule = _rule(title, parameters, body, differential, vjp, jacobian)
        _try(rule, body)
        return Array(custom_node(rule, nodes, body))

    call.__name__ = title
    call.__doc__ = function.__doc__
    return call


def _try(rule: CustomRule, body: Node) -> None:
    """Write the derivative once, so that a rule that cannot be used is refused where it is given."""
    if rule.differential is not None:
        tangents = [placeholder(("tangent", i), p.shape) for i, p in enumerate(rule.parameters)]
        rule.differential(rule.parameters, tangents)
    if rule.vjp is not None:
        rule.vjp(rule.parameters, placeholder("cotangent", body.shape))
    if rule.jacobian is not None:
        rule.jacobian(rule.parameters)


def _rule(
    title: str,
    parameters: tuple[Node, ...],
    body: Node,
    differential: Callable[..., Any] | None,
    vjp: Callable[..., Any] | None,
    jacobian: Callable[..., Any] | None,
) -> CustomRule:
    def arrays(nodes: Sequence[Node]) -> tuple[Array, ...]:
        return tuple(map(Array, nodes))

    def several(value: Any, count: int) -> list[Node]:
        parts = list(value) if isinstance(value, tuple | list) else [value]
        if len(parts) != count:
            raise ShapeError(f"the derivative of {title} gave {len(parts)} arrays; expected {count}, one an argument")
        return [as_node(p) for p in parts]

    def shaped(node: Node, shape: Any, what: str) -> Node:
        if node.shape != shape:
            raise ShapeError(f"the {what} of {title} has shape {show(node.shape)}; expected {show(shape)}")
        return node

    def forward(args: Sequence[Node], tangents: Sequence[Node]) -> Node:
        assert differential is not None
        image = shaped(as_node(users(differential)(arrays(args), arrays(tangents))), body.shape, "differential")
        return _linear(image, tangents, f"the differential of {title}", "tangents")

    def reverse(args: Sequence[Node], cotangent: Node) -> list[Node]:
        assert vjp is not None
        parts = several(users(vjp)(arrays(args), Array(cotangent)), len(args))
        return [
            _linear(shaped(p, a.shape, "vjp"), [cotangent], f"the vjp of {title}", "cotangent")
            for p, a in zip(parts, args, strict=True)
        ]

    def whole(args: Sequence[Node]) -> list[Node]:
        assert jacobian is not None
        parts = several(users(jacobian)(arrays(args)), len(args))
        return [shaped(p, (*body.shape, *a.shape), "Jacobian") for p, a in zip(parts, args, strict=True)]

    return CustomRule(
        title,
        parameters,
        forward if differential else None,
        reverse if vjp else None,
        whole if jacobian else None,
    )


#: Operations that are linear in their one argument that depends on the tangents.
_LINEAR_OPS = frozenset(
    {
        "negative",
        "add",
        "subtract",
        "slice",
        "pad",
        "gather",
        "scatter",
        "reshape",
        "concatenate",
        "cumsum",
        "triangle",
        "named",
    }
)


def _linear(image: Node, tangents: Sequence[Node], what: str, of: str) -> Node:
    """Check that ``image`` is linear in ``tangents`` by its form.

    Raises
    ------
    NotDifferentiableError
        Naming the operation that is not.
    """
    order = postorder([image])
    active = dependents(order, set(tangents) & set(order))
    for node in order:
        if node not in active or node in tangents:
            continue
        live = [i for i, arg in enumerate(node.args) if arg in active]
        fine = (
            (node.op in _LINEAR_OPS and _all_or_zero(node, live))
            or (node.op in ("multiply", "contract") and len(live) == 1)
            or (node.op == "divide" and live == [0])
            or (node.op in ("solve", "adjugate_differential") and live == [1])
            or (node.op == "where" and 0 not in live and _all_or_zero(node, [0, *live]))
        )
        if not fine:
            raise NotDifferentiableError(
                f"{what} is not linear in the {of}: {node.op} of {'them' if len(live) == 1 else 'several of them'}; "
                f"expected sums of products with one of the {of} each"
            )
    return image if image in active else zeros(image.shape)


def _all_or_zero(node: Node, live: Sequence[int]) -> bool:
    """Tell whether every argument that does not depend on the tangents is zero (no constant term)."""
    return all(i in live or is_zero(arg) for i, arg in enumerate(node.args))
