"""Formula text to a graph: the front end for text.

Characters become tokens (:mod:`.tokens`), tokens a flat tree (:mod:`.grammar`), the tree symbolic
arrays (:mod:`.build`). Nothing is evaluated or looked up outside the tables of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError
from ...graph import REAL
from ...ground.budget import limits as limits_in_force
from ...ground.gc_pause import paused
from ...ground.grammar import parse_tree
from ...ground.limits import Limits
from ...ground.names import is_name
from ..array import Array
from ..outputs import leaves
from ..shapes import Declaration, SparseShape, read_shape, split, split_kind
from ..symbols import array as make_input
from ..symbols import symbols_of
from .build import Parsed, build_arrays
from .vocabulary import VOCABULARY, TextFunction


def parse_graph(
    text: str,
    shapes: Mapping[str, object],
    *,
    undeclared: str = "error",
    functions: Mapping[str, TextFunction] = VOCABULARY,
    limits: Limits | None = None,
) -> Parsed:
    """Build the graph of a formula.

    Parameters
    ----------
    text : str
        A formula, or lines ``name = formula`` and then a formula, or several with commas between them.
    shapes : mapping of str to shape
        Shape of each input: ``()`` for a scalar, ``4`` or ``(4,)`` for a vector, ``(2, 4)``; a
        size may be a name, ``("n", "n")``.
    undeclared : {"error", "scalar", "distinct"}
        What a name is that the shapes lack; "distinct" is a scalar unless it looks like one of them misspelt.
    functions : mapping of str to TextFunction, optional
        What the formula may call.
    limits : Limits, optional
        Those of the budget by default.

    Returns
    -------
    Parsed

    Raises
    ------
    ParseError
        If the text does not follow the grammar, or names something unknown.
    ShapeError
        If shapes do not fit each other.
    LimitError
        If the formula or an array of it is too large.

    Examples
    --------
    >>> parse_graph("log(det(A))", {"A": ("n", "n")}).result.shape
    ()
    """
    return parse_within(text, declare(shapes, limits), undeclared=undeclared, functions=functions, limits=limits)


def declare(shapes: Mapping[str, object], limits: Limits | None = None) -> dict[str, Array]:
    """Return the inputs of these names and shapes.

    Raises
    ------
    ArgumentError
        If a name is none that a formula can mention.
    ShapeError, LimitError
        If a shape is none.
    """
    limits = limits or limits_in_force()
    inputs: dict[str, Array] = {}
    for name, shape in shapes.items():
        if not isinstance(name, str) or not is_name(name):
            raise ArgumentError(
                f"an input is called {name!r:.80}; expected a name that a formula can mention, of letters, digits and _"
            )
        if isinstance(shape, SparseShape):
            inputs |= {str(part.node.name): part for part in leaves(symbols_of(name, shape))}
            continue
        plain, assumptions = split(shape)
        kind, sizes = split_kind(plain)
        known = read_shape(name, sizes, limits)
        inputs[name] = make_input(name, Declaration(known if kind is REAL else (int, *known), assumptions))
    return inputs


@paused
def parse_within(
    text: str,
    inputs: dict[str, Array],
    *,
    undeclared: str = "error",
    functions: Mapping[str, TextFunction] = VOCABULARY,
    limits: Limits | None = None,
) -> Parsed:
    """Build the graph of a formula of inputs that are there already, as :func:`parse_graph` does.

    ``inputs`` receives the scalars that the text mentions besides, so that several texts share their inputs.
    """
    if undeclared not in {"error", "scalar", "distinct"}:
        raise ArgumentError(f"undeclared={undeclared!r} came; expected 'error', 'scalar' or 'distinct'")
    limits = limits or limits_in_force()
    return build_arrays(parse_tree(text, limits), inputs, undeclared, functions, limits)


def parse_known(
    text: str,
    known: Mapping[str, Array],
    *,
    functions: Mapping[str, TextFunction] = VOCABULARY,
    limits: Limits | None = None,
) -> Any:
    """Build a further formula of inputs and definitions that are known already.

    Parameters
    ----------
    text : str
        Such as ``"X[0]"``, to differentiate with respect to it.
    known : mapping of str to Array
    functions, limits : optional
        As for :func:`parse_graph`.

    Returns
    -------
    Array or tuple

    Raises
    ------
    ParseError, ShapeError, LimitError
        As :func:`parse_graph` does.

    Examples
    --------
    >>> parse_known("X[0]", {"X": make_input("X", (2, 4))}).shape
    (4,)
    """
    return parse_within(text, dict(known), functions=functions, limits=limits).result
