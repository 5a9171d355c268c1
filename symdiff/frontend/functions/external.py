"""Functions of Python, NumPy or SciPy as parts of formulas: values by calls, derivatives by rules of their authors.

A function that is called with numbers alone is one node of the graph. Its rule may be a formula, which is
differentiated again, or a function of numbers like itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...graph import Node, reshape, slicing
from ...graph import external as external_node
from ...graph.primitives import Opaque
from ...graph.scalars.functions import to_real
from ...graph.sizes import Dim, Shape, product
from ...ground.guard import guarded, is_function
from ..array import Array
from ..numpy.operands import as_node, provenance_of
from ..numpy.shaping import parse_shape
from .custom import custom, takes, title_of

__all__ = ["Foreign", "external"]


@guarded
def external(
    function: Callable[..., Any],
    shape: Any = (),
    *,
    jacobian: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    batched: bool = False,
    name: str | None = None,
) -> Callable[..., Array]:
    """Make a function of numbers a function of symbols, which kernels call.

    Parameters
    ----------
    function : callable
        Takes a float or an array for each argument, returns a number or an array.
    shape : int, str or tuple of them, or callable
        Shape of the value; or a function of the arguments' shapes that returns it, such as ``lambda x: x``.
    jacobian : callable, optional
        ``jacobian(args)``: for each argument an array of shape ``value + argument``. ``args`` is a tuple.
    vjp : callable, optional
        ``vjp(args, cotangent)``: for each argument the cotangent times the Jacobian.
    jvp : callable, optional
        ``jvp(args, tangents)``: the change of the value for changes of the arguments.
    batched : bool
        Whether function and rules take arrays with one axis or more in front, a sample in each place, and give such
        arrays. Otherwise they are called once a sample.
    name : str, optional
        How formulas and messages call it; by default the function's name.

    Returns
    -------
    callable
        Takes arrays of symbols and numbers, returns one.

    Raises
    ------
    ArgumentError
        If more than one rule is given, or something is not what it should be.
        When called: if the number of arguments does not fit.
    NotDifferentiableError
        When differentiated: without a rule, or a second time, where the rule is a function of numbers.
    ShapeError, DtypeError
        When a kernel calls it: if a value has another shape than was said, or holds no real numbers.

    See Also
    --------
    custom : a formula with a derivative of one's own.

    Notes
    -----
    A rule is called with symbols first. Where it gives a formula, that is differentiated again, to any order; where it
    fails with symbols, kernels call it with numbers, and its result has no derivative but by the cotangent or tangents,
    in which it is linear. The function has to give the same value for the same numbers, without side effects that
    matter: how often it is called is not said. It is called by Python, sample by sample unless it is ``batched``, while
    what is around it runs as native plans. Kernels of it are pickled by the name of the function, and not kept between
    processes; source of it is not exported, and SymPy has no form of it.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> from scipy.special import struve
    >>> f = sd.external(lambda x: struve(0, x), jacobian=lambda args: (2 / np.pi - struve(1, args[0]),), name="H0")
    >>> x = sd.scalar("x")
    >>> sd.gradient(x * f(x), x)
    H0(x) + x * H0_jacobian(x)
    >>> sd.compile(sd.gradient(x * f(x), x))([0.5, 1.0]).round(6)
    array([0.601779, 1.006819])
    """
    if not is_function(function):
        raise ArgumentError(f"external of type {type(function).__name__}; expected a function that takes numbers")
    rules = {"jacobian": jacobian, "vjp": vjp, "jvp": jvp}
    given = {form: rule for form, rule in rules.items() if rule is not None}
    if len(given) > 1:
        raise ArgumentError(f"{len(given)} derivatives; expected one of jacobian=, vjp= and jvp=, or none")
    for form, rule in given.items():
        if not is_function(rule):
            raise ArgumentError(f"{form}= is of type {type(rule).__name__}; expected a function")
    if not isinstance(batched, bool):
        raise ArgumentError(f"batched={batched!r:.40}; expected True or False")
    if not is_function(shape):
        parse_shape(shape)
    foreign = Foreign(title_of(function, name), function, shape, batched)
    if not given:
        call: Callable[..., Array] = foreign.value
    else:
        ((form, rule),) = given.items()
        own: dict[str, Any] = {{"jvp": "differential"}.get(form, form): _Rule(foreign, form, rule)}
        call = custom(foreign.value, name=foreign.name, **own)

    @guarded
    def run(*args: Any, **keywords: Any) -> Array:
        if keywords or not args:
            came = f"with {', '.join(keywords)}=" if keywords else "without arguments"
            raise ArgumentError(f"{foreign.name} {came}; it takes arrays by position only")
        return call(*args)

    run.__name__ = foreign.name
    run.__doc__ = function.__doc__
    return run


class Foreign:
    """A function of numbers, what its values are, and the arguments in which it is linear together."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        shape: Any,
        batched: bool,
        linear: Sequence[int] = (),
        reads: bool = False,
    ) -> None:
        self.name, self.function, self.shape, self.batched = name, function, shape, batched
        self.linear, self.reads = linear, reads

    def value(self, *args: Any) -> Array:
        """Return the function of symbols."""
        if not takes(self.function, args):
            raise ArgumentError(f"{self.name} came with {len(args)} arguments, which its function does not take")
        nodes = [to_real(as_node(arg)) for arg in args]
        shapes = [node.shape for node in nodes]
        shape = parse_shape(self.shape(*shapes) if is_function(self.shape) else self.shape)
        return Array(self.node(self.name, self.function, shape, nodes, self.linear), provenance_of(*args))

    def node(
        self, name: str, function: Callable[..., Any], shape: Shape, args: Sequence[Node], linear: Sequence[int] = ()
    ) -> Node:
        """Return a node that calls a function."""
        axes = tuple(arg.ndim for arg in args)
        return external_node(Opaque(name, function, shape, axes, self.batched, tuple(linear), self.reads), args)


class _Rule:
    """A derivative of a function of numbers: a formula if it takes symbols, else a function of numbers, too."""

    def __init__(self, foreign: Foreign, form: str, rule: Callable[..., Any]) -> None:
        self.foreign, self.form, self.rule = foreign, form, rule

    def __call__(self, args: tuple[Array, ...], *seeds: Any) -> Any:
        try:
            found = self.rule(args, *seeds)
        except Exception:  # whatever it makes of symbols: it is one that takes numbers
            return self.of_numbers(args, *seeds)
        return found

    def of_numbers(self, args: tuple[Array, ...], *seeds: Any) -> Any:
        """Return the rule as nodes that call it."""
        foreign, name = self.foreign, f"{self.foreign.name}_{self.form}"
        nodes = [arg.node for arg in args]
        count = len(nodes)
        if self.form == "jvp":
            tangents = [tangent.node for tangent in seeds[0]]
            call = _Flat(self.rule, count, self.form, foreign.batched, (), name)
            value = foreign.value(*args).node
            linear = range(count, 2 * count)
            return Array(foreign.node(name, call, value.shape, [*nodes, *tangents], linear))
        value = foreign.value(*args).node
        lead = value.shape if self.form == "jacobian" else ()
        shapes = [(*lead, *node.shape) for node in nodes]
        given = [*nodes, *(seed.node for seed in seeds)]
        linear = range(count, len(given))
        call = _Flat(self.rule, count, self.form, foreign.batched, tuple(map(len, shapes)), name)
        if count == 1:
            return Array(foreign.node(name, call, shapes[0], given, linear))
        sizes = [product(shape) for shape in shapes]
        total: Dim = 0
        begin: Dim = 0
        for size in sizes:
            total = total + size
        flat = foreign.node(name, call, (total,), given, linear)
        parts = []
        for shape, size in zip(shapes, sizes, strict=True):
            parts.append(Array(reshape(slicing(flat, ((begin, 1, size),)), shape)))
            begin = begin + size
        return tuple(parts)


class _Flat:
    """A rule as a function of one array for each argument and seed, which gives one array: all results, flat."""

    def __init__(
        self, rule: Callable[..., Any], count: int, form: str, batched: bool, axes: tuple[int, ...], name: str
    ) -> None:
        self.rule, self.count, self.form, self.batched, self.axes, self.name = rule, count, form, batched, axes, name

    def __call__(self, *given: Any) -> Any:
        args, seeds = given[: self.count], given[self.count :]
        if self.form == "jvp":
            return self.rule(args, seeds)
        found = self.rule(args, *seeds)
        parts = list(found) if isinstance(found, tuple | list) else [found]
        if len(parts) != self.count:
            raise ShapeError(f"{self.name} gave {len(parts)} arrays; expected {self.count}, one an argument")
        if len(parts) == 1:
            return parts[0]
        flat = []
        for part, axes in zip(map(np.asarray, parts), self.axes, strict=True):
            lead = part.shape[: part.ndim - axes] if self.batched else ()
            flat.append(part.reshape((*lead, -1)))
        return np.concatenate(flat, axis=-1)
