"""Rules of a function's author: those that are linear are taken, others are refused by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array, NotDifferentiableError
from symdiff.graph.reference.interpret import evaluate
from tests.support.custom_functions import RNG, Rule, a, at, x, y

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
