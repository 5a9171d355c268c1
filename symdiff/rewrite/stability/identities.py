"""Parts of a sum that are 0 by the rules of powers, exponentials and logarithms.

The derivative of a price, ``N(d1) + (S n(d1) - K exp(-r T) n(d2)) / (S s sqrt(T))``, has a part that is 0 for every
argument, which no rule sees that compares terms as they are written: one has to put in what d1 and d2 are. Here a
formula is written as a sum of rational numbers times powers times one exponential each, whose exponent is such a sum
again, and ``exp(n log(u))`` is ``u**n``. What has no terms in this form is 0.

Far out, a normal density and its integral are 0 / 0 or inf * 0, and logarithms of a root beside what it is of cancel:
these have forms of their own.

A part is left out where the others are nan wherever it is: they have its inputs, and its roots and logarithms.

Quotients of functions that overflow, or vanish, together are functions of their own, which do neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import permutations
from typing import TYPE_CHECKING

from ...graph import Node, constant, contract, elementwise, postorder
from ...graph.kinds import EXPONENTIAL, INVERSE, LOGARITHM, TAIL, bit_of, holds
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, PowerProduct, factors_of, fraction_of, peel, scaled, terms_of
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...ground.gc_pause import noted, notes
from ..facts import hides_nan, is_positive
from ..rewriter import is_number, make, rule, spread, union
from .exponents import Linear, added, as_monomial, as_node, decomposed, linear, powers_multiplied

if TYPE_CHECKING:
    from .rational_form import WrittenTerm

#: Numbers that densities have below others.
_ROOTS = (math.sqrt(2 * math.pi), math.sqrt(math.pi), math.sqrt(2))
#: Most nodes of a sum of exponentials that is written anew.
_LOOKED = 200
#: Most terms of a sum and factors of a term that are looked at.
_TERMS, _FACTORS = 6, 12
#: Operations that the normal form looks into; they are defined wherever their arguments are, but for poles.
_INSIDE = {*SUMS, *PRODUCTS, "named", "constant", "exp", "power"}


@rule("add subtract", "y + (S exp(a) - K exp(b)) z, b = a + log(S / K)", "y", "reading", below=(EXPONENTIAL,))
def _identically_zero(node: Node) -> Node | None:
    """Leave out what is 0 in its normal form, beside others that are nan where it is."""
    terms = terms_of(node, _TERMS)
    if not terms.whole or not 1 < len(terms.parts) <= _TERMS:
        return None
    gone = next((places for places in _candidates(terms.parts) if _is_seen(terms.parts, places)), None)
    if gone is None:
        return None
    (sign, total), *others = [terms.parts[i] for i in range(len(terms.parts)) if i not in gone]
    total = total if sign > 0 else make("negative", total)
    for sign, part in others:
        total = make("add" if sign > 0 else "subtract", total, part)
    return spread(total, node.shape)


@rule("add subtract", "K t exp(a) + S u exp(b), K exp(a) = S exp(b)", "S (t + u) exp(b)", "reading",
      below=(EXPONENTIAL,))
def _fewer_exponentials(node: Node) -> Node | None:
    """Write a sum by its normal form, where that has fewer terms and shows all that may be nan."""
    terms = terms_of(node, _TERMS)
    if not terms.whole or node.shape or not any(part.below & EXPONENTIAL for _, part in terms.parts):
        return None
    if not _may_join([part for _, part in terms.parts]):
        return None
    exponentials = [part for part in postorder([node], most=_LOOKED) if part.op == "exp"]
    from .rational_form import by_few_exponentials

    found = by_few_exponentials(terms.parts, exponentials)
    if found is None:
        return None
    result: Node | None = None
    for term in found:
        part = _written(term)
        result = part if result is None else make("add", result, part)
    if result is None or not _leaves([part for _, part in terms.parts], _INSIDE) <= _leaves([result], None):
        return None
    return result


def _may_join(terms: list[Node]) -> bool:
    """Tell whether exponentials of two terms may be multiples of each other: by a logarithm, or at a random point."""
    found: dict[Node, None] = {}
    for term in terms:
        found |= dict.fromkeys(_exponentials(term))
    if len(found) < 2:
        return False
    exponents = [node.args[0] for node in found]
    moving = any(node.below & LOGARITHM for node in exponents)
    if moving and any(node.op == "log" for node in postorder(exponents, most=_LOOKED)):
        return True
    from .rational_form import all_apart

    return not all_apart(exponents)


@noted
def _exponentials(term: Node) -> tuple[Node, ...]:
    """Return the exponentials among the factors of a term, and among those of sums that are factors."""
    found: list[Node] = []
    for base, _ in factors_of(term, _FACTORS, look=peel).parts:
        inside = [part for _, part in terms_of(base, _TERMS, look=peel).parts] if base.op in SUMS else [base]
        for part in inside:
            found += [each for each, _ in factors_of(part, _FACTORS, look=peel).parts if each.op == "exp"]
    return tuple(found)


def _written(term: WrittenTerm) -> Node:
    result = constant(term.number)
    for root in _ROOTS:
        value = fraction_of(term.number * root)
        if value is not None and float(value) / root == term.number:
            result = elementwise("divide", (constant(float(value)), constant(root)))
            break
    for base, n in term.powers:
        factor = base
        if abs(n) != 1:
            factor = make("sqrt", base) if abs(n) == 0.5 else make("power", base, constant(float(abs(n))))
        result = make("multiply" if n > 0 else "divide", result, factor)
    return result if term.exponential is None else make("multiply", result, term.exponential)


def _candidates(parts: list[tuple[float, Node]]) -> Iterator[tuple[int, ...]]:
    """Give the places of terms that have a factor that is 0, and of pairs that are 0 together."""
    moving = [i for i, (_, part) in enumerate(parts) if part.below & EXPONENTIAL]
    for i in moving:
        if _has_nothing(parts[i][1]):
            yield (i,)
    exponential = [i for i in moving if _is_exponential(parts[i][1])]
    for a, i in enumerate(exponential):
        for j in exponential[a + 1 :]:
            if len(parts) > 2 and _are_opposite(parts[i], parts[j]):
                yield i, j


def _are_opposite(a: tuple[float, Node], b: tuple[float, Node]) -> bool:
    """Tell whether two terms are 0 together; those that are not are noted, since sums of many terms hold them again."""
    known: set[tuple[Node, Node, bool]] = notes().setdefault(_are_opposite, set())
    key = (a[1], b[1], a[0] == b[0])
    if key in known:
        return False
    if _is_zero([a, b]):
        return True
    known.add(key)
    return False


def _is_zero(parts: list[tuple[float, Node]]) -> bool:
    from .rational_form import is_zero

    return is_zero(parts)


@noted
def _has_nothing(term: Node) -> bool:
    """Tell whether a factor of a term is a sum that is 0."""
    factors = factors_of(term, _FACTORS, look=peel).parts
    return any(n > 0 and base.op in SUMS and base.below & EXPONENTIAL and _is_nothing(base) for base, n in factors)


@noted
def _is_nothing(node: Node) -> bool:
    """Tell whether a sum is 0, two terms of which are exponentials with factors."""
    terms = terms_of(node, _TERMS, look=peel)
    exponentials = terms.whole and sum(_is_exponential(term) for _, term in terms.parts) > 1
    return exponentials and _is_zero([(1.0, node)])


@noted
def _is_exponential(term: Node) -> bool:
    return any(base.op == "exp" for base, _ in factors_of(term, _FACTORS, look=peel).parts)


def _is_seen(parts: list[tuple[float, Node]], gone: tuple[int, ...]) -> bool:
    """Tell whether all that may be nan in some terms is in the others, too, and not behind a choice."""
    rest = [part for i, (_, part) in enumerate(parts) if i not in gone]
    return _leaves([parts[i][1] for i in gone], _INSIDE) <= _leaves(rest, None)


def _leaves(roots: Iterable[Node], inside: set[str] | None) -> set[Node]:
    """Return nodes below some, but for numbers; those of ``inside`` are looked through and do not count."""
    found: set[Node] = set()
    seen: set[Node] = set()
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        plain = inside is not None and node.op in inside and not _is_root(node)
        if not plain and not node.is_constant:
            found.add(node)
        if not hides_nan(node):
            todo.extend(node.args)
    return found


def _is_root(node: Node) -> bool:
    """Tell whether a power is not that of a whole number."""
    n = scalar_constant(node.args[1]) if node.is_power else 1.0
    return n is None or n != int(n)


# ---------------------------------------------------------------------------- far out

#: Integrals of exp(-c x**2) from one side, by c.
_TAILS = {"ndtr": 0.5, "erfc": 1.0}
assert all(holds(name) & TAIL for name in _TAILS)


@rule("multiply divide", "exp(-x**2 / 2) / ndtr(x), exp(x**2) * erfc(x), exp(-x**2) / erfc(x)",
      "a derivative of log_ndtr(x), erfcx(x), 1 / erfcx(x)", "stability", below=(EXPONENTIAL, TAIL))
def _tail_beside_density(node: Node) -> Node | None:
    """Scale the tail of a normal distribution by its density: both are 0 far out, and their quotient is not."""
    if not any(_has_tail(arg) for arg in node.args):
        return None
    product = as_monomial(node)
    if product is None:
        return None
    for tail, n in product.powers.items():
        if tail.op in _TAILS and abs(n) == 1:
            own = _squared(tail.args[0])
            for density, m in product.powers.items():
                if density.op == "exp" and abs(m) == 1 and own is not None:
                    rest = _without_square(density.args[0], own, m * n * _TAILS[tail.op])
                    if rest is not None:
                        return _scaled_tail(product, (tail, n), (density, m), rest, node)
    return None


def _has_tail(node: Node) -> bool:
    """Tell whether a tail is among the first factors of a product."""
    todo, steps = [node], 0
    while todo and steps < _FACTORS:
        part = peel(todo.pop())
        steps += 1
        if part.op in _TAILS:
            return True
        if part.op in PRODUCTS:
            todo.extend(part.args)
    return False


def _squared(node: Node) -> PowerProduct | None:
    """Return the square of a product; that of a root is what is below it."""
    own = as_monomial(node)
    if own is None:
        return None
    result = PowerProduct(own.number * own.number, {})
    for base, n in own.powers.items():
        inside = as_monomial(base.args[0]) if base.is_root else PowerProduct(1.0, {base: 2})
        if inside is None:
            return None
        result.number *= inside.number**n
        for part, m in inside.powers.items():
            result.powers[part] = result.powers.get(part, 0) + m * n
    result.powers = {base: n for base, n in result.powers.items() if n}
    return result


def _is_multiple(found: PowerProduct | None, square: PowerProduct | None, rate: float) -> bool:
    """Tell whether a product is another one times a number, but for rounding."""
    if found is None or square is None or not square.powers or found.powers != square.powers:
        return False
    wanted = rate * square.number
    return abs(found.number - wanted) <= 2.0**-50 * abs(wanted)


def _without_square(exponent: Node, square: PowerProduct, rate: float) -> list[tuple[float, Node]] | None:
    """Return the terms of an exponent but for a square times ``rate``, where the tail is one of the root."""
    terms = terms_of(exponent, _TERMS, look=peel)
    for i, (sign, term) in enumerate(terms.parts if terms.whole else ()):
        if _is_multiple(as_monomial(term), square, sign * rate):
            return [*terms.parts[:i], *terms.parts[i + 1 :]]
    return None


def _scaled_tail(
    product: PowerProduct, tail: tuple[Node, int], density: tuple[Node, int], rest: list[tuple[float, Node]], node: Node
) -> Node:
    (x,), n = tail[0].args, tail[1]
    if tail[0].op == "erfc":
        scaled = (elementwise("erfcx", (x,)), n)
    elif n > 0:
        scaled = (elementwise("erfcx", (elementwise("multiply", (constant(-math.sqrt(0.5)), x)),)), 1)
        product.number *= 0.5
    else:
        scaled = (elementwise("log_ndtr_derivative", (constant(1.0), x)), 1)
        product.number *= math.sqrt(2.0 * math.pi)
    others = [(base, m) for base, m in product.powers.items() if base not in (tail[0], density[0])]
    total: Node | None = None
    for sign, term in rest:
        part = term if sign > 0 else elementwise("negative", (term,))
        total = part if total is None else elementwise("add", (total, part))
    if total is not None:
        others.append((elementwise("exp", (total,)), density[1]))
    return spread(powers_multiplied([*others, scaled], product.number), node.shape)


@rule("log", "log(x + sqrt(x**2 + 1)), log(x + sqrt(x**2 - 1))", "arcsinh(x), arccosh(x)", "stability",
      inside="add subtract named")
def _inverse_hyperbolic(node: Node) -> Node | None:
    """Write a logarithm by the inverse function: ``sqrt(x**2 + c**2) = c cosh(t)`` for ``x = c sinh(t)``."""
    parts, whole = terms_of(node.args[0], 2, look=peel)
    if not whole or len(parts) != 2:
        return None
    for (sign, root), (side, x) in (parts, parts[::-1]):
        known = _root_of_square_and_number(root, x)
        if known is None or (known > 0 and sign < 0):
            continue
        c = math.sqrt(abs(known))
        positive = x if known > 0 or side > 0 else elementwise("negative", (x,))
        scaled = positive if c == 1.0 else elementwise("divide", (positive, constant(c)))
        result = elementwise("arcsinh" if known > 0 else "arccosh", (scaled,))
        result = result if (side if known > 0 else sign) > 0 else elementwise("negative", (result,))
        return spread(result if c == 1.0 else result + math.log(c), node.shape)
    return None


def _root_of_square_and_number(root: Node, x: Node) -> float | None:
    """Return c with ``root = sqrt(x**2 + c)``, where that is a number other than 0."""
    if root.op == "hypot":
        for base, other in (root.args, root.args[::-1]):
            c = scalar_constant(other)
            if base is x and c:
                return c * c
        return None
    inside = peel(root.args[0]) if root.is_root or (root.is_power and is_number(root.args[1], 0.5)) else None
    parts, whole = terms_of(inside, 2, look=peel) if inside is not None else ([], False)
    if not whole or len(parts) != 2:
        return None
    square = _squared(x)
    for (sign, part), (side, number) in (parts, parts[::-1]):
        c = scalar_constant(number)
        if c and math.isfinite(c) and sign > 0 and _is_multiple(as_monomial(part), square, 1.0):
            return side * c
    return None


#: Quotients of two functions that overflow, or vanish, together.
_RATIOS = {("i1", "i0"): "i_ratio", ("k1", "k0"): "k_ratio"}
#: Functions whose quotient at two places is a function of its own.
_AT_TWO_PLACES = ("erfc", "ndtr")
_LIKE = frozenset(("gamma", *_AT_TWO_PLACES, *(name for pair in _RATIOS for name in pair)))


@rule("multiply divide", "i1(x) / i0(x), k1(x) / k0(x), gamma(x + c) / gamma(x), erfc(x) / erfc(y)",
      "i_ratio(x), k_ratio(x), poch(x, c), erfc_ratio(x, y)", "stability",
      below=(INVERSE, union(map(bit_of, _LIKE))))
def _ratio_of_like_functions(node: Node) -> Node | None:
    """Divide functions that overflow or vanish together where their quotient has a name."""
    product = decomposed(node)
    if product is None:
        return None
    like = [(base, n) for base, n in product.powers.items() if base.op in _LIKE]
    for (a, n), (b, m) in permutations(like, 2):
        ratio = _ratio(a, b) if n * m < 0 else None
        if ratio is None:
            continue
        both = min(abs(n), abs(m)) * (1 if n > 0 else -1)
        powers = product.powers | {a: n - both, b: m + both}
        powers[ratio] = powers.get(ratio, 0) + both
        return spread(powers_multiplied([pair for pair in powers.items() if pair[1]], product.number), node.shape)
    return None


def _ratio(a: Node, b: Node) -> Node | None:
    """Return a / b where that is a function of its own."""
    (x,), (y,) = a.args, b.args
    if (a.op, b.op) in _RATIOS and x is y:
        return elementwise(_RATIOS[a.op, b.op], (x,))
    if a.op == b.op and a.op in _AT_TWO_PLACES and x is not y:
        return elementwise(f"{a.op}_ratio", (x, y))
    if a.op != b.op or a.op != "gamma" or x.shape != y.shape:
        return None
    rest = added(linear(x), linear(y), -1.0)
    if rest.keys() - {None}:
        return None
    return elementwise("poch", (y, constant(rest.get(None, 0.0))))


# ---------------------------------------------------------------------------- for reading


@rule("exp", "exp(x + a log_sigmoid(t) + b log_sigmoid(-t))", "exp(x + (a - b) t / 2) (sech(t / 2) / 2)**(a + b)",
      "shown", below=(bit_of("log_sigmoid"),))  # fmt: skip
def _shares_in_an_exponent(node: Node) -> Node | None:
    """Write shares of two exponentials in an exponent as factors: their logarithms are for numbers."""
    shares: dict[tuple[float, Node], float] = {}
    for part, c in linear(node.args[0]).items():
        if part is not None and part.op == "log_sigmoid":
            shares[scaled(part.args[0])] = c
    for (number, base), a in shares.items():
        b = shares.get((-number, base), 0.0)
        if (number < 0.0 and b) or not (a + b) or not (a + b).is_integer():
            continue
        pair = ((number, base), (-number, base))
        rest = {part: c for part, c in linear(node.args[0]).items()
                if part is None or part.op != "log_sigmoid" or scaled(part.args[0]) not in pair}  # fmt: skip
        t = make("multiply", constant(number), base)
        half = make("multiply", constant(0.5), t)
        if a.is_integer():
            factors = [(make("sigmoid", t), int(a)), *([(make("sigmoid", make("negative", t)), int(b))] if b else [])]
        else:
            factors = [(make("sech", half), int(a + b)), (constant(0.5), int(a + b))]
            rest = added(rest, linear(half), a - b)
        factors += [(make("exp", as_node(rest)), 1)] if rest else []
        return spread(powers_multiplied(factors, 1.0), node.shape)
    return None


#: Highest power of a function that is written, and most exponentials of a sum.
_HIGHEST = 4
#: Rows of functions by their logarithms.
_BY_LOGARITHM = {row.logarithm: row for row in FUNCTIONS.values() if row.logarithm}
_BY_LOGARITHM |= {"lgamma": FUNCTIONS["gamma"], "betaln": FUNCTIONS["beta"]}


@rule("exp", "exp(x + p log(y) - lgamma(s))", "exp(x) y**p / gamma(s)", "shown",
      inside="add subtract multiply negative named")
def _logarithms_in_an_exponent(node: Node) -> Node | None:
    """Write logarithms of functions in an exponent as factors, where the functions are positive."""
    rest, factors = dict(linear(node.args[0])), list[tuple[Node, int]]()
    for part, c in linear(node.args[0]).items():
        if part is None:
            continue
        row = _BY_LOGARITHM.get(part.op)
        if (total := _sum_of_exponentials(part)) is not None and c.is_integer() and abs(c) <= _HIGHEST:
            factors.append((total, int(c)))
        elif row is not None:
            is_positive_there = row.range.low >= 0.0 or all(map(is_positive, part.args))
            if not is_positive_there or not c.is_integer() or abs(c) > _HIGHEST:
                continue
            factors.append((make(row.name, *part.args), int(c)))
        else:
            found = _multiple_of_logarithm(part)
            if found is None:
                continue
            exponent, base = found
            factors.append((make("power", base, make("multiply", constant(c), exponent)), 1))
        del rest[part]
    if not factors:
        return None
    factors += [(_exponential(rest), 1)] if rest else []
    return spread(powers_multiplied(factors, 1.0), node.shape)


def _sum_of_exponentials(part: Node) -> Node | None:
    """Return what a logarithm of a few exponentials is the logarithm of; None of anything else."""
    if part.op == "logaddexp":
        exponents: Sequence[Node] = part.args
    elif part.op == "logsumexp" and not part.shape:
        from ..matrices.entries import entries_of

        known = entries_of(part.args[0])
        if known is None or known.size > _HIGHEST:
            return None
        exponents = [*known.flat]
    else:
        return None
    return reduce(partial(make, "add"), [_exponential(linear(one)) for one in exponents])


def _exponential(exponent: Linear) -> Node:
    """Return the exponential of a sum, with the logarithm of a whole number in it as that number in front."""
    value = math.exp(exponent.get(None, 0.0))
    whole = round(max(value, 1.0 / value)) if value and math.isfinite(value) else 0
    if not 1 < whole < _LOOKED or not math.isclose(max(value, 1.0 / value), whole, rel_tol=2.0**-50):
        return make("exp", as_node(exponent))
    rest: Linear = {part: c for part, c in exponent.items() if part is not None}
    number = constant(float(whole) if value > 1.0 else 1.0 / whole)
    return make("multiply", number, make("exp", as_node(rest))) if rest else number


def _multiple_of_logarithm(part: Node) -> tuple[Node, Node] | None:
    """Return p and y of p log(y), however it is written; None of anything else."""
    if part.op in ("xlogy", "xlog1py"):
        exponent, y = part.args
        return exponent, y if part.op == "xlogy" else make("add", constant(1.0), y)
    one = constant(1.0)
    for exponent, log in ((one, part), part.args, part.args[::-1]) if part.is_multiplication else ((one, part),):
        if log.op in ("log", "log1p"):
            return exponent, log.args[0] if log.op == "log" else make("add", one, log.args[0])
    return None


@rule("sigmoid", "sigmoid(-logsumexp(x))", "1 / (1 + sum(exp(x))), and the share of the rest", "shown",
      inside="logsumexp multiply negative named")
def _share_of_none(node: Node) -> Node | None:
    """Write a share of the exponentials of an array and 1 as a quotient."""
    number, inside = scaled(node.args[0])
    if inside.op != "logsumexp" or inside.shape or abs(number) != 1.0:
        return None
    (x,) = inside.args
    total = contract([elementwise("exp", (x,))], [tuple(range(x.ndim))], ())
    above = total if number > 0.0 else constant(1.0)
    return spread(above / (1.0 + total), node.shape)
