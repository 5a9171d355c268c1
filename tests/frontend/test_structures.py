"""Inputs and derivatives in dicts, lists, named tuples and dataclasses, and kernels of symbols."""

from __future__ import annotations

import pickle
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError, UnsupportedError
from symdiff.frontend.outputs import LEAF, Record, leaves, names, pack, template_of, unpack

Layer = namedtuple("Layer", "weights bias")


@dataclass
class Model:
    """Parameters of a network of one hidden layer."""

    hidden: Any
    scale: Any


LEAVES = st.integers(0, 99)
STRUCTURES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3),
        st.lists(parts, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.text("abc", min_size=1, max_size=2), parts, min_size=1, max_size=3),
        st.tuples(parts, parts).map(lambda two: Layer(*two)),
        st.tuples(parts, parts).map(lambda two: Model(*two)),
    ),
    max_leaves=8,
)


@given(STRUCTURES)
def test_a_structure_is_its_template_with_its_leaves(structure: Any) -> None:
    template = template_of(structure)
    assert pack(template, iter(leaves(structure))) == structure
    assert unpack(template, structure) == leaves(structure)
    assert len(names(template)) == len(leaves(structure))
    assert pickle.loads(pickle.dumps(template)) == template


@given(STRUCTURES)
def test_gradients_and_results_have_the_structure_of_the_variables(structure: Any) -> None:
    template = template_of(structure)
    count = len(leaves(structure))
    symbols = [sd.vector(f"x{k}", 2) for k in range(count)]
    variables = pack(template, iter(symbols))
    formula = sum((np.sum(np.sin(one) * (k + 1)) for k, one in enumerate(symbols)), sd.asarray(0.0))
    kernel = sd.compile(sd.gradient(formula, variables), [variables], backend="numpy")
    values = [np.array([0.1, 0.2]) * (k + 1) for k in range(count)]
    result = kernel(pack(template, iter(values)))
    expected = template if isinstance(template, dict | tuple | Record) or template == LEAF else tuple(template)
    assert template_of(result) == expected  # variables in a list have their derivatives in a tuple
    for k, (own, value) in enumerate(zip(leaves(result), values, strict=True)):
        np.testing.assert_allclose(own, np.cos(value) * (k + 1), rtol=1e-15)


PARAMETERS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda w, b: {"weights": w, "bias": b},
    "list": lambda w, b: [w, b],
    "nested": lambda w, b: {"layers": [{"weights": w}, (b,)]},
    "named tuple": Layer,
    "dataclass": lambda w, b: Model(Layer(w, b), {}),
}


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("kind", PARAMETERS)
def test_kernels_take_and_give_structures(kind: str, backend: str) -> None:
    w, b, x = sd.matrix("w", 3, 2), sd.vector("b", 3), sd.vector("x", 2)
    make = PARAMETERS[kind]
    loss = np.sum(np.tanh(w @ x + b) ** 2)
    kernel = sd.compile(sd.value_and_gradient(loss, make(w, b)), [make(w, b), x], backend=backend)
    flat = sd.compile(sd.value_and_gradient(loss, (w, b)), [w, b, x], backend=backend)
    rng = np.random.default_rng(1)
    for lead in ((), (5,), (4, 1)):
        values = rng.normal(size=(*lead, 3, 2)), rng.normal(size=(3,)), rng.normal(size=(*lead, 2))
        value, slope = kernel(make(*values[:2]), values[2])
        expected, slopes = flat(*values)
        np.testing.assert_array_equal(value, expected)
        for own, other in zip(leaves(slope), slopes, strict=True):
            np.testing.assert_array_equal(own, other)
    assert template_of(slope) == template_of(make(0, 0)) or kind == "list"
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(make(*values[:2]), x=values[2])[0], expected)


def test_a_function_of_parameters_takes_them_by_name() -> None:
    def loss(params: Any, x: Any) -> Any:
        return np.sum((params["w"] @ x + params["b"][0]) ** 2)

    shapes = {"params": {"w": (3, 2), "b": [(3,)]}, "x": 2}
    kernel = sd.compile(loss, shapes=shapes)
    assert kernel.signature == "(params: {w: (3, 2), b: [(3,)]}, x: (2,)) -> ()"
    w, b, x = np.arange(6.0).reshape(3, 2), np.ones(3), np.array([0.5, -1.0])
    expected = np.sum((w @ x + b) ** 2)
    assert kernel({"w": w, "b": [b]}, x) == kernel(x=x, params={"w": w, "b": [b]}) == expected
    assert kernel(params_w=w, params_b_0=b, x=x) == expected
    slope = sd.gradient(loss, "params", shapes=shapes)
    np.testing.assert_allclose(sd.compile(slope["b"][0])(w, b, x), 2 * (w @ x + b))


def test_hessians_and_products_have_the_structure_twice_and_once() -> None:
    a, b = sd.vector("a", 2), sd.scalar("b")
    wrt = {"a": a, "b": b}
    f = np.sum(a**2) * b**2
    hessian = sd.hessian(f, wrt)
    kernel = sd.compile({name: hessian[name]["b"] for name in hessian}, [wrt])
    result = kernel({"a": [1.0, 2.0], "b": 3.0})
    np.testing.assert_allclose(result["a"], [12.0, 24.0])
    np.testing.assert_allclose(result["b"], 10.0)
    product = sd.hvp(f, wrt, {"a": [1.0, 0.0], "b": 0.0})
    np.testing.assert_allclose(sd.compile(product["b"], [wrt])({"a": [1.0, 2.0], "b": 3.0}), 12.0)
    tangent = sd.jvp(f, wrt, {"b": 1.0, "a": [0.0, 0.0]})
    assert sd.compile(tangent, [wrt])({"a": [1.0, 2.0], "b": 3.0}) == 30.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: k({"w": 1.0}, 2.0), "params must be a dict of arrays with the keys w, b; got a dict with"),
        (lambda k: k([1.0, 2.0], 3.0), "params must be a dict .* got a list of 2"),
        (lambda k: k({"w": 1.0, "b": 2.0}, 1.0, 2.0), "3 arguments by position for 2; expected params, x"),
        (lambda k: k({"w": 1.0, "b": 2.0}, x=1.0, params={"w": 1.0, "b": 2.0}), "by position and by name"),
        (lambda k: k(params={"w": 1.0, "b": 2.0}, params_w=1.0, x=1.0), "params_w is given twice"),
        (lambda k: k({"w": 1.0, "b": 2.0}), "missing x"),
        (lambda k: k({"w": {"deep": 1.0}, "b": 2.0}, 1.0), "w"),
    ],
)
def test_another_structure_is_refused(call: Any, message: str) -> None:
    kernel = sd.compile(lambda params, x: params["w"] * x + params["b"], params={"w": (), "b": ()}, x=())
    with pytest.raises(sd.SymdiffError, match=message):
        call(kernel)


def test_structures_that_cannot_be_are_refused() -> None:
    with pytest.raises(ArgumentError, match="empty dict"):
        sd.compile(lambda p: p, p={})
    with pytest.raises(ArgumentError, match="one name"):
        sd.compile(lambda p, p_a: p["a"] + p_a, p={"a": ()}, p_a=())
    with pytest.raises(ArgumentError, match="no variable"):
        sd.gradient(sd.scalar("x"), {})
    with pytest.raises(ArgumentError, match="names 'x' twice"):
        sd.compile(sd.scalar("x"), [{"a": sd.scalar("x"), "b": sd.scalar("x")}])


# ---------------------------------------------------------------------------- kernels of symbols


def test_a_kernel_of_symbols_is_its_formula() -> None:
    kernel = sd.compile(lambda x, y: np.exp(x) @ y, x=3, y=3)
    u = sd.vector("u", 3)
    outer = sd.compile(sd.gradient(kernel(u * 2, [1.0, 2.0, 3.0]), u), [u])
    at = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(outer(at), 2 * np.exp(2 * at) * [1, 2, 3], rtol=1e-14)


@pytest.mark.parametrize("size", [3, "m"])
@pytest.mark.parametrize(
    "text",
    [
        "x[1:] * y[:-1]",
        "concatenate([x, y[::-1]])",
        "outer(x, y) + eye(n)",
        "cumsum(x) * mean(y) / n",
        "sum(reshape(x, (1, n)) * reshape(y, (n, 1)), axis=0)",
        "gradient(sum(x**2 * y[0]), x)",
        "softmax(x) - max(y)",
        "jacobian(x * y, y) @ x",
        "solve(outer(x, x) + eye(n), y)",
        "tril(outer(x, y))",
    ],
)
def test_letters_for_sizes_become_those_of_the_arguments(text: str, size: Any) -> None:
    shapes = {"x": "n", "y": "n"}
    kernel = sd.compile(text, shapes=shapes, backend="numpy")
    u, v = sd.vector("u", size), sd.vector("v", size)
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 3))
    composed = sd.compile(kernel(u * v, np.sin(v)), [u, v], backend="numpy")
    np.testing.assert_allclose(composed(a, b), kernel(a * b, np.sin(b)), rtol=1e-13, atol=1e-15)


def test_a_kernel_keeps_its_structure_when_it_is_composed() -> None:
    x = sd.vector("x", 2)
    kernel = sd.compile({"f": x @ x, "parts": [np.sin(x), x]}, [{"x": x}])
    z = sd.scalar("z")
    result = kernel({"x": [z, z * z]})
    assert set(result) == {"f", "parts"}
    assert result["f"].shape == ()
    np.testing.assert_allclose(sd.compile(result["f"])(3.0), 9.0 + 81.0)


def test_symbols_of_other_shapes_are_refused() -> None:
    kernel = sd.compile("x @ A", x="n", A=("n", "n"))
    with pytest.raises(ShapeError, match=r"x has shape \(\); expected \(n,\)"):
        kernel(sd.scalar("s"), sd.matrix("B", 2, 2))
    with pytest.raises(ShapeError, match=r"A has shape \(2, 3\); expected \(2, 2\)|A has shape \(2, 3\)"):
        kernel(sd.vector("v", 2), sd.matrix("B", 2, 3))
    with pytest.raises(ArgumentError, match="out= in a call with symbols"):
        kernel(sd.vector("v", 2), np.ones((2, 2)), out=np.ones(2))
    twice = sd.custom(lambda v: 2 * v, vjp=lambda args, seed: (2 * seed,))
    own = sd.compile(twice(sd.vector("x", "n")))
    with pytest.raises(UnsupportedError, match="custom function"):
        own(sd.vector("v", 2))
