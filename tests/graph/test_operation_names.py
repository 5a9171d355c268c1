"""Operations are known by name where a stage does something of its own with them; what stages ask alike, nodes tell."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import symdiff as sd
from symdiff.graph import Node
from symdiff.graph.kinds import PREDICATES
from symdiff.graph.primitives import PRIMITIVES
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.lowering.program import SIGNATURES
from tests.support.syntax import nodes

PACKAGE = Path(sd.__file__).parent
#: Stages that know nodes, and in how many of their files the name of one operation may be compared at the most.
OF_NODES = ("graph", "rewrite", "calculus", "lowering", "codegen", "runtime", "printing", "tools")
MOST_FILES = 14
#: Where operations are those of programs, which have no predicates.
OF_PROGRAMS = ("codegen/c/", "codegen/bytecode/", "lowering/")


@cache
def comparisons(path: Path) -> list[tuple[ast.expr, str, int]]:
    """Return each comparison of an operation's name with text: what is compared, the text, and the line."""
    found: list[tuple[ast.expr, str, int]] = []
    for node in nodes(path):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        asked = [s for s in sides if (s.attr if isinstance(s, ast.Attribute) else getattr(s, "id", "")) == "op"]
        parts = [part for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)] if asked else []
        found.extend((asked[0], part.value, node.lineno) for part in parts if isinstance(part.value, str))
    return found


def test_comparisons_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('node.op == "slice"\nop in ("pad", "exp")\n"det" != x.op\nx.kind == "pad"\n')
    found = [(name, line) for _, name, line in comparisons(tmp_path / "a.py")]
    assert found == [("slice", 1), ("pad", 2), ("exp", 2), ("det", 3)]


def test_what_stages_ask_alike_is_asked_of_the_node() -> None:
    names = {ops[0]: predicate for predicate, ops in PREDICATES.items() if len(ops) == 1}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} compares op with {name!r}; write .{names[name]}"
        for path in PACKAGE.rglob("*.py")
        if not str(path.relative_to(PACKAGE)).startswith(OF_PROGRAMS)
        for asked, name, line in comparisons(path)
        if isinstance(asked, ast.Attribute) and name in names and not is_one_of_several(path, line)
    ]
    assert not wrong


def is_one_of_several(path: Path, line: int) -> bool:
    """Tell whether the comparison in a line is with more than one name."""
    return len({name for _, name, own in comparisons(path) if own == line}) > 1


def test_no_operation_is_known_by_its_name_in_many_files() -> None:
    files: dict[str, set[Path]] = {}
    for stage in OF_NODES:
        for path in (PACKAGE / stage).rglob("*.py"):
            for _, name, _ in comparisons(path):
                if name in PRIMITIVES or name in FUNCTIONS:
                    files.setdefault(name, set()).add(path)
    often = {name: len(paths) for name, paths in files.items() if len(paths) > MOST_FILES}
    assert not often, f"operations compared by name in more than {MOST_FILES} files; ask the node in graph/kinds.py"


def test_operations_that_are_compared_are_there() -> None:
    of_plans = {"spectrum", "sum"}
    known = {*PRIMITIVES, *FUNCTIONS, *SIGNATURES, "load", "const", *of_plans}
    strange = {
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for stage in OF_NODES
        for path in (PACKAGE / stage).rglob("*.py")
        for _, name, line in comparisons(path)
        if name not in known
    }
    assert not strange


def test_nodes_declare_the_predicates_of_the_table() -> None:
    assert {name for name in Node.__annotations__ if name.startswith("is_")} == PREDICATES.keys()
    assert {op for operations in PREDICATES.values() for op in operations} <= {*PRIMITIVES, *FUNCTIONS}
