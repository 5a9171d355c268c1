"""Einstein's notation in text: subscripts are the one text that a formula quotes, and only where einsum begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd

rng = np.random.default_rng(0)
SHAPES = {"A": (3, 4), "B": (4, 5), "S": (3, 3), "x": (4,), "T": (2, 3, 4)}


@pytest.mark.parametrize(
    ("subscripts", "names"),
    [
        ("ij,jk->ik", "AB"),
        ("ij,j", "Ax"),
        ("ij,ij->", "AA"),
        ("ii", "S"),
        ("ii->i", "S"),
        ("...j,j->...", "Tx"),
        ("aij, ij -> a", "TA"),
        ("ij,jk,il->kl", "ABS"),
        ("i,j->ji", "xx"),
    ],
)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_subscripts_mean_what_they_mean_in_numpy(subscripts: str, names: str, quote: str) -> None:
    shapes: dict[str, Any] = {name: SHAPES[name] for name in names}
    given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    text = f"einsum({quote}{subscripts}{quote}, {', '.join(names)})"
    kernel = sd.compile(text, **shapes)
    wanted = np.einsum(subscripts, *(given[name] for name in names))
    arguments = [given[p.name] for p in kernel.inputs]
    np.testing.assert_allclose(kernel(*arguments), wanted, rtol=1e-13, atol=1e-13)
    slope = sd.compile(f"gradient(sum({text}**2), {names[0]})", **shapes)
    symbols = {name: sd.array(name, shape) for name, shape in shapes.items()}
    other = sd.gradient(np.sum(np.einsum(subscripts, *(symbols[name] for name in names)) ** 2), symbols[names[0]])
    of_symbols = sd.compile(other, inputs=[symbols[p.name] for p in kernel.inputs])
    np.testing.assert_allclose(slope(*arguments), of_symbols(*arguments), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("einsum('ij,jk', A)", "names 2 operands; 1 came"),
        ("einsum('ij->ikz', A)", "'k' is in the result"),
        ("einsum('i;j', A)", "text in quotes is not part"),
        ("einsum('ij' , 'ij')", "text in quotes is not part"),
        ("sum('ij')", "text in quotes is not part"),
        ("einsum(A, A)", "expected subscripts"),
        ("einsum('ijk', A)", "against an array of shape"),
        ("A'*A", "dialect='matrixcalculus'"),
    ],
)
def test_other_text_is_refused(text: str, told: str) -> None:
    with pytest.raises(sd.SymdiffError, match=told):
        sd.compile(text, A=(3, 4))
