"""What comes behind the vector of an objective: the other inputs of its formula, in order or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...frontend.array import Array
from ...frontend.formula import Formula, order_inputs
from ...graph.sizes import Shape, Size, show

__all__ = ["Behind", "in_order", "order_behind"]


def in_order(
    args: Sequence[Any], named: Mapping[str, Any], names: Sequence[str], inputs: Sequence[str]
) -> Sequence[Any]:
    """Return the arguments, those that came by name behind the others.

    Parameters
    ----------
    args, named : sequence and mapping
        What came by position and by name.
    names : sequence of str
        What a function takes, in order.
    inputs : sequence of str
        The last of these, which may come by name.

    Raises
    ------
    ArgumentError
        For a name that is no input, or one that came twice or not at all.
    """
    expected = f"expected {', '.join(names)}"
    for name in named:
        if name not in inputs:
            raise ArgumentError(f"no argument is called {name!r}; {expected}, those behind x by name if you like")
        if name in names[: len(args)]:
            raise ArgumentError(f"{name} came by position and by name; {expected}")
    missing = [name for name in names[len(args) :] if name not in named]
    if missing:
        raise ArgumentError(f"missing {', '.join(missing)}; {expected}")
    return [*args, *(named[name] for name in names[len(args) :])]


class Behind:
    """The inputs behind the vector, and what their shapes tell.

    Parameters
    ----------
    shapes : mapping of str to shape
        In order.
    has_batch : bool
        Whether they may have axes of a batch in front.
    """

    def __init__(self, shapes: Mapping[str, Shape], has_batch: bool) -> None:
        self.shapes, self.has_batch = dict(shapes), has_batch
        #: The number of axes of each, and the letters among its sizes by their place from the end.
        self._told = [
            (len(shape), [(k - len(shape), str(size)) for k, size in enumerate(shape) if _is_letter(size)])
            for shape in shapes.values()
        ]

    def letters(self, args: Sequence[Any]) -> dict[str, int]:
        """Return the numbers of letters that the shapes of arguments tell.

        Raises
        ------
        ShapeError
            If an argument has another number of axes, as one in the place of another has.
        """
        known: dict[str, int] = {}
        for (rank, letters), value in zip(self._told, args, strict=True):
            own = value.shape if type(value) is np.ndarray else () if type(value) is float else np.shape(value)
            if len(own) != rank and not (self.has_batch and len(own) > rank):
                raise ShapeError(self._wrong(args))
            for place, letter in letters:
                known.setdefault(letter, own[place])
        return known

    def _wrong(self, args: Sequence[Any]) -> str:
        came = ", ".join(f"{name} {show(np.shape(arg))}" for name, arg in zip(self.shapes, args, strict=True))
        expected = ", ".join(f"{name} {show(shape)}" for name, shape in self.shapes.items())
        return (
            f"the arguments behind x have the shapes {came}; expected {expected}, in this order or by name; inputs= of "
            "sd.objective gives another order"
        )


def _is_letter(size: object) -> bool:
    return isinstance(size, Size) and str(size) in size.names


def order_behind(read: Formula, inputs: Any, variables: Sequence[Array]) -> list[str]:
    """Return the names of the inputs in a given order, in which the variables come first if they come at all."""
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    own = [str(one.node.name) for one in variables]
    others = given[len(own) :] if [str(one) for one in given[: len(own)]] == own else given
    if set(own) & set(map(str, others)):
        raise ArgumentError(f"a variable behind others in inputs=; solvers give {', '.join(own)} first: put them first")
    return list(order_inputs(read, [*others, *variables]))
