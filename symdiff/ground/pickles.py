"""The format of pickles: its number stands in front, so that another version can say what is wrong.

A pickle names functions and classes by their modules, and what it holds has the form that one
version gave it. Versions do not read each other's. What is written here begins with the number of
its format, which is looked at before anything behind it is loaded; :func:`restore` and
:func:`check_format` keep their names and places for that. Earlier versions wrote no number; the
modules that their pickles name are refused by an importer that stands behind all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

from ..errors import DataError
from .version import VERSION

__all__ = ["FORMAT", "check_format", "refuse_unnumbered", "restore", "written"]

#: Goes up when a name in pickles changes, or the form of what they hold.
FORMAT = 3

_ADVICE = "versions do not read each other's pickles; make the formula or kernel again in this one, and pickle that"

#: Modules of earlier versions that pickles without a number name.
_EARLIER = frozenset(
    f"symdiff.{name}"
    for name in (
        *("arguments", "array", "check", "graph.walk", "interop", "kernel", "options", "provenance", "rules", "sizes"),
    )
)


class _Format:
    """The number in front of a pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return check_format, (FORMAT, VERSION)


_FORMAT = _Format()


def written(make: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """Return what ``__reduce__`` gives for a value that ``make(*args)`` makes again."""
    return restore, (_FORMAT, make, *args)


def restore(_: _Format, make: Callable[..., Any], /, *args: Any) -> Any:
    """Make a value again; its format has been looked at."""
    return make(*args)


def check_format(number: int, version: str = "", *_: Any) -> _Format:
    """Look at the number in front of a pickle, before what is behind it is loaded.

    Raises
    ------
    DataError
        If it is another one.
    """
    if number != FORMAT:
        raise DataError(
            f"this pickle was written by symdiff {version}, in format {number}; symdiff {VERSION} reads format "
            f"{FORMAT}: {_ADVICE}"
        )
    return _FORMAT


def refuse_unnumbered(*_: Any) -> NoReturn:
    """Stand where a pickle without a number finds the function or method that would have read it."""
    raise DataError(f"this pickle was written by an earlier version of symdiff: {_ADVICE}")


class _EarlierModules:
    """Refuses modules that are gone; it is asked when nobody else has found them."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname in _EARLIER:
            raise DataError(
                f"{fullname} is a module of an earlier version of symdiff. Where a pickle names it: {_ADVICE}"
            )


if not any(type(finder).__qualname__ == _EarlierModules.__qualname__ for finder in sys.meta_path):
    sys.meta_path.append(_EarlierModules())
