"""The table of benchmark cases: a formula, data of any size, and an independent reference for each.

The runner times these at their full size, and the tests run every one of them at its small
size on every backend. Formulas are written as a user would write them, as text or over
symbols; data and references are in :mod:`bench.workloads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import symdiff as sd
from bench import workloads as w
from bench.kinds import KINDS, Kind
from symdiff import Kernel
from symdiff.frontend.formula import read_formula
from symdiff.runtime.options import Backend

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Case:
    """One thing to compute.

    Parameters
    ----------
    name : str
        Short name, for the command line.
    title : str
        What it is, for the table.
    formula : callable
        Takes the sizes, gives the arguments of ``symdiff.compile``.
    data : callable
        Takes the sizes, gives an array for each input, a batch of them in front.
    reference : callable
        Takes the data, gives the expected results in the order of the outputs.
    full, small : mapping of str to int
        Sizes for timing and for tests.
    tolerance : float
        Largest difference accepted, relative to the largest number of an output.
    """

    name: str
    title: str
    formula: Callable[[Sizes], dict[str, Any]]
    data: Callable[[Sizes], w.Data]
    reference: Callable[[w.Data], w.Results]
    full: Sizes
    small: Sizes = field(default_factory=dict)
    tolerance: float = 1e-10

    def derive(self, sizes: Sizes) -> dict[str, Any]:
        """Return the arguments of ``symdiff.compile``, with every derivative taken."""
        return self.formula(sizes)

    def compile(self, sizes: Sizes, backend: Backend = "auto") -> Kernel:
        """Derive and compile."""
        return compiled(self.derive(sizes), backend=backend)


def compiled(arguments: Mapping[str, Any], **options: Any) -> Kernel:
    """Compile what ``arguments`` has as "formula", with the others as keywords."""
    others = {name: value for name, value in arguments.items() if name != "formula"}
    kernel: Kernel = sd.compile(arguments["formula"], **others, **options)
    return kernel


def logdet_gradient(sizes: Sizes) -> dict[str, Any]:
    n = sizes["n"]
    return {"formula": "gradient(log(det(A)), A)", "shapes": {"A": (n, n)}}


def least_squares_gradient(sizes: Sizes) -> dict[str, Any]:
    m, n = sizes["rows"], sizes["columns"]
    return {"formula": "gradient(sum((s - V @ x)**2) / 2, x)", "shapes": {"V": (m, n), "s": m, "x": n}}


def policy_jacobian(sizes: Sizes) -> dict[str, Any]:
    return {"formula": "jacobian(log(softmax(X @ y)), X)", "shapes": {"X": (2, 4), "y": 4}}


def logsumexp_gradient(sizes: Sizes) -> dict[str, Any]:
    return {"formula": "gradient(log(sum(exp(x))), x)", "shapes": {"x": sizes["n"]}}


def mixture_gradient(sizes: Sizes) -> dict[str, Any]:
    d, k, n = sizes["d"], sizes["k"], sizes["n"]
    alpha, mu, q = sd.vector("alpha", k), sd.matrix("mu", k, d), sd.matrix("q", k, d)
    low, x = sd.matrix("l", k, d * (d - 1) // 2), sd.matrix("x", n, d)
    # the factor's entries below the diagonal by number, all others by the number of a zero
    rows, columns = w.strict_lower(d)
    place = np.full((d, d), low.shape[1])
    place[rows, columns] = np.arange(len(rows))
    strict = np.take(np.concatenate([low, np.zeros((k, 1))], axis=1), place.ravel(), axis=1).reshape(k, d, d)
    factor = strict + np.exp(q)[:, :, None] * np.eye(d)
    z = np.einsum("kij,nkj->nki", factor, x[:, None, :] - mu)
    t = alpha + q.sum(axis=1) - 0.5 * (z**2).sum(axis=2)
    prior = 0.5 * ((np.exp(q) ** 2).sum() + (low**2).sum())
    f = sd.logsumexp(t, axis=1).sum() - n * sd.logsumexp(alpha) - prior - 0.5 * n * d * np.log(2 * np.pi)
    inputs = [alpha, mu, q, low, x]
    return {"formula": sd.gradient(f, tuple(inputs[:4])), "inputs": inputs, "batch": []}


def bundle_jacobian(sizes: Sizes) -> dict[str, Any]:
    camera, point = sd.vector("camera", 11), sd.vector("point", 3)
    weight, feature = sd.scalar("weight"), sd.vector("feature", 2)
    axis, focal, principal, kappa = camera[:3], camera[6], camera[7:9], camera[9:]
    gap = point - camera[3:6]
    angle = np.sqrt(axis @ axis)
    k = axis / angle
    turned = gap * np.cos(angle) + np.cross(k, gap) * np.sin(angle) + k * (k @ gap) * (1 - np.cos(angle))
    image = turned[:2] / turned[2]
    square = image @ image
    residual = weight * (image * (1 + kappa[0] * square + kappa[1] * square**2) * focal + principal - feature)
    return {
        "formula": sd.jacobian(residual, (camera, point, weight)),
        "inputs": [camera, point, weight, feature],
    }


def _rosenbrock(sizes: Sizes) -> tuple[sd.Array, sd.Array]:
    x = sd.vector("x", sizes["n"])
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), x


def rosenbrock_gradient(sizes: Sizes) -> dict[str, Any]:
    f, x = _rosenbrock(sizes)
    return {"formula": sd.gradient(f, x), "inputs": [x]}


def rosenbrock_hessian(sizes: Sizes) -> dict[str, Any]:
    f, x = _rosenbrock(sizes)
    return {"formula": sd.hessian(f, x), "inputs": [x]}


def logistic_hessian(sizes: Sizes) -> dict[str, Any]:
    m, n = sizes["rows"], sizes["columns"]
    return {"formula": "hessian(sum(softplus(-y * (X @ t))), t)", "shapes": {"X": (m, n), "y": m, "t": n}}


def products_jacobian(sizes: Sizes) -> dict[str, Any]:
    n = sizes["n"]
    return {"formula": "jacobian((A + B) @ (A * B).T, (A, B))", "shapes": {"A": (n, n), "B": (n, n)}}


def three_body(sizes: Sizes) -> dict[str, Any]:
    text = f"""
        r1 = sqrt((q[0] - {w.MASS})**2 + q[1]**2 + q[2]**2)
        r2 = sqrt((q[0] - {w.MASS} + 1)**2 + q[1]**2 + q[2]**2)
        p @ p / 2 + q[1] * p[0] - q[0] * p[1] - (1 - {w.MASS}) / r1 - {w.MASS} / r2
    """
    q, p = sd.vector("q", 3), sd.vector("p", 3)
    energy = _of_text(text, q=q, p=p)
    return {"formula": (energy, *sd.gradient(energy, (q, p))), "inputs": [q, p]}


def _of_text(text: str, **symbols: sd.Array) -> sd.Array:
    """Return text as a formula of symbols that exist."""
    found: sd.Array = read_formula(text, {name: symbol.shape for name, symbol in symbols.items()}).value
    return found


def kinetics_jacobian(sizes: Sizes) -> dict[str, Any]:
    y = sd.vector("y", 20)
    change: list[Any] = [0.0] * 20
    for rate, reacting, coming in w.REACTIONS:
        speed: Any = rate
        for species in reacting:
            speed = speed * y[species - 1]
        for species in coming:
            change[species - 1] = change[species - 1] + speed
        for species in reacting:
            change[species - 1] = change[species - 1] - speed
    return {"formula": sd.jacobian(np.stack(change), y), "inputs": [y]}


def option_greeks(sizes: Sizes) -> dict[str, Any]:
    inputs = [sd.scalar(name) for name in "SKrvT"]
    s, k, r, v, t = inputs
    d1 = (np.log(s / k) + (r + v**2 / 2) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)

    def normal(x: Any) -> Any:
        return sd.erfc(-x / np.sqrt(2.0)) / 2

    price = s * normal(d1) - k * np.exp(-r * t) * normal(d2)
    return {"formula": sd.gradient(price, tuple(inputs)), "inputs": inputs}


def arm_jacobian(sizes: Sizes) -> dict[str, Any]:
    q = sd.vector("q", 6)
    frame, place = np.eye(3), np.zeros(3)
    for (height, reach, quarters), angle in zip(w.JOINTS, q, strict=True):
        c, s = np.cos(angle), np.sin(angle)
        rows: list[list[Any]] = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
        if quarters:
            rows = [[c, 0.0, s * quarters], [s, 0.0, -c * quarters], [0.0, quarters, 0.0]]
        turn = np.stack([np.stack(row) for row in rows])
        place = place + frame @ np.stack([reach * c, reach * s, height])
        frame = frame @ turn
    return {"formula": sd.jacobian(np.concatenate([place, frame[:, 2]]), q), "inputs": [q]}


def student_derivatives(sizes: Sizes) -> dict[str, Any]:
    text = """
        z = (x - t[1]) / t[2]
        half = (t[0] + 1) / 2
        lgamma(half) - lgamma(t[0] / 2) - log(pi * t[0]) / 2 - log(t[2]) - half * log1p(z**2 / t[0])
    """
    t, x = sd.vector("t", 3), sd.scalar("x")
    density = _of_text(text, t=t, x=x)
    return {"formula": (sd.gradient(density, t), sd.hessian(density, t)), "inputs": [t, x]}


def many_operations(sizes: Sizes) -> dict[str, Any]:
    x = sd.vector("x", 50)
    value = w.run_steps(w.random_steps(sizes["operations"]), list(x), np.sin)
    return {"formula": (value, sd.gradient(value, x)), "inputs": [x]}


def _logdet_case(n: int, batch: int) -> Case:
    return Case(
        f"P1-{n}",
        f"P1 gradient of log det {n}×{n}, {batch:,} samples",
        logdet_gradient,
        lambda s: w.logdet_data(s["n"], s["batch"]),
        w.logdet_reference,
        {"n": n, "batch": batch},
        {"n": min(n, 9), "batch": 3},
    )


def _mixture_case(d: int, k: int) -> Case:
    return Case(
        f"P4-{d}-{k}",
        f"P4 Gaussian mixture gradient, d={d} K={k} N=1000",
        mixture_gradient,
        lambda s: w.mixture_data(s["d"], s["k"], s["n"]),
        w.mixture_reference,
        {"d": d, "k": k, "n": 1000},
        {"d": min(d, 3), "k": min(k, 4), "n": 7},
    )


def _rosenbrock_case(n: int) -> Case:
    return Case(
        f"P6-{n}",
        f"P6 Rosenbrock gradient, n={n:,}",
        rosenbrock_gradient,
        lambda s: w.rosenbrock_data(s["n"]),
        w.rosenbrock_gradient_reference,
        {"n": n},
        {"n": min(n, 12)},
    )


def _kinetics_case(count: int) -> Case:
    return Case(
        f"P10-{count or 1}",
        f"P10 POLLU 20×20 Jacobian, {f'{count:,} samples' if count else 'one call'}",
        kinetics_jacobian,
        lambda s: w.kinetics_data(s["batch"]),
        w.kinetics_reference,
        {"batch": count},
        {"batch": min(count, 3)},
    )


def _scale_case(operations: int) -> Case:
    return Case(
        f"scale-{operations}",
        f"random formula of {operations:,} operations, value and gradient",
        many_operations,
        lambda s: w.steps_data(),
        lambda d: w.steps_reference(w.random_steps(operations), d),
        {"operations": operations},
        {"operations": operations},
        # the longer formula is chaotic: a rounding error in the middle grows 10^9 times
        tolerance=1e-10 if operations <= 1_000 else 1e-3,
    )



def _kind_case(name: str, kind: Kind) -> Case:
    """Return the value and the gradients of a kind of formula."""

    def formula(sizes: Sizes) -> dict[str, Any]:
        given = {key: sd.array(key, array.shape) for key, array in kind.data(sizes).items()}
        value = kind.value(np, *given.values())
        slopes = sd.gradient(value, tuple(given[key] for key in kind.wrt))
        return {"formula": [value, *slopes], "inputs": list(given.values()), "batch": []}

    return Case(name, kind.title, formula, kind.data, kind.reference, kind.full, kind.small, 1e-8)


_ALL = [
    _logdet_case(4, 100_000),
    _logdet_case(8, 20_000),
    _logdet_case(64, 200),
    _logdet_case(500, 1),
    Case(
        "P2",
        "P2 least squares gradient, 16384×128",
        least_squares_gradient,
        lambda s: w.least_squares_data(s["rows"], s["columns"]),
        w.least_squares_reference,
        {"rows": 16384, "columns": 128},
        {"rows": 12, "columns": 4},
    ),
    Case(
        "P3",
        "P3 policy Jacobian, 200,000 samples",
        policy_jacobian,
        lambda s: w.policy_data(s["batch"]),
        w.policy_reference,
        {"batch": 200_000},
        {"batch": 5},
    ),
    Case(
        "P3-lse",
        "P3 log-sum-exp gradient, n=1,280,000",
        logsumexp_gradient,
        lambda s: w.logsumexp_data(s["n"]),
        w.logsumexp_reference,
        {"n": 1_280_000},
        {"n": 9},
    ),
    _mixture_case(2, 5),
    _mixture_case(10, 25),
    _mixture_case(20, 50),
    Case(
        "P5",
        "P5 bundle adjustment 2×15 Jacobian, 200,000 samples",
        bundle_jacobian,
        lambda s: w.bundle_data(s["batch"]),
        w.bundle_reference,
        {"batch": 200_000},
        {"batch": 5},
        tolerance=1e-9,
    ),
    _rosenbrock_case(4),
    _rosenbrock_case(1000),
    _rosenbrock_case(1_000_000),
    Case(
        "P6-hessian",
        "P6 Rosenbrock Hessian, n=200, dense",
        rosenbrock_hessian,
        lambda s: w.rosenbrock_data(s["n"]),
        w.rosenbrock_hessian_reference,
        {"n": 200},
        {"n": 7},
    ),
    Case(
        "P7",
        "P7 logistic Hessian, 2000×1000",
        logistic_hessian,
        lambda s: w.logistic_data(s["rows"], s["columns"]),
        w.logistic_reference,
        {"rows": 2000, "columns": 1000},
        {"rows": 9, "columns": 4},
    ),
    Case(
        "P8",
        "P8 (A+B)(A∘B)ᵀ Jacobian, n=10",
        products_jacobian,
        lambda s: w.products_data(s["n"]),
        w.products_reference,
        {"n": 10},
        {"n": 3},
    ),
    Case(
        "P9",
        "P9 three-body energy and gradient, 1,000,000 samples",
        three_body,
        lambda s: w.three_body_data(s["batch"]),
        w.three_body_reference,
        {"batch": 1_000_000},
        {"batch": 5},
    ),
    _kinetics_case(0),
    _kinetics_case(100_000),
    Case(
        "greeks",
        "Black–Scholes Greeks, 1,000,000 samples",
        option_greeks,
        lambda s: w.options_data(s["batch"]),
        w.options_reference,
        {"batch": 1_000_000},
        {"batch": 5},
    ),
    Case(
        "arm",
        "Jacobian of an arm of six joints, 100,000 samples",
        arm_jacobian,
        lambda s: w.arm_data(s["batch"]),
        w.arm_reference,
        {"batch": 100_000},
        {"batch": 5},
    ),
    Case(
        "student",
        "Student's log likelihood, gradient and Hessian, 100,000 samples",
        student_derivatives,
        lambda s: w.student_data(s["batch"]),
        w.student_reference,
        {"batch": 100_000},
        {"batch": 5},
    ),
    _scale_case(1_000),
    _scale_case(10_000),
    *(_kind_case(name, kind) for name, kind in KINDS.items()),
]
CASES = {case.name: case for case in _ALL}
