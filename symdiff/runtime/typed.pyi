"""What type checkers know of `compile`: a kernel of one array gives an array, one of a structure the structure.

There is no such module at run time. `tests/test_typing.py` holds the options to those of `symdiff.compiler.compile`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..frontend.array import Array
from ..frontend.outputs.display import FormulaTuple
from ..ground.limits import Budget
from ..sparse.formats import FormatName
from .kernel import Kernel
from .options import Backend

#: What is neither a symbol nor a table of another library, whose containers results come back in.
Numbers: TypeAlias = float | npt.NDArray[Any] | np.number[Any] | Sequence[float] | Sequence[Sequence[float]]

Result = TypeVar("Result")

class TypedKernel(Kernel, Generic[Result]):
    @overload
    def __call__(self, *args: Numbers, out: Any = None, inputs: None = None, **named: Numbers) -> Result: ...
    @overload
    def __call__(self, *args: Any, out: Any = None, inputs: Any = None, **named: Any) -> Any: ...

@overload
def compile(
    formula: Array,
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    **named_shapes: Any,
) -> TypedKernel[npt.NDArray[Any]]: ...
@overload
def compile(
    formula: dict[str, Array],
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    **named_shapes: Any,
) -> TypedKernel[dict[str, npt.NDArray[Any]]]: ...
@overload
def compile(
    formula: list[Array],
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    **named_shapes: Any,
) -> TypedKernel[list[npt.NDArray[Any]]]: ...
@overload
def compile(
    formula: FormulaTuple,
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    **named_shapes: Any,
) -> Kernel: ...
@overload
def compile(
    formula: tuple[Array, ...],
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    **named_shapes: Any,
) -> TypedKernel[tuple[npt.NDArray[Any], ...]]: ...
@overload
def compile(
    formula: Any,
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: FormatName | Mapping[Any, Any] | list[Any] | tuple[Any, ...] | None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    **named_shapes: Any,
) -> Kernel: ...
