"""The built site in a browser: every page fits screens and phones, asks for nothing elsewhere, and leads somewhere.

``SYMDIFF_SITE`` names the folder that Sphinx wrote it to, as ``.ci/run`` does.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.browser import PHONE, SCREEN, opened

SITE = os.environ.get("SYMDIFF_SITE")


@pytest.mark.skipif(SITE is None, reason="SYMDIFF_SITE names no built site: python -m sphinx docs FOLDER")
def test_every_page_of_the_site_fits_screens_and_phones(tmp_path: Path) -> None:
    site = Path(str(SITE)).resolve()
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    assert len(pages) > 20
    with opened(tmp_path) as page:
        page.address = site.as_uri()
        for path in pages:
            for size in (SCREEN, PHONE):
                page.open(path.as_uri(), size)
                assert page.overflow() == {"wider": 0, "elements": []}, path
            assert page.console == [], path
            assert "displaystyle" not in page.evaluate("document.querySelector('article').innerText"), path
            links = page.evaluate("[...document.links].map(one => one.href).filter(one => one.startsWith('file:'))")
            missing = [link for link in links if not Path(link.partition("#")[0].removeprefix("file://")).exists()]
            assert missing == [], path
        page.open((site / "search.html").as_uri() + "?q=density")
        page.wait_for("document.querySelectorAll('.search li').length")
