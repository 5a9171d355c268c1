"""docs/functions.md says what the tables say."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_page_is_what_the_tables_make() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))["make_page"]()
    written = (DOCS / "functions.md").read_text(encoding="utf-8")
    assert written == page, "the tables changed: run `python docs/generate.py`"
