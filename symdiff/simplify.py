"""Rewrites that make a formula as short as the book's, and as stable as it can be computed.

Each rule is one row: a name, the pattern it looks for and what it puts there, and a
function that does so for one node whose arguments are simplified already. Rules run bottom
up in the order of the table, and each makes the formula smaller, so the pass ends. Rules of
the kind "stability" change how a value is computed and are reported to the user; they are
applied before a formula is differentiated, too, since a derivative inherits the form.

Values are kept where they are finite: nothing is cancelled that could hide a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .contraction import einsum, is_structured, take_items
from .functions import FUNCTIONS, scalar_constant, where
from .graph import (
    BOOL,
    REAL,
    Labels,
    Node,
    broadcast_to,
    concatenate,
    constant,
    elementwise,
    label_sizes,
    matrix,
    normalize,
    pad,
    postorder,
    rebuild,
    reduce,
    reshape,
    slicing,
    substitute,
)
from .sizes import Dim

Rewrite: TypeAlias = Callable[[Node], Node | None]


@dataclass(frozen=True)
class Rule:
    """One rewrite.

    Parameters
    ----------
    name : str
        How the documentation and ``kernel.rewrites`` call it.
    ops : tuple of str
        Operations it looks at.
    pattern, result : str
        What it finds and what it puts there, as a person writes it.
    rewrite : callable
        Takes a node, gives the new one or None.
    kind : {"algebra", "stability"}
    """

    name: str
    ops: tuple[str, ...]
    pattern: str
    result: str
    rewrite: Rewrite
    kind: str = "algebra"


RULES: list[Rule] = []


def _rule(ops: str, pattern: str, result: str, kind: str = "algebra") -> Callable[[Rewrite], Rewrite]:
    def register(rewrite: Rewrite) -> Rewrite:
        RULES.append(Rule(rewrite.__name__.strip("_"), tuple(ops.split()), pattern, result, rewrite, kind))
        return rewrite

    return register


def simplify(roots: Sequence[Node], rewrites: list[str] | None = None) -> list[Node]:
    """Apply every rule everywhere.

    Parameters
    ----------
    roots : sequence of Node
    rewrites : list of str, optional
        Receives a line for each kind of stability rewrite that was made.
    """
    return _run(roots, _ALL, rewrites)


def stabilize(roots: Sequence[Node], rewrites: list[str] | None = None) -> list[Node]:
    """Apply the stability rules alone."""
    return _run(roots, _STABILITY, rewrites)


def _run(roots: Sequence[Node], table: dict[str, list[Rule]], rewrites: list[str] | None) -> list[Node]:
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.args:
            args = tuple([new[arg] for arg in node.args])
            result = node if args == node.args else rebuild(node, args)
            new[node] = _settle(result, table, rewrites)
        else:
            new[node] = node
    return [new[root] for root in roots]


def _settle(node: Node, table: dict[str, list[Rule]], rewrites: list[str] | None) -> Node:
    """Apply rules to one node until none fits."""
    while True:
        for rule in table.get(node.op, ()):
            found = rule.rewrite(node)
            if found is not None and found is not node:
                if rewrites is not None and rule.kind == "stability":
                    line = f"{rule.pattern} → {rule.result}"
                    if line not in rewrites:
                        rewrites.append(line)
                node = found
                break
        else:
            return node


def make(op: str, *args: Node) -> Node:
    """Apply a scalar function and simplify the result."""
    return _settle(elementwise(op, args, FUNCTIONS[op].gives), _ALL, None)


def _spread(node: Node, like: Node) -> Node:
    return node if node.shape == like.shape else broadcast_to(node, like.shape)


def peel(node: Node) -> Node:
    """Look through names at what is named."""
    while node.op == "named":
        node = node.args[0]
    return node


# ---------------------------------------------------------------------------- stability


def _exp_of(node: Node) -> Node | None:
    """Return a with node = exp(a)."""
    node = peel(node)
    return node.args[0] if node.op == "exp" else None


def _is_number(node: Node, value: float) -> bool:
    return scalar_constant(node) == value


def _exponents(node: Node, limit: int = 64) -> list[Node] | None:
    """Return a, b, ... when node = exp(a) + exp(b) + ..., a 1 counting as exp(0)."""
    found: list[Node] = []
    todo = [node]
    while todo:
        term = peel(todo.pop())
        if term.op == "add":
            todo.extend(term.args[::-1])
        elif term.op == "exp":
            found.append(term.args[0])
        elif _is_number(term, 1.0):
            found.append(constant(0.0))
        else:
            return None
        if len(found) + len(todo) > limit:
            return None
    return found


@_rule("log", "log(1 + exp(x))", "softplus(x)", "stability")
def _log_one_plus_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op != "add":
        return None
    for one, other in (inside.args, inside.args[::-1]):
        x = _exp_of(other)
        if x is not None and _is_number(one, 1.0):
            return _spread(elementwise("softplus", (x,)), node)
    return None


@_rule("log1p", "log1p(exp(x))", "softplus(x)", "stability")
def _log1p_exp(node: Node) -> Node | None:
    x = _exp_of(node.args[0])
    return None if x is None else elementwise("softplus", (x,))


@_rule("log", "log(exp(a) + exp(b) + ...)", "logsumexp([a, b, ...])", "stability")
def _log_sum_of_exps(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op != "add":
        return None
    terms = _exponents(inside)
    if terms is None:
        return None
    if len(terms) == 2:
        return elementwise("logaddexp", (terms[0], terms[1]))
    parts = [reshape(_spread(t, node), (*node.shape, 1)) for t in terms]
    return reduce("logsumexp", concatenate(parts, node.ndim), (node.ndim,))


def _sum_over(node: Node) -> tuple[Node, tuple[int, ...]] | None:
    """Return (x, axes) with node = the sum of x over axes."""
    if node.op != "contract" or len(node.args) != 1:
        return None
    labels, out, repeated = node.payload
    if repeated or len(set(labels[0])) != len(labels[0]) or list(out) != sorted(out):
        return None
    axes = tuple(a for a, label in enumerate(labels[0]) if label not in out)
    return (node.args[0], axes) if axes else None


@_rule("log", "log(sum(exp(x)))", "logsumexp(x)", "stability")
def _log_sum_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    kept: tuple[Dim, ...] | None = None
    if inside.op == "reshape":
        kept, inside = inside.shape, peel(inside.args[0])
    found = _sum_over(inside)
    x = None if found is None else _exp_of(found[0])
    if x is None or found is None:
        return None
    result = reduce("logsumexp", _spread(x, found[0]), found[1])
    return result if kept is None else reshape(result, kept)


@_rule("log", "log(1 + x)", "log1p(x)", "stability")
def _log_one_plus(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op == "add":
        for one, other in (inside.args, inside.args[::-1]):
            if _is_number(one, 1.0) and other.shape == node.shape and other.op != "constant":
                return elementwise("log1p", (other,))
    if inside.op == "subtract" and _is_number(inside.args[0], 1.0) and inside.args[1].shape == node.shape:
        return elementwise("log1p", (elementwise("negative", (inside.args[1],)),))
    return None


@_rule("subtract", "exp(x) - 1", "expm1(x)", "stability")
def _exp_minus_one(node: Node) -> Node | None:
    x = _exp_of(node.args[0])
    if x is not None and _is_number(node.args[1], 1.0) and x.shape == node.shape:
        return elementwise("expm1", (x,))
    x = _exp_of(node.args[1])
    if x is not None and _is_number(node.args[0], 1.0) and x.shape == node.shape:
        return elementwise("negative", (elementwise("expm1", (x,)),))
    return None


@_rule("add", "exp(x) + (-1)", "expm1(x)", "stability")
def _exp_plus_minus_one(node: Node) -> Node | None:
    for number, other in (node.args, node.args[::-1]):
        x = _exp_of(other)
        if x is not None and _is_number(number, -1.0) and x.shape == node.shape:
            return elementwise("expm1", (x,))
    return None


@_rule("log", "log(softmax(x))", "log_softmax(x)", "stability")
def _log_of_softmax(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op != "softmax":
        if inside.op == "slice" and peel(inside.args[0]).op == "softmax":
            return slicing(_log_of_softmax_node(peel(inside.args[0])), inside.payload)
        return None
    return _log_of_softmax_node(inside)


def _log_of_softmax_node(node: Node) -> Node:
    x = node.args[0]
    return normalize("log_softmax", x, tuple(a + x.ndim for a in node.payload))


@_rule("log", "log(sigmoid(x))", "log_sigmoid(x)", "stability")
def _log_of_sigmoid(node: Node) -> Node | None:
    inside = peel(node.args[0])
    return elementwise("log_sigmoid", inside.args) if inside.op == "sigmoid" else None


@_rule("log", "log(1 - sigmoid(x))", "log_sigmoid(-x)", "stability")
def _log_of_rest(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op == "subtract" and _is_number(inside.args[0], 1.0):
        other = peel(inside.args[1])
        if other.op == "sigmoid":
            return elementwise("log_sigmoid", (elementwise("negative", other.args),))
    return None


@_rule("log", "log(det(A))", "logdet(A)", "stability")
def _log_of_det(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op == "det":
        return matrix("logdet", inside.args[0])
    if inside.op == "abs" and peel(inside.args[0]).op == "det":
        return matrix("logabsdet", peel(inside.args[0]).args[0])
    return None


@_rule("divide", "1 / (1 + exp(-x)), exp(x) / (1 + exp(x))", "sigmoid(x)", "stability")
def _sigmoid_forms(node: Node) -> Node | None:
    top, bottom = peel(node.args[0]), peel(node.args[1])
    if bottom.op != "add":
        return None
    for one, other in (bottom.args, bottom.args[::-1]):
        x = _exp_of(other)
        if x is None or not _is_number(one, 1.0) or x.shape != node.shape:
            continue
        if _is_number(top, 1.0):
            return elementwise("sigmoid", (_negated(x),))
        if peel(other) is top:
            return elementwise("sigmoid", (x,))
    return None


def _negated(x: Node) -> Node:
    return x.args[0] if x.op == "negative" else elementwise("negative", (x,))


@_rule("divide", "exp(x) / sum(exp(x))", "softmax(x)", "stability")
def _softmax_form(node: Node) -> Node | None:
    top, bottom = peel(node.args[0]), peel(node.args[1])
    if top.op != "exp" or top.shape != node.shape:
        return None
    if bottom.op == "reshape":
        bottom = peel(bottom.args[0])
    found = _sum_over(bottom)
    if found is None or peel(found[0]) is not top:
        return None
    spread = tuple(1 if a in found[1] else n for a, n in enumerate(top.shape))
    kept = tuple(n for a, n in enumerate(top.shape) if a not in found[1])
    if node.args[1].shape != spread and not (kept == () and node.args[1].shape == ()):
        return None
    return normalize("softmax", top.args[0], found[1])


@_rule("log", "log(exp(x))", "x", "stability")
def _log_of_exp(node: Node) -> Node | None:
    return _exp_of(node.args[0])


# ---------------------------------------------------------------------------- numbers


def _fold(node: Node) -> Node | None:
    for arg in node.args:
        if arg.op != "constant" or arg.shape != ():
            return None
    function = _NUMBERS.get(node.op)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        value = function(*[arg.value for arg in node.args])
    return constant(bool(value) if node.dtype is BOOL else float(value))


_NUMBERS: dict[str, Callable[..., float]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "power": np.power,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}
_rule(" ".join(_NUMBERS), "f(2, 3)", "its value")(_fold)


# ---------------------------------------------------------------------------- algebra of scalars


def _number(node: Node) -> float | None:
    return float(node.value) if node.op == "constant" and node.shape == () and node.dtype is REAL else None


def _scaled(node: Node) -> tuple[float, Node]:
    """Return (c, x) with node = c x."""
    if node.op == "multiply":
        c = _number(node.args[0])
        if c is not None:
            return c, node.args[1]
    if node.op == "negative":
        return -1.0, node.args[0]
    return 1.0, node


@_rule("add", "x + 0, a + (-b), x + x, a c + b c", "x, a - b, 2 x, (a + b) c")
def _sum_forms(node: Node) -> Node | None:
    a, b = node.args
    if _number(a) == 0.0:
        return _spread(b, node)
    if _number(b) == 0.0:
        return _spread(a, node)
    if b.op == "negative":
        return make("subtract", a, b.args[0])
    if a.op == "negative":
        return make("subtract", b, a.args[0])
    (p, x), (q, y) = _scaled(a), _scaled(b)
    if x is y and x.op != "constant" and p + q != 0:
        return make("multiply", constant(p + q), x)
    if q < 0 and b.op == "multiply":
        return make("subtract", a, make("multiply", constant(-q), y))
    return _common_factor(node, "add")


@_rule("subtract", "x - 0, 0 - x, a - (-b), a c - b c", "x, -x, a + b, (a - b) c")
def _difference_forms(node: Node) -> Node | None:
    a, b = node.args
    if _number(b) == 0.0:
        return _spread(a, node)
    if _number(a) == 0.0:
        return make("negative", _spread(b, node))
    if b.op == "negative":
        return make("add", a, b.args[0])
    if a.op == "negative":
        return make("negative", make("add", a.args[0], b))
    (p, x), (q, y) = _scaled(a), _scaled(b)
    if x is y and x.op != "constant" and p != q:
        return make("multiply", constant(p - q), x)
    if q < 0 and b.op == "multiply":
        return make("add", a, make("multiply", constant(-q), y))
    return _common_factor(node, "subtract")


def _common_factor(node: Node, op: str) -> Node | None:
    a, b = node.args
    if a.op != "multiply" or b.op != "multiply":
        return None
    for i in (0, 1):
        for j in (0, 1):
            if a.args[i] is b.args[j] and a.args[i].shape == node.shape:
                return make("multiply", make(op, a.args[1 - i], b.args[1 - j]), a.args[i])
    return None


@_rule("multiply", "1 x, -1 x, (-a) b, 2 (3 x), x x, (1/y) x", "x, -x, -(a b), 6 x, x**2, x/y")
def _product_forms(node: Node) -> Node | None:
    a, b = node.args
    c = _number(a)
    if c is None and _number(b) is not None:
        return make("multiply", b, a)
    if c == 1.0:
        return b
    if c == -1.0:
        return make("negative", b)
    if a.op == "negative":
        return make("negative", make("multiply", a.args[0], b))
    if b.op == "negative":
        return make("multiply", constant(-c), b.args[0]) if c is not None else make("negative", make("multiply", a, b.args[0]))
    if c is not None and b.op == "multiply" and _number(b.args[0]) is not None:
        return make("multiply", constant(c * float(b.args[0].value)), b.args[1])
    if c is None:
        for x, y in ((a, b), (b, a)):
            if x.op == "multiply" and _number(x.args[0]) is not None:
                return make("multiply", x.args[0], make("multiply", *((x.args[1], y) if x is a else (y, x.args[1]))))
        if a is b:
            return elementwise("power", (a, constant(2.0)))
        for x, y in ((a, b), (b, a)):
            if x.op == "divide" and _number(x.args[0]) is not None:
                return make("divide", make("multiply", x.args[0], y), x.args[1])
            n = _number(x.args[1]) if x.op == "power" else None
            if n is not None and n >= 1 and n == int(n) and x.args[0] is y:
                return elementwise("power", (y, constant(n + 1)))
    return None


@_rule("divide", "x / 1, (-a) / b, (6 x) / 3", "x, -(a / b), 2 x")
def _quotient_forms(node: Node) -> Node | None:
    a, b = node.args
    c = _number(b)
    if c == 1.0:
        return a
    if c == -1.0:
        return make("negative", a)
    if a.op == "negative":
        return make("negative", make("divide", a.args[0], b))
    if b.op == "negative":
        return make("negative", make("divide", a, b.args[0]))
    if c is not None and c != 0 and a.op == "multiply":
        p = _number(a.args[0])
        if p is not None and (p / c).is_integer():
            return make("multiply", constant(p / c), a.args[1])
    return None


@_rule("negative", "-(-x), -(a - b), -(2 x)", "x, b - a, -2 x")
def _negative_forms(node: Node) -> Node | None:
    (x,) = node.args
    if x.op == "negative":
        return x.args[0]
    if x.op == "subtract":
        return make("subtract", x.args[1], x.args[0])
    if x.op == "multiply" and _number(x.args[0]) is not None:
        return make("multiply", constant(-float(x.args[0].value)), x.args[1])
    return None


@_rule("power", "x**1, x**0, (x**2)**3", "x, 1, x**6")
def _power_forms(node: Node) -> Node | None:
    x, y = node.args
    n = _number(y)
    if n == 1.0:
        return x
    if n == 0.0:
        return _spread(constant(1.0), node)
    if n is not None and x.op == "power":
        m = _number(x.args[1])
        if m is not None and m == int(m) and n == int(n) and m > 0 and n > 0:
            return make("power", x.args[0], constant(m * n))
    return None


@_rule("where", "where(c, a, a), where(c, where(c, a, b), d), where(true, a, b)", "a, where(c, a, d), a")
def _where_forms(node: Node) -> Node | None:
    c, a, b = node.args
    if a is b:
        return _spread(a, node)
    if c.op == "constant" and c.shape == ():
        return _spread(a if bool(c.value) else b, node)
    if a.op == "where" and a.args[0] is c:
        return where(c, a.args[1], b)
    if b.op == "where" and b.args[0] is c:
        return where(c, a, b.args[2])
    return None


@_rule("to_real", "to_real of a constant condition", "1 or 0")
def _real_forms(node: Node) -> Node | None:
    (c,) = node.args
    return constant(c.value.astype(float)) if c.op == "constant" else None


@_rule("logical_not", "not not c", "c")
def _not_forms(node: Node) -> Node | None:
    return node.args[0].args[0] if node.args[0].op == "logical_not" else None


@_rule("logical_and logical_or", "c and c", "c")
def _logic_forms(node: Node) -> Node | None:
    return node.args[0] if node.args[0] is node.args[1] else None


# ---------------------------------------------------------------------------- arrays


@_rule("contract", "Aᵀᵀ, sums of transposes, I A, (2 A) B", "A, sums, A, 2 (A B)")
def _contract_forms(node: Node) -> Node | None:
    if node.dtype is BOOL:
        return None
    labels, out, repeated = node.payload
    operands = list(node.args)
    factor = 1.0
    scalars: list[Node] = []
    for i, arg in enumerate(operands):
        c, x = _scaled(arg)
        if x.shape == arg.shape and c != 1.0:
            factor, operands[i] = factor * c, x
        elif len(node.args) > 1 or not repeated:
            lone = _lone_scalar(operands[i])
            if lone is not None:
                scalars.append(lone[0])
                operands[i] = lone[1]
    plain = tuple(operands) == node.args
    sizes = {**label_sizes(node), **dict(repeated)}
    result = einsum(operands, labels, out, sizes)
    if plain:
        return None if result is node else result
    for scalar in scalars:
        result = make("multiply", scalar, result)
    if factor == 1.0:
        return result
    return make("negative", result) if factor == -1.0 else make("multiply", constant(factor), result)


def _lone_scalar(node: Node) -> tuple[Node, Node] | None:
    """Return (s, x) with node = s x, s without axes and x an array."""
    if node.op != "multiply" or node.shape == ():
        return None
    a, b = node.args
    if a.shape == () and b.shape == node.shape:
        return a, b
    return (b, a) if b.shape == () and a.shape == node.shape else None


@_rule("slice", "slices of slices, of products with deltas, of concatenations, of paddings", "the part they take")
def _slice_forms(node: Node) -> Node | None:
    x = node.args[0]
    items = node.payload
    if is_structured(x) or (x.op == "contract" and x.dtype is REAL and len(x.args) == 1):
        found = _slice_contract(x, items)
        return None if found is node else found
    if x.op == "slice":
        return _compose(x, items)
    if x.op == "pad" and x.payload == items:
        return x.args[0]
    if x.op == "concatenate":
        return _slice_concatenate(x, items)
    if x.op == "constant" and x.size != 0 and isinstance(node.size, int) and node.size <= 64:
        return _slice_constant(x, items, node)
    return None


def _slice_constant(x: Node, items: tuple[tuple[Dim, int, Dim | None], ...], node: Node) -> Node | None:
    picks = []
    for start, step, length in items:
        if not isinstance(start, int) or not isinstance(length, int | None):
            return None
        picks.append(start if length is None else [start + step * i for i in range(length)])
    value = x.value
    for axis in reversed(range(len(picks))):
        value = np.take(value, picks[axis], axis=axis)
    return constant(value)


def _slice_contract(x: Node, items: tuple[tuple[Dim, int, Dim | None], ...]) -> Node | None:
    if is_structured(x):
        return take_items(x, items)
    labels, out, repeated = x.payload
    if not set(labels[0]) <= set(out):
        return None
    # a transpose, diagonal or broadcast: slice what it reads
    wanted = dict(zip(out, items, strict=True))
    (arg,) = x.args
    own = labels[0]
    if len(set(own)) != len(own):
        return None
    inner = slicing(arg, tuple(wanted[label] for label in own))
    kept: Labels = tuple(label for label in own if wanted[label][2] is not None)
    result = tuple(label for label in out if wanted[label][2] is not None)
    sizes = {label: wanted[label][2] for label, _ in repeated}
    known = {label: size for label, size in sizes.items() if size is not None}
    return einsum([_settle(inner, _ALL, None)], [kept], result, known)


def _compose(x: Node, items: tuple[tuple[Dim, int, Dim | None], ...]) -> Node:
    rest = iter(items)
    joined: list[tuple[Dim, int, Dim | None]] = []
    for start, step, length in x.payload:
        if length is None:
            joined.append((start, step, None))
        else:
            begin, pace, count = next(rest)
            joined.append((start + begin * step, step * pace, count))
    return slicing(x.args[0], tuple(joined))


def _slice_concatenate(x: Node, items: tuple[tuple[Dim, int, Dim | None], ...]) -> Node | None:
    axis = x.payload + x.ndim
    start, step, length = items[axis]
    begin: Dim = 0
    for part in x.args:
        size = part.shape[axis]
        shift = start - begin
        inside = shift == 0 and length == size and step == 1
        if not inside and isinstance(shift, int) and isinstance(size, int) and isinstance(length, int | None):
            last = shift if length is None else shift + (length - 1) * step
            inside = 0 <= shift < size and 0 <= last < size and length != 0
        if inside:
            return slicing(part, (*items[:axis], (shift, step, length), *items[axis + 1 :]))
        begin = begin + size
    return None


@_rule("inv", "inv(inv(A))", "A")
def _inverse_forms(node: Node) -> Node | None:
    return node.args[0].args[0] if node.args[0].op == "inv" else None


@_rule("det logdet logabsdet", "det(Aᵀ)", "det(A)")
def _det_forms(node: Node) -> Node | None:
    x = node.args[0]
    if x.op == "contract" and len(x.args) == 1 and not x.payload[2]:
        labels, out, _ = x.payload
        own = labels[0]
        if len(own) == len(out) and own[:-2] == out[:-2] and own[-2:] == out[:-3:-1]:
            return matrix(node.op, x.args[0])
    return None


@_rule("pad", "padding of a padding", "one padding")
def _pad_forms(node: Node) -> Node | None:
    x = node.args[0]
    if x.op != "pad" or any(length is None for _, _, length in (*x.payload, *node.payload)):
        return None
    joined = tuple((start + begin * step, step * pace, length)
                   for (begin, pace, length), (start, step, _) in zip(x.payload, node.payload, strict=True))
    return pad(x.args[0], joined, node.shape)


@_rule("stop_gradient", "stop_gradient(2)", "2")
def _stop_forms(node: Node) -> Node | None:
    return node.args[0] if node.args[0].op in ("constant", "stop_gradient") else None


# ---------------------------------------------------------------------------- other passes


def inline(roots: Sequence[Node]) -> list[Node]:
    """Drop names and barriers, and put custom functions' bodies in place: what is computed is left."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.op in ("named", "stop_gradient"):
            new[node] = new[node.args[0]]
        elif node.op == "custom":
            rule, body = node.payload
            (plain,) = inline([body])
            stand_in = {b: new[a] for b, a in zip(rule.parameters, node.args, strict=True)}
            (new[node],) = substitute([plain], stand_in)
        else:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    return [new[root] for root in roots]


def _by_op(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    table: dict[str, list[Rule]] = {}
    for rule in rules:
        for op in rule.ops:
            table.setdefault(op, []).append(rule)
    return table


_ALL = _by_op(RULES)
_STABILITY = _by_op([rule for rule in RULES if rule.kind == "stability"])
