"""Several formulas as notebooks show them: tuples and dicts that have LaTeX, as single formulas do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .array import Array
from .outputs import fields_of, transform

__all__ = ["FormulaDict", "FormulaTuple", "ShownText", "rows_of", "shown", "table"]

#: An array, or a structure of them.
Part = TypeVar("Part")


class _Formulas:
    """Methods of a structure of formulas, as each of them has."""

    __slots__ = ()

    def latex(self) -> str:
        r"""Return the formulas in LaTeX, a row each, without dollar signs."""
        return _in_rows(self)

    def unicode(self) -> str:
        """Return the formulas as a book prints them, a line each."""
        rows = rows_of(self, Array.unicode)
        width = max((len(path) for path, _ in rows), default=0)
        return "\n".join(f"{path:{width}}  {text}" for path, text in rows)

    @property
    def sympy(self) -> Any:
        """The formulas as SymPy expressions, matrices or arrays, in a structure like this one."""
        return transform(self, lambda part: part.sympy if isinstance(part, Array) else part)

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {_in_rows(self, _brief)}$"


class FormulaTuple(_Formulas, tuple[Part, ...]):
    """A tuple of formulas, which a notebook shows in LaTeX."""

    __slots__ = ()


class FormulaDict(_Formulas, dict[str, Part]):
    """A dict of formulas, which a notebook shows in LaTeX."""

    __slots__ = ()


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


def rows_of(value: Any, text: Callable[[Array], str], path: str = "") -> list[tuple[str, str]]:
    """Return the formulas of a structure as text, each with where it stands, such as ``[0]["w"]``."""
    if isinstance(value, Array):
        return [(path, text(value))]
    if isinstance(value, Mapping):
        return [row for name, part in value.items() for row in rows_of(part, text, f'{path}["{name}"]')]
    fields = fields_of(value)
    if fields is not None:
        return [row for name in fields for row in rows_of(getattr(value, name), text, f"{path}.{name}")]
    if isinstance(value, list | tuple):
        return [row for k, part in enumerate(value) for row in rows_of(part, text, f"{path}[{k}]")]
    return [(path, rf"\text{{{value}}}")]


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of two columns; its cells are text, which is quoted."""
    cells = "".join(f"<tr><th>{_escaped(name)}</th><td>{_escaped(text)}</td></tr>" for name, text in rows)
    return f'<table style="text-align: left">{cells}</table>'


def _escaped(text: str) -> str:
    import html

    return html.escape(text)


def _brief(formula: Array) -> str:
    return formula._shown("latex", ".latex()")


def _in_rows(value: Any, latex: Callable[[Array], str] = Array.latex) -> str:
    from ..printing.latex import aligned

    quote = str.maketrans({"_": r"\_", "{": r"\{", "}": r"\}", "#": r"\#", "%": r"\%", "&": r"\&", "$": r"\$"})
    rows = [rf"\texttt{{{path.translate(quote)}}} &\colon {text}" for path, text in rows_of(value, latex)]
    return aligned(rows, " ")
