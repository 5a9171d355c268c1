"""Probability distributions as formulas, under SciPy's names: ``sd.stats.norm.logpdf(x, loc, scale)`` and so on.

Takes
    where a density is looked at, and its parameters: nodes inside, symbols, numbers or arrays of users
Gives
    the log density, a distribution function or a quantile, of the same kind
Invariants
    * Parameters broadcast as NumPy's arrays do; ``loc`` and ``scale`` are SciPy's.
    * Outside of the support a log density is -inf, and its derivatives are 0. Within the support, no intermediate
      result overflows unless the log density itself does.
    * At the ends of the support the value is SciPy's, a constant.
    * Parameters outside of their domain are not checked: the value is what the formula gives.
Files
    table         a row a distribution, its functions for users, and formulas that densities share
    continuous    densities of a number
    discrete      probabilities of whole numbers
    multivariate  densities of vectors and matrices
Add
    a distribution: its functions in the module that fits, and a row in ``table``

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

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import AbsentError
from ...ground.advice import advice as _advice
from ...ground.guard import guarded as _guarded
from .table import DISTRIBUTIONS
from .table import Distribution as _Distribution
from .table import density as _density

#: Functions of SciPy's distributions that are no formulas, and what to write instead.
_REFUSED = {
    "rvs": "random numbers are no formula; draw them by scipy.stats, before the call",
    "fit": "write the sum of the log densities, and minimize by sd.objective",
    **dict.fromkeys(
        ("ppf", "isf"),
        "quantiles are offered where there is a function for them; take others by scipy.stats, before the call",
    ),
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

    @_guarded
    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with parameters: ``norm(m, s).logpdf(x)`` is ``norm.logpdf(x, m, s)``."""
        return Frozen(self, args, kwargs)

    @_guarded
    def __getattr__(self, name: str) -> Any:
        told = _advice(name, _REFUSED, self._row.all_functions)
        raise AbsentError(f"{self._row.name} has no {name!r}; known: {', '.join(self._row.all_functions)}{told}")


class Frozen:
    """A distribution with its parameters: its functions take what is left, such as ``logpdf(x)``."""

    def __init__(self, family: Family, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._family, self._args, self._kwargs = family, args, kwargs

    def __repr__(self) -> str:
        told = [*map(str, self._args), *(f"{key}={value}" for key, value in self._kwargs.items())]
        return f"<{self._family._row.name}({', '.join(told)})>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy asks before it has a family
            raise AttributeError(name)
        function = getattr(self._family, name)

        def run(x: Any) -> Any:
            return function(x, *self._args, **self._kwargs)

        return run


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Distributions by their names in SciPy."""

else:

    @_guarded
    def __getattr__(name):
        return _found(name)


def _found(name: str) -> Any:
    if name in DISTRIBUTIONS:
        found = globals()[name] = Family(DISTRIBUTIONS[name])
        return found
    told = f"{_advice(name, {}, DISTRIBUTIONS)}; known: {', '.join(DISTRIBUTIONS)}"
    raise AbsentError(f"symdiff.stats has no {name!r}{told}")


def __dir__() -> list[str]:
    return sorted(DISTRIBUTIONS)
