"""The command line: derivatives, numbers, files and tables, settings and the doctor."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result

import symdiff as sd
from symdiff.runtime.toolchain import cache
from symdiff.tools.command import cli, inspect

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder of its own; only our refusals may stop it."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli.main, list(args), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


# ---------------------------------------------------------------------------- derive


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["log(det(A))", "--wrt", "A", "--shape", "A=n,n"], "A⁻ᵀ"),
        (["log(det(A))", "--wrt", "A", "--shape", "A=(4, 4)"], "A⁻ᵀ"),
        (["(X @ W.T)[0]", "--wrt", "X[0]", "--shape", "X=m,k", "--shape", "W=n,k"], "W"),
        (["x**3", "--wrt", "x", "--order", "2"], "6 x"),
        (["x**3", "--wrt", "x", "--shape", "x=", "--text"], "3 * x ** 2"),
        (["x**3", "--wrt", "x", "--shape", "x=()", "--sympy"], "3*x**2"),
        (["x**3", "--wrt", "x", "--latex"], "3 \\, x^{2}"),
        (["--wrt", "x", "--text", "--", "-x"], "-1"),
    ],
)
def test_derive_prints_the_formula(run: Run, args: list[str], expected: str) -> None:
    assert run("derive", *args).stdout.splitlines()[0] == expected


@pytest.mark.parametrize(
    ("formula", "wrt", "options", "expected"),
    [
        ("x @ A @ x", "x", ["--kind", "hessian"], "A + A.T"),
        ("x @ A @ x", "x", ["--kind", "gradient"], "(A + A.T) @ x"),
        ("A @ x", "x", [], "A"),
        ("A @ x", "A", ["--kind", "vjp", "--seed", "v"], "outer(v, x)"),
        ("x * x", "x", ["--kind", "jvp", "--seed", "v"], "2 * v * x"),
        ("x * x", "x", ["--kind", "vjp", "--seed", "[1, 2, 3]"], "[2, 4, 6] * x"),
        ("sum(exp(x))", "x", ["--kind", "hvp", "--seed", "v"], "v * exp(x)"),
        ("sum(x**3)", "x[1]", ["--order", "2"], "6 * x[1]"),
        ("z = x**2\nsum(sin(z))", "z", [], "cos(x**2)"),
    ],
)
def test_derive_prints_text_that_means_the_derivative(
    run: Run, formula: str, wrt: str, options: list[str], expected: str
) -> None:
    shapes = {"A": (3, 3), "x": (3,), "v": (3,)}
    mentioned = [name for name in shapes if name in f"{formula} {options[-1:]}"]
    declared = [w for name in mentioned for w in ("--shape", f"{name}={','.join(map(str, shapes[name]))}")]
    printed = run("derive", formula, "--wrt", wrt, *declared, *options, "--text").stdout
    numbers = {name: np.random.default_rng(4).normal(size=shape) for name, shape in shapes.items()}
    found, wanted = (
        sd.compile(text, list(shapes), shapes=shapes, backend="numpy")(inputs=numbers) for text in (printed, expected)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_shape_that_nothing_mentions_is_refused(run: Run, tmp_path: Path) -> None:
    shapes = ["--shape", "lam=()", "--shape", "x=3", "--shape", "lan=3"]
    for command, *options in (
        ["derive", "--wrt", "x", *shapes],
        ["export", "--out", str(tmp_path), *shapes],
        ["eval", "--value", "lam=1", "--value", "x=3", "--value", "lan=3"],
    ):
        refused = run(command, "lam * x", *options, code=2)
        assert "'lan', which the formula does not mention (close: lam)" in refused.stderr
    seeded = ["derive", "x * x", "--wrt", "x", "--kind", "vjp", "--seed", "v", "--shape", "x=3", "--shape", "v=3"]
    assert run(*seeded, "--text").stdout.splitlines()[0] == "2 * x * v"


def test_derive_states_kind_shape_layout_and_rewrites(run: Run) -> None:
    output = run("derive", "log(softmax(X @ y))", "--wrt", "X", "--shape", "X=2,4", "--shape", "y=4").stdout
    assert "jacobian, shape (2, 2, 4): (2,) of the formula, then (2, 4)" in output
    assert "rewritten for accuracy: log(softmax(X @ y)) → log_softmax(X @ y)" in output
    assert "gradient, shape (n, n)" in run("derive", "sum(A**2)", "--wrt", "A", "--shape", "A=n,n").stdout


def test_derive_by_several(run: Run) -> None:
    output = run("derive", "x**2 * y", "--wrt", "x", "--wrt", "y", "--kind", "hessian", "--text")
    assert output.stdout.splitlines() == ["2 * y", "2 * x", "2 * x", "0"]
    for pair in ("x, x", "x, y", "y, x", "y, y"):
        assert f"hessian by {pair}:" in output.stderr


def test_derive_reads_standard_input(run: Run) -> None:
    assert run("derive", "-", "--wrt", "x", "--text", stdin="x**3\n").stdout == "3 * x ** 2\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["x +* 2", "--wrt", "x"], "expected a number, a name or a bracket, found '*'\n  x +* 2\n     ^"),
        (["x"], "add --wrt NAME"),
        (["x**2", "--wrt", "z"], "'z' is no input of the formula"),
        (["x**2", "--wrt", "x", "--wrt", "x"], "expected each once"),
        (["x**2", "--wrt", "x", "--shape", "x"], "expected --shape NAME=SIZES"),
        (["x**2", "--wrt", "x", "--shape", "x=2", "--shape", "x=3"], "comes twice"),
        (["x**2", "--wrt", "x", "--shape", "x=2,-1"], "has '-1' for a size"),
        (["x**2", "--wrt", "x", "--shape", "x=" + "9" * 40], "for a size"),
        (["x**2", "--wrt", "x", "--shape", "x=99999999999"], "elements, the limit"),
        (["x**2", "--wrt", "x", "--shape", "x=2", "--kind", "gradient"], "expected a scalar"),
        (["x + y", "--wrt", "z", "--shape", "x=()", "--shape", "y=()", "--shape", "z=()"], "does not depend on 'z'"),
        (["x * x", "--wrt", "x", "--kind", "vjp"], "expected 1, the cotangent: --seed FORMULA"),
        (["x * x", "--wrt", "x", "--seed", "x"], "expected --kind jvp, vjp or hvp"),
        (["x * x", "--wrt", "x", "--order", "2", "--kind", "hessian"], "--order with --kind or --seed"),
        (["x * x", "--wrt", "x", "--kind", "nonsense"], "'nonsense' is not one of"),
        (["-x", "--wrt", "x"], "A formula that begins with '-' goes last, behind '--'"),
        (["__import__('os').system('touch pwned')", "--wrt", "x"], "^"),
        (["(" * 100_000, "--wrt", "x"], "Error:"),
        (["nonsense(x)", "--wrt", "x"], "nonsense"),
    ],
)
def test_derive_refuses_in_words(run: Run, args: list[str], words: str) -> None:
    result = run("derive", *args, code=2)
    assert words in result.stderr
    assert not result.stdout
    assert "Traceback" not in result.output
    assert not Path("pwned").exists()


# ---------------------------------------------------------------------------- eval
# ---------------------------------------------------------------------------- formats, files, dialects


def test_derive_in_every_format(run: Run) -> None:
    given = ("derive", "x @ A @ x", "--wrt", "x", "--wrt", "A", "--shape", "A=2,2", "--shape", "x=2")
    assert run(*given, "--format", "text").stdout == run(*given, "--text").stdout
    assert run(*given, "--format", "latex").stdout == run(*given, "--latex").stdout
    assert run(*given, "--format", "book").stdout == run(*given).stdout
    found = json.loads(run(*given, "--format", "json").stdout)
    assert found["kind"] == "gradient"
    assert [one["wrt"] for one in found["results"]] == ["x", "A"]
    assert found["results"][1]["shape"] == [2, 2]
    assert found["inputs"] == {"A": [2, 2], "x": [2]}
    assert json.loads(run(*given, "--json").stdout) == found
    source = run(*given, "--format", "c").stdout
    assert "ptrdiff_t formula(ptrdiff_t count, const double *" in source
    assert "double *gradient_A);" in source
    assert '#include "' not in source
    assert "def evaluate(A, x" in run(*given, "--format", "cython").stdout
    ast.parse(run(*given, "--format", "numpy").stdout)
    written = run("derive", "x**3 * y", "--wrt", "x", "--format", "mathml").stdout
    parsed = ElementTree.fromstring(written.replace("&InvisibleTimes;", "&#x2062;"))  # noqa: S314 -- our own text
    assert parsed.tag.endswith("math")
    assert "give one of them" in run(*given, "--format", "text", "--latex", code=2).stderr


def test_source_of_derive_is_c(run: Run, tmp_path: Path) -> None:
    text = run("derive", "log(det(A))", "--wrt", "A", "--shape", "A=3,3", "--format", "c").stdout
    (tmp_path / "one.c").write_text(text)
    command = [shutil.which("cc") or "cc", "-std=c99", "-Wall", "-Werror", "-pedantic", "-c", "one.c"]
    done = subprocess.run(command, cwd=tmp_path, check=False)
    assert done.returncode == 0


def test_steps(run: Run) -> None:
    given = ("derive", "log(det(A))", "--wrt", "A", "--shape", "A=n,n", "--steps")
    assert run(*given, "--format", "text").stdout == f"{sd.steps('log(det(A))', 'A', A=('n', 'n'))}\n"
    found = json.loads(run(*given, "--json").stdout)
    assert found["steps"][-1]["right"] == "inv(A).T"
    assert "aligned" in run(*given, "--latex").stdout
    assert "gradient or Jacobian" in run(*given, "--kind", "hessian", code=2).stderr
    assert "--format text, latex or json" in run(*given, "--format", "c", code=2).stderr
    assert "B" in run(*given, "--shape", "B=2", code=2).stderr


def test_formulas_from_files(run: Run) -> None:
    Path("f.txt").write_text("y = x**2\n\nsin(y)\n")
    assert run("derive", "@f.txt", "--wrt", "x", "--text").stdout == "y = x ** 2\n2 * x * cos(y)\n"
    assert json.loads(run("eval", "@f.txt", "--value", "x=0", "--json").stdout)["results"]["value"]["values"] == 0.0
    Path("bytes.txt").write_bytes(b"\xff\xfe")
    Path("empty.txt").write_text("")
    for name, words in (("@none.txt", "cannot be read"), ("@bytes.txt", "UTF-8"), ("@.", "cannot be read"),
                        ("@empty.txt", "empty"), ("@", "cannot be read"), ("@a\x00b", "cannot be read")):
        assert words in run("derive", name, "--wrt", "x", code=2).stderr


def test_dialect(run: Run) -> None:
    given = ("--dialect", "matrixcalculus", "--shape", "x=vector", "--shape", "A=symmetric matrix")
    assert run("derive", "x'*A*x", "--wrt", "x", *given, "--text").stdout.strip() == "2 * (A @ x)"
    assert "not declared" in run("derive", "x'*A*y", "--wrt", "x", *given, code=2).stderr
    assert run("derive", "x'*x", "--wrt", "x", "--dialect", "matlab", code=2)
    np.save("x.npy", np.array([1.0, 2.0]))
    found = run("eval", "x'*x", "--dialect", "matrixcalculus", "--data", "x=x.npy", "--json").stdout
    assert json.loads(found)["results"]["value"]["values"] == 5.0


def test_json_of_eval(run: Run) -> None:
    np.save("x.npy", np.array([0.0, 1.0, -1.0]))
    found = json.loads(run("eval", "log(x)", "--data", "x=x.npy", "--shape", "x=()", "--json").stdout)
    assert found["results"]["value"] == {"shape": [3], "values": ["-inf", 0.0, "nan"]}
    found = json.loads(run("eval", "2 * x", "--data", "x=x.npy", "--json", "--out", "y.npy").stdout)
    assert found["results"]["value"] == {"shape": [3]}
    assert found["out"] == "y.npy"
    np.testing.assert_array_equal(np.load("y.npy"), [0.0, 2.0, -2.0])


# ---------------------------------------------------------------------------- check, report, bench


def test_check(run: Run) -> None:
    assert run("check", "log(det(A)) * t", "--shape", "A=2,2", "--shape", "t=()").stdout.startswith("ok")
    found = json.loads(run("check", "abs(x)", "--value", "x=0", "--json").stdout)
    assert found["ok"] is True
    assert found["findings"][0]["kind"] == "kink"
    assert found["point"] == {"x": 0.0}
    wrong = json.loads(run("check", "log(x)", "--value", "x=-1", "--json", code=1).stdout)
    assert wrong["ok"] is False
    assert "x" in run("check", "log(y)", "--value", "x=1", code=2).stderr
    assert "nothing to differentiate" in run("check", "3", code=2).stderr


def test_report(run: Run) -> None:
    given = ("report", "log(det(A))", "--wrt", "A", "--shape", "A=3,3", "--backend", "interpreter")
    found = json.loads(run(*given, "--json").stdout)
    assert found["signature"] == "(A: (3, 3)) -> {A: (3, 3)}"
    assert found["results"]["A"]["formula"] == "inv(A).T"
    assert found["operations"] > 9
    assert "inv(A).T" in run(*given).stdout
    assert "wrote page.html" in run(*given, "--out", "page.html").stdout
    assert Path("page.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert "page.txt" in run(*given, "--out", "page.txt", code=2).stderr
    assert "add --wrt" in run("report", "x", "--order", "2", code=2).stderr
    assert "n" in run("report", "x + y", "--shape", "x=2", "--shape", "y=3", code=2).stderr


def test_bench(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "LEAST", 1e-5)
    given = ("bench", "x @ A @ x", "--shape", "A=n,n", "--shape", "x=n", "--size", "3", "--samples", "5", "--backend",
             "interpreter")
    found = json.loads(run(*given, "--json").stdout)
    assert found["size"] == {"n": 3}
    assert all(one["seconds"] > 0 and one["numpy_seconds"] > 0 for one in found["times"].values())
    assert all(one["numpy"] in (inspect.CLOSED, inspect.SOURCE) for one in found["times"].values())
    shown = run(*given).stdout
    assert "5 samples" in shown
    assert "NumPy by the " in shown
    assert "positions" in run("bench", "x[i]", "--shape", "x=3", "--shape", "i=int", code=2).stderr


@pytest.mark.parametrize("command", ["derive", "eval", "export", "check", "report", "bench", "completion"])
def test_examples_stand_on_lines_of_their_own_and_run(run: Run, command: str) -> None:
    lines = [line.strip() for line in run(command, "--help").stdout.splitlines()]
    examples = [line for line in lines if line.startswith(f"symdiff {command}")]
    assert examples
    assert not any("\\b" in line for line in lines)


PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", re.findall(r"^symdiff .+$", PAGE, re.MULTILINE))
def test_examples_of_the_page_run(run: Run, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "LEAST", 1e-5)
    np.save("x.npy", np.array([0.0, 1.0]))
    Path("loss.txt").write_text("r = X @ w - y\nr @ r\n")
    Path("t.csv").write_text("s,r,t\n100,0.01,1\n50,0.02,2\n")
    assert run(*shlex.split(line)[1:]).stdout


def test_every_command_is_on_the_page() -> None:
    assert set(cli.main.commands) <= set(re.findall(r"`(\w+)`", PAGE))


def test_completion(run: Run) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_SYMDIFF_COMPLETE" in run("completion", shell).stdout
    assert run("completion", "tcsh", code=2)


def test_what_programs_read_of_the_machine(run: Run) -> None:
    assert json.loads(run("doctor", "--json").stdout)["numpy"]["sound"] is True
    assert json.loads(run("cache", "show", "--json").stdout)["entries"] >= 0


@pytest.mark.parametrize("command", ["derive", "check", "report", "bench", "export"])
def test_nothing_is_half_written(run: Run, command: str, tmp_path: Path) -> None:
    more = ["--out", "new"] if command == "export" else []
    for formula in ("x +", "f(x)", "x @ x", "'a'", "@none", "gradient(x, y)"):
        refused = run(command, formula, "--wrt", "x", *more, code=2)
        assert not refused.stdout
        assert refused.stderr.startswith(("Error: ", "Usage: "))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------- export


def test_export_for_other_targets(run: Run) -> None:
    given = ("export", "sum((X @ w)**2)", "--wrt", "w", "--shape", "X=m,n", "--shape", "w=n", "--out", "new")
    told = run(*given, "--target", "c", "--name", "slope").stdout
    assert "cc -std=c99" in told
    assert "double *gradient_w" in Path("new", "slope.h").read_text()
    run(*given, "--target", "numpy", "--name", "slope")
    assert "def evaluate(X, w)" in Path("new", "slope.py").read_text()
    told = json.loads(run(*given, "--target", "c", "--name", "other", "--json").stdout)
    assert told == {
        "target": "c", "signature": "(X: (m, n), w: (n,)) -> {gradient_w: (n,)}",
        "files": ["new/other.c", "new/other.h"], "build": "cc -std=c99 -O2 -ffp-contract=off -c new/other.c",
    }
    assert "size" in run(*given, code=2).stderr
    assert "clash" in run(*given, "--target", "c", "--name", "exp", code=2).stderr


def test_export(run: Run) -> None:
    output = run(
        "export", "log(det(A)) * t", "--wrt", "A", "--shape", "A=2,2", "--shape", "t=()", "--out", "new"
    ).stdout
    assert "wrote new/formula.pyx" in output
    text = Path("new/formula.pyx").read_text()
    assert "def evaluate(A, t, *, out=None):" in text
    assert "shape (..., 2, 2)" in text
    assert Path("new/setup.py").exists()
    assert "overwrite=True" in run("export", "x + 1", "--out", "new", code=2).stderr
    run("export", "x + 1", "--out", "new", "--overwrite")
    assert "def evaluate(x, *, out=None):" in Path("new/formula.pyx").read_text()
    assert "size" in run("export", "A + 1", "--shape", "A=n,n", "--out", "letters", code=2).stderr
    assert "add --wrt NAME" in run("export", "x**2", "--kind", "hessian", "--out", "other", code=2).stderr
    Path("taken").write_text("mine", encoding="utf-8")
    for place in ("taken", "taken/below"):
        assert "taken exists and is no folder" in run("export", "x + 1", "--out", place, code=2).stderr
    assert Path("taken").read_text() == "mine"


def test_what_nobody_foresaw_is_a_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*args: object, **kwargs: object) -> None:
        raise KeyError("the cause")

    monkeypatch.setattr("symdiff.tools.command.frame.differentiate", lost)
    said = run("derive", "x", "--wrt", "x", code=2).stderr
    assert "which is a defect of it" in said
    assert "the cause" in said
    assert "Traceback" not in said


# ---------------------------------------------------------------------------- check


def test_check_prints_a_certificate_and_says_by_its_code_whether_all_is_right(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = ("--shape", "A=2,2", "--shape", "x=")
    lines = run("check", "log(det(A)) + x", "--wrt", "A", *shapes, "--points", "2").stdout.splitlines()
    assert lines[0] == "ok"
    assert re.fullmatch(r"1[3-6] digits are correct", lines[1])
    assert re.fullmatch(r"forward mode by A with differences +8  ok, .*", lines[2])
    assert not any("by x" in line for line in lines)
    from symdiff.tools.checking.ways import Ways

    right = Ways.reverse
    monkeypatch.setattr(Ways, "reverse", lambda self, point, seed: 1.1 * right(self, point, seed))
    wrong = run("check", "x**2", "--points", "1", code=1).stdout
    assert wrong.startswith("NOT OK")
    assert "WRONG" in wrong
    run("check", "x +", code=2)


@pytest.mark.parametrize("form", [[], ["--batch", "S"], ["--batch", "auto"]])
def test_a_table_for_a_number_is_refused_with_its_columns(run: Run, form: list[str]) -> None:
    Path("t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    given = ["eval", "S * 2", "--shape", "S=()", *form]
    said = run(*given, "--data", "S=t.csv", code=2)
    assert "t.csv has 3 columns, and S is one number a row" in said.output
    assert "4. 10." in run(*given, "--data", "S=t.csv:b").stdout


def test_the_list_of_commands_says_whole_sentences(run: Run) -> None:
    for command in ([], ["cache"]):
        said = run(*command, "--help").stdout
        assert "..." not in said.partition("Commands:")[2]
    assert "the derivative of FORMULA as a formula." in run("--help").stdout


def test_files_that_exist_are_told_with_the_option(run: Run) -> None:
    given = ("export", "x**2", "--wrt", "x", "--target", "c", "--name", "slope", "--out", "ex")
    run(*given)
    assert "--overwrite" in run(*given, code=2).output
    run(*given, "--overwrite")


# ---------------------------------------------------------------------------- cli settings
# The command line beside formulas: the doctor, the cache, versions, terminals.


def real(*args: str, folder: Path, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a shell would."""
    return subprocess.run(
        [sys.executable, "-m", "symdiff", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=stdin,
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
        check=False,
        timeout=600,
    )


# ---------------------------------------------------------------------------- the rest


def test_doctor(run: Run) -> None:
    output = run("doctor").stdout
    assert str(cache.cache_folder()) in output
    assert f"numpy         {np.__version__}" in output
    assert re.search(r"^compiler +/.*: .*\d+\.\d+", output, re.MULTILINE)
    assert re.search(r"^vector math +\w", output, re.MULTILINE)
    assert re.search(r"^backend +auto takes ", output, re.MULTILINE)


@pytest.mark.exhaustive
def test_doctor_tells_what_is_wrong_with_the_cache(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = real("doctor", folder=tmp_path, SYMDIFF_CACHE_DIR=str(shared))
    assert done.returncode == 0, done.stderr
    assert "it can be written by others (mode 0777)" in " ".join(done.stdout.split())
    done = real("cache", "show", folder=tmp_path, SYMDIFF_CACHE_DIR=str(shared))
    assert "The folder can be written by others (mode 0777)." in " ".join(done.stdout.split())


def test_doctor_without_a_compiler(tmp_path: Path) -> None:
    done = real("doctor", folder=tmp_path, PATH=str(tmp_path), CC="")
    assert done.returncode == 0, done.stderr
    assert "none found ($CC, cc, gcc, clang)" in done.stdout
    assert "auto takes the interpreter" in done.stdout


def test_doctor_with_a_compiler_that_fails(tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\ncase $1 in --version) echo fine;; *) echo out of order >&2; exit 1;; esac\n")
    broken.chmod(0o755)
    done = real("doctor", folder=tmp_path, CC=str(broken), SYMDIFF_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 1
    assert "out of order" in done.stdout


def test_cache_show_and_clear(run: Run) -> None:
    sd.compile("x + 12345", backend="native")
    names = [name for name, _, _ in cache.entries(cache.cache_folder())]
    plans = sum(name.startswith("plan-") for name in names)
    assert 0 < plans < len(names)
    held = f"{len(names) - plans} kernels and {plans} records of formulas"
    assert held in run("cache", "show").stdout
    assert f"removed {held}" in run("cache", "clear").stdout
    assert not cache.entries(cache.cache_folder())


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"symdiff, version {sd.__version__}\n"
    for command in ("derive", "eval", "demo", "doctor", "cache"):
        assert command in run("--help").stdout
        assert "Usage:" in run(command, "-h").stdout


def test_eval_without_a_compiler(tmp_path: Path) -> None:
    done = real("eval", "x * 2", "--value", "x=4", folder=tmp_path, PATH=str(tmp_path), CC="")
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: no C compiler was found")
    assert len(done.stderr.splitlines()) == 1
    assert "by the interpreter" in done.stdout


def test_a_warning_is_one_line(tmp_path: Path) -> None:
    done = real("eval", "x * 2", "--value", "x=4", "--backend", "native", folder=tmp_path, CC="no-such-compiler")
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: CC='no-such-compiler' does not run")
    assert len(done.stderr.splitlines()) == 1
    assert "8" in done.stdout


@pytest.mark.rows(1)
@pytest.mark.parametrize("columns", ["1", "20", "200"])
def test_no_width_breaks_a_formula(tmp_path: Path, columns: str) -> None:
    formula = " + ".join(f"sin({k} * x)" for k in range(2, 12))
    done = real("derive", formula, "--wrt", "x", folder=tmp_path, COLUMNS=columns, NO_COLOR="1")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines()[0].count("cos") == 10


def test_a_terminal_without_unicode_reads_another_spelling(tmp_path: Path) -> None:
    args = ("derive", "log(det(A))", "--wrt", "A", "--shape", "A=n,n")
    done = real(*args, folder=tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "inv(A).T"
    assert done.stdout.isascii()


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m symdiff derive 'x**2' --wrt x | true"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------------------- cli numbers
# The command line on numbers: eval with files, values, batches and tables.


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(1)


def test_eval_a_batch_from_npy_to_npy(run: Run, numbers: np.random.Generator) -> None:
    a = numbers.normal(size=(20, 4, 4))
    np.save("a.npy", a)
    output = run("eval", "log(det(A)**2)", "--wrt", "A", "--data", "A=a.npy", "--batch", "A", "--out", "g.npy").stdout
    np.testing.assert_allclose(np.load("g.npy"), 2 * np.linalg.inv(a).swapaxes(1, 2), rtol=1e-9)
    assert "A: (20, 4, 4) float64, 20 samples from a.npy" in output
    assert re.search(r"wrote g\.npy \(\d+ bytes\)", output)
    assert sorted(os.listdir()) == ["a.npy", "g.npy"]


def test_the_shape_of_a_sample_decides_the_batch(run: Run, numbers: np.random.Generator) -> None:
    a = numbers.normal(size=(3, 5, 4, 4))
    np.save("a.npy", a)
    for shape in ("4,4", "n,n"):
        run("eval", "det(A)", "--data", "A=a.npy", "--shape", f"A={shape}", "--out", "d.npy", "--overwrite")
        np.testing.assert_allclose(np.load("d.npy"), np.linalg.det(a), rtol=1e-10)
    np.save("one.npy", a[0, 0])
    run("eval", "det(A)", "--data", "A=one.npy", "--out", "d.npy", "--overwrite")
    np.testing.assert_allclose(np.load("d.npy"), np.linalg.det(a[0, 0]), rtol=1e-10)


def test_eval_from_npz_with_several_results(run: Run, numbers: np.random.Generator) -> None:
    X, y = numbers.normal(size=(30, 2, 4)), numbers.normal(size=(30, 4))
    np.savez("d.npz", X=X, y=y)
    run(
        *("eval", "log(softmax(X @ y))", "--wrt", "X", "--wrt", "y", "--data", "X=d.npz", "--data", "y=d.npz:y"),
        *("--batch", "auto", "--out", "j.npz"),
    )
    scores = np.einsum("nij,nj->ni", X, y)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    slopes = np.eye(2) - p[:, None, :]
    with np.load("j.npz") as found:
        np.testing.assert_allclose(found["d/dX"], np.einsum("nki,nj->nkij", slopes, y), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found["d/dy"], np.einsum("nki,nij->nkj", slopes, X), rtol=1e-10, atol=1e-12)


def test_eval_from_csv_with_values_and_reduce(run: Run) -> None:
    Path("t.csv").write_text("name,a,b\nu,1,2\nv,3,4\n")
    given = ["--wrt", "w", "--data", "x=t.csv:a,b", "--batch", "x", "--value", "w=[1, 2]"]
    assert "[[10. 20.]\n [66. 88.]]" in run("eval", "sum(w * x)**2", *given).stdout
    run("eval", "sum(w * x)**2 * s", *given, "--value", "s=0.5", "--reduce", "sum", "--out", "r.csv")
    assert Path("r.csv").read_text() == "d/dw\n38\n54\n"


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy", "auto"])
def test_eval_agrees_with_python(run: Run, numbers: np.random.Generator, backend: str) -> None:
    x = numbers.normal(size=(50, 3))
    np.save("x.npy", x)
    run(
        *("eval", "sum(exp(sin(x)))", "--wrt", "x", "--kind", "hessian", "--data", "x=x.npy", "--batch", "x"),
        *("--backend", backend, "--out", "h.npy"),
    )
    kernel = sd.compile(sd.hessian("sum(exp(sin(x)))", "x", x=3), backend="numpy")
    np.testing.assert_allclose(np.load("h.npy"), kernel(x), rtol=1e-12)


def test_eval_of_derivatives_within_the_formula(run: Run) -> None:
    assert "\n12\n" in run("eval", "gradient(x**3, x)", "--value", "x=2").stdout.replace("12.\n", "12\n")
    given = ["--value", "x=2", "--value", "y=3"]
    for text, names in {
        "gradient(x * y, (x, y))": "gradient_x gradient_y",
        "x * y, gradient(x * y, x), gradient(x * y, y)": "value gradient_x gradient_y",
        "x, x + y, x - y": "x value0 value1",
        "h = x * y\nh, hessian(h, (x, y))": "h hessian_x_x hessian_x_y hessian_y_x hessian_y_y",
        "value0 = x\nvalue0, x + y, 2 * y": "value0 value1 value2",
        "hvp(x**2 * y, x, 1), jvp(x * y, (x, y), (1, 1))": "hvp_x jvp_x_y",
    }.items():
        for form, stdin in ((text, None), ("-", text)):
            found = json.loads(run("eval", form, *given, "--json", stdin=stdin).stdout)["results"]
            assert list(found) == names.split()


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_eval_of_conditions(run: Run, backend: str) -> None:
    np.save("x.npy", np.array([1.0, 2.0, 3.0]))
    run("eval", "(x > 1) & (x < 3)", "--data", "x=x.npy", "--backend", backend, "--out", "c.npy")
    np.testing.assert_array_equal(np.load("c.npy"), [0.0, 1.0, 0.0])


def test_eval_of_an_empty_batch_and_of_numbers_that_are_not_finite(run: Run) -> None:
    np.save("none.npy", np.empty((0, 3)))
    assert "(0, 3) float64, empty" in run("eval", "x**2", "--data", "x=none.npy", "--batch", "x").stdout
    np.save("odd.npy", np.array([1.0, np.nan, np.inf]))
    assert "2 of 3 not finite" in run("eval", "x**2", "--data", "x=odd.npy").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["sum(x)", "--data", "x=nowhere.npy"], "nowhere.npy: there is no such file"),
        (["sum(x)", "--data", "x=pickled.npy"], "pickled Python objects, which are never loaded"),
        (["sum(x)", "--data", "x=text.csv"], "text.csv, line 2, column 1 (a): 'one' is not a number"),
        (["sum(x)", "--data", "x"], "expected --data X=x.npy"),
        (["sum(x)", "--data", "x=x.npy", "--value", "x=1"], "come twice"),
        (["sum(x)", "--data", "x=x.npy", "--out", "x.npy"], "is the input x.npy"),
        (["sum(x)", "--data", "x=x.npy", "--out", "none/r.npy"], "there is no folder"),
        (["x", "--data", "x=cube.npy", "--out", "r.csv"], "a .csv file holds two axes, the result has 3"),
        (["x", "--data", "x=cube.npy", "--batch", "x", "--out", "r.csv"], "the result has 3"),
        (["sum(x)", "--data", "x=x.npy", "--out", "r.txt"], "ending in .npy, .npz, .csv or .parquet"),
        (["sum(x)", "--data", "x=x.npy", "--shape", "x=4"], "x has shape (5, 3); expected (4,)"),
        (["sum(x)", "--data", "x=x.npy", "--shape", "x=2,5,3"], "x has shape (5, 3); expected (2, 5, 3)"),
        (["x * y", "--data", "x=x.npy", "--shape", "x=n", "--shape", "y=n", "--value", "y=[1]"], "n is 3 from x"),
        (["sum(x)", "--data", "x=x.npy", "--shape", "y=4"], "--shape for 'y', which has no numbers"),
        (["sum(x)", "--data", "x=x.npy", "--batch", "z"], "--batch z, which is no input; expected some of x"),
        (["sum(x) * a", "--data", "x=x.npy", "--value", "a=1", "--batch", "a"], "which is a single number"),
        (["sum(x) + sum(y)", "--data", "x=x.npy", "--data", "y=y.npy", "--batch", "auto"], "x has 5, y has 2"),
        (["sum(x) * q", "--data", "x=x.npy"], "no numbers for 'q'"),
        (["p * q", "--value", "p=1"], "no numbers for 'q'"),
        (["p * q"], "no numbers for 'p'"),
        (["p", "--value", "p=one"], "expected a number, 3.5, or lists"),
        (["p", "--value", "p=[[1],[1,2]]"], "expected a number, 3.5, or lists"),
        (["p", "--value", "p=" + "[" * 5000], "expected a number, 3.5, or lists"),
        (["inv(A)", "--value", "A=[[1,1],[1,1]]"], "singular"),
        (["sum(x)", "--data", "x=x.npy", "--kind", "hessian"], "add --wrt NAME"),
        (["x @ x", "--data", "x=x.npy"], "Shapes of one sample: x (5, 3); say --batch NAME"),
        (["z * exp(-z)", "--data", "z=long.npy", "--wrt", "z"], "Shapes of one sample: z (20000,); say --batch NAME"),
    ],
)
def test_eval_refuses_in_words(run: Run, args: list[str], words: str) -> None:
    np.save("x.npy", np.ones((5, 3)))
    np.save("y.npy", np.ones((2, 3)))
    np.save("cube.npy", np.ones((2, 3, 4)))
    np.save("long.npy", np.ones(20_000))
    np.save("pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    Path("text.csv").write_text("a\none\n")
    before = {p: p.read_bytes() for p in Path().iterdir()}
    result = run("eval", *args, code=2)
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert {p: p.read_bytes() for p in Path().iterdir()} == before


TABLE = "S,K,name\n1,2,3\n4,5,6\n"


def test_a_table_without_a_name_gives_its_columns_by_name(run: Run) -> None:
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    one_by_one = ("--data", "S=t.csv:S", "--data", "K=t.csv:K")
    wanted = json.loads(run("eval", "S*K", *one_by_one, "--batch", "auto", "--json").stdout)
    for data in (["t.csv"], ["t.csv", "K=t.csv:K"]):
        given = [part for one in data for part in ("--data", one)]
        found = json.loads(run("eval", "S*K", *given, "--batch", "auto", "--json").stdout)
        assert found["results"] == wanted["results"]
    found = json.loads(run("eval", "S*K*r", "--data", "t.csv", "--value", "r=2", "--batch", "auto", "--json").stdout)
    assert found["results"]["value"]["values"] == [4.0, 40.0]
    # what a formula calls or defines is no input
    text = "K = 2\nname = log(S)\nK * exp(name)"
    found = json.loads(run("eval", text, "--data", "t.csv", "--batch", "auto", "--json").stdout)
    assert found["results"]["value"]["values"] == pytest.approx([2.0, 8.0])


def test_a_table_that_nothing_is_taken_of_is_refused(run: Run) -> None:
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    Path("bare.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    said = run("eval", "x*log(y)", "--data", "t.csv", "--batch", "auto", code=2)
    assert "t.csv has no column that the formula mentions (x, y); its columns: S, K, name" in said.output
    said = run("eval", "x*y", "--data", "bare.csv", "--batch", "auto", code=2)
    assert "it has no header. Give a column by --data NAME=bare.csv:COLUMN" in said.output


def test_all_columns_are_not_taken_for_the_one_of_the_inputs_name(run: Run) -> None:
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    said = run("eval", "S*K", "--data", "S=t.csv", "--data", "K=t.csv", "--batch", "auto", code=2)
    assert "one of them called S; write --data S=t.csv:S for that one" in said.output
    for given in (["--data", "S=t.csv:S,K,name"], ["--data", "S=t.csv", "--shape", "S=3"], ["--data", "x=t.csv"]):
        name = given[1][0]
        found = json.loads(run("eval", f"sum({name})", *given, "--batch", name, "--json").stdout)
        assert found["results"]["value"]["values"] == [6.0, 15.0]


def test_rows_of_a_table_by_name_are_streamed(run: Run) -> None:
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    run("eval", "S*K", "--data", "t.csv", "--batch", "auto", "--rows-at-once", "1", "--out", "r.npy")
    assert np.load("r.npy").tolist() == [2.0, 20.0]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--wrt", "s", "--wrt", "r", "--value"], ["value", "d/ds", "d/dr"]),
        (["--value", "--wrt", "s"], ["value", "d/ds"]),
        (["--wrt", "s"], ["d/ds"]),
        (["--wrt", "s", "--value", "--kind", "hessian"], ["value", "d2/ds ds"]),
        (["--wrt", "s", "--wrt", "r", "--kind", "hessian"], ["d2/ds ds", "d2/ds dr", "d2/dr ds", "d2/dr dr"]),
        (["--value"], ["value"]),
        ([], ["value"]),
    ],
)
def test_eval_gives_value_and_derivatives_in_one_run(run: Run, options: list[str], names: list[str]) -> None:
    s, r, t = np.array([1.0, 2.0]), np.array([0.1, 0.2]), 3.0
    np.savetxt("t.csv", np.column_stack([s, r]), delimiter=",", header="s,r", comments="")
    given = ["--data", "t.csv", "--batch", "auto", "--value", "t=3", "--out", "g.csv"]
    run("eval", "s * exp(-r * t)", *options, *given)
    head, *rows = Path("g.csv").read_text().splitlines()
    assert head.split(",") == names
    known = {"value": s * np.exp(-r * t), "d/ds": np.exp(-r * t), "d/dr": -t * s * np.exp(-r * t), "d2/ds ds": 0 * s}
    for name, column in zip(names, np.array([[float(x) for x in row.split(",")] for row in rows]).T, strict=True):
        if name in known:
            np.testing.assert_allclose(column, known[name], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(("word", "told"), [
    ("steps", "derive FORMULA --wrt x --steps"), ("latex", "--latex"), ("hessian", "--kind hessian"),
    ("plot", "symdiff serve"), ("run", "eval FORMULA"), ("deriv", "Did you mean"),
])  # fmt: skip
@pytest.mark.rows(1000)
def test_words_that_are_no_commands_tell_what_is(word: str, told: str) -> None:
    result = CliRunner().invoke(cli.main, [word, "x**2"])
    assert result.exit_code == 2
    assert "No such command" in result.output
    assert told in result.output


@pytest.mark.parametrize(("args", "told"), [
    (["derive", "x * y", "x"], "'x' stands behind the formula; write --wrt x"),
    (["derive", "x", "+", "y", "--wrt", "x"], "put quotes around a formula"),
    (["eval", "x * y", "x=3"], "write --value x=3"),
    (["derive", "x * y", "x=3", "--wrt", "x"], "write --shape x=3"),
    (["derive", "x * y", "--wrt", "x", "--hessian"], "Write --kind hessian."),
])  # fmt: skip
@pytest.mark.rows(1000)
def test_words_behind_a_formula_are_told_their_option(args: list[str], told: str) -> None:
    result = CliRunner().invoke(cli.main, args)
    assert result.exit_code == 2
    assert told in result.output


def test_a_missing_variable_is_named() -> None:
    result = CliRunner().invoke(cli.main, ["derive", "s * exp(-r)"])
    assert result.exit_code == 2
    assert "add --wrt NAME, as --wrt s" in result.output
