"""Derivatives whose dense form no machine has room for: sparse ones are computed, dense ones refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.runtime.calls import resources as result_memory

TEXT = "x[1:] - x[:-1]**2"


@pytest.mark.parametrize("n", [40_000, 1_000_000])
def test_a_large_jacobian_is_computed_by_its_nonzeros(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_memory", lambda: 8_000_000_000)
    x = np.linspace(0.0, 1.0, n)
    kernels: list[Any] = [
        sd.compile(sd.jacobian(TEXT, "x", x=n), sparse="csr"),
        sd.compile(f"jacobian({TEXT}, x)", x=n, sparse="csr"),
        sd.objective(TEXT, "x", x=n, sparse="csr").jac,
    ]
    for kernel in kernels:
        found = kernel(x)
        assert found.shape == (n - 1, n)
        assert found.nnz == 2 * (n - 1)
        np.testing.assert_array_equal(found @ np.ones(n), 1 - 2 * x[:-1])


@pytest.mark.parametrize("n", [40_000, 1_000_000])
def test_the_dense_form_is_refused_with_what_to_do(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_memory", lambda: 8_000_000_000)
    J = sd.jacobian(TEXT, "x", x=n)
    assert J.shape == (n - 1, n)
    for act in (lambda: sd.compile(J), lambda: sd.objective(TEXT, "x", x=n).jac(np.ones(n))):
        with pytest.raises(sd.LimitError, match=r"GB in each call.*pass sparse='csr'"):
            act()
    with pytest.raises(sd.LimitError, match="elements, the limit"):
        sd.jacobian(TEXT, "x", x=n, budget="strict")
    with pytest.raises(sd.LimitError, match="elements, the limit"):
        sd.compile(f"jacobian({TEXT}, x) * 2", x=n, sparse="csr")


def test_what_fits_is_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_memory", lambda: 8_000_000_000)
    assert sd.compile(sd.jacobian(TEXT, "x", x=3))([1.0, 2.0, 3.0]).tolist() == [[-2, 1, 0], [0, -4, 1]]
