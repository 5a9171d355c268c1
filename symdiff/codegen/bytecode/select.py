"""Instruction selection and scheduling for a machine with one accumulator.

The result of a step stays in the accumulator for the next one; steps that pass on their results in
this way are a chain. A product or sum with a single use is computed together with its consumer, so
sums of products, which are most of linear algebra, hardly touch memory. List scheduling orders the
chains so that divisions, which occupy a unit of their own for long, run beside other work. The
operations on numbers are exactly those of generated C.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["ACCUMULATOR", "Instruction", "schedule", "select_instructions"]

#: What a step reads in the accumulator.
ACCUMULATOR = -1
#: Operations that fuse with the one that computes their argument, and those they fuse with.
_OUTER = frozenset(("add", "subtract", "multiply", "divide"))
_INNER = frozenset(("add", "subtract", "multiply"))
#: Operations of three operands, of which one may be in the accumulator; of "fma" the first or the last.
_THREE = frozenset(("where", "fma"))
#: Times of one vector, measured, in those of a step that reads one operand from memory.
_STORE = 1.6
_SLOW = {"divide": 7.0, "sqrt": 12.0}
#: Chains among which the next one is chosen, and how far the unit for divisions may be behind.
_CHOICE, _BEHIND = 12, 10.0


class Instruction:
    """One instruction that leaves a value in the accumulator.

    Parameters
    ----------
    name : str
        The operation, or two of them in one: "subtract_multiply".
    value : int
        What it computes.
    args : tuple of int
        Values read, in the order of the instruction; ``ACCUMULATOR`` for the accumulator.

    Attributes
    ----------
    reads : tuple of int
        Values that are not read in the accumulator, each once.
    """

    __slots__ = ("args", "name", "reads", "value")

    def __init__(self, name: str, value: int, args: tuple[int, ...]) -> None:
        self.name, self.value, self.args = name, value, args
        self.reads = args if ACCUMULATOR not in args else tuple([v for v in args if v != ACCUMULATOR])
        if len(self.reads) > 1 and (
            self.reads[0] == self.reads[1] if len(self.reads) == 2 else len({*self.reads}) < len(self.reads)
        ):
            self.reads = tuple(dict.fromkeys(self.reads))


# ---------------------------------------------------------------------------- steps


def select_instructions(
    ops: Sequence[str], args: Sequence[tuple[int, ...]], outputs: Collection[int], functions: Collection[str]
) -> list[Instruction]:
    """Return the steps that compute the given values, in the program's order except for fused operations.

    Parameters
    ----------
    ops : sequence of str
        The operations of a program.
    args : sequence of tuple of int
        Their operands.
    outputs : collection of int
        Values that are wanted.
    functions : collection of str
        Operations that take nothing from the accumulator.

    Returns
    -------
    list of Step
    """
    walk = _Walk(ops, args, outputs, functions)
    for i, op in enumerate(ops):
        if op not in ("load", "const") and walk.wanted[i]:
            if walk.can_wait(i):
                walk.delayed.add(i)
            else:
                walk.compute(i)
    return walk.steps


class _Walk:
    """Instruction selection for one program."""

    def __init__(
        self,
        ops: Sequence[str],
        args: Sequence[tuple[int, ...]],
        outputs: Collection[int],
        functions: Collection[str],
    ) -> None:
        self.ops, self.args, self.functions = ops, args, functions
        self.steps: list[Instruction] = []
        #: The value in the accumulator, or -1.
        self.held = -1
        #: Values that will be computed together with the operation that reads them.
        self.delayed: set[int] = set()
        self.wanted = [False] * len(ops)
        #: The only operation that reads a value; -1 where something else does too.
        self.reader = [-1] * len(ops)
        for v in outputs:
            self.wanted[v] = True
        for i in range(len(ops) - 1, -1, -1):
            if self.wanted[i] and ops[i] != "load":
                for v in args[i]:
                    self.reader[v] = -1 if self.wanted[v] else i
                    self.wanted[v] = True

    def can_wait(self, i: int) -> bool:
        """Whether a value has a single use, in an operation that it can be fused into."""
        ops, reader = self.ops, self.reader[i]
        return (
            reader >= 0
            and ops[i] in _INNER
            and ops[reader] in _OUTER
            and not any(v in self.delayed for v in self.args[i])
        )

    def compute(self, i: int) -> None:
        """Add the steps that bring value ``i`` into the accumulator."""
        op, args = self.ops[i], self.args[i]
        if op in _OUTER:
            late = [v for v in args if v in self.delayed]
            if len(late) == 2:
                # the one that needs what is in the accumulator now comes first
                first = late[1] if self.held in self.args[late[1]] else late[0]
                self._compute_late(first)
                late.remove(first)
            if late and self.held in args and self.held not in self.args[late[0]]:
                self._compute_pair(i, late[0])
                return
        for v in args:
            if v in self.delayed:
                self._compute_late(v)
        if op == "fma" and args[1] == self.held:
            args = (args[1], args[0], args[2])
        if op not in self.functions and not (op in _THREE and args.count(self.held) > 1):
            args = tuple([ACCUMULATOR if v == self.held else v for v in args])
        self._step(op, i, args)

    def _compute_late(self, i: int) -> None:
        self.delayed.remove(i)
        self.compute(i)

    def _compute_pair(self, i: int, inner: int) -> None:
        """Add an operation on the accumulator and the result of another one."""
        self.delayed.remove(inner)
        read = self.args[inner]
        args = (*read, ACCUMULATOR) if self.args[i][0] == inner else (ACCUMULATOR, *read)
        self._step(f"{self.ops[i]}_{self.ops[inner]}", i, args)

    def _step(self, name: str, i: int, args: tuple[int, ...]) -> None:
        self.steps.append(Instruction(name, i, args))
        self.held = i


# ---------------------------------------------------------------------------- order


def schedule(steps: Sequence[Instruction]) -> list[Instruction]:
    """Return the steps in an order that has divisions run beside other work.

    A list schedule: of the next few chains whose operands are there, one that divides when the
    unit for that is free, else the first one that need not wait for it.

    Parameters
    ----------
    steps : sequence of Instruction

    Returns
    -------
    list of Step
    """
    times = {name: sum(_SLOW.get(op, 0.0) for op in name.split("_")) for name in {step.name for step in steps}}
    if not any(times.values()):
        return [*steps]
    chains: list[list[Instruction]] = []
    for step in steps:
        if ACCUMULATOR in step.args:
            chains[-1].append(step)
        else:
            chains.append([step])
    made_by = {step.value: c for c, chain in enumerate(chains) for step in chain}
    needs = [{made_by[v] for step in chain for v in step.reads if v in made_by} - {c} for c, chain in enumerate(chains)]
    slow = [sum([times[step.name] for step in chain]) for chain in chains]
    cost = [sum([0.5 + 0.5 * len(step.args) for step in chain]) + _STORE for chain in chains]
    # chains that need one, how many of its needs a chain misses, and when those it has were computed
    needed_by: list[list[int]] = [[] for _ in chains]
    for c, some in enumerate(needs):
        for d in some:
            needed_by[d].append(c)
    missing = [len(some) for some in needs]
    there = [0.0] * len(chains)
    ordered: list[Instruction] = []
    clock = free = 0.0
    waiting = list(range(min(_CHOICE, len(chains))))
    following = len(waiting)
    while waiting:
        # the first that divides while the unit for it is free, else the first that need not wait, else the next
        chosen, soonest = -1, float("inf")
        for c in waiting:
            if missing[c]:
                continue
            start = max(there[c], free) if slow[c] else there[c]
            if slow[c] and start <= clock:
                chosen, soonest = c, start
                break
            if start < soonest and soonest > clock + _BEHIND:
                chosen, soonest = c, start
        begin = max(clock, soonest)
        clock = max(clock, begin - _BEHIND) + cost[chosen]
        if slow[chosen]:
            free = begin + slow[chosen]
        for c in needed_by[chosen]:
            missing[c] -= 1
            there[c] = max(there[c], begin + slow[chosen] + cost[chosen])
        ordered += chains[chosen]
        waiting.remove(chosen)
        if following < len(chains):
            waiting.append(following)
            following += 1
    return ordered
