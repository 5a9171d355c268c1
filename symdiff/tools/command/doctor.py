"""What this machine offers to kernels, found out by asking it rather than by guessing.

The last line of a diagnosis is an experiment: a kernel is built and its result compared with
NumPy's, since a compiler that is present is not always one that works.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from ...codegen.c.target import Target
from ...compiler import compile as compile_formula
from ...errors import SymdiffError
from ...graph.scalars.functions import FUNCTIONS
from ...ground.version import DISTRIBUTION, VERSION, other_distribution
from ...runtime.kept.lookup import PREFIX
from ...runtime.toolchain import cache
from ...runtime.toolchain.build import find_compiler
from ...runtime.toolchain.load import native_target

__all__ = ["Diagnosis", "counted", "diagnose", "megabytes"]

PACKAGES = ("numpy", "scipy", "sympy", "cython", "matplotlib")
_SETS = {"_ZGVe": "AVX-512", "_ZGVd": "AVX2", "_ZGVb": "SSE2", "_ZGVn": "NEON"}


@dataclass(frozen=True)
class Diagnosis:
    """One line of a diagnosis.

    Parameters
    ----------
    label, text : str
    sound : bool
        False where something is broken, rather than absent.
    """

    label: str
    text: str
    sound: bool = True


def diagnose() -> list[Diagnosis]:
    """Return what kernels on this machine would run on."""
    target = native_target()
    compiler = find_compiler()
    told = (
        "none found ($CC, cc, gcc, clang)" if compiler is None else f"{' '.join(compiler.command)}: {compiler.version}"
    )
    return [
        *_package(),
        Diagnosis("Python", f"{platform.python_version()} on {sys.platform} {platform.machine()}"),
        *(Diagnosis(name, _version(name)) for name in PACKAGES),
        Diagnosis(
            "instructions", f"{_SETS.get(target.prefix, platform.machine())}, {target.lanes} doubles in a vector"
        ),
        Diagnosis("vector math", _vector_math(target)),
        Diagnosis("compiler", told),
        Diagnosis("cache", _cache()),
        _experiment(compiler is not None),
    ]


def _package() -> list[Diagnosis]:
    """Tell which version runs, whether pip knows it, and whether another project of the name is in its folder."""
    site = Path(__file__).parents[3]
    installed = _version(DISTRIBUTION)
    known = f"{DISTRIBUTION} {installed}" if installed != "not installed" else f"not installed by pip, from {site}"
    other = other_distribution(str(site))
    found = [Diagnosis("symdiff", f"{VERSION} ({known})")]
    return found if other is None else [*found, Diagnosis("other project", other, sound=False)]


def _vector_math(target: Target) -> str:
    """Tell which functions come from the vector library."""
    offered = {row.vector for row in FUNCTIONS.values() if row.vector}
    found = {name.rpartition("_")[2] for name in target.vector_math}
    if not found:
        return "none found; functions are the C library's, lane by lane"
    lacking = sorted(offered - found)
    rest = f"; lane by lane: {', '.join(lacking)}" if lacking else ""
    return f"{len(found)} functions of glibc's libmvec{rest}"


def counted(kept: Sequence[tuple[str, int, float]]) -> str:
    """Say how many built kernels and how many records of formulas there are among entries of the cache."""
    plans = sum(name.startswith(PREFIX) for name, _, _ in kept)
    return f"{len(kept) - plans} kernels and {plans} records of formulas"


def _cache() -> str:
    """Tell where kernels are kept, or why they are not."""
    folder = cache.cache_folder()
    kept = cache.entries(folder)
    held = f"{folder}, {counted(kept)}, {megabytes(sum(size for _, size, _ in kept))} of {megabytes(cache.LIMIT)}"
    reason = cache.obstacle(folder)
    return f"{held}; it {reason}" if reason else held


def megabytes(size: int) -> str:
    """Return a number of bytes as a person reads it."""
    return f"{size / 2**20:.1f} MB"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _experiment(native: bool) -> Diagnosis:
    """Make the kernels that "auto" would and compare them with NumPy."""
    label = "backend"
    points = np.linspace(-3.0, 3.0, 101)
    try:
        served = compile_formula("sin(x) * exp(x)", backend="interpreter")(points)
        kernel = compile_formula("sin(x) * exp(x)", backend="native" if native else "interpreter")
        result = kernel(points)
    except SymdiffError as error:
        return Diagnosis(label, f"native code fails: {error}", sound=False)
    if not np.allclose(result, np.sin(points) * np.exp(points), rtol=1e-12, atol=1e-14):
        return Diagnosis(label, "native code gives wrong numbers on this machine; use backend='numpy'", sound=False)
    if not np.array_equal(result, served):
        return Diagnosis(label, "interpreter and native code differ here; choose one with backend=", sound=False)
    if not native:
        return Diagnosis(
            label, "auto takes the interpreter for small formulas of fixed size, else plans; no C compiler"
        )
    seconds = kernel.stats["build_seconds"]
    built = f"built in {seconds * 1e3:.0f} ms" if seconds else "found in the cache"
    words = "auto takes the interpreter, then native code, for small formulas of fixed size"
    return Diagnosis(label, f"{words} ({built}, same bits), else plans")
