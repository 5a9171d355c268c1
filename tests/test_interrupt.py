"""A compilation that is interrupted leaves everything as if it had not begun; how far it is, is told on request."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from test_cache import folder, script  # noqa: F401

import symdiff as sd

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
        "PYTHONPATH": str(Path(__file__).parent.parent),
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
