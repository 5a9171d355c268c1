from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
    ) -> None: ...
    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating]],
        outputs: Sequence[npt.NDArray[np.floating]],
        count: int,
    ) -> tuple[int, int] | None: ...
    def direct(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        batched: Sequence[bool],
        single: bool,
    ) -> Callable[[tuple[Any, ...], Any], Any] | None: ...
    def quick(self, arguments: tuple[Any, ...], out: Any) -> Any: ...
