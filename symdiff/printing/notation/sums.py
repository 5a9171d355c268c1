"""Sums as a book has them: a common array in front, squares of differences, traces of products; eigenvectors."""

from __future__ import annotations

from .common_factors import in_front, split_scalars
from .reader import Reader, ReadingRules
from .terms import Term, is_number

RULES = ReadingRules()


@RULES.of("total")
def _trace(reader: Reader, term: Term) -> Term | None:
    """Write sum(A * B.T) as trace(A @ B), and sum(A * (B.T @ C.T)) as trace(A @ C @ B)."""
    (x,) = term.args
    if x.kind != "product" or term.ndim or x.ndim != 2 or any(x.data) or len(x.args) != 2:
        return None
    a, b = x.args
    first, second = _transposed_factors(a), _transposed_factors(b)
    if bool(first) == bool(second) or a.shape != x.shape or b.shape != x.shape:
        return None
    return reader.make("trace", (reader.chain([b, *first] if first else [a, *second]),), None, ())


def _transposed_factors(x: Term) -> list[Term]:
    """Return the matrices of which a term is the transpose of a product; none of another term."""
    factors = x.args if x.kind == "matmul" else (x,)
    return [factor.args[0] for factor in factors[::-1]] if all(f.kind == "transpose" for f in factors) else []


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
    over, under = term.factors
    for product in over:
        column, *others = product.args if product.kind == "outer" else (product,)
        vectors = column.args[0] if column.kind == "index" else column
        if others != [column] or vectors.kind != "matrix" or vectors.data != "eigenvectors" or vectors is column:
            continue
        rows, at = column.data
        values = reader.make("matrix", vectors.args, "eigvalsh", vectors.shape[:1])
        values = reader.make("function", (values,), "simple_eigenvalues", values.shape)
        known = reader.make("index", (values,), (at,), ())
        if known in over and rows == (0, 1, vectors.shape[-1]):
            simple = reader.make("function", vectors.args, "simple_eigenvectors", vectors.shape)
            one = reader.make("part", (reader.make("index", (simple,), column.data, column.shape),), "v", column.shape)
            own = reader.make("outer", (one, one), None, product.shape)
            return reader.product([own if x is product else x for x in over if x is not known], under, term.shape)
    return None


#: Most terms of a sum that are looked into.
_MOST = 9


@RULES.of("sum")
def _common_array(reader: Reader, term: Term) -> Term | None:
    """Write x w - q w as (x - q) w."""
    return in_front(reader, term, lambda factor: factor.kind == "name" and factor.shape == term.shape != ())


@RULES.of("sum")
def _joined_behind_scalars(reader: Reader, term: Term) -> Term | None:
    """Read terms with the same numbers in front as one, where they are one without these."""
    if not 3 <= len(term.args) <= _MOST or term.ndim < 1:
        return None
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    parts = []
    for k, (arg, sign) in enumerate(term.pairs):
        minus, scalars, under, core = split_scalars(reader, arg)
        parts.append((core, minus != sign, scalars, under))
        if scalars or under:
            groups.setdefault((tuple(map(id, scalars)), tuple(map(id, under))), []).append(k)
    for places in groups.values():
        if not 1 < len(places) < len(term.args):
            continue
        together = reader.sum([parts[k][:2] for k in places], term.shape)
        minus, inner = together.signed
        if inner.kind == "sum" and len(inner.args) >= len(places):
            continue
        _, _, scalars, under = parts[places[0]]
        whole = reader.product([*scalars, inner], under, term.shape)
        kept = [pair for k, pair in enumerate(term.pairs) if k not in places]
        return reader.sum([*kept, (whole, minus)], term.shape)
    return None


def _factors(term: Term) -> tuple[bool, list[Term], list[Term]]:
    """Return the sign, the factors and the divisors of a term."""
    minus, core = term.signed
    over, under = core.factors if core.kind == "product" else ([core], [])
    return minus, over, under


@RULES.of("sum")
def _completed_square(reader: Reader, term: Term) -> Term | None:
    """Write x**2 - 2 q x + 2 q**2, with a quotient q that has a name, as (x - q)**2 + q**2."""
    if not 3 <= len(term.args) <= _MOST or not term.ndim:
        return None
    parts = [(*_factors(arg), sign) for arg, sign in term.pairs]
    for k, (minus, over, under, sign) in enumerate(parts):
        if len(over) != 3 or under or not is_number(over[0], 2.0):
            continue
        q, x = over[1:]
        if q.kind != "part" or x.ndim != term.ndim:
            continue
        places = [j for j, (other, own, below, its) in enumerate(parts)
                  if not below and len(own) == 1 and _is_square(own[0], x) and (other != its) != (minus != sign)]
        more = [(j, c) for j, part in enumerate(parts) if (c := _squares(part, q, minus != sign)) is not None]
        if len(places) != 1 or len(more) != 1:
            continue
        (own,), ((last, count),) = places, more
        gap = reader.sum([(x, False), (q, True)], x.shape)
        square = reader.make("power", (gap, reader.number(2.0)), None, term.shape)
        new = [(square, minus == sign)]
        if count > 1.0:
            left = reader.make("power", (q, reader.number(2.0)), None, ())
            scaled = left if count == 2.0 else reader.product([reader.number(count - 1.0), left], [], ())
            new.append((scaled, minus == sign))
        kept = [pair for j, pair in enumerate(term.pairs) if j not in (k, own, last)]
        return reader.sum([*new, *kept], term.shape)
    return None


def _is_square(term: Term, x: Term) -> bool:
    return term.kind == "power" and term.args[0] is x and is_number(term.args[1], 2.0)


def _squares(part: tuple[bool, list[Term], list[Term], bool], q: Term, other: bool) -> float | None:
    """Return how often the square of ``q`` is added, at least once; None for another term."""
    minus, over, under, sign = part
    if (minus != sign) == other or len(over) > 2 or len(under) > 1:
        return None
    top, below = q.args[0].factors if q.args[0].kind == "product" else ([q], [])
    whole = [_is_square(over[-1], q), not under] if not under else [
        len(top) == len(below) == 1 and _is_square(over[-1], top[0]), _is_square(under[0], below[0])
    ]
    count = over[0].data if len(over) == 2 and over[0].kind == "number" else 1.0 if len(over) == 1 else 0.0
    return float(count) if all(whole) and count >= 1.0 else None
