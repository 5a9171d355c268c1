from __future__ import annotations

from collections.abc import Iterable

import pytest

from symdiff._kernels.programs.steps import Instruction, Steps
from symdiff.codegen.bytecode.assemble import ACCUMULATOR, schedule, select_instructions
from symdiff.lowering.program import Program
from tests.support.c_programs import rational
from tests.support.tape import Tape


def selected(program: Program) -> Steps:
    outputs = (*program.stores, [v for v, _ in program.checks])
    return select_instructions(program.tape, outputs, frozenset(("sin",))).steps


def steps(program: Program) -> list[Instruction]:
    return list(selected(program))


def shown(found: Iterable[Instruction]) -> list[tuple[str, int, tuple[int, ...]]]:
    return [(step.name, step.value, step.args) for step in found]


def verify(found: Iterable[Instruction], program: Program) -> None:
    """Check that every step reads what is there, and in the accumulator what its operation wants."""
    there = {i for i, op in enumerate(program.ops) if op in ("load", "const")}
    held = ACCUMULATOR
    for step in found:
        assert set(step.reads) <= there
        assert ACCUMULATOR not in step.reads
        read = [held if v == ACCUMULATOR else v for v in step.args]
        inner = program.args[step.value]
        if len(step.args) > len(inner):
            assert set(read) <= {*inner, *(w for v in inner for w in program.args[v])}
        else:
            assert sorted(read) == sorted(inner)
        held = step.value
        there.add(held)


def test_a_product_wanted_once_is_taken_along() -> None:
    t = Tape(("x", (4,)))
    a, b, c, d = t.row(0)
    total = t.op("subtract", t.op("multiply", a, b), t.op("multiply", c, d))
    t.out((), [total])
    assert shown(steps(t.program())) == [("multiply", 4, (a, b)), ("subtract_multiply", total, (ACCUMULATOR, c, d))]


def test_what_nobody_wants_is_no_step() -> None:
    t = Tape(("x", (2,)))
    a, b = t.row(0)
    t.op("sin", a)
    t.out((), [t.op("add", a, b)])
    assert shown(steps(t.program())) == [("add", 3, (a, b))]


def test_functions_take_nothing_from_the_accumulator() -> None:
    t = Tape(("x", ()))
    square = t.op("multiply", t.load(0), t.load(0))
    t.out((), [t.op("negative", t.op("sin", square))])
    assert [step.args for step in steps(t.program())[1:]] == [(square,), (ACCUMULATOR,)]


def test_of_three_operands_one_is_in_the_accumulator() -> None:
    t = Tape(("x", (2,)))
    a, b = t.row(0)
    double = t.op("add", a, a)
    t.out((), [t.op("fma", b, double, a)])
    assert steps(t.program())[-1].args == (ACCUMULATOR, b, a)
    t = Tape(("x", (2,)))
    a, b = t.row(0)
    double = t.op("add", a, a)
    t.out((), [t.op("fma", double, double, b)])
    assert steps(t.program())[-1].args == (double, double, b)


@pytest.mark.rows(1)
@pytest.mark.parametrize("seed", range(5))
def test_every_order_reads_what_was_computed(seed: int) -> None:
    program = rational(6, 200, seed)
    verify(steps(program), program)
    divided = Program(
        program.inputs,
        program.outputs,
        tuple(["divide" if op == "maximum" else op for op in program.ops]),
        program.args,
        program.consts,
        program.stores,
        program.checks,
    )
    found = selected(divided)
    ordered = schedule(found)
    verify(ordered, divided)
    assert shown(ordered) != shown(found)
    assert sorted(shown(ordered)) == sorted(shown(found))


def test_divisions_have_other_work_between_them() -> None:
    t = Tape(("x", (8,)))
    x = t.row(0)
    sums = [t.op("add", t.op("multiply", x[k], x[k]), x[7 - k]) for k in range(8)]
    t.out((8,), sums)
    t.out((4,), [t.op("divide", x[k], x[k + 1]) for k in range(4)])
    names = [step.name for step in schedule(selected(t.program()))]
    assert "divide divide" not in " ".join(names[:-1])
    assert names[0] == "divide"


def test_without_divisions_the_order_is_kept() -> None:
    t = Tape(("x", (8,)))
    x = t.row(0)
    t.out((7,), [t.op("multiply", x[k], x[k + 1]) for k in range(7)])
    found = selected(t.program())
    assert shown(schedule(found)) == shown(found)
