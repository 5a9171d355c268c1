"""check is a certificate: wrong numbers are never ok, and right ones are, or their condition says why."""

from __future__ import annotations

from typing import Any

import pytest

import symdiff as sd


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
