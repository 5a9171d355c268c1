"""Random well-formed graphs, for any test that wants "whatever the formula".

:func:`formulas` grows a pool of nodes from a few inputs by operations of every family, and
returns one or two of them. Values stay of moderate size (what is multiplied is squashed
first), so that two ways to compute a formula may be compared closely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from symdiff.graph import (
    Node,
    broadcast_to,
    concatenate,
    constant,
    contract,
    cumulative,
    delta,
    extent,
    gather,
    label,
    matrix,
    normalize,
    onehot,
    pad,
    reduce,
    reshape,
    scatter,
    slicing,
    stop_gradient,
    transpose,
    triangle,
    whole,
)
from symdiff.graph import (
    input as variable,
)
from symdiff.graph.scalars.functions import apply, compare, where
from symdiff.graph.sizes import Dim, Shape, Size, named, product, value

SMOOTH = ("sin", "cos", "tanh", "arctan", "erf", "sigmoid", "softplus", "arcsinh", "negative")
KINKED = ("abs", "maximum", "minimum")
#: What the sizes n and m of a formula are, when they are symbolic, unless a test says otherwise.
SIZES = {"n": 3, "m": 2}
LARGEST = 300
#: Sizes beyond those that programs hold, and elements of an array of such.
LONG = {"n": 40, "m": 35}
LONGEST = 64_000


class Formula:
    """A random formula: its inputs, in order, and its results."""

    def __init__(self, inputs: tuple[Node, ...], roots: tuple[Node, ...]) -> None:
        self.inputs = inputs
        self.roots = roots

    def __repr__(self) -> str:
        return f"Formula({', '.join(map(_show, self.roots))})"


def _show(node: Node) -> str:
    if node.op == "input":
        return str(node.payload)
    payload = node.value.tolist() if node.op == "constant" else node.payload
    inner = [*map(_show, node.args), *([] if payload is None else [str(payload)])]
    return f"{node.op}({', '.join(inner)})"


def sample(
    inputs: tuple[Node, ...], batch: tuple[int, ...], seed: int, sizes: Mapping[str, int] = SIZES
) -> list[npt.NDArray[np.float64]]:
    """Return random values for ``inputs``, with a batch axis of length ``batch[i]`` on each."""
    rng = np.random.default_rng(seed)
    return [
        rng.uniform(-1.5, 1.5, (length, *(value(size, sizes) for size in node.shape)))
        for node, length in zip(inputs, batch, strict=True)
    ]


@st.composite
def formulas(
    draw: st.DrawFn, symbolic: bool = False, smooth: bool = False, steps: int = 10, long: bool = False
) -> Formula:
    """Draw a formula of up to ``steps`` operations over scalars, vectors and matrices.

    Parameters
    ----------
    symbolic : bool
        Leave the sizes n and m open.
    smooth : bool
        Leave out what has kinks (abs, max, where).
    long : bool
        Take sizes of which plans make loops.
    """
    sizes = LONG if long else SIZES
    n: Dim = named("n") if symbolic else sizes["n"]
    m: Dim = named("m") if symbolic else sizes["m"]
    inputs = (variable("s"), variable("x", (n,)), variable("y", (m,)), variable("A", (n, n)), variable("B", (n, m)))
    pool: list[Node] = list(inputs)
    for _ in range(draw(st.integers(2, steps))):
        grow = draw(st.sampled_from(GROWTH if smooth else GROWTH + GROWTH_KINKED))
        node = grow(draw, pool, n, m)
        if node is not None and node.ndim <= 5 and _elements(node.shape) <= (LONGEST if long else LARGEST):
            pool.append(node)
    grown = pool[len(inputs) :] or [apply("sin", inputs[0])]
    return Formula(inputs, tuple(draw(st.lists(_among(grown[:-4:-1]), min_size=1, max_size=2))))


@st.composite
def _among(draw: st.DrawFn, nodes: Sequence[Node]) -> Node:
    """Choose a node.

    ``sampled_from`` would do it, but tells choices apart by the hashes of what there is to choose from. Those of nodes
    are addresses: which choices are taken for the same would change from run to run, and with it the examples.
    """
    return nodes[draw(st.integers(0, len(nodes) - 1))]


def _elements(shape: Shape) -> int:
    return value(product(shape), SIZES)


def _pick(draw: st.DrawFn, pool: list[Node], rank: int = 0) -> Node | None:
    fitting = [node for node in pool if node.ndim >= rank]
    return draw(_among(fitting[-6:])) if fitting else None


def squash(node: Node) -> Node:
    """Return inputs as they are, and the tanh of everything else."""
    return node if node.op == "input" else apply("tanh", node)


# ---------------------------------------------------------------------------- growth: one function a family


def _unary(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    return apply(draw(st.sampled_from(SMOOTH)), draw(_among(pool)))


def _broadcasting(a: Node, b: Node) -> bool:
    return all(p == q or 1 in (p, q) for p, q in zip(a.shape[::-1], b.shape[::-1], strict=False))


def _binary(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    a = draw(_among(pool))
    b = draw(_among([node for node in pool if _broadcasting(a, node)]))
    op = draw(st.sampled_from(("add", "subtract", "multiply", "divide", "power")))
    if op == "divide":
        return apply(op, a, apply("softplus", b) + 1.0)
    if op == "power":
        return apply(op, squash(a), float(draw(st.integers(0, 3))))
    return apply(op, squash(a), squash(b))


def _constant(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    a = draw(_among(pool))
    return draw(st.sampled_from((2.0, -0.5, 0.0))) * a + draw(st.sampled_from((-1.0, 0.0)))


def _einsum(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    operands = [squash(node) for node in draw(st.lists(_among(pool), min_size=1, max_size=4))]
    hidden = draw(st.sampled_from(("none", "delta", "shift", "onehot")))
    if hidden == "delta":
        operands.append(delta(n, n))
    elif hidden == "shift":
        operands.append(delta(n - 1, n, 1, 1))
    elif hidden == "onehot":
        operands.append(onehot(n, draw(st.integers(0, 1))))
    operands = [operand for operand in operands if operand.ndim <= 3]
    by_size: dict[Dim, list[int]] = {}
    count = 0
    labels = []
    for operand in operands:
        own = []
        for size in operand.shape:
            choices = by_size.setdefault(size, [])
            if not choices or draw(st.integers(0, 2)) == 0:
                choices.append(count)
                count += 1
            own.append(draw(st.sampled_from(choices)))
        labels.append(tuple(own))
    used = sorted({each for own in labels for each in own})
    out = draw(st.permutations(used))[: draw(st.integers(0, min(4, len(used))))]
    extra = {count: m} if draw(st.booleans()) else {}
    return contract(operands, labels, (*out, *extra), extra)


def _diagonal(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    """A product with a delta that survives, as Hessians have them."""
    node = draw(_among([node for node in pool if n in node.shape and node.ndim <= 3]))
    kind = draw(_among((delta(n, n), delta(n - 1, n, 1, 1), delta(n, n + 2, n + 1, -1), onehot(n, 1))))
    axis = node.shape.index(n)
    own = tuple(range(node.ndim))
    if kind.op == "onehot":
        return contract([kind, squash(node)], [(9,), own], tuple(draw(st.permutations([9, *own]))))
    if kind.shape[0] == n:
        return contract([kind, squash(node)], [(axis, 9), own], tuple(draw(st.permutations([9, *own]))))
    return contract([squash(node), kind], [own, (9, axis)], tuple(draw(st.permutations([9, *own]))))


def _transpose(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 2)
    return None if node is None else transpose(node, draw(st.permutations(range(node.ndim))))


def _broadcast(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = draw(_among(pool))
    return broadcast_to(node, (draw(st.sampled_from((n, m, 1, 2))), *node.shape))


def _item(draw: st.DrawFn, size: Dim) -> tuple[Dim, int, Dim | None]:
    kind = draw(st.sampled_from(("whole", "tail", "reversed", "index", "last", "head")))
    short = isinstance(size, int) and size < 2
    if kind == "whole" or short:
        return whole(size)
    items: dict[str, tuple[Dim, int, Dim | None]] = {
        "tail": (1, 1, size - 1),
        "reversed": (size - 1, -1, size),
        "index": (1 if size in (named("n"), named("m")) or (isinstance(size, int) and size > 1) else 0, 1, None),
        "last": (size - 1, 1, None),
        "head": (0, 1, 1),
    }
    return items[kind]


def _slice(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    return None if node is None else slicing(node, tuple(_item(draw, size) for size in node.shape))


def _pad(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None:
        return None
    before = draw(st.integers(0, 2))
    step = draw(st.sampled_from((1, 2)))
    first = node.shape[0]
    items = ((before, step, first), *map(whole, node.shape[1:]))
    return pad(node, items, (first * step + before, *node.shape[1:]))


def _gather(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None or _elements(node.shape[-1:]) < 2:
        return None
    return gather(node, node.ndim - 1, tuple(draw(st.lists(st.integers(0, 1), max_size=4))))


def _scatter(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None or isinstance(node.shape[0], Size):
        return None
    indices = tuple(draw(st.lists(st.integers(0, 1), min_size=node.shape[0], max_size=node.shape[0])))
    return scatter(node, 0, indices, m)


def _cumsum(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None:
        return None
    return cumulative("cumsum", squash(node), draw(st.integers(0, node.ndim - 1)), draw(st.booleans()))


def _reshape(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None:
        return None
    return reshape(node, draw(st.sampled_from(((node.size,), (1, node.size), (*node.shape, 1)))))


def _concatenate(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None:
        return None
    axis = draw(st.integers(0, node.ndim - 1))
    fill = broadcast_to(constant(0.5), node.shape)
    alike = [
        other
        for other in (*pool, fill)
        if other.ndim == node.ndim and all(a == axis or p == q for a, (p, q) in enumerate(_paired(node, other)))
    ]
    return concatenate([node, *draw(st.lists(_among(alike), min_size=1, max_size=2))], axis)


def _paired(a: Node, b: Node) -> list[tuple[Dim, Dim]]:
    return list(zip(a.shape, b.shape, strict=True))


def _over_axes(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None:
        return None
    axes = tuple(sorted(draw(st.sets(st.integers(0, node.ndim - 1), min_size=1))))
    op = draw(st.sampled_from(("logsumexp", "norm", "softmax", "log_softmax")))
    if op == "norm":
        return reduce(op, apply("softplus", node), axes)  # no kink at 0
    return reduce(op, node, axes) if op == "logsumexp" else normalize(op, node, axes)


def _triangle(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 2)
    return None if node is None else triangle(node, draw(st.booleans()), draw(st.integers(-1, 1)))


def _size(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = draw(_among(pool))
    return node / (extent(node.size) + 1.0)


def _product(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    return None if node is None else reduce("prod", squash(node), (draw(st.integers(0, node.ndim - 1)),))


def _matrix(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    square = [node for node in pool if node.ndim >= 2 and node.shape[-2:] == (n, n)]
    a = apply("tanh", draw(_among(square)))
    regular = 0.25 * a + delta(n, n)  # well conditioned: rows sum to less than one off the diagonal
    op = draw(st.sampled_from(("det", "logdet", "logabsdet", "inv", "adjugate", "adjugate_differential", "solve")))
    if op == "adjugate_differential":
        return matrix(op, a, draw(_among(_stacked_as(a, square))))
    if op == "solve":
        right = [node for node in pool if node.ndim >= 2 and node.shape[-2] == n]
        return matrix(op, regular, draw(_among(_stacked_as(a, right))))
    return matrix(op, a if op in ("det", "adjugate") else regular)


def _stacked_as(a: Node, nodes: list[Node]) -> list[Node]:
    """Return those of ``nodes`` that are one matrix, or stacked as ``a`` is."""
    return [node for node in nodes if node.shape[:-2] in ((), a.shape[:-2])]


def _cholesky(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    b = apply("tanh", pool[4])
    return matrix("cholesky", contract([b, b], [(0, 1), (2, 1)], (0, 2)) + delta(n, n))


def _transparent(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = draw(_among(pool))
    return draw(_among((stop_gradient(node), label(node, "part"))))


def _kinked(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    a = draw(_among(pool))
    b = draw(_among([node for node in pool if _broadcasting(a, node)]))
    op = draw(st.sampled_from(KINKED))
    return apply(op, a) if op == "abs" else apply(op, a, b)


def _where(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    condition = compare(draw(st.sampled_from(("less", "greater_equal"))), pool[0], 0.1)
    if draw(st.booleans()):
        condition = apply("logical_or", condition, compare("greater", pool[1], 0.5))
    fitting = [node for node in pool if _broadcasting(condition, node)]
    a, b = draw(_among(fitting)), draw(_among(fitting))
    return where(condition, a, b) if _broadcasting(a, b) else where(condition, a, 0.0)


def _extreme(draw: st.DrawFn, pool: list[Node], n: Dim, m: Dim) -> Node | None:
    node = _pick(draw, pool, 1)
    if node is None:
        return None
    axis = draw(st.integers(0, node.ndim - 1))
    if node.shape[axis] == 0:
        return None
    return reduce(draw(st.sampled_from(("max", "min"))), node, (axis,))


GROWTH = (
    _unary,
    _binary,
    _constant,
    _einsum,
    _einsum,
    _diagonal,
    _diagonal,
    _transpose,
    _broadcast,
    _slice,
    _pad,
    _gather,
    _scatter,
    _cumsum,
    _reshape,
    _concatenate,
    _product,
    _over_axes,
    _triangle,
    _size,
    _matrix,
    _cholesky,
    _transparent,
)
GROWTH_KINKED = (_kinked, _where, _extreme)
