"""The package has the structure that ``symdiff/ground/stages.py`` and the pages of its folders describe."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import numpy as np
import pytest

import symdiff as sd
from symdiff.ground.stages import STAGES, Later, later
from tests.support.syntax import nodes, tree

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "symdiff"
SOURCES = {".py", ".pyx", ".pxd", ".h"}
#: What the page that a folder opens with tells, in this order.
SECTIONS = ["Takes", "Gives", "Invariants", "Files", "Add"]


def folders() -> list[Path]:
    """Return the folders of the package, without the package itself."""
    return sorted({path.parent for path in PACKAGE.rglob("*") if path.suffix in SOURCES} - {PACKAGE})


def entries(folder: Path) -> dict[str, list[Path]]:
    """Return what stands directly in a folder: each file by its name, each folder with the files in it.

    The C types of a Python file, in a .pxd beside it, are a part of that file.
    """
    files = [path for path in sorted(folder.iterdir()) if path.suffix in SOURCES]
    found = {path.name: [path] for path in files if path.suffix != ".pxd" or not path.with_suffix(".py").exists()}
    for inner in folder.iterdir():
        if any(path.suffix in SOURCES for path in inner.rglob("*")):
            found[inner.name] = sorted(inner.rglob("*.py"))
    return found


def units(folder: Path) -> dict[str, list[Path]]:
    """Return the Python entries of a folder that may be imported by name: all but its ``__init__``."""
    return {
        name.removesuffix(".py"): files
        for name, files in entries(folder).items()
        if not name.startswith("__") and (name.endswith(".py") or "." not in name)
    }


def place(path: Path) -> tuple[str, ...]:
    """Return the dotted name of a module below the package, in parts; a folder's ``__init__`` is the folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """Give what a file imports of the package, anywhere in it: modules, folders, and names below them.

    Of a name that ``import_module`` is given in pieces, what stands before the first piece counts.
    """
    package = ["symdiff", *path.relative_to(PACKAGE).parts[:-1]]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            several = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            several = [(*base, alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and called_name(node) == "import_module":
            name = first_text(node)
            base = package[: len(package) - len(name) + len(name.lstrip(".")) + 1] if name.startswith(".") else []
            several = [tuple(base) + tuple(part for part in name.split(".") if part)]
        else:
            continue
        yield from (whole[1:] for whole in several if whole[:1] == ("symdiff",))


def called_name(call: ast.Call) -> str:
    """Return the last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def first_text(call: ast.Call) -> str:
    """Return the text that a call has as its first argument, up to what is put into it; "" where it is none."""
    first: ast.expr = call.args[0]
    if isinstance(first, ast.JoinedStr):
        first = first.values[0]
    return str(first.value) if isinstance(first, ast.Constant) else ""


def reached(folder: Path, path: Path) -> set[str]:
    """Return the entries of a folder that a file imports, also by way of the folder's own ``__init__``."""
    known, start = set(units(folder)), place(folder / "__init__.py")
    found: set[str] = set()
    for whole in imports(path):
        if whole[: len(start)] == start and len(whole) > len(start):
            name = whole[len(start)]
            if name in known:
                found.add(name)
            elif folder != PACKAGE:  # a name of the __init__, which imports all that it imports
                found |= reached(folder, folder / "__init__.py") if path != folder / "__init__.py" else set()
    return found


def circle(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the entries that are left when those that import nothing are removed again and again."""
    left = {name: {other for other in others if other != name} for name, others in edges.items()}
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    while unused := left.keys() - set().union(*left.values(), set()):
        left = {name: others for name, others in left.items() if name not in unused}
    return sorted(left)


def test_every_entry_is_a_stage() -> None:
    order = [name for name, _ in STAGES]
    assert len(set(order)) == len(order)
    assert set(order) ^ set(units(PACKAGE)) == set(), "give new modules their place in symdiff/ground/stages.py"


def test_the_design_has_a_row_for_every_stage() -> None:
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)`", text, flags=re.MULTILINE)
    assert rows == [name for name, _ in STAGES]


# over five seconds where it is the first to read all modules of the package
def test_stages_import_only_earlier_ones() -> None:
    order = [name for name, _ in STAGES]
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {'.'.join(whole) or 'symdiff'}"
        for i, name in enumerate(order)
        for path in units(PACKAGE)[name]
        for whole in imports(path)
        if not whole or whole[0] not in order[: i + 1]
    ]
    assert not wrong


@pytest.mark.rows(1000)
@pytest.mark.parametrize("folder", folders(), ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_no_circle_within_a_folder(folder: Path) -> None:
    edges = {name: set().union(*(reached(folder, path) for path in files)) for name, files in units(folder).items()}
    assert not circle(edges)


def test_imports_by_name_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    folder = tmp_path / "frontend" / "numpy"
    folder.mkdir(parents=True)
    (folder / "array.py").write_text(
        'import_module("symdiff.xp")\nimport_module(f"symdiff.tools.{name}")\nimport_module("..text.parse", p)\n'
        'importlib.import_module(".library", p)\nimport_module(name)\nimport_module("scipy.special")\n'
    )
    assert list(imports(folder / "array.py")) == [
        *[("xp",), ("tools",), ("frontend", "text", "parse"), ("frontend", "numpy", "library")]
    ]


@pytest.mark.parametrize("name", sorted(sd._CALLED))
def test_modules_of_later_stages_have_what_earlier_ones_call(name: str) -> None:
    assert get_type_hints(Later).keys() == sd._CALLED.keys()
    protocol = get_type_hints(Later)[name]
    if name in ("dask", "jax", "numba", "torch"):
        pytest.importorskip(name)
    module = getattr(later, name)
    for own in (attribute for attribute in dir(protocol) if not attribute.startswith("_")):
        if protocol is not ModuleType:
            _, *expected = inspect.signature(getattr(protocol, own)).parameters.values()
            there = inspect.signature(getattr(module, own)).parameters
            positional = [one for one in there.values() if one.kind is not one.VAR_KEYWORD]
            needed = [one.name for one in positional if one.default is one.empty]
            assert needed == [one.name for one in expected if one.default is one.empty]
            assert {(one.name, one.kind) for one in expected} <= {(one.name, one.kind) for one in there.values()}


def test_what_earlier_stages_call_is_registered() -> None:
    used = {
        node.attr
        for path in PACKAGE.rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "later"
    }
    assert used <= sd._CALLED.keys()
    assert sd._CALLED.keys() - used == {"jax", "numba", "scipy", "torch"}, "these are called by the names of libraries"
    with pytest.raises(sd.AbsentError, match=r"no module for later\.nothing"):
        later.nothing  # noqa: B018


def test_circles_are_found() -> None:
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"], "e": []}) == ["b", "c"]
    assert not circle({"a": ["a", "b"], "b": ["c"], "c": []})


def test_headers_do_not_include_each_other_in_circles() -> None:
    edges: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.h"):
        included = re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found = [folder / name for name in included for folder in (path.parent, PACKAGE / "_kernels")]
        edges[str(path)] = [str(header.resolve()) for header in found if header.exists()]
    assert sum(map(len, edges.values())) > 3
    assert not circle(edges)


def test_every_module_says_why_it_exists() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert ast.get_docstring(tree(path)), path


PAGES = [folder for folder in folders() if (folder / "__init__.py").exists() and folder.name != "data"]


@pytest.mark.rows(1000)
@pytest.mark.parametrize("folder", PAGES, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_folders_open_with_a_page(folder: Path) -> None:
    page = ast.get_docstring(tree(folder / "__init__.py")) or ""
    assert [word for word in re.findall(r"^(\w+)$", page, flags=re.MULTILINE) if word in SECTIONS] == SECTIONS
    (listed,) = re.findall(r"^Files\n((?:(?: .*)?\n)*)", page, flags=re.MULTILINE)
    names = re.findall(r"^    (\w[\w.]*)  ", listed, flags=re.MULTILINE)
    there = {name.removesuffix(".py") for name in entries(folder)} - {"__init__"}
    assert sorted(names) == sorted(there), "the page lists each file of its folder once"


def test_public_classes_have_names_of_their_own() -> None:
    names = [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    shared = {name for name in names if names.count(name) > 1}
    assert not shared, "classes with one name in several modules"


#: Names that files of several folders have, and the one thing that these are about, in each stage or for each target.
SHARED = {
    "arguments": "the arguments of a call",
    "arrays": "the operations on arrays, all of them",
    "bind": "numbers for the letters of a plan",
    "call": "what a call is given",
    "calls": "functions as they are called",
    "contractions": "contractions over labelled indices",
    "cython": "the Cython backend, its source and how it runs",
    "cost": "estimates of what something takes",
    "declared": "what inputs are declared to be",
    "derivatives": "gradient, Jacobian, Hessian and their products",
    "differences": "differences, of neighbours or of values at two points",
    "dump": "an intermediate representation as text",
    "emit": "the emitter of a target",
    "entries": "the elements of a matrix, one by one",
    "functions": "a table of functions",
    "incomplete": "incomplete gamma and beta functions",
    "interpreter": "the interpreter of programs",
    "kinks": "where a formula is not smooth",
    "linalg": "linear algebra",
    "matrices": "functions of small matrices",
    "names": "names of users",
    "options": "options, of a kernel or of a command",
    "plan": "the plan of a formula",
    "positions": "elements taken by position",
    "products": "products and their factors",
    "programs": "programs of numbers",
    "recurrence": "loops of formulas",
    "run": "what one call runs",
    "signature": "the signature of a kernel",
    "special": "special functions",
    "steps": "steps, of a plan or of a derivation",
    "structural": "operations that move elements",
    "sums": "sums",
    "tiles": "tiles",
    "unit": "what computes a batch of samples",
}


def test_files_of_one_name_are_about_one_thing() -> None:
    folders: dict[str, set[Path]] = {}
    for path in PACKAGE.rglob("*"):
        if path.suffix in SOURCES and path.stem != "__init__":
            folders.setdefault(path.stem, set()).add(path.parent)
    several = {name for name, places in folders.items() if len(places) > 1}
    assert several - SHARED.keys() == set(), "say in SHARED what these have in common, or give one another name"
    assert SHARED.keys() - several == set(), "names that one file has"


#: Calls that run text as code, and the one place that may: NumPy source the package itself has written.
RUNS_TEXT = {"eval", "exec", "sympify", "parse_expr", "S", "__import__"}
ALLOWED = {("codegen/numpy/emit.py", "exec")}


def called(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Call):
            name = called_name(node)
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
        text = kernel.source()
        assert len(text) > 100
        assert not [mark for mark in (*marks, "user_result", "user_slope", "plain") if mark in text]
    loose = sd.compile(sized.sum(), [sized], backend="numpy")
    assert marks[2] not in loose.source()
