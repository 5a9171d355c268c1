"""What an error shows: the caller's own frames and the message, and all frames where somebody asks for them."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.ground.guard import guarded

x = sd.vector("x", 3)
kernel = sd.compile(x @ x, [x], backend="interpreter")

MISTAKES: list[Callable[[], Any]] = [
    lambda: sd.compile("x @ y", x=3, y=4),
    lambda: sd.gradient("sum(x", "x", x=3),
    lambda: sd.gradient(x, x),
    lambda: sd.parse("2 ^ x"),
    lambda: x @ np.ones(4),
    lambda: np.ones(4) @ x,
    lambda: x + np.ones(4),
    lambda: x < np.ones(4),
    lambda: ~x,
    lambda: x[7],
    lambda: x(3),
    lambda: list(sd.scalar("s")),
    lambda: x.sum(axis=3),
    lambda: np.linalg.det(x),
    lambda: np.sin(x, out=x),
    lambda: np.sum(x, axis=2),
    lambda: sd.softmax(x, axis=4),
    lambda: sd.scalar("not a name"),
    lambda: sd.matrix("A", 2, 3, symmetric=True),
    lambda: kernel([1.0, 2.0]),
    lambda: kernel(y=[1.0, 2.0, 3.0]),
    lambda: sd.objective(x @ x, x).fun([1.0]),
    lambda: sd.check("x @ y", x=3, y=4),
    lambda: sd.steps("x @ y", "x", x=3, y=4),
    lambda: sd.custom(np.exp),
    lambda: sd.scan(1, 2, 3),
    lambda: sd.stats.norm.logpdf("x", x, [1, 2]),
    lambda: sd.xp.reshape(x, (5,)),
    lambda: sd.complex_array("z", 3) @ np.ones(4),
]


def frames_of(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_shows_the_frames_of_the_caller_and_the_message(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMDIFF_TRACEBACK", raising=False)
    with pytest.raises(sd.SymdiffError) as caught:
        MISTAKES[number]()
    assert set(frames_of(caught.value)) == {__file__}
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Traceback") == 1
    assert str(caught.value) in shown


@pytest.mark.parametrize("number", range(0, len(MISTAKES), 5))
def test_all_frames_are_there_for_who_asks(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMDIFF_TRACEBACK", "full")
    with pytest.raises(sd.SymdiffError) as caught:
        MISTAKES[number]()
    assert any("symdiff" in name and name != __file__ for name in frames_of(caught.value))


def test_frames_of_a_users_function_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMDIFF_TRACEBACK", raising=False)

    def model(x: Any) -> Any:
        return x @ np.ones(4)

    def broken(x: Any) -> Any:
        raise LookupError("the user's own")

    with pytest.raises(sd.ShapeError) as caught:
        sd.compile(model, x=3)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "model"
    with pytest.raises(LookupError, match="own") as other:
        sd.compile(broken, x=3)
    assert [frame.name for frame in traceback.extract_tb(other.value.__traceback__)][-1] == "broken"
    assert set(frames_of(other.value)) == {__file__}


def test_a_defect_keeps_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMDIFF_TRACEBACK", raising=False)

    @guarded
    def third(items: list[int]) -> int:
        return items[2]

    with pytest.raises(sd.InternalError) as caught:
        third([1])
    assert isinstance(caught.value.__cause__, IndexError)
    assert frames_of(caught.value.__cause__)


def test_guarded_functions_are_functions_to_tools() -> None:
    assert next(iter(inspect.signature(sd.compile).parameters)) == "formula"
    assert inspect.isroutine(sd.gradient)
    assert "Compile a formula to a kernel" in pydoc.render_doc(sd.compile)
    assert pickle.loads(pickle.dumps(sd.compile)) is sd.compile
    assert copy.deepcopy(sd.gradient) is sd.gradient
    assert inspect.signature(x.reshape).parameters.keys() == {"shape", "order"}
    assert sd.compile.__module__ == "symdiff.compiler"


def test_interrupts_and_warnings_pass() -> None:
    @guarded
    def raising(error: BaseException) -> None:
        raise error

    for error in (KeyboardInterrupt(), SystemExit(3), UserWarning("w"), FloatingPointError("asked for")):
        with pytest.raises(type(error)) as caught:
            raising(error)
        assert caught.value is error
