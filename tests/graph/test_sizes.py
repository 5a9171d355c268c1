"""Sizes as text: sums of products of letters and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph.sizes import Size, read_size, value

FACTORS = st.sampled_from(["m", "n", "2", "3", "n**2", "k_1"])
TERMS = st.lists(FACTORS, min_size=1, max_size=3).map("*".join)


@given(st.lists(TERMS, min_size=1, max_size=3), st.data())
def test_a_size_means_what_python_computes(terms: list[str], data: Any) -> None:
    signs = [data.draw(st.sampled_from("+-")) for _ in terms[1:]]
    text = terms[0] + "".join(f" {sign} {term}" for sign, term in zip(signs, terms[1:], strict=True))
    known = {"m": 5, "n": 7, "k_1": 2}
    size = read_size(text)
    assert size is not None
    expected = eval(text, dict(known))  # noqa: S307  # of this file
    assert (value(size, known) if isinstance(size, Size) and expected >= 0 else expected) == expected
    assert read_size(str(size)) == size


@pytest.mark.parametrize(
    "text", ["", "n!", "n*", "*n", "n m", "n--1", "lambda", "n**", "n**0", "(n)", "n/2", "1.5", "n" * 2000]
)
def test_what_is_no_size(text: str) -> None:
    assert read_size(text) is None
    with pytest.raises(sd.SymdiffError, match="size"):
        sd.compile("sum(x)", x=(text, 2))
    if text != "lambda":  # symbols have names of Python's for sizes, too
        with pytest.raises(sd.SymdiffError, match="size"):
            sd.vector("x", text)


def test_products_of_sizes_are_shapes() -> None:
    k = sd.compile("sum(reshape(x, (m, n)) * A)", x="m*n", A=("m", "n"))
    assert k.signature == "(x: (m*n,), A: (m, n)) -> ()"
    assert k(np.arange(6.0), np.ones((2, 3))) == 15
    with pytest.raises(sd.ShapeError, match=r"should have m\*n = 6 elements and has 5"):
        k(np.arange(5.0), np.ones((2, 3)))
    assert sd.compile("x[1:] + y", x="n + 1", y="n")([1.0, 2.0, 3.0], [1.0, 1.0]).tolist() == [3, 4]


@pytest.mark.parametrize("order", ["'nuc'", '"nuc"', "'fro'", "ord='nuc'", "ord='fro'", "2", "inf", "-1"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_norms_by_word_are_numpys(order: str, shape: tuple[int, int]) -> None:
    a = np.random.default_rng(1).normal(size=shape)
    own = eval(order.removeprefix("ord="), {"inf": np.inf})  # noqa: S307  # of this file
    assert sd.compile(f"norm(A, {order})", A=shape)(a) == pytest.approx(np.linalg.norm(a, own), rel=1e-13)
    if own == "nuc":
        u, _, v = np.linalg.svd(a, full_matrices=False)
        for sizes in (shape, ("m", "n")):
            k = sd.compile(f"norm(A, {order})", A=sizes)
            assert k(a) == pytest.approx(np.linalg.norm(a, "nuc"), rel=1e-13)
            slope = sd.compile(sd.gradient(f"norm(A, {order})", "A", A=sizes))
            np.testing.assert_allclose(slope(a), u @ v, atol=1e-13)


@pytest.mark.parametrize("text", ["norm(A, 'spam')", "sin('fro')", "'fro' + 1", "norm('nuc', A)"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(sd.SymdiffError):
        sd.compile(text, A=(3, 3))
