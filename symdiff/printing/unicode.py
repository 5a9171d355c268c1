"""Formulas as a book prints them, on one line in Unicode: A⁻ᵀ, tr(A), diag(v) A.

A vector is a column. ``⊙`` multiplies element by element, ``𝟏`` is a vector of ones, ``I`` the
identity, ``eₖ`` a unit vector (counted from 0). Where matrix notation ends, indices are
written: those of the result are i, j, k, ... in order, and an index that is not among them is
summed over. LaTeX has a sign of its own for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..graph.sizes import show
from .layout import AND, COMPARISON, HADAMARD, OR, POSTFIX, POWER, PRODUCT, SUM, Piece, Style, subscripts
from .notation import LETTERS, Loop, Term, in_digits, reaches_outside, spelled
from .text import decimal

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_VULGAR = {(1, 2): "½", (1, 3): "⅓", (2, 3): "⅔", (1, 4): "¼", (3, 4): "¾", (1, 5): "⅕", (1, 6): "⅙", (1, 8): "⅛"}


class MathSigns(Style):
    """Spelling of names, powers, quotients and choices."""

    names: ClassVar[dict[str, str]] = {
        "sigmoid": "σ",
        "gamma": "Γ",
        "digamma": "ψ",
        "maximum": "max",
        "minimum": "min",
        "log_softmax": "log softmax",
        "adjugate": "adj",
        "cholesky": "chol",
        "logdet": "log det",
        "logabsdet": "log |det|",
        "trace": "tr",
    }
    fences: ClassVar[dict[str, tuple[str, str]]] = {
        "abs": ("|", "|"),
        "floor": ("⌊", "⌋"),
        "ceil": ("⌈", "⌉"),
        "norm": ("‖", "‖"),
    }
    compare: ClassVar[dict[str, str]] = {"less": "<", "less_equal": "≤", "equal": "=", "not_equal": "≠"}
    times, hadamard, tensor, over_each, conjunction, disjunction, negation = " ", " ⊙ ", " ⊗ ", " ⊘ ", " ∧ ", " ∨ ", "¬"
    crossed = " × "
    ones, identity, delta = "𝟏", "I", "δ"
    neighbours = True
    barred = False  # whether a quotient's bar says where the dividend ends

    mapped = " ↦ "
    #: Parentheses, a sum from one bound to another, an exponent that is a fraction, transposes, a cross product.
    parenthesised, summed, raised_fraction = "({})".format, "Σ[{}…{}] ".format, "({})".format
    transposed, inverse_transposed, turning = "{}ᵀ".format, "{}⁻ᵀ".format, "[{}]ₓ".format

    def composed(self, function: str, count: str) -> str:
        """Return a function that is applied several times."""
        return function + (count.translate(_SUPERSCRIPT) if count.isdigit() else f"^({count})")

    def reference(self, name: str) -> Piece:
        """Return a name; one with odd characters is quoted."""
        return Piece(name if name.isidentifier() else repr(name))

    def function(self, name: str, *args: str) -> str:
        """Return a call of a function."""
        return f"{self.names.get(name, name)}({', '.join(args)})"

    def raised(self, base: str, exponent: str, each: bool = False) -> str:
        """Return ``base`` with a superscript; ``each`` marks a power taken element by element."""
        plain = exponent.lstrip("-").isdigit()
        return base + ("∘" if each else "") + (exponent.translate(_SUPERSCRIPT) if plain else f"^{exponent}")

    def unit(self, place: str) -> str:
        """Return a unit vector."""
        return "e" + (place.translate(_SUBSCRIPT) if place.isdigit() else f"[{place}]")

    def root(self, term: Term) -> str:
        """Return a square root."""
        text, level = self.piece(term)
        return f"√{text}" if level >= POSTFIX else f"√({text})"

    def rows_of(self, rows: Sequence[Sequence[str]], flat: bool) -> str:
        """Return a matrix, or a vector when ``flat``."""
        lines = ["[" + ", ".join(row) + "]" for row in rows]
        return lines[0] if flat else "[" + ", ".join(lines) + "]"

    def cases(self, condition: str, a: str, b: str) -> Piece:
        """Return a choice."""
        return Piece("{" + f"{a} if {condition}, else {b}" + "}")

    def ratio(self, p: int, q: int) -> Piece:
        """Return a fraction of whole numbers."""
        sign = "-" if p < 0 else ""
        if (abs(p), q) in _VULGAR:
            return Piece(sign + _VULGAR[abs(p), q], SUM if sign else POSTFIX)
        return Piece(f"{p}/{q}", HADAMARD)

    def constant(self, name: str) -> str:
        """Return pi, e, log(2), ..."""
        roots = {"sqrt(pi)": "√π", "sqrt(2)": "√2", "sqrt(3)": "√3", "sqrt(5)": "√5", "sqrt(2 * pi)": "√(2π)"}
        roots |= {"sqrt(2 / pi)": "√(2/π)", "sqrt(pi / 2)": "√(π/2)"}
        return {"pi": "π", "pi ** 2": "π²", **roots}.get(name, name)


_MATRICES = ("matmul", "rows", "columns", "outer")
#: Elements of a constant row that is written out among others.
_LONGEST_ROW = 8


def _is_ratio(p: int, name: str, q: int, digits: str) -> bool:
    return not name and q > 1 and (q <= 9 or len(digits) > 8)


def _ratio_among(factors: Sequence[Term]) -> tuple[int, int, Sequence[Term]] | None:
    """Return a fraction among factors, and the others."""
    for place, factor in enumerate(factors):
        p, name, q = spelled(factor.data) if factor.kind == "number" else (0, "", 0)
        if _is_ratio(p, name, q, decimal(factor.data) if q else ""):
            return p, q, [*factors[:place], *factors[place + 1 :]]
    return None


class MathStyle(MathSigns):
    """The style of books, in Unicode; LaTeX differs from it in its signs only."""

    def called(self, name: str, *args: str) -> Piece:
        """Return a call."""
        return Piece(self.function(name, *args))

    # ------------------------------------------------------------ leaves

    def number(self, value: float) -> Piece:
        """Return a number."""
        digits = decimal(value).replace("inf", "∞")
        p, name, q = spelled(value)
        if q and name and abs(p) < 100:
            if name.startswith("/"):
                below = self.constant(name[1:])
                if q > 1:
                    below = f"{q}{self.times}{below}" if self.barred else f"({q}{self.times}{below})"
                return self.fraction(str(p), below, loose=False)
            front = "-" if p == -1 else "" if p == 1 else f"{p}{self.times}"
            top = front + self.constant(name)
            return Piece(top, SUM if p < 0 else PRODUCT) if q == 1 else self.fraction(top, str(q), loose=False)
        if _is_ratio(p, name, q, digits):
            return self.ratio(p, q)
        return Piece(digits, SUM if digits.startswith("-") else POSTFIX)

    def _write_number(self, term: Term) -> Piece:
        return self.number(term.data)

    def _write_truth(self, term: Term) -> Piece:
        return Piece("true" if term.data else "false")

    def _write_array(self, term: Term) -> Piece:
        values = term.data
        if values.ndim > 2 or values.size > 64 or values.dtype == bool:
            return Piece(self.function("array", show(term.shape)))
        rows = values.reshape(1, -1) if values.ndim < 2 else values
        written = [[self.number(float(value)).text for value in row] for row in rows]
        return Piece(self.rows_of(written, flat=values.ndim < 2))

    def _write_arange(self, term: Term) -> Piece:
        return Piece(self.function("arange", *map(decimal, term.data)))

    def _write_filled(self, term: Term) -> Piece:
        if term.data == 0:
            return Piece("0")
        ones = self.ones if term.ndim == 1 else f"{self.ones} {self.transposed(self.ones)}" if term.ndim == 2 else ""
        if not ones:
            ones = self.indexed(self.ones, [str(size) for size in term.shape])
        if term.data == 1:
            return Piece(ones, POSTFIX if term.ndim == 1 else PRODUCT)
        return Piece(f"{self.number(term.data).text} {ones}", PRODUCT)

    def _write_eye(self, term: Term) -> Piece:
        (start, step), (rows, columns) = term.data, term.shape
        if (start, step) == (0, 1) and rows == columns:
            return Piece(self.identity)
        outside = reaches_outside(start, step, rows, columns)
        if outside is not None and step == 1:
            diagonal = [str(outside)] if outside != 0 else []
            return Piece(self.function("eye", str(rows), str(columns), *diagonal))
        return Piece(self.indexed(self.identity, subscripts(((start, step, rows),), (columns,))))

    def _write_onehot(self, term: Term) -> Piece:
        return Piece(self.unit(str(term.data)))

    def _write_size(self, term: Term) -> Piece:
        text = str(term.data).replace("*", self.times)
        return Piece(text, POSTFIX if text.isidentifier() else SUM)

    # ------------------------------------------------------------ arithmetic

    def fitted(self, arg: Term, rank: int, level: int) -> str:
        """Return an argument of an elementwise operation of ``rank`` axes; a row is repeated downwards."""
        if arg.ndim == 1 and rank == 2:
            return f"{self.ones} {self.transposed(self.wrapped(arg))}"
        return self.wrapped(arg, level)

    def _write_sum(self, term: Term) -> Piece:
        parts = []
        for place, (arg, minus) in enumerate(term.pairs):
            text = self._added(arg, term.ndim, HADAMARD if minus or place else SUM)
            parts.append(("-" if minus else "") + text if place == 0 else (" - " if minus else " + ") + text)
        return Piece("".join(parts), SUM)

    def _added(self, arg: Term, rank: int, level: int) -> str:
        """Return a term of a sum; a number beside matrices is one in each entry."""
        if arg.ndim or rank != 2:
            return self.fitted(arg, rank, level)
        ones = f"{self.ones}{self.times}{self.transposed(self.ones)}"
        return ones if arg.kind == "number" and arg.data == 1 else f"{self.wrapped(arg, PRODUCT)}{self.times}{ones}"

    def _write_product(self, term: Term) -> Piece:
        over, under = term.factors
        ratio = _ratio_among(over) if self.barred and under and not any(arg.ndim for arg in under) else None
        if ratio is not None:  # 1 / (2 x) and not (1/2) / x
            p, q, rest = ratio
            return self.fraction(self._times(p, rest, term.ndim), self._times(q, under, term.ndim), loose=True)
        text, level = self._joined(over, term.ndim)
        if not under:
            return Piece(text, level)
        below, _ = self._joined(under, term.ndim)
        if any(arg.ndim for arg in under):
            below = self.parenthesised(below) if len(under) > 1 else self.fitted(under[0], term.ndim, POWER)
            return Piece(f"{text}{self.over_each}{below}", HADAMARD)
        if self.barred and len(over) == 1:
            text = self.fitted(over[0], term.ndim, COMPARISON)
        if len(under) == 1:
            own = self.piece(under[0])
            return self.fraction(text, own.text, loose=own.level < POWER)
        return self.fraction(text, below, loose=True)

    def _times(self, number: int, factors: Sequence[Term], rank: int) -> str:
        """Return a whole number times factors, above or below a bar."""
        if not factors or number == 1:
            return self._joined(factors, rank)[0] if factors else str(number)
        text = self.wrapped(factors[0], PRODUCT) if len(factors) == 1 else self._joined(factors, rank)[0]
        return f"{number}{self.times}{text}"

    def _joined(self, factors: Sequence[Term], rank: int) -> tuple[str, int]:
        scalars = [arg for arg in factors if not arg.ndim]
        arrays = [arg for arg in factors if arg.ndim]
        front = ""
        for arg in scalars:
            text = self.wrapped(arg, HADAMARD if len(factors) == 1 else PRODUCT if arg.kind == "number" else POWER)
            gap = " · " if front and front[-1].isdigit() and text[0].isdigit() else self.times if front else ""
            front += gap + text
        if not arrays:
            return front or "1", PRODUCT if len(factors) > 1 else POSTFIX
        if len(arrays) == 1:
            back = self.fitted(arrays[0], rank, PRODUCT if front else HADAMARD)
        else:
            back = self.hadamard.join(self.fitted(arg, rank, PRODUCT) for arg in arrays)
        return (front + self.times + back if front else back), HADAMARD if len(arrays) > 1 else PRODUCT

    def _write_negative(self, term: Term) -> Piece:
        return Piece(f"-{self.wrapped(term.args[0], HADAMARD)}", SUM)

    def _write_power(self, term: Term) -> Piece:
        base, exponent = term.args
        if exponent.kind == "number" and exponent.data == 0.5:
            return Piece(self.root(base), POWER)
        text = self.wrapped(exponent) if exponent.kind != "number" else self._exponent(exponent.data)
        return Piece(self.raised(self.wrapped(base), text, each=term.ndim > 0), POWER)

    def _exponent(self, value: float) -> str:
        fraction = in_digits(abs(value))
        if fraction is None:
            return decimal(value)
        return self.raised_fraction("{}{}/{}".format("-" if value < 0 else "", *fraction))

    def _write_compare(self, term: Term) -> Piece:
        a, b = (self.fitted(arg, term.ndim, SUM) for arg in term.args)
        return Piece(f"{a} {self.compare[term.data]} {b}", COMPARISON)

    def _write_and(self, term: Term) -> Piece:
        return Piece(self.conjunction.join(self._condition(arg) for arg in term.args), AND)

    def _write_or(self, term: Term) -> Piece:
        return Piece(self.disjunction.join(self._condition(arg) for arg in term.args), OR)

    def _write_not(self, term: Term) -> Piece:
        return Piece(self.negation + self._condition(term.args[0]), POWER)

    def _condition(self, term: Term) -> str:
        text, level = self.piece(term)
        return self.parenthesised(text) if level in (AND, OR) else text if level >= POWER else self.parenthesised(text)

    def _write_where(self, term: Term) -> Piece:
        return self.cases(*(self.fitted(arg, term.ndim, COMPARISON) for arg in term.args))

    def _write_step(self, term: Term) -> Piece:
        return Piece(self.function("step", self.plain(term.args[0])))

    def _write_cross(self, term: Term) -> Piece:
        a, b = term.args
        return Piece(f"{self.wrapped(a, POWER)}{self.crossed}{self.wrapped(b, POWER)}", PRODUCT)

    def _write_skew(self, term: Term) -> Piece:
        return Piece(self.turning(self.plain(term.args[0])))

    def _write_pad(self, term: Term) -> Piece:
        (x,) = term.args
        if term.data in (((0, 1),), ((1, 0),)):
            before, _ = term.data[0]
            parts = ["0", self.plain(x)] if before else [self.plain(x), "0"]
            return Piece(self.rows_of([parts], flat=True))
        around = [show(widths) for widths in term.data]
        return Piece(self.function("pad", self.plain(x), *around))

    def _write_call(self, term: Term) -> Piece:
        if term.data == "sqrt":
            return Piece(self.root(term.args[0]), POWER)
        if term.data in self.fences:
            left, right = self.fences[term.data]
            return Piece(left + self.plain(term.args[0]) + right)
        args = [self.fitted(arg, term.ndim, COMPARISON) for arg in term.args]
        return Piece(self.function(term.data, *args))

    # ------------------------------------------------------------ products

    def chained(self, term: Term) -> str:
        """Return a factor of a chain of matrices; products of matrices need no parentheses there."""
        return self.wrapped(term, PRODUCT if term.kind in _MATRICES else POWER)

    def _write_matmul(self, term: Term) -> Piece:
        return Piece(self.times.join(self.chained(arg) for arg in term.args), PRODUCT)

    def _write_dot(self, term: Term) -> Piece:
        a, b = term.args
        return Piece(f"{self.transposed(self.wrapped(a))}{self.times}{self.chained(b)}", PRODUCT)

    def _write_transpose(self, term: Term) -> Piece:
        (x,) = term.args
        if x.kind == "inv":
            return Piece(self.inverse_transposed(self.wrapped(x.args[0])), POWER)
        return Piece(self.transposed(self.wrapped(x)), POWER)

    def _write_outer(self, term: Term) -> Piece:
        a, b = term.args
        return Piece(f"{self.chained(a)}{self.times}{self.transposed(self.wrapped(b))}", PRODUCT)

    def _write_diagonal(self, term: Term) -> Piece:
        more = [show(term.data)] if term.args[0].ndim > 2 else []
        return Piece(self.function("diag", self.plain(term.args[0]), *more))

    def _write_total(self, term: Term) -> Piece:
        (x,), axes = term.args, term.data
        if x.ndim == 2 and axes == (1,):
            return Piece(f"{self.chained(x)}{self.times}{self.ones}", PRODUCT)
        if x.ndim == 2 and axes == (0,):
            return Piece(f"{self.transposed(self.wrapped(x))}{self.times}{self.ones}", PRODUCT)
        if len(axes) == x.ndim and x.kind == "power" and x.args[1].kind == "number" and x.args[1].data == 2.0:
            left, right = self.fences["norm"]
            return Piece(self.raised(left + self.plain(x.args[0]) + right, "2"), POWER)
        return Piece(self.function("sum", self.plain(x), *_axes(axes, x.ndim)))

    def _write_rows(self, term: Term) -> Piece:
        v, x = term.args
        return Piece(f"{self.function('diag', self.plain(v))}{self.times}{self.chained(x)}", PRODUCT)

    def _write_columns(self, term: Term) -> Piece:
        x, v = term.args
        return Piece(f"{self.chained(x)}{self.times}{self.function('diag', self.plain(v))}", PRODUCT)

    def _write_expand(self, term: Term) -> Piece:
        (x,) = term.args
        if term.data == (True, False):
            return Piece(f"{self.chained(x)}{self.times}{self.transposed(self.ones)}", PRODUCT)
        if x.ndim == 0:
            return Piece(self.rows_of([[self.plain(x)]], flat=term.ndim == 1))
        return self.part(x, [":" if old else "None" for old in term.data])

    def _write_broadcast(self, term: Term) -> Piece:
        (x,) = term.args
        if x.ndim == 0 and term.ndim == 1:
            return Piece(f"{self.wrapped(x, POWER)}{self.times}{self.ones}", PRODUCT)
        if x.ndim == 0 and term.ndim == 2:
            return Piece(self.times.join((self.wrapped(x, POWER), self.ones, self.transposed(self.ones))), PRODUCT)
        if term.ndim == 2 and x.kind == "expand":
            return self.piece(x)
        if term.ndim == 2 and x.ndim == 1:
            return Piece(self.fitted(x, 2, POWER), PRODUCT)
        return Piece(self.function("broadcast", self.plain(x), show(term.shape)))

    def _write_tensor(self, term: Term) -> Piece:
        labels, out = term.data
        in_order = tuple(label for own in labels for label in own) == out
        two_matrices = [arg.ndim for arg in term.args] == [2, 2]
        if (two_matrices and labels == ((0, 2), (1, 3))) or (in_order and not two_matrices):
            return Piece(self.tensor.join(self._tensor_factor(arg) for arg in term.args), PRODUCT)
        letters = [[LETTERS[label % len(LETTERS)] for label in own] for own in labels]
        return Piece(self.times.join(map(self.element, term.args, letters)), PRODUCT)

    def element(self, term: Term, indices: Sequence[str]) -> str:
        """Return an element of an array; of the identity by its letter."""
        identity = term.kind == "eye" and term.data == (0, 1)
        return self.indexed(self.delta, indices) if identity else super().element(term, indices)

    def _tensor_factor(self, term: Term) -> str:
        if term.kind == "eye" and term.data == (0, 1):
            return self.delta
        return self.wrapped(term, POWER)

    # ------------------------------------------------------------ structure

    def _write_reduce(self, term: Term) -> Piece:
        (x,), (name, axes) = term.args, term.data
        along = axes == (x.ndim - 1,) if "softmax" in name else len(axes) == x.ndim
        if name == "unit" and along:
            left, right = self.fences["norm"]
            over = self.plain(x) if self.barred else self.wrapped(x, PRODUCT)
            return self.fraction(over, left + self.plain(x) + right, loose=False)
        if along and name in self.fences:
            left, right = self.fences[name]
            return Piece(left + self.plain(x) + right)
        return Piece(self.function(name, self.plain(x), *([] if along else _axes(axes, 99))))

    def _write_concatenate(self, term: Term) -> Piece:
        parts = [self.plain(arg) for arg in term.args]
        return Piece(self.function("concatenate", *parts, f"axis={term.data}"))

    def _write_stack(self, term: Term) -> Piece:
        if term.data == 0 and all(arg.ndim == 0 for arg in term.args):
            return Piece(self.rows_of([[self.plain(arg) for arg in term.args]], flat=True))
        rows = [self._row(arg) for arg in term.args] if term.data == 0 and term.ndim == 2 else [[]]
        if all(rows):
            return Piece(self.rows_of(rows, flat=False))
        return Piece(self.function("stack", *(self.plain(arg) for arg in term.args), f"axis={term.data}"))

    def _row(self, term: Term) -> list[str]:
        """Return the elements of a row that is written out, none of any other."""
        if term.kind == "stack" and term.data == 0:
            return [self.plain(x) for x in term.args]
        (length,) = term.shape
        if term.kind == "array" and term.data.dtype != bool:
            return [self.number(float(value)).text for value in term.data]
        if term.kind in ("filled", "onehot") and isinstance(length, int) and length <= _LONGEST_ROW:
            held = [term.data] * length if term.kind == "filled" else [float(k == term.data) for k in range(length)]
            return [self.number(float(value)).text for value in held]
        return []

    def _write_cumulative(self, term: Term) -> Piece:
        name, axis, backwards = term.data
        more = (["backwards"] if backwards else []) + ([f"axis={axis}"] if term.ndim > 1 else [])
        return Piece(self.function(name, self.plain(term.args[0]), *more))

    def _write_inv(self, term: Term) -> Piece:
        return Piece(self.raised(self.wrapped(term.args[0]), "-1"), POWER)

    def _write_matrix(self, term: Term) -> Piece:
        if term.data == "solve":
            a, b = term.args
            if a.kind == "transpose":
                inverse = self.inverse_transposed(self.wrapped(a.args[0]))
            else:
                inverse = self.raised(self.wrapped(a), "-1")
            return Piece(f"{inverse}{self.times}{self.chained(b)}", PRODUCT)
        if term.data == "logabsdet":
            inside = self.function("det", self.plain(term.args[0]))
            return Piece(self.function("log", f"|{inside}|"))
        name, differential, _ = term.data.partition("_differential")
        name = f"d {name.replace('adjugate', 'adj')}" if differential else term.data
        return Piece(self.function(name, *map(self.plain, term.args)))

    def _write_series(self, term: Term) -> Piece:
        letter, length = term.data
        sign = self.summed(f"{self.reference(letter.data).text}=0", str(length - 1))
        return Piece(f"{sign}{self.wrapped(term.args[0], PRODUCT)}", SUM)

    def factors(self, terms: Sequence[Term]) -> list[str]:
        """Return scalars as they stand side by side in a product."""
        texts = [self.wrapped(term, PRODUCT) for term in terms]
        if len(texts) > 1 and texts[0][-1].isdigit() and texts[1][0].isdigit():
            texts[:2] = [f"{texts[0]} · {texts[1]}"]
        return texts

    def iterated(self, step: str, start: str, count: str) -> str:
        """Return a function that is applied several times."""
        return f"{self.composed(self.parenthesised(step), count)}({start})"

    def scanned(self, loop: Loop, letters: list[str], parts: Sequence[list[str]]) -> str:
        """Return a loop along arrays, with what is carried and what is written together."""
        starts, rows, after, outputs = parts
        taken = self.group(letters[1:] if rows else [*letters[1:], letters[0]])
        step = f"{taken}{self.mapped}{self.group(after + outputs)}"
        over = self.group(rows) if rows else str(loop.length)
        text = self.function("scan", step, *[self.group(starts)] * bool(starts), over, *["backwards"] * loop.reverse)
        return text if loop.part is None else self.indexed(text, [str(loop.part)])


def _axes(axes: tuple[int, ...], rank: int) -> list[str]:
    if len(axes) == rank:
        return []
    return [f"axis={axes[0]}" if len(axes) == 1 else f"axes={show(axes)}"]
