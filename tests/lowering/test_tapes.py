"""Tapes of operations, beside dictionaries and tuples that do the same one operation at a time."""

from __future__ import annotations

import pickle
import random
from array import array
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symdiff._kernels.programs.sums import count_uses, renumber, sums_to_search
from symdiff._kernels.programs.tape import Tape
from symdiff._kernels.programs.views import Operands, Operations, tape_of, unpacked
from symdiff.lowering import unroll
from symdiff.lowering.builder import ProgramBuilder
from symdiff.lowering.program import CODES, OPERATIONS, SIGNATURES

ARITIES = [2, 0, *map(len, SIGNATURES.values())]
SMALL = ("add", "subtract", "multiply", "divide", "negative", "sin", "fma", "where", "hyp2f1")


def drawn(seed: int, count: int, names: tuple[str, ...] = SMALL) -> tuple[list[str], list[tuple[int, ...]]]:
    """Return random operations, each of those there are at most once."""
    draw = random.Random(seed)
    ops, args = ["load", "load", "const"], [(0, 0), (0, 1), ()]
    known = {("load", (0, 0)), ("load", (0, 1))}
    while len(ops) < count:
        op = draw.choice(names)
        near = [draw.randrange(max(0, len(ops) - 12), len(ops)) for _ in SIGNATURES[op]]
        if (op, tuple(near)) not in known:
            known.add((op, tuple(near)))
            ops.append(op)
            args.append(tuple(near))
    return ops, args


@given(st.integers(0, 10**9))
@settings(max_examples=30)
def test_equal_operations_are_one_value(seed: int) -> None:
    draw = random.Random(seed)
    tape, known = Tape(OPERATIONS), dict[tuple[str, tuple[int, ...]], int]()
    for element in range(3):
        known["load", (0, element)] = tape.value(CODES["load"], (0, element))
    for _ in range(400):
        op = draw.choice(SMALL)
        args = tuple([draw.randrange(tape.count) for _ in SIGNATURES[op]])
        before = tape.known(CODES[op], args)
        assert before == known.get((op, args), -1)
        if len(args) == 2:
            found = tape.two(CODES[op], *args)
        else:
            found = tape.one(CODES[op], *args) if len(args) == 1 else tape.value(CODES[op], args)
        assert found == known.setdefault((op, args), len(known))
    assert tape.count == len(known)
    assert [(OPERATIONS[tape.code(v)], tape.args(v)) for v in range(tape.count)] == list(known)
    for v, (_, args) in enumerate(known):
        assert tuple([tape.operand(v, k) for k in range(len(args))]) == args
    assert sum(tape.tally()) == tape.count


def test_a_closed_tape_is_read_and_not_added_to() -> None:
    tape = tape_of(OPERATIONS, ["load", "sin"], [(0, 0), (0,)])
    tape.close()
    assert tape.args(1) == (0,)
    with pytest.raises(ValueError, match="closed"):
        tape.one(CODES["cos"], 0)


def test_numbers_are_told_apart_by_their_owner() -> None:
    tape = Tape(OPERATIONS)
    assert [tape.const(), tape.const()] == [0, 1]
    assert tape.code(1) == CODES["const"]


@given(st.integers(0, 10**9))
@settings(max_examples=30)
def test_what_is_needed_is_ordered_as_a_recursion_does(seed: int) -> None:
    ops, args = drawn(seed, 120)
    roots = random.Random(seed).sample(range(len(ops)), 4)
    order: list[int] = []

    def visit(v: int) -> None:
        if v not in order:
            for a in args[v] if ops[v] != "load" else ():
                visit(a)
            order.append(v)

    for root in roots:
        visit(root)
    tape, place = tape_of(OPERATIONS, ops, args).ordered(array("i", roots))
    assert [place[v] for v in order] == list(range(len(order)))
    assert all(place[v] == -1 for v in {*range(len(ops))} - {*order})
    assert list(Operations(tape)) == [ops[v] for v in order]
    expected = [args[v] if ops[v] == "load" else tuple([order.index(a) for a in args[v]]) for v in order]
    assert list(Operands(tape)) == expected


@given(st.integers(0, 10**9))
@settings(max_examples=30)
def test_sums_with_a_common_factor_are_all_found(seed: int) -> None:
    builder = ProgramBuilder(10**6)
    draw = random.Random(seed)
    values = [builder.emit("load", 0, k) for k in range(6)] + [builder.number(2.5), builder.number(3.0)]
    for _ in range(150):
        values.append(builder.apply(draw.choice(SMALL[:4]), [draw.choice(values[-20:]) for _ in range(2)]))
    roots = array("i", [v for v in draw.sample(values, 4) if v >= 0])
    uses, inside = count_uses(builder.tape, roots, unroll._IS_SUM)
    expected = [0] * builder.tape.count
    for root in roots:
        expected[root] += 1
    for v in reversed(range(builder.tape.count)):
        if expected[v] and OPERATIONS[builder.tape.code(v)] != "load":
            for a in builder.tape.args(v):
                expected[a] += 1
    assert list(uses) == expected
    found = sums_to_search(builder.tape, uses, inside, unroll._KINDS, unroll._LONGEST)
    sums = unroll._Sums(builder, uses)
    shared = [
        v
        for v in range(len(uses))
        if uses[v] and unroll._IS_SUM[builder.tape.code(v)] and not inside[v] and sums.search(v) is not None
    ]
    assert shared == found


def test_values_are_made_again_with_new_operands() -> None:
    tape = tape_of(OPERATIONS, ["load", "load", "add", "sin", "multiply"], [(0, 0), (0, 1), (0, 1), (2,), (3, 0)])
    new = array("i", [0, 1, 2, 3, 4])
    new[2] = 1
    renumber(tape, 3, 5, array("i", [1] * 5), new)
    assert [(OPERATIONS[tape.code(v)], tape.args(v)) for v in new[3:]] == [("sin", (1,)), ("multiply", (5, 0))]


@given(st.integers(0, 10**9), st.data())
@settings(max_examples=40)
def test_bytes_come_back_and_damaged_ones_are_refused(seed: int, data: st.DataObject) -> None:
    ops, args = drawn(seed, 60)
    tape = tape_of(OPERATIONS, ops, args)
    codes, operands = tape.packed()
    again = unpacked(OPERATIONS, codes, operands, ARITIES)
    assert list(Operations(again)) == ops
    assert list(Operands(again)) == args
    broken = [bytearray(codes), bytearray(operands)]
    which = data.draw(st.integers(0, 1))
    broken[which][data.draw(st.integers(0, len(broken[which]) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 2))
    try:
        other = unpacked(OPERATIONS, bytes(broken[0]), bytes(broken[1][cut:]), ARITIES)
    except ValueError:
        return
    for v in range(other.count):  # what is taken is a tape
        assert other.code(v) == CODES["load"] or all(0 <= a < v for a in other.args(v))


def test_sequences_are_like_tuples() -> None:
    ops, args = drawn(3, 40)
    tape = tape_of(OPERATIONS, ops, args)
    names, operands = Operations(tape), Operands(tape)
    assert (len(names), len(operands)) == (40, 40)
    assert (names[-1], operands[-1], names[2:5], operands[::-7]) == (
        ops[-1],
        args[-1],
        tuple(ops[2:5]),
        tuple(args[::-7]),
    )
    same: list[object] = [tuple(ops), tuple(ops[1:]), 3]
    assert [names == other for other in same] == [True, False, False]
    assert "load" in names
    assert (names.index("const"), names.count("load")) == (2, 2)
    assert pickle.loads(pickle.dumps((names, operands))) == (tuple(ops), tuple(args))
    assert repr(names) == repr(tuple(ops))
    with pytest.raises(IndexError):
        names[40]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda tape: tape.code(-1),
        lambda tape: tape.code(3),
        lambda tape: tape.args(3),
        lambda tape: tape.operand(2, 2),
        lambda tape: tape.operand(0, -1),
        lambda tape: tape.ordered(array("i", [3])),
        lambda tape: count_uses(tape, array("i", [-1]), bytes(len(OPERATIONS))),
    ],
)
def test_values_that_are_not_there_are_refused(wrong: Callable[[Tape], object]) -> None:
    tape = tape_of(OPERATIONS, ["load", "load", "add"], [(0, 0), (0, 1), (0, 1)])
    with pytest.raises(IndexError):
        wrong(tape)


@pytest.mark.parametrize("args", [(0, 3), (-1, 0), (7, 0)])
def test_operands_are_earlier_values(args: tuple[int, int]) -> None:
    tape = tape_of(OPERATIONS, ["load", "load", "add"], [(0, 0), (0, 1), (0, 1)])
    with pytest.raises(ValueError, match="expected an earlier value"):
        tape.two(CODES["add"], *args)
    with pytest.raises(ValueError, match="expected an earlier value"):
        tape_of(OPERATIONS, ["load", "load", "const", "add"], [(0, 0), (0, 1), (), args])
    assert tape.count == 3
