"""Nodes as text for those who work on the compiler: short in ``repr``, a line a node in a listing.

What people read as formulas is printed by :mod:`symdiff.printing`, which makes them short and may
refuse. Here every node is shown as it is, whatever it is, and nothing is charged to a budget: to
look at a formula must not change what is made of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from .sizes import Shape, Size, show

__all__ = ["Printable", "brief", "clip", "listing", "record_text", "term_text", "word"]


class Printable(Protocol):
    """A node as it is printed."""

    is_input: bool
    is_constant: bool
    is_contraction: bool
    is_custom: bool
    is_named: bool
    is_negation: bool

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def args(self) -> tuple[Any, ...]:
        """Nodes."""

    @property
    def payload(self) -> Any:
        """The rest of its definition."""

    @property
    def name(self) -> Any:
        """By what an input is known."""

    @property
    def shape(self) -> Shape:
        """Sizes of its axes."""

    @property
    def dtype(self) -> str:
        """Reals or bools."""

    @property
    def value(self) -> Any:
        """The numbers of a constant."""


#: Characters of a formula in ``repr``, levels of it, and nodes that are looked at for parts in common.
_ROOM, _LEVELS, _LOOKED = 160, 6, 100
#: Characters of one word, and items of one sequence.
_WORD, _ITEMS = 40, 6

_INFIX = {
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"},
    **{"less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!=", "logical_and": "&", "logical_or": "|"},
}
#: Precedence of operators.
_BINDS = {"add": 2, "subtract": 2, "multiply": 3, "divide": 3, "negative": 4, "power": 5, **dict.fromkeys(
    ("less", "less_equal", "equal", "not_equal", "logical_and", "logical_or"), 1)}


def clip(text: str, most: int) -> str:
    """Return a text, its end left out where it is long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def word(value: Any) -> str:
    """Return what a payload holds in a few characters."""
    if isinstance(value, str):
        shown = clip(value, _WORD)
        return shown if shown.isprintable() and shown else repr(shown)
    if value is None or isinstance(value, bool | int | float | Size):
        return clip(str(value), _WORD)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, tuple | list | frozenset | dict):
        items = [word(item) for item in islice(value, _ITEMS)] + ["…"] * (len(value) > _ITEMS)
        return f"({', '.join(items)})"
    if hasattr(value, "op") and hasattr(value, "shape"):
        return f"{word(value.op)} {clip(show(value.shape), _WORD)}"
    name = getattr(value, "name", None)
    return word(name) if isinstance(name, str) else _kind_of(value)


def _kind_of(value: Any) -> str:
    """Return the name of a function or class, and of what kind anything else is."""
    name = getattr(getattr(value, "func", value), "__name__", None)
    return name if isinstance(name, str) and name != "<lambda>" else type(value).__name__


def record_text(record: Any) -> str:
    """Return a record, named tuple or dataclass, in one line: records and functions in it by their names.

    Records that hold functions have this as their ``repr``.
    """
    names = getattr(record, "_fields", None) or record.__dataclass_fields__
    values = [(name, getattr(record, name)) for name in names]
    shown = [f"{name}={_kind_of(value) if hasattr(value, '_fields') else word(value)}" for name, value in values]
    return f"{type(record).__name__}({', '.join(shown)})"


def _indices(axes: Iterable[Any]) -> str:
    """Return labels as letters where there are letters for them."""
    known = [*axes]
    if all(isinstance(axis, int) and 0 <= axis < 18 for axis in known):
        return "".join([chr(ord("i") + axis) for axis in known])
    return word(tuple(known))


def _details(node: Printable) -> str:
    """Return what a node says besides its operation and arguments, "" if that is nothing."""
    payload = node.payload
    if node.is_contraction:
        labels, out, repeated = payload
        of = ",".join([_indices(axes) for axes in islice(labels, _ITEMS)]) + ",…" * (len(labels) > _ITEMS)
        sizes = [f" {_indices([label])}<{word(size)}" for label, size in dict(repeated).items()]
        return f"{of}->{_indices(out)}{''.join(sizes[:_ITEMS])}"
    if node.is_custom:
        return word(payload.rule)
    if node.op == "isotropic":
        return word(payload.parameters)
    if node.op == "spectral":
        return word(payload.name)
    if isinstance(payload, tuple) and len(payload) == 1:  # a record of one field
        one = payload[0]
        return ", ".join(map(word, one)) if isinstance(one, tuple) and len(one) <= _ITEMS else word(one)
    if isinstance(payload, tuple) and hasattr(payload, "_fields"):
        return ", ".join(f"{field}={word(value)}" for field, value in zip(payload._fields, payload, strict=True))
    return "" if payload is None else word(payload)


def leaf_text(node: Printable) -> str:
    """Return a node without arguments."""
    if node.is_input:
        name = node.name
        if isinstance(name, str):
            return word(name)
        return getattr(name, "text", "") or f"?{word(name[0]) if isinstance(name, tuple) else ''}"
    if node.is_constant:
        if not node.shape:
            return f"{node.value[()]}"
        numbers = node.value.ravel()
        shown = ", ".join([f"{number}" for number in numbers[:4].tolist()])
        return f"[{shown}{', …' if len(numbers) > 4 else ''}]"
    return f"{node.op}({_details(node)})"


def term_text(node: Printable, levels: int = 5) -> str:
    """Return a node as formula text, "..." for what is deeper than some levels.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> x, y = input("x"), input("y")
    >>> term_text(x / (1 + elementwise("exp", (-x * y,))))
    'x / (1 + exp(-x * y))'
    """
    if not node.args:
        text = leaf_text(node)
        return text.removesuffix(".0") if node.is_constant else text
    if not levels:
        return "..."
    if node.is_named:
        return term_text(node.args[0], levels)
    args = [term_text(arg, levels - 1) for arg in node.args]
    own = _BINDS.get(node.op, 9)
    inner = [
        f"({text})" if _binds(arg) < own + (place > 0 and own < 9) else text
        for place, (text, arg) in enumerate(zip(args, node.args, strict=True))
    ]
    if node.op in _INFIX:
        return f" {_INFIX[node.op]} ".join(inner)
    if node.is_negation:
        return f"-{inner[0]}"
    if node.op in ("slice", "gather", "take"):
        return f"{inner[0]}[...]"
    if node.op == "concatenate" and all(arg.op == "reshape" and not arg.args[0].shape for arg in node.args):
        return f"[{', '.join(term_text(arg.args[0], levels - 1) for arg in node.args)}]"
    if node.is_contraction:
        sign = _sign_of_product(node)
        summed = args if len(args) == 1 else inner
        return f"sum({' * '.join(summed)})" if sign is None else f" {sign} ".join(inner)
    return f"{node.op}({', '.join(args)})"


def _sign_of_product(node: Printable) -> str | None:
    """Return how a contraction is written, None for a sum."""
    labels, out, _ = node.payload
    summed = {label for own in labels for label in own} - {*out}
    if len(labels) == 2 and len(summed) == 1:
        (a, b), (met,) = labels, summed
        if a[-1:] == (met,) and b[:1] == (met,) and (*a[:-1], *b[1:]) == tuple(out):
            return "@"
    return None if summed else "*"


def _binds(node: Printable) -> int:
    """Return how tightly the operation that a node is written with binds."""
    if node.is_contraction and len(node.args) > 1 and _sign_of_product(node) is not None:
        return _BINDS["multiply"]
    return _BINDS.get(node.op, 9)


def _shared(root: Printable) -> set[Printable]:
    """Return the parts that are met more than once near the root."""
    seen: set[Printable] = set()
    again: set[Printable] = set()
    todo = deque([root])
    while todo and len(seen) < _LOOKED:
        node = todo.popleft()
        if node in seen:
            again.add(node)
        elif node.args:
            seen.add(node)
            todo.extend(node.args[:_LOOKED])
    return again


class _Line:
    """One line that a formula is written on, until there is no more room."""

    def __init__(self, root: Printable) -> None:
        self.parts: list[str] = []
        self.room = _ROOM
        self.shared = _shared(root)
        self.numbers: dict[Printable, int] = {}

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.room -= len(text)

    def write(self, node: Printable, level: int, inside: bool = False) -> None:
        if self.room <= 0 or level > _LEVELS:
            self.put("…")
        elif not node.args:
            self.put(leaf_text(node))
        elif node in self.numbers:
            self.put(f"%{self.numbers[node]}")
        else:
            named = node in self.shared
            if named:
                self.numbers[node] = len(self.numbers) + 1
                self.put(f"(%{self.numbers[node]} = " if inside else f"%{self.numbers[node]} = ")
            self.operation(node, level, inside and not named)
            if named and inside:
                self.put(")")

    def operation(self, node: Printable, level: int, inside: bool) -> None:
        if node.op in _INFIX and len(node.args) == 2:
            self.put("(" if inside else "")
            self.write(node.args[0], level + 1, True)
            self.put(f" {_INFIX[node.op]} ")
            self.write(node.args[1], level + 1, True)
            self.put(")" if inside else "")
            return
        details = _details(node)
        self.put(f"{node.op}[{details}](" if details else f"{node.op}(")
        for number, arg in enumerate(node.args):
            self.put(", " if number else "")
            self.write(arg, level + 1)
            if self.room <= 0:
                break
        self.put(")")


def _kind(node: Printable) -> str:
    return f"{clip(show(node.shape), _WORD)} {node.dtype}"


def brief(node: Printable) -> str:
    """Return a node on one line: its formula, as far as that is short, its shape and dtype.

    Parts that are there more than once are written once and called ``%1``, ``%2``, … from then on.
    """
    line = _Line(node)
    line.write(node, 0)
    return f"{clip(''.join(line.parts), _ROOM + _WORD)}: {_kind(node)}"


def listing(roots: Iterable[Printable]) -> Iterator[str]:
    """Give a line for each node below ``roots``, arguments first, and one for the results."""
    tops = [*roots]
    numbers: dict[Printable, int] = {}
    todo = tops[::-1]
    while todo:
        node = todo[-1]
        waiting = [arg for arg in node.args if arg not in numbers] if node not in numbers else []
        if waiting:
            todo.extend(waiting[::-1])
            continue
        todo.pop()
        if node in numbers:
            continue
        numbers[node] = len(numbers)
        if node.args:
            args = ", ".join([f"v{numbers[arg]}" for arg in node.args])
            details = _details(node)
            made = f"{node.op}[{details}] {args}" if details else f"{node.op} {args}"
        else:
            made = f"input {leaf_text(node)}" if node.is_input else leaf_text(node)
        yield f"v{numbers[node]} = {made}: {_kind(node)}"
    yield f"results: {', '.join([f'v{numbers[top]}' for top in tops])}"
