"""Parts that are read of a formula: what is computed is equal, and costs what the part costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.calculus.cost import cost
from symdiff.calculus.modes import pullback
from symdiff.graph import INT, Item, Node, broadcast_to, constant, gather, inputs_of, postorder, slicing, take, verify
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.sizes import Dim, named, value
from symdiff.rewrite.counting import count_from_whole
from symdiff.rewrite.narrowing import narrow
from tests.support.strategies import SIZES, Formula, formulas, sample

few = settings(
    max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def near(got: Any, want: Any) -> None:
    scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10 * scale)


# ---------------------------------------------------------------------------- random formulas, random parts


def _item(draw: st.DrawFn, size: Dim) -> Item:
    """Draw places of an axis: one of them, or some that are next to each other or apart, in either order."""
    n = value(size, SIZES)
    at = draw(st.integers(0, n - 1)) if isinstance(size, int) else draw(st.sampled_from((0, size - 1)))
    kind = draw(st.sampled_from(("all", "one", "one", "some", "turned", "last")))
    if kind == "all" or n < 2:
        return (0, 1, size)
    if kind == "one" or not isinstance(size, int):
        return (at, 1, None)
    if kind == "turned":
        return (size - 1, -1, draw(st.integers(1, size)))
    if kind == "last":
        return (size - 1, 1, draw(st.sampled_from((None, 1))))
    start, step = draw(st.integers(0, n - 1)), draw(st.sampled_from((1, 2, -1, -2)))
    room = (n - 1 - start) // step if step > 0 else start // -step
    return (start, step, draw(st.integers(1, room + 1)))


@st.composite
def parts(draw: st.DrawFn, root: Node) -> Node:
    """Draw a part of an array: a slice, listed positions, or positions that a call brings."""
    if not root.shape or any(value(size, SIZES) == 0 for size in root.shape):
        return root
    axis = draw(st.integers(0, root.ndim - 1))
    kind = draw(st.sampled_from(("items", "items", "listed", "taken")))
    if kind == "items" or not isinstance(root.shape[axis], int):
        return slicing(root, tuple(_item(draw, size) for size in root.shape))
    if kind == "listed":
        listed = st.lists(st.integers(0, value(root.shape[axis], SIZES) - 1), min_size=1, max_size=2)
        return gather(root, axis, tuple(draw(listed)))
    name, shape = draw(st.sampled_from((("i", ()), ("j", (1,)), ("k", (2,)))))
    at = variable(name, shape, INT)
    return take(root, at, axis)


@st.composite
def chains(draw: st.DrawFn, symbolic: bool = False, smooth: bool = False, steps: int = 8) -> Formula:
    """Draw a formula of which some parts are read, one of them perhaps computed with."""
    formula = draw(formulas(symbolic=symbolic, smooth=smooth, steps=steps))
    roots = []
    for root in formula.roots:
        first = draw(parts(root))
        roots.append(first)
        if draw(st.booleans()):
            roots.append(draw(parts(sd.graph.elementwise("sin", (root,)) if root.dtype == "real" else root)))
        if draw(st.booleans()):
            roots.append(draw(parts(first)))
    return Formula(formula.inputs, tuple(roots))


def point(formula: Formula, seed: int) -> dict[str, Any]:
    values = sample(formula.inputs, (1,) * len(formula.inputs), seed)
    at = {node.name: own[0] for node, own in zip(formula.inputs, values, strict=True)}
    for node in inputs_of(formula.roots):
        if node.dtype is INT:
            at[node.name] = np.zeros(node.shape, int)
    return at


@few
@given(chains(), st.integers(0, 1000))
def test_parts_of_numbers_of_elements_keep_their_values(formula: Formula, seed: int) -> None:
    _keeps_values(formula, seed)


@few
@given(chains(symbolic=True), st.integers(0, 1000))
def test_parts_of_letters_keep_their_values(formula: Formula, seed: int) -> None:
    _keeps_values(formula, seed)


def _keeps_values(formula: Formula, seed: int) -> None:
    roots, at = list(formula.roots), point(formula, seed)
    wanted = evaluate(roots, at, formula.inputs)
    narrowed = narrow(roots)
    for made in (narrowed, count_from_whole(narrowed), count_from_whole(roots)):
        verify(made)
        assert [(n.shape, n.dtype) for n in made] == [(n.shape, n.dtype) for n in roots]
        for got, want in zip(evaluate(made, at, formula.inputs), wanted, strict=True):
            near(np.asarray(got, float), np.asarray(want, float))


@few
@given(chains(smooth=True, steps=6), st.integers(0, 1000))
def test_parts_keep_their_slopes(formula: Formula, seed: int) -> None:
    roots, at = [root for root in formula.roots if root.dtype == "real"], point(formula, seed)
    assume(not any(node.op == "adjugate" for node in postorder(roots)))  # to be differentiated by its formula
    for root, made in zip(roots, narrow(roots), strict=True):
        slopes = [
            [slope or broadcast_to(constant(0.0), x.shape) for x, slope in zip(formula.inputs, pulled, strict=True)]
            for pulled in (
                pullback({one: broadcast_to(constant(1.0), one.shape)}, list(formula.inputs)) for one in (root, made)
            )
        ]
        slopes.append(count_from_whole(slopes[0]))
        want, *several = (evaluate(one, at, formula.inputs) for one in slopes)
        for got in several:
            for a, b in zip(got, want, strict=True):
                near(a, b)


@few
@given(chains(steps=6))
def test_parts_are_no_more_work_than_the_whole(formula: Formula) -> None:
    roots = list(formula.roots)
    assert cost(narrow(roots)) <= 1.5 * cost(roots) + 10


# ---------------------------------------------------------------------------- what a part costs

M, K, H = 10_000, 6, 4
X, W, A, B = sd.symbol("X", (M, K)), sd.symbol("W", (H, K)), sd.symbol("A", (M, 3, 3)), sd.symbol("B", (M, 3, 2))
C, D, v = sd.symbol("C", (M, 3)), sd.symbol("D", (M, 3)), sd.symbol("v", (K,))
i, idx, jdx = sd.index("i"), sd.indices("idx", 5), sd.indices("jdx", 5)
Z = X @ W.T
T = np.tanh(Z)

FORMS: dict[str, Callable[[], Any]] = {
    "one element of a product": lambda: Z[0, 0],
    "a row of a function": lambda: T[0],
    "the last row": lambda: T[-1],
    "some rows": lambda: T[3:8],
    "rows apart": lambda: T[10:25:3],
    "rows from the end": lambda: T[::-1][:5],
    "a column of a transpose": lambda: T.T[:, 4],
    "listed rows": lambda: T[np.array([1, 7, 5])],
    "rows that a call brings": lambda: T[idx],
    "a row that a call brings": lambda: T[i],
    "a row of shares": lambda: sd.softmax(Z, axis=1)[5, 1],
    "shares of a row that a call brings": lambda: sd.softmax(Z, axis=1)[i, 2],
    "a logarithm of a sum": lambda: sd.logsumexp(Z, axis=1)[5],
    "a greatest element": lambda: Z.max(axis=1)[7],
    "a norm": lambda: np.linalg.norm(Z, axis=1)[7],
    "a sum": lambda: np.exp(Z).sum(axis=1)[7],
    "a mean taken off": lambda: (Z - Z.mean(axis=1, keepdims=True))[3],
    "sums so far along the other axis": lambda: np.cumsum(T, axis=1)[4],
    "sums so far": lambda: np.cumsum(T, axis=0)[3],
    "some sums so far": lambda: np.cumsum(T, axis=0)[3:6],
    "products so far": lambda: np.cumprod(T, axis=0)[3],
    "greatest elements so far": lambda: np.maximum.accumulate(T, axis=0)[3],
    "an order": lambda: np.sort(Z, axis=1)[4, 3],
    "a choice": lambda: np.where(Z > 0, Z, np.exp(Z))[2],
    "a product of three": lambda: np.einsum("ij,kj,ik->i", X, W, T)[3],
    "joined beside": lambda: np.concatenate([T, X], axis=1)[2],
    "joined below": lambda: np.concatenate([T, np.sin(T)], axis=0)[M - 2 : M + 3],
    "stacked": lambda: np.stack([np.tanh(X @ v), np.sin(X @ v)])[1, 3],
    "split": lambda: T.reshape(100, 100, H)[3, 4],
    "split, some": lambda: T.reshape(100, 100, H)[3, 4:9],
    "split and merged, one": lambda: T.reshape(20, M // 20 * H)[3, 100],
    "split and merged, some": lambda: T.reshape(20, M // 20 * H)[3, 2 * H + 1 : 2 * H + 3],
    "split and merged, rows": lambda: T.reshape(M * H // 40, 20, 2)[3, :4],
    "merged": lambda: T.reshape(M * H)[17:23],
    "merged, one": lambda: T.reshape(M * H)[17],
    "an inverse": lambda: np.linalg.inv(A)[3],
    "a determinant": lambda: np.linalg.det(A)[3:5],
    "a solution": lambda: np.linalg.solve(A, B)[3],
    "an exponential": lambda: sd.expm(A)[3],
    "a row of a part that a call brings": lambda: T[5:][i],
    "a row from the end that a call brings": lambda: T[::-1][i],
    "every other row that a call brings": lambda: T[1::2][idx],
    "a difference that a call brings": lambda: np.diff(np.tanh(X @ v))[i],
    "split, then brought": lambda: T.reshape(100, 100, H)[3, i],
    "brought, then split": lambda: T.reshape(100, 100, H)[idx, 4],
    "listed of what is merged": lambda: T.reshape(M * H)[np.array([9, 1, 30, 9])],
    "listed across a joint": lambda: np.concatenate([T, np.sin(T)], axis=0)[np.array([3, M + 5, 7, M + 5])],
    "a row of a triangle": lambda: np.triu(np.outer(X @ v, X[:6] @ v), 1)[3],
    "rows of a triangle": lambda: np.tril(np.outer(X @ v, X[:6] @ v), -1)[2:5, 1:],
    "a row across a joint that a call brings": lambda: np.concatenate([T, np.sin(T)], axis=0)[i],
    "rows across a joint that a call brings": lambda: np.concatenate([T, np.sin(T)], axis=0)[idx],
    "a row of a padding that a call brings": lambda: np.pad(T, ((1, 1), (0, 0)))[i],
    "turned": lambda: np.roll(T, 1, axis=0)[i],
    "an element of what is merged": lambda: T.reshape(M * H)[i],
    "elements of what is merged": lambda: T.reshape(M * H)[idx],
    "a cross product": lambda: np.cross(C, D)[i],
    "pairs that a call brings": lambda: T[idx, jdx],
    "two rows": lambda: T[0] * T[1],
    "rows far apart": lambda: T[0] * T[-1],
    "differences": lambda: np.diff(np.tanh(X @ v))[4],
    "a part of a part": lambda: np.sin(T[5:5000])[3],
    "padded": lambda: np.pad(T, ((1, 1), (0, 0)))[:3],
    "layers": lambda: (np.tanh(T @ W + v) @ v)[0],
    "a quotient of a row by its sum": lambda: (np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True))[4],
}


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_what_is_split_and_merged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [(24,), (4, 6), (6, 4), (2, 12), (12, 2), (1, 24), (2, 3, 4), (4, 3, 2), (4, 1, 6), (2, 2, 2, 3)]
    for _ in range(60):
        before, after = (shapes[k] for k in rng.integers(len(shapes), size=2))
        part = []
        for size in after:
            at = int(rng.integers(size))
            some = slice(at, int(rng.integers(at + 1, size + 1)))
            part.append((at, some, slice(None), slice(None, None, 2))[rng.integers(4)])
        x = sd.symbol("x", before)
        (made,) = narrow([(x**2).reshape(after)[tuple(part)].node])
        value = np.arange(24.0).reshape(before)
        np.testing.assert_array_equal(evaluate([made], {"x": value})[0], (value**2).reshape(after)[tuple(part)])


def test_blocks_that_a_call_brings() -> None:
    (made,) = narrow([T.reshape(1000, 10, H)[i].node])
    assert cost([made]) < 1000


def _long(root: Node) -> list[Node]:
    """Return what has a long axis, but for inputs and what reads them."""
    return [
        node
        for node in postorder([root])
        if node.args and any(isinstance(size, int) and size >= 50 for size in node.shape)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_parts_cost_what_they_are(form: str) -> None:
    (made,) = count_from_whole(narrow([FORMS[form]().node]))
    assert _long(made) == []


@pytest.mark.parametrize("form", FORMS)
def test_slopes_of_parts_cost_what_the_parts_are(form: str) -> None:
    """Nothing has a long axis but the zeros around what is not 0."""
    f = FORMS[form]()
    for x in (X, A):
        if x.node in inputs_of([f.node]):
            (slope,) = count_from_whole([sd.gradient(np.sum(f), x).node])
            long = _long(slope)
            ends = [node for node in long if node.op in ("pad", "put", "scatter") or (node.below and _is_placed(node))]
            assert len(ends) >= len(long) - 1
            assert cost([slope]) < 40 * M


def _is_placed(node: Node) -> bool:
    return node.is_contraction and any(arg.op in ("onehot", "delta") for arg in node.args)


def test_letters() -> None:
    x = sd.symbol("x", ("m", K))
    t = np.tanh(x @ W.T)
    for f in (t[0], t[-1], sd.softmax(t, axis=1)[2, 1], np.concatenate([t, x], axis=1)[3], t[i]):
        (made,) = narrow([f.node])
        assert not any(named("m") in node.shape for node in postorder([made]) if node.args)


def test_parts_that_fill_an_array_are_taken_of_the_whole() -> None:
    """Gates of a cell read one product, and neighbours one array of functions."""
    z = Z.T
    gates = [np.tanh(z[k : k + 1]) for k in range(H)]
    u = np.exp(np.sin(X @ v))
    for roots in (gates, [u[1:] - u[:-1]], [T, T[0]], [u[::-1]], [u[k] for k in range(0, M, 500)] + [u]):
        nodes = [sd.asarray(root).node for root in roots]
        assert cost(narrow(nodes)) <= cost(nodes)


def test_neighbouring_elements_are_taken_of_one_row() -> None:
    nodes = [(Z[0, k] * 2).node for k in range(H)]
    made = narrow(nodes)
    products = {node for node in postorder(made) if node.is_contraction and len(node.args) == 2}
    assert [node.shape for node in products] == [(H,)]


def test_a_jacobian_by_a_row_is_printed_as_a_matrix() -> None:
    assert str(sd.jacobian(Z[3], X[3])) == "W"
    assert str(sd.jacobian(T[3], X[3])) == str(sd.jacobian(np.tanh(X[3] @ W.T), X[3]))


def test_a_row_that_a_call_brings_is_a_variable() -> None:
    assert str(sd.jacobian(Z[i], X[i])) == "W"
    assert str(sd.hessian(T[i].sum(), X[i])).replace("X[i]", "X[3]") == str(sd.hessian(T[3].sum(), X[3]))
    j = sd.index("j")
    other = sd.compile(sd.jacobian(Z[j], X[i]), [X, W, i, j], backend="interpreter")
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=X.shape), rng.normal(size=W.shape)
    near(other(x, w, 3, 3), w)
    near(other(x, w, 3, 4), 0.0 * w)
    loss = np.sum(np.tanh(Z) ** 2) + np.sum(X[0] * X[i])
    kernel = sd.compile([sd.gradient(loss, X[i]), sd.gradient(loss, X)[i]], [X, W, i], backend="interpreter")
    for at in (0, 7):
        near(*kernel(x, w, at))
    near(*sd.compile([sd.jvp(T, X[i], v), sd.jacobian(T, X[i]) @ v], [X, W, i, v], backend="numpy")(x, w, 2, x[0]))
    with pytest.raises(sd.SymdiffError, match="no variable"):
        sd.gradient(T[idx].sum(), X[idx])


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("form", FORMS)
def test_kernels_of_parts(form: str, backend: Any) -> None:
    rng = np.random.default_rng(3)
    f = FORMS[form]()
    kernel = sd.compile(f, backend=backend)
    values: dict[str, Any] = {
        node.name: np.array([3, 0, 1, 2, 3])[: int(np.prod(node.shape))].reshape(node.shape)
        if node.dtype is INT
        else rng.uniform(-1, 1, node.shape) + (3 * np.eye(3) if node.name == "A" else 0)
        for node in inputs_of([f.node])
    }
    (want,) = evaluate([f.node], values)
    near(kernel(**values), want)
