"""Optimization problems: an objective, constraints written as comparisons of formulas, and the solvers that take them.

A solution comes with its multipliers, Ipopt's own or those that follow from the solution that another solver found, and
with its derivatives with respect to parameters, by the equations of Karush, Kuhn and Tucker.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiler import compile
from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..frontend import derivatives
from ..frontend.array import Array, asarray
from ..frontend.display import Typeset, table
from ..frontend.formula import Formula, merge_shapes, read_formula
from ..frontend.functions.sparse_matrices import SparseMatrix
from ..frontend.outputs import leaves
from ..frontend.shapes import words
from ..frontend.symbols import array
from ..frontend.sympy import is_sympy, symbols_in
from ..graph import BOOL, INT, REAL, Node, concatenate, inputs_of, reshape, substitute, zeros
from ..graph.primitives import NOTHING_KNOWN
from ..graph.scalars.functions import to_real
from ..graph.sizes import fixed, show
from ..graph.sizes import named as letter
from ..ground.budget import budgeted
from ..ground.guard import described, guarded
from ..ground.limits import Budget
from ..runtime.calls.arguments import as_floats
from ..runtime.kernel import Kernel
from .density import transform_of
from .objective import Objective
from .variables import name_of

__all__ = ["OptimizationProblem", "Optimum", "problem"]

Floats = npt.NDArray[np.float64]

#: Variables and constraints together up to which dense solvers are taken.
SMALL = 200
#: Elements of a Jacobian up to which it is looked at, where a solver failed, if its point is a solution after all.
DENSE = 10**7
#: Relative distance to a bound, or from equality, at which a constraint counts as active, with a multiplier above it.
ACTIVE = 1e-4
#: Relative slope of the Lagrangian that counts as none.
STATIONARY = 1e-6
#: The same above which a point that a solver calls a solution is looked at again, if the Lagrangian falls there.
SLOPING = 1e-3
#: The same where a point is asked if it is a minimum, which methods of barriers end farther from bounds.
NEAR = 1e-2
#: Size of a variable, and of an objective below 0, beyond which a search has left for infinity, Ipopt's own.
FAR = 1e20
#: Part of the largest curvature that a negative one is at least, where a stationary point is told to be no minimum.
CURVED = 1e-8
#: Part of the largest curvature below which one is none: differences of gradients tell no more.
FLAT = 1e-5
#: SLSQP's states where rounding hides that its step leads down or that constraints may hold, and how often it begins
#: again there, with a new Hessian and ten times the tolerance.
ROUNDED, RESTARTS = (4, 8), 4
#: The comparisons that are constraints: the sides of what has to be at most 0, or 0.
_KINDS = {"less": False, "less_equal": False, "equal": True}


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """The solution of a problem, as a solver gave it.

    Parameters
    ----------
    values : dict of str to ndarray
        The variables by name; ``optimum["u"]`` gives one.
    objective : float
    success : bool
    message : str
        The solver's.
    multipliers : tuple of ndarray
        For each constraint as it was written: the rate at which the least value falls as the constraint is loosened by
        one; of equations with the sign of their left side minus the right one.
    violation : float
        The largest violation of a constraint or bound.
    iterations : int
    seconds : float
    method : str
    x : ndarray
        All variables in one vector, where the next search may begin.
    parameters : dict of str to ndarray
    """

    values: dict[str, Floats]
    objective: float
    success: bool
    message: str
    multipliers: tuple[Floats, ...]
    violation: float
    iterations: int
    seconds: float
    method: str
    x: Floats
    parameters: dict[str, Floats]

    @property
    def fun(self) -> float:
        """The objective, as SciPy's results call it."""
        return self.objective

    def __getitem__(self, name: Any) -> Any:  # a variable by its name
        if isinstance(name, Array):
            name = str(name.node.name)
        if name not in self.values:
            raise ArgumentError(f"no variable {name!r:.60}; expected one of {', '.join(self.values)}")
        return self.values[name]

    def __repr__(self) -> str:
        how = self.message if self.success else f"no solution: {self.message}"
        return f"<symdiff.Optimum {self.objective:.6g} by {self.method} in {self.iterations} iterations; {how}>"


class _Declared:
    """A variable that is declared positive, a simplex, symmetric, definite or the like, by its free numbers.

    Parameters
    ----------
    own : Array
        The variable.
    """

    def __init__(self, own: Array) -> None:
        name, self.shape = str(own.node.name), tuple(map(int, own.node.shape))
        self.own, self.transform = own, transform_of(name, self.shape, own.node.assumptions)
        self.free = array(name, self.transform.shape)
        self.formula: Array = asarray(self.transform.constrain(self.free))

    @property
    def is_linear(self) -> bool:
        """True if the free numbers are elements of the variable."""
        return self.transform.jacobian is None

    @cached_property
    def constrain(self) -> Kernel:
        """The variable, of its free numbers."""
        return compile(self.formula, [self.free])

    @cached_property
    def unconstrain(self) -> Kernel:
        """The free numbers, of a variable that is what it is declared to be."""
        return compile(self.transform.unconstrain(self.own), [self.own], validate=True)

    @cached_property
    def slope(self) -> Kernel:
        """The derivative of the variable with respect to its free numbers."""
        return compile(derivatives.jacobian(self.formula, self.free), [self.free])


class OptimizationProblem:
    """An objective and constraints; made by :func:`symdiff.problem`.

    Parameters
    ----------
    minimize : Array
    constraints : sequence of (Node, bool)
        What has to be at most 0, or 0 where the flag is set.
    variables : sequence of Array
    parameters : sequence of Array or SparseMatrix
    bounds : dict of str to (ndarray, ndarray)
    declared : dict of str to _Declared
        The variables that are formulas of free numbers, which ``variables`` has in their place.
    """

    def __init__(
        self,
        minimize: Array,
        constraints: Sequence[tuple[Node, bool]],
        variables: Sequence[Array],
        parameters: Sequence[Array | SparseMatrix],
        bounds: Mapping[str, tuple[Floats, Floats]],
        declared: Mapping[str, _Declared],
    ) -> None:
        self._declared = dict(declared)
        self._names = [str(one.node.name) for one in variables]
        self._parameters = {name_of(one): one for one in parameters}
        #: The inputs that parameters are, and those that are several.
        inputs = {str(part.node.name): part for one in parameters for part in leaves(one)}
        several = {name: one for name, one in self._parameters.items() if isinstance(one, SparseMatrix)}
        self._constraints, self._variables = list(constraints), list(variables)
        self._sizes = [_size(node) for node, _ in constraints]
        self._minimize = minimize
        self._options: dict[str, Any] = {"batch": [], "reduce": None, "backend": "auto", "threads": None}
        wrt = variables[0] if len(variables) == 1 else list(variables)
        self.objective = Objective(minimize, wrt, inputs, None, self._options, groups=several)
        flat = [reshape(to_real(node), (_size(node),)) for node, _ in constraints]
        joined = concatenate(flat, 0) if flat else None
        self.constraints = (
            None if joined is None else Objective(Array(joined), wrt, inputs, None, self._options, groups=several)
        )
        self._inputs, self._several = inputs, several
        self._counts = [_size(one.node) for one in variables]
        ends = [
            bounds.get(name, (np.full(count, -np.inf), np.full(count, np.inf)))
            for name, count in zip(self._names, self._counts, strict=True)
        ]
        self.lower = np.concatenate([low.ravel() for low, _ in ends])
        self.upper = np.concatenate([high.ravel() for _, high in ends])
        self._is_equation = np.repeat([equal for _, equal in constraints], self._sizes).astype(bool)

    def _each(self) -> list[tuple[str, Array]]:
        return list(zip(self._names, self._variables, strict=True))

    # ------------------------------------------------------------------ solving

    @guarded
    def solve(
        self,
        start: Any = None,
        parameters: Mapping[str, Any] | None = None,
        method: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Optimum:
        """Search a minimum.

        Parameters
        ----------
        start : array, dict of arrays by name, or Optimum, optional
            Where the search begins; by default 0, or within the bounds. A solution that was found before begins a
            search with other parameters.
        parameters : dict of str to array, optional
        method : {None, "SLSQP", "trust-constr", "L-BFGS-B", "least_squares", "highs", "ipopt"}
            By default "highs" where constraints are linear and the objective is, or is quadratic and convex and highspy
            is installed, "L-BFGS-B" without constraints, and "SLSQP" for small problems; "ipopt" for others and where
            these find nothing, if ipyopt or cyipopt is installed, else "trust-constr".
            "least_squares" takes a sum of squares, such as ``np.sum(r**2)``, without constraints.
        options : dict, optional
            For the solver.

        Returns
        -------
        Optimum

        Raises
        ------
        ArgumentError, ShapeError
            If a parameter is missing, or the start lies outside of the bounds or has another shape.
        """
        args = self._arguments(parameters)
        x = self._begin(start)
        method = {name.lower(): name for name in _SOLVERS}.get(str(method).lower(), method)  # as SciPy reads it
        if method is not None and method not in _SOLVERS:
            raise ArgumentError(f"method={method!r:.40}; expected one of {', '.join(_SOLVERS)}, or None")
        begun = time.perf_counter()
        first, *others = [method] if method is not None else self._usual()
        best = self._found(first, x, args, options, begun)
        for other in others:
            if not best.success and not self._is_bottomless(best):
                best = self._found(other, x, args, None, begun)
        return best

    def _found(
        self, method: str, x: Floats, args: list[Floats], options: Mapping[str, Any] | None, begun: float
    ) -> Optimum:
        """Return what one solver finds."""
        found = _SOLVERS[method](self, x, args, dict(options or {}))
        x = np.asarray(found.x, float)
        values = self.objective.split(x)
        named = dict(zip(self._names, [values] if len(self._names) == 1 else values, strict=True))
        named |= {name: one.constrain(named[name]) for name, one in self._declared.items()}
        lagrange = found.multipliers
        if lagrange is None:
            lagrange = self._multipliers(x, args) if self._sizes else np.zeros(0)
        multipliers = np.split(lagrange, np.cumsum(self._sizes)[:-1]) if self._sizes else []
        shaped = [part.reshape(node.shape) for part, (node, _) in zip(multipliers, self._constraints, strict=True)]
        violation = self._violation(x, args)
        size = max(1.0, float(np.abs(x).max(initial=0.0)))
        # a solver may stop at the rounding of its objective and call that a failure
        settled = found.success or (self._is_dense and self._residual(x, args, lagrange) <= STATIONARY)
        # beside a steep constraint a small step violates it much
        near = 1e-4 if found.success else 1e-7 * self._steepest(x, args)
        success = bool(settled and violation <= near * size)
        told = dict(zip(self._parameters, args, strict=True))
        least = float(self.objective.fun(x, *args))
        # HiGHS takes convex problems alone
        asked = success and method != "highs"
        doubt = self._unbounded(x, least)
        if asked and not doubt:
            doubt = self._sloping(x, args, lagrange) or self._falling(x, args, lagrange)
        success = success and not doubt
        message = found.message if success else f"{found.message}{doubt or self._worst(x, args, violation)}"
        return Optimum(
            {name: np.array(value) for name, value in named.items()}, least, success, message, tuple(shaped), violation,
            found.iterations, time.perf_counter() - begun, method, x, told,
        )  # fmt: skip

    def _arguments(self, parameters: Mapping[str, Any] | None) -> list[Floats]:
        given = {name_of(name): value for name, value in (parameters or {}).items()}
        unknown = [name for name in given if name not in self._parameters]
        missing = [name for name in self._parameters if name not in given]
        if unknown or missing:
            came = f"unknown: {', '.join(map(str, unknown))}" if unknown else f"missing: {', '.join(missing)}"
            raise ArgumentError(f"parameters {came}; expected {', '.join(self._parameters) or 'none'}")
        return [self._number(name, given[name]) for name in self._parameters]

    def _number(self, name: str, value: Any) -> Any:
        """Return the numbers of a parameter."""
        if name in self._several:
            return self._sparse(name, value)
        if self._inputs[name].node.dtype is not INT:
            return np.asarray(as_floats(name, value), float)
        places = np.asarray(value)
        if places.dtype.kind not in "iu":
            raise ArgumentError(f"the parameter {name} has dtype {places.dtype}; expected positions: whole numbers")
        return places

    def _sparse(self, name: str, value: Any) -> Any:
        """Return a matrix by rows, if it is one of the parameter's shape."""
        from scipy.sparse import issparse

        shape = fixed(self._several[name].shape)
        if not issparse(value) or value.shape != shape:
            raise ArgumentError(
                f"the parameter {name} is {described(value)}; expected a scipy.sparse array, {show(shape or ())}"
            )
        return value.tocsr()

    def _begin(self, start: Any) -> Floats:
        if isinstance(start, Optimum):
            return np.clip(start.x, self.lower, self.upper)
        if start is None:
            return np.clip(np.zeros(len(self.lower)), self.lower, self.upper)
        shapes = {name: fixed(one.shape) or () for name, one in self._each()}
        shapes |= {name: one.shape for name, one in self._declared.items()}
        if not isinstance(start, Mapping):
            flat, counts = np.asarray(as_floats("start", start), float).ravel(), list(map(math.prod, shapes.values()))
            if len(flat) != sum(counts):
                raise ShapeError(f"a start of {len(flat)} numbers; expected {sum(counts)}, those of all variables")
            pieces = np.split(flat, np.cumsum(counts)[:-1])
            start = {name: part.reshape(shapes[name]) for name, part in zip(shapes, pieces, strict=True)}
        given = {name_of(name): value for name, value in start.items()}
        unknown = [str(name) for name in given if name not in self._names]
        if unknown:
            raise ArgumentError(f"a start for {', '.join(unknown)}; expected variables: {', '.join(self._names)}")
        parts = []
        for name, one in self._each():
            part = np.asarray(as_floats(name, given.get(name, np.zeros(shapes[name]))), float)
            if part.shape != shapes[name]:
                raise ShapeError(f"the start of {name} has shape {show(part.shape)}; expected {show(shapes[name])}")
            if name in self._declared:
                part = self._declared[name].unconstrain(part) if name in given else np.zeros(one.shape)
            parts.append(np.ravel(part))
        x = np.concatenate(parts)
        if not np.isfinite(x).all():
            raise ArgumentError(f"the start has {x[~np.isfinite(x)][0]}; expected finite numbers")
        outside = (x < self.lower) | (x > self.upper)
        if outside.any():
            k = int(np.argmax(outside))
            raise ArgumentError(
                f"the start lies outside of the bounds: element {k} is {x[k]:g}; expected one from {self.lower[k]:g} "
                f"to {self.upper[k]:g}"
            )
        return x

    def _usual(self) -> list[str]:
        """Return the solvers that are tried in turn, without being asked for."""
        from importlib.util import find_spec

        if self._degree == 1 and self.constraints is not None:
            return ["highs"]
        quadratic = self._degree == 2 and self.constraints is not None and find_spec("highspy") is not None
        installed = any(find_spec(name) is not None for name in _IPOPTS)
        last = ["ipopt" if installed else "trust-constr"]
        if self.constraints is None:
            return ["L-BFGS-B", *last]
        small = len(self.lower) + len(self._is_equation) <= SMALL
        return [*(["highs"] if quadratic else []), *(["SLSQP"] if small else []), *last]

    @cached_property
    def _degree(self) -> int:
        """The degree of the objective in the variables, 1 or 2, behind constraints that are linear; else 3."""
        own = {one.node for one in self._variables}

        def slopes(formulas: Sequence[Array]) -> list[Array]:
            return [derivatives.jacobian(f, one, disconnected="zero") for f in formulas for one in self._variables]

        def is_constant(formulas: Sequence[Array]) -> bool:
            return own.isdisjoint(inputs_of([formula.node for formula in formulas]))

        if self.constraints is not None and not is_constant(slopes([self.constraints._formula])):
            return 3
        slope = slopes([self._minimize])
        return 1 if is_constant(slope) else 2 if is_constant(slopes(slope)) else 3

    @cached_property
    def _residuals(self) -> Objective:
        """The functions whose squares the objective is twice the sum of."""
        from ..frontend.functions.solutions import squares_in  # few problems need it

        parts = [
            reshape((np.sqrt(np.diagonal(Array(curvature))) * Array(r)).node, (r.shape[0],))
            for r, curvature in squares_in(self._minimize.node, [one.node for one in self._variables])
        ]
        wrt = self._variables[0] if len(self._variables) == 1 else self._variables
        return Objective(Array(concatenate(parts, 0)), wrt, self._inputs, None, self._options, groups=self._several)

    # ------------------------------------------------------------------ what holds at a solution

    @property
    def _is_dense(self) -> bool:
        """True if dense matrices of all constraints by all variables may be made."""
        return len(self.lower) * max(len(self._is_equation), 1) <= DENSE

    def _violation(self, x: Floats, args: Sequence[Floats]) -> float:
        parts = [self.lower - x, x - self.upper]
        if self.constraints is not None:
            g = np.atleast_1d(self.constraints.fun(x, *args))
            parts.append(np.where(self._is_equation, np.abs(g), g))
        return float(max(0.0, *(part.max(initial=0.0) for part in parts)))

    def _steepest(self, x: Floats, args: Sequence[Floats]) -> float:
        """Return the largest slope of a constraint, at least 1."""
        if self.constraints is None or not self._is_dense:
            return 1.0
        return max(1.0, float(np.abs(self.constraints.jac(x, *args)).max(initial=0.0)))

    def _worst(self, x: Floats, args: Sequence[Floats], violation: float) -> str:
        """Name the constraint that is violated most, if one is."""
        if violation == 0.0 or self.constraints is None:
            return ""
        g = np.atleast_1d(self.constraints.fun(x, *args))
        worst = int(np.argmax(np.where(self._is_equation, np.abs(g), g)))
        number = int(np.searchsorted(np.cumsum(self._sizes), worst, side="right"))
        return f"; constraint {number + 1} is violated by {violation:.3g}"

    def _active(
        self, x: Floats, args: Sequence[Floats], margin: float = ACTIVE
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which variables are at no bound, and which constraints are met with equality, within a margin."""
        size = margin * (1.0 + np.abs(x))
        free = (x - self.lower > size) & (self.upper - x > size)
        if self.constraints is None:
            return free, np.zeros(0, bool)
        g = np.atleast_1d(self.constraints.fun(x, *args))
        return free, self._is_equation | (g >= -margin * (1.0 + np.abs(g)))

    def _slopes(self, x: Floats, args: Sequence[Floats], multipliers: Floats) -> tuple[Floats, Floats]:
        """Return the gradients of the objective and of the Lagrangian."""
        slope = np.asarray(self.objective.jac(x, *args), float)
        if self.constraints is None:
            return slope, slope
        return slope, slope + multipliers @ np.reshape(self.constraints.jac(x, *args), (-1, len(x)))

    def _residual(self, x: Floats, args: Sequence[Floats], multipliers: Floats) -> float:
        """Return the largest slope of the Lagrangian along which a variable may move, relative to the objective's."""
        slope, total = self._slopes(x, args, multipliers)
        size = ACTIVE * (1.0 + np.abs(x))
        held = ((x - self.lower <= size) & (total > 0.0)) | ((self.upper - x <= size) & (total < 0.0))
        return float(np.abs(total[~held]).max(initial=0.0) / (1.0 + np.abs(slope).max(initial=0.0)))

    def _sloping(self, x: Floats, args: Sequence[Floats], multipliers: Floats) -> str:
        """Tell a point that is not stationary, where a solver gave up and called that a solution.

        The steepest way down along what holds is the rest of the slope that no multipliers of bounds and constraints
        balance (Moreau 1962). Beside a kink there is one, too, but the objective does not fall along it.
        """
        from scipy.optimize import lsq_linear

        n, active = len(x), self._active(x, args)[1]
        if n + len(active) > SMALL or self._residual(x, args, multipliers) <= SLOPING:
            return ""
        size, slope = ACTIVE * (1.0 + np.abs(x)), np.asarray(self.objective.jac(x, *args), float)
        walls = [-np.eye(n)[x - self.lower <= size], np.eye(n)[self.upper - x <= size]]
        least = np.zeros(len(active))
        if self.constraints is not None:
            walls.insert(0, np.reshape(self.constraints.jac(x, *args), (-1, n))[active])
            least[self._is_equation] = -np.inf
        rows = np.concatenate(walls)
        held = np.concatenate([least[active], np.zeros(len(rows) - int(active.sum()))])
        way = -slope
        if len(rows):
            way = way - lsq_linear(rows.T, -slope, (held, np.inf), method="bvls").x @ rows
        if np.abs(way).max(initial=0.0) <= SLOPING * (1.0 + np.abs(slope).max(initial=0.0)):
            return ""
        for part in (1e-8, 1e-6):
            step = part * (1.0 + np.abs(x).max()) / np.linalg.norm(way)
            gain = self.objective.fun(x, *args) - self.objective.fun(x + step * way, *args)
            if not gain > 0.5 * step * (way @ way):
                return ""
        return f"; this point is not stationary, the objective falls along {self._called(way)}; begin elsewhere"

    @staticmethod
    def _is_bottomless(found: Optimum) -> bool:
        """Tell whether a solver was where constraints hold and the objective is far below what anybody asks for."""
        return found.objective <= -FAR and found.violation <= 1e-7 * max(1.0, np.abs(found.x).max(initial=0.0))

    def _unbounded(self, x: Floats, least: float) -> str:
        """Tell that the search left for infinity, or ended where the objective is no number."""
        most = float(np.abs(x).max(initial=0.0))
        if np.isfinite(least) and least > -FAR and most < FAR:
            return ""
        where = f"where {self._called(x)} is {x[np.argmax(np.abs(x))]:.3g}" if len(x) else ""
        none = (np.isnan(least) or least == np.inf) and most < FAR
        wanted = "parameters and a start with which it has a value" if none else "bounds or constraints that hold it"
        return f"; the objective is {least:.3g} {where}; expected {wanted}"

    def _falling(self, x: Floats, args: Sequence[Floats], multipliers: Floats) -> str:
        """Tell a stationary point that is no minimum: the Lagrangian falls on both sides of it, along the constraints.

        Curvatures are differences of the gradient, since few of those who ask for a minimum need a Hessian compiled.
        """
        free, active = self._active(x, args, NEAR)
        if len(x) + len(active) > SMALL:
            return ""
        # a bound that nothing presses against is one that a search may leave
        first, total = self._slopes(x, args, multipliers)
        free |= np.abs(total) <= STATIONARY * (1.0 + np.abs(first).max(initial=0.0))
        if not free.any():
            return ""

        def slope(at: Floats) -> Floats:
            return self._slopes(at, args, multipliers)[1]

        along = np.eye(len(x))[:, free]
        if active.any():
            assert self.constraints is not None
            normals = np.reshape(self.constraints.jac(x, *args), (-1, len(x)))[np.ix_(active, free)]
            _, sizes, rows = np.linalg.svd(normals)
            rank = int(np.sum(sizes > 1e-10 * sizes.max(initial=0.0)))
            if rank < len(normals):  # the multipliers are not the only ones
                return ""
            along = along @ rows[rank:].T
        # variables that are not at a bound are farther away from it
        step = ACTIVE / 4.0
        half = [slope(x + step * d) - slope(x - step * d) for d in along.T]
        curvature = along.T @ np.reshape(half, (-1, len(x))).T / (2.0 * step)
        if not curvature.size or not np.isfinite(curvature).all():
            return ""
        sizes, vectors = np.linalg.eigh(curvature + curvature.T)
        way = along @ vectors[:, 0]
        beside = [x + side * step * way for side in (1.0, -1.0)]
        falls = [(at - x) @ slope(at) < 0.0 for at in beside if ((self.lower <= at) & (at <= self.upper)).all()]
        if sizes[0] >= -CURVED * np.abs(sizes).max() or not falls or not all(falls):
            flat = vectors[:, np.abs(sizes) <= FLAT * np.abs(sizes).max(initial=1.0)]
            found = next((d for d in (along @ flat).T if not active.any() and self._goes_down(x, args, d)), None)
            if found is None:
                return ""
            way = found
        told = f"the objective falls along {self._called(way)}; begin elsewhere"
        return f"; this point is stationary and no minimum, {told}"

    def _goes_down(self, x: Floats, args: Sequence[Floats], way: Floats) -> bool:
        """Tell whether the objective falls on one side all the way, where its curvature says nothing.

        Of several such directions each is looked at, and no mixture of them.
        """
        size = 1.0 + np.abs(x).max()
        for side in (1.0, -1.0):
            points = [x + side * size * step * way for step in np.geomspace(1e-3, 0.25, 9)]
            inside = all(((self.lower <= point) & (point <= self.upper)).all() for point in points)
            if not inside or max(self._violation(point, args) for point in points) > 0.0:
                continue
            values = np.array([float(self.objective.fun(point, *args)) for point in (x, *points)])
            if (np.diff(values) <= 0.0).all() and values[0] - values[-1] > 1e-5 * (1.0 + abs(values[0])):
                return True
        return False

    def _called(self, x: Floats) -> str:
        """Return the element of largest size by its name."""
        k = int(np.argmax(np.abs(x)))
        which = int(np.searchsorted(np.cumsum(self._counts), k, side="right"))
        place = k - sum(self._counts[:which])
        return self._names[which] + f"[{place}]" * (self._counts[which] > 1)

    def _multipliers(self, x: Floats, args: Sequence[Floats]) -> Floats:
        """Return the multipliers, at which the gradient of the Lagrangian vanishes for all variables at no bound."""
        from scipy.optimize import lsq_linear

        assert self.constraints is not None
        free, active = self._active(x, args)
        slope = self.objective.jac(x, *args)[free]
        matrix = np.reshape(self.constraints.jac(x, *args), (-1, len(x)))[np.ix_(active, free)]
        result = np.zeros(len(active))
        if matrix.size:
            least = np.where(self._is_equation[active], -np.inf, 0.0)
            result[active] = lsq_linear(matrix.T, -slope, (least, np.inf), method="bvls").x
        return result

    @guarded
    def formula(self, start: Any = None) -> dict[str, Array]:
        """Return the solution of a small problem as formulas of the parameters.

        They are compiled over the rows of a batch like any other formula, run natively, and have derivatives of any
        order. The search is the method of multipliers, from one start, with Newton's steps.

        Parameters
        ----------
        start : as of :meth:`solve`
            Where all searches begin.

        Returns
        -------
        dict of str to Array
            The variables by name: nan where no minimum was found, their derivatives where a constraint or bound is
            about to be left.

        Examples
        --------
        >>> import symdiff as sd
        >>> x, a = sd.vector("x", 2), sd.scalar("a")
        >>> nearest = sd.problem((x[0] - a) ** 2 + (x[1] - 1) ** 2, subject_to=[x @ x <= 1], parameters=a)
        >>> point = nearest.formula()["x"]
        >>> sd.compile(point)([1.0, 0.0, -1.0]).round(4)
        array([[ 0.7071,  0.7071],
               [ 0.    ,  1.    ],
               [-0.7071,  0.7071]])
        """
        from ..frontend.functions.constrained import least_within  # few problems need it

        begin = self._begin(start)
        x = array(self.objective._free("variables"), begin.shape)
        pieces = [part.reshape(one.shape) for (_, one), part in zip(self._each(), _split(x, self._counts), strict=True)]
        exchanged = {one.node: part.node for (_, one), part in zip(self._each(), pieces, strict=True)}
        flat = [reshape(to_real(node), (_size(node),)) for node, _ in self._constraints]
        whole = concatenate(flat, 0) if flat else zeros((0,))
        f, sides = substitute([self._minimize.reshape(()).node, whole], exchanged)
        bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        ends = (self.lower, self.upper) if bounded else None
        found = least_within(f, sides, self._is_equation, x.node, begin, ends)
        named = {}
        for (name, one), part in zip(self._each(), _split(found, self._counts), strict=True):
            named[name] = part.reshape(one.shape)
            if name in self._declared:
                own = self._declared[name]
                named[name] = Array(substitute([own.formula.node], {own.free.node: named[name].node})[0])
        return named

    @guarded
    def sensitivity(self, optimum: Optimum, parameter: Any) -> dict[str, Floats]:
        """Return the derivatives of all variables at a solution with respect to a parameter.

        Parameters
        ----------
        optimum : Optimum
        parameter : str or Array

        Returns
        -------
        dict of str to ndarray
            Of shape ``variable + parameter`` each, by the names of the variables (of a sparse matrix by its nonzeros by
            rows): the solution of the linear system
            that the equations of Karush, Kuhn and Tucker are differentiated to, with the same constraints active
            (Fiacco, Introduction to Sensitivity and Stability Analysis, 1983, 3.2). Nan where that system is singular.
        """
        name = name_of(parameter)
        if name not in self._parameters:
            raise ArgumentError(f"no parameter {name!r:.60}; expected one of {', '.join(self._parameters) or 'none'}")
        if name not in self._several and self._inputs[name].node.dtype is INT:
            raise ArgumentError(f"{name} are positions, which are whole numbers; expected a parameter of real numbers")
        args = [optimum.parameters[own] for own in self._parameters]
        x, n = optimum.x, len(optimum.x)
        free, active = self._active(x, args)
        lagrange = self._multipliers(x, args) if self.constraints is not None else np.zeros(0)
        active = active & (self._is_equation | (np.abs(lagrange) > ACTIVE * (1.0 + np.abs(lagrange).max(initial=0.0))))
        curvature = np.reshape(self.objective.hess(x, *args), (n, n))
        slopes = np.zeros((0, n))
        if self.constraints is not None:
            weights = lagrange.reshape(self.constraints._formula.shape)
            curvature = curvature + np.reshape(self.constraints.hess(x, weights, *args), (n, n))
            slopes = np.reshape(self.constraints.jac(x, *args), (-1, n))[active]
        by_x, by_g = self._moved(name, x, args, lagrange)
        matrix = np.block([
            [curvature[np.ix_(free, free)], slopes[:, free].T],
            [slopes[:, free], np.zeros((len(slopes), len(slopes)))],
        ])  # fmt: skip
        right = np.concatenate([by_x[free], by_g[active]])
        result = np.zeros((n, by_x.shape[1]))
        try:
            regular = np.linalg.cond(matrix) < 1e14 if matrix.size else True
            result[free] = -np.linalg.solve(matrix, right)[: free.sum()] if regular else np.nan
        except np.linalg.LinAlgError:
            result[free] = np.nan
        shape = np.shape(optimum.parameters[name]) if name not in self._several else (by_x.shape[1],)
        moved, places = {}, np.cumsum(self._counts)[:-1]
        for (own, one), piece, at in zip(self._each(), np.split(result, places), np.split(x, places), strict=True):
            size = fixed(one.shape) or ()
            if own in self._declared:
                by_free = np.reshape(self._declared[own].slope(at.reshape(size)), (-1, len(piece)))
                moved[own] = (by_free @ piece).reshape((*self._declared[own].shape, *shape))
            else:
                moved[own] = piece.reshape((*size, *shape))
        return moved

    def _moved(self, name: str, x: Floats, args: Sequence[Floats], lagrange: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives by a parameter of the Lagrangian's gradient and of the constraints."""
        n = len(x)
        kernel = self._mixed(name)
        parts = self.objective.split(x)
        given = [*args, *([parts] if len(self._names) == 1 else parts)]
        slope, *rest = kernel(*given, *([lagrange] if self.constraints is not None else []))
        flat = [np.reshape(part, (count, -1)) for part, count in zip(slope, self._counts, strict=True)]
        by_x = np.concatenate(flat)
        by_g = np.reshape(rest[0], (len(lagrange), -1)) if rest else np.zeros((0, by_x.shape[1]))
        assert len(by_x) == n
        return by_x, by_g

    def _mixed(self, name: str) -> Any:
        own, weights = self._parameters[name], []
        parameter = own.data if isinstance(own, SparseMatrix) else own
        whole = self._minimize
        if self.constraints is not None:
            weights = [array(self.objective._free("multipliers"), self.constraints._formula.shape)]
            whole = whole + (self.constraints._formula * weights[0]).sum()
        slopes = [derivatives.gradient(whole, one, disconnected="zero") for one in self._variables]
        mixed: list[Any] = [[derivatives.jacobian(slope, parameter, disconnected="zero") for slope in slopes]]
        if self.constraints is not None:
            mixed.append(derivatives.jacobian(self.constraints._formula, parameter, disconnected="zero"))
        return compile(mixed, [*self._parameters.values(), *self._variables, *weights])

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {show(one.shape)}" for name, one in self._each())
        count = len(self._is_equation)
        equations = int(self._is_equation.sum())
        return f"<symdiff.OptimizationProblem of {shapes}; {count} constraints, {equations} of them equations>"

    def _repr_html_(self) -> str:
        rows = [("minimize", Typeset(self._minimize.latex())), ("variables", ", ".join(self._names))]
        return table([*rows, ("constraints", str(len(self._is_equation)))])


class _Found(NamedTuple):
    """The result of a solver."""

    x: Any
    success: bool
    message: str
    iterations: int
    multipliers: Floats | None = None


# ---------------------------------------------------------------------------- solvers


def _by_minimize(method: str) -> Any:
    def run(self: OptimizationProblem, x: Floats, args: Sequence[Floats], options: dict[str, Any]) -> _Found:
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        more: dict[str, Any] = {"bounds": Bounds(self.lower, self.upper)} if bounded else {}
        f, g = self.objective, self.constraints
        if g is not None and method == "SLSQP":
            kinds = [("ineq", ~self._is_equation, -1.0), ("eq", self._is_equation, 1.0)]
            more["constraints"] = [
                {
                    "type": kind,
                    "fun": lambda x, rows=rows, sign=sign: sign * np.atleast_1d(g.fun(x, *args))[rows],
                    "jac": lambda x, rows=rows, sign=sign: sign * np.reshape(g.jac(x, *args), (-1, len(x)))[rows],
                }
                for kind, rows, sign in kinds
                if rows.any()
            ]
        elif g is not None and method == "trust-constr":
            more["constraints"] = NonlinearConstraint(
                lambda x: np.atleast_1d(g.fun(x, *args)),
                np.where(self._is_equation, 0.0, -np.inf),
                np.zeros(len(self._is_equation)),
                jac=lambda x: np.reshape(g.jac(x, *args), (-1, len(x))),
                hess=lambda x, v: g.hess(x, v.reshape(g._formula.shape), *args),
            )
        elif g is not None:
            raise ArgumentError(f"method={method!r} of a problem with constraints; expected 'SLSQP' or 'trust-constr'")
        if method == "trust-constr":
            more["hess"] = lambda x: f.hess(x, *args)
            # without a bound its region grows until SciPy's own error
            more["callback"] = lambda x, state: bool(state.fun <= -FAR or np.abs(x).max(initial=0.0) >= FAR)
        defaults: dict[str, dict[str, Any]] = {
            "SLSQP": {"ftol": 1e-12, "maxiter": 1000}, "L-BFGS-B": {"ftol": 1e-15, "gtol": 1e-10}
        }  # fmt: skip
        defaults["trust-constr"] = {"gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-10, "maxiter": 3000}
        if g is not None:  # a Jacobian without full rank is factorized by singular values anyway, behind a warning
            defaults["trust-constr"]["factorization_method"] = "SVDFactorization"
        given, turns = {**defaults[method], **options}, 0
        for _ in range(1 + RESTARTS):
            found = minimize(
                lambda x: f.fun(x, *args), x, jac=lambda x: f.jac(x, *args), method=method, options=given, **more
            )
            x, turns = found.x, turns + int(found.nit)
            if method != "SLSQP" or found.status not in ROUNDED:
                break
            given["ftol"] *= 10.0
        return _Found(found.x, bool(found.success), str(found.message), turns)

    return run


def _by_highs(self: OptimizationProblem, x: Floats, args: Sequence[Floats], options: dict[str, Any]) -> _Found:
    from scipy.optimize import linprog

    if self._degree == 3:
        raise UnsupportedError(
            "method='highs' of a problem that is not linear, or quadratic with linear constraints; expected 'SLSQP' or "
            "'trust-constr'"
        )
    if self._degree == 2:
        return _by_highspy(self, x, args, options)
    nothing, rows = np.zeros(len(x)), self._is_equation
    parts: dict[str, Any] = {}
    if self.constraints is not None:
        matrix = np.reshape(self.constraints.jac(nothing, *args), (-1, len(x)))
        right = -np.atleast_1d(self.constraints.fun(nothing, *args))
        parts = {"A_ub": matrix[~rows], "b_ub": right[~rows], "A_eq": matrix[rows], "b_eq": right[rows]}
    slope = self.objective.jac(nothing, *args)
    bounds = np.stack([self.lower, self.upper], axis=1)
    found = linprog(slope, bounds=bounds, method="highs", options=options, **parts)
    return _Found(x if found.x is None else found.x, bool(found.success), str(found.message), int(found.nit))


def _by_highspy(self: OptimizationProblem, x: Floats, args: Sequence[Any], options: dict[str, Any]) -> _Found:
    """Minimize a convex quadratic function with linear constraints; SciPy's functions take none of these to HiGHS."""
    try:
        highspy = import_module("highspy")
    except ImportError:
        raise UnsupportedError(
            "method='highs' of a quadratic problem without highspy; expected pip install highspy, or another method"
        ) from None
    from scipy.sparse import csc_array, csr_array

    n, m, nothing = len(self.lower), len(self._is_equation), np.zeros(len(self.lower))
    matrix, right = csr_array((m, n)), np.zeros(0)
    if self.constraints is not None:
        matrix = csr_array(np.reshape(self.constraints.jac(nothing, *args), (m, n)))
        right = -np.atleast_1d(self.constraints.fun(nothing, *args))
    lower = csc_array(np.tril(np.reshape(self.objective.hess(nothing, *args), (n, n))))
    model, solver = highspy.HighsModel(), highspy.Highs.__new__(highspy.Highs)
    super(highspy.Highs, solver).__init__()  # its own prints a banner as it sets callbacks, which nobody needs here
    model.lp_.num_col_, model.lp_.num_row_, model.hessian_.dim_ = n, m, n
    slope = self.objective.jac(nothing, *args)
    model.lp_.col_cost_, model.lp_.col_lower_, model.lp_.col_upper_ = slope, self.lower, self.upper
    model.lp_.row_lower_, model.lp_.row_upper_ = np.where(self._is_equation, right, -np.inf), right
    model.lp_.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.hessian_.format_ = highspy.HessianFormat.kTriangular
    for part, own in ((model.lp_.a_matrix_, matrix), (model.hessian_, lower)):
        part.start_, part.index_, part.value_ = own.indptr, own.indices, own.data
    for key, value in {"output_flag": False, **options}.items():
        solver.setOptionValue(key, value)
    solver.passModel(model)
    solver.run()
    status, told = solver.getModelStatus(), solver.getInfo()
    found, message = solver.getSolution(), f"HiGHS: {solver.modelStatusToString(status)}"
    # variables that nothing depends on stay where they are
    matters = np.diff(csc_array(matrix).indptr) + np.diff(lower.indptr) + np.diff(lower.tocsr().indptr) + (slope != 0.0)
    return _Found(
        np.where(matters, found.col_value, x), status == highspy.HighsModelStatus.kOptimal, message,
        int(told.qp_iteration_count), -np.array(found.row_dual),
    )  # fmt: skip


def _by_least_squares(self: OptimizationProblem, x: Floats, args: Sequence[Floats], options: dict[str, Any]) -> _Found:
    from scipy.optimize import least_squares

    if self.constraints is not None:
        raise ArgumentError("method='least_squares' of a problem with constraints; expected bounds alone, or 'SLSQP'")
    r = self._residuals
    found = least_squares(
        lambda x: r.fun(x, *args), x, lambda x: np.reshape(r.jac(x, *args), (-1, len(x))), (self.lower, self.upper),
        **{"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-12, "x_scale": "jac", **options},
    )  # fmt: skip
    return _Found(found.x, bool(found.success), str(found.message), int(found.nfev))


def _by_ipopt(self: OptimizationProblem, x: Floats, args: Sequence[Floats], options: dict[str, Any]) -> _Found:
    own = self.objective.ipopt(x, args=args, constraints=self.constraints, constraint_args=args)
    m = len(self._is_equation)
    least, most = np.where(self._is_equation, 0.0, -2e19), np.zeros(m)
    low, high = np.maximum(self.lower, -2e19), np.minimum(self.upper, 2e19)
    given = {"print_level": 0, "sb": "yes", "tol": 1e-9, **options}
    for name, run in _IPOPTS.items():
        try:
            module = import_module(name)
        except ImportError:
            continue
        return run(module, own, x, (low, high, least, most), given)
    raise UnsupportedError("method='ipopt' without Ipopt; expected pip install ipyopt, or another method")


def _by_ipyopt(module: Any, own: Any, x: Floats, ends: Sequence[Floats], options: dict[str, Any]) -> _Found:
    low, high, least, most = ends

    def written(function: Any) -> Any:
        return lambda *given: np.copyto(given[-1], function(*given[:-1]))

    turns = [0]

    def count(*_: Any) -> bool:
        turns[0] += 1
        return True

    problem = module.Problem(
        len(x), low, high, len(least), least, most, own.jacobianstructure(), own.hessianstructure(), own.objective,
        written(own.gradient), written(own.constraints), written(own.jacobian), written(own.hessian), count,
        ipopt_options=options,
    )  # fmt: skip
    multipliers = np.zeros(len(least))
    found, _, status = problem.solve(x.copy(), mult_g=multipliers)
    message = _STATUS.get(status, f"status {status}")
    return _Found(found, status in (0, 1), message, max(turns[0] - 1, 0), multipliers)


def _by_cyipopt(module: Any, own: Any, x: Floats, ends: Sequence[Floats], options: dict[str, Any]) -> _Found:
    low, high, least, most = ends
    solver = module.Problem(n=len(x), m=len(least), problem_obj=own, lb=low, ub=high, cl=least, cu=most)
    for key, value in options.items():
        solver.add_option(key, value)
    found, told = solver.solve(x)
    status = told["status"]
    return _Found(found, status in (0, 1), _STATUS.get(status, f"status {status}"), 0, np.asarray(told["mult_g"]))


#: The packages of Ipopt: ipyopt has wheels that hold it, cyipopt is built against one.
_IPOPTS = {"ipyopt": _by_ipyopt, "cyipopt": _by_cyipopt}
#: Meanings of Ipopt's codes (IpReturnCodes.h).
_STATUS = {
    0: "solved",
    1: "solved to an acceptable level",
    2: "converged to a point of local infeasibility",
    3: "steps became too small",
    4: "iterates diverge",
    -1: "the most iterations were taken",
    -2: "the restoration of feasibility failed",
    -3: "a step could not be computed",
    -10: "fewer variables than equations",
    -11: "the problem is not defined well",
    -13: "a value is not a number",
}
_SOLVERS = {
    **{method: _by_minimize(method) for method in ("SLSQP", "trust-constr", "L-BFGS-B")},
    "least_squares": _by_least_squares,
    "highs": _by_highs,
    "ipopt": _by_ipopt,
}


# ---------------------------------------------------------------------------- what comes


@guarded
@budgeted
def problem(
    minimize: Any,
    subject_to: Any = (),
    variables: Any = None,
    bounds: Mapping[Any, Any] | None = None,
    parameters: Any = (),
    *,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> OptimizationProblem:
    """Return an optimization problem, whose derivatives are compiled and which solvers are given.

    Parameters
    ----------
    minimize : str, SymPy expression or Array
        A scalar formula.
    subject_to : comparison of formulas, or list of them, optional
        Such as ``x[0] + x[1] <= 1`` and ``np.sum(x) == a``, element by element for arrays;
        ``(0 <= x) & (x <= 1)`` is two.
    variables : symbol or name, or list of them, optional
        By default all that the formulas depend on, but for parameters. Others count too: the formulas need not depend
        on all. One that is declared positive, between two numbers, ordered, a simplex, a correlation or positive
        definite stays so at every point: solvers move numbers without bounds, of which it is an exponential, a softmax
        or a product of Cholesky factors. Of one that is declared symmetric, skew, diagonal or triangular they move the
        free entries.
    bounds : dict, optional
        By symbol or name: a pair of the least and the greatest values, None for none.
    parameters : symbol or name, or list of them, optional
        What a call of ``solve`` brings; what the formulas depend on besides the variables is one as well.
    shapes, functions, budget, **named_shapes
        As of :func:`symdiff.compile`.

    Returns
    -------
    OptimizationProblem
        With ``solve(start=, parameters=, method=)``, ``sensitivity(optimum, parameter)``, and the functions of
        ``objective`` and ``constraints``, which are :func:`symdiff.objective`'s.

    Raises
    ------
    ArgumentError
        If a constraint is no comparison, or a variable or parameter no symbol.
    ShapeError
        If the objective is no scalar, or a bound does not fit its variable.

    Examples
    --------
    >>> import symdiff as sd
    >>> x, a = sd.vector("x", 2), sd.scalar("a")
    >>> p = problem(x @ x, subject_to=[x[0] + x[1] == a], bounds={x: (0.0, None)}, parameters=a)
    >>> best = p.solve(start=[0.5, 0.5], parameters={"a": 2.0})
    >>> best["x"].round(8)
    array([1., 1.])
    >>> p.sensitivity(best, a)["x"].round(8)
    array([0.5, 0.5])
    >>> problem("x @ x", ["x[0] + x[1] == 2", "x[0] <= 0.5"], "x", x=2).solve()["x"].round(8)
    array([0.5, 1.5])
    """
    read = read_formula([minimize, *_listed(subject_to)], merge_shapes(shapes, named_shapes), _OPTIONS, functions)
    minimize, *comparisons = read.value
    variables, parameters = (_wanted(read, one) for one in (variables, parameters))
    read.refuse_unused()
    if not isinstance(minimize, Array):
        raise ArgumentError(f"minimize={described(minimize)}; expected one formula")
    if minimize.shape not in ((), (1, 1)):
        raise ShapeError(f"minimize of shape {show(minimize.shape)}; expected a scalar, as np.sum(f) is")
    constraints = [each for k, one in enumerate(comparisons) for each in _constraint(one, k)]
    given = [one if isinstance(one, SparseMatrix) else _symbol(one, "parameters", True) for one in _listed(parameters)]
    known = inputs_of([minimize.node, *(node for node, _ in constraints)])
    own = [part.node for one in given for part in leaves(one)]
    for node in known:
        if node not in own and node.shape == (letter(f"{node.name}_nonzeros"),):
            came = f"the sparse matrix {node.name} is among no parameters"
            raise ArgumentError(f"{came}; expected parameters=[{node.name}], which a call of solve brings")
    wanted = (
        [Array(node) for node in known if node not in own and node.dtype is REAL]
        if variables is None
        else [_symbol(one, "variables") for one in _listed(variables)]
    )
    given += [Array(node) for node in known if node not in own and all(node is not one.node for one in wanted)]
    if not wanted:
        raise ArgumentError("a problem without variables; expected symbols that the solver may move")
    whole: list[Array | SparseMatrix] = [*wanted, *(one for one in given if isinstance(one, SparseMatrix))]
    for one in whole:
        if fixed(one.shape) is None:
            what = "a variable" if isinstance(one, Array) else "a sparse matrix"
            raise ShapeError(
                f"{name_of(one)} has shape {show(one.shape)}; expected numbers for the sizes of {what} in a problem, "
                "as sd.vector('x', 3) has (other parameters may have letters)"
            )
    named = {str(one.node.name): one for one in wanted}
    declared = {name: _Declared(one) for name, one in named.items() if one.node.assumptions != NOTHING_KNOWN}
    ends = {}
    if not isinstance(bounds or {}, Mapping):
        form = f"{{{next(iter(named))!r}: (0, None)}}"
        raise ArgumentError(f"bounds={described(bounds)}; expected a dict, such as {form}")
    for key, pair in (bounds or {}).items():
        name = str(key.node.name) if isinstance(key, Array) and key.node.is_input else name_of(key)
        if name not in named:
            raise ArgumentError(f"bounds of {name!r:.60}; expected variables: {', '.join(named)}")
        ends[name] = _ends(pair, name, named[name].shape)
        if name in declared:
            if not declared[name].is_linear:
                came = f"bounds of {name}, which is declared {' and '.join(words(named[name].node.assumptions))}"
                raise ArgumentError(f"{came}; expected one of both, or a constraint in subject_to")
            take: Any = declared[name].transform.unconstrain
            ends[name] = take(ends[name][0]), take(ends[name][1])
    exchanged = {one.own.node: one.formula.node for one in declared.values()}
    value, *sides = substitute([minimize.node, *(node for node, _ in constraints)], exchanged)
    constraints = [(side, is_equation) for side, (_, is_equation) in zip(sides, constraints, strict=True)]
    wanted = [declared[name].free if name in declared else one for name, one in named.items()]
    return OptimizationProblem(Array(value), constraints, wanted, given, ends, declared)


def _split(x: Array, counts: Sequence[int]) -> list[Array]:
    """Return the parts of a vector, one behind the other."""
    ends = np.cumsum(counts)
    return [x[end - count : end] for end, count in zip(ends.tolist(), counts, strict=True)]


#: Keywords besides names of inputs.
_OPTIONS = ("subject_to", "variables", "bounds", "parameters", "shapes", "functions", "budget")


def _wanted(read: Formula, chosen: Any) -> Any:
    """Return symbols for names and symbols of SymPy."""
    named = symbols_in(chosen) or chosen
    return read.variables(named) if any(isinstance(one, str) or is_sympy(one) for one in _listed(named)) else chosen


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _symbol(value: Any, what: str, positions: bool = False) -> Array:
    kinds = (REAL, INT) if positions else (REAL,)
    if not isinstance(value, Array) or not value.node.is_input or value.node.dtype not in kinds:
        raise ArgumentError(f"{described(value)} among the {what}; expected symbols, as sd.vector('x', 3) makes them")
    return value


def _constraint(value: Any, k: int) -> list[tuple[Node, bool]]:
    """Return what has to be at most 0, or 0, of a comparison, or of several with ``&`` between them."""
    node = asarray(value).node if isinstance(value, Array) else None
    if node is not None and node.op == "logical_and":
        return [each for part in node.args for each in _constraint(Array(part), k)]
    if node is None or node.dtype is not BOOL or node.op not in _KINDS:
        raise ArgumentError(
            f"constraint {k + 1} is {described(value)}; expected one comparison, f <= g, f >= g or f == g, and a list "
            "of several"
        )
    low, high = map(Array, node.args)
    return [((low - high).node, _KINDS[node.op])]


def _ends(pair: Any, name: str, shape: Any) -> tuple[Floats, Floats]:
    """Return the bounds of one variable, in its shape."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ArgumentError(f"bounds of {name}: {described(pair)}; expected a pair, the least and the greatest values")
    ends = []
    for end, infinite in zip(pair, (-np.inf, np.inf), strict=True):
        values = np.asarray(as_floats(f"a bound of {name}", infinite if end is None else end), float)
        if values.shape not in ((), shape):
            raise ShapeError(f"a bound of {name} has shape {show(values.shape)}; expected {show(shape)}, or one number")
        ends.append(np.broadcast_to(values, shape))
    if not (ends[0] <= ends[1]).all():
        raise ArgumentError(f"bounds of {name} that nothing is between; expected the least first, then the greatest")
    return ends[0], ends[1]


def _size(node: Node) -> int:
    sizes = fixed(node.shape)
    if sizes is None:
        raise ShapeError(
            f"a constraint of shape {show(node.shape)}; expected numbers for sizes in constraints, so that solvers "
            "know how many there are: give its symbols numbers for sizes"
        )
    return int(np.prod(sizes))
