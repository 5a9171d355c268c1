"""What `mypy --strict` knows of a program that uses symdiff: arrays, kernels, and words that are no option."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import symdiff

#: SciPy has types where scipy-stubs is installed.
SPARSE = "scipy.sparse" if find_spec("scipy-stubs") else 'Any"'

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
reveal_type(sd.compile("x @ x", x=3)(numbers))
reveal_type(sd.compile(["x @ x", "sum(x)"], x=3)(numbers))
reveal_type(sd.compile({"f": "x @ x"}, x=3)(numbers))

def energy(x: sd.Array) -> sd.Array:
    return x @ x

reveal_type(sd.compile(energy, x=3)(numbers))
reveal_type(sd.compile(sd.hessian(f, x), sparse="values")(numbers, np.eye(3)))
reveal_type(sd.compile(sd.gradient(f, (x, A)), [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile(sd.gradient(f, {"x": x, "A": A}), [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile(sd.hessian(f, (x, A)), [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile(sd.value_and_gradient(f, x), [x, A])(numbers, np.eye(3)))
reveal_type(sd.compile(sd.value_and_gradient(f, [x, A]), [x, A])(numbers, np.eye(3)))
reveal_type(sd.gradient(f, (x, A), joined=True))
reveal_type(sd.jvp(f, (x, A), (x, A)))
slopes, curvature = sd.compile("gradient(x @ x, x), hessian(x @ x, x)", x=3)(numbers)
kept: sd.Kernel = sd.compile(f)
sd.compile(f, backend="natve")
sd.compile(f, sparse="cs")
sd.objective(f, x, sparse="cs")
sd.parse("x", dialect="matlab")
sd.gradient(f, x, disconnected="none")
'''
ARRAY, NUMBERS = "symdiff.frontend.array.Array", "numpy.ndarray["
SEEN = [
    *[
        f'Revealed type is "{known}'
        for known in (
            f'{ARRAY}"',
            f'{ARRAY}"',
            f'symdiff.frontend.display.FormulaTuple[{ARRAY}]"',
            f'tuple[{ARRAY}, {ARRAY}]"',
            "symdiff.runtime.typed.TypedKernel[",
            'str"',
            *2 * [NUMBERS],
            f"dict[str, {NUMBERS}",
            f"list[{NUMBERS}",
            f"tuple[{NUMBERS}",
            'Any"',
            SPARSE,
            NUMBERS,
            f"list[{NUMBERS}",
            f"dict[str, {NUMBERS}",
            *2 * [NUMBERS],
            f"tuple[{NUMBERS}",
            f"dict[str, {NUMBERS}",
            f"tuple[tuple[{NUMBERS}",
            f"tuple[{NUMBERS}",
            f"tuple[{NUMBERS}",
            f'{ARRAY}"',
            f'{ARRAY}"',
        )
    ],
    'No overload variant of "compile" matches',
    'No overload variant of "compile" matches',
    'Argument "sparse" to "objective" has incompatible type',
    'Argument "dialect" to "parse" has incompatible type',
    'No overload variant of "__call__" of "Derivative" matches',
]


@pytest.mark.exhaustive
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
