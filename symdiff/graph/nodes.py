"""Nodes: the frozen, hash-consed unit of the graph, its leaves and its scalar functions."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from .._kernels.system.unique import Unique, add_predicates, unique
from ..errors import DtypeError, LimitError, ShapeError
from ..ground.budget import NODE_STEPS, current, reserve
from .dump import brief
from .kinds import PREDICATES
from .primitives import NOTHING_KNOWN, Assumptions, Declared, Diagonal, Extent, Place, Placeholder
from .sizes import Dim, Shape, fixed, hint_of, product, show

REAL = "real"
BOOL = "bool"
#: Positions: of inputs and of what moves their elements; never differentiated, never computed with.
INT = "int"

Number: TypeAlias = float | int | bool


class Node(Unique):
    """One array of a formula: an operation, its arguments, and what else defines it.

    Parameters
    ----------
    op : str
        Name of the primitive, or of a scalar function.
    args : tuple of Node
    first, second : Node
        The arguments of operations that have one or two: fields, where ``args`` makes a tuple each time.
    payload : hashable
        What else identifies the node: a record of :mod:`symdiff.graph.primitives`, or a name, bytes, None.
    shape : tuple of int or Size
    dtype : {"real", "bool", "int"}
    below : int
        Kinds of its operation and of those it is computed from; see :mod:`symdiff.graph.kinds`.
    settled, tried : int
        What simplification knows of the node and all below it, and of the node alone, which is no part of
        what it is; see :mod:`symdiff.rewrite.rewriter`.

    Notes
    -----
    Do not construct directly: the functions of this module intern their result.
    """

    __slots__ = ()
    args: tuple[Node, ...]
    first: Node
    second: Node
    # What it is, as the table of predicates in symdiff.graph.kinds says.
    is_input: bool
    is_constant: bool
    is_size: bool
    is_delta: bool
    is_onehot: bool
    is_contraction: bool
    is_slice: bool
    is_pad: bool
    is_gather: bool
    is_reshape: bool
    is_concatenation: bool
    is_named: bool
    is_barrier: bool
    is_custom: bool
    is_recurrence: bool
    is_multiplication: bool
    is_division: bool
    is_multiplicative: bool
    is_addition: bool
    is_subtraction: bool
    is_additive: bool
    is_negation: bool
    is_power: bool
    is_root: bool
    is_choice: bool

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Node is frozen; build another instead of setting {name!r}")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    @property
    def value(self) -> Any:
        """The numbers of a constant, as a read-only array of its shape."""
        kind = np.float64 if self.dtype is REAL else np.bool_
        return np.frombuffer(self.payload, kind).reshape(fixed(self.shape) or ())

    @property
    def name(self) -> Any:
        """By what an input is known: its name, or the record of one that no user can name."""
        return self.payload.name if type(self.payload) is Declared else self.payload

    @property
    def assumptions(self) -> Assumptions:
        """Facts about the numbers of an input; of any other node :mod:`symdiff.rewrite.facts` finds it."""
        return self.payload.assumptions if type(self.payload) in (Declared, Placeholder) else NOTHING_KNOWN

    def __repr__(self) -> str:
        return f"<{brief(self)}>"

    # The arithmetic below keeps rules readable; equality stays identity.
    def __add__(self, other: Node | Number) -> Node:
        return elementwise("add", (self, as_node(other)))

    def __radd__(self, other: Number) -> Node:
        return elementwise("add", (as_node(other), self))

    def __sub__(self, other: Node | Number) -> Node:
        return elementwise("subtract", (self, as_node(other)))

    def __rsub__(self, other: Number) -> Node:
        return elementwise("subtract", (as_node(other), self))

    def __mul__(self, other: Node | Number) -> Node:
        return elementwise("multiply", (self, as_node(other)))

    def __rmul__(self, other: Number) -> Node:
        return elementwise("multiply", (as_node(other), self))

    def __truediv__(self, other: Node | Number) -> Node:
        return elementwise("divide", (self, as_node(other)))

    def __rtruediv__(self, other: Number) -> Node:
        return elementwise("divide", (as_node(other), self))

    def __neg__(self) -> Node:
        return elementwise("negative", (self,))


add_predicates(Node, PREDICATES)


def intern(op: str, args: tuple[Node, ...], payload: Any, shape: Shape, dtype: str = REAL) -> Node:
    """Return the one node of this description, making it when it is new."""
    account = current()
    if account is not None:  # nodes that are there already cost as much, and must not depend on other formulas
        account.nodes -= 1
        account.steps -= NODE_STEPS
        if account.nodes < 0:
            account.refuse("nodes")
    return unique(Node, op, args, payload, shape, dtype)


# ---------------------------------------------------------------------------- leaves


def input(name: str, shape: Shape = (), dtype: str = REAL, assumptions: Assumptions = NOTHING_KNOWN) -> Node:
    """Return the input called ``name``, of whose numbers ``assumptions`` are known."""
    return intern("input", (), Declared(name, assumptions) if any(assumptions) else name, shape, dtype)


def placeholder(
    key: object, shape: Shape, dtype: str = REAL, assumptions: Assumptions = NOTHING_KNOWN, text: str = ""
) -> Node:
    """Return an input that no user can name, told apart by ``key`` and by the text of what it stands for."""
    return intern("input", (), Placeholder(key, assumptions, text), shape, dtype)


def constant(value: Any) -> Node:
    """Return a constant array of reals or bools.

    Raises
    ------
    DtypeError
        If the values are neither real numbers nor bools.
    """
    if type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            raise LimitError(f"the whole number {str(value)[:20]}... is beyond the range of a double") from None
    if type(value) is float:
        return intern("constant", (), _pack(value), ())
    array = np.asarray(value)
    reserve(array.nbytes)
    if array.dtype.kind == "b":
        return intern("constant", (), array.tobytes(), array.shape, BOOL)
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"a constant of dtype {array.dtype} came; expected real numbers or bools")
    return intern("constant", (), array.astype(np.float64).tobytes(), array.shape)


_double = struct.Struct("=d")
_pack = _double.pack  # told apart by bits: 0.0 and -0.0 differ, a nan equals itself
_unpack = _double.unpack


def number(node: Node) -> float | None:
    """Return the value of a real constant without axes, None for any other node."""
    if not node.args and node.is_constant and not node.shape and node.dtype is REAL:
        value: float = _unpack(node.payload)[0]
        return value
    return None


def scalar_constant(node: Node) -> float | None:
    """Return the number a node stands for at every element, or None."""
    while not node.is_constant:
        if not (node.is_reshape or (node.is_contraction and _is_relabeling(node))):
            return None
        node = node.args[0]
    if node.dtype is not REAL:
        return None
    if not node.shape:
        value: float = _unpack(node.payload)[0]
        return value
    flat = node.value.ravel()
    return float(flat[0]) if flat.size and (flat == flat[0]).all() else None


def _is_relabeling(node: Node) -> bool:
    """Tell whether a contraction has every element from one place of its one argument."""
    labels, out, _ = node.payload
    return len(node.args) == 1 and set(labels[0]) <= set(out)


def as_node(value: Node | Number) -> Node:
    """Return ``value`` itself if it is a node, else a constant."""
    return value if isinstance(value, Node) else constant(value)


def delta(rows: Dim, columns: Dim, start: Dim = 0, step: int = 1) -> Node:
    """Return the matrix with E[i, start + step*i] = 1 and 0 elsewhere."""
    return intern("delta", (), Diagonal(start, step), (rows, columns))


def onehot(size: Dim, index: Dim) -> Node:
    """Return the vector with a 1 at ``index`` and 0 elsewhere."""
    return intern("onehot", (), Place(index), (size,))


def extent(size: Dim) -> Node:
    """Return a size as a number of the formula (symbolic ones are known at call time)."""
    return constant(float(size)) if isinstance(size, int) else intern("size", (), Extent(size), ())


# ---------------------------------------------------------------------------- element by element


def broadcast_shapes(shapes: Iterable[Shape], what: str = "operands") -> Shape:
    """Return the shape that all of ``shapes`` broadcast to, by NumPy's rule.

    Raises
    ------
    ShapeError
        If two sizes differ and neither is 1.
    """
    known = list(shapes)
    rank = max(map(len, known), default=0)
    result: list[Dim] = [1] * rank
    for shape in known:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[axis] != size:
                if result[axis] != 1:
                    raise ShapeError(
                        f"{what} of shapes {' and '.join(map(show, known))} do not broadcast: size {result[axis]} "
                        f"against {size} on axis {axis - rank}; equal sizes or 1 were "
                        f"expected{hint_of(result[axis], size)}"
                    )
                result[axis] = size
    return tuple(result)


def elementwise(op: str, args: tuple[Node, ...], dtype: str = REAL) -> Node:
    """Apply the scalar function ``op`` element by element, with broadcasting."""
    shape = args[0].shape
    for arg in args:
        if arg.shape is not shape and arg.shape != shape:
            shape = broadcast_shapes([a.shape for a in args], f"operands of {op}")
            break
    return intern(op, args, None, shape, dtype)
