"""A derivation: equations between differentials, as books write them, such as d log det(A) = tr(A⁻¹ dA).

The differential of a formula is that of its outermost operation, which holds the differentials of what it is made of;
these are put in one after the other, until those of the variables alone are left. Then the terms of each are collected,
and what a differential is multiplied by is the derivative (Magnus and Neudecker's first identification theorem). Each
equation holds by itself, at every point and in every direction.

A differential is an input whose name a style spells as ``dA`` or ``d(A⁻¹)``. Sums of products with one are read as
traces and scalar products, with the differential behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...calculus.linear import LINEARITY, Law
from ...calculus.modes import pushforward
from ...calculus.rules import law_of
from ...errors import ArgumentError, LimitError, UnsupportedError
from ...graph import (
    BOOL,
    REAL,
    Node,
    dependents,
    elementwise,
    input,
    inputs_of,
    postorder,
    rebuild,
    substitute,
    sum_axes,
    zeros,
)
from ...graph.deltas.einsum import einsum
from ...graph.primitives import NOTHING_KNOWN
from ...graph.sizes import show
from ...printing.from_entries import present
from ...printing.latex import LatexStyle
from ...printing.layout import ATOM, Layout, Piece, lay_out
from ...printing.notation import Reader, Readings, Term, names_in, transpose
from ...printing.notation import postorder as terms_below
from ...printing.text import TextStyle
from ...printing.unicode import MathStyle
from ...rewrite import join_cosines, prepare, simplify

__all__ = ["STYLES", "Derivation", "Line", "cut", "derive", "spell", "write"]


class _Spelled:
    """A style in which some names are spelled in their own way."""

    def __init__(self, spelled: Mapping[str, str], even: frozenset[str], *args: Any) -> None:
        super().__init__(*args)
        self.spelled = spelled
        self.readings = _readings(frozenset(spelled), even)

    def reference(self, name: str) -> Piece:
        """Return a name, or what it is spelled as."""
        if name in self.spelled:
            return Piece(self.spelled[name], ATOM)
        plain: Piece = super().reference(name)  # type: ignore[misc]
        return plain


class _Text(_Spelled, TextStyle):
    pass


class _Unicode(_Spelled, MathStyle):
    pass


class _Latex(_Spelled, LatexStyle):
    pass


#: Styles by name, and how each writes a differential.
STYLES: dict[str, tuple[type[_Text | _Unicode | _Latex], str]] = {
    "text": (_Text, "d"),
    "unicode": (_Unicode, "d"),
    "latex": (_Latex, r"\mathrm{d}"),
}


def spell(node: Node, style: str, spelled: Mapping[str, str], taken: Iterable[str] = ()) -> str:
    """Return how the differential of a node is written: dx of an input, d(x * y) of a formula.

    Parameters
    ----------
    node : Node
    style : str
        A key of :data:`STYLES`.
    spelled : mapping of str to str
        Names that are spelled in their own way.
    taken : iterable of str, optional
        Names of inputs, of which the differential of another has none.
    """
    make, d = STYLES[style]
    one = make(spelled, frozenset())
    inner = write(node, style, spelled, derived=False)
    if node.is_input and f"d{node.name}" not in set(taken):
        return f"{d}{' ' if d[-1:].isalpha() and style == 'latex' else ''}{inner}"
    return f"{d}{one.parenthesised(inner)}"


def write(node: Node, style: str, spelled: Mapping[str, str], *, derived: bool = True) -> str:
    """Return a formula with differentials in it, in a style.

    Parameters
    ----------
    node : Node
    style : str
        A key of :data:`STYLES`.
    spelled : mapping of str to str
        How each differential is written, by the name of its input.
    derived : bool, optional
        Whether factors may be moved.

    Returns
    -------
    str
        Several lines where parts get names.
    """
    make, _ = STYLES[style]
    leaves = inputs_of([node])
    names = [str(leaf.name) for leaf in leaves]
    even = frozenset(str(leaf.name) for leaf in leaves if leaf.assumptions.symmetric)
    one = make(spelled, even, names) if style == "text" else make(spelled, even)
    layout = lay_out([present(node, derived=derived)], one, derived=derived, taken=names)
    return _joined(layout, style)


def _joined(layout: Layout, style: str) -> str:
    if style != "latex":
        return "\n".join([*(f"{name} = {value}" for name, value in layout.definitions), *layout.results])
    return r", \quad ".join([*layout.results, *(f"{name} = {value}" for name, value in layout.definitions)])


# ---------------------------------------------------------------------------- traces and scalar products


def _readings(moving: frozenset[str], even: frozenset[str]) -> Sequence[Readings]:
    """Return the rules that read sums of products with one of these differentials; some of them are symmetric."""

    def moves(term: Term) -> bool:
        return not moving.isdisjoint(names_in(terms_below([term])))

    def total(reader: Reader, term: Term) -> Term | None:
        (inside,) = term.args
        product = inside.args[0] if inside.kind == "negative" else inside
        if product.kind != "product" or product.ndim not in (1, 2) or term.ndim:
            return None
        factors = list(zip(product.args, product.data, strict=True))
        own = [one for one, divides in factors if not divides and one.ndim and moves(one)]
        if len(own) != 1 or own[0].shape != product.shape:
            return None
        (differential,) = own
        numbers = [(one, divides) for one, divides in factors if not one.ndim]
        rest = [(one, divides) for one, divides in factors if one.ndim and one is not differential]
        if any(one.shape != product.shape for one, _ in rest) or all(divides for _, divides in rest):
            return None
        weight = reader.product([one for one, d in rest if not d], [one for one, d in rest if d], product.shape)
        found = _inner(reader, weight, differential, even)
        whole = reader.product([*(n for n, d in numbers if not d), found], [n for n, d in numbers if d], ())
        return whole if product is inside else reader.negative(whole)

    def dot(reader: Reader, term: Term) -> Term | None:
        differential, weight = term.args
        swaps = moves(differential) and not moves(weight) and weight.kind != "matmul"
        return reader.make("dot", (weight, differential), None, ()) if swaps else None

    return [{"total": [total], "dot": [dot]}]


def _inner(reader: Reader, weight: Term, differential: Term, even: frozenset[str]) -> Term:
    if weight.ndim == 1:
        return reader.make("dot", (weight, differential), None, ())
    if differential.kind == "transpose":
        factors = [weight, differential.args[0]]
    elif differential.kind == "name" and differential.data in even:
        factors = [weight, differential]
    else:
        factors = [transpose(weight), differential]
    return reader.make("trace", (reader.chain(factors),), None, ())


#: Rules up to which each line is the whole differential; of more, a line is the differential of a part.
_WHOLE = 12
#: Operations whose differentials are put in at most.
_MOST = 200
_DEFINITION = Law("the formula", "", "")
_PART = Law("a part, taken as a variable", "", "")
_COLLECTED = Law("terms of a differential collected", "tr(A B) = tr(B A), tr(A) = tr(A.T)", "MC 13, 14")
_IDENTIFIED = Law(
    "first identification theorem", "df = tr(G.T dA) for every dA: the derivative is G", "MN 9, theorem 5.11"
)
_WITHIN = Law("derivative within a space of matrices", "df = tr(G.T dS) for every dS of the space, G in it", "MN 3")


class Line(NamedTuple):
    """One equation.

    Parameters
    ----------
    side : {"part", "formula", "differential", "derivative"}
        What is on the left.
    left : Node
        A part that is a variable, the formula, a differential, or the variable of the derivative on the right.
    right : Node
        Of inputs and differentials.
    law : Law
    instance : (Node, Node) or None
        The rule, for the operation at hand: the differential on the left, and what it is.
    collected : bool
        Whether the right side may be written with factors in another order.
    """

    side: str
    left: Node
    right: Node
    law: Law
    instance: tuple[Node, Node] | None = None
    collected: bool = True


class Derivation(NamedTuple):
    """Equations, and what the differentials in them are of.

    Parameters
    ----------
    formula : Node
    wrt : tuple of Node
        Inputs.
    df : Node
        Stands for the differential of the formula.
    lines : tuple of Line
        The first have parts and then the formula on their left, those behind differentials, the last ones variables.
    differentials : mapping of Node to Node
        The inputs that stand for differentials, and what each is of; those of the rules' instances, too.
    """

    formula: Node
    wrt: tuple[Node, ...]
    df: Node
    lines: tuple[Line, ...]
    differentials: Mapping[Node, Node]


def derive(
    formula: Node, wrt: Sequence[Node], results: Sequence[Node], parts: Sequence[tuple[Node, Node]] = ()
) -> Derivation:
    """Return the derivation of derivatives.

    Parameters
    ----------
    formula : Node
    wrt : sequence of Node
        Inputs that the formula depends on.
    results : sequence of Node
        The derivative with respect to each, of shape ``formula.shape + wrt.shape``.
    parts : sequence of (Node, Node)
        The variables that stand for sub-formulas, and these.

    Raises
    ------
    LimitError
        If there are more operations than anybody reads.
    NotDifferentiableError
        If one has no derivative.
    """
    return _Deriving(formula, wrt, parts).run(results)


class _Deriving:
    def __init__(self, formula: Node, wrt: Sequence[Node], parts: Sequence[tuple[Node, Node]]) -> None:
        self.formula, self.wrt = formula, tuple(wrt)
        self.rewrites: list[str] = []
        (self.root,) = join_cosines([prepare(formula, self.rewrites)], self.rewrites)
        self.of: dict[Node, Node] = {}
        self.df = self.leaf(formula)
        self.lines: list[Line] = [Line("part", leaf, part, _PART, collected=False) for leaf, part in parts]
        self.lines.append(Line("formula", formula, formula, _DEFINITION, collected=False))

    def leaf(self, node: Node) -> Node:
        """Return the input that stands for the differential of a node."""
        known = node.assumptions if node.is_input else NOTHING_KNOWN
        within = known._replace(definite=False, orthogonal=False, positive=False)
        made = input(_LEAF.format(len(self.of)), node.shape, REAL, within)
        self.of[made] = node
        return made

    def run(self, results: Sequence[Node]) -> Derivation:
        if self.root is not self.formula and self.rewrites:
            told = Law("rewritten for stability", "; ".join(self.rewrites), "equal on paper")
            self.lines.append(Line("formula", self.formula, self.root, told, collected=False))
        order = postorder([self.root])
        active = dependents(order, set(self.wrt))
        own = {w: self.leaf(w) for w in self.wrt}
        #: The differential of each node: of inputs and differentials of operations that are not linear.
        change: dict[Node, Node] = dict(own)
        pending: list[tuple[Node, Node, Node, Law]] = []
        for node in order:
            if node not in active or node in change:
                continue
            moving = [arg in change for arg in node.args]
            if node.is_reshape and pending and pending[-1][0] is node.args[0] and _is_only_for(node, order):
                # a vector that was solved for as a column
                inner, _, column, law = pending.pop()
                (pushed,) = pushforward([node], {inner: column})
                assert pushed is not None  # a reshape moves what it is of
                change[node] = self.leaf(node)
                pending.append((inner, change[node], pushed, law))
                continue
            (pushed,) = pushforward([node], {arg: change[arg] for arg in node.args if arg in change})
            if pushed is None:
                continue
            law = law_of(node, moving)
            if law is LINEARITY:
                change[node] = pushed
                continue
            if len(pending) >= _MOST:
                raise LimitError(
                    f"a derivation of more than {_MOST} steps; expected a formula that a person reads: name a part "
                    "of it, and ask for the steps of the part and of the rest"
                )
            leaf = self.leaf(node)
            change[node] = leaf
            pending.append((node, leaf, pushed, law))
        if self.root not in change:
            change[self.root] = zeros(self.root.shape)
        self.expand(change[self.root], pending)
        self.conclude(own, results)
        return Derivation(self.formula, self.wrt, self.df, tuple(self.lines), self.of)

    def expand(self, running: Node, pending: Sequence[tuple[Node, Node, Node, Law]]) -> None:
        """Add the lines in which differentials of operations are put in, the outermost first."""
        df = self.df
        if not (pending and running is pending[-1][1]):
            self.lines.append(Line("differential", df, _short(running), LINEARITY))
        whole = len(pending) <= _WHOLE
        for node, leaf, pushed, law in reversed(pending):
            instance = self.instance(node)
            if not whole and running is not leaf:
                self.lines.append(Line("differential", leaf, _short(pushed), law, instance))
                continue
            if leaf not in inputs_of([running]):
                continue
            (running,) = substitute([running], {leaf: pushed})
            running = _short(running) if whole else pushed
            self.lines.append(Line("differential", df, running, law, instance))

    def instance(self, node: Node) -> tuple[Node, Node] | None:
        """Return a rule for arguments with names of their own."""
        if len(node.args) > len(_NAMES) or node.op in ("custom", "recurrence"):  # whose rule has words
            return None
        names: dict[Node, Node] = {}
        for arg in dict.fromkeys(node.args):
            if arg.is_constant or arg.dtype is not REAL:
                names[arg] = arg
            else:
                letter = _NAMES[len(names)]
                names[arg] = input(letter.upper() if arg.ndim == 2 else letter, arg.shape)
        plain = rebuild(node, tuple(names[arg] for arg in node.args))
        if any(arg.dtype is BOOL for arg in node.args):
            return None
        moving = [new for new in plain.args if new.is_input]
        (pushed,) = pushforward([plain], {one: self.leaf(one) for one in dict.fromkeys(moving)})
        return None if pushed is None else (self.leaf(plain), _short(pushed))

    def conclude(self, own: Mapping[Node, Node], results: Sequence[Node]) -> None:
        """Add the lines in which the derivative is read off."""
        df = self.df
        rank = self.formula.ndim
        shown = [present(result, derived=True) for result in results]
        parts = [self.product(result, own[w], rank) for w, result in zip(self.wrt, shown, strict=True)]
        total = sum(parts[1:], start=parts[0])
        spelled = {str(leaf.name): str(leaf.name) for leaf in self.of}
        if write(total, "text", spelled, derived=rank > 0) != write(self.lines[-1].right, "text", spelled):
            self.lines.append(Line("differential", df, total, _COLLECTED, collected=rank > 0))
        for w, result in zip(self.wrt, results, strict=True):
            self.lines.append(Line("derivative", w, result, _WITHIN if w.assumptions.space else _IDENTIFIED))

    def product(self, result: Node, change: Node, rank: int) -> Node:
        """Return a derivative times a differential, summed over the axes of the variable."""
        if rank == 0:
            return sum_axes(elementwise("multiply", (result, change)), range(change.ndim))
        axes = tuple(range(rank, rank + change.ndim))
        return einsum([result, change], [(*range(rank), *axes), axes], tuple(range(rank)))


#: Names of differentials, which no input has.
_LEAF = "d {}"
#: Names of arguments in rules.
_NAMES = ("u", "v", "w", "s", "t")


def _is_only_for(node: Node, order: Sequence[Node]) -> bool:
    """Tell whether a reshape leaves out axes of length 1 of what nothing else uses."""
    (x,) = node.args
    tight = [tuple(size for size in one.shape if size != 1) for one in (x, node)]
    return tight[0] == tight[1] and sum(x in one.args for one in order) == 1


def _short(node: Node) -> Node:
    (found,) = simplify([node])
    return found


def cut(roots: Sequence[Node], wrt: Sequence[Node]) -> tuple[list[tuple[Node, Node]], list[Node], list[Node]]:
    """Put inputs in the places of the sub-formulas among the variables.

    Parameters
    ----------
    roots, wrt : sequence of Node
        Formulas, and variables: inputs and named sub-formulas.

    Returns
    -------
    (parts, variables, roots)
        Pairs of an input and the sub-formula in whose place it stands; the variables, all inputs now; the formulas of
        them.

    Raises
    ------
    UnsupportedError
        If a variable is neither an input nor a named sub-formula.
    ArgumentError
        If a variable is made of another one, or has the name of an input.
    """
    places: dict[Node, Node] = {}
    for node in wrt:
        if node.op not in ("input", "named"):
            raise UnsupportedError(
                "the steps of a derivative with respect to a part or unnamed sub-formula of shape "
                f"{show(node.shape)}; write steps with respect to the input itself, or "
                "name the sub-formula: h = sd.name(...)"
            )
        if node.is_named:
            places[node] = input(str(node.payload), node.shape)
    for node in places:
        below = postorder([node])
        inside = next((other for other in wrt if other is not node and other in below), None)
        if inside is not None:
            name = inside.payload if inside.is_named else inside.name
            raise ArgumentError(
                f"{node.payload} and {name}, of which it is made, among the variables of one derivation; expected a "
                "call of steps for each"
            )
    inner = substitute(list(roots), places) if places else list(roots)
    taken = {leaf.name for leaf in inputs_of([*roots, *wrt])}
    clash = [str(one.name) for one in places.values() if one.name in taken]
    if clash:
        raise ArgumentError(f"{clash[0]} is the name of a sub-formula and of an input; expected a name of its own")
    parts = [(leaf, node.args[0]) for node, leaf in places.items()]
    return parts, [places.get(node, node) for node in wrt], inner
