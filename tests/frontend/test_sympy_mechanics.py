"""SymPy's undefined functions, derivatives and substitutions, as sympy.physics.mechanics writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
from sympy.physics.mechanics.models import n_link_pendulum_on_cart
from sympy.utilities.lambdify import implemented_function

import symdiff as sd
from symdiff.errors import ArgumentError, UnsupportedError
from symdiff.frontend.sympy import Inputs, from_sympy
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate

t = dynamicsymbols._t
x, y, z = sp.symbols("x y z")
q, p = dynamicsymbols("q p")
f, g = sp.Function("f"), sp.Function("g")
A = sp.MatrixSymbol("A", 3, 3)
RNG = np.random.default_rng(5)


def value(expr: Any, **values: Any) -> Any:
    node = from_sympy(expr)
    return evaluate([node], {leaf.payload: values[str(leaf.payload)] for leaf in inputs_of([node])})[0]


@pytest.mark.parametrize(
    ("expr", "name"),
    [
        (q, "q"),
        (q.diff(t), "q_dot"),
        (dynamicsymbols("q", 2), "q_ddot"),
        (q.diff(t, 3), "q_dddot"),
        (f(x, y), "f"),
        (f(x, y).diff(x, 2, y), "f_x_x_y"),
    ],
    ids=str,
)
def test_functions_and_their_derivatives_are_inputs(expr: Any, name: str) -> None:
    registry = Inputs()
    node = from_sympy(expr, registry)
    assert (node.op, node.payload) == ("input", name)
    assert registry.symbols == {name: expr}


def test_a_function_and_a_symbol_of_one_name_stay_apart() -> None:
    registry = Inputs()
    from_sympy(q + sp.Symbol("q") + q.diff(t) + sp.Symbol("q_dot"), registry)
    assert sorted(registry.symbols) == ["q", "q_1", "q_dot", "q_dot_1"]
    assert len(set(registry.symbols.values())) == 4


def test_derivatives_with_respect_to_functions() -> None:
    m, length = sp.symbols("m l")
    lagrangian = m * length**2 * q.diff(t) ** 2 / 2 + m * length * sp.cos(q)
    assert str(sd.gradient(lagrangian, q)) == "-l * m * sin(q)"
    assert str(sd.gradient(lagrangian, "q")) == str(sd.gradient(lagrangian, q))
    momentum = sd.gradient(lagrangian, q.diff(t))
    assert str(momentum) == str(sd.gradient(lagrangian, "q_dot"))
    kernel = sd.compile(momentum, [q.diff(t), m, length], backend="numpy")
    assert kernel(2.0, 3.0, 0.5) == pytest.approx(1.5)


TIMED = [
    sp.Derivative(sp.sin(q) * p**2, t),
    sp.Derivative(q.diff(t) ** 2 * sp.cos(q) + t * q, t),
    sp.Derivative(sp.exp(q * t), (t, 2)),
    sp.Derivative(sp.Derivative(q**3 * q.diff(t), q.diff(t)), t),
    sp.Derivative(q**3 * q.diff(t), q, t),
    sp.Derivative(x * q, x, t),
]


@pytest.mark.parametrize("expr", TIMED, ids=str)
def test_total_derivatives_follow_the_functions(expr: Any) -> None:
    names = {q: "q", p: "p"}
    numbers: dict[Any, float] = {t: 0.3, x: 0.7}
    given = {"t": 0.3, "x": 0.7}
    for function, name in names.items():
        for order, ending in enumerate(["", "_dot", "_ddot", "_dddot"]):
            given[name + ending] = float(RNG.uniform(0.4, 1.6))
            numbers[function.diff(t, order) if order else function] = given[name + ending]
    wanted = expr.doit()
    for known in sorted(numbers, key=lambda one: -sp.count_ops(one)):
        wanted = wanted.xreplace({known: sp.Float(numbers[known])})
    assert value(expr, **given) == pytest.approx(float(wanted), rel=1e-12)


def test_derivatives_with_respect_to_time_need_a_word() -> None:
    for expr in (q * t, sp.sin(q), q.diff(t) * t):
        with pytest.raises(ArgumentError, match="total derivative"):
            sd.gradient(expr, t)
    with pytest.raises(ArgumentError, match="total derivative"):
        sd.hessian(f(x, y) * x, (x, f(x, y)))
    assert str(sd.gradient(sp.sin(x) * q, x)) == "q * cos(x)"


SUBSTITUTED = [
    (sp.Subs(x**2 * y, x, y + 1), {"y": 0.4}),
    (sp.Subs(sp.Derivative(sp.sin(x) * y, x), x, y**2), {"y": 0.4}),
    (sp.Subs(x * y, (x, y), (y, x)), {"x": 0.3, "y": 0.9}),
    (sp.Subs(sp.Derivative(x**3 * y, x, y), (x, y), (z, 2)), {"z": 0.6}),
    (sp.Subs(sp.Subs(x**y, x, z + y), y, 2), {"z": 0.6}),
    (sp.Sum(sp.Derivative(x**z, x), (z, 1, 4)), {"x": 0.6}),
    (sp.Derivative(sp.Sum(x**z * y, (z, 1, 4)), x, y), {"x": 0.6, "y": 2.0}),
    (sp.Derivative(sp.Abs(x) * x, (x, 2)), {"x": -0.6}),
]


@pytest.mark.parametrize(("expr", "values"), SUBSTITUTED, ids=[str(expr) for expr, _ in SUBSTITUTED])
def test_substitutions_and_derivatives_mean_what_sympy_says(expr: Any, values: dict[str, float]) -> None:
    real = {name: sp.Symbol(name, real=True) for name in values}
    wanted = expr.doit().subs({sp.Symbol(name): symbol for name, symbol in real.items()}).doit()
    wanted = wanted.subs({real[name]: number for name, number in values.items()})
    assert value(expr, **values) == pytest.approx(float(wanted.doit()), rel=1e-12)


def test_functions_may_be_substituted() -> None:
    assert str(sd.asarray(sd.Array(from_sympy(sp.Subs(q**2, q, x))))) == "x ** 2"
    assert value(sp.Subs(sp.Derivative(q, t) * q, q, sp.sin(t)), t=0.3) == pytest.approx(np.cos(0.3) * np.sin(0.3))


def test_derivatives_by_matrices_and_entries() -> None:
    a = RNG.normal(size=(3, 3))
    det = np.linalg.det(a)
    np.testing.assert_allclose(value(sp.Derivative(sp.Determinant(A), A), A=a), det * np.linalg.inv(a).T)
    assert value(sp.Derivative(A[0, 1] ** 2 * A[1, 0], A[0, 1]), A=a) == pytest.approx(2 * a[0, 1] * a[1, 0])
    d = sp.Dummy("d")
    elementwise = A.applyfunc(sp.Lambda(d, sp.Derivative(sp.sin(d) * x, d)))
    np.testing.assert_allclose(value(elementwise, A=a, x=2.0), 2 * np.cos(a))


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (f(x + y), "different symbols"),
        (f(0), "different symbols"),
        (f(x, x), "different symbols"),
        (f(2 * x).diff(x), "different symbols"),
        (sp.Sum(f(z), (z, 0, 3)), "different symbols"),
        (sp.Subs(q, t, 0), "different symbols"),
        (f, "apply it to a symbol"),
        (implemented_function("h", lambda a: a + 1)(x), "'h' has no formula"),
        (sp.Function("c", imaginary=True)(t), "not real"),
        (sp.Function("c", commutative=False)(t), "noncommutative"),
        (sp.Derivative(x**2, (x, z)), "order z"),
        (sp.Integral(sp.exp(-(x**2)), (x, 0, y)), "quadrature"),
    ],
    ids=str,
)
def test_what_is_no_input_is_refused_by_name(expr: Any, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        from_sympy(expr)


def test_equations_of_motion_of_lagrange() -> None:
    m, length, gravity = sp.symbols("m l g")
    lagrangian = m * length**2 * q.diff(t) ** 2 / 2 + m * gravity * length * sp.cos(q)
    method = LagrangesMethod(lagrangian, [q])
    method.form_lagranges_equations()
    wanted = 2.0 * 0.25 * 0.7 + 2.0 * 9.81 * 0.5 * np.sin(0.3)
    own = sp.Derivative(sp.Derivative(lagrangian, q.diff(t)), t) - sp.Derivative(lagrangian, q)
    for equation in (sp.Matrix(method.eom), own):
        found = value(equation, q=0.3, q_ddot=0.7, m=2.0, l=0.5, g=9.81)
        assert np.ravel(found) == pytest.approx([wanted])


def test_a_pendulum_of_many_links_agrees_with_finite_differences() -> None:
    model = n_link_pendulum_on_cart(2, cart_force=True)
    states = [*model.q, *model.u]
    rates = [one.diff(t) for one in states]
    residual = model.mass_matrix_full * sp.Matrix(rates) - model.forcing_full
    columns = sd.jacobian(residual, (*rates, *states), disconnected="zero")
    kernel = sd.compile(columns, backend="interpreter")
    formula = sd.compile(residual, backend="interpreter")
    names = [one.name for one in kernel.inputs]
    assert sorted(names) == sorted(one.name for one in formula.inputs)
    point = dict(zip(names, RNG.uniform(0.5, 1.5, len(names)), strict=True))
    titles = [str(sd.Array(from_sympy(one))) for one in (*rates, *states)]
    for title, column in zip(titles, kernel(**point), strict=True):
        step = 1e-6
        if title not in point:
            np.testing.assert_array_equal(column, 0.0)
            continue
        up, down = (formula(**{**point, title: point[title] + s}) for s in (step, -step))
        np.testing.assert_allclose(column, (up - down) / (2 * step), rtol=1e-6, atol=1e-6)
