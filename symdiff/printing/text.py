"""Formula text: what the graph means in the language that the parser reads, NumPy's.

No number is written that the parser refuses. Text such as ``2 / 0`` and ``1e300 * 1e300`` is refused, as a slip of
the pen. A formula may come to it all the same, by ``2 / radians(0)``, and is then written by calls, ``divide(2, 0)``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import show
from ..ground.names import is_name
from .calls import along
from .layout import (
    AND,
    ARROW,
    ATOM,
    COMPARISON,
    OR,
    POWER,
    PRODUCT,
    SUM,
    UNARY,
    Piece,
    Style,
    from_end,
    subscript,
)
from .notation import DIFFERENCES, Loop, Term, reaches_outside, spelled

_OPERATORS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "+": ("add", operator.add),
    "-": ("subtract", operator.sub),
    "*": ("multiply", operator.mul),
    "/": ("divide", operator.truediv),
}


def _join(
    symbol: str, left: tuple[str, float | None], right: tuple[str, float | None], plain: str
) -> tuple[str, float | None]:
    """Return two texts joined by an operator, and the number of it; as a call where it would be refused.

    Parameters
    ----------
    symbol : {"+", "-", "*", "/"}
    left, right : tuple of str and float or None
        Texts as they stand beside the operator, and their numbers.
    plain : str
        Text on the right as an argument of a call.
    """
    (a, x), (b, y), (name, apply) = left, right, _OPERATORS[symbol]
    if x is None or y is None:
        return f"{a} {symbol} {b}", None
    value = math.inf if symbol == "/" and y == 0 else apply(x, y)
    overflows = math.isfinite(x) and math.isfinite(y) and not math.isfinite(value)
    refused = (symbol == "/" and y == 0) or overflows
    return (f"{name}({a}, {plain})", None) if refused else (f"{a} {symbol} {b}", value)


def decimal(value: float) -> str:
    """Return the shortest digits that give the number back."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _is_remainder(term: Term) -> bool:
    return term.kind == "call" and term.data == "mod"


class TextStyle(Style):
    """The style of formula text.

    Parameters
    ----------
    taken : collection of str
        Names of inputs: a constant with one of these names is written in digits.
    """

    derived_readings = (DIFFERENCES,)

    def __init__(self, taken: Sequence[str] = ()) -> None:
        super().__init__()
        self.taken = set(taken)
        #: Numbers that the parser makes of the terms written so far; None where it makes none.
        self.folded: dict[Term, float | None] = {}

    def parenthesised(self, text: str) -> str:
        """Return ``text`` in parentheses."""
        return f"({text})"

    def reference(self, name: str) -> Piece:
        """Return a name; one that the grammar lacks is shown in quotes."""
        return Piece(name if is_name(name) else repr(name), ATOM)

    def arguments(self, term: Term) -> str:
        """Return the arguments of a call."""
        return ", ".join(map(self.plain, term.args))

    def called(self, name: str, *args: str) -> Piece:
        """Return a call."""
        return Piece(f"{name}({', '.join(args)})")

    def call(self, name: str, term: Term, *more: str) -> Piece:
        """Return a call of ``name`` with the arguments of ``term``."""
        return self.called(name, *map(self.plain, term.args), *more)

    # ------------------------------------------------------------ leaves

    def number(self, value: float) -> Piece:
        """Return a number: 0.25, 1/3, 2*pi."""
        digits = decimal(value)
        if len(digits) > 8 and math.isfinite(value):
            p, name, q = spelled(value)
            inside = name.strip("/").rstrip(")").rpartition("(")[2]
            if q and self.taken.isdisjoint(inside.split()):
                count, divides = str(abs(p)), name.startswith("/")
                several = name if abs(p) == 1 else f"{count} * {name}"
                if divides:
                    below = name[1:] if q == 1 else f"({q} * {name[1:]})"
                    return Piece("-" * (p < 0) + f"{count} / {below}", PRODUCT)
                top = several if name else count
                alone = p == 1 and q == 1
                return Piece("-" * (p < 0) + top + f" / {q}" * (q > 1), ATOM if alone else PRODUCT)
        return Piece(digits, UNARY if digits.startswith("-") else ATOM)

    def _write_number(self, term: Term) -> Piece:
        self.folded[term] = term.data
        return self.number(term.data)

    def _write_truth(self, term: Term) -> Piece:
        return Piece(str(term.data), ATOM)

    def _write_array(self, term: Term) -> Piece:
        return Piece(_nested(term.data.tolist()), ATOM)

    def _write_arange(self, term: Term) -> Piece:
        first, stop, step = term.data
        written = [decimal(value) for value in ((stop,) if (first, step) == (0, 1) else (first, stop, step))]
        if step == 1:
            del written[2:]
        return Piece(f"arange({', '.join(written)})")

    def _write_filled(self, term: Term) -> Piece:
        shape = show(term.shape)
        if term.data in (0.0, 1.0) and math.copysign(1.0, term.data) > 0:
            return Piece(f"{'ones' if term.data else 'zeros'}({shape})")
        return Piece(f"{self.number(term.data).text} * ones({shape})", PRODUCT)

    def _write_eye(self, term: Term) -> Piece:
        (start, step), (rows, columns) = term.data, term.shape
        if (start, step) == (0, 1) and rows == columns:
            return Piece(f"eye({columns})")
        outside = reaches_outside(start, step, rows, columns)
        if outside is None:
            return Piece(f"eye({columns})[{subscript((start, step, rows), columns)}]")
        diagonal = f", {outside}" if outside != 0 else ""
        every = f"[::{step}]" if step != 1 else ""
        return Piece(f"eye({abs(step) * (rows - 1) + 1}, {columns}{diagonal}){every}")

    def _write_onehot(self, term: Term) -> Piece:
        size = term.shape[0]
        return Piece(f"eye({size})[{from_end(term.data, size)}]")

    def _write_size(self, term: Term) -> Piece:
        text = str(term.data)
        return Piece(text, ATOM if is_name(text) else SUM if " " in text else PRODUCT)

    # ------------------------------------------------------------ arithmetic

    def _write_sum(self, term: Term) -> Piece:
        (first, *rest), (minus, *signs) = term.args, term.data
        own, number = self.wrapped(first, PRODUCT if minus else SUM), self.folded.get(first)
        text, total = (f"-{own}", None if number is None else -number) if minus else (own, number)
        for arg, minus in zip(rest, signs, strict=True):
            own = self.wrapped(arg, PRODUCT)
            joined = ((text, total), (own, self.folded.get(arg)), self.plain(arg))
            text, total = _join("-" if minus else "+", *joined)
        self.folded[term] = total
        return Piece(text, SUM)

    def _write_product(self, term: Term) -> Piece:
        over, under = term.factors
        texts = [self.factor(arg, place > 0, len(over)) for place, arg in enumerate(over)]
        text, value = self.multiplied(texts, over)
        if under:
            alone = len(under) == 1
            texts = [self.factor(arg, alone or place > 0, len(under)) for place, arg in enumerate(under)]
            below, divisor = self.multiplied(texts, under)
            beside, inside = (below, self.plain(under[0])) if alone else (f"({below})", below)
            text, value = _join("/", (text, value), (beside, divisor), inside)
        self.folded[term] = value
        return Piece(text, PRODUCT)

    def multiplied(self, texts: Sequence[str], factors: Sequence[Term]) -> tuple[str, float | None]:
        """Return factors side by side, and their product if the parser computes it."""
        text, value = (texts[0], self.folded.get(factors[0])) if texts else ("1", 1.0)
        for own, factor in zip(texts[1:], factors[1:], strict=True):
            text, value = _join("*", (text, value), (own, self.folded.get(factor)), self.plain(factor))
        return text, value

    def factor(self, term: Term, behind: bool, count: int) -> str:
        """Return a factor; a product of matrices is bracketed beside others, though it binds from the left."""
        apart = behind or _is_remainder(term) or (count > 1 and term.kind in ("matmul", "dot"))
        return self.wrapped(term, UNARY if apart else PRODUCT)

    def _write_negative(self, term: Term) -> Piece:
        text, level = self.piece(term.args[0])
        number = self.folded.get(term.args[0])
        self.folded[term] = None if number is None else -number
        # -a % b would be the remainder of -a
        if level == PRODUCT and not text.startswith("-") and not _is_remainder(term.args[0]):
            return Piece(f"-{text}", PRODUCT)
        return Piece(f"-{self.wrapped(term.args[0], POWER)}", UNARY)

    def _write_power(self, term: Term) -> Piece:
        base, exponent = term.args
        if None not in (self.folded.get(base), self.folded.get(exponent)):
            return self.call("power", term)  # text refuses what two numbers have no power of
        return Piece(f"{self.wrapped(base)} ** {self.wrapped(exponent, UNARY)}", POWER)

    def _write_compare(self, term: Term) -> Piece:
        a, b = (self.wrapped(arg, OR) for arg in term.args)
        return Piece(f"{a} {FUNCTIONS[term.data].infix} {b}", COMPARISON)

    def _write_and(self, term: Term) -> Piece:
        a, b = term.args
        return Piece(f"{self.wrapped(a, AND)} & {self.wrapped(b, SUM)}", AND)

    def _write_or(self, term: Term) -> Piece:
        a, b = term.args
        return Piece(f"{self.wrapped(a, OR)} | {self.wrapped(b, AND)}", OR)

    def _write_not(self, term: Term) -> Piece:
        return Piece(f"~{self.wrapped(term.args[0], POWER)}", UNARY)

    def _write_call(self, term: Term) -> Piece:
        if term.data == "mod":
            a, b = term.args
            if None not in (self.folded.get(a), self.folded.get(b)):
                return self.call("mod", term)  # text refuses the remainder of two numbers by 0
            return Piece(f"{self.wrapped(a, PRODUCT)} % {self.wrapped(b, UNARY)}", PRODUCT)
        return self.call(term.data, term)

    # ------------------------------------------------------------ products

    def _write_matmul(self, term: Term) -> Piece:
        first, *rest = term.args
        left = self.wrapped(first, PRODUCT if first.kind == "matmul" else UNARY)
        return Piece(" @ ".join([left, *(self.wrapped(arg, UNARY) for arg in rest)]), PRODUCT)

    def _write_dot(self, term: Term) -> Piece:
        a, b = term.args
        if a.kind == "matmul" or b.kind != "matmul":
            return self._write_matmul(term)
        return Piece(" @ ".join([self.wrapped(a, UNARY), *(self.wrapped(arg, UNARY) for arg in b.args)]), PRODUCT)

    def _write_transpose(self, term: Term) -> Piece:
        return Piece(f"{self.wrapped(term.args[0])}.T")

    def _write_rows(self, term: Term) -> Piece:
        v, x = term.args
        return Piece(f"{self.wrapped(v)}[:, None] * {self.wrapped(x, UNARY)}", PRODUCT)

    def _write_columns(self, term: Term) -> Piece:
        x, v = term.args
        return Piece(f"{self.factor(x, False, 2)} * {self.wrapped(v, UNARY)}", PRODUCT)

    def _write_expand(self, term: Term) -> Piece:
        if term.args[0].ndim == 0:
            return Piece("[" * term.ndim + self.plain(term.args[0]) + "]" * term.ndim, ATOM)
        return self.part(term.args[0], [":" if old else "None" for old in term.data])

    def _write_tensor(self, term: Term) -> Piece:
        labels, out = term.data
        count = 1 + max(max(own) for own in labels)
        parts = []
        for arg, own in zip(term.args, labels, strict=True):
            order = sorted(range(len(own)), key=own.__getitem__)
            text = self.wrapped(arg)
            if order != sorted(order):
                text = f"{text}.T" if len(own) == 2 else f"transpose({self.plain(arg)}, {show(order)})"
            keys = [":" if axis in own else "None" for axis in range(min(own), count)]
            parts.append(text if all(key == ":" for key in keys) else f"{text}[{', '.join(keys)}]")
        product = " * ".join(parts)
        if count == len(out):
            return Piece(product, PRODUCT)
        return Piece(f"sum({product}, {along(tuple(range(len(out), count)), count + 1)[0]})")

    # ------------------------------------------------------------ structure

    def _write_concatenate(self, term: Term) -> Piece:
        more = f", axis={term.data}" if term.data else ""
        return Piece(f"concatenate([{self.arguments(term)}]{more})")

    def _write_stack(self, term: Term) -> Piece:
        if term.data == 0:
            return Piece(f"[{self.arguments(term)}]", ATOM)
        return Piece(f"stack([{self.arguments(term)}], axis={term.data})")

    def _write_cumulative(self, term: Term) -> Piece:
        name, axis, backwards = term.data
        flip = "[" + ", ".join([":"] * axis + ["::-1"]) + "]" if backwards else ""
        inner = self.wrapped(term.args[0]) if backwards else self.plain(term.args[0])
        along = f", axis={axis}" if term.ndim > 1 else ""
        return Piece(f"{name}({inner}{flip}{along}){flip}")

    def _write_option(self, term: Term) -> Piece:
        return Piece(f"{term.data}={self.plain(term.args[0])}", ARROW)

    def _write_series(self, term: Term) -> Piece:
        letter, length = term.data
        return Piece(f"sum_over({self.reference(letter.data).text}, {length}, {self.plain(term.args[0])})")

    def factors(self, terms: Sequence[Term]) -> list[str]:
        """Return scalars as they stand side by side in a product."""
        return [self.factor(term, bool(place), 2) for place, term in enumerate(terms)]

    def iterated(self, step: str, start: str, count: str) -> str:
        """Return a function that is applied several times."""
        return f"iterate({step}, {start}, {count})"

    def scanned(self, loop: Loop, letters: list[str], parts: Sequence[list[str]]) -> str:
        """Return a loop along arrays; what is carried, and what is written, are two results."""
        (starts, rows, after, outputs), at = parts, 1 + loop.carried
        taken = f"({self.group(letters[1:at])}, {self.group(letters[at:]) if rows else letters[0]})"
        step = f"{taken} -> ({self.group(after)}, {self.group(outputs) if outputs else 'None'})"
        over = self.group(rows) if rows else str(loop.length)
        text = self.called("scan", step, self.group(starts), over, *["reverse=True"] * loop.reverse).text
        if loop.part is None:
            return text
        if loop.part >= loop.carried:
            return f"{text}[1][{loop.part - loop.carried}]"
        return f"{text}[0]" + f"[{loop.part}]" * (loop.carried > 1)


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return "[" + ", ".join(map(_nested, values)) + "]"
    return str(values) if isinstance(values, bool) else decimal(values)
