from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_SAMPLES: int

def set_num_threads(count: int) -> None: ...
def get_num_threads() -> int: ...
def end_threads() -> None: ...
def is_declared(array: npt.NDArray[np.floating], at: int, facts: int) -> bool: ...
def is_tangled(array: npt.NDArray[Any]) -> bool: ...
def prefers_columns(arrays: Sequence[npt.NDArray[np.floating]], batch: tuple[int, ...], usual: bool) -> bool: ...

class NativeCall:
    library: object
    times: tuple[float, float] | None
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
        packed: bool = False,
        constant: Sequence[bool] = (),
        cost: int = 100,
        samples: int = 0,
        turns: bool = False,
        wide: int = 0,
    ) -> None: ...
    @property
    def columns(self) -> bool: ...
    @property
    def single(self) -> bool: ...
    @property
    def packed(self) -> bool: ...
    @property
    def turns(self) -> bool: ...
    @property
    def gives_way(self) -> bool: ...
    def follow(self, before: NativeCall) -> None: ...
    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating]],
        outputs: Sequence[npt.NDArray[np.floating]],
        batch: int | tuple[int, ...],
        threads: int = 1,
        *,
        kept: bool = False,
    ) -> tuple[int, int] | None: ...
