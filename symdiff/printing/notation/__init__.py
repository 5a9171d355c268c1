"""What a formula looks like when it is written down, apart from any style of writing.

Takes
    graph nodes
Gives
    :class:`Term`: a matrix product, a transpose, an outer product, a trace, a number with a name
Invariants
    * A term has the value of its node; terms are in their shortest form, as ``(A B)ᵀ`` is ``Bᵀ Aᵀ``.
    * A number is spelled (1/3, 2 pi, log(2)) only where the spelling has the same double.
Files
    terms          terms and their constructors
    numbers        numbers as a reader knows them
    contractions   the names of contractions in matrix notation
    from_graph     the term of each node
Add
    the term of a primitive: a function in ``from_graph``; a form of contractions: one in ``contractions``
"""

from __future__ import annotations

from .from_graph import written
from .numbers import spelled
from .terms import Term, postorder

__all__ = ["Term", "postorder", "spelled", "written"]
