"""Reads formula text with Python's own parser and computes it in a hundred digits.

The reference must share nothing with what it judges, so the text is read by ``ast``, not by the project's grammar, and
computed by mpmath on object arrays; derivatives are central differences, whose error at a hundred digits and a relative
step of 1e-20 is far below a double's.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np

DIGITS = 100
STEP = mp.mpf(10) ** -20

_BINARY: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def read(text: str, known: Mapping[str, Any]) -> Any:
    """Evaluate formula text, lines of definitions and a result, over the names given."""
    names = dict(known)
    *definitions, last = ast.parse(text).body
    for line in definitions:
        assert isinstance(line, ast.Assign)
        assert isinstance(line.targets[0], ast.Name)
        names[line.targets[0].id] = _value(line.value, names)
    assert isinstance(last, ast.Expr)
    return _value(last.value, names)


def _value(node: ast.AST, names: Mapping[str, Any]) -> Any:
    def value(part: ast.AST) -> Any:
        return _value(part, names)

    match node:
        case ast.Constant(value=number):
            return names["number"](number) if isinstance(number, float) else number
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](value(left), value(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _BINARY[type(op)](value(left), value(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -value(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return names[name](*map(value, args), **{str(k.arg): value(k.value) for k in keywords})
        case ast.Attribute(value=operand, attr="T"):
            return value(operand).T
        case ast.Subscript(value=operand, slice=key):
            return value(operand)[value(key)]
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if part is None else value(part) for part in (lower, upper, step)))
        case ast.Tuple(elts=parts):
            return tuple(map(value, parts))
        case ast.List(elts=parts):
            return names["array"]([value(part) for part in parts])
    raise AssertionError(ast.dump(node))


def each(function: Callable[..., Any], arguments: int = 1) -> Callable[..., Any]:
    """Return a function of numbers as one of object arrays."""
    wrapped: Callable[..., Any] = np.frompyfunc(function, arguments, 1)
    return wrapped


def _matrix(a: Any) -> Any:
    return mp.matrix(a.tolist())


def _array(m: Any) -> Any:
    return np.array(m.tolist(), dtype=object).reshape(m.rows, m.cols)


def _solve(a: Any, b: Any) -> Any:
    x = _array(mp.lu_solve(_matrix(a), _matrix(b[:, None]))) if b.ndim == 1 else _array(_matrix(a) ** -1) @ b
    return x[:, 0] if b.ndim == 1 else x


def _softmax(x: Any, axis: int = -1) -> Any:
    top = np.frompyfunc(mp.exp, 1, 1)(x)
    return top / top.sum(axis=axis, keepdims=True)


def _log(x: Any) -> Any:
    return np.frompyfunc(mp.log, 1, 1)(x)


def _exp(x: Any) -> Any:
    return np.frompyfunc(mp.exp, 1, 1)(x)


def _reduce(method: str) -> Callable[..., Any]:
    return lambda x, axis=None: getattr(np.asarray(x, dtype=object), method)(axis=axis)


def _norm(x: Any, p: Any = 2) -> Any:
    if p == 1:
        return abs(x).sum()
    return mp.sqrt((x * x).sum()) if p == 2 else abs(x).max()


def _det(a: Any) -> Any:
    """Expand along the first row: right at singular matrices too."""
    n = len(a)
    if n == 1:
        return a[0, 0]
    rest = range(n)
    return sum((-1) ** j * a[0, j] * _det(a[1:][:, [k for k in rest if k != j]]) for j in rest)


FUNCTIONS: dict[str, Any] = {
    name: each(getattr(mp, own))
    for name, own in {
        "exp": "exp",
        "log": "log",
        "ln": "log",
        "sqrt": "sqrt",
        "sin": "sin",
        "cos": "cos",
        "tan": "tan",
        "arcsin": "asin",
        "arccos": "acos",
        "arctan": "atan",
        "sinh": "sinh",
        "cosh": "cosh",
        "sech": "sech",
        "tanh": "tanh",
        "arcsinh": "asinh",
        "arccosh": "acosh",
        "arctanh": "atanh",
        "erf": "erf",
        "erfc": "erfc",
        "gamma": "gamma",
        "lgamma": "loggamma",
        "digamma": "digamma",
        "expm1": "expm1",
        "log1p": "log1p",
        "floor": "floor",
        "sign": "sign",
        "cbrt": "cbrt",
    }.items()
} | {
    "number": lambda x: mp.mpf(repr(x)),
    "array": lambda rows: np.array(rows, dtype=object),
    "pi": mp.pi,
    "e": mp.e,
    "abs": abs,
    "log2": each(lambda x: mp.log(x, 2)),
    "log10": each(lambda x: mp.log(x, 10)),
    "arctan2": each(mp.atan2, 2),
    "hypot": each(mp.hypot, 2),
    "minimum": each(min, 2),
    "maximum": each(max, 2),
    "sigmoid": each(lambda x: 1 / (1 + mp.exp(-x))),
    "softplus": each(lambda x: mp.log(1 + mp.exp(x))),
    "where": each(lambda c, x, y: x if c else y, 3),
    "logaddexp": each(lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), 2),
    "xlogy": each(lambda x, y: x * mp.log(y), 2),
    "softmax": _softmax,
    "log_softmax": lambda x, axis=-1: _log(_softmax(x, axis)),
    "logsumexp": lambda x, axis=None: _log(_exp(x).sum(axis=axis)),
    "sum": _reduce("sum"),
    "mean": _reduce("mean"),
    "prod": _reduce("prod"),
    "max": _reduce("max"),
    "min": _reduce("min"),
    "cumsum": lambda x, axis=None: np.cumsum(x, axis=axis),
    "norm": _norm,
    "det": _det,
    "logdet": lambda a: mp.log(_det(a)),
    "inv": lambda a: _array(_matrix(a) ** -1),
    "solve": _solve,
    "trace": np.trace,
    "diag": np.diag,
    "outer": np.multiply.outer,
    "dot": np.dot,
    "eye": lambda n: np.eye(n, dtype=int).astype(object),
    "cross": np.cross,
    "kron": np.kron,
    "concatenate": np.concatenate,
    "stack": np.stack,
    "reshape": np.reshape,
    "transpose": np.transpose,
    "tril": np.tril,
    "triu": np.triu,
}


def value(text: str, point: Mapping[str, Any]) -> Any:
    """Return the formula's value at a point of object arrays."""
    return np.asarray(read(text, FUNCTIONS | dict(point)), dtype=object)


def exact(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point of doubles as object arrays (scalars: numbers) of fifty digits."""
    with mp.workdps(DIGITS):
        return {k: np.frompyfunc(mp.mpf, 1, 1)(np.asarray(v, dtype=float)) for k, v in point.items()}


def _moved(point: Mapping[str, Any], name: str, index: tuple[int, ...], by: Any) -> dict[str, Any]:
    array = np.array(point[name], dtype=object)
    array[index] = array[index] + by
    return {**point, name: array if array.ndim else array[()]}


def jacobian(f: Callable[[Mapping[str, Any]], Any], point: Mapping[str, Any], name: str) -> Any:
    """Return the Jacobian of ``f``, of shape ``shape(f) + shape(input)``, by central differences."""
    shape = np.shape(point[name])
    columns = []
    for index in itertools.product(*map(range, shape)):
        step = STEP * (abs(np.asarray(point[name], dtype=object)[index]) or 1)
        columns.append((f(_moved(point, name, index, step)) - f(_moved(point, name, index, -step))) / (2 * step))
    stacked = np.stack([np.asarray(c, dtype=object) for c in columns], axis=-1)
    return stacked.reshape((*stacked.shape[:-1], *shape))


def _slope(f: Callable[[Mapping[str, Any]], Any], name: str, at: Mapping[str, Any]) -> Any:
    return jacobian(f, at, name)


def reference(text: str, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value, and with respect to every input the Jacobian and for scalars the Hessian, as doubles."""
    with mp.workdps(DIGITS):
        start = exact(point)

        def f(at: Mapping[str, Any]) -> Any:
            return value(text, at)

        result = {"value": f(start)}
        for name in point:
            result[f"jacobian {name}"] = jacobian(f, start, name)
            if result["value"].ndim == 0:
                result[f"hessian {name}"] = jacobian(partial(_slope, f, name), start, name)
        return {k: v.astype(float) for k, v in result.items()}
