"""Densities as functions of symbols and numbers, for ``sd.stats`` and for formula text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

from ...errors import ArgumentError
from ...frontend.array import Array
from ...frontend.numpy.operands import Operand, as_node, provenance_of
from ...graph import Node, inputs_of
from ...graph.reference.interpret import evaluate
from ...ground.guard import guarded, refuse
from .supports import QUANTILES
from .table import Distribution, named_functions

__all__ = ["density", "named_functions", "signature_of"]


def signature_of(row: Distribution, function: str) -> Signature:
    """Return the arguments of a function: the place or the probability, the shapes, and what has defaults."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    first = "q" if function in QUANTILES else row.place
    needed = [Parameter(name, kind) for name in (first, *row.shapes)]
    return Signature([*needed, *(Parameter(name, kind, default=value) for name, value in row.defaults)])


def density(row: Distribution, function: str, symbolic: bool = False) -> Callable[..., Any]:
    """Return a function of a distribution.

    Parameters
    ----------
    row : Distribution
    function : str
    symbolic : bool, optional
        Whether the result is an Array even where only numbers came.
    """
    title, signature = f"{row.name}_{function}" if symbolic else f"{row.name}.{function}", signature_of(row, function)

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = _bound(title, signature, args, kwargs)
            node = row.formula(function)(*[None if value is None else as_node(value) for value in bound])
            if symbolic or any(isinstance(value, Operand) for value in bound) or inputs_of([node]):
                return Array(node, provenance_of(*bound))
            return _numbers(node)
        except Exception as error:
            refuse(error, title, args, kwargs)

    run.__name__ = function
    run.__qualname__ = title
    run.__doc__ = _described(row, function, signature)
    run.__signature__ = signature  # type: ignore[attr-defined]
    return guarded(run)


def _bound(title: str, signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{title}{signature}: {error}") from None
    for name, value in bound.arguments.items():
        if value is None and signature.parameters[name].default is not None:
            raise ArgumentError(f"{title}: {name} is None; expected a number, an array or a formula")
    bound.apply_defaults()
    return list(bound.arguments.values())


def _numbers(node: Node) -> Any:
    (found,) = evaluate([node], {})
    return found[()]


_WORDS = {
    "logpdf": "the logarithm of the density",
    "pdf": "the density",
    "logcdf": "the logarithm of the probability below x",
    "cdf": "the probability below x",
    "logsf": "the logarithm of the probability above x",
    "sf": "the probability above x",
    "logpmf": "the logarithm of the probability of k",
    "pmf": "the probability of k",
    "ppf": "the place that q of the probability lies below",
    "isf": "the place that q of the probability lies above",
}


def _described(row: Distribution, function: str, signature: Signature) -> str:
    given = ", ".join(signature.parameters)
    return f"""Return {_WORDS[function]}, as scipy.stats.{row.name} has it ({row.source}).

    Parameters
    ----------
    {given} : symbols, numbers or arrays of them
        They broadcast. Of numbers alone the result is a number, or an array of numbers.
    """
