from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.support.effort import FROM_SOURCES, stale

# Whoever reads what failed is a developer.
os.environ.setdefault("SYMDIFF_TRACEBACK", "full")

# The same examples in every run, so that a run says something of the change it follows and not
# of its luck. New examples: --hypothesis-profile=explore, with --hypothesis-seed for others yet.
# How long a machine takes to draw them says nothing of symdiff.
slow = [HealthCheck.too_slow]
settings.register_profile("repeat", deadline=None, derandomize=True, suppress_health_check=slow)
settings.register_profile("explore", deadline=None, derandomize=False, print_blob=True, suppress_health_check=slow)
settings.load_profile("repeat")
# Hypothesis also draws constants of the modules that are imported. Which these are depends on the tests that this
# process ran before, and so would the examples. There is no setting for it, and nothing to set in old versions.
with contextlib.suppress(ImportError, KeyError):
    from hypothesis.internal.conjecture import providers

    inside = vars(providers)
    nothing = inside["Constants"]()
    inside["_get_local_constants"] = lambda: nothing


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Build into a folder of this run, so that no test passes on what an earlier one left."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        folder.chmod(0o700)
        patch.setenv("SYMDIFF_CACHE_DIR", str(folder))
        yield


@pytest.fixture(autouse=True)
def _nothing_under_way() -> None:
    """Begin when nothing is built in the background: it would write files, count, and take time in other tests."""
    from symdiff.runtime.toolchain import processes as background  # after it is known that nothing is stale

    worker = background._worker
    worker.hold()
    _join()
    wanted = [job for job in worker.jobs if job.is_wanted()]  # by kernels that live longer than a test
    worker.jobs.clear()
    worker.jobs.extend(wanted)
    worker.resume()
    _join()


def _join() -> None:
    for thread in threading.enumerate():
        if thread.name == "symdiff-build":
            thread.join(600)
            assert not thread.is_alive(), "what an earlier test has built in the background does not end"


#: Generators of random numbers that tests share, and the state of each when all modules had been imported.
_generators: list[tuple[np.random.Generator, Any]] = []


def pytest_collection_finish() -> None:
    """Note the generators of the modules of tests."""
    for module in list(sys.modules.values()):
        if Path(__file__).parent in Path(getattr(module, "__file__", None) or "").parents:
            own = [each for each in vars(module).values() if isinstance(each, np.random.Generator)]
            _generators.extend((each, each.bit_generator.state) for each in own)


@pytest.fixture(autouse=True)
def _numbers_of_its_own() -> None:
    """Draw the numbers that a test gets when it runs alone, whatever other tests drew before it."""
    for generator, state in _generators:
        generator.bit_generator.state = state


def pytest_configure(config: pytest.Config) -> None:
    """Run all of a test that is named; refuse stale passes before other processes start, whose errors are long."""
    if any("::" in argument for argument in config.args) and config.option.markexpr == "not exhaustive":
        config.option.markexpr = ""
    if old := stale():
        raise pytest.UsageError(
            f"compiled before the last change: {', '.join(old)}; run: {sys.executable} setup.py build_ext --inplace"
        )


#: Rows of a parametrized test that run by default, unless it says another number by ``@pytest.mark.rows``.
ROWS = 4


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark rows beyond a fixed sample as exhaustive, and leave what counts calls to ``test_effort.py``."""
    if not FROM_SOURCES:
        counted = [item for item in items if item.get_closest_marker("counted")]
        config.hook.pytest_deselected(items=counted)
        items[:] = [item for item in items if item not in counted]
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, rows in tests.items():
        asked = rows[0].get_closest_marker("rows")
        count = ROWS if asked is None else asked.args[0]
        if len(rows) > count:
            # drawn, since rows of each backend or size may come at equal distances
            kept = set(random.Random(name).sample(range(len(rows)), count))
            for place, item in enumerate(rows):
                if place not in kept:
                    item.add_marker("exhaustive")
