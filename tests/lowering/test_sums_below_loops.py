"""Sums over a batch are taken below loops and solutions that are linear in what differs from sample to sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import symdiff as sd
from symdiff.graph import postorder
from symdiff.graph.primitives import MATRIX_OPS
from symdiff.lowering.plan.access import BATCH
from symdiff.lowering.plan.batch import lift
from symdiff.rewrite import inline

#: Of a shared matrix A and vector w, and of x and y of each sample.
A, w, x, y = sd.matrix("A", 3, 3), sd.vector("w", 4), sd.vector("x", 3), sd.vector("y", 4)


def smoothed(step: Any, start: float) -> Any:
    return sd.scan(lambda s, r: (step(s, *r),) * 2, start, (w, y))[1]


#: What is linear in what differs, behind functions of that.
LINEAR: dict[str, Any] = {
    "exponential": sd.gradient(np.sum((sd.expm(A) @ x) ** 2), A),
    "solution": sd.solve(A, np.sin(x)),
    "several": 2.0 * sd.solve(A, np.sin(x)) + sd.solve(A, w[:3]) - x[::-1],
    "choice": np.where(A[0, 0] > 0.0, sd.solve(A, np.exp(x)), 1.0),
    "filter": smoothed(lambda s, p, r: 0.5 * s + p * r, 0.0),
    "state that is shared": sd.scan(
        lambda c, r: ((0.5 * c[0] + r[1] * c[1], 0.5 * c[1] + r[0]), c[1]), (0.0, 1.0), (w, y)
    )[1],
    "states of both kinds": np.sum(
        np.stack(sd.scan(lambda c, r: ((0.5 * c[0] + r[1] * c[1], 0.5 * c[1] + r[0]), None), (0.0, 1.0), (w, y))[0])
    ),
    "filter of a start": sd.scan(lambda s, p: (p * s, s), np.sum(y), w)[1],
}
#: What is not, though it has loops and solutions.
OTHER: dict[str, Any] = {
    "squares in the step": smoothed(lambda s, p, r: p * s + r * r, 0.0),
    "loop with a term": smoothed(lambda s, p, r: 0.5 * s + p + r, 1.0),
    "loop of a sine": smoothed(lambda s, p, r: np.sin(s) * p + r, 0.0),
    "matrix of each sample": sd.solve(A + np.outer(x, x), x),
    "square of a solution": sd.solve(A, x) ** 2,
}


def given(count: int) -> list[Any]:
    rng = np.random.default_rng(count)
    shapes = (3, 3), (4,), (count, 3), (count, 4)
    return [rng.normal(size=shape) + (3.0 * np.eye(3) if k == 0 else 0.0) for k, shape in enumerate(shapes)]


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
@pytest.mark.parametrize("name", [*LINEAR, *OTHER])
def test_sums_are_those_of_each_sample(name: str, backend: Any) -> None:
    formula = (LINEAR | OTHER)[name]
    each, total = (
        sd.compile(formula, [A, w, x, y], batch=[x, y], backend=backend, reduce=how) for how in (None, "sum")
    )
    for count in (1, 2, 9, 300):
        numbers = given(count)
        want = sum(each(*numbers[:2], numbers[2][i], numbers[3][i]) for i in range(count))
        assert_allclose(total(*numbers), want, rtol=1e-9, atol=1e-9 * np.max(np.abs(want)))
        single = [array.astype(np.float32) for array in numbers]
        assert_allclose(total(*single), want, rtol=1e-3, atol=1e-3 * np.max(np.abs(want)))
    assert_allclose(total(*[np.zeros((0, *a.shape[1:])) if k > 1 else a for k, a in enumerate(given(2))]), 0.0)


@pytest.mark.parametrize("name", [*LINEAR, *OTHER])
def test_what_is_linear_runs_once(name: str) -> None:
    (node,) = inline([(LINEAR | OTHER)[name].node])
    lifted = lift([a.node for a in (A, w, x, y)], [node], [False, False, True, True], total=True)
    of_many = [
        each
        for each in postorder(lifted.outputs)
        if (each.is_recurrence or each.op in MATRIX_OPS) and any(BATCH in arg.shape for arg in each.args)
    ]
    assert bool(of_many) == (name in OTHER)
