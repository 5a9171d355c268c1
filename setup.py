"""The compiled part of symdiff; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import os
import sys
from glob import glob

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# One wheel serves every machine of a platform: no -march here. What depends on the processor
# is the generated code, built where it runs, and the interpreter, whose header compiles itself
# for every instruction set.
if sys.platform == "win32":
    flags, quick, libraries = ["/O2"], ["/O1"], []
else:
    quick = ["-O1", "-g0"]
    # Calls of other libraries go through no stub: with stubs, calls of a few samples take up to a sixth longer
    # by chance of where functions are.
    flags = ["-O2", "-g0", "-fno-plt", "-ffp-contract=off", "-fno-math-errno"]
    libraries = ["m"]

kernels = [
    Extension(
        f"symdiff._kernels.{name}",
        [f"symdiff/_kernels/{name}.pyx"],
        depends=[file for folder in headers for file in glob(f"symdiff/_kernels/{folder}/*.h")]
        + glob("symdiff/_kernels/*.pxd"),
        include_dirs=["symdiff/_kernels", np.get_include()],
        define_macros=[
            ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION"),
            ("NPY_TARGET_VERSION", "NPY_1_22_API_VERSION"),
        ],
        extra_compile_args=flags,
        libraries=libraries,
    )
    for name, headers in {
        "unit": ["batch"],
        "call": ["batch", "system"],
        "interpreter": ["machine", "functions"],
        "loader": ["system"],
        "special": ["functions"],
    }.items()
    if os.path.exists(f"symdiff/_kernels/{name}.pyx")
]

# The passes that every formula goes through, compiled as they stand, save a fifth of the time to a
# first value. They are ordinary Python, and run from their sources where they are not compiled.
passes = [
    Extension(f"symdiff.{name}", [f"symdiff/{name.replace('.', '/')}.py"], extra_compile_args=quick)
    for name in (
        "graph.sizes",
        "graph.nodes",
        "graph.structural",
        "graph.contractions",
        "graph.traversal",
        "graph.deltas.affine",
        "graph.deltas.eliminate",
        "graph.deltas.einsum",
        "graph.deltas.structural",
        "calculus.rules",
        "calculus.strong_zeros",
        "calculus.modes",
        "simplify.rewriter",
        "simplify.algebra",
        "simplify.arrays",
        "simplify.symmetry",
        "calculus.cost",
        "calculus.derivatives",
        "lower.builder",
        "lower.factorize",
        "lower.arrays",
        "lower.unroll",
        "codegen.bytecode.select",
        "codegen.bytecode.prefetch",
        "codegen.bytecode.assemble",
    )
]

setup(
    ext_modules=[
        *cythonize(
            kernels,
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
            # annotations are for the type checker: Python's own meaning, and nothing else
            compiler_directives={"language_level": 3, "annotation_typing": False, "binding": True},
        ),
    ],
    options={"build_ext": {"parallel": os.cpu_count()}},
)
