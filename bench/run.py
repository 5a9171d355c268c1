"""Check every case against its reference, then time it: ``python -m bench.run [NAME ...] [--peers]``.

One pinned core, one thread in every library, medians, and the time to derive and compile
apart from the time to run. Times are comparable within one run on one quiet machine only,
so what is run on is recorded, and the last columns are ratios to other libraries.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import symdiff
from bench import workloads
from bench.cases import CASES, Case
from bench.timing import measure
from symdiff.build import find_compiler

ROOT = Path(__file__).resolve().parent.parent
#: What keeps every library at one thread; read when the library is loaded.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run_case(case: Case, seconds: float) -> dict[str, Any]:
    """Return the times of one case, in seconds.

    Raises
    ------
    AssertionError
        If the results are not those of the reference.
    """
    start = time.perf_counter()
    arguments = case.derive(case.full)
    derived = time.perf_counter()
    kernel = symdiff.compile(**arguments)
    kernel.wait()
    compiled = time.perf_counter()
    data = case.data(case.full)
    values = [data[parameter.name] for parameter in kernel.inputs]
    results = kernel(*values)
    worst = workloads.disagreement(workloads.as_list(results), case.reference(data))
    if not worst < case.tolerance:
        raise AssertionError(f"{case.name} is {worst:.1e} away from its reference; expected {case.tolerance:.0e}")
    out = _writable(results)
    fresh = measure(lambda: kernel(*values), seconds)
    reused = measure(lambda: kernel(*values, out=out), seconds)
    return {
        "case": case.name,
        "title": case.title,
        "backend": kernel.backend,
        "operations": kernel.stats.get("operations"),
        "disagreement": worst,
        "derive": derived - start,
        "compile": compiled - derived,
        "median": fresh.median,
        "least": fresh.least,
        "median_out": reused.median,
        "least_out": reused.least,
    }


def _writable(results: Any) -> Any:
    """Return arrays to write into, in the structure of the results."""
    if isinstance(results, dict):
        return {name: _writable(part) for name, part in results.items()}
    if isinstance(results, list | tuple):
        return type(results)(_writable(part) for part in results)
    return np.empty_like(np.asarray(results))


def run_peers(python: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Run the other libraries that ``python`` has, in a process of their own."""
    command = [python, "-m", "bench.peers", *names]
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


def table(rows: Sequence[dict[str, Any]], peers: Sequence[dict[str, Any]]) -> str:
    """Return the results for reading: times, then for each other library its time and the ratio to ours."""
    libraries = list(dict.fromkeys(line["peer"] for line in peers if "version" in line))
    head = ["case", "by", "derive ms", "compile ms", "run µs", "into out= µs"]
    head += [column for peer in libraries for column in (f"{peer} µs", f"{peer} ÷ out=")]
    lines = [head]
    for row in rows:
        line = [row["case"], row["backend"]]
        line += [f"{row[key] * 1e3:,.1f}" for key in ("derive", "compile")]
        line += [f"{row[key] * 1e6:,.1f}" for key in ("median", "median_out")]
        for peer in libraries:
            line += _beside(row, [p for p in peers if p["peer"] == peer and p.get("case") == row["case"]])
        lines.append(line)
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    aligned = [[*map(str.ljust, line[:2], widths[:2]), *map(str.rjust, line[2:], widths[2:])] for line in lines]
    shown = ["  ".join(line) for line in aligned]
    return "\n".join([shown[0], "-" * len(shown[0]), *shown[1:]])


def _beside(row: dict[str, Any], found: Sequence[dict[str, Any]]) -> list[str]:
    if not found:
        return ["", ""]
    (one,) = found
    if "wrong" in one:
        return [f"wrong by {one['disagreement']:.0e}", ""]
    return [f"{one['median'] * 1e6:,.1f}", f"{one['median'] / row['median_out']:.2f}"]


def _pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def _is_single_threaded() -> bool:
    return all(os.environ.get(name) == value for name, value in THREADS.items())


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="Check, then time, the benchmark cases.")
    parser.add_argument("names", nargs="*", default=["*"], help="cases, as patterns (default: all); --list shows them")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--peers", action="store_true", help="run JAX, CasADi and heyoka too, where they are installed")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the other libraries")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to repeat each call")
    parser.add_argument("--core", type=int, default=None, help="core to run on (default: the last one there is)")
    parser.add_argument("--json", type=Path, help="write everything measured there")
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
        command = [sys.executable, "-m", "bench.run", *(sys.argv[1:] if argv is None else argv)]
        return subprocess.run(command, env={**os.environ, **THREADS}, check=False).returncode
    machine = describe_machine()
    print("\n".join(f"{key:9} {value}" for key, value in machine.items()), end="\n\n", flush=True)
    rows, wrong = [], False
    with tempfile.TemporaryDirectory() as cache:  # so that compiling is compiling
        os.environ["SYMDIFF_CACHE_DIR"] = cache
        for case in chosen:
            print(f"{case.title} ...", flush=True)
            try:
                rows.append(run_case(case, options.seconds))
            except AssertionError as error:
                wrong = True
                print(f"WRONG: {error}", flush=True)
    peers = run_peers(options.python, [case.name for case in chosen]) if options.peers else []
    print("\n" + table(rows, peers))
    for line in peers:
        if "case" not in line:
            print(f"{line['peer']}: {line.get('version', 'not installed')}")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows, "peers": peers}, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
