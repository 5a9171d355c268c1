"""The passes of the assembler over arrays: what they refuse, and how much memory they take."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from symdiff._kernels.interpreter import OPCODES, Machine
from symdiff._kernels.programs.steps import Steps
from symdiff._kernels.programs.words import Allocation, Writer, allocate_registers
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.bytecode.assemble import ACCUMULATOR, assemble, empty_steps, is_called, select_instructions
from symdiff.codegen.bytecode.assemble import schedule as ordered
from symdiff.codegen.c.emit import Target
from symdiff.lowering.program import OPERATIONS, SIGNATURES, Program
from symdiff.runtime.toolchain.load import native_target
from tests.kernels.test_interpreter import blank, everything
from tests.support.c_programs import rational, samples
from tests.support.steps_reference import Step, Walk, allocate, schedule
from tests.support.tape import Tape

#: What a program that is none may end in.
REFUSED = (ValueError, LookupError, RuntimeError, OverflowError)


def shown(steps: Steps) -> list[Step]:
    return [Step(step.name, step.value, step.args) for step in steps]


def many_divisions(seed: int, count: int) -> Program:
    """A random program of arithmetic, a third of it divisions, with values read once and often."""
    source = random.Random(seed)
    t = Tape(("x", (5,)))
    values = [*t.row(0), t.const(0.5), t.load(0, 1)]
    near = source.choice((2.0, 5.0, 40.0))
    for _ in range(count):
        a, b = (values[-1 - min(int(source.expovariate(1 / near)), len(values) - 1)] for _ in range(2))
        op = source.choice(("add", "multiply", "subtract", "divide", "sqrt", "maximum"))
        values.append(t.op(op, *(a, b)[: len(SIGNATURES[op])]))
    t.out((3,), values[-3:])
    t.out((2,), [values[0], values[-9]])
    return t.program()


@pytest.mark.parametrize("seed", range(24))
def test_passes_do_what_their_references_do(seed: int) -> None:
    count = (12, 40, 150, 700, 1500)[seed % 5]
    program = everything(seed, count) if seed % 3 == 0 else many_divisions(seed, count)
    outputs = (*program.stores, [v for v, _ in program.checks])
    steps = select_instructions(program.tape, outputs).steps
    reference = Walk(program, {op for op in program.ops if is_called(op)}).steps
    assert shown(steps) == reference
    steps, reference = ordered(steps), schedule(reference)
    assert shown(steps) == reference
    source = random.Random(seed)
    barriers = sorted(source.randrange(len(steps)) - source.choice((0.6, 0.1, -0.1)) for _ in range(len(steps) // 9))
    kept = {step.value for step in reference if source.random() < 0.1}
    found = allocate_registers(steps, 2, kept, barriers)
    expected = allocate(reference, kept, program.consts, barriers)
    assert found.reads == {place: register for place, (register, _) in expected.items()}
    assert found.reads
    for (t, v), (register, was_put) in expected.items():
        made = next((k for k, step in enumerate(reference) if step.value == v), -1)
        puts = register in found.puts.get(made, [])
        assert puts if was_put else any((register, v) in some for k, some in found.loads.items() if k <= t)


def two_steps() -> Steps:
    steps = empty_steps(OPERATIONS)
    steps.add("multiply", 2, (0, 1))
    steps.add("add", 3, (ACCUMULATOR, 0))
    return steps


def test_a_step_reads_each_value_once() -> None:
    steps = empty_steps(OPERATIONS)
    steps.add("subtract_multiply", 7, (ACCUMULATOR, 5, 5), {5})
    (step,) = steps
    assert (step.name, step.value, step.args, step.reads) == ("subtract_multiply", 7, (ACCUMULATOR, 5, 5), (5,))
    assert steps.forms() == [("subtract_multiply", "ann", (0, 1, 1))]


def test_forms_tell_what_is_the_same_and_where_it_is() -> None:
    steps = empty_steps(OPERATIONS)
    for args in [(0, 1), (2, 2), (3, 4), (ACCUMULATOR, 1), (5, 6), (5, 5)]:
        steps.add("multiply", 10, args, {6})
    steps.add("sin", 11, (0,))
    assert steps.forms() == [
        ("multiply", "mm", ()),
        ("multiply", "mm", (0, 0)),
        ("multiply", "am", ()),
        ("multiply", "mn", ()),
        ("sin", None, (0,)),
    ]


def test_no_step_comes_after_the_passes_began() -> None:
    for begin in (Steps.forms, Allocation, lambda steps: Writer(rational(3, 20).tape, {}, steps, 512, 64, 0)):
        steps = two_steps()
        begin(steps)
        with pytest.raises(ValueError, match="all steps before"):
            steps.add("negative", 4, (3,))


def test_values_outside_a_program_are_refused() -> None:
    program = rational(3, 20)
    count = program.tape.count
    for value in (-1, count, 2**31 - 1, 2**40):
        with pytest.raises((IndexError, OverflowError)):
            select_instructions(program.tape, [(value,)])
    steps = two_steps()
    writer = Writer(program.tape, program.consts, steps, 512, 64, OPCODES["save"])
    for value in (-1, count, 2**40):
        for ask in (writer.put, writer.at, writer.bring, lambda v: writer.read([v]), lambda v: writer.will_read([v])):
            with pytest.raises(IndexError):
                ask(value)
    with pytest.raises(ValueError, match="steps 0 to 3 of 2"):
        writer.run(0, 3)
    with pytest.raises(ValueError, match="steps 0 to 2 of 2"):
        writer.run(0, 2)  # whose forms are not known
    forms = steps.forms()
    with pytest.raises(ValueError, match="form 0 of 0"):
        writer.run(0, 2)
    writer.know([(0, -1, [(2, False)])] * len(forms))
    with pytest.raises(ValueError, match="no operand 2"):
        writer.run(0, 2)
    with pytest.raises(ValueError, match="registers of other steps"):
        writer.use(allocate_registers(two_steps(), 2, (), ()), (0, 0), (0, 0))
    with pytest.raises(IndexError):
        steps[2]
    with pytest.raises(ValueError, match="expected at least 4"):
        steps.times(3)


def damaged(program: Program, source: random.Random) -> Program:
    """Return a program that says something else in up to three places."""
    ops, args, consts = list(program.ops), list(program.args), dict(program.consts)
    stores = [list(store) for store in program.stores]
    for _ in range(source.randrange(1, 4)):
        i, kind = source.randrange(len(ops)), source.randrange(6)
        number = source.choice((-1, 0, i, i + 1, len(ops), 2**31 - 1, -(2**31), 2**40))
        if kind == 0:
            ops[i] = source.choice([*SIGNATURES, "load", "const"])
        elif kind == 1 and args[i]:
            args[i] = (*args[i][:-1], number)
        elif kind == 2:
            args[i] = (*args[i], *[max(i - 1, 0)] * source.choice((1, 2, 13, 16)))
        elif kind == 3:
            args[i] = args[i][1:]
        elif kind == 4:
            consts.pop(source.choice(list(consts)), None)
        else:
            stores[0][0] = number
    return replace(program, ops=tuple(ops), args=tuple(args), consts=consts, stores=tuple(map(tuple, stores)))


def test_programs_that_are_none_are_refused_or_written() -> None:
    source = random.Random(0)
    refused = 0
    for seed in range(300):
        program = damaged(everything(seed % 7, 40), source)
        try:
            assemble(program, Target(8), brief=seed % 2 == 0, columns=seed % 3 == 0)
        except REFUSED:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("brief", [True, False])
def test_an_operation_takes_few_bytes(brief: bool) -> None:
    program = rational(17, 30_000)
    assert program.tape.count > 30_000
    tracemalloc.start()
    try:
        code = assemble(program, Target(8), brief=brief)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(program.ops) + 8 * len(code.code)


def test_words_may_be_any_sequence() -> None:
    program = rational(5, 60)
    code = assemble(program, native_target())
    assert not code.functions
    results = []
    for words in (code.code, list(code.code)):
        machine = Machine(code.lanes, False, words, code.numbers, code.vectors, code.rows, (), code.checks)
        sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
        call = NativeCall(machine.address, [machine.argument], code.lanes, code.workspace // 64, *sizes, False, machine)
        results.append(blank(program, 9))
        call.run(samples(program, 9), results[-1], 9)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_load_that_is_there_twice_is_found() -> None:
    t = Tape(("x", (3,)))
    a, b, again = t.load(0, 0), t.load(0, 2), t.load(0, 0)
    t.out((2,), [t.op("multiply", again, b), again])
    found = select_instructions(t.program().tape, t.program().stores)
    assert found.first is not None
    assert found.first.tolist() == [a, b, a, 3]
    assert found.loads() == {0: {0: a, 2: b}}
    assert [step.args for step in found.steps] == [(a, b)]
