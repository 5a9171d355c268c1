"""What is interrupted ends, a compilation as if it had not begun; how far it is, is told on request."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from tests.runtime.test_cache import folder, script  # noqa: F401

INTERRUPTED = """
    import gc, os, pathlib, random, signal, tempfile, time
    import numpy as np
    import symdiff as sd
    backend, seed = {backend!r}, {seed}
    rng = random.Random(seed)
    x = np.linspace(0.1, 1, 6)
    A = np.linspace(-1, 1, 30).reshape(5, 6)
    def children():
        return pathlib.Path(f"/proc/{{os.getpid()}}/task/{{os.getpid()}}/children").read_text().split()
    def formula(k):
        return f"hessian(sum(exp(-(A @ x)**2)) * log({{k}} + x @ x), x)"
    def made(k):
        kernel = sd.compile(formula(k), A=(5, 6), x=6, backend=backend)
        return kernel, kernel(A, x)
    def measure(k):
        start = time.perf_counter()
        made(k)
        return time.perf_counter() - start
    measure(0)  # imports what a first compilation needs
    most = 1.2 * measure(1)
    def interrupt(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, interrupt)  # arrives in the main thread, as Ctrl-C does, and in no compiler
    hits, enough = 0, 1 + {count} // 5
    for k in range(2, 10 * {count}):
        if k >= {count} + 2 and hits >= enough:
            break
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, most))
                made(k)
                most *= 0.8  # faster than the one that was measured: the next is interrupted earlier
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hits += 1
        assert gc.isenabled(), k
        if backend == "native":
            assert not children(), k
        kernel, value = made(k)
        assert kernel.wait(60), k
        reference = sd.compile(formula(k), A=(5, 6), x=6, backend="numpy")(A, x)
        assert np.allclose(value, reference, rtol=1e-9, atol=1e-9), k
        again, same = made(k)
        assert again.stats["cached"] and (same == value).all(), k
    def left():
        kept, temporary = pathlib.Path(os.environ["SYMDIFF_CACHE_DIR"]), pathlib.Path(tempfile.gettempdir())
        return [*kept.glob("unfinished-*"), *temporary.glob("symdiff-build-*")]
    end = time.monotonic() + 60
    while left() and time.monotonic() < end:
        time.sleep(0.1)  # native code of a kernel that was interrupted may be on its way behind
    assert not left()
    print("hits" if hits >= enough else f"only {{hits}} of {{k}}")
"""


@pytest.mark.rows(1)
@pytest.mark.parametrize(("backend", "count"), [("native", 8), ("auto", 20), ("interpreter", 40), ("numpy", 40)])
def test_interrupted_at_any_time(folder: Path, tmp_path: Path, backend: str, count: int) -> None:  # noqa: F811
    own = tmp_path / "temporary"
    own.mkdir()
    body = INTERRUPTED.format(backend=backend, seed=count, count=count)
    assert script(body, TMPDIR=str(own)).strip() == "hits"


def test_what_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    sd.compile("hessian(sum(exp(x)*x), x)", x=4, backend="interpreter", verbose=True)
    told = capsys.readouterr()
    stages = [line.split(": ")[1] for line in told.err.splitlines()]
    assert stages == ["read", "simplify", "lower", "build", "keep", "compiled"]
    assert "nodes" in told.err
    assert "operations" in told.err
    assert not told.out
    sd.compile("hessian(sum(exp(x)*x), x)", x=4, backend="interpreter", verbose=True)
    assert "known" in capsys.readouterr().err
    sd.compile("hessian(sum(exp(x)/x), x)", x=4, backend="interpreter")
    assert not any(capsys.readouterr())
    with pytest.raises(sd.ParseError):
        sd.compile("hessian(", verbose=True)
    sd.compile("cos(x)", backend="interpreter")
    assert "cos" not in capsys.readouterr().err


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    body = """
    import symdiff as sd
    sd.compile("hessian(sum(exp(x)*x), x)", x=4, backend="interpreter", verbose=True)
    """
    mine, its = pty.openpty()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "SYMDIFF_CACHE_DIR": str(tmp_path),
        "TERM": "xterm",
    }
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(body)], stderr=its, env=environment) as process:
        os.close(its)
        told = b""
        try:
            while part := os.read(mine, 4096):
                told += part
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(mine)
    assert b"\x1b[" in told
    assert b"symdiff: simplify" not in told


SLOW = "hyp1f1(1.5, x, 3*x)*yv(x, x)*betainc(x, x, 0.3)"


def _of_many(text: str, count: int, **options: Any) -> Callable[..., Any]:
    kernel = sd.compile(text, x=(), **options)
    x = np.broadcast_to(np.linspace(0.1, 0.9, 1000), (count, 1000))
    return lambda out: kernel(x, out=out)


def _loop(backend: Any, threads: int) -> Callable[..., Any]:
    A, x = sd.matrix("A", "n", "n"), sd.vector("x", "n")
    kernel = sd.compile(sd.iterate(lambda s: sd.tanh(A @ s), x, 100_000_000), [A, x], backend=backend, threads=threads)
    return lambda out: kernel(np.eye(8), np.ones(8), out=out)


def _scalars(backend: Any, threads: int) -> Callable[..., Any]:
    x = sd.scalar("x")
    grown = sd.iterate(lambda x: x + 1 / (1 + x * x), x, 2_000_000_000)  # never the same twice, which ends a loop
    kernel = sd.compile(grown, [x], backend=backend, threads=threads)
    return lambda out: kernel(np.ones(1), out=out)


def _product(backend: Any, threads: int) -> Callable[..., Any]:
    A = sd.matrix("A", "n", "n")
    kernel = sd.compile(A @ A @ A @ A @ A @ A, [A], backend=backend, threads=threads)
    numbers = np.random.default_rng(0).uniform(size=(3000, 3000))
    return lambda out: kernel(numbers, out=out)


def _rows(backend: Any, threads: int) -> Callable[..., Any]:
    A, x = sd.matrix("A", "m", "n"), sd.vector("x", "n")
    kernel = sd.compile(sd.exp(A @ x).sum(), [A, x], batch=[x], backend=backend, threads=threads)
    rows = np.broadcast_to(np.linspace(0.0, 1.0, 40), (20_000_000, 40))
    return lambda out: kernel(np.ones((50, 40)), rows, out=out)


#: Calls that take a minute and more, and the shapes of their results.
CALLS: dict[str, tuple[Callable[[Any, int], Callable[..., Any]], tuple[int, ...]]] = {
    "samples": (lambda backend, threads: _of_many(SLOW, 8000, backend=backend, threads=threads), (8000, 1000)),
    "sum": (lambda backend, threads: _of_many(SLOW, 10**7, backend=backend, threads=threads, reduce="sum"), ()),
    "loop": (_loop, (8,)),
    "loop of numbers": (_scalars, (1,)),
    "product": (_product, (3000, 3000)),
    "rows": (_rows, (20_000_000,)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_is_interrupted_ends_at_once(name: str, backend: Any, threads: int) -> None:
    make, shape = CALLS[name]
    call, out = make(backend, threads), np.full(shape, -7.0)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt) as caught:
            call(out)
        assert time.monotonic() - start < 6  # a second on a machine with nothing else to do
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert any("out=" in note for note in caught.value.__notes__)


def test_a_signal_whose_handler_returns_leaves_the_call_as_it_is() -> None:
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    kernel = sd.compile("sin(x)*yv(x, x)", x=(), backend="native")
    x = np.linspace(0.1, 0.9, 300_000)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.05)
        found = kernel(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    np.testing.assert_array_equal(found, kernel(x))


# ---------------------------------------------------------------------------- interrupt at every step
# An interrupt at each step of Python's, one after the other: what a call began is undone wherever it comes.


#: Python's headers are not needed for four of its functions.
SOURCE = """
extern int PyErr_SetInterruptEx(int);
extern void PyEval_SetTrace(int (*)(void *, void *, int, void *), void *);
extern int PyObject_SetAttrString(void *, const char *, void *);
extern char _Py_TrueStruct;
static long left;

static int trace(void *self, void *frame, int what, void *argument)
{
    if (what == 0)  /* a call begins */
        return PyObject_SetAttrString(frame, "f_trace_opcodes", &_Py_TrueStruct);
    if (what == 7 && --left == 0) {  /* a step follows */
        PyEval_SetTrace(0, 0);
        PyErr_SetInterruptEx(2);
    }
    return 0;
}

void begin(long steps)
{
    left = steps;
    PyEval_SetTrace(trace, &_Py_TrueStruct);
}

long end(void)
{
    PyEval_SetTrace(0, 0);
    return left;
}
"""

TRIED = """
    import contextlib, contextvars, ctypes, gc, os, pathlib, random, signal, subprocess, sys, tempfile
    import symdiff as sd
    here = pathlib.Path(tempfile.mkdtemp())
    (here / "steps.c").write_text({source!r})
    undefined = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    subprocess.run(["cc", "-shared", "-fPIC", *undefined, "-o", here / "steps.so", here / "steps.c"], check=True)
    steps = ctypes.PyDLL(str(here / "steps.so"))
    steps.end.restype = ctypes.c_long
    signal.signal(signal.SIGINT, signal.default_int_handler)
    made = here / "made"
    made.mkdir()
    def state():
        held = {{var.name: value for var, value in contextvars.copy_context().items() if value is not None}}
        files = sorted(p for d in (made, kept) for p in d.rglob("*") if p.name[0] == "." or "unfinished" in p.name)
        return gc.isenabled(), held, files
    kept = pathlib.Path(os.environ["SYMDIFF_CACHE_DIR"])
    kept.mkdir(exist_ok=True)
    def interrupted(work, k):
        "Do the work with an interrupt at the k-th step; tell whether it came."
        try:
            steps.begin(k)
            work()
            for _ in range(3):
                pass
            return steps.end() <= 0
        except KeyboardInterrupt:
            return True
        finally:
            steps.end()
    def every(name, work):
        work()
        before, k = state(), 1
        while interrupted(work, k):
            assert state() == before, (name, k, state())
            k += 1
        assert k > 5, name
        print(name, "was interrupted at", k - 1, "steps")
    {body}
    print("done")
"""

BLOCKS = """
    from symdiff.frontend.functions.closing import entered
    from symdiff.graph.sizes import sizes_from
    from symdiff.ground import budget, progress, tracing
    from symdiff.ground.gc_pause import notes, paused
    from symdiff.lowering.plan.access import inner_axes
    def used():
        notes()["x"] = len(notes())
        return [n for n in range(3)]
    inner = paused(used)
    @paused
    def outer():
        inner()
        return inner()
    every("paused", outer)
    blocks = {
        "budget": lambda: budget.Opened("strict"), "uncounted": budget.uncounted, "sizes": lambda: sizes_from(3),
        "axes": lambda: inner_axes(3), "function": lambda: entered("f", sd.LimitError),
        "report": lambda: progress.reported(True, 3),
    }
    for name, block in blocks.items():
        def work():
            with block():
                used()
                return used()
        with contextlib.redirect_stderr(open(os.devnull, "w")):
            every(name, work)
    os.environ[tracing.VARIABLE] = str(here / "traces")
    def work():
        with tracing.traced("test", "x"):
            return used()
    for k in random.Random(1).sample(range(1, 3000), 200):
        before = state()
        interrupted(work, k)
        assert state() == before, k
"""

FILES = """
    from symdiff.ground.files import replace_file, write_folder
    from symdiff.runtime.toolchain import cache
    every("file", lambda: replace_file(made / "file", lambda stream: stream.write(b"12")))
    every("folder", lambda: write_folder(made / "a", {"b": "1", "c": "2"}))
    every("entry", lambda: cache.publish(kept, "0" * 64, b"12"))
"""

STEPPED = """
    def work(k):
        kernel = sd.compile(f"hessian(sum(exp({k} - x**2)) * log(1 + x @ x), x)", x=3, backend="interpreter")
        kernel([1.0, 2.0, 3.0])
    work(1)
    before = state()
    steps.begin(10**9)
    work(2)
    total = 10**9 - steps.end()
    rng = random.Random(3)
    hits = 0
    for k in range(3, 150):
        hits += interrupted(lambda: work(k), rng.randint(1, total))
        assert state() == before, (k, state())
    assert hits > 100, hits
"""


@pytest.mark.rows(1)
@pytest.mark.parametrize("body", [BLOCKS, FILES, STEPPED], ids=["blocks", "files", "calls"])
def test_an_interrupt_at_every_step(folder: Path, tmp_path: Path, body: str) -> None:  # noqa: F811
    told = script(TRIED.format(source=SOURCE, body=body.strip()), TMPDIR=str(tmp_path))
    assert told.splitlines()[-1] == "done"
