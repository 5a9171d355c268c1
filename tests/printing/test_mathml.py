"""MathML of formulas: well formed, quoted, every command of their LaTeX known, in the structure that this has."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.printing import latex
from symdiff.printing.mathml import mathml
from tests.support.strategies import formulas

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"


def read(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - our own text


def tags(text: str) -> list[str]:
    return [one.tag.removeprefix(NAMESPACE) for one in read(text).iter()]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_formulas_are_well_formed(data: st.DataObject) -> None:
    for node in data.draw(formulas()).roots:
        written = latex(node, derived=True)
        math = read(mathml(written))
        assert math.tag == NAMESPACE + "math"
        shown = "".join(math.itertext())
        assert "\\" not in shown, (written, shown)
        found = tags(mathml(written))
        assert found.count("mfrac") == written.count(r"\frac")
        assert found.count("msqrt") == written.count(r"\sqrt")
        assert found.count("mtable") == written.count(r"\begin")
        for one in math.iter():  # elements with a fixed number of parts have them
            parts = {"mfrac": 2, "msup": 2, "msub": 2, "msubsup": 3, "munderover": 3}.get(one.tag.split("}")[1])
            assert parts is None or len(one) == parts, (written, one.tag)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x_1 * alpha", "x1α"),
        ("norm(x) ** 2 / 3", "‖x‖23"),
        ("where(x > 0, x, -x)", "{xif\u00a00<x−xotherwise"),
        ("sum_over(i, 4, x ** i)", "∑k=03xk"),
        ("logdet(A)", "logdet(A)"),
        ("1e20 * x", "1·1020x"),
    ],
)
def test_signs_are_those_of_books(text: str, shown: str) -> None:
    shapes = {"A": (3, 3)} if "A" in text else {"x": 3} if "norm" in text else {}
    found = read_formula(text, shapes).value.latex()
    assert "".join(read(mathml(found)).itertext()) == shown


def test_names_of_strangers_are_quoted() -> None:
    name = "a_b_c"
    assert "".join(read(mathml(sd.scalar(name).latex())).itertext()) == name
    hostile = mathml(r"\text{<script>\&\{x\}\textbackslash{}</script>} + \operatorname{<b>}")
    assert "<script>" not in hostile
    assert "".join(read(hostile).itertext()) == r"<script>&{x}\</script>+<b>"


@given(st.text(alphabet=r"\{}^_& abfracsqrtleft()[]|,.12", max_size=40))
def test_any_text_is_read_to_its_end(text: str) -> None:
    read(mathml(text))
