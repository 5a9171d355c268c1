"""What a formula shows and computes does not depend on where its nodes are in memory."""

from __future__ import annotations

import gc
import random
from functools import reduce
from operator import mul
from typing import Any

import pytest

import symdiff as sd
from symdiff.graph import input
from symdiff.graph.scalars.arithmetic import PowerProduct
from symdiff.rewrite.cancelling.monomials import like


def fraction(draw: random.Random) -> tuple[Any, Any]:
    """Return a sum of fractions of products of letters, and one of the letters."""
    names = draw.sample("abcdefgh", 5)
    letters = {name: sd.scalar(name) for name in draw.sample(names, 5)}

    def product() -> Any:
        return reduce(mul, [letters[name] for name in draw.sample(names, draw.choice((2, 3)))])

    above, below = product() + product(), product() + product() + 1
    x = letters[names[0]]
    return product() * above / below + product() * x / (below * below), x


def shown(seed: int) -> tuple[str, str]:
    f, x = fraction(random.Random(seed))
    slope = sd.gradient(f, x)
    return str(slope), sd.compile(slope, backend="numpy").source("numpy")


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(12))
def test_sums_of_fractions_are_written_alike_wherever_their_nodes_are(seed: int) -> None:
    draw, others, seen = random.Random(seed), [], set()
    for _ in range(5):
        seen.add(shown(seed))
        gc.collect()  # of the formula nothing is left; other nodes take its places
        others.append([input(f"z{draw.randrange(10**9)}") for _ in range(draw.randrange(1, 60))])
        del others[: draw.randrange(len(others))]
    assert len(seen) == 1


def test_factors_of_like_terms_keep_their_order() -> None:
    letters = [input(name) for name in "abcdefghij"]
    for turn in range(len(letters)):
        order = letters[turn:] + letters[:turn]
        first = PowerProduct(2.0, dict.fromkeys(order, 1))
        again = PowerProduct(3.0, dict.fromkeys(reversed(order), 1))
        (found,) = like([first, again, PowerProduct(1.0, {order[0]: 2}), PowerProduct(-1.0, {order[0]: 2})])
        assert found.number == 5.0
        assert list(found.powers) == order
