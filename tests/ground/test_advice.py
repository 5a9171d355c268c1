"""What is said of names and uses that other libraries have: what to write instead."""

from __future__ import annotations

import math
import re
import traceback
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats
import sympy

import symdiff as sd
from symdiff.frontend.array import Array
from symdiff.ground.advice import ARRAY, KERNEL, MODULE, OPTIONS, TEXT, advice

X, Y, A, V = sd.scalar("x"), sd.scalar("y"), sd.matrix("A", 3, 3), sd.vector("v", 3)
K = sd.compile("x*y", x=(), y=(), backend="numpy")


@pytest.mark.parametrize("name", MODULE)
def test_the_package_says_what_to_write(name: str) -> None:
    with pytest.raises(sd.AbsentError) as caught:
        getattr(sd, name)
    assert MODULE[name] in str(caught.value)


@pytest.mark.parametrize("told", sorted({*MODULE.values(), *ARRAY.values(), *KERNEL.values()}))
def test_what_is_to_be_written_is_there(told: str) -> None:
    for path in re.findall(r"\bsd\.([A-Za-z_.]*[A-Za-z_])\(", told):
        found: Any = sd
        for part in path.split("."):
            found = getattr(found, part)
        assert callable(found)


def test_the_package_says_where_its_names_are_listed() -> None:
    with pytest.raises(sd.AbsentError, match=r"docs/functions\.md of functions, tells"):
        sd.qqqqq  # noqa: B018


@pytest.mark.parametrize("absent", [
    lambda: sd.qqqqq, lambda: sd.special.qqqqq, lambda: sd.linalg.inverse, lambda: sd.stats.normal,
    lambda: sd.stats.norm.qqqqq, lambda: sd.xp.qqqqq, lambda: sd.xp.special.qqqqq, lambda: K.qqqqq, lambda: A.qqqqq,
])  # fmt: skip
@pytest.mark.rows(1000)
def test_an_absent_name_is_refused_in_one_frame_of_the_caller(absent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMDIFF_TRACEBACK", raising=False)
    with pytest.raises(sd.AbsentError) as caught:
        absent()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names == ["test_an_absent_name_is_refused_in_one_frame_of_the_caller", "<lambda>"]


@pytest.mark.parametrize("word", ["mean", "max", True])
def test_another_reduction_is_refused_at_once(word: Any) -> None:
    for call in (lambda: sd.compile(X * Y, reduce=word), lambda: sd.objective(X * Y, X, batch=[Y], reduce=word)):
        with pytest.raises(sd.UnsupportedError, match=f"reduce={word!r}; expected 'sum' or None") as caught:
            call()
        assert ("k(x) / len(x)" in str(caught.value)) is (word == "mean")


@pytest.mark.parametrize("make", [np.eye, np.identity, np.zeros, np.ones, np.arange, np.tri])
@pytest.mark.parametrize("n", ["n", 3])
def test_numpys_own_arrays_are_symbols_where_they_are_asked_to_be_like_one(make: Any, n: Any) -> None:
    if make in (np.arange, np.zeros) and n == "n":
        return  # NumPy reads their sizes before it asks
    made = make(n, like=A)
    assert isinstance(made, Array)
    np.testing.assert_array_equal(sd.compile(made + sd.vector("v", n))(np.zeros(3)), make(3) + np.zeros(3))


@pytest.mark.parametrize("name", ARRAY)
def test_symbols_say_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(A, name)
    assert ARRAY[name] in str(caught.value)


@pytest.mark.parametrize("name", KERNEL)
def test_kernels_say_what_to_write(name: str) -> None:
    with pytest.raises(sd.AbsentError) as caught:
        getattr(K, name)
    assert KERNEL[name] in str(caught.value)


@pytest.mark.parametrize("name", TEXT)
def test_text_says_what_to_write(name: str) -> None:
    with pytest.raises(sd.ParseError) as caught:
        sd.compile(f"{name}(x)", x=3)
    assert TEXT[name] in str(caught.value)


def test_names_that_are_close_are_told() -> None:
    with pytest.raises(sd.AbsentError, match="close: gradient"):
        sd.gradeint  # noqa: B018
    with pytest.raises(sd.AbsentError, match="close: reshape"):
        A.reshpe  # noqa: B018
    with pytest.raises(sd.AbsentError, match="close: signature"):
        K.signatur  # noqa: B018
    assert advice("__array_struct__", ARRAY, dir(Array)) == ""


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: max(X, Y), "np.maximum"),
        (lambda: min(X, Y), "np.minimum"),
        (lambda: 1 if X > 0 else 2, "where"),
        (lambda: math.sin(X), "np.sin"),
        (lambda: sympy.Symbol("a") * X, "whole formula in SymPy"),
        (lambda: X + sympy.Symbol("a"), "whole formula in SymPy"),
        (lambda: scipy.special.logsumexp(V), "sd.logsumexp"),
        (lambda: sd.compile("diff(x**2, x)"), r"a derivative is gradient\(f, x\)"),
        (lambda: sd.diff(X**2, X), r"a derivative is gradient\(f, x\)"),
        (lambda: K(np.array([1.0, "a"], object), 1.0), "an ndarray of objects, of str among them"),
        (lambda: K(np.array([Decimal(1)]), 1.0), r"of Decimal among them.*np.asarray\(x, float\)"),
        (lambda: K([Decimal("1.5")], 1.0), "a list of objects, of Decimal among them"),
        (lambda: K(Decimal("1.5"), 1.0), "x is a Decimal"),
        (lambda: sd.array("x"), r"expected array\(name, shape\)"),
        (lambda: sd.array([X], (1,)), "a name and a shape"),
    ],
)
def test_a_use_is_refused_with_what_to_write(use: Any, message: str) -> None:
    with pytest.raises(sd.SymdiffError, match=message):
        use()


def test_all_wrong_sizes_are_told_at_once() -> None:
    kernel = sd.compile("x @ y + sum(z)", x=3, y=3, z=2)
    with pytest.raises(sd.ShapeError, match=r"x has shape \(4,\); expected \(3,\).*\. z has shape \(5,\); exp"):
        kernel(np.ones(4), np.ones(3), np.ones(5))


def test_arrays_of_symbols_are_made_of_lists() -> None:
    made = sd.array([[X, 1.0], [2 * X, Y]])
    np.testing.assert_array_equal(sd.compile(made, [X, Y])(3.0, 4.0), [[3.0, 1.0], [6.0, 4.0]])
    assert sd.symbol("q", (2, "n")).shape == sd.array("q", (2, "n")).shape
    assert sd.symbol("q").shape == ()


def test_declarations_beside_text_are_no_symbols() -> None:
    x, S = sd.vector("x", "n"), sd.symmetric("n")
    for use in (lambda: S + 1, lambda: x @ S, lambda: S @ x, lambda: np.linalg.det(S), lambda: np.log(S), lambda: S[0]):
        with pytest.raises(sd.UnsupportedError, match=r"shape of an input of text.*write sd.symbol"):
            use()
    with pytest.raises(sd.UnsupportedError, match=r"positive=True"):
        sd.positive("nu") ** 2
    with pytest.raises(sd.DtypeError, match="write the whole formula as text"):
        x @ "y"


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda x: x.at[0].set(1.0), "np.where"),
        (lambda x: x.mm(x), "write A @ B"),
        (lambda x: x.unsqueeze(0), "expand_dims"),
        (lambda x: sd.SX("x", 3), "sd.vector"),
        (lambda x: sd.mtimes(x, x), "write A @ B"),
        (lambda x: sd.vertcat(x, x), "np.concatenate"),
        (lambda x: sd.reduce_sum([x]), "write np.sum"),
        (lambda x: sd.while_loop(*[[x]]), r"expected while_loop\(condition, step, start, at_most\)"),
        (lambda x: sd.gradient(x @ x), r"gradient\(Array.* lacks an argument: 'wrt'; expected gradient\(f, wrt, "),
        (lambda x: sd.export(x @ x, ".", "f"), r"expected a kernel: sd.export\(sd.compile\(f\)"),
        (lambda x: sd.compile(x @ x, batch=[0]), r"batch= holds 0 of type int; expected inputs"),
        (lambda x: sd.compile(x @ x)(y=1), "no input is called 'y'; expected x"),
        (lambda x: (x @ x)(np.ones(3)), r"write sd.compile\(f\)\(\.\.\.\)"),
        (lambda x: x(x=1.0), r"write sd.compile\(f\)\(\.\.\.\)"),
        (lambda x: scipy.optimize.minimize(x @ x, np.ones(3)), r"write .*sd.objective\(f, x\)"),
        (lambda x: sd.custom(x, vjp=lambda args, seed: (seed,)), "custom of type Array; expected a function"),
        (lambda x: sd.custom(np.sin, vjp=x), "vjp= is of type Array; expected a function"),
        (lambda x: np.apply_along_axis(x, 0, x), "expected a function"),
        (lambda x: scipy.stats.norm.logpdf(x[0]), r"write sd.stats.norm.logpdf\(\.\.\.\) of symbols"),
        (lambda x: scipy.stats.gamma.pdf(x, 2.0), r"write sd.stats.gamma.pdf\("),
        (lambda x: scipy.stats.norm(0, 1).cdf(x), r"write sd.stats.norm.cdf\("),
        (lambda x: scipy.stats.poisson.logpmf(2, x[0]), r"write sd.stats.poisson.logpmf\("),
        (lambda x: scipy.special.logsumexp(sd.vector("y", "n")), r"write .*sd.logsumexp\("),
        (lambda x: sd.gradient(x @ x), "lacks an argument"),
        (lambda x: sd.hessian(2 * x, x), r"Hessian of a formula of shape \(3,\).*hessian\(sum\(f\), wrt\)"),
        (lambda x: sd.compile(x @ x)(np.ones(3) * 1j), "as a formula of sd.complex_array takes them"),
        (lambda x: f"{x[0]:.3f}", "compile the formula and format its numbers"),
    ],
)
def test_habits_of_other_libraries_are_told_what_to_write(use: Any, says: str) -> None:
    with pytest.raises(sd.SymdiffError, match=says):
        use(sd.vector("x", 3))


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda: scipy.special.factorial(V), "write sd.factorial"),
        (lambda: scipy.special.polygamma(1, V), "write sd.polygamma"),
        (lambda: scipy.special.multigammaln(V, 2), "write sd.multigammaln"),
        (lambda: scipy.special.softmax(V), "axis=None for all"),
        (lambda: scipy.special.comb(V, 2), "write binom"),
        (lambda: scipy.linalg.cholesky(A), "upper=True"),
        (lambda: scipy.linalg.solve(A, V), "write sd.solve"),
        (lambda: scipy.linalg.polar(A), "write sd.linalg.polar"),
        (lambda: scipy.linalg.solve_sylvester(A, A, A), "write sd.solve_sylvester"),
        (lambda: scipy.linalg.lu(A), "write solve"),
    ],
)
def test_functions_of_scipy_that_compute_with_numbers_are_named(use: Any, says: str) -> None:
    with pytest.raises(sd.SymbolError, match="a function of SciPy") as caught:
        use()
    assert says in str(caught.value)


def test_symbols_are_no_functions_where_functions_may_come() -> None:
    x = sd.vector("x", 3)
    pieces = np.piecewise(x, [x < 0, x >= 0], [x * x, 2 * x])
    assert sd.compile(pieces)([-2.0, 0.5, 1.0]).tolist() == [4.0, 1.0, 2.0]
    total: Any = sd.sum_over(sd.scalar("k"), 3, sd.scalar("k") * X)
    assert sd.compile(total)(2.0) == 6.0
    assert sd.compile(X * X)(3.0) == 9.0


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("value", ["float32", "x", 3, True, None])
def test_options_of_other_libraries_say_what_to_write(name: str, value: Any) -> None:
    with pytest.raises(sd.ArgumentError) as caught:
        sd.compile("sin(x)", **{name: value})
    assert OPTIONS[name] in str(caught.value)
    assert sd.compile(f"sin({name})", **{name: 3})(np.zeros(3)).tolist() == [0, 0, 0]  # an input of that name


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sd.compile("x @ A @ x", A=np.eye(3), x=3), "numbers come in a call of the kernel"),
        (lambda: sd.check("sin(x)", x=2.0), r"to sd.check as at=\{...\}"),
        (lambda: sd.check("sin(x)", {"x": 2.0}), r"the numbers of a point are at=\{'x': 2.0\}"),
        (lambda: sd.objective("a * x @ x", "x", x=3, a=()).fun(np.ones(3)), r"missing a; expected x, a \(SciPy.*args="),
    ],
)
def test_numbers_in_the_wrong_place_say_where_they_belong(call: Any, said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        call()
