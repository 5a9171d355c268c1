"""The stages of the compiler, in the order in which they may import each other.

An entry imports those above it only, and ``tests/house/test_architecture.py`` holds the package to that.
``__init__`` and ``__main__`` stand outside: they give users what the stages offer.

Where an earlier stage calls a later one (a formula that becomes complex, a kernel that is asked for its report), it
calls a module of the registry ``later``, whose type says which functions it has; ``__init__`` says where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from ..errors import AbsentError

#: Name of a module or folder directly below the package, and what it does.
STAGES = (
    ("errors", "every error that symdiff raises on purpose"),
    ("_kernels", "compiled ahead of time: calls, plans, interpreter, loader, special functions"),
    ("ground", "limits, the budget of one call, the grammar of formulas, files, the guard of public functions"),
    ("graph", "the array IR: nodes, sizes, scalar functions, deltas, reference interpreter"),
    ("rewrite", "graph to graph: rewrites for short formulas and for stable ones"),
    ("printing", "graph to what people read: text, Unicode, LaTeX"),
    ("calculus", "graph to graph: rules, forward and reverse mode, derivatives"),
    ("frontend", "what users write to graph: NumPy code, text, SymPy, custom functions"),
    ("lowering", "graph to what runs: scalar programs, plans of a whole call, the nonzeros of sparse results"),
    ("codegen", "program or graph to C, Cython, NumPy source or bytecode"),
    ("runtime", "source to a kernel that runs: build, cache, runners, calls"),
    ("compiler", "the pipeline, from a formula to a kernel"),
    ("libraries", "distributions, complex arrays, the array API; formulas in the form of other libraries"),
    ("tools", "check, export, command line, demonstration"),
)


class Complexes(Protocol):
    """NumPy's functions of complex arrays, and transforms, whose results are complex."""

    def apply(self, name: str, args: Any) -> Any:
        """Apply a function to arrays of which some are complex."""

    def transform(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Apply a function of ``numpy.fft``."""


class SparseMatrices(Protocol):
    """Matrices whose nonzeros a call brings: a new one, and those among inputs."""

    def sparse_matrix(self, name: str, n: Any, m: Any) -> Any:
        """Return a new one."""

    def sparse_matrices(self, inputs: Any) -> dict[str, Any]:
        """Return those among inputs, by name."""


class Statistics(Protocol):
    """Functions of distributions, by the names that formula text calls them by."""

    def named_functions(self) -> Mapping[str, tuple[Any, str]]:
        """Return each function by the name that formula text calls it by."""

    def density(self, row: Any, function: str, symbolic: bool = False) -> Callable[..., Any]:
        """Return a function of users."""


class SymPyWriter(Protocol):
    """Formulas as SymPy has them."""

    def to_sympy(self, node: Any) -> Any:
        """Return a formula as SymPy."""


class TextReader(Protocol):
    """Formulas read from text, with inputs that are known."""

    def make_input(self, name: Any, shape: Any = None) -> Any:
        """Return an input of a shape."""

    def parse_graph(self, text: str, shapes: Any, *, undeclared: str = "error") -> Any:
        """Read formula text."""

    def parse_within(self, text: str, inputs: Any) -> Any:
        """Read formula text whose inputs are known."""


class Framework(Protocol):
    """A library that takes kernels as functions of its own."""

    def wrap(self, kernel: Any) -> Any:
        """Return a kernel as a function of the library."""


class LazyFramework(Framework, Protocol):
    """A library whose arrays are not computed yet."""

    def call_lazily(self, kernel: Any, arguments: Sequence[Any]) -> list[Any]:
        """Return the parts of a result that is not computed yet."""


class Stopwatch(Protocol):
    """Times of a kernel."""

    def benchmark(self, kernel: Any, batches: Sequence[int] | None = None, *, sizes: Any = None, seed: int = 0) -> Any:
        """Measure them."""


class Page(Protocol):
    """A kernel on a page, and a pattern of nonzeros as a drawing."""

    def nonzeros(self, shape: tuple[int, int], rows: Any, columns: Any) -> str:
        """Return a drawing of a pattern."""

    def write_page(self, kernel: Any, path: Any, title: str | None, timed: bool, overwrite: bool) -> None:
        """Write the page of a kernel."""


class Later:
    """Modules of later stages that earlier ones call, each imported when it is first used."""

    benchmark: Stopwatch
    complexes: Complexes
    dask: LazyFramework
    jax: Framework
    numba: Framework
    page: Page
    scipy: Framework
    sparse_matrices: SparseMatrices
    stats: Statistics
    sympy: SymPyWriter
    text: TextReader
    torch: Framework
    xp: ModuleType

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def register(self, paths: Mapping[str, str]) -> None:
        """Name the module of each attribute."""
        self._paths.update(paths)

    def __getattr__(self, name: str) -> Any:
        if name not in self._paths:
            raise AbsentError(f"no module for later.{name}; expected a row for it in symdiff/__init__.py")
        module = self.__dict__[name] = import_module(self._paths[name])
        return module


later = Later()
