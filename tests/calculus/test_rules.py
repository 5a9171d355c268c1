"""Every array operation, to third order, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.calculus.linear import LINEAR
from symdiff.calculus.rules import DIFFERENTIALS, LAWS
from tests.support.calculus import check_backends, check_calculus
from tests.support.rule_tables import (
    RULES,
    Rule,
    bend,
    inputs_of,
    real,
)


def test_every_rule_is_here() -> None:
    elsewhere = {"recurrence", "external"}  # see test_loops.py and test_external.py
    assert {*(rule.op for rule in RULES), *elsewhere} == {*DIFFERENTIALS, *LINEAR}
    assert set(LAWS) == set(DIFFERENTIALS)
    assert all(all(law) for law in LAWS.values())


@pytest.mark.rows(1000)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.op}-{'-'.join(str(np.shape(v)) for v in rule.values)}")
def test_rule_to_third_order(rule: Rule) -> None:
    symbols = inputs_of(rule.values)
    variables = real(symbols)
    straight = rule.op in DIFFERENTIALS
    bent = {} if straight else {name: bend(x) for name, x in variables.items()}
    out = Array(rule.make(*(x.node for x in (symbols | bent).values())))
    f = out if straight else out + 0.25 * out * out
    values = dict(zip(symbols, rule.values, strict=True))
    order = 2 if rule.op in ("spectral", "isotropic") else 3
    check_calculus(f, variables, values, blocks=int(f.size) <= 12, order=order)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.op}-{'-'.join(str(np.shape(v)) for v in rule.values)}")
def test_rule_in_kernels(rule: Rule) -> None:
    symbols = inputs_of(rule.values)
    variables = real(symbols)
    out = Array(rule.make(*(x.node for x in (symbols | {name: bend(x) for name, x in variables.items()}).values())))
    total = (out * out).sum() if out.ndim else out * out
    group = tuple(variables.values())
    slopes = sd.gradient(total, group)
    ones: list[Any] = [np.ones(np.shape(rule.values[list(symbols).index(name)])) for name in variables]
    second = sd.hvp(total, group, tuple(ones))
    check_backends([out, *slopes, *second], list(symbols.values()), list(rule.values), 1e-10)
