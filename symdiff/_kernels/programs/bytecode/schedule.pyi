from collections.abc import Sequence

from .steps import Steps

def schedule(steps: Steps, times: Sequence[float]) -> Steps: ...
