"""Every benchmark case is right at a small size, on every backend: a fast wrong answer is no benchmark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import workloads
from bench.cases import CASES, Case
from bench.floor import Floor
from bench.run import merged, prepare
from bench.shown import draw, markdown, table


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case_agrees_with_its_reference(case: Case, backend: str) -> None:
    data = case.data(case.small)
    kernel = case.compile(case.small, backend)
    assert kernel.backend == {"native": "c", "interpreter": "interpreter", "numpy": "numpy"}[backend]
    results = workloads.as_list(kernel(inputs=data))
    assert workloads.disagreement(results, case.reference(data)) < case.tolerance


def test_disagreement_sees_a_wrong_number_and_a_wrong_shape() -> None:
    right = np.array([1.0, -4.0])
    assert workloads.disagreement([right], [right]) == 0.0
    assert workloads.disagreement([right + np.array([0.0, 0.4])], [right]) == pytest.approx(0.1)
    assert workloads.disagreement([np.array([np.nan, -4.0])], [right]) == np.inf
    with pytest.raises(AssertionError, match=r"shape \(1, 2\)"):
        workloads.disagreement([right[None]], [right])


def test_complex_step_is_exact() -> None:
    x = np.array([[0.3, 2.0], [1.1, -0.5]])
    jacobian = workloads.complex_step(lambda v: np.stack([np.exp(v[0]) * v[1], v[1] ** 3]), x)
    expected = np.array([[[np.exp(a) * b, np.exp(a)], [0.0, 3 * b * b]] for a, b in x])
    np.testing.assert_allclose(jacobian, expected, rtol=1e-15)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_both_layouts_are_checked_and_called(case: Case) -> None:
    small = replace(case, full=case.small)
    rows = prepare(small)
    expected = [np.asarray(array) for array in workloads.as_list(rows.fresh())]
    assert workloads.disagreement(workloads.as_list(rows.reused()), expected) == 0.0
    if rows.known["layout"]:
        columns = prepare(small, columns=True)
        turned = [np.moveaxis(array, -1, 0) for array in workloads.as_list(columns.reused())]
        assert workloads.disagreement(turned, expected) < case.tolerance
        assert (rows.known["layout"], columns.known["layout"]) == ("rows", "columns")


@pytest.mark.parametrize("columns", [False, True])
def test_a_wrong_result_is_not_timed(columns: bool) -> None:
    case = CASES["P3"]
    wrong = replace(case, full=case.small, reference=lambda data: [1.001 * r for r in case.reference(data)])
    with pytest.raises(AssertionError, match="away from its reference"):
        prepare(wrong, columns=columns)


def test_what_is_moved_is_counted_for_a_sample() -> None:
    case = CASES["P9"]
    assert prepare(replace(case, full={"batch": 16})).moved == (16, 6, 7)
    assert prepare(replace(case, full={"batch": 17})).moved is None  # the floor moves whole vectors


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("count", [8, 64, 1000])
def test_the_floor_writes_every_number(count: int, columns: bool) -> None:
    floor = Floor()
    timing = floor.measure(count, 3, 5, columns=columns, seconds=0.0)
    assert 0 < timing.least <= timing.median
    with pytest.raises(ValueError, match="no multiple"):
        floor.measure(count + 1, 3, 5, columns=columns, seconds=0.0)


def test_rounds_are_merged_and_stand_beside_each_other(tmp_path: Path) -> None:
    ours = {"case": "P3", "backend": "c", "derive": 0.0, "compile": 0.0, "least": 1e-6, "median_out": 2e-6}
    lines = [
        *({**ours, "layout": "rows", "median": m, "least_out": m / 2} for m in (3e-6, 9e-6, 4e-6)),
        {**ours, "layout": "columns", "median": 5e-6, "least_out": 5e-6},
        *({"peer": "heyoka", "case": "P3", "median": m, "least": m} for m in (6e-6, 8e-6, 2e-6)),
        {"peer": "floor", "case": "P3", "layout": "columns", "median": 1e-6, "least": 1e-6},
        {"peer": "heyoka", "version": "1"},
    ]
    found = list(merged(lines))
    rows, columns, heyoka, floor, version = found
    assert (rows["median"], rows["least_out"], heyoka["median"], heyoka["least"]) == (4e-6, 1.5e-6, 6e-6, 2e-6)
    assert columns["median"] == 5e-6
    assert version == lines[-1]
    shown = table([rows, columns], [heyoka, floor, version]).splitlines()
    assert shown[2].split() == ["P3", "rows", "c", "0.0", "0.0", "4.0", "2.0", "6.0", "3.00"]
    assert shown[3].split() == ["P3", "columns", "c", "0.0", "0.0", "5.0", "2.0", "6.0", "3.00", "1.0", "0.50"]
    page = markdown({"cpu": "one"}, [rows, columns], [heyoka, floor, version]).splitlines()
    assert "- cpu: one" in page
    assert "| P3 | columns | c | 0.0 | 0.0 | 5.0 | 2.0 | 6.0 | 3.00 | 1.0 | 0.50 |" in page
    draw([rows, columns], [heyoka, floor, version], tmp_path / "times.svg")
    drawn = (tmp_path / "times.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in drawn for name in ("symdiff", "heyoka", "floor", "P3 rows", "P3 columns"))
