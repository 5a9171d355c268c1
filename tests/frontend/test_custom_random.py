"""Random functions of an author's agree with the same formulas written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array, NotDifferentiableError
from symdiff.graph.reference.interpret import evaluate
from tests.support.custom_functions import AT, RULES, Rule, a, x, y

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
        for one, other in zip(numbers(got), numbers(expected()), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)
    assert done + refused == 7
    assert not refused or "captured" in repr(tree) or "outer" in repr(tree)
