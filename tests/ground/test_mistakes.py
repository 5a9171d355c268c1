"""Natural mistakes of people who are new: each message says what to do, and no frame of the package is shown."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.lib.stride_tricks import sliding_window_view
from scipy import interpolate, linalg, ndimage, optimize, signal

import symdiff
from symdiff.errors import SymdiffError

sd: Any = symdiff  # whose types know that these are mistakes

x, y, s = sd.vector("x", 3), sd.vector("y", 4), sd.scalar("s")
A, B, X = sd.matrix("A", 3, 3), sd.matrix("B", 2, 3), sd.matrix("X", "n", "p")
idx, k = sd.indices("idx", 2), sd.compile("x @ y", x=3, y=3)

MISTAKES: list[Callable[[], Any]] = [  # each in a frame of its own
    lambda: x @ y,
    lambda: x + y,
    lambda: A @ B,
    lambda: np.linalg.inv(B),
    lambda: np.linalg.det(x),
    lambda: sd.gradient(x, x),
    lambda: sd.gradient(x @ x, y),
    lambda: sd.gradient("x @ x", "z", x=3),
    lambda: sd.gradient("x @ x", x=3),
    lambda: sd.gradient("x^2", "x"),
    lambda: sd.gradient("2x", "x"),
    lambda: sd.gradient("sin x", "x"),
    lambda: sd.gradient("sin(x", "x"),
    lambda: sd.gradient("x'x", "x"),
    lambda: sd.gradient("np.sin(x)", "x"),
    lambda: sd.gradient("math.sin(x)", "x"),
    lambda: sd.gradient("x if x > 0 else 0", "x"),
    lambda: sd.gradient("x > 0 and y > 0", "x"),
    lambda: sd.gradient("a = 1; a*x", "x"),
    lambda: sd.gradient("lambda x: x", "x"),
    lambda: sd.gradient("for i in x: i", "x"),
    lambda: sd.gradient("sum(x) / len(x)", "x", x=3),
    lambda: sd.gradient("foo(x)", "x"),
    lambda: sd.gradient("sine(x)", "x"),
    lambda: sd.gradient("x @ x", "x", x="3"),
    lambda: sd.gradient("x @ x", "x", x=-1),
    lambda: sd.gradient("x @ x", "x", x=3.5),
    lambda: sd.gradient("x @ x", "x", x=(3, "n m")),
    lambda: sd.gradient("x[5]", "x", x=3),
    lambda: sd.gradient("x[0, 1]", "x", x=3),
    lambda: sd.gradient("x[0.5]", "x", x=3),
    lambda: sd.compile("x @ y", x=3, z=3),
    lambda: k(np.ones(3)),
    lambda: k(np.ones(3), np.ones(4)),
    lambda: k(np.ones(3), np.ones(3), np.ones(3)),
    lambda: k(x=np.ones(3), z=np.ones(3)),
    lambda: k("abc", np.ones(3)),
    lambda: k(np.ones(3), None),
    lambda: k(np.ones(3, complex), np.ones(3)),
    lambda: k([1, [2], 3], np.ones(3)),
    lambda: k(np.ones(3), np.ones(3), out=np.ones(3)),
    lambda: float(s),
    lambda: int(s),
    lambda: bool(s > 0),
    lambda: 1 if s > 0 else 2,
    lambda: max(s, 1),
    lambda: sorted(x),
    lambda: list(X),
    lambda: len(X),
    lambda: np.array([x, x]),
    lambda: x.__setitem__(0, 1),
    lambda: x.foo,
    lambda: x.grad,
    lambda: x.backward(1.0),
    lambda: x.numpy(True),
    lambda: sd.grad(x @ x, x),
    lambda: sd.diff("x**2", "x"),
    lambda: sd.lambdify(x, x @ x),
    lambda: sd.Symbol("x"),
    lambda: sd.symbols("x y"),
    lambda: sd.var("x"),
    lambda: sd.vector(3),
    lambda: sd.vector("x y", 3),
    lambda: sd.matrix("A", 3),
    lambda: sd.matrix("A", 2, 3, symmetric=True),
    lambda: sd.matrix("A", 2, 2, symetric=True),
    lambda: sd.scalar("s", positive=1, negative=True),
    lambda: sd.compile(x @ x, [y]),
    lambda: sd.compile(x @ x, ["x"], bach=["x"]),
    lambda: sd.compile(lambda a: a @ a),
    lambda: sd.compile(backend="native"),
    lambda: sd.compile(3 + 4j),
    lambda: sd.hessian(x * 2, x),
    lambda: sd.vjp(x * x, x, [1, 2]),
    lambda: sd.jvp(x * x, x, np.ones(4)),
    lambda: sd.vjp([x * x, x @ x], x, [1]),
    lambda: sd.derivative(x @ x, x, -1),
    lambda: sd.objective(x * 2, x).hess(np.ones(3)),
    lambda: sd.objective(x @ x, x).fun(np.ones(4)),
    lambda: np.linalg.eig(A),
    lambda: np.unique(x),
    lambda: np.histogram(x),
    lambda: np.linalg.solve(A, y),
    lambda: np.reshape(x, (2, 2)),
    lambda: np.concatenate([x, A]),
    lambda: np.stack([x, y]),
    lambda: x[y > 0],
    lambda: x[x],
    lambda: A[idx, idx[:1]],
    lambda: np.einsum("ij,jk", A, y),
    lambda: sd.export(k, "/nonexistent/dir/x", "9name", target="c"),
    lambda: k.source("rust"),
    lambda: sd.check(x @ x, at={"z": 1}),
    lambda: sd.check(x @ x, at={"x": 1}),
    lambda: sd.gradient(sympy.Symbol("a")**2, "b"),
    lambda: sd.gradient(sympy.Matrix([1, 2]), sympy.Symbol("a")),
    lambda: sd.steps("x**2", "y"),
    lambda: sd.minimizer(x @ x, x),
    lambda: sd.root(s**2 - 2, s),
    lambda: sd.density(x @ x, [s]),
    lambda: sd.compile("gradient(x @ x)", x=3),
    lambda: np.zeros(X.shape) + X,
    lambda: range(X.shape[0]),
    lambda: x * "a",
    lambda: x + None,
    lambda: x + {"a": 1},
    lambda: sd.gradient("exp(x)", "x", disconnected="zeros"),
    lambda: sd.scalar("s").nothing,
    lambda: sd.export(k, ".", "f", target="fortran"),
    lambda: sd.compile(x @ x, backend="gpu"),
    lambda: sd.gradient(f="x**2", wrt="x"),
    lambda: sd.objective("x**2", wrt="x"),
    lambda: sd.gradient("x**2", "x", shapes="x=3"),
    lambda: sd.gradient("x = 3", "x"),
    lambda: sd.gradient("x > 0 ? x : 0", "x"),
    lambda: sd.gradient("x!", "x"),
    lambda: sd.external(np.sin, s),
    lambda: sd.problem(x @ x, 0 < x < 1, x),
    lambda: sd.problem(x @ x, [], x, [(0, 1)] * 3),
    lambda: sd.matrix("A", 3, 3, psd=True),
    lambda: sd.scan(lambda c, x: (c, x), 0.0, None, length=3),
    lambda: sd.gradient("jn(1, x)", "x"),
    lambda: sd.gradient("logcumsumexp(x) @ x", "x", x=3),
    lambda: x.compile,
    lambda: A.t,
]  # fmt: skip

#: Words by which a message says what was expected or what to do.
ADVICE = re.compile(
    r"expected|write|close|give|pass|add |compile|differentiate|options|inputs|has no|takes|lacks|must be|build"
    r"|is a number"
)


@pytest.mark.rows(1000)
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: signal.convolve2d(A, A), "SciPy, convolve2d, .*sum of shifted parts"),
        (lambda: ndimage.gaussian_filter(A, 1.0), r"SciPy, gaussian_filter, .*sd\.external"),
        (lambda: interpolate.CubicSpline([0, 1, 2], x), r"SciPy, CubicSpline, .*sd\.external"),
        (lambda: linalg.solve_discrete_are(A, A, A, A), "SciPy, solve_discrete_are, .*fixed_point"),
        (lambda: optimize.minimize(np.sum, x), r"SciPy, minimize, .*sd\.objective"),
        (lambda: linalg.eigh(A, A), r"SciPy, eigh, .*sd\.eigh"),
        (lambda: np.linalg.eig(A), r"np\.linalg\.eig .*eigh of a symmetric"),
        (lambda: sliding_window_view(A, (2, 2)), r"np\.lib\.stride_tricks\.sliding_window_view .*stack"),
    ],
)
def test_a_function_of_another_library_is_called_by_its_name(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(SymdiffError, match=words):
        call()


def test_advice_on_a_call_is_another_call() -> None:
    """What has to come by place is not told to be written by name once more."""
    with pytest.raises(SymdiffError, match="f of gradient by name; expected by place") as found:
        sd.gradient(f="x**2", wrt="x")
    assert "lacks" not in str(found.value)


@pytest.mark.rows(1000)
@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_is_told_with_advice_and_the_frames_of_its_author(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SYMDIFF_TRACEBACK", raising=False)
    with pytest.raises(SymdiffError) as found:
        MISTAKES[number]()
    assert ADVICE.search(str(found.value)), str(found.value)
    assert {one.filename for one in traceback.extract_tb(found.value.__traceback__)} == {__file__}
