"""Results as the command line prints them: formulas in each notation, derivations, JSON, and words about numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.console import Console

from ...errors import UnsupportedError
from ...frontend.array import Array
from ...frontend.formula import Formula
from ...graph.sizes import show
from ...runtime.kernel import Kernel
from .frame import as_json, can_show, echo, readable, rewrites_of, say

__all__ = ["described", "print_steps", "printed", "ran", "samples_of", "summarise", "told"]


Numbers: TypeAlias = npt.NDArray[Any]


def described(numbers: Numbers) -> str:
    """Return shape and type of an array, for people."""
    return f"{show(numbers.shape)} {numbers.dtype}"


def samples_of(numbers: Numbers, sample: tuple[int, ...]) -> str:
    """Return how many samples an array holds, for people."""
    lead = numbers.shape[: numbers.ndim - len(sample)]
    return f"{' × '.join(map(str, lead))} samples" if lead else "one sample"


def summarise(console: Console, label: str, result: Array, numbers: Numbers, whole: bool) -> None:
    """Print a result: its formula where it is short, its shape and range, and itself if it goes nowhere else."""
    shown = readable(result)
    say(console, f"{label} = {shown}" if len(shown) <= 200 and "\n" not in shown else f"{label}:")
    odd = numbers.size - int(np.isfinite(numbers).sum())
    told = f", from {numbers.min():.6g} to {numbers.max():.6g}" if numbers.size and not odd else ", empty"
    say(console, f"  {described(numbers)}{f', {odd} of {numbers.size} not finite' if odd else told}")
    if whole:
        say(console, np.array2string(numbers, threshold=200, precision=8))


def ran(backend: str, kernel: Kernel, seconds: float) -> str:
    """Return how long a kernel took, and what computed."""
    stats = kernel.stats
    built = stats.get("build_seconds", 0.0)
    words = {"c": "native code", "interpreter": "the interpreter", "numpy": "NumPy"}.get(backend, backend)
    if backend == "c":
        words += f", built in {built * 1e3:.0f} ms" if built else ", which was built before"
    reason = _REASONS.get((backend, stats["reason"]), f" ({stats['reason']})")
    return f"computed in {seconds * 1e3:.3g} ms by {words}{reason}"


#: Reasons in the words of someone who sees one call only.
_REASONS = {
    ("c", "native code is built"): "",
    ("interpreter", "native code is built"): "; native code was built meanwhile, and is kept for the next run",
    ("interpreter", "native code is being built"): "; native code was still being built, as --backend native waits for",
}


def printed(result: Array, form: str | None) -> str:
    """Return a formula in a notation; by default as a book prints it."""
    if form == "latex":
        return result.latex()
    if form == "sympy":
        return str(result.sympy)
    if form == "mathml":
        from ...printing.mathml import mathml

        return mathml(result.latex())
    return result.text() if form == "text" else readable(result)


def told(read: Formula, kind: str, results: Mapping[str, Array]) -> dict[str, Any]:
    """Return what ``derive`` finds, for programs."""
    return {
        "formula": read.value.text(),
        "inputs": {name: _sizes(one.shape) for name, one in read.inputs.items()},
        "kind": kind,
        "results": [
            {"wrt": label, "shape": _sizes(one.shape), "text": one.text(), "latex": one.latex()}
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
        echo(as_json({"formula": read.value.text(), "wrt": list(wrt), "steps": rows}))
    elif form == "latex":
        echo(found.latex())
    elif form in (None, "text"):
        shown = found.unicode()
        echo(shown if form is None and can_show(shown) else str(found))
    else:
        raise UnsupportedError(f"--steps as {form}; expected --format text, latex or json")
