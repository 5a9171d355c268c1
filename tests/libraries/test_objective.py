"""Formulas as functions for SciPy's optimizers and solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.integrate import solve_ivp

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError, UnsupportedError

ROSENBROCK = "sum(a*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"


@pytest.mark.parametrize("size", [5, "n"])
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-exact", "trust-krylov", "SLSQP"])
def test_minimizers_take_value_gradient_and_hessian(method: str, size: Any) -> None:
    f = sd.objective(ROSENBROCK, "x", x=size, a=())
    more: dict[str, Any] = {}
    if method in ("Newton-CG", "trust-exact", "trust-krylov"):
        more = {"hess": f.hess} if method == "trust-exact" else {"hessp": f.hessp}
    start = np.array([0.2, 0.7, 0.5, 0.8, 1.1])
    found = optimize.minimize(f.fun, start, args=(10.0,), jac=f.jac, method=method, tol=1e-9, **more)
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-4)


def test_values_and_derivatives_are_those_of_the_formula() -> None:
    f = sd.objective(ROSENBROCK, "x", x="n", a=())
    rng = np.random.default_rng(0)
    x, p = rng.normal(size=(2, 6))
    np.testing.assert_allclose(f.fun(x, 3.0), np.sum(3 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), rtol=1e-14)
    assert type(f.fun(x, 3.0)) is float
    np.testing.assert_allclose(f.jac(x, 3.0), optimize.approx_fprime(x, lambda z: f.fun(z, 3.0)), rtol=1e-5, atol=1e-5)
    hessian = f.hess(x, 3.0)
    np.testing.assert_allclose(hessian @ p, f.hessp(x, p, 3.0), rtol=1e-12)
    slopes = [optimize.approx_fprime(x, lambda z, k=k: f.jac(z, 3.0)[k]) for k in range(6)]
    np.testing.assert_allclose(hessian, slopes, rtol=1e-4, atol=1e-4)


def test_one_evaluation_serves_value_and_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    f = sd.objective("sum(sin(x)**2)", "x", x=3)
    jac = f.jac
    calls = []
    kernel = f._first

    def counted(*args: Any) -> Any:
        calls.append(args)
        return kernel(*args)

    monkeypatch.setattr(f, "_first", counted)
    x = np.ones(3)
    f.fun(x), jac(x), f.fun(x)
    assert len(calls) == 1
    x += 1.0  # in place, as optimizers do
    assert f.fun(x) == pytest.approx(3 * np.sin(2.0) ** 2)
    np.testing.assert_allclose(jac(x), np.sin(4.0), rtol=1e-14)
    assert len(calls) == 2


def test_points_are_told_apart_by_bits_shapes_and_the_inputs_behind() -> None:
    f = sd.objective("sum(a / x)", "x", x=2, a=())
    f.jac  # noqa: B018 (asking for it keeps points)
    assert f.fun(np.zeros(2), 1.0) == np.inf
    assert f.fun(-np.zeros(2), 1.0) == -np.inf  # equal numbers, other bits
    assert f.fun(np.zeros(2), -1.0) == -np.inf
    assert np.isnan(f.fun(np.full(2, np.nan), 1.0))
    g = sd.objective("sum(A @ A.T) + sum(x)", "x", A=("m", "n"), x=2)
    slope, x = g.jac, np.ones(2)
    A = np.arange(6.0)
    for shape in ((2, 3), (3, 2), (1, 6)):  # the same bytes
        own = A.reshape(shape)
        assert g.fun(x, own) == pytest.approx((own @ own.T).sum() + 2)
        np.testing.assert_array_equal(slope(x, own), [1.0, 1.0])
    own[0, 0] = 7.0  # data changed in place
    assert g.fun(x, own) == pytest.approx((own @ own.T).sum() + 2)


def test_kept_results_are_no_ones_to_change() -> None:
    f = sd.objective("x**3", "x", x=2)
    x = np.array([1.0, 2.0])
    slope = f.jac(x)
    slope[:] = 0.0
    value = f.fun(x)
    value[:] = 0.0
    np.testing.assert_array_equal(f.fun(x), [1.0, 8.0])
    np.testing.assert_array_equal(f.jac(x), [[3.0, 0.0], [0.0, 12.0]])


def test_what_is_remembered_is_never_taken_for_changed_data() -> None:
    f = sd.objective("sum((A @ x - y)**2)", "x", A=(4, 2), x=2, y=4)
    rng = np.random.default_rng(2)
    a, y, x = rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=2)
    jac = f.jac
    for changed in (a, y, x, a):
        np.testing.assert_allclose(f.fun(x, a, y), np.sum((a @ x - y) ** 2), rtol=1e-13)
        changed[...] = 1.5 * changed
        np.testing.assert_allclose(jac(x, a, y), 2 * a.T @ (a @ x - y), rtol=1e-12)
        jac(x, a, y)[:] = 0  # what is given belongs to the caller
        np.testing.assert_allclose(jac(x, a, y), 2 * a.T @ (a @ x - y), rtol=1e-12)


def test_values_alone_need_no_derivative() -> None:
    value = sd.custom(np.floor, vjp=lambda args, seed: (seed * 0,), approximate=True)
    x = sd.scalar("x")
    f = sd.objective(np.abs(value(x) - 3.0), x)
    assert f.fun([2.5]) == 1.0
    assert "_first" not in vars(f)


@dataclass
class Network:
    weights: Any
    bias: Any


def test_variables_in_a_structure_are_one_vector() -> None:
    def loss(params: Any, x: Any, y: Any) -> Any:
        return np.sum((np.tanh(x @ params.weights + params.bias) - y) ** 2)

    f = sd.objective(loss, "params", params=Network((3, 2), (2,)), x=(7, 3), y=(7, 2))
    rng = np.random.default_rng(4)
    x, truth = rng.normal(size=(7, 3)), Network(rng.normal(size=(3, 2)), rng.normal(size=2))
    y = np.tanh(x @ truth.weights + truth.bias)
    start = f.join(Network(np.zeros((3, 2)), np.zeros(2)))
    found = optimize.minimize(f.value_and_gradient, start, args=(x, y), jac=True, tol=1e-12)
    result = f.split(found.x)
    assert isinstance(result, Network)
    np.testing.assert_allclose(result.weights, truth.weights, atol=1e-4)
    np.testing.assert_allclose(result.bias, truth.bias, atol=1e-4)
    p = rng.normal(size=8)
    np.testing.assert_allclose(f.hess(start + 0.1, x, y) @ p, f.hessp(start + 0.1, p, x, y), rtol=1e-10)


def test_least_squares_and_root_take_residuals() -> None:
    fit = sd.objective("a*exp(-b*t) - y", ("a", "b"), a=(), b=(), t="n", y="n")
    t = np.linspace(0, 3, 20)
    y = 2.5 * np.exp(-1.3 * t)
    found = optimize.least_squares(fit.fun, [1.0, 1.0], fit.jac, args=(t, y))
    np.testing.assert_allclose(found.x, [2.5, 1.3], rtol=1e-8)
    assert fit.jac(found.x, t, y).shape == (20, 2)
    system = sd.objective("stack([x[0] + x[1] - 3, x[0]*x[1] - 2])", "x", x=2)
    root = optimize.root(system.fun, [0.5, 3.0], jac=system.jac)
    np.testing.assert_allclose(np.sort(root.x), [1.0, 2.0], rtol=1e-8)
    curvature = system.hess(root.x, np.array([5.0, 2.0]))
    np.testing.assert_allclose(curvature, [[0.0, 2.0], [2.0, 0.0]])


@pytest.mark.parametrize("time", ["t", "s"])
def test_solvers_of_differential_equations_pass_the_time(time: str) -> None:
    text = "stack([-k*y[0] + y[1]*t*0, k*y[0] - y[1]])" if time == "t" else "stack([-k*y[0], k*y[0] - y[1]])"
    shapes = {"t": (), "y": 2, "k": ()} if time == "t" else {"y": 2, "k": ()}
    f = sd.objective(text, "y", time=time, shapes=shapes)
    assert f.args == ("k",)
    found = solve_ivp(f.fun, (0.0, 1.0), [1.0, 0.0], method="Radau", jac=f.jac, args=(3.0,), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.y[0, -1], np.exp(-3.0), rtol=1e-6)
    np.testing.assert_allclose(f.jac(0.0, [1.0, 0.0], 3.0), [[-3.0, 0.0], [3.0, -1.0]])


def test_data_are_summed_in_the_kernel() -> None:
    f = sd.objective("softplus(-y*(x @ w))", "w", w=3, x=3, y=(), batch=["x", "y"], reduce="sum")
    rng = np.random.default_rng(6)
    x, y, w = rng.normal(size=(50, 3)), np.sign(rng.normal(size=50)), rng.normal(size=3)
    np.testing.assert_allclose(f.fun(w, x, y), np.sum(np.log1p(np.exp(-y * (x @ w)))), rtol=1e-13)
    s = 1 / (1 + np.exp(y * (x @ w)))
    np.testing.assert_allclose(f.jac(w, x, y), -(y * s) @ x, rtol=1e-12)
    np.testing.assert_allclose(f.hess(w, x, y), (x.T * (s * (1 - s))) @ x, rtol=1e-12)


def test_sympy_and_symbols_are_taken_alike() -> None:
    import sympy

    a, b = sympy.symbols("a b")
    f = sd.objective((a - 1) ** 2 + b * a, [a, b])
    np.testing.assert_allclose(f.jac([2.0, 3.0]), [5.0, 2.0])
    x, c = sd.vector("x", 2), sd.scalar("c")
    g = sd.objective(c * x @ x, x, inputs=[c])
    assert g.fun([1.0, 2.0], 3.0) == 15.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sd.objective("x*y", "z", x=(), y=()), sd.SymdiffError, "z"),
        (lambda: sd.objective(["x", "y"], "x"), ArgumentError, "several formulas"),
        (lambda: sd.objective("sum(x)", "x", x=3).fun([1.0, 2.0]), ShapeError, "2 elements; expected 3"),
        (lambda: sd.objective("sum(x)", "x", x=3).fun(np.ones((1, 3))), ShapeError, "expected a vector"),
        (lambda: sd.objective("sum(x)*a", "x", x=3, a=()).fun([1.0] * 3), ArgumentError, "missing a; expected x, a"),
        (lambda: sd.objective("x*2", "x", x=3).hessp([1.0] * 3, [1.0] * 3), UnsupportedError, "several numbers"),
        (lambda: sd.objective("sum(x)*a", "x", x=3, a=()).fun([1.0] * 3, [1.0, 2.0]), ShapeError, r"a \(2,\); exp"),
        (lambda: sd.objective("sum(A)", "A", A=("n", "m")).fun([1.0] * 6), ShapeError, "cannot be told"),
        (lambda: sd.objective("sum(x)", "x", x=3, time="x"), ArgumentError, "no scalar input"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.rows(1)
@pytest.mark.parametrize("word", ["csr", "csc", "coo"])
def test_jacobians_and_hessians_may_be_sparse(word: str) -> None:
    import scipy.sparse

    dense, own = (sd.objective(ROSENBROCK, "x", x="n", a=(), sparse=choice) for choice in (None, word))
    x = np.random.default_rng(9).normal(size=12)
    hessian = own.hess(x, 3.0)
    assert scipy.sparse.issparse(hessian)
    assert hessian.format == word
    np.testing.assert_allclose(hessian.toarray(), dense.hess(x, 3.0), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(own.jac(x, 3.0), dense.jac(x, 3.0), rtol=1e-13)
    chain = "concatenate([10*(x[1:] - x[:-1]**2), b - x])"
    dense, own = (sd.objective(chain, ("x", "b"), x=12, b=(), sparse=choice) for choice in (None, word))
    np.testing.assert_allclose(own.jac(np.append(x, 2.0)).toarray(), dense.jac(np.append(x, 2.0)), rtol=1e-13)
    assert own.jac(np.append(x, 2.0)).nnz == 2 * 11 + 12 + 12


def test_least_squares_takes_sparse_jacobians_of_positions() -> None:
    cameras, points = sd.matrix("cameras", 3, 2), sd.matrix("points", 6, 2)
    seen, of, by = sd.matrix("seen", "m", 2), sd.indices("of", "m"), sd.indices("by", "m")
    f = sd.objective(points[of] * np.exp(cameras[by]) - seen, (cameras, points), sparse="csr", inputs=[seen, of, by])
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(3, 2)) * 0.1, rng.normal(size=(6, 2)) + 3
    which = np.array([(p, c) for p in range(6) for c in range(3)])
    data = truth[1][which[:, 0]] * np.exp(truth[0][which[:, 1]])
    start = f.join((np.zeros((3, 2)), np.full((6, 2), 3.0)))
    found = optimize.least_squares(f.fun, start, f.jac, args=(data, which[:, 0], which[:, 1]), xtol=1e-12, ftol=1e-12)
    assert found.cost < 1e-10
    assert f.jac(start, data, which[:, 0], which[:, 1]).nnz == 2 * 2 * len(which)


def test_other_words_for_sparse_are_refused() -> None:
    with pytest.raises(ArgumentError, match="expected None, 'csr', 'csc' or 'coo'"):
        sd.objective("sum(x)", "x", x=3, sparse="values")


def test_the_order_of_arguments_may_have_the_variables_in_front() -> None:
    x, a, b = sd.vector("x", 2), sd.vector("a", 2), sd.scalar("b")
    formula = b * (a @ x)
    for order in ([x, a, b], [a, b], ["x", "a", "b"]):
        assert sd.objective(formula, x, inputs=order).fun([1.0, 2.0], [3.0, 4.0], 2.0) == 22.0
    with pytest.raises(sd.ArgumentError, match="solvers give x first: put them first"):
        sd.objective(formula, x, inputs=[a, x, b])
    with pytest.raises(sd.ArgumentError, match=r"expected its functions: f.fun\(x\)"):
        optimize.minimize(sd.objective(x @ x, x), np.ones(2))


def test_the_last_letter_of_parameters_is_told_by_the_vector() -> None:
    w, b = sd.vector("w", "k"), sd.matrix("b", "k", 2)
    f = sd.objective(np.sum(w * np.sum(b, axis=1) ** 2), {"w": w, "b": b})
    start = {"w": np.arange(3.0), "b": np.ones((3, 2))}
    assert f.fun(f.join(start)) == 12.0
    assert f.split(f.join(start))["b"].shape == (3, 2)
    assert f.jac(f.join(start)).shape == (9,)
    with pytest.raises(sd.ShapeError, match="in the place of all letters but one"):
        f.fun(np.ones(10))
    c = sd.vector("c", "m")
    with pytest.raises(sd.ShapeError, match="in the place of all letters but one"):
        sd.objective(np.sum(w) * np.sum(c), {"w": w, "c": c}).fun(np.ones(5))


def test_the_repr_shows_formula_order_and_shapes() -> None:
    told = repr(sd.objective("sum((A@x - b)**2)", "x", A=("m", "n"), x="n", b="m"))
    assert told == (
        "<symdiff.Objective fun(x, A, b) = sum((A @ x - b) ** 2) of x: (n,), given A: (m, n), b: (m,); "
        "jac, hess, hessp, value_and_gradient>"
    )
    told = repr(sd.objective(lambda p, x: x @ p["w"] + p["b"], "p", p={"w": 3, "b": ()}, x=("n", 3)))
    assert told == (
        "<symdiff.Objective fun(vector, x) = x @ p_w + p_b of p_w: (3,), p_b: (), given x: (n, 3); jac, hess>"
    )
    assert repr(sd.objective("-c", "c", time="t", c=3)).startswith("<symdiff.Objective fun(t, x) = -c of c: (3,); jac")
    assert "..." in repr(sd.objective(" + ".join(["sin(x)"] * 50), "x"))
    assert "fun(x) = h = 2 * x; h ** 2 of" in repr(sd.objective("h = 2*x\nh**2", "x"))


SUM = ("sum((y - X @ b)**2) + c * b @ b", {"X": ("n", "p"), "y": "n", "b": "p", "c": ()})


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_inputs_come_by_name(backend: Any) -> None:
    f = sd.objective(SUM[0], "b", shapes=SUM[1], backend=backend, inputs=["y", "c", "X"])
    rng = np.random.default_rng(2)
    b, X, y, c, p = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5), 0.5, rng.normal(size=3)
    for name in ("fun", "jac", "hess", "value_and_gradient"):
        function = getattr(f, name)
        wanted = function(b, y, c, X)
        for got in (function(b, X=X, y=y, c=c), function(b, y, X=X, c=c)):
            assert all(np.array_equal(one, two) for one, two in zip(got, wanted, strict=True)) if name[0] == "v" else (
                np.array_equal(got, wanted)
            )
    assert np.array_equal(f.hessp(b, p, X=X, y=y, c=c), f.hessp(b, p, y, c, X))


@pytest.mark.parametrize(
    ("args", "named", "said"),
    [
        (([0.0, 0.0],), {"X": np.ones((3, 2)), "y": np.ones(3)}, "missing c; expected x, X, y, c"),
        (([0.0, 0.0],), {"X": np.ones((3, 2)), "z": np.ones(3)}, "no argument is called 'z'; expected x, X, y, c"),
        (([0.0, 0.0], np.ones((3, 2))), {"X": np.ones((3, 2))}, "X came by position and by name"),
    ],
)
def test_names_that_do_not_fit_are_told(args: tuple[Any, ...], named: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        sd.objective(SUM[0], "b", shapes=SUM[1]).fun(*args, **named)


def test_inputs_in_each_others_place_are_told_with_the_order() -> None:
    X, y, w = sd.matrix("X", "n", "p"), sd.vector("y", "n"), {"w": sd.vector("w", "p"), "c": sd.scalar("c")}
    f = sd.objective(np.sum((y - X @ w["w"] - w["c"]) ** 2), w)
    for call in (f.fun, f.jac, f.value_and_gradient, f.hess):
        with pytest.raises(ShapeError, match=r"the shapes y \(4, 2\), X \(4,\); expected y \(n,\), X \(n, p\)"):
            call(np.zeros(3), np.ones((4, 2)), np.ones(4))


def test_least_squares_takes_inputs_by_name() -> None:
    fit = sd.objective("a*exp(-b*t) - y", ("a", "b"), a=(), b=(), t="n", y="n")
    t = np.linspace(0, 3, 20)
    given = {"y": 2.5 * np.exp(-1.3 * t), "t": t}
    assert np.allclose(optimize.least_squares(fit.fun, [1.0, 1.0], fit.jac, kwargs=given).x, [2.5, 1.3])


def test_equal_formulas_have_their_kernels_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an objective computes is derived once, whoever asks; what differs in anything is another one."""
    made: list[Any] = []
    compiled = sd.Objective._compiled

    def counted(self: Any, *args: Any) -> Any:
        made.append(args)
        return compiled(self, *args)

    monkeypatch.setattr(sd.Objective, "_compiled", counted)
    text, point = "sum(cos(x*a)*0.318)", np.array([0.3, -0.2, 0.7])

    def use(n: Any = 3, wrt: str = "x", **options: Any) -> Any:
        f = sd.objective(options.pop("text", text), wrt, **options, **{"x": n, "a": n})
        x, other = (point, np.ones(3)) if wrt == "x" else (np.ones(3), point)
        return f.fun(x, other), f.jac(x, other), f.hess(x, other), f.hessp(x, np.ones(3), other)

    first = use()
    assert len(made) == 4
    for one, again in zip(first, use(), strict=True):
        np.testing.assert_array_equal(one, again)
    assert len(made) == 4
    np.testing.assert_allclose(use(sparse="csr")[2].toarray(), first[2])
    np.testing.assert_allclose(use("n")[1], first[1])
    np.testing.assert_allclose(use(wrt="a")[1], -0.318 * point * np.sin(point))
    np.testing.assert_allclose(use(text="sum(cos(x*a)*0.319)")[0], first[0] * 0.319 / 0.318)
    assert len(made) == 20

    constraints = sd.objective("x[1:]*x[:-1]", "x", x=3)
    objective = sd.objective("sum(cos(x)*0.318)", "x", x=3)
    for turn in range(2):
        problem = objective.ipopt(point + turn, constraints=constraints)
        problem.jacobian(point), problem.hessian(point, [1.0, 2.0], 1.0), problem.hessianstructure()
        assert len(made) == 24


def test_inputs_with_a_batch_tell_objectives_apart() -> None:
    w, z = sd.vector("w", 3), sd.vector("z", 3)
    f = np.exp(w @ z)
    one = sd.objective(f, w, batch=[z], reduce="sum")
    np.testing.assert_allclose(one.jac(np.zeros(3), np.ones((5, 3))), np.full(3, 5.0))
    assert sd.objective(f, w, batch=[z], reduce="sum")._first is one._first
    assert sd.objective(f, w)._first is not one._first


@pytest.mark.parametrize("sparse", [None, "csr"])
def test_a_variable_that_the_formula_lacks_is_one_of_the_problem(sparse: Any) -> None:
    x, u = sd.vector("x", 3), sd.vector("u", 2)
    f = sd.objective(u @ u, [x, u], sparse=sparse)
    v = np.arange(5.0)
    assert f.fun(v) == 25
    np.testing.assert_array_equal(f.jac(v), [0, 0, 0, 6, 8])
    curvature = f.hess(v) if sparse is None else f.hess(v).toarray()
    np.testing.assert_array_equal(curvature, np.diag([0, 0, 0, 2, 2]))
    np.testing.assert_array_equal(f.hessp(v, v), [0, 0, 0, 6, 8])
    with pytest.raises(sd.ArgumentError, match="the formula does not depend on x; its inputs: u"):
        sd.objective(u @ u, x)
