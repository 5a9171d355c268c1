"""Rewrites of choices: branches that are numbers are computed, sums of choices by one condition are one choice."""

from __future__ import annotations

from functools import reduce
from math import isfinite, isnan

from ..graph import BOOL, REAL, Node, broadcast_to, constant, contract, elementwise, number
from ..graph.kinds import BRANCHING, CHOICE
from ..graph.scalars.arithmetic import factors_of, terms_of
from ..graph.scalars.functions import FUNCTIONS, to_real, where
from .algebra import NUMBERS, folded
from .rewriter import make, multiplied, rule, settle, spread
from .stability.exponents import added, decomposed, linear, powers_multiplied

#: Most factors of a product that are compared.
FACTORS = 8


@rule("to_real", "to_real of a constant condition", "1 or 0")
def _real_forms(node: Node) -> Node | None:
    (c,) = node.args
    return constant(c.value.astype(float)) if c.is_constant else None


@rule(" ".join(op for op in NUMBERS if op not in ("logical_and", "logical_or", "logical_not")),
      "f(where(c, 2, 3)), where(c, 1, 0) != 0", "where(c, f(2), f(3)), c", inside="where")
def _function_of_numbers(node: Node) -> Node | None:
    """Apply a function to both branches where these, and its other arguments, are numbers."""
    choices = [arg for arg in node.args if arg.is_choice]
    if len(choices) != 1 or choices[0].shape != node.shape:
        return None
    (choice,) = choices
    branches = []
    for place in (1, 2):
        args = tuple([choice.args[place] if arg is choice else arg for arg in node.args])
        if any(number(arg) is None for arg in args):
            return None
        branches.append(folded(elementwise(node.op, args, FUNCTIONS[node.op].gives)))
    condition, (first, second) = choice.args[0], branches
    if first is None or second is None:
        return None
    if node.dtype is REAL:
        return settle(where(condition, first, second))
    if first is second:
        return spread(first, node.shape)
    found = condition if bool(first.value) else settle(elementwise("logical_not", (condition,), BOOL))
    return spread(found, node.shape)


@rule("multiply", "sign(x) (x / y)", "abs(x) / y", inside="sign")
def _sign_in_a_product(node: Node) -> Node | None:
    """Write x sign(x) as a size where divisors stand between: 1 / (1 + abs(x)) less its share cancels then."""
    for one, other in (node.args, node.args[::-1]):
        if one.op == "sign" and one.shape == other.shape:
            found = _exchanged(other, one.first, elementwise("abs", one.args))
            if found is not None:
                return found
    return None


def _exchanged(product: Node, old: Node, new: Node) -> Node | None:
    """Put a node in the place of a factor, None where a product lacks it."""
    if product is old:
        return new
    for place, arg in enumerate(product.args[: 2 if product.is_multiplication else int(product.is_division)]):
        found = _exchanged(arg, old, new) if arg.shape == product.shape else None
        if found is not None:
            return elementwise(product.op, (*product.args[:place], found, *product.args[place + 1 :]))
    return None


@rule("multiply divide", "x where(c, 1, nan), where(c, 1, nan) / x", "where(c, x, nan), where(c, 1 / x, nan)",
      inside="where")
def _undefined_product(node: Node) -> Node | None:
    """Multiply in the branch that has a value, where the other is nan."""
    a, b = node.args
    for choice, other in ((a, b), (b, a)) if node.is_multiplication else ((a, b),):
        if not choice.is_choice or not choice.shape == other.shape == node.shape:
            continue
        condition, *branches = choice.args
        values = [number(branch) for branch in branches]
        if 1.0 in values and any(value is not None and isnan(value) for value in values):
            x = other if node.is_multiplication else make("divide", constant(1.0), other)
            first, second = (x if value == 1.0 else branch for value, branch in zip(values, branches, strict=True))
            return settle(where(condition, first, second))
    return None


@rule("multiply", "where(x == 0, 1/2, 1) max(x, 0)", "max(x, 0)", below=(CHOICE, BRANCHING))
def _half_of_ramp(node: Node) -> Node | None:
    """Leave out the share that a maximum with 0 has where both are equal, beside the maximum, which is 0 there."""
    sign, parts, whole = factors_of(node, FACTORS)
    ramps = {_ramp(base) for base, n in parts if n > 0} - {None}
    place = next((i for i, (base, n) in enumerate(parts) if n == 1.0 and _share_at_zero(base) in ramps), None)
    if not ramps or not whole or place is None:
        return None
    return spread(multiplied(constant(float(sign)), (*parts[:place], *parts[place + 1 :])), node.shape)


def _ramp(node: Node) -> Node | None:
    """Return x for a maximum or minimum of x and 0."""
    if node.op in ("maximum", "minimum"):
        for x, bound in (node.args, node.args[::-1]):
            if number(bound) == 0.0 and x.shape == node.shape:
                return x
    return None


def _share_at_zero(node: Node) -> Node | None:
    """Return x for where(x == 0, 1/2, 1), which is nan where x is."""
    if not node.is_choice or node.args[0].op != "equal" or number(node.args[1]) != 0.5:
        return None
    for x, bound in (node.args[0].args, node.args[0].args[::-1]):
        if number(bound) == 0.0 and x.shape == node.shape:
            one = node.args[2]
            moving = one.args[0] if one.op == "unless_nan" else None
            if moving is not None and moving is not x and _ramp(moving) is x:
                return x
            return x if moving is x or (moving is None and number(one) == 1.0) else None
    return None


@rule("where", "where([True, True], x, y)", "x", "form", inside="constant")
def _known_choice(node: Node) -> Node | None:
    """Take the one branch that is ever taken."""
    condition, *branches = node.args
    if not condition.is_constant:
        return None
    taken = branches[0] if condition.value.all() else None if condition.value.any() else branches[1]
    return None if taken is None else broadcast_to(to_real(taken) if node.dtype is REAL else taken, node.shape)


@rule("where", "where(c, a, where(d and not c, b, e))", "where(c, a, where(d, b, e))", inside="where")
def _known_condition(node: Node) -> Node | None:
    """Leave out of a choice within a branch what the branch says of the outer condition."""
    c, *branches = node.args
    made = list(branches)
    for place, branch in enumerate(branches):
        if not branch.is_choice:
            continue
        inner, first, second = branch.args
        found = _given(inner, c, place == 0)
        if isinstance(found, bool):
            made[place] = first if found else second
        elif found is not inner:
            made[place] = settle(where(found, first, second))
    return spread(settle(where(c, *made)), node.shape) if made != branches else None


def _given(condition: Node, known: Node, truth: bool) -> Node | bool:
    """Return what is left of a condition, part of which is known, or what it is then."""
    if condition is known:
        return truth
    if condition.op == "logical_not" and condition.args[0] is known:
        return not truth
    if condition.op not in ("logical_and", "logical_or"):
        return condition
    decides = condition.op == "logical_or"
    for place in (0, 1):
        part, rest = condition.args[place], condition.args[1 - place]
        if part is known or (part.op == "logical_not" and part.args[0] is known):
            return rest if ((part is known) == truth) is not decides else decides
    return condition


@rule("where", "where(sum(where(c, 1, 0)) != 0, sum(where(c, x, 0)) / n, 0)", "sum(where(c, x, 0)) / n",
      inside="not_equal")
def _none_of_them(node: Node) -> Node | None:
    """Leave out that nothing is added up, where that is 0 by itself."""
    condition, value, other = node.args
    if number(other) != 0.0 or condition.op != "not_equal" or number(condition.args[1]) != 0.0:
        return None
    count, left = condition.args[0], [value]
    if not count.is_contraction or len(count.args) != 1 or count.args[0].op != "to_real":
        return None
    for _ in range(4 * FACTORS):
        part = left.pop()
        if part.op in ("add", "subtract", "negative"):
            left += part.args
        elif part.is_multiplication and (factor := number(part.args[0])) is not None and isfinite(factor):
            left.append(part.args[1])
        elif part.is_division and (part.args[1].is_size or _is_finite_divisor(part.args[1])):
            left.append(part.args[0])
        elif not _is_empty_sum(part, count):
            return None
        if not left:
            return spread(value, node.shape)
    return None


def _is_finite_divisor(node: Node) -> bool:
    value = number(node)
    return value is not None and value != 0.0 and isfinite(value)


def _is_empty_sum(part: Node, count: Node) -> bool:
    """Tell whether a sum is 0 where a count of conditions is: it adds up along the same axes, where these hold."""
    mask = count.args[0].args[0]
    if not part.is_contraction or len(part.args) != 1 or part.payload != count.payload or not part.args[0].is_choice:
        return False
    own, *branches = part.args[0].args
    holds = own is mask
    opposite = (own.op == "logical_not" and own.args[0] is mask) or (mask.op == "logical_not" and mask.args[0] is own)
    return own.shape == mask.shape == part.args[0].shape and (holds or opposite) and number(branches[holds]) == 0.0


@rule("add subtract", "where(c, x, 0) + where(c, 0, y)", "where(c, x, y)", inside="where")
def _sum_of_choices(node: Node) -> Node | None:
    """Add choices by one condition branch by branch, where one of two branches is 0."""
    a, b = node.args
    if not a.is_choice or not b.is_choice or a.args[0] is not b.args[0]:
        return None
    if not a.shape == b.shape == node.shape:
        return None
    branches = []
    for first, second in zip(a.args[1:], b.args[1:], strict=True):
        if number(first) != 0.0 and number(second) != 0.0:
            return None
        branches.append(make(node.op, first, second))
    return spread(settle(where(a.args[0], *branches)), node.shape)


@rule("contract", "sum(where(c, 0, -x))", "-sum(where(c, 0, x))", "shown", inside="where")
def _sign_of_choice(node: Node) -> Node | None:
    """Show the sign of the one branch that is not 0 in front of a sum or product."""
    for k, arg in enumerate(node.args):
        if not arg.is_choice:
            continue
        condition, *branches = arg.args
        for place in (0, 1):
            if branches[place].is_negation and number(branches[1 - place]) == 0.0:
                branches[place] = branches[place].args[0]
                positive = spread(settle(where(condition, *branches)), arg.shape)
                args = (*node.args[:k], positive, *node.args[k + 1 :])
                labels, out, repeated = node.payload
                return make("negative", settle(contract(args, labels, out, dict(repeated))))
    return None


@rule("where", "where((x != 0) | (n != 0), n x**(n - 1), 0)", "n x**(n - 1)", "shown")
def _power_of_zero(node: Node) -> Node | None:
    """Leave out of what is shown that the slope of x**n is 0 where x and n are both 0."""
    condition, slope, other = node.args
    if number(other) != 0.0:
        return None
    parts, terms = _conditions(condition), [term for _, term in terms_of(slope, FACTORS).parts]
    left = [part for part in parts if not all(_has_slope(term, part) for term in terms)]
    if len(left) == len(parts):
        return None
    if left:
        slope = where(reduce(lambda a, b: elementwise("logical_and", (a, b), BOOL), left), slope, other)
    return spread(settle(slope), node.shape)


def _conditions(condition: Node) -> list[Node]:
    """Return the conditions that hold together in one."""
    if condition.op != "logical_and":
        return [condition]
    return list(dict.fromkeys(part for arg in condition.args for part in _conditions(arg)))


def _has_slope(product: Node, condition: Node) -> bool:
    """Tell whether a product has x**(n - k) or x**-(n + k) in it, n / x or n x**m, for a condition (x != 0) | (n != 0).

    A sum whose terms all have it is a factor that has.
    """
    sides = condition.args if condition.op == "logical_or" else ()
    if not sides or any(side.op != "not_equal" or number(side.args[1]) != 0.0 for side in sides):
        return False
    factors = factors_of(product, FACTORS, powers=FACTORS).parts
    for base, k in factors:
        terms = terms_of(base, FACTORS).parts if base.is_additive and k > 0.0 else ()
        if terms and all(_has_slope(term, condition) for _, term in terms):
            return True
    for x, n in ((sides[0].args[0], sides[1].args[0]), (sides[1].args[0], sides[0].args[0])):
        own = linear(n)
        for base, k in factors:
            if base is x and k < 0.0 and (n, 1.0) in factors:
                return True
            of_base = base.is_power or base.op == "power_log"
            if not of_base or base.args[-2] is not x:
                continue
            if any(other is n and power > 0.0 for other, power in factors) or any(
                added(linear(base.args[-1]), own, side).keys() <= {None} for side in (-1.0, 1.0)
            ):
                return True
    return False


@rule("less less_equal equal not_equal", "(q - 1) r < q r", "0 < r", "shown", inside="multiply negative named")
def _common_factor_of_sides(node: Node) -> Node | None:
    """Compare with 0 what two sides have in common, where the rest of them differs by a number."""
    a, b = (decomposed(arg) for arg in node.args)
    common = {} if a is None or b is None else {x: n for x, n in a.powers.items() if b.powers.get(x) == n}
    if a is None or b is None or not common:
        return None
    one, other = (powers_multiplied([(x, n) for x, n in own.powers.items() if x not in common], own.number)
                  for own in (a, b))  # fmt: skip
    left = added(linear(one), linear(other), -1.0)
    if left.keys() != {None}:
        return None
    sides = [spread(powers_multiplied([*common.items()], 1.0), node.shape), constant(0.0)]
    return elementwise(node.op, tuple(sides if left[None] > 0.0 else sides[::-1]), BOOL)
