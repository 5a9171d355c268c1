from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from effort import FROM_SOURCES, stale
from hypothesis import settings

# The same examples in every run, so that a run says something of the change it follows and not
# of its luck. New examples: --hypothesis-profile=explore, with --hypothesis-seed for others yet.
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("repeat")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Build into a folder of this run, so that no test passes on what an earlier one left."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        folder.chmod(0o700)
        patch.setenv("SYMDIFF_CACHE_DIR", str(folder))
        yield


def pytest_configure() -> None:
    """Refuse stale compiled passes before other processes start, whose errors are long."""
    if old := stale():
        raise pytest.UsageError(
            f"compiled before the last change: {', '.join(old)}; run: {sys.executable} setup.py build_ext --inplace"
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what counts calls to ``test_effort.py``."""
    if not FROM_SOURCES:
        counted = [item for item in items if item.get_closest_marker("counted")]
        config.hook.pytest_deselected(items=counted)
        items[:] = [item for item in items if item not in counted]
