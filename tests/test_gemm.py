# mypy: disable-error-code="no-any-return, operator, type-var, union-attr"
"""Matrix products (``symdiff/_kernels/matrix``) on every instruction set of this machine, against NumPy."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

import symdiff
from symdiff.runtime.toolchain.build import find_compiler

Floats = npt.NDArray[np.floating[Any]]

SOURCE = """
#include "matrix/gemm.h"
int best(void) { return sd_best_set(); }
long bytes(long m, long n, long k, long item) { return sd_gemm_bytes(m, n, k, item); }
double dot(int set, int single, long k, const void *a, long ak, const void *b, long bk) {
  return sd_gemm_sets[set][single].dot(k, a, ak, b, bk);
}
void vector(int set, int single, const long *n, double alpha, const void *a, const void *b, void *c, int add) {
  sd_gemm_sets[set][single].vector(n[0], n[1], alpha, a, n[2], n[3], b, n[4], c, n[5], add);
}
void product(int set, int single, const sd_gemm_sizes *s, double alpha, const void *a, const void *b, void *c, int add,
             int half, char *scratch) {
  sd_gemm_on(set, single, s, alpha, a, b, c, add, half, scratch);
}
"""


@dataclass
class Products:
    """The library, and arrays on their way to it."""

    library: Any

    @property
    def sets(self) -> range:
        return range(self.library.best() + 1)

    def run(
        self, kind: int, a: Floats, b: Floats, c: Floats, alpha: float = 1.0, *, add: bool = False, half: bool = False
    ) -> None:
        strides = [stride // c.itemsize for array in (a, b, c) for stride in array.strides]
        (m, k), n = a.shape, b.shape[1]
        most = self.library.bytes(m, n, k, c.itemsize)
        scratch = np.full(most + 4096, 0x5A, np.uint8)
        numbers = (ctypes.c_long * 9)(m, n, k, *strides)
        single = int(c.dtype == np.float32)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c, scratch)]
        self.library.product(
            kind, single, numbers, ctypes.c_double(alpha), *pointers[:3], int(add), int(half), pointers[3]
        )
        assert (scratch[most:] == 0x5A).all(), "more memory than was asked for"

    def vector(self, kind: int, a: Floats, b: Floats, c: Floats, alpha: float = 1.0, *, add: bool = False) -> None:
        strides = [stride // c.itemsize for array in (a, b, c) for stride in array.strides]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
        numbers = (ctypes.c_long * 6)(*a.shape, *strides)
        self.library.vector(kind, int(c.dtype == np.float32), numbers, ctypes.c_double(alpha), *pointers, int(add))

    def dot(self, kind: int, a: Floats, b: Floats) -> float:
        ways = [ctypes.c_long(array.strides[0] // array.itemsize) for array in (a, b)]
        single = int(a.dtype == np.float32)
        x, y = (ctypes.c_void_p(array.ctypes.data) for array in (a, b))
        return float(self.library.dot(kind, single, ctypes.c_long(len(a)), x, ways[0], y, ways[1]))


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Products:
    folder = tmp_path_factory.mktemp("gemm")
    source, library = folder / "products.c", folder / "products.so"
    source.write_text(SOURCE, encoding="ascii")
    include = Path(symdiff.__file__).parent / "_kernels"
    flags = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*find_compiler().command, *flags, f"-I{include}", source, "-o", library], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.bytes.restype = ctypes.c_long
    loaded.bytes.argtypes = [ctypes.c_long] * 4
    loaded.dot.restype = ctypes.c_double
    return Products(loaded)


def laid(values: Floats, kind: str) -> Floats:
    """Return a matrix with other strides."""
    if kind == "spread":
        wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), values.dtype)
        wide[::2, ::3] = values
        return wide[::2, ::3]
    if kind == "negative":
        return np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    return np.array(values, order=kind)


LAYOUTS = ("C", "F", "spread", "negative")
LENGTHS = st.one_of(st.integers(1, 40), st.sampled_from([47, 48, 49, 64, 96, 97, 191, 192, 193, 300, 400]))


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_products(products: Products, data: st.DataObject) -> None:
    m, n, k = data.draw(LENGTHS), data.draw(LENGTHS), data.draw(LENGTHS)
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    kind, alpha, add = (
        data.draw(st.sampled_from(products.sets)),
        data.draw(st.sampled_from([1.0, -0.5])),
        data.draw(st.booleans()),
    )
    half = data.draw(st.booleans()) if m == n else False
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    a, b, c = (
        laid(rng.normal(size=shape).astype(dtype), data.draw(st.sampled_from(LAYOUTS)))
        for shape in ((m, k), (k, n), (m, n))
    )
    expected = alpha * (a.astype(np.longdouble) @ b.astype(np.longdouble)) + (c if add else 0)
    products.run(kind, a, b, c, alpha, add=add, half=half)
    error = np.abs(c - expected)
    if half:
        turned = c.strides[1] != c.itemsize and c.strides[0] == c.itemsize
        error = np.triu(error) if turned else np.tril(error)
    assert np.max(error) <= np.finfo(dtype).eps * (k + 2) * (np.max(np.abs(a)) * np.max(np.abs(b)) * 2 + 4)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_part_has_the_bits_that_it_has_in_the_whole(products: Products, data: st.DataObject) -> None:
    m, n, k = data.draw(LENGTHS), data.draw(LENGTHS), data.draw(LENGTHS)
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
    c = np.full((m, n), 0.25, dtype)
    kind, add = data.draw(st.sampled_from(products.sets)), data.draw(st.booleans())
    first, left = data.draw(st.integers(0, m - 1)), data.draw(st.integers(0, n - 1))
    last, right = data.draw(st.integers(first + 1, m)), data.draw(st.integers(left + 1, n))
    part = laid(c[first:last, left:right], data.draw(st.sampled_from(LAYOUTS)))
    products.run(kind, a, b, c, -1.5, add=add)
    some, others = (
        laid(a[first:last], data.draw(st.sampled_from(LAYOUTS))),
        laid(b[:, left:right], data.draw(st.sampled_from(LAYOUTS))),
    )
    products.run(kind, some, others, part, -1.5, add=add)
    np.testing.assert_array_equal(part, c[first:last, left:right])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", [(1, 1, 300), (1, 37, 300), (37, 1, 300), (20, 50, 7), (100, 100, 200), (3, 5, 1)])
def test_every_row_and_column_alone(products: Products, sizes: tuple[int, int, int], dtype: Any) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
    for kind in products.sets:
        whole = np.empty((m, n), dtype)
        products.run(kind, a, b, whole)
        for order in "CF":
            x, y = laid(a, order), laid(b, order)
            for i in range(m):
                row = np.empty((1, n), dtype)
                products.run(kind, x[i : i + 1], y, row)
                np.testing.assert_array_equal(row[0], whole[i])
            for j in range(n):
                column = np.empty((m, 1), dtype)
                products.run(kind, x, y[:, j : j + 1], column)
                np.testing.assert_array_equal(column[:, 0], whole[:, j])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("sizes", [(9, 1, 5), (30, 3, 40), (17, 50, 200), (100, 100, 3), (2, 2, 2)])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_what_is_not_finite_stays_in_its_row_and_column(
    products: Products, bad: float, sizes: tuple[int, int, int], orders: str
) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(1)
    for kind in products.sets:
        for dtype in (np.float64, np.float32):
            a, b = (
                laid(rng.normal(size=(m, k)).astype(dtype), orders[0]),
                laid(rng.normal(size=(k, n)).astype(dtype), orders[1]),
            )
            a[m // 2, k - 1] = bad
            b[0, n - 1] = bad
            c = np.full((m, n), np.nan, dtype)
            products.run(kind, a, b, c)
            finite = np.ones((m, n), bool)
            finite[m // 2] = finite[:, n - 1] = False
            np.testing.assert_array_equal(np.isfinite(c), finite)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_vectors(products: Products, data: st.DataObject) -> None:
    """A row has the same bits alone and among others, whatever the strides."""
    m, k = data.draw(LENGTHS), data.draw(st.one_of(LENGTHS, st.sampled_from([1023, 1024, 1025, 2100])))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    kind, add = data.draw(st.sampled_from(products.sets)), data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=k).astype(dtype)
    some, several = data.draw(st.integers(0, m - 1)), data.draw(st.sampled_from([1, 2, -1]))
    c = np.full(m, 0.25, dtype)
    products.vector(kind, a, b, c, -1.5, add=add)
    expected = -1.5 * (a.astype(np.longdouble) @ b.astype(np.longdouble)) + (0.25 if add else 0)
    assert np.max(np.abs(c - expected)) <= np.finfo(dtype).eps * (k + 2) * (
        np.max(np.abs(a)) * np.max(np.abs(b)) * 2 + 4
    )
    for layout in LAYOUTS:
        part = np.full(abs(several) * (m - some), 0.25, dtype)[::several]
        products.vector(kind, laid(a, layout)[some:], np.repeat(b, 3)[::3], part, -1.5, add=add)
        np.testing.assert_array_equal(part, c[some:])
    a[some, k - 1] = np.nan
    products.vector(kind, a, b, c)
    assert np.flatnonzero(np.isnan(c)).tolist() == [some]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_dot(products: Products, data: st.DataObject) -> None:
    k = data.draw(st.one_of(st.integers(1, 300), st.sampled_from([4095, 4096, 4097, 20_000])))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    a, b = (rng.normal(size=3 * k).astype(dtype)[:: data.draw(st.sampled_from([1, 3, -1]))][:k] for _ in range(2))
    kind = data.draw(st.sampled_from(products.sets))
    found = products.dot(kind, a, b)
    expected = float(a.astype(np.longdouble) @ b.astype(np.longdouble))
    assert abs(found - expected) <= 40 * np.finfo(dtype).eps * float(np.abs(a).astype(float) @ np.abs(b).astype(float))
    assert products.dot(kind, a.copy(), b.copy()) == found


def test_long_sums_of_float32_keep_their_digits(products: Products) -> None:
    k = 2_000_000
    a, b = np.full(k, 0.1, np.float32), np.full(k, 0.3, np.float32)
    for kind in products.sets:
        exact = k * float(np.float32(0.1)) * float(np.float32(0.3))
        assert abs(products.dot(kind, a, b) / exact - 1) < 1e-5
