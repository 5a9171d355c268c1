"""Rules that are equations in formula text: read once, matched against nodes, and written with what the letters are.

``Identity("1 - sigmoid(x) -> sigmoid(-x)", "stability")`` is the whole rule: what is looked for, what is put there,
what documentation and ``kernel.rewrites`` show, and what a test computes on both sides. A letter stands for any node
unless its kind says otherwise: ``s="positive"``, ``n="even"``. Numbers in ``when`` are conditions: ``"a != 0"``.

Sums and products are matched in any order of their terms and factors, through names and signs. A sum or a product is
also matched as a multiple: the equation above fits ``3 - 3 * sigmoid(x)``, and gives three times its right side. A
letter under a sign, as in ``tanh(-x)``, stands for what a number below 0 is in front of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, TypeAlias

from ..errors import InternalError
from ..graph import BOOL, Node, constant, contract, elementwise, matrix
from ..graph.kinds import bit_of
from ..graph.scalars.arithmetic import PRODUCTS, SUMS, factors_of, peel, product_of, terms_of, without_numbers
from ..graph.scalars.functions import ALIASES, FUNCTIONS, scalar_constant
from ..ground.gc_pause import noted
from ..ground.grammar import SyntaxNode, parse_tree
from .facts import (
    is_definite,
    is_lower,
    is_orthogonal,
    is_positive,
    is_real,
    is_semidefinite,
    is_symmetric,
    is_upper,
    transposed,
)
from .rewriter import AGAIN, MOST_TERMS, NUMBERS, STABILITY, Rule, key_of_term, settle, spread

__all__ = ["Identity", "match", "plain", "read", "write"]


class Letter(NamedTuple):
    """A letter, which stands for any node of its kind."""

    name: str
    kind: str = ""


class Value(NamedTuple):
    """A number or a truth value."""

    value: float | bool


class Applied(NamedTuple):
    """An operation by its name in the graph, and its arguments."""

    op: str
    args: tuple[Pattern, ...]


class Transposed(NamedTuple):
    """A matrix turned over."""

    inside: Pattern


class Plus(NamedTuple):
    """Numbers times terms, in any order; the number alone is that of ``Value(1)``."""

    terms: tuple[tuple[float, Pattern], ...]


class Times(NamedTuple):
    """A number times powers of factors, in any order."""

    number: float
    factors: tuple[tuple[Pattern, float], ...]


Pattern: TypeAlias = Letter | Value | Applied | Transposed | Plus | Times
#: Kinds of nodes that letters stand for.
Meaning: TypeAlias = dict[str, Node]
#: Makes a node of an operation and its arguments.
Apply: TypeAlias = Callable[..., Node]

#: Kinds of letters, and what tells that a node is of the kind.
KINDS: Mapping[str, Callable[[Node], bool]] = {
    "positive": is_positive,
    "real": is_real,
    "definite": is_definite,
    "semidefinite": is_semidefinite,
    "symmetric": is_symmetric,
    "orthogonal": is_orthogonal,
    "triangular": lambda node: is_lower(node) or is_upper(node),
    "number": lambda node: scalar_constant(node) is not None,
    "whole": lambda node: (scalar_constant(node) or 0.5).is_integer(),
    "even": lambda node: (c := scalar_constant(node)) is not None and c % 2.0 == 0.0,
    "odd": lambda node: (c := scalar_constant(node)) is not None and c % 2.0 == 1.0,
}

_BINARY = {
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", "&": "logical_and", "|": "logical_or",
    "**": "power",
}
_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
}
#: Operations whose arguments may come in either order.
_COMMUTING = frozenset(
    ("maximum", "minimum", "equal", "not_equal", "logical_and", "logical_or", "hypot", "logaddexp")
)
ONE = Value(1.0)
#: Most numbers in front of a product that are looked through: a chain of names and numbers may be long.
_NUMBERS = 8


# ---------------------------------------------------------------------------- reading


def read(text: str, kinds: Mapping[str, str]) -> Pattern:
    """Read one side of an equation.

    Examples
    --------
    >>> read("2 - abs(x)", {})
    Plus(terms=((2.0, Value(value=1.0)), (-1.0, Applied(op='abs', args=(Letter(name='x', kind=''),)))))
    """
    made: list[Pattern] = []
    for term in parse_tree(text).terms:
        made.append(_term(term, [made[child] for child in term.children], kinds, text))
    return made[-1]


def _term(term: SyntaxNode, args: list[Pattern], kinds: Mapping[str, str], text: str) -> Pattern:
    kind, value = term.kind, term.value
    if kind == "number":
        return Value(float(value))
    if kind == "value" and isinstance(value, bool):
        return Value(value)
    if kind == "name":
        return Letter(value, kinds.get(value, ""))
    if kind == "transpose":
        return Transposed(args[0])
    if kind == "call":
        return Applied(ALIASES.get(value[0], value[0]), tuple(args))
    if kind == "unary":
        return Applied("logical_not", tuple(args)) if value == "~" else _scaled(-1.0, args[0])
    if kind == "binary" and value in ("+", "-"):
        return _sum(args, -1.0 if value == "-" else 1.0)
    if kind == "binary" and value in ("*", "/"):
        return _product(args, -1.0 if value == "/" else 1.0)
    if kind == "binary" and value in _BINARY:
        return Applied(_BINARY[value], tuple(args))
    raise InternalError(f"an equation has {kind} {value!r}, which patterns do not know; in {text!r}")


def _parts(pattern: Pattern) -> tuple[float, tuple[tuple[Pattern, float], ...]]:
    """Return a pattern as a number times powers of factors."""
    if isinstance(pattern, Times):
        return pattern.number, pattern.factors
    if isinstance(pattern, Value) and not isinstance(pattern.value, bool):
        return pattern.value, ()
    return 1.0, ((pattern, 1.0),)


def _scaled(number: float, pattern: Pattern) -> Pattern:
    own, factors = _parts(pattern)
    if isinstance(pattern, Plus):
        return Plus(tuple((number * c, term) for c, term in pattern.terms))
    return Times(number * own, factors) if factors else Value(number * own)


def _sum(args: Sequence[Pattern], sign: float) -> Pattern:
    terms: list[tuple[float, Pattern]] = []
    for side, arg in zip((1.0, sign), args, strict=True):
        for c, term in arg.terms if isinstance(arg, Plus) else ((1.0, arg),):
            number, factors = _parts(term)
            whole = factors == ((factors[0][0], 1.0),) if factors else False
            rest = ONE if not factors else factors[0][0] if whole else Times(1.0, factors)
            terms.append((side * c * number, rest))
    terms.sort(key=lambda term: isinstance(term[1], Letter))  # a letter is what is left
    return Plus(tuple(terms))


def _product(args: Sequence[Pattern], power: float) -> Pattern:
    (a, first), (b, second) = map(_parts, args)
    number = a * b if power > 0 else a / b
    return Times(number, (*first, *((factor, power * n) for factor, n in second)))


# ---------------------------------------------------------------------------- matching


def match(pattern: Pattern, node: Node, known: Meaning) -> Iterator[Meaning]:
    """Yield every meaning of the letters with which a pattern is a node, beyond those known."""
    if isinstance(pattern, Letter):
        yield from _bind(pattern, node, known)
    elif isinstance(pattern, Value):
        if _is_value(node, pattern.value):
            yield known
    elif isinstance(pattern, Times):
        yield from _match_product(pattern, node, known)
    elif isinstance(pattern, Plus):
        yield from _match_sum(pattern, node, known, 1.0)
    elif isinstance(pattern, Transposed):
        inside = transposed(peel(node))
        if inside is not None:
            yield from match(pattern.inside, inside, known)
    else:
        part = peel(node)
        if part.op == pattern.op and len(part.args) == len(pattern.args):
            yield from _match_args(pattern.args, part.args, known)
            if part.op in _COMMUTING:
                yield from _match_args(pattern.args, part.args[::-1], known)


def _match_args(patterns: Sequence[Pattern], args: Sequence[Node], known: Meaning) -> Iterator[Meaning]:
    if not patterns:
        yield known
        return
    for found in match(patterns[0], args[0], known):
        yield from _match_args(patterns[1:], args[1:], found)


def _bind(letter: Letter, node: Node, known: Meaning) -> Iterator[Meaning]:
    there = known.get(letter.name)
    if there is None:
        if not letter.kind or KINDS[letter.kind](node):
            yield {**known, letter.name: node}
    elif there is node or _are_equal(there, node):
        yield known


def _are_equal(a: Node, b: Node) -> bool:
    """Tell whether two nodes are the same number, or the same behind names."""
    value = scalar_constant(a)
    return peel(a) is peel(b) if value is None else value == scalar_constant(b)


def _is_value(node: Node, value: float | bool) -> bool:
    if isinstance(value, bool):
        return node.is_constant and node.dtype is BOOL and not node.shape and bool(node.value) is value
    return scalar_constant(node) == value


def _match_product(pattern: Times, node: Node, known: Meaning) -> Iterator[Meaning]:
    factors = pattern.factors
    number, rest = without_numbers(peel(node), _NUMBERS)
    if len(factors) == 1 and factors[0][1] == 1.0:
        inside = factors[0][0]
        if number == pattern.number:
            yield from match(inside, rest, known)
        elif pattern.number == -1.0 and number < 0.0 and isinstance(inside, Letter):
            yield from match(inside, elementwise("multiply", (constant(-number), rest)), known)
        return
    if number != pattern.number:
        return
    sign, parts, whole = factors_of(rest, len(factors), look=peel)
    if sign > 0 and whole and len(parts) == len(factors):
        yield from _match_factors(factors, parts, known)


def _match_factors(
    factors: Sequence[tuple[Pattern, float]], parts: Sequence[tuple[Node, float]], known: Meaning
) -> Iterator[Meaning]:
    if not factors:
        yield known
        return
    (pattern, power), *others = factors
    for place, (base, n) in enumerate(parts):
        if n == power:
            for found in match(pattern, base, known):
                yield from _match_factors(others, [*parts[:place], *parts[place + 1 :]], found)


def _match_sum(pattern: Plus, node: Node, known: Meaning, scale: float | None) -> Iterator[Meaning]:
    """Match all terms of a sum."""
    part = peel(node)
    if part.op in SUMS:
        parts = [_scaled_term(*term) for term in terms_of(part, MOST_TERMS, look=peel).parts]
        yield from _match_terms(pattern.terms, parts, known, scale)


def _scaled_term(sign: float, term: Node) -> tuple[float, Node]:
    """Return a term as a number times the rest, which is 1 of a number alone."""
    value = scalar_constant(term)
    if value is not None:
        return sign * value, _ONE
    number, rest = without_numbers(term)
    return sign * number, rest


_ONE = constant(1.0)


def _match_terms(
    terms: Sequence[tuple[float, Pattern]], parts: Sequence[tuple[float, Node]], known: Meaning, scale: float | None
) -> Iterator[Meaning]:
    """Match each term with one part; a letter, which comes last, with the sum of all that are left.

    ``scale`` is what the parts are multiples by; where it is None, any number, which the meaning of "" becomes.
    """
    if not terms:
        if not parts:
            yield known if scale is None else {**known, "": constant(scale)}
        return
    (number, pattern), *others = terms
    if isinstance(pattern, Letter):
        if parts and scale is not None and not others:
            rest = _sum_of([(c / (number * scale), part) for c, part in parts], plain)
            for found in match(pattern, rest, known):
                yield {**found, "": constant(scale)}
        return
    for place, (c, rest) in enumerate(parts):
        ratio = c / number
        if (scale is None or ratio == scale) and ratio != 0.0:
            for found in match(pattern, rest, known):
                yield from _match_terms(others, [*parts[:place], *parts[place + 1 :]], found, ratio)


def _sum_of(parts: Sequence[tuple[float, Node]], apply: Apply) -> Node:
    total: Node | None = None
    for c, part in parts:
        term = _times(abs(c), part, apply)
        if total is None:
            total = term if c > 0 else _times(-1.0, term, apply)
        else:
            total = apply("add" if c > 0 else "subtract", total, term)
    assert total is not None
    return total


# ---------------------------------------------------------------------------- writing


def write(pattern: Pattern, known: Meaning, apply: Apply) -> Node:
    """Return the node that a pattern is with what its letters stand for."""
    if isinstance(pattern, Letter):
        return known[pattern.name]
    if isinstance(pattern, Value):
        return constant(pattern.value)
    if isinstance(pattern, Transposed):
        inside = write(pattern.inside, known, apply)
        own = tuple(range(inside.ndim))
        return contract([inside], [own], (*own[:-2], own[-1], own[-2]))
    if isinstance(pattern, Applied):
        return apply(pattern.op, *[write(arg, known, apply) for arg in pattern.args])
    if isinstance(pattern, Times):
        return _multiplied(pattern, known, apply)
    return _sum_of([(c, write(term, known, apply)) for c, term in pattern.terms], apply)


def _multiplied(pattern: Times, known: Meaning, apply: Apply) -> Node:
    number, result = pattern.number, None
    divided: list[Node] = []
    for factor, n in pattern.factors:
        part = write(factor, known, apply)
        value = scalar_constant(part)
        if value is not None:
            number = product_of(number, value) if n > 0 else number / value
        elif n < 0:
            divided.append(part)
        else:
            result = part if result is None else apply("multiply", result, part)
    for part in divided:
        result = apply("divide", _ONE if result is None else result, part)
    return constant(number) if result is None else _times(number, result, apply)


def _times(number: float, node: Node, apply: Apply) -> Node:
    if number == 1.0:
        return node
    value = scalar_constant(node)
    if value is not None:
        return constant(product_of(number, value))
    if number == -1.0:
        return node.args[0] if node.is_negation else apply("negative", node)
    return apply("multiply", constant(number), node)


def plain(op: str, *args: Node) -> Node:
    """Apply an operation and simplify nothing."""
    row = FUNCTIONS.get(op)
    return matrix(op, *args) if row is None else elementwise(op, args, row.gives)


def _stable(op: str, *args: Node) -> Node:
    """Apply an operation and put the result into a stable form."""
    return settle(plain(op, *args), STABILITY)


def _settled(op: str, *args: Node) -> Node:
    """Apply an operation and simplify the result."""
    return settle(plain(op, *args))


# ---------------------------------------------------------------------------- equations as rules


class Identity(Rule):
    """One equation that is used from left to right: a row of the table of rules.

    Its text is read when the first node comes that it may fit.

    Parameters
    ----------
    text : str
        Both sides with an arrow between them.
    kind : str
        Of the rule, see :class:`~symdiff.rewrite.rewriter.Rule`.
    when : str
        A condition on numbers among the letters, or "".
    source : str
        Where the equation stands in print.
    ops : sequence of str
        The operation of the left side, and those of which an argument has one. Empty where the text tells.
    kinds : mapping of str to str
        Letters that stand for nodes of a kind.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> Identity("1 - sigmoid(x) -> sigmoid(-x)", "stability").rewrite(1 - elementwise("sigmoid", (input("y"),)))
    <sigmoid(negative(y)): () real>
    """

    def __init__(
        self, text: str, kind: str, when: str = "", source: str = "", ops: Sequence[str] = (), **kinds: str
    ) -> None:
        self.name, self.kind, self.when, self.source, self.kinds = text, kind, when, source, kinds
        self.known = ops
        self.pattern, self.result = (side.strip() for side in text.split("->"))
        self.condition = read(when, kinds) if when else None
        self.apply = _stable if kind in ("stability", "form") else _settled

    # A rule is asked for these when a node comes that it may fit: what most programs need of few equations.

    @cached_property
    def left(self) -> Pattern:
        """Left side: the pattern."""
        return read(self.pattern, self.kinds)

    @cached_property
    def right(self) -> Pattern:
        """Right side: the replacement."""
        return read(self.result, self.kinds)

    @cached_property
    def ops(self) -> tuple[str, ...]:  # type: ignore[override]
        """Operations of the nodes that may be the left side."""
        called = self.known[0] if self.known else _called(self.pattern)
        if called:
            return (ALIASES.get(called, called),)
        if isinstance(self.left, Plus):
            return ("add", "subtract")
        if isinstance(self.left, Times):
            return tuple(sorted(PRODUCTS))
        if isinstance(self.left, Applied):
            return (self.left.op,)
        raise InternalError(f"the equation {self.name!r} begins with a letter or a number, which is any node")

    @cached_property
    def inside(self) -> frozenset[str]:  # type: ignore[override]
        """Operations one of which is an argument of every node that is the left side; none where none is sure."""
        if self.known:
            return frozenset((*self.known[1:], "named") if self.known[1:] else ())
        if not isinstance(self.left, Applied):
            return frozenset()
        sure = [roots for arg in self.left.args if (roots := _roots(arg)) is not None]
        return frozenset(min(sure, key=len, default=()))

    @cached_property
    def below(self) -> tuple[int, ...]:  # type: ignore[override]
        """The bits of the functions of the left side."""
        return () if self.known else tuple(sorted({bit_of(op) for op in _functions(self.left)} - {0}))

    @cached_property
    def terms(self) -> frozenset[str]:  # type: ignore[override]
        """Keys of the terms that a sum has which is the left side."""
        if self.ops != ("add", "subtract") or not isinstance(self.left, Plus):
            return frozenset()
        calls = [term for _, term in self.left.terms if isinstance(term, Applied | Times)]
        if not calls:
            raise InternalError(f"the equation {self.name!r} begins with a sum of letters, which is any sum")
        keys = {"constant"} if any(isinstance(term, Value) for _, term in self.left.terms) else set()
        for call in calls:
            base = call.args[0] if isinstance(call, Applied) else None
            key = key_of_term(_op_of(call), base.op if isinstance(base, Applied) else "")
            while key in keys:
                key += AGAIN
            keys.add(key)
        return frozenset(keys)

    def rewrite(self, node: Node) -> Node | None:
        """Return the right side for a node that is the left side, None for any other."""
        sides = _match_any(self.left, node) if isinstance(self.left, Plus) else (
            (meaning, ()) for meaning in match(self.left, node, {})
        )
        for meaning, rest in sides:
            if self.condition is None or _holds(self.condition, meaning):
                scale = scalar_constant(meaning.pop("", _ONE)) or 1.0
                found = _times(scale, write(self.right, meaning, self.apply), self.apply)
                for sign, term in rest:
                    found = self.apply("add" if sign > 0 else "subtract", found, term)
                return spread(found, node.shape)
        return None


def _match_any(pattern: Plus, node: Node) -> Iterator[tuple[Meaning, Sequence[tuple[float, Node]]]]:
    """Match some terms of a sum, from both of its arguments: each of these was looked at before."""
    terms, scaled, first = _terms_seen(node)
    if isinstance(pattern.terms[-1][1], Letter):
        for meaning in _match_terms(pattern.terms, scaled, {}, None):
            yield meaning, ()
        return
    wanted = sorted(_op_of(term) for _, term in pattern.terms)
    for chosen in combinations(range(len(terms)), len(wanted)):
        if chosen[0] < first <= chosen[-1] and sorted([scaled[k][1].op for k in chosen]) == wanted:
            for meaning in _match_terms(pattern.terms, [scaled[k] for k in chosen], {}, None):
                yield meaning, [terms[k] for k in range(len(terms)) if k not in chosen]


@noted
def _terms_seen(node: Node) -> tuple[Sequence[tuple[float, Node]], Sequence[tuple[float, Node]], int]:
    """Return the terms of a sum, these as numbers times the rest, and how many are those of its first argument."""
    terms = terms_of(node, MOST_TERMS, look=peel).parts
    first = len(terms_of(node.args[0], MOST_TERMS, look=peel).parts)
    return terms, [_scaled_term(*term) for term in terms], first


def _op_of(pattern: Pattern) -> str:
    """Return the operation of all nodes that a term of a sum fits, which is a call, a product or a number."""
    if isinstance(pattern, Times):
        return "divide" if any(n < 0.0 for _, n in pattern.factors) else "multiply"
    return pattern.op if isinstance(pattern, Applied) else "constant"


def _called(text: str) -> str:
    """Return the function that a text is a call of, seen without reading it; "" where it is none, or may be none."""
    name, _, rest = text.partition("(")
    depth = 1
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return name if name.isidentifier() and place == len(rest) - 1 else ""
    return ""


def _functions(pattern: Pattern) -> Iterator[str]:
    """Yield the operations that are applied in a pattern."""
    parts: Sequence[Pattern] = ()
    if isinstance(pattern, Applied):
        yield pattern.op
        parts = pattern.args
    elif isinstance(pattern, Plus):
        parts = [term for _, term in pattern.terms]
    elif isinstance(pattern, Times):
        parts = [factor for factor, _ in pattern.factors]
    elif isinstance(pattern, Transposed):
        parts = (pattern.inside,)
    for part in parts:
        yield from _functions(part)


def _roots(pattern: Pattern) -> set[str] | None:
    """Return the operations that a node may have that a pattern fits; None where it may have any."""
    if isinstance(pattern, Letter):
        return None
    if isinstance(pattern, Value):
        return {*NUMBERS}
    if isinstance(pattern, Transposed):
        return {"contract", "named"}
    if isinstance(pattern, Applied):
        return {pattern.op, "named"}
    return {*(SUMS if isinstance(pattern, Plus) else PRODUCTS), "named"}


def _holds(condition: Pattern, meaning: Meaning) -> bool:
    """Tell whether a comparison of numbers holds."""
    if not isinstance(condition, Applied):
        raise InternalError(f"a condition is {condition}; expected a comparison")
    if condition.op in ("logical_and", "logical_or"):
        sides = [_holds(arg, meaning) for arg in condition.args]
        return all(sides) if condition.op == "logical_and" else any(sides)
    values = [scalar_constant(write(arg, meaning, _settled)) for arg in condition.args]
    return None not in values and _COMPARED[condition.op](*[value for value in values if value is not None])
