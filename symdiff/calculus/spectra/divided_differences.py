"""Divided differences of scalar formulas: f[x, y] = (f(x) - f(y)) / (x - y), and f'(x) where both are equal.

They are what derivatives of functions of symmetric matrices are made of. Written as a quotient they lose all digits
where the points are close. Here sums, products and quotients of formulas have theirs by Leibniz' rule, compositions by
the chain rule, and a function of the table has the quotient where its points are apart and an integral of its
derivative where they are close: f[x, y] is the mean of f' between the points, and f[x, y, z] half the mean of f''
over their triangle (Hermite and Genocchi), by Gauss' quadrature.

Sources: Higham, Functions of Matrices (2008), B.16; de Boor, Divided differences (2005), for the rules of calculation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from math import sqrt
from typing import NamedTuple, TypeAlias

from ...errors import NotDifferentiableError
from ...graph import BOOL, Node, constant, dependents, elementwise, placeholder, postorder, substitute
from ...graph.contractions import point
from ...graph.dump import record_text
from ...graph.primitives import complete
from ...graph.scalars.functions import FUNCTIONS, apply, compare, scalar_constant, where
from ..modes import pushforward

#: Points that are taken together, by their numbers in rising order.
Key: TypeAlias = tuple[int, ...]
#: The divided differences of one formula over some points; None for 0.
Table: TypeAlias = dict[Key, Node | None]

#: Order up to which there are rules.
HIGHEST = 2
#: Points are close if they are nearer than this part of the distance to the nearest singularity. Five nodes of Gauss
#: have an error of 1e-15 then, and a quotient loses a factor of 8 for each order.
_CLOSE = 1 / 8


def divided(function: Node, order: int) -> Node:
    """Return f[x0, ..., x_order] of a formula f of x0, as a formula of as many variables (see :func:`point`).

    Raises
    ------
    NotDifferentiableError
        Above the second order, and for functions without a rule.
    """
    if order > HIGHEST:
        raise NotDifferentiableError(
            f"derivative {order} of a function of a symmetric matrix; known to the second (the third of a sum of "
            "functions of eigenvalues)"
        )
    function = _in_known_forms(function)
    points = [point(k) for k in range(order + 1)]
    keys = [key for size in range(1, order + 2) for key in combinations(range(order + 1), size)]
    nodes = postorder([function])
    moving = dependents(nodes, [points[0]])
    found: dict[Node, Table] = {}
    for node in nodes:
        if node not in moving:
            found[node] = {key: node if len(key) == 1 else None for key in keys}
        elif node is points[0]:
            found[node] = {key: points[key[0]] if len(key) == 1 else constant(1.0) if len(key) == 2 else None
                           for key in keys}  # fmt: skip
        else:
            found[node] = _table(node, [found[arg] for arg in node.args], [arg in moving for arg in node.args], keys)
    whole = found[function][tuple(range(order + 1))] if function in found else None
    return constant(0.0) if whole is None else whole


def is_known(function: Node) -> bool:
    """Tell whether a formula is made of functions that have rules."""
    formula = _in_known_forms(function)
    order = postorder([formula])
    moving = dependents(order, [point(0)])
    return all(node.op in _KNOWN or node.dtype is BOOL or not node.args for node in order if node in moving)


def _in_known_forms(function: Node) -> Node:
    """Put what people write in place of functions that have a form of their own and no rule here."""
    while True:
        order = postorder([function])
        new: dict[Node, Node] = {}
        for node in order:
            row = FUNCTIONS.get(node.op)
            args = tuple([new[arg] for arg in node.args])
            if node.op not in _KNOWN and row is not None and row.written is not None:
                new[node] = row.written(*args)
            else:
                new[node] = elementwise(node.op, args, node.dtype) if args else node
        if new[function] is function:
            return function
        function = new[function]


def _table(node: Node, args: Sequence[Table], moving: Sequence[bool], keys: Sequence[Key]) -> Table:
    op = node.op
    values: Table = {
        key: elementwise(op, tuple([_some(arg[key]) for arg in args]), node.dtype) for key in keys if len(key) == 1
    }
    if node.dtype is BOOL:
        return values
    rule = _RULES.get(op)
    if rule is not None:
        return {key: values[key] if len(key) == 1 else rule(args, values, key) for key in keys}
    if op in ("where", "to_real"):
        return _chosen(args if node.is_choice else [args[0], _fixed(1.0, keys), _fixed(0.0, keys)], values, keys)
    if sum(moving) > 1:
        raise NotDifferentiableError(f"{op} of several functions of eigenvalues, in a function of a symmetric matrix")
    at = moving.index(True)
    if node.is_power and (power := _whole_power(node, args, keys)) is not None:
        return power
    return _composed(_function(node, at), args[at], values, keys)


def _some(node: Node | None) -> Node:
    return constant(0.0) if node is None else node


def _fixed(value: float, keys: Sequence[Key]) -> Table:
    return {key: constant(value) if len(key) == 1 else None for key in keys}


# ---------------------------------------------------------------------------- sums and products


def _plus(a: Node | None, b: Node | None) -> Node | None:
    return b if a is None else a if b is None else a + b


def _minus(a: Node | None, b: Node | None) -> Node | None:
    return a if b is None else -b if a is None else a - b


def _times(a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return None
    first, second = scalar_constant(a), scalar_constant(b)
    return b if first == 1.0 else a if second == 1.0 else a * b


def _product(args: Sequence[Table], values: Table, key: Key) -> Node | None:
    """Leibniz' rule: (f g)[x_0 .. x_n] is the sum of f[x_0 .. x_k] g[x_k .. x_n]."""
    f, g = args
    terms = [_times(f[key[: k + 1]], g[key[k:]]) for k in range(len(key))]
    return reduce(_plus, terms)


def _quotient(args: Sequence[Table], values: Table, key: Key) -> Node | None:
    """Divide f by g: by Leibniz' rule for f = h g, of which h[x_0 .. x_n] is in the last term."""
    f, g = args
    terms = [_times(_of_quotient(args, values, key[: k + 1]), g[key[k:]]) for k in range(len(key) - 1)]
    rest = reduce(_minus, terms, f[key])
    return None if rest is None else rest / _some(g[key[-1:]])


def _of_quotient(args: Sequence[Table], values: Table, key: Key) -> Node | None:
    return values[key] if len(key) == 1 else _quotient(args, values, key)


_RULES: dict[str, Callable[[Sequence[Table], Table, Key], Node | None]] = {
    "add": lambda args, values, key: _plus(args[0][key], args[1][key]),
    "subtract": lambda args, values, key: _minus(args[0][key], args[1][key]),
    "negative": lambda args, values, key: _minus(None, args[0][key]),
    "multiply": _product,
    "divide": _quotient,
}


def _whole_power(node: Node, args: Sequence[Table], keys: Sequence[Key]) -> Table | None:
    """Return the table of a small whole power, by products."""
    exponent = scalar_constant(node.args[1])
    if exponent is None or exponent != int(exponent) or not 1 <= abs(exponent) <= 4:
        return None
    table = args[0]
    for _ in range(int(abs(exponent)) - 1):
        table = {key: _product((table, args[0]), {}, key) for key in keys}
    if exponent > 0:
        return table
    one = _fixed(1.0, keys)
    values: Table = {key: 1.0 / _some(table[key]) for key in keys if len(key) == 1}
    return {key: values[key] if len(key) == 1 else _quotient((one, table), values, key) for key in keys}


# ---------------------------------------------------------------------------- functions of the table


class _Function(NamedTuple):
    """A function of one variable: its first and second divided differences as formulas of points and values."""

    first: Callable[[Node, Node], Node]
    second: Callable[[Sequence[Node]], Node]

    def __repr__(self) -> str:
        return record_text(self)


def _composed(function: _Function, inner: Table, values: Table, keys: Sequence[Key]) -> Table:
    """Apply the chain rule: (f o g)[x, y, z] = f[gx, gy] g[x, y, z] + f[gx, gy, gz] g[x, z] g[y, z]."""
    result = dict(values)
    for key in keys:
        at = [_some(inner[(k,)]) for k in key]
        if len(key) == 2:
            result[key] = _times(function.first(*at), inner[key])
        elif len(key) == 3:
            i, j, k = key
            slope = _times(function.first(at[0], at[1]), inner[key])
            square = _times(inner[i, k], inner[j, k])
            result[key] = _plus(slope, None if square is None else _times(function.second(at), square))
    return result


def _function(node: Node, at: int) -> _Function:
    """Return the divided differences of an operation of the table as a function of argument ``at``."""
    op = node.op
    variable = placeholder(("variable", op), ())
    args = tuple([variable if i == at else arg for i, arg in enumerate(node.args)])
    formula = elementwise(op, args)

    def value(x: Node) -> Node:
        return _at(formula, variable, x)

    if node.is_root:
        return _root(value)
    slope = _slope(formula, variable)
    if op in _PIECES:
        return _pieces(value, lambda x: _at(slope, variable, x))
    scale = _SCALES.get(op)
    if scale is None:
        raise NotDifferentiableError(
            f"{op} in a function of a symmetric matrix: it has no rule for equal eigenvalues; known: "
            f"{', '.join(sorted(_KNOWN))}"
        )
    bend = _slope(slope, variable)
    return _smooth(value, lambda x: _at(slope, variable, x), lambda x: _at(bend, variable, x), scale)


def _slope(formula: Node, variable: Node) -> Node:
    (slope,) = pushforward([formula], {variable: constant(1.0)})
    return constant(0.0) if slope is None else slope


def _at(formula: Node, variable: Node, x: Node) -> Node:
    """Put ``x`` for the variable; every operation below works element by element."""
    return substitute([formula], {variable: x})[0]


def _root(value: Callable[[Node], Node]) -> _Function:
    """sqrt(x) - sqrt(y) = (x - y) / (sqrt(x) + sqrt(y))."""

    def second(at: Sequence[Node]) -> Node:
        x, y, z = map(value, at)
        return -1.0 / ((x + y) * (y + z) * (x + z))

    return _Function(lambda x, y: 1.0 / (value(x) + value(y)), second)


_INNER, _OUTER = (sqrt(5 - s * 2 * sqrt(10 / 7)) / 3 for s in (1, -1))
_NODES = (-_OUTER, -_INNER, 0.0, _INNER, _OUTER)
_LARGE, _SMALL = ((322 + s * 13 * sqrt(70)) / 900 for s in (1, -1))
_WEIGHTS = (_SMALL, _LARGE, 128 / 225, _LARGE, _SMALL)
#: Gauss' nodes and weights (DLMF 3.5, table 3.5.1) for the mean over [0, 1].
_GAUSS = [(float(0.5 + 0.5 * t), float(0.5 * w)) for t, w in zip(_NODES, _WEIGHTS, strict=True)]


def _smooth(
    value: Callable[[Node], Node],
    slope: Callable[[Node], Node],
    bend: Callable[[Node], Node],
    scale: Callable[[Node], Node],
) -> _Function:
    def near(at: Sequence[Node]) -> Node:
        widest = reduce(_larger, [apply("abs", x - y) for x, y in combinations(at, 2)])
        nearest = reduce(lambda a, b: apply("minimum", a, b), map(scale, at))
        return compare("less_equal", widest, _CLOSE * nearest)

    def first(x: Node, y: Node) -> Node:
        mean = reduce(_sum, [w * slope(x + t * (y - x)) for t, w in _GAUSS])
        return where(near((x, y)), mean, (value(x) - value(y)) / (x - y))

    def second(at: Sequence[Node]) -> Node:
        x, y, z = at
        mean = reduce(_sum, [(t * w * v) * bend(x + t * ((y - x) + s * (z - y))) for t, w in _GAUSS for s, v in _GAUSS])
        return where(near(at), mean, _by_widest(at, first(x, y), first(y, z), first(x, z)))

    return _Function(first, second)


def _sum(a: Node, b: Node) -> Node:
    return a + b


def _larger(a: Node, b: Node) -> Node:
    return apply("maximum", a, b)


def _by_widest(at: Sequence[Node], xy: Node, yz: Node, xz: Node) -> Node:
    """Return f[x, y, z] of the three f[.,.], divided by the widest gap."""
    x, y, z = at
    gaps = [apply("abs", a - b) for a, b in ((x, y), (y, z), (x, z))]
    by_first, by_second, by_third = (xz - yz) / (x - y), (xy - xz) / (y - z), (xy - yz) / (x - z)
    rest = where(compare("less", gaps[1], gaps[0]), by_first, by_second)
    return where(compare("less", _larger(gaps[0], gaps[1]), gaps[2]), by_third, rest)


def _pieces(value: Callable[[Node], Node], slope: Callable[[Node], Node]) -> _Function:
    """Straight pieces: the quotient is exact on each, and at a kink equal points have the table's derivative."""

    def first(x: Node, y: Node) -> Node:
        return where(compare("equal", x, y), slope(x), (value(x) - value(y)) / (x - y))

    def second(at: Sequence[Node]) -> Node:
        x, y, z = at
        same = elementwise("logical_and", (compare("equal", x, y), compare("equal", y, z)), BOOL)
        return where(same, 0.0, _by_widest(at, first(x, y), first(y, z), first(x, z)))

    return _Function(first, second)


def _chosen(args: Sequence[Table], values: Table, keys: Sequence[Key]) -> Table:
    """Take one branch where all points are in it, and quotients where they are not, for they differ then."""
    condition, yes, no = args
    result = dict(values)
    for key in keys:
        if len(key) == 1:
            continue
        taken = [_some(condition[(k,)]) for k in key]
        every = reduce(lambda a, b: elementwise("logical_and", (a, b), BOOL), taken)
        some = reduce(lambda a, b: elementwise("logical_or", (a, b), BOOL), taken)
        at = [point(k) for k in key]
        if len(key) == 2:
            apart = (_some(values[key[:1]]) - _some(values[key[1:]])) / (at[0] - at[1])
        else:
            i, j, k = key
            apart = _by_widest(at, *(_some(result[pair]) for pair in ((i, j), (j, k), (i, k))))
        result[key] = where(every, _some(yes[key]), where(some, apart, _some(no[key])))
    return result


def _distance(to: float) -> Callable[[Node], Node]:
    """Return what gives the distance to a singularity on the real line."""
    return lambda x: apply("abs", x - to) if to else apply("abs", x)


def _one(x: Node) -> Node:
    return constant(1.0)


def _inside(x: Node) -> Node:
    return 1.0 - apply("abs", x)


#: Distances to the nearest singularity; 1 for functions that have none nearer, or none at all and change by as much.
_SCALES: dict[str, Callable[[Node], Node]] = {
    **dict.fromkeys(("exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "erf", "erfc", "sinc"), _one),
    **dict.fromkeys(("tanh", "sech", "sigmoid", "sigmoid_slope", "log_sigmoid", "softplus", "logaddexp"), _one),
    **dict.fromkeys(("log_cosh", "arctan", "arcsinh", "lorentzian"), _one),
    **dict.fromkeys(("log", "log2", "log10", "cbrt", "power", "power_log"), _distance(0.0)),
    **dict.fromkeys(("lgamma", "digamma"), lambda x: apply("maximum", x, 0.0)),
    "log1p": _distance(-1.0),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), _inside),
    "xlogy": _distance(0.0),
}
_PIECES = frozenset({"abs", "sign", "floor", "ceil", "rint", "trunc", "maximum", "minimum"})
_KNOWN = frozenset({*_RULES, *_SCALES, *_PIECES, "sqrt", "where", "to_real"})
complete(_KNOWN, __name__, FUNCTIONS, without=FUNCTIONS.keys() - _KNOWN)
