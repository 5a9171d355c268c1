"""The embedded interpreter gives what native code gives, bit by bit, and shares its functions."""

from __future__ import annotations

import math
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import special

import symdiff
from symdiff._kernels.interpreter import OPCODES, SCALARS, VECTOR_FUNCTIONS, VECTORS, Machine
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.bytecode.assemble import WAITING, assemble
from symdiff.codegen.c.emit import Target, emit_c
from symdiff.codegen.c.spelling import _IN_HALVES
from symdiff.errors import InternalError, SingularMatrixError
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.lowering.program import MASK_OPS, MAX_ORDER, SIGNATURES, Program
from symdiff.lowering.unroll import unroll
from symdiff.rewrite import inline
from symdiff.runtime.runners.programs import InterpreterRunner, NativeRunner, _address
from symdiff.runtime.toolchain.build import build
from symdiff.runtime.toolchain.load import function_address, native_target
from tests.codegen.test_bytecode import dot
from tests.support.c_programs import COMPILERS, grid, layouts, one_operation, rational, samples
from tests.support.program_reference import evaluate
from tests.support.strategies import formulas, sample
from tests.support.tape import Tape

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


@pytest.mark.rows(1)
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


@pytest.mark.rows(1)
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


@pytest.mark.exhaustive
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


# ---------------------------------------------------------------------------- interpreter functions
# Texts that interpreter and generated code share: every compiler takes them, and functions are right to a digit.


KERNELS = Path(symdiff.__file__).parent / "_kernels"


#: Headers that others include for each kind of vector, with names that only these define.
PARTS = {"vector.h", "special_vectors.h", "transpose.h", "vectors.h", "machine.h", "convert.h", "listed.h"}
PARTS |= {"kind.h", "tiles.h", "factorizations.h", "gemm_kernels.h"}


#: Texts that generated code has without any #include: what stands before them.
BEFORE = {"incomplete.h": ("special.h",), "tails.h": ("special.h", "error.h", "incomplete.h")}


HEADERS = [path for path in sorted(KERNELS.glob("*/*.h")) if path.name not in PARTS]


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_compiler_takes_the_headers(compiler: str, header: Path) -> None:
    # Each names the processor's instructions in its own way; the package is built by one of them only.
    # A header includes what it needs, and no other includes it in turn.
    warnings = ["-Wall", "-Wextra", "-Wno-unused", "-Werror", "-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION"]
    folders = [f"-isystem{folder}" for folder in (sysconfig.get_path("include"), np.get_include())]
    before = [f"-include{header.with_name(name)}" for name in BEFORE.get(header.name, ())]
    command = [compiler, "-x", "c", "-fsyntax-only", "-O2", *warnings, *folders, *before, str(header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_machine_for_every_width() -> None:
    for lanes, single in [(2, False), (4, True), (native_target().lanes, False), (2 * native_target().lanes, True)]:
        assert Machine(lanes, single, [OPCODES["end"]], [], [], [], [], []).address
    with pytest.raises(ValueError, match="vectors of 3 numbers"):
        Machine(3, False, [OPCODES["end"]], [], [], [], [], [])


def edges_of_exp() -> npt.NDArray[np.float64]:
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 709.782712893384, 709.782712893385, -745.1332191, -745.1332192]
    edges += [-708.3, -708.4, -744.5, 710.0, -746.0, 1e300, -1e300, 1e17, -1e17, np.finfo(float).max, 5e-324, 1e-300]
    return np.array(edges)


def edges_of_log() -> npt.NDArray[np.float64]:
    middle = [np.nextafter(v, w) for v in (0.75, 1.0, 1.5, 2.0**-1022) for w in (0.0, 9.0)]
    return np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1.0, 2.0, 0.5, 5e-324, -5e-324, 1e308, *middle])


def edges_of_tanh() -> npt.NDArray[np.float64]:
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 3e-310, 1e-160, -1e-8, 19.0, 19.1, -20.0, 1e300]
    return np.array([*edges, *(np.nextafter(sign * 0.7, w) for sign in (-1, 1) for w in (-9, 0, 9))])


def edges_of_angles() -> npt.NDArray[np.float64]:
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -3e-310, 1e-160, -1e-8, 2.0**20, -(2.0**20), 1e22, -1e300]
    turns = np.arange(1, 200) * (np.pi / 2)  # where what is left of the angle is small
    return np.concatenate([edges, turns, -turns, np.nextafter(turns, 0), np.nextafter([2.0**20, -(2.0**20)], 9e9)])


#: Lanes from which on functions are our own, where that is not 4, and errors in the last place, where not 1.1.
LEAST, ERROR = {"sin": 8, "cos": 8}, {"sin": 1.5, "cos": 1.5}


@pytest.mark.parametrize(
    ("op", "edges", "ranges"),
    [
        ("sin", edges_of_angles(), ((-1e-7, 1e-7), (-0.8, 0.8), (-4, 4), (-100, 100), (-1e6, 1e6), (-1e9, 1e9))),
        ("cos", edges_of_angles(), ((-1e-7, 1e-7), (-0.8, 0.8), (-4, 4), (-100, 100), (-1e6, 1e6), (-1e9, 1e9))),
        ("tanh", edges_of_tanh(), ((-1e-7, 1e-7), (-0.4, 0.4), (0.5, 0.9), (-3, 3), (-22, 22))),
        ("exp", edges_of_exp(), ((-0.4, 0.4), (-30, 30), (-745.2, 709.8), (-746, -708))),
        ("log", edges_of_log(), ((0.7, 0.8), (0.9, 1.1), (1.4, 1.6), (0, 10), (0, 1e300), (0, 1e-307))),
    ],
)
def test_our_own_functions_of_every_width(op: str, edges: Any, ranges: Any) -> None:
    t = Tape(("x", ()))
    t.out((), [t.op(op, t.load(0))])
    program = t.program()
    rng = np.random.default_rng(0)
    x = np.concatenate([edges, *(rng.uniform(low, high, 2000) for low, high in ranges)])
    with np.errstate(all="ignore"):
        exact = getattr(np, op)(x.astype(np.longdouble))
        want = exact.astype(float)
    first: npt.NDArray[np.float64] | None = None
    for lanes, prefix in ((4, "_ZGVd"), (8, "_ZGVe")):
        if native_target().lanes < lanes or lanes < LEAST.get(op, 4):
            continue
        target = Target(lanes, prefix)
        assert f"NAME(do_{op})" in emit_c(program, target).text
        for make in (interpreted, generated):
            out = np.zeros(len(x))
            assert make(program, target).run([x], [out], len(x)) is None
            np.testing.assert_allclose(out[: len(edges)], want[: len(edges)], rtol=3e-16)
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(out[numbers]), np.signbit(want[numbers]))
            if np.finfo(np.longdouble).nmant > 60:
                inner = np.isfinite(out)
                off = (out[inner] - exact[inner]) / np.spacing(np.abs(want[inner]))
                assert float(np.max(np.abs(off))) < ERROR.get(op, 1.1)
            first = out if first is None else first
            np.testing.assert_array_equal(out, first)


@pytest.mark.parametrize("op", sorted(_IN_HALVES - {"power"}))
def test_our_own_functions_of_float32_are_those_of_float64_rounded(op: str) -> None:
    t = Tape(("x", ()))
    order = [t.const(1.0)] * (FUNCTIONS[op].arity - 1)
    t.out((), [t.op(op, *order, t.load(0))])
    program = t.program()
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -3.0, 1e-45, -1e-45, 1e38, -1e38, 0.5, 34.5, 35.5]
    x = np.concatenate([edges, *(rng.uniform(low, high, 501) for low, high in ((-1, 2), (-9, 9), (0, 40), (0, 1e-30)))])
    x = x.astype(np.float32)
    for lanes, prefix in ((4, "_ZGVd"), (8, "_ZGVe")):
        if native_target().lanes < lanes:
            continue
        target = Target(lanes, prefix)
        double, single = np.zeros(len(x)), np.zeros(len(x), np.float32)
        assert interpreted(program, target).run([x.astype(float)], [double], len(x)) is None
        with np.errstate(over="ignore"):
            want = double.astype(np.float32)
        for make in (interpreted, generated):
            assert make(program, target, single=True).run([x], [single], len(x)) is None
            np.testing.assert_array_equal(single, want)


def _quantile(p: Any, near: float) -> Any:
    """The normal quantile by Newton's iteration from a value that has most digits."""
    x = mp.mpf(near)
    for _ in range(3):
        x -= (mp.erfc(-x / mp.sqrt(2)) / 2 - p) * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
    return x


def _erfcx(x: Any, near: float) -> Any:
    if x < 25:
        return mp.exp(x * x) * mp.erfc(x)
    return sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(20)) / (x * mp.sqrt(mp.pi))


def _ierfcx(x: Any, near: float) -> Any:
    """The function of order 1: by its continued fraction far out, where two terms cancel."""
    if x < 25:
        with mp.extradps(20):
            return 1 / mp.sqrt(mp.pi) - x * _erfcx(x, near)
    quotient = mp.mpf(0)
    for k in range(40, 0, -1):
        quotient = 1 / (2 * (x + (k + 1) * quotient))
    return quotient * 2 / mp.sqrt(mp.pi) / (2 * (x + quotient))


def _slope_of_log_ndtr(x: Any, near: float) -> Any:
    return mp.sqrt(2 / mp.pi) / _erfcx(-x / mp.sqrt(2), near)


def _second_slope_of_log_ndtr(x: Any, near: float) -> Any:
    h, z = _slope_of_log_ndtr(x, near), -x / mp.sqrt(2)
    return -h * (x + h) if x > -1 else -h * mp.sqrt(2) * _ierfcx(z, near) / _erfcx(z, near)


def _tiny(low: float, high: float) -> tuple[str, float, float]:
    return ("log10", low, high)


#: What docs/design.md states: errors in units of the last place, everywhere in the domain; of derivatives by order.
STATED: dict[str, Any] = {
    "lgamma": (
        lambda x, y: mp.loggamma(x),
        5,
        (_tiny(-300, -1), (0, 0.5), (0.5, 2.5), (0.98, 1.02), (1.98, 2.02), (2, 9), _tiny(1, 305)),
    ),
    "digamma": (lambda x, y: mp.digamma(x), 8, (_tiny(-300, -1), (0, 1), (1, 2), (1.46, 1.463), (2, 9), _tiny(1, 300))),
    "gamma": (lambda x, y: mp.gamma(x), 6, (_tiny(-300, -1), (0, 0.5), (0.5, 2.5), (2.5, 9), (7, 171.6))),
    "erfcx": (_erfcx, 7, (_tiny(-300, 0), (0, 1), (1, 30), _tiny(1, 300), (-1, 0), (-26.6, -1))),
    "ndtri": (_quantile, 7, (_tiny(-323, -20), _tiny(-20, -1), (0, 1), (0.07, 0.08), (0.49, 0.51), (0.99, 1))),
    "erfinv": (lambda x, y: _quantile((1 + x) / 2, y * 2**0.5) / mp.sqrt(2), 7, (_tiny(-20, -2), (-1, 1), (0.99, 1))),
    "erfcinv": (
        lambda x, y: -_quantile(x / 2, -y * 2**0.5) / mp.sqrt(2),
        7,
        (_tiny(-323, -308), _tiny(-300, -1), (0, 2), (0.99, 1.01)),
    ),
    "ierfcx 1": (_ierfcx, 7, (_tiny(-300, 0), (0, 1), (1, 30), _tiny(1, 150), (-1, 0), (-26.6, -1))),
    "log_ndtr_derivative 1": (_slope_of_log_ndtr, 7, ((-1, 1), (-40, -1), (1, 37), _tiny(-300, 0))),
    "log_ndtr_derivative 2": (_second_slope_of_log_ndtr, 10, ((-1, 1), (-40, -1), (1, 37), _tiny(-300, 0))),
}


@pytest.mark.rows(2)
@pytest.mark.parametrize("stated", STATED)
def test_functions_of_distributions_keep_the_error_that_is_stated(stated: str) -> None:
    (reference, bound, ranges), (op, _, order) = STATED[stated], stated.partition(" ")
    rng = np.random.default_rng(3)
    drawn = [10 ** rng.uniform(*r[1:], 60) if r[0] == "log10" else rng.uniform(*r, 60) for r in ranges]
    edges = [0.0, -0.0, 1.0, 2.0, 0.5, -0.5, -1.0, -2.0, -2.5, 5e-324, 1e-310, 7.5, 1.25, 171.6, 172.0, 1e300, np.inf]
    edges += [-np.inf, np.nan, np.nextafter(1, 0), np.nextafter(7.5, 0), 0.075, 0.925, -27.0]
    x = np.concatenate([*drawn, edges])
    t = Tape(("x", ()))
    t.out((), [t.op(op, *([t.const(float(order))] if order else []), t.load(0))])
    program = t.program()
    numbers = np.zeros(len(x))  # by the function of numbers, which two lanes take
    assert generated(program, Target(2)).run([x], [numbers], len(x)) is None
    out = _of_every_width(op, program, x)
    normal = (np.abs(x) > 1e-300) | (op != "erfcinv")  # SciPy's takes half of the argument, which loses digits
    np.testing.assert_allclose(out[normal], numbers[normal], rtol=3e-13, atol=1e-15 if op == "digamma" else 0)
    inner = np.concatenate(drawn)
    with mp.workdps(40):
        for at, got in zip(inner.tolist(), out.tolist(), strict=False):
            want = reference(mp.mpf(at), got)
            assert abs(mp.mpf(got) - want) <= bound * np.spacing(abs(float(want))), (at, got)


def _of_every_width(op: str, program: Program, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Results of our own function of vectors, the same bits from each machine and generated code."""
    first: npt.NDArray[np.float64] | None = None
    for lanes, prefix in ((4, "_ZGVd"), (8, "_ZGVe")):
        if native_target().lanes < lanes:
            continue
        target = Target(lanes, prefix)
        assert f"SLOW V NAME(do_{op})" in emit_c(program, target).text
        for make in (interpreted, generated):
            out = np.zeros(len(x))
            assert make(program, target).run([x], [out], len(x)) is None
            first = out if first is None else first
            np.testing.assert_array_equal(out, first)
    if first is None:
        pytest.skip("functions of vectors are our own from four lanes on")
    return first


_SCALED = {"i": lambda x: mp.exp(-abs(x)), "k": mp.exp}
#: What docs/design.md states of Bessel functions: units of the last place of the value, or of the size of the waves.
BESSEL = {"j0_near": 8, "j1_near": 8, "y0_near": 12, "y1_near": 12, **dict.fromkeys(("i0", "i1", "i0e", "i1e"), 8)}
BESSEL |= dict.fromkeys(("k0", "k1", "k0e", "k1e"), 10)


@pytest.mark.rows(3)
@pytest.mark.parametrize("op", BESSEL)
def test_bessel_functions_keep_the_error_that_is_stated(op: str) -> None:
    kind, order = op[0], int(op[1])
    rng = np.random.default_rng(5)
    waves = kind in "jy"
    ranges = [(0, 1), (1, 2.1), (2, 8), (7.9, 12.1), (11.9, 40), (40, 700), *[(700, 1e5), (1e6, 1e8)] * waves]
    drawn = np.concatenate([10 ** rng.uniform(-300, -1, 60), *(rng.uniform(*r, 60) for r in ranges)])
    edges = [5e-324, 1e-310, 0.0, -0.0, 2.0, 8.0, 12.0, 704.9, 709.0, 714.1, 720.0, 745.0, 750.0, 1e300, np.inf, np.nan]
    t = Tape(("x", ()))
    t.out((), [t.op(op, t.load(0))])
    x = np.concatenate([drawn, -drawn, edges])
    out = _of_every_width(op, t.program(), x)
    named = {"j": mp.besselj, "y": mp.bessely, "i": mp.besseli, "k": mp.besselk}[kind]
    count = len(drawn)
    with mp.workdps(40):
        for at, got in zip(drawn.tolist(), out.tolist(), strict=False):
            want = named(order, mp.mpf(at)) * (_SCALED[kind](mp.mpf(at)) if op.endswith("e") else 1)
            wave = min(1.0, math.sqrt(2 / math.pi / at)) if waves and at > 0.5 else 0.0
            size = np.spacing(max(abs(float(want)), wave))
            assert abs(mp.mpf(got) - want) <= BESSEL[op] * size or abs(float(want)) > 1.79e308, (at, got)
    parity = 1.0 if (kind, order) in {("j", 0), ("i", 0)} else -1.0
    mirrored = parity * out[:count] if kind in "ji" else np.full(count, np.nan)
    np.testing.assert_array_equal(out[count : 2 * count], mirrored)
    scipy = getattr(special, op.removesuffix("_near"))
    with np.errstate(all="ignore"):
        known = scipy(edges)
    known[-2] = np.inf if op in {"i0", "i1"} else known[-2]  # nan in SciPy
    ordinary = (np.array(edges) < 1e9) | ~np.isfinite(edges)
    ordinary &= ~(np.isnan(known) & ~np.isnan(edges))
    np.testing.assert_allclose(out[2 * count :][ordinary], known[ordinary], rtol=1e-12, atol=1e-14 if waves else 5e-324)


def test_powers_have_the_error_that_is_stated_and_the_edges_of_c() -> None:
    t = Tape(("x", ()), ("y", ()))
    t.out((), [t.op("power", t.load(0), t.load(1))])
    program = t.program()
    rng = np.random.default_rng(4)
    edges = np.array([0.0, 1.0, np.inf, np.nan, 2.0, 0.5, 3.0, 5e-324, 1e-310, 2.0**-1022, 1e308, 2.0**53, 2.0**53 + 2])
    edges = np.concatenate([edges, -edges, np.nextafter([1.0, 1.0, 0.75, 1.5], [0.0, 2.0, 0.0, 2.0])])
    corners = [each.ravel() for each in np.meshgrid(edges, edges)]
    bases = [rng.uniform(0.1, 5, 200), 1 + rng.uniform(-1, 1, 200) * 10 ** rng.uniform(-15, -1, 200)]
    bases += [10 ** rng.uniform(-323, 308, 200), -rng.uniform(0.1, 20, 200), rng.uniform(0.7, 1.5, 200)]
    with np.errstate(all="ignore"):
        bound = rng.uniform(-745, 709.7, (5, 200)) / np.log(np.abs(bases))
    exponents = [rng.uniform(-3, 3, 200), bound[1], bound[2], rng.integers(-9, 9, 200).astype(float), bound[4]]
    x, y = (np.concatenate(parts) for parts in ((*bases, corners[0]), (*exponents, corners[1])))
    with np.errstate(all="ignore"):
        want = np.array([_c_power(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    first: npt.NDArray[np.float64] | None = None
    for lanes, prefix in ((4, "_ZGVd"), (8, "_ZGVe")):
        if native_target().lanes < lanes:
            continue
        target = Target(lanes, prefix)
        assert "SLOW V NAME(do_power)" in emit_c(program, target).text
        for make in (interpreted, generated):
            out = np.zeros(len(x))
            assert make(program, target).run([x, y], [out], len(x)) is None
            np.testing.assert_allclose(out, want, rtol=3e-16)
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(out[numbers]), np.signbit(want[numbers]))
            first = out if first is None else first
            np.testing.assert_array_equal(out, first)
        with mp.workdps(40):
            for a, b, got in zip(x[:1000].tolist(), y[:1000].tolist(), out.tolist(), strict=False):
                exact = mp.mpf(a) ** mp.mpf(b) if math.isfinite(b) else mp.nan
                if math.isfinite(got) and mp.isfinite(exact):
                    assert abs(mp.mpf(got) - exact) <= 0.95 * np.spacing(abs(float(exact))), (a, b)


def test_powers_of_float32_are_rounded_from_float64() -> None:
    t = Tape(("x", ()), ("y", ()))
    t.out((), [t.op("power", t.load(0), t.load(1))])
    program = t.program()
    rng = np.random.default_rng(6)
    edges = np.array([0.0, 1.0, np.inf, np.nan, 2.0, 0.5, 3.0, 1e-45, 1e-38, 3e38, 2.0**24, 16777217.0, 0.75, 1.5])
    corners = [each.ravel() for each in np.meshgrid(np.concatenate([edges, -edges]), np.concatenate([edges, -edges]))]
    bases = [rng.uniform(0.1, 5, 900), 10 ** rng.uniform(-45, 38, 900), 1 + rng.normal(size=900) * 1e-4]
    bases += [-rng.uniform(0.1, 9, 900)]
    with np.errstate(all="ignore"):
        bound = rng.uniform(-104, 89, (3, 900)) / np.log(np.abs(bases[1:]))
    exponents = [rng.uniform(-3, 3, 900), bound[0], bound[1], np.round(rng.uniform(-9, 9, 900))]
    x, y = (np.concatenate(each).astype(np.float32) for each in ((*bases, corners[0]), (*exponents, corners[1])))
    first: npt.NDArray[np.float32] | None = None
    for lanes, prefix in ((4, "_ZGVd"), (8, "_ZGVe")):
        if native_target().lanes < lanes:
            continue
        for make in (interpreted, generated):
            out = np.zeros(len(x), np.float32)
            assert make(program, Target(lanes, prefix), single=True).run([x, y], [out], len(x)) is None
            with np.errstate(all="ignore"):
                want = np.array([_c_power(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
                rounded = want.astype(np.float32)
                size = np.spacing(np.abs(rounded)).astype(float)
            inner = np.isfinite(rounded)
            assert np.all(np.abs(out[inner] - want[inner]) <= 0.51 * size[inner])
            np.testing.assert_array_equal(out[~inner], rounded[~inner])
            np.testing.assert_array_equal(np.signbit(out[inner]), np.signbit(rounded[inner]))
            first = out if first is None else first
            np.testing.assert_array_equal(out, first)


def _c_power(x: float, y: float) -> float:
    """The power as C has it: NumPy's has its own vectors."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        if x:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


@pytest.mark.parametrize("count", [3, 40, 1500])
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_sines_and_cosines_of_one_angle(count: int, columns: bool) -> None:
    # One function computes both, wherever they stand; the interpreter has them apart.
    rng = np.random.default_rng(count)
    t = Tape(("x", (3,)), ("y", ()))
    angles = [*t.row(0), t.load(1)]
    values = [t.op("sin", angles[0]), t.op("cos", angles[0]), *(t.op("cos", a) for a in angles[1:])]
    for _ in range(count):
        a, b = (values[-1 - min(int(rng.exponential(3)), len(values) - 1)] for _ in range(2))
        values.append(t.op(str(rng.choice(["add", "multiply", "subtract"])), a, b))
        if len(values) % 9 == 0:
            angle = angles[rng.integers(len(angles))] if rng.integers(2) else t.op("abs", values[-1])
            order = ["sin", "cos"] if rng.integers(2) else ["cos", "sin"]
            values += [t.op(op, angle) for op in order]
    t.out((7,), [*values[:5], *values[-2:]])
    program = t.program()
    assert "=do_sin_cos(" in emit_c(program, Target(8, "_ZGVe"), columns=columns).text
    assert "=do_sin_cos(" not in emit_c(program, Target(4, "_ZGVd"), columns=columns).text
    n = 2 * TILE + 3
    x = [rng.normal(size=(n, 3)) * 5, rng.normal(size=n)]
    x[0][4, 1], x[0][9], x[1][7] = np.nan, 1e30, -np.inf
    for reduce in (False, True):
        given = [np.asfortranarray(a) for a in x] if columns else x
        compare(program, given, n, native_target(), columns=columns, reduce=reduce)
