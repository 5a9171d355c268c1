"""A formula as a user of NumPy would write it: whole arrays, a batch in front, without guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...frontend.array import Array
from ...graph import BOOL, INT, Node, inputs_of, label_sizes, postorder
from ...graph.reference.interpret import bind_sizes, evaluate, find_function
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import value
from ...rewrite import inline

__all__ = ["plain_numpy"]

_Function = Callable[..., Any]
#: Operations of matrices, each with NumPy's own function.
_MATRICES: dict[str, _Function] = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "logdet": lambda a: np.linalg.slogdet(a)[1],
    "logabsdet": lambda a: np.linalg.slogdet(a)[1],
    "cholesky": np.linalg.cholesky,
    "pinv": np.linalg.pinv,
    "eigvalsh": np.linalg.eigvalsh,
}
#: Functions that NumPy has no name for, as they are written with it.
_WRITTEN: dict[str, _Function] = {
    "sech": lambda x: 1 / np.cosh(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def plain_numpy(results: Mapping[str, Array], sample: Mapping[str, Any]) -> _Function | None:
    """Return formulas as calls of NumPy alone, one for each operation; None where NumPy has no such call.

    Parameters
    ----------
    results : mapping of str to Array
    sample : mapping of str to ndarray
        One sample of each input; constants get their sizes from it.

    Returns
    -------
    callable or None
        Takes the inputs in the order of ``sample``, with batch axes in front or without; returns a dict.

    Examples
    --------
    >>> import symdiff as sd
    >>> A = sd.matrix("A", 2, 2)
    >>> f = plain_numpy({"A": sd.gradient(np.log(np.linalg.det(A)), A)}, {"A": np.eye(2)})
    >>> f(2 * np.eye(2))["A"].tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    roots = inline([one.node for one in results.values()])
    names = list(sample)
    order = postorder(roots)
    if any(node.dtype is INT for node in inputs_of(roots)) or not all(one.node.ndim <= 2 for one in results.values()):
        return None
    place = {node: k for k, node in enumerate(order)}
    steps: list[tuple[_Function, list[int]]] = []
    for node in order:
        if node.is_input:
            at = names.index(str(node.name))
            steps.append((lambda given, at=at: given[at], []))
            continue
        if not inputs_of([node]):
            (constant,) = evaluate([node], sample, inputs_of(roots))
            steps.append((lambda given, constant=constant: constant, []))
            continue
        function = _call(node, sample, roots)
        if function is None:
            return None
        steps.append((function, [place[arg] for arg in node.args]))
    ends = {name: place[root] for name, root in zip(results, roots, strict=True)}

    def run(*given: Any) -> dict[str, Any]:
        done: list[Any] = []
        for function, args in steps:
            done.append(function(*[done[k] for k in args]) if args else function(given))
        return {name: done[k] for name, k in ends.items()}

    return run


def _call(node: Node, sample: Mapping[str, Any], roots: Sequence[Node]) -> _Function | None:
    row = FUNCTIONS.get(node.op)
    if row is not None:
        function = _scalar(row.numpy)
        if function is None:
            return None
        lower = {k: node.ndim - arg.ndim for k, arg in enumerate(node.args) if 0 < arg.ndim < node.ndim or not arg.ndim}
        if not node.ndim or not any(lower.values()):
            return function
        ranks = [arg.ndim for arg in node.args]

        def spread(*args: Any) -> Any:
            return function(*(_raised(a, n, node.ndim) for a, n in zip(args, ranks, strict=True)))

        return spread
    if node.op in _MATRICES:
        return _MATRICES[node.op]
    if node.is_reshape:
        known = inputs_of(roots)
        sizes = bind_sizes(known, [np.shape(sample[str(one.name)]) for one in known])
        shape, rank = tuple(value(size, sizes) for size in node.shape), node.args[0].ndim
        return lambda a: a.reshape((*a.shape[: a.ndim - rank], *shape))
    if node.op == "solve":
        return np.linalg.solve
    if node.op in ("max", "min"):
        axes = tuple(axis - node.args[0].ndim for axis in node.payload.axes)
        extreme = np.max if node.op == "max" else np.min
        return lambda a: extreme(a, axis=axes)
    if node.is_contraction and len(label_sizes(node)) <= len(_LETTERS) and BOOL not in {a.dtype for a in node.args}:
        labels, out, repeated = node.payload
        if not repeated:
            return _product([tuple(each) for each in labels], tuple(out))
    return None


def _scalar(spelling: str) -> _Function | None:
    """Return NumPy's or SciPy's own function of numbers."""
    scope, _, name = spelling.rpartition(".")
    if scope == "special":
        from scipy import special

        found: _Function | None = getattr(special, name, None)
        return found
    return find_function(spelling) if scope == "np" else _WRITTEN.get(name)


def _raised(a: Any, rank: int, wanted: int) -> Any:
    """Give each sample of a batch as many axes as the result's have."""
    lead = a.ndim - rank
    return a.reshape((*a.shape[:lead], *(1,) * (wanted - rank), *a.shape[lead:])) if lead else a


def _product(labels: list[tuple[int, ...]], out: tuple[int, ...]) -> _Function:
    """Return a sum of products from left to right, each by matmul where it is one."""
    if len(labels) == 1 and sorted(labels[0]) == sorted(out) and len(set(out)) == len(out):
        (own,) = labels
        if own == out:
            return lambda a: a
        if len(own) == 2:
            return lambda a: np.swapaxes(a, -1, -2)
    if len(labels) < 2:
        return _einsum(labels, out)
    steps, now = [], labels[0]
    for k, own in enumerate(labels[1:], 1):
        later = {i for each in labels[k + 1 :] for i in each} | set(out)
        kept = tuple(i for i in dict.fromkeys((*now, *own)) if i in later) if k < len(labels) - 1 else out
        steps.append(_pair(now, own, kept))
        now = kept

    def product(first: Any, *others: Any) -> Any:
        for step, other in zip(steps, others, strict=True):
            first = step(first, other)
        return first

    return product


def _pair(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...]) -> _Function:
    shared = [i for i in a if i in b]
    plain = len(set(a)) == len(a) and len(set(b)) == len(b)
    if plain and not shared and (not a or not b) and out == a + b:
        other = len(b) or len(a)
        scalar_first = not a

        def scale(x: Any, y: Any) -> Any:
            small, large = (x, y) if scalar_first else (y, x)
            return small.reshape(small.shape + (1,) * other) * large if small.ndim else small * large

        return scale
    if plain and len(shared) == 1 and shared[0] not in out and len(a) <= 2 and len(b) <= 2:
        (k,) = shared
        left, right = [i for i in a if i != k], [i for i in b if i != k]
        if out in {(*left, *right), (*right, *left)}:
            turn = bool(left and right and out != (*left, *right))

            def matmul(x: Any, y: Any) -> Any:
                x = x[..., None, :] if not left else np.swapaxes(x, -1, -2) if a[0] == k else x
                y = y[..., :, None] if not right else np.swapaxes(y, -1, -2) if b[1] == k else y
                found = x @ y
                found = found[..., 0] if not right else found
                found = (found[..., 0] if not right else found[..., 0, :]) if not left else found
                return np.swapaxes(found, -1, -2) if turn else found

            return matmul
    return _einsum([a, b], out)


def _einsum(labels: list[tuple[int, ...]], out: tuple[int, ...]) -> _Function:
    names = {label: _LETTERS[k] for k, label in enumerate(dict.fromkeys(i for each in labels for i in each))}
    rule = ",".join("..." + "".join(names[i] for i in each) for each in labels)
    rule += "->..." + "".join(names[i] for i in out)
    return lambda *args: np.einsum(rule, *args)
