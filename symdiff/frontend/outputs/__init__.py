"""Several arrays as one value: lists, tuples, dicts, named tuples and dataclasses of them.

Takes
    what users write and get: structures of symbols, formulas, numbers
Gives
    templates of structures, their leaves in order, and tuples and dicts that notebooks show
Invariants
    * A structure is its template with its leaves, whatever the leaves are.
Files
    tree     templates, leaves, names of leaves
    display  several formulas as notebooks show them
Add
    a kind of structure: a branch in each function of ``tree``, and of ``_kernels/call.pyx``
"""

from __future__ import annotations

from .tree import (
    LEAF,
    ComplexParts,
    Compound,
    Record,
    Sparse,
    fields_of,
    is_structure,
    leaves,
    names,
    pack,
    show,
    template_of,
    transform,
    unpack,
)

__all__ = [
    "LEAF",
    "ComplexParts",
    "Compound",
    "Record",
    "Sparse",
    "fields_of",
    "is_structure",
    "leaves",
    "names",
    "pack",
    "show",
    "template_of",
    "transform",
    "unpack",
]
