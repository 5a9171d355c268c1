from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .unit import NativeCall

_Class = TypeVar("_Class", bound=type)

def empty(shape: tuple[int, ...], single: bool) -> npt.NDArray[np.floating]: ...
def is_tangled(array: npt.NDArray[Any]) -> bool: ...
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
        packed: type[list[Any]] | Callable[[Sequence[Any]], Any] | None,
        threads: int | None,
    ) -> None: ...
    def _install(self, unit: NativeCall) -> None: ...
    def __call__(self, *args: Any, out: Any = None, inputs: Any = None, **named: Any) -> Any: ...
