"""Both IRs as text: every node, program and plan has a short ``repr`` and a whole listing."""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.graph import Node, constant, delta, input, inputs_of, label, onehot, placeholder, postorder
from symdiff.graph.dump import _Line, brief, listing
from symdiff.graph.sizes import named
from symdiff.ground.budget import Opened
from symdiff.ground.limits import Budget
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.plan import Plan
from symdiff.lowering.plan.steps import Reduction
from symdiff.lowering.program import Port, Program
from symdiff.lowering.unroll import unroll
from tests.support.optional import OPTIONAL

x = sd.vector("x", 3)
A = sd.matrix("A", "n", "n")


def node(formula: object) -> Node:
    return sd.asarray(formula).node


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (x, "x: (3,) real"),
        (np.sin(x) * 2, "sin(x) * 2.0: (3,) real"),
        ((x + 1) * (x - 1), "(x + 1.0) * (x - 1.0): (3,) real"),
        (x > 0, "0.0 < x: (3,) bool"),
        (A @ A, "contract[ij,jk->ik](A, A): (n, n) real"),
        (np.exp(x) / (1 + np.exp(x)), "(%1 = exp(x)) / (1.0 + %1): (3,) real"),
        (np.concatenate([x, x[::-1]]), "concatenate[-1](x, slice[(2, -1, 3)](x)): (6,) real"),
        (x[[0, 2, 0, 1, 2, 0, 1, 1]], "gather[axis=-1, indices=(0, 2, 0, 1, 2, 0, …)](x): (8,) real"),
        (sd.name(np.exp(x), "part"), "named[part](exp(x)): (3,) real"),
        (sd.asarray(np.arange(20.0)), "[0.0, 1.0, 2.0, 3.0, …]: (20,) real"),
    ],
    ids=str,
)
def test_a_node_reads_as_a_formula_with_shape_and_dtype(formula: object, text: str) -> None:
    assert brief(node(formula)) == text
    assert repr(node(formula)) == f"<{text}>"


def test_nodes_of_every_kind_are_shown() -> None:
    n = named("n")
    assert brief(delta(n, n + 1)) == "delta(start=0, step=1): (n, n + 1) real"
    assert brief(onehot(3, 1)) == "onehot(1): (3,) real"
    assert brief(placeholder(("seed", object()), (2,))).startswith("?(seed, object): (2,)")
    assert brief(constant(float("nan"))) == "nan: () real"
    assert brief(constant(np.zeros((0, 2)))) == "[]: (0, 2) real"
    assert brief(constant(np.array([True]))) == "[True]: (1,) bool"
    cube = sd.custom(lambda u: u**3, differential=lambda args, t: 3 * args[0] ** 2 * t[0], name="cube")
    assert brief(node(cube(x))) == "custom[cube](x): (3,) real"


def test_a_name_stays_on_its_line() -> None:
    assert "\n" not in brief(label(x.node, "two\nlines"))
    assert len(brief(label(x.node, "long" * 1_000))) < 100


def test_shared_parts_are_written_once_and_the_line_is_bounded() -> None:
    deep = x
    for _ in range(400):
        deep = deep * deep + deep
    wide = np.concatenate([x * float(i) for i in range(5_000)])
    nested: Any = x
    for _ in range(5_000):
        nested = np.sin(nested)
    for formula in (deep, wide, nested, (x * sum(np.exp(x * float(i)) for i in range(200)))):
        assert 10 < len(repr(node(formula))) < 300
    assert "…" in repr(node(deep))
    line = _Line(node(wide))
    line.write(node(wide), 0)
    assert len(line.parts) < 100  # what has no room is not even written
    long = named("first_size") * named("second_size") + named("third_size") * named("fourth_size")
    assert len(repr(input("z", (long, long, long)))) < 100


def test_a_listing_has_a_line_for_each_node_in_order() -> None:
    part = np.exp(x)
    roots = [node(part * part + x), node(part)]
    lines = [*listing(roots)]
    assert lines == [
        "v0 = input x: (3,) real",
        "v1 = exp v0: (3,) real",
        "v2 = multiply v1, v1: (3,) real",
        "v3 = add v2, v0: (3,) real",
        "results: v3, v1",
    ]
    hessian = node(sd.hessian(np.linalg.norm(A @ A), A))
    listed = [*listing([hessian])]
    assert len(listed) == len(postorder([hessian])) + 1
    for number, line in enumerate(listed[:-1]):
        assert line.startswith(f"v{number} = ")
        assert all(int(arg) < number for arg in re.findall(r"v(\d+)", line.partition(" = ")[2].partition(":")[0]))


def test_to_look_at_a_formula_costs_nothing_of_its_budget() -> None:
    f = node(np.sin(x) * 2)
    with Opened(Budget(nodes=100, steps=1)) as _:
        assert [*listing([f])]
        assert repr(f)


def records_with_functions() -> list[type]:
    """Every named tuple and dataclass of the package that has functions among its fields."""
    names = [found.name for found in walk_packages(sd.__path__, "symdiff.")]
    modules = [import_module(name) for name in names if not name.endswith(("__main__", *OPTIONAL))]
    kinds = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    records = {kind for kind in kinds if hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__")}
    told = {kind: " ".join(map(str, kind.__annotations__.values())) for kind in records}
    return sorted((kind for kind in records if "Callable" in told[kind] and "symdiff" in kind.__module__), key=str)


@pytest.mark.parametrize("kind", records_with_functions(), ids=lambda kind: kind.__name__)
def test_records_of_functions_are_short(kind: Any) -> None:
    record: Any
    if issubclass(kind, tuple):
        record = tuple.__new__(kind, [lambda: None] * len(kind._fields))
    else:
        record = object.__new__(kind)
        for name in kind.__dataclass_fields__:
            object.__setattr__(record, name, lambda: None)
    text = repr(record)
    assert text.startswith(f"{kind.__name__}(")
    assert "0x" not in text
    assert len(text) < 400


def test_the_origin_of_a_kernel_is_a_short_text() -> None:
    kernel = sd.compile(sd.gradient(np.sum(np.exp(x) * x), x), [x], backend="interpreter")
    text = repr(kernel._origin)
    assert text.startswith("Origin(backend=interpreter, source=source, sympy=function, ")
    assert "0x" not in text
    assert len(text) < 400


# ---------------------------------------------------------------------------- programs and plans


def program(formula: object) -> Program:
    top = node(formula)
    return unroll(inputs_of([top]), [top])


def test_a_program_is_numbered_lines() -> None:
    assert program(np.sin(x[:2]) * 2).text().splitlines() == [
        "input 0: x (3,)",
        "output 0: out0 (2,)",
        "v0 = load input 0 [0]",
        "v1 = sin v0",
        "v2 = 2.0",
        "v3 = multiply v1, v2",
        "v4 = load input 0 [1]",
        "v5 = sin v4",
        "v6 = multiply v5, v2",
        "store output 0 [0] v3, v6",
    ]


def test_checks_and_the_type_are_shown() -> None:
    text = str(program(np.linalg.inv(sd.matrix("B", 2, 2))))
    assert "computed in float64" in text
    assert re.search(r"^check v\d+, not 0: .*singular", text, flags=re.MULTILINE)


def test_repr_of_a_program_is_bounded_and_text_has_all() -> None:
    large = program(sd.hessian(np.sin(sd.vector("y", 30)).sum() ** 2, sd.vector("y", 30)))
    assert len(large.ops) > 400
    assert len(repr(large).splitlines()) < 40
    assert repr(large).startswith("<Program\n  input 0: y (30,)\n")
    assert "text() has all of it" in repr(large)
    assert len(re.findall(r"^v\d+ = ", str(large), flags=re.MULTILINE)) == len(large.ops)
    assert "text() has" not in repr(program(x))


def test_a_program_that_is_not_valid_can_be_shown() -> None:
    port = Port("p\n" * 90, (1,), 1)
    odd = Program((port,), (port,), ("load", "nonsense"), ((0, 0), (7, 9)), {}, ((1,),))
    assert "v1 = nonsense v7, v9" in repr(odd)
    assert max(map(len, repr(odd).splitlines())) < 220


def plan(formula: object, batched: bool = False) -> Plan:
    top = node(formula)
    inputs = inputs_of([top])
    return plan_call(inputs, [top], [batched] * len(inputs), 20_000)


def test_plans_are_steps_with_their_programs() -> None:
    v = sd.vector("v", "n")
    text = str(plan(np.exp(v) * np.sum(np.log(v))))
    assert "step 0: sum over i0<n" in text
    assert "step 1: map over i0<n" in text
    assert "input 0 is v[i0]" in text
    assert "= log v0" in text
    assert text.endswith("results: r1")
    assert plan(np.exp(v) * np.sum(np.log(v))).text() == text
    assert "map over i0<(batch), i1<n" in plan(np.exp(v), batched=True).text()


def test_steps_say_which_arrays_they_read() -> None:
    kernel = sd.compile("gradient(sum(tanh(X @ W + b)**2), W)", X=("n", "m"), W=("m", 3), b=3)
    steps = [line.strip() for line in str(kernel.plan).splitlines()]
    assert steps[1].startswith("step 0: product of X, W over i0<n, i1<m, i2<3 -> r0; ")
    assert steps[2].startswith("step 1: map of r0, b over i0<n -> r1; ")
    assert steps[3].startswith("step 2: product of r1, X over i0<n, i1<3, i2<m -> r2; ")
    solution = sd.compile("inv(A) @ b", A=("n", "n"), b="n").plan
    assert "step 0: solve of A, b, matrices of (n, n) -> r0; " in solution
    many = " + ".join([f"exp(long_name_{i})" for i in range(20)])
    _, line = str(sd.compile(many, **{f"long_name_{i}": 3000 for i in range(20)}).plan).splitlines()
    assert "…" in line
    assert len(line) < 240


def test_steps_on_whole_arrays_and_pieces_are_shown() -> None:
    v = sd.vector("v", "n")
    whole = plan(np.exp(v) * np.max(v))
    assert any(isinstance(step, Reduction) for step in whole.steps)
    assert "gives r0[] = max[-1](v): () real" in whole.text()
    stencil = plan(sd.gradient(((v[1:] - v[:-1]) ** 2).sum(), v))
    assert "piece 1: 1<=i0<n - 1" in stencil.text()
    assert "is v[-1 + i0]" in stencil.text()
    assert len(repr(stencil).splitlines()) < 40


def test_products_and_functions_of_matrices_are_shown() -> None:
    M, v = sd.matrix("M", "n", "n"), sd.vector("v", "n")
    text = plan(np.linalg.inv(M) @ v + M @ v).text()
    assert "solve" in text
    assert re.search(r"step \d: product", text)


def test_products_of_matrices_in_products_have_brackets() -> None:
    """What a reader is told of a rewrite means what it says."""
    k = sd.compile("sum(log(1 + exp(-y * (X @ w))))", X=("m", "n"), w="n", y="m")
    assert k.rewrites == ("log(1 + exp(-y * (X @ w))) \N{RIGHTWARDS ARROW} softplus(-y * (X @ w))",)


def test_a_sum_has_no_brackets_of_its_own_around_one_term() -> None:
    assert sd.compile("norm(A @ x - b)**2", A=("m", "n"), x="n", b="m").rewrites == (
        "norm(A @ x - b) ** 2 → sum((A @ x - b) ** 2)",
    )
