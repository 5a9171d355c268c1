"""Records of compiled formulas in the cache folder: their names, their parts, and how they are found.

The first part of a record is the result of compiling. A plan for another way of sharing inputs, and the place of
native code of a unit, are parts of their own, since they come later. Files are those of the cache of built kernels:
private to the user, published by atomic rename, and taken only if their hash is right
(:mod:`symdiff.runtime.toolchain.cache`).

Names are hashes of everything that decides what is made of a formula. Text is named by itself, its shapes and options,
so that a formula that is known is not even read. Symbols, SymPy and functions of Python are named by the graph they
give, before it is simplified. Beside these stand this machine, as far as code depends on it, and the age and size of
each of symdiff's own files: what another state of symdiff made is never taken for what this one would make.
"""

from __future__ import annotations

import atexit
import functools
import marshal
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, overload

from ...codegen.bytecode.format import Bytecode
from ...errors import DataError
from ...frontend.array import Array
from ...frontend.provenance import Facts, Provenance
from ...graph import INT, Node, tabulate
from ...graph.primitives import Authored
from ...graph.sizes import Shape, Size, Span
from ...ground.budget import Opened, balance, current, uncounted
from ...ground.gc_pause import paused
from ...ground.pickles import FORMAT
from ...ground.tracing import is_traced
from ...ground.version import VERSION
from ...lowering.plan.plan import Plan
from ...lowering.program import Program
from ...lowering.sparse.formats import Format
from ..options import Options
from ..toolchain import cache, processes
from ..toolchain.build import compiler_seen
from ..toolchain.load import c_library, native_target, processor
from . import encoding
from .encoding import Graph
from .plain import MOST, UnkeepableError

__all__ = [
    "PREFIX",
    "FormulaRecord",
    "Kept",
    "Known",
    "LateNodes",
    "NativeCode",
    "Problem",
    "UnitRecord",
    "facts_of",
    "find_graph",
    "find_text",
    "hessians_of",
    "in_budget",
    "is_plain",
    "kept_in",
    "key_of",
    "nodes_as_bytes",
    "outputs_of",
    "part_of",
    "spent_since",
    "write_waiting",
]


#: Beginning of the names of records, beside those of built kernels.
PREFIX = "plan-"
_ROOT = Path(__file__).parents[2]
_PLAIN = (str, int, float, bool, type(None))


def key_of(*parts: object) -> str:
    """Return the name for what is decided by some values, plain ones of which ``repr`` tells all."""
    return PREFIX + _hash(repr((_own_files(), _machine(), compiler_seen(), parts)))


def part_of(key: str, part: str) -> str:
    """Return the name of a part of a record."""
    return PREFIX + _hash(f"{key} {part}")


def is_plain(value: Any) -> bool:
    """Tell whether ``repr`` of a value tells all of it: numbers, text, and tuples, lists and dicts of them."""
    kind = type(value)
    if kind is dict:
        return all(is_plain(key) and is_plain(part) for key, part in value.items())
    return all(map(is_plain, value)) if kind in (list, tuple) else kind in _PLAIN


def nodes_as_bytes(roots: Iterable[Node]) -> bytes:
    """Return bytes that differ where graphs differ, in every process alike.

    Raises
    ------
    UnkeepableError
        If a node has a part that is not a value, such as a function of Python.
    """
    rows, order = tabulate(roots)
    for number, (op, payload, shape, dtype) in enumerate(rows):
        kind = type(payload)
        if (payload is not None and kind is not str and kind is not bytes) or Size in map(type, shape):
            rows[number] = (op, _told(payload), _told(shape), dtype)
    return marshal.dumps((rows, order), 2)  # this version writes equal values alike, whichever objects they are


def _told(value: Any) -> Any:
    """Return a payload as plain tuples that begin with the name of their class."""
    kind = type(value)
    if kind in _PLAIN or kind is bytes:
        return value
    if kind is Size:
        return ("Size", value.terms)
    if kind is tuple and set(map(type, value)) == {int}:
        return ("tuple", *value)  # a list of positions, which may be long
    if isinstance(value, tuple) and kind is not Authored:
        return (kind.__name__, *map(_told, value))
    raise UnkeepableError(f"{kind.__name__} is no value")


@functools.cache
def _machine() -> tuple[object, ...]:
    target = native_target()
    functions = tuple(sorted(target.vector_math))
    return (platform.machine(), target.lanes, target.prefix, functions, processor(), c_library())


@functools.cache
def _own_files() -> str:
    """Return a hash of the version of symdiff, and of size and age of each of its files."""
    found: list[tuple[str, int, int]] = []
    folders: list[str] = [str(_ROOT)]
    while folders:
        with os.scandir(folders.pop()) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    if item.name != "__pycache__":
                        folders.append(item.path)
                elif item.name.endswith((".py", ".so", ".pyd")):
                    state = item.stat()
                    found.append((item.path, state.st_size, state.st_mtime_ns))
    return _hash(repr((VERSION, FORMAT, sorted(found))))


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class NativeCode(NamedTuple):
    """Native code of a unit that the cache may have.

    Parameters
    ----------
    key : str
        Of the library.
    symbols : tuple of str
        Functions of the vector library that it calls.
    lanes, samples, workspace : int
        As :meth:`symdiff.runtime.runners.variants.ProgramRunner.around` takes them.
    """

    key: str
    symbols: tuple[str, ...]
    lanes: int
    samples: int
    workspace: int


class FormulaRecord:
    """Record of one formula.

    Parameters
    ----------
    key : str
        Of :func:`symdiff.runtime.kept.lookup.key_of`.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        #: Code of the interpreter by the unit it is of: read with a part and not taken yet, or to be written with one.
        self.codes: dict[str, Bytecode] = {}
        self.collects = False
        #: True where there was something.
        self.found = False

    def read(self, part: str = "") -> dict[str, Any] | None:
        """Return a part, None where there is none that can be used."""
        name = self.name(part)
        waiting = _waiting.get((cache.cache_folder(), name))
        if waiting is not None:
            waiting()
        folder = cache.trusted_folder()
        contents = None if folder is None else cache.lookup(folder, name)
        if contents is None:
            return None
        try:
            with uncounted():
                found = encoding.read(contents)
        except DataError:
            return None
        if not isinstance(found, dict):
            return None
        self.found = True
        codes = found.pop("codes", None)
        if isinstance(codes, dict):
            self.codes.update(codes)
        return found

    def collect(self) -> None:
        """Take code of the interpreter from now on, for the next part that is written."""
        self.collects = True

    def write(self, contents: Mapping[str, Any], part: str = "") -> None:
        """Keep a part, with the code that was collected, unless it has no plain form or is too long.

        Where the background has something to build, it is written behind that: the first call does not wait for it.
        """
        codes, self.codes, self.collects = self.codes, {}, False
        job = _Writing(self.name(part), {**contents, "codes": codes})
        if processes.busy():
            _waiting[job.place] = job
            processes.submit(job)
        else:
            job.write()

    def unit(self, place: str = "") -> UnitRecord:
        """Return the record of the units of one program."""
        return UnitRecord(self, place)

    def name(self, part: str) -> str:
        """Return the name of a part in the cache."""
        return part_of(self.key, part) if part else self.key


class UnitRecord(NamedTuple):
    """Record of the units of one program.

    Parameters
    ----------
    record : FormulaRecord
    place : str
        Which program of the formula it is.
    """

    record: FormulaRecord
    place: str

    def code(self, variant: tuple[bool, ...]) -> Bytecode | None:
        """Return the interpreter's code of a unit, once."""
        found = self.record.codes.pop(self._unit(variant), None) if not self.record.collects else None
        return found if isinstance(found, Bytecode) else None

    def keep_code(self, variant: tuple[bool, ...], code: Bytecode) -> None:
        """Have the interpreter's code of a unit written with the next part."""
        if self.record.collects:
            self.record.codes[self._unit(variant)] = code

    def native(self, variant: tuple[bool, ...]) -> NativeCode | None:
        """Return where native code of a unit is, if the formula was compiled before."""
        if not self.record.found:
            return None
        found = self.record.read(f"native-{self._unit(variant)}")
        try:
            return None if found is None else NativeCode(**found)
        except TypeError:
            return None

    def keep_native(self, variant: tuple[bool, ...], code: NativeCode) -> None:
        """Keep where native code of a unit is."""
        _Writing(self.record.name(f"native-{self._unit(variant)}"), code._asdict()).write()

    def _unit(self, variant: tuple[bool, ...]) -> str:
        return self.place + "".join("-+"[flag] for flag in variant)


class _Writing:
    """A part that is to be written."""

    def __init__(self, name: str, contents: Mapping[str, Any]) -> None:
        self.name = name
        self.place = cache.cache_folder(), name
        self.contents = contents

    def is_wanted(self) -> bool:
        """Tell if it is not written yet."""
        return self.place in _waiting

    def __call__(self) -> None:
        if _waiting.get(self.place) is self:
            self.write()
            _waiting.pop(self.place, None)  # only now: whoever reads meanwhile writes it, too, and finds it

    def write(self) -> None:
        """Write it now, unless the environment names another folder meanwhile."""
        folder = cache.trusted_folder(make=True)
        if folder is None or folder != self.place[0]:
            return
        try:
            with uncounted():
                written = encoding.write(self.contents)
        except UnkeepableError:
            return
        if len(written) <= MOST:
            cache.publish(folder, self.name, written)


#: Records to be written behind builds, or when the process ends before these do.
_waiting: dict[tuple[Path, str], _Writing] = {}


def write_waiting() -> None:
    """Write all records that wait for builds to end."""
    for job in list(_waiting.values()):
        job()


atexit.register(write_waiting)


class Problem(NamedTuple):
    """A formula that was read, and how it is to be compiled.

    Parameters
    ----------
    arguments : mapping of str to Node
        The kernel's inputs, in order.
    outputs : sequence of Array
    structure : template
        How results come back.
    options : Options
    backend : str
    formats : sequence of Format or None, optional
        Which outputs are sparse, and how; None where none is.
    """

    arguments: Mapping[str, Node]
    outputs: Sequence[Array]
    structure: Any
    options: Options
    backend: str
    formats: Sequence[Format | None] | None = None


class Kept(NamedTuple):
    """Result of compiling a formula.

    Parameters
    ----------
    backend, reason : str
        What serves, and why.
    lowered : Program, Plan or None
    inputs : Graph
        The kernel's inputs.
    nodes : Graph or None
        The outputs as they are computed, where they are emitted as a graph.
    results : list of (str, tuple)
        Names and shapes of one sample.
    structure : template
        How results come back.
    hessians : list of int
        Outputs that are Hessians with respect to one array.
    rewrites : tuple of str
    length : int
        Nodes of the formula.
    spans : tuple of Span
        What the formula takes of axes whose sizes are letters, where that may be more than an axis has.
    spent : tuple of int, optional
        Nodes, steps and memory that a budget was charged.
    """

    backend: str
    reason: str
    lowered: Program | Plan | None
    inputs: Graph
    nodes: Graph | None
    results: list[tuple[str, Shape]]
    structure: Any
    hessians: list[int]
    rewrites: tuple[str, ...]
    length: int
    spans: tuple[Span, ...]
    spent: tuple[int, int, int] | None


class LateNodes(Sequence[Node]):
    """Nodes that are derived when somebody first looks at them.

    Parameters
    ----------
    derive : callable
        Returns them.
    """

    def __init__(self, derive: Callable[[], Sequence[Node]]) -> None:
        self._derive = derive
        self._nodes: Sequence[Node] | None = None

    def _all(self) -> Sequence[Node]:
        if self._nodes is None:
            self._nodes = self._derive()
        return self._nodes

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Node]: ...
    def __getitem__(self, index: int | slice) -> Node | Sequence[Node]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Node]:
        return iter(self._all())


def find_text(
    formula: Any,
    shapes: Mapping[str, Any],
    inputs: Sequence[Any] | None,
    batch: Sequence[Any] | None,
    options: tuple[Any, ...],
) -> FormulaRecord | None:
    """Return the record of a formula that was given as text; None for any other, and where stages are to be traced."""
    given = (formula, list(shapes.items()), inputs, batch, options)
    plain = _is_text(formula) and _are_names(inputs) and _are_names(batch) and all(map(_is_shape, shapes.values()))
    if is_traced() or not plain or not is_plain(given):
        return None
    return FormulaRecord(key_of("text", given, _budget()))


@paused
def find_graph(problem: Problem) -> FormulaRecord | None:
    """Return the record of a graph; None where it holds what is no value, and where stages are to be traced."""
    arguments, outputs, structure, options, backend, formats = problem
    if is_traced() or formats is not None or any(node.dtype is INT for node in arguments.values()):
        return None
    import hashlib

    batch = None if options.batch is None else sorted(options.batch)
    given = (tuple(arguments), structure, batch, options.reduce, options.batch_axis, options.accuracy, backend)
    try:
        with uncounted():
            from ...rewrite import inline  # not needed by text that is known

            kept = inline([output.node for output in outputs], ("custom",))
            graph = hashlib.sha256(nodes_as_bytes([*arguments.values(), *kept])).hexdigest()
    except UnkeepableError:
        return None
    parts = (given, facts_of(outputs))
    return FormulaRecord(key_of("graph", graph, parts, _budget())) if is_plain(parts) else None


def kept_in(record: FormulaRecord) -> Kept | None:
    """Return what a record holds of a formula, None where it holds nothing that can be used."""
    found = record.read()
    try:
        return None if found is None else Kept(**found)
    except TypeError:
        return None


def hessians_of(outputs: Sequence[Array]) -> list[int]:
    """Return the numbers of the outputs that are Hessians with respect to one array."""
    return [k for k, output in enumerate(outputs) if output.node in output.provenance.facts.hessians]


#: Facts kept of an output besides its node.
Known: TypeAlias = tuple[tuple[str, ...], bool, bool, tuple[Span, ...]]


def facts_of(outputs: Sequence[Array]) -> list[Known]:
    """Return what is known of each output besides its node: rewrites, if it is a Hessian, a derivative, and spans."""
    facts = [(output.node, output.provenance.facts) for output in outputs]
    return [(own.rewrites, node in own.hessians, own.derived, own.spans) for node, own in facts]


def outputs_of(nodes: Sequence[Node], known: Sequence[Known], symbols: Sequence[tuple[str, Any]]) -> list[Array]:
    """Return outputs with what :func:`facts_of` gave, and with the symbols of SymPy that stand for their inputs."""
    facts = [
        Facts((), rewrites, (node,) if is_hessian else (), derived, spans=spans, symbols=tuple(symbols))
        for node, (rewrites, is_hessian, derived, spans) in zip(nodes, known, strict=True)
    ]
    return [Array(node, Provenance(own)) for node, own in zip(nodes, facts, strict=True)]


def in_budget(read: Callable[[], Problem]) -> Callable[[], Problem]:
    """Return a function that reads a formula later, with the budget that is in force now, counted anew."""
    account = current()
    budget = None if account is None else account.budget

    def late() -> Problem:
        with Opened(budget):
            return read()

    return late


def spent_since(before: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    """Return what the budget was charged since it held so much; None where nothing is counted."""
    now = balance()
    if before is None or now is None:
        return None
    nodes, steps, memory = (then - left for then, left in zip(before, now, strict=True))
    return nodes, steps, memory


def _budget() -> str:
    account = current()
    return "" if account is None else repr(account.budget)


def _is_text(formula: Any) -> bool:
    """Tell whether a formula is text, or a structure of texts."""
    kind = type(formula)
    if kind is dict:
        formula = [*formula.values()]
    elif kind is str:
        return True
    return kind in (list, tuple, dict) and all(map(_is_text, formula))


def _are_names(given: Any) -> bool:
    return given is None or type(given) is str or (type(given) in (list, tuple) and all(type(n) is str for n in given))


def _is_shape(shape: Any) -> bool:
    """Tell whether what was given for an input is the shape of one array, and no structure of several."""
    return type(shape) in (int, str) or (type(shape) is tuple and all(type(size) in (int, str) for size in shape))
