"""What an installation must do: import quickly wherever it is, and say what is missing where it cannot."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from symdiff.ground.version import DISTRIBUTION, VERSION

ROOT = Path(__file__).resolve().parents[2]
#: What takes long to import, or belongs to builds, the command line and messages: the first call that needs it does.
LATER = {
    "click",
    "csv",
    "difflib",
    "email",
    "fractions",
    "hashlib",
    "html",
    "importlib.metadata",
    "matplotlib",
    "mpmath",
    "platformdirs",
    "rich",
    "scipy",
    "secrets",
    "socket",
    "string",
    "subprocess",
    "symdiff.codegen",
    "symdiff.compiler",
    "symdiff.frontend.functions.custom",
    "symdiff.frontend.functions.recurrence",
    "symdiff.frontend.sympy.read",
    "symdiff.frontend.text.parse",
    "symdiff.frontend.sympy.write",
    "symdiff.lowering",
    "symdiff.lowering.plan",
    "symdiff.printing",
    "symdiff.runtime",
    "symdiff.tools",
    "symdiff.libraries.xp",
    "sympy",
    "tempfile",
    "threadpoolctl",
    "zipfile",
}


def python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, check=False, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )


def loaded_by(code: str) -> set[str]:
    run = python(f"import numpy, sys; before = {{*sys.modules}}; {code}; print(*sys.modules.keys() - before)", ROOT)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_an_import_loads_what_formulas_need_and_no_more() -> None:
    loaded = loaded_by("import symdiff")
    assert {"symdiff.frontend.array", "symdiff.graph.nodes"} <= loaded
    assert not loaded & {"symdiff.frontend.derivatives", "symdiff.calculus", "symdiff.rewrite", "symdiff.printing"}
    assert not loaded & LATER
    assert len(loaded) <= 115, "each module takes 0.25 ms of the 60 that an import may take; some can wait for a call"


def test_the_first_compile_loads_the_stages_behind_derivatives_and_no_tools() -> None:
    loaded = loaded_by("import symdiff as sd; x = sd.vector('x', 3); sd.compile(x * x, x, backend='interpreter')")
    stages = ("compiler", "lowering", "lowering.plan", "codegen", "runtime")
    assert {f"symdiff.{stage}" for stage in stages} <= loaded
    later = ("codegen.cython", "printing", "tools", "libraries.xp")
    assert not loaded & {"scipy", "sympy", *(f"symdiff.{name}" for name in later)}
    assert not loaded & {f"symdiff.runtime.{name}" for name in ("explain", "signature", "calls.labels")}


def test_numbers_of_comparisons_are_loaded_when_formulas_are_compared() -> None:
    derive = "import symdiff as sd; x = sd.vector('x', 3); f = sd.gradient(sd.sum(x * sd.exp(x)), x)"
    unused = {"decimal", "fractions", "random", "scipy"}
    assert not loaded_by(derive) & unused
    assert not loaded_by(f"{derive}; sd.compile(f, x, backend='interpreter')([1.0, 2.0, 3.0])") & unused


def test_rules_of_sums_take_no_special_functions() -> None:
    # sums with sin(x) are compared in numbers with x cos(x) - sin(x), which needs no sigmoid
    derive = "import symdiff as sd; f = sd.gradient('y / (x * sigmoid(-x) + sin(x))', 'x')"
    assert "scipy" not in loaded_by(derive)


def test_values_of_a_sparse_result_take_no_scipy() -> None:
    derive = "import symdiff as sd; x = sd.vector('x', 9); f = sd.hessian(sd.sum(sd.exp(x[1:] - x[:-1])), x)"
    run = "k = sd.compile(f, x, sparse='values', backend='interpreter'); k([1.0] * 9)"
    assert "scipy" not in loaded_by(f"{derive}; {run}")


def test_what_is_imported_later_is_there() -> None:
    code = "import symdiff as sd; assert {'check', 'Report', 'export'} <= {*dir(sd)}; sd.check, sd.export"
    assert {"symdiff.tools.checking.check", "symdiff.tools.export"} <= loaded_by(code)


def test_a_checkout_that_is_not_built_says_what_to_do(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "symdiff", tmp_path / "symdiff", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    run = python("import symdiff", tmp_path, PYTHONPATH=str(tmp_path))
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: symdiff is not built for this Python in {tmp_path}: ")
    assert "run Python from another folder" in last
    assert last.endswith(f"{sys.executable} -m pip install -e {tmp_path}")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A checkout whose sources are empty, so that all of it is built in a moment."""
    for path in (ROOT / "symdiff").rglob("*"):
        if path.suffix in (".py", ".pyx", ".pxd", ".h"):
            target = tmp_path / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'symdiff'\nversion = '0'\n")
    return tmp_path


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    return subprocess.run(
        command, check=False, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("environment", [{"CC": "/nowhere/cc"}, {"PATH": "/nowhere", "CC": "cc"}, {"CC": "false"}])
def test_without_a_compiler_one_sentence_says_what_to_install(sources: Path, environment: dict[str, str]) -> None:
    run = build(sources, **environment)
    assert run.returncode != 0
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("error: symdiff needs a C compiler and the headers of Python")
    assert "apt install gcc python3-dev" in last


@pytest.mark.exhaustive
def test_what_the_compiler_refuses_is_told_in_its_own_words(sources: Path) -> None:
    broken = sources / "symdiff" / "_kernels" / "system" / "scopes.pyx"
    broken.write_text('cdef extern from "broken.h":\n    int what\nwhat\n')
    (broken.parent / "broken.h").write_text("#error this is broken\n")
    run = build(sources)
    assert run.returncode != 0
    assert "this is broken" in run.stderr
    assert "needs a C compiler" not in run.stderr


# ---------------------------------------------------------------------------- the name of the distribution


def test_every_installation_names_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    assert project["scripts"] == {"symdiff": "symdiff_command:main"}
    dependencies = {re.split(r"[^\w-]", one)[0] for extra in project["optional-dependencies"].values() for one in extra}
    files = [ROOT / ".ci" / "run", *ROOT.glob("*.md"), *ROOT.glob("*.py")]
    files += [path for folder in ("symdiff", "bench", "fuzz", "docs") for path in (ROOT / folder).rglob("*")]
    told = 0
    for path in files:
        if path.suffix not in (".py", ".pyx", ".md", "") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        for extras in re.findall(r"(?<![\w.])symdiff\[([a-z,]+)\]", text):
            pytest.fail(f"{path} offers another project's extras: symdiff[{extras}]")
        for name, extras in re.findall(r"pip['\"]? install (?:-\S+ )*['\"]?([A-Za-z.][\w.-]*)(?:\[([\w,]+)\])?", text):
            told += 1
            assert name in (DISTRIBUTION, ".", "build", "auditwheel") or name in dependencies, (path, name)
            if extras and name in (DISTRIBUTION, "."):
                assert {*extras.split(",")} <= {*project["optional-dependencies"]}, (path, extras)
    assert told > 5


def test_the_recipe_and_the_citation_say_what_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe, citation = ((ROOT / file).read_text() for file in ("conda/meta.yaml", "CITATION.cff"))
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    assert [line.strip("- ").replace(" ", "") for line in run.splitlines()][1:] == project["dependencies"]
    assert f'set version = "{VERSION}"' in recipe
    assert f"version: {VERSION}\n" in citation
    assert f"name: {DISTRIBUTION}\n" in recipe
    assert project["license"] in recipe
    assert project["license"] in citation


def test_messages_name_the_extra_of_the_distribution() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for path in (ROOT / "symdiff").rglob("*.py"):
        for extra in re.findall(r"pip_install\(['\"](\w+)['\"]\)", path.read_text(encoding="utf-8")):
            assert extra in extras, (path, extra)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with this one in it."""
    shutil.copytree(
        ROOT / "symdiff", tmp_path / "symdiff", ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "*.h")
    )
    shutil.copy(ROOT / "symdiff_command.py", tmp_path)
    return tmp_path


def install_other(site: Path) -> None:
    (site / "symdiff-1.3.2.dist-info").mkdir()
    (site / "symdiff-1.3.2.dist-info" / "RECORD").write_text("symdiff/__init__.py,sha256=x,3\nsymdiff/core.py,,\n")


COMMAND = "import sys; from symdiff_command import main; sys.argv = ['symdiff', '--version']; main()"


def run_at(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    return python(code, site, PYTHONPATH=str(site))


def test_the_command_starts_where_the_package_is_whole(site: Path) -> None:
    run = run_at(site, COMMAND)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("symdiff, version")


@pytest.mark.exhaustive
def test_another_distribution_beside_this_one_is_told(site: Path) -> None:
    install_other(site)
    run = run_at(site, "import symdiff; print(symdiff.gradient('x**2', 'x'))")
    assert run.returncode == 0
    assert "UserWarning: the distribution symdiff 1.3.2, another project, was installed into the same" in run.stderr
    assert f"pip install --force-reinstall {DISTRIBUTION}" in run.stderr
    run = run_at(site, COMMAND)
    assert run.returncode == 0
    assert run.stderr.startswith("Warning: the distribution symdiff 1.3.2")
    run = run_at(site, COMMAND.replace("--version", "doctor"))
    assert run.returncode == 1
    assert "other project the distribution symdiff 1.3.2" in run.stdout


def test_metadata_that_owns_no_file_of_the_package_is_no_matter(site: Path) -> None:
    install_other(site)
    (site / "symdiff-1.3.2.dist-info" / "RECORD").write_text("__editable__.symdiff.pth,,\n")
    assert not run_at(site, "import symdiff").stderr


@pytest.mark.parametrize("recorded", [True, False])
def test_the_command_does_not_run_the_code_of_what_overwrote_it(site: Path, recorded: bool) -> None:
    if recorded:
        install_other(site)
    (site / "symdiff" / "__init__.py").write_text("print('a stranger')\n")
    run = run_at(site, COMMAND)
    assert run.returncode == 1
    assert run.stderr.startswith("Error: ")
    assert "another project" in run.stderr
    assert DISTRIBUTION in run.stderr
    assert "a stranger" not in run.stdout


def test_a_package_of_another_project_is_told_from_this_one(tmp_path: Path) -> None:
    shutil.copy(ROOT / "symdiff_command.py", tmp_path)
    (tmp_path / "symdiff").mkdir()
    (tmp_path / "symdiff" / "__init__.py").write_text("print('a stranger')\n")
    run = run_at(tmp_path, COMMAND)
    assert run.returncode == 1
    assert "is the package of another project" in run.stderr
    assert "a stranger" not in run.stdout
