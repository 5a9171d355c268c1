"""Lines, names and sizes of emitted NumPy source.

The emitter decides what to compute; this module keeps the lines, hands out variable names
(again once a value is dead, so that memory stays bounded), prints numbers and sizes, and
counts how many doubles a sample holds at once, from which the runner chooses its tiles.
Nothing a user wrote is ever printed: names are ``x0``, ``v0``, ``c0``, ``n0``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import UnsupportedError
from ...graph import Item, Node
from ...graph.size_equations import equations
from ...graph.sizes import Dim, Monomial, Shape, Size, product, terms_of

#: Constants and index lists with more elements than this are bound, not printed.
PRINTED = 64
#: Arrays of at least this many elements a sample are deleted when dead, not kept until their name is used again.
LARGE = 4096


class Writer:
    """The body of the function being emitted.

    Parameters
    ----------
    inputs : sequence of Node
        In the order of the function's parameters.
    names : sequence of str
        The parameters.
    """

    def __init__(self, inputs: Sequence[Node], names: Sequence[str]) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}
        self.functions: dict[str, Callable[..., npt.NDArray[Any]]] = {}
        self.calls: set[str] = set()
        self._free: list[str] = []
        self._made = 0
        self._references: dict[str, int] = {}
        self._held: dict[str, Dim] = {}
        self._live: dict[Monomial, int] = {}
        self._peak: dict[Monomial, int] = {}
        self._sizes: dict[str, str] = {}
        self._declare_sizes(inputs, names)

    # ------------------------------------------------------------------ variables

    def assign(self, expression: str, shape: Iterable[Dim]) -> str:
        """Write ``name = expression`` and return the name; ``shape`` is that of one sample."""
        name = self._free.pop() if self._free else self._new_name()
        self._references[name] = 1
        self._hold(name, product(shape))
        self.lines.append(f"{name} = {expression}")
        return name

    def _new_name(self) -> str:
        self._made += 1
        return f"v{self._made - 1}"

    def share(self, name: str) -> str:
        """Note one more holder of a variable, and return it."""
        if name in self._references:
            self._references[name] += 1
        return name

    def release(self, name: str) -> None:
        """Note one holder less; the last frees the name. Inputs and constants are not ours to free."""
        if name not in self._references:
            return
        self._references[name] -= 1
        if self._references[name] == 0:
            del self._references[name]
            self._free.append(name)
            size = self._held[name]
            if isinstance(size, Size) or size >= LARGE:
                self.lines.append(f"del {name}")
                self._count(self._held.pop(name), -1)

    def _hold(self, name: str, size: Dim) -> None:
        self._count(size, 1)
        for monomial, _ in terms_of(size):
            self._peak[monomial] = max(self._peak.get(monomial, 0), self._live[monomial])
        if name in self._held:
            self._count(self._held[name], -1)
        self._held[name] = size

    def _count(self, size: Dim, sign: int) -> None:
        for monomial, coefficient in terms_of(size):
            self._live[monomial] = self._live.get(monomial, 0) + sign * coefficient

    @property
    def footprint(self) -> Dim:
        """Doubles of one sample that are alive at once; an upper bound where sizes are symbolic."""
        total: Dim = 0
        for monomial, coefficient in self._peak.items():
            if coefficient > 0:
                total = total + (Size(((monomial, coefficient),)) if monomial else coefficient)
        return total

    # ------------------------------------------------------------------ sizes

    def _declare_sizes(self, inputs: Sequence[Node], names: Sequence[str]) -> None:
        for number, equation in enumerate(equations(tuple(node.shape for node in inputs))):
            text = f"{names[equation.input]}.shape[{equation.axis + 1}]"
            if equation.rest != 0:
                text = f"({text} - {self.size(equation.rest)})"
            if equation.factor != 1:
                text = f"{text} // {self.size(equation.factor)}"
            self._sizes[equation.name] = f"n{number}"
            self.lines.append(f"n{number} = {text}")

    def size(self, size: Dim) -> str:
        """Return a size as source: a number, or a polynomial in ``n0``, ``n1``, ... in brackets."""
        if isinstance(size, int):
            return str(size)
        for unknown in (name for names, _ in size.terms for name in names if name not in self._sizes):
            raise UnsupportedError(
                f"{unknown!r} is a size, but no input has it for the size of an axis; expected a number, or "
                "a size of one of the inputs"
            )
        text = ""
        for names, coefficient in size.terms:
            factors = [self._sizes[name] for name in names]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {'*'.join(factors)}" if text else f"{sign.strip('+')}{'*'.join(factors)}"
        return f"({text})" if len(size.terms) > 1 or "*" in text else text

    def shape(self, batch: str, shape: Shape) -> str:
        """Return a shape with its batch axis as source: ``(len(v0), 2, n0)``."""
        return f"({', '.join([batch, *map(self.size, shape)])}{',' if not shape else ''})"

    def place(self, item: Item, size: Dim) -> str:
        """Return one axis of an index as source; what cannot be checked now is checked by the call it prints."""
        start, step, length = item
        if (start, step, length) == (0, 1, size):
            return ":"
        if length is None:
            if isinstance(start, int) and isinstance(size, int):
                return str(start)
            return self.call("at", self.size(start), self.size(size))
        if isinstance(start, int) and isinstance(length, int) and isinstance(size, int):
            if length == 0:
                return "0:0"
            stop = start + (length - 1) * step + (1 if step > 0 else -1)
            return f"{start}:{stop if stop >= 0 else ''}" + (f":{step}" if step != 1 else "")
        return self.call("span", self.size(start), str(step), self.size(length), self.size(size))

    # ------------------------------------------------------------------ calls and numbers

    def call(self, name: str, *arguments: str) -> str:
        """Return a call of a function of :mod:`symdiff.graph.reference.numeric` as source."""
        self.calls.add(name)
        return f"{name}({', '.join(arguments)})"

    def bind(self, values: npt.NDArray[Any]) -> str:
        """Return the name of an array that comes with the source."""
        name = f"c{len(self.constants)}"
        self.constants[name] = values
        return name

    def constant(self, values: npt.NDArray[Any]) -> str:
        """Return a constant array, which has a leading axis of 1, as source."""
        if values.size > PRINTED:
            return self.bind(values)
        if values.size == 0:
            return f"np.zeros({values.shape}, {'np.bool_' if values.dtype == np.bool_ else 'np.float64'})"
        return f"np.array({_nested(values.tolist())})"

    def indices(self, indices: tuple[int, ...]) -> str:
        """Return a list of positions as source."""
        if not indices or len(indices) > PRINTED:
            return self.bind(np.array(indices, dtype=np.intp))
        return str(list(indices))


def number(value: float | bool) -> str:
    """Return a number as source that reads back to the same double."""
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_nested, values))}]"
    return number(values)
