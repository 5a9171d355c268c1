from array import array
from collections.abc import Iterable, Sequence

from ..tape import Tape
from .steps import Steps

class Selection:
    steps: Steps
    first: array[int] | None
    def __init__(self, tape: Tape, outputs: Iterable[Sequence[int]], roles: bytes) -> None: ...
    def loads(self) -> dict[int, dict[int, int]]: ...
