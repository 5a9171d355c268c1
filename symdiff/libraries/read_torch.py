"""Functions and modules of PyTorch as formulas: ``torch.export`` writes them down, and the graph is made of its nodes.

Operations that are written as such (``linear``, ``softmax``) are read so; where one has no counterpart, PyTorch takes
it apart first. What has none then is refused by its name and the line that it comes from.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import prod, sqrt
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..frontend.array import Array, asarray
from ..frontend.symbols import Operations, symbol
from ..ground.guard import guarded, users

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
        Of tensors. Parameters of a module are symbols too: ``layer.weight`` is ``layer_weight``.
    *examples : torch.Tensor
        Arguments that say which shapes it takes; of tensors of real numbers only the shapes are looked at.

    Returns
    -------
    Array, or tuple or list of them

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
    if not callable(f):
        raise ArgumentError(f"from_torch of type {type(f).__name__}; expected a module or function of PyTorch")
    module = f
    if not isinstance(f, torch.nn.Module):
        module = torch.nn.Module()
        module.forward = f
    # one tensor given for two parameters would be one argument
    examples = torch.utils._pytree.tree_map_only(torch.Tensor, lambda one: one.detach().clone(), tuple(examples))
    exported = users(torch.export.export)(module, examples)
    code = getattr(f, "__code__", None)
    beginning = f"{code.co_filename}:{code.co_firstlineno}" if code else "a place that PyTorch does not tell"
    unread = [one for one in exported.graph.nodes if one.op == "call_function" and _name(one) not in _RULES]
    if unread:
        exported = exported.run_decompositions()
    for node in exported.graph.nodes:
        if node.op == "call_function" and _name(node) not in _RULES:
            line = _line(node, _line(unread[0], beginning))
            raise UnsupportedError(f"PyTorch's {_name(node)} at {line}: it has no counterpart")
    return _read(exported, torch, beginning, _names(module, examples, torch))


def _names(module: Any, examples: Sequence[Any], torch: Any) -> list[str]:
    """Return the names of the arguments' arrays, in their order: PyTorch's own have small letters alone."""
    given = inspect.signature(module.forward).bind(*examples).arguments
    leaves, _ = torch.utils._pytree.tree_flatten_with_path(dict(given))
    keys = [[dataclasses.astuple(key)[0] for key in path] for path, _ in leaves]
    return [re.sub(r"\W", "_", "_".join(map(str, path))) for path in keys]


def _read(exported: Any, torch: Any, beginning: str, names: Sequence[str]) -> Any:
    """Return the results of a program, in its structure; ``names`` are those of its arguments."""
    values: dict[Any, Value] = {}
    given = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
    theirs = [name for name, spec in given.items() if spec.kind.name == "USER_INPUT"]
    own = dict(zip(theirs, names, strict=True)) if len({*names}) == len(theirs) else {}
    for node in exported.graph.nodes:
        if node.op == "placeholder":
            values[node] = _argument(exported, given[node.name], node, own)
        elif node.op == "call_function":
            args, options = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda one: values[one])
            values[node] = _result(node, args, options, beginning)
        elif node.op == "output":
            found = [values[one] if isinstance(one, torch.fx.Node) else one for one in node.args[0]]
            return torch.utils._pytree.tree_unflatten(list(map(_formula, found)), exported.call_spec.out_spec)
    raise AssertionError("a graph has an output")


def _argument(exported: Any, spec: Any, node: Any, own: Mapping[str, str]) -> Value:
    """Return a symbol for an argument or parameter, and the numbers of a buffer or constant."""
    kind = spec.kind.name
    if kind in ("BUFFER", "CONSTANT_TENSOR"):
        known = exported.state_dict.get(spec.target)
        return (exported.constants[spec.target] if known is None else known).detach().cpu().numpy()
    example = node.meta["val"]
    if not hasattr(example, "dtype"):
        return example
    if not example.dtype.is_floating_point:
        raise UnsupportedError(
            f"{spec.arg.name} of {example.dtype}; expected real numbers: write whole numbers into the function"
        )
    name = spec.target if kind == "PARAMETER" else own.get(spec.arg.name, spec.arg.name)
    return symbol(re.sub(r"\W", "_", name), tuple(map(int, example.shape)))


def _formula(value: Value) -> Array:
    if isinstance(value, Array):
        return value
    array = np.asarray(value)
    return asarray(array if array.dtype == np.bool_ else array.astype(np.float64))


def _name(node: Any) -> str:
    """Return the name of an operation without its overload."""
    return str(node.target).removeprefix("aten.").partition(".")[0] if "getitem" not in str(node.target) else "getitem"


def _result(node: Any, args: Sequence[Value], options: dict[str, Value], beginning: str) -> Value:
    name, rule = _name(node), _RULES[_name(node)]
    options = {key: value for key, value in options.items() if key not in _MEMORY}
    try:
        return rule(*args, **options)
    except UnsupportedError as error:
        raise UnsupportedError(f"PyTorch's {name} at {_line(node, beginning)}: {error}") from None
    except (ShapeError, ArgumentError, TypeError) as error:
        raise UnsupportedError(f"PyTorch's {name} at {_line(node, beginning)}: {error}") from error


def _line(node: Any, otherwise: str) -> str:
    """Return the line of the user's program that an operation comes from, where PyTorch tells it: of modules."""
    found = re.findall(r'File "([^"]+)", line (\d+)', str(node.meta.get("stack_trace") or ""))
    return ":".join(found[-1]) if found else otherwise


# ---------------------------------------------------------------------------- the table of rules

#: Options about memory and types.
_MEMORY = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "copy"})
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
    "linalg_pinv": "pinv",
}  # fmt: skip
_RULES.update({name: partial(_each, name) for name in _SAME_NAME})
_RULES.update({name: partial(_each, own) for name, own in _OTHER_NAME.items()})
_PLAIN: dict[str, Callable[..., Value]] = {
    "add": lambda x, y, alpha=1: _formula(x) + alpha * _formula(y),
    "sub": lambda x, y, alpha=1: _formula(x) - alpha * _formula(y),
    "rsub": lambda x, y, alpha=1: _formula(y) - alpha * _formula(x),
    "mul": lambda x, y: _formula(x) * _formula(y),
    "rsqrt": lambda x: 1.0 / sd.sqrt(x),
    "where": lambda c, x, y: sd.where(_formula(c), _formula(x), _formula(y)),
    "detach": lambda x: sd.stop_gradient(x) if isinstance(x, Array) else x,
    "getitem": lambda x, k: x[k],
    "scalar_tensor": lambda x: np.asarray(x, float),
    "full": lambda shape, x: np.full(shape, float(x)),
    "zeros": np.zeros,
    "ones": np.ones,
    "arange": np.arange,
    "eye": lambda n, m=None: np.eye(n, m),
    "zeros_like": lambda x: np.zeros(x.shape),
    "ones_like": lambda x: np.ones(x.shape),
    "full_like": lambda x, value: np.full(x.shape, float(value)),
    "leaky_relu": lambda x, slope=0.01: sd.where(x > 0.0, x, slope * x),
    "hardtanh": lambda x, low=-1.0, high=1.0: _clamp(x, low, high),
    "addmm": lambda b, x, y, beta=1, alpha=1: beta * _formula(b) + alpha * sd.matmul(_formula(x), _formula(y)),
    "baddbmm": lambda b, x, y, beta=1, alpha=1: beta * _formula(b) + alpha * sd.matmul(_formula(x), _formula(y)),
    "linear": lambda x, w, b=None: _affine(_formula(x), _formula(w), b),
    "linalg_slogdet": lambda a: tuple(sd.slogdet(a)),
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
    "select": lambda x, axis, k: _formula(x)[_at(x.ndim, axis, k)],
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


@_reads("split", "split_with_sizes", "chunk")
def _split(x: Value, sizes: Any, axis: int = 0) -> list[Value]:
    n = int(x.shape[axis])
    lengths = list(sizes) if isinstance(sizes, list | tuple) else [min(sizes, n - k) for k in range(0, n, sizes)]
    ends = np.cumsum([0, *lengths]).tolist()
    return [_formula(x)[_at(x.ndim, axis, slice(a, b))] for a, b in pairwise(ends)]


@_reads("index")
def _index(x: Value, places: Sequence[Value]) -> Value:
    if any(isinstance(one, Array) for one in places):
        raise UnsupportedError("positions that depend on the arguments; expected ones that are known when it is read")
    return _formula(x)[tuple(slice(None) if one is None else np.asarray(one) for one in places)]


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
    """Return the largest or least, with nothing for the positions, which no formula has."""
    found = _over(name, x, axis, keepdim)
    return found if axis is None else (found, None)


_RULES["max"], _RULES["min"] = partial(_extreme, "max"), partial(_extreme, "min")


@_reads("var", "std")
def _var(x: Value, axes: Any = None, unbiased: Any = True, keepdim: bool = False, correction: Any = None) -> Value:
    ddof = int(unbiased) if correction is None else correction
    axes = tuple(axes) if isinstance(axes, list | tuple) else axes
    return sd.var(_formula(x), axis=axes, ddof=ddof, keepdims=keepdim)


_RULES["std"] = lambda *args, **options: sd.sqrt(_var(*args, **options))


@_reads("linalg_vector_norm", "norm")
def _norm(x: Value, order: Any = 2, axes: Any = None, keepdim: bool = False) -> Value:
    x = _formula(x)
    axes = tuple(axes) if isinstance(axes, list | tuple) else axes
    axes = tuple(range(x.ndim)) if axes is None or axes == () else axes
    return sd.vector_norm(x, ord=order, axis=axes, keepdims=keepdim)


@_reads("layer_norm", "native_layer_norm")
def _layer_norm(x: Value, shape: Any, w: Value = None, b: Value = None, eps: float = 1e-5, *_: Value) -> Value:
    axes = tuple(range(-len(shape), 0))
    x = _formula(x)
    centred = x - sd.mean(x, axis=axes, keepdims=True)
    found = centred / sd.sqrt(sd.mean(centred**2, axis=axes, keepdims=True) + eps)
    found = found if w is None else found * _formula(w)
    return found if b is None else found + _formula(b)


@_reads("scaled_dot_product_attention")
def _attention(q: Value, k: Value, v: Value, mask: Value = None, dropout: float = 0.0, causal: bool = False) -> Value:
    if dropout or causal or mask is not None:
        raise UnsupportedError("attention with a mask or dropout; write it out")
    q, k, v = map(_formula, (q, k, v))
    scores = sd.matmul(q, sd.swapaxes(k, -1, -2)) / sqrt(int(q.shape[-1]))
    return sd.matmul(sd.softmax(scores, axis=-1), v)


@_reads("mse_loss")
def _mse(x: Value, y: Value, reduction: int = 1) -> Value:
    square = (_formula(x) - _formula(y)) ** 2
    return (square, sd.mean(square), sd.sum(square))[reduction]
