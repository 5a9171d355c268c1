"""The order in which the factors of a product are multiplied, two at a time: the one planner of contractions.

A contraction of many factors names no order. Each stage that has to choose one calls
:func:`cheapest_step` until its factors are multiplied, and says what a step costs to it:

* :mod:`.einsum` works on formulas, whose sizes may be symbolic and whose deltas are still to be
  eliminated. It multiplies only pairs that share a sum and give no larger array, and counts axes.
* :mod:`symdiff.lowering.arrays` has the scalars in its hands and counts the products that are not
  known to be zero.
* :mod:`symdiff.codegen.numpy.emit` multiplies whole arrays and counts
  :func:`multiplications`, of all orders of a few factors and step by step of more.

Source: the exhaustive and the greedy search are those of Pfeifer, Haegeman and Verstraete,
"Faster identification of optimal contraction sequences for tensor networks" (2014), without bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from .. import Labels


class Step(NamedTuple):
    """The product of two of several factors.

    Parameters
    ----------
    first, second : int
        Places of the two among the factors, in ascending order.
    left, right : tuple of int
        Their labels.
    kept : tuple of int
        Labels of the product in the order of first use: what other factors or the result have.
    """

    first: int
    second: int
    left: Labels
    right: Labels
    kept: Labels


#: Cost of a step: anything that can be compared, or None for a step that is not taken.
StepCost: TypeAlias = Callable[[Step], Any]


def steps(labels: Sequence[Labels], out: Collection[int]) -> Iterator[Step]:
    """Return the product of each pair of factors.

    Parameters
    ----------
    labels : sequence of tuple of int
        The labels of each factor.
    out : collection of int
        The labels that the result has, or anything outside of these factors.
    """
    users: dict[int, int] = {}
    for own in labels:
        for label in own:
            users[label] = users.get(label, 0) + 1
    for (i, left), (j, right) in combinations(enumerate(labels), 2):
        inside = [*left, *right]
        kept = [label for label in dict.fromkeys(inside) if label in out or users[label] > inside.count(label)]
        yield Step(i, j, left, right, tuple(kept))


def cheapest_step(labels: Sequence[Labels], out: Collection[int], cost: StepCost, exhaustive: int = 0) -> Step | None:
    """Choose the two factors that are multiplied first.

    Parameters
    ----------
    labels : sequence of tuple of int
        The labels of each factor, of two or more.
    out : collection of int
        The labels that the result has, or anything outside of these factors.
    cost : callable
        What one step costs. It is not asked for two factors, which leave no choice.
    exhaustive : int
        Up to so many factors, the step that begins the cheapest order, for costs that can be added up;
        of more, the cheapest step.

    Returns
    -------
    Step or None
        The first of the cheapest ones; None where no step is taken.

    Examples
    --------
    >>> chain = [(0, 1), (1, 2), (2,)]
    >>> sizes = {0: 5, 1: 5, 2: 5}
    >>> cheapest_step(chain, (0,), lambda step: multiplications(step, sizes), exhaustive=4).kept
    (1,)
    """
    if len(labels) == 2:
        return next(steps(labels, out))
    best, least = None, None
    for step in steps(labels, out):
        total = cost(step)
        if total is not None and len(labels) <= exhaustive:
            total += _cost_of_order(_after(labels, step), out, cost)
        if total is not None and (least is None or total < least):
            best, least = step, total
    return best


def _after(labels: Sequence[Labels], step: Step) -> list[Labels]:
    """Return the labels of the factors that are left when a step is taken: the product is the last."""
    return [*(own for i, own in enumerate(labels) if i not in (step.first, step.second)), step.kept]


def _cost_of_order(labels: Sequence[Labels], out: Collection[int], cost: StepCost) -> Any:
    """Return what the cheapest order costs in all."""
    found = []
    for step in steps(labels, out):
        total = cost(step)
        if len(labels) > 2:
            total += _cost_of_order(_after(labels, step), out, cost)
        found.append(total)
    return min(found)


def volume(labels: Collection[int], sizes: Mapping[int, int]) -> int:
    """Return the number of elements of an array with some labels, each along one axis."""
    total = 1
    for label in set(labels):
        total *= sizes[label]
    return total


def multiplications(step: Step, sizes: Mapping[int, int]) -> int:
    """Return how many multiplications the product of two dense arrays takes."""
    return volume((*step.left, *step.right), sizes)


def growth(step: Step, sizes: Mapping[int, int]) -> tuple[int, int]:
    """Return by how much a product is larger than its factors, then its multiplications: the cost of greedy search."""
    before = volume(step.left, sizes) + volume(step.right, sizes)
    return volume(step.kept, sizes) - before, multiplications(step, sizes)
