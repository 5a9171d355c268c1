"""Functions and modules of PyTorch as formulas: ``torch.export`` writes them down, and the graph is made of its nodes.

Operations that are written as such (``linear``, ``softmax``) are read so; where one has no counterpart, PyTorch takes
it apart first. What has none then is refused by its name and the line that it comes from. Operations on numbers that
are known when the function is read (masks, positions, counters) are computed by PyTorch itself.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from math import prod, sqrt
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..frontend.array import Array, asarray
from ..frontend.symbols import Operations, symbol
from ..ground.guard import guarded, users
from .positions import at_each, choose, spread_each
from .signature import free_name, with_inputs

__all__ = ["from_torch"]

#: An array, what is known of one (NumPy's), or an option.
Value = Any

sd = Operations()


@guarded
def from_torch(f: Callable[..., Any], *examples: Any) -> Any:
    """Read a module or function of PyTorch as a formula of symbols that are named as its parameters.

    Parameters
    ----------
    f : torch.nn.Module or callable
        Of tensors. Parameters of a module are symbols too: ``layer.weight`` is ``layer_weight``, and ``0.weight``, of
        ``torch.nn.Sequential``, is ``p_0_weight``.
    *examples : torch.Tensor
        Arguments that say which shapes it takes; of tensors of real numbers only the shapes are looked at. Whole
        numbers and conditions are taken as they are.

    Returns
    -------
    Array, or tuple or list of them
        Kernels of it take the parameters of a module, in their order, and then the arguments.

    Raises
    ------
    UnsupportedError
        For an operation that has no counterpart; the message has its name and line, of a function its first line.

    Notes
    -----
    The formula is one of real numbers in double precision, whatever the type of the tensors. Buffers of a module are
    constants; ``detach`` is :func:`symdiff.stop_gradient`.

    Examples
    --------
    >>> import symdiff as sd
    >>> import torch                                                    # doctest: +SKIP
    >>> f = sd.from_torch(lambda w, X, y: ((X @ w - y) ** 2).sum(), *map(torch.ones, (3, (5, 3), 5)))  # doctest: +SKIP
    >>> sd.gradient(f, "w")                                             # doctest: +SKIP
    2 * (X.T @ (X @ w - y))
    """
    try:
        import torch
    except ImportError as error:
        raise UnsupportedError(f"torch is not installed here ({error}); install it: pip install torch") from None
    if not callable(f) or isinstance(f, type):
        came = f"the class {f.__name__}" if isinstance(f, type) else f"type {type(f).__name__}"
        raise ArgumentError(f"from_torch of {came}; expected a module or function of PyTorch")
    module = f
    if not isinstance(f, torch.nn.Module):
        module = torch.nn.Module()
        module.forward = _with_signature(f, len(examples))
    _check_examples(module, examples, torch)
    # one tensor given for two parameters would be one argument
    examples = torch.utils._pytree.tree_map_only(torch.Tensor, lambda one: one.detach().clone(), tuple(examples))
    exported = _exported(torch, module, examples)
    code = getattr(f, "__code__", None)
    beginning = f"{code.co_filename}:{code.co_firstlineno}" if code else "a place that PyTorch does not tell"
    unread = [one for one in exported.graph.nodes if one.op == "call_function" and not _is_read(one)]
    if unread:
        apart = torch.export.default_decompositions()
        apart.update(torch._decomp.get_decompositions([torch.ops.aten.grid_sampler_2d]))
        for operation in [one for one in apart if _name(one) in _RULES]:
            del apart[operation]
        try:
            exported = exported.run_decompositions(apart)
        except RuntimeError as error:  # of transforms inside, such as torch.func.grad
            why = str(error).strip().partition("\n")[0]
            line = _line(unread[0], beginning)
            raise UnsupportedError(f"PyTorch does not take {_name(unread[0])} at {line} apart: {why:.200}") from error
    names = _names(module, examples, torch)
    return _read(exported, torch, beginning if not unread else _line(unread[0], beginning), examples, names)


def _with_signature(f: Any, count: int) -> Any:
    """Return a function with names for its arguments, which those have not that are written in C, as ``torch.sin``."""
    try:
        inspect.signature(f)
        return f
    except ValueError:
        pass

    def forward(*args: Any) -> Any:
        return f(*args)

    names = ["x"] if count == 1 else [f"x{k}" for k in range(count)]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    forward.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return forward


def _check_examples(module: Any, examples: Sequence[Any], torch: Any) -> None:
    """Refuse examples that a function does not take, and what PyTorch has no place for."""
    try:
        inspect.signature(module.forward).bind(*examples)
    except TypeError as error:
        raise ArgumentError(f"{len(examples)} examples do not fit the function: {error}") from None
    for one in torch.utils._pytree.tree_leaves(tuple(examples)):
        if isinstance(one, torch.Tensor) and one.is_complex():
            raise UnsupportedError(f"an example of {one.dtype}; expected real numbers")
        if not isinstance(one, torch.Tensor | bool | int | float | None):
            raise ArgumentError(f"an example of type {type(one).__name__}; expected tensors, such as torch.ones(3)")


def _names(module: Any, examples: Sequence[Any], torch: Any) -> list[str]:
    """Return the names of the arguments' arrays, in their order: PyTorch's own have small letters alone."""
    given = inspect.signature(module.forward).bind(*examples).arguments
    leaves, _ = torch.utils._pytree.tree_flatten_with_path(dict(given))
    keys = [[dataclasses.astuple(key)[0] for key in path] for path, _ in leaves]
    return [re.sub(r"\W", "_", "_".join(map(str, path))) for path in keys]


def _exported(torch: Any, module: Any, examples: Sequence[Any]) -> Any:
    """Return what ``torch.export`` writes down; its refusals are told in a line, and errors of the function pass."""
    from torch._dynamo.exc import TorchDynamoException
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    try:
        return users(torch.export.export)(module, tuple(examples))
    except (TorchDynamoException, GuardOnDataDependentSymNode) as error:
        why = str(error).strip().partition("\n")[0]
        raise UnsupportedError(
            f"torch.export does not write the function down: {why:.200}; expected one whose branches and checks depend "
            "on no numbers (distributions check theirs unless validate_args=False)"
        ) from error


def _read(exported: Any, torch: Any, beginning: str, examples: Sequence[Any], names: Sequence[str]) -> Any:
    """Return the results of a program, in its structure; ``names`` are those of its arguments."""
    values: dict[Any, Value] = {}
    given = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
    known = iter(zip(names, torch.utils._pytree.tree_leaves(tuple(examples)), strict=True))
    taken: set[str] = set()
    symbols: list[Array] = []
    for node in exported.graph.nodes:
        if node.op == "placeholder":
            values[node] = _argument(exported, given[node.name], node, known, taken)
            symbols += [values[node]] if isinstance(values[node], Array) else []
        elif node.op == "call_function":
            args, options = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda one: values[one])
            values[node] = _result(torch, node, args, options, beginning)
        elif node.op == "output":
            found = [values[one] if isinstance(one, torch.fx.Node) else one for one in node.args[0]]
            results = [with_inputs(_formula(one), symbols) for one in found]
            return torch.utils._pytree.tree_unflatten(results, exported.call_spec.out_spec)
    raise AssertionError("a graph has an output")


def _argument(exported: Any, spec: Any, node: Any, known: Iterator[tuple[str, Any]], taken: set[str]) -> Value:
    """Return a symbol for an argument or parameter, and the numbers of a buffer or constant."""
    kind = spec.kind.name
    if kind in ("BUFFER", "CONSTANT_TENSOR"):
        there = exported.state_dict.get(spec.target)
        return _numbers(exported.constants[spec.target] if there is None else there)
    example = node.meta.get("val")
    name = spec.arg.name
    if kind == "USER_INPUT":
        name, own = next(known)
        if not hasattr(example, "dtype") or not example.dtype.is_floating_point:
            return _numbers(own) if hasattr(own, "detach") else own
    elif not hasattr(example, "dtype"):
        return example
    name = re.sub(r"\W", "_", spec.target) if kind == "PARAMETER" else name
    name = free_name(f"p_{name}" if name[0].isdigit() else name, taken)
    taken.add(name)
    return symbol(name, tuple(map(int, example.shape)))


def _numbers(tensor: Any) -> Value:
    return tensor.detach().cpu().numpy()


def _formula(value: Value) -> Array:
    if isinstance(value, Array):
        return value
    array = np.asarray(value)
    return asarray(array if array.dtype == np.bool_ else array.astype(np.float64))


def _name(node: Any) -> str:
    """Return the name of an operation without its overload."""
    name = str(getattr(node, "target", node))
    return name.removeprefix("aten.").partition(".")[0] if "getitem" not in name else "getitem"


def _is_read(node: Any) -> bool:
    return _name(node) in _RULES or _name(node).startswith("_assert")


class _Positions:
    """Positions of largest elements so far and within windows: a result that may be left alone, and not used."""


#: The second result of such operations.
POSITIONS = _Positions()


def _holds(value: Any, kind: type) -> bool:
    return any(_holds(one, kind) for one in value) if isinstance(value, list | tuple) else isinstance(value, kind)


def _result(torch: Any, node: Any, args: Sequence[Value], options: dict[str, Value], beginning: str) -> Value:
    name = _name(node)
    given = [*args, *options.values()]
    if name.startswith("_assert"):
        return None
    try:
        if name != "getitem" and _holds(given, _Positions):
            raise UnsupportedError("positions that depend on the arguments; expected ones known when it is read")
        if name != "getitem" and not _holds(given, Array):
            return _computed(torch, node.target, args, options)
        if name not in _RULES:
            raise UnsupportedError("it has no counterpart")
        found = _RULES[name](*args, **{key: value for key, value in options.items() if key not in _MEMORY})
        return _cast(found, node.meta["val"].dtype, torch) if name in _CASTS else found
    except UnsupportedError as error:
        raise UnsupportedError(f"PyTorch's {name} at {_line(node, beginning)}: {error}") from None
    except (ShapeError, ArgumentError, TypeError) as error:
        raise UnsupportedError(f"PyTorch's {name} at {_line(node, beginning)}: {error}") from error


def _cast(x: Value, dtype: Any, torch: Any) -> Value:
    """Return numbers in another type: real ones are of double precision, whole ones lose what is behind the point."""
    if dtype == torch.bool:
        return x if x.dtype == bool else sd.not_equal(x, 0.0)
    if x.dtype == bool:
        return sd.where(x, 1.0, 0.0)
    return x if dtype.is_floating_point else sd.trunc(x)


def _computed(torch: Any, operation: Any, args: Sequence[Value], options: dict[str, Value]) -> Value:
    """Return what PyTorch computes of numbers that are known, real ones in double precision."""

    def given(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(given, value))
        if isinstance(value, np.ndarray | np.generic):
            return torch.as_tensor(np.asarray(value, np.float64 if value.dtype.kind == "f" else None))
        return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value

    def taken(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(taken, value))
        return _numbers(value) if isinstance(value, torch.Tensor) else value

    own = {key: given(value) for key, value in options.items() if key not in _PLACES}
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            return taken(operation(*map(given, args), **own))
    finally:
        torch.set_default_dtype(usual)


def _line(node: Any, otherwise: str) -> str:
    """Return the line of the user's program that an operation comes from, where PyTorch tells it: of modules."""
    found = re.findall(r'File "([^"]+)", line (\d+)', str(node.meta.get("stack_trace") or ""))
    found = [place for place in found if place[0] != __file__]
    return ":".join(found[-1]) if found else otherwise


# ---------------------------------------------------------------------------- the table of rules

#: Options about memory, and about memory and types.
_PLACES = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking"})
_MEMORY = frozenset({*_PLACES, "dtype", "copy"})
#: Operations that give another type.
_CASTS = frozenset({"to", "_to_copy", "type_as"})
_RULES: dict[str, Callable[..., Value]] = {}


def _reads(*names: str) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    def register(rule: Callable[..., Value]) -> Callable[..., Value]:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _each(name: str, *args: Value) -> Value:
    return getattr(sd, name)(*map(_formula, args))


_SAME_NAME = [
    "abs",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sqrt",
    "square",
    "sigmoid",
    "erf",
    "erfc",
    "erfinv",
    "lgamma",
    "digamma",
    "floor",
    "ceil",
    "trunc",
    "sign",
    "relu",
    "relu6",
    "silu",
    "mish",
    "hypot",
    "logaddexp",
    "xlogy",
    "maximum",
    "minimum",
    "fmod",
    "atan2",
    "sinc",
    "logical_and",
    "logical_or",
    "logical_not",
    "logical_xor",
    "isnan",
    "isfinite",
    "isinf",
    "reciprocal",
    "less",
    "greater",
    "deg2rad",
    "rad2deg",
    "copysign",
]
_OTHER_NAME = {
    "neg": "negative", "round": "rint", "log_sigmoid": "log_sigmoid", "remainder": "mod", "special_expit": "sigmoid",
    "special_ndtr": "ndtr", "special_log_ndtr": "log_ndtr", "special_ndtri": "ndtri", "special_i0": "i0",
    "special_i0e": "i0e", "special_i1": "i1", "special_i1e": "i1e", "i0": "i0", "special_erfcx": "erfcx",
    "special_entr": "entr", "special_xlog1py": "xlog1py", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "bitwise_not": "logical_not",
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "hardswish": "hard_swish", "hardsigmoid": "hard_sigmoid",
    "special_gammainc": "gammainc", "igamma": "gammainc", "igammac": "gammaincc", "__and__": "logical_and",
    "logit": "logit", "special_logit": "logit", "pow": "power", "fmax": "fmax", "fmin": "fmin", "zeta": "zeta",
    "special_zeta": "zeta", "outer": "outer", "dot": "dot", "matmul": "matmul", "mm": "matmul", "bmm": "matmul",
    "mv": "matmul", "linalg_inv": "inv", "inverse": "inv", "linalg_det": "det", "det": "det", "logdet": "logdet",
    "linalg_eigvalsh": "eigvalsh", "trace": "trace", "linalg_matrix_exp": "expm", "matrix_exp": "expm",
    "linalg_pinv": "pinv", "special_bessel_j0": "j0", "special_bessel_j1": "j1", "special_bessel_y0": "y0",
    "special_bessel_y1": "y1", "special_modified_bessel_i0": "i0", "special_modified_bessel_i1": "i1",
    "special_modified_bessel_k0": "k0", "special_modified_bessel_k1": "k1",
}  # fmt: skip
_RULES.update({name: partial(_each, name) for name in _SAME_NAME})
_RULES.update({name: partial(_each, own) for name, own in _OTHER_NAME.items()})


def _chosen(condition: Value, x: Array, y: Array) -> Value:
    """Choose element by element; a condition that is known and holds everywhere, or nowhere, is not written."""
    known = None if isinstance(condition, Array) else np.asarray(condition, bool)
    if known is None or (known.any() and not known.all()):
        return sd.where(_formula(condition), x, y)
    return sd.broadcast_to(x if known.all() else y, np.broadcast_shapes(known.shape, x.shape, y.shape))


_PLAIN: dict[str, Callable[..., Value]] = {
    "add": lambda x, y, alpha=1: _formula(x) + alpha * _formula(y),
    "sub": lambda x, y, alpha=1: _formula(x) - alpha * _formula(y),
    "rsub": lambda x, y, alpha=1: _formula(y) - alpha * _formula(x),
    "mul": lambda x, y: _formula(x) * _formula(y),
    "rsqrt": lambda x: 1.0 / sd.sqrt(x),
    "where": lambda c, x, y: _chosen(c, _formula(x), _formula(y)),
    "detach": lambda x: sd.stop_gradient(x) if isinstance(x, Array) else x,
    "getitem": lambda x, k: x[k],
    "zeros_like": lambda x: np.zeros(x.shape),
    "ones_like": lambda x: np.ones(x.shape),
    "full_like": lambda x, value: np.full(x.shape, float(value)),
    "leaky_relu": lambda x, slope=0.01: sd.where(x > 0.0, x, slope * x),
    "hardtanh": lambda x, low=-1.0, high=1.0: _clamp(x, low, high),
    "addmm": lambda b, x, y, beta=1, alpha=1: beta * _formula(b) + alpha * sd.matmul(_formula(x), _formula(y)),
    "baddbmm": lambda b, x, y, beta=1, alpha=1: beta * _formula(b) + alpha * sd.matmul(_formula(x), _formula(y)),
    "linear": lambda x, w, b=None: _affine(_formula(x), _formula(w), b),
    "linalg_slogdet": lambda a: tuple(sd.slogdet(a)),
    "slogdet": lambda a: tuple(sd.slogdet(a)),
    "linalg_eigh": lambda a, side="L": tuple(sd.eigh(_formula(a))),
    "linalg_svdvals": lambda a, driver=None: sd.svdvals(_formula(a)),
    "cholesky_solve": lambda b, a, upper=False: sd.cho_solve((_formula(a), not upper), _formula(b)),
    "linalg_cholesky": sd.cholesky,
    "linalg_solve": lambda a, b: _solve(_formula(a), _formula(b)),
    "linalg_inv_ex": lambda a, *_: (sd.inv(a), None),
    "permute": lambda x, axes: sd.transpose(_formula(x), list(axes)),
    "transpose": lambda x, a, b: sd.swapaxes(_formula(x), a, b),
    "t": lambda x: sd.transpose(_formula(x)),
    "numpy_T": lambda x: sd.transpose(_formula(x)),
    "mT": lambda x: sd.swapaxes(_formula(x), -1, -2),
    "unsqueeze": lambda x, axis: sd.expand_dims(_formula(x), axis),
    "movedim": lambda x, a, b: sd.moveaxis(_formula(x), a, b),
    "flip": lambda x, axes: sd.flip(_formula(x), tuple(axes)),
    "roll": lambda x, k, axes=(): sd.roll(_formula(x), list(k), list(axes)) if axes else sd.roll(_formula(x), k[0]),
    "cat": lambda parts, dim=0: sd.concatenate([_formula(one) for one in parts], axis=dim),
    "stack": lambda parts, dim=0: sd.stack([_formula(one) for one in parts], axis=dim),
    "_local_scalar_dense": lambda x: x,
    "unbind": lambda x, axis=0: [_formula(x)[_at(x.ndim, axis, k)] for k in range(int(x.shape[axis]))],
    "diagonal": lambda x, k=0, a=0, b=1: sd.diagonal(_formula(x), k, a, b),
    "tril": lambda x, k=0: sd.tril(_formula(x), k),
    "triu": lambda x, k=0: sd.triu(_formula(x), k),
    "repeat": lambda x, reps: sd.tile(_formula(x), tuple(reps)),
    "flatten": lambda x, a=0, b=-1: _flat(_formula(x), a % x.ndim, b % x.ndim),
    "einsum": lambda text, arrays, path=None: sd.einsum(text, *map(_formula, arrays)),
    "softmax": lambda x, dim, dtype=None: sd.softmax(x, axis=dim),
    "_softmax": lambda x, dim, half=False: sd.softmax(x, axis=dim),
    "log_softmax": lambda x, dim, dtype=None: sd.log_softmax(x, axis=dim),
    "_log_softmax": lambda x, dim, half=False: sd.log_softmax(x, axis=dim),
    "cumsum": lambda x, dim: sd.cumsum(_formula(x), axis=dim),
    "cumprod": lambda x, dim: sd.cumprod(_formula(x), axis=dim),
}
_RULES.update(_PLAIN)


@_reads("copy")
def _copy(x: Value, values: Value, non_blocking: bool = False) -> Value:
    return sd.broadcast_to(_formula(values), _sizes(x))


@_reads("_trilinear")
def _trilinear(
    x: Value, y: Value, z: Value, of_x: Sequence[int], of_y: Sequence[int], of_z: Sequence[int], summed: Sequence[int],
    unroll: int = 1,
) -> Value:  # fmt: skip
    parts = [sd.expand_dims(_formula(one), tuple(axes)) for one, axes in ((x, of_x), (y, of_y), (z, of_z))]
    return sd.sum(parts[0] * parts[1] * parts[2], axis=tuple(summed))


@_reads("polygamma")
def _polygamma(order: int, x: Value) -> Value:
    return sd.polygamma(order, x)


@_reads("searchsorted")
def _search(table: Value, x: Value, *, right: bool = False, side: str | None = None, **_: Value) -> Value:
    return sd.searchsorted(_formula(table), _formula(x), "right" if right or side == "right" else "left")


_RULES["bucketize"] = lambda x, table, **options: _search(table, x, **options)


@_reads("clone", "contiguous", "to", "_to_copy", "alias", "lift_fresh_copy", "dropout", "type_as")
def _same(x: Value, *rest: Value) -> Value:
    if len(rest) == 2 and rest[1] is True:  # dropout while training
        raise UnsupportedError("random numbers; read the module after module.eval()")
    return x


@_reads("div")
def _div(x: Value, y: Value, rounding_mode: str | None = None) -> Value:
    quotient = _formula(x) / _formula(y)
    return quotient if rounding_mode is None else getattr(sd, rounding_mode)(quotient)


@_reads("clamp", "clamp_min", "clamp_max", "clip")
def _clamp(x: Value, min: Value = None, max: Value = None) -> Value:
    x = _formula(x)
    x = x if min is None else sd.maximum(x, _formula(min))
    return x if max is None else sd.minimum(x, _formula(max))


_RULES["clamp_max"] = lambda x, most: _clamp(x, None, most)


@_reads("gelu")
def _gelu(x: Array, approximate: str = "none") -> Value:
    return sd.gelu(x) if approximate == "tanh" else x * sd.ndtr(x)


@_reads("softplus")
def _softplus(x: Array, beta: float = 1, threshold: float = 20) -> Value:
    return sd.where(beta * x > threshold, x, sd.softplus(beta * x) / beta)


@_reads("elu")
def _elu(x: Array, alpha: float = 1, scale: float = 1, within: float = 1) -> Value:
    return scale * sd.where(x > 0.0, x, alpha * sd.expm1(within * sd.minimum(x, 0.0)))


def _affine(x: Array, w: Array, b: Value) -> Value:
    product = sd.matmul(x, sd.transpose(w))
    return product if b is None else product + _formula(b)


def _solve(a: Array, b: Array) -> Value:
    return sd.solve(a, b) if b.ndim != a.ndim - 1 or b.ndim == 1 else sd.solve(a, b[..., None])[..., 0]


# ---------------------------------------------------------------------------- shapes


def _at(rank: int, axis: int, place: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * (axis % rank), place)


@_reads("view", "reshape", "_unsafe_view")
def _reshape(x: Value, shape: Sequence[int]) -> Value:
    return sd.reshape(_formula(x), tuple(shape))


def _flat(x: Array, first: int, last: int) -> Value:
    sizes = [int(n) for n in x.shape]
    return sd.reshape(x, (*sizes[:first], prod(sizes[first : last + 1]), *sizes[last + 1 :]))


@_reads("squeeze")
def _squeeze(x: Value, axes: Any = None) -> Value:
    x = _formula(x)
    wanted = range(x.ndim) if axes is None else axes if isinstance(axes, list | tuple) else [axes]
    among = [axis % x.ndim for axis in wanted]
    return x[tuple(0 if k in among and x.shape[k] == 1 else slice(None) for k in range(x.ndim))]


@_reads("expand")
def _expand(x: Value, shape: Sequence[int], implicit: bool = False) -> Value:
    x = _formula(x)
    own = (*[1] * (len(shape) - x.ndim), *x.shape)
    return sd.broadcast_to(x, tuple(have if n == -1 else n for n, have in zip(shape, own, strict=True)))


@_reads("slice", "narrow")
def _slice(x: Value, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    return _formula(x)[_at(x.ndim, axis, slice(start, None if end is None or end > 2**62 else end, step))]


@_reads("chunk")
def _chunk(x: Value, count: int, axis: int = 0) -> list[Value]:
    parts: list[Value] = _split(x, -(-int(x.shape[axis]) // count), axis)
    return parts


@_reads("split", "split_with_sizes")
def _split(x: Value, sizes: Any, axis: int = 0) -> list[Value]:
    n = int(x.shape[axis])
    lengths = list(sizes) if isinstance(sizes, list | tuple) else [min(sizes, n - k) for k in range(0, n, sizes)]
    ends = np.cumsum([0, *lengths]).tolist()
    return [_formula(x)[_at(x.ndim, axis, slice(a, b))] for a, b in pairwise(ends)]


def _known(values: Sequence[Value]) -> tuple[Any, ...]:
    """Return positions, which must be numbers when the function is read."""
    if _holds(list(values), Array):
        raise UnsupportedError("positions that depend on the arguments; expected ones that are known when it is read")
    return tuple(slice(None) if one is None else np.asarray(one) for one in values)


@_reads("index")
def _index(x: Value, places: Sequence[Value]) -> Value:
    x = _formula(x)
    if not _holds(list(places), Array):
        return x[_known(places)]
    axes, at, behind = _in_one_row(x, places)
    left = [k for k in range(x.ndim) if k not in axes]
    rows = sd.reshape(sd.transpose(x, [*left, *axes]), (*(x.shape[k] for k in left), -1))
    found = choose(rows, at, int(rows.shape[-1]))
    order = [*range(at.ndim, at.ndim + behind), *range(at.ndim), *range(at.ndim + behind, found.ndim)]
    return sd.transpose(found, order) if behind else found


def _in_one_row(x: Array, places: Sequence[Value]) -> tuple[list[int], Array, int]:
    """Return axes that positions choose along, positions in these laid out in one row, and the axes in front."""
    shape, axes = _sizes(x), [k for k, one in enumerate(places) if one is not None]
    at: Any = 0.0
    for k in axes:
        own = _formula(places[k])
        at = at * float(shape[k]) + sd.where(own < 0.0, own + float(shape[k]), own)
    return axes, asarray(at), axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0


@_reads("select", "index_select")
def _index_select(x: Value, axis: int, places: Value) -> Value:
    if isinstance(places, int):
        return _formula(x)[_at(x.ndim, axis, places)]
    return _index(x, [*[None] * (axis % x.ndim), places])


_RULES["embedding"] = lambda table, places, *_: _index(table, [places])


def _along(shape: Sequence[int], axis: int, places: Value) -> Any:
    """Return where ``gather`` and ``scatter`` find the elements of an array of some shape, in the flat array."""
    (known,) = _known([places])
    grid = list(np.indices(known.shape))
    grid[axis] = known
    return np.arange(prod(shape)).reshape(tuple(shape))[tuple(grid)]


@_reads("gather")
def _gather(x: Value, axis: int, places: Value, sparse_grad: bool = False) -> Value:
    if isinstance(places, Array):
        return at_each(_formula(x), places, axis)
    return sd.reshape(_formula(x), (-1,))[_along(_sizes(x), axis, places)]


def _put(x: Value, at: Any, values: Value, adds: bool) -> Value:
    """Return an array with values written to, or added at, positions of the flat array."""
    x, at = _formula(x), np.asarray(at)
    shape = _sizes(x)
    spread = sd.reshape(sd.broadcast_to(_formula(values), at.shape), (-1,))
    places = at.ravel()
    if not adds:
        _, last = np.unique(places[::-1], return_index=True)  # of several values the last one stays
        chosen = np.sort(len(places) - 1 - last)
        places, spread = places[chosen], spread[chosen]
    new = sd.reshape(sd.add_at(spread, places, prod(shape)), shape)
    untouched = np.ones(prod(shape), bool)
    untouched[places] = False
    return x + new if adds else sd.where(untouched.reshape(shape), x, new)


@_reads("index_put", "index_put_", "_unsafe_index_put")
def _index_put(x: Value, places: Sequence[Value], values: Value, accumulate: bool = False) -> Value:
    shape = _sizes(x)
    if _holds(list(places), Array):
        return _index_put_by_numbers(_formula(x), places, _formula(values), accumulate)
    return _put(x, np.arange(prod(shape)).reshape(shape)[_known(places)], values, accumulate)


def _index_put_by_numbers(x: Array, places: Sequence[Value], values: Array, adds: bool) -> Value:
    """Return an array with values written to, or added at, positions that numbers decide."""
    axes, at, behind = _in_one_row(x, places)
    shape, left = _sizes(x), [k for k in range(x.ndim) if k not in axes]
    rest = [shape[k] for k in left]
    values = sd.broadcast_to(values, (*rest[:behind], *at.shape, *rest[behind:]))
    inside = range(behind, behind + at.ndim)
    values = sd.moveaxis(values, inside, range(-at.ndim, 0)) if at.ndim else values[..., None]
    row = sd.reshape(sd.transpose(x, [*left, *axes]), (*rest, -1))
    flat = sd.broadcast_to(sd.reshape(at, (-1,)), (*rest, int(at.size)))
    row = spread_each(row, flat, -1, sd.reshape(values, (*rest, -1)), adds=adds)
    whole = sd.reshape(row, (*rest, *(shape[k] for k in axes)))
    return sd.transpose(whole, np.argsort([*left, *axes]).tolist())


@_reads("scatter_add", "scatter")
def _scatter(x: Value, axis: int, places: Value, values: Value, adds: bool = False) -> Value:
    if isinstance(places, Array):
        whole = values if np.ndim(values) else sd.broadcast_to(_formula(values), places.shape)
        cut = tuple(slice(0, int(n)) for n in places.shape)
        return spread_each(_formula(x), places, axis, _formula(whole)[cut], adds=adds)
    at = _along(_sizes(x), axis, places)
    cut = tuple(slice(0, n) for n in at.shape)
    return _put(x, at, values if np.ndim(values) == 0 else _formula(values)[cut], adds)


_RULES["scatter_add"] = partial(_scatter, adds=True)


@_reads("select_scatter", "slice_scatter", "diagonal_scatter")
def _part_put(pick: Callable[..., Any], x: Value, values: Value, *options: Any, **named: Any) -> Value:
    shape = _sizes(x)
    return _put(x, pick(np.arange(prod(shape)).reshape(shape), *options, **named), values, False)


_RULES["select_scatter"] = partial(_part_put, lambda places, axis, k: places[_at(places.ndim, axis, k)])
_RULES["slice_scatter"] = partial(
    _part_put,
    lambda places, axis=0, start=None, end=None, step=1: places[
        _at(places.ndim, axis, slice(start, None if end is None or end > 2**62 else end, step))
    ],
)
_RULES["diagonal_scatter"] = partial(_part_put, lambda places, k=0, a=0, b=1: np.diagonal(places, k, a, b))


@_reads("unfold")
def _unfold(x: Value, axis: int, size: int, step: int) -> Value:
    shape = _sizes(x)
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(prod(shape)).reshape(shape), size, axis % len(shape))
    return sd.reshape(_formula(x), (-1,))[windows[_at(len(shape), axis, slice(None, None, step))]]


@_reads("constant_pad_nd")
def _pad(x: Value, around: Sequence[int], value: Any = 0.0) -> Value:
    x = _formula(x)
    pairs = [(around[k], around[k + 1]) for k in range(0, len(around), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    cut = tuple(slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(pairs, _sizes(x), strict=True))
    return sd.pad(x[cut], [(max(0, a), max(0, b)) for a, b in pairs], constant_values=value)


def _sizes(x: Value) -> tuple[int, ...]:
    return tuple(map(int, x.shape))


# ---------------------------------------------------------------------------- windows of images


def _windows(x: Value, size: Sequence[int], step: Sequence[int], gap: Sequence[int]) -> list[Value]:
    """Return what each element of a kernel meets, in the last axes: one array for each place of the kernel."""
    space = _sizes(x)[-len(size) :]
    room = [n - d * (k - 1) - 1 for n, k, d in zip(space, size, gap, strict=True)]
    lengths = [n - n % s for n, s in zip(room, step, strict=True)]
    places = [range(0, k * d, d) for k, d in zip(size, gap, strict=True)]

    def met(place: Sequence[int]) -> Value:
        return x[(..., *(slice(p, p + n + 1, s) for p, n, s in zip(place, lengths, step, strict=True)))]

    return [met(place) for place in product(*places)]


def _wide(option: Any, count: int) -> list[int]:
    """Return an option of each axis: one number stands for all."""
    numbers = list(option) if isinstance(option, list | tuple) else [option]
    return numbers * count if len(numbers) == 1 else numbers


def _bordered(x: Value, around: Sequence[tuple[int, int]], value: float = 0.0) -> Value:
    return sd.pad(x, [*[(0, 0)] * (x.ndim - len(around)), *around], constant_values=value)


@_reads("convolution")
def _convolution(
    x: Value, w: Value, b: Value, step: Any, around: Any, gap: Any, turned: bool, more: Any, groups: int
) -> Value:
    x, w = _formula(x), _formula(w)
    count = x.ndim - 2
    step, around, gap, more = (_wide(one, count) for one in (step, around, gap, more))
    sides = [(n, n) for n in around]
    if turned:  # zeros between the elements, and the kernel from behind
        for axis, (n, s) in enumerate(zip(_sizes(x)[2:], step, strict=True), 2):
            places = np.full((n - 1) * s + 1, n)
            places[::s] = np.arange(n)
            x = sd.pad(x, [(0, int(k == axis)) for k in range(x.ndim)])[_at(x.ndim, axis, places)]
        size = _sizes(w)[2:]
        sides = [(d * (k - 1) - p, d * (k - 1) - p + o) for d, k, p, o in zip(gap, size, around, more, strict=True)]
        w = sd.flip(w, tuple(range(2, w.ndim)))
        per = _sizes(w)[0] // groups
        w = sd.concatenate([sd.swapaxes(w[k * per : (k + 1) * per], 0, 1) for k in range(groups)], axis=0)
        step = [1] * count
    x = _bordered(x, sides)
    size, channels, each = _sizes(w)[2:], _sizes(w)[1], _sizes(w)[0] // groups
    parts = []
    for group in range(groups):
        kernel = w[group * each : (group + 1) * each]
        met = _windows(x[:, group * channels : (group + 1) * channels], size, step, gap)
        kernels = [kernel[(..., *place)] for place in product(*map(range, size))]
        terms = [sd.einsum("nc...,oc->no...", one, own) for one, own in zip(met, kernels, strict=True)]
        parts.append(sum(terms[1:], terms[0]))
    found = parts[0] if groups == 1 else sd.concatenate(parts, axis=1)
    return found if b is None else found + sd.reshape(_formula(b), (-1, *[1] * count))


@_reads("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(x: Value, size: Any, step: Any = (), around: Any = 0, gap: Any = 1, whole: bool = False) -> Value:
    if whole:
        raise UnsupportedError("ceil_mode=True")
    count = len(size)
    x = _bordered(_formula(x), [(n, n) for n in _wide(around, count)], -np.inf)
    met = _windows(x, size, _wide(step or size, count), _wide(gap, count))
    found = met[0]
    for one in met[1:]:
        found = sd.maximum(found, one)
    return found, POSITIONS


@_reads("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    x: Value, size: Any, step: Any = (), around: Any = 0, whole: bool = False, padded: bool = True, divisor: Any = None
) -> Value:
    if whole:
        raise UnsupportedError("ceil_mode=True")
    count = len(size)
    sides = [(n, n) for n in _wide(around, count)]

    def total(one: Value) -> Value:
        met = _windows(_bordered(one, sides), size, _wide(step or size, count), [1] * count)
        return sum(met[1:], met[0])

    x = _formula(x)
    if divisor is not None or padded or not any(map(any, sides)):
        return total(x) / (divisor or prod(size))
    return total(x) / total(_formula(np.ones(_sizes(x)[-count:])))


@_reads("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def _adaptive(x: Value, sizes: Sequence[int]) -> Value:
    x = _formula(x)
    for axis, (n, m) in enumerate(zip(_sizes(x)[-len(sizes) :], sizes, strict=True), x.ndim - len(sizes)):
        ends = [(k * n // m, -(-(k + 1) * n // m)) for k in range(m)]
        x = sd.stack([sd.mean(x[_at(x.ndim, axis, slice(a, b))], axis=axis) for a, b in ends], axis=axis)
    return x


def _resized(torch: Any, function: str, x: Value, sizes: Any, *options: Any) -> Value:
    """Return an image of another size: along each axis a product with a matrix, whose columns PyTorch tells."""
    x = _formula(x)
    factors = options[-1]
    count = x.ndim - 2
    operation = getattr(torch.ops.aten, function).vec
    for axis in range(count):
        n = _sizes(x)[2 + axis]
        columns = torch.eye(n, dtype=torch.float64).reshape(1, n, *[n if k == axis else 1 for k in range(count)])
        wanted = None if sizes is None else [sizes[axis] if k == axis else 1 for k in range(count)]
        by = None if factors is None else [factors[axis] if k == axis else 1.0 for k in range(count)]
        matrix = _numbers(operation(columns, wanted, *options[:-1], by)).reshape(n, -1)
        x = sd.moveaxis(sd.matmul(sd.moveaxis(x, 2 + axis, -1), _formula(matrix)), -1, 2 + axis)
    return x


def _resize_by(name: str) -> Callable[..., Value]:
    def rule(*args: Any) -> Value:
        import torch

        return _resized(torch, name, *args)

    return rule


for _kind in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "bicubic2d"):
    _RULES[f"upsample_{_kind}"] = _resize_by(f"upsample_{_kind}")


# ---------------------------------------------------------------------------- reductions


def _over(name: str, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    axes = tuple(dim) if isinstance(dim, list | tuple) else dim
    return getattr(sd, name)(_formula(x), axis=None if axes == () else axes, keepdims=keepdim)


for _name_of, _own in {
    "sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "prod": "prod", "logsumexp": "logsumexp", "any": "any",
    "all": "all",
}.items():  # fmt: skip
    _RULES[_name_of] = partial(_over, _own)


def _extreme(name: str, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """Return the largest or least."""
    found = _over(name, x, axis, keepdim)
    return found if axis is None else (found, _over(f"arg{name}", x, axis, keepdim))


_RULES["max"], _RULES["min"] = partial(_extreme, "max"), partial(_extreme, "min")
_RULES["argmax"], _RULES["argmin"] = partial(_over, "argmax"), partial(_over, "argmin")


@_reads("var", "std")
def _var(x: Value, axes: Any = None, unbiased: Any = True, keepdim: bool = False, correction: Any = None) -> Value:
    ddof = int(unbiased) if correction is None else correction
    axes = tuple(axes) if isinstance(axes, list | tuple) else axes
    return sd.var(_formula(x), axis=axes, ddof=ddof, keepdims=keepdim)


_RULES["std"] = lambda *args, **options: sd.sqrt(_var(*args, **options))


@_reads("var_mean")
def _var_mean(x: Value, *args: Any, **options: Any) -> Value:
    axes = args[0] if args else None
    return _var(x, *args, **options), _over("mean", x, axes, options.get("keepdim", False))


def _extreme_before(name: str, x: Value, axis: int) -> Value:
    return getattr(sd, name)(_formula(x), axis=axis), POSITIONS


_RULES["cummax"], _RULES["cummin"] = partial(_extreme_before, "cummax"), partial(_extreme_before, "cummin")


@_reads("logcumsumexp")
def _logcumsumexp(x: Value, axis: int) -> Value:
    x = sd.moveaxis(_formula(x), axis, -1)
    n = _sizes(x)[-1]
    before = sd.where(np.tri(n, dtype=bool), x[..., None, :], -np.inf)
    return sd.moveaxis(sd.logsumexp(before, axis=-1), -1, axis)


@_reads("sort")
def _sort(x: Value, axis: int = -1, descending: bool = False, stable: Any = None) -> Value:
    found = sd.sort(_formula(x), axis=axis)
    return sd.flip(found, axis) if descending else found, _argsort(x, axis, descending)


@_reads("argsort")
def _argsort(x: Value, *args: Value, stable: Any = None, **options: Any) -> Value:
    order = inspect.signature(lambda dim=-1, descending=False: None).bind(*args[-2:], **options)
    order.apply_defaults()
    axis, descending = order.arguments["dim"], order.arguments["descending"]
    return sd.argsort(-_formula(x) if descending else _formula(x), axis=axis)


@_reads("topk")
def _topk(x: Value, count: int, axis: int = -1, largest: bool = True, is_sorted: bool = True) -> Value:
    return tuple(one[_at(x.ndim, axis, slice(0, count))] for one in _sort(x, axis, largest))


@_reads("kthvalue")
def _kth(x: Value, k: int, axis: int = -1, keepdim: bool = False) -> Value:
    place = slice(k - 1, k) if keepdim else k - 1
    return tuple(one[_at(x.ndim, axis, place)] for one in _sort(x, axis))


@_reads("median")
def _median(x: Value, axis: int | None = None, keepdim: bool = False) -> Value:
    if axis is None:
        flat = sd.reshape(_formula(x), (-1,))
        return sd.sort(flat)[(_sizes(flat)[0] - 1) // 2]
    return _kth(x, (_sizes(x)[axis] + 1) // 2, axis, keepdim)


@_reads("linalg_vector_norm", "norm")
def _norm(x: Value, order: Any = 2, axes: Any = None, keepdim: bool = False) -> Value:
    x = _formula(x)
    axes = tuple(axes) if isinstance(axes, list | tuple) else axes
    axes = tuple(range(x.ndim)) if axes is None or axes == () else axes
    return sd.vector_norm(x, ord=order, axis=axes, keepdims=keepdim)


@_reads("_cdist_forward", "cdist")
def _cdist(x: Value, y: Value, order: float = 2.0, mode: Any = None) -> Value:
    return sd.vector_norm(_formula(x)[..., :, None, :] - _formula(y)[..., None, :, :], ord=order, axis=-1)


@_reads("layer_norm")
def _layer_norm(x: Value, shape: Any, w: Value = None, b: Value = None, eps: float = 1e-5, *_: Value) -> Value:
    axes = tuple(range(-len(shape), 0))
    x = _formula(x)
    centred = x - sd.mean(x, axis=axes, keepdims=True)
    found = centred / sd.sqrt(sd.mean(centred**2, axis=axes, keepdims=True) + eps)
    found = found if w is None else found * _formula(w)
    return found if b is None else found + _formula(b)


# what is left out of a training step's results is not known
_RULES["native_layer_norm"] = lambda *args: (_layer_norm(*args), None, None)


@_reads("native_group_norm")
def _group_norm(x: Value, w: Value, b: Value, n: int, channels: int, rest: int, groups: int, eps: float) -> Value:
    x = _formula(x)
    shape = _sizes(x)
    found = sd.reshape(_layer_norm(sd.reshape(x, (n, groups, -1)), (-1,), None, None, eps), shape)
    return _scaled(found, w, b), None, None


def _scaled(x: Value, w: Value, b: Value) -> Value:
    """Return channels times their weights, and their offsets added."""
    each = (-1, *[1] * (x.ndim - 2))
    x = x if w is None else x * sd.reshape(_formula(w), each)
    return x if b is None else x + sd.reshape(_formula(b), each)


@_reads("_native_batch_norm_legit_no_training")
def _batch_norm(x: Value, w: Value, b: Value, mean: Value, var: Value, momentum: float, eps: float) -> Value:
    x = _formula(x)
    each = (-1, *[1] * (x.ndim - 2))
    mean, var = (sd.reshape(_formula(one), each) for one in (mean, var))
    return _scaled((x - mean) / sd.sqrt(var + eps), w, b), None, None


@_reads("_native_batch_norm_legit")
def _batch_norm_of_batch(x: Value, w: Value, b: Value, *args: Value) -> Value:
    if not isinstance(args[0], bool):
        raise UnsupportedError("a batch norm that keeps averages; read the module after module.eval()")
    x = _formula(x)
    axes = (0, *range(2, x.ndim))
    mean, var = sd.mean(x, axis=axes, keepdims=True), sd.var(x, axis=axes, keepdims=True)
    return _scaled((x - mean) / sd.sqrt(var + args[-1]), w, b), None, None


@_reads("linalg_solve_triangular")
def _triangular(a: Value, b: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Value:
    a, b = _formula(a), _formula(b)
    options = {"lower": not upper, "unit_diagonal": unitriangular}
    if left:
        return sd.solve_triangular(a, b, **options)
    turned = sd.solve_triangular(a, sd.matrix_transpose(b), trans=1, **options)
    return sd.matrix_transpose(turned)


@_reads("linalg_matrix_norm", "linalg_norm")
def _matrix_norm(x: Value, order: Any = None, axes: Any = None, keepdim: bool = False) -> Value:
    x = _formula(x)
    if axes is None and x.ndim == 2 and order is not None:
        axes = (-2, -1)
    of_matrices = isinstance(axes, list | tuple) and [one % x.ndim for one in axes] == [x.ndim - 2, x.ndim - 1]
    if not of_matrices:
        return _norm(x, 2 if order is None else order, axes, keepdim)
    return sd.matrix_norm(x, ord="fro" if order is None else order, keepdims=keepdim)


@_reads("scaled_dot_product_attention")
def _attention(
    q: Value, k: Value, v: Value, mask: Value = None, dropout: float = 0.0, causal: bool = False, **options: Any
) -> Value:
    scale, grouped = options.get("scale"), options.get("enable_gqa", False)
    if dropout or grouped:
        raise UnsupportedError("attention with dropout or grouped heads; write it out")
    q, k, v = map(_formula, (q, k, v))
    scores = sd.matmul(q, sd.swapaxes(k, -1, -2)) * (1.0 / sqrt(_sizes(q)[-1]) if scale is None else scale)
    if causal:
        mask = np.tri(_sizes(q)[-2], _sizes(k)[-2], dtype=bool)
    if isinstance(mask, np.ndarray) and mask.dtype == bool:
        scores = sd.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = scores + _formula(mask)
    return sd.matmul(sd.softmax(scores, axis=-1), v)


@_reads("mse_loss")
def _mse(x: Value, y: Value, reduction: int = 1) -> Value:
    square = (_formula(x) - _formula(y)) ** 2
    return (square, sd.mean(square), sd.sum(square))[reduction]
