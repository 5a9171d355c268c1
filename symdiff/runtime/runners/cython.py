"""The "cython" backend of one kernel: builds the module that a user would ship, and runs it.

It is there so that the module can be tried where it was made, against the same tests as every
other backend. For speed there is native code. Python cannot unload a module that was compiled,
so kernels of one formula share theirs, and a process loads no more than some.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import BuildError, SingularMatrixError
from ...ground.version import pip_install
from ..toolchain import cache
from ..toolchain.build import Compiler, failure, find_compiler, run
from ..toolchain.cache import build_folder
from ..toolchain.load import RoomError, load_bytes
from ..toolchain.processes import uninterrupted

__all__ = ["FLAGS", "CythonRunner"]

#: As for native code: no contraction of products and sums, and nobody looks at errno.
FLAGS = ("-O2", "-ffp-contract=off", "-fno-math-errno")

#: Modules of one process, at most: each takes some 200 KB and six of the mappings that a process may have.
MOST = 500

#: Modules imported by this process, by key.
_imported: dict[str, ModuleType] = {}

#: The exported function PyInit_kernel fixes the name that a build here has.
_NAME = "kernel"


class CythonRunner:
    """Runs the Cython module of a program.

    Parameters
    ----------
    text : str
        What :func:`~symdiff.codegen.cython.emit_cython` printed.

    Raises
    ------
    BuildError
        Without Cython or a compiler, when one of them fails, or when the process has as many modules
        as it may (``RoomError``).
    """

    def __init__(self, text: str) -> None:
        self.text = text
        start = time.perf_counter()
        self._module, built = _module(text)
        self.build_seconds = time.perf_counter() - start if built else 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return CythonRunner, (self.text,)

    def source(self) -> str:
        """Return the Cython text."""
        return self.text

    def run(self, inputs: Sequence[npt.NDArray[Any]], outs: Sequence[npt.NDArray[Any]], reduce: bool) -> None:
        """Compute all samples; see :class:`symdiff.runtime.runners.interfaces.Runner`."""
        # Only a batch axis that some input has makes the function's results have one.
        alone = all(len(array) == 1 for array in inputs)
        try:
            results = self._module.evaluate(*(array[0] if len(array) == 1 else array for array in inputs))
        except np.linalg.LinAlgError as error:
            raise SingularMatrixError(
                str(error).partition(" (sample")[0], getattr(error, "index", ()) or (0,)
            ) from None
        for out, result in zip(outs, results if isinstance(results, tuple) else (results,), strict=True):
            out[...] = result if not alone or reduce else np.asarray(result)[None]


def _module(text: str) -> tuple[ModuleType, bool]:
    """Return the module, and whether it was built for this."""
    import hashlib
    import platform
    import sysconfig
    from importlib.metadata import PackageNotFoundError, version

    compiler = find_compiler()
    if compiler is None:
        raise BuildError("no C compiler: none of $CC, cc, gcc and clang runs; install one, or use backend='numpy'")
    try:
        cython = version("cython")
    except PackageNotFoundError:
        raise BuildError(f"Cython is not installed; {pip_install('cython')}, or use backend='native'") from None
    # Another interpreter or Cython makes another module of the same text.
    parts = (text, *FLAGS, compiler.identity, sys.version, sysconfig.get_config_var("EXT_SUFFIX"), platform.platform())
    key = hashlib.sha256("\0".join(map(str, (*parts, cython))).encode()).hexdigest()
    module = _imported.get(key)
    if module is not None:
        return module, False
    if len(_imported) >= MOST:
        raise RoomError(
            f"{MOST} Cython modules are loaded, and Python cannot unload any; use backend='native', or another process"
        )
    folder = cache.usable_folder()
    kept = None if folder is None else cache.lookup(folder, key)
    if kept is not None:
        with contextlib.suppress(BuildError):
            return _imported.setdefault(key, load_bytes(kept, _import)), False
    contents = uninterrupted(lambda: _build(text, compiler))
    module = _imported.setdefault(key, load_bytes(contents, _import))
    if folder is not None:
        cache.publish(folder, key, contents)
    return module, True


def _build(text: str, compiler: Compiler) -> bytes:
    """Return the bytes of the extension module."""
    import sysconfig

    try:
        with build_folder() as folder:
            (folder / f"{_NAME}.pyx").write_text(text, encoding="utf-8")
            include = sysconfig.get_paths()["include"]
            library = folder / f"{_NAME}.so"
            commands = [
                [sys.executable, "-m", "cython", "-3", f"{_NAME}.pyx"],
                [
                    *compiler.command,
                    "-shared",
                    "-fPIC",
                    *FLAGS,
                    f"-I{include}",
                    f"{_NAME}.c",
                    "-o",
                    library.name,
                    "-lm",
                ],
            ]
            for command in commands:
                done = run(command, folder)
                if done.returncode != 0:
                    raise failure(command, done)
            return library.read_bytes()
    except OSError as error:
        raise BuildError(f"a kernel cannot be built: {error}. There must be space below $TMPDIR") from error


def _import(path: str) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    if spec is None:
        raise ImportError(f"no module at {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
