"""Derivatives, and how a book writes them: formula, variable, shapes and what is shown; tests loop over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import symdiff as sd

Floats = npt.NDArray[np.float64]
SIZES: Mapping[Any, Any] = {"n": 3, "m": 4, "k": 2}


class Row(NamedTuple):
    """A formula, its variable, the shapes, what is shown, and how often it is differentiated."""

    text: str
    wrt: str
    shapes: Mapping[str, Any]
    shown: str
    order: int = 1


X: Mapping[str, Any] = {"x": ()}
XY: Mapping[str, Any] = {"x": (), "y": ()}
XYZ: Mapping[str, Any] = {"x": (), "y": (), "z": ()}
NORMAL = "exp(-(x - m)**2 / (2 * s**2)) / (s * sqrt(2 * pi))"
XMS: Mapping[str, Any] = {"x": (), "m": (), "s": ()}
WEIBULL: Mapping[str, Any] = dict.fromkeys("xmsk", ())
NUMBERS = [
    Row("x*x*y", "y", XY, "x ** 2"),
    Row("gamma(4) * x", "x", X, "6"),
    Row("x**3 / factorial(3)", "x", X, "0.5 * x ** 2"),
    Row("binom(5, 2) * sqrt(4) * x", "x", X, "20"),
    Row("e**x", "x", X, "e ** x"),
    Row("e**(-x**2) * y", "x", XY, "-2 * x * y * e ** -x ** 2", 1),
    Row("e**x", "x", X, "e ** x", 2),
    Row("2**x", "x", X, "2 ** x * log(2)"),
    Row("x * (log(e) + log2(2) + log10(10) + log(1))", "x", X, "3"),
    Row("x**(2/3)", "x", X, "2 / (3 * x ** (1 / 3))"),
    Row("x**(2/3)", "x", X, "-2 / (9 * x ** (4 / 3))", 2),
    Row("x**(5/3)", "x", X, "5 * x ** (2 / 3) / 3"),
    Row("(x / 3)**2", "x", X, "2 * x / 9"),
    Row("y / (4 * pi * x**2)", "x", XY, "-y / (2 * pi * x ** 3)"),
    Row("y / (4 * pi**2 * x)", "x", XY, "-y / (4 * pi ** 2 * x ** 2)"),
    Row("x**2 / (6 * pi**2 * y)", "x", XY, "x / (3 * pi ** 2 * y)"),
    Row("sqrt(x**2 + y**2 + z**2)", "y", XYZ, "y / norm([x, y, z])"),
    Row("1 / sqrt(x**2 + y**2 + z**2)", "x", XYZ, "-x / norm([x, y, z]) ** 3"),
    Row(
        "1 / sqrt(x**2 + y**2 + z**2)", "x", XYZ,
        "r = norm([x, y, z])\n(3 * x ** 2 / r ** 2 - 1) / r ** 3", 2,
    ),
    Row("log(sqrt(x**2 + y**2 + z**2))", "z", XYZ, "z / norm([x, y, z]) ** 2"),
    Row(
        "exp(-sqrt(x**2 + y**2 + z**2))", "z", XYZ,
        "r = norm([x, y, z])\nexp(-r) * (z ** 2 / r ** 2 - 1 + z ** 2 / r) / r", 2,
    ),
    Row("exp(-x / y) * (1 - exp(-x))", "x", XY, "exp(-x / y) * expm1(-x) / y + exp(-(x / y + x))"),
    Row("x**2 * y / 6", "x", XY, "x * y / 3"),
    Row("sin((x / 3)**2)", "x", X, "2 * cos((x / 3) ** 2) * x / 9"),
    Row("arctan(x / 3)", "x", X, "3 / (9 + x ** 2)"),
    Row("ndtr(x / 3)", "x", X, "exp(-x ** 2 / 18) / (3 * sqrt(2 * pi))"),
    Row("erf(2 * x / 7)", "x", X, "4 * exp(-4 * x ** 2 / 49) / (7 * sqrt(pi))"),
    Row("y * ndtr(sqrt(x) / 2)", "x", XY, "y * exp(-0.125 * x) / (4 * sqrt(2 * pi) * sqrt(x))"),
    Row("(x**2 + 1)**(2/3)", "x", X, "4 * x / (3 * (x ** 2 + 1) ** (1 / 3))"),
    Row("x**1.1", "x", X, "1.1 * x ** 0.1"),
    Row("x**0.1", "x", X, "-0.09 / x ** 1.9", 2),
    Row("cbrt(x)", "x", X, "1 / (3 * cbrt(x) ** 2)"),
    Row("cbrt(x)", "x", X, "-2 / (9 * cbrt(x) ** 5)", 2),
    Row("exp(-x**2 / 2) / sqrt(2 * pi)", "x", X, "-x * exp(-0.5 * x ** 2) / sqrt(2 * pi)"),
    Row(NORMAL, "x", XMS, "-exp(-(x - m) ** 2 / (2 * s ** 2)) * (x - m) / (sqrt(2 * pi) * s ** 3)"),
    Row(NORMAL, "m", XMS, "exp(-(x - m) ** 2 / (2 * s ** 2)) * (x - m) / (sqrt(2 * pi) * s ** 3)"),
    Row(
        NORMAL, "s", XMS,
        "exp(-(x - m) ** 2 / (2 * s ** 2)) * ((x - m) ** 2 / s ** 2 - 1) / (sqrt(2 * pi) * s ** 2)",
    ),
]
#: Roots, signs and numbers in front; functions of inverses and of logarithms.
FORMS_OF_ONE = [
    Row("log(sqrt(x) / y)", "x", XY, "0.5 / x"),
    Row("log(cbrt(x) * y)", "x", XY, "1 / (3 * x)"),
    Row("log(sqrt(x + 1) * y)", "x", XY, "0.5 / (x + 1)"),
    Row("1 / abs(x)", "x", X, "-sign(x) / x ** 2"),
    Row("2 * (exp(-x) - 1 + x) / x**2", "x", X, "2 * (2 - exp(-x) * (2 + x) - x) / x ** 3"),
    Row("8 * y * z / (pi * x**4)", "x", XYZ, "-32 * y * z / (pi * x ** 5)"),
    Row("8 * x**2 * y / pi", "x", XY, "16 * x * y / pi"),
    Row("sqrt(x**3)", "x", X, "1.5 * sqrt(x)"),
    Row("x**0.5 * y**0.5", "x", XY, "0.5 * sqrt(y) / sqrt(x)"),
    Row("jv(2, -x)", "x", X, "0.5 * (jv(1, x) - jv(3, x))"),
    Row("dawsn(-x)**2", "x", X, "2 * (1 - 2 * x * dawsn(x)) * dawsn(x)"),
    Row("sin(arccos(x / 2))", "x", X, "-0.25 * x / sqrt(1 - 0.25 * x ** 2)"),
    Row("sin(arctan(x))", "x", X, "1 / hypot(1, x) ** 3"),
    Row("cosh(arctanh(x / 2))", "x", X, "0.25 * x / (1 - 0.25 * x ** 2) ** 1.5"),
    Row("sqrt(1 - sin(x)**2)", "x", X, "-sin(x) * sign(cos(x))"),
    Row("sqrt(1 + sinh(x)**2)", "x", X, "sinh(x)"),
    Row("sigmoid(log(x))", "x", X, "1 / (1 + x) ** 2"),
    Row("sinh(log(x))", "x", X, "0.5 * (1 + 1 / x ** 2)"),
    Row("softplus(log(expm1(x)))", "x", X, "1"),
    Row("softplus(logit(x / 2))", "x", X, "1 / (2 - x)"),
    Row("exp(log_ndtr(x))", "x", X, "exp(-0.5 * x ** 2) / sqrt(2 * pi)"),
    Row("exp(softplus(x))", "x", X, "exp(x)"),
    Row("sinh(y * x) / sinh(y)", "x", XY, "y * cosh(x * y) / sinh(y)"),
    Row("cosh(y * (z - x)) / cosh(y * z)", "x", XYZ, "-y * sinh(y * (z - x)) * sech(y * z)"),
    Row("sinh(y * x) / cosh(y)", "x", XY, "y * sech(y) * cosh(x * y)"),
    Row("exp(-y * x) / cosh(x)", "x", XY, "-sech(x) * exp(-x * y) * (tanh(x) + y)"),
    Row("maximum(y*x, (y - 1)*x)", "x", XY, "(y - 1) * heaviside(-x, 0.5) + y * heaviside(x, 0.5)"),
    Row("x * (1 + x)**y / ((1 + x)**y - 1)", "x", XY,
        "(1 + x) ** (y - 1) * ((1 + x) ** y * (1 + x) - 1 - x - x * y) / ((1 + x) ** y - 1) ** 2"),
    Row("y * x**(y - 1) * exp(-x**y)", "x", XY, "y * x ** (y - 2) * exp(-x ** y) * (y - 1 - y * x ** y)"),
    Row("x**y * x**z", "x", XYZ, "x ** (z + y - 1) * (z + y)"),
    Row("(x**y - 1) / (x - 1)", "x", XY, "(y * x ** (y - 1) - (x ** y - 1) / (x - 1)) / (x - 1)"),
    Row("log(4 * pi * sinh(x) / x)", "x", X, "1 / tanh(x) - 1 / x"),
    Row("(cosh(y * x) - 1) / cosh(y)", "x", XY, "y * sinh(x * y) / cosh(y)"),
    Row("cosh(y * x) / cosh(y)", "y", XY, "sech(y) * (x * sinh(x * y) - tanh(y) * cosh(x * y))"),
    Row("x * (exp(y) - exp(-y)) + z * (exp(y) + exp(-y))", "y", XYZ, "2 * (z * sinh(y) + x * cosh(y))"),
    Row("gammainc(z, x)", "x", {"x": sd.positive(), "z": sd.positive()}, "x ** (z - 1) * exp(-x) / gamma(z)"),
    Row("betainc(z, y, x / 2)", "x", {"x": (), "y": sd.positive(), "z": sd.positive()},
        "0.5 * (0.5 * x) ** (z - 1) * (1 - 0.5 * x) ** (y - 1) / beta(z, y)"),
    Row("stdtr(z, x)", "x", {"x": (), "z": sd.positive()},
        "(1 + x ** 2 / z) ** (-0.5 * (z + 1)) / (sqrt(z) * beta(0.5 * z, 0.5))"),
    Row("log(sinh(x))", "x", X, "1 / tanh(x)"),
    Row("log(tanh(x / 2))", "x", X, "1 / sinh(x)"),
    Row("log(cosh(x) - 1)", "x", X, "1 / tanh(0.5 * x)"),
    Row("log(exp(x) + 1) - log(exp(x) - 1)", "x", X, "-1 / sinh(x)"),
    Row("sqrt(x) * sqrt(x + 1) - arcsinh(sqrt(x))", "x", X, "sqrt(x) / sqrt(x + 1)"),
    Row("log(x + 2 + sqrt((x + 2)**2 - y**2))", "x", XY, "1 / sqrt((x + 2) ** 2 - y ** 2)"),
    Row("x * sqrt(1 + x**2) + arcsinh(x)", "x", X, "2 * hypot(1, x)"),
    Row("(1 + x) * sqrt(x**2 + 2*x) - log(1 + x + sqrt((1 + x)**2 - 1))", "x", X, "2 * sqrt(x ** 2 + 2 * x)"),
    Row("arctan((x - 1) / (x + 1))", "x", X, "1 / (1 + x ** 2)"),
    Row("x * sqrt(9 - x**2)", "x", X, "(9 - 2 * x ** 2) / sqrt(9 - x ** 2)"),
    Row("sin(x + y) * sin(x - y)", "x", XY, "sin(2 * x)"),
    Row("sin(x) * cos(x)", "x", X, "cos(2 * x)"),
    Row("x**(1 / x)", "x", X, "x ** (1 / x - 2) * (1 - log(x))"),
    Row("x**log(x)", "x", X, "2 * log(x) * x ** (log(x) - 1)"),
    Row("(1 + x / y)**y", "y", XY, "(1 + x / y) ** (y - 1) * ((1 + x / y) * log(1 + x / y) - x / y)"),
    Row("x / (exp(x / (y * z)) - 1)", "z", XYZ, "0.25 * x ** 2 / (y * z ** 2 * sinh(0.5 * x / (y * z)) ** 2)"),
    Row("2*x**3 / y**2 / (exp(x / (y * z)) - 1)", "x", XYZ,
        "q = x / (y * z)\n2 * x ** 2 * (3 - q / (1 - exp(-q))) / (y ** 2 * (exp(q) - 1))"),
    Row("0.8 * ((x / y)**12 - (x / y)**6)", "y", XY, "4.8 * x ** 6 * (1 - 2 * x ** 6 / y ** 6) / y ** 7"),
    Row("x / (4 * pi * y * (x**2 + z**2)**(3/2))", "x", XYZ,
        "(z ** 2 - 2 * x ** 2) / (4 * pi * y * (x ** 2 + z ** 2) ** 2.5)"),
    Row("y / (z - y) * (exp(-y * x) - exp(-z * x))", "y", XYZ,
        "(z * exp(-y * x) + y * x * exp(-y * x) * (y - z) - z * exp(-z * x)) / (y - z) ** 2"),
]
S, PD = sd.symmetric, sd.positive_definite
FIT: Mapping[str, Any] = {"X": ("m", "n"), "A": ("m", "k"), "B": ("k", "n"), "W": S("m")}
FREE: Mapping[str, Any] = {**FIT, "W": ("m", "m")}
SQUARE: Mapping[str, Any] = {"A": ("n", "n"), "B": ("n", "n"), "C": S("n"), "D": ("n", "n")}
TRANSPOSES = [
    Row("trace((X - A@B).T @ W @ (X - A@B))", "B", FIT, "-2 * (A.T @ W @ (X - A @ B))"),
    Row("trace((X - A@B).T @ W @ (X - A@B))", "A", FIT, "-2 * (W @ (X - A @ B) @ B.T)"),
    Row("trace((X - A@B).T @ W @ (X - A@B))", "X", FIT, "2 * (W @ (X - A @ B))"),
    Row("trace((X.T - B.T@A.T) @ W @ (X - A@B))", "B", FIT, "-2 * (A.T @ W @ (X - A @ B))"),
    Row("trace((2*X - A@B).T @ inv(W) @ (2*X - A@B))", "X", FIT, "4 * (inv(W) @ (2 * X - A @ B))"),
    Row("trace((X - A@B).T @ W @ (X - A@B))", "B", FREE, "-A.T @ ((W.T + W) @ (X - A @ B))"),
    Row("(y - X@b) @ W @ (y - X@b)", "b", {"y": "m", "X": ("m", "n"), "b": "n", "W": ("m", "m")},
        "X.T @ (W.T + W) @ (X @ b - y)"),
    Row("trace((A - B.T).T @ C @ (A - B.T))", "B", SQUARE, "-2 * ((A.T - B) @ C)"),
    Row("trace((A.T - B@D).T @ C @ (A.T - B@D))", "B", SQUARE, "-2 * (C @ (A.T - B @ D) @ D.T)"),
    Row("a @ inv(Y) @ b", "Y", {"Y": PD("n"), "a": "n", "b": "n"},
        "-0.5 * (inv(Y) @ (outer(a, b) + outer(b, a)) @ inv(Y))"),
]
LOSS = "y * log(sigmoid({z})) + (1 - y) * log(1 - sigmoid({z}))"
DATA: Mapping[str, Any] = {"X": ("m", "n"), "w": "n", "y": "m", "b": (), "v": (), "x": "n"}
SHARES = [
    Row(f"-sum({LOSS.format(z='X@w')})", "w", DATA, "X.T @ (sigmoid(X @ w) - y)"),
    Row(f"-mean({LOSS.format(z='X@w')})", "w", DATA, "X.T @ (sigmoid(X @ w) - y) / m"),
    Row(f"-sum({LOSS.format(z='(X@w + b)')})", "b", DATA, "sum(sigmoid(X @ w + b) - y)"),
    Row(f"-({LOSS.format(z='(x@w)').replace('y', 'v')})", "w", DATA, "(sigmoid(x @ w) - v) * x"),
    Row("-(y @ log(1 / (1 + exp(-X@w))) + (1 - y) @ log(1 - 1 / (1 + exp(-X@w))))", "w", DATA,
        "X.T @ (sigmoid(X @ w) - y)"),
]
LAYER: Mapping[str, Any] = {"X": ("m", "n"), "W": ("n", "k"), "w": "n", "y": "m", "u": "k"}
POS: Mapping[str, Any] = {"x": sd.positive(), "y": (), "a": ()}
CHOICES = [
    Row("sum(relu(X@w))", "X", LAYER, "outer(heaviside(X @ w, 0.5), w)"),
    Row("a + mean(maximum(x - a, 0)) / 0.05", "a", {"x": "n", "a": ()}, "1 - 20 * sum(heaviside(x - a, 0.5)) / n"),
    Row("3 * sum(where(x > 0, a * x, 0))", "a", {"x": "n", "a": ()}, "3 * sum(where(0 < x, x, 0))"),
    Row("mean(where(x > 1, log(x * a) * y, 0))", "y", {"x": "n", "a": (), "y": ()},
        "mean(where(1 < x, log(a * x), 0))"),
    Row("sum(where(x > 1, log(y) * x, 0))", "y", {"x": "n", "y": ()},  # 1 / y may be infinite
        "where(sum(where(1 < x, 1, 0)) != 0, sum(where(1 < x, x, 0)) / y, 0)"),
    Row("sum(maximum(X@w, 0))", "w", LAYER, "X.T @ heaviside(X @ w, 0.5)"),
    Row("sum(maximum(X@W, 0)**2)", "X", LAYER, "2 * (maximum(X @ W, 0) @ W.T)"),
    Row("sum(relu(X@W) @ u)", "W", LAYER, "X.T @ (heaviside(X @ W, 0.5) * u)"),
    Row("sum(maximum(0, 1 - y*(X@w))**2)", "w", LAYER, "-2 * (X.T @ (y * maximum(0, 1 - y * (X @ w))))"),
    Row("where((x != 0) | (y > 0), x**2, y)", "x", POS, "2 * x"),
    Row("where((x != 0) & (y > 0), x**2, y)", "x", POS, "where(0 < y, 2 * x, 0)"),
    Row("where(x == 0, 0, x * log(x))", "x", POS, "log(x) + 1"),
    Row("where(-x < 0, x**2, x)", "x", POS, "2 * x"),
    Row("where(1 + x > 0, x**2, x)", "x", POS, "2 * x"),
    Row("x**y", "x", POS, "y * x ** (y - 1)"),
    Row("relu(x)", "x", POS, "1"),
    Row("where(x < 0, x**3, where(x < 1, x**2, 0))", "x", X,
        "where(x < 0, 3 * x ** 2, where(x < 1, 2 * x, 0))"),
    Row("where(x < 0, x**3, where(x < 1, x**2, where(x < 2, x, 0)))", "x", X,
        "where(x < 0, 3 * x ** 2, where(x < 1, 2 * x, where(x < 2, 1, 0)))"),
    Row("where(x < 0, 0, where(x < 1, x**2, 1))", "x", X, "where((0 <= x) & (x < 1), 2 * x, 0)"),
    Row("where(x > 1, 1, where(x > 0, x**2, 0))", "x", X, "where((0 < x) & (x <= 1), 2 * x, 0)"),
]
ALONG: Mapping[str, Any] = {"x": "n", "y": "n", "X": ("n", "m")}
SUMS = [
    Row("mean(x)", "x", ALONG, "ones((n,)) / n"),
    Row("mean(X)", "X", ALONG, "ones((n, m)) / (m*n)"),
    Row("cumsum(x)", "x", ALONG, "tril(ones((n, n)))"),
    Row("sum(cumsum(x)**2)", "x", ALONG, "2 * cumsum(cumsum(x)[::-1])[::-1]"),
    Row("sum(diff(x)**2)", "x", ALONG, "-2 * diff(pad(diff(x), (1, 1)))"),
    Row("sum(diff(X)**2)", "X", ALONG, "-2 * diff(pad(diff(X), ((0, 0), (1, 1))))"),
    Row("sum((x[:-1] - x[1:])**2 / 2)", "x", ALONG, "-diff(pad(diff(x), (1, 1)))"),
    Row("sum(exp(x[1:] - x[:-1]))", "x", ALONG, "-diff(pad(exp(diff(x)), (1, 1)))"),
    Row("sum(diff(x)**2)", "x", ALONG, "-2 * diff(pad(diff(eye(n)), ((0, 0), (1, 1))))", 2),
    Row("sum(exp(x[1:] - x[:-1]))", "x", ALONG, "-diff(pad(diff(eye(n)) * exp(diff(x)), ((0, 0), (1, 1))))", 2),
    Row("sum((x[1:] - x[:-1]**2)**2)", "x", ALONG,
        "pad(2 * eye(n)[1:].T - 4 * (eye(n, n - 1) * x[:-1]), ((0, 0), (1, 0))) + "
        "pad(eye(n, n - 1) * (8 * x[:-1] * x[:-1] - 4 * (x[1:] - x[:-1] ** 2)) - 4 * (eye(n)[1:].T * x[:-1]), "
        "((0, 0), (0, 1)))", 2),
    Row("sum(diff(x, n=2)**2)", "x", ALONG, "2 * diff(pad(diff(x, 2), (2, 2)), 2)"),
]
FORM: Mapping[str, Any] = {"x": "n", "A": S("n"), "B": ("n", "n")}
FUNCTIONS = [
    Row("hypot(x, y)", "x", XY, "y ** 2 / hypot(x, y) ** 3", 2),
    Row("cot(x)", "x", X, "-1 / sin(x) ** 2"),
    Row("1 / tanh(x)", "x", X, "-1 / sinh(x) ** 2"),
    Row("1 / tanh(x)**2", "x", X, "-2 / (tanh(x) * sinh(x) ** 2)"),
    Row("jv(0, x)", "x", X, "-jv(1, x)"),
    Row("yv(0, x)", "x", X, "-yv(1, x)"),
    Row("iv(0, x)", "x", X, "iv(1, x)"),
    Row("kv(0, x)", "x", X, "-kv(1, x)"),
    Row("log(x @ A @ x)", "x", FORM, "2 * (A - 2 * outer(A @ x, A @ x) / (x @ A @ x)) / (x @ A @ x)", 2),
    Row("log(x @ x)", "x", FORM, "2 * (eye(n) - 2 * outer(x, x) / (x @ x)) / (x @ x)", 2),
    Row("log(x @ B @ x)", "x", FORM,
        "(B + B.T - outer((B + B.T) @ x, (B + B.T) @ x) / (x @ B @ x)) / (x @ B @ x)", 2),
]
GAUSS: Mapping[str, Any] = {"x": "n", "m": "n", "P": PD("n"), "s": (), "t": (), "u": ()}
DENSITIES = [
    Row("((P - 2 * outer(x, x)) @ x) * (m - x)", "m", GAUSS, "diag((P - 2 * outer(x, x)) @ x)"),
    Row("((P - outer(x, x)) @ x) * (x - m)", "m", GAUSS, "diag((outer(x, x) - P) @ x)"),
    Row("(x @ x) * sum(t * x)", "t", GAUSS, "sum(x) * (x @ x)"),
    Row("v @ [[a, b], [b, c]] @ v", "v", {"v": 2, "a": (), "b": (), "c": ()}, "2 * ([[a, b], [b, c]] @ v)"),
    Row("prod(v)", "v", {"v": 3}, "[[0, v[2], v[1]], [v[2], 0, v[0]], [v[1], v[0], 0]]", 2),
    Row("1 / norm(x - m)", "x", GAUSS, "u = unit(x - m)\n(3 * outer(u, u) - eye(n)) / norm(x - m) ** 3", 2),
    Row("exp(-(x - m) @ inv(P) @ (x - m) / 2)", "x", GAUSS,
        "-exp(-0.5 * ((x - m) @ inv(P) @ (x - m))) * (inv(P) @ (x - m))"),
    Row("exp(-(x - m) @ inv(P) @ (x - m) / 2) / sqrt(det(2 * pi * P))", "m", GAUSS,
        "exp(-0.5 * ((x - m) @ inv(P) @ (x - m))) * (inv(P) @ (x - m)) / sqrt(det(2 * pi * P))"),
    Row(NORMAL, "x", XMS,
        "exp(-(x - m) ** 2 / (2 * s ** 2)) * ((x - m) ** 2 / s ** 2 - 1) / (sqrt(2 * pi) * s ** 3)", 2),
    Row("exp(-x**2 / 2) / sqrt(2 * pi)", "x", X, "exp(-0.5 * x ** 2) * (x ** 2 - 1) / sqrt(2 * pi)", 2),
    Row("2*pi*t / ((2*pi) * s)", "s", GAUSS, "-t / s ** 2"),
    Row("2*pi*t / ((2*pi) * s)", "t", GAUSS, "1 / s"),
    Row("beta(x, y)", "x", XY, "beta(x, y) * (digamma(x) - digamma(x + y))"),
]
PAIR: Mapping[str, Any] = {"S": PD("n"), "T": PD("n"), "u": "n", "v": "n"}
KL = "(trace(inv(T)@S) + (v - u)@inv(T)@(v - u) - log(det(S)/det(T))) / 2"
CONTROL: Mapping[str, Any] = {"A": ("n", "n"), "P": S("n"), "Q": S("n"), "X": ("n", "n"), "B": ("n", "n")}
TRIPLET: Mapping[str, Any] = {"a": "n", "p": "n", "q": "n", "c": ()}
KERNEL: Mapping[str, Any] = {"x": "n", "y": "n", "r": (), "l": ()}
MATERN_3, MATERN_5 = (
    "(1 + sqrt(3)*{r}/l) * exp(-sqrt(3)*{r}/l)",
    "(1 + sqrt(5)*{r}/l + 5*{r}**2/(3*l**2)) * exp(-sqrt(5)*{r}/l)",
)
SHARE: Mapping[str, Any] = {"p": sd.positive("n"), "q": sd.positive("n"), "a": sd.positive(), "b": sd.positive()}
OPTION: Mapping[str, Any] = {name: sd.positive() for name in "SKTs"} | {"r": ()}
PRICE = (
    "S*ndtr((log(S/K) + (r + s**2/2)*T)/(s*sqrt(T))) - K*exp(-r*T)*ndtr((log(S/K) + (r - s**2/2)*T)/(s*sqrt(T)))"
)
D1 = "(log(S / K) + T * (r + 0.5 * s ** 2))"
PARTICLES: Mapping[str, Any] = {**dict.fromkeys("dareslc", ()), "x": "n"}
WELL, PAIRED = "d * (1 - exp(-a*(r - c)))**2", "4*e*((s/{r})**12 - (s/{r})**6)"
TAILS: Mapping[str, Any] = {"x": "n", "y": "n", **{name: sd.positive() for name in "ual"}}
POSITIVE: Mapping[str, Any] = {"p": sd.positive("n"), "q": sd.positive("n"), "a": sd.positive()}
BLOCK: Mapping[str, Any] = {"A": (2, 2), "B": (2, 3), "D": (3, 3), "X": (5, 2)}
BLOCKS = "concatenate([concatenate([A, B], axis=1), concatenate([B.T, D], axis=1)])"
STATISTICS = [
    Row(WELL, "r", PARTICLES, "-2 * a * d * exp(-a * (r - c)) * expm1(-a * (r - c))"),
    Row(WELL, "a", PARTICLES, "-2 * d * (r - c) * exp(-a * (r - c)) * expm1(-a * (r - c))"),
    Row("(1 - exp(-x))**2", "x", X, "2 * (exp(-x) * expm1(-x) + exp(-2 * x))", 2),
    Row(PAIRED.format(r="r"), "r", PARTICLES, "24 * e * s ** 6 * (1 - 2 * s ** 6 / r ** 6) / r ** 7"),
    Row(PAIRED.format(r="norm(x)"), "x", PARTICLES,
        "24 * e * s ** 6 * (1 - 2 * s ** 6 / norm(x) ** 6) * x / norm(x) ** 8"),
    Row("sum((u + 1)/2 * log(1 + x**2/u))", "x", TAILS, "(u + 1) * x / (u + x ** 2)"),
    Row("(1 + sum((x - y)**2)/(2*a*l**2))**(-a)", "x", TAILS,
        "-(1 + 0.5 * sum((x - y) ** 2) / (a * l ** 2)) ** -(a + 1) * (x - y) / l ** 2"),
    Row("(p@q)**a", "p", POSITIVE, "a * (p @ q) ** (a - 1) * q"),
    Row("sum(p**a)**(1/a)", "p", POSITIVE, "sum(p ** a) ** (1 / a - 1) * p ** (a - 1)"),
    Row(PRICE, "S", OPTION, f"ndtr({D1} / (s * sqrt(T)))"),
    Row(PRICE, "s", OPTION,
        f"S * sqrt(T) * exp(-0.5 * {D1} ** 2 / (T * s ** 2)) / sqrt(2 * pi)"),
    Row(PRICE, "s", OPTION,
        f"t1 = {D1[1:-1]}\n"
        "S * exp(-0.5 * t1 ** 2 / (T * s ** 2)) * t1 * (t1 / (sqrt(T) * s ** 2) - sqrt(T)) / (sqrt(2 * pi) * s)", 2),
    Row(PRICE, "T", OPTION,
        "t1 = log(S / K) + T * (r - 0.5 * s ** 2)\nK * r * ndtr(t1 / (s * sqrt(T))) * exp(-r * T) + "
        "0.5 * s * K * exp(-(0.5 * t1 ** 2 / (T * s ** 2) + T * r)) / (sqrt(2 * pi) * sqrt(T))"),
    Row("sum(p*log(2*p/(p + q))) + sum(q*log(2*q/(p + q)))", "p", SHARE, "log(2 * p / (p + q))"),
    Row("a*log(a/(a + 2*b)) + 2*b*log(b/(a + 2*b))", "a", SHARE, "log(a / (a + 2 * b))"),
    Row(MATERN_3.format(r="norm(x - y)"), "x", KERNEL,
        "-3 * exp(-sqrt(3) * norm(x - y) / l) * (x - y) / l ** 2"),
    Row(MATERN_5.format(r="norm(x - y)"), "x", KERNEL,
        "q = sqrt(5) * norm(x - y) / l\n-5 * exp(-q) * (1 + q) * (x - y) / (3 * l ** 2)"),
    Row(MATERN_3.format(r="r"), "r", KERNEL, "-3 * r * exp(-sqrt(3) * r / l) / l ** 2"),
    Row(MATERN_3.format(r="r"), "l", KERNEL, "3 * r ** 2 * exp(-sqrt(3) * r / l) / l ** 3"),
    Row("sum(maximum(X@w, 0)**2)", "w", LAYER, "2 * ((X.T * heaviside(X @ w, 0.5)) @ X)", 2),
    Row("sum(minimum(x, 0)**2)", "x", ALONG, "2 * minimum(x, 0)"),
    Row("sum(maximum(x, 0)**3)", "x", ALONG, "6 * diag(maximum(x, 0))", 2),
    Row("log(k/s) + (k - 1)*log(x/s) - (x/s)**k", "s", WEIBULL, "k * ((x / s) ** k - 1) / s"),
    Row("((x + m)/s)**k", "s", WEIBULL, "-k * ((x + m) / s) ** k / s"),
    Row("(s/x)**(k + 2)", "x", WEIBULL, "-(k + 2) * (s / x) ** (k + 2) / x"),
    Row("x**(k-1)*exp(-x/s)/(gamma(k)*s**k)", "x", WEIBULL,
        "x ** (k - 2) * exp(-x / s) * (k - 1 - x / s) / (gamma(k) * s ** k)"),
    Row("x**(k-1)*exp(-x/s)/(gamma(k)*s**k)", "s", WEIBULL,
        "x ** (k - 1) * exp(-x / s) * (x - s * k) / (gamma(k) * s ** (k + 2))"),
    Row("x**k*(1 + x)**m", "x", WEIBULL, "(1 + x) ** (m - 1) * x ** (k - 1) * (m * x + k * (1 + x))"),
    Row("k*m**k/x**(k + 1)", "x", WEIBULL, "-k * (k + 1) * m ** k / x ** (k + 2)"),
    Row("x**(k + 1)*x", "x", WEIBULL, "x ** (k + 1) * (2 + k)"),
    Row("(1 + x)**(-k)", "x", WEIBULL, "-k * (1 + x) ** -(k + 1)"),
    Row("k*x/(x**2 + m**2)**(3/2)", "x", WEIBULL, "k * (m ** 2 - 2 * x ** 2) / (x ** 2 + m ** 2) ** 2.5"),
    Row("1/(1 + x**2)**1.5", "x", WEIBULL, "-3 * x / (1 + x ** 2) ** 2.5"),
    Row("1/sum(x**2)**1.5", "x", ALONG, "-3 * x / sum(x ** 2) ** 2.5"),
    Row("x/(1 + abs(x))", "x", WEIBULL, "1 / (1 + abs(x)) ** 2"),
    Row("x*abs(x)", "x", WEIBULL, "2 * abs(x)"),
    Row("sum(maximum(0, 1 - y*(X@w))**2)", "w", LAYER,
        "2 * ((X.T * (y ** 2 * heaviside(1 - y * (X @ w), 0.5))) @ X)", 2),
    Row("maximum(0, norm(a - p) - norm(a - q) + c)", "a", TRIPLET,
        "heaviside(norm(a - p) - norm(a - q) + c, 0.5) * (unit(a - p) - unit(a - q))"),
    Row(f"-sum({LOSS.format(z='X@w')})", "w", DATA, "(X.T * (sigmoid(X @ w) * sigmoid(-X @ w))) @ X", 2),
    Row(f"-mean({LOSS.format(z='X@w')})", "w", DATA, "(X.T * (sigmoid(X @ w) * sigmoid(-X @ w))) @ X / m", 2),
    Row(f"-({LOSS.format(z='(x@w)').replace('y', 'v')})", "w", DATA,
        "sigmoid(x @ w) * sigmoid(-x @ w) * outer(x, x)", 2),
    Row(KL, "S", PAIR, "0.5 * (inv(T) - inv(S))"),
    Row(KL, "u", PAIR, "inv(T) @ (u - v)"),
    Row("log(det((S + T)/2)) - log(det(S@T))/2", "S", PAIR, "inv(S + T) - 0.5 * inv(S)"),
    Row("log(det(S)*det(T))", "T", PAIR, "inv(T)"),
    Row("log(abs(det(A@X@B)))", "X", CONTROL, "inv(X).T"),
    Row("trace(A @ inv(B @ A) @ X)", "X", CONTROL, "inv(B).T"),
    Row("trace(A @ inv(X @ A))", "X", CONTROL, "-inv(X).T @ inv(X).T"),
    Row("trace(inv(A.T @ B) @ A.T @ X)", "X", CONTROL, "inv(B).T"),
    Row("logabsdet(inv(X) @ A)", "X", CONTROL, "-inv(X).T"),
    Row("(trace(inv(X) @ A) - logabsdet(inv(X) @ A)) / 2", "X", CONTROL, "-0.5 * (inv(X) @ (A - X) @ inv(X)).T"),
    Row("trace(inv(3*X))", "X", CONTROL, "-inv(X).T @ inv(X).T / 3"),
    Row("sum((A@P@A.T - P + Q)**2)", "P", CONTROL,
        "2 * (A.T @ (A @ P @ A.T - P + Q) @ A - (A @ P @ A.T - P + Q))"),
    Row("(y*cos(x))**2 + (y*sin(x))**2", "y", XY, "2 * y"),
    Row("(y*cos(x))**2 + (y*sin(x))**2", "x", XY, "0"),
    Row("sum((x*cos(y))**2 + (x*sin(y))**2)", "x", KERNEL, "2 * x"),
    Row("x*y + y*(x - x)", "x", XY, "y"),
    Row("trace(A@B - B@A + B@A@Q)", "A", CONTROL, "B.T @ Q"),
    Row("norm(A - X@X.T)**2", "X", CONTROL, "-2 * ((A + A.T - 2 * (X @ X.T)) @ X)"),
    Row("sum((x - mean(x))*(y - mean(y))) / sqrt(sum((x - mean(x))**2) * sum((y - mean(y))**2))", "x", KERNEL,
        "c = y - mean(y)\nc1 = x - mean(x)\nu = unit(c1)\n(c - (u @ c) * u) / (norm(c1) * norm(c))"),
    Row("x @ A @ x / (x @ x)", "x", FORM,
        "q = x @ A @ x / (x @ x)\n2 * (2 * outer(2 * q * x - A @ x, x) / (x @ x) - q * eye(n) - "
        "2 * outer(x, A @ x) / (x @ x) + A) / (x @ x)", 2),
    Row(f"sum(({BLOCKS}.T)[:2]**2)", "A", BLOCK, "2 * A"),
    Row(f"sum(({BLOCKS}.T)[2:]**2)", "B", BLOCK, "2 * B"),
    Row(f"trace({BLOCKS}.T[:2] @ X)", "B", BLOCK, "X[2:].T"),
    Row(WELL, "r", PARTICLES, "2 * a ** 2 * d * exp(-a * (r - c)) * (expm1(-a * (r - c)) + exp(-a * (r - c)))", 2),
    Row("d*exp(-a/(s*r))", "r", PARTICLES, "q = a / (s * r)\nq * d * exp(-q) * (q - 2) / r ** 2", 2),
    Row("S*T/(K + S + S**2/s)", "S", OPTION, "q = S ** 2 / s\nT * (K - q) / (K + S + q) ** 2"),
    Row("-a*(1 - sigmoid(r))**2*log(sigmoid(r))", "r", PARTICLES,
        "a * sigmoid(-r) ** 2 * (2 * sigmoid(r) * log_sigmoid(r) - sigmoid(-r))"),
    Row("-log(s) - (x - m)/s - exp(-(x - m)/s)", "s", XMS, "((m - x) * (exp((m - x) / s) - 1) / s - 1) / s"),
    Row("log(x) - log(sinh(x)) + x*y", "x", {"x": sd.positive(), "y": ()}, "1 / sinh(x) ** 2 - 1 / x ** 2", 2),
    Row("-log(x[0]*exp(-a) + x[1]*exp(-d))", "x", {**PARTICLES, "x": 2},
        "t1 = x[0] + x[1] * exp(a - d)\nt2 = x[1] + x[0] * exp(d - a)\n"
        "q = 1 / (t1 * t2)\n[[1 / t1 ** 2, q], [q, 1 / t2 ** 2]]", 2),
    Row("y @ x - log(1 + sum(exp(x)))", "x", {"x": "n", "y": "n"}, "y - exp(x) / (1 + sum(exp(x)))"),
    Row("exp(x) / (1 + sum(exp(x)))", "x", {"x": "n"},
        "(diag(exp(x)) - outer(exp(x), exp(x)) / (1 + sum(exp(x)))) / (1 + sum(exp(x)))"),
    Row("sum(eigvalsh(P)**2)", "P", CONTROL, "2 * P"),
    Row("sum(eigvalsh(P)**2) / 2", "P", CONTROL, "P"),
    Row("sum(eigvalsh(P)**3)", "P", CONTROL, "3 * (P @ P)"),
    Row("eigvalsh(P)[1]", "P", CONTROL,
        "v = simple_eigenvectors(P)[:, 1]\nouter(v, v)"),
    Row("eigvalsh(P) @ x", "P", {**CONTROL, "x": "n"},
        "isotropic(P, x)"),
    Row("sum((A.T@P + P@A + Q)**2)", "P", CONTROL,
        "2 * ((A.T @ P + P @ A + Q) @ A.T + A @ (A.T @ P + P @ A + Q))"),
]
ROWS = [*NUMBERS, *FORMS_OF_ONE, *TRANSPOSES, *SHARES, *CHOICES, *SUMS, *FUNCTIONS, *DENSITIES, *STATISTICS]
