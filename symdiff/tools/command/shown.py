"""Derivatives and derivations as the command line prints them: formulas in each notation, and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import unescape
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
        return _mathml(result)
    return str(result) if form == "text" else readable(result)


def _mathml(result: Array) -> str:
    """Return presentation MathML, by SymPy's printer."""
    from sympy import mathml

    expression = result.sympy
    try:
        inner = mathml(expression, printer="presentation")
    except Exception as error:
        kind = type(expression).__name__
        raise UnsupportedError(f"SymPy has no MathML for {kind} ({error}); take --format latex") from None
    # names that HTML has for characters, and XML has not; the five that both have stay
    plain = re.sub(r"&(?!amp;|lt;|gt;|quot;|apos;)\w+;", lambda found: unescape(found[0]), inner)
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{plain}</math>'


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
