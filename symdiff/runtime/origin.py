"""Origin of a kernel: the formula that it was compiled from, as text, of other arrays, at one point and in ``help``.

Other libraries that take kernels as functions are hooks, each a module of ``integrations``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from ..codegen import Request
from ..errors import UnsupportedError
from ..frontend.array import Array
from ..frontend.numpy.operands import as_node, provenance_of
from ..frontend.outputs import pack
from ..frontend.substitution import apply_to
from ..graph.dump import record_text
from ..graph.sizes import show
from ..ground.stages import later
from .kept.lookup import Problem

__all__ = ["Origin", "applied", "cause_in", "described", "shown", "wrapped"]


#: Names of libraries, as users of symdiff know them and as pip installs them.
_PACKAGES = {"jax": "jax", "torch": "torch", "numba": "numba", "scipy": "scipy"}


def wrapped(library: str, kernel: Any, *options: Any) -> Any:
    """Return a kernel as a function of a library.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or cannot take the kernel.
    """
    try:
        import_module(library)
    except ImportError as error:
        raise UnsupportedError(
            f"{library} is not installed here ({error}); install it, e.g. by pip install {_PACKAGES[library]}"
        ) from None
    return getattr(later, library).wrap(kernel, *options)


def applied(problem: Problem, given: Sequence[Any]) -> Any:
    """Return the formula with other arrays in place of its inputs, of the shapes that they have."""
    inputs = list(problem.arguments.values())
    made = apply_to([output.node for output in problem.outputs], inputs, [as_node(one) for one in given])
    return pack(problem.structure, (Array(node, provenance_of(*given)) for node in made))


def cause_in(problem: Problem, number: int, values: Sequence[Any]) -> Any:
    """Return what makes an output of one sample infinite or nan."""
    from .explain import find_cause

    (output,) = shown([problem.outputs[number]])
    return find_cause(output.node, list(problem.arguments.values()), values)


def shown(outputs: Sequence[Array]) -> list[Array]:
    """Return the outputs as they are shown."""
    from ..rewrite import simplify  # not needed by a value

    nodes = simplify([output.node for output in outputs], written=True)
    return [Array(node, output.provenance) for node, output in zip(nodes, outputs, strict=True)]


#: Lines, and characters of a line, of a formula that are shown.
_LINES, _WIDE = 20, 400
_Class = TypeVar("_Class", bound=type)


class _OwnText:
    """The ``__doc__`` of a class and of its instances: the class keeps its text, an instance writes one when asked."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self.text if instance is None else _docstring(instance)


def described(kernel: _Class) -> _Class:
    """Give the instances of a class of kernels docstrings of their own.

    Parameters
    ----------
    kernel : type
        Has a docstring, which stays the class's.

    Examples
    --------
    >>> import symdiff as sd
    >>> told = sd.compile("A @ x", A=(2, 3), x=3).__doc__.splitlines()
    >>> print(told[0], told[2], told[6], sep=" | ")
    (A: (2, 3), x: (3,)) -> (2,) | The formula A @ x, compiled. | A : array of shape (2, 3), or (..., 2, 3) for a batch
    """
    kernel.__doc__ = _OwnText(kernel.__doc__)  # type: ignore[assignment]  # Python asks a descriptor
    return kernel


def _docstring(kernel: Any) -> str:
    arguments = [f"{p.name} : {_argument(kernel, p)}" for p in kernel.inputs]
    if kernel.options.groups is not None:
        arguments.insert(0, "Leaves of the structures in the signature:")
    lines = [
        kernel.signature,
        "",
        *_formula(kernel),
        "",
        "Parameters",
        "----------",
        *arguments,
        "out : array of the result's shape to write to, optional",
        "inputs : dict of the arguments by name, in the place of all others, optional",
        "",
        "What every kernel can do is in help(symdiff.Kernel).",
    ]
    return "\n".join(lines)


def _formula(kernel: Any) -> list[str]:
    texts = [line for text in kernel._origin.texts() for line in text.split("\n")]
    if len(texts) == 1 and len(texts[0]) <= _WIDE:
        return [f"The formula {texts[0]}, compiled."]
    kept = [f"    {line if len(line) <= _WIDE else line[:_WIDE] + ' ...'}" for line in texts[:_LINES]]
    return ["The formulas, compiled:", "", *kept, *(["    ..."] if len(texts) > _LINES else [])]


def _argument(kernel: Any, parameter: Any) -> str:
    if not parameter.shape:
        sample, own = "number", ""
    else:
        sample, own = f"array of shape {show(parameter.shape)}", show(parameter.shape)[1:-1].rstrip(",")
    options = kernel.options
    if options.batch is not None and parameter.name not in options.batch:
        return sample
    rows = f"({own}, ...)" if options.batch_axis else f"(..., {own})"
    return f"{sample}, or {rows if own else 'an array of any shape'} for a batch"


@dataclass(frozen=True)
class Origin:
    """Origin of a kernel; the compiler fills it in, the kernel asks when it is asked.

    Parameters
    ----------
    backend : str
        "c", "interpreter", "cython" or "numpy"; unless the runner tells.
    source : callable
        Returns the source that runs.
    sympy : callable
        Returns the outputs as SymPy expressions, one or in the kernel's structure.
    latex : callable
        Returns LaTeX.
    texts : callable
        Returns the outputs as formula text, in order.
    request : callable
        Returns what emitters ask for: the graph, and what lowers it.
    named : callable
        Returns a kernel of the same inputs whose outputs are the named sub-formulas, in a dict.
    apply : callable
        Takes a symbolic array for each input and returns the formula of them, in the kernel's structure.
    cause : callable
        Takes the number of an output and the arguments of one sample, and returns the part of the formula for which
        that is not finite, or None.
    rebuild : callable
        Returns what pickling writes: a function that compiles the kernel again, and its arguments.
    problem : callable
        Returns the formula that was compiled, as :class:`symdiff.runtime.kept.lookup.Problem` has it.
    rewrites : tuple of str
        Stability rewrites that were made.
    stats : mapping
        Counts of operations, times of compilation, and the like.
    """

    backend: str
    source: Callable[[], str]
    sympy: Callable[[], Any]
    latex: Callable[[], str]
    texts: Callable[[], Sequence[str]]
    request: Callable[[], Request]
    named: Callable[[], Any]
    apply: Callable[[list[Any]], Any]
    cause: Callable[[int, list[Any]], Any]
    rebuild: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    problem: Callable[[], Any]
    rewrites: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return record_text(self)
