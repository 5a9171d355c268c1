"""Which results are sparse, and in what form, as ``compile`` was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...frontend.array import Array
from ...frontend.outputs import names
from ...graph.sizes import product, show

__all__ = ["FORMATS", "Format", "FormatName", "read_formats"]

#: The words that ``sparse=`` takes.
FormatName: TypeAlias = Literal["csr", "csc", "coo", "bsr", "values"]
FORMATS: tuple[str, ...] = get_args(FormatName)


class Format(NamedTuple):
    """Form in which a sparse result comes back.

    Parameters
    ----------
    kind : str
        One of :data:`FORMATS`.
    rows : int
        How many of its axes are rows.
    symmetric : bool
        Whether it is the Hessian with respect to one array.
    triangle : {"", "lower", "upper"}
        The part of it that is kept.
    """

    kind: str
    rows: int
    symmetric: bool
    triangle: str = ""


def read_formats(
    sparse: Any, triangle: str | None, template: Any, outputs: Sequence[Array]
) -> tuple[Format | None, ...] | None:
    """Return the format of each output, None for those that stay dense; None where nothing is sparse.

    Parameters
    ----------
    sparse : None, str, or structure of these
        A word for all results that qualify, or words in the structure of the outputs.
    triangle : {None, "lower", "upper"}
        The part that is kept of Hessians.
    template : template
        The structure of the outputs.
    outputs : sequence of Array

    Raises
    ------
    ArgumentError
        For words that are none, and structures that do not fit.
    ShapeError
        If a result that is named is no matrix, or none is.
    """
    if triangle not in (None, "lower", "upper"):
        raise ArgumentError(f"triangle={triangle!r}; expected 'lower', 'upper' or None")
    if sparse is None:
        if triangle is not None:
            raise ArgumentError("triangle= is for sparse results; give sparse= as well, or leave it out")
        return None
    titles = names(template)
    if isinstance(sparse, str):
        _check_word(sparse)
        rows = [_rows_of(output) for output in outputs]
        if all(count is None for count in rows):
            told = ", ".join(f"{t} {show(o.shape)}" for t, o in zip(titles, outputs, strict=True))
            raise ShapeError(
                f"sparse={sparse!r}, and no result is a matrix: {told}. Expected a Jacobian or Hessian with two axes "
                "or more, or an array of two axes"
            )
        words: list[str | None] = [None if count is None else sparse for count in rows]
    else:
        words = _words(sparse, template)
        if all(word is None for word in words):
            raise ArgumentError("sparse= names no result; expected one of " + ", ".join(map(repr, FORMATS)))
    found: list[Format | None] = []
    for word, output, title in zip(words, outputs, titles, strict=True):
        if word is None:
            found.append(None)
            continue
        count = _rows_of(output)
        if count is None:
            raise ShapeError(
                f"sparse= names {title}, of shape {show(output.shape)}; expected a Jacobian or Hessian with two axes "
                "or more as it was derived, or an array of two axes"
            )
        found.append(Format(word, count, output.node in output.provenance.facts.hessians))
    if triangle is not None:
        if not any(one is not None and one.symmetric for one in found):
            raise ShapeError(f"triangle={triangle!r}, and no sparse result is the Hessian with respect to one array")
        found = [one if one is None or not one.symmetric else one._replace(triangle=triangle) for one in found]
        for one, title in zip(found, titles, strict=True):
            if one is not None and one.triangle and one.kind == "bsr":
                raise UnsupportedError(f"triangle={triangle!r} for {title}, whose blocks are whole; expected 'csr'")
    for one, output, title in zip(found, outputs, titles, strict=True):
        if one is not None and one.symmetric and _is_oblong(output, one.rows):
            raise UnsupportedError(f"{title} is a Hessian with as many rows as columns no longer")
    return tuple(found)


def _is_oblong(output: Array, rows: int) -> bool:
    return bool(product(output.node.shape[:rows]) != product(output.node.shape[rows:]))


def _check_word(word: Any) -> None:
    if word not in FORMATS:
        raise ArgumentError(
            f"sparse={word!r}; expected {', '.join(map(repr, FORMATS))}, or a dict or tuple of these in the structure "
            "of the outputs, with None for those that stay dense"
        )


def _rows_of(output: Array) -> int | None:
    """Return how many axes of an output are rows, None where it is no matrix."""
    node = output.node
    if node.ndim < 2 or node.dtype != "real":
        return None
    known = [count for one, count in output.provenance.facts.rows if one is node]
    if known:
        return known[-1]
    return 1 if node.ndim == 2 else None


def _words(sparse: Any, template: Any, path: str = "") -> list[str | None]:
    """Return the word for each output."""
    if isinstance(template, Mapping):
        if not isinstance(sparse, Mapping | str | None):
            raise ArgumentError(f"sparse= has a {type(sparse).__name__} where the outputs are a dict; expected a dict")
        own = dict.fromkeys(template, sparse) if sparse is None or isinstance(sparse, str) else sparse
        unknown = [str(key) for key in own if key not in template]
        if unknown:
            raise ArgumentError(f"sparse= names {', '.join(unknown)}; the outputs are {', '.join(template)}")
        return [word for key, part in template.items() for word in _words(own.get(key), part, key)]
    if isinstance(template, list | tuple):
        several = [sparse] * len(template) if sparse is None or isinstance(sparse, str) else sparse
        if not isinstance(several, list | tuple) or len(several) != len(template):
            raise ArgumentError(f"sparse={sparse!r}; expected {len(template)} words, in the structure of the outputs")
        return [word for own, part in zip(several, template, strict=True) for word in _words(own, part, path)]
    if sparse is not None:
        _check_word(sparse)
    return [sparse]
