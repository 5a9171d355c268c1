"""Integer inputs beside whole numbers, slices, None and '...' in one index, and the advice for what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd

SHAPES = st.lists(st.integers(2, 4), min_size=1, max_size=4).map(tuple)
X, V, A, C = sd.vector("x", 3), sd.vector("v", "n"), sd.matrix("A", 3, 3), sd.scalar("c")
P, J, K, L = sd.index("i"), sd.indices("j", 2), sd.indices("k", 2), sd.indices("l", 3)
NUMBERS = {
    "x": np.array([1.0, 2.0, 4.0]),
    "v": np.array([5.0, 6.0, 7.0]),
    "A": np.arange(9.0).reshape(3, 3),
    "i": 1,
    "j": np.array([0, 2]),
    "k": np.array([2, 1]),
    "l": np.array([0, 1, 1]),
}


@given(data=st.data(), shape=SHAPES, several=st.sampled_from([(2,), (3,), (2, 2)]))
def test_mixed_indices_have_the_meaning_of_numpy(data: st.DataObject, shape: tuple[int, ...], several: Any) -> None:
    symbol, numbers = sd.symbol("T", shape), np.arange(float(np.prod(shape))).reshape(shape)
    key: list[Any] = []
    meant: list[Any] = []
    inputs, values = [symbol], [numbers]
    for axis, size in enumerate(shape):
        kind = data.draw(st.sampled_from(["one", "several", "number", "slice"]))
        if kind in ("one", "several"):
            own = () if kind == "one" else several
            inputs.append(sd.index(f"i{axis}") if kind == "one" else sd.indices(f"i{axis}", *several))
            flat = data.draw(st.lists(st.integers(0, size - 1), min_size=4, max_size=4))
            values.append(np.array(flat)[: int(np.prod(own))].reshape(own))
            key.append(inputs[-1])
            meant.append(values[-1])
        else:
            part: Any = data.draw(
                st.integers(0, size - 1) if kind == "number" else st.sampled_from([slice(None), slice(1, None)])
            )
            key.append(part)
            meant.append(part)
    others: Any = data.draw(st.sampled_from([[], [None], [...], [None, ...]]))
    for more in others:
        place = data.draw(st.integers(0, len(key)))
        key.insert(place, more)
        meant.insert(place, more)
    kernel = sd.compile(symbol[tuple(key)], inputs, backend="numpy")
    assert np.array_equal(kernel(*values), numbers[tuple(meant)])


#: What is refused, what is said, and the advice taken, with what it gives.
ADVICE: list[tuple[Callable[[], Any], str, Any, Any]] = [
    (lambda: X[[0, P]], r"sd.stack\(\[x\[0\], x\[i\]\]\)", sd.stack([X[0], X[P]]), [1, 2]),
    (lambda: V[[P, J]], r"x\[idx\], with idx = sd.indices", V[L], [5, 6, 6]),
    (lambda: X[[0, C]], "a list with symbols", sd.stack([X[0], X[P]]), [1, 2]),
    (lambda: A[[0, 1], J], r"A\[\[0, 1\]\]\[:, idx\]", A[[0, 1]][:, J], [[0, 2], [3, 5]]),
    (lambda: A[[0, 1], J], r"A\[jdx, idx\]", A[K, J], [6, 5]),
    (lambda: A[J, L], r"x\[i\]\[:, j\]", A[J][:, L], [[0, 1, 1], [6, 7, 7]]),
    (lambda: X[np.array([0.0, 1.0])], r"\.astype\(int\)", X[np.array([0.0, 1.0]).astype(int)], [1, 2]),
    (lambda: V[[0, -1]], r"sd.stack\(\[x\[0\], x\[-1\]\]\)", sd.stack([V[0], V[-1]]), [5, 7]),
    (lambda: X[P:], r"x\[idx\], with idx", X[L], [1, 2, 2]),
    (lambda: A[np.eye(3) == 1], r"np.ravel\(x\)\[np.ravel\(mask\)\]", np.ravel(A)[np.ravel(np.eye(3) == 1)], [0, 4, 8]),
    (lambda: X[X > 1], r"where\(condition, x, 0\)", np.where(X > 1, X, 0), [0, 2, 4]),
]


@pytest.mark.parametrize("place", range(len(ADVICE)))
def test_the_advice_of_what_is_refused_works(place: int) -> None:
    use, said, advised, gives = ADVICE[place]
    with pytest.raises(sd.SymdiffError, match=said):
        use()
    kernel = sd.compile(advised)
    assert kernel(*(NUMBERS[port.name] for port in kernel.inputs)).tolist() == gives


def test_the_advice_of_text_works() -> None:
    with pytest.raises(sd.ParseError, match=r"i=int for one, i=\(int, 'm'\) for several"):
        sd.compile("x[i]", x=3, i=())
    assert sd.compile("x[i]", x=3, i=int)([1, 2, 4], 2) == 4
    with pytest.raises(sd.ParseError, match=r"as in \[x\[0\], x\[i\]\]"):
        sd.compile("x[[0, i]]", x=3, i=int)
    assert sd.compile("[x[0], x[i]]", x=3, i=int)([1, 2, 4], 2).tolist() == [1, 4]
