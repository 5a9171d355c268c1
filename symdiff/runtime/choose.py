"""Which backend serves a formula: the one that was asked for, the one behind it, or none, and why."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

from ..codegen import TARGETS, Request
from ..errors import ArgumentError, UnsupportedError
from ..ground.tracing import record
from ..lower.program import Program
from .options import Options
from .runners import BACKENDS, Backend, Lowered, plans_of
from .runners.interfaces import Planned, Runner
from .toolchain.build import compiler_in_sight

__all__ = ["Choice", "choose"]

#: Languages by what ``kernel.backend`` says.
_LANGUAGES = {row.serves: row.language for row in BACKENDS.values()}


class Choice(NamedTuple):
    """A formula and what computes it.

    Parameters
    ----------
    request : Request
    backend : Backend
    lowered : Program, Plan or None
    runner : Runner
    reason : str
        Why it is that backend.
    plans : Planned or None
        What plans calls.
    """

    request: Request
    backend: Backend
    lowered: Lowered
    runner: Runner
    reason: str
    plans: Planned | None = None

    @property
    def stats(self) -> dict[str, Any]:
        """What is known of it when it is made."""
        told: dict[str, Any] = {"reason": self.reason}
        if isinstance(self.lowered, Program):
            told["operations"] = sum(1 for op in self.lowered.ops if op not in ("load", "const"))
        seconds = getattr(self.runner, "build_seconds", None)
        return told if seconds is None else {**told, "build_seconds": seconds}

    def source(self, wanted: str) -> str:
        """Return the formula in a language, or in that of a backend.

        Raises
        ------
        ArgumentError
            If there is no such language.
        UnsupportedError
            If the language has no form for the formula.
        """
        language = _LANGUAGES.get(wanted, wanted)
        if language not in TARGETS:
            *first, last = map(repr, TARGETS)
            raise ArgumentError(f"source({wanted!r}); expected {', '.join(first)} or {last}")
        if language == self.backend.language:
            return self.runner.source()
        return TARGETS[language].emit(self.request)


def choose(request: Request, options: Options, backend: str) -> Choice:
    """Make the runner of a formula.

    Parameters
    ----------
    request : Request
    options : Options
    backend : str
        A key of :data:`symdiff.runtime.runners.BACKENDS`.

    Raises
    ------
    UnsupportedError
        If the backend cannot serve the formula, and none is to serve instead.
    BuildError
        If the build fails.
    """
    row, reason = BACKENDS[backend], "asked for"
    while True:
        try:
            lowered = row.lower(request)
            break
        except UnsupportedError as error:
            if row.instead is None:
                raise UnsupportedError(
                    f"no {backend} code for this formula: {error}; backend='numpy' runs it"
                ) from None
            row, reason = BACKENDS[row.instead], str(error)
    if lowered is not None:
        record("program.txt" if isinstance(lowered, Program) else "plan.txt", lowered.lines)
    if row is BACKENDS["auto"] and not compiler_in_sight():
        warn_no_compiler()
    runner = row.make(request, lowered, options)
    record(f"source.{TARGETS[row.language].suffix}", runner.source)
    return Choice(request, row, lowered, runner, reason, plans_of(request, lowered, runner, options))


@cache
def warn_no_compiler() -> None:
    """Say once what serves instead of native code."""
    warnings.warn(
        "no C compiler was found (looked for $CC, gcc, cc and clang); kernels run on the embedded interpreter, about "
        "half as fast. Install one, or pass backend='interpreter' to say that this is meant",
        RuntimeWarning,
        stacklevel=7,  # whoever called compile, which is guarded and budgeted
    )
