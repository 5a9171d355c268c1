from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symdiff.graph import Node, constant, elementwise, label, number
from symdiff.graph import input as variable
from symdiff.graph.scalars.arithmetic import factors_of, peel, scaled, terms_of, without_numbers

LEAVES = {variable(name): value for name, value in (("a", 3.0), ("b", 5.0), ("c", -2.0), ("d", 7.0))}
A, B, C, D = LEAVES
FUNCTIONS: dict[str, Callable[..., float]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y if y else math.nan,
    "negative": lambda x: -x,
    "power": lambda x, n: x**n if x else math.nan,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "named": lambda x: x,
}


def value(node: Node) -> float:
    if node in LEAVES:
        return LEAVES[node]
    known = number(node)
    return float(FUNCTIONS[node.op](*map(value, node.args))) if known is None else known


def joined(name: str, parts: tuple[Node, ...]) -> Node:
    return elementwise(name, parts)


def grown(names: tuple[str, ...], below: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    two = st.builds(joined, st.sampled_from(names), st.tuples(below, below))
    return two | st.builds(joined, st.just("negative"), st.tuples(below))


ATOMS = st.sampled_from([*LEAVES, constant(2.0), A * B, A + D, elementwise("sqrt", (D,))])
SUMS = st.recursive(ATOMS, lambda below: grown(("add", "subtract"), below), max_leaves=20)
PRODUCTS = st.recursive(ATOMS, lambda below: grown(("multiply", "divide"), below), max_leaves=20)


@given(SUMS)
def test_terms_add_up_to_the_sum_and_hold_none(node: Node) -> None:
    parts, whole = terms_of(node)
    assert whole
    assert math.isclose(sum(sign * value(term) for sign, term in parts), value(node), abs_tol=1e-9)
    assert all(term.op not in ("add", "subtract", "negative") and abs(sign) == 1 for sign, term in parts)


@given(SUMS, st.integers(1, 6))
def test_of_a_long_sum_a_limited_number_of_terms_is_returned(node: Node, most: int) -> None:
    parts, whole = terms_of(node, most)
    assert len(parts) <= most
    assert math.isclose(sum(sign * value(term) for sign, term in parts), value(node), abs_tol=1e-9)
    assert whole or len(terms_of(node).parts) > most


@given(SUMS, st.integers(0, 12))
def test_so_many_nodes_of_a_sum_are_looked_at(node: Node, steps: int) -> None:
    parts, whole = terms_of(node, steps=steps)
    assert math.isclose(sum(sign * value(term) for sign, term in parts), value(node), abs_tol=1e-9)
    assert whole == all(term.op not in ("add", "subtract", "negative") for _, term in parts)


@given(PRODUCTS)
def test_factors_multiply_to_the_product_and_hold_none(node: Node) -> None:
    sign, parts, whole = factors_of(node)
    assert whole
    total = sign * math.prod(value(factor) ** power for factor, power in parts)
    assert math.isclose(total, value(node), rel_tol=1e-9) or math.isnan(value(node))
    assert all(factor.op not in ("multiply", "divide", "negative") or factor is A * B for factor, _ in parts)


@given(PRODUCTS, st.integers(1, 6))
def test_of_a_long_product_a_limited_number_of_factors_is_returned(node: Node, most: int) -> None:
    sign, parts, whole = factors_of(node, most)
    assert len(parts) <= most
    total = sign * math.prod(value(factor) ** power for factor, power in parts)
    assert math.isclose(total, value(node), rel_tol=1e-9)
    assert whole == (len(factors_of(node).parts) <= most)


def test_parts_come_from_left_to_right() -> None:
    assert terms_of(A - (B - C) - D).parts == [(1.0, A), (-1.0, B), (1.0, C), (-1.0, D)]
    assert factors_of(A / (B / C) * D) == (1, [(A, 1.0), (B, -1.0), (C, 1.0), (D, 1.0)], True)


def test_what_is_not_entered_is_one_part() -> None:
    inner = B + C
    assert terms_of(A - inner, enter=lambda part: part is not inner).parts == [(1.0, A), (-1.0, inner)]
    assert factors_of(A * (B / C), enter=lambda part, _: part.op == "multiply").parts == [(A, 1.0), (B / C, 1.0)]


def test_powers_and_roots_multiply_where_they_are_entered() -> None:
    node = elementwise("power", (elementwise("sqrt", (-(A / B),)), constant(6.0)))
    assert factors_of(node).parts == [(node, 1.0)]
    # the sign stands in the power 6 / 2, which is odd
    assert factors_of(node, enter=lambda part, _: bool(part.args)) == (-1, [(A, 3.0), (B, -3.0)], True)


def test_a_product_of_more_nodes_than_are_looked_at_is_not_whole() -> None:
    product = A * B * C * D
    assert factors_of(product, steps=7) == (1, [(A, 1.0), (B, 1.0), (C, 1.0), (D, 1.0)], True)
    assert not factors_of(product, steps=6).whole


def test_names_are_looked_through_where_asked_for() -> None:
    named = label(A + B, "s")
    assert terms_of(named - C).parts == [(1.0, named), (-1.0, C)]
    assert terms_of(named - C, look=peel).parts == [(1.0, A), (1.0, B), (-1.0, C)]
    assert factors_of(label(A * B, "p") / C, look=peel).parts == [(A, 1.0), (B, 1.0), (C, -1.0)]


def test_multiples_of_sums_are_taken_apart_where_asked_for() -> None:
    node = A - 2.0 * (B - 3.0 * C)
    found = terms_of(node, multiple=lambda part: scaled(part) if part.op == "multiply" else None)
    assert found.parts == [(1.0, A), (-2.0, B), (6.0, C)]


@pytest.mark.parametrize(
    ("node", "one_look", "deep"),
    [
        (A, (1.0, A), (1.0, A)),
        (-A, (-1.0, A), (-1.0, A)),
        (2.0 * A, (2.0, A), (2.0, A)),
        (2.0 * (-(A / 4.0)), (2.0, -(A / 4.0)), (-0.5, A)),
        (0.0 * A, (0.0, A), (1.0, 0.0 * A)),
        (-label(3.0 * A, "t"), (-1.0, label(3.0 * A, "t")), (-3.0, A)),
    ],
)
def test_numbers_in_front(node: Node, one_look: tuple[float, Node], deep: tuple[float, Node]) -> None:
    assert scaled(node) == one_look
    assert without_numbers(node) == deep


def test_long_sums_and_products_do_not_recurse() -> None:
    total, product = A, A
    for _ in range(5000):
        total, product = -(total + B), B / product
    assert len(terms_of(total).parts) == 5001
    assert len(factors_of(product).parts) == 5001
