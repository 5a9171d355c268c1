from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_Class = TypeVar("_Class", bound=type)

MOST_SAMPLES: int

def set_num_threads(count: int) -> None: ...
def get_num_threads() -> int: ...
def empty(shape: tuple[int, ...], single: bool) -> npt.NDArray[np.floating]: ...
def is_tangled(array: npt.NDArray[Any]) -> bool: ...
def keep_memory(most: int) -> None: ...
def kept_memory() -> int: ...
def end_threads() -> None: ...
def with_vectorcall(cls: _Class) -> _Class: ...
def prefers_columns(
    arrays: Sequence[npt.NDArray[np.floating]], batch: tuple[int, ...], single: bool, usual: bool
) -> bool: ...

class NativeCall:
    library: object
    def __init__(
        self,
        address: int,
        functions: Sequence[int],
        lanes: int,
        workspace: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        reduce: bool,
        library: object,
        *,
        columns: bool = False,
        single: bool = False,
        constant: Sequence[bool] = (),
        cost: int = 100,
        samples: int = 0,
    ) -> None: ...
    @property
    def columns(self) -> bool: ...
    @property
    def single(self) -> bool: ...
    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating]],
        outputs: Sequence[npt.NDArray[np.floating]],
        batch: int | tuple[int, ...],
        threads: int = 1,
        *,
        kept: bool = False,
    ) -> tuple[int, int] | None: ...

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
