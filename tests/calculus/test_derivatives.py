"""What the derivative functions promise: shapes, what one may differentiate by, seeds, errors, closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array, DisconnectedInputError, ShapeError
from symdiff.calculus import derivatives, wrt
from symdiff.errors import ArgumentError, DtypeError
from symdiff.graph import Node, constant, contract, delta, label_sizes, onehot, postorder
from symdiff.graph.deltas.einsum import einsum, is_plain
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import rewriter as engine
from symdiff.rewrite import simplify
from tests.support.calculus import check_calculus

RNG = np.random.default_rng(3)


def compute(f: Array, **values: Any) -> Any:
    return evaluate([f.node], values)[0]


# ---------------------------------------------------------------------------- shapes and what to differentiate by


@pytest.mark.parametrize("out", [(), (2,), (2, 3), (1, 1)])
@pytest.mark.parametrize("inside", [(), (3,), (3, 2), (1,)])
def test_a_jacobian_has_the_shape_of_the_formula_and_then_of_the_input(
    out: tuple[int, ...], inside: tuple[int, ...]
) -> None:
    x = sd.array("x", inside)
    total = np.sin(x).sum() if inside else np.sin(x)
    f = np.arange(1.0, 1.0 + np.prod(out, dtype=int)).reshape(out) * total
    assert sd.jacobian(f, x).shape == (*out, *inside)
    assert sd.derivative(f, x, 2).shape == (*out, *inside, *inside)
    assert sd.derivative(f, x, 0).shape == out
    assert sd.vjp(f, x, np.ones(out)).shape == inside
    assert sd.jvp(f, x, np.ones(inside)).shape == out
    if out in ((), (1, 1)):
        assert sd.gradient(f, x).shape == inside
        assert sd.hessian(f, x).shape == (*inside, *inside)
        assert sd.hvp(f, x, np.ones(inside)).shape == inside


def test_of_two_long_results_the_dearer_is_dropped_before_it_is_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    y = sd.vector("y", 6)
    rates = [y[i] * y[i + 1] * (i + 1.0) for i in range(5)]
    f = np.stack([rates[0] - rates[1], rates[1] + rates[2] * 2, rates[3] - rates[0], rates[4], rates[2] + rates[4]])
    at = {"y": RNG.normal(size=6)}
    want = compute(sd.jacobian(f, y), **at)
    counted: list[int] = []

    def counting(nodes: Sequence[Node], **options: Any) -> list[Node]:
        counted.append(len(nodes))
        return simplify(nodes, **options)

    monkeypatch.setattr(wrt, "simplify", counting)
    cases = ((10_000, 0, 1.0, 2), (0, 10_000, 1e9, 2), (0, 0, 1e9, 1), (0, 10_000, 1.0, 1))
    for long, very_long, close, times in cases:
        monkeypatch.setattr(derivatives, "_LONG", long)
        monkeypatch.setattr(derivatives, "_VERY_LONG", very_long)
        monkeypatch.setattr(derivatives, "_CLOSE", close)
        counted.clear()
        np.testing.assert_allclose(compute(sd.jacobian(f, y), **at), want, rtol=1e-14)
        assert len(counted) == times


def test_several_inputs_at_once() -> None:
    x, Y, z = sd.vector("x", 2), sd.matrix("Y", 2, 3), sd.scalar("z")
    f = z * x @ np.sin(Y) @ np.ones(3)
    gradients = sd.gradient(f, (x, Y, z))
    assert [g.shape for g in gradients] == [(2,), (2, 3), ()]
    blocks = sd.hessian(f, [x, Y])
    assert [[b.shape for b in row] for row in blocks] == [[(2, 2), (2, 2, 3)], [(2, 3, 2), (2, 3, 2, 3)]]
    at = {"x": RNG.normal(size=2), "Y": RNG.normal(size=(2, 3)), "z": np.array(0.7)}
    xy, yx = (compute(b, **at) for b in (blocks[0][1], blocks[1][0]))
    np.testing.assert_allclose(xy, yx.transpose(2, 0, 1), rtol=1e-14)
    check_calculus(f, {"x": x, "Y": Y, "z": z}, at)


PARTS: dict[str, tuple[Callable[[Array], Array], Callable[[Any], Any]]] = {
    "row": (lambda X: X[0], lambda g: g[0]),
    "column": (lambda X: X[:, 1], lambda g: g[:, 1]),
    "element": (lambda X: X[1, 2], lambda g: g[1, 2]),
    "block": (lambda X: X[1:, ::2], lambda g: g[1:, ::2]),
    "reversed": (lambda X: X[::-1], lambda g: g[::-1]),
    "last": (lambda X: X[-1], lambda g: g[-1]),
    "transpose": (lambda X: X.T, lambda g: g.T),
    "row of transpose": (lambda X: X.T[1], lambda g: g.T[1]),
    "flat": (lambda X: X.ravel(), lambda g: g.ravel()),
    "gather": (lambda X: X[[2, 0]], lambda g: g[[2, 0]]),
    "slice of slice": (lambda X: X[1:][1], lambda g: g[1:][1]),
    "new axis": (lambda X: X[:, None], lambda g: g[:, None]),
}


@pytest.mark.parametrize("part", PARTS)
def test_by_a_part_of_an_input(part: str) -> None:
    take, numbers = PARTS[part]
    X = sd.matrix("X", 3, 4)
    f = np.sin(X).sum() * (X * X).sum() + X[1, 2] ** 3
    at = RNG.normal(size=(3, 4))
    whole, w = compute(sd.gradient(f, X), X=at), take(X)
    np.testing.assert_allclose(compute(sd.gradient(f, w), X=at), numbers(whole), rtol=1e-13)
    hessian = compute(sd.hessian(f, X), X=at)
    half = np.stack([np.asarray(numbers(h)) for h in hessian.reshape(12, 3, 4)], axis=-1)  # w.shape, then X's elements
    want = np.stack([np.asarray(numbers(h)) for h in half.reshape(-1, 3, 4)]).reshape((*w.shape, *w.shape))
    np.testing.assert_allclose(compute(sd.hessian(f, w), X=at), want, rtol=1e-12, atol=1e-13)
    way = RNG.normal(size=w.shape)
    np.testing.assert_allclose(compute(sd.jvp(f, w, way), X=at), np.sum(numbers(whole) * way), rtol=1e-12)
    np.testing.assert_allclose(
        compute(sd.hvp(f, w, way), X=at), np.tensordot(want, way, way.ndim), rtol=1e-12, atol=1e-12
    )


def test_by_a_named_or_unnamed_part_of_the_formula() -> None:
    W, x = sd.matrix("W", 2, 3), sd.vector("x", 3)
    for h in (np.tanh(W @ x), sd.name(np.tanh(W @ x), "h")):
        loss = (h * h).sum() + h[0] * x[1]
        at = {"W": RNG.normal(size=(2, 3)), "x": RNG.normal(size=3)}
        value = np.tanh(at["W"] @ at["x"])
        want = 2 * value + np.array([at["x"][1], 0.0])
        np.testing.assert_allclose(compute(sd.gradient(loss, h), **at), want, rtol=1e-14)
        # the chain rule by hand: what goes through h, and what goes past it
        chained = sd.vjp(h, x, sd.gradient(loss, h)) + sd.gradient(sd.stop_gradient(h)[0] * x[1], x)
        np.testing.assert_allclose(compute(chained, **at), compute(sd.gradient(loss, x), **at), rtol=1e-13)
        np.testing.assert_array_equal(compute(sd.hessian(loss, h), **at), 2 * np.eye(2))


@pytest.mark.parametrize("longest", [2000, 0])  # of what is simplified for reading
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "part",
    [np.negative, lambda x: 1 / x, lambda x: x + x, lambda x: np.log(1 + np.exp(x)), lambda x: np.exp(np.log(x))],
    ids=["-x", "1 / x", "x + x", "log(1 + exp(x))", "exp(log(x))"],
)
def test_twice_by_what_is_simplified_away(
    part: Callable[[Any], Any], named: bool, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_SMALL", longest)
    x, w = sd.vector("x", 3), sd.vector("w", 3)
    z = sd.name(part(x), "z") if named else part(x)
    at = np.array([0.5, 1.25, 2.0])

    def f(z: Array) -> Any:
        return (z * z * x[1]).sum() + 1 / (z[0] * z[1]) + np.log(z * z + 1).sum()

    want = compute(sd.hessian(f(w), w), w=part(at), x=at)
    assert np.abs(want).min() < 1e-3 < np.abs(want).max()
    tight = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(compute(sd.hessian(f(z), z), x=at), want, **tight)
    np.testing.assert_allclose(compute(sd.derivative(f(z), z, 2), x=at), want, **tight)
    np.testing.assert_allclose(compute(sd.hvp(f(z), z, [1.0, 2.0, 3.0]), x=at), want @ [1, 2, 3], **tight)
    if named:  # the name is there to be found in the first derivative
        np.testing.assert_allclose(compute(sd.jacobian(sd.gradient(f(z), z), z), x=at), want, **tight)


def test_rewrites_are_told_of_derivatives_by_parts_of_the_formula() -> None:
    x = sd.scalar("x")
    z = sd.name(x + x, "z")
    kernel = sd.compile(sd.hessian(np.log(1 + np.exp(z)), z), [x], backend="numpy")
    assert kernel.rewrites == ("log(1 + exp(z)) → softplus(z)",)
    y = x * x
    kernel = sd.compile(sd.gradient(np.log(1 + np.exp(y)), y), [x], backend="numpy")
    assert kernel.rewrites == ("log(1 + exp((x * x))) → softplus((x * x))",)


def test_a_part_of_a_named_formula() -> None:
    x = sd.vector("x", 3)
    z = sd.name(x * x, "z")
    f = (z**2).sum()
    np.testing.assert_allclose(compute(sd.gradient(f, z[1]), x=[1.0, 2.0, 3.0]), 8.0)
    assert sd.jacobian(z, z[0]).shape == (3,)


# ---------------------------------------------------------------------------- seeds, barriers, disconnection


def test_seeds_are_numbers_symbols_or_formulas() -> None:
    x, s = sd.vector("x", 2), sd.vector("s", 2)
    f = x * x
    at = [3.0, -1.0]
    np.testing.assert_array_equal(compute(sd.vjp(f, x, [2, 3]), x=at), [12.0, -6.0])
    np.testing.assert_array_equal(compute(sd.vjp(f, x, s), x=at, s=[1.0, 10.0]), [6.0, -20.0])
    np.testing.assert_array_equal(compute(sd.vjp(f, x, np.exp(s) * x), x=at, s=[0.0, 0.0]), [18.0, 2.0])
    # a seed is a constant of the derivative, even one made of x
    np.testing.assert_array_equal(compute(sd.vjp(f, x, x), x=at), 2 * np.square(at))


def test_stop_gradient_is_a_constant_of_every_derivative() -> None:
    x = sd.scalar("x")
    f = sd.stop_gradient(x**2) * x
    assert compute(sd.gradient(f, x), x=3.0) == 9
    assert compute(sd.jvp(f, x, 1.0), x=3.0) == 9
    # the barrier is in the derivative too
    assert compute(sd.derivative(f, x, 2, disconnected="zero"), x=3.0) == 0


def test_what_the_formula_does_not_depend_on() -> None:
    x, y = sd.vector("x", 2), sd.matrix("y", 3, 2)
    f = (x * x).sum()
    for derive in (sd.gradient, sd.jacobian, sd.hessian):
        with pytest.raises(DisconnectedInputError, match=r"does not depend on 'y'.*'?x'?"):
            derive(f, y)
    with pytest.raises(DisconnectedInputError, match="'y'"):
        sd.gradient(f, (x, y))
    with pytest.raises(DisconnectedInputError, match="'y'"):
        sd.jvp(f, y, np.ones((3, 2)))
    assert not compute(sd.gradient(sd.stop_gradient(f), x), x=[1.0, 2.0]).any()  # zero by decree, and not a mistake
    zero = sd.gradient(f, (x, y), disconnected="zero")[1]
    assert zero.shape == (3, 2)
    assert not compute(zero).any()
    assert sd.hessian(f, (x, y), disconnected="zero")[0][1].shape == (2, 3, 2)
    assert sd.jacobian(x, y, disconnected="zero").shape == (2, 3, 2)


def test_errors_say_what_to_do() -> None:
    x, A = sd.vector("x", 3), sd.matrix("A", 2, 2)
    with pytest.raises(ShapeError, match=r"\(3,\).*jacobian.*vjp.*sum"):
        sd.gradient(x * x, x)
    with pytest.raises(ShapeError, match=r"seed has shape \(2,\); expected \(3,\)"):
        sd.vjp(x, x, [1.0, 2.0])
    with pytest.raises(ShapeError, match=r"tangent has shape \(\); expected \(3,\)"):
        sd.jvp(x, x, 1.0)
    with pytest.raises(ArgumentError, match="1 tangents for 2"):
        sd.jvp(x.sum() * A.sum(), (x, A), ([1.0, 1.0, 1.0],))
    with pytest.raises(DtypeError, match="condition"):
        sd.gradient(x[0] > 0, x)
    with pytest.raises(ArgumentError, match="no variable to differentiate with respect to"):
        sd.gradient(x.sum(), ())
    with pytest.raises(ArgumentError, match="order=-1"):
        sd.derivative(x.sum(), x, -1)
    with pytest.raises(ArgumentError, match="a mixed derivative is a gradient of a gradient"):
        sd.derivative("x * y", "x", "y")
    with pytest.raises(ArgumentError, match="disconnected='ignore'"):
        sd.gradient(x.sum(), x, disconnected="ignore")
    with pytest.raises(ArgumentError, match="wrt of type float"):
        sd.gradient(x.sum(), 1.0)


# ---------------------------------------------------------------------------- closed forms


def test_closed_forms() -> None:
    n = "n"
    A, x, X, W = sd.matrix("A", n, n), sd.vector("x", n), sd.matrix("X", "m", "k"), sd.matrix("W", n, "k")
    assert sd.jacobian((X @ W.T)[0], X[0]).node is W.node
    assert sd.jacobian((X @ W.T)[-1], X[-1]).node is W.node
    assert str(sd.gradient(np.log(np.linalg.det(A)), A)) == "inv(A).T"
    assert str(sd.gradient(sd.trace(A), A)) == "eye(n)"
    assert sd.jacobian(A @ x, x).node is A.node
    assert sd.jacobian(x @ A, x).node is A.T.node
    assert str(sd.hessian(x @ A @ x, x)) in ("A + A.T", "A.T + A")
    assert str(sd.hessian(x @ x, x)) == "2 * eye(n)"
    positive = sd.jacobian(sd.where(x > 0, x**2, 0.0), x)
    assert str(positive) == "diag(where(0 < x, 2 * x, 0))"
    assert sd.jacobian(sd.solve(A, x), x).node is sd.inv(A).node
    assert str(sd.jacobian(np.exp(x), x)) == "diag(exp(x))"
    assert sd.gradient(x @ np.sin(x), sd.vector("x", n)).shape == x.shape


def densest(f: Array, **sizes: int) -> int:
    """Return the number of elements of the largest array, and of the largest sum, that a formula computes."""
    largest = 1
    for node in postorder([f.node]):
        if node.op == "contract" and any(arg.op == "delta" for arg in node.args):
            dense = [set(own) for arg, own in zip(node.args, node.payload.labels, strict=True) if arg.op != "delta"]
            parts = set().union(*dense)
            shape = [size for label, size in label_sizes(node).items() if label in parts]
        elif node.op == "contract":
            shape = list(label_sizes(node).values())
        else:
            shape = list(node.shape) if node.op != "delta" else []
        largest = max(largest, math.prod(list(map(int, shape))))
    return largest


def test_a_factorisation_keeps_its_structure() -> None:
    n, m, k = 50, 40, 3
    T, U, V = sd.matrix("T", n, m), sd.matrix("U", n, k), sd.matrix("V", m, k)
    loss = ((T - U @ V.T) ** 2).sum()
    hessian = sd.hessian(loss, U)
    assert hessian.shape == (n, k, n, k)
    assert any(node.op == "delta" for node in postorder([hessian.node]))
    assert densest(hessian) <= m * k * k  # V.T @ V is the largest thing there is, not (n k)**2
    v = RNG.normal(size=(m, k))
    got = compute(hessian, T=np.zeros((n, m)), U=np.zeros((n, k)), V=v)
    np.testing.assert_allclose(got, 2 * np.einsum("ij,ab->iajb", np.eye(n), v.T @ v), rtol=1e-12, atol=1e-13)


A, B, C, V, ROW = (
    sd.matrix("A", 3, 3),
    sd.matrix("B", 3, 3),
    sd.matrix("C", 3, 3),
    sd.vector("v", 3),
    sd.matrix("r", 1, 3),
)


@pytest.mark.parametrize(
    ("factors", "labels", "out"),
    [
        ((A, B, C), ((0, 1), (1, 2), (2, 3)), (0, 3)),  # two of them first
        ((delta(3, 3), V), ((0, 1), (1,)), (0,)),  # a delta renames
        ((delta(3, 3), V), ((0, 1), (1,)), (0, 1)),
        ((delta(3, 3), delta(3, 3)), ((0, 1), (0, 1)), (0, 1)),
        ((onehot(3, 1), V), ((0,), (1,)), (1,)),  # a sum over one row
        ((onehot(3, 1), A), ((0,), (0, 1)), (0, 1)),
        ((V, delta(3, 3)), ((2,), (0, 1)), (0, 1, 2)),  # structure comes first
        ((delta(3, 3), constant(2.0), V), ((0, 1), (), (2,)), (0, 1, 2)),  # a number before it, if there are others
        ((constant(2.0), V), ((), (0,)), (0,)),  # written as a product
        ((constant(1.0), delta(3, 3), V), ((), (0, 1), (2,)), (0, 1, 2)),
        ((sd.scalar("s"), sd.scalar("t")), ((), ()), ()),
        ((A.T, B), ((0, 1), (1, 2)), (0, 2)),  # merged
        ((ROW, B), ((0, 1), (1, 2)), (2,)),  # an axis of one element dropped
        ((A + np.eye(3) * V, delta(3, 3)), ((0, 1), (2, 3)), (0, 1, 2, 3)),  # term by term
    ],
)
def test_contractions_that_are_not_plain(factors: tuple[Any, ...], labels: Any, out: tuple[int, ...]) -> None:
    nodes = [factor.node if isinstance(factor, Array) else factor for factor in factors]
    node = contract(nodes, labels, out)
    assert node.op == "contract"
    assert einsum(node.args, node.payload.labels, node.payload.out) is not node
    assert not is_plain(node)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.sin(x) * x,
        lambda x: np.exp(x)[::-1],
        lambda x: sd.where(x > 0, x**2, 0.0),
        lambda x: sd.concatenate([np.sin(x), np.cos(x)]),
        lambda x: np.outer(x, np.ones(30)),
    ],
)
def test_elementwise_jacobians_stay_diagonal(make: Callable[[Array], Array]) -> None:
    x = sd.vector("x", 30)
    jacobian = sd.jacobian(make(x), x)
    size = jacobian.size
    assert isinstance(size, int)
    assert densest(jacobian) <= size
    at = RNG.normal(size=30)
    want = np.stack([compute(sd.jvp(make(x), x, row), x=at) for row in np.eye(30)], axis=-1)
    np.testing.assert_allclose(compute(jacobian, x=at), want, rtol=1e-13, atol=1e-14)


def test_symbolic_sizes_are_bound_by_the_call() -> None:
    A, x = sd.matrix("A", "n", "n"), sd.vector("x", "n")
    f = np.log(sd.softmax(A @ x)).sum() + sd.mean(x * x)
    kernel = sd.compile(
        [sd.gradient(f, x), sd.jacobian(sd.softmax(A @ x), x), sd.gradient(f, A)], [A, x], backend="numpy"
    )
    for n in (1, 3, 5):
        a, v = RNG.normal(size=(n, n)), RNG.normal(size=n)
        fixed = sd.matrix("A", n, n), sd.vector("x", n)
        g = np.log(sd.softmax(fixed[0] @ fixed[1])).sum() + sd.mean(fixed[1] * fixed[1])
        want = [
            sd.gradient(g, fixed[1]),
            sd.jacobian(sd.softmax(fixed[0] @ fixed[1]), fixed[1]),
            sd.gradient(g, fixed[0]),
        ]
        for got, one in zip(kernel(a, v), want, strict=True):
            np.testing.assert_allclose(got, compute(one, A=a, x=v), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("pairs", [((0, 1), (1, 0)), ((0, 1), (1, 2), (2, 0))])
def test_deltas_that_say_the_same_end(pairs: tuple[tuple[int, int], ...]) -> None:
    """Identities that link the same indices in turn were renamed for ever."""
    v = RNG.normal(size=3)
    x = sd.vector("x", 3)
    rank = len({label for pair in pairs for label in pair})
    node = einsum([delta(3, 3)] * len(pairs) + [x.node], [*pairs, (1,)], tuple(range(rank)))
    got = compute(Array(node), x=v)
    want = np.zeros((3,) * rank)
    for i in range(3):
        want[(i,) * rank] = v[i]
    np.testing.assert_array_equal(got, want)


#: Formulas of a vector x, a matrix A and a number c, and their shapes.
SEVERAL: dict[str, tuple[int, ...]] = {
    "x * x": (3,),
    "x @ x": (),
    "A @ x": (2,),
    "sin(x)[0] * A": (2, 3),
    "outer(x, x)": (3, 3),
    "c * 2": (),
}


@given(st.lists(st.sampled_from(sorted(SEVERAL)), max_size=4))
@settings(max_examples=25)
def test_vjp_of_several_formulas_adds_up_those_of_each(texts: list[str]) -> None:
    texts = ["x * x", *texts]
    shapes: dict[str, Any] = {"x": 3, "A": (2, 3), "c": ()}
    seeds: dict[str, Any] = {f"s{k}": SEVERAL[text] for k, text in enumerate(texts)}
    used = {**{name: own for name, own in shapes.items() if any(name in text for text in texts)}, **seeds}
    together = sd.vjp(texts, "x", list(seeds), shapes=used)
    rng = np.random.default_rng(len(texts))
    point = {name: rng.normal(size=3 if own == 3 else own) for name, own in used.items()}
    apart = np.zeros(3)
    for (seed, own), text in zip(seeds.items(), texts, strict=True):
        known = {name: shapes[name] for name in shapes if name in text or name == "x"}
        part = sd.vjp(text + " + 0 * x[0]", "x", "s", shapes={**known, "s": own})
        apart += sd.compile(part)(*[point[seed if str(one) == "s" else str(one)] for one in part.inputs])
    found = sd.compile(together)(*[point[str(one)] for one in together.inputs])
    np.testing.assert_allclose(found, apart, rtol=1e-12, atol=1e-12)


@given(st.lists(st.sampled_from(sorted(SEVERAL)), max_size=4))
@settings(max_examples=25)
def test_jvp_of_several_formulas_is_the_transpose_of_their_vjp(texts: list[str]) -> None:
    texts = ["x * x", *texts]
    shapes = {name: own for name, own in {"A": (2, 3), "c": ()}.items() if any(name in text for text in texts)}
    pushed = sd.jvp(texts, "x", "v", shapes={"x": 3, **shapes, "v": 3})
    assert [one.shape for one in pushed] == [(own,) if isinstance(own, int) else own for own in map(SEVERAL.get, texts)]
    rng = np.random.default_rng(len(texts))
    seeds = [rng.normal(size=one.shape) for one in pushed]
    pulled = sd.vjp(texts, "x", seeds, shapes={"x": 3, **shapes})
    point = {"x": rng.normal(size=3), "v": rng.normal(size=3), **{n: rng.normal(size=own) for n, own in shapes.items()}}
    found = sd.compile([*pushed, pulled], [*point])(**point)
    both = sum(np.vdot(seed, one) for seed, one in zip(seeds, found[:-1], strict=True))
    np.testing.assert_allclose(both, found[-1] @ point["v"], rtol=1e-12, atol=1e-12)


def test_jvp_of_a_structure_has_its_structure() -> None:
    x, y, v = sd.vector("x", 3), sd.scalar("y"), sd.vector("v", 3)
    assert str(sd.jvp({"a": x @ x, "b": (y * x, 2.0)}, x, v)) == "{'a': 2 * (v @ x), 'b': (y * v, 0)}"
    with pytest.raises(sd.DisconnectedInputError, match="does not depend on 'y'"):
        sd.jvp([x @ x, x], [x, y], [v, 1.0])
    for derivative in (sd.jvp, sd.vjp):
        with pytest.raises(sd.ArgumentError, match="no formula to differentiate"):
            derivative([], x, v if derivative is sd.jvp else [])


def test_seeds_of_several_formulas_have_their_structure() -> None:
    x = sd.vector("x", 3)
    formulas = [x * x, x @ x], (x * x, x @ x), {"a": x @ x, "b": x * x}
    for f, seed in zip(formulas, ([x, 2.0], (x, 2.0), {"b": x, "a": 2}), strict=True):
        assert str(sd.vjp(f, x, seed)) in ("4 * x + 2 * x ** 2", "2 * x ** 2 + 4 * x")
    with pytest.raises(sd.ArgumentError, match="the seed must be a list of 2 arrays"):
        sd.vjp([x * x, x @ x], x, [x])
    with pytest.raises(sd.ShapeError, match=r"the seed has shape \(\); expected \(3,\), the shape of its formula"):
        sd.vjp([x * x, x @ x], x, [2.0, x])
    with pytest.raises(sd.DisconnectedInputError, match="does not depend on 'q'"):
        sd.vjp([x * x, x @ x], sd.scalar("q"), [x, 1.0])
