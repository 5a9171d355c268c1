"""Published figures: every regression from both starts, every problem at both points."""

from __future__ import annotations

import pytest

from fuzz import certified
from fuzz.problems import PROBLEMS
from fuzz.regressions import REGRESSIONS


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression(name: str, start: int) -> None:
    assert certified.regression(name, start) == ""


@pytest.mark.parametrize("where", ["start", "solution"])
@pytest.mark.parametrize("number", PROBLEMS)
def test_problem(number: int, where: str) -> None:
    assert certified.problem(number, where) == ""


def test_other_figures_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    row = REGRESSIONS["Misra1a"]
    other = (row.parameters[0] * 1.000001, *row.parameters[1:])
    monkeypatch.setitem(REGRESSIONS, "Misra1a", row._replace(parameters=other))
    assert "digits of Misra1a" in certified.regression("Misra1a", 0)
    monkeypatch.setitem(PROBLEMS, 7, PROBLEMS[7]._replace(begins=0.0))
    assert "published" in certified.problem(7, "start")
    monkeypatch.setitem(certified.SPECIAL, "erf", (certified.SPECIAL["erfc"][0], -5.0, 5.0))
    assert "derivative 0 of erf" in certified.special("erf", 1.5)
