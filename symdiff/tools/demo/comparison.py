"""The demo's loss, gradient and Hessian as one would otherwise get them, and their times.

By hand in NumPy: derived on paper (Böhning, Annals of the Institute of Statistical
Mathematics 44, 1992) and written with matrix products. By SymPy: differentiated as scalars and
compiled by ``lambdify`` with common subexpressions shared. Times mean nothing unless all
compute the same, so results are compared first.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import SymdiffError

__all__ = ["Batch", "Trial", "by_hand", "by_lambdify", "compare", "median_seconds"]

Numbers: TypeAlias = npt.NDArray[np.float64]
#: Samples that NumPy works on at once: they stay in the cache, and their products are too small
#: to be spread over threads, which takes longer than it saves.
BLOCK = 2048
#: Flowers, their species, and the ridge for each flower.
Batch: TypeAlias = tuple[Numbers, Numbers, float]
#: From flowers, their species and the ridge for each flower to loss, gradient and Hessian.
Contender: TypeAlias = Callable[[Numbers, Numbers, float], Mapping[str, Any]]


@dataclass(frozen=True)
class Trial:
    """Median times for one batch.

    Parameters
    ----------
    samples : int
    seconds : dict of str to float
        By contender.
    """

    samples: int
    seconds: dict[str, float]


def by_hand(W: Numbers) -> Contender:
    """Return the closed forms, written for speed in NumPy.

    With p = softmax(W x): the gradient is (p − y) xᵀ, the Hessian (diag(p) − p pᵀ) ⊗ x xᵀ.
    """

    def run(x: Numbers, y: Numbers, share: float) -> dict[str, Any]:
        ridge = share * len(x)
        loss, gradient, hessian = ridge / 2 * np.vdot(W, W), ridge * W, np.zeros((*W.shape, *W.shape))
        for start in range(0, len(x), BLOCK):
            loss += _add_block(W, x[start : start + BLOCK], y[start : start + BLOCK], gradient, hessian)
        hessian.reshape(W.size, W.size)[np.diag_indices(W.size)] += ridge
        return {"loss": loss, "gradient": gradient, "hessian": hessian}

    return run


def _add_block(W: Numbers, x: Numbers, y: Numbers, gradient: Numbers, hessian: Numbers) -> float:
    """Add what some samples give to the gradient and the Hessian; return what they give to the loss."""
    scores = x @ W.T
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    p = weights / total
    gradient += (p - y).T @ x
    # A product for each pair of classes takes a tenth of the time of one over all pairs at once.
    for k in range(len(W)):
        for m in range(k):
            part = (x * (p[:, k] * p[:, m])[:, None]).T @ x
            hessian[k, :, m, :] -= part
            hessian[m, :, k, :] -= part
        hessian[k, :, k, :] += (x * (p[:, k] * (1 - p[:, k]))[:, None]).T @ x
    return float(np.sum(np.log(total) + top) - np.vdot(y, scores))


def by_lambdify(W: Numbers) -> Contender:
    """Return the derivatives that SymPy finds, as its ``lambdify`` compiles them."""
    sp = import_module("sympy")
    classes, features = W.shape
    w = sp.symbols(f"w0:{W.size}")
    x, y, r = sp.symbols(f"x0:{features}"), sp.symbols(f"y0:{classes}"), sp.Symbol("r")
    scores = [sum(w[k * features + j] * x[j] for j in range(features)) for k in range(classes)]
    loss = sp.log(sum(map(sp.exp, scores))) - sum(a * b for a, b in zip(y, scores, strict=True))
    loss += r / 2 * sum(v**2 for v in w)
    gradient = [sp.diff(loss, v) for v in w]
    lower = [sp.diff(gradient[i], w[j]) for i in range(W.size) for j in range(i + 1)]
    function = sp.lambdify([w, x, y, r], [loss, *gradient, *lower], modules="numpy", cse=True)
    rows, columns = np.tril_indices(W.size)

    def run(x: Numbers, y: Numbers, share: float) -> dict[str, Any]:
        results = function(W.ravel(), x.T, y.T, share)
        sums = np.array([np.sum(np.broadcast_to(result, len(x))) for result in results])
        hessian = np.empty((W.size, W.size))
        hessian[rows, columns] = hessian[columns, rows] = sums[1 + W.size :]
        return {
            "loss": sums[0],
            "gradient": sums[1 : 1 + W.size].reshape(W.shape),
            "hessian": hessian.reshape(*W.shape, *W.shape),
        }

    return run


def compare(kernel: Contender, W: Numbers, batches: Sequence[Batch]) -> list[Trial]:
    """Time the kernel against both others.

    Parameters
    ----------
    kernel : callable
        symdiff's, at the same ``W``.
    W : ndarray, shape (classes, features)
    batches : sequence of Batch

    Returns
    -------
    list of Trial
        One for each batch.

    Raises
    ------
    SymdiffError
        If results differ, in which case nothing is timed.
    """
    contenders = {"symdiff": kernel, "NumPy by hand": by_hand(W), "sympy.lambdify": by_lambdify(W)}
    trials = []
    for x, y, share in batches:
        expected = kernel(x, y, share)
        for name, contender in contenders.items():
            found = contender(x, y, share)
            for part, value in expected.items():
                scale = np.abs(value).max()
                if not np.allclose(found[part], value, rtol=1e-9, atol=1e-9 * scale):
                    raise SymdiffError(f"the {part} by {name} differs from symdiff's; expected equal results to time")
        seconds = {name: median_seconds(contender, x, y, share) for name, contender in contenders.items()}
        trials.append(Trial(len(x), seconds))
    return trials


def median_seconds(contender: Contender, x: Numbers, y: Numbers, share: float, budget: float = 0.3) -> float:
    """Return the median time of a call, of at least 5 calls and as many as fit the budget."""
    times: list[float] = []
    while len(times) < 5 or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        contender(x, y, share)
        times.append(time.perf_counter() - start)
    return statistics.median(times)
