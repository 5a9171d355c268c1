"""Syntax trees of modules, each read once in a process: several tests look at all modules of the package."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, the module first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def tree(path: Path) -> ast.Module:
    """Return the tree of a module."""
    module = nodes(path)[0]
    assert isinstance(module, ast.Module)
    return module
