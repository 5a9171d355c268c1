"""Answers to what the page asks of a formula, in a process of its own: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...codegen import TARGETS
from ...errors import ArgumentError, LimitError, SymdiffError, UnsupportedError
from ...frontend.array import Array
from ...frontend.formula import Formula, read_formula
from ...ground.budget import Opened
from ...ground.guard import refuse
from .options import DECLARED, KINDS, declare, differentiate, read_shapes
from .shown import printed, told

__all__ = ["FORMS", "answer", "main"]

#: Bytes of memory that the process may take, characters of a text, and entries of a list.
MEMORY, CHARACTERS, ENTRIES = 4 * 2**30, 20_000, 64
#: Numbers along a line, its ends, the number for each letter of a pattern, and the most nonzeros that are shown.
POINTS, ENDS, LETTER, MOST = 401, (-5.0, 5.0), 12, 10_000
#: Forms that a derivative is copied in, and their titles.
FORMS = {"text": "text", "latex": "LaTeX", "sympy": "SymPy", "mathml": "MathML"}
FORMS |= {name: row.title for name, row in TARGETS.items()}


class Question(NamedTuple):
    """A request, each part of the type that is expected."""

    formula: str
    wrt: list[str]
    shapes: list[str]
    facts: dict[str, list[str]]
    kind: str
    form: str
    values: dict[str, Any]

    def read(self) -> Formula:
        """Read the formula."""
        return read_formula(self.formula, declare(read_shapes(self.shapes), self.facts))

    def results(self, read: Formula) -> tuple[str, dict[str, Array]]:
        """Return the derivatives by the names of variables, or the formula itself where none is named."""
        if self.wrt:
            return differentiate(read, self.wrt, self.kind)
        if not isinstance(read.value, Array):
            raise ArgumentError("the formula gives several results; expected one (select it with [0])")
        return "value", {"value": read.value}


def _question(request: Any) -> Question:
    """Return a request in its parts, or raise where one is of another type."""
    if not isinstance(request, dict):
        raise ArgumentError("a request that is no object; expected one with a formula")
    facts = _checked(request, "declared", dict, {})
    unknown = [name for name in facts if name not in DECLARED]
    if unknown:
        raise ArgumentError(f"{unknown[0]!r:.60} cannot be declared; expected one of {', '.join(DECLARED)}")
    kind, form = _text(request, "kind", "auto"), _text(request, "form", "text")
    for given, known in ((kind, KINDS), (form, FORMS)):
        if given not in known:
            raise ArgumentError(f"{given!r:.60}; expected one of {', '.join(known)}")
    values = _checked(request, "values", dict, {})
    if len(values) > ENTRIES:
        raise ArgumentError(f"{len(values)} values; expected at most {ENTRIES}")
    return Question(
        _text(request, "formula", ""),
        _texts(request, "wrt"),
        _texts(request, "shapes"),
        {name: _texts(facts, name) for name in facts},
        kind,
        form,
        values,
    )


def _checked(request: Mapping[str, Any], name: str, kind: type, usual: Any) -> Any:
    value = request.get(name, usual)
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} of type {type(value).__name__}; expected {kind.__name__}")
    return value


def _text(request: Mapping[str, Any], name: str, usual: str) -> str:
    value: str = _checked(request, name, str, usual)
    if len(value) > CHARACTERS:
        raise ArgumentError(f"{name} of {len(value)} characters; expected at most {CHARACTERS}")
    return value


def _texts(request: Mapping[str, Any], name: str) -> list[str]:
    values = _checked(request, name, list, [])
    if len(values) > ENTRIES or not all(isinstance(one, str) and len(one) <= CHARACTERS for one in values):
        raise ArgumentError(f"{name} of other things than at most {ENTRIES} short texts")
    return list(values)


# ---------------------------------------------------------------------------- questions


def _derive(asked: Question) -> dict[str, Any]:
    """Return the derivatives as text, LaTeX and MathML."""
    read = asked.read()
    kind, results = asked.results(read)
    read.refuse_unused()
    found = told(read, kind, results)
    for row, result in zip(found["results"], results.values(), strict=True):
        row["mathml"] = printed(result, "mathml")
    return found


def _copy(asked: Question) -> dict[str, Any]:
    """Return the derivatives in one form, or source that computes them."""
    read = asked.read()
    _, results = asked.results(read)
    read.refuse_unused()
    if asked.form not in TARGETS:
        return {"text": "\n".join(printed(result, asked.form) for result in results.values())}
    from ...compiler import compile as compile_formula

    kernel = compile_formula(list(results.values()), list(read.inputs.values()), backend="numpy")
    return {"text": kernel.source(asked.form)}


def _steps(asked: Question) -> dict[str, Any]:
    """Return how a gradient or Jacobian is derived, equation by equation."""
    from ..reading.steps import steps

    read = asked.read()
    if not asked.wrt:
        raise ArgumentError("steps of a formula; expected those of a derivative: name a variable")
    by = tuple(read.variables(one) for one in asked.wrt)
    read.refuse_unused()
    return {"text": steps(read.value, by if len(by) > 1 else by[0]).unicode()}


def _check(asked: Question) -> dict[str, Any]:
    """Compare the derivative with differences of the formula's value, at a point of which some numbers are given."""
    from ..checking.check import check

    read = asked.read()
    if not isinstance(read.value, Array):
        raise ArgumentError("the formula gives several results; expected one (select it with [0])")
    by = [read.variables(one) for one in asked.wrt] or None
    read.refuse_unused()
    report = check(read.value, by, at=asked.values)
    return {"text": str(report), "passed": bool(report)}


def _plot(asked: Question) -> dict[str, Any]:
    """Return a formula and its derivatives along a number, or where the nonzeros of a derivative stand."""
    from ...compiler import compile as compile_formula

    read = asked.read()
    kind, results = asked.results(read)
    read.refuse_unused()
    inputs = read.inputs
    shown = dict(results) if kind == "value" else {"value": read.value, **{f"d/d{by}": f for by, f in results.items()}}
    along = next((one for one in asked.wrt or inputs if one in inputs and inputs[one].shape == ()), None)
    if along is not None and all(one.shape == () for one in shown.values()):
        missing = [name for name in inputs if name not in asked.values and name != along]
        if missing:
            told = f"write {missing[0]}=1 into values"
            raise ArgumentError(f"a plot along {along} without numbers for {', '.join(missing)}; {told}")
        kernel = compile_formula(list(shown.values()), list(inputs.values()), backend="interpreter")
        given = {name: asked.values[name] for name in inputs if name != along}
        found = kernel(inputs={**given, along: np.linspace(*ENDS, POINTS)})
        lines = {
            label: [float(y) if np.isfinite(y) else None for y in np.broadcast_to(one, POINTS)]
            for label, one in zip(shown, found, strict=True)
        }
        return {"text": f"{', '.join(lines)} along {along} from {ENDS[0]:g} to {ENDS[1]:g}", "lines": lines}
    matrix = next((one for one in results.values() if one.ndim >= 2), None)
    if matrix is None:
        raise ArgumentError("nothing to plot; expected a formula of a number, or a Jacobian or Hessian, by kind")
    kernel = compile_formula(matrix, list(inputs.values()), sparse="csr", backend="interpreter")
    sizes = {name: LETTER for one in inputs.values() for size in one.shape for name in getattr(size, "names", ())}
    pattern = kernel.pattern(**sizes)
    rows, columns = (part.tolist() for part in pattern)
    if len(rows) > MOST:
        raise LimitError(f"{len(rows)} nonzeros; a plot shows {MOST} at most: take smaller sizes")
    told = f"{len(rows)} nonzeros of {pattern.shape[0]} × {pattern.shape[1]}"
    told += "".join(f", {name} = {LETTER}" for name in sizes)
    return {"text": told, "shape": list(pattern.shape), "at": list(zip(rows, columns, strict=True))}


_QUESTIONS: dict[str, Callable[[Question], dict[str, Any]]] = {
    "derive": _derive,
    "copy": _copy,
    "steps": _steps,
    "check": _check,
    "plot": _plot,
}


def answer(question: str, request: Any) -> dict[str, Any]:
    r"""Return the answer to a request, or ``{"error": ...}`` with the message of a refusal.

    Examples
    --------
    >>> answer("derive", {"formula": "log(det(A))", "shapes": ["A=n,n"], "wrt": ["A"]})["results"][0]["text"]
    'inv(A).T'
    >>> answer("derive", {"formula": "sin("})["error"]
    "'(' is never closed; expected ')'\n  sin(\n     ^"
    """
    try:
        if question not in _QUESTIONS:
            raise ArgumentError(f"{question!r:.60}; expected one of {', '.join(_QUESTIONS)}")
        with Opened("strict"):
            return _QUESTIONS[question](_question(request))
    except SymdiffError as error:
        return {"error": str(error)}
    except (MemoryError, RecursionError):
        return {"error": "the formula takes more memory than there is for it; take a smaller one"}
    except Exception as error:
        try:
            refuse(error, question)
        except SymdiffError as ours:
            return {"error": str(ours)}


def main() -> None:
    """Answer lines until there are no more."""
    _limit_memory()
    for line in sys.stdin:
        question, request = json.loads(line)
        found = answer(question, request)
        try:
            text = json.dumps(found)
        except (TypeError, ValueError) as error:
            text = json.dumps({"error": str(UnsupportedError(f"the answer cannot be sent: {error}"))})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
