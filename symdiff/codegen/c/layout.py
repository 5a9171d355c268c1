"""The layout of a unit's arrays, which the printed code knows."""

from __future__ import annotations

from typing import NamedTuple

from ...lowering.program import Program

__all__ = ["BatchLayout"]


class BatchLayout(NamedTuple):
    """The layout of a unit's arrays, and whether it sums its results.

    Parameters
    ----------
    columns : bool
        Neighbours in memory are an element's values in consecutive samples; else they are the
        elements of one sample.
    single : bool
        Numbers are float32.
    reduce : bool
        Results are summed over the batch.
    constant : tuple of bool
        Inputs of which all samples share one value; () for none.
    packed : bool
        Columns whose strides are known when the code is printed: consecutive samples are adjacent, and a port of
        several elements holds one vector of samples for each element, one after the other.
    narrow : bool
        Of float32: computed with in float64.
    """

    columns: bool = False
    single: bool = False
    reduce: bool = False
    constant: tuple[bool, ...] = ()
    packed: bool = False
    narrow: bool = False

    @property
    def computes_single(self) -> bool:
        """Whether numbers are computed with in float32."""
        return self.single and not self.narrow

    def one_sample(self, port: int) -> bool:
        """Tell whether an input is read from one sample."""
        return bool(self.constant) and self.constant[port]

    def moved(self, program: Program) -> list[int]:
        """Return the elements of each port that differs from sample to sample."""
        inputs = [port.size for p, port in enumerate(program.inputs) if not self.one_sample(p)]
        return inputs + ([] if self.reduce else [port.size for port in program.outputs])
