"""What `mypy --strict` knows of a program that uses symdiff: arrays, kernels, and words that are no option."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import symdiff

PROGRAM = '''
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
sd.compile(f, backend="natve")
sd.compile(f, sparse="cs")
sd.gradient(f, x, disconnected="none")
'''
SEEN = [
    'Revealed type is "symdiff.frontend.array.Array"',
    'Revealed type is "symdiff.frontend.array.Array"',
    'Revealed type is "symdiff.frontend.outputs.display.FormulaTuple"',
    'Revealed type is "tuple[symdiff.frontend.array.Array, Any]"',
    'Revealed type is "symdiff.runtime.kernel.Kernel"',
    'Revealed type is "str"',
    'Argument "backend" to "compile" has incompatible type',
    'Argument "sparse" to "compile" has incompatible type',
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
