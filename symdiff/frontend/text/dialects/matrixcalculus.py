"""The language of matrixcalculus.org to arrays: ``x'*A*x``, with ``A`` a matrix and ``x`` a vector.

Vectors are columns, and a row is the transpose of one; both are vectors here, and what they are as factors is kept
beside the array. Lengths are not declared but follow from the formula: they are found first, for all operations, and
arrays are built then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

from ....errors import ArgumentError, ParseError, ShapeError, SymdiffError, with_caret
from ....graph import REAL, delta
from ....graph.sizes import Dim, Size, check_elements, named
from ....ground.advice import close_to
from ....ground.budget import limits as limits_in_force
from ....ground.budget import spend
from ....ground.gc_pause import paused
from ....ground.names import is_name
from ...array import Array, asarray
from ...provenance import of_inputs
from ...shapes import Declaration, assume, read_shape, split, split_kind
from ...symbols import array as make_input
from ..build import Parsed
from ..vocabulary import TEXT_FUNCTIONS
from .axes import SCALAR, Form, JoinedAxes
from .functions import CONSTANTS_OF_DIALECT, FUNCTIONS_OF_DIALECT, Value
from .grammar import KINDS, Operation, kind_of, read_operations, split_declarations

__all__ = ["parse_matrixcalculus"]

#: What most formulas are made of, for messages.
_MAIN = ("tr", "det", "logdet", "inv", "adj", "diag", "sum", "norm1", "norm2", "vector", "matrix", "exp", "log")
#: What to write for functions that the default dialect has.
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
