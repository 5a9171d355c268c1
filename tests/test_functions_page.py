"""docs/functions.md says what the tables say."""

from __future__ import annotations

from docs.generate import PAGE, make_page


def test_page_is_what_the_tables_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(), "the tables changed: run `python docs/generate.py`"
