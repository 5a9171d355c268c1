"""How long native code lives: as long as somebody can run it, and not much longer."""

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
from typing import Any

import numpy as np
import pytest
from test_build import program
from waiting import until

import symdiff as sd
from symdiff._kernels.system.loader import loaded
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.c.emit import CSource
from symdiff.runtime.runners import BACKENDS
from symdiff.runtime.runners.programs import NativeRunner
from symdiff.runtime.toolchain import load as loading
from symdiff.runtime.toolchain.build import build

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
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    head = "import threading\nfrom test_lifetime import *\nloading.RECENT = 0\n"
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
