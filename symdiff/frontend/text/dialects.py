"""The languages of others that formula text may be in, each read into the same arrays.

A text that means two things is read as its language says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .matrixcalculus import parse_matrixcalculus
from .parse import Parsed

__all__ = ["DIALECTS"]

#: Readers of the languages, by their names.
DIALECTS: Mapping[str, Callable[[str, Mapping[str, Any]], Parsed]] = {"matrixcalculus": parse_matrixcalculus}
