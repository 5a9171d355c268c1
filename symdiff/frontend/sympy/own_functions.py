"""Functions of the table that SymPy lacks, or would unfold into what overflows or cancels, as classes of SymPy.

A class is made from a row: its name, its arguments, its derivatives. It is read back to the same row, and its digits
are those of mpmath, as many as are asked for.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import mpmath as mp
import numpy as np
import sympy as sp
from sympy.core.function import ArgumentIndexError

from ...errors import NotDifferentiableError
from ...graph import Node, constant
from ...graph import input as variable
from ...graph.reference.interpret import evaluate
from ...graph.reference.many_digits import digits_of
from ...graph.scalars.functions import FUNCTIONS, Function, apply, partial_of, where
from ...ground.stages import later


class OwnFunction(sp.Function):  # type: ignore[misc]  # SymPy has no types
    """A function of a row of the table; see :func:`own_function`."""

    row: ClassVar[Function]

    def _eval_evalf(self, prec: int) -> Any:
        if not self.is_number:
            return None
        found = digits_of(self.row.name, lambda more: [arg._to_mpmath(more) for arg in self.args], prec)
        return sp.Expr._from_mpmath(found, prec)

    def fdiff(self, argindex: int = 1) -> Any:
        """Return the derivative by an argument, as the row has it."""
        place = argindex - 1
        if not 0 <= place < self.row.arity:
            raise ArgumentIndexError(self, argindex)
        letters = [f"a{i}" for i in range(self.row.arity)]
        nodes: list[Node] = [variable(letter) for letter in letters]
        if self.row.orders:
            nodes[0] = constant(float(self.args[0]))
        node = apply(self.row.name, *nodes)
        try:
            slope, condition = partial_of(node, place)
        except NotDifferentiableError:
            raise ArgumentIndexError(self, argindex) from None
        if slope is None:
            return sp.S.Zero
        written = later.sympy.to_sympy(slope if condition is None else where(condition, slope, 0.0))
        return written.xreplace(dict(zip(map(sp.Symbol, letters), self.args, strict=True)))

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        name = rf"\operatorname{{{self.row.name}}}".replace("_", r"\_")
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"{name}{power}{{\left({', '.join(map(printer._print, self.args))} \right)}}"

    def _mpmathcode(self, printer: Any) -> str:
        number = printer._module_format("mpmath.mpf")
        return f"{self.row.name}({', '.join(f'{number}({printer._print(arg)})' for arg in self.args)})"


@cache
def own_function(name: str) -> type[OwnFunction]:
    """Return the class of a row.

    Examples
    --------
    >>> import sympy
    >>> own_function("erfcx")(sympy.Integer(100)).evalf(20)
    0.0056416137829894329036
    """
    row = FUNCTIONS[name]

    def compute(*args: Any) -> Any:
        # what sympy.lambdify calls, with the numbers of the library that it was asked for
        if any(isinstance(arg, mp.mpf) for arg in args):
            return digits_of(name, lambda _: args, mp.mp.prec)
        return evaluate([apply(name, *(constant(np.asarray(arg, dtype=float)) for arg in args))], {})[0]

    own = {"row": row, "nargs": row.arity, "_imp_": staticmethod(compute), "__module__": __name__, "__doc__": None}
    return type(name, (OwnFunction,), own)


def __getattr__(name: str) -> Any:
    # pickles, and the code that SymPy writes, find a class by its module and name
    if name in FUNCTIONS:
        return own_function(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
