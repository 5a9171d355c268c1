"""Commands that look at a formula: whether its derivatives are right, what becomes of it, how long it takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.shell_completion import get_completion_class
from rich.console import Console

from ...compiler import compile as compile_formula
from ...errors import ArgumentError
from ...frontend.array import Array
from ...graph import INT
from ...graph.sizes import show, value
from ...runtime.kernel import Kernel
from ...runtime.options import Backend
from ...runtime.runners import BACKENDS
from ..checking.check import check
from ..reading.plain_numpy import plain_numpy
from ..terminal import can_show, echo, say
from .frame import (
    Asked,
    FormulaCommand,
    PlainCommand,
    as_json,
    data_option,
    derivative_options,
    formula_argument,
    json_option,
    overwrite_option,
    read_any,
    shape_option,
    value_option,
    wrt_option,
)
from .options import Facts, declare, read_data, read_shapes

__all__ = ["bench_command", "check_command", "completion_command", "report_command"]

#: Seconds that one measurement takes at least, and how many there are.
LEAST, TIMES = 0.02, 5
#: Names of the ways in which NumPy is timed.
CLOSED, SOURCE = "the closed form", "the source that symdiff makes"


@click.command("check", cls=FormulaCommand)
@formula_argument
@wrt_option
@shape_option
@data_option
@value_option
@click.option("--points", type=click.IntRange(1, 100), default=3, show_default=True, help="Random points.")
@click.option("--seed-number", type=int, default=0, show_default=True, help="Of the random numbers.")
@json_option
def check_command(
    *,
    formula: str,
    wrt: tuple[str, ...],
    shapes: tuple[str, ...],
    data: tuple[str, ...],
    values: tuple[str, ...],
    facts: Facts,
    dialect: str | None,
    points: int,
    seed_number: int,
    as_data: bool,
) -> None:
    r"""Compare the derivatives of FORMULA with differences of its value, at numbers or at random ones.

    The exit code is 1 where something is wrong, and 3 where nothing is, but many digits cannot follow the formula.

    \b
    symdiff check "log(det(A)) * t" --shape A=3,3 --shape t=()
    symdiff check "abs(x)" --value x=0
    """
    numbers = read_data(data, values)
    given = read_shapes(shapes)
    for name, one in numbers.items():
        given.setdefault(name, one.shape)
    read = read_any(formula, declare(given, facts), dialect)
    chosen = [read.variables(one) for one in wrt] or None
    read.refuse_unused("--shape")
    report = check(read.value, chosen, at=numbers or None, seed=seed_number, points=points)
    if as_data:
        rows = [{"kind": one.kind, "message": one.message, "wrong": one.wrong} for one in report.findings]
        about = {
            "ok": report.ok,
            "verdict": report.verdict,
            "digits": report.digits,
            "order": report.order,
            "compared": report.compared,
            "disagreement": report.disagreement,
            "findings": rows,
        }
        echo(as_json({**about, "point": report.point}))
    else:
        console = Console()
        for line in report.certificate().splitlines():
            say(console, line if can_show(line) else line.replace("→", "->"))
    if not report.ok:
        sys.exit(1 if report.wrong else 3)


def _kernel(asked: Asked, backend: Backend) -> tuple[str, dict[str, Array], Kernel]:
    """Compile a formula, or with variables its derivative."""
    read = asked.read()
    kind, results = asked.results(read)
    read.refuse_unused("--shape")
    return kind, results, compile_formula(results, list(read.inputs.values()), backend=backend)


@click.command("report", cls=FormulaCommand)
@derivative_options
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="auto", help="For which to compile.")
@click.option("--out", type=click.Path(path_type=Path), help="Write all of it as a page for a browser: page.html.")
@overwrite_option
@json_option
def report_command(*, asked: Asked, backend: Backend, out: Path | None, overwrite: bool, as_data: bool) -> None:
    r"""Tell what FORMULA, or with --wrt its derivative, becomes: shapes, operations, rewrites, what would run it.

    \b
    symdiff report "gradient(sum((X @ w - y)**2), w)" --shape X=m,n --shape w=n --shape y=m
    symdiff report "log(det(A))" --wrt A --shape A=4,4 --json
    symdiff report "log(det(A))" --wrt A --shape A=4,4 --out page.html
    """
    kind, results, kernel = _kernel(asked, backend)
    if out is not None:
        kernel.report(out, overwrite=overwrite)
    lines = {
        "kind": kind,
        "signature": kernel.signature,
        "results": {label: {"shape": show(one.shape), "formula": str(one)} for label, one in results.items()},
        "backend": kernel.backend,
        "rewrites": list(kernel.rewrites),
        "plan": kernel.plan.splitlines(),
        **{key: one for key, one in kernel.stats.items() if key in ("nodes", "operations", "reason", "arena_bytes")},
    }
    if as_data:
        echo(as_json(lines))
        return
    console = Console()
    for key, told in lines.items():
        if key == "results":
            for label, one in results.items():
                say(console, f"{label:11} {show(one.shape)}: {one}")
        elif isinstance(told, list):
            for line in told:
                say(console, f"{key:11} {line}")
        else:
            say(console, f"{key:11} {told}")
    if out is not None:
        say(console, f"wrote {out}")


@click.command("bench", cls=FormulaCommand)
@derivative_options
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="auto", help="What computes.")
@click.option("--samples", type=click.IntRange(1, 10_000_000), default=1000, show_default=True, help="In a batch.")
@click.option("--size", type=click.IntRange(1, 100_000), default=32, show_default=True, help="For letters in shapes.")
@json_option
def bench_command(*, asked: Asked, backend: Backend, samples: int, size: int, as_data: bool) -> None:
    r"""Time FORMULA, or with --wrt its derivative: one sample, and a batch, beside NumPy.

    NumPy is the faster of two: the result's closed form, an operation a call as one writes it by hand, and the NumPy
    source that symdiff makes. Times are the best of several, in this process, on random numbers between 0.5 and 1.5.
    Results are compared first.

    \b
    symdiff bench "log(det(A))" --wrt A --shape A=4,4 --samples 10000
    """
    start = time.perf_counter()
    _, _, kernel = _kernel(asked, backend)
    kernel.wait()
    built = time.perf_counter() - start
    _, results, source = _kernel(asked, "numpy")
    rng = np.random.default_rng(0)
    if any(p.dtype is INT for p in kernel.inputs):
        raise ArgumentError("bench of a formula with positions among its inputs; time calls with numbers of your own")
    letters = {name: size for p in kernel.inputs for one in p.shape if not isinstance(one, int) for name in one.names}
    sample = [_random(rng, tuple(value(one, letters) for one in p.shape)) for p in kernel.inputs]
    batch = [np.repeat(one[None], samples, axis=0) for one in sample]
    rows: dict[str, dict[str, Any]] = {}
    plain = plain_numpy(results, dict(zip([str(p.name) for p in kernel.inputs], sample, strict=True)))
    for label, arrays in (("one sample", sample), (f"{samples} samples", batch)):
        got, want = (_flat(one(*arrays)) for one in (kernel, source))
        if not np.allclose(got, want, rtol=1e-6, atol=1e-9, equal_nan=True):
            raise ArgumentError(f"{kernel.backend} and NumPy give different numbers for {label}; run symdiff check")
        times = {SOURCE: _best(source, arrays)}
        if plain is not None:
            with np.errstate(all="ignore"):
                by_hand = _flat(plain(*arrays))
            if np.allclose(by_hand, want, rtol=1e-6, atol=1e-9, equal_nan=True):
                times[CLOSED] = _best(plain, arrays)
        name = min(times, key=times.__getitem__)
        rows[label] = {"seconds": _best(kernel, arrays), "numpy_seconds": times[name], "numpy": name}
    if as_data:
        echo(as_json({"backend": kernel.backend, "build_seconds": built, "size": letters, "times": rows}))
        return
    console = Console()
    say(console, f"{kernel.signature} on {kernel.backend}, compiled in {built:.3g} s")
    for label, one in rows.items():
        faster = one["numpy_seconds"] / one["seconds"]
        told = f"{_time(one['numpy_seconds'])} ({faster:.3g} times)"
        say(console, f"{label:16} {_time(one['seconds'])}, NumPy by {one['numpy']} {told}")


def _random(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return numbers at which most formulas are finite; square matrices are symmetric and far from singular."""
    x = rng.uniform(0.5, 1.5, shape)
    if len(shape) == 2 and shape[0] == shape[1]:
        x = (x + x.T) / 2 + 2 * shape[0] * np.eye(shape[0])
    return x


def _flat(results: Any) -> Any:
    return np.concatenate([np.ravel(one) for one in results.values()])


def _best(kernel: Callable[..., Any], arrays: list[Any]) -> float:
    """Return the seconds of a call, the best of some measurements of many."""
    best, number = float("inf"), 1
    for _ in range(TIMES):
        while True:
            start = time.perf_counter()
            for _ in range(number):
                kernel(*arrays)
            took = time.perf_counter() - start
            if took >= LEAST:
                break
            number *= 2
        best = min(best, took / number)
    return best


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


@click.command("completion", cls=PlainCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    r"""Print the script that completes commands and options in a shell.

    \b
    symdiff completion bash >> ~/.bashrc
    symdiff completion fish > ~/.config/fish/completions/symdiff.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root()
    echo(kind(root.command, {}, "symdiff", "_SYMDIFF_COMPLETE").source())
