from collections.abc import Sequence

VECTORS: int
OPCODES: dict[str, int]
SCALARS: dict[str, int]

class Machine:
    address: int
    argument: int
    def __init__(
        self,
        lanes: int,
        single: bool,
        code: Sequence[int],
        numbers: Sequence[float],
        rows: Sequence[float],
        functions: Sequence[int],
        checks: Sequence[int],
    ) -> None: ...
