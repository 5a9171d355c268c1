from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T", bound=Unique)

class Unique:
    op: str
    args: tuple[Any, ...]
    payload: Any
    shape: tuple[Any, ...]
    dtype: str
    settled: int
    tried: int
    below: int

def unique(kind: type[T], op: str, args: tuple[T, ...], payload: Any, shape: tuple[Any, ...], dtype: str) -> T: ...
def mark(one: Unique, level: int) -> None: ...
def mark_tried(one: Unique, level: int) -> None: ...
def assign_bits(known: dict[Any, int]) -> None: ...
def assign_exceptions(known: dict[str, Callable[[tuple[Any, ...]], int]]) -> None: ...
def add_predicates(kind: type[Unique], known: Mapping[str, Iterable[str]]) -> None: ...
def count() -> int: ...
def walk(roots: Iterable[T], settled: int = 0, most: int = -1, which: int = 0) -> list[T]: ...

ALL: int
LEAVES: int
DESCRIBED: int
