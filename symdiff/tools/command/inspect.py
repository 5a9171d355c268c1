"""Commands that examine a formula: check, report, bench, completion.

``bench`` times a kernel beside the formula as a user of NumPy would write it: whole arrays, a batch in front, without
guards.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.shell_completion import get_completion_class
from rich.console import Console

from ...compiler import compile as compile_formula
from ...errors import ArgumentError
from ...frontend.array import Array
from ...graph import BOOL, INT, Node, inputs_of, label_sizes, postorder
from ...graph.reference.interpret import bind_sizes, evaluate, find_function
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import show, value
from ...rewrite import inline
from ...runtime.kernel import Kernel
from ...runtime.options import Backend
from ...runtime.runners import BACKENDS
from ..checking.check import check
from .frame import (
    Asked,
    FormulaCommand,
    PlainCommand,
    as_json,
    can_show,
    data_option,
    derivative_options,
    echo,
    formula_argument,
    json_option,
    overwrite_option,
    read_any,
    say,
    shape_option,
    value_option,
    wrt_option,
)
from .options import Facts, declare, read_data, read_shapes

__all__ = ["bench_command", "check_command", "completion_command", "plain_numpy", "report_command"]


_Function = Callable[..., Any]
#: Operations of matrices, each with NumPy's own function.
_MATRICES: dict[str, _Function] = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "logdet": lambda a: np.linalg.slogdet(a)[1],
    "logabsdet": lambda a: np.linalg.slogdet(a)[1],
    "cholesky": np.linalg.cholesky,
    "pinv": np.linalg.pinv,
    "eigvalsh": np.linalg.eigvalsh,
}
#: Functions that NumPy has no name for, as they are written with it.
_WRITTEN: dict[str, _Function] = {
    "sech": lambda x: 1 / np.cosh(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def plain_numpy(results: Mapping[str, Array], sample: Mapping[str, Any]) -> _Function | None:
    """Return formulas as calls of NumPy alone, one for each operation; None where NumPy has no such call.

    Parameters
    ----------
    results : mapping of str to Array
    sample : mapping of str to ndarray
        One sample of each input; constants get their sizes from it.

    Returns
    -------
    callable or None
        Takes the inputs in the order of ``sample``, with batch axes in front or without; returns a dict.

    Examples
    --------
    >>> import symdiff as sd
    >>> A = sd.matrix("A", 2, 2)
    >>> f = plain_numpy({"A": sd.gradient(np.log(np.linalg.det(A)), A)}, {"A": np.eye(2)})
    >>> f(2 * np.eye(2))["A"].tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    roots = inline([one.node for one in results.values()])
    names = list(sample)
    order = postorder(roots)
    if any(node.dtype is INT for node in inputs_of(roots)) or not all(one.node.ndim <= 2 for one in results.values()):
        return None
    place = {node: k for k, node in enumerate(order)}
    steps: list[tuple[_Function, list[int]]] = []
    for node in order:
        if node.is_input:
            at = names.index(str(node.name))
            steps.append((lambda given, at=at: given[at], []))
            continue
        if not inputs_of([node]):
            (constant,) = evaluate([node], sample, inputs_of(roots))
            steps.append((lambda given, constant=constant: constant, []))
            continue
        function = _call(node, sample, roots)
        if function is None:
            return None
        steps.append((function, [place[arg] for arg in node.args]))
    ends = {name: place[root] for name, root in zip(results, roots, strict=True)}

    def run(*given: Any) -> dict[str, Any]:
        done: list[Any] = []
        for function, args in steps:
            done.append(function(*[done[k] for k in args]) if args else function(given))
        return {name: done[k] for name, k in ends.items()}

    return run


def _call(node: Node, sample: Mapping[str, Any], roots: Sequence[Node]) -> _Function | None:
    row = FUNCTIONS.get(node.op)
    if row is not None:
        function = _scalar(row.numpy)
        if function is None:
            return None
        lower = {k: node.ndim - arg.ndim for k, arg in enumerate(node.args) if 0 < arg.ndim < node.ndim or not arg.ndim}
        if not node.ndim or not any(lower.values()):
            return function
        ranks = [arg.ndim for arg in node.args]

        def spread(*args: Any) -> Any:
            return function(*(_raised(a, n, node.ndim) for a, n in zip(args, ranks, strict=True)))

        return spread
    if node.op in _MATRICES:
        return _MATRICES[node.op]
    if node.is_reshape:
        known = inputs_of(roots)
        sizes = bind_sizes(known, [np.shape(sample[str(one.name)]) for one in known])
        shape, rank = tuple(value(size, sizes) for size in node.shape), node.args[0].ndim
        return lambda a: a.reshape((*a.shape[: a.ndim - rank], *shape))
    if node.op == "solve":
        return np.linalg.solve
    if node.op in ("max", "min"):
        axes = tuple(axis - node.args[0].ndim for axis in node.payload.axes)
        extreme = np.max if node.op == "max" else np.min
        return lambda a: extreme(a, axis=axes)
    if node.is_contraction and len(label_sizes(node)) <= len(_LETTERS) and BOOL not in {a.dtype for a in node.args}:
        labels, out, repeated = node.payload
        if not repeated:
            return _product([tuple(each) for each in labels], tuple(out))
    return None


def _scalar(spelling: str) -> _Function | None:
    """Return NumPy's or SciPy's own function of numbers."""
    scope, _, name = spelling.rpartition(".")
    if scope == "special":
        from scipy import special

        found: _Function | None = getattr(special, name, None)
        return found
    return find_function(spelling) if scope == "np" else _WRITTEN.get(name)


def _raised(a: Any, rank: int, wanted: int) -> Any:
    """Give each sample of a batch as many axes as the result's have."""
    lead = a.ndim - rank
    return a.reshape((*a.shape[:lead], *(1,) * (wanted - rank), *a.shape[lead:])) if lead else a


def _product(labels: list[tuple[int, ...]], out: tuple[int, ...]) -> _Function:
    """Return a sum of products from left to right, each by matmul where it is one."""
    if len(labels) == 1 and sorted(labels[0]) == sorted(out) and len(set(out)) == len(out):
        (own,) = labels
        if own == out:
            return lambda a: a
        if len(own) == 2:
            return lambda a: np.swapaxes(a, -1, -2)
    if len(labels) < 2:
        return _einsum(labels, out)
    steps, now = [], labels[0]
    for k, own in enumerate(labels[1:], 1):
        later = {i for each in labels[k + 1 :] for i in each} | set(out)
        kept = tuple(i for i in dict.fromkeys((*now, *own)) if i in later) if k < len(labels) - 1 else out
        steps.append(_pair(now, own, kept))
        now = kept

    def product(first: Any, *others: Any) -> Any:
        for step, other in zip(steps, others, strict=True):
            first = step(first, other)
        return first

    return product


def _pair(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...]) -> _Function:
    shared = [i for i in a if i in b]
    plain = len(set(a)) == len(a) and len(set(b)) == len(b)
    if plain and not shared and (not a or not b) and out == a + b:
        other = len(b) or len(a)
        scalar_first = not a

        def scale(x: Any, y: Any) -> Any:
            small, large = (x, y) if scalar_first else (y, x)
            return small.reshape(small.shape + (1,) * other) * large if small.ndim else small * large

        return scale
    if plain and len(shared) == 1 and shared[0] not in out and len(a) <= 2 and len(b) <= 2:
        (k,) = shared
        left, right = [i for i in a if i != k], [i for i in b if i != k]
        if out in {(*left, *right), (*right, *left)}:
            turn = bool(left and right and out != (*left, *right))

            def matmul(x: Any, y: Any) -> Any:
                x = x[..., None, :] if not left else np.swapaxes(x, -1, -2) if a[0] == k else x
                y = y[..., :, None] if not right else np.swapaxes(y, -1, -2) if b[1] == k else y
                found = x @ y
                found = found[..., 0] if not right else found
                found = (found[..., 0] if not right else found[..., 0, :]) if not left else found
                return np.swapaxes(found, -1, -2) if turn else found

            return matmul
    return _einsum([a, b], out)


def _einsum(labels: list[tuple[int, ...]], out: tuple[int, ...]) -> _Function:
    names = {label: _LETTERS[k] for k, label in enumerate(dict.fromkeys(i for each in labels for i in each))}
    rule = ",".join("..." + "".join(names[i] for i in each) for each in labels)
    rule += "->..." + "".join(names[i] for i in out)
    return lambda *args: np.einsum(rule, *args)


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
        "results": {label: {"shape": show(one.shape), "formula": one.text()} for label, one in results.items()},
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
