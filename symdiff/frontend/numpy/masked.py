"""Arrays with a mask, which would be lost: told apart without importing the module they come from."""

from __future__ import annotations

import sys

__all__ = ["is_masked"]


def is_masked(value: object) -> bool:
    """Tell whether a value is an array with a mask; where nobody has imported ``numpy.ma``, none is.

    Importing it takes 10 ms, a third of what a formula that is known may take to its first value.
    """
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return kind is not None and isinstance(value, kind)
