"""Texts that interpreter and generated code share: every compiler takes them, and functions are right to a digit."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from c_programs import COMPILERS
from mpmath import mp
from tape import Tape
from test_interpreter_kernel import TILE, compare, generated, interpreted

import symdiff
from symdiff._kernels.interpreter import OPCODES, Machine
from symdiff.codegen.c.emit import Target, emit_c
from symdiff.runtime.toolchain.load import native_target

KERNELS = Path(symdiff.__file__).parent / "_kernels"


#: What interpreter.h and kernels.h include for each kind of vector, with names that only they define.
PARTS = {"vector.h", "exponential.h", "sines.h", "transpose.h", "vectors.h", "machine.h", "tiles.h", "undefine.h"}


PARTS |= {"lanes.h", "gammas.h", "normals.h"}


PARTS |= {"convert.h"}
PARTS |= {"kind.h", "moves.h", "eliminate.h", "cholesky.h", "symmetric_eigen.h", "batch.h"}
PARTS |= {"begin_avx2.h", "begin_avx512.h", "end_set.h"}


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


@pytest.mark.parametrize("op", ["lgamma", "gamma", "erfcx", "ndtri", "erfinv", "erfcinv"])
def test_our_own_functions_of_float32_are_those_of_float64_rounded(op: str) -> None:
    t = Tape(("x", ()))
    t.out((), [t.op(op, t.load(0))])
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


def _tiny(low: float, high: float) -> tuple[str, float, float]:
    return ("log10", low, high)


#: What docs/internals.md states: errors in units of the last place, everywhere in the domain.
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
}


@pytest.mark.parametrize("op", STATED)
def test_functions_of_distributions_keep_the_error_that_is_stated(op: str) -> None:
    reference, bound, ranges = STATED[op]
    rng = np.random.default_rng(3)
    drawn = [10 ** rng.uniform(*r[1:], 60) if r[0] == "log10" else rng.uniform(*r, 60) for r in ranges]
    edges = [0.0, -0.0, 1.0, 2.0, 0.5, -0.5, -1.0, -2.0, -2.5, 5e-324, 1e-310, 7.5, 1.25, 171.6, 172.0, 1e300, np.inf]
    edges += [-np.inf, np.nan, np.nextafter(1, 0), np.nextafter(7.5, 0), 0.075, 0.925, -27.0]
    x = np.concatenate([*drawn, edges])
    t = Tape(("x", ()))
    t.out((), [t.op(op, t.load(0))])
    program = t.program()
    numbers = np.zeros(len(x))  # by the function of numbers, which two lanes take
    assert generated(program, Target(2)).run([x], [numbers], len(x)) is None
    first: npt.NDArray[np.float64] | None = None
    for lanes, prefix in ((4, "_ZGVd"), (8, "_ZGVe")):
        if native_target().lanes < lanes:
            continue
        target = Target(lanes, prefix)
        assert f"SLOW V NAME(do_{op})" in emit_c(program, target).text
        for make in (interpreted, generated):
            out = np.zeros(len(x))
            assert make(program, target).run([x], [out], len(x)) is None
            normal = (np.abs(x) > 1e-300) | (op != "erfcinv")  # SciPy's takes half of the argument, which loses digits
            np.testing.assert_allclose(out[normal], numbers[normal], rtol=3e-13, atol=1e-15 if op == "digamma" else 0)
            first = out if first is None else first
            np.testing.assert_array_equal(out, first)
        inner = np.concatenate(drawn)
        with mp.workdps(40):
            for at, got in zip(inner.tolist(), out.tolist(), strict=False):
                want = reference(mp.mpf(at), got)
                assert abs(mp.mpf(got) - want) <= bound * np.spacing(abs(float(want))), (at, got)


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
