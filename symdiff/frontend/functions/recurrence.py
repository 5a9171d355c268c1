"""Loops in formulas: ``scan``, ``iterate``, ``while_loop`` and ``sum_over``, one body each, of any number of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...errors import ArgumentError, DtypeError, LimitError, ShapeError
from ...graph import (
    BOOL,
    INT,
    Node,
    canonical,
    parts_of,
    placeholder,
    postorder,
    recurrence,
    result_of,
    step_number,
    substitute,
    zeros,
)
from ...graph.primitives import Body
from ...graph.scalars.functions import compare, to_real, where
from ...graph.sizes import Dim, show
from ...ground.guard import described, guarded, is_function, users
from ..array import Array
from ..numpy.operands import as_node, provenance_of
from ..numpy.shaping import parse_size
from ..outputs import leaves, pack, template_of
from ..symbols import scalar
from .closing import Scope, called, captured_by, entered

#: Names of the loops.
_CALLS = {
    "scan": "scan(step, start, over), or scan(step, start, n=n), with step(carried, x) -> (carried, output or None)",
    "iterate": "iterate(step, start, n), with step(carried) -> carried",
    "while_loop": "while_loop(condition, step, start, at_most=n), with condition(carried) and step(carried) -> carried",
    "sum_over": "sum_over(i, n, formula) of a scalar symbol i, or sum_over('i', n, function)",
}


@guarded
def scan(
    step: Callable[..., Any], start: Any, over: Any = None, n: Any = None, *, reverse: bool = False
) -> tuple[Any, Any]:
    """Run a step along the first axis of arrays, each on what the step before gave.

    Parameters
    ----------
    step : callable
        ``step(carried, x)`` returns ``(carried, output)``: what the next step gets, of the same shapes, and what is
        written down, or None. It is called once, with symbols.
    start : array, or structure of arrays
        What the first step gets. Structures are lists, tuples and dicts.
    over : array, or structure of arrays, optional
        The steps go along their first axis, of one length n; ``x`` is one row of each. Without them it is the number
        of the step, from 0 on.
    n : int or str, optional
        How many steps there are, where ``over`` does not tell: a number, or a letter that is a size of an input.
    reverse : bool
        Go from the last row to the first; outputs stand where the rows that they are of do.

    Returns
    -------
    carried : array, or structure of arrays
        What the last step gave.
    outputs : array, or structure of arrays
        Of shape (n, ...) each, the outputs of all steps; None for None.

    Raises
    ------
    ShapeError
        If arrays of ``over`` differ in length, or the step gives other shapes than it gets.
    ArgumentError
        If the number of steps is not known, or the step does not return a pair.
    DtypeError
        If something is not a real number, or positions (integer inputs) are used in the step: take elements at
        positions before, and go over them.

    Notes
    -----
    The formula holds the step once, so its length does not grow with n, and n may be a letter. Derivatives are loops
    again. In forward mode a tangent is carried along. In reverse mode the states that the backward loop reads are kept
    by a loop before, and the cotangent is carried back through them (Griewank and Walther, Evaluating Derivatives,
    2008, 3.2). Where n is a number and these states are more than a million numbers, one in √n steps is kept. What the
    step uses from outside is held the same in all steps, and derivatives with respect to it are sums over the steps.

    A product of rows with a large matrix that is held is made of all rows before the loop, and a sum of outer products
    that no step reads is made behind it. The first keeps at most eight numbers for each that the steps read; the
    second what the products are of, where n is a letter or these are at most a million numbers. Functions of numbers
    that no step waits for, such as the logarithms of a likelihood, are computed of all steps at once, within the same
    bounds.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> a, y = sd.scalar("a"), sd.vector("y", "n")
    >>> last, all = scan(lambda s, x: ((1 - a) * s + a * x,) * 2, 0.0, y)
    >>> sd.compile(all, [a, y])(0.5, np.array([2.0, 2.0, 4.0]))
    array([1.  , 1.5 , 2.75])
    >>> print(sd.compile(sd.gradient(last, a), [a, y])(0.5, np.array([2.0, 2.0, 4.0])))
    3.5
    """
    rows = [] if over is None else leaves(over)
    if not rows and n is None:
        raise ArgumentError(
            f"a scan over nothing, and no n=; expected arrays to go along, or a number of steps: {_CALLS['scan']}"
        )
    _check_step("scan", step)
    nodes = [_real(value, "over") for value in rows]
    for node, value in zip(nodes, rows, strict=True):
        if not node.ndim:
            steps = f"; for {value} steps write n={value}" if isinstance(value, int) else ""
            raise ShapeError(
                f"over is {described(value)}; expected arrays, along whose first axis the steps "
                f"go{steps}: {_CALLS['scan']}"
            )
    lengths = [node.shape[0] for node in nodes] + ([] if n is None else [_length("scan", n)])
    if any(length != lengths[0] for length in lengths):
        raise ShapeError(f"a scan along axes of {' and '.join(map(str, lengths))} rows; expected one length")
    run = _Run("scan", start, nodes, lengths[0], reverse)
    template = None if over is None else template_of(over)
    outputs: list[Any] = []

    def body(carried: Any, row: list[Array], number: Array) -> tuple[Any, list[Any]]:
        x = number if template is None else pack(template, iter(row))
        value = users(step)(carried, x)
        if not isinstance(value, tuple) or len(value) != 2:
            raise ArgumentError(
                f"a step gave {_kind(value)}; expected two things, what is carried on and an output: {_CALLS['scan']}"
            )
        after, output = value
        outputs.append(output)
        return after, [] if output is None else leaves(output)

    last, written = run.close(body, (start, over))
    return last, None if outputs[0] is None else pack(template_of(outputs[0]), written)


@guarded
def iterate(step: Callable[..., Any], start: Any, n: Any) -> Any:
    """Run a step n times, each on what the step before gave.

    Parameters
    ----------
    step : callable
        ``step(carried)`` returns what the next step gets, of the same shapes. It is called once, with symbols.
    start : array, or structure of arrays
    n : int or str
        How often: a number, or a letter that is a size of an input.

    Returns
    -------
    array, or structure of arrays
        What the last step gave.

    See Also
    --------
    scan : along arrays, or with an output for each step; what holds there of derivatives and errors holds here.

    Examples
    --------
    >>> import symdiff as sd
    >>> x = sd.scalar("x")
    >>> root = iterate(lambda r: (r + x / r) / 2, x, 6)
    >>> print(sd.compile(sd.gradient(root, x))(4.0))
    0.25
    """
    _check_step("iterate", step)
    run = _Run("iterate", start, [], _length("iterate", n), False)
    return run.close(lambda carried, row, number: (users(step)(carried), []), (start,))[0]


@guarded
def while_loop(condition: Callable[..., Any], step: Callable[..., Any], start: Any, at_most: Any) -> Any:
    """Run a step as long as a condition holds, each on what the step before gave.

    Parameters
    ----------
    condition : callable
        ``condition(carried)`` returns one condition, of shape (). It is called once, with symbols.
    step : callable
        ``step(carried)`` returns what the next step gets, of the same shapes. It is called once, with symbols.
    start : array, or structure of arrays
        What the first step gets. Structures are lists, tuples and dicts.
    at_most : int or str
        The most steps that are run: a number, or a letter that is a size of an input.

    Returns
    -------
    array, or structure of arrays
        What is carried when the condition does not hold any more, or after ``at_most`` steps.

    Raises
    ------
    ShapeError, ArgumentError, DtypeError
        As for :func:`scan`; and if the condition is no condition, or one for each element of an array.

    Notes
    -----
    Each sample of a batch ends by itself, and a call ends its steps when all have. A tangent is carried along and ends
    with what it belongs to. A cotangent is carried back through all ``at_most`` steps, whose states are kept; those
    after the end leave it as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> a = sd.scalar("a")
    >>> root = while_loop(lambda x: abs(x * x - a) > 1e-12 * a, lambda x: (x + a / x) / 2, a, at_most=60)
    >>> k = sd.compile([root, sd.gradient(root, a)], a)
    >>> [value.round(9).tolist() for value in k(np.array([2.25, 4.0, 100.0]))]
    [[1.5, 2.0, 10.0], [0.333333333, 0.25, 0.05]]
    """
    _check_step("while_loop", step)
    if not is_function(condition):
        raise ArgumentError(f"condition is {described(condition)}; expected a function: {_CALLS['while_loop']}")
    run = _Run("while_loop", start, [], _length("while_loop", at_most), False, condition)
    return run.close(lambda carried, row, number: (users(step)(carried), []), (start,))[0]


@guarded
def sum_over(i: Any, n: Any, formula: Any) -> Array:
    """Return the sum of a formula over a whole number in it.

    Parameters
    ----------
    i : Array or str
        The symbol that stands for the number, as :func:`scalar` makes it, or its name beside a function.
    n : int or str, or pair of int
        How many terms there are, for i = 0, ..., n - 1; or the first and the last number, as below and above a Σ.
    formula : Array or callable
        The term for i, or a function that gives it.

    Returns
    -------
    Array
        Of the formula's shape.

    Examples
    --------
    >>> import symdiff as sd
    >>> x, i = sd.scalar("x"), sd.scalar("i")
    >>> geometric = sum_over(i, 60, x**i)
    >>> print(sd.compile(geometric)(0.5))
    2.0
    >>> print(sum_over("k", 4, lambda k: x**k))
    sum_over(k, 4, x ** k)
    """
    if isinstance(i, str):
        if not is_function(formula):
            raise ArgumentError(f"a sum over the name {i!r}; expected a symbol, as scalar({i!r}), or a function of it")
        scalar(i)  # refuses what is no name
        with entered("sum_over", _endless) as (*_, scope):  # a symbol of the name may be something else in the formula
            i = Array(scope.stand_in(i, (), "real"))
            formula = users(formula)(i)
    elif is_function(formula):
        formula = users(formula)(i)
    symbol = as_node(i)
    if not symbol.is_input or symbol.shape != () or symbol.dtype is INT:
        raise ArgumentError(
            "a sum over something else than a scalar symbol; expected one, as scalar('i') makes it: "
            f"{_CALLS['sum_over']}"
        )
    first, length = 0, _length("sum_over", 0 if isinstance(n, tuple) else n)
    if isinstance(n, tuple):
        if len(n) != 2:
            raise ArgumentError(f"a sum over {len(n)} bounds; expected a number of terms, or the first and the last")
        first, last = (_whole(bound) for bound in n)
        length = max(0, last - first + 1)
    term = _real(formula, "the formula")
    run = _Run("sum_over", Array(zeros(term.shape)), [], length, False)

    def body(carried: Any, row: list[Array], number: Array) -> tuple[Any, list[Any]]:
        at = number.node if first == 0 else number.node + float(first)
        (own,) = substitute([term], {symbol: at})
        return Array(carried.node + own), []

    total: Array = run.close(body, ())[0]
    return total


# ---------------------------------------------------------------------------- one loop


def _endless(how: str) -> LimitError:
    return LimitError(f"loops nested {how}; end a recursion of loops by a condition of Python's")


class _Run:
    """One loop while its step is written out."""

    def __init__(
        self,
        name: str,
        start: Any,
        rows: Sequence[Node],
        length: Dim,
        reverse: bool,
        condition: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.template = template_of(start)
        self.starts = [_real(value, "start") for value in leaves(start)]
        self.rows = list(rows)
        self.length = length
        self.reverse = reverse
        self.condition = condition

    def close(
        self, step: Callable[[Any, list[Array], Array], tuple[Any, list[Any]]], operands: tuple[Any, ...]
    ) -> tuple[Any, Iterator[Array]]:
        """Call the step on symbols, and make the node: what is carried last, and what all steps wrote."""
        with entered(self.name, _endless) as (*_, scope):
            carried = [scope.stand_in(f"what is carried ({k + 1})", x.shape, "real") for k, x in enumerate(self.starts)]
            read = [scope.stand_in(f"a row ({k + 1})", x.shape[1:], "real") for k, x in enumerate(self.rows)]
            number = scope.stand_in("the number of the step", (), "real")
            shown = pack(self.template, map(Array, carried))
            after, outputs = step(shown, [Array(x) for x in read], Array(number))
            following = self._carried_on(after, carried)
            if self.condition is not None:
                goes_on = self._goes_on(users(self.condition)(shown))
                following = [where(goes_on, new, own) for new, own in zip(following, carried, strict=True)]
            results = [*following, *(_real(value, "an output of a step") for value in outputs)]
            node = self._node(scope, carried, read, number, results)
        made = [Array(result_of(node, part), provenance_of(*_flat(operands), node)) for part in parts_of(node)]
        return pack(self.template, iter(made[: len(carried)])), iter(made[len(carried) :])

    def _carried_on(self, value: Any, carried: Sequence[Node]) -> list[Node]:
        if template_of(value) != self.template:
            raise ArgumentError(
                f"a step of {self.name} gave {_kind(value)} to be carried on; expected the structure of the start"
            )
        nodes = [_real(part, "what is carried on") for part in leaves(value)]
        for k, (node, own) in enumerate(zip(nodes, carried, strict=True)):
            if node.shape != own.shape:
                raise ShapeError(
                    f"a step of {self.name} got an array of shape {show(own.shape)} and carries on one of shape "
                    f"{show(node.shape)}; expected the same shape in each step: start with one of {show(node.shape)}"
                )
            nodes[k] = node
        return nodes

    def _goes_on(self, value: Any) -> Node:
        """Return a condition, if it is one."""
        try:
            node = as_node(value)
        except DtypeError as error:
            raise DtypeError(f"the condition of {self.name}: {error}") from None
        if node.dtype is not BOOL:
            raise DtypeError(f"the condition of {self.name} gave a number; expected a comparison, as in abs(x) > 1e-9")
        if node.ndim:
            raise ShapeError(
                f"the condition of {self.name} has shape {show(node.shape)}; expected one, of shape (): join those of "
                "the elements, as in np.max(abs(x)) > 1e-9"
            )
        return node

    def _node(
        self, scope: Scope, carried: Sequence[Node], read: Sequence[Node], number: Node, results: Sequence[Node]
    ) -> Node:
        own = [*carried, *read, number]
        held = captured_by(results, own)
        for node in postorder(results):
            if node.dtype is INT:
                raise DtypeError(
                    f"positions in a step of {self.name}: {called(node)}; take elements at positions before the loop, "
                    "and go over them"
                )
        stand_in: dict[Node, Node] = {number: step_number()}
        given = []
        for k, node in enumerate(held):
            inside = placeholder(("from outside", k), node.shape)
            stand_in[node] = compare("not_equal", inside, 0.0) if node.dtype is BOOL else inside
            given.append(inside)
        closed = substitute(results, stand_in)
        body = canonical(Body(tuple(carried), tuple(read), tuple(given), tuple(closed)))
        return recurrence(body, [*self.starts, *self.rows, *map(to_real, held)], self.length, self.reverse)


def _real(value: Any, what: str) -> Node:
    try:
        node = as_node(value)
    except DtypeError as error:
        raise DtypeError(f"{what}: {error}") from None
    if node.dtype is INT:
        raise DtypeError(f"{what} is an array of positions; expected real numbers, taken at the positions before")
    return to_real(node)


def _check_step(name: str, step: Any) -> None:
    """Refuse a step that is no function."""
    if not is_function(step):
        raise ArgumentError(f"step is {described(step)}; expected a function: {_CALLS[name]}")


def _length(name: str, n: Any) -> Dim:
    """Return how many steps a loop has."""
    try:
        return parse_size(n)
    except ShapeError as error:
        raise ShapeError(
            f"n of {name}: {error}. Expected {_CALLS[name]}; n is a number, or a letter that is a size of an input"
        ) from None


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"a sum from or to {value!r:.40}; expected whole numbers as first and last, or one size")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"one {type(value).__name__}"


def _flat(operands: tuple[Any, ...]) -> list[Any]:
    return [leaf for value in operands if value is not None for leaf in leaves(value)]
