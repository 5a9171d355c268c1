"""A formula as optimizers and solvers take it: value, derivatives, and products with them, of one vector.

SciPy's functions ask for callables of a vector ``x`` and constant arguments behind it. They ask for value and gradient
of the same point one after the other, and change ``x`` in place in between. Ipopt asks an object for values and for the
nonzeros of derivatives in a fixed order: their positions once, before the first point, of the Jacobian of the
constraints and of the lower triangle of the Lagrangian's Hessian.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from ..compiler import compile
from ..errors import ArgumentError, ShapeError, SingularMatrixError, UnsupportedError
from ..frontend import derivatives
from ..frontend.array import Array
from ..frontend.display import Typeset, table
from ..frontend.formula import Formula, merge_shapes, read_formula
from ..frontend.outputs import leaves, template_of, unpack
from ..frontend.symbols import array
from ..frontend.sympy import symbols_in
from ..frontend.text.values import shortened
from ..graph import INT
from ..graph.sizes import show
from ..ground.budget import budgeted
from ..ground.guard import guarded
from ..ground.limits import Budget
from ..runtime.calls.arguments import as_floats
from ..runtime.kernel import Kernel
from ..runtime.options import Backend, Options
from .variables import Behind, Point, Variables, in_order, in_square, order_behind, point_of

__all__ = ["IpoptProblem", "Objective", "objective"]


Floats = npt.NDArray[np.float64]

#: Bytes of arguments, in total, up to which a point is remembered. A copy of the arguments is compared with those of
#: the next call, so that data changed in place is never taken for the data before.
MOST_REMEMBERED = 1 << 25
#: Kernels that are kept when no objective has them any more, since solvers are often set up anew.
KEPT = 16

#: The kernels of objectives, by what they are made of: equal formulas have them together.
_kernels: WeakValueDictionary[tuple[Any, ...], Kernel] = WeakValueDictionary()
_latest: deque[Kernel] = deque(maxlen=KEPT)


class Objective:
    """A formula of some variables as functions of one vector; made by :func:`symdiff.objective`.

    Each function takes the vector ``x`` first (behind the time, where there is one), and the other inputs of the
    formula behind it, in order, as ``args``, or by name. Nothing is compiled before a function needs it.

    Parameters
    ----------
    formula : Array
        Of any shape.
    wrt : Array or structure of Array
        The variables.
    others : dict of str to Array
        The other inputs, in order.
    time : str or None
        The input that comes before ``x``.
    options : mapping
        Keywords for :func:`symdiff.compile`.
    sparse : {None, "csr", "csc", "coo"}
        What Jacobians of several numbers, and Hessians, are.
    free : bool
        Whether the vector holds the free entries of declared matrices alone.
    groups : mapping of str to structure
        Arguments that are several inputs, such as a sparse matrix, by the name of the first.

    Attributes
    ----------
    args : tuple of str
        Names of the inputs behind ``x``.
    """

    def __init__(
        self,
        formula: Array,
        wrt: Any,
        others: Mapping[str, Array],
        time: str | None,
        options: Mapping[str, Any],
        sparse: str | None = None,
        free: bool = False,
        groups: Mapping[str, Any] | None = None,
    ) -> None:
        self._formula, self._wrt = formula, wrt
        self._symbols: list[Array] = leaves(wrt)
        self._others = dict(others)
        self._time = time
        self._options = dict(options)
        self._sparse = sparse
        self._variables = Variables(
            template_of(wrt),
            [str(one.node.name) for one in self._symbols],
            [one.node.shape for one in self._symbols],
            [one.node.assumptions for one in self._symbols] if free else None,
        )
        self._point: Point | None = None
        self._results: tuple[Any, Any] = None, None
        self._is_followed = False
        behind = [name for name in self._others if name != time]
        several = {name: group for name, group in (groups or {}).items() if name in behind}
        self._groups = {name: template_of(group) for name, group in several.items()}
        parts = {str(part.node.name) for group in several.values() for part in leaves(group)}
        self.args = tuple(name for name in behind if name in self._groups or name not in parts)
        #: The other inputs in the order of kernels: the name, its place behind x (None for the time), and whether it
        #: counts.
        self._given = [
            (name, None if name == time else behind.index(name), array.node.dtype is INT)
            for name, array in self._others.items()
        ]
        shapes = {name: self._others[name].node.shape for name in behind}
        self._behind = Behind(shapes, has_batch=options["reduce"] is not None)
        self.is_scalar = formula.node.shape in ((), (1, 1))

    # ------------------------------------------------------------------ what solvers call

    @guarded
    def __call__(self, *args: Any) -> NoReturn:
        """Refuse a call, which would hide the derivatives from a solver."""
        raise ArgumentError("an objective is no function itself; expected its functions: f.fun(x), with jac=f.jac")

    @guarded
    def fun(self, *args: Any, **named: Any) -> Any:
        """Return the value at ``x``: a float of a scalar formula, a vector of any other.

        Parameters
        ----------
        x : array_like
            One vector of all variables; ``fun(t, x, *args)`` where there is a time.
        *args, **named : array_like
            The other inputs, in order or by name.

        Returns
        -------
        float or ndarray
        """
        if self._is_followed:
            return self._both(args, named)[0]
        time, x, _, rest = self._taken(args, named, 0)
        return self._shaped(self._value(*self._inputs(time, x, rest)[0]))

    @property
    def jac(self) -> Callable[..., Any]:
        """The gradient of a scalar formula, shape ``(n,)``, or the Jacobian of any other, ``(m, n)``.

        A function of the arguments of :meth:`fun`. Once somebody has it, :meth:`fun` computes both, in one kernel,
        and keeps the derivative for a call at the same point.
        """
        self._is_followed = True
        return self._slope

    @guarded
    def _slope(self, *args: Any, **named: Any) -> Any:
        slope = self._both(args, named)[1]
        return slope.copy()  # optimizers write to what they are given

    @guarded
    def value_and_gradient(self, *args: Any, **named: Any) -> tuple[Any, Any]:
        """Return what :meth:`fun` and :meth:`jac` return, as ``minimize(..., jac=True)`` takes it."""
        value, slope = self._both(args, named)
        return value, slope.copy()

    @guarded
    def hess(self, *args: Any, **named: Any) -> Any:
        """Return the Hessian of a scalar formula at ``x``, shape ``(n, n)``.

        Of a formula of several numbers, ``hess(x, v, *args)`` is the Hessian of their sum with weights ``v``, as
        ``scipy.optimize.NonlinearConstraint`` asks for it.
        """
        time, x, weights, rest = self._taken(args, named, 0 if self.is_scalar else 1)
        inputs, shapes = self._inputs(time, x, rest)
        blocks = self._second(*inputs, *weights)
        whole = blocks if self._sparse is not None else in_square(blocks, [math.prod(shape) for shape in shapes])
        return self._in_format(self._variables.by_entries(whole, shapes, both=True))

    @guarded
    def hessp(self, *args: Any, **named: Any) -> Floats:
        """Return the product of the Hessian of a scalar formula with a vector: ``hessp(x, p, *args)``."""
        if not self.is_scalar:
            raise UnsupportedError("hessp of a formula of several numbers; expected a scalar, or use hess(x, v)")
        time, x, (p,), rest = self._taken(args, named, 1)
        inputs, shapes = self._inputs(time, x, rest)
        parts = self._product(*inputs, *self._variables.split(p, self._behind.letters(rest)))
        product = np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])
        return self._variables.by_entries(product, shapes)  # type: ignore[no-any-return]

    @guarded
    def ipopt(
        self, x0: Any, *, args: Sequence[Any] = (), constraints: Objective | None = None, constraint_args: Any = ()
    ) -> Any:
        """Return the problem of minimizing a scalar formula under constraints, as ``cyipopt.Problem`` takes it.

        Parameters
        ----------
        x0 : array_like
            Where the solver begins; says the sizes.
        args, constraint_args : sequence
            The other inputs of this formula, and of the constraints.
        constraints : Objective, optional
            A formula of the same variables, of one number or more, whose bounds the solver is given.

        Returns
        -------
        :class:`symdiff.libraries.objective.IpoptProblem`
        """
        return IpoptProblem(self, x0, args, constraints, constraint_args)

    # ------------------------------------------------------------------ structures

    @guarded
    def join(self, structure: Any) -> Floats:
        """Return the variables, in their structure, as the one vector that solvers move.

        Raises
        ------
        ArgumentError, ShapeError
            If the structure, or the shape of a variable, is another one.
        """
        return self._variables.join(structure)

    @guarded
    def split(self, x: Any, *args: Any) -> Any:
        """Return the variables in their structure, as views of the vector ``x``; ``args`` where they give sizes."""
        if args and len(args) != len(self.args):
            raise ArgumentError(f"{len(args)} arguments behind x; expected {', '.join(self.args) or 'none'}")
        return self._variables.structure(x, self._behind.letters(self._spread(args)) if args else {})

    def __repr__(self) -> str:
        formula = shortened("; ".join(str(self._formula).splitlines()), 120)
        by = zip(self._variables.names, self._variables.shapes, strict=True)
        given = [(name, self._others[name].shape) for name in self.args]
        listed = [", ".join(f"{name}: {show(shape)}" for name, shape in part) for part in (by, given)]
        also = f", given {listed[1]}" if given else ""
        more = "jac, hess, hessp, value_and_gradient" if self.is_scalar else "jac, hess"
        return f"<symdiff.Objective fun({', '.join(self._arguments(0))}) = {formula} of {listed[0]}{also}; {more}>"

    def _repr_html_(self) -> str:
        by = zip(self._variables.names, self._variables.shapes, strict=True)
        parts = [f"{name} {show(shape)}" for name, shape in by]
        given = ", ".join(f"{name} {show(self._others[name].shape)}" for name in self.args) or "nothing"
        call = f"fun({', '.join(self._arguments(0))})"
        formula = Typeset(self._formula.latex())
        return table([("objective", call), ("formula", formula), ("variables", ", ".join(parts)), ("given", given)])

    def _arguments(self, more: int) -> list[str]:
        """Return the names of what functions take: the vector is x, or that of no other input."""
        time = [] if self._time is None else [self._time]
        return [*time, "vector" if "x" in [*time, *self.args] else "x", *["p", "v"][:more], *self.args]

    # ------------------------------------------------------------------ kernels

    def _taken(self, args: Sequence[Any], named: Mapping[str, Any], more: int) -> tuple[Any, Any, Any, Any]:
        """Return the time, ``x``, what comes with it, and the other inputs."""
        before = 0 if self._time is None else 1
        if named:
            args = in_order(args, named, self._arguments(more), self.args)
        if len(args) != before + 1 + more + len(self.args):
            names = self._arguments(more)
            missing = f"missing {', '.join(names[len(args) :])}" if len(args) < len(names) else f"{len(args)} arguments"
            raise ArgumentError(f"{missing}; expected {', '.join(names)}{_BEHIND * bool(self.args)}")
        behind = before + 1 + more
        return args[0] if before else None, args[before], args[before + 1 : behind], self._spread(args[behind:])

    def _spread(self, rest: Sequence[Any]) -> Sequence[Any]:
        """Return one array for each of the other inputs."""
        if not self._groups:
            return rest
        pairs = zip(self.args, rest, strict=True)
        return [
            part
            for name, one in pairs
            for part in (unpack(self._groups[name], one, name) if name in self._groups else [one])
        ]

    def _inputs(self, time: Any, x: Any, rest: Sequence[Any]) -> tuple[list[npt.NDArray[Any]], list[tuple[int, ...]]]:
        """Return the arguments of kernels, and the shape of each variable."""
        given = []
        for name, place, counts in self._given:
            one = time if place is None else rest[place]
            given.append(np.asarray(one) if counts else as_floats(name, one))
        parts = self._variables.split(x, self._behind.letters(rest) if rest else {})
        return given + parts, [part.shape for part in parts]

    def _both(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return value and derivative; the same point is evaluated once."""
        time, x, _, rest = self._taken(args, named, 0)
        inputs, shapes = self._inputs(time, x, rest)
        at = point_of(inputs, MOST_REMEMBERED)
        if at is not None and at == self._point:
            value, slope = self._results
        else:
            value, *slopes = self._first(*inputs)
            value, slope = self._results = self._shaped(value), self._joined(slopes, shapes)
            self._point = at
        return value if self.is_scalar else value.copy(), slope

    def _joined(self, slopes: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> Any:
        """Return the derivatives with respect to all variables in one, that of a scalar as a vector."""
        if self._sparse is not None and not self.is_scalar:
            return self._in_format(self._variables.by_entries(slopes[0], shapes))
        lead = () if self.is_scalar else (-1,)
        parts = [
            np.asarray(slope, np.float64).reshape(*lead, math.prod(shape))
            for slope, shape in zip(slopes, shapes, strict=True)
        ]
        return self._variables.by_entries(parts[0] if len(parts) == 1 else np.concatenate(parts, -1), shapes)

    def _in_format(self, derivative: Any) -> Any:
        """Return a derivative as the sparse array that was asked for, if one was."""
        as_made = self._sparse is None or self._variables.facts is None
        return derivative if as_made else derivative.asformat(self._sparse)

    def _shaped(self, value: Any) -> Any:
        return float(value.item()) if self.is_scalar else np.asarray(value, np.float64).reshape(-1)

    def shared(self, kind: str, make: Callable[[], Kernel]) -> Kernel:
        """Return one of this objective's kernels, that of an equal formula and its variables if there is one.

        Parameters
        ----------
        kind : str
            Tells what it computes of the formula.
        make : callable
            Derives and compiles it.
        """
        options = tuple((name, _comparable(own)) for name, own in self._options.items())
        inputs = tuple((name, one.node) for name, one in self._others.items())
        variables = tuple(one.node for one in self._symbols)
        key = (kind, self._sparse, self._formula.node, self._formula.provenance.facts, variables, inputs, options)
        found = _kernels.get(key)
        if found is None:
            found = _kernels[key] = make()
            _latest.append(found)
        return found

    @cached_property
    def _first(self) -> Kernel:
        return self.shared("first", self._make_first)

    def _make_first(self) -> Kernel:
        if self._sparse is not None and not self.is_scalar:
            whole = derivatives.jacobian([self._formula], list(self._symbols), disconnected="zero")
            return self._compiled([self._formula, whole], [], [None, self._sparse])
        parts = [derivatives.jacobian(self._formula, one, disconnected="zero") for one in self._symbols]
        return self._compiled([self._formula, *parts], [])

    @cached_property
    def _value(self) -> Kernel:
        return self.shared("value", lambda: self._compiled(self._formula, []))

    @cached_property
    def _second(self) -> Kernel:
        return self.shared("second", self._make_second)

    def _make_second(self) -> Kernel:
        weights = [] if self.is_scalar else [array(self._free("v"), self._formula.shape)]
        scalar = self._formula.reshape(()) if self.is_scalar else (self._formula * weights[0]).sum()
        wrt = self._symbols[0] if len(self._symbols) == 1 else tuple(self._symbols)
        if self._sparse is not None:
            whole = derivatives.hessian(scalar, wrt, disconnected="zero", joined=True)
            return self._compiled(whole, weights, self._sparse)
        return self._compiled(derivatives.hessian(scalar, wrt, disconnected="zero"), weights)

    @cached_property
    def _product(self) -> Kernel:
        return self.shared("product", self._make_product)

    def _make_product(self) -> Kernel:
        directions = [array(self._free(f"p{k}"), one.shape) for k, one in enumerate(self._symbols)]
        scalar = self._formula.reshape(())
        parts = derivatives.hvp(scalar, tuple(self._symbols), tuple(directions), disconnected="zero")
        return self._compiled(list(parts), directions)

    def _compiled(
        self, value: Any, more: Sequence[Array], sparse: Any = None, triangle: Literal["lower"] | None = None
    ) -> Kernel:
        inputs = [*self._others.values(), *self._symbols, *more]
        return compile(value, inputs, sparse=sparse, triangle=triangle, **self._options)

    def _free(self, name: str) -> str:
        """Return a name that no input has."""
        while name in self._others or name in self._variables.names:
            name += "_"
        return name


@guarded
@budgeted
def objective(
    f: Any,
    wrt: Any,
    /,
    *,
    time: Any = None,
    inputs: Sequence[Any] | None = None,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    sparse: Literal["csr", "csc", "coo"] | None = None,
    free: bool = False,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> Objective:
    """Return a formula as the functions that SciPy's optimizers and solvers call.

    Each takes ``x``, one vector of all variables, then the other inputs in order or by name: ``fun(x, *args)``,
    ``jac(x, *args)``, ``hess(x, *args)``, ``hessp(x, p, *args)``, with the time before ``x`` where there is one; its
    ``repr`` shows them.

    Parameters
    ----------
    f : str, SymPy expression, Array or callable
        A scalar for minimizers; a vector, or any array, for ``least_squares``, ``root`` and ``solve_ivp``.
    wrt : Array, str or SymPy symbol, or a tuple, list, dict or dataclass of them
        The variables: inputs of the formula, or of a problem of which the formula has some only. Solvers move them as
        one vector; ``join`` and ``split`` of the result lead from the structure to the vector and back.
    time : Array, str or SymPy symbol, optional
        The input that comes before ``x``, as ``solve_ivp`` has it. It need not be in the formula.
    inputs : sequence, optional
        Order of the other inputs, behind ``x``, which may be named before them; by default that of their first use in
        the formula, read from the left.
    batch, reduce : optional
        As of :func:`symdiff.compile`: with ``reduce="sum"`` the formula of one sample is summed over data whose
        inputs are named in ``batch``. Without ``reduce``, no input has batch axes.
    sparse : {None, "csr", "csc", "coo"}
        Return Jacobians of several numbers, and Hessians, as arrays of ``scipy.sparse``, of which only the nonzeros are
        computed. Gradients stay dense.
    free : bool
        Of variables that are declared symmetric, skew, diagonal or triangular, move the free entries alone: ``x`` holds
        those on and below the diagonal (above it of an upper triangular matrix), and derivatives are by these.
    backend, threads, shapes, functions, budget, **named_shapes
        As of :func:`symdiff.compile`.

    Returns
    -------
    Objective
        With ``fun``, ``jac``, ``hess``, ``hessp`` and ``value_and_gradient``.

    Raises
    ------
    ArgumentError
        If no variable is an input of the formula.
    SymdiffError
        Its subclasses: a formula that is not sound.

    Examples
    --------
    >>> from scipy.optimize import minimize
    >>> f = objective("sum(a*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "x", x="n", a=())
    >>> result = minimize(f.fun, [-1.0, 1.0, 0.5], args=(100.0,), jac=f.jac, hess=f.hess, method="trust-exact")
    >>> result.x.round(6)
    array([1., 1., 1.])
    """
    if sparse not in (None, "csr", "csc", "coo"):
        raise ArgumentError(f"sparse={sparse!r}; expected None, 'csr', 'csc' or 'coo'")
    if not isinstance(free, bool):
        raise ArgumentError(f"free={free!r:.60}; expected True or False")
    read = read_formula(f, merge_shapes(shapes, named_shapes), _OPTIONS, functions)
    if not isinstance(read.value, Array):
        raise ArgumentError("an objective of several formulas; expected one (stack them, or add them)")
    variables = read.variables(symbols_in(wrt) or wrt)
    first = None if time is None else _time_of(read, time)
    own = [str(one.node.name) for one in leaves(variables) if _is_input(one)]
    if len(own) < len(leaves(variables)) or not own or len(set(own)) < len(own):
        raise ArgumentError("the variables of an objective are inputs of its formula, each once; expected symbols")
    known = dict(read.inputs) | ({} if first is None else {str(first.node.name): first})
    if known.keys().isdisjoint(own):
        raise ArgumentError(f"the formula does not depend on {', '.join(own)}; its inputs: {', '.join(known)}")
    read.refuse_unused()
    names = list(known) if inputs is None else order_behind(_with(read, known), inputs, leaves(variables))
    parts = {str(part.node.name): part for group in read.groups.values() for part in leaves(group)}
    others = {name: (known | parts)[name] for name in dict.fromkeys(names) if name not in own}
    Options(reduce=reduce)  # another word is refused here, and not at the first call
    if reduce is None:
        batch = []
    elif batch is not None:
        batch = [read.read(one) if not isinstance(one, str) else one for one in batch]
    options = {"batch": batch, "reduce": reduce, "backend": backend, "threads": threads}
    named = None if first is None else str(first.node.name)
    return Objective(read.value, variables, others, named, options, sparse, free, read.groups)


_BEHIND = " (SciPy's solvers take those behind x in args=)"
_OPTIONS = (
    *("time", "inputs", "batch", "reduce", "backend", "threads", "sparse", "free"),
    *("shapes", "functions", "budget"),
)


def _comparable(option: Any) -> Any:
    """Return an option as what two objectives have in common: of an input its node."""
    if isinstance(option, list | tuple):
        return tuple(map(_comparable, option))
    return option.node if isinstance(option, Array) else option


def _is_input(one: Any) -> bool:
    return isinstance(one, Array) and one.node.is_input


def _time_of(read: Formula, time: Any) -> Array:
    if isinstance(time, str) and time not in read.inputs:
        return array(time, ())
    found = read.read(time)
    if not isinstance(found, Array) or not _is_input(found) or found.node.shape != ():
        raise ArgumentError("time= is no scalar input; expected a symbol, or a name")
    return found


def _with(read: Formula, known: Mapping[str, Array]) -> Formula:
    """Return the formula with an input more, which may be named."""

    def reader(one: Any) -> Any:
        return known[one] if isinstance(one, str) and one in known else read.read(one)

    return Formula(read.value, dict(known), reader, groups=read.groups)


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
    """Positions of the nonzeros of a sum of two matrices, and the numbers of those of the first and the second."""

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
    """The ``problem_obj`` of ``cyipopt.Problem``; made by :meth:`symdiff.Objective.ipopt`.

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

    def __init__(self, f: Objective, x0: Any, args: Sequence[Any], g: Objective | None, g_args: Sequence[Any]) -> None:
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
