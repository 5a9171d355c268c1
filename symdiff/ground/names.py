"""Names of inputs, of parts of formulas, and of sizes."""

from __future__ import annotations

import keyword
import re

__all__ = ["NAME_PATTERN", "is_name"]

# Latin letters, and the Greek ones that look like no Latin letter; all of them NFKC-normal.
_LETTERS = "A-Za-z_\u0393\u0394\u0398\u039b\u039e\u03a0\u03a3\u03a6\u03a8\u03a9\u03b1-\u03be\u03c0-\u03c9"
NAME_PATTERN = rf"[{_LETTERS}][{_LETTERS}0-9]*"
_IS_NAME = re.compile(NAME_PATTERN).fullmatch


def is_name(name: str) -> bool:
    """Tell whether formula text can mention ``name``.

    Examples
    --------
    >>> is_name("x_1"), is_name("lambda"), is_name("x y")
    (True, False, False)
    """
    return _IS_NAME(name) is not None and not keyword.iskeyword(name)
