from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import SingularMatrixError
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph import contract, onehot
from symdiff.graph.reference.interpret import evaluate as interpret
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.lowering.program import SIGNATURES, Program
from symdiff.lowering.unroll import unroll
from symdiff.rewrite import simplify
from tests.support.program_reference import TWINS, evaluate
from tests.support.tape import Tape


def example() -> Program:
    t = Tape(("x", (2,)), ("y", ()))
    a, b = t.row(0)
    y = t.load(1)
    product = t.op("multiply", a, b)
    mask = t.op("less", product, y)
    t.out((2,), [t.op("where", mask, product, y), t.const(-0.0)])
    t.check(product, "the product is zero")
    return t.program()


def test_evaluate_runs_one_sample() -> None:
    (result,) = evaluate(example(), [[2.0, 3.0], 5.0])
    np.testing.assert_array_equal(result, [5.0, -0.0])
    assert np.signbit(result[1])


def test_a_program_knows_what_it_reads_and_computes() -> None:
    program = example()
    assert [program.ops[i] for i in program.computed] == ["multiply", "less", "where"]
    assert program.read == {0, 1}


def test_a_program_whose_tape_was_read_is_pickled() -> None:
    program = example()
    assert program.tape.count == len(program.ops)
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert again.tape.packed() == program.tape.packed()


def test_a_check_of_zero_raises() -> None:
    with pytest.raises(SingularMatrixError, match="the product is zero"):
        evaluate(example(), [[0.0, 3.0], 5.0])


def test_every_operation_has_a_twin() -> None:
    assert SIGNATURES.keys() == TWINS.keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ops": ("load",) * 7}, "load of"),
        ({"args": ()}, "operand lists"),
        ({"consts": {}}, "needs a number"),
        ({"stores": ((5,),)}, "values stored"),
        ({"stores": ((4, 6),)}, "mask"),
        ({"stores": ()}, "stores for"),
        ({"checks": ((99, ""),)}, "check of"),
    ],
)
def test_rules_of_the_form(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(example(), **change).validate()


def test_operands_have_kinds() -> None:
    t = Tape(("x", ()))
    x = t.load(0)
    t.op("logical_not", x)
    with pytest.raises(ValueError, match="logical_not takes"):
        t.program()
    t = Tape(("x", ()))
    t.op("add", t.load(0), 5)
    with pytest.raises(ValueError, match="earlier values"):
        t.program()
    t = Tape(("x", ()))
    t.op("nonsense", t.load(0))
    with pytest.raises(ValueError, match="unknown operation"):
        t.program()


@pytest.mark.parametrize("order", [-1.0, 0.5, 101.0, float("nan")])
def test_orders_are_small_whole_constants(order: float) -> None:
    t = Tape(("x", ()))
    t.op("polygamma", t.const(order), t.load(0))
    with pytest.raises(ValueError, match="polygamma of order"):
        t.program()


@pytest.mark.parametrize("order", ["as it is", "transposed"])
def test_sums_and_products_of_arrays_that_are_mostly_zeros(order: str) -> None:
    """Structural zeros are passed over together; what is left must land in its own place, whatever the axes' order."""
    v, w, m, s = sd.vector("v", 4), sd.vector("w", 3), sd.matrix("M", 3, 4), sd.scalar("s")
    rows = sd.jacobian(np.concatenate([w * s, [s]]), w)  # (4, 3), zero but for three
    sparse = rows if order == "as it is" else sd.jacobian(v[1:] * v[:-1], v).T
    other = m.T if order == "as it is" else (m * m).T
    for f in (
        sparse + other,
        sparse - other,
        other - sparse,
        sparse * other,
        sparse + sparse * s,
        sparse - sparse * v[0],
    ):
        program = unroll([v.node, w.node, m.node, s.node], simplify([f.node]))
        values = {"v": [2.0, 3.0, 5.0, 7.0], "w": [11.0, 13.0, 17.0], "M": np.arange(12.0).reshape(3, 4), "s": 19.0}
        (got,) = evaluate(program, list(values.values()))
        np.testing.assert_array_equal(got, interpret([f.node], values)[0])


@pytest.mark.parametrize(
    ("labels", "out"),
    [(((0,), (0, 1)), (0, 1)), (((0,), (1, 2)), (1, 0, 2)), (((0,), (0, 1)), (1,)), (((0,), (1, 2)), (2, 1))],
)
def test_products_with_a_row_of_the_identity(labels: tuple[tuple[int, ...], ...], out: tuple[int, ...]) -> None:
    m = sd.matrix("M", 3, 3).node
    node = contract([onehot(3, 1), m], labels, out)
    values = np.arange(1.0, 10.0).reshape(3, 3)
    (got,) = evaluate(unroll([m], [node]), [values])
    np.testing.assert_array_equal(got, interpret([node], {"M": values})[0])


#: Functions of one number that users may call.
OF_ONE = sorted(row.name for row in FUNCTIONS.values() if len(row.domain) == 1 and row.name in LIBRARY)


@pytest.mark.parametrize("name", OF_ONE)
def test_a_written_zero_stays_beside_what_may_have_no_value_alone(name: str) -> None:
    """0 f(x) + y is y where f has a value for all finite inputs; f(x) stays where it may be nan."""
    x, y = sd.scalar("x"), sd.scalar("y")
    kernel = sd.compile(0.0 * sd.function(name)(x) + y, [x, y], backend="interpreter")
    row = FUNCTIONS[name]
    assert row.total or kernel.stats["operations"] > 0
    assert not (row.total and row.c) or kernel.stats["operations"] == 0  # others are written out in several
    if row.total:
        np.testing.assert_array_equal(kernel([-1e3, -1.0, 0.0, 1e3], 2.5), 2.5)


def test_products_of_homogeneous_matrices_have_no_products_with_zeros() -> None:
    a, b = sd.scalar("a"), sd.scalar("b")
    turns = [sd.asarray([[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1]]) for t in (a, b)]
    kernel = sd.compile(turns[0] @ turns[1], [a, b], backend="interpreter")
    assert kernel.stats["operations"] <= 12  # 4 functions, 4 products, 2 sums, signs
    np.testing.assert_allclose(kernel(0.3, 0.4)[0], [np.cos(0.7), -np.sin(0.7), 0], atol=1e-15)
