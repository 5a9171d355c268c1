from typing import Any

import numpy as np
import numpy.typing as npt

_Positions = npt.NDArray[np.int32]

def inverse_elements(
    pointers: _Positions, indices: _Positions, lower: Any, pivots: Any, rows: _Positions, columns: _Positions
) -> npt.NDArray[np.float64]: ...
