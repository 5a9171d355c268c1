from __future__ import annotations

import itertools
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from orders import in_order
from program_reference import evaluate
from tape import Tape

import symdiff as sd
from symdiff._kernels.functions import special
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.bytecode.assemble import assemble
from symdiff.codegen.c.body import HELD
from symdiff.codegen.c.emit import CHUNK, Target, emit_c
from symdiff.codegen.c.standalone import emit_standalone
from symdiff.errors import BuildError, SingularMatrixError, UnsupportedError
from symdiff.frontend.formula import read_formula
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.lowering import unroll
from symdiff.lowering.program import MASK_OPS, MAX_ORDER, SIGNATURES, Program
from symdiff.runtime.runners.interpreter import InterpreterRunner
from symdiff.runtime.runners.native import NativeRunner
from symdiff.runtime.toolchain.build import build, find_compiler, flags
from symdiff.runtime.toolchain.machine import native_target
from symdiff.simplify import inline, simplify

Floats = npt.NDArray[np.float64]

EDGES = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, -1e-300, 1e-20),
        *(0.5, -0.5, 1.0, -1.0, np.nextafter(1, 0), np.nextafter(1, 2), 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0),
        *(30.0, -30.0, 170.5, 709.7, 709.8, -708.0, 710.4, -745.1, -746.0, 1023.9, 1024.0, -1074.0, -1075.5),
        *(
            2.0**52,
            2.0**53,
            -(2.0**52) + 0.5,
            1e10,
            -1e10,
            1e15,
            1e22,
            -1e22,
            1e154,
            1e300,
            -1e300,
            np.finfo(float).max,
        ),
    ]
)
#: Operations rounded correctly: every bit is the same, the sign of zero too.
EXACT = {
    *("add", "subtract", "multiply", "divide", "negative", "sqrt", "abs", "floor", "ceil", "rint", "trunc", "sign"),
    *("minimum", "maximum", "copysign", "mod", "where", "to_real", "fraction", "exponent", *MASK_OPS),
}
TARGETS = {
    "native": native_target(),
    "lanes 8 without vector library": Target(8) if native_target().lanes == 8 else Target(2),
    "lanes 4": Target(4) if native_target().lanes >= 4 else Target(2),
    "lanes 2": Target(2),
}
#: Every compiler of this machine, under any of its usual names.
COMPILERS = [name for name in ("gcc", "clang", *(f"clang-{n}" for n in range(11, 25))) if shutil.which(name)] or ["cc"]


def call(program: Program, target: Target, *, reduce: bool = False) -> NativeCall:
    source = emit_c(program, target, reduce=reduce)
    library = build(source)
    sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
    return NativeCall(library.address, library.symbols, source.lanes, source.workspace, *sizes, reduce, library)


def one_operation(op: str, order: float | None = None) -> Program:
    """Apply ``op`` to the elements of a row; masks come from comparing with zero."""
    kinds = SIGNATURES[op]
    t = Tape(("x", (len(kinds),)))
    loads = t.row(0)
    args = [t.mask(v) if kind == "mask" else v for v, kind in zip(loads, kinds, strict=True)]
    if order is not None:
        args[0] = t.const(order)
    value = t.op(op, *args)
    t.out((), [t.op("to_real", value) if op in MASK_OPS else value])
    return t.program()


def grid(op: str) -> Floats:
    count = len(SIGNATURES[op])
    if count == 1:
        rng = np.random.default_rng(1)
        spread = [rng.uniform(-3, 3, 100), rng.uniform(-700, 700, 100), 10 ** rng.uniform(-300, 300, 100)]
        return np.concatenate([EDGES, *spread])[:, None]
    few = EDGES if count == 2 else EDGES[::5]
    return np.array(list(itertools.product(few, repeat=count)))


def run(program: Program, x: Floats, target: Target) -> Floats:
    out = np.full(len(x), 7.0)
    assert call(program, target).run([x], [out], len(x)) is None
    return out


def reference(program: Program, x: Floats) -> Floats:
    return np.array([evaluate(program, [row])[0] for row in x]).reshape(len(x))


def ulps(got: Floats, want: Floats) -> Floats:
    """Distance in units of the last place of ``want``; inf where kinds differ."""
    with np.errstate(all="ignore"):
        distance = np.abs(got - want) / np.spacing(np.maximum(np.abs(want), 5e-324))
    special_values = ~(np.isfinite(got) & np.isfinite(want))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    distance[special_values] = np.inf
    distance[same] = 0
    return distance


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("op", sorted(EXACT))
def test_exact_operations_at_the_edges(op: str, target: Target) -> None:
    program, x = one_operation(op), grid(op)
    got, want = run(program, x, target), reference(program, x)
    np.testing.assert_array_equal(got, want)
    if op not in ("minimum", "maximum"):  # of 0 and -0 either may come
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


@pytest.mark.parametrize("op", sorted(set(SIGNATURES) - set(MAX_ORDER)))
def test_a_lane_does_not_see_its_neighbours(op: str) -> None:
    program, x = one_operation(op), grid(op)
    order = np.random.default_rng(7).permutation(len(x))
    straight, mixed = run(program, x, native_target()), run(program, x[order], native_target())
    numbers = ~np.isnan(straight[order])
    np.testing.assert_array_equal(np.isnan(mixed), ~numbers)
    np.testing.assert_array_equal(mixed[numbers].view(np.int64), straight[order][numbers].view(np.int64))


def mathematical() -> list[str]:
    own = {row.c for row in FUNCTIONS.values() if row.special or row.library}
    return sorted(set(SIGNATURES) - EXACT - own - {"fma", "gamma", "lgamma"})


@pytest.mark.parametrize("target", [TARGETS["native"], TARGETS["lanes 2"]], ids=["native", "lanes 2"])
@pytest.mark.parametrize("op", mathematical())
def test_functions_at_the_edges(op: str, target: Target) -> None:
    # The vector library promises 4 units in the last place, and NumPy's own functions too.
    program, x = one_operation(op), grid(op)
    got, want = run(program, x, target), reference(program, x)
    distance = ulps(got, want)
    worst = int(np.argmax(distance))
    assert distance[worst] <= 8, f"{op}{tuple(x[worst])}: {got[worst]!r}, expected {want[worst]!r}"
    zero = (want == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got)[zero], np.signbit(want)[zero])


EXACTLY: dict[str, Any] = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}


@pytest.mark.parametrize("op", [op for op in mathematical() if len(SIGNATURES[op]) == 1])
def test_functions_at_fifty_digits(op: str) -> None:
    low, high = FUNCTIONS[op].domain[0]
    x = np.random.default_rng(2).uniform(low, high, 200)
    got = run(one_operation(op), x[:, None], native_target())
    function = EXACTLY.get(op) or getattr(mpmath, op)
    with mpmath.workdps(50):
        for number, value in zip(x, got, strict=True):
            want = function(mpmath.mpf(float(number)))
            assert abs(float((mpmath.mpf(float(value)) - want) / np.spacing(abs(float(want))))) <= 4.5


@pytest.mark.parametrize(("op", "bound"), [("gamma", 12.0), ("lgamma", 12.0)])
def test_gamma_functions(op: str, bound: float) -> None:
    x = np.append(np.random.default_rng(3).uniform(0.1, 30, 200), [170.5, 171.5])
    got = run(one_operation(op), x[:, None], native_target())
    with mpmath.workdps(50):
        for number, value in zip(x, got, strict=True):
            want = (mpmath.gamma if op == "gamma" else mpmath.loggamma)(mpmath.mpf(float(number)))
            assert abs(float((mpmath.mpf(float(value)) - want) / np.spacing(abs(float(want))))) <= bound
    edges = np.array([0.0, 1.0, 2.0, np.inf, np.nan])
    one = 1.0 if op == "gamma" else 0.0
    edge_values = run(one_operation(op), edges[:, None], native_target())
    np.testing.assert_array_equal(edge_values, [np.inf, one, one, np.inf, np.nan])


@pytest.mark.parametrize("order", [0, 1, 2, 3, 10, 40, 100])
def test_polygamma_at_fifty_digits(order: int) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate(
        [rng.uniform(0, 3, 40), rng.uniform(0, 60, 40), -rng.uniform(0, 9, 40), [1.4616321449683622, 1e5]]
    )
    if order == 0:
        got = run(one_operation("digamma"), x[:, None], native_target())
    else:
        padded = np.column_stack([x, x])
        got = run(one_operation("polygamma", float(order)), padded, native_target())
    np.testing.assert_array_equal(got, special.polygamma(order, x))
    with mpmath.workdps(300):
        want = np.array([float(mpmath.polygamma(order, mpmath.mpf(float(v)))) for v in x])
    np.testing.assert_allclose(got, want, rtol=2e-14, atol=5e-15 if order == 0 else 0)


def test_polygamma_at_the_poles() -> None:
    x = np.array([0.0, -0.0, -1.0, -2.0, np.inf, -np.inf, np.nan, -1e300])
    inf, nan = np.inf, np.nan
    np.testing.assert_array_equal(special.digamma(x), [-inf, inf, nan, nan, inf, nan, nan, nan])
    np.testing.assert_array_equal(special.polygamma(1, x), [inf, inf, inf, inf, 0, nan, nan, inf])
    np.testing.assert_array_equal(special.polygamma(2, x), [-inf, inf, nan, nan, 0, nan, nan, nan])
    with pytest.raises(UnsupportedError, match="orders 0 to 100"):
        special.polygamma(101, 1.0)


@pytest.mark.parametrize("order", [0, 1, 2, 5, 20, 100])
def test_spherical_bessel_at_fifty_digits(order: int) -> None:
    rng = np.random.default_rng(5)
    x = np.concatenate(
        [rng.uniform(-4, 4, 40), rng.uniform(0, order + 1, 40), rng.uniform(0, 90, 40), [0.0, 1e-9, 200.0]]
    )
    got = run(one_operation("spherical_jn", float(order)), np.column_stack([x, x]), native_target())
    np.testing.assert_array_equal(got, special.spherical_jn(order, x))
    with mpmath.workdps(50):
        for number, value in zip(x, got, strict=True):
            z = mpmath.mpf(float(abs(number)))
            want = mpmath.mpf(order == 0)
            if z:
                want = mpmath.sqrt(mpmath.pi / (2 * z)) * mpmath.besselj(order + 0.5, z)
            sign = -1 if number < 0 and order % 2 else 1
            scale = abs(want) if z <= order + 1 else 1 / z
            assert abs(sign * want - float(value)) <= 1e-14 * scale + 1e-300
    np.testing.assert_array_equal(special.spherical_jn(order, [np.inf, -np.inf, np.nan]), [0, 0, np.nan])


def test_fma_rounds_once() -> None:
    x = np.random.default_rng(6).uniform(-2, 2, (100, 3))
    x[:, 2] = -x[:, 0] * x[:, 1]
    for target in TARGETS.values():
        got = run(one_operation("fma"), x, target)
        with mpmath.workdps(60):
            want = [float(mpmath.fsum([mpmath.mpf(a) * mpmath.mpf(b), c])) for a, b, c in x.tolist()]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("op", ["sqrt", "fma"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_instructions_by_every_compiler(
    compiler: str, op: str, target: Target, single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each compiler has names of its own for these; lane by lane they would be many times slower.
    monkeypatch.setenv("CC", compiler)
    program = one_operation(op)
    source = emit_c(program, target, single=single)
    library = build(source)
    sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
    unit = NativeCall(
        library.address, library.symbols, source.lanes, source.workspace, *sizes, False, library, single=single
    )
    kind = np.float32 if single else np.float64
    x: Any = np.random.default_rng(3).uniform(0.1, 2, (100, program.inputs[0].size)).astype(kind)
    got: Any = np.full(100, np.nan, kind)
    assert unit.run([x], [got], 100) is None
    with mpmath.workdps(60):
        exact: dict[str, Any] = {"sqrt": mpmath.sqrt, "fma": lambda a, b, c: mpmath.mpf(a) * b + c}
        want = [float(exact[op](*row)) for row in x.astype(float).reshape(100, -1).tolist()]
    np.testing.assert_array_equal(got, np.array(want, kind))


def rational(inputs: int, count: int, seed: int = 0) -> Program:
    """Random arithmetic, exact in any order of evaluation of a sample, with masks and a check in it."""
    rng = np.random.default_rng(seed)
    t = Tape(("x", (inputs,)), ("s", ()), ("m", (2, 3)))
    values = [*t.row(0), t.load(1), *t.row(2), t.const(0.75), t.const(-1.5)]
    masks = []
    for i in range(count):
        a, b = (values[k] for k in rng.integers(max(0, len(values) - 300), len(values), 2))
        if i % 50 == 7:
            masks.append(t.op("less", a, b))
        if i % 50 == 49:
            values.append(t.op("where", masks[rng.integers(len(masks))], a, b))
        else:
            values.append(t.op(("add", "subtract", "minimum", "maximum")[i % 4], a, b))
        if i % 25 == 3:
            values.append(t.op("multiply", values[-1], t.const(0.5)))
    t.out((3, 5), [values[-k] for k in range(1, 16)])
    t.out((), [values[2]])
    t.out((7,), [values[k] for k in (0, -1, inputs + 8, 3, -2, inputs + 7, 1)])
    t.check(t.op("add", values[0], t.const(4.0)), "x[0] is -4")
    t.check(t.op("add", values[1], t.const(4.0)), "x[1] is -4")
    return t.program()


def samples(program: Program, count: int, seed: int = 0) -> list[Floats]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, (count, *port.shape)) for port in program.inputs]


def results(program: Program, count: int) -> list[Floats]:
    return [np.full((count, *port.shape), np.nan) for port in program.outputs]


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize(("inputs", "count"), [(2, 20), (3, 40), (5, 60), (8, 100), (17, 2 * CHUNK + 700)])
def test_rows_of_any_width(inputs: int, count: int, target: Target) -> None:
    program = rational(inputs, count)
    n = 2 * target.lanes + 1
    x, out = samples(program, n), results(program, n)
    assert call(program, target).run(x, out, n) is None
    for i in range(n):
        for got, want in zip(out, evaluate(program, [a[i] for a in x]), strict=True):
            np.testing.assert_array_equal(got[i], want)


@pytest.mark.parametrize("count", [100, 2 * CHUNK + 200])
def test_same_bits_in_any_batch_at_any_place(count: int) -> None:
    t = Tape(("x", (3,)))
    values = t.row(0)
    for i in range(count):
        op = ("sin", "add", "exp", "multiply", "tanh", "subtract", "digamma", "power")[i % 8]
        a, b = t.op("abs", values[-1]), values[-2]
        values.append(t.op(op, *(t.op("tanh", v) if op == "exp" else v for v in (a, b)[: len(SIGNATURES[op])])))
    t.out((4,), values[-4:])
    program = t.program()
    run_call = call(program, native_target())
    (x,) = samples(program, 40)
    x[5, 0], x[6, 1], x[7, 2] = np.nan, np.inf, 1e300
    whole = np.empty((40, 4))
    run_call.run([x], [whole], 40)
    for begin, end in [(0, 1), (5, 6), (39, 40), (1, 8), (3, 20), (7, 40), (0, 39)]:
        part = np.empty((end - begin, 4))
        run_call.run([x[begin:end]], [part], end - begin)
        np.testing.assert_array_equal(part.view(np.int64), whole[begin:end].view(np.int64))


def layouts(a: Floats) -> dict[str, Floats]:
    """Lay out the same numbers in every way NumPy has."""
    wide = np.full((2 * a.shape[0], *a.shape[1:], 2), np.nan)
    wide[::2, ..., 0] = a
    backwards = np.ascontiguousarray(a[::-1])[::-1]
    reversed_rows = np.ascontiguousarray(a[..., ::-1])[..., ::-1] if a.ndim > 1 else backwards
    frozen = a.copy()
    frozen.flags.writeable = False
    return {
        "C": a.copy(),
        "Fortran": np.asfortranarray(a),
        "strided": wide[::2, ..., 0],
        "backwards": backwards,
        "reversed rows": reversed_rows,
        "read-only": frozen,
    }


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 64, 1000])
def test_every_layout(n: int) -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    x, want = samples(program, n), results(program, n)
    run_call.run(x, want, n)
    for name in layouts(x[0]):
        out = results(program, n)
        run_call.run([layouts(a)[name] for a in x], out, n)
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=name)
        if name == "read-only":
            continue
        out = [layouts(a)[name] for a in results(program, n)]
        run_call.run(x, out, n)
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=name)


def test_nothing_outside_is_written() -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    for n in (1, 7, 8, 9, 17):
        x = samples(program, n)
        around = [np.full((n + 2, *port.shape), 3.25) for port in program.outputs]
        run_call.run(x, [a[1:-1] for a in around], n)
        for a in around:
            np.testing.assert_array_equal(a[[0, -1]], np.full_like(a[[0, -1]], 3.25))


def test_inputs_without_a_batch_axis() -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    n = 21
    x = samples(program, n)
    for alone in range(3):
        y = [a[:1] if k == alone else a for k, a in enumerate(x)]
        full = [np.repeat(a[:1], n, axis=0) if k == alone else a for k, a in enumerate(x)]
        out, want = results(program, n), results(program, n)
        run_call.run(y, out, n)
        run_call.run(full, want, n)
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_single_precision_is_computed_in_double() -> None:
    program = rational(5, 60)
    run_call = call(program, native_target())
    x = [a.astype(np.float32) for a in samples(program, 300)]
    out = [a.astype(np.float32) for a in results(program, 300)]
    want = results(program, 300)
    run_call.run(x, out, 300)
    run_call.run([a.astype(np.float64) for a in x], want, 300)
    for got, expected in zip(out, want, strict=True):
        np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("count", [60, 2 * CHUNK + 200])
def test_checks_tell_the_first_sample(count: int) -> None:
    program = rational(5, count)
    runner = NativeRunner(program)
    x, out = samples(program, 50), results(program, 50)
    runner.run(x, out, False)
    x[0][41, 0] = x[0][13, 1] = -4.0
    with pytest.raises(SingularMatrixError, match=r"x\[1\] is -4") as caught:
        runner.run(x, out, False)
    assert caught.value.index == (13,)
    x[0][13, 1] = np.nan
    with pytest.raises(SingularMatrixError, match=r"x\[0\] is -4") as caught:
        runner.run(x, out, False)
    assert caught.value.index == (41,)
    x[0][41, 0], x[0][49, 0] = 0.0, -4.0
    with pytest.raises(SingularMatrixError) as caught:
        runner.run(x, [np.zeros((1, *port.shape)) for port in program.outputs], True)
    assert caught.value.index == (49,)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_a_check_sees_every_lane(target: Target) -> None:
    program = rational(5, 60)
    run_call, out = call(program, target), results(program, 32)
    for k in range(32):
        x = samples(program, 32)
        x[0][k, 0] = -4.0
        found = run_call.run(x, out, 32)
        assert found is not None
        assert found[0] == k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_check_sees_every_lane_of_a_dtype(dtype: Any) -> None:
    A = sd.matrix("A", 1, 1)
    compute = sd.compile(sd.inv(A), [A], batch=[A], backend="native")
    for k in range(64):
        a = np.ones((64, 1, 1), dtype)
        a[k] = 0.0
        with pytest.raises(SingularMatrixError) as caught:
            compute(a)
        assert caught.value.index == (k,)


def summed(program: Program, x: list[Floats], target: Target | None = None) -> list[Floats]:
    out = [np.full((1, *port.shape), np.nan) for port in program.outputs]
    n = max(len(a) for a in x)
    call(program, target or native_target(), reduce=True).run(x, out, n)
    return [a[0] for a in out]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000, 1024, 1025, 5000, 9001])
def test_sums_in_a_in_order(n: int) -> None:
    program = rational(5, 60)
    x, rows = samples(program, n), results(program, n)
    call(program, native_target()).run(x, rows, n)
    for got, row in zip(summed(program, x), rows, strict=True):
        np.testing.assert_array_equal(got, in_order(row, native_target().lanes))
    for got, again in zip(summed(program, x), summed(program, [np.asfortranarray(a) for a in x]), strict=True):
        np.testing.assert_array_equal(got, again)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("outputs", [1, 2, 4, 5, 8, 9])
def test_sums_in_registers_and_in_memory_have_one_order(outputs: int, target: Target) -> None:
    t = Tape(("x", ()), ("y", (2,)))
    x, (y, z) = t.load(0), t.row(1)
    t.out((outputs,), [t.op("add", t.op("multiply", x, t.const(0.5 + k)), (y, z)[k % 2]) for k in range(outputs)])
    program = t.program()
    assert (",acc);" in emit_c(program, target, reduce=True).text) == (outputs <= HELD[target.lanes])
    for n in (0, 1, target.lanes, 3 * target.lanes, 3 * target.lanes + 1, 1023, 2500):
        given, rows = samples(program, n), results(program, n)
        call(program, target).run(given, rows, n)
        np.testing.assert_array_equal(summed(program, given, target)[0], in_order(rows[0], target.lanes))


def test_sums_of_a_long_program() -> None:
    program = rational(5, 2 * CHUNK + 200)
    x, rows = samples(program, 1030), results(program, 1030)
    call(program, native_target()).run(x, rows, 1030)
    for got, row in zip(summed(program, x), rows, strict=True):
        np.testing.assert_array_equal(got, in_order(row, native_target().lanes))


def test_numbers_are_printed_exactly() -> None:
    numbers = [0.0, -0.0, np.inf, -np.inf, 5e-324, 0.1, 1e300, -1 / 3, 1.7976931348623157e308]
    t = Tape(("x", ()))
    t.load(0)
    t.out((10,), [t.const(x) for x in [*numbers, np.nan]])
    out = np.empty((3, 10))
    call(t.program(), native_target()).run([np.zeros(3)], [out], 3)
    np.testing.assert_array_equal(out[:, :-1].view(np.int64), np.tile(numbers, (3, 1)).view(np.int64))
    assert np.isnan(out[:, -1]).all()


def test_ports_without_elements() -> None:
    t = Tape(("x", (0,)), ("y", (2, 0)))
    t.out((0,), [])
    t.out((), [t.const(2.0)])
    out = [np.empty((5, 0)), np.empty(5)]
    call(t.program(), native_target()).run([np.empty((5, 0)), np.empty((5, 2, 0))], out, 5)
    np.testing.assert_array_equal(out[1], 2.0)


def banded(n: int, count: int = 0) -> Program:
    """Return a diagonal of n functions in a matrix of zeros, and a long program where ``count`` asks for one."""
    t = Tape(("x", (n,)))
    x, zero = t.row(0), t.const(0.0)
    for i in range(count):
        x[i % n] = t.op("subtract", x[i % n], x[(i + 1) % n])
    made = [t.op("subtract", t.op("multiply", v, v), v) for v in x]
    t.out((n, n), [made[i] if i == j else zero for i in range(n) for j in range(n)])
    t.out((2 * n,), [t.const(-0.5)] * n + made)
    return t.program()


@pytest.mark.parametrize("count", [0, 2 * CHUNK + 100])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("columns", [False, True])
def test_runs_of_constants_are_filled(columns: bool, single: bool, count: int) -> None:
    program = banded(45, count)
    dtype = np.float32 if single else np.float64
    units = [kind(program, columns=columns).call(False, columns, single) for kind in (NativeRunner, InterpreterRunner)]
    for n in (1, 5, 8, 19, 600):
        x = [a.astype(dtype) for a in samples(program, n)]
        results = []
        for unit in units:
            out = [np.full((n, *p.shape), np.nan, dtype) for p in program.outputs]
            given, got = ([np.asfortranarray(a) if columns else a for a in some] for some in (x, out))
            assert unit.run(given, got, n) is None
            results.append(got)
        for a, b in zip(*results, strict=True):
            np.testing.assert_array_equal(a, b)
        for i in {0, n // 2, n - 1} if not single else ():
            for a, want in zip(results[0], evaluate(program, [v[i] for v in x]), strict=True):
                np.testing.assert_allclose(a[i], want, rtol=1e-13)


def test_a_vector_of_samples_taken_twice_is_filled_twice() -> None:
    t = Tape(("x", ()))
    y = t.load(0)
    for _ in range(60):
        y = t.op("arctan", y)
    t.out((60,), [y] + [t.const(0.0)] * 59)
    program = t.program()
    assert emit_c(program, native_target()).vectors == 2
    out = np.full((24, 60), np.nan)
    NativeRunner(program).run([np.arange(24.0)], [out], False)
    np.testing.assert_array_equal(out[:, 1:], 0.0)
    np.testing.assert_allclose(out[7], evaluate(program, [np.array(7.0)])[0], rtol=1e-13)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("reduce", [False, True])
def test_code_does_not_grow_with_zeros(reduce: bool, columns: bool) -> None:
    def lengths(n: int) -> Floats:
        program = banded(n)
        code = assemble(program, native_target(), reduce=reduce, columns=columns)
        text = emit_c(program, native_target(), reduce=reduce, columns=columns).text
        return np.array([len(text) - base, len(code.code)], float)

    base = len(emit_c(banded(1), native_target(), reduce=reduce, columns=columns).text)
    assert (lengths(160) < 2.6 * lengths(80)).all()  # with four times the zeros


def test_code_of_later_pieces_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    program = rational(5, 3 * CHUNK)
    plain = emit_c(program, native_target())
    assert "soon(" not in plain.text
    monkeypatch.setattr("symdiff.codegen.c.emit.MANY_PIECES", 2)
    source = emit_c(program, native_target())
    pieces = re.findall(r"^soon\(\(unsigned long\)(\w+)\);\n(\w+)\(", source.text, flags=re.MULTILINE)
    names = [name for _, name in pieces]
    assert len(names) > 2
    assert [following for following, _ in pieces] == [*names[1:], names[0]]
    x = samples(program, 20)
    out, want = results(program, 20), results(program, 20)
    NativeRunner(program).run(x, out, False)
    InterpreterRunner(program).run(x, want, False)
    for a, b in zip(out, want, strict=True):
        np.testing.assert_array_equal(a, b)
    compiler = find_compiler()
    assert compiler is not None
    command = [*compiler.command, *flags(compiler), "-Wall", "-Wextra", "-Wno-unused", "-fsyntax-only", "-x", "c", "-"]
    assert not subprocess.run(command, input=source.text, capture_output=True, text=True, check=False).stderr


def test_blocks_are_stored_where_their_last_value_is_made() -> None:
    t = Tape(("x", (4,)))
    x = t.row(0)
    for i in range(4 * CHUNK):
        x.append(t.op("add" if i % 3 else "multiply", x[-1], x[-4]))
    t.out((4 * CHUNK,), x[4:])
    source = emit_c(t.program(), Target(8))
    assert source.workspace < 32  # what the next piece reads, and not all results
    pieces = re.split(r"PIECE void ", source.text)
    assert all("store8" in piece for piece in pieces if piece.startswith("piece"))


def test_outputs_much_larger_than_the_formula() -> None:
    t = Tape(("x", (50, 50)))
    zero = t.const(0.0)
    values = [zero] * 20000
    values[::7] = [t.load(0, k % 2500) for k in range(len(values[::7]))]
    t.out((20000,), values)
    program = t.program()
    x, out = samples(program, 9), results(program, 9)
    call(program, native_target()).run(x, out, 9)
    want = np.zeros((9, 20000))
    want[:, ::7] = np.tile(x[0].reshape(9, 2500), 2)[:, : want[:, ::7].shape[1]]
    np.testing.assert_array_equal(out[0], want)


def test_names_never_reach_the_source() -> None:
    t = Tape(('x; system("rm -rf ~")', ()))
    t.out((), [t.op("sin", t.load(0))])
    t.check(0, 'a message */ "')
    text = emit_c(t.program(), native_target()).text
    assert "system" not in text
    assert "message" not in text


def test_length_of_source_is_linear() -> None:
    lengths = [len(emit_c(rational(17, n), native_target()).text) for n in (4000, 8000, 16000)]
    assert (lengths[2] - lengths[1]) < 2.2 * (lengths[1] - lengths[0])


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_source_builds_without_a_warning(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    t = Tape(("x", (3,)))
    values = t.row(0)
    for op, kinds in SIGNATURES.items():
        args = [t.mask(values[-1]) if k == "mask" else values[-1] for k in kinds]
        if op in MAX_ORDER:
            args[0] = t.const(1.0)
        value = t.op(op, *args)
        values.append(t.op("to_real", value) if op in MASK_OPS else value)
    t.out((len(values),), values)
    t.check(values[4], "zero")
    strict = ("-O1", "-fPIC", "-shared", "-Wall", "-Werror", "-Wno-psabi")
    monkeypatch.setattr("symdiff.runtime.toolchain.build.FLAGS", strict)
    for reduce in (False, True):
        source = emit_c(t.program(), Target(lanes), reduce=reduce)
        assert build(source).address


@pytest.mark.parametrize("target", [TARGETS["native"], TARGETS["lanes 2"]], ids=["native", "lanes 2"])
@pytest.mark.parametrize("op", sorted(set(SIGNATURES) - set(MAX_ORDER)))
def test_operations_in_float32(op: str, target: Target) -> None:
    # Compared with the same operation in double on the same numbers, rounded: the error is of the result alone.
    program = one_operation(op)
    with np.errstate(over="ignore"):
        x = grid(op).astype(np.float32)
    source = emit_c(program, target, single=True)
    library = build(source)
    sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
    unit = NativeCall(
        library.address, library.symbols, source.lanes, source.workspace, *sizes, False, library, single=True
    )
    got = np.full(len(x), 7.0, np.float32)
    assert unit.run([x], [got], len(x)) is None
    with np.errstate(all="ignore"):
        want = reference(program, x.astype(float)).astype(np.float32)
        distance = np.abs(got.astype(float) - want) / np.spacing(np.maximum(np.abs(want), np.float32(1e-45)))
    distance[(got == want) | (np.isnan(got) & np.isnan(want))] = 0
    distance[~np.isfinite(distance)] = np.inf
    worst = int(np.argmax(distance))
    bound = 0 if op in EXACT else 1 if op in {"gamma", "lgamma", "digamma", "fma"} else 4
    assert distance[worst] <= bound, f"{op}{tuple(x[worst])}: {got[worst]!r}, expected {want[worst]!r}"


FORMULAS: list[tuple[str, dict[str, Any]]] = [
    ("jacobian(log(softmax(X @ y)), X)", {"X": (2, 4), "y": 4}),
    ("[inv(A)[0, 0], det(A), sum(A * b), digamma(b) + b % 3 + floor(b) * sign(b)]", {"A": (3, 3), "b": ()}),
    ("where(x > y, exp(x) * minimum(x, y), abs(y) ** 0.3) - sqrt(x) * (x == y)", {"x": 3, "y": ()}),
    ("hessian(log(det(A)), A)", {"A": (5, 5)}),
    ("jacobian(2 * x, x)", {"x": 3}),
]


@pytest.mark.parametrize(
    ("name", "wish"), [*((name, COMPILERS[0]) for name in TARGETS), *(("native", other) for other in COMPILERS[1:])]
)
@pytest.mark.parametrize(("formula", "shapes"), FORMULAS, ids=[formula for formula, _ in FORMULAS])
def test_compilers_have_nothing_to_say(
    formula: str, shapes: dict[str, Any], name: str, wish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = TARGETS[name]
    monkeypatch.setenv("CC", wish)
    compiler = find_compiler()
    assert compiler is not None
    symbols = {name: sd.array(name, shape) for name, shape in shapes.items()}
    (node,) = simplify(inline([read_formula(formula, shapes).value.node]))
    program = unroll([symbol.node for symbol in symbols.values()], [node])
    alone = [False, *[True] * (len(shapes) - 1)]
    texts = [
        emit_c(program, target, reduce=reduce, columns=columns, single=single, constant=constant).text
        for reduce, columns, single in itertools.product([False, True], repeat=3)
        for constant in ((), alone)
    ]
    texts += [emit_standalone(program, target).text]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.c").write_text(text)
    wanted = [flag for flag in flags(compiler) if flag != "-shared"]  # nothing is linked
    command = [*compiler.command, *wanted, "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    done = subprocess.run([*command, *map(str, tmp_path.glob("*.c"))], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_long_program_is_built_in_parts() -> None:
    program = rational(17, 9 * CHUNK)
    source = emit_c(program, native_target())
    assert len(source.parts) > 1
    assert max(map(len, source.parts)) < len(source.text)
    whole = build(source._replace(parts=(), text=source.text + "/* whole */\n"))
    sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
    x, found = samples(program, 20), []
    for library in (build(source), whole):
        unit = NativeCall(library.address, library.symbols, source.lanes, source.workspace, *sizes, False, library)
        out = results(program, 20)
        assert unit.run(x, out, 20) is None
        found.append(out)
    for got, want in zip(*found, strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(found[0], evaluate(program, [a[7] for a in x]), strict=True):
        np.testing.assert_array_equal(got[7], want)
    with pytest.raises(BuildError, match="unknown type name"):
        build(source._replace(parts=(*source.parts[:-1], "nonsense here;"), text=source.text + "/* wrong */\n"))


@pytest.mark.parametrize(("lanes", "single"), [(8, False), (4, False), (2, False), (8, True)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9, 16])
def test_narrow_rows_ask_once_for_each_line_of_a_later_vector(size: int, lanes: int, single: bool) -> None:
    t = Tape(("a", (size,)), ("b", (size,)))
    t.out((size,), [t.op("subtract", x, y) for x, y in zip(t.row(0), t.row(1), strict=True)])
    text = emit_c(t.program(), Target(lanes), single=single).text
    assert "long far=" in text
    row = size * (4 if single else 8)
    lines = math.ceil(row * lanes * (2 if single else 1) / 64)
    for name in ("READ_SOON(x0", "READ_SOON(x1", "WRITTEN_SOON(y0"):
        found = re.findall(re.escape(name) + r"\+(\d+)\+(\d+)\*s[io]\d\)", text)
        assert all(int(place) < row for place, _ in found), "what is asked for is in a row, however far rows are apart"
        at = [int(place) + int(sample) * row for place, sample in found]
        assert [a - at[0] for a in at] == [64 * k for k in range(lines)]
        assert 0 < at[0] < 1 << 14


def test_columns_are_asked_for_by_their_number() -> None:
    for size, macro, ahead in ((3, "READ_SOON", 2048), (12, "READ_SOON", 640), (30, "COME", 512)):
        t = Tape(("a", (size,)))
        t.out((size,), [t.op("negative", x) for x in t.row(0)])
        text = emit_c(t.program(), Target(8), columns=True).text
        found = re.findall(rf"{macro}\(x0\+{ahead}\+(\d+)\*si0\)", text)
        assert sorted(map(int, found)) == list(range(size))
