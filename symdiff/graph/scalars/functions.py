"""The table of scalar functions: what a row of it is, and how its functions are applied.

The parser, the differentiator, the emitters, the documentation and the tests all read this table; the rows
are in :mod:`symdiff.graph.scalars.rows` and the modules beside it, which fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from enum import Enum
from functools import cache
from math import inf, isnan, nan, pi
from typing import Any, NamedTuple, TypeAlias

from ...errors import ArgumentError, DtypeError, NotDifferentiableError
from ...ground.budget import uncounted
from .. import BOOL, INT, REAL, Node, as_node, constant, elementwise, placeholder, postorder, rebuild
from ..nodes import scalar_constant as scalar_constant  # noqa: PLC0414 - what others import from here


class Partial(Enum):
    """Entries of a row in place of a formula for a partial derivative."""

    ZERO = "zero almost everywhere"
    NONE = "not differentiable"
    ABSENT = "not offered"


#: Takes the arguments, and for a derivative then the value itself.
Formula: TypeAlias = Callable[..., Node]
#: A partial derivative; None where it is zero by construction.
Slope: TypeAlias = Callable[..., Node | None]
Interval: TypeAlias = tuple[float, float]


class Range(NamedTuple):
    """Bounds of numbers, and whether they may be equal to one.

    Examples
    --------
    >>> Range.read("(0, 1]")
    Range(low=0.0, high=1.0, has_low=False, has_high=True)
    """

    low: float = -inf
    high: float = inf
    has_low: bool = False
    has_high: bool = False

    @classmethod
    def read(cls, text: str) -> Range:
        """Read an interval as it is written in books; "" is all numbers."""
        if not text:
            return cls()
        low, high = [_ENDS[end] if end in _ENDS else float(end) for end in text[1:-1].split(", ")]
        return cls(low, high, text[0] == "[", text[-1] == "]")


#: Ends of intervals that are no decimal numbers.
_ENDS = {"pi": pi, "pi/2": 0.5 * pi, "-pi": -pi, "-pi/2": -0.5 * pi}


class Function(NamedTuple):
    """One scalar function.

    The last nine columns are facts of the function wherever it has a real value. Signs follow from them
    (:mod:`symdiff.rewrite.facts`), and "" or None says that nothing is known.

    Parameters
    ----------
    name : str
        NumPy's or SciPy's name of it.
    partials : tuple
        One a argument: a formula of the arguments and the value, or :class:`Partial`.
    domain : tuple of (float, float)
        Where tests draw each argument from; inside the function's real domain.
    numpy : str
        Spelling in NumPy source (``np`` and ``special`` are in scope), or "" where it is written
        as its expansion.
    sympy : str
        Name of SymPy's class, or "" where interop composes it.
    c : str
        Operation of the scalar program, or "" when ``expansion`` lowers it.
    vector : str
        Name in C's mathematical library, and in the platform's library of the same functions of vectors, or "".
    special : str
        The function in the headers of ``symdiff/_kernels/functions``, where C's library has none, or "".
    instruction : str
        C's function of one number where the interpreter has an instruction for it, which generated code has as a
        function of whole vectors (``symdiff/_kernels/functions/vector.h``), or "".
    library : str
        The function in ``scipy.special.cython_special`` whose address compiled code calls, or "".
    orders : int
        The largest order of a family of functions, whose first argument is the order; 0 for any other.
    expansion : callable, optional
        The function in terms of others, as the scalar program computes it.
    supports : tuple, optional
        For functions with branches: where each argument is looked at. A derivative through
        an argument is a strong zero elsewhere, whatever the argument's own derivative is.
    written : callable, optional
        The function as people write it, in terms of others. It is printed so, and text has no
        name for it: rows that have it are derivatives, kept whole so that the next one of
        them is a product, too, where differentiating what is written would subtract equals.
    singular : bool
        Whether a partial derivative can be infinite at finite arguments: where the function is
        finite, at the end of its domain, or where it overflows.
    takes, gives : str
        "real" or "bool".
    source : str
        Where the derivative stands in print.
    rule : str
        What books call the rule of its differential.
    infix : str
        The operator that it is in Python, C and formula text, or "".
    inverse : str
        A function g of as many arguments with f(..., g(..., x)) = x wherever g has a value, or "".
    logarithm : str
        A function that is its logarithm, finite where it overflows or vanishes, or "".
    total : bool
        Whether it has a value for all real arguments.
    exact : tuple of (float, float)
        Arguments at which a function of one argument is a number that books print, and that number; that at 0 may be
        in ``at_zero`` instead.
    range : Range
        What its values lie between: "(0, inf)" of exp, "[-1, 1]" of sin. The bounds need not be the least.
    parity : tuple of str
        One an argument: "even" where f(-x) = f(x), "odd" where f(-x) = -f(x), or "".
    monotone : tuple of str
        One an argument: "increasing", "decreasing", "not decreasing" of steps, or "".
    curvature : {"convex", "concave", ""}
        Whether it lies above or below all its tangents, in all its arguments together.
    at_zero : tuple of float, optional
        The value and the slope at 0 of a function of one argument. With the curvature they say that exp(x) - 1 - x
        is not negative, and of an increasing function with the value 0 that it has the sign of its argument.
    """

    name: str
    partials: tuple[Slope | Partial, ...]
    domain: tuple[Interval, ...]
    numpy: str
    sympy: str = ""
    c: str = ""
    vector: str = ""
    expansion: Formula | None = None
    written: Formula | None = None
    supports: tuple[Slope | None, ...] = ()
    takes: str = REAL
    gives: str = REAL
    source: str = ""
    singular: bool = False
    special: str = ""
    instruction: str = ""
    rule: str = "chain rule"
    library: str = ""
    orders: int = 0
    infix: str = ""
    inverse: str = ""
    logarithm: str = ""
    total: bool = False
    exact: tuple[tuple[float, float], ...] = ()
    range: Range = Range()
    parity: tuple[str, ...] = ()
    monotone: tuple[str, ...] = ()
    curvature: str = ""
    at_zero: tuple[float, float] | None = None

    @property
    def is_comparison(self) -> bool:
        """True of comparisons of two numbers."""
        return bool(self.infix) and self.gives is BOOL

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.partials)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments in order, those that the partial derivatives have.

        Examples
        --------
        >>> FUNCTIONS["gammainc"].arguments, FUNCTIONS["jv"].arguments, FUNCTIONS["equal"].arguments
        (('a', 'x'), ('v', 'x'), ('x', 'y'))
        """
        for slope in self.partials:
            code = getattr(slope, "__code__", None)
            # the last ones are the value, and what several partial derivatives have in common
            if code is not None and code.co_argcount > self.arity:
                return tuple(code.co_varnames[: self.arity])
        return ("x",) if self.arity == 1 else ("x", "y", "z", "t")[: self.arity]


FUNCTIONS: dict[str, Function] = {}

#: Other names NumPy, SciPy or users have for a row; fmax and fmin are not among them, since they drop NaN.
ALIASES = {
    "absolute": "abs",
    "fabs": "abs",
    "true_divide": "divide",
    "float_power": "power",
    "pow": "power",
    "remainder": "mod",
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "expit": "sigmoid",
    "log_expit": "log_sigmoid",
    "gammaln": "lgamma",
    "loggamma": "lgamma",
    "psi": "digamma",
    "round": "rint",
    "around": "rint",
    "ln": "log",
}


def apply(name: str, *args: Node | float) -> Node:
    """Apply a function of the table element by element.

    Raises
    ------
    ArgumentError
        If the function is unknown or takes another number of arguments.
    DtypeError
        If a condition is added, or a real used where a condition is needed.
    ShapeError
        If the arguments do not broadcast.
    """
    row = FUNCTIONS.get(name) or FUNCTIONS.get(ALIASES.get(name, name))
    if row is None:
        raise ArgumentError(f"{name!r} is not a function symdiff knows; known: {', '.join(sorted(FUNCTIONS))}")
    if len(args) != len(row.partials):
        raise ArgumentError(f"{name} takes {row.arity} arguments; {len(args)} came")
    wanted = row.takes
    for arg in args:
        if arg.__class__ is not Node or arg.dtype is not wanted:
            break
    else:
        if name != "where":
            given: Any = args
            return elementwise(row.name, given, row.gives)
    nodes = [arg if isinstance(arg, Node) else constant(arg) for arg in args]
    if name in ("add", "subtract") and nodes[0].dtype is BOOL and nodes[1].dtype is BOOL:
        raise DtypeError(f"{name} of two conditions; write & or | to combine them, where(c, 1, 0) to count")
    for i, node in enumerate(nodes):
        want = BOOL if name == "where" and i == 0 else wanted
        if node.dtype is not want:
            nodes[i] = to_real(node) if want is REAL else apply("not_equal", node, 0.0)
    return elementwise(row.name, tuple(nodes), row.gives)


def refusal(name: str, i: int, rule: Partial) -> str:
    """Return what is said where a derivative is asked for that a row does not have."""
    if rule is Partial.ABSENT:
        return (
            f"the derivative of {name} with respect to its argument {i + 1} is not offered; give a number "
            "there, or hold it constant by stop_gradient"
        )
    return f"{name} is {rule.value} with respect to its argument {i + 1}"


def partial_of(node: Node, i: int) -> tuple[Node | None, Node | None]:
    """Return the partial derivative with respect to argument ``i``, and the condition under which it counts.

    The first is None for a function that is constant, or is so in pieces.
    """
    row = FUNCTIONS.get(node.op)
    if row is None:
        raise NotDifferentiableError(f"symdiff has no derivative rule for {node.op!r}")
    rule = row.partials[i]
    if rule is Partial.ZERO:
        return None, None
    if isinstance(rule, Partial):
        raise NotDifferentiableError(refusal(node.op, i, rule))
    support = row.supports[i] if row.supports else None
    condition = support(*node.args, node) if support is not None else None
    return rule(*node.args, node), condition


@cache
def constant_partials(name: str) -> tuple[Node, ...] | None:
    """Return the partial derivatives of a function that is linear in its arguments together; None for any other."""
    row = FUNCTIONS[name]
    if row.rule != "linearity":
        return None
    with uncounted():  # what a formula may take must not depend on others before it
        stand_in = tuple([placeholder(("argument", i), ()) for i in range(row.arity)])
        node = elementwise(name, stand_in, row.gives)
        return tuple([one for i in range(row.arity) if (one := partial_of(node, i)[0]) is not None])


def to_real(node: Node) -> Node:
    """Return a condition as 1.0 where it holds and 0.0 elsewhere."""
    if node.dtype is REAL:
        return node
    if node.dtype is INT:
        raise DtypeError(
            "an integer input in arithmetic; integer inputs are positions, as in x[idx] and x[idx + 1], and nothing "
            "else; declare another input of real numbers to compute with"
        )
    if node.is_constant:
        return constant(node.value.astype(float))
    return elementwise("to_real", (node,))


def where(condition: Node, a: Node | float, b: Node | float) -> Node:
    """Choose element by element; the value not chosen is never observed."""
    if condition.op == "logical_not":
        return where(condition.args[0], b, a)
    return elementwise("where", (condition, as_node(a), as_node(b)))


def compare(op: str, a: Node | float, b: Node | float) -> Node:
    """Compare element by element: less, less_equal, greater, greater_equal, equal, not_equal."""
    if op.startswith("greater"):
        return apply(op.replace("greater", "less"), b, a)
    return apply(op, a, b)


def as_written(roots: Sequence[Node]) -> list[Node]:
    """Put in place of each row that has no name for people what they write."""
    return _replaced(roots, lambda row: row.written)


def expanded(roots: Sequence[Node], has: Callable[[str], bool] = bool) -> list[Node]:
    """Put in place of each row its expansion, unless a library ``has`` what NumPy source calls it: NumPy has any."""
    return _replaced(roots, lambda row: None if has(row.numpy) else row.expansion)


def _replaced(roots: Sequence[Node], choose: Callable[[Function], Formula | None]) -> list[Node]:
    """Put formulas in place of rows, and of the rows that these formulas hold."""
    current = list(roots)
    while True:
        order = postorder(current)
        if not any(node.op in FUNCTIONS and choose(FUNCTIONS[node.op]) for node in order):
            return current
        new: dict[Node, Node] = {}
        for node in order:
            args = tuple([new[arg] for arg in node.args])
            row = FUNCTIONS.get(node.op)
            formula = None if row is None else choose(row)
            new[node] = rebuild(node, args) if formula is None else formula(*args)
        current = [new[root] for root in current]


def _without_value(node: Node) -> Node:
    condition, *branches = node.args
    missing = [isnan(scalar_constant(branch) or 0.0) for branch in branches]
    if missing[0] == missing[1] or node.dtype is not REAL:
        return node
    marks = [nan if none else 1.0 for none in missing]
    return elementwise("multiply", (branches[missing[0]], where(condition, *map(constant, marks))))


#: Functions of products and quotients, by functions of two factors that have their slopes.
_BY_FACTORS = {
    ("log", "multiply"): "log_product",
    ("log", "divide"): "log_quotient",
    ("arctan", "divide"): "arctan2",
}
#: Functions of which :func:`by_factors` may make another.
BY_FACTORS = frozenset({"where", *(name for name, _ in _BY_FACTORS)})


def by_factors(node: Node, independent: Container[Node]) -> Node:
    """Return a function of a product or quotient as one of its two factors, any other node as it is.

    The slope of a logarithm by a factor x is 1/x. By the chain rule it would be y/(x y), which is nan where y is 0.
    So it is with the slopes of arctan(x/y), which are those of arctan2. A choice that is nan in one branch is the other
    branch times 1 or nan: where a formula has no value it has no slope, and not one of 0.
    """
    if node.is_choice:
        return _without_value(node)
    name = _BY_FACTORS.get((node.op, node.args[0].op)) if len(node.args) == 1 else None
    if name is None or node.args[0] in independent:
        return node
    factors = node.args[0].args
    # the logarithm of 2 x and arctan(x/2) have slopes without 0 times infinity, arctan(2/x) has not
    constants = [scalar_constant(arg) is not None for arg in factors]
    return node if constants[1] or (constants[0] and name != "arctan2") else elementwise(name, factors)
