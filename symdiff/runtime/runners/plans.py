"""Runs plans: a formula cut into steps over whole arrays, for each way in which samples share inputs.

A plan is made for a pattern: which inputs have the batch's axis and which are shared. It is bound to sizes when these
come, and kept for the last few. A call is then one call of the executor (``_kernels/plan/executor.pyx``), without
Python. Samples
of a batch may be computed one after the other, each as if it were alone, or several at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..._kernels.plan.executor import Plan as Executor
from ..._kernels.unit import MOST_SAMPLES
from ...errors import LimitError, ShapeError, SingularMatrixError, UnsupportedError
from ...graph import Node, input
from ...graph.kinds import REPEATED
from ...graph.reference.interpret import bind_sizes
from ...graph.sizes import Size, value
from ...graph.traversal import resize
from ...lowering.plan.access import INNER, inner_axes
from ...lowering.plan.calls import FEWER, inner_of, plan_call, plan_shorter, plan_together
from ...lowering.plan.cost import NOMINAL, program_cost
from ...lowering.plan.dump import letters_in, rows_of, step_lines
from ...lowering.plan.plan import Plan
from ...lowering.plan.steps import Call, nested
from ...lowering.program import Program
from ..calls.resources import get_num_threads, register
from ..kept.lookup import FormulaRecord, UnitRecord
from .numpy import NumpyRunner, batch_length
from .pattern import Kind, Pattern, bits_of
from .programs import NativeRunner, TieredRunner
from .variants import ProgramRunner

__all__ = ["SEVERAL", "PlanRunner", "Sampled", "SharingPlans", "Together", "by_numpy", "one_by_one"]


Floats: TypeAlias = npt.NDArray[np.floating[Any]]
#: Computes the sample of a number into arrays of one sample each.
Sampled: TypeAlias = Callable[[int, list[Floats]], None]
#: Samples of a loop from which on they are computed together, how many at once, and bytes of what is kept of them.
SEVERAL, AT_ONCE, ROOM = 8, 1024, 1 << 24


def one_by_one(compute: Sampled, outs: Sequence[Floats], count: int, total: bool, dtype: Any = None) -> None:
    """Fill results of a batch, or their sums where ``total``.

    Parameters
    ----------
    compute : callable
    outs : sequence of ndarray, shape (N, ...), or (1, ...) for sums
    count : int
        Samples.
    total : bool
    dtype : dtype, optional
        Of the arrays that are computed into; by default that of the results.

    Raises
    ------
    SingularMatrixError
        With the index of the sample that has such a matrix.
    """
    totals = [np.zeros(out.shape) for out in outs] if total else []
    for k in range(count):
        results = [np.empty((1, *out.shape[1:]), dtype or out.dtype) for out in outs]
        try:
            compute(k, results)
        except SingularMatrixError as error:
            raise SingularMatrixError(str(error), (k,)) from None
        for place, result in enumerate(results):
            if total:
                totals[place] += result
            else:
                outs[place][k : k + 1] = result
    for out, whole in zip(outs, totals, strict=False):
        out[...] = whole


class Together:
    """Computes several samples of a loop at once: they become an axis of one sample, over which each step runs.

    Parameters
    ----------
    inputs, outputs : sequence of Node
        The formula of one sample.
    kind : type
        What runs scalar programs.
    options : mapping
        Of the runner of plans.
    """

    def __init__(
        self, inputs: Sequence[Node], outputs: Sequence[Node], kind: Kind, options: Mapping[str, Any]
    ) -> None:
        self.inputs, self.outputs, self.kind, self.options = inputs, outputs, kind, options
        #: For each way of sharing inputs; None where there is no plan.
        self.patterns: dict[tuple[bool, ...], Pattern | None] = {}

    def _pattern(self, batched: tuple[bool, ...]) -> Pattern | None:
        if batched not in self.patterns:
            made, options = None, self.options
            with suppress(UnsupportedError):
                plan = plan_together(self.inputs, self.outputs, batched, options["limit"], total=options["reduce"])
                if not any(isinstance(step, Call) for step in nested(plan.steps)):
                    made = Pattern(plan, self.kind, options["accuracy"], options["build_limit"])
            self.patterns.setdefault(batched, made)
        return self.patterns[batched]

    def run(
        self, given: Sequence[Floats], outs: Sequence[Floats], batched: tuple[bool, ...], single: bool, threads: int
    ) -> bool:
        """Fill results of a batch, or their sums; tell whether that could be.

        Parameters
        ----------
        given : sequence of ndarray, shape (N, ...), or (...) of what samples share
        outs : sequence of ndarray, shape (N, ...), or (1, ...) for sums
        batched : sequence of bool
            Which inputs have the batch.
        single : bool
            Whether the call computes with float32.
        threads : int
        """
        pattern = self._pattern(batched)
        if pattern is None:
            return False
        count = next(len(array) for array, has in zip(given, batched, strict=True) if has)

        def bound(first: int, end: int) -> tuple[list[Floats], Executor | None]:
            own = [array[first:end] if has else array for array, has in zip(given, batched, strict=True)]
            return own, pattern.bound(tuple([array.shape for array in own]), single)

        groups = -(-count // AT_ONCE)
        while count // groups > SEVERAL:  # what a loop keeps of its steps grows with the samples
            executor = bound(0, count // groups)[1]
            if executor is None or executor.arena_bytes <= ROOM:
                break
            groups *= 2
        dtype, total = np.float32 if single else np.float64, self.options["reduce"]
        totals = [np.zeros(out.shape[1:], dtype) for out in outs] if total else []
        for group in range(groups):
            first, end = count * group // groups, count * (group + 1) // groups
            parts = [out[first:end] for out in outs]
            if total:
                results = [np.empty_like(one) for one in totals]
            else:
                results = [part if part.dtype == dtype else np.empty(part.shape, dtype) for part in parts]
            own, executor = bound(first, end)
            if executor is None or executor.run(own, results, 1, threads) is not None:
                return False  # another way tells which sample it is that fails
            for place, result in enumerate(results):
                if total:
                    totals[place] += result
                elif result is not parts[place]:
                    parts[place][...] = result
        for out, whole in zip(outs, totals, strict=False):
            out[...] = whole
        return True


def by_numpy(runner: NumpyRunner, inputs: Sequence[Floats], k: int, results: list[Floats]) -> None:
    """Compute one sample with NumPy."""
    runner.run([np.array(array[k : k + 1] if len(array) > 1 else array) for array in inputs], results, False)


#: A plan is worth it where a sample takes less than this part of the time that units take for it.
GAIN = 0.85
#: Nanoseconds that a call of a plan takes longer than one of a unit.
CALL = 300.0
#: Plans with numbers for letters that are kept, and scalar operations of one of their programs, at most.
SIZED, FEW = 64, 1000
#: Samples of a loop that are computed one after the other, at most, where NumPy would compute them together.
ALONE = 256
#: Samples of one call, at most.
MOST_COUNT = MOST_SAMPLES // 1024
#: Options of runners of plans beside a formula.
OPTIONS = ("limit", "inner", "reduce", "accuracy", "threads", "build_limit", "reproducible")


class PlanRunner:
    """The backend of a kernel whose formula is a plan.

    Parameters
    ----------
    inputs, outputs : sequence of Node
        The formula of one sample.
    kind : type
        What runs scalar programs.
    limit : int
        Scalar operations of one program, at most.
    inner : int, optional
        The longest axis that one element of a loop has to itself; None for what the formula says when it is planned.
    usual : sequence of bool or None
        Which inputs the plan that is made now has a batch for; all False for one sample. None to make no plan yet.
    reduce : bool
        Outputs are summed over the batch.
    accuracy : {"default", "high"}
    threads : int, optional
        Threads of one call, at most; None for the number in force when it is called.
    build_limit : float, optional
        Seconds that the compiler may take for the program of one step.
    plan : Plan, optional
        The usual plan, where it is there already.
    reproducible : bool, optional
        A sample has the same bits alone and among others.
    record : FormulaRecord, optional
        What is kept of the formula between processes.

    Raises
    ------
    UnsupportedError
        If the formula cannot be planned; the message says why.
    """

    #: True where a plan serves calls of one sample.
    serves_alone = True

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        kind: Kind,
        *,
        limit: int,
        inner: int | None = INNER,
        usual: Sequence[bool] | None,
        reduce: bool = False,
        accuracy: str = "default",
        threads: int | None = None,
        build_limit: float = math.inf,
        plan: Plan | None = None,
        reproducible: bool = False,
        record: FormulaRecord | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        #: May be derived when they are first looked at.
        self.outputs = outputs
        self.record = record
        self.kind = kind
        self.limit = limit
        self.inner = inner
        self.usual = None if usual is None else tuple(usual)
        self.reduce = reduce
        self.accuracy = accuracy
        self.threads = threads
        self.build_limit = build_limit
        self.reproducible = reproducible
        self._patterns: dict[tuple[bool, ...], Pattern | None] = {}
        self._sized: dict[tuple[Any, ...], Pattern | None] = {}
        self._together = Together(self.inputs, outputs, kind, self._options())
        self._has_letters = any(isinstance(size, Size) for node in self.inputs for size in node.shape)
        # a factor of what is declared definite is a step, whose failure names the input
        self._has_definite = any(node.assumptions.definite for node in self.inputs)
        if self.usual is not None:
            plan = self._planned(self.usual) if plan is None else plan
            self._patterns[self.usual] = self._pattern(plan, self.usual)
        self._numpy: NumpyRunner | None = None
        register()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(PlanRunner, usual=self.usual, **self._options()), (self.inputs, tuple(self.outputs), self.kind)

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OPTIONS}

    def _planned(self, batched: tuple[bool, ...]) -> Plan:
        """Plan calls in which some inputs have the batch, or raise ``UnsupportedError``."""
        with inner_axes(inner_of(self.inputs, self.outputs) if self.inner is None else self.inner):
            return plan_shorter(self.inputs, self.outputs, batched, self.limit, total=self.reduce)

    def _pattern(self, plan: Plan, batched: tuple[bool, ...]) -> Pattern:
        record, place = self.record, _place(batched)

        def unit(number: int) -> UnitRecord | None:
            return None if record is None else record.unit(f"{place}{number}")

        return Pattern(plan, self.kind, self.accuracy, self.build_limit, unit, self.reproducible)

    def pattern(self, batched: tuple[bool, ...]) -> Pattern | None:
        """Return the plan for inputs of which some have a batch axis; None where there is none."""
        if batched not in self._patterns:
            self._patterns.setdefault(batched, self._made(batched))
        return self._patterns[batched]

    def _made(self, batched: tuple[bool, ...]) -> Pattern | None:
        """Plan calls of a kind, or take the plan that was made for them before."""
        record, part = self.record, f"plan{_place(batched)}"
        kept = None if record is None else record.read(part)
        if kept is not None and isinstance(kept.get("plan"), Plan | None) and "plan" in kept:
            return None if kept["plan"] is None else self._pattern(kept["plan"], batched)
        if record is not None:
            record.collect()
        try:
            plan: Plan | None = self._planned(batched)
        except UnsupportedError:
            plan = None
        made = None if plan is None else self._pattern(plan, batched)
        if record is not None:
            record.write({"plan": plan}, part)
        return made

    def _bound(
        self, batched: tuple[bool, ...], shapes: Sequence[tuple[int, ...]], single: bool
    ) -> tuple[Pattern, Executor] | None:
        """Return the plan for arrays of some shapes, of which some have a batch, and that plan bound to them.

        The plan with letters serves all sizes that are not very small. Few elements of each of many samples have a plan
        of their own, with numbers for the letters; so have sizes for which the one with letters is none.
        """
        sizes: dict[str, int] = {}
        if self._has_letters:
            own = [shape[has:] for shape, has in zip(shapes, batched, strict=True)]
            sizes = bind_sizes(self.inputs, own)
        few = bool(sizes) and (any(batched) or self.reproducible) and max(sizes.values()) <= INNER
        few = few and not self._has_definite
        for sized in (few, not few) if sizes else (False,):
            pattern = self._with_numbers(batched, sizes) if sized else self.pattern(batched)
            executor = None if pattern is None else pattern.bound(tuple(shapes), single)
            if pattern is not None and executor is not None:
                return pattern, executor
        return None

    def _with_numbers(self, batched: tuple[bool, ...], sizes: Mapping[str, int]) -> Pattern | None:
        """Return the plan of the formula with numbers for its letters, None where there is none."""
        key = (batched, *sorted(sizes.items()))
        if key not in self._sized:
            made, fresh = None, {}
            for node in self.inputs:
                shape = tuple([value(size, sizes) for size in node.shape])
                fresh[node] = input(str(node.name), shape, node.dtype, node.assumptions)
            for most in (INNER, *FEWER):  # what is too long in straight-line code has loops
                with inner_axes(most), suppress(UnsupportedError, ShapeError):  # the plan with letters tells misfits
                    outputs = resize(self.outputs, fresh, sizes)
                    plan = plan_call(tuple(fresh.values()), outputs, batched, min(self.limit, FEW), total=self.reduce)
                    made = Pattern(plan, self.kind, self.accuracy, self.build_limit, reproducible=self.reproducible)
                    break
            while len(self._sized) >= SIZED:
                self._sized.pop(next(iter(self._sized)), None)
            self._sized.setdefault(key, made)
        return self._sized.get(key)

    # ------------------------------------------------------------------ what it tells

    def _usual(self) -> Pattern:
        assert self.usual is not None
        pattern = self._patterns[self.usual]
        assert pattern is not None
        return pattern

    def _made_patterns(self) -> list[Pattern]:
        every = self._patterns, self._sized, self._together.patterns
        return [pattern for kept in every for pattern in list(kept.values()) if pattern]

    def _runners(self) -> list[ProgramRunner]:
        return [runner for pattern in self._made_patterns() for runner in pattern.runners]

    @property
    def backend(self) -> str:
        """Backend of the programs now: "interpreter" or "c"."""
        changing = [unit.backend for unit in self._runners() if isinstance(unit, TieredRunner)]
        if self.kind is TieredRunner:
            return "interpreter" if "interpreter" in changing else "c"
        return "c" if self.kind is NativeRunner else "interpreter"

    @property
    def stats(self) -> dict[str, Any]:
        """Number of steps, further work, and state of the builds."""
        pattern = self._usual()
        told: dict[str, Any] = {
            "steps": len(pattern.plan.steps),
            "operations": sum(len(runner.program.ops) for runner in pattern.runners),
            "bits": bits_of(pattern.plan, reproducible=self.reproducible),
            "numpy_steps": [step.formula.op for step in pattern.plan.steps if isinstance(step, Call)],
        }
        units = self._runners()
        told["build_seconds"] = sum(u.build_seconds for u in units if isinstance(u, NativeRunner))
        every = [unit.stats for unit in units if isinstance(unit, TieredRunner)]
        if every:
            waiting = [each for each in every if each["building"]]
            failed = [unit.stats for unit in units if isinstance(unit, TieredRunner) and unit.obstacle]
            told |= (failed or waiting or every)[0]
            told["building"] = bool(waiting)
            told["build_seconds"] = sum(each["build_seconds"] for each in every)
        return told

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arrays between steps that one thread of a call works in, of the largest plan that is bound."""
        return max((plan.arena_bytes for pattern in self._made_patterns() for plan in pattern.plans()), default=0)

    def lines(self) -> Iterator[str]:
        """Give the steps of each plan that is there, with estimated times and why they are chosen."""
        made = [*(((batched,), pattern) for batched, pattern in self._patterns.items()), *self._sized.items()]
        size = "samples", f"{SEVERAL} or more at once"
        made += [((batched, size), pattern) for batched, pattern in self._together.patterns.items()]
        for (batched, *sizes), pattern in made:
            if pattern is None:
                continue
            names = [str(node.name) for node, has in zip(self.inputs, batched, strict=True) if has]
            numbers = "".join([f", {name} = {size}" for name, size in sizes])
            plan = pattern.plan
            letters = letters_in(plan.inputs, plan.steps)
            counts = f" (times for {', '.join([f'{name} = {NOMINAL}' for name in letters])})" if letters else ""
            title = f"a batch of {', '.join(names)}{numbers}" if names else f"one sample{numbers}"
            yield f"{title}{counts}:"
            rows = None if names else rows_of(self.inputs, plan.inputs)
            yield from (f"  {line}" for line in step_lines(plan.inputs, plan.steps, rows))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being built for this kernel; tell whether that is so."""
        waited = [unit.wait(timeout) for unit in self._runners() if isinstance(unit, TieredRunner)]
        return all(waited)

    def source(self) -> str:
        """Return the C text of every program, one after the other."""
        return "\n".join(f"/* program {k} */\n{text}" for k, (_, text) in enumerate(self.programs()))

    def programs(self) -> list[tuple[Program, str]]:
        """Return every program with its C text."""
        return [(runner.program, runner.source()) for runner in self._usual().runners]

    # ------------------------------------------------------------------ running

    def entry(
        self, batched: tuple[bool, ...], shapes: Sequence[tuple[int, ...]], single: bool
    ) -> tuple[Executor | None, int] | None:
        """Return the bound plan for calls of a kind, and the input with the axis of tiles if that is not the batch.

        Parameters
        ----------
        batched : tuple of bool
            Which inputs have the batch; none in a call of one sample.
        shapes : sequence of tuple of int
            Of one sample of each input.
        single : bool
            Whether the call computes with float32.
        """
        # a plan is bound for any number of samples
        whole = [(2, *shape) if has else shape for shape, has in zip(shapes, batched, strict=True)]
        found = self._bound(batched, whole, single)
        if found is None:
            return None
        pattern, executor = found
        return executor, -1 if any(batched) else pattern.tiled

    def run(
        self,
        inputs: Sequence[Floats],
        outs: Sequence[Floats],
        reduce: bool,
        batched: tuple[bool, ...] | None = None,
    ) -> None:
        """Compute all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray, shape (N, ...) or (1, ...)
        outs : sequence of ndarray, shape (N, ...)
            Filled; of shape (1, ...) when ``reduce``. They overlap nothing.
        reduce : bool
            Sum over the batch.
        batched : tuple of bool, optional
            Which inputs have the batch; by default those with more than one sample.

        Raises
        ------
        SingularMatrixError
            With the index, along the batch, of a sample that has such a matrix.
        ShapeError
            If shapes do not fit the formula's symbolic sizes.
        LimitError
            For more samples than can be counted.
        """
        count = batch_length(inputs, outs, reduce)
        if batched is None:
            batched = tuple(len(array) == count and count > 1 for array in inputs)
        several = any(batched)
        single = bool(inputs) and all(array.dtype == np.float32 for array in inputs)
        given = [
            _typed(array if has else array[0, ...], single) for array, has in zip(inputs, batched, strict=True)
        ]
        found = self._bound(batched, [array.shape for array in given], single)
        if found is None:
            dtype = np.float32 if single else np.float64
            joint = several and count >= SEVERAL and not self.reproducible and self._has_loops()
            if joint and self._together.run(given, outs, batched, single, self.threads or get_num_threads()):
                return
            alone = self._alone(given, batched, single) if several and (self.reproducible or count <= ALONE) else None
            if alone is not None:
                one_by_one(alone, outs, count, self.reduce, dtype)
                return
            if self._numpy is None:
                from ...codegen.numpy.emit import emit_numpy  # few calls need it

                self._numpy = NumpyRunner(emit_numpy(self.inputs, self.outputs))
            if self.reproducible:
                if self.pattern(batched) is None:
                    raise UnsupportedError("reproducible=True, and only NumPy computes calls that share inputs so")
                one_by_one(partial(by_numpy, self._numpy, inputs), outs, count, self.reduce)
            else:
                self._numpy.run(inputs, outs, reduce)
            return
        targets = [out if several and not reduce else out[0, ...] for out in outs]
        pattern, executor = found
        rows = pattern.rows(given) if not several else count
        if rows > MOST_COUNT:
            raise LimitError(f"a batch of more samples than can be counted: {rows}")
        dtype = np.float32 if single else np.float64
        direct = [target if target.dtype == dtype else np.empty(target.shape, dtype) for target in targets]
        failed = executor.run(given, direct, rows, self.threads or get_num_threads())
        if failed is not None:
            raise SingularMatrixError(failed[1], failed[0])
        for target, array in zip(targets, direct, strict=True):
            if target is not array:
                target[...] = array

    def _has_loops(self) -> bool:
        return any(node.below & REPEATED for node in self.outputs)

    def _alone(self, given: Sequence[Floats], batched: tuple[bool, ...], single: bool) -> Sampled | None:
        """Return what computes one sample of a loop by the plan for calls of one, None where there is none."""
        if not self._has_loops():
            return None
        shapes = [array.shape[has:] for array, has in zip(given, batched, strict=True)]
        found = self._bound((False,) * len(batched), shapes, single)
        if found is None:
            return None
        pattern, executor = found

        def compute(k: int, results: list[Floats]) -> None:
            own = [array[k, ...] if has else array for array, has in zip(given, batched, strict=True)]
            failed = executor.run(own, [result[0, ...] for result in results], pattern.rows(own), 1)
            if failed is not None:
                raise SingularMatrixError(failed[1], failed[0])

        return compute


class SharingPlans(PlanRunner):
    """Plans for calls that share inputs among samples, sum over them or have one, beside units that serve all others.

    Parameters
    ----------
    program : Program
        Of the units. A plan is used where a sample is estimated to take much less with it.
    alone : float
        Nanoseconds that the units take for one sample, 0 for no plan for such calls. All lanes of a unit hold that
        sample, those of a plan neighbours of it.
    """

    def __init__(self, program: Program, *args: Any, alone: float = 0.0, **options: Any) -> None:
        super().__init__(*args, usual=None, **options)
        self.program = program
        self.alone = alone
        # it is built with the units
        self.serves_alone = bool(alone) and self.pattern((False,) * len(self.inputs)) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        options = {**self._options(), "alone": self.alone}
        return partial(SharingPlans, **options), (self.program, self.inputs, tuple(self.outputs), self.kind)

    def entry(
        self, batched: tuple[bool, ...], shapes: Sequence[tuple[int, ...]], single: bool
    ) -> tuple[Executor | None, int] | None:
        """Return the bound plan for calls of a kind, None in its place where units are about as good."""
        return (None, -1) if self.pattern(batched) is None else super().entry(batched, shapes, single)

    def _made(self, batched: tuple[bool, ...]) -> Pattern | None:
        try:
            return super()._made(batched)
        except UnsupportedError:  # of a plan that is not reproducible, where units are
            return None

    def _planned(self, batched: tuple[bool, ...]) -> Plan:
        if not any(batched) and self.alone:
            with inner_axes(FEWER[0]):
                plan = plan_call(self.inputs, self.outputs, batched, self.limit)
            if CALL + plan.estimate.once < GAIN * self.alone:
                return plan
            raise UnsupportedError("a unit takes about as long")
        plan = plan_call(self.inputs, self.outputs, batched, self.limit, total=self.reduce)
        ports = [port for port, has in zip(self.program.inputs, batched, strict=True) if has]
        if plan.estimate.sample >= GAIN * program_cost(self.program, ports):
            raise UnsupportedError("units take about as long")
        return plan


def _place(batched: tuple[bool, ...]) -> str:
    """Return the name of what is kept for one way of sharing inputs."""
    return "".join("-+"[has] for has in batched) + "."


def _typed(array: Floats, single: bool) -> Floats:
    return array if single else np.asarray(array, np.float64)
