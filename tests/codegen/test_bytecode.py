from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symdiff._kernels.interpreter import OPCODES, VECTORS
from symdiff.codegen.bytecode.assemble import WAITING, assemble
from symdiff.codegen.bytecode.format import Bytecode
from symdiff.codegen.c.emit import Target
from symdiff.lowering.program import MAX_ORDER, SIGNATURES, Program
from symdiff.lowering.unroll import unroll
from symdiff.rewrite import inline
from tests.support.c_programs import rational, samples
from tests.support.machine import Machine, instructions
from tests.support.program_reference import evaluate
from tests.support.strategies import formulas, sample
from tests.support.tape import Tape

LANES = Target(8)
TILE = VECTORS * 8 * 8


def counts(code: Bytecode) -> Counter[str]:
    return Counter(name for name, _ in instructions(code))


def check(program: Program, code: Bytecode, count: int = 3) -> None:
    """Compare the code, run by its reference implementation, with the program, run by its own."""
    for i, row in enumerate(zip(*samples(program, count), strict=True)):
        machine = Machine(program, code)
        got = machine.run(list(row))
        for a, b in zip(got, evaluate(program, list(row)), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=str(i))
        for operand, (value, _) in zip(code.checks, program.checks, strict=True):
            assert machine.at(operand) == evaluate_value(program, value, list(row))


def evaluate_value(program: Program, value: int, row: list[Any]) -> float:
    t = Program(program.inputs, (), program.ops, program.args, program.consts, (), ())
    shown = Tape()
    shown.out((), [value])
    return float(evaluate(Program(t.inputs, tuple(shown.outputs), t.ops, t.args, t.consts, ((value,),)), row)[0])


@pytest.mark.parametrize(("inputs", "count"), [(2, 20), (3, 40), (5, 60), (8, 100), (17, 600)])
def test_code_does_what_the_program_says(inputs: int, count: int) -> None:
    program = rational(inputs, count)
    check(program, assemble(program, LANES))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(formula=formulas(), seed=st.integers(0, 100))
def test_random_formulas(formula: Any, seed: int) -> None:
    program = unroll(formula.inputs, inline(formula.roots))
    row = [a[0] for a in sample(formula.inputs, (1,) * len(formula.inputs), seed)]
    got = Machine(program, assemble(program, LANES)).run(row)
    for a, b in zip(got, evaluate(program, row), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_operation_has_an_instruction_or_a_function() -> None:
    t = Tape(("x", (max(map(len, SIGNATURES.values())),)))
    x = t.row(0)
    mask = t.op("less", x[0], x[1])
    values = []
    for op, kinds in SIGNATURES.items():
        args = [mask if kind == "mask" else x[k] for k, kind in enumerate(kinds)]
        if op in MAX_ORDER:
            args[0] = t.const(1.0)
        value = t.op(op, *args)
        values.append(t.op("to_real", value) if t.ops[value] in ("logical_and", "logical_or", "logical_not") else value)
        if t.ops[value] in ("less", "less_equal", "equal", "not_equal"):
            values[-1] = t.op("to_real", value)
    t.out((len(values),), values)
    code = assemble(t.program(), LANES)
    assert set(code.functions) >= {"exp", "sin", "mod", "digamma", "polygamma", "power"}
    vector = Target(8, "_ZGVe", frozenset(("_ZGVeN8v_tan", "_ZGVeN8vv_atan2")))
    functions = set(assemble(t.program(), vector).functions)
    own = {f"do_{name}_d8" for name in ("exp", "log", "sin", "cos", "power")}
    assert {"_ZGVeN8v_tan", "_ZGVeN8vv_atan2", "log10"} | own < functions
    single = assemble(t.program(), vector, single=True).functions
    assert "_ZGVeN16v_tanf" not in single
    assert "exp" in single  # our own is of float64


def test_a_sum_of_products_stays_in_the_accumulator() -> None:
    t = Tape(("a", (6,)), ("b", (6,)))
    a, b = t.row(0), t.row(1)
    total = t.op("multiply", a[0], b[0])
    for p, q in zip(a[1:], b[1:], strict=True):
        total = t.op("add", total, t.op("multiply", p, q))
    t.out((), [total])
    program = t.program()
    code = assemble(program, LANES)
    check(program, code)
    assert counts(code) == {
        **{"rows4": 2, "rows2": 2, "multiply_mm": 1, "add_multiply_amm": 5, "to_number": 1},
        **{"ask_rows": 7, "end": 1},
    }


def dot(size: int) -> Program:
    t = Tape(("a", (size,)), ("b", (size,)))
    a, b = t.row(0), t.row(1)
    total = t.op("multiply", a[0], b[0])
    for p, q in zip(a[1:], b[1:], strict=True):
        total = t.op("add", total, t.op("multiply", p, q))
    t.out((), [total])
    return t.program()


def test_a_long_chain_is_kept_while_inputs_are_brought() -> None:
    program = dot(200)
    code = assemble(program, LANES)
    check(program, code)
    assert counts(code)["save"] == counts(code)["load"] > 10
    assert code.workspace <= 80 * TILE


def test_what_is_asked_for_ahead_covers_all_that_is_moved() -> None:
    t = Tape(("x", (20,)), ("s", ()))
    x = t.row(0)
    t.out((3,), [t.op("add", x[0], t.load(1)), t.op("negative", x[1]), t.op("negative", x[2])])
    asked = [words for name, words in instructions(assemble(t.program(), LANES)) if name == "ask_rows"]
    # one line of each row of 20, eight lines of numbers, and rows of three without gaps
    assert asked == [[0, 0, 0], [0, 0, 16], [0, 0, 32], [0, 0, 48], [1, 0, 0], [-1, 0, 0], [-1, 0, 16]]
    columns = assemble(t.program(), LANES, columns=True)
    assert [words for name, words in instructions(columns) if name == "ask_column"] == [
        *([0, 0], [0, 1], [0, 2]),
        *([-1, 0], [-1, 1], [-1, 2]),
    ]


def test_the_order_of_operands_is_kept() -> None:
    t = Tape(("x", (4,)))
    a, b, c, d = t.row(0)
    product = t.op("multiply", a, b)
    t.out((), [t.op("subtract", product, t.op("multiply", c, d))])
    t.out((), [t.op("subtract", t.op("multiply", c, c), t.op("negative", d))])
    t.out((), [t.op("divide", t.op("add", a, d), t.op("sqrt", t.op("abs", b)))])
    t.out((), [t.op("divide", t.op("sqrt", t.op("abs", c)), t.op("subtract", a, d))])
    program = t.program()
    check(program, assemble(program, LANES))


def test_memory_is_used_again() -> None:
    t = Tape(("x", (8,)))
    values = t.row(0)
    for i in range(2000):
        values.append(t.op("add" if i % 2 else "multiply", values[-1], values[-3]))
    t.out((), [values[-1]])
    program = t.program()
    code = assemble(program, LANES)
    assert code.workspace <= 16 * TILE
    check(program, code, 1)


def test_what_nobody_wants_is_neither_loaded_nor_computed() -> None:
    t = Tape(("x", (40,)), ("y", (3,)))
    loads = t.row(0)
    t.op("sin", loads[3])
    t.op("multiply", t.load(1, 0), t.load(1, 1))
    t.out((), [t.op("add", loads[17], loads[18])])
    code = assemble(t.program(), LANES)
    assert counts(code) == {"rows2": 1, "add_mm": 1, "to_number": 1, "ask_rows": 5, "end": 1}
    assert code.workspace <= 3 * TILE


def test_what_is_loaded_twice_is_one_value() -> None:
    t = Tape(("x", (2,)))
    t.out((3,), [t.op("multiply", t.load(0, 1), t.load(0, 1)), t.load(0, 0), t.load(0, 0)])
    program = t.program()
    code = assemble(program, LANES)
    assert counts(code)["rows2"] == 1
    check(program, code)


def test_numbers_and_rows_are_kept_once() -> None:
    t = Tape(("x", ()))
    x = t.load(0)
    doubled = t.op("multiply", x, t.const(2.0))
    t.out((), [t.op("add", doubled, t.const(2.0))])
    t.out((800,), [t.const(0.0)] * 400 + [t.const(-0.0)] * 400)
    program = t.program()
    code = assemble(program, LANES)
    assert len(code.numbers) == 0
    assert len(code.vectors) == 1
    assert len(code.rows) == 16
    assert len(code.code) < 40
    check(program, code)


def test_few_values_wait_to_be_stored() -> None:
    t = Tape(("x", (4000,)))
    t.out((4000,), [t.op("negative", v) for v in t.row(0)])
    program = t.program()
    code = assemble(program, LANES)
    assert code.workspace <= (WAITING + 64) * TILE
    check(program, code, 1)


@pytest.mark.parametrize("size", range(1, 24))
def test_rows_of_every_length(size: int) -> None:
    t = Tape(("x", (size,)))
    t.out((size,), [t.op("negative", v) for v in t.row(0)])
    t.out((size,), t.row(0)[::-1])
    program = t.program()
    check(program, assemble(program, LANES))
    some = Tape(("x", (size,)))
    some.out((), [some.op("negative", some.load(0, size - 1))])
    check(some.program(), assemble(some.program(), LANES))


def test_columns_and_shared_inputs_have_instructions_of_their_own() -> None:
    t = Tape(("x", (3,)), ("s", ()), ("p", (2,)))
    x, s, p = t.row(0), t.load(1), t.row(2)
    t.out((2,), [t.op("add", x[0], s), t.op("multiply", x[2], p[1])])
    program = t.program()
    plain = counts(assemble(program, LANES, columns=True))
    assert (plain["column"], plain["rows1"], plain["to_column"], plain["columns"], plain["stores"]) == (3, 1, 2, 0, 0)
    shared = counts(assemble(program, LANES, constant=(False, False, True)))
    assert (shared["rows1"], shared["rows3"], shared["shared"]) == (1, 1, 1)
    summed = counts(assemble(program, LANES, reduce=True))
    assert (summed["to_sum"], summed["sums"], summed["stores"]) == (2, 0, 0)


def test_length_of_code_is_linear() -> None:
    lengths = [len(assemble(rational(17, n), LANES).code) for n in (4000, 8000, 16000)]
    assert lengths[2] - lengths[1] < 2.2 * (lengths[1] - lengths[0])


def test_opcodes_are_numbered_from_zero() -> None:
    assert sorted(OPCODES.values()) == list(range(len(OPCODES)))
