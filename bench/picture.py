"""README's picture: a formula, its derivative, and the time of a sample by how many come at once.

``python -m bench.picture docs/speed.svg`` measures the gradient of log det A by symdiff and by what else is installed
of the field's tools, each result compared with NumPy's first, on one pinned core and one thread in every library.
"""

from __future__ import annotations

import argparse
import datetime
import html
import importlib.util
import math
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Contender: TypeAlias = Callable[[Floats], Any]

N = 4
BATCHES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
#: Colours of lines, in light and in dark.
_COLOURS = {
    "symdiff": ("#1d4ed8", "#93b4ff"),
    "NumPy": ("#8a5a00", "#e0b050"),
    "JAX": ("#0f766e", "#5fd0c4"),
    "CasADi": ("#9d174d", "#f596c0"),
    "SymPy": ("#6b21a8", "#d3a4ff"),
}


def by_symdiff(batch: int) -> Contender:
    """Return the compiled kernel."""
    import symdiff as sd

    return sd.compile("gradient(log(det(A)), A)", A=(N, N), backend="native")


def by_numpy(batch: int) -> Contender:
    """Return the closed form, derived by hand."""
    return lambda a: np.linalg.inv(a).swapaxes(-1, -2)


def by_jax(batch: int) -> Contender:
    """Return ``jit`` of ``vmap`` of ``grad``."""
    import jax

    jax.config.update("jax_enable_x64", True)
    run = jax.jit(jax.vmap(jax.grad(lambda a: jax.numpy.linalg.slogdet(a)[1])))
    return lambda a: run(a).block_until_ready()


def by_casadi(batch: int) -> Contender:
    """Return CasADi's function, mapped over columns."""
    import casadi

    a = casadi.SX.sym("a", N, N)
    slope = casadi.gradient(casadi.log(casadi.det(a)), a)
    run = casadi.Function("f", [casadi.vec(a)], [casadi.vec(slope)]).map(batch)
    # columns of CasADi are columns of the matrix: transposed twice
    return lambda rows: np.asarray(run(rows.reshape(-1, N * N).T)).T.reshape(-1, N, N)


def by_sympy(batch: int) -> Contender:
    """Return what ``lambdify`` makes of SymPy's scalar derivatives."""
    import sympy

    a = sympy.Matrix(N, N, sympy.symbols(f"a:{N * N}"))
    slopes = [sympy.diff(sympy.log(a.det(method="berkowitz")), one) for one in a]
    run = sympy.lambdify(list(a), slopes, "numpy", cse=True)
    return lambda rows: np.stack(run(*rows.reshape(-1, N * N).T), axis=-1).reshape(-1, N, N)


#: Powers of a thousandth of a second.
_UNITS = {-4: "ps", -3: "ns", -2: "µs", -1: "ms", 0: "s"}
_CONTENDERS: Mapping[str, Callable[[int], Contender]] = {
    "symdiff": by_symdiff,
    "NumPy": by_numpy,
    "JAX": by_jax,
    "CasADi": by_casadi,
    "SymPy": by_sympy,
}


def measured() -> dict[str, list[float]]:
    """Return seconds for a sample of each contender that is installed, by batch."""
    from bench.timing import measure

    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {}
    for name, make in _CONTENDERS.items():
        if importlib.util.find_spec(name.lower()) is None:
            print(f"{name} is not installed", file=sys.stderr)
            continue
        for batch in BATCHES:
            a = rng.normal(size=(batch, N, N)) + N * np.eye(N)
            run = make(batch)
            np.testing.assert_allclose(run(a), np.linalg.inv(a).swapaxes(-1, -2), rtol=1e-9, atol=1e-12)
            found.setdefault(name, []).append(measure(partial(run, a), seconds=1.0).median / batch)
        print(name, [f"{one * 1e9:.3g} ns" for one in found[name]], file=sys.stderr)
    return found


def drawn(found: Mapping[str, Sequence[float]], told: str) -> str:
    """Return the picture as SVG."""
    width, height, left, right, top, bottom = 900, 340, 400, 800, 30, 280
    values = [one for line in found.values() for one in line]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(batch: float, seconds: float) -> tuple[float, float]:
        x = left + math.log10(batch) / math.log10(BATCHES[-1]) * (right - left)
        return x, bottom - (math.log10(seconds) - low) / (high - low) * (bottom - top)

    def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
        return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{html.escape(content)}</text>'

    parts = [
        text(20, 50, "write", "pale"), text(20, 78, 'f = "log(det(A))"', "code"),
        text(20, 125, "read", "pale"), text(20, 153, 'gradient(f, "A")  →  A⁻ᵀ', "code"),
        text(20, 200, "run", "pale"), text(20, 228, "compile(...)(A), A: (N, 4, 4)", "code"),
        text(left, 18, "time for a matrix, by how many come in a call from Python", "pale"),
        text(20, height - 12, told, "small"),
    ]  # fmt: skip
    for k in range(low, high + 1):
        y = place(1, 10.0**k)[1]
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        unit, size = divmod(k, 3)
        parts.append(text(left - 8, y + 4, f"{10**size} {_UNITS[unit]}", "small", "end"))
    parts += [text(place(batch, 1)[0], bottom + 18, f"{batch:,}", "small", "middle") for batch in BATCHES]
    ends: list[float] = []
    for name, line in sorted(found.items(), key=lambda one: one[1][-1]):
        points = [place(batch, one) for batch, one in zip(BATCHES, line, strict=True)]
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{name} line"/>')
        y = min([points[-1][1], *(end - 16 for end in ends[-1:])])  # names stand clear of one another
        ends.append(y)
        parts.append(text(right + 8, y + 4, name, f"{name} name"))
    light, dark = (
        "".join(f".{name}{{stroke:{own[k]}}}.name.{name}{{fill:{own[k]}}}" for name, own in _COLOURS.items())
        for k in (0, 1)
    )
    style = (
        "text{font:14px system-ui,sans-serif;fill:#17191e}.pale{fill:#5b6170}.small{font-size:11px;fill:#5b6170}"
        ".code{font:16px ui-monospace,monospace}.grid{stroke:#d6d9e0}.line{fill:none;stroke-width:2}"
        f".name{{stroke:none;font-weight:600}}{light}.name{{stroke:none!important}}"
        "@media(prefers-color-scheme:dark){text{fill:#e7e9ee}.pale,.small{fill:#a7adba}.grid{stroke:#3a3f4a}"
        f"{dark}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Time for a matrix by how many come in a call"><style>{style}</style>{"".join(parts)}</svg>\n'
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.picture", description="Draw README's picture.")
    parser.add_argument("path", type=Path)
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    today = datetime.datetime.now(datetime.UTC)
    told = f"one core of {platform.machine()}, float64, {today:%d %B %Y}; python -m bench.picture"
    options.path.write_text(drawn(measured(), told), encoding="utf-8")
    return 0


if __name__ == "__main__":
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        if os.environ.get(_name) != "1":  # libraries read it when they are loaded
            os.environ[_name] = "1"
            os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
            os.execv(sys.executable, [sys.executable, "-m", "bench.picture", *sys.argv[1:]])  # noqa: S606
    sys.exit(main())
