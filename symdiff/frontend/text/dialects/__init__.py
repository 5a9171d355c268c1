"""Formula text in the languages of others, read into the same arrays.

Takes
    text, and what its letters are
Gives
    :class:`~symdiff.frontend.text.build.Parsed`
Invariants
    * What is written in both languages and means two things is read as the language says that was asked for.
    * Nothing recurses, limits are checked before time is spent, and each term is charged to the budget.
    * An error names the place with a caret.
Files
    grammar         the text of matrixcalculus.org to operations, operands first
    axes            which axes are as long as which others, from the operations alone
    functions       the functions of matrixcalculus.org
    matrixcalculus  the operations to arrays
Add
    a language: a reader, and its row of :data:`DIALECTS`;
    a function of matrixcalculus.org: a row in ``functions``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..build import Parsed
from .matrixcalculus import parse_matrixcalculus

__all__ = ["DIALECTS"]

#: What reads each language, by its name.
DIALECTS: Mapping[str, Callable[[str, Mapping[str, Any]], Parsed]] = {"matrixcalculus": parse_matrixcalculus}
