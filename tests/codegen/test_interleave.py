"""Kernels that take two vectors of samples at once give what those give that take one."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.codegen.c import body as pairs
from symdiff.codegen.c import body as pieces
from symdiff.codegen.c.emit import emit_c
from symdiff.errors import SingularMatrixError
from symdiff.lowering.program import Program
from symdiff.runtime.runners.programs import NativeRunner
from symdiff.runtime.toolchain.load import native_target
from tests.support.tape import Tape


def chain() -> Program:
    """Wait for one function after the other, with results of all widths and two checks."""
    t = Tape(("x", (4,)), ("y", ()))
    a, b, c, d = t.row(0)
    (y,) = t.row(1)
    e = t.op("exp", t.op("divide", a, y))
    f = t.op("divide", t.op("sin", t.op("multiply", e, b)), t.op("sqrt", t.op("abs", c)))
    g = t.op("less", f, d)
    h = t.op("where", g, t.op("log", t.op("abs", f)), d)
    t.out((), [h])
    t.out((2,), [f, t.op("subtract", h, y)])
    t.out((5,), [e, f, h, t.const(0.5), t.op("add", h, e)])
    t.check(y, "y is zero")
    t.check(t.op("add", d, y), "d + y is zero")
    return t.program()


def samples(n: int) -> list[npt.NDArray[np.float64]]:
    rng = np.random.default_rng(n)
    return [rng.uniform(0.5, 2, (n, 4)), rng.uniform(0.5, 2, n)]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_two_vectors_give_what_one_gives(columns: bool, single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program = chain()
    got = {}
    for paired in (False, True):
        monkeypatch.setattr(pieces, "is_interleaved", lambda *_, paired=paired, **__: paired)
        source = emit_c(program, native_target(), columns=columns, single=single)
        assert ("long j=" in source.text) is paired
        assert ("if(j!=i)" in source.text) is paired  # one sample takes no function twice
        assert source.workspace == (2 + paired * 2)  # the checks of each vector
        runner = NativeRunner(program, columns=columns)
        for n in (1, 7, 8, 9, 15, 16, 17, 24, 25, 100, 1001):
            dtype = np.dtype("f4" if single else "f8")
            x = [np.asarray(a, dtype) for a in samples(n)]
            out = [np.zeros((n, *port.shape), dtype) for port in program.outputs]
            if columns:
                x = [np.asfortranarray(a) for a in x]
                out = [np.asfortranarray(a) for a in out]
            runner.run(x, out, False)
            got[n, paired] = out
    for (n, paired), out in got.items():
        for a, b in zip(out, got[n, not paired], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("bad", [[0], [7], [8], [13], [16, 40], [40], [41], [9, 8], [47, 48]])
def test_checks_of_both_vectors_tell_the_first_sample(bad: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "is_interleaved", lambda *_, **__: True)
    program = chain()
    runner = NativeRunner(program)
    x = samples(49)
    for k, i in enumerate(bad):
        if k:
            x[1][i] = 0.0
        else:
            x[0][i, 3] = -x[1][i]
    out = [np.zeros((49, *port.shape)) for port in program.outputs]
    with pytest.raises(SingularMatrixError) as caught:
        runner.run(x, out, False)
    assert caught.value.index == (min(bad),)
    assert ("d + y" in str(caught.value)) is (min(bad) == bad[0])


def test_sums_take_one_vector_at_a_time() -> None:
    source = emit_c(chain(), native_target(), reduce=True)
    assert "long j=" not in source.text


def test_what_is_taken_in_pairs() -> None:
    v = sd.vector("v", 4)
    a, b, c, d = v
    waits = np.arcsin(np.sqrt(np.sin(a - b) ** 2 + np.cos(a) * np.cos(b) * np.sin(c - d) ** 2))
    kernel = sd.compile(waits, [v], backend="native")
    runner = kernel._runner
    assert isinstance(runner, NativeRunner)
    most = pairs.alive(runner.program)
    assert 2 * most <= 32
    assert ("long j=" in kernel.source()) is (2 * most <= (32 if native_target().lanes == 8 else 16))
    moves = sd.compile(v * 2 + 1, [v], backend="native")
    assert "long j=" not in moves.source()
    u = sd.vector("u", 40)
    needs_many = sd.compile(np.sin(u) / np.sum(np.sin(u)), [u], backend="native")
    assert "long j=" not in needs_many.source()


def test_values_alive() -> None:
    t = Tape(("x", (3,)))
    a, b, c = t.row(0)
    t.out((), [t.op("add", t.op("multiply", a, b), c)])
    assert pairs.alive(t.program()) == 4  # the operands and what is made of them
    t = Tape(("x", (1,)))
    (a,) = t.row(0)
    value = a
    for _ in range(50):
        value = t.op("sin", value)
    t.out((), [value])
    assert pairs.alive(t.program()) == 2


def test_wide_rows_are_asked_for_before_they_are_wanted() -> None:
    def asked(size: int, **options: bool) -> list[list[int]]:
        """Return what is asked for of a row, in bytes from its beginning, of inputs and then of outputs."""
        t = Tape(("x", (size,)))
        t.out((size,), [t.op("sin", v) for v in t.row(0)])
        source = emit_c(t.program(), native_target(), **options).text
        found = re.findall(r"(?:ASK|ask)\(([xy])0\+(\d+)\+(\d+)\*s[io]0,", source)
        assert len({samples for _, _, samples in found}) <= 1
        return [sorted(int(at) for letter, at, _ in found if letter == kind) for kind in "xy"]

    for size in (50, 65, 300):  # in one function, and in many
        every = [list(range(0, 8 * size, 32)), list(range(0, 8 * size, 64))]
        assert asked(size) == every
        assert asked(2 * size, single=True) == every
    assert asked(20) == asked(5000) == asked(50, columns=True) == [[], []]
    assert asked(50, reduce=True) == [list(range(0, 400, 32)), []]
