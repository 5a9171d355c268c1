"""Arguments that hold several inputs: dicts, lists, tuples, named tuples and dataclasses of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..frontend.array import Array
from ..frontend.formula import Formula
from ..frontend.outputs import LEAF, Compound, is_structure, leaves, template_of, unpack
from ..frontend.sympy import is_sympy
from ..graph import Node

__all__ = ["Group", "Groups", "group_inputs"]


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
