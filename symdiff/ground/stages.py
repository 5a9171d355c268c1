"""The stages of the compiler, in the order in which they may import each other.

An entry imports those above it only, and ``tests/house/test_architecture.py`` holds the package to that.
``__init__`` and ``__main__`` stand outside: they give users what the stages offer.

Where an earlier stage calls a later one (a formula that becomes complex, a kernel that is asked for its report), it
calls a hook, and ``__init__`` says which module each hook is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InternalError

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

_HOOKS: dict[str, Callable[[], Any]] = {}


def set_hook(name: str, load: Callable[[], Any]) -> None:
    """Say how the module is loaded that earlier stages call under a name; nothing is loaded before the first call."""
    _HOOKS[name] = load


def hook(name: str) -> Any:
    """Return the module of a later stage that earlier ones call under a name.

    Raises
    ------
    InternalError
        If no module was given for the name.
    """
    if name not in _HOOKS:
        raise InternalError(f"no module for the hook {name!r}; expected a row for it in symdiff/__init__.py")
    return _HOOKS[name]()
