"""Programs that tests of generated C and of the interpreter run, and what they are run on."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import numpy.typing as npt

from symdiff._kernels.unit import NativeCall
from symdiff.codegen.c.emit import Target, emit_c
from symdiff.lowering.program import MASK_OPS, SIGNATURES, Program
from symdiff.runtime.toolchain.build import build
from symdiff.runtime.toolchain.load import native_target
from tests.support.program_reference import evaluate
from tests.support.tape import Tape

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
