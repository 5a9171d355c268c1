"""Operations of a scalar program in generated C: at the edges of doubles, in many digits, by every compiler."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from symdiff._kernels.functions import special
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.c.emit import Target, emit_c
from symdiff.errors import UnsupportedError
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.lowering.program import MAX_ORDER, SIGNATURES
from symdiff.runtime.toolchain.build import build
from symdiff.runtime.toolchain.load import native_target
from tests.support.c_programs import COMPILERS, EXACT, TARGETS, grid, one_operation, reference, run, ulps


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


@pytest.mark.rows(1)
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
    if order == 0:  # vector code of our own, some roundings beside SciPy's
        np.testing.assert_allclose(got, special.digamma(x), rtol=8e-15)
    else:
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
    if op in {"i0", "i1"}:  # nan in SciPy
        distance[np.isinf(x[:, 0])] = 0
    if op in {"j0_near", "j1_near", "y0_near", "y1_near"}:  # the phase is rounded in SciPy, and no value is used beyond
        distance[np.abs(x[:, 0]) > 1e8] = 0
    worst = int(np.argmax(distance))
    bound = 0 if op in EXACT else 1 if op in {"gamma", "lgamma", "digamma", "fma"} else 4
    assert distance[worst] <= bound, f"{op}{tuple(x[worst])}: {got[worst]!r}, expected {want[worst]!r}"
