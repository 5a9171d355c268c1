"""Terms that are written as calls of functions: the name, and what stands behind the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..graph.sizes import show
from .notation import Term


def along(axes: tuple[int, ...], ndim: int) -> list[str]:
    """Return the axes as an argument; none where they are all there are."""
    if len(axes) == ndim:
        return []
    return [f"axis={axes[0]}" if len(axes) == 1 else f"axis={show(axes)}"]


def _diagonal(term: Term) -> Sequence[str]:
    return ("diag",) if term.args[0].ndim == 2 else ("diagonal", "0", *map(str, term.data))


def _pad(term: Term) -> Sequence[str]:
    around = [show(widths) for widths in term.data]
    return "pad", around[0] if len(around) == 1 else show(around)


def _reduce(term: Term) -> Sequence[str]:
    name, axes = term.data
    ndim = term.args[0].ndim
    if name in ("softmax", "log_softmax"):
        return name, *(() if axes == (ndim - 1,) else along(axes, ndim + 1))
    return name, *along(axes, ndim)


def _put(term: Term) -> Sequence[str]:
    axis, shared = term.data
    return "add_at", str(term.shape[axis]), *[f"axis={axis}"] * bool(axis), *[f"shared={shared}"] * bool(shared)


def _arranged(term: Term) -> Sequence[str]:
    axis, back = term.data
    return "restore" if back else "arrange", *[f"axis={axis}"] * (axis != -1)


def _triangle(term: Term) -> Sequence[str]:
    upper, offset = term.data
    return "triu" if upper else "tril", *[str(offset)] * (offset != 0)


#: Kinds of terms that styles write so where they have no sign of their own.
CALLS: Mapping[str, Callable[[Term], Sequence[str]]] = {
    "arranged": _arranged,
    "broadcast": lambda term: ("broadcast_to", show(term.shape)),
    "call": lambda term: (term.data,),
    "diagonal": _diagonal,
    "elided": lambda term: ("array", show(term.shape)),
    "function": lambda term: (term.data,),
    "matrix": lambda term: (term.data,),
    "pad": _pad,
    "permute": lambda term: ("transpose", show(term.data)),
    "put": _put,
    "reduce": _reduce,
    "reshape": lambda term: ("reshape", show(term.shape)),
    "roll": lambda term: ("roll", str(term.data[0]), *[f"axis={term.data[1]}"] * (term.ndim > 1)),
    "shift": lambda term: ("shift", str(term.data[0]), *[f"axis={term.data[1]}"] * bool(term.data[1])),
    "step": lambda term: ("heaviside", "0.5"),
    "total": lambda term: ("sum", *along(term.data, term.args[0].ndim)),
    "triangle": _triangle,
    **{kind: lambda term: (term.kind,) for kind in ("cross", "diag", "inv", "outer", "skew", "trace", "where")},
}
