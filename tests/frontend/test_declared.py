"""What is declared of inputs: derivatives on the declared space, shorter formulas, checks of the numbers of a call."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.shapes import assume
from symdiff.graph.primitives import Assumptions
from tests.runtime.test_declared_checks import conforming

N = 3
SPACES = ["symmetric", "skew", "diagonal", "lower", "upper", "positive_definite", "orthogonal"]
H = 1e-30


def basis(space: str) -> list[np.ndarray]:
    """Return a direction for each independent entry."""
    directions = []
    for i in range(N):
        for j in range(N):
            e = np.zeros((N, N))
            e[i, j] = 1.0
            if space in ("symmetric", "positive_definite"):
                if i < j:
                    directions.append(e + e.T)
                elif i == j:
                    directions.append(e)
            elif space == "skew":
                if i < j:
                    directions.append(e - e.T)
            elif space == "orthogonal" or (
                i == j if space == "diagonal" else i >= j if space == "lower" else i <= j
            ):
                directions.append(e)
    return directions


def draw(space: str, rng: np.random.Generator) -> np.ndarray:
    a = rng.normal(size=(N, N))
    if space == "positive_definite":
        return np.asarray(a @ a.T + 2 * np.eye(N))
    if space == "orthogonal":
        return np.asarray(np.linalg.qr(a)[0])
    return np.asarray(sum(rng.normal() * b for b in basis(space)))


def project(space: str, g: np.ndarray, axis: int = -1) -> np.ndarray:
    """Project along an axis of N * N elements."""
    rows = np.array([b.ravel() / np.linalg.norm(b) for b in basis(space)])
    return np.moveaxis(np.tensordot(rows.T @ rows, g, ([1], [axis])), 0, axis)


SCALAR: list[tuple[str, Callable[..., Any]]] = [
    ("tr(A @ S)", lambda S, A, x: np.trace(A @ S)),
    ("x @ S @ A @ S.T @ x", lambda S, A, x: x @ S @ A @ S.T @ x),
    ("tr(inv(S + 6 * eye(3)) @ A)", lambda S, A, x: np.trace(np.linalg.inv(S + 6 * np.eye(N)) @ A)),
    ("log(det(S @ S.T + 2 * eye(3)))", lambda S, A, x: np.log(np.linalg.det(S @ S.T + 2 * np.eye(N)))),
    ("sum(sin(S) * A) + tr(S @ A @ S @ A.T)", lambda S, A, x: np.sum(np.sin(S) * A) + np.trace(S @ A @ S @ A.T)),
    ("sum(exp(S @ x)) * S[0, 1]", lambda S, A, x: np.sum(np.exp(S @ x)) * S[0, 1]),
    ("tr(S @ S @ S) + det(S)", lambda S, A, x: np.trace(S @ S @ S) + np.linalg.det(S)),
]
VECTOR: list[tuple[str, Callable[..., Any]]] = [
    ("S @ x * sin(S.T @ A @ x)", lambda S, A, x: S @ x * np.sin(S.T @ A @ x)),
    ("solve(S + 6 * eye(3), x)", lambda S, A, x: np.linalg.inv(S + 6 * np.eye(N)) @ x),
]


def shapes(space: str, text: str) -> dict[str, Any]:
    known = {"S": getattr(sd, space)(N), "A": (N, N), "x": N}
    return {name: shape for name, shape in known.items() if re.search(rf"\b{name}\b", text)}


def run(formula: Any, point: dict[str, Any]) -> np.ndarray:
    return call(sd.compile(formula, backend="interpreter"), point)


def call(kernel: sd.Kernel, point: dict[str, Any]) -> np.ndarray:
    return np.asarray(kernel(*(point[p.name] for p in kernel.inputs)))


def along(f: Callable[..., Any], point: dict[str, Any], direction: np.ndarray) -> Any:
    """Return the derivative along a direction, by a complex step."""
    moved = np.asarray(point["S"], complex) + 1j * H * direction
    return np.imag(f(moved, point["A"], point["x"])) / H


def slopes(f: Callable[..., Any], point: dict[str, Any], space: str) -> np.ndarray:
    """Return the derivative with respect to each independent entry."""
    return np.array([along(f, point, b) for b in basis(space)])


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def a_point(space: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"S": draw(space, rng), "A": rng.normal(size=(N, N)), "x": rng.normal(size=N)}


@pytest.mark.parametrize("number", range(len(SCALAR)))
def test_first_derivatives_of_a_number(space: str, number: int) -> None:
    text, f = SCALAR[number]
    point = a_point(space, number)
    d, own = slopes(f, point, space), basis(space)
    projected = sum(s * b / (b**2).sum() for s, b in zip(d, own, strict=True))
    entries = sum(s * b for s, b in zip(d, own, strict=True))
    declared = shapes(space, text)
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(run(sd.gradient(text, "S", shapes=declared), point), projected, **close)
    np.testing.assert_allclose(
        run(sd.gradient(text, "S", shapes=declared, convention="entries"), point), entries, **close
    )
    np.testing.assert_allclose(run(sd.jacobian(text, "S", shapes=declared), point), projected, **close)
    np.testing.assert_allclose(run(sd.vjp(text, "S", 3.0, shapes=declared), point), 3 * projected, **close)
    seed = sd.vjp(text, "S", 3.0, shapes=declared, convention="entries")
    np.testing.assert_allclose(run(seed, point), 3 * entries, **close)
    tangent = np.random.default_rng(number).normal(size=(N, N))
    pushed = sd.jvp(text, "S", sd.asarray(tangent), shapes=declared)
    np.testing.assert_allclose(run(pushed, point), (projected * tangent).sum(), **close)
    inside = along(f, point, project(space, tangent.ravel()).reshape(N, N))
    np.testing.assert_allclose((projected * tangent).sum(), inside, **close)


@pytest.mark.parametrize("number", range(len(VECTOR)))
def test_jacobians(space: str, number: int) -> None:
    text, f = VECTOR[number]
    point = a_point(space, number)
    d, own = slopes(f, point, space), basis(space)
    projected = sum(np.multiply.outer(s, b) / (b**2).sum() for s, b in zip(d, own, strict=True))
    entries = sum(np.multiply.outer(s, b) for s, b in zip(d, own, strict=True))
    declared = shapes(space, text)
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(run(sd.jacobian(text, "S", shapes=declared), point), projected, **close)
    by_entries = sd.jacobian(text, "S", shapes=declared, convention="entries")
    np.testing.assert_allclose(run(by_entries, point), entries, **close)
    seed = sd.asarray([1.0, -2.0, 0.5])
    pulled = sd.vjp(text, "S", seed, shapes=declared)
    np.testing.assert_allclose(run(pulled, point), np.tensordot([1.0, -2.0, 0.5], projected, 1), **close)
    tangent = np.random.default_rng(number).normal(size=(N, N))
    pushed = sd.jvp(text, "S", sd.asarray(tangent), shapes=declared)
    np.testing.assert_allclose(run(pushed, point), np.tensordot(projected, tangent, 2), **close)
    row = sd.jacobian(text, "S[1]", shapes=declared)
    np.testing.assert_allclose(run(row, point), projected[:, 1], **close)
    row = sd.jacobian(text, "S[1]", shapes=declared, convention="entries")
    np.testing.assert_allclose(run(row, point), entries[:, 1], **close)


@pytest.mark.parametrize("number", range(1, len(SCALAR)))
def test_second_derivatives(space: str, number: int) -> None:
    text, f = SCALAR[number]
    point = a_point(space, number)
    own, step = basis(space), 1e-5
    second = np.zeros((len(own), len(own)))
    for k, b in enumerate(own):
        ahead, back = ({**point, "S": point["S"] + s * step * b} for s in (1, -1))
        second[k] = (slopes(f, ahead, space) - slopes(f, back, space)) / (2 * step)
    flat = np.array([b.ravel() for b in own])
    scaled = flat / (flat**2).sum(axis=1, keepdims=True)
    projected = (scaled.T @ second @ scaled).reshape(N, N, N, N)
    entries = (flat.T @ second @ flat).reshape(N, N, N, N)
    declared = shapes(space, text)
    close: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6 * (1 + np.abs(entries).max())}
    np.testing.assert_allclose(run(sd.hessian(text, "S", shapes=declared), point), projected, **close)
    by_entries = sd.hessian(text, "S", shapes=declared, convention="entries")
    np.testing.assert_allclose(run(by_entries, point), entries, **close)
    tangent = np.random.default_rng(number).normal(size=(N, N))
    pushed = sd.hvp(text, "S", sd.asarray(tangent), shapes=declared)
    np.testing.assert_allclose(run(pushed, point), np.tensordot(projected, tangent, 2), **close)
    # derivatives one after the other, by a user or by text, are those of one call
    again = sd.jacobian(sd.gradient(text, "S", shapes=declared), sd.array("S", declared["S"]))
    np.testing.assert_allclose(run(again, point), projected, **close)
    twice = sd.derivative(text, "S", 2, shapes=declared)
    np.testing.assert_allclose(run(twice, point), projected, **close)


# ---------------------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("text", "by", "declared", "wanted"),
    [
        ("x @ A @ x / (x @ x)", "x", {"A": sd.symmetric("n"), "x": "n"}, None),
        (
            "tr((eye(4) - K @ H) @ P @ (eye(4) - K @ H).T + K @ R @ K.T)",
            "K",
            {"K": (4, 2), "H": (2, 4), "P": sd.symmetric(4), "R": sd.symmetric(2)},
            "2 * (K @ R - (eye(4) - K @ H) @ P @ H.T)",
        ),
        ("-sum(p * log(p))", "p", {"p": sd.positive("n")}, "-(1 + log(p))"),
        ("2 * sum(log(diagonal(cholesky(S))))", "S", {"S": sd.positive_definite("n")}, "inv(S)"),
        ("logdet(S)", "S", {"S": sd.symmetric("n")}, "inv(S)"),
        (
            "0.5 * y @ solve(cholesky(K).T, solve(cholesky(K), y)) + sum(log(diagonal(cholesky(K))))",
            "K",
            {"K": sd.positive_definite("n"), "y": "n"},
            "0.5 * (inv(K) - outer(solve(K, y), solve(K, y)))",
        ),
        ("log(s ** 2)", "s", {"s": sd.positive()}, "2 / s"),
        ("sqrt(s ** 2) * t", "s", {"s": sd.positive(), "t": ()}, "t"),
        ("sum((Q @ x) ** 2)", "x", {"Q": sd.orthogonal("n"), "x": "n"}, "2 * x"),
        ("x @ inv(Q) @ y", "x", {"Q": sd.orthogonal("n"), "x": "n", "y": "n"}, "Q.T @ y"),
        ("tr(S @ S)", "S", {"S": sd.diagonal("n")}, "2 * S"),
        ("tr(K @ A)", "K", {"K": sd.skew("n"), "A": ("n", "n")}, "0.5 * (A.T - A)"),
        ("x @ inv(D) @ x", "x", {"D": sd.diagonal(sd.positive_definite("n")), "x": "n"}, "2 * x / diag(D)"),
        ("det(L)", "L", {"L": sd.lower(3)}, None),
        ("logabsdet(L)", "L", {"L": sd.lower("n")}, None),
    ],
)
def test_formulas_are_as_short_as_in_a_book(text: str, by: str, declared: dict[str, Any], wanted: str | None) -> None:
    shown = sd.gradient(text, by, shapes=declared)
    if wanted is not None:
        assert str(shown) == wanted
    # what is printed is the same derivative, for what the same is declared of
    rng = np.random.default_rng(1)
    sizes = {"n": 3}

    def numbers(name: str) -> Any:
        shape = declared[name]
        plain, known = (shape.shape, shape.assumptions) if hasattr(shape, "assumptions") else (shape, Assumptions())
        plain = plain if isinstance(plain, tuple) else (plain,)
        full = tuple(sizes.get(size, size) for size in plain)
        drawn = rng.normal(size=full)
        if known.definite:
            drawn = drawn @ drawn.T + np.eye(full[0])
        elif known.symmetric:
            drawn = drawn + drawn.T
        elif known.skew:
            drawn = drawn - drawn.T
        elif known.orthogonal:
            drawn = np.linalg.qr(drawn)[0]
        if known.diagonal:
            drawn = np.diag(np.diag(drawn))
        elif known.lower:
            drawn = np.tril(drawn)
        return np.abs(drawn) if known.positive else drawn

    values = {name: numbers(name) for name in declared}
    plain_shapes = {name: np.shape(value) for name, value in values.items()}
    printed = str(shown).replace("n, n", "3, 3")
    mentioned = {name: shape for name, shape in plain_shapes.items() if re.search(rf"\b{name}\b", printed)}
    direct = call(sd.compile(shown, backend="numpy"), values)
    if mentioned:
        read_back = call(sd.compile(printed, backend="numpy", shapes=mentioned), values)
        np.testing.assert_allclose(read_back, direct, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(float(printed), direct)


def test_rewrites_by_orthogonality_do_not_change_further_derivatives() -> None:
    Q, A = sd.matrix("Q", 3, 3, orthogonal=True), sd.matrix("A", 3, 3)
    free = sd.matrix("Q", 3, 3)
    rng = np.random.default_rng(2)
    q, a = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=(3, 3))
    builds: list[Callable[[Any], Any]] = [
        lambda q: np.sum((q.T @ q - A) ** 2),
        lambda q: np.trace(np.linalg.inv(q) @ A @ q),
    ]
    for build in builds:
        for order in (1, 2):
            found = sd.derivative(build(Q), Q, order)
            wanted = sd.derivative(build(free), free, order)
            point = {"Q": q, "A": a}
            np.testing.assert_allclose(run(found, point), run(wanted, point), rtol=1e-9, atol=1e-9)
        again = sd.jacobian(sd.gradient(build(Q), Q), Q)
        np.testing.assert_allclose(run(again, point), run(wanted, point), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------- ways to declare


def test_every_way_to_declare_gives_one_input() -> None:
    import sympy as sp

    S = sd.matrix("S", "n", "n", symmetric=True)
    f = np.log(np.linalg.det(S))
    assert sd.gradient("log(det(S))", "S", S=sd.symmetric("n")).node is sd.gradient(f, S).node
    assert sd.gradient("log(det(S))", "S", shapes={"S": sd.symmetric("n")}).node is sd.gradient(f, S).node
    assert sd.gradient(lambda S: np.log(np.linalg.det(S)), "S", S=sd.symmetric("n")).node is sd.gradient(f, S).node
    by_sympy = sp.MatrixSymbol("S", sp.Symbol("n"), sp.Symbol("n"))
    with sp.assuming(sp.Q.symmetric(by_sympy)):
        assert sd.gradient(sp.log(sp.Determinant(by_sympy)), by_sympy).node is sd.gradient(f, S).node
    s = sp.Symbol("s", positive=True)
    slope = sd.gradient(sp.log(s**2), s)
    assert str(slope) == "2 / s"
    assert slope.sympy == 2 / s


def test_declarations_join_and_contradict() -> None:
    both = sd.positive(sd.symmetric("n"))
    assert both.assumptions == assume(positive=True, symmetric=True)
    assert sd.diagonal("n").assumptions == assume(diagonal=True, symmetric=True)
    with pytest.raises(sd.ArgumentError, match="declared skew and symmetric: only zeros are both"):
        sd.skew(sd.symmetric("n"))
    with pytest.raises(sd.ArgumentError, match="such a matrix is diagonal"):
        sd.matrix("L", 2, 2, lower=True, symmetric=True)
    with pytest.raises(sd.ShapeError, match=r"'S' has shape \(n, m\) and is declared symmetric; expected a square"):
        sd.matrix("S", "n", "m", symmetric=True)
    with pytest.raises(sd.ArgumentError, match="lower='both'; expected True or False"):
        sd.matrix("S", 2, 2, lower="both")
    with pytest.raises(sd.ArgumentError, match="symmetric=1; expected True or False"):
        sd.matrix("S", 2, 2, symmetric=1)
    with pytest.raises(sd.ArgumentError, match="convention='entry'; expected 'projected' or 'entries'"):
        sd.gradient("tr(S)", "S", S=sd.symmetric(2), convention="entry")
    with pytest.raises(sd.ArgumentError, match="gradient, jacobian, hessian and vjp have one"):
        sd.jvp("tr(S)", "S", "S", S=sd.symmetric(2), convention="entries")


def test_one_name_declared_in_two_ways_is_refused() -> None:
    S, other, x = sd.matrix("S", 2, 2, symmetric=True), sd.matrix("S", 2, 2), sd.vector("x", 2)
    with pytest.raises(sd.ArgumentError, match=r"two inputs called 'S' .* declared symmetric and declared nothing"):
        sd.compile(S @ other @ x)
    with pytest.raises(sd.ArgumentError, match=r"two inputs called 'S' .* declared symmetric and declared nothing"):
        sd.compile(S @ x, [other, x])


def test_functions_of_arrays_keep_their_names() -> None:
    A = sd.matrix("A", 2, 2)
    assert sd.diagonal(A).shape == (2,)
    assert str(sd.diagonal(A, offset=1, axis1=1, axis2=0)) == str(np.diagonal(A, 1, 1, 0))
    v, w = sd.vector("v", 3), sd.vector("w", 3)
    kernel = sd.compile([sd.skew(v) @ w, sd.skew([1.0, 2.0, 3.0]) @ w], [v, w])
    for got, left in zip(kernel([0.1, 0.2, 0.4], [3.0, 5.0, 6.0]), ([0.1, 0.2, 0.4], [1.0, 2.0, 3.0]), strict=True):
        np.testing.assert_allclose(got, np.cross(left, [3.0, 5.0, 6.0]), rtol=1e-14, atol=1e-15)
    assert sd.positive(A).node is A.node
    assert sd.positive(np.array([1.0, 2.0])).shape == (2,)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sd.diagonal("n", 1),
        lambda: sd.diagonal(3, offset=0),
        lambda: sd.skew("n", "n"),
        lambda: sd.skew(sd.diagonal("n"), nonsense=1),
        lambda: sd.positive("n", 2.0),
        lambda: sd.positive("n", nonsense=1),
        lambda: sd.positive(nonsense=1),
        lambda: sd.positive(sd.symmetric("n"), 2),
    ],
)
def test_what_stands_beside_a_shape_is_refused(call: Any) -> None:
    with pytest.raises(sd.ArgumentError, match=r"of a shape, with .* beside it; expected the shape alone"):
        call()


def test_sizes_may_be_numpys_integers() -> None:
    for made, rows in ((sd.skew, 2), (sd.diagonal, 2), (sd.symmetric, 2), (sd.positive, 1)):
        declared = made(np.int64(3))
        assert declared.shape == (3,) * rows
        assert sd.compile("2 * D", D=declared)(np.zeros((3,) * rows) + np.ones(3) * (rows == 1)) is not None


def test_pickles_keep_what_is_declared() -> None:
    S = sd.matrix("S", 2, 2, symmetric=True)
    again = pickle.loads(pickle.dumps(S))
    assert again.node is S.node
    kernel = pickle.loads(pickle.dumps(sd.compile(sd.gradient(np.trace(S @ S), S), backend="interpreter")))
    np.testing.assert_allclose(kernel(np.eye(2)), 2 * np.eye(2))
    for _ in range(2):
        with pytest.raises(sd.ArgumentError, match="declared symmetric"):
            kernel(np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_stacks_of_matrices_are_projected_and_checked() -> None:
    S, A = sd.array("S", (4, 3, 3), symmetric=True), sd.array("A", (4, 3, 3))
    rng = np.random.default_rng(3)
    a = rng.normal(size=(4, 3, 3))
    s = conforming(assume(symmetric=True), rng, (4,), 3)
    slope = run(sd.gradient(np.sum(A * S * S), S), {"S": s, "A": a})
    free = 2 * a * s
    np.testing.assert_allclose(slope, (free + free.swapaxes(1, 2)) / 2)
    s[2, 0, 1] += 1
    with pytest.raises(sd.ArgumentError, match=r"S\[2, 0, 1\] = .* and S\[2, 1, 0\]"):
        run(np.sum(A * S), {"S": s, "A": a})


@pytest.mark.rows(1)
@pytest.mark.parametrize("space", SPACES)
def test_check_moves_within_the_declared_space(space: str) -> None:
    for text, _ in SCALAR[:5]:
        report = sd.check(text, "S", shapes=shapes(space, text))
        assert report.ok, report


def test_kernels_are_applied_to_what_is_known_to_be_declared() -> None:
    S, x = sd.matrix("S", 2, 2, symmetric=True), sd.vector("x", 2)
    kernel = sd.compile(sd.gradient(x @ S @ x, x), [S, x], backend="interpreter")
    X, A = sd.matrix("X", 2, 3), sd.matrix("A", 2, 2)
    applied = kernel(X @ X.T, x)
    point = {"X": np.arange(6.0).reshape(2, 3), "x": np.ones(2)}
    np.testing.assert_allclose(run(applied, point), 2 * point["X"] @ point["X"].T @ np.ones(2))
    with pytest.raises(sd.ArgumentError, match="S is declared symmetric, which what comes in its place is not known"):
        kernel(A, x)
