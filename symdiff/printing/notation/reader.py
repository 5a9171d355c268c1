"""Makes terms again, equal ones once, in the form that the rules for their kind give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ...graph.sizes import Shape
from .terms import CHAIN, Term, postorder

#: A rule gives the term to read instead, or None.
ReadingRule = Callable[["Reader", Term], Term | None]
#: Rules by the kind of term that they read.
Readings: TypeAlias = Mapping[str, Sequence[ReadingRule]]


class ReadingRules(dict[str, list[ReadingRule]]):
    """The rules for each kind of term, in the order in which they are tried."""

    def of(self, *kinds: str) -> Callable[[ReadingRule], ReadingRule]:
        """Add a rule for these kinds."""

        def add(rule: ReadingRule) -> ReadingRule:
            for kind in kinds:
                self.setdefault(kind, []).append(rule)
            return rule

        return add


class Reader:
    """One pass over terms, arguments first.

    Parameters
    ----------
    rules : sequence of mapping of str to rules
        Tables of rules by kind of term; the first rule that fits is taken.
    """

    def __init__(self, rules: Sequence[Readings]) -> None:
        self.rules = rules
        self.known: dict[tuple[Any, ...], Term] = {}
        #: Terms whose arguments and data are told apart by their places in memory, which are not given to others.
        self.kept: list[Term] = []

    def read(self, roots: Sequence[Term]) -> list[Term]:
        """Return the terms of ``roots``, made again."""
        made: dict[int, Term] = {}
        for term in postorder(roots):
            args = [made[id(arg)] for arg in term.args]
            made[id(term)] = self.make(term.kind, args, term.data, term.shape, term.even)
        return [made[id(root)] for root in roots]

    def make(
        self, kind: str, args: Sequence[Term] = (), data: Any = None, shape: Shape = (), even: bool = False
    ) -> Term:
        """Return the term of this kind, or what a rule reads it as; what is known to be symmetric stays known so."""
        key = (kind, tuple(map(id, args)), _key(data), shape)
        known = self.known.get(key)
        if known is None or (even and not known.even and known.kind == kind):
            term = Term(kind, tuple(args), data, shape, even)
            rules = (rule for table in self.rules for rule in table.get(kind, ()))
            readings = (rule(self, term) for rule in rules)
            known = self.known[key] = next((reading for reading in readings if reading is not None), term)
            self.kept.append(term)
        return known

    def made(self, kind: str, args: Sequence[Term], data: Any, shape: Shape) -> Term | None:
        """Return the term of this kind that was made before, if there is one."""
        return self.known.get((kind, tuple(map(id, args)), _key(data), shape))

    # ------------------------------------------------------------ what rules make

    def number(self, value: float) -> Term:
        """Return a number."""
        return self.make("number", (), value, ())

    def negative(self, x: Term) -> Term:
        """Return a term with the other sign."""
        return x.args[0] if x.kind == "negative" else self.make("negative", (x,), None, x.shape)

    def product(self, over: Sequence[Term], under: Sequence[Term], shape: Shape) -> Term:
        """Return a quotient of products element by element, scalars in front."""
        over = sorted(over, key=lambda term: term.ndim > 0)
        if len(over) == 1 and not under:
            return over[0]
        return self.make("product", (*over, *under), (False,) * len(over) + (True,) * len(under), shape)

    def sum(self, parts: Sequence[tuple[Term, bool]], shape: Shape) -> Term:
        """Return a sum of terms; True marks those subtracted."""
        first = next((place for place, (_, minus) in enumerate(parts) if not minus), 0)
        parts = [parts[first], *parts[:first], *parts[first + 1 :]]
        if len(parts) == 1:
            ((term, minus),) = parts
            return self.negative(term) if minus else term
        return self.make("sum", [term for term, _ in parts], tuple(minus for _, minus in parts), shape)

    def chain(self, factors: Sequence[Term]) -> Term:
        """Return a product of matrices, the last of which may be a vector."""
        flat: list[Term] = []
        for factor in factors:
            inside = factor.kind == "matmul" and len(factor.args) <= CHAIN and factor.args[0].ndim == 2
            flat += factor.args if inside and all(arg.ndim <= 2 for arg in factor.args) else [factor]
        if len(flat) == 1:
            return flat[0]
        return self.make("matmul", flat, None, flat[0].shape[:-1] + flat[-1].shape[1:])


def _key(data: Any) -> Any:
    """Return what tells data apart: 0.0 from -0.0, and arrays by identity."""
    if isinstance(data, float):
        return repr(data)
    try:
        hash(data)
    except TypeError:
        return id(data)
    return data
