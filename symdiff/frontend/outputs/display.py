"""Several formulas as notebooks show them: tuples and dicts that have LaTeX, as single formulas do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..array import Array
from .structure import fields_of

__all__ = ["FormulaDict", "FormulaTuple", "ShownText", "rows_of_latex", "shown", "table"]


class FormulaTuple(tuple[Any, ...]):
    """A tuple of formulas, which a notebook shows in LaTeX."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        return _in_rows(self)


class FormulaDict(dict[str, Any]):
    """A dict of formulas, which a notebook shows in LaTeX."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        return _in_rows(self)


class ShownText(str):
    """Text that a notebook shows as it is, without quotes."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{_escaped(self)}</pre>"


def shown(value: Any) -> Any:
    """Return a structure of formulas with its tuples and dicts as those that notebooks show."""
    if isinstance(value, Mapping):
        return FormulaDict({name: shown(part) for name, part in value.items()})
    if type(value) is tuple:
        return FormulaTuple(map(shown, value))
    return [shown(part) for part in value] if isinstance(value, list) else value


def rows_of_latex(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Return the formulas of a structure, each with where it stands, such as ``[0]["w"]``."""
    if isinstance(value, Array):
        return [(path, value.latex())]
    if isinstance(value, Mapping):
        return [row for name, part in value.items() for row in rows_of_latex(part, f'{path}["{name}"]')]
    fields = fields_of(value)
    if fields is not None:
        return [row for name in fields for row in rows_of_latex(getattr(value, name), f"{path}.{name}")]
    if isinstance(value, list | tuple):
        return [row for k, part in enumerate(value) for row in rows_of_latex(part, f"{path}[{k}]")]
    return [(path, rf"\text{{{value}}}")]


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of two columns; its cells are text, which is quoted."""
    cells = "".join(f"<tr><th>{_escaped(name)}</th><td>{_escaped(text)}</td></tr>" for name, text in rows)
    return f'<table style="text-align: left">{cells}</table>'


def _escaped(text: str) -> str:
    import html

    return html.escape(text)


def _in_rows(value: Any) -> str:
    from ...printing.latex import aligned

    quote = str.maketrans({"_": r"\_", "{": r"\{", "}": r"\}", "#": r"\#", "%": r"\%", "&": r"\&", "$": r"\$"})
    rows = [rf"\texttt{{{path.translate(quote)}}} &\colon {latex}" for path, latex in rows_of_latex(value)]
    return rf"$\displaystyle {aligned(rows, ' ')}$"
