"""From arrays to straight-line scalar code: what one sample of a small formula computes.

Every array of fixed size is taken apart into its elements; structural zeros (of deltas,
paddings, triangles) are never computed, equal scalars are computed once, powers become
products, and what no output needs is dropped. The values come out in an order that keeps
few of them alive. Emitters only print what stands here.

Small matrices are inverted by elimination with partial pivoting, rows changing places by
selection; a determinant's derivatives take cofactors, which are finite at every rank.
"""

from __future__ import annotations

from .loops.plan import Loops, plan_loops
from .unroll import expand_functions, unroll

__all__ = ["Loops", "expand_functions", "plan_loops", "unroll"]
