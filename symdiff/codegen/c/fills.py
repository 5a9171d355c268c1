"""Constants of outputs: structural zeros above all, which loops over tables fill.

What is printed grows with the number of runs of equal constants, and not with their lengths. In rows, short runs are
stored as other blocks are; in columns, each element is a column of its own, and whole columns of constants are written
one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...lowering.program import Program
from ..row_blocks import Run, split_runs
from .spelling import literal

__all__ = ["FILL_COLUMNS", "FILL_ROWS", "fills"]

#: Functions that write the runs: in columns those of a tile of samples, in rows those of a vector of samples.
FILL_COLUMNS, FILL_ROWS = "fill_columns", "fill_rows"

_COLUMNS = (
    f"static void {FILL_COLUMNS}(long begin,long end,char*const*out,const long*so){{\n"
    "for(int k=0;k<%d;k++){V v=B(fill_number[k]);long s=so[fill_port[k]];\n"
    "char*y=out[fill_port[k]]+fill_start[k]*s;\n"
    "for(int e=fill_start[k];e<fill_stop[k];e++,y+=s)"
    "for(char*stop=y+end*(long)sizeof(D),*p=y+begin*(long)sizeof(D);p<stop;p+=sizeof(U)){V_PUT(p,v)COME(p+2048)}}}\n"
)
# Without a distance between samples there is one only. The last vector of a run overlaps the one before it.
_ROWS = (
    f"static void {FILL_ROWS}(long i,char*const*out,const long*so){{\n"
    "for(int k=0;k<%d;k++){V v=B(fill_number[k]);long s=so[fill_port[k]],n=fill_stop[k]-fill_start[k];\n"
    "char*y=out[fill_port[k]]+i*s+fill_start[k]*(long)sizeof(D);\n"
    "for(int l=0;l<(s?W:1);l++,y+=s){D*p=(D*)y;for(long e=0;e+W<n;e+=W)V_PUT(p+e,v)V_PUT(p+n-W,v)}}}\n"
)


def fills(program: Program, *, columns: bool, single: bool) -> str:
    """Print the function that fills the runs of constants of all outputs, or nothing where there are none.

    Parameters
    ----------
    program : Program
    columns, single : bool
        As in :func:`symdiff.codegen.c.emit.emit_c`.
    """
    found = [
        (port, run)
        for port, values in enumerate(program.stores)
        if len(values) > 1
        for run in split_runs(values, program.consts, 1 if columns else None)[0]
    ]
    return _table(found, program, single) + (_COLUMNS if columns else _ROWS) % len(found) if found else ""


def _table(found: Sequence[tuple[int, Run]], program: Program, single: bool) -> str:
    ports, starts, stops = (
        ",".join(map(str, row)) for row in zip(*((port, run.start, run.stop) for port, run in found), strict=True)
    )
    numbers = ",".join(literal(program.consts[run.value], single) for _, run in found)
    return (
        f"static const int fill_port[]={{{ports}}},fill_start[]={{{starts}}},fill_stop[]={{{stops}}};\n"
        f"static const T fill_number[]={{{numbers}}};\n"
    )
