"""Sums over a whole number in formula text: what is read, what is printed and read back, what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import LimitError, ParseError

PARTS = [
    *("exp(-a * {k})", "cos(a * {k} + b)", "a ** {k}", "1 / (1 + {k})", "sqrt({k} + a * a)", "tanh(b * {k})"),
    *("({k} - 2)", "where({k} > 2, a, b)", "b", "abs({k} - a)"),
]
ARRAYS = ["sum(exp(-{k} * x))", "x @ y", "sum(tanh(a * x + {k}) * y)", "max(x * {k})"]


def drawn(rng: np.random.Generator, depth: int, letters: tuple[str, ...]) -> str:
    """Return a random formula of a, b, x and y, with sums, some of them nested."""
    kind = rng.integers(0, 5 if depth else 3)
    letter = str(rng.choice(letters)) if letters else "3"
    if kind < 2:
        return str(rng.choice(PARTS)).format(k=letter)
    if kind == 2:
        return str(rng.choice(ARRAYS)).format(k=letter)
    if kind == 3:
        sign = rng.choice(["+", "*", "-"])
        return f"({drawn(rng, depth - 1, letters)} {sign} {drawn(rng, depth - 1, letters)})"
    own = ("i", "j", "m")[len(letters) % 3]
    length = rng.choice(["4", "n", "n + 1", "1"])
    return f"sum_over({own}, {length}, {drawn(rng, depth - 1, (*letters, own))})"


SHAPES: dict[str, Any] = {"a": (), "b": (), "x": "n", "y": "n"}
NUMBERS = {"a": 0.7, "b": -0.4, "x": np.array([0.3, 0.5, -0.2]), "y": np.array([1.0, -2.0, 0.5])}


def value(text: str) -> Any:
    """Return the value of a text at the numbers that it names."""
    known = {name for name in SHAPES if re.search(rf"\b{name}\b", text)}
    if "n" in re.findall(r"\w+", text) or not known:
        known.add("x")
    kernel = sd.compile(
        f"({text}) + 0 * sum(x)" if "x" in known else text, shapes={k: SHAPES[k] for k in known}, backend="numpy"
    )
    return kernel(inputs={name: NUMBERS[name] for name in known})


@pytest.mark.parametrize("seed", range(30))
def test_printed_sums_and_their_derivatives_are_read_back(seed: int) -> None:
    text = f"sum_over(k, 5, {drawn(np.random.default_rng(seed), 3, ('k',))} * a) + b * sum(x + y)"
    for derivative, by in ((sd.gradient, "a"), (sd.gradient, "x"), (sd.hessian, "x"), (sd.derivative, "a")):
        shown = str(derivative(text, by, shapes=SHAPES))
        want = sd.compile(f"{derivative.__name__}({text}, {by})", shapes=SHAPES, backend="numpy")(inputs=NUMBERS)
        lines = shown.split("\n")
        assert "scan(" not in shown
        assert "iterate(" not in shown
        for line in lines[:-1]:
            name, _, formula = line.partition(" = ")
            shown = re.sub(rf"\b{name}\b", f"({formula})", shown.split("\n", 1)[1])
        np.testing.assert_allclose(value(shown), want, rtol=1e-10, atol=1e-12)


def test_a_sum_is_a_function_of_what_it_is_given() -> None:
    kernel = sd.compile("sum_over(k, n, exp(-a * k) * x)", x="n", a=())
    x, a = np.array([1.0, 2.0, 0.5]), 0.5
    np.testing.assert_allclose(kernel(x, a), sum(np.exp(-a * k) for k in range(3)) * x)
    assert sd.compile("sum_over(k, 3, sum_over(k, 4, k) * k)")() == 18.0
    assert sd.compile("k * sum_over(k, 3, k)", k=())(5.0) == 15.0
    assert sd.compile("sum_over(k, 0, x)")(3.0) == 0.0
    assert float(sd.parse("sum_over(k, 4, x**k)").doit().subs("x", 2)) == 15.0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sum_over(2, 3, x)", "takes a letter"),
        ("sum_over(k, 3)", "takes a letter"),
        ("sum_over(k, 3, n=x)", "takes a letter"),
        ("sum_over(k, x, x)", "a whole number, or a size"),
        ("sum_over(k, 2.5, k)", "a whole number, or a size"),
        ("sum_over(k, k, k)", "a whole number, or a size"),
        ("iterate(s -> s, x, 3)", "no other loops"),
        ("scan((s, x1) -> (s, s), 0, x)", "no other loops"),
    ],
)
def test_what_is_no_sum_is_refused_by_name(text: str, found: str) -> None:
    with pytest.raises(ParseError, match=found):
        sd.compile(text)


def test_sums_of_strangers_are_bounded() -> None:
    for text in (
        "sum_over(k, 10**9, x)",
        "sum_over(k, 10**5, sum_over(j, 10**5, x * k))",
        "sum_over(k, 10**5, sum(ones((5000,)) * k))",
    ):
        with pytest.raises(LimitError, match="which is the limit"):
            sd.compile(text, budget="strict")
    deep = "x"
    for k in range(200):
        deep = f"sum_over(k{k}, 2, {deep})"
    with pytest.raises(LimitError):
        sd.compile(deep, budget="strict")
