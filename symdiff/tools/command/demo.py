"""A whole piece of work as an example of use: softmax regression on Fisher's iris data, beside other ways to do it.

The loss of ONE flower is written as NumPy code over symbols. symdiff derives its gradient and its Hessian, and compiles
all three into one kernel that sums over the flowers, which is all that Newton's method needs.

Adding one row to all rows of W changes no probability, so the Hessian of the likelihood alone is singular in one
direction for each feature. A small ridge, r/2 Σ W², takes that away and gives the fit a single optimum. Far from it a
full Newton step may overshoot, so a step is halved until the loss falls enough (Nocedal and Wright, Numerical
Optimization, 2006, 3.1).

The other ways are NumPy by hand (derived on paper: Böhning, Annals of the Institute of Statistical Mathematics 44,
1992) and SymPy (differentiated as scalars, compiled by ``lambdify`` with common subexpressions shared). Results are
compared before times are.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.live import Live
from rich.table import Table

from ...compiler import compile as compile_formula
from ...errors import ArgumentError, DataError, SymdiffError
from ...frontend.array import Array
from ...frontend.derivatives import gradient, hessian
from ...frontend.symbols import matrix, scalar, vector
from ...ground.files import check_writable, replace_file
from ...ground.version import pip_install
from ...runtime.kernel import Kernel
from .frame import can_show, readable, say
from .read_files import read_table

__all__ = [
    "Batch",
    "DemoStep",
    "Trial",
    "by_hand",
    "by_lambdify",
    "compare",
    "compile_model",
    "iris",
    "median_seconds",
    "newton",
    "run_demo",
    "softmax_loss",
]

#: Samples that NumPy works on at once: they stay in the cache, and their products are too small
#: to be spread over threads, which takes longer than it saves.
BLOCK = 2048
Numbers: TypeAlias = npt.NDArray[np.float64]
#: Flowers, their species, and the ridge for each flower.
Batch: TypeAlias = tuple[Numbers, Numbers, float]
#: From flowers, their species and the ridge for each flower to loss, gradient and Hessian.
Contender: TypeAlias = Callable[[Numbers, Numbers, float], Mapping[str, Any]]


@dataclass(frozen=True)
class Trial:
    """Median times for one batch.

    Parameters
    ----------
    samples : int
    seconds : dict of str to float
        By contender.
    """

    samples: int
    seconds: dict[str, float]


def by_hand(W: Numbers) -> Contender:
    """Return the closed forms, written for speed in NumPy.

    With p = softmax(W x): the gradient is (p − y) xᵀ, the Hessian (diag(p) − p pᵀ) ⊗ x xᵀ.
    """

    def run(x: Numbers, y: Numbers, share: float) -> dict[str, Any]:
        ridge = share * len(x)
        loss, gradient, hessian = ridge / 2 * np.vdot(W, W), ridge * W, np.zeros((*W.shape, *W.shape))
        for start in range(0, len(x), BLOCK):
            loss += _add_block(W, x[start : start + BLOCK], y[start : start + BLOCK], gradient, hessian)
        hessian.reshape(W.size, W.size)[np.diag_indices(W.size)] += ridge
        return {"loss": loss, "gradient": gradient, "hessian": hessian}

    return run


def _add_block(W: Numbers, x: Numbers, y: Numbers, gradient: Numbers, hessian: Numbers) -> float:
    """Add what some samples give to the gradient and the Hessian; return what they give to the loss."""
    scores = x @ W.T
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    p = weights / total
    gradient += (p - y).T @ x
    # A product for each pair of classes takes a tenth of the time of one over all pairs at once.
    for k in range(len(W)):
        for m in range(k):
            part = (x * (p[:, k] * p[:, m])[:, None]).T @ x
            hessian[k, :, m, :] -= part
            hessian[m, :, k, :] -= part
        hessian[k, :, k, :] += (x * (p[:, k] * (1 - p[:, k]))[:, None]).T @ x
    return float(np.sum(np.log(total) + top) - np.vdot(y, scores))


def by_lambdify(W: Numbers) -> Contender:
    """Return the derivatives that SymPy finds, as its ``lambdify`` compiles them."""
    sp = import_module("sympy")
    classes, features = W.shape
    w = sp.symbols(f"w0:{W.size}")
    x, y, r = sp.symbols(f"x0:{features}"), sp.symbols(f"y0:{classes}"), sp.Symbol("r")
    scores = [sum(w[k * features + j] * x[j] for j in range(features)) for k in range(classes)]
    loss = sp.log(sum(map(sp.exp, scores))) - sum(a * b for a, b in zip(y, scores, strict=True))
    loss += r / 2 * sum(v**2 for v in w)
    gradient = [sp.diff(loss, v) for v in w]
    lower = [sp.diff(gradient[i], w[j]) for i in range(W.size) for j in range(i + 1)]
    function = sp.lambdify([w, x, y, r], [loss, *gradient, *lower], modules="numpy", cse=True)
    rows, columns = np.tril_indices(W.size)

    def run(x: Numbers, y: Numbers, share: float) -> dict[str, Any]:
        results = function(W.ravel(), x.T, y.T, share)
        sums = np.array([np.sum(np.broadcast_to(result, len(x))) for result in results])
        hessian = np.empty((W.size, W.size))
        hessian[rows, columns] = hessian[columns, rows] = sums[1 + W.size :]
        return {
            "loss": sums[0],
            "gradient": sums[1 : 1 + W.size].reshape(W.shape),
            "hessian": hessian.reshape(*W.shape, *W.shape),
        }

    return run


def compare(kernel: Contender, W: Numbers, batches: Sequence[Batch]) -> list[Trial]:
    """Time the kernel against both others.

    Parameters
    ----------
    kernel : callable
        symdiff's, at the same ``W``.
    W : ndarray, shape (classes, features)
    batches : sequence of Batch

    Returns
    -------
    list of Trial
        One for each batch.

    Raises
    ------
    SymdiffError
        If results differ, in which case nothing is timed.
    """
    contenders = {"symdiff": kernel, "NumPy by hand": by_hand(W), "sympy.lambdify": by_lambdify(W)}
    trials = []
    for x, y, share in batches:
        expected = kernel(x, y, share)
        for name, contender in contenders.items():
            found = contender(x, y, share)
            for part, value in expected.items():
                scale = np.abs(value).max()
                if not np.allclose(found[part], value, rtol=1e-9, atol=1e-9 * scale):
                    raise SymdiffError(f"the {part} by {name} differs from symdiff's; expected equal results to time")
        seconds = {name: median_seconds(contender, x, y, share) for name, contender in contenders.items()}
        trials.append(Trial(len(x), seconds))
    return trials


def median_seconds(contender: Contender, x: Numbers, y: Numbers, share: float, budget: float = 0.3) -> float:
    """Return the median time of a call, of at least 5 calls and as many as fit the budget."""
    times: list[float] = []
    while len(times) < 5 or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        contender(x, y, share)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


FEATURES = "sepal_length,sepal_width,petal_length,petal_width"
PLOTS = (".pdf", ".png", ".svg")
#: Parts of a full Newton step that are tried, in this order.
LENGTHS = tuple(0.5**k for k in range(50))
#: The least and the largest ridge: below, rounding errors make the Hessian singular again.
RIDGES = (1e-6, 1e6)


def iris() -> tuple[Numbers, Numbers, list[str]]:
    """Return Fisher's iris data.

    Returns
    -------
    x : ndarray, shape (150, 5)
        Four lengths in cm of each flower, and 1 for the intercept.
    y : ndarray, shape (150, 3)
        1 in the column of its species, else 0.
    species : list of str
        The names of the columns of ``y``.
    """
    with as_file(files("symdiff.tools.command") / "iris.csv") as path:
        table = read_table(path)
    lengths, labels = table.numbers(FEATURES), table.text("species")
    species = sorted(set(labels))
    x = np.column_stack([lengths, np.ones(len(lengths))])
    y = np.array([[float(label == name) for name in species] for label in labels])
    return x, y, species


def softmax_loss(W: Array, x: Array, y: Array, r: Array) -> Array:
    """Return what one flower adds to the loss: −log of the probability of its species, and its part of the ridge."""
    scores = W @ x
    loss: Array = np.log(np.sum(np.exp(scores))) - y @ scores + r / 2 * np.sum(W**2)
    return loss


def compile_model(classes: int = 3, features: int = 5) -> tuple[Kernel, dict[str, Array]]:
    """Return one kernel for loss, gradient and Hessian, summed over a batch of flowers; and their formulas."""
    W, r = matrix("W", classes, features), scalar("r")
    x, y = vector("x", features), vector("y", classes)
    loss = softmax_loss(W, x, y, r)
    formulas = {"loss": loss, "gradient": gradient(loss, W), "hessian": hessian(loss, W)}
    return compile_formula(formulas, [W, x, y, r], batch=[x, y], reduce="sum"), formulas


@dataclass(frozen=True)
class DemoStep:
    """The state of Newton's method.

    Parameters
    ----------
    W : ndarray, shape (classes, features)
    loss : float
    slope : float
        Largest partial derivative of the loss.
    length : float
        Part of the full Newton step that was taken to get here.
    """

    W: Numbers
    loss: float
    slope: float
    length: float

    def accuracy(self, x: Numbers, y: Numbers) -> float:
        """Return the part of the flowers whose most probable species is right."""
        return float(np.mean((x @ self.W.T).argmax(axis=1) == y.argmax(axis=1)))


def newton(kernel: Callable[..., Any], x: Numbers, y: Numbers, ridge: float, steps: int) -> Iterator[DemoStep]:
    """Yield the start and each step, until the next would gain less than 1e-10, or none gains."""
    share = ridge / len(x)  # the kernel adds up the flowers' parts
    W = np.zeros((y.shape[1], x.shape[1]))
    here = kernel(W, x, y, share)
    yield _step(W, here, 0.0)
    for _ in range(steps):
        direction = -np.linalg.solve(here["hessian"].reshape(W.size, W.size), here["gradient"].ravel()).reshape(W.shape)
        gain = -float(np.vdot(here["gradient"], direction))
        if gain < 1e-10:
            return
        for length in LENGTHS:
            there = kernel(W + length * direction, x, y, share)
            if there["loss"] <= here["loss"] - 1e-4 * length * gain:
                break
        else:
            return
        W, here = W + length * direction, there
        yield _step(W, here, length)


def _step(W: Numbers, at: dict[str, Any], length: float) -> DemoStep:
    return DemoStep(W, float(at["loss"]), float(np.abs(at["gradient"]).max()), length)


def run_demo(console: Console, *, steps: int, ridge: float, plot: Path, contest: bool) -> None:
    """Fit, show, plot and time.

    Parameters
    ----------
    console : Console
    steps : int
        Newton steps at most.
    ridge : float
        Weight of the penalty, from 1e-6 to 1e6.
    plot : Path
        Where the plot of formula, derivative, loss and times is saved, if matplotlib is installed.
    contest : bool
        Time the kernel against SymPy's lambdify and NumPy by hand.

    Raises
    ------
    DataError
        If the plot cannot be saved there, before anything is computed.
    ArgumentError
        If the ridge is out of range.
    """
    if not RIDGES[0] <= ridge <= RIDGES[1]:
        raise ArgumentError(f"a ridge of {ridge:g}; expected one from {RIDGES[0]:g} to {RIDGES[1]:g}")
    check_writable(plot)
    if plot.suffix.lower() not in PLOTS:
        raise DataError(f"{plot}: expected a plot called {', '.join('*' + suffix for suffix in PLOTS)}")
    x, y, species = iris()
    say(console, "Softmax regression on Fisher's iris data (Annals of Eugenics, 1936)", "bold")
    say(console, f"{len(x)} flowers: {', '.join(species)}; x holds {x.shape[1] - 1} lengths in cm and a 1")
    kernel, formulas = compile_model(y.shape[1], x.shape[1])
    _introduce(console, kernel, formulas)
    say(console, "\nNewton's method from W = 0, a step halved until the loss falls enough", "bold")
    say(console, f"with a ridge of {ridge:g}: one row added to all of W changes no probability, so that without", "dim")
    say(console, "a ridge the Hessian would be singular in one direction for each feature", "dim")
    path = _follow(console, newton(kernel, x, y, ridge, steps), x, y)
    right = path[-1].accuracy(x, y)
    say(console, f"accuracy {right:.3f}: {round(right * len(x))} of {len(x)} flowers", "bold green")
    trials: Sequence[Trial] = ()
    if contest:
        # Half way, since at the optimum the gradient is rounding errors, which cannot be compared.
        share, copies = ridge / len(x), 100
        batches = [(x, y, share), (np.tile(x, (copies, 1)), np.tile(y, (copies, 1)), share / copies)]
        trials = _contest(console, kernel, path[len(path) // 2].W, batches)
    _draw(console, formulas, path, trials, plot)


def _introduce(console: Console, kernel: Kernel, formulas: dict[str, Array]) -> None:
    say(console, "\nthe loss of one flower, and what symdiff derives from it", "bold")
    for name, formula in formulas.items():
        shown = readable(formula)
        shape = " × ".join(map(str, formula.shape))
        say(console, f"{name:9}{shown}" if len(shown) <= 300 else f"{name:9}(long)", "cyan")
        if shape:
            say(console, f"{'':9}an array of {shape}", "dim")
    for rewrite in kernel.rewrites:
        shown = rewrite if can_show(rewrite) else rewrite.replace("→", "->")
        say(console, f"rewritten for accuracy: {shown}", "dim")
    # The demo times native code; where that can't be built, the interpreter serves.
    kernel.wait()
    built = kernel.stats.get("build_seconds", 0.0)
    native = f"built in {built * 1e3:.0f} ms" if built else "from the cache"
    origin = {"c": native, "interpreter": "on the interpreter"}.get(kernel.backend, "on NumPy")
    say(console, f"all three in one kernel, summed over the flowers inside it: {kernel.stats['nodes']} nodes, {origin}")


HEADINGS = ("step", "length", "loss", "slope", "accuracy")
#: Columns of a terminal that the table needs.
TABLE_WIDTH = 44


def _row(number: int, step: DemoStep, right: float) -> tuple[str, ...]:
    return (str(number), f"{step.length:g}", f"{step.loss:.6f}", f"{step.slope:.1e}", f"{right:.3f}")


def _follow(console: Console, walk: Iterator[DemoStep], x: Numbers, y: Numbers) -> list[DemoStep]:
    """Show each step as it is made: a growing table on a terminal that is wide enough for one, lines elsewhere."""
    path: list[DemoStep] = []
    if not console.is_terminal or console.width < TABLE_WIDTH:
        say(console, "".join(f"{heading:>11}" for heading in HEADINGS))
        for number, step in enumerate(walk):
            path.append(step)
            say(console, "".join(f"{cell:>11}" for cell in _row(number, step, step.accuracy(x, y))))
        return path
    table = Table(*HEADINGS, box=None, pad_edge=False)
    with Live(table, console=console):
        for number, step in enumerate(walk):
            path.append(step)
            table.add_row(*_row(number, step, step.accuracy(x, y)))
    return path


def _draw(
    console: Console, formulas: dict[str, Array], path: list[DemoStep], trials: Sequence[Trial], plot: Path
) -> None:
    """Save a plot of formula, derivative, loss and times, or draw bars where matplotlib is not installed."""
    losses = [step.loss for step in path]
    try:
        figure = import_module("matplotlib.figure").Figure(figsize=(9, 4.5), layout="constrained")
    except ImportError:
        mark = "█" if can_show("█") else "#"
        width = max(10, min(50, console.width - 24))
        for number, loss in enumerate(losses):
            say(console, f"{number:3} {mark * max(1, round(width * loss / losses[0]))} {loss:.4g}")
        say(console, f"no plot was saved: matplotlib is not installed ({pip_install('plot')})", "dim")
        return
    shown = [f"{name}   {formulas[name].unicode()}" for name in ("loss", "gradient")]
    figure.suptitle("\n".join(["Softmax regression on Fisher's iris data", *shown]), fontsize="medium")
    axes = figure.add_subplot(1, 2 if trials else 1, 1, xlabel="Newton step", ylabel="loss")
    axes.semilogy(range(len(losses)), losses, "o-")
    axes.grid(alpha=0.3)
    if trials:
        seconds = trials[-1].seconds
        axes = figure.add_subplot(1, 2, 2, xlabel=f"µs for {trials[-1].samples} flowers")
        axes.semilogx([1e6 * one for one in seconds.values()], list(seconds), "o")
        fastest = min(seconds.values())
        for place, one in enumerate(seconds.values()):
            told = f"{1e6 * one:,.0f} µs" + f"\n{one / fastest:.1f} times" * (one > fastest)
            axes.annotate(told, (1e6 * one, place), (0, 8), textcoords="offset points", ha="center")
        axes.margins(x=0.25, y=0.4)
        axes.invert_yaxis()
        axes.grid(alpha=0.3)

    def save(stream: IO[bytes]) -> None:
        figure.savefig(stream, format=plot.suffix[1:].lower(), dpi=150)

    size = replace_file(plot, save)
    what = "formula, gradient, loss and times" if trials else "formula, gradient and loss"
    say(console, f"saved {plot} ({size // 1024 + 1} kB), a plot of {what}")


def _contest(console: Console, kernel: Kernel, W: Numbers, batches: Sequence[Batch]) -> list[Trial]:
    """Time loss, gradient and Hessian of all flowers, and of many copies of them."""
    say(console, "\nloss, gradient and Hessian half way: median times (results are checked equal first)", "bold")
    with console.status("SymPy derives and compiles"):
        trials = compare(partial(kernel, W), W, batches)
    for trial in trials:
        say(console, f"{trial.samples} flowers")
        fastest = trial.seconds["symdiff"]
        for name, seconds in trial.seconds.items():
            ratio = "" if name == "symdiff" else f"{seconds / fastest:8.1f} × symdiff's"
            say(console, f"  {name:18}{seconds * 1e6:12.1f} µs{ratio}")
    return trials
