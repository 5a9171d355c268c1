"""Text to SymPy without a question to SymPy: it may compute digits without end, and the text is a stranger's."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import sympy as sp

import symdiff as sd
from symdiff.frontend.text.vocabulary import VOCABULARY
from symdiff.graph.scalars.functions import FUNCTIONS

NUMBERS = ["inf", "nan", "0", "1", "108", "1e300", "1e-300", "pi", "2", "3.7", "0.5", "1e9", "170.5", "12345678901"]
NAMED = [f for f in FUNCTIONS.values() if f.name in VOCABULARY and f.orders == 0]


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what SymPy is asked of an expression that is neither a number nor a symbol."""
    asked: list[str] = []
    evalf, assumptions = sys.modules["sympy.core.evalf"], sys.modules["sympy.core.assumptions"]
    ask, digits = assumptions._ask, evalf.evalf

    def asking(fact: str, of: Any) -> Any:
        if fact != "commutative" and not of.is_Number and not of.is_Symbol:
            asked.append(f"{fact} of {type(of).__name__}")
        return ask(fact, of)

    def computing(x: Any, *args: Any) -> Any:
        if not x.is_Number and not x.is_NumberSymbol:  # digits of pi, by which SymPy sorts, are bounded work
            asked.append(f"digits of {type(x).__name__}")
        return digits(x, *args)

    sd.parse("x")  # constants of the module are made before
    monkeypatch.setattr(assumptions, "_ask", asking)
    monkeypatch.setattr(evalf, "evalf", computing)
    return asked


def _number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(NUMBERS)
    if rng.random() < 0.3:
        return f"({_number(rng, depth - 1)} {rng.choice('+-*/%')} {_number(rng, depth - 1)})"
    function = rng.choice(NAMED)
    return f"{function.name}({', '.join(_number(rng, depth - 1) for _ in range(function.arity))})"


def _condition(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return f"(x * {_number(rng, depth)} {rng.choice(['<', '<=', '==', '!='])} {_number(rng, depth)})"
    first, second = _condition(rng, depth - 1), _condition(rng, depth - 1)
    return f"logical_xor({first}, {second})" if kind < 0.6 else f"({first} {rng.choice('&|')} {second})"


FORMS: dict[str, Callable[[str, str, str], str]] = {
    "remainder": lambda a, b, c: f"x % {a} + x // {b}",
    "choice": lambda a, b, c: f"where({c}, x * {a}, {b})",
    "parts": lambda a, b, c: f"sum(where({c}, v, {a})) + max(stack((x + {a}, x * {b})))",
    "one by one": lambda a, b, c: f"sin((w * {a}) % 2) * maximum(w, {b})",
    "clipped": lambda a, b, c: f"clip(v, {a}, {b}) + abs(v - {a}) * sign({b})",
    "matrices": lambda a, b, c: f"det(reshape(stack((x, {a}, 1, x * {b})), (2, 2)))",
    "stacks": lambda a, b, c: f"inv(T * {a})[0, 0] + det(T - {b})",
}
SHAPES = {"x": (), "v": (2,), "w": (1, 1), "T": (2, 2, 2)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", FORMS)
def test_sympy_is_asked_nothing(form: str, seed: int, deaf: list[str]) -> None:
    rng = random.Random(f"{form} {seed}")
    read = 0
    for _ in range(8):
        text = FORMS[form](_number(rng, 2), _number(rng, 2), _condition(rng, 2))
        with suppress(sd.ParseError, sd.LimitError):  # 1/0, 1e300*1e300
            sd.parse(text, {name: shape for name, shape in SHAPES.items() if re.search(rf"\b{name}\b", text)})
            read += 1
        assert not deaf, text
    assert read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x % zeta(108, inf)", sp.nan),
        ("x * gamma(5)", 24 * sp.Symbol("x")),
        ("x + exp(exp(exp(9)))", sp.Add(sp.oo, sp.Symbol("x"), evaluate=False)),
        ("x * floor(tan(1e300)) // 1e300", None),
        ("x + sqrt(3)", sp.Symbol("x") + sp.sqrt(3)),
        ("x * exp(-3)", sp.Symbol("x") * sp.exp(-3)),
    ],
)
def test_functions_of_constants_are_numbers_but_for_elementary_ones(text: str, expected: Any) -> None:
    read = sd.parse(text)
    assert expected is None or read == expected
    str(read), sp.latex(read)  # printers of SymPy ask for digits
    for x in (0.3, -2.0):
        of_text = sd.compile(text, x=())(x)
        of_sympy = sd.compile(read, [sp.Symbol("x")])(x) if read.free_symbols else float(read)
        assert of_sympy == pytest.approx(of_text, nan_ok=True)


@pytest.mark.parametrize("name", ["sin", "gamma", "maximum", "where"])
def test_functions_of_a_matrix_of_one_element_are_not_applied(name: str) -> None:
    call = {"maximum": "maximum(w, 2)", "where": "where(w > 1, w, 2)"}.get(name, f"{name}(w)")
    read = sd.parse(call, w=(1, 1))
    assert sd.compile(read)([[0.5]]) == pytest.approx(sd.compile(call, w=(1, 1))([[0.5]]))
