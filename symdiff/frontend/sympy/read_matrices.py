"""Readers of SymPy's matrix and array expressions, which stay whole and do not become entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp
from sympy.codegen import matrix_nodes, numpy_nodes
from sympy.codegen.ast import none
from sympy.matrices.expressions import diagonal, dotproduct, factorizations, permutation, special
from sympy.tensor.array.expressions import array_expressions as arrays

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...graph import (
    Item,
    Labels,
    Node,
    broadcast_to,
    concatenate,
    constant,
    contract,
    delta,
    gather,
    matmul,
    matrix,
    reshape,
    slicing,
    swap,
    whole,
    zeros,
)
from ...graph import reduce as reduce_axes
from ...graph.scalars.functions import apply, to_real
from .inputs import Inputs, Scope
from .read_scalars import Reading, Steps, bound, each, reads, refusal


def array_symbol(symbol: Any, inputs: Inputs) -> Node:
    """Return the input of a MatrixSymbol, an ArraySymbol or an IndexedBase."""
    if isinstance(symbol, sp.MatrixSymbol | arrays.ArraySymbol):
        return inputs.array(symbol, str(symbol.name), tuple(symbol.shape))
    if symbol.shape is None:
        raise UnsupportedError(
            f"the IndexedBase {str(symbol.label)!r} has no shape; give IndexedBase(name, shape=(...)) or a MatrixSymbol"
        )
    return inputs.array(symbol, str(symbol.label), tuple(symbol.shape))


@reads(sp.MatrixSymbol, arrays.ArraySymbol)
def _array_symbol(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    held = bound(expr, scope)
    if isinstance(held, Node):
        return held
    return run.defined[expr] if expr in run.defined else array_symbol(expr, run.inputs)


# ---------------------------------------------------------------------------- constants


@reads(sp.Identity)
def _identity(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    rows, columns = (run.inputs.size(size, scope) for size in expr.shape)
    return delta(rows, columns)


@reads(sp.ZeroMatrix, sp.OneMatrix, arrays.ZeroArray, arrays.OneArray)
def _filled(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    one = isinstance(expr, sp.OneMatrix | arrays.OneArray)
    return broadcast_to(constant(1.0 if one else 0.0), tuple(run.inputs.size(size, scope) for size in expr.shape))


# ---------------------------------------------------------------------------- algebra


@reads(sp.MatAdd, arrays.ArrayAdd)
def _add(run: Reading, expr: Any, scope: Scope) -> Steps:
    total, *rest = yield from each(expr.args, scope)
    for term in rest:
        minus = term.is_negation
        total = apply("subtract", total, term.args[0]) if minus else apply("add", total, term)
    return total


@reads(sp.MatMul)
def _matmul(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)
    nodes = _adjugates(nodes)
    factors = [node for node in nodes if node.ndim]
    if not factors:
        raise refusal(expr)
    result = reduce(matmul, factors)
    for node in nodes:
        if node is constant(-1.0):
            result = apply("negative", result)
        elif not node.ndim:
            result = apply("multiply", node, result)
    return result


def _adjugates(nodes: Sequence[Node]) -> list[Node]:
    """Replace det(A) A⁻¹, SymPy's form of the adjugate, by the adjugate of A, which exists where A⁻¹ does not."""
    left = list(nodes)
    for det in nodes:
        if det.op == "det":
            for place, inverse in enumerate(left):
                if inverse.op == "inv" and inverse.args == det.args:
                    left[place] = matrix("adjugate", *det.args)
                    left.remove(det)
                    break
    return left


@reads(sp.HadamardProduct)
def _hadamard(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)
    return reduce(lambda a, b: apply("multiply", a, b), nodes)


@reads(sp.HadamardPower)
def _hadamard_power(run: Reading, expr: Any, scope: Scope) -> Steps:
    base, exponent = yield from each(expr.args, scope)
    return apply("power", base, exponent)


@reads(sp.MatPow)
def _matpow(run: Reading, expr: Any, scope: Scope) -> Steps:
    held = bound(expr.exp, scope)
    exponent = sp.Integer(held) if isinstance(held, int) else expr.exp
    if not exponent.is_Integer:
        raise UnsupportedError(f"a matrix to the power {exponent!s:.40} came; expected a whole exponent")
    base = yield expr.base, scope
    count = int(exponent)
    if count < 0:
        base, count = matrix("inv", base), -count
    result: Node | None = None
    while count:  # by squaring
        if count & 1:
            result = base if result is None else matmul(result, base)
        count >>= 1
        if count:
            base = matmul(base, base)
    return delta(base.shape[0], base.shape[1]) if result is None else result


@reads(sp.Inverse)
def _inverse(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("inv", (yield expr.arg, scope))


@reads(matrix_nodes.MatrixSolve)
def _solve(run: Reading, expr: Any, scope: Scope) -> Steps:
    a, b = yield from each((expr.matrix, expr.vector), scope)
    return matrix("solve", a, b)


@reads(factorizations.LofCholesky, factorizations.UofCholesky)
def _cholesky(run: Reading, expr: Any, scope: Scope) -> Steps:
    lower = matrix("cholesky", (yield expr.arg, scope))
    return lower if isinstance(expr, factorizations.LofCholesky) else swap(lower)


@reads(sp.Transpose, sp.Adjoint)
def _transpose(run: Reading, expr: Any, scope: Scope) -> Steps:
    return swap((yield expr.arg, scope))


@reads(sp.adjoint, sp.transpose, sp.conjugate)
def _adjoint(run: Reading, expr: Any, scope: Scope) -> Steps:
    node = yield expr.args[0], scope
    return node if node.ndim == 0 or isinstance(expr, sp.conjugate) else swap(node)


@reads(sp.Trace)
def _trace(run: Reading, expr: Any, scope: Scope) -> Steps:
    return contract([(yield expr.arg, scope)], [(0, 0)], ())


@reads(sp.Determinant)
def _determinant(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("det", (yield expr.arg, scope))


@reads(dotproduct.DotProduct)
def _dot(run: Reading, expr: Any, scope: Scope) -> Steps:
    a, b = yield from each(expr.args, scope)
    return contract([_column(a), _column(b)], [(0,), (0,)], ())


def _column(x: Node) -> Node:
    """Return the vector that an n x 1 or 1 x n matrix holds."""
    if x.shape[1] == 1:
        return slicing(x, (whole(x.shape[0]), (0, 1, None)))
    if x.shape[0] == 1:
        return slicing(x, ((0, 1, None), whole(x.shape[1])))
    raise ShapeError(f"a matrix of shape {x.shape} came where a row or a column was expected")


@reads(sp.KroneckerProduct)
def _kronecker(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)

    def kronecker(a: Node, b: Node) -> Node:
        (i, j), (k, m) = a.shape, b.shape
        return reshape(contract([a, b], [(0, 2), (1, 3)], (0, 1, 2, 3)), (i * k, j * m))

    return reduce(kronecker, nodes)


# ---------------------------------------------------------------------------- diagonals, blocks and parts


@reads(diagonal.DiagMatrix)
def _diag_matrix(run: Reading, expr: Any, scope: Scope) -> Steps:
    v = _column((yield expr.args[0], scope))
    return contract([v, delta(v.shape[0], v.shape[0])], [(0,), (0, 1)], (0, 1))


@reads(diagonal.DiagonalMatrix)
def _diagonal_matrix(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    return apply("multiply", x, delta(x.shape[0], x.shape[1]))


@reads(diagonal.DiagonalOf)
def _diagonal_of(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    if x.shape[0] != x.shape[1]:
        raise UnsupportedError(f"the DiagonalOf a matrix of shape {x.shape} came; expected a square matrix")
    return reshape(contract([x], [(0, 0)], (0,)), (x.shape[0], 1))


@reads(sp.BlockMatrix)
def _blocks(run: Reading, expr: Any, scope: Scope) -> Steps:
    rows = []
    for i in range(expr.blockshape[0]):
        blocks = yield from each([expr.blocks[i, j] for j in range(expr.blockshape[1])], scope)
        rows.append(concatenate(blocks, 1))
    return concatenate(rows, 0)


@reads(sp.BlockDiagMatrix)
def _block_diagonal(run: Reading, expr: Any, scope: Scope) -> Steps:
    blocks = yield from each(expr.args, scope)
    rows = []
    for i, block in enumerate(blocks):
        parts = [block if i == j else zeros((block.shape[0], other.shape[1])) for j, other in enumerate(blocks)]
        rows.append(concatenate(parts, 1))
    return concatenate(rows, 0)


@reads(sp.MatrixSlice)
def _slice(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.parent, scope
    items: list[Item] = []
    for (start, stop, step), size in zip((expr.rowslice, expr.colslice), expr.shape, strict=True):
        if not step.is_Integer:
            raise UnsupportedError(f"a slice with the step {step!s:.40} came; expected a whole number")
        if step != 1 and not ((stop - start) / step).is_Integer:
            # SymPy 1.14 says that A[0:3:2, :] has one row
            raise UnsupportedError("SymPy miscounts slices with a step that does not divide their length; use step 1")
        items.append((run.inputs.size(start, scope), int(step), run.inputs.size(size, scope)))
    return slicing(x, tuple(items))


@reads(permutation.PermutationMatrix)
def _permutation(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    return constant(np.eye(int(expr.shape[0]))[list(expr.args[0].array_form)])


@reads(permutation.MatrixPermute)
def _permuted(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    return gather(x, int(expr.args[2]), tuple(expr.args[1].array_form))


# ---------------------------------------------------------------------------- functions of each element


@reads(sp.matrices.expressions.applyfunc.ElementwiseApplyFunction, arrays.ArrayElementwiseApplyFunc)
def _apply(run: Reading, expr: Any, scope: Scope) -> Steps:
    function, argument = expr.args
    if not isinstance(function, sp.Lambda) or len(function.variables) != 1:
        raise refusal(function)
    x = yield argument, scope
    # The body is a scalar formula; with an array for its symbol it works on every element.
    result = yield function.expr, (*scope, (function.variables[0], x))
    return broadcast_to(result, x.shape)


# ---------------------------------------------------------------------------- arrays of any number of axes


@reads(numpy_nodes.amax, numpy_nodes.amin)
def _largest(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.array, scope
    if expr.axis != none:
        raise UnsupportedError(f"the {type(expr).__name__} along one axis came; expected that of all elements")
    return reduce_axes("max" if isinstance(expr, numpy_nodes.amax) else "min", x, tuple(range(x.ndim)))


@reads(arrays.Reshape)
def _reshaped(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    return reshape(x, tuple(run.inputs.size(size, scope) for size in expr.shape))


@reads(arrays.ArrayTensorProduct, sp.tensor.functions.TensorProduct)
def _tensor_product(run: Reading, expr: Any, scope: Scope) -> Steps:
    nodes = yield from each(expr.args, scope)
    return _outer(nodes)


def _outer(nodes: Sequence[Node]) -> Node:
    labels: list[Labels] = []
    first = 0
    for node in nodes:
        labels.append(tuple(range(first, first + node.ndim)))
        first += node.ndim
    return contract(nodes, labels, tuple(range(first)))


def _joined_axes(x: Node, groups: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return labels for the axes of an array, one for each group of axes, and the axes that are in no group."""
    own = list(range(x.ndim))
    for group in groups:
        for axis in group:
            own[int(axis)] = int(group[0])
    grouped = {int(axis) for group in groups for axis in group}
    return tuple(own), tuple(axis for axis in range(x.ndim) if axis not in grouped)


@reads(arrays.ArrayContraction)
def _contraction(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    labels, kept = _joined_axes(x, expr.contraction_indices)
    return contract([x], [labels], kept)


@reads(arrays.ArrayDiagonal)
def _array_diagonal(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    labels, kept = _joined_axes(x, expr.diagonal_indices)
    return contract([x], [labels], (*kept, *(int(group[0]) for group in expr.diagonal_indices)))


@reads(arrays.PermuteDims)
def _permute(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.expr, scope
    return contract([x], [tuple(range(x.ndim))], tuple(int(axis) for axis in expr.permutation.array_form))


@reads(special.GenericIdentity, special.GenericZeroMatrix)
def _generic(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    raise refusal(expr)


# ---------------------------------------------------------------------------- explicit matrices and arrays


def pack(entries: list[Node], shape: tuple[int, ...]) -> Node:
    """Return the array of the given shape with these entries, in C order."""
    if any(entry.ndim for entry in entries):
        raise UnsupportedError("a matrix with matrices as entries came; write it as a BlockMatrix")
    if all(entry.is_constant for entry in entries):
        return reshape(constant([float(entry.value) for entry in entries]), shape)
    if entries and all(entry is entries[0] for entry in entries):
        return broadcast_to(entries[0], shape)
    return reshape(concatenate([reshape(to_real(entry), (1,)) for entry in entries], 0), shape)


@reads(sp.MatrixBase, sp.NDimArray)
def _explicit(run: Reading, expr: Any, scope: Scope) -> Steps:
    shape = tuple(int(size) for size in expr.shape)
    flat = expr.flat() if isinstance(expr, sp.MatrixBase) else sp.flatten(expr.tolist()) if shape else [expr[()]]
    entries = yield from each(flat, scope)
    return pack(entries, shape)


@reads(sp.Tuple)
def _tuple(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    raise ArgumentError("a SymPy Tuple came where one expression was expected; give its expressions one by one")
