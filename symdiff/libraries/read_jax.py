"""Functions of JAX as formulas: JAX traces them, and the graph is made of what it wrote down, one primitive a rule.

What is known when the function is read (shapes, positions, counters, constants) is computed by JAX itself. Everything
else is an :class:`~symdiff.frontend.array.Array`. What has no counterpart is refused by the primitive's name and the
line that it comes from.
"""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ..frontend.array import Array, asarray
from ..frontend.functions.recurrence import scan, while_loop
from ..frontend.symbols import Operations, function, symbol
from ..graph import Node, pad, scatter
from ..graph.deltas.einsum import is_zero
from ..graph.sizes import Dim, Size
from ..graph.traversal import postorder, substitute
from ..ground.guard import guarded, users
from .complexes import ComplexArray
from .positions import check_count, choose
from .signature import free_name, with_inputs

__all__ = ["from_jax"]

#: Steps of a loop that are written out one by one, and of one whose end its own numbers decide.
UNROLLED, ENDED = 256, 10_000

#: What is known when the function is read is an array of NumPy's, or a size; the rest is a formula.
Value = Any

sd = Operations()


@guarded
def from_jax(f: Callable[..., Any], *examples: Any, sizes: Mapping[str, int] | None = None) -> Any:
    """Read a function of JAX as a formula of symbols that are named as its parameters.

    Parameters
    ----------
    f : callable
        Of arrays, or structures of them.
    *examples : array, jax.ShapeDtypeStruct, or structure of them
        Arguments that say which shapes it takes. Real arrays become symbols: only their shapes are looked at. Whole
        numbers and conditions are taken as they are.
    sizes : mapping of str to int, optional
        Letters for sizes: ``{"n": 5}`` makes each axis of length 5 one of length n.

    Returns
    -------
    Array, or structure of them
        As the function returns it. Kernels of it, and of its derivatives, take the arguments in the function's order.

    Raises
    ------
    UnsupportedError
        For a primitive that has no counterpart; the message has its name and line.

    Notes
    -----
    The function is traced in double precision, and casts to shorter types of real numbers are passed over. Complex
    numbers within it, as of ``jnp.fft``, are pairs of real ones, and such a result is a complex array. Derivatives
    are those of the formula: what ``jax.custom_jvp`` and ``jax.custom_vjp`` say of a function is not read, but for
    ``jax.lax.stop_gradient``. Loops with a known number of steps are :func:`symdiff.scan`, or are written out where the
    step uses its number as a position.

    Examples
    --------
    >>> import jax.numpy as jnp                                   # doctest: +SKIP
    >>> import symdiff as sd
    >>> def loss(w, X, y):
    ...     return jnp.sum((X @ w - y) ** 2)
    >>> f = sd.from_jax(loss, jnp.ones(3), jnp.ones((5, 3)), jnp.ones(5), sizes={"n": 3, "m": 5})  # doctest: +SKIP
    >>> sd.gradient(f, "w")                                       # doctest: +SKIP
    2 * (X.T @ (X @ w - y))
    """
    try:
        import jax
    except ImportError as error:
        raise UnsupportedError(f"jax is not installed here ({error}); install it, e.g. by pip install jax") from None
    if not callable(f):
        raise ArgumentError(f"from_jax of type {type(f).__name__}; expected a function of JAX's arrays")
    letters = {name: int(length) for name, length in (sizes or {}).items()}
    if len(set(letters.values())) != len(letters):
        raise ArgumentError(f"sizes={dict(letters)}; expected a different length for each letter")
    enable = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with enable(True):
        known = _symbolic_sizes(jax, letters)
        arguments = [_arguments(jax, name, tree, known) for name, tree in _named(f, examples)]
        flat, structure = jax.tree.flatten([[leaf.given for leaf in leaves] for leaves, _ in arguments])

        def call(*given: Any) -> Any:
            rows = jax.tree.unflatten(structure, given)
            return f(*[jax.tree.unflatten(tree, row) for (_, tree), row in zip(arguments, rows, strict=True)])

        leaves = [leaf for row, _ in arguments for leaf in row]
        free = [k for k, leaf in enumerate(leaves) if leaf.symbol is not None]

        def of_free(*given: Any) -> Any:
            every = list(flat)
            for k, one in zip(free, given, strict=True):
                every[k] = one
            return call(*every)

        trace = users(jax.make_jaxpr(of_free, return_shape=True))
        closed, shape = trace(*[flat[k] for k in free])
        reader = _Reader(jax, letters)
        results = reader.run(closed.jaxpr, closed.consts, [leaves[k].symbol for k in free])
        _, result_structure = jax.tree.flatten(shape)
        symbols = [leaf.symbol for leaf in leaves if leaf.symbol is not None]
        return jax.tree.unflatten(result_structure, [_with_inputs(one, symbols) for one in results])


class _Leaf(NamedTuple):
    """One array of an argument: what JAX traces with, and the symbol in its place, None for what is known."""

    given: Any
    symbol: Array | None


def _named(function: Callable[..., Any], examples: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return the examples with the names of the parameters that take them."""
    try:
        bound = inspect.signature(function).bind(*examples)
    except TypeError as error:
        raise ArgumentError(f"{len(examples)} examples do not fit the function: {error}") from None
    except ValueError:  # functions without a signature
        return [("x" if len(examples) == 1 else f"x{k}", example) for k, example in enumerate(examples)]
    rows: list[tuple[str, Any]] = []
    for name, value in bound.arguments.items():
        several = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        rows += [(f"{name}{k}", one) for k, one in enumerate(value)] if several else [(name, value)]
    return rows


def _arguments(jax: Any, name: str, tree: Any, known: Mapping[int, Any]) -> tuple[list[_Leaf], Any]:
    """Return the arrays of an argument, and its structure."""
    rows, structure = jax.tree_util.tree_flatten_with_path(tree)
    leaves, taken = [], set[str]()
    for path, leaf in rows:
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
        own = free_name("_".join(["".join(c if c.isalnum() else "_" for c in part) for part in (name, *parts)]), taken)
        taken.add(own)
        dtype = np.dtype(getattr(leaf, "dtype", None) or np.result_type(leaf))
        if dtype.kind in "iub":
            leaves.append(_Leaf(np.asarray(leaf), None))
            continue
        if dtype.kind == "c":
            raise UnsupportedError(f"{own} is complex; expected real numbers")
        lengths = tuple(getattr(leaf, "shape", ()))
        traced = tuple(known.get(n, n) for n in lengths)
        letters = tuple(str(known[n]) if n in known else n for n in lengths)
        leaves.append(_Leaf(jax.ShapeDtypeStruct(traced, np.float64), symbol(own, letters)))
    return leaves, structure


def _symbolic_sizes(jax: Any, letters: Mapping[str, int]) -> dict[int, Any]:
    """Return JAX's own symbols for sizes, by the lengths that they stand for."""
    if not letters:
        return {}
    from jax import export

    made = export.symbolic_shape(", ".join(letters), constraints=[f"{name} >= 2" for name in letters])
    return dict(zip(letters.values(), made, strict=True))


def _formula(value: Value) -> Array:
    """Return a value as a formula of real numbers or conditions."""
    if isinstance(value, Array):
        return value
    if isinstance(value, Size):
        return asarray(value)
    if isinstance(value, _Factors):
        raise value.refusal
    array = np.asarray(value)
    return asarray(array if array.dtype == np.bool_ else array.astype(np.float64))


def _with_inputs(value: Value, symbols: Sequence[Array]) -> Any:
    if isinstance(value, ComplexArray) or (_is_known(value) and np.iscomplexobj(value)):
        return ComplexArray(*(with_inputs(part, symbols) for part in _parts(value)))
    return with_inputs(_formula(value), symbols)


def _parts(value: Value) -> tuple[Array, Array]:
    """Return the real and the imaginary part."""
    if isinstance(value, ComplexArray):
        return value.parts
    if _is_known(value) and np.iscomplexobj(value):
        return _formula(np.real(value)), _formula(np.imag(value))
    real = _formula(value)
    return real, asarray(sd.zeros(real.shape))


def _is_known(value: Value) -> bool:
    return not isinstance(value, Array | ComplexArray | Size | _Factors)


class _Reader:
    """Reads the equations of a jaxpr, each by the rule of its primitive."""

    def __init__(self, jax: Any, letters: Mapping[str, int]) -> None:
        self.jax = jax
        self.lines: list[str] = []
        self.made: dict[Any, Any] = {}
        #: Variables that something reads, of the jaxpr that is run.
        self.used: set[Any] = set()
        self.sizes = {name: symbol("sized", name).shape[0] for name in letters}

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Value]) -> list[Value]:
        """Return the results of a jaxpr."""
        values: dict[Any, Value] = {}

        def read(variable: Any) -> Value:
            return np.asarray(variable.val) if hasattr(variable, "val") else values[variable]

        for variable, const in zip(jaxpr.constvars, consts, strict=True):
            values[variable] = np.asarray(const) if _is_known(const) else const
        values.update(zip(jaxpr.invars, args, strict=True))
        outer, self.made = (self.made, self.used), {}
        read_by = [*(variable for equation in jaxpr.eqns for variable in equation.invars), *jaxpr.outvars]
        self.used = {variable for variable in read_by if not hasattr(variable, "val")}
        for equation in jaxpr.eqns:
            given = [read(variable) for variable in equation.invars]
            shifted = _without_shift(equation, self.made)
            if shifted is None:
                found = self.results(equation, given)
            else:
                whole = function(shifted.function)(_formula(read(shifted.of)), axis=shifted.axes)
                found = [sd.reshape(whole, tuple(map(self.dim, equation.outvars[0].aval.shape)))]
            values.update(zip(equation.outvars, found, strict=True))
            self.made.update(dict.fromkeys(equation.outvars, equation))
        self.made, self.used = outer
        return [read(variable) for variable in jaxpr.outvars]

    def closed(self, jaxpr: Any, args: Sequence[Value]) -> list[Value]:
        """Return the results of a jaxpr, with or without constants of its own."""
        return self.run(getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ()), args)

    def results(self, equation: Any, given: list[Value]) -> list[Value]:
        """Return the results of one equation."""
        name = str(equation.primitive)
        rule = _RULES.get(name)
        sizes = [dim for variable in equation.outvars for dim in getattr(variable.aval, "shape", ())]
        if all(map(_is_known, given)) and name not in _INLINED and all(isinstance(n, int) for n in sizes):
            return self.compute(equation, given)
        call = _Call(self, equation, given)
        if name not in _INLINED and any(map(_is_complex, (*equation.invars, *equation.outvars))):
            rule = _COMPLEX.get(name)
            if rule is None:
                raise call.refusal("complex numbers")
        if rule is None:
            raise call.refusal("it has no counterpart")
        self.lines.append(_line(equation) or (self.lines[-1] if self.lines else ""))
        try:
            found = rule(call, *given)
        except (UnsupportedError, LimitError):
            raise
        except (ShapeError, ArgumentError) as error:
            raise call.refusal(str(error)) from error
        finally:
            self.lines.pop()
        return list(found) if equation.primitive.multiple_results or isinstance(found, list) else [found]

    def compute(self, equation: Any, given: Sequence[Value]) -> list[Value]:
        """Return what JAX computes of numbers that are known."""
        with self.jax.ensure_compile_time_eval():
            found = equation.primitive.bind(*map(self.jax.numpy.asarray, given), **equation.params)
        found = list(found) if equation.primitive.multiple_results else [found]
        key = self.jax.dtypes.prng_key  # of random numbers: no array of NumPy's
        return [one if self.jax.dtypes.issubdtype(one.dtype, key) else np.asarray(one) for one in found]

    def dim(self, size: Any) -> Dim:
        """Return a size of JAX's as one of symdiff's."""
        if isinstance(size, int | np.integer):
            return int(size)
        found: Dim = size._evaluate(self.sizes)
        return found


def _is_complex(variable: Any) -> bool:
    dtype = getattr(variable.aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "c"


class _Call:
    """An equation as its rule sees it: parameters by name, shapes, refusals."""

    def __init__(self, reader: _Reader, equation: Any, given: Sequence[Value]) -> None:
        self.reader, self.equation, self.given = reader, equation, given
        self.params = equation.params

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    @property
    def name(self) -> str:
        """The primitive's name."""
        return str(self.equation.primitive)

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the first result."""
        return self.sized(self.equation.outvars[0].aval.shape)

    def sized(self, shape: Sequence[Any]) -> tuple[Dim, ...]:
        """Return sizes of JAX's as symdiff's."""
        return tuple(map(self.reader.dim, shape))

    def number(self, size: Dim) -> int:
        """Return a size that has to be a number."""
        if not isinstance(size, int):
            raise self.refusal("positions that depend on the arguments along a size that is a letter; give it a number")
        return size

    def uses_more_than_first(self) -> bool:
        """Tell whether anything reads another result than the first."""
        return not self.reader.used.isdisjoint(self.equation.outvars[1:])

    def is_whole(self, number: int = 0) -> bool:
        """Tell whether an argument is of whole numbers."""
        return np.dtype(self.equation.invars[number].aval.dtype).kind in "iu"

    def refusal(self, why: str) -> UnsupportedError:
        """Return the error that names the primitive and the line that it comes from."""
        line = _line(self.equation) or next(reversed(self.reader.lines), "") or "a place that JAX does not tell"
        return UnsupportedError(f"JAX's {self.name} at {line}: {why}")

    def positions(self, function: Callable[[Any], Any], shape: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return where the elements of a result come from, by moving the numbers of all places."""
        if not all(isinstance(n, int) for n in shape):
            raise self.refusal("positions in an array whose size is a letter; give that size as a number")
        places = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64).reshape(tuple(shape))
        with self.reader.jax.ensure_compile_time_eval():
            return np.asarray(function(self.reader.jax.numpy.asarray(places)))

    def known(self, values: Sequence[Value], of: str = "positions") -> list[npt.NDArray[Any]]:
        """Return values that must be known when the function is read."""
        if not all(map(_is_known, values)):
            raise self.refusal(f"{of} that depend on the arguments; expected ones that are known when it is read")
        return [np.asarray(value) for value in values]


def _line(equation: Any) -> str:
    """Return the line of the user's program that an equation comes from, "" where it is JAX's own."""
    try:
        from jax._src import source_info_util

        return str(source_info_util.summarize(equation.source_info)).strip()
    except (ImportError, AttributeError):  # which are no part of JAX's interface
        return ""


# ---------------------------------------------------------------------------- the table of rules

Rule = Callable[..., Any]
_RULES: dict[str, Rule] = {}


def _reads(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of primitives."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _element_wise(function: Callable[..., Any], call: _Call, *args: Value) -> Value:
    return function(*map(_formula, args))


#: Functions of numbers, by the names of both libraries.
_SCALARS: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x,
    "sign": sd.sign,
    "floor": sd.floor,
    "ceil": sd.ceil,
    "abs": sd.abs,
    "exp": sd.exp,
    "exp2": sd.exp2,
    "log": sd.log,
    "expm1": sd.expm1,
    "log1p": sd.log1p,
    "sin": sd.sin,
    "cos": sd.cos,
    "tan": sd.tan,
    "asin": sd.arcsin,
    "acos": sd.arccos,
    "atan": sd.arctan,
    "atan2": sd.arctan2,
    "sinh": sd.sinh,
    "cosh": sd.cosh,
    "tanh": sd.tanh,
    "asinh": sd.arcsinh,
    "acosh": sd.arccosh,
    "atanh": sd.arctanh,
    "sqrt": sd.sqrt,
    "rsqrt": lambda x: 1.0 / sd.sqrt(x),
    "cbrt": sd.cbrt,
    "square": lambda x: x**2,
    "logistic": sd.sigmoid,
    "pow": lambda x, y: x**y,
    "add": lambda x, y: x + y,
    "add_any": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "erf": sd.erf,
    "erfc": sd.erfc,
    "erf_inv": sd.erfinv,
    "lgamma": sd.lgamma,
    "digamma": sd.digamma,
    "igamma": sd.gammainc,
    "igammac": sd.gammaincc,
    "regularized_incomplete_beta": sd.betainc,
    "zeta": sd.zeta,
    "bessel_i0e": sd.i0e,
    "bessel_i1e": sd.i1e,
    "is_finite": sd.isfinite,
    "lt": lambda x, y: x < y,
    "lt_to": lambda x, y: x < y,
    "le_to": lambda x, y: x <= y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
_RULES.update({name: partial(_element_wise, function) for name, function in _SCALARS.items()})
#: Results that are the argument itself, in double precision.
_SAME = ("copy", "copy_p", "device_put", "reduce_precision", "optimization_barrier", "name", "sharding_constraint",
         "pvary")  # fmt: skip


@_reads(*_SAME)
def _same(call: _Call, *args: Value) -> Any:
    return list(args) if call.equation.primitive.multiple_results else args[0]


@_reads("max", "min")
def _extreme(call: _Call, x: Value, y: Value) -> Value:
    least = -np.inf if call.name == "max" else np.inf
    for one, other in ((x, y), (y, x)):
        if _is_known(one) and (np.asarray(one) == least).all():
            return _formula(other)
    return (sd.maximum if call.name == "max" else sd.minimum)(_formula(x), _formula(y))


@_reads("stop_gradient")
def _stop_gradient(call: _Call, x: Value) -> Value:
    return sd.stop_gradient(_formula(x))


@_reads("div")
def _div(call: _Call, x: Value, y: Value) -> Value:
    quotient = _formula(x) / _formula(y)
    return sd.trunc(quotient) if call.is_whole() else quotient


@_reads("rem")
def _rem(call: _Call, x: Value, y: Value) -> Value:
    return sd.fmod(_formula(x), _formula(y))


@_reads("round")
def _round(call: _Call, x: Value) -> Value:
    x = _formula(x)
    if int(call["rounding_method"]) == 1:
        return sd.rint(x)
    return sd.sign(x) * sd.floor(sd.abs(x) + 0.5)


@_reads("integer_pow")
def _integer_pow(call: _Call, x: Value) -> Value:
    return _formula(x) ** int(call["y"])


@_reads("polygamma")
def _polygamma(call: _Call, order: Value, x: Value) -> Value:
    (known,) = call.known([order], "an order")
    orders = set(known.ravel().tolist())
    if len(orders) != 1:
        raise call.refusal("several orders at once; expected one")
    return sd.polygamma(int(orders.pop()), _formula(x))


@_reads("eq", "ne")
def _equal(call: _Call, x: Value, y: Value) -> Value:
    x, y = _formula(x), _formula(y)
    if x.dtype == bool:
        return sd.logical_xor(x, y) if call.name == "ne" else sd.logical_not(sd.logical_xor(x, y))
    return sd.equal(x, y) if call.name == "eq" else sd.not_equal(x, y)


@_reads("and", "or", "xor", "not")
def _logical(call: _Call, *args: Value) -> Value:
    if call.is_whole():
        raise call.refusal("bits of whole numbers")
    return getattr(sd, f"logical_{call.name}")(*map(_formula, args))


@_reads("clamp")
def _clamp(call: _Call, low: Value, x: Value, high: Value) -> Value:
    return sd.minimum(sd.maximum(_formula(x), _formula(low)), _formula(high))


@_reads("select_n")
def _select(call: _Call, which: Value, *cases: Value) -> Value:
    if _is_known(which):
        chosen = np.asarray(which).astype(int)
        if chosen.ndim == 0 or (chosen.size and (chosen == chosen.flat[0]).all()):
            return cases[int(chosen.flat[0])]
        if len(cases) == 2 and (half := _triangle(chosen, *map(_formula, cases))) is not None:
            return half
    number = _formula(which)
    if number.dtype == bool:
        return sd.where(number, _formula(cases[1]), _formula(cases[0]))
    found = _formula(cases[-1])
    for k in range(len(cases) - 2, -1, -1):
        found = sd.where(number <= float(k), _formula(cases[k]), found)
    return found


def _triangle(mask: npt.NDArray[np.int64], first: Array, second: Array) -> Array | None:
    """Return half of a matrix, where a mask takes that, and 0 elsewhere."""
    if mask.ndim != 2 or not (is_zero(first.node) or is_zero(second.node)):
        return None
    whole, holds = (second, mask == 1) if is_zero(first.node) else (first, mask == 0)
    above = np.subtract.outer(np.arange(holds.shape[0]), np.arange(holds.shape[1])) * -1
    highest, lowest = int(above[holds].max()), int(above[holds].min())
    if ((above <= highest) == holds).all():
        return asarray(sd.tril(whole, highest))
    return asarray(sd.triu(whole, lowest)) if ((above >= lowest) == holds).all() else None


@_reads("convert_element_type")
def _convert(call: _Call, x: Value) -> Value:
    kind = np.dtype(call["new_dtype"]).kind
    if isinstance(x, Size):
        return x
    x = _formula(x)
    if kind == "b":
        return x if x.dtype == bool else sd.not_equal(x, 0.0)
    if x.dtype == bool:
        return sd.where(x, 1.0, 0.0)
    return sd.trunc(x) if kind in "iu" and not call.is_whole() else x


@_reads("dim_as_value")
def _dim_as_value(call: _Call) -> Value:
    return asarray(call.reader.dim(call["dim"]))


# ---------------------------------------------------------------------------- shapes and places


@_reads("broadcast_in_dim")
def _broadcast_in_dim(call: _Call, x: Value, *dims: Value) -> Value:
    x, shape, axes = _formula(x), call.shape, [int(axis) for axis in call["broadcast_dimensions"]]
    if x.ndim == 0:
        return sd.broadcast_to(x, shape)
    own = tuple(x.shape[axes.index(k)] if k in axes else 1 for k in range(len(shape)))
    spread = x if own == x.shape else sd.reshape(x, own)
    return spread if own == shape else sd.broadcast_to(spread, shape)


@_reads("squeeze")
def _squeeze(call: _Call, x: Value) -> Value:
    x, axes = _formula(x), {int(axis) for axis in call["dimensions"]}
    if x.node.is_slice and all(length is not None for _, _, length in x.node.payload.items):
        items, whole = x.node.payload.items, Array(x.node.args[0])
        ends = [start + length * step for start, step, length in items]
        if all(isinstance(end, Size) or end >= 0 for end in ends):  # else the slice runs to the beginning
            parts = [slice(item[0], end, item[1]) for item, end in zip(items, ends, strict=True)]
            return whole[tuple(items[k][0] if k in axes else parts[k] for k in range(x.ndim))]
    return x[tuple(0 if k in axes else slice(None) for k in range(x.ndim))]


@_reads("reshape", "expand_dims")
def _reshape(call: _Call, x: Value, *dims: Value) -> Value:
    if call.params.get("dimensions") is not None and call.name == "reshape":
        raise call.refusal("axes in another order")
    return sd.reshape(_formula(x), call.shape)


@_reads("transpose")
def _transpose(call: _Call, x: Value) -> Value:
    return sd.transpose(_formula(x), [int(axis) for axis in call["permutation"]])


@_reads("rev")
def _rev(call: _Call, x: Value) -> Value:
    return sd.flip(_formula(x), tuple(int(axis) for axis in call["dimensions"]))


@_reads("concatenate")
def _concatenate(call: _Call, *parts: Value) -> Value:
    return sd.concatenate([_formula(part) for part in parts], axis=int(call["dimension"]))


@_reads("stack")
def _stack(call: _Call, *parts: Value) -> Value:
    return sd.stack([_formula(part) for part in parts], axis=int(call["axis"]))


@_reads("unstack")
def _unstack(call: _Call, x: Value) -> list[Array]:
    return list(sd.unstack(_formula(x), axis=int(call["axis"])))


@_reads("tile")
def _tile(call: _Call, x: Value) -> Value:
    return sd.tile(_formula(x), tuple(map(int, call["reps"])))


@_reads("slice")
def _slice(call: _Call, x: Value) -> Value:
    starts, stops = call.sized(call["start_indices"]), call.sized(call["limit_indices"])
    steps = call["strides"] or (1,) * len(starts)
    return _formula(x)[tuple(slice(*one) for one in zip(starts, stops, steps, strict=True))]


@_reads("split")
def _split(call: _Call, x: Value) -> list[Array]:
    axis, x = int(call["axis"]), _formula(x)
    ends = list(itertools.accumulate(call.sized(call["sizes"])))
    return [x[(slice(None),) * axis + (slice(a, b),)] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


@_reads("dynamic_slice")
def _dynamic_slice(call: _Call, x: Value, *starts: Value) -> Value:
    if not all(map(_is_known, starts)):
        x = _formula(x)
        lengths = call.sized(call["slice_sizes"])
        for axis, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            if length != x.shape[axis]:
                last = call.number(x.shape[axis]) - call.number(length)
                places = sd.clip(_formula(start), 0, last) + np.arange(call.number(length))
                x = sd.moveaxis(_chosen(call, sd.moveaxis(x, axis, -1), places, x.shape[axis]), 0, axis)
        return x
    return _part(call, _formula(x), call.known(starts), call.sized(call["slice_sizes"]))


def _part(call: _Call, x: Array, starts: Sequence[Any], lengths: Sequence[Dim]) -> Value:
    """Return a part of so many elements along each axis; a start beyond the last possible one is moved there."""
    places = []
    for start, length, size in zip(starts, lengths, x.shape, strict=True):
        first: Dim = int(start)
        if isinstance(size, int) and isinstance(length, int):
            first = min(max(int(start), 0), size - length)
        places.append(slice(first, first + length))
    return x[tuple(places)]


def _chosen(call: _Call, x: Array, places: Array, size: Dim) -> Array:
    """Return elements along the last axis at places that numbers decide, with the axes of these in front."""
    for length in (*places.shape, *x.shape):
        call.number(length)
    return choose(x, places, call.number(size))


def _gathered(call: _Call, x: Array, at: Array) -> Array:
    """Return elements, rows or parts at positions that numbers decide."""
    numbers, lengths = call["dimension_numbers"], call.sized(call["slice_sizes"])
    stacked = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    axes = [*stacked, *numbers.start_index_map]
    left, parts = [k for k in range(x.ndim) if k not in axes], [k for k in axes if lengths[k] != 1]
    if any(lengths[k] != x.shape[k] for k in left):
        raise call.refusal("positions that depend on the arguments, in a part of the other axes")
    batch, inside = at.shape[:-1], None
    places_of = (*batch, *(lengths[k] for k in parts))  # each element of a part has a place of its own
    found = sd.transpose(x, (*left, *axes[::-1]))
    for number, axis in enumerate(axes):
        size = call.number(x.shape[axis])
        if axis in stacked:  # row by row
            places = sd.broadcast_to(np.arange(size).reshape((-1,) + (1,) * (len(batch) - 1 - stacked[axis])), batch)
        else:
            places, last = at[..., number - len(stacked)], size - call.number(lengths[axis])
            if "FILL" in str(call["mode"]).upper():
                good = (places >= 0) & (places <= last)
                inside = good if inside is None else inside & good
            places = sd.clip(places, 0, last)
        if parts:
            own = [call.number(lengths[k]) if k == axis else 1 for k in parts]
            within = np.arange(math.prod(own)).reshape(own)
            places = sd.broadcast_to(places.reshape((*batch, *(1,) * len(parts))) + within, places_of)
        if number == 0:
            found = _chosen(call, found, places, size)
        else:
            here = places.reshape((*places_of, *(1,) * (found.ndim - len(places_of)))) == np.arange(size)
            found = sd.sum(sd.where(here, found, 0.0), axis=-1)
    if inside is not None:
        found = sd.where(inside.reshape((*batch, *(1,) * (found.ndim - len(batch)))), found, np.nan)
    order = np.argsort([*parts, *left]) + len(batch)
    found = sd.transpose(found, (*range(len(batch)), *order.tolist())) if parts else found
    outside = (*numbers.collapsed_slice_dims, *stacked)
    found = found.reshape((*batch, *(lengths[k] for k in range(x.ndim) if k not in outside)))
    offsets, others = list(numbers.offset_dims), iter(range(len(batch)))
    ours = [len(batch) + offsets.index(k) if k in offsets else next(others) for k in range(found.ndim)]
    return asarray(sd.transpose(found, ours) if ours != list(range(found.ndim)) else found)


@_reads("gather")
def _gather(call: _Call, x: Value, at: Value) -> Value:
    if not _is_known(at):
        return _gathered(call, _formula(x), _formula(at))
    (indices,), x = call.known([at]), _formula(x)
    numbers = call["dimension_numbers"]
    if indices.ndim == 1 and not numbers.operand_batching_dims:
        starts = dict(zip(numbers.start_index_map, indices.tolist(), strict=True))
        part = _part(call, x, [starts.get(k, 0) for k in range(x.ndim)], call.sized(call["slice_sizes"]))
        return sd.reshape(part, call.shape)
    places = call.positions(
        lambda array: call.equation.primitive.bind(array, indices, **{**call.params, "fill_value": -1}), x.shape
    )
    return _taken(x, places)


def _taken(x: Array, places: npt.NDArray[np.int64]) -> Value:
    """Return elements by their places in the array laid out in one row, nan for places below 0."""
    if places.size == 0:
        return sd.reshape(sd.zeros((0,)), places.shape)
    if (places < 0).any():
        whole = sd.concatenate([sd.reshape(x, (-1,)), asarray(np.array([np.nan]))])
        return sd.reshape(sd.take(whole, np.where(places < 0, int(x.size), places).ravel().tolist()), places.shape)
    found = x
    coordinates = np.unravel_index(places, x.shape)
    order: list[int] = []
    for axis, own in enumerate(coordinates):
        moving = [k for k in range(places.ndim) if places.shape[k] > 1 and (own != own.take([0], k)).any()]
        if len(moving) > 1 or (moving and order and moving[0] <= order[-1]):
            return sd.reshape(sd.take(sd.reshape(x, (-1,)), places.ravel().tolist()), places.shape)
        line = own[tuple(slice(None) if k in moving else 0 for k in range(places.ndim))].ravel().tolist()
        if line != list(range(int(x.shape[axis]))):
            found = sd.take(found, line, axis=axis)
        order += moving
    if [k for k in range(places.ndim) if places.shape[k] > 1] == order:
        return found if found.shape == places.shape else sd.reshape(found, places.shape)
    return sd.reshape(sd.take(sd.reshape(x, (-1,)), places.ravel().tolist()), places.shape)


def _places_of_updates(call: _Call, x: Array, at: Value, updates: Array) -> npt.NDArray[np.int64]:
    """Return where the elements of ``updates`` go, -1 for those that go nowhere."""
    from jax import lax

    (indices,), numbers = call.known([at]), call["dimension_numbers"]
    windows = [int(updates.shape[k]) for k in numbers.update_window_dims]
    outside = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    lengths = [1 if k in outside else windows.pop(0) for k in range(x.ndim)]
    moved = lax.GatherDimensionNumbers(
        offset_dims=numbers.update_window_dims,
        collapsed_slice_dims=numbers.inserted_window_dims,
        start_index_map=numbers.scatter_dims_to_operand_dims,
        operand_batching_dims=numbers.operand_batching_dims,
        start_indices_batching_dims=numbers.scatter_indices_batching_dims,
    )
    mode = call["mode"]
    gather = partial(lax.gather, dimension_numbers=moved, slice_sizes=tuple(lengths), mode=mode, fill_value=-1)
    return call.positions(lambda array: gather(array, indices), x.shape)


@_reads("scatter", "scatter-add", "scatter_add", "scatter-mul", "scatter_mul", "scatter-min", "scatter-max",
        "scatter_min", "scatter_max")  # fmt: skip
def _scatter(call: _Call, x: Value, at: Value, updates: Value) -> Value:
    x, updates = _formula(x), _formula(updates)
    kind = call.name.replace("_", "-").removeprefix("scatter").removeprefix("-")
    if not _is_known(at):
        return _scattered(call, x, _formula(at), updates, kind)
    places = _places_of_updates(call, x, at, updates).ravel()
    kept = np.flatnonzero(places >= 0)
    row, values, places = sd.reshape(x, (-1,)), sd.reshape(updates, (-1,)), places[kept]
    if len(kept) < updates.size:
        values = sd.take(values, kept.tolist())
    if kind == "add":
        spread = Array(scatter(values.node, 0, tuple(places.tolist()), x.size))
        return sd.reshape(row + spread, x.shape)
    if kind:
        function = _WRITTEN[kind]
        for turn in _turns(places):  # a place that is written more than once is so in turns
            old = sd.take(row, places[turn].tolist())
            new = values if len(turn) == len(places) else sd.take(values, turn.tolist())
            row = sd.reshape(_written(row, function(old, new), places[turn]), (-1,))
        return sd.reshape(row, x.shape)
    return _written(x, values, places)


#: What becomes of an element and of what is written to it.
_WRITTEN: dict[str, Callable[[Any, Any], Any]] = {
    "": lambda old, new: new, "add": operator.add, "mul": operator.mul, "min": sd.minimum, "max": sd.maximum
}  # fmt: skip


def _scattered(call: _Call, x: Array, at: Array, updates: Array, kind: str) -> Value:
    """Return an array with elements, rows or parts written to positions that numbers decide."""
    numbers, batch = call["dimension_numbers"], tuple(map(call.number, at.shape[:-1]))
    stacked = dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    windows = list(numbers.update_window_dims)
    updates = sd.transpose(updates, ([k for k in range(updates.ndim) if k not in windows] + windows))
    own = iter(updates.shape[len(batch) :])
    lengths = [1 if k in numbers.inserted_window_dims or k in stacked else next(own) for k in range(x.ndim)]
    count = math.prod(batch)
    at, inside = at.reshape((count, at.shape[-1])), None
    starts: dict[int, Any] = {
        axis: np.broadcast_to(np.arange(n).reshape((-1,) + (1,) * (len(batch) - 1 - k)), batch).ravel()
        for axis, k, n in ((axis, k, call.number(x.shape[axis])) for axis, k in stacked.items())
    }
    for number, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        start, last = at[:, number], call.number(x.shape[axis]) - call.number(lengths[axis])
        if "CLIP" in str(call["mode"]).upper():
            start = sd.clip(start, 0, last)
        elif lengths[axis] != 1:  # what is partly beyond the end is left out as a whole
            good = (start >= 0) & (start <= last)
            inside = good if inside is None else inside & good
        starts[axis] = start
    return _put(call, x, sd.reshape(updates, (count, *lengths)), starts, kind, inside)


def _put(call: _Call, x: Array, parts: Array, starts: Mapping[int, Any], kind: str, inside: Any = None) -> Value:
    """Return an array with parts written to it, one after the other, each from its own start along some axes."""
    count = call.number(parts.shape[0])
    check_count(count * math.prod(map(call.number, (*x.shape, *parts.shape[1:]))))
    if kind != "add" and count > UNROLLED:
        raise call.refusal(f"more than {UNROLLED} positions that depend on the arguments and are written to in turn")
    hit: Any = None if inside is None else inside.reshape((count,) + (1,) * x.ndim)
    for axis, start in starts.items():
        size, length = call.number(x.shape[axis]), call.number(parts.shape[1 + axis])
        first, along = _formula(start).reshape((count, 1)), (count, *(size if k == axis else 1 for k in range(x.ndim)))
        if length == 1:
            here = (first == np.arange(size)).reshape(along)
            parts = asarray(sd.where(here, parts, 0.0))
        else:
            places = (first + np.arange(length))[..., None] == np.arange(size)
            rows = sd.moveaxis(parts, 1 + axis, -1)[..., None]
            met = sd.where(places.reshape((count, *(1,) * (x.ndim - 1), length, size)), rows, 0.0)
            parts = asarray(sd.moveaxis(sd.sum(met, axis=-2), -1, 1 + axis))
            here = sd.any(places, axis=1).reshape(along)
        hit = here if hit is None else hit & here
    if parts.shape[1:] != x.shape:
        raise call.refusal("positions that depend on the arguments, in a part of the other axes")
    if kind == "add":
        added = sd.sum(parts if inside is None else sd.where(hit, parts, 0.0), axis=0)
        return added if is_zero(x.node) else x + added
    for k in range(count):
        x = asarray(sd.where(hit[k], _WRITTEN[kind](x, parts[k]), x))
    return x


def _turns(places: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Return numbers of places in as few groups as have none twice."""
    seen: dict[int, int] = {}
    groups: list[list[int]] = []
    for number, place in enumerate(places.tolist()):
        turn = seen[place] = seen.get(place, -1) + 1
        groups += [[]] * (turn == len(groups))
        groups[turn] = [*groups[turn], number]
    return [np.array(group) for group in groups]


def _written(x: Array, values: Array, places: npt.NDArray[np.int64]) -> Value:
    """Return an array with other elements at some places, the last that is written."""
    if len(places) and (np.diff(places) == 1).all():
        row, first, end = sd.reshape(x, (-1,)), int(places[0]), int(places[-1]) + 1
        parts = [row[:first], sd.reshape(values, (-1,)), row[end:]]
        return sd.reshape(sd.concatenate([part for part in parts if part.shape[0] != 0]), x.shape)
    source = np.arange(int(x.size))
    source[places] = len(source) + np.arange(len(places))
    whole = sd.concatenate([sd.reshape(x, (-1,)), sd.reshape(values, (-1,))])
    return sd.reshape(sd.take(whole, source.tolist()), x.shape)


@_reads("dynamic_update_slice")
def _dynamic_update_slice(call: _Call, x: Value, update: Value, *starts: Value) -> Value:
    from jax import lax

    x, update = _formula(x), _formula(update)
    if not all(map(_is_known, starts)):
        moved = [k for k in range(x.ndim) if update.shape[k] != x.shape[k]]
        if not moved:
            return update
        last = {k: call.number(x.shape[k]) - call.number(update.shape[k]) for k in moved}
        return _put(call, x, update[None], {k: sd.clip(_formula(starts[k]), 0, last[k]) for k in moved}, "")
    first = tuple(int(one) for one in call.known(starts))
    lengths = tuple(int(n) for n in update.shape)
    places = call.positions(lambda array: lax.dynamic_slice(array, first, lengths), x.shape)
    return _written(x, update, places.ravel())


@_reads("pad")
def _pad(call: _Call, x: Value, value: Value) -> Value:
    return _padded(call, _formula(x), _formula(value), call["padding_config"])


def _padded(call: _Call, x: Array, value: Array, widths: Sequence[Sequence[int]]) -> Value:
    """Return an array with a value around it and between its elements; negative widths take elements away."""
    if all(tuple(width) == (0, 0, 0) for width in widths):
        return x
    from jax import lax

    own = [tuple(map(int, width)) for width in widths]
    if is_zero(value.node) and 0 not in x.shape and min(one for width in own for one in width) >= 0:
        items = tuple((low, between + 1, size) for (low, _, between), size in zip(own, x.shape, strict=True))
        rows = zip(own, x.shape, strict=True)
        shape = tuple(low + size + (size - 1) * between + high for (low, high, between), size in rows)
        return Array(pad(x.node, items, shape))
    places = call.positions(lambda array: lax.pad(array, np.int64(-1), own), x.shape)
    whole = sd.concatenate([sd.reshape(x, (-1,)), sd.reshape(value, (1,))])
    return sd.reshape(sd.take(whole, np.where(places < 0, int(x.size), places).ravel().tolist()), places.shape)


# ---------------------------------------------------------------------------- sums, products, order

_REDUCTIONS = {
    "reduce_sum": sd.sum, "reduce_max": sd.max, "reduce_min": sd.min, "reduce_prod": sd.prod, "reduce_and": sd.all,
    "reduce_or": sd.any,
}  # fmt: skip


@_reads(*_REDUCTIONS)
def _reduce(call: _Call, x: Value) -> Value:
    axes = tuple(int(axis) for axis in call["axes"])
    x = _formula(x)
    return _REDUCTIONS[call.name](x, axis=axes) if axes else x


def _folded(call: _Call, body: Any, parts: Sequence[Array], start: Array) -> Value:
    """Return arrays of one shape put together, element by element, by a jaxpr of two numbers."""
    jax, shape = call.reader.jax, parts[0].shape
    of_numbers = partial(jax.core.eval_jaxpr, getattr(body, "jaxpr", body), getattr(body, "consts", ()))
    row = jax.ShapeDtypeStruct((call.number(parts[0].size),), np.float64)
    of_rows = jax.make_jaxpr(jax.vmap(of_numbers))(row, row)
    total = sd.broadcast_to(start, row.shape)
    for part in parts:
        (total,) = call.reader.closed(of_rows, [total, part.reshape(row.shape)])
    return sd.reshape(total, shape)


@_reads("reduce")
def _reduce_by(call: _Call, x: Value, start: Value, *more: Value) -> list[Value]:
    x, axes = _formula(x), [int(axis) for axis in call["dimensions"]]
    count = math.prod(call.number(x.shape[axis]) for axis in axes)
    if more or count > UNROLLED:
        raise call.refusal(f"a function of several arrays, or of more than {UNROLLED} elements; write jax.lax.scan")
    rows = sd.moveaxis(x, axes, range(len(axes)))
    rows = rows.reshape((count, *rows.shape[len(axes) :]))
    return [_folded(call, call["jaxpr"], [rows[k] for k in range(count)], _formula(start))]


@_reads("argmax", "argmin")
def _place_of_extreme(call: _Call, x: Value) -> Value:
    (axis,) = call["axes"]
    return getattr(sd, call.name)(_formula(x), axis=int(axis))


@_reads("cumsum", "cumprod", "cummax", "cummin")
def _cumulative(call: _Call, x: Value) -> Value:
    axis, function = int(call["axis"]), getattr(sd, call.name)
    if not call["reverse"]:
        return function(_formula(x), axis=axis)
    return sd.flip(function(sd.flip(_formula(x), axis), axis=axis), axis)


@_reads("cumlogsumexp")
def _cumulative_logsumexp(call: _Call, x: Value) -> Value:
    axis = int(call["axis"])
    rows = sd.moveaxis(_formula(x), axis, 0)
    rows = sd.flip(rows, 0) if call["reverse"] else rows

    def step(total: Array, row: Array) -> tuple[Array, Array]:
        total = sd.logaddexp(total, row)
        return total, total

    _, sums = scan(step, rows[0], rows[1:])
    sums = sd.concatenate([rows[:1], sums])
    return sd.moveaxis(sd.flip(sums, 0) if call["reverse"] else sums, 0, axis)


@_reads("sort", "top_k")
def _sort(call: _Call, *args: Value) -> list[Value]:
    axis = int(call.params["axis" if call.name == "top_k" else "dimension"])
    for number in range(int(call.params.get("num_keys", 1)) - 1, 0, -1):  # the last key first, each kept by the next
        by = _formula(args[number])
        moved = [_in_order(call, one, by, axis) for one in args]
        args = (*moved[:number], sd.sort(by, axis=axis), *moved[number + 1 :])
    keys, more = _formula(args[0]), call.uses_more_than_first()
    if call.name != "top_k":
        rest = [_in_order(call, other, keys, axis) if more else keys for other in args[1:]]
        return [sd.sort(keys, axis=axis), *rest]
    largest = sd.flip(sd.sort(keys, axis=axis), axis)
    found = [largest, sd.argsort(-keys, axis=axis) if more else largest]  # of equal ones the first comes first
    return [sd.moveaxis(sd.moveaxis(one, axis, -1)[..., : int(call["k"])], -1, axis) for one in found]


def _in_order(call: _Call, other: Value, keys: Array, axis: int) -> Array:
    """Return numbers in the order that keys are put into, of equal keys in the order in which they come."""
    rows, own = sd.moveaxis(keys, axis, -1), sd.moveaxis(_formula(other), axis, -1)
    order = sd.argsort(rows, axis=-1)
    if _is_known(other):
        counted = np.broadcast_to(np.arange(call.number(rows.shape[-1])), tuple(map(call.number, rows.shape)))
        if np.array_equal(counted, np.moveaxis(np.asarray(other), axis, -1)):
            return asarray(sd.moveaxis(order, -1, axis))
    here = order[..., :, None] == np.arange(call.number(rows.shape[-1]))
    return asarray(sd.moveaxis(sd.sum(sd.where(here, own[..., None, :], 0.0), axis=-1), -1, axis))


@_reads("dot_general")
def _dot_general(call: _Call, x: Value, y: Value) -> Value:
    return sd.einsum(_subscripts(call), _formula(x), _formula(y))


def _subscripts(call: _Call) -> str:
    """Return a product of arrays in Einstein's notation."""
    rank_of_x, rank_of_y = (len(variable.aval.shape) for variable in call.equation.invars)
    (left, right), (left_stack, right_stack) = call["dimension_numbers"]
    names = iter(range(rank_of_x + rank_of_y))
    of_x = [next(names) for _ in range(rank_of_x)]
    pairs = {int(b): of_x[int(a)] for a, b in zip((*left, *left_stack), (*right, *right_stack), strict=True)}
    of_y = [pairs[k] if k in pairs else next(names) for k in range(rank_of_y)]
    stack = [of_x[int(a)] for a in left_stack]
    summed = {of_x[int(a)] for a in left}
    out = [*stack, *(n for n in of_x if n not in summed and n not in stack), *(n for n in of_y if n not in of_x)]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ["".join(letters[n] for n in row) for row in (of_x, of_y, out)]
    return f"{text[0]},{text[1]}->{text[2]}"


@_reads("conv_general_dilated")
def _convolution(call: _Call, x: Value, w: Value) -> Value:
    numbers, groups = call["dimension_numbers"], int(call["feature_group_count"])
    if int(call["batch_group_count"]) != 1:
        raise call.refusal("groups of the batch")
    x, w = sd.transpose(_formula(x), list(numbers.lhs_spec)), sd.transpose(_formula(w), list(numbers.rhs_spec))
    around = [(int(low), int(high), int(gap) - 1) for (low, high), gap in
              zip(call["padding"], call["lhs_dilation"], strict=True)]  # fmt: skip
    x = _padded(call, x, asarray(0.0), [(0, 0, 0), (0, 0, 0), *around])
    out = [int(call.shape[k]) for k in numbers.out_spec[2:]]
    channels = int(w.shape[1])
    per_group = int(w.shape[0]) // groups
    parts = []
    for group in range(groups):
        own = x[:, group * channels : (group + 1) * channels]
        kernel = w[group * per_group : (group + 1) * per_group]
        total: Any = 0.0
        for place in itertools.product(*[range(int(n)) for n in w.shape[2:]]):
            total = total + sd.einsum("nc...,oc->no...", _window(own, call, place, out), kernel[(..., *place)])
        parts.append(total)
    found = sd.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
    order = [0] * found.ndim
    for k, axis in enumerate(numbers.out_spec):
        order[int(axis)] = k
    return sd.transpose(found, order)


def _window(x: Array, call: _Call, place: Sequence[int], out: Sequence[int]) -> Value:
    """Return what one element of a kernel meets, in the last axes."""
    gaps = call.params.get("rhs_dilation") or call["window_dilation"]
    cuts = [
        slice(p * int(gap), p * int(gap) + (n - 1) * int(step) + 1, int(step))
        for p, gap, step, n in zip(place, gaps, call["window_strides"], out, strict=True)
    ]
    return x[(..., *cuts)]


_POOLS = {"reduce_window_sum": (operator.add, 0.0), "reduce_window_max": (sd.maximum, -np.inf),
          "reduce_window_min": (sd.minimum, np.inf)}  # fmt: skip


@_reads(*_POOLS)
def _pool(call: _Call, x: Value) -> Value:
    function, empty = _POOLS[call.name]
    around = [(int(low), int(high), int(gap) - 1) for (low, high), gap in
              zip(call["padding"], call["base_dilation"], strict=True)]  # fmt: skip
    x = _padded(call, _formula(x), asarray(empty), around)
    found: Any = None
    for place in itertools.product(*[range(int(n)) for n in call["window_dimensions"]]):
        part = _window(x, call, place, [int(n) for n in call.shape])
        found = part if found is None else function(found, part)
    return found


@_reads("reduce_window")
def _pool_by(call: _Call, x: Value, start: Value, *more: Value) -> list[Value]:
    if more:
        raise call.refusal("a function of several arrays")
    x, start = _formula(x), _formula(start)
    around = [(int(low), int(high), int(gap) - 1) for (low, high), gap in
              zip(call["padding"], call["base_dilation"], strict=True)]  # fmt: skip
    x, out = _padded(call, x, start, around), [int(n) for n in call.shape]
    places = itertools.product(*[range(int(n)) for n in call["window_dimensions"]])
    return [_folded(call, call["jaxpr"], [_window(x, call, place, out) for place in places], start)]


@_reads("select_and_scatter_add")
def _unpool(call: _Call, source: Value, x: Value) -> Value:
    """Return the cotangent of a pool: each element to the first of its window that is the largest, or the smallest."""
    source, x = _formula(source), _formula(x)
    larger = str(call["select_prim"]) == "ge"
    function, empty = _POOLS["reduce_window_max" if larger else "reduce_window_min"]
    steps, out = [int(n) for n in call["window_strides"]], [int(n) for n in source.shape]
    wide = [(int(low), int(high), 0) for low, high in call["padding"]]
    around = _padded(call, x, asarray(empty), wide)
    places = list(itertools.product(*[range(int(n)) for n in call["window_dimensions"]]))
    parts = [around[tuple(slice(p, p + (n - 1) * s + 1, s) for p, n, s in zip(place, out, steps, strict=True))]
             for place in places]  # fmt: skip
    most = parts[0]
    for part in parts[1:]:
        most = function(most, part)
    total, taken = sd.zeros(around.shape), None
    for place, part in zip(places, parts, strict=True):
        here = sd.equal(part, most) if taken is None else sd.equal(part, most) & ~taken
        taken = here if taken is None else taken | here
        spread = [(p, size - p - (n - 1) * s - 1, s - 1) for p, n, s, size in
                  zip(place, out, steps, map(int, around.shape), strict=True)]  # fmt: skip
        total = total + _padded(call, sd.where(here, source, 0.0), asarray(0.0), spread)
    return total[tuple(slice(low, low + int(n)) for (low, _, _), n in zip(wide, x.shape, strict=True))]


# ---------------------------------------------------------------------------- complex numbers, as pairs

#: Primitives that do the same to both parts.
_OF_PARTS = (
    *("neg", "add", "sub", "add_any", "broadcast_in_dim", "squeeze", "reshape", "expand_dims", "transpose", "rev"),
    *("concatenate", "stack", "unstack", "tile", "slice", "split", "dynamic_slice", "gather", "pad", "reduce_sum"),
    *("cumsum", "stop_gradient", "select_n", "scatter-add", "scatter_add", "dynamic_update_slice", *_SAME),
)


def _by_parts(call: _Call, *args: Value) -> list[Value]:
    """Apply the rule of a primitive to the real parts, and to the imaginary ones."""
    own = [_is_complex(variable) for variable in call.equation.invars]
    found = []
    for part in range(2):
        given = [_parts(one)[part] if pair else one for one, pair in zip(args, own, strict=True)]
        result = _RULES[call.name](call, *given)
        found.append(result if isinstance(result, list | tuple) else [result])
    return [ComplexArray(_formula(re), _formula(im)) for re, im in zip(*found, strict=True)]


def _pair(value: Value) -> ComplexArray:
    return ComplexArray(*_parts(value))


def _fft(call: _Call, x: Value) -> Value:
    kind, lengths = int(call["fft_type"]), [int(n) for n in call["fft_lengths"]]
    name = ("fftn", "ifftn", "rfftn", "irfftn")[kind]
    own = _formula(x) if name == "rfftn" else _pair(x)
    return getattr(np.fft, name)(own, lengths, range(-len(lengths), 0))


def _convert_complex(call: _Call, x: Value) -> Value:
    return _pair(x) if _is_complex(call.equation.outvars[0]) else _parts(x)[0]


def _same_parts(one: Sequence[Array], other: Sequence[Array]) -> Value:
    return sd.equal(one[0], other[0]) & sd.equal(one[1], other[1])


_COMPLEX: dict[str, Rule] = {
    **dict.fromkeys(_OF_PARTS, _by_parts),
    **{name: partial(lambda function, call, *args: function(*map(_pair, args)), function)
       for name, function in {"mul": operator.mul, "div": operator.truediv, "exp": np.exp, "log": np.log, "sin": np.sin,
                              "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
                              "sqrt": np.sqrt, "abs": abs, "conj": np.conj}.items()},
    "real": lambda call, z: _parts(z)[0],
    "imag": lambda call, z: _parts(z)[1],
    "complex": lambda call, *parts: ComplexArray(*(sd.broadcast_to(_formula(one), call.shape) for one in parts)),
    "integer_pow": lambda call, z: _pair(z) ** int(call["y"]),
    "square": lambda call, z: _pair(z) * _pair(z),
    "dot_general": lambda call, x, y: np.einsum(_subscripts(call), _pair(x), _pair(y)),
    "eq": lambda call, *args: _same_parts(*map(_parts, args)),
    "ne": lambda call, *args: sd.logical_not(_same_parts(*map(_parts, args))),
    "fft": _fft,
    "convert_element_type": _convert_complex,
}  # fmt: skip


# ---------------------------------------------------------------------------- linear algebra


@_reads("cholesky")
def _cholesky(call: _Call, a: Value) -> Value:
    return sd.cholesky(_formula(a))


@_reads("triangular_solve")
def _triangular_solve(call: _Call, a: Value, b: Value) -> Value:
    a, b = _formula(a), _formula(b)
    options = {"lower": bool(call["lower"]), "unit_diagonal": bool(call["unit_diagonal"])}
    transposed = bool(call["transpose_a"])
    if call["left_side"]:
        return sd.solve_triangular(a, b, trans=int(transposed), **options)
    turned = sd.solve_triangular(a, sd.matrix_transpose(b), trans=int(not transposed), **options)
    return sd.matrix_transpose(turned)


class _Factors(NamedTuple):
    """A factorization by rows that numbers exchange: it has no formula, and the solutions that it gives have one."""

    of: Array
    refusal: UnsupportedError


@_reads("lu")
def _lu(call: _Call, a: Value) -> list[_Factors]:
    return [_Factors(_formula(a), call.refusal("it has no counterpart"))] * 3


@_reads("lu_pivots_to_permutation")
def _permutation(call: _Call, pivots: Value) -> Value:
    return pivots


def _solved_by_factors(call: _Call, body: Any, args: Sequence[Value]) -> list[Value] | None:
    """Return the solution that a function of JAX's takes from factors, by the matrix or by its transpose.

    It does not tell which of both: numbers do.
    """
    factors = [one for one in args if isinstance(one, _Factors)]
    right = [one for one in args if not isinstance(one, _Factors)]
    if len(factors) != 2 or len(right) != 1:
        return None
    a, b = factors[0].of, _formula(right[0])
    rng, jax = np.random.default_rng(0), call.reader.jax
    number, given = rng.normal(size=tuple(map(call.number, a.shape))), rng.normal(size=tuple(map(call.number, b.shape)))
    with jax.ensure_compile_time_eval():
        factored, _, order = jax.lax.linalg.lu(number)
    (want,) = call.reader.closed(body, [np.asarray(factored), np.asarray(order), given])
    n, rows, lines = number.shape[-1], given, np.swapaxes(given, -1, -2) if given.ndim > 1 else given
    for of, matrix in ((number, a), (np.swapaxes(number, -1, -2), sd.matrix_transpose(a))):
        if given.ndim == number.ndim - 1:
            if _are_close(np.linalg.solve(of, given[..., None])[..., 0], want):
                return [_solved(matrix, b)]
        elif rows.shape[-2] == n and _are_close(np.linalg.solve(of, rows), want):
            return [sd.solve(matrix, b)]
        elif lines.shape[-2] == n and _are_close(np.swapaxes(np.linalg.solve(of, lines), -1, -2), want):
            return [sd.matrix_transpose(sd.solve(matrix, sd.matrix_transpose(b)))]
    return None


def _are_close(got: Any, want: Any) -> bool:
    return got.shape == np.shape(want) and np.allclose(got, want, rtol=1e-6)


def _equations(jaxpr: Any) -> Iterator[Any]:
    """Yield the equations of a jaxpr and of those within it."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    yield from _equations(inner)


def _held(values: Sequence[Value]) -> set[Node]:
    """Return what formulas hold fixed in derivatives."""
    nodes = postorder(one.node for one in values if isinstance(one, Array))
    return {node for node in nodes if node.is_barrier}


@_reads("custom_linear_solve")
def _linear_solve(call: _Call, *args: Value) -> list[Value]:
    lengths, jaxprs = call["const_lengths"], call["jaxprs"]
    ends = list(itertools.accumulate((lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve)))
    of_product, of_solve, right = args[: ends[0]], args[ends[1] : ends[2]], args[ends[3] :]
    # JAX differentiates the product, and factorizes the matrix held fixed
    moving = {sd.stop_gradient(one).node: one.node for one in of_product if isinstance(one, Array)}

    def freed(value: Value) -> Value:
        if isinstance(value, _Factors):
            return value._replace(of=freed(value.of))
        return Array(substitute([value.node], moving)[0]) if isinstance(value, Array) else value

    found = call.reader.closed(jaxprs.solve, [*map(freed, of_solve), *right])
    by_steps = any(str(one.primitive) in ("while", "scan") for one in _equations(jaxprs.solve))
    if by_steps or not _held(found) <= _held([*of_product, *right]):
        raise call.refusal("a derivative that is not that of its steps; write jnp.linalg.solve")
    return found


@_reads("tridiagonal_solve")
def _tridiagonal_solve(call: _Call, below: Value, diagonal: Value, above: Value, b: Value) -> Value:
    n = call.number(diagonal.shape[-1])
    rows = {-1: below, 0: diagonal, 1: above}
    parts = [_formula(row)[..., :, None] * np.eye(n, k=k) for k, row in rows.items()]
    return sd.solve(parts[0] + parts[1] + parts[2], _formula(b))


@_reads("eigh")
def _eigh(call: _Call, a: Value) -> list[Array]:
    if call.params.get("subset_by_index") is not None:
        raise call.refusal("a part of the eigenvalues")
    values, vectors = sd.eigh(_formula(a))
    return [vectors, values]


@_reads("qr")
def _qr(call: _Call, a: Value) -> Value:
    raise call.refusal("signs of rows that reflections decide; write R = cholesky(A.T @ A).T, Q = A @ inv(R)")


@_reads("svd")
def _svd(call: _Call, a: Value) -> list[Array]:
    a = _formula(a)
    if not call["compute_uv"]:
        return [sd.svd(a, compute_uv=False)]
    u, s, vt = sd.svd(a, full_matrices=False)
    wide = call["full_matrices"] and a.shape[-1] != a.shape[-2]
    if wide and call.uses_more_than_first():
        raise call.refusal("full matrices of singular vectors")
    return [s, u, vt]


# ---------------------------------------------------------------------------- exponentials shifted by the largest


class _Shifted(NamedTuple):
    """The function that exponentials shifted by the largest are together, the variable that it is of, and its axes."""

    function: str
    of: Any
    axes: tuple[int, ...]


#: Operations between a shift and the maximum that it is.
_BETWEEN = ("broadcast_in_dim", "reshape", "stop_gradient", "max", "select_n", "abs", "expand_dims")


def _without_shift(equation: Any, made: Mapping[Any, Any]) -> _Shifted | None:
    """Find softmax, its logarithm, and logsumexp, as JAX and its users write them: shifted by the largest."""
    name = str(equation.primitive)
    if name not in ("div", "sub", "add"):
        return None

    def maker(variable: Any, *wanted: str, between: Sequence[str] = ()) -> Any:
        found = None if hasattr(variable, "val") else made.get(variable)
        while found is not None and str(found.primitive) in between:
            variable = found.invars[-1]
            found = None if hasattr(variable, "val") else made.get(variable)
        return found if found is not None and str(found.primitive) in wanted else None

    def total(variable: Any) -> tuple[Any, Any, tuple[int, ...]] | None:
        """Return shifted numbers, the variable before the shift, and axes, where ``variable`` sums exponentials."""
        added = maker(variable, "reduce_sum", between=("broadcast_in_dim", "reshape", "abs"))
        powers = added and maker(added.invars[0], "exp")
        moved = powers and maker(powers.invars[0], "sub")
        most = moved and maker(moved.invars[1], "reduce_max", between=_BETWEEN)
        axes = tuple(map(int, added.params["axes"])) if most else ()
        if not most or most.invars[0] is not moved.invars[0] or tuple(map(int, most.params["axes"])) != axes:
            return None
        return powers, moved.invars[0], axes

    first, second = equation.invars
    if name == "div":
        found = total(second)
        if found is None or hasattr(first, "val") or made.get(first) is not found[0]:
            return None
        return _Shifted("softmax", *found[1:])
    for one, other in ((first, second), (second, first)):
        logarithm = maker(other, "log", between=("broadcast_in_dim", "reshape", "abs"))
        found = total(logarithm.invars[0]) if logarithm else None
        if found is None:
            continue
        if name == "sub" and other is second and found[0].invars[0] is one:
            return _Shifted("log_softmax", *found[1:])
        most = maker(one, "reduce_max", between=_BETWEEN) if name == "add" else None
        if most and most.invars[0] is found[1]:
            return _Shifted("logsumexp", *found[1:])
    return None


# ---------------------------------------------------------------------------- functions, branches, loops

#: Functions of JAX's own that symdiff has, by the name of what they call and the file that has it.
_NAMED = {
    "linalg.py": {"solve": "solve", "inv": "inv", "det": "det", "_det": "det", "slogdet": "slogdet", "_pinv": "pinv",
                  "_slogdet_lu": "slogdet", "pinv": "pinv", "expm": "expm"},
    "special.py": {"log_ndtr": "log_ndtr", "ndtr": "ndtr", "ndtri": "ndtri", "xlogy": "xlogy", "xlog1py": "xlog1py",
                   "expi": "expi", "exp1": "exp1", "expn": "expn", "logit": "logit", "betaln": "betaln",
                   "gammaln": "gammaln", "i0": "i0", "i1": "i1", "entr": "entr", "kl_div": "kl_div",
                   "rel_entr": "rel_entr", "spence": "spence", "erfcx": "erfcx", "dawsn": "dawsn", "gamma": "gamma",
                   "polygamma": "polygamma", "poch": "poch", "hyp1f1": "hyp1f1", "hyp2f1": "hyp2f1",
                   "owens_t": "owens_t", "zeta": "zeta", "beta": "beta", "fresnel": "fresnel", "sici": "sici"},
    "ufuncs.py": {"hypot": "hypot", "sinc": "sinc", "log2": "log2", "log10": "log10", "signbit": "signbit",
                  "copysign": "copysign"},
    "other.py": {"logaddexp": "logaddexp"},
    "lax_numpy.py": {"_interp": "interp", "interp": "interp"},
    "functions.py": {"softplus": "softplus", "relu": "relu", "silu": "silu", "swish": "silu",
                     "log_sigmoid": "log_sigmoid"},
}  # fmt: skip
_INLINED = frozenset({"jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
                      "custom_vjp_call_jaxpr", "checkpoint", "remat", "remat2", "platform_index",
                      "dim_as_value"})  # fmt: skip


@_reads("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr",
        "checkpoint", "remat", "remat2")  # fmt: skip
def _inline(call: _Call, *args: Value) -> list[Value]:
    body = next(call.params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in call.params)
    found = _own(call, body, args)
    return call.reader.closed(body, args) if found is None else found


def _own(call: _Call, body: Any, args: Sequence[Value]) -> list[Value] | None:
    """Return a function of JAX's by symdiff's function of the name, None where there is none."""
    if all(map(_is_known, args)):
        return None
    if any(isinstance(one, _Factors) for one in args):
        return _solved_by_factors(call, body, args)
    source = str(getattr(getattr(getattr(body, "jaxpr", body), "debug_info", None), "func_src_info", ""))
    name = str(call.params.get("name", "")) or source.partition(" ")[0]
    file = source.partition(" at ")[2].rpartition(":")[0]
    rows = _NAMED.get(file.rpartition("/")[2], {}) if "/jax/_src/" in file else {}
    own = rows.get(name) or rows.get(source.partition(" ")[0])
    outputs = call.equation.outvars
    if name == "gammasgn" and rows:
        return [_sign_of_gamma(_formula(args[0]))]
    if own == "polygamma":
        return [_polygamma(call, *args)]
    if own == "expn":
        return [sd.expn(int(args[0]), _formula(args[1]))] if len(args) == 2 and np.ndim(args[0]) == 0 else None
    if not own or any(map(_is_whole_or_condition, call.equation.invars)):
        return None
    if any(map(_is_complex, call.equation.invars)):
        known = own in ("solve", "inv") and len(outputs) == 1
        return [getattr(np.linalg, own)(*map(_pair, args))] if known else None
    if own == "solve":
        return [_solved(*map(_formula, args))] if len(args) == 2 and len(outputs) == 1 else None
    if own == "expm" and not all(getattr(v.aval, "ndim", 2) >= 2 for v in call.equation.invars):
        return None
    try:
        found = getattr(sd, own)(*map(_formula, args))
    except ArgumentError:
        return None
    results = list(found) if isinstance(found, tuple) else [found]
    return results if len(results) == len(outputs) else None


def _is_whole_or_condition(variable: Any) -> bool:
    return np.dtype(variable.aval.dtype).kind in "iub"


def _sign_of_gamma(x: Array) -> Value:
    """Return the sign of the gamma function: -1 where an odd number of its poles lies between x and 0."""
    return sd.where((x < 0.0) & sd.not_equal(sd.mod(sd.floor(x), 2.0), 0.0), -1.0, 1.0)


def _solved(a: Array, b: Array) -> Value:
    return sd.solve(a, b) if b.ndim != a.ndim - 1 or b.ndim == 1 else sd.solve(a, b[..., None])[..., 0]


@_reads("platform_index")
def _platform(call: _Call) -> Value:
    rows = call["platforms"]
    chosen = next((k for k, row in enumerate(rows) if row and "cpu" in row), None)
    return np.asarray(chosen if chosen is not None else next(k for k, row in enumerate(rows) if row is None))


@_reads("cond")
def _cond(call: _Call, which: Value, *args: Value) -> list[Value]:
    branches = call["branches"]
    if _is_known(which):
        return call.reader.closed(branches[min(max(int(which), 0), len(branches) - 1)], args)
    found = [[_formula(one) for one in call.reader.closed(branch, args)] for branch in branches]
    number = _formula(which)
    results = found[-1]
    for k in range(len(branches) - 2, -1, -1):
        here = sd.logical_not(number) if number.dtype == bool else number <= float(k)
        results = [sd.where(here, one, other) for one, other in zip(found[k], results, strict=True)]
    return list(results)


@_reads("scan")
def _scan(call: _Call, *args: Value) -> list[Value]:
    consts, carry = int(call["num_consts"]), int(call["num_carry"])
    held, start, over = list(args[:consts]), list(args[consts : consts + carry]), list(args[consts + carry :])
    length, reverse, body = call.reader.dim(call["length"]), bool(call["reverse"]), call["jaxpr"]
    if length == 0 or (isinstance(length, int) and all(map(_is_known, (*start, *over))) and length <= UNROLLED):
        return _unrolled(call, held, start, over)
    kinds = [np.dtype(variable.aval.dtype).kind for variable in body.jaxpr.invars]

    def typed(values: Sequence[Value], first: int) -> list[Value]:
        return [sd.not_equal(one, 0.0) if kinds[first + k] == "b" else one for k, one in enumerate(values)]

    def plain(values: Sequence[Value]) -> list[Array]:
        return [sd.where(one, 1.0, 0.0) if one.dtype == bool else one for one in map(_formula, values)]

    def step(carried: Any, row: Any) -> tuple[list[Array], list[Array] | None]:
        rows = typed(row, consts + carry) if over else []
        found = plain(call.reader.closed(body, [*held, *typed(carried, consts), *rows]))
        return found[:carry], found[carry:] or None

    try:
        state, written = scan(step, plain(start), plain(over) or None, None if over else length, reverse=reverse)
    except UnsupportedError:
        if not isinstance(length, int) or length > UNROLLED:
            raise
        return _unrolled(call, held, start, over)
    results = [*state, *(written or [])]
    return [
        sd.not_equal(one, 0.0) if np.dtype(variable.aval.dtype).kind == "b" else one
        for one, variable in zip(results, call.equation.outvars, strict=True)
    ]


def _unrolled(call: _Call, held: list[Value], carried: list[Value], over: list[Value]) -> list[Value]:
    """Write the steps of a loop out, one after the other."""
    length, count = int(call["length"]), len(carried)
    written: list[list[Value]] = []
    for k in reversed(range(length)) if call["reverse"] else range(length):
        found = call.reader.closed(call["jaxpr"], [*held, *carried, *[one[k] for one in over]])
        carried = found[:count]
        written.append(found[count:])
    if call["reverse"]:
        written.reverse()
    stacked: list[Value] = []
    for number, variable in enumerate(call.equation.outvars[count:]):
        column = [row[number] for row in written]
        if all(map(_is_known, column)):
            empty = np.zeros(variable.aval.shape, variable.aval.dtype)
            stacked.append(np.stack([np.asarray(one) for one in column]) if column else empty)
        else:
            stacked.append(sd.stack([_formula(one) for one in column]))
    return [*carried, *stacked]


@_reads("while")
def _while(call: _Call, *args: Value) -> list[Value]:
    first, second = int(call["cond_nconsts"]), int(call["body_nconsts"])
    of_test, of_body, carried = args[:first], args[first : first + second], list(args[first + second :])
    for _ in range(ENDED):
        (goes_on,) = call.reader.closed(call["cond_jaxpr"], [*of_test, *carried])
        if not _is_known(goes_on):
            return _bounded(call, of_test, of_body, carried)
        if not np.any(goes_on):
            return carried
        after = call.reader.closed(call["body_jaxpr"], [*of_body, *carried])
        carried = after if np.all(goes_on) else [_going(goes_on, *pair) for pair in zip(after, carried, strict=True)]
    raise LimitError(f"{call.refusal('')}a loop of more than {ENDED} steps; write it as jax.lax.scan")


def _going(goes_on: Value, new: Value, old: Value) -> Value:
    """Return what a step gave where a loop goes on; of a batch of loops each ends by itself."""
    if all(map(_is_known, (goes_on, new, old))):
        return np.where(np.reshape(goes_on, (*np.shape(goes_on), *(1,) * (np.ndim(new) - np.ndim(goes_on)))), new, old)
    test, new, old = map(_formula, (goes_on, new, old))
    return sd.where(test.reshape((*test.shape, *(1,) * (new.ndim - test.ndim))), new, old) if test.ndim else new


def _bounded(call: _Call, of_test: Sequence[Value], of_body: Sequence[Value], start: Sequence[Value]) -> list[Value]:
    """Return what a loop carries out of which the arguments decide, where a counter bounds it, ``& (i < 100)``."""
    at_most = _most_steps(call, of_test, of_body, start)
    if at_most is None:
        raise call.refusal(
            "a loop whose end depends on the arguments; expected a known number of steps, or a bound beside the "
            "condition: (x > tolerance) & (i < 100), i a number that each step adds 1 to"
        )
    reader = call.reader

    def test(state: Any) -> Any:
        return sd.any(_formula(reader.closed(call["cond_jaxpr"], [*of_test, *state])[0]))

    def step(state: Any) -> Any:
        (goes_on,) = reader.closed(call["cond_jaxpr"], [*of_test, *state])
        after = reader.closed(call["body_jaxpr"], [*of_body, *state])
        return tuple(_going(goes_on, *pair) for pair in zip(map(_formula, after), state, strict=True))

    return list(while_loop(test, step, tuple(map(_formula, start)), at_most=at_most))


def _most_steps(call: _Call, of_test: Sequence[Value], of_body: Sequence[Value], start: Sequence[Value]) -> int | None:
    """Return how many steps a counter allows, None where no part of the condition is one."""
    test, body = call["cond_jaxpr"].jaxpr, call["body_jaxpr"].jaxpr
    made = {out: equation for equation in test.eqns for out in equation.outvars}
    parts, bounds = [test.outvars[0]], []
    while parts:
        equation = made.get(parts.pop())
        if equation is None:
            continue
        if str(equation.primitive) in ("and", "convert_element_type"):
            parts += [one for one in equation.invars if not hasattr(one, "val")]
        if str(equation.primitive) not in ("lt", "le"):
            continue
        counter, bound = equation.invars
        places = [k for k, one in enumerate(test.invars[len(of_test) :]) if one is counter]
        limit = bound.val if hasattr(bound, "val") else dict(zip(test.invars, of_test, strict=False)).get(bound)
        if not places or limit is None or not _is_known(limit) or not _is_known(start[places[0]]):
            continue
        (place,) = places
        own, after = body.invars[len(of_body) + place], body.outvars[place]
        steps = [one for one in body.eqns if after in one.outvars and str(one.primitive) == "add"]
        added = [one for one in steps[0].invars if one is not own] if steps else []
        if len(added) == 1 and getattr(added[0], "val", None) == 1:
            bounds.append(int(np.max(limit)) - int(np.min(start[place])) + (str(equation.primitive) == "le"))
    return max(min(bounds), 0) if bounds else None
