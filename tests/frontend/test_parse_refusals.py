"""Text that is refused, and random text."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symdiff.errors import SymdiffError
from symdiff.frontend.text.parse import parse_graph
from symdiff.frontend.text.vocabulary import TEXT_FUNCTIONS
from tests.frontend.test_parse import SHAPES, X, compute, v, w, x, y
from tests.support import bad_inputs

CHILD = """
import json, resource, sys
from tests.support import bad_inputs
from symdiff.errors import SymdiffError
from symdiff.frontend.text.parse import parse_graph
for module in ("numpy.linalg", "scipy.special"):
    __import__(module)
resource.setrlimit(resource.RLIMIT_AS, (memory_now() + 300 * 2**20,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
FORBIDDEN = ("open", "exec", "compile", "import", "os", "subprocess", "socket", "shutil")
events = []
watching = False
def watch(event, args):
    if watching and event.split(".")[0] in FORBIDDEN:
        events.append(event)
sys.addaudithook(watch)
found = []
for text, *_ in bad_inputs.ALL:
    events.clear()
    watching = True
    try:
        parse_graph(text, {"x": 3, "X": (2, 4)})
        kind, message = "accepted", ""
    except SymdiffError as error:
        kind, message = type(error).__name__, str(error)
    watching = False
    found.append([kind, message, list(events)])
print(json.dumps(found))
"""
MEMORY = """
def memory_now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * 4096
"""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, list[str]]]:
    """Put all bad inputs through the parser in a process of little memory that watches what is opened or run."""
    folder = tmp_path_factory.mktemp("refusals")
    child = subprocess.run(  # a process of its own, so that its limits are not ours
        [sys.executable, "-c", MEMORY + CHILD],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "OPENBLAS_NUM_THREADS": "1", "PATH": ""},
        check=False,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    assert child.stdout.count("\n") == 1, "something was printed"
    assert list(folder.iterdir()) == []
    found = json.loads(child.stdout)
    return {text: tuple(row) for (text, *_), row in zip(bad_inputs.ALL, found, strict=True)}


@pytest.mark.rows(1000)
@pytest.mark.parametrize(
    ("text", "error", "words"), bad_inputs.ALL, ids=[f"{text[:30]!a}x{len(text)}" for text, *_ in bad_inputs.ALL]
)
def test_refused(refusals: dict[str, tuple[str, str, list[str]]], text: str, error: str, words: str) -> None:
    kind, message, events = refusals[text]
    assert (kind, events) == (error, [])
    assert words in message
    assert "^" in message or "characters" in message or "operators" in message
    assert len(message) < 1000


# ---------------------------------------------------------------------------- random formulas


def _binary(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: (f"({a[0]} {symbol} {b[0]})", apply(a[1], b[1]))


LEAVES = st.sampled_from(
    [("x", x), ("y", y), ("v", v), ("w", w), ("v[1]", v[1]), ("X[0]", X[0]), ("2", 2.0), ("(-0.5)", -0.5)]
)
Formula = tuple[str, Any]


def _grow(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.one_of(
        st.builds(_binary("+", np.add), inner, inner),
        st.builds(_binary("-", np.subtract), inner, inner),
        st.builds(_binary("*", np.multiply), inner, inner),
        st.builds(lambda a: (f"sin({a[0]})", np.sin(a[1])), inner),
        st.builds(lambda a: (f"-{a[0]}", -np.asarray(a[1])), inner),
        st.builds(lambda a: (f"sum({a[0]})", np.sum(a[1])), inner),
        st.builds(lambda a: (f"sqrt(1 + ({a[0]})**2)", np.sqrt(1 + np.square(a[1]))), inner),
        st.builds(
            lambda a, b: (f"where({a[0]} < {b[0]}, {a[0]}, 0)", np.where(np.less(a[1], b[1]), a[1], 0)), inner, inner
        ),
    )


@given(st.recursive(LEAVES, _grow, max_leaves=12))
@settings(deadline=None)
def test_random_formulas_keep_their_value(formula: Formula) -> None:
    text, expected = formula
    np.testing.assert_allclose(compute(text), expected, rtol=1e-9, atol=1e-9)


def refusal(text: str, shapes: Mapping[str, object]) -> str | None:
    """Return the message with which the text is refused, or None; any error not ours comes through."""
    try:
        parse_graph(text, shapes)
    except SymdiffError as error:
        return str(error)
    return None


NAMES = sorted(TEXT_FUNCTIONS)
PIECES = [
    "x",
    "v",
    "X",
    "A",
    "2",
    ".5",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "...",
    "=",
    "<",
    "**",
    "*",
    "-",
    "&",
    "@",
    ".T",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES + NAMES), max_size=12).map(" ".join))
@settings(deadline=None)
def test_soup(text: str) -> None:
    refused = refusal(text, SHAPES)
    assert refused is None or "^" in refused


# Put into every place of every function, the others being v.
ARGUMENTS = [
    *["x", "X", "C", "S", "empty", "v > 0", "2", "-1", "0", "0.5", "inf", "nan", "10**9", "10**300", "2**62"],
    *[
        "(0, 1)",
        "()",
        "(2, 3)",
        "(v, w)",
        "(X, v)",
        "((0, 1), (1, 0))",
        "(-1,)",
        "(10**9, 10**9)",
        "(x, 2)",
        "(0.5, 1)",
    ],
    *["[0, 1]", "[x, y]", "[v, w]", "[[1, 2], [3, 4]]", "[0.5]", "[X, v]", "None"],
]
OPTIONS = [*ARGUMENTS, "True", "False"]


def calls_of(name: str) -> Iterator[str]:
    """Yield calls of a function with all kinds of arguments, right and wrong."""
    function = TEXT_FUNCTIONS[name]
    fewest, most = function.min_args, function.max_args
    for count in range(fewest, (fewest + 2 if most is None else most) + 1):
        for place in range(count):
            for argument in ARGUMENTS:
                yield f"{name}({', '.join(argument if n == place else 'v' for n in range(count))})"
    for keyword in function.keywords:
        for option in OPTIONS:
            yield f"{name}({'C, ' * fewest}{keyword}={option})"
    yield f"{name}(10**9, 10**9, 1)"


@pytest.fixture
def impatient() -> Iterator[None]:
    """Raise where a test is after it has computed for half a minute; how much else the machine does is no matter."""

    def stop(*_: object) -> NoReturn:
        raise TimeoutError("took over half a minute")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 30)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", sorted(TEXT_FUNCTIONS))
def test_functions_take_or_refuse_any_argument(name: str) -> None:
    shapes = {**SHAPES, "S": ("n", "n"), "empty": (2, 0)}
    for text in calls_of(name):
        refused = refusal(text, shapes)
        assert refused is None or "^" in refused
        for wrt in ("v", "S"):
            refused = refusal(f"gradient(sum({text}), {wrt})", shapes)
            assert refused is None or "^" in refused
