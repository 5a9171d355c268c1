"""Graph to SymPy: whole matrices where SymPy has them, entries where it has not.

An array of one axis is written as an n x 1 matrix, more than two axes as an array of entries
(or, at symbolic size, as SymPy's array expressions). SymPy recurses into what it is given and
dies at about 165 levels, so deep or much shared formulas come as definitions and a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean
from sympy.tensor.array.expressions import array_expressions as arrays

from ...calculus.rules import ImplicitRule
from ...errors import SymdiffError, UnsupportedError
from ...graph import Node, inputs_of, postorder, walk_sizes
from ...graph.reference.constants import constants_computed
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import fixed
from ...ground.budget import spend
from ...printing.notation import Term, counted, written
from ...printing.notation import postorder as terms_below
from ...printing.text import TextStyle
from ...rewrite import inline
from .forms import Adjugate, AdjugateDifferential, Definitions, operation
from .inputs import Inputs
from .write_entries import ENTRIES, SCALAR_TERMS, Entries, element, filled
from .write_matrices import Wholes
from .write_scalars import number, piecewise, size

#: Nesting beyond which a piece becomes a definition; one level here is up to three of SymPy's.
DEEP = 30
#: What a block matrix counts as: SymPy asks all matrices within one for their shapes, again and again.
BLOCK, JOINS = 7, ("concatenate", "stack")
#: Terms up to which nothing is defined for being shared, and terms that make sharing worth it.
SHORT, WORTH = 200, 6
#: Entries an explicit array may have.
ENTRIES_LIMIT = 4096
ELEMENTWISE = ("sum", "product", "power", "call", "where", "triangle", "compare", "and", "or", "not", "eye", "onehot")
CONDITIONS = ("compare", "and", "or", "not", "truth")


def write(node: Node, inputs: Inputs) -> Any:
    """Return a formula as SymPy's; see :func:`symdiff.frontend.sympy.to_sympy`."""
    for part in postorder([node]):
        if part.op == "external":
            name = part.payload.name
            raise UnsupportedError(f"{name} is a function of numbers, which SymPy has no form for; read it with str()")
        if part.is_custom and isinstance(part.payload.rule, ImplicitRule):
            raise UnsupportedError(
                f"SymPy has no form for {part.payload.rule.name}(...), a number that iterations find; print the "
                "formula, compile it, or give its equation to SymPy"
            )
    (plain,) = constants_computed(inline([node], ("custom",), ("expm", "pinv")))
    return _Writer(inputs).run(plain)


class _Writer:
    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.wholes = Wholes(inputs.sizes)
        self.pieces: dict[int, Any] = {}
        self.definitions: list[tuple[Any, Any]] = []
        self.names: set[str] = set()
        self.positive: set[str] = set()

    def run(self, node: Node) -> Any:
        self.positive = {str(one.name) for one in inputs_of([node]) if one.assumptions.positive}
        (top,) = written([node])
        order = terms_below([top])
        self.names = {str(term.data) for term in order if term.kind == "name"} | set(walk_sizes([node]))
        uses, weight = counted(order, SHORT + 1)
        depth: dict[int, int] = {}
        short = weight[id(top)] <= SHORT
        for term in order:
            own = id(term)
            piece = self.piece(term)
            nested = BLOCK if term.kind in JOINS and term.ndim else 1
            depth[own] = nested + max([depth[id(arg)] for arg in term.args], default=-1)
            shared = uses.get(own, 0) > 1 and not short and weight[own] >= WORTH
            if term is not top and term.args and (shared or depth[own] >= DEEP):
                piece, depth[own] = self.define(term, piece), 0
            self.pieces[own] = piece
        result = self.as_object(top, self.pieces[id(top)])
        return Definitions(tuple(self.definitions), result) if self.definitions else result

    # ------------------------------------------------------------ definitions

    def define(self, term: Term, piece: Any) -> Any:
        """Give a piece a name and return the symbol."""
        if term.kind in CONDITIONS:
            return piece  # SymPy has no symbols for arrays of conditions
        if isinstance(piece, sp.NDimArray):
            entries = [self.named(x, Term("number")) if x.args else x for x in sp.flatten(piece.tolist())]
            return sp.ImmutableDenseNDimArray(entries, piece.shape)
        return self.named(piece, term)

    def named(self, piece: Any, term: Term) -> Any:
        """Add a definition."""
        count = len(self.definitions) + 1
        while f"t{count}" in self.names:
            count += 1
            spend(1)
        name = f"t{count}"
        self.names.add(name)
        symbol: Any = sp.Symbol(name)
        if term.ndim in (1, 2):
            symbol = sp.MatrixSymbol(name, *self.wholes.shape(term))
        elif term.ndim > 2:
            symbol = arrays.ArraySymbol(name, tuple(self.wholes.size(n) for n in term.shape))
        self.definitions.append((symbol, piece))
        return symbol

    # ------------------------------------------------------------ one term

    def piece(self, term: Term) -> Any:
        """Return the SymPy object of a term whose arguments are written."""
        spend(30 + 2 * len(term.args))
        if term.kind == "name":
            return self.symbol(term)
        if term.kind == "number":
            return number(term.data)
        if term.kind == "truth":
            return sp.true if term.data else sp.false
        if term.kind == "size":
            return size(term.data, self.inputs.sizes)
        if term.kind == "named" or (term.kind == "function" and term.data == "stop_gradient"):
            return self.pieces[id(term.args[0])]
        if term.kind in ("picked", "put"):
            message = "SymPy has no form for positions that a call brings; print the formula, or compile it"
            raise UnsupportedError(message)
        if term.kind == "arranged" or (term.kind == "cumulative" and term.data[0] == "sort"):
            raise UnsupportedError("SymPy has no form for the order of elements; print the formula, or compile it")
        if term.kind == "series" and not term.ndim and isinstance(self.pieces[id(term.args[0])], sp.Expr):
            letter, length = term.data
            return sp.Sum(self.pieces[id(term.args[0])], (self.symbol(letter), 0, size(length, self.inputs.sizes) - 1))
        if term.kind in ("recurrence", "series"):
            raise UnsupportedError("SymPy has no form for a loop whose steps carry arrays on; print it, or compile it")
        args = tuple([self.pieces[id(arg)] for arg in term.args])
        try:
            whole = self.form(term, args)
        except (TypeError, ValueError, NotImplementedError, AttributeError, LookupError) as error:
            if isinstance(error, SymdiffError) and not isinstance(error, UnsupportedError):
                raise
            whole = None  # SymPy does not take it
        return self.by_text(term, args) if whole is None else whole

    def by_text(self, term: Term, args: Sequence[Any]) -> Any:
        """Return a term as an operation by its text."""
        style = TextStyle([f"_a{place}_" for place in range(len(args))])
        operands = []
        of_order = term.kind == "call" and FUNCTIONS[term.data].orders > 0
        for place, (arg, x) in enumerate(zip(term.args, args, strict=True)):
            if of_order and not place:
                style.pieces[id(arg)] = style.write(arg)  # an order is a number of the text
                continue
            style.pieces[id(arg)] = style.reference(f"_a{place - of_order}_")
            operands.append(self.as_object(arg, x))
        text = style.write(term).text
        ranks = [arg.ndim for arg in term.args[of_order:]]
        return operation(text, ranks, [self.wholes.size(n) for n in term.shape], operands)

    def as_object(self, term: Term, piece: Any) -> Any:
        """Return a piece as an object of SymPy's: conditions, of which it has no matrices, as an array of them."""
        if isinstance(piece, np.ndarray):
            return sp.ImmutableDenseNDimArray(list(piece.ravel()), piece.shape)
        if isinstance(piece, sp.Lambda) and term.ndim:
            limits = [(k, 0, self.wholes.size(n) - 1) for k, n in zip(piece.variables, term.shape, strict=False)]
            body = piece.expr if term.ndim == 2 else element(piece, (piece.variables[0],))
            return sp.tensor.array.ArrayComprehension(body, *limits)
        return piece

    def form(self, term: Term, args: tuple[Any, ...]) -> Any:
        """Return SymPy's own form of a term, or None where it has none."""
        if term.kind in SCALAR_TERMS and not term.ndim and all(not arg.ndim for arg in term.args):
            return SCALAR_TERMS[term.kind](term, *args)
        explicit = any(isinstance(arg, sp.MatrixBase | sp.NDimArray) for arg in args)
        if any(map(_is_condition, args)) and term.kind not in (*CONDITIONS, "where", "call") and self.small(term):
            explicit = True  # SymPy's matrices hold no conditions, so they are taken entry by entry
        matrices = all(arg.ndim <= 2 for arg in (term, *term.args)) and term.ndim + sum(a.ndim for a in term.args) > 0
        if matrices and not (explicit and self.small(term) and term.kind in ENTRIES):
            whole = self.wholes.build(term, args)
            if whole is not None:
                return whole
        if term.kind in ENTRIES and self.small(term):
            return pack(ENTRIES[term.kind](term, *map(self.entries, term.args)), term)
        if term.kind in ("inv", "matrix") and self.small(term):
            whole = self.stacked(term)
            if whole is not None:
                return pack(whole, term)
        return self.last_resort(term, args)

    def stacked(self, term: Term) -> Entries | None:
        """Return a function of each matrix of a stack."""
        stacks = [self.entries(arg) for arg in term.args]
        lead = np.broadcast_shapes(*(stack.shape[:-2] for stack in stacks))
        wide = [np.broadcast_to(stack, (*lead, *stack.shape[-2:])) for stack in stacks]
        single = replace(term, args=tuple(replace(arg, shape=arg.shape[-2:]) for arg in term.args))
        single = replace(single, shape=term.shape[len(lead) :])
        result = np.empty(fixed(term.shape) or (), dtype=object)
        for index in np.ndindex(*lead):
            whole = self.wholes.build(single, tuple(sp.ImmutableDenseMatrix(stack[index]) for stack in wide))
            if whole is None:
                return None
            if isinstance(whole, Adjugate | AdjugateDifferential) and max(whole.shape) <= 3:
                whole = whole.doit()  # polynomials of few terms
            for place in np.ndindex(*result.shape[len(lead) :]):
                result[(*index, *place)] = element(whole, place)
        return result

    def symbol(self, term: Term) -> Any:
        known = self.inputs.symbols.get(term.data)
        if isinstance(known, sp.IndexedBase):
            if self.small(term):
                return pack(filled(fixed(term.shape) or (), lambda *index: known[index]), term)
        elif known is not None:
            return known
        if term.ndim == 0:
            return sp.Symbol(term.data, positive=True) if term.data in self.positive else sp.Symbol(term.data)
        if term.ndim <= 2:
            return sp.MatrixSymbol(term.data, *self.wholes.shape(term))
        return arrays.ArraySymbol(term.data, tuple(self.wholes.size(n) for n in term.shape))

    def small(self, term: Term) -> bool:
        """Tell whether a term and its arguments have few enough entries to be written out."""
        for part in (term, *term.args):
            shape = fixed(part.shape)
            if shape is None or np.prod(shape, dtype=float) > ENTRIES_LIMIT:
                return False
        return True

    def entries(self, term: Term) -> Entries:
        """Return the entries of a term's piece, in the shape of the term."""
        piece = self.pieces[id(term)]
        shape = fixed(term.shape) or ()
        spend(math.prod(shape))
        result = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            result[index] = element(piece, index)
        return result

    def last_resort(self, term: Term, args: Sequence[Any]) -> Any:
        """Return a matrix of symbolic size by a formula for its entries, or None."""
        if term.ndim > 2 and term.kind == "tensor":
            whole = self.wholes.build(term, tuple(args))
            if whole is not None:
                return whole
        if term.ndim == 0 and term.kind in ENTRIES and all(arg.ndim == 0 for arg in term.args):
            return ENTRIES[term.kind](term, *map(self.entries, term.args))[()]
        if term.ndim > 2 and term.kind in ("product", "negative") and sum(arg.ndim > 0 for arg in term.args) == 1:
            return self.scaled_array(term, args)
        if term.ndim in (1, 2) and term.kind in ELEMENTWISE:
            return self.by_entry(term, args)
        return None

    def scaled_array(self, term: Term, args: Sequence[Any]) -> Any:
        scalars = [x for arg, x in zip(term.args, args, strict=True) if not arg.ndim]
        (array,) = (x for arg, x in zip(term.args, args, strict=True) if arg.ndim)
        if term.kind == "negative":
            scalars = [sp.S.NegativeOne]
        divides: Mapping[int, bool] = dict(enumerate(term.data or ()))
        if any(divides.values()):
            scalars = [1 / x if divides[i] else x for i, x in enumerate(args) if not term.args[i].ndim]
        return arrays.ArrayTensorProduct(*scalars, array)

    def by_entry(self, term: Term, args: Sequence[Any]) -> Any:
        """Return a matrix as a function of its indices."""
        i, j = sp.symbols("i j", cls=sp.Dummy, integer=True)
        own = (i, j)[: term.ndim]
        parts = []
        for arg, x in zip(term.args, args, strict=True):
            places = own[term.ndim - arg.ndim :]
            index = tuple(sp.S.Zero if n == 1 else k for n, k in zip(arg.shape, places, strict=True))
            parts.append(np.array(element(x, index), dtype=object))
        if term.kind in ("eye", "onehot"):
            start, step = term.data if term.kind == "eye" else (term.data, 0)
            place = self.wholes.size(start) + step * i
            body = piecewise((sp.S.One, sp.Eq(own[-1], place)), (sp.S.Zero, True))
        elif term.kind == "triangle":
            upper, offset = term.data
            keep = sp.Ge(j - i, offset) if upper else sp.Le(j - i, offset)
            body = piecewise((parts[0][()], keep), (sp.S.Zero, True))
        else:
            body = ENTRIES[term.kind](term, *parts)[()]
        entry = sp.Lambda((i, j), body)
        return entry if term.kind in CONDITIONS else sp.FunctionMatrix(*self.wholes.shape(term), entry)


def _is_condition(piece: Any) -> bool:
    """Tell whether a piece is a condition or an array of them, and no number."""
    return isinstance(piece, np.ndarray) or (isinstance(piece, Boolean) and not isinstance(piece, sp.Expr))


def pack(entries: Entries, term: Term) -> Any:
    """Return entries as SymPy's scalar, matrix or array; conditions, which SymPy's matrices lack, as they are."""
    if entries.ndim == 0:
        return entries[()]
    if term.kind in CONDITIONS or any(map(_is_condition, entries.flat)):
        return entries
    if entries.ndim <= 2:
        rows, columns = (*entries.shape, 1)[:2]
        return sp.ImmutableDenseMatrix(rows, columns, list(entries.ravel()))
    return sp.ImmutableDenseNDimArray(list(entries.ravel()), entries.shape)
