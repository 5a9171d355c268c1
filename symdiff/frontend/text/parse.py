"""Formula text to symbolic arrays, with NumPy's meaning.

The grammar (:mod:`symdiff.ground.grammar.syntax`) gives a flat tree in which children stand before their parents. One
loop over it builds arrays with the same operators and functions that a Python user calls, so text and symbols cannot
differ. An operation's refusal is raised again with the sub-formula and a caret at its place in the formula as written.
Nothing is evaluated or looked up outside the tables of this package.

``2**10``, ``-1`` and ``1/3`` are numbers before they are arrays: an index or an exponent may be written so. Whole
numbers stay whole, as in Python, and the size of a result is known before it is computed: Python would spend hours on
``10**10**8``.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import EllipsisType, MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ...errors import ArgumentError, DtypeError, LimitError, ParseError, ShapeError, SymdiffError, with_caret
from ...graph import INT, REAL, Node, extent, walk_sizes
from ...graph.sizes import Dim, Shape, check_elements, named
from ...ground.advice import REFUSED, TEXT, advice, close_to
from ...ground.budget import limits as limits_in_force
from ...ground.budget import spend
from ...ground.gc_pause import paused
from ...ground.grammar import SyntaxNode, Tree, parse_tree
from ...ground.guard import refuse
from ...ground.limits import LIMITS, Limits
from ...ground.names import is_name
from ..array import Array, Shifted, asarray
from ..numpy.indexing import is_counter
from ..numpy.library import LIBRARY
from ..numpy.operands import names_of
from ..numpy.shaping import size_of
from ..outputs import Sparse, leaves
from ..shapes import Declaration, SparseShape, read_shape, split, split_kind
from ..symbols import array as make_input
from ..symbols import name as name_part
from ..symbols import sparse_in, symbols_of
from .letters import (
    BOUND,
    OTHERWISE,
    SUM,
    bound_call,
    expanded,
    length_of_sum,
    letters_of,
    order_of,
    parts_of_sum,
    shaped_letters,
    sum_of,
)
from .values import (
    Axis,
    Indexed,
    Listing,
    Mapped,
    array_of,
    arrows_of,
    combined,
    described,
    element,
    levels_of,
    matrix_of,
    ndim_of,
    negated,
    no_index,
    results_of,
    shape_of,
    shortened,
)
from .vocabulary import DERIVATIVES, VOCABULARY, TextFunction


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


Number: TypeAlias = int | float

_EXACT = 2**53  # beyond it not every whole number is a double

#: Operators that take two numbers to a number.
ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def folds(symbol: str) -> bool:
    """Tell whether the operator takes two numbers to a number here."""
    return symbol in ARITHMETIC


def fold(symbol: str, a: Number, b: Number, limits: Limits) -> Number:
    """Compute ``a symbol b``.

    Raises
    ------
    LimitError
        If finite numbers give one beyond the range of a double.
    ParseError
        If they divide by zero, or give a complex number.

    Examples
    --------
    >>> from symdiff.ground.limits import LIMITS
    >>> fold("**", 2, 10, LIMITS)
    1024
    """
    if symbol == "**":
        _check_power(a, b, limits)
    if symbol in {"/", "//", "%"} and b == 0:
        raise ParseError(f"a division of numbers by zero, {a:.6g} {symbol} 0")
    try:
        result = ARITHMETIC[symbol](a, b)
        finite = math.isfinite(result)
    except OverflowError:
        finite = False
    if not finite and math.isfinite(a) and math.isfinite(b):
        raise LimitError(f"{a:.6g} {symbol} {b:.6g} is beyond the range of a double, about 1e308")
    return result


def _check_power(a: Number, b: Number, limits: Limits) -> None:
    if a == 0 and b < 0:
        raise ParseError(f"a division of numbers by zero, 0 ** {b:.6g}")
    if a < 0 and not float(b).is_integer() and math.isfinite(b):
        raise ParseError(f"{a:.6g} ** {b:.6g} is complex; complex numbers are not offered")
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b * math.log2(abs(a)) > limits.integer_bits:
        raise LimitError(f"{a:.6g} ** {b:.6g} is beyond the range of a double, about 1e308")


def as_operand(number: Number) -> Number:
    """Return ``number`` as it may meet an array: whole only where a double holds it exactly."""
    return number if isinstance(number, float) or -_EXACT <= number <= _EXACT else float(number)


#: Hint for a function that is no other one misspelt.
_OWN = "; docs/functions.md lists them, and a line above may define your own, f(x) = x * exp(-x)"
#: Names with a value of their own. An input of the same name goes before them.
CONSTANTS: Mapping[str, float] = MappingProxyType(
    {"pi": math.pi, "π": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
)

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **ARITHMETIC,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SIGNS: dict[str, Callable[[Any], Any]] = {"+": operator.pos, "-": operator.neg}
#: Operators and functions of sparse matrices.
_OF_MATRICES, _METHODS = ("@", "+", "-", "*", "/"), ("logdet", "solve", "sum")


@dataclass(frozen=True)
class Parsed:
    """A formula text, read.

    Parameters
    ----------
    result : Array, or tuple or list of them
        The last line: a tuple where it is one, or a derivative with respect to several things; a
        list where it is one of arrays that differ in shape.
    inputs : dict of str to Array
        In the order of the shapes given, then of first use.
    names : dict of str to Array or sparse matrix
        What the lines before the last define.
    mentioned, measured : set of str
        Inputs, and letters of their shapes, that the text names.
    """

    result: Any
    inputs: dict[str, Array]
    names: dict[str, Any]
    mentioned: set[str]
    measured: set[str]


def build_arrays(
    tree: Tree, inputs: dict[str, Array], undeclared: str, functions: Mapping[str, TextFunction], limits: Limits
) -> Parsed:
    """Build the arrays that a tree stands for.

    Parameters
    ----------
    tree : Tree
    inputs : dict of str to Array
        What names mean; scalars that the text mentions are added.
    undeclared : {"error", "scalar", "distinct"}
        What a name is that is not known. "distinct" is a scalar unless its name is close to a known one, which is
        more likely misspelt.
    functions : mapping of str to TextFunction
        What the formula may call.
    limits : Limits

    Returns
    -------
    Parsed

    Raises
    ------
    SymdiffError
        What an operation refuses, with the sub-formula and a caret.
    """
    taken = {"an input": inputs, "a function": functions, "a constant": CONSTANTS}
    return _Builder(tree, expanded(tree, taken, limits), inputs, undeclared, functions, limits).build()


class _Builder:
    """Build the arrays of a tree, one term after the other."""

    def __init__(
        self,
        tree: Tree,
        terms: list[SyntaxNode],
        inputs: dict[str, Array],
        undeclared: str,
        functions: Mapping[str, TextFunction],
        limits: Limits,
    ) -> None:
        self.text = tree.text
        self.terms = terms
        self.inputs, self.undeclared = inputs, undeclared
        self.shapeless: list[str] = []
        self.functions, self.limits = functions, limits
        self.matrices: dict[str, Sparse] = sparse_in(inputs)
        self.names: dict[str, Array | Sparse] = {}
        self.mentioned, self.measured = set[str](), set[str]()
        self.sizes = {name: named(name) for name in walk_sizes([array.node for array in inputs.values()])}
        for name in _sizes_in(terms) - inputs.keys() - CONSTANTS.keys():
            self.sizes.setdefault(name, named(name))  # a letter that no input has (any more)
        self.values: list[Any] = [None] * len(terms)
        self.sound: set[Shape] = set()  # shapes that are within the limits
        self.arrows, self.letters = arrows_of(tree.terms, "by_index"), letters_of(tree.terms)
        self.shaped, self.place = shaped_letters(terms), 0

    def build(self) -> Parsed:
        meaning: dict[str, Callable[[SyntaxNode], Any]] = {
            "number": lambda term: term.value,
            "value": lambda term: term.value,
            "name": self.of_name,
            "unary": self.of_unary,
            "binary": self.of_binary,
            "axis": self.of_axis,
            "by_index": self.of_indices,
            "mapping": self.of_mapping,
            "transpose": lambda term: self.factor(term.children[0]).T,
            "index": self.of_index,
            "slice": self.of_slice,
            "list": self.of_list,
            "tuple": self.of_tuple,
            "call": self.of_call,
            "define": self.of_define,
        }
        for place in order_of(self.terms):
            term, self.place = self.terms[place], place
            try:
                spend(1 + len(term.children))
                value = meaning[term.kind](term)
                if isinstance(value, Array) and value.shape not in self.sound and not self.may_be_sparse(term):
                    check_elements(value.shape, self.limits)
                    self.sound.add(value.shape)
            except Exception as error:
                raise self.located(error, term) from error
            self.values[place] = value
        last, value = len(self.terms) - 1, self.values[-1]
        try:
            value = value.items if isinstance(value, Listing) and value.rank > 1 else value
            value = self.nonzeros(value)
            several = isinstance(value, tuple | list) and len(value) > 0 and shape_of(value) is None
            result = results_of(value) if several else value if isinstance(value, Array) else self.array(last)
        except Exception as error:
            raise self.located(error, self.terms[last]) from error
        return Parsed(result, self.inputs, self.names, self.mentioned, self.measured)

    def nonzeros(self, value: Any) -> Any:
        """Return what stands for a sparse input as a result, or to differentiate by: its nonzeros."""
        if isinstance(value, tuple):
            return tuple(map(self.nonzeros, value))
        return value.data if any(value is matrix for matrix in self.matrices.values()) else value

    def may_be_sparse(self, term: SyntaxNode) -> bool:
        """Tell whether a term is a derivative, most of which may be 0, in text that has no limits of its own."""
        return term.kind == "call" and term.value[0] in DERIVATIVES and self.limits.elements >= LIMITS.elements

    def located(self, error: Exception, term: SyntaxNode) -> Exception:
        """Return ``error`` as symdiff's own, with the sub-formula and a caret."""
        try:
            refuse(error, str(term.value[0]) if term.kind == "call" else "this part of the formula")
        except SymdiffError as ours:
            error = ours
        except Exception as passing:  # a warning that is an error
            return passing
        if isinstance(error, ParseError):
            return error if error.text is not None else ParseError(str(error), self.text, term.caret)
        part = repr(shortened(" ".join(self.text[term.start : term.end].split()), 60))
        if self.shapeless and isinstance(error, ShapeError):
            names = ", ".join(self.shapeless[:3]) + ", ..." * (len(self.shapeless) > 3)
            part += f". No shape came for {names}, a number therefore; give shapes, as in {min(self.shapeless)}=3"
        return type(error)(with_caret(f"{shortened(str(error), 600)}; in {part}", self.text, term.caret))

    # ---------------------------------------------------------------- names

    def of_name(self, term: SyntaxNode) -> Array | Sparse | float:
        name = term.value
        for start, end, stand_in in self.letters.get(name.partition(OTHERWISE)[0], ()):
            if start <= term.start < end:
                return Array(self.letter((start, end), name) if (start, end) in self.shaped else stand_in(name))
        if name in self.names:
            return self.names[name]
        if name in self.inputs:
            matrix = self.matrices.get(name)
            self.mentioned.update([name] if matrix is None else [str(part.node.name) for part in leaves(matrix)])
            return self.inputs[name] if matrix is None else matrix
        if name in self.sizes:
            self.measured.add(name)
            return Array(extent(self.sizes[name]))
        if name in CONSTANTS:
            return CONSTANTS[name]
        known = [*self.inputs, *self.names]
        close = "" if self.undeclared == "scalar" else close_to(name, [*CONSTANTS, *known])
        if self.undeclared != "error" and (name in self.functions or not close):
            self.inputs[name] = make_input(name, ())
            self.mentioned.add(name)
            self.shapeless.append(name)
            return self.inputs[name]
        if name in self.functions:
            raise ParseError(
                f"{name!r} is a function; expected its arguments, {name}(...), or a shape if it is an input: {name}=()"
            )
        raise ParseError(
            f"{name!r} is not known here{close}; inputs and definitions: {_listed(known)}. "
            f"If it is an input, add its shape: {name}=() or {name}=(2, 3)"
        )

    def letter(self, span: tuple[int, int], name: str) -> Node:
        """Return what stands for a letter of a function: an array of the shape of the start, if there is one."""
        starts = [start for function, start in self.shaped.get(span, ()) if function >= self.place]
        return Mapped.of(name, self.array(starts[0]).shape) if starts else Mapped.of(name)

    def of_mapping(self, term: SyntaxNode) -> Mapped:
        return Mapped(self.letter((term.start, term.end), term.value[0]), self.array(term.children[0]))

    def of_axis(self, term: SyntaxNode) -> Axis | Array:
        """Return an index behind an arrow, or the positions of that name, if no arrow around gives the name."""
        given = self.inputs.get(term.value)
        if given is None or given.node.dtype is not INT:
            return Axis(term.value)
        arrows = self.arrows.get(term.value.partition(OTHERWISE)[0], [])
        behind = bisect_right(arrows, (term.start, len(self.text)))
        if behind and term.start < arrows[behind - 1][1]:
            return Axis(term.value)
        self.mentioned.add(term.value)
        return given

    def of_define(self, term: SyntaxNode) -> Any:
        name = term.value
        for taken, what in (
            (self.names, "defined already"),
            (self.inputs, "an input"),
            (self.functions, "a function"),
            (CONSTANTS, "a constant"),
        ):
            if name in taken:
                raise ParseError(f"{name!r} is {what}; expected a new name on the left of '='")
        value = self.factor(term.children[0])
        self.names[name] = value if isinstance(value, Sparse) else name_part(value, name)
        return self.names[name]

    # ---------------------------------------------------------------- operators

    def operand(self, place: int) -> Any:
        """Return the value of a term as an operator takes it: a number or an Array."""
        value = self.values[place]
        if isinstance(value, Array | Sparse):
            return value
        if isinstance(value, bool):
            return asarray(value)
        if isinstance(value, int | float):
            return as_operand(value)
        if isinstance(value, Listing):
            return self.from_list(value)
        raise self.no_formula(place)

    def no_formula(self, place: int) -> ParseError:
        value, term = self.values[place], self.terms[place]
        found = described(value)
        if isinstance(value, tuple):
            found += ", which only functions take" if term.kind == "tuple" else " of derivatives; pick one by [0]"
        return ParseError(f"expected a formula, found {found}", self.text, term.caret)

    def array(self, place: int) -> Array:
        value = self.operand(place)
        if isinstance(value, Sparse):
            raise self.no_formula(place)
        return value if isinstance(value, Array) else asarray(value)

    def factor(self, place: int) -> Any:
        """Return the value of a term as an array or a sparse matrix."""
        return self.values[place] if isinstance(self.values[place], Sparse) else self.array(place)

    def of_unary(self, term: SyntaxNode) -> Any:
        (child,) = term.children
        value = self.values[child]
        if isinstance(value, Indexed) and term.value != "~":
            return negated(value) if term.value == "-" else value
        if term.value == "~":
            return ~self.array(child)
        value = self.operand(child)
        return _SIGNS[term.value](value if isinstance(value, Array | Sparse) else self.values[child])

    def of_binary(self, term: SyntaxNode) -> Any:
        left, right = term.children
        if isinstance(self.values[left], Indexed) or isinstance(self.values[right], Indexed):
            return combined(term.value, self.indexed(left), self.indexed(right))
        name = {"+": "add", "-": "subtract"}.get(term.value)
        if name and (shifted := Shifted.of(name, self.values[left], self.values[right])) is not None:
            return shifted
        a, b = self.operand(left), self.operand(right)
        if isinstance(a, Sparse) or isinstance(b, Sparse):
            if term.value not in _OF_MATRICES:
                raise ParseError(f"{term.value!r} of a sparse matrix; expected {', '.join(_OF_MATRICES)}")
        elif not isinstance(a, Array) and not isinstance(b, Array):
            if folds(term.value):
                return fold(term.value, self.values[left], self.values[right], self.limits)
            a, b = asarray(a), asarray(b)
        if term.value in {"&", "|"} and not all(isinstance(x, Array) and x.dtype == bool for x in (a, b)):
            raise DtypeError(
                f"{term.value!r} takes conditions such as x < 0, found numbers; it binds tighter than <: "
                f"(a < b) {term.value} (c < d)"
            )
        if term.value == "@" and self.terms[right].kind == "transpose" and ndim_of(a) == 1 and ndim_of(b) == 1:
            raise ShapeError(
                "the transpose of a vector is the vector itself; write outer(v, w), or v @ w for the product"
            )
        return _BINARY[term.value](a, b)

    def indexed(self, place: int) -> Indexed | Array:
        value = self.values[place]
        return value if isinstance(value, Indexed) else self.array(place)

    def of_indices(self, term: SyntaxNode) -> Array:
        (child,) = term.children
        body = self.values[child]
        if not isinstance(body, Indexed):
            raise ParseError("expected elements by index behind '->', such as x[i]", self.text, self.terms[child].caret)
        return array_of(term.value, body)

    # ---------------------------------------------------------------- brackets

    def of_list(self, term: SyntaxNode) -> Listing:
        items: list[Any] = []
        levels, rank, misplaced = 1, 0, -1
        for child in term.children:
            value = self.values[child]
            if isinstance(value, Listing):
                items.append(value.items)
                levels, rank = max(levels, value.levels + 1), max(rank, value.rank)
                misplaced = value.misplaced if misplaced < 0 else misplaced
            elif isinstance(value, tuple):
                items.append(value)
                levels, rank = max(levels, levels_of(value) + 1), 3
                misplaced = child if misplaced < 0 else misplaced
            else:
                item = self.operand(child)
                items.append(item)
                rank = max(rank, 2 if isinstance(item, Array) else 1 if isinstance(item, float) else 0)
        self.check_levels(levels, "list")
        return Listing(items, levels, rank, misplaced)

    def of_tuple(self, term: SyntaxNode) -> tuple[Any, ...]:
        values = [self.values[child] for child in term.children]
        items = tuple(
            value.items if isinstance(value, Listing) else self.argument(child)
            for child, value in zip(term.children, values, strict=True)
        )
        self.check_levels(levels_of(items), "tuple")
        return items

    def check_levels(self, levels: int, kind: str) -> None:
        if levels > self.limits.axes:
            raise LimitError(f"a {kind} nested {levels} levels deep; an array has at most {self.limits.axes} axes")

    def from_list(self, value: Listing) -> Array:
        if value.rank == 3:
            raise self.no_formula(value.misplaced)
        return asarray(value.items) if value.rank == 2 else matrix_of(value.items)

    def of_slice(self, term: SyntaxNode) -> slice:
        parts = iter(term.children)
        bounds = [self.position(next(parts)) if given else None for given in term.value]
        if bounds[2] == 0:
            raise ParseError("a slice has step 0; expected a step forward or backward")
        return slice(*bounds)

    def position(self, place: int) -> Dim:
        """Return a whole number, or a size made of the sizes of inputs."""
        value = self.values[place]
        if isinstance(value, Array) and value.shape == () and self.sizes:
            with suppress(ShapeError):
                return size_of(value.node)
        return self.whole(place)

    def whole(self, place: int) -> int:
        value = self.values[place]
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise ParseError(no_index(value), self.text, self.terms[place].caret)

    def of_index(self, term: SyntaxNode) -> Any:
        base, *places = term.children
        if isinstance(self.values[base], tuple) and self.terms[base].kind != "tuple":
            return self.pick(self.values[base], places)
        if any(isinstance(self.values[place], Axis) for place in places):
            return element(self.array(base), [self.values[place] for place in places])
        items: list[Any] = []
        for place in places:
            value = self.values[place]
            positions = isinstance(value, Array) and value.node.dtype is INT
            if value is None or isinstance(value, slice | EllipsisType | Shifted) or positions:
                items.append(value)
            elif isinstance(value, Array) and self.terms[place].kind == "call" and is_counter(value.node):
                items.append(value.node.value.astype(np.intp) if value.node.is_constant else value)
            elif isinstance(value, Listing) and value.rank == 0:
                try:
                    items.append(np.array(value.items, np.intp))
                except (ValueError, OverflowError):
                    message = "expected an index list of equal rows and of numbers within an array"
                    raise ParseError(message, self.text, self.terms[place].caret) from None
            else:
                items.append(self.position(place))
        return self.array(base)[tuple(items)]

    def pick(self, value: Any, places: list[int]) -> Any:
        """Return one of several derivatives: ``[0]``, or ``[0, 1]`` for a block of a Hessian."""
        for place in places:
            number = self.whole(place)
            count = len(value) if isinstance(value, tuple) else 0
            if not -count <= number < count:
                message = f"expected an index from {-count} to {count - 1}, to pick one of {count} derivatives"
                if not count:
                    message = "expected no further index: this is one derivative; write (...)[0][...] for a part of it"
                raise ParseError(message, self.text, self.terms[place].caret)
            value = value[number]
        return value

    # ---------------------------------------------------------------- calls

    def of_call(self, term: SyntaxNode) -> Any:
        name, keywords = term.value
        if name in self.inputs or name in self.names:
            what = "an input" if name in self.inputs else "defined above"
            raise ParseError(f"{name!r} is {what}, not a function; multiplication is written {name}*(...)")
        function = self.functions.get(name)
        if name == SUM:
            letter, length, part = parts_of_sum(term, self.terms)
            return sum_of(letter, length_of_sum(self.position, length), self.array(part), self.limits)
        if name in BOUND:
            return bound_call(name, keywords, [self.bound_argument(place) for place in term.children], self.limits)
        if function is None:
            hint = advice(name, {**REFUSED, **TEXT}) or close_to(name.lower(), self.functions) or _OWN
            raise ParseError(f"{name!r} is not a function of formulas{hint}")
        unknown = [keyword for keyword in keywords if keyword not in function.keywords]
        if unknown:
            raise ParseError(f"{name}() has no argument {unknown[0]!r}; known by name: {_listed(function.keywords)}")
        places = term.children[: len(term.children) - len(keywords)]
        least, most = function.min_args, function.max_args
        if len(term.children) < least or not places or (most is not None and len(places) > most):
            expected = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
            named = ", ".join(names_of(LIBRARY[name])) if name in LIBRARY else ""
            form = f"; expected {name}({named})" * bool(named)
            raise ParseError(f"{name}() takes {expected} argument{'s' * (expected != '1')}, found {len(places)}{form}")
        options = {
            keyword: self.values[place] if isinstance(self.values[place], bool | str | None) else self.argument(place)
            for keyword, place in zip(keywords, term.children[len(places) :], strict=True)
        }
        arguments = [self.argument(place, name) for place in places]
        if name in DERIVATIVES:
            arguments = list(map(self.nonzeros, arguments))
        if isinstance(arguments[0], Sparse):
            if name not in _METHODS:
                raise ParseError(f"{name}() of a sparse matrix; expected {', '.join(_METHODS)}, or products with it")
            return getattr(arguments[0], name)(*arguments[1:], **options)
        return function.call(*arguments, **options)

    def bound_argument(self, place: int) -> Any:
        """Return the value of a term as a loop or a solution takes it: a function, a whole number, or an array."""
        value = self.values[place]
        if isinstance(value, Mapped | bool) or value is None:
            return value
        return value if isinstance(value, int | float) else self.array(place)

    def argument(self, place: int, name: str = "") -> Any:
        """Return the value of a term as a function takes it: an Array, a number, or a tuple or list of these."""
        value = self.values[place]
        if isinstance(value, Listing):
            if value.rank == 3:
                raise self.no_formula(value.misplaced)
            return value.items
        if isinstance(value, Mapped) and name.startswith("funm"):
            return value
        if isinstance(value, str) and name in _WORDED:
            return value
        return value if isinstance(value, tuple | int) and not isinstance(value, bool) else self.operand(place)


#: Functions that take a word by position: subscripts, the order of a norm.
_WORDED = frozenset(("cond", "einsum", "norm"))
#: Functions that take sizes, and the first of their arguments that is one.
_SIZED = {"eye": 0, "zeros": 0, "ones": 0, "arange": 0, "tri": 0, "broadcast_to": 1}


def _sizes_in(terms: Sequence[SyntaxNode]) -> set[str]:
    """Return the names that stand where a function takes sizes."""
    found: set[str] = set()
    for term in terms:
        if term.kind != "call" or term.value[0] not in _SIZED:
            continue
        places = list(term.children[_SIZED[term.value[0]] :])
        while places:
            part = terms[places.pop()]
            if part.kind == "name":
                found.add(part.value)
            elif part.kind in ("unary", "binary", "tuple", "list"):
                places += part.children
    return found - {term.value for term in terms if term.kind == "define"}


def _listed(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:20]) + (", ..." if len(listed) > 20 else "") if listed else "none"
