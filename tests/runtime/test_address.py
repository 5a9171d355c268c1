"""A kernel as a C function: called through ctypes and cffi."""

from __future__ import annotations

import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.codegen.c.standalone import SIGNATURE
from symdiff.errors import UnsupportedError
from symdiff.runtime.kernel import Kernel
from symdiff.runtime.toolchain.build import find_compiler

Array = npt.NDArray[np.float64]
Pointers = ctypes.POINTER(ctypes.POINTER(ctypes.c_double))
Function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, Pointers, Pointers)


def compiled(**options: Any) -> Kernel:
    X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
    w = np.log(sd.softmax(X @ y))
    kernel: Kernel = sd.compile([sd.jacobian(w, X), w], [X, y], backend="native", **options)
    return kernel


def pointers(arrays: list[Array]) -> Any:
    kind = ctypes.POINTER(ctypes.c_double)
    return (kind * len(arrays))(*(a.ctypes.data_as(kind) for a in arrays))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 1003])
def test_through_ctypes(n: int) -> None:
    k = compiled()
    rng = np.random.default_rng(n)
    inputs = [rng.random((n, 2, 4)), rng.random((n, 4))]
    want = k(*inputs)
    out = [np.full((n + 1, *w.shape[1:]), 7.0) for w in want]
    assert Function(k.address)(n, pointers(inputs), pointers(out)) == -1
    for got, expected in zip(out, want, strict=True):
        np.testing.assert_array_equal(got[:n], expected)
        assert (got[n] == 7).all()
    assert k.address == k.address


def test_an_input_without_a_batch() -> None:
    k = compiled(batch=["X"], batch_axis=0)
    X, y = np.random.default_rng(0).random((9, 2, 4)), np.arange(4.0)
    out = [np.empty((9, 2, 2, 4)), np.empty((9, 2))]
    assert Function(k.address)(9, pointers([X, y]), pointers(out)) == -1
    for got, expected in zip(out, k(X, y), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_large_program_called_by_threads() -> None:
    A = np.random.default_rng(0).random((101, 6, 6)) + 6 * np.eye(6)
    k = sd.compile("gradient(log(det(A)), A)", A=(6, 6), backend="native")
    function, want = Function(k.address), k(A)

    def run(_: int) -> bool:
        out = np.empty_like(want)
        return function(101, pointers([A]), pointers([out])) == -1 and bool((out == want).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(40)))


def test_the_first_singular_sample_is_returned() -> None:
    k = sd.compile("inv(A)", A=(2, 2), backend="native")
    A = np.tile(np.eye(2), (20, 1, 1))
    out = np.empty_like(A)
    for where in (3, 18):
        A[where:] = 0
        assert Function(k.address)(20, pointers([A]), pointers([out])) == where
        A[:] = np.eye(2)


def test_through_cffi() -> None:
    k = compiled()
    ffi = cffi.FFI()
    X, y = np.random.default_rng(0).random((5, 2, 4)), np.random.default_rng(1).random((5, 4))
    out = [np.empty((5, 2, 2, 4)), np.empty((5, 2))]
    function = ffi.cast(SIGNATURE.replace("symdiff_kernel", "(*)"), k.address)
    held = [[ffi.from_buffer("double[]", a) for a in arrays] for arrays in ([X, y], out)]
    assert function(5, ffi.new("double*[]", held[0]), ffi.new("double*[]", held[1])) == -1
    for got, expected in zip(out, k(X, y), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_kernels_that_have_none() -> None:
    with pytest.raises(UnsupportedError, match="sums over the batch has no address"):
        print(compiled(reduce="sum").address)
    with pytest.raises(UnsupportedError, match="runs on the backend 'numpy'"):
        print(sd.compile("x * 2", x=3, backend="numpy").address)


IN_USE = r"""
typedef long function(long, const double *const *, double *const *);
long uses_them(long n, const double *const *x, double *const *y) {
  __asm__ volatile("vcmpps $15,%%ymm0,%%ymm0,%%ymm0" : : : "xmm0");
  return -1;
}
long in_use(function *f, long n, const double *const *x, double *const *y) {
  unsigned low, high;
  __asm__ volatile("vzeroupper");
  f(n, x, y);
  __asm__ volatile(".byte 0x0f,0x01,0xd0" : "=a"(low), "=d"(high) : "c"(1)); /* xgetbv */
  return low & 4;
}
"""


def has_xgetbv() -> bool:
    try:
        return "xgetbv1" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


@pytest.mark.skipif(not has_xgetbv(), reason="no instruction that tells which registers are in use")
def test_upper_parts_of_registers_are_not_left_in_use(tmp_path: Path) -> None:
    # Code for shorter registers, like much of NumPy's, would be several times as slow from then on.
    compiler = find_compiler()
    assert compiler is not None
    (tmp_path / "state.c").write_text(IN_USE)
    library = tmp_path / "state.so"
    subprocess.run([*compiler.command, "-shared", "-fPIC", "-o", library, tmp_path / "state.c"], check=True)
    state = ctypes.CDLL(str(library))
    assert state.in_use(state.uses_them, ctypes.c_long(0), None, None)
    for text in ("exp(x) * y", "solve([[x, y], [y, x]], [1, x])"):  # with checks, too
        k = sd.compile(text, x=(), y=(), backend="native")
        inputs, out = [np.full(16, 3.0), np.full(16, 2.0)], [np.empty((16, 2))]
        call = ctypes.c_void_p(k.address), ctypes.c_long(16), pointers(inputs), pointers(out)
        assert not state.in_use(*call)
        inputs[0][5] = inputs[1][5]  # a singular matrix
        assert not state.in_use(*call)
