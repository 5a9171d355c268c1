"""The shape that a user gives for an input, and the bound on the size of every array.

Shapes come by keyword (``X=(2, 4)``, ``y=4``, ``t=()``, ``A=("n", "n")``), from a command line
or from a program, so every wrong form of one is met with the right forms.
"""

from __future__ import annotations

import numpy as np

from ..errors import LimitError, ShapeError
from ..graph.sizes import Dim, Shape, check_elements, named
from ..ground.limits import LIMITS, Limits
from ..ground.names import is_name


def read_shape(name: str, shape: object, limits: Limits = LIMITS) -> Shape:
    """Return the shape given for the input ``name``, checked.

    Parameters
    ----------
    name : str
        For the message.
    shape : int, str, or tuple of them
        A size is a whole number, or a name when it is known at call time only.
    limits : Limits, optional

    Raises
    ------
    ShapeError
        If it is not a shape.
    LimitError
        If it has too many axes or elements.

    Examples
    --------
    >>> read_shape("y", 4), read_shape("A", ("n", 3))
    ((4,), (n, 3))
    """
    given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(given) > limits.axes:
        raise LimitError(f"the shape of {name!r} has {len(given)} axes; at most {limits.axes} are offered")
    sizes: list[Dim] = []
    for size in given:
        if isinstance(size, str) and is_name(size) and len(size) <= limits.name_length:
            sizes.append(named(size))
        elif isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 0:
            sizes.append(int(size))
        else:
            what = f"an array of shape {size.shape}" if isinstance(size, np.ndarray) else f"{size!r:.80}"
            raise ShapeError(
                f"the shape of {name!r} has {what} for a size; expected whole numbers from 0 on or names: "
                "(), 4, (2, 4) or ('n', 4)"
            )
    result = tuple(sizes)
    check_elements(result, limits)
    return result
