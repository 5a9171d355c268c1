"""Formula text means what NumPy means, and whatever else is refused, with a place, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from symdiff.errors import ArgumentError, DisconnectedInputError, LimitError, ParseError, ShapeError, SymdiffError
from symdiff.frontend.text.parse import CONSTANTS, parse_graph, parse_known
from symdiff.graph.reference.interpret import evaluate
from symdiff.ground.limits import Limits

Values = npt.NDArray[np.float64]

_random = np.random.default_rng(20)
POINT: dict[str, Values] = {
    "x": np.array(0.7),
    "y": np.array(-1.3),
    "v": _random.normal(size=4),
    "w": _random.normal(size=4),
    "X": _random.normal(size=(2, 4)),
    "A": _random.normal(size=(3, 3)),
    "C": _random.normal(size=(2, 3, 4)),
}
SHAPES = {name: value.shape for name, value in POINT.items()}
x, y, v, w, X, A, C = POINT.values()


def compute(text: str) -> Any:
    parsed = parse_graph(text, SHAPES)
    return evaluate([parsed.result.node], POINT)[0]


# Each beside the same thing in NumPy, written by hand.
MEANS: dict[str, Callable[[], Any]] = {
    "x": lambda: x,
    "3": lambda: 3.0,
    "2**10 - 1": lambda: 1023.0,
    "1/3": lambda: 1 / 3,
    "7 // 2 + -7 // 2 + 7 % -3": lambda: 3 - 4 - 2,
    "2**-1": lambda: 0.5,
    "10**308": lambda: 1e308,
    "12345678901234567890 + x": lambda: 12345678901234567890.0 + x,
    "pi + π + e": lambda: 2 * np.pi + np.e,
    "minimum(x, inf)": lambda: x,
    "x - y * 2 / 4": lambda: x - y * 2 / 4,
    "-x**2": lambda: -(x**2),
    "2**-x": lambda: 2**-x,
    "v * w + X": lambda: v * w + X,
    "v / 2 - +w": lambda: v / 2 - w,
    "v % 0.5": lambda: v % 0.5,
    "v // 0.5": lambda: v // 0.5,
    "X @ v": lambda: X @ v,
    "v @ w": lambda: v @ w,
    "v.T @ w": lambda: v @ w,
    "v @ X.T": lambda: v @ X.T,
    "X.T": lambda: X.T,
    "C.T": lambda: C.T,
    "X.T.T": lambda: X,
    "X @ X.T @ A[0, :2]": lambda: X @ X.T @ A[0, :2],
    "v[0]": lambda: v[0],
    "v[-1]": lambda: v[-1],
    "v[1 + 2]": lambda: v[3],
    "v[1:]": lambda: v[1:],
    "v[:-1] * v[1:]": lambda: v[:-1] * v[1:],
    "v[::2]": lambda: v[::2],
    "v[::-1]": lambda: v[::-1],
    "v[3:0:-2]": lambda: v[3:0:-2],
    "v[10:]": lambda: v[10:],
    "v[[0, 2, 2, -1]]": lambda: v[[0, 2, 2, -1]],
    "v[[[0, 1], [2, 3]]]": lambda: v[[[0, 1], [2, 3]]],
    "X[:, None] - C": lambda: X[:, None] - C,
    "C[..., 0]": lambda: C[..., 0],
    "C[1, ..., ::2]": lambda: C[1, ..., ::2],
    "C[0][1][2]": lambda: C[0][1][2],
    "C[:, [0, 2]]": lambda: C[:, [0, 2]],
    "C[[0, 1], [2, 0]]": lambda: C[[0, 1], [2, 0]],
    "x[None, ...]": lambda: x[None, ...],
    "v[...]": lambda: v,
    "[1, 2]": lambda: np.array([1.0, 2.0]),
    "[[1, 2.5], [-3, 2**2]]": lambda: np.array([[1, 2.5], [-3, 4]]),
    "[[1, 2], [3, 4]][1, 0]": lambda: 3.0,
    "[x, y, 2]": lambda: np.array([x, y, 2]),
    "[[sin(x), 0], [0, cos(y)]]": lambda: np.array([[np.sin(x), 0], [0, np.cos(y)]]),
    "[v, w, 2*v]": lambda: np.array([v, w, 2 * v]),
    "[[x, y]] @ [[1], [2]]": lambda: np.array([[x + 2 * y]]),
    "-[1, 2] + [x, y]": lambda: np.array([-1, -2]) + np.array([x, y]),
    "where(x < y, 1, 2)": lambda: 2.0,
    "where((v < 0) & (w < 0) | (v == w), v, -w)": lambda: np.where((v < 0) & (w < 0), v, -w),
    "where(~(v < 0), v, 0)": lambda: np.maximum(v, 0),
    "where(1 < 2, x, y)": lambda: x,
    "where(x != y, 1, 0) + where(x >= 0.7, 1, 0) + where(x > 0.7, 1, 0)": lambda: 2.0,
    "x > 0": lambda: True,
    "exp(log(x)) + sqrt(2)": lambda: x + np.sqrt(2),
    "sum(X)": X.sum,
    "sum(X, 0)": lambda: X.sum(0),
    "sum(C, axis=(0, -1))": lambda: C.sum((0, -1)),
    "sum(X, axis=1, keepdims=True)": lambda: X.sum(1, keepdims=True),
    "sum(X, axis=None)": X.sum,
    "max(X, axis=-1)": lambda: X.max(-1),
    "softmax(v)": lambda: np.exp(v) / np.exp(v).sum(),
    "log(softmax(X @ v))[0]": lambda: (X @ v)[0] - np.log(np.exp(X @ v).sum()),
    "softmax(X, axis=0)": lambda: np.exp(X) / np.exp(X).sum(0),
    "reshape(X, (4, 2))": lambda: X.reshape(4, 2),
    "reshape(X, (2, -1, 2))": lambda: X.reshape(2, -1, 2),
    "reshape(stack((x, y, x, 1)), (2, 2))": lambda: np.array([[x, y], [x, 1]]),
    "concatenate((v, w[:2]))": lambda: np.concatenate((v, w[:2])),
    "concatenate([X, X], axis=1)": lambda: np.concatenate((X, X), axis=1),
    "stack([v, w], axis=-1)": lambda: np.stack((v, w), axis=-1),
    "outer(v, w)": lambda: np.outer(v, w),
    "det(A) + trace(A)": lambda: np.linalg.det(A) + np.trace(A),
    "inv(A) @ A[0]": lambda: np.linalg.inv(A) @ A[0],
    "eye(3) - A": lambda: np.eye(3) - A,
    "norm(v)": lambda: np.linalg.norm(v),
    "z = X @ v\nz - z[0]": lambda: X @ v - (X @ v)[0],
    "\n  a = v*2\n\n  b = a + 1  \n  a @ b\n\n": lambda: (v * 2) @ (v * 2 + 1),
    "k = 3\nx * k ** k": lambda: x * 27,
    "(\n x\n +\n y\n)": lambda: x + y,
    "sum(\n  [x,\n   y],\n)": lambda: x + y,
}


@pytest.mark.parametrize("text", MEANS)
def test_means_what_numpy_means(text: str) -> None:
    expected = np.asarray(MEANS[text]())
    found = compute(text)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


# Derivative operators, beside their values worked out by hand.
DERIVED: dict[str, Callable[[], Any]] = {
    "gradient(log(det(A)), A)": lambda: np.linalg.inv(A).T,
    "gradient(x*sin(x), x)": lambda: np.sin(x) + x * np.cos(x),
    "gradient(sum(v**3), v)[1:]": lambda: 3 * v[1:] ** 2,
    "gradient(sum(X @ v), X[0])": lambda: v,
    "gradient(sum(X**2), X[:, 1])": lambda: 2 * X[:, 1],
    "gradient(sum(A @ A[0]), A[1, 2])": lambda: A[0, 2],
    "h = X @ v\ngradient(sum(h**2), h)": lambda: 2 * (X @ v),
    "h = X @ v\nl = sum(h**2)\ngradient(l, h) @ jacobian(h, v)": lambda: 2 * (X @ v) @ X,
    "jacobian(X @ v, v)": lambda: X,
    "jacobian((X @ [v, w].T)[0], X[0])": lambda: np.array([v, w]),
    "gradient(x*y**2, (x, y))[0]": lambda: y**2,
    "gradient(x*y**2, (x, y))[-1]": lambda: 2 * x * y,
    "stack(gradient(x*y**2, (x, y)))": lambda: np.array([y**2, 2 * x * y]),
    "hessian(x*y**2, (x, y))[0][1]": lambda: 2 * y,
    "hessian(x*y**2, (x, y))[1, 1] + 1": lambda: 2 * x + 1,
    "hessian(v @ v, v)": lambda: 2 * np.eye(4),
    "gradient(gradient(x**4, x), x)": lambda: 12 * x**2,
    "derivative(x**4, x, 3)": lambda: 24 * x,
    "jvp(v*v, v, w)": lambda: 2 * v * w,
    "vjp(v*v, v, [1, 2, 3, 4])": lambda: 2 * v * np.arange(1, 5),
    "hvp(sum(v**3), v, w)": lambda: 6 * v * w,
    "gradient(x * stop_gradient(x), x)": lambda: x,
}


@pytest.mark.parametrize("text", DERIVED)
def test_derivatives_inside(text: str) -> None:
    np.testing.assert_allclose(compute(text), DERIVED[text](), rtol=1e-11, atol=1e-13)


def test_several_derivatives_are_a_tuple() -> None:
    parsed = parse_graph("gradient(x*y, (x, y))", SHAPES)
    assert [float(evaluate([part.node], POINT)[0]) for part in parsed.result] == [y, x]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("gradient(v, v)", ShapeError, "in 'gradient(v, v)'"),
        ("2 * gradient(x, y)", DisconnectedInputError, "in 'gradient(x, y)'"),
        ("gradient(x, 2)", SymdiffError, "in 'gradient(x, 2)'"),
        ("gradient(x)", ParseError, "takes 2 arguments, found 1"),
        ("gradient(x, x, x)", ParseError, "takes 2 arguments, found 3"),
        ("gradient(x*y, (x, y)) + 1", ParseError, "pick one by [0]"),
        ("gradient(x*y, (x, y))[2]", ParseError, "from -2 to 1"),
        ("gradient(x*y, (x, y))[0, 0]", ParseError, "no further index"),
        ("gradient(x*y, (x, y))[0:1]", ParseError, "expected a whole number"),
        ("g = gradient(x*y, (x, y))\nx", ParseError, "pick one by [0]"),
    ],
)
def test_derivatives_refused(text: str, error: type[SymdiffError], words: str) -> None:
    with pytest.raises(error) as caught:
        parse_graph(text, SHAPES)
    assert words in str(caught.value)
    assert "^" in str(caught.value)


def test_result_inputs_and_names() -> None:
    parsed = parse_graph("z = X @ y\nw = exp(z)\nw[0] + 0", {"unused": 3, "X": (2, 4), "y": 4})
    assert list(parsed.inputs) == ["unused", "X", "y"]
    assert [a.shape for a in parsed.inputs.values()] == [(3,), (2, 4), (4,)]
    assert list(parsed.names) == ["z", "w"]
    assert parsed.names["z"].shape == (2,)
    assert parsed.result.shape == ()


def test_names_are_seen_in_the_graph() -> None:
    parsed = parse_graph("z = x + 1\nz * z", {"x": ()})
    assert "named" in {node.op for node in _below(parsed.result.node)}


def _below(node: Any) -> list[Any]:
    found, todo = [], [node]
    while todo:
        found.append(todo.pop())
        todo.extend(found[-1].args)
    return found


def test_undeclared_names_are_scalars_on_request() -> None:
    parsed = parse_graph("a*sin(b) + pi + a + v[0]", {"v": 2}, undeclared="scalar")
    assert {name: a.shape for name, a in parsed.inputs.items()} == {"v": (2,), "a": (), "b": ()}
    with pytest.raises(ParseError, match="not a function"):
        parse_graph("f(x)", {}, undeclared="scalar")
    with pytest.raises(ArgumentError, match="expected 'error', 'scalar' or 'distinct'"):
        parse_graph("x", {}, undeclared="zero")


def test_in_terms_of_known_arrays() -> None:
    parsed = parse_graph("z = X @ v\nsum(z)", SHAPES)
    known = {**parsed.inputs, **parsed.names}
    assert parse_known("z", known).node is parsed.names["z"].node
    assert parse_known("X[0] * 2", known).shape == (4,)
    assert sorted(known) == sorted([*SHAPES, "z"])
    with pytest.raises(ParseError, match="'q' is not known"):
        parse_known("q", known)


@pytest.mark.parametrize("name", CONSTANTS)
def test_an_input_goes_before_a_constant(name: str) -> None:
    parsed = parse_graph(f"{name} * 2", {name: ()})
    assert evaluate([parsed.result.node], {name: 5.0})[0] == 10


def test_an_input_goes_before_a_function() -> None:
    parsed = parse_graph("gamma * sin(x)", {"gamma": (), "x": ()})
    assert evaluate([parsed.result.node], {"gamma": 2.0, "x": 1.0})[0] == 2 * np.sin(1)
    with pytest.raises(ParseError, match="'gamma' is an input, not a function"):
        parse_graph("gamma(x)", {"gamma": (), "x": ()})


def test_symbolic_sizes() -> None:
    parsed = parse_graph("X @ w + b", {"X": ("n", "k"), "w": "k", "b": ()})
    assert str(parsed.result.shape) == "(n,)"
    with pytest.raises(ShapeError, match="in 'X @ w'"):
        parse_graph("X @ w", {"X": ("n", "k"), "w": "n"})


@pytest.mark.parametrize(
    "shape",
    [
        *[4, (4,), [4], np.int64(4), (np.int32(4),), np.zeros((4, 1)).shape[:1]],
        *[("n",), "n", (), (2, 3, 0), ("n", 2, "n")],
    ],
)
def test_shapes(shape: Any) -> None:
    expected = shape if isinstance(shape, tuple | list) else (shape,)
    assert [str(n) for n in parse_graph("x", {"x": shape}).result.shape] == [str(n) for n in expected]


BAD_SHAPES: list[tuple[Any, type[SymdiffError], str]] = [
    (-1, ShapeError, "-1"),
    ((2, -3), ShapeError, "-3"),
    (True, ShapeError, "True"),
    (1.0, ShapeError, "1.0"),
    ((2, None), ShapeError, "None"),
    (None, ShapeError, "None"),
    ("", ShapeError, "''"),
    ("2", ShapeError, "'2'"),
    ("n,n", ShapeError, "'n,n'"),
    ("lambda", ShapeError, "lambda"),
    ("x" * 65, ShapeError, "xxx"),
    (((2, 3),), ShapeError, "names"),
    (np.zeros((2, 3)), ShapeError, "an array of shape"),
    (np.zeros(()), ShapeError, "an array of shape"),
    ({2, 3}, ShapeError, "2, 3"),
    (object(), ShapeError, "object"),
    (10**9, LimitError, "elements"),
    ((10**6, 10**6), LimitError, "elements"),
    (10**400, LimitError, "elements"),
    ((1,) * 33, LimitError, "axes"),
]


@pytest.mark.parametrize(("shape", "error", "words"), BAD_SHAPES)
def test_bad_shapes(shape: Any, error: type[SymdiffError], words: str) -> None:
    with pytest.raises(error) as caught:
        parse_graph("x", {"x": shape})
    assert words in str(caught.value)
    assert "'x'" in str(caught.value) or error is LimitError


@pytest.mark.parametrize("name", ["", "1x", "x y", "lambda", "x;", "é", "x\n", 'a"; system("x")', "None", 3, "x" * 65])
def test_bad_names(name: Any) -> None:
    with pytest.raises(SymdiffError):
        parse_graph("1", {name: ()})


def test_operation_errors_show_the_place() -> None:
    with pytest.raises(ShapeError) as caught:
        parse_graph("z = v + 1\nsum(X  @\tz[1:]) * 2", SHAPES)
    message = str(caught.value)
    assert "in 'X @ z[1:]'" in message
    assert message.splitlines()[-1].index("^") == message.splitlines()[-2].index("@")


def test_limits_can_be_set() -> None:
    with pytest.raises(LimitError, match="more than 30 elements"):
        parse_graph("outer(w, C)", SHAPES, limits=Limits(elements=30))


def test_long_sums_and_many_lines() -> None:
    total = parse_graph("+".join(["x"] * 100_000), {"x": ()})
    assert evaluate([total.result.node], {"x": 0.5})[0] == 50_000
    lines = ["t0 = x", *(f"t{i} = sin(t{i - 1}) + {i % 7}" for i in range(1, 5_000)), "t4999"]
    parsed = parse_graph("\n".join(lines), {"x": ()})
    assert len(parsed.names) == 5_000


def test_deep_formulas() -> None:
    nested = parse_graph("sin(" * 900 + "x" + ")" * 900, {"x": ()})
    assert 0 < evaluate([nested.result.node], {"x": 1.0})[0] < 0.1


def test_large_constant_matrices() -> None:
    rows = [[i * j % 11 for j in range(200)] for i in range(200)]
    assert np.array_equal(compute(str(rows)), np.array(rows))
