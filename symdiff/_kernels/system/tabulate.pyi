from collections.abc import Iterable
from typing import Any

from .unique import Unique

def tabulate(roots: Iterable[Unique]) -> tuple[list[tuple[Any, ...]], bytes]: ...
