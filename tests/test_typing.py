"""What `mypy --strict` knows of a program that uses symdiff: arrays, kernels, and words that are no option."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import symdiff
from symdiff import compiler

PROGRAM = '''
import numpy as np
import symdiff as sd

x, A = sd.vector("x", 3), sd.matrix("A", 3, 3)
f = sd.softplus(x @ A @ x)
reveal_type(f)
reveal_type(sd.gradient(f, x))
reveal_type(sd.gradient(f, (x, A)))
reveal_type(sd.value_and_gradient(f, x))
k = sd.compile(sd.hessian(f, x), [x, A], sparse="csr")
reveal_type(k)
reveal_type(k.signature)
numbers = np.ones(3)
reveal_type(sd.compile(f, [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile(f, [x, A])(x=[1.0, 2.0, 3.0], A=np.eye(3)))
reveal_type(sd.compile({"f": f}, [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile([f, f], [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile((f, f), [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile(f, [x, A])(x, A))
reveal_type(k(numbers, np.eye(3)))
reveal_type(sd.compile("x @ x, x", x=3)(numbers))
reveal_type(sd.compile(sd.hessian(f, (x, A)), [x, A])(numbers, np.eye(3)))
kept: sd.Kernel = sd.compile(f)
sd.compile(f, backend="natve")
sd.compile(f, sparse="cs")
sd.export(kept, "folder", target="fortran")
sd.objective(f, x, sparse="cs")
sd.parse("x", dialect="matlab")
sd.gradient(f, x, disconnected="none")
'''
SEEN = [
    'Revealed type is "symdiff.frontend.array.Array"',
    'Revealed type is "symdiff.frontend.array.Array"',
    'Revealed type is "symdiff.frontend.outputs.display.FormulaTuple"',
    'Revealed type is "tuple[symdiff.frontend.array.Array, Any]"',
    'Revealed type is "symdiff.runtime.kernel.Kernel"',
    'Revealed type is "str"',
    'Revealed type is "numpy.ndarray[',
    'Revealed type is "numpy.ndarray[',
    'Revealed type is "dict[str, numpy.ndarray[',
    'Revealed type is "list[numpy.ndarray[',
    'Revealed type is "tuple[numpy.ndarray[',
    *4 * ['Revealed type is "Any"'],
    'No overload variant of "compile" matches',
    'No overload variant of "compile" matches',
    'Argument "target" to "export" has incompatible type',
    'Argument "sparse" to "objective" has incompatible type',
    'Argument "dialect" to "parse" has incompatible type',
    'No overload variant of "__call__" of "Derivative" matches',
]


def test_users_programs_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)]
    root = Path(symdiff.__file__).parent.parent
    environment = dict(os.environ)
    if root.name != "site-packages":
        environment["MYPYPATH"] = str(root)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    own = [line for line in done.stdout.splitlines() if line.partition(":")[0].endswith(program.name)]
    said = [line.partition(": ")[2].partition(": ")[2] for line in own]
    found = [line for line in said if not line.startswith((" ", "Possible", "def "))]
    assert len(found) == len(SEEN), done.stdout + done.stderr
    for line, expected in zip(found, SEEN, strict=True):
        assert line.startswith(expected), line


def test_options_of_compile_are_those_that_checkers_know() -> None:
    stub = ast.parse((Path(symdiff.__file__).parent / "runtime" / "typed.pyi").read_text(encoding="utf-8"))
    variants = [part.args for part in stub.body if isinstance(part, ast.FunctionDef) and part.name == "compile"]
    assert len(variants) > 4
    source = ast.parse(Path(compiler.__file__).with_suffix(".py").read_text(encoding="utf-8"))
    (own,) = (part.args for part in source.body if isinstance(part, ast.FunctionDef) and part.name == "compile")
    for args in variants:
        told = [(one.arg, ast.unparse(one.annotation or ast.Name("Any"))) for one in (*args.args, *args.kwonlyargs)]
        meant = [(one.arg, ast.unparse(one.annotation or ast.Name("Any"))) for one in (*own.args, *own.kwonlyargs)]
        changed = {"formula", "sparse"}
        assert [one for one in told if one[0] not in changed] == [one for one in meant if one[0] not in changed]
        assert [name for name, _ in told] == [name for name, _ in meant]
        assert [*map(ast.dump, args.defaults)] == [*map(ast.dump, own.defaults)]
        assert [ast.dump(one) for one in args.kw_defaults if one] == [ast.dump(one) for one in own.kw_defaults if one]
