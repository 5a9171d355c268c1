"""Times of a kernel against the size of the batch, measured on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ArgumentError, SingularMatrixError
from ...frontend.display import table
from ...frontend.outputs import pack
from ...graph.sizes import Size
from ...runtime.calls.arguments import Parameter, sample_shape
from ...runtime.kernel import Kernel
from ...runtime.sparse_kernel import SparseKernel
from ..checking.points import Draw, conform, ways_to_draw

__all__ = ["Benchmark", "Timing", "benchmark", "drawn_arguments", "in_words", "sizes_of"]

#: Batches that are timed by default.
BATCHES = (1, 10, 100, 1_000, 10_000, 100_000)
#: Bytes of arguments and results beyond which a default batch is left out.
_MOST_BYTES = 256e6
#: Seconds for which calls of one batch are repeated, and the least number of repetitions.
_SECONDS, _REPEATS = 0.02, 5
#: Number for a letter in a shape, unless the caller gives one.
_SIZE = 16


@dataclass(frozen=True)
class Timing:
    """Times of calls with one batch.

    Parameters
    ----------
    batch : int
        Samples of a call.
    seconds : float
        Of a call: the median of all that were timed.
    calls : int
        How many were.
    """

    batch: int
    seconds: float
    calls: int

    @property
    def per_sample(self) -> float:
        """Seconds for a sample."""
        return self.seconds / self.batch


@dataclass(frozen=True)
class Benchmark:
    """Times of a kernel by the size of the batch, as :meth:`symdiff.Kernel.benchmark` gives them.

    Parameters
    ----------
    signature, backend : str
        Of the kernel.
    threads : int or None
    timings : tuple of Timing
        One for each batch.
    sizes : dict of str to int
        What letters in shapes were.
    """

    signature: str
    backend: str
    threads: int | None
    timings: tuple[Timing, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def letters(self) -> str:
        """The numbers of letters, ``m = 16, n = 16``."""
        return ", ".join(f"{name} = {number}" for name, number in sorted(self.sizes.items()))

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(f"{t.batch:,}", in_words(t.seconds), in_words(t.per_sample)) for t in self.timings]

    def __str__(self) -> str:
        rows = [("batch", "a call", "a sample"), *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
        letters = f", {self.letters}" if self.sizes else ""
        return "\n".join([f"{self.signature}{letters}, backend {self.backend!r}", *lines])

    def _repr_html_(self) -> str:
        rows = [("kernel", self.signature), ("backend", self.backend)]
        rows += [("sizes", self.letters)] if self.sizes else []
        return table([*rows, *((f"batch of {b}", f"{call} a call, {own} a sample") for b, call, own in self._rows())])

    def plot(self, ax: Any = None) -> Any:
        """Draw the time for a sample against the batch, on the axes of a figure.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default a new figure's.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            Without matplotlib, which the extra ``plot`` installs.
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots()
        ax.loglog([t.batch for t in self.timings], [t.per_sample for t in self.timings], "o-")
        ax.set_xlabel("samples in a call")
        ax.set_ylabel("seconds for a sample")
        ax.set_title(f"{self.signature}, {self.backend}")
        ax.grid(alpha=0.3)
        return ax


def benchmark(
    kernel: Kernel, batches: Sequence[int] | None = None, *, sizes: Mapping[str, int] | None = None, seed: int = 0
) -> Benchmark:
    """Time a kernel; see :meth:`symdiff.Kernel.benchmark`."""
    if batches is not None and not (
        isinstance(batches, Sequence | np.ndarray)
        and len(batches)
        and all(isinstance(b, int | np.integer) and not isinstance(b, bool) and b > 0 for b in batches)
    ):
        raise ArgumentError(f"batches={batches!r:.60}; expected whole numbers from 1 up")
    if sizes is not None and not isinstance(sizes, Mapping):
        raise ArgumentError(f"sizes={sizes!r:.60}; expected a mapping of letters to numbers")
    known = sizes_of(kernel, sizes or {})
    kernel.wait()
    timings = []
    chosen = [1] if batches is None and holds_one_sample(kernel) else BATCHES if batches is None else batches
    for batch in map(int, chosen):
        if batches is None and batch > 1 and _bytes(kernel, known) * batch > _MOST_BYTES:
            continue
        arguments = drawn_arguments(kernel, batch, known, np.random.default_rng(seed))
        timings.append(_timed(kernel, arguments, batch))
    return Benchmark(kernel.signature, kernel.backend, kernel.options.threads, tuple(timings), known)


def holds_one_sample(kernel: Kernel) -> bool:
    """Tell whether results are sparse arrays, which hold one sample."""
    return isinstance(kernel, SparseKernel) and bool(kernel._one_sample) and not kernel.options.is_reduced


def drawn_arguments(kernel: Kernel, batch: int, sizes: Mapping[str, int], rng: np.random.Generator) -> dict[str, Any]:
    """Return random numbers for the inputs of a kernel, at which it is finite if any way to draw them makes it so."""
    fallback: dict[str, Any] = {}
    for draw in ways_to_draw(rng):
        given = {p.name: _drawn(kernel, p, batch, sizes, draw, rng) for p in kernel.inputs}
        first = (..., slice(1)) if kernel.options.in_columns else slice(1)
        one = {name: a[first] if kernel.options.is_batched(name) and batch > 1 else a for name, a in given.items()}
        fallback = fallback or given
        try:
            results = kernel(inputs=one)
        except SingularMatrixError:
            continue
        if all(np.isfinite(_values(result)).all() for result in _flat(results)):
            return given
    return fallback


def _drawn(
    kernel: Kernel, p: Parameter, batch: int, sizes: Mapping[str, int], draw: Draw, rng: np.random.Generator
) -> Any:
    shape = sample_shape(p.shape, sizes)
    lead = (batch,) if kernel.options.is_batched(p.name) and batch > 1 else ()
    ranges = [sample_shape((own.size,), sizes)[0] for own in kernel._ranges if own.name == p.name]
    if ranges:
        found: Any = rng.integers(0, max(1, min(ranges)), (*lead, *shape))
    else:
        found = conform(p.assumptions, draw((*lead, *shape)))
    return np.moveaxis(found, 0, -1).copy() if lead and kernel.options.in_columns else found


def _flat(results: Any) -> list[Any]:
    if isinstance(results, dict):
        return [one for part in results.values() for one in _flat(part)]
    if isinstance(results, list | tuple):
        return [one for part in results for one in _flat(part)]
    return [results]


def _values(result: Any) -> Any:
    return result.data if hasattr(result, "format") else np.asarray(result, float)


def sizes_of(kernel: Kernel, given: Mapping[str, int]) -> dict[str, int]:
    """Return a number for each letter in the shapes of a kernel's inputs."""
    names = {name for p in kernel.inputs for n in p.shape if isinstance(n, Size) for name in n.names}
    unknown = sorted(given.keys() - names)
    if unknown:
        letters = ", ".join(sorted(names)) or "none"
        raise ArgumentError(f"sizes of {', '.join(unknown)}; letters in shapes are {letters}")
    return {name: given.get(name, _SIZE) for name in names}


def _bytes(kernel: Kernel, sizes: Mapping[str, int]) -> float:
    return float(sum(8 * np.prod(sample_shape(p.shape, sizes)) for p in (*kernel.inputs, *kernel.outputs)))


def _timed(kernel: Kernel, arguments: Mapping[str, Any], batch: int) -> Timing:
    args = [arguments[p.name] for p in kernel.inputs]
    if kernel.options.groups is not None:
        args = [pack(g.template, iter([arguments[n] for n in g.inputs])) for g in kernel.options.groups.groups]
    kernel(*args)
    seconds: list[float] = []
    start = time.perf_counter()
    while len(seconds) < _REPEATS or time.perf_counter() - start < _SECONDS:
        before = time.perf_counter()
        kernel(*args)
        seconds.append(time.perf_counter() - before)
    return Timing(batch, float(np.median(seconds)), len(seconds))


def in_words(seconds: float) -> str:
    """Return a time with a unit.

    Examples
    --------
    >>> in_words(3.2e-5)
    '32.0 µs'
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor >= 100 else f"{seconds * factor:.1f} {unit}"
    return f"{seconds * 1e9:.1f} ns"
