"""Options of a kernel as ``compile`` was told, and arguments that hold several inputs: lists, dicts, records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import ArgumentError, UnsupportedError
from ..frontend.array import Array
from ..frontend.formula import Formula
from ..frontend.outputs import LEAF, Compound, is_structure, leaves, template_of, unpack
from ..frontend.sympy import is_sympy
from ..graph import Node

__all__ = ["BUILD_SECONDS", "Backend", "Group", "Groups", "Options", "group_inputs"]


class Group(NamedTuple):
    """One argument of a kernel.

    Parameters
    ----------
    name : str or None
        By which it may be given; None for a structure that has none.
    template : template
        As :mod:`symdiff.frontend.outputs` says; ``LEAF`` for one input.
    inputs : tuple of str
        Names of the inputs that it holds, in order.
    """

    name: str | None
    template: Any
    inputs: tuple[str, ...]

    def __str__(self) -> str:
        return self.name or f"the structure of {', '.join(self.inputs)}"


class Groups(NamedTuple):
    """All arguments of a kernel in order, of which some hold several inputs."""

    groups: tuple[Group, ...]

    def spread(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call with one array for each input.

        Raises
        ------
        ArgumentError
            For too many arguments, one given twice, or one that has another structure.
        """
        if len(args) > len(self.groups):
            raise ArgumentError(
                f"{len(args)} arguments by position for {len(self.groups)}; expected {', '.join(map(str, self.groups))}"
            )
        values = [part for group, own in zip(self.groups, args, strict=False) for part in _parts(group, own)]
        rest = dict(named)
        for number, group in enumerate(self.groups):
            if group.name is not None and group.name in named and group.template != LEAF:
                if number < len(args):
                    raise ArgumentError(f"{group.name} is given by position and by name; give it once")
                own = _parts(group, rest.pop(group.name))
                for name, part in zip(group.inputs, own, strict=True):
                    if name in named and name != group.name:
                        raise ArgumentError(f"{name} is given twice, by its name and in {group.name}; give it once")
                    rest[name] = part
        return values, rest


def _parts(group: Group, value: Any) -> list[Any]:
    return unpack(group.template, value, f"{group}")


def group_inputs(formula: Formula, inputs: Sequence[Any] | None, arguments: Mapping[str, Node]) -> Groups | None:
    """Return which inputs each argument of the kernel holds, or None where each is one."""
    known = formula.groups
    is_one = isinstance(inputs, str | Array | Compound) or is_sympy(inputs)
    wanted: list[Any] = [inputs] if is_one else list(inputs or ())
    if inputs is None:
        held = {name: group for group, own in known.items() for name in map(_name_of, leaves(own))}
        wanted = list(dict.fromkeys(held.get(name, name) for name in arguments))
    groups = []
    for one in wanted:
        own = known.get(one, one) if isinstance(one, str) else one
        parts = [part if isinstance(part, str) else _name_of(formula.read(part)) for part in leaves(own, is_sympy)]
        name = one if isinstance(one, str) else None if is_structure(one) and not is_sympy(one) else parts[0]
        name = one.name if isinstance(one, Compound) else name  # type: ignore[attr-defined]
        groups.append(Group(name, template_of(own, is_sympy), tuple(parts)))
    return Groups(tuple(groups)) if any(group.template != LEAF for group in groups) else None


def _name_of(symbol: Any) -> str:
    return str(symbol.node.name)


#: Backends of a kernel; "auto" answers from the interpreter until native code is built.
Backend: TypeAlias = Literal["auto", "native", "interpreter", "numpy", "cython"]

#: Seconds that building native code in the background may take, unless ``build_seconds=`` says otherwise: enough for
#: some 10⁵ operations on one core.
BUILD_SECONDS = 60.0


@dataclass(frozen=True)
class Options:
    """Options of a kernel: how it is called and treats batches.

    Parameters
    ----------
    batch : frozenset of str, optional
        Names of the inputs that may have batch axes; None for all.
    reduce : {None, "sum"}
        Sum each output over the batch.
    batch_axis : {0, -1}
        Batch axes before a sample's own axes, or behind them.
    threads : int, optional
        Threads of one call, at most; None for the number in force when it is called.
    accuracy : {"default", "high"}
        The vector library's functions, or libm's.
    build_seconds : float, optional
        Seconds that the compiler may take for a program; None for :data:`BUILD_SECONDS` in the background, and for
        no bound where native code is asked for.
    groups : Groups, optional
        Which inputs one argument holds together; None where each is an argument of its own.
    nonfinite : {"keep", "raise"}
        Return results that are nan or infinite, or raise an error that says where they come from.
    validate : bool
        Whether matrices that are declared definite or orthogonal are looked at in each call.
    reproducible : bool
        Whether a sample's bits depend on the sample, and on which inputs are shared, alone.

    Raises
    ------
    ArgumentError, UnsupportedError
        If ``build_seconds`` is no number of seconds, or ``reduce`` another word.
    """

    batch: frozenset[str] | None = None
    reduce: str | None = None
    batch_axis: int = 0
    threads: int | None = None
    accuracy: str = "default"
    build_seconds: float | None = None
    groups: Groups | None = None
    nonfinite: str = "keep"
    validate: bool = False
    reproducible: bool = False

    def __post_init__(self) -> None:
        if self.reduce not in (None, "sum"):
            mean = "; a mean is the sum over the number of samples: k(x) / len(x)" if self.reduce == "mean" else ""
            raise UnsupportedError(f"reduce={self.reduce!r:.60}; expected 'sum' or None{mean}")
        seconds = self.build_seconds
        known = isinstance(seconds, Real) and not isinstance(seconds, bool) and not math.isnan(seconds)
        if seconds is not None and not (known and seconds >= 0):
            raise ArgumentError(f"build_seconds={seconds!r}; expected a number of seconds from 0 on, or None")
        if not isinstance(self.validate, bool):
            raise ArgumentError(f"validate={self.validate!r:.60}; expected True or False")
        if not isinstance(self.reproducible, bool):
            raise ArgumentError(f"reproducible={self.reproducible!r:.60}; expected True or False")

    def build_limit(self, *, background: bool) -> float:
        """Return the seconds that the compiler may take for a program."""
        if self.build_seconds is not None:
            return float(self.build_seconds)
        return BUILD_SECONDS if background else math.inf

    def is_batched(self, name: str) -> bool:
        """Tell whether an input may have batch axes."""
        return self.batch is None or name in self.batch

    @property
    def is_reduced(self) -> bool:
        """True for each output that is summed over the batch."""
        return self.reduce is not None

    @property
    def in_columns(self) -> bool:
        """True where batch axes stand behind a sample's own."""
        return self.batch_axis == -1
