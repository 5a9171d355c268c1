"""What is said of the numbers of an evaluation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.console import Console

from ...frontend.array import Array
from ...graph.sizes import show
from ...runtime.kernel import Kernel
from ..terminal import readable, say

__all__ = ["described", "ran", "samples_of", "summarise"]

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
