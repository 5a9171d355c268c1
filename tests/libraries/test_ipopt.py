"""Objectives and constraints as Ipopt's problem: by its methods, and solved by Ipopt where cyipopt is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError, UnsupportedError
from symdiff.libraries.objective import IpoptProblem

#: Hock and Schittkowski (1981), problem 71.
HS71 = ("x[0]*x[3]*(x[0] + x[1] + x[2]) + x[2]", "stack([prod(x), x @ x])")
START = [1.0, 5.0, 5.0, 1.0]
SOLUTION = [1.0, 4.74299963, 3.82114998, 1.37940829]


def dense(positions: Any, values: Any, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The matrix of triplets, of which equal ones are added."""
    matrix = np.zeros(shape)
    np.add.at(matrix, positions, values)
    return matrix


def whole(lower: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return lower + np.tril(lower, -1).T


def hs71() -> IpoptProblem:
    f, g = (sd.objective(text, "x", x=4) for text in HS71)
    problem: IpoptProblem = f.ipopt(START, constraints=g)
    return problem


def chain() -> IpoptProblem:
    """Letters for sizes, and inputs behind x."""
    f = sd.objective("sum(a*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "x", x="n", a=())
    g = sd.objective("b * x[1:] * x[:-1] + sin(x[1:])", "x", x="n", b=())
    problem: IpoptProblem = f.ipopt(np.linspace(-1, 1, 9), args=[10.0], constraints=g, constraint_args=[0.5])
    return problem


def several() -> IpoptProblem:
    """Two variables, one of them a matrix, and a constraint of one number."""
    A, b = sd.matrix("A", 2, 3), sd.vector("b", 3)
    f = sd.objective(((A @ b) ** 2).sum() + np.exp(b).sum(), {"A": A, "b": b})
    g = sd.objective((A * A).sum() * b[0], {"A": A, "b": b})
    problem: IpoptProblem = f.ipopt(np.linspace(-1, 1, 9), constraints=g)
    return problem


def summed() -> IpoptProblem:
    """A sum over data in the objective alone."""
    f = sd.objective("log(1 + exp(-y * (w @ z)))", "w", w=3, z=3, y=(), batch=["z", "y"], reduce="sum")
    g = sd.objective("w * w", "w", w=3)
    rng = np.random.default_rng(3)
    problem: IpoptProblem = f.ipopt(np.zeros(3), args=[rng.normal(size=(20, 3)), np.ones(20)], constraints=g)
    return problem


@pytest.mark.parametrize("make", [hs71, chain, several, summed])
def test_triplets_are_the_derivatives(make: Any) -> None:
    problem = make()
    f, g, n, m = problem._f, problem._g, problem.n, problem.m
    rng = np.random.default_rng(0)
    for _ in range(3):
        x, v, sigma, h = rng.normal(size=n), rng.normal(size=m), float(rng.normal()), 1e-6
        assert problem.objective(x) == pytest.approx(f.fun(x, *problem._args), rel=1e-14)
        np.testing.assert_allclose(problem.gradient(x), f.jac(x, *problem._args), rtol=1e-13)
        steps = h * np.eye(n)
        slope = dense(problem.jacobianstructure(), problem.jacobian(x), (m, n))
        differences = [(problem.constraints(x + d) - problem.constraints(x - d)) / (2 * h) for d in steps]
        np.testing.assert_allclose(slope, np.transpose(differences), atol=1e-6 * (1 + np.abs(slope).max()))
        rows, columns = problem.hessianstructure()
        assert (rows >= columns).all()
        assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == rows.size
        lagrangian = whole(dense((rows, columns), problem.hessian(x, v, sigma), (n, n)))

        def gradient(at: Any, v: Any = v, sigma: float = sigma) -> Any:
            jacobian = dense(problem.jacobianstructure(), problem.jacobian(at), (m, n))
            return sigma * problem.gradient(at) + v @ jacobian

        differences = [(gradient(x + d) - gradient(x - d)) / (2 * h) for d in steps]
        np.testing.assert_allclose(lagrangian, differences, atol=1e-6 * (1 + np.abs(lagrangian).max()))
        if len(f._symbols) == 1:  # a second reference: the dense Hessians
            second = sigma * f.hess(x, *problem._args) + g.hess(x, v, *problem._g_args)
            np.testing.assert_allclose(lagrangian, second, rtol=1e-12, atol=1e-12)


def test_only_nonzeros_are_given() -> None:
    problem = chain()
    assert problem.jacobianstructure()[0].size == 2 * 8
    assert problem.hessianstructure()[0].size == 9 + 8  # once, whichever of the two has them
    rows, columns = hs71().jacobianstructure()
    assert (rows.tolist(), columns.tolist()) == ([0] * 4 + [1] * 4, [0, 1, 2, 3] * 2)


def test_a_problem_without_constraints() -> None:
    problem = sd.objective("sum((x - 1)**2)", "x", x="n").ipopt(np.zeros(5))
    assert (problem.n, problem.m) == (5, 0)
    assert problem.constraints(problem.x0).size == problem.jacobian(problem.x0).size == 0
    assert [one.size for one in problem.jacobianstructure()] == [0, 0]
    np.testing.assert_array_equal(problem.hessian(problem.x0, [], 2.0), np.full(5, 4.0))


def test_singular_matrices_are_nan() -> None:
    problem = sd.objective("sum(inv(diag(x)))", "x", x=2).ipopt([1.0, 1.0])
    assert np.isnan(problem.objective([1.0, 0.0]))
    assert np.isnan(problem.gradient([1.0, 0.0])).all()
    assert np.isnan(problem.hessian([1.0, 0.0], [], 1.0)).all()
    assert problem.objective([1.0, 2.0]) == 1.5


def test_what_is_no_problem_is_refused() -> None:
    f, g = sd.objective("x @ x", "x", x=3), sd.objective("x * a", "x", x=3, a=())
    for make, error, message in (
        (lambda: g.ipopt(np.zeros(3), args=[1.0]), UnsupportedError, "several numbers; expected a scalar"),
        (lambda: f.ipopt(np.zeros(2)), ShapeError, "x has 2 elements"),
        (lambda: f.ipopt(np.zeros(3), args=[1.0]), ArgumentError, "args holds 1 inputs; expected none"),
        (lambda: f.ipopt(np.zeros(3), constraints=g), ArgumentError, "constraint_args holds 0 inputs; expected a"),
        (
            lambda: f.ipopt(np.zeros(3), constraints=sd.objective("y", "y", y=3)),
            ArgumentError,
            "objective is of x and the constraints of y",
        ),
        (
            lambda: f.ipopt(np.zeros(3), constraints=sd.objective("t * x", "x", time="t", x=3, t=())),
            UnsupportedError,
            "with a time",
        ),
        (lambda: hs71().hessian(START, [1.0], 1.0), ShapeError, "lagrange has 1 numbers; expected 2"),
    ):
        with pytest.raises(error, match=message):
            make()


def test_ipopt_finds_the_solution_of_hock_and_schittkowski() -> None:
    cyipopt = pytest.importorskip("cyipopt")
    problem = hs71()
    solver = cyipopt.Problem(
        problem.n, problem.m, problem_obj=problem, lb=[1.0] * 4, ub=[5.0] * 4, cl=[25.0, 40.0], cu=[2e19, 40.0]
    )
    for name, value in {"print_level": 0, "sb": "yes", "tol": 1e-10, "hessian_approximation": "exact"}.items():
        solver.add_option(name, value)
    x, info = solver.solve(problem.x0)
    assert info["status"] == 0
    np.testing.assert_allclose(x, SOLUTION, atol=1e-7)
    assert info["obj_val"] == pytest.approx(17.0140173, abs=1e-6)


def test_ipopt_solves_a_long_chain_in_newton_steps() -> None:
    cyipopt = pytest.importorskip("cyipopt")
    n = 2000
    f = sd.objective("sum((x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "x", x="n")
    g = sd.objective("x[1:] * x[:-1]", "x", x="n")
    problem = f.ipopt(np.full(n, 0.5), constraints=g)
    infinite = np.full(n - 1, 2e19)
    solver = cyipopt.Problem(n, n - 1, problem_obj=problem, cl=-infinite, cu=np.full(n - 1, 0.81))
    for name, value in {"print_level": 0, "sb": "yes", "hessian_approximation": "exact"}.items():
        solver.add_option(name, value)
    x, info = solver.solve(problem.x0)
    assert info["status"] == 0
    assert (x[1:] * x[:-1] <= 0.81 + 1e-6).all()
    # what holds at a solution: the gradient is that of the constraints by the solver's weights, none of them negative
    slope = dense(problem.jacobianstructure(), problem.jacobian(x), (n - 1, n))
    np.testing.assert_allclose(problem.gradient(x) + info["mult_g"] @ slope, 0, atol=1e-6)
    assert (info["mult_g"] >= -1e-8).all()
