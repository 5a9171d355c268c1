"""The check of a derivative at a point, judged from values alone, and its report.

A rule may be wrong (a custom one above all), and a right rule may meet a point where the formula has no derivative.
:func:`check` compares every way symdiff has of differentiating a formula with differences of the compiled value, and
lists what makes a point special.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ...calculus.cost import cost, extent
from ...calculus.demand import mask_matrices
from ...compiler import compile
from ...errors import ArgumentError, NotDifferentiableError, SingularMatrixError, UnsupportedError
from ...frontend.array import Array
from ...frontend.display import ShownText, table
from ...frontend.formula import Formula, merge_shapes, order_inputs, read_formula
from ...frontend.outputs import Sparse, leaves, template_of
from ...frontend.provenance import join
from ...graph import INT, REAL, Node, inputs_of, postorder
from ...graph.reference.interpret import bind_sizes, with_failures_as_nan
from ...graph.sizes import Shape, Size
from ...ground.budget import budgeted, require
from ...ground.guard import guarded
from ...ground.limits import Budget
from ...printing import text
from ...rewrite import inline, simplify
from ...runtime.calls.arguments import as_integers, sample_shape
from ...runtime.calls.declared import ranges_of
from .certificate import EXPLAINED, TINY, Exact, Sides, allowed, correct_digits, find_loss, find_overflow, is_noise
from .custom_rules import compare_rules
from .differences import Numbers, Tally, extrapolate, nudged
from .kinks import ends_of, find_kinks, look_at_end, look_far_out
from .points import Draw, Systems, conform, definite, ways_to_draw
from .ways import Ways, charge, compare_second

__all__ = ["Comparison", "Finding", "Report", "check"]


#: Directions and seeds tried for an array; up to so many elements, each element is one.
DIRECTIONS = 48
#: Elements of a Jacobian up to which it is computed whole and compared too.
JACOBIAN_ELEMENTS = 10_000
#: Sizes that named dimensions get where no array says what they are.
SMALL_SIZES = (3, 4, 2, 5)
#: Sizes in another order, tried where no number could be compared with the first.
OTHER_SIZES = (4, 3, 5, 2)


@guarded
@budgeted
@with_failures_as_nan
def check(
    formula: Any,
    /,
    wrt: Any = None,
    *,
    at: Mapping[Any, Any] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    seed: int = 0,
    points: int = 1,
    digits: float = 8,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> Report:
    """Compare the derivatives of a formula with differences of its value.

    Parameters
    ----------
    formula : str, SymPy expression, Array, callable, or list, tuple or dict of them
    wrt : Array, SymPy symbol or str, or tuple or list of them, optional
        By default every input.
    at : mapping of input or name to array_like, optional
        The point; inputs it lacks are drawn at random where the formula is finite.
    shapes : mapping of str to shape, optional
    functions : mapping of str to callable, optional
    **named_shapes
        As for :func:`compile`. Named sizes are small numbers where ``at`` does not tell.
    seed : int
        Of the random numbers.
    points : int
        Random points that are tried, where ``at`` does not hold all inputs.
    digits : float
        Correct digits that each number needs, from 1 to 14, where its condition does not explain why it has fewer.
    budget : {None, "default", "strict"} or Budget, optional
        As for :func:`compile`.

    Returns
    -------
    Report
        ``ok``, ``verdict``, ``digits``, the findings, and a text for reading. The verdict is "not certified" where
        many digits cannot follow the formula, and differences of its value tell of nothing that is wrong.

    Notes
    -----
    Forward mode, reverse mode and, where it is small, the Jacobian are compared, in every
    direction of small arrays and in random ones of large arrays. Forward mode is compared with reverse mode, too, and
    second derivatives with their transposes: ``report.certificate()`` is a table of it all. Beside disagreements the
    report lists kinks that the point lies on, derivatives at the ends of functions' domains (an element of a drawn
    input at 0, 1 or -1) and far out, where a limit is lost, custom rules that are not the derivative of
    their own function, and stability rewrites. ``stop_gradient`` holds its argument fixed, and
    a custom function made with ``approximate=True`` changes by its rule.

    Examples
    --------
    >>> check("sin(x) * y").ok
    True
    >>> print(check("abs(x)", at={"x": 0.0}).findings[0])
    kink of abs(x): the derivative is the mean of the one-sided ones
    """
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise ArgumentError(f"points={points!r:.60}; expected a whole number from 1 up")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise ArgumentError(f"seed={seed!r:.60}; expected a whole number from 0 up, or None")
    if isinstance(digits, bool) or not isinstance(digits, int | float) or not 1 <= digits <= 14:
        raise ArgumentError(f"digits={digits!r:.60}; expected a number from 1 to 14")
    read = read_formula(formula, merge_shapes(shapes, named_shapes), _OPTIONS, functions)
    inputs = order_inputs(read, None)
    results = [leaf for leaf in leaves(read.value) if leaf.node.dtype is REAL]
    outputs = [result.node for result in results]
    if not outputs or not inputs:
        raise ArgumentError("nothing to differentiate: expected a formula of real numbers with at least one input")
    if at is not None and not isinstance(at, Mapping):
        raise ArgumentError(f"at= is a {type(at).__name__}; expected a dict of numbers by input")
    given = {_name_of(key): number for key, number in (at or {}).items()}
    fixed = _with_patterns(read, given)
    unknown = sorted(given.keys() - inputs.keys())
    if unknown:
        raise ArgumentError(f"at= holds {', '.join(unknown)}; the inputs are {', '.join(inputs) or 'none'}")
    for name, number in given.items():
        try:
            if np.iscomplexobj(number):
                raise TypeError
            np.asarray(number, None if name in fixed else float)
        except (TypeError, ValueError):
            raise ArgumentError(f"at= has {number!r:.60} for {name}; expected real numbers") from None
    moving = [node for node in inputs_of(outputs) if node.dtype is not INT and node.name not in fixed]
    chosen = list(map(Array, moving)) if wrt is None else read.variables(wrt)
    chosen = list(chosen) if isinstance(chosen, tuple | list) else [chosen]
    chosen = [leaves(one)[0] if isinstance(one, Sparse) else one for one in chosen]
    for one in chosen:
        if not isinstance(one, Array):
            own = "; the numbers of a point are at={'x': 2.0}" * isinstance(one, Mapping | float | np.ndarray)
            raise ArgumentError(f"wrt holds a {type(one).__name__}; expected inputs, or names of them{own}")
    read.refuse_unused()
    rewrites = join(result.provenance for result in results).facts.rewrites
    for small in (SMALL_SIZES, OTHER_SIZES):  # A.T @ A is singular where A has more columns than rows
        tried = _Check(outputs, inputs, [a.node for a in chosen], given, np.random.default_rng(seed), small, digits)
        report = tried.run(rewrites, points)
        if report.compared or not tried.has_letters:
            break
    return report


_OPTIONS = ("wrt", "at", "shapes", "functions", "seed", "points", "digits", "budget")


def _with_patterns(read: Formula, given: dict[str, Any]) -> set[str]:
    """Put the inputs of sparse matrices in their places at a point: the names of those that no difference moves."""
    fixed: set[str] = set()
    for name, group in read.groups.items():
        if not isinstance(group, Sparse):
            continue
        if name not in given:
            raise ArgumentError(
                f"check of a formula of the sparse matrix {name} without its pattern; expected at={{{name!r}: a "
                "scipy.sparse array}, whose nonzeros are moved"
            )
        parts = [str(part.node.name) for part in leaves(group)]
        values = dict(zip(parts, template_of(group).values_of(given.pop(name), f"at[{name!r}]"), strict=True))
        given.update({part: value for part, value in values.items() if part in read.inputs})
        fixed.update(parts[1:])
    return fixed


def _name_of(key: Any) -> str:
    if isinstance(key, Array | Sparse):
        key = leaves(key)[0]
    if isinstance(key, Array):
        return str(key.node.name)
    return str(getattr(key, "name", key))


class _Check:
    """One formula at one point."""

    def __init__(
        self,
        outputs: list[Node],
        inputs: dict[str, Node],
        wrt: list[Node],
        given: Mapping[str, Any],
        rng: np.random.Generator,
        small: Sequence[int] = SMALL_SIZES,
        digits: float = 8,
    ) -> None:
        self.digits = digits
        self.correct: float | None = None
        self.condition: float | None = None
        self.exact: Exact | None = None
        self.kinks: list[str] = []
        self.undefined = False
        self.bent: bool | None = True
        self.judged = 0
        self.noisy = False
        self.paired: set[Node] = set()
        self.outputs = outputs
        self.inputs = inputs
        self.wrt = wrt
        self.given = {
            name: as_integers(name, number) if inputs[name].dtype is INT else np.asarray(number, float)
            for name, number in given.items()
        }
        self.rng = rng
        self.has_letters = False
        self.sizes = self._choose_sizes(small)
        self._cost = cost(outputs)
        require(8 * extent(outputs))
        self._value = compile(list(map(Array, outputs)), list(map(Array, inputs.values())))
        self._systems = Systems(simplify(inline(outputs)))
        self.findings: list[Finding] = []
        self.compared = 0
        self.worst = 0.0
        self.comparisons: dict[str, Comparison] = {}
        self._ways: dict[Node, Ways] = {}

    def run(self, known: Sequence[str], points: int) -> Report:
        report = self._run(known)
        if report.compared and self.given.keys() != self.inputs.keys():
            for _ in range(points - 1):
                report = self._run(known)
            self._look_at_ends(report.point)
        findings, comparisons = tuple(self.findings), tuple(self.comparisons.values())
        digits = self.correct if self.judged else None  # beside infinite slopes no digits are claimed
        return replace(report, findings=findings, comparisons=comparisons, digits=digits, condition=self.condition)

    def _look_at_ends(self, point: dict[str, Numbers]) -> None:
        """Compare derivatives at the ends of functions' domains, by inputs that were drawn."""
        plain = mask_matrices(simplify(inline(self.outputs), written=True))
        drawn = [w for w in self.wrt if w.is_input and w.name not in self.given]
        tally = Tally("both modes at the ends of domains")
        for end in ends_of(plain, drawn, point):
            there = end.of(point)
            ways = self._ways.get(end.w)
            if there is None or ways is None:
                continue
            charge(4 * self._cost)
            if math.isinf(end.number):
                special = list(look_far_out(end, point, lambda at: self._value(inputs=at), ways))
            elif self._is_finite(there):
                special = look_at_end(end, plain, there, ways, tally)
            else:
                special = self._lost(there)
            for message in special[:1]:
                self._find("end", f"{end.title}: {message}")
        if tally.compared or tally.wrong:
            self._settle(tally, "")

    def _run(self, known: Sequence[str]) -> Report:
        point = self._choose_point()
        if point is None and self.given.keys() == self.inputs.keys() and self._out_of_range(self.given):
            return Report(tuple(self.findings), self.given, 0, 0.0)
        if point is None:
            told = "is not finite at any point tried, or a matrix of the formula is singular; give one in at="
            self._find("point", f"the value {told}", wrong=True)
            return Report(tuple(self.findings), {}, 0, 0.0)
        rewrites = list(known)
        plain = mask_matrices(simplify(inline(self.outputs), rewrites, written=True))
        kinks = find_kinks(plain, inputs_of(self.wrt), point)
        self.kinks, self.undefined = kinks, any(one.startswith("equal eigenvalues") for one in kinks)
        for verdict in compare_rules(self.outputs, point, self.rng):
            self._find(*verdict[:2], wrong=verdict.wrong)
        with suppress(NotDifferentiableError):  # which the comparison tells
            self._out_of_range(point)
        self.exact = Exact(point, self.inputs, self.sizes, self.outputs)
        self._certify_value(point)
        straight, self.bent = self._smoothness(point) if kinks else (True, True)
        for message in kinks if not (straight and self.bent) else ():
            self._find("kink", message)
        for w in self.wrt:
            try:
                followed = self._compare([w], point, at_kink=bool(kinks))
                if kinks and not followed:  # once more where no convention excuses a wrong rule
                    self._compare([w], self._beside(point), at_kink=False)
            except NotDifferentiableError as error:
                self._find("derivative", str(error), wrong=True)
        if self.bent is False and not any(finding.kind == "second order" for finding in self.findings):
            self._find_convention("the inputs together")  # each of which may be smooth alone
        for line in rewrites:
            self._find("rewrite", line)
        return Report(tuple(self.findings), point, self.compared, self.worst, tuple(self.comparisons.values()))

    def _lost(self, point: dict[str, Numbers]) -> list[str]:
        """Return sentences about values that are no numbers at an end, though the exact ones are."""
        try:
            return list(find_overflow(self.outputs, [], point, self.sizes, self._value(inputs=point)))
        except SingularMatrixError:
            return []

    def _find(self, kind: str, message: str, *, wrong: bool = False) -> None:
        finding = Finding(kind, message, wrong)
        if finding not in self.findings:
            self.findings.append(finding)

    # ---------------------------------------------------------------- nan and inf where the exact number is finite

    def _out_of_range(self, point: Mapping[str, Numbers]) -> bool:
        """Report values and derivatives that are no numbers, though the exact ones are; tell whether there are any."""
        before = len(self.findings)
        results = self._value(inputs=point)
        for message in find_overflow(self.outputs, self.wrt, point, self.sizes, results):
            self._find("range", message, wrong=True)
        return len(self.findings) > before

    # ---------------------------------------------------------------- the point

    def _choose_sizes(self, small: Sequence[int]) -> dict[str, int]:
        known = bind_sizes([self.inputs[name] for name in self.given], [a.shape for a in self.given.values()])
        named = [size for node in self.inputs.values() for size in node.shape if isinstance(size, Size)]
        rest = sorted({name for size in named for name in size.names} - known.keys())
        self.has_letters = bool(rest)
        return known | {name: small[i % len(small)] for i, name in enumerate(rest)}

    def _fixed(self, shape: Shape) -> tuple[int, ...]:
        return sample_shape(shape, self.sizes)

    def _choose_point(self) -> dict[str, Numbers] | None:
        drawn = [name for name in self.inputs if name not in self.given]
        for draw in ways_to_draw(self.rng) if drawn else [partial(definite, self.rng)]:
            point = {
                name: self.given[name] if name in self.given else self._drawn(node, draw)
                for name, node in self.inputs.items()
            }
            if self._is_finite(point) and (not drawn or self._systems.are_regular(point)):
                return point
        return None

    def _drawn(self, node: Node, draw: Draw) -> Numbers:
        """Draw an array; positions lie within the shortest of the axes that they are of."""
        shape = self._fixed(node.shape)
        if node.dtype is not INT:
            return conform(node.assumptions, draw(shape))
        ranges = ranges_of(inline(self.outputs, ("custom",)))
        lengths = [self._fixed((own.size,))[0] for own in ranges if own.name == node.name]
        drawn: Any = self.rng.integers(0, max(1, min(lengths, default=1)), shape)
        return np.asarray(drawn)

    def _is_finite(self, point: Mapping[str, Numbers]) -> bool:
        charge(self._cost)
        try:
            return all(bool(np.isfinite(result).all()) for result in self._value(inputs=point))
        except SingularMatrixError:
            return False

    def _beside(self, point: dict[str, Numbers]) -> dict[str, Numbers]:
        """Return a point near by, where the value is finite if one of a few is."""
        near = point
        for sign in (1.0, -1.0, 1.0, -1.0):
            near = {
                name: a
                if self.inputs[name].dtype is INT
                else conform(self.inputs[name].assumptions, a + sign * self.rng.uniform(0.01, 0.03, a.shape))
                for name, a in point.items()
            }
            if self._is_finite(near):
                break
        return near

    # ---------------------------------------------------------------- derivatives against differences

    def _compare(self, wrt: list[Node], point: dict[str, Numbers], *, at_kink: bool) -> bool:
        """Compare all ways of differentiating; tell whether with numbers in many digits."""
        followed = False
        for w in wrt:
            if not math.prod(self._fixed(w.shape)):
                continue  # there is no direction to move an array without elements in
            self._ways[w] = ways = Ways(self.outputs, self.inputs, w, self._fixed)
            title = _title(w)
            if not ways.size:
                continue
            width = math.prod(self._fixed(w.shape))
            rows = list(self._directions(width))
            if self.exact is not None and point is self.exact_point and len(rows) > 2:
                affordable = self.exact.affordable(ways.moves)
                some = max(min(affordable, 1), affordable // len(self.wrt))
                if 0 < some < len(rows):  # fewer directions that mix all elements
                    rows = [self.rng.normal(size=width) for _ in range(some)]
            require(16 * ways.size * min(ways.size, DIRECTIONS))
            seeds = np.array(list(self._directions(ways.size)))
            forward = Tally(f"forward mode by {title}")
            reverse = Tally(f"reverse mode by {title}")
            whole = Tally(f"the Jacobian with respect to {title}")
            adjoint = Tally(f"forward with reverse mode by {title}")
            pulled = np.array([ways.reverse(point, seed) for seed in seeds])
            near = list(nudged(point, self.inputs))
            jacobian = ways.jacobian(point) if ways.size * rows[0].size <= JACOBIAN_ELEMENTS else None
            sides = self._sides(ways, rows, point)
            followed = sides is not None
            loss = _Losses(self, ways, rows, sides)
            for k, row in enumerate(rows):
                if sides is not None:
                    pushed, side = ways.forward(point, row), sides[k]
                    pulls_here = pulled @ row
                    ones = np.eye(ways.size)
                    found: list[Any] = [(forward, pushed, ones, partial(ways.forward, direction=row))]
                    if jacobian is not None:
                        found.append((whole, jacobian @ row, ones, partial(_pushed, ways, row)))
                    found.append((reverse, pulls_here, seeds, partial(_pulled, ways, seeds, row)))
                    for tally, got, weights, at in found:
                        beside: Callable[[], list[Any]] = partial(list, map(at, near))
                        self._judge(tally, got, weights, side, loss, k, beside)
                    with np.errstate(invalid="ignore"):
                        both = np.where(seeds, seeds * pushed, 0.0).sum(axis=1)
                        known = np.where(np.isfinite(both) & np.isfinite(pulls_here) & side.smooth.all(), both, np.nan)
                        known = np.where(seeds @ np.where(side.smooth, side.right, 0.0) == 0, np.nan, known)
                    free, _ = allowed(pulls_here, known, self.digits, partial(loss.weighted, np.abs(seeds), k))
                    adjoint.judge(pulls_here, known, 2 * free)
                    continue
                charge(100 * ways.size + 2 * ways.size * len(seeds))
                slope, error = extrapolate(partial(ways.moved, point, row))
                pushed = ways.forward(point, row)
                forward.add(pushed, slope, error, [partial(ways.forward, other, row) for other in near])
                if jacobian is not None:
                    whole.add(jacobian @ row, slope, error, [partial(_pushed, ways, row, other) for other in near])
                # an element without weight counts for nothing, even where it has no difference
                with np.errstate(invalid="ignore"):
                    weighted = np.where(seeds, seeds * slope, 0.0).sum(axis=1)
                    doubt = np.where(seeds, np.abs(seeds) * error, 0.0).sum(axis=1)
                    both = np.where(seeds, seeds * pushed, 0.0).sum(axis=1)
                pulls = [partial(_pulled, ways, seeds, row, other) for other in near]
                reverse.add(pulled @ row, weighted, doubt, pulls)
                pushes = [partial(_pushed_less, ways, seeds, row, both, pulled @ row, other) for other in near]
                adjoint.add(pulled @ row, both, np.zeros_like(both), [*pulls, *pushes])
            lost = loss.told()
            kinked = sides is not None and not all((side.smooth & ~side.jumps).all() for side in sides)
            for told in {side.endless(): None for side in sides or ()}:
                if told:
                    self._find("kink", f"slopes with respect to {title} are infinite on the {told}")
            if kinked and not any(finding.kind == "kink" for finding in self.findings):
                self._find("kink", f"one-sided derivatives with respect to {title} differ")
            at_kink = at_kink if sides is None else False
            for tally in (forward, reverse, whole):
                if tally.wrong and lost:
                    tally.example += f"; {lost}"
                if not at_kink:
                    self._settle(tally, "with differences")
            if not at_kink:
                self._settle(adjoint, "")
                second = Tally(f"second derivatives with their transposes by {title}")
                moved = Tally(f"second derivatives with differences of first ones by {title}")
                if kinked:
                    continue
                if self.exact is not None:
                    self.exact.refill()
                compare_second(
                    self.outputs,
                    self.inputs,
                    w,
                    point,
                    self._fixed,
                    self.rng,
                    second,
                    moved,
                    None if sides is None else partial(self._second, ways, w),
                )
                self._settle(second, "")
                self._settle(moved, "")
            if at_kink and forward.wrong:
                one_sided = f"are not the mean of the one-sided ones, {forward.example}"
                self._find("kink", f"derivatives with respect to {title} {one_sided}")
        return followed

    # ---------------------------------------------------------------- derivatives against many digits

    def _smoothness(self, point: Mapping[str, Numbers]) -> tuple[bool | None, bool | None]:
        """Tell whether there are a first and a second derivative where an operation has none, None if not known."""
        assert self.exact is not None
        names = sorted({str(w.name) for w in self.wrt if w.is_input} & point.keys())
        if len(names) < len(self.wrt) or any(node.is_barrier for node in postorder(self.outputs)):
            return None, None
        try:
            found = [self.exact.smoothness(self.outputs, names, np.random.default_rng(k)) for k in range(3)]
            return all(straight for straight, _ in found), all(bent for _, bent in found)
        except UnsupportedError:
            return None, None

    def _find_convention(self, title: str) -> None:
        told = f"one-sided second derivatives with respect to {title} differ"
        self._find("second order", f"{told}; a number given is a convention")

    def _uncertain(self, why: str) -> None:
        self._find("not certified", f"{why}; differences tell of nothing wrong beyond what is listed")

    def _sides(self, ways: Ways, rows: list[Numbers], point: dict[str, Numbers]) -> list[Sides] | None:
        """Return derivatives in many digits along all directions, None where these cannot follow."""
        if self.exact is None or point is not self.exact_point:
            return None
        if any(node.is_custom and node.payload.rule.approximate for node in postorder(self.outputs)):
            self._uncertain("a custom function's rule is approximate by its author's word")
            return None
        try:
            return [
                self.exact.slopes(ways.moves, ways.along, {ways.toward: row.reshape(ways.wrt_shape)}) for row in rows
            ]
        except UnsupportedError as error:
            self._uncertain(str(error))
            return None

    def _judge(
        self,
        tally: Tally,
        got: Numbers,
        weights: Numbers,
        side: Sides,
        loss: _Losses,
        k: int,
        near: Callable[[], Sequence[Numbers]],
    ) -> None:
        if np.array_equal(weights, np.eye(len(weights))):
            wanted = side.nearest(got)
            if self.undefined:  # single eigenvalues that are equal have no derivative by definition
                wanted = np.where(np.isnan(got) & ~side.smooth, np.nan, wanted)
        else:
            exact = np.where(side.smooth, side.right, np.nan)
            wanted = np.where(weights, weights * exact, 0.0).sum(axis=1)
        noise = is_noise(got, wanted, near)
        self.noisy = self.noisy or bool(noise.any())
        got = np.where(noise, 0.0, got)
        free, needed = allowed(got, wanted, self.digits, lambda: np.abs(weights) @ loss.condition(k))
        tally.judge(got, wanted, free)
        self._note(got, wanted, (lambda: np.abs(weights) @ loss.condition(k)) if needed else None)
        if tally.wrong and side.smooth.all() and not self.kinks and np.isfinite(got).all():
            loss.any_wrong = True  # by rounding, and not by a branch
        self.judged += int(np.isfinite(wanted).sum())
        loss.explained = loss.explained or (needed and not tally.wrong)

    def _note(self, got: Numbers, wanted: Numbers, condition: Callable[[], Numbers] | None) -> None:
        """Keep the least number of correct digits, and the condition there."""
        digits = correct_digits(got, wanted)
        if self.correct is None or digits < self.correct:
            self.correct = digits
        if condition is not None:
            with np.errstate(all="ignore"):
                found = condition() / np.abs(wanted)
            self.condition = max(self.condition or 0.0, float(np.max(found, initial=0.0, where=np.isfinite(found))))

    def _flat_value(self, point: Mapping[str, Numbers]) -> Numbers:
        return np.concatenate([np.ravel(one) for one in self._value(inputs=point)]).astype(float)

    def _certify_value(self, point: dict[str, Numbers]) -> None:
        self.exact_point = point
        exact = self.exact
        assert exact is not None
        try:
            wanted = exact.values(self.outputs)
            got = self._flat_value(point)
            noise = is_noise(got, wanted, lambda: list(map(self._flat_value, nudged(point, self.inputs))))
            self.noisy = self.noisy or bool(noise.any())
            got = np.where(noise, 0.0, got)
            condition = partial(exact.condition, self.outputs, wanted)
            free, needed = allowed(got, wanted, self.digits, condition)
            tally = Tally("the value")
            tally.judge(got, wanted, free)
            self._note(got, wanted, condition if needed else None)
            if tally.wrong:
                where = find_loss(simplify(inline(self.outputs), written=True), point, self.sizes)
                told = f"; digits are lost in {where}" if where else ""
                self._find(
                    "digits",
                    f"the value has {correct_digits(got, wanted):.0f} correct digits, {tally.example}{told}",
                    wrong=True,
                )
            elif needed:
                self._find(
                    "digits", f"the value has {correct_digits(got, wanted):.0f} correct digits, which {_CONDITION}"
                )
        except UnsupportedError as error:
            self._uncertain(str(error))

    def _second(
        self, ways: Ways, w: Node, weights: Numbers, u: Numbers, v: Numbers, got: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Return a second derivative in many digits and the error it may have, None where these cannot follow."""
        exact = self.exact
        assert exact is not None
        try:
            rows = [one.reshape(ways.wrt_shape) for one in (u, v)]
            row = dict(zip(ways.turns, rows, strict=True))
            low, high = exact.mixed(ways.bends, ways.paces, row)
            self.paired.add(w)
            if self.noisy and not low.any() and not high.any():
                return math.nan, math.inf
            if np.isnan(low).any():
                self._find("second order", f"second derivatives with respect to {_title(w)} are infinite, or none")
                return math.nan, math.inf
            ends = np.array([weights * low, weights * high])
            least, most = float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())
            if not all(map(math.isfinite, got)) and max(-least, most) > _NEAR_THE_END:
                return math.nan, math.inf
            wanted = float(np.clip(got[0], least, most)) if math.isfinite(got[0]) else (least + most) / 2
            error = 10.0**-self.digits * float(np.abs(ends).max(axis=0).sum()) + TINY
            if least != most:
                self._find_convention(_title(w))
            if least != most or self.bent is False:  # kinks that meet have more sides than two directions see
                return math.nan, math.inf
            if any(not abs(one - wanted) <= error for one in got):
                condition = exact.mixed_condition(ways.bends, ways.paces, row, ends)
                if not ends.any():  # of a number that is 0 rounding leaves a share of its terms
                    condition = condition + self._terms(ways, w, rows)
                error = max(error, EXPLAINED * 2.0**-53 * float(np.abs(weights) @ condition))
            return wanted, error
        except UnsupportedError as error:
            if w in self.paired:
                return math.nan, math.inf  # other directions were compared
            self._uncertain(f"second derivatives with respect to {_title(w)} need {error}")
            return None

    def _terms(self, ways: Ways, w: Node, rows: Sequence[Numbers]) -> Numbers:
        """Return the size of terms of second derivatives: of the value and of slopes, over the numbers that move."""
        exact = self.exact
        assert exact is not None
        size = min(1.0, np.max(np.abs(exact.point[w.name]), initial=0.0)) if w.is_input else 1.0
        shares = [float(np.max(np.abs(row))) / (size or 1.0) for row in rows]
        slopes = [exact.slopes(ways.moves, ways.along, {ways.toward: row}).right for row in rows]
        found = [np.abs(self._flat_value(exact.point)) * math.prod(shares)]
        found += [np.abs(slope) * share for slope, share in zip(slopes, shares[::-1], strict=True)]
        largest: Numbers = np.nan_to_num(np.max(found, axis=0), nan=0.0, posinf=0.0)
        return largest

    def _directions(self, size: int) -> Iterator[Numbers]:
        if size <= DIRECTIONS:
            yield from np.eye(size)
        else:
            for _ in range(DIRECTIONS):
                yield self.rng.normal(size=size)

    def _settle(self, tally: Tally, against: str) -> None:
        title = f"{tally.title} {against}".rstrip()
        before = self.comparisons.get(title, Comparison(title, 0, 0, 0, 0.0))
        self.comparisons[title] = before.joined(tally)
        if against:
            self.compared += tally.compared
            self.worst = max(self.worst, tally.worst)
        if tally.wrong:
            message = f"{tally.wrong} of {tally.compared} numbers differ, {tally.example}"
            self._find("derivative", f"{tally.title}: {message}", wrong=True)
        if tally.unsettled:
            self._find("unsettled", f"{tally.title}: differences of {tally.unsettled} numbers do not settle")


#: Size from which a number may overflow along a direction that is longer than 1.
_NEAR_THE_END = 1e300

_CONDITION = f"the condition explains (an error of at most {EXPLAINED:.0f} roundings of it)"


class _Losses:
    """Conditions of the derivatives with respect to one array, computed where they are asked for."""

    def __init__(self, owner: _Check, ways: Ways, rows: list[Numbers], sides: list[Sides] | None) -> None:
        self.owner, self.ways, self.rows, self.sides = owner, ways, rows, sides or []
        self.known: dict[int, Numbers] = {}
        self.any_wrong = self.explained = False

    def condition(self, k: int) -> Numbers:
        """Return the sum of abs(x dF/dx) of the derivatives along one direction."""
        if k not in self.known:
            exact = self.owner.exact
            assert exact is not None
            row = {self.ways.toward: self.rows[k].reshape(self.ways.wrt_shape)}
            try:
                self.known[k] = exact.condition(self.ways.moves, self.sides[k].right, self.ways.along, row)
            except UnsupportedError as error:
                self.owner._uncertain(f"the condition needs {error}")
                self.known[k] = np.full(self.ways.size, np.inf)
        return self.known[k]

    def weighted(self, weights: Numbers, k: int) -> Numbers:
        """Return the conditions of weighted sums of them."""
        total: Numbers = weights @ self.condition(k)
        return total

    def told(self) -> str:
        """Name the operation in which digits are lost; tell what the condition explains."""
        owner = self.owner
        if self.any_wrong and owner.exact is not None:
            where = find_loss(simplify(self.ways.slope_nodes()), owner.exact.point, owner.sizes)
            return f"digits are lost in {where}" if where else ""
        if self.explained:
            owner._find("digits", f"{owner.correct or 0:.0f} digits of derivatives are correct, which {_CONDITION}")
        return ""


def _pushed(ways: Ways, row: Numbers, point: Mapping[str, Numbers]) -> Numbers:
    return ways.jacobian(point) @ row


def _pulled(ways: Ways, seeds: Numbers, row: Numbers, point: Mapping[str, Numbers]) -> Numbers:
    return np.array([ways.reverse(point, seed) for seed in seeds]) @ row


def _pushed_less(
    ways: Ways, seeds: Numbers, row: Numbers, both: Numbers, pulled: Numbers, point: Mapping[str, Numbers]
) -> Numbers:
    total: Numbers = np.where(seeds, seeds * ways.forward(point, row), 0.0).sum(axis=1)
    return total - both + pulled


def _title(w: Node) -> str:
    shown = text(w).rpartition("\n")[2]
    return shown if len(shown) <= 40 else shown[:37] + "..."


@dataclass(frozen=True)
class Finding:
    """One thing to know about a formula at a point.

    Parameters
    ----------
    kind : {"derivative", "custom", "point", "range", "approximate", "kink", "end", "unsettled",
        "rewrite", "digits", "second order", "not certified"}
        A wrong derivative, a wrong rule of a custom function, no point to check at, a nan or inf
        where the exact number is finite; a rule that is approximate by its author's word, a place
        that is not smooth, what is special at an end of a function's domain, differences too coarse
        to tell, a rewrite for stability, digits that the formula's condition takes, second derivatives that differ
        from side to side, what many digits cannot follow.
    message : str
    wrong : bool
        Whether it makes the report not ok.
    """

    kind: str
    message: str
    wrong: bool = False

    def __str__(self) -> str:
        if self.kind in ("kink", "second order"):
            return f"{'WRONG: ' if self.wrong else ''}{self.message}"
        return f"{'WRONG ' if self.wrong else ''}{self.kind}: {self.message}"


@dataclass(frozen=True)
class Comparison:
    """One way of differentiating, compared at all points.

    Parameters
    ----------
    title : str
        What was compared with what.
    compared, wrong, unsettled : int
        Numbers that were compared, that differ, and whose differences are too coarse to tell.
    worst : float
        The largest relative difference.
    """

    title: str
    compared: int
    wrong: int
    unsettled: int
    worst: float

    def joined(self, tally: Tally) -> Comparison:
        """Return this comparison and another count of the same."""
        return Comparison(
            self.title,
            self.compared + tally.compared,
            self.wrong + tally.wrong,
            self.unsettled + tally.unsettled,
            max(self.worst, tally.worst),
        )

    def cells(self) -> tuple[str, str, str]:
        """Return what was compared, how much, and how it went."""
        told = f"{self.wrong} WRONG" if self.wrong else f"{self.unsettled} unsettled" if self.unsettled else "ok"
        return self.title, f"{self.compared}", f"{told}, {self.worst:.1e}" if self.compared else told


@dataclass(frozen=True)
class Report:
    """The findings of :func:`symdiff.check`.

    Parameters
    ----------
    findings : tuple of Finding
    point : dict of str to ndarray
        Where it was checked.
    compared : int
        How many numbers were compared with differences.
    disagreement : float
        The largest relative difference among those.
    comparisons : tuple of Comparison
        What was compared: beside differences forward with reverse mode, and second derivatives with
        their transposes.
    digits : float or None
        Digits of the value and first derivatives that are correct at the point, None where no slope is finite.
    condition : float or None
        Of the number that has fewest, the sum of abs(x dF/dx) / abs(F), where it was needed to explain a loss.
    """

    findings: tuple[Finding, ...]
    point: dict[str, Numbers] = field(repr=False)
    compared: int
    disagreement: float
    comparisons: tuple[Comparison, ...] = field(default=(), repr=False)
    digits: float | None = None
    condition: float | None = None

    @property
    def wrong(self) -> bool:
        """True if anything is wrong; kinks and rewrites are not."""
        return any(finding.wrong for finding in self.findings)

    @property
    def certified(self) -> bool:
        """True if all numbers could be compared with many digits."""
        return not any(finding.kind == "not certified" for finding in self.findings)

    @property
    def ok(self) -> bool:
        """True if nothing is wrong, and that is certain."""
        return self.certified and not self.wrong

    @property
    def verdict(self) -> str:
        """One of "ok", "ok to first order", "NOT OK" and "not certified"."""
        if self.wrong or not self.certified:
            return "NOT OK" if self.wrong else "not certified"
        return "ok" if self.order == 2 else "ok to first order"

    @property
    def order(self) -> int:
        """Up to which order derivatives are numbers: 1 where second ones differ from side to side."""
        return 1 if any(finding.kind == "second order" for finding in self.findings) else 2

    def _digits(self) -> str:
        told = "" if self.digits is None else f"{self.digits:.0f} digits are correct"
        return told + ("" if self.condition is None else f", the condition is {self.condition:.1e}")

    def __bool__(self) -> bool:
        return self.ok

    def _repr_html_(self) -> str:
        rows = [("result", self.verdict), ("compared", f"{self.compared} numbers with differences")]
        rows += [("largest difference", f"{self.disagreement:.1e}, relative")]
        rows += [("digits", self._digits())] if self.digits is not None else []
        rows += [(title, f"{count} numbers: {told}") for title, count, told in (c.cells() for c in self.comparisons)]
        return table([*rows, *((finding.kind, finding.message) for finding in self.findings)])

    def __str__(self) -> str:
        head = self.verdict
        told = [self._digits()] if self.digits is not None else []
        lines = [f"{head}: {self.compared} numbers compared with differences", *told, *map(str, self.findings)]
        return "\n  ".join(lines)

    def certificate(self) -> ShownText:
        """Return a table of all that was compared, and the findings.

        Examples
        --------
        >>> import symdiff as sd
        >>> print(sd.check("x * y", at={"x": 1.0, "y": 2.0}).certificate().splitlines()[2].split(" with ")[0])
        forward mode by x
        """
        rows = [comparison.cells() for comparison in self.comparisons]
        wide = max((len(title) for title, _, _ in rows), default=0)
        most = max((len(count) for _, count, _ in rows), default=0)
        lines = [f"{title:<{wide}}  {count:>{most}}  {told}" for title, count, told in rows]
        return ShownText(
            "\n".join([self.verdict, *([self._digits()] if self._digits() else []), *lines, *map(str, self.findings)])
        )
