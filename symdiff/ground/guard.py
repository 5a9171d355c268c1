"""The guard of public functions: errors of SymPy, NumPy or Python leave as symdiff's own.

Foreseen mistakes are refused where they happen, in words of their own. An unforeseen error (a value
that no check covers, a limit of Python's, a defect) reaches the guard of the function that was
called, which says what was called with what, and keeps the error as the cause. Errors raised in a
function that the user gave pass as they are; so do warnings that are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from .._kernels.system.scopes import Boundary, shorten
from ..errors import (
    ArgumentError,
    DataError,
    InternalError,
    LimitError,
    SingularMatrixError,
    SymdiffError,
    UnsupportedError,
)
from .advice import FACTS, names_near

__all__ = ["described", "guarded", "guarded_operators", "is_function", "refuse", "users"]

P = ParamSpec("P")
T = TypeVar("T")

#: Errors and what they become, the first that fits; anything else is a defect of symdiff.
_MEANINGS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[SymdiffError], str], ...] = (
    (
        RecursionError,
        LimitError,
        "is nested deeper than Python can follow; give parts of it names (sd.name), or split it",
    ),
    (MemoryError, LimitError, "takes more memory than there is; use smaller arrays, or parts"),
    (OverflowError, LimitError, "meets a number that is too large"),
    (np.linalg.LinAlgError, SingularMatrixError, "meets a matrix that cannot be solved with"),
    (NotImplementedError, UnsupportedError, "is not offered"),
    (TypeError, ArgumentError, "has an argument of the wrong kind"),
    (ValueError, ArgumentError, "has an argument with a wrong value"),
    (OSError, DataError, "cannot use a file"),
)
_DEFECT = "failed inside symdiff, which is a defect of it; please report the formula"

#: The attribute that marks an exception of the user's own code.
_MARK = "_symdiff_raised_by_user"


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """Turn what a public function raises into symdiff's errors, except for warnings and errors of the user's functions.

    Examples
    --------
    >>> @guarded
    ... def third(items):
    ...     return items[2]
    >>> third([1, 2])
    Traceback (most recent call last):
    symdiff.errors.InternalError: third(list of 2) failed inside symdiff, ...
    """
    return Boundary(function, _told)


#: Methods that Python calls for operators, without the underscores around them.
_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"),
    *("radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul", "rand", "ror", "rxor"),
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "call", "iter"),
    *("bool", "int", "float", "complex", "index", "len", "contains", "setitem", "array", "getattr"),
)


def guarded_operators(cls: type[T]) -> type[T]:
    """Guard the operators that a class defines; a decorator."""
    for name in (f"__{name}__" for name in _OPERATORS):
        if name in vars(cls):
            setattr(cls, name, guarded(vars(cls)[name]))
    return cls


def _told(
    error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Exception:
    """Return what leaves a public function in place of an error."""
    title = function.__qualname__.rpartition(">.")[2]
    try:
        if isinstance(error, TypeError) and not isinstance(error, SymdiffError):
            _refuse_call(function, title, args, kwargs, str(error))
        refuse(error, title, args, kwargs)
    except Exception as ours:
        return shorten(ours)


def _refuse_call(
    function: Callable[..., Any], title: str, args: Sequence[Any], given: Mapping[str, Any], words: str
) -> None:
    """Raise ``ArgumentError`` if Python could not call a function, in words about its parameters."""
    from inspect import Signature, signature

    all_of_them = [*signature(function).parameters.values()]
    known = [p.name for p in all_of_them if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = [f"*{p.name}" for p in all_of_them if p.kind == p.VAR_POSITIONAL]
    own = f"{function.__name__}() " in words or "<locals>." in words
    if "unexpected keyword argument" in words:
        for name in given:
            if name not in known:
                close = names_near(name, known[len(args) :])
                meant = f"did you mean {close[0]!r}? Expected" if close else "expected"
                hint = f"{FACTS[name]}; expected" if name in FACTS else meant
                raise ArgumentError(f"{title} has no option {name!r}; {hint} {', '.join([*known, *several])}")
    plain = [p.replace(annotation=p.empty) for p in all_of_them if p.name != "self"]
    form = str(Signature(plain))[1:-1]
    if own and "required positional argument" in words:
        missing = words.partition(": ")[2]
        by_name = [p.name for p in plain if p.name in given and repr(p.name) in missing]
        if by_name:
            told = f"{', '.join(by_name)} of {title} by name; expected by place, since inputs may have such names"
            raise ArgumentError(f"{told}: {title}({form:.400})")
        came = ", ".join([*map(described, args), *(f"{k}={described(v)}" for k, v in given.items())])
        wanted = [p.name for p in plain if p.default is p.empty and p.kind != p.VAR_KEYWORD]
        whole = _completed(title, args, given, wanted, known)
        raise ArgumentError(f"{title}({came:.300}) lacks an argument: {missing}; {whole}expected {title}({form:.400})")
    if own and "positional argument" in words:
        most = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in plain)
        count = len(args) - len(all_of_them) + len(plain)
        places = f"{most} argument" + "s" * (most != 1)
        raise ArgumentError(f"{title} takes {places} by position, {count} came; expected {title}({form:.400})")
    if own and "multiple values for argument" in words:
        twice = words.rpartition("argument ")[2]
        raise ArgumentError(f"{title} has {twice} by position and by name; expected {title}({form:.400})")


#: Values that stand for a missing argument.
_STANDING = {"name": "'x'", "n": "3", "vector": "'v'", "tangent": "'v'", "seed": "'v'", "folder": "'folder'"}


def _completed(
    title: str, args: Sequence[Any], given: Mapping[str, Any], wanted: Sequence[str], known: Sequence[str]
) -> str:
    """Return a call with what is missing in it, as somebody might have meant it; "" where nobody can know."""
    if not all(isinstance(one, str | int) and len(repr(one)) < 60 for one in (*args, *given.values())):
        return ""
    if not wanted or (wanted[0] == "name" and not isinstance((*args, "")[0], str)):
        return ""
    inputs = [name for name in given if name not in known]
    standing = {**_STANDING, "wrt": repr(inputs[0] if inputs else "x")}
    others = [name for name in wanted[len(args) :] if name not in given]
    if not all(name in standing for name in others):
        return ""
    named = [f"{name}={one!r}" for name, one in given.items()]
    if "'v'" in map(standing.get, others) and "v" not in given:
        named.append(f"v={given[inputs[0]] if inputs else 3!r}")
    return f"write {title}({', '.join([*map(repr, args), *(standing[name] for name in others), *named])}); "


def refuse(error: Exception, title: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> NoReturn:
    """Raise ``error`` as symdiff's own; inside an ``except`` clause this costs nothing where nothing is raised.

    Parameters
    ----------
    error : Exception
        Symdiff's own, a warning, the user's, or one of NumPy's error states is raised as it is.
    title : str
        What was called.
    args, kwargs : sequence, mapping
        With what.
    """
    if isinstance(error, SymdiffError | Warning | FloatingPointError) or _MARK in error.__dict__:
        raise error
    if method := _method_of_users(error):
        raise ArgumentError(
            f"{title} has an argument of a class whose {method} fails ({type(error).__name__}); expected arrays, "
            "numbers, names and formulas, or an object that can be compared and shown"
        ) from error
    given = [*map(described, args), *(f"{name}={described(value)}" for name, value in (kwargs or {}).items())]
    call = f"{title}({', '.join(given):.300})"
    words = (str(error).strip().splitlines() or [""])[0]
    if "<locals>." in words and "()" in words:  # of a function that another made, under a name that nobody wrote
        words = title + words[words.index("()") :]
    found = f"{type(error).__name__}: {words:.300}" if words else type(error).__name__
    for kinds, meaning, told in _MEANINGS:
        if isinstance(error, kinds):
            wrong = "lacks an argument" if "required positional argument" in words else told
            raise meaning(f"{call} {wrong} ({found})") from error
    raise InternalError(f"{call} {_DEFECT} ({found})") from error


#: Modules whose methods are no user's.
_LIBRARIES = frozenset({"symdiff", "numpy", "scipy", "sympy", "mpmath", *sys.stdlib_module_names})


def _method_of_users(error: Exception) -> str | None:
    """Return the special method of a class of the user's that failed, such as ``__eq__``, if one did."""
    step = error.__traceback__
    while step is not None:
        code, module = step.tb_frame.f_code, str(step.tb_frame.f_globals.get("__name__", ""))
        name = code.co_name
        if name.startswith("__") and name.endswith("__") and module.partition(".")[0] not in _LIBRARIES:
            return name
        step = step.tb_next
    return None


def is_function(value: object) -> bool:
    """Tell whether something is a function; arrays of symbols answer calls, too, but with what to write instead."""
    return callable(value) and not hasattr(value, "__array_namespace__")


def users(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the user's, whose exceptions every guard lets pass.

    Parameters
    ----------
    function : callable
        Given to ``compile``, ``custom`` and the like.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            inside = error.__traceback__.tb_next if error.__traceback__ is not None else None
            if inside is None and isinstance(error, TypeError):  # no line of the function ran
                count = len(args) + len(kwargs)
                told = f"{count} argument" + ("s" if count != 1 else "")
                name = getattr(function, "__name__", type(function).__name__)
                raise ArgumentError(f"{name} cannot be called with {told} ({error})") from error
            BaseException.__setattr__(error, _MARK, True)  # whatever its own class makes of attributes
            raise

    return run


def described(value: Any) -> str:
    """Name an argument in a few words, whatever it is."""
    if isinstance(value, int) and not -(2**64) < value < 2**64:
        return f"a number of {value.bit_length()} bits"
    if value is None or type(value) in (bool, int, float):
        return repr(value)
    if isinstance(value, str):
        return repr(value[:40]) + ("..." if len(value) > 40 else "")
    kind = type(value).__name__
    if isinstance(value, list | tuple | dict):
        return f"{kind} of {len(value)}"
    with suppress(Exception):
        return f"{kind} of shape {value.shape}"[:80]
    return kind
