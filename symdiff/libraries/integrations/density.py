"""Log densities as samplers and optimizers take them: functions of one vector of free numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler import compile
from ...errors import ArgumentError, ShapeError
from ...frontend import derivatives
from ...frontend.array import Array
from ...frontend.display import table
from ...frontend.formula import merge_shapes, read_formula
from ...frontend.outputs import leaves
from ...frontend.symbols import vector
from ...frontend.sympy import symbols_in
from ...graph import REAL, substitute
from ...graph.sizes import fixed, show
from ...ground.budget import budgeted
from ...ground.guard import guarded
from ...ground.limits import Budget
from ...runtime.calls.arguments import as_floats
from ...runtime.kernel import Kernel
from .transforms import transform_of

__all__ = ["Density", "density"]

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
    def logp(self, x: Any, *data: Any, **named: Any) -> Any:
        """Return the log density at ``x``: a float of one vector, an array of several."""
        return self._value(x, *data, **named)

    @guarded
    def gradient(self, x: Any, *data: Any, **named: Any) -> Any:
        """Return the gradient of the log density, of the shape of ``x``."""
        return self._first(x, *data, **named)[1]

    @guarded
    def value_and_gradient(self, x: Any, *data: Any, **named: Any) -> tuple[Any, Any]:
        """Return the log density and its gradient, by one evaluation."""
        value, slope = self._first(x, *data, **named)
        return value, slope

    @guarded
    def hessian(self, x: Any, *data: Any, **named: Any) -> Any:
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
        given = {str(key.node.name) if isinstance(key, Array) else key: value for key, value in variables.items()}
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
