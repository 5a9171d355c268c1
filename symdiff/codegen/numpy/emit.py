"""Formulas as NumPy source: a readable Python function over whole batches.

This is what runs where there is no compiler, and what targets in Python are made of; it covers every operation and
every size, symbolic ones included. Each variable carries one leading batch axis, of the batch's length or of length 1
for values that all samples share. The text is compiled, and its function built from the code object; it is never
executed as a module.

A contraction of many factors takes two at a time, in the order that costs least: ``@`` where both factors are
matrices, ``*`` where nothing is summed, ``np.einsum`` otherwise. A delta among the factors is never multiplied: the
product of the others is written into the diagonal of an array of zeros, through a strided view.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, LimitError, ShapeError
from ...graph import BOOL, INT, REAL, Labels, Node, label_sizes, parts_of, postorder, settles, step_number
from ...graph.deltas.contraction_order import cheapest_step, growth, multiplications
from ...graph.primitives import DELTAS, PRIMITIVES, complete
from ...graph.reference import numeric
from ...graph.reference import scipy_special as special
from ...graph.reference.interpret import call_each
from ...graph.scalars.functions import FUNCTIONS, expanded
from ...graph.sizes import Dim, Size, nominal, value
from ...lowering.matrices import said_of_indefinite
from .writer import Writer, number

#: Nominal number of a symbolic size when the order of a product is chosen.
NOMINAL = 64
#: Products of at most this many factors have every order tried; of more than the second number the last two are
#: multiplied, since trying all pairs for each product takes the cube of their number.
EXHAUSTIVE, SEARCHED = 4, 16
LETTERS = "ijklmnopqrstuvwxyabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ"
BATCH = "z"


class WrittenFactor(NamedTuple):
    """A dense factor: a variable, an expression that views it, and one label for each axis behind the batch axis."""

    variable: str
    text: str
    labels: Labels


@dataclass
class _Target:
    """The result while it is being indexed: one label an axis, and the index expressions so far."""

    labels: list[int]
    text: str = ""


@dataclass
class _Product:
    """One contraction while it is being emitted."""

    writer: Writer
    sizes: dict[int, Dim]
    target: _Target
    dense: list[WrittenFactor] = field(default_factory=list)
    structure: list[tuple[Node, Labels]] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)


def emit_contraction(writer: Writer, node: Node, names: Mapping[Node, str]) -> str:
    """Write a contraction and return the variable that holds it.

    Parameters
    ----------
    writer : Writer
    node : Node
        Of op "contract".
    names : mapping
        The variable of each argument; scalar constants, deltas and onehots need none.
    """
    labels, out, _ = node.payload
    product = _Product(writer, label_sizes(node), _Target(list(out)))
    for arg, own in zip(node.args, labels, strict=True):
        if arg.op in DELTAS:
            product.structure.append((arg, own))
        elif arg.is_constant and arg.shape == ():
            product.numbers.append(number(arg.value.item()))
        else:
            product.dense.append(WrittenFactor(writer.share(names[arg]), names[arg], own))
    placed = _place_structure(product)
    kept = list(dict.fromkeys(product.target.labels))
    wanted = [label for label in kept if any(label in factor.labels for factor in product.dense)]
    result = _multiply(product, tuple(wanted))
    if placed:
        return _write_through(product, result, kept, out)
    return _spread(product, result, out)


# ---------------------------------------------------------------------------- deltas


def _place_structure(product: _Product) -> bool:
    """Turn deltas into index expressions of the result and the factors; tell whether the result has any."""
    placed = False
    todo = product.structure
    while todo:
        ready = next((entry for entry in todo if _is_ready(product, entry)), None)
        if ready is None:
            ready = next((entry for entry in todo if entry[0].is_onehot), todo[0])
            todo.remove(ready)
            product.dense.append(_materialise(product.writer, *ready))
            continue
        todo.remove(ready)
        node, labels = ready
        if node.is_delta:
            placed |= _place_delta(product, node, labels)
        else:
            placed |= _place_onehot(product, node, labels[0])
    return placed


def _is_ready(product: _Product, entry: tuple[Node, Labels]) -> bool:
    node, labels = entry
    others = [own for pair in product.structure if pair is not entry for own in pair[1]]
    if node.is_onehot:
        return labels[0] not in others
    row, column = labels
    elsewhere = {*product.target.labels, *others, *(own for factor in product.dense for own in factor.labels)}
    if elsewhere.isdisjoint(labels):
        return False  # a sum over the delta alone
    if _is_identity(node):
        return True
    return row != column and column not in others and _in_range(node)


def _is_identity(node: Node) -> bool:
    return bool(node.payload == (0, 1) and node.shape[0] == node.shape[1])


def _in_range(node: Node) -> bool:
    """Tell whether every row of a delta holds a one, whatever numbers its sizes take."""
    (start, step), (rows, columns) = node.payload, node.shape
    last = start + (rows - 1) * step
    low, high = (start, last) if step > 0 else (last, start)
    return rows == 0 or (_is_positive(low) and _is_positive(columns - 1 - high))


def _is_positive(size: Dim) -> bool:
    if isinstance(size, int):
        return size >= 0
    # names are at least 1 where a row exists to be checked
    floor = value(size, dict.fromkeys(size.names, 1))
    return floor >= 0 and all(coefficient > 0 for names, coefficient in size.terms if names)


def _place_delta(product: _Product, node: Node, labels: Labels) -> bool:
    row, column = labels
    if row == column:
        return False
    if _is_identity(node):
        product.structure[:] = [
            (other, tuple(row if own == column else own for own in owns)) for other, owns in product.structure
        ]
        index = ":"
    else:
        index = product.writer.place((*node.payload, node.shape[0]), node.shape[1])
    product.dense[:] = [_indexed(factor, column, index, row) for factor in product.dense]
    return _index_target(product.target, column, index, row)


def _place_onehot(product: _Product, node: Node, label: int) -> bool:
    (size,) = node.shape
    if isinstance(size, int) and isinstance(node.payload.at, int) and not 0 <= node.payload.at < size:
        raise ShapeError(f"index {node.payload.at} is out of range for an axis of size {size}")
    index = product.writer.place((node.payload.at, 1, None), size)
    product.dense[:] = [_indexed(factor, label, index, None) for factor in product.dense]
    return _index_target(product.target, label, index, None)


def _indexed(factor: WrittenFactor, label: int, index: str, becomes: int | None) -> WrittenFactor:
    labels, text = list(factor.labels), factor.text
    while label in labels:
        text += _apply(labels, label, index, becomes)
    return WrittenFactor(factor.variable, text, tuple(labels))


def _index_target(target: _Target, label: int, index: str, becomes: int | None) -> bool:
    if label not in target.labels:
        return False
    while label in target.labels:
        target.text += _apply(target.labels, label, index, becomes)
    return True


def _apply(labels: list[int], label: int, index: str, becomes: int | None) -> str:
    """Index the axis called ``label`` and rename it, or drop it; return the index expression."""
    axis = labels.index(label)
    if becomes is None:
        del labels[axis]
    else:
        labels[axis] = becomes
    return "" if index == ":" else f"[{', '.join([':'] * (axis + 1))}, {index}]"


def _materialise(writer: Writer, node: Node, labels: Labels) -> WrittenFactor:
    name = writer.assign(emit_structure(writer, node), node.shape)
    return WrittenFactor(name, name, labels)


def emit_structure(writer: Writer, node: Node) -> str:
    """Return a delta or onehot, with a batch axis of 1, as an expression."""
    if node.is_onehot:
        size, index = writer.size(node.shape[0]), writer.place((node.payload.at, 1, None), node.shape[0])
        return f"{writer.call('shifted_identity', '1', size, index, '1')}"
    rows, columns = map(writer.size, node.shape)
    if node.payload == (0, 1):
        return f"np.eye({rows}{'' if rows == columns else ', ' + columns})[None]"
    start, step = node.payload
    return f"{writer.call('shifted_identity', rows, columns, writer.size(start), str(step))}[None]"


# ---------------------------------------------------------------------------- products


def _multiply(product: _Product, wanted: Labels) -> WrittenFactor | None:
    """Multiply the dense factors down to one with the labels ``wanted``, in that order."""
    factors = product.dense
    while len(factors) > 1:
        first, second = _best_pair([factor.labels for factor in factors], wanted, product.sizes)
        a, b = factors[first], factors[second]
        rest = [factor for i, factor in enumerate(factors) if i not in (first, second)]
        keep = set(wanted).union(*(factor.labels for factor in rest))
        a, b = _alone(product, a, keep.union(b.labels)), _alone(product, b, keep.union(a.labels))
        factors = [*rest, _pair(product, a, b, keep, None if rest else wanted)]
    return _alone(product, factors[0], set(wanted)) if factors else None


def _assign(product: _Product, text: str, labels: Labels, *used: WrittenFactor) -> WrittenFactor:
    name = product.writer.assign(text, [product.sizes[label] for label in labels])
    for factor in used:
        product.writer.release(factor.variable)
    return WrittenFactor(name, name, labels)


def _alone(product: _Product, factor: WrittenFactor, keep: Collection[int]) -> WrittenFactor:
    """Take the diagonal of repeated labels and sum over those that nothing else has."""
    labels = tuple(label for label in dict.fromkeys(factor.labels) if label in keep)
    if labels == factor.labels:
        return factor
    if len(set(factor.labels)) == len(factor.labels):
        axes = ", ".join(str(i + 1) for i, label in enumerate(factor.labels) if label not in keep)
        text = f"{factor.text}.sum(axis={axes if ',' not in axes else f'({axes})'})"
    else:
        text = _einsum([factor], labels)
    return _assign(product, text, labels, factor)


def _pair(
    product: _Product, a: WrittenFactor, b: WrittenFactor, keep: Collection[int], final: Labels | None
) -> WrittenFactor:
    """Multiply two factors and sum over the labels that are not in ``keep``."""
    shared = [label for label in a.labels if label in b.labels]
    stack = [label for label in shared if label in keep]
    summed = [label for label in shared if label not in keep]
    left = [label for label in a.labels if label not in shared]
    right = [label for label in b.labels if label not in shared]
    out = final if final is not None else (*stack, *left, *right)
    if not summed:
        return _assign(product, f"{_aligned(a, out)} * {_aligned(b, out)}", out, a, b)
    if not (left and right):
        return _assign(product, _einsum([a, b], out), out, a, b)
    if [label for label in out if label in left or label in right] == [*right, *left]:
        a, b, left, right = b, a, right, left
    text = f"{_grouped(product, a, stack, left, summed)} @ {_grouped(product, b, stack, summed, right)}"
    result = _assign(product, text, (*stack, *left, *right), a, b)
    if len(left) > 1 or len(right) > 1:
        lengths = [product.writer.size(product.sizes[label]) for label in result.labels]
        text = f"{result.text}.reshape({', '.join([f'len({result.variable})', *lengths])})"
        result = WrittenFactor(result.variable, text, result.labels)
    if result.text == result.variable and result.labels == out:
        return result
    return _assign(product, _aligned(result, out), out, result)


def _grouped(product: _Product, factor: WrittenFactor, stack: list[int], rows: list[int], columns: list[int]) -> str:
    """Return a factor as a stack of matrices whose rows and columns run over several labels each."""
    text = _aligned(factor, (*stack, *rows, *columns))
    if len(rows) == 1 and len(columns) == 1:
        return text
    size = {label: product.writer.size(product.sizes[label]) for label in (*stack, *rows, *columns)}
    lengths = [f"len({factor.variable})", *(size[label] for label in stack)]
    lengths += ["*".join(size[label] for label in group) for group in (rows, columns)]
    return f"{text}.reshape({', '.join(lengths)})"


def _aligned(factor: WrittenFactor, out: Sequence[int]) -> str:
    """Return a factor with its axes in the order of ``out``, and axes of length 1 for what it lacks."""
    present = [label for label in out if label in factor.labels]
    order = [factor.labels.index(label) + 1 for label in present]
    text = factor.text
    if order != sorted(order):
        text += f".transpose(0, {', '.join(map(str, order))})"
    if len(present) < len(out):
        text += f"[:, {', '.join(':' if label in present else 'None' for label in out)}]"
    return text


def _einsum(factors: Sequence[WrittenFactor], out: Sequence[int]) -> str:
    letters = _letters([label for factor in factors for label in factor.labels])
    terms = ",".join(BATCH + "".join(letters[label] for label in factor.labels) for factor in factors)
    result = BATCH + "".join(letters[label] for label in out)
    return f"np.einsum('{terms}->{result}', {', '.join(factor.text for factor in factors)})"


def _letters(labels: Sequence[int]) -> dict[int, str]:
    distinct = list(dict.fromkeys(labels))
    if len(distinct) > len(LETTERS):
        raise LimitError(
            f"a product over {len(distinct)} different indices; at most {len(LETTERS)} are supported: multiply in "
            "smaller groups"
        )
    return dict(zip(distinct, LETTERS, strict=False))


# ---------------------------------------------------------------------------- the order of a product


def _best_pair(labels: Sequence[Labels], wanted: Labels, sizes: Mapping[int, Dim]) -> tuple[int, int]:
    """Return which two factors are multiplied first."""
    if len(labels) > SEARCHED:
        return len(labels) - 2, len(labels) - 1
    lengths = {label: nominal(size, NOMINAL) for label, size in sizes.items()}
    cost = multiplications if len(labels) <= EXHAUSTIVE else growth
    step = cheapest_step(labels, wanted, lambda step: cost(step, lengths), EXHAUSTIVE)
    assert step is not None
    return step.first, step.second


# ---------------------------------------------------------------------------- results


def _scaled(product: _Product, text: str | None) -> str:
    return " * ".join([*product.numbers, *([text] if text is not None else [])]) or "1.0"


def _spread(product: _Product, result: WrittenFactor | None, out: Labels) -> str:
    """Write the product, repeated along the labels that no factor has."""
    writer, sizes = product.writer, product.sizes
    shape = tuple(sizes[label] for label in out)
    if result is None:
        return writer.assign(f"np.full({writer.shape('1', shape)}, {_scaled(product, None)})", shape)
    text = _aligned(result, out)
    if product.numbers:
        text = _scaled(product, text)
    if set(result.labels) != set(out):
        text = f"np.broadcast_to({text}, {writer.shape(f'len({result.variable})', shape)})"
    elif text == result.variable:
        return text
    return _assign(product, text, out, result).variable


def _write_through(product: _Product, result: WrittenFactor | None, kept: list[int], out: Labels) -> str:
    """Write the product into zeros, at the places that the deltas gave."""
    writer, target = product.writer, product.target
    shape = tuple(product.sizes[label] for label in out)
    batch = f"len({result.variable})" if result else "1"
    name = writer.assign(f"np.zeros({writer.shape(batch, shape)})", shape)
    place = name + target.text
    if len(kept) < len(target.labels):
        place = _einsum([WrittenFactor(name, place, tuple(target.labels))], kept)
    if not place.endswith("]"):
        place += "[...]"
    writer.lines.append(f"{place} = {_scaled(product, _aligned(result, kept) if result else None)}")
    if result:
        writer.release(result.variable)
    return name


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
