"""The compiled part of symdiff; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import os
import sys

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# One wheel serves every machine of a platform: no -march here. What depends on the processor
# is the generated code, built where it runs, and the interpreter, whose header compiles itself
# for every instruction set.
if sys.platform == "win32":
    flags, libraries = ["/O2"], []
else:
    flags, libraries = ["-O2", "-g0", "-ffp-contract=off", "-fno-math-errno"], ["m"]

extensions = [
    Extension(
        f"symdiff._kernels.{name}",
        [f"symdiff/_kernels/{name}.pyx"],
        depends=[f"symdiff/_kernels/{header}" for header in headers],
        include_dirs=["symdiff/_kernels", np.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=flags,
        libraries=libraries,
    )
    for name, headers in {
        "call": ["ports.pxd", "pack.h", "pool.h", "vectorcall.h"],
        "interpreter": ["interpreter.h", "tiles.h", "special.h"],
        "special": ["special.h"],
    }.items()
    if os.path.exists(f"symdiff/_kernels/{name}.pyx")
]

setup(
    ext_modules=cythonize(
        extensions,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": True,
        },
    )
)
