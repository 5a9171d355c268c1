"""Slow reference implementations of the assembler's passes: steps are objects, tables are dictionaries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from symdiff.codegen.bytecode.assemble import ABLE, ACCUMULATOR
from symdiff.lowering.program import Program

_OUTER, _INNER = ("add", "subtract", "multiply", "divide"), ("add", "subtract", "multiply")
_SLOW = {"divide": 7.0, "sqrt": 12.0}


class Step(NamedTuple):
    """An instruction that leaves a value in the accumulator."""

    name: str
    value: int
    args: tuple[int, ...]

    @property
    def reads(self) -> list[int]:
        return [v for v in dict.fromkeys(self.args) if v != ACCUMULATOR]


class Walk:
    """Instruction selection for one program."""

    def __init__(self, program: Program, functions: Collection[str]) -> None:
        self.ops, self.functions = program.ops, functions
        first: dict[tuple[int, ...], int] = {}
        same = list(range(len(program.ops)))
        for i, op in enumerate(program.ops):
            if op == "load":
                same[i] = first.setdefault(program.args[i], i)
        pairs = zip(program.ops, program.args, strict=True)
        self.args = [args if op == "load" else tuple([same[v] for v in args]) for op, args in pairs]
        outputs = [same[v] for store in program.stores for v in store] + [same[v] for v, _ in program.checks]
        #: How often each value is read by what is wanted, and who reads it.
        self.uses: dict[int, int] = dict.fromkeys(outputs, 2)
        self.reader: dict[int, int] = {}
        for i in range(len(self.ops) - 1, -1, -1):
            if i in self.uses and self.ops[i] != "load":
                for v in self.args[i]:
                    self.uses[v] = self.uses.get(v, 0) + 1
                    self.reader[v] = i
        self.steps: list[Step] = []
        self.held = -1
        self.delayed: set[int] = set()
        for i, op in enumerate(self.ops):
            if i in self.uses and op not in ("load", "const"):
                fits = self.uses[i] == 1 and op in _INNER and self.ops[self.reader[i]] in _OUTER
                if fits and not self.delayed & {*self.args[i]}:
                    self.delayed.add(i)
                else:
                    self.compute(i)

    def compute(self, i: int) -> None:
        op, args = self.ops[i], self.args[i]
        late = [v for v in args if v in self.delayed]
        if op in _OUTER and late:
            if len(late) == 2:
                first = late[1] if self.held in self.args[late[1]] else late[0]
                late.remove(first)
                self.delayed.remove(first)
                self.compute(first)
            if self.held in args and self.held not in self.args[late[0]]:
                inner = self.args[late[0]]
                self.delayed.remove(late[0])
                both = (*inner, ACCUMULATOR) if args[0] == late[0] else (ACCUMULATOR, *inner)
                self.step(f"{op}_{self.ops[late[0]]}", i, both)
                return
        for v in args:
            if v in self.delayed:
                self.delayed.remove(v)
                self.compute(v)
        if op == "fma" and args[1] == self.held:
            args = (args[1], args[0], args[2])
        if op not in self.functions and not (op in ("where", "fma") and args.count(self.held) > 1):
            args = tuple([ACCUMULATOR if v == self.held else v for v in args])
        self.step(op, i, args)

    def step(self, name: str, i: int, args: tuple[int, ...]) -> None:
        self.steps.append(Step(name, i, args))
        self.held = i


def schedule(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in an order that has divisions run beside other work."""
    if not any(slow(step) for step in steps):
        return [*steps]
    chains: list[list[Step]] = []
    for step in steps:
        if ACCUMULATOR in step.args:
            chains[-1].append(step)
        else:
            chains.append([step])
    made_by = {step.value: c for c, chain in enumerate(chains) for step in chain}
    needs = [{made_by[v] for step in chain for v in step.reads if v in made_by} - {c} for c, chain in enumerate(chains)]
    there = [0.0] * len(chains)
    done: set[int] = set()
    ordered: list[Step] = []
    clock = free = 0.0
    rest = list(range(len(chains)))
    while rest:
        chosen, soonest = -1, float("inf")
        for c in rest[:12]:
            if needs[c] <= done:
                divides = any(slow(step) for step in chains[c])
                start = max(there[c], free) if divides else there[c]
                if divides and start <= clock:
                    chosen, soonest = c, start
                    break
                if start < soonest and soonest > clock + 10.0:
                    chosen, soonest = c, start
        long = sum(slow(step) for step in chains[chosen])
        cost = sum(0.5 + 0.5 * len(step.args) for step in chains[chosen]) + 1.6
        begin = max(clock, soonest)
        clock = max(clock, begin - 10.0) + cost
        free = begin + long if long else free
        for c in rest:
            if chosen in needs[c]:
                there[c] = max(there[c], begin + long + cost)
        done.add(chosen)
        rest.remove(chosen)
        ordered += chains[chosen]
    return ordered


def slow(step: Step) -> float:
    return sum(_SLOW.get(op, 0.0) for op in step.name.split("_"))


Stay = tuple[int, float, float, int, tuple[int, ...]]


def allocate(
    steps: Sequence[Step], kept: Collection[int], numbers: Collection[int], barriers: Sequence[float]
) -> dict[tuple[int, int], tuple[str, bool]]:
    """Return the register in which each step reads each value, and whether the value was put there when computed."""
    made = {step.value: t for t, step in enumerate(steps)}
    reads: dict[int, list[int]] = {}
    for t, step in enumerate(steps):
        for v in step.reads:
            if v not in numbers:
                reads.setdefault(v, []).append(t)
    found: dict[tuple[int, int], tuple[str, bool]] = {}
    for register in "bc":
        # operands in memory of those that may read registers
        left = [len([v for v in s.reads if v not in numbers and (t, v) not in found]) for t, s in enumerate(steps)]
        stays: list[Stay] = []
        more = 0.1 if len(steps) < 1000 else 2.0
        for v, all_times in reads.items():
            able = [t for t in all_times if steps[t].name in ABLE]
            start = made.get(v, -1)
            if not able or (len(able) == 1 and (start < 0 or able[0] - start > 32)):
                continue
            times = [t for t in able if (t, v) not in found]
            if start >= 0 and times and times[0] - start <= 32:
                whole = 1.7 + more if len(times) == len(all_times) and v not in kept else 0.0
                stays += gains(v, times, start, -0.2 - more, left, barriers, whole)
            for k in range(len(times) - 1):
                if times[k + 1] - times[k] <= 32:
                    stays += gains(v, times[k : k + 8], times[k] - 0.5, -1.0 - more, left, barriers, 0.0)
        for _, begin, _, v, times_of in best(stays):
            for t in times_of:
                found[t, v] = register, begin == made.get(v)
    return found


def gains(
    v: int,
    times: Sequence[int],
    start: float,
    gain: float,
    left: Sequence[int],
    barriers: Sequence[float],
    whole: float,
) -> Iterable[Stay]:
    for k, end in enumerate(times[:8]):
        if end > start + 32 or any(start < barrier < end for barrier in barriers):
            return
        gain += 0.9 if left[end] > 1 else 0.2
        total = gain + whole if k + 1 == len(times) else gain
        if total > 0:
            yield end, start, total, v, tuple(times[: k + 1])


def best(stays: list[Stay]) -> list[Stay]:
    """Return the intervals that do not overlap and save most."""
    stays.sort()
    ends = [stay[0] for stay in stays]
    sums = [0.0]
    before = []
    for k, (_, start, gain, _, _) in enumerate(stays):
        before.append(bisect_right(ends, start, 0, k))
        sums.append(max(sums[-1], sums[before[k]] + gain))
    chosen = []
    k = len(stays)
    while k:
        if sums[k] == sums[k - 1]:
            k -= 1
        else:
            chosen.append(stays[k - 1])
            k = before[k - 1]
    return chosen
