"""Long lists of positions: compiling looks at them as a whole, and not number by number in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd

CASES: dict[str, Callable[..., Any]] = {
    "springs": lambda x, a, b, c: sd.gradient(np.sum((x[a] - x[b]) ** 4), x),
    "positions of positions": lambda x, a, b, c: sd.gradient(np.sum(np.sin(x[a])[c] * x[b]), x),
    "hvp": lambda x, a, b, c: sd.hvp(np.sum(np.cos(x[a] - x[b])), x, sd.vector("v", x.shape[0])),
    "joined": lambda x, a, b, c: np.concatenate([x[a] - x[b], x[b] ** 2]),
}
SPARSE: dict[str, Callable[..., Any]] = {
    "jacobian": lambda x, a, b, c: sd.jacobian(np.sin(x[a])[c] - x[b], x),
    "hessian": lambda x, a, b, c: sd.hessian(np.sum((x[a] - x[b]) ** 4), x),
}


def calls_to_compile(make: Callable[..., Any], length: int, sparse: str | None) -> int:
    """Return how many calls of functions it takes to build and compile a formula."""
    rng = np.random.default_rng(length)
    nodes = length // 4
    a, b = rng.integers(0, nodes, length), rng.integers(-nodes, nodes, length)
    c = rng.integers(0, length, length)
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        kernel = sd.compile(make(sd.vector("x", nodes), a, b, c), sparse=sparse, backend="interpreter")
    finally:
        sys.setprofile(before)
    values = [rng.normal(size=p.shape) for p in kernel.inputs]
    result = kernel(*values)
    assert np.isfinite(result.data if sparse else result).all()
    return count


@pytest.mark.parametrize(("name", "sparse"), [*((n, None) for n in CASES), *((n, "csr") for n in SPARSE)])
def test_the_work_does_not_grow_with_the_list(name: str, sparse: str | None) -> None:
    make = (SPARSE if sparse else CASES)[name]
    calls_to_compile(make, 4_000, sparse)  # what is imported and cached the first time
    short, long = calls_to_compile(make, 8_000, sparse), calls_to_compile(make, 24_000, sparse)
    assert long < short * 1.2 + 2_000


def test_lists_mean_what_they_mean_to_numpy() -> None:
    rng = np.random.default_rng(3)
    a, c = rng.integers(-50, 50, (70, 3)), rng.integers(0, 210, 999)
    x = rng.normal(size=50)
    f = np.sin(sd.vector("x", 50)[a]).reshape(210)[c][::-3]
    np.testing.assert_allclose(sd.compile(f)(x), np.sin(x[a]).reshape(210)[c][::-3], rtol=1e-14)
    for bad in (50, -51):
        with pytest.raises(sd.ShapeError, match=f"index {bad} is out of range"):
            sd.vector("x", 50)[np.array([0, bad])]
