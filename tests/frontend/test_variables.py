"""Options and variables that a formula does not have, and variables that are another symbol than its input."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import ArgumentError

#: Functions of a formula and a variable.
OF_VARIABLES = ["gradient", "jacobian", "hessian", "derivative", "steps", "linear_operator", "objective", "check"]
SIZES = st.lists(st.sampled_from([1, 2, 3, "n", "m"]), max_size=2).map(tuple)
X = sd.vector("x", 3)


def options(name: str) -> list[str]:
    """Return the keywords of a function of the package that are no shapes."""
    return [p.name for p in signature(getattr(sd, name)).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]


@pytest.mark.parametrize("name", [*OF_VARIABLES, "value_and_gradient", "compile"])
@pytest.mark.parametrize(
    ("formula", "variable", "said"),
    [
        (sd.sum(X * X), X, "; symbols carry their own shapes"),
        (sympy.Symbol("x") ** 2, sympy.Symbol("x"), "; SymPy expressions carry their own shapes"),
        (lambda: "x**2", "x", ". As a shape: .*0.001 for a size"),
    ],
)
def test_an_unknown_option_is_told_with_all_that_exist(name: str, formula: Any, variable: Any, said: str) -> None:
    text = callable(formula) and not isinstance(formula, sd.Array | sympy.Expr)
    shapes = {"x": ()} if text else {}
    with pytest.raises(ArgumentError, match=f"tolerance= is no option.*inputs: x{said}") as caught:
        getattr(sd, name)(formula() if text else formula, variable, tolerance=1e-3, **shapes)
    listed = str(caught.value).partition("options: ")[2].partition(";")[0].split(", ")
    assert set(options(name)) <= set(listed)


@pytest.mark.rows(1000)
@pytest.mark.parametrize("name", ["gradient", "value_and_gradient", "hessian", "derivative", "jvp", "vjp", "hvp"])
def test_variables_come_by_place_or_as_wrt(name: str) -> None:
    """Of each front end, an input that is called wrt beside them, and a symbol of SymPy beside text."""
    function, more = getattr(sd, name), {"jvp": (2.0,), "vjp": (3.0,), "hvp": (4.0,)}.get(name, ())
    by_name = dict(zip({"jvp": ["tangent"], "vjp": ["seed"], "hvp": ["vector"]}.get(name, []), more, strict=True))
    own, s = sympy.Symbol("x"), sd.scalar("x")
    expected = str(function("x**3", "x", *more))
    for formula, variable in [("x**3", "x"), ("x**3", own), (own**3, own), (own**3, "x"), (s**3, s)]:
        assert str(function(formula, wrt=variable, **by_name)) == expected
        assert str(function(formula, variable, *more)) == expected
    assert str(function("wrt**3", "wrt", *more, wrt=())) == expected.replace("x", "wrt")
    with pytest.raises(ArgumentError, match="lacks an argument: 'wrt'"):
        function("x**3")


def test_an_unknown_option_beside_a_function() -> None:
    with pytest.raises(ArgumentError, match=r"no parameter 'bach', and bach= is no option \(close: batch.*inputs: p"):
        sd.compile(lambda p: 2 * p, p=3, bach=["p"])


def test_a_shape_of_a_symbol_is_refused_as_such() -> None:
    with pytest.raises(ArgumentError, match=r"a shape for 'x', which has \(3,\).*leave x= out"):
        sd.compile(sd.sum(X), x="n")


@pytest.mark.parametrize("name", OF_VARIABLES)
@given(own=SIZES, other=SIZES)
def test_a_variable_of_another_shape_is_refused(name: str, own: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    if own == other:
        return
    formula, given_one = sd.sum(sd.symbol("x", own) ** 2), sd.symbol("x", other)
    for f in (formula, "sum(x**2)"):
        shapes = {"x": own} if isinstance(f, str) else {}
        with pytest.raises(ArgumentError, match=r"the variable 'x' has shape .*expected the same symbol"):
            getattr(sd, name)(f, given_one, **shapes)
    sd.gradient(formula, "x")  # as the message says


@pytest.mark.parametrize("name", OF_VARIABLES)
def test_a_variable_declared_otherwise_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match=r"is declared positive.*that name nothing"):
        getattr(sd, name)(sd.sum(X * X), sd.symbol("x", (3,), positive=True))


@pytest.mark.parametrize("name", OF_VARIABLES)
@pytest.mark.parametrize("shapes", [{}, {"a": (), "b": ()}])
@pytest.mark.parametrize("wrt", [lambda: "y", lambda: ("a", "y")])
def test_a_name_that_is_no_input_is_told_with_those_that_are(
    name: str, shapes: dict[str, Any], wrt: Callable[[], Any]
) -> None:
    with pytest.raises(ArgumentError, match=r"'y' is no input of the formula.*one of its inputs: a, b"):
        getattr(sd, name)("sin(a) * b", wrt(), **shapes)


def test_definitions_and_letters_stay_variables() -> None:
    assert str(sd.gradient("h = 2*a\nh**2", "h")).endswith("2 * h")
    with pytest.raises(ArgumentError, match=r"'alph' is no input.*close: alpha"):
        sd.gradient("alpha**2", "alph")
    with pytest.raises(sd.ParseError, match=r"'z' is not known here"):
        sd.gradient("a**2", "a * z")


@pytest.mark.parametrize("name", ["e", "pi"])
@pytest.mark.parametrize("of", OF_VARIABLES)
def test_a_constant_is_an_input_where_it_has_a_shape(name: str, of: str) -> None:
    """Without one it is a number, and no variable, though a number may be taken for a part of the formula."""
    with pytest.raises(ArgumentError, match=rf"'{name}' is a number here.*a shape: e=\(\)"):
        getattr(sd, of)(f"{name} * x", name)
    getattr(sd, of)(f"{name} * x", name, shapes={name: (), "x": ()})
    kernel = sd.compile(sd.gradient(f"{name}**2 * x", name, shapes={name: (), "x": ()}))
    assert kernel(3.0, 5.0) == 30


@pytest.mark.parametrize("name", OF_VARIABLES)
def test_inputs_of_a_kernel_are_variables(name: str) -> None:
    kernel = sd.compile("sum(sin(A @ x))", A=(3, 3), x=3)
    matrix, vector = kernel.inputs
    function = getattr(sd, name)
    assert str(function(kernel, vector)) == str(function(kernel, "x"))
    if name in ("derivative", "linear_operator"):
        with pytest.raises(ArgumentError, match="expected one"):
            function(kernel, [vector, matrix])
    else:
        assert str(function(kernel, [vector, matrix])) == str(function(kernel, ["x", "A"]))


def test_inputs_of_a_kernel_are_inputs_and_batches_of_another() -> None:
    kernel = sd.compile("a * sin(b)")
    again = sd.compile(sd.gradient(kernel, "b"), kernel.inputs, batch=kernel.inputs[1])
    assert again.signature == "(a: (), b: ()) -> ()"
    np.testing.assert_allclose(again(2.0, np.arange(3.0)), 2 * np.cos(np.arange(3.0)))
