"""The order of modules that docs/architecture.md gives is the order in which they import each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import symdiff as sd

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "symdiff"
LAST_PUBLIC = "check"


def documented_order() -> list[str]:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```modules\n(.*?)```", text, flags=re.DOTALL)
    lines = [line.partition(":")[2] for line in block.splitlines()]
    return [name.strip() for line in lines for name in line.split("·")]


def modules() -> dict[str, list[Path]]:
    """Return the files of each module or folder directly below the package."""
    found = {path.stem: [path] for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    for folder in PACKAGE.iterdir():
        if (folder / "__init__.py").exists():
            found[folder.name] = sorted(folder.rglob("*.py"))
    return found


def imported(path: Path, names: set[str]) -> Iterator[str]:
    """Give the modules directly below the package that a file imports, at any place in it."""
    package = ["symdiff", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            whole = [part for part in base if part]
            yield from {whole[1]} if len(whole) > 1 else {alias.name for alias in node.names} & names
        elif isinstance(node, ast.ImportFrom | ast.Import):
            several = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in several:
                if name == "symdiff":  # what users see stands complete when the last of it does
                    yield LAST_PUBLIC
                elif name.startswith("symdiff."):
                    yield name.split(".")[1]


def test_every_module_has_its_place() -> None:
    order = documented_order()
    assert len(set(order)) == len(order)
    assert set(order) ^ set(modules()) == set(), "give new modules their place in docs/architecture.md"


def test_modules_import_only_what_stands_before_them() -> None:
    order = documented_order()
    place = {name: i for i, name in enumerate(order)}
    wrong = [
        f"{name} imports {other}"
        for name, files in modules().items()
        for path in files
        for other in imported(path, set(order))
        if place.get(other, -1) > place.get(name, -1)
    ]
    assert not wrong


def test_modules_stay_readable() -> None:
    for files in modules().values():
        for path in files:
            text = path.read_text(encoding="utf-8")
            assert ast.get_docstring(ast.parse(text)), f"{path.name} does not say why it exists"


#: Calls that run text as code, and the one place that may: NumPy source the package itself has written.
RUNS_TEXT = {"eval", "exec", "sympify", "parse_expr", "S", "__import__"}
ALLOWED = {("codegen/numpy/emit.py", "exec")}


def called(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in RUNS_TEXT:
                yield name


def test_no_text_of_a_user_is_run() -> None:
    found = {(str(path.relative_to(PACKAGE)), name) for path in PACKAGE.rglob("*.py") for name in called(path)}
    assert found <= ALLOWED


def test_names_of_a_user_do_not_reach_the_source() -> None:
    marks = [f"user_{i}_name" for i in range(3)]
    x, part, sized = sd.vector(marks[0], 3), sd.scalar("plain"), sd.vector("other", marks[2])
    f = sd.name(np.sin(x) * part, marks[1]).sum()
    for backend in ("native", "numpy"):
        kernel = sd.compile({"user_result": f, "user_slope": sd.gradient(f, x)}, [x, part], backend=backend)
        text = kernel.source("c" if backend == "native" else "numpy")
        assert len(text) > 100
        assert not [mark for mark in (*marks, "user_result", "user_slope", "plain") if mark in text]
    loose = sd.compile(sized.sum(), [sized], backend="numpy")
    assert marks[2] not in loose.source("numpy")
