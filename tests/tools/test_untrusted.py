"""What a stranger can cause, and what he cannot, as docs/untrusted.md says it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import symdiff as sd
from symdiff.errors import OBEYED
from symdiff.frontend.formula import read_formula
from symdiff.tools.command.cli import main


def run(*args: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, list(args), input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


#: Commands that take a formula, with an argument each that they need.
COMMANDS = {
    "derive": ["--wrt", "x"],
    "eval": ["--value", "x=2"],
    "check": ["--value", "x=2"],
    "report": [],
    "bench": ["--samples", "1"],
    "export": ["--out", "made"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---------------------------------------------------------------------------- reads and writes


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["secret.txt", "/proc/self/environ", "~/.ssh/id", "missing"])
def test_a_strangers_text_names_no_file(command: str, name: str, here: Path) -> None:
    (here / "secret.txt").write_text("a hidden ? word")
    result = run(command, f"@{name}", *COMMANDS[command], "--untrusted")
    assert result.exit_code == 2
    assert "--untrusted" in result.output
    assert "hidden" not in result.output
    assert not (here / "made").exists()


def test_files_and_standard_input_are_read_where_they_are_asked_for(here: Path) -> None:
    (here / "f.txt").write_text("x**2")
    assert run("derive", "@f.txt", "--wrt", "x", "--text").output.startswith("2 * x")
    assert run("derive", "-", "--wrt", "x", "--text", "--untrusted", stdin="x**2").output.startswith("2 * x")


def test_text_opens_nothing(here: Path) -> None:
    """A stranger's text, and everything made of it, opens no file for writing, starts no process and no connection."""
    code = """
    import sys, symdiff as sd
    from symdiff.frontend.formula import read_formula
    text = "gradient(sum(sin(x) * exp(y @ y)), x)"
    shapes = {"x": 3, "y": 3}
    def everything():
        f = sd.gradient("sum(sin(x)) * exp(y @ y)", "x", shapes=shapes, budget="strict")
        str(f), f.unicode(), f.latex(), f.sympy, sd.steps("sum(sin(x))", "x", x=3, budget="strict").latex()
        sd.parse(text, shapes, budget="strict")
        for bad in ("__import__('os').system('id')", "open('/etc/passwd')", "x.__class__", "@/etc/passwd", "x; y"):
            try:
                sd.parse(bad, shapes, budget="strict")
            except sd.SymdiffError:
                pass
    everything()
    seen = []
    def watch(event, args):
        writes = event == "open" and isinstance(args[1], str) and any(c in args[1] for c in "wax+")
        reads = event == "open" and isinstance(args[0], str) and not args[0].startswith((sys.prefix, sys.base_prefix))
        if writes or reads or event.startswith(("subprocess", "socket", "os.system", "os.exec", "os.remove")):
            seen.append((event, args))
    sys.addaudithook(watch)
    everything()
    assert not seen, seen
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=False, capture_output=True, text=True, cwd=here,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(sd.__file__).parent.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["report", "x**2", "--out", "taken.html"],
        ["eval", "x**2", "--value", "x=2", "--out", "taken.npy"],
        ["eval", "x**2", "--value", "x=2", "--out", "taken.csv", "--json"],
        ["export", "x**2", "--out", "folder"],
        ["demo", "--out", "taken.png", "--no-compare"],
    ],
)
def test_no_file_is_replaced_without_a_word(args: list[str], here: Path) -> None:
    (here / "folder").mkdir()
    names = ["taken.html", "taken.npy", "taken.csv", "taken.png", "folder/setup.py", "folder/formula.pyx"]
    for name in names:
        (here / name).write_text("as it was")
    refused = run(*args)
    assert refused.exit_code == 2
    assert "--overwrite" in refused.output
    assert [(here / name).read_text() for name in names] == ["as it was"] * len(names)
    if args[0] != "demo":
        assert run(*args, "--overwrite").exit_code == 0


def test_a_report_from_python_replaces_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    kernel = sd.compile("x**2", backend="numpy")
    kernel.report(page, timed=False)
    with pytest.raises(sd.DataError, match="overwrite=True"):
        kernel.report(page, timed=False)
    kernel.report(page, timed=False, overwrite=True)


# ---------------------------------------------------------------------------- what is printed

#: Sequences that terminals obey, and characters that hide or turn text.
ESCAPES = ["\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\x08\x08", "\r", "\u202e", "\x7f", "\x1bc"]


@pytest.mark.parametrize("escape", ESCAPES)
def test_column_names_are_printed_as_codes(escape: str, here: Path) -> None:
    name = f"a{escape}b"
    with open("t.csv", "w", newline="", encoding="utf-8") as stream:
        stream.write(f'"{name}",c\n1,2\n3,4\n')
    for args in (
        ["eval", "x", "--data", "t.csv"],
        ["eval", "x", "--data", "x=t.csv:nothing"],
        ["eval", f"{name}*2", "--data", "t.csv"],
    ):
        result = run(*args)
        assert result.exit_code == 2
        assert not OBEYED.search(result.output), result.output
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({name: [1.0, 2.0], "c": [3.0, 4.0]}), "t.parquet")
    result = run("eval", "x", "--data", "t.parquet")
    assert result.exit_code == 2
    assert not OBEYED.search(result.output), result.output


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize(
    "args",
    [
        ["derive", "x?", "--wrt", "x"],
        ["derive", "x", "--wrt", "x?"],
        ["derive", "x", "--wrt", "x", "--shape", "x=?"],
        ["derive", "x", "--wrt", "x", "--shape", "?"],
        ["derive", "x", "--kind", "?"],
        ["derive", "x", "--?"],
        ["?"],
        ["eval", "x", "--value", "x=?"],
        ["eval", "x", "--data", "x=?.npy"],
        ["eval", "x", "--value", "x=2", "--out", "?"],
        ["eval", "x", "--value", "x=2", "--out", "none?/x.npy"],
        ["report", "x", "--out", "?"],
        ["export", "x", "--out", "made", "--name", "?"],
        ["check", "x", "--points", "?"],
        ["derive", "@?"],
    ],
)
def test_options_are_printed_as_codes(escape: str, args: list[str], here: Path) -> None:
    for given in (escape, f"a{escape}b", f"'{escape}'"):
        result = run(*(one.replace("?", given) for one in args))
        assert not OBEYED.search(result.output.replace("\r\n", "\n")), result.output


def test_words_of_the_compiler_are_printed_as_codes() -> None:
    error = sd.BuildError("cc: \x1b[01m\x1b[Kerror:\x1b[m\x1b[K no")
    assert not OBEYED.search(str(error))
    assert "\\x1b[01m" in str(error)
    assert "error:" in str(error)


def test_json_holds_no_escape_either(here: Path) -> None:
    result = run("eval", "x", "--value", "x=2", "--json", "--out", "r\u009b\u202e\x7f.npy")
    assert result.exit_code == 0
    assert not OBEYED.search(result.output)
    assert json.loads(result.output)["out"] == "r\u009b\u202e\x7f.npy"


@pytest.mark.parametrize("name", ["<b>x</b>", "$x$", "\\href{javascript:alert(1)}{x}", "x\x1b[31m", "x\u202e", "a b"])
def test_names_hold_no_markup(name: str) -> None:
    for make in (lambda: sd.scalar(name), lambda: sd.parse("x", {name: ()}), lambda: sd.parse(name)):
        with pytest.raises(sd.SymdiffError) as caught:
            make()
        assert not OBEYED.search(str(caught.value))


def test_a_report_quotes_what_came(tmp_path: Path) -> None:
    kernel = sd.compile("x < y", backend="numpy")
    kernel.report(tmp_path / "page.html", title="<script>alert(1)</script>", timed=False)
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    "args",
    [
        ["derive", "?", "--wrt", "x"],
        ["derive", "x", "--wrt", "?"],
        ["derive", "x", "--wrt", "x", "--shape", "?"],
        ["derive", "x", "--wrt", "x", "--shape", "x=?"],
        ["derive", "x", "--wrt", "x", "--kind", "?"],
        ["derive", "x", "--?"],
        ["eval", "x", "--value", "x=?"],
        ["eval", "x", "--value", "?=2"],
        ["eval", "x", "--data", "?"],
        ["eval", "x", "--value", "x=2", "--batch", "?"],
        ["check", "x", "--points", "?"],
        ["export", "x", "--out", "?"],
        ["?"],
    ],
)
@pytest.mark.parametrize("letter", ["a", "9", "(", "["])
def test_messages_do_not_repeat_all_that_came(args: list[str], letter: str, here: Path) -> None:
    result = run(*(one.replace("?", letter * 1_000_000) for one in args))
    assert result.exit_code == 2
    assert len(result.output) < 3_000


@pytest.mark.parametrize(
    "call",
    [
        lambda s: sd.compile("x", backend=s),
        lambda s: sd.compile("x", reduce=s),
        lambda s: sd.compile("x", **{s: 3}),
        lambda s: sd.gradient("x", s),
        lambda s: sd.gradient("x", "x", budget=s),
        sd.scalar,
        lambda s: sd.parse("x", dialect=s),
        lambda s: sd.array("x", (s,)),
        lambda s: getattr(sd, s),
        lambda s: sd.check("x", at={s: 1.0}),
        lambda s: sd.export(sd.compile("x", backend="numpy"), "/tmp", s),  # noqa: S108
    ],
)
def test_messages_of_python_do_not_either(call: object) -> None:
    with pytest.raises(sd.SymdiffError) as caught:
        call("q" * 1_000_000)  # type: ignore[operator]
    assert len(str(caught.value)) < 1_500


# ---------------------------------------------------------------------------- work

#: Rules by which each line of a chain is made of the two before it.
RULES = [
    "sin(A)*A + B", "A*B + A", "A/(1+B)", "(A+B)*(A-B)", "exp(A)*B - A*B", "A**2 + B", "A**2 - B**2", "log(1+A**2)+B*x",
    "sqrt(A**2+B**2)", "A*B*x", "where(A>B, A*B, A)", "sigmoid(A)*B + sigmoid(-A)", "A + B/x", "A*(B - A*(B-x))",
]  # fmt: skip


def chain(rule: str, lines: int) -> str:
    body = (f"h{i} = {rule.replace('B', f'h{i - 2}').replace('A', f'h{i - 1}')}\n" for i in range(2, lines))
    return "h0 = x\nh1 = sin(x)\n" + "".join(body) + f"h{lines - 1}"


@pytest.mark.rows(1)
@pytest.mark.parametrize("rule", RULES)
def test_what_strict_accepts_is_printed_in_work_linear_in_its_lines(rule: str) -> None:
    """Text grows as the number of lines; the work behind it is counted by the steps that printing charges.

    Up to some hundred nodes shorter forms are looked for, by work that has a bound of its own: what is longer is not
    compared with these alone.
    """
    from symdiff.ground.budget import Opened, balance

    used = []
    for lines in (60, 120):
        g = sd.gradient(chain(rule, lines), "x", budget="strict")
        with Opened("default"):
            before = balance()
            text = str(g)
            after = balance()
        assert before is not None
        assert after is not None
        used.append((before[1] - after[1], len(text)))
    for (less, short), (more, long) in pairwise(used):
        assert more < 4 * less + 30_000
        assert long < 3 * short + 6_000


def test_sixty_lines_are_printed_in_a_moment() -> None:
    text = chain("sin(A)*A + B", 60)
    f, g = read_formula(text, {}).value, sd.gradient(text, "x", budget="strict")
    start = time.perf_counter()
    for a in (f, g):
        assert isinstance(a, sd.Array)
        assert len(str(a)) + len(a.unicode()) + len(a.latex()) < 40_000
        assert a.sympy is not None
    assert time.perf_counter() - start < 30  # it took more than a minute; now a second or so


def test_printed_chains_are_read_back_with_the_same_value() -> None:
    rng = random.Random(5)
    for rule in rng.sample(RULES, 6):
        g = sd.gradient(chain(rule, rng.randint(10, 30)), "x")
        again = sd.compile(str(g), x=(), backend="numpy")
        for x in (0.3, 0.7):
            np.testing.assert_allclose(again(x), sd.compile(g, backend="numpy")(x), rtol=1e-9)


@pytest.mark.parametrize("line", ["{a}*{b} + 1", "where({a} > {b}, {a}*{b}, {b})", "sin({a})*{a} + {b}"])
def test_printing_steps_is_work_of_the_budget(line: str) -> None:
    """Each step prints the whole formula: chains of lines whose steps would be megabytes are refused."""

    def chain(n: int) -> str:
        lines = ["h0 = x", "h1 = y", *(f"h{i} = {line.format(a=f'h{i - 1}', b=f'h{i - 2}')}" for i in range(2, n))]
        return "\n".join([*lines, f"h{n - 1}"])

    assert len(str(sd.steps(chain(12), "x", budget="strict"))) < 100_000
    with pytest.raises(sd.LimitError):
        sd.steps(chain(120), "x", budget="strict")
