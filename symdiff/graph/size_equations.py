"""Numbers of named sizes, from the lengths of the axes that arrays come with.

What gives each size its number is found from the shapes alone, as a list of equations in an order
that can be followed. Here they are followed; the NumPy emitter prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..errors import ShapeError
from .nodes import Node
from .primitives import Extent, Recurrence
from .sizes import Dim, Shape, Size, replaced, show, value
from .traversal import survey

__all__ = ["Equation", "bind", "check_told", "equations", "match"]


class Equation(NamedTuple):
    """One named size by an axis: ``name = (length - rest) / factor``.

    Parameters
    ----------
    name : str
    input, axis : int
        The axis whose length is known at call time.
    factor, rest : int or Size
        In sizes whose equations come earlier.
    """

    name: str
    input: int
    axis: int
    factor: Dim
    rest: Dim


@lru_cache(1024)
def equations(shapes: tuple[Shape, ...]) -> tuple[Equation, ...]:
    """Return what gives each named size of some inputs its number, in an order that can be followed.

    Raises
    ------
    ShapeError
        If a size occurs in products and powers only, from which it cannot be told.
    """
    axes = [
        (i, axis, size) for i, shape in enumerate(shapes) for axis, size in enumerate(shape) if isinstance(size, Size)
    ]
    axes.sort(key=lambda entry: (len(entry[2].terms), len(str(entry[2]))))  # plain names first
    known: set[str] = set()
    found: list[Equation] = []
    progress = True
    while progress:
        progress = False
        for i, axis, size in axes:
            unknown = sorted(size.names - known)
            if len(unknown) == 1:
                factor, rest = _linear_in(size, unknown[0])
                if factor is not None:
                    found.append(Equation(unknown[0], i, axis, factor, rest))
                    known.add(unknown[0])
                    progress = True
    missing = sorted({name for _, _, size in axes for name in size.names} - known)
    if missing:
        names = f"the size {missing[0]}" if len(missing) == 1 else f"the sizes {', '.join(missing)}"
        raise ShapeError(
            f"{names} cannot be told from inputs of shapes {', '.join(map(show, shapes))}; "
            f"expected an input with an axis of size {missing[0]}, or a number in its place"
        )
    return tuple(found)


def _linear_in(size: Size, name: str) -> tuple[Dim | None, Dim]:
    """Write ``size`` as factor * name + rest; the factor is None when it is no straight line."""
    factor: Dim = 0
    rest: Dim = 0
    for names, coefficient in size.terms:
        if name not in names:
            rest = rest + Size(((names, coefficient),)) if names else rest + coefficient
        elif names.count(name) > 1:
            return None, 0
        else:
            others = tuple(n for n in names if n != name)
            factor = factor + Size(((others, coefficient),)) if others else factor + coefficient
    return factor, rest


def bind(titles: Sequence[str], shapes: Sequence[Shape], came: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Return the numbers of the named sizes.

    Parameters
    ----------
    titles : sequence of str
        What each input is called in errors.
    shapes : sequence of tuple of int or Size
        What the inputs are declared as.
    came : sequence of tuple of int
        The shape of one sample that came for each, with as many axes.

    Raises
    ------
    ShapeError
        If two axes give one size two numbers, or none that is whole.

    Examples
    --------
    >>> from symdiff.graph.sizes import named
    >>> bind(["A"], [(named("n"), named("n") + 1)], [(3, 4)])
    {'n': 3}
    """
    found: dict[str, int] = {}
    origin: dict[str, str] = {}
    for equation in equations(tuple(shapes)):
        length = came[equation.input][equation.axis]
        where = f"{titles[equation.input]} axis {equation.axis}"
        left, factor = length - value(equation.rest, found), value(equation.factor, found)
        if factor == 0 or left % factor or left // factor < 0:
            size = shapes[equation.input][equation.axis]
            raise ShapeError(f"{where} has {length} elements, which no size {equation.name!r} makes {size}")
        found[equation.name], origin[equation.name] = left // factor, where
    for title, shape, lengths in zip(titles, shapes, came, strict=True):
        for axis, (size, length) in enumerate(zip(shape, lengths, strict=True)):
            if not isinstance(size, Size) or value(size, found) == length:
                continue
            told = " and ".join(f"{n} is {found[n]} from {origin[n]}" for n in sorted(size.names))
            if size.names == {str(size)}:
                raise ShapeError(f"{told} and {length} from {title} axis {axis}; they must be equal")
            expected = f"{size} = {value(size, found)} elements"
            raise ShapeError(f"{told}, so {title} axis {axis} should have {expected} and has {length}")
    return found


def match(names: Sequence[str], shapes: Sequence[Shape], given: Sequence[Shape]) -> dict[str, Dim]:
    """Return what the named sizes of some inputs are where arrays of other shapes, of letters too, take their place.

    Parameters
    ----------
    names : sequence of str
        Of the inputs, for messages.
    shapes, given : sequence of shape
        Those of the inputs, and of the arrays in their place.

    Raises
    ------
    ShapeError
        If an array has another number of axes, or two axes give a name different sizes.

    Examples
    --------
    >>> from .sizes import named
    >>> match(["x", "A"], [(named("n"),), (named("n"), 3)], [(4,), (4, 3)])
    {'n': 4}
    """
    known: dict[str, Dim] = {}
    axes: list[tuple[Dim, Dim]] = []
    for name, shape, own in zip(names, shapes, given, strict=True):
        if len(shape) != len(own):
            raise ShapeError(f"{name} has shape {show(own)}; expected {show(shape)}")
        axes += zip(shape, own, strict=True)
    for size, length in axes:
        if isinstance(size, Size) and str(size) in size.names:
            known.setdefault(str(size), length)
    for name, shape, own in zip(names, shapes, given, strict=True):
        wanted = tuple(replaced(size, known) for size in shape)
        if wanted != own:
            raise ShapeError(f"{name} has shape {show(own)}; expected {show(wanted)}")
    return known


def check_told(inputs: Mapping[str, Node], outputs: Sequence[Node]) -> None:
    """Refuse a formula with a size that is in the shape of no input, so that no call could tell it.

    Raises
    ------
    ShapeError

    Examples
    --------
    >>> from symdiff.graph import delta, input
    >>> from symdiff.graph.sizes import named
    >>> check_told({"x": input("x", (named("n"),))}, [delta(named("n"), named("n"))])
    """
    told = {name for node in inputs.values() for size in node.shape if isinstance(size, Size) for name in size.names}
    for size in _sizes_in(outputs):
        for name in sorted(size.names - told) if isinstance(size, Size) else ():
            own = ", ".join(f"{given}: {show(node.shape)}" for given, node in inputs.items()) or "none"
            raise ShapeError(
                f"the size {name!r} is in the shape of no input, so that no call could tell it (inputs: {own}); give a "
                f"number in its place, or an input that has it, which need not be in the formula: t={name!r} beside "
                f"text, sd.vector('t', {name!r}) in inputs= beside symbols"
            )


def _sizes_in(outputs: Iterable[Node]) -> Iterator[Dim]:
    """Yield the sizes of all arrays of formulas, numbers that are sizes, and lengths of loops, inside of loops too."""
    for node in survey(outputs).apart:
        yield from node.shape
        if isinstance(node.payload, Extent):
            yield node.payload.size
        elif isinstance(node.payload, Recurrence):
            yield node.payload.length
            yield from _sizes_in(node.payload.body.results)
