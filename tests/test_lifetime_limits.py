"""Nothing piles up where native code comes and goes, and room is made where there is none."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_build import program
from test_lifetime import UNLOADS, _alone, compiled, now, script  # noqa: F401
from waiting import until

import symdiff as sd
from symdiff._kernels.system.loader import loaded
from symdiff.codegen.c.emit import CSource
from symdiff.errors import BuildError
from symdiff.runtime.runners import cython as extension
from symdiff.runtime.runners.cython import CythonRunner
from symdiff.runtime.runners.programs import TieredRunner
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import load as loading
from symdiff.runtime.toolchain import processes as background
from symdiff.runtime.toolchain.build import build


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
