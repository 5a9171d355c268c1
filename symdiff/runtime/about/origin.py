"""Where a kernel comes from: what it can tell about its formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...codegen import Request
from ...graph.dump import record_text

__all__ = ["Origin"]


@dataclass(frozen=True)
class Origin:
    """Where a kernel comes from; the compiler fills it in, the kernel asks when it is asked.

    Parameters
    ----------
    backend : str
        "c", "interpreter", "cython" or "numpy"; unless the runner tells.
    source : callable
        Returns the source that runs.
    sympy : callable
        Returns the outputs as SymPy expressions, one or in the kernel's structure.
    latex : callable
        Returns LaTeX.
    texts : callable
        Returns the outputs as formula text, in order.
    request : callable
        Returns what emitters ask for: the graph, and what lowers it.
    named : callable
        Returns a kernel of the same inputs whose outputs are the named sub-formulas, in a dict.
    apply : callable
        Takes a symbolic array for each input and returns the formula of them, in the kernel's structure.
    cause : callable
        Takes the number of an output and the arguments of one sample, and returns the part of the formula for which
        that is not finite, or None.
    rebuild : callable
        Returns what pickling writes: a function that compiles the kernel again, and its arguments.
    problem : callable
        Returns the formula that was compiled, as :class:`symdiff.runtime.kept.lookup.Problem` has it.
    rewrites : tuple of str
        Stability rewrites that were made.
    stats : mapping
        Counts of operations, times of compilation, and the like.
    """

    backend: str
    source: Callable[[], str]
    sympy: Callable[[], Any]
    latex: Callable[[], str]
    texts: Callable[[], Sequence[str]]
    request: Callable[[], Request]
    named: Callable[[], Any]
    apply: Callable[[list[Any]], Any]
    cause: Callable[[int, list[Any]], Any]
    rebuild: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    problem: Callable[[], Any]
    rewrites: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return record_text(self)
