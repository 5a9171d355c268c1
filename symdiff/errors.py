"""Every error symdiff raises on purpose, so that a caller can catch one family.

A message says what came, what was expected and what to do. Each class is also the
built-in error a NumPy user would have expected (``ValueError``, ``TypeError``, ...), so
code written for NumPy keeps working.
"""

from __future__ import annotations

import re

import numpy as np

#: Characters that a terminal obeys, or that show nothing or move what is around them, besides ends of lines and tabs.
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
#: Characters of a message; more come of something that it quotes.
_LONGEST = 1_200


def printable(text: str) -> str:
    r"""Return text that no terminal obeys: control characters and the like as their codes, but for ends of lines.

    Examples
    --------
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shortened(text: str, most: int = _LONGEST) -> str:
    """Return a message whose middle is left out where it is very long."""
    head, tail = most * 3 // 4, most // 4
    return text if len(text) <= most else f"{text[:head]} [... {len(text) - most} characters ...] {text[-tail:]}"


class SymdiffError(Exception):
    """Base of all errors raised by symdiff, whose messages hold printable text only."""

    _longest = _LONGEST

    def __init__(self, message: str = "", *more: object) -> None:
        super().__init__(printable(shortened(str(message), self._longest)), *more)


class ParseError(SymdiffError, ValueError):
    """Formula text that does not follow the grammar.

    Parameters
    ----------
    message : str
        What was found and what was expected.
    text : str, optional
        The whole formula.
    position : int, optional
        Offset in ``text``, in characters, of the place the caret points to.
    """

    def __init__(self, message: str, text: str | None = None, position: int | None = None) -> None:
        self.text = text
        self.position = position
        super().__init__(message if text is None or position is None else with_caret(message, text, position))


class ShapeError(SymdiffError, ValueError):
    """Shapes that do not fit each other, or an axis or index out of range."""


class DtypeError(SymdiffError, TypeError):
    """An array or operand of a kind that cannot be used (object, complex, bool, ...)."""


class ArgumentError(SymdiffError, TypeError):
    """A wrong count or name of arguments, a missing input, an unusable ``out``."""


class SymbolError(SymdiffError, TypeError):
    """A symbol used where Python needs a number: ``if``, ``float()``, item assignment."""


class DisconnectedInputError(SymdiffError, ValueError):
    """A derivative with respect to something the formula does not depend on."""


class NotDifferentiableError(SymdiffError, ValueError):
    """A derivative for which symdiff has no rule; raised by name, never guessed."""


class UnsupportedError(SymdiffError, NotImplementedError):
    """A formula or an option that symdiff understands and does not offer."""


class LimitError(SymdiffError, ValueError):
    """A formula, literal or result beyond a limit of :mod:`symdiff.ground.limits`."""


class SingularMatrixError(SymdiffError, np.linalg.LinAlgError):
    """A matrix without inverse (or not positive definite) met while a kernel ran.

    Parameters
    ----------
    message : str
        What happened.
    index : tuple of int, optional
        Index of the first such sample in the batch; empty for a single sample.
    """

    def __init__(self, message: str, index: tuple[int, ...] = ()) -> None:
        self.index = index
        super().__init__(message)


class AbsentError(SymdiffError, AttributeError):
    """An attribute that a symbolic array, or symdiff, does not have."""


class NonfiniteError(SymdiffError, FloatingPointError):
    """A result that is nan or infinite, of a kernel compiled with ``nonfinite="raise"``."""


class InternalError(SymdiffError, RuntimeError):
    """A defect of symdiff: an error that it did not foresee, which is the ``__cause__``."""


class BuildError(SymdiffError, RuntimeError):
    """The system's compiler failed; the message carries its words."""

    _longest = 20_000


class DataError(SymdiffError, ValueError):
    """A file that cannot be read or written, or whose contents do not fit the formula."""


def with_caret(message: str, text: str, position: int) -> str:
    """Put the line of ``text`` around ``position`` and a caret below ``message``."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    left, right = max(start, position - 50), min(end, position + 30)
    line = ("..." if left > start else "") + text[left:right] + ("..." if right < end else "")
    column = position - left + (3 if left > start else 0)
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return f"{message}\n  {line}\n  {' ' * column}^"
