"""What a check found: a list of findings, and whether one of them is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...frontend.display import ShownText, table
from .differences import Numbers, Tally


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
    """What :func:`symdiff.check` found.

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
        """Whether anything is wrong; kinks and rewrites are not."""
        return any(finding.wrong for finding in self.findings)

    @property
    def certified(self) -> bool:
        """Whether all numbers could be compared with many digits."""
        return not any(finding.kind == "not certified" for finding in self.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and that is certain."""
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
