"""Conditions of which a part is known: they are shown, and computed, without it."""

from __future__ import annotations

import numpy as np

import symdiff as sd


def test_the_slope_of_a_loss_with_two_branches() -> None:
    loss = "sum(huber(1, r))"
    assert str(sd.gradient(loss, "r", r="n")) == "where(abs(r) <= 1, r, sign(r))"
    assert str(sd.hessian(loss, "r", r="n")) == "diag(where(abs(r) <= 1, 1, 0))"
    at = np.array([-3.0, -0.5, 0.2, 2.0])
    np.testing.assert_array_equal(sd.compile(sd.gradient(loss, "r", r="n"))(at), np.clip(at, -1, 1))


def test_a_number_that_is_no_width_of_a_loss() -> None:
    at = np.array([-3.0, 0.5])
    assert sd.compile("sum(huber(-1, r))", r="n")(at) == np.inf


def test_what_is_known_either_way() -> None:
    x = sd.vector("x", 3)
    at = np.array([-1.0, 0.0, 2.0])
    for known in (True, False):
        both, either = np.logical_and(x > 0, known), np.logical_or(known, x > 0)
        found = sd.compile([np.where(both, x, 7.0), np.where(either, x, 7.0)], [x])(at)
        np.testing.assert_array_equal(found[0], np.where((at > 0) & known, at, 7.0))
        np.testing.assert_array_equal(found[1], np.where((at > 0) | known, at, 7.0))
