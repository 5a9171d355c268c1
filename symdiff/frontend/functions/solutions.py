"""Solutions as formulas: ``root``, ``fixed_point`` and ``minimizer``, each with a closed formula of its unknown.

The value is a loop of Newton's method (:mod:`.newton`), which nothing differentiates: the derivative is that of the
implicit function theorem, a formula of the solution, so that further derivatives follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy

from ...calculus.derivatives import Trail, jacobian
from ...calculus.modes import pushforward
from ...calculus.rules import ImplicitRule
from ...errors import ArgumentError, DtypeError, ShapeError
from ...graph import (
    BOOL,
    INT,
    REAL,
    Node,
    broadcast_to,
    extent,
    inputs_of,
    placeholder,
    postorder,
    reshape,
    substitute,
    zeros,
)
from ...graph import custom as custom_node
from ...graph.scalars.functions import to_real
from ...graph.sizes import Shape, show
from ...ground.guard import described, guarded, is_function, users
from ...ground.stages import later
from ...rewrite import simplify
from ...rewrite.facts import sign_of
from ..array import Array
from ..numpy.operands import as_node, provenance_of
from ..symbols import array as make_input
from ..sympy import Inputs, from_sympy, is_sympy
from .closing import called, captured_by
from .newton import Equations, Found, attracted, bracketed, descended, largest, searched, solved

__all__ = ["Search", "fixed_point", "laplace", "minimizer", "root", "solutions_in", "squares_in"]

#: NumPy over symbols: its stubs know arrays of numbers alone.
np: Any = numpy
#: Iterations, unless told otherwise.
AT_MOST = 50
#: Fields that ``full_output=True`` gives for each solution.
TOLD = ("iterations", "residuals", "converged")


@guarded
def root(
    g: Any, x: Any, start: Any = None, bracket: Any = None, at_most: int = AT_MOST, tol: float | None = None
) -> Array:
    """Return the solution x of g(x) = 0, as a formula of all else that g depends on.

    Parameters
    ----------
    g : Array, SymPy expression, text of scalars or callable
        The equation's left side, or as many as x has elements, in the shape of x; or a function of x that gives it.
    x : Array, SymPy symbol or str
        The unknown: a symbol, which is no input of the result, or its name.
    start : array, optional
        Where the search begins, of the shape of x, which a number has for all elements.
    bracket : pair of scalars, optional
        For one equation: two numbers or formulas between which g changes its sign. The search never leaves them. They
        may be roots, and g may be infinite there, but no nan. One of start and bracket is needed.
    at_most : int
        Iterations.
    tol : float, optional
        Steps relative to x below which the search ends; by default four units in the last place. It ends too where the
        residual is the rounding of the terms of g.

    Returns
    -------
    Array
        Of the shape of x: nan where the search did not converge, or where g has one sign at both ends of the bracket.

    Raises
    ------
    ArgumentError
        If there is neither a start nor a bracket, or a bracket for several equations.
    ShapeError
        If there are more equations than unknowns, or fewer.
    DtypeError
        If something is not a real number.

    Notes
    -----
    One equation is solved by Newton's method, with a bracket as soon as one is given, so that the search stays inside
    and ends; several by Newton's method whose steps are halved until the residuals fall. Each sample of a batch ends
    by itself.

    The derivative is dx = -inv(dg/dx) dg (implicit function theorem), a formula of the solution, which has derivatives
    of every order again; iterations are not differentiated, and a start has no influence. At multiple roots, and
    wherever dg/dx is singular up to rounding, derivatives are nan.

    Examples
    --------
    >>> import symdiff as sd
    >>> x, a = sd.scalar("x"), sd.scalar("a")
    >>> r = sd.root(x**2 - a, x, start=1.0)
    >>> r
    root(x -> x ** 2 - a, 1)
    >>> sd.gradient(r, a)
    0.5 / root(x -> x ** 2 - a, 1)
    >>> print(*sd.compile([r, sd.gradient(r, a)])(4.0))
    2.0 0.25
    """
    g, x = _read(g, x)
    asked = Search("root", x, start, bracket, at_most, tol)
    return asked.solution(asked.formula(g, "g"))


@guarded
def fixed_point(step: Any, x: Any, start: Any, at_most: int = AT_MOST, tol: float | None = None) -> Array:
    """Return the solution of x = step(x), as a formula of all else that the step depends on.

    Parameters
    ----------
    step : Array or callable
        A formula of x in the shape of x, or a function that gives it.
    x, start, at_most, tol
        As for :func:`root`.

    Returns
    -------
    Array
        The root of ``x - step`` that the step leads to from the start, if it leads to one; else any that Newton's
        method finds, since the step need not be a contraction. Newton's method comes first, and where the step does not
        lead back to what it found, begins again from where a few dozen steps came.

    See Also
    --------
    root : what holds there of values, derivatives and errors holds here.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> x, c = sd.scalar("x"), sd.scalar("c")
    >>> f = sd.fixed_point(c * np.cos(x), x, 1.0)
    >>> print(sd.compile(f)(1.0).round(12))
    0.739085133215
    >>> A, B, P = sd.matrix("A", 2, 2), sd.matrix("B", 2, 1), sd.matrix("P", 2, 2)
    >>> gain = np.linalg.solve(np.eye(1) + B.T @ P @ B, B.T @ P @ A)      # a regulator's Riccati equation
    >>> regulator = sd.compile(sd.fixed_point(A.T @ P @ (A - B @ gain) + np.eye(2), P, np.eye(2)), [A, B])
    >>> regulator([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]]).round(3)
    array([[18.342, 10.905],
           [10.905, 18.911]])
    """
    step, x = _read(step, x)
    asked = Search("fixed_point", x, start, None, at_most, tol)
    formula = asked.formula(step, "step")
    return asked.solution(asked.unknown - formula, formula)


@guarded
def minimizer(
    f: Any,
    x: Any,
    start: Any,
    bounds: Any = None,
    method: Literal["newton", "levenberg-marquardt"] | None = None,
    at_most: int | None = None,
    tol: float | None = None,
) -> Array:
    """Return the x at which f has a local minimum, as a formula of all else that f depends on.

    Parameters
    ----------
    f : Array or callable
        A scalar formula of x, or a function that gives it.
    x, start, tol
        As for :func:`root`.
    bounds : pair of arrays, optional
        The least and the greatest x, of its shape or numbers; infinite where there is none.
    method : {None, "newton", "levenberg-marquardt"}
        By default Newton's method with the absolute values of the Hessian's eigenvalues. For a sum of squares, such as
        ``np.sum(r**2) + 1e-4 * np.sum(x**2)``, Levenberg and Marquardt's, which needs first derivatives of r alone and
        takes more steps where r stays large. A quarter of a step is taken until f falls.
    at_most : int, optional
        Iterations: 50 by default, 500 of Levenberg and Marquardt's.

    Returns
    -------
    Array
        Of the shape of x: nan where the search did not converge, or ended where f has no minimum.

    See Also
    --------
    root : what holds there of samples and errors holds here.

    Notes
    -----
    The derivative is that of the root of the gradient, ``-inv(f_xx) f_xp``. Elements at a bound stay there, and the
    others move among themselves; where a bound is about to be left (its multiplier is 0 up to rounding) derivatives
    are nan.

    Examples
    --------
    >>> import symdiff as sd
    >>> x, a = sd.scalar("x"), sd.scalar("a")
    >>> m = sd.minimizer(x**4 / 4 - a * x, x, 1.0)
    >>> sd.gradient(m, a)
    1 / (3 * minimizer(x -> x ** 4 / 4 - a * x, 1) ** 2)
    >>> print(sd.compile(m)(8.0))
    2.0
    """
    if method not in (None, "newton", "levenberg-marquardt"):
        raise ArgumentError(f"method={method!r:.40} of minimizer; expected 'newton', 'levenberg-marquardt', or None")
    f, x = _read(f, x)
    squares = method == "levenberg-marquardt"
    most = (10 if squares else 1) * AT_MOST if at_most is None else at_most
    asked = Search("minimizer", x, start, None, most, tol)
    asked.bounds = _bounds(asked, bounds)
    formula = asked.formula(f, "f", ())
    slope = jacobian(formula, asked.unknown, "zero", {}, Trail())
    curvature = jacobian(slope, asked.unknown, "zero", {}, Trail())
    normal = _normal_matrix(formula, asked.unknown) if squares else curvature
    asked.squares = squares
    # of one unknown of what is convex, the slope alone tells where f falls
    asked.is_root = not (squares or asked.bounds or asked.unknown.ndim) and sign_of(curvature) == 1
    return asked.solution(_held(asked, slope), formula, objective=(formula, slope, normal))


def _normal_matrix(f: Node, x: Node) -> Node:
    """Return the matrix of Gauss and Newton: the Hessian of a sum of squares with what is squared as linear."""
    total: Node | None = None
    for r, curvature in squares_in(f, [x]):
        slope = Array(reshape(jacobian(r, x, "zero", {}, Trail()), (r.shape[0], x.size)))
        part = reshape((slope.T @ Array(curvature) @ slope).node, (*x.shape, *x.shape))
        total = part if total is None else total + part
    assert total is not None
    return simplify([total])[0]


def squares_in(f: Node, unknowns: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return what is squared in a sum of squares, as vectors, and the sum's second derivatives with respect to each.

    Raises
    ------
    ArgumentError
        If the unknowns are elsewhere in f.
    """
    (f,) = simplify([f])
    moves, squared = set(unknowns), dict[Node, Node]()
    for node in postorder([f]):
        if not moves.isdisjoint(node.args):
            moves.add(node)
    todo = [f]
    while todo:
        node = todo.pop()
        is_power = node.is_power and node.args[1].is_constant and float(node.args[1].value) == 2.0
        is_product = len(node.args) == 2 and len(set(node.args)) == 1 and (node.is_multiplication or not node.ndim)
        if node not in moves:
            continue
        if is_power or is_product:
            base = node.args[0].args[0] if node.args[0].op == "norm" else node.args[0]
            squared.setdefault(base, placeholder(("squared", len(squared)), base.shape))
        else:
            todo += node.args
    (outer,) = substitute([f], squared)
    if not squared or not set(unknowns).isdisjoint(postorder([outer])):
        raise ArgumentError("least squares of what is no sum of squares; expected one such as np.sum(r**2)")
    parts = []
    for r, letter in squared.items():
        curvature = jacobian(jacobian(outer, letter, "zero", {}, Trail()), letter, "zero", {}, Trail())
        n = r.size
        parts.append((reshape(r, (n,)), reshape(substitute([curvature], {letter: r})[0], (n, n))))
    return parts


@guarded
def laplace(f: Any, u: Any, start: Any = 0.0, at_most: int = AT_MOST, tol: float | None = None) -> Array:
    """Return the negative logarithm of the integral of exp(-f) over u, by Laplace's approximation.

    Parameters
    ----------
    f : Array or callable
        A scalar formula of u, such as a negative log likelihood of data and random effects, or a function that gives
        it.
    u, start, at_most, tol
        As for :func:`minimizer`; the search begins at 0 by default.

    Returns
    -------
    Array
        ``f(m) + log(det(H)) / 2 - n * log(2 * pi) / 2`` of the minimizer m, the Hessian H of f there, and the number n
        of elements of u: exact where f is quadratic in u. Nan where no minimum was found.

    Notes
    -----
    Derivatives are those of this formula, in which the minimizer moves (:func:`minimizer`): exact gradients and
    Hessians of the approximation (Kristensen et al., TMB, J. Stat. Softw. 70, 2016).

    Examples
    --------
    >>> import symdiff as sd
    >>> u, s = sd.scalar("u"), sd.scalar("s")
    >>> normal = u**2 / (2 * s**2)
    >>> integral = sd.laplace(normal, u)  # -log(s * sqrt(2 * pi))
    >>> print(sd.compile(sd.gradient(integral, s))(0.5))
    -2.0
    """
    f, u = _read(f, u)
    asked = Search("laplace", u, start, None, at_most, tol)
    formula = asked.formula(f, "f", ())
    own = Array(asked.symbol)
    m = minimizer(users(f)(own) if is_function(f) else f, own, start, at_most=at_most, tol=tol)
    slope = jacobian(formula, asked.unknown, "zero", {}, Trail())
    curvature = jacobian(slope, asked.unknown, "zero", {}, Trail())
    n = asked.unknown.size
    if asked.unknown.ndim:
        curvature = reshape(curvature, (n, n))
    least, curved = map(Array, substitute([formula, curvature], {asked.unknown: m.node}))
    logarithm = np.linalg.slogdet(curved)[1] if curved.ndim else np.log(curved)
    integral: Array = least + logarithm / 2.0 - Array(extent(n)) * (0.5 * math.log(2.0 * math.pi))
    return integral


def _held(asked: Search, slope: Node) -> Node:
    """Return the equations of a minimum: of elements that a bound holds that they are at the bound."""
    if not asked.bounds:
        return slope
    x, own = Array(asked.unknown), Array(slope)
    low, high = map(Array, asked.bounds)
    below, above = (x <= low) & (own > 0.0), (x >= high) & (own < 0.0)
    held: Array = np.where(below, x - low, np.where(above, x - high, own))
    return held.node


class Search:
    """Request of one call, with the unknown as a placeholder of the formula's own."""

    def __init__(self, name: str, x: Any, start: Any, bracket: Any, at_most: Any, tol: Any) -> None:
        self.name = name
        if start is None and bracket is None:
            raise ArgumentError(
                f"{name} without a start; expected {name}(formula, x, start) of a formula of the symbol x, or "
                "bracket=(lower, upper) for one equation"
            )
        self.at_most, self.tol = _whole(name, at_most), _tolerance(name, tol)
        told = {"at_most": None if self.at_most == AT_MOST else float(self.at_most), "tol": self.tol}
        self.options = tuple((key, value) for key, value in told.items() if value is not None)
        self.start = None if start is None else _real(start, f"the start of {name}")
        self.ends = _ends(name, bracket)
        if isinstance(x, str):
            x = make_input(x, () if self.start is None else self.start.shape)
        symbol = as_node(x) if isinstance(x, Array) else None
        if symbol is None or not symbol.is_input or symbol.dtype is not REAL:
            came = f"the unknown of {name} is {described(x)}"
            raise ArgumentError(f"{came}; expected a symbol, as sd.scalar('x') makes it")
        self.symbol = symbol
        self.title = _title(symbol)
        if 0 in symbol.shape:
            came = f"the unknown of {name}, {self.title}, has shape {show(symbol.shape)}"
            raise ShapeError(f"{came} and no elements; expected one of at least one element")
        if self.ends and symbol.ndim:
            raise ArgumentError(
                f"a bracket for an unknown of shape {show(symbol.shape)}; expected a start, or one equation of a scalar"
            )
        if self.start is not None and self.start.shape != symbol.shape:
            if self.start.ndim:
                raise ShapeError(
                    f"the start of {name} has shape {show(self.start.shape)}; expected that of the unknown, "
                    f"{show(symbol.shape)}"
                )
            self.start = broadcast_to(self.start, symbol.shape)
        if self.start is not None and self.ends:
            _within(f"the start of {name}", self.start, self.ends, "bracket")
        self.unknown = placeholder(("unknown",), symbol.shape)
        self.bounds: list[Node] = []
        self.squares = self.is_root = False

    def formula(self, value: Any, what: str, shape: Shape | None = None) -> Node:
        """Return a formula of the unknown, or what a function gives for it; by default of the unknown's shape."""
        if is_function(value):
            value = users(value)(Array(self.symbol))
        node = _real(value, f"{what} of {self.name}")
        (inside,) = substitute([node], {self.symbol: self.unknown})
        if self.name != "fixed_point" and self.symbol not in inputs_of([node]):
            raise ArgumentError(f"{what} of {self.name} does not depend on {self.title}; expected a formula of it")
        if shape is not None and inside.shape != shape:
            raise ShapeError(f"{what} of {self.name} has shape {show(inside.shape)}; expected a scalar, as sum(f) is")
        if shape is None and inside.shape != self.unknown.shape:
            raise ShapeError(
                f"{what} of {self.name} has shape {show(inside.shape)} for an unknown of shape "
                f"{show(self.unknown.shape)}; expected as many equations as unknowns, in the same shape"
            )
        return inside

    def solution(
        self,
        equations: Node,
        *written: Node,
        objective: tuple[Node, ...] = (),
        settled: Node | None = None,
        valid: Node | None = None,
        begin: Node | None = None,
    ) -> Array:
        """Return the node of a solution of equations of the unknown.

        ``written`` is what is shown for them; an objective is what is minimized, its gradient and its Hessian;
        ``settled`` is where solutions have derivatives, ``valid`` what holds besides the equations, and ``begin`` a
        point near one, in place of the start.
        """
        operands = [*([] if self.start is None else [self.start]), *self.ends, *self.bounds]
        self._refuse_positions([equations])
        # what is outside has no name inside: what cancels in the slope has to be seen before
        slope = jacobian(equations, self.unknown, "zero", {}, Trail())
        # the search has the form of numbers that its slope has, and parts in common with it
        searched = simplify([equations, *objective[:1]])
        formulas = [*searched, equations, slope, *objective[1:], *(written or (equations,))]
        formulas += [node for node in (settled, valid, begin) if node is not None]
        captured = captured_by(formulas, [self.unknown])
        args = list(dict.fromkeys([*captured, *operands]))
        plain = {arg: placeholder(("argument", k), arg.shape, arg.dtype) for k, arg in enumerate(args)}
        stable, *closed = substitute(formulas, {arg: plain[arg] for arg in captured})
        near = None if begin is None else Array(closed.pop())
        holds = None if valid is None else closed.pop()
        calm = None if settled is None else closed.pop()
        lowest = [closed.pop(0)] if objective else []
        equations, slope, *shown = closed
        g, inner = Equations(self.unknown, equations, slope, self.tol), [Array(plain[node]) for node in operands]
        if objective:
            first, second, *shown = shown
            gradient = Equations(self.unknown, first, second, self.tol)
        else:
            gradient = Equations(self.unknown, stable, slope, self.tol)
        found = self._found(gradient, lowest, inner if near is None else [near, *inner[1:]])
        if holds is not None:
            found = found._replace(converged=found.converged & g.at(holds, found.x))
        still = _settled(gradient, found.x, inner[-2:]) if self.bounds else None
        still = still if calm is None else g.at(calm, found.x)
        given = tuple([args.index(node) for node in operands])
        rule, body = _ruled(self, g, found, still, tuple(plain.values()), tuple(shown), given)
        node = custom_node(rule, args, body)
        return Array(node, provenance_of(*(Array(arg) for arg in args), node))

    def _found(self, g: Equations, objective: Sequence[Node], operands: Sequence[Array]) -> Found:
        start = operands[0] if self.start is not None else None
        if self.ends:
            lower, upper = operands[-2:]
            return bracketed(g, start, (lower, upper), self.at_most)
        assert start is not None
        if objective and not self.is_root:
            ends = (operands[-2], operands[-1]) if self.bounds else None
            return descended(objective[0], g, start, ends, self.at_most, self.squares)
        return (attracted if self.name == "fixed_point" else searched)(g, start, self.at_most)

    def _refuse_positions(self, nodes: Sequence[Node]) -> None:
        for node in postorder(nodes):
            if node.dtype is INT:
                raise DtypeError(
                    f"positions in the equations of {self.name}: {called(node)}; take elements at positions before"
                )


def _ruled(
    asked: Search,
    g: Equations,
    found: Found,
    settled: Array | None,
    parameters: tuple[Node, ...],
    shown: tuple[Node, ...],
    given: tuple[int, ...],
) -> tuple[ImplicitRule, Node]:
    """Return the rule of a solution and its value, in terms of the parameters."""
    letter = asked.unknown
    value = placeholder(("solution",), letter.shape)
    seeds = tuple(placeholder(("seed", k), p.shape) for k, p in enumerate(parameters))
    moving = {p: seed for p, seed in zip(parameters, seeds, strict=True) if p.dtype is REAL}
    (image,) = substitute([_moved(g, moving)], {letter: value})
    body = np.where(found.converged, found.x, np.nan)
    regular = _regular(g, body) if settled is None else _regular(g, body) & settled
    residual = g.value(body)
    told = (found.steps.node, residual.node, to_real(found.converged.node))
    return ImplicitRule(
        asked.name,
        parameters,
        "differential",
        seeds,
        (image,),
        value=value,
        regular=np.where(regular, body, np.nan).node,
        letter=letter,
        title=asked.title,
        equations=shown,
        given=given,
        options=asked.options,
        told=told,
    ), body.node


def _moved(g: Equations, seeds: Mapping[Node, Node]) -> Node:
    """Return how a solution moves with each parameter: nan where it is nan, whether or not the formula mentions it.

    Where it does not, the solution itself stands for nan, so that further derivatives are nan there, too.
    """
    below = set(postorder([g.formula]))
    seeds = {p: seed for p, seed in seeds.items() if p in below}  # a start has no influence
    image = _implicit(g, seeds)
    blind = {p: seed for p, seed in seeds.items() if not _observes(_implicit(g, {p: seed}), g.letter)}
    if not blind:
        return image
    others = {p: seed for p, seed in seeds.items() if p not in blind}
    x, total = Array(g.letter), sum(np.sum(Array(seed)) for seed in blind.values())
    seen: Array = np.where(largest(x) < np.inf, Array(_implicit(g, blind)), x * total)
    return seen.node + _implicit(g, others) if others else seen.node


def _observes(formula: Node, letter: Node) -> bool:
    """Tell whether a formula is nan where the letter is: it has the letter, and no condition, which is false of nan."""
    below = postorder([formula])
    return letter in below and not any(node.dtype is BOOL for node in below)


def _implicit(g: Equations, seeds: Mapping[Node, Node]) -> Node:
    """Return -inv(g_x) dg."""
    n = g.letter.size
    (change,) = pushforward([g.formula], seeds)
    if change is None:
        return zeros(g.letter.shape)
    if not g.letter.ndim:
        return simplify([-change / g.slope])[0]
    right = reshape(-change, (n,))
    step = np.linalg.solve(Array(reshape(g.slope, (n, n))), Array(right))
    return reshape(simplify([step.node])[0], g.letter.shape)


def _regular(g: Equations, x: Array) -> Any:
    """Tell whether a root is a single one, by its uncertainty d: g_x has to stay about the same along it.

    That is |inv(g_x) g_xx d d| <= |d| / 4, a half of what is enough for a single root nearby (Kantorovich 1948).
    """
    matrix = g.derivative(x)
    error = g.uncertainty(x)
    if not g.letter.ndim:
        step = error / matrix
        bent = g.bent(x, step)
        distinct = matrix != 0.0
        return distinct if bent is None else distinct & (4.0 * abs(bent) <= error)
    step = np.reshape(solved(matrix, np.reshape(error, (-1,))), x.shape)
    bent = g.bent(x, step)
    distinct = abs(np.linalg.slogdet(matrix)[1]) < np.inf
    if bent is None:
        return distinct
    away = solved(matrix, np.reshape(bent, (-1,)))
    return distinct & (4.0 * np.linalg.norm(away) <= np.linalg.norm(np.reshape(step, (-1,))))


def _settled(gradient: Equations, x: Array, ends: Sequence[Array]) -> Any:
    """Tell whether no element at a bound is about to leave it: each multiplier is more than rounding."""
    low, high = ends
    held = (x <= low) | (x >= high)
    quiet = held & (abs(gradient.value(x)) <= 2.0**-30 * gradient.at(gradient.terms, x))
    return ~np.any(quiet)


def solutions_in(roots: Sequence[Node]) -> dict[str, tuple[Array, ...]]:
    """Return for each solution in formulas its iterations, its residual and whether it converged, 1 or 0."""
    found: dict[tuple[Any, ...], list[Node]] = {}
    for node in postorder(roots):
        if node.is_custom and isinstance(node.payload.rule, ImplicitRule):
            rule = node.payload.rule
            told = substitute(list(rule.told), dict(zip(rule.parameters, node.args, strict=True)))
            found.setdefault((rule, node.args), told)
    if not found:
        raise ArgumentError("full_output=True of formulas without solutions; expected a root, fixed_point or minimizer")
    columns = zip(*found.values(), strict=True)
    return {name: tuple(map(Array, nodes)) for name, nodes in zip(TOLD, columns, strict=True)}


# ---------------------------------------------------------------------------- what comes


def _read(f: Any, x: Any) -> tuple[Any, Any]:
    """Return a formula and its unknown as symbols, from text and from SymPy too."""
    if isinstance(f, str):
        parsed = later.text.parse_graph(f, {}, undeclared="scalar")
        if isinstance(x, str) and x not in parsed.inputs:
            raise ArgumentError(f"{x!r:.60} is no input of the formula; expected one of {', '.join(parsed.inputs)}")
        return parsed.result, parsed.inputs[x] if isinstance(x, str) else x
    if not is_sympy(f):
        return f, x
    registry = Inputs()
    formula = Array(from_sympy(f, registry))
    return formula, Array(from_sympy(x, registry)) if is_sympy(x) else x


def _title(symbol: Node) -> str:
    """Return the letter of an unknown: the symbol's name, or that of a letter of text."""
    if isinstance(symbol.name, str):
        return symbol.name
    key = symbol.name.key
    # text calls a letter of a function that is called several times x'1
    return str(key[1]).partition("'")[0] if isinstance(key, tuple) and key[0] == "mapped" else "x"


def _real(value: Any, what: str) -> Node:
    try:
        node = as_node(value)
    except DtypeError as error:
        raise DtypeError(f"{what}: {error}") from None
    if node.dtype is INT:
        raise DtypeError(f"{what} is an array of positions; expected real numbers")
    if node.dtype is BOOL:
        raise DtypeError(f"{what} is a condition; expected real numbers")
    return node


def _ends(name: str, bracket: Any) -> list[Node]:
    if bracket is None:
        return []
    if not isinstance(bracket, tuple | list) or len(bracket) != 2:
        told = "expected two numbers or formulas, bracket=(lower, upper)"
        raise ArgumentError(f"bracket={described(bracket)} of {name}; {told}")
    ends = [_real(end, f"the bracket of {name}") for end in bracket]
    for end in ends:
        if end.ndim:
            raise ShapeError(f"the bracket of {name} has an end of shape {show(end.shape)}; expected two scalars")
    if all(end.is_constant for end in ends) and not float(ends[0].value) < float(ends[1].value):
        came = f"bracket=({float(ends[0].value):g}, {float(ends[1].value):g}) of {name}"
        raise ArgumentError(f"{came}; expected a lower end below the upper")
    return ends


def _bounds(asked: Search, bounds: Any) -> list[Node]:
    if bounds is None:
        return []
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ArgumentError(f"bounds={described(bounds)}; expected a pair, the least and the greatest x")
    found = []
    for end, infinite in zip(bounds, (-np.inf, np.inf), strict=True):
        node = _real(infinite if end is None else end, "a bound of minimizer")
        if node.shape not in ((), asked.symbol.shape):
            raise ShapeError(
                f"a bound of shape {show(node.shape)} for an unknown of shape {show(asked.symbol.shape)}; expected one "
                "number, or one for each element"
            )
        found.append(node)
    known = [node.value for node in found if node.is_constant]
    if len(known) == 2 and not (known[0] <= known[1]).all():
        raise ArgumentError("bounds that no x is between; expected the least x first, then the greatest")
    assert asked.start is not None
    _within("the start of minimizer", asked.start, found, "bounds")
    return [broadcast_to(node, asked.symbol.shape) for node in found]


def _within(what: str, start: Node, ends: Sequence[Node], which: str) -> None:
    """Refuse a start of numbers that is not between two others."""
    start = start.args[0] if start.is_contraction else start
    if not all(node.is_constant for node in (start, *ends)):
        return
    low, high = (node.value for node in ends)
    if not ((low <= start.value) & (start.value <= high)).all():
        came = numpy.array2string(start.value, threshold=6, precision=6)
        raise ArgumentError(f"{what}, {came}, is outside of the {which}; expected one between its ends")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | numpy.integer) or value < 1:
        raise ArgumentError(f"at_most={value!r:.40} of {name}; expected a number of iterations, 1 or more")
    return int(value)


def _tolerance(name: str, value: Any) -> float | None:
    if value is None:
        return None
    known = isinstance(value, int | float | numpy.floating) and not isinstance(value, bool)
    if not known or not 0.0 < value < 1.0 or not math.isfinite(value):
        raise ArgumentError(f"tol={value!r:.40} of {name}; expected a number between 0 and 1, relative to the solution")
    return float(value)
