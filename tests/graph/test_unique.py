"""The table of nodes, against a dictionary; walks, against a recursion; and what nodes note of what is below them."""

from __future__ import annotations

import gc
import random
import sys
import threading
import tracemalloc
from array import array
from collections import Counter
from typing import Any

import pytest

from symdiff._kernels.system.unique import Unique, count, mark, unique, walk
from symdiff.graph import (
    REAL,
    Node,
    constant,
    elementwise,
    input,
    inputs_of,
    kinds,
    number,
    postorder,
    rebuild,
    survey,
    surveyed,
    tabulate,
)
from symdiff.graph.primitives import PRIMITIVES, SELECTING, Items
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.rewrite.stability import exponents, factors, lengths, removable
from tests.runtime.test_cache import script


def recursion(roots: list[Node], settled: int = 0) -> list[Node]:
    """The slow, obvious reference implementation of :func:`symdiff._kernels.system.unique.walk`."""
    order: list[Node] = []

    def visit(node: Node) -> None:
        if node not in order and not (settled and node.settled >= settled):
            for arg in node.args:
                visit(arg)
            order.append(node)

    for root in roots:
        visit(root)
    return order


def random_nodes(seed: int, length: int = 60) -> list[Node]:
    chosen = random.Random(seed)
    nodes = [input(f"u{k}") for k in range(4)] + [input("v", (3,)), constant(2.5)]
    for _ in range(length):
        op = chosen.choice(("add", "multiply", "sin", "exp", "divide", "power", "several"))
        if op == "several":
            nodes.append(unique(Node, op, tuple(chosen.choices(nodes[-9:], k=chosen.randrange(3, 7))), None, (), REAL))
        else:
            nodes.append(elementwise(op, tuple(chosen.choices(nodes[-9:], k=FUNCTIONS[op].arity))))
    return nodes


@pytest.mark.parametrize("seed", range(8))
def test_walks_are_recursions(seed: int) -> None:
    nodes = random_nodes(seed)
    roots = [nodes[-1], nodes[-4], nodes[-1]]
    assert walk(roots) == recursion(roots) == postorder(roots)
    fresh = recursion(roots)[::7]
    for node in fresh:
        mark(node, 5)
    assert walk(roots, 5) == recursion(roots, 5)
    assert walk(roots, 6) == recursion(roots)
    for node in fresh:
        mark(node, 0)
    assert [len(walk(roots, most=k)) for k in (0, 3, 10_000)] == [1, 4, len(walk(roots))]


@pytest.mark.parametrize("seed", range(8))
def test_a_survey_counts_functions_of_numbers_and_gives_the_rest(seed: int) -> None:
    nodes = random_nodes(seed)
    roots = [nodes[-1], nodes[-3]]
    counted = FUNCTIONS.keys() - kinds.BY_ARGUMENTS
    apart = [node for node in recursion(roots) if node.op not in counted or node.shape]
    alike = Counter(node.op for node in recursion(roots) if node.op in counted and not node.shape)
    found = survey(roots)
    assert (found.apart, found.alike) == (apart, alike)
    assert found.length == len(recursion(roots))
    assert [node for node in found.apart if node.is_input] == inputs_of(roots)
    with surveyed():
        assert survey(roots) == found
        assert survey(roots).apart is survey(tuple(roots)).apart
        assert inputs_of(roots) == [node for node in recursion(roots) if node.is_input]


@pytest.mark.parametrize("seed", range(8))
def test_a_table_tells_how_nodes_are_put_together(seed: int) -> None:
    nodes = random_nodes(seed)
    roots = [nodes[-1], nodes[-3], nodes[-1], nodes[0]]
    rows, told = tabulate(roots)
    numbers = iter(array("I", told))
    made: list[Node] = []
    for _ in recursion(roots):
        op, payload, shape, dtype = rows[next(numbers)]
        args = tuple([made[next(numbers)] for _ in range(next(numbers))])
        made.append(unique(Node, op, args, payload, shape, dtype))
    assert made == recursion(roots)
    assert [made[place] for place in numbers] == roots
    shared = [row for row in rows if row[1:3] == (None, ())]
    assert len(shared) == len(set(shared))


def test_nothing_has_no_fields() -> None:
    """Compiled passes read the fields of nodes as they lie in memory, and None is no node."""
    none: Any = None
    for wrong in (lambda: number(none), lambda: rebuild(none, ()), lambda: elementwise("add", (none, none))):
        with pytest.raises((AttributeError, TypeError)):
            wrong()


def test_walks_are_of_nodes() -> None:
    for wrong in ([None], [3]):
        roots: Any = wrong
        with pytest.raises(TypeError):
            walk(roots)
    assert walk([]) == []


def test_equal_descriptions_are_one_object() -> None:
    x, y = input("x"), input("y")
    known: dict[tuple[Any, ...], Node] = {}
    chosen = random.Random(3)
    for _ in range(2000):
        args = tuple(chosen.choices((x, y), k=chosen.randrange(5)))
        payload = chosen.choice((None, 1, "a", b"a", Items(((0, 1, 2),)), Items(((0, 1, None),))))
        shape, dtype = chosen.choice(((), (2,), (2, 3))), chosen.choice(("real", "bool"))
        key = (chosen.choice(("p", "q")), args, payload, shape, dtype)
        node = unique(Node, *key)
        assert (node.op, node.args, node.payload, node.shape, node.dtype, node.settled) == (*key, 0)
        assert known.setdefault(key, node) is node
    assert len({id(node) for node in known.values()}) == len(known)


def test_a_node_takes_little_memory() -> None:
    """A graph of a million operations has several million nodes; their arguments stand in them."""
    x = input("x")
    tracemalloc.start()
    try:
        kept = [x]
        for _ in range(50_000):
            kept.append(elementwise("add", (kept[-1], x)))
        taken = tracemalloc.get_traced_memory()[0] - sys.getsizeof(kept)
    finally:
        tracemalloc.stop()
    assert taken < 150 * len(kept)  # 96 and its place in the table


def test_arguments_and_kinds_are_read_anew() -> None:
    nodes = random_nodes(5)
    for node in nodes:
        for read in ("args", "dtype", "shape", "op", "payload"):
            first, second = getattr(node, read), getattr(node, read)
            assert first == second
        assert unique(Node, node.op, node.args, node.payload, node.shape, node.dtype) is node
    code = """
        from symdiff._kernels.system.unique import unique
        from symdiff.graph.nodes import Node
        made = [unique(Node, "p", (), None, (), kind) for kind in ("real", "bool", "int", "more", "re" + "al")]
        print([node.dtype for node in made], len(set(made)))
        try:
            unique(Node, "p", (), None, (), "fifth")
        except OverflowError as error:
            print(error)
    """
    assert script(code).split("\n")[:2] == [
        "['real', 'bool', 'int', 'more', 'real'] 4",
        "'fifth' came as a further kind of elements; expected one of ['real', 'bool', 'int', 'more']",
    ]


def test_nodes_leave_the_table() -> None:
    gc.collect()
    before = count()
    x = input("left")
    kept = [elementwise("multiply", (x, constant(k + 0.2517359))) for k in range(20_000)]
    assert count() == before + 40_001
    again = [elementwise("multiply", (x, constant(k + 0.2517359))) for k in range(0, 20_000, 2)]
    assert again == kept[::2]
    assert count() == before + 40_001
    del kept
    assert count() == before + 20_001
    del again, x
    assert count() == before


def test_deep_formulas_are_freed() -> None:
    gc.collect()
    before = count()
    node = input("deep")
    for _ in range(300_000):
        node = elementwise("sin", (node,))
    assert len(walk([node])) == 300_001
    del node
    assert count() == before


def test_circles_are_collected() -> None:
    class Held:
        node: Node

    gc.collect()
    before = count()
    held = Held()
    held.node = elementwise("sin", (unique(Node, "input", (), held, (), "real"),))
    del held
    gc.collect()
    assert count() == before


def test_nodes_are_frozen() -> None:
    x: Any = input("x")
    for name in ("op", "args", "payload", "shape", "dtype", "settled", "below"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)
        with pytest.raises(AttributeError):
            object.__setattr__(x, name, None)


class Odd:
    """A payload whose comparison makes nodes, so that the table changes while it is searched."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        self.made = [constant(self.number + 0.001 * k) for k in range(50)]
        return isinstance(other, Odd) and other.number == self.number


def test_comparisons_may_change_the_table() -> None:
    nodes = [unique(Node, "input", (), Odd(k), (), "real") for k in range(60)]
    assert len(set(nodes)) == 60
    assert [unique(Node, "input", (), Odd(k), (), "real") for k in range(60)] == nodes


def test_threads_share_the_table() -> None:
    found: list[list[Node]] = []

    def work() -> None:
        found.append([elementwise("add", (input(f"v{k % 7}"), constant(k + 0.5))) for k in range(3000)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == found[2] == found[3]


# ---------------------------------------------------------------------------- kinds


@pytest.mark.parametrize("seed", range(5))
def test_kinds_are_those_of_all_below(seed: int) -> None:
    for node in random_nodes(seed):
        wanted = 0
        for part in walk([node]):
            wanted |= kinds.holds(part.op) | kinds.bit_of(part.op)
        assert node.below == wanted


def test_kinds_name_operations() -> None:
    for op in {op for names in kinds._OPERATIONS.values() for op in names}:
        assert op in FUNCTIONS or op in PRIMITIVES, op


def test_kinds_hold_what_passes_look_for() -> None:
    expanded = {name for name, row in FUNCTIONS.items() if row.expansion is not None and not row.c}
    assert expanded == {op for op in FUNCTIONS if kinds.holds(op) & kinds.EXPANDED}
    branching = {name for name, row in FUNCTIONS.items() if row.supports} | {"custom"} | SELECTING
    assert branching == {op for op in (*FUNCTIONS, *PRIMITIVES) if kinds.holds(op) & kinds.BRANCHING}
    assert all(kinds.holds(op) & kinds.EXPONENTIAL for op in exponents.SHAPES)
    vanishing = {*removable._VANISH, *factors.NAMES, *factors.ROWS, "expm1"}
    assert all(kinds.holds(op) & kinds.VANISHING for op in vanishing)
    assert {op for op in FUNCTIONS if kinds.holds(op) & kinds.OF_SQUARE} >= lengths._ROWS


def test_nodes_are_small() -> None:
    """One small object and its arguments, which the collector need not look at."""
    node = input("x") + 1.0
    assert isinstance(node, Unique)
    assert node.__sizeof__() <= 96
    assert not gc.is_tracked(node)


def test_attributes_are_those_of_the_classes() -> None:
    """Reading one by its name's address gives what the descriptor in the class gives, and misses nothing else."""
    names = [name for name in dir(Node) if not name.startswith("__") and name != "value"]
    assert {"op", "args", "first", "settled", "is_addition", "ndim"} <= {*names}
    for node in random_nodes(11):
        for name in names:
            (descriptor,) = [vars(kind)[name] for kind in Node.__mro__ if name in vars(kind)][:1]
            spelt = "".join(list(name))  # another object, at another address
            for got in (getattr(node, name), getattr(node, spelt)):
                want = descriptor.__get__(node, Node)
                assert got == want
        assert node.ndim == len(node.shape)
        arguments = [node.first, node.second][: len(node.args)]
        assert len(node.args) > 2 or [*node.args] == arguments
        with pytest.raises(AttributeError, match="'Node' object has no attribute 'is_nothing'"):
            _ = node.is_nothing  # type: ignore[attr-defined]


def test_attributes_of_objects_that_are_no_nodes() -> None:
    one = unique(Unique, "some", (), None, (), REAL)
    assert one.op == "some"
    assert not hasattr(one, "is_addition")
    assert not hasattr(one, "ndim")
