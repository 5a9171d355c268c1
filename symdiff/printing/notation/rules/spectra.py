"""Traces of products of two matrices, and eigenvectors of eigenvalues that are apart, in derivatives."""

from __future__ import annotations

from ..reader import Reader, ReadingRules
from ..terms import Term

RULES = ReadingRules()


@RULES.of("total")
def _trace(reader: Reader, term: Term) -> Term | None:
    """Write sum(A * B.T) as trace(A @ B)."""
    (x,) = term.args
    if x.kind != "product" or term.ndim or x.ndim != 2 or any(x.data) or len(x.args) != 2:
        return None
    a, b = x.args
    if (a.kind == "transpose") == (b.kind == "transpose") or a.shape != x.shape or b.shape != x.shape:
        return None
    (a, b) = (b, a.args[0]) if a.kind == "transpose" else (a, b.args[0])
    return reader.make("trace", (reader.chain([a, b]),), None, ())


@RULES.of("function")
def _of_transpose(reader: Reader, term: Term) -> Term | None:
    """Write the exponential, or the pseudo-inverse, of a transpose as the transpose of that of the matrix."""
    if term.data not in ("expm", "pinv") or term.ndim != 2 or term.args[0].kind != "transpose":
        return None
    if term.data == "pinv" and len({*term.shape}) > 1 and not all(isinstance(size, int) for size in term.shape):
        return None  # of sizes by name the longer one comes first
    inside = reader.make("function", term.args[0].args, term.data, term.shape[::-1])
    return reader.make("transpose", (inside,), None, term.shape)


@RULES.of("product")
def _simple_eigenvectors(reader: Reader, term: Term) -> Term | None:
    """Write v vᵀ with an eigenvector that is nan where its eigenvalue has no derivative."""
    for place, known in enumerate(term.args):
        if term.data[place] or known.kind != "index" or known.args[0].kind != "function" or known.ndim:
            continue
        values = known.args[0]
        if values.data != "simple_eigenvalues" or values.args[0].kind != "matrix" or values.args[0].ndim != 1:
            continue
        (of,) = values.args[0].args
        for other, product in enumerate(term.args):
            column = product.args[0] if product.kind == "outer" else None
            if column is None or term.data[other] or product.args[1] is not column or column.kind != "index":
                continue
            vectors, (rows, at) = column.args[0], column.data
            is_whole = rows == (0, 1, of.shape[-1]) and at == known.data[0]
            if vectors.kind == "matrix" and vectors.data == "eigenvectors" and vectors.args == (of,) and is_whole:
                simple = reader.make("function", (of,), "simple_eigenvectors", vectors.shape)
                column = reader.make("index", (simple,), column.data, column.shape)
                one = reader.make("part", (column,), "v", column.shape)
                own = reader.make("outer", (one, one), None, product.shape)
                args = [own if k == other else arg for k, arg in enumerate(term.args) if k != place]
                data = tuple(divides for k, divides in enumerate(term.data) if k != place)
                return args[0] if len(args) == 1 and not data[0] else reader.make("product", args, data, term.shape)
    return None
