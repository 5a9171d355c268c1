from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .plan.executor import PlanEntry
from .unit import NativeCall

_Class = TypeVar("_Class", bound=type)

def container_library(thing: object) -> str | None: ...
def empty(shapes: Sequence[tuple[int, ...]], single: bool) -> list[npt.NDArray[np.floating]]: ...
def keep_memory(most: int) -> None: ...
def kept_memory() -> int: ...
def with_vectorcall(cls: _Class) -> _Class: ...

class CallPath:
    def _prepare(
        self,
        names: Sequence[str],
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        batched: Sequence[bool],
        behind: bool,
        reduce: bool,
        structure: Any,
        threads: int | None,
        letters: int = 0,
        planned: int = 0,
        facts: Sequence[int] = (),
        positions: Sequence[tuple[int, int]] = (),
    ) -> None: ...
    def _enter(self, entry: PlanEntry) -> None: ...
    def _install(self, unit: NativeCall) -> None: ...
    def _ordinary(self, args: tuple[Any, ...], out: Any) -> Any: ...
    def __call__(self, *args: Any, out: Any = None, inputs: Any = None, **named: Any) -> Any: ...

def put_entries(
    data: npt.NDArray[Any],
    take: npt.NDArray[np.int64] | None,
    starts: npt.NDArray[np.int64] | None,
    at: npt.NDArray[np.int64] | None,
    target: npt.NDArray[Any],
    adds: bool,
) -> bool: ...
