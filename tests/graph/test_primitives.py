"""The table of primitives says what the operations do, and every stage has a piece for each of its rows."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symdiff import graph
from symdiff._kernels.functions import special
from symdiff._kernels.interpreter import OPCODES
from symdiff.calculus.linear import LINEAR
from symdiff.calculus.rules import DIFFERENTIALS, NONLINEAR
from symdiff.codegen.c.preamble import texts_with, with_needs
from symdiff.codegen.numpy.emit import NUMERIC_NAMES, emit_numpy, load_numpy
from symdiff.errors import InternalError, SingularMatrixError, UnsupportedError
from symdiff.frontend.sympy.write import ENTRIES, SCALAR_TERMS
from symdiff.graph import Node, elementwise, primitives
from symdiff.graph.primitives import PRIMITIVES, Linearity, Mixes, Primitive, Zeros, complete
from symdiff.graph.reference import numeric
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.graph.sizes import named
from symdiff.lowering.program import SIGNATURES
from symdiff.lowering.sparse.structure import nonzeros
from symdiff.printing.calls import CALLS
from symdiff.printing.latex import LatexStyle
from symdiff.printing.notation.from_graph import WRITERS
from symdiff.printing.text import TextStyle
from symdiff.printing.unicode import MathStyle
from symdiff.rewrite import inline

X, Y, Z, V = graph.input("X", (4, 4)), graph.input("Y", (4, 4)), graph.input("Z", (2, 3, 3)), graph.input("V", (4,))
S = graph.placeholder(("carried", 0), (4,))
EXPONENTIAL = elementwise("exp", (graph.placeholder(("eigenvalue", 0), ()),))
#: An example of each operation that can be evaluated by itself.
SPECTRUM = graph.contractions.spectrum((4,))
EXAMPLES: dict[str, Node] = {
    "input": X,
    "constant": graph.constant(np.arange(3.0)),
    "size": graph.extent(named("n")),
    "delta": graph.delta(3, 5, 1, 2),
    "onehot": graph.onehot(4, 2),
    "contract": graph.matmul(X, Y),
    "slice": graph.slicing(V, ((1, 2, 2),)),
    "pad": graph.pad(V, ((2, 1, 4),), (7,)),
    "gather": graph.gather(V, 0, (3, 1)),
    "scatter": graph.scatter(V, 0, (1, 1, 0, 4), 6),
    "take": graph.take(V, graph.input("at", (3,), graph.INT), 0),
    "put": graph.put(V, graph.input("at", (4,), graph.INT), 0, 3),
    "reshape": graph.reshape(V, (2, 2)),
    "concatenate": graph.concatenate([X, Y], 1),
    "arrange": graph.arrange(X, graph.constant(np.array([1.0, 1.0, 0.0, 2.0])), 0),
    "triangle": graph.triangle(X, True, 1),
    **{name: graph.cumulative(name, X, 1) for name in primitives.CUMULATIVE},
    **{name: graph.reduce(name, X, (1,)) for name in primitives.REDUCTIONS},
    **{name: graph.normalize(name, X, (0,)) for name in primitives.NORMALIZATIONS},
    **{name: graph.matrix(name, Z) for name in primitives.MATRIX_OPS if PRIMITIVES[name].arity == 1},
    **{name: graph.matrix(name, X, Y) for name in primitives.MATRIX_OPS if PRIMITIVES[name].arity == 2},
    "spectral": graph.spectral(primitives.Spectral("exp", EXPONENTIAL, EXPONENTIAL, 0), (X,)),
    "isotropic": graph.isotropic(
        primitives.Isotropic(SPECTRUM * SPECTRUM, graph.constant(2.0) * SPECTRUM * graph.delta(4, 4), 0), (X,)
    ),
    "expm": graph.exponential(X, Y),
    "pinv": graph.pseudo_inverse(graph.input("tall", (4, 2))),
    "stop_gradient": graph.stop_gradient(X),
    "named": graph.label(X, "part"),
    "external": graph.external(primitives.Opaque("cumprod", np.cumprod, (4,), (1,)), [V]),
    "recurrence": graph.recurrence(primitives.Body((S,), (), (), (S * graph.reduce("prod", S, (0,)),)), [V], 3),
}
ROWS = [pytest.param(PRIMITIVES[name], EXAMPLES[name], id=name) for name in sorted(EXAMPLES)]
INNER = [pytest.param(PRIMITIVES[name], node, id=name) for name, node in sorted(EXAMPLES.items()) if node.args]


def point(node: Node, seed: int = 0) -> dict[str, Any]:
    """Positive definite matrices, or any numbers for what is no function of a matrix."""
    rng = np.random.default_rng(seed)
    values = {}
    for leaf in graph.inputs_of([node]):
        x = rng.uniform(0.2, 1.0, leaf.shape)
        if node.op in primitives.MATRIX_OPS:
            x = x @ np.swapaxes(x, -1, -2) + 0.5 * np.eye(x.shape[-1])
        values[leaf.payload] = x if leaf.dtype is graph.REAL else np.arange(leaf.shape[0]) // 2
    return values


def jacobian(node: Node, k: int) -> Any:
    """The change of each element of the result with each of argument ``k``, by a difference."""
    values = point(node)
    name = node.args[k].payload
    (here,) = evaluate([node], values)
    columns = []
    for i in range(values[name].size):
        moved = values[name].copy()
        # far enough to be the extremum
        moved.flat[i] += {"max": 9.0, "min": -9.0, "sort": 9.0}.get(node.op.removeprefix("cum"), 1e-3)
        columns.append(evaluate([node], {**values, name: moved})[0] - here)
    return np.stack(columns, -1).reshape(*here.shape, *values[name].shape)


def test_each_row_has_an_example() -> None:
    assert EXAMPLES.keys() | {"custom"} == PRIMITIVES.keys()


@pytest.mark.parametrize(("row", "node"), ROWS)
def test_constructor_payload_and_arity(row: Primitive, node: Node) -> None:
    assert node.op == row.name
    assert callable(getattr(graph, row.constructor))
    assert isinstance(node.payload, row.payload)
    assert row.payload in (object, bytes, str, type(None)) or issubclass(row.payload, tuple)
    assert row.arity is None or len(node.args) == row.arity
    assert (row.name in primitives.INNER) == bool(node.args)
    graph.verify([node])
    again = pickle.loads(pickle.dumps(node))
    assert again is node
    assert type(again.payload) is type(node.payload)


@pytest.mark.parametrize(("row", "node"), INNER)
def test_linear_rows_are_linear(row: Primitive, node: Node) -> None:
    first, second = point(node), point(node, 1)
    names = [arg.payload for arg in node.args]

    def image(*moving: str) -> bool:
        """Whether the image of a sum in some arguments is the sum of the images."""
        parts = [{**first, **{name: values[name] for name in moving}} for values in (first, second)]
        total = {**first, **{name: first[name] + second[name] for name in moving}}
        a, b, both = (evaluate([node], values)[0] for values in (*parts, total))
        return bool(np.allclose(a + b, both))

    if row.name == "stop_gradient":  # its value is linear, its derivative is zero by decree
        return
    if row.linear is Linearity.FIRST:  # the other argument is of positions
        assert image(names[0])
        return
    assert image(*names) == (row.linear is Linearity.TOGETHER)
    if len(names) > 1 and row.linear is not Linearity.TOGETHER:
        assert image(names[0]) == (row.linear is Linearity.EACH)
        assert image(names[1])


@pytest.mark.parametrize(("row", "node"), INNER)
def test_mixed_axes_are_those_of_the_row(row: Primitive, node: Node) -> None:
    arg = node.args[0]
    change = jacobian(node, 0) != 0
    places = change.reshape(-1, int(np.prod(arg.shape)))
    if row.mixes is Mixes.NOTHING:
        assert (places.sum(axis=1) <= 1).all()
    elif row.mixes is Mixes.UNKNOWN:
        assert (places.sum(axis=1) > 1).any()
    elif row.mixes is not Mixes.LABELS:
        along = (getattr(node.payload, "axis", 0),)
        own = {Mixes.MATRIX: (-2, -1), Mixes.AXIS: along, Mixes.SO_FAR: along}
        axes = {a + arg.ndim for a in own.get(row.mixes, getattr(node.payload, "axes", ()))}
        assert (places.sum(axis=1) > 1).any()
        for result, source in zip(*np.divmod(np.flatnonzero(places), places.shape[1]), strict=True):
            out = np.unravel_index(result, node.shape) if node.shape else ()
            kept = [int(i) for a, i in enumerate(np.unravel_index(source, arg.shape)) if a not in axes]
            if row.keeps or row.name == "scatter":
                out = tuple(i for a, i in enumerate(out) if a not in axes)
            assert kept == [int(i) for i in out[: len(kept)]]
        if row.name != "scatter":
            assert row.keeps == (node.shape == arg.shape)


@pytest.mark.parametrize("name", sorted(primitives.CUMULATIVE))
@pytest.mark.parametrize("reverse", [False, True])
def test_running_operations_mix_what_came_so_far(name: str, reverse: bool) -> None:
    change = jacobian(graph.cumulative(name, V, 0, reverse), 0) != 0
    later = np.tri(4, dtype=bool).T if reverse else np.tri(4, dtype=bool)
    assert (PRIMITIVES[name].mixes is Mixes.SO_FAR) == (name != "sort")
    assert name == "sort" or (change <= later).all()


ALONG = [row for row in ROWS if row.id in primitives.CUMULATIVE | primitives.REDUCTIONS | primitives.NORMALIZATIONS]


@pytest.mark.parametrize(("row", "node"), ALONG)
@pytest.mark.parametrize("seed", range(4))
def test_zeros_of_the_row_are_those_of_values_and_patterns(row: Primitive, node: Node, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((4, 4)) < 0.6
    mask[:, 0] = False
    x = np.where(mask, rng.uniform(0.5, 1.0, mask.shape), 0.0)
    found = np.stack([evaluate([node], {"X": each})[0] != 0 for each in (x, -x)]).any(axis=0)
    (pattern,) = nonzeros(graph.substitute([node], {X: X * graph.constant(mask.astype(float))}), {})
    pattern = np.broadcast_to(pattern, node.shape)
    assert (found <= pattern).all()
    # how many are ahead of a zero in order is not looked at
    assert row.name == "sort" or (pattern == (found | (row.zeros is Zeros.UNKNOWN))).all()


@pytest.mark.parametrize(("row", "node"), ALONG)
def test_elements_of_selecting_rows_are_those_of_the_argument(row: Primitive, node: Node) -> None:
    values = point(node)
    (result,) = evaluate([node], values)
    assert bool(np.isin(result, values["X"]).all()) == row.selects


@pytest.mark.parametrize(("row", "node"), INNER)
def test_padding_and_dropping_are_those_of_the_row(row: Primitive, node: Node) -> None:
    if row.mixes is Mixes.NOTHING or row.name == "scatter":
        change = jacobian(node, 0) != 0
        results, sources = node.ndim, node.args[0].ndim
        assert row.pads == bool((~change.any(axis=tuple(range(results, results + sources)))).any())
        assert row.drops == bool((~change.any(axis=tuple(range(results)))).any())


@pytest.mark.parametrize("name", sorted(primitives.MATRIX_OPS))
def test_rows_that_raise_do(name: str) -> None:
    args = (X, Y)[: PRIMITIVES[name].arity]
    values = {"X": -np.ones((4, 4)), "Y": np.ones((4, 4))}
    if PRIMITIVES[name].raises:
        with pytest.raises(SingularMatrixError):
            evaluate([graph.matrix(name, *args)], values)
    else:
        evaluate([graph.matrix(name, *args)], values)


@pytest.mark.parametrize(("row", "node"), INNER)
def test_numpy_source_means_what_the_interpreter_does(row: Primitive, node: Node) -> None:
    values = point(node)
    leaves = graph.inputs_of([node])
    source = emit_numpy(leaves, inline([node]) if row.name in {*primitives.OF_MATRICES, "pinv"} else [node])
    (got,) = load_numpy(source)(*(values[leaf.payload][None] for leaf in leaves))
    (wanted,) = evaluate([node], values)
    # small elements of a pseudo-inverse have the error of the large ones: processors differ in them
    np.testing.assert_allclose(got[0], wanted, rtol=1e-14, atol=1e-14 * np.abs(wanted).max(initial=0.0))
    assert not row.numpy or row.numpy.split(".")[-1] in source.text


def test_meanings_are_functions() -> None:
    for row in PRIMITIVES.values():
        if row.numpy and "." not in row.numpy:
            assert callable(getattr(numeric, row.numpy))
            assert row.numpy in NUMERIC_NAMES


# ---------------------------------------------------------------------------- pieces


def test_pieces_that_are_checked_at_import() -> None:
    assert LINEAR.keys() == primitives.TOGETHER | primitives.EACH | primitives.FIRST
    assert DIFFERENTIALS.keys() == NONLINEAR
    assert WRITERS.keys() >= PRIMITIVES.keys()


#: Notations that become terms of other kinds, or a line of their own.
_ELSEWHERE = {"pad", "scatter", "input", "constant", "named"}


@pytest.mark.parametrize("style", [TextStyle, MathStyle, LatexStyle])
def test_each_notation_is_written_in_each_style(style: type) -> None:
    missing = [
        row.notation
        for row in PRIMITIVES.values()
        if row.notation not in _ELSEWHERE | CALLS.keys() and not hasattr(style, f"_write_{row.notation}")
    ]
    assert missing == []


def test_each_notation_has_a_form_in_sympy_or_is_refused_by_name() -> None:
    # matrices have functions of their own; positions that a call or an order brings and loops have no form in SymPy
    refused = {"size", "matrix", "inv", "function", "picked", "put", "recurrence", "arranged"}
    known = {*ENTRIES, *SCALAR_TERMS, *_ELSEWHERE, *refused}
    assert {row.notation for row in PRIMITIVES.values()} <= known


def test_incomplete_table_is_refused_by_name() -> None:
    for name in LINEAR:
        rest = LINEAR.keys() - {name}
        with pytest.raises(InternalError, match=rf"a stage lacks {name};"):
            complete(rest, "a stage", primitives.TOGETHER | primitives.EACH | primitives.FIRST)
        complete(rest, "a stage", primitives.TOGETHER | primitives.EACH | primitives.FIRST, without=(name,))
    with pytest.raises(InternalError, match="a stage has curl, slicing"):
        complete((*LINEAR, "slicing", "curl"), "a stage", LINEAR)


# ---------------------------------------------------------------------------- operations of the scalar program


def test_each_operation_of_the_program_is_known_to_the_interpreter() -> None:
    header = (Path(special.__file__).parent.parent / "machine" / "interpreter.h").read_text(encoding="utf-8")
    instructions = {name.rsplit("_", 1)[0] for name in OPCODES}
    library = {row.c for row in FUNCTIONS.values() if row.library}
    missing = [op for op in SIGNATURES if op not in instructions | library and f'("{op}", ' not in header]
    assert missing == []


def test_each_instruction_of_a_row_is_a_function_of_vectors() -> None:
    rows = [row for row in FUNCTIONS.values() if row.instruction]
    assert {"sqrt", "floor", "sign"} <= {row.c for row in rows}
    for row in rows:
        assert f"do_{row.c})(" in with_needs(f"do_{row.c}", "vector.h")[-1]
        assert f"{row.c}_a" in OPCODES


def test_special_functions_have_their_text() -> None:
    rows = [row for row in FUNCTIONS.values() if row.special]
    assert {"digamma", "polygamma", "spherical_jn"} <= {row.name for row in rows}
    for row in rows:
        assert f" {row.special}(" in texts_with(row.special)[-1], row.name


def test_unknown_operation_is_refused_by_name() -> None:
    from symdiff.lowering.arrays import lower_elementwise

    with pytest.raises(UnsupportedError, match="sinc"):
        lower_elementwise(None, graph.elementwise("sinc", (graph.input("x"),)), [])
