"""Threads share a single large product, and no bit depends on how many there are."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest

import symdiff as sd

#: Products without tiles: by rows, by columns, one triangle, of a vector, of several places, of two vectors.
PRODUCTS = [
    ("ab,bc->ac", [(20, 450), (450, 610)]),
    ("ab,bc->ac", [(611, 450), (450, 20)]),
    ("ba,bc->ca", [(450, 420), (450, 430)]),
    ("ab,cb->ac", [(610, 300)]),
    ("ab,b->a", [(1210, 1300), (1300,)]),
    ("pab,pbc->pac", [(9, 70, 210), (9, 210, 90)]),
    ("p,p->", [(1_600_000,), (1_600_000,)]),
]


def product(subscripts: str, shapes: list[tuple[int, ...]], threads: int) -> sd.Kernel:
    symbols = [sd.array(f"x{k}", shape) for k, shape in enumerate(shapes)]
    formula = np.einsum(subscripts, *(symbols * 2)[:2])
    kernel: sd.Kernel = sd.compile(formula, symbols, threads=threads, backend="interpreter")
    return kernel


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("subscripts", "shapes"), PRODUCTS)
def test_a_product_has_the_same_bits_with_any_threads(
    subscripts: str, shapes: list[tuple[int, ...]], order: Any
) -> None:
    rng = np.random.default_rng(3)
    numbers = [rng.normal(size=shape) for shape in shapes]
    kernels = [product(subscripts, shapes, threads) for threads in (1, 2, 3, 64)]
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 2e-2)):
        given = [np.asarray(array, dtype, order=order) for array in numbers]
        first, *others = [kernel(*given) for kernel in kernels]
        wanted = np.einsum(subscripts, *([array.astype(float) for array in given] * 2)[:2], optimize=True)
        np.testing.assert_allclose(first, wanted, rtol=tolerance, atol=tolerance)
        for other in others:
            np.testing.assert_array_equal(other, first)
        if len(shapes) == 1:
            np.testing.assert_array_equal(first, first.T)


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads by /proc")
def test_a_large_product_takes_threads_and_a_small_one_none() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/task"))

    rng = np.random.default_rng(4)
    for size, more in ((60, False), (400, True)):
        kernel = sd.compile("A @ B @ C", A=(size, size), B=(size, size), C=(size, size), threads=3)
        kernel.wait()
        arrays = [rng.normal(size=(size, size)) for _ in range(3)]
        kernel(*arrays)  # SciPy's threads, if any, are there from here on
        pid = os.fork()  # before a fork the threads that wait are sent away
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        before = count()
        kernel(*arrays)
        assert (count() > before) == more


def test_threads_of_a_product_keep_what_is_not_finite_in_its_row() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(size=(600, 300)), rng.normal(size=(300, 20))
    first[17, 4] = np.nan
    kernel = product("ab,bc->ac", [(600, 300), (300, 20)], 3)
    result = kernel(first, second)
    assert np.isnan(result[17]).all()
    assert np.isfinite(np.delete(result, 17, 0)).all()
