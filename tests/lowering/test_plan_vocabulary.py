"""What NumPy's users write has plans for sizes that are letters, in values and gradients, with no step of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.errors import DisconnectedInputError

Array = npt.NDArray[Any]
LA = np.linalg
ROWS = 37

SYMBOLS: dict[str, Any] = {
    "x": sd.vector("x", "n"),
    "y": sd.vector("y", "n"),
    "t": sd.scalar("t"),
    "A": sd.matrix("A", "n", "n"),
    "B": sd.matrix("B", "n", 7),
    "W": sd.matrix("W", 5, "n"),
    "P": sd.matrix("P", "n", "n", positive_definite=True),
}
x, y, t, A, B, W, P = SYMBOLS.values()

FORMULAS: dict[str, Callable[[], Any]] = {
    "map": lambda: np.exp(x) * y,
    "sum": lambda: np.sum(x * y),
    "variance": lambda: np.var(x),
    "deviation": lambda: np.std(x, ddof=1),
    "product": lambda: np.prod(x),
    "least by columns": lambda: np.min(A, axis=0),
    "range": lambda: np.ptp(x),
    "cumsum": lambda: np.cumsum(x[::-1]),
    "cumprod": lambda: np.cumprod(x),
    "running maximum": lambda: np.maximum.accumulate(x),
    "softmax": lambda: sd.softmax(x),
    "logsumexp": lambda: sd.logsumexp(A, axis=1),
    "log_softmax": lambda: sd.log_softmax(A, axis=0),
    "norms": lambda: LA.norm(x) + LA.norm(x, 1) + LA.norm(x, np.inf) + LA.norm(x, 3) + LA.norm(A),
    "products": lambda: A.T @ A @ x,
    "outer": lambda: np.outer(x, y),
    "kron": lambda: np.kron(B, W),
    "trace": lambda: np.trace(A),
    "diagonal": lambda: np.diag(A),
    "diagonal of a product": lambda: np.diag(A @ A),
    "diagonal matrix": lambda: np.diag(x),
    "einsum": lambda: np.einsum("ij,jk,k->i", A, A, x),
    "inv": lambda: LA.inv(A),
    "determinant": lambda: LA.det(A / ROWS),
    "slogdet": lambda: LA.slogdet(A)[1],
    "solve": lambda: LA.solve(A, B),
    "small solve": lambda: LA.solve(W @ W.T, W),
    "cholesky": lambda: LA.cholesky(P),
    "pinv": lambda: LA.pinv(B),
    "qr": lambda: LA.qr(B)[0],
    "eigvalsh": lambda: LA.eigvalsh(P),
    "logm": lambda: sd.logm(P),
    "power": lambda: LA.matrix_power(A, -2),
    "triangular solve": lambda: sd.solve_triangular(A, x, lower=True),
    "sort": lambda: np.sort(x),
    "median": lambda: np.median(x),
    "percentile": lambda: np.percentile(A, 30, axis=0),
    "where": lambda: np.where(x > 1, x, y**2),
    "select": lambda: np.select([x > 1.2, x > 0.8], [x, y], 0),
    "clip": lambda: np.clip(x, 0.7, 1.1),
    "diff": lambda: np.diff(x, 2),
    "grid gradient": lambda: np.gradient(x),
    "trapezoid": lambda: np.trapezoid(x),
    "convolve": lambda: np.convolve(x, [1, 2.0, 3]),
    "correlate": lambda: np.correlate(x, [1, 2.0, 3], "valid"),
    "pad": lambda: np.pad(x, 3),
    "pad edge": lambda: np.pad(x, 3, mode="edge"),
    "pad wrap": lambda: np.pad(x, 3, mode="wrap"),
    "pad reflect": lambda: np.pad(x, 3, mode="reflect"),
    "covariance": lambda: np.cov(W),
    "correlation": lambda: np.corrcoef(W),
    "nanmean": lambda: np.nanmean(x),
    "roll": lambda: np.roll(x, 3),
    "turned": lambda: np.rot90(np.fliplr(A)),
    "concatenate": lambda: np.concatenate([x, y]),
    "sums of joined rows": lambda: np.sum(np.concatenate([np.exp(A), A * 2], axis=1), axis=1),
    "stack": lambda: np.stack([x, y], 1),
    "tile": lambda: np.tile(x, 3),
    "repeat": lambda: np.repeat(x, 3),
    "triangles": lambda: np.triu(A) - 2 * np.tril(A, -1),
    "vander": lambda: np.vander(x, 4),
    "interp": lambda: np.interp(x, [0, 1.0, 2], [1.0, 3, 2]),
    "chosen": lambda: x[[0, 3, 1, 1]],
    "chosen columns": lambda: A[:, [0, 2]],
    "stencil": lambda: A[2:, 1:-1] + A[:-2, 1:-1] + A[1:-1, 2:] - 4 * A[1:-1, 1:-1],
    "blocks": lambda: np.block([[A, B], [B.T, np.ones((7, 7))]]),
    "scan": lambda: sd.scan(lambda c, r: (np.tanh(c + r), c), t, x)[1],
    "normal": lambda: sd.stats.multivariate_normal.logpdf(x, y, P),
    "attention": lambda: sd.softmax(B @ B.T, axis=1) @ B,
    "layer norm": lambda: (A - np.mean(A, axis=1, keepdims=True)) / np.sqrt(np.var(A, axis=1, keepdims=True) + 1e-5),
    "kernel": lambda: np.exp(-np.sum((B[:, None] - B[None]) ** 2, -1)),
    "special": lambda: sd.erf(x) + sd.lgamma(y) + sd.j0(x),
}


def numbers() -> dict[str, Array]:
    rng = np.random.default_rng(2)
    square = rng.uniform(-0.5, 0.5, (ROWS, ROWS))
    return {
        "x": rng.uniform(0.5, 1.5, ROWS),
        "y": rng.uniform(0.5, 1.5, ROWS),
        "t": np.array(0.3),
        "A": square + ROWS * np.eye(ROWS),
        "B": rng.normal(size=(ROWS, 7)),
        "W": rng.normal(size=(5, ROWS)),
        "P": square @ square.T + np.eye(ROWS),
    }


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_gradients_are_plans(name: str) -> None:
    """The first sample and a batch give NumPy's values; no step is NumPy's."""
    value = FORMULAS[name]()
    wholes = [value]
    for symbol in SYMBOLS.values():
        try:
            wholes.append(sd.gradient(np.sum(value**3), symbol))
        except DisconnectedInputError:
            continue
    assert len(wholes) > 1
    given = numbers()
    for formula in wholes:
        kernel, reference = sd.compile(formula), sd.compile(formula, backend="numpy")
        assert kernel.stats["operations"] >= 0  # a program or a plan, and not array operations
        assert not kernel.stats.get("numpy_steps")
        arguments = [given[p.name] for p in kernel.inputs]
        for each in (arguments, [np.stack([a, a]) for a in arguments]):
            got, wanted = kernel(*each), reference(*each)
            scale = np.max(np.abs(wanted), initial=1e-300)
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * scale)
