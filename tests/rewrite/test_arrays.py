"""Rules of what moves elements of arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import concatenate, elementwise, input, pad, postorder, slicing
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import simplify


@st.composite
def parts(draw: Any) -> tuple[tuple[int, int, int], tuple[int, int, int | None], int]:
    """Draw a place of an array in zeros, a part of these, and how many they are."""
    count, before, after = (draw(st.integers(1, 6)), draw(st.integers(0, 4)), draw(st.integers(0, 4)))
    size = before + count + after
    start, end = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
    step = draw(st.sampled_from([1, 2, 3])) * (1 if end >= start else -1)
    length = draw(st.sampled_from([None, (end - start) // step + 1]))
    return (before, 1, count), (start, step, length), size


@settings(max_examples=200, deadline=None)
@given(st.lists(parts(), min_size=1, max_size=2))
def test_parts_of_paddings(drawn: list[tuple[tuple[int, int, int], tuple[int, int, int | None], int]]) -> None:
    places, items, shape = zip(*drawn, strict=True)
    x = input("x", tuple(count for _, _, count in places))
    root = slicing(pad(elementwise("exp", (x,)), places, shape), items)
    (found,) = simplify([root])
    data = {"x": np.random.default_rng(0).normal(size=x.shape)}
    (want,), (got,) = (evaluate([one], data, [x]) for one in (root, found))
    np.testing.assert_array_equal(got, want)
    ends = [
        (start - low, start - low if n is None else start - low + (n - 1) * step)
        for (low, _, _), (start, step, n) in zip(places, items, strict=True)
    ]
    within = all(min(pair) >= 0 and max(pair) < count for pair, (_, _, count) in zip(ends, places, strict=True))
    beside = any(max(pair) < 0 or min(pair) >= count for pair, (_, _, count) in zip(ends, places, strict=True))
    if within or beside:
        assert not any(node.is_pad for node in postorder([found]))


def test_a_part_of_joined_arrays_among_zeros() -> None:
    a, b = input("a", (5,)), input("b", (5,))
    joined = pad(concatenate([a, b], 0), ((2, 1, 10),), (12,))
    assert simplify([slicing(joined, ((7, 1, 5),))]) == [b]


def test_halves_of_a_cholesky_factor_and_of_its_transpose() -> None:
    """The factor solves by its transpose as a matrix does, whichever function says that it is triangular."""
    K = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
    L = np.linalg.cholesky(K)
    for upper, k, turned in itertools.product([False, True], [-1, 0, 1], [False, True]):
        text = f"{'triu' if upper else 'tril'}(cholesky(K){'.T' if turned else ''}, {k})"
        found = sd.compile(text, K=(3, 3))
        expected = (np.triu if upper else np.tril)(L.T if turned else L, k)
        np.testing.assert_allclose(found(K), expected, rtol=1e-14, atol=1e-16)
    read = "y @ solve_triangular(cholesky(K).T, solve_triangular(cholesky(K), y, lower=True))"
    assert str(sd.gradient(read, "y", K=("n", "n"), y="n")) == "2 * solve(cholesky(K).T, solve(cholesky(K), y))"
