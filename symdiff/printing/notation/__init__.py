"""What a formula looks like when it is written down, apart from any style of writing.

written     the terms of graph nodes, in :mod:`symdiff.printing.notation.from_graph`
Term        one piece of a written formula, in :mod:`symdiff.printing.notation.terms`
spelled     a number as a reader knows it (1/3, 2 pi, log(2))
"""

from __future__ import annotations

from .from_graph import written
from .numbers import spelled
from .terms import Term, postorder

__all__ = ["Term", "postorder", "spelled", "written"]
