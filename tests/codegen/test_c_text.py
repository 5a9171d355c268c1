"""The text of generated C: what it states, how long it is, that compilers have nothing to say."""

from __future__ import annotations

import itertools
import math
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.unit import NativeCall
from symdiff.codegen.bytecode.assemble import assemble
from symdiff.codegen.c.emit import CHUNK, Target, emit_c
from symdiff.codegen.c.standalone import emit_standalone
from symdiff.errors import BuildError
from symdiff.frontend.formula import read_formula
from symdiff.lowering.plan.plan import HELD, MEMORY, Wiring
from symdiff.lowering.program import MASK_OPS, MAX_ORDER, SIGNATURES
from symdiff.lowering.unroll import unroll
from symdiff.rewrite import inline, simplify
from symdiff.runtime.runners.programs import InterpreterRunner, NativeRunner
from symdiff.runtime.toolchain.build import build, find_compiler, flags
from symdiff.runtime.toolchain.load import native_target
from tests.support.c_programs import COMPILERS, TARGETS, Floats, banded, call, rational, results, samples
from tests.support.program_reference import evaluate
from tests.support.tape import Tape


def test_numbers_are_printed_exactly() -> None:
    numbers = [0.0, -0.0, np.inf, -np.inf, 5e-324, 0.1, 1e300, -1 / 3, 1.7976931348623157e308]
    t = Tape(("x", ()))
    t.load(0)
    t.out((10,), [t.const(x) for x in [*numbers, np.nan]])
    out = np.empty((3, 10))
    call(t.program(), native_target()).run([np.zeros(3)], [out], 3)
    np.testing.assert_array_equal(out[:, :-1].view(np.int64), np.tile(numbers, (3, 1)).view(np.int64))
    assert np.isnan(out[:, -1]).all()


@pytest.mark.rows(1)
@pytest.mark.parametrize("count", [0, 2 * CHUNK + 100])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("columns", [False, True])
def test_runs_of_constants_are_filled(columns: bool, single: bool, count: int) -> None:
    program = banded(45, count)
    dtype = np.float32 if single else np.float64
    units = [kind(program, columns=columns).call(False, columns, single) for kind in (NativeRunner, InterpreterRunner)]
    for n in (1, 5, 8, 19, 600):
        x = [a.astype(dtype) for a in samples(program, n)]
        results = []
        for unit in units:
            out = [np.full((n, *p.shape), np.nan, dtype) for p in program.outputs]
            given, got = ([np.asfortranarray(a) if columns else a for a in some] for some in (x, out))
            assert unit.run(given, got, n) is None
            results.append(got)
        for a, b in zip(*results, strict=True):
            np.testing.assert_array_equal(a, b)
        for i in {0, n // 2, n - 1} if not single else ():
            for a, want in zip(results[0], evaluate(program, [v[i] for v in x]), strict=True):
                np.testing.assert_allclose(a[i], want, rtol=1e-13)


def test_a_vector_of_samples_taken_twice_is_filled_twice() -> None:
    t = Tape(("x", ()))
    y = t.load(0)
    for _ in range(60):
        y = t.op("arctan", y)
    t.out((60,), [y] + [t.const(0.0)] * 59)
    program = t.program()
    assert emit_c(program, native_target()).vectors == 2
    out = np.full((24, 60), np.nan)
    NativeRunner(program).run([np.arange(24.0)], [out], False)
    np.testing.assert_array_equal(out[:, 1:], 0.0)
    np.testing.assert_allclose(out[7], evaluate(program, [np.array(7.0)])[0], rtol=1e-13)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("reduce", [False, True])
def test_code_does_not_grow_with_zeros(reduce: bool, columns: bool) -> None:
    def lengths(n: int) -> Floats:
        program = banded(n)
        code = assemble(program, native_target(), reduce=reduce, columns=columns)
        text = emit_c(program, native_target(), reduce=reduce, columns=columns).text
        return np.array([len(text) - base, len(code.code)], float)

    base = len(emit_c(banded(1), native_target(), reduce=reduce, columns=columns).text)
    assert (lengths(160) < 2.6 * lengths(80)).all()  # with four times the zeros


def test_code_of_later_pieces_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    program = rational(5, 3 * CHUNK)
    plain = emit_c(program, native_target())
    assert "soon(" not in plain.text
    monkeypatch.setattr("symdiff.codegen.c.emit.MANY_PIECES", 2)
    source = emit_c(program, native_target())
    pieces = re.findall(r"^soon\(\(unsigned long\)(\w+)\);\n(\w+)\(", source.text, flags=re.MULTILINE)
    names = [name for _, name in pieces]
    assert len(names) > 2
    assert [following for following, _ in pieces] == [*names[1:], names[0]]
    x = samples(program, 20)
    out, want = results(program, 20), results(program, 20)
    NativeRunner(program).run(x, out, False)
    InterpreterRunner(program).run(x, want, False)
    for a, b in zip(out, want, strict=True):
        np.testing.assert_array_equal(a, b)
    compiler = find_compiler()
    assert compiler is not None
    command = [*compiler.command, *flags(compiler), "-Wall", "-Wextra", "-Wno-unused", "-fsyntax-only", "-x", "c", "-"]
    assert not subprocess.run(command, input=source.text, capture_output=True, text=True, check=False).stderr


def test_blocks_are_stored_where_their_last_value_is_made() -> None:
    t = Tape(("x", (4,)))
    x = t.row(0)
    for i in range(4 * CHUNK):
        x.append(t.op("add" if i % 3 else "multiply", x[-1], x[-4]))
    t.out((4 * CHUNK,), x[4:])
    source = emit_c(t.program(), Target(8))
    assert source.workspace < 32  # what the next piece reads, and not all results
    pieces = re.split(r"PIECE void ", source.text)
    assert all("store8" in piece for piece in pieces if piece.startswith("piece"))


@pytest.mark.exhaustive
def test_outputs_much_larger_than_the_formula() -> None:
    t = Tape(("x", (50, 50)))
    zero = t.const(0.0)
    values = [zero] * 20000
    values[::7] = [t.load(0, k % 2500) for k in range(len(values[::7]))]
    t.out((20000,), values)
    program = t.program()
    x, out = samples(program, 9), results(program, 9)
    call(program, native_target()).run(x, out, 9)
    want = np.zeros((9, 20000))
    want[:, ::7] = np.tile(x[0].reshape(9, 2500), 2)[:, : want[:, ::7].shape[1]]
    np.testing.assert_array_equal(out[0], want)


def test_names_never_reach_the_source() -> None:
    t = Tape(('x; system("rm -rf ~")', ()))
    t.out((), [t.op("sin", t.load(0))])
    t.check(0, 'a message */ "')
    text = emit_c(t.program(), native_target()).text
    assert "system" not in text
    assert "message" not in text


def test_length_of_source_is_linear() -> None:
    lengths = [len(emit_c(rational(17, n), native_target()).text) for n in (4000, 8000, 16000)]
    assert (lengths[2] - lengths[1]) < 2.2 * (lengths[1] - lengths[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_source_builds_without_a_warning(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    t = Tape(("x", (3,)))
    values = t.row(0)
    for op, kinds in SIGNATURES.items():
        args = [t.mask(values[-1]) if k == "mask" else values[-1] for k in kinds]
        if op in MAX_ORDER:
            args[0] = t.const(1.0)
        value = t.op(op, *args)
        values.append(t.op("to_real", value) if op in MASK_OPS else value)
    t.out((len(values),), values)
    t.check(values[4], "zero")
    strict = ("-O1", "-fPIC", "-shared", "-Wall", "-Werror", "-Wno-psabi")
    monkeypatch.setattr("symdiff.runtime.toolchain.build.FLAGS", strict)
    for reduce in (False, True):
        source = emit_c(t.program(), Target(lanes), reduce=reduce)
        assert build(source).address


FORMULAS: list[tuple[str, dict[str, Any]]] = [
    ("jacobian(log(softmax(X @ y)), X)", {"X": (2, 4), "y": 4}),
    ("[inv(A)[0, 0], det(A), sum(A * b), digamma(b) + b % 3 + floor(b) * sign(b)]", {"A": (3, 3), "b": ()}),
    ("where(x > y, exp(x) * minimum(x, y), abs(y) ** 0.3) - sqrt(x) * (x == y)", {"x": 3, "y": ()}),
    ("hessian(log(det(A)), A)", {"A": (5, 5)}),
    ("jacobian(2 * x, x)", {"x": 3}),
]


@pytest.mark.parametrize(
    ("name", "wish"), [*((name, COMPILERS[0]) for name in TARGETS), *(("native", other) for other in COMPILERS[1:])]
)
@pytest.mark.parametrize(("formula", "shapes"), FORMULAS, ids=[formula for formula, _ in FORMULAS])
def test_compilers_have_nothing_to_say(
    formula: str, shapes: dict[str, Any], name: str, wish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = TARGETS[name]
    monkeypatch.setenv("CC", wish)
    compiler = find_compiler()
    assert compiler is not None
    symbols = {name: sd.array(name, shape) for name, shape in shapes.items()}
    (node,) = simplify(inline([read_formula(formula, shapes).value.node]))
    program = unroll([symbol.node for symbol in symbols.values()], [node])
    alone = [False, *[True] * (len(shapes) - 1)]
    texts = [
        emit_c(program, target, reduce=reduce, columns=columns, single=single, constant=constant).text
        for reduce, columns, single in itertools.product([False, True], repeat=3)
        for constant in ((), alone)
    ]
    texts += [
        emit_c(program, target, reduce=reduce, columns=True, single=single, constant=alone, packed=True).text
        for reduce, single in itertools.product([False, True], repeat=2)
    ]
    wiring = Wiring((), (HELD,) * len(shapes), (MEMORY,), ())
    texts += [
        emit_c(program, target, columns=True, single=single, packed=True, wiring=wiring).text
        for single in (False, True)
    ]
    texts += [emit_standalone(program, target).text]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.c").write_text(text)
    # nothing is linked
    wanted = [flag for flag in flags(compiler) if flag != "-shared" and not flag.startswith("-Wl,")]
    command = [*compiler.command, *wanted, "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    done = subprocess.run([*command, *map(str, tmp_path.glob("*.c"))], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.exhaustive
def test_a_long_program_is_built_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symdiff.codegen.c.emit.PART", 2)
    program = rational(17, 3 * CHUNK)
    source = emit_c(program, native_target())
    assert len(source.parts) > 1
    assert max(map(len, source.parts)) < len(source.text)
    whole = build(source._replace(parts=(), text=source.text + "/* whole */\n"))
    sizes = [p.size for p in program.inputs], [p.size for p in program.outputs]
    x, found = samples(program, 20), []
    for library in (build(source), whole):
        unit = NativeCall(library.address, library.symbols, source.lanes, source.workspace, *sizes, False, library)
        out = results(program, 20)
        assert unit.run(x, out, 20) is None
        found.append(out)
    for got, want in zip(*found, strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(found[0], evaluate(program, [a[7] for a in x]), strict=True):
        np.testing.assert_array_equal(got[7], want)
    with pytest.raises(BuildError, match="unknown type name"):
        build(source._replace(parts=(*source.parts[:-1], "nonsense here;"), text=source.text + "/* wrong */\n"))


@pytest.mark.parametrize(("lanes", "single"), [(8, False), (4, False), (2, False), (8, True)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9, 16])
def test_narrow_rows_ask_once_for_each_line_of_a_later_vector(size: int, lanes: int, single: bool) -> None:
    t = Tape(("a", (size,)), ("b", (size,)))
    t.out((size,), [t.op("subtract", x, y) for x, y in zip(t.row(0), t.row(1), strict=True)])
    text = emit_c(t.program(), Target(lanes), single=single).text
    assert "long far=" in text
    row = size * (4 if single else 8)
    lines = math.ceil(row * lanes * (2 if single else 1) / 64)
    for name in ("READ_SOON(x0", "READ_SOON(x1", "WRITTEN_SOON(y0"):
        found = re.findall(re.escape(name) + r"\+(\d+)\+(\d+)\*s[io]\d\)", text)
        assert all(int(place) < row for place, _ in found), "what is asked for is in a row, however far rows are apart"
        at = [int(place) + int(sample) * row for place, sample in found]
        assert [a - at[0] for a in at] == [64 * k for k in range(lines)]
        assert 0 < at[0] < 1 << 14


@pytest.mark.parametrize("constant", [(), (False, True)])
@pytest.mark.parametrize("size", [1, 3])
def test_packed_code_looks_at_no_distance_and_prefetches_nothing(size: int, constant: tuple[bool, ...]) -> None:
    t = Tape(("a", (size,)), ("b", (size,)))
    t.out((size,), [t.op("exp", t.op("subtract", x, y)) for x, y in zip(t.row(0), t.row(1), strict=True)])
    for reduce in (False, True):
        source = emit_c(t.program(), Target(8), reduce=reduce, columns=True, constant=constant, packed=True)
        code = "\n".join(line for line in source.text.splitlines() if not line.startswith("#"))
        assert not re.search(r"\bs[io]\[|\bs[io]\d|READ_SOON|WRITTEN_SOON|COME|\bfar\b", code)
        assert code.count("LOADPACKED(") == size * (1 if constant else 2) * source.vectors
        assert code.count("STOREPACKED(") == (0 if reduce else size) * source.vectors


def test_columns_are_asked_for_by_their_number() -> None:
    for size, macro, ahead in ((3, "READ_SOON", 2048), (12, "READ_SOON", 640), (30, "COME", 512)):
        t = Tape(("a", (size,)))
        t.out((size,), [t.op("negative", x) for x in t.row(0)])
        text = emit_c(t.program(), Target(8), columns=True).text
        found = re.findall(rf"{macro}\(x0\+{ahead}\+(\d+)\*si0\)", text)
        assert sorted(map(int, found)) == list(range(size))


#: Functions computed lane by lane: by a name of libm, by text of ours, by an address of SciPy's, in some lanes only.
APART = {
    1: ("arctan", "lgamma", "gamma", "digamma", "erfcx", "ndtri", "i0e", "si"),
    2: ("mod", "beta", "gammainc", "power"),
    3: ("betainc", "hyp1f1"),
    4: ("hyp2f1",),
}


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("lanes", "flag"), [(4, "-march=haswell"), (8, "-march=skylake-avx512")])
@pytest.mark.parametrize("prefix", ["", "own"])
def test_upper_parts_of_registers_are_clear_before_functions_of_numbers(
    lanes: int, flag: str, single: bool, prefix: str
) -> None:
    compiler = find_compiler()
    if platform.machine() != "x86_64" or compiler is None:
        pytest.skip("registers of x86-64")
    t = Tape(("x", (4,)))
    x = t.row(0)
    ops = [op for count in APART for op in APART[count]]
    t.out((len(ops),), [t.op(op, *x[:count]) for count in APART for op in APART[count]])
    target = Target(lanes, {4: "_ZGVd", 8: "_ZGVe"}[lanes] if prefix else "")
    text = emit_c(t.program(), target, single=single).text
    options = [word for word in flags(compiler) if word not in ("-shared", "-march=native")]
    command = [*compiler.command, "-x", "c", *options, flag, "-S", "-o", "-", "-"]
    listing = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    wide, seen, name = False, 0, ""
    for line in listing.splitlines():
        if match := re.match(r"(\w[\w.]*):", line):
            name = match[1]
            wide = name.startswith(("do_", "each_", "whole", "kernel"))
        elif "vzeroupper" in line or ("\tret" in line and name.startswith(("do_", "each_"))):
            wide = False  # behind the end of a function of lanes stands what its loop jumps to
        elif re.search(r"%[yz]mm\d+(\{.*)?$", line):  # the last operand is what is written
            wide = True
        elif match := re.match(r"\s+(?:call|jmp)\s+(?!\.L|do_|each_|whole)(\*?%?[\w.]+)", line):
            # all but those of whole vectors, which kernels call by their addresses
            if match[1].startswith("*") and name in ("kernel", "whole"):
                continue
            assert not wide, f"{name} calls {match[1]} while upper parts are in use"
            seen += 1
    assert seen > len(ops) - (10 if single and prefix else 6)  # float32 has four of them by halves of its vectors
