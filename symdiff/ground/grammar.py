"""The grammar of formula text: from tokens to a flat tree, without recursion.

Python's own parser would refuse 201 nested parentheses and accept far too much (attributes,
strings, comprehensions), so symdiff reads a small language of its own, with NumPy's meaning
and Python's precedence. The tree is a list in which children stand before their parents:
whoever reads it needs a loop and no recursion. Every term knows its place in the text.

Operators from loosest to tightest, as in Python, but for the arrow::

    [i, j] ->           the array that has these elements: [i, j] -> x[i] * y[j]; x -> is a function of x
    == != < <= > >=     not chained: (a < b) & (b < c)
    |
    &
    + -
    * / // % @
    -x +x ~x
    **                  from the right; its exponent may have a sign: 2**-x
    f(x)  x[i]  x.T

First characters become tokens, and what a single character or word deserves is refused; then tokens become a tree.
Most mistakes in a formula are habits from elsewhere (``^``, ``and``, a minus sign pasted from a paper), so each is met
with what to write instead. Nothing invisible passes, and a name has one spelling only: what a reader sees is what is
computed.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import LimitError, ParseError, with_caret
from .advice import DOTTED, LOOPS, advice
from .budget import limits
from .limits import LIMITS, Limits
from .names import NAME_PATTERN

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
    "lambda": "write another name, such as lam or \N{GREEK SMALL LETTER LAMDA}, or x -> of a function of a number",
}
_CHARACTER_HINTS = {
    "^": "a power is written **",
    ";": "each definition stands on a line of its own",
    "'": "text in quotes is not part of a formula; a transpose is written .T",
    '"': "text in quotes is not part of a formula",
    "!": "a factorial is written factorial(n), which is gamma(n + 1), unequal !=",
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
    "?": "write where(condition, a, b)",
    "\N{DEGREE SIGN}": "angles are in radians: write * pi / 180",
    "\N{SCRIPT SMALL E}": "write e, or exp(x)",
    "\N{VULGAR FRACTION ONE HALF}": "write 1/2",
}


#: The one word of Python that is a function here.
LOOP = "while"
#: Meaning of a symbol where a formula begins.
MEANT = {"|": "; write abs(x)", "...": "; of a formula that is printed as a summary, .text() has the whole"}


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
    product = "multiplication is written *"
    if before.kind == NAME:
        product += f"; if {before.text} is a function, write {before.text}({token.text})"
    return ParseError(f"expected an operator, found {token.text!r} ({product})", text, token.start)


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


_COMPARISON = 1
_PREFIX = 6
_BINARY = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARISON),
    "|": 2,
    "&": 3,
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "//", "%", "@"), 5),
    "**": _PREFIX + 1,
}
_OPENS = {"group": "(", "call": "(", "list": "[", "index": "["}
_CLOSES = {"group": ")", "call": ")", "list": "]", "index": "]", "results": ""}

# What the reader waits for.
_OPERAND, _OPERATOR, _ATTRIBUTE = range(3)


class SyntaxNode(NamedTuple):
    """One term of the tree.

    Parameters
    ----------
    kind : str
        ``number``, ``name``, ``axis`` (an index by name), ``value`` (None, True, False or ...), ``unary``, ``binary``,
        ``by_index``, ``mapping``, ``transpose``, ``index``, ``slice``, ``list``, ``tuple``, ``call``, ``define`` or
        ``function``.
    value : object
        The number, name or operator; the names before an arrow; of a call its function and the
        names of its keyword arguments; of a slice which of start, stop and step are there; of a function its name,
        its parameters and the place of the first term of its formula.
    children : tuple of int
        Places of the operands in the tree.
    start, end : int
        What of the text it covers.
    caret : int
        Where an error about it points: the operator of a sum, the name of a call.
    """

    kind: str
    value: Any
    children: tuple[int, ...]
    start: int
    end: int
    caret: int


class Tree(NamedTuple):
    """A formula as written; the last of ``terms`` is the result."""

    text: str
    terms: list[SyntaxNode]


def parse_tree(text: str, limits: Limits = LIMITS) -> Tree:
    """Read the text of a formula.

    Parameters
    ----------
    text : str
        A formula, or lines ``name = formula`` and ``f(x) = formula`` and then a formula, or several with commas
        between them.
    limits : Limits, optional

    Returns
    -------
    Tree

    Raises
    ------
    ParseError
        If the text does not follow the grammar.
    LimitError
        If it is too long, too deep or holds a number too large.

    Examples
    --------
    >>> [term.kind for term in parse_tree("-x + 2").terms]
    ['name', 'unary', 'number', 'binary']
    """
    if not isinstance(text, str):
        raise ParseError(f"a formula came as {type(text).__name__}; expected text (str)")
    if len(text) > limits.characters:
        raise LimitError(f"the formula has {len(text)} characters; at most {limits.characters} are read")
    if fewest_nodes(text) > limits.nodes:
        raise LimitError(f"the formula has over {limits.nodes} operators, calls and commas, which is the limit")
    return Tree(text, _Reader(text, limits).read())


class _Operator:
    """An operator that waits for its right operand; an arrow has the indices before it, which start there."""

    __slots__ = ("indices", "nests", "position", "precedence", "start", "symbol")

    def __init__(
        self, symbol: str, precedence: int, position: int, indices: tuple[str, ...] = (), start: int = 0
    ) -> None:
        self.symbol = symbol
        self.precedence = precedence
        self.position = position
        self.nests = precedence >= _PREFIX
        self.indices = indices
        self.start = start


class _Bracket:
    """A bracket that waits for its end: what stood before it, and its items so far."""

    __slots__ = ("begin", "items", "keywords", "kind", "name", "named", "parts", "position", "start")
    nests = True

    def __init__(self, kind: str, position: int, start: int, name: str = "") -> None:
        self.kind = kind
        self.position = position
        self.start = start  # of the whole operand
        self.name = name
        self.items: list[int] = []
        self.keywords: list[str] = []
        self.named = False  # the item being read follows "keyword="
        self.parts: list[int | None] = []  # of the slice being read, which began at:
        self.begin = 0


class _Reader:
    """Operator-precedence parsing with two explicit stacks: finished operands, and what waits for more."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.terms: list[SyntaxNode] = []
        self.operands: list[tuple[int, int, int]] = []  # term, and its start and end with the brackets around it
        self.waiting: list[_Operator | _Bracket] = []
        self.nodes = 0
        self.depth = 0
        self.brackets = 0
        self.arrows = 0
        self.line = -1  # where the current line begins, -1 before its first token
        self.first = -1  # the same for the current argument
        self.last = Token(NEWLINE, "", None, 0, 0)
        self.defined: tuple[str, int] | None = None  # the name that this line defines, and where
        self.parameters: tuple[str, ...] = ()  # of the function that it defines
        self.body = 0  # where the terms of its formula begin
        self.result: int | None = None  # where the line of the result begins

    def read(self) -> list[SyntaxNode]:
        state = _OPERAND
        for token in scan(self.text, self.limits):
            if token.kind in (NEWLINE, END):
                if token.kind == END or not self.brackets:
                    self.end_line(state)
                    state = _OPERAND
                continue
            if state == _OPERAND:
                state = self.operand(token)
            elif state == _OPERATOR:
                state = self.operator(token)
            else:
                state = self.attribute(token)
            self.last = token
        if self.result is None:
            raise self.without_result()
        return self.terms

    # ---------------------------------------------------------------- states; each returns the next

    def operand(self, token: Token) -> int:
        """Read a token where an operand begins."""
        kind, symbol, value, start, end = token
        if self.line < 0:
            if self.result is not None:
                raise self.error("the result comes last; a line before it has the form name = formula", self.result)
            self.line = start
        if self.first < 0:
            self.first = start
        if kind != SYMBOL:
            self.operands.append((len(self.terms), start, end))
            top = self.waiting[-1] if self.arrows and kind == NAME else None
            name = "axis" if isinstance(top, _Bracket) and top.kind == "index" else "name"
            kind_of_term = name if kind == NAME else "number" if kind == NUMBER else "value"
            self.terms.append(SyntaxNode(kind_of_term, symbol if kind == NAME else value, (), start, end, start))
            return _OPERATOR
        if symbol in ("+", "-", "~"):
            return self.wait(_Operator(symbol, _PREFIX, start))
        if symbol == "(":
            return self.open(_Bracket("group", start, start))
        if symbol == "[":
            return self.open(_Bracket("list", start, start))
        top = self.waiting[-1] if self.waiting else None
        if isinstance(top, _Bracket):
            if top.kind == "index":
                if symbol == "...":
                    self.finish(SyntaxNode("value", ..., (), start, end, start))
                    return _OPERATOR
                if symbol == ":":
                    return self.colon(top, None, start)
                if top.parts and symbol in (",", "]"):
                    return self.end_item(top, token, None)
            if symbol == _CLOSES[top.kind] and not top.named and (top.items or symbol == ")"):
                return self.close(top, end)
        raise self.error(f"expected a number, a name or a bracket, found {symbol!r}{MEANT.get(symbol, '')}", start)

    def operator(self, token: Token) -> int:
        """Read a token where an operand has ended."""
        symbol, start = token.text, token.start
        precedence = _BINARY.get(symbol)
        if precedence is not None:
            # What binds as tightly stands to the left and goes first; powers go from the right.
            from_right = symbol == "**" or precedence == _COMPARISON
            self.reduce(precedence + 1 if from_right else precedence)
            top = self.waiting[-1] if self.waiting else None
            if precedence == _COMPARISON and isinstance(top, _Operator) and top.precedence == _COMPARISON:
                raise self.error("comparisons are not chained, and & | bind tighter; write (a < b) & (b < c)", start)
            return self.wait(_Operator(symbol, precedence, start))
        if token.kind != SYMBOL:
            raise unexpected_operand(token, self.last, self.text)
        if symbol == "(":
            return self.open(_Bracket("call", start, self.last.start, self.take_name(token)))
        if symbol == "[":
            return self.open(_Bracket("index", start, self.operands[-1][1]))
        if symbol == ".":
            return _ATTRIBUTE
        if symbol == "=":
            return self.equals(token)
        if symbol == "->":
            return self.arrow(token)
        self.reduce(0)
        top = self.waiting[-1] if self.waiting else None
        if symbol == "," and top is None:
            return self.open_results(token)
        if not isinstance(top, _Bracket) or (top.kind == "results" and symbol != ","):
            raise self.error(f"expected an operator or the end, found {symbol!r}, which closes nothing", start)
        if symbol == ":" and top.kind == "index":
            return self.colon(top, self.operands.pop()[0], start)
        if symbol in (",", _CLOSES[top.kind]):
            return self.end_item(top, token, self.operands.pop()[0])
        closing = f"{_CLOSES[top.kind]!r} to close {_OPENS[top.kind]!r}"
        raise self.error(f"expected an operator, ',' or {closing}, found {symbol!r}", start)

    def attribute(self, token: Token) -> int:
        """Read what follows a dot."""
        if token.text != "T":
            raise self.error(
                f"expected .T (the transpose, the only attribute), found {token.text[:40]!r}; "
                "functions stand before their argument and by themselves: sum(x), not x.sum() or np.sum(x)"
                + advice(token.text, DOTTED),
                token.start,
            )
        child, start, _ = self.operands.pop()
        self.finish(SyntaxNode("transpose", None, (child,), start, token.end, token.start))
        return _OPERATOR

    # ---------------------------------------------------------------- building

    def finish(self, term: SyntaxNode) -> None:
        """Put a finished term into the tree and onto the stack of operands."""
        self.count(term.caret)
        self.operands.append((len(self.terms), term.start, term.end))
        self.terms.append(term)

    def count(self, position: int) -> None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            message = f"the formula has over {self.limits.nodes} operators, calls and commas, which is the limit"
            raise too_large(message, self.text, position)

    def wait(self, what: _Operator | _Bracket) -> int:
        self.waiting.append(what)
        self.depth += what.nests
        if self.depth > self.limits.depth:
            message = f"the formula is nested deeper than {self.limits.depth} levels, which is the limit"
            raise too_large(message, self.text, what.position)
        return _OPERAND

    def open(self, bracket: _Bracket) -> int:
        self.brackets += 1
        self.first = -1
        return self.wait(bracket)

    def open_results(self, token: Token) -> int:
        """Begin a tuple of several results, which has no brackets and ends with its line."""
        if self.defined is not None:
            raise self.error("a comma outside brackets; a name is given to one formula", token.start)
        item, begin, _ = self.operands.pop()
        bracket = _Bracket("results", begin, begin)
        self.wait(bracket)
        return self.end_item(bracket, token, item)

    def reduce(self, floor: int) -> None:
        """Apply the waiting operators that bind at least as tightly as ``floor``."""
        while self.waiting:
            top = self.waiting[-1]
            if not isinstance(top, _Operator) or top.precedence < floor:
                break
            self.waiting.pop()
            self.depth -= top.nests
            right, start, end = self.operands.pop()
            if top.indices:
                self.arrows -= top.symbol == "by_index"
                self.finish(SyntaxNode(top.symbol, top.indices, (right,), top.start, end, top.position))
            elif top.precedence == _PREFIX:
                self.finish(SyntaxNode("unary", top.symbol, (right,), top.position, end, top.position))
            else:
                left, start, _ = self.operands.pop()
                self.finish(SyntaxNode("binary", top.symbol, (left, right), start, end, top.position))

    def colon(self, bracket: _Bracket, part: int | None, start: int) -> int:
        if not bracket.parts:
            bracket.begin = start if part is None else self.terms[part].start
        bracket.parts.append(part)
        if len(bracket.parts) > 2:
            raise self.error("a slice is start:stop:step, found a third ':'", start)
        return _OPERAND

    def end_item(self, bracket: _Bracket, token: Token, item: int | None) -> int:
        """End one item of a bracket, at a comma or at the bracket's end."""
        if bracket.keywords and not bracket.named:
            raise self.error("an argument without a name follows one with a name", token.start)
        bracket.named = False
        if bracket.parts:
            parts = [*bracket.parts, item]
            bracket.parts = []
            given = tuple(n < len(parts) and parts[n] is not None for n in range(3))
            children = tuple(part for part in parts if part is not None)
            self.finish(SyntaxNode("slice", given, children, bracket.begin, token.start, bracket.begin))
            item = self.operands.pop()[0]
        if item is not None:
            bracket.items.append(item)
        if token.text != ",":
            return self.close(bracket, token.end)
        self.count(token.start)
        self.first = -1
        return _OPERAND

    def close(self, bracket: _Bracket, end: int) -> int:
        self.waiting.pop()
        self.depth -= 1
        self.brackets -= bracket.kind != "results"
        items = tuple(bracket.items)
        start = bracket.start
        if bracket.kind == "call":
            self.finish(SyntaxNode("call", (bracket.name, tuple(bracket.keywords)), items, start, end, start))
        elif bracket.kind == "list":
            self.finish(SyntaxNode("list", None, items, start, end, start))
        elif bracket.kind == "index":
            self.finish(SyntaxNode("index", None, (self.operands.pop()[0], *items), start, end, bracket.position))
        elif len(items) == 1 and self.last.text != ",":
            self.operands.append((items[0], start, end))
        else:
            self.finish(SyntaxNode("tuple", None, items, start, end, start))
        return _OPERATOR

    def take_name(self, token: Token) -> str:
        """Take back the name just read, which ``token`` shows to be called or defined."""
        if self.last.kind != NAME or self.terms[-1].kind != "name":
            raise self.error(f"expected an operator, found {token.text!r} (multiplication is written *)", token.start)
        self.operands.pop()
        self.terms.pop()
        return self.last.text

    def take_parameters(self, token: Token) -> None:
        """Take back the call just read, ``f(x, y)``, which ``token`` shows to be the beginning of a function."""
        call = self.terms[-1]
        names = [self.terms[child] for child in call.children]
        values = tuple(str(name.value) for name in names)
        if call.kind != "call" or not names or call.value[1] or {name.kind for name in names} != {"name"}:
            expected = "f(x, y) = formula, with names in the brackets"
            raise self.error(f"'=' behind brackets defines a function; expected {expected}", token.start)
        if len(set(values)) < len(values):
            raise self.error(f"two parameters of {call.value[0]} have one name; expected others", call.caret)
        del self.terms[len(self.terms) - 1 - len(names) :]
        self.operands.pop()
        self.defined, self.parameters, self.body = (call.value[0], self.line), values, len(self.terms)

    def arrow(self, token: Token) -> int:
        """Take back the names just read, the indices of a result, or the variable of a function."""
        alone = not self.waiting or isinstance(self.waiting[-1], _Bracket)
        listed = self.terms[-1]
        mapped = listed.kind == "name"  # of a function: x -> exp(x)
        before = (-1,) if mapped else listed.children if listed.kind == "list" else ()
        names = tuple(str(self.terms[child].value) for child in before)
        if not alone or {self.terms[k].kind for k in before} != {"name"} or len(set(names)) < len(names):
            looping = any(isinstance(what, _Bracket) and what.name in ("scan", "iterate") for what in self.waiting)
            behind = "'->' stands behind the indices of a result, different names: [i, j] -> x[i] * y[j]"
            raise self.error(LOOPS if looping else behind, token.start)
        del self.terms[len(self.terms) - (not mapped) - len(names) :]
        self.arrows += not mapped
        start = self.operands.pop()[1]
        return self.wait(_Operator("mapping" if mapped else "by_index", 0, token.start, names, start))

    def equals(self, token: Token) -> int:
        self.count(token.start)
        top = self.waiting[-1] if self.waiting else None
        if top is None and self.defined is None and self.last.start == self.line:
            self.defined = (self.take_name(token), self.line)
        elif top is None and self.defined is None and self.last.text == ")" and self.operands[-1][1] == self.line:
            self.take_parameters(token)
        elif isinstance(top, _Bracket) and top.kind == "call" and not top.named and self.last.start == self.first:
            name = self.take_name(token)
            if name in top.keywords:
                raise self.error(f"the argument {name!r} is given twice", self.last.start)
            top.keywords.append(name)
            top.named = True
        else:
            raise self.error("'=' names a formula at the beginning of a line; a comparison is written ==", token.start)
        return _OPERAND

    def end_line(self, state: int) -> None:
        """End a line, which is a definition, the result, or blank."""
        for what in reversed(self.waiting):
            if isinstance(what, _Bracket) and what.kind != "results":
                opened, expected = _OPENS[what.kind], _CLOSES[what.kind]
                raise self.error(f"{opened!r} is never closed; expected {expected!r}", what.position)
        if self.line < 0:
            return
        several = self.waiting[0] if self.waiting else None  # a bracket that is still open is that of a tuple
        if state != _OPERATOR and not (isinstance(several, _Bracket) and self.last.text == ","):
            expected = "T" if state == _ATTRIBUTE else "a number, a name or a bracket"
            found = "found the end of the line; inside brackets a formula may go on"
            raise self.error(f"expected {expected}, {found}", self.last.end)
        self.reduce(0)
        if isinstance(several, _Bracket):
            if state == _OPERATOR:
                several.items.append(self.operands.pop()[0])
            self.close(several, self.last.end)
        child, start, end = self.operands.pop()
        if self.defined is None:
            self.result = self.line
        else:
            name, begin = self.defined
            kind, value = ("function", (name, self.parameters, self.body)) if self.parameters else ("define", name)
            self.terms.append(SyntaxNode(kind, value, (child,), start, end, begin))
        self.defined, self.parameters = None, ()
        self.line = self.first = -1

    # ---------------------------------------------------------------- refusals

    def error(self, message: str, position: int) -> ParseError:
        return ParseError(message, self.text, position)

    def without_result(self) -> ParseError:
        if not self.terms:
            return self.error("the formula is empty; expected something like 'x * sin(x)'", 0)
        last = self.terms[-1]
        name = last.value[0] if last.kind == "function" else last.value
        form = f"{name}(x)" if last.kind == "function" else name
        wanted = f"expected a last line with the result, such as {form}, or the formula alone"
        return self.error(f"this only defines {name!r}; {wanted}", last.caret)
