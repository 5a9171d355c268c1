"""The shape that a user gives for an input, what is known of its numbers, and the bound on the size of every array.

Shapes come by keyword (``X=(2, 4)``, ``y=4``, ``t=()``, ``A=("n", "n")``), from a command line
or from a program, so every wrong form of one is met with the right forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from ..errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ..graph import INT, REAL, Node
from ..graph.primitives import NOTHING_KNOWN, Assumptions
from ..graph.sizes import Dim, Shape, Size, check_elements, read_size, show
from ..ground.advice import OPTIONS, close_to
from ..ground.limits import LIMITS, Limits


def split_kind(shape: object) -> tuple[str, object]:
    """Return the kind of the elements and the sizes: ``int``, alone or in front of the sizes, declares whole numbers.

    Examples
    --------
    >>> split_kind((int, "n")), split_kind(int), split_kind(4)
    (('int', ('n',)), ('int', ()), ('real', 4))
    """
    if shape is int:
        return INT, ()
    if isinstance(shape, tuple | list):
        sizes = tuple(shape)
        return (INT, sizes[1:]) if sizes and sizes[0] is int else (REAL, sizes)
    return REAL, shape


def read_shape(name: str, shape: object, limits: Limits = LIMITS) -> Shape:
    """Return the shape given for the input ``name``, checked.

    Parameters
    ----------
    name : str
        For the message.
    shape : int, str, or tuple of them
        A size is a whole number, or a name, or a sum of products of names (``"m*n"``), known at call time only.
    limits : Limits, optional

    Raises
    ------
    ShapeError
        If it is not a shape.
    LimitError
        If it has too many axes or elements.

    Examples
    --------
    >>> read_shape("y", 4), read_shape("A", ("n", 3))
    ((4,), (n, 3))
    """
    given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(given) > limits.axes:
        raise LimitError(f"the shape of {name!r} has {len(given)} axes; at most {limits.axes} are offered")
    sizes: list[Dim] = []
    for size in given:
        told = read_size(size) if isinstance(size, str) and not size.isdigit() else None
        if isinstance(told, Size) and all(len(one) <= limits.name_length for one in told.names):
            sizes.append(told)
        elif isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 0:
            sizes.append(int(size))
        else:
            what = f"an array of shape {size.shape}" if isinstance(size, np.ndarray) else f"{size!r:.80}"
            numbers = isinstance(size, np.ndarray | float | complex | list)
            own = "; numbers come in a call of the kernel, and to sd.check as at={...}" * numbers
            raise ShapeError(
                f"the shape of {name!r} has {what} for a size; expected whole numbers from 0 on or names: "
                f"(), 4, (2, 4), ('n', 4) or 'm*n'{own}"
            )
    result = tuple(sizes)
    check_elements(result, limits)
    return result


class Declaration:
    """A shape together with what is known of the numbers, in place of a shape alone.

    Parameters
    ----------
    shape : object
        As :func:`read_shape` takes it.
    assumptions : Assumptions
    """

    __slots__ = ("assumptions", "shape")

    def __init__(self, shape: Any, assumptions: Assumptions) -> None:
        self.shape = shape
        self.assumptions = assumptions

    def __str__(self) -> str:
        shape = self.shape if isinstance(self.shape, tuple) else (self.shape,)
        return f"{' '.join(words(self.assumptions))} {show(shape)}"

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to be taken for a symbol.

        Raises
        ------
        UnsupportedError
        """
        known = [name for name, fact in zip(self.assumptions._fields, self.assumptions, strict=True) if fact is True]
        fact = "positive_definite" if "definite" in known else (known or ["positive"])[0]
        raise UnsupportedError(
            f"the declaration {self} in a formula; it is the shape of an input of text (A=sd.{fact}(...)); as a symbol "
            f'write sd.symbol("A", {self.shape!r}, {fact}=True)'
        )

    # its operators and NumPy's functions of it, each with its meaning left out
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __getitem__ = __iter__ = __len__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = _refuse


class SparseShape:
    """Rows and columns of a matrix of which calls bring the nonzeros."""

    __slots__ = ("sizes",)

    def __init__(self, rows: Any, columns: Any) -> None:
        self.sizes = rows, columns

    def __repr__(self) -> str:
        return f"csr{self.sizes}"


#: The facts that a user may declare, as messages call them.
_WORDS = {
    "symmetric": "symmetric",
    "skew": "skew",
    "diagonal": "diagonal",
    "lower": "lower triangular",
    "upper": "upper triangular",
    "definite": "positive definite",
    "orthogonal": "orthogonal",
    "positive": "positive",
    "between": "between {:g} and {:g}",
    "simplex": "a simplex",
    "ordered": "ordered",
    "correlation": "a correlation",
}
#: Facts that no matrix of two or more rows has together, or that are said shorter.
_AGAINST = [
    *(("skew", other, "only zeros are both") for other in ("symmetric", "diagonal", "lower", "upper", "definite")),
    ("skew", "positive", "the diagonal of a skew matrix is 0"),
    ("symmetric", "lower", "such a matrix is diagonal; declare diagonal=True"),
    ("symmetric", "upper", "such a matrix is diagonal; declare diagonal=True"),
    ("definite", "lower", "such a matrix is diagonal; declare diagonal=True"),
    ("definite", "upper", "such a matrix is diagonal; declare diagonal=True"),
    ("lower", "upper", "such a matrix is diagonal; declare diagonal=True"),
    ("definite", "orthogonal", "only the identity is both"),
    ("diagonal", "positive", "elements beside the diagonal are 0; declare positive_definite=True for one above 0"),
    ("lower", "positive", "elements above the diagonal are 0"),
    ("upper", "positive", "elements below the diagonal are 0"),
    ("orthogonal", "positive", "rows of positive numbers are not orthogonal to each other"),
    ("simplex", "ordered", "declare one of them"),
    ("simplex", "between", "elements of a simplex are between 0 and 1"),
    ("ordered", "between", "declare one of them"),
    *(("correlation", other, "the diagonal of a correlation is 1") for other in ("skew", "diagonal", "orthogonal")),
]


def words(assumptions: Assumptions) -> list[str]:
    """Return facts as messages call them, without those that follow from others."""
    follow = set()
    if assumptions.diagonal:
        follow |= {"symmetric", "lower", "upper"}
    if assumptions.definite:
        follow.add("symmetric")
    if assumptions.correlation:
        follow |= {"symmetric", "definite"}
    if assumptions.simplex or assumptions.between:
        follow.add("positive")
    declared = [name for name, holds in assumptions._asdict().items() if holds and name not in follow]
    return [_WORDS[name].format(*assumptions.between) for name in declared]


def assume(
    symmetric: bool = False,
    skew: bool = False,
    diagonal: bool = False,
    lower: bool = False,
    upper: bool = False,
    positive_definite: bool = False,
    orthogonal: bool = False,
    positive: bool = False,
    between: Any = None,
    simplex: bool = False,
    ordered: bool = False,
    correlation: bool = False,
) -> Assumptions:
    """Return what follows from facts that are declared.

    Raises
    ------
    ArgumentError
        If two of them contradict each other.

    Examples
    --------
    >>> assume(positive_definite=True).symmetric
    True
    """
    flags = {
        "symmetric": symmetric,
        "skew": skew,
        "diagonal": diagonal,
        "lower": lower,
        "upper": upper,
        "positive_definite": positive_definite,
        "orthogonal": orthogonal,
        "positive": positive,
        "simplex": simplex,
        "ordered": ordered,
        "correlation": correlation,
    }
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise ArgumentError(f"{name}={flag!r:.60}; expected True or False")
    del flags["positive_definite"]
    return joined(Assumptions(**flags, definite=positive_definite, between=() if between is None else _ends(between)))


def _ends(between: Any) -> tuple[float, float]:
    """Return the two ends of an interval, the infinite ones for None.

    Raises
    ------
    ArgumentError
    """
    pair = tuple(between) if isinstance(between, tuple | list) else ()
    if len(pair) != 2 or not all(one is None or (isinstance(one, Real) and not isinstance(one, bool)) for one in pair):
        raise ArgumentError(f"between={between!r:.60}; expected two numbers, the lower first, or None for none")
    low, high = (float(infinite if one is None else one) for one, infinite in zip(pair, (-inf, inf), strict=True))
    if not low < high or (low, high) == (-inf, inf):
        raise ArgumentError(f"between=({low:g}, {high:g}); expected the lower number first, one of them finite")
    return low, high


def joined(*several: Assumptions) -> Assumptions:
    """Return what follows from several declarations of one array together.

    Raises
    ------
    ArgumentError
        If two facts contradict each other.
    """
    if len({one.between for one in several if one.between}) > 1:
        raise ArgumentError("declared between two pairs of numbers; expected one pair")
    facts = Assumptions._make(map(max, zip(*several, strict=True)))
    explicit = facts._replace(
        symmetric=facts.symmetric and not facts.diagonal,
        lower=facts.lower and not facts.diagonal,
        upper=facts.upper and not facts.diagonal,
    )
    for one, other, why in _AGAINST:
        if getattr(explicit, one) and getattr(explicit, other):
            said = " and ".join(_WORDS[name].format(*facts.between) for name in (one, other))
            raise ArgumentError(f"declared {said}: {why}")
    return facts._replace(
        symmetric=facts.symmetric or facts.diagonal or facts.definite or facts.correlation,
        definite=facts.definite or facts.correlation,
        positive=facts.positive or facts.simplex or facts.between >= (0.0, 0.0),
        lower=facts.lower or facts.diagonal,
        upper=facts.upper or facts.diagonal,
    )


def check_square(name: str, shape: Shape, assumptions: Assumptions) -> None:
    """Refuse facts about square matrices for an array of another shape.

    Raises
    ------
    ShapeError
    """
    if (assumptions.simplex or assumptions.ordered) and not shape:
        raise ShapeError(f"{name!r} is a scalar and declared {words(assumptions)[0]}; expected a vector, such as 'n'")
    of_matrices = assumptions.of_matrices
    if any(of_matrices) and (len(shape) < 2 or shape[-1] != shape[-2]):
        raise ShapeError(
            f"{name!r} has shape {show(shape)} and is declared {' and '.join(words(of_matrices))}; expected a square "
            "matrix, such as ('n', 'n')"
        )


def split(shape: object) -> tuple[object, Assumptions]:
    """Return a shape, and what is declared together with it: of a symbol its own."""
    symbol = getattr(shape, "node", None)
    if isinstance(symbol, Node) and symbol.is_input:
        sizes = tuple(size if isinstance(size, int) else str(size) for size in symbol.shape)
        return ((int, *sizes) if symbol.dtype is INT else sizes), symbol.assumptions
    return (shape.shape, shape.assumptions) if isinstance(shape, Declaration) else (shape, NOTHING_KNOWN)


def two_of(one: Node, other: Node) -> str:
    """Say that two inputs of one formula have one name."""
    if one.shape != other.shape:
        differ = f"of shapes {one.shape} and {other.shape}; expected different names"
    else:
        differ = (
            f"declared {_declared(one)} and declared {_declared(other)}; expected one declaration, the same everywhere"
        )
    return f"two inputs called {one.name!r} in one formula, {differ}"


def check_names(inputs: Mapping[str, Any]) -> None:
    """Refuse an input that has the name of a letter of a size: formulas would show two things under one name.

    Raises
    ------
    ArgumentError
    """
    for node in (one.node for one in inputs.values()):
        for size in node.shape:
            for letter in sorted(size.names & inputs.keys()) if isinstance(size, Size) else ():
                raise ArgumentError(
                    f"{letter!r} is an input and a size of {node.name!r}, of shape {show(node.shape)}; expected two "
                    "names, since formulas show both alike. Where the size is meant no input is needed: text has it as "
                    f"{letter}, symbols as x.shape[0]"
                )


def another(own: Node, given: Node) -> str:
    """Say that a variable has the name of a formula's own input and is another symbol."""
    if own.shape != given.shape:
        differ = f"has shape {show(given.shape)}, and the formula's input of that name {show(own.shape)}"
    else:
        differ = f"is declared {_declared(given)}, and the formula's input of that name {_declared(own)}"
    return f"the variable {own.name!r} {differ}; expected the same symbol in both, or its name as text, {own.name!r}"


def _declared(node: Node) -> str:
    return " and ".join(words(node.assumptions)) or ("int" if node.dtype is INT else "nothing")


def unknown_name(
    name: str,
    options: Sequence[str],
    inputs: Sequence[str],
    what: str,
    also: str = "the formula has no input",
) -> ArgumentError:
    """Say of a keyword that it is neither an option nor an input, with the names that are close."""
    known = f"inputs: {listed(inputs)}"
    close = OPTIONS.get(name) or close_to(name, [*options, *inputs])
    if options:
        both = f"{also} {name!r}, and {name}= is no option{close}"
        return ArgumentError(f"{both}; options: {', '.join(options)}; {known}")
    return ArgumentError(f"{what} for {name!r}, which the formula does not mention{close}; {known}")


def own_shapes(
    given: Mapping[str, Any], inputs: Mapping[str, Any], options: Sequence[str], kind: str
) -> ArgumentError:
    """Say of keywords beside a formula that takes no shapes which is no option, or which input has its shape."""
    strange = next((name for name in given if name not in inputs), None)
    if strange is not None:
        unknown = unknown_name(strange, options, list(inputs), "a shape")
        return ArgumentError(f"{unknown}; {kind} carry their own shapes")
    name = next(iter(given))
    return ArgumentError(
        f"a shape for {name!r}, which has {show(inputs[name].node.shape)}: {kind} carry their own shapes; leave "
        f"{name}= out, and make {kind} of another shape where one is meant"
    )


def listed(inputs: Sequence[str]) -> str:
    """Return the first names."""
    return (", ".join(inputs[:20]) or "none") + (", ..." if len(inputs) > 20 else "")
