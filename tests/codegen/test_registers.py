from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from symdiff._kernels.programs.steps import Steps
from symdiff._kernels.programs.words import NAMES as REGISTERS
from symdiff._kernels.programs.words import Allocation, allocate_registers
from symdiff.codegen.bytecode.assemble import ACCUMULATOR, empty_steps
from symdiff.lowering.program import OPERATIONS

Rows = Sequence[tuple[str, int, tuple[int, ...]]]


def steps_of(rows: Rows, numbers: Collection[int] = ()) -> Steps:
    steps = empty_steps(OPERATIONS)
    for row in rows:
        steps.add(*row, numbers)
    return steps


def allocate(
    rows: Rows,
    registers: int,
    kept: Collection[int] = (),
    barriers: Sequence[float] = (),
    numbers: Collection[int] = (),
) -> Allocation:
    return allocate_registers(steps_of(rows, numbers), registers, kept, barriers)


def verify(steps: Steps, found: Allocation, barriers: list[float]) -> None:
    """Run the steps' moves, and check that each register holds what is read in it."""
    lost = sorted(barriers)
    registers: dict[str, int] = {}

    def forget(until: float) -> None:
        while lost and lost[0] < until:
            lost.pop(0)
            registers.clear()

    for t, step in enumerate(steps):
        forget(t - 0.5)
        registers.update(found.loads.get(t, ()))
        forget(t)
        for v in step.reads:
            if (t, v) in found.reads:
                assert registers[found.reads[t, v]] == v
        for register in found.puts.get(t, ()):
            registers[register] = step.value


def test_a_value_wanted_soon_needs_no_memory() -> None:
    steps = [
        ("multiply", 10, (0, 1)),
        ("multiply", 11, (2, 3)),
        ("divide", 12, (ACCUMULATOR, 10)),
    ]
    found = allocate(steps, 2)
    assert found.puts == {0: ["b"]}
    assert found.reads[2, 10] == "b"


def test_what_is_needed_in_memory_is_not_worth_a_register_for_one_cheap_read() -> None:
    steps = [
        ("multiply", 10, (0, 1)),
        ("multiply", 11, (2, 3)),
        ("divide", 12, (ACCUMULATOR, 10)),
    ]
    assert not allocate(steps, 2, {10}).reads


def test_without_registers_nothing_stays() -> None:
    steps = [
        ("multiply", 10, (0, 1)),
        ("multiply", 11, (2, 3)),
        ("divide", 12, (ACCUMULATOR, 10)),
    ]
    found = allocate(steps, 0)
    assert not found.reads
    assert not found.puts
    assert not found.loads


def test_nothing_stays_over_a_barrier_nor_is_read_by_what_cannot() -> None:
    steps = [
        ("multiply", 10, (0, 1)),
        ("multiply", 11, (2, 3)),
        ("divide", 12, (ACCUMULATOR, 10)),
    ]
    assert not allocate(steps, 2, barriers=[0.9]).reads
    steps[2] = ("minimum", 12, (ACCUMULATOR, 10))
    assert not allocate(steps, 2).reads


def test_numbers_stay_where_they_are() -> None:
    steps = [("multiply", 10 + t, (0, 1)) for t in range(5)]
    found = allocate(steps, 2, numbers={0})
    assert {v for _, v in found.reads} <= {1}


def test_registers_hold_what_is_read_there() -> None:
    source = random.Random(0)
    for length in (5, 40, 300, 1500):
        steps: list[tuple[str, int, tuple[int, ...]]] = []
        for t in range(length):
            recent = [source.randrange(max(0, t - 20), t + 5) for _ in range(3)]
            name = source.choice(("add", "multiply", "divide", "add_multiply", "minimum", "sqrt"))
            if name == "add_multiply" and t:
                args: tuple[int, ...] = (ACCUMULATOR, recent[0], recent[1])
            elif name == "sqrt":
                args = (recent[0],)
            else:
                args = (recent[0], recent[1])
                name = "add" if name == "add_multiply" else name
            steps.append((name, t + 5, args))
        barriers = sorted({source.randrange(length) - source.choice((0.6, 0.1, -0.1)) for _ in range(length // 20)})
        kept = {source.randrange(length) for _ in range(length // 5)}
        found = allocate(steps, 2, kept, barriers)
        assert {*found.reads.values()} <= {*REGISTERS}
        assert found.reads
        verify(found.steps, found, barriers)
