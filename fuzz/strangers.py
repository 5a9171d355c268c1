"""Command lines of an attacker: he draws texts, names, shapes, options and tables, all with ``--untrusted``.

A finding is an error that is not symdiff's own, work beyond the bound, a character that a terminal obeys, a secret of a
file that he named, a file that is not what it was.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from . import texts
from .case import shorter

#: Arguments of a command line, and the table that lies beside it.
StrangerCase = tuple[list[str], str]

HIDDEN = "a-word-that-must-not-come-out"
#: Seconds of this process that a command may take: two, and twice as long where others have the processor's caches.
SECONDS = 4.0
MEGABYTES = 500
_ESCAPES = ("\x1b[31m", "\x1b]0;t\x07", "\x9b2J", "\u202e", "\x08", "\r", "\x00", "\ud800", "\u2066")
_NAMES = ("x", "y", "v", "A", "n", "__class__", "lambda", "x" * 70, "<b>", "$x$", "é", "", "a b", "../x", "~", "@x")
_FORMATS = ("text", "latex", "mathml", "sympy", "c", "numpy", "json")
_FILES = ("secret.txt", "/proc/self/environ", "../secret.txt", "~/x", "/dev/zero", "/dev/stdin", ".", "")
_RULES = (
    "sin(A)*A + B",
    "A*B + A",
    "A**2 - B",
    "(A+B)*(A-B)",
    "A/(1+B)",
    "exp(A)*B",
    "A + B/x",
    "A @ A",
    "A**A",
    "[A, B]",
)
_ASKS = (
    "derivative(tan(x)**x, x, {n})",
    "hessian(sum(outer(v, v) ** {n}), v)",
    "zeros(({n}, {n}, {n}))",
    "sum(arange({n}00000))",
    "{n}**{n}**{n}",
    "eye({n}000) @ eye({n}000)",
    "kron(eye({n}), kron(eye({n}), eye({n})))",
    "iterate(a -> sin(a), x, {n}00000)",
    "x" + "+x" * 3000,
    "(" * 90 + "x" + ")" * 90,
    "sin(" * 90 + "x" + ")" * 90,
)


def draw(rng: random.Random) -> StrangerCase:
    """Draw a command line and a table."""
    command = rng.choice(("derive", "derive", "eval", "check", "report", "export"))
    tame = ["--wrt", "x", *(["--out", "made"] if command == "export" else [])]
    tame += ["--value", "x=0.7"] if command in ("eval", "check") else []
    tame += ["--format", rng.choice(_FORMATS)] if command == "derive" else []
    is_tame = rng.random() < 0.6  # what is refused for its options never comes to work
    args = [command, "--untrusted", *(tame if is_tame else _options(rng, command))]
    text = _text(rng, 0.2 if is_tame else 0.0)
    args += ["--", text] if text.startswith("-") and text != "-" else [text]
    header = ",".join(_name(rng) for _ in range(rng.randint(1, 4)))
    rows = "".join(
        ",".join(rng.choice(("1", "2.5", "nan", "1e400", "x", "")) for _ in range(2)) + "\n" for _ in range(3)
    )
    return args, f"{header}\n{rows}"


def _options(rng: random.Random, command: str) -> Iterator[str]:
    for _ in range(rng.randint(0, 3)):
        yield from (
            "--shape",
            f"{_name(rng)}={rng.choice(('', '2', 'n,n', '2,3', '1000000', '-1', '1e9', _name(rng)))}",
        )
    if rng.random() < 0.8:
        yield from ("--wrt", rng.choice(("x", "x", "v", "A", _name(rng))))
    if command == "derive" and rng.random() < 0.5:
        yield from ("--format", rng.choice((*_FORMATS, _name(rng))))
    if command in ("eval", "check"):
        yield from ("--value", f"x={rng.choice(('1', '[1,2]', '1e308', '[' * 5000, 'x', _name(rng)))}")
        if rng.random() < 0.4:
            yield from ("--data", rng.choice(("t.csv", "x=t.csv", f"x=t.csv:{_name(rng)}", f"x={_name(rng)}.npy")))
    if command == "export":
        yield from ("--out", "made", "--name", rng.choice(("f", _name(rng))))
    if rng.random() < 0.1:
        yield from (f"--{_name(rng)}", _name(rng))


def _name(rng: random.Random) -> str:
    name = rng.choice(_NAMES[:5]) if rng.random() < 0.6 else rng.choice(_NAMES)
    if rng.random() < 0.15:
        name += rng.choice(_ESCAPES)
    return name * 100_000 if rng.random() < 0.01 else name


def _text(rng: random.Random, least: float) -> str:
    way = rng.uniform(least, 0.55 if least else 1.0)
    if way < 0.1:
        return f"@{rng.choice(_FILES)}"
    if way < 0.3:
        return rng.choice(_ASKS).replace("{n}", str(rng.choice((2, 9, 50, 999))))
    if way < 0.5:
        rule, lines = rng.choice(_RULES), rng.choice((5, 30, 100, 400))
        body = (f"h{i} = {rule.replace('B', f'h{i - 2}').replace('A', f'h{i - 1}')}\n" for i in range(2, lines))
        return "h0 = x\nh1 = sin(x)\n" + "".join(body) + f"h{lines - 1}"
    text = texts.draw(rng)[0]
    return text + rng.choice(_ESCAPES) if way < 0.6 else text


def run(case: StrangerCase) -> str:
    """Run the command in this process and look at what it did."""
    import resource

    from click.testing import CliRunner

    from symdiff.errors import OBEYED
    from symdiff.tools.command.cli import main

    args, table = case
    before = {"secret.txt": HIDDEN, "t.csv": table}
    for name, text in before.items():
        Path(name).write_text(text, encoding="utf-8", errors="replace", newline="")
    kept = {name: Path(name).read_bytes() for name in before}
    CliRunner().invoke(main, ["derive", "x", "--wrt", "x"])  # imports are no work of a formula
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    result = CliRunner().invoke(main, [one.replace("\x00", "") for one in args], input="x")
    seconds = time.process_time() - start
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{type(result.exception).__name__}: {str(result.exception)[:200]}"
    if seconds > SECONDS:
        return f"it took {seconds:.1f} s"
    if taken > MEGABYTES:
        return f"it took {taken:.0f} MB"
    if HIDDEN in result.output:
        return "it printed a file"
    if found := OBEYED.search(result.output):
        return f"it printed {found[0]!r}"
    if any(Path(name).read_bytes() != text for name, text in kept.items()):
        return "it changed a file"
    if "defect" in result.output:
        return f"a defect: {result.output[:300]}"
    return ""


def smaller(case: StrangerCase) -> Iterator[StrangerCase]:
    """Give command lines with fewer options, and shorter texts."""
    args, table = case
    for place in range(2, len(args) - 1, 2):
        yield [*args[:place], *args[place + 2 :]], table
    for text in shorter(args[-1]):
        yield [*args[:-1], text], table
    if table:
        yield args, ""
