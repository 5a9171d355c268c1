"""Formulas as NumPy source: a readable Python function over whole batches.

This is what ``kernel.source("numpy")`` prints and what runs where there is no compiler, and
it covers every operation and every size, symbolic ones included. Each variable carries one
leading batch axis, of the batch's length or of length 1 for what all samples share. The
emitter prints and does nothing else, one line an operation as far as NumPy has it.

The text is compiled, and its function built from the code object; it is never executed as a
module.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, ShapeError
from ...graph import BOOL, INT, REAL, Node, parts_of, postorder, settles, step_number
from ...graph.primitives import DELTAS, PRIMITIVES, complete
from ...graph.reference import numeric
from ...graph.reference import scipy_special as special
from ...graph.reference.interpret import call_each
from ...graph.scalars.functions import FUNCTIONS, expanded
from ...graph.sizes import Dim, Size
from ...lowering.matrices import said_of_indefinite
from .contraction import emit_contraction, emit_structure
from .writer import Writer, number


class NumpySource(NamedTuple):
    """An emitted function.

    Parameters
    ----------
    text : str
        Python source with one function, ``kernel(x0, x1, ...)``, which returns a tuple.
    constants : mapping of str to ndarray or callable
        Arrays too large to print, and functions of Python, by the names the text has for them.
    inputs, outputs : tuple of Node
        Parameters and results, in order.
    footprint : int or Size
        Doubles that one sample keeps alive at once.
    """

    text: str
    constants: Mapping[str, Any]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    footprint: Dim


class Lines(NamedTuple):
    """The body of a function.

    Parameters
    ----------
    writer : Writer
        Its lines, and what they need.
    results : list of str
        The variables that hold the results.
    """

    writer: Writer
    results: list[str]


def emit_lines(
    inputs: Sequence[Node], outputs: Sequence[Node], names: Sequence[str], has: Callable[[str], bool] = bool
) -> Lines:
    """Return the lines that compute ``outputs`` from arguments of these names, each with a batch axis in front.

    ``has`` tells which functions may be called: others are written by their expansions.
    """
    emitter = _Emitter(inputs, names, has)
    results = emitter.emit(expanded(outputs, has))
    return Lines(emitter.writer, results)


def emit_numpy(inputs: Sequence[Node], outputs: Sequence[Node]) -> NumpySource:
    """Return ``outputs`` as a Python function of ``inputs``.

    Parameters
    ----------
    inputs : sequence of Node
        Of op "input"; the order of the function's parameters.
    outputs : sequence of Node
        Without custom functions, which are inlined before.

    Returns
    -------
    NumpySource
        Its function takes arrays of shape (N, ...) or (1, ...) and returns such arrays.

    Raises
    ------
    ArgumentError
        If an output depends on an input that is not among ``inputs``.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> x = input("x")
    >>> print(emit_numpy([x], [x * x + 1]).text)
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def kernel(x0):
        # x0: (N,)
        v0 = x0 * x0
        v1 = v0 + 1.0
        return (v1,)
    """
    arguments = [f"x{i}" for i in range(len(inputs))]
    writer, results = emit_lines(inputs, outputs, arguments)
    imports = ["import numpy as np"]
    if any("special." in line for line in writer.lines):
        imports.append("from scipy import special")
    if writer.calls:
        imports.append(f"from symdiff.graph.reference.numeric import {', '.join(sorted(writer.calls))}")
    notes = [
        f"# {name}: {writer.shape('N', node.shape)}".replace("'", "")
        for name, node in zip(arguments, inputs, strict=True)
    ]
    notes += [f"# {name}: constant of shape {values.shape}" for name, values in writer.constants.items()]
    notes += [f"# {name}: a function of Python" for name in writer.functions]
    body = [*notes, *writer.lines, f"return ({', '.join(results)}{',' if len(results) == 1 else ''})"]
    text = "\n".join([*imports, "", "", f"def kernel({', '.join(arguments)}):", *(f"    {line}" for line in body)])
    return NumpySource(text, {**writer.constants, **writer.functions}, tuple(inputs), tuple(outputs), writer.footprint)


def load_numpy(source: NumpySource) -> Callable[..., tuple[npt.NDArray[Any], ...]]:
    """Return the function of an emitted source, ready to be called.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> x = input("x")
    >>> load_numpy(emit_numpy([x], [x * x + 1]))(np.array([1.0, 2.0]))
    (array([2., 5.]),)
    """
    module = compile(source.text, "<symdiff NumPy kernel>", "exec", dont_inherit=True)
    code = next(each for each in module.co_consts if isinstance(each, CodeType) and each.co_name == "kernel")
    namespace: dict[str, Any] = {"__builtins__": builtins, "np": np, "special": special, **source.constants}
    namespace |= {name: getattr(numeric, name) for name in NUMERIC_NAMES}
    return FunctionType(code, namespace, "kernel")


NUMERIC_NAMES = (
    *(row.numpy for row in FUNCTIONS.values() if row.numpy and "." not in row.numpy),
    *(row.numpy for row in PRIMITIVES.values() if row.numpy and "." not in row.numpy),
    *("span", "at", "positions", "nonempty", "shifted_identity", "join", "common_length", "definite", "arrange_each"),
    *("take_each", "put_each"),
)


class _Emitter:
    """Turns nodes into lines; ``names`` says which variable holds a node."""

    def __init__(self, inputs: Sequence[Node], names: Sequence[str], has: Callable[[str], bool] = bool) -> None:
        self.has = has
        self.writer = Writer(inputs, names)
        self.names: dict[Node, str] = dict(zip(inputs, names, strict=True))

    def emit(self, outputs: Sequence[Node]) -> list[str]:
        """Write the lines for ``outputs`` and return their variables."""
        order = postorder(outputs)
        uses: dict[Node, int] = {}
        for node in (*(arg for each in order for arg in each.args), *outputs):
            uses[node] = uses.get(node, 0) + 1
        for node in order:
            if node not in self.names:
                self._emit_node(node)
            for arg in node.args:
                uses[arg] -= 1
                if uses[arg] == 0 and arg in self.names and not arg.is_input:
                    self.writer.release(self.names[arg])
        return [self._variable(node) for node in outputs]

    def _emit_node(self, node: Node) -> None:
        if node.op in FUNCTIONS:
            self.names[node] = self.writer.assign(self._function(node), node.shape)
        elif node.is_contraction:
            for arg in node.args:
                if arg.is_constant and arg.shape != ():
                    self._variable(arg)
            self.names[node] = emit_contraction(self.writer, node, self.names)
        elif not node.is_constant and node.op not in DELTAS:  # those are written where they are used
            self.names[node] = _METHODS[node.op](self, node)

    def _input(self, node: Node) -> str:
        raise ArgumentError(
            f"the formula depends on the input {node.name!r}, which is not among the kernel's inputs "
            f"({', '.join(str(n.name) for n in self.names if n.is_input) or 'none'}); add it to them"
        )

    def _external(self, node: Node) -> str:
        """Call a function of Python, which the text has by a name, as it has large constants."""
        name = f"f{len(self.writer.functions)}"
        self.writer.functions[name] = partial(call_each, node.payload)
        lead = node.ndim - len(node.payload.shape)
        args = [
            f"np.full(1, {arg.value.item()})"
            if arg.is_constant and arg.shape == ()
            else self._operand(arg, lead + axes, REAL)
            for arg, axes in zip(node.args, node.payload.axes, strict=True)
        ]
        return self.writer.assign(f"{name}({', '.join(args)})", node.shape)

    def _custom(self, node: Node) -> str:
        raise AssertionError("custom functions and functions of matrices are inlined before emission")

    # ------------------------------------------------------------------ arguments

    def _variable(self, node: Node) -> str:
        """Return the variable of a node; constants and deltas get one when first needed as arrays."""
        if node not in self.names:
            is_constant = node.is_constant
            text = self.writer.constant(node.value[None]) if is_constant else emit_structure(self.writer, node)
            self.names[node] = self.writer.assign(text, node.shape)
        return self.names[node]

    def _real(self, node: Node) -> str:
        name = self._variable(node)
        return self.writer.call("to_real", name) if node.dtype is BOOL else name

    def _operand(self, node: Node, rank: int, dtype: str | None) -> str:
        """Return an argument of an element-wise function, with axes put behind its batch axis."""
        if node.is_constant and node.shape == ():
            text = number(node.value.item())
            return f"({text})" if text.startswith("-") else text
        text = self._variable(node)
        if len(node.shape) < rank:
            text += f"[:, {', '.join(['None'] * (rank - len(node.shape)) + [':'] * len(node.shape))}]"
        if dtype is None or node.dtype is dtype or node.dtype is INT:
            return text
        return self.writer.call("to_real", text) if node.dtype is BOOL else f"({text} != 0.0)"

    # ------------------------------------------------------------------ element by element

    def _function(self, node: Node) -> str:
        row = FUNCTIONS[node.op]
        rank = len(node.shape)
        texts = [
            self._operand(arg, rank, BOOL if node.is_choice and i == 0 else row.takes)
            for i, arg in enumerate(node.args)
        ]
        if all(arg.is_constant and arg.shape == () for arg in node.args):
            texts[0] = f"np.full(1, {texts[0]})"
        if row.infix:
            return f"{texts[0]} {row.infix} {texts[1]}"
        if node.is_negation:
            return f"-{texts[0]}"
        if node.is_power and texts[1] == "2.0":
            return f"np.square({texts[0]})"
        if "." not in row.numpy:
            return self.writer.call(row.numpy, *texts)
        return f"{row.numpy}({', '.join(texts)})"

    # ------------------------------------------------------------------ structure

    def _share(self, node: Node) -> str:
        return self.writer.share(self._variable(node.args[0]))

    def _extreme(self, node: Node) -> str:
        (arg,) = node.args
        text = self._real(arg)
        if any(isinstance(arg.shape[axis], Size) for axis in node.payload.axes):
            text = self.writer.call("nonempty", text, str(node.payload.axes))
        return self.writer.assign(f"np.{node.op}({text}, axis={_axes(node.payload.axes)})", node.shape)

    def _prod(self, node: Node) -> str:
        return self.writer.assign(f"np.prod({self._real(node.args[0])}, axis={_axes(node.payload.axes)})", node.shape)

    def _size(self, node: Node) -> str:
        return self.writer.assign(f"np.full(1, 1.0 * {self.writer.size(node.payload.size)})", ())

    def _triangle(self, node: Node) -> str:
        upper, offset = node.payload
        text = f"np.{'triu' if upper else 'tril'}({self._real(node.args[0])}, {offset})"
        return self.writer.assign(text, node.shape)

    def _cumsum(self, node: Node) -> str:
        axis, reverse = node.payload
        text = self._real(node.args[0])
        if reverse:
            return self.writer.assign(f"np.flip(np.cumsum(np.flip({text}, {axis}), {axis}), {axis})", node.shape)
        return self.writer.assign(f"np.cumsum({text}, axis={axis})", node.shape)

    def _slice(self, node: Node) -> str:
        (arg,) = node.args
        places = [self.writer.place(item, size) for item, size in zip(node.payload.items, arg.shape, strict=True)]
        return self.writer.assign(f"{self._variable(arg)}[{', '.join([':', *places])}]", node.shape)

    def _zeros(self, node: Node, source: str) -> str:
        return self.writer.assign(f"np.zeros({self.writer.shape(f'len({source})', node.shape)})", node.shape)

    def _pad(self, node: Node) -> str:
        source = self._variable(node.args[0])
        name = self._zeros(node, source)
        places = [self.writer.place(item, size) for item, size in zip(node.payload.items, node.shape, strict=True)]
        self.writer.lines.append(f"{name}[{', '.join([':', *places])}] = {source}")
        return name

    def _checked(self, indices: tuple[int, ...], size: Dim) -> str:
        text = self.writer.indices(indices)
        if isinstance(size, int) or not indices:
            return text
        return self.writer.call("positions", text, self.writer.size(size))

    def _gather(self, node: Node) -> str:
        axis, indices = node.payload
        (arg,) = node.args
        where = self._checked(indices, arg.shape[axis])
        return self.writer.assign(f"np.take({self._variable(arg)}, {where}, axis={axis})", node.shape)

    def _scatter(self, node: Node) -> str:
        axis, indices = node.payload
        source = self._variable(node.args[0])
        size = node.shape[axis]
        if isinstance(size, int) and indices and not 0 <= min(indices) <= max(indices) < size:
            raise ShapeError(f"index {max(indices)} is out of range for an axis of size {size}")
        where = ", ".join([":"] * (node.ndim + axis + 1) + [self._checked(indices, size)])
        name = self._zeros(node, source)
        if len(set(indices)) == len(indices):
            self.writer.lines.append(f"{name}[{where}] = {source}")
        else:
            self.writer.lines.append(f"np.add.at({name}, np.s_[{where}], {source})")
        return name

    def _take(self, node: Node) -> str:
        axis, shared = node.payload
        x, at = map(self._variable, node.args)
        return self.writer.assign(self.writer.call("take_each", x, at, str(axis), str(shared)), node.shape)

    def _put(self, node: Node) -> str:
        axis, shared = node.payload
        x, at = map(self._variable, node.args)
        size = self.writer.size(node.shape[axis])
        return self.writer.assign(self.writer.call("put_each", x, at, size, str(axis), str(shared)), node.shape)

    def _arrange(self, node: Node) -> str:
        x, key = (self._real(arg) for arg in node.args)
        axis, back = node.payload
        return self.writer.assign(self.writer.call("arrange_each", x, key, str(axis), str(back)), node.shape)

    def _reshape(self, node: Node) -> str:
        source = self._variable(node.args[0])
        lengths = ", ".join([f"len({source})", *map(self.writer.size, node.shape)])
        return self.writer.assign(f"{source}.reshape({lengths})", node.shape)

    def _concatenate(self, node: Node) -> str:
        parts = ", ".join(map(self._variable, node.args))
        return self.writer.assign(self.writer.call("join", f"[{parts}]", str(node.payload.axis)), node.shape)

    # ------------------------------------------------------------------ loops

    def _recurrence(self, node: Node) -> str:
        body, length, reverse = node.payload
        writer = self.writer
        args = [self._real(arg) for arg in node.args]
        first, second = len(body.carried), len(body.carried) + len(body.read)
        parts = parts_of(node)
        lead = writer.call("common_length", *args)
        whole = writer.assign(f"np.empty({writer.shape(lead, node.shape)})", node.shape)
        carried = [writer.assign(arg, own.shape) for arg, own in zip(args, body.carried, strict=False)]
        step = writer.assign("0", ())
        count = f"range({writer.size(length)})"
        writer.lines.append(f"for {step} in {f'reversed({count})' if reverse else count}:")
        inside = _Emitter((), (), self.has)
        inside.writer, start = writer, len(writer.lines)
        inside.names = dict(zip((*body.carried, *body.held), (*carried, *args[second:]), strict=True))
        inside.names[step_number()] = number_of = writer.assign(f"np.full(1, 1.0 * {step})", ())
        rows = [number_of]
        for own, arg in zip(body.read, args[first:second], strict=True):
            inside.names[own] = writer.assign(f"{arg}[:, {step}]", own.shape)
            rows.append(inside.names[own])
        results = [
            inside._real(result) for result in inside.wanted(expanded(body.results, self.has))
        ]
        for part, own, name in zip(parts[first:], body.results[first:], results[first:], strict=True):
            size, begin = writer.size(own.size), writer.size(part.start)
            place = f"{begin} + {step} * {size}:{begin} + ({step} + 1) * {size}"
            writer.lines.append(f"{whole}[:, {place}] = {name}.reshape(len({name}), {size})")
        if carried and settles(body):
            pairs = zip(carried, results, strict=True)
            writer.lines.append(f"if {' and '.join([f'np.array_equal({then}, {now})' for then, now in pairs])}:")
            writer.lines.append("    break")
        if carried:
            writer.lines.append(f"{', '.join(carried)} = {', '.join(results[:first])}")
        writer.lines[start:] = [f"    {line}" for line in writer.lines[start:]]
        for part, name in zip(parts, carried, strict=False):
            begin, size = writer.size(part.start), writer.size(part.size)
            place = f"{begin}:{begin} + {size}"
            writer.lines.append(f"{whole}[:, {place}] = {name}.reshape(len({name}), {size})")
        for name in (*carried, *rows, step):
            writer.release(name)
        return whole

    def wanted(self, outputs: Sequence[Node]) -> Sequence[Node]:
        """Write the lines for nodes that are used further, and return them."""
        self.emit(outputs)
        return outputs

    # ------------------------------------------------------------------ by a function of the table

    def _call(self, node: Node) -> str:
        rank = max(node.ndim for node in node.args)
        for arg in node.args:
            self._variable(arg)
        texts = [self._operand(arg, rank, REAL) if arg.shape else self._real(arg) for arg in node.args]
        said = said_of_indefinite(node.args[0]) if node.op in _OF_DEFINITE else ""
        if said:
            texts[0] = self.writer.call("definite", texts[0], repr(said))
        more = map(str, node.payload or ())
        return self.writer.assign(self.writer.call(PRIMITIVES[node.op].numpy, *texts, *more), node.shape)


#: Functions of matrices that find out whether one is definite which is declared so.
_OF_DEFINITE = frozenset({"det", "logdet", "logabsdet", "inv", "solve"})


#: Operations that are written in other ways than as a call of one function.
_METHODS: dict[str, Callable[[_Emitter, Node], str]] = {
    **{name: _Emitter._call for name, row in PRIMITIVES.items() if row.numpy},
    "input": _Emitter._input,
    "size": _Emitter._size,
    "max": _Emitter._extreme,
    "min": _Emitter._extreme,
    "prod": _Emitter._prod,
    "triangle": _Emitter._triangle,
    "cumsum": _Emitter._cumsum,
    "slice": _Emitter._slice,
    "pad": _Emitter._pad,
    "gather": _Emitter._gather,
    "scatter": _Emitter._scatter,
    "take": _Emitter._take,
    "put": _Emitter._put,
    "arrange": _Emitter._arrange,
    "reshape": _Emitter._reshape,
    "concatenate": _Emitter._concatenate,
    "named": _Emitter._share,
    "stop_gradient": _Emitter._share,
    **dict.fromkeys(("custom", "spectral", "isotropic", "expm", "pinv"), _Emitter._custom),
    "external": _Emitter._external,
    "recurrence": _Emitter._recurrence,
}
complete(_METHODS, __name__, without=("contract", "constant", *DELTAS))


def _axes(axes: tuple[int, ...]) -> str:
    return str(axes[0]) if len(axes) == 1 else str(axes)
