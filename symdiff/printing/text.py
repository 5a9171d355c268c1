"""Formula text: what the graph means in the language that the parser reads, NumPy's.

No number is written that the parser refuses. Text such as ``2 / 0`` and ``1e300 * 1e300`` is refused, as a slip of
the pen. A formula may come to it all the same, by ``2 / radians(0)``, and is then written by calls, ``divide(2, 0)``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..graph import Item
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Dim, Shape, show
from ..ground.names import is_name
from .calls import along
from .layout import Piece, Style
from .notation import DIFFERENCES, Loop, Term, reaches_outside, spelled

__all__ = ["group", "parts_of_loop"]


def group(parts: Sequence[str], brackets: Callable[[str], str]) -> str:
    """Return several pieces in brackets, one without."""
    return parts[0] if len(parts) == 1 else brackets(", ".join(parts))


def parts_of_loop(term: Term) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
    """Return what a loop starts with, what it goes along, what it carries on, and what it writes."""
    loop: Loop = term.data
    first, second = loop.carried, loop.carried + loop.rows
    third = second + loop.carried
    return term.args[:first], term.args[first:second], term.args[second:third], term.args[third:]


_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_CALLS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


class Folded:
    """The numbers of the terms written so far, by the terms' ids."""

    def __init__(self) -> None:
        self.numbers: dict[int, float] = {}

    def note(self, term: Term, value: float | None) -> None:
        """Keep the number that the parser makes of a term; None where it makes none."""
        if value is not None:
            self.numbers[id(term)] = value

    def of(self, term: Term) -> float | None:
        """Return the number that the parser makes of a term."""
        return self.numbers.get(id(term))

    def both(self, a: Term, b: Term) -> bool:
        """Tell whether the parser would compute with two terms."""
        return id(a) in self.numbers and id(b) in self.numbers

    def join(
        self, symbol: str, left: tuple[str, float | None], right: tuple[str, float | None], plain: str
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
        (a, x), (b, y) = left, right
        if x is None or y is None:
            return f"{a} {symbol} {b}", None
        value = math.inf if symbol == "/" and y == 0 else _OPERATORS[symbol](x, y)
        refused = (symbol == "/" and y == 0) or (math.isfinite(x) and math.isfinite(y) and not math.isfinite(value))
        return (f"{_CALLS[symbol]}({a}, {plain})", None) if refused else (f"{a} {symbol} {b}", value)


ARROW, COMPARISON, OR, AND, SUM, PRODUCT, UNARY, POWER, POSTFIX, ATOM = range(10)


def decimal(value: float) -> str:
    """Return the shortest digits that give the number back."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def subscripts(items: Sequence[Item], sizes: Shape) -> list[str]:
    """Return what stands between the brackets of an index, without trailing full slices."""
    texts = [_subscript(item, size) for item, size in zip(items, sizes, strict=True)]
    while len(texts) > 1 and texts[-1] == ":":
        texts.pop()
    return texts


def _from_end(place: Dim, size: Dim) -> str:
    """Return a place, counted from the end where the size is known at call time only."""
    if not isinstance(place, int):
        gap = place - size
        if isinstance(gap, int) and gap < 0:
            return str(gap)
    return str(place)


def _subscript(item: Item, size: Dim) -> str:
    start, step, length = item
    if length is None:
        return _from_end(start, size)
    stop = start + length * step
    first = "" if (start == 0 if step > 0 else start == size - 1) else _from_end(start, size)
    last = "" if stop in (size, -1) or (step > 1 and _reaches_end(stop, size)) else _from_end(stop, size)
    if step < 0 and isinstance(stop, int) and stop < 0:
        last = ""
    return f"{first}:{last}" + (f":{step}" if step != 1 else "")


def _reaches_end(stop: Dim, size: Dim) -> bool:
    return isinstance(stop, int) and isinstance(size, int) and stop >= size


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
        self.folded = Folded()

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
        return Piece(f"{name}({', '.join(args)})", POSTFIX)

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
                top = f"{p}{name}" if name.startswith("/") else name if abs(p) == 1 and name else str(abs(p))
                if name and not name.startswith("/") and abs(p) != 1:
                    top = f"{abs(p)} * {name}"
                top = top.lstrip("-")
                sign = "-" if p < 0 else ""
                alone = p == 1 and q == 1 and not name.startswith("/")
                return Piece(f"{sign}{top}" + (f" / {q}" if q > 1 else ""), ATOM if alone else PRODUCT)
        return Piece(digits, UNARY if digits.startswith("-") else ATOM)

    def _write_name(self, term: Term) -> Piece:
        return self.reference(term.data)

    def _write_number(self, term: Term) -> Piece:
        self.folded.note(term, term.data)
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
        return Piece(f"arange({', '.join(written)})", POSTFIX)

    def _write_filled(self, term: Term) -> Piece:
        shape = show(term.shape)
        if term.data in (0.0, 1.0) and math.copysign(1.0, term.data) > 0:
            return Piece(f"{'ones' if term.data else 'zeros'}({shape})", POSTFIX)
        return Piece(f"{self.number(term.data).text} * ones({shape})", PRODUCT)

    def _write_eye(self, term: Term) -> Piece:
        (start, step), (rows, columns) = term.data, term.shape
        if (start, step) == (0, 1) and rows == columns:
            return Piece(f"eye({columns})", POSTFIX)
        outside = reaches_outside(start, step, rows, columns)
        if outside is None:
            return Piece(f"eye({columns})[{_subscript((start, step, rows), columns)}]", POSTFIX)
        diagonal = f", {outside}" if outside != 0 else ""
        every = f"[::{step}]" if step != 1 else ""
        return Piece(f"eye({abs(step) * (rows - 1) + 1}, {columns}{diagonal}){every}", POSTFIX)

    def _write_onehot(self, term: Term) -> Piece:
        size = term.shape[0]
        return Piece(f"eye({size})[{_from_end(term.data, size)}]", POSTFIX)

    def _write_size(self, term: Term) -> Piece:
        text = str(term.data)
        return Piece(text, ATOM if is_name(text) else SUM if " " in text else PRODUCT)

    # ------------------------------------------------------------ arithmetic

    def _write_sum(self, term: Term) -> Piece:
        (first, *rest), (minus, *signs) = term.args, term.data
        own, number = self.wrapped(first, PRODUCT if minus else SUM), self.folded.of(first)
        text, total = (f"-{own}", None if number is None else -number) if minus else (own, number)
        for arg, minus in zip(rest, signs, strict=True):
            own = self.wrapped(arg, PRODUCT)
            joined = ((text, total), (own, self.folded.of(arg)), self.plain(arg))
            text, total = self.folded.join("-" if minus else "+", *joined)
        self.folded.note(term, total)
        return Piece(text, SUM)

    def _write_product(self, term: Term) -> Piece:
        over, under = term.factors
        text, value = self.times([self.factor(arg, bool(place), len(over)) for place, arg in enumerate(over)], over)
        if under:
            alone = len(under) == 1
            texts = [self.factor(arg, alone or place > 0, len(under)) for place, arg in enumerate(under)]
            below, divisor = self.times(texts, under)
            beside, inside = (below, self.plain(under[0])) if alone else (f"({below})", below)
            text, value = self.folded.join("/", (text, value), (beside, divisor), inside)
        self.folded.note(term, value)
        return Piece(text, PRODUCT)

    def times(self, texts: Sequence[str], factors: Sequence[Term]) -> tuple[str, float | None]:
        """Return factors side by side, and their product if the parser computes it."""
        text, value = (texts[0], self.folded.of(factors[0])) if texts else ("1", 1.0)
        for own, factor in zip(texts[1:], factors[1:], strict=True):
            text, value = self.folded.join("*", (text, value), (own, self.folded.of(factor)), self.plain(factor))
        return text, value

    def factor(self, term: Term, behind: bool, count: int) -> str:
        """Return a factor; a product of matrices is bracketed beside others, though it binds from the left."""
        apart = behind or _is_remainder(term) or (count > 1 and term.kind in ("matmul", "dot"))
        return self.wrapped(term, UNARY if apart else PRODUCT)

    def _write_negative(self, term: Term) -> Piece:
        text, level = self.piece(term.args[0])
        number = self.folded.of(term.args[0])
        self.folded.note(term, None if number is None else -number)
        # -a % b would be the remainder of -a
        if level == PRODUCT and not text.startswith("-") and not _is_remainder(term.args[0]):
            return Piece(f"-{text}", PRODUCT)
        return Piece(f"-{self.wrapped(term.args[0], POWER)}", UNARY)

    def _write_power(self, term: Term) -> Piece:
        base, exponent = term.args
        if self.folded.both(base, exponent):
            return self.call("power", term)  # text refuses what two numbers have no power of
        return Piece(f"{self.wrapped(base, POSTFIX)} ** {self.wrapped(exponent, UNARY)}", POWER)

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
            if self.folded.both(a, b):
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
        return Piece(f"{self.wrapped(term.args[0], POSTFIX)}.T", POSTFIX)

    def _write_rows(self, term: Term) -> Piece:
        v, x = term.args
        return Piece(f"{self.wrapped(v, POSTFIX)}[:, None] * {self.wrapped(x, UNARY)}", PRODUCT)

    def _write_columns(self, term: Term) -> Piece:
        x, v = term.args
        return Piece(f"{self.factor(x, False, 2)} * {self.wrapped(v, UNARY)}", PRODUCT)

    def _write_expand(self, term: Term) -> Piece:
        if term.args[0].ndim == 0:
            return Piece("[" * term.ndim + self.plain(term.args[0]) + "]" * term.ndim, ATOM)
        keys = ", ".join(":" if old else "None" for old in term.data)
        return Piece(f"{self.wrapped(term.args[0], POSTFIX)}[{keys}]", POSTFIX)

    def _write_tensor(self, term: Term) -> Piece:
        labels, out = term.data
        count = 1 + max(max(own) for own in labels)
        parts = []
        for arg, own in zip(term.args, labels, strict=True):
            order = sorted(range(len(own)), key=own.__getitem__)
            text = self.wrapped(arg, POSTFIX)
            if order != sorted(order):
                text = f"{text}.T" if len(own) == 2 else f"transpose({self.plain(arg)}, {show(order)})"
            keys = [":" if axis in own else "None" for axis in range(min(own), count)]
            parts.append(text if all(key == ":" for key in keys) else f"{text}[{', '.join(keys)}]")
        product = " * ".join(parts)
        if count == len(out):
            return Piece(product, PRODUCT)
        return Piece(f"sum({product}, {along(tuple(range(len(out), count)), count + 1)[0]})", POSTFIX)

    def _write_by_index(self, term: Term) -> Piece:
        out, products = term.data
        parts: list[str] = []
        for product in products:
            elements = [f"{self.wrapped(term.args[at], POSTFIX)}[{', '.join(own)}]" for at, own in product.factors]
            scalars = [self.factor(term.args[at], bool(n), 2) for n, at in enumerate(product.scalars)]
            under = [self.wrapped(term.args[at], UNARY) for at in product.divisors]
            below = "" if not under else f" / {under[0]}" if len(under) == 1 else f" / ({' * '.join(under)})"
            sign = (" - " if product.minus else " + ") if parts else "-" if product.minus else ""
            parts.append(sign + " * ".join([*scalars, *elements]) + below)
        return Piece(f"[{', '.join(out)}] -> {''.join(parts)}", ARROW)

    # ------------------------------------------------------------ structure

    def _write_index(self, term: Term) -> Piece:
        (x,) = term.args
        return Piece(f"{self.wrapped(x, POSTFIX)}[{', '.join(subscripts(term.data, x.shape))}]", POSTFIX)

    def _write_take(self, term: Term) -> Piece:
        axis, places = term.data
        keys = [":"] * axis + [str(list(places)) if places else ":0"]
        return Piece(f"{self.wrapped(term.args[0], POSTFIX)}[{', '.join(keys)}]", POSTFIX)

    def _write_picked(self, term: Term) -> Piece:
        x, at = term.args
        axis, shared = term.data
        if shared:
            return self.call("take_at", term, f"axis={axis}", f"shared={shared}")
        keys = [":"] * axis + [self.plain(at)]
        return Piece(f"{self.wrapped(x, POSTFIX)}[{', '.join(keys)}]", POSTFIX)

    def _write_concatenate(self, term: Term) -> Piece:
        more = f", axis={term.data}" if term.data else ""
        return Piece(f"concatenate([{self.arguments(term)}]{more})", POSTFIX)

    def _write_stack(self, term: Term) -> Piece:
        if term.data == 0:
            return Piece(f"[{self.arguments(term)}]", ATOM)
        return Piece(f"stack([{self.arguments(term)}], axis={term.data})", POSTFIX)

    def _write_cumulative(self, term: Term) -> Piece:
        name, axis, backwards = term.data
        flip = "[" + ", ".join([":"] * axis + ["::-1"]) + "]" if backwards else ""
        inner = self.wrapped(term.args[0], POSTFIX) if backwards else self.plain(term.args[0])
        along = f", axis={axis}" if term.ndim > 1 else ""
        return Piece(f"{name}({inner}{flip}{along}){flip}", POSTFIX)

    def _write_mapping(self, term: Term) -> Piece:
        return Piece(f"{self.reference(term.data).text} -> {self.plain(term.args[0])}", ARROW)

    def _write_option(self, term: Term) -> Piece:
        return Piece(f"{term.data}={self.plain(term.args[0])}", ARROW)

    def _write_series(self, term: Term) -> Piece:
        letter, length = term.data
        return Piece(f"sum_over({self.reference(letter.data).text}, {length}, {self.plain(term.args[0])})", POSTFIX)

    def _write_recurrence(self, term: Term) -> Piece:
        loop = term.data
        length, letters = str(loop.length), [self.reference(letter.data).text for letter in loop.letters]
        starts, rows, after, outputs = ([self.plain(arg) for arg in args] for args in parts_of_loop(term))
        start, on = group(starts, self.parenthesised), group(after, self.parenthesised)
        carried = group(letters[1 : 1 + loop.carried], self.parenthesised) if loop.carried else "()"
        place = f"[{loop.part}]" if loop.carried > 1 and loop.part is not None else ""
        if loop.condition and not rows:
            return Piece(f"while({carried} -> {outputs[0]}, {carried} -> {on}, {start}, {length}){place}", POSTFIX)
        if not rows and not outputs and loop.part is not None:
            return Piece(f"iterate({carried} -> {on}, {start}, {length}){place}", POSTFIX)
        x = group(letters[1 + loop.carried :], self.parenthesised) if rows else letters[0]
        over = group(rows, self.parenthesised) if rows else length
        written = group(outputs, self.parenthesised) if outputs else "None"
        more = ", reverse=True" if loop.reverse else ""
        start, on = start if starts else "()", on if after else "()"
        text = f"scan(({carried}, {x}) -> ({on}, {written}), {start}, {over}{more})"
        return Piece(text + _place(loop), POSTFIX)


def _place(loop: Loop) -> str:
    if loop.part is None:
        return ""
    if loop.part < loop.carried:
        return "[0]" + (f"[{loop.part}]" if loop.carried > 1 else "")
    return f"[1][{loop.part - loop.carried}]"


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return "[" + ", ".join(map(_nested, values)) + "]"
    return str(values) if isinstance(values, bool) else decimal(values)
