from array import array
from collections.abc import Iterable
from typing import Any, TypeVar

from .unique import Unique

T = TypeVar("T", bound=Unique)

def numbered(roots: Iterable[T]) -> tuple[list[T], array[int], array[int], array[int]]: ...
def tabulate(roots: Iterable[Unique]) -> tuple[list[tuple[Any, ...]], bytes]: ...
