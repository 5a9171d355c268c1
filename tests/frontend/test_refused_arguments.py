"""Arguments that nothing can be made of: refused in words of symdiff's own, wherever they come in."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from inspect import signature
from operator import add
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import symdiff as sd
from fuzz.arguments import PUBLIC

x, s = sd.vector("x", 3), sd.scalar("s")
#: The package without its types, for calls that they forbid.
anyway: Any = sd
_as_floats = partial(np.asarray, dtype=float)

#: What is refused, and what is said of it.
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a step of one argument": (lambda: sd.scan(lambda c: c, s, x), "cannot be called with 2 arguments"),
    "a step of none": (lambda: sd.iterate(lambda: 1, s, 3), "cannot be called with 1 argument "),
    "a term of none": (lambda: sd.sum_over("i", 3, lambda: 0), "cannot be called with 1 argument "),
    "a step that is none": (lambda: sd.iterate(s, lambda c: c, 3), r"step is Array.*expected.*iterate\(step"),
    "a scan's step that is none": (lambda: sd.scan(s, lambda c, e: (c, e), x), "step is Array.*output or None"),
    "steps that are no number": (lambda: sd.iterate(lambda c: c, s, 2.5), "n of iterate: the size 2.5 is neither"),
    "steps that are an input": (lambda: sd.iterate(lambda c: c, 3, s), "n of iterate:.*a letter that is a size"),
    "steps below 0": (lambda: sd.scan(lambda c, e: (c, e), s, n=-1), "n of scan:.*expected 0 or more"),
    "a number to go along": (lambda: sd.scan(lambda c, e: (c, e), s, 3), "over is 3.*for 3 steps write n=3"),
    "one thing of a scan's step": (lambda: sd.scan(lambda c, e: c, s, x), "expected two things.*output or None"),
    "no number of steps": (lambda: anyway.iterate(lambda c: c, s), r"lacks an argument: 'n'; expected iterate\(step"),
    "steps under another name": (lambda: anyway.iterate(lambda c: c, s, times=3), "no option 'times'; expected step"),
    "a sum without a term": (lambda: anyway.sum_over("i", 3), "lacks an argument: 'formula'"),
    "a sum over a number": (lambda: sd.sum_over(3, 3, s), r"expected one.*sum_over\(i, n, formula\) of a scalar"),
    "a loop by repeat": (lambda: sd.repeat(lambda c: c, s, 3), "expected a symbol.*sd.iterate"),
    "no count of repeat": (lambda: sd.repeat(x), r"takes 2 to 3 arguments; 1 came; expected repeat\(x, repeats"),
    "an argument by place and name": (lambda: anyway.scan(lambda c, e: (c, e), s, x, start=s), "'start' by position"),
    "a seed of several numbers": (lambda: sd.check("x*s", seed=np.array([[1, 2]])), "seed=.*; expected a whole number"),
    "a seed that is text": (lambda: sd.check("x*s", seed="a"), "seed='a'; expected a whole number"),
    "a seed below 0": (lambda: sd.check("x*s", seed=-1), "seed=-1; expected a whole number"),
    "no location": (lambda: sd.stats.cauchy.pdf(s, None), "loc is None; expected a number"),
    "no covariance": (lambda: sd.stats.multivariate_normal.logpdf(x, x, None), "cov is None; expected"),
    "shapes by place": (lambda: sd.gradient("sum(x)", "x", {"x": 3}), "expected a name: shapes="),
    "no shapes": (lambda: sd.gradient("x @ x", "x"), "give shapes, as in x=3"),
    "a shape for a matrix": (lambda: sd.matrix("A", (3, 3)), r"expected rows and columns: sd.matrix\('A', 3, 3\)"),
    "rows alone": (lambda: sd.matrix("A", 3), "expected rows and columns"),
    "a shape for a vector": (lambda: sd.vector("x", (3,)), r"expected a length: sd.vector\('x', 3\)"),
    "the larger of two": (lambda: sd.compile("max(x, y)"), r"Of two arrays write maximum\(x, y\)"),
    "the larger of a number and 0": (lambda: sd.compile("max(x, 0)"), r"write maximum\(x, 0\)"),
    "rows of several lengths": (
        lambda: sd.compile(sd.jacobian(x * x, x), [x], sparse="csr")([[1, 2, 3], [4, 5]]),
        "x is no array of numbers",
    ),
    "an equation without its unknown": (lambda: sd.root(x @ x - 1, s, start=1), "does not depend on s; expected"),
    "an equation in text without it": (lambda: sd.compile("root(v -> a - 1, 1)"), "does not depend on v; expected"),
    "a minimum of a constant": (lambda: sd.minimizer(s**2, x, np.ones(3)), "f of minimizer does not depend on x"),
    "an integral over nothing": (lambda: sd.laplace(x @ x, s), "f of laplace does not depend on s"),
    "a start of nan": (
        lambda: sd.problem(x @ x, [np.sum(x) == 1], x).solve(start={"x": [1.0, np.nan, 0.0]}),
        "the start has nan; expected finite numbers",
    ),
    "rows below 0": (lambda: sd.symmetric(-1), "the size -1 is negative"),
    "a page at no place": (lambda: sd.compile(s).report(anyway), "expected the name of a file"),
    "a point of words": (lambda: sd.check("x**2", at={"x": "a"}), "at= has 'a' for x; expected real numbers"),
    "a complex point": (
        lambda: sd.check("sum(x)", at={"x": np.array([1j, 2.0])}, x=2),
        r"at= has array\(.*\) for x; expected real numbers",
    ),
    "batches of words": (lambda: anyway.compile(s).benchmark("ab"), "batches='ab'; expected whole numbers"),
    "values that are no dict": (lambda: anyway.vector("x", 3).substitute(3), r"substitute\(3\); expected a dict"),
    "a wait of words": (lambda: anyway.compile(s).wait("long"), r"wait\('long'\); expected a number of seconds"),
    "a pattern of all": (lambda: sd.compile(s).pattern(), "sparse='csr'"),
    "a solution of other rows": (lambda: sd.solve(sd.eye(3), sd.vector("y", 4)), r"shapes \(3, 3\) and \(4,\)"),
    "rows beside complex numbers": (lambda: sd.complex_array("z", "n") * [[1, 2], [3]], "rows of equal length"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str) -> None:
    act, words = REFUSED[name]
    with pytest.raises(sd.SymdiffError, match=words) as caught:
        act()
    assert not isinstance(caught.value, sd.InternalError)


def test_a_type_error_of_the_users_own_code_passes() -> None:
    def step(carried: Any) -> Any:
        return carried + len(3)

    with pytest.raises(TypeError, match="has no len"):
        sd.iterate(step, s, 3)


def test_no_positions_at_all() -> None:
    kernel = sd.compile(sd.jacobian("x[i]**2", "x", x="n", i=(int, "m")), sparse="csr")
    assert kernel(np.ones(4), np.zeros(0, int)).shape == (0, 4)
    rows, columns = kernel.pattern(n=4, i=[])
    assert rows.size == columns.size == 0
    rows, columns = sd.compile(sd.jacobian("x**2", "x", x="n"), sparse="csr").pattern(n=0)
    assert rows.size == columns.size == 0


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: sd.matrix("S", "n", "n", unitary=True), "no option 'unitary'; expected .*symmetric, .*orthogonal"),
        (lambda: sd.gradient("x*x", "x", disconected="zero"), "disconected= is no option.*close: disconnected"),
        (lambda: sd.compile("x*x", bakend="numpy"), "bakend= is no option.*close: backend"),
        (lambda: sd.matrix("S", "n", "n", symetric=True), "no option 'symetric'; did you mean 'symmetric'"),
        (lambda: sd.scan(lambda c, x: c, 1.0, [1.0], **{"revers": True}), "no option 'revers'; did you mean 'reverse'"),
    ],
)
def test_an_option_that_is_none_is_named_with_those_there_are(act: Callable[[], Any], words: str) -> None:
    with pytest.raises(sd.ArgumentError, match=words):
        act()


def test_an_input_that_gives_a_letter_of_the_text_is_not_unused() -> None:
    hessian = str(sd.hessian("sum((x[1:] - x[:-1])**2)", "x", x="n"))
    assert "n" in hessian
    value = sd.compile(hessian, x="n", inputs=["x"])(np.ones(4))
    read = sd.parse(hessian, x="n")
    assert read is not None
    np.testing.assert_array_equal(value[1], [-2.0, 4.0, -2.0, 0.0])
    with pytest.raises(sd.ArgumentError, match="z= is no option"):  # x gives the letter
        sd.compile("eye(n) + x @ x", x="n", z="n")
    with pytest.raises(sd.ArgumentError, match="y= is no option"):
        sd.parse("eye(n)", x="n", y="m")


@pytest.mark.parametrize("backend", ["interpreter", "native", "numpy"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("number", [1.0, x[0]])
def test_a_dict_of_the_inputs_by_position(backend: Any, count: int, place: int, number: Any) -> None:
    """The message names what works; a kernel whose argument is a dict takes it."""
    names = ["a", "b", "c"][:count]
    kernel = sd.compile(" + ".join(names), backend=backend)
    given = dict.fromkeys(names, number)
    for args in ([1.0] * place + [given], [given] + [1.0] * place, [given]):
        with pytest.raises(sd.DtypeError, match=r"a dict of 'a'.*expected a: \(\).*k\(\*\*d\)"):
            kernel(*args)
    assert str(kernel(**given)) == str(kernel(*given.values()))
    nested = sd.compile(lambda d: reduce(add, d.values()), d=dict.fromkeys(names, ()), backend=backend)
    assert str(nested(given)) == str(kernel(**given))


def test_a_dict_beside_positions() -> None:
    kernel = sd.compile("x[i]", x="n", i=(int, "m"))
    with pytest.raises(sd.DtypeError, match=r"x is a dict of 'x', 'i'; expected x: \(n,\), i: int \(m,\)"):
        kernel({"x": [1.0, 2.0], "i": [0]})
    with pytest.raises(sd.DtypeError, match=r"i is a dict of 'i'.*k\(\*\*d\)"):
        kernel([1.0, 2.0], {"i": [0]})
    with pytest.raises(sd.DtypeError, match=r"x is a dict.*k\(\*\*d\)"):
        sd.compile("h = x**2\nh + 1").values({"x": 1.0})


@pytest.mark.parametrize("name", PUBLIC)
def test_a_wrong_count_of_arguments_is_told_with_the_parameters(name: str) -> None:
    function = getattr(sd, name)
    parameters = [*signature(function).parameters.values()]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    with pytest.raises(sd.SymdiffError, match=rf"{name} takes \d.*by position, 20 came; expected {name}\("):
        function(*[s] * 20)
    first = next((p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD), None)
    if first is not None:
        with pytest.raises(sd.SymdiffError, match=rf"lacks an argument: '{first}'.*; expected {name}\({first}"):
            function()


#: Arguments without numbers for NumPy, what is said of each, and what that makes of it.
STRANGE: dict[str, tuple[Callable[[], Any], str, Callable[[Any], Any] | None]] = {
    "None": (lambda: None, "None has no number, pass one", None),
    "a list with None": (lambda: [1.0, None, 2.0], r"put a number in place of x\[1\]", None),
    "rows with None": (lambda: [[1.0, 2.0, 3.0], [1.0, 2.0, None]], r"in place of x\[1, 2\]", None),
    "a set": (lambda: {1.0, 2.0, 3.0}, "a set has no order, pass a list", list),
    "a generator": (lambda: (i / 2 for i in range(3)), r"pass list\(x\)", list),
    "a map": (lambda: map(float, "123"), r"pass list\(x\)", list),
    "values of a dict": ({"a": 1, "b": 2, "c": 3}.values, r"pass list\(x\)", list),
    "decimal numbers": (lambda: [Decimal(1), 2.0, 3.0], r"of Decimal among them.*asarray\(x, float\)", _as_floats),
    "a fraction behind whole numbers": (lambda: [1, 2, Fraction(1, 3)], r"asarray\(x, float\)", _as_floats),
    "numbers of many bits": (lambda: [1, 2, 2**70], r"of int among them.*asarray\(x, float\)", _as_floats),
    "text": (lambda: ["1", "2", "3"], r"array of <U1.*astype\(float\)", lambda x: np.asarray(x).astype(float)),
    "a sparse array": (lambda: sparse.eye_array(3), r"\.toarray\(\)", lambda x: x.toarray()),
    "an object": (object, "pass numbers in its place", None),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_said_of_an_argument_works(name: str) -> None:
    make, said, remedy = STRANGE[name]
    kernel = sd.compile(x @ x, backend="interpreter")
    with pytest.raises(sd.DtypeError, match=said):
        kernel(make())
    if remedy is not None:
        assert np.isfinite(kernel(remedy(make()))).all()


def test_a_table_by_name_is_told_of_inputs() -> None:
    kernel = sd.compile("a * b", a=(), b=(), backend="interpreter")
    table = {"a": [1.0, 2.0], "b": [3.0, 4.0], "name": ["u", "v"]}
    with pytest.raises(sd.ArgumentError, match=r"no input is called 'name'.*k\(inputs=table\)"):
        kernel(**table)
    assert kernel(inputs={key: table[key] for key in "ab"}).tolist() == [3.0, 8.0]


KERNEL = sd.compile("x @ x", x="n", backend="interpreter")


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: sd.gradient(KERNEL, "x", y=3), r"the kernel, whose formula is kernel\(\*symbols\), takes x"),
        (lambda: anyway.compile("x @ y", {"x": 3}, x=3, y=3), r"inputs= is a dict of x; .*shapes come by name"),
        (lambda: sd.vector("x", "n").sum().substitute(x=1.0, n=2), "'n' is not in the formula"),
        (lambda: sd.scalar("x").substitute(x=sd.vector("v", 3)), r"x is a number, and .* shape \(3,\)"),
        (lambda: anyway.ones(3, 3), r"takes 1 argument; 2 came; .* the shape a tuple: \(3, 3\)"),
        (lambda: anyway.root(lambda x: x**2, 1.0), r"root without a start; expected root\(formula, x, start\)"),
        (lambda: sd.nn.cross_entropy, r"write -np\.mean\(sd\.log_softmax\(z\)\[sd\.arange"),
        (lambda: anyway.nlpsol, r"write sd\.problem"),
        (lambda: sd.arange(0, "n", 2), "in steps of 2; expected steps of 1 with letters"),
        (lambda: sd.compile("x", threads="all"), "threads='all'; expected at least 1"),
        (lambda: sd.compile("x * |x|"), r"found '\|'; write abs\(x\)"),
        (lambda: sd.compile("f(x) + ∂f/∂x"), r"a derivative is written gradient\(f, x\)"),
        (lambda: sd.compile("f(x)"), r"a line above may define your own, f\(x\) = x"),
        (lambda: np.add.at(x, [0], 1.0), r"write sd.add_at\(x, i, n\)"),
        (lambda: sd.compile(x @ x, [x])([[1.0, 2.0], [3.0]]), "rows of different lengths came; expected numbers"),
        (lambda: sd.parse("A\\b", dialect="matrixcalculus", A="matrix", b="vector"), r"write inv\(A\)\*b"),
        (lambda: sd.parse("normf(A)", dialect="matrixcalculus", A="matrix"), r"write sqrt\(tr\(A'\*A\)\)"),
        (lambda: s ^ 2, r"a power is written \*\*"),
        (lambda: 2 ^ s, r"a power is written \*\*"),
        (lambda: sd.jacobian(x, x @ x), r"the formula x does not depend on .* x @ x, which is made of it; the"),
        (lambda: sd.vjp(x * 2, np.sin(x * 2), [1.0] * 3), "the formula comes first"),
        (lambda: sd.parse(r"\sin(x)"), "LaTeX is not read"),
        (lambda: sd.parse("sum(x) / len(x)", x=3), 'a size that is a letter is a number: sum\\(x\\) / n with x="n"'),
        (lambda: sd.parse("sum(x) / x.shape", x=3), 'a size that is a letter is a number'),
        (lambda: sd.parse("A.I", A=(3, 3)), r"write inv\(A\)"),
    ],
)
def test_what_is_meant_is_named(act: Callable[[], Any], said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        act()


def test_what_is_named_in_their_place_works() -> None:
    v = sd.vector("v", "n")
    assert str(sd.gradient(KERNEL(v), v)) == "2 * v"
    both = sd.compile({"value": sd.parse("x**2", x=()), "slope": sd.gradient("x**2", "x")}, backend="interpreter")
    assert both(3.0) == {"value": 9.0, "slope": 6.0}
    assert sd.compile("sum(x) / n", x="n", backend="interpreter")([1.0, 2.0, 6.0]) == 3.0
