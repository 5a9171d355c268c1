"""Limits of formula text: refused before memory is spent, and long chains are not deep."""

from __future__ import annotations

import pytest

from symdiff.errors import LimitError, SymdiffError
from symdiff.ground.grammar.syntax import parse_tree
from symdiff.ground.grammar.tokens import fewest_nodes
from symdiff.ground.limits import Limits
from tests.ground.test_grammar import FORMULAS

LIMITED = {
    "-" * 20_000 + "x": "deeper",
    "(" * 1001 + "x" + ")" * 1001: "deeper",
    "sin(" * 3000 + "x" + ")" * 3000: "deeper",
    "[" * 2000: "deeper",
    "**".join("x" * 1002): "deeper",
    "x[" * 1001: "deeper",
    "+".join("x" * 200_002): "operators",
    ",".join("x" * 200_002): "operators",
    "x" + "[0]" * 200_001: "operators",
    "x" + ".T" * 200_001: "operators",
    "f(x)" + "+f(x)" * 100_001: "operators",
    "a=1\n" * 200_001: "operators",
    " " * 1_000_001: "characters",
    "x" * 65: "name of 65",
    "1" * 401: "number of 401",
    "9" * 400: "range of a double",
    "1e999999999": "range of a double",
    "1e-999999999": "range of a double",
    "1e" + "9" * 100_000: "number of",
}


@pytest.mark.parametrize("text", LIMITED, ids=lambda text: f"{text[:8]!r}x{len(text)}")
def test_limits(text: str) -> None:
    with pytest.raises(LimitError, match=LIMITED[text]):
        parse_tree(text)


@pytest.mark.parametrize(
    "text",
    ["(" * 1000 + "x" + ")" * 1000, "-" * 1000 + "x", "sin(" * 999 + "x" + ")" * 999, "**".join("x" * 1001), "x" * 64],
    ids=lambda text: f"{text[:4]}x{len(text)}",
)
def test_up_to_the_limits(text: str) -> None:
    assert parse_tree(text).terms


@pytest.mark.parametrize("term", ["x+", "x*f(x)-", "x&", "x<(y)+"])
def test_long_chains_are_not_deep(term: str) -> None:
    count = 50_000 if "f" in term or "<" in term else 150_000
    text = "(y)+" + (term * count).replace("<", "-") + "x"
    assert len(parse_tree(text).terms) >= 2 * count


def test_limits_can_be_set() -> None:
    with pytest.raises(LimitError, match="5 levels"):
        parse_tree("((((((x))))))", Limits(depth=5))
    with pytest.raises(LimitError, match="over 3 operators"):
        parse_tree("f(f(f(f(x))))", Limits(nodes=3))


def test_the_early_count_never_exceeds_the_nodes() -> None:
    for text in FORMULAS:
        assert fewest_nodes(text) <= _nodes(text)


def _nodes(text: str) -> int:
    """Return the smallest limit of nodes under which ``text`` is read."""
    limit = 0
    while True:
        try:
            parse_tree(text, Limits(nodes=limit))
        except SymdiffError:
            limit += 1
        else:
            return limit
