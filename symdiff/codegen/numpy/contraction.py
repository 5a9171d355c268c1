"""Contractions as NumPy source: pairs in a good order, and deltas as places, not as factors.

A product of many factors is taken two at a time, in the order that costs least, as
``@`` where both factors are matrices, as ``*`` where nothing is summed, as ``np.einsum``
otherwise. A delta among the factors is never multiplied: the product of the others is
written into the diagonal of an array of zeros, through a strided view.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import LimitError, ShapeError
from ...graph import Labels, Node, label_sizes
from ...graph.deltas.contraction_order import cheapest_step, growth, multiplications
from ...graph.primitives import DELTAS
from ...graph.sizes import Dim, nominal, value
from .writer import Writer, number

#: What a symbolic size counts as when the order of a product is chosen.
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
