"""Characters of a formula to tokens, and the refusals that a single character or word deserves.

Most mistakes in a formula are habits from elsewhere (``^``, ``and``, a minus sign pasted from
a paper), so each is met with what to write instead. Nothing invisible passes, and a name has
one spelling only: what a reader sees is what is computed.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...errors import LimitError, ParseError, with_caret
from ..budget import limits
from ..limits import Limits
from ..names import NAME_PATTERN

#: Words in quotes that options and norms take, and subscripts of einsum; there is no other text in a formula.
_SUBSCRIPTS = r"(?<=einsum\()(?:'[A-Za-z, .]*(?:->[A-Za-z .]*)?'|\"[A-Za-z, .]*(?:->[A-Za-z .]*)?\")"
_WORDS = [quote + word + quote for word in ("entries", "projected", "fro", "nuc") for quote in ("'", '"')]
_TOKEN = re.compile(
    rf"""[ \t\f]*+(?:\#[^\r\n]*+)?(?:
      ({NAME_PATTERN}|{"|".join([*_WORDS, _SUBSCRIPTS])})
    | ((?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?)
    | (\*\*|//|<=|>=|==|!=|:=|->|\.\.\.|[-+*/%@<>=&|~()\[\],:.])
    | ([\r\n](?:[ \t\f\r\n]|\#[^\r\n]*+)*+)
    | (\Z)
    | (.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"#[^\r\n]*")
_CALL = re.compile(r"\w\(")
_EXPONENT = re.compile(r"[0-9.][eE][+-]")

NAME, NUMBER, SYMBOL, NEWLINE, END, _OTHER, VALUE = range(1, 8)

_VALUES = {"None": None, "True": True, "False": False, **{word: word[1:-1] for word in _WORDS}}
_WORD_HINTS = {
    "and": "write (a < b) & (b < c)",
    "or": "write (a < b) | (b < c)",
    "not": "write ~(a < b)",
    "if": "write where(condition, a, b)",
    "else": "write where(condition, a, b)",
    "is": "write ==",
    "in": "a comparison is written ==",
    "for": "use slices, sum(...) and broadcasting",
}
_CHARACTER_HINTS = {
    "^": "a power is written **",
    ";": "each definition stands on a line of its own",
    "'": "text in quotes is not part of a formula; a transpose is written .T",
    '"': "text in quotes is not part of a formula",
    "!": "a factorial is written gamma(n + 1), unequal !=",
    "{": "vectors and matrices are written [a, b] and [[a, b], [c, d]]",
    "}": "vectors and matrices are written [a, b] and [[a, b], [c, d]]",
    "\\": "inside brackets a formula may go on over several lines",
    "\N{MINUS SIGN}": "write -",
    "\N{EN DASH}": "write -",
    "\N{MULTIPLICATION SIGN}": "write *",
    "\N{MIDDLE DOT}": "write *",
    "\N{DOT OPERATOR}": "write *",
    "\N{DIVISION SIGN}": "write /",
    "\N{SUPERSCRIPT TWO}": "write **2",
    "\N{SUPERSCRIPT THREE}": "write **3",
    "\N{MODIFIER LETTER CAPITAL T}": "write .T",
    "\N{SQUARE ROOT}": "write sqrt(...)",
    "\N{PARTIAL DIFFERENTIAL}": "a derivative is written gradient(f, x) or derivative(f, x)",
    "\N{NABLA}": "a derivative is written gradient(f, x)",
    "\N{N-ARY SUMMATION}": "write sum(...)",
    "\N{INTEGRAL}": "an integral is written as the sum of a quadrature",
    "\N{INFINITY}": "write inf",
    "\N{LESS-THAN OR EQUAL TO}": "write <=",
    "\N{GREATER-THAN OR EQUAL TO}": "write >=",
    "\N{NOT EQUAL TO}": "write !=",
}


#: The one word of Python that is a function here.
LOOP = "while"
#: What is meant by a symbol where a formula begins.
MEANT = {"|": "; write abs(x)"}


class Token(NamedTuple):
    """A token, its value (of a number, a word in quotes, None, True or False) and its place in the text."""

    kind: int
    text: str
    value: Any
    start: int
    end: int


def fewest_nodes(text: str) -> int:
    """Count the nodes that ``text`` has at least, in a few fast scans, so that far too many are refused at once."""
    text = _COMMENT.sub("", text)
    single = sum(map(text.count, "+-*/%@<>&|~,=["))
    twice = sum(map(text.count, ("**", "//", "==", "<=", ">=", "->")))
    return single - twice - len(_EXPONENT.findall(text)) + len(_CALL.findall(text))


def too_large(message: str, text: str, position: int) -> LimitError:
    """Return a LimitError that points into the text."""
    return LimitError(with_caret(message, text, position))


def scan(text: str, limits: Limits) -> Iterator[Token]:
    """Yield the tokens of ``text``; the last is of kind ``END``.

    Raises
    ------
    ParseError
        At a character or word that is not part of the language.
    LimitError
        At a name or number that is too long or too large.
    """
    for match in _TOKEN.finditer(text):
        kind = match.lastindex or END
        start, end = match.span(kind)
        piece = match[kind]
        value: Any = None
        if kind == NAME:
            if piece in _VALUES:
                kind, value = VALUE, _VALUES[piece]
            elif piece[0] in "'\"":
                kind, value = VALUE, piece[1:-1]
            elif keyword.iskeyword(piece) and not (piece == LOOP and text[end:].lstrip()[:1] == "("):
                hint = _WORD_HINTS.get(piece, "it has numbers, names, operators and calls")
                raise ParseError(f"{piece!r} is a word of Python that a formula lacks; {hint}", text, start)
            elif len(piece) > limits.name_length:
                message = f"a name of {len(piece)} characters; at most {limits.name_length} are read"
                raise too_large(message, text, start)
        elif kind == NUMBER:
            value = read_number(piece, text, start, limits)
        elif kind == _OTHER:
            raise _unknown_character(text, start)
        yield Token(kind, piece, value, start, end)
        if kind == END:
            return


def read_number(piece: str, text: str, start: int, limits: Limits) -> float | int:
    """Return the number that a piece of text is.

    Raises
    ------
    ParseError, LimitError
        If it is none, or too long or too large.
    """
    if len(piece) > limits.literal_length:
        raise too_large(f"a number of {len(piece)} characters; at most {limits.literal_length} are read", text, start)
    try:
        value = float(piece)
    except ValueError:
        raise ParseError(f"{piece!r} is not a number; '_' may stand between two digits", text, start) from None
    mantissa = piece.lower().partition("e")[0].strip("0._")
    if value == float("inf") or (value == 0 and mantissa):
        raise too_large("this number is beyond the range of a double, about 1e-308 to 1e308", text, start)
    if not piece.replace("_", "").isdigit():
        return value
    if piece[0] == "0" and value:
        raise ParseError("a whole number does not begin with 0", text, start)
    return int(piece)


def unexpected_operand(token: Token, before: Token, text: str) -> ParseError:
    """Return the error for a name or number that follows an operand."""
    if before.kind == NUMBER and before.end == token.start and token.kind == NAME:
        if token.text in ("j", "J"):
            message = "text has no complex numbers; write real and imaginary parts, or symbols: sd.complex_array('z')"
            return ParseError(message, text, token.start)
        if before.text == "0" and token.text[0] in "xXoObB":
            return ParseError("numbers are written in decimal", text, before.start)
        expected = f"expected an operator between {before.text} and {token.text}"
        return ParseError(f"{expected}: {before.text}*{token.text}", text, token.start)
    return ParseError(f"expected an operator, found {token.text!r} (multiplication is written *)", text, token.start)


def _unknown_character(text: str, position: int) -> ParseError:
    character = text[position]
    code = f"U+{ord(character):04X}"
    if not character.isprintable():
        name = unicodedata.name(character, "a control character or surrogate")
        return ParseError(f"a character that cannot be seen, {code} ({name}); delete it", text, position)
    hint = _CHARACTER_HINTS.get(character, "names are made of a-z, A-Z, 0-9, _ and Greek letters")
    before = text[position - 1 : position] if position else ""
    behind = text[position + 1 : position + 2]
    if character == "^" and before == ".":
        hint += ", element by element; sd.parse(text, dialect='matrixcalculus') reads .^"
    elif character == "'" and (before.isalnum() or before in (")", "]", "_")) and not behind.isalnum():
        hint += "; sd.parse(text, dialect='matrixcalculus') reads A'"
    elif character == "\\" and behind.isalpha():
        hint = "LaTeX is not read: write sin(x), a / b, x**2, sqrt(x)"
    named = "" if character.isascii() else f" ({code}, {unicodedata.name(character, 'unnamed')})"
    return ParseError(f"{character!r}{named} has no meaning here; {hint}", text, position)


def mentioned(texts: Iterable[str]) -> set[str] | None:
    """Return all names in texts, or None where one cannot be read.

    Examples
    --------
    >>> sorted(mentioned(["x + sin(y)", "2 * z"]))
    ['sin', 'x', 'y', 'z']
    """
    try:
        return {token.text for text in texts for token in scan(text, limits()) if token.kind == NAME}
    except ParseError:
        return None
