"""Options of derivatives in text: ``gradient(f, S, convention="entries")``."""

from __future__ import annotations

from typing import Any

import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula

S = sd.symmetric(3)


def shown(text: str, **shapes: Any) -> str:
    """Return how a formula of a text is printed."""
    return str(read_formula(text, shapes, ("shapes",)).value)


@pytest.mark.parametrize("function", ["gradient", "jacobian", "hessian"])
@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("convention", ["entries", "projected"])
def test_conventions_are_those_of_the_functions(function: str, quote: str, convention: str) -> None:
    text = f"{function}(log(det(S)), S, convention={quote}{convention}{quote})"
    expected = getattr(sd, function)("log(det(S))", "S", S=S, convention=convention)
    assert shown(text, S=S) == str(expected)


def test_what_is_shown_is_read_again() -> None:
    printed = str(sd.gradient("log(det(S))", "S", S=S, convention="entries"))
    assert printed == shown(printed, S=S) == "2 * inv(S) - diag(diag(inv(S)))"


def test_invertible_matrices_are_told() -> None:
    text = "gradient(log(abs(det(A @ X))), X, invertible=True)"
    assert shown(text, A=(3, 3), X=(3, 3)) == "inv(X).T"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('gradient(trace(S), S, convention="other")', "in quotes"),
        ("gradient(trace(S), S, convention=True)", "expected 'projected' or 'entries'"),
        ('gradient(trace(S), S, invertible="entries")', "expected True or False"),
        ('jvp(trace(S), S, S, convention="entries")', "no argument 'convention'"),
        ('sum(S, axis="entries")', "expected a whole number"),
        ('"entries"', "expected a formula"),
        ('S["entries"]', "expected a whole number"),
        ('"entries" + S', "expected a formula"),
    ],
)
def test_words_in_quotes_are_no_formulas(text: str, said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        sd.compile(text, S=S)
