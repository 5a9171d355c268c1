"""Text of a user in generated source: names that are harmless in a language, and others by number; formulas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

__all__ = ["FORMULA", "docstring", "safe_names"]

#: Characters of a formula that a docstring or comment shows.
FORMULA = 4000


def safe_names(
    wanted: Sequence[str], is_harmless: Callable[[str], bool], fallback: str, taken: Collection[str] = ()
) -> list[str]:
    """Return a name for each of the names wanted: itself where it is harmless and free, else one with its number.

    Parameters
    ----------
    wanted : sequence of str
    is_harmless : callable
        Tells whether a name may stand in the source.
    fallback : str
        The first part of the other names.
    taken : collection of str
        Names that are in use.

    Examples
    --------
    >>> safe_names(["A", "λ", "A", "input1"], str.isascii, "input")
    ['A', 'input1n', 'input2', 'input1']
    """
    used = set(taken)
    own = []
    for name in wanted:
        good = is_harmless(name) and name not in used
        own.append(good)
        used.update([name] if good else [])
    found = []
    for number, (name, good) in enumerate(zip(wanted, own, strict=True)):
        given = name if good else f"{fallback}{number}"
        while not good and given in used:
            given += "n"
        used.add(given)
        found.append(given)
    return found


def docstring(text: str) -> str:
    """Escape text for a docstring: no character of it can end the string or begin an escape."""
    shown = text if len(text) <= FORMULA else text[:FORMULA] + " ..."
    clean = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return clean.replace("\\", "\\\\").replace('"', '\\"')
