"""How SymPy's symbols become inputs: one input a symbol, whatever the symbol is called.

SymPy distinguishes symbols by more than their name (assumptions, shapes, dummies), a call by
name does not. The registry gives every symbol a name of its own and remembers which is which,
so that results can be written with the caller's own symbols again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import graph
from ...errors import ShapeError, UnsupportedError
from ...graph.sizes import Dim, Shape, named


class SymbolicIndex(NamedTuple):
    """An index of a matrix whose entries are being read: all its places at once."""

    axis: int
    size: Dim


#: What is bound while the body of a sum, of an elementwise function or of a matrix is read.
Scope = tuple[tuple[Any, int | SymbolicIndex | graph.Node], ...]


class Inputs:
    """The inputs that the expressions of one formula share.

    Attributes
    ----------
    symbols : dict of str to SymPy object
        The symbol, matrix symbol or array symbol behind the name of every input.
    sizes : dict of str to sympy.Symbol
        The symbol behind the name of every symbolic size.

    Notes
    -----
    Of two different symbols with one name the second is called ``name_1``, and so on.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Any] = {}
        self.sizes: dict[str, Any] = {}
        self._nodes: dict[Any, graph.Node] = {}

    def scalar(self, symbol: Any) -> graph.Node:
        """Return the input of a symbol (of a size's symbol: the size as a number)."""
        if self.sizes.get(symbol.name) == symbol:
            return graph.extent(named(symbol.name))
        if not symbol.is_commutative:
            raise UnsupportedError(f"the symbol {symbol.name!r} is noncommutative; use a MatrixSymbol")
        if symbol.is_extended_real is False:
            raise UnsupportedError(
                f"the symbol {symbol.name!r} is not real by its assumptions; complex numbers are not supported, "
                "write real and imaginary parts as two symbols"
            )
        return self._node(symbol, symbol.name, ())

    def array(self, symbol: Any, name: str, shape: tuple[Any, ...]) -> graph.Node:
        """Return the input of a matrix symbol or array symbol."""
        known = self._nodes.get(symbol)
        return known if known is not None else self._node(symbol, name, self.shape(shape))

    def _node(self, symbol: Any, name: str, shape: Shape) -> graph.Node:
        node = self._nodes.get(symbol)
        if node is None:
            unique, count = name, 0
            while unique in self.symbols:
                count += 1
                unique = f"{name}_{count}"
            self.symbols[unique] = symbol
            node = self._nodes[symbol] = graph.input(unique, shape)
        return node

    def shape(self, sizes: tuple[Any, ...]) -> Shape:
        """Return SymPy's sizes as a shape."""
        return tuple(self.size(size) for size in sizes)

    def size(self, expr: Any, scope: Scope = ()) -> Dim:
        """Return a whole number or a polynomial in named sizes.

        Raises
        ------
        ShapeError
            If it is neither.
        """
        if isinstance(expr, int) or expr.is_Integer:
            return int(expr)
        plain = expr.subs({symbol: value for symbol, value in scope if isinstance(value, int)}).expand()
        total: Dim = 0
        for term in plain.args if plain.is_Add else (plain,):
            coefficient, factors = term.as_coeff_mul()
            if not coefficient.is_Integer:
                raise _not_a_size(expr)
            part: Dim = int(coefficient)
            for factor in factors:
                base, power = factor.as_base_exp()
                if not (base.is_Symbol and power.is_Integer and power.is_positive):
                    raise _not_a_size(expr)
                for _ in range(int(power)):
                    part = part * self._named(base)
            total = total + part
        return total

    def _named(self, symbol: Any) -> Dim:
        if self.sizes.setdefault(symbol.name, symbol) != symbol:
            raise UnsupportedError(
                f"two different symbols named {symbol.name!r} are used as sizes; use one, with one set of assumptions"
            )
        return named(symbol.name)

    def settle(self, fresh: int) -> dict[graph.Node, graph.Node]:
        """Return replacements for inputs that turned out to be sizes of a matrix as well.

        ``fresh`` inputs were known before the expression at hand was read.
        """
        replace = {}
        known = list(self._nodes)
        for name, symbol in self.sizes.items():
            node = self._nodes.get(symbol)
            if node is None:
                continue
            if known.index(symbol) < fresh:
                raise ShapeError(
                    f"{name!r} is a number in one expression and a size of a matrix in a later one; "
                    "give the expression with the matrix first"
                )
            del self.symbols[str(node.payload)], self._nodes[symbol]
            replace[node] = graph.extent(named(name))
        return replace

    def nodes(self) -> list[graph.Node]:
        """Return the inputs in the order in which they were read."""
        return list(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)


def _not_a_size(expr: Any) -> ShapeError:
    return ShapeError(
        f"the size or index {str(expr)[:60]!r} came; expected a whole number, a symbol, or a polynomial of symbols "
        "with whole coefficients"
    )
