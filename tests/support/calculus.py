"""What every differentiable thing has to satisfy, to third order, in one function.

:func:`check_calculus` compares forward mode, reverse mode and seeded Jacobians of a formula
with differences in 80 digits (:mod:`exact`), and with each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import symdiff as sd
from symdiff import Array
from symdiff.graph import INT, verify
from symdiff.graph.reference.interpret import evaluate
from symdiff.tools.checking.multiprecision import directional

Floats = npt.NDArray[np.float64]


def close(got: Floats, want: Floats, tolerance: float, what: str) -> None:
    scale = max(1.0, float(np.abs(want).max(initial=0.0)))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale, err_msg=what)


def numbers(x: Array, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the numbers of an input, whole ones for positions."""
    return np.asarray(values, dtype=np.int64 if x.node.dtype is INT else np.float64)


def inner(a: Floats, b: Floats) -> float:
    return float(np.sum(a * b))


def check_calculus(
    f: Array,
    wrt: Mapping[str, Array],
    values: Mapping[str, npt.ArrayLike],
    *,
    order: int = 3,
    tolerance: float = 1e-10,
    seed: int = 0,
    blocks: bool = True,
) -> None:
    """Check the derivatives of ``f`` with respect to all of ``wrt`` together, at ``values``.

    Forward over forward, reverse over reverse and forward over reverse must give the
    differential of each order; with ``blocks``, so must Jacobians of Jacobians, by each
    input and pair of inputs.
    """
    rng = np.random.default_rng(seed)
    point = {name: np.asarray(x, dtype=float) if name in wrt else np.asarray(x) for name, x in values.items()}
    ways = [{name: rng.normal(size=point[name].shape) for name in wrt} for _ in range(order)]
    want = [directional([f.node], point, ways[:k])[0] for k in range(order + 1)]
    cotangent = rng.normal(size=want[0].shape)
    group = tuple(wrt.values())
    numbers = [tuple(way[name] for name in wrt) for way in ways]

    forward, scalar = [f], sd.asarray(cotangent) * f
    reverse = [scalar.sum() if f.ndim else scalar]
    mixed = []
    for k in range(order):
        forward.append(sd.jvp(forward[-1], group, numbers[k], disconnected="zero"))
        mixed.append(_weighted(sd.vjp(forward[k], group, cotangent, disconnected="zero"), numbers[k]))
        reverse.append(_weighted(sd.gradient(reverse[-1], group, disconnected="zero"), numbers[k]))
    nodes = [a.node for a in (*forward, *reverse, *mixed)]
    verify(nodes)
    got = evaluate(nodes, point, [a.node for a in group])
    for k in range(order + 1):
        close(got[k], want[k], tolerance, f"forward mode, order {k}")
        weighted = inner(cotangent, want[k])
        close(got[order + 1 + k], weighted, tolerance, f"reverse mode, order {k}")
        if k:
            close(got[2 * order + 1 + k], weighted, tolerance, f"reverse over forward, order {k}")
    if blocks:
        _check_blocks(f, wrt, point, ways, tolerance, order)


def _weighted(parts: Any, directions: tuple[Floats, ...]) -> Array:
    total = sd.asarray(0.0)
    for part, direction in zip(parts, directions, strict=True):
        total = total + (part * direction).sum()
    return total


def _contract(block: Floats, directions: list[Floats]) -> Floats:
    """Contract the trailing axes of a derivative, the last direction with the last axes."""
    for direction in reversed(directions):
        axes = direction.ndim
        block = np.tensordot(block, direction, axes=axes) if axes else block * direction
    return np.asarray(block)


def _check_blocks(
    f: Array,
    wrt: Mapping[str, Array],
    point: Mapping[str, Floats],
    ways: list[dict[str, Floats]],
    tolerance: float,
    order: int,
) -> None:
    inputs = [a.node for a in wrt.values()]
    for name, x in wrt.items():
        jacobian = sd.jacobian(f, x, disconnected="zero")
        assert jacobian.shape == (*f.shape, *x.shape)
        alone = [{name: way[name]} for way in ways]
        tensors = [jacobian]
        for _ in range(order - 1):
            tensors.append(sd.jacobian(tensors[-1], x, disconnected="zero"))
        seconds = {
            other: sd.jacobian(jacobian, y, disconnected="zero")
            for other, y in wrt.items()
            if other != name and order > 1
        }
        nodes = [a.node for a in (*tensors, *seconds.values())]
        verify(nodes)
        blocks = evaluate(nodes, point, inputs)
        for k in range(1, order + 1):
            want = directional([f.node], point, alone[:k])[0]
            close(
                _contract(blocks[k - 1], [way[name] for way in alone[:k]]),
                want,
                tolerance,
                f"Jacobian by {name}, order {k}",
            )
        for other, block in zip(seconds, blocks[order:], strict=True):
            pair = [{name: ways[0][name]}, {other: ways[1][other]}]
            want = directional([f.node], point, pair)[0]
            got = _contract(block, [ways[0][name], ways[1][other]])
            close(got, want, tolerance, f"mixed partial by {name} and {other}")


def check_backends(
    outputs: list[Array], inputs: list[Array], values: list[npt.ArrayLike], tolerance: float = 1e-11
) -> None:
    """Check that native and NumPy kernels compute what the interpreter does."""
    point = {str(a.node.name): numbers(a, x) for a, x in zip(inputs, values, strict=True)}
    want = evaluate([a.node for a in outputs], point, [a.node for a in inputs])
    for backend in ("numpy", "native"):
        got = sd.compile(outputs, inputs, backend=backend)(*point.values())
        for have, expected in zip(got, want, strict=True):
            finite = np.isfinite(expected)
            np.testing.assert_array_equal(np.isfinite(have), finite, err_msg=backend)
            np.testing.assert_array_equal(np.where(finite, 0.0, have), np.where(finite, 0.0, expected), err_msg=backend)
            scale = max(1.0, float(np.abs(expected[finite]).max(initial=0.0)))
            np.testing.assert_allclose(
                np.where(finite, have, 0.0),
                np.where(finite, expected, 0.0),
                rtol=0,
                atol=tolerance * scale,
                err_msg=backend,
            )
