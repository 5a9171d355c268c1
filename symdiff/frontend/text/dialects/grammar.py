"""The grammar of matrixcalculus.org (Laue, Mitterreiter and Giesen 2018): from text to a list of operations.

The language is MATLAB's: ``*`` is the product of matrices, ``.*`` the one element by element, ``'`` a transpose.
Operators from loosest to tightest::

    + -
    * / .* ./
    -x +x
    ^ .^        from the left, as in MATLAB; an exponent may have a sign: x.^-1
    '           behind its operand
    f(x)

The list has operands before operations: whoever reads it needs a stack and no recursion. Lines in front of the formula
may say what letters are: ``A is a symmetric matrix``, ``x, y vector``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ....errors import ArgumentError, LimitError, ParseError
from ....ground.advice import names_near
from ....ground.budget import spend
from ....ground.grammar import read_number, too_large
from ....ground.limits import Limits
from ....ground.names import NAME_PATTERN

__all__ = ["KINDS", "Operation", "kind_of", "read_operations", "split_declarations"]

#: What a letter may be.
KINDS = ("scalar", "vector", "row vector", "matrix", "symmetric matrix")

#: What a kind may be called besides.
_ALSO = {"column vector": "vector", "number": "scalar"}

_TOKEN = re.compile(
    rf"""[ \t\f]*(?:
      ({NAME_PATTERN})
    | ((?:[0-9]+(?:\.(?![*/^'])[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (\.\*|\./|\.\^|\.'|[-+*/^'(),=])
    | ([\r\n][ \t\f\r\n]*)
    | (\Z)
    | (.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NAME, _NUMBER, _SYMBOL, _NEWLINE, _END, _OTHER = range(1, 7)
_DECLARATION = re.compile(
    rf"({NAME_PATTERN}(?:[ \t]*,[ \t]*{NAME_PATTERN})*)(?:[ \t]*:[ \t]*|[ \t]+(?:(?:is|are)[ \t]+(?:an?[ \t]+)?)?)"
    r"(symmetric[ \t]+matri(?:x|ces)|row[ \t]+vectors?|matri(?:x|ces)|vectors?|scalars?)"
    r"[ \t]*(?:[.;,][ \t]*)?(?:[\r\n]|\Z)"
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, ".*": 2, "./": 2, "^": 4, ".^": 4}
_SIGN, _POWER = 3, 4
_HINTS = {
    "\\": "write inv(A)*b",
    "@": "the product of matrices is written *",
    "[": "vectors and matrices are letters; this language has no elements",
    "]": "vectors and matrices are letters; this language has no elements",
    ";": "one formula is read",
    ":": "this language has no slices",
    "<": "this language has no conditions; use the default dialect, where(x < 0, a, b)",
    ">": "this language has no conditions; use the default dialect, where(x > 0, a, b)",
    ".": "a product element by element is written .*",
    "\N{MINUS SIGN}": "write -",
    "\N{SUPERSCRIPT TWO}": "write ^2",
    "\N{MODIFIER LETTER CAPITAL T}": "write '",
    "\N{RIGHT SINGLE QUOTATION MARK}": "write '",
}


class Operation(NamedTuple):
    """One step of a formula.

    Parameters
    ----------
    kind : str
        "number", "name", "sign", "binary", "transpose" or "call".
    value : object
        The number, name or operator.
    takes : int
        How many operands it takes from the stack.
    place : int
        Where it stands in the text.
    """

    kind: str
    value: Any
    takes: int
    place: int


def kind_of(what: str) -> str | None:
    """Return the kind that words name, None where they may be a shape.

    Raises
    ------
    ArgumentError
        If they are nearly a kind.

    Examples
    --------
    >>> kind_of("Symmetric Matrix"), kind_of("n")
    ('symmetric matrix', None)
    """
    words = " ".join(what.lower().split())
    kind = _ALSO.get(words, words)
    if kind in KINDS:
        return kind
    parts = {part for known in (*KINDS, *_ALSO) for part in known.split()}
    if len(words) > 2 and any(part in parts or names_near(part, parts) for part in words.split()):
        raise ArgumentError(f"{what!r:.60} came for what a letter is; expected one of {', '.join(KINDS)}, or a shape")
    return None


def split_declarations(text: str) -> tuple[dict[str, str], int]:
    r"""Return the declarations of letters in front of a formula, and where the formula begins.

    Examples
    --------
    >>> split_declarations("A is a symmetric matrix\nx, y vector\nx'*A*y")[0]
    {'A': 'symmetric matrix', 'x': 'vector', 'y': 'vector'}
    """
    found: dict[str, str] = {}
    start = 0
    while True:
        blank = re.compile(r"[ \t\r\n]*").match(text, start)
        start = blank.end() if blank else start
        match = _DECLARATION.match(text, start)
        if match is None:
            return found, start
        words = " ".join(match[2].split())
        kind = next(kind for kind in sorted(KINDS, key=len, reverse=True) if words.startswith(kind[:-1]))
        for name in match[1].split(","):
            spend(1)
            if name.strip() in found:
                raise ParseError(f"{name.strip()!r} is declared twice", text, match.start(1))
            found[name.strip()] = kind
        start = match.end()


class _Bracket(NamedTuple):
    """A bracket that waits for its end, and the function that it belongs to, or ""."""

    name: str
    place: int


class _Operator(NamedTuple):
    """An operator that waits for its right operand."""

    symbol: str
    precedence: int
    place: int
    is_sign: bool = False


def read_operations(text: str, start: int, limits: Limits) -> list[Operation]:
    """Read a formula.

    Parameters
    ----------
    text : str
    start : int
        Where it begins.
    limits : Limits

    Raises
    ------
    ParseError
        If the text does not follow the grammar.
    LimitError
        If it is too long or too deep.
    """
    if len(text) > limits.characters:
        raise LimitError(f"the formula has {len(text)} characters; at most {limits.characters} are read")
    return _Reader(text, limits).read(start)


class _Reader:
    """Operator-precedence parsing: finished operations, and what waits for more."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.done: list[Operation] = []
        self.waiting: list[_Bracket | _Operator] = []
        self.counts: list[int] = []  # arguments of each open bracket

    def read(self, start: int) -> list[Operation]:
        wants_operand = True
        name: tuple[str, int] | None = None  # one that may be a function's
        for match in _TOKEN.finditer(self.text, start):
            kind = match.lastindex or _END
            piece, place = match[kind], match.start(kind)
            spend(1)
            if len(self.done) + len(self.waiting) > self.limits.nodes:
                message = f"the formula has over {self.limits.nodes} operators and calls, which is the limit"
                raise too_large(message, self.text, place)
            if name is not None and piece != "(":
                self.done.append(Operation("name", name[0], 0, name[1]))
                name = None
            if kind == _NEWLINE:
                if self.counts or not self.text[match.end() :].strip():
                    continue
                raise self.error("one formula is read; declarations stand in front of it: x is a vector", place)
            if kind == _END:
                break
            if kind == _OTHER and piece == ";" and not self.text[match.end() :].strip():
                continue
            if kind == _OTHER:
                hint = _HINTS.get(piece, "the language has names, numbers, + - * / ^ .* ./ .^ ' and functions")
                raise self.error(f"{piece!r} has no meaning in this dialect; {hint}", place)
            if kind in (_NAME, _NUMBER):
                if not wants_operand:
                    raise self.error(f"expected an operator, found {piece!r} (multiplication is written *)", place)
                wants_operand = False
                if kind == _NAME:
                    if len(piece) > self.limits.name_length:
                        raise too_large(f"a name of {len(piece)} characters", self.text, place)
                    name = (piece, place)
                else:
                    number = read_number(piece, self.text, place, self.limits)
                    self.done.append(Operation("number", number, 0, place))
                continue
            wants_operand = self.symbol(piece, place, wants_operand, name)
            name = None
        if wants_operand:
            raise self.error("expected a number, a name or a bracket, found the end", len(self.text))
        self.reduce(0)
        if self.waiting:
            raise self.error("'(' is never closed; expected ')'", self.waiting[-1].place)
        return self.done

    def symbol(self, symbol: str, place: int, wants_operand: bool, name: tuple[str, int] | None) -> bool:
        """Read an operator or bracket; return whether an operand is to follow."""
        if symbol == "(":
            if not wants_operand and name is None:
                raise self.error("expected an operator, found '(' (multiplication is written *)", place)
            self.wait(_Bracket(name[0] if name else "", name[1] if name else place))
            self.counts.append(1)
            return True
        if wants_operand:
            if symbol in "+-":
                # behind a power, a sign belongs to the exponent: x.^-y
                top = self.waiting[-1] if self.waiting else None
                is_exponent = isinstance(top, _Operator) and top.precedence >= _POWER
                self.wait(_Operator(symbol, _POWER + 1 if is_exponent else _SIGN, place, True))
                return True
            if symbol == ")" and self.waiting and isinstance(self.waiting[-1], _Bracket) and self.waiting[-1].name:
                raise self.error(f"{self.waiting[-1].name}() has no arguments; expected one", place)
            hint = "; powers are written ^, of elements .^" if symbol == "*" == self.text[place - 1] else ""
            raise self.error(f"expected a number, a name or a bracket, found {symbol!r}{hint}", place)
        if symbol in ("'", ".'"):
            self.reduce(_POWER)  # as tight as a power, from the left
            self.done.append(Operation("transpose", "'", 1, place))
            return False
        if symbol in _PRECEDENCE:
            self.reduce(_PRECEDENCE[symbol])
            self.wait(_Operator(symbol, _PRECEDENCE[symbol], place))
            return True
        self.reduce(0)
        if symbol == "=" or not self.waiting:
            raise self.error(f"{symbol!r} has no meaning here", place)
        bracket = self.waiting[-1]
        if symbol == ",":
            if not isinstance(bracket, _Bracket) or not bracket.name:
                raise self.error("',' has no meaning here; one formula is read", place)
            self.counts[-1] += 1
            return True
        self.waiting.pop()
        count = self.counts.pop()
        if isinstance(bracket, _Bracket) and bracket.name:
            self.done.append(Operation("call", bracket.name, count, bracket.place))
        return False

    def wait(self, what: _Bracket | _Operator) -> None:
        self.waiting.append(what)
        # operators of one precedence are never on top of each other, but for signs
        if len(self.waiting) > 5 * self.limits.depth:
            message = f"the formula is nested deeper than {self.limits.depth} levels, which is the limit"
            raise too_large(message, self.text, what.place)

    def reduce(self, floor: int) -> None:
        """Apply the waiting operators that bind at least as tightly as ``floor``."""
        while self.waiting:
            top = self.waiting[-1]
            if not isinstance(top, _Operator) or top.precedence < floor:
                return
            self.waiting.pop()
            if top.is_sign:
                self.done.append(Operation("sign", top.symbol, 1, top.place))
            else:
                self.done.append(Operation("binary", top.symbol, 2, top.place))

    def error(self, message: str, place: int) -> ParseError:
        return ParseError(message, self.text, place)
