"""Conditions and choices: what is decided already is left out."""

from __future__ import annotations

from ..equations import Identity

PAGE = (
    Identity("where(c, a, a) -> a", "algebra"),
    Identity("where(True, a, b) -> a", "algebra"),
    Identity("where(False, a, b) -> b", "algebra"),
    Identity("where(c, where(c, a, b), d) -> where(c, a, d)", "algebra"),
    Identity("where(c, a, where(c, b, d)) -> where(c, a, d)", "algebra"),
    Identity("where(~c, a, b) -> where(c, b, a)", "algebra"),
    Identity("~(~c) -> c", "algebra"),
    Identity("c & c -> c", "algebra"),
    Identity("c | c -> c", "algebra"),
    Identity("c & True -> c", "algebra"),
    Identity("c & False -> False", "algebra"),
    Identity("c | True -> True", "algebra"),
    Identity("c | False -> c", "algebra"),
    Identity("-x == 0 -> x == 0", "algebra"),
    Identity("-x != 0 -> x != 0", "algebra"),
    Identity("maximum(x, -x) -> abs(x)", "form"),
    Identity("minimum(x, -x) -> -abs(x)", "form"),
    Identity("x * sign(x) -> abs(x)", "algebra"),
    Identity("sign(x) * abs(x) -> x", "algebra"),
    Identity("maximum(x, y) * minimum(x, y) -> x * y", "form"),
)
