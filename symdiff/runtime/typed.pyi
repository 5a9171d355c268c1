"""Types of `compile` for type checkers: a kernel of one array gives an array, one of a structure the structure.

There is no such module at run time. The variants of `compile` are made by `python docs/generate.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array  # with types once scipy-stubs is installed

from ..frontend.array import Array
from ..frontend.display import FormulaDict
from ..ground.limits import Budget
from ..lowering.sparse.formats import FormatName
from .kernel import Kernel
from .options import Backend

#: Arguments that are neither a symbol nor a table of another library, whose containers results come back in.
Plain: TypeAlias = float | npt.NDArray[Any] | np.number[Any] | Sequence[float] | Sequence[Sequence[float]]

#: Result of a kernel for one formula.
Numbers: TypeAlias = npt.NDArray[Any]

#: One formula. Text may have several results behind commas: they unpack from what is taken for one array.
One: TypeAlias = Array | str | Callable[..., Array]

Result = TypeVar("Result")

class TypedKernel(Kernel, Generic[Result]):
    @overload
    def __call__(self, *args: Plain, out: Any = None, inputs: None = None, **named: Plain) -> Result: ...
    @overload
    def __call__(self, *args: Any, out: Any = None, inputs: Any = None, **named: Any) -> Any: ...

@overload
def compile(
    formula: One,
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[Numbers]: ...
@overload
def compile(
    formula: One,
    /,
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
    sparse: Literal["csr"],
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[csr_array]: ...
@overload
def compile(
    formula: One,
    /,
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
    sparse: Literal["csc"],
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[csc_array]: ...
@overload
def compile(
    formula: One,
    /,
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
    sparse: Literal["coo"],
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[coo_array]: ...
@overload
def compile(
    formula: One,
    /,
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
    sparse: Literal["bsr"],
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[bsr_array]: ...
@overload
def compile(
    formula: One,
    /,
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
    sparse: Literal["values"],
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[Numbers]: ...
@overload
def compile(
    formula: dict[str, Array] | dict[str, str] | FormulaDict[Array],
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[dict[str, Numbers]]: ...
@overload
def compile(
    formula: list[Array] | list[str],
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[list[Numbers]]: ...
@overload
def compile(
    formula: tuple[Array | str, ...],
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[tuple[Numbers, ...]]: ...
@overload
def compile(
    formula: tuple[Array, tuple[Array, ...]],
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[tuple[Numbers, tuple[Numbers, ...]]]: ...
@overload
def compile(
    formula: tuple[tuple[Array, ...], ...],
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> TypedKernel[tuple[tuple[Numbers, ...], ...]]: ...
@overload
def compile(
    formula: Any,
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[False] = False,
    **named_shapes: Any,
) -> Kernel: ...
@overload
def compile(
    formula: Any,
    /,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: Literal[True],
    **named_shapes: Any,
) -> TypedKernel[tuple[Any, dict[str, tuple[Numbers, ...]]]]: ...
