"""Log densities as samplers and optimizers take them: functions of one vector of free numbers.

A declared variable is a formula of free numbers, with its Jacobian. Each element is transformed first, and the free
elements are then put into the array; a simplex, an ordered vector, a positive definite matrix and a correlation have
transforms of their own. A density with respect to free numbers is that of the variable times the absolute Jacobian
determinant, by which it integrates to one; of a simplex with respect to all elements but the last, of a matrix to its
free entries. Transforms are those of Stan's reference manual, "Constraint transforms", but for the simplex, whose last
free number is 0 and which is a softmax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiler import compile
from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..frontend import derivatives
from ..frontend.array import Array
from ..frontend.display import table
from ..frontend.formula import merge_shapes, read_formula
from ..frontend.outputs import leaves
from ..frontend.shapes import words
from ..frontend.symbols import Operations, vector
from ..frontend.sympy import symbols_in
from ..graph import REAL, substitute
from ..graph.dump import record_text
from ..graph.primitives import NOTHING_KNOWN, Assumptions
from ..graph.sizes import fixed, show
from ..ground.budget import budgeted
from ..ground.guard import guarded
from ..ground.limits import Budget
from ..runtime.calls.arguments import as_floats
from ..runtime.kernel import Kernel
from .variables import free_positions, mirrored, name_of

__all__ = ["Density", "Transform", "density", "transform_of"]


_sd = Operations()


class Transform(NamedTuple):
    """A variable as a formula of free numbers.

    Parameters
    ----------
    shape : tuple of int
        Of the free numbers.
    constrain : callable
        Return the variable, of free numbers.
    jacobian : callable
        Return the logarithm of the absolute Jacobian determinant, of free numbers; None where it is 0.
    unconstrain : callable
        Return the free numbers, of the variable.
    """

    shape: tuple[int, ...]
    constrain: Callable[[Array], Any]
    jacobian: Callable[[Array], Any] | None
    unconstrain: Callable[[Array], Any]

    def __repr__(self) -> str:
        return record_text(self)


def transform_of(name: str, shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of a variable.

    Raises
    ------
    UnsupportedError
        If no transform is known for what is declared.
    """
    declared = {fact for fact, holds in facts._asdict().items() if holds}
    for own, (implied, make) in _OWN.items():
        if own in declared and declared <= {own, *implied}:
            return make(shape, facts)
    if declared & {"orthogonal", "ordered", "simplex", "correlation"} or (facts.definite and not facts.diagonal):
        raise UnsupportedError(
            f"{name} is declared {' and '.join(words(facts))}, for which no transform is offered; expected one of: "
            "positive, between, simplex, ordered, positive definite, correlation, or a symmetric, skew, diagonal or "
            "triangular matrix"
        )
    return _of_elements(shape, facts)


# ---------------------------------------------------------------------------- elements


def _of_elements(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of free entries each of which is transformed alone."""
    low, high = facts.between or ((0.0, math.inf) if facts.positive or facts.definite else (-math.inf, math.inf))
    if low > -math.inf and high < math.inf:
        width = high - low
        one = Transform(
            shape,
            lambda u: _moved(low, _sd.sigmoid(u) if width == 1.0 else width * _sd.sigmoid(u)),
            lambda u: _moved(math.log(width) * u.size, -np.sum(_sd.softplus(u) + _sd.softplus(-u))),
            lambda x: np.log(_moved(-low, x)) - np.log(high - x),
        )
    elif low > -math.inf:
        one = Transform(shape, lambda u: _moved(low, np.exp(u)), np.sum, lambda x: np.log(_moved(-low, x)))
    elif high < math.inf:
        one = Transform(shape, lambda u: high - np.exp(u), np.sum, lambda x: np.log(high - x))
    else:
        one = Transform(shape, lambda u: u, None, lambda x: x)
    if not facts.space:
        return one
    places = _Places(shape, facts)
    return Transform(
        places.free, lambda u: places.put(one.constrain(u)), one.jacobian, lambda x: one.unconstrain(places.take(x))
    )


def _moved(by: float, x: Any) -> Any:
    return by + x if by else x


# ---------------------------------------------------------------------------- last axes


def _of_simplex(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    free = (*shape[:-1], shape[-1] - 1)

    def full(u: Array) -> Any:
        return np.concatenate([u, np.zeros((*shape[:-1], 1))], axis=-1)

    return Transform(
        free,
        lambda u: _sd.softmax(full(u), axis=-1),
        lambda u: np.sum(_sd.log_softmax(full(u), axis=-1)),
        lambda x: np.log(x[..., :-1]) - np.log(x[..., -1:]),
    )


def _of_ordered(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    free = 0 if facts.positive else 1  # elements in front that are no exponentials
    return Transform(
        shape,
        lambda u: np.cumsum(np.concatenate([u[..., :free], np.exp(u[..., free:])], axis=-1), axis=-1),
        lambda u: np.sum(u[..., free:]),
        lambda x: np.concatenate([x[..., :free], np.log(x[..., free:1]), np.log(np.diff(x, axis=-1))], axis=-1),
    )


# ---------------------------------------------------------------------------- matrices


class _Places:
    """Free entries of matrices, and the places where they stand."""

    def __init__(self, shape: tuple[int, ...], facts: Assumptions, across: float | None = None) -> None:
        n = shape[-1]
        self.positions = free_positions(shape[-2:], facts)
        self.free = (*shape[:-2], len(self.positions))
        self.rows, self.columns = np.divmod(self.positions, n)
        self._lead = shape[:-2]
        self._flat = (*shape[:-2], n * n)
        #: For each element of a matrix the number of its free entry plus one, 0 of an element that is 0.
        self._from = np.zeros((n, n), np.int64)
        self._from[self.rows, self.columns] = np.arange(1, len(self.positions) + 1)
        self._sign = np.ones((n, n))
        if across is None:
            across = mirrored(facts)
        if across:
            self._sign[self.columns, self.rows] = across
            self._sign[self.rows, self.columns] = 1.0
            self._from[self.columns, self.rows] = self._from[self.rows, self.columns]

    def put(self, u: Any) -> Any:
        """Return matrices of their free entries."""
        whole = np.concatenate([np.zeros((*self._lead, 1)), u], axis=-1)[..., self._from]
        return whole if (self._sign == 1.0).all() else self._sign * whole

    def take(self, x: Any) -> Any:
        """Return the free entries of matrices."""
        return np.reshape(x, self._flat)[..., self.positions]


def _of_definite(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of S = L Lᵀ, where the diagonal of L is an exponential."""
    n, places = shape[-1], _Places(shape, _LOWER)
    on = places.rows == places.columns
    # S by L: 2ⁿ Π L_ii^(n - i), i from 0 on; L_ii by its logarithm: L_ii
    weights = np.where(on, n + 1.0 - places.rows, 0.0)
    count = math.prod(shape[:-2])

    def constrain(u: Array) -> Any:
        lower = places.put(np.where(on, np.exp(u), u))
        return lower @ np.swapaxes(lower, -1, -2)

    def unconstrain(x: Array) -> Any:
        entries = places.take(np.linalg.cholesky(x))
        return np.where(on, np.log(np.where(on, entries, 1.0)), entries)

    return Transform(places.free, constrain, lambda u: count * n * math.log(2.0) + np.sum(weights * u), unconstrain)


def _of_correlation(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of R = L Lᵀ, whose rows have length 1: partial correlations are hyperbolic tangents.

    Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009), equations 2 and 11.
    """
    n, places = shape[-1], _Places(shape, Assumptions(skew=True), across=0.0)
    # R by partial correlations z: Π (1 - z²)^((n - j - 2) / 2), j their column from 0 on; z by u: 1 - z² = 1 / cosh(u)²
    weights = n - places.columns.astype(float)

    def constrain(u: Array) -> Any:
        free = places.put(u)
        shrunk = _log_cosh(free)
        left = np.exp(shrunk - np.cumsum(shrunk, axis=-1))  # the length that elements before leave
        lower = (np.tanh(free) + np.eye(n)) * left
        return lower @ np.swapaxes(lower, -1, -2)

    def unconstrain(x: Array) -> Any:
        lower = np.linalg.cholesky(x)
        left = 1.0 + lower**2 - np.cumsum(lower**2, axis=-1)
        return np.arctanh(places.take(lower) / np.sqrt(places.take(left)))

    return Transform(places.free, constrain, lambda u: -np.sum(weights * _log_cosh(u)), unconstrain)


def _log_cosh(u: Any) -> Any:
    return np.logaddexp(u, -u) - math.log(2.0)


_LOWER = NOTHING_KNOWN._replace(lower=True)
#: Facts with a transform of their own, with the facts that follow from them.
_OWN: Mapping[str, tuple[tuple[str, ...], Callable[[tuple[int, ...], Assumptions], Transform]]] = {
    "simplex": (("positive",), _of_simplex),
    "ordered": (("positive",), _of_ordered),
    "correlation": (("symmetric", "definite"), _of_correlation),
    "definite": (("symmetric",), _of_definite),
}


Floats = npt.NDArray[np.float64]


class Density:
    """A log density of free numbers; made by :func:`symdiff.density`.

    Each function takes the vector of free numbers first, and the data behind it, in order or by name. Axes in front of
    the vector, for draws and chains, are kept. Nothing is compiled before a function needs it.

    Parameters
    ----------
    log_p : Array
    variables, data : dict of str to Array

    Attributes
    ----------
    formula : Array
        The log density of the free numbers: that of the variables, and the logarithm of the Jacobian determinant.
    transforms : dict of str to Array
        Each variable as a formula of the free numbers.
    x : Array
        The vector of free numbers, as a symbol.
    names : tuple of str
        Names of the free numbers: of the variables that they are for, with their positions.
    args : tuple of str
        Names of the data behind the vector.
    """

    def __init__(self, log_p: Array, variables: Mapping[str, Array], data: Mapping[str, Array]) -> None:
        self._variables, self._data = dict(variables), dict(data)
        self._by_name = {
            name: transform_of(name, tuple(map(int, one.node.shape)), one.node.assumptions)
            for name, one in variables.items()
        }
        counts = [math.prod(transform.shape) for transform in self._by_name.values()]
        name = "x"
        while name in variables or name in data:
            name += "_"
        self.args = tuple(self._data)
        self.x = vector(name, sum(counts))
        self.transforms: dict[str, Array] = {}
        self.names: tuple[str, ...] = ()
        self.formula = log_p.reshape(()) if log_p.shape else log_p
        for (own, transform), end, count in zip(self._by_name.items(), accumulate(counts), counts, strict=True):
            free = self.x[end - count : end].reshape(transform.shape) if transform.shape else self.x[end - count]
            self.transforms[own] = transform.constrain(free)
            if transform.jacobian is not None:
                self.formula = self.formula + transform.jacobian(free)
            places = [f"[{', '.join(map(str, at))}]" if at else "" for at in np.ndindex(transform.shape)]
            self.names += tuple(own + place for place in places)
        exchanged = {one.node: self.transforms[own].node for own, one in variables.items()}
        self.formula = Array(substitute([self.formula.node], exchanged)[0])

    # ------------------------------------------------------------------ what samplers and optimizers call

    @guarded
    def logp(self, x: Any, /, *data: Any, **named: Any) -> Any:
        """Return the log density at ``x``: a float of one vector, an array of several."""
        return self._value(x, *data, **named)

    @guarded
    def gradient(self, x: Any, /, *data: Any, **named: Any) -> Any:
        """Return the gradient of the log density, of the shape of ``x``."""
        return self._first(x, *data, **named)[1]

    @guarded
    def value_and_gradient(self, x: Any, /, *data: Any, **named: Any) -> tuple[Any, Any]:
        """Return the log density and its gradient, by one evaluation."""
        value, slope = self._first(x, *data, **named)
        return value, slope

    @guarded
    def hessian(self, x: Any, /, *data: Any, **named: Any) -> Any:
        """Return the Hessian of the log density, of the shape of ``x`` and as many columns."""
        return self._second(x, *data, **named)

    @guarded
    def constrain(self, x: Any) -> dict[str, Floats]:
        """Return the variables by name, of free numbers; axes in front of the vector come before their own."""
        return {name: np.asarray(value) for name, value in self._constrain(x).items()}

    @guarded
    def unconstrain(self, variables: Mapping[Any, Any]) -> Floats:
        """Return the free numbers of variables, which come by name.

        Raises
        ------
        ArgumentError
            If one is missing, or is not what it is declared to be.
        """
        if not isinstance(variables, Mapping):
            raise ArgumentError(f"variables={variables!r:.60}; expected a dict: {', '.join(self._variables)}")
        given = {name_of(key): value for key, value in variables.items()}
        if given.keys() != self._variables.keys():
            came = ", ".join(map(str, given)) or "none"
            raise ArgumentError(f"variables {came}; expected {', '.join(self._variables)}")
        return np.asarray(self._unconstrain(*[as_floats(name, given[name]) for name in self._variables]))

    @guarded
    def jax(self) -> Callable[..., Any]:
        """Return the log density as a function of JAX, with its derivatives."""
        function: Callable[..., Any] = self._value.jax()
        return function

    # ------------------------------------------------------------------ kernels

    def _compiled(self, value: Any) -> Kernel:
        return compile(value, [self.x, *self._data.values()], batch=[self.x])

    @cached_property
    def _value(self) -> Kernel:
        return self._compiled(self.formula)

    @cached_property
    def _first(self) -> Kernel:
        return self._compiled([self.formula, derivatives.gradient(self.formula, self.x, disconnected="zero")])

    @cached_property
    def _second(self) -> Kernel:
        return self._compiled(derivatives.hessian(self.formula, self.x, disconnected="zero"))

    @cached_property
    def _constrain(self) -> Kernel:
        return compile(self.transforms, [self.x])

    @cached_property
    def _unconstrain(self) -> Kernel:
        parts = [
            transform.unconstrain(self._variables[name]).reshape((math.prod(transform.shape),))
            for name, transform in self._by_name.items()
        ]
        return compile(np.concatenate(parts), list(self._variables.values()), validate=True)

    def __repr__(self) -> str:
        behind = "".join(f", {name}" for name in self.args)
        return f"<symdiff.Density of {len(self.names)} free numbers for {', '.join(self._variables)}: logp(x{behind})>"

    def _repr_html_(self) -> str:
        return table((name, str(formula)) for name, formula in self.transforms.items())


@guarded
@budgeted
def density(
    log_p: Any,
    variables: Any,
    /,
    *,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> Density:
    """Return a log density as a function of one vector of free numbers, for samplers and optimizers.

    Variables are what they are declared: positive, between two numbers, a simplex, ordered, positive definite, a
    correlation, or a symmetric, skew, diagonal or triangular matrix. Each becomes a formula of numbers that are free,
    and the logarithm of its Jacobian determinant is added.

    Parameters
    ----------
    log_p : str, SymPy expression, Array or callable
        A scalar: the logarithm of a density of the variables, up to a constant.
    variables : Array, str or SymPy symbol, or a list of them
        In the order of their free numbers. Other inputs of the formula are data.
    shapes, functions, budget, **named_shapes
        As of :func:`symdiff.compile`.

    Returns
    -------
    Density
        With ``logp``, ``gradient``, ``hessian``, ``value_and_gradient``, ``constrain``, ``unconstrain`` and ``names``.

    Raises
    ------
    ArgumentError
        If a variable is no input of the formula.
    ShapeError
        If the formula is no scalar, or the size of a variable is a letter.
    UnsupportedError
        If no transform is known for what is declared.

    Examples
    --------
    >>> import numpy as np
    >>> from symdiff import scalar, vector
    >>> y, mu, tau = vector("y", "n"), scalar("mu"), scalar("tau", positive=True)
    >>> d = density(-np.sum((y - mu) ** 2) / (2 * tau**2) - y.shape[0] * np.log(tau), [mu, tau])
    >>> d
    <symdiff.Density of 2 free numbers for mu, tau: logp(x, y)>
    >>> d.transforms["tau"]
    exp(x[1])
    >>> d.gradient([0.0, 0.0], [1.0, 2.0])
    array([3., 4.])
    >>> d.constrain([0.5, 0.0])["tau"]
    array(1.)
    """
    read = read_formula(log_p, merge_shapes(shapes, named_shapes), ("shapes", "functions", "budget"), functions)
    if not isinstance(read.value, Array):
        raise ArgumentError("a density of several formulas; expected one (add the parts of a log density)")
    if read.value.shape not in ((), (1, 1)):
        raise ShapeError(f"a log density of shape {show(read.value.shape)}; expected a scalar, as np.sum(f) is")
    chosen = leaves(read.variables(symbols_in(variables) or variables))
    read.refuse_unused()
    own: dict[str, Array] = {}
    for one in chosen:
        if not isinstance(one, Array) or not one.node.is_input or one.node.dtype is not REAL or one.node.name in own:
            raise ArgumentError("the variables of a density are inputs of its formula, each once; expected symbols")
        name = str(one.node.name)
        if name not in read.inputs:
            raise ArgumentError(f"the log density does not depend on {name}; its inputs: {', '.join(read.inputs)}")
        if fixed(one.node.shape) is None:
            raise ShapeError(f"{name} has shape {show(one.node.shape)}; expected numbers for the sizes of a variable")
        own[name] = one
    if not own:
        raise ArgumentError("a density without variables; expected symbols that a sampler may move")
    return Density(read.value, own, {name: one for name, one in read.inputs.items() if name not in own})
