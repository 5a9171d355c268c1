"""A formula and its constraints as Ipopt takes them: values, and the nonzeros of derivatives in a fixed order.

cyipopt asks an object for these by name. Where nonzeros stand it asks once, before the first point, and takes the
Jacobian of the constraints and the lower triangle of the Lagrangian's Hessian as triplets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, ShapeError, SingularMatrixError, UnsupportedError
from ...frontend import derivatives
from ...frontend.array import Array
from ...frontend.symbols import array
from ...ground.guard import guarded
from ...runtime.calls.arguments import as_floats
from ...runtime.kernel import Kernel

__all__ = ["IpoptProblem"]

#: An :class:`~symdiff.libraries.integrations.objective.Objective`, which makes problems and so imports this module.
Objective: TypeAlias = Any
Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[Any]]


class _Nonzeros(NamedTuple):
    """A kernel of one matrix of nonzeros, and where those stand that are given.

    Parameters
    ----------
    kernel : Kernel
        Gives a ``coo_array``.
    positions : (rows, columns)
    kept : ndarray of bool or None
        Which of its nonzeros these are; None for all.
    """

    kernel: Kernel
    positions: Positions
    kept: npt.NDArray[np.bool_] | None

    def values(self, inputs: Sequence[Any]) -> Floats:
        """Return the nonzeros at a point, nan where a matrix is singular."""
        try:
            data: Floats = np.asarray(self.kernel(*inputs).data, np.float64)
        except SingularMatrixError:
            return np.full(self.positions[0].size, np.nan)
        return data if self.kept is None else data[self.kept]


class _Merged(NamedTuple):
    """Where the nonzeros of a sum of two matrices stand, and the numbers of those that the first and the second has."""

    positions: Positions
    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]


def _nonzeros(kernel: Kernel, inputs: Sequence[Any], lower: bool) -> _Nonzeros:
    """Return the nonzeros of a kernel's matrix, or those of its lower triangle; one point tells where they stand."""
    rows, columns = kernel(*inputs).coords
    kept = rows >= columns if lower else None
    if kept is None or kept.all():
        return _Nonzeros(kernel, (rows, columns), None)
    return _Nonzeros(kernel, (rows[kept], columns[kept]), kept)


def _second(own: Objective, scalar: Callable[[], Array], more: Sequence[Array]) -> Kernel:
    """Return the kernel of the lower triangle of the Hessian of a scalar by the variables of an objective."""

    def make() -> Any:
        symbols = own._symbols
        if len(symbols) == 1 and len(symbols[0].node.shape) == 1:
            whole = derivatives.hessian(scalar(), symbols[0], disconnected="zero")
            return own._compiled(whole, more, "coo", "lower")
        wrt = symbols[0] if len(symbols) == 1 else tuple(symbols)
        return own._compiled(derivatives.hessian(scalar(), wrt, disconnected="zero", joined=True), more, "coo")

    kernel: Kernel = own.shared("curvatures" if more else "curvature", make)
    return kernel


class IpoptProblem:
    """What ``cyipopt.Problem`` takes as ``problem_obj``; made by :meth:`symdiff.Objective.ipopt`.

    At a point where a matrix is singular, values are nan: Ipopt takes a shorter step then.

    Parameters
    ----------
    f : Objective
        Of a scalar formula.
    x0 : array_like
        Where the solver begins; says the sizes.
    args : sequence
        The other inputs of the formula.
    g : Objective, optional
        The constraints: a formula of the same variables.
    g_args : sequence
        The other inputs of that.

    Attributes
    ----------
    n, m : int
        Numbers of variables and of constraints.
    x0 : ndarray

    Raises
    ------
    ArgumentError, ShapeError, UnsupportedError
        If the formula is no scalar, has a time, or the constraints have other variables.

    Examples
    --------
    >>> import symdiff as sd
    >>> f = sd.objective("x[0]*x[3]*(x[0] + x[1] + x[2]) + x[2]", "x", x=4)
    >>> g = sd.objective("stack([prod(x), x @ x])", "x", x=4)
    >>> problem = f.ipopt([1.0, 5.0, 5.0, 1.0], constraints=g)
    >>> problem.m, problem.jacobian([1.0, 5.0, 5.0, 1.0])
    (2, array([25.,  5.,  5., 25.,  2., 10., 10.,  2.]))
    """

    def __init__(
        self, f: Objective, x0: Any, args: Sequence[Any], g: Objective | None, g_args: Sequence[Any]
    ) -> None:
        if not f.is_scalar:
            raise UnsupportedError("a problem for Ipopt whose objective has several numbers; expected a scalar formula")
        if f._time is not None or (g is not None and g._time is not None):
            raise UnsupportedError("a problem for Ipopt of a formula with a time; expected sd.objective without time=")
        if any(one is not None and one._variables.facts is not None for one in (f, g)):
            raise UnsupportedError("a problem for Ipopt of free entries; expected sd.objective without free=True")
        if g is not None and [one.node for one in g._symbols] != [one.node for one in f._symbols]:
            told = [", ".join(map(str, one._variables.names)) for one in (f, g)]
            raise ArgumentError(
                f"the objective is of {told[0]} and the constraints of {told[1]}; expected the same variables, of the "
                "same shapes and in the same order"
            )
        for one, own, what in ((f, args, "args"), (g, g_args, "constraint_args")):
            names = () if one is None else one.args
            if len(own) != len(names):
                raise ArgumentError(f"{what} holds {len(own)} inputs; expected {', '.join(names) or 'none'}")
        self._f, self._args, self._g, self._g_args = f, tuple(args), g, tuple(g_args)
        self.x0 = np.array(as_floats("x0", x0), np.float64)
        self.n = self.x0.size
        sizes = f._inputs(None, self.x0, self._args)[1]
        self._shape: tuple[int, ...] = (0,)  # of the constraints' formula
        if g is not None:
            inputs, own_sizes = g._inputs(None, self.x0, self._g_args)
            if own_sizes != sizes:
                raise ShapeError("variables have other sizes in the constraints than in the objective")
            self._shape = np.shape(g._value(*inputs))
        self.m = math.prod(self._shape)
        self._slope = f.jac  # from now on, value and gradient come from one kernel

    # ------------------------------------------------------------------ what cyipopt calls

    @guarded
    def objective(self, x: Any) -> float:
        """Return the value at ``x``."""
        return float(_unless_singular(lambda: self._f.fun(x, *self._args), ()))

    @guarded
    def gradient(self, x: Any) -> Floats:
        """Return the gradient at ``x``, shape (n,)."""
        return _unless_singular(lambda: self._slope(x, *self._args), (self.n,))

    @guarded
    def constraints(self, x: Any) -> Floats:
        """Return the values of the constraints at ``x``, shape (m,)."""
        g = self._g
        if g is None:
            return np.empty(0)
        return np.atleast_1d(_unless_singular(lambda: g.fun(x, *self._g_args), (self.m,)))

    @guarded
    def jacobianstructure(self) -> Positions:
        """Return rows and columns of the nonzeros of the Jacobian of the constraints."""
        return _nowhere() if self._g is None else self._slopes.positions

    @guarded
    def jacobian(self, x: Any) -> Floats:
        """Return the values of these."""
        return np.empty(0) if self._g is None else self._slopes.values(self._g._inputs(None, x, self._g_args)[0])

    @guarded
    def hessianstructure(self) -> Positions:
        """Return rows and columns of the lower triangle of the Hessian of the Lagrangian, each position once."""
        return self._curvature.positions if self._g is None else self._merged.positions

    @guarded
    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> Floats:
        """Return the values of these: ``obj_factor`` times the objective's, and the constraints' with weights.

        Parameters
        ----------
        x : ndarray, shape (n,)
        lagrange : ndarray, shape (m,)
        obj_factor : float
        """
        own = float(obj_factor) * self._curvature.values(self._f._inputs(None, x, self._args)[0])
        if self._g is None:
            return own
        weights = np.asarray(as_floats("lagrange", lagrange), np.float64)
        if weights.size != self.m:
            raise ShapeError(f"lagrange has {weights.size} numbers; expected {self.m}, one for each constraint")
        inputs = self._g._inputs(None, x, self._g_args)[0]
        merged = self._merged
        total = np.zeros(merged.positions[0].size)
        total[merged.first] = own
        total[merged.second] += self._curvatures.values([*inputs, weights.reshape(self._shape)])
        return total

    # ------------------------------------------------------------------ kernels

    @cached_property
    def _curvature(self) -> _Nonzeros:
        inputs = self._f._inputs(None, self.x0, self._args)[0]
        return _nonzeros(_second(self._f, lambda: self._f._formula.reshape(()), []), inputs, True)

    @cached_property
    def _curvatures(self) -> _Nonzeros:
        g = self._g
        assert g is not None
        weights = array(g._free("v"), g._formula.shape)
        inputs = [*g._inputs(None, self.x0, self._g_args)[0], np.zeros(self._shape)]
        return _nonzeros(_second(g, (g._formula * weights).sum, [weights]), inputs, True)

    @cached_property
    def _slopes(self) -> _Nonzeros:
        g = self._g
        assert g is not None

        def make() -> Any:
            formula = g._formula.reshape((1,)) if g.is_scalar else g._formula
            whole = derivatives.jacobian([formula], list(g._symbols), disconnected="zero")
            return g._compiled(whole, [], "coo")

        return _nonzeros(g.shared("slopes", make), g._inputs(None, self.x0, self._g_args)[0], False)

    @cached_property
    def _merged(self) -> _Merged:
        both = [self._curvature.positions, self._curvatures.positions]
        numbers = [rows.astype(np.int64) * self.n + columns for rows, columns in both]
        every, places = np.unique(np.concatenate(numbers), return_inverse=True)
        first, second = np.split(places, [numbers[0].size])
        kind = both[0][0].dtype
        return _Merged(((every // self.n).astype(kind), (every % self.n).astype(kind)), first, second)


def _unless_singular(function: Callable[[], Any], shape: tuple[int, ...]) -> Floats:
    """Return what a function gives, nan in its place where a matrix is singular."""
    try:
        return np.asarray(function(), np.float64)
    except SingularMatrixError:
        return np.full(shape, np.nan)


def _nowhere() -> Positions:
    return np.empty(0, np.int32), np.empty(0, np.int32)
