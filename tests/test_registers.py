from __future__ import annotations

import random

from symdiff.codegen.bytecode.registers import REGISTERS, Allocation, allocate_registers
from symdiff.codegen.bytecode.select import ACCUMULATOR, Instruction


def verify(steps: list[Instruction], found: Allocation, barriers: list[float]) -> None:
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
        Instruction("multiply", 10, (0, 1)),
        Instruction("multiply", 11, (2, 3)),
        Instruction("divide", 12, (ACCUMULATOR, 10)),
    ]
    found = allocate_registers(steps, 2, set(), set(), [])
    assert found.puts == {0: ["b"]}
    assert found.reads[2, 10] == "b"


def test_what_is_needed_in_memory_is_not_worth_a_register_for_one_cheap_read() -> None:
    steps = [
        Instruction("multiply", 10, (0, 1)),
        Instruction("multiply", 11, (2, 3)),
        Instruction("divide", 12, (ACCUMULATOR, 10)),
    ]
    assert not allocate_registers(steps, 2, {10}, set(), []).reads


def test_without_registers_nothing_stays() -> None:
    steps = [
        Instruction("multiply", 10, (0, 1)),
        Instruction("multiply", 11, (2, 3)),
        Instruction("divide", 12, (ACCUMULATOR, 10)),
    ]
    assert allocate_registers(steps, 0, set(), set(), []) == Allocation()


def test_nothing_stays_over_a_barrier_nor_is_read_by_what_cannot() -> None:
    steps = [
        Instruction("multiply", 10, (0, 1)),
        Instruction("multiply", 11, (2, 3)),
        Instruction("divide", 12, (ACCUMULATOR, 10)),
    ]
    assert not allocate_registers(steps, 2, set(), set(), [0.9]).reads
    steps[2] = Instruction("minimum", 12, (ACCUMULATOR, 10))
    assert not allocate_registers(steps, 2, set(), set(), []).reads


def test_numbers_stay_where_they_are() -> None:
    steps = [Instruction("multiply", 10 + t, (0, 1)) for t in range(5)]
    found = allocate_registers(steps, 2, set(), {0}, [])
    assert {v for _, v in found.reads} <= {1}


def test_registers_hold_what_is_read_there() -> None:
    source = random.Random(0)
    for length in (5, 40, 300, 1500):
        steps: list[Instruction] = []
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
            steps.append(Instruction(name, t + 5, args))
        barriers = sorted({source.randrange(length) - source.choice((0.6, 0.1, -0.1)) for _ in range(length // 20)})
        kept = {source.randrange(length) for _ in range(length // 5)}
        found = allocate_registers(steps, 2, kept, set(), barriers)
        assert {*found.reads.values()} <= {*REGISTERS}
        assert found.reads
        verify(steps, found, barriers)
