"""A branch that is not taken is not looked at: by no operation, in no derivative, by no backend.

Each formula has something infinite, nan or singular in the branch not taken. What is right is
the same formula in which that branch is replaced by something finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.calculus.demand import mask_matrices
from symdiff.calculus.rules import DIFFERENTIALS
from symdiff.graph import BOOL, Node, delta, matrix, postorder, verify
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply
from symdiff.rewrite import inline, simplify
from tests.support.library_calls import CALLS, Call, identify
from tests.support.rule_tables import inputs_of, real

Floats = npt.NDArray[np.float64]
#: What an argument is divided by to make it infinite (nan where it is 0), or nan.
POISONS = (0.0, np.nan)
#: Those that have a derivative: a form for large numbers has that of the function which it is a form of.
SCALARS = [
    name
    for name, row in FUNCTIONS.items()
    if BOOL not in (row.takes, row.gives)
    and name != "where"
    and any(rule not in (Partial.ABSENT, Partial.NONE) for rule in row.partials)
]


def compute(results: Sequence[Any], symbols: Sequence[Array], values: Sequence[npt.ArrayLike]) -> list[Floats]:
    """Compute formulas by the reference interpreter, on the graph that kernels are made of."""
    nodes = mask_matrices(simplify(inline([sd.asarray(r).node for r in results]), written=True))
    verify(nodes)
    point = {str(s.node.name): v for s, v in zip(symbols, values, strict=True)}
    return evaluate(nodes, point, [s.node for s in symbols])


def derive(f: Array, wrt: Sequence[Array]) -> dict[str, Array]:
    """Return the value and each kind of derivative of ``f`` with respect to each of ``wrt``."""
    found = {"value": f}
    total = sum_all(np.sin(0.3 * f))
    for k, x in enumerate(wrt):
        direction = np.linspace(0.5, 1.5, int(x.size)).reshape([int(str(n)) for n in x.shape])
        seed = np.linspace(1.5, 0.5, int(f.size)).reshape([int(str(n)) for n in f.shape])
        found |= {
            f"gradient {k}": sd.gradient(total, x, disconnected="zero"),
            f"jacobian {k}": sd.jacobian(f, x, disconnected="zero"),
            f"jvp {k}": sd.jvp(f, x, direction, disconnected="zero"),
            f"vjp {k}": sd.vjp(f, x, seed, disconnected="zero"),
            f"hvp {k}": sd.hvp(total, x, direction, disconnected="zero"),
        }
        if int(x.size) * int(f.size) <= 12:
            found[f"hessian {k}"] = sd.hessian(total, x, disconnected="zero")
    return found


def sum_all(f: Array) -> Array:
    return f.sum() if f.ndim else f


def same(got: Sequence[Floats], want: Sequence[Floats], names: Sequence[str]) -> None:
    for name, a, b in zip(names, got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)


# ---------------------------------------------------------------------------- every operation there is


def closed(call: Call) -> tuple[Callable[..., Array], list[Any]]:
    """Return an entry of the library as a function to a real array, and finite arguments; positions stay integers."""

    def f(*xs: Array) -> Array:
        out = call.symbolic(*xs)
        return sd.where(out, 1.0, 0.0) * xs[0].sum() if out.node.dtype is BOOL else out

    values = [np.asarray(v) for v in call.values]
    return f, [v if v.dtype.kind == "i" else np.nan_to_num(v.astype(float), posinf=2.0, neginf=-2.0) for v in values]


def is_offered(name: str, i: int, order: int) -> bool:
    """Tell whether a function has so many derivatives by an argument; a few by parameters have one or two."""
    row = FUNCTIONS[name]
    x = sd.scalar("x")
    args: list[Any] = [0.5 * sum(domain) for domain in row.domain]
    args[i] = x
    try:
        sd.derivative(Array(apply(name, *(sd.asarray(a).node for a in args))), x, order, disconnected="zero")
    except sd.NotDifferentiableError:
        return False
    return True


# what is shown of the differential of a function of matrices has no further ones
@pytest.mark.parametrize("call", [call for call in CALLS if "_differential" not in call.name], ids=identify)
def test_no_entry_of_the_library_is_looked_at_in_a_branch_not_taken(call: Call) -> None:
    f, values = closed(call)
    named = inputs_of(values)
    symbols, variables = list(named.values()), real(named)
    u, c = sd.scalar("u"), sd.scalar("c")
    hidden = f(*(x / u if name in variables else x for name, x in named.items()))
    plain = sum((sum_all(np.sin(x)) for x in variables.values()), sd.asarray(0.0)) + 0.0 * sd.zeros(hidden.shape)
    results = derive(sd.where(c > 0, hidden, plain), [*variables.values(), u])
    want = derive(plain + 0.0 * (u - 1.0), [*variables.values(), u])
    for poison in POISONS:
        got = compute(list(results.values()), [*symbols, u, c], [*values, poison, -1.0])
        right = compute(list(want.values()), [*symbols, u, c], [*values, 1.0, -1.0])
        same(got, right, list(results))


@pytest.mark.parametrize("name", SCALARS)
def test_no_scalar_function_is_looked_at_in_a_branch_not_taken(name: str) -> None:
    """Element by element: of four, two take the other branch, at zero, nan and outside of the domain."""
    row = FUNCTIONS[name]
    offered = [
        i
        for i, rule in enumerate(row.partials)
        if rule not in (Partial.ABSENT, Partial.NONE) and all(is_offered(name, k, 2) for k in range(i, row.arity))
    ]
    first = offered[0] if offered else 1
    inside = [np.linspace(low, high, 6)[1:5] for low, high in row.domain]
    symbols = [sd.vector(f"x{i}", 4) for i in range(first, row.arity)]
    u = sd.vector("u", 4)
    orders = [row.domain[i][0] if row.partials[i] is Partial.NONE else 0.5 * sum(row.domain[i]) for i in range(first)]
    hidden = Array(apply(name, *orders, *((x / u).node for x in symbols)))
    f = sd.where(u > 0, hidden, symbols[0] * symbols[0])
    results = derive(f, [*symbols, u])
    good, bad = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 0.0, 1.0, np.nan])
    got = compute(list(results.values()), [*symbols, u], [*inside[first:], bad])
    want = compute(list(results.values()), [*symbols, u], [*inside[first:], good])
    same(got, want, list(results))


#: Finite or -inf at u = 0, with an infinite slope there.
LOSING: dict[str, Callable[[Array], Array]] = {
    "log": sd.log,
    "quotient": lambda u: -1.0 / u,
    "root": lambda u: sd.sqrt(u) - 9.0,
    "power": lambda u: u**0.3 - 9.0,
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("op", ["maximum", "minimum"])
@pytest.mark.parametrize("losing", LOSING)
def test_a_losing_argument_is_not_looked_at(op: str, losing: str) -> None:
    x, u = sd.vector("x", 3), sd.vector("u", 3)
    sign = 1.0 if op == "maximum" else -1.0
    loser = sign * LOSING[losing](u) * x
    both, over = (np.maximum, sd.max) if sign > 0 else (np.minimum, sd.min)
    a = np.ones((3, 3)) + np.eye(3)
    pairs = [
        (a @ both(loser, sign * x), a @ (sign * x)),
        (over(sd.stack([loser, sign * x]), axis=0), sign * x),
        (sd.clip(loser, -0.5, 0.5) * x, -0.5 * sign * x),
    ]
    for f, taken in pairs:
        results, want = derive(f, [x, u]), derive(taken + 0.0 * u, [x, u])
        values = [[1.0, 2.0, 3.0], np.zeros(3)]
        same(compute(list(results.values()), [x, u], values), compute(list(want.values()), [x, u], values), [*results])


def test_a_power_with_the_exponent_zero_has_no_slope() -> None:
    x = sd.scalar("x")
    assert compute([sd.gradient(np.sqrt(x) ** 0.0 + x, x)], [x], [0.0])[0] == 1.0


# ---------------------------------------------------------------------------- products and masks of every shape

x_, p_, r_, R_, A_ = sd.scalar("x"), sd.vector("p", 3), sd.vector("r", 3), sd.matrix("R", 3, 3), sd.matrix("A", 3, 3)
c_, cv_, C_ = sd.scalar("c"), sd.vector("k", 3), sd.matrix("C", 3, 3)
SYMBOLS = [x_, p_, r_, R_, A_, c_, cv_, C_]

PRODUCTS: dict[str, Callable[[], Array]] = {
    "matrix times vector": lambda: (A_ / R_) @ p_,
    "vector times matrix": lambda: p_ @ (A_ / r_),
    "product of matrices": lambda: (A_ / R_) @ A_,
    "product of rows": lambda: (A_ / r_[:, None]) @ A_,
    "product of columns": lambda: A_ @ (A_ / r_),
    "product of three": lambda: A_ @ (A_ / R_) @ A_,
    "outer": lambda: sd.outer(p_, p_ / r_),
    "diagonal": lambda: sd.diag(1 / r_) @ A_,
    "elementwise": lambda: A_ * np.log(R_),
    "trace": lambda: np.trace((A_ / R_) @ A_) * p_,
    "einsum": lambda: sd.einsum("ij,jk,k->ik", A_, A_ / R_, p_),
    "tensordot": lambda: sd.tensordot(A_ / r_[:, None], A_, 1),
    "kron": lambda: sd.kron(p_ / r_, p_)[:3],
    "cross": lambda: sd.cross(p_, p_ / r_),
    "solution": lambda: sd.solve(A_ + 4 * np.eye(3), A_ / r_),
    "inverse of rows": lambda: sd.inv(A_ + np.diag(1 / r_)),
    "determinants": lambda: sd.stack([sd.det(A_ / r_[i] + np.eye(3)) for i in range(3)]),
    "norm": lambda: sd.norm(A_ / r_[:, None], axis=1),
    "unit": lambda: sd.unit(A_ / r_[:, None], axis=1),
    "softmax": lambda: sd.softmax(A_ / R_, axis=1),
    "logsumexp": lambda: sd.logsumexp(A_ / r_, axis=0),
    "products": lambda: sd.prod(A_ / r_, axis=0),
    "maximum": lambda: sd.max(A_ / r_[:, None], axis=1),
    "cumulative sum": lambda: sd.cumsum(A_ / r_[:, None], axis=1),
    "nested": lambda: sd.where(c_ < 9, (A_ / R_) @ sd.where(cv_ > -9, p_ / r_, p_), p_),
}
MASKS: dict[str, Callable[[], Array]] = {
    "scalar": lambda: c_ > 0,
    "columns": lambda: cv_ > 0,
    "rows": lambda: cv_[:, None] > 0,
    "elements": lambda: C_ > 0,
}


@pytest.mark.parametrize("shape", MASKS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_look_at_what_is_taken_alone(name: str, shape: str) -> None:
    """A divisor that the value does not look at makes no difference to any derivative, be it 0 or 1."""
    product = PRODUCTS[name]()
    f = sd.where(MASKS[shape](), product, np.sin(x_))
    if f.shape != product.shape:
        f = sd.where(MASKS["columns"](), product, np.sin(x_))
    rng = np.random.default_rng(3)
    good = [rng.uniform(0.5, 1.5, s.shape) for s in SYMBOLS[:5]]
    mask = np.array([[1.0, -1, 1], [-1, -1, -1], [1, -1, -1]])
    good += [np.array(-1.0), mask[0] if shape != "rows" else mask[:, 0], mask]
    bad = [v.copy() for v in good]
    (value,) = compute([f], SYMBOLS, good)
    for k in (2, 3):
        for index in np.ndindex(bad[k].shape):
            old = bad[k][index]
            bad[k][index] = 0.0
            try:
                unseen = np.array_equal(compute([f], SYMBOLS, bad)[0], value)
            except sd.SingularMatrixError:
                unseen = False
            if not unseen:
                bad[k][index] = old
    assert shape != "scalar" or not (bad[2].any() and bad[3].any())
    results = derive(f, [p_, A_, x_])
    same(compute(list(results.values()), SYMBOLS, bad), compute(list(results.values()), SYMBOLS, good), list(results))


def test_an_array_that_is_asked_for_nan_may_hold_one() -> None:
    """Rows of data that are missing take no part in a fit."""
    data, w = sd.matrix("X", 4, 3), sd.vector("w", 3)
    missing = sd.any(sd.isnan(data), axis=1)
    slope = sd.gradient(sd.sum(sd.where(missing, 0.0, (data @ w) ** 2)), w)
    X = np.arange(12.0).reshape(4, 3)
    known = X[[0, 2, 3]]
    X[1, 2] = np.nan
    (got,) = compute([slope], [data, w], [X, np.ones(3)])
    np.testing.assert_allclose(got, 2 * known.T @ known.sum(axis=1))


def test_what_a_person_multiplies_by_zero_stays_nan() -> None:
    """Values are NumPy's: only what was not taken is not looked at."""
    x, y = sd.scalar("x"), sd.scalar("y")
    assert np.isnan(compute([0.0 * x * y], [x, y], [np.nan, 1.0])[0])
    assert np.isnan(compute([sd.maximum(x, y)], [x, y], [np.nan, 1.0])[0])
    assert np.isnan(compute([sd.gradient(sd.where(x > 0, 0.0 * y / x, y), y)], [x, y], [np.inf, np.nan])[0]) == 0
    assert compute([sd.gradient(0.0 * np.sqrt(x), x)], [x], [0.0])[0] == 0.0  # the derivative of 0


# ---------------------------------------------------------------------------- formulas of practice


def rotation(v: Array) -> Array:
    """Rodrigues' rotation by the vector ``v``."""
    angle = sd.norm(v)
    zero = 0 * angle
    k = sd.stack([sd.stack([zero, -v[2], v[1]]), sd.stack([v[2], zero, -v[0]]), sd.stack([-v[1], v[0], zero])]) / angle
    turned = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)
    return Array(sd.where(angle > 0, turned, np.eye(3)).node)


def members() -> list[tuple[str, Array, list[Array], list[Any], Any]]:
    x, p, r, A = x_, p_, r_, A_
    one, three = np.ones(3), np.array([1.0, 2.0, 3.0])
    either = sd.where(x > 0, p @ (r / x), p @ p)
    regular = sd.where(sd.det(A) != 0, sd.sum(sd.solve(A, p)), sd.sum(p))
    zero = np.zeros((3, 3))
    return [
        ("gradient", sd.gradient(either, p), [x, p, r], [0.0, one, three], 2 * one),
        ("hessian", sd.hessian(either, p), [x, p, r], [0.0, one, three], 2 * np.eye(3)),
        ("hvp", sd.hvp(either, p, three), [x, p, r], [0.0, one, three], 2 * three),
        (
            "outer",
            sd.vjp(sd.where(x > 0, np.outer(p, r / x), np.outer(p, p)), p, np.ones((3, 3))),
            [x, p, r],
            [0.0, one, three],
            6 * one,
        ),
        (
            "rows",
            sd.gradient(sd.where(x > 0, sd.sum((A / x) @ p), sd.sum(A @ p)), p),
            [x, p, A],
            [0.0, one, np.diag(three)],
            three,
        ),
        (
            "diagonal",
            sd.gradient(sd.where(sd.min(r) > 0, sd.sum(np.diag(1 / r) @ p), sd.sum(p)), p),
            [p, r],
            [one, 0 * three],
            one,
        ),
        ("solve", regular, [p, A], [one, zero], np.array(3.0)),
        ("solve by p", sd.gradient(regular, p), [p, A], [one, zero], one),
        ("solve by A", sd.gradient(regular, A), [p, A], [one, zero], zero),
        ("rotation", sd.vjp(rotation(p) @ r, p, np.ones(3)), [p, r], [0 * one, three], 0 * one),
    ]


@pytest.mark.parametrize("case", members(), ids=lambda case: case[0])
def test_members(case: tuple[str, Array, list[Array], list[Any], Any]) -> None:
    _, f, symbols, values, want = case
    for backend in ("numpy", "interpreter", *(["native"] if case[0] in ("gradient", "solve by p") else [])):
        np.testing.assert_allclose(sd.compile(f, symbols, backend=backend)(*values), want, err_msg=backend)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_sizes_that_are_letters(backend: str) -> None:
    """The same in loops."""
    x, p, r, A = sd.scalar("x"), sd.vector("p", "n"), sd.vector("r", "n"), sd.matrix("A", "n", "n")
    f = sd.where(x > 0, p @ (r / x), p @ p)
    g = sd.sum(sd.where(r > 0, (A / r[:, None]) @ p, p))
    n = 40
    rng = np.random.default_rng(1)
    P, R = rng.normal(size=n), np.where(np.arange(n) % 2, 0.0, 2.0)
    B = rng.normal(size=(n, n))
    symbols = [x, p, r, A]
    for slope, want in (
        (sd.gradient(f, p), 2 * P),
        (sd.hvp(f, p, r), 2 * R),
        (sd.gradient(g, p), B[::2].sum(axis=0) / 2 + np.arange(n) % 2),
        (sd.gradient(g, A), np.where(R[:, None] > 0, P / 2, 0.0)),
    ):
        np.testing.assert_allclose(sd.compile(slope, symbols, backend=backend)(0.0, P, R, B), want, atol=1e-12)


# ---------------------------------------------------------------------------- operations that raise


@pytest.mark.parametrize("backend", ["numpy", "interpreter", "native"])
def test_matrices_of_a_branch_not_taken_do_not_raise(backend: str) -> None:
    """Each matrix of a stack, and each sample of a batch, by itself; what is taken raises as before."""
    A, p, t = sd.array("A", (2, 3, 3)), sd.array("p", (2, 3, 1)), sd.vector("t", 2)
    f = sd.where(t[:, None, None] > 0, sd.solve(A, p), p)
    k = sd.compile([f, sd.gradient(sd.sum(f), p)], [A, p, t], backend=backend)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 2, 3, 3)), rng.normal(size=(3, 2, 3, 1))
    taken = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    a[0, 1], a[1, 0] = 0.0, 1.0
    safe = np.where(taken[..., None, None] > 0, a, np.eye(3))
    value, slope = k(a, b, taken)
    np.testing.assert_allclose(value, np.linalg.solve(safe, b), rtol=1e-9)
    np.testing.assert_allclose(slope, np.linalg.solve(np.swapaxes(safe, -1, -2), np.ones_like(b)), rtol=1e-9)
    taken[1, 0] = 1.0
    with pytest.raises(sd.SingularMatrixError):
        k(a, b, taken)


def test_conditions_made_of_matrices() -> None:
    """A condition may hold an inverse of its own; it is looked at wherever the condition is."""
    A, B = sd.matrix("A", 2, 2), sd.matrix("B", 2, 2)
    inner = sd.where(sd.sum(sd.inv(A)) > 0, sd.sum(sd.inv(A) @ sd.inv(B)), 1.0)
    f = sd.where(sd.det(A) != 0, inner, 2.0)
    k = sd.compile(f, [A, B], backend="numpy")
    assert k(np.zeros((2, 2)), np.zeros((2, 2))) == 2.0
    assert k(-np.eye(2), np.zeros((2, 2))) == 1.0
    assert k(np.eye(2), np.eye(2)) == 2.0
    with pytest.raises(sd.SingularMatrixError):
        k(np.eye(2), np.zeros((2, 2)))


@pytest.mark.parametrize("op", ["inv", "solve", "cholesky"])
def test_nothing_is_guarded_where_nothing_branches(op: str) -> None:
    A = sd.matrix("A", 3, 3).node
    f = matrix(op, A, A) if op == "solve" else matrix(op, A)
    g = sd.where(sd.scalar("c") > 0, 1.0, 2.0) * Array(f)
    assert mask_matrices([f, g.node]) == [f, g.node]


def test_every_array_operation_is_known_to_masks_of_matrices() -> None:
    """Through each operation the inverse behind it is looked at under the condition alone."""
    from tests.support.rule_tables import RULES

    c = sd.scalar("c")
    for rule in RULES:
        if rule.op not in DIFFERENTIALS or rule.op == "cholesky":
            continue
        first, *rest = rule.values
        if np.ndim(first) < 2 or np.shape(first)[-1] != np.shape(first)[-2]:
            continue
        A = sd.array("A", np.shape(first))
        f = rule.make(sd.inv(A).node, *(sd.asarray(v).node for v in rest))
        (safe,) = mask_matrices([sd.where(c > 0, Array(f), 0.0).node])
        assert any(node.op == "where" and node.args[2].op in ("delta", "contract") for node in postorder([safe]))
        (value,) = evaluate([safe], {"A": np.zeros(np.shape(first)), "c": -1.0})
        assert not value.any(), rule.op


# ---------------------------------------------------------------------------- what it looks like, what it costs


def test_formulas_stay_short() -> None:
    x, p, r, A = x_, p_, r_, A_
    f = sd.where(x > 0, p @ (r / x), p @ p)
    assert str(sd.gradient(f, p)) == "where(0 < x, r / x, 2 * p)"
    assert str(sd.gradient(f, x)) == "where(0 < x, -p @ r / x ** 2, 0)"
    assert str(sd.gradient(sd.sum(sd.maximum(A @ p, 0.0)), p)) == "A.T @ heaviside(A @ p, 0.5)"
    assert str(sd.jacobian(sd.where(p > 0, np.log(p), 0.0), p)) == "diag(where(0 < p, 1 / p, 0))"


def test_deltas_stay_structure() -> None:
    p, r = p_, r_
    slope = sd.jacobian(sd.where(p > 0, np.diag(1 / r) @ p, 0.0), p)
    assert any(isinstance(node, Node) and node.op == "delta" for node in postorder([slope.node]))
    assert delta(3, 3) in postorder([slope.node])


def test_work_is_linear_in_the_formula() -> None:
    """Of a chain of branches and matrices twice as long, the derivative is about twice as long."""

    def length(steps: int) -> int:
        A, p, c = sd.matrix("A", 3, 3), sd.vector("p", 3), sd.scalar("c")
        v = p
        for i in range(steps):
            v = sd.where(c > i, sd.solve(A + np.diag(v), v / c), v * c)
        nodes = mask_matrices(simplify([sd.gradient(sd.sum(v), p).node]))
        return len(postorder(nodes))

    assert length(16) < 2.3 * length(8)
