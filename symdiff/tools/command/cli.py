"""The command line: one function a command, each a few calls of what Python users call.

Formulas, shapes and files all come from outside, so whatever symdiff refuses is printed as its
message, with the caret where there is one, and the exit code is 2. A traceback would be a bug
of symdiff.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from rich.console import Console

from ...calculus.cost import cost
from ...compiler import compile as compile_formula
from ...errors import ArgumentError, ShapeError, SymdiffError
from ...frontend.array import Array
from ...frontend.formula import Formula, read_formula
from ...frontend.outputs import leaves
from ...frontend.symbols import array
from ...graph.sizes import show
from ...ground.budget import Opened, limits, spend
from ...ground.guard import refuse
from ...ground.version import VERSION
from ...runtime.options import Backend
from ...runtime.runners import BACKENDS
from ...runtime.toolchain import cache
from ...simplify import stabilize
from ..demo.demo import run_demo
from ..export import BUILDS, EXPORTS, export
from ..read_files import split_source
from ..terminal import can_show, readable, say
from .doctor import counted, diagnose, megabytes
from .options import (
    DECLARED,
    KINDS,
    Facts,
    Numbers,
    batched,
    declare,
    differentiate,
    read_data,
    read_shapes,
    sample_shapes,
    split_pair,
)
from .stream import check_streamed, open_streams, run_streamed
from .summary import described, ran, samples_of, summarise
from .write_files import check_target, write_arrays


class Failure(click.ClickException):
    """A refusal of symdiff, shown as its message alone."""

    exit_code = 2


class Commands(click.Group):
    """The commands, with refusals and warnings shown as messages."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: click.echo(f"Warning: {message}", err=True)
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
                raise
            except MemoryError as error:
                raise Failure("not enough memory for arrays of these sizes; use smaller ones, or parts") from error
            except Exception as error:
                try:
                    refuse(error, ctx.invoked_subcommand or "symdiff")
                except SymdiffError as ours:
                    raise Failure(str(ours)) from error


class FormulaCommand(click.Command):
    """A command that takes a formula, which may begin with a minus sign and may come from anybody."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = "The formula comes from a stranger: refuse it where it would take more than about two seconds."
        self.params.append(click.Option(["--untrusted"], is_flag=True, help=words))
        for fact in DECLARED:
            option = f"--{fact.replace('_', '-')}"
            words = f"Declare an input {fact.replace('_', ' ')}; several with commas between them."
            self.params.append(click.Option([option, fact], multiple=True, metavar="NAME", help=words))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command within the budget of the formula."""
        ctx.params["facts"] = {fact: ctx.params.pop(fact) for fact in DECLARED}
        with Opened("strict" if ctx.params.pop("untrusted") else "default"):
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; where a formula was taken for an option, say how to give it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.startswith("--"):
                raise
            words = f"{error.message} A formula that begins with '-' goes last, behind '--'."
            raise click.NoSuchOption(error.option_name, words, error.possibilities, error.ctx) from None


_formula = click.argument("formula")
_wrt = click.option("--wrt", multiple=True, metavar="NAME", help="Variable to differentiate with respect to, as X[0].")
_shape = click.option("--shape", "shapes", multiple=True, metavar="A=n,n", help="Shape of an input: X=2,4 or t=().")
_kind = click.option("--kind", type=click.Choice(KINDS), default="auto", help="Auto: gradient or Jacobian.")
_order = click.option("--order", type=click.IntRange(1, 16), help="Differentiate so many times; axes add up.")
_seed = click.option("--seed", "seeds", multiple=True, metavar="F", help="Direction of a jvp, hvp; cotangent of a vjp.")
_convention = click.option(
    "--convention",
    type=click.Choice(["projected", "entries"]),
    default="projected",
    help="By a symmetric or skew matrix: the projection, or the derivative by independent entries.",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="symdiff")
def main() -> None:
    """From a formula to a fast derivative: read it as a formula, run it on arrays."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter shows its code, not a traceback
            stream.reconfigure(errors="backslashreplace")


@main.command(cls=FormulaCommand)
@_formula
@_wrt
@_shape
@_kind
@_order
@_seed
@_convention
@click.option("--latex", "form", flag_value="latex", help="Print LaTeX, and nothing else on standard output.")
@click.option("--sympy", "form", flag_value="sympy", help="Print a SymPy expression, and nothing else.")
@click.option("--text", "form", flag_value="text", help="Print formula text, which symdiff reads, and nothing else.")
def derive(
    *,
    formula: str,
    wrt: tuple[str, ...],
    shapes: tuple[str, ...],
    kind: str,
    order: int | None,
    seeds: tuple[str, ...],
    facts: Facts,
    convention: str,
    form: str | None,
) -> None:
    r"""Print the derivative of FORMULA as a formula ('-' reads it from standard input).

    \b
    symdiff derive "log(det(A))" --wrt A --shape A=n,n
    symdiff derive "log(softmax(X @ y))" --wrt X --shape X=2,4 --shape y=4
    """
    if not wrt:
        raise click.UsageError("no variable to differentiate with respect to; add --wrt NAME")
    read = read_formula(_text(formula), declare(read_shapes(shapes), facts))
    kind, results = differentiate(read, wrt, kind, order, seeds, convention)
    read.refuse_unused("--shape")
    out, notes = Console(), Console(stderr=form is not None)
    for label, result in results.items():
        if len(results) > 1:
            say(notes, f"{kind} by {label}:", "bold")
        say(out, _printed(result, form))
        say(notes, f"  {kind}, shape {show(result.shape)}{_layout(read.value, result)}", "dim")
    for rewrite in _rewrites(read.value):
        shown = rewrite if can_show(rewrite) else rewrite.replace("→", "->")
        say(notes, f"  rewritten for accuracy: {shown}", "dim")


@main.command("eval", cls=FormulaCommand)
@_formula
@_wrt
@_shape
@_kind
@_order
@_seed
@_convention
@click.option("--data", multiple=True, metavar="X=FILE", help="Numbers: x.npy, d.npz:y, t.csv:a,b, t.parquet:a.")
@click.option("--value", "values", multiple=True, metavar="a=3.5", help="A number, or lists of them: v=[1,2].")
@click.option("--batch", metavar="X,y", help="Inputs with one sample a row; auto: all that come from files.")
@click.option("--rows-at-once", type=click.IntRange(1), help="Read and compute so many rows of --batch at a time.")
@click.option("--reduce", type=click.Choice(["sum"]), help="Sum the result over the samples.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the result: .npy, .npz, .csv or .parquet.")
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="auto", help="What computes.")
def evaluate(
    *,
    formula: str,
    wrt: tuple[str, ...],
    shapes: tuple[str, ...],
    kind: str,
    order: int | None,
    seeds: tuple[str, ...],
    facts: Facts,
    convention: str,
    data: tuple[str, ...],
    values: tuple[str, ...],
    batch: str | None,
    rows_at_once: int | None,
    reduce: Literal["sum"] | None,
    out: Path | None,
    backend: Backend,
) -> None:
    r"""Compute FORMULA, or with --wrt its derivative, on numbers from files.

    A file holds one sample, or a batch of them along its first axis: say which with --batch X,
    or give the shape of one sample with --shape X=4. A .csv file has a sample, or a row of a
    matrix, in each line; a header is optional.

    \b
    symdiff eval "log(det(A))" --wrt A --data A=a.npy --out g.npy
    symdiff eval "sum(w * x)**2" --wrt w --data x=t.csv --batch x --value "w=[1,2]"
    """
    if not wrt and (kind != "auto" or order is not None or seeds):
        raise click.UsageError("--kind, --order and --seed are about a derivative; add --wrt NAME")
    formula = _text(formula)
    sources = dict(split_pair("--data", one, "X=x.npy") for one in data)
    streams = open_streams(data, batch) if rows_at_once else {}
    numbers = read_data([one for one in data if one.partition("=")[0].strip() not in streams], values)
    numbers |= {name: stream.first for name, stream in streams.items()}
    rows = batched(batch, numbers, list(sources))
    samples = sample_shapes(numbers, read_shapes(shapes), rows)
    declared = declare(samples, facts, sizes=False)
    read = _read_samples(formula, samples, declared)
    for name in read.inputs:
        if name not in numbers:
            raise ArgumentError(f"no numbers for {name!r}; add --data {name}=FILE or --value {name}=1.5")
    kind, results = differentiate(read, wrt, kind, order, seeds, convention) if wrt else ("value", _values(read.value))
    read.refuse_unused("numbers")
    if out is not None:
        lead = 0 if reduce else len(_lead(numbers, samples))
        axes = [lead + len(result.shape) for result in results.values()]
        check_target(out, [split_source(source)[0] for source in sources.values()], axes)
    inputs = {name: array(name, shape) for name, shape in declared.items()}
    wide = None if rows is None else [inputs[name] for name in rows]
    kernel = compile_formula(results, list(inputs.values()), batch=wide, reduce=reduce, backend=backend)
    console = Console()
    if rows_at_once:
        check_streamed(out, reduce, list(results))
        fixed = {name: one for name, one in numbers.items() if name not in streams}
        run_streamed(console, kernel, fixed, streams, rows_at_once, reduce, out, results)
        return
    spend(int(cost([one.node for one in results.values()]) * math.prod(_lead(numbers, samples))) // 200)
    served, start = kernel.backend, time.perf_counter()
    computed = {label: np.asarray(one) for label, one in kernel(inputs=numbers).items()}
    seconds = time.perf_counter() - start
    for name, one in numbers.items():
        origin = sources.get(name, "--value")
        say(console, f"{name}: {described(one)}, {samples_of(one, samples[name])} from {origin}", "dim")
    for label, result in results.items():
        summarise(console, f"{kind} by {label}" if wrt else label, result, computed[label], out is None)
    say(console, ran(served, kernel, seconds), "dim")
    if out is not None:
        say(console, f"wrote {out} ({write_arrays(out, computed)} bytes)")


@main.command("export", cls=FormulaCommand)
@_formula
@_wrt
@_shape
@_kind
@_order
@_seed
@_convention
@click.option("--reduce", type=click.Choice(["sum"]), help="Sum the result over the samples.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to write to.")
@click.option("--name", default="formula", show_default=True, help="Name of the module, or of the C function.")
@click.option("--target", type=click.Choice(list(EXPORTS)), default="cython", show_default=True, help="What to write.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def export_module(
    *,
    formula: str,
    wrt: tuple[str, ...],
    shapes: tuple[str, ...],
    kind: str,
    order: int | None,
    seeds: tuple[str, ...],
    facts: Facts,
    convention: str,
    reduce: Literal["sum"] | None,
    out: Path,
    name: str,
    target: str,
    overwrite: bool,
) -> None:
    r"""Write FORMULA, or with --wrt its derivative, as C, as a Cython module, or as Python with NumPy alone.

    \b
    symdiff export "log(det(A))" --wrt A --shape A=3,3 --out folder
    symdiff export "x @ A @ x" --wrt x --shape A=n,n --shape x=n --target c --name slope --out folder
    """
    if not wrt and (kind != "auto" or order is not None or seeds):
        raise click.UsageError("--kind, --order and --seed are about a derivative; add --wrt NAME")
    read = read_formula(_text(formula), declare(read_shapes(shapes), facts))
    _, results = differentiate(read, wrt, kind, order, seeds, convention) if wrt else ("value", _values(read.value))
    read.refuse_unused("--shape")
    kernel = compile_formula(results, list(read.inputs.values()), reduce=reduce, backend="numpy")
    console = Console()
    for path in export(kernel, out, name, target=target, overwrite=overwrite):
        say(console, f"wrote {path}")
    if target in BUILDS:
        say(console, f"build it: {BUILDS[target].format(out=out, name=name)}", "dim")


@main.command("check", cls=FormulaCommand)
@_formula
@_wrt
@_shape
@click.option("--points", type=click.IntRange(1, 100), default=3, show_default=True, help="Random points.")
def check_formula(*, formula: str, wrt: tuple[str, ...], shapes: tuple[str, ...], points: int, facts: Facts) -> None:
    """Compare the derivatives of FORMULA with differences; the exit code is 1 where one is wrong."""
    from ..checking.check import check

    given = declare(read_shapes(shapes), facts)
    report = check(_text(formula), list(wrt) or None, shapes=given, points=points)
    out = Console()
    for line in report.certificate().splitlines():
        say(out, line if can_show(line) else line.replace("→", "->"))
    if not report.ok:
        raise click.exceptions.Exit(1)


@main.command()
@click.option("--steps", type=click.IntRange(1, 1000), default=25, show_default=True, help="Newton steps at most.")
@click.option("--ridge", type=float, default=0.01, show_default=True, help="Weight of the penalty.")
@click.option("--out", type=click.Path(path_type=Path), default="symdiff-demo.png", help="The plot of the loss.")
@click.option("--compare/--no-compare", default=True, help="Time it against SymPy's lambdify and NumPy by hand.")
def demo(steps: int, ridge: float, out: Path, compare: bool) -> None:
    """Fit a softmax regression to Fisher's iris data by Newton steps, from one formula."""
    run_demo(Console(), steps=steps, ridge=ridge, plot=out, contest=compare)


@main.command()
def doctor() -> None:
    """Tell what kernels on this machine run on, and try one."""
    console = Console()
    findings = diagnose()
    for finding in findings:
        say(console, f"{finding.label:13} {finding.text}", "" if finding.sound else "bold red")
    if not all(finding.sound for finding in findings):
        sys.exit(1)


@main.group("cache")
def cache_commands() -> None:
    """Show or clear the folder that compiled kernels and plans are kept in."""


@cache_commands.command("show")
def cache_show() -> None:
    """Print where it is, what it holds, and why it is not used if it is not."""
    folder = cache.cache_folder()
    kept = cache.entries(folder)
    say(Console(), f"{folder}: {counted(kept)}, {megabytes(sum(size for _, size, _ in kept))}")
    reason = cache.obstacle(folder)
    if reason:
        say(Console(), f"The folder {reason}.")


@cache_commands.command("clear")
def cache_clear() -> None:
    """Remove all compiled kernels and plans; they are made again when they are needed."""
    folder = cache.cache_folder()
    kept = cache.entries(folder)
    cache.clear(folder)
    say(Console(), f"removed {counted(kept)} from {folder}")


# ---------------------------------------------------------------------------- what is printed


def _text(formula: str) -> str:
    """Return the formula, read from standard input for ``-``."""
    return sys.stdin.read(limits().characters + 1) if formula == "-" else formula


def _printed(result: Array, form: str | None) -> str:
    if form == "latex":
        return result.latex()
    if form == "sympy":
        return str(result.sympy)
    return str(result) if form == "text" else readable(result)


def _layout(f: Array, result: Array) -> str:
    """Say which axes of a derivative are whose."""
    own = len(f.shape)
    if own and len(result.shape) > own and result.shape[:own] == f.shape:
        return f": {show(f.shape)} of the formula, then {show(result.shape[own:])}"
    return ""


def _rewrites(f: Array) -> list[str]:
    made: list[str] = []
    stabilize([f.node], made)
    return list(dict.fromkeys(made))


def _read_samples(formula: str, samples: Mapping[str, tuple[int, ...]], declared: Mapping[str, Any]) -> Formula:
    """Read a formula of inputs of these shapes; where they do not fit, a file may hold more than one sample."""
    try:
        return read_formula(formula, declared)
    except ShapeError as error:
        told = ", ".join(f"{name} {show(shape)}" for name, shape in samples.items())
        remedy = "say --batch NAME where a file has one sample a row, or --shape NAME=4,4"
        raise ShapeError(f"{error}\nShapes of one sample: {told}; {remedy}") from error


def _lead(numbers: Mapping[str, Numbers], samples: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch axes of the input that has most."""
    leads = [one.shape[: one.ndim - len(samples[name])] for name, one in numbers.items()]
    return max(leads, key=len, default=())


def _values(value: Any) -> Mapping[str, Array]:
    return {"value": value} if isinstance(value, Array) else {f"value{k}": one for k, one in enumerate(leaves(value))}
