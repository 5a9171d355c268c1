"""C for machines other than this one: the same text with vectors of another length, by flags and by a cross compiler.

AArch64 takes Debian's ``gcc-aarch64-linux-gnu`` with ``libc6-dev-arm64-cross``, and ``qemu-user`` to run what it makes.
"""

from __future__ import annotations

import itertools
import platform
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from symdiff.codegen.c.emit import CSource, Target, emit_c
from symdiff.lowering.program import Program
from symdiff.runtime.toolchain.build import find_compiler, flags
from symdiff.runtime.toolchain.load import processor
from tests.support.c_programs import Floats, rational, results, samples
from tests.support.program_reference import evaluate
from tests.support.tape import Tape

#: Samples, and a multiple of the lanes of any machine.
SAMPLES, PADDED = 13, 16

# Reads the numbers of the inputs, rows of one behind those of the other, and prints those of the outputs.
MAIN = r"""
#include <stdio.h>
static double inputs[%(read)d] __attribute__((aligned(64))), outputs[%(written)d] __attribute__((aligned(64)));
static double room[%(room)d] __attribute__((aligned(64)));
long kernel(long,long,const char*const*,const long*,char*const*,const long*,void*,void*const*,long*);
int main(void) {
  const char *in[] = {%(in)s};
  char *out[] = {%(out)s};
  const long si[] = {%(si)s}, so[] = {%(so)s};
  void *fn[1] = {0};
  long which = 0;
  if (fread(inputs, sizeof(double), %(read)d, stdin) != %(read)d) return 2;
  if (kernel(0, %(count)d, in, si, out, so, room, fn, &which) != -1) return 3;
  fwrite(outputs, sizeof(double), %(written)d, stdout);
  return 0;
}
"""


class Machine(NamedTuple):
    """A compiler with the flags of a machine, its lanes, and what runs its programs."""

    command: tuple[str, ...]
    lanes: int
    run: tuple[str, ...] = ()


def machine(name: str) -> Machine:
    """Return one of the machines, or skip the test and say why."""
    if name == "aarch64":
        compiler, emulator = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
        if compiler is None or emulator is None:
            pytest.skip("no cross compiler for AArch64, or no qemu-user")
        return Machine((compiler, "-static"), 2, (emulator,))
    found = find_compiler()
    if platform.machine() != "x86_64" or found is None:
        pytest.skip("registers of x86-64")
    if name == "avx2" and not {"avx2", "fma"} <= set(processor()):
        pytest.skip("this processor has no AVX2")
    level, lanes = {"avx2": ("-march=x86-64-v3", 4), "sse2": ("-march=x86-64", 2)}[name]
    return Machine((*found.command, level), lanes)


def offsets(sizes: list[int]) -> list[int]:
    """Return where the rows of each port begin, and where those of the last end."""
    return [0, *np.cumsum([PADDED * size for size in sizes]).tolist()]


def run(program: Program, source: CSource, on: Machine, inputs: list[Floats], folder: Path) -> list[Floats]:
    """Build the code of a program for a machine, and run it there."""
    found = find_compiler()
    assert found is not None
    assert not source.symbols
    read, written = ([port.size for port in ports] for ports in (program.inputs, program.outputs))
    begin, end = offsets(read), offsets(written)
    names = {
        "read": begin[-1], "written": end[-1], "room": 16 * source.workspace + 16, "count": PADDED,
        "in": ",".join(f"(const char*)(inputs+{at})" for at in begin[:-1]),
        "out": ",".join(f"(char*)(outputs+{at})" for at in end[:-1]),
        "si": ",".join(str(8 * size) for size in read), "so": ",".join(str(8 * size) for size in written),
    }  # fmt: skip
    (folder / "kernel.c").write_text(source.text, encoding="ascii")
    (folder / "main.c").write_text(MAIN % names, encoding="ascii")
    plain = [word for word in flags(found) if word not in ("-shared", "-fPIC", "-march=native")]
    files = [str(folder / name) for name in ("kernel.c", "main.c")]
    subprocess.run([*on.command, *plain, *files, "-o", str(folder / "main"), "-lm"], check=True)
    data = np.concatenate([np.concatenate([x, np.repeat(x[-1:], PADDED - len(x), 0)]).ravel() for x in inputs])
    told = subprocess.run([*on.run, str(folder / "main")], input=data.tobytes(), capture_output=True, check=True).stdout
    numbers = np.frombuffer(told)
    return [numbers[a:b].reshape(PADDED, -1)[:SAMPLES] for a, b in itertools.pairwise(end)]


@pytest.mark.rows(10)
@pytest.mark.parametrize("name", ["sse2", "avx2", "aarch64"])
@pytest.mark.parametrize(("inputs", "count"), [(3, 40), (8, 200)])
def test_arithmetic_has_the_bits_of_this_machine(name: str, inputs: int, count: int, tmp_path: Path) -> None:
    program, on = rational(inputs, count), machine(name)
    x = samples(program, SAMPLES)
    got = run(program, emit_c(program, Target(on.lanes)), on, x, tmp_path)
    for i in range(SAMPLES):
        for one, want in zip(got, evaluate(program, [a[i] for a in x]), strict=True):
            np.testing.assert_array_equal(one[i], np.ravel(want))


#: Functions of one argument and of more, of libm's and of our own text.
FUNCTIONS = {
    1: ("exp", "log", "sin", "tanh", "erf", "lgamma", "digamma", "erfcx", "si", "fresnels", "floor", "sqrt"),
    2: ("power", "mod", "beta", "stdtr", "minimum", "hyp0f1"),
    3: ("hyp1f1",),
}


@pytest.mark.rows(10)
@pytest.mark.parametrize("name", ["sse2", "avx2", "aarch64"])
def test_functions_have_their_digits(name: str, tmp_path: Path) -> None:
    on, t = machine(name), Tape(("x", (3,)))
    row = t.row(0)
    t.out((sum(map(len, FUNCTIONS.values())),), [t.op(op, *row[:n]) for n, ops in FUNCTIONS.items() for op in ops])
    program = t.program()
    x = [np.random.default_rng(2).uniform(0.2, 3, (SAMPLES, 3))]
    (got,) = run(program, emit_c(program, Target(on.lanes, "own")), on, x, tmp_path)
    (want,) = results(program, SAMPLES)
    for i in range(SAMPLES):
        (want[i],) = evaluate(program, [x[0][i]])
    np.testing.assert_allclose(got, want, rtol=5e-15, atol=1e-15)
