from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ...lowering.plan.bound import BoundStep, PlanArray
from ...lowering.plan.plan import Wiring
from ..unit import NativeCall

class PlanUnits:
    ports: tuple[tuple[tuple[int, ...], tuple[int, ...], bytes], ...]
    wirings: tuple[Wiring | None, ...]
    def __init__(
        self,
        make: Callable[[int, bool, bool, bool, bool], NativeCall],
        ports: Sequence[tuple[Sequence[int], Sequence[int]]],
        columns: Sequence[bool],
        constant: Sequence[Sequence[bool]],
        wirings: Sequence[Wiring | None] | None = None,
    ) -> None: ...
    def install(self, number: int, unit: NativeCall) -> None: ...
    def cost(self, number: int) -> int: ...

class Plan:
    def __init__(
        self,
        *,
        inputs: int,
        outputs: int,
        arrays: Sequence[PlanArray],
        steps: Sequence[BoundStep],
        tile: int,
        tile_bytes: int,
        kept_bytes: int,
        single: bool,
        lanes: int,
        units: PlanUnits | None,
        reproducible: bool = False,
    ) -> None: ...
    @property
    def arena_bytes(self) -> int: ...
    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating]],
        outputs: Sequence[npt.NDArray[np.floating]],
        count: int,
        threads: int = 1,
    ) -> tuple[tuple[int, ...], str] | None: ...
