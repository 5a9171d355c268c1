"""The structure of several arrays: lists, tuples, dicts, named tuples and dataclasses of them, within each other.

A kernel of ``hessian(f, (x, y))`` gives a tuple of tuples back because the formula was one, and one of
``gradient(f, {"w": w, "b": b})`` a dict. The structure is a template: the value itself with every array
replaced by :data:`LEAF`, and a :class:`Record` for a value with fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np

from ..errors import ArgumentError

#: Stands for one array.
LEAF: Final = "output"


class Record:
    """The template of a named tuple or a dataclass.

    Parameters
    ----------
    kind : type
        What is made of the parts.
    fields : sequence of str
        Those that its constructor takes, by these names.
    parts : sequence of template
    """

    __slots__ = ("fields", "kind", "parts")

    def __init__(self, kind: type, fields: Sequence[str], parts: Sequence[Any]) -> None:
        self.kind, self.fields, self.parts = kind, tuple(fields), tuple(parts)

    def make(self, values: Sequence[Any]) -> Any:
        """Return a value of the kind with these fields."""
        return self.kind(**dict(zip(self.fields, values, strict=True)))

    def values_of(self, value: Any, what: str) -> list[Any]:
        """Return the parts of a value that should have these fields; ``what`` it is, for the message."""
        if fields_of(value) != self.fields:
            kind = f"a {self.kind.__name__} with the fields {', '.join(self.fields)}"
            raise ArgumentError(f"{what} must be {kind}; got {_described(value)}")
        return [getattr(value, name) for name in self.fields]

    def show(self, texts: Sequence[str]) -> str:
        """Return how a signature shows it, given a text for each part."""
        parts = [f"{name}={text}" for name, text in zip(self.fields, texts, strict=True)]
        return f"{self.kind.__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.kind, self.fields))

    def __repr__(self) -> str:
        return f"Record({', '.join(map(str, self._key()))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()

    def _key(self) -> tuple[Any, ...]:
        return self.kind, self.fields, self.parts


class Compound:
    """A value that stands for several arrays, which it has as attributes.

    Attributes
    ----------
    fields : tuple of str
        Their names.
    template : type of Record
    """

    __slots__ = ()
    fields: ClassVar[tuple[str, ...]]
    template: ClassVar[type[Record]]


class Sparse:
    """A matrix whose pattern a call brings, or a sum of such matrices: it has operators of its own and no elements."""

    __slots__ = ()


class ComplexTemplate(Record):
    """The template of complex numbers: of symbols they are two arrays, of numbers one array of complex numbers."""

    __slots__ = ()

    def make(self, values: Sequence[Any]) -> Any:
        """Return complex numbers of numbers, and a value of the kind of anything else."""
        real, imag = values
        if not isinstance(real, np.ndarray | np.generic | float):
            return self.kind(real, imag)
        # not real + 1j * imag, whose products with 0 are nan where a part is infinite
        result = np.empty(np.shape(real), np.result_type(real, np.complex64))
        result.real, result.imag = real, imag
        return result if result.ndim else result[()]

    def values_of(self, value: Any, what: str) -> list[Any]:
        """Return the parts of complex numbers, which are not copied; those of real ones, whose imaginary part is 0."""
        if isinstance(value, ComplexParts):
            return [value.real, value.imag]  # type: ignore[attr-defined]  # its classes have them as properties
        numbers = np.asarray(value)
        if numbers.dtype.kind == "c":
            return [numbers.real, numbers.imag]
        if numbers.dtype.kind not in "buif":
            raise ArgumentError(f"{what} must be an array of complex numbers; got {_described(value)}")
        return [numbers, np.broadcast_to(numbers.dtype.type(0), numbers.shape)]


class ComplexParts(Compound):
    """A value made of arrays for its real and its imaginary part, ``real`` and ``imag``."""

    __slots__ = ()
    fields = ("real", "imag")
    template = ComplexTemplate


# classes are hashable, which mypy does not see in a call of a cached function
@lru_cache(maxsize=256)
def _fields_of(kind: type) -> tuple[str, ...] | None:
    if issubclass(kind, Compound):
        return kind.fields
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    return tuple(one.name for one in dataclasses.fields(kind) if one.init) if dataclasses.is_dataclass(kind) else None


@lru_cache(maxsize=256)
def _holds_others(kind: type) -> bool:
    return issubclass(kind, Mapping | list | tuple) or _fields_of(kind) is not None  # type: ignore[arg-type, unused-ignore]


def fields_of(value: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a named tuple or a dataclass, None for any other value."""
    return _fields_of(type(value))  # type: ignore[arg-type, unused-ignore]


def is_structure(value: Any) -> bool:
    """Tell whether a value holds others."""
    return _holds_others(type(value))  # type: ignore[arg-type, unused-ignore]


def _never(value: Any) -> bool:
    return False


def template_of(value: Any, is_leaf: Callable[[Any], bool] = _never) -> Any:
    """Return ``value`` with every array, and every part that ``is_leaf`` is true of, replaced by :data:`LEAF`."""
    if not is_structure(value) or is_leaf(value):
        return LEAF
    if isinstance(value, Mapping):
        return {str(name): template_of(part, is_leaf) for name, part in value.items()}
    fields = fields_of(value)
    if fields is not None:
        kind = value.template if isinstance(value, Compound) else Record
        return kind(type(value), fields, [template_of(getattr(value, name), is_leaf) for name in fields])
    parts = [template_of(part, is_leaf) for part in value]
    return parts if isinstance(value, list) else tuple(parts)


def leaves(value: Any, is_leaf: Callable[[Any], bool] = _never) -> list[Any]:
    """Return the arrays of a structure in order, and the parts that ``is_leaf`` is true of."""
    if not is_structure(value) or is_leaf(value):
        return [value]
    if isinstance(value, Mapping):
        return [leaf for part in value.values() for leaf in leaves(part, is_leaf)]
    fields = fields_of(value)
    if fields is not None:
        return [leaf for name in fields for leaf in leaves(getattr(value, name), is_leaf)]
    return [leaf for part in value for leaf in leaves(part, is_leaf)]


def transform(value: Any, function: Callable[[Any], Any], is_leaf: Callable[[Any], bool] = _never) -> Any:
    """Return the structure with ``function`` of every leaf in its place; keys of dicts become text."""
    return pack(template_of(value, is_leaf), map(function, leaves(value, is_leaf)))


def names(template: Any, path: str = "") -> list[str]:
    """Return a name for every array: the key in a dict, the field of a record, the position elsewhere."""
    if isinstance(template, Mapping | Record):
        parts = template if isinstance(template, Mapping) else dict(zip(template.fields, template.parts, strict=True))
        return [name for key, part in parts.items() for name in names(part, f"{path}_{key}" if path else str(key))]
    if isinstance(template, list | tuple):
        return [name for i, part in enumerate(template) for name in names(part, f"{path}_{i}" if path else f"out{i}")]
    return [path or "out"]


def pack(template: Any, results: Iterator[Any]) -> Any:
    """Put results, in order, into the structure."""
    if isinstance(template, Mapping):
        return {name: pack(part, results) for name, part in template.items()}
    if isinstance(template, Record):
        return template.make([pack(part, results) for part in template.parts])
    if isinstance(template, list | tuple):
        parts = [pack(part, results) for part in template]
        return parts if isinstance(template, list) else tuple(parts)
    return next(results)


def unpack(template: Any, value: Any, what: str = "out") -> list[Any]:
    """Return the parts of a value that should have the structure; ``what`` it is, for the message.

    Raises
    ------
    ArgumentError
        If it has another one.
    """
    if isinstance(template, Mapping):
        if not isinstance(value, Mapping) or {str(name) for name in value} != template.keys():
            raise ArgumentError(
                f"{what} must be a dict of arrays with the keys {', '.join(template)}; got {_described(value)}"
            )
        own = {str(name): part for name, part in value.items()}
        return [leaf for name, part in template.items() for leaf in unpack(part, own[name], what)]
    if isinstance(template, Record):
        parts = zip(template.parts, template.values_of(value, what), strict=True)
        return [leaf for part, own in parts for leaf in unpack(part, own, what)]
    if isinstance(template, list | tuple):
        rows = isinstance(value, np.ndarray) and value.ndim > 0 and what != "out"
        if not (rows or isinstance(value, list | tuple)) or len(value) != len(template):
            kind = "list" if isinstance(template, list) else "tuple"
            raise ArgumentError(f"{what} must be a {kind} of {len(template)} arrays; got {_described(value)}")
        return [leaf for part, one in zip(template, value, strict=True) for leaf in unpack(part, one, what)]
    return [value]


def show(template: Any, texts: Iterator[str]) -> str:
    """Return the structure in Python's brackets, with a text for every output."""
    if isinstance(template, Mapping):
        return "{" + ", ".join(f"{key}: {show(part, texts)}" for key, part in template.items()) + "}"
    if isinstance(template, Record):
        return template.show([show(part, texts) for part in template.parts])
    if isinstance(template, list | tuple):
        left, right = "[]" if isinstance(template, list) else "()"
        return left + ", ".join(show(part, texts) for part in template) + right
    return next(texts)


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict with the keys {', '.join(map(str, value))}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, list | tuple) else "")
