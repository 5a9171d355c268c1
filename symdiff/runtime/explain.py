"""Cause of the first nan or infinity of a result: the part of the formula, and its numbers.

The formula of one sample is computed part by part in float64 by the reference interpreter. From an element of the
result that is not finite the search goes down to the operands that it is computed from, and ends at the part whose
operands are finite, or that is not finite because of itself. Whether an operand matters is tried: with finite numbers
in its place the part is finite, or it is not. So a branch that is not taken is not blamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..calculus.rules import ImplicitRule
from ..errors import SingularMatrixError
from ..frontend.array import Array
from ..frontend.display import ShownText
from ..graph import INT, REAL, Node, input, placeholder, postorder, rebuild, resize
from ..graph.reference.interpret import bind_sizes, evaluate
from ..graph.sizes import show
from .calls.arguments import Batch, Parameter, one_axis

__all__ = ["Cause", "Explanation", "explain", "find_cause"]

Values = npt.NDArray[Any]

#: Length of the text of a part, and number of elements that are tried one by one.
_LONGEST, _TRIED = 160, 64


class Cause(NamedTuple):
    """A part of a formula whose value is not finite.

    Parameters
    ----------
    part : Array
        The part, an input where that is not finite itself.
    value : float
        Of the first element that is to blame.
    place : tuple of int
        Its position in the part.
    operands : tuple of (Array, ndarray)
        What the part is computed from, and the values.
    singular : bool
        Whether the part has no value, because a matrix is singular.
    why : str
        Of a solution: why none was found.
    """

    part: Array
    value: float
    place: tuple[int, ...]
    operands: tuple[tuple[Array, Values], ...]
    singular: bool = False
    why: str = ""

    def __str__(self) -> str:
        where = f" at [{', '.join(map(str, self.place))}]" if self.place else ""
        if self.singular:
            told = f"{_text(self.part)} has no value: a matrix is singular"
        elif self.part.node.is_input:
            return f"the input {_text(self.part)} is {self.value}{where}"
        else:
            told = f"{_text(self.part)} is {self.value}{where}"
        lines = [f"  {_text(array)} = {_numbers(value, self._own(value))}" for array, value in self.operands]
        return "\n".join([told + (", of" if lines else ""), *lines, *([self.why] if self.why else [])])

    def _own(self, value: Values) -> tuple[int, ...] | None:
        """Return the index in an operand of the one element that a result is computed from; None for several."""
        rank, shape = value.ndim, self.part.node.shape
        if rank > len(self.place) or any(
            own not in (1, size) for own, size in zip(value.shape[::-1], shape[::-1], strict=False)
        ):
            return None
        last = self.place[len(self.place) - rank :]
        return tuple(0 if size == 1 else i for i, size in zip(last, value.shape, strict=True))


class Explanation(NamedTuple):
    """Answer of :meth:`symdiff.Kernel.explain`.

    Parameters
    ----------
    output : str or None
        The first output that is not finite; None where all are finite.
    sample : tuple of int
        The first such sample, by its position on the batch axes; ``()`` without any.
    cause : Cause or None
        None where the formula is finite in float64, or a sum over the batch is not.
    note : str
        What is to be said where there is no cause.
    """

    output: str | None
    sample: tuple[int, ...]
    cause: Cause | None
    note: str = ""

    def __bool__(self) -> bool:
        return self.output is not None

    def _repr_html_(self) -> str:
        return ShownText(self)._repr_html_()

    def __str__(self) -> str:
        if self.output is None:
            return "all results are finite"
        place = f"sample {self.sample[0] if len(self.sample) == 1 else self.sample}: " if self.sample else ""
        return place + (str(self.cause) if self.cause is not None else self.note)


def find_cause(root: Node, inputs: Sequence[Node], values: Sequence[npt.ArrayLike]) -> Cause | None:
    """Return what makes a formula of one sample infinite or nan, None where all of it is finite.

    Parameters
    ----------
    root : Node
    inputs : sequence of Node
        Of the kernel, with letters for sizes.
    values : sequence of array_like
        One for each.
    """
    kinds = [np.int64 if node.dtype is INT else np.float64 for node in inputs]
    arrays: list[Values] = [np.asarray(value, kind) for value, kind in zip(values, kinds, strict=True)]
    sizes = bind_sizes(inputs, [array.shape for array in arrays])
    known = {node: input(str(node.name), a.shape, node.dtype) for node, a in zip(inputs, arrays, strict=True)}
    (fixed,) = resize([root], known, sizes)
    given = {str(node.name): array for node, array in zip(inputs, arrays, strict=True)}
    order = postorder([fixed])
    try:
        found = dict(zip(order, evaluate(order, given), strict=True))
    except SingularMatrixError:
        return _singular(order, given)
    return None if np.isfinite(found[fixed]).all() else _descend(fixed, found)


def _singular(order: list[Node], given: Mapping[str, Values]) -> Cause:
    """Return the first part that has no value."""
    low, high = 0, len(order)  # the parts before low have values, not all before high have
    while high - low > 1:
        middle = (low + high) // 2
        try:
            evaluate(order[:middle], given)
            low = middle
        except SingularMatrixError:
            high = middle
    node = order[high - 1]
    operands = tuple(zip(map(Array, node.args), evaluate(node.args, given), strict=True))
    return Cause(Array(node), np.nan, (), operands, True)


def _descend(node: Node, found: Mapping[Node, Values]) -> Cause:
    index = _first(found[node])
    while True:
        blamed = _blamed(node, index, found)
        if blamed is None:
            break
        node, index = blamed
    operands = tuple((Array(arg), found[arg]) for arg in dict.fromkeys(node.args) if not arg.is_constant)
    why = ""
    if node.is_custom and isinstance(node.payload.rule, ImplicitRule):
        why = _unsolved(node.payload.rule, [found[arg] for arg in node.args])
    return Cause(Array(node), float(found[node][index]), index, operands, False, why)


def _unsolved(rule: ImplicitRule, values: Sequence[Values]) -> str:
    """Return why a search found no solution."""
    from ..frontend.functions.solutions import AT_MOST  # not needed by other explanations

    known = {parameter.name: value for parameter, value in zip(rule.parameters, values, strict=True)}
    given = [values[number] for number in rule.given]
    assert rule.letter is not None
    if rule.name == "root" and len(given) > 1:
        ends = given[-2:]
        low, high = (float(evaluate(rule.equations[:1], {**known, rule.letter.name: end})[0]) for end in ends)
        if not low * high <= 0.0:
            at = " and ".join(f"{float(end):.6g}" for end in ends)
            told = f"the equation is {low:.6g} and {high:.6g} at {at}"
            return f"{told}, the ends of the bracket; expected different signs"
    steps, _, converged = evaluate(rule.told, known)
    if converged or steps < dict(rule.options).get("at_most", AT_MOST):
        what = "no minimum, or none that is finite" if rule.name == "minimizer" else "no root, as at a pole or a jump"
        return f"the search ended where there is {what}"
    return f"the search did not converge in {int(steps)} iterations; expected another start, or at_most= of more"


def _first(value: Values) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])


def _blamed(node: Node, index: tuple[int, ...], found: Mapping[Node, Values]) -> tuple[Node, tuple[int, ...]] | None:
    """Return the operand, and its element, that an element is not finite for; None where it is the part's own doing."""
    wrong = [k for k, arg in enumerate(node.args) if arg.dtype is REAL and not np.isfinite(found[arg]).all()]
    if not wrong:
        return None
    trial = _Trial(node, [found[arg] for arg in node.args])
    if not trial.is_finite(index, {k: _mended(found[node.args[k]]) for k in wrong}):
        return None
    for k in wrong:
        others = {j: _mended(found[node.args[j]]) for j in wrong if j != k}
        if trial.is_finite(index, others):
            continue  # this operand alone leaves it finite
        value = found[node.args[k]]
        places = [tuple(int(i) for i in place) for place in np.argwhere(~np.isfinite(value))]
        for place in places[:_TRIED]:
            alone = _mended(value)
            alone[place] = value[place]
            if not trial.is_finite(index, {**others, k: alone}):
                return node.args[k], place
        return node.args[k], places[0]
    return node.args[wrong[0]], _first(found[node.args[wrong[0]]])  # several together: inf - inf


def _mended(value: Values) -> Values:
    return np.where(np.isfinite(value), value, 1.0)


class _Trial:
    """One operation of a formula, with other values of its operands."""

    def __init__(self, node: Node, values: Sequence[Values]) -> None:
        self.keys = [("operand", k) for k in range(len(values))]
        operands = [placeholder(key, arg.shape, arg.dtype) for key, arg in zip(self.keys, node.args, strict=True)]
        self.node = rebuild(node, tuple(operands))
        self.names = [one.name for one in operands]
        self.values = list(values)

    def is_finite(self, index: tuple[int, ...], others: Mapping[int, Values]) -> bool:
        """Tell whether an element is finite with some operands exchanged."""
        values = {name: others.get(k, own) for k, (name, own) in enumerate(zip(self.names, self.values, strict=True))}
        try:
            (result,) = evaluate([self.node], values)
        except SingularMatrixError:
            return False
        return bool(np.isfinite(result[index]))


def _text(array: Array) -> str:
    text = " ".join(str(array).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


def _numbers(value: Values, index: tuple[int, ...] | None) -> str:
    if value.ndim == 0 or index is not None:
        place = f" at [{', '.join(map(str, index))}]" if index else ""
        return f"{value[index or ()]}{place}"
    if value.size <= 9:
        return " ".join(np.array2string(value, separator=", ").split())
    finite = value[np.isfinite(value)]
    low, high = (finite.min(), finite.max()) if finite.size else (np.nan, np.nan)
    wrong = value.size - finite.size
    return f"an array of shape {show(value.shape)}, from {low} to {high}" + (f", {wrong} not finite" if wrong else "")


def explain(
    outputs: Sequence[Parameter],
    batch: Batch,
    run: Callable[[Batch], list[Values]],
    cause: Callable[[int, list[Values]], Cause | None],
    reduce: bool,
) -> Explanation:
    """Return what makes the first result of a call that is not finite so.

    Parameters
    ----------
    outputs : sequence of Parameter
        Of the kernel.
    batch : Batch
        The arguments of the call.
    run : callable
        Takes such arguments, and returns the results with the axes of the batch in front.
    cause : callable
        As :class:`~symdiff.runtime.origin.Origin` has it.
    reduce : bool
        Whether results are sums over the batch.
    """
    results = run(batch)
    wrong = [k for k, result in enumerate(results) if not np.isfinite(result).all()]
    if not wrong:
        return Explanation(None, (), None)
    if reduce:
        number = wrong[0]
        sample = _first_summed(batch, number, run)
        if sample is None:
            return Explanation(outputs[number].name, (), None, _OF_SUM)
    else:
        lead = len(batch.shape)
        first = {}
        for k in wrong:
            flags = ~np.isfinite(results[k].reshape((*batch.shape, -1))).all(-1)
            first[k] = int(np.argmax(flags)) if lead else 0
        number = min(wrong, key=lambda k: first[k])
        sample = tuple(int(i) for i in np.unravel_index(first[number], batch.shape)) if lead else ()
    values = [_at(array, sample) for array in batch.arrays]
    found = cause(number, values)
    return Explanation(outputs[number].name, sample, found, "" if found is not None else _OF_NUMBERS)


_OF_SUM = "the sum over the batch is not finite, while the results of all samples are: it is beyond the largest number"
_OF_NUMBERS = (
    "the formula is finite in float64, operation by operation; the kernel's numbers are beyond what its type or its "
    "order of operations can hold (float32 ends at 3.4e38)"
)


def _at(array: Values, sample: tuple[int, ...]) -> Values:
    """Return one sample of an argument, of which axes of length 1 are shared."""
    found: Values = array[tuple(0 if size == 1 else i for i, size in zip(sample, array.shape, strict=False))]
    return found


def _first_summed(batch: Batch, number: int, run: Callable[[Batch], list[Values]]) -> tuple[int, ...] | None:
    """Return the first sample whose result is not finite, of a kernel that adds them, by halves of the batch."""
    low, high = 0, batch.count
    flat = [one_axis(array, batch.shape) for array in batch.arrays]

    def is_finite(first: int, last: int) -> bool:
        own = [array if len(array) == 1 else array[first:last] for array in flat]
        part = Batch((last - first,), last - first, own, batch.dtype, batch.sizes)
        return bool(np.isfinite(run(part)[number]).all())

    while high - low > 1:
        middle = (low + high) // 2
        if not is_finite(low, middle):
            high = middle
        elif not is_finite(middle, high):
            low = middle
        else:
            return None
    return tuple(int(i) for i in np.unravel_index(low, batch.shape)) if batch.shape else ()
