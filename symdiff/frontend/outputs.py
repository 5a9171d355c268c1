"""The shape of several outputs: lists, tuples and dicts of them, within each other.

A kernel of ``hessian(f, (x, y))`` gives a tuple of tuples back because the formula was one. The
structure is a template: the value itself with every output replaced by :data:`LEAF`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import ArgumentError

#: Stands for one output.
LEAF: Final = "output"


def template_of(value: Any) -> Any:
    """Return ``value`` with every output replaced by :data:`LEAF`."""
    if isinstance(value, Mapping):
        return {str(name): template_of(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [template_of(part) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return LEAF


def leaves(value: Any) -> list[Any]:
    """Return the outputs of a structure in order."""
    if isinstance(value, Mapping):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def names(template: Any, path: str = "") -> list[str]:
    """Return a name for every output: the key in a dict, the position elsewhere."""
    if isinstance(template, Mapping):
        return [name for key, part in template.items() for name in names(part, f"{path}_{key}" if path else str(key))]
    if isinstance(template, list | tuple):
        return [name for i, part in enumerate(template) for name in names(part, f"{path}_{i}" if path else f"out{i}")]
    return [path or "out"]


def pack(template: Any, results: Iterator[Any]) -> Any:
    """Put results, in order, into the structure."""
    if isinstance(template, Mapping):
        return {name: pack(part, results) for name, part in template.items()}
    if isinstance(template, list | tuple):
        parts = [pack(part, results) for part in template]
        return parts if isinstance(template, list) else tuple(parts)
    return next(results)


def unpack(template: Any, value: Any) -> list[Any]:
    """Return the parts of a value that should have the structure.

    Raises
    ------
    ArgumentError
        If it has another one.
    """
    if isinstance(template, Mapping):
        if not isinstance(value, Mapping) or value.keys() != template.keys():
            raise ArgumentError(
                f"out must be a dict of arrays with the keys {', '.join(template)}; got {_described(value)}"
            )
        return [leaf for name, part in template.items() for leaf in unpack(part, value[name])]
    if isinstance(template, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(template):
            kind = "list" if isinstance(template, list) else "tuple"
            raise ArgumentError(f"out must be a {kind} of {len(template)} arrays; got {_described(value)}")
        return [leaf for part, own in zip(template, value, strict=True) for leaf in unpack(part, own)]
    return [value]


def show(template: Any, texts: Iterator[str]) -> str:
    """Return the structure in Python's brackets, with a text for every output."""
    if isinstance(template, Mapping):
        return "{" + ", ".join(f"{key}: {show(part, texts)}" for key, part in template.items()) + "}"
    if isinstance(template, list | tuple):
        left, right = "[]" if isinstance(template, list) else "()"
        return left + ", ".join(show(part, texts) for part in template) + right
    return next(texts)


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict with the keys {', '.join(map(str, value))}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, list | tuple) else "")
