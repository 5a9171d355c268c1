"""check: right derivatives pass, wrong ones and wrong rules are named, and special points are listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import symdiff as sd
from symdiff.tools.checking.differences import Tally, extrapolate
from tests.support.custom_functions import Rule, a, scaled, x, y


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("sin(x) * y", {}),
        ("log(det(A))", {"A": ("n", "n")}),
        ("A @ x", {"A": ("n", "m"), "x": "m"}),
        ("log(softmax(X @ y))", {"X": (2, 4), "y": 4}),
        ("solve(A, b)", {"A": (3, 3), "b": 3}),
        ("arccosh(x) + arctanh(y)", {}),
        ("where(x > 0, x**2, -x)", {"x": 4}),
        ("sum(x**2)", {"x": 500}),
        ("outer(x, x)", {"x": 60}),
        ("adjugate(A)", {"A": (6, 6)}),  # numbers of very different size
        ("jacobian(tanh(W @ x), x)", {"W": (2, 3), "x": 3}),
    ],
)
def test_right_derivatives_are_ok(formula: str, shapes: dict[str, Any]) -> None:
    report = sd.check(formula, shapes=shapes)
    assert report.ok
    assert report
    assert report.compared > 0
    assert report.disagreement < 1e-6
    assert str(report).startswith("ok: ")


def test_every_front_door_and_structure() -> None:
    x, y = sd.vector("x", 2), sd.scalar("y")
    a, b = sympy.symbols("a b")
    for formula, shapes in (
        (x * y, {}),
        ({"f": x @ x, "g": [y**3]}, {}),
        (sympy.sin(a * b), {}),
        (lambda p: p @ p, {"p": 3}),
    ):
        assert sd.check(formula, shapes=shapes).ok


def test_parts_names_and_barriers() -> None:
    x, y, v = sd.matrix("X", 3, 4), sd.vector("y", 4), sd.vector("v", 3)
    row = sd.check(np.log(sd.softmax(x @ y)), x[0])
    assert row.ok
    assert row.compared == 3 * (3 * 4)  # forward, reverse and Jacobian of 3 outputs by 4 elements
    assert sd.check("h = tanh(W @ x + b)\nsum((h - y)**2)", "h", W=(5, 3), x=3, b=5, y=5).ok
    assert sd.check(sd.stop_gradient(v**2) @ v).ok  # held fixed, in the differences too


def _wrong(args: Any, tangents: Any) -> Any:
    return 2.0 * np.cos(args[0]) * tangents[0]


WRONG_RULES = {
    "differential": {"differential": _wrong},
    "vjp": {"vjp": lambda args, seed: (2.0 * np.cos(args[0]) * seed,)},
    "jacobian": {"jacobian": lambda args: (np.diag(2.0 * np.cos(args[0])),)},
}


@pytest.mark.parametrize("rule", WRONG_RULES.values(), ids=WRONG_RULES)
def test_wrong_custom_rule_is_named(rule: dict[str, Any]) -> None:
    x = sd.vector("x", 3)
    wave = sd.custom(np.sin, name="wave", **rule)
    around = sd.custom(lambda a: wave(a) * 3.0, differential=lambda args, t: 3.0 * np.cos(args[0]) * t[0])
    for f in (wave, around):
        report = sd.check(np.exp(f(x)).sum())
        assert not report.ok
        assert any(f.kind == "custom" and "wave" in f.message for f in report.findings)
        assert "NOT OK" in str(report)


def test_wrong_custom_rule_fails_against_differences_too() -> None:
    x = sd.scalar("x")
    report = sd.check(sd.custom(np.sin, differential=_wrong, name="wave")(x), at={x: 0.5})
    wrong = [f.message for f in report.findings if f.kind == "derivative"]
    assert len(wrong) == 3  # forward, reverse, Jacobian
    assert "1.75517 where 0.877583" in wrong[0]


@pytest.mark.parametrize(
    ("formula", "at", "said"),
    [
        ("abs(x)", {"x": 0.0}, "kink of abs(x)"),
        ("sum(abs(x))", {"x": [1.0, 0.0, 2.0]}, "kink of abs(x) at element [1]"),
        ("maximum(x, y)", {"x": 1.0, "y": 1.0}, "kink of maximum(x, y)"),
        ("clip(x, 0, 1)", {"x": 1.0}, "kink of"),
        ("floor(x) * x", {"x": 2.0}, "jump of floor(x)"),
        ("x % y", {"x": 4.0, "y": 2.0}, "jump of"),
        ("sqrt(x)", {"x": 0.0}, "end of the domain of sqrt(x)"),
        ("where(x > 0, x, 2 * x)", {"x": 0.0}, "boundary of 0 < x"),
        ("max(x)", {"x": [1.0, 2.0, 2.0]}, "tie of max(x)"),
        ("norm(x)", {"x": [0.0, 0.0]}, "kink of norm(x)"),
    ],
)
def test_special_points_are_listed(formula: str, at: dict[str, Any], said: str) -> None:
    shapes = {name: np.shape(number) for name, number in at.items()}
    report = sd.check(formula, at=at, shapes=shapes)
    assert report.ok, str(report)
    assert any(f.kind == "kink" and f.message.startswith(said) for f in report.findings), str(report)
    shift = {"x": np.array([0.31, -0.27, 0.13]), "y": np.array([0.1])}
    beside = {name: number + shift[name][: np.size(number)].reshape(np.shape(number)) for name, number in at.items()}
    assert not [f for f in sd.check(formula, at=beside, shapes=shapes).findings if f.kind == "kink"]


def test_smooth_functions_have_no_kinks() -> None:
    at = {"x": 1e-3, "y": 30.0}
    report = sd.check("exp(y) * x**3 + log(x) + cosh(y) + x**0.5 + erf(y) + arctan2(y, x)", at=at)
    assert not [f for f in report.findings if f.kind == "kink"], str(report)


def test_kinks_of_what_is_not_differentiated_by_are_left_out() -> None:
    report = sd.check("abs(x) * y", "y", at={"x": 0.0, "y": 2.0})
    assert report.ok
    assert not report.findings


def test_rewrites_are_listed() -> None:
    report = sd.check("log(1 + exp(x))", at={"x": 1000.0})
    assert [f.message for f in report.findings if f.kind == "rewrite"] == ["log(1 + exp(x)) → softplus(x)"]
    assert report.ok


def test_no_point_and_no_derivative_are_not_ok() -> None:
    assert [f.kind for f in sd.check("log(-1 - x**2)").findings] == ["point"]
    x = sd.scalar("x")
    curved = sd.custom(np.exp, differential=lambda args, tangents: tangents[0] * np.exp(args[0]))
    assert sd.check(curved(x)).ok
    with pytest.raises(sd.ArgumentError, match="at= holds z; the inputs are x"):
        sd.check("sin(x)", at={"z": 1.0})
    with pytest.raises(sd.ArgumentError, match="nothing to differentiate"):
        sd.check("1 + 2")


def test_extrapolation_meets_its_own_estimate() -> None:
    cases: list[tuple[Callable[[Any], Any], float]] = [
        (np.sin, 1.0),
        (lambda t: np.exp(3 * t), 3.0),
        (lambda t: np.log(0.01 + t), 100.0),
    ]
    for function, slope in cases:
        found, error = (float(number) for number in extrapolate(function))
        assert abs(found - slope) <= max(10 * error, 1e-12 * slope)
        assert error < 1e-6 * slope
    assert extrapolate(lambda t: np.full_like(t, np.nan))[1] == np.inf


def test_a_cliff_beside_the_point_is_none_at_it() -> None:
    report = sd.check("[where(x < 2 + 1e-9, x, exp(300 * x)), x**2]", at={"x": 2.0})
    assert report.ok
    assert not report.findings
    assert report.compared == 6  # of both outputs: forward, reverse, Jacobian


def test_tally_counts_nan_as_wrong_where_differences_are_finite() -> None:
    tally = Tally("t")
    tally.add(np.array([1.0, np.nan, 5.0]), np.array([1.0, 2.0, np.nan]), np.array([0.0, 0.0, np.inf]))
    assert (tally.compared, tally.wrong, tally.unsettled) == (2, 1, 1)


# ---------------------------------------------------------------------------- the certificate


def test_a_certificate_lists_what_was_compared() -> None:
    report = sd.check("exp(x @ A @ x) + log(det(A))", A=(3, 3), x=3, points=2)
    assert report.ok
    counts = {one.title: one.compared for one in report.comparisons}
    for name, size in (("x", 3), ("A", 9)):
        assert counts[f"forward mode by {name} with differences"] == 2 * size
        assert counts[f"forward with reverse mode by {name}"] == 2 * size
        assert counts[f"second derivatives with their transposes by {name}"] == 6
    lines = report.certificate().splitlines()
    assert lines[0] == "ok"
    assert len(lines) == 2 + len(counts) + len(report.findings)  # the verdict and the digits
    assert "forward with reverse mode by x" in report._repr_html_()


def test_second_derivatives_that_are_not_symmetric_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.frontend.array_derivatives import hvp as right
    from symdiff.tools.checking import ways

    monkeypatch.setattr(ways, "hvp", lambda f, by, u, **more: right(f, by, u, **more) + sd.cumsum(u) - u)
    report = sd.check("sum(sin(x)**2)", x=4)
    assert not report.ok
    assert any("second derivatives" in finding.message for finding in report.findings)


def test_modes_that_disagree_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.tools.checking.ways import Ways

    right = Ways.reverse
    monkeypatch.setattr(Ways, "reverse", lambda self, point, seed: 1.001 * right(self, point, seed))
    found = {one.title: one.wrong for one in sd.check("sum(sin(x)**2)", x=4).comparisons}
    assert found["forward with reverse mode by x"] == 4
    assert found["forward mode by x with differences"] == 0


def test_points_are_a_whole_number() -> None:
    for points in (0, 1.5, True):
        with pytest.raises(sd.ArgumentError, match="points"):
            sd.check("x", points=points)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("sqrt(x)", "x = 0: end of the domain of sqrt(x): the derivative may be infinite"),
        ("arcsin(x) * y", "x = -1: end of the domain of arcsin(x)"),
        ("x * log(abs(x))", "x = 0: the value is nan, but the exact one is"),
        ("x * exp(-x)", "x = inf: the value is nan, though its limit is 0"),
        ("x / (1 + abs(x))", "x = -inf: the value is nan, though its limit is -1"),
        ("sum(sqrt(x))", "x[0] = 0: end of the domain"),
    ],
)
def test_ends_of_domains_are_looked_at(formula: str, said: str) -> None:
    report = sd.check(formula, shapes={"x": 3} if "sum" in formula else {})
    assert report.ok  # one may know, and not go there
    assert any(finding.kind == "end" and said in finding.message for finding in report.findings), report.findings


def test_ends_are_compared_where_a_formula_is_smooth_there() -> None:
    report = sd.check("arcsin(x / 3)")
    (found,) = (one for one in report.comparisons if "ends" in one.title)
    assert (found.compared, found.wrong, found.unsettled) == (6, 0, 0)
    assert not any("ends" in one.title for one in sd.check("arcsin(x / 3)", at={"x": 0.5}).comparisons)
    assert not any("ends" in one.title for one in sd.check("sin(x) * y").comparisons)


def test_declared_inputs_stay_what_they_are_declared_to_be() -> None:
    nu, S = sd.scalar("nu", positive=True), sd.symbol("S", (2, 2), symmetric=True)
    report = sd.check(np.sqrt(nu) * np.log1p(nu) + np.sum(np.sqrt(1 + S * S)))
    assert report.ok
    assert not any("nu = " in finding.message for finding in report.findings)


def test_a_rule_that_is_wrong_at_an_end_alone_is_found() -> None:
    x = sd.scalar("x")
    wrong = sd.custom(lambda t: t**3, differential=lambda at, d: (3 * at[0] ** 2 + (at[0] == 1)) * d[0])
    report = sd.check(wrong(x) + np.arcsin(x / 2))
    assert not report.ok
    assert "both modes at the ends of domains: 2 of" in str(report)
    assert all(one.wrong == 0 for one in report.comparisons if "ends" not in one.title)


def test_an_input_that_the_formula_does_not_have_has_no_ends() -> None:
    x, y = sd.scalar("x"), sd.vector("y", 3)
    for wrt in (y, [y, x]):
        assert sd.check(np.log(x) * 2, wrt).ok


def test_second_derivatives_are_held_against_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.frontend.array_derivatives import hvp as whole
    from symdiff.tools.checking import ways

    assert sd.check("sum(sin(x)**2)", x=3).ok
    monkeypatch.setattr(ways, "hvp", lambda f, by, along, **kw: 0.5 * whole(f, by, along, **kw))  # symmetric too
    report = sd.check("sum(sin(x)**2)", x=3)
    assert not report.ok
    assert "second derivatives with differences of first ones by x" in str(report)
    monkeypatch.undo()
    assert sd.check("sum(maximum(x, x[::-1])[1:]**2) + x[0]*abs(x[1])", x=3).ok


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    "text", ["sum(solve(A.T @ A, A.T @ y))", "log(det(A.T @ A)) * sum(y)", "y @ A @ inv(A.T @ A) @ A.T @ y"]
)
@pytest.mark.parametrize("names", [("m", "n"), ("n", "m")])
def test_letters_get_sizes_for_which_matrices_are_regular(text: str, names: tuple[str, str]) -> None:
    report = sd.check(text, shapes={"A": names, "y": names[0]})
    assert report.ok, report
    assert report.compared


def test_matrices_that_are_always_singular_are_told() -> None:
    for text, shapes in (("log(det(outer(x, x)))", {"x": 3}), ("sum(inv(A.T @ A))", {"A": (2, 4)})):
        report = sd.check(text, shapes=shapes)
        assert not report.ok
        assert report.compared == 0
        assert "a matrix of the formula is singular; give one in at=" in str(report)


@pytest.mark.parametrize(
    "text",
    ["polygamma(2, x)", "digamma(x)", "ndtri(x)", "erfcinv(x)", "expn(2, x)", "spherical_jn(1, x)", "jv(2, x)",
     "gradient(log(ndtr(x)), x)", "stdtrit(3.0, x)", "gammaincinv(2.0, x)"],
)
def test_orders_are_no_numbers_to_move_and_inverses_end(text: str) -> None:
    for seed in range(2):
        assert sd.check(text, seed=seed).ok


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_rounding_alone_is_no_defect(n: int, seed: int) -> None:
    assert sd.check("det(outer(x, x))", seed=seed, x=n).ok
    assert sd.check("trace(outer(x, x) - outer(x, x).T)*x[0]", seed=seed, x=n).ok


@pytest.mark.parametrize("seed", range(6))
def test_jumps_of_a_gradient_are_no_defect(seed: int) -> None:
    assert sd.check("mod(x, y)", seed=seed).ok
    assert sd.check("x*floor(x/y)", seed=seed).ok


# ---------------------------------------------------------------------------- custom rules
# What check says of a function with a rule of its author's.


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


@pytest.mark.parametrize(
    ("text", "at"),
    [("exp(x)", {"x": 709.7}), ("cosh(x)", {"x": 710.0}), ("1/x", {"x": 1e-103}), ("exp(-x)", {"x": 740.0}),
     ("exp(x)*y", {"x": 700.0, "y": 1000.0}), ("1e-100*log(x)", {"x": 3.0}), ("x/y", {"x": 1e-25, "y": 1e-25})],
)  # fmt: skip
def test_what_is_right_near_the_ends_of_the_range_is_ok(text: str, at: dict[str, float]) -> None:
    assert str(sd.check(text, at=at)).startswith("ok")
