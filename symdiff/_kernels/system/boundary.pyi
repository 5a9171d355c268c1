from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

def shorten(error: Exception) -> Exception: ...

class Boundary(Generic[P, T]):
    def __init__(
        self,
        function: Callable[P, T],
        told: Callable[[Exception, Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Exception],
    ) -> None: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...
