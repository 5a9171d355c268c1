"""What a check found: a list of findings, and whether one of them is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...frontend.outputs.display import table
from .differences import Numbers


@dataclass(frozen=True)
class Finding:
    """One thing to know about a formula at a point.

    Parameters
    ----------
    kind : {"derivative", "custom", "point", "range", "approximate", "kink", "unsettled", "rewrite"}
        A wrong derivative, a wrong rule of a custom function, no point to check at, a nan or inf
        where the exact number is finite; a rule that is approximate by its author's word, a place
        that is not smooth, differences too coarse to tell, a rewrite for stability.
    message : str
    wrong : bool
        Whether it makes the report not ok.
    """

    kind: str
    message: str
    wrong: bool = False

    def __str__(self) -> str:
        return self.message if self.kind == "kink" else f"{'WRONG ' if self.wrong else ''}{self.kind}: {self.message}"


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
    """

    findings: tuple[Finding, ...]
    point: dict[str, Numbers] = field(repr=False)
    compared: int
    disagreement: float

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; kinks and rewrites are not."""
        return not any(finding.wrong for finding in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    def _repr_html_(self) -> str:
        rows = [("result", "ok" if self.ok else "NOT OK"), ("compared", f"{self.compared} numbers with differences")]
        rows += [("largest difference", f"{self.disagreement:.1e}, relative")]
        return table([*rows, *((finding.kind, finding.message) for finding in self.findings)])

    def __str__(self) -> str:
        head = "ok" if self.ok else "NOT OK"
        lines = [f"{head}: {self.compared} numbers compared with differences", *map(str, self.findings)]
        return "\n  ".join(lines)
