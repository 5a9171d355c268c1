"""What was measured, to read: a table of text or Markdown, and a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["draw", "markdown", "table"]

Rows: TypeAlias = Sequence[dict[str, Any]]


def table(rows: Rows, peers: Rows) -> str:
    """Return the results for reading: times, then for each other library its time and the ratio to ours."""
    lines = _cells(rows, peers)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    aligned = [[*map(str.ljust, line[:3], widths[:3]), *map(str.rjust, line[3:], widths[3:])] for line in lines]
    shown = ["  ".join(line) for line in aligned]
    return "\n".join([shown[0], "-" * len(shown[0]), *shown[1:]])


def markdown(machine: Mapping[str, Any], rows: Rows, peers: Rows) -> str:
    """Return a page of Markdown: the machine, and the table."""
    head, *lines = _cells(rows, peers)
    rule = [":--" if i < 3 else "--:" for i in range(len(head))]
    told = "\n".join(f"- {key}: {value}" for key, value in machine.items())
    body = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in (head, rule, *lines))
    note = "Medians of one run; `÷ out=` is the time of another library divided by ours."
    return f"# Times\n\n{told}\n\n{note}\n\n{body}\n"


def draw(rows: Rows, peers: Rows, path: Path) -> None:
    """Draw the time of each case as a bar, beside the bars of the other libraries, on a logarithmic axis."""
    from matplotlib.figure import Figure

    libraries = ["symdiff", *dict.fromkeys(line["peer"] for line in peers if "case" in line)]
    figure = Figure(figsize=(8, 1.2 + 0.28 * len(rows) * len(libraries)), layout="constrained")
    axes = figure.subplots()
    thick = 0.8 / len(libraries)
    for k, library in enumerate(libraries):
        if library == "symdiff":
            found = [[row["median_out"]] for row in rows]
        else:
            own = [p for p in peers if p["peer"] == library and "median" in p]
            found = [[p["median"] for p in own if _matches(row, p)] for row in rows]
        places = [i + k * thick for i, one in enumerate(found) if one]
        axes.barh(places, [one[0] * 1e6 for one in found if one], height=thick, label=library)
    axes.set_yticks([i + 0.4 - thick / 2 for i in range(len(rows))])
    axes.set_yticklabels([" ".join(filter(None, (row["case"], row["layout"]))) for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("microseconds a call")
    axes.legend()
    figure.savefig(path)


def _cells(rows: Rows, peers: Rows) -> list[list[str]]:
    libraries = list(dict.fromkeys(line["peer"] for line in peers if "case" in line))
    head = ["case", "layout", "by", "derive ms", "compile ms", "run µs", "into out= µs"]
    head += [column for peer in libraries for column in (f"{peer} µs", f"{peer} ÷ out=")]
    lines = [head]
    for row in rows:
        line = [row["case"], row["layout"], row["backend"]]
        line += [f"{row[key] * 1e3:,.1f}" for key in ("derive", "compile")]
        line += [f"{row[key] * 1e6:,.1f}" for key in ("median", "median_out")]
        for peer in libraries:
            line += _beside(row, [p for p in peers if p["peer"] == peer and _matches(row, p)])
        lines.append(line)
    return lines


def _matches(row: dict[str, Any], peer: dict[str, Any]) -> bool:
    """Tell whether a line belongs beside a row; a library that has one layout stands beside both of ours."""
    return bool(peer.get("case") == row["case"] and peer.get("layout", row["layout"]) == row["layout"])


def _beside(row: dict[str, Any], found: Sequence[dict[str, Any]]) -> list[str]:
    if not found:
        return ["", ""]
    (one,) = found
    if "wrong" in one:
        return [f"wrong by {one['disagreement']:.0e}", ""]
    return [f"{one['median'] * 1e6:,.1f}", f"{one['median'] / row['median_out']:.2f}"]
