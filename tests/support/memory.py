"""Run generated code under the address and undefined-behaviour sanitizers of gcc, or valgrind's memcheck.

    python -m tests.support.memory sanitizers
    python -m tests.support.memory valgrind          (takes minutes; code for AVX2, which is what valgrind knows)

Kernels of every operation and of the benchmarks' formulas run over batches of many lengths and
layouts, as native code and on the interpreter, into fresh arrays, arrays of every layout and their
own inputs, summed, in threads and by address; so do loops over sizes known when they run, and results
that are written with non-temporal stores. Results are compared with NumPy's, and any report about generated
code, the interpreter, or the call path around them fails. The sanitizers see the package's compiled
part as well, of which they build one of their own. Names of formulas behind the tool run these alone.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Reports about anything else are of Python or NumPy.
OURS = re.compile(r"symdiff-build-|symdiff/_kernels/|memfd:symdiff")
#: What the code of some formulas has in it.
MEANT = {"pairs": "long j=", "held": "HOLD(", "rows": "ASK(y0"}
SANITIZERS = "-g -fsanitize=address,undefined -fno-sanitize-recover=undefined"


def environment(cache: str, **more: str) -> dict[str, str]:
    """Return an environment in which everything is built anew, and every allocation is one of the C library's."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "SYMDIFF_CACHE_DIR": cache, "PYTHONMALLOC": "malloc", **more}


def sanitizers(names: Sequence[str], cache: str, *, compiled: bool = True) -> tuple[int, str]:
    """Run under gcc's sanitizers; they stop at the first report.

    Without ``compiled`` the package's compiled part is as it is; building it anew takes minutes.
    """
    gcc = shutil.which("gcc") or "gcc"
    found = subprocess.run([gcc, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    wanted = environment(
        cache,
        LD_PRELOAD=os.path.realpath(found.stdout.strip()),
        ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=1",
        UBSAN_OPTIONS="print_stacktrace=1",
        CC=f"env LD_PRELOAD= {gcc} {SANITIZERS}",
    )
    if compiled:
        wanted["PYTHONPATH"] = os.pathsep.join([sanitized(gcc, Path(cache, "package")), str(ROOT)])
    done = subprocess.run(
        [sys.executable, __file__, "inside", *names], env=wanted, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def sanitized(gcc: str, place: Path) -> str:
    """Copy the package and build its compiled part with the sanitizers; return where it is."""
    for part in ("symdiff", "bench"):
        shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for file in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, place)
    # Behind the options of setup.py: optimizing what the sanitizers add takes the compiler many minutes.
    wrapper = place / "compile"
    wrapper.write_text(f'#!/bin/sh\nexec {gcc} "$@" {SANITIZERS} -g1 -O0\n', encoding="ascii")
    wrapper.chmod(0o700)
    flags = {"CC": str(wrapper), "LDSHARED": f"{wrapper} -shared"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=place, env={**os.environ, **flags}, capture_output=True, check=True)
    return str(place)


def valgrind(names: Sequence[str], cache: str) -> tuple[int, str]:
    """Run under memcheck and look for reports about generated code."""
    log = Path(cache, "valgrind.log")
    options = ["--tool=memcheck", f"--log-file={log}", "--num-callers=20", "--partial-loads-ok=no", "--error-limit=no"]
    command = ["valgrind", *options, sys.executable, __file__, "inside", "avx2", *names]
    done = subprocess.run(command, env=environment(cache), capture_output=True, text=True, check=False)
    text = re.sub(r"^==\d+== ?", "", log.read_text(encoding="utf-8", errors="replace"), flags=re.MULTILINE)
    reports = [report for report in text.split("\n\n") if OURS.search(report)]
    return done.returncode or bool(reports), "\n\n".join([done.stdout + done.stderr, *reports])


# ---------------------------------------------------------------------------- inside the tool


def for_avx2() -> None:
    """Build for AVX2, and load from files, which valgrind can name."""
    from symdiff.runtime.toolchain import build
    from symdiff.runtime.toolchain import load as host

    features = tuple(f for f in host.processor() if not f.startswith("avx512"))
    plain = build.flags
    vars(build)["processor"] = vars(host)["processor"] = lambda: features
    vars(build)["flags"] = lambda compiler: tuple(
        "-march=x86-64-v3" if f == "-march=native" else f for f in plain(compiler)
    )
    vars(os).pop("memfd_create", None)


def kernels(names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield the arguments of ``symdiff.compile`` of each formula, and whether its results tell many digits."""
    from bench.cases import CASES

    texts: dict[str, dict[str, Any]] = {
        "elementwise": {
            "formula": "exp(x) * erf(y) / (1 + abs(x)) + where(x > y, gamma(x), mod(x, y))",
            "x": 5,
            "y": (),
        },
        "special": {
            "formula": "digamma(x) * polygamma(1, y) + polygamma(2, abs(x)) + lgamma(y) + floor(x) * sign(y)",
            "x": (),
            "y": 3,
        },
        "wide": {"formula": "outer(x, x)", "x": 17},
        "constants": {"formula": "jacobian(A @ x, x)", "A": (3, 3), "x": 3},
        "pieces": {"formula": "inv(A)", "A": (7, 7)},
        "solve": {"formula": "solve(A, b)", "A": (4, 4), "b": 4},
        # two vectors at once, with a check in each
        "pairs": {"formula": "sin(exp(sin(A[0, 1] + x))) / x + inv(A)[0, 0]", "A": (2, 2), "x": ()},
        "held": {"formula": "where(x > y, exp(x) - y, x * y)", "x": 3, "y": ()},  # sums in registers
        "symmetric": {"formula": "hessian(log(sum(exp(x))), x)", "x": 5},
        "rows": {"formula": "outer(x, exp(x))", "x": 8},  # asked for before they are wanted
    }
    for name, arguments in texts.items():
        if not names or name in names:
            yield name, arguments, True
    for name, case in CASES.items():
        if (not names and case.small) or name in names:
            # Every input gets a batch here, and sums are asked for apart.
            derived = case.derive(case.small or case.full)
            kept = {key: value for key, value in derived.items() if key not in ("batch", "reduce")}
            yield name, kept, case.tolerance < 1e-6


def layouts(shape: tuple[int, ...], count: int, rng: Any) -> Iterator[Any]:
    """Yield ``count`` samples in each way that memory can hold them."""
    import numpy as np

    full = rng.uniform(0.1, 1.0, (count, *shape))
    if len(shape) == 2 and shape[0] == shape[1]:
        full += 3.0 * np.eye(shape[0])
    yield full
    yield np.asfortranarray(full)
    yield np.repeat(full, 2, axis=0)[::2]
    yield full[::-1]
    yield full.astype(np.float32)
    unaligned = np.empty(full.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(full.shape)
    unaligned[...] = full
    yield unaligned


def inside(names: Sequence[str]) -> None:
    """Run kernels and compare them with NumPy's."""
    import numpy as np

    from bench.cases import compiled
    from symdiff.runtime.runners.programs import InterpreterRunner, NativeRunner
    from symdiff.runtime.runners.variants import Variant
    from tests.codegen.test_cython import every_operation

    rng = np.random.default_rng(0)
    if not names or "operations" in names:
        program, _ = every_operation()
        for runner in (NativeRunner(program), InterpreterRunner(program)):
            for count in (1, 3, 8, 61, 200):
                runner.run([rng.normal(size=(count, 3))], [np.empty((count, *p.shape)) for p in program.outputs], False)
        print("operations", flush=True)
    if not names or "sums" in names:
        from tests.kernels import test_sums as sums

        for backend in ("native", "interpreter"):
            sums.test_sums_of_samples_that_fill_the_buffer_by_themselves(backend)
            for dtype in (np.float64, np.float32):
                for batch in sums.BATCHES:
                    sums.test_each_place_of_the_first_axis_has_the_sum_that_it_has_alone(batch, dtype, backend)
                for kept in (False, True):
                    sums.test_sums_of_what_samples_share(kept, dtype, backend)
                    for layout in sums.LAYOUTS:
                        sums.test_sums_of_arrays_in_any_layout(layout, kept, dtype, backend)
        print("sums", flush=True)
    if not names or "two" in names:
        two_vectors()
        print("two", flush=True)
    if not names or "large" in names:
        large_results(rng)
        print("large", flush=True)
    if not names or "loops" in names:
        loops(rng)
        print("loops", flush=True)
    for name, arguments, steady in kernels(names):
        if name in MEANT:
            made = compiled(arguments, backend="native")._runner
            assert isinstance(made, NativeRunner)
            text = made.source(Variant(reduce=name == "held"))
            assert MEANT[name] in text, f"{name} is no longer what it is meant to be"
        print(
            name if run_all_ways(arguments, rng, steady) else f"{name}: left out, it is not made of scalars", flush=True
        )


def two_vectors() -> None:
    """Run a program with checks for two vectors of samples at once, whatever this machine's registers are."""
    import pytest

    from tests.codegen import test_interleave as pairs

    for columns in (False, True):
        for single in (False, True):
            with pytest.MonkeyPatch.context() as patch:
                pairs.test_two_vectors_give_what_one_gives(columns, single, patch)
    for bad in ([7], [8], [40], [47, 48]):
        with pytest.MonkeyPatch.context() as patch:
            pairs.test_checks_of_both_vectors_tell_the_first_sample(bad, patch)


def large_results(rng: Any) -> None:
    """Write results of more than 32 MB: wide ones by non-temporal stores, also from the midst of a line."""
    import numpy as np

    import symdiff as sd

    for dtype, wide in ((np.float64, 8), (np.float32, 16)):
        line = 64 // np.dtype(dtype).itemsize
        for axis, high, about in ((0, 8, 65536), (-1, 32, 16384)):  # of columns, samples of more bytes are wide
            count = about + line + 3  # vectors are left over
            x, y = (rng.uniform(0.5, 1.0, (count, n)).astype(dtype) for n in (wide, high))
            want = x[:, :, None] * y[:, None, :], x[:, 0] + y[:, 0]
            given = [x, y]
            if axis:
                want, given = (moved(want[0]), want[1]), [moved(x), moved(y)]
            p, q = sd.vector("p", wide), sd.vector("q", high)
            for backend in ("native", "interpreter"):
                kernel = sd.compile([np.outer(p, q), p[0] + q[0]], [p, q], batch_axis=axis, threads=2, backend=backend)
                for before in (0, 1):
                    # apart from each other, and columns as far as lines are
                    for gap in (0, 3, -count % line):
                        shape = (wide, high, count) if axis else (count, wide * high)
                        table, held = beside(shape, before, gap, dtype)
                        narrow, other = beside((count, 1), before, gap, dtype)
                        results = [table if axis else split(table, wide), narrow[:, 0]]
                        written(kernel(*given, out=results), want, held, other)
                if not axis:  # batches of two axes, with a distance of its own along each
                    table, held = beside((66, 1000, wide * 8), 1, 0, dtype)
                    part = split(table[:, :993], wide)
                    product = sd.compile(np.outer(p, q), [p, q], threads=2, backend=backend)
                    many = x[: 66 * 993].reshape(66, 993, wide), y[:993]
                    written([product(*many, out=part)], [many[0][..., None] * many[1][:, None, :]], held)
    # as few as would not reach a line of the cache
    s, n = sd.scalar("s"), 920
    kernel = sd.compile(s * np.eye(n), [s], backend="interpreter")
    held = np.full(13 * n * n, 7.0)
    for first in range(8):
        values, _ = beside((5,), first, 0, np.float64)
        written([kernel(values, out=held[: 5 * n * n].reshape(5, n, n))], [values[:, None, None] * np.eye(n)], held)


def beside(shape: tuple[int, ...], before: int, between: int, dtype: Any) -> tuple[Any, Any]:
    """Return an array that begins so many numbers after a line, with others behind each last axis, and all of them."""
    import numpy as np

    whole = math.prod(shape[:-1]) * (shape[-1] + between)
    held = np.full(whole + 128, 7.0, dtype)
    start = -held.ctypes.data % 64 // held.itemsize + before
    return held[start : start + whole].reshape(*shape[:-1], -1)[..., : shape[-1]], held


def written(results: Sequence[Any], want: Sequence[Any], *held: Any) -> None:
    """Compare results, and see that nothing beside them was written."""
    import numpy as np

    for array, expected in zip(results, want, strict=True):
        np.testing.assert_array_equal(array, expected)
        array[...] = 7.0
    assert all((array == 7.0).all() for array in held)


def split(table: Any, rows: int) -> Any:
    """Take the last axis of an array apart, where it is."""
    import numpy as np

    shape = (*table.shape[:-1], rows, table.shape[-1] // rows)
    strides = (*table.strides[:-1], shape[-1] * table.itemsize, table.itemsize)
    return np.lib.stride_tricks.as_strided(table, shape, strides)


def loops(rng: Any) -> None:
    """Run formulas of symbolic sizes as plans: maps cut into pieces, sums, sums for each place, products."""
    import numpy as np

    import symdiff as sd
    from symdiff.runtime.runners.plans import PlanRunner

    x, y, X, t = sd.vector("x", "n"), sd.vector("y", "m"), sd.matrix("X", "m", 3), sd.vector("t", 3)
    product = np.outer(x, y)
    # and sizes for which several threads are wanted
    formulas: list[tuple[Any, list[Any], tuple[int, int]]] = [
        (sd.gradient(((x[1:] - x[:-1] ** 2) ** 2).sum(), x), [x], (700_001, 1)),
        ([(np.exp(x) * x[0]).sum(), x * x], [x], (700_001, 1)),
        (sd.hessian(sd.softplus(-y * (X @ t)).sum(), t), [X, y, t], (1, 300_001)),
        (np.where(product > 0.3, product, sd.digamma(x[0])), [x, y], (1033, 901)),
        (np.tanh(product @ y) * np.cumsum(x) + np.max(y), [x, y], (1033, 901)),
    ]
    for formula, inputs, large in formulas:
        for backend in ("native", "interpreter"):
            rows, sums = (
                [sd.compile(formula, inputs, reduce=reduce, threads=2, backend=b) for b in (backend, "numpy")]
                for reduce in (None, "sum")
            )
            assert isinstance(rows[0]._runner, PlanRunner)
            for sizes in ((2, 3), (15, 17), (17, 15), (40, 16), (1029, 70), large):
                known = dict(zip("nm", sizes, strict=True))
                shapes = [tuple(known.get(str(d), d) for d in p.shape) for p in rows[0].inputs]
                if sizes == large:
                    agree(rows, [rng.uniform(0.1, 1.0, shape) for shape in shapes], into=False)
                    continue
                data = [list(layouts(shape, 3, rng)) for shape in shapes]
                for choice in zip(*data, strict=True):
                    agree(rows, choice)
                    agree(sums, choice)
                agree(rows, [values[0] if k else values[0][0] for k, values in enumerate(data)])
                agree(rows, [values[0][0] for values in data])


def run_all_ways(arguments: dict[str, Any], rng: Any, steady: bool) -> bool:
    """Run one formula over arrays of every kind; false if it makes no units.

    Where rounding decides about results (one of 10⁴ random operations), a kernel is compared with itself.
    """
    from bench.cases import compiled
    from symdiff.errors import UnsupportedError
    from symdiff.runtime.runners.variants import ProgramRunner, cost

    for backend in ("native", "interpreter"):
        try:
            pairs = [
                tuple(compiled(arguments, **options, backend=b) for b in (backend, "numpy" if steady else backend))
                for options in ({}, {"reduce": "sum"}, {"batch_axis": -1}, {"threads": 3})
            ]
        except UnsupportedError:
            return False
        rows, sums, columns, threads = pairs
        shapes = [tuple(n for n in p.shape if isinstance(n, int)) for p in rows[0].inputs]
        for count in (1, 2, 7, 8, 9, 60, 1031):
            data = [list(layouts(shape, count, rng)) for shape in shapes]
            for choice in zip(*data, strict=True):
                agree(rows, choice)
                agree(sums, choice)
                agree(columns, [moved(array) for array in choice])
            agree(rows, [values[0] if k else values[0][0] for k, values in enumerate(data)])
            agree(rows, [values[0][0] for values in data])
            if backend == "native":
                agree_with_address(rows[0], [values[0] for values in data])
            # batches of two axes, of which every array lacks one
            agree(rows, [values[0][:3, None] if k % 2 else values[0][None] for k, values in enumerate(data)])
        # as many as three threads are wanted for
        runner = rows[0]._runner
        assert isinstance(runner, ProgramRunner)
        many = 3 * 500_000 // cost(runner.program) + 5
        data = [list(layouts(shape, many, rng)) for shape in shapes]
        for choice in zip(*data, strict=True):
            agree(threads, choice, into=False)
        agree((compiled(arguments, reduce="sum", threads=2, backend=backend), sums[1]), [d[0] for d in data])
    return True


def moved(array: Any) -> Any:
    """Put the batch's axis last, in memory as well."""
    import numpy as np

    return np.ascontiguousarray(np.moveaxis(array, 0, -1))


def agree(pair: Any, arrays: Sequence[Any], *, into: bool = True) -> None:
    """Call a kernel and NumPy's, into fresh arrays, arrays of every layout, and the inputs themselves."""
    import numpy as np

    from symdiff.frontend.outputs import LEAF, leaves, pack

    kernel = pair[0]
    # What float32 gives depends on the order of the operations, which NumPy's kernel has its own.
    single = all(array.dtype == np.float32 for array in arrays)
    reference = kernel if single else pair[1]
    want = [np.asarray(leaf) for leaf in leaves(reference(*(np.array(array, order="C") for array in arrays)))]

    def compare(results: Any) -> None:
        for got, expected in zip(leaves(results), want, strict=True):
            if single:
                np.testing.assert_array_equal(np.asarray(got, np.float32), expected)  # sums are in float64
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max(initial=0))

    compare(kernel(*arrays))
    if not into:
        return
    for kind in range(5):
        compare(kernel(*arrays, out=pack(kernel._structure, iter([blank(leaf.shape, kind) for leaf in want]))))
    if kernel._structure == LEAF and not single:
        for k, array in enumerate(arrays):
            if array.shape == want[0].shape and array.dtype == want[0].dtype:
                copies = [np.array(other, order="K") for other in arrays]
                compare(kernel(*copies, out=copies[k]))


def agree_with_address(kernel: Any, arrays: Sequence[Any]) -> None:
    """Call a kernel as other languages do."""
    import ctypes

    import numpy as np

    from symdiff.frontend.outputs import leaves

    want = leaves(kernel(*arrays))
    got = [np.full(array.shape, np.nan) for array in want]
    places = [(ctypes.c_void_p * len(of))(*(array.ctypes.data for array in of)) for of in (arrays, got)]
    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    assert function(len(arrays[0]), *places) == -1
    for array, expected in zip(got, want, strict=True):
        np.testing.assert_array_equal(array, expected)


def blank(shape: tuple[int, ...], kind: int) -> Any:
    """Return an array to write to, in one of five layouts."""
    import numpy as np

    if kind == 0 or not shape:
        return np.full(shape, np.nan)
    if kind == 1:
        return np.full(shape, np.nan, order="F")
    if kind == 2:
        return np.full([2 * n for n in shape], np.nan)[tuple(slice(None, None, 2) for _ in shape)]
    if kind == 3:
        return np.full(shape, np.nan)[tuple(slice(None, None, -1) for _ in shape)]
    return np.zeros(8 * math.prod(shape) + 1, np.uint8)[1:].view(float).reshape(shape)


def overrun() -> None:
    """Read beyond an array in code built as kernels are: the tools must see it."""
    import ctypes

    from symdiff.codegen.c.emit import CSource
    from symdiff.runtime.toolchain.build import build

    text = "void*malloc(unsigned long);long kernel(long n){volatile double*p=malloc(8*n);p[0]=1;return p[n]!=p[n-1];}"
    library = build(CSource(text, (), 2, 0, False))
    ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(library.address)(5)


def main(arguments: Sequence[str]) -> int:
    tool, *names = arguments or ["sanitizers"]
    if tool == "inside" and names[-1:] == ["overrun"]:
        if names[0] == "avx2":
            for_avx2()
        overrun()
        print("finished")
        return 0
    if tool == "inside":
        if names[:1] == ["avx2"]:
            for_avx2()
            names = names[1:]
        inside(names)
        print("finished")
        return 0
    with tempfile.TemporaryDirectory() as cache:
        status, text = {"sanitizers": sanitizers, "valgrind": valgrind}[tool](names, cache)
    print(text)
    return status or "finished" not in text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
