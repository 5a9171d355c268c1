"""Check every case against its reference, then time it: ``python -m bench [NAME ...] [--peers]``.

One pinned core, one thread in every library, medians, and the time to derive and compile
apart from the time to run. Times are comparable within one run on one quiet machine only,
so what is run on is recorded, and the last columns are ratios to other libraries. A machine
may change its pace within a run: ``--rounds`` takes all contenders of a case in turn, again
and again. ``--columns`` adds the other layout, and ``--floor`` the time of moving the numbers only.
``--json``, ``--markdown`` and ``--plot`` write what was measured.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import symdiff
from bench import workloads
from bench.cases import CASES, Case, compiled
from bench.floor import LANES, Floor
from bench.peers import PEERS
from bench.shown import draw, markdown, table
from bench.timing import measure
from symdiff.runtime.toolchain.build import find_compiler

ROOT = Path(__file__).resolve().parent.parent
#: What keeps every library at one thread; read when the library is loaded.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Ready:
    """A case in one layout: derived, compiled and checked, ready to be timed.

    Parameters
    ----------
    known : dict
        What identifies it in the table, and what preparing it told; times are in seconds.
    fresh, reused : callable
        Call the kernel with new arrays for the results, and with the same ones again.
    moved : tuple of int or None
        The number of samples, and what each reads and writes; None without a batch.
    """

    known: dict[str, Any]
    fresh: Callable[[], Any]
    reused: Callable[[], Any]
    moved: tuple[int, int, int] | None


def prepare(case: Case, *, columns: bool = False) -> Ready:
    """Derive, compile and check a case, in rows or in columns.

    Raises
    ------
    AssertionError
        If the results are not those of the reference.
    """
    start = time.perf_counter()
    arguments = case.derive(case.full)
    derived = time.perf_counter()
    kernel = compiled(arguments, batch_axis=-1 if columns else 0)
    kernel.wait()
    built = time.perf_counter()
    data = case.data(case.full)
    values = [data[parameter.name] for parameter in kernel.inputs]
    batch = all(value.ndim == len(parameter.shape) + 1 for value, parameter in zip(values, kernel.inputs, strict=True))
    if columns:
        values = [np.ascontiguousarray(np.moveaxis(value, 0, -1)) for value in values]
    results = kernel(*values)
    listed = [np.moveaxis(array, -1, 0) if columns else array for array in workloads.as_list(results)]
    worst = workloads.disagreement(listed, case.reference(data))
    if not worst < case.tolerance:
        raise AssertionError(f"{case.name} is {worst:.1e} away from its reference; expected {case.tolerance:.0e}")
    out = _writable(results)
    known = {
        "case": case.name,
        "title": case.title,
        "layout": ("columns" if columns else "rows") if batch else "",
        "backend": kernel.backend,
        "operations": kernel.stats.get("operations"),
        "disagreement": worst,
        "derive": derived - start,
        "compile": built - derived,
    }
    samples = len(listed[0]) if batch else 1
    sizes = [sum(array.size for array in arrays) // samples for arrays in (values, listed)]
    moved = (samples, sizes[0], sizes[1]) if batch and samples % LANES == 0 else None
    return Ready(known, lambda: kernel(*values), lambda: kernel(*values, out=out), moved)


def run_case(case: Case, options: argparse.Namespace, floor: Floor | None) -> Iterator[dict[str, Any]]:
    """Check a case, then time it beside its contenders, all in turn; return a line for each.

    Raises
    ------
    AssertionError
        If the results are not those of the reference.
    """
    ready = [prepare(case)]
    if options.columns and ready[0].known["layout"]:
        ready.append(prepare(case, columns=True))
    peers = options.peer or (list(PEERS) if options.peers else [])
    rounds: list[dict[str, Any]] = []
    for _ in range(options.rounds):
        for one in ready:
            fresh, reused = measure(one.fresh, options.seconds), measure(one.reused, options.seconds)
            times = {"median": fresh.median, "least": fresh.least}
            rounds.append({**one.known, **times, "median_out": reused.median, "least_out": reused.least})
            if floor and one.moved:
                layout = one.known["layout"]
                least = floor.measure(*one.moved, columns=layout == "columns", seconds=options.seconds)
                rounds.append({"peer": "floor", "case": case.name, "layout": layout, **asdict(least)})
        if peers:
            rounds += run_peers(options.python, case.name, peers)
    return merged(rounds)


def merged(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one line for all rounds of a contender: the medians of their medians, the least of their least times."""
    together: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in lines:
        together.setdefault(tuple(line.get(key, "") for key in ("peer", "case", "layout")), []).append(line)
    for several in together.values():
        line = dict(several[-1])
        for key in line.keys() & {"median", "median_out"}:
            line[key] = statistics.median(one[key] for one in several)
        for key in line.keys() & {"least", "least_out"}:
            line[key] = min(one[key] for one in several)
        yield line


def _writable(results: Any) -> Any:
    """Return arrays to write into, in the structure of the results."""
    if isinstance(results, dict):
        return {name: _writable(part) for name, part in results.items()}
    if isinstance(results, list | tuple):
        return type(results)(_writable(part) for part in results)
    return np.empty_like(np.asarray(results))


def run_peers(python: str, name: str, peers: Sequence[str]) -> list[dict[str, Any]]:
    """Run the other libraries that ``python`` has, in a process of their own."""
    command = [python, "-m", "bench.peers", "--peers", *peers, "--cases", name]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        print(f"the other libraries stopped early (exit code {done.returncode})", file=sys.stderr)
    return lines


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        cpu = next((text.strip() for key, text in fields.items() if key.strip() == "model name"), cpu)
    compiler = find_compiler()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "symdiff": symdiff.__version__,
        "compiler": _first_line([*compiler.command, "--version"]) if compiler else "none",
    }


def _first_line(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.partition("\n")[0]


def _pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def _is_single_threaded() -> bool:
    return all(os.environ.get(name) == value for name, value in THREADS.items())


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Check, then time, the benchmark cases.")
    parser.add_argument("names", nargs="*", default=["*"], help="cases, as patterns (default: all); --list shows them")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--columns", action="store_true", help="run the other layout too, one column a sample")
    parser.add_argument("--floor", action="store_true", help="time moving the numbers and computing nothing too")
    parser.add_argument("--peers", action="store_true", help=f"run {', '.join(PEERS)} too, where they are installed")
    parser.add_argument("--peer", action="append", choices=PEERS, help="run this one only; may be repeated")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the other libraries")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to repeat each call")
    parser.add_argument("--rounds", type=int, default=1, help="how often to take all contenders of a case in turn")
    parser.add_argument("--core", type=int, default=None, help="core to run on (default: the last one there is)")
    parser.add_argument("--json", type=Path, help="write everything measured there")
    parser.add_argument("--markdown", type=Path, help="write the tables there, with the machine they were measured on")
    parser.add_argument("--plot", type=Path, help="draw the times beside the other libraries there (.png, .svg, .pdf)")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a result is wrong."""
    options = _arguments(argv)
    chosen = [c for c in CASES.values() if any(fnmatch.fnmatch(c.name, pattern) for pattern in options.names)]
    if not chosen:
        print(f"no case is called {' or '.join(options.names)}; cases: {', '.join(CASES)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(f"{case.name:14} {case.title}" for case in chosen))
        return 0
    _pin((os.cpu_count() or 1) - 1 if options.core is None else options.core)
    if not _is_single_threaded():  # too late for this process, which has loaded the libraries
        command = [sys.executable, "-m", "bench", *(sys.argv[1:] if argv is None else argv)]
        return subprocess.run(command, env={**os.environ, **THREADS}, check=False).returncode
    machine = describe_machine()
    print("\n".join(f"{key:9} {value}" for key, value in machine.items()), end="\n\n", flush=True)
    floor = Floor() if options.floor else None
    lines: list[dict[str, Any]] = []
    wrong = False
    with tempfile.TemporaryDirectory() as cache:  # so that compiling is compiling
        os.environ["SYMDIFF_CACHE_DIR"] = cache
        for case in chosen:
            print(f"{case.title} ...", flush=True)
            try:
                lines += run_case(case, options, floor)
            except AssertionError as error:
                wrong = True
                print(f"WRONG: {error}", flush=True)
    rows, peers = ([line for line in lines if ("peer" in line) == other] for other in (False, True))
    print("\n" + table(rows, peers))
    installed = {line["peer"]: line.get("version", "not installed") for line in peers if "case" not in line}
    print("\n".join(f"{peer}: {version}" for peer, version in installed.items()))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows, "peers": peers}, indent=1))
    if options.markdown:
        options.markdown.write_text(markdown(machine, rows, peers), encoding="utf-8")
    if options.plot and rows:
        draw(rows, peers, options.plot)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
