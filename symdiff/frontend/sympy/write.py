"""Graph to SymPy: whole matrices where SymPy has them, arrays of scalar expressions where it has not.

An array of one axis is written as an n x 1 matrix, more than two axes as an array of entries (or, at symbolic size, as
SymPy's array expressions). Functions of entries take and return NumPy arrays of SymPy expressions and work as NumPy
does. SymPy recurses into what it is given and dies at about 165 levels, so deep or much shared formulas come as
definitions and a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp
from sympy.logic.boolalg import Boolean
from sympy.matrices.expressions import diagonal
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.matexpr import MatrixElement
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
from . import write_terms
from .forms import Adjugate, AdjugateDifferential, Definitions, operation
from .inputs import Inputs
from .write_terms import (
    SCALARS,
    Wholes,
    add,
    both,
    either,
    inverse,
    mul,
    negative,
    number,
    piecewise,
    power,
    replaced,
    size,
    unless,
)

Entries = npt.NDArray[np.object_]


def filled(shape: Sequence[int], entry: Callable[..., Any]) -> Entries:
    """Return the array whose entry at each index is ``entry(*index)``."""
    result = np.empty(tuple(shape), dtype=object)
    spend(4 * result.size)
    for index in np.ndindex(*shape):
        result[index] = entry(*index)
    return result


def each(function: Callable[..., Any], *args: Entries) -> Entries:
    """Apply a scalar function with broadcasting."""
    wide = np.broadcast_arrays(*args)
    return filled(wide[0].shape, lambda *index: function(*(arg[index] for arg in wide)))


def contract(args: Sequence[Entries], labels: Sequence[Sequence[int]], out: Sequence[int]) -> Entries:
    """Multiply and sum by Einstein's notation."""
    sizes = {label: n for arg, own in zip(args, labels, strict=True) for label, n in zip(own, arg.shape, strict=True)}
    inner = [label for label in sizes if label not in out]
    spend(4 * math.prod(sizes.values()))

    def entry(*index: int) -> Any:
        place = dict(zip(out, index, strict=True))
        terms = []
        for summed in np.ndindex(*(sizes[label] for label in inner)):
            place.update(zip(inner, summed, strict=True))
            factors = [arg[tuple(place[label] for label in own)] for arg, own in zip(args, labels, strict=True)]
            if not any(factor is sp.S.Zero for factor in factors):
                terms.append(mul(*factors))
        return add(terms) if terms else sp.S.Zero

    return filled([sizes[label] for label in out], entry)


def _sum(term: Term, *args: Entries) -> Entries:
    return each(partial(_scalar_sum, term), *args)


def _scalar_sum(term: Term, *args: Any) -> Any:
    signed = [negative(x) if minus else x for x, minus in zip(args, term.data, strict=True)]
    return add([x for x in signed if x is not sp.S.Zero] or [sp.S.Zero])


def _product(term: Term, *args: Entries) -> Entries:
    return each(partial(_scalar_product, term), *args)


def _scalar_product(term: Term, *args: Any) -> Any:
    return mul(*[inverse(x) if divides else x for x, divides in zip(args, term.data, strict=True)])


def _reduced(x: Entries, axes: Sequence[int], function: Callable[[list[Any]], Any]) -> Entries:
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    turned = np.transpose(x, [*kept, *axes])
    shape = turned.shape[: len(kept)]
    return filled(shape, lambda *index: function(list(np.ravel(turned[index]))))


def _total(values: list[Any]) -> Any:
    return add(values) if values else sp.S.Zero


def _mean(values: list[Any]) -> Any:
    return mul(sp.Rational(1, len(values)), _total(values))


def _var(values: list[Any]) -> Any:
    mean = _mean(values)
    return _mean([power(add([value, negative(mean)]), sp.Integer(2)) for value in values])


REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "max": lambda values: sp.Max(*values, evaluate=False) if len(values) > 1 else values[0],
    "min": lambda values: sp.Min(*values, evaluate=False) if len(values) > 1 else values[0],
    "prod": lambda values: mul(*values),
    "mean": _mean,
    "var": _var,
    "norm": lambda values: power(_total([power(value, sp.Integer(2)) for value in values]), write_terms.HALF),
    "logsumexp": lambda values: write_terms.log(_total([write_terms.exp(value) for value in values])),
}


def _reduce(term: Term, x: Entries) -> Entries:
    name, axes = term.data
    if name == "unit":
        length = np.expand_dims(_reduced(x, axes, REDUCTIONS["norm"]), tuple(axes))
        return each(lambda a, b: mul(a, inverse(b)), x, length)
    if name not in ("softmax", "log_softmax"):
        return _reduced(x, axes, REDUCTIONS[name])
    total = np.expand_dims(_reduced(each(write_terms.exp, x), axes, _total), tuple(axes))
    if name == "softmax":
        return each(lambda a, b: mul(write_terms.exp(a), inverse(b)), x, total)
    return each(lambda a, b: add([a, negative(write_terms.log(b))]), x, total)


def _index(term: Term, x: Entries) -> Entries:
    keys: list[Any] = []
    for start, step, length in term.data:
        keys.append(start if length is None else [start + step * k for k in range(length)])
    for axis in reversed(range(len(keys))):
        x = np.asarray(np.take(x, keys[axis], axis=axis), dtype=object)
    return x


def _eye(term: Term) -> Entries:
    (start, step), (rows, columns) = term.data, term.shape
    return filled((int(str(rows)), int(str(columns))), lambda i, j: sp.Integer(int(j == start + step * i)))


#: Cumulative operations, of all elements so far.
CUMULATIVE: dict[str, Callable[[list[Any]], Any]] = {
    "cumsum": _total,
    **{f"cum{name}": REDUCTIONS[name] for name in ("prod", "max", "min")},
}


def _cumulative(term: Term, x: Entries) -> Entries:
    name, axis, backwards = term.data
    if name not in CUMULATIVE:
        raise UnsupportedError(f"SymPy has no form for {name}")
    if backwards:
        x = np.flip(x, axis)
    spend(x.size * x.shape[axis])
    slices = [np.take(x, range(k + 1), axis=axis) for k in range(x.shape[axis])]
    sums = np.stack([_reduced(part, (axis,), CUMULATIVE[name]) for part in slices], axis=axis) if slices else x
    return np.flip(sums, axis) if backwards else sums


def _triangle(term: Term, x: Entries) -> Entries:
    upper, offset = term.data

    def entry(*index: int) -> Any:
        diagonal = index[-1] - index[-2]
        return x[index] if (diagonal >= offset if upper else diagonal <= offset) else sp.S.Zero

    return filled(x.shape, entry)


def _matmul(term: Term, *args: Entries) -> Entries:
    def product(a: Entries, b: Entries) -> Entries:
        if b.ndim == 1:
            own = list(range(a.ndim))
            return contract([a, b], [own, own[-1:]], own[:-1])
        if a.ndim == 1:
            return contract([a, b], [[0], [0, 1]], [1])
        lead = max(a.ndim, b.ndim) - 2
        first, second = [*range(lead - (a.ndim - 2), lead)], [*range(lead - (b.ndim - 2), lead)]
        return contract(
            [a, b], [[*first, lead, lead + 1], [*second, lead + 1, lead + 2]], [*range(lead), lead, lead + 2]
        )

    return reduce(product, args)


#: Terms of scalars, of which there are many in a long formula, without arrays around them.
SCALAR_TERMS: dict[str, Callable[..., Any]] = {
    "sum": _scalar_sum,
    "product": _scalar_product,
    "negative": lambda term, x: negative(x),
    "power": lambda term, x, y: power(x, y),
    "call": lambda term, *args: SCALARS[term.data](*args),
}

ENTRIES: dict[str, Callable[..., Entries]] = {
    "array": lambda term: filled(term.shape, lambda *i: number(float(term.data[i]))),
    "filled": lambda term: filled(term.shape, lambda *i: number(term.data)),
    "eye": _eye,
    "onehot": lambda term: filled(term.shape, lambda i: sp.Integer(int(i == term.data))),
    "sum": _sum,
    "product": _product,
    "negative": lambda term, x: each(negative, x),
    "power": lambda term, x, y: each(power, x, y),
    "call": lambda term, *args: each(SCALARS[term.data], *args),
    "compare": lambda term, *args: each(SCALARS[term.data], *args),
    "and": lambda term, a, b: each(both, a, b),
    "or": lambda term, a, b: each(either, a, b),
    "not": lambda term, a: each(unless, a),
    "where": lambda term, c, a, b: each(lambda p, x, y: piecewise((x, p), (y, True)), c, a, b),
    "matmul": _matmul,
    "dot": _matmul,
    "transpose": lambda term, x: x.T,
    "permute": lambda term, x: np.transpose(x, term.data),
    "outer": lambda term, a, b: contract([a, b], [[0], [1]], [0, 1]),
    "trace": lambda term, x: contract([x], [[0, 0]], []),
    "diag": lambda term, v: filled(term.shape, lambda i, j: v[i] if i == j else sp.S.Zero),
    "diagonal": lambda term, x: filled(term.shape, lambda *i: np.diagonal(x, 0, *term.data)[i]),
    "total": lambda term, x: _reduced(x, term.data, _total),
    "rows": lambda term, v, x: each(mul, v[:, None], x),
    "columns": lambda term, x, v: each(mul, v, x),
    "expand": lambda term, x: x.reshape(term.shape),
    "broadcast": lambda term, x: np.broadcast_to(x, term.shape),
    "tensor": lambda term, *args: contract(args, *term.data),
    "index": _index,
    "take": lambda term, x: np.take(x, list(term.data[1]), axis=term.data[0]),
    "reduce": _reduce,
    "reshape": lambda term, x: x.reshape(term.shape),
    "concatenate": lambda term, *args: np.concatenate(args, axis=term.data),
    "stack": lambda term, *args: np.stack(args, axis=term.data),
    "cumulative": _cumulative,
    "triangle": _triangle,
}


# ---------------------------------------------------------------------------- one entry of a matrix expression


def element(piece: Any, index: tuple[Any, ...]) -> Any:
    """Return one entry of a written array; of a scalar, the scalar.

    Parameters
    ----------
    piece : SymPy matrix, matrix expression, array or scalar; NumPy array or Lambda of conditions
    index : tuple of int or symbols
        A vector, being a column, takes one.
    """
    if not index:
        return piece
    if isinstance(piece, np.ndarray):
        return piece[index]
    if isinstance(piece, sp.NDimArray):
        return piece[index]
    row, column = (*index, 0)[:2]
    if isinstance(piece, sp.Lambda):
        return _called(piece, row, column)
    if isinstance(piece, sp.MatrixBase):
        return piece[row, column]
    if not isinstance(piece, sp.MatrixExpr):
        return arrays.ArrayElement(piece, index)
    return _entry(piece, row, column)


def _called(function: sp.Lambda, *args: Any) -> Any:
    values = [sp.Integer(arg) if isinstance(arg, int) else arg for arg in args]
    return replaced(function.expr, dict(zip(function.variables, values, strict=True)))


def _entry(x: Any, i: Any, j: Any) -> Any:
    fixed = isinstance(i, int) and isinstance(j, int)
    if isinstance(x, sp.OneMatrix):
        return sp.S.One
    if isinstance(x, sp.ZeroMatrix):
        return sp.S.Zero
    if isinstance(x, sp.Identity) and fixed:
        return sp.Integer(int(i == j))
    if isinstance(x, sp.Transpose):
        return element(x.arg, (j, i))
    if isinstance(x, sp.MatrixSlice) and x.rowslice[2] == 1 and x.colslice[2] == 1:
        return element(x.parent, (_shifted(x.rowslice[0], i), _shifted(x.colslice[0], j)))
    if isinstance(x, sp.FunctionMatrix):
        return _called(x.lamda, i, j)
    if isinstance(x, sp.MatAdd):
        terms = [element(arg, (i, j)) for arg in x.args]
        return add([term for term in terms if term is not sp.S.Zero] or [sp.S.Zero])
    if isinstance(x, sp.HadamardProduct):
        return mul(*(element(arg, (i, j)) for arg in x.args))
    if isinstance(x, sp.HadamardPower) and not getattr(x.exp, "is_Matrix", False):
        base = element(x.base, (i, j))
        return inverse(base) if x.exp == -1 else power(base, x.exp)
    if isinstance(x, ElementwiseApplyFunction):
        return _called(x.function, element(x.expr, (i, j)))
    if isinstance(x, diagonal.DiagMatrix) and fixed:
        return element(x.args[0], (i, 0)) if i == j else sp.S.Zero
    if isinstance(x, sp.MatMul):
        return _product_entry(x, i, j)
    return MatrixElement(x, *(sp.Integer(k) if isinstance(k, int) else k for k in (i, j)))


def _shifted(start: Any, index: Any) -> Any:
    place = start + index
    return int(place) if place.is_Integer else place


def _product_entry(x: sp.MatMul, i: Any, j: Any) -> Any:
    scalars = [arg for arg in x.args if not arg.is_Matrix]
    matrices = [arg for arg in x.args if arg.is_Matrix]
    if len(matrices) == 1:
        parts = [element(matrices[0], (i, j))]
    elif isinstance(matrices[-1], diagonal.DiagMatrix):
        rest = sp.MatMul(*matrices[:-1]) if len(matrices) > 2 else matrices[0]
        parts = [element(rest, (i, j)), element(matrices[-1].args[0], (j, 0))]
    elif isinstance(matrices[0], diagonal.DiagMatrix):
        rest = sp.MatMul(*matrices[1:]) if len(matrices) > 2 else matrices[1]
        parts = [element(matrices[0].args[0], (i, 0)), element(rest, (i, j))]
    else:
        # an inner size of 1 is where an outer product meets
        cut = next((k for k in range(1, len(matrices)) if matrices[k].shape[0] == 1), None)
        if cut is None:
            whole = sp.MatMul(*matrices)
            parts = [MatrixElement(whole, *(sp.Integer(k) if isinstance(k, int) else k for k in (i, j)))]
        else:
            left, right = (sp.MatMul(*side) if len(side) > 1 else side[0] for side in (matrices[:cut], matrices[cut:]))
            parts = [element(left, (i, 0)), element(right, (0, j))]
    if any(part is sp.S.Zero for part in parts):
        return sp.S.Zero
    return mul(*scalars, *(part for part in parts if part is not sp.S.One))


#: Nesting beyond which a piece becomes a definition; one level here is up to three of SymPy's.
DEEP = 30
#: Levels of nesting that a block matrix counts as: SymPy asks all matrices within one for their shapes over and over.
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
