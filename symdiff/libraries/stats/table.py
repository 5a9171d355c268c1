"""The table of distributions, light enough to be read with the package: formulas are imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ...graph import Node
from .supports import DENSITY, QUANTILES

__all__ = ["DISTRIBUTIONS", "Distribution", "named_functions"]

#: Functions of a distribution of numbers, in the order in which they are listed.
WHOLE = ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf")
PROBABILITY = ("logpmf", "pmf")
#: Of a distribution of whole numbers; and those of them that add probabilities up.
TAILS = ("cdf", "sf", "logcdf", "logsf")
OF_COUNTS = (*PROBABILITY, *TAILS)


class Distribution(NamedTuple):
    """One distribution.

    Parameters
    ----------
    name : str
        SciPy's.
    module : str
        Where its formulas are.
    functions : tuple of str
        Those that it has.
    shapes : tuple of str
        Parameters without a default, after the place that is looked at.
    defaults : tuple of (str, float or None)
        Parameters that may be left out.
    draws : tuple of (float, float)
        Where tests draw each shape parameter from.
    source : str
        Where the density stands in print.
    quantiles : tuple of str, optional
        Functions of a probability that it has.
    """

    name: str
    module: str
    functions: tuple[str, ...]
    shapes: tuple[str, ...]
    defaults: tuple[tuple[str, float | None], ...]
    draws: tuple[tuple[float, float], ...]
    source: str
    quantiles: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """What SciPy calls the place that is looked at: k for whole numbers, x for others."""
        return "k" if self.module == "discrete" else "x"

    @property
    def all_functions(self) -> tuple[str, ...]:
        """Functions of a place, and then those of a probability."""
        return self.functions + self.quantiles

    def formula(self, function: str) -> Callable[..., Node]:
        """Return a function of the distribution, which takes nodes: the place, the shapes, parameters with defaults."""
        module: Any = import_module(f".{self.module}", __package__)
        found: Callable[..., Node] = module.formula(self.name, function)
        return found


DISTRIBUTIONS: dict[str, Distribution] = {}

_LOCATION = (("loc", 0.0),)
_LOCATION_AND_SCALE = (("loc", 0.0), ("scale", 1.0))
_HALF, _UNIT = (0.5, 5.0), (0.05, 0.95)


def _continuous(name: str, source: str, functions: tuple[str, ...] = WHOLE, **shapes: tuple[float, float]) -> None:
    DISTRIBUTIONS[name] = Distribution(
        name,
        "continuous",
        functions,
        tuple(shapes),
        _LOCATION_AND_SCALE,
        tuple(shapes.values()),
        source,
        QUANTILES if functions is WHOLE and name != "truncnorm" else (),
    )


def _discrete(name: str, source: str, functions: tuple[str, ...] = OF_COUNTS, **shapes: tuple[float, float]) -> None:
    DISTRIBUTIONS[name] = Distribution(
        name, "discrete", functions, tuple(shapes), _LOCATION, tuple(shapes.values()), source
    )


def _multivariate(name: str, source: str, functions: tuple[str, ...], *shapes: str, **defaults: float | None) -> None:
    DISTRIBUTIONS[name] = Distribution(
        name, "multivariate", functions, shapes, tuple(defaults.items()), (), source
    )


# Johnson, Kotz and Balakrishnan, "Continuous univariate distributions", 2nd edition, by chapter
_continuous("norm", "JKB 13")
_continuous("lognorm", "JKB 14", s=(0.3, 2.0))
_continuous("t", "JKB 28", df=(0.5, 20.0))
_continuous("cauchy", "JKB 16")
_continuous("gamma", "JKB 17", a=_HALF)
_continuous("chi2", "JKB 18", df=(0.5, 9.0))
_continuous("invgamma", "JKB 17.8", a=_HALF)
_continuous("beta", "JKB 25", a=_HALF, b=_HALF)
_continuous("f", "JKB 27", dfn=(0.5, 9.0), dfd=(0.5, 9.0))
_continuous("weibull_min", "JKB 21", c=(0.5, 4.0))
_continuous("expon", "JKB 19")
_continuous("laplace", "JKB 24")
_continuous("logistic", "JKB 23")
_continuous("uniform", "JKB 26")
_continuous("gumbel_r", "JKB 22")
_continuous("gumbel_l", "JKB 22")
_continuous("pareto", "JKB 20", b=_HALF)
_continuous("halfnorm", "JKB 13.10")
_continuous("vonmises", "Mardia and Jupp 3.5.4", DENSITY, kappa=(0.1, 5.0))
_continuous("wrapcauchy", "Mardia and Jupp 3.5.7", DENSITY, c=(0.1, 0.8))
_continuous("gennorm", "Nadarajah 2005", beta=(1.1, 4.0))
_continuous("truncnorm", "JKB 13.10", a=(-2.0, -0.2), b=(0.3, 2.0))
# Johnson, Kemp and Kotz, "Univariate discrete distributions", 3rd edition, by chapter
_discrete("bernoulli", "JKK 3", p=_UNIT)
_discrete("binom", "JKK 3", n=(5.0, 12.0), p=_UNIT)
_discrete("poisson", "JKK 4", mu=(0.3, 6.0))
_discrete("geom", "JKK 5", p=_UNIT)
_discrete("nbinom", "JKK 5", n=(0.5, 6.0), p=_UNIT)
_discrete("betabinom", "JKK 6", PROBABILITY, n=(5.0, 12.0), a=_HALF, b=_HALF)
# Kotz, Balakrishnan and Johnson, "Continuous multivariate distributions", by chapter
# Gupta and Nagar, "Matrix variate distributions", by section
_multivariate("multivariate_normal", "KBJ 45", DENSITY, mean=None, cov=1.0)
_multivariate("dirichlet", "KBJ 49", DENSITY, "alpha")
_multivariate("wishart", "Gupta and Nagar 3.2", DENSITY, "df", "scale")
_multivariate("multinomial", "JKK 35", PROBABILITY, "n", "p")
_multivariate("categorical", "JKK 35", PROBABILITY, "p")


def named_functions() -> dict[str, tuple[Distribution, str]]:
    """Return each function by the name that formula text calls it by: ``norm_logpdf``."""
    rows = DISTRIBUTIONS.values()
    return {f"{row.name}_{function}": (row, function) for row in rows for function in row.all_functions}
