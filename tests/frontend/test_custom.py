"""Functions with a derivative of their author's: what they capture, rules that are taken or refused, random ones."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array, NotDifferentiableError, ShapeError, SymdiffError
from symdiff.errors import ArgumentError, DtypeError, LimitError
from symdiff.graph.reference.interpret import evaluate
from tests.support.calculus import check_backends
from tests.support.custom_functions import AT, RNG, RULES, Rule, a, at, compute, one, scaled, x, y


def product_value(a: Array, b: Array) -> Array:
    return np.sin(a) @ b


@pytest.mark.parametrize("kind", RULES)
def test_custom_functions_to_second_order_in_both_modes(kind: str) -> None:
    A, B = sd.matrix("A", 2, 3), sd.matrix("B", 3, 4)
    f = sd.custom(product_value, **RULES[kind])
    plain, mine = product_value(A, B * B), f(A, B * B)
    at = {"A": RNG.normal(size=(2, 3)), "B": RNG.normal(size=(3, 4))}
    ways = [RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4))]
    seed = RNG.normal(size=(2, 4))

    def derivatives(y: Array) -> list[Array]:
        total = (y * y).sum()
        return [
            y,
            sd.jvp(y, (A, B), ways),
            *sd.vjp(y, (A, B), seed),
            sd.jacobian(y, A),
            sd.jacobian(y, B),
            *sd.hvp(total, (A, B), ways),
            sd.hessian(total, A),
            sd.jvp(sd.jvp(y, (A, B), ways), (A, B), ways),
        ]

    for got, want in zip(derivatives(mine), derivatives(plain), strict=True):
        np.testing.assert_allclose(compute(got, **at), compute(want, **at), rtol=1e-11, atol=1e-12)
    check_backends(derivatives(mine)[:7], [A, B], list(at.values()))


def test_a_custom_derivative_is_taken_as_it_is_given() -> None:
    x = sd.scalar("x")
    twice = sd.custom(lambda v: v * v, differential=lambda args, tangents: 7.0 * tangents[0], name="twice")
    assert compute(sd.gradient(twice(x), x), x=3.0) == 7
    assert compute(sd.jvp(twice(x), x, 2.0), x=3.0) == 14
    assert compute(twice(x), x=3.0) == 9


def test_a_kernel_with_a_custom_function_can_be_pickled() -> None:
    x = sd.vector("x", 3)
    f = sd.custom(np.exp, vjp=lambda args, seed: (seed * np.exp(args[0]),))
    kernel = sd.compile([sd.name(f(x), "z") * 2.0, sd.gradient(f(x).sum(), x)], [x], backend="numpy")
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(np.ones(3))[0], kernel(np.ones(3))[0])
    np.testing.assert_array_equal(again.values(np.ones(3))["z"], kernel.values(np.ones(3))["z"])


@pytest.mark.parametrize("kind", ["differential", "vjp", "jacobian"])
def test_what_is_captured_is_an_argument_that_the_rule_gives_no_derivative_by(kind: str) -> None:
    f = scaled(np.exp(a), kind)(x)
    plain = np.sin(x) * np.exp(a)
    slope = sd.gradient(f.sum(), x)
    for got, want in (
        (f, plain),
        (slope, sd.gradient(plain.sum(), x)),
        (sd.jacobian(slope, a), sd.jacobian(sd.gradient(plain.sum(), x), a)),
        (sd.hessian(f.sum(), x), sd.hessian(plain.sum(), x)),
        (sd.hvp(f @ f, x, y), sd.hvp(plain @ plain, x, y)),
        (sd.jvp(scaled(a, kind)(x), (x, a), (y, np.zeros(3))), sd.jvp(np.sin(x) * a, x, y)),
    ):
        np.testing.assert_allclose(at(got), at(want), rtol=1e-12, atol=1e-13)
    ways: tuple[Callable[[], Any], ...] = (
        lambda: sd.gradient(f.sum(), a),
        lambda: sd.gradient(f.sum(), (x, a)),
        lambda: sd.gradient(f.sum(), a[0]),
        lambda: sd.jvp(f, a, y),
        lambda: sd.vjp(f, a, y),
        lambda: sd.jacobian(f, a),
        lambda: sd.hessian(f.sum(), a),
        lambda: sd.gradient((f * a).sum(), a, disconnected="zero"),
        lambda: sd.hvp(f.sum(), (x, a), (y, y)),
    )
    for derive in ways:
        with pytest.raises(
            NotDifferentiableError, match=r"scaled uses a formula of 'a' without taking it .*pass it as an argument"
        ):
            derive()


def test_what_has_no_influence_is_not_refused() -> None:
    held = scaled(sd.stop_gradient(a), "vjp")(x)
    np.testing.assert_allclose(at(sd.gradient(held @ a, a)), at(np.sin(x) * a))
    stepped = scaled(np.floor(a), "differential")(x)
    np.testing.assert_allclose(at(sd.gradient(stepped @ a, a)), at(np.sin(x) * np.floor(a)))
    np.testing.assert_allclose(at(sd.jvp(stepped @ a, a, y)), at((np.sin(x) * np.floor(a)) @ y))
    inside = sd.custom(lambda v: v * sd.stop_gradient(v + a), vjp=lambda args, s: (s * (args[0] + a),))(x)
    np.testing.assert_allclose(at(sd.gradient(inside @ a, a)), at(x * (x + a)))
    # the rule alone uses it: the value does not change with it, and second derivatives do
    surrogate = sd.custom(np.sign, vjp=lambda args, s: (s * a / np.cosh(a * args[0]) ** 2,), approximate=True)(x)
    np.testing.assert_array_equal(at(sd.gradient(surrogate.sum(), a)), 0.0)
    slope = a / np.cosh(a * x) ** 2
    np.testing.assert_allclose(at(sd.jacobian(sd.gradient(surrogate.sum(), x), a)), at(sd.jacobian(slope, a)))


def test_sub_formulas_that_are_captured_can_be_differentiated_by() -> None:
    z = sd.name(x * np.sin(a), "z")
    used = sd.custom(lambda v: v * (z + 1.0), vjp=lambda args, s: (s * (z + 1.0),), name="used")
    f, plain = used(y).sum(), (y * (z + 1.0)).sum()
    with pytest.raises(NotDifferentiableError, match="used uses a formula of 'x' and 'a' without"):
        sd.gradient(f, z)
    for got, want in (
        (sd.jacobian(sd.gradient(f, y), z), sd.jacobian(sd.gradient(plain, y), z)),
        (sd.hessian(sd.gradient(f, y) @ z, z), sd.hessian(sd.gradient(plain, y) @ z, z)),
    ):
        np.testing.assert_allclose(at(got), at(want), rtol=1e-13)
    # as the argument, with a rule that takes it from outside as well
    square = sd.custom(lambda v: v * v, vjp=lambda args, s: ((args[0] + z) * s,))
    np.testing.assert_allclose(at(sd.hessian((square(z) * z).sum(), z)), at(6.0 * np.diag(z)), rtol=1e-13)
    kernel = sd.compile([used(x), sd.gradient(f, y)], [x, y, a], backend="numpy")
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_allclose(kernel.values(*AT.values())["z"], at(z))
    np.testing.assert_allclose(again.values(*AT.values())["z"], at(z))
    np.testing.assert_array_equal(again(*AT.values())[1], kernel(*AT.values())[1])


def test_captured_symbols_are_seen_by_whatever_reads_a_formula() -> None:
    n, m = sd.vector("n", "k"), sd.matrix("m", "k", "j")
    f = sd.custom(lambda v: v @ m + sd.mean(n), vjp=lambda args, s: (m @ s,), name="f")
    assert str(f(n)) == "f(n, m, mean(n))"
    assert f(n).node is f(n).node
    assert pickle.loads(pickle.dumps(f(n))).node is f(n).node
    assert [given.name for given in sd.compile(f(n)).inputs] == ["n", "m"]
    with pytest.raises(ArgumentError, match="depends on m, which inputs= lacks"):
        sd.compile(f(n), [n])
    values = [RNG.normal(size=4), RNG.normal(size=(4, 2))]
    got = sd.compile([f(n), sd.vjp(f(n * 2.0), n * 2.0, m[0])], [n, m], backend="numpy")(*values)
    np.testing.assert_allclose(got[0], values[0] @ values[1] + values[0].mean())
    np.testing.assert_allclose(got[1], values[1] @ values[1][0])
    s, t = sd.scalar("s"), sd.scalar("t")
    scaled_by_t = sd.custom(lambda v: v * t, vjp=lambda args, c: (c * t,))
    assert scaled_by_t(s).sympy == (s * t).sympy


def test_symbols_that_a_python_function_takes_from_outside_are_inputs_behind_its_parameters() -> None:
    f = scaled(a, "vjp")
    kernel = sd.compile(lambda v: f(v) * y, v=3, backend="numpy")
    assert [given.name for given in kernel.inputs] == ["v", "a", "y"]
    np.testing.assert_allclose(kernel(AT["x"], AT["a"], AT["y"]), at(np.sin(x) * a * y))
    with pytest.raises(NotDifferentiableError, match="scaled uses 'a' without"):
        sd.gradient(lambda v: f(v).sum(), "a", v=3)
    with pytest.raises(ArgumentError, match="two inputs called 'a'"):
        sd.compile(lambda a: f(x) * a.sum(), a=4)


def test_names_within_a_function_are_its_own() -> None:
    f = sd.custom(lambda v: sd.name(np.sin(v), "inner") * v, vjp=lambda args, s: (s,), approximate=True)
    kernel = sd.compile(sd.name(f(x) + f(y), "z") * 2.0, [x, y], backend="numpy")
    for each in (kernel, pickle.loads(pickle.dumps(kernel))):
        assert list(each.values(np.ones(3), np.ones(3))) == ["z"]


def test_functions_within_functions_are_written_out_once_a_level() -> None:
    calls = [0]

    def counted(v: Array) -> Array:
        calls[0] += 1
        return np.sin(v)

    def layer(inner: Callable[..., Any]) -> Callable[..., Array]:
        return sd.custom(lambda v: inner(v) * 2.0, vjp=lambda args, s: (2.0 * sd.vjp(inner(args[0]), args[0], s),))

    f: Callable[..., Any] = counted
    for _ in range(12):
        f = layer(f)
    np.testing.assert_allclose(at(sd.gradient(f(x).sum(), x)), 2**12 * np.cos(AT["x"]))
    assert calls[0] == 2  # by the value and by the rule of the innermost


def test_arguments_are_known_inside_alone() -> None:
    kept: list[Any] = []

    def keep(v: Array) -> Array:
        kept.append(v)
        return v * v

    f = sd.custom(keep, vjp=lambda args, s: (2.0 * kept[-1] * s,), name="keep")
    np.testing.assert_allclose(at(sd.gradient(f(x).sum(), x)), 2 * AT["x"])  # within one call they are the same
    seeds: list[Any] = []

    def rule(args: Any, seed: Any) -> Any:
        seeds.append(seed)
        return (np.cos(args[0]) * seed,)

    sd.custom(np.sin, vjp=rule, name="g")(x)
    for formula in (
        lambda: sd.compile(kept[0] * 2.0),
        lambda: sd.gradient((kept[0] * x).sum(), x),
        lambda: sd.custom(lambda v: v * kept[0], vjp=lambda args, s: (s * kept[0],))(x),
        lambda: sd.custom(np.sin, vjp=lambda args, s: (s * seeds[0],))(x),
    ):
        with pytest.raises(ArgumentError, match=r"(argument 1 of keep|the cotangent of g) is used outside of it"):
            formula()


WRONG: dict[str, tuple[type[SymdiffError], Callable[[], Any]]] = {
    "custom of type str": (ArgumentError, lambda: sd.custom("sin(x)", vjp=one)),
    "custom of type Array": (ArgumentError, lambda: sd.custom(x, vjp=one)),
    "0 derivatives; expected exactly one": (ArgumentError, lambda: sd.custom(np.sin)),
    "2 derivatives": (ArgumentError, lambda: sd.custom(np.sin, vjp=one, jacobian=lambda args: (args[0],))),
    "vjp= is of type int": (ArgumentError, lambda: sd.custom(np.sin, vjp=0)),
    "name=3": (ArgumentError, lambda: sd.custom(np.sin, vjp=one, name=3)),
    "name=''": (ArgumentError, lambda: sd.custom(np.sin, vjp=one, name="")),
    r"name='a\\nb'": (ArgumentError, lambda: sd.custom(np.sin, vjp=one, name="a\nb")),
    "approximate=1": (ArgumentError, lambda: sd.custom(np.sin, vjp=one, approximate=1)),
    "sin with k=; it takes arrays by position only": (ArgumentError, lambda: sd.custom(np.sin, vjp=one)(x, k=1)),
    "sin without arguments": (ArgumentError, sd.custom(np.sin, vjp=one)),
    "sin came with 2 arguments": (ArgumentError, lambda: sd.custom(np.sin, vjp=one)(x, x)),
    "<lambda> came with 2 arguments": (ArgumentError, lambda: sd.custom(lambda v: v, vjp=one)(x, x)),
    "argument 2 of add: a value of type dict": (DtypeError, lambda: sd.custom(np.add, vjp=one)(x, {})),
    "argument 1 of sin: the text 'x' among symbols": (DtypeError, lambda: sd.custom(np.sin, vjp=one)("x")),
    "the function of <lambda> gave None": (DtypeError, lambda: sd.custom(lambda v: None, vjp=one)(x)),
    "the function of <lambda> gave str": (DtypeError, lambda: sd.custom(lambda v: "v", vjp=one)(x)),
    "the function of <lambda> gave a tuple; expected one array": (
        DtypeError,
        lambda: sd.custom(lambda v: (v, v), vjp=one)(x),
    ),
    "the function of <lambda> gave a condition": (DtypeError, lambda: sd.custom(lambda v: v > 0, vjp=one)(x)),
    "the vjp of sin gave dict": (DtypeError, lambda: sd.custom(np.sin, vjp=lambda args, s: {"v": s})(x)),
    "the vjp of sin gave None": (DtypeError, lambda: sd.custom(np.sin, vjp=lambda args, s: (None,))(x)),
    "the vjp of sin gave 2 arrays; expected 1": (ShapeError, lambda: sd.custom(np.sin, vjp=lambda args, s: (s, s))(x)),
    r"has shape \(1,\); expected \(\); args is a tuple of the arguments, args\[0\] the first": (
        ShapeError,
        lambda: sd.custom(np.sin, vjp=lambda v, seed: seed * np.cos(v))(sd.scalar("s")),
    ),
    r"the vjp of sin has shape \(2,\); expected \(3,\)": (
        ShapeError,
        lambda: sd.custom(np.sin, vjp=lambda args, s: (s[:2],))(x),
    ),
    "the differential of sin gave a tuple": (
        DtypeError,
        lambda: sd.custom(np.sin, differential=lambda args, t: (t[0],))(x),
    ),
    r"the jacobian of sin has shape \(3,\); expected \(3, 3\)": (
        ShapeError,
        lambda: sd.custom(np.sin, jacobian=lambda args: (np.cos(args[0]),))(x),
    ),
    r"the differential of sin cannot be called as differential\(args, tangents\)": (
        ArgumentError,
        lambda: sd.custom(np.sin, differential=lambda args: args[0])(x),
    ),
    r"the jacobian of sin cannot be called as jacobian\(args\)": (
        ArgumentError,
        lambda: sd.custom(np.sin, jacobian=one)(x),
    ),
}


@pytest.mark.parametrize("says", WRONG)
def test_what_cannot_be_used_is_refused(says: str) -> None:
    error, make = WRONG[says]
    with pytest.raises(error, match=says):
        make()


def test_errors_of_the_authors_own_pass_through() -> None:
    def broken(v: Array) -> Array:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sd.custom(broken, vjp=one)(x)


def test_a_function_that_calls_itself_without_end_is_refused() -> None:
    made: dict[str, Callable[..., Array]] = {
        "value": sd.custom(lambda v: made["value"](v) * 2.0, vjp=one),
        "vjp": sd.custom(np.exp, vjp=lambda args, s: (s * made["vjp"](args[0]),)),
        "differential": sd.custom(np.exp, differential=lambda args, t: t[0] * made["differential"](args[0])),
        "jacobian": sd.custom(np.exp, jacobian=lambda args: (np.diag(made["jacobian"](args[0])),)),
        "jvp": sd.custom(np.exp, differential=lambda args, t: sd.jvp(made["jvp"](args[0]), args[0], t[0])),
        "pair": sd.custom(lambda v: made["other"](v) * 2.0, vjp=one),
        "other": sd.custom(lambda v: made["pair"](2.0 * v), vjp=one),
    }
    for f in made.values():
        with pytest.raises(LimitError, match="calls itself without end"):
            f(x)

    def endless(v: Array) -> Array:
        return endless(v)

    with pytest.raises(LimitError, match="Python's limit of recursion"):
        sd.custom(endless, vjp=one)(x)


def test_a_recursion_that_ends_is_fine() -> None:
    def halves(v: Array) -> Array:
        n = len(v)
        return v * v if n == 1 else sd.concatenate([split(v[: n // 2]), split(v[n // 2 :])])

    split = sd.custom(halves, vjp=lambda args, s: (2.0 * args[0] * s,), name="split")
    v = sd.vector("v", 8)
    assert sd.check(split(v)).ok
    left = [20]

    def count(v: Array) -> Array:
        left[0] -= 1
        return down(v) * 1.5 if left[0] else v

    down = sd.custom(count, vjp=lambda args, s: (1.5**19 * s,), name="down")
    assert sd.gradient(down(x).sum(), x).shape == (3,)
    left[0] = 20
    assert at(down(x)[0]) == pytest.approx(1.5**19 * AT["x"][0])


def test_conditions_may_be_arguments() -> None:
    f = sd.custom(
        lambda v, positive: sd.where(positive, v * v, v),
        vjp=lambda args, s: (sd.where(args[1], 2.0 * args[0], 1.0) * s, 0.0 * s),
    )
    assert sd.check(f(x, x > 0)).ok
    np.testing.assert_allclose(at(sd.gradient(f(x, x > 0).sum(), x)), np.where(AT["x"] > 0, 2 * AT["x"], 1.0))


# ---------------------------------------------------------------------------- custom random
# Random functions of an author's agree with the same formulas written out.


# ---------------------------------------------------------------------------- random functions

Tree: TypeAlias = tuple[Any, ...]


CAPTURED = ("a", "y * a", "z")


UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "tanh": np.tanh,
    "negative": lambda v: -v,
    "reversed": lambda v: v[::-1],
    "cumsum": np.cumsum,
    "kink": lambda v: sd.where(v > 0.1, v * v, 2.0 * v),
    "held": lambda v: v * sd.stop_gradient(a),
}


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda p, q: p + q,
    "multiply": lambda p, q: np.tanh(p) * q,
    "divide": lambda p, q: p / (2.0 + np.tanh(q)),
}


def trees(level: int = 0) -> st.SearchStrategy[Tree]:
    """Formulas of vectors: arguments, what is captured, operations, and functions within."""
    leaves = [st.tuples(st.just("argument"), st.integers(0, 1))] * 2 + [
        st.tuples(st.just("captured"), st.sampled_from(CAPTURED))
    ]
    if level:
        leaves.append(st.tuples(st.just("outer"), st.integers(0, 1)))

    def extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        ways = [
            st.tuples(st.sampled_from(sorted(UNARY)), inner),
            st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
        ]
        if level < 2:
            ways.append(st.tuples(st.sampled_from(sorted(RULES)), trees(level + 1), inner, inner))
        return st.one_of(ways)

    return st.recursive(st.one_of(leaves), extend, max_leaves=4)


def grow(tree: Tree, args: Sequence[Any], outer: Sequence[Any], captured: dict[str, Any], plain: bool) -> Any:
    """Return the formula of a tree; ``plain`` without custom functions, which is what they must agree with."""
    kind = tree[0]
    if kind in ("argument", "outer"):
        return (args if kind == "argument" else outer)[tree[1]]
    if kind == "captured":
        return captured[tree[1]]
    parts = [grow(part, args, outer, captured, plain) for part in tree[1 if kind not in RULES else 2 :]]
    if kind in UNARY:
        return UNARY[kind](*parts)
    if kind in BINARY:
        return BINARY[kind](*parts)

    def value(own: Sequence[Any], without: bool = True) -> Any:
        return grow(tree[1], own, args, captured, without)

    if plain:
        return value(parts)
    rules: dict[str, Rule] = {
        "differential": {"differential": lambda own, t: sd.jvp(value(own), own, t, disconnected="zero")},
        "vjp": {"vjp": lambda own, s: sd.vjp(value(own), own, s, disconnected="zero")},
        "jacobian": {"jacobian": lambda own: sd.jacobian(value(own), own, disconnected="zero")},
    }
    return sd.custom(lambda *own: value(own, without=False), **rules[kind])(*parts)


@pytest.mark.exhaustive
@settings(max_examples=150)
@given(trees(), trees(1), st.sampled_from(sorted(RULES)), st.sampled_from(("x", "y", "a", "z")))
def test_random_functions_agree_with_their_formulas_or_are_refused(top: Tree, own: Tree, kind: str, by: str) -> None:
    z = sd.name(y * np.sin(a), "z")
    captured = {"a": a, "y * a": y * a, "z": z}
    tree = ("add", (kind, own, ("argument", 0), top), ("argument", 0))
    mine, plain = (grow(tree, [x, np.cos(x)], [], captured, without) for without in (False, True))
    w = {"x": x, "y": y, "a": a, "z": z}[by]

    def derivatives(f: Array) -> list[Callable[[], list[Array]]]:
        def slope() -> Any:
            return np.sin(sd.gradient((f * f).sum(), w, disconnected="zero"))

        return [
            lambda: [f],
            lambda: [slope()],
            lambda: [sd.jvp(f, w, np.cos(x), disconnected="zero")],
            lambda: [sd.jacobian(f, w, disconnected="zero")],
            lambda: [sd.jacobian(slope(), v, disconnected="zero") for v in (x, a, z)],
            lambda: [sd.hvp((f * f).sum(), w, np.sin(x), disconnected="zero")],
            lambda: [sd.gradient(sd.gradient(slope().sum(), w, disconnected="zero").sum(), w, disconnected="zero")],
        ]

    def numbers(formulas: Sequence[Array]) -> list[Any]:
        return evaluate([f.node for f in formulas], AT, [x.node, y.node, a.node])

    done = refused = 0
    for derive, expected in zip(derivatives(mine), derivatives(plain), strict=True):
        try:
            got = derive()
        except NotDifferentiableError as error:
            refused += "without taking it as an argument" in str(error)
            continue
        done += 1
        for mine, other in zip(numbers(got), numbers(expected()), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-9)
    assert done + refused == 7
    assert not refused or "captured" in repr(tree) or "outer" in repr(tree)


# ---------------------------------------------------------------------------- custom rules
# Rules of a function's author: those that are linear are taken, others are refused by name.


# ---------------------------------------------------------------------------- rules must be linear

A = sd.matrix("A", 3, 3)


POINT = {"A": RNG.normal(size=(3, 3)), "seed": RNG.normal(size=(3, 3)), "way": RNG.normal(size=(3, 3))}


within = sd.custom(lambda p, q: q @ p, vjp=lambda args, s: (args[1].T @ s, s @ args[0].T), name="within")


LINEAR: dict[str, Callable[[Array, Array], Any]] = {
    "zero": lambda v, t: 0.0 * t,
    "negative": lambda v, t: -t,
    "product": lambda v, t: np.sin(v) * t,
    "quotient": lambda v, t: t / (1.0 + v * v),
    "transpose": lambda v, t: t.T,
    "matmul": lambda v, t: v @ t @ v.T,
    "einsum": lambda v, t: sd.einsum("ij,kj->ik", t, v),
    "slices": lambda v, t: sd.concatenate([t[1:], t[:1] * 2.0]),
    "stack": lambda v, t: np.stack([t[2], 0.0 * v[0], t[1]]),
    "where": lambda v, t: sd.where(v > 0, t * v, 0.0 * t),
    "where zero": lambda v, t: sd.where(v > 0, 0.0, t),
    "where both": lambda v, t: sd.where(v > 0, t, 0.0 * v) + t * (v > 0.5),
    "solve": lambda v, t: np.linalg.solve(v + 9.0 * np.eye(3), t),
    "inverse": lambda v, t: -np.linalg.inv(v + 9.0 * np.eye(3)) @ t,
    "cumsum": lambda v, t: np.cumsum(t, axis=0),
    "mean": lambda v, t: t - t.mean(axis=0),
    "trace": lambda v, t: np.trace(t) * v,
    "triangle": lambda v, t: np.tril(t) + np.triu(t, 1).T,
    "gather": lambda v, t: np.take(t, [2, 0, 0], axis=0),
    "diagonal": lambda v, t: np.diag(np.diag(t)),
    "reshape": lambda v, t: t.reshape(9)[::-1].reshape(3, 3),
    "broadcast": lambda v, t: np.broadcast_to(t[0], (3, 3)),
    "named": lambda v, t: sd.name(t, "part") * v,
    "adjugate": sd.function("adjugate_differential"),
    "jvp": lambda v, t: sd.jvp(np.sin(v) @ v, v, t),
    "vjp": lambda v, t: sd.vjp(np.maximum(v, 0.1) @ v, v, t),
    "constant term of zero": lambda v, t: t + 0.0 * v - np.zeros((3, 3)),
    "custom": lambda v, t: within(t, v) + within(v, 2.0 * t),
}


NOT_LINEAR: dict[str, Callable[[Array, Array], Any]] = {
    "power": lambda v, t: t**2,
    "multiply of several": lambda v, t: t * t.T,
    "contract of several": lambda v, t: t @ t,
    "add of them and of a term": lambda v, t: t + 1.0,
    "subtract of them and of a term": lambda v, t: v - t,
    "concatenate of them and of a term": lambda v, t: sd.concatenate([t[:2], np.ones((1, 3))]),
    "where of them or of a value": lambda v, t: sd.where(v > 0, t, v),
    "less": lambda v, t: sd.where(t > 0, t, 2.0 * t),
    "maximum": lambda v, t: np.maximum(t, 0.0),
    "abs": lambda v, t: abs(t),
    "divide of several": lambda v, t: t / t,
    "divide of them": lambda v, t: v / t,
    "solve of them": lambda v, t: np.linalg.solve(t, v),
    "norm": lambda v, t: np.linalg.norm(t) * v,
    "stop_gradient": lambda v, t: sd.stop_gradient(t),
    "contract of several of them, in within": lambda v, t: within(t, t),
    "add of them and of a term without them, which is not zero, in shifted": lambda v, t: sd.custom(
        lambda p: p + 1.0, vjp=lambda args, s: (s,), name="shifted"
    )(t),
    "a value without them, in fixed": lambda v, t: (
        t + sd.custom(lambda p: np.ones((3, 3)), vjp=lambda args, s: (0.0 * s,), name="fixed")(t)
    ),
    "it goes through bad, whose own rule": lambda v, t: sd.custom(
        lambda p: 2.0 * p, vjp=lambda args, s: (args[0] * s,), name="bad"
    )(t),
}


def chains(last: dict[str, Callable[[Array, Array], Any]]) -> st.SearchStrategy[list[str]]:
    """Names of a few linear steps, and of one of ``last``."""
    steps = st.lists(st.sampled_from(sorted(LINEAR)), max_size=2)
    return st.tuples(steps, st.sampled_from(sorted(last))).map(lambda parts: [*parts[0], parts[1]])


def follow(names: Sequence[str], v: Array, t: Array) -> Any:
    for name in names:
        t = LINEAR[name](v, t) if name in LINEAR else NOT_LINEAR[name](v, t)
    return t


def ruled(kind: str, names: Sequence[str]) -> Array:
    rules: dict[str, Rule] = {
        "differential": {"differential": lambda args, tangents: follow(names, args[0], tangents[0])},
        "vjp": {"vjp": lambda args, cotangent: (follow(names, args[0], cotangent),)},
    }
    return sd.custom(lambda v: v * 1.0, name="ruled", **rules[kind])(A)


@settings(max_examples=60)
@given(st.sampled_from(("differential", "vjp")), chains(LINEAR))
def test_rules_that_are_linear_are_taken_in_both_modes(kind: str, names: list[str]) -> None:
    seed, way = sd.matrix("seed", 3, 3), sd.matrix("way", 3, 3)
    f = ruled(kind, names)
    image = follow(names, A, seed) + 0.0 * A
    forward = kind == "differential"
    own = sd.jvp(f, A, seed) if forward else sd.vjp(f, A, seed)
    other = sd.vjp(f, A, way) if forward else sd.jvp(f, A, way)
    whole = sd.jacobian(f, A)
    want, got, turned, block = evaluate([p.node for p in (image, own, other, whole)], POINT, [seed.node, way.node])
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose((turned * POINT["seed"]).sum(), (want * POINT["way"]).sum(), rtol=1e-8, atol=1e-9)
    axes = ([2, 3], [0, 1]) if forward else ([0, 1], [0, 1])
    np.testing.assert_allclose(np.tensordot(block, POINT["seed"], axes=axes), want, rtol=1e-8, atol=1e-9)


@settings(max_examples=60)
@given(st.sampled_from(("differential", "vjp")), chains(NOT_LINEAR))
def test_rules_that_are_not_linear_are_refused_by_name(kind: str, names: list[str]) -> None:
    if "zero" in names:  # a rule that is zero whatever comes of it
        return
    with pytest.raises(NotDifferentiableError, match=f"the {kind} of ruled ") as refusal:
        ruled(kind, names)
    assert names[-1] in str(refusal.value) or "of them" in str(refusal.value)


@pytest.mark.parametrize("says", NOT_LINEAR)
def test_what_keeps_a_rule_from_being_linear_is_named(says: str) -> None:
    with pytest.raises(NotDifferentiableError, match=f"the vjp of ruled is not linear in the cotangent: {says}"):
        ruled("vjp", [says])


@pytest.mark.parametrize(
    "rule",
    [
        {"differential": lambda args, tangents: args[0]},
        {"differential": lambda args, tangents: np.ones(3)},
        {"vjp": lambda args, seed: (np.cos(args[0]),)},
        {"vjp": lambda args, seed: (a,)},
    ],
)
def test_rules_that_leave_their_seed_out_are_refused(rule: Rule) -> None:
    with pytest.raises(NotDifferentiableError, match=r"of sin does not contain the (tangents|cotangent), and"):
        sd.custom(np.sin, **rule)(x)


@pytest.mark.parametrize(
    "zero", [lambda v, s: 0.0 * s, lambda v, s: 0 * v, lambda v, s: np.zeros(3), lambda v, s: v * s * 0]
)
def test_a_rule_may_be_zero(zero: Callable[[Array, Array], Any]) -> None:
    for rule in (
        {"vjp": lambda args, seed: (zero(args[0], seed),)},
        {"differential": lambda args, tangents: zero(args[0], tangents[0])},
    ):
        f = sd.custom(np.sin, **rule)(x)
        np.testing.assert_array_equal(at(sd.gradient(f.sum(), x)), 0.0)
        np.testing.assert_array_equal(at(sd.jvp(f, x, y)), 0.0)
