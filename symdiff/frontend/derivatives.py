"""Derivatives of a formula in any form: text, SymPy or symbolic arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from inspect import signature
from typing import Any

from ..errors import ArgumentError
from ..ground.budget import budgeted
from ..ground.guard import guarded
from ..ground.limits import Budget
from ..ground.tracing import traced
from . import array_derivatives as derivatives
from .array import Array
from .formula import merge_shapes, read_formula


def _widen(function: Any) -> Any:
    """Let a derivative of symbols take text and SymPy."""
    options = [*list(signature(function).parameters)[2:], "shapes"]

    @guarded
    @wraps(function)
    @budgeted
    def run(
        f: Any,
        wrt: Any,
        *args: Any,
        disconnected: str = "error",
        shapes: Mapping[str, Any] | None = None,
        budget: str | Budget | None = None,
        **named_shapes: Any,
    ) -> Any:
        if function is derivatives.derivative and "order" in named_shapes:
            args = (named_shapes.pop("order"),)
        for key in ("seed", "tangent", "vector"):
            if key in named_shapes and function.__name__ in ("vjp", "jvp", "hvp"):
                args = (named_shapes.pop(key),)
        with traced(function.__name__, f):
            read = read_formula(f, merge_shapes(shapes, named_shapes), options)
            if not isinstance(read.value, Array):
                raise ArgumentError(f"{function.__name__} of several formulas; expected one (call it for each)")
            rest = [read.read(a) if not isinstance(a, int | float) else a for a in args]
            by = read.read(wrt)
            read.refuse_unused()
            return function(read.value, by, *rest, disconnected=disconnected)

    run.__doc__ = (function.__doc__ or "") + _NOTE
    return run


_NOTE = """
    Notes
    -----
    The formula may be text, SymPy or symbols; variables and a seed likewise, text
    beside text. Shapes of text's inputs are given by keyword or in ``shapes``; a kernel of the result
    takes them in this order, and without shapes in that of first use in the formula. ``budget`` bounds the
    work: ``"strict"`` is for text from strangers, see :class:`symdiff.Budget`; by default text has
    ``"default"`` and anything else no bound.
    """

gradient = _widen(derivatives.gradient)
value_and_gradient = _widen(derivatives.value_and_gradient)
jacobian = _widen(derivatives.jacobian)
hessian = _widen(derivatives.hessian)
jvp = _widen(derivatives.jvp)
vjp = _widen(derivatives.vjp)
hvp = _widen(derivatives.hvp)
derivative = _widen(derivatives.derivative)
