"""Functions whose derivative their author gives: over symbols (``custom``), or of numbers (``external``).

The value of a custom function is an ordinary function over symbols, so it is compiled like the rest. One form of
derivative is enough (a differential, a vjp or a Jacobian): forward and reverse mode come from it, and since it is
written over symbols as well, it can be differentiated again. Function and rule are called once, with placeholders for
arguments and seeds; symbols they take from outside become arguments of the node, behind the author's own, so that the
node shows all that it depends on.

An external function is one node of the graph. Its rule may be a formula, which is differentiated again, or a function
of numbers like itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...calculus.linearity import require_linear
from ...calculus.modes import pushforward
from ...calculus.rules import Captured, CustomRule
from ...errors import ArgumentError, DtypeError, LimitError, NotDifferentiableError, ShapeError
from ...graph import BOOL, Node, placeholder, reshape, slicing, substitute
from ...graph import custom as custom_node
from ...graph import external as external_node
from ...graph.deltas.einsum import is_zero
from ...graph.primitives import Opaque
from ...graph.scalars.functions import to_real
from ...graph.sizes import Dim, Shape, product, show
from ...ground.guard import guarded, is_function, users
from ..array import Array
from ..numpy.operands import as_node, provenance_of
from ..numpy.shaping import parse_shape
from .closing import Scope, called, captured_by, entered, scopes


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
    if isinstance(shape, Array):
        raise ArgumentError("external of a function and a symbol; expected external(f, shape=...)(symbol)")
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


#: Characters of a name.
NAME_LIMIT = 64
_FORMS = ("differential", "vjp", "jacobian")


@guarded
def custom(
    function: Callable[..., Any],
    *,
    differential: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    jacobian: Callable[..., Any] | None = None,
    name: str | None = None,
    approximate: bool = False,
) -> Callable[..., Array]:
    """Give a function a derivative of your own.

    Parameters
    ----------
    function : callable
        Takes symbolic arrays, returns one.
    differential : callable, optional
        ``differential(args, tangents)``: the change of the value for changes of the arguments,
        linear in the tangents. ``args`` and ``tangents`` are tuples of arrays.
    vjp : callable, optional
        ``vjp(args, cotangent)``: for each argument the cotangent times the Jacobian, linear in the
        cotangent.
    jacobian : callable, optional
        ``jacobian(args)``: for each argument an array of shape ``value + argument``.
    name : str, optional
        How messages call it; by default the function's name.
    approximate : bool
        Whether the rule is meant to differ from the derivative of the value, as a straight-through
        estimator does. :func:`check` lists such a rule in place of calling it wrong.

    Returns
    -------
    callable
        Takes arrays and returns one, differentiable by the rule given.

    Raises
    ------
    ArgumentError
        If not exactly one derivative is given, or something is not what it should be.
        When called: if the number of arguments does not fit.
    NotDifferentiableError
        When called: if the differential is not linear in the tangents, or the vjp in the cotangent.
        When differentiated: by a symbol that the function uses without taking it as an argument.
    ShapeError, DtypeError
        When called: if a derivative has the wrong shape, or function or rule give no array.
    LimitError
        When called: if it calls itself, by its function or its rule, without end.

    See Also
    --------
    check : compares a rule with differences of the function.

    Notes
    -----
    Function and rule may use symbols from outside. They count as arguments for which the rule gives
    no derivative: second derivatives with respect to them are right, and a first derivative with
    respect to one that the value depends on is refused. Pass it as an argument, or use
    ``stop_gradient`` of it.

    Whether a rule is linear is seen by its form: sums of products with one seed each, and whatever
    else is linear (slices, sums over axes, products of matrices, ``solve``, ``where`` by a condition
    without seeds, ...). A rule that is zero is linear; a term without seeds that is not zero is not.

    Examples
    --------
    >>> import numpy as np
    >>> from symdiff import custom, gradient, scalar
    >>> clipped = custom(
    ...     np.exp, vjp=lambda args, seed: (seed * np.minimum(np.exp(args[0]), 1.0),), approximate=True
    ... )
    >>> x = scalar("x")
    >>> gradient(clipped(x), x)
    minimum(exp(x), 1)
    """
    if not is_function(function):
        raise ArgumentError(f"custom of type {type(function).__name__}; expected a function that takes symbols")
    given = dict(zip(_FORMS, (differential, vjp, jacobian), strict=True))
    forms = [form for form, rule in given.items() if rule is not None]
    if len(forms) != 1:
        raise ArgumentError(f"{len(forms)} derivatives; expected exactly one of differential=, vjp= and jacobian=")
    (form,) = forms
    rule = given[form]
    if rule is None or not is_function(rule):
        raise ArgumentError(f"{form}= is of type {type(rule).__name__}; expected a function")
    if not isinstance(approximate, bool):
        raise ArgumentError(f"approximate={approximate!r:.40}; expected True or False")
    author = _Author(title_of(function, name), function, rule, form, approximate)

    @guarded
    def call(*args: Any, **keywords: Any) -> Array:
        if keywords:
            raise ArgumentError(f"{author.name} with {', '.join(keywords)}=; it takes arrays by position only")
        return author.call(args)

    call.__name__ = author.name
    call.__doc__ = function.__doc__
    return call


def title_of(function: Callable[..., Any], name: object) -> str:
    """Return how messages call a function of an author's.

    Raises
    ------
    ArgumentError
        If the name that was given for it is none.
    """
    if name is None:
        return str(getattr(function, "__name__", "custom"))
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > NAME_LIMIT:
        raise ArgumentError(f"name={name!r:.80}; expected a text of 1 to {NAME_LIMIT} printable characters")
    return name


# ---------------------------------------------------------------------------- calling what the author wrote


class _Author:
    """Definition by an author: a function, its rule in one of the forms, and a name."""

    def __init__(
        self, name: str, function: Callable[..., Any], rule: Callable[..., Any], form: str, approximate: bool
    ) -> None:
        self.name = name
        self.function = function
        self.rule = rule
        self.form = form
        self.approximate = approximate

    def call(self, args: Sequence[Any]) -> Array:
        if not args:
            raise ArgumentError(f"{self.name} without arguments; expected one array at least")
        nodes = tuple(self._argument(i, arg) for i, arg in enumerate(args))
        around = scopes.get()[-1:]
        for outer in around:
            if outer.in_rule and (self, nodes) in outer.made:
                return Array(outer.made[self, nodes], provenance_of(*args, outer.made[self, nodes]))
        try:
            with entered(self.name, self._endless) as (*_, scope):
                node = self._write(scope, nodes)
        except RecursionError:
            raise self._endless("deeper than Python's limit of recursion") from None
        for outer in around:
            outer.made[self, nodes] = node
        return Array(node, provenance_of(*args, node))

    def _argument(self, i: int, value: Any) -> Node:
        try:
            return as_node(value)
        except (DtypeError, ShapeError) as error:
            raise type(error)(f"argument {i + 1} of {self.name}: {error}") from None

    def _endless(self, how: str) -> LimitError:
        return LimitError(
            f"{self.name} calls itself without end, by its function or its rule, or custom functions are nested "
            f"{how}; write the value in a rule by its formula, and end a recursion by a condition of Python's"
        )

    def _write(self, scope: Scope, nodes: Sequence[Node]) -> Node:
        """Write function and rule over placeholders, and make the node."""
        parameters = [scope.stand_in(f"argument {i + 1}", node.shape, node.dtype) for i, node in enumerate(nodes)]
        arrays = tuple(map(Array, parameters))
        body = self._array(self._run(self.function, "function", *arrays), "function")
        if body.dtype is BOOL:
            raise DtypeError(f"the function of {self.name} gave a condition; expected real numbers")
        seeds = self._seeds(scope, parameters, body)
        scope.in_rule = True
        images = self._images(arrays, parameters, seeds, body)
        return self._close(nodes, parameters, seeds, body, images)

    def _seeds(self, scope: Scope, parameters: Sequence[Node], body: Node) -> list[Node]:
        if self.form == "differential":
            return [scope.stand_in(f"tangent {i + 1}", p.shape, "real") for i, p in enumerate(parameters)]
        return [scope.stand_in("the cotangent", body.shape, "real")] if self.form == "vjp" else []

    def _images(
        self, arrays: tuple[Array, ...], parameters: Sequence[Node], seeds: Sequence[Node], body: Node
    ) -> list[Node]:
        shown = tuple(map(Array, seeds))
        if self.form == "differential":
            image = self._array(self._run(self.rule, self.form, arrays, shown), self.form)
            return [self._linear(self._shaped(image, body.shape), seeds, "tangents")]
        if self.form == "vjp":
            parts = self._several(self._run(self.rule, self.form, arrays, *shown), len(arrays))
            images = [self._shaped(part, p.shape) for part, p in zip(parts, parameters, strict=True)]
            return [self._linear(image, seeds, "cotangent") for image in images]
        parts = self._several(self._run(self.rule, self.form, arrays), len(arrays))
        return [self._shaped(part, (*body.shape, *p.shape)) for part, p in zip(parts, parameters, strict=True)]

    def _linear(self, image: Node, seeds: Sequence[Node], of: str) -> Node:
        return require_linear(image, seeds, f"the {self.form} of {self.name}", of)

    def _run(self, function: Callable[..., Any], what: str, *args: Any) -> Any:
        if takes(function, args):
            return users(function)(*args)
        if what == "function":
            raise ArgumentError(f"{self.name} came with {len(args)} arguments, which its function does not take")
        form = {"differential": "(args, tangents)", "vjp": "(args, cotangent)", "jacobian": "(args)"}[what]
        raise ArgumentError(f"the {what} of {self.name} cannot be called as {what}{form}; expected such a function")

    def _several(self, value: Any, count: int) -> list[Node]:
        parts = list(value) if isinstance(value, tuple | list) else [value]
        if len(parts) != count:
            raise ShapeError(
                f"the {self.form} of {self.name} gave {len(parts)} arrays; expected {count}, one an argument"
            )
        return [self._array(part, self.form) for part in parts]

    def _array(self, value: Any, what: str) -> Node:
        """Return what function or rule gave, if it is one array of numbers or symbols."""
        if isinstance(value, tuple | list):
            raise DtypeError(
                f"the {what} of {self.name} gave a {type(value).__name__}; expected one array (np.stack and "
                "np.concatenate join several)"
            )
        try:
            return as_node(value)
        except DtypeError:
            kind = f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            raise DtypeError(
                f"the {what} of {self.name} gave {'None' if value is None else kind}; expected one array of symbols "
                "or real numbers"
            ) from None

    def _shaped(self, node: Node, shape: Shape) -> Node:
        if node.shape != shape:
            stacked = "; args is a tuple of the arguments, args[0] the first" if node.shape[1:] == shape else ""
            came = f"the {self.form} of {self.name} has shape {show(node.shape)}"
            raise ShapeError(f"{came}; expected {show(shape)}{stacked}")
        return to_real(node)

    # ------------------------------------------------------------ closing

    def _close(
        self, nodes: Sequence[Node], parameters: Sequence[Node], seeds: Sequence[Node], body: Node, images: list[Node]
    ) -> Node:
        """Make the node, with what function and rule use from outside among its arguments."""
        captured = captured_by([body, *images], [*parameters, *seeds])
        everything = [*parameters, *captured]
        plain = {p: placeholder(("argument", i), p.shape, p.dtype) for i, p in enumerate(everything)}
        plain |= {s: placeholder(("seed", i), s.shape) for i, s in enumerate(seeds)}
        body, *images = substitute([body, *images], plain)
        rule = CustomRule(
            self.name,
            tuple(plain[p] for p in everything),
            self.form,
            tuple(plain[s] for s in seeds),
            tuple(images),
            tuple(Captured(called(node), _counts(body, plain[node])) for node in captured),
            self.approximate,
        )
        return custom_node(rule, [*nodes, *captured], body)


def takes(function: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Tell whether a function can be called with so many arguments, as far as its signature says."""
    if isinstance(function, np.ufunc):
        return function.nin == len(args)
    try:
        inspect.signature(function).bind(*args)
    except ValueError:  # written in C, without a signature
        return True
    except TypeError:
        return False
    return True


def _counts(body: Node, parameter: Node) -> bool:
    """Tell whether the value may have a derivative with respect to a parameter."""
    try:
        (slope,) = pushforward([body], {parameter: parameter})
    except NotDifferentiableError:
        return True
    return slope is not None and not is_zero(slope)
