"""Every benchmark case is right at a small size, on every backend: a fast wrong answer is no benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from bench import workloads
from bench.cases import CASES, Case


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
