"""Jacobians of several outputs by several inputs as one matrix, and gradients and Hessians in that form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, ShapeError

BACKENDS = ("native", "interpreter", "numpy", "auto")


def outputs(x: Any, v: Any, a: Any, q: Any) -> list[Any]:
    return [a @ v, np.sin(x) * q, v @ v, x * a[0], q**2]


def symbols(n: int | str) -> list[sd.Array]:
    return [sd.scalar("x"), sd.vector("v", n), sd.matrix("a", 2, n), sd.vector("q", 4)]


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, "n"])
def test_one_matrix_of_all_blocks(n: int | str, backend: str) -> None:
    if n == "n" and backend in ("native", "interpreter"):
        pytest.skip("a diagonal in a part of a long array is NumPy's work")
    given = symbols(n)
    jacobian = sd.jacobian(outputs(*given), given)
    k = sd.compile(jacobian, given, backend=backend)
    rng = np.random.default_rng(0)
    values = [rng.normal(), rng.normal(size=3), rng.normal(size=(2, 3)), rng.normal(size=4)]

    def flat(*args: Any) -> Any:
        return np.concatenate([np.ravel(part) for part in outputs(*args)])

    columns = []
    for which, value in enumerate(values):
        for index in range(np.size(value)):
            moved = np.array(value, complex)
            moved.flat[index] += 1e-30j
            columns.append(np.imag(flat(*values[:which], moved, *values[which + 1 :])) / 1e-30)
    expected = np.stack(columns, axis=1)
    assert expected.shape == (2 + 4 + 1 + 3 + 4, 1 + 3 + 6 + 4)
    np.testing.assert_allclose(k(*values), expected, rtol=1e-13, atol=1e-13)
    sparse = sd.compile(jacobian, given, sparse="csr", backend=backend)(*values)
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-13, atol=1e-13)
    assert sparse.nnz < expected.size / 2  # blocks that vanish are structure


def test_as_sympy_has_it() -> None:
    sympy = pytest.importorskip("sympy")
    a, b, c = sympy.symbols("a b c")
    m = sympy.Matrix([a * b, sympy.sin(b), a**3])
    for formula in (m, m.T, sympy.ImmutableMatrix(m), [*m]):
        jacobian = sd.jacobian(formula, [a, b, c])
        assert jacobian.shape == (3, 3)
        assert (jacobian.sympy - m.jacobian([a, b, c])).applyfunc(sympy.simplify) == sympy.zeros(3, 3)
    assert str(sd.jacobian(m, [a, b, c])) == "[[b, a, 0], [0, cos(b), 0], [3 * a ** 2, 0, 0]]"
    apart = sd.jacobian(m, (a, b))  # a tuple asks for blocks
    assert [block.shape for block in apart] == [(3, 1), (3, 1)]
    assert sd.jacobian(m, [a, b], joined=False)[0].shape == (3, 1)


def test_text_and_lists() -> None:
    assert str(sd.jacobian(["x * y", "x**2"], ["x", "y"])) == "[[y, x], [2 * x, 0]]"
    k = sd.compile("jacobian([x * y, x**2], [x, y])")
    np.testing.assert_array_equal(k(2.0, 3.0), [[3.0, 2.0], [4.0, 0.0]])
    # one list alone is an array, and one formula by several inputs gives blocks, as before
    assert sd.compile("jacobian([x * y, x**2], y)", x=(), y=()).signature == "(x: (), y: ()) -> (2,)"
    x, y = sd.scalar("x"), sd.scalar("y")
    assert [str(part) for part in sd.jacobian(x * y, [x, y])] == ["y", "x"]
    assert str(sd.jacobian(x * y, [x, y], joined=True)) == "[y, x][None, :]"
    assert sd.jacobian([x * y], x).shape == (1, 1)
    assert sd.jacobian([x, y], sd.vector("z", 3)).shape == (2, 3)  # zeros, as in SymPy


def test_gradients_and_hessians_joined() -> None:
    x, v = sd.scalar("x"), sd.vector("v", "n")
    f = np.sin(x) * (v @ v)
    gradient, hessian = sd.gradient(f, [x, v], joined=True), sd.hessian(f, (x, v), joined=True)
    assert gradient.shape == (sd.concatenate([x[None], v]).shape)
    found = sd.compile([gradient, hessian], [x, v])(0.5, [1.0, 2.0])
    np.testing.assert_allclose(found[0], [5 * np.cos(0.5), 2 * np.sin(0.5), 4 * np.sin(0.5)])
    mixed = 2 * np.cos(0.5) * np.array([1.0, 2.0])
    expected = np.block([[np.array([[-5 * np.sin(0.5)]]), mixed[None]], [mixed[:, None], 2 * np.sin(0.5) * np.eye(2)]])
    np.testing.assert_allclose(found[1], expected)
    assert sd.gradient("x**2 * y", ["x", "y"], joined=True).shape == (2,)
    assert len(sd.hessian(f, [x, v])) == 2


def test_bad_input() -> None:
    x, v, i = sd.scalar("x"), sd.vector("v", 3), sd.indices("i", 2)
    with pytest.raises(ArgumentError, match="list of formulas"):
        sd.jacobian({"a": x * x}, x)
    with pytest.raises(ArgumentError, match="list of formulas"):
        sd.jacobian([[x], [x]], x)
    with pytest.raises(ArgumentError, match="joined=False"):
        sd.jacobian([x * x, x], x, joined=False)
    with pytest.raises(ArgumentError, match="no "):
        sd.jacobian([], x)
    with pytest.raises(ArgumentError, match="no variable"):
        sd.jacobian([x], [])
    with pytest.raises(ArgumentError, match="disconnected"):
        sd.jacobian([x], [x], disconnected="ignore")
    with pytest.raises(DtypeError, match="whole numbers"):
        sd.jacobian([v[i]], [v, i])
    with pytest.raises(DtypeError, match="condition"):
        sd.jacobian([x > 0], [x])
    with pytest.raises(ShapeError, match="scalar"):
        sd.gradient(v * x, [x, v], joined=True)
    with pytest.raises(ArgumentError, match="gradient of several formulas"):
        sd.gradient([x, x * x], x)
