"""The functions of matrixcalculus.org: what each gives for an operand, and how that is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from ....errors import ParseError
from ....graph import REAL, broadcast_to, constant
from ....graph.dump import record_text
from ....graph.scalars.functions import FUNCTIONS
from ....graph.sizes import Dim, check_elements
from ....ground.budget import limits as limits_in_force
from ...array import Array, asarray
from ..vocabulary import TEXT_FUNCTIONS
from .axes import SCALAR, Form, JoinedAxes
from .grammar import Operation

__all__ = ["CONSTANTS_OF_DIALECT", "FUNCTIONS_OF_DIALECT", "DialectFunction", "DialectReader", "Value"]

Value: TypeAlias = Array | float | int


class DialectReader(Protocol):
    """What reads a formula, as its functions see it."""

    axes: JoinedAxes

    def shape(self, form: Form) -> tuple[Dim, ...]:
        """Return the shape of the array of a form."""

    def error(self, message: str, operation: Operation) -> ParseError:
        """Return an error that points at an operation."""


class DialectFunction(NamedTuple):
    """A function of the language: what it gives for an operand, and how that is computed."""

    form: Callable[[DialectReader, Operation, Form], Form]
    value: Callable[[DialectReader, Form, Form, Value], Value]

    def __repr__(self) -> str:
        return record_text(self)


def _need(kinds: str, remedy: str = "") -> Callable[[DialectReader, Operation, Form], None]:
    def check(reader: DialectReader, operation: Operation, form: Form) -> None:
        is_matrix = len(form.axes) == 2
        good = {"vector": len(form.axes) == 1, "matrix": is_matrix, "scalar": not form.axes}
        if not any(good[kind] for kind in kinds.split()):
            wanted = kinds.replace(" ", " or ")
            raise reader.error(f"{operation.value}() of {form.name}; expected a {wanted}{remedy}", operation)

    return check


def _of_library(
    name: str, check: Callable[[DialectReader, Operation, Form], None], square: bool = False, keeps: bool = False
) -> DialectFunction:
    def form(reader: DialectReader, operation: Operation, operand: Form) -> Form:
        check(reader, operation, operand)
        if square:
            reader.axes.join(*operand.axes)
        return operand if keeps else SCALAR

    return DialectFunction(form, lambda reader, form, own, value: TEXT_FUNCTIONS[name].call(asarray(value)))


def _diag_form(reader: DialectReader, operation: Operation, operand: Form) -> Form:
    _need("vector matrix")(reader, operation, operand)
    if len(operand.axes) == 1:
        return Form(operand.axes[0], operand.axes[0])
    reader.axes.join(*operand.axes)
    return Form(operand.rows)


def _constant(axes: int) -> DialectFunction:
    def form(reader: DialectReader, operation: Operation, operand: Form) -> Form:
        _need("scalar")(reader, operation, operand)
        return Form(*(reader.axes.new() for _ in range(axes)))

    def value(reader: DialectReader, form: Form, own: Form, given: Value) -> Value:
        shape = reader.shape(form)
        check_elements(shape, limits_in_force())
        return Array(broadcast_to(constant(1.0), shape)) * given

    return DialectFunction(form, value)


def _anything(reader: DialectReader, operation: Operation, form: Form) -> None:
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
