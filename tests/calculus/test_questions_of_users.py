"""Ten questions that people asked of other tools: each formula, its closed form in NumPy, and the numbers quoted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff import Array
from symdiff.graph import postorder

BACKENDS = pytest.mark.parametrize("backend", ["native", "numpy"])
RNG = np.random.default_rng(11)


def near(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def softmax(z: Any) -> Any:
    powers = np.exp(z - z.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# ---------------------------------------------------------------------------- 1. one output, one matrix


def one_output() -> dict[str, tuple[Any, Any, Any]]:
    """Return log(softmax(X y)) from each front door, with its inputs."""
    X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
    P, q = sp.MatrixSymbol("X", 2, 4), sp.MatrixSymbol("y", 4, 1)
    product = sp.Matrix(P) * sp.Matrix(q)
    total = sum(sp.exp(e) for e in product)
    return {
        "symbols": (np.log(sd.softmax(X @ y)), X, y),
        "sympy": (sp.Matrix([sp.log(sp.exp(e) / total) for e in product]), P, q),
    }


@BACKENDS
@pytest.mark.parametrize("door", ["symbols", "text", "sympy"])
def test_1_gradient_of_one_output(door: str, backend: str) -> None:
    at, v = RNG.normal(size=(5, 2, 4)), RNG.normal(size=(5, 4))
    p = softmax(np.einsum("bij,bj->bi", at, v))
    jacobian = (np.eye(2) - p[:, None, :])[..., None] * v[:, None, None, :]
    if door == "text":
        text, shapes = "log(softmax(X @ y))", {"X": (2, 4), "y": 4}
        k = sd.compile(f"[gradient(({text})[0], X), jacobian({text}, X)[0]]", backend=backend, **shapes)
        got = k(at, v)
        near(got[:, 0], jacobian[:, 0])
        near(got[:, 1], jacobian[:, 0])
        return
    w, X, y = one_output()[door]
    gradient, full = sd.gradient(w[0], X), sd.jacobian(w, X)
    if door == "sympy":
        near(sd.compile(gradient, [X, y], backend=backend)(at, v[:, :, None]), jacobian[:, 0])
        near(sd.compile(full, [X, y], backend=backend)(at, v[:, :, None])[:, :, 0], jacobian)
    else:
        assert (gradient.shape, full.shape) == ((2, 4), (2, 2, 4))
        got = sd.compile([gradient, full], [X, y], backend=backend)(at, v)
        near(got[0], jacobian[:, 0])
        near(got[1], jacobian)


@BACKENDS
def test_1_nested_to_third_order(backend: str) -> None:
    X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
    f = np.log(sd.softmax(X @ y))[0]
    second, third = sd.hessian(f, X), sd.derivative(f, X, 3)
    assert sd.jacobian(sd.jacobian(f, X), X).shape == second.shape == (2, 4, 2, 4)
    at, v = RNG.normal(size=(2, 4)), RNG.normal(size=4)
    p = softmax(at @ v)
    # d²/dz² of log softmax is -(diag p - p pᵀ), whatever the output; d³/dz³ follows by the product rule
    h = -(np.diag(p) - np.outer(p, p))
    eye = np.eye(2)
    t = -np.einsum("ij,ik,i->ijk", eye, eye, p) + np.einsum("ij,i,k->ijk", eye, p, p)
    t += (
        np.einsum("ik,i,j->ijk", eye, p, p) + np.einsum("jk,i,j->ijk", eye, p, p) - 2 * np.einsum("i,j,k->ijk", p, p, p)
    )
    got = sd.compile([second, third], [X, y], backend=backend)(at, v)
    near(got[0], np.einsum("ik,j,l->ijkl", h, v, v))
    near(got[1], np.einsum("ikm,j,l,n->ijklmn", t, v, v, v))


# ---------------------------------------------------------------------------- 2. seeds


@BACKENDS
def test_2_seeds(backend: str) -> None:
    x, s = sd.vector("x", 2), sd.vector("s", 2)
    f = x * x
    near(sd.compile(sd.jacobian(f, x), [x], backend=backend)([1.0, 2.0]), [[2, 0], [0, 4]])
    near(sd.compile(sd.vjp(f, x, [2, 3]), [x], backend=backend)([1.0, 2.0]), [4, 12])
    near(sd.compile(sd.vjp(f, x, np.ones(2)), [x], backend=backend)([1.0, 2.0]), [2, 4])
    near(sd.compile(sd.vjp(f, x, s), [x, s], backend=backend)([1.0, 2.0], [2.0, 3.0]), [4, 12])
    near(sd.compile(sd.vjp(f, x, np.exp(s) - x), [x, s], backend=backend)([1.0, 2.0], [0.0, 0.0]), [0, -4])
    near(sd.compile("vjp(x * x, x, [2, 3])", x=2, backend=backend)([1.0, 2.0]), [4, 12])
    near(sd.compile("jacobian(x * x, x)", x=2, backend=backend)([1.0, 2.0]), [[2, 0], [0, 4]])


def test_2_the_cost_of_a_vjp_does_not_grow_with_the_inputs() -> None:
    counts = set()
    for n in (3, 30, 3000):
        x, W = sd.vector("x", n), sd.matrix("W", 4, n)
        counts.add(len(postorder([sd.vjp(np.tanh(W @ x), x, np.ones(4)).node])))
    assert len(counts) == 1


# ---------------------------------------------------------------------------- 3. a gradient in parts


@BACKENDS
def test_3_gradient_in_parts(backend: str) -> None:
    W, x, b, seed = sd.matrix("W", 3, 4), sd.vector("x", 4), sd.vector("b", 3), sd.vector("seed", 3)
    H = sd.vector("h", 3)
    h = np.tanh(W @ x + b)
    first = sd.compile(sd.gradient((H**4).sum() + H[0] * H[1], H), [H], backend=backend)
    second = sd.compile(sd.vjp(h, W, seed), [W, x, b, seed], backend=backend)
    whole = sd.compile(sd.gradient((h**4).sum() + h[0] * h[1], W), [W, x, b], backend=backend)
    w, v, c = RNG.normal(size=(3, 4)), RNG.normal(size=4), RNG.normal(size=3)
    near(second(w, v, c, first(np.tanh(w @ v + c))), whole(w, v, c))


def test_3_a_hundred_branches() -> None:
    params = [sd.vector(f"p{i}", 3) for i in range(100)]
    parts = [np.tanh(p).sum() for p in params]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    loss = total**2
    t = sd.scalar("t")
    outer = sd.compile(sd.gradient(t**2, t), [t])
    values = RNG.normal(size=(100, 3))
    seed = outer(np.tanh(values).sum())
    for i in (0, 50, 99):  # each branch is a kernel of its own, of the size of one branch
        branch = sd.vjp(parts[i], params[i], t)
        assert len(postorder([branch.node])) < 12
        got = sd.compile(branch, [params[i], t])(values[i], seed)
        near(got, 2 * np.tanh(values).sum() / np.cosh(values[i]) ** 2)
        at = {f"p{j}": values[j] for j in range(100)}
        near(got, sd.compile(sd.gradient(loss, params[i]), params, backend="numpy")(*at.values()))


@BACKENDS
def test_3_by_a_formula_inside_and_by_parts(backend: str) -> None:
    x, W = sd.matrix("x", 1, 10), sd.matrix("W", 10, 5)
    out = x @ W
    loss = sd.mean(out**2)
    by_out, by_x, whole = sd.gradient(loss, out), sd.jacobian(out, x), sd.gradient(loss, x)
    at, w = RNG.normal(size=(1, 10)), RNG.normal(size=(10, 5))
    got = sd.compile([by_out, by_x, whole], [x, W], backend=backend)(at, w)
    near(got[0], 2 * (at @ w) / 5)
    near(np.einsum("ij,ijkl->kl", got[0], got[1]), got[2])
    near(got[2], 2 * (at @ w) @ w.T / 5)
    text = "out = x @ W\nloss = mean(out**2)\ngradient(loss, out)"
    near(sd.compile(text, x=(1, 10), W=(10, 5), backend=backend)(at, w), got[0])


# ---------------------------------------------------------------------------- 4. several outputs


@BACKENDS
def test_4_all_partials_from_one_call(backend: str) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    f1, f2 = np.sin(x) * y, x**2 + np.exp(y)
    partials = {f"{i}{j}": sd.gradient(f, v) for i, f in enumerate((f1, f2)) for j, v in enumerate((x, y))}
    got = sd.compile(partials, [x, y], backend=backend)(0.5, 2.0)
    want = {"00": 2 * np.cos(0.5), "01": np.sin(0.5), "10": 1.0, "11": np.exp(2.0)}
    assert set(got) == set(want)
    for name, value in want.items():
        near(got[name], value)
    a, b = sp.symbols("x y")
    near(
        sd.compile(sd.jacobian(sp.Matrix([sp.sin(a) * b, a**2 + sp.exp(b)]), a), [a, b], backend=backend)(
            0.5, 2.0
        ).ravel(),
        [want["00"], want["10"]],
    )
    near(
        sd.compile("jacobian([sin(x) * y, x**2 + exp(y)], y)", x=(), y=(), backend=backend)(0.5, 2.0),
        [want["01"], want["11"]],
    )


# ---------------------------------------------------------------------------- 5. regressions by hand-fed gradients


@BACKENDS
def test_5_linear_regression(backend: str) -> None:
    W, b = sd.matrix("W", 1, 1), sd.scalar("b")
    X, Y = sd.matrix("X", 2, 1), sd.matrix("Y", 2, 1)
    cost = 0.5 * ((X @ W + b - Y) ** 2).sum()
    k = sd.compile([cost, *sd.gradient(cost, (W, b))], [W, b, X, Y], backend=backend)
    data = np.array([[2.0], [3.0]]), np.array([[3.0], [2.0]])
    w, c = np.array([[0.5]]), 0.25
    value, by_w, by_b = k(w, c, *data)
    gap = data[0] * 0.5 + 0.25 - data[1]
    near(value, 0.5 * (gap**2).sum())
    near(by_w, data[0].T @ gap)
    near(by_b, gap.sum())
    for _ in range(4000):  # two sources of gradient update one parameter
        _, by_w, by_b = k(w, c, *data)
        other = k(w, c, *data)[1]
        w, c = w - 0.03 * (by_w + other), c - 0.06 * by_b
    near(np.array([w[0, 0], c]).round(6), [-1.0, 5.0])


@pytest.mark.rows(1)
@BACKENDS
def test_5_logistic_regression(backend: str) -> None:
    x, labels = sd.vector("x", 3), sd.scalar("label")
    w, b = sd.vector("w", 3), sd.scalar("b")
    p = sd.sigmoid(x @ w + b)
    loss = -(labels * np.log(p) + (1 - labels) * np.log(1 - p))
    step = sd.compile(
        [loss, *sd.gradient(loss, (w, b))], [x, labels, w, b], batch=[x, labels], reduce="sum", backend=backend
    )
    predict = sd.compile(p, [x, w, b], backend=backend)
    data, truth = np.array([[0.0, 0, 1], [1, 1, 1], [1, 0, 1], [0, 1, 1]]), np.array([0.0, 1, 1, 0])
    weights, bias, losses = np.zeros(3), 0.0, []
    for _ in range(4000):
        value, by_w, by_b = step(data, truth, weights, bias)
        q = 1 / (1 + np.exp(-(data @ weights + bias)))
        near(by_w, data.T @ (q - truth))
        weights, bias = weights - 0.05 * by_w, bias - 0.05 * by_b
        losses.append(float(value))
    assert losses[0] == pytest.approx(4 * np.log(2))
    assert all(a > b for a, b in pairwise(losses))
    assert 0.98 < float(predict([1.0, 0.0, 0.0], weights, bias)) < 1


# ---------------------------------------------------------------------------- 6. values inside


def test_6_values_of_any_part_by_name() -> None:
    X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
    z = sd.name(X @ y, "z")
    p = sd.name(sd.softmax(z), "p")
    k = sd.compile(np.log(p), [X, y])
    at, v = RNG.normal(size=(2, 4)), RNG.normal(size=4)
    values = k.values(X=at, y=v)
    near(values["z"], at @ v)
    near(values["p"], softmax(at @ v))
    near(k(at, v), np.log(softmax(at @ v)))
    text = sd.compile("z = X @ y\np = softmax(z)\nlog(p)", X=(2, 4), y=4)
    near(text.values(X=at, y=v)["z"], at @ v)


# ---------------------------------------------------------------------------- 7. one row


def test_7_one_row_of_a_matrix() -> None:
    X, W = sd.matrix("X", "m", 4), sd.matrix("W", 3, 4)
    t = X @ W.T
    assert str(sd.jacobian(t[0], X[0])) == "W"
    gradient = sd.gradient(t[0, 0], X[0])
    assert str(gradient) == "W[0]"
    at, w = RNG.normal(size=(6, 4)), RNG.normal(size=(3, 4))
    near(sd.compile(gradient, [X, W], backend="numpy")(at, w), w[0])
    assert str(sd.jacobian("(X @ W.T)[0]", "X[0]", X=("m", 4), W=(3, 4))) == "W"


# ---------------------------------------------------------------------------- 8. determinants


def two_by_two() -> dict[str, Array]:
    x, y = sd.scalar("x"), sd.scalar("y")
    return {
        "list": sd.det(sd.asarray([[np.sin(x), 0], [0, np.cos(y)]])),
        "stack": sd.det(sd.stack([np.sin(x), sd.asarray(0.0), sd.asarray(0.0), np.cos(y)]).reshape(2, 2)),
    }


@BACKENDS
@pytest.mark.parametrize("door", ["list", "stack", "text", "sympy"])
def test_8_determinant_of_a_small_matrix(door: str, backend: str) -> None:
    if door == "text":
        f = "[gradient(det([[sin(x), 0], [0, cos(y)]])**2, x), gradient(det([[sin(x), 0], [0, cos(y)]])**2, y)]"
        got = sd.compile(f, x=(), y=(), backend=backend)(0.4, 0.7)
    elif door == "sympy":
        a, b = sp.symbols("x y")
        loss = sp.Determinant(sp.Matrix([[sp.sin(a), 0], [0, sp.cos(b)]])) ** 2
        got = [sd.compile(sd.gradient(loss, v), [a, b], backend=backend)(0.4, 0.7) for v in (a, b)]
    else:
        x, y = sd.scalar("x"), sd.scalar("y")
        got = sd.compile(list(sd.gradient(two_by_two()[door] ** 2, (x, y))), [x, y], backend=backend)(0.4, 0.7)
    near(np.ravel(got), [np.sin(0.8) * np.cos(0.7) ** 2, -(np.sin(0.4) ** 2) * np.sin(1.4)])


@BACKENDS
def test_8_determinants_of_functions(backend: str) -> None:
    x = sd.scalar("x")
    f = sd.det(sd.asarray([[x, x**2], [1, np.sin(x)]]))
    at = np.linspace(-2, 2, 7)
    got = sd.compile([f, sd.gradient(f, x)], [x], backend=backend)(at)
    near(got[0], at * np.sin(at) - at**2)
    near(got[1], np.sin(at) + at * np.cos(at) - 2 * at)


@BACKENDS
def test_8_descent_on_a_squared_determinant(backend: str) -> None:
    A = sd.matrix("A", 2, 2)
    loss = sd.det(A) ** 2
    k = sd.compile([loss, sd.gradient(loss, A)], [A], backend=backend)
    a, losses = np.array([[1.0, 2.0], [3.0, 4.0]]), []
    near(k(a)[1], -4 * np.array([[4.0, -3.0], [-2.0, 1.0]]))
    for _ in range(50):
        value, slope = k(a)
        losses.append(float(value))
        a = a - 0.001 * slope
    assert losses[0] == pytest.approx(4.0)
    assert all(p > q for p, q in pairwise(losses))


@BACKENDS
def test_8_cofactors_of_many_matrices(backend: str) -> None:
    A = sd.matrix("A", 4, 4)
    count = 100_000 if backend == "native" else 1_000
    a = RNG.normal(size=(count, 4, 4))
    got = sd.compile(sd.gradient(sd.det(A), A), [A], backend=backend)(a)
    want = np.linalg.det(a)[:, None, None] * np.linalg.inv(a).transpose(0, 2, 1)
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)
    a[0], a[1] = 0, np.ones((4, 4))
    a[2] = np.diag([1.0, 2.0, 3.0, 0.0])
    got = sd.compile(sd.gradient(sd.det(A), A), [A], backend=backend)(a[:3])
    np.testing.assert_allclose(got[:2], 0, atol=1e-14)
    np.testing.assert_allclose(got[2], np.diag([0, 0, 0, 6.0]), atol=1e-14)


# ---------------------------------------------------------------------------- 9. custom gradients


def sandwich(A: Array, B: Array, x: Array) -> Array:
    """y = A x B for a fixed x."""
    return A @ x @ B


@BACKENDS
@pytest.mark.parametrize("kind", ["differential", "vjp", "jacobian"])
def test_9_custom_gradients(kind: str, backend: str) -> None:
    rule: Any = {
        "differential": lambda args, t: t[0] @ args[2] @ args[1] + args[0] @ args[2] @ t[1] + args[0] @ t[2] @ args[1],
        "vjp": lambda args, s: (s @ (args[2] @ args[1]).T, (args[0] @ args[2]).T @ s, args[0].T @ s @ args[1].T),
        "jacobian": lambda args: (
            sd.einsum("ik,lj->ijkl", np.eye(2), args[2] @ args[1]),
            sd.einsum("ik,jl->ijkl", args[0] @ args[2], np.eye(3)),
            sd.einsum("ik,lj->ijkl", args[0], args[1]),
        ),
    }[kind]
    f = sd.custom(sandwich, **{kind: rule})
    A, B, x = sd.matrix("A", 2, 2), sd.matrix("B", 3, 3), sd.matrix("x", 2, 3)
    at = RNG.normal(size=(7, 2, 2)), RNG.normal(size=(7, 3, 3)), RNG.normal(size=(7, 2, 3))
    mine, plain = f(A, B, x), sandwich(A, B, x)
    ways: tuple[Callable[[Any], Any], ...] = (
        lambda y: list(sd.gradient((y * y).sum(), (A, B))),
        lambda y: [sd.jacobian(y, B), sd.jvp(y, A, np.eye(2)), sd.hessian((y * y).sum(), A)],
    )
    for derive in ways:
        got = sd.compile(derive(mine), [A, B, x], backend=backend)
        want = sd.compile(derive(plain), [A, B, x], backend=backend)
        data = dict(zip(("A", "B", "x"), at, strict=True))
        for one, other in zip(got(**data), want(**data), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)


# ---------------------------------------------------------------------------- 10. all cases of a matrix product


@BACKENDS
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_10_matrix_products(left: bool, right: bool, backend: str) -> None:
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[6.0, 7, 8], [9, 10, 11]])
    A = sd.matrix("A", 2, 2)
    B = sd.matrix("B", 3, 2) if right else sd.matrix("B", 2, 3)
    c = (A.T if left else A) @ (B.T if right else B)
    data = (a.T if left else a), (b.T if right else b)

    def run(f: Array) -> Any:
        got = sd.compile(f, [A, B], backend=backend)(*data)
        return got.T if left else got

    near(sd.compile(c, [A, B], backend=backend)(*data), [[24, 27, 30], [54, 61, 68]])
    near(run(sd.gradient(c.sum(), A)), [[21, 30], [21, 30]])
    near(run(sd.vjp(c, A, c)), [[573, 816], [1295, 1844]])
    near(run(sd.gradient((c * sd.stop_gradient(c)).sum(), A)), [[573, 816], [1295, 1844]])
    near(run(sd.gradient(c[0, 0], A)), [[6, 9], [0, 0]])
    by_b = sd.compile(sd.vjp(c, B, c), [A, B], backend=backend)(*data)
    near(by_b.T if right else by_b, a.T @ (a @ b))


@BACKENDS
def test_10_from_text_and_sympy(backend: str) -> None:
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[6.0, 7, 8], [9, 10, 11]])
    shapes = {"A": (2, 2), "B": (2, 3)}
    near(sd.compile("gradient(sum(A @ B), A)", backend=backend, **shapes)(a, b), [[21, 30], [21, 30]])
    near(sd.compile("vjp(A @ B, A, A @ B)", backend=backend, **shapes)(a, b), [[573, 816], [1295, 1844]])
    text = "c = A @ B\ngradient(sum(c * stop_gradient(c)), A)"
    near(sd.compile(text, backend=backend, **shapes)(a, b), [[573, 816], [1295, 1844]])
    P, Q = sp.MatrixSymbol("A", 2, 2), sp.MatrixSymbol("B", 2, 3)
    mixed = sd.gradient(sd.gradient(sp.sin(sp.Symbol("u")) * sp.Symbol("v"), sp.Symbol("u")), sp.Symbol("v"))
    assert str(mixed) == "cos(u)"  # a derivative of SymPy is differentiated with respect to SymPy's symbols again
    near(sd.compile(sd.gradient((P * Q)[0, 0], P), [P, Q], backend=backend)(a, b), [[6, 9], [0, 0]])
