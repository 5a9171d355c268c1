"""Short looks that tell that a rule does not fit: where one says so, the whole rule says so too."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pytest

from symdiff.graph import Node, constant, elementwise, input, postorder
from symdiff.graph.scalars.arithmetic import factors_of, has_one_more, powers_of, terms_of
from symdiff.ground.gc_pause import paused
from symdiff.rewrite import rewriter, simplify, stabilize
from symdiff.rewrite.cancelling import fractions
from symdiff.rewrite.stability import exponentials, exponents, factors, rational_form, removable

X = [input(name) for name in "abcd"]
#: Functions of one number; what divides, and what exponents are made of, come often.
ONE: dict[str, Callable[[Node], Node]] = {
    "s": lambda a: elementwise("sin", (a,)),
    "t": lambda a: elementwise("tanh", (a,)),
    "e": lambda a: elementwise("exp", (a,)),
    "g": lambda a: elementwise("exp", (-(a * a),)),
    "c": lambda a: elementwise("cosh", (a,)),
    "m": lambda a: elementwise("expm1", (a,)),
    "r": lambda a: elementwise("sqrt", (1.0 + a * a,)),
    "p": lambda a: elementwise("power", (a, constant(2.0))),
    "q": lambda a: 1.5 + a * a,
    "n": lambda a: -a,
    "2": lambda a: 2.0 * a,
    "1": lambda a: 1.0 - a,
    "l": lambda a: elementwise("log", (a,)),
}
TWO: dict[str, Callable[[Node, Node], Node]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "v": lambda a, b: a / (a + b),
    "f": lambda a, b: X[0] * a + X[0] * b,
    "o": lambda a, b: elementwise("sin", (X[0],)) / (X[0] * a + b * X[0]),
}
WORDS = ["+-**//sq", "+-**/eg", "+*/v12p", "+-*/sct", "*/gqe1", "+-*/mrnp", "+-*egl/", "fo*/s+", "v+-*fo"]
SEEDS = [(word, seed) for word in WORDS for seed in range(12)]


def draw(word: str, seed: int, count: int = 14) -> Node:
    """Return a random formula, simplified as far as stability goes."""
    random = Random(f"{word} {seed}")
    known = list(X)
    for _ in range(count):
        name = random.choice(word)
        a, b = random.choice(known[-3:]), random.choice(known)
        known.append(TWO[name](a, b) if name in TWO else ONE[name](a))
    return known[-1]


def parts(word: str, seed: int) -> list[Node]:
    """Return the nodes of a formula and of what simplification makes of it."""
    node = draw(word, seed)
    return postorder([node, *stabilize([node]), *simplify([node])])


def same(monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], always: object, rule: Any, nodes: list[Node]) -> None:
    """Compare what a rule gives with a short look and without one."""
    short = paused(lambda: [rule(node) for node in nodes])()
    monkeypatch.setattr(*place, lambda *args: always)
    whole = paused(lambda: [rule(node) for node in nodes])()
    assert all(a is b for a, b in zip(short, whole, strict=True))


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_factors_that_vanish_meet_nothing_where_none_is_seen(
    monkeypatch: pytest.MonkeyPatch, word: str, seed: int
) -> None:
    nodes = [node for node in parts(word, seed) if node.is_multiplicative]
    same(monkeypatch, (removable, "_may_meet"), True, removable.smooth_quotient, nodes)


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_scalars_are_taken_out_of_nothing_where_first_terms_have_none(
    monkeypatch: pytest.MonkeyPatch, word: str, seed: int
) -> None:
    monkeypatch.setattr(removable, "_may_meet", lambda *args: True)
    nodes = [node for node in parts(word, seed) if node.is_multiplicative]
    same(monkeypatch, (removable, "_may_hold"), True, removable.smooth_quotient, nodes)


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_products_whose_exponentials_meet_none_have_their_normal_form(
    monkeypatch: pytest.MonkeyPatch, word: str, seed: int
) -> None:
    nodes = [node for node in parts(word, seed) if node.is_multiplicative or node.is_power]
    same(monkeypatch, (exponents, "_may_meet"), True, exponentials.normal_form, nodes)


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_sums_of_fractions_with_terms_apart_do_not_cancel(
    monkeypatch: pytest.MonkeyPatch, word: str, seed: int
) -> None:
    (rule,) = [row.rewrite for row in rewriter.RULES if row.name == "sum_of_fractions"]
    monkeypatch.setattr(fractions, "_may_cancel", lambda *args: True)
    nodes = [node for node in parts(word, seed) if node.is_additive]
    same(monkeypatch, (fractions, "_apart"), 0, rule, nodes)


@pytest.mark.parametrize("seed", range(60))
def test_sums_over_one_divisor_with_terms_apart_do_not_cancel(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    (rule,) = [row.rewrite for row in rewriter.RULES if row.name == "sum_of_fractions"]
    random = Random(seed)
    a, b, c, _ = X
    nodes = []
    for _ in range(20):
        below = random.choice([a + b, 1.0 + a, a + b + c])
        terms = [a / below, b / below, (2.0 + a) * (1.0 - a) / below / below, a * (b + 1.0) / below, constant(1.0)]
        nodes.append(sum(random.sample([*terms, -1.0 * terms[0], a * a / below / below], 3), start=terms[1]))
    assert any(rule(node) is not None for node in nodes)
    same(monkeypatch, (fractions, "_apart"), 0, rule, nodes)


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_sums_with_other_factors_are_no_differences_of_exponentials(word: str, seed: int) -> None:
    for node in parts(word, seed):
        found = exponents.as_sum(node) if node.is_additive and exponents.has_factors(node) else None
        assert found is None or found.sign() == 0


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_sums_of_functions_of_two_products_are_none_of_one(
    monkeypatch: pytest.MonkeyPatch, word: str, seed: int
) -> None:
    sums = [terms_of(node, 7) for node in parts(word, seed) if node.is_additive]
    rule = factors._several
    short = [rule(terms.parts) for terms in sums]
    monkeypatch.setattr(factors, "_holds_nothing_else", lambda *args: True)
    assert short == [rule(terms.parts) for terms in sums]


@pytest.mark.parametrize(("word", "seed"), SEEDS)
def test_exponential_sums_do_not_depend_on_what_was_read_before(word: str, seed: int) -> None:
    nodes = parts(word, seed)
    alone = [exponents.as_sum(node) for node in nodes]
    for found in (read(nodes), read(nodes[::-1])[::-1]):
        assert found == alone
        assert [None if each is None else each.exponents for each in found] == [
            None if each is None else each.exponents for each in alone
        ]


@paused
def read(nodes: list[Node]) -> list[exponents.Sum | None]:
    """Read sums one after the other, with what is noted of those before."""
    return [exponents.as_sum(node) for node in nodes]


def deep(seed: int) -> Node:
    """Return a product so long that there is no room for all of it, with exponentials here and there."""
    random = Random(seed)
    node = X[0]
    for k in range(random.randrange(20, 60)):
        factor = random.choice([*X, elementwise("exp", (X[k % 4],)), elementwise("sin", (X[k % 4],)), X[0] + X[1]])
        node = random.choice([node * factor, factor * node, node / factor, node + factor])
    return node


@pytest.mark.parametrize("seed", range(40))
def test_long_exponential_sums_do_not_depend_on_what_was_read_before(seed: int) -> None:
    nodes = postorder([deep(seed), deep(seed + 1000)])
    alone = [exponents.as_sum(node) for node in nodes]
    assert alone == read(nodes) == read(nodes[::-1])[::-1]


def test_values_that_differ_are_apart_two_by_two() -> None:
    random = Random(3)
    told = 0
    for _ in range(4_000):
        scale = 10.0 ** random.uniform(-14, 2)
        values = [(random.uniform(-1, 1) * scale + random.choice((0.0, 1.0)), random.choice((0.0, 1.0, 9.0)))
                  for _ in range(random.randrange(2, 6))]  # fmt: skip
        if rational_form._differ(values):
            told += 1
            assert all(rational_form._is_apart([(1.0, a), (-1.0, b)]) for a, b in combinations(values, 2))
    assert 500 < told < 3_900
    assert not rational_form._differ([(math.nan, math.nan), (1.0, 1.0)])
    assert not rational_form._differ([(math.inf, math.inf), (1.0, 1.0)])
    assert not rational_form._differ([None, (1.0, 1.0)])


@pytest.mark.parametrize("seed", range(60))
def test_products_with_one_factor_more_are_told_by_their_powers(seed: int) -> None:
    random = Random(seed)

    def product() -> Node:
        node = random.choice(X)
        for _ in range(random.randrange(5)):
            other = random.choice([*X[:2], constant(2.0), constant(0.5)])
            node = random.choice([node * other, node / other, -node, other * node])
        return node

    for _ in range(50):
        few, many = product(), product()
        left: dict[Node, float] = {}
        for node, side in ((many, 1.0), (few, -1.0)):
            for base, n in factors_of(node, 9).parts:
                if not base.is_constant:
                    left[base] = left.get(base, 0.0) + side * n
        assert has_one_more(powers_of(many, 9), powers_of(few, 9)) == ([n for n in left.values() if n] == [1.0])


def _value(form: rational_form.Form, at: dict[Node, Fraction]) -> float:
    """Return the value of a normal form whose powers are of inputs."""
    total = 0.0
    for (powers, exponent), c in form.items():
        own = float(c) * math.prod([float(at[base]) ** float(n) for base, n in powers])
        total += own * math.exp(_value(dict(exponent), at))
    return total


def _of(node: Node, at: dict[Node, Fraction]) -> float:
    args = [_of(arg, at) for arg in node.args]
    rules: dict[str, Callable[..., float]] = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / b,
        "negative": lambda a: -a,
        "power": lambda a, b: a**b,
        "exp": math.exp,
    }
    if node.is_constant:
        return float(node.value)
    return float(at[node]) if node.is_input else rules[node.op](*args)


@pytest.mark.parametrize("seed", range(60))
def test_normal_forms_have_the_values_of_what_they_are_of(seed: int) -> None:
    random = Random(seed)
    at = {x: Fraction(random.randrange(1, 9), 10) for x in X}
    known = [*X, constant(0.5), constant(2.0)]
    for _ in range(9):
        a, b = random.choice(known[-3:]), random.choice(known)
        name = random.choice("+-**gpnd")
        small = random.choice(X)
        divided = small / (b if b in X else small)
        known.append(TWO[name](a, b) if name in TWO else divided if name == "d" else ONE[name](small * a))
    for node in known:
        form = rational_form._total(rational_form._NormalForm(), [(1.0, node)])
        if form is not None and all(base in at for powers, _ in form for base, _ in powers):
            try:
                assert math.isclose(_value(form, at), _of(node, at), rel_tol=1e-9, abs_tol=1e-9)
            except (OverflowError, KeyError):
                continue


def test_rules_that_never_end_are_an_error() -> None:
    node = X[0]
    rewriter._nested.nodes.update(elementwise("sin", (X[0] + float(k),)) for k in range(1_001))
    try:
        with pytest.raises(RecursionError, match="within each other"):
            rewriter.settle(elementwise("cos", (node,)))
    finally:
        rewriter._nested.nodes.clear()
