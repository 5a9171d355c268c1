from collections.abc import Sequence

from .executor import Plan

class PlanEntry:
    def __init__(
        self,
        plan: Plan | None,
        pattern: Sequence[bool],
        single: bool,
        values: Sequence[int],
        rows: int,
        outputs: Sequence[tuple[int, ...]],
    ) -> None: ...
