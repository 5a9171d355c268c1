"""Kinds of formulas that people write as arrays: a value and its gradients, in one text for symbols and for JAX.

The text takes the library that has the functions; NumPy's serve symbols, too. References are NumPy by hand. Nothing
here knows symdiff.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from bench.workloads import Data, Results, generator

__all__ = ["KINDS", "Kind"]


class Kind(NamedTuple):
    """One kind.

    Parameters
    ----------
    title : str
    value : callable
        Takes a library and the inputs, gives the value.
    wrt : tuple of str
        Inputs by which it is differentiated.
    data, reference : callable
        As of a :class:`bench.cases.Case`; the value comes first.
    full, small : mapping of str to int
    """

    title: str
    value: Callable[..., Any]
    wrt: tuple[str, ...]
    data: Callable[[Mapping[str, int]], Data]
    reference: Callable[[Data], Results]
    full: Mapping[str, int]
    small: Mapping[str, int]


# ---------------------------------------------------------------------------- regression


def _logistic(m: Any, X: Any, y: Any, b: Any) -> Any:
    return m.log(1.0 + m.exp(-y * (X @ b))).sum()


def _logistic_data(s: Mapping[str, int]) -> Data:
    r = generator()
    X, y = r.standard_normal((s["rows"], s["columns"])), np.sign(r.standard_normal(s["rows"]))
    return {"X": X, "y": y, "b": 0.3 * r.standard_normal(s["columns"])}


def _logistic_reference(d: Data) -> Results:
    t = d["y"] * (d["X"] @ d["b"])
    return [np.logaddexp(0.0, -t).sum(), -d["X"].T @ (d["y"] * special.expit(-t))]


def _poisson(m: Any, X: Any, y: Any, b: Any) -> Any:
    return (y * (X @ b) - m.exp(X @ b)).sum()


def _poisson_data(s: Mapping[str, int]) -> Data:
    r = generator()
    X, y = r.standard_normal((s["rows"], s["columns"])), r.poisson(1.0, s["rows"]).astype(float)
    return {"X": X, "y": y, "b": 0.2 * r.standard_normal(s["columns"])}


def _poisson_reference(d: Data) -> Results:
    t = d["X"] @ d["b"]
    return [(d["y"] * t - np.exp(t)).sum(), d["X"].T @ (d["y"] - np.exp(t))]


def _process(m: Any, t: Any, y: Any, width: Any, noise: Any) -> Any:
    n = y.shape[0]
    K = m.exp(-0.5 * (t[:, None] - t[None, :]) ** 2 / width**2) + noise * np.eye(n)
    return 0.5 * m.log(m.linalg.det(K)) + 0.5 * y @ m.linalg.solve(K, y)


def _process_data(s: Mapping[str, int]) -> Data:
    r = generator()
    t = np.sort(r.uniform(0.0, 10.0, s["n"]))
    return {"t": t, "y": np.sin(t) + 0.1 * r.standard_normal(s["n"]), "width": np.array(1.0), "noise": np.array(0.5)}


def _process_reference(d: Data) -> Results:
    square = (d["t"][:, None] - d["t"]) ** 2
    kernel = np.exp(-0.5 * square / d["width"] ** 2)
    factor = linalg.cho_factor(kernel + d["noise"] * np.eye(len(square)), lower=True)
    a = linalg.cho_solve(factor, d["y"])
    slope = 0.5 * (linalg.cho_solve(factor, np.eye(len(a))) - np.outer(a, a))
    value = np.log(np.diag(factor[0])).sum() + 0.5 * d["y"] @ a
    return [value, (slope * kernel * square).sum() / d["width"] ** 3, np.trace(slope)]


# ---------------------------------------------------------------------------- stencils, pairs, positions


def _lattice(m: Any, x: Any) -> Any:
    steps = (m.roll(x, 1, axis=0) - x) ** 2 + (m.roll(x, 1, axis=1) - x) ** 2
    return (0.5 * steps + 0.25 * (x**2 - 1.0) ** 2).sum()


def _lattice_reference(d: Data) -> Results:
    x = d["x"]
    neighbours = sum(np.roll(x, k, axis) for k in (1, -1) for axis in (0, 1))
    return [np.asarray(_lattice(np, x)), 4.0 * x - neighbours + x * (x * x - 1.0)]


def _correlation(m: Any, x: Any, w: Any) -> Any:
    (n, k), c = x.shape, w.shape[0]
    y = sum(w[i, j] * x[i : n - c + 1 + i, j : k - c + 1 + j] for i in range(c) for j in range(c))
    return (y**2).sum()


def _correlation_reference(d: Data) -> Results:
    x, w = d["x"], d["w"]
    parts = np.lib.stride_tricks.sliding_window_view(x, w.shape)
    y = np.einsum("abij,ij->ab", parts, w, optimize=True)
    return [(y**2).sum(), 2.0 * np.einsum("ab,abij->ij", y, parts, optimize=True)]


def _all_pairs(n: int) -> tuple[Any, Any]:
    return np.triu_indices(n, 1)


def _clusters(m: Any, x: Any) -> Any:
    i, j = _all_pairs(x.shape[0])
    s = 1.0 / ((x[i] - x[j]) ** 2).sum(axis=1)
    return (4.0 * (s**6 - s**3)).sum()


def _clusters_data(s: Mapping[str, int]) -> Data:
    side = np.arange(np.ceil(s["n"] ** (1 / 3)))
    places = np.stack(np.meshgrid(side, side, side, indexing="ij"), -1).reshape(-1, 3)[: s["n"]]
    return {"x": 1.2 * places + 0.05 * generator().standard_normal((s["n"], 3))}


def _clusters_reference(d: Data) -> Results:
    gap = d["x"][:, None] - d["x"]
    s = 1.0 / ((gap**2).sum(-1) + np.eye(len(gap)))
    s[np.diag_indices(len(s))] = 0.0
    return [2.0 * (s**6 - s**3).sum(), np.einsum("ij,ijk->ik", 4.0 * (-12.0 * s**7 + 6.0 * s**4), gap)]


def _listed(count: int, users: int, items: int) -> tuple[Any, Any]:
    r = generator(7)
    return r.integers(0, users, count), r.integers(0, items, count)


def _ratings(m: Any, r: Any, u: Any, v: Any) -> Any:
    i, j = _listed(r.shape[0], u.shape[0], v.shape[0])
    return ((r - (u[i] * v[j]).sum(axis=1)) ** 2).sum()


def _ratings_data(s: Mapping[str, int]) -> Data:
    r = generator()
    shapes = {"r": (s["count"],), "u": (s["users"], s["k"]), "v": (s["items"], s["k"])}
    return {name: r.standard_normal(shape) for name, shape in shapes.items()}


def _ratings_reference(d: Data) -> Results:
    u, v = d["u"], d["v"]
    i, j = _listed(len(d["r"]), len(u), len(v))
    rest = d["r"] - (u[i] * v[j]).sum(1)
    by_u, by_v = np.zeros_like(u), np.zeros_like(v)
    np.add.at(by_u, i, -2.0 * rest[:, None] * v[j])
    np.add.at(by_v, j, -2.0 * rest[:, None] * u[i])
    return [(rest**2).sum(), by_u, by_v]


# ---------------------------------------------------------------------------- networks


def _attention(m: Any, q: Any, k: Any, v: Any) -> Any:
    z = 0.25 * (q @ k.T)
    p = m.exp(z - m.max(z, axis=1, keepdims=True))
    p = p / m.sum(p, axis=1, keepdims=True)
    return ((p @ v) ** 2).sum()


def _attention_data(s: Mapping[str, int]) -> Data:
    r = generator()
    return {name: r.standard_normal((s["length"], s["width"])) for name in "qkv"}


def _attention_reference(d: Data) -> Results:
    q, k, v = d["q"], d["k"], d["v"]
    p = special.softmax(0.25 * (q @ k.T), axis=1)
    y = p @ v
    slope = p * (2.0 * y @ v.T)
    slope -= p * slope.sum(1, keepdims=True)
    return [(y**2).sum(), 0.25 * slope @ k, 0.25 * slope.T @ q, 2.0 * p.T @ y]


def _square(s: Mapping[str, int]) -> Data:
    return {"x": generator().standard_normal((s["n"], s["n"]))}


def _image(s: Mapping[str, int]) -> Data:
    r = generator()
    return {"x": r.standard_normal((s["n"], s["n"])), "w": r.standard_normal((s["k"], s["k"]))}


#: Kinds by the name on the command line.
KINDS = {
    "logistic": Kind(
        "logistic regression, a million rows", _logistic, ("b",), _logistic_data, _logistic_reference,
        {"rows": 1_000_000, "columns": 10}, {"rows": 9, "columns": 3},
    ),
    "poisson": Kind(
        "Poisson regression, 100,000 rows", _poisson, ("b",), _poisson_data, _poisson_reference,
        {"rows": 100_000, "columns": 8}, {"rows": 9, "columns": 3},
    ),
    "process": Kind(
        "Gaussian process, 200 points", _process, ("width", "noise"), _process_data, _process_reference,
        {"n": 200}, {"n": 5},
    ),
    "lattice": Kind(
        "action of a periodic lattice 512×512", _lattice, ("x",), _square, _lattice_reference, {"n": 512}, {"n": 4},
    ),
    "correlation": Kind(
        "energy of a 5×5 correlation, 256×256, by the kernel", _correlation, ("w",), _image, _correlation_reference,
        {"n": 256, "k": 5}, {"n": 6, "k": 2},
    ),
    "cluster": Kind(
        "Lennard-Jones cluster of 100 atoms", _clusters, ("x",), _clusters_data, _clusters_reference,
        {"n": 100}, {"n": 5},
    ),
    "ratings": Kind(
        "factors of 50,000 ratings by position", _ratings, ("u", "v"), _ratings_data, _ratings_reference,
        {"count": 50_000, "users": 1000, "items": 500, "k": 8}, {"count": 20, "users": 4, "items": 3, "k": 2},
    ),
    "attention": Kind(
        "attention over 32 positions", _attention, ("q", "k", "v"), _attention_data, _attention_reference,
        {"length": 32, "width": 16}, {"length": 4, "width": 3},
    ),
}  # fmt: skip
