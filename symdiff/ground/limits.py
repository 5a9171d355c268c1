"""Limits and options that a user may set, each in one place with its default.

A formula may come from a stranger. Whatever grows with the text of one (characters, nodes,
nesting, numbers, arrays) therefore has a bound, checked before the memory or the time is
spent, and crossing it raises :class:`~symdiff.errors.LimitError`. Limits bound what is written;
a budget bounds what is made of it (:mod:`symdiff.ground.budget`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on one formula, and on files; exceeding any raises ``LimitError``, for files ``DataError``.

    Parameters
    ----------
    characters : int
        Length of the text.
    nodes : int
        Operators, calls, commas, definitions and square brackets of the text.
    depth : int
        Nesting: brackets within brackets, signs before signs, powers of powers. A sum of
        many terms is not nested, however long.
    name_length : int
        Characters of one name.
    literal_length : int
        Characters of one number.
    integer_bits : int
        Bits of a whole number computed from others, such as ``2**10``. More would not fit
        the exponent of a double.
    elements : int
        Elements of one array of known size.
    axes : int
        Axes of one array.
    unpacked_bytes : int
        Bytes that an array of a compressed file may unpack to; 20 times those it has in the file, if that is more.
    line_bytes : int
        Bytes of one line of a .csv file.
    unrolled_operations : int
        Scalar operations up to which a formula becomes one program in any case. Longer ones do where loops or
        array operations are estimated to cost more.
    native_operations : int
        Scalar operations of the longest program, whose values the interpreter can address by 32 bits.

    Examples
    --------
    >>> Limits(depth=50).depth
    50
    """

    characters: int = 1_000_000
    nodes: int = 200_000
    depth: int = 1_000
    name_length: int = 64
    literal_length: int = 400
    integer_bits: int = 1_024
    elements: int = 100_000_000
    axes: int = 32
    unpacked_bytes: int = 2**28
    line_bytes: int = 2**22
    unrolled_operations: int = 20_000
    native_operations: int = 4_000_000


#: The limits in force unless a caller or a budget gives others.
LIMITS = Limits()


@dataclass(frozen=True)
class Budget:
    """Work and memory that one call may spend on a formula; going beyond raises ``LimitError``.

    Parameters
    ----------
    nodes : int
        Operations of the formula's graph, made or met again: of the formula, its derivatives and
        all forms on the way.
    steps : int
        Other work: nodes walked over, rules tried, operations scheduled, characters printed. A
        step takes some ten microseconds at most.
    memory : int
        Bytes of constants, index lists and text.
    limits : Limits
        Of the text, and of each array.
    name : str
        For messages.

    Examples
    --------
    >>> import symdiff as sd
    >>> sd.gradient("x**2", "x", budget=sd.Budget(nodes=2))
    Traceback (most recent call last):
        ...
    symdiff.errors.LimitError: the formula takes more than 2 nodes of the formula's graph, which is its budget; ...
    """

    nodes: int = 10_000_000
    steps: int = 1_000_000_000
    memory: int = 8_000_000_000
    limits: Limits = LIMITS
    name: str = ""


#: Budgets by the names that ``budget=`` takes. What "default" allows takes minutes; what "strict"
#: allows takes two seconds and 500 MB at most, whatever the text is.
BUDGETS = {
    "default": Budget(limits=Limits(native_operations=2_000_000), name="default"),
    "strict": Budget(
        nodes=16_000,
        steps=100_000,
        memory=32_000_000,
        limits=Limits(
            characters=20_000, nodes=3_000, depth=100, elements=1_000_000, axes=16, unrolled_operations=2_000,
            native_operations=2_000,
        ),
        name="strict",
    ),
}
