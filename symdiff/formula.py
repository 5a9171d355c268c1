"""The three front doors as one: text, SymPy and symbols, read into symbolic arrays.

A :class:`Formula` is what every public function starts from: outputs in the structure the
user gave them, the inputs in order, and a way to read further expressions (what to
differentiate by, a seed) in the same terms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .array import Array, as_node
from .custom import refuse_strays
from .errors import ArgumentError, ParseError
from .graph import Node, inputs_of
from .guard import users
from .interop import Inputs, from_sympy, is_sympy
from .parse import parse_graph, parse_known
from .structure import leaves
from .symbols import array, check_name


@dataclass(frozen=True)
class Formula:
    """A formula read from any front door.

    Parameters
    ----------
    value : Array, or list, tuple or dict of them
        The outputs.
    inputs : dict of str to Array
        In order: as declared, then of first use.
    read : callable
        Reads another expression, or several in a tuple or list, in terms of the same inputs.
    """

    value: Any
    inputs: dict[str, Array] = field(default_factory=dict)
    read: Callable[[Any], Any] = as_node

    def outputs(self) -> list[Array]:
        """Return the outputs in order, whatever structure they are in."""
        return leaves(self.value)


def read_formula(formula: Any, shapes: Mapping[str, Any] | None = None) -> Formula:
    """Read text, SymPy, symbols, or a Python function over symbols.

    Parameters
    ----------
    formula : str, SymPy expression or matrix, Array, callable, or list, tuple or dict of them
    shapes : mapping of str to shape, optional
        Shapes of the inputs of text, or of a function's parameters. Text without any has
        scalars for inputs.

    Returns
    -------
    Formula

    Raises
    ------
    ArgumentError
        If something is none of these, or shapes are given for a formula that carries its own.
    ParseError, ShapeError, LimitError, UnsupportedError
        If the formula is not sound.
    """
    given = dict(shapes or {})
    if isinstance(formula, str):
        return _read_text(formula, given)
    if callable(formula) and not isinstance(formula, Array) and not is_sympy(formula):
        return _trace(formula, given)
    parts = [formula] if is_sympy(formula) else leaves(formula)
    if any(isinstance(part, str) for part in parts):
        raise ArgumentError("text among several formulas; give one text, [f, g] or derivatives inside it, or symbols")
    if any(is_sympy(part) for part in parts):
        if given:
            raise ArgumentError(f"shapes for {', '.join(given)}; SymPy expressions carry their own shapes")
        return _read_sympy(formula)
    if given:
        raise ArgumentError(f"shapes for {', '.join(given)}; symbols carry their own shapes")
    value = _map(formula, lambda part: Array(as_node(part)))
    inputs = _inputs_of(value)
    return Formula(value, inputs, _symbols_reader(inputs))


def _map(value: Any, read: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _map(part, read) for name, part in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_map(part, read) for part in value)
    return read(value)


def _inputs_of(value: Any) -> dict[str, Array]:
    found: dict[str, Array] = {}
    nodes = inputs_of([leaf.node for leaf in leaves(value)])
    refuse_strays(nodes)
    for node in nodes:
        name = str(node.payload)
        if name in found:
            raise ArgumentError(
                f"two inputs called {name!r} in one formula, of shapes {found[name].shape} and {node.shape}; expected "
                "different names"
            )
        found[name] = Array(node)
    return found


def _read_text(text: str, shapes: dict[str, Any]) -> Formula:
    parsed = parse_graph(text, shapes, undeclared="error" if shapes else "scalar")
    known = {**parsed.inputs, **parsed.names}

    def read(part: Any) -> Any:
        if isinstance(part, str):
            return parse_known(part, known)
        return _map(part, lambda leaf: parse_known(leaf, known) if isinstance(leaf, str) else leaf)

    return Formula(parsed.result, parsed.inputs, read)


def _symbols_reader(inputs: Mapping[str, Array]) -> Callable[[Any], Any]:
    """Return a reader beside a formula of symbols, which may be a derivative of a SymPy expression."""

    def read(part: Any) -> Any:
        if isinstance(part, str):
            raise ArgumentError(f"{part!r:.60} as text beside a formula of symbols; give the symbol itself")
        return one(part) if is_sympy(part) else _map(part, one) if isinstance(part, list | tuple) else part

    def one(leaf: Any) -> Any:
        if not is_sympy(leaf):
            return leaf
        node = from_sympy(leaf, Inputs())
        for own in inputs_of([node]):
            if f"{own.payload}_1" in inputs:
                raise ArgumentError(f"several inputs were called {own.payload!r} in SymPy; expected different names")
        return Array(node)

    return read


def _read_sympy(formula: Any) -> Formula:
    registry = Inputs()
    value = _map(formula, lambda part: Array(from_sympy(part, registry)) if is_sympy(part) else Array(as_node(part)))
    inputs = _inputs_of(value)

    def read(part: Any) -> Any:
        def one(leaf: Any) -> Any:
            if isinstance(leaf, str):
                if leaf not in inputs:
                    raise ArgumentError(f"{leaf!r:.60} is not an input; inputs: {', '.join(inputs) or 'none'}")
                return inputs[leaf]
            return Array(from_sympy(leaf, registry)) if is_sympy(leaf) else leaf

        return one(part) if is_sympy(part) else _map(part, one)

    return Formula(value, inputs, read)


def _trace(function: Callable[..., Any], shapes: dict[str, Any]) -> Formula:
    """Call a Python function with symbols of the shapes given."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ArgumentError(f"{function!r:.60} has no parameters symdiff can read; call it with symbols") from None
    wanted = [p.name for p in parameters if p.default is p.empty or p.name in shapes]
    missing = [name for name in wanted if name not in shapes]
    if missing or any(name not in wanted for name in shapes):
        raise ArgumentError(
            f"the function takes {', '.join(wanted) or 'nothing'}; shapes came for {', '.join(shapes) or 'none'}. Give "
            f"one for each, e.g. {(missing or ['x'])[0]}=(3, 3)"
        )
    symbols = {name: array(check_name(name), shapes[name]) for name in wanted}
    value = _map(users(function)(**symbols), lambda part: Array(as_node(part)))
    used = _inputs_of([*symbols.values(), *leaves(value)])  # symbols that the function takes from outside come last

    def read(part: Any) -> Any:
        return _map(part, lambda leaf: parse_known(leaf, used) if isinstance(leaf, str) else leaf)

    return Formula(value, used, read)


def order_inputs(formula: Formula, inputs: Sequence[Any] | None) -> dict[str, Node]:
    """Return the inputs in the order of the kernel's arguments.

    Parameters
    ----------
    formula : Formula
    inputs : sequence of Array, SymPy symbol or str, optional
        The order wanted; must hold every input of the formula, and may hold others.

    Raises
    ------
    ArgumentError
        If one is missing, comes twice, or is not an input.
    """
    used = {name: a.node for name, a in formula.inputs.items()}
    if inputs is None:
        return used
    if isinstance(inputs, str | Array) or is_sympy(inputs):
        inputs = [inputs]
    ordered: dict[str, Node] = {}
    for wanted in inputs:
        try:
            node = as_node(formula.read(wanted))
        except ParseError as error:
            raise ArgumentError(f"inputs= holds {wanted!r:.60}, which is not an input: {error}") from None
        if node.op != "input" or not isinstance(node.payload, str):
            raise ArgumentError("inputs= holds something that is not an input; expected symbols as they were made")
        if node.payload in ordered:
            raise ArgumentError(f"inputs= names {node.payload!r} twice")
        ordered[node.payload] = node
    missing = [name for name, node in used.items() if ordered.get(name) is not node]
    if missing:
        raise ArgumentError(f"the formula depends on {', '.join(missing)}, which inputs= lacks; add it there")
    return ordered
