"""The compiled part of symdiff; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import compileall
import os
import sys
import tempfile
from glob import glob
from multiprocessing import get_start_method
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

# One wheel serves every machine of a platform: no -march here. What depends on the processor
# is the generated code, built where it runs, and the interpreter, whose header compiles itself
# for every instruction set.
if sys.platform == "win32":
    flags, quick, quickest, libraries = ["/O2"], ["/O1"], ["/O1"], []
else:
    quick, quickest = ["-O1", "-g0"], ["-Og", "-g0"]
    # Calls of other libraries go through no stub: with stubs, calls of a few samples take up to a sixth longer
    # by chance of where functions are.
    flags = ["-O2", "-g0", "-fno-plt", "-ffp-contract=off", "-fno-math-errno"]
    libraries = ["m"]


def optimized(name: str) -> list[str]:
    """Return the options of kernels that are optimized less than others, since they run once a formula."""
    if sys.platform == "win32":
        return []
    if name in ("plan.bind", "programs.tape"):
        return ["-O1"]
    return ["-Og"] if name.startswith("programs.") else []


#: Processes that make C of Cython. Where processes begin by importing this file again, there is one.
processes = os.cpu_count() if get_start_method() == "fork" else 0

kernels = [
    Extension(
        f"symdiff._kernels.{name}",
        [f"symdiff/_kernels/{name.replace('.', '/')}.pyx"],
        depends=[file for folder in headers for file in glob(f"symdiff/_kernels/{folder}/*.h")]
        + glob("symdiff/_kernels/**/*.pxd", recursive=True),
        include_dirs=["symdiff/_kernels", np.get_include()],
        define_macros=[
            ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION"),
            ("NPY_TARGET_VERSION", "NPY_1_22_API_VERSION"),
        ],
        extra_compile_args=flags + optimized(name),
        libraries=libraries,
    )
    for name, headers in {
        "unit": ["batch", "system"],
        "call": ["batch", "matrix", "plan"],
        "interpreter": ["machine", "functions", "system"],
        "plan.bind": ["batch", "matrix", "plan"],
        "plan.executor": ["batch", "matrix", "plan", "system"],
        "functions.special": ["functions"],
        "matrix.batches": ["matrix", "machine", "functions", "system"],
        "programs.tape": [],
        "programs.steps": [],
        "programs.words": [],
        "system.scopes": [],
        "system.unique": [],
    }.items()
    if os.path.exists(f"symdiff/_kernels/{name.replace('.', '/')}.pyx")
]

# Of the passes that every formula goes through, those whose compiled form saves most of the time to a first
# value, for the time that compiling them takes. They are ordinary Python, and run from their sources where they are
# not compiled; a .pxd beside one has C types for what its classes keep, and for nodes, whose fields are then read as
# they lie in memory. Of the rules of simplification, those that products and sums are asked most about are among them.
# Those that a first value waits for longest are optimized; for the others less of it takes half the time to compile.
passes = [
    Extension(f"symdiff.{name}", [f"symdiff/{name.replace('.', '/')}.py"], extra_compile_args=less)
    for less, names in (
        (
            quick,
            (
                "ground.gc_pause",
                "graph.nodes",
                "graph.traversal",
                "graph.scalars.arithmetic",
                "calculus.modes",
                "rewrite.rewriter",
            ),
        ),
        (
            quickest,
            (
                "graph.deltas.einsum",
                "calculus.masking",
                "rewrite.algebra",
                "rewrite.cancelling.fractions",
                "rewrite.cancelling.monomials",
                "rewrite.equations",
                "rewrite.kept_range",
                "rewrite.stability.exponents",
                "rewrite.stability.identities",
                "rewrite.stability.rational_form",
                "lowering.builder",
                "lowering.unroll",
            ),
        ),
    )
    for name in names
]

FAILURES = (BaseError, CCompilerError, OSError)
NO_COMPILER = (
    "error: symdiff needs a C compiler and the headers of Python to be installed from its sources: install them "
    "(Debian and Ubuntu: apt install gcc python3-dev; Fedora: dnf install gcc python3-devel; macOS: "
    "xcode-select --install), or set CC to the compiler"
)


class Build(build_ext):
    """Builds the extensions, several at once; says what is missing where nothing can be built."""

    def finalize_options(self) -> None:
        super().finalize_options()
        # here, since an editable installation forgets the options of commands that setup() is given
        self.parallel: bool | int | None = os.cpu_count()

    def run(self) -> None:
        try:
            super().run()
        except FAILURES:
            if self.compiles():
                raise
            raise SystemExit(NO_COMPILER) from None
        if self.inplace:  # as pip does for a wheel: where Python may keep no bytecode, each import compiles the sources
            compileall.compile_dir("symdiff", quiet=1)

    def compiles(self) -> bool:
        """Tell whether the compiler builds an empty extension."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.c")
            source.write_text("#include <Python.h>\n", encoding="ascii")
            try:
                self.compiler.compile([str(source)], output_dir=folder, include_dirs=self.include_dirs)
            except FAILURES:
                return False
        return True


setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        *cythonize(
            kernels,
            nthreads=processes,
            compiler_directives={
                "language_level": 3,
                "boundscheck": False,
                "wraparound": False,
                "cdivision": True,
                "embedsignature": True,
            },
        ),
        *cythonize(
            passes,
            build_dir="build/passes",
            nthreads=processes,
            # annotations are for the type checker: Python's own meaning, and nothing else; None has no fields
            compiler_directives={"language_level": 3, "annotation_typing": False, "binding": True, "nonecheck": True},
        ),
    ],
)
