"""What check says of a function with a rule of its author's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from tests.support.custom_functions import Rule, a, scaled, x, y

# ---------------------------------------------------------------------------- check


def kinds(report: sd.Report) -> set[str]:
    return {found.kind for found in report.findings}


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("kind", ["differential", "vjp", "jacobian"])
@pytest.mark.parametrize("wrong", [0, 1])
def test_check_says_which_argument_is_off_and_how_far(kind: str, wrong: int, approximate: bool) -> None:
    by = [1.5 if i == wrong else 1.0 for i in range(2)]

    def first(p: Any, q: Any) -> Any:
        return by[0] * np.cos(p) * q

    def second(p: Any, q: Any) -> Any:
        return by[1] * np.sin(p)

    rules: dict[str, Rule] = {
        "differential": {"differential": lambda args, t: first(*args) * t[0] + second(*args) * t[1]},
        "vjp": {"vjp": lambda args, s: (first(*args) * s, second(*args) * s)},
        "jacobian": {"jacobian": lambda args: (np.diag(first(*args)), np.diag(second(*args)))},
    }
    f = sd.custom(lambda p, q: np.sin(p) * q, name="wave", approximate=approximate, **rules[kind])
    report = sd.check(np.tanh(f(x, y)) * y)
    assert not report.ok
    assert (report.verdict == "not certified") is approximate
    assert report.compared == 2 * 3 * 9
    (found,) = [f for f in report.findings if f.kind == ("approximate" if approximate else "custom")]
    assert found.wrong is not approximate
    assert f"argument {wrong + 1}" in found.message
    assert "off by 33.3 %" in found.message
    assert ("derivative" in kinds(report)) is not approximate


def test_a_straight_through_estimator_is_listed_and_the_rest_is_compared() -> None:
    through = sd.custom(np.round, vjp=lambda args, s: (s,), name="through", approximate=True)
    f = (through(2.0 * through(x) + x * y) * y) ** 2
    assert kinds(sd.check(f)) == {"approximate", "not certified"}
    assert sd.check(f).verdict == "not certified"
    assert sd.check(sd.gradient(f.sum(), x)).verdict == "not certified"
    bad = sd.custom(np.sin, vjp=lambda args, s: (s,), name="bad")
    report = sd.check(through(x) * bad(y))
    assert not report.ok
    assert all("bad" in f.message for f in report.findings if f.kind == "custom")
    exact = sd.custom(np.sin, vjp=lambda args, s: (s * np.cos(args[0]),), name="exact", approximate=True)
    found = next(one for one in sd.check(exact(x)).findings if one.kind == "approximate")
    assert found.kind == "approximate"
    assert "meets differences" in found.message


def test_check_of_captured_symbols() -> None:
    f = scaled(a, "vjp")(x)
    assert sd.check(f, x).ok
    report = sd.check(f)
    assert [found.kind for found in report.findings] == ["derivative"]
    assert "scaled uses 'a' without" in report.findings[0].message
    wrong = sd.custom(lambda v: np.sin(v) * a, vjp=lambda args, s: (np.cos(args[0]) * np.cos(a) * s,), name="wrong")
    assert kinds(sd.check(wrong(x), x)) == {"custom", "derivative"}


def test_check_of_rules_at_kinks_behind_barriers_and_within_others() -> None:
    relu = sd.custom(lambda v: np.maximum(v, 0.0), vjp=lambda args, s: (s * (args[0] > 0),), name="relu")
    zero = {"x": [0.0, 1.0, -1.0]}
    assert kinds(sd.check(relu(x), at=zero)) == {"kink"}
    other = sd.custom(lambda v: np.maximum(v, 0.0), vjp=lambda args, s: (s * (args[0] < 0),), name="other")
    assert "custom" in kinds(sd.check(other(x), at=zero))
    held = sd.custom(lambda v: v * sd.stop_gradient(v), vjp=lambda args, s: (s * args[0],), name="held")
    assert sd.check(held(x)).ok
    bad = sd.custom(np.sin, vjp=lambda args, s: (2.0 * s * np.cos(args[0]),), name="bad")
    around = sd.custom(lambda v: bad(v) * 3.0, vjp=lambda args, s: (3.0 * s * np.cos(args[0]),), name="around")
    ruled_by = sd.custom(lambda v: -np.cos(v), vjp=lambda args, s: (s * bad(args[0]),), name="ruled by")
    for f in (around, ruled_by):
        report = sd.check(f(x))
        assert [found.kind for found in report.findings] == ["custom"]
        assert "the rule of bad" in report.findings[0].message
        assert not report.ok
