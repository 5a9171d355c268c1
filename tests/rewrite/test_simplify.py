"""Rewrites one by one: the value far out, its derivative there, and what stays nan."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.frontend.formula import read_formula
from symdiff.graph import constant, contract, delta, elementwise, onehot, postorder, slicing, verify, whole
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.sizes import named
from symdiff.rewrite import simplify
from symdiff.rewrite.algebra import NUMBERS
from symdiff.rewrite.rewriter import PLAIN, RULES, settle
from tests.support.effort import calls

FAR = [-1000.0, -700.0, -30.0, -1e-9, 0.0, 1e-9, 2.0, 30.0, 700.0, 1000.0]


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


#: Formula text in x; how what is told of begins; value and derivative, written so that they do not overflow.
STABLE: list[tuple[str, str, Callable[[float], float], Callable[[float], float]]] = [
    ("log(1 + exp(x))", "log(1 + exp(x))", softplus, logistic),
    ("log(exp(x) + 1)", "log(exp(x) + 1) → softplus(x)", softplus, logistic),
    ("log1p(exp(x))", "log1p(exp(x))", softplus, logistic),
    ("log(sigmoid(x))", "log(sigmoid(x))", lambda x: -softplus(-x), lambda x: logistic(-x)),
    ("1 - sigmoid(x)", "1 - sigmoid(x)", lambda x: logistic(-x), lambda x: -logistic(x) * logistic(-x)),
    (
        "exp(2*x) / (exp(2*x) + exp(x))",
        "exp(2 * x) / (exp(2 * x) + exp(x)) → sigmoid(x)",
        logistic,
        lambda x: logistic(x) * logistic(-x),
    ),
    ("log(1 - sigmoid(x))", "1 - sigmoid(x)", lambda x: -softplus(x), lambda x: -logistic(x)),
    ("1 / (1 + exp(-x))", "1 / (1 + exp(-x)) → sigmoid(x)", logistic, lambda x: logistic(x) * logistic(-x)),
    (
        "exp(x) / (1 + exp(x))",
        "exp(x) / (1 + exp(x)) → sigmoid(x)",
        logistic,
        lambda x: logistic(x) * logistic(-x),
    ),
    ("log(exp(x) + exp(3))", "log(exp(x) + ", lambda x: 3 + softplus(x - 3), lambda x: logistic(x - 3)),
    ("log(exp(x))", "log(exp(x))", lambda x: x, lambda x: 1.0),
    ("log(softmax([x, 0]))[0]", "log(softmax(", lambda x: -softplus(-x), lambda x: logistic(-x)),
    ("log(softmax([x, 0])[1])", "log(softmax(", lambda x: -softplus(x), lambda x: -logistic(x)),
    ("log(sum(exp([x, 2*x])))", "log(sum(exp([x, ", lambda x: x + softplus(x), lambda x: 1 + logistic(x)),
    ("(exp([x, 0]) / sum(exp([x, 0])))[0]", "exp(", logistic, lambda x: logistic(x) * logistic(-x)),
]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("text", "pattern", "value", "slope"), STABLE, ids=[row[0] for row in STABLE])
def test_stable_far_out(
    text: str, pattern: str, value: Callable[[float], float], slope: Callable[[float], float], backend: str
) -> None:
    kernel = sd.compile(f"[{text}, gradient({text}, x)]", x=(), backend=backend)
    assert any(line.startswith(pattern) for line in sd.compile(text, x=(), backend=backend).rewrites)
    got = kernel(np.array(FAR))
    # what subtracts the largest element, as softmax does, is exact to the unit of 1
    least = 1e-15 if "[x, 0]" in text else 1e-300
    np.testing.assert_allclose(got[:, 0], [value(x) for x in FAR], rtol=1e-13, atol=least)
    np.testing.assert_allclose(got[:, 1], [slope(x) for x in FAR], rtol=1e-12, atol=least)


def test_rewrites_of_other_formulas_are_not_listed() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    plain = np.log(1 + np.exp(x))
    other = sd.gradient(plain + np.log(np.exp(y)), x)
    own = sd.gradient(plain, x)
    assert own.node is other.node
    assert sd.compile(own).rewrites == ("log(1 + exp(x)) → softplus(x)",)
    assert sd.compile(sd.gradient(own * y, x) + x).rewrites == ("log(1 + exp(x)) → softplus(x)",)


SMALL = [1e-300, 1e-20, 1e-12, -1e-12, 1e-5, 0.0]


@pytest.mark.parametrize(
    ("text", "value", "slope"),
    [
        ("log(1 + x)", math.log1p, lambda x: 1 / (1 + x)),
        ("log(x + 1)", math.log1p, lambda x: 1 / (1 + x)),
        ("log(1 - x)", lambda x: math.log1p(-x), lambda x: -1 / (1 - x)),
        ("exp(x) - 1", math.expm1, math.exp),
        ("1 - exp(x)", lambda x: -math.expm1(x), lambda x: -math.exp(x)),
        ("exp(x) + (-1)", math.expm1, math.exp),
    ],
)
def test_exact_close_to_nothing(text: str, value: Callable[[float], float], slope: Callable[[float], float]) -> None:
    for backend in ("numpy", "native"):
        got = sd.compile(f"[{text}, gradient({text}, x)]", x=(), backend=backend)(np.array(SMALL))
        np.testing.assert_allclose(got[:, 0], [value(x) for x in SMALL], rtol=1e-14)
        np.testing.assert_allclose(got[:, 1], [slope(x) for x in SMALL], rtol=1e-14)


def test_log_det_neither_overflows_nor_vanishes() -> None:
    A = sd.matrix("A", 4, 4)
    kernel = sd.compile(
        [np.log(sd.det(A)), np.log(abs(sd.det(A))), sd.gradient(np.log(sd.det(A)), A)], [A], backend="numpy"
    )
    for scale in (1e-120, 1e120):
        plain, absolute, slope = kernel(np.eye(4) * scale)
        assert plain == pytest.approx(4 * math.log(scale), rel=1e-14)
        assert absolute == pytest.approx(4 * math.log(scale), rel=1e-14)
        np.testing.assert_allclose(slope, np.eye(4) / scale, rtol=1e-14)


def test_squares_of_norms_have_slopes_at_zero() -> None:
    x = sd.vector("x", 3)
    kernel = sd.compile([sd.gradient(sd.norm(x) ** 2, x), sd.hessian(sd.norm(x) ** 2, x)], [x])
    slope, second = kernel(np.zeros(3))
    np.testing.assert_array_equal(slope, np.zeros(3))
    np.testing.assert_array_equal(second, 2 * np.eye(3))


# ---------------------------------------------------------------------------- what must not be rewritten


HIDES = [
    "x - x",
    "0 * x",
    "x / x",
    "0 / x",
    "x * 0 + 1",
    "x**2 - x**2",
    "(x + 1) - x - 1",
    "exp(x) / exp(x)",
    "x * x / x",
]


@pytest.mark.parametrize("text", HIDES)
@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_nothing_that_is_nan_becomes_a_number(text: str, odd: float) -> None:
    formula = sd.compile(text, x=(), backend="numpy")
    with np.errstate(all="ignore"):
        x = np.float64(odd)
        want = eval_plain(text, x)
    got = formula(odd)
    assert math.isnan(got) == math.isnan(want), (got, want)


def eval_plain(text: str, x: Any) -> float:
    """The same formulas, by hand."""
    by_hand: dict[str, Callable[..., Any]] = {
        "x - x": lambda x: x - x,
        "0 * x": lambda x: 0 * x,
        "x / x": lambda x: x / x,
        "0 / x": lambda x: 0 / x,
        "x * 0 + 1": lambda x: x * 0 + 1,
        "x**2 - x**2": lambda x: x**2 - x**2,
        "(x + 1) - x - 1": lambda x: (x + 1) - x - 1,
        "exp(x) / exp(x)": lambda x: np.exp(x) / np.exp(x),
        "x * x / x": lambda x: x * x / x,
    }
    return float(by_hand[text](x))


SIGNS = ["sqrt(x**2)", "abs(x)", "(x**2)**0.5", "(x**3)**(1/3)", "log(x**2)", "log(x**3)", "exp(log(x))", "sqrt(x)**2"]


@pytest.mark.parametrize("text", SIGNS)
def test_signs_and_domains_are_kept(text: str) -> None:
    got = sd.compile(text, x=())(np.array([-2.0, 2.0]))
    positive = {"log(x**2)": math.log(4), "log(x**3)": math.log(8)}.get(text, 2.0)
    negative = {"sqrt(x**2)": 2.0, "abs(x)": 2.0, "(x**2)**0.5": 2.0, "log(x**2)": math.log(4)}.get(text, math.nan)
    np.testing.assert_allclose(got, [negative, positive], rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("x + 0", "x"),
        ("x * 1", "x"),
        ("x**1", "x"),
        ("-(-x)", "x"),
        ("x + x", "2 * x"),
        ("2 * (3 * x)", "6 * x"),
        ("x * x", "x ** 2"),
        ("x - (-x)", "2 * x"),
        ("A.T.T", "A"),
        ("inv(inv(A))", "A"),
        ("det(A.T)", "det(A)"),
        ("where(x > 0, x, x)", "x"),
        ("A @ eye(3)", "A"),
    ],
)
def test_what_a_book_would_not_print(text: str, short: str) -> None:
    A, x = sd.matrix("A", 3, 3), sd.scalar("x")
    scope = {"A": (3, 3), "x": ()}
    shapes = {name: shape for name, shape in scope.items() if name in text}
    (node,) = simplify([read_formula(text, shapes).value.node])
    verify([node])
    assert str(Array(node)) == short
    assert A.shape == (3, 3)
    assert x.shape == ()


def test_every_rule_says_what_it_does() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.ops
        assert rule.pattern
        assert rule.result


@pytest.mark.rows(1000)
@pytest.mark.parametrize("op", sorted(NUMBERS))
def test_functions_of_numbers_are_computed(op: str) -> None:
    conditions = op.startswith("logical")
    values: list[float] = [True, False] if conditions else [0.0, -0.0, 2.0, -3.0, math.inf, -math.inf, math.nan]
    for x in values:
        for y in values if op not in ("negative", "sqrt", "abs", "sign", "unless_nan", "logical_not") else [None]:
            node = elementwise(op, tuple([constant(value) for value in (x, y) if value is not None]))
            (value,) = simplify([node])
            assert value.is_constant, (op, x, y)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(value.value, evaluate([node], {})[0], err_msg=str((op, x, y)))


def test_a_branch_that_is_dropped_leaves_its_shape() -> None:
    c, v = sd.scalar("c") > 0, sd.vector("v", 3)
    for f in (sd.where(c, sd.where(c, v, np.ones((2, 3))), 0.0), sd.where(c, 0.0, sd.where(c, np.ones((2, 3)), v))):
        (made,) = simplify([f.node])
        assert made.shape == (2, 3)
        np.testing.assert_array_equal(evaluate([made], {"c": 1.0, "v": [1.0, 2.0, 3.0]})[0].shape, (2, 3))


def test_an_entry_of_a_row_of_the_identity_that_is_not_known_ends() -> None:
    """The last of e_0 is 0 unless there is one element; e_0[n-1] and e_(n-1)[0] were written in turns for ever."""
    n = named("n")
    x, s = sd.vector("x", "n"), sd.scalar("s")
    spread = contract([s.node, onehot(n, 0)], [(), (0,)], (0,))
    (made,) = simplify([slicing(spread, ((n - 1, 1, None),))])
    verify([made])
    for size, want in ((1, 5.0), (3, 0.0)):
        assert evaluate([made], {"s": 5.0, "x": np.zeros(size)}, [x.node])[0] == want


# ---------------------------------------------------------------------------- deep and shared formulas


DEEP: dict[str, Callable[..., Any]] = {
    "sin": lambda y, x: np.sin(y + 0.1),
    "negative": lambda y, x: -(y + 1.0),
    "plus": lambda y, x: y + x,
    "minus": lambda y, x: x - y,
    "times": lambda y, x: 0.5 * y * x,
    "over": lambda y, x: x / (y + 3.0),
    "square": lambda y, x: np.sin(y * y),
    "where": lambda y, x: sd.where(x > 0, y, x),
    "reshape": lambda y, x: np.sin(y).reshape(1, 2).reshape(2),
    "transpose": lambda y, x: np.tanh(y[None, :].T.ravel()),
    "slice": lambda y, x: np.cos(y[::-1]),
    "concatenate": lambda y, x: np.cos(sd.concatenate([y[1:], y[:1]])),
    "matmul": lambda y, x: np.tanh(np.ones((2, 2)) @ y),
    "named": lambda y, x: sd.name(y * 1.5, "y"),
    "maximum": np.maximum,
    "shared": lambda y, x: np.sin(y) * y,
    "shared sum": lambda y, x: y + np.sin(y) + y,
    "shared quotient": lambda y, x: y / (1.0 + y * y),
}


@pytest.mark.counted
@pytest.mark.parametrize("step", DEEP)
def test_deep_formulas_are_simplified_and_derived_in_linear_time(step: str) -> None:
    x = sd.vector("x", 2)
    efforts = []
    for depth in (300, 1200):
        y = x
        for _ in range(depth):
            y = DEEP[step](y, x)
        simplifying, made = calls(simplify, [y.reshape(1, 2).node])
        deriving, slope = calls(sd.gradient, y.sum(), x)
        efforts.append(simplifying + deriving)
        assert len(postorder([slope.node])) < 40 * depth
        value = evaluate([made[0], slope.node], {"x": np.array([0.3, 0.4])}, [x.node])
        assert np.shape(value[0]) == (1, 2)
    assert efforts[1] < 5 * efforts[0] + 10_000


@pytest.mark.counted
def test_scalar_formulas_of_vanishing_functions_are_derived_in_few_calls() -> None:
    """Searching each factor of a product for each factor of a sine took some thousand calls an operation."""
    parts = list(sd.vector("x", 8))
    for i in range(1_000):
        parts[i % 8] = np.sin(parts[i % 8] * parts[(i + 3) % 8])
    total = sum(parts[1:], parts[0])
    effort, _ = calls(sd.gradient, total, sd.vector("x", 8))
    assert effort < 1_000 * 2_000


def test_a_column_of_a_delta_and_a_part_of_a_unit_vector_are_one_form() -> None:
    n = named("n")
    for rows, columns in ((3, n), (n, n + 1)):
        column = slicing(delta(rows, columns, n + 1, -1), (whole(rows), (n, 1, None)))
        part = slicing(onehot(columns, n), ((n + 1, -1, rows),))
        forms = simplify([column, part])
        assert forms[0] is forms[1]
        assert simplify(forms) == forms


def test_thousands_of_common_factors() -> None:
    """Factors are taken out in a loop: a call for each would be nested as deep."""
    a, b, *rest = sd.vector("x", 3000)
    left, right = a, b
    for factor in rest:
        left, right = left * factor, right * factor
    (found,) = simplify([(left + right).node])
    depth = 0
    while found.op == "multiply":
        found = found.args[0] if found.args[0].op in ("multiply", "add") else found.args[1]
        depth += 1
    assert found is (a + b).node
    assert depth == len(rest)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_simplified_is_not_looked_at_again(seed: int) -> None:
    """What rules make below their results is marked as well, or all above it is simplified at each pass."""
    rng = random.Random(seed)
    x = sd.vector("x", 8)
    parts = list(x)
    for _ in range(1_500):
        a, b = rng.choices(parts[-40:], k=2)
        parts.append(rng.choice((np.sin(a), a + b, a - b, a * np.sin(b), a / (2 + b))))
    found = [sd.gradient(parts[-1] + parts[-2], x).node]
    order = postorder(found)
    assert len(order) > 2_000  # shorter ones are simplified until nothing changes
    assert not postorder(found, settled=PLAIN)
    assert all(settle(node) is node for node in order)


#: A formula for a rule of several patterns, and what is told of it.
FIRED = [
    ("sqrt(x**2)", {}, "sqrt(x ** 2) → abs(x)"),
    ("sqrt(x**2 + y**2)", {}, "sqrt(x ** 2 + y ** 2) → hypot(x, y)"),
    ("sqrt(v @ v)", {"v": 3}, "sqrt(v @ v) → norm(v)"),
    ("1 / (1 + exp(-x))", {}, "1 / (1 + exp(-x)) → sigmoid(x)"),
    ("exp(v) / sum(exp(v))", {"v": 3}, "exp(v) / sum(exp(v)) → softmax(v)"),
    ("log(exp(a) + exp(b))", {}, "log(exp(a) + exp(b)) → logaddexp(a, b)"),
    ("sin(2*x) / x", {}, "sin(2 * x) / x → 2 * where(2 * x == 0, 1, sin(2 * x) / (2 * x))"),
    ("sin(x) / x", {}, "sin(x) / x → where(x == 0, 1, sin(x) / x)"),
    ("max([x, y, x])", {}, "max([x, y, x]) → maximum(x, y)"),
    ("maximum(x, x)", {}, "maximum(x, x) → x"),
    ("log(prod([x, y]))", {}, "log(prod([x, y])) → sum(log(abs([x, y]))) + log(prod(sign([x, y])))"),
    ("log(2**x)", {}, "log(2 ** x) → x * log(2)"),
    ("log(1 + exp(x))", {}, "log(1 + exp(x)) → softplus(x)"),
]


def test_no_number_one_is_taken_out_of_sizes() -> None:
    assert sd.compile("abs(1/x)").rewrites == ()
    assert sd.compile("abs(-1/x)").rewrites == ("abs(-1 / x) → abs(1 / x)",)
    assert sd.compile("abs(-2*exp(y)/x)**0.5").rewrites == ("abs(-2 * exp(y) / x) → 2 * (exp(y) * abs(1 / x))",)


def test_rewrites_list_each_place() -> None:
    told = ("log(1 + exp(x)) → softplus(x)", "log(1 + exp(-x)) → softplus(-x)")
    assert sd.compile("log(1 + exp(x)) + log(1 + exp(-x))").rewrites[:2] == told


@pytest.mark.parametrize(("formula", "shapes", "told"), FIRED)
def test_rewrites_name_the_equation_that_was_found(formula: str, shapes: dict[str, int], told: str) -> None:
    assert sd.compile(formula, **shapes).rewrites == (told,)
