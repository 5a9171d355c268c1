"""The executor of plans: steps over arrays, bound to sizes, in one C function.

Takes
    the tuples of ``symdiff/lowering/plan/bound.py``, units, a caller's arrays
Gives
    results in the caller's arrays, or the lowest sample that failed
Invariants
    * A description is checked when a plan is made; nothing that passes leads out of an array.
    * A plan is never changed after that, and a call has memory of its own, so threads may share a plan.
    * The order of sums does not depend on the number of threads: tiles are summed in groups, groups in order.
    * A nan in one sample reaches no other sample.
Files
    plan.h        the structures, views of arrays, and what steps may reach
    nest.h        loops over strided arrays: copies, sums and other reductions
    programs.h    steps that run a scalar program; the bodies of loops, in place
    products.h    products of arrays, and the threads that share them
    matrices.h    stacks of matrices: factorizations, adjugates, eigenvalues
    positions.h   elements at positions, and in order
    run.h         a call: phases, tiles, threads, loops of samples; the table of steps
    bind.pxd      bound plans as C's structures
    bind.pyx      from tuples to these, checked
    executor.pxd  plans as the call path sees them
    executor.pyx  plans and their units, calls of plans, the plans of a kernel by kinds of calls
Add
    a kind of step: a tuple in ``lowering/plan/bound.py``, a function in one of the headers, its row in ``run.h``,
    checks in ``bind.pyx``
"""

from .executor import Plan, PlanUnits

__all__ = ["Plan", "PlanUnits"]
