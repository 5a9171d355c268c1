"""An interrupt at each step of Python's, one after the other: what a call began is undone wherever it comes.

A tracing function in C makes the signal pending before the k-th step, and Python calls its handler where it would call
it for any signal; a tracing function in Python would be interrupted itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.test_cache import folder, script  # noqa: F401

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
    from symdiff.lowering.plan.loops.access import inner_axes
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

CALLS = """
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
@pytest.mark.parametrize("body", [BLOCKS, FILES, CALLS], ids=["blocks", "files", "calls"])
def test_an_interrupt_at_every_step(folder: Path, tmp_path: Path, body: str) -> None:  # noqa: F811
    told = script(TRIED.format(source=SOURCE, body=body.strip()), TMPDIR=str(tmp_path))
    assert told.splitlines()[-1] == "done"
