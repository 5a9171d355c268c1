"""Functions with a derivative of their author's, which tests differentiate in each way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import symdiff as sd
from symdiff import Array
from symdiff.graph.reference.interpret import evaluate

RNG = np.random.default_rng(3)
Rule: TypeAlias = dict[str, Callable[..., Any]]


def compute(f: Array, **values: Any) -> Any:
    return evaluate([f.node], values)[0]


def by_differential(args: Any, tangents: Any) -> Any:
    (a, b), (da, db) = args, tangents
    return (np.cos(a) * da) @ b + np.sin(a) @ db


def by_vjp(args: Any, seed: Any) -> Any:
    a, b = args
    return np.cos(a) * (seed @ b.T), np.sin(a).T @ seed


def by_jacobian(args: Any) -> Any:
    a, b = args
    return sd.einsum("ik,lj,kl->ijkl", np.eye(2), b, np.cos(a)), sd.einsum("il,jk->ijlk", np.sin(a), np.eye(4))


RULES = {
    "differential": {"differential": by_differential},
    "vjp": {"vjp": by_vjp},
    "jacobian": {"jacobian": by_jacobian},
}

x, y, a = sd.vector("x", 3), sd.vector("y", 3), sd.vector("a", 3)
AT = {name: RNG.normal(size=3) for name in ("x", "y", "a")}


def at(f: Array) -> Any:
    """Compute a formula of some of x, y and a."""
    return sd.compile(f, [x, y, a], backend="numpy")(*AT.values())


def scaled(by: Array, kind: str) -> Callable[..., Array]:
    """Return sin(v) * by, where ``by`` comes from outside, with its right rule."""
    rules: dict[str, Rule] = {
        "differential": {"differential": lambda args, tangents: np.cos(args[0]) * by * tangents[0]},
        "vjp": {"vjp": lambda args, seed: (np.cos(args[0]) * by * seed,)},
        "jacobian": {"jacobian": lambda args: (np.diag(np.cos(args[0]) * by),)},
    }
    return sd.custom(lambda v: np.sin(v) * by, name="scaled", **rules[kind])


def one(args: Any, seed: Any) -> Any:
    return (seed,)
