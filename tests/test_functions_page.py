"""docs/functions.md, docs/export.md and docs/gallery.md say what the tables say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize(
    ("script", "function", "name"),
    [
        ("generate.py", "make_page", "functions.md"),
        ("generate.py", "make_export_page", "export.md"),
        ("gallery.py", "make_page", "gallery.md"),
    ],
)
def test_page_is_what_the_tables_make(script: str, function: str, name: str) -> None:
    page = runpy.run_path(str(DOCS / script))[function]()
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == page, f"the tables changed: run `python docs/{script}`"
