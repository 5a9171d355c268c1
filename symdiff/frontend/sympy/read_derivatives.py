"""Readers of undefined functions, derivatives and substitutions.

A function of symbols without a formula, such as the ``q(t)`` of ``sympy.physics.mechanics``, is an
input, and so is each of its derivatives. The derivative of anything else is taken here, by symdiff,
where the expression is read: SymPy's own rules are not used.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.tensor.array.array_derivatives import ArrayDerivative

from ...calculus import derivatives
from ...errors import UnsupportedError
from ...graph import Node, broadcast_to, constant, inputs_of, placeholder, postorder, substitute
from .inputs import Scope
from .read_scalars import Reading, Steps, bound, each, reads, refusal, value_of


@reads(AppliedUndef)
def _function(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    value = bound(expr, scope)
    if value is not None:
        return value_of(value)
    _check_arguments(expr, scope)
    return run.inputs.function(expr)


def _check_arguments(function: Any, scope: Scope) -> None:
    """Refuse a function that is no input: its value depends on more than a position on one curve.

    Raises
    ------
    UnsupportedError
        If an argument is no symbol, comes twice or is bound, or if the function has an implementation.
    """
    args = function.args
    if hasattr(function.func, "_imp_"):
        raise refusal(function)
    if len(set(args)) < len(args) or any(not arg.is_Symbol or bound(arg, scope) is not None for arg in args):
        raise UnsupportedError(
            f"the undefined function {str(function)[:60]!r} came, whose arguments are not different symbols; only a "
            "function of symbols, such as q(t), is an input: write its formula or a symbol in its place"
        )


@reads(sp.Derivative)
def _derivative(run: Reading, expr: Any, scope: Scope) -> Steps:
    value = bound(expr, scope)
    if value is not None:
        return value_of(value)
    if isinstance(expr, ArrayDerivative) and getattr(expr.expr, "shape", ()) not in ((), (1, 1)):
        raise UnsupportedError(
            "a Derivative of an array came, for whose axes SymPy has several orders; give the array and "
            "differentiate with symdiff.jacobian"
        )
    if any(not count.is_Integer for _, count in expr.variable_count):
        raise UnsupportedError(f"a Derivative of the order {expr.variable_count[0][1]!s:.40} came; expected a number")
    if isinstance(expr.expr, AppliedUndef) and bound(expr.expr, scope) is None:
        _check_arguments(expr.expr, scope)
        return run.inputs.function(expr.expr, *expr.variables)
    inner = scope
    stands: dict[Node, Node] = {}
    for variable, _ in expr.variable_count:
        outer = bound(variable, scope)
        if outer is not None:  # the derivative comes first, then the substitution
            own = value_of(outer)
            held = placeholder(("derivative", variable, own), own.shape)
            stands[held] = own
            inner = (*inner, (variable, held))
    node = yield expr.expr, inner
    for variable in expr.variables:
        node = yield from _differentiated(run, node, variable, inner)
    return substitute([node], stands)[0] if stands else node


def _differentiated(run: Reading, node: Node, variable: Any, scope: Scope) -> Steps:
    """Return the derivative of a node with respect to a variable, along the functions that depend on it."""
    group: dict[Node, Node] = {}
    own = bound(variable, scope)
    if variable in run.defined or run.inputs.sizes.get(str(variable)) == variable:
        raise UnsupportedError(
            f"a Derivative with respect to {str(variable)[:40]!r} came, which is a definition or the size of "
            "an array; expected an input"
        )
    if variable.is_Symbol and own is None:
        known = run.inputs.known(variable)
        if known is not None:
            group[known] = constant(1.0)
        used = set(inputs_of([node]))
        for one, (function, by) in run.inputs.functions_of(variable).items():
            if one in used:
                group[one] = run.inputs.function(function, *by, variable)
    else:
        (by_node,) = yield from each([variable], scope)
        if by_node.ndim and own is None:
            return derivatives.gradient(node, [by_node], "zero", derivatives.Trail())[0]
        group[by_node] = broadcast_to(constant(1.0), by_node.shape)
    order = set(postorder([node]))
    group = {one: direction for one, direction in group.items() if one in order or one.args}
    if not group:
        return broadcast_to(constant(0.0), node.shape)
    return derivatives.jvp(node, list(group), list(group.values()), "zero", derivatives.Trail())


@reads(sp.Subs)
def _subs(run: Reading, expr: Any, scope: Scope) -> Steps:
    inner = scope
    # as SymPy does them, one after the other: the first point holds what later ones replace
    for variable, point in reversed([*zip(expr.variables, expr.point, strict=True)]):
        node = yield point, inner
        inner = (*inner, (variable, node))
    return (yield expr.expr, inner)
