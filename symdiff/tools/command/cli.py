"""The command line: one function a command, each a few calls of what Python users call; and the diagnosis of a machine.

Formulas, shapes and files all come from outside, so whatever symdiff refuses is printed as its message, with the caret
where there is one, and the exit code is 2. A traceback would be a bug. The last line of a diagnosis is an experiment: a
kernel is built and its result compared with NumPy's, since a compiler that is present is not always one that works.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import click
import numpy as np
from rich.console import Console

from ...calculus.cost import cost
from ...codegen import TARGETS
from ...codegen.c.target import Target
from ...compiler import compile as compile_formula
from ...errors import ArgumentError, LimitError, ShapeError, SymdiffError
from ...frontend.array import Array
from ...frontend.symbols import array
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import check_elements, show
from ...ground.budget import spend
from ...ground.files import check_writable
from ...ground.limits import LIMITS
from ...ground.version import DISTRIBUTION, VERSION, other_distribution
from ...runtime.kept.lookup import PREFIX
from ...runtime.options import Backend
from ...runtime.runners import BACKENDS
from ...runtime.toolchain import cache
from ...runtime.toolchain.build import find_compiler
from ...runtime.toolchain.load import native_target
from ..export import export
from .demo import run_demo
from .frame import (
    Asked,
    Commands,
    FormulaCommand,
    as_json,
    can_show,
    data_option,
    derivative_options,
    echo,
    json_option,
    named_results,
    overwrite_option,
    read_any,
    rewrites_of,
    say,
    value_or_flag_option,
)
from .inspect import bench_command, check_command, completion_command, report_command
from .options import (
    Numbers,
    batched,
    check_tables,
    column_of,
    columns_by_name,
    declare,
    read_data,
    read_shapes,
    sample_shapes,
    split_pair,
)
from .read_files import split_source
from .shown import described, print_steps, printed, ran, samples_of, summarise, told
from .stream import check_streamed, open_streams, run_streamed
from .write_files import check_target, write_arrays

__all__ = ["Diagnosis", "counted", "diagnose", "megabytes"]


PACKAGES = ("numpy", "scipy", "sympy", "cython", "matplotlib")
_SETS = {"_ZGVe": "AVX-512", "_ZGVd": "AVX2", "_ZGVb": "SSE2", "_ZGVn": "NEON"}


@dataclass(frozen=True)
class Diagnosis:
    """One line of a diagnosis.

    Parameters
    ----------
    label, text : str
    sound : bool
        False where something is broken, rather than absent.
    """

    label: str
    text: str
    sound: bool = True


def diagnose() -> list[Diagnosis]:
    """Return what kernels on this machine would run on."""
    target = native_target()
    compiler = find_compiler()
    told = (
        "none found ($CC, cc, gcc, clang)" if compiler is None else f"{' '.join(compiler.command)}: {compiler.version}"
    )
    return [
        *_package(),
        Diagnosis("Python", f"{platform.python_version()} on {sys.platform} {platform.machine()}"),
        *(Diagnosis(name, _version(name)) for name in PACKAGES),
        Diagnosis(
            "instructions", f"{_SETS.get(target.prefix, platform.machine())}, {target.lanes} doubles in a vector"
        ),
        Diagnosis("vector math", _vector_math(target)),
        Diagnosis("compiler", told),
        Diagnosis("cache", _cache()),
        _experiment(compiler is not None),
    ]


def _package() -> list[Diagnosis]:
    """Tell which version runs, whether pip knows it, and whether another project of the name is in its folder."""
    site = Path(__file__).parents[3]
    installed = _version(DISTRIBUTION)
    known = f"{DISTRIBUTION} {installed}" if installed != "not installed" else f"not installed by pip, from {site}"
    other = other_distribution(str(site))
    found = [Diagnosis("symdiff", f"{VERSION} ({known})")]
    return found if other is None else [*found, Diagnosis("other project", other, sound=False)]


def _vector_math(target: Target) -> str:
    """Tell which functions come from the vector library."""
    offered = {row.vector for row in FUNCTIONS.values() if row.vector}
    found = {name.rpartition("_")[2] for name in target.vector_math}
    if not found:
        return "none found; functions are the C library's, lane by lane"
    lacking = sorted(offered - found)
    rest = f"; lane by lane: {', '.join(lacking)}" if lacking else ""
    return f"{len(found)} functions of glibc's libmvec{rest}"


def counted(kept: Sequence[tuple[str, int, float]]) -> str:
    """Say how many built kernels and how many records of formulas there are among entries of the cache."""
    plans = sum(name.startswith(PREFIX) for name, _, _ in kept)
    return f"{len(kept) - plans} kernels and {plans} records of formulas"


def _cache() -> str:
    """Tell where kernels are kept, or why they are not."""
    folder = cache.cache_folder()
    kept = cache.entries(folder)
    held = f"{folder}, {counted(kept)}, {megabytes(sum(size for _, size, _ in kept))} of {megabytes(cache.LIMIT)}"
    reason = cache.obstacle(folder)
    return f"{held}; it {reason}" if reason else held


def megabytes(size: int) -> str:
    """Return a number of bytes as a person reads it."""
    return f"{size / 2**20:.1f} MB"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _experiment(native: bool) -> Diagnosis:
    """Make the kernels that "auto" would and compare them with NumPy."""
    label = "backend"
    points = np.linspace(-3.0, 3.0, 101)
    try:
        served = compile_formula("sin(x) * exp(x)", backend="interpreter")(points)
        kernel = compile_formula("sin(x) * exp(x)", backend="native" if native else "interpreter")
        result = kernel(points)
    except SymdiffError as error:
        return Diagnosis(label, f"native code fails: {error}", sound=False)
    if not np.allclose(result, np.sin(points) * np.exp(points), rtol=1e-12, atol=1e-14):
        return Diagnosis(label, "native code gives wrong numbers on this machine; use backend='numpy'", sound=False)
    if not np.array_equal(result, served):
        return Diagnosis(label, "interpreter and native code differ here; choose one with backend=", sound=False)
    if not native:
        return Diagnosis(
            label, "auto takes the interpreter for small formulas of fixed size, else plans; no C compiler"
        )
    seconds = kernel.stats["build_seconds"]
    built = f"built in {seconds * 1e3:.0f} ms" if seconds else "found in the cache"
    words = "auto takes the interpreter, then native code, for small formulas of fixed size"
    return Diagnosis(label, f"{words} ({built}, same bits), else plans")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="symdiff")
def main() -> None:
    r"""From a formula to a fast derivative: read it as a formula, run it on arrays.

    A formula is text, @FILE for the text of a file, or - for standard input.

    \b
    Exit codes:
      0  done
      1  check or doctor found something wrong
      2  refused: options, a formula or a file are not what was expected
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter shows its code, not a traceback
            stream.reconfigure(errors="backslashreplace")


for _command in (check_command, report_command, bench_command, completion_command):
    main.add_command(_command)

#: Forms that ``derive`` prints.
FORMATS = ("book", "text", "latex", "mathml", "sympy", *TARGETS, "json")


@main.command(cls=FormulaCommand)
@derivative_options
@click.option("--steps", "stepwise", is_flag=True, help="Print how it is derived, equation by equation.")
@click.option("--format", "wanted", type=click.Choice(FORMATS), help="What to print alone; book by default.")
@click.option("--latex", "form", flag_value="latex", help="The same as --format latex.")
@click.option("--sympy", "form", flag_value="sympy", help="The same as --format sympy.")
@click.option("--text", "form", flag_value="text", help="The same as --format text.")
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def derive(
    *,
    asked: Asked,
    stepwise: bool,
    wanted: str | None,
    form: str | None,
) -> None:
    r"""Print the derivative of FORMULA as a formula.

    FORMULA is text, @FILE for the text of a file, or - for standard input. text, latex, mathml and
    sympy are formulas, json an object with all that is known, the others source that computes them.

    \b
    symdiff derive "log(det(A))" --wrt A --shape A=n,n
    symdiff derive "log(softmax(X @ y))" --wrt X --shape X=2,4 --shape y=4
    symdiff derive "sum((X @ w - y)**2)" --wrt w --shape X=m,n --shape w=n --shape y=m --steps
    symdiff derive "x'*A*x" --wrt x --dialect matrixcalculus --shape x=vector --shape A=matrix
    symdiff derive @loss.txt --wrt w --wrt b --format json
    """
    if not asked.wrt:
        names = list(asked.read().inputs)
        example = f", as --wrt {names[0]}" if names else ""
        raise click.UsageError(f"no variable to differentiate with respect to; add --wrt NAME{example}")
    if wanted and form and wanted != form:
        raise click.UsageError(f"--format {wanted} and --{form}; give one of them")
    form = None if wanted == "book" else wanted or form
    read = asked.read()
    if stepwise:
        if asked.kind not in ("auto", "gradient", "jacobian") or asked._replace(kind="auto").has_options():
            raise click.UsageError("--steps are those of a gradient or Jacobian; leave --kind, --order and the like")
        print_steps(read, asked.wrt, form)
        return
    kind, results = asked.results(read)
    read.refuse_unused("--shape")
    if form == "json":
        echo(as_json(told(read, kind, results)))
        return
    if form in TARGETS:
        kernel = compile_formula(named_results(kind, results), list(read.inputs.values()), backend="numpy")
        echo(kernel.source(form), nl=False)
        return
    out, notes = Console(), Console(stderr=form is not None)
    for label, result in results.items():
        if len(results) > 1:
            say(notes, f"{kind} by {label}:", "bold")
        say(out, printed(result, form))
        say(notes, f"  {kind}, shape {show(result.shape)}{_layout(read.value, result)}", "dim")
    for rewrite in rewrites_of(read.value):
        shown = rewrite if can_show(rewrite) else rewrite.replace("→", "->")
        say(notes, f"  rewritten for accuracy: {shown}", "dim")


@main.command("eval", cls=FormulaCommand)
@derivative_options
@data_option
@value_or_flag_option
@click.option("--batch", metavar="X,y", help="Inputs with one sample a row; auto: all that come from files.")
@click.option("--rows-at-once", type=click.IntRange(1), help="Read and compute so many rows of --batch at a time.")
@click.option("--reduce", type=click.Choice(["sum"]), help="Sum the result over the samples.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the result: .npy, .npz, .csv or .parquet.")
@overwrite_option
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="auto", help="What computes.")
@json_option
def evaluate(
    *,
    asked: Asked,
    data: tuple[str, ...],
    values: tuple[str, ...],
    batch: str | None,
    rows_at_once: int | None,
    reduce: Literal["sum"] | None,
    out: Path | None,
    overwrite: bool,
    backend: Backend,
    as_data: bool,
) -> None:
    r"""Compute FORMULA, or with --wrt its derivative, on numbers from files.

    A file holds one sample, or a batch of them along its first axis: say which with --batch X,
    or give the shape of one sample with --shape X=4. A .csv file has a sample, or a row of a
    matrix, in each line; a header is optional. A table without a name in front gives its columns
    by their names.

    \b
    symdiff eval "log(det(A))" --wrt A --data A=a.npy --out g.npy
    symdiff eval "s * exp(-r * t)" --wrt s --wrt r --data t.parquet --batch auto --out greeks.parquet
    symdiff eval "sum(w * x)**2" --wrt w --data x=t.csv --batch x --value "w=[1,2]"
    symdiff eval "s * exp(-r * t)" --wrt s --value --data t.csv --batch auto --out greeks.csv
    symdiff eval @loss.txt --value x=2 --json
    """
    has_value, values = "" in values, tuple(one for one in values if one)
    data = tuple(columns_by_name(data, asked.formula, values))
    sources = dict(split_pair("--data", one, "X=x.npy") for one in data)
    streams = open_streams(data, batch) if rows_at_once else {}
    numbers = read_data([one for one in data if one.partition("=")[0].strip() not in streams], values)
    numbers |= {name: stream.first for name, stream in streams.items()}
    rows = batched(batch, numbers, list(sources))
    shapes = read_shapes(asked.shapes)
    samples = sample_shapes(numbers, shapes, rows)
    check_tables(sources, numbers, samples, shapes)
    declared = declare(samples, asked.facts, sizes=False)
    with _shapes_told(samples):
        read = read_any(asked.formula, declared, asked.dialect)
    for name in read.inputs:
        if name not in numbers:
            raise ArgumentError(f"no numbers for {name!r}; add --data {name}=FILE or --value {name}=1.5")
    with _shapes_told(samples):
        kind, results = asked.results(read)
        for result in results.values():
            check_elements(result.shape, LIMITS)
    if asked.wrt:
        value = {"value": read.value} if has_value and isinstance(read.value, Array) else {}
        results = value | {column_of(kind, label): one for label, one in results.items()}
    read.refuse_unused("numbers")
    if out is not None:
        lead = 0 if reduce else len(_lead(numbers, samples))
        axes = [lead + len(result.shape) for result in results.values()]
        check_target(out, [split_source(source)[0] for source in sources.values()], axes, overwrite=overwrite)
    inputs = {name: array(name, shape) for name, shape in declared.items()}
    wide = None if rows is None else [inputs[name] for name in rows]
    kernel = compile_formula(results, list(inputs.values()), batch=wide, reduce=reduce, backend=backend)
    if rows_at_once and as_data:
        raise click.UsageError("--json with --rows-at-once; give one of them")
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
    if as_data:
        if out is not None:
            write_arrays(out, computed)
        found = {label: {"shape": one.shape, **({} if out else {"values": one})} for label, one in computed.items()}
        about = {"kind": kind, "backend": served, "seconds": seconds, "out": out, "results": found}
        echo(as_json(about))
        return
    for name, one in numbers.items():
        origin = sources.get(name, "--value")
        say(console, f"{name}: {described(one)}, {samples_of(one, samples[name])} from {origin}", "dim")
    for label, result in results.items():
        title = f"{kind} {label}" if asked.wrt and label != "value" else label
        summarise(console, title, result, computed[label], out is None)
    say(console, ran(served, kernel, seconds), "dim")
    if out is not None:
        say(console, f"wrote {out} ({write_arrays(out, computed)} bytes)")


@main.command("export", cls=FormulaCommand)
@derivative_options
@click.option("--reduce", type=click.Choice(["sum"]), help="Sum the result over the samples.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to write to.")
@click.option("--name", default="formula", show_default=True, help="Name of the module, or of the C function.")
@click.option("--target", type=click.Choice(list(TARGETS)), default="cython", show_default=True, help="What to write.")
@overwrite_option
@json_option
def export_module(
    *,
    asked: Asked,
    reduce: Literal["sum"] | None,
    out: Path,
    name: str,
    target: str,
    overwrite: bool,
    as_data: bool,
) -> None:
    r"""Write FORMULA, or with --wrt its derivative, as C, as a Cython module, or as Python with NumPy alone.

    \b
    symdiff export "log(det(A))" --wrt A --shape A=3,3 --out folder
    symdiff export "x @ A @ x" --wrt x --shape A=n,n --shape x=n --target c --name slope --out folder
    """
    read = asked.read()
    kind, results = asked.results(read)
    read.refuse_unused("--shape")
    named = named_results(kind, results)
    kernel = compile_formula(named, list(read.inputs.values()), reduce=reduce, backend="numpy")
    files = export(kernel, out, name, target=target, overwrite=overwrite)
    build = TARGETS[target].build.format(out=out, name=name) or None
    if as_data:
        written = {"files": list(map(str, files)), "build": build}
        echo(as_json({"target": target, "signature": kernel.signature, **written}))
        return
    console = Console()
    for path in files:
        say(console, f"wrote {path}")
    if build is not None:
        say(console, f"build it: {build}", "dim")


#: The plot of the demonstration, which replaces that of an earlier one.
_PLOT = "symdiff-demo.png"


@main.command()
@click.option("--steps", type=click.IntRange(1, 1000), default=25, show_default=True, help="Newton steps at most.")
@click.option("--ridge", type=float, default=0.01, show_default=True, help="Weight of the penalty.")
@click.option("--out", type=click.Path(path_type=Path), default=_PLOT, help="The plot of formula, loss and times.")
@overwrite_option
@click.option("--compare/--no-compare", default=True, help="Time it against SymPy's lambdify and NumPy by hand.")
def demo(steps: int, ridge: float, out: Path, overwrite: bool, compare: bool) -> None:
    """Fit a softmax regression to Fisher's iris data by Newton steps, from one formula."""
    check_writable(out, overwrite=overwrite or out.name == _PLOT)
    run_demo(Console(), steps=steps, ridge=ridge, plot=out, contest=compare)


@main.command()
@json_option
def doctor(*, as_data: bool) -> None:
    """Tell what kernels on this machine run on, and try one; the exit code is 1 where something is broken."""
    findings = diagnose()
    if as_data:
        echo(as_json({one.label: {"text": one.text, "sound": one.sound} for one in findings}))
    console = Console()
    for finding in [] if as_data else findings:
        say(console, f"{finding.label:13} {finding.text}", "" if finding.sound else "bold red")
    if not all(finding.sound for finding in findings):
        sys.exit(1)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; any that is free by default.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; this machine alone.")
@click.option("--name", "names", multiple=True, help="Another name that browsers call this machine by.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def serve(*, port: int, host: str, names: tuple[str, ...], browser: bool) -> None:
    """Serve a page to try formulas on: derivatives as they are typed, steps, checks, source to copy."""
    from .server import serve as serve_page

    serve_page(host, port, browser=browser, names=names)


@main.group("cache")
def cache_commands() -> None:
    """Show or clear the folder that compiled kernels and plans are kept in."""


@cache_commands.command("show")
@json_option
def cache_show(*, as_data: bool) -> None:
    """Print where it is, what it holds, and why it is not used if it is not."""
    folder = cache.cache_folder()
    kept = cache.entries(folder)
    if as_data:
        size = sum(size for _, size, _ in kept)
        echo(as_json({"folder": folder, "entries": len(kept), "bytes": size, "obstacle": cache.obstacle(folder)}))
        return
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


def _layout(f: Array, result: Array) -> str:
    """Say which axes of a derivative are whose."""
    own = len(f.shape)
    if own and len(result.shape) > own and result.shape[:own] == f.shape:
        return f": {show(f.shape)} of the formula, then {show(result.shape[own:])}"
    return ""


@contextmanager
def _shapes_told(samples: Mapping[str, tuple[int, ...]]) -> Iterator[None]:
    """Say of shapes that do not fit, or make results too large, that a file may hold more than one sample."""
    try:
        yield
    except (ShapeError, LimitError) as error:
        told = ", ".join(f"{name} {show(shape)}" for name, shape in samples.items())
        remedy = "say --batch NAME (or auto) where a file has one sample a row, or --shape NAME=4,4"
        raise type(error)(f"{error}\nShapes of one sample: {told}; {remedy}") from error


def _lead(numbers: Mapping[str, Numbers], samples: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch axes of the input that has most."""
    leads = [one.shape[: one.ndim - len(samples[name])] for name, one in numbers.items()]
    return max(leads, key=len, default=())
