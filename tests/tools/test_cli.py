from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result

import symdiff as sd
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
    assert "ptrdiff_t derivative(ptrdiff_t count, const double *" in source
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
