"""Rewrites by what is known of numbers: positive, skew, triangular, definite and orthogonal ones.

Most hold on the whole space that an input moves in, so they are made before differentiation too and change no
derivative. Orthogonality holds on no linear space: rules by it have the kind *values*, and are made when a formula is
compiled or shown, never on the way to a further derivative. The identity ``Q.T @ Q = I`` has other derivatives on both
sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..graph import (
    Node,
    axes_of,
    broadcast_to,
    concatenate,
    constant,
    contract,
    delta,
    elementwise,
    matrix,
    normalize,
    number,
    rebuild,
    reduce,
    reshape,
)
from ..graph.deltas.einsum import einsum
from ..graph.kinds import DECLARED
from ..graph.scalars.arithmetic import PRODUCTS, factors_of, peel, terms_of, without_numbers
from ..graph.scalars.functions import FUNCTIONS, Range, scalar_constant
from .facts import (
    bounds_of,
    factors_along,
    is_definite,
    is_diagonal,
    is_lower,
    is_orthogonal,
    is_skew,
    is_surely_positive,
    is_upper,
    sign_of,
    transposed,
)
from .kept_range import is_ordinary
from .rewriter import make, multiplied, rule, spread, stabilize

# ---------------------------------------------------------------------------- positive numbers


@rule("abs", "abs(s), abs(s x), s never negative, abs(x sin(x))", "s, s abs(x), abs(x) abs(sin(x))", "stability")
def _abs_of_known_sign(node: Node) -> Node | None:
    (x,) = node.args
    sign = sign_of(x)
    if sign:
        return x if sign > 0 else make("negative", x)
    if peel(x).op not in PRODUCTS:
        return None
    _, parts, whole = factors_of(peel(x), _TERMS, look=peel)
    signs = [sign_of(base) for base, _ in parts]
    if not whole or not any(signs):
        return _sizes_of_factors(node, parts) if whole and len(parts) > 1 else None
    result, rest = constant(1.0), constant(1.0)
    for (base, n), own in zip(parts, signs, strict=True):
        if own:
            result = multiplied(result, [(base if own > 0 else make("negative", base), n)])
        else:
            rest = multiplied(rest, [(base, n)])
    if scalar_constant(result) == 1.0:  # the numerator of 1 / x
        return None if rest is peel(x) else spread(make("abs", rest), node.shape)
    return spread(make("multiply", result, make("abs", rest)), node.shape)


def _sizes_of_factors(node: Node, parts: Sequence[tuple[Node, float]]) -> Node | None:
    """Write the size of a product of what vanishes together, x sin(x) or sin(x) tan(x), as the product of sizes."""
    from .cancelling.kinks import vanishes_with  # whose rules come later

    bases = dict.fromkeys(base for base, _ in parts)
    inside = [arg for base in bases if base.op in FUNCTIONS for arg in base.args]
    if not any(sum(b is a or vanishes_with(b, a) for b in bases) > 1 for a in dict.fromkeys((*bases, *inside))):
        return None
    return spread(multiplied(constant(1.0), [(make("abs", base), n) for base, n in parts]), node.shape)


@rule("maximum minimum", "max(a, b), a - b never negative", "a", "stability")
def _larger_of_known(node: Node) -> Node | None:
    """Take the one that is larger wherever both are numbers; nan stays where the other one is nan."""
    first, second = node.args
    below, above = bounds_of(first), bounds_of(second)
    if below.low >= above.high:
        sign = 1
    elif below.high <= above.low:
        sign = -1
    else:
        sign = 0 if number(first) is not None or number(second) is not None else sign_of(
            elementwise("subtract", node.args)
        )
    if not sign:
        return None
    kept, gone = (first, second) if (sign > 0) is (node.op == "maximum") else (second, first)
    if number(gone) is None:
        kept = make("multiply", elementwise("unless_nan", (gone,)), kept)
    return spread(kept, node.shape)


@rule("max min", "max([a, b]), max([a, b, c]), a never less than b", "maximum(a, b), max([a, c])", "stability",
      inside="concatenate named")
def _extremum_of_few(node: Node) -> Node | None:
    """Leave out elements that are never the largest, and write the larger of two numbers as that."""
    inside = peel(node.args[0])
    if node.shape != () or inside.ndim != 1 or not inside.is_concatenation or len(inside.args) > _TERMS:
        return None
    parts = [peel(part.args[0]) if part.is_reshape and part.args[0].shape == () else part for part in inside.args]
    if any(part.shape not in ((), (1,)) for part in parts):
        return None
    parts = [reshape(part, ()) for part in parts]
    op = "maximum" if node.op == "max" else "minimum"
    kept: list[Node] = []
    for part in parts:
        for k, other in enumerate(kept):
            one = _larger_of_known(elementwise(op, (other, part)))
            if one is not None:
                kept[k] = one
                break
        else:
            kept.append(part)
    if len(kept) > 2:
        if len(kept) == len(parts):
            return None
        return reduce(node.op, concatenate([reshape(part, (1,)) for part in kept], 0), (0,))
    return make(op, *kept) if len(kept) == 2 else kept[0]


@rule("multiply", "maximum(x, 0) * minimum(x, 0)", "0", "differentiated", inside="maximum minimum power named")
def _product_of_both_sides(node: Node) -> Node | None:
    """Write 0 for a product of what is 0 on one side and of what is 0 on the other."""
    _, parts, _ = factors_of(node, _TERMS, powers=_TERMS, look=peel)
    above, below = (
        {peel(x) for part, n in parts if part.op == op and n > 0.0
         for x, zero in (part.args, part.args[::-1]) if number(zero) == 0.0}
        for op in ("maximum", "minimum")
    )  # fmt: skip
    return None if above.isdisjoint(below) else spread(constant(0.0), node.shape)


@rule("max min sort", "max(x[::-1]), sort(x[[2, 0, 1]]), max(X.T)", "max(x), sort(x), max(X)", "form",
      inside="slice gather contract")
def _order_of_permuted(node: Node) -> Node | None:
    """Leave out what only moves elements among those that are put into an order."""
    (x,) = node.args
    axes = {axis + x.ndim for axis in ([node.payload.axis] if node.op == "sort" else node.payload.axes)}
    if x.is_slice:
        sizes = x.args[0].shape
        is_moved = len(sizes) == x.ndim and all(
            item == (0, 1, size) or (i in axes and item == (size - 1, -1, size))
            for i, (item, size) in enumerate(zip(x.payload.items, sizes, strict=True))
        )
    elif x.is_gather:
        along = x.payload.axis + x.ndim
        is_moved = along in axes and sorted(x.payload.indices) == [*range(x.args[0].shape[along])]
    else:
        labels, out, repeated = x.payload
        is_moved = not node.shape and len(x.args) == 1 and not repeated and sorted(labels[0]) == sorted(out)
    return rebuild(node, x.args) if is_moved else None


#: Functions that are even in some argument.
_EVEN = [name for name, row in FUNCTIONS.items() if "even" in row.parity]


@rule(" ".join(_EVEN), "f(abs(x)), f even", "f(x)", "stability", inside="abs named")
def _even_of_size(node: Node) -> Node | None:
    parity = FUNCTIONS[node.op].parity
    sizes = [peel(arg) if own == "even" else arg for arg, own in zip(node.args, parity, strict=True)]
    args = [x.args[0] if x.op == "abs" and own == "even" else arg
            for x, arg, own in zip(sizes, node.args, parity, strict=True)]
    return None if args == list(node.args) else elementwise(node.op, tuple(args))


@rule("norm", "norm(abs(x)), norm(2 x)", "norm(x), 2 norm(x)", "stability")
def _norm_of_sizes(node: Node) -> Node | None:
    x = peel(node.args[0])
    if x.op == "abs":
        return reduce("norm", x.args[0], axes_of(node, x))
    c, base = without_numbers(x)
    if base is x or base.shape != x.shape or base.is_constant or not is_ordinary(c):
        return None
    length = reduce("norm", base, axes_of(node, x))
    return length if abs(c) == 1.0 else constant(abs(c)) * length


#: Up to which denominator an exponent is read as a fraction.
_ORDERS = 1000
#: Logarithms, and how each is computed of a number.
_LOGARITHMS = {"log": math.log, "log2": math.log2, "log10": math.log10}


@rule(" ".join(_LOGARITHMS), "log(c**x), log10(10**x), c a number", "x log(c), x", "stability",
      inside="power exp2 named reshape")
def _log_of_power_of_number(node: Node) -> Node | None:
    """Take the exponent before the power overflows: 10**400 is none of double's numbers."""
    inside = peel(node.args[0])
    if inside.op == "exp2":
        base, x = 2.0, inside.args[0]
    elif inside.is_power:
        known = scalar_constant(inside.args[0])
        base, x = 0.0 if known is None else known, inside.args[1]
    else:
        return None
    if base <= 0.0 or base == 1.0 or math.isinf(base) or x.shape != node.shape:
        return None
    factor = _LOGARITHMS[node.op](base)
    return x if factor == 1.0 else elementwise("multiply", (constant(factor), x))


@rule("divide", "s / s, s**2 / s, (s x) / s, s positive", "1, s, x", below=(DECLARED,))
def _positive_over_itself(node: Node) -> Node | None:
    """Cancel an input that is above 0 and finite at every call, so that no nan is hidden."""
    top, s = node.args
    if not is_surely_positive(s):
        return None
    if top is s:
        return spread(constant(1.0), node.shape)
    if top.is_multiplication and s in top.args and top.shape == node.shape:
        return spread(top.args[1] if top.args[0] is s else top.args[0], node.shape)
    if top.is_power and top.args[0] is s and top.shape == node.shape:
        n = number(top.args[1])
        return None if n is None else make("power", s, constant(n - 1.0))
    return None


@rule("power", "(s**a)**b, s never below 0, a < 1 <= a b", "s**(a b)", "stability", inside="power sqrt")
def _power_of_root(node: Node) -> Node | None:
    """Join a root and a power of it: at 0 the root has an infinite slope, and the whole a finite one."""
    inside, b = node.args[0], number(node.args[1])
    a = number(inside.args[1]) if inside.is_power else 0.5 if inside.is_root else None
    if a is None or b is None or not 0.0 < a < 1.0 < b:
        return None
    from fractions import Fraction  # not needed by most programs

    near = Fraction(a).limit_denominator(_ORDERS)  # 1/49 is meant by the double beside it, and 49 of them are 1
    whole = float(near * Fraction(b)) if float(near) == a and math.isfinite(b) else a * b
    if whole < 1.0 or bounds_of(inside.args[0]).low < 0.0:
        return None
    return make("power", inside.args[0], constant(whole))


@rule("sign maximum less less_equal equal not_equal",
      "sign(s), max(s, 0), 0 < s, -s < 0, s == 0, s positive", "1, s, true, true, false", below=(DECLARED,))
def _sign_of_positive(node: Node) -> Node | None:
    if node.op == "sign":
        return spread(constant(1.0), node.shape) if _is_above_zero(node.args[0]) else None
    for place, arg in enumerate(node.args):
        bound = scalar_constant(node.args[1 - place])
        negative = arg.is_negation and node.op != "maximum"
        s = arg.args[0] if negative else arg
        if bound is None or not (-bound if negative else bound) <= 0.0 or not _is_above_zero(s):
            continue
        if node.op == "maximum":
            return spread(s, node.shape)
        told = node.op == "not_equal" if node.op in ("equal", "not_equal") else (place == 1) is not negative
        return broadcast_to(constant(told), node.shape)
    return None


@rule("less less_equal equal", "exp(x) <= 0, x**2 < 0, y / s <= 0, y and s positive", "false", "shown")
def _decided_by_bounds(node: Node) -> Node | None:
    """Leave out a condition that no real numbers meet; a kernel asks, since what is above 0 may be rounded to 0."""
    a, b = (bounds_of(arg) for arg in node.args)
    never = _is_above(a, b, node.op == "less") or (node.op == "equal" and _is_above(b, a))
    return broadcast_to(constant(False), node.shape) if never else None


def _is_above(a: Range, b: Range, or_equal: bool = False) -> bool:
    return a.low > b.high or (a.low == b.high and (or_equal or not a.has_low or not b.has_high))


def _is_above_zero(node: Node) -> bool:
    """Tell whether every element is above 0 and no nan: an input that is checked to be so, and sums of such."""
    parts, whole = terms_of(node, _TERMS)
    return whole and all(sign > 0 and _is_positive_term(part) for sign, part in parts)


def _is_positive_term(part: Node) -> bool:
    """Tell whether a term is an input that is checked to be above 0, a number above 0, or one over such an input."""
    if part.is_division and 1.0 <= (scalar_constant(part.args[0]) or 0.0) < _LARGE:
        part = part.args[1]
    return is_surely_positive(part) or (scalar_constant(part) or 0.0) > 0.0


#: Numbers up to this over a number that is finite are above 0.
_LARGE = 1e15


#: Most terms of a sum that are looked at.
_TERMS = 8


@rule("log", "log(det(S) / c), S definite", "logdet(S) - log(c)", "stability", inside="multiply divide",
      below=(DECLARED,))
def _log_of_positive_determinants(node: Node) -> Node | None:
    """Take the logarithms of determinants that are above 0 apart, before they overflow."""
    sign, parts, whole = factors_of(node.args[0], _TERMS, look=peel)
    known = [(base, n) for base, n in parts if _is_positive_determinant(base) and base.shape == node.shape]
    if not known or not whole or sign < 0:
        return None
    rest = [(base, n) for base, n in parts if (base, n) not in known]
    result: Node | None = None
    if rest:
        above = spread(multiplied(constant(1.0), rest), node.shape)
        (result,) = stabilize([elementwise("log", (above,))])
    for base, n in known:
        log = make("multiply", constant(abs(n)), matrix("logdet", base.args[0]))
        result = (log if n > 0 else make("negative", log)) if result is None else (
            make("add" if n > 0 else "subtract", result, log)
        )
    return result


def _is_positive_determinant(node: Node) -> bool:
    return node.op == "det" and is_definite(node.args[0])


# ---------------------------------------------------------------------------- skew matrices


@rule("contract", "Kᵀ, K skew", "-K", "arrays", below=(DECLARED,))
def _skew_operand(node: Node) -> Node | None:
    """Write the labels of skew operands in the order of the result, with a sign."""
    labels, out, repeated = node.payload
    rank = {label: place for place, label in enumerate(out)}

    def place(label: int) -> int:
        return rank.get(label, len(rank) + label)

    sign, turned = 1.0, list(labels)
    for i, (arg, own) in enumerate(zip(node.args, labels, strict=True)):
        if len(own) >= 2 and own[-1] != own[-2] and place(own[-2]) > place(own[-1]) and is_skew(arg):
            turned[i] = (*own[:-2], own[-1], own[-2])
            sign = -sign
    if turned == list(labels):
        return None
    found = contract(node.args, turned, out, dict(repeated))
    return elementwise("negative", (found,)) if sign < 0 else found


# ---------------------------------------------------------------------------- triangular and diagonal matrices


def _diagonal(a: Node) -> Node:
    own = tuple(range(a.ndim - 1))
    return contract([a], [(*own, own[-1])], own)


def _is_triangular(a: Node) -> bool:
    return is_lower(a) or is_upper(a)


@rule("det", "det(L), L triangular", "prod(diagonal(L))", "stability")
def _det_of_triangular(node: Node) -> Node | None:
    (a,) = node.args
    return reduce("prod", _diagonal(a), (a.ndim - 2,)) if _is_triangular(a) else None


@rule("logabsdet", "logabsdet(L), L triangular", "sum(log(abs(diagonal(L))))", "stability")
def _logabsdet_of_triangular(node: Node) -> Node | None:
    (a,) = node.args
    return _sum_of_logs(elementwise("abs", (_diagonal(a),))) if _is_triangular(a) else None


@rule("logdet", "logdet(D), D diagonal and definite", "sum(log(diagonal(D)))", "stability", below=(DECLARED,))
def _logdet_of_diagonal(node: Node) -> Node | None:
    (a,) = node.args
    return _sum_of_logs(_diagonal(a)) if _has_positive_diagonal(a) else None


def _has_positive_diagonal(a: Node) -> bool:
    """Tell whether a matrix is an input that is checked to be diagonal with numbers above 0."""
    return a.is_input and is_diagonal(a) and is_definite(a)


def _sum_of_logs(x: Node) -> Node:
    own = tuple(range(x.ndim))
    return contract([elementwise("log", (x,))], [own], own[:-1])


@rule("inv", "inv(D), D diagonal and definite", "diag(1 / diagonal(D))", "stability", below=(DECLARED,))
def _inverse_of_diagonal(node: Node) -> Node | None:
    (a,) = node.args
    if not _has_positive_diagonal(a):
        return None
    own = tuple(range(a.ndim))
    inverse = elementwise("divide", (constant(1.0), _diagonal(a)))
    return contract([inverse, delta(*a.shape[-2:])], [own[:-1], own[-2:]], own)


# ---------------------------------------------------------------------------- Cholesky factors of definite matrices


def _factored(node: Node) -> Node | None:
    """Return S with node = cholesky(S), for a definite S."""
    node = peel(node)
    return node.args[0] if node.op == "cholesky" and is_definite(node.args[0]) else None


@rule("contract", "sum(log(diagonal(cholesky(S)))), S definite", "logdet(S) / 2",
      "stability", inside="log named", below=(DECLARED,))
def _logdet_by_cholesky(node: Node) -> Node | None:
    log = peel(node.args[0])
    if len(node.args) != 1 or node.payload.repeated or log.op != "log":
        return None
    (own,), out = node.payload.labels, node.payload.out
    inside = peel(log.args[0])
    if tuple(own[:-1]) != tuple(out) or own[-1] in out or not inside.is_contraction or len(inside.args) != 1:
        return None
    s = _factored(inside.args[0])
    if s is None or inside is not _diagonal(inside.args[0]):
        return None
    return elementwise("multiply", (constant(0.5), matrix("logdet", s)))


@rule("contract", "cholesky(S) cholesky(S)ᵀ, S definite", "S", "stability", inside="cholesky named", below=(DECLARED,))
def _square_of_cholesky(node: Node) -> Node | None:
    if len(node.args) != 2 or peel(node.args[0]) is not peel(node.args[1]) or node.payload.repeated:
        return None
    s = _factored(node.args[0])
    if s is None:
        return None
    (a, b), out = node.payload.labels, node.payload.out
    met = a[-1] == b[-1] and a[-1] not in out
    is_product = met and a[:-2] == b[:-2] and (*a[:-1], b[-2]) == tuple(out) and a[-2] != b[-2]
    return s if is_product else None


@rule("solve", "solve(cholesky(S).T, solve(cholesky(S), b)), S definite", "solve(S, b)",
      "stability", inside="contract", below=(DECLARED,))
def _solution_by_cholesky(node: Node) -> Node | None:
    upper, inner = node.args
    inner = peel(inner)
    factor = transposed(upper)
    if factor is None or inner.op != "solve" or peel(inner.args[0]) is not peel(factor):
        return None
    s = _factored(factor)
    return None if s is None else matrix("solve", s, inner.args[1])


# ---------------------------------------------------------------------------- orthogonal matrices


@rule("solve", "solve(Q, b), Q orthogonal", "Qᵀ b", "values", below=(DECLARED,))
def _solution_of_orthogonal(node: Node) -> Node | None:
    q, b = node.args
    if q.ndim != 2 or b.ndim not in (1, 2) or not is_orthogonal(q):
        return None
    return contract([q, b], [(1, 0), (1, 2)[: b.ndim]], (0, 2)[: b.ndim])


@rule("logabsdet", "logabsdet(Q), Q orthogonal", "0", "values", below=(DECLARED,))
def _logabsdet_of_orthogonal(node: Node) -> Node | None:
    return spread(constant(0.0), node.shape) if is_orthogonal(node.args[0]) else None


@rule("contract", "Qᵀ Q, Q Qᵀ, Q orthogonal", "I", "values", below=(DECLARED,))
def _product_of_orthogonal(node: Node) -> Node | None:
    """Replace two factors that meet along one axis, which nothing else has, by an identity."""
    if node.payload.repeated:
        return None
    out = tuple(range(node.ndim))
    factors = factors_along(node, out)
    for i, (q, own) in enumerate(factors):
        if len(own) != 2 or own[0] == own[1] or not is_orthogonal(q):
            continue
        for j, (other, met) in enumerate(factors[i + 1 :], i + 1):
            if other is not q or len(met) != 2:
                continue
            for axis in (0, 1):
                alone = sum(labels.count(own[axis]) for _, labels in factors) == 2 and own[axis] not in out
                if alone and met[axis] == own[axis]:
                    rest = [factor for k, factor in enumerate(factors) if k not in (i, j)]
                    operands = [delta(*q.shape), *(arg for arg, _ in rest)]
                    return einsum(operands, [(own[1 - axis], met[1 - axis]), *(labels for _, labels in rest)], out)
    return None


@rule("norm unit", "norm(Q v), unit(Q v), Q orthogonal", "norm(v), Q unit(v)", "values", inside="contract",
      below=(DECLARED,))
def _length_of_turned(node: Node) -> Node | None:
    (product,) = node.args
    if len(product.args) != 2 or product.ndim != 1 or node.payload.axes != (-1,):
        return None
    q, v = product.args if product.args[0].ndim == 2 else product.args[::-1]
    if q.ndim != 2 or v.ndim != 1 or not is_orthogonal(q):
        return None
    if node.op == "norm":
        return reduce("norm", v, (0,))
    args = [normalize("unit", v, (0,)) if arg is v else arg for arg in product.args]
    return contract(args, product.payload.labels, product.payload.out)
