"""The pages for readers: every example runs, links lead somewhere, and tables are what the code has."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import symdiff
from symdiff.frontend.numpy.library import DAILY, MODULES
from tests.support.optional import OPTIONAL

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]


@pytest.mark.rows(1)
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_run(page: Path) -> None:
    for library in sorted({*re.findall(r"^>>> (?:import|from) (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)}):
        pytest.importorskip(library)  # pages about extras run where these are installed
    # columns are as wide as their numbers, times among them
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert result.attempted > 3
    assert result.failed == 0


# over five seconds: the examples of all public docstrings, which are what users copy
def test_examples_of_docstrings_run() -> None:
    attempted, failed = 0, []
    for module in pkgutil.walk_packages(symdiff.__path__, "symdiff."):
        if not any(part in module.name for part in ("_kernels", "__main__", *OPTIONAL)):
            found = doctest.testmod(importlib.import_module(module.name), optionflags=doctest.ELLIPSIS)
            attempted += found.attempted
            failed += [module.name] * bool(found.failed)
    assert failed == []
    assert attempted > 150


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"auto(?:function|class):: (\w+)", page))
    errors = {name for name in symdiff.__all__ if name.endswith("Error")}
    assert set(symdiff.__all__) - errors - {"linalg", "nn", "special", "stats", "xp"} - {*DAILY} == listed - {*DAILY}


def test_public_names_are_few_and_are_told() -> None:
    assert dir(symdiff) == sorted(symdiff.__all__)
    assert len(symdiff.__all__) <= 300
    page = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8").partition("## Scalar functions")[0]
    for module, names in MODULES.items():
        assert {*re.findall(r"\w+", page)} >= {*names}, module


@pytest.mark.rows(1000)
@pytest.mark.parametrize("name", ["betainc_by_aab", "expm_differential2", "take_at", "bessel_far"])
def test_operations_of_derivatives_are_no_public_names(name: str) -> None:
    with pytest.raises(symdiff.AbsentError, match=rf"write sd\.function\('{name}'\)"):
        getattr(symdiff, name)


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (symdiff, "hyp1f1", "sd.special.hyp1f1"),
        (symdiff, "nanmedian", "np.nanmedian"),
        (symdiff.nn, "det", "sd.det"),
    ],
)
def test_an_operation_that_another_module_holds_is_told(owner: object, name: str, told: str) -> None:
    with pytest.raises(symdiff.AbsentError, match=rf"write {re.escape(told)}"):
        getattr(owner, name)


def test_the_site_has_every_page() -> None:
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    patterns = [line for block in re.findall(r"```{toctree}\n(.+?)```", listed, re.DOTALL) for line in block.split()]
    pages = [page.relative_to(ROOT / "docs").with_suffix("") for page in PAGES if ROOT / "docs" in page.parents]
    assert [str(page) for page in pages if str(page) != "index" and not any(map(page.match, patterns))] == []


def test_readme_has_examples() -> None:
    assert {"README.md", "text.md", "examples.md"} <= {page.name for page in WITH_EXAMPLES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target.partition("#")[0]).exists(), target


def test_the_two_commands_stand_first_and_ci_runs_the_second() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    main, tests = re.findall(r"```sh\n(.+)\n```", readme)[:2]
    assert main.startswith("python3 -m venv .venv && ")
    assert main.endswith(" && .venv/bin/symdiff demo")
    assert tests.endswith(".venv/bin/python -m pytest")
    assert f'\nTESTS="{tests}"\n' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------- functions page
# docs/functions.md and docs/gallery.md say what the tables say.


DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("script", "function", "name"),
    [
        ("generate.py", "make_page", "functions.md"),
        ("generate.py", "make_export_page", "export.md"),
        ("generate.py", "make_types", "../symdiff/runtime/typed.pyi"),
        ("gallery.py", "make_page", "gallery.md"),
    ],
)
def test_page_is_what_the_tables_make(script: str, function: str, name: str) -> None:
    page = runpy.run_path(str(DOCS / script))[function]()
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == page, f"the tables changed: run `python docs/{script}`"
