"""A plan as C99: loops over arrays whose sizes may be arguments of the function.

Each step of the plan is a block of ``sd_sample``; arrays between the steps stand in a workspace, row by row. A scalar
program is a function of one sample, whose values are local constants. Square matrices of any size have functions of
their own: elimination with partial pivoting, and Cholesky's factorization. The function checks that sizes fit the
plan.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...graph import Node
from ...graph.primitives import complete
from ...graph.sizes import Dim, Span, product
from ...lowering.plan.access import Access, AxisIndex
from ...lowering.plan.plan import Plan
from ...lowering.plan.steps import (
    Call,
    LoopPiece,
    LoopStep,
    MatrixFunction,
    Move,
    Product,
    Reduction,
    Repacked,
    Repeated,
    Routine,
    Scan,
    loops_of,
    nested,
)
from ...lowering.program import MASK_OPS, SIGNATURES, Program
from .. import scalars
from ..scalars import ARITHMETIC, LIBM, LIBRARY, OWN, Parts, text_of

__all__ = [
    "FUNCTIONS_OF_MATRICES",
    "ArrayCode",
    "conditions_of",
    "dim_text",
    "element_lines",
    "functions_text",
    "literal",
    "matrix_text",
    "sample_functions",
    "statement",
    "unused",
]


_FORMS = {
    **ARITHMETIC,
    "logical_and": "{} && {}",
    "logical_or": "{} || {}",
    "logical_not": "!{}",
    "to_real": "{} ? 1.0 : 0.0",
    "where": "{} ? {} : {}",
}

complete((*_FORMS, *LIBM, *OWN, *LIBRARY), __name__, SIGNATURES)


def literal(x: float) -> str:
    """Print a number as C, whose macros of infinity and nan are of type float.

    Examples
    --------
    >>> literal(0.1), literal(float("-inf"))
    ('0.1', '(-(double)INFINITY)')
    """
    return scalars.literal(x, "(double)")


def statement(op: str, number: int, operands: Sequence[str]) -> str:
    """Return the declaration of value ``number``, which is ``op`` of some operands.

    Examples
    --------
    >>> statement("add", 3, ["x0[0]", "v2"])
    'const double v3 = x0[0] + v2;'
    """
    _refuse_library(op)
    form = _FORMS.get(op)
    text = form.format(*operands) if form else f"{LIBM.get(op) or OWN[op]}({', '.join(operands)})"
    return f"const {'int m' if op in MASK_OPS else 'double v'}{number} = {text};"


def _refuse_library(op: str) -> None:
    if op in LIBRARY:
        raise UnsupportedError(
            f"{LIBRARY[op]} is computed by SciPy, which C that stands alone cannot call; export it with "
            "target='cython', or call the kernel"
        )


def functions_text(programs: Collection[Program], more: Collection[str] = ()) -> str:
    """Return the functions that some programs need beside C's library, each behind those that it calls.

    Parameters
    ----------
    programs : collection of Program
    more : collection of str
        Operations that are needed besides.
    """
    used = {op for program in programs for op in program.ops} | set(more)
    for op in sorted(used):
        _refuse_library(op)
    return text_of(OWN[op] for op in used if op in OWN)


class _Sample(Parts):
    """The functions of a program, while they are printed."""

    end = ";"

    def literal(self, x: float) -> str:
        return literal(x)

    def functions(self) -> Iterator[str]:
        if self.whole:
            lines = [line for number, part in enumerate(self.parts) for line in self._compute(part, number)]
            yield self._last([*lines, *self._checks(), *chain.from_iterable(self.stores)])
            return
        calls = []
        for number, part in enumerate(self.parts):
            yield self._function(f"sd_part{number}", self._compute(part, number))
            calls.append(f"sd_part{number}({self.passed});")
        stores = []
        for number, lines in enumerate(self.stores):
            yield self._function(f"sd_store{number}", lines)
            stores.append(f"sd_store{number}({self.passed});")
        yield self._last([*calls, *self._checks(), *stores])

    def _function(self, name: str, lines: Iterable[str]) -> str:
        body = "".join(f"  {line}\n" for line in lines)
        return f"static void {name}({self.declared}) {{\n{unused(self.ports, body)}{body}}}\n"

    def _last(self, lines: Iterable[str]) -> str:
        body = "".join(f"  {line}\n" for line in [*lines, "return 0;"])
        return f"static int sd_sample({self.declared}) {{\n{unused(self.ports, body)}{body}}}\n"

    def _checks(self) -> Iterator[str]:
        for value, _ in self.program.checks:
            yield f"if ({self.operand(value)} == 0.0) return 1;"

    def _compute(self, values: Sequence[int], number: int) -> Iterator[str]:
        ops, args = self.program.ops, self.program.args
        for i in values:
            yield statement(ops[i], i, [self.operand(a, number) for a in args[i]])
            if i in self.slots:
                yield f"w[{self.slots[i]}] = {f'm{i} ? 1.0 : 0.0' if ops[i] in MASK_OPS else f'v{i}'};"


def sample_functions(program: Program) -> tuple[str, int]:
    """Print the functions of a program, and return how many numbers of workspace they take.

    The last one is ``int sd_sample(x0, ..., y0, ..., w)``, which returns 0, or 1 where a matrix is singular.
    """
    sample = _Sample(program)
    return "\n".join(sample.functions()), len(sample.slots)


def unused(names: Iterable[str], body: str) -> str:
    """Return a line for each argument that a function does not read, of which compilers would warn."""
    read = set(re.findall(r"\b\w+\b", body))
    return "".join(f"  (void){name};\n" for name in names if name not in read)


def element_lines(program: Program, loads: Mapping[tuple[int, int], str]) -> tuple[list[str], list[list[str]]]:
    """Return the statements of a program within a loop, and what is stored in each output.

    Parameters
    ----------
    program : Program
    loads : mapping of (int, int) to str
        What is read for each element of each input.
    """

    def operand(i: int) -> str:
        op = program.ops[i]
        if op == "const":
            return literal(program.consts[i])
        if op == "load":
            port, element = program.args[i]
            return loads[port, element]
        return f"m{i}" if op in MASK_OPS else f"v{i}"

    lines = [statement(program.ops[i], i, [operand(a) for a in program.args[i]]) for i in program.computed]
    lines += [f"if ({operand(value)} == 0.0) return 1;" for value, _ in program.checks]
    return lines, [[operand(v) for v in store] for store in program.stores]


_UNKNOWN = """\
/* whether an element is nan: then all results are */
static int sd_unknown(ptrdiff_t n, const double *a) {
  for (ptrdiff_t i = 0; i < n * n; i++)
    if (a[i] != a[i]) return 1;
  return 0;
}
"""

_ELIMINATE = """\
/* Gauss's elimination with partial pivoting of a, n by n, and the rows of c, n by k; 1 where a pivot is 0.
   The sign of the permutation is in sign, and the pivots are on the diagonal. */
static int sd_eliminate(ptrdiff_t n, ptrdiff_t k, double *a, double *c, double *sign) {
  int singular = 0;
  *sign = 1.0;
  for (ptrdiff_t j = 0; j < n; j++) {
    ptrdiff_t p = j;
    for (ptrdiff_t i = j + 1; i < n; i++)
      if (fabs(a[i * n + j]) > fabs(a[p * n + j])) p = i;
    if (p != j) {
      for (ptrdiff_t l = 0; l < n; l++) {
        const double t = a[p * n + l];
        a[p * n + l] = a[j * n + l];
        a[j * n + l] = t;
      }
      for (ptrdiff_t l = 0; l < k; l++) {
        const double t = c[p * k + l];
        c[p * k + l] = c[j * k + l];
        c[j * k + l] = t;
      }
      *sign = -*sign;
    }
    if (a[j * n + j] == 0.0) {
      singular = 1;
      continue;
    }
    for (ptrdiff_t i = j + 1; i < n; i++) {
      const double t = a[i * n + j] / a[j * n + j];
      if (t == 0.0) continue;
      for (ptrdiff_t l = j + 1; l < n; l++) a[i * n + l] -= t * a[j * n + l];
      for (ptrdiff_t l = 0; l < k; l++) c[i * k + l] -= t * c[j * k + l];
    }
  }
  return singular;
}
"""

_SOLVE = """\
/* c, n by k, becomes the solution for a, or for its transpose; w has room for n * n numbers */
static int sd_solve(ptrdiff_t n, ptrdiff_t k, const double *a, int turned, double *c, double *w) {
  double sign;
  if (sd_unknown(n, a)) {
    for (ptrdiff_t i = 0; i < n * k; i++) c[i] = (double)NAN;
    return 0;
  }
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) w[i * n + j] = turned ? a[j * n + i] : a[i * n + j];
  if (sd_eliminate(n, k, w, c, &sign)) return 1;
  for (ptrdiff_t i = n - 1; i >= 0; i--) {
    for (ptrdiff_t j = i + 1; j < n; j++) {
      const double t = w[i * n + j];
      for (ptrdiff_t l = 0; l < k; l++) c[i * k + l] -= t * c[j * k + l];
    }
    for (ptrdiff_t l = 0; l < k; l++) c[i * k + l] /= w[i * n + i];
  }
  return 0;
}
"""

_INVERT = """\
static int sd_invert(ptrdiff_t n, const double *a, int turned, double *c, double *w) {
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) c[i * n + j] = i == j ? 1.0 : 0.0;
  return sd_solve(n, n, a, turned, c, w);
}
"""

_DET = """\
/* the determinant: mantissas are multiplied and exponents added, so that no part of the product overflows */
static double sd_det(ptrdiff_t n, const double *a, double *w) {
  double product;
  long exponents = 0;
  if (sd_unknown(n, a)) return (double)NAN;
  for (ptrdiff_t i = 0; i < n * n; i++) w[i] = a[i];
  sd_eliminate(n, 0, w, w, &product);
  for (ptrdiff_t i = 0; i < n; i++) {
    int exponent = 0;
    product = frexp(product, &exponent); /* of inf and nan they are themselves, and the exponent counts nothing */
    exponents += exponent;
    exponent = 0;
    product *= frexp(w[i * n + i], &exponent);
    exponents += exponent;
  }
  return ldexp(product, exponents > 9999 ? 9999 : exponents < -9999 ? -9999 : (int)exponents);
}
"""

_LOGABSDET = """\
/* log(abs(det(a))); nan for a negative determinant where that is to be seen */
static double sd_logdet(ptrdiff_t n, const double *a, int absolute, double *w) {
  double sum = 0.0, sign;
  if (sd_unknown(n, a)) return (double)NAN;
  for (ptrdiff_t i = 0; i < n * n; i++) w[i] = a[i];
  if (sd_eliminate(n, 0, w, w, &sign)) return -(double)INFINITY;
  for (ptrdiff_t i = 0; i < n; i++) {
    sum += log(fabs(w[i * n + i]));
    if (w[i * n + i] < 0.0) sign = -sign;
  }
  return absolute || sign > 0.0 ? sum : (double)NAN;
}
"""

_CHOLESKY = """\
/* the lower triangular factor of a, whose lower triangle alone is read; 1 where there is none */
static int sd_cholesky(ptrdiff_t n, const double *a, double *c) {
  int unknown = 0;
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j <= i; j++) unknown |= a[i * n + j] != a[i * n + j];
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j < n; j++) c[i * n + j] = unknown ? (double)NAN : 0.0;
    for (ptrdiff_t j = 0; j <= i && !unknown; j++) {
      double t = a[i * n + j];
      for (ptrdiff_t l = 0; l < j; l++) t -= c[i * n + l] * c[j * n + l];
      if (i == j && t <= 0.0) return 1;
      c[i * n + j] = i == j ? sqrt(t) : t / c[j * n + j];
    }
  }
  return 0;
}
"""

_NEEDS: dict[str, tuple[str, ...]] = {
    "inv": (_UNKNOWN, _ELIMINATE, _SOLVE, _INVERT),
    "solve": (_UNKNOWN, _ELIMINATE, _SOLVE),
    "det": (_UNKNOWN, _ELIMINATE, _DET),
    "logdet": (_UNKNOWN, _ELIMINATE, _LOGABSDET),
    "cholesky": (_CHOLESKY,),
}

#: The row of ``_NEEDS`` and the call that computes each function of the matrix ``a``, which has ``rows``, into ``c``.
FUNCTIONS_OF_MATRICES: dict[str, tuple[str, str]] = {
    "inv": ("inv", "if (sd_invert(rows, a, 0, c, factor)) return 1;"),
    "inv_transposed": ("inv", "if (sd_invert(rows, a, 1, c, factor)) return 1;"),
    "solve": ("solve", "if (sd_solve(rows, columns, a, 0, c, factor)) return 1;"),
    "solve_transposed": ("solve", "if (sd_solve(rows, columns, a, 1, c, factor)) return 1;"),
    "det": ("det", "c[0] = sd_det(rows, a, factor);"),
    "logdet": ("logdet", "c[0] = sd_logdet(rows, a, 0, factor);"),
    "logabsdet": ("logdet", "c[0] = sd_logdet(rows, a, 1, factor);"),
    "cholesky": ("cholesky", "if (sd_cholesky(rows, a, c)) return 1;"),
}


def matrix_text(ops: Collection[str]) -> str:
    """Return the functions that some functions of matrices need, each once and in order."""
    needed = [text for op in ops for text in _NEEDS[FUNCTIONS_OF_MATRICES[op][0]]]
    order = dict.fromkeys(text for texts in _NEEDS.values() for text in texts)
    return "".join(f"{text}\n" for text in order if text in needed)


def dim_text(size: Dim, letters: Mapping[str, str]) -> str:
    """Print a size as an expression of C, in brackets where it is a sum.

    Examples
    --------
    >>> from symdiff.graph.sizes import named
    >>> dim_text(named("n") * 2 - 1, {"n": "n"})
    '(2 * n - 1)'
    """
    if isinstance(size, int):
        return str(size) if size >= 0 else f"({size})"
    text = ""
    for names, coefficient in size.terms:
        factors = [letters[name] for name in names]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {' * '.join(factors)}" if text else f"{sign.strip('+')}{' * '.join(factors)}"
    return f"({text})" if len(size.terms) > 1 or " " in text or text.startswith("-") else text


def conditions_of(plan: Plan, spans: Sequence[Span], letters: Mapping[str, str]) -> Iterator[str]:
    """Give what has to hold of the sizes, as C; what holds of all is left out."""
    yield from (f"{name} >= {plan.least}" for name in letters.values())
    for start, step, length, size in (*((*check.item, check.size) for check in plan.checks), *spans):
        last = start if length is None else start + (length - 1) * step
        for index in (start, last):
            yield from _holds(index, 0, letters)
            yield from _holds(size, index + 1, letters)
        if length is not None:
            yield from _holds(length, 0, letters)
    for each in nested(plan.steps):
        for size in loops_of(each):
            yield from _holds(size, 1, letters)
        if isinstance(each, LoopStep):
            for node, place in zip(each.results, each.places, strict=True):
                for where, size in zip(place, node.shape, strict=True):
                    count = each.loops[where.loop] if where.loop is not None else where.length or 1
                    for index in (where.start, where.start + (count - 1) * where.step):
                        yield from _holds(index, 0, letters)
                        yield from _holds(size, index + 1, letters)


def _holds(larger: Dim, least: Dim, letters: Mapping[str, str]) -> Iterator[str]:
    difference = larger - least
    if isinstance(difference, int):
        if difference < 0:
            raise UnsupportedError("a part of it is out of range for any size")
        return
    if all(coefficient >= 0 for _, coefficient in difference.terms):
        return
    if not any(coefficient < 0 for names, coefficient in difference.terms if names):
        ones = sum(coefficient for _, coefficient in difference.terms)
        if ones >= 0:  # with 1 for each letter, of which it is an increasing function
            return
    yield f"{dim_text(difference, letters)} >= 0"


#: Constants of more numbers are refused: a compiler would read them for minutes.
CONSTANTS = 100_000


class ArrayCode:
    """The functions of a plan.

    Parameters
    ----------
    plan : Plan
    letters : sequence of str
        The named sizes, which are arguments in front of all others.
    spans : sequence of Span
        What the formula takes of axes, beside what the plan checks.

    Attributes
    ----------
    text : str
        Functions; the last is ``int sd_sample(n0, ..., x0, ..., y0, ..., w)``.
    workspace : int or Size
        Numbers that ``w`` has room for.
    conditions : list of str
        What has to hold of the sizes.
    """

    def __init__(self, plan: Plan, letters: Sequence[str], spans: Sequence[Span] = ()) -> None:
        self.plan, self.named = plan, 0
        self.letters = {letter: f"n{k}" for k, letter in enumerate(letters)}
        self.names: dict[Node, str] = {}
        self.workspace: Dim = 0
        self.constants: list[str] = []
        self.heads: list[str] = []
        self.lists: dict[tuple[int, ...], str] = {}
        self.scratch: list[Dim] = []
        self.matrix_ops: set[str] = set()
        self.own: set[str] = set()
        self.lengths: Sequence[Dim] = ()
        body = list(self._body())
        self.conditions = list(dict.fromkeys(conditions_of(plan, spans, self.letters)))
        steps = [step for step in nested(plan.steps) if isinstance(step, LoopStep)]
        programs = [piece.program for step in steps for piece in step.pieces]
        self.text = self._text(programs, body)

    def dim(self, size: Dim) -> str:
        """Print a size."""
        return dim_text(size, self.letters)

    # ------------------------------------------------------------------ the whole

    def _text(self, programs: Sequence[Program], body: Sequence[str]) -> str:
        declared = [f"ptrdiff_t {name}" for name in self.letters.values()]
        declared += [f"const double *x{p}" for p in range(len(self.plan.inputs))]
        declared += [*(f"double *y{p}" for p in range(len(self.plan.outputs))), *["double *w"] * (self.workspace != 0)]
        lines = "".join(f"  {line}\n" if line else "\n" for line in [*self.heads, *body, "return 0;"])
        idle = unused([one.split()[-1].strip("*") for one in declared], lines)
        sample = f"static int sd_sample({', '.join(declared)}) {{\n{idle}{lines}}}\n"
        constants = "".join(f"{text}\n" for text in self.constants)
        functions = functions_text(programs, self.own)
        return "\n".join(part for part in (constants, functions, matrix_text(self.matrix_ops), sample) if part)

    def _body(self) -> Iterator[str]:
        for number, node in enumerate(self.plan.inputs):
            self.names[node] = f"x{number}"
        yield from self._steps(self.plan, [f"y{number}" for number in range(len(self.plan.outputs))])
        if self.scratch:
            # matrices are factored one at a time
            self.heads.append(f"double *factor = w + {self.dim(self.workspace)};")
            for size in dict.fromkeys(self.scratch):
                self.workspace = self.workspace + size

    def _steps(self, plan: Plan | Repeated, targets: Sequence[str]) -> Iterator[str]:
        """Print the steps of a plan whose inputs are there; ``targets`` are pointers to its outputs."""
        made = {node for step in plan.steps if not isinstance(step, Repacked) for node in step.results}
        copies = []
        for target, node in zip(targets, plan.outputs, strict=True):
            if node in made and node not in self.names:
                self.names[node] = target
            else:
                copies.append((target, node))
        for step in plan.steps:
            if isinstance(step, Repacked):
                source = self._of(step.source)
                self.names[step.result] = name = self._name("t")
                yield f"const double *{name} = {source} + {self.dim(step.start)};"
                continue
            self.lengths = loops_of(step)
            for node in step.results:
                if node not in self.names:
                    self._allocate(node)
            yield "{"
            for line in _STEPS[type(step)](self, step):
                yield f"  {line}"
            yield "}"
        for target, node in copies:
            yield self._copied(target, self._of(node), product(node.shape))

    def _copied(self, target: str, source: str, count: Dim) -> str:
        return f"for (ptrdiff_t i = 0; i < {self.dim(count)}; i++) {target}[i] = {source}[i];"

    def _name(self, kind: str) -> str:
        self.named += 1
        return f"{kind}{self.named}"

    def _allocate(self, node: Node) -> None:
        self.names[node] = self._room(node.shape)

    def _room(self, shape: Sequence[Dim]) -> str:
        """Return the pointer to an array between steps."""
        name = self._name("t")
        self.heads.append(f"double *{name} = w + {self.dim(self.workspace)};")
        self.workspace = self.workspace + product(shape)
        return name

    def _of(self, node: Node) -> str:
        """Return the pointer to an array that is read."""
        if node not in self.names:
            name = self.names[node] = self._name("n_" if node.is_size else "sd_c_")
            if node.is_size:
                self.heads.append(f"const double {name}[1] = {{(double){self.dim(node.payload.size)}}};")
            elif node.is_constant:
                self.constants.append(_table("double", name, [literal(float(x)) for x in np.ravel(node.value)]))
            else:
                raise UnsupportedError(f"a plan reads {node.op}, which no step makes")
        return self.names[node]

    # ------------------------------------------------------------------ where elements stand

    def _strides(self, node: Node) -> list[Dim]:
        return [product(node.shape[axis + 1 :]) for axis in range(node.ndim)]

    def _at(self, access: Access, strides: Sequence[Dim], loops: Sequence[str], lows: Sequence[Dim] = ()) -> str:
        """Return the offset of the first element at a place."""
        terms: list[str] = []
        constant: Dim = 0
        for index, stride in zip(access, strides, strict=True):
            if index.listed is not None:
                assert index.loop is not None
                low = lows[index.loop] if lows else 0
                inside = loops[index.loop] if low == 0 else f"{loops[index.loop]} - {self.dim(low)}"
                terms.append(self._times(f"{self._list(index.listed)}[{inside}]", stride))
                continue
            constant = constant + index.start * stride
            if index.loop is not None:
                terms.append(self._times(loops[index.loop], stride * index.step))
        if constant != 0 or not terms:
            terms.append(self.dim(constant))
        return " + ".join(terms)

    def _element(self, node: Node, access: Access, loops: Sequence[str]) -> str:
        """Return the one element of an array that stands at a place."""
        return f"{self._of(node)}[{self._at(access, self._strides(node), loops)}]"

    def _times(self, text: str, factor: Dim) -> str:
        return text if factor == 1 else f"{self.dim(factor)} * {text}"

    def _list(self, positions: Sequence[int]) -> str:
        key = tuple(positions)
        if key not in self.lists:
            self.lists[key] = f"sd_l{len(self.lists)}"
            self.constants.append(_table("ptrdiff_t", self.lists[key], list(map(str, key))))
        return self.lists[key]

    def _within(self, access: Access, strides: Sequence[Dim]) -> list[Dim]:
        """Return the offset of each element of a place from its first."""
        own = [(index, stride) for index, stride in zip(access, strides, strict=True) if index.length is not None]
        lengths = [_fixed(index.length) for index, _ in own]
        return [
            sum((stride * (index.step * k) for k, (index, stride) in zip(where, own, strict=True)), 0)
            for where in itertools.product(*map(range, lengths))
        ]

    # ------------------------------------------------------------------ steps

    def _loop(self, step: LoopStep) -> Iterator[str]:
        if step.fills or step.total:
            for node in step.results:
                yield f"for (ptrdiff_t i = 0; i < {self.dim(product(node.shape))}; i++) {self.names[node]}[i] = 0.0;"
        for piece in step.pieces:
            yield from self._piece(step, piece)

    def _piece(self, step: LoopStep, piece: LoopPiece) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.loops))]
        lows = [low for low, _ in piece.ranges]
        for k, (low, high) in enumerate(piece.ranges):
            yield f"for (ptrdiff_t i{k} = {self.dim(low)}; i{k} < {self.dim(high)}; i{k}++)"
        yield "{"
        loads = {}
        for k, port in enumerate(piece.ports):
            strides = self._strides(port.source)
            yield f"  const double *p{k} = {self._of(port.source)} + {self._at(port.access, strides, loops, lows)};"
            for e, offset in enumerate(self._within(port.access, strides)):
                loads[k, e] = f"p{k}[{self.dim(offset)}]"
        read = piece.program.read
        yield from (f"  (void)p{k};" for k in range(len(piece.ports)) if k not in read)
        lines, stores = element_lines(piece.program, loads)
        yield from (f"  {line}" for line in lines)
        for node, place, values in zip(step.results, step.places, stores, strict=True):
            strides = self._strides(node)
            base = f"{self.names[node]}[{self._at(place, strides, loops)}"
            for offset, value in zip(self._within(place, strides), values, strict=True):
                at = base if offset == 0 else f"{base} + {self.dim(offset)}"
                yield f"  {at}] {'+=' if step.total else '='} {value};"
        yield "}"

    def _product(self, step: Product) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.sizes))]
        kept = [index.loop for index in step.place if index.loop is not None]
        summed = [k for k in range(len(step.sizes)) if k not in kept]
        a, b = (self._element(port.source, port.access, loops) for port in (step.first, step.second))
        target = self._element(step.result, step.place, loops)
        scale = "" if step.scale == 1.0 else f"{literal(step.scale)} * "
        if kept and summed and _runs_along(step, kept[-1]):
            # rows are added up: neighbours in memory are read one after the other
            yield from self._nest(kept)
            yield f"  {target} = 0.0;"
            yield from self._nest([*kept[:-1], *summed, kept[-1]])
            yield f"  {target} += {scale}{a} * {b};"
            return
        yield from self._nest(kept)
        yield "{"
        yield "  double sum = 0.0;"
        yield from (f"  {line}" for line in self._nest(summed))
        yield f"    sum += {a} * {b};"
        yield f"  {target} = {scale}sum;"
        yield "}"

    def _nest(self, loops: Sequence[int]) -> Iterator[str]:
        for k in loops:
            yield f"for (ptrdiff_t i{k} = 0; i{k} < {self.dim(self.lengths[k])}; i{k}++)"

    def _reduction(self, step: Reduction) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.sizes))]
        kept = [index.loop for index in step.place if index.loop is not None]
        start, form = _REDUCTIONS[step.op]
        self.own.update(_OWN.get(step.op, ()))
        source = self._element(step.source.source, step.source.access, loops)
        target = self._element(step.result, step.place, loops)
        yield from self._nest(kept)
        yield "{"
        yield f"  double r = {start};"
        yield from (f"  {line}" for line in self._nest([k for k in range(len(step.sizes)) if k not in kept]))
        yield f"    r = {form.format('r', source)};"
        yield f"  {target} = r;"
        yield "}"

    def _scan(self, step: Scan) -> Iterator[str]:
        if step.op not in _SCANS:
            raise UnsupportedError(f"{step.op} along an axis has no C")
        last = len(step.sizes) - 1
        loops = [*(f"i{k}" for k in range(last)), "at"]
        start, form = _REDUCTIONS[_SCANS[step.op]]
        self.own.update(_OWN.get(_SCANS[step.op], ()))
        source = self._element(step.source.source, step.source.access, loops)
        target = self._element(step.result, step.place, loops)
        length = self.dim(step.sizes[last])
        yield from self._nest(range(last))
        yield "{"
        yield f"  double r = {start};"
        yield f"  for (ptrdiff_t i = 0; i < {length}; i++) {{"
        yield f"    const ptrdiff_t at = {f'{length} - 1 - i' if step.reverse else 'i'};"
        yield f"    r = {form.format('r', source)};"
        yield f"    {target} = r;"
        yield "  }"
        yield "}"

    def _move(self, step: Move) -> Iterator[str]:
        loops = [f"i{k}" for k in range(len(step.sizes))]
        listed = [*loops]
        table = self._list(step.indices)
        listed[step.loop] = f"{table}[i{step.loop}]"
        here, there = (listed, loops) if not step.scatter else (loops, listed)
        source = self._element(step.source.source, step.source.access, here)
        target = self._element(step.result, step.place, there)
        if step.scatter:
            count = self.dim(product(step.result.shape))
            yield f"for (ptrdiff_t i = 0; i < {count}; i++) {self.names[step.result]}[i] = 0.0;"
        yield from self._nest(range(len(step.sizes)))
        yield f"  {target} {'+=' if step.scatter else '='} {source};"

    def _matrix(self, step: MatrixFunction) -> Iterator[str]:
        """Go over the matrices of a stack, with the right-hand sides that belong to each."""
        self.matrix_ops.add(step.op)
        *lead, n = step.matrix.shape[:-1]
        if step.op != "cholesky":
            self.scratch.append(n * n)
        count = len(lead)
        access = tuple(AxisIndex(k, 0, 1, None) for k in range(count))
        loops = [f"i{k}" for k in range(count)]
        matrix_strides = self._strides(step.matrix)[:count]
        result_strides = self._strides(step.result)[:count]
        for k, size in enumerate(lead):
            yield f"for (ptrdiff_t i{k} = 0; i{k} < {self.dim(size)}; i{k}++)"
        yield "{"
        yield f"  const ptrdiff_t rows = {self.dim(n)};"
        yield f"  const double *a = {self._of(step.matrix)} + {self._at(access, matrix_strides, loops)};"
        yield f"  double *c = {self.names[step.result]} + {self._at(access, result_strides, loops)};"
        if step.other is not None:
            yield from self._right_sides(step, count, loops)
        yield f"  {FUNCTIONS_OF_MATRICES[step.op][1]}"
        yield "}"

    def _right_sides(self, step: MatrixFunction, count: int, loops: Sequence[str]) -> Iterator[str]:
        """Put the right-hand sides where their solution will stand, repeated along axes that they lack."""
        assert step.other is not None
        own = step.result.shape[count:]
        missing = step.result.ndim - step.other.ndim
        index = [*loops, *(f"j{k}" for k in range(len(own)))]
        strides = self._strides(step.other)
        terms = [
            self._times(index[axis + missing], stride)
            for axis, (size, stride) in enumerate(zip(step.other.shape, strides, strict=True))
            if size != 1
        ]
        width = own[1] if len(own) == 2 else 1
        yield f"  const ptrdiff_t columns = {self.dim(width)};"
        for k, size in enumerate(own):
            yield f"  for (ptrdiff_t j{k} = 0; j{k} < {self.dim(size)}; j{k}++)"
        to = " + ".join(self._times(f"j{k}", product(own[k + 1 :])) for k in range(len(own)))
        yield f"    c[{to}] = {self._of(step.other)}[{' + '.join(terms) or '0'}];"

    def _repeated(self, step: Repeated) -> Iterator[str]:
        """Run the steps of a body turn by turn: what is carried has two arrays that change places."""
        whole, kept = self.names[step.result], self.names
        given = [self._of(node) for node in step.given]
        rows = step.carried + step.read
        turn, row, number = map(self._name, ("turn", "row", "k"))
        pairs, moving, targets, last = [], [], [], []
        inside = {node: source for node, source in kept.items() if node.op in ("size", "constant")}
        for node, source in zip(step.inputs[: step.carried], given, strict=False):
            now, after = self._name("now"), self._name("next")
            yield f"double *{now} = {self._room(node.shape)}, *{after} = {self._room(node.shape)};"
            yield self._copied(now, source, product(node.shape))
            inside[node] = now
            pairs.append((now, after))
        for node, source in zip(step.inputs[step.carried : rows], given[step.carried : rows], strict=True):
            inside[node] = self._name("r")
            moving.append(f"const double *{inside[node]} = {source} + {self._times(row, product(node.shape))};")
        inside |= dict(zip(step.inputs[rows:-1], given[rows:], strict=True))
        inside[step.inputs[-1]] = number
        start: Dim = 0
        for k, node in enumerate(step.outputs):
            size = product(node.shape)
            if k < step.carried:
                targets.append(pairs[k][1])
                last.append(f"({whole} + {self.dim(start)})")
            else:
                targets.append(self._name("o"))
                moving.append(f"double *{targets[-1]} = {whole} + {self.dim(start)} + {self._times(row, size)};")
            start = start + size * (1 if k < step.carried else step.length)
        length = self.dim(step.length)
        yield f"for (ptrdiff_t {turn} = 0; {turn} < {length}; {turn}++) {{"
        yield f"  const ptrdiff_t {row} = {f'{length} - 1 - {turn}' if step.reverse else turn};"
        yield f"  const double {number}[1] = {{(double){row}}};"
        yield from (f"  {line}" for line in moving)
        self.names = inside
        yield from [f"  {line}" for line in self._steps(step, targets)]
        self.names = kept | {node: name for node, name in inside.items() if node.op in ("size", "constant")}
        for now, after in pairs:
            yield f"  {{ double *swap = {now}; {now} = {after}; {after} = swap; }}"
        yield from (f"  (void){line.split(' = ')[0].split()[-1].strip('*')};" for line in moving)
        yield f"  (void){number};"
        yield "}"
        for (now, _), target, node in zip(pairs, last, step.outputs, strict=False):
            yield self._copied(target, now, product(node.shape))

    def _refused(self, step: Call | Routine) -> Iterator[str]:
        raise UnsupportedError(f"{step.results[0].op} of whole arrays has no C")


#: Start of each reduction, and its step.
_REDUCTIONS = {
    "sum": ("0.0", "{} + {}"),
    "prod": ("1.0", "{} * {}"),
    "max": ("-(double)INFINITY", "sd_maximum({}, {})"),
    "min": ("(double)INFINITY", "sd_minimum({}, {})"),
}
_OWN = {"max": ("maximum",), "min": ("minimum",)}
_SCANS = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}

_STEPS: dict[type, Callable[[ArrayCode, Any], Iterator[str]]] = {
    LoopStep: ArrayCode._loop,
    Product: ArrayCode._product,
    Reduction: ArrayCode._reduction,
    Scan: ArrayCode._scan,
    Move: ArrayCode._move,
    MatrixFunction: ArrayCode._matrix,
    Repeated: ArrayCode._repeated,
    **dict.fromkeys((Call, Routine), ArrayCode._refused),
}


def _runs_along(step: Product, loop: int) -> bool:
    """Tell whether neighbours of the result are neighbours in a factor, too."""
    ends = [port.access[-1] for port in (step.first, step.second) if port.access]
    return any(index.loop == loop and index.listed is None for index in ends)


def _table(kind: str, name: str, items: Sequence[str]) -> str:
    if len(items) > CONSTANTS:
        raise UnsupportedError(f"a constant of {len(items)} numbers, more than {CONSTANTS}; give it as an input")
    lines = [", ".join(items[start : start + 8]) for start in range(0, len(items), 8)] or ["0"]
    inside = "".join(f"  {line},\n" for line in lines)
    return f"static const {kind} {name}[] = {{\n{inside}}};\n"


def _fixed(size: Dim | None) -> int:
    if not isinstance(size, int):
        raise UnsupportedError("an element of a loop has an axis of symbolic size")
    return size
