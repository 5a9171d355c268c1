"""Lifetime of native code: as long as somebody can run it, and not much longer; nothing piles up."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.system.scopes import loaded
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.c.emit import CSource
from symdiff.errors import BuildError
from symdiff.runtime.runners import BACKENDS
from symdiff.runtime.runners import cython as extension
from symdiff.runtime.runners.cython import CythonRunner
from symdiff.runtime.runners.programs import NativeRunner, TieredRunner
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import load as loading
from symdiff.runtime.toolchain import processes as background
from symdiff.runtime.toolchain.build import build
from tests.runtime.test_build import program
from tests.support.waiting import until

UNLOADS = pytest.mark.skipif(not loading._unloads(), reason="this system's loader unloads nothing")

#: Code that tells how many threads are in it, and stays there until it may go.
WAITING = """
int sched_yield(void);
long inside, go;
long kernel(long begin, long end, const char *const *in, const long *si, char *const *out, const long *so, void *w,
            void *const *fn, long *which) {
  __atomic_fetch_add(&inside, 1, 5);
  while (!__atomic_load_n(&go, 5)) sched_yield();
  for (long i = begin; i < end; i++) *(double *)(out[0] + i * so[0]) = 2 * *(const double *)(in[0] + i * si[0]);
  return -1;
}
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no code of other tests be unloaded during a test, and keep nothing that nobody holds."""
    gc.collect()
    _forget()
    monkeypatch.setattr(loading, "RECENT", 0)
    gc.disable()
    yield
    gc.enable()
    gc.collect()
    _forget()


def _forget() -> None:
    loading._held.recent.clear()


def now() -> int:
    """Return how many libraries are loaded."""
    return loaded()[0]


def waiting(cost: int = 100) -> tuple[Any, ctypes.c_long, ctypes.c_long]:
    """Return a unit of the code that waits, the number of threads inside, and what lets them go."""
    library = build(CSource(WAITING, (), 2, 0, False))
    unit = NativeCall(library.address, [], 2, 0, [1], [1], False, library, cost=cost)
    inside, go = (ctypes.c_long.from_address(library.code.address(name)) for name in ("inside", "go"))
    return unit, inside, go


def script(body: str) -> str:
    """Run Python in a process of its own, which may crash, and return what it prints."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    head = "import threading\nfrom tests.runtime.test_lifetime import *\nloading.RECENT = 0\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", head + textwrap.dedent(body)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def compiled(backend: str = "native", number: float = 2.0, **options: Any) -> sd.Kernel:
    kernel: sd.Kernel = sd.compile(f"x * {number!r} + y", x=3, y=3, backend=backend, **options)
    return kernel


# ---------------------------------------------------------------------------- unloaded, and not too early


@UNLOADS
def test_code_is_unloaded_with_the_last_kernel() -> None:
    before = now()
    first, second = compiled(), compiled()
    assert now() == before + 1
    del first
    assert now() == before + 1
    np.testing.assert_array_equal(second([1, 2, 3], [1, 1, 1]), [3, 5, 7])
    again = pickle.loads(pickle.dumps(second))
    single = np.ones(3, np.float32)
    assert second(single, single).dtype == np.float32
    assert now() == before + 2
    del second
    assert now() == before + 1
    np.testing.assert_array_equal(again([1, 2, 3], [1, 1, 1]), [3, 5, 7])
    unit = again._runner.call()
    del again
    assert now() == before + 1
    del unit
    assert now() == before


@UNLOADS
def test_what_was_used_last_stays_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "RECENT", 3)
    before = now()
    for number in (1.0, 2.0, 3.0, 2.0, 1.0, 4.0):
        NativeRunner(program(number))
    assert now() == before + 3
    unloaded = loaded()[2]
    for number in (1.0, 2.0, 4.0):
        NativeRunner(program(number))
    assert loaded()[2] == unloaded
    NativeRunner(program(3.0))
    assert loaded()[2] == unloaded + 1


def test_where_the_loader_unloads_nothing_code_is_shared_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_unloads", lambda: False)
    monkeypatch.setattr(loading._held, "kept", set())
    before = now()
    for _ in range(3):
        assert compiled(number=61.0)([1, 1, 1], [0, 0, 0])[0] == 61
        assert now() == before + 1


def kinds() -> dict[str, Callable[[], sd.Kernel]]:
    """Return kernels of every backend and kind."""
    result: dict[str, Callable[[], sd.Kernel]] = {
        backend: partial(compiled, backend) for backend in BACKENDS if backend != "cython"
    }
    result["sum"] = lambda: compiled(reduce="sum")
    result["columns"] = lambda: compiled("auto", batch_axis=-1)
    result["loops"] = lambda: sd.compile("exp(x) * y + sum(x)", x="n", y="n")
    result["native loops"] = lambda: sd.compile("exp(x) * y", x="n", y="n", backend="native")
    result["gradient"] = lambda: sd.compile(sd.gradient("sum(x * y * y)", "y", x=3, y=3))
    result["numpy in place of loops"] = lambda: sd.compile("max(x) * y", x="n", y="n")
    return result


@pytest.mark.rows(1)
@pytest.mark.parametrize("kind", kinds())
def test_a_kernel_ends_with_its_last_reference(kind: str) -> None:
    before = now()
    for _ in range(2):
        kernel = kinds()[kind]()
        kernel(np.ones(3), np.ones(3))
        assert kernel.wait(60)
        kernel_end, runner_end = weakref.ref(kernel), weakref.ref(kernel._runner)
        del kernel
        assert kernel_end() is None
        until(partial(_is_gone, runner_end))  # the thread that built it may hold it for a moment
        if loading._unloads():
            until(lambda: now() == before)


def _is_gone(thing: weakref.ref[Any]) -> bool:
    return thing() is None


@UNLOADS
def test_a_call_keeps_the_code_it_runs_and_so_does_the_end_of_the_process() -> None:
    body = """

    def call(way, threads):
        kernel = sd.compile("2.0 * x", x=(), backend="interpreter", threads=threads)
        unit, inside, go = waiting(cost=10**7)
        x, out = np.arange(64.0), np.zeros(64)
        box = [unit]
        if way == "kernel":
            kernel._install(unit)
            work = lambda: kernel(x, out=out)
        else:
            work = lambda: box.pop().run([x], [out], 64, threads)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        until(lambda: inside.value == threads)
        kernel._install(kernel._runner.call())  # another one, in place of the one that runs
        box.clear()
        return kernel, thread, go, (out, 2 * x)

    for way in ("unit", "kernel"):
        for threads in (1, 2):
            kernel, thread, go, (out, want) = call(way, threads)
            gc.collect()
            assert now() == 1
            if not os.fork():
                assert now() == 1 and sd.compile("3.0 * x", x=(), backend="native")(2.0) == 6
                os._exit(0)
            assert os.wait()[1] == 0
            go.value = 1
            thread.join()
            assert (out == want).all() and kernel(2.0) == 4
            until(lambda: now() == 0)
    # The process ends while two threads are in code that nobody else holds.
    left = call("kernel", 2)
    del left
    print(now())
    """
    assert script(body) == "1\n"


@pytest.mark.exhaustive
@UNLOADS
def test_what_finalizers_and_other_languages_reach_is_there() -> None:
    body = """

    # A finalizer in a circle may call its kernel, and bring it back.
    saved = []
    class Model:
        def __init__(self, number):
            self.kernel = compiled(number=number)
            self.units = dict(self.kernel._runner._units)
            self.circle = self, self.kernel._runner
            self.kernel._runner.circle = self
        def __del__(self):
            saved.append(self.kernel)
            assert self.kernel(np.ones(3), np.ones(3))[0] > 2
    for number in (2.0, 3.0):
        Model(number)
    gc.collect()
    print(sorted(float(k(np.ones(3), np.zeros(3))[0]) for k in saved), now())
    saved.clear()
    gc.collect()
    print(now())

    # An address stays for as long as the process.
    pointer = ctypes.POINTER(ctypes.c_double)
    kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.POINTER(pointer), ctypes.POINTER(pointer))
    kernel = sd.compile("exp(x) * 2.5", x=(), backend="native")
    x = np.linspace(0, 1, 21)
    want, address, out = kernel(x), kernel.address, np.empty(21)
    del kernel
    gc.collect()
    print(now())
    assert sd.compile("exp(x) * 2.5", x=(), backend="native").address == address
    arrays = [(pointer * 1)(a.ctypes.data_as(pointer)) for a in (x, out)]
    assert kind(address)(21, *arrays) == -1
    assert (out == want).all()
    """
    assert script(body) == "[2.0, 3.0] 2\n0\n1\n"


# ---------------------------------------------------------------------------- lifetime limits
# Nothing piles up where native code comes and goes, and room is made where there is none.


@pytest.mark.exhaustive
@UNLOADS
def test_thousands_of_kernels_leave_nothing_behind() -> None:
    body = """
    from pathlib import Path
    from symdiff._kernels.system import unique
    loading.RECENT = 2
    def tasks():
        return len(os.listdir("/proc/self/task"))
    alone = tasks()
    def state():
        gc.collect()
        until(lambda: threading.active_count() == 1 and tasks() == alone)  # to Python a thread ends a moment before
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
        maps = Path("/proc/self/maps").read_text().count("symdiff-kernel")
        counts = maps, len(os.listdir("/proc/self/fd")), tasks(), unique.count()
        return np.array([*counts, len(gc.get_objects()), int(lines["VmRSS"].split()[0])])
    x, y = np.ones(3), np.ones(3)
    def work(rounds):
        for k in range(rounds):
            number = 1.0 + k % 12
            kernel = compiled(("native", "auto", "interpreter")[k % 3], number)
            assert kernel(x, y)[0] == 1 + number
            for more in range(10):
                number = 1.0 + (10 * k + more) % 12
                out = np.zeros(3)
                NativeRunner(program(number)).run([x], [out], False)
                assert out[0] == number
    work(30)
    first = state()
    work(70)
    maps, descriptors, threads, nodes, objects, kilobytes = state() - first
    print(loading.loaded()[2] > 800, abs(maps) <= 10, descriptors, threads, nodes, objects < 500, kilobytes < 3000)
    """
    assert script(body) == "True True 0 0 0 True True\n"


@pytest.mark.exhaustive
@UNLOADS
def test_kernels_made_and_dropped_in_several_threads() -> None:
    body = """
    from concurrent.futures import ThreadPoolExecutor
    loading.RECENT = 1
    before, x = now(), np.linspace(0, 1, 3000).reshape(1000, 3)
    shared = [compiled(number=float(n)) for n in range(6)]
    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(25):
            n, place = (int(i) for i in rng.integers(6, size=2))
            kernel = compiled(("native", "auto")[seed % 2], float(n), threads=1 + seed % 2)
            np.testing.assert_array_equal(kernel(x, x), x * float(n) + x)
            number = float(shared[place]([1, 1, 1], [0, 0, 0])[0])
            shared[place] = compiled(number=number)
    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(work, seed) for seed in range(4)]:
            each.result()
    shared.clear()
    until(lambda: threading.active_count() == 1)
    gc.collect()
    print(now() - before <= 1)
    """
    assert script(body) == "True\n"


def test_builds_of_dropped_kernels_do_not_wait_in_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, slow = tmp_path / "told", tmp_path / "cc"
    slow.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "slow 1.0"; exit 0;; esac\necho > {told}; sleep 3600\n')
    slow.chmod(0o755)
    monkeypatch.setenv("CC", str(slow))
    held = [TieredRunner(program(1.0))]
    until(told.exists)
    held += [TieredRunner(program(float(n))) for n in range(2, 5)]
    for n in range(1000):
        TieredRunner(program(5.0 + n))
    assert len(background._worker.jobs) <= background.MANY + 1
    assert all(any(job.runner() is one for job in background._worker.jobs) for one in held)  # type: ignore[attr-defined]
    background._worker.hold()
    monkeypatch.delenv("CC")
    background._worker.resume()
    assert all(one.wait(60) and one.backend == "c" for one in held)


def test_cython_modules_are_shared_and_few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(extension, "_imported", {})
    monkeypatch.setattr(extension, "_build", lambda text, compiler: text.encode())
    monkeypatch.setattr(extension, "_import", lambda path: ModuleType("kernel"))
    monkeypatch.setattr(extension, "MOST", 2)
    first, second = CythonRunner("one"), CythonRunner("two")
    assert CythonRunner("one")._module is first._module is not second._module
    with pytest.raises(BuildError, match="2 Cython modules are loaded, and Python cannot unload any; use backend="):
        CythonRunner("three")
    assert CythonRunner("two")._module is second._module


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave room for two libraries more."""
    most = now() + 2
    monkeypatch.setattr(loading, "budget", lambda: (most, sys.maxsize))


@UNLOADS
def test_when_there_is_no_room_for_more_code(few: None) -> None:
    one, two = compiled(number=11.0), compiled(number=12.0)
    with pytest.raises(BuildError, match=r"vm\.max_map_count is \d+.*Drop kernels .*backend='auto'"):
        compiled(number=13.0)
    interpreted = compiled("auto", 13.0)
    assert interpreted.wait(60)
    assert interpreted.backend == "interpreter"
    assert interpreted.stats["reason"] == "no room for more native code"
    assert "Drop kernels" in interpreted.stats["build_failure"]
    loops = sd.compile("exp(x) * 13.0", x="n")
    assert loops.wait(60)
    assert loops.stats["reason"] == "no room for more native code"
    for kernel, number in ((one, 11), (two, 12), (interpreted, 13), (compiled(number=11.0), 11)):
        np.testing.assert_array_equal(kernel([1, 2, 3], [1, 1, 1]), [number + 1, 2 * number + 1, 3 * number + 1])
    np.testing.assert_allclose(loops([0.0, 1.0]), [13, 13 * np.e], rtol=1e-15)
    del one, kernel
    assert compiled(number=13.0).backend == "c"


@pytest.mark.exhaustive
@UNLOADS
def test_room_is_made_of_what_nobody_needs(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "RECENT", 50)
    for number in range(20, 26):  # what was used last gives way
        compiled(number=float(number))
    for number in range(26, 32):  # and so does what holds itself
        kernel: Any = compiled(number=float(number))
        kernel.itself = kernel
    held = [kernel, compiled(number=32.0)]
    collections = 0

    def count() -> None:
        nonlocal collections
        collections += 1

    monkeypatch.setattr(gc, "collect", count)
    for more in (33.0, 34.0, 35.0):  # but it is not looked for again and again
        with pytest.raises(BuildError):
            compiled(number=more)
    assert collections == 1
    assert [k([1, 1, 1], [0, 0, 0])[0] for k in held] == [31, 32]


def test_the_budget_is_a_part_of_what_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_mappings", lambda: 1000)
    monkeypatch.setattr(loading, "_address_space", lambda: 10**9)
    assert loading.budget.__wrapped__() == (100, 5 * 10**8)
    assert "1000, RLIMIT_AS 1000000000 bytes" in loading._limits()
    kernel = compiled(number=41.0)
    most = loaded()[1]
    monkeypatch.setattr(loading, "budget", lambda: (10**6, most))
    with pytest.raises(BuildError, match="RLIMIT_AS"):
        compiled(number=42.0)
    assert kernel([1, 1, 1], [0, 0, 0])[0] == 41


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no list of mappings on this system")
def test_a_library_takes_no_more_mappings_than_are_counted() -> None:
    def mappings() -> int:
        return Path("/proc/self/maps").read_text(encoding="ascii").count("symdiff-kernel")

    before = mappings()
    kernels = [compiled(number=float(number)) for number in range(50, 53)]
    kernels.append(sd.compile("gradient(log(det(A)), A)", A=(5, 5), backend="native"))
    assert 0 < mappings() - before <= len(kernels) * loading.MAPPINGS


def test_code_that_lacks_its_function_is_unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    before = now()
    with pytest.raises(BuildError, match="no function called kernel"):
        build(CSource("int other;", (), 2, 0, False))
    if loading._unloads():
        gc.collect()
        assert now() == before
    assert not any(code is None for code in building._loaded.values())
