"""Options of a command line in symdiff's terms: shapes, numbers, columns of tables, the kind of derivative.

Everything here is text that a person typed, so each function takes options as they were given and answers a wrong one
with the right form of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, ShapeError
from ...frontend import array_derivatives as derivatives
from ...frontend.array import Array
from ...frontend.formula import Formula
from ...frontend.shapes import Declaration, assume, joined, read_shape, split, split_kind
from ...graph import INT
from ...graph.size_equations import bind
from ...graph.sizes import show
from .read_files import ParquetColumns, read_array, read_table, size_of, split_source

__all__ = [
    "DECLARED",
    "KINDS",
    "Facts",
    "batched",
    "check_tables",
    "column_of",
    "columns_by_name",
    "declare",
    "differentiate",
    "read_data",
    "read_shapes",
    "sample_shapes",
    "split_pair",
]


_SUFFIXES = (".csv", ".parquet")
#: A name that stands for an input: none that is called, defined on its line or an attribute.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\s*\()")
_DEFINED = re.compile(r"^\s*([^\W\d]\w*)\s*=(?!=)", re.MULTILINE)


def columns_by_name(data: Sequence[str], formula: str, values: Sequence[str]) -> list[str]:
    """Return what ``--data`` holds, with a table that has no name in front as the columns that the formula mentions.

    Parameters
    ----------
    data : sequence of str
        As given: ``X=x.npy``, or ``table.parquet``.
    formula : str
    values : sequence of str
        As given: ``a=3.5``, inputs whose numbers come from elsewhere.

    Raises
    ------
    ArgumentError
        If a table has no column that the formula mentions.
    DataError
        If it is not sound.
    """
    named = {one.partition("=")[0].strip() for one in [*data, *values] if "=" in one}
    inputs = set(_NAME.findall(formula)) - set(_DEFINED.findall(formula))
    found: list[str] = []
    for one in data:
        path = Path(one)
        if "=" in one or path.suffix.lower() not in _SUFFIXES:
            found.append(one)
            continue
        columns = _columns(path)
        taken = [name for name in columns if name in inputs and name not in named]
        if not taken:
            known = f"its columns: {', '.join(columns[:100]):.300}" if columns else "it has no header"
            raise ArgumentError(
                f"--data {path} has no column that the formula mentions ({', '.join(sorted(inputs)) or 'nothing'}); "
                f"{known}. Give a column by --data NAME={path}:COLUMN"
            )
        found += [f"{name}={path}:{name}" for name in taken]
    return found


def check_tables(
    sources: Mapping[str, str],
    numbers: Mapping[str, npt.NDArray[Any]],
    samples: Mapping[str, Sequence[int]],
    declared: Mapping[str, object],
) -> None:
    """Refuse a table of several columns where one is meant, or may be.

    Columns are no samples of an input of one number a row. An input without a shape that has the name of a column would
    take the others in silence.

    Raises
    ------
    ShapeError
    """
    for name, source in sources.items():
        path, part = split_source(source)
        shape = numbers[name].shape
        if path.suffix.lower() not in _SUFFIXES or len(shape) != 2:
            continue
        if not len(samples[name]):
            raise ShapeError(
                f"{path} has {shape[1]} columns, and {name} is one number a row, of shape (); expected one column "
                f"(--data {name}={path}:COLUMN by its name), or a row of numbers: --shape {name}={shape[1]}"
            )
        if not part and name not in declared and name in _columns(path):
            raise ShapeError(
                f"{path} has {shape[1]} columns, one of them called {name}; write --data {name}={path}:{name} for that "
                f"one, --data {path} for each column by its name, or --shape {name}={shape[1]} for a row of all"
            )


def _columns(path: Path) -> list[str]:
    """Return the names of a table's columns, none of a .csv file without a header."""
    if path.suffix.lower() == ".csv":
        return read_table(path, in_memory=False).header or []
    size_of(path)
    return ParquetColumns(path).names


Numbers: TypeAlias = npt.NDArray[Any]
GivenShape: TypeAlias = tuple[int | str | type[int], ...]
#: Names of inputs by what they are declared to be.
Facts: TypeAlias = Mapping[str, Sequence[str]]

#: Kinds of derivative; "auto" is the gradient of a scalar, and the Jacobian of anything else.
KINDS = ("auto", "gradient", "jacobian", "hessian", "jvp", "vjp", "hvp")
_SEEDED = ("jvp", "vjp", "hvp")
#: Declarations of inputs, by the name of the option.
DECLARED = ("symmetric", "skew", "diagonal", "lower", "upper", "positive_definite", "orthogonal", "positive")


def differentiate(
    read: Formula,
    wrt: Sequence[str],
    kind: str = "auto",
    order: int | None = None,
    seeds: Sequence[str] = (),
    convention: str = "projected",
) -> tuple[str, dict[str, Array]]:
    """Differentiate a formula as the options say.

    Parameters
    ----------
    read : Formula
    wrt : sequence of str
        Inputs, parts of inputs or defined names.
    kind : str
        One of :data:`KINDS`.
    order : int, optional
        Take the Jacobian so many times, instead of ``kind``.
    seeds : sequence of str
        The cotangent of a vjp; a direction for each of ``wrt`` of a jvp or hvp.
    convention : {"projected", "entries"}
        What a derivative with respect to a symmetric or skew matrix is.

    Returns
    -------
    kind : str
        What was computed.
    results : dict of str to Array
        By the name of the variable.

    Raises
    ------
    ArgumentError
        If options do not go together.
    """
    f = read.value
    if not isinstance(f, Array):
        raise ArgumentError("the formula gives several results; expected one (select it with [0])")
    if len(set(wrt)) != len(wrt):
        raise ArgumentError(f"--wrt {', '.join(wrt)}; expected each once")
    group = tuple(read.variables(one) for one in wrt)
    if order is not None:
        if kind != "auto" or seeds:
            raise ArgumentError("--order with --kind or --seed; expected --order alone (the Jacobian taken so often)")
        if convention != "projected":
            raise ArgumentError("--convention with --order; expected --kind gradient, jacobian, hessian or vjp")
        found = [derivatives.derivative(f, one, order) for one in group]
        return f"derivative of order {order}", dict(zip(wrt, found, strict=True))
    if kind == "auto":
        kind = "gradient" if f.shape in ((), (1, 1)) else "jacobian"
    if kind not in _SEEDED:
        if seeds:
            raise ArgumentError(f"--seed with a {kind}; expected --kind jvp, vjp or hvp")
        found = getattr(derivatives, kind)(f, group, convention=convention)
        if kind == "hessian" and len(group) > 1:
            labels = [f"{a}, {b}" for a in wrt for b in wrt]
            return kind, dict(zip(labels, (block for row in found for block in row), strict=True))
        return kind, dict(zip(wrt, found[0] if kind == "hessian" else found, strict=True))
    wanted = 1 if kind == "vjp" else len(group)
    if len(seeds) != wanted:
        what = "the cotangent" if kind == "vjp" else "a direction for each --wrt"
        raise ArgumentError(f"--kind {kind} with {len(seeds)} of --seed; expected {wanted}, {what}: --seed FORMULA")
    if kind != "vjp" and convention != "projected":
        raise ArgumentError(f"--convention with a {kind}; expected a gradient, jacobian, hessian or vjp")
    directions = tuple(read.read(seed) for seed in seeds)
    if kind == "jvp":
        return kind, {", ".join(wrt): derivatives.jvp(f, group, directions)}
    if kind == "vjp":
        found = derivatives.vjp(f, group, directions[0], convention=convention)
    else:
        found = derivatives.hvp(f, group, directions)
    return kind, dict(zip(wrt, found, strict=True))


def column_of(kind: str, wrt: str) -> str:
    """Return the name of a derivative by one variable, or of a Hessian by two.

    Examples
    --------
    >>> column_of("gradient", "F"), column_of("hessian", "x"), column_of("hessian", "x, y")
    ('d/dF', 'd2/dx dx', 'd2/dx dy')
    """
    if kind == "hessian":
        first, _, second = wrt.partition(", ")
        return f"d2/d{first} d{second or first}"
    return f"d/d{wrt}" if kind in ("gradient", "jacobian") else wrt


def split_pair(option: str, given: str, example: str) -> tuple[str, str]:
    """Split ``NAME=REST``.

    Raises
    ------
    ArgumentError
        If it is not of this form.
    """
    name, equals, rest = given.partition("=")
    if not equals or not name.strip():
        raise ArgumentError(f"{option} {given[:80]}; expected {option} {example}")
    return name.strip(), rest.strip()


def read_shapes(given: Sequence[str]) -> dict[str, GivenShape]:
    """Read shapes as ``A=n,n`` gives them; ``t=`` and ``t=()`` are scalars, ``i=int,n`` positions.

    Examples
    --------
    >>> read_shapes(["A=n,n", "y=4", "t=()"])
    {'A': ('n', 'n'), 'y': (4,), 't': ()}
    """
    shapes: dict[str, GivenShape] = {}
    for one in given:
        name, rest = split_pair("--shape", one, "NAME=SIZES, such as A=n,n or X=2,4 or t=()")
        if name in shapes:
            raise ArgumentError(f"--shape for {name!r} comes twice; give it once")
        if rest.startswith("(") and rest.endswith(")"):
            rest = rest[1:-1].strip().removesuffix(",")
        parts = [part.strip() for part in rest.split(",")] if rest else []
        # Numbers with more digits than a size can have stay text, and are refused as a size.
        sizes = tuple(int(p) if p.isascii() and p.isdigit() and len(p) < 20 else p for p in parts)
        shapes[name] = (int, *sizes[1:]) if sizes[:1] == ("int",) else sizes
    return shapes


def declare(shapes: Mapping[str, GivenShape], facts: Facts, sizes: bool = True) -> dict[str, GivenShape | Declaration]:
    """Return shapes together with what is declared of inputs; ``--symmetric S`` alone is a matrix of n rows.

    Parameters
    ----------
    shapes : mapping of str to shape
    facts : mapping of str to sequence of str
        Names of inputs by what they are declared to be, several with commas between them.
    sizes : bool
        Whether an input without a shape gets the usual one; else it is refused.

    Raises
    ------
    ArgumentError
        If facts contradict each other, or are about an input without a shape.

    Examples
    --------
    >>> print(declare({}, {"symmetric": ["S"]})["S"])
    symmetric (n, n)
    """
    found: dict[str, GivenShape | Declaration] = dict(shapes)
    for fact, given in facts.items():
        for name in (part.strip() for one in given for part in one.split(",")):
            if name not in found and not sizes:
                raise ArgumentError(f"--{fact.replace('_', '-')} {name}, which has no numbers; add --data {name}=FILE")
            usual: GivenShape = () if fact == "positive" else ("n", "n")
            plain, known = split(found.get(name, usual))
            try:
                found[name] = Declaration(plain, joined(known, assume(**{fact: True})))
            except ArgumentError as error:
                raise ArgumentError(f"{name!r} is {error}") from None
    return found


def read_data(data: Sequence[str], values: Sequence[str]) -> dict[str, Numbers]:
    """Read the numbers of inputs, from files (``X=x.npy``) and from the command line (``a=3.5``).

    Raises
    ------
    ArgumentError
        If an option is not of this form, or an input has numbers twice.
    DataError
        If a file is not sound.
    """
    arrays: dict[str, Numbers] = {}
    for option, given in (("--data", data), ("--value", values)):
        for one in given:
            name, rest = split_pair(option, one, "X=x.npy" if option == "--data" else "a=3.5")
            if name in arrays:
                raise ArgumentError(f"the numbers of {name!r} come twice; give them once")
            arrays[name] = read_array(rest, name) if option == "--data" else _read_value(name, rest)
    return arrays


def _read_value(name: str, given: str) -> Numbers:
    try:
        found = np.asarray(json.loads(given))
    except (ValueError, RecursionError):  # not JSON, lists of different lengths; brackets without end
        found = np.asarray(None)
    if found.dtype.kind not in "fi":
        raise ArgumentError(f"--value {name}={given[:60]}; expected a number, 3.5, or lists of numbers, [[1,2],[3,4]]")
    return found


def batched(batch: str | None, arrays: Mapping[str, Numbers], files: Sequence[str]) -> list[str] | None:
    """Return the names of the inputs with one sample a row; None leaves that to their shapes.

    Parameters
    ----------
    batch : str or None
        As given: names, or "auto" for all that come from files.
    arrays : mapping of str to ndarray
        The numbers of all inputs.
    files : sequence of str
        Names of those from files.

    Raises
    ------
    ArgumentError, ShapeError
        If a name is no input or has no rows, or "auto" finds different numbers of rows.
    """
    if batch is None:
        return None
    if batch == "auto":
        names = [name for name in files if arrays[name].ndim]
        if len({len(arrays[name]) for name in names}) > 1:
            told = ", ".join(f"{name} has {len(arrays[name])}" for name in names)
            raise ShapeError(f"--batch auto with different numbers of rows: {told}; name those with one sample a row")
        return names
    names = [name.strip() for name in batch.split(",")]
    for name in names:
        if name not in arrays:
            raise ArgumentError(f"--batch {name}, which is no input; expected some of {', '.join(arrays) or 'none'}")
        if not arrays[name].ndim:
            raise ShapeError(f"--batch {name}, which is a single number; expected one sample a row")
    return names


def sample_shapes(
    numbers: Mapping[str, Numbers], declared: Mapping[str, GivenShape], rows: list[str] | None
) -> dict[str, tuple[int, ...]]:
    """Return the shape of one sample of each input.

    It is what was declared, with the numbers put in for names; else that of a row, or of all
    its numbers.

    Raises
    ------
    ShapeError
        If the numbers do not have the shape declared, or one name stands for two sizes.
    ArgumentError
        If a shape is declared for an input without numbers.
    """
    shapes, parts = [], []
    for name, shape in declared.items():
        if name not in numbers:
            raise ArgumentError(f"--shape for {name!r}, which has no numbers; add --data {name}=FILE")
        if split_kind(shape)[0] is INT:
            raise ArgumentError(f"--shape {name}=int: eval takes real numbers; call the compiled formula from Python")
        wanted, got = read_shape(name, shape), numbers[name].shape
        part = got[max(len(got) - len(wanted), 0) :]
        if len(part) != len(wanted) or any(isinstance(d, int) and d != n for d, n in zip(wanted, part, strict=True)):
            raise ShapeError(f"{name} has shape {show(got)}; expected {show(wanted)}, or many of it along further axes")
        shapes.append(wanted)
        parts.append(part)
    bind(list(declared), shapes, parts)
    found = dict(zip(declared, parts, strict=True))
    for name, array in numbers.items():
        found.setdefault(name, array.shape[1:] if rows is not None and name in rows else array.shape)
    return {name: found[name] for name in numbers}
