"""Formula text means what NumPy means, and whatever else is refused, with a place, before anything is spent."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import bad_inputs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symdiff.errors import ArgumentError, DisconnectedInputError, LimitError, ParseError, ShapeError, SymdiffError
from symdiff.frontend.text.build import CONSTANTS
from symdiff.frontend.text.parse import parse_graph, parse_known
from symdiff.frontend.text.vocabulary import TEXT_FUNCTIONS
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
    with pytest.raises(ArgumentError, match="expected 'error' or 'scalar'"):
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


# ---------------------------------------------------------------------------- refusals

CHILD = """
import json, resource, sys
import bad_inputs
from symdiff.errors import SymdiffError
from symdiff.frontend.text.parse import parse_graph
for module in ("numpy.linalg", "scipy.special"):
    __import__(module)
resource.setrlimit(resource.RLIMIT_AS, (memory_now() + 300 * 2**20,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
FORBIDDEN = ("open", "exec", "compile", "import", "os", "subprocess", "socket", "shutil")
events = []
watching = False
def watch(event, args):
    if watching and event.split(".")[0] in FORBIDDEN:
        events.append(event)
sys.addaudithook(watch)
found = []
for text, *_ in bad_inputs.ALL:
    events.clear()
    watching = True
    try:
        parse_graph(text, {"x": 3, "X": (2, 4)})
        kind, message = "accepted", ""
    except SymdiffError as error:
        kind, message = type(error).__name__, str(error)
    watching = False
    found.append([kind, message, list(events)])
print(json.dumps(found))
"""
MEMORY = """
def memory_now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * 4096
"""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, list[str]]]:
    """Put all bad inputs through the parser in a process of little memory that watches what is opened or run."""
    folder = tmp_path_factory.mktemp("refusals")
    here = Path(__file__).parent
    child = subprocess.run(  # a process of its own, so that its limits are not ours
        [sys.executable, "-c", MEMORY + CHILD],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={"PYTHONPATH": f"{here}:{here.parent}", "OPENBLAS_NUM_THREADS": "1", "PATH": ""},
        check=False,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    assert child.stdout.count("\n") == 1, "something was printed"
    assert list(folder.iterdir()) == []
    found = json.loads(child.stdout)
    return {text: tuple(row) for (text, *_), row in zip(bad_inputs.ALL, found, strict=True)}


@pytest.mark.parametrize(
    ("text", "error", "words"), bad_inputs.ALL, ids=[f"{text[:30]!a}x{len(text)}" for text, *_ in bad_inputs.ALL]
)
def test_refused(refusals: dict[str, tuple[str, str, list[str]]], text: str, error: str, words: str) -> None:
    kind, message, events = refusals[text]
    assert (kind, events) == (error, [])
    assert words in message
    assert "^" in message or "characters" in message or "operators" in message
    assert len(message) < 1000


# ---------------------------------------------------------------------------- random formulas


def _binary(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: (f"({a[0]} {symbol} {b[0]})", apply(a[1], b[1]))


LEAVES = st.sampled_from(
    [("x", x), ("y", y), ("v", v), ("w", w), ("v[1]", v[1]), ("X[0]", X[0]), ("2", 2.0), ("(-0.5)", -0.5)]
)
Formula = tuple[str, Any]


def _grow(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.one_of(
        st.builds(_binary("+", np.add), inner, inner),
        st.builds(_binary("-", np.subtract), inner, inner),
        st.builds(_binary("*", np.multiply), inner, inner),
        st.builds(lambda a: (f"sin({a[0]})", np.sin(a[1])), inner),
        st.builds(lambda a: (f"-{a[0]}", -np.asarray(a[1])), inner),
        st.builds(lambda a: (f"sum({a[0]})", np.sum(a[1])), inner),
        st.builds(lambda a: (f"sqrt(1 + ({a[0]})**2)", np.sqrt(1 + np.square(a[1]))), inner),
        st.builds(
            lambda a, b: (f"where({a[0]} < {b[0]}, {a[0]}, 0)", np.where(np.less(a[1], b[1]), a[1], 0)), inner, inner
        ),
    )


@given(st.recursive(LEAVES, _grow, max_leaves=12))
@settings(deadline=None)
def test_random_formulas_keep_their_value(formula: Formula) -> None:
    text, expected = formula
    np.testing.assert_allclose(compute(text), expected, rtol=1e-9, atol=1e-9)


def refusal(text: str, shapes: Mapping[str, object]) -> str | None:
    """Return the message with which the text is refused, or None; any error not ours comes through."""
    try:
        parse_graph(text, shapes)
    except SymdiffError as error:
        return str(error)
    return None


NAMES = sorted(TEXT_FUNCTIONS)
PIECES = [
    "x",
    "v",
    "X",
    "A",
    "2",
    ".5",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "...",
    "=",
    "<",
    "**",
    "*",
    "-",
    "&",
    "@",
    ".T",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES + NAMES), max_size=12).map(" ".join))
@settings(deadline=None)
def test_soup(text: str) -> None:
    refused = refusal(text, SHAPES)
    assert refused is None or "^" in refused


# Put into every place of every function, the others being v.
ARGUMENTS = [
    *["x", "X", "C", "S", "empty", "v > 0", "2", "-1", "0", "0.5", "inf", "nan", "10**9", "10**300", "2**62"],
    *[
        "(0, 1)",
        "()",
        "(2, 3)",
        "(v, w)",
        "(X, v)",
        "((0, 1), (1, 0))",
        "(-1,)",
        "(10**9, 10**9)",
        "(x, 2)",
        "(0.5, 1)",
    ],
    *["[0, 1]", "[x, y]", "[v, w]", "[[1, 2], [3, 4]]", "[0.5]", "[X, v]", "None"],
]
OPTIONS = [*ARGUMENTS, "True", "False"]


def calls_of(name: str) -> Iterator[str]:
    """Yield calls of a function with all kinds of arguments, right and wrong."""
    function = TEXT_FUNCTIONS[name]
    fewest, most = function.min_args, function.max_args
    for count in range(fewest, (fewest + 2 if most is None else most) + 1):
        for place in range(count):
            for argument in ARGUMENTS:
                yield f"{name}({', '.join(argument if n == place else 'v' for n in range(count))})"
    for keyword in function.keywords:
        for option in OPTIONS:
            yield f"{name}({'C, ' * fewest}{keyword}={option})"
    yield f"{name}(10**9, 10**9, 1)"


@pytest.fixture
def impatient() -> Iterator[None]:
    """Raise where a test is after half a minute."""

    def stop(*_: object) -> NoReturn:
        raise TimeoutError("took over half a minute")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", sorted(TEXT_FUNCTIONS))
def test_functions_take_or_refuse_any_argument(name: str) -> None:
    shapes = {**SHAPES, "S": ("n", "n"), "empty": (2, 0)}
    for text in calls_of(name):
        refused = refusal(text, shapes)
        assert refused is None or "^" in refused
        for wrt in ("v", "S"):
            refused = refusal(f"gradient(sum({text}), {wrt})", shapes)
            assert refused is None or "^" in refused
