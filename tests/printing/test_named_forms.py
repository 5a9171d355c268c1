"""Derivatives as a book has them: named forms in text, Unicode and LaTeX, with their values against references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import symdiff as sd
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph.reference.interpret import evaluate

Values = dict[str, NDArray[np.float64]]
Reference = Callable[[Values], Any]

SIZES = {"m": 4, "n": 5, "p": 3}


def _softmax(z: Any) -> Any:
    e = np.exp(z - z.max())
    return e / e.sum()


def _softmax_jacobian(z: Any) -> Any:
    p = _softmax(z)
    return np.diag(p) - np.outer(p, p)


def _skew(v: Any) -> Any:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def _rosenbrock(x: Any) -> Any:
    slope = np.zeros_like(x)
    slope[1:] += 200 * (x[1:] - x[:-1] ** 2)
    slope[:-1] -= 400 * x[:-1] * (x[1:] - x[:-1] ** 2) + 2 * (1 - x[:-1])
    return slope


def _padded_difference(d: Any) -> Any:
    return np.concatenate([[0.0], d]) - np.concatenate([d, [0.0]])


#: operator, formula, variable, shapes; text, Unicode, LaTeX; value in NumPy.
ROWS: list[tuple[str, str, str, dict[str, Any], str, str, str, Reference]] = [
    (
        "gradient", "sum(relu(x))", "x", {"x": "n"},
        "heaviside(x, 0.5)", "step(x)", r"\operatorname{step}\left(x\right)",
        lambda v: np.heaviside(v["x"], 0.5),
    ),
    (
        "gradient", "sum(maximum(0, 1 - y * (X @ w)))", "w", {"X": ("m", "n"), "w": "n", "y": "m"},
        "-X.T @ (y * heaviside(1 - y * (X @ w), 0.5))", "-Xᵀ (y ⊙ step(1 - y ⊙ X w))",
        r"-X^{\top} \, \left(y \odot \operatorname{step}\left(1 - y \odot X \, w\right)\right)",
        lambda v: -v["X"].T @ (v["y"] * (1 - v["y"] * (v["X"] @ v["w"]) > 0)),
    ),
    (
        "gradient", "sum(minimum(x, 2))", "x", {"x": "n"},
        "heaviside(2 - x, 0.5)", "step(2 - x)", r"\operatorname{step}\left(2 - x\right)",
        lambda v: np.heaviside(2 - v["x"], 0.5),
    ),
    (
        "gradient", "sum(x[:-1] * x[1:])", "x", {"x": "n"},
        "shift(x, 1) + shift(x, -1)", "[i] ↦ x[i - 1] + x[i + 1]", r"\left[x_{i - 1} + x_{i + 1}\right]_{i}",
        lambda v: np.convolve(v["x"], [1.0, 0.0, 1.0], mode="same"),
    ),
    (
        "gradient", "sum(abs(x[1:] - x[:-1]))", "x", {"x": "n"},
        "-diff(pad(sign(diff(x)), (1, 1)))",
        "[0, sign(x[1:] - x[:-1])] - [sign(x[1:] - x[:-1]), 0]",
        r"\begin{bmatrix}0 \\ \operatorname{sign}\left(x_{1:} - x_{:-1}\right)\end{bmatrix} - "
        r"\begin{bmatrix}\operatorname{sign}\left(x_{1:} - x_{:-1}\right) \\ 0\end{bmatrix}",
        lambda v: _padded_difference(np.sign(np.diff(v["x"]))),
    ),
    (
        "gradient", "sum((x[1:] - a * x[:-1])**2)", "x", {"x": "n", "a": ()},
        "2 * (pad(x[1:] - a * x[:-1], (1, 0)) - a * pad(x[1:] - a * x[:-1], (0, 1)))",
        "2 ([0, x[1:] - a x[:-1]] - a [x[1:] - a x[:-1], 0])",
        r"2 \, \left(\begin{bmatrix}0 \\ x_{1:} - a \, x_{:-1}\end{bmatrix} - "
        r"a \, \begin{bmatrix}x_{1:} - a \, x_{:-1} \\ 0\end{bmatrix}\right)",
        lambda v: 2 * (np.pad(v["x"][1:] - v["a"] * v["x"][:-1], (1, 0))
                       - v["a"] * np.pad(v["x"][1:] - v["a"] * v["x"][:-1], (0, 1))),
    ),
    (
        "gradient", "sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "x", {"x": "n"},
        "200 * pad(x[1:] - x[:-1] ** 2, (1, 0)) - "
        "pad(2 * (1 - x[:-1]) + 400 * x[:-1] * (x[1:] - x[:-1] ** 2), (0, 1))",
        "200 [0, x[1:] - x[:-1]∘²] - [2 (1 - x[:-1]) + 400 x[:-1] ⊙ (x[1:] - x[:-1]∘²), 0]",
        "",
        lambda v: _rosenbrock(v["x"]),
    ),
    (
        "gradient", "sum(diff(X, axis=1)**2)", "X", {"X": ("m", "n")},
        "-2 * diff(pad(diff(X), ((0, 0), (1, 1))))", "", "",
        lambda v: 2 * np.array([_padded_difference(np.diff(row)) for row in v["X"]]),
    ),
    (
        "jacobian", "R @ v + cross(w, R @ v)", "w", {"R": (3, 3), "v": 3, "w": 3},
        "-skew(R @ v)", "-[R v]ₓ", r"-\left[R \, v\right]_{\times}",
        lambda v: -_skew(v["R"] @ v["v"]),
    ),
    (
        "jacobian", "cross(w, R @ v)", "v", {"R": (3, 3), "v": 3, "w": 3},
        "skew(w) @ R", "[w]ₓ R", r"\left[w\right]_{\times} \, R",
        lambda v: _skew(v["w"]) @ v["R"],
    ),
    (
        "gradient", "cross(w, R @ v) @ y", "v", {"R": (3, 3), "v": 3, "w": 3, "y": 3},
        "R.T @ cross(y, w)", "Rᵀ (y × w)", r"R^{\top} \, \left(y \times w\right)",
        lambda v: v["R"].T @ np.cross(v["y"], v["w"]),
    ),
    (
        "jacobian", "x[[2, 0, 1]]", "x", {"x": 3},
        "eye(3)[[2, 0, 1]]", "I[[2, 0, 1]]", r"I_{[2, 0, 1]}",
        lambda v: np.eye(3)[[2, 0, 1]],
    ),
    (
        "gradient", "x[[2, 0, 1]] @ y", "x", {"x": 3, "y": 3},
        "y[[1, 2, 0]]", "y[[1, 2, 0]]", r"y_{[1, 2, 0]}",
        lambda v: v["y"][[1, 2, 0]],
    ),
    (
        "gradient", "-log_softmax(z)[2]", "z", {"z": "n"},
        "softmax(z) - eye(n)[2]", "softmax(z) - e₂", r"\operatorname{softmax}\left(z\right) - e_{2}",
        lambda v: _softmax(v["z"]) - np.eye(5)[2],
    ),
    (
        "jacobian", "softmax(A @ x)", "x", {"A": ("m", "n"), "x": "n"},
        "p = softmax(A @ x)\n(diag(p) - outer(p, p)) @ A", "p = softmax(A x)\n(diag(p) - p pᵀ) A",
        r"\begin{aligned}p &= \operatorname{softmax}\left(A \, x\right) \\" "\n"
        r"& \left(\operatorname{diag}\left(p\right) - p \, p^{\top}\right) \, A\end{aligned}",
        lambda v: _softmax_jacobian(v["A"] @ v["x"]) @ v["A"],
    ),
    (
        "hessian", "logsumexp(A @ x)", "x", {"A": ("m", "n"), "x": "n"},
        "p = softmax(A @ x)\nA.T @ (diag(p) - outer(p, p)) @ A", "p = softmax(A x)\nAᵀ (diag(p) - p pᵀ) A", "",
        lambda v: v["A"].T @ _softmax_jacobian(v["A"] @ v["x"]) @ v["A"],
    ),
    (
        "gradient", "log(det(V))", "V", {"V": ("n", "n")},
        "inv(V).T", "V⁻ᵀ", r"V^{-\top}",
        lambda v: np.linalg.inv(v["V"]).T,
    ),
    (
        "gradient", "norm(x - a)", "x", {"x": "n", "a": "n"},
        "unit(x - a)", "(x - a) / ‖x - a‖", r"\frac{x - a}{\left\lVert x - a \right\rVert}",
        lambda v: (v["x"] - v["a"]) / np.sqrt(((v["x"] - v["a"]) ** 2).sum()),
    ),
    (
        "jacobian", "inv(V)", "V", {"V": ("n", "n")},
        "[i, j, k, l] -> -inv(V)[i, k] * inv(V)[l, j]", "[i, j, k, l] ↦ -(V⁻¹)[i, k] (V⁻¹)[l, j]",
        r"\left[-{\left(V^{-1}\right)}_{ik} \, {\left(V^{-1}\right)}_{lj}\right]_{ijkl}",
        lambda v: -np.einsum("ik,lj->ijkl", np.linalg.inv(v["V"]), np.linalg.inv(v["V"])),
    ),
    (
        "jacobian", "A @ B", "A", {"A": ("m", "n"), "B": ("n", "p")},
        "[i, j, k, l] -> eye(m)[i, k] * B[l, j]", "[i, j, k, l] ↦ δ[i, k] B[l, j]",
        r"\left[\delta_{ik} \, B_{lj}\right]_{ijkl}",
        lambda v: np.einsum("ik,lj->ijkl", np.eye(4), v["B"]),
    ),
    (
        "jacobian", "V @ V", "V", {"V": ("n", "n")},
        "[i, j, k, l] -> eye(n)[i, k] * V[l, j] + V[i, k] * eye(n)[j, l]",
        "[i, j, k, l] ↦ δ[i, k] V[l, j] + V[i, k] δ[j, l]", "",
        lambda v: np.einsum("ik,lj->ijkl", np.eye(5), v["V"]) + np.einsum("ik,jl->ijkl", v["V"], np.eye(5)),
    ),
    (
        "jacobian", "tanh(A @ x)", "A", {"A": ("m", "n"), "x": "n"},
        "[i, j, k] -> eye(m)[i, j] * (sech(A @ x) ** 2)[i] * x[k]",
        "[i, j, k] ↦ δ[i, j] (sech(A x)∘²)[i] x[k]", "",
        lambda v: np.einsum("ij,i,k->ijk", np.eye(4), 1 - np.tanh(v["A"] @ v["x"]) ** 2, v["x"]),
    ),
    (
        "jacobian", "X[[0, 2, 2]]", "X", {"X": (4, "n")},
        "[i, j, k, l] -> eye(n)[j, l] * eye(4)[[0, 2, 2]][i, k]",
        "[i, j, k, l] ↦ δ[j, l] I[[0, 2, 2]][i, k]", "",
        lambda v: np.einsum("jl,ik->ijkl", np.eye(5), np.eye(4)[[0, 2, 2]]),
    ),
    (
        "gradient", "x @ A @ x / (x @ x)", "x", {"x": "n", "A": ("n", "n")},
        "q = x @ A @ x / (x @ x)\n((A.T + A) @ x - 2 * q * x) / (x @ x)",
        "q = xᵀ A x / (xᵀ x)\n((Aᵀ + A) x - 2 q x) / (xᵀ x)", "",
        lambda v: ((v["A"] + v["A"].T) @ v["x"] / (v["x"] @ v["x"])
                   - 2 * (v["x"] @ v["A"] @ v["x"]) * v["x"] / (v["x"] @ v["x"]) ** 2),
    ),
    (
        "gradient", "0.5 * x @ A @ x + b @ x", "x", {"x": "n", "A": ("n", "n"), "b": "n"},
        "b + 0.5 * ((A.T + A) @ x)", "b + ½ (Aᵀ + A) x", "",
        lambda v: v["b"] + 0.5 * (v["A"] + v["A"].T) @ v["x"],
    ),
    (
        "gradient", "trace(X.T @ A @ X) - trace(C.T @ X)", "X", {"X": ("n", "m"), "A": ("n", "n"), "C": ("n", "m")},
        "(A.T + A) @ X - C", "(Aᵀ + A) X - C", "",
        lambda v: (v["A"] + v["A"].T) @ v["X"] - v["C"],
    ),
    (
        "gradient", "trace(V @ A) / trace(V @ B)", "V", {"V": ("n", "n"), "A": ("n", "n"), "B": ("n", "n")},
        "q = trace(V @ A) / trace(V @ B)\n(A.T - q * B.T) / trace(V @ B)",
        "q = tr(V A) / tr(V B)\n(Aᵀ - q Bᵀ) / tr(V B)", "",
        lambda v: ((v["A"].T * np.trace(v["V"] @ v["B"]) - v["B"].T * np.trace(v["V"] @ v["A"]))
                   / np.trace(v["V"] @ v["B"]) ** 2),
    ),
    (
        "hessian", "norm(A @ x - b)", "x", {"A": ("m", "n"), "x": "n", "b": "m"},
        "u = unit(A @ x - b)\nA.T @ (eye(m) - outer(u, u)) @ A / norm(A @ x - b)",
        "u = (A x - b) / ‖A x - b‖\nAᵀ (I - u uᵀ) A / ‖A x - b‖", "",
        lambda v: (v["A"].T @ (np.eye(4) - np.outer(v["A"] @ v["x"] - v["b"], v["A"] @ v["x"] - v["b"])
                               / ((v["A"] @ v["x"] - v["b"]) ** 2).sum()) @ v["A"]
                   / np.sqrt(((v["A"] @ v["x"] - v["b"]) ** 2).sum())),
    ),
    (
        "gradient", "softmax(A @ x) @ y", "x", {"A": ("m", "n"), "x": "n", "y": "m"},
        "p = softmax(A @ x)\nA.T @ ((y - y @ p) * p)", "", "",
        lambda v: v["A"].T @ _softmax_jacobian(v["A"] @ v["x"]) @ v["y"],
    ),
    (
        "gradient", "sum(maximum(s - x, 0)**2)", "x", {"x": "n", "s": ()},
        "-2 * maximum(s - x, 0)", "-2 max(s - x, 0)", "",
        lambda v: -2 * np.maximum(v["s"] - v["x"], 0),
    ),
    (
        "hessian", "sum(x[:-1] * x[1:])", "x", {"x": "n"},
        "eye(n, n, -1) + eye(n, n, 1)", "", "",
        lambda v: np.eye(5, k=-1) + np.eye(5, k=1),
    ),
    (
        "jacobian", "solve(V, b)", "V", {"V": ("n", "n"), "b": "n"},
        "[i, j, k] -> -inv(V)[i, j] * solve(V, b)[k]", "[i, j, k] ↦ -(V⁻¹)[i, j] (V⁻¹ b)[k]", "",
        lambda v: -np.einsum("ij,k->ijk", np.linalg.inv(v["V"]), np.linalg.solve(v["V"], v["b"])),
    ),
]  # fmt: skip


def _numbers(shapes: dict[str, Any], seed: int = 3) -> Values:
    rng = np.random.default_rng(seed)
    values = {}
    for name, shape in shapes.items():
        sizes = tuple(SIZES.get(n, n) for n in (shape if isinstance(shape, tuple) else (shape,)))
        values[name] = rng.uniform(-1.5, 1.5, sizes) + (3 * np.eye(5) if name == "V" else 0)
    return values


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[1]} {row[2]}" for row in ROWS])
def test_a_derivative_reads_as_in_a_book(row: Any) -> None:
    operator, formula, wrt, shapes, as_text, as_unicode, as_latex, reference = row
    made = getattr(sd, operator)(formula, wrt, **shapes)
    assert str(made) == as_text
    assert not as_unicode or made.unicode() == as_unicode
    assert not as_latex or made.latex() == as_latex
    again = parse_graph(str(made), shapes)
    inputs = [array.node for array in again.inputs.values()]
    values = _numbers(shapes)
    expected = reference(values)
    for array in (made, again.result):  # the text means the derivative, and both are the book's
        np.testing.assert_allclose(evaluate([array.node], values, inputs)[0], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(_differences(operator, formula, wrt, shapes, values), expected, rtol=1e-5, atol=1e-6)


def _differences(operator: str, formula: str, wrt: str, shapes: dict[str, Any], values: Values) -> Any:
    """Return the derivative by central differences, of the gradient for a Hessian."""
    text = f"gradient({formula}, {wrt})" if operator == "hessian" else formula
    node = parse_graph(text, shapes).result.node
    step, columns = 1e-6, []
    for place in np.ndindex(values[wrt].shape):
        ends = []
        for sign in (1, -1):
            moved = values[wrt].copy()
            moved[place] += sign * step
            ends.append(np.asarray(evaluate([node], {**values, wrt: moved})[0]))
        columns.append((ends[0] - ends[1]) / (2 * step))
    shape = columns[0].shape
    return np.moveaxis(np.array(columns), 0, -1).reshape(shape + values[wrt].shape)


# ---------------------------------------------------------------------------- what a person wrote, and names


@pytest.mark.parametrize(
    "formula",
    ["A @ x - A @ y", "2 * x + 2 * y", "(2 * A) @ x", "A @ -x", "(2 * x)[1:] @ y[1:]", "A.T @ x - A.T @ (2 * y)"],
)
def test_what_a_person_wrote_keeps_its_factors(formula: str) -> None:
    read = parse_graph(formula, {"A": (3, 3), "x": 3, "y": 3}).result
    assert str(read) == formula


def test_parts_get_no_name_that_is_taken() -> None:
    shapes = {"A": ("p", "n"), "x": "n", "b": ()}
    shown = str(sd.jacobian("softmax(A @ x)", "x", A=("p", "n"), x="n"))
    assert shown == "p1 = softmax(A @ x)\n(diag(p1) - outer(p1, p1)) @ A"
    vanished = str(sd.jacobian("softmax(A @ x) + p", "x", A=("m", "n"), x="n", p="m"))  # p is not in the derivative
    assert vanished == "p1 = softmax(A @ x)\n(diag(p1) - outer(p1, p1)) @ A"
    parse_graph(vanished, {**shapes, "A": ("m", "n"), "p": "m"})
    given = str(sd.jacobian("p = x * 2\nsoftmax(A @ p) + p * 0", "x", A=(3, 3), x=3))
    parse_graph(given, {"A": (3, 3), "x": 3})


@pytest.mark.parametrize(
    ("formula", "point", "expected"),
    [
        ("where(x < 0, 0, log(x) * where(x == 0, 0.5, 1))", -1.0, 0.0),
        ("where(x < 0, 0, 1 / (x + 1) * where(x == 0, 0.5, 1))", -1.0, 0.0),
        ("where(x < 0, 0, where(x == 0, 0.5, 1))", 0.0, 0.5),
        ("where(x < 2, 0, where(x == 2, 0.5, 1))", np.inf, 1.0),
        ("where(x < 0, 0, where(x == 1, 0.5, 1))", 1.0, 0.5),
        ("where(x < 0, 1, where(x == 0, 0.5, 0))", -1.0, 1.0),
    ],
)
def test_a_step_is_one_only_where_its_value_is_the_same(formula: str, point: float, expected: float) -> None:
    """A factor that is infinite where the step is 0 stays inside the choice."""
    for text in (formula, str(parse_graph(formula, {"x": ()}).result)):
        assert float(sd.compile(text, x=(), backend="interpreter")(point)) == expected


def test_half_a_sum_of_two_squares_is_no_mean() -> None:
    assert str(parse_graph("sum((u / s)**2) / 2", {"u": 2, "s": 2}).result) == "sum((u / s) ** 2) / 2"
    assert str(parse_graph("sum(u**2) / 3", {"u": 3}).result) == "mean(u ** 2)"


@pytest.mark.parametrize(
    ("formula", "shown", "latex"),
    [
        ("tanh(sqrt(2/pi) * x)", "sqrt(2 / pi) * sech(sqrt(2 / pi) * x) ** 2", ""),
        ("x**2 / (4*pi)", "x / (2 * pi)", r"\frac{x}{2 \, \pi}"),
        ("log(x) / (4*sqrt(pi))", "1 / (4 * sqrt(pi) * x)", ""),
        ("-exp(-x**2/2) / sqrt(2*pi) / 2", "x * exp(-0.5 * x ** 2) / (2 * sqrt(2 * pi))", ""),
        ("1 / (0.3989422804014327 * x)", "-sqrt(2 * pi) / x ** 2", ""),
        ("x**2 / (8*pi) + 0*x", "x / (4 * pi)", r"\frac{x}{4 \, \pi}"),
    ],
)
def test_constants_divide_and_multiply_as_in_a_book(formula: str, shown: str, latex: str) -> None:
    made = sd.gradient(formula, "x")
    assert str(made) == shown
    assert not latex or made.latex() == latex
    at = np.array([0.3, 1.7])
    np.testing.assert_allclose(sd.compile(str(made), x=())(at), sd.compile(made, ["x"])(at), rtol=1e-15)


# ---------------------------------------------------------------------------- numbers that are counted


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("x @ arange(n)", "arange(n)"),
        ("x @ arange(3, n + 3)", "arange(3, n + 3)"),
        ("x @ (2 * arange(n) + 1)", "2 * arange(n) + 1"),
        ("x @ (n - arange(n))", "n - arange(n)"),
        ("x @ sum(A * (3 * arange(n)[:, None] + 1), axis=1)", "sum(A, axis=1) * (3 * arange(n) + 1)"),
        ("x @ cumsum(ones(n))", "arange(1, n + 1)"),
        ("x @ flip(cumsum(ones(n)))", "arange(1, n + 1)[::-1]"),
    ],
)
def test_numbers_that_are_counted_are_shown_as_such(formula: str, shown: str) -> None:
    shapes = {"x": "n", **({"A": ("n", "n")} if "A" in formula else {})}
    assert str(sd.gradient(formula, "x", shapes=shapes)) == shown


@pytest.mark.parametrize("seed", range(12))
def test_multiples_of_counted_numbers_keep_their_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, times, added = (int(one) for one in rng.integers(-3, 4, 3))
    times, half = times or 1, 0.5 * int(rng.integers(2))
    made = sd.gradient(f"x @ ({times} * arange({first}, n + {first}) + {added} - {half})", "x", x="n")
    text = str(made)
    assert "cumsum" not in text
    expected = times * np.arange(first, first + 6) + added - half
    np.testing.assert_allclose(sd.compile(made, [sd.vector("x", "n")])(np.ones(6)), expected)
    np.testing.assert_allclose(sd.compile(text, x="n")(np.ones(6)), expected)


@pytest.mark.parametrize(
    ("formula", "order", "shown"),
    [
        ("exp(-x**2)", 3, "4 * x * exp(-x ** 2) * (3 - 2 * x ** 2)"),
        ("exp(-x**2)", 2, "exp(-x ** 2) * (4 * x ** 2 - 2)"),
        ("exp(-x**2 / 2)", 3, "x * exp(-0.5 * x ** 2) * (3 - x ** 2)"),
    ],
)
def test_numbers_of_a_sum_within_a_sum_are_added(formula: str, order: int, shown: str) -> None:
    made = sd.derivative(formula, "x", order)
    assert str(made) == shown
    at = np.array([-0.7, 0.3, 1.9])
    np.testing.assert_allclose(sd.compile(shown)(at), sd.compile(made)(at), rtol=1e-14)


def test_names_stay_where_the_form_without_them_is_hardly_shorter() -> None:
    """Vega is S sqrt(T) times the normal density at d, and not at a quotient that is squared."""
    d = "(log(S / K) + (r + s**2 / 2) * T) / (s * sqrt(T))"
    price = "S * ndtr(d) - K * exp(-r * T) * ndtr(d - s * sqrt(T))"
    vega = str(sd.gradient(f"d = {d}\n{price}", "s")).splitlines()
    assert vega[0].startswith("d = ")
    assert vega[1:] == ["S * sqrt(T) * exp(-0.5 * d ** 2) / sqrt(2 * pi)"]
