"""A plugin, ``python -m pytest -p tests.support.sources``: symdiff's passes run from their Python sources.

Slower, but each of their calls is seen: by a debugger, by coverage, and by what counts work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType


class _Sources(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("symdiff.") or path is None:
            return None
        return FileFinder(next(iter(path)), (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)


sys.meta_path.insert(0, _Sources())
