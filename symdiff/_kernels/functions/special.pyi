from collections.abc import Callable

import numpy as np
import numpy.typing as npt

def __getattr__(name: str) -> Callable[..., npt.NDArray[np.float64]]: ...
