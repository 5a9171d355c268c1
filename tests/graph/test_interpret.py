"""The meaning of each operation of the graph, matrices among them, against NumPy, SciPy and mpmath."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special
from scipy.linalg import expm_frechet

from symdiff.calculus.rules import CustomRule
from symdiff.errors import ArgumentError, DtypeError, LimitError, ShapeError, SingularMatrixError
from symdiff.graph import (
    BOOL,
    INT,
    Node,
    arrange,
    broadcast_to,
    concatenate,
    constant,
    contract,
    cumulative,
    custom,
    delta,
    elementwise,
    exponential,
    extent,
    gather,
    label,
    matmul,
    matrix,
    normalize,
    onehot,
    pad,
    placeholder,
    postorder,
    put,
    recurrence,
    reduce,
    reshape,
    scatter,
    slicing,
    spectral,
    stop_gradient,
    take,
    transpose,
    triangle,
)
from symdiff.graph import (
    input as variable,
)
from symdiff.graph.primitives import Body, Spectral
from symdiff.graph.reference import interpret, numeric
from symdiff.graph.reference.interpret import bind_sizes, evaluate
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.differences import DIFFERENCES
from symdiff.graph.scalars.functions import FUNCTIONS, apply, compare, where
from symdiff.graph.scalars.remainders import REMAINDERS
from symdiff.graph.sizes import named

N, M = named("n"), named("m")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(2, 3, 3))
POSITIONS = np.array([2, 0, 2])
AT = variable("at", (3,), INT)


def compute(node: Node, **values: Any) -> Any:
    return evaluate([node], values)[0]


# ---------------------------------------------------------------------------- scalar functions

#: Rows whose name or SymPy class is not what mpmath calls them.
REFERENCE = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": mpmath.power,
    "negative": lambda x: -x,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "abs": abs,
    "rint": mpmath.nint,
    "ceil": mpmath.ceil,
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "lgamma": mpmath.loggamma,
    "polygamma": lambda n, x: mpmath.psi(int(n), x),
    "spherical_jn": lambda n, x: (
        mpmath.sign(x) ** n * mpmath.sqrt(mpmath.pi / (2 * abs(x))) * mpmath.besselj(n + 0.5, abs(x))
    ),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log_sigmoid": lambda x: -mpmath.log(1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "xlogy": lambda x, y: x * mpmath.log(y),
    "sinc": mpmath.sincpi,
    "mod": lambda x, y: x - y * mpmath.floor(x / y),
    "floor_divide": lambda x, y: mpmath.floor(x / y),
    "maximum": max,
    "minimum": min,
    "where": lambda c, x, y: x if c else y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "logical_and": lambda x, y: x and y,
    "logical_or": lambda x, y: x or y,
    "logical_xor": lambda x, y: x != y,
    "logical_not": lambda x: not x,
    "to_real": float,
    # mpmath has other functions by these names
    **{name: SCALARS[name] for name in ("iv", "iv_far", "yv", "yv_near", "jv", "jv_near")},
    **{name: SCALARS[name] for name in ("gammainc", "gammaincc", "betainc")},
}


#: Families of functions whose order is known beforehand.
ORDERED = {each.name for each in REMAINDERS} | {each.name for each in DIFFERENCES}
ORDERED |= {"dawsn_derivative", "ive_derivative", "log_rising", "log_rising_slope"}
ORDERED |= {"power_remainder", "voigt_real", "voigt_imag", "exp1_moment", "expi_scaled"}
ORDERED |= {"arccos_quotient", "arccosh_quotient"}


def reference(name: str) -> Any:
    for spelling in (name, FUNCTIONS[name].sympy):
        if name in REFERENCE:
            return REFERENCE[name]
        if FUNCTIONS[name].written is not None:
            return SCALARS[name]
        if spelling and hasattr(mpmath, spelling):
            return getattr(mpmath, spelling)
    if name in SCALARS:
        return SCALARS[name]
    raise LookupError(f"mpmath has no {name}: add its reference to symdiff/graph/reference/many_digits.py")


def operands(name: str, count: int = 6) -> Any:
    """Draw points of a row's domain, as Python numbers or conditions."""
    row = FUNCTIONS[name]
    columns = []
    for i, (low, high) in enumerate(row.domain):
        draws = np.full(count, low) if low == high else RNG.uniform(low, high, count)
        condition = row.takes is BOOL or (name == "where" and i == 0)
        columns.append([bool(x > 0) if condition else float(x) for x in draws])
    return list(zip(*columns, strict=True))


def applied(name: str) -> Any:
    row = FUNCTIONS[name]
    inputs = tuple(
        constant(row.domain[0][0])  # an order that is known beforehand
        if i == 0 and name.partition("_of_square")[0] in ORDERED
        else variable(f"x{i}", (), BOOL if row.takes is BOOL or (name == "where" and i == 0) else "real")
        for i in range(row.arity)
    )
    return elementwise(name, inputs, row.gives)


@pytest.mark.rows(1000)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function(name: str) -> None:
    node = applied(name)
    for point in operands(name):
        got = compute(node, **{f"x{i}": x for i, x in enumerate(point)})
        with mpmath.workdps(30):
            args = [x if isinstance(x, bool) else mpmath.mpf(x) for x in point]
            want = reference(name)(*args)
            want = bool(want) if FUNCTIONS[name].gives is BOOL else float(want)
        assert got.dtype == (np.bool_ if FUNCTIONS[name].gives is BOOL else np.float64)
        rtol = 2e-13 if name in ("kve", "kv", "kve_near") else 4e-14  # the former is SciPy's own, the latter made of it
        np.testing.assert_allclose(float(got), float(want), rtol=rtol, atol=1e-15, err_msg=f"{name}{point}")


@pytest.mark.parametrize("name", [name for name, row in FUNCTIONS.items() if row.expansion is not None])
def test_expansions_mean_the_same(name: str) -> None:
    node = applied(name)
    expand = FUNCTIONS[name].expansion
    assert expand is not None
    expansion = expand(*node.args)
    for point in operands(name):
        values = {f"x{i}": x for i, x in enumerate(point)}
        np.testing.assert_allclose(
            compute(expansion, **values).astype(float), compute(node, **values).astype(float), rtol=1e-12, atol=1e-14
        )


@pytest.mark.parametrize(
    "name", [n for n, row in FUNCTIONS.items() if BOOL not in (row.gives, row.takes) and n != "where"]
)
def test_nan_in_gives_nan_out(name: str) -> None:
    for place in range(FUNCTIONS[name].arity):
        low, high = FUNCTIONS[name].domain[place]
        if low != high:
            point = [float(domain[1]) for domain in FUNCTIONS[name].domain]
            point[place] = float("nan")
            got = compute(applied(name), **{f"x{i}": x for i, x in enumerate(point)})
            assert np.isnan(got), (name, place)


def test_a_branch_not_taken_is_not_observed() -> None:
    x = variable("x", (3,))
    node = where(compare("greater", x, 0.0), apply("log", x), 0.0)
    np.testing.assert_array_equal(compute(node, x=[-1.0, 0.0, 1.0]), [0.0, 0.0, 0.0])


def test_functions_of_orders_take_arrays_of_orders() -> None:
    orders, x = constant([0.0, 1.0, 2.0]), variable("x", (3,))
    got = compute(elementwise("polygamma", (orders, x)), x=[1.5, -0.5, 2.0])
    want = [float(mpmath.psi(k, v)) for k, v in enumerate([1.5, -0.5, 2.0])]
    np.testing.assert_allclose(got, want, rtol=1e-13)
    got = compute(elementwise("spherical_jn", (orders, x)), x=[0.0, -2.0, 3.0])
    np.testing.assert_allclose(
        got, [1.0, -float(REFERENCE["spherical_jn"](1, 2.0)), float(REFERENCE["spherical_jn"](2, 3.0))]
    )


def test_softplus_far_out() -> None:
    np.testing.assert_array_equal(numeric.softplus(np.array([-1e4, 1e4, np.inf, -np.inf])), [0.0, 1e4, np.inf, 0.0])


# ---------------------------------------------------------------------------- structure

x34, x3 = variable("x", (3, 4)), variable("v", (3,))
CARRIED, ROW, FIRST = placeholder(("carried", 0), (4,)), placeholder(("read", 0), (4,)), ((0, 1, None), (0, 1, 4))
STRUCTURE = {
    "transpose": (transpose(x34), X.T),
    "matmul": (matmul(x34, transpose(x34)), X @ X.T),
    "sum": (contract([x34], [(0, 1)], (1,)), X.sum(0)),
    "outer": (contract([x34, x34], [(0, 1), (2, 3)], (0, 3, 1, 2)), np.einsum("ij,kl->iljk", X, X)),
    "trace": (contract([slicing(x34, ((0, 1, 3), (0, 1, 3)))], [(0, 0)], ()), np.trace(X[:, :3])),
    "diagonal": (contract([slicing(x34, ((0, 1, 3), (1, 1, 3)))], [(0, 0)], (0,)), np.diagonal(X[:, 1:])),
    "three": (contract([x34, x34, x34], [(0, 1), (2, 1), (2, 3)], (0, 3)), X @ X.T @ X),
    "repeat": (broadcast_to(x34, (2, 3, 4)), np.broadcast_to(X, (2, 3, 4))),
    "repeat_numbers": (broadcast_to(constant(2.0), (2, 3)), np.full((2, 3), 2.0)),
    "transpose_condition": (transpose(compare("greater", x34, 0.0)), (X > 0).T),
    "repeat_condition": (broadcast_to(compare("greater", x34, 0.0), (2, 3, 4)), np.broadcast_to(X > 0, (2, 3, 4))),
    "repeat_true": (broadcast_to(constant(True), (2,)), np.array([True, True])),
    "count": (contract([apply("to_real", compare("greater", x34, 0.0))], [(0, 1)], ()), (X > 0).sum()),
    "delta": (delta(3, 3), np.eye(3)),
    "delta_shifted": (delta(2, 4, 1, 2), np.array([[0, 1, 0, 0], [0, 0, 0, 1]])),
    "delta_reversed": (delta(3, 3, 2, -1), np.eye(3)[::-1]),
    "delta_beyond": (delta(3, 3, 1, 1), np.eye(3, k=1)),
    "onehot": (onehot(3, 1), np.array([0, 1, 0])),
    "max": (reduce("max", x34, (0,)), X.max(0)),
    "min": (reduce("min", x34, (0, 1)), X.min()),
    "prod": (reduce("prod", x34, (1,)), X.prod(1)),
    "norm": (reduce("norm", x34, (0, 1)), np.linalg.norm(X)),
    "norm_of_nothing": (reduce("norm", x34, ()), np.abs(X)),
    "logsumexp": (reduce("logsumexp", x34, (1,)), special.logsumexp(X, 1)),
    "logsumexp_of_nothing": (reduce("logsumexp", x34, ()), X),
    "softmax": (normalize("softmax", x34, (0, 1)), special.softmax(X)),
    "log_softmax": (normalize("log_softmax", x34, (0,)), special.log_softmax(X, 0)),
    "unit": (normalize("unit", x34, (1,)), X / np.linalg.norm(X, axis=1, keepdims=True)),
    "triu": (triangle(x34, True, 1), np.triu(X, 1)),
    "tril": (triangle(x34, False, -1), np.tril(X, -1)),
    "cumsum": (cumulative("cumsum", x34, 1), X.cumsum(1)),
    "cumsum_reverse": (cumulative("cumsum", x34, 0, reverse=True), X[::-1].cumsum(0)[::-1]),
    "arrange": (arrange(x34, constant(X), 1), np.sort(X, 1)),
    "slice": (slicing(x34, ((1, 1, None), (3, -2, 2))), X[1, 3::-2]),
    "slice_reversed": (slicing(x34, ((2, -1, 3), (0, 1, 4))), X[::-1]),
    "slice_empty": (slicing(x34, ((0, 1, 0), (0, 1, 4))), X[:0]),
    "pad": (
        pad(x34, ((1, 1, None), (0, 1, 3), (4, -1, 4)), (2, 3, 5)),
        np.stack([np.zeros((3, 5)), np.concatenate([np.zeros((3, 1)), X[:, ::-1]], 1)]),
    ),
    "gather": (gather(x34, 1, (3, 0, 0)), X[:, [3, 0, 0]]),
    "gather_none": (gather(x34, 0, ()), X[:0]),
    "scatter": (
        scatter(x34, 0, (1, 1, 0), 4),
        np.stack([X[2], X[0] + X[1], np.zeros(4), np.zeros(4)]),
    ),
    "take": (take(x34, AT, 1), X[:, POSITIONS]),
    "put": (put(x34, AT, 0, 4), np.stack([X[1], np.zeros(4), X[0] + X[2], np.zeros(4)])),
    "reshape": (reshape(x34, (2, 6)), X.reshape(2, 6)),
    "concatenate": (concatenate([x34, x34], 1), np.concatenate([X, X], 1)),
    "recurrence": (
        recurrence(Body((CARRIED,), (ROW,), (), (CARRIED * 0.5 + ROW, CARRIED * ROW)), [slicing(x34, FIRST), x34], 3),
        np.concatenate(
            [X[0] * 0.375 + X[1] / 2 + X[2], X[0] ** 2, X[0] * 1.5 * X[1], (X[0] * 0.75 + X[1]) * X[2]]
        ),
    ),
    "stop_gradient": (stop_gradient(x34), X),
    "named": (label(x34, "z"), X),
    "constant": (constant([[1.0, np.inf]]), np.array([[1.0, np.inf]])),
    "condition": (constant([True, False]), np.array([True, False])),
}


@pytest.mark.parametrize("case", STRUCTURE)
def test_structure(case: Any) -> None:
    node, want = STRUCTURE[case]
    got = evaluate([node], {"x": X, "at": POSITIONS}, [x34])[0]
    assert got.shape == want.shape
    assert (got.dtype == np.bool_) == (want.dtype == np.bool_)
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_no_operation_is_left_out() -> None:
    covered = {node.op for case, _ in STRUCTURE.values() for node in postorder([case])}
    elsewhere = ("custom", "external", "size", "spectral", "isotropic", "expm", "pinv")
    assert {op for op in interpret.STRUCTURE if op not in elsewhere} <= covered


def test_functions_of_matrices() -> None:
    """The cube of a matrix, and its second divided difference x + y + z, which puts A in three places."""
    x, t = placeholder(("eigenvalue", 0), ()), placeholder(("parameter", 0), ())
    cube = apply("multiply", t, apply("multiply", x, apply("multiply", x, x)))
    ends = [placeholder(("eigenvalue", k), ()) for k in range(3)]
    weights = apply("multiply", t, apply("add", apply("add", ends[0], ends[1]), ends[2]))
    a, e, f = (variable(name, (2, 3, 3)) for name in "aef")
    s = variable("s", (2,))
    values = {name: np.random.default_rng(k).normal(size=(2, 3, 3)) for k, name in enumerate("aef")}
    values["a"] = values["a"] + values["a"].swapaxes(1, 2)
    factors = np.array([1.0, -2.0])
    value = spectral(Spectral("cube", cube, cube, 1), (a, s))
    second = spectral(Spectral("cube", cube, weights, 1), (a, s, e, f))
    got = evaluate([value, second], {**values, "s": factors}, [a, s, e, f])
    A, E, F = values["a"], values["e"], values["f"]
    S = factors[:, None, None]
    np.testing.assert_allclose(got[0], S * (A @ A @ A), rtol=1e-12)
    np.testing.assert_allclose(got[1], S * (A @ E @ F + E @ A @ F + E @ F @ A), rtol=1e-12)


def test_exponentials_of_matrices() -> None:
    a, e = variable("a", (2, 3, 3)), variable("e", (3, 3))
    values = {"a": np.random.default_rng(1).normal(size=(2, 3, 3)) * [[[1.0]], [[20.0]]], "e": 1e3 * np.eye(3)[::-1]}
    got = evaluate([exponential(a), exponential(a, e)], values, [a, e])
    for k, own in enumerate(values["a"]):
        want = expm_frechet(own, values["e"])
        for result, wanted in zip(got, want, strict=True):
            np.testing.assert_allclose(result[k], wanted, rtol=0, atol=1e-12 * abs(wanted).max())


FAR = np.array([[1e3, -1e3], [-np.inf, 0.0], [-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0]])


def test_exponentials_far_out() -> None:
    x = variable("x", FAR.shape)
    total, share, logs = evaluate(
        [reduce("logsumexp", x, (1,)), normalize("softmax", x, (1,)), normalize("log_softmax", x, (1,))], {"x": FAR}
    )
    np.testing.assert_array_equal(total, [1e3, 0.0, -np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(share[:2], [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(logs[:2], [[0.0, -2e3], [-np.inf, 0.0]])
    assert np.isnan(share[4]).all()


def test_reductions_of_no_elements() -> None:
    x = variable("x", (0,))
    got = evaluate([reduce(op, x, (0,)) for op in ("prod", "norm", "logsumexp")], {"x": np.zeros(0)})
    assert [float(v) for v in got] == [1.0, 0.0, -np.inf]


def test_custom_functions_compute_their_body() -> None:
    a, b, c = placeholder("a", (3,)), placeholder("b", ()), placeholder("c", (3,))
    plus = CustomRule("square plus", (a, b))
    inner = custom(plus, [x3, constant(2.0)], a * a + b)
    twice = CustomRule("twice", (c,))
    node = custom(twice, [inner], custom(plus, [c, constant(1.0)], a * a + b))
    np.testing.assert_allclose(compute(node, v=[1.0, 2.0, 3.0]), [10.0, 37.0, 122.0])


def test_a_deep_formula_needs_no_recursion() -> None:
    x = y = variable("x")
    for _ in range(20_000):
        y = apply("sin", y) + x
    assert np.isfinite(compute(y, x=0.1))


def test_too_many_indices() -> None:
    x = variable("x", (1,) * 30)
    with pytest.raises(LimitError, match="52"):
        compute(contract([x, x], [tuple(range(30)), tuple(range(30, 60))], ()), x=np.ones((1,) * 30))


# ---------------------------------------------------------------------------- matrices
# ---------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("shapes", "came", "want"),
    [
        ([(N, M)], [(2, 5)], {"n": 2, "m": 5}),
        ([(N + 1,)], [(4,)], {"n": 3}),
        ([(2 * N,), (N + M,)], [(4,), (7,)], {"n": 2, "m": 5}),
        ([(N * M,), (M,)], [(6,), (3,)], {"n": 2, "m": 3}),
        ([(N * N,), (N,)], [(9,), (3,)], {"n": 3}),
        ([(3,), ()], [(3,), ()], {}),
        ([(N,)], [(0,)], {"n": 0}),
    ],
)
def test_sizes_are_told_from_shapes(shapes: Any, came: Any, want: Any) -> None:
    assert bind_sizes([variable(f"x{i}", shape) for i, shape in enumerate(shapes)], came) == want


@pytest.mark.parametrize(
    ("shapes", "came", "message"),
    [
        ([(N, N)], [(2, 3)], "n is 2 from input 'x0' axis 0 and 3 from input 'x0' axis 1; they must be equal"),
        (
            [(N,), (N + 1,)],
            [(3,), (3,)],
            r"so input 'x1' axis 0 should have n \+ 1 = 4 elements and has 3",
        ),
        ([(2 * N,)], [(3,)], "which no size 'n' makes"),
        ([(N + 5,)], [(3,)], "which no size 'n' makes"),
        ([(N * N,)], [(9,)], "cannot be told"),
        ([(3, N)], [(4, 2)], r"expected \(3, n\)"),
        ([(N,)], [()], r"expected \(n,\)"),
    ],
)
def test_sizes_that_contradict(shapes: Any, came: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        bind_sizes([variable(f"x{i}", shape) for i, shape in enumerate(shapes)], came)


def test_symbolic_slices_follow_the_size() -> None:
    x = variable("x", (N,))
    last, inner, back = slicing(x, ((N - 1, 1, None),)), slicing(x, ((1, 1, N - 2),)), slicing(x, ((N - 1, -1, N),))
    for n in (2, 5):
        data = np.arange(float(n))
        got = evaluate([last, inner, back, pad(x, ((1, 2, N),), (2 * N,))], {"x": data})
        assert got[0] == n - 1
        assert got[1].tolist() == list(range(1, n - 1))
        assert got[2].tolist() == data[::-1].tolist()
        assert got[3].tolist() == [0 if i % 2 == 0 else i // 2 for i in range(2 * n)]


def test_a_size_is_a_number_of_the_formula() -> None:
    x = variable("x", (N,))
    assert compute(contract([x], [(0,)], ()) / extent(N - 1), x=[1.0, 2.0, 3.0]) == 3.0


# ---------------------------------------------------------------------------- what comes in


def test_missing_inputs_and_unusable_values() -> None:
    x = variable("x", (2,))
    with pytest.raises(ArgumentError, match="'x' has no value"):
        compute(x)
    with pytest.raises(ShapeError, match=r"shape \(3,\); expected \(2,\)"):
        compute(x, x=[1, 2, 3])
    for bad in (np.ones(2) * 1j, np.array(["a", "b"]), np.array([None, 1.0])):
        with pytest.raises(DtypeError, match="dtype"):
            compute(x, x=bad)


# ---------------------------------------------------------------------------- interpret matrices
# What functions of matrices mean, against NumPy and exact fractions, singular and not finite ones among them.


@pytest.mark.parametrize("op", ["det", "logabsdet", "inv"])
def test_matrix_functions_of_stacks(op: str) -> None:
    want = {
        "det": np.linalg.det(SQUARE),
        "logabsdet": np.log(np.abs(np.linalg.det(SQUARE))),
        "inv": np.linalg.inv(SQUARE),
    }
    np.testing.assert_allclose(compute(matrix(op, variable("A", (2, 3, 3))), A=SQUARE), want[op], rtol=1e-12)


def test_solve_broadcasts_stacks() -> None:
    A, B = variable("A", (2, 3, 3)), variable("B", (3, 5))
    b = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(compute(matrix("solve", A, B), A=SQUARE, B=b), np.linalg.inv(SQUARE) @ b, rtol=1e-12)


def test_cholesky_is_lower_and_reads_the_lower_triangle() -> None:
    spd = SQUARE[0] @ SQUARE[0].T
    got = compute(matrix("cholesky", variable("A", (3, 3))), A=np.tril(spd))
    assert (np.triu(got, 1) == 0).all()
    np.testing.assert_allclose(got @ got.T, spd, rtol=1e-12)


def test_logdet_of_each_sign() -> None:
    stack = np.array([np.eye(2), -np.eye(2) * [[1, 1], [1, -1]], np.zeros((2, 2)), np.full((2, 2), np.nan)])
    got = compute(matrix("logdet", variable("A", (4, 2, 2))), A=stack)
    np.testing.assert_array_equal(got, [0.0, np.nan, -np.inf, np.nan])


@pytest.mark.parametrize("op", ["inv", "solve", "cholesky"])
def test_singular_matrices_are_refused(op: str) -> None:
    A = variable("A", (2, 3, 3))
    node = matrix(op, A, A) if op == "solve" else matrix(op, A)
    with pytest.raises(SingularMatrixError, match=rf"{op}.*index \(1,\)") as caught:
        compute(node, A=[np.eye(3), np.zeros((3, 3))])
    assert caught.value.index == ()
    assert isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.parametrize("op", ["inv", "solve", "cholesky", "adjugate", "adjugate_differential", "det", "logdet"])
def test_nan_passes_through_the_matrix_it_is_in(op: str) -> None:
    A = variable("A", (2, 3, 3))
    node = matrix(op, A, A) if op in ("solve", "adjugate_differential") else matrix(op, A)
    got = compute(node, A=[np.eye(3), np.full((3, 3), np.nan)])
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1][np.tril_indices(3)] if got.ndim == 3 else got[1]).all()


@pytest.mark.parametrize("op", ["inv", "solve"])
def test_nan_beside_a_zero_pivot_is_not_called_singular(op: str) -> None:
    A = variable("A", (2, 2, 2))
    node = matrix(op, A, A) if op == "solve" else matrix(op, A)
    unknown = [[0.0, np.nan], [0.0, 1.0]]
    assert np.isnan(compute(node, A=[np.eye(2), unknown])[1]).all()
    with pytest.raises(SingularMatrixError, match=r"index \(1,\)"):
        compute(node, A=[unknown, np.zeros((2, 2))])


@pytest.mark.parametrize("size", [0, 1])
def test_the_smallest_matrices(size: int) -> None:
    A = variable("A", (size, size))
    a = np.full((size, size), 5.0)
    assert compute(matrix("adjugate", A), A=a).tolist() == np.ones((size, size)).tolist()
    assert compute(matrix("adjugate_differential", A, A), A=a).tolist() == np.zeros((size, size)).tolist()
    assert compute(matrix("det", A), A=a) == pytest.approx(5.0 if size else 1.0)
    assert compute(matrix("inv", A), A=a).shape == (size, size)


def exact_adjugate(a: Any) -> Any:
    """Return the adjugate by cofactors, each a sum over permutations: no division, so no rank matters."""
    n = a.rows
    result = mpmath.matrix(n, n)
    for i, j in itertools.product(range(n), repeat=2):
        rows, columns = [r for r in range(n) if r != j], [c for c in range(n) if c != i]
        result[i, j] = (-1) ** (i + j) * exact_determinant([[a[r, c] for c in columns] for r in rows])
    return result


def exact_determinant(rows: Any) -> Any:
    if not rows:
        return mpmath.mpf(1)
    return sum(
        (-1) ** c * rows[0][c] * exact_determinant([row[:c] + row[c + 1 :] for row in rows[1:]])
        for c in range(len(rows))
        if rows[0][c] != 0
    )


@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in range(1, 6) for rank in range(n + 1)])
def test_adjugate_and_its_differential_at_every_rank(n: int, rank: int) -> None:
    rng = np.random.default_rng(10 * n + rank)
    a = (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, n))).astype(float)
    e = rng.normal(size=(n, n))
    with mpmath.workdps(80):
        step = mpmath.mpf(10) ** -25
        at, towards = mpmath.matrix(a.tolist()), step * mpmath.matrix(e.tolist())
        value = exact_adjugate(at)
        slope = (exact_adjugate(at + towards) - exact_adjugate(at - towards)) / (2 * step)
        value, slope = (np.array(m.tolist(), dtype=float).reshape(n, n) for m in (value, slope))
    largest, change = max(1.0, float(np.linalg.norm(a, 2))), float(np.linalg.norm(e))
    np.testing.assert_allclose(numeric.adjugate(a), value, rtol=0, atol=1e-13 * largest ** (n - 1))
    np.testing.assert_allclose(
        numeric.adjugate_differential(a, e), slope, rtol=0, atol=1e-13 * largest ** max(0, n - 2) * change
    )


def test_adjugate_of_stacks_broadcasts() -> None:
    got = numeric.adjugate_differential(SQUARE[:, None], SQUARE)
    assert got.shape == (2, 2, 3, 3)
    for i, k in itertools.product(range(2), repeat=2):
        np.testing.assert_allclose(
            got[i, k], numeric.adjugate_differential(SQUARE[i], SQUARE[k]), rtol=1e-10, atol=1e-12
        )
