"""Kernels of which results are the nonzeros of matrices.

Takes
    formulas of nonzeros and where they stand (:mod:`symdiff.lowering.sparse`)
Gives
    :class:`~symdiff.runtime.sparse.kernel.SparseKernel`, called like any kernel
Invariants
    * Only nonzeros are computed and stored; positions are made once for each size.
Files
    kernel   the kernel that users hold
    compile  how it is made
    result   one of its outputs, sparse or not
Add
    a format: a row in :mod:`symdiff.lowering.sparse.formats` and in :mod:`symdiff.lowering.sparse.entries`
"""
