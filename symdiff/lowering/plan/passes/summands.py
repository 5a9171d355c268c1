"""Sums of arrays in place of sums of formulas: where a step makes most of each term as well, or terms share rows.

A value and its gradient go over the same pairs: one loop computes both, and the terms of the value are an array that is
added up behind. The order of the sum is that of the terms in either form.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....graph import Node, contract, label_sizes, substitute
from ..loops.tasks import task_of
from ..steps import LoopStep, Step

__all__ = ["are_shared", "sum_arrays"]


def sum_arrays(roots: Sequence[Node], steps: Sequence[Step]) -> tuple[list[Node], frozenset[Node]]:
    """Write the sums of a plan that are worth it as sums of arrays.

    Returns
    -------
    list of Node
        The roots.
    frozenset of Node
        The arrays of terms, which are to be there; empty where no sum is worth it.
    """
    maps = {step.loops for step in steps if isinstance(step, LoopStep) and not (step.total or step.fills)}
    new: dict[Node, Node] = {}
    terms: set[Node] = set()
    for step in steps:
        if isinstance(step, LoopStep) and step.total and (step.loops in maps or (step.repeats_rows and not step.kept)):
            for node in step.results:
                own, total = _apart(node)
                if own.args:
                    terms.add(own)
                    new[node] = total
    if not terms:
        return list(roots), frozenset()
    # a sum may stand within the terms of another one
    made = substitute(roots, new)
    return made, frozenset(terms)


def are_shared(terms: frozenset[Node], steps: Sequence[Step]) -> bool:
    """Tell whether each array of terms is made beside other arrays, or of rows that terms share."""
    return all(
        isinstance(step, LoopStep) and (step.repeats_rows or not terms.issuperset(step.results))
        for step in steps
        if not terms.isdisjoint(step.results)
    )


def _apart(node: Node) -> tuple[Node, Node]:
    """Return the terms of a sum as an array, and the sum of that."""
    labels, out, _ = node.payload
    task = task_of(node)
    assert task is not None
    sizes = label_sizes(node)
    kept = (*task.over, *(label for label in out if label not in task.over))
    terms = contract(node.args, labels, kept, {k: sizes[k] for k in kept})
    return terms, contract([terms], [kept], out)
