"""The table of distributions, their functions for users and for formula text, and formulas that densities share.

It is read with the vocabulary of formula text; the densities themselves are imported when one is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from ...errors import ArgumentError
from ...frontend.array import Array
from ...frontend.numpy.operands import Operand, provenance_of
from ...frontend.numpy.operands import as_node as read_node
from ...graph import BOOL, Node, as_node, elementwise, inputs_of, number, stop_gradient
from ...graph.reference.interpret import evaluate
from ...graph.scalars.functions import apply, compare, where
from ...ground.guard import guarded, refuse

__all__ = [
    "BELOW",
    "DENSITY",
    "DISTRIBUTIONS",
    "QUANTILES",
    "Distribution",
    "all_of",
    "any_of",
    "density",
    "log",
    "named_functions",
    "outside",
    "scaled",
    "signature_of",
    "standard",
    "unless_nan",
    "within",
]


DENSITY = ("logpdf", "pdf")
#: Functions of a probability: where it lies below, and above.
QUANTILES = ("ppf", "isf")

#: Values below and above a support.
BELOW = {"logpdf": -math.inf, "pdf": 0.0, "logcdf": -math.inf, "cdf": 0.0, "logsf": 0.0, "sf": 1.0,
         "logpmf": -math.inf, "pmf": 0.0}  # fmt: skip
ABOVE = {**BELOW, "logcdf": 0.0, "cdf": 1.0, "logsf": -math.inf, "sf": 0.0}


def log(x: Node) -> Node:
    """Return the logarithm."""
    return apply("log", x)


def standard(x: Node, loc: Node, scale: Node | None = None) -> Node:
    """Return ``(x - loc) / scale``, without a ``loc`` of 0 or a ``scale`` of 1."""
    moved = x if number(loc) == 0 else x - loc
    return moved if scale is None or number(scale) == 1 else moved / scale


def scaled(function: str, value: Node, scale: Node) -> Node:
    """Return a density of ``x / scale`` as one of x; distribution functions are the same."""
    if number(scale) == 1 or function not in ("logpdf", "pdf"):
        return value
    return value - log(scale) if function == "logpdf" else value / scale


def all_of(*conditions: Node) -> Node:
    """Return where all conditions hold."""
    first, *rest = conditions
    for each in rest:
        first = elementwise("logical_and", (first, each), BOOL)
    return first


def any_of(*conditions: Node) -> Node:
    """Return where any of some conditions holds."""
    first, *rest = conditions
    for each in rest:
        first = elementwise("logical_or", (first, each), BOOL)
    return first


def unless_nan(z: Node, value: float) -> Node:
    """Return a number, and nan where ``z`` is."""
    return where(compare("equal", z, z), value, math.nan)


def outside(function: str, z: Node, low: Node | float, high: Node | float) -> Node:
    """Return what stands beyond a support."""
    below, above = BELOW[function], ABOVE[function]
    if below == above or (not isinstance(high, Node) and high == math.inf):
        return as_node(below)
    return where(compare("less_equal", z, low), below, above)


def within(
    function: str,
    z: Node,
    low: Node | float,
    high: Node | float,
    value: Node,
    closed: bool,
    end: Node | None = None,
) -> Node:
    """Return a value between two ends, and what stands beyond them.

    Parameters
    ----------
    function : str
    z : Node
    low, high : Node or float
        The ends; there may be one.
    value : Node
    closed : bool
        Whether the value holds at the ends as well.
    end : Node, optional
        What stands at the ends themselves, as a constant; without it that is what stands beyond them.
    """
    past = "less" if closed else "less_equal"
    has_low, has_high = (isinstance(one, Node) or math.isfinite(one) for one in (low, high))
    bounds = [low] * has_low + [high] * has_high
    # as what is outside and not as what is inside: of nan neither is true, and the value of it is nan
    gone = [compare(past, z, low)] * has_low + [compare(past, high, z)] * has_high
    beyond = outside(function, z, low, high)
    if end is not None:
        beyond = where(any_of(*[compare("equal", z, bound) for bound in bounds]), stop_gradient(end), beyond)
    return where(any_of(*gone), beyond, value)


#: Functions of a distribution of numbers, in the order in which they are listed.
WHOLE = ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf")
PROBABILITY = ("logpmf", "pmf")
#: Functions of a distribution of whole numbers, and those of them that add probabilities up.
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
        """SciPy's name of the argument of a density: k for whole numbers, x for others."""
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
    DISTRIBUTIONS[name] = Distribution(name, "multivariate", functions, shapes, tuple(defaults.items()), (), source)


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


def signature_of(row: Distribution, function: str) -> Signature:
    """Return the arguments of a function: the place or the probability, the shapes, and what has defaults."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    first = "q" if function in QUANTILES else row.place
    needed = [Parameter(name, kind) for name in (first, *row.shapes)]
    return Signature([*needed, *(Parameter(name, kind, default=value) for name, value in row.defaults)])


def density(row: Distribution, function: str, symbolic: bool = False) -> Callable[..., Any]:
    """Return a function of a distribution.

    Parameters
    ----------
    row : Distribution
    function : str
    symbolic : bool, optional
        Whether the result is an Array even where only numbers came.
    """
    title, signature = f"{row.name}_{function}" if symbolic else f"{row.name}.{function}", signature_of(row, function)

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = _bound(title, signature, args, kwargs)
            node = row.formula(function)(*[None if value is None else read_node(value) for value in bound])
            if symbolic or any(isinstance(value, Operand) for value in bound) or inputs_of([node]):
                return Array(node, provenance_of(*bound))
            return _numbers(node)
        except Exception as error:
            refuse(error, title, args, kwargs)

    run.__name__ = function
    run.__qualname__ = title
    run.__doc__ = _described(row, function, signature)
    run.__signature__ = signature  # type: ignore[attr-defined]
    return guarded(run)


def _bound(title: str, signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{title}{signature}: {error}") from None
    for name, value in bound.arguments.items():
        if value is None and signature.parameters[name].default is not None:
            raise ArgumentError(f"{title}: {name} is None; expected a number, an array or a formula")
    bound.apply_defaults()
    return list(bound.arguments.values())


def _numbers(node: Node) -> Any:
    (found,) = evaluate([node], {})
    return found[()]


_WORDS = {
    "logpdf": "the logarithm of the density",
    "pdf": "the density",
    "logcdf": "the logarithm of the probability below x",
    "cdf": "the probability below x",
    "logsf": "the logarithm of the probability above x",
    "sf": "the probability above x",
    "logpmf": "the logarithm of the probability of k",
    "pmf": "the probability of k",
    "ppf": "the place that q of the probability lies below",
    "isf": "the place that q of the probability lies above",
}


def _described(row: Distribution, function: str, signature: Signature) -> str:
    given = ", ".join(signature.parameters)
    return f"""Return {_WORDS[function]}, as scipy.stats.{row.name} has it ({row.source}).

    Parameters
    ----------
    {given} : symbols, numbers or arrays of them
        They broadcast. Of numbers alone the result is a number, or an array of numbers.
    """
