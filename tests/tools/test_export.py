"""Exported source, built and run where symdiff is not: C, C++, and Python with NumPy alone."""

from __future__ import annotations

import ast
import ctypes
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import symdiff as sd
from symdiff.codegen import TARGETS
from symdiff.codegen.names import comment, harmless_names
from symdiff.codegen.numpy.alone import emit_alone
from symdiff.codegen.numpy.libraries import LIBRARIES
from symdiff.errors import ArgumentError, DataError, SymdiffError, UnsupportedError
from symdiff.frontend.array import Array as Formulated
from symdiff.graph import REAL, constant, postorder
from symdiff.graph.scalars.functions import FUNCTIONS, apply, expanded
from symdiff.graph.sizes import Size, value
from tests.support.strategies import Formula, formulas, sample

Array = npt.NDArray[Any]

FLAGS = ["-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]
C = [shutil.which("gcc") or "cc", "-std=c99", *FLAGS]
CPP = [shutil.which("g++") or "c++", "-std=c++11", "-x", "c++", *FLAGS, "-O0"]


class Case(NamedTuple):
    """A kernel, arguments with a batch in front, and the sizes that are letters, in order."""

    kernel: Any
    arrays: Sequence[Array]
    sizes: Mapping[str, int]


def build(folder: Path, command: Sequence[str]) -> ctypes.CDLL:
    """Build all C files of a folder into one library."""
    library = folder / f"lib{len(command)}.so"
    sources = sorted(str(file) for file in folder.glob("*.c"))
    done = subprocess.run(
        [*command, "-fPIC", "-shared", "-o", str(library), *sources, "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(library))


def call_c(library: ctypes.CDLL, name: str, case: Case, count: int) -> tuple[int, list[Array]]:
    """Call an exported function as a C programmer would."""
    arrays = [np.ascontiguousarray(array, np.float64) for array in case.arrays]
    lead = () if case.kernel.options.reduce else (count,)
    outs = [
        np.full((*lead, *(value(size, case.sizes) for size in output.shape)), 7.0) for output in case.kernel.outputs
    ]
    function = getattr(library, name)
    function.restype = ctypes.c_ssize_t
    numbers = [ctypes.c_ssize_t(n) for n in (count, *case.sizes.values())]
    return function(*numbers, *(a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, *outs))), outs


def near(got: Array, want: Array, tolerance: float = 1e-9) -> None:
    want = np.asarray(want)
    scale = max(1.0, np.abs(want, where=np.isfinite(want), out=np.zeros(want.shape)).max(initial=0.0))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


def expected(case: Case) -> list[Array]:
    found = case.kernel(*case.arrays)
    return list(found) if isinstance(found, tuple | list) else [found]


def letters_of(kernel: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the letters in the order of an exported function's arguments."""
    order = [name for p in kernel.inputs for size in p.shape if isinstance(size, Size) for name in sorted(size.names)]
    return {name: sizes[name] for name in dict.fromkeys(order)}


def case_of(text: Any, sizes: Mapping[str, int], count: int = 3, seed: int = 0, **shapes: Any) -> Case:
    kernel = sd.compile(text, backend="numpy", **shapes)
    rng = np.random.default_rng(seed)
    arrays = []
    for p in kernel.inputs:
        shape = tuple(value(size, sizes) for size in p.shape)
        x = rng.uniform(0.3, 1.2, (count, *shape))
        arrays.append(x + 2 * np.eye(shape[0]) if len(shape) == 2 and shape[0] == shape[1] else x)
    return Case(kernel, arrays, letters_of(kernel, sizes))


#: Formulas of the kinds that there are: short programs, long ones in parts, loops, factorizations, special functions.
FORMULAS: list[tuple[str, dict[str, Any]]] = [
    ("x", {"x": ()}),
    ("hessian(log(softmax(X @ y))[0], X)", {"X": (2, 4), "y": 4}),
    ("log(det(A)) + trace(inv(A)) + sum(cholesky(A @ A.T))", {"A": (3, 3)}),
    ("gradient(log(det(A)), A), inv(A) @ x, x @ x", {"A": (5, 5), "x": 5}),
    ("hessian(log(det(A)), A)", {"A": (4, 4)}),
    ("digamma(x) + polygamma(3, x) + sinc(y) + gamma(x) * lgamma(y) + erf(x) - erfc(y)", {"x": (), "y": ()}),
    ("where(x > y, x % y, minimum(x, y)) + sign(x) + maximum(x, 1)", {"x": 3, "y": 3}),
    ("gradient(sum((X @ w - y)**2), w), X @ w", {"X": ("m", "n"), "w": "n", "y": "m"}),
    ("inv(A) @ x + solve(A.T, x) + det(A) * x", {"A": ("n", "n"), "x": "n"}),
    ("logdet(A @ A.T), cholesky(A @ A.T), solve(A, B), logabsdet(A)", {"A": ("n", "n"), "B": ("n", "m")}),
    ("max(x) + min(x) * prod(x) + sum(cumsum(x))", {"x": "n"}),
    ("gradient(logsumexp(x), x) + norm(x) * cumsum(x)[::-1]", {"x": "n"}),
    ("hessian(sum(exp(x) * a), x)", {"x": "n", "a": "n"}),
    ("outer(x, y) @ outer(y, x), 3, x", {"x": "n", "y": "m"}),
    ("gradient(sum(tanh(A @ x)**2), A)", {"A": (40, 50), "x": 50}),
    ("x[[0, 3, 39, 3]] + sum(x[1:] * x[:-1])", {"x": 40}),
    ("sum(x[1:] * x[:-1])", {"x": "n"}),
    ("A[1:, 2:] * A[:-1, :-2] + A[3, 1:-1]", {"A": (40, 50)}),
    ("sum(B[1:] * B[:-1]) + B[2, 0]", {"B": ("n", "m")}),
    ("X @ ones(50) + concatenate([x, x[:20]])", {"X": (70, 50), "x": 50}),
]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = []
    for k, (text, shapes) in enumerate(FORMULAS):
        sizes = {"n": 4, "m": 6}
        found.append(case_of(text, sizes, seed=k, **shapes))
    return found


def test_c_is_the_kernel(cases: list[Case], tmp_path: Path) -> None:
    for k, case in enumerate(cases):
        files = sd.export(case.kernel, tmp_path, f"f{k}", target="c")
        assert [file.name for file in files] == [f"f{k}.c", f"f{k}.h"]
    libraries = [build(tmp_path, C), build(tmp_path, CPP)]
    for k, case in enumerate(cases):
        for library in libraries:
            status, outs = call_c(library, f"f{k}", case, 3)
            assert status == -1, FORMULAS[k]
            for out, want in zip(outs, expected(case), strict=True):
                near(out, want)
            assert call_c(library, f"f{k}", case, 0)[0] == -1


def filters() -> list[Any]:
    """Loops over rows and numbers: a filter with solutions, its gradient backwards, sums, loops in loops, matrices."""
    t, x, y = sd.matrix("t", 2, 2), sd.matrix("x", "n", 2), sd.vector("y", 5)

    def step(carried: Any, row: Any) -> Any:
        v, m = carried
        m = np.tanh(m @ t) + 0.1 * np.outer(v, row)
        v = np.linalg.solve(3 * np.eye(2) + m, v + row)
        return (np.where(v > 0.1, v, np.sin(v)), m), v * row

    (v, m), rows = sd.scan(step, (x[0], 0 * t), x)
    loss = np.sum(v * v) + np.sum(m) + np.sum(np.cos(rows))
    inner = sd.scan(lambda s, a: (sd.iterate(lambda u: np.cos(u + a), s, 3), s * a), y[0], y, reverse=True)
    return [
        [loss, rows],
        [sd.gradient(loss, t), sd.gradient(loss, x)],
        [*inner, sd.sum_over("k", "n", lambda k: np.exp(-k * x[0, 0])) + y[0]],
        sd.expm(t),
        [sd.iterate(lambda s: s + 0.1 * np.sin(t @ s), x[1], 1000), x],
    ]


def test_loops_are_c(tmp_path: Path) -> None:
    """What is carried changes places, rows move along; what a loop wrote is there for the next one."""
    cases = [case_of(formula, {"n": 7}, seed=k) for k, formula in enumerate(filters())]
    for k, case in enumerate(cases):
        sd.export(case.kernel, tmp_path, f"f{k}", target="c")
    for library in (build(tmp_path, C), build(tmp_path, CPP)):
        for k, case in enumerate(cases):
            status, outs = call_c(library, f"f{k}", case, 3)
            assert status == -1
            for out, want in zip(outs, expected(case), strict=True):
                near(out, want)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that has NumPy and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    place = Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):
        if (place / name).exists():
            (folder / name).symlink_to(place / name)
    return folder


RUN = """
import sys
sys.path[:0] = [{bare!r}, {folder!r}]
import importlib, json
import numpy as np
found = []
for name, values in json.loads(sys.stdin.read()):
    result = importlib.import_module(name).evaluate(*[np.array(v, np.float64).reshape(s) for v, s in values])
    results = result if isinstance(result, tuple) else (result,)
    found.append([[np.ravel(one).tolist(), np.shape(one)] for one in results])
loaded = sorted({{name.partition(".")[0] for name in sys.modules}})
print(json.dumps([found, loaded]))
"""


def call_numpy(bare: Path, folder: Path, calls: Sequence[tuple[str, Sequence[Array]]]) -> list[list[Array]]:
    """Call exported modules in a Python that has NumPy alone."""
    sent = [[name, [[np.ravel(a).tolist(), np.shape(a)] for a in arrays]] for name, arrays in calls]
    code = RUN.format(bare=str(bare), folder=str(folder))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], input=json.dumps(sent), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found, loaded = json.loads(done.stdout)
    assert not {"symdiff", "scipy", "sympy", "Cython"} & {*loaded}
    return [[np.array(x, np.float64).reshape(shape) for x, shape in results] for results in found]


def test_numpy_is_the_kernel(cases: list[Case], bare: Path, tmp_path: Path) -> None:
    calls = []
    for k, case in enumerate(cases):
        if "digamma" in FORMULAS[k][0]:
            continue
        (file,) = sd.export(case.kernel, tmp_path, f"f{k}", target="numpy")
        assert "symdiff" not in file.read_text().replace("written by symdiff", "")
        calls += [(f"f{k}", case.arrays), (f"f{k}", [array[0] for array in case.arrays])]
    results = call_numpy(bare, tmp_path, calls)
    for (name, arrays), got in zip(calls, results, strict=True):
        case = cases[int(name[1:])]
        for one, want in zip(got, expected(case._replace(arrays=arrays)), strict=True):
            assert one.shape == np.shape(want)
            near(one, want)


#: Functions that symdiff has compiled, and those that SciPy computes.
COMPILED = tuple(name for name, row in FUNCTIONS.items() if row.special)
FROM_SCIPY = tuple(name for name, row in FUNCTIONS.items() if row.library)


def has_numpy(name: str, *, scipy: bool = False) -> bool:
    """Tell whether a scalar function can be written with NumPy, or SciPy too."""
    row = FUNCTIONS[name]
    inputs = [sd.scalar(f"x{k}").node for k in range(row.arity)]
    first = [constant(row.domain[0][0])] if row.domain[0][0] == row.domain[0][1] else inputs[:1]
    try:
        emit_alone(inputs, [apply(name, *first, *inputs[1:])], batched=[True] * len(inputs), scipy=scipy)
    except UnsupportedError:
        return False
    return True


REALS = [name for name, row in FUNCTIONS.items() if row.takes is REAL and name != "where"]
NUMPY = [name for name in REALS if has_numpy(name)]
SCIPY = [name for name in REALS if has_numpy(name, scipy=True)]
IN_C = [name for name in REALS if name not in FROM_SCIPY]


def test_what_numpy_and_scipy_have() -> None:
    assert {"erf", "erfc", "gamma", "lgamma", "ndtr", "sigmoid", "log_sigmoid", "xlogy", "sinc"} <= {*NUMPY}
    assert not {*NUMPY} & {*FROM_SCIPY}
    assert {*NUMPY, *FROM_SCIPY} <= {*SCIPY}
    lacking = {name for name in REALS if name not in SCIPY}
    # what is left are derivatives by parameters, logarithms of integrals, and Faddeeva's function
    assert {name for name in lacking if not re.search("_by_|^log_|^wofz|^voigt|^beta_density|^zeta_by", name)} == set()


def all_of(names: Sequence[str]) -> Case:
    """Return a kernel of some functions, and points of their domains."""
    rng = np.random.default_rng(1)
    inputs: list[Any] = []
    arrays, outputs = [], []
    for name in names:
        args: list[Any] = []
        for low, high in FUNCTIONS[name].domain:
            if low == high:  # the order of a family of functions
                args.append(low)
                continue
            inputs.append(sd.scalar(f"x{len(inputs)}"))
            arrays.append(rng.uniform(low, high, 20))
            args.append(inputs[-1].node)
        node = Formulated(apply(name, *args))
        outputs.append(node + 0 if FUNCTIONS[name].gives is REAL else sd.where(node, 1, 0))
    return Case(sd.compile(outputs, inputs, backend="numpy"), arrays, {})


def test_every_scalar_function(bare: Path, tmp_path: Path) -> None:
    case = all_of(NUMPY)
    sd.export(case.kernel, tmp_path, "numpy_alone", target="numpy")
    (found,) = call_numpy(bare, tmp_path, [("numpy_alone", case.arrays)])
    for name, out, want in zip(NUMPY, found, expected(case), strict=True):
        np.testing.assert_allclose(out, want, rtol=1e-11, atol=1e-13, err_msg=name)


def test_every_scalar_function_that_scipy_helps_with(tmp_path: Path) -> None:
    names = [name for name in SCIPY if name not in NUMPY]
    case = all_of(names)
    (file,) = sd.export(case.kernel, tmp_path, "with_scipy", target="numpy+scipy")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), "with_scipy", "exec"), space)  # noqa: S102 -- our own text, about which the test is
    for name, out, want in zip(names, space["evaluate"](*case.arrays), expected(case), strict=True):
        np.testing.assert_allclose(out, want, rtol=2e-11, atol=1e-13, err_msg=name)


def test_every_scalar_function_in_c(tmp_path: Path) -> None:
    names = [name for name in IN_C if can_be_c(name)]
    assert {*COMPILED} <= {*names}
    case = all_of(names)
    sd.export(case.kernel, tmp_path, "group", target="c")
    status, outs = call_c(build(tmp_path, [*C, "-O0"]), "group", case, 20)
    assert status == -1
    for name, out, want in zip(names, outs, expected(case), strict=True):
        np.testing.assert_allclose(out, want, rtol=1e-11, atol=1e-13, err_msg=name)


def can_be_c(name: str) -> bool:
    """Tell whether a function is no formula of one that is SciPy's."""
    row = FUNCTIONS[name]
    inputs = [sd.scalar(f"x{k}").node for k in range(row.arity)]
    first = [constant(row.domain[0][0])] if row.domain[0][0] == row.domain[0][1] else inputs[:1]
    return not any(node.op in FROM_SCIPY for node in postorder(expanded([apply(name, *first, *inputs[1:])])))


@pytest.mark.parametrize("name", FROM_SCIPY)
@pytest.mark.parametrize("target", ["c", "numpy"])
def test_functions_of_scipy_are_refused_by_name(name: str, target: str, tmp_path: Path) -> None:
    inputs = [sd.scalar(f"x{i}") for i in range(FUNCTIONS[name].arity)]
    first: list[Any] = [2.0] if FUNCTIONS[name].orders else [inputs[0].node]
    formula = Formulated(apply(name, *first, *(x.node for x in inputs[1:])))
    kernel = sd.compile(formula, inputs, backend="numpy")
    said = "is computed by SciPy" if target == "c" else "is a function that NumPy lacks"
    with pytest.raises(UnsupportedError, match=rf"{FUNCTIONS[name].library} {said}.*target='numpy\+scipy'"):
        sd.export(kernel, tmp_path, "lacking", target=target)
    assert sd.export(kernel, tmp_path, "written", target="numpy+scipy")


def collect(symbolic: bool, long: bool, count: int) -> list[Formula]:
    """Draw random formulas, the same in each run."""
    drawn: list[Formula] = []

    @settings(max_examples=count, derandomize=True, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(formulas(symbolic=symbolic, long=long))
    def draw(formula: Formula) -> None:
        drawn.append(formula)

    draw()
    return drawn


@pytest.mark.rows(1)
@pytest.mark.parametrize(("symbolic", "long", "sizes"), [
    (False, False, {"n": 3, "m": 2}), (False, True, {"n": 40, "m": 35}), (True, False, {"n": 20, "m": 17}),
])
def test_random_formulas(symbolic: bool, long: bool, sizes: dict[str, int], bare: Path, tmp_path: Path) -> None:
    cases, refused = {}, 0
    for k, formula in enumerate(collect(symbolic, long, 16)):
        try:
            kernel = sd.compile([Formulated(root) for root in formula.roots], list(map(Formulated, formula.inputs)),
                                backend="numpy")
            shapes = [tuple(value(size, sizes) for size in p.shape) for p in kernel.outputs]
            if any(math.prod(shape) > 10**5 or min(shape, default=0) < 0 for shape in shapes):
                continue
            case = Case(kernel, sample(formula.inputs, (2,) * 5, k, sizes), sizes if symbolic else {})
            want = expected(case)
        except SymdiffError:
            continue
        sd.export(kernel, tmp_path, f"f{k}", target="numpy")
        cases[f"f{k}"] = case, want
        try:
            sd.export(kernel, tmp_path, f"f{k}", target="c")
        except UnsupportedError as error:
            refused += len(str(error)) > 20
    assert len(cases) >= 8
    assert refused <= len(cases) // 2
    library = build(tmp_path, [*C, "-O0"])
    found = call_numpy(bare, tmp_path, [(name, case.arrays) for name, (case, _) in cases.items()])
    for got, (name, (case, want)) in zip(found, cases.items(), strict=True):
        for one, other in zip(got, want, strict=True):
            near(one, other, 1e-8)
        if not (tmp_path / f"{name}.c").exists():
            continue
        status, outs = call_c(library, name, case, 2)
        if status == -3:
            refused += 1
            continue
        assert status == -1
        for one, other in zip(outs, want, strict=True):
            near(one, other, 1e-8)
    assert refused <= len(cases) // 2


# ---------------------------------------------------------------------------- export files
# What stands in exported files: names, options, comments, and what is refused.


def test_options_are_kept(bare: Path, tmp_path: Path) -> None:
    kernel = sd.compile("exp(x) * y, x", x=3, y=(), batch=["x"], reduce="sum", backend="numpy")
    for target in ("c", "numpy"):
        sd.export(kernel, tmp_path, "total", target=target)
    x = np.random.default_rng(0).normal(size=(3000, 3))
    want = [2 * np.exp(x).sum(axis=0), x.sum(axis=0)]
    library = build(tmp_path, C)
    status, outs = call_c(library, "total", Case(kernel, [x, np.array(2.0)], {}), 3000)
    assert status == -1
    (found,) = call_numpy(bare, tmp_path, [("total", [x, np.array(2.0)])])
    for got in (outs, found):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    assert call_c(library, "total", Case(kernel, [x, np.array(2.0)], {}), 0)[0] == -1
    assert "y: in, ()" in (tmp_path / "total.h").read_text()
    assert "count: the number of samples, over which results are summed" in (tmp_path / "total.h").read_text()


def test_what_c_returns(tmp_path: Path) -> None:
    sd.export(sd.compile("inv(A)", A=(3, 3)), tmp_path, "fixed", target="c")
    letters = sd.compile("inv(A)", A=("n", "n"), backend="numpy")
    sd.export(letters, tmp_path, "letters", target="c")
    definite = sd.compile("cholesky(A)", A=("n", "n"), backend="numpy")
    sd.export(definite, tmp_path, "definite", target="c")
    stencil = sd.compile("gradient(sum(x[1:] * x[:-1]), x)", x="n", backend="numpy")
    sd.export(stencil, tmp_path, "stencil", target="c")
    library = build(tmp_path, C)
    matrices = np.array([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.eye(3)])
    for name, sizes in (("fixed", {}), ("letters", {"n": 3}), ("definite", {"n": 3})):
        kernel = letters if sizes else sd.compile("inv(A)", A=(3, 3))
        assert call_c(library, name, Case(kernel, [matrices], sizes), 3)[0] == 1
        assert call_c(library, name, Case(kernel, [matrices[:1]], sizes), 1)[0] == -1
        unknown = np.full((1, 3, 3), np.nan)
        status, (out,) = call_c(library, name, Case(kernel, [unknown], sizes), 1)
        assert status == -1
        assert np.isnan(out).all()
    for n in (1, 3, 15, 16, 33):
        x = np.arange(1.0, n + 1)[None]
        status, (out,) = call_c(library, "stencil", Case(stencil, [x], {"n": n}), 1)
        assert status == (-3 if n < 16 else -1)
        if n >= 16:
            near(out, stencil(x))


EVIL = ["double", "I", "λ", "sd_sample", "INT_MAX", "count", "linux", "_x", "k", "evil", "EDOM", "restrict", "a__b",
        "and_eq"]


def test_no_name_of_a_user_means_anything_to_c(bare: Path, tmp_path: Path) -> None:
    inputs = list(map(sd.scalar, EVIL))
    kernel = sd.compile({"int": sum(inputs), "y": inputs[0] * 2}, inputs, backend="numpy")
    for target in ("c", "numpy"):
        sd.export(kernel, tmp_path, "evil", target=target)
    values = [np.array([float(k)]) for k in range(len(inputs))]
    for command in (C, CPP):
        status, outs = call_c(build(tmp_path, command), "evil", Case(kernel, values, {}), 1)
        assert status == -1
        near(outs[0], sum(values))
    (found,) = call_numpy(bare, tmp_path, [("evil", values)])
    near(found[0], sum(values))
    head = (tmp_path / "evil.h").read_text()
    assert all(f"input{number}: '{name}'" in head for number, name in enumerate(EVIL))
    without = re.sub(r"/\*.*?\*/", "", head, flags=re.DOTALL)
    assert without.isascii()
    assert "INT_MAX" not in without


def test_names_and_comments() -> None:
    assert harmless_names(["a", "int", "input1", "a"], "input") == ["a", "input1n", "input1", "input3"]
    for evil in ("*/", "/*", "**//", "*/*/", "??/", "\\\n", "\u202e", "a\n*/\nint x;", "/" * 9, "*" * 9 + "/"):
        shown = comment(evil)
        assert "*/" not in shown
        assert "/*" not in shown
        assert "??" not in shown
        assert "\\" not in shown
        assert "\u202e" not in shown


def test_the_module_is_one_function_with_the_names_of_the_user(tmp_path: Path) -> None:
    shapes = {"np": (), "λ": 3, "v0": 3, "evaluate": ()}
    kernel = sd.compile("np + λ @ v0 + evaluate", shapes=shapes, backend="numpy")
    (file,) = sd.export(kernel, tmp_path, "named", target="numpy")
    (function,) = [part for part in ast.parse(file.read_text()).body if getattr(part, "name", "") == "evaluate"]
    assert isinstance(function, ast.FunctionDef)
    assert [arg.arg for arg in function.args.args] == ["input0", "λ", "input2", "input3"]


TAKEN = ["exp", "y0", "int", "class", "sd_f", "main", "printf", "sqrtf", "a__b", "EOF", "INT_MAX"]


@pytest.mark.parametrize("name", TAKEN)
def test_names_that_c_has_taken_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"choose another name|no name"):
        sd.export(sd.compile("x + 1"), tmp_path, name, target="c")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    kernel = sd.compile("x + 1")
    for target in ("fortran", "", None, 3):
        with pytest.raises(ArgumentError, match=r"target=.*expected one of 'c', 'cython', 'numpy'"):
            sd.export(kernel, tmp_path, target=target)
    sparse = sd.compile("hessian(sum(exp(x)), x)", x=3, sparse="csr")
    positions = sd.compile("x[i]", x=3, i=int)
    columns = sd.compile("x + 1", batch_axis=-1)
    large = sd.compile("adjugate(A)", A=("n", "n"), backend="numpy")
    for target in ("c", "cython", "numpy"):
        for kernel, words in ((sparse, "sparse results"), (positions, r"positions among its inputs \(i\)"),
                              (columns, "batch_axis=0")):
            with pytest.raises(UnsupportedError, match=words):
                sd.export(kernel, tmp_path, target=target)
    with pytest.raises(UnsupportedError, match=r"adjugate.*has no C; give its sizes as numbers"):
        sd.export(large, tmp_path, target="c")
    with pytest.raises(UnsupportedError, match="size"):
        sd.export(large, tmp_path, target="cython")
    sd.export(large, tmp_path / "new", target="numpy")
    with pytest.raises(ArgumentError, match="overwrite=True"):
        sd.export(large, tmp_path / "new", target="numpy")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="no folder"):
        sd.export(sd.compile("x + 1"), tmp_path / "file", "f", target="c")


def test_a_module_refuses_wrong_arguments(tmp_path: Path) -> None:
    kernel = sd.compile("A @ x", A=("m", "n"), x="n", batch=["x"], backend="numpy")
    (file,) = sd.export(kernel, tmp_path, "refusing", target="numpy")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), "refusing", "exec"), space)  # noqa: S102 -- our own text, about which the test is
    evaluate = space["evaluate"]
    near(evaluate(np.eye(2), np.ones((5, 2))), np.ones((5, 2)))
    for wrong, words in (
        ((np.eye(2), np.ones(3)), "x has shape"),
        ((np.ones((4, 2, 2)), np.ones(2)), "A has shape"),
        ((np.eye(2), 1.0), "expected 1 axes"),
    ):
        with pytest.raises(ValueError, match=words):
            evaluate(*wrong)
    with pytest.raises(TypeError, match="complex"):
        evaluate(np.eye(2) * 1j, np.ones(2))


@pytest.mark.parametrize("shape", [(), 3, "n"])
@pytest.mark.parametrize("form", ["{}", "gradient({}, x)"])
def test_the_way_out_of_what_numpy_lacks_works(form: str, shape: Any, tmp_path: Path) -> None:
    kernel = sd.compile(form.format("sum(airyai(x))" if shape else "airyai(x)"), x=shape, backend="numpy")
    with pytest.raises(sd.UnsupportedError, match=r"airyai.* is a function that NumPy lacks.*target='c'"):
        sd.export(kernel, tmp_path, "slope", target="numpy")
    assert {path.suffix for path in sd.export(kernel, tmp_path, "slope", target="c")} == {".c", ".h"}


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("text", "shapes", "targets"),
    [
        ("x @ A @ x", {"A": ("n", "n"), "x": "n"}, ["c", "numpy", "numpy+scipy", *LIBRARIES]),
        ("digamma(x) * y", {"x": (), "y": ()}, ["c", "cython", "numpy+scipy", "jax", "torch"]),
        ("airyai(x) * y", {"x": (), "y": ()}, ["c", "cython", "numpy+scipy"]),
        ("gradient(eigvalsh(S)[0], S)", {"S": sd.symmetric(3)}, ["numpy", "numpy+scipy", *LIBRARIES]),
        ("eigvalsh(S)[0]", {"S": sd.symmetric("n")}, None),
    ],
)
def test_targets_that_are_named_can_write_it(
    text: str, shapes: dict[str, Any], targets: list[str] | None, tmp_path: Path
) -> None:
    kernel = sd.compile(text, shapes=shapes, backend="numpy")
    written, told = set(), {}
    for target in TARGETS:
        try:
            sd.export(kernel, tmp_path / target, "f", target=target)
            written.add(target)
        except UnsupportedError as error:
            told[target] = str(error)
    assert targets is None or written == set(targets)
    for words in told.values():
        named = set(re.findall(r"target='([\w+]+)'", words))
        assert named == written
        assert ("no target can write it; call the kernel" in words) == (not written)
