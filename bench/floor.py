"""What a machine allows: the time to read every input and write every result and compute nothing.

Beside it the time of a kernel tells how much is arithmetic, and how much nobody can save. Rows
are one stream in and one out; columns are visited tile by tile, as a kernel has to that needs
all numbers of a sample at once, in the best of three sizes of tile.
"""

from __future__ import annotations

import ctypes
import functools
import tempfile
from pathlib import Path

import numpy as np

from bench.timing import Timing, measure
from symdiff.runtime.toolchain.build import find_compiler, flags, run

__all__ = ["Floor"]

#: Samples of a vector: counts must be multiples.
LANES = 8

_TILES = (64, 256, 1024)

_SOURCE = """
typedef double V __attribute__((vector_size(64),aligned(8),may_alias));
void columns(long n,long ni,long no,const double*x,double*o,long tile){
  for(long i=0;i<n;i+=tile){
    long m=n-i<tile?n-i:tile;V s={0};
    for(long j=0;j<ni;j++)for(long l=0;l<m;l+=8)s+=*(const V*)(x+j*n+i+l);
    for(long j=0;j<no;j++)for(long l=0;l<m;l+=8)*(V*)(o+j*n+i+l)=s;
  }
}
void rows(long n,long ni,long no,const double*x,double*o,long tile){
  for(long i=0;i<n;i+=tile){
    long m=n-i<tile?n-i:tile;V s={0};
    for(long e=0;e<m*ni;e+=8)s+=*(const V*)(x+i*ni+e);
    for(long e=0;e<m*no;e+=8)*(V*)(o+i*no+e)=s;
  }
}
"""


class Floor:
    """The two loops, compiled with the flags of every kernel.

    Raises
    ------
    OSError
        If there is no C compiler, or it fails.
    """

    def __init__(self) -> None:
        compiler = find_compiler()
        if compiler is None:
            raise OSError("the floor is measured in C, and there is no C compiler")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "floor.c").write_text(_SOURCE, encoding="ascii")
            command = [*compiler.command, *flags(compiler), "floor.c", "-o", "floor.so"]
            done = run(command, folder)
            if done.returncode:
                raise OSError(done.stderr.decode(errors="replace"))
            self._library = ctypes.CDLL(str(folder / "floor.so"))

    def measure(self, count: int, read: int, written: int, *, columns: bool, seconds: float) -> Timing:
        """Time ``count`` samples that have ``read`` numbers and get ``written`` ones.

        Parameters
        ----------
        count : int
            A multiple of :data:`LANES`.
        read, written : int
        columns : bool
        seconds : float
            How long to repeat.

        Raises
        ------
        AssertionError
            If a number is not written.
        """
        if count % LANES:
            raise ValueError(f"{count} samples are no multiple of {LANES}")
        given, results = np.zeros(count * read), np.full(count * written, np.nan)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (given, results)]
        numbers = [ctypes.c_long(number) for number in (count, read, written)]
        function = self._library.columns if columns else self._library.rows
        tiles = _TILES if columns else _TILES[:1]
        timings = []
        for tile in tiles:
            results.fill(np.nan)
            call = functools.partial(function, *numbers, *pointers, ctypes.c_long(tile))
            timings.append(measure(call, seconds / len(tiles)))
            if results.any():
                raise AssertionError("the floor does not write all results")
        return min(timings, key=lambda timing: timing.median)
