"""Forms that SymPy lacks, as classes of SymPy: definitions and a result, adjugates, operations by their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy as sp
from sympy.core.symbol import Str
from sympy.core.sympify import _sympify
from sympy.tensor.array.expressions import array_expressions as arrays

from ...errors import ArgumentError

__all__ = ["Adjugate", "AdjugateDifferential", "ArrayOperation", "Definitions", "MatrixOperation"]


class Definitions(sp.Basic):  # type: ignore[misc]  # SymPy has no types
    """A formula too deep or too much shared for one SymPy expression: definitions and a result.

    Parameters
    ----------
    definitions : iterable of (symbol, expression)
        In order: each may use those before it.
    result : SymPy expression, matrix or array
        In terms of the symbols.

    Raises
    ------
    ArgumentError
        For anything else, text among it.

    Examples
    --------
    >>> import sympy
    >>> x, t1 = sympy.symbols("x t1")
    >>> made = Definitions(((t1, x + 1),), t1**2)
    >>> print(made)
    t1 = x + 1
    t1**2
    >>> definitions, result = made
    """

    def __new__(cls, definitions: Iterable[Any], result: Any) -> Definitions:
        """Make it of pairs and a result."""
        try:
            pairs = [sp.Tuple(*map(_sympify, pair), sympify=False) for pair in definitions]
            made: Definitions = super().__new__(cls, sp.Tuple(*pairs, sympify=False), _sympify(result))
        except (sp.SympifyError, TypeError) as error:
            raise ArgumentError(
                f"Definitions of what SymPy does not know ({str(error).splitlines()[0]:.100}); expected pairs of a "
                "symbol and an expression, and a result, of SymPy"
            ) from error
        if not all(len(pair) == 2 for pair in pairs):
            raise ArgumentError(f"Definitions of {pairs!s:.100}; expected pairs of a symbol and an expression")
        return made

    @property
    def definitions(self) -> tuple[tuple[Any, Any], ...]:
        """Pairs of a symbol and its expression."""
        return tuple((symbol, value) for symbol, value in self.args[0].args)

    @property
    def result(self) -> Any:
        """The formula in terms of the symbols."""
        return self.args[1]

    @property
    def free_symbols(self) -> set[Any]:
        """The symbols that are not defined here."""
        found: set[Any] = set(self.result.free_symbols)
        for symbol, value in reversed(self.definitions):
            found = (found - {symbol}) | value.free_symbols
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter((self.definitions, self.result))

    def __str__(self) -> str:
        return "\n".join([*(f"{symbol} = {value}" for symbol, value in self.definitions), str(self.result)])

    def __repr__(self) -> str:
        return f"<symdiff.Definitions of {len(self.definitions)} symbols and a result>\n{self}"


class Adjugate(sp.MatrixExpr):  # type: ignore[misc]  # SymPy has no types
    """The adjugate of a square matrix: det(A) A⁻¹ where that exists, and the transposed cofactors everywhere.

    Examples
    --------
    >>> import sympy
    >>> Adjugate(sympy.MatrixSymbol("A", 3, 3)).shape
    (3, 3)
    >>> Adjugate(sympy.ImmutableMatrix([[1, 2], [3, 4]])).doit()
    Matrix([
    [ 4, -2],
    [-3,  1]])
    """

    def __new__(cls, matrix: Any) -> Adjugate:
        """Make it of a square matrix."""
        made: Adjugate = super().__new__(cls, _sympify(matrix))
        return made

    @property
    def arg(self) -> Any:
        """The matrix."""
        return self.args[0]

    @property
    def shape(self) -> tuple[Any, Any]:
        """Shape of the matrix."""
        rows, columns = self.arg.shape
        return rows, columns

    def doit(self, **hints: Any) -> Any:
        """Return the cofactors of an explicit matrix."""
        arg = self.arg.doit(**hints) if hints.get("deep", True) else self.arg
        return arg.adjugate() if isinstance(arg, sp.MatrixBase) else Adjugate(arg)

    def _eval_transpose(self) -> Any:
        return Adjugate(sp.Transpose(self.arg).doit())

    def _entry(self, i: Any, j: Any, **kwargs: Any) -> Any:
        if isinstance(self.arg, sp.MatrixBase) and i.is_Integer and j.is_Integer:
            return self.arg.cofactor(int(j), int(i))
        return sp.matrices.expressions.matexpr.MatrixElement(self, i, j)

    def _sympystr(self, printer: Any) -> str:
        return f"Adjugate({printer._print(self.arg)})"

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{adj}}\left({printer._print(self.arg)}\right)"


class AdjugateDifferential(sp.MatrixExpr):  # type: ignore[misc]  # SymPy has no types
    """The differential of the adjugate at ``A`` in the direction ``E``."""

    def __new__(cls, matrix: Any, direction: Any) -> AdjugateDifferential:
        """Make it of two square matrices of one size."""
        made: AdjugateDifferential = super().__new__(cls, _sympify(matrix), _sympify(direction))
        return made

    @property
    def shape(self) -> tuple[Any, Any]:
        """That of the matrix."""
        rows, columns = self.args[0].shape
        return rows, columns

    def _entry(self, i: Any, j: Any, **kwargs: Any) -> Any:
        return sp.matrices.expressions.matexpr.MatrixElement(self, i, j)

    def doit(self, **hints: Any) -> Any:
        """Return the differential of explicit matrices, a polynomial of their entries."""
        matrix, direction = (arg.doit(**hints) for arg in self.args)
        if not (isinstance(matrix, sp.MatrixBase) and isinstance(direction, sp.MatrixBase)):
            return AdjugateDifferential(matrix, direction)
        step = sp.Dummy("step")
        return (matrix + step * direction).adjugate().applyfunc(lambda entry: sp.expand(entry).coeff(step, 1))


def _shown(text: str, operands: Iterable[Any], printer: Any) -> str:
    for place, operand in enumerate(operands):
        own = printer._print(operand)
        text = text.replace(f"_a{place}_", own if operand.is_symbol or not operand.args else f"({own})")
    return text


class MatrixOperation(sp.MatrixExpr):  # type: ignore[misc]  # SymPy has no types
    """An operation that SymPy has no class for, as text of symdiff's language over its operands.

    Parameters
    ----------
    text : Str
        The operation, with operands ``_a0_``, ``_a1_`` and so on.
    ranks : Tuple of Integer
        How many axes each operand has in the text, where a vector is a matrix of one column to SymPy.
    size : Tuple
        Shape of the result: a vector is a matrix of one column, and a number of one row and column.
    *operands : SymPy expressions, matrices or arrays
    """

    def __new__(cls, text: Any, ranks: Any, size: Any, *operands: Any) -> MatrixOperation:
        """Make it of a text and what the text is about."""
        made: MatrixOperation = super().__new__(cls, text, ranks, size, *map(_sympify, operands))
        return made

    @property
    def shape(self) -> tuple[Any, Any]:
        """The shape, always of two axes."""
        rows, columns = self.args[2].args
        return rows, columns

    def _entry(self, i: Any, j: Any, **kwargs: Any) -> Any:
        return sp.matrices.expressions.matexpr.MatrixElement(self, i, j)

    def doit(self, **hints: Any) -> Any:
        """Return the operation as it is."""
        return self

    def _sympystr(self, printer: Any) -> str:
        return _shown(str(self.args[0]), self.args[3:], printer)


class ArrayOperation(arrays._ArrayExpr):  # type: ignore[misc]  # SymPy has no types
    """An operation whose result has more than two axes; see :class:`MatrixOperation`."""

    def __new__(cls, text: Any, ranks: Any, size: Any, *operands: Any) -> ArrayOperation:
        """Make it of a text and what the text is about."""
        made: ArrayOperation = sp.Basic.__new__(cls, text, ranks, size, *map(_sympify, operands))
        return made

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape."""
        return tuple(self.args[2].args)

    def doit(self, **hints: Any) -> Any:
        """Return the operation as it is."""
        return self

    def _sympystr(self, printer: Any) -> str:
        return _shown(str(self.args[0]), self.args[3:], printer)


def operation(text: str, ranks: Iterable[int], shape: Iterable[Any], operands: Iterable[Any]) -> Any:
    """Return an operation by its text: an array, a matrix, or the entry of one where it is a number."""
    size = tuple(shape)
    kind = ArrayOperation if len(size) > 2 else MatrixOperation
    wide = size if len(size) > 2 else (*size, 1, 1)[:2]
    whole = kind(Str(text), sp.Tuple(*ranks), sp.Tuple(*wide), *operands)
    return whole if size else sp.matrices.expressions.matexpr.MatrixElement(whole, sp.S.Zero, sp.S.Zero)
