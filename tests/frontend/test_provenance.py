"""How an array came about is known to that array alone, cheaply, and to the kernel made of it."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff import Array
from symdiff.errors import SymdiffError
from symdiff.frontend.provenance import NOTHING, Facts, Provenance, join, of_inputs
from symdiff.graph.sizes import Span, named
from tests.support import history
from tests.support.effort import calls
from tests.support.history import Fresh, Recipe

# ---------------------------------------------------------------------------- history


@pytest.fixture(scope="module")
def fresh() -> Iterator[Fresh]:
    process = Fresh()
    yield process
    process.close()


PARTS = st.lists(st.integers(0, history.COUNT - 1), min_size=1, max_size=3)
RECIPES = st.tuples(PARTS, st.sampled_from(history.JOINS), st.sampled_from(list(history.MADE)))
#: What else is made before: of the same parts or of others, and whether it is kept alive.
OTHERS = st.lists(st.tuples(st.one_of(st.sampled_from(list(history.MADE)), RECIPES), st.booleans()), max_size=4)


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be forked")
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(RECIPES, OTHERS)
@example(([0], "sum", "value"), [(([0], "sum", "gradient"), True), (([7], "sum", "gradient"), True)])
@example(([8], "sum", "slope of a slope"), [("hessian", True)])
@example(([3], "sum", "value"), [(([2], "sum", "gradient"), True)])
def test_a_formula_is_the_same_whatever_was_made_before(
    fresh: Fresh, recipe: Recipe, others: list[tuple[str | Recipe, bool]]
) -> None:
    kept = []
    for other, keep in others:
        made = history.make((recipe[0], recipe[1], other) if isinstance(other, str) else other)
        if keep:
            kept.append(made)
    assert history.describe(recipe) == fresh.describe(recipe)


def test_what_a_person_wrote_stays_as_it_is_beside_an_equal_derivative() -> None:
    c, r = sd.scalar("c"), sd.scalar("r")
    written = c / r / r / r
    assert str(written) == "c / (r * r * r)"
    slope = sd.gradient(c / r, r)
    assert str(slope) == "-c / r ** 2"
    assert str(Array(slope.node)) == "-c / (r * r)"  # the node does not tell
    assert str(written + slope) == "(c / r - c) / r ** 2"
    assert slope.provenance.facts.derived
    assert not written.provenance.facts.derived


def test_rewrites_are_those_of_the_formula_itself() -> None:
    x = sd.scalar("x")
    slope = sd.gradient(np.log(1 + np.exp(x)), x)
    written = sd.sigmoid(x)
    assert slope.node is written.node
    assert sd.compile(slope, backend="interpreter").rewrites == ("log(1 + exp(x)) → softplus(x)",)
    assert sd.compile(written, backend="interpreter").rewrites == ()
    both = sd.compile([written, 2.0 * slope], backend="interpreter")
    assert both.rewrites == ("log(1 + exp(x)) → softplus(x)",)
    assert pickle.loads(pickle.dumps(both)).rewrites == both.rewrites


def test_one_triangle_is_computed_of_what_is_known_as_a_hessian() -> None:
    x = sd.vector("x", 4)
    f = np.log(np.sum(np.exp(np.sin(x) * x[::-1])))
    count: dict[str, int] = {}
    for order in (("hessian", "jacobian"), ("jacobian", "hessian")):
        made = {"hessian": lambda: sd.hessian(f, x), "jacobian": lambda: sd.jacobian(sd.gradient(f, x), x)}
        kernels = {name: sd.compile(made[name](), backend="interpreter") for name in order}
        for name, kernel in kernels.items():
            again = pickle.loads(pickle.dumps(kernel))
            assert again.stats["operations"] == kernel.stats["operations"]
            assert count.setdefault(name, kernel.stats["operations"]) == kernel.stats["operations"]
    assert count["hessian"] < 0.9 * count["jacobian"]


def test_a_kernel_that_was_pickled_shows_its_formula_as_before() -> None:
    c, r = sd.scalar("c"), sd.scalar("r")
    kernel = sd.compile({"written": c / r / r / r, "slope": sd.gradient(c / r / r, r)}, backend="interpreter")
    again = pickle.loads(pickle.dumps(kernel))
    assert (again.latex(), again.sympy, again.signature) == (kernel.latex(), kernel.sympy, kernel.signature)
    shown = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(sd.gradient(c / r / r, r)))))
    assert str(shown) == str(copy.deepcopy(shown)) == str(sd.gradient(c / r / r, r)) == "-2 * c / r ** 3"


# ---------------------------------------------------------------------------- every operation joins

OPERATIONS: list[Callable[[Array, Array], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a > b,
    lambda a, b: (a > 0) & (b > 0),
    lambda a, b: a @ b,
    lambda a, b: np.where(a > 0, 1.0, b),
    lambda a, b: np.stack([a, b]),
    lambda a, b: sd.asarray([[a[0], 1.0], [b[0], b[1]]]),
    lambda a, b: np.array([a[0], b[1]], object) * sd.asarray(2.0),
    lambda a, b: np.select([a > 0], [1.0], default=b),
    lambda a, b: np.average(a, weights=b),
    lambda a, b: np.clip(a, 0.0, b),
    lambda a, b: np.einsum("i,j->ij", a, b),
    lambda a, b: sd.name(sd.stop_gradient(a * b), "part").sum(),
    lambda a, b: np.linalg.slogdet(np.outer(a, b)).logabsdet,
    lambda a, b: round(abs(-(a - b)), 1)[::-1].T.reshape(2, 1).transpose().astype(float).mT,
    sd.custom(lambda p, q: p * q, differential=lambda p, t: p[1] * t[0] + p[0] * t[1]),
]


@pytest.mark.parametrize("place", range(len(OPERATIONS)))
def test_every_operation_joins_what_is_known_in_order(place: int) -> None:
    x, y, z = sd.vector("x", 2), sd.vector("y", 2), sd.vector("z", 2)
    slope = sd.gradient(np.sum(z * np.log(1 + np.exp(x))) + np.sum(y * z), y)  # of x nothing is left
    for a, b, order in ((x, y, "xy"), (y, x, "yx"), (slope, y, "zxy"), (y, slope, "yzx"), (slope, slope, "zxy")):
        made = OPERATIONS[place](a, b)
        facts = (made[0] if isinstance(made, np.ndarray) else made).provenance.facts
        assert "".join(str(node.payload) for node in facts.inputs) == order
        assert facts.derived == (any(one is slope for one in (a, b)))


# ---------------------------------------------------------------------------- records


@settings(max_examples=60)
@given(st.data())
def test_joined_records_say_what_lists_would_say(data: st.DataObject) -> None:
    nodes = [sd.scalar(f"x{i}").node for i in range(data.draw(st.sampled_from((3, 30))))]
    some = st.lists(st.sampled_from(nodes), unique=True, max_size=4).map(tuple)
    lines = st.lists(st.sampled_from("abc"), unique=True, max_size=2).map(tuple)
    rows = st.lists(st.tuples(st.sampled_from(nodes), st.integers(0, 2)), unique=True, max_size=2).map(tuple)
    derived = st.lists(st.tuples(*[st.sampled_from(nodes)] * 3), unique=True, max_size=2).map(tuple)
    spans = st.lists(st.builds(Span, st.integers(0, 2), st.just(1), st.none(), st.just(named("n"))), unique=True)
    spans = spans.map(tuple)
    symbols = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2), max_size=2).map(lambda own: tuple(own.items()))
    plain = st.builds(Facts, some, st.just(()), st.just(()), st.just(False), st.just(()), st.just(()), spans, symbols)
    facts = plain | st.builds(Facts, some, lines, some, st.just(True), rows, derived, spans, symbols)
    drawn = data.draw(st.lists(facts, min_size=1, max_size=6))
    known = [(NOTHING, Facts()), *((Provenance(one), one) for one in drawn)]
    for _ in range(data.draw(st.integers(1, 12))):
        (first, own), (second, new) = data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known))
        merged: list[Any] = [tuple(dict.fromkeys((*p, *q))) for p, q in zip(own[:3], new[:3], strict=True)]
        rows_of_both = tuple(dict.fromkeys((*own.rows, *new.rows)))
        derivations = tuple(dict.fromkeys((*own.derivations, *new.derivations)))
        taken = tuple(dict.fromkeys((*own.spans, *new.spans)))
        symbols_of_both = {**dict(own.symbols), **dict(new.symbols), **dict(own.symbols)}
        lists = rows_of_both, derivations, taken, tuple(symbols_of_both.items())
        both = Facts(merged[0], merged[1], merged[2], own.derived or new.derived, *lists)
        made = first.joined(second)
        if data.draw(st.booleans()):
            assert made.facts == both
        known.append((made, both))
    assert all(record.facts == expected for record, expected in known)
    assert join(record for record, _ in known[:2]).facts == known[0][0].joined(known[1][0]).facts
    assert all(pickle.loads(pickle.dumps(record)).facts == expected for record, expected in known)


def test_a_record_serves_again_where_nothing_is_new() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    f: Any = np.sin(x) * y
    slope = sd.gradient(f, x)
    assert (f + 2 * x - y).provenance is f.provenance
    assert (slope * slope + x).provenance is slope.provenance
    assert x.reshape(1).provenance is (x * 2).provenance is x.provenance
    assert sd.asarray(3.0).provenance is NOTHING


def test_the_records_of_a_long_sum_cost_what_the_sum_costs() -> None:
    symbols = [sd.scalar(f"x{i}") for i in range(2000)]
    slopes = [sd.gradient(np.log(1 + np.exp(x)) * x, x) for x in symbols[:40]]

    def total(terms: list[Array]) -> Array:
        result = terms[0]
        for term in terms[1:]:
            result = result + term
        assert len(result.provenance.facts.inputs) == len(set(map(id, terms)))
        return result

    for terms in (symbols, slopes * 50):
        half, _ = calls(total, terms[: len(terms) // 2])
        whole, result = calls(total, terms)
        assert whole < 2.3 * half
    assert "x39" in [str(node.payload) for node in result.provenance.facts.inputs]


def test_a_record_of_a_long_calculation_is_let_go_and_pickled() -> None:
    leaves = [of_inputs([sd.scalar(f"x{i}").node]) for i in range(50)]
    record = NOTHING
    for i in range(100_000):
        record = record.joined(leaves[i % 50])
    again = pickle.loads(pickle.dumps(record.joined(leaves[7])))
    assert [str(node.payload) for node in again.facts.inputs] == [f"x{i}" for i in range(50)]
    del record
    gc.collect()


@pytest.mark.exhaustive
def test_names_of_inputs_that_vanished_may_be_taken() -> None:
    a, x = sd.vector("a", 3), sd.vector("x", 3)
    slope = sd.gradient(a @ x, x)  # a: of x nothing is left
    other = sd.vector("x", 2)
    assert sd.compile([slope, other], backend="numpy").signature == "(a: (3,), x: (2,)) -> [(3,), (2,)]"
    with pytest.raises(SymdiffError, match="two inputs called 'x'"):
        sd.compile([x, other])
