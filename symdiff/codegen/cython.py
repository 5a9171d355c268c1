"""Print a scalar program as a Cython module that can be shipped without symdiff.

The module is what a person would write: one ``nogil`` function for a sample, in scalar C arithmetic that any compiler
takes, and around it one Python function that checks its arguments, lines up their batch axes and loops. It needs NumPy
to run, and SciPy where it calls functions of SciPy's; nothing but Cython to be built.

Values and ports are numbers in the text. User text reaches the module in two places only: the names of arguments, if
they are plain ASCII identifiers that mean nothing to Python or Cython (others are numbered), and docstrings, in which
no text can end the string.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from ..graph.primitives import complete
from ..lowering.program import GIVEN, MASK_OPS, SIGNATURES, Port, Program
from .names import docstring, safe_names
from .scalars import ARITHMETIC, LIBM, LIBRARY, OWN, Parts, text_of

__all__ = ["build_files", "emit_cython", "emit_head", "emit_interface"]


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", re.ASCII)
_CYTHON_WORDS = """
    api bint by cdef char cimport complex const cpdef ctypedef cython double enum except extern float fused gil
    IF ELIF ELSE DEF include inline int long namespace new noexcept nogil NULL object operator packed public
    readonly short signed sizeof size_t ssize_t struct template typeof union unsigned void volatile ptrdiff_t
    self Py_ssize_t Py_hash_t Py_tss_t Py_UCS4 Py_UNICODE out
"""
_RESERVED = frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_CYTHON_WORDS.split()])

_HEAD = '''\
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""{title}

Written by symdiff. It needs NumPy to run, and Cython and a C compiler to be built.
"""

import math

import numpy as np

'''

_SETUP = '''\
"""Build the extension module: pip install ., or python setup.py build_ext --inplace."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

# Without contraction of products and sums, results are the same on every machine with the same libm.
flags = [] if sys.platform == "win32" else ["-O2", "-ffp-contract=off", "-fno-math-errno"]
libraries = [] if sys.platform == "win32" else ["m"]
extension = Extension("{name}", ["{name}.pyx"], extra_compile_args=flags, libraries=libraries)

setup(ext_modules=cythonize([extension]))
'''

_PROJECT = """\
[build-system]
requires = ["setuptools>=77", "cython>=3.0.11"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.9"
dependencies = ["numpy>=1.22"]

[tool.setuptools]
py-modules = []
"""

_ARGUMENTS = '''\
def _real(value, name, sample, batched):
    """Return ``value`` as float64 if it is real numbers of shape ``(..., *sample)``."""
    array = np.asarray(value)
    if not np.can_cast(array.dtype, np.float64, "same_kind"):
        raise TypeError(f"{name} has dtype {array.dtype}; expected real numbers")
    lead = array.ndim - len(sample)
    if lead < 0 or array.shape[lead:] != sample or (lead and not batched):
        expected = ", ".join([*(["..."] if batched else []), *map(str, sample)])
        raise ValueError(f"{name} has shape {array.shape}; expected ({expected})")
    return array.astype(np.float64, copy=False)


def _rows(array, sample, batch):
    """Return the numbers of all samples in a row, and the distance from one sample to the next."""
    single = array.ndim == len(sample)
    spread = array if single else np.broadcast_to(array, batch + sample)
    return np.require(spread, None, ["C", "A"]).reshape(-1), 0 if single else math.prod(sample)


def _target(out, shape):
    """Return a new array of ``shape``, or ``out`` if it can be written as one."""
    if out is None:
        return np.empty(shape)
    fits = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == shape
    if not fits or not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise ValueError(f"out must be a writeable C-contiguous array of float64 and of shape {shape}")
    return out


'''

_RUN = '''\
def _run(values, outs):
    """Check the arguments, line up their batch axes and compute every sample."""
    arrays = [_real(value, *spec) for value, spec in zip(values, _INPUTS)]
    samples = [spec[1] for spec in _INPUTS]
    batch = np.broadcast_shapes(*[a.shape[: a.ndim - len(s)] for a, s in zip(arrays, samples)])
    targets = [_target(out, {lead}shape) for out, shape in zip(outs, _OUTPUTS)]
    rows = [_rows(a, s, batch) for a, s in zip(arrays, samples)]
    rows = [(r.copy() if any(np.may_share_memory(r, t) for t in targets) else r, step) for r, step in rows]
    cdef Py_ssize_t i, count = math.prod(batch)
    cdef int failed = 0
{declarations}    with nogil:
        for i in range(count):
            failed = sample({arguments})
            if failed:
                break
{body}    if failed:
        index = tuple(map(int, np.unravel_index(i, batch)))
        error = np.linalg.LinAlgError(_CHECKS[failed - 1] + (f" (sample {{index}} of the batch)" if index else ""))
        error.index = index
        raise error
{end}    return targets


'''

# Sums of 1024 samples are added to the total: rounding errors grow with the number of these.
_SUM = """\
            for k in range({size}):
                block[k] += row[k]
            if i % 1024 == 1023 or i == count - 1:
                for k in range({size}):
                    total[k] += block[k]
                    block[k] = 0.0
"""


def build_files(name: str) -> dict[str, str]:
    """Return the files that build a module of a name."""
    return {"setup.py": _SETUP.format(name=name), "pyproject.toml": _PROJECT.format(name=name)}


def emit_head(program: Program) -> str:
    """Print the first lines: directives, what the module is, imports."""
    count = program.operations
    inputs, outputs = (sum(port.size for port in ports) for ports in (program.inputs, program.outputs))
    return _HEAD.format(title=f"A compiled formula: {outputs} results from {inputs} numbers in {count} operations.")


def emit_interface(program: Program, *, workspace: int, formula: str, batched: Sequence[bool], reduce: bool) -> str:
    """Print all that stands behind ``sample``, the function of one sample.

    Parameters
    ----------
    program : Program
    workspace : int
        Numbers that ``sample`` wants room for, as its last argument.
    formula : str
        What is computed, for the docstring.
    batched : sequence of bool
        Whether each input may have batch axes.
    reduce : bool
        Sum each output over the samples.

    Returns
    -------
    str
    """
    names = _arguments(program.inputs)
    evaluate = _evaluate(program, names, batched, formula, reduce)
    return "".join([_tables(program, names, batched), _ARGUMENTS, _run(program, workspace, reduce), evaluate])


def _arguments(inputs: Sequence[Port]) -> list[str]:
    """Return the name of each argument: the user's own where it is harmless."""
    return safe_names([port.name for port in inputs], _is_harmless, "input")


def _is_harmless(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and len(name) <= 64 and name not in _RESERVED


def _tables(program: Program, names: Sequence[str], allowed: Sequence[bool]) -> str:
    """Print what the checks of arguments look at."""
    rows = zip(names, program.inputs, allowed, strict=True)
    inputs = [f'("{name}", {port.shape!r}, {batched!r})' for name, port, batched in rows]
    shapes = [repr(port.shape) for port in program.outputs]
    checks = [ascii(message) for _, message in program.checks]
    return (
        "#: Name, shape of one sample, and whether there may be batch axes before it.\n"
        f"_INPUTS = {_listed(inputs)}\n_OUTPUTS = {_listed(shapes)}\n_CHECKS = {_listed(checks)}\n\n\n"
    )


def _listed(items: Sequence[str]) -> str:
    """Print a tuple, an item a line."""
    return "(" + "".join(f"\n    {item}," for item in items) + ("\n" if items else "") + ")"


def _run(program: Program, workspace: int, reduce: bool) -> str:
    """Print the function that runs a batch."""
    inputs, outputs = range(len(program.inputs)), program.outputs
    total = sum(port.size for port in outputs)
    lines = [f"cdef const double[::1] x{p} = rows[{p}][0]" for p in inputs]
    lines += [f"cdef Py_ssize_t s{p} = rows[{p}][1]" for p in inputs]
    arguments = [f"&x{p}[0] + i * s{p}" for p in inputs]
    body = end = ""
    if reduce:
        lines += ["cdef Py_ssize_t k"]
        lines += [f"cdef double[::1] {name} = np.zeros({total})" for name in ("row", "block", "total")]
        start = 0
        for p, port in enumerate(outputs):
            arguments.append(f"&row[0] + {start}")
            piece = f"np.asarray(total)[{start}:{start + port.size}]"
            end += f"    targets[{p}][...] = {piece}.reshape(_OUTPUTS[{p}])\n"
            start += port.size
        body = _SUM.format(size=total)
    else:
        lines += [f"cdef double[::1] y{p} = targets[{p}].reshape(-1)" for p in range(len(outputs))]
        arguments += [f"&y{p}[0] + i * {port.size}" for p, port in enumerate(outputs)]
    if workspace:
        lines.append(f"cdef double[::1] w = np.empty({workspace})")
        arguments.append("&w[0]")
    return _RUN.format(
        lead="" if reduce else "batch + ",
        declarations="".join(f"    {line}\n" for line in lines),
        arguments=", ".join(arguments),
        body=body,
        end=end,
    )


def _evaluate(program: Program, names: Sequence[str], allowed: Sequence[bool], formula: str, reduce: bool) -> str:
    """Print the function that users call."""
    several = len(program.outputs) != 1
    doc = ["Compute the formula for one sample, or for a batch of them along leading axes.", "", "Parameters"]
    doc.append("----------")
    for name, port, batched in zip(names, program.inputs, allowed, strict=True):
        meant = "" if name == port.name else f": {docstring(port.name)}"
        doc.append(f"{name} : array_like of real numbers, shape {_shape(port.shape, batched)}{meant}")
    lead = not reduce
    kind = f"tuple of {len(program.outputs)} ndarrays" if several else "ndarray"
    doc += [f"out : {kind} of float64, optional", "    Where to write; C-contiguous, of the shape of the result."]
    doc += ["", "Returns", "-------"]
    doc += [f"ndarray of float64, shape {_shape(port.shape, lead)}" for port in program.outputs]
    if reduce:
        doc += ["    Summed over the batch."]
    if program.checks:
        doc += ["", "Raises", "------", "numpy.linalg.LinAlgError", "    For a singular matrix; the index is that of"]
        doc += ["    the first such sample in the batch."]
    if formula:
        doc += ["", "Notes", "-----", *docstring(formula).split("\n")]
    text = "\n".join(f"    {line}" if line else "" for line in doc).lstrip()
    signature = "".join(f"{name}, " for name in names)
    given = "".join(f"{name}, " for name in names).rstrip(" ") if len(names) == 1 else ", ".join(names)
    if several:
        count = len(program.outputs)
        body = f"""\
    if out is None:
        outs = [None] * {count}
    elif isinstance(out, (list, tuple)) and len(out) == {count}:
        outs = out
    else:
        raise TypeError("out must be a tuple of {count} arrays")
    results = _run(({given}), outs)
    return tuple(result if result.ndim or out is not None else result[()] for result in results)
"""
    else:
        body = f"""\
    (result,) = _run(({given}), [out])
    return result if result.ndim or out is not None else result[()]
"""
    return f'def evaluate({signature}*, out=None):\n    """{text}\n    """\n{body}'


def _shape(shape: tuple[int, ...], batched: bool) -> str:
    return f"({', '.join([*(['...'] if batched else []), *map(str, shape)])})"


_FORMS = {
    **ARITHMETIC,
    "logical_and": "{} and {}",
    "logical_or": "{} or {}",
    "logical_not": "not {}",
    "to_real": "1.0 if {} else 0.0",
    "where": "{1} if {0} else {2}",
}

#: Names of operations where they are not their own: outputs are y0 and y1, as Bessel functions are.
_NAMES = {**LIBM, **{op: f"scipy_{op}" for op in LIBRARY}}
complete((*_FORMS, *LIBM, *OWN, *LIBRARY), __name__, SIGNATURES)


def emit_cython(
    program: Program, *, formula: str = "", batched: Sequence[bool] | None = None, reduce: bool = False
) -> str:
    """Print ``program`` as a Cython module with one function, ``evaluate``.

    Parameters
    ----------
    program : Program
    formula : str
        What is computed, for the docstring.
    batched : sequence of bool, optional
        Whether each input may have batch axes; by default all may.
    reduce : bool
        Sum each output over the samples.

    Returns
    -------
    str
    """
    allowed = [True] * len(program.inputs) if batched is None else list(batched)
    used = {*program.ops} - GIVEN
    parts = _Parts(program)
    functions = parts.functions()
    wanted = {LIBM[op] for op in used if op in LIBM}
    own = [op for op in OWN if op in used]
    library = [f"{name} as scipy_{op}" for op, name in LIBRARY.items() if op in used]
    numbers = {name for name in ("INFINITY", "NAN") if any(name in text for text in functions)}
    text = [emit_head(program)]
    if wanted | numbers:
        text.append(f"from libc.math cimport {', '.join(sorted(wanted | numbers))}\n\n")
    if library:
        text.append(f"from scipy.special.cython_special cimport {', '.join(library)}\n\n")
    if own:
        verbatim = text_of(OWN[op] for op in own).replace("\\", "\\\\")
        lines = "".join(f"    {_declaration(op)} noexcept nogil\n" for op in own)
        text.append(f'cdef extern from *:\n    """\n    #include <math.h>\n\n{verbatim}    """\n{lines}\n')
    text += (f"\n{function}\n" for function in functions)
    text.append("\n")
    text.append(emit_interface(program, workspace=len(parts.slots), formula=formula, batched=allowed, reduce=reduce))
    return "".join(text)


def _declaration(op: str) -> str:
    """Declare one of our own functions under the operation's name."""
    return f'double {op} "{OWN[op]}"({", ".join(f"double {x}" for x, _ in zip("xyzu", SIGNATURES[op], strict=False))})'


class _Parts(Parts):
    """The functions that compute one sample: one, or for a long program several around a workspace."""

    def functions(self) -> list[str]:
        """Print them; the last is ``sample``, which callers see."""
        if self.whole:
            lines = [line for part in self.parts for line in self._compute(part, 0)]
            return [self._sample(lines)]
        texts, calls = [], []
        for number, part in enumerate(self.parts):
            texts.append(self._function(f"part{number}", self._compute(part, number)))
            calls.append(f"part{number}")
        for number, stores in enumerate(self.stores):
            texts.append(self._function(f"store{number}", stores))
            calls.append(f"store{number}")
        return [*texts, self._sample([f"{name}({self.passed})" for name in calls])]

    def _function(self, name: str, lines: Iterable[str]) -> str:
        body = "".join(f"    {line}\n" for line in lines)
        return f"cdef void {name}({self.declared}) noexcept nogil:\n{body}"

    def _sample(self, lines: list[str]) -> str:
        checks = []
        for number, (value, _) in enumerate(self.program.checks):
            checks += [f"if {self.operand(value)} == 0.0:", f"    return {number + 1}"]
        if self.whole:
            checks += chain.from_iterable(self.stores)
        ports = [(f"x{p}", port, "in") for p, port in enumerate(self.program.inputs)]
        ports += [(f"y{p}", port, "out") for p, port in enumerate(self.program.outputs)]
        told = "".join(f"    {name}: {way}, {port.size} numbers\n" for name, port, way in ports)
        head = f"cdef int sample({self.declared}) noexcept nogil:\n"
        words = f'    """Compute one sample; return 0, or the number of the check that failed.\n\n{told}    """\n'
        return head + words + "".join(f"    {line}\n" for line in [*lines, *checks, "return 0"])

    def _compute(self, values: Sequence[int], number: int) -> list[str]:
        ops, args = self.program.ops, self.program.args
        lines: list[str] = []
        for i in values:
            operands = [self.operand(a, number) for a in args[i]]
            form = _FORMS.get(ops[i])
            text = form.format(*operands) if form else f"{_NAMES.get(ops[i], ops[i])}({', '.join(operands)})"
            mask = ops[i] in MASK_OPS
            lines.append(f"cdef {'bint m' if mask else 'double v'}{i} = {text}")
            if i in self.slots:
                lines.append(f"w[{self.slots[i]}] = {f'1.0 if m{i} else 0.0' if mask else f'v{i}'}")
        return lines
