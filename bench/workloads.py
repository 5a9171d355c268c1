"""Data and reference results of the workloads, in NumPy alone.

Nothing here knows symdiff, so the references are independent of it, and an interpreter
that has only another library installed can run that library on the same numbers. Where a
derivative by hand would be long, the reference is a complex step, which is exact to
rounding for analytic functions (Squire and Trapp 1998).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.optimize import rosen_der, rosen_hess

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Data: TypeAlias = dict[str, Floats]
#: Results by output: one array, or several in the order of the case's outputs.
Results: TypeAlias = list[Floats]


def generator(seed: int = 31337) -> np.random.Generator:
    """Return the source of random numbers; a fresh one for each array, so that sizes do not shift others."""
    return np.random.default_rng(seed)


def complex_step(function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], x: Floats) -> Floats:
    """Return the Jacobian of ``function`` for each row of ``x``, shape (N, outputs, inputs).

    Parameters
    ----------
    function : callable
        Takes and gives arrays of shape (variables, N), and is analytic.
    x : ndarray of shape (N, inputs)
    """
    columns = []
    for j in range(x.shape[1]):
        moved = x.T.astype(complex)
        moved[j] += 1e-30j
        columns.append(function(moved).imag / 1e-30)
    return np.ascontiguousarray(np.moveaxis(np.array(columns), (0, 1, 2), (2, 1, 0)))


# ---------------------------------------------------------------------------- P1 gradient of log det


def logdet_data(n: int, batch: int) -> Data:
    return {"A": generator().standard_normal((batch, n, n)) + n * np.eye(n)}


def logdet_reference(d: Data) -> Results:
    return [np.linalg.inv(d["A"]).swapaxes(-1, -2)]


# ---------------------------------------------------------------------------- P2 least squares


def least_squares_data(rows: int, columns: int) -> Data:
    t = np.linspace(-1.0, 1.0, rows)
    return {"V": np.vander(t, columns, increasing=True), "s": np.sign(t), "x": generator().standard_normal(columns)}


def least_squares_reference(d: Data) -> Results:
    return [d["V"].T @ (d["V"] @ d["x"] - d["s"])]


# ---------------------------------------------------------------------------- P3 softmax policy, log-sum-exp


def policy_data(batch: int) -> Data:
    r = generator()
    return {"X": r.standard_normal((batch, 2, 4)), "y": r.standard_normal((batch, 4))}


def policy_reference(d: Data) -> Results:
    # d log softmax(X y)_k / d X_ij = (delta_ki - softmax(X y)_i) y_j
    p = special.softmax(np.einsum("bij,bj->bi", d["X"], d["y"]), axis=-1)
    return [(np.eye(2) - p[:, None, :])[..., None] * d["y"][:, None, None, :]]


def logsumexp_data(n: int) -> Data:
    return {"x": generator().uniform(-1.0, 1.0, n)}


def logsumexp_reference(d: Data) -> Results:
    return [special.softmax(d["x"])]


# ---------------------------------------------------------------------------- P4 Gaussian mixture


def mixture_data(d: int, k: int, n: int) -> Data:
    r = generator()
    return {
        "alpha": r.standard_normal(k),
        "mu": r.standard_normal((k, d)),
        "q": 0.3 * r.standard_normal((k, d)),
        "l": 0.3 * r.standard_normal((k, d * (d - 1) // 2)),
        "x": r.standard_normal((n, d)),
    }


def strict_lower(d: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows and columns of the entries below the diagonal, column by column."""
    columns, rows = np.triu_indices(d, 1)
    return rows, columns


def mixture_reference(data: Data) -> Results:
    # with z = L (x - mu), t = alpha + sum q - |z|²/2 and r = softmax(t) for each x
    alpha, mu, q, low, x = (data[name] for name in ("alpha", "mu", "q", "l", "x"))
    n, d = x.shape
    rows, columns = strict_lower(d)
    factor = np.zeros((len(alpha), d, d))
    factor[:, np.arange(d), np.arange(d)] = np.exp(q)
    factor[:, rows, columns] = low
    gap = x[:, None, :] - mu
    z = np.einsum("kij,nkj->nki", factor, gap)
    r = special.softmax(alpha + q.sum(1) - 0.5 * (z**2).sum(2), axis=1)
    slope = -np.einsum("nk,nki,nkj->kij", r, z, gap, optimize=True)
    return [
        r.sum(0) - n * special.softmax(alpha),
        np.einsum("nk,kij,nki->kj", r, factor, z, optimize=True),
        r.sum(0)[:, None] + slope[:, np.arange(d), np.arange(d)] * np.exp(q) - np.exp(2 * q),
        slope[:, rows, columns] - low,
    ]


# ---------------------------------------------------------------------------- P5 bundle adjustment


def bundle_data(count: int) -> Data:
    r = generator()
    camera = [
        r.normal(0, 0.3, (count, 3)),  # rotation vector
        r.normal(0, 1, (count, 3)),  # centre
        r.uniform(0.8, 1.2, (count, 1)),  # focal length
        r.normal(0, 0.1, (count, 2)),  # principal point
        r.normal(0, 0.01, (count, 2)),  # radial distortion
    ]
    point = r.normal(0, 1, (count, 3)) + np.array([0.0, 0.0, 6.0])
    weight = r.uniform(0.5, 1.5, count)
    return {"camera": np.hstack(camera), "point": point, "weight": weight, "feature": r.normal(0, 1, (count, 2))}


def bundle_residual(v: npt.NDArray[Any], feature: Floats) -> npt.NDArray[Any]:
    """Return the reprojection error for v = (camera 11, point 3, weight 1), one column a sample."""
    axis, centre, focal, principal, kappa = v[0:3], v[3:6], v[6], v[7:9], v[9:11]
    gap, weight = v[11:14] - centre, v[14]
    angle = np.sqrt((axis * axis).sum(0))
    k = axis / angle
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = gap * cosine + np.cross(k, gap, axis=0) * sine + k * (k * gap).sum(0) * (1 - cosine)
    image = turned[:2] / turned[2]
    square = (image * image).sum(0)
    bent = image * (1 + kappa[0] * square + kappa[1] * square * square)
    residual: npt.NDArray[Any] = weight * (bent * focal + principal - feature.T)
    return residual


def bundle_reference(d: Data) -> Results:
    jacobian = complex_step(
        lambda v: bundle_residual(v, d["feature"]), np.column_stack([d["camera"], d["point"], d["weight"]])
    )
    return [jacobian[:, :, :11], jacobian[:, :, 11:14], jacobian[:, :, 14]]


# ---------------------------------------------------------------------------- P6 Rosenbrock


def rosenbrock_data(n: int) -> Data:
    return {"x": generator().uniform(-1.0, 1.0, n)}


def rosenbrock_gradient_reference(d: Data) -> Results:
    return [rosen_der(d["x"])]


def rosenbrock_hessian_reference(d: Data) -> Results:
    return [rosen_hess(d["x"])]


# ---------------------------------------------------------------------------- P7 logistic regression


def logistic_data(rows: int, columns: int) -> Data:
    r = generator()
    return {
        "X": r.standard_normal((rows, columns)),
        "y": np.sign(r.standard_normal(rows)),
        "t": r.standard_normal(columns) / np.sqrt(columns),
    }


def logistic_reference(d: Data) -> Results:
    p = special.expit(d["X"] @ d["t"])
    return [d["X"].T @ ((p * (1 - p))[:, None] * d["X"])]


# ---------------------------------------------------------------------------- P8 (A + B)(A ∘ B)ᵀ


def products_data(n: int) -> Data:
    r = generator()
    return {"A": r.standard_normal((n, n)), "B": r.standard_normal((n, n))}


def products_reference(d: Data) -> Results:
    a, b, eye = d["A"], d["B"], np.eye(len(d["A"]))
    # d R_ij / d A_pq = delta_ip (A∘B)_jq + (A+B)_iq B_jq delta_jp, and for B likewise
    first = np.einsum("ip,jq->ijpq", eye, a * b)
    return [first + np.einsum("iq,jq,jp->ijpq", a + b, other, eye) for other in (b, a)]


# ---------------------------------------------------------------------------- P9 three-body Hamiltonian

MASS = 0.1


def three_body_data(count: int) -> Data:
    values = generator(42).uniform(0.1, 1.0, (count, 6))
    return {"q": np.ascontiguousarray(values[:, :3]), "p": np.ascontiguousarray(values[:, 3:])}


def three_body_reference(d: Data) -> Results:
    (x, y, z), (px, py, pz) = d["q"].T, d["p"].T
    r1 = np.sqrt((x - MASS) ** 2 + y**2 + z**2)
    r2 = np.sqrt((x - MASS + 1) ** 2 + y**2 + z**2)
    a, b = (1 - MASS) / r1**3, MASS / r2**3
    energy = 0.5 * (px**2 + py**2 + pz**2) + y * px - x * py - (1 - MASS) / r1 - MASS / r2
    slope_q = [-py + a * (x - MASS) + b * (x - MASS + 1), px + (a + b) * y, (a + b) * z]
    return [energy, np.stack(slope_q, 1), np.stack([px + y, py - x, pz], 1)]


# ---------------------------------------------------------------------------- P10 air pollution kinetics

#: POLLU (Verwer 1994): rate constant, species that react, species that come out.
REACTIONS: tuple[tuple[float, tuple[int, ...], tuple[int, ...]], ...] = (
    (0.35, (1,), (2, 3)),
    (26.6, (2, 4), (1,)),
    (12300.0, (5, 2), (6, 1)),
    (0.00086, (7,), (5, 5, 8)),
    (0.00082, (7,), (8,)),
    (15000.0, (7, 6), (5, 8)),
    (0.00013, (9,), (5, 8, 10)),
    (24000.0, (9, 6), (11,)),
    (16500.0, (11, 2), (1, 10, 12)),
    (9000.0, (11, 1), (13,)),
    (0.022, (13,), (11, 1)),
    (12000.0, (10, 2), (14, 1)),
    (1.88, (14,), (5, 7)),
    (16300.0, (1, 6), (15,)),
    (4800000.0, (3,), (4,)),
    (0.00035, (4,), (16,)),
    (0.0175, (4,), (3,)),
    (1e8, (16,), (6, 6)),
    (0.444e12, (16,), (3,)),
    (1240.0, (17, 6), (5, 18)),
    (2.1, (19,), (2, 20)),
    (5.78, (19,), (1, 3)),
    (0.0474, (1, 4), (19,)),
    (1780.0, (19, 1), (20,)),
    (3.12, (20,), (1, 19)),
)


def kinetics_data(count: int) -> Data:
    shape = (count, 20) if count else (20,)
    return {"y": generator().uniform(0.01, 1.0, shape)}


def kinetics_reference(d: Data) -> Results:
    y = np.atleast_2d(d["y"])
    jacobian = np.zeros((len(y), 20, 20))
    for rate, reacting, coming in REACTIONS:
        for at, species in enumerate(reacting):
            slope = np.full(len(y), rate)
            for other in reacting[:at] + reacting[at + 1 :]:
                slope = slope * y[:, other - 1]
            for product in coming:
                jacobian[:, product - 1, species - 1] += slope
            for gone in reacting:
                jacobian[:, gone - 1, species - 1] -= slope
    return [jacobian.reshape(*d["y"].shape[:-1], 20, 20)]


# ---------------------------------------------------------------------------- Black–Scholes Greeks


def options_data(count: int) -> Data:
    r = generator()
    low_high = {"S": (80.0, 120.0), "K": (80.0, 120.0), "r": (0.0, 0.08), "v": (0.1, 0.5), "T": (0.1, 2.0)}
    return {name: r.uniform(low, high, count) for name, (low, high) in low_high.items()}


def options_reference(d: Data) -> Results:
    """Return delta, dual delta, rho, vega and minus theta of a European call (Hull, chapter 19)."""
    s, k, r, v, t = (d[name] for name in "SKrvT")
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    density = np.exp(-0.5 * d1 * d1) / np.sqrt(2 * np.pi)
    paid = np.exp(-r * t) * special.ndtr(d2)
    return [
        special.ndtr(d1),
        -paid,
        k * t * paid,
        s * density * np.sqrt(t),
        s * density * v / (2 * np.sqrt(t)) + r * k * paid,
    ]


# ---------------------------------------------------------------------------- an arm of six joints

#: Length along the joint's axis, length across it, and quarter turns between axes (Denavit and Hartenberg), of a UR5.
JOINTS = (
    (0.089159, 0.0, 1),
    (0.0, -0.425, 0),
    (0.0, -0.39225, 0),
    (0.10915, 0.0, 1),
    (0.09465, 0.0, -1),
    (0.0823, 0.0, 0),
)


def arm_data(count: int) -> Data:
    return {"q": generator().uniform(-3.0, 3.0, (count, 6))}


def arm_reference(d: Data) -> Results:
    return [complex_step(_tip, d["q"])]


def _tip(q: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return where the tip is and where it points, shape (6, N)."""
    point, along = np.zeros((3, *q.shape[1:]), q.dtype), np.zeros((3, *q.shape[1:]), q.dtype)
    along[2] = 1.0
    for (height, reach, quarters), angle in zip(JOINTS[::-1], q[::-1], strict=True):
        # about x by quarter turns, then moved, then about z by the angle
        point, along = (
            v if not quarters else np.array([v[0], -quarters * v[2], quarters * v[1]]) for v in (point, along)
        )
        point = point + np.array([reach, 0.0, height])[:, None]
        c, s = np.cos(angle), np.sin(angle)
        point, along = (np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]) for v in (point, along))
    return np.concatenate([point, along])


# ---------------------------------------------------------------------------- a likelihood with gamma functions


def student_data(count: int) -> Data:
    r = generator()
    t = np.column_stack([r.uniform(1.0, 20.0, count), r.uniform(-1.0, 1.0, count), r.uniform(0.5, 2.0, count)])
    return {"t": t, "x": r.uniform(-3.0, 3.0, count)}


def student_reference(d: Data) -> Results:
    """Return gradient and Hessian of Student's log density by degrees of freedom, place and width."""
    n, place, width = d["t"].T
    z = (d["x"] - place) / width
    whole = n + z * z
    first = [
        (special.digamma((n + 1) / 2) - special.digamma(n / 2) - 1 / n - np.log1p(z * z / n)) / 2
        + (n + 1) * z * z / (2 * n * whole),
        (n + 1) * z / (width * whole),
        ((n + 1) * z * z / whole - 1) / width,
    ]
    turn = (special.polygamma(1, (n + 1) / 2) - special.polygamma(1, n / 2)) / 4 + 1 / (2 * n * n)
    # of log(whole): by n is 1 / whole, by z is 2 z / whole
    by_n = turn + z * z / (n * whole) - (n + 1) * z * z * (whole + n) / (2 * (n * whole) ** 2)
    mixed = z * (z * z - 1) / whole**2
    by_z = (n + 1) * (n - z * z) / whole**2
    second = [
        [by_n, mixed / width, z * mixed / width],
        [mixed / width, -by_z / width**2, -(by_z * z + (n + 1) * z / whole) / width**2],
        [z * mixed / width, None, (1 - (n + 1) * z * z / whole - z * (by_z * z + (n + 1) * z / whole)) / width**2],
    ]
    second[2][1] = second[1][2]
    hessian = np.moveaxis(np.array(second), -1, 0)
    return [np.column_stack(first), hessian]


# ---------------------------------------------------------------------------- a random formula of many operations

#: One operation on earlier values: "+", "-", "*" with the sine of the second, or "s" for the sine of the first.
Step: TypeAlias = tuple[str, int, int]


def random_steps(count: int, inputs: int = 50, reach: int = 200) -> list[Step]:
    source = random.Random(1)
    steps = []
    for i in range(inputs, inputs + count):
        nearest = max(0, i - reach)
        steps.append((source.choice("+*-s"), source.randrange(nearest, i), source.randrange(nearest, i)))
    return steps


def run_steps(steps: list[Step], inputs: list[Any], sin: Callable[[Any], Any]) -> Any:
    """Return the last value, whatever kind of number the inputs are."""
    values = list(inputs)
    for op, a, b in steps:
        if op == "s":
            values.append(sin(values[a]))
        elif op == "*":
            values.append(values[a] * sin(values[b]))
        else:
            values.append(values[a] + values[b] if op == "+" else values[a] - values[b])
    return values[-1]


def steps_data(inputs: int = 50) -> Data:
    return {"x": generator().uniform(-1.0, 1.0, inputs)}


def steps_reference(steps: list[Step], d: Data) -> Results:
    """Return value and gradient by a tape swept backwards."""
    values = list(d["x"])
    for op, a, b in steps:
        va, vb = values[a], values[b]
        values.append({"+": va + vb, "-": va - vb, "*": va * np.sin(vb), "s": np.sin(va)}[op])
    slopes = np.zeros(len(values))
    slopes[-1] = 1.0
    for at in range(len(steps) - 1, -1, -1):
        op, a, b = steps[at]
        slope = slopes[at + len(d["x"])]
        if op == "s":
            slopes[a] += slope * np.cos(values[a])
        elif op == "*":
            slopes[a] += slope * np.sin(values[b])
            slopes[b] += slope * values[a] * np.cos(values[b])
        else:
            slopes[a] += slope
            slopes[b] += slope if op == "+" else -slope
    return [np.asarray(values[-1]), slopes[: len(d["x"])]]


def disagreement(got: list[Any], expected: Results) -> float:
    """Return the largest difference, relative to the largest expected number of each output."""
    worst = 0.0
    for one, other in zip(got, expected, strict=True):
        if np.shape(one) != np.shape(other):
            raise AssertionError(f"a result of shape {np.shape(one)}; expected {np.shape(other)}")
        scale = float(np.max(np.abs(other), initial=0.0)) or 1.0
        gap = np.abs(np.asarray(one) - other)
        worst = max(worst, float(np.max(gap, initial=0.0)) / scale if np.isfinite(gap).all() else np.inf)
    return worst


def as_list(result: Any) -> list[Any]:
    """Return results one after the other, whatever structure they came in."""
    if isinstance(result, Mapping):
        return list(result.values())
    return list(result) if isinstance(result, list | tuple) else [result]
