"""Rewrites to forms that do not overflow or cancel, applied before differentiation too.

A derivative inherits the form of its formula: d/dx log(1 + exp(x)) is nan at 1000 when it is
computed as it is written, and 1 when it comes from softplus. The kernel lists what was done.

Takes
    a node whose arguments are simplified
Gives
    an equal node in a stable form, or None
Invariants
    * Where both forms are finite they agree up to rounding; where only the new one is finite, it is right.
    * Derivatives inherit the stable form.
Files
    exponents       products as a number, one exponent, sums of exponentials and the rest
    exponentials    quotients of exponentials in one normal form
    sums            sums of exponentials, also along axes, by logsumexp and softmax
    factors         what vanishes at 0, as a power of its variable and something smooth
    removable       quotients that are 0 / 0 where their variable is 0
    identities      parts of sums that are 0 by the rules of powers, exponentials and logarithms, and far out
    rational_form   the form in which sums are compared, and points, which tell most of them from 0
    roots           roots of sums of squares
    lengths         divisions by a length factored out of linear operations
Add
    a function with ``@rule`` below, or in the file whose pattern it shares
"""

from __future__ import annotations

import math

from ...graph import Node, axes_of, constant, contract, elementwise, normalize, rebuild, reduce, reshape, sum_axes
from ...graph.kinds import EXPONENTIAL, INVERSE, OF_SQUARE, VANISHING, bit_of
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, factors_of, peel, without_numbers
from ...graph.scalars.functions import scalar_constant
from ...graph.scalars.logarithms import log1mexp_of_exp
from ...graph.sizes import Dim
from ..facts import is_positive
from ..rewriter import is_number, rule, spread, stabilize
from . import factors as factors
from . import identities as identities
from .exponentials import normal_form
from .exponents import SHAPES, as_sum, may_hold_exponentials
from .lengths import cancelled, joined, root_beside_zero, root_of_length, share_of_length
from .removable import smooth_quotient
from .roots import length_of, squared_size
from .sums import log_of_sum, logarithm, softmax_form


def _exp_of(node: Node) -> Node | None:
    """Return a with node = exp(a)."""
    node = peel(node)
    return node.args[0] if node.op == "exp" else None


@rule("log1p", "log1p(c exp(x))", "logaddexp(0, x + log(c))", "stability")
def _log1p_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    found = as_sum(elementwise("add", (constant(1.0), inside))) if _is_exponential(inside) else None
    result = None if found is None or found.sign() != 1 else log_of_sum(found, node.shape)
    return None if result is None else spread(result, node.shape)


def _is_exponential(x: Node) -> bool:
    return x.op in SHAPES or x.is_contraction or may_hold_exponentials(x)


def _sum_over(node: Node) -> tuple[Node, tuple[int, ...]] | None:
    """Return (x, axes) with node = the sum of x over axes."""
    if not node.is_contraction or len(node.args) != 1:
        return None
    labels, out, repeated = node.payload
    if repeated or len(set(labels[0])) != len(labels[0]) or list(out) != sorted(out):
        return None
    axes = tuple(a for a, label in enumerate(labels[0]) if label not in out)
    return (node.args[0], axes) if axes else None


@rule("log", "log(sum(exp(x)))", "logsumexp(x)", "stability")
def _log_sum_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    kept: tuple[Dim, ...] | None = None
    if inside.is_reshape:
        kept, inside = inside.shape, peel(inside.args[0])
    found = _sum_over(inside)
    if found is None:
        return None
    x = _exp_of(found[0])
    if x is None:  # of sums that are positive
        each = as_sum(found[0]) if found[0].op in SUMS else None
        x = log_of_sum(each, found[0].shape) if each is not None and each.sign() == 1 else None
    if x is None:
        return None
    result = reduce("logsumexp", spread(x, found[0].shape), found[1])
    return result if kept is None else reshape(result, kept)


@rule("log1mexp", "log1mexp(exp(x))", "x - exp(x) / 2 + ..., also where exp(x) is 0 or infinite", "stability")
def _log1mexp_of_exp(node: Node) -> Node | None:
    inside = peel(node.args[0])
    return spread(log1mexp_of_exp(inside.args[0]), node.shape) if inside.op == "exp" else None


@rule("add subtract", "1 + erf(x / sqrt(2))", "2 ndtr(x)", "stability", inside="erf negative named")
def _one_and_error_function(node: Node) -> Node | None:
    one, other = node.args if is_number(node.args[0], 1.0) else node.args[::-1]
    if not is_number(one, 1.0) or (node.is_subtraction and one is not node.args[0]):
        return None
    part = peel(other)
    minus = node.is_subtraction
    if part.is_negation:
        minus, part = not minus, peel(part.args[0])
    if part.op != "erf" or part.shape != node.shape:
        return None
    c, x = _by_root_of_two(part.args[0])
    if not c or x.shape != node.shape:
        return None
    return constant(2.0) * elementwise("ndtr", (-x if minus == (c > 0) else x,))


def _by_root_of_two(node: Node) -> tuple[int, Node]:
    """Return (1, x) for x / sqrt(2), (-1, x) for -x / sqrt(2), and (0, node) for anything else."""
    sign, part = 1, peel(node)
    if part.is_negation:
        sign, part = -1, peel(part.args[0])
    if not part.is_multiplicative:
        return 0, node
    for x, number in (part.args, part.args[::-1]) if part.is_multiplication else (part.args,):
        root = peel(number)
        inside = scalar_constant(root.args[0]) if root.is_root else None
        value = scalar_constant(root) if inside is None else math.sqrt(max(inside, 0.0))
        wanted = math.sqrt(2.0) if part.is_division else math.sqrt(0.5)
        if value is not None and abs(abs(value) - wanted) < 1e-15:
            return (sign if value > 0 else -sign), x
    above = peel(part.args[0])
    if part.is_division and above.is_negation:
        found, x = _by_root_of_two(elementwise("divide", (above.args[0], part.args[1])))
        return -found * sign, x
    return 0, node


#: Functions whose step from one order to the next cancels far out, and their families.
_RAISED = {"dawsn": "dawsn", "dawsn_derivative": "dawsn", "erfcx": "erfcx", "ierfcx": "erfcx"}


def _is_multiple(node: Node, depth: int = 6) -> bool:
    """Tell whether one of these functions is among the factors of a product."""
    if node.op in _RAISED:
        return True
    is_product = node.is_multiplicative or node.is_negation or node.is_named
    return depth > 0 and is_product and any(_is_multiple(arg, depth - 1) for arg in node.args)


def _raised(node: Node) -> tuple[float, str, int, float, Node] | None:
    """Return (c, name, n, k, x) for c x**k f_n(x), k 0 or 1; None for anything else."""
    if not _is_multiple(node):
        return None
    sign, parts, whole = factors_of(node, 6, powers=16.0, look=peel)
    found = [(base, n) for base, n in parts if base.op in _RAISED]
    if not whole or len(found) != 1 or found[0][1] != 1.0 or found[0][0].shape != node.shape:
        return None
    f = found[0][0]
    x = f.args[-1]
    order = scalar_constant(f.args[0]) if len(f.args) == 2 else 0.0
    turned, own, _ = factors_of(x, 6, powers=16.0, look=peel)
    c, power = float(sign), 0.0
    if any(scalar_constant(base) is None for base, _ in parts if base is not f):
        c, power = c * turned, 1.0
    rest: dict[Node, float] = {}
    for some, way in ((parts, 1.0), (own, -power)):
        for base, n in some:
            value = scalar_constant(base)
            if value is not None:
                c *= math.copysign(abs(value) ** (n * way), value if n % 2 else 1.0) if value else math.nan
            elif base is not f:
                rest[base] = rest.get(base, 0.0) + n * way
    if order is None or any(rest.values()):
        return None
    return c, _RAISED[f.op], int(order), power, x


@rule("add subtract", "1 - 2 x dawsn(x), 1 - sqrt(pi) x erfcx(x), dawsn(x) + x (1 - 2 x dawsn(x))",
      "the function that has digits far out", "stability", inside="multiply divide negative named",
      below=(sum(map(bit_of, _RAISED)),))  # fmt: skip
def _from_order_to_order(node: Node) -> Node | None:
    """DLMF 7.10.3, 7.18.7."""
    for turned in (False, True):
        one, other = node.args[::-1] if turned else node.args
        if (high := _raised(other)) is None or not high[3]:
            continue
        c, name, n, _, x = high
        value, low = scalar_constant(one), None if n == 0 else _raised(one)
        if n == 0 and value is not None:
            below = value if name == "dawsn" else 0.5 * math.sqrt(math.pi) * value
        elif low is not None and low[1:] == (name, n - 1, 0.0, x):
            below = low[0]
        else:
            continue
        if node.is_subtraction:
            below, c = (-below, c) if turned else (below, -c)
        wanted = -2.0 * below if n == 0 or name == "erfcx" else below / n
        if not abs(c - wanted) <= 1e-15 * abs(c) or n >= 10:
            continue
        scale = -0.5 * c if name == "dawsn" else -(n + 1.0) * c
        raised = elementwise("dawsn_derivative" if name == "dawsn" else "ierfcx", (constant(n + 1.0), x))
        return raised if scale == 1.0 else constant(scale) * raised
    return None


@rule("log", "log(softmax(x)), log(softmax(x)[k])", "log_softmax(x), log_softmax(x)[k]", "stability")
def _log_of_softmax(node: Node) -> Node | None:
    inside = peel(node.args[0])
    if inside.op == "softmax":
        return _log_of_softmax_node(inside)
    if inside.op not in ("slice", "gather", "take") or peel(inside.args[0]).op != "softmax":
        return None
    return rebuild(inside, (_log_of_softmax_node(peel(inside.args[0])), *inside.args[1:]))


def _log_of_softmax_node(node: Node) -> Node:
    x = node.args[0]
    return normalize("log_softmax", x, axes_of(node, x))


@rule("prod", "prod(exp(x))", "exp(sum(x))", "stability", inside="exp")
def _product_of_exponentials(node: Node) -> Node:
    """Add exponents, which leave the range with the product alone: partial products leave it before."""
    (x,) = node.args[0].args
    labels = tuple(range(x.ndim))
    axes = axes_of(node, x)
    return elementwise("exp", (contract([x], [labels], tuple(label for label in labels if label not in axes)),))


@rule("log", "log(prod(x)), log(abs(prod(x)))", "sum(log(abs(x))) + log(prod(sign(x))), sum(log(abs(x)))", "stability")
def _log_of_prod(node: Node) -> Node | None:
    inside = peel(node.args[0])
    absolute = inside.op == "abs"
    inside = peel(inside.args[0]) if absolute else inside
    if inside.op != "prod" or inside.args[0].op == "sign":  # a product of signs does not overflow
        return None
    (x,) = inside.args
    axes = inside.payload.axes
    (log,) = stabilize([elementwise("log", (elementwise("abs", (x,)),))])
    labels = tuple(range(x.ndim))
    total = contract([log], [labels], tuple(label for label in labels if label - x.ndim not in axes))
    if absolute or is_positive(x):
        return total
    signs = reduce("prod", elementwise("sign", (x,)), tuple(axis + x.ndim for axis in axes))
    return elementwise("add", (total, elementwise("log", (signs,))))


@rule("multiply divide", "sin(k x) / x, (1 - cos(x)) / x**2, (exp(x) - 1) / x, x / (exp(x) - 1), ...",
      "quotients that are right at 0, to every order", "stability", below=(INVERSE, VANISHING))
def _removable_singularity(node: Node) -> Node | None:
    return smooth_quotient(node)


@rule("multiply divide contract", "norm(x) * c(x**2) * cross(x / norm(x), v), ...",
      "c(x**2) * cross(x, v), for such a quotient c by the square", "stability", below=(OF_SQUARE,))
def _length_within_products(node: Node) -> Node | None:
    return cancelled(node)


@rule("multiply divide power",
      "1 / (1 + exp(-x)), exp(x) / (1 + exp(x)), sinh(x) / cosh(x), ...", "sigmoid(x), sigmoid(x), tanh(x), ...",
      "stability", below=(EXPONENTIAL,))
def _quotient_of_exponentials(node: Node) -> Node | None:
    return normal_form(node)


@rule("log", "log(exp(a) + exp(b) + ...), log(cosh(x)), log(x exp(a))",
      "logsumexp([a, b, ...]), log(cosh(x)), log(x) + a", "stability")
def _log_of_exponentials(node: Node) -> Node | None:
    found = logarithm(node.args[0], node.shape)
    return None if found is None else spread(found, node.shape)


@rule("log2 log10", "log2(exp(a) + exp(b) + ...), log10(...)", "logsumexp([a, b, ...]) / log(2), ... / log(10)",
      "stability", below=(EXPONENTIAL,))
def _logarithm_of_another_base(node: Node) -> Node | None:
    (found,) = stabilize([elementwise("log", node.args)])
    base = constant(math.log(2.0 if node.op == "log2" else 10.0))
    return None if found.op in ("log", "log1p") else elementwise("divide", (found, base))


@rule("add subtract", "1 - b / (b + c exp(x))", "c / (c + b exp(-x))", "stability", inside="constant reshape contract")
def _rest_of_share(node: Node) -> Node | None:
    """Rewrite a number and a multiple of a share of two exponentials whose sum is the other share."""
    for place in (0, 1):
        a, c = scalar_constant(node.args[place]), 1.0
        if a is None or a == 0.0:
            continue
        share = peel(node.args[1 - place])
        if node.is_subtraction:
            a, c = (a, -1.0) if place == 0 else (-a, 1.0)
        factor, share = without_numbers(share)
        first = scalar_constant(share.args[0]) if share.op == "exp_share" else None
        if first is not None and c * factor == -a * first:
            _, second, t = share.args
            other = elementwise("multiply", (second, elementwise("exp_share", (second, share.args[0], _negated(t)))))
            return spread(elementwise("multiply", (constant(a), other)), node.shape)
    return None


def _negated(x: Node) -> Node:
    return x.args[0] if x.is_negation else elementwise("negative", (x,))


@rule("divide", "exp(x) / sum(exp(x)), sum(w exp(x)) / sum(exp(x))", "softmax(x), sum(w softmax(x))", "stability",
      inside="contract reshape named multiply")
def _softmax_form(node: Node) -> Node | None:
    top, bottom = node.args
    return softmax_form(top, bottom, node.shape)


@rule("log", "log(x**n), log(s**t), s positive", "n log |x| (even n), n log(x) (odd n), t log(s)", "stability")
def _log_of_power(node: Node) -> Node | None:
    inside = peel(node.args[0])
    n = scalar_constant(inside.args[1]) if inside.is_power else None
    if inside.is_power and n is None and is_positive(inside.args[0]):
        (log,) = stabilize([elementwise("log", inside.args[:1])])
        return spread(elementwise("multiply", (inside.args[1], log)), node.shape)
    if n is None or n == 0 or not n.is_integer() or inside.args[0].shape != node.shape:
        return None
    x = inside.args[0]
    if n % 2 == 0:
        x = elementwise("abs", (x,))
    (log,) = stabilize([elementwise("log", (x,))])
    return elementwise("multiply", (constant(n), log))


@rule("sqrt power", "sqrt(x**2), sqrt(x**2 + y**2), sqrt(sum(v**2))", "abs(x), hypot(x, y), norm(v)", "stability")
def _root_of_squares(node: Node) -> Node | None:
    if node.is_power and not is_number(node.args[1], 0.5):
        return None
    found = length_of(peel(node.args[0]))
    return None if found is None else spread(found, node.shape)


@rule("power multiply", "abs(x)**2, (c abs(x))**2", "x**2, c**2 x**2", "stability", inside="abs named", linked=True)
def _squared_abs(node: Node) -> Node | None:
    return squared_size(node)


@rule("power", "norm(x)**2", "sum(x**2)", "stability")
def _squared_norm(node: Node) -> Node | None:
    x, n = peel(node.args[0]), node.args[1]
    if x.op != "norm" or not is_number(n, 2.0) or n.shape != ():
        return None
    (inside,) = x.args
    square = elementwise("power", (inside, constant(2.0)))
    return sum_axes(square, axes_of(x, inside))


@rule("multiply contract", "norm(x) * unit(x), sum(x**2) * unit(x)", "x, norm(x) * x", inside="unit")
def _length_times_direction(node: Node) -> Node | None:
    found = joined(node)
    return None if found is None else spread(found, node.shape)


@rule("multiply divide contract", "hypot(x, y) * (x / hypot(x, y))", "x",
      below=(INVERSE, bit_of("direction_cos") | bit_of("direction_sin")))
def _length_times_share(node: Node) -> Node | None:
    found = share_of_length(node)
    return None if found is None else spread(found, node.shape)


@rule("multiply divide contract", "x / sqrt(norm(x))", "sqrt(norm(x)) * unit(x)", "derived",
      below=(INVERSE, bit_of("hypot") | bit_of("norm")))
def _vector_over_root(node: Node) -> Node | None:
    found = root_of_length(node)
    return None if found is None else spread(found, node.shape)


@rule("multiply divide", "x / sqrt(hypot(x, y))", "x / sqrt(hypot(x, y)), and 0 at 0", "derived",
      below=(INVERSE, bit_of("hypot")))  # fmt: skip
def _number_over_root(node: Node) -> Node | None:
    found = root_beside_zero(node)
    return None if found is None else spread(found, node.shape)


@rule("multiply", "s / norm(x) * unit(x)", "s / norm(x) / norm(x) * x", inside="unit")
def _unit_over_norm(node: Node) -> Node | None:
    """Multiply by vectors over their norm twice; at 0 both are nan."""
    for scalar, direction in (node.args, node.args[::-1]):
        if direction.op != "unit":
            continue
        (x,) = direction.args
        axes = {axis % x.ndim for axis in axes_of(direction, x)}
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
        if scalar.shape not in ((), kept) or (not scalar.shape and len(axes) < x.ndim):
            continue
        length = reduce("norm", x, axes_of(direction, x))
        length = reshape(length, kept) if scalar.shape else length
        inside = scalar
        for _ in range(4):
            if inside.is_division and inside.args[1] is length:
                return elementwise("multiply", (elementwise("divide", (scalar, length)), x))
            if inside.op not in PRODUCTS:
                break
            inside = inside.args[inside.is_multiplication and inside.args[0].is_constant]
    return None
