"""How a derivative came about, as text for those who work on the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..graph import Node, postorder
from ..graph.dump import brief, listing
from ..ground.budget import uncounted
from .cost import cost

__all__ = ["modes_tried", "passes"]


def passes(node: Node, wrt: Sequence[Node], made: Sequence[Node], results: Sequence[Node]) -> Iterator[str]:
    """Give what was differentiated, what one pass over it made, and what is left of that when it is simplified."""
    yield f"of {brief(node)}"
    for one in wrt:
        yield f"with respect to {brief(one)}"
    for title, nodes in (("formula", [node]), ("made", made), ("simplified", results)):
        yield f"\n{title}:"
        yield from listing(nodes)


def modes_tried(
    node: Node,
    wrt: Node,
    modes: Sequence[str],
    made: Sequence[Node],
    promising: Sequence[Node],
    finished: Sequence[Node],
    best: Node,
) -> list[str]:
    """Return what was differentiated, in which modes, what each takes, and which was kept.

    Parameters
    ----------
    node, wrt : Node
    modes, made : sequence of str, sequence of Node
        What each mode gave.
    promising, finished : sequence of Node
        Those that were simplified, and what became of them.
    best : Node
        The one of these that was kept.
    """
    simplified = dict(zip(promising, finished, strict=True))
    lines = [f"of {brief(node)}", f"with respect to {brief(wrt)}", ""]
    with uncounted():
        for mode, result in zip(modes, made, strict=True):
            line = f"{mode}: cost {cost([result]):.6g}, {len(postorder([result]))} nodes"
            final = simplified.get(result)
            if final is None:
                lines.append(f"{line}; discarded before it was simplified")
                continue
            kept = "kept" if final is best else "discarded"
            lines.append(f"{line}; simplified: cost {cost([final]):.6g}, {len(postorder([final]))} nodes; {kept}")
        titles = ["formula", *(f"{mode} mode" for mode in modes)]
        for title, one in zip(titles, [node, *made], strict=True):
            lines += ["", f"{title}:", *listing([one])]
        lines += ["", "simplified and kept:", *listing([best])]
    return lines
