"""From arrays to straight-line scalar code: what one sample of a small formula computes.

Every array of fixed size is taken apart into its elements; structural zeros (of deltas,
paddings, triangles) are never computed, equal scalars are computed once, powers become
products, and what no output needs is dropped. The values come out in an order that keeps
few of them alive. Emitters only print what stands here.

Small matrices are inverted by cofactors up to 4×4, as Eigen does for fixed sizes, and by
elimination with partial pivoting above; a determinant's derivatives take cofactors, which
are finite at every rank.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .collector import paused
from .errors import UnsupportedError
from .functions import FUNCTIONS
from .graph import BOOL, Node, label_sizes, postorder, rebuild
from .program import MAX_ORDER, Port, Program
from .sizes import Shape, fixed, show

Ids: TypeAlias = npt.NDArray[np.int64]

#: The value number of a structural zero: known to be 0 whatever the inputs are.
ZERO = -1
#: Largest matrix inverted and differentiated by cofactors.
COFACTOR_LIMIT = 4
#: Largest matrix eliminated as straight-line code.
ELIMINATION_LIMIT = 12
SINGULAR = "a matrix to invert is singular"
INDEFINITE = "a matrix to factorise is not positive definite"


def expand_functions(roots: Sequence[Node]) -> list[Node]:
    """Replace functions the scalar program lacks by their expansion in the table of functions."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        row = FUNCTIONS.get(node.op)
        args = tuple([new[arg] for arg in node.args])
        if row is not None and row.expansion is not None and not row.c:
            (new[node],) = expand_functions_once(row.expansion(*args))
        else:
            new[node] = rebuild(node, args) if args else node
    return [new[root] for root in roots]


def expand_functions_once(node: Node) -> list[Node]:
    """Expand again what an expansion is written with, if that is not a machine function either."""
    again = [n for n in postorder([node]) if n.op in FUNCTIONS and not FUNCTIONS[n.op].c]
    return expand_functions([node]) if again else [node]


@paused
def unroll(inputs: Sequence[Node], outputs: Sequence[Node], limit: int = 2_000_000) -> Program:
    """Take a formula apart into scalar operations.

    Parameters
    ----------
    inputs : sequence of Node
        In the order of the kernel's arguments; all sizes fixed.
    outputs : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.simplify.inline`).
    limit : int
        Number of scalar operations beyond which the formula is refused.

    Returns
    -------
    Program

    Raises
    ------
    UnsupportedError
        If the formula has symbolic sizes, a matrix too large to be taken apart, or more than
        ``limit`` operations.
    """
    code = _Code(limit)
    values: dict[Node, Ids] = {}
    for number, node in enumerate(inputs):
        shape = _fixed(node.shape)
        size = math.prod(shape)
        ids = [code.emit("load", number, offset) for offset in range(size)]
        values[node] = np.array(ids, np.int64).reshape(shape)
    lowered = expand_functions(outputs)
    for node in postorder(lowered):
        if node not in values:
            code.room(node)
            values[node] = _lower(code, node, [values[arg] for arg in node.args])
    stores = [[code.real(v) for v in values[root].ravel().tolist()] for root in lowered]
    ports_in = tuple(_port(node, f"x{i}") for i, node in enumerate(inputs))
    ports_out = tuple(_port(node, f"out{i}") for i, node in enumerate(outputs))
    return code.finish(ports_in, ports_out, stores)


def _port(node: Node, default: str) -> Port:
    shape = _fixed(node.shape)
    name = node.payload if node.op == "input" and isinstance(node.payload, str) else default
    return Port(name, shape, math.prod(shape))


def _fixed(shape: Shape) -> tuple[int, ...]:
    known = fixed(shape)
    if known is None:
        raise UnsupportedError(f"an array of shape {show(shape)} has sizes known at call time only")
    return known


class _Code:
    """Scalar operations under construction; equal operations are one value."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.consts: dict[int, float] = {}
        self.checks: list[tuple[int, str]] = []
        self._known: dict[tuple[object, ...], int] = {}

    def room(self, node: Node) -> None:
        """Refuse a formula before it grows beyond the limit."""
        if len(self.ops) + math.prod(_fixed(node.shape)) > self.limit:
            raise UnsupportedError(f"the formula takes more than {self.limit} scalar operations")

    def number(self, value: float) -> int:
        """Return the value number of a constant."""
        key = ("const", math.copysign(1.0, value), value) if not math.isnan(value) else ("const", "nan")
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.ops)
            self.ops.append("const")
            self.args.append(())
            self.consts[found] = value
        return found

    def real(self, value: int) -> int:
        """Return a value number that can be stored: a structural zero becomes the number 0."""
        return self.number(0.0) if value == ZERO else value

    def emit(self, op: str, *args: int) -> int:
        """Return the value number of an operation on earlier values."""
        key = (op, *args)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.ops)
            self.ops.append(op)
            self.args.append(args)
        return found

    # structural zeros, ones and signs: exact identities only

    def add(self, a: int, b: int) -> int:
        if a == ZERO:
            return b
        if b == ZERO:
            return a
        if self.ops[b] == "negative":
            return self.subtract(a, self.args[b][0])
        if self.ops[a] == "negative":
            return self.subtract(b, self.args[a][0])
        return self.emit("add", a, b) if a <= b else self.emit("add", b, a)

    def subtract(self, a: int, b: int) -> int:
        if b == ZERO:
            return a
        if a == ZERO:
            return self.negative(b)
        if self.ops[b] == "negative":
            return self.add(a, self.args[b][0])
        return self.emit("subtract", a, b)

    def negative(self, a: int) -> int:
        if a == ZERO:
            return ZERO
        op = self.ops[a]
        if op == "negative":
            return self.args[a][0]
        if op == "const":
            return self.number(-self.consts[a])
        return self.emit("negative", a)

    def multiply(self, a: int, b: int) -> int:
        if ZERO in (a, b):
            return ZERO
        for x, y in ((a, b), (b, a)):
            c = self.consts.get(x)
            if c is not None:
                if c == 1.0:
                    return y
                if c == -1.0:
                    return self.negative(y)
                d = self.consts.get(y)
                if d is not None:
                    return self.number(c * d)
        if self.ops[a] == "negative":
            return self.negative(self.multiply(self.args[a][0], b))
        if self.ops[b] == "negative":
            return self.negative(self.multiply(a, self.args[b][0]))
        return self.emit("multiply", a, b) if a <= b else self.emit("multiply", b, a)

    def divide(self, a: int, b: int) -> int:
        if a == ZERO:
            return ZERO
        if self.consts.get(b) == 1.0:
            return a
        if self.ops[a] == "negative":
            return self.negative(self.divide(self.args[a][0], b))
        return self.emit("divide", a, self.real(b))

    def where(self, c: int, a: int, b: int) -> int:
        if a == b:
            return a
        return self.emit("where", c, self.real(a), self.real(b))

    def power(self, x: int, y: int) -> int:
        n = self.consts.get(y) if y != ZERO else 0.0
        if n is None or x == ZERO:
            return self.emit("power", self.real(x), self.real(y))
        if n == int(n) and 0 < abs(n) <= 64 if math.isfinite(n) else False:
            body = self._whole_power(x, int(abs(n)))
            return body if n > 0 else self.divide(self.number(1.0), body)
        if n == 0.5:
            return self.emit("sqrt", x)
        if n == -0.5:
            return self.divide(self.number(1.0), self.emit("sqrt", x))
        if n == 1.5:
            return self.multiply(x, self.emit("sqrt", x))
        return self.emit("power", x, y)

    def _whole_power(self, x: int, n: int) -> int:
        result: int | None = None
        while n:
            if n & 1:
                result = x if result is None else self.multiply(result, x)
            n >>= 1
            if n:
                x = self.multiply(x, x)
        assert result is not None
        return result

    def sum(self, terms: Iterable[int]) -> int:
        total = ZERO
        for term in terms:
            total = self.add(total, term)
        return total

    def dot(self, a: Iterable[int], b: Iterable[int]) -> int:
        return self.sum(self.multiply(p, q) for p, q in zip(a, b, strict=True))

    def check(self, value: int, message: str) -> None:
        """Require a value to be nonzero when the program runs."""
        entry = (self.real(value), message)
        if entry not in self.checks:
            self.checks.append(entry)

    def finish(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...], stores: list[list[int]]) -> Program:
        """Keep what the outputs need, each value as late as the first use asks for it."""
        order: list[int] = []
        place = [-1] * len(self.ops)
        args = self.args
        ops = self.ops
        for root in itertools.chain((v for v, _ in self.checks), *stores):
            if place[root] >= 0:
                continue
            stack = [root]
            while stack:
                value = stack[-1]
                if place[value] >= 0:
                    stack.pop()
                    continue
                waiting = [] if ops[value] == "load" else [a for a in args[value] if place[a] < 0]
                if waiting:
                    stack.extend(reversed(waiting))
                else:
                    stack.pop()
                    place[value] = len(order)
                    order.append(value)
        return Program(
            inputs=inputs,
            outputs=outputs,
            ops=tuple([ops[v] for v in order]),
            args=tuple([args[v] if ops[v] == "load" else tuple([place[a] for a in args[v]]) for v in order]),
            consts={place[v]: c for v, c in self.consts.items() if place[v] >= 0},
            stores=tuple(tuple([place[v] for v in store]) for store in stores),
            checks=tuple((place[v], message) for v, message in self.checks),
        )


# ---------------------------------------------------------------------------- one array operation

_DIRECT: dict[str, Callable[..., int]] = {
    "add": _Code.add,
    "subtract": _Code.subtract,
    "multiply": _Code.multiply,
    "divide": _Code.divide,
    "negative": _Code.negative,
    "power": _Code.power,
    "where": _Code.where,
}


def _lower(code: _Code, node: Node, args: list[Ids]) -> Ids:
    row = FUNCTIONS.get(node.op)
    if row is not None:
        return _lower_elementwise(code, node, args)
    rule = _LOWER.get(node.op)
    if rule is None:
        raise UnsupportedError(f"{node.op} of an array of shape {show(node.args[0].shape)} as straight-line code")
    return rule(code, node, args)


def _lower_elementwise(code: _Code, node: Node, args: list[Ids]) -> Ids:
    op = node.op
    if op in MAX_ORDER and not (args[0].ndim == 0 and 0 <= code.consts.get(int(args[0]), -1) <= MAX_ORDER[op]):
        raise UnsupportedError(f"{op} of an order that is not one number up to {MAX_ORDER[op]}")
    direct = _DIRECT.get(op)

    def apply(*values: int) -> int:
        if direct is not None:
            return direct(code, *values)
        return code.emit(op, *[code.real(v) for v in values])

    if node.shape == ():
        return np.array(apply(*[int(a) for a in args]), np.int64)
    columns = [a.ravel().tolist() for a in np.broadcast_arrays(*args)]
    return np.array([apply(*v) for v in zip(*columns, strict=True)], np.int64).reshape(_fixed(node.shape))


def _lower_constant(code: _Code, node: Node, args: list[Ids]) -> Ids:
    values = [float(v) for v in node.value.ravel()]
    if node.dtype is BOOL:
        yes, no = code.number(1.0), code.number(0.0)
        ids = [code.emit("not_equal", yes if v else no, no) for v in values]
    else:
        ids = [code.number(v) for v in values]
    return np.array(ids, np.int64).reshape(_fixed(node.shape))


def _lower_delta(code: _Code, node: Node, args: list[Ids]) -> Ids:
    rows, columns = _fixed(node.shape)
    start, step = node.payload
    result = np.full((rows, columns), ZERO, np.int64)
    for i in range(rows):
        if 0 <= start + step * i < columns:
            result[i, start + step * i] = code.number(1.0)
    return result


def _lower_onehot(code: _Code, node: Node, args: list[Ids]) -> Ids:
    result = np.full(_fixed(node.shape), ZERO, np.int64)
    result[node.payload] = code.number(1.0)
    return result


def _lower_size(code: _Code, node: Node, args: list[Ids]) -> Ids:
    raise UnsupportedError(f"the size {node.payload} is known at call time only")


def _lower_contract(code: _Code, node: Node, args: list[Ids]) -> Ids:
    labels, out, _ = node.payload
    shape = _fixed(node.shape)
    if len(args) == 1 and set(labels[0]) <= set(out) and len(set(labels[0])) == len(labels[0]):
        own = labels[0]  # a transpose or a repetition
        order = [own.index(label) for label in out if label in own]
        view = args[0].transpose(order)[tuple(slice(None) if label in own else None for label in out)]
        is_zero = node.args[0].op == "constant" and not own and node.args[0].value == 0.0
        return np.full(shape, ZERO, np.int64) if is_zero else np.broadcast_to(view, shape).copy()
    sizes = {label: int(str(n)) for label, n in label_sizes(node).items()}
    factors = [_sparse(ids, own) for ids, own in zip(args, labels, strict=True)]
    while len(factors) > 1:
        i, j = _cheapest_pair(factors)
        second, first = factors.pop(j), factors.pop(i)
        rest = {label for _, own in factors for label in own} | set(out)
        factors.insert(i, _multiply_sparse(code, first, second, rest))
    entries, own = _sum_sparse(code, factors[0], set(out))
    result = np.full(shape, ZERO, np.int64)
    axes = [own.index(label) if label in own else None for label in out]
    repeated = [range(sizes[label]) for label in out if label not in own]
    for index, value in entries.items():
        if not repeated:
            result[tuple(index[a] for a in axes if a is not None)] = value
        else:
            result[tuple(slice(None) if a is None else index[a] for a in axes)] = value
    return result


_Sparse: TypeAlias = tuple[dict[tuple[int, ...], int], tuple[int, ...]]


def _sparse(ids: Ids, own: tuple[int, ...]) -> _Sparse:
    """Return the elements that are not structural zeros, on the diagonal of repeated labels."""
    unique = tuple(dict.fromkeys(own))
    entries = {}
    for index, value in zip(np.ndindex(ids.shape), ids.ravel().tolist(), strict=True):
        if value == ZERO:
            continue
        if len(unique) != len(own):
            at: dict[int, int] = {}
            if any(at.setdefault(label, i) != i for label, i in zip(own, index, strict=True)):
                continue
            entries[tuple(at[label] for label in unique)] = value
        else:
            entries[index] = value
    return entries, unique


def _cheapest_pair(factors: list[_Sparse]) -> tuple[int, int]:
    """Return the two factors whose product has the fewest terms."""

    def terms(pair: tuple[int, int]) -> float:
        (p, a), (q, b) = factors[pair[0]], factors[pair[1]]
        shared = [(a.index(label), b.index(label)) for label in a if label in b]
        if not shared:
            return float(len(p) * len(q)) * 1.5
        keys: dict[tuple[int, ...], int] = {}
        for index in q:
            key = tuple(index[j] for _, j in shared)
            keys[key] = keys.get(key, 0) + 1
        return float(sum(keys.get(tuple(index[i] for i, _ in shared), 0) for index in p))

    return min(itertools.combinations(range(len(factors)), 2), key=terms)


def _multiply_sparse(code: _Code, first: _Sparse, second: _Sparse, rest: set[int]) -> _Sparse:
    (p, a), (q, b) = first, second
    shared = [(a.index(label), b.index(label)) for label in a if label in b]
    own = tuple(dict.fromkeys(label for label in (*a, *b) if label in rest))
    where = [(0, a.index(label)) if label in a else (1, b.index(label)) for label in own]
    buckets: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    for index, value in q.items():
        buckets.setdefault(tuple(index[j] for _, j in shared), []).append((index, value))
    terms: dict[tuple[int, ...], int] = {}
    for index, value in p.items():
        for other, factor in buckets.get(tuple(index[i] for i, _ in shared), ()):
            key = tuple((index, other)[side][i] for side, i in where)
            product = code.multiply(value, factor)
            terms[key] = code.add(terms[key], product) if key in terms else product
    return terms, own


def _sum_sparse(code: _Code, factor: _Sparse, kept: set[int]) -> _Sparse:
    entries, own = factor
    axes = [i for i, label in enumerate(own) if label in kept]
    if len(axes) == len(own):
        return factor
    terms: dict[tuple[int, ...], int] = {}
    for index, value in entries.items():
        key = tuple(index[i] for i in axes)
        terms[key] = code.add(terms[key], value) if key in terms else value
    return terms, tuple(own[i] for i in axes)


def _rows_of(ids: Ids, axes: tuple[int, ...]) -> tuple[list[list[int]], tuple[int, ...]]:
    """Return the elements reduced together, a list for each result, and the result's shape."""
    gone = sorted(a % ids.ndim for a in axes)
    kept = [a for a in range(ids.ndim) if a not in gone]
    shape = tuple(ids.shape[a] for a in kept)
    count = math.prod(ids.shape[a] for a in gone)
    return ids.transpose([*kept, *gone]).reshape(math.prod(shape), count).tolist(), shape


def _reduction(fold: Callable[[_Code, list[int]], int]) -> Callable[[_Code, Node, list[Ids]], Ids]:
    def lower(code: _Code, node: Node, args: list[Ids]) -> Ids:
        rows, shape = _rows_of(args[0], node.payload)
        return np.array([fold(code, row) for row in rows], np.int64).reshape(shape)

    return lower


def _fold(op: str) -> Callable[[_Code, list[int]], int]:
    def fold(code: _Code, row: list[int]) -> int:
        total = code.real(row[0])
        for value in row[1:]:
            total = code.emit(op, total, code.real(value))
        return total

    return fold


def _fold_prod(code: _Code, row: list[int]) -> int:
    total = code.number(1.0)
    for value in row:
        total = code.multiply(total, value)
    return total


def _fold_norm(code: _Code, row: list[int]) -> int:
    return code.emit("sqrt", code.real(code.sum(code.multiply(v, v) for v in row)))


def _shifted(code: _Code, row: list[int]) -> tuple[int, list[int]]:
    """Return the shift (the maximum, 0 where that is infinite) and the exponentials of the rest."""
    top = _fold("maximum")(code, row)
    finite = code.emit("less", code.emit("abs", top), code.number(math.inf))
    unordered = code.emit("not_equal", top, top)
    shift = code.where(code.emit("logical_or", finite, unordered), top, code.number(0.0))
    return shift, [code.emit("exp", code.subtract(code.real(v), shift)) for v in row]


def _fold_logsumexp(code: _Code, row: list[int]) -> int:
    if not row:
        return code.number(-math.inf)
    shift, parts = _shifted(code, row)
    return code.add(shift, code.emit("log", code.sum(parts)))


def _lower_softmax(code: _Code, node: Node, args: list[Ids]) -> Ids:
    rows, _ = _rows_of(args[0], node.payload)
    result = []
    for row in rows:
        if not row:
            continue
        shift, parts = _shifted(code, row)
        total = code.sum(parts)
        if node.op == "softmax":
            result.append([code.divide(p, total) for p in parts])
        else:
            rest = code.emit("log", total)
            result.append([code.subtract(code.subtract(code.real(v), shift), rest) for v in row])
    return _put_rows(result, args[0], node.payload)


def _lower_unit(code: _Code, node: Node, args: list[Ids]) -> Ids:
    rows, _ = _rows_of(args[0], node.payload)
    zero = code.number(0.0)
    result = []
    for row in rows:
        length = _fold_norm(code, row)
        nothing = code.emit("equal", length, zero)
        result.append([v if v == ZERO else code.where(nothing, zero, code.divide(v, length)) for v in row])
    return _put_rows(result, args[0], node.payload)


def _put_rows(rows: list[list[int]], like: Ids, axes: tuple[int, ...]) -> Ids:
    """Undo :func:`_rows_of`."""
    gone = sorted(a % like.ndim for a in axes)
    order = [a for a in range(like.ndim) if a not in gone] + gone
    moved = np.array(rows, np.int64).reshape([like.shape[a] for a in order])
    return moved.transpose(np.argsort(order))


def _lower_cumsum(code: _Code, node: Node, args: list[Ids]) -> Ids:
    axis, reverse = node.payload
    moved = np.moveaxis(args[0], axis, -1).copy()
    for index in np.ndindex(moved.shape[:-1]):
        line = moved[index].tolist()
        line = list(itertools.accumulate(line[::-1] if reverse else line, code.add))
        moved[index] = line[::-1] if reverse else line
    return np.moveaxis(moved, -1, axis)


def _lower_triangle(code: _Code, node: Node, args: list[Ids]) -> Ids:
    upper, offset = node.payload
    rows, columns = np.indices(args[0].shape[-2:])
    keep = columns - rows >= offset if upper else columns - rows <= offset
    return np.where(keep, args[0], ZERO)


def _keys(items: Sequence[tuple[int, int, int | None]]) -> tuple[list[list[int]], tuple[int, ...]]:
    picks = [[start] if length is None else [start + step * i for i in range(length)] for start, step, length in items]
    return picks, tuple(length for _, _, length in items if length is not None)


def _lower_slice(code: _Code, node: Node, args: list[Ids]) -> Ids:
    if not node.payload:
        return args[0]
    picks, shape = _keys(node.payload)
    return np.asarray(args[0][np.ix_(*picks)].reshape(shape))


def _lower_pad(code: _Code, node: Node, args: list[Ids]) -> Ids:
    result = np.full(_fixed(node.shape), ZERO, np.int64)
    if not node.payload:
        return args[0]
    picks, _ = _keys(node.payload)
    result[np.ix_(*picks)] = args[0].reshape([len(p) for p in picks])
    return result


def _lower_gather(code: _Code, node: Node, args: list[Ids]) -> Ids:
    axis, indices = node.payload
    return np.take(args[0], np.array(indices, np.int64), axis=axis)


def _lower_scatter(code: _Code, node: Node, args: list[Ids]) -> Ids:
    axis, indices = node.payload
    result = np.moveaxis(np.full(_fixed(node.shape), ZERO, np.int64), axis, 0)
    for source, target in zip(np.moveaxis(args[0], axis, 0), indices, strict=True):
        for index in np.ndindex(source.shape):
            result[(target, *index)] = code.add(int(result[(target, *index)]), int(source[index]))
    return np.moveaxis(result, 0, axis)


def _lower_reshape(code: _Code, node: Node, args: list[Ids]) -> Ids:
    return args[0].reshape(_fixed(node.shape))


def _lower_concatenate(code: _Code, node: Node, args: list[Ids]) -> Ids:
    return np.concatenate(args, axis=node.payload)


def _each_matrix(lower: Callable[..., Any], result: int) -> Callable[[_Code, Node, list[Ids]], Ids]:
    """Lift a function of one matrix (lists of rows) to stacks; ``result`` is the rank it gives."""

    def run(code: _Code, node: Node, args: list[Ids]) -> Ids:
        lead = args[0].shape[:-2]
        parts = [lower(code, node.op, *[a[index].tolist() for a in args]) for index in np.ndindex(lead)]
        shape = _fixed(node.shape)
        return np.array(parts, np.int64).reshape(shape) if result else np.array(parts, np.int64).reshape(lead)

    return run


Matrix: TypeAlias = list[list[int]]


def _require_small(op: str, n: int, limit: int) -> None:
    if n > limit:
        raise UnsupportedError(f"{op} of a {n}×{n} matrix as straight-line code; the limit is {limit}×{limit}")


def _minors(code: _Code, rows: Matrix, columns: Sequence[int]) -> int:
    """Return the determinant of ``rows`` over ``columns`` by Laplace's expansion; equal minors are shared."""
    if not rows:
        return code.number(1.0)
    total = ZERO
    for place, column in enumerate(columns):
        if rows[0][column] == ZERO:
            continue
        rest = [c for c in columns if c != column]
        term = code.multiply(rows[0][column], _minors(code, rows[1:], rest))
        total = code.subtract(total, term) if place % 2 else code.add(total, term)
    return total


def _cofactors(code: _Code, a: Matrix) -> Matrix:
    """Return adj(a): the transposed cofactors."""
    n = len(a)
    result = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            minor = _minors(code, [row for r, row in enumerate(a) if r != i], [c for c in range(n) if c != j])
            result[j][i] = code.negative(minor) if (i + j) % 2 else minor
    return result


def _det(code: _Code, op: str, a: Matrix) -> int:
    n = len(a)
    if n <= COFACTOR_LIMIT:
        value = code.real(_minors(code, a, range(n)))
    else:
        _require_small(op, n, ELIMINATION_LIMIT)
        upper, sign = _eliminate(code, a, [[] for _ in a])[1:]
        value = sign
        for i in range(n):
            value = code.multiply(value, upper[i][i])
        value = code.real(value)
    if op == "logdet":
        return code.emit("log", value)
    return code.emit("log", code.emit("abs", value)) if op == "logabsdet" else value


def _inv(code: _Code, op: str, a: Matrix) -> Matrix:
    n = len(a)
    if n <= COFACTOR_LIMIT:
        adjugate = _cofactors(code, a)
        det = code.real(code.dot(a[0], [row[0] for row in adjugate])) if n else code.number(1.0)
        code.check(det, SINGULAR)
        scale = code.divide(code.number(1.0), det)
        return [[code.multiply(v, scale) for v in row] for row in adjugate]
    one = code.number(1.0)
    return _solve(code, op, a, [[one if i == j else ZERO for j in range(n)] for i in range(n)])


def _solve(code: _Code, op: str, a: Matrix, b: Matrix) -> Matrix:
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    right, upper, _ = _eliminate(code, a, b)
    for i in range(n):
        code.check(upper[i][i], SINGULAR)
    width = len(b[0]) if b else 0
    x = [[ZERO] * width for _ in range(n)]
    for i in reversed(range(n)):
        for j in range(width):
            known = code.dot(upper[i][i + 1 :], [x[k][j] for k in range(i + 1, n)])
            x[i][j] = code.divide(code.subtract(right[i][j], known), upper[i][i])
    return x


def _eliminate(code: _Code, a: Matrix, b: Matrix) -> tuple[Matrix, Matrix, int]:
    """Eliminate [a b] with partial pivoting: rows change places by selection, without a branch.

    Returns the right side, the upper triangle, and the sign of the permutation.
    """
    rows = [[*p, *q] for p, q in zip(a, b, strict=True)]
    n = len(a)
    sign = code.number(1.0)
    for k in range(n):
        for i in range(k + 1, n):
            if rows[i][k] == ZERO:
                continue
            if rows[k][k] == ZERO:
                rows[k], rows[i] = rows[i], rows[k]
                sign = code.negative(sign)
                continue
            larger = code.emit("less", code.emit("abs", rows[k][k]), code.emit("abs", rows[i][k]))
            top, low = rows[k], rows[i]
            rows[k] = [*top[:k], *(code.where(larger, q, p) for p, q in zip(top[k:], low[k:], strict=True))]
            rows[i] = [*low[:k], *(code.where(larger, p, q) for p, q in zip(top[k:], low[k:], strict=True))]
            sign = code.where(larger, code.negative(sign), sign)
        for i in range(k + 1, n):
            if rows[i][k] == ZERO:
                continue
            factor = code.divide(rows[i][k], rows[k][k])
            pairs = zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)
            rows[i] = [*rows[i][:k], ZERO, *(code.subtract(p, code.multiply(factor, q)) for p, q in pairs)]
    return [row[n:] for row in rows], [row[:n] for row in rows], sign


def _adjugate(code: _Code, op: str, a: Matrix) -> Matrix:
    _require_small(op, len(a), COFACTOR_LIMIT)
    return _cofactors(code, a)


def _adjugate_differential(code: _Code, op: str, a: Matrix, e: Matrix) -> Matrix:
    """Differentiate each cofactor: a minor is linear in each row, so one row at a time is exchanged."""
    n = len(a)
    _require_small(op, n, COFACTOR_LIMIT)
    result = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            columns = [c for c in range(n) if c != j]
            others = [r for r in range(n) if r != i]
            total = code.sum(_minors(code, [e[r] if r == p else a[r] for r in others], columns) for p in others)
            result[j][i] = code.negative(total) if (i + j) % 2 else total
    return result


def _cholesky(code: _Code, op: str, a: Matrix) -> Matrix:
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    lower = [[ZERO] * n for _ in range(n)]
    for j in range(n):
        rest = code.real(code.subtract(a[j][j], code.dot(lower[j][:j], lower[j][:j])))
        # 1 where the pivot is positive or NaN: NaN in gives NaN out
        fails = code.emit("less_equal", rest, code.number(0.0))
        code.check(code.emit("to_real", code.emit("logical_not", fails)), INDEFINITE)
        lower[j][j] = code.emit("sqrt", rest)
        for i in range(j + 1, n):
            lower[i][j] = code.divide(code.subtract(a[i][j], code.dot(lower[i][:j], lower[j][:j])), lower[j][j])
    return lower


_LOWER: dict[str, Callable[[_Code, Node, list[Ids]], Ids]] = {
    "constant": _lower_constant,
    "delta": _lower_delta,
    "onehot": _lower_onehot,
    "size": _lower_size,
    "contract": _lower_contract,
    "max": _reduction(_fold("maximum")),
    "min": _reduction(_fold("minimum")),
    "prod": _reduction(_fold_prod),
    "norm": _reduction(_fold_norm),
    "logsumexp": _reduction(_fold_logsumexp),
    "softmax": _lower_softmax,
    "log_softmax": _lower_softmax,
    "unit": _lower_unit,
    "cumsum": _lower_cumsum,
    "triangle": _lower_triangle,
    "slice": _lower_slice,
    "pad": _lower_pad,
    "gather": _lower_gather,
    "scatter": _lower_scatter,
    "reshape": _lower_reshape,
    "concatenate": _lower_concatenate,
    "det": _each_matrix(_det, 0),
    "logdet": _each_matrix(_det, 0),
    "logabsdet": _each_matrix(_det, 0),
    "inv": _each_matrix(_inv, 2),
    "solve": _each_matrix(_solve, 2),
    "adjugate": _each_matrix(_adjugate, 2),
    "adjugate_differential": _each_matrix(_adjugate_differential, 2),
    "cholesky": _each_matrix(_cholesky, 2),
}
