"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the package, and what they add, used."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
#: "In `file`, below `line`:" or "In the new file `file`:", and the block of code behind it.
STEP = re.compile(
    r"In (?:the new file )?`(symdiff/[\w/.]+)`(?:, below `([^`]+)`| \([^)]*\))?:"
    r"\n\n( *)```(?:python|text)\n(.*?)\n *```",
    flags=re.DOTALL,
)


class Step(NamedTuple):
    """Lines that a recipe puts into a file, below the statement or the line that begins as told."""

    path: str
    anchor: str
    lines: str


def steps(title: str) -> list[Step]:
    (section,) = re.findall(rf"\n## {re.escape(title)}\n(.*?)(?=\n## )", PAGE, flags=re.DOTALL)
    return [Step(path, anchor, textwrap.dedent(f"{code}")) for path, anchor, _, code in STEP.findall(section)]


def follow(root: Path, recipe: Iterable[Step]) -> None:
    """Put the lines of a recipe where they say; imports go to the top of the file. Without a line, the file is new."""
    for path, anchor, code in recipe:
        file = root / path
        if not anchor:
            file.write_text(code + "\n", encoding="utf-8")
            continue
        lines = file.read_text(encoding="utf-8").splitlines()
        (at,) = [i for i, line in enumerate(lines) if line.strip().startswith(anchor)]
        imports = [line for line in code.splitlines() if line.startswith("from ")]
        added = [line for line in code.splitlines() if not line.startswith("from ")]
        if lines[at].startswith(" "):
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            lines[at + 1 : at + 1] = [indent + line for line in added]
        else:
            tree = ast.parse("\n".join(lines))
            (end,) = [one.end_lineno for one in tree.body if one.lineno == at + 1]
            assert end is not None
            lines[end:end] = ["", *added, ""]
        top = lines.index("from __future__ import annotations") + 1
        lines[top:top] = imports
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package's sources, with what is built ahead."""
    known = shutil.ignore_patterns("__pycache__", "*.c", "*.so", "*.pyd")
    shutil.copytree(ROOT / "symdiff", tmp_path / "symdiff", ignore=known)
    for built in (ROOT / "symdiff" / "_kernels").rglob("*.so"):
        shutil.copy(built, tmp_path / built.relative_to(ROOT))
    return tmp_path


#: What an import of all stages is.
STAGES = "import symdiff.calculus.passes, symdiff.codegen.c.emit, symdiff.lowering.plan.planner, symdiff.compiler"


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    places = {"PYTHONPATH": str(root), "SYMDIFF_CACHE_DIR": str(root / "cache")}
    environment = {**os.environ, **places, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300, check=False)


def check(root: Path, program: str) -> None:
    where = f"import symdiff; assert symdiff.__file__.startswith({str(root)!r})\n"
    done = run(root, "-c", where + textwrap.dedent(program))
    assert done.returncode == 0, done.stderr


#: The first parts of what is a place in the package, in a page that leaves the package's own name out.
PLACES = "|".join(sorted({path.name.removesuffix(".py") for path in (ROOT / "symdiff").iterdir()} - {"__pycache__"}))


@pytest.mark.parametrize(
    ("page", "least"),
    [("CONTRIBUTING.md", 20), ("docs/design.md", 20), ("docs/measurements.md", 2)],
)
def test_pages_name_places_that_exist(page: str, least: int) -> None:
    text = re.sub("the new file `[^`]+`", "", (ROOT / page).read_text(encoding="utf-8"))
    named = re.findall(rf"`((?:symdiff|tests|docs|bench|fuzz|{PLACES})/[\w/.]*)`", text)
    assert len(named) >= least, named
    assert [path for path in named if not any((top / path).exists() for top in (ROOT, ROOT / "symdiff"))] == []


def test_scalar_function_is_one_row(copy: Path) -> None:
    recipe = steps("A scalar function: one row")
    assert [step.path for step in recipe] == ["symdiff/graph/scalars/rows.py"]
    follow(copy, recipe)
    check(
        copy,
        """
        import mpmath as mp, numpy as np, symdiff as sd
        x = np.array([-1e300, -800.0, -40.0, -3.0, -1e-8, -1e-300, 0.0, 1e-9, 0.7, 5.0, 25.0, 50.0, 710.0, 1e308])
        exact = lambda f: np.array([float(f(mp.mpf(v))) for v in x])
        mp.mp.dps = 40
        inner = np.abs(x) < 700  # where cosh does not overflow
        wanted = (
            exact(lambda v: 2 * mp.atan(mp.tanh(v / 2))),
            exact(lambda v: mp.sech(v) if abs(v) < 2000 else 0),
            exact(lambda v: -mp.sech(v) * mp.tanh(v) if abs(v) < 2000 else 0),
        )
        t = sd.scalar("t")
        f = "gudermannian(t)"
        forms = [sd.function("gudermannian")(t), sd.gradient(f, "t"), sd.hessian(f, "t")]
        assert str(forms[0]) == "gudermannian(t)", forms[0]
        for backend in ("native", "interpreter", "numpy"):
            for form, exactly in zip(forms, wanted):
                got = sd.compile(form, [t], backend=backend)(x)
                np.testing.assert_allclose(got[inner], exactly[inner], rtol=1e-14, atol=1e-308)
                np.testing.assert_allclose(got[~inner], exactly[~inner], rtol=1e-14, atol=1e-300)
        """,
    )


#: Uses of the norm so far: values, both modes, second derivatives, zeros, text, every backend.
CUMNORM = """
import numpy as np, symdiff as sd
rng = np.random.default_rng(1)

def slope(f, v):
    h = 1e-4
    basis = h * np.eye(v.size).reshape(v.size, *v.shape)
    return np.stack([(8 * (f(v + e) - f(v - e)) - (f(v + 2 * e) - f(v - 2 * e))) / (12 * h) for e in basis], -1)

for shape, axis in (((4,), 0), ((2, 3), 1), ((3, 2), 0)):
    X = sd.array("X", shape)
    f = sd.function("cumnorm")(X, axis=axis)
    assert str(f) == ("cumnorm(X)" if len(shape) == 1 else f"cumnorm(X, axis={axis})")
    again = sd.compile(str(f), X=shape, backend="numpy")
    J, H = sd.jacobian(f, X), sd.jacobian(sd.jacobian(f, X), X)
    assert "cumnorm" in str(J)
    assert "cumnorm" in J.latex()
    x = rng.uniform(-1.5, 1.5, shape)
    exact = lambda v: np.sqrt(np.cumsum(v * v, axis=axis))
    first = slope(exact, x)
    second = slope(lambda v: slope(exact, v), x)
    np.testing.assert_allclose(again(x), exact(x))
    for backend in ("native", "interpreter", "numpy"):
        np.testing.assert_allclose(sd.compile(f, [X], backend=backend)(x), exact(x))
        jacobian = sd.compile(J, [X], backend=backend)
        np.testing.assert_allclose(jacobian(x).reshape(first.shape), first, atol=1e-9)
        np.testing.assert_array_equal(jacobian(0 * x), 0)
        got = sd.compile(H, [X], backend=backend)(x).reshape(second.shape)
        np.testing.assert_allclose(got, second, atol=1e-5)
        back = sd.compile(sd.gradient((f * f).sum(), X), [X], backend=backend)(x)
        np.testing.assert_allclose(back, np.tensordot(2 * exact(x), first, x.ndim).reshape(shape), atol=1e-8)

# axes of any length, which no scalar program has: in vectors and matrices, alone and in batches, from either end
A, v = sd.array("A", ("n", "m")), sd.vector("v", "n")
exact = lambda x, axis: np.sqrt(np.cumsum(x * x, axis))
cumnorm = sd.function("cumnorm")
forms = [cumnorm(A, axis=0), cumnorm(cumnorm(A, axis=1), axis=0), cumnorm(A[::-1], axis=0)[::-1]]
for backend in ("native", "interpreter", "numpy"):
    kernels = [sd.compile(str(form), A=("n", "m"), backend=backend) for form in forms]
    slopes = sd.compile(sd.gradient((cumnorm(v * v) * v).sum(), v), [v], backend=backend)
    for n, m in ((0, 2), (1, 1), (5, 3), (40, 2)):
        a, x = rng.uniform(0.5, 1.5, (2, n, m)), rng.uniform(0.5, 1.5, n)
        wanted = exact(a, 1), exact(exact(a, 2), 1), exact(a[:, ::-1], 1)[:, ::-1]
        for kernel, value in zip(kernels, wanted):
            np.testing.assert_allclose(kernel(a), value)
            np.testing.assert_allclose(kernel(a[0]), value[0])
        wanted = slope(lambda v: np.sum(exact(v * v, 0) * v), x) if n else x
        np.testing.assert_allclose(slopes(x), wanted.ravel(), rtol=1e-6)

# where it is zero by its form
from symdiff.lowering.sparse.structure import nonzeros
front = np.array([0.0, 0.0, 1.0, 0.0])
w = sd.vector("w", 4)
(found,) = nonzeros([sd.function("cumnorm")(w * front).node], {})
assert found.tolist() == [False, False, True, True]
"""

#: A sum of absolute values over axes, in the same five places.
TAXICAB = [
    Step(
        "symdiff/graph/primitives.py",
        '_over_axes("reduce", "norm"',
        '_over_axes("reduce", "taxicab", zeros=Zeros.ALL)',
    ),
    Step(
        "symdiff/graph/reference/numeric.py",
        "def norm(",
        "def taxicab(x: Array, axes: tuple[int, ...]) -> Array:\n    return np.sum(np.abs(x), axes)",
    ),
    Step(
        "symdiff/calculus/rules.py",
        "def _norm(",
        """\
@_rule("taxicab", "differential of a sum", "sum_i sign(x_i) dx_i", "chain rule")
def _taxicab(node: Node, tangents: Sequence[Node | None]) -> Node:
    slopes = elementwise("sign", (node.args[0],))
    return _sum_last(scale_by(slopes, _only(tangents)), node.payload.axes)
""",
    ),
    Step("symdiff/lowering/expand.py", '"norm": norm,', '"taxicab": lambda values, x: values.total("abs", x),'),
    Step("symdiff/frontend/numpy/library.py", '_add("cov"', """\
_add("taxicab", partial(reductions.over_axes, "taxicab"), 1, 1, 2, ("axis", "keepdims"))
"""),
]
#: Uses of it: small and of any size, both modes, patterns, with data in rows.
USES_OF_TAXICAB = """
import numpy as np, symdiff as sd
from symdiff.lowering.sparse.structure import nonzeros
rng = np.random.default_rng(1)
for shape in ((4, 3), ("n", "m")):
    X = sd.array("X", shape)
    f = sd.function("taxicab")(X, axis=1)
    assert str(f) == "taxicab(X, axis=1)" and "taxicab" in f.latex() and "taxicab" in str(f.sympy)
    g, J = sd.gradient((f * f).sum(), X), sd.jacobian(sd.function("taxicab")(X), X)
    x = rng.normal(size=(2, 4, 3))
    total = abs(x).sum(-1)
    for backend in ("native", "interpreter", "numpy"):
        np.testing.assert_allclose(sd.compile(f, [X], backend=backend)(x), total)
        np.testing.assert_allclose(sd.compile(g, [X], backend=backend)(x), 2 * total[..., None] * np.sign(x))
        np.testing.assert_allclose(sd.compile(J, [X], backend=backend)(x), np.sign(x))
for backend in ("native", "interpreter", "numpy"):
    empty = sd.compile(sd.function("taxicab")(sd.array("X", (2, 0)), axis=1), backend=backend)
    np.testing.assert_array_equal(empty(np.ones((2, 0))), np.zeros(2))
w = sd.array("X", (4, 3))
(found,) = nonzeros([sd.function("taxicab")(w * np.eye(4, 3), axis=1).node], {})
assert found.tolist() == [True, True, True, False]
"""


@pytest.mark.exhaustive
def test_array_primitive_is_five_files(copy: Path) -> None:
    recipe = steps("An operation on arrays")
    assert len({step.path for step in recipe}) == len(recipe) == 5
    follow(copy, recipe)
    check(copy, CUMNORM)


@pytest.mark.exhaustive
def test_reduction_is_five_files(copy: Path) -> None:
    assert len({step.path for step in TAXICAB}) == 5
    follow(copy, TAXICAB)
    check(copy, USES_OF_TAXICAB)


#: The trace of the square of a matrix.
SQUARE_TRACE = [
    Step("symdiff/graph/primitives.py", '_matrix("det"', '_matrix("square_trace", keeps=False)'),
    Step(
        "symdiff/graph/reference/numeric.py",
        "def norm(",
        'def square_trace(a: Array) -> Array:\n    return np.einsum("...ij,...ji->...", a, a)',
    ),
    Step(
        "symdiff/calculus/rules.py",
        "def _norm(",
        """\
@_rule("square_trace", "product rule", "2 tr(A dA)", "chain rule")
def _square_trace(node: Node, tangents: Sequence[Node | None]) -> Node:
    return _sum_last(scale_by(2.0 * transposed(node.args[0]), _only(tangents)), (-2, -1))
""",
    ),
    Step(
        "symdiff/lowering/matrices.py",
        '"adjugate": _each_matrix(_adjugate, 2),',
        """\
"square_trace": _each_matrix(
    lambda builder, op, a: builder.sum(builder.multiply(x, y) for p, q in zip(a, zip(*a)) for x, y in zip(p, q)), 0
),""",
    ),
    Step("symdiff/frontend/numpy/library.py", '_add("cov"', '_add("square_trace", partial(matrix, "square_trace"))'),
]
#: Uses of it: small, in stacks, and of any size, where no plan has a step for it and NumPy computes it.
USES_OF_SQUARE_TRACE = """
import numpy as np, symdiff as sd
rng = np.random.default_rng(1)
for shape in ((3, 3), (20, 20), ("n", "n")):
    A = sd.array("A", shape)
    f = sd.function("square_trace")(A)
    assert str(f) == "square_trace(A)" and "square_trace" in str(f.sympy)
    a = rng.normal(size=(2, 3, 3) if shape[0] != 20 else (2, 20, 20))
    wanted = np.trace(a @ a, axis1=1, axis2=2)
    for backend in ("native", "interpreter", "numpy", "auto"):
        try:
            kernels = [sd.compile(form, [A], backend=backend) for form in (f, sd.gradient(f * f, A))]
        except sd.UnsupportedError:
            assert shape[0] == "n" and backend in ("native", "interpreter")
            continue
        for k in range(2):
            np.testing.assert_allclose(kernels[0](a[k]), wanted[k])
        np.testing.assert_allclose(kernels[0](a), wanted)
        np.testing.assert_allclose(kernels[1](a), 4 * wanted[:, None, None] * a.swapaxes(1, 2))
"""


@pytest.mark.exhaustive
def test_function_of_matrices_is_five_files(copy: Path) -> None:
    assert len({step.path for step in SQUARE_TRACE}) == 5
    follow(copy, SQUARE_TRACE)
    check(copy, USES_OF_SQUARE_TRACE)


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ("symdiff/graph/reference/numeric.py", "cumnorm"),
        ("symdiff/calculus/rules.py", "symdiff.calculus.rules lacks cumnorm"),
        ("symdiff/lowering/expand.py", "symdiff.lowering.arrays lacks cumnorm"),
        ("symdiff/graph/primitives.py", "symdiff.calculus.rules has cumnorm"),
    ],
)
def test_missing_piece_of_a_primitive_is_named_at_import(copy: Path, left_out: str, named: str) -> None:
    recipe = steps("An operation on arrays")
    follow(copy, [step for step in recipe if step.path != left_out])
    done = run(copy, "-c", STAGES)
    assert done.returncode == 1
    assert named in done.stderr.splitlines()[-1]


def test_function_with_an_expansion_is_no_operation_of_the_program(copy: Path) -> None:
    recipe = steps("An operation on arrays")
    follow(copy, [step._replace(lines=step.lines.replace('"hypot"', '"logaddexp"')) for step in recipe])
    done = run(copy, "-c", STAGES)
    assert done.returncode == 1
    assert "names logaddexp, which is no operation of the scalar program" in done.stderr.splitlines()[-1]


def test_operation_of_the_program_without_a_spelling_is_named_at_import(copy: Path) -> None:
    row = '_unary("cosm1", lambda x, f: -sin(x), numpy="special.cosm1", source="4.20.2")'
    follow(copy, [Step("symdiff/graph/scalars/rows.py", '_unary("sech"', row)])
    done = run(copy, "-c", STAGES)
    assert done.returncode == 1
    assert "symdiff.codegen.c.spelling lacks cosm1" in done.stderr.splitlines()[-1]


SIGN_OF_SIGN = """
from symdiff.graph import elementwise, input
from symdiff.rewrite import simplify
once = elementwise("sign", (input("x"),))
twice = elementwise("sign", (once,))
assert simplify([twice]) == [{}]
"""


@pytest.mark.exhaustive
def test_simplification_is_one_function(copy: Path) -> None:
    check(copy, SIGN_OF_SIGN.format("twice"))
    follow(copy, steps("An equation: one line"))
    check(copy, SIGN_OF_SIGN.format("once"))


def test_target_is_one_file_and_a_row(copy: Path) -> None:
    recipe = steps("A target: one file and a row")
    assert [step.path for step in recipe] == ["symdiff/codegen/rows.py", *2 * ["symdiff/codegen/__init__.py"]]
    follow(copy, recipe)
    check(
        copy,
        """
        import json, symdiff as sd, symdiff.codegen
        told = json.loads(sd.compile("x * sin(y) + 2", backend="interpreter").source("rows"))
        assert [op for op, _ in told["values"]] == ["load", "load", "sin", "multiply", "const", "add"], told
        assert told["values"][3:5] == [["multiply", [0, 2]], ["const", 2.0]], told
        assert told["stores"] == [[5]], told
        assert "rows programs as JSON" in " ".join(symdiff.codegen.__doc__.split())
        """,
    )
    formula = ("x * sin(y) + 2", "--target", "rows", "--name", "f", "--out", str(copy / "out"))
    done = run(copy, "-m", "symdiff", "export", *formula)
    assert done.returncode == 0, done.stderr
    derived = run(copy, "-m", "symdiff", "derive", "x**2", "--wrt", "x", "--format", "rows")
    assert json.loads((copy / "out" / "f.json").read_text())["stores"] == [[5]]
    assert json.loads(derived.stdout)["stores"], derived.stderr
    check(copy, f"""
        import runpy
        from symdiff.tools.command.answers import FORMS
        assert FORMS["rows"] == "JSON"
        table = runpy.run_path({str(ROOT / "docs" / "generate.py")!r})["targets_table"]()
        assert '`"rows"` | `name.json`' in table, table
    """)


@pytest.mark.exhaustive
def test_command_is_one_function(copy: Path) -> None:
    follow(copy, steps("A command: one function"))
    done = run(copy, "-m", "symdiff", "inputs", "x * sum(A)", "--shape", "x=", "--shape", "A=n,3")
    assert (done.returncode, done.stdout.split("\n")) == (0, ["x ()", "A (n, 3)", ""]), done.stderr
    refused = run(copy, "-m", "symdiff", "inputs", "x * (")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
