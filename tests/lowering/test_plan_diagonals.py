"""Diagonals and unit vectors within formulas over long arrays: made as arrays, where no loop goes along them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.graph.reference.interpret import evaluate
from symdiff.lowering.plan.planner import make_plan
from symdiff.lowering.plan.steps import LoopStep

Array = npt.NDArray[Any]
rng = np.random.default_rng(7)

FORMULAS = [
    "eye(n) + N",
    "N - 3 * eye(n)",
    "inv(N + t * eye(n))",
    "logdet(N + t**2 * eye(n))",
    "exp(t * eye(n)) + N",
    "N * eye(n)",
    "tanh(eye(n) * sum(N)) @ x",
    "exp(diag(x) + N)",
    "(N + diag(x)) @ N",
    "sum(softplus(N - eye(n)), axis=0)",
    "max(N * eye(n), axis=1)",
    "cumsum(exp(eye(n) - N), axis=0)",
    "where(N > eye(n), N, x)",
    "concatenate([eye(n), N]) * t",
    "2 * eye(n) * sum(x) + outer(x, x) * N",
]
SHAPES: dict[str, Any] = {"N": ("n", "n"), "t": (), "x": "n"}


def used(text: str, n: int | str) -> dict[str, Any]:
    def own(shape: Any) -> Any:
        return tuple(n for _ in shape) if isinstance(shape, tuple) else n

    return {name: own(shape) for name, shape in SHAPES.items() if re.search(rf"\b{name}\b", text)}


def numbers(names: Any, n: int, batch: tuple[int, ...] = ()) -> list[Array]:
    made = {
        "N": lambda: rng.uniform(0.1, 1, (*batch, n, n)) + n * np.eye(n),
        "t": lambda: rng.uniform(0.5, 1.5, batch),
        "x": lambda: rng.normal(size=(*batch, n)),
    }
    return [made[name]() for name in names]


def near(got: Any, wanted: Any) -> None:
    scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
    np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11 * scale)


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_with_diagonals_have_plans(text: str) -> None:
    """Values and gradients are NumPy's, for letters and numbers, samples and batches, and no step is NumPy's."""
    shapes = used(text, "n")
    for given in (shapes, used(text.replace("eye(n)", "eye(37)"), 37)):
        own = text if given is shapes else text.replace("eye(n)", "eye(37)")
        for formula in (own, f"gradient(sum(({own})**2), N)"):
            kernel, reference = (sd.compile(formula, backend=b, **given) for b in ("auto", "numpy"))
            assert kernel.stats["operations"] >= 0, formula
            assert not kernel.stats.get("numpy_steps"), formula
            for batch in ((), (3,)):
                arguments = numbers(given, 37, batch)
                near(kernel(*arguments), reference(*arguments))


def test_zeros_beside_a_diagonal_are_numpys() -> None:
    """A zero that is written multiplies as any other number does: beside nan and inf it is nan."""
    N = rng.normal(size=(40, 40))
    N[3, 7], N[5, 5], N[9, 9] = np.nan, np.inf, np.nan
    got = sd.compile("N * eye(n)", N=("n", "n"))(N)
    np.testing.assert_array_equal(got, N * np.eye(40))
    infinite = sd.compile("N + t * eye(n)", N=("n", "n"), t=())(np.ones((40, 40)), np.inf)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(infinite, np.ones((40, 40)) + np.inf * np.eye(40))


def test_unit_vectors_and_shifted_diagonals() -> None:
    x, A = sd.vector("x", 50), sd.matrix("A", 50, 60)
    X, M = rng.normal(size=50), rng.normal(size=(50, 60))
    unit = np.zeros(50)
    unit[7] = 1.0
    cases = [
        (np.exp(sd.jacobian(x[7] * np.sum(x), x)), np.exp(unit * X.sum() + X[7])),
        (np.cos(A + np.eye(50, 60, 2)), np.cos(M + np.eye(50, 60, 2))),
        (np.eye(50) @ A + np.exp(A), M + np.exp(M)),
    ]
    for formula, wanted in cases:
        kernel = sd.compile(formula)
        assert not kernel.stats.get("numpy_steps")
        near(kernel(*([X] if wanted.ndim == 1 else [M])), wanted)


PIECEWISE = [
    "diag(concatenate((x, 2 * x)))",
    "diag(concatenate((x, [t], x**2)))",
    "jacobian(roll(x, 1) * x, x)",
    "jacobian(x * (roll(x, -1) - roll(x, 2)), x)",
    "jacobian(concatenate((x[:-1]**2, x[-1:])), x)",
    "hessian(sum((roll(x, 1) - x)**4), x)",
    "hessian(sum(where(x > 0.1, x, 0.5 * x)[1:]**3) + x[0]**2, x)",
    "jacobian(pad(x**2, (1, 2)) + concatenate(([t], x, [t, t])), x)",
    "diag(roll(x, 3))[1:, :-1] * t",
    "tril(outer([1.0, 2.0, 3.0], x))",
    "jacobian(triu(outer(x, [1.0, 2.0, 3.0]), -1)[0], x)",
]


@pytest.mark.parametrize("text", PIECEWISE)
def test_diagonals_of_vectors_in_parts(text: str) -> None:
    """What stands on a diagonal may change along it, as in Jacobians of neighbours on a ring."""
    for n in (1, 2, 3, 4, 7, 16, 40, 200):
        arguments = numbers(used(text, "n"), n, ())
        shared = numbers(used(text, "n"), n, (2,))
        reference = sd.compile(text, backend="numpy", **used(text, "n"))
        for kernel in (PIECES_IN_LETTERS[text], sd.compile(text, backend="interpreter", **used(text, n))):
            try:
                wanted = reference(*arguments)
            except sd.ShapeError:
                with pytest.raises(sd.ShapeError):
                    kernel(*arguments)
                break
            near(kernel(*arguments), wanted)
            near(kernel(*shared), reference(*shared))


PIECES_IN_LETTERS = {text: sd.compile(text, backend="interpreter", **used(text, "n")) for text in PIECEWISE}
RING = np.array([0.3, -1.0, 2.0, 0.7, 1.1])


def test_the_jacobian_of_a_ring() -> None:
    kernel = PIECES_IN_LETTERS["jacobian(roll(x, 1) * x, x)"]
    for n in (3, 5, 50):
        x = np.resize(RING, n)
        np.testing.assert_allclose(kernel(x), np.diag(np.roll(x, 1)) + x[:, None] * np.roll(np.eye(n), 1, axis=0))


def test_two_places_on_one_axis_are_left_to_numpy() -> None:
    x = sd.vector("x", "n")
    squares = np.exp(np.diag(x) ** 2)
    part = (squares / squares.sum(axis=-1, keepdims=True))[..., -1]
    kernel, fixed = (
        sd.compile(sd.gradient((part * part).sum(), x), inputs=[x], backend=backend) for backend in ("auto", "numpy")
    )
    np.testing.assert_allclose(kernel(RING), fixed(RING), rtol=1e-12)


@pytest.mark.parametrize("step", [2, 3, -2])
@pytest.mark.parametrize("samples", [1, 3])
def test_every_other_place(step: int, samples: int) -> None:
    """What stands between zeros is a loop of its own, however long the array is."""
    x = sd.symbol("x", (3000, 3))
    part = x[10:90:step] if step > 0 else x[90:10:step]
    loss = np.sum(np.tanh(part) ** 2) + np.sum(x[:50] ** 2 * x[1:101:2])
    slope = sd.gradient(loss, x)
    plan = make_plan([x.node], [slope.node], 10_000)
    pieces = [piece for step in plan.steps if isinstance(step, LoopStep) for piece in step.pieces]
    assert 0 < sum([len(piece.program.ops) for piece in pieces]) < 1000
    values = np.random.default_rng(0).normal(size=(samples, 3000, 3))
    found = sd.compile(slope, backend="interpreter")(values)
    for k in range(samples):
        (want,) = evaluate([slope.node], {"x": values[k]})
        np.testing.assert_allclose(found[k], want, rtol=1e-12, atol=1e-14)
