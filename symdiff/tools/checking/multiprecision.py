"""The graph evaluated in as many digits as wanted, and derivatives by differences of such values.

It shares nothing with the package but the nodes: scalar functions are those of
:mod:`symdiff.graph.reference.many_digits`, matrix functions are written out
over arrays of its numbers, whose exponents have no end. So what symdiff computes in doubles has a reference that
neither cancellation nor overflow reaches. Slow and obvious: :func:`symdiff.check` and the tests ask it at one point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import mpmath
import numpy as np
import numpy.typing as npt

from ...errors import UnsupportedError
from ...graph import Node, inputs_of, label_sizes, postorder, settles, step_number
from ...graph.reference.interpret import Bindings, bind_sizes
from ...graph.reference.many_digits import NO_VALUE, SCALARS, extremum, real
from ...graph.scalars.functions import FUNCTIONS, as_written
from ...graph.sizes import value

Exact = npt.NDArray[np.object_]

DIGITS = 80
STEP = "1e-16"
#: Digits that values are checked with, the step of differences in them, and how far beside a point its limit is.
CHECKED = 120
CHECK_STEP, BESIDE = mpmath.mpf(10) ** -40, mpmath.mpf(10) ** -30
#: Elements of an array, rows of a matrix that is factorized, and steps of a loop, up to which they are computed.
MOST, MATRIX, LOOP = 4_000, 30, 1_000


_mpf = np.frompyfunc(mpmath.mpf, 1, 1)


def exact(array: npt.ArrayLike) -> Exact:
    """Return numbers as mpmath numbers."""
    with np.errstate(invalid="ignore"):  # nan, in branches
        return np.asarray(_mpf(np.asarray(array, dtype=float)), dtype=object)


def doubles(array: Any) -> npt.NDArray[np.float64]:
    """Return mpmath numbers (or conditions) as doubles."""
    return np.array(np.frompyfunc(float, 1, 1)(array), dtype=float)


# ---------------------------------------------------------------------------- matrices


#: Rows up to which determinants are expanded.
_SUBSETS = 6


def determinant(a: Exact) -> Any:
    """Expand over subsets of columns: no division, so no rank matters; large ones by elimination."""
    n = len(a)
    if n > _SUBSETS:
        return mpmath.det(mpmath.matrix(a.tolist()))
    minors: dict[int, Any] = {0: mpmath.mpf(1)}
    for row in range(n):
        following: dict[int, Any] = {}
        for used, minor in minors.items():
            for column in range(n):
                bit = 1 << column
                if not used & bit:
                    sign = -1 if (used >> (column + 1)).bit_count() % 2 else 1
                    following[used | bit] = following.get(used | bit, 0) + sign * minor * a[row, column]
        minors = following
    return minors[(1 << n) - 1]


def adjugate(a: Exact) -> Exact:
    """Return the adjugate by minors."""
    n = len(a)
    if n > _SUBSETS:
        scaled: Exact = determinant(a) * inverse(a)
        return scaled
    result = np.empty((n, n), dtype=object)
    for i, j in itertools.product(range(n), repeat=2):
        minor = np.delete(np.delete(a, j, axis=0), i, axis=1)
        result[i, j] = (-1) ** (i + j) * determinant(minor)
    return result


def inverse(a: Exact) -> Exact:
    """Return the inverse of a matrix."""
    if len(a) > _SUBSETS:
        return np.array(mpmath.inverse(mpmath.matrix(a.tolist())).tolist(), dtype=object)
    result: Exact = adjugate(a) / determinant(a)
    return result


def cholesky(a: Exact) -> Exact:
    """Return the lower factor; it reads the lower triangle alone."""
    n = len(a)
    result = exact(np.zeros((n, n)))
    for j in range(n):
        result[j, j] = mpmath.sqrt(a[j, j] - sum(result[j, k] ** 2 for k in range(j)))
        for i in range(j + 1, n):
            result[i, j] = (a[i, j] - sum(result[i, k] * result[j, k] for k in range(j))) / result[j, j]
    return result


def adjugate_differential(a: Exact, e: Exact) -> Exact:
    """D adj(A)[E], by differences: adj is a polynomial of degree n - 1 in the step."""
    with mpmath.workdps(2 * mpmath.mp.dps):
        h = mpmath.mpf(10) ** -(mpmath.mp.dps // 4)
        slope: Exact = (adjugate(a + h * e) - adjugate(a - h * e)) / (2 * h)
    return slope


def eigen(a: Exact) -> tuple[Exact, Exact]:
    """Eigenvalues in rising order, and eigenvectors with the signs that NumPy gives."""
    part = (a + a.T) / 2
    values, vectors = mpmath.eigsy(mpmath.matrix(part.tolist()))
    v = np.array(vectors.tolist(), dtype=object)
    near = np.linalg.eigh(part.astype(float)).eigenvectors
    return np.array(list(values), dtype=object), v * np.sign((v * near).sum(axis=0).astype(float))


def exponential(args: Sequence[Exact], shape: tuple[int, ...]) -> Exact:
    """Mpmath's exponential of each matrix; its derivative by the corner of that of [[A, E], [0, A]]."""
    result, n = exact(np.zeros(shape)), shape[-1]
    for own in np.ndindex(*shape[:-2]):
        a, *direction = (np.broadcast_to(x, (*shape[:-2], n, n))[own] for x in args)
        whole = mpmath.zeros(n * len(args))
        for k in range(len(args)):
            whole[k * n : (k + 1) * n, k * n : (k + 1) * n] = mpmath.matrix(a.tolist())
        for e in direction:
            whole[:n, n:] = mpmath.matrix(e.tolist())
        result[own] = np.array(mpmath.expm(whole, method="taylor").tolist(), dtype=object)[:n, -n:]
    return result


def spectral(node: Node, args: Sequence[Exact], sizes: Mapping[str, int]) -> Exact:
    """Return the sum over all chains of eigenvalues, each weighted by a quotient of differences, points being apart."""
    count = node.payload.parameters
    directions = args[1 + count :]
    result = exact(np.zeros(tuple(value(n, sizes) for n in node.shape)))
    for own in np.ndindex(*result.shape[:-2]):
        x, v = eigen(np.broadcast_to(args[0], (*own_shape(result), *args[0].shape[-2:]))[own])
        inside = [v.T @ np.broadcast_to(e, (*own_shape(result), *e.shape[-2:]))[own] @ v for e in directions]
        numbers = {
            ("parameter", k): np.broadcast_to(n, own_shape(result))[own] for k, n in enumerate(args[1 : 1 + count])
        }

        for chain in np.ndindex(*[len(x)] * (len(directions) + 1)):
            term = difference(partial(of_one, node.payload.function, numbers), [x[i] for i in chain])
            for e, i, j in zip(inside, chain, chain[1:], strict=False):
                term = term * e[i, j]
            result[own] += term * np.outer(v[:, chain[0]], v[:, chain[-1]])
    return result


def isotropic(node: Node, args: Sequence[Exact]) -> Exact:
    """V diag(g) V^T of one matrix; its derivatives along directions are quotients of differences."""
    count, formula = node.payload.parameters, node.payload.function
    numbers: dict[Any, Exact] = {("spectrum parameter", k): x for k, x in enumerate(args[1 : 1 + count])}

    def at(a: Exact) -> Exact:
        x, v = eigen(a)
        known: dict[Any, Exact] = {("spectrum",): x, **numbers}
        (g,) = evaluate_exact([formula], {leaf.payload: known[leaf.payload.key] for leaf in inputs_of([formula])})
        turned = np.empty((*g.shape, len(x)), dtype=object)
        for own in np.ndindex(*g.shape[:-1]):
            turned[own] = (v * g[own]) @ v.T
        return turned

    if len(args) == 1 + count:
        return at(args[0])
    e, h = args[1 + count], mpmath.mpf(10) ** -(mpmath.mp.dps // 3)
    result = np.empty(node.shape, dtype=object)
    slopes = np.empty((*e.shape[:-2], *formula.shape, formula.shape[-1]), dtype=object)
    for own in np.ndindex(*e.shape[:-2]):
        slopes[own] = (at(args[0] + h * e[own]) - at(args[0] - h * e[own])) / (2 * h)
    for own in np.ndindex(*node.shape[:-2]):
        along = [k if n > 1 else 0 for k, n in zip(own[len(own) - e.ndim + 2 :], e.shape[:-2], strict=True)]
        lead = own[len(own) - formula.ndim + 1 :]
        result[own] = slopes[(*along, *lead)]
    return result


def of_one(formula: Node, numbers: Mapping[Any, Any], x: Any) -> Any:
    """Return a formula of one eigenvalue."""
    known = {("eigenvalue", 0): x, **numbers}
    given = {leaf.payload: np.asarray(known[leaf.payload.key], dtype=object) for leaf in inputs_of([formula])}
    return evaluate_exact([formula], given)[0].item()


def own_shape(stack: Exact) -> tuple[int, ...]:
    """Return the axes of a stack of matrices before the last two."""
    return stack.shape[:-2]


def difference(f: Callable[[Any], Any], points: Sequence[Any]) -> Any:
    """Return a divided difference; equal points move apart by more than the digits and less than the answer's."""
    apart = [p + i * mpmath.mpf(10) ** -(mpmath.mp.dps // 6) for i, p in enumerate(points)]
    values = [f(p) for p in apart]
    for width in range(1, len(points)):
        values = [(b - a) / (apart[i + width] - apart[i]) for i, (a, b) in enumerate(itertools.pairwise(values))]
    return values[0]


MATRICES: dict[str, Callable[..., Any]] = {
    "det": determinant,
    "logdet": lambda a: mpmath.log(determinant(a)),
    "logabsdet": lambda a: mpmath.log(abs(determinant(a))),
    "inv": inverse,
    "adjugate": adjugate,
    "cholesky": cholesky,
    "adjugate_differential": adjugate_differential,
    "solve": lambda a, b: inverse(a) @ b,
    "eigvalsh": lambda a: eigen(a)[0],
    "eigenvectors": lambda a: eigen(a)[1],
}


def _stacked(function: Callable[..., Any], node: Node, args: Sequence[Exact], shape: tuple[int, ...]) -> Exact:
    lead = shape[: len(args[0].shape) - 2]
    result = np.empty(shape, dtype=object)
    for place in np.ndindex(*lead):
        result[place] = function(*(a[place] for a in args))
    return result


# ---------------------------------------------------------------------------- the interpreter


def _arranged(x: Exact, key: Any, axis: int, back: bool) -> Exact:
    """Multiply each line by the matrix of which element stands where, a mean over the orders of ties."""
    x, key = np.moveaxis(x, axis, -1), np.moveaxis(key, axis, -1)
    result = np.empty(x.shape, dtype=object)
    for index in np.ndindex(key.shape[:-1]):
        line = key[index]
        first = (line[None, :] < line[:, None]).sum(axis=1)
        ties = (line[None, :] == line[:, None]).sum(axis=1)
        place = np.arange(line.size)[:, None]
        weights = exact((first <= place) & (place < first + ties)) / exact(ties)
        result[(..., *index, slice(None))] = x[(..., *index, slice(None))] @ (weights if back else weights.T)
    return np.moveaxis(result, -1, axis)


_RUNNING = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


def evaluate_exact(roots: Sequence[Node], values: Mapping[Any, Exact], more: Sequence[Node] = ()) -> list[Exact]:
    """Compute ``roots`` with the digits mpmath is set to; ``more`` are inputs that only sizes are told from."""
    inputs = list(dict.fromkeys([*more, *inputs_of(roots)]))
    sizes = bind_sizes(inputs, [values[node.payload].shape for node in inputs])
    done: dict[Node, Exact] = {node: values[node.payload] for node in inputs}
    for node in postorder(roots):
        if node not in done:
            shape = tuple(value(n, sizes) for n in node.shape)
            result = np.asarray(_compute(node, [done[a] for a in node.args], shape, sizes), dtype=object)
            assert result.shape == shape, (node, result.shape, shape)
            done[node] = result
    return [done[root] for root in roots]


#: Largest orders and parameters, which come first, of functions that take mpmath seconds beyond; and their number.
PARAMETERS = {
    **dict.fromkeys(("kv", "kve", "kve_near", "k_moment", "yv", "yv_near"), (3e3, 1)),
    **dict.fromkeys(("jv", "jv_near", "iv", "iv_far", "i_moment", "polygamma"), (3e4, 1)),
    **dict.fromkeys(("betainc", "log_betainc"), (3e4, 2)),
    **dict.fromkeys(("betaincinv", "betaincinv_near"), (3e5, 2)),
    **dict.fromkeys(("gammaincinv", "gammainccinv"), (1e7, 1)),
}


def _of_parameters(op: str) -> Callable[..., Any]:
    """Return a function that gives up at once where mpmath would take long."""
    function = SCALARS[op]
    if op not in PARAMETERS:
        return function
    largest, count = PARAMETERS[op]

    def call(*args: Any) -> Any:
        if any(abs(arg) > largest for arg in args[:count]):
            raise mpmath.libmp.NoConvergence(f"{op} of {args[:count]}")
        return function(*args)

    return call


def _compute(
    node: Node,
    args: list[Exact],
    shape: tuple[int, ...],
    sizes: Mapping[str, int],
    given_up: Callable[[], object] = lambda: None,
) -> Any:
    op, payload = node.op, node.payload
    if op in SCALARS:
        return np.frompyfunc(real(_of_parameters(op), given_up), len(args), 1)(*args)
    if op in MATRICES:
        return _stacked(MATRICES[op], node, args, shape)
    if op == "spectral":
        return spectral(node, args, sizes)
    if op == "isotropic":
        return isotropic(node, args)
    if op == "pinv":
        (a,) = args
        turned = a.swapaxes(-1, -2)
        return _stacked(MATRICES["solve"], node, [turned @ a, turned], shape)
    if op == "expm":
        return exponential(args, shape)
    if op == "constant":
        return exact(node.value)
    if op == "size":
        return mpmath.mpf(value(payload.size, sizes))
    if op == "contract":
        return _contract(node, args, shape, sizes)
    if op == "delta":
        (start, step), result = payload, exact(np.zeros(shape))
        for i in range(shape[0]):
            k = value(start, sizes) + step * i
            if 0 <= k < shape[1]:
                result[i, k] = mpmath.mpf(1)
        return result
    if op == "onehot":
        result = exact(np.zeros(shape))
        result[value(payload.at, sizes)] = mpmath.mpf(1)
        return result
    if op in _OVER_AXES:
        return _OVER_AXES[op](args[0], payload.axes)
    if op == "sort":
        axis, reverse = payload
        x = np.sort(args[0], axis)
        return np.flip(x, axis) if reverse else x
    if op == "arrange":
        axis, back = payload
        return _arranged(args[0], np.asarray(args[1], dtype=float), axis, back)
    if op in _RUNNING:
        axis, reverse = payload
        x = np.flip(args[0], axis) if reverse else args[0]
        x = _RUNNING[op].accumulate(x, axis)
        return np.flip(x, axis) if reverse else x
    if op == "slice":
        return args[0][_places(payload.items, args[0].shape, sizes)]
    if op == "pad":
        result = exact(np.zeros(shape))
        result[_places(payload.items, shape, sizes)] = args[0]
        return result
    if op == "gather":
        return np.take(args[0], list(payload.indices), axis=payload.axis)
    if op == "scatter":
        axis, indices = payload
        result = exact(np.zeros(shape))
        for place, index in enumerate(indices):
            np.moveaxis(result, axis, 0)[index] += np.moveaxis(args[0], axis, 0)[place]
        return result
    if op in ("take", "put"):
        place, lead = payload.axis + len(shape if op == "put" else args[0].shape), payload.shared
        result = exact(np.zeros(shape))
        for own in np.ndindex(args[1].shape):
            before = (slice(None),) * (place - lead) + own[:lead]
            whole, part = (*before, int(args[1][own])), (*before, *own[lead:])
            if op == "take":
                result[part] = args[0][whole]
            else:
                result[whole] += args[0][part]
        return result
    if op == "triangle":
        upper, offset = payload
        keep = (np.triu if upper else np.tril)(np.ones(shape), offset).astype(bool)
        return np.where(keep, args[0], mpmath.mpf(0))
    if op == "reshape":
        return args[0].reshape(shape)
    if op == "concatenate":
        return np.concatenate(args, axis=payload.axis)
    if op in ("stop_gradient", "named"):
        return args[0]
    if op == "recurrence":
        return _repeated(node, args)
    raise LookupError(f"the exact interpreter has no {op}")


def _repeated(node: Node, args: list[Exact]) -> Exact:
    body, length, reverse = node.payload
    first, second = len(body.carried), len(body.carried) + len(body.read)
    carried, along = args[:first], list(zip(body.read, args[first:second], strict=True))
    written: dict[int, list[Exact]] = {}
    may_settle = settles(body)
    for k in range(length)[:: -1 if reverse else 1]:
        given = dict(zip(body.carried, carried, strict=True))
        given |= {own: np.asarray(rows[k], dtype=object) for own, rows in along}
        given |= dict(zip(body.held, args[second:], strict=True))
        given[step_number()] = np.asarray(mpmath.mpf(k), dtype=object)
        results = evaluate_exact(body.results, {own.payload: value for own, value in given.items()})
        before, carried, written[k] = carried, results[:first], results[first:]
        if may_settle and all((now == then).all() for now, then in zip(carried, before, strict=True)):
            break
    rows = [part for j in range(len(body.results) - first) for part in (written[k][j] for k in range(length))]
    return np.concatenate([part.ravel() for part in (*carried, *rows)])


def _places(items: Any, shape: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[Any, ...]:
    places: list[Any] = []
    for (start, step, length), _ in zip(items, shape, strict=True):
        first = value(start, sizes)
        places.append(first if length is None else [first + step * i for i in range(value(length, sizes))])
    keys = [[p] if isinstance(p, int) else p for p in places]
    grid = np.ix_(*keys) if keys else ()
    drop = tuple(i for i, p in enumerate(places) if isinstance(p, int))
    return tuple(np.squeeze(g, axis=drop) if drop else g for g in grid)


def _contract(node: Node, args: list[Exact], shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    labels, out, _ = node.payload
    extents = {label: value(size, sizes) for label, size in label_sizes(node).items()}
    order = list(extents)
    total: Any = np.asarray(mpmath.mpf(1), dtype=object)  # mpmath's own product with an array is slow
    for arg, own in zip(args, labels, strict=True):
        distinct = list(dict.fromkeys(own))
        diagonal = arg
        if len(distinct) != len(own):
            grid = np.ix_(*(range(extents[label]) for label in distinct))
            diagonal = arg[tuple(grid[distinct.index(label)] for label in own)]
        ordered = sorted(distinct, key=order.index)
        moved = diagonal.transpose([distinct.index(label) for label in ordered])
        total = total * moved.reshape([extents[label] if label in own else 1 for label in order])
    total = np.broadcast_to(np.asarray(total, dtype=object), [extents[label] for label in order])
    gone = tuple(i for i, label in enumerate(order) if label not in out)
    kept = [label for label in order if label in out]
    if gone and any(total.shape[i] == 0 for i in gone):
        summed = exact(np.zeros([extents[label] for label in kept]))
    else:
        summed = np.asarray(total.sum(axis=gone) if gone else total, dtype=object)
    return summed.transpose([kept.index(label) for label in out])


def _reduced(function: Callable[[list[Any]], Any]) -> Callable[[Exact, tuple[int, ...]], Any]:
    def reduce(x: Exact, axes: tuple[int, ...]) -> Any:
        gone = sorted(axis % x.ndim for axis in axes)
        kept = [axis for axis in range(x.ndim) if axis not in gone]
        moved = x.transpose([*kept, *gone])
        result = np.empty([x.shape[axis] for axis in kept], dtype=object)
        for place in np.ndindex(*result.shape):
            result[place] = function(list(np.asarray(moved[place], dtype=object).ravel()))
        return result

    return reduce


_exp, _log, _sqrt = (np.frompyfunc(real(f), 1, 1) for f in (mpmath.exp, mpmath.log, mpmath.sqrt))


def _softmax(x: Exact, axes: tuple[int, ...]) -> Any:
    powers = _exp(x)
    return powers / np.sum(powers, axis=axes, keepdims=True) if axes else powers / powers


_OVER_AXES: dict[str, Callable[[Exact, tuple[int, ...]], Any]] = {
    "max": _reduced(lambda xs: extremum(max)(*xs)),
    "min": _reduced(lambda xs: extremum(min)(*xs)),
    "prod": _reduced(mpmath.fprod),
    "norm": _reduced(lambda xs: mpmath.sqrt(mpmath.fsum(x * x for x in xs))),
    "logsumexp": _reduced(lambda xs: mpmath.log(mpmath.fsum(map(mpmath.exp, xs)))),
    "softmax": _softmax,
    "log_softmax": lambda x, axes: _log(_softmax(x, axes)),
    "unit": lambda x, axes: x / _sqrt(np.sum(x * x, axis=axes, keepdims=True)),
}


# ---------------------------------------------------------------------------- derivatives by differences


def directional(
    roots: Sequence[Node],
    values: Mapping[Any, npt.ArrayLike],
    directions: Sequence[Mapping[Any, npt.ArrayLike]],
    more: Sequence[Node] = (),
) -> list[npt.NDArray[np.float64]]:
    """Return D^k roots[u, v, ...] for k = len(directions), by central differences at 80 digits."""
    with mpmath.workdps(DIGITS):
        step = mpmath.mpf(STEP)
        total: list[Any] = [0] * len(roots)
        start = {name: exact(x) for name, x in values.items()}
        ways = [{name: exact(x) for name, x in way.items()} for way in directions]
        for signs in itertools.product((1, -1), repeat=len(ways)):
            point = dict(start)
            for sign, way in zip(signs, ways, strict=True):
                for name, x in way.items():
                    point[name] = np.asarray(point[name] + sign * step * x, dtype=object)
            for i, part in enumerate(evaluate_exact(roots, point, more)):
                total[i] = total[i] + int(np.prod(signs)) * part
        scale = (2 * step) ** len(ways)
        return [doubles(part / scale) for part in total]


def missing_scalars() -> set[str]:
    """Return the functions of the table this module does not know."""
    return set(FUNCTIONS) - set(SCALARS)


# ---------------------------------------------------------------------------- whole formulas, as check asks for them


def exact_values(
    roots: Sequence[Node], point: Mapping[Any, Any], sizes: Bindings, digits: int = CHECKED, most: int = MOST
) -> list[Exact]:
    """Evaluate nodes in many digits.

    Parameters
    ----------
    roots : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.rewrite.inline`).
    point : mapping
        An array for each input, by the input's name: of floats or of mpmath's numbers.
    sizes : mapping of str to int
        Numbers of named sizes.
    digits : int
    most : int
        Elements up to which an array is computed.

    Returns
    -------
    list of ndarray of objects
        nan where there is no real value.

    Raises
    ------
    UnsupportedError
        If an operation is not known here, or an array, a matrix that is factorized or a loop is too large, or where a
        result is nan and mpmath has given up a function below it.
    """
    written = as_written(roots)
    refuse_large(written, sizes, most)
    done: dict[Node, Any] = {}
    given_up: dict[str, None] = {}
    todo = list(reversed(written))
    with mpmath.workdps(digits), np.errstate(all="ignore"):
        while todo:
            node = todo[-1]
            wanted = _observed(node, done)
            missing = [] if node in done else [arg for arg in wanted if arg not in done]
            if missing:
                todo += reversed(missing)
                continue
            todo.pop()
            if node in done:
                continue
            if node.is_input:
                done[node] = numbers_of(point[node.name])
                continue
            shape = tuple(value(n, sizes) for n in node.shape)
            if len(wanted) < len(node.args):
                done[node] = np.broadcast_to(done[wanted[-1]], shape)
                continue
            args = [done[arg] for arg in node.args]
            try:
                done[node] = np.asarray(
                    _compute(node, args, shape, sizes, partial(given_up.setdefault, node.op)), dtype=object
                )
            except LookupError:
                raise UnsupportedError(f"{node.op} in many digits") from None
            except NO_VALUE:
                done[node] = np.full(shape, mpmath.nan, dtype=object)
    results = [done[root] for root in written]
    if given_up and any(mpmath.isnan(one) for result in results for one in result.flat if not isinstance(one, bool)):
        raise UnsupportedError(f"{', '.join(given_up)} of numbers at which mpmath gives up")
    return results


def _observed(node: Node, done: Mapping[Node, Any]) -> tuple[Node, ...]:
    """Return the arguments that are observed: of a choice whose branch is known for all elements that one alone."""
    if not node.is_choice or node.args[0] not in done:
        return node.args[:1] if node.is_choice else node.args
    chosen = {bool(one) for one in np.ravel(done[node.args[0]])}
    return node.args if len(chosen) != 1 else (node.args[0], node.args[1 if chosen.pop() else 2])


def refuse_large(roots: Sequence[Node], sizes: Bindings, most: int) -> None:
    """Refuse formulas that take long in many digits."""
    for node in postorder(roots):
        if math.prod(value(size, sizes) for size in node.shape) > most:
            raise UnsupportedError(f"an array of more than {most} elements in many digits")
        if node.op in (*MATRICES, "spectral", "pinv", "expm") and max(_lengths(node, sizes)) > MATRIX:
            raise UnsupportedError(f"{node.op} of a matrix beyond {MATRIX} by {MATRIX} in many digits")
        if node.is_recurrence and node.payload.length > LOOP:
            raise UnsupportedError(f"a loop of more than {LOOP} steps in many digits")
        if node.is_contraction:
            length = [value(size, sizes) for size in label_sizes(node).values()]
            if math.prod(length) > 100 * most:
                raise UnsupportedError("a product of arrays that are large in many digits")


def _lengths(node: Node, sizes: Bindings) -> tuple[int, ...]:
    return tuple(value(n, sizes) for n in node.args[0].shape[-2:])


def numbers_of(array: Any) -> Exact:
    """Return an array of mpmath's numbers; conditions and positions stay what they are."""
    array = np.asarray(array)
    return exact(array) if array.dtype.kind == "f" else np.asarray(array, dtype=object)


class Spread(NamedTuple):
    """Distance of the numbers of a point in decades, 1 among them.

    Parameters
    ----------
    least : float
        The least of them, beside which a step is small.
    decades : int
        Digits between that and the largest one, which hold a step beside it.
    """

    least: float = 1.0
    decades: int = 0


def spread_of(arrays: Iterable[Any]) -> Spread:
    """Return how far numbers are apart; 0 and what is not finite have no size."""
    sizes = np.concatenate([np.ones(1), *(np.ravel(np.abs(np.asarray(a, float))) for a in arrays)])
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    least, largest = float(sizes.min()), float(sizes.max())
    return Spread(least, math.ceil(math.log10(largest) - math.log10(least)))


def limit(f: Callable[[Any], Any], spread: Spread, smooth: bool = False) -> Any:
    """Return f(0) in many digits, or the number that f is close to on both sides of 0; nan where there is none.

    Parameters
    ----------
    f : callable
        Takes a number of mpmath, gives an array of such.
    spread : Spread
        Of the numbers that move.
    smooth : bool
        Whether f(0) itself counts only where f is close to it on both sides.
    """

    def choose(here: Any, *beside: Any) -> Any:
        if mpmath.isfinite(here) and not smooth:
            return here
        if not all(map(mpmath.isfinite, beside)):
            return mpmath.nan
        near = [x for x in (here, *beside) if mpmath.isfinite(x)]
        middle = (beside[-2] + beside[-1]) / 2
        close = all(abs(x - middle) <= mpmath.mpf(10) ** -8 * (1 + abs(middle)) for x in near)
        return (here if mpmath.isfinite(here) else middle) if close else mpmath.nan

    with mpmath.workdps(CHECKED + spread.decades):
        beside = BESIDE * mpmath.mpf(spread.least)
        steps = (mpmath.mpf(0), -1000 * beside, 1000 * beside, -beside, beside)
        found = [np.asarray(f(t), dtype=object) for t in steps]
        return np.asarray(np.frompyfunc(choose, len(steps), 1)(*found), dtype=object)


def slope(f: Callable[[Any], Any], spread: Spread) -> Any:
    """Return the derivative of f at 0 by central differences in many digits; nan where f is not smooth."""
    with mpmath.workdps(CHECKED + spread.decades):
        h = CHECK_STEP * mpmath.mpf(spread.least)
        return limit(lambda t: (np.asarray(f(t + h)) - np.asarray(f(t - h))) / (2 * h), spread, smooth=True)
