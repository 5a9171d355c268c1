"""The budget of a call: hostile texts refused or answered in little work, and long formulas in linear work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff.calculus.modes import pullback
from symdiff.errors import ArgumentError, LimitError
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import constant, postorder
from symdiff.graph.scalars.functions import constant_partials
from symdiff.ground import budget
from symdiff.ground.limits import BUDGETS, LIMITS, Budget

ROOT = Path(__file__).parents[2]
STRICT = BUDGETS["strict"]


def doubling(step: str, count: int, last: str = "a{n}") -> str:
    """Return a text whose every line is made of the one before, twice."""
    lines = ["a0 = x", *(f"a{i + 1} = {step.replace('_', f'a{i}')}" for i in range(count))]
    return "\n".join([*lines, last.format(n=count)])


#: Texts that ask for much; some are refused and some answered. Inputs are below.
HOSTILE = [
    *(f"derivative({f}, x, {n})" for f in ("tan(x)", "tan(x)/(1+x**2)", "sin(x)**x", "1/cos(x)") for n in (16, 20)),
    "derivative(sin(sin(sin(sin(x)))), x, 20)",
    "derivative(exp(x)*sin(x)*tan(x)*log(x)/gamma(x), x, 20)",
    "derivative(det([[x,1,x*x],[2,x,sin(x)],[exp(x),1,x]]), x, 20)",
    "derivative(derivative(derivative(tan(x), x, 8), x, 8), x, 8)",
    "derivative(tan(v), v, 16)",
    "derivative(inv(sigmoid(T)), T, 16)",
    "hessian(sum(gamma(L) * max(L))**3, L)",
    "derivative(tan(M)*norm(M)/tan(M*M), M, 12)",
    "gradient(" * 30 + "tan(x)" + ", x)" * 30,
    "hessian(" * 8 + "sum(sin(v))" + ", v)" * 8,
    "polyval(ones(10**5), x)",
    "polyval(v, polyval(v, polyval(v, v)))",
    "stack(zeros(10**5))",
    "concatenate([" + "v," * 2000 + "v])",
    "[" + ",".join(["sin(x)"] * 2000) + "]",
    "+".join(["x"] * 2900),
    "*".join(f"(x+{i})" for i in range(1400)),
    "gradient(" + "*".join(f"sin({i}*x)" for i in range(700)) + ", x)",
    "zeros(10**5) + ones(10**5)",
    "eye(5000)",
    "eye(5000, k=1)",
    "eye(1000, k=1) @ eye(1000, k=2)",
    "ones((10**4, 10**4))",
    "ones((10**3, 10**3)) * ones(10**3)[:, None]",
    "kron(" * 12 + "v" + ", v)" * 12,
    "outer(" * 12 + "v" + ", v)" * 12,
    "matrix_power(A, 10000)",
    "gradient(sum(matrix_power(A, 9999)), A)",
    "gradient(sum(matrix_power(M, 100)), M)",
    "cumsum(cumsum(M)) + diff(M, 100)",
    "diff(L, 90)",
    "repeat(L, 10**9)",
    "tile(L, 10**5)",
    "tile(u, 10**300)",
    "v" + "[None]" * 32,
    "T + T.T",
    "jacobian(T * T, T)",
    "v" + ".T[::-1]" * 1400,
    "u" + "[1:]" * 1400,
    "2**(10**9)",
    "10**300 * " * 50 + "1",
    "9" * 400,
    "x" * 10**6,
    "x" * 64,
    "(" * 99 + "x" + ")" * 99,
    "(" * 10**4,
    "sin(" * 99 + "x" + ")" * 99,
    "-" * 99 + "x",
    "x**" * 90 + "x",
    "\n".join(f"{'t' * 60}{i} = x" for i in range(200)) + "\nx",
    "where(x > 0, x, " * 90 + "x" + ")" * 90,
    doubling("_ + _", 400),
    doubling("_ * _", 400, "gradient(a{n}, x)"),
    doubling("sin(_) * cos(_)", 200, "gradient(a{n}, x)"),
    doubling("sin(_) * cos(_)", 200, "derivative(a{n}, x, 4)"),
    doubling("_ ** _", 60, "gradient(a{n}, x)"),
    doubling("gradient(_ * _, x)", 30),
    doubling("where(_ > 0, _, -_)", 100, "gradient(a{n}, x)"),
    doubling("concatenate([_, _])", 40).replace("a0 = x", "a0 = v"),
    doubling("outer(_, _)", 40).replace("a0 = x", "a0 = u"),
    doubling("reshape(outer(_, _), -1)", 40).replace("a0 = x", "a0 = u"),
    doubling("concatenate([_, u])", 200).replace("a0 = x", "a0 = u"),
    doubling("kron(_, _)", 40).replace("a0 = x", "a0 = B"),
    doubling("_ @ _", 200, "gradient(sum(a{n}), A)").replace("a0 = x", "a0 = A"),
    doubling("solve(_, _) + _", 40, "jacobian(a{n}, A)").replace("a0 = x", "a0 = A"),
]
SHAPES = {"x": [], "v": [3], "u": ["n"], "A": [4, 4], "B": ["n", "m"], "M": [100, 100], "L": [1000], "T": [2] * 8}

#: What a process of its own does with the texts: each way of use, with what it took.
_PROCESS = """
import json, re, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import numpy, sympy, symdiff as sd
texts, shapes = json.load(sys.stdin)
shapes = {name: tuple(shape) for name, shape in shapes.items()}

def known(text):
    names = set(re.findall("[A-Za-z_]+", text)) | {"x"}
    return {"shapes": {name: shape for name, shape in shapes.items() if name in names}, "budget": "strict"}

ways = {
    "parse": lambda t: sd.parse(t, **known(t)),
    "gradient": lambda t: str(sd.jacobian(t, "x", disconnected="zero", **known(t))),
    "derivative": lambda t: sd.derivative(t, "x", 3, disconnected="zero", **known(t)).latex(),
    "compile": lambda t: sd.compile(t, backend="interpreter", **known(t)),
    "check": lambda t: sd.check(t, **known(t)),
}
told = []
for number, text in enumerate(texts):
    way = [*ways][number % 5]
    start = time.process_time()
    try:
        ways[way](text)
        end = "answered"
    except sd.SymdiffError as error:
        end = type(error).__name__
    except Exception as error:
        end = f"{type(error).__name__}: {error}"
    told.append([way, text[:60], end, time.process_time() - start])
# of this program alone: what getrusage tells begins with the size of the process that started it
with open("/proc/self/status") as lines:
    (most,) = [int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")]
print(json.dumps([told, most]))
"""


@pytest.mark.exhaustive
def test_any_text_is_refused_or_answered_in_little_time_and_memory() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _PROCESS],
        check=False,
        cwd=ROOT,
        input=json.dumps([HOSTILE, SHAPES]),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each core would take addresses of the few there are
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    told, megabytes = json.loads(run.stdout)
    assert len(told) == len(HOSTILE)
    # processor time, ten times what was seen on a slow machine; what a budget does not stop takes minutes
    assert [one for one in told if one[3] > 20.0] == []
    assert megabytes < 500
    ends = [one[2] for one in told]
    assert ends.count("LimitError") > 15
    assert ends.count("answered") > 15


@pytest.mark.parametrize(
    "call",
    [
        sd.parse,
        lambda text, **options: sd.compile(text, backend="interpreter", **options),
        sd.check,
        *(
            lambda text, name=name, rest=rest, **options: getattr(sd, name)(text, "x", *rest, **options)
            for name, rest in (
                ("gradient", ()),
                ("jacobian", ()),
                ("hessian", ()),
                ("derivative", (2,)),
                ("jvp", ("x",)),
                ("vjp", ("x",)),
                ("hvp", ("x",)),
            )
        ),
    ],
)
def test_every_function_of_text_takes_a_budget(call: Callable[..., Any]) -> None:
    call("sin(x)**2", shapes={"x": ()}, budget="strict")
    with pytest.raises(LimitError, match="more than 3 nodes"):
        call("sin(x)**2", shapes={"x": ()}, budget=Budget(nodes=3))
    with pytest.raises(ArgumentError, match="budget='tight'"):
        call("sin(x)**2", shapes={"x": ()}, budget="tight")


def test_a_refusal_says_which_budget_and_how_to_raise_it() -> None:
    text = "derivative(arcsin(x) * tan(x), x, 20)"
    with pytest.raises(LimitError, match="more than 16000 nodes") as refusal:
        sd.gradient(text, "x", budget="strict")
    for words in ("'strict'", "budget=symdiff.Budget(nodes=160000)", "budget='default'", "--untrusted", text):
        assert words in str(refusal.value)
    with pytest.raises(LimitError, match=r"more than 9 steps of work.*Budget\(steps=90\)"):
        sd.gradient("x * x", "x", budget=Budget(steps=9))
    with pytest.raises(LimitError, match=r"more than 70 bytes of memory.*Budget\(memory=700\)"):
        sd.compile("x * [1, 2, 3, 4, 5, 6, 7, 8, 9]", x=9, budget=Budget(memory=70))


def test_the_same_text_costs_the_same_whatever_was_built_before() -> None:
    text = "sin(x * y) + tan(x) / (1 + y)"

    def least() -> int:
        low, high = 1, 1000
        while low < high:
            middle = (low + high) // 2
            try:
                sd.parse(text, budget=Budget(nodes=middle))
                high = middle
            except LimitError:
                low = middle + 1
        return low

    first = least()
    kept = parse_graph(text, {}, undeclared="scalar")
    assert least() == first
    del kept


def test_symbols_have_no_budget_and_text_has_one() -> None:
    seen: list[object] = []

    def watched(a: sd.Array) -> sd.Array:
        seen.append(budget.current())
        return a * a

    sd.compile(watched, a=(), backend="interpreter")
    sd.compile(watched, a=(), backend="interpreter", budget="strict")
    assert seen[0] is None
    assert isinstance(seen[1], budget.Account)
    assert budget.limits() is LIMITS
    with budget.Opened("strict"):
        assert budget.limits() is STRICT.limits
    assert budget.current() is None


def test_a_call_within_a_call_charges_the_outer_one() -> None:
    def nested(a: Any) -> Any:
        return a * sd.compile("x + 1", backend="interpreter", budget=Budget())(1.0)

    def outer(nodes: int) -> None:
        sd.compile(nested, a=(), backend="interpreter", budget=Budget(nodes=nodes))

    outer(1000)
    with pytest.raises(LimitError, match="more than 4 nodes"):
        outer(4)


def test_what_was_differentiated_before_is_charged_to_nobody() -> None:
    x, y = sd.scalar("x").node, sd.scalar("y").node
    f = (x + y) - (x - y) + (-x)

    def left() -> tuple[int, int, int] | None:
        with budget.Opened(Budget()):
            pullback({f: constant(1.0)}, [x, y])
            return budget.balance()

    constant_partials.cache_clear()
    assert left() == left()


def test_an_account_is_closed_when_its_call_fails() -> None:
    with pytest.raises(sd.ParseError):
        sd.parse("x +", budget="strict")
    assert budget.current() is None


def test_threads_have_accounts_of_their_own() -> None:
    def one(number: int) -> str:
        text = "+".join(f"sin({number} * x + {i})" for i in range(40))
        try:
            sd.gradient(text, "x", budget=Budget(nodes=10 if number % 2 else 10_000))
        except LimitError:
            return "refused"
        return "answered"

    with ThreadPoolExecutor(4) as pool, budget.Opened(Budget(nodes=1)):
        assert list(pool.map(one, range(12))) == ["answered", "refused"] * 6


def test_what_default_allows_strict_may_refuse() -> None:
    text = "+".join(["x"] * 5000)
    with pytest.raises(LimitError, match="operators"):
        sd.gradient(text, "x", budget="strict")
    assert str(sd.gradient(text, "x")) == "5000"
    with pytest.raises(LimitError, match="characters"):
        sd.parse("x" * 10**8)


@pytest.mark.parametrize("budget_name", sorted(BUDGETS))
def test_sizes_are_bounded_in_degree_numbers_and_terms(budget_name: str) -> None:
    texts = [
        doubling("reshape(outer(_, _), -1)", 12).replace("a0 = x", "a0 = u"),
        "u" + "".join(f"\n{'a' * (i + 2)} = tile({'a' * (i + 1)}, 10**30)" for i in range(10)),
    ]
    texts[1] = "a = u\n" + "\n".join(texts[1].split("\n")[1:]) + "\n" + "a" * 11
    for text in texts:
        with pytest.raises(LimitError, match=r"which (are|is) the limit"):
            sd.compile(text, u="n", x=(), budget=budget_name)


# ---------------------------------------------------------------------------- the command line


def test_the_command_line_takes_untrusted_text(capsys: pytest.CaptureFixture[str]) -> None:
    from click.testing import CliRunner

    from symdiff.tools.command.cli import main

    run = CliRunner().invoke
    hostile = "derivative(sin(tan(x)) / x, x, 16)"
    for command in (["derive", hostile, "--wrt", "x"], ["eval", hostile, "--value", "x=1"]):
        refused = run(main, [*command, "--untrusted"])
        assert refused.exit_code == 2, refused.output
        assert "its budget ('strict')" in refused.output
    answered = run(main, ["derive", "tan(x)", "--wrt", "x", "--untrusted", "--text"])
    assert answered.exit_code == 0
    assert "1 + tan(x) ** 2" in answered.output
    assert budget.current() is None


def test_numbers_of_the_command_line_count_too(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from symdiff.tools.command.cli import main

    np.save(tmp_path / "A.npy", np.ones((5000, 30, 30)))
    arguments = ["eval", "sum(inv(A))", "--data", f"A={tmp_path / 'A.npy'}", "--batch", "A", "--untrusted"]
    refused = CliRunner().invoke(main, arguments)
    assert refused.exit_code == 2, refused.output
    assert "steps of work" in refused.output


# ---------------------------------------------------------------------------- derivatives of high order

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "tan(x)": mpmath.tan,
    "tanh(x)": mpmath.tanh,
    "sigmoid(x)": lambda x: 1 / (1 + mpmath.exp(-x)),
    "1/cos(x)": mpmath.sec,
    "1/cosh(x)": mpmath.sech,
    "exp(x)*sin(x)": lambda x: mpmath.exp(x) * mpmath.sin(x),
    "x**10*exp(x)": lambda x: x**10 * mpmath.exp(x),
    "exp(-x**2)": lambda x: mpmath.exp(-(x**2)),
    "sin(sin(x))": lambda x: mpmath.sin(mpmath.sin(x)),
    "gamma(x)": mpmath.gamma,
    "log(x)*sin(x)": lambda x: mpmath.log(x) * mpmath.sin(x),
    "(x-3)**8*tan(x)": lambda x: (x - 3) ** 8 * mpmath.tan(x),
}


@pytest.mark.parametrize("formula", FUNCTIONS)
def test_derivatives_of_high_order_are_right(formula: str) -> None:
    for order in (7, 11):
        kernel = sd.compile(sd.derivative(formula, "x", order), backend="interpreter")
        for x in (0.4, 1.25):
            with mpmath.workdps(40):
                right = float(mpmath.diff(FUNCTIONS[formula], mpmath.mpf(x), order))
            assert float(kernel(x)) == pytest.approx(right, rel=2e-10), (order, x)


@pytest.mark.parametrize("formula", FUNCTIONS)
def test_derivatives_of_high_order_stay_small(formula: str) -> None:
    eight, sixteen = (len(postorder([sd.derivative(formula, "x", order).node])) for order in (8, 16))
    assert eight < 1_000
    assert sixteen < 24 * eight  # the fourth power of the order and half as much again, where it was its exponential


@pytest.mark.parametrize(
    ("formula", "most"), [("tan(x)", 90), ("tanh(x)", 90), ("sigmoid(x)", 100), ("exp(x)*sin(x)", 60)]
)
def test_derivatives_of_tan_and_its_like_are_polynomials(formula: str, most: int) -> None:
    assert len(postorder([sd.derivative(formula, "x", 20).node])) < most


def test_what_a_formula_subtracts_is_not_multiplied_out() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    tenth = sd.derivative((x - y) ** 12 * np.tan(x), x, 10)
    near = float(sd.compile(tenth, [x, y], backend="interpreter")(1.0, 1.0 + 1e-9))
    with mpmath.workdps(60):
        other = mpmath.mpf(1.0 + 1e-9)
        right = mpmath.diff(lambda t: (t - other) ** 12 * mpmath.tan(t), mpmath.mpf(1), 10)
    assert near == pytest.approx(float(right), rel=1e-9)


def test_derivatives_of_high_order_by_vectors_and_parts() -> None:
    v = sd.vector("v", 2)
    third = sd.derivative(np.tan(v) * np.exp(v) / v, v, 5)
    assert third.shape == (2,) * 6
    x = sd.scalar("x")
    alone = sd.compile(sd.derivative(np.tan(x) * np.exp(x) / x, x, 5), backend="interpreter")
    numbers = sd.compile(third, backend="numpy")(np.array([0.5, 0.7]))
    np.testing.assert_allclose(numbers[(0,) * 6], alone(0.5), rtol=1e-9)
    np.testing.assert_allclose(numbers[(1,) * 6], alone(0.7), rtol=1e-9)
    assert np.count_nonzero(numbers) == 2


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (" @ ".join(["h @ h.T"] * 30), {"h": (1000, 1000)}),
        ("matrix_power(h, 60)", {"h": (1000, 1000)}),
        ("expm(h)", {"h": (1000, 1000)}),
        ("argsort(x)", {"x": 1_000_000}),  # by comparisons of all with all
        ("argsort(x + zeros(1000000))", {"x": ()}),
    ],
)
def test_a_run_on_one_sample_is_work_of_a_strict_budget(text: str, shapes: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match="steps of work"):
        sd.compile(text, budget="strict", shapes=shapes)
    smaller = {name: 10 if isinstance(shape, int) else shape and (10, 10) for name, shape in shapes.items()}
    sd.compile(text.replace("1000000", "10"), budget="strict", shapes=smaller)
