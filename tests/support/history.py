"""Formulas as recipes, described in this process or in a fresh one that has met no other formula.

Run as a program, it reads recipes, one a line, and describes each in a process of its own, which is
forked before any formula is made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import symdiff as sd
from symdiff import Array
from symdiff.frontend.outputs import leaves
from symdiff.graph import inputs_of

#: Numbers of parts, how they are joined, and what is made of the whole.
Recipe: TypeAlias = tuple[list[int], str, str]


def _parts() -> list[Array]:
    c, r, x, y = map(sd.scalar, "crxy")
    v, w, A = sd.vector("v", 3), sd.vector("w", 3), sd.matrix("A", 2, 2)
    gap = np.sqrt(np.sum((v - w) ** 2))
    return [
        c / r / r / r,
        x * y * x + y * x / x,
        np.log(1 + np.exp(x)),
        1 / (1 + np.exp(-x)),
        c / gap / gap / gap,
        sd.name(np.sum(v * w), "z") * r,
        np.log(np.linalg.det(A)) * r,
        -c / r / r,
        np.log(np.sum(np.exp(v))) * c,
        np.where(x > y, x * x, c / r / r),
        3 * c / r / r / r / r,
    ]


COUNT = 11
JOINS = ("sum", "product", "quotient")


def _slope(f: Array) -> tuple[Array, Array]:
    by = sd.vector("v", 3) if "v" in names(f) else sd.scalar("r") if "r" in names(f) else sd.scalar("x")
    return sd.gradient(f, by), by


def _two_orders(f: Array) -> Array:
    slope, by = _slope(f)
    bend: Array = sd.jacobian(slope, by, disconnected="zero")
    return bend


MADE: dict[str, Callable[[Array], Any]] = {
    "value": lambda f: f,
    "gradient": lambda f: _slope(f)[0],
    "multiple": lambda f: 2 * _slope(f)[0] + f,
    "part": lambda f: (_slope(f)[0] * np.ones(3))[1],
    "hessian": lambda f: sd.hessian(f, _slope(f)[1]),
    "slope of a slope": _two_orders,
    "all": lambda f: [f, _slope(f)[0], sd.hessian(f, _slope(f)[1])],
    "direction": lambda f: sd.jvp(f, _slope(f)[1], _slope(f)[1]),
}


def names(f: Array) -> list[str]:
    return [str(node.payload) for node in inputs_of([f.node])]


def make(recipe: Recipe) -> Any:
    """Return the formula, or formulas, of a recipe."""
    numbers, join, made = recipe
    parts = _parts()
    f = parts[numbers[0]]
    for number in numbers[1:]:
        f = f + parts[number] if join == "sum" else f * parts[number] if join == "product" else f / parts[number]
    return MADE[made](f)


def describe(recipe: Recipe) -> list[Any]:
    """Return all that can be seen of it: texts, signature, rewrites, source, and the bits of its results."""
    result = make(recipe)
    kernel = sd.compile(result, backend="interpreter")
    rng = np.random.default_rng(5)
    ports = sorted(kernel.inputs, key=lambda port: port.name)
    inputs = {port.name: rng.uniform(0.5, 1.5, port.shape) for port in ports}
    found = kernel(inputs=inputs)
    return [
        [str(one) for one in leaves(result)],
        [one.latex() for one in leaves(result)],
        str(kernel.latex()),
        kernel.signature,
        list(kernel.rewrites),
        kernel.source("numpy"),
        kernel.stats["operations"],
        [np.asarray(one).tobytes().hex() for one in leaves(found)],
    ]


class Fresh:
    """Describes recipes in processes that have met no other formula."""

    def __init__(self) -> None:
        folders = [str(Path(__file__).parents[2]), str(Path(sd.__file__).parents[1])]
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        )

    def describe(self, recipe: Recipe) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(recipe) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            print(json.dumps(describe(json.loads(line))), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
