"""Random members of the classes of formulas that are shortened: values against NumPy and differences."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import Node, inputs_of, postorder
from symdiff.rewrite import simplify
from tests.printing.test_legible_forms import computed, restricted

Floats = npt.NDArray[np.float64]


def at(node: Node, point: Mapping[str, Any]) -> Any:
    """Return the value of a formula by the reference implementation."""
    return computed(node, point, inputs_of([node]))


def read(text: str, shapes: Mapping[str, Any]) -> Node:
    node: Node = read_formula(text, restricted(shapes, text), ("shapes",)).value.node
    return node


@pytest.mark.parametrize("seed", range(20))
def test_hessians_of_losses_with_labels(seed: int) -> None:
    """Of a f(z) + b f(-z), whose Hessian has neither a nor b where their difference is a number."""
    rng = np.random.default_rng(seed)
    pairs = [("y", "(1 - y)"), ("2*y", "(2 - 2*y)"), ("(y - 0.5)", "(1.5 - y)"), ("u*y", "(1 - y)"), ("u", "y"),
             ("y/3", "(1 - y)/3"), ("u*y", "u*(1 - y)")]  # fmt: skip
    a, b = pairs[rng.integers(len(pairs))]
    z = str(rng.choice(["(X@w)", "(X@w + y)", "(2*(X@w))"]))
    text = f"{rng.choice(['-sum', 'mean', 'sum'])}({a}*log(sigmoid({z})) + {b}*log(1 - sigmoid({z})))"
    shapes = restricted({"X": (4, 2), "w": 2, "y": 4, "u": ()}, text)
    point = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    second = sd.compile(sd.hessian(text, "w", shapes=shapes))
    first = sd.compile(sd.gradient(text, "w", shapes=shapes))
    step = 1e-5
    for k, way in enumerate(np.eye(2)):
        ahead, behind = (first(**{**point, "w": point["w"] + side * step * way}) for side in (1, -1))
        np.testing.assert_allclose(second(**point)[k], (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)
    z_at = point["X"] @ point["w"]
    if z == "(X@w)" and (a, b) == ("y", "(1 - y)"):
        slope = 1 / (1 + np.exp(-z_at)) / (1 + np.exp(z_at))
        scale = {"-": -1.0, "m": 0.25, "s": 1.0}[text[0]]
        np.testing.assert_allclose(second(**point), -scale * point["X"].T * slope @ point["X"], rtol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_exponentials_that_are_equal_but_for_powers(seed: int) -> None:
    """Of a sum of two, one exponential is left, and the value is what it was; nan and infinity stay."""
    rng = np.random.default_rng(seed)
    shapes: dict[str, Any] = {**dict.fromkeys("pqx", ()), "u": sd.positive(), "v": sd.positive()}
    exponent = str(rng.choice(["-x**2/2", "x*p", "-(log(u/v) + x)**2/2", "-(log(u/v)/x)**2"]))
    n = int(rng.choice([-2, -1, 1, 2]))
    a, b = (str(rng.choice(["p", "q", "p*x", "3", "x/2"])) for _ in range(2))
    text = f"({a})*exp({exponent}) + ({b})*exp({exponent} + {n}*log(u/v))*(u/v)**{-n}"
    (new,) = simplify([read(text, shapes)])
    if a == b and "log" in exponent:  # else what is nan with u and v would no longer be
        assert sum(part.op == "exp" for part in postorder([new])) <= 1, text
    for _ in range(5):
        point = {name: np.array(rng.uniform(0.2, 2)) for name in shapes}
        want = at(read(text, dict.fromkeys(shapes, ())), point)
        np.testing.assert_allclose(at(new, point), want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("seed", range(15))
def test_logarithms_of_determinants_of_definite_matrices(seed: int) -> None:
    """Sums of logarithms for products and ratios, with NumPy's values and slopes by differences."""
    rng = np.random.default_rng(seed)
    parts = ["det(S)", "det(T)", "det(S@T)", "det(S)**2", "det((S + T)/2)", "c"]
    chosen = [parts[k] for k in rng.integers(0, len(parts), 3)]
    text = "log({}*{}/{})".format(*chosen) if seed % 2 else "log({}/({}*{}))".format(*chosen)
    shapes: dict[str, Any] = {"S": sd.positive_definite(3), "T": sd.positive_definite(3), "c": sd.positive()}
    shapes = restricted(shapes, text)
    point: dict[str, Any] = {"c": np.array(1.7)}
    for name in "ST":
        root = rng.normal(size=(3, 3))
        point[name] = root @ root.T + np.eye(3)
    point = {name: point[name] for name in shapes}
    want = np.log(eval_numpy(text, point))
    np.testing.assert_allclose(sd.compile(text, **shapes)(**point), want, rtol=1e-12, atol=1e-12)
    if "S" in shapes:
        slope = sd.compile(sd.gradient(text, "S", shapes=shapes))(**point)
        way = rng.normal(size=(3, 3))
        way = way + way.T
        ahead, behind = (np.log(eval_numpy(text, {**point, "S": point["S"] + side * 1e-6 * way})) for side in (1, -1))
        np.testing.assert_allclose(np.sum(slope * way), (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-7)


def eval_numpy(text: str, point: Mapping[str, Any]) -> Any:
    """Return what a logarithm in the tests above is of, by NumPy, factor by factor."""
    known: dict[str, Any] = {"c": point.get("c")}
    if "S" in point:
        known["det(S)"] = np.linalg.det(point["S"])
        known["det(S)**2"] = known["det(S)"] ** 2
    if "T" in point:
        known["det(T)"] = np.linalg.det(point["T"])
    if "S" in point and "T" in point:
        known["det(S@T)"] = np.linalg.det(point["S"] @ point["T"])
        known["det((S + T)/2)"] = np.linalg.det((point["S"] + point["T"]) / 2)
    inside = text[len("log(") : -1]
    for a, b, c in itertools.product(known.items(), repeat=3):
        if inside == f"{a[0]}*{b[0]}/{c[0]}":
            return a[1] * b[1] / c[1]
        if inside == f"{a[0]}/({b[0]}*{c[0]})":
            return a[1] / (b[1] * c[1])
    raise AssertionError(inside)


@pytest.mark.parametrize("power", [2, 3, 4])
@pytest.mark.parametrize("ramp", ["maximum(x, 0)", "maximum(0, x)", "relu(x)", "minimum(x, 0)", "maximum(2*x, 0)"])
def test_second_slopes_of_ramps(ramp: str, power: int) -> None:
    """At the kink they are the mean of those on both sides."""
    second = sd.compile(sd.hessian(f"{ramp}**{power}", "x", x=()))
    scale, sign = (2.0, 1.0) if "2*x" in ramp else (1.0, -1.0 if "min" in ramp else 1.0)
    for x in (-1.5, -1e-300, 0.0, 1e-300, 2.0):
        z = scale * x
        inside = power * (power - 1) * scale**2 * z ** (power - 2)
        want = inside if sign * x > 0 else 0.5 * inside if x == 0 else 0.0
        np.testing.assert_allclose(second(x), want, rtol=1e-15)
    assert np.isnan(second(np.nan))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_shown_of_random_slopes_has_their_value(seed: int) -> None:
    """Of kernels, residuals and losses with roots, lengths, shares and squares in them, read back."""
    rng = np.random.default_rng(seed)
    r = str(rng.choice(["norm(x - y)", "norm(x)", "norm(2*x - y)"]))
    k = int(rng.choice([2, 3, 5]))
    shapes: dict[str, Any] = {"x": 3, "y": 3, "l": sd.positive(), "m": sd.positive()}
    texts = [
        f"(1 + sqrt({k})*{r}/l + {k}*{r}**2/(3*l**2)) * exp(-sqrt({k})*{r}/l)",
        f"(l + {r})**2 * exp(-{r}*sqrt({k}))",
        f"log(l/(l + {k}*m)) * {r} + {k}*m*log(m/(l + {k}*m))",
        f"(m + 1)/2 * log(1 + {r}**2/m)",
        f"{r} * (sin(l)**2 + cos(l)**2) * {k}",
        f"sum((x - mean(x))*(y - mean(y))) / sqrt(sum((x - mean(x))**2) * {k})",
        f"{k}*m*((l/{r})**4 - (l/{r})**2)",
    ]
    text = texts[rng.integers(len(texts))]
    shapes = restricted(shapes, text)
    for wrt in shapes:
        slope = sd.gradient(text, wrt, shapes=shapes)
        point = {name: rng.uniform(0.5, 2, size=3 if name in "xy" else ()) for name in shapes}
        np.testing.assert_allclose(at(read(str(slope), shapes), point), at(slope.node, point), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_energies_of_chains_have_no_entries_of_identities(seed: int) -> None:
    """Of tips that are sums of links: their slopes were shown with ``2 * eye(2)[1][0] * cos(q[0])`` in them."""
    rng = np.random.default_rng(seed)
    links, at_tip = int(rng.integers(2, 5)), int(rng.integers(2))
    q = sd.vector("q", links)
    signs = rng.choice([-1.0, 1.0, 2.0], links)
    tip: Any = 0.0
    energy: Any = 0.0
    for k in range(links):
        tip = tip + sd.stack([np.sin(q[k]), -signs[k] * np.cos(q[k])])
        energy = energy + (-tip if rng.integers(2) else tip)[at_tip]
    slope = sd.gradient(energy, q)
    assert "eye" not in str(slope), slope
    assert "eye" not in str(sd.hessian(energy, q))
    numbers, step = rng.normal(size=links), 1e-6
    value = sd.compile(energy, [q], backend="numpy")
    moved = [(value(numbers + d) - value(numbers - d)) / (2 * step) for d in step * np.eye(links)]
    np.testing.assert_allclose(sd.compile(slope, [q], backend="interpreter")(numbers), moved, rtol=1e-7, atol=1e-8)
