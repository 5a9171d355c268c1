"""Derivatives beside what books print: never longer, equal in value, and read back.

What is counted are names, numbers and operators of the text; brackets and commas are free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate
from tests.support.legible_rows import SIZES

S, PD, P = sd.symmetric, sd.positive_definite, sd.positive


class Row(NamedTuple):
    """A formula, its variable, what a book prints, shapes, what is derived, and options."""

    text: str
    wrt: str
    book: str
    shapes: Mapping[str, Any]
    order: str = "gradient"
    options: Mapping[str, Any] = {}


ROWS = [
    Row("log(det(X.T@X))", "X", "2 * (X @ inv(X.T @ X))", {"X": ("n", "k")}),
    Row("det(X.T@A@X)", "X",
        "det(X.T @ A @ X) * (A @ X @ inv(X.T @ A @ X) + A.T @ X @ inv(X.T @ A.T @ X))",
        {"X": ("n", "k"), "A": ("n", "n")}, "gradient", {"invertible": True}),
    Row("det(X@X@X)", "X", "3 * det(X) ** 3 * inv(X).T", {"X": ("n", "n")}, "gradient", {"invertible": True}),
    Row("det(inv(X))", "X", "-(1/det(X)) * inv(X).T", {"X": ("n", "n")}),
    Row("log(abs(det(inv(X))))", "X", "-inv(X).T", {"X": ("n", "n")}),
    Row("trace(X@X@X@X)", "X", "4 * (X.T @ X.T @ X.T)", {"X": ("n", "n")}),
    Row("trace(kron(A,X))", "X", "trace(A) * eye(n)", {"A": ("m", "m"), "X": ("n", "n")}),
    Row("trace(inv(X.T@C@X)@X.T@B@X)", "X",
        "-2*C@X@inv(X.T@C@X)@X.T@B@X@inv(X.T@C@X) + 2*B@X@inv(X.T@C@X)",
        {"X": ("n", "k"), "C": S("n"), "B": S("n")}),
    Row("(x-a)/norm(x-a)", "x",
        "u = unit(x - a)\n(eye(n) - outer(u, u)) / norm(x - a)",
        {"x": "n", "a": "n"}, "jacobian"),
    Row("x@y/(norm(x)*norm(y))", "x", "u = unit(x)\nv = unit(y)\n(v - (u @ v) * u) / norm(x)", {"x": "n", "y": "n"}),
    Row("x@y/(sqrt(x@x)*sqrt(y@y))", "x",
        "u = unit(x)\nv = unit(y)\n(v - (u @ v) * u) / norm(x)",
        {"x": "n", "y": "n"}),
    Row("-sum(p*log(p))", "p", "-(1 + log(p))", {"p": P("n")}),
    Row("var(x)", "x", "2 * (x - mean(x)) / n", {"x": "n"}),
    Row("mean((x-mean(x))**2)", "x", "2 * (x - mean(x)) / n", {"x": "n"}),
    Row("(x-mean(x))/std(x)", "x",
        "z = (x - mean(x)) / std(x)\n(eye(n) - ones((n, n)) / n - outer(z, z) / n) / std(x)",
        {"x": "n"}, "jacobian"),
    Row("(1+norm(x-y))*exp(-norm(x-y))", "x", "-exp(-norm(x - y)) * (x - y)", {"x": "n", "y": "n"}),
    Row("x@A@x/(x@x)", "x", "q = x @ A @ x / (x @ x)\n2 * (A @ x - q * x) / (x @ x)", {"x": "n", "A": S("n")}),
    Row("trace((eye(n)-K@H)@P@(eye(n)-K@H).T + K@R@K.T)", "K",
        "-2 * ((eye(n) - K @ H) @ P @ H.T) + 2 * K @ R",
        {"K": ("n", "m"), "H": ("m", "n"), "P": S("n"), "R": S("m")}),
    Row("sum(log(diagonal(cholesky(S))))*2", "S", "inv(S)", {"S": PD("n")}),
    Row("maximum(0, 1-x)", "x", "-heaviside(1 - x, 0.5)", {"x": ()}),
    Row("relu(x)", "x", "heaviside(x, 0.5)", {"x": ()}),
    Row("where(norm(x-y)<d, norm(x-y)**2/2, d*(norm(x-y)-d/2))", "x",
        "where(norm(x - y) < d, x - y, d * unit(x - y))",
        {"x": "n", "y": "n", "d": ()}),
    Row("sum(x[:-1]*x[1:])", "x", "shift(x, 1) + shift(x, -1)", {"x": "n"}),
    Row("sum(abs(x[1:]-x[:-1]))", "x", "-diff(pad(sign(diff(x)), (1, 1)))", {"x": "n"}),
    Row("R@v+cross(w,R@v)", "w", "-skew(R @ v)", {"R": (3, 3), "v": 3, "w": 3}, "jacobian"),
    Row("softmax(A@x)", "x",
        "p = softmax(A @ x)\n(diag(p) - outer(p, p)) @ A",
        {"A": ("m", "n"), "x": "n"}, "jacobian"),
    Row("inv(A)", "A", "[i, j, k, l] -> -inv(A)[i, k] * inv(A)[l, j]", {"A": ("n", "n")}, "jacobian"),
    Row("A@B", "A", "[i, j, k, l] -> eye(n)[i, k] * B[l, j]", {"A": ("n", "n"), "B": ("n", "n")}, "jacobian"),
    Row("det([[cos(a), -sin(a)], [sin(a), b]])", "a", "-sin(a) * b + 2 * cos(a) * sin(a)", {"a": (), "b": ()}),
    Row("(s*ndtr((log(s/K)+(r+v**2/2)*T)/(v*sqrt(T))) - K*exp(-r*T)*ndtr((log(s/K)+(r-v**2/2)*T)/(v*sqrt(T))))", "s",
        "ndtr((log(s / K) + (r + v ** 2 / 2) * T) / (v * sqrt(T)))",
        {"s": P(), "K": P(), "r": (), "v": P(), "T": P()}),
    Row("trace(A@X@B@X.T@C)", "X",
        "A.T @ C.T @ X @ B.T + C @ A @ X @ B",
        {"A": ("n", "n"), "B": ("n", "n"), "C": ("n", "n"), "X": ("n", "n")}),
    Row("a@X@X.T@b", "X", "(outer(a, b) + outer(b, a)) @ X", {"X": ("m", "n"), "a": "m", "b": "m"}),
    Row("norm(A@X-B)**2", "X", "2 * (A.T @ (A @ X - B))", {"A": ("m", "n"), "X": ("n", "k"), "B": ("m", "k")}),
    Row("log(det(eye(n)+X@A@X.T))", "X", "2 * (inv(eye(n) + X @ A @ X.T) @ X @ A)", {"X": ("n", "m"), "A": S("m")}),
    Row("trace(A@inv(X@B@X.T+C))", "X",
        "-2 * (inv(X @ B @ X.T + C) @ A @ inv(X @ B @ X.T + C) @ X @ B)",
        {"A": S("n"), "X": ("n", "m"), "B": S("m"), "C": S("n")}),
    Row("trace(X.T@inv(A)@X)", "A", "-inv(A).T @ X @ X.T @ inv(A).T", {"A": ("n", "n"), "X": ("n", "k")}),
    Row("trace(X.T@inv(A)@X)", "A", "-inv(A) @ X @ X.T @ inv(A)", {"A": PD("n"), "X": ("n", "k")}),
    Row("sum(X*X*A)", "X", "2 * A * X", {"A": ("m", "n"), "X": ("m", "n")}),
    Row("trace(X.T@D@X@E)", "X", "2 * (D @ X @ E)", {"D": S("n"), "X": ("n", "k"), "E": S("k")}),
    Row("det(X)**2", "X", "2 * det(X) ** 2 * inv(X).T", {"X": ("n", "n")}, "gradient", {"invertible": True}),
    Row("log(det(X.T@X))+trace(A@X)", "X", "2 * (X @ inv(X.T @ X)) + A.T", {"X": ("n", "k"), "A": ("k", "n")}),
    Row("norm(X.T@X-eye(k))**2", "X", "4 * (X @ (X.T @ X - eye(k)))", {"X": ("n", "k")}),
    Row("sum(exp(A@x+b))", "x", "A.T @ exp(A @ x + b)", {"A": ("m", "n"), "x": "n", "b": "m"}),
    Row("sum(exp(A@x+b))", "x", "A.T @ diag(exp(A @ x + b)) @ A", {"A": ("m", "n"), "x": "n", "b": "m"}, "hessian"),
    Row("-mean(y*log(sigmoid(X@w))+(1-y)*log(1-sigmoid(X@w)))", "w",
        "X.T @ (sigmoid(X @ w) - y) / m",
        {"X": ("m", "n"), "y": "m", "w": "n"}),
    Row("-sum(y*log(sigmoid(X@w))+(1-y)*log(1-sigmoid(X@w)))", "w",
        "p = sigmoid(X @ w)\nX.T @ diag(p * (1 - p)) @ X",
        {"X": ("m", "n"), "y": "m", "w": "n"}, "hessian"),
    Row("-sum(Y*log_softmax(X@W, axis=1))", "W",
        "X.T @ (sum(Y, axis=1)[:, None] * softmax(X @ W, axis=1) - Y)",
        {"X": ("m", "n"), "Y": ("m", "k"), "W": ("n", "k")}),
    Row("logsumexp(x)-x@y", "x", "softmax(x) - y", {"x": "n", "y": "n"}),
    Row("logsumexp(x)", "x", "p = softmax(x)\ndiag(p) - outer(p, p)", {"x": "n"}, "hessian"),
    Row("t*logsumexp(x/t)", "t", "logsumexp(x / t) - softmax(x / t) @ x / t", {"x": "n", "t": ()}),
    Row("sum(maximum(0, 1-y*(X@w))**2)", "w",
        "-2 * (X.T @ (y * maximum(1 - y * (X @ w), 0)))",
        {"X": ("m", "n"), "y": "m", "w": "n"}),
    Row("norm(y-X@b)**2/2+l*norm(b,1)", "b",
        "X.T @ (X @ b - y) + l * sign(b)",
        {"X": ("m", "n"), "y": "m", "b": "n", "l": ()}),
    Row("sum(exp(-y*(X@w)))", "w", "-X.T @ (y * exp(-y * (X @ w)))", {"X": ("m", "n"), "y": "m", "w": "n"}),
    Row("sum(where(abs(r)<=d, r**2/2, d*(abs(r)-d/2)))", "r",
        "where(abs(r) <= d, r, d * sign(r))",
        {"r": "n", "d": ()}),
    Row("sum(log(cosh(X@w-y)))", "w", "X.T @ tanh(X @ w - y)", {"X": ("m", "n"), "w": "n", "y": "m"}),
    Row("norm(W2@tanh(W1@x)-y)**2/2", "W1",
        "h = tanh(W1 @ x)\nouter((1 - h ** 2) * (W2.T @ (W2 @ h - y)), x)",
        {"W1": ("m", "n"), "W2": ("k", "m"), "x": "n", "y": "k"}),
    Row("x*sigmoid(x)", "x", "sigmoid(x) * (1 + x * (1 - sigmoid(x)))", {"x": ()}),
    Row("x*ndtr(x)", "x", "ndtr(x) + x * exp(-0.5 * x ** 2) / sqrt(2 * pi)", {"x": ()}),
    Row("log(1+exp(x))", "x", "s = sigmoid(x)\ns * (1 - s)", {"x": ()}, "hessian"),
    Row("maximum(norm(a-p)**2-norm(a-q)**2+g,0)", "a",
        "where(norm(a - p) ** 2 - norm(a - q) ** 2 + g > 0, 2 * (q - p), 0)",
        {"a": "n", "p": "n", "q": "n", "g": ()}),
    Row("sum(p*log(p/q))", "q", "-p / q", {"p": P("n"), "q": P("n")}),
    Row("sum((mu**2+s**2-log(s**2)-1)/2)", "s", "s - 1 / s", {"mu": "n", "s": P("n")}),
    Row("x@log(x)-sum(x)", "x", "log(x)", {"x": P("n")}),
    Row("cross(a,b)@c", "a", "cross(b, c)", {"a": 3, "b": 3, "c": 3}),
    Row("norm(p-q)", "p", "u = unit(p - q)\n(eye(3) - outer(u, u)) / norm(p - q)", {"p": 3, "q": 3}, "hessian"),
    Row("m*g*l*(1-cos(q))", "q", "m * g * l * sin(q)", {"m": (), "g": (), "l": (), "q": ()}),
    Row("m*l**2*w**2/2-m*g*l*(1-cos(q))", "w", "m * l ** 2 * w", {"m": (), "g": (), "l": (), "q": (), "w": ()}),
    Row("w@I@w/2", "w", "I @ w", {"w": 3, "I": S(3)}),
    Row("1/norm(x)", "x", "r = norm(x)\n(3 * outer(x, x) / r ** 2 - eye(3)) / r ** 3", {"x": 3}, "hessian"),
    Row("sqrt(m**2+p@p)", "p", "p / sqrt(m ** 2 + p @ p)", {"m": (), "p": 3}),
    Row("-log(sum(exp(-E/T)))*T", "T", "-logsumexp(-E / T) - softmax(-E / T) @ E / T", {"E": "n", "T": P()}),
    Row("h*f/(exp(h*f/(kB*T))-1)", "T",
        "h ** 2 * f ** 2 * exp(h * f / (kB * T)) / (kB * T ** 2 * expm1(h * f / (kB * T)) ** 2)",
        {"h": P(), "f": P(), "kB": P(), "T": P()}),
    Row("sqrt(w@C@w)", "w", "C @ w / sqrt(w @ C @ w)", {"w": "n", "C": S("n")}),
    Row("w@u-g/2*(w@C@w)", "w", "u - g * (C @ w)", {"w": "n", "u": "n", "C": S("n"), "g": ()}),
    Row("w*(C@w)/sqrt(w@C@w)", "w",
        "s = sqrt(w @ C @ w)\n(diag(C @ w) + diag(w) @ C - outer(w * (C @ w), C @ w) / s ** 2) / s",
        {"w": "n", "C": S("n")}, "jacobian"),
    Row("sum(c*exp(-y*t))", "y", "-sum(c * t * exp(-y * t))", {"c": "n", "t": "n", "y": ()}),
    Row("-log(c@exp(-y*t))", "y", "t @ (c * exp(-y * t)) / (c @ exp(-y * t))", {"c": "n", "t": "n", "y": ()}),
    Row("(1-exp(-a*T))/a", "a", "(T * exp(-a * T) - (1 - exp(-a * T)) / a) / a", {"a": P(), "T": P()}),
    Row("a+b*(r*(k-c)+sqrt((k-c)**2+s**2))", "k",
        "b * (r + (k - c) / sqrt((k - c) ** 2 + s ** 2))",
        {"a": (), "b": (), "r": (), "k": (), "c": (), "s": P()}),
    Row("-sum((x-u)**2)/(2*v)-n0*log(v)/2", "v",
        "sum((x - u) ** 2) / (2 * v ** 2) - n0 / (2 * v)",
        {"x": "n", "u": (), "v": P(), "n0": ()}),
    Row("-(x-u)@inv(V)@(x-u)/2-log(det(V))/2", "u", "inv(V) @ (x - u)", {"x": "n", "u": "n", "V": PD("n")}),
    Row("-(x-u)@inv(V)@(x-u)/2", "u", "-inv(V)", {"x": "n", "u": "n", "V": PD("n")}, "hessian"),
    Row("sum(y*log(l)-l)", "l", "y / l - 1", {"y": "n", "l": P("n")}),
    Row("sum(y*(X@b)-exp(X@b))", "b", "-X.T @ diag(exp(X @ b)) @ X", {"X": ("m", "n"), "y": "m", "b": "n"}, "hessian"),
    Row("k*log(p)+(n0-k)*log(1-p)", "p", "k / p - (n0 - k) / (1 - p)", {"k": (), "n0": (), "p": P()}),
    Row("k*log(p)+(n0-k)*log(1-p)", "p",
        "-k / p ** 2 - (n0 - k) / (1 - p) ** 2",
        {"k": (), "n0": (), "p": P()}, "hessian"),
    Row("gammaln(sum(a))-sum(gammaln(a))+(a-1)@log(x)", "a",
        "digamma(sum(a)) - digamma(a) + log(x)",
        {"a": P("n"), "x": P("n")}),
    Row("gammaln(sum(a))-sum(gammaln(a))+(a-1)@log(x)", "a",
        "polygamma(1, sum(a)) * ones((n, n)) - diag(polygamma(1, a))",
        {"a": P("n"), "x": P("n")}, "hessian"),
    Row("k*cos(x-u)-log(i0(k))", "k", "cos(x - u) - i1(k) / i0(k)", {"x": (), "u": (), "k": P()}),
    Row("sum(log(L@x))", "x", "L.T @ (1 / (L @ x))", {"L": ("m", "n"), "x": "n"}),
    Row("y@log(A@x)-sum(A@x)", "x", "A.T @ (y / (A @ x) - 1)", {"A": ("m", "n"), "x": "n", "y": "m"}),
    Row("log(det(L+L.T))", "L", "inv(L + L.T) + inv(L + L.T)", {"L": ("n", "n")}),
    Row("trace(P0)-2*trace(K@H@P0)+trace(K@(H@P0@H.T+R)@K.T)", "K",
        "2 * (K @ (H @ P0 @ H.T + R) - P0 @ H.T)",
        {"P0": S("n"), "K": ("n", "m"), "H": ("m", "n"), "R": S("m")}),
    Row("norm(Q@x)", "x", "unit(x)", {"Q": sd.orthogonal("n"), "x": "n"}),
    Row("x@D@y", "D", "diag(x * y)", {"x": "n", "y": "n", "D": sd.diagonal("n")}),
    Row("x@L@y", "L", "tril(outer(x, y))", {"x": "n", "y": "n", "L": sd.lower("n")}),
    Row("x@K@y", "K", "0.5 * (outer(x, y) - outer(y, x))", {"x": "n", "y": "n", "K": sd.skew("n")}),
    Row("mean(maximum(0, 1-y*(X@w)))", "w", "-X.T @ (y * heaviside(1 - y * (X @ w), 0.5)) / m",
        {"X": ("m", "n"), "y": "m", "w": "n"}),
    Row("log(c@exp(A@x))", "x", "p = softmax(A @ x)\nA.T @ (c * p) / (c @ p)", {"c": "m", "A": ("m", "n"), "x": "n"}),
    Row("log(sum(c*exp(x)))", "c", "p = softmax(x)\np / (c @ p)", {"c": P("n"), "x": "n"}),
    Row("(x-u)@inv(V)@(x-u)", "V", "-outer(inv(V) @ (x - u), inv(V) @ (x - u))", {"x": "n", "u": "n", "V": PD("n")}),
    Row("p+2*cross(v, cross(v,p)+w*p)", "p", "eye(3) + 2 * w * skew(v) + 2 * (skew(v) @ skew(v))",
        {"p": 3, "v": 3, "w": ()}, "jacobian"),
]  # fmt: skip
_COUNTED = re.compile(r"\*\*|\.T|[A-Za-z_]\w*|\d+\.?\d*(?:e-?\d+)?|[-+*/@<>=&|]+|\[")


def count(text: str) -> int:
    return len(_COUNTED.findall(text.replace("->", "")))


def drawn(shape: Any, rng: np.random.Generator) -> Any:
    """Return numbers that are what was declared."""
    facts, plain = getattr(shape, "assumptions", None), getattr(shape, "shape", shape)
    x: Any = rng.uniform(0.2, 0.9, size=[SIZES.get(n, n) for n in (plain if isinstance(plain, tuple) else (plain,))])
    if facts is None or facts.positive:
        return x
    if facts.orthogonal:
        return np.linalg.qr(x)[0]
    if facts.definite:
        return x @ x.T + np.eye(len(x))
    if facts.diagonal:
        return np.diag(np.diag(x))
    return x + x.T if facts.symmetric else x - x.T if facts.skew else np.tril(x)


def value(formula: Any, point: Mapping[str, Any], shapes: Mapping[str, Any], sized: Any = None) -> Any:
    """Return the value of text or of a derivative; sizes are those of the inputs of ``sized`` as well."""
    node = read_formula(formula, shapes, ("shapes",)).value.node if isinstance(formula, str) else formula.node
    inputs = inputs_of([node, *([] if sized is None else [sized])])
    return evaluate([node], {own.name: point[own.name] for own in inputs}, inputs)[0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.text} {row.wrt} {row.order}")
def test_what_is_shown_is_not_longer_than_in_a_book_and_equal(row: Row) -> None:
    found = getattr(sd, row.order)(row.text, row.wrt, shapes=row.shapes, **row.options)
    shown = str(found)
    assert count(shown) <= count(row.book), shown
    assert found.latex()
    assert found.unicode()
    rng = np.random.default_rng(len(row.text))
    point = {name: drawn(shape, rng) for name, shape in row.shapes.items()}
    whole = read_formula(row.text, row.shapes, ("shapes",)).value.node
    got = value(found, point, row.shapes, whole)
    np.testing.assert_allclose(value(row.book, point, row.shapes, whole), got, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(value(shown, point, row.shapes, whole), got, rtol=1e-9, atol=1e-11)
    before = row.text if row.order != "hessian" else sd.gradient(row.text, row.wrt, shapes=row.shapes)
    way = drawn(row.shapes[row.wrt], rng) * 0.3 if np.ndim(point[row.wrt]) else np.array(0.3)
    h = 1e-5
    ends = [value(before, {**point, row.wrt: point[row.wrt] + side * h * way}, row.shapes, whole) for side in (1, -1)]
    along = np.tensordot(got, way, axes=way.ndim)
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-6)
