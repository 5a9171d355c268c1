"""The rewriter: a table of rules, and one bottom-up pass that applies them.

Each rule is one row: a name, the pattern it looks for and what it puts there, and a
function that does so for one node whose arguments are simplified already. Rules run in the
order of the table, and each makes the formula smaller or more regular, so the pass ends.
Values are kept where they are finite: nothing is cancelled that could hide a NaN.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from math import isfinite
from operator import or_
from threading import local
from types import ModuleType
from typing import Any, TypeAlias

from ..graph import (
    INT,
    Node,
    broadcast_to,
    elementwise,
    mark_settled,
    mark_tried,
    postorder,
    rebuild,
    survey,
    with_results,
)
from ..graph.dump import term_text
from ..graph.kinds import DECLARED, EXPONENTIAL, bit_of
from ..graph.scalars.functions import FUNCTIONS, compare, scalar_constant, where
from ..graph.scalars.remainders import REMAINDERS, Remainder
from ..graph.sizes import Shape
from ..ground.budget import spend
from ..ground.gc_pause import noted, paused
from .kept_range import PRODUCTS, keeps_range

Rewrite: TypeAlias = Callable[[Node], Node | None]


class Rule:
    """One rewrite, a row of the table: a function, or an equation (:mod:`~symdiff.rewrite.equations`).

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
    kind : {"algebra", "stability", "form", "arrays", "reading", "derived", "values", "differentiated", "shown"}
        "stability" and "form" rules also run before differentiation, and only the former are told of,
        "arrays" rules have nothing to do with scalars, and "reading" rules only serve formulas small
        enough to be read. "derived" rules cancel terms of derivatives, where these may be nan, and leave formulas
        as a person wrote them. "values" rules keep a formula's value and not its derivatives, so they run on
        what is not differentiated any more; "differentiated" ones may have a value where the formula has none, so they
        run on what is differentiated, and never on what is computed. "shown" ones run on what is shown alone.
    inside : frozenset of str
        Operations one of which is an argument wherever the rule fits; any, if empty.
    below : tuple of int
        Kinds (:mod:`symdiff.graph.kinds`), or the bits of operations, of which there is one each at the node or below
        it wherever the rule fits.
    linked : bool
        Whether, with none of ``inside`` among the arguments, it fits no number of which :func:`is_linked` does not
        hold.
    """

    #: Keys (:func:`key_of_term`) of terms, each of which a sum has that the rule fits; for other operations, empty.
    terms: frozenset[str] = frozenset()
    linked: bool = False

    def __init__(
        self, name: str, ops: tuple[str, ...], pattern: str, result: str, rewrite: Rewrite,
        kind: str = "algebra", inside: frozenset[str] = frozenset(), below: tuple[int, ...] = (), linked: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.ops, self.pattern, self.result = name, ops, pattern, result
        self.rewrite, self.kind, self.inside, self.below, self.linked = rewrite, kind, inside, below, linked


def equation_told(before: Node, after: Node) -> str:
    """Return what a reader is told of a rewrite: the equation that was found, in the formula's own terms."""
    left, right = (term_text(_as_read(side)) for side in (before, after))
    if right == left:  # a function that people write as it stood is told by how it is computed
        right = term_text(_as_read(after, by_expansion=True))
    return f"{left} → {right}"


#: Levels of what a rule made that are looked at for functions without a name in text; term_text shows no more.
_LOOKED = 5


def _as_read(node: Node, levels: int = _LOOKED, by_expansion: bool = False) -> Node:
    """Put what people write in place of functions without a name, and their value at 0 where that has none."""
    if not levels or not node.args:
        return node
    if node.op == "multiply" and any(arg.op == "unless_nan" for arg in node.args):  # 1 with the nan of its argument
        return _as_read(node.args[node.args[0].op == "unless_nan"], levels, by_expansion)
    args = tuple([_as_read(arg, levels - 1, by_expansion) for arg in node.args])
    function = FUNCTIONS.get(node.op)
    if function is None or function.written is None:
        return node if args == node.args else rebuild(node, args)
    written = ((by_expansion and function.expansion) or function.written)(*args)
    quotient = _remainders().get(node.op)
    if quotient is None or scalar_constant(node.args[0]) != 0.0:  # a derivative of the quotient
        return written
    return where(compare("equal", args[-1], 0.0), float(quotient.coefficients()[0]), written)


@cache
def _remainders() -> dict[str, Remainder]:
    return {name: each for each in REMAINDERS for name in (each.name, each.name_by_square)}


RULES: list[Rule] = []
#: Formulas up to so many nodes are simplified for reading, until nothing changes, so many times at most.
_SMALL, _PASSES = 2_000, 5
#: Formulas up to so many nodes get the shortest forms that are looked for: of longer ones nobody reads more than parts.
READ = 400
#: Rules that took turns would never end; every form on the way is right.
_TURNS = 1_000
#: Turns after which it is noted which nodes came before.
_ORDINARY = 8
#: Most nodes that rules settle within each other.
_NESTED = 1_000
#: Depth to which a rule's result is rewritten again.
_MADE = 3
#: Which rules a pass applies, each level those of the level before and more. A node is marked with
#: the level at which no rule fits it or anything below it, and with that at which none fits the node itself: a later
#: pass tries no rule again.
STABILITY, PLAIN, READING, DERIVED, VALUES, DIFFERENTIATED, SHOWN = 1, 2, 3, 4, 5, 6, 7
_KINDS = {
    DIFFERENTIATED: ("differentiated",),
    STABILITY: ("stability", "form"),
    PLAIN: ("stability", "form", "algebra", "arrays"),
    READING: ("stability", "form", "algebra", "arrays", "reading"),
    DERIVED: ("stability", "form", "algebra", "arrays", "reading", "derived"),
    VALUES: ("stability", "form", "algebra", "arrays", "reading", "values"),
    SHOWN: ("form", "algebra", "arrays", "reading", "differentiated", "derived", "shown"),
}


#: Kinds of rules that a reader is told of.
_TOLD = ("stability", "differentiated")
#: Levels at which passes are made until nothing changes.
_REPEATED = (READING, DERIVED)


def rule(
    ops: str,
    pattern: str,
    result: str,
    kind: str = "algebra",
    inside: str = "",
    below: Sequence[int] = (),
    linked: bool = False,
) -> Callable[[Rewrite], Rewrite]:
    """Add a row to the table; ``ops`` and ``inside`` list operations, separated by spaces."""

    def add(rewrite: Rewrite) -> Rewrite:
        name, within = rewrite.__name__.strip("_"), frozenset(inside.split())
        register(Rule(name, tuple(ops.split()), pattern, result, rewrite, kind, within, tuple(below), linked))
        return rewrite

    return add


def register(row: Rule) -> None:
    """Add a row to the table."""
    RULES.append(row)
    _rules.cache_clear()
    _within.cache_clear()


def arrange(sources: Sequence[ModuleType | Sequence[Rule]]) -> None:
    """Put the table into the order of its sources: pages of rules, and modules with functions under :func:`rule`."""
    rows: list[Rule] = []
    for source in sources:
        if isinstance(source, ModuleType):
            rows += [row for row in RULES if row.rewrite.__module__ == source.__name__]
        else:
            rows += source
    RULES[:] = rows
    _rules.cache_clear()
    _within.cache_clear()


class _Table:
    """Rules by operation, and those that may fit a node by what is seen of it at once.

    A node's operation, those of its arguments and the kinds below it say of most rules that they do not fit. Nodes
    that are alike in this are many, so what may fit them is found once.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rows: dict[str, list[Rule]] = {}
        #: Rules of sums by the key of one of their terms, and the kinds one of which is below all sums that they fit.
        self.by_term: dict[str, list[Rule]] = {}
        self.in_terms = 0
        #: The kinds that the rules of an operation ask for, once a node with it has come.
        self.asked: dict[str, int] = {}
        for row in rules:
            if row.terms:
                self.by_term.setdefault(max(row.terms - {"constant"}, key=_rarest), []).append(row)
                self.in_terms |= row.below[0] if row.below else _ANY
            for op in row.ops:
                self.rows.setdefault(op, [])
                if not row.terms:
                    self.rows[op].append(row)
        #: By the operation, those of up to two arguments, and the kinds below: what may fit, and what else if linked.
        self.known: dict[Any, Any] = {}

    def fitting(self, node: Node) -> list[Rule]:
        """Return the rules that may fit a node, in the order of the table."""
        rows = self.rows.get(node.op)
        if rows is None:
            return _NONE
        args = node.args
        asked = self.asked.get(node.op)
        if asked is None:
            asked = self.asked[node.op] = union([kind for row in rows for kind in row.below])
        below = node.below & asked
        if len(args) > _SEVERAL:
            return _fitting(rows, [arg.op for arg in args], below)
        known = self.known
        found = known.get(node.op)
        if found is None:
            found = known[node.op] = {}
        for arg in args:
            known = found
            found = known.get(arg.op)
            if found is None:
                found = known[arg.op] = {}
        both = found.get(below)
        if both is None:
            every = _fitting(rows, [arg.op for arg in args], below)
            alone = [row for row in every if not row.linked or not row.inside.isdisjoint([arg.op for arg in args])]
            both = found[below] = (every, every if len(alone) == len(every) else alone)
        every, alone = both
        fitting: list[Rule] = every if every is alone or node.shape or is_linked(node) else alone
        if node.is_additive and node.below & self.in_terms:
            more = self.of_sums(node)
            if more:
                return fitting + more
        return fitting

    def of_sums(self, node: Node) -> list[Rule]:
        """Return the rules of sums that have the terms of one."""
        keys = _keys_of_terms(node)
        found: list[Rule] = []
        for key in keys:
            rows = self.by_term.get(key)
            if rows is not None:
                found += rows
        return [row for row in found if row.terms.issubset(keys)] if found else found


@noted
def _keys_of_terms(node: Node) -> list[str]:
    """Return the keys of the first terms of a sum, in their order; the second of a kind has a key of its own."""
    keys: dict[str, None] = {}
    todo: list[Node] = [node]
    count = 0
    while todo and count <= MOST_TERMS and len(todo) <= MOST_TERMS:
        part = todo.pop()
        op = part.op
        if part.is_additive:
            todo.append(part.first)
            todo.append(part.second)
            continue
        if part.is_negation or part.is_named:
            todo.append(part.first)
            continue
        count += 1
        while part.is_multiplicative and part.args[part.is_division].is_constant:
            part = part.args[part.is_multiplication]
            op = part.op
        if op in NUMBERS and scalar_constant(part) is not None:
            op = "constant"
        key = key_of_term(op, part.first.op) if part.is_power else op
        while key in keys:
            key += AGAIN
        keys[key] = None
    return list(keys)


def _rarest(key: str) -> tuple[int, str]:
    """Order keys: fewest sums have a key that comes again."""
    return key.count(AGAIN), key


def key_of_term(op: str, inside: str) -> str:
    """Return what terms are told apart by: their operation, of powers that of the base; a number is a constant."""
    return f"{inside}**" if op == "power" else op


def union(kinds: Iterable[int]) -> int:
    """Return the bits of all kinds."""
    return reduce(or_, kinds, 0)


#: What follows a key for each term before it that has the same.
AGAIN = "'"
#: Operations of nodes that are one number.
NUMBERS = ("constant", "reshape", "contract")
#: Most terms of a sum of which some may be the left side of an equation.
MOST_TERMS = 6
#: Arguments up to which nodes are told apart by their operations.
_SEVERAL = 3
_NONE: list[Rule] = []
#: All bits of what is below a node.
_ANY = (1 << 64) - 1


def _fitting(rows: Sequence[Rule], args: Sequence[str], below: int) -> list[Rule]:
    return [
        row
        for row in rows
        if not (row.inside and not row.linked and row.inside.isdisjoint(args))
        and all(below & kind for kind in row.below)
    ]


def is_linked(node: Node) -> bool:
    """Tell whether arguments, or factors of arguments that are products, come twice, or a first factor may be a number.

    First factors are numbers unless they are functions of numbers: others are not looked into.
    """
    seen: list[Node] = []
    for arg in node.args:
        for part in seen:
            if part is arg:
                return True
        seen.append(arg)
        if arg.is_multiplication:
            first, second = arg.args
            if first.payload is not None or (first.args and first.args[0].shape):
                return True
            for part in seen:
                if part is first or part is second:
                    return True
            seen.append(first)
            seen.append(second)
    return False


class _Rules:
    """The rules of a pass, less those of which it is known that they do not fit a node.

    Parameters
    ----------
    rows : sequence of Rule
    level : int
        What is noted of a node that none of the rules fits; 0 where nothing is.
    ranged : bool
        Whether what is made keeps the range of numbers, see :mod:`symdiff.rewrite.kept_range`.
    """

    def __init__(self, rows: Sequence[Rule], level: int, ranged: bool = True) -> None:
        self.level = level
        self.ranged = ranged
        self._rows = rows
        #: Tables for scalars and for arrays by the level at which nodes are noted, made when one such comes.
        self._rest: list[tuple[_Table, _Table] | None] = [None] * (VALUES + 1)
        self.scalars, self.arrays = self._left(0)

    def _left(self, noted: int) -> tuple[_Table, _Table]:
        """Return the rules that are left for nodes which none of a level fits."""
        found = self._rest[noted]
        if found is None:
            # what did not fit as it shrinks the range was noted as what does not fit
            kinds = _KINDS.get(noted, ()) if self.ranged else ()
            left = [row for row in self._rows if row.kind not in kinds]
            found = self._rest[noted] = _Table([row for row in left if row.kind != "arrays"]), _Table(left)
        return found

    def fitting(self, node: Node) -> list[Rule]:
        """Return the rules that may fit a node, in the order of the table."""
        settled, tried = node.settled, node.tried
        scalars, arrays = self._left(tried if tried > settled else settled)
        table: _Table = arrays if node.shape else scalars
        return table.fitting(node)


@cache
def _rules(level: int, stability: bool = True, mark: bool = True) -> _Rules:
    """Return the rules of a level."""
    kinds = [kind for kind in _KINDS[level] if stability or kind != "stability"]
    return _Rules([row for row in RULES if row.kind in kinds], level if mark and stability else 0, level != SHOWN)


@cache
def _within() -> int:
    """Return the bits of functions; one, or a power, is there wherever a rule for what is differentiated fits."""
    inside = frozenset().union(*[row.inside for row in RULES if row.kind == "differentiated"])
    return union(map(bit_of, inside | {"cbrt"}))


def _is_fractional(node: Node) -> bool:
    """Tell whether a node is a power that is no whole one."""
    if not node.is_power:
        return False
    n = scalar_constant(node.args[1])
    return n is None or not n.is_integer()


@paused
def simplify(
    roots: Sequence[Node],
    rewrites: list[str] | None = None,
    known: dict[Node, Node] | None = None,
    stability: bool = True,
    written: bool = False,
) -> list[Node]:
    """Apply every rule everywhere.

    Parameters
    ----------
    roots : sequence of Node
    rewrites : list of str, optional
        Receives a line for each kind of stability rewrite that was made.
    known : dict of Node to Node, optional
        What was made of nodes of other formulas that have parts in common with these; receives
        what is made of these. A node that it maps to itself stays as it is.
    stability : bool
        Whether to apply the rules for stability, which look below names and below ``known``.
    written : bool
        Whether these are formulas as a person wrote them, whose terms stay where they may be nan.
    """
    level = READING if written else DERIVED
    new = {} if known is None else known
    if len(postorder(roots, most=_SMALL)) > _SMALL:
        todo = [node for node in postorder(roots, settled=PLAIN) if new.get(node) is not node]
        return _run(roots, todo, PLAIN, {}, rewrites, stability)
    # other rules put fractions together, where those for stability no longer see what vanishes
    current = _stable_forms(roots, rewrites) if written and stability and not new else list(roots)
    for _ in range(_PASSES):
        todo = postorder(current, lambda node: node.settled >= level or node in new)
        following = _run(current, todo, level, new, rewrites, stability)
        if following == current:
            break
        current = following
    return current


@paused
def finish(roots: Sequence[Node]) -> list[Node]:
    """Apply every rule, those that keep values alone among them, to formulas that are not differentiated any more."""
    declared = any(root.below & DECLARED for root in roots)
    if not declared or not any(node.is_input and node.assumptions.orthogonal for node in postorder(roots)):
        return list(roots)
    current = list(roots)
    for _ in range(_PASSES):
        # a mark would keep terms from being cancelled in later derivatives
        following = _run(current, postorder(current, settled=VALUES), VALUES, {}, None, mark=False)
        if following == current:
            break
        current = following
    return current


@paused
def shorten(root: Node) -> Node:
    """Apply every rule to a formula that is shown and not computed, those that shrink its range, too."""
    order = postorder([root], most=READ)
    if len(order) > READ or not any(_is_open(node) for node in order):
        return root
    current = [root]
    _nested.shown = True
    try:
        for _ in range(_PASSES):
            following = _run(current, postorder(current), SHOWN, {}, None, mark=False)
            if following == current:
                break
            current = following
    finally:
        _nested.shown = False
    # what is shown is not kept from leaving the range, and numbers alone would
    return current[0] if _beyond_range(current) <= _beyond_range([root]) else root


def _beyond_range(roots: Sequence[Node]) -> set[str]:
    """Return the numbers of formulas that are none, or infinite."""
    values = [scalar_constant(node) for node in postorder(roots)]
    return {repr(value) for value in values if value is not None and not isfinite(value)}


def _is_open(node: Node) -> bool:
    """Tell whether a rule fits a node that is for what is shown, or was refused for numbers."""
    for row in _shown().fitting(node):
        found = row.rewrite(node)
        if found is not None and found is not node:
            return True
    return False


@cache
def _shown() -> _Rules:
    """Return the rules for what is shown, and those whose results are compared with what they stand for."""
    return _Rules([row for row in RULES if row.kind in ("derived", "shown")], 0, False)


@paused
def stabilize(roots: Sequence[Node], rewrites: list[str] | None = None) -> list[Node]:
    """Apply the stability rules alone."""
    todo = postorder(roots, settled=STABILITY)
    return _run(roots, todo, STABILITY, {}, rewrites)


#: Stable forms of the last formulas that were differentiated, with the lines that tell of them: most are compiled next.
_recent: OrderedDict[Node, tuple[Node, list[str]]] = OrderedDict()
#: Most such forms.
_RECENT = 8


def _stable_forms(roots: Sequence[Node], rewrites: list[str] | None) -> list[Node]:
    """Apply the stability rules to formulas, some of which may have been differentiated a moment ago."""
    known = {root: found for root in roots if (found := _recent.get(root)) is not None}
    if rewrites is not None:
        rewrites += dict.fromkeys(line for _, lines in known.values() for line in lines if line not in rewrites)
    rest = [root for root in roots if root not in known]
    forms = dict(zip(rest, stabilize(rest, rewrites), strict=True))
    return [known[root][0] if root in known else forms[root] for root in roots]


@paused
def prepare(root: Node, rewrites: list[str]) -> Node:
    """Apply the rules for stability, and those for what is differentiated and not computed."""
    lines: list[str] = []
    (stable,) = stabilize([root], lines)
    rewrites += lines
    if len(postorder([root], most=_SMALL)) <= _SMALL:
        _recent[root] = stable, lines
        if len(_recent) > _RECENT:
            _recent.popitem(last=False)
    if not stable.below & _within() and not any(map(_is_fractional, survey([stable]).apart)):
        return stable
    (opened,) = _run([stable], postorder([stable]), DIFFERENTIATED, {}, rewrites, mark=False)
    return stable if opened is stable else stabilize([opened], rewrites)[0]


def _run(
    roots: Sequence[Node],
    todo: Sequence[Node],
    level: int,
    new: dict[Node, Node],
    rewrites: list[str] | None,
    stability: bool = True,
    mark: bool = True,
) -> list[Node]:
    """Rewrite each node of ``todo`` once, arguments first.

    ``new`` holds what earlier passes made of a node: a rewrite depends on nothing but the node, so
    that a later pass looks only at what an earlier one made and has not looked at. A single pass notes
    there what has changed alone.
    """
    rules = _rules(level, stability, mark)
    spend(len(todo))
    several = level in _REPEATED
    mark = mark and stability
    for node in todo:
        result = node
        if new:
            for arg in node.args:
                if arg in new:
                    result = rebuild(node, tuple([new.get(arg, arg) for arg in node.args]))
                    break
        if result.settled < level:
            if result.payload is not None and result.is_recurrence:
                results = _simplified_body(result.payload.body.results, level, rewrites, stability, mark)
                result = with_results(result, result.args, results)
            table = rules.arrays if result.shape else rules.scalars
            if result.op in table.rows:
                found = _settle(result, rules, rewrites)
                if found is not result:
                    result = found
                    if mark and not several:
                        _mark_made(result, rules)
            if mark and result.settled < level:
                for arg in result.args:
                    if arg.settled < level:
                        break
                else:
                    mark_settled(result, level)
        if several or result is not node:
            new[node] = result
    return [new.get(root, root) for root in roots]


def _simplified_body(
    results: Sequence[Node], level: int, rewrites: list[str] | None, stability: bool, mark: bool
) -> list[Node]:
    """Simplify what a recurrence does in a step, a formula of its own, as the whole is."""
    current, new = list(results), dict[Node, Node]()
    for _ in range(_PASSES if level >= READING else 1):
        todo = postorder(current, lambda node: node.settled >= level or node in new)
        following = _run(current, todo, level, new if level in _REPEATED else {}, rewrites, stability, mark)
        if following == current:
            break
        current = following
    return current


def _mark_made(node: Node, rules: _Rules, depth: int = _MADE) -> None:
    """Mark the arguments that a rule made and that no rule fits.

    Without a mark, a node keeps all above it from being marked, and the next pass would look at all of them again.
    """
    level = rules.level
    for arg in node.args:
        if arg.settled < level and not arg.is_recurrence:
            if depth:
                _mark_made(arg, rules, depth - 1)
            for part in arg.args:
                if part.settled < level:
                    break
            else:
                if _settle(arg, rules, None) is arg:
                    mark_settled(arg, level)


def _settle(node: Node, rules: _Rules, rewrites: list[str] | None) -> Node:
    """Apply rules to one node until none fits, or until one undoes what others did."""
    seen: set[Node] = set()
    left_alone = -1
    for turn in range(_TURNS):
        if turn > _ORDINARY:
            if node in seen:
                break
            seen.add(node)
        rows = rules.fitting(node)
        if rows and left_alone < 0:
            left_alone = _nested.left_alone
        for row in rows:
            found = row.rewrite(node)
            if found is not None and found is not node:
                spend(1)
                if node.dtype is INT and found.dtype is not INT:
                    continue  # positions are computed with as whole numbers
                compared = row.kind == "derived" or (node.op in PRODUCTS and row.kind != "arrays")
                compared = compared or (row.kind == "reading" and node.below & EXPONENTIAL != 0)
                if rules.ranged and compared and not keeps_range(node, found):
                    continue
                if found.shape != node.shape:  # an operand that cancelled was longer
                    found = spread(found, node.shape)
                if rewrites is not None and row.kind in _TOLD:
                    line = equation_told(node, found)
                    if line not in rewrites:
                        rewrites.append(line)
                node = found
                break
        else:
            # a rule that was given a node as it was might fit at another time
            if node.tried < rules.level and (left_alone < 0 or left_alone == _nested.left_alone):
                mark_tried(node, rules.level)
            break
    return node


class _Nested(local):
    """The nodes that rules of this thread are settling, one within the other, and how often one was left alone.

    While a formula is written to be shown, what rules make is, too: forms for numbers would undo it.
    """

    def __init__(self) -> None:
        self.nodes: set[Node] = set()
        self.left_alone = 0
        self.shown = False


_nested = _Nested()


def settle(node: Node, level: int = PLAIN) -> Node:
    """Simplify one node whose arguments are simplified already; one that a rule is about to settle is left as it is.

    Rules that take turns through this function would never end otherwise.
    """
    nodes = _nested.nodes
    if node in nodes:
        _nested.left_alone += 1
        return node
    if _nested.shown:
        level = SHOWN
    if len(nodes) >= _NESTED:  # compiled functions are not counted by Python, and would overflow the stack
        raise RecursionError(f"rules of simplification call each other more than {_NESTED} times within each other")
    nodes.add(node)
    try:
        return _settle(node, _rules(level, mark=level != SHOWN), None)
    finally:
        nodes.discard(node)


def make(op: str, *args: Node) -> Node:
    """Apply a scalar function and simplify the result."""
    return settle(elementwise(op, args, FUNCTIONS[op].gives))


def multiplied(result: Node, factors: Iterable[tuple[Node, float]]) -> Node:
    """Multiply by whole powers, divide by those below 0: one factor after the other, since a power may overflow."""
    for base, n in factors:
        for _ in range(int(abs(n))):
            result = make("multiply" if n > 0 else "divide", result, base)
    return result


def spread(node: Node, shape: Shape) -> Node:
    """Repeat a node to ``shape`` if it is smaller."""
    return node if node.shape == shape else broadcast_to(node, shape)


def is_number(node: Node, value: float) -> bool:
    """Tell whether every element of ``node`` is the constant ``value``."""
    return scalar_constant(node) == value
