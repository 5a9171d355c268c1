"""The embedded interpreter gives what native code gives, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from c_programs import grid, layouts, one_operation, rational, samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_reference import evaluate
from strategies import formulas, sample
from tape import Tape
from test_bytecode import dot

import symdiff
from symdiff._kernels.interpreter import SCALARS, VECTOR_FUNCTIONS, VECTORS, Machine
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.bytecode.assemble import WAITING, assemble
from symdiff.codegen.c.emit import Target, emit_c
from symdiff.errors import InternalError, SingularMatrixError
from symdiff.lowering.program import MASK_OPS, MAX_ORDER, SIGNATURES, Program
from symdiff.lowering.unroll import unroll
from symdiff.rewrite import inline
from symdiff.runtime.runners.programs import InterpreterRunner, NativeRunner, _address
from symdiff.runtime.toolchain.build import build
from symdiff.runtime.toolchain.load import function_address, native_target

Arrays = list[npt.NDArray[Any]]

TILE = VECTORS * native_target().lanes
#: Every instruction set of this machine, with and without its vector library.
TARGETS = {
    "native": native_target(),
    "without vector library": Target(native_target().lanes),
    "lanes 4": Target(min(native_target().lanes, 4)),
    "lanes 2": Target(2),
}


def interpreted(program: Program, target: Target, **options: Any) -> NativeCall:
    code = assemble(program, target, **options)
    single = options.get("single", False)
    functions = [SCALARS.get(name) or VECTOR_FUNCTIONS.get(name) or function_address(name) for name in code.functions]
    assert all(functions)
    machine = Machine(code.lanes, single, code.code, code.numbers, code.vectors, code.rows, functions, code.checks)
    return NativeCall(
        machine.address,
        [machine.argument],
        code.lanes,
        code.workspace // 64,
        [p.size for p in program.inputs],
        [p.size for p in program.outputs],
        options.get("reduce", False),
        machine,
        columns=options.get("columns", False),
        single=single,
        constant=options.get("constant", ()),
    )


def generated(program: Program, target: Target, **options: Any) -> NativeCall:
    source = emit_c(program, target, **options)
    library = build(source)
    sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
    return NativeCall(
        library.address,
        library.symbols,
        source.lanes,
        source.workspace,
        *sizes,
        source.reduce,
        library,
        columns=source.columns,
        single=source.single,
        constant=source.constant,
    )


def blank(program: Program, count: int, dtype: Any = np.float64) -> Arrays:
    return [np.full((count, *port.shape), 7.5, dtype) for port in program.outputs]


def assert_same_bits(got: Arrays, want: Arrays, message: str = "") -> None:
    """Compare all bits; of a NaN, which of its many patterns it is may differ."""
    for a, b in zip(got, want, strict=True):
        numbers = ~np.isnan(b)
        np.testing.assert_array_equal(np.isnan(a), ~numbers, err_msg=message)
        kind = np.int64 if a.dtype == np.float64 else np.int32
        np.testing.assert_array_equal(
            np.ascontiguousarray(a).view(kind)[numbers], np.ascontiguousarray(b).view(kind)[numbers], err_msg=message
        )


def compare(program: Program, x: Arrays, count: int, target: Target, **options: Any) -> None:
    dtype = np.float32 if options.get("single") else np.float64
    x = [a.astype(dtype) for a in x]
    rows = 1 if options.get("reduce") else count
    got, want = blank(program, rows, dtype), blank(program, rows, dtype)
    failed = generated(program, target, **options).run(x, want, count)
    assert interpreted(program, target, **options).run(x, got, count) == failed
    if failed is None:
        assert_same_bits(got, want, str(options))


def operations(arity: int) -> Program:
    """Every operation of so many operands, on the elements of a row; masks come from comparing with zero."""
    t = Tape(("x", (arity,)))
    loads = t.row(0)
    masks = [t.mask(v) for v in loads]
    values = []
    for op, kinds in SIGNATURES.items():
        if len(kinds) == arity and op not in MAX_ORDER:
            args = [masks[k] if kind == "mask" else loads[k] for k, kind in enumerate(kinds)]
            value = t.op(op, *args)
            values.append(t.op("to_real", value) if op in MASK_OPS else value)
    t.out((len(values),), values)
    return t.program()


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_every_operation_at_the_edges(arity: int, single: bool, target: Target) -> None:
    x = grid({1: "sin", 2: "add", 3: "fma"}[arity])
    with np.errstate(over="ignore"):
        compare(operations(arity), [x], len(x), target, single=single)


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("op", sorted(MAX_ORDER))
@pytest.mark.parametrize("order", [0.0, 1.0, 7.0])
def test_functions_with_an_order(op: str, order: float, single: bool) -> None:
    order = min(order, float(MAX_ORDER[op]))
    x = np.random.default_rng(0).uniform(-5, 5, (301, len(SIGNATURES[op])))
    compare(one_operation(op, order), [x], len(x), native_target(), single=single)


def everything(seed: int, count: int, inputs: int = 5, width: int = 11, shared: int = 3) -> Program:
    """A random program with every operation in it, values wanted once and often, constants, checks."""
    rng = np.random.default_rng(seed)
    t = Tape(("x", (inputs,)), ("s", ()), ("m", (2, 2)), ("p", (shared,)))
    reals = [*t.row(0), t.load(1), *t.row(2), *t.row(3), t.const(0.75), t.const(-1.5), t.const(0.0)]
    masks = [t.op("less", reals[0], reals[1])]
    usual = [op for op in SIGNATURES if op not in MAX_ORDER and op not in MASK_OPS]
    arithmetic = ("add", "subtract", "multiply", "divide", "negative", "where", "fma")
    for i in range(count):
        op = str(rng.choice(sorted(MASK_OPS) if i % 9 == 0 else usual if i % 4 == 0 else arithmetic))
        # the newest values most of all: this is what keeps the accumulator busy
        recent = [reals[-1 - min(int(rng.exponential(3)), len(reals) - 1)] for _ in range(max(3, len(SIGNATURES[op])))]
        args = [
            masks[rng.integers(len(masks))] if kind == "mask" else value
            for kind, value in zip(SIGNATURES[op], recent, strict=False)
        ]
        (masks if op in MASK_OPS else reals).append(t.op(op, *args))
        if i % 5 == 0:
            reals.append(t.op("arctan", reals[-1]))
    order = [t.const(2.0), t.op("tanh", reals[-1])]
    reals += [t.op("polygamma", *order), t.op("spherical_jn", *order)]
    pick = [reals[k] for k in rng.integers(0, len(reals), width)]
    t.out((width,), pick)
    t.out((), [reals[-1]])
    t.out((3, 8), [t.const(0.0)] * 9 + [reals[-2], *[t.const(0.25)] * 14])
    t.out((90,), [t.const(0.0)] * 40 + [reals[-2]] + [t.const(0.25)] * 49)  # runs, of no whole number of blocks
    t.out((2,), [t.load(0, 0), t.load(0, inputs - 1)])
    t.check(t.op("add", t.load(0, 0), t.const(4.0)), "x[0] is -4")
    t.check(t.op("add", t.load(0, 1), t.const(4.0)), "x[1] is -4")
    return t.program()


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("reduce", [False, True], ids=["each", "summed"])
def test_random_programs(target: Target, single: bool, columns: bool, reduce: bool) -> None:
    for seed, count, inputs, width in [(1, 60, 2, 5), (3, 300, 12, 40)]:
        program = everything(seed, count, inputs, width)
        n = 2 * TILE + 3
        x = samples(program, n, seed)
        x[0][5, 1], x[2][6, 0, 1], x[1][7] = np.nan, np.inf, -np.inf
        x[3] = x[3][:1]
        for constant in ((), (False, False, False, True)):
            options = {"single": single, "columns": columns, "reduce": reduce, "constant": constant}
            given = [np.asfortranarray(a) for a in x] if columns else x
            compare(program, given, n, target, **options)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(formula=formulas(), seed=st.integers(0, 100))
def test_random_formulas(formula: Any, seed: int) -> None:
    program = unroll(formula.inputs, inline(formula.roots))
    x = sample(formula.inputs, (70,) * len(formula.inputs), seed)
    want = blank(program, 70)
    NativeRunner(program).run(x, want, False)
    for brief in (False, True):
        got = blank(program, 70)
        InterpreterRunner(program, brief=brief).run(x, got, False)
        assert_same_bits(got, want)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_same_bits_in_any_batch_at_any_place(n: int, columns: bool) -> None:
    program = everything(5, 100)
    unit = interpreted(program, native_target(), columns=columns)
    x = samples(program, 5 * TILE)
    whole = blank(program, 5 * TILE)
    assert unit.run(x, whole, 5 * TILE) is None
    for begin in (0, 1, TILE - 3):
        part = blank(program, n)
        assert unit.run([a[begin : begin + n] for a in x], part, n) is None
        assert_same_bits(part, [a[begin : begin + n] for a in whole])


@pytest.mark.parametrize("n", [1, 9, TILE + 9])
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_every_layout(n: int, columns: bool) -> None:
    program = rational(5, 60)
    unit = interpreted(program, native_target(), columns=columns)
    x, want = samples(program, n), blank(program, n)
    unit.run(x, want, n)
    for name in layouts(x[0]):
        out = blank(program, n)
        unit.run([layouts(a)[name] for a in x], out, n)
        assert_same_bits(out, want, name)
        if name != "read-only":
            strided = [layouts(a)[name] for a in blank(program, n)]
            unit.run(x, strided, n)
            assert_same_bits(strided, want, name)


def test_nothing_outside_is_written() -> None:
    program = rational(5, 60)
    unit = interpreted(program, native_target())
    for n in (1, 7, 8, 9, 17, TILE, TILE + 1):
        around = [np.full((n + 2, *port.shape), 3.25) for port in program.outputs]
        unit.run(samples(program, n), [a[1:-1] for a in around], n)
        for a in around:
            np.testing.assert_array_equal(a[[0, -1]], np.full_like(a[[0, -1]], 3.25))


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 1024, 1025, 9001])
def test_sums_of_any_number_of_samples(n: int) -> None:
    program = rational(5, 60)
    for single in (False, True):
        compare(program, samples(program, n), n, native_target(), reduce=True, single=single)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_a_bit(threads: int) -> None:
    program = rational(5, 200)
    x = samples(program, 20_000)
    for reduce in (False, True):
        unit = interpreted(program, native_target(), reduce=reduce)
        alone, shared = blank(program, 1 if reduce else 20_000), blank(program, 1 if reduce else 20_000)
        unit.run(x, alone, 20_000, 1)
        unit.run(x, shared, 20_000, threads)
        assert_same_bits(shared, alone)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_a_chain_that_is_longer_than_what_is_loaded_at_once(target: Target, columns: bool) -> None:
    program = dot(100)
    x = samples(program, TILE + 9)
    compare(program, [np.asfortranarray(a) for a in x] if columns else x, TILE + 9, target, columns=columns)


def test_checks_tell_the_first_sample() -> None:
    program = rational(5, 60)
    runner = InterpreterRunner(program)
    x, out = samples(program, 2 * TILE), blank(program, 2 * TILE)
    runner.run(x, out, False)
    last = TILE + 41 % TILE
    x[0][last, 0] = x[0][13, 1] = -4.0
    with pytest.raises(SingularMatrixError, match=r"x\[1\] is -4") as caught:
        runner.run(x, out, False)
    assert caught.value.index == (13,)
    x[0][13, 1] = np.nan
    with pytest.raises(SingularMatrixError, match=r"x\[0\] is -4") as caught:
        runner.run(x, out, False)
    assert caught.value.index == (last,)
    with pytest.raises(SingularMatrixError) as caught:
        runner.run(x, [np.zeros((1, *port.shape)) for port in program.outputs], True)
    assert caught.value.index == (last,)


def test_more_outputs_than_wait_together() -> None:
    t = Tape(("x", (3 * WAITING,)))
    values = [t.op("multiply", v, v) for v in t.row(0)]
    t.out((3 * WAITING,), values)
    t.out((5000,), [t.const(0.0)] * 4000 + values[:300] + [t.const(1.0)] * 700)
    program = t.program()
    compare(program, samples(program, 70), 70, native_target())
    (x,) = samples(program, 3)
    got = blank(program, 3)
    InterpreterRunner(program).run([x], got, False)
    for i in range(3):
        for a, want in zip(got, evaluate(program, [x[i]]), strict=True):
            np.testing.assert_array_equal(a[i], want)


def test_numbers_are_kept_exactly() -> None:
    numbers = [0.0, -0.0, np.inf, -np.inf, 5e-324, 0.1, 1e300, -1 / 3]
    t = Tape(("x", ()))
    x = t.load(0)
    t.out((8,), [t.const(v) for v in numbers])
    t.out(
        (9,),
        [t.op("copysign", t.const(abs(v)), t.op("where", t.op("equal", x, x), t.const(v), x)) for v in numbers] + [x],
    )
    got = [np.empty((3, 8)), np.empty((3, 9))]
    interpreted(t.program(), native_target()).run([np.zeros(3)], got, 3)
    np.testing.assert_array_equal(got[0].view(np.int64), np.tile(numbers, (3, 1)).view(np.int64))
    np.testing.assert_array_equal(got[1][:, :-1].copy().view(np.int64), np.tile(numbers, (3, 1)).view(np.int64))


def test_ports_without_elements() -> None:
    t = Tape(("x", (0,)), ("y", (2, 0)))
    t.out((0,), [])
    t.out((), [t.const(2.0)])
    out = [np.empty((5, 0)), np.empty(5)]
    interpreted(t.program(), native_target()).run([np.empty((5, 0)), np.empty((5, 2, 0))], out, 5)
    np.testing.assert_array_equal(out[1], 2.0)


@pytest.mark.parametrize("size", [7, 128, 257, 387, 1600])
def test_programs_that_only_move(size: int) -> None:
    """All stores of a program without instructions are made."""
    x = np.arange(size, dtype=float)
    for text in ("x[::-1]", "concatenate([x[1:], x[:1]]) * 0 + x[0]", "concatenate([x[3:], x])"):
        out = np.full(2 * size - 3 if text.endswith("x])") else size, np.nan)
        symdiff.compile(text, x=size, backend="interpreter")(x, out=out)
        np.testing.assert_array_equal(out, symdiff.compile(text, x=size, backend="numpy")(x))


def test_a_function_that_the_interpreter_lacks_is_named() -> None:
    with pytest.raises(InternalError, match="the interpreter lacks sd_nothing"):
        _address("sd_nothing")
    assert _address("exp") > 0
