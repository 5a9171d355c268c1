"""docs/functions.md and docs/gallery.md say what the tables say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("script", "name"), [("generate.py", "functions.md"), ("gallery.py", "gallery.md")])
def test_page_is_what_the_tables_make(script: str, name: str) -> None:
    page = runpy.run_path(str(DOCS / script))["make_page"]()
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == page, f"the tables changed: run `python docs/{script}`"
