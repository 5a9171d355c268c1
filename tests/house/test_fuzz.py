"""Random tests: kinds, workers, seeds and smaller cases; published figures are found again."""

from __future__ import annotations

import os
import random
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import symdiff as sd
from fuzz import certificates, certified, layouts, sizes, values
from fuzz.__main__ import main
from fuzz.case import Case, Kind, case_of, shorter
from fuzz.kinds import KINDS
from fuzz.problems import PROBLEMS
from fuzz.regressions import REGRESSIONS
from fuzz.workers import Worker, outcome

#: Cases of each kind that a run of the tests takes, a second or two.
SHORT = {
    "texts": 150,
    "assignments": 60,
    "printed": 60,
    "values": 4,
    "certified": 12,
    "certificates": 12,
    "layouts": 60,
    "sizes": 100,
    "files": 80,
    "arguments": 500,
    "strangers": 40,
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", KINDS)
def test_a_short_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kind = KINDS[name]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(SHORT[name]):
            case = case_of(kind, 2026, number)
            wrong = outcome(kind.run, case)
            if wrong:
                found[number] = (wrong, case)
    assert not found


def test_a_refused_complex_power_is_no_finding() -> None:
    point = {"x": 1.0, "y": 1.0}
    assert certificates.run((("add", ("power", ("negative", ("1",))), ("x",)), point)) == ""


@pytest.mark.parametrize("name", KINDS)
def test_a_seed_repeats_its_cases_and_they_get_smaller(name: str) -> None:
    kind = KINDS[name]
    for number in range(20):
        case = case_of(kind, 7, number)
        assert repr(case) == repr(case_of(kind, 7, number))
        assert all(repr(other) != repr(case) for other in islice(kind.smaller(case), 50))
    assert len({repr(case_of(kind, seed, 0)) for seed in range(20)}) > 5


# ---------------------------------------------------------------------------- the references find what is wrong


def test_a_wrong_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = (("1sin", ("x",)), 5)
    assert values.run(case) == ""
    monkeypatch.setitem(values.UNARY, "sin", ("sin({0})", np.cos))
    assert "value of native is wrong" in values.run(case)
    monkeypatch.setitem(values.UNARY, "sin", ("sin({0}) + 0*stop_gradient({0})", np.sin))
    assert values.run(case) == ""
    monkeypatch.setitem(values.UNARY, "sin", ("stop_gradient(sin({0}))", np.sin))
    assert "d/dx of native is wrong" in values.run(case)


def test_a_wrong_value_or_slope_at_a_size_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"steps": [("reverse", [1]), ("three", [3])], "n": 20, "letters": True, "backend": "interpreter"}
    case |= {"samples": 0, "shared": [True] * 3, "seed": 5}
    assert sizes.run(case) == ""
    monkeypatch.setitem(sizes.ONE, "three", lambda B: B[:3] if isinstance(B, np.ndarray) else B[1:4])
    assert sizes.run(case).startswith("at n = 20: value off by")
    monkeypatch.setitem(sizes.ONE, "three", lambda B: B[:3] if isinstance(B, np.ndarray) else sd.stop_gradient(B[:3]))
    assert sizes.run(case).startswith("at n = 20: slope 0; differences")


def test_trees_are_what_their_text_says() -> None:
    rng = random.Random(0)
    numbers = np.random.default_rng(0)
    point = {name: np.asarray(numbers.uniform(-1, 1, shape)) for name, shape in values.INPUTS.items()}
    for _ in range(200):
        tree, _ = values.draw(rng)
        assert values.computed(tree, point).shape == values.shape_of(tree)
        for other, _ in values.smaller((tree, 0)):
            assert values.shape_of(other) == values.shape_of(tree)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_layouts_keep_the_values(layout: str) -> None:
    plain = np.arange(12.0).reshape(3, 4)
    laid = np.asarray(layouts.lay(plain, layout))
    if layout == "broadcast":
        np.testing.assert_array_equal(laid, np.stack([plain[0]] * 3))
        assert laid.strides[0] == 0
    else:
        np.testing.assert_array_equal(laid, plain)
    told = {"unaligned": not laid.flags.aligned, "readonly": not laid.flags.writeable, "reversed": laid.strides[0] < 0}
    assert told.get(layout, True)


# ---------------------------------------------------------------------------- workers and the command


def act(case: Case) -> str:
    if case == "hang":
        time.sleep(3600)
    if case == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == "memory":
        return str(len(bytearray(10**9)))
    if case == "raise":
        raise KeyError("words")
    return "" if case == "fine" else "wrong"


def drawn(rng: random.Random) -> Case:
    return rng.choice(("fine", "abcXdef", "fine"))


def less(case: Case) -> Iterator[Case]:
    yield from (other for other in shorter(case) if "X" in other)


ACTING = Kind("acting", drawn, act, less, seconds=25.0, megabytes=1024)


@pytest.mark.exhaustive
def test_a_worker_outlives_what_it_runs() -> None:
    with Worker(ACTING) as worker:
        assert worker.run("fine") == ""
        assert worker.run("raise").startswith("KeyError: 'words' (test_fuzz.py:")
        assert worker.run("memory").startswith("MemoryError")
        assert worker.run("crash") == "the process died (SIGSEGV)"
        assert worker.run("fine") == ""
        worker.kind = replace(ACTING, seconds=0.5)
        assert worker.run("hang") == "no end within 0.5 seconds"
        worker.kind = ACTING
        assert worker.run("fine") == ""


@pytest.mark.exhaustive
def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(KINDS, "acting", ACTING)
    assert main(["--kind", "acting", "--seed", "3", "--count", "12"]) == 1
    said = capsys.readouterr().out
    assert "acting: wrong\n" in said
    assert "case:  'X'" in said
    (again,) = [line.partition("python -m fuzz ")[2] for line in said.splitlines() if "again:" in line]
    assert main(again.split()) == 1
    assert "1 cases, 1 findings" in capsys.readouterr().out
    monkeypatch.setitem(KINDS, "acting", Kind("acting", lambda rng: "fine", act, less))
    assert main(["--kind", "acting", "--seconds", "0.1"]) == 0
    assert "nothing found" in capsys.readouterr().out


# ---------------------------------------------------------------------------- certified
# Published figures: every regression from both starts, every problem at both points.


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
