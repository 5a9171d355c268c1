"""Files of rows, whole and some at a time; Parquet where pyarrow is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import symdiff as sd
from symdiff.errors import DataError
from symdiff.tools.command.cli import main
from symdiff.tools.read_files import read_array
from symdiff.tools.row_streams import open_rows

KINDS = ["npy", "npz", "packed", "csv", "parquet"]


def write(path: Path, kind: str, array: np.ndarray[Any, Any]) -> str:
    """Write rows; return the file as a command takes it."""
    target = path.with_suffix({"packed": ".npz"}.get(kind, f".{kind}"))
    if kind == "npy":
        np.save(target, array)
    elif kind == "npz":
        np.savez(target, other=np.ones(2), x=array)
    elif kind == "packed":
        np.savez_compressed(target, other=np.ones(2), x=array)
    elif kind == "csv":
        np.savetxt(target, array, delimiter=",", fmt="%.17g", header="" if array.ndim > 1 else "x", comments="")
    else:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {"x": array} if array.ndim == 1 else {f"c{k}": column for k, column in enumerate(array.T)}
        parquet.write_table(pa.table(columns), target, row_group_size=7)
    return str(target)


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0, 3])
def test_batches_are_the_rows_of_the_file(kind: str, width: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(width)
    array = rng.normal(size=(20, width) if width else 20)
    source = write(tmp_path / "x", kind, array)
    stream = open_rows(source, "x")
    np.testing.assert_array_equal(stream.first, array[:1])
    assert stream.rows in (20, None)
    for count in (1, 6, 20, 100):
        parts = list(stream.batches(count))
        assert [len(part) for part in parts[:-1]] == [count] * (len(parts) - 1)
        np.testing.assert_array_equal(np.concatenate(parts), array)
    np.testing.assert_array_equal(read_array(source, "x"), array)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_rows_do_not_depend_on_how_many_come_at_once(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 3))
    source = write(tmp_path / "x", kind, x)
    w = "w=[0.5,-1,2]"
    args = ["eval", "(w @ x - 1)**2", "--wrt", "w", "--data", f"x={source}", "--batch", "x", "--value", w]
    expected = sd.compile("gradient((w @ x - 1)**2, w)", w=3, x=3)([0.5, -1, 2], x)
    total = tmp_path / "g.npy"
    said = run(*args, "--reduce", "sum", "--rows-at-once", "8", "--out", str(total))
    assert "50 rows of x, 8 at a time" in said
    np.testing.assert_allclose(np.load(total), expected.sum(0), rtol=1e-13)
    for suffix in ("npy", "csv", *(["parquet"] if kind == "parquet" else [])):
        out = tmp_path / f"rows.{suffix}"
        said = run(*args, "--rows-at-once", "8", "--out", str(out))
        assert f"wrote {out}" in said
        assert "50 rows of x, 8 at a time" in said
        np.testing.assert_array_equal(read_array(str(out)), expected)
        whole = tmp_path / f"whole.{suffix}"
        run(*args, "--out", str(whole))
        np.testing.assert_array_equal(read_array(str(whole)), expected)


def test_several_files_go_row_by_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    first, second = write(tmp_path / "x", "npy", x), write(tmp_path / "y", "csv", y)
    out = tmp_path / "r.npy"
    args = ["eval", "y * sum(x)", "--data", f"x={first}", "--data", f"y={second}", "--batch", "auto", "--out", str(out)]
    run(*args, "--rows-at-once", "7")
    np.testing.assert_allclose(np.load(out), y * x.sum(1), rtol=1e-14)
    write(tmp_path / "y", "csv", y[:10])
    out.write_bytes(b"as it was")
    assert "--overwrite" in run(*args, "--rows-at-once", "7", code=2)
    args.append("--overwrite")
    assert "y.csv ends before" in run(*args, "--rows-at-once", "7", code=2)
    assert out.read_bytes() == b"as it was"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--batch", "x"], "add --out FILE, or --reduce sum"),
        (["--batch", "x", "--out", "r.npz"], "expected a name ending in .npy, .csv or .parquet"),
        (["--reduce", "sum"], "--rows-at-once without --batch"),
        (["--batch", "z", "--reduce", "sum"], "--batch z, which has no --data"),
        (["--batch", "x", "--reduce", "sum", "--data", "x=x.npy"], "come twice"),
    ],
)
def test_what_cannot_be_streamed_is_refused(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((4, 2)))
    said = run("eval", "sum(x)", "--data", "x=x.npy", "--rows-at-once", "2", *args, code=2)
    assert message in said.replace("\n", " ")


def test_damaged_files_are_told(tmp_path: Path) -> None:
    whole = write(tmp_path / "x", "packed", np.random.default_rng(0).normal(size=(3000, 4)))
    bytes_ = bytearray(Path(whole).read_bytes())
    bytes_[len(bytes_) // 2] ^= 0xFF
    Path(whole).write_bytes(bytes_)
    with pytest.raises(DataError, match=r"not a sound \.npz file"):
        list(open_rows(whole, "x").batches(500))
    np.save(tmp_path / "f.npy", np.asfortranarray(np.ones((3, 2))))
    with pytest.raises(DataError, match="holds its columns one after the other; save it in rows"):
        open_rows(str(tmp_path / "f.npy"))
    np.save(tmp_path / "n.npy", np.float64(3))
    with pytest.raises(DataError, match="holds a single number"):
        open_rows(str(tmp_path / "n.npy"))
    np.save(tmp_path / "e.npy", np.ones((0, 3)))
    with pytest.raises(DataError, match="has no rows"):
        open_rows(str(tmp_path / "e.npy"))
    (tmp_path / "t.csv").write_text("1,2\n3,x\n")
    with pytest.raises(DataError, match=r"line 2, column 2: 'x' is not a number"):
        list(open_rows(str(tmp_path / "t.csv")).batches(1))


def test_columns_of_parquet_by_name(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    table = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "v": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float64(), 2))}
    parquet.write_table(pa.table({**table, "name": ["p", "q", "r"], "hole": [1.0, None, 3.0]}), path)
    np.testing.assert_array_equal(read_array(f"{path}:b,a"), [[0.5, 1], [1.5, 2], [2.5, 3]])
    np.testing.assert_array_equal(read_array(f"{path}:a"), [1, 2, 3])
    np.testing.assert_array_equal(read_array(f"{path}:v"), [[1.0, 2.0]] * 3)
    for part, message in (
        ("z", "has no column 'z'; expected one of a, b, v, name, hole"),
        ("name", r"t.parquet: column 'name' is a column of string \(Arrow\)"),
        ("a,hole", "column 'hole' of .*t.parquet has a missing value, the first at row 1"),
    ):
        with pytest.raises(DataError, match=message):
            read_array(f"{path}:{part}")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match="is not a sound Parquet file"):
        read_array(str(path))
    out = tmp_path / "r.parquet"
    np.save(tmp_path / "x.npy", np.ones((4, 2)))
    run("eval", "sum(x**2) * y", "--wrt", "x", "--wrt", "y", "--data", f"x={tmp_path / 'x.npy'}", "--batch", "x",
        "--value", "y=3", "--out", str(out))
    assert parquet.read_table(out).to_pydict() == {"d/dx_0": [6.0] * 4, "d/dx_1": [6.0] * 4, "d/dy": [2.0] * 4}


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(sd.UnsupportedError, match=r"without pyarrow .*pip install pyarrow"):
        read_array(str(tmp_path / "t.parquet"))


CHILD = """
import sys
from symdiff.tools.command.cli import main
try:
    main(sys.argv[1:], standalone_mode=False)
finally:
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    print("peak", int(lines["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the memory of a process")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for rows in (1_000, 400_000):
        np.save(tmp_path / "x.npy", np.ones((rows, 50)))
        args = ["eval", "sum(x)**2", "--data", f"x={tmp_path / 'x.npy'}", "--batch", "x", "--reduce", "sum"]
        command = [sys.executable, "-c", CHILD, *args, "--rows-at-once", "1000"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < peaks[0] + 80  # the longer file has 160 MB
