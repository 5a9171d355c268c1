"""Arrays as callers have them: kernels read and write any layout, and give the bits that a single sample gives.

A case says of each input how it lies in memory (strides, kind of number, batch axes), and where the
results go. What is right is computed sample by sample, from plain copies.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import symdiff as sd
from symdiff.runtime.options import Backend

Numbers: TypeAlias = npt.NDArray[Any]
#: Text of the formula, shapes of its inputs.
FORMULAS: tuple[tuple[str, dict[str, tuple[int, ...]]], ...] = (
    ("sum(x*y) + z", {"x": (3,), "y": (3,), "z": ()}),
    ("outer(x, y) * z", {"x": (2,), "y": (5,), "z": ()}),
    ("A @ x", {"A": (4, 4), "x": (4,)}),
    ("gradient(log(det(A @ A.T + eye(3))), A)", {"A": (3, 3)}),
    ("sin(x) / (2 + y)", {"x": (), "y": ()}),
    ("cumsum(x)[::-1]", {"x": (9,)}),
    ("softmax(A @ x)", {"A": (2, 3), "x": (3,)}),
    ("x * y", {"x": (0,), "y": (0,)}),
)
BACKENDS = ("native", "interpreter", "numpy", "auto")
LAYOUTS = (
    "plain",
    "reversed",
    "strided",
    "transposed",
    "broadcast",
    "unaligned",
    "fortran",
    "swapped",
    "list",
    "readonly",
)
DTYPES = ("f8", "f8", "f8", "f4", "i4", "i1", "u2", "?")
OUTS = ("none", "none", "fresh", "strided", "reversed", "unaligned", "overlap")
LayoutCase: TypeAlias = dict[str, Any]


def draw(rng: random.Random) -> LayoutCase:
    """Draw a formula, a batch, and how each array lies."""
    number = rng.randrange(len(FORMULAS))
    batch = rng.choice(((), (1,), (5,), (7, 3), (2, 1, 4), (0,), (33,), (1030,), (2, 0)))
    single = rng.random() < 0.2
    arrays = {}
    for name in FORMULAS[number][1]:
        lead = tuple(n if rng.random() < 0.8 else 1 for n in batch)[rng.choice((0, 0, 0, len(batch) and 1)) :]
        kind = "f4" if single else rng.choice(DTYPES)
        arrays[name] = {"lead": lead, "dtype": kind, "layout": rng.choice(LAYOUTS)}
    return {
        "formula": number,
        "backend": rng.choice(BACKENDS),
        "columns": rng.random() < 0.25,
        "reduce": rng.random() < 0.15,
        "threads": rng.choice((None, 1, 2)),
        "arrays": arrays,
        "out": rng.choice(OUTS),
        "seed": rng.randrange(10**6),
    }


@cache
def _kernel(number: int, backend: Backend, columns: bool, reduce: bool, threads: int | None) -> sd.Kernel:
    text, shapes = FORMULAS[number]
    return sd.compile(
        text,
        shapes=shapes,
        backend=backend,
        batch_axis=-1 if columns else 0,
        reduce="sum" if reduce else None,
        threads=threads,
    )


def lay(values: Numbers, layout: str) -> Any:
    """Return an array of the same values that lies in memory in another way."""
    if layout == "reversed" and values.ndim:
        return values[::-1].copy()[::-1]
    if layout == "strided":
        wide = np.zeros(tuple(2 * n + 1 for n in values.shape), values.dtype)
        every: tuple[Any, ...] = (..., *(slice(1, None, 2) for _ in values.shape))
        part = wide[every]
        part[...] = values
        return part
    if layout == "transposed":
        return values.T.copy().T
    if layout == "broadcast" and values.ndim and values.shape[0]:
        return np.broadcast_to(values[:1], values.shape)
    if layout == "unaligned":
        memory = np.zeros(values.nbytes + 1, np.uint8)[1:]
        moved = memory.view(values.dtype).reshape(values.shape)
        moved[...] = values
        return moved
    if layout == "fortran":
        return values.copy(order="F")
    if layout == "swapped" and values.dtype.itemsize > 1:
        return values.astype(values.dtype.newbyteorder())
    if layout == "list":
        return values.tolist()
    if layout == "readonly":
        values = values.copy()
        values.flags.writeable = False
    return values


def _make(case: LayoutCase) -> dict[str, Any]:
    rng = np.random.default_rng(case["seed"])
    made = {}
    for name, shape in FORMULAS[case["formula"]][1].items():
        told = case["arrays"][name]
        lead = tuple(told["lead"])
        full = (*shape, *lead) if case["columns"] else (*lead, *shape)
        kind = np.dtype(told["dtype"])
        drawn = rng.uniform(-2, 2, full) if kind.kind == "f" else rng.integers(0, 2 if kind.kind == "b" else 4, full)
        made[name] = lay(np.asarray(drawn).astype(kind), told["layout"])
    return made


def _rows(made: dict[str, Any], case: LayoutCase) -> tuple[tuple[int, ...], list[list[Numbers]]]:
    """Return the shape of the batch, and the inputs of each sample as plain arrays."""
    shapes = FORMULAS[case["formula"]][1]
    fronts = {}
    for name, shape in shapes.items():
        lead = tuple(case["arrays"][name]["lead"])
        values = np.asarray(made[name], None if case["arrays"][name]["dtype"] == "f4" else float)
        values = values.reshape((*shape, *lead) if case["columns"] else (*lead, *shape))  # an empty list has no shape
        own = len(shape)
        fronts[name] = values.transpose(*range(own, values.ndim), *range(own)) if case["columns"] else values
    batch = np.broadcast_shapes(*(tuple(case["arrays"][name]["lead"]) for name in shapes))
    wide = [np.broadcast_to(fronts[name], (*batch, *shapes[name])) for name in shapes]
    return batch, [[np.array(one[index], order="C") for one in wide] for index in np.ndindex(*batch)]


def run(case: LayoutCase) -> str:
    """Call the kernel, and a plain kernel of the same backend for each sample."""
    shapes = FORMULAS[case["formula"]][1]
    if any(told["layout"] == "list" and 0 in (*told["lead"], *shapes[name]) for name, told in case["arrays"].items()):
        return ""  # a list without numbers does not tell its shape
    kernel = _kernel(case["formula"], case["backend"], case["columns"], case["reduce"], case["threads"])
    single = _kernel(case["formula"], "interpreter" if case["backend"] != "numpy" else "numpy", False, False, None)
    made = _make(case)
    firm = [name for name, told in case["arrays"].items() if told["layout"] != "list" or told["lead"] or shapes[name]]
    narrow = bool(firm) and all(
        case["arrays"][name]["dtype"] == "f4" and case["arrays"][name]["layout"] != "list" for name in firm
    )
    batch, rows = _rows(made, case)
    kind = np.float32 if narrow else np.float64
    samples = [np.asarray(single(*(a.astype(kind) for a in row)), kind) for row in rows]
    own = tuple(int(n) for n in single.outputs[0].shape if isinstance(n, int))
    right = np.array(samples, kind).reshape((*batch, *own))
    if case["reduce"]:
        right = right.reshape(len(rows), *own).sum(axis=0, dtype=float).astype(kind)
    elif case["columns"]:
        right = right.transpose(*range(len(batch), right.ndim), *range(len(batch)))
    arguments = list(made.values())
    out = _out(case["out"], right, arguments)
    found = kernel(*arguments) if out is None else kernel(*arguments, out=out)
    if out is not None and found is not out:
        return "out= is not what a call returns"
    return _compared(np.asarray(found), right, exact=not case["reduce"] and case["backend"] != "numpy")


def _out(how: str, right: Numbers, arguments: list[Any]) -> Numbers | None:
    if how == "none":
        return None
    if how == "overlap":
        for one in arguments:
            usable = isinstance(one, np.ndarray) and one.shape == right.shape and one.dtype == right.dtype
            if usable and one.flags.writeable:
                memory: Numbers = one
                return memory
        return None
    blank = np.full(right.shape, 7.0, right.dtype)
    laid: Numbers = lay(blank, how if how != "fresh" else "plain")
    return laid


def _compared(found: Numbers, right: Numbers, exact: bool) -> str:
    if found.shape != right.shape:
        return f"shape {found.shape}, expected {right.shape}"
    if found.dtype != right.dtype:
        return f"kind {found.dtype}, expected {right.dtype}"
    if exact:
        return "" if np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(right).tobytes() else "other bits"
    loose = 1e-4 if right.dtype == np.float32 else 1e-9
    return "" if np.allclose(found, right, rtol=loose, atol=loose) else "other numbers"


def smaller(case: LayoutCase) -> Iterator[LayoutCase]:
    """Give plainer cases: one thing after the other as it usually is."""
    for key, plain in (("threads", None), ("out", "none"), ("columns", False), ("reduce", False)):
        if case[key] != plain:
            yield {**case, key: plain}
    for name, told in case["arrays"].items():
        for key, usual in (("layout", "plain"), ("dtype", "f8"), ("lead", ())):
            if told[key] != usual:
                yield {**case, "arrays": {**case["arrays"], name: {**told, key: usual}}}
