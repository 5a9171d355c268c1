from typing import Any

import numpy as np
import numpy.typing as npt

def put_entries(
    data: npt.NDArray[Any],
    take: npt.NDArray[np.int64] | None,
    starts: npt.NDArray[np.int64] | None,
    at: npt.NDArray[np.int64] | None,
    target: npt.NDArray[Any],
    adds: bool,
) -> bool: ...
