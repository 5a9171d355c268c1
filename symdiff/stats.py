"""Distributions under the names that SciPy has: ``sd.stats.norm.logpdf(x, loc, scale)`` and so on.

Examples
--------
>>> import symdiff as sd
>>> x, m, s = sd.scalar("x"), sd.scalar("m"), sd.scalar("s")
>>> sd.gradient(sd.stats.norm.logpdf(x, m, s), m)
(x - m) / s ** 2
>>> sd.stats.poisson.pmf([0, 1, -1], 2.0).round(4)
array([0.1353, 0.2707, 0.    ])
"""

from __future__ import annotations

from typing import Any

from .densities.table import DISTRIBUTIONS
from .densities.table import Distribution as _Distribution
from .errors import AbsentError
from .frontend.functions.densities import density as _density
from .ground.advice import advice as _advice

#: Functions of SciPy's distributions that are no formulas, and what to write instead.
_REFUSED = {
    "rvs": "random numbers are no formula; draw them by scipy.stats, before the call",
    "fit": "write the sum of the log densities, and minimize by sd.objective",
    **dict.fromkeys(("ppf", "isf"), "quantiles are offered where there is a function for them; take others by "
                    "scipy.stats, before the call"),
    "logcdf": "write log(cdf), which is -inf where the probability is below the smallest number",
    "logsf": "write log(sf), which is -inf where the probability is below the smallest number",
}


class Family:
    """A distribution: its functions are attributes, such as ``logpdf``."""

    def __init__(self, row: _Distribution) -> None:
        self._row = row
        for function in row.all_functions:
            setattr(self, function, _density(row, function))

    def __repr__(self) -> str:
        return f"<{self._row.name}: {', '.join(self._row.all_functions)}>"

    def __getattr__(self, name: str) -> Any:
        told = _advice(name, _REFUSED, self._row.all_functions)
        raise AbsentError(f"{self._row.name} has no {name!r}; known: {', '.join(self._row.all_functions)}{told}")


def __getattr__(name: str) -> Any:
    if name in DISTRIBUTIONS:
        found = globals()[name] = Family(DISTRIBUTIONS[name])
        return found
    told = f"{_advice(name, {}, DISTRIBUTIONS)}; known: {', '.join(DISTRIBUTIONS)}"
    raise AbsentError(f"symdiff.stats has no {name!r}{told}")


def __dir__() -> list[str]:
    return sorted(DISTRIBUTIONS)
