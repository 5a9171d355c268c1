from collections.abc import Collection, Iterable

from .steps import Steps

NAMES: str

class Allocation:
    steps: Steps
    def __init__(self, steps: Steps) -> None: ...
    @property
    def reads(self) -> dict[tuple[int, int], str]: ...
    @property
    def puts(self) -> dict[int, list[str]]: ...
    @property
    def loads(self) -> dict[int, list[tuple[str, int]]]: ...

def allocate_registers(
    steps: Steps, registers: int, kept: Iterable[int], able: Collection[str], barriers: Iterable[float]
) -> Allocation: ...
