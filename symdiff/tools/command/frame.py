"""The frame of all commands: refusals as messages, formulas, options about derivatives, JSON, and lines for people.

Lines suit a terminal of any width, one without colours, or none at all. Whatever is printed goes through here, or
through an error of symdiff's, and holds no character that a terminal obeys: names of columns, paths and the words of
compilers come from anywhere.
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.text import Text

from ...errors import OBEYED, ArgumentError, DataError, SymdiffError, printable, shortened
from ...frontend.array import Array
from ...frontend.formula import Formula, read_formula
from ...frontend.outputs import leaves
from ...frontend.text.dialects import DIALECTS
from ...frontend.text.matrixcalculus import KINDS as DIALECT_KINDS
from ...frontend.text.vocabulary import DERIVATIVES
from ...ground.budget import Opened, limits
from ...ground.grammar import SyntaxNode, Tree, parse_tree
from ...ground.guard import refuse, users
from ...rewrite import stabilize
from .options import DECLARED, KINDS, Facts, declare, differentiate, read_shapes

__all__ = [
    "Asked",
    "Commands",
    "Failure",
    "FormulaCommand",
    "PlainCommand",
    "as_json",
    "can_show",
    "data_option",
    "derivative_options",
    "echo",
    "formula_argument",
    "json_option",
    "load_functions",
    "named_results",
    "overwrite_option",
    "read_any",
    "readable",
    "rewrites_of",
    "say",
    "shape_option",
    "value_option",
    "value_or_flag_option",
    "wrt_option",
]


def load_functions(given: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Import functions, from the current folder among others, by the names that formulas call them by.

    Parameters
    ----------
    given : sequence of str
        ``module:name``, or ``f=module:name`` for another name in formulas.

    Raises
    ------
    ArgumentError
        If one is not of this form, or there is no such module or function, or two have one name.

    Examples
    --------
    >>> load_functions(["root=math:sqrt"])["root"](4.0)
    2.0
    """
    found: dict[str, Callable[..., Any]] = {}
    if "" not in sys.path:
        sys.path.insert(0, "")
    for one in given:
        alias, _, place = one.rpartition("=")
        module, colon, attribute = place.partition(":")
        name = alias or attribute
        if not colon or not module or not attribute:
            raise ArgumentError(f"--functions {one[:80]}; expected MODULE:NAME, such as models:mm")
        if name in found:
            raise ArgumentError(f"--functions has {name!r} twice; give one of them another name, f={place[:80]}")
        try:
            found[name] = getattr(users(import_module)(module), attribute)
        except ImportError as error:
            raise ArgumentError(f"--functions {one[:80]}: {error}") from None
        except AttributeError:
            raise ArgumentError(f"--functions {one[:80]}: the module has no {attribute!r}") from None
    return found


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is: its brackets are no markup, and a formula is never broken to fit."""
    console.print(Text(printable(line), style), soft_wrap=True)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text as it is, without a style."""
    click.echo(printable(text), err=err, nl=nl)


def can_show(shown: str) -> bool:
    """Tell whether standard output has all the letters of ``shown``."""
    try:
        shown.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def readable(formula: Array) -> str:
    """Return a formula as a book prints it, or in NumPy's spelling where there is no ᵀ; a summary of a long one."""
    shown = formula._shown("unicode", "--form text")
    return shown if can_show(shown) else formula._shown("text", "--form text")


class Failure(click.ClickException):
    """A refusal of symdiff, shown as its message alone."""

    exit_code = 2


def _in_lines(words: str | None) -> str | None:
    r"""Return help in which a line ``\b`` keeps the lines behind it, which comes from raw docstrings as two letters."""
    return None if words is None else words.replace("\\b\n", "\b\n")


def _first_sentence(words: str | None) -> str:
    """Return what the list of commands says of one; it breaks lines, where Click would cut the sentence off."""
    return " ".join((words or "").partition("\n\n")[0].split())


@contextmanager
def _quoted() -> Iterator[None]:
    """Have refusals of Click quote what came as those of symdiff do: printable, and not whole where it is long."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = printable(shortened(error.message))
        raise


class _HelpInLines(click.Command):
    """A command, or a group, whose help keeps examples on lines of their own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help = _in_lines(self.help)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence."""
        return _first_sentence(self.help)


class PlainCommand(_HelpInLines):
    """A command of symdiff."""


#: Words that are tried as commands, and what does what they say.
_OTHER_COMMANDS = {
    **dict.fromkeys(("diff", "grad", "derivative", "simplify"), "derive FORMULA --wrt x"),
    **dict.fromkeys(KINDS[1:], "derive FORMULA --wrt x --kind {0}"),
    **dict.fromkeys(("steps", "explain", "show"), "derive FORMULA --wrt x --steps"),
    **dict.fromkeys(("latex", "tex", "print"), "derive FORMULA --wrt x --latex"),
    **dict.fromkeys(("run", "evaluate", "value", "compute"), "eval FORMULA --value x=3"),
    **dict.fromkeys(("plot", "web", "gui"), "serve, a page with plots"),
    **dict.fromkeys(("compile", "code", "source"), "export FORMULA --wrt x --target c --name f --out folder"),
}


class Commands(_HelpInLines, click.Group):
    """The commands, with refusals and warnings shown as messages."""

    command_class = PlainCommand
    group_class = type

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the options that stand before a command."""
        with _quoted():
            return super().make_context(*args, **kwargs)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that is asked for; a word that is none is told what to write."""
        told = _OTHER_COMMANDS.get(args[0]) if args else None
        if told is not None and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"No such command {args[0]!r}; write symdiff {told.format(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: echo(f"Warning: {message}", err=True)
            try:
                with _quoted():
                    return super().invoke(ctx)
            except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
                raise
            except MemoryError as error:
                raise Failure("not enough memory for arrays of these sizes; use smaller ones, or parts") from error
            except Exception as error:
                try:
                    refuse(error, ctx.invoked_subcommand or "symdiff")
                except SymdiffError as ours:
                    raise Failure(str(ours)) from error


#: Key of the functions of a formula while its command runs.
_FUNCTIONS = "symdiff.functions"


class FormulaCommand(PlainCommand):
    """A command that takes a formula, which may begin with a minus sign and may come from anybody."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = "The formula comes from a stranger: refuse it where it would take more than about two seconds."
        self.params.append(click.Option(["--untrusted"], is_flag=True, help=words))
        words = "The language of FORMULA, where it is another one; then --shape A=matrix declares letters."
        self.params.append(click.Option(["--dialect"], type=click.Choice(list(DIALECTS)), help=words))
        words = "A function that FORMULA may call, of a module of Python: models:mm, or f=models:mm. Its code is run."
        self.params.append(click.Option(["--functions"], multiple=True, metavar="MODULE:NAME", help=words))
        for fact in DECLARED:
            option = f"--{fact.replace('_', '-')}"
            words = f"Declare an input {fact.replace('_', ' ')}; several with commas between them."
            self.params.append(click.Option([option, fact], multiple=True, metavar="NAME", help=words))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command within the budget of the formula, whose text is read here."""
        ctx.params["facts"] = {fact: ctx.params.pop(fact) for fact in DECLARED}
        untrusted, named = ctx.params.pop("untrusted"), ctx.params.pop("functions")
        if untrusted and named:
            raise click.UsageError(
                "--functions with --untrusted; a stranger's text calls no code, leave one of them out"
            )
        ctx.meta[_FUNCTIONS] = load_functions(named) if named else None
        with Opened("strict" if untrusted else "default"):
            ctx.params["formula"] = formula_text(ctx.params["formula"], untrusted)
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; say how to give a formula taken for an option, and an option without its name."""
        ctx.allow_extra_args = True
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            kind = error.option_name.removeprefix("--")
            if kind in KINDS:
                words = f"{error.message} Write --kind {kind}."
                raise click.NoSuchOption(error.option_name, words, error.possibilities, error.ctx) from None
            if error.option_name.startswith("--"):
                raise
            words = f"{error.message} A formula that begins with '-' goes last, behind '--'."
            raise click.NoSuchOption(error.option_name, words, error.possibilities, error.ctx) from None
        if rest:
            raise click.UsageError(f"{rest[0]!r} stands behind the formula; {self._instead(rest[0])}", ctx)
        return rest

    def _instead(self, word: str) -> str:
        """Return how to give a word that stands behind the formula."""
        own = {option for param in self.params for option in param.opts}
        name, equals, _ = word.partition("=")
        if name.isidentifier():
            option = next((one for one in (("--value", "--shape") if equals else ("--wrt",)) if one in own), None)
            if option is not None:
                return f"write {option} {word}"
        return "put quotes around a formula of several words"


formula_argument = click.argument("formula")


def _variables(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return variables one by one; those of one option have commas between them, which are not in brackets."""
    parts = [re.split(r",(?![^(\[]*[)\]])", one[1:-1] if one[:1] + one[-1:] == "()" else one) for one in given]
    return tuple([name.strip() for part in parts for name in part])


wrt_option = click.option(
    "--wrt", multiple=True, metavar="NAME", callback=_variables,
    help="Variables to differentiate with respect to: x, or x,y, or X[0].",
)  # fmt: skip
shape_option = click.option(
    "--shape", "shapes", multiple=True, metavar="A=n,n", help="Shape of an input: X=2,4 or t=()."
)
kind_option = click.option("--kind", type=click.Choice(KINDS), default="auto", help="Auto: gradient or Jacobian.")
order_option = click.option("--order", type=click.IntRange(1, 16), help="Differentiate so many times; axes add up.")
seed_option = click.option(
    "--seed", "seeds", multiple=True, metavar="F", help="Direction of a jvp, hvp; cotangent of a vjp."
)
convention_option = click.option(
    "--convention",
    type=click.Choice(["projected", "entries"]),
    default="projected",
    help="For a symmetric or skew matrix: the projection, or the derivative with respect to independent entries.",
)
data_option = click.option(
    "--data", multiple=True, metavar="X=FILE", help="Numbers: X=x.npy, X=d.npz:y, X=t.csv:a,b; or a table, t.csv."
)
value_option = click.option(
    "--value", "--at", "values", multiple=True, metavar="a=3.5", help="A number, or lists of them: v=[1,2]."
)
#: The same where ``--value`` alone asks for the value of the formula.
value_or_flag_option = click.option(
    "--value",
    "--at",
    "values",
    multiple=True,
    is_flag=False,
    flag_value="",
    metavar="[a=3.5]",
    help="A number, or lists of them: v=[1,2]; alone, behind the formula: the formula's value beside its derivative.",
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace files that are there.")
json_option = click.option("--json", "as_data", is_flag=True, help="Print one JSON object, and nothing else.")


class Asked(NamedTuple):
    """The request of a command line: the text of a formula, and its derivative by the options of several commands."""

    formula: str
    wrt: tuple[str, ...]
    shapes: tuple[str, ...]
    kind: str
    order: int | None
    seeds: tuple[str, ...]
    convention: str
    facts: Facts
    dialect: str | None

    def has_options(self) -> bool:
        """Tell whether an option says which derivative."""
        return self.kind != "auto" or self.order is not None or bool(self.seeds) or self.convention != "projected"

    def read(self) -> Formula:
        """Read the formula."""
        return read_any(self.formula, declare(read_shapes(self.shapes), self.facts), self.dialect)

    def results(self, read: Formula) -> tuple[str, dict[str, Array]]:
        """Return what is computed, in a word, and the results by names: of the derivative, or of the formula."""
        if self.wrt:
            return differentiate(read, self.wrt, self.kind, self.order, self.seeds, self.convention)
        return "value", dict(_values_of(self.formula, read.value))


def derivative_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options about a formula and its derivative, which it takes as ``asked``.

    Raises
    ------
    click.UsageError
        In a call of the command with options about a derivative, but without a variable.
    """

    @wraps(command)
    def run(**given: Any) -> None:
        asked = Asked(**{name: given.pop(name) for name in Asked._fields})
        if not asked.wrt and asked._replace(convention="projected").has_options():
            raise click.UsageError("--kind, --order and --seed are about a derivative; add --wrt NAME")
        command(asked=asked, **given)

    for option in (convention_option, seed_option, order_option, kind_option, shape_option, wrt_option):
        run = option(run)
    return formula_argument(run)


# ---------------------------------------------------------------------------- formulas


def formula_text(given: str, untrusted: bool) -> str:
    """Return the text of a formula: itself, that of the file ``@name``, or standard input for ``-``.

    Parameters
    ----------
    given : str
    untrusted : bool
        Whether a stranger may have written it, who is not to name files.

    Raises
    ------
    ArgumentError
        If a stranger's text names a file.
    DataError
        If the file cannot be read as UTF-8.
    """
    most = limits().characters + 1
    if given == "-":
        return sys.stdin.read(most)
    if not given.startswith("@"):
        return given
    if untrusted:
        raise ArgumentError(
            "--untrusted with a formula that begins with '@'; a stranger's text is not the name of a file to read: "
            "pass the text itself, or - for standard input"
        )
    path = Path(given[1:])
    try:
        with path.open(encoding="utf-8") as stream:
            return stream.read(most).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    except UnicodeDecodeError:
        raise DataError(f"{path}: a formula is read as UTF-8 text, which this file is not") from None
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"{str(path)!r:.200} cannot be read as a formula: {words}") from None


def read_any(text: str, declared: Mapping[str, Any], dialect: str | None) -> Formula:
    """Read a formula in a dialect, or in the language of formulas."""
    functions = click.get_current_context().meta[_FUNCTIONS]
    if functions and dialect is not None:
        raise click.UsageError("--functions with --dialect; give one of them")
    if dialect is None:
        return read_formula(text, declared, functions=functions)
    return read_formula(DIALECTS[dialect](text, {name: _kind_of(shape) for name, shape in declared.items()}).result)


def _kind_of(shape: Any) -> Any:
    """Return the word for ``--shape A=matrix``, which is read as a size; else the shape itself."""
    alone = shape[0] if isinstance(shape, tuple) and len(shape) == 1 else None
    return alone if isinstance(alone, str) and alone in DIALECT_KINDS else shape


def named_results(kind: str, results: Mapping[str, Array]) -> dict[str, Array]:
    """Return derivatives with respect to names that are no inputs', for source: ``gradient_A``."""
    return {label if kind == "value" else f"{kind.split(maxsplit=1)[0]}_{label}": one for label, one in results.items()}


def _values_of(text: str, value: Any) -> Mapping[str, Array]:
    """Return the results of a formula by names: derivatives are called as with ``--wrt``, ``gradient_x``."""
    if isinstance(value, Array):
        return {"value": value}
    tree = parse_tree(text, limits())
    root = tree.terms[-1]
    several = root.kind == "tuple"
    terms = [tree.terms[child] for child in root.children] if several else [root]
    values = value if several else [value]
    labels = [label for term, own in zip(terms, values, strict=True) for label in _labels(tree, term, own)]
    found: dict[str, Array] = {}
    for label, one in zip(labels, leaves(value), strict=True):
        alone = labels.count(label) == 1
        numbers = (f"{label}{k}" for k in count())
        found[label if alone else next(name for name in numbers if name not in (*found, *labels))] = one
    return found


def _labels(tree: Tree, term: SyntaxNode, value: Any) -> list[str]:
    """Return the names of the arrays that a term of a formula gives."""
    many = len(leaves(value))
    if term.kind == "name":
        return [term.value] * many
    if term.kind != "call" or term.value[0] not in DERIVATIVES:
        return ["value"] * many
    by = tree.terms[term.children[1]]
    parts = [tree.terms[child] for child in by.children] if by.kind in ("tuple", "list") else [by]
    names = [tree.text[part.start : part.end] for part in parts]
    pairs = [f"{one}_{other}" for one in names for other in names]
    own = next((group for group in (names, pairs) if len(group) == many), ["_".join(names)] * many)
    return [f"{term.value[0]}_{name}" for name in own]


def rewrites_of(f: Array) -> list[str]:
    """Return the rewrites for stability that are made of a formula."""
    made: list[str] = []
    stabilize([f.node], made)
    return list(dict.fromkeys(made))


# ---------------------------------------------------------------------------- for programs


def as_json(found: Any) -> str:
    """Return JSON; numbers that it lacks are the words "nan", "inf" and "-inf".

    Examples
    --------
    >>> as_json({"x": [1.0, float("inf")]})
    '{"x": [1.0, "inf"]}'
    """
    # a terminal obeys more characters than JSON has codes for
    text = json.dumps(_plain(found), ensure_ascii=False, allow_nan=False)
    return OBEYED.sub(lambda one: json.dumps(one[0])[1:-1], text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)
