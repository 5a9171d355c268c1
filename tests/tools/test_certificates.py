"""check is a certificate: wrong numbers are never ok, and right ones are, or their condition says why."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph.reference.many_digits import SCALARS, besselk, bessely
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.tools.checking.differences import Tally
from symdiff.tools.checking.multiprecision import exact_values


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("sum(sin(x) * y)", {"x": [0.3, 2.0], "y": 1.5}),
        ("x - y", {"x": 1e16, "y": 1.0}),
        ("abs(x)", {"x": 1e-10}),
        ("abs(x)", {"x": 0.0}),
        ("cosh(x)", {"x": 0.0}),
        ("x**2 - 2", {"x": 1.4142135623730951}),  # few digits, which the condition explains
        ("exp(-x)", {"x": 800.0}),  # below the smallest double
        ("sort(x)**2", {"x": [1.0, 3.0, 2.0]}),
        ("log(1 + exp(log(1 + exp(x / x))))", {"x": 1.4142135623730951}),  # 0, of which steps leave rounding
        ("where(x > 0, x, 2 * x)", {"x": 0.0}),
    ],
)
def test_right_numbers_are_ok(formula: str, at: dict[str, Any]) -> None:
    shapes = {name: (len(one),) if isinstance(one, list) else () for name, one in at.items()}
    report = sd.check(formula, at=at, shapes=shapes)
    assert report.verdict == "ok", report


@pytest.mark.parametrize("formula", ["where(x == 0, 0, x)", "where(x > 1, x, where(x == 1, 1, x))"])
def test_a_kink_excuses_no_smooth_formula(formula: str) -> None:
    report = sd.check(formula, at={"x": 1.0 if "1" in formula else 0.0})
    assert report.ok == (report.digits is not None and report.digits >= 8)


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("(exp(-a*t)-exp(-b*t))/(b-a)", {"a": 1 + 1e-10, "b": 1.0, "t": 2.0}),
    ],
)
def test_lost_digits_are_not_ok_unless_they_hold(formula: str, at: dict[str, Any]) -> None:
    report = sd.check(formula, at=at)
    assert report.digits is not None
    assert report.ok == (report.digits >= 8)
    assert report.ok or "exp(" in str(report)


def test_approximate_rules_are_not_certified() -> None:
    x = sd.scalar("x")
    wave = sd.custom(lambda a: a**2, differential=lambda args, t: 2.1 * args[0] * t[0], approximate=True)
    report = sd.check(wave(x), at={x: 0.5})
    assert report.verdict == "not certified"
    assert not report.ok
    assert not report.wrong


@pytest.mark.parametrize("formula", ["x*abs(x)", "maximum(x, 0)**2", "abs(x)**1.5", "where(x > 0, x**2, x**3)"])
def test_second_derivatives_that_differ_are_told(formula: str) -> None:
    report = sd.check(formula, at={"x": 0.0})
    assert (report.verdict, report.order) == ("ok to first order", 1), report
    assert sd.check(formula, at={"x": 0.5}).verdict == "ok"


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    "formula",
    [
        *("abs({0}) * abs({1})", "abs({0} * {1})", "norm([{0}, {1}]) * {0}", "hypot({0}, {1}) * {0}", "abs({0}) * {1}"),
        *("maximum({0}, {1}) * {0}", "abs({0}) * abs({1}) + abs({0})", "minimum({0} * {1}, 0)"),
    ],
)
def test_kinks_that_meet_are_of_first_order(formula: str) -> None:
    for names, at, shapes in (("x[0] x[1]", {"x": np.zeros(2)}, {"x": 2}), ("x y", {"x": 0.0, "y": 0.0}, {})):
        report = sd.check(formula.format(*names.split()), at=at, shapes=shapes)
        assert report.verdict == "ok to first order", report
        assert any(finding.kind == "kink" for finding in report.findings)


@pytest.mark.parametrize(
    "formula", ["abs(x) * abs(sin(x)) + y", "sum(sort([x, y])**2)", "abs(x + y) * abs(2 * x + 2 * y)"]
)
def test_kinks_that_undo_each_other_are_smooth(formula: str) -> None:
    assert sd.check(formula, at={"x": 0.0, "y": 0.0}).verdict == "ok"


@pytest.mark.parametrize(("formula", "side"), [("sqrt(x)", "right (+inf)"), ("abs(x)**0.5", "left (-inf)")])
def test_infinite_slopes_are_listed_without_digits(formula: str, side: str) -> None:
    report = sd.check(formula, at={"x": 0.0})
    assert f"infinite on the {side}" in str(report)
    assert report.digits is None


@pytest.mark.parametrize("formula", ["abs(x)**3", "x * x * abs(x)", "abs(x @ x)"])
def test_smooth_formulas_have_no_kink(formula: str) -> None:
    at = {"x": [0.0, 0.0]} if "@" in formula else {"x": 0.0}
    report = sd.check(formula, at=at, shapes={"x": 2} if "@" in formula else {})
    assert not any(finding.kind == "kink" for finding in report.findings), report


def test_a_wrong_branch_loses_no_digits() -> None:
    report = sd.check("where(x == 0, 0, x)", at={"x": 0.0})
    assert report.verdict == "NOT OK"
    assert "digits are lost" not in str(report)


def test_barriers_and_sub_formulas_have_second_derivatives_in_many_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.tools.checking import certificate
    from symdiff.tools.checking.certificate import Exact

    X, y = sd.matrix("X", 3, 4), sd.vector("y", 4)
    for formula, by in (("stop_gradient(x) * x**2", None), (np.sum(np.sin(X @ y) ** 2), X[0])):
        assert sd.check(formula, by).verdict == "ok"
    monkeypatch.setattr(Exact, "refill", lambda self: setattr(self, "left", 0))
    report = sd.check("sin(x)")
    assert report.verdict == "not certified"
    assert "second derivatives with respect to x need more work" in str(report)
    monkeypatch.setattr(certificate, "_WORK", 10)
    assert sd.check("sin(x)").verdict == "not certified"


def test_a_nan_at_a_kink_is_not_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.tools.checking.ways import Ways

    monkeypatch.setattr(Ways, "forward", lambda self, point, direction: np.array([np.nan]))
    assert not sd.check("abs(x)", at={"x": 0.0}).ok


@pytest.mark.parametrize("text", ["maximum({}, {})", "min(stack([{}, {}]))", "relu({1})*{0}", "max(stack([{1}, {0}]))"])
def test_the_larger_of_a_number_and_nan_is_nan(text: str) -> None:
    report = sd.check(text.format("exp(x)", "(y - 1)**1.5"), at={"x": 2.0, "y": 0.5})
    assert "not finite at any point" in str(report)


@pytest.mark.parametrize("text", ["where(x < 5, x**2, lgamma(x))", "sum(where([x, 2*x] > 5, lgamma(x), sin(x)))"])
def test_branches_that_are_not_taken_are_not_computed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(x: Any) -> Any:
        raise AssertionError(f"lgamma({x})")

    monkeypatch.setitem(SCALARS, "lgamma", refuse)
    assert sd.check(text, at={"x": 1.5}).ok
    with pytest.raises(sd.SymdiffError, match="lgamma"):
        sd.check("where(x < 5, x**2, lgamma(x))", at={"x": 6.5})


@pytest.mark.parametrize("seed", range(8))
def test_rounding_of_second_derivatives_that_are_zero_is_no_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = ["1/(y**2*(1/x))", "x/(y*y*y)", "exp(log(x) - y)", "(x*y)*(1/(y*y))/3",
            "arcsin(sin(x))*y",
            "log(exp(x))*(1/(-x))*y"][seed % 6]  # fmt: skip
    report = sd.check(text, at={"x": rng.uniform(0.1, 1e3), "y": rng.uniform(0.1, 10.0)})
    assert report.ok, report


@pytest.mark.parametrize("n", [2, 3])
def test_rounding_of_what_is_exactly_zero_is_no_loss(n: int) -> None:
    assert sd.check("det(outer(x, x))", x=n).verdict == "ok"


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("x", {"x": 1e100}),
        ("exp(-x)", {"x": 200.0}),
        ("1/x", {"x": 1e30}),
        ("log(x)", {"x": 1e50}),
        ("sqrt(x)", {"x": 1e50}),
        ("x/y", {"x": 1e60, "y": 1e59}),
        ("x*y", {"x": 1e100, "y": 1e100}),
        ("norm([x, y])", {"x": 1e60, "y": 1e60}),
        ("k0(x)", {"x": 200.0}),
        ("ndtr(x)", {"x": -20.0}),
        ("erfc(x)", {"x": 20.0}),
        ("tanh(x)", {"x": 300.0}),  # its slope is 1e-260 beside 1
        ("1 + exp(-x)", {"x": 600.0}),
        ("gammaincc(2, x)", {"x": 300.0}),
        ("x**4", {"x": 1e-30}),
        ("x + y", {"x": 1e300, "y": 1e-300}),
        ("x + 1e-200 * y", {"x": 1e200, "y": 3.0}),
        ("sin(x * y)", {"x": 1e200, "y": 1e-200}),
    ],
)
def test_numbers_of_any_size_are_compared(formula: str, at: dict[str, float]) -> None:
    report = sd.check(formula, at=at)
    assert report.verdict == "ok", report
    assert report.digits is not None
    assert report.digits > 13


@pytest.mark.parametrize("seed", range(40))
def test_numbers_of_random_sizes_are_compared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [name for name, row in FUNCTIONS.items() if row.arity == 1 and row.vector]
    formula = str(rng.choice(["{}", "2 + {}", "{}**2"])).format(f"{names[seed % len(names)]}(x)")
    drawn = (float(10.0 ** rng.uniform(-300, 300) if rng.random() < 0.7 else rng.uniform(0, 600)) for _ in range(100))
    with np.errstate(all="ignore"):
        kernel = sd.compile([formula, f"gradient({formula}, x)", f"hessian({formula}, x)"], x=(), backend="numpy")
        x = next(x for x in drawn if np.isfinite(kernel(x=x)).all())
    report = sd.check(formula, at={"x": x})
    assert report.verdict == "ok", (formula, x, report)


@pytest.mark.parametrize(
    ("own", "known", "x"),
    [(besselk, mpmath.besselk, 1.5), (besselk, mpmath.besselk, 40.0), (bessely, mpmath.bessely, 250.0)],
)
def test_bessel_functions_are_those_of_mpmath(own: Any, known: Any, x: float) -> None:
    for order in (0, 1, mpmath.mpf("2.5")):
        with mpmath.workdps(60):
            assert abs(own(order, x) / known(order, x) - 1) < mpmath.mpf(10) ** -58


def test_derivatives_of_an_array_are_judged_each_by_itself() -> None:
    # 1e20 beside -3e-176
    formula, at = "x[0]*1e20 + 1/gamma(x[1])", {"x": np.array([1.0, 110.0])}
    slope = sd.compile(sd.gradient(formula, "x", x=2))(x=at["x"])[1]
    report = sd.check(formula, x=2, at=at)
    assert report.ok == (abs(slope / -3.252343980593961e-176 - 1) < 1e-6), report


def test_differences_are_judged_each_by_itself() -> None:
    tally = Tally("")
    tally.add(np.array([1.0, 0.0]), np.array([1.0, 1e-8]), np.array([1e-12, 1e-17]))
    assert (tally.compared, tally.wrong) == (2, 1)


@pytest.mark.parametrize("formula", ["gammainc(x, x)", "sin(x)*gammaincc(x, x + 1)"])
def test_functions_that_many_digits_do_not_reach_are_not_certified(formula: str) -> None:
    report = sd.check(formula, at={"x": 1e8})
    assert report.verdict == "not certified", report
    assert "of numbers at which mpmath gives up" in str(report)
    plain = read_formula("where(x > 1, x, gammainc(x, x))", {}).value.node
    assert exact_values([plain], {"x": np.array(1e8)}, {})[0] == 1e8


def test_spherical_bessel_functions_far_out_take_no_series() -> None:
    for x in (1e5, -1e8, 1e16):
        assert mpmath.almosteq(SCALARS["sinc"](mpmath.mpf(x) + 0.5), 1 / (mpmath.pi * (mpmath.mpf(x) + 0.5)), 1e-10)
    for x in (99.5, -99.5, 100.5, -100.5):  # on both sides of where the series ends; DLMF 10.49.3
        with mpmath.workdps(40):
            z = mpmath.mpf(x)
            j0, j1 = mpmath.sin(z) / z, mpmath.sin(z) / z**2 - mpmath.cos(z) / z
            for n, wanted in enumerate((j0, j1, 3 * j1 / z - j0)):
                assert mpmath.almosteq(SCALARS["spherical_jn"](n, z), wanted, 1e-30)
    assert sd.check("sinc(x)", at={"x": 1e8}).ok


@pytest.mark.parametrize(
    ("formula", "x"),
    [("kv(1e8, x)", 1e8), ("betainc(0.7, x, 0.7)", 1e8), ("gammainccinv(x, 0.7)", 1e16)],
)  # fmt: skip
def test_orders_and_parameters_far_out_end_at_once(formula: str, x: float) -> None:
    report = sd.check(formula, at={"x": x})
    assert not report.certified, report


def test_incomplete_gamma_functions_end_at_zero() -> None:
    for formula in ("gammainc(0.5, x)", "gammaincc(2, x)", "gammainc(2, x)*x"):
        assert sd.check(formula, at={"x": 0.0}).ok, formula
