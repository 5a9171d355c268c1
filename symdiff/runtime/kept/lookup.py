"""A formula as it is compiled, how its record is found, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, overload

from ...frontend.array import Array
from ...frontend.provenance import Facts, Provenance
from ...graph import INT, Node
from ...graph.sizes import Shape, Span
from ...ground.budget import Opened, balance, current, uncounted
from ...ground.gc_pause import paused
from ...ground.tracing import is_traced
from ...lowering.plan.plan import Plan
from ...lowering.program import Program
from ...lowering.sparse.formats import Format
from ..options import Options
from .encoding import Graph
from .keys import is_plain, key_of, nodes_as_bytes
from .plain import UnkeepableError
from .records import FormulaRecord

__all__ = [
    "Kept",
    "Known",
    "LateNodes",
    "Problem",
    "facts_of",
    "find_graph",
    "find_text",
    "hessians_of",
    "in_budget",
    "kept_in",
    "outputs_of",
    "spent_since",
]


class Problem(NamedTuple):
    """A formula that was read, and how it is to be compiled.

    Parameters
    ----------
    arguments : mapping of str to Node
        The kernel's inputs, in order.
    outputs : sequence of Array
    structure : template
        How results come back.
    options : Options
    backend : str
    formats : sequence of Format or None, optional
        Which outputs are sparse, and how; None where none is.
    """

    arguments: Mapping[str, Node]
    outputs: Sequence[Array]
    structure: Any
    options: Options
    backend: str
    formats: Sequence[Format | None] | None = None


class Kept(NamedTuple):
    """What compiling a formula gave.

    Parameters
    ----------
    backend, reason : str
        What serves, and why.
    lowered : Program, Plan or None
    inputs : Graph
        The kernel's inputs.
    nodes : Graph or None
        The outputs as they are computed, where they are emitted as a graph.
    results : list of (str, tuple)
        Names and shapes of one sample.
    structure : template
        How results come back.
    hessians : list of int
        Outputs that are Hessians with respect to one array.
    rewrites : tuple of str
    length : int
        Nodes of the formula.
    spans : tuple of Span
        What the formula takes of axes whose sizes are letters, where that may be more than an axis has.
    spent : tuple of int, optional
        Nodes, steps and memory that a budget was charged.
    """

    backend: str
    reason: str
    lowered: Program | Plan | None
    inputs: Graph
    nodes: Graph | None
    results: list[tuple[str, Shape]]
    structure: Any
    hessians: list[int]
    rewrites: tuple[str, ...]
    length: int
    spans: tuple[Span, ...]
    spent: tuple[int, int, int] | None


class LateNodes(Sequence[Node]):
    """Nodes that are derived when somebody first looks at them.

    Parameters
    ----------
    derive : callable
        Returns them.
    """

    def __init__(self, derive: Callable[[], Sequence[Node]]) -> None:
        self._derive = derive
        self._nodes: Sequence[Node] | None = None

    def _all(self) -> Sequence[Node]:
        if self._nodes is None:
            self._nodes = self._derive()
        return self._nodes

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Node]: ...
    def __getitem__(self, index: int | slice) -> Node | Sequence[Node]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Node]:
        return iter(self._all())


def find_text(
    formula: Any,
    shapes: Mapping[str, Any],
    inputs: Sequence[Any] | None,
    batch: Sequence[Any] | None,
    options: tuple[Any, ...],
) -> FormulaRecord | None:
    """Return the record of a formula that was given as text; None for any other, and where stages are to be traced."""
    given = (formula, list(shapes.items()), inputs, batch, options)
    plain = _is_text(formula) and _are_names(inputs) and _are_names(batch) and all(map(_is_shape, shapes.values()))
    if is_traced() or not plain or not is_plain(given):
        return None
    return FormulaRecord(key_of("text", given, _budget()))


@paused
def find_graph(problem: Problem) -> FormulaRecord | None:
    """Return the record of a graph; None where it holds what is no value, and where stages are to be traced."""
    arguments, outputs, structure, options, backend, formats = problem
    if is_traced() or formats is not None or any(node.dtype is INT for node in arguments.values()):
        return None
    import hashlib

    batch = None if options.batch is None else sorted(options.batch)
    given = (tuple(arguments), structure, batch, options.reduce, options.batch_axis, options.accuracy, backend)
    try:
        with uncounted():
            from ...rewrite import inline  # not needed by text that is known

            kept = inline([output.node for output in outputs], ("custom",))
            graph = hashlib.sha256(nodes_as_bytes([*arguments.values(), *kept])).hexdigest()
    except UnkeepableError:
        return None
    parts = (given, facts_of(outputs))
    return FormulaRecord(key_of("graph", graph, parts, _budget())) if is_plain(parts) else None


def kept_in(record: FormulaRecord) -> Kept | None:
    """Return what a record holds of a formula, None where it holds nothing that can be used."""
    found = record.read()
    try:
        return None if found is None else Kept(**found)
    except TypeError:
        return None


def hessians_of(outputs: Sequence[Array]) -> list[int]:
    """Return the numbers of the outputs that are Hessians with respect to one array."""
    return [k for k, output in enumerate(outputs) if output.node in output.provenance.facts.hessians]


#: What is kept of an output besides its node.
Known: TypeAlias = tuple[tuple[str, ...], bool, bool, tuple[Span, ...]]


def facts_of(outputs: Sequence[Array]) -> list[Known]:
    """Return what is known of each output besides its node: rewrites, if it is a Hessian, a derivative, and spans."""
    facts = [(output.node, output.provenance.facts) for output in outputs]
    return [(own.rewrites, node in own.hessians, own.derived, own.spans) for node, own in facts]


def outputs_of(nodes: Sequence[Node], known: Sequence[Known], symbols: Sequence[tuple[str, Any]]) -> list[Array]:
    """Return outputs with what :func:`facts_of` gave, and with the symbols of SymPy that stand for their inputs."""
    facts = [
        Facts((), rewrites, (node,) if is_hessian else (), derived, spans=spans, symbols=tuple(symbols))
        for node, (rewrites, is_hessian, derived, spans) in zip(nodes, known, strict=True)
    ]
    return [Array(node, Provenance(own)) for node, own in zip(nodes, facts, strict=True)]


def in_budget(read: Callable[[], Problem]) -> Callable[[], Problem]:
    """Return a function that reads a formula later, with the budget that is in force now, counted anew."""
    account = current()
    budget = None if account is None else account.budget

    def late() -> Problem:
        with Opened(budget):
            return read()

    return late


def spent_since(before: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    """Return what the budget was charged since it held so much; None where nothing is counted."""
    now = balance()
    if before is None or now is None:
        return None
    nodes, steps, memory = (then - left for then, left in zip(before, now, strict=True))
    return nodes, steps, memory


def _budget() -> str:
    account = current()
    return "" if account is None else repr(account.budget)


def _is_text(formula: Any) -> bool:
    """Tell whether a formula is text, or a structure of texts."""
    kind = type(formula)
    if kind is dict:
        formula = [*formula.values()]
    elif kind is str:
        return True
    return kind in (list, tuple, dict) and all(map(_is_text, formula))


def _are_names(given: Any) -> bool:
    return given is None or type(given) is str or (type(given) in (list, tuple) and all(type(n) is str for n in given))


def _is_shape(shape: Any) -> bool:
    """Tell whether what was given for an input is the shape of one array, and no structure of several."""
    return type(shape) in (int, str) or (type(shape) is tuple and all(type(size) in (int, str) for size in shape))
