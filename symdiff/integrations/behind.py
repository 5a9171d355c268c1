"""What comes behind the vector of an objective: the other inputs of its formula, in order or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..graph.sizes import Shape, Size, show

__all__ = ["in_order", "letters_of"]


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


def letters_of(shapes: Mapping[str, Shape], args: Sequence[Any], has_batch: bool) -> dict[str, int]:
    """Return the numbers of letters that the shapes of arguments tell.

    Raises
    ------
    ShapeError
        If an argument has another number of axes, as one in the place of another has.
    """
    known: dict[str, int] = {}
    for (name, shape), value in zip(shapes.items(), args, strict=True):
        own = np.shape(value)
        if len(own) != len(shape) and not (has_batch and len(own) > len(shape)):
            came = ", ".join(f"{name} {show(np.shape(arg))}" for name, arg in zip(shapes, args, strict=True))
            expected = ", ".join(f"{name} {show(shape)}" for name, shape in shapes.items())
            raise ShapeError(
                f"the arguments behind x have the shapes {came}; expected {expected}, in this order or by name; "
                "inputs= of sd.objective gives another order"
            )
        for size, length in zip(shape[::-1], own[::-1], strict=False):  # batch axes come first
            if isinstance(size, Size) and str(size) in size.names:
                known.setdefault(str(size), length)
    return known
