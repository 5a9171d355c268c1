"""Kept compilations come back between processes as they were, or not at all; damaged records are replaced."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.codegen import Request
from symdiff.errors import DataError, LimitError, SingularMatrixError
from symdiff.ground import budget
from symdiff.ground.tracing import VARIABLE
from symdiff.lowering.plan.plan import Plan
from symdiff.lowering.program import Program
from symdiff.runtime.kept import encoding, plain
from symdiff.runtime.kept import lookup as keys
from symdiff.runtime.kept.lookup import write_waiting
from symdiff.runtime.runners import BACKENDS as ROWS
from symdiff.runtime.toolchain import cache
from symdiff.runtime.toolchain import processes as worker
from tests.runtime.test_cache import folder, script  # noqa: F401
from tests.support.waiting import until

#: Formulas and options: programs, plans with fixed and named sizes, sums, columns, structures, NumPy's fallback.
FORMULAS: list[tuple[Any, dict[str, Any]]] = [
    ("jacobian(log(softmax(X @ y)), X)", {"X": (2, 4), "y": 4}),
    ("hessian(sum(exp(-(A @ x)**2)), x)", {"A": (4, 3), "x": 3}),
    ({"f": "inv(A) @ x", "g": ["sum(x)", "A.T"]}, {"A": (3, 3), "x": 3}),
    ("gradient(sum(tanh(X @ W)**2), W)", {"X": (34, 33), "W": (33, 33)}),
    ("gradient(sum(exp(x) * y) + max(x)**2, x)", {"x": "n", "y": "n"}),
    ("gradient(logdet(S) + x @ solve(S, x), S)", {"S": ("n", "n"), "x": "n"}),
    ("sum(cumsum(x)[1:] * x[:-1])", {"x": ("n",)}),
    ("z = exp(x) * y\nw = sum(z)\nlog(w) * z", {"x": 3, "y": 3}),
    ("gradient(sum(where(x > 0, x * log(x), 0)), x)", {"x": 5}),
    ("adjugate(A)[0, 1] * sum(x)", {"A": (15, 15), "x": 40}),
    ("gradient(sum(tanh(W @ x)**2), W)", {"W": (3, 4), "x": 4, "batch": ["x"], "reduce": "sum"}),
    ("exp(x) * A[0]", {"A": (2, 3), "x": 3, "batch_axis": -1}),
    ("1/(a + 0.1) + b", {"a": (), "b": (), "accuracy": "high"}),
    ("gradient(sum(x * root(v -> v + v**3 - x, x)), x)", {"x": 3}),
    ("while(s -> sum(s) < 9, s -> s + x, x, 50)", {"x": 3, "batch": ["x"], "reduce": "sum"}),
]
#: Formulas with loops, of which plans are kept, and no graphs.
LOOPS = (13, 14)
BACKENDS = ("auto", "interpreter", "native", "numpy")
LETTERS = {"n": 37, "m": 20}


def data(kernel: sd.Kernel, seed: int = 0) -> list[npt.NDArray[np.float64]]:
    """Return numbers for the inputs of a kernel: matrices that can be solved with, a number for each letter."""
    rng = np.random.default_rng(seed)
    found = []
    for parameter in kernel.inputs:
        shape = tuple(size if isinstance(size, int) else LETTERS[str(size)] for size in parameter.shape)
        numbers = rng.uniform(0.1, 1.0, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            numbers = numbers @ numbers.T + len(numbers) * np.eye(len(numbers))
        found.append(numbers)
    return found


def flat(value: Any) -> bytes:
    """Return the bits of a result."""
    if isinstance(value, dict):
        return b"".join(flat(part) for part in value.values())
    if isinstance(value, list | tuple):
        return b"".join(map(flat, value))
    return np.asarray(value).tobytes()


def records(place: Path) -> list[Path]:
    write_waiting()  # behind the builds of other tests
    until(lambda: not worker.busy(), 600)  # it may be writing a record that whoever read it meanwhile has written, too
    return sorted(place.glob(f"{keys.PREFIX}*"))


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_a_kernel_from_the_cache_is_the_same(folder: Path, number: int, backend: str) -> None:  # noqa: F811
    formula, options = FORMULAS[number]
    try:
        fresh = sd.compile(formula, **options, backend=backend)
    except sd.UnsupportedError:
        with pytest.raises(sd.UnsupportedError):  # as clearly the second time
            sd.compile(formula, **options, backend=backend)
        return
    arrays = data(fresh)
    fresh.wait()
    want = flat(fresh(*arrays))
    fresh.wait()
    known = sd.compile(formula, **options, backend=backend)
    is_kept = backend != "numpy" or number not in LOOPS
    assert (fresh.stats["cached"], known.stats["cached"]) == (False, is_kept)
    assert flat(known(*arrays)) == want
    assert known.wait()
    assert flat(known(*arrays)) == want
    assert known.plan == fresh.plan
    assert known.signature == fresh.signature
    assert known.rewrites == fresh.rewrites
    assert repr(known) == repr(fresh)
    assert known.latex() == fresh.latex()
    assert as_sympy(known) == as_sympy(fresh)
    for language in ("numpy", "c", "cython", None):
        assert told(known, language) == told(fresh, language)
    same = ("nodes", "operations", "reason", "steps", "numpy_steps", "building")
    assert [known.stats.get(key) for key in same] == [fresh.stats.get(key) for key in same]
    again = pickle.loads(pickle.dumps(known))
    assert flat(again(*arrays)) == want
    if "z =" in str(formula):
        assert flat(known.values(*arrays)) == flat(fresh.values(*arrays))


def as_sympy(kernel: sd.Kernel) -> str:
    try:
        return str(kernel.sympy)
    except sd.UnsupportedError as error:
        return str(error)


def told(kernel: sd.Kernel, language: str | None) -> str:
    try:
        return kernel.source(language)
    except sd.UnsupportedError as error:
        return str(error)


@pytest.mark.rows(1)
@pytest.mark.parametrize("number", [0, 3, 5, 10, 13])
def test_calls_that_share_inputs(folder: Path, number: int) -> None:  # noqa: F811
    formula, options = FORMULAS[number]
    fresh = sd.compile(formula, **options)
    arrays = data(fresh)
    if options.get("reduce") is None:
        arrays[-1] = arrays[-1] + np.linspace(0, 1, 60).reshape(60, *[1] * arrays[-1].ndim)
    else:
        arrays[1] = arrays[1] + np.linspace(0, 1, 60)[:, None]
    want = flat(fresh(*arrays))
    fresh.wait()
    known = sd.compile(formula, **options)
    assert flat(known(*arrays)) == want
    assert known.plan == fresh.plan


def test_symbols_and_functions(folder: Path) -> None:  # noqa: F811
    def made(scale: float) -> sd.Kernel:
        x = sd.array("x", 3)
        return sd.compile(sd.gradient(np.exp(x * scale).sum() * x[0], x))

    assert [made(scale).stats["cached"] for scale in (1.0, 2.0, 1.0, 2.0)] == [False, False, True, True]
    traced = [sd.compile(lambda x, y: np.sin(x) * y, x=3, y=()).stats["cached"] for _ in range(2)]
    assert traced == [False, True]


def test_a_custom_function_is_known_by_what_it_computes(folder: Path) -> None:  # noqa: F811
    def made(power: int) -> sd.Kernel:
        f = sd.custom(lambda x: x**power, vjp=lambda args, seed: (seed * power * args[0] ** (power - 1),), name="f")
        x = sd.scalar("x")
        return sd.compile(f(x) + sd.gradient(f(x), x))

    found = [made(power) for power in (2, 3, 2, 3)]
    assert [kernel(2.0) for kernel in found] == [8.0, 20.0, 8.0, 20.0]
    assert [kernel.stats["cached"] for kernel in found] == [False, False, True, True]


BASE: dict[str, Any] = {"formula": "sum(exp(x)*y)", "x": 3, "y": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"formula": "sum(exp(x)* y)"},
        {"formula": ["sum(exp(x)*y)"]},
        {"formula": ("sum(exp(x)*y)",)},
        {"formula": {"f": "sum(exp(x)*y)"}},
        {"x": 4, "y": 4},
        {"x": "n", "y": "n"},
        {"inputs": ["y", "x"]},
        {"batch": ["x"]},
        {"batch": "y"},
        {"reduce": "sum"},
        {"batch_axis": -1},
        {"accuracy": "high"},
        {"backend": "interpreter"},
        {"backend": "numpy"},
        {"budget": "strict"},
        {"budget": sd.Budget(nodes=1000)},
    ],
    ids=str,
)
def test_whatever_differs_is_another_record(folder: Path, change: dict[str, Any]) -> None:  # noqa: F811
    def made(given: dict[str, Any]) -> sd.Kernel:
        rest = dict(given)
        kernel: sd.Kernel = sd.compile(rest.pop("formula"), **rest)
        return kernel

    first = made(BASE)
    assert not made({**BASE, **change}).stats["cached"]
    assert made({**BASE, **change}).stats["cached"]
    assert made(BASE).stats["cached"]
    assert made({"formula": BASE["formula"], "y": 3, "x": 3}).stats["cached"] is False  # the order of arguments
    assert first.stats["cached"] is False


def test_names_count_and_threads_do_not(folder: Path) -> None:  # noqa: F811
    x, y = sd.array("x", 3), sd.array("y", 3)
    assert not sd.compile(np.exp(x)).stats["cached"]
    assert not sd.compile(np.exp(y)).stats["cached"]
    assert sd.compile(np.exp(y), threads=2).stats["cached"]
    assert sd.compile(np.exp(y), build_seconds=7.0).stats["cached"]
    with pytest.raises(sd.ArgumentError, match="threads=0"):
        sd.compile(np.exp(y), threads=0)


def test_another_machine_and_another_state_of_symdiff(
    folder: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    def cached() -> bool:
        known: bool = sd.compile("sum(exp(x))", x=3).stats["cached"]
        return known

    assert [cached(), cached()] == [False, True]
    monkeypatch.setattr(keys, "_machine", lambda: ("another",))
    assert [cached(), cached()] == [False, True]
    monkeypatch.setattr(keys, "_own_files", lambda: ("another",))
    assert [cached(), cached()] == [False, True]
    monkeypatch.setattr(keys, "compiler_seen", lambda: "another")
    assert [cached(), cached()] == [False, True]


def test_the_state_of_symdiff_is_that_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part").mkdir()
    file = tmp_path / "part" / "rules.py"
    file.write_text("a = 1\n")
    monkeypatch.setattr(keys, "_ROOT", tmp_path)
    states = set()
    for age, text in enumerate(("a = 1\n", "a = 2\n", "a = 12\n")):
        file.write_text(text)
        os.utime(file, (age, age))  # many systems tell no two moments of some milliseconds apart
        keys._own_files.cache_clear()
        states.add(keys._own_files())
    keys._own_files.cache_clear()
    assert len(states) == 3


PROCESS = """
    import sys
    import numpy as np
    import symdiff as sd
    rng = np.random.default_rng(1)
    numbers = rng.random((200, 64)), rng.random((64, 48)), rng.random(48)
    if sys.argv[1:] != ["first"] and {known}:
        import symdiff.compiler as c, symdiff.calculus.passes as s, symdiff.lowering.unroll as u
        import symdiff.lowering.plan.planner as p
        def refuse(*args, **more):
            raise AssertionError("it is known")
        for module, name in ((c, "read_formula"), (s, "settle"), (u, "unroll"), (c, "choose"), (p, "make_plan")):
            assert hasattr(module, name)
            setattr(module, name, refuse)
    k = sd.compile({formula!r}, X=(200, 64), W=(64, 48), b=48)
    values = k(*numbers)
    shared = k(np.stack([numbers[0]] * 3), *numbers[1:])
    print(k.stats["cached"], values.tobytes().hex()[-4000:], shared.tobytes().hex()[-4000:], k.plan)
"""


@pytest.mark.rows(1)
@pytest.mark.parametrize("formula", ["gradient(sum(tanh(X @ W + b)**2), W)", "sin(X[0, 0])*exp(W[1, :5])/b[2]"])
def test_a_second_process_derives_and_schedules_nothing(folder: Path, formula: str) -> None:  # noqa: F811
    first = script(PROCESS.format(formula=formula, known=False))
    second = script(PROCESS.format(formula=formula, known=True))
    assert first.startswith("False ")
    assert second.startswith("True ")
    assert second.split()[1:] == first.split()[1:]


@pytest.mark.exhaustive
def test_processes_that_meet(folder: Path) -> None:  # noqa: F811
    body = PROCESS.format(formula="gradient(sum(exp(X @ W)) + sum(b), b)", known=False)
    with ThreadPoolExecutor(4) as pool:
        told_by = list(pool.map(lambda _: script(body).split()[1:], range(4)))
    assert all(one == told_by[0] for one in told_by)
    assert not list(folder.glob("unfinished-*"))


def test_a_process_that_is_killed_leaves_nothing_half_written(folder: Path) -> None:  # noqa: F811
    body = """
        import os, signal, threading, time
        import symdiff as sd
        threading.Timer({}, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        for k in range(10**6):
            sd.compile(f"sum(exp(x*{{k}}))", x=3, backend="interpreter")
    """
    path = str(Path(__file__).parents[2])
    for seconds in (0.01, 0.03, 0.1):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(body.format(seconds))],
            env={"PYTHONPATH": path, "SYMDIFF_CACHE_DIR": str(folder), "PATH": "/usr/bin:/bin"},
            check=False,
            timeout=600,
        )
        assert done.returncode == -9
    for record in records(folder):
        assert cache.lookup(folder, record.stem) is not None
    assert sd.compile("sum(exp(x*3))", x=3, backend="interpreter")(np.zeros(3)) == 3.0


# ---------------------------------------------------------------------------- encoding


def lowered(kind: type) -> list[Any]:
    found: list[Any] = []
    rows = ROWS["interpreter"]

    def lower(request: Request) -> Any:
        found.append(rows.lower(request))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ROWS, "interpreter", rows._replace(lower=lower))
        patch.setenv("SYMDIFF_CACHE_DIR", "/dev/null")
        for formula, options in FORMULAS:
            try:
                sd.compile(formula, **options, backend="interpreter")
            except sd.UnsupportedError:
                continue
    return [one for one in found if isinstance(one, kind)]


def programs() -> list[Program]:
    return lowered(Program)


def plans() -> list[Plan]:
    return lowered(Plan)


def test_programs_come_back() -> None:
    found = programs()
    assert len(found) > 3
    for program in found:
        again = encoding.read(encoding.write(program))
        for field in dataclasses.fields(program):
            assert repr(getattr(again, field.name)) == repr(getattr(program, field.name))
        again.validate()


def test_plans_come_back() -> None:
    found = plans()
    assert len(found) > 3
    for plan in found:
        again = encoding.read(encoding.write(plan))
        assert [type(step) for step in again.steps] == [type(step) for step in plan.steps]
        assert again.estimate == plan.estimate
        assert encoding.write(encoding.read(encoding.write(again))) == encoding.write(again)


# ---------------------------------------------------------------------------- folders, budgets, traces


def test_without_a_folder_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for place in (open_to_all, Path("/proc/none"), Path("/dev/null")):
        monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(place))
        for _ in range(2):
            kernel = sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter")
            assert kernel(np.zeros(3), np.ones(3)) == 3.0
            assert not kernel.stats["cached"]
    assert not list(open_to_all.iterdir())


def test_a_folder_that_can_only_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter")
    assert len(records(folder)) == 1
    monkeypatch.setattr(cache, "publish", lambda *given: False)
    assert sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter").stats["cached"]
    assert not sd.compile("sum(exp(x)/y)", x=3, y=3, backend="interpreter").stats["cached"]


def test_what_is_known_costs_what_it_cost(folder: Path) -> None:  # noqa: F811
    formula = "hessian(sum(exp(x @ x) * sin(x)), x)"

    def made(nodes: int) -> sd.Kernel:
        return sd.compile(formula, x=8, backend="numpy", budget=sd.Budget(nodes=nodes))

    sd.compile(formula, x=8, backend="numpy")
    made(100_000)
    for _ in range(2):
        with pytest.raises(LimitError, match="its budget"):
            made(20)
    # within a call that has a budget of its own, as on the command line, what is known is charged again
    with budget.Opened(sd.Budget(nodes=100_000)):
        sd.compile(formula, x=8, backend="numpy")
        sd.compile(formula, x=8, backend="numpy")
        account = budget.current()
        assert account is not None
        first = 100_000 - account.nodes
        sd.compile(formula, x=8, backend="numpy")
        assert 100_000 - account.nodes == pytest.approx(1.5 * first, rel=0.3)
        account.nodes = 10
        with pytest.raises(LimitError, match="its budget"):
            sd.compile(formula, x=8, backend="numpy")


def test_what_is_traced_is_made_anew(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for _ in range(2):
        sd.compile("sum(exp(x)*y)", x=3, y=3)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "dump"))
    assert not sd.compile("sum(exp(x)*y)", x=3, y=3).stats["cached"]
    (trace,) = (tmp_path / "dump").iterdir()
    assert any("simplified" in file.name for file in trace.iterdir())


def test_the_formula_may_change_behind_a_kernel_that_is_known(folder: Path) -> None:  # noqa: F811
    formulas = ["exp(x)", "sin(x)"]
    sd.compile(formulas, x=())
    known = sd.compile(formulas, x=())
    formulas[0] = "cos(x)"
    assert known.stats["cached"]
    assert "cos" not in known.latex()
    assert "exp" in known.source("numpy")


def test_singular_matrices_are_told_alike(folder: Path) -> None:  # noqa: F811
    words = []
    for _ in range(2):
        kernel = sd.compile("inv(A) @ x", A=("n", "n"), x="n", batch=["A"])
        with pytest.raises(SingularMatrixError) as error:
            kernel(np.stack([np.eye(3), np.zeros((3, 3))]), np.ones(3))
        words.append((str(error.value), error.value.index))
    assert words[0] == words[1]


# ---------------------------------------------------------------------------- kept damage
# Records that are damaged, altered or meaningless are replaced, and reading one runs nothing.


def flipped(contents: bytes, rng: random.Random) -> bytes:
    changed = bytearray(contents)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(contents: bytes, rng: random.Random) -> bytes:
    return contents[: rng.randrange(len(contents))]


def noise(contents: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(1, 2 * len(contents)))


@pytest.mark.parametrize("damage", [flipped, cut, noise])
def test_damaged_records_are_replaced(folder: Path, damage: Callable[..., bytes]) -> None:  # noqa: F811
    rng = random.Random(0)

    def made() -> tuple[bool, bytes]:
        kernel = sd.compile("gradient(sum(tanh(X @ W)**2), W)", X=(50, 40), W=(40, 35), backend="interpreter")
        return kernel.stats["cached"], flat(kernel(*data(kernel)))

    _, want = made()
    for _ in range(20):
        for record in records(folder):
            record.write_bytes(damage(record.read_bytes(), rng))
        assert made() == (False, want)
        assert made() == (True, want)


def test_records_that_are_sound_and_mean_nothing(folder: Path) -> None:  # noqa: F811
    """Contents with a right hash that no symdiff wrote: those of other records, and such with altered parts."""
    rng = random.Random(0)
    kernel = sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter")
    want = flat(kernel(*data(kernel)))
    (record,) = records(folder)
    sound = cache.lookup(folder, record.stem)
    assert sound is not None
    meaningless: list[Any] = [None, 3, [], {}, {"plan": None}, {"backend": 7, "codes": 3}]
    nothing = [encoding.write(value) for value in meaningless]
    for contents in (*nothing, b"", *(damage(sound[:60], rng) for damage in (cut, noise) for _ in range(20))):
        assert records(folder) == [record]  # written by now
        cache.publish(folder, record.stem, contents)
        again = sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter")
        assert not again.stats["cached"]
        assert flat(again(*data(again))) == want


def test_reading_what_was_altered_raises_one_error(folder: Path) -> None:  # noqa: F811
    rng = random.Random(1)
    for contents in map(encoding.write, [plans()[0], programs()[0], {"a": (1.5, "x", b"y", None, True, [2**70])}]):
        for _ in range(300):
            changed = rng.choice((flipped, cut, noise))(contents, rng)
            with contextlib.suppress(DataError):
                encoding.read(changed)


def test_nothing_but_values_is_written() -> None:
    for thing in (print, lambda: 1, object(), {1, 2}, np.zeros(3), 1j, Path("x"), sd):
        with pytest.raises(plain.UnkeepableError):
            encoding.write({"a": (thing,)})


def test_values_come_back() -> None:
    value: dict[str, Any] = {
        "": (None, True, False, 0, -1, 2**63, -(2**200), "ü\ud800"[:1], b"\x00", [], (), {}),
        "floats": (0.0, -0.0, 1e-320, float("inf")),
        "long": (tuple(range(50)), tuple([k / 7 for k in range(50)]), (*range(20), True), (*range(20), 2**80)),
        "deep": [({"x": [(1, [2])]},)],
    }
    again = encoding.read(encoding.write(value))
    assert repr(again) == repr(value)
