"""Each function of the table keeps its numbers through SymPy: out and back in, in digits, in text and in LaTeX."""

from __future__ import annotations

import pickle
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff.frontend.sympy import Inputs, from_sympy, to_sympy
from symdiff.frontend.sympy.functions import OwnFunction, own_function
from symdiff.frontend.sympy.write_terms import SCALARS
from symdiff.graph import Node, constant, inputs_of
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.reference.many_digits import digits_of
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply

EXTREME = (-1e6, -800.0, -40.0, -1e-9, 0.0, 1e-9, 0.5 + 1e-11, 40.0, 800.0, 1e6)
ROWS = [name for name in FUNCTIONS if name in SCALARS and FUNCTIONS[name].gives != "bool"]
OWN = [
    name for name in ROWS if isinstance(SCALARS[name](*map(sp.Symbol, "abcd"[: FUNCTIONS[name].arity])), OwnFunction)
]
#: Composed of others that lose nothing where those do not: SymPy's own forms, which people know.
ROUNDED = {
    **dict.fromkeys(("j0", "j1", "y0", "y1"), 1e-9),
    "sinc": 1e-6,
    "spence": 1e-9,
    "log2": 1e-12,
    "log10": 1e-12,
    "cbrt": 1e-12,
    "floor_divide": 1e-12,
}


def _draws(name: str) -> list[list[float]]:
    """Return ordinary arguments at random, and those with one of them extreme."""
    rng, row = np.random.default_rng(sum(map(ord, name))), FUNCTIONS[name]
    ordinary = [[rng.uniform(*interval) for interval in row.domain] for _ in range(8)]
    first = 1 if row.orders or name in ("polygamma", "spherical_jn", "expn") else 0
    extreme = [[*ordinary[0]] for _ in range((row.arity - first) * len(EXTREME))]
    for place, args in enumerate(extreme):
        args[first + place % (row.arity - first)] = EXTREME[place // (row.arity - first)]
    return ordinary + extreme


def _node(name: str, order: float | None) -> Node:
    row = FUNCTIONS[name]
    letters: list[Any] = [variable(letter) for letter in "abcd"[: row.arity]]
    return apply(name, *(letters if order is None else [constant(order), *letters[1:]]))


def _at(node: Node, args: list[float]) -> float:
    values = dict(zip("abcd", args, strict=False))
    with np.errstate(all="ignore"):
        return float(evaluate([node], {one.name: values[str(one.name)] for one in inputs_of([node])})[0])


@pytest.mark.parametrize("name", ROWS)
def test_out_to_sympy_and_back_the_numbers_are_the_same(name: str) -> None:
    row, draws = FUNCTIONS[name], _draws(name)
    node = _node(name, draws[0][0] if row.orders else None)
    written = to_sympy(node)
    back = from_sympy(written)
    if name in OWN:
        assert back is node
    for args in draws:
        wanted = _at(node, args)
        if np.isfinite(wanted):
            np.testing.assert_allclose(_at(back, args), wanted, rtol=ROUNDED.get(name, 1e-11), err_msg=f"{name}{args}")


@pytest.mark.parametrize("name", OWN)
def test_text_and_symbols_give_sympy_that_compiles_to_the_same(name: str) -> None:
    row = FUNCTIONS[name]
    args = _draws(name)[0]
    letters = [f"{args[0]:g}", *"bcd"][: row.arity] if row.orders else list("abcd")[: row.arity]
    text = f"{name}({', '.join(letters)})"
    try:
        parsed = sd.parse(text)
    except sd.SymdiffError:
        pytest.skip("a derivative, for which text has no name")
    assert isinstance(parsed, OwnFunction)
    assert str(parsed) == text
    node = _node(name, args[0] if row.orders else None)
    assert from_sympy(parsed) is node
    assert sd.Array(node).sympy == parsed
    assert from_sympy(sd.parse(str(parsed))) is node
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    assert r"\operatorname{" + name.replace("_", r"\_") + "}" in sp.latex(parsed)


@pytest.mark.parametrize("name", OWN)
def test_digits_are_as_many_as_asked_for_and_those_of_the_kernel(name: str) -> None:
    row = FUNCTIONS[name]
    for args in _draws(name)[:3]:
        exact = [sp.Integer(round(args[0])) if row.orders and not i else sp.Rational(x) for i, x in enumerate(args)]
        applied = own_function(name)(*exact, evaluate=False)
        found, more = applied.evalf(20), applied.evalf(45)
        assert found.is_Float
        if "_by_" not in name:  # differences of a function, in more digits the more are asked for
            assert abs(more - found) <= abs(more) * 1e-19
        node = _node(name, args[0] if row.orders else None)
        np.testing.assert_allclose(float(found), _at(node, args), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize(
    "name", ["i0e", "k0e", "erfcx", "softplus", "log_ndtr", "xlogy", "logaddexp", "logit", "hypot"]
)
def test_lambdify_computes_in_mpmath_and_numpy(name: str) -> None:
    letters = sp.symbols("a b")[: FUNCTIONS[name].arity]
    args = [0.3, 0.7][: len(letters)]
    call = sp.lambdify(letters, own_function(name)(*letters), modules="mpmath")
    with mp.workdps(50):
        exact = digits_of(name, lambda _: [mp.mpf(x) for x in args], mp.mp.prec)
        assert mp.almosteq(call(*args), exact, rel_eps=mp.mpf(10) ** -48)
    several = sp.lambdify(letters, own_function(name)(*letters))(*[np.full(3, x) for x in args])
    np.testing.assert_allclose(several, float(exact), rtol=1e-13)


@pytest.mark.parametrize("name", OWN)
def test_derivatives_by_sympy_are_those_of_the_row(name: str) -> None:
    row, args = FUNCTIONS[name], _draws(name)[0]
    registry = Inputs()
    node = _node(name, args[0] if row.orders else None)
    written = to_sympy(node, registry)
    for place, rule in enumerate(row.partials):
        if isinstance(rule, Partial):
            continue
        letter = "abcd"[place]
        slope = from_sympy(written.diff(sp.Symbol(letter)))
        own = sd.gradient(sd.Array(node), sd.Array(variable(letter)))
        np.testing.assert_allclose(_at(slope, args), _at(own.node, args), rtol=1e-9, atol=1e-14)


def test_what_no_double_holds_is_exact_by_many_digits() -> None:
    # log(1 - q) = -q - q**2 / 2 - ..., with q = erfc(40 / sqrt(2)) / 2
    found = own_function("log_ndtr")(sp.Integer(40)).evalf(20)
    with mp.workdps(30):
        assert mp.almosteq(mp.mpf(str(found)), -mp.erfc(40 / mp.sqrt(2)) / 2, rel_eps=1e-18)
    # log(exp(a) + exp(b)) beside 0, where all digits but the last are lost
    a, b = sp.log(sp.Rational(1, 3)), sp.log(sp.Rational(2, 3) + sp.Rational(1, 10**40))
    assert abs(own_function("logaddexp")(a, b).evalf(20) * 10**40 - 1) < 1e-15


@pytest.mark.parametrize(
    "text", ["log(i0e(x))", "k0e(x)", "log(k1e(x)) + x", "log_sigmoid(-x)", "erfcx(x) * x", "softplus(x)"]
)
def test_stable_functions_within_formulas(text: str) -> None:
    for point in (3.0, 750.0, 1000.0):
        wanted = sd.compile(text)(point)
        assert np.isfinite(wanted)
        for other in (sd.parse(text), sd.compile(text).sympy, str(sd.parse(text))):
            np.testing.assert_allclose(sd.compile(other)(point), wanted, rtol=1e-13)


@pytest.mark.parametrize(
    "text", ["softmax({})", "logsumexp({})", "log_softmax({})", "log(sum(exp({})))", "softmax({}) @ y"]
)
@pytest.mark.parametrize("argument", ["x", "A @ x", "x * y", "M[0]"])
@pytest.mark.rows(6)
def test_stable_functions_of_arrays(text: str, argument: str) -> None:
    """SymPy writes their sums as products with matrices of ones."""
    shapes = {"x": (3,), "y": (3,), "A": (3, 3), "M": (2, 3)}
    formula = text.format(argument)
    shapes = {name: shape for name, shape in shapes.items() if name in formula.replace("exp", "").replace("max", "")}
    rng = np.random.default_rng(7)
    for scale in (1.0, 40.0, 900.0):
        numbers = {name: scale * rng.normal(size=shape) for name, shape in shapes.items()}
        wanted = np.asarray(sd.compile(formula, shapes=shapes)(inputs=numbers))
        assert np.isfinite(wanted).all()
        kernel = sd.compile(sd.parse(formula, shapes=shapes))
        found = np.asarray(kernel(*[np.reshape(numbers[one.name], one.shape) for one in kernel.inputs]))
        lost = 1e-15 * np.abs(wanted).max() if "log_" in text else 1e-300  # x - logsumexp(x) is near 0 for the largest
        np.testing.assert_allclose(found.ravel(), wanted.ravel(), rtol=1e-12, atol=lost)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_along_an_axis_of_a_matrix(axis: int) -> None:
    M = np.random.default_rng(axis).normal(size=(2, 3)) * 900
    wanted = sd.compile(f"softmax(M, axis={axis})", M=(2, 3))(M)
    np.testing.assert_allclose(sd.compile(sd.parse(f"softmax(M, axis={axis})", M=(2, 3)))(M), wanted, rtol=1e-12)
