"""SciPy's special functions, imported when the first of them is used.

Importing them takes longer than the rest of symdiff together, and most formulas have none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("scipy.special"), name)
