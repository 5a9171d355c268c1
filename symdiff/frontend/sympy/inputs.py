"""SymPy's symbols as inputs: one input a symbol, whatever the symbol is called.

SymPy distinguishes symbols by more than their name (assumptions, shapes, dummies), a call by
name does not. The registry gives every symbol a name of its own and remembers which is which,
so that results can be written with the caller's own symbols again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ... import graph
from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...graph.primitives import NOTHING_KNOWN, Assumptions
from ...graph.sizes import Dim, Shape, named
from ..shapes import assume, check_square, joined


class SymbolicIndex(NamedTuple):
    """An index of entries that are being read all at once: from ``first`` on, along an axis counted from the end."""

    axis: int
    size: Dim
    first: Dim = 0


#: Bound symbols while the body of a sum, of an elementwise function or of a matrix is read.
Scope = tuple[tuple[Any, int | SymbolicIndex | graph.Node], ...]


class Inputs:
    """The inputs that the expressions of one formula share.

    Attributes
    ----------
    symbols : dict of str to SymPy object
        What stands behind the name of every input: a symbol, matrix symbol or array symbol, an undefined
        function such as ``q(t)``, or a derivative of one.
    sizes : dict of str to sympy.Symbol
        The symbol behind the name of every symbolic size.

    Notes
    -----
    Of two different symbols with one name the second is called ``name_1``, and so on. The function
    ``q(t)`` is called ``q``, its derivatives ``q_dot``, ``q_ddot`` and so on; those of a function of
    several variables have these in their name: ``u_t_x``.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Any] = {}
        self.sizes: dict[str, Any] = {}
        self._nodes: dict[Any, graph.Node] = {}

    @classmethod
    def recalled(cls, known: Iterable[tuple[str, Any]]) -> Inputs:
        """Return a registry for writing, of what :meth:`remembered` gave."""
        found = cls()
        found.symbols.update(known)
        found.sizes.update(known)
        return found

    def remembered(self) -> list[tuple[str, Any]]:
        """Return the objects behind names that are more than symbols of these names without assumptions."""
        from sympy import Symbol

        known = [*self.symbols.items(), *self.sizes.items()]
        return [(name, symbol) for name, symbol in known if symbol != Symbol(name)]

    def scalar(self, symbol: Any) -> graph.Node:
        """Return the input of a symbol (of a size's symbol: the size as a number)."""
        if self.sizes.get(symbol.name) == symbol:
            return graph.extent(named(symbol.name))
        _check_number(symbol, f"the symbol {symbol.name!r}")
        known = Assumptions(positive=True) if symbol.is_positive else NOTHING_KNOWN
        return self._node(symbol, symbol.name, (), joined(known, _assumed(symbol)))

    def function(self, function: Any, *by: Any) -> graph.Node:
        """Return the input of an undefined function of symbols, or of its derivative with respect to ``by``."""
        name = str(function.func)
        _check_number(function, f"the function {name!r}")
        if not by:
            return self._node(function, name, (), Assumptions(positive=True) if function.is_positive else NOTHING_KNOWN)
        single = len(function.args) == 1
        ending = "d" * (len(by) - 1) + "dot" if single else "_".join(sorted(str(one) for one in by))
        return self._node(function.diff(*by), f"{name}_{ending}", (), NOTHING_KNOWN)

    def known(self, symbol: Any) -> graph.Node | None:
        """Return the input of a symbol or function, if there is one."""
        return self._nodes.get(symbol)

    def refuse_partial(self, node: graph.Node) -> None:
        """Refuse a variable that other inputs are functions of: SymPy means the derivative along them.

        Raises
        ------
        ArgumentError
            Saying how to write the total and the partial derivative.
        """
        symbol = self.symbols.get(str(node.name)) if node.is_input else None
        dependent = [] if symbol is None else list(self.functions_of(symbol))
        if dependent:
            raise ArgumentError(
                f"a derivative with respect to {node.name!r} came, of which {dependent[0].name!r} is a function; "
                "write the total derivative as sympy.Derivative(f, t), whose rates are inputs such as 'q_dot', and for "
                "the partial one put a symbol in place of the function"
            )

    def functions_of(self, symbol: Any) -> dict[graph.Node, tuple[Any, tuple[Any, ...]]]:
        """Return the inputs that depend on a symbol: functions of it, each with what it is differentiated by."""
        found: dict[graph.Node, tuple[Any, tuple[Any, ...]]] = {}
        for known, node in self._nodes.items():
            function = known.args[0] if getattr(known, "is_Derivative", False) else known
            if getattr(function, "is_Function", False) and symbol in function.args:
                found[node] = (function, () if function is known else tuple(known.variables))
        return found

    def array(self, symbol: Any, name: str, shape: tuple[Any, ...]) -> graph.Node:
        """Return the input of a matrix symbol or array symbol."""
        known = self._nodes.get(symbol)
        return known if known is not None else self._node(symbol, name, self.shape(shape), _assumed(symbol))

    def _node(self, symbol: Any, name: str, shape: Shape, assumptions: Assumptions) -> graph.Node:
        node = self._nodes.get(symbol)
        if node is None:
            unique, count = name, 0
            while unique in self.symbols:
                count += 1
                unique = f"{name}_{count}"
            self.symbols[unique] = symbol
            check_square(name, shape, assumptions)
            node = self._nodes[symbol] = graph.input(unique, shape, assumptions=assumptions)
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
            del self.symbols[str(node.name)], self._nodes[symbol]
            replace[node] = graph.extent(named(name))
        return replace

    def known_sizes(self) -> set[str]:
        """Return the names of the sizes that the inputs tell."""
        return {name for node in self._nodes.values() for name in graph.walk_sizes([node])}

    def nodes(self) -> list[graph.Node]:
        """Return the inputs in the order in which they were read."""
        return list(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)


def _check_number(symbol: Any, what: str) -> None:
    if not symbol.is_commutative:
        raise UnsupportedError(f"{what} is noncommutative; use a MatrixSymbol")
    if symbol.is_extended_real is False:
        raise UnsupportedError(
            f"{what} is not real by its assumptions; complex numbers are not supported, write real and imaginary parts "
            "as two symbols"
        )


#: Assumptions for SymPy's predicates of a symbol; symbols are real, so antihermitian matrices are skew.
_PREDICATES = {
    **{name: name for name in ("positive", "symmetric", "diagonal", "positive_definite", "orthogonal")},
    "antihermitian": "skew",
    "lower_triangular": "lower",
    "upper_triangular": "upper",
}


def _assumed(symbol: Any) -> Assumptions:
    """Return what SymPy is told of a symbol: ``with assuming(Q.symmetric(S)): ...``, or ``global_assumptions.add``.

    Raises
    ------
    ArgumentError
        If facts contradict each other.
    """
    from sympy.assumptions.assume import AppliedPredicate, global_assumptions

    said = [
        assume(**{_PREDICATES[fact.function.name]: True})
        for fact in global_assumptions
        if isinstance(fact, AppliedPredicate) and fact.arguments == (symbol,) and fact.function.name in _PREDICATES
    ]
    return joined(NOTHING_KNOWN, *said)


def _not_a_size(expr: Any) -> ShapeError:
    return ShapeError(
        f"the size or index {str(expr)[:60]!r} came; expected a whole number, a symbol, or a polynomial of symbols "
        "with whole coefficients"
    )
