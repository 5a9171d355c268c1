"""Terms and factors as the rules that cancel see them: a number times powers, and sums and products of these."""

from __future__ import annotations

import math

from ...graph import Node, constant, elementwise
from ...graph.scalars.arithmetic import PowerProduct, factors_of, terms_of, times_power
from ...graph.scalars.functions import scalar_constant
from ...ground.gc_pause import noted
from ..facts import is_positive
from ..rewriter import make, multiplied

#: Most factors of a product and terms of a sum that are compared.
FACTORS, TERMS = 12, 9
#: Most operations that are looked through from a sum to what it is of.
DEPTH = 8


def product_of(factors: list[Node]) -> Node:
    """Return a product, 1 of nothing."""
    result = constant(1.0)
    for factor in factors:
        result = make("multiply", result, factor)
    return result


def total_of(parts: list[tuple[float, Node]]) -> Node:
    """Return a sum of terms with their signs."""
    (sign, total), *rest = parts
    if sign < 0:
        total = make("negative", total)
    for sign, part in rest:
        total = make("add" if sign > 0 else "subtract", total, part)
    return total


def factors_in(node: Node) -> set[tuple[Node, bool]]:
    """Return the factors of a term, with whether each is a divisor; x for the direction of x."""
    found: set[tuple[Node, bool]] = set()
    for base, n in factors_of(node, FACTORS).parts:
        core = without_scalars(base, found, ()) if n == 1.0 else base
        found.add((core.args[0] if core.op == "unit" else core, n < 0))
    return found


def without_scalars(node: Node, scalars: set[tuple[Node, bool]], through: tuple[str, ...]) -> Node:
    """Return an array without the scalars that multiply and divide it, which are added to a set."""
    for _ in range(DEPTH):
        if node.op in through:
            node = node.args[0]
        elif node.is_division and node.args[1].shape == ():
            scalars.update((base, not under) for base, under in scalars_of(node.args[1]))
            node = node.args[0]
        elif node.is_multiplication and () in (node.args[0].shape, node.args[1].shape):
            first = node.args[0].shape == ()
            scalars.update(scalars_of(node.args[not first]))
            node = node.args[first]
        elif node.is_contraction and len(node.args) == 2 and node.args[0].shape == ():
            if node.payload.labels[1] != node.payload.out:
                break
            scalars.update(scalars_of(node.args[0]))
            node = node.args[1]
        else:
            break
    return node


def scalars_of(node: Node) -> set[tuple[Node, bool]]:
    """Return the factors of a scalar, with whether each is a divisor."""
    return {(base, n < 0) for base, n in factors_of(node, FACTORS).parts}


def without_factor(term: Node, factor: Node) -> Node:
    """Return a product without a factor, which may be in front of an array."""
    found = factors_of(term, FACTORS)
    kept = [(base, n) for base, n in found.parts if base is not factor]
    inner = [(base.args[1] if base.is_contraction and base.args[0] is factor else base, n) for base, n in kept]
    return multiplied(constant(float(found.sign)), inner)


#: The highest power that is expanded.
HIGHEST = 8


def monomial(sign: float, term: Node) -> PowerProduct | None:
    """Return a term as a monomial; None for 0, and for more factors than are compared."""
    found = _decomposed(term)
    return found if found is None or sign == 1.0 else found.scaled(sign)


@noted
def _decomposed(term: Node) -> PowerProduct | None:
    number, powers, halves, lengths = 1.0, dict[Node, int](), dict[Node, int](), dict[Node, int]()
    todo = [(term, 1)]
    while todo:
        part, power = todo.pop()
        found = factors_of(part, FACTORS, powers=HIGHEST)
        if not found.whole or len(powers) > FACTORS:
            return None
        number *= found.sign**power
        for base, n in found.parts:
            if base.op not in _SPECIAL:
                powers[base] = powers.get(base, 0) + int(n) * power
                continue
            value = scalar_constant(base)
            if value == 0.0:
                return None
            if value is not None:
                number = times_power(number, value, n * power)
                if not number or not math.isfinite(number):
                    return None
            elif base.op in OF_LENGTHS and (length := _of_length(base)) is not None:
                square, half, top = length
                lengths[square] = lengths.get(square, 0) + half * int(n) * power
                todo += [] if top is None else [(top, int(n) * power)]
            elif _halves(base):
                halves[base.args[0]] = halves.get(base.args[0], 0) + int(_halves(base) * n) * power
            elif base.is_contraction and _is_scaled(base):
                todo += [(arg, int(n) * power) for arg in base.args]
            else:
                powers[base] = powers.get(base, 0) + int(n) * power
    for base, n in halves.items():
        # a root stays, since it is nan below 0, where its square is not
        whole = int(n / 2) if n % 2 or is_positive(base) else 0
        root = elementwise("sqrt", (base,))
        powers[base] = powers.get(base, 0) + whole
        powers[root] = powers.get(root, 0) + n - 2 * whole
    for square, n in lengths.items():
        root = elementwise("sqrt", (square,))
        powers[square] = powers.get(square, 0) + int(n / 2)
        powers[root] = powers.get(root, 0) + n - 2 * int(n / 2)
    return PowerProduct(number, {base: n for base, n in powers.items() if n})


#: Functions of the length of two numbers: what power of it they have, and which of the numbers they are multiplied by.
OF_LENGTHS: dict[str, tuple[int, int | None]] = {
    "hypot": (1, None),
    "lorentzian": (-2, None),
    "direction_cos": (-1, 0),
    "direction_sin": (-1, 1),
    "inversion_x": (-2, 0),
    "inversion_y": (-2, 1),
}


#: Operations of factors that are more than themselves.
_SPECIAL = {*OF_LENGTHS, "constant", "reshape", "contract", "sqrt", "power"}


def _of_length(node: Node) -> tuple[Node, int, Node | None] | None:
    """Return the square of a length that is never 0, its power in halves, and what it is multiplied by."""
    half, place = OF_LENGTHS[node.op]
    args = (constant(1.0), *node.args)[-2:]
    numbers = [scalar_constant(arg) for arg in args]
    if not any(numbers):
        return None
    squares = [
        make("power", arg, constant(2.0)) if number is None else constant(number * number)
        for number, arg in zip(numbers, args, strict=True)
    ]
    return make("add", *squares), half, None if place is None else args[place]


def _halves(node: Node) -> int:
    """Return n for the power n / 2 of something, n odd, and 0 for anything else."""
    if node.is_root:
        return 1
    exponent = scalar_constant(node.args[1]) if node.is_power else None
    return int(2 * exponent) if exponent is not None and exponent % 1 == 0.5 and abs(exponent) < HIGHEST else 0


def _is_scaled(node: Node) -> bool:
    """Tell whether a contraction is a number times an array."""
    labels, out, repeated = node.payload
    return len(node.args) == 2 and not node.args[0].shape and labels[1] == out and not repeated


def like(terms: list[PowerProduct]) -> list[PowerProduct]:
    """Add like terms; those that cancel are left out. Factors stand as in the first of them."""
    total: dict[frozenset[tuple[Node, int]], PowerProduct] = {}
    for term in terms:
        key = frozenset(term.powers.items())
        known = total.get(key)
        total[key] = term if known is None else PowerProduct(known.number + term.number, known.powers)
    return [term for term in total.values() if term.number]


@noted
def terms_in(node: Node) -> list[PowerProduct] | None:
    """Return the terms of a sum; None if there are too many."""
    terms = terms_of(node, TERMS)
    parts = [monomial(sign, term) for sign, term in terms.parts] if terms.whole else []
    found = [part for part in parts if part is not None]
    return found if found and len(found) == len(parts) else None


def written(term: PowerProduct) -> tuple[float, Node]:
    """Return a product without its sign, and the sign."""
    parts: dict[bool, Node | None] = {True: None, False: None}
    for base, n in term.powers.items():
        power = base if abs(n) == 1 else make("power", base, constant(float(abs(n))))
        known = parts[n > 0]
        parts[n > 0] = power if known is None else make("multiply", known, power)
    size = abs(term.number)
    above, below = parts[True], parts[False]
    if above is None:
        above = constant(size)
    elif size != 1.0:
        above = make("multiply", constant(size), above)
    return (1.0 if term.number > 0 else -1.0), above if below is None else make("divide", above, below)
