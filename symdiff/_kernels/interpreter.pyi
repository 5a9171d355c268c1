from collections.abc import Sequence

VECTORS: int
LINES: int
LINE: int
OPCODES: dict[str, int]
SCALARS: dict[str, int]
VECTOR_FUNCTIONS: dict[str, int]

def registers(lanes: int, single: bool) -> int: ...

class Machine:
    address: int
    argument: int
    def __init__(
        self,
        lanes: int,
        single: bool,
        code: Sequence[int],
        numbers: Sequence[float],
        vectors: Sequence[float],
        rows: Sequence[float],
        functions: Sequence[int],
        checks: Sequence[int],
    ) -> None: ...
