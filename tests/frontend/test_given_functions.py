"""Functions of the caller's in text, from Python and from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from tests.tools.test_cli import Run, run  # noqa: F401


def double(x: Any) -> Any:
    return 2 * x


def mix(x: Any, y: Any, *, weight: float = 0.5) -> Any:
    return weight * np.sin(x) + (1 - weight) * y


pinned = sd.custom(np.exp, vjp=lambda args, seed: (seed,), approximate=True, name="pinned")
FUNCTIONS: dict[str, Any] = {"double": double, "mix": mix, "pinned": pinned, "halved": lambda x: x / 2}
PLAIN = {**FUNCTIONS, "pinned": np.exp}


@given(st.recursive(st.sampled_from(["a", "b", "0.5"]), lambda inner: st.one_of(
    st.tuples(st.sampled_from(["double", "halved", "pinned"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
    st.tuples(inner, inner).map(lambda p: f"mix({p[0]}, {p[1]})"),
    st.tuples(inner, inner, st.sampled_from(["0.25", "1"])).map(lambda p: f"mix({p[0]}, {p[1]}, weight={p[2]})"),
    st.tuples(inner, inner).map(lambda p: f"({p[0]} * {p[1]})"),
), max_leaves=5))  # fmt: skip
@settings(max_examples=60)
def test_a_text_with_given_functions_is_their_python(text: str) -> None:
    text = f"{text} + a * b"
    k = sd.compile(text, a=(), b=(), functions=FUNCTIONS, backend="interpreter")
    point = {"a": 0.3, "b": -0.7}
    expected = eval(text, {**PLAIN, **point})  # noqa: S307  # of this file
    assert k(**point) == pytest.approx(expected, rel=1e-12)
    symbols = {name: sd.scalar(name) for name in point}
    own = eval(text, {**FUNCTIONS, **symbols})  # noqa: S307  # of this file
    assert str(sd.gradient(text, "a", a=(), b=(), functions=FUNCTIONS)) == str(sd.gradient(own, symbols["a"]))


def test_every_function_that_takes_text_takes_functions() -> None:
    shapes: dict[str, Any] = {"x": 3, "functions": FUNCTIONS}
    text = "sum(double(x)**2)"
    assert str(sd.gradient(text, "x", **shapes)) == "8 * x"
    assert str(sd.hessian(text, "x", **shapes)) == "8 * eye(3)"
    assert str(sd.jvp(text, "x", [1, 0, 0], **shapes)) == "8 * x[0]"
    assert sd.check(text, **shapes).ok
    assert str(sd.steps(text, "x", **shapes)).endswith("theorem 5.11]")
    assert sd.objective(text, "x", **shapes).jac([1.0, 2.0, 3.0]).tolist() == [8, 16, 24]
    assert (sd.linear_operator("double(x)", "x", **shapes)([1.0, 2.0, 3.0]) @ np.ones(3)).tolist() == [2, 2, 2]
    assert str(sd.parse("double(a)", functions=FUNCTIONS)) == "2*a"
    assert sd.compile("f(x) = double(x) + 1\nf(a)", functions=FUNCTIONS)(3.0) == 7


@pytest.mark.parametrize(
    ("text", "functions", "words"),
    [
        ("double(a, b)", FUNCTIONS, r"double\(\) takes 1 argument, found 2"),
        ("double()", FUNCTIONS, r"double\(\) takes 1 argument, found 0"),
        ("mix(a, b, size=3)", FUNCTIONS, r"mix\(\) has no argument 'size'; known by name: weight, x, y"),
        ("triple(a)", FUNCTIONS, "'triple' is not a function"),
        ("sin(a)", {"sin": double}, "'sin', which is a function of formulas; expected another name"),
        ("f(a)", {"f": 3}, "a int for 'f'; expected a function"),
        ("f(a)", {"f(": double}, "expected a name that a formula can mention"),
        ("f(a)", [double], "functions= is a list; expected a dict"),
        ("f(a)", {"f": lambda x: None}, "f gave NoneType"),
        ("f(a)", {"f": lambda x: "x"}, "f gave str"),
        ("f(a)", {"f": lambda x: object()}, "object"),
        ("double(x) = x\ndouble(a)", FUNCTIONS, "'double' is a function; expected a new name"),
    ],
)
def test_refusals(text: str, functions: Any, words: str) -> None:
    with pytest.raises(sd.SymdiffError, match=words):
        sd.compile(text, functions=functions)


def test_an_error_of_a_function_is_the_users_own() -> None:
    def broken(x: Any) -> Any:
        raise LookupError("own")

    with pytest.raises(LookupError, match="own"):
        sd.compile("broken(a)", functions={"broken": broken})


def test_the_command_line_imports_functions(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    Path("own_models.py").write_text("import numpy as np\ndef twist(x):\n    return x * np.tanh(x)\nnumber = 3\n")
    monkeypatch.syspath_prepend(".")
    assert "tanh(x)" in run("derive", "twist(x)", "--wrt", "x", "--functions", "own_models:twist").stdout
    found = run("eval", "f(x) * 2", "--value", "x=1", "--functions", "f=own_models:twist").stdout
    assert f"{2 * np.tanh(1.0):.8f}" in found
    for options, words in (
        (["--functions", "own_models:twist", "--untrusted"], "--functions with --untrusted"),
        (["--functions", "own_models:none"], "the module has no 'none'"),
        (["--functions", "no_such_module:f"], "No module named"),
        (["--functions", "twist"], "expected MODULE:NAME"),
        (["--functions", "own_models:number"], "expected a function"),
        (["--functions", "own_models:twist", "--functions", "twist=own_models:twist"], "'twist' twice"),
    ):
        assert words in run("derive", "twist(x)", "--wrt", "x", *options, code=2).stderr
