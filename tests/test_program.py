from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tape import Tape

from symdiff.errors import SingularMatrixError
from symdiff.program import SIGNATURES, Program
from symdiff.twin import TWINS, evaluate


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
