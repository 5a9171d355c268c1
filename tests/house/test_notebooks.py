"""The notebooks: what they show is what their code gives, without a notebook's software here, and with it in CI."""

from __future__ import annotations

import ast
import code
import contextlib
import io
import json
import runpy
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
#: What a rich display is called, and the method that gives it.
RICH = {"text/html": "_repr_html_", "text/latex": "_repr_latex_"}


class Cells(code.InteractiveInterpreter):
    """Runs cells as a notebook does, and keeps what the last line of each gives."""

    def __init__(self) -> None:
        super().__init__({"__name__": "__main__"})
        self.shown: list[Any] = []

    def run(self, source: str) -> str:
        """Run a cell and return what it prints."""
        *before, last = ast.parse(source).body
        parts: list[CodeType] = [
            compile(ast.Module(before, []), "cell", "exec"),
            compile(ast.Interactive([last]), "cell", "single"),
        ]
        printed = io.StringIO()
        kept, sys.displayhook = sys.displayhook, self.shown.append
        try:
            with contextlib.redirect_stdout(printed):
                for part in parts:
                    self.runcode(part)
        finally:
            sys.displayhook = kept
        return printed.getvalue()

    def showtraceback(self) -> None:
        raise  # noqa: PLE0704  # what the cell raised


def _words(text: str) -> list[str]:
    """Return text without where lines break, which a notebook's printer chooses."""
    return "".join(text.split()).split(",")


@pytest.mark.rows(1)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_what_the_code_gives(path: Path) -> None:
    cells, compared = Cells(), 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        cells.shown.clear()
        printed = cells.run("".join(cell["source"]))
        value = next((one for one in cells.shown if one is not None), None)
        stored = {output["output_type"]: output for output in cell["outputs"]}
        assert set(stored) <= {"execute_result", "stream"}
        assert printed == "".join(stored.get("stream", {}).get("text", []))
        assert ("execute_result" in stored) == (value is not None)
        if value is None:
            continue
        data = {kind: "".join(text) for kind, text in stored["execute_result"]["data"].items()}
        assert _words(data.pop("text/plain")) == _words(repr(value))
        assert data == {kind: getattr(value, name)() for kind, name in RICH.items() if hasattr(value, name)}
        compared += 1
    assert compared > 5


def test_two_notebooks_are_on_the_site() -> None:
    listed = (DOCS / "index.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        assert f"notebooks/{path.stem}\n" in listed


def test_a_notebook_runs_anew_with_the_same_outputs() -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    assert runpy.run_path(str(DOCS / "execute.py"))["main"](["--check"]) == 0
