"""Derivatives and derivations as the command line prints them: formulas in each notation, and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import UnsupportedError
from ...frontend.array import Array
from ...frontend.formula import Formula
from ..terminal import can_show, echo, readable
from .frame import as_json, rewrites_of

__all__ = ["print_steps", "printed", "told"]


def printed(result: Array, form: str | None) -> str:
    """Return a formula in a notation; by default as a book prints it."""
    if form == "latex":
        return result.latex()
    if form == "sympy":
        return str(result.sympy)
    if form == "mathml":
        from ...printing.mathml import mathml

        return mathml(result.latex())
    return str(result) if form == "text" else readable(result)


def told(read: Formula, kind: str, results: Mapping[str, Array]) -> dict[str, Any]:
    """Return what ``derive`` finds, for programs."""
    return {
        "formula": str(read.value),
        "inputs": {name: _sizes(one.shape) for name, one in read.inputs.items()},
        "kind": kind,
        "results": [
            {"wrt": label, "shape": _sizes(one.shape), "text": str(one), "latex": one.latex()}
            for label, one in results.items()
        ],
        "rewrites": rewrites_of(read.value),
    }


def _sizes(shape: Sequence[Any]) -> list[int | str]:
    return [size if isinstance(size, int) else str(size) for size in shape]


def print_steps(read: Formula, wrt: Sequence[str], form: str | None) -> None:
    """Print how a gradient or Jacobian is derived."""
    from ..reading.steps import steps

    by = tuple(read.variables(one) for one in wrt)
    read.refuse_unused("--shape")
    found = steps(read.value, by if len(by) > 1 else by[0])
    if form == "json":
        keys = ("number", "left", "right", "rule", "source")
        rows = [{key: getattr(one, key) for key in keys} for one in found]
        echo(as_json({"formula": str(read.value), "wrt": list(wrt), "steps": rows}))
    elif form == "latex":
        echo(found.latex())
    elif form in (None, "text"):
        shown = found.unicode()
        echo(shown if form is None and can_show(shown) else str(found))
    else:
        raise UnsupportedError(f"--steps as {form}; expected --format text, latex or json")
