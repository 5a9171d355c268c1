"""Graph to SymPy: written forms by a table, round trips at random, and text that SymPy never evaluates."""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, settings

import symdiff as sd
from symdiff.calculus.rules import CustomRule
from symdiff.errors import SymdiffError
from symdiff.frontend.numpy import indexing, linalg, reductions
from symdiff.frontend.numpy import operations as ops
from symdiff.frontend.numpy import shaping as layout
from symdiff.frontend.sympy import Inputs, from_sympy, is_sympy, to_sympy
from symdiff.frontend.sympy.forms import Adjugate, AdjugateDifferential, Definitions
from symdiff.frontend.text.vocabulary import VOCABULARY
from symdiff.graph import Node, constant, contract, custom, delta, gather, inputs_of, label, matrix, placeholder, reduce
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply, compare, where
from symdiff.graph.sizes import named
from tests.support.strategies import Formula, formulas, sample
from tests.support.sympy_symbols import RNG, VALUES, A, B, n, x, y

vector, square, scalar = variable("v", (3,)), variable("A", (3, 3)), variable("x")
symbolic, column = variable("N", (named("n"), named("n"))), variable("u", (named("n"),))


WRITTEN: list[tuple[Node, str]] = [
    (layout.swapaxes(linalg.inv(square), 0, 1), "A**(-1).T"),
    (ops.matmul(square, vector), "A*v"),
    (ops.matmul(vector, vector), "(v.T*v)[0, 0]"),
    (ops.outer(vector, vector), "v*v.T"),
    (ops.trace(ops.matmul(square, square)), "Trace(A*A)"),
    (apply("log", ops.det(symbolic)), "log(Determinant(N))"),
    (apply("exp", apply("log", scalar)), "exp(log(x))"),
    (apply("multiply", 0.0, scalar), "0*x"),
    (apply("multiply", 0.5, scalar), "x/2"),
    (apply("multiply", 0.37, scalar), "0.37*x"),
    (apply("sqrt", apply("power", scalar, 2.0)), "sqrt(x**2)"),
    (apply("multiply", 2.0, apply("add", scalar, 1.0)), "2*(x + 1)"),
    (apply("multiply", square, square), "HadamardProduct(A, A)"),
    (apply("maximum", scalar, 0.0), "Max(0, x)"),
    (where(compare("less", scalar, 0.0), scalar, 1.0), "Piecewise((x, x < 0), (1, True))"),
    (indexing.getitem(vector, 1), "v[1, 0]"),
    (indexing.getitem(square, (0, 1)), "A[0, 1]"),
    (layout.stack([scalar, apply("sin", scalar)]), "Matrix([[x], [sin(x)]])"),
    (apply("add", symbolic, symbolic), "N + N"),
    (delta(named("n"), named("n")), "I"),
    (contract([symbolic, symbolic], [(0, 1), (2, 3)], (0, 1, 2, 3)), "ArrayTensorProduct(N, N)"),
]


@pytest.mark.parametrize(("node", "expected"), WRITTEN, ids=[form[1] for form in WRITTEN])
def test_written_forms(node: Node, expected: str) -> None:
    assert str(to_sympy(node)).replace("(A**(-1))", "A**(-1)") == expected


@pytest.mark.parametrize(
    "expr",
    [
        2 * x * y + 1,
        1 - x - 3 * y,
        x**2 / y - sp.sqrt(x),
        sp.exp(-(x**2) / 2),
        sp.sin(x) * sp.cos(y) ** 3 - sp.log(x + y),
        sp.Piecewise((x, x < y), (y**2, True)),
        A * B.T + A,
        sp.Trace(A * B) + sp.Determinant(A),
        sp.Matrix([[sp.sin(x), 0], [x * y, 1]]).as_immutable(),
    ],
    ids=str,
)
def test_what_sympy_would_write_comes_back_equal(expr: Any) -> None:
    registry = Inputs()
    assert to_sympy(from_sympy(expr, registry), registry) == expr


def test_entries_of_functions_are_not_evaluated() -> None:
    node = gather(apply("exp", apply("log", vector)), 0, (0, 0))
    assert str(to_sympy(node)) == "Matrix([[exp(log(v[0, 0]))], [exp(log(v[0, 0]))]])"


def test_conditions_are_arrays_since_matrices_hold_none() -> None:
    for node in (compare("less", vector, 0.0), compare("less", symbolic, column)):
        written = to_sympy(node)
        assert isinstance(written, sp.Basic)
        values = {"v": np.array([1.0, -2.0, 3.0]), "N": VALUES["N"], "u": VALUES["v"][:, 0]}
        np.testing.assert_array_equal(
            np.asarray(
                evaluate([from_sympy(written)], {**values, "v": values["v"][:, None], "u": VALUES["v"]})[0], bool
            ),
            np.asarray(evaluate([node], values)[0], bool),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_sympy(where(compare("less", vector, 0.0), 1.0, vector)).shape == (3, 1)


def test_what_sympy_has_no_class_for_is_one_of_symdiff() -> None:
    assert str(to_sympy(matrix("cholesky", square))) == "LofCholesky(A)"
    written = to_sympy(reductions.accumulate("cumsum", column, 0))
    assert str(written) == "cumsum(u)"
    assert written.shape == (n, 1)
    largest = to_sympy(reduce("max", apply("exp", symbolic), (1,)))
    assert str(largest).startswith("max((")
    assert is_sympy(largest)
    _assert_round_trip(reduce("max", apply("exp", symbolic), (1,)), {"N": VALUES["N"]})


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_adjugates_are_right_at_singular_matrices_too(size: int) -> None:
    point, other = variable("P", (size, size)), variable("E", (size, size))
    values = {"P": np.outer(range(size), range(1, size + 1)).astype(float), "E": RNG.normal(size=(size, size))}
    _assert_round_trip(matrix("adjugate", point), values)
    _assert_round_trip(matrix("adjugate_differential", point, other), values)


@pytest.mark.parametrize("op", ["inv", "det", "adjugate", "logabsdet"])
def test_stacks_of_matrices_are_written_one_by_one(op: str) -> None:
    stack = variable("S", (2, 3, 3))
    _assert_round_trip(matrix(op, stack), {"S": RNG.normal(size=(2, 3, 3))})


def test_adjugates_are_kept() -> None:
    for point, size in ((symbolic, n), (square, 3)):
        node = matrix("adjugate", point)
        written = to_sympy(node)
        assert written == Adjugate(sp.MatrixSymbol(point.payload, size, size))
        values = {point.payload: VALUES[point.payload]}
        _assert_round_trip(node, values)
        _assert_round_trip(matrix("adjugate_differential", point, point), values)
    det = ops.det(ops.matmul(ops.matmul(layout.swapaxes(square, 0, 1), square), square))
    gradient = sd.gradient(sd.Array(det), sd.Array(square)).sympy
    assert sum(1 for _ in sp.preorder_traversal(gradient)) < 100
    assert gradient.has(Adjugate)


def test_adjugates_of_explicit_matrices_are_those_of_sympy() -> None:
    own = sp.ImmutableMatrix(3, 3, sp.symbols("a:9"))
    other = sp.ImmutableMatrix(3, 3, sp.symbols("b:9"))
    assert Adjugate(own).doit() == own.adjugate()
    assert Adjugate(own)[0, 1] == own.cofactor(1, 0)
    step = sp.Symbol("h")
    slope = (own + step * other).adjugate().diff(step).subs(step, 0)
    assert (AdjugateDifferential(own, other).doit() - slope).expand() == sp.zeros(3, 3)


def test_custom_and_named_formulas_are_written_out() -> None:
    parameter = placeholder("argument", ())
    rule = CustomRule("square plus one", (parameter,))
    body = apply("add", apply("power", parameter, 2.0), 1.0)
    assert to_sympy(custom(rule, [label(apply("sin", scalar), "s")], body)) == sp.sin(x) ** 2 + 1


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_survives_the_round_trip(name: str) -> None:
    row = FUNCTIONS[name]
    rng = np.random.default_rng(5)
    symbols = [variable(f"x{i}") for i in range(row.arity)]
    points = [
        {s.payload: rng.uniform(*bounds) for s, bounds in zip(symbols, row.domain, strict=True)} for _ in range(5)
    ]
    args: list[Node] = list(symbols)
    if row.partials[0] is Partial.NONE:
        # slopes of divided differences are written as quotients, which lose digits
        args[0] = constant(0.0 if name.endswith("_difference") else 2.0)
    node = apply(name, *args)
    again = from_sympy(to_sympy(node))
    for point in points:
        (value,), (wanted,) = evaluate([again], point), evaluate([node], point)
        np.testing.assert_allclose(np.asarray(value, float), np.asarray(wanted, float), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("value", [0.5, -1.5, 2.5, 3.5, 0.2, -0.7])
def test_rounding_to_even_survives_the_round_trip(value: float) -> None:
    again = from_sympy(to_sympy(apply("rint", scalar)))
    assert evaluate([again], {"x": value})[0] == np.rint(value)


def _values(formula: Formula) -> dict[str, np.ndarray]:
    data = sample(formula.inputs, (1,) * len(formula.inputs), 0)
    return {leaf.payload: array[0] for leaf, array in zip(formula.inputs, data, strict=True)}


def _assert_round_trip(node: Node, values: dict[str, np.ndarray]) -> None:
    again = from_sympy(to_sympy(node))
    shaped = {leaf.payload: values[leaf.payload] for leaf in inputs_of([again])}
    for leaf in inputs_of([again]):  # vectors have come back as columns
        if leaf.ndim > shaped[leaf.payload].ndim:
            shaped[leaf.payload] = shaped[leaf.payload][:, None]
    wanted = np.asarray(evaluate([node], values)[0], float)
    value = np.asarray(evaluate([again], shaped)[0], float).reshape(wanted.shape)
    np.testing.assert_allclose(value, wanted, rtol=1e-7, atol=1e-9)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas())
def test_random_formulas_survive_the_round_trip(formula: Formula) -> None:
    values = _values(formula)
    for root in formula.roots:
        try:
            evaluate([root], values)
        except SymdiffError:
            assume(False)
        _assert_round_trip(root, values)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas(symbolic=True))
def test_formulas_of_symbolic_size_survive(formula: Formula) -> None:
    values = _values(formula)
    for root in formula.roots:
        try:
            evaluate([root], values)
        except SymdiffError:
            continue  # singular, or a size that no input has
        written = to_sympy(root)
        assert isinstance(written, sp.Basic)
        _assert_round_trip(root, values)


def test_the_adjugate_of_any_size_survives_where_the_matrix_is_singular() -> None:
    A = variable("A", (named("n"), named("n")))
    again = from_sympy(to_sympy(matrix("adjugate", A)))
    point = {"A": np.diag([2.0, 3.0, 0.0])}
    np.testing.assert_allclose(evaluate([again], point)[0], np.diag([0.0, 0.0, 6.0]))
    M = sp.MatrixSymbol("M", 3, 3)
    twice = from_sympy(sp.MatMul(sp.Determinant(M), sp.Determinant(M), M, sp.Inverse(M)))
    np.testing.assert_allclose(evaluate([twice], {"M": point["A"]})[0], 0.0)


def _deep(count: int) -> Node:
    node = scalar
    for i in range(count):
        node = apply("sin", node) if i % 2 else apply("add", apply("multiply", node, node), scalar)
    return node


def test_deep_results_come_as_definitions() -> None:
    node = _deep(4_000)
    written = to_sympy(node)
    assert isinstance(written, Definitions)
    values = {"x": 0.3}
    for symbol, expr in written.definitions:
        assert expr.free_symbols <= {x} | {known for known, _ in written.definitions}
        values[symbol.name] = float(expr.subs({s: values[s.name] for s in expr.free_symbols}))
    result = float(written.result.subs({s: values[s.name] for s in written.result.free_symbols}))
    assert result == pytest.approx(float(evaluate([node], {"x": 0.3})[0]), abs=1e-9)
    _assert_round_trip(node, {"x": np.array(0.3)})


def test_definitions_say_what_they_are_and_are_read_back() -> None:
    x = sd.scalar("x")
    f = x
    for _ in range(60):
        f = sd.function("sin")(f) + x
    for made in (f.sympy, sd.parse(str(f), x=()), sd.compile(f, backend="numpy").sympy):
        assert isinstance(made, sd.Definitions)
        definitions, result = made
        assert str(made).splitlines() == [*(f"{symbol} = {value}" for symbol, value in definitions), str(result)]
        assert repr(made).startswith(f"<symdiff.Definitions of {len(definitions)} symbols and a result>")
        again = sd.compile(made, backend="numpy")
        assert again(0.3) == pytest.approx(sd.compile(f, [x], backend="numpy")(0.3), rel=1e-14)
        assert sd.gradient(made, "x").shape == ()


def test_what_sympy_does_not_take_has_another_form() -> None:
    v, a, A = sd.vector("v", 2), sd.matrix("A", 2, 3), sp.MatrixSymbol("A", 2, 3)
    y = sd.matrix("y", 1, 1)
    for f in ((a > 0).T, a > 0, sd.maximum(sd.scalar("x"), y[0] @ y), (a > 0).T[0] ^ (v[0] > 0)):
        assert isinstance(f.sympy, sp.Basic)
    assert str(sd.parse("x % 0")) == "nan"
    chosen = sd.where((a > 0).T[:2, 0], v, 0.0).sympy
    assert chosen.shape == (2, 1)
    assert [piece.args[0][1] for piece in chosen] == [sp.Lt(0, A[0, k], evaluate=False) for k in (0, 1)]


def test_deep_matrix_results_come_as_definitions() -> None:
    node = vector
    for _ in range(200):
        node = apply("tanh", ops.matmul(square, node))
    written = to_sympy(node)
    assert isinstance(written, Definitions)
    assert all(symbol.shape == (3, 1) for symbol, _ in written.definitions)
    _assert_round_trip(node, {"A": VALUES["A"], "v": VALUES["v"][:, 0]})


@pytest.mark.parametrize(
    "wrong", [("a", 1), (None, None), ([("a", "b")], 1), ([(1, 2, 3)], 1), ([(1, 2)], "x + 1"), (3, 4)]
)
def test_definitions_of_other_things_are_refused(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(sd.ArgumentError, match="expected pairs of a symbol and an expression"):
        sd.Definitions(*wrong)


def test_conditions_of_numbers_are_decided() -> None:
    gradient = sd.gradient("prod(x)", "x", x=3).sympy
    assert not gradient.atoms(sp.Piecewise)
    x = next(iter(gradient.atoms(sp.MatrixSymbol)))
    assert gradient.subs(x, sp.Matrix([2, 3, 5])).doit() == sp.Matrix([15, 10, 6])


# ---------------------------------------------------------------------------- sympy constants
# Text to SymPy without a question to SymPy: it may compute digits without end, and the text is a stranger's.


NUMBERS = ["inf", "nan", "0", "1", "108", "1e300", "1e-300", "pi", "2", "3.7", "0.5", "1e9", "170.5", "12345678901"]
NAMED = [f for f in FUNCTIONS.values() if f.name in VOCABULARY and f.orders == 0]


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what SymPy is asked of an expression that is neither a number nor a symbol."""
    asked: list[str] = []
    evalf, assumptions = sys.modules["sympy.core.evalf"], sys.modules["sympy.core.assumptions"]
    ask, digits = assumptions._ask, evalf.evalf

    def asking(fact: str, of: Any) -> Any:
        if fact != "commutative" and not of.is_Number and not of.is_Symbol:
            asked.append(f"{fact} of {type(of).__name__}")
        return ask(fact, of)

    def computing(x: Any, *args: Any) -> Any:
        if not x.is_Number and not x.is_NumberSymbol:  # digits of pi, by which SymPy sorts, are bounded work
            asked.append(f"digits of {type(x).__name__}")
        return digits(x, *args)

    sd.parse("x")  # constants of the module are made before
    monkeypatch.setattr(assumptions, "_ask", asking)
    monkeypatch.setattr(evalf, "evalf", computing)
    return asked


def _number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(NUMBERS)
    if rng.random() < 0.3:
        return f"({_number(rng, depth - 1)} {rng.choice('+-*/%')} {_number(rng, depth - 1)})"
    function = rng.choice(NAMED)
    return f"{function.name}({', '.join(_number(rng, depth - 1) for _ in range(function.arity))})"


def _condition(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return f"(x * {_number(rng, depth)} {rng.choice(['<', '<=', '==', '!='])} {_number(rng, depth)})"
    first, second = _condition(rng, depth - 1), _condition(rng, depth - 1)
    return f"logical_xor({first}, {second})" if kind < 0.6 else f"({first} {rng.choice('&|')} {second})"


FORMS: dict[str, Callable[[str, str, str], str]] = {
    "remainder": lambda a, b, c: f"x % {a} + x // {b}",
    "choice": lambda a, b, c: f"where({c}, x * {a}, {b})",
    "parts": lambda a, b, c: f"sum(where({c}, v, {a})) + max(stack((x + {a}, x * {b})))",
    "one by one": lambda a, b, c: f"sin((w * {a}) % 2) * maximum(w, {b})",
    "clipped": lambda a, b, c: f"clip(v, {a}, {b}) + abs(v - {a}) * sign({b})",
    "matrices": lambda a, b, c: f"det(reshape(stack((x, {a}, 1, x * {b})), (2, 2)))",
    "stacks": lambda a, b, c: f"inv(T * {a})[0, 0] + det(T - {b})",
}
SHAPES = {"x": (), "v": (2,), "w": (1, 1), "T": (2, 2, 2)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", FORMS)
def test_sympy_is_asked_nothing(form: str, seed: int, deaf: list[str]) -> None:
    rng = random.Random(f"{form} {seed}")
    read = 0
    for _ in range(8):
        text = FORMS[form](_number(rng, 2), _number(rng, 2), _condition(rng, 2))
        with suppress(sd.ParseError, sd.LimitError, sd.DtypeError):  # 1/0, 1e300*1e300, a sum of two conditions
            sd.parse(text, {name: shape for name, shape in SHAPES.items() if re.search(rf"\b{name}\b", text)})
            read += 1
        assert not deaf, text
    assert read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x % zeta(108, inf)", sp.nan),
        ("x * gamma(5)", 24 * sp.Symbol("x")),
        ("x + exp(exp(exp(9)))", sp.Add(sp.oo, sp.Symbol("x"), evaluate=False)),
        ("x * floor(tan(1e300)) // 1e300", None),
        ("x + sqrt(3)", sp.Symbol("x") + sp.sqrt(3)),
        ("x * exp(-3)", sp.Symbol("x") * sp.exp(-3)),
    ],
)
def test_functions_of_constants_are_numbers_but_for_elementary_ones(text: str, expected: Any) -> None:
    read = sd.parse(text)
    assert expected is None or read == expected
    str(read), sp.latex(read)  # printers of SymPy ask for digits
    for number in (0.3, -2.0):
        of_text = sd.compile(text, x=())(number)
        of_sympy = sd.compile(read, [sp.Symbol("x")])(number) if read.free_symbols else float(read)
        assert of_sympy == pytest.approx(of_text, nan_ok=True)


@pytest.mark.parametrize("name", ["sin", "gamma", "maximum", "where"])
def test_functions_of_a_matrix_of_one_element_are_not_applied(name: str) -> None:
    call = {"maximum": "maximum(w, 2)", "where": "where(w > 1, w, 2)"}.get(name, f"{name}(w)")
    read = sd.parse(call, w=(1, 1))
    assert sd.compile(read)([[0.5]]) == pytest.approx(sd.compile(call, w=(1, 1))([[0.5]]))
