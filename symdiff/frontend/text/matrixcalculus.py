"""The language of matrixcalculus.org (Laue, Mitterreiter and Giesen 2018) to arrays: ``x'*A*x``.

The language is MATLAB's: ``*`` is the product of matrices, ``.*`` the one element by element, ``'`` a transpose.
Operators from loosest to tightest::

    + -
    * / .* ./
    -x +x
    ^ .^        from the left, as in MATLAB; an exponent may have a sign: x.^-1
    '           behind its operand
    f(x)

The grammar gives a list of operations, operands first, so that building needs a stack and no recursion. Lines in front
of the formula may declare letters: ``A is a symmetric matrix``, ``x, y vector``.

Vectors are columns, and a row is the transpose of one; both are vectors here, and their form as factors is kept beside
the array. Lengths are not declared: ``x'*A*x`` says that both axes of ``A`` are as long as ``x``. Each axis is a number
here, numbers that stand for one length are joined for all operations, and then arrays are built.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, NamedTuple, TypeAlias

from ...errors import ArgumentError, LimitError, ParseError, ShapeError, SymdiffError, with_caret
from ...graph import REAL, broadcast_to, constant, delta
from ...graph.dump import record_text
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim, Size, check_elements, named, show
from ...ground.advice import close_to, names_near
from ...ground.budget import limits as limits_in_force
from ...ground.budget import spend
from ...ground.gc_pause import paused
from ...ground.grammar import read_number, too_large
from ...ground.limits import Limits
from ...ground.names import NAME_PATTERN, is_name
from ..array import Array, asarray
from ..provenance import of_inputs
from ..shapes import Declaration, assume, read_shape, split, split_kind
from ..symbols import array as make_input
from .parse import Parsed
from .vocabulary import TEXT_FUNCTIONS

#: Kinds of letters.
KINDS = ("scalar", "vector", "row vector", "matrix", "symmetric matrix")

#: Other names of kinds.
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
    return _GrammarReader(text, limits).read(start)


class _GrammarReader:
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


# ---------------------------------------------------------------------------- lengths


class JoinedAxes:
    """Axes of a formula, some of which are known to be of one length."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._lengths: dict[int, Dim] = {}

    def new(self, length: Dim | None = None) -> int:
        """Return a further axis, of a length that is known or to be found."""
        self._parents.append(len(self._parents))
        if length is not None:
            self._lengths[len(self._parents) - 1] = length
        return len(self._parents) - 1

    def find(self, axis: int) -> int:
        """Return the axis that stands for all of its length."""
        root = axis
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[axis] != root:  # the next one to ask finds it at once
            self._parents[axis], axis = root, self._parents[axis]
        return root

    def join(self, first: int, second: int) -> None:
        """Note that two axes are of one length.

        Raises
        ------
        ShapeError
            If they have different ones.
        """
        a, b = self.find(first), self.find(second)
        if a == b:
            return
        lengths = [self._lengths[each] for each in (a, b) if each in self._lengths]
        if len(lengths) == 2 and lengths[0] != lengths[1]:
            raise ShapeError(f"an axis of {show((lengths[0],))} meets one of {show((lengths[1],))}")
        self._parents[b] = a
        if lengths:
            self._lengths[a] = lengths[0]

    def length(self, axis: int) -> Dim | None:
        """Return the length of an axis, None while it is not known."""
        return self._lengths.get(self.find(axis))

    def set_length(self, axis: int, length: Dim) -> None:
        """Give an axis its length."""
        self._lengths[self.find(axis)] = length


class Form(NamedTuple):
    """Axes of a value as a factor: that along rows and that along columns, None where it has none.

    A number has neither, a column has rows, a row has columns, a matrix has both.
    """

    rows: int | None = None
    columns: int | None = None

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes that are there."""
        return tuple(axis for axis in self if axis is not None)

    @property
    def name(self) -> str:
        """Name of the form, for messages."""
        if self.rows is None:
            return "a number" if self.columns is None else "a row (a transposed vector)"
        return "a vector" if self.columns is None else "a matrix"


#: Form of a number.
SCALAR = Form()


#: Functions of most formulas, for messages.
_MAIN = ("tr", "det", "logdet", "inv", "adj", "diag", "sum", "norm1", "norm2", "vector", "matrix", "exp", "log")
#: Forms to write for functions that the default dialect has.
_DEFAULT = ", but of the default dialect, whose text is that of NumPy"
_OTHER_FUNCTIONS = {
    **dict.fromkeys(("max", "min", "maximum", "minimum", "where", "mean", "softmax", "logsumexp"), _DEFAULT),
    "eye": ", but the identity itself, eye, whose size follows",
    "logistic": "; write sigmoid(x)",
    "norm": "; write norm2(x)",
    **dict.fromkeys(("normf", "normF", "norm_f", "fro"), "; write sqrt(tr(A'*A))"),
    "vec": "; write what it is summed by: sum(vec(A).^2) is tr(A'*A)",
    "ones": "; write vector(1) or matrix(1)",
    "transpose": "; write A'",
    "dot": "; write x'*y",
}

#: Letters for lengths, in the order of their use.
_LETTERS = "nmpqrstuvw"


def parse_matrixcalculus(text: str, given: Mapping[str, Any]) -> Parsed:
    """Read a formula in the language of matrixcalculus.org.

    Parameters
    ----------
    text : str
        The formula, and lines in front of it that declare letters: ``A symmetric matrix``.
    given : mapping of str to str or shape
        What letters are: one of :data:`~.grammar.KINDS`, or a shape.

    Returns
    -------
    Parsed

    Raises
    ------
    ParseError
        If the text does not follow the grammar, or a letter is not declared.
    ShapeError
        If lengths do not fit, or nothing tells one.

    Examples
    --------
    >>> print(parse_matrixcalculus("x'*A*x", {"x": "vector", "A": "matrix"}).result)
    x @ A @ x
    """
    limits = limits_in_force()
    if not isinstance(text, str):
        raise ParseError(f"a formula came as {type(text).__name__}; expected text (str)")
    declared, start = split_declarations(text[: limits.characters])
    for name in given:
        if name in declared:
            raise ArgumentError(f"{name!r} is declared in the text and beside it; declare it once")
    return _build(text, start, {**declared, **given})


@paused
def _build(text: str, start: int, declared: Mapping[str, Any]) -> Parsed:
    operations = read_operations(text, start, limits_in_force())
    reader = _Reader(text, declared)
    forms = reader.find_forms(operations)
    inputs = reader.make_inputs()
    result = reader.make_arrays(operations, forms, inputs)
    record = of_inputs(one.node for one in inputs.values())  # kernels take them in the order of their declarations
    return Parsed(Array(result.node, record.joined(result.provenance)), inputs, {}, set(reader.mentioned), set())


class _Reader:
    """Finds what each operation gives, and then builds the arrays."""

    def __init__(self, text: str, declared: Mapping[str, Any]) -> None:
        self.text = text
        self.axes = JoinedAxes()
        self.inputs: dict[str, tuple[Form, Any]] = {}
        self.mentioned: dict[str, None] = {}
        for name, what in declared.items():
            spend(1)
            if not isinstance(name, str) or not is_name(name):
                word = ", which is a word of Python's" if isinstance(name, str) and iskeyword(name) else ""
                raise ArgumentError(f"an input is called {name!r:.80}{word}; expected letters, digits and _")
            if name in FUNCTIONS_OF_DIALECT or name in CONSTANTS_OF_DIALECT:
                raise ArgumentError(f"{name!r} is a function of this language; expected another name for an input")
            self.inputs[name] = self._declared(name, what)

    def _declared(self, name: str, what: Any) -> tuple[Form, Any]:
        """Return the form of an input, and what is assumed of it."""
        new = self.axes.new
        if isinstance(what, str):
            what = kind_of(what) or what
        if what in KINDS[:4]:
            return {
                "scalar": lambda: SCALAR,
                "vector": lambda: Form(new()),
                "row vector": lambda: Form(None, new()),
                "matrix": lambda: Form(new(), new()),
            }[what](), None
        if what == KINDS[4]:
            side = new()
            return Form(side, side), assume(symmetric=True)
        plain, assumptions = split(what)
        kind, sizes = split_kind(plain)
        shape = read_shape(name, sizes)
        if kind is not REAL or len(shape) > 2:
            raise ArgumentError(f"{name} is declared {what!r:.80}; expected one of {', '.join(KINDS)}, or a shape")
        axes = [new(size) for size in shape]
        if len(axes) == 2 and shape[0] == shape[1]:
            axes[1] = axes[0]
        return Form(*axes), assumptions

    # ---------------------------------------------------------------- what each operation gives

    def find_forms(self, operations: list[Operation]) -> list[Form]:
        """Return what each operation gives, and join axes of one length on the way."""
        forms: list[Form] = []
        stack: list[Form] = []
        for operation in operations:
            spend(1)
            count = len(stack) - operation.takes
            operands = stack[count:]
            del stack[count:]
            try:
                form = self._form(operation, operands)
            except ShapeError as error:
                raise ShapeError(with_caret(str(error), self.text, operation.place)) from None
            stack.append(form)
            forms.append(form)
        for name in self.inputs:
            if name not in self.mentioned:
                raise ArgumentError(f"{name!r} is declared, and the formula does not mention it")
        return forms

    def _form(self, operation: Operation, operands: list[Form]) -> Form:
        kind, value = operation.kind, operation.value
        if kind == "number":
            return SCALAR
        if kind == "name":
            return self._name(operation)
        if kind == "sign":
            return operands[0]
        if kind == "transpose":
            return Form(operands[0].columns, operands[0].rows)
        if kind == "call":
            return self._call(operation, operands)
        return _BINARY[value](self, operation, *operands)

    def _name(self, operation: Operation) -> Form:
        name = operation.value
        if name in self.inputs:
            self.mentioned[name] = None
            return self.inputs[name][0]
        if name == "eye":
            side = self.axes.new()
            return Form(side, side)
        if name in CONSTANTS_OF_DIALECT:
            return SCALAR
        if name in FUNCTIONS_OF_DIALECT:
            raise self.error(f"{name!r} is a function; expected its argument, {name}(...)", operation)
        known = ", ".join(self.inputs) or "none"
        if name == "T" and self.text[: operation.place].rstrip()[-1:] == "^":
            raise self.error("a transpose is written A'", operation)
        raise self.error(
            f"{name!r} is not declared (declared: {known}); say what it is, {name}='vector' or a line '{name} vector' "
            f"in front of the formula: {', '.join(KINDS)}",
            operation,
        )

    def _call(self, operation: Operation, operands: list[Form]) -> Form:
        name = operation.value
        if name in self.inputs:
            message = f"{name!r} is declared, and no function; multiplication is written {name}*(...)"
            raise self.error(message, operation)
        function = FUNCTIONS_OF_DIALECT.get(name)
        if function is None:
            advice = _OTHER_FUNCTIONS.get(name, close_to(name, FUNCTIONS_OF_DIALECT))
            main = ", ".join(_MAIN)
            raise self.error(
                f"{name!r} is no function of this language{advice}; it has {main} and the functions of numbers of the "
                "default dialect",
                operation,
            )
        if len(operands) != 1:
            raise self.error(f"{name}() takes 1 argument, found {len(operands)}", operation)
        return function.form(self, operation, operands[0])

    def _same(self, operation: Operation, a: Form, b: Form) -> Form:
        """Join two values of one form, element by element."""
        if (a.rows is None) != (b.rows is None) or (a.columns is None) != (b.columns is None):
            raise self.error(f"{operation.value!r} of {a.name} and {b.name}{_remedy(operation.value, a, b)}", operation)
        for first, second in zip(a.axes, b.axes, strict=True):
            self.axes.join(first, second)
        return a

    def _elementwise(self, operation: Operation, a: Form, b: Form) -> Form:
        if not a.axes or not b.axes:
            return a if a.axes else b
        return self._same(operation, a, b)

    def _times(self, operation: Operation, a: Form, b: Form) -> Form:
        if not a.axes or not b.axes:
            return a if a.axes else b
        if (a.columns is None) != (b.rows is None):
            raise self.error(f"'*' of {a.name} and {b.name}{_remedy('*', a, b)}", operation)
        if a.columns is not None and b.rows is not None:
            self.axes.join(a.columns, b.rows)
        return Form(a.rows, b.columns)

    def _divided(self, operation: Operation, a: Form, b: Form) -> Form:
        if b.axes:
            instead = "A * inv(B)" if b.rows is not None and b.columns is not None else "./ for quotients of elements"
            raise self.error(f"'/' by {b.name}; write {instead}", operation)
        return a

    def _power(self, operation: Operation, a: Form, b: Form) -> Form:
        if b.axes or (a.axes and len(a.axes) < 2):
            raise self.error(f"'^' of {a.name} and {b.name}; powers of elements are written .^", operation)
        if a.axes:
            self.axes.join(*a.axes)
        return a

    # ---------------------------------------------------------------- lengths

    def make_inputs(self) -> dict[str, Array]:
        """Return the inputs, with letters for lengths that are not given."""
        own = {size_name for form, _ in self.inputs.values() for axis in form.axes for size_name in self._names(axis)}
        taken = {*self.inputs, *own, *CONSTANTS_OF_DIALECT, *FUNCTIONS_OF_DIALECT}
        names = (f"{letter}{k or ''}" for k in itertools.count() for letter in _LETTERS)
        letters = (name for name in names if name not in taken)
        found = {}
        for name, (form, assumptions) in self.inputs.items():
            spend(1)
            for axis in form.axes:
                if self.axes.length(axis) is None:
                    self.axes.set_length(axis, named(next(letters)))
            shape = self.shape(form)
            found[name] = make_input(name, shape if assumptions is None else Declaration(shape, assumptions))
        return found

    def _names(self, axis: int) -> frozenset[str]:
        length = self.axes.length(axis)
        return length.names if isinstance(length, Size) else frozenset()

    def shape(self, form: Form) -> tuple[Dim, ...]:
        """Return the shape of the array of a form."""
        found = tuple(self.axes.length(axis) for axis in form.axes)
        if any(length is None for length in found):
            raise ShapeError("no input tells this length; expected it beside a vector or matrix of that length")
        return tuple(length for length in found if length is not None)

    # ---------------------------------------------------------------- arrays

    def make_arrays(self, operations: list[Operation], forms: list[Form], inputs: Mapping[str, Array]) -> Array:
        """Build the array of each operation."""
        stack: list[tuple[Form, Value]] = []
        for operation, form in zip(operations, forms, strict=True):
            spend(1)
            count = len(stack) - operation.takes
            operands = stack[count:]
            del stack[count:]
            try:
                value = self._value(operation, form, operands, inputs)
                if isinstance(value, Array):
                    check_elements(value.shape, limits_in_force())
            except ParseError:
                raise
            except SymdiffError as error:
                raise type(error)(with_caret(str(error), self.text, operation.place)) from error
            stack.append((form, value))
        return asarray(stack[0][1])

    def _value(
        self, operation: Operation, form: Form, operands: list[tuple[Form, Value]], inputs: Mapping[str, Array]
    ) -> Value:
        kind, symbol = operation.kind, operation.value
        if kind == "number":
            return float(symbol)
        if kind == "name":
            if symbol in inputs:
                return inputs[symbol]
            if symbol == "eye":
                (side, _) = self.shape(form)
                return Array(delta(side, side))
            return CONSTANTS_OF_DIALECT[symbol]
        if kind == "call":
            return FUNCTIONS_OF_DIALECT[symbol].value(self, form, *operands[0])
        values = [value for _, value in operands]
        if kind == "sign":
            return -values[0] if symbol == "-" else values[0]
        if kind == "transpose":
            return asarray(values[0]).T if len(form.axes) == 2 else values[0]
        if symbol == "*":
            return _multiply(*operands)
        if symbol in ("^", ".^") and (symbol == ".^" or not form.axes):
            return asarray(values[0]) ** values[1]
        if symbol == "^":
            return self._matrix_power(operation, *values)
        a, b = values
        return a + b if symbol == "+" else a - b if symbol == "-" else a * b if symbol == ".*" else asarray(a) / b

    def _matrix_power(self, operation: Operation, matrix: Value, exponent: Value) -> Value:
        if isinstance(exponent, Array) or exponent != int(exponent) or abs(exponent) > 64:
            message = "'^' of a matrix takes a whole number up to 64; powers of elements are written .^"
            raise self.error(message, operation)
        found: Array = TEXT_FUNCTIONS["matrix_power"].call(matrix, int(exponent))
        return found

    def error(self, message: str, operation: Operation) -> ParseError:
        """Return an error that points at an operation."""
        return ParseError(message, self.text, operation.place)


def _multiply(first: tuple[Form, Value], second: tuple[Form, Value]) -> Value:
    """Return the product of matrices, rows, columns and numbers."""
    (f, a), (g, b) = first, second
    if not f.axes or not g.axes:
        return a * b
    if f.columns is None:  # a column times a row
        outer: Array = TEXT_FUNCTIONS["outer"].call(a, b)
        return outer
    return asarray(a) @ asarray(b)


def _remedy(symbol: str, a: Form, b: Form) -> str:
    """Say what may have been meant."""
    if symbol in ("+", "-") and not (a.axes and b.axes):
        other = a if a.axes else b
        return f"; write {'matrix' if len(other.axes) == 2 else 'vector'}(1) times the number"
    if symbol == "*" and len(a.axes) == len(b.axes) == 1:
        return "; write x'*y, x*y' or x.*y"
    return "; one of them may have to be transposed, A'"


_BINARY: dict[str, Callable[[_Reader, Operation, Form, Form], Form]] = {
    "+": _Reader._same,
    "-": _Reader._same,
    "*": _Reader._times,
    "/": _Reader._divided,
    ".*": _Reader._elementwise,
    "./": _Reader._elementwise,
    "^": _Reader._power,
    ".^": _Reader._elementwise,
}


# ---------------------------------------------------------------------------- functions

Value: TypeAlias = Array | float | int


class DialectFunction(NamedTuple):
    """Function of the language: the form of its result, and its value."""

    form: Callable[[_Reader, Operation, Form], Form]
    value: Callable[[_Reader, Form, Form, Value], Value]

    def __repr__(self) -> str:
        return record_text(self)


def _need(kinds: str, remedy: str = "") -> Callable[[_Reader, Operation, Form], None]:
    def check(reader: _Reader, operation: Operation, form: Form) -> None:
        is_matrix = len(form.axes) == 2
        good = {"vector": len(form.axes) == 1, "matrix": is_matrix, "scalar": not form.axes}
        if not any(good[kind] for kind in kinds.split()):
            wanted = kinds.replace(" ", " or ")
            raise reader.error(f"{operation.value}() of {form.name}; expected a {wanted}{remedy}", operation)

    return check


def _of_library(
    name: str, check: Callable[[_Reader, Operation, Form], None], square: bool = False, keeps: bool = False
) -> DialectFunction:
    def form(reader: _Reader, operation: Operation, operand: Form) -> Form:
        check(reader, operation, operand)
        if square:
            reader.axes.join(*operand.axes)
        return operand if keeps else SCALAR

    return DialectFunction(form, lambda reader, form, own, value: TEXT_FUNCTIONS[name].call(asarray(value)))


def _diag_form(reader: _Reader, operation: Operation, operand: Form) -> Form:
    _need("vector matrix")(reader, operation, operand)
    if len(operand.axes) == 1:
        return Form(operand.axes[0], operand.axes[0])
    reader.axes.join(*operand.axes)
    return Form(operand.rows)


def _constant(axes: int) -> DialectFunction:
    def form(reader: _Reader, operation: Operation, operand: Form) -> Form:
        _need("scalar")(reader, operation, operand)
        return Form(*(reader.axes.new() for _ in range(axes)))

    def value(reader: _Reader, form: Form, own: Form, given: Value) -> Value:
        shape = reader.shape(form)
        check_elements(shape, limits_in_force())
        return Array(broadcast_to(constant(1.0), shape)) * given

    return DialectFunction(form, value)


def _anything(reader: _Reader, operation: Operation, form: Form) -> None:
    """Take any form."""


_ELEMENTS = [name for name, row in FUNCTIONS.items() if row.arity == 1 and row.takes is REAL and name in TEXT_FUNCTIONS]
_ELEMENTS += ["relu", "logit", "square", "asin", "acos", "atan", "sec", "csc", "cot"]
_OF_MATRICES = {"tr": "trace", "trace": "trace", "det": "det", "logdet": "logdet"}

FUNCTIONS_OF_DIALECT: dict[str, DialectFunction] = {
    **{name: _of_library(name, _anything, keeps=True) for name in _ELEMENTS},
    **{name: _of_library(own, _need("matrix"), square=True) for name, own in _OF_MATRICES.items()},
    "inv": _of_library("inv", _need("matrix"), square=True, keeps=True),
    "adj": _of_library("adjugate", _need("matrix"), square=True, keeps=True),
    "diag": DialectFunction(_diag_form, lambda reader, form, own, value: TEXT_FUNCTIONS["diag"].call(asarray(value))),
    "sum": _of_library("sum", _need("vector", "; of a matrix write vector(1)'*A*vector(1)")),
    "norm1": DialectFunction(
        _of_library("sum", _need("vector", "; of a matrix write sum(abs(...)) of what is meant")).form,
        lambda reader, form, own, value: TEXT_FUNCTIONS["sum"].call(abs(asarray(value))),
    ),
    "norm2": _of_library("norm", _need("vector", "; the Frobenius norm of a matrix is sqrt(tr(A'*A))")),
    "vector": _constant(1),
    "matrix": _constant(2),
}
#: Names with a value of their own.
CONSTANTS_OF_DIALECT: dict[str, float] = {"pi": 3.141592653589793, "eye": 1.0}
