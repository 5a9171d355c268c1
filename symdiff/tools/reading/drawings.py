"""Drawings in SVG that a page holds in itself: a formula's graph, a line of times, a pattern of nonzeros."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...graph import Node, postorder
from ...lowering.sparse.entries import SparsePattern
from ...printing import unicode

__all__ = ["MOST_NODES", "curve", "graph", "nonzeros", "pattern"]

Places: TypeAlias = npt.NDArray[np.integer[Any]]

#: Nodes of a graph that is drawn.
MOST_NODES = 60
#: Width and height of a node's box and its row, in pixels.
_WIDTH, _HEIGHT, _ROW = 140, 30, 62
#: Characters of a node's formula in its box.
_SHOWN = 16
#: Rows and columns of a pattern that are drawn; of a larger one, each square stands for a block.
_CELLS = 120


def graph(roots: Sequence[Node]) -> str | None:
    """Return the graph of formulas, operands above what is made of them; None if it is too large to be read.

    Boxes that several others use are marked: they are computed once.
    """
    order = postorder(roots)
    if len(order) > MOST_NODES:
        return None
    depth: dict[Node, int] = {}
    uses: dict[Node, int] = {}
    for node in order:
        depth[node] = 1 + max((depth[arg] for arg in node.args), default=-1)
        for arg in set(node.args):
            uses[arg] = uses.get(arg, 0) + 1
    rows: dict[int, list[Node]] = {}
    for node in order:
        rows.setdefault(depth[node], []).append(node)
    widest = max(map(len, rows.values()))
    place = {
        node: ((k + 0.5) * widest * _WIDTH / len(row), level * _ROW + 20)
        for level, row in rows.items()
        for k, node in enumerate(row)
    }
    parts = []
    for node in order:
        x, y = place[node]
        for arg in dict.fromkeys(node.args):
            u, v = place[arg]
            parts.append(f'<line class="edge" x1="{u:.1f}" y1="{v + _HEIGHT / 2:.1f}" x2="{x:.1f}" y2="{y - 15:.1f}"/>')
    last = set(roots)
    for node in order:
        x, y = place[node]
        kind = "result" if node in last else "shared" if uses.get(node, 0) > 1 else "node"
        whole = unicode(node).splitlines()[-1]  # without the definitions of names, which have boxes of their own
        product = "product" if len(node.args) > 1 else "sum"
        shown = whole if len(whole) <= _SHOWN else f"{product if node.is_contraction else node.op} …"
        parts.append(
            f'<g class="{kind}"><title>{html.escape(whole)}</title>'
            f'<rect x="{x - _WIDTH / 2 + 5:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{_WIDTH - 10}" height="{_HEIGHT}" '
            f'rx="5"/><text x="{x:.1f}" y="{y + 4:.1f}">{html.escape(shown)}</text></g>'
        )
    return _svg(widest * _WIDTH, len(rows) * _ROW, "the graph of the formula", "".join(parts))


def curve(points: Sequence[tuple[float, float]], across: str, up: str) -> str:
    """Return a line through points on logarithmic axes, whose ticks are powers of ten."""
    width, height, left, below = 560, 300, 70, 45
    xs, ys = [math.log10(x) for x, _ in points], [math.log10(y) for _, y in points]
    low, high = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)
    first, last = math.floor(min(xs)), max(math.ceil(max(xs)), math.floor(min(xs)) + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + (x - first) / (last - first) * (width - left - 20),
            15 + (high - y) / (high - low) * (height - below - 15),
        )

    parts = []
    for k in range(first, last + 1):
        x, y = at(k, low)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="15" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 17:.1f}">{_power(k)}</text>')
    for k in range(low, high + 1):
        x, y = at(first, k)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{y:.1f}" x2="{width - 20}" y2="{y:.1f}"/>')
        parts.append(f'<text class="end" x="{x - 6:.1f}" y="{y + 4:.1f}">{_power(k)}</text>')
    places = [at(x, y) for x, y in zip(xs, ys, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline class="line" points="{line}"/>')
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in places]
    parts.append(f'<text x="{(left + width) / 2}" y="{height - 6}">{html.escape(across)}</text>')
    parts.append(f'<text x="{-height / 2 + 20:.1f}" y="14" transform="rotate(-90)">{html.escape(up)}</text>')
    return _svg(width, height, f"{up} against {across}", "".join(parts))


def pattern(found: SparsePattern) -> str:
    """Return where nonzeros stand, a square for each or for a block of them."""
    return nonzeros(found.shape, *found.coordinates())


def nonzeros(shape: tuple[int, int], rows: Places, columns: Places) -> str:
    """Return a drawing of nonzeros by their coordinates, in the colour of the text where no style says another."""
    height, width = shape
    block = max(1, math.ceil(max(height, width) / _CELLS))
    down, across = math.ceil(height / block), math.ceil(width / block)
    filled = np.unique(rows.astype(np.int64) // block * across + columns.astype(np.int64) // block)
    scale = max(3.0, min(14.0, 480 / max(down, across, 1)))
    parts = [
        f'<rect class="frame" width="{across * scale:.1f}" height="{down * scale:.1f}" fill="none" '
        'stroke="currentColor"/>'
    ]
    parts += [
        f'<rect class="dot" x="{place % across * scale:.1f}" y="{place // across * scale:.1f}" '
        f'width="{scale - 0.6:.1f}" height="{scale - 0.6:.1f}" fill="currentColor"/>'
        for place in filled.tolist()
    ]
    title = f"{rows.size:,} nonzeros of {height:,}×{width:,}"
    return _svg(across * scale, down * scale, title, "".join(parts))


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))


def _svg(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width: {width:.0f}px" role="img" '
        f'aria-label="{html.escape(title)}"><title>{html.escape(title)}</title>{body}</svg>'
    )
