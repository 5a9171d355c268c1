"""The doors: several texts, one order of inputs, and shapes that nothing mentions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array, Kernel
from symdiff.errors import ArgumentError, ParseError, ShapeError, SymdiffError
from symdiff.frontend.outputs import leaves


def inputs(kernel: Kernel) -> str:
    return " ".join(port.name for port in kernel.inputs)


def compiled(formula: Any, *args: Any, **named: Any) -> Kernel:
    kernel: sd.Kernel = sd.compile(formula, *args, backend="interpreter", **named)
    return kernel


# ---------------------------------------------------------------------------- several results

X, A = np.array([0.5, -1.25]), np.array([[2.0, 1.0], [0.5, 3.0]])
VALUE, SLOPE, BEND = X @ A @ X, (A + A.T) @ X, A + A.T
F, G, H = "x @ A @ x", "gradient(x @ A @ x, x)", "hessian(x @ A @ x, x)"
STRUCTURES: list[tuple[Any, Any]] = [
    ([F, G, H], [VALUE, SLOPE, BEND]),
    ((F, G), (VALUE, SLOPE)),
    ({"f": F, "slope": G, "bend": H}, {"f": VALUE, "slope": SLOPE, "bend": BEND}),
    ({"both": [F, {"bend": H}], "slope": (G,)}, {"both": [VALUE, {"bend": BEND}], "slope": (SLOPE,)}),
    (f"{F}, {G}, {H}", (VALUE, SLOPE, BEND)),
    (f"({F}, {G},)", (VALUE, SLOPE)),
    (f"[{F}, {G}, {H}]", [VALUE, SLOPE, BEND]),
    (f"f = {F}\nf, gradient(f, x)", (VALUE, SLOPE)),
    (f"f = {F}\n[f, gradient(f, x), hessian(f, x)]", [VALUE, SLOPE, BEND]),
    (f"f = {F}\n[f, (gradient(f, x), [hessian(f, x), 2])],", ([VALUE, (SLOPE, [BEND, 2.0])],)),
    (f"f = {F}\ngradient(f, (x, A)), f", ((SLOPE, np.outer(X, X)), VALUE)),
    (f"f = {F}\n[hessian(f, (x,)), f]", [((BEND,),), VALUE]),
    ([f"f = {F}\nf, gradient(f, x)", f"f = {F} * 2\nf"], [(VALUE, SLOPE), 2 * VALUE]),
    (f"[{F}, 2 * ({F})]", np.array([VALUE, 2 * VALUE])),  # of one shape: an array
    (f"[{G}, {G}], {F}", (np.array([SLOPE, SLOPE]), VALUE)),
    (f"{F},", (VALUE,)),
    (f"{F}, [[1, 2], [3, 4]]", (VALUE, np.array([[1.0, 2.0], [3.0, 4.0]]))),
]


@pytest.mark.parametrize(("formula", "expected"), STRUCTURES, ids=[str(row[0])[:60] for row in STRUCTURES])
def test_several_results_are_one_kernel(formula: Any, expected: Any) -> None:
    kernel = compiled(formula, A=(2, 2), x=2)
    assert inputs(kernel) == "A x"
    found = kernel(A, X)
    batch = kernel(A, np.stack([X, 2 * X, X]))
    assert _shape_of(found) == _shape_of(batch) == _shape_of(expected)
    for got, many, wanted in zip(leaves(found), leaves(batch), leaves(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
        np.testing.assert_array_equal(many[2] if many.ndim > np.ndim(wanted) else many, got)
    assert pickle.loads(pickle.dumps(kernel)).signature == kernel.signature


def _shape_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape_of(part) for key, part in value.items()}
    return type(value)(map(_shape_of, value)) if isinstance(value, list | tuple) else "array"


def test_a_name_is_the_same_input_in_several_texts() -> None:
    kernel = compiled(["b * a", "c - a", "a"])
    assert inputs(kernel) == "b a c"
    assert kernel(2.0, 3.0, 4.0) == [6.0, 1.0, 3.0]
    assert sd.compile(["v[0]", "sum(v)"], v="n", backend="numpy")([1.0, 2.0]) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("formula", "error", "words"),
    [
        (["rate", sd.scalar("rates")], ParseError, "'rate' is not known here"),
        (["h = x * 2\nh", "h + 1"], ArgumentError, "'h' is defined in one text and an input of another"),
        (["h + 1", "h = x * 2\nh"], ParseError, "'h' is an input"),
        ([], ArgumentError, "no outputs"),
        ({"f": "x +"}, ParseError, "end of the line"),
        ("f = x, x\nf", ParseError, "one formula"),
        ("x, x * (1, 2)", ParseError, "a tuple"),
        ("x, ()", ParseError, "empty tuple"),
        ("[x, [1, 2]] * 2", ShapeError, "differ in shape"),
        ("x, [[1], [2, 3]]", ShapeError, "differ in length"),
    ],
)
def test_what_is_no_structure_of_texts(formula: Any, error: type[SymdiffError], words: str) -> None:
    with pytest.raises(error, match=words):
        sd.compile(formula)


def test_texts_stand_beside_symbols() -> None:
    text = "r = x / c\nsum(exp(r)) * c"
    shapes: dict[str, Any] = {"x": ("n",), "c": ()}
    for formula in ([text, sd.gradient(text, "x", **shapes)], [sd.gradient(text, "x", **shapes), text]):
        k = sd.compile(formula, reduce="sum")
        assert k.signature.startswith("(x: (n,), c: ()) -> ")
        found = sorted(k([[1.0, 2.0], [0.0, 1.0]], 2.0), key=np.size)
        e = np.exp([[0.5, 1.0], [0.0, 0.5]])
        np.testing.assert_allclose(found[0], 2 * e.sum(), rtol=1e-14)
        np.testing.assert_allclose(found[1], e.sum(axis=0), rtol=1e-14)
    x = sd.vector("x", 3)
    assert sd.compile({"f": "x @ y", "g": x * 2}, y=3).signature == "(y: (3,), x: (3,)) -> {f: (), g: (3,)}"
    assert inputs(sd.compile([x * 2, "x @ x"], [x])) == "x"
    with pytest.raises(ShapeError, match="No shape came for y, a number therefore; give shapes, as in y=3"):
        sd.compile(["x @ y", x * 2])
    with pytest.raises(ArgumentError, match="symbols carry their own shapes"):
        sd.compile(["x @ x", x * 2], x=4)


@given(
    given=st.dictionaries(st.sampled_from("abc"), st.sampled_from([(), 2, (2, 2), "n"]), min_size=1),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=20)
def test_shapes_that_agree_are_taken_beside_symbols(given: dict[str, Any], order: Any) -> None:
    text = " + ".join(f"sum({name}**2)" for name in given)
    wrt = order.choice(sorted(given))
    names = order.sample(sorted(given), len(given))
    again: dict[str, Any] = {name: given[name] for name in names}
    k = sd.compile({"v": text, "g": sd.gradient(text, wrt, **given)}, **again)
    assert inputs(k) == " ".join(names)
    numbers = [3.0 * np.ones({"n": 2}.get(given[n], given[n])) for n in names]
    found = k(*numbers)
    assert found["v"] == sum((one**2).sum() for one in numbers)
    np.testing.assert_array_equal(found["g"], 6.0 * np.ones_like(numbers[names.index(wrt)]))


def test_sympy_stands_beside_texts() -> None:
    shapes: dict[str, Any] = {"x": 3, "A": (3, 3), "b": ()}
    k = sd.compile([sd.parse("sum(A @ x) * b", **shapes), "x @ A @ x * b"], **shapes)
    assert k.signature == "(x: (3,), A: (3, 3), b: ()) -> [(), ()]"
    A = np.arange(9.0).reshape(3, 3)
    assert k([1.0, 2.0, 3.0], A, 2.0) == [2 * (A @ [1, 2, 3]).sum(), 2 * (np.array([1, 2, 3]) @ A @ [1, 2, 3])]
    assert sd.compile([sd.parse("sum(x)", x="n"), "x @ x"], x="n")([1.0, 3.0]) == [4.0, 10.0]
    assert sd.compile(["x * x", sympy.Symbol("x")])(3.0) == [9.0, 3.0]
    with pytest.raises(ArgumentError, match=r"a shape for 'A', which has \(3, 3\)"):
        sd.compile([sd.parse("sum(A)", A=(3, 3)), "sum(A)"], A=(2, 2))


def test_arrays_of_sympy_objects_are_formulas() -> None:
    a, b, c = sympy.symbols("a b c")
    matrix = sympy.Matrix([[a, b], [b, c]])
    k = sd.compile({"m": np.asarray(matrix) + 2 * np.eye(2), "f": a * b}, [c, b, a])
    np.testing.assert_array_equal(k(3.0, 2.0, 1.0)["m"], [[3, 2], [2, 5]])
    assert str(sd.gradient(a * b * c, np.array([a, b]))) == "[b * c, a * c]"
    assert sd.compile([np.asarray(matrix)[0], "a * 2"]).signature == "(a: (), b: ()) -> [(2,), ()]"


def test_matrices_of_sympy_are_arguments_in_lists() -> None:
    a, b, c = sympy.symbols("a b c")
    for order in ([sympy.Matrix([a, b]), sympy.Matrix([c])], [[a, b], [c]], [np.array([a, b]), [c]]):
        k = sd.compile(a - b * c, order)
        assert k.signature == "([(), ()], [()]) -> ()"
        assert k([1.0, 2.0], [3.0]) == k(np.array([1.0, 2.0]), np.array([3.0])) == -5.0
    assert sd.compile(a - b * c, np.array([c, b, a])).signature == "(c: (), b: (), a: ()) -> ()"


NATURAL = ["beta", "gamma", "zeta", "psi", "k0", "y0", "std", "var", "mod", "angle", "max", "norm", "index", "theta"]


@given(names=st.lists(st.sampled_from(NATURAL), min_size=2, max_size=4, unique=True), size=st.sampled_from([None, 3]))
@settings(max_examples=20)
def test_names_of_functions_are_inputs_without_arguments(names: list[str], size: int | None) -> None:
    shapes: dict[str, Any] = {} if size is None else {names[0]: size}
    k = sd.compile(" * ".join(names), **shapes)
    assert inputs(k) == " ".join(names)
    assert k.signature == f"({', '.join(f'{n}: ({shapes[n]},)' if n in shapes else f'{n}: ()' for n in names)}) -> " + (
        "()" if size is None else "(3,)"
    )


@pytest.mark.parametrize("name", ["f", "wrt", "formula", "x", "inputs_", "fun", "self", "args", "text"])
def test_an_input_may_be_called_like_a_parameter(name: str) -> None:
    shape: dict[str, Any] = {name: 3}
    text = f"sum({name}**2)"
    assert str(sd.gradient(text, name, **shape)) == f"2 * {name}"
    assert str(sd.value_and_gradient(text, name, **shape)[1]) == f"2 * {name}"
    assert str(sd.hessian(text, name, **shape)) == "2 * eye(3)"
    assert sd.compile(text, **shape)([1, 2, 3]) == 14
    assert sd.steps(text, name, **shape)
    assert sd.check(text, **shape) if name != "wrt" else True
    assert sd.objective(text, name, **shape).fun([1.0, 2.0, 3.0]) == 14


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("X @ b", {"X": ("n", "p"), "b": 4}),
        ("x + y", {"x": "n", "y": 4}),
        ("A @ A", {"A": ("n", "m")}),
        ("vecmat(x, A)", {"x": "n", "A": (4, 4)}),
    ],
)
def test_letters_that_do_not_fit_are_told_of(text: str, shapes: dict[str, Any]) -> None:
    with pytest.raises(ShapeError, match=r"a letter stands for any size: where \w and \w are one size"):
        sd.compile(text, shapes=shapes)
    with pytest.raises(ShapeError) as refused:
        sd.compile("x + y", x=3, y=4)
    assert "letter" not in str(refused.value)


def test_a_derivative_is_of_one_formula() -> None:
    for several in ("x, x**2", ["x", "x**2"], "[x, gradient(x**2, (x,))]"):
        with pytest.raises(ArgumentError, match="gradient of several formulas"):
            sd.gradient(several, "x")
    assert str(sd.parse("x, gradient(x**2, (x,))")) == "(x, (2*x,))"
    assert [str(one) for one in sd.gradient("x * y**2", "x, y")] == ["y ** 2", "2 * y * x"]


# ---------------------------------------------------------------------------- one order of inputs


def test_the_order_of_shapes_is_remembered() -> None:
    for f in ("sum(z * x) + sum(y)", lambda x, y, z: (z * x).sum() + y.sum()):
        shapes: dict[str, Any] = {"y": 3, "z": 3, "x": 3}
        made = {
            "value": f,
            "gradient": sd.gradient(f, "x", **shapes),
            "multiple": 2 * sd.gradient(f, "x", **shapes)[0],
            "hessian": sd.hessian(f, "x", **shapes),
            "hvp": sd.hvp(f, "x", [1.0, 2.0, 3.0], **shapes),
            "third": sd.derivative(f, "x", 3, **shapes),
        }
        for name, formula in made.items():
            assert inputs(compiled(formula, **(shapes if formula is f else {}))) == "y z x", name
    assert inputs(compiled(sd.gradient("x * y", "x", shapes={"y": (), "x": ()}))) == "y x"
    assert inputs(compiled("gradient(x @ y, x)", y=3, x=3)) == "y x"


def test_a_seed_stands_behind_the_inputs_of_its_formula() -> None:
    x, y, v, t = sd.vector("x", 3), sd.vector("y", 3), sd.vector("v", 3), sd.scalar("t")
    f = np.sum(y * x * x)
    for order, formula in (
        ("y x", sd.hessian(f, x)),
        ("y x v", sd.hvp(f, x, v)),
        ("y x t v", sd.jvp(np.sum(y * x), x, t * v)),
        ("y x v t", sd.vjp(y * x, x, v * t)),
        ("x v", sd.jvp(x, x, v)),
        ("y x", sd.jvp(y * x, x, y)),
    ):
        assert inputs(compiled(formula)) == order
    assert inputs(compiled(sd.hvp("y @ (x * x)", "x", "v", y=3, x=3, v=3))) == "y x v"
    assert inputs(compiled(sd.hvp("y @ (x * x)", "x", "v", v=3, x=3, y=3))) == "v x y"  # as the shapes
    a, b, c = sympy.symbols("a b c")
    assert inputs(compiled(sd.hvp(b * sympy.exp(a), a, c))) == inputs(compiled(b * sympy.exp(a))) + " c"


def test_inputs_that_vanished_may_be_left_out_and_moved() -> None:
    x, y, z = map(sd.scalar, "xyz")
    slope = sd.gradient(x * y + z, x)
    assert compiled(slope)(1.0, 2.0, 3.0) == 2.0
    assert inputs(compiled(slope, [y])) == "y"
    assert inputs(compiled(slope, [z, y])) == "z y"
    assert inputs(compiled(sd.gradient("x * y", "x", y=(), x=()), ["y"])) == "y"
    assert inputs(compiled("gradient(x * y, x)", ["y"])) == "y"
    with pytest.raises(ArgumentError, match="depends on y, which inputs= lacks"):
        compiled(slope, [x])
    assert inputs(compiled([slope * z, sd.gradient(y * z, z)])) == "x y z"
    a, b = sympy.symbols("a b")
    assert inputs(compiled(sd.gradient(a * b, a))) == "a b"
    assert sd.check(slope).ok


#: A formula grows from its inputs by these, written as text and called on symbols.
GROWTH: list[tuple[str, Callable[..., Any]]] = [
    ("({} + {})", lambda a, b: a + b),
    ("({} * {})", lambda a, b: a * b),
    ("({} / (2 + {}**2))", lambda a, b: a / (2 + b**2)),
    ("where({} > {}, 1, 2)", lambda a, b: np.where(a > b, 1.0, 2.0)),
    ("where({} <= 0.1, 3, {})", lambda a, b: np.where(a <= 0.1, 3.0, b)),
    ("select([{} > 0], [1], {})", lambda a, b: np.select([a > 0], [1.0], b)),
    ("maximum({}, sin({}))", lambda a, b: np.maximum(a, np.sin(b))),
    ("copysign({}, {})", np.copysign),
    ("sum(outer([{}, 1], [2, {}])[::-1])", lambda a, b: np.outer(np.stack([a, 1.0]), np.stack([2.0, b]))[::-1].sum()),
    ("polyval([1, {}], {})", lambda a, b: np.polyval(sd.asarray([1.0, a]), b)),
]
NAMES = ("p", "q", "r", "s", "t")


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(GROWTH) - 1), st.sampled_from(NAMES), st.booleans()), min_size=1, max_size=6),
    st.sampled_from(NAMES),
    st.permutations(NAMES),
)
def test_one_formula_has_one_signature(steps: list[tuple[int, str, bool]], first: str, order: list[str]) -> None:
    """Text, symbols and functions, with shapes and without, and all derivatives take the same arguments."""
    symbols: dict[str, Array] = {name: sd.scalar(name) for name in NAMES}
    seen = [first]
    text = first

    def grown(inputs: dict[str, Array]) -> Any:
        f: Any = inputs[first]
        for number, name, before in steps:
            f = GROWTH[number][1](inputs[name], f) if before else GROWTH[number][1](f, inputs[name])
        return f

    for number, name, before in steps:
        text = GROWTH[number][0].format(*((name, text) if before else (text, name)))
        seen = [name, *[one for one in seen if one != name]] if before else list(dict.fromkeys([*seen, name]))
    shapes = {name: () for name in order if name in seen}
    by = seen[-1]
    written = grown(symbols)
    for formula in (text, written, sd.gradient(text, by, disconnected="zero")):
        assert inputs(compiled(formula)) == " ".join(seen)
    for derive in (sd.gradient, sd.hessian):
        assert inputs(compiled(derive(written, symbols[by], disconnected="zero"))) == " ".join(seen)
    for derive in (sd.gradient, sd.hessian):
        assert inputs(compiled(derive(text, by, shapes=shapes, disconnected="zero"))) == " ".join(shapes)
    assert inputs(compiled(text, shapes=shapes)) == " ".join(shapes)
    slope = sd.gradient(written, symbols[by], disconnected="zero")
    at = {name: 0.3 + 0.2 * place for place, name in enumerate(seen)}
    np.testing.assert_array_equal(compiled([text])(inputs=at)[0], compiled(written)(inputs=at))
    found = compiled(sd.gradient(text, by, disconnected="zero"))(inputs=at)
    np.testing.assert_array_equal(found, compiled(slope)(inputs=at))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_sympy_has_one_order_for_a_formula_and_its_derivatives(numbers: list[int], random: Any) -> None:
    names = random.sample("abcd", 4)
    a, b, c, d = sympy.symbols(names)
    choice = sympy.Piecewise((d, sympy.Or(a > b, c > 0)), (b, True))
    parts = [a * b, sympy.Max(b, c), choice, d / c, b**2, sympy.sin(c - a), d]
    f = sympy.prod([parts[number] for number in numbers]) + a
    kernel = compiled(f)
    assert {port.name for port in kernel.inputs} == {str(symbol) for symbol in f.free_symbols}
    for made in (sd.gradient(f, a), sd.hessian(f, a), 3 * sd.gradient(f, a), [f, sd.hessian(f, a)]):
        assert inputs(compiled(made)) == inputs(kernel)
    wanted = sorted(f.free_symbols, key=str)
    assert inputs(compiled(f, wanted)) == " ".join(map(str, wanted))


# ---------------------------------------------------------------------------- shapes that nothing mentions

UNUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: sd.compile("x * y", x=3, y=3, bach=["x"]), r"bach= is no option.*close: batch.*options: inputs, batch"),
    (lambda: sd.compile("x * y", x=3, y=3, bach=[sd.scalar("x")]), "bach= is no option.*close: batch"),
    (lambda: sd.compile("x * y", x=3, y=3, thread=None), "thread= is no option.*close: threads"),
    (lambda: sd.compile("x * y", x=3, y=3, backnd="numpy"), "close: backend"),
    (lambda: sd.compile("x * lam", x=3, lan=3, lam=()), "lan= .*close: lam.*inputs: x, lam"),
    (lambda: sd.compile(["x", "y"], x=3, y=3, z=3), "z= .*inputs: x, y"),
    (lambda: sd.compile("x", shapes={"x": 3, "inputz": 2}), "close: inputs"),
    (lambda: sd.gradient("x * y", "x", x=(), y=(), disconected="zero"), "close: disconnected"),
    (lambda: sd.derivative("x * y", "x", ordr=2, x=(), y=()), "close: order"),
    (lambda: sd.jvp("x * y", "x", 1.0, z=3, x=(), y=()), "z= .*options: tangent, disconnected, invertible, shapes"),
    (lambda: sd.check("x * y", x=(), y=(), sed=3), "close: seed"),
    (lambda: sd.parse("x * y", x=(), y=(), z=3), "z= .*inputs: x, y"),
    (lambda: sd.compile(lambda x: x * 2, x=3, bach=["x"]), "close: batch"),
    (lambda: sd.compile(sd.scalar("x"), bach=["x"]), "close: batch.*symbols carry their own shapes"),
    (lambda: sd.gradient(sympy.Symbol("x"), sympy.Symbol("x"), disconected="zero"), "close: disconnected.*SymPy"),
]


@pytest.mark.parametrize("place", range(len(UNUSED)))
def test_a_shape_that_nothing_mentions_is_refused(place: int) -> None:
    call, words = UNUSED[place]
    with pytest.raises(ArgumentError, match=words):
        call()


def test_a_shape_is_mentioned_in_any_place() -> None:
    assert inputs(compiled("2 * x", ["t", "x"], t=(), x=3)) == "t x"
    assert inputs(compiled("2 * x", t=(), x=3, batch=["t", "x"])) == "t x"
    assert inputs(compiled(["x", "2 * y"], y=3, x=3)) == "y x"
    assert inputs(compiled("u = 2 * y\nx", y=3, x=3)) == "y x"
    assert inputs(compiled(sd.gradient("x", "y", y=(), x=(), disconnected="zero"))) == "y x"
    assert inputs(compiled(sd.vjp("x * x", "x", "w", w=3, x=3))) == "w x"
    with pytest.raises(ShapeError, match=r"'x' has 2\.5 for a size"):
        sd.compile("x * y", x=2.5, y=3)


def test_a_kernel_is_a_formula_of_its_inputs() -> None:
    kernel = sd.compile("x @ S @ x + sum(y[i])", S=sd.symmetric(2), x=2, y="n", i=(int, "m"))
    assert sd.compile(sd.gradient(kernel, "x")).signature == kernel.signature.replace("-> ()", "-> (2,)")
    assert str(sd.gradient(kernel, "S")) == "outer(x, x)"
    assert sd.compile(kernel)(np.eye(2), [1.0, 2.0], [5.0, 6.0], [1, 1]) == 17.0
