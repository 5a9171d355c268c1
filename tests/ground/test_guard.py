"""Errors at the border: symdiff's own, with the caller's frames alone."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import random
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import symdiff as sd
from fuzz import arguments
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph.scalars.functions import FUNCTIONS, apply
from symdiff.graph.scalars.functions import Function as Row
from symdiff.ground import guard
from symdiff.ground.guard import guarded

X = sd.scalar("x")
V = sd.vector("v", 3)
A = sd.matrix("A", 3, 3)


# ---------------------------------------------------------------------------- the guard itself


def fail_with(error: BaseException) -> Callable[..., Any]:
    @guard.guarded
    def entry(*args: Any, **kwargs: Any) -> None:
        raise error

    return entry


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (TypeError("words"), sd.ArgumentError),
        (ValueError("words"), sd.ArgumentError),
        (RecursionError("words"), sd.LimitError),
        (MemoryError("words"), sd.LimitError),
        (OverflowError("words"), sd.LimitError),
        (np.linalg.LinAlgError("words"), sd.SingularMatrixError),
        (NotImplementedError("words"), sd.UnsupportedError),
        (sympy.SympifyError("words"), sd.ArgumentError),
        (OSError("words"), sd.DataError),
        *[(kind("words"), sd.InternalError) for kind in (KeyError, IndexError, AttributeError, ZeroDivisionError)],
        *[(kind("words"), sd.InternalError) for kind in (AssertionError, RuntimeError, NameError)],
    ],
)
def test_errors_of_others_become_ours_with_their_cause(error: Exception, meaning: type[Exception]) -> None:
    with pytest.raises(sd.SymdiffError, match=r"entry\(Array of shape \(3,\), 'text', axis=2\).*words") as caught:
        fail_with(error)(V, "text", axis=2)
    assert type(caught.value) is meaning
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), UserWarning("w"), FloatingPointError("asked for")]
)
def test_what_passes(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        fail_with(error)()
    assert caught.value is error


def test_ours_are_not_wrapped_again() -> None:
    inner = fail_with(KeyError("cause"))
    outer = guard.guarded(inner)
    with pytest.raises(sd.InternalError, match="entry") as caught:
        outer()
    assert isinstance(caught.value.__cause__, KeyError)


class Strange:
    shape = property(lambda self: 1 / 0)

    def __repr__(self) -> str:
        raise ValueError("no words")


def test_any_argument_can_be_told() -> None:
    with pytest.raises(sd.InternalError, match="Strange, a number of 33220 bits"):
        fail_with(KeyError())(Strange(), 10**10000)


# ---------------------------------------------------------------------------- errors of the user's own code


class Mine(Exception):  # noqa: N818
    """An error of the user's."""


def broken(*args: Any) -> Any:
    raise Mine("my own")


class Closed(Exception):  # noqa: N818
    """An exception that takes no attributes."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


def closed(x: Any) -> Any:
    raise Closed


def test_errors_of_a_function_that_the_user_gave_keep_their_type() -> None:
    def own(x: Any) -> Any:
        return broken(x)

    for entry in (sd.compile, sd.check):
        with pytest.raises(Mine, match="my own"):
            entry(own, x=3)
    for derive in (sd.gradient, sd.hessian):
        with pytest.raises(Mine, match="my own"):
            derive(own, "x", x=3)
    with pytest.raises(Closed):
        sd.compile(closed, x=3)
    with pytest.raises(KeyError, match="missing key"):
        sd.compile(lambda x: {x: x}["missing key"], x=3)
    with pytest.raises(ZeroDivisionError):
        sd.custom(lambda x: 1 / 0, vjp=lambda args, seed: (seed,))(X)
    for rule in ("vjp", "differential", "jacobian"):
        rules: dict[str, Any] = {rule: broken}
        with pytest.raises(Mine, match="my own"):
            sd.custom(np.sin, **rules)(X)


def test_ours_inside_a_function_that_the_user_gave_stay_ours() -> None:
    with pytest.raises(sd.ShapeError):
        sd.compile(lambda x: x @ sd.vector("y", 4), x=3)
    with pytest.raises(sd.DtypeError):
        sd.compile(lambda x: x + "text", x=3)


def test_a_rule_that_is_no_function_is_refused() -> None:
    rules: dict[str, Any] = {"vjp": 3}
    with pytest.raises(sd.ArgumentError, match="of type int"):
        sd.custom(np.sin, **rules)


# ---------------------------------------------------------------------------- properties and attributes


@pytest.mark.parametrize("name", [name for name, own in vars(sd.Array).items() if isinstance(own, property)])
def test_no_attribute_error_is_hidden_inside_a_property(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: sd.Array) -> Any:
        raise AttributeError("the cause")

    monkeypatch.setattr(sd.Array, name, property(lost))
    with pytest.raises(AttributeError, match="the cause"):
        getattr(A, name)


def test_an_error_of_sympy_inside_the_property_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*args: Any, **options: Any) -> Any:
        raise AttributeError("the cause")

    monkeypatch.setattr("symdiff.printing.from_entries.present", lost)
    for read in (lambda: X.sympy, X.latex, lambda: str(X)):
        with pytest.raises(sd.InternalError, match="the cause"):
            read()


def test_attributes_that_there_are_not() -> None:
    for owner in (X, sd):
        with pytest.raises(sd.AbsentError):
            owner.nonsense  # noqa: B018
        assert not hasattr(owner, "nonsense")


# ---------------------------------------------------------------------------- every entry


@pytest.mark.parametrize("name", arguments.PUBLIC)
def test_public_functions_refuse_no_arguments_and_too_many(name: str) -> None:
    entry = getattr(sd, name)
    if name == "positive":  # without sizes, the shape of a number
        assert entry().shape == ()
    else:
        with pytest.raises(sd.SymdiffError):
            entry()
    with pytest.raises(sd.SymdiffError):
        entry(*[object()] * 9)
    with pytest.raises(sd.SymdiffError):
        entry("x", nonsense=object())


def test_random_arguments() -> None:
    rng = random.Random(20)
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2500):
            case = arguments.draw(rng)
            wrong = arguments.run(case)
            if wrong:
                found.add((wrong, repr(case)))
    assert not found


@pytest.mark.parametrize("name", sorted(LIBRARY.keys() - {"stop_gradient"}))
def test_operations_take_no_strange_keywords_and_nothing_twice(name: str) -> None:
    entry = LIBRARY[name]
    call = sd.function(name)
    count = entry.least if entry.most is None else entry.most
    kinds: dict[str, list[Any]] = {"list": [[V, V]], "rows": [[V]], "text": ["i->", V], "none": [3]}
    args = kinds.get(str(entry.arrays), [A, 1, 0, 0][:count])
    with pytest.raises(sd.UnsupportedError, match="nonsense="):
        call(*args, nonsense=1)
    with pytest.raises(sd.ArgumentError):
        call(*[V] * 9) if entry.most is not None else call()
    for keyword in entry.keywords:
        wrong: dict[str, Any] = {keyword: object()}
        if keyword != "optimize":
            with pytest.raises(sd.SymdiffError):
                call(*args[: max(entry.least - 1, 1)], **wrong)


# ---------------------------------------------------------------------------- sizes, axes and counts


@pytest.mark.parametrize(
    "call",
    [
        lambda n: sd.repeat(V, n),
        lambda n: sd.tile(V, n),
        lambda n: sd.tile(A, (2, n)),
        sd.eye,
        lambda n: sd.eye(3, n),
        sd.zeros,
        lambda n: sd.ones((2, n)),
        lambda n: sd.broadcast_to(X, (n, 3)),
        lambda n: sd.reshape(V, (n, 3)),
        lambda n: sd.array("x", (n,)),
        lambda n: sd.vector("x", n),
    ],
)
@pytest.mark.parametrize("n", [-2, True, np.True_, 1.0, 1.5, 10**20, float("nan"), [2.5], [-1], b"a", {2}])
def test_counts_are_whole_numbers_from_0_on(call: Callable[[Any], Any], n: Any) -> None:
    with pytest.raises(sd.SymdiffError):
        call(n)


@pytest.mark.parametrize(
    "call",
    [
        V.sum,
        lambda axis: sd.mean(A, axis=axis),
        lambda axis: sd.softmax(A, axis),
        lambda axis: sd.cumsum(A, axis),
        lambda axis: sd.flip(A, axis),
        lambda axis: sd.roll(A, 1, axis),
        lambda axis: sd.stack([V, V], axis),
        lambda axis: sd.concatenate([A, A], axis),
        lambda axis: sd.expand_dims(A, axis),
        lambda axis: sd.swapaxes(A, axis, 0),
        lambda axis: sd.moveaxis(A, axis, 0),
        lambda axis: sd.moveaxis(A, 0, axis),
        lambda axis: A.transpose(axis, 0),
        lambda axis: sd.diagonal(A, 0, axis, 1),
        lambda axis: sd.tensordot(A, A, ([0], [axis])),
        lambda axis: sd.diff(A, 1, axis),
    ],
)
@pytest.mark.parametrize(
    "axis", [True, False, np.True_, 0.0, 1.5, "0", (0.5,), [True], {0}, 7, -7, 10**30, float("inf")]
)
def test_axes_are_whole_numbers_within_the_array(call: Callable[[Any], Any], axis: Any) -> None:
    with pytest.raises(sd.SymdiffError):
        call(axis)


def test_what_numpy_counts_with_is_taken() -> None:
    assert sd.repeat(V, np.int8(2)).shape == (6,)
    assert sd.tile(A, np.array([2, 1])).shape == (6, 3)
    assert sd.sum(A, axis=np.int64(0), keepdims=np.True_).shape == (1, 3)
    assert sd.roll(V, np.uint8(1)).shape == (3,)
    assert sd.repeat(V, 0).shape == (0,)
    assert sd.reshape(A, np.int64(-1)).shape == (9,)


# ---------------------------------------------------------------------------- what had other causes


def test_divmod() -> None:
    values = np.array([7.5, -7.5, 3.0])
    for made, right in [
        (divmod(V, 2.0), divmod(values, 2.0)),
        (divmod(2.0, V), divmod(2.0, values)),
        (np.divmod(V, 2.0), np.divmod(values, 2.0)),
        (np.divmod(V, V), divmod(values, values)),
    ]:
        np.testing.assert_array_equal(sd.compile(made, [V], backend="interpreter")(values), right)


def test_functions_of_bits_are_for_conditions() -> None:
    assert np.bitwise_and(V > 0, V < 1).dtype == bool
    assert np.invert(V > 0).dtype == bool
    for name, args in (("bitwise_and", (V, 6)), ("invert", (V,)), ("bitwise_xor", (V > 0, V))):
        with pytest.raises(sd.DtypeError, match="of real numbers"):
            getattr(np, name)(*args)


def test_a_function_of_sympy_without_definition_is_refused_by_name() -> None:
    x = sympy.Symbol("x")
    made = sympy.Function("f")(x + 1)
    for call in (lambda: sd.gradient(made, x), lambda: sd.compile(made * 2), lambda: sd.check(made)):
        with pytest.raises(sd.UnsupportedError, match=r"undefined function 'f\(x \+ 1\)'"):
            call()


@pytest.mark.parametrize("backend", ["native", "interpreter", "auto", "numpy"])
def test_a_function_that_the_scalar_program_lacks(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("exp_twice", (FUNCTIONS["exp"].partials[0],), ((-1.0, 1.0),), numpy="np.exp", source="none")
    monkeypatch.setitem(FUNCTIONS, "exp_twice", row)
    f = sd.Array(apply("exp_twice", X.node))
    if backend in ("native", "interpreter"):
        with pytest.raises(sd.UnsupportedError, match="exp_twice has neither an operation"):
            sd.compile(f, backend=backend)
    else:
        assert sd.compile(f, backend=backend)(0.5) == np.exp(0.5)


@pytest.mark.parametrize(
    "value",
    [None, "1.5", np.array([None]), np.array(["1.5"], object), np.ma.array([1.0, 2.0], mask=[0, 1]), [[1], [2, 3]]],
)
def test_what_is_no_number_does_not_become_one(value: Any) -> None:
    with pytest.raises(sd.DtypeError):
        V + value
    with pytest.raises(sd.DtypeError):
        sd.asarray(value)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = [1.0]
    endless.append(endless)
    with pytest.raises(sd.DtypeError, match="nested deeper"):
        sd.asarray(endless)


def test_options_of_another_kind_are_refused_by_name() -> None:
    for at in (3, (0, 1), "x"):
        with pytest.raises(sd.ArgumentError, match="at= is a"):
            sd.check("x*x", at=at)
    with pytest.raises(sd.ArgumentError, match="batch= holds 3 of type int"):
        sd.compile(V * 2.0, batch=[3])
    with pytest.raises(sd.DtypeError, match="masked array as an index"):
        V[np.ma.array([0, 1], mask=[False, True])]
    assert sd.check(V.sum(), sd.vector("w", 0)).compared == 0


@pytest.mark.rows(1)
@pytest.mark.parametrize("wrong", [3, ["n"], object(), "n"])
def test_options_of_tools_that_are_of_another_kind_are_refused_by_name(wrong: Any) -> None:
    with pytest.raises(sd.ArgumentError, match="sizes="):
        sd.compile("x*y").benchmark(sizes=wrong)
    with pytest.raises(sd.ArgumentError, match="style="):
        sd.steps("sin(x)*x", "x").html(wrong)


def test_rolls_along_no_axes_move_nothing() -> None:
    numbers = np.arange(12.0).reshape(3, 4)
    for shift, axis in ((2, ()), ((), 1), ((1,), ()), ((), ()), ((2, -1), (0, 1))):
        expected = np.roll(numbers, shift, axis)
        assert np.array_equal(sd.compile(np.roll(sd.matrix("B", 3, 4), shift, axis))(numbers), expected)
    with pytest.raises(sd.ShapeError, match="one for each"):
        np.roll(A, (1, 2), ())
    with pytest.raises(sd.ShapeError, match="an array with axes"):
        np.sum(X, axis=0)


def test_public_names_stay_functions_when_folders_of_the_same_name_are_imported() -> None:
    code = (
        "import types, symdiff as sd; sd.compile('x*y').wait(); sd.check('x*x'); sd.steps('x*x', 'x');"
        "print([n for n in sd.__all__ if isinstance(getattr(sd, n), types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['stats', 'xp']"


#: The package, of which checkers do not know what a call needs.
lax: Any = sd

#: Calls that lack an argument, and how they are written.
LACKING: list[tuple[Callable[[], Any], str, Callable[[], Any]]] = [
    (lambda: sd.gradient("sum(sin(x))", x="n"), "gradient('sum(sin(x))', 'x', x='n')",
     lambda: sd.gradient("sum(sin(x))", "x", x="n")),
    (lambda: sd.hessian("y**2"), "hessian('y**2', 'x')", lambda: sd.hessian("x**2", "x")),
    (lambda: sd.jvp("x**2", "x", x=3), "jvp('x**2', 'x', 'v', x=3, v=3)", lambda: sd.jvp("x**2", "x", "v", x=3, v=3)),
    (lambda: sd.hvp("sum(x**3)", x=3), "hvp('sum(x**3)', 'x', 'v', x=3, v=3)",
     lambda: sd.hvp("sum(x**3)", "x", "v", x=3, v=3)),
    (lambda: lax.steps("sin(x)"), "steps('sin(x)', 'x')", lambda: sd.steps("sin(x)", "x")),
    (lambda: lax.objective("sum(x**2)", x=3), "objective('sum(x**2)', 'x', x=3)",
     lambda: sd.objective("sum(x**2)", "x", x=3)),
    (lambda: lax.vector("x"), "vector('x', 3)", lambda: sd.vector("x", 3)),
    (lax.scalar, "scalar('x')", lambda: sd.scalar("x")),
]


@pytest.mark.parametrize(("call", "written", "whole"), LACKING)
def test_a_call_that_lacks_an_argument_is_completed(call: Any, written: str, whole: Any) -> None:
    with pytest.raises(sd.ArgumentError) as caught:
        call()
    assert f"; write {written}; expected " in str(caught.value)
    whole()


@pytest.mark.parametrize(
    "call", [lambda: lax.vector(3), lambda: lax.gradient(sd.scalar("x")), lambda: lax.export(sd.compile("x"))]
)
def test_nothing_is_guessed_of_other_arguments(call: Any) -> None:
    with pytest.raises(sd.ArgumentError, match=r"lacks an argument: '[a-z]+'; expected"):
        call()


# ---------------------------------------------------------------------------- tracebacks
# What an error shows: the caller's own frames and the message, and all frames where somebody asks for them.


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
