"""Programs under construction: value numbering, exact identities, dead code elimination."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._kernels.programs.tape import Operands, Operations, Tape
from ..errors import UnsupportedError
from ..graph import Node
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Shape, fixed, show
from ..ground.budget import spend
from ..rewrite.kept_range import is_ordinary
from .program import CODES, MASK_OPS, OPERATIONS, Port, Program

Ids: TypeAlias = npt.NDArray[np.int64]

#: Powers of two up to this exponent are factored out of quotients, well inside a double's range.
_EXACT = 64
#: Numbers up to this exponent may be multiplied by such a power of two and stay a double's.
_ROOM = 900
#: Most factors of a quotient that are looked through for a root.
_LOOK = 4
#: Functions of which f(-x) = f(x), and those of which f(-x) = -f(x), in the libraries' bits as well.
_EVEN = frozenset(CODES[name] for name in ("abs", "cos", "cosh"))
_ODD = frozenset(
    CODES[name] for name in ("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "erf", "cbrt")
)
#: Operations of two numbers that have exact identities, by number, and all that have.
PAIRS = {name: CODES[name] for name in ("add", "subtract", "multiply", "divide")}
ARITHMETIC = frozenset((*PAIRS, "negative", "power", "where"))
_MASKS = frozenset(CODES[name] for name in MASK_OPS)
#: Operations of which each value is a number where those of its operands are, in real arithmetic.
_TOTAL = frozenset(CODES[row.c] for row in FUNCTIONS.values() if row.c and row.total)
_LOAD, _CONST, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _NEGATIVE, _SQRT = (
    CODES[name] for name in ("load", "const", "add", "subtract", "multiply", "divide", "negative", "sqrt")
)
#: Elements of all arrays, structural zeros included, for each operation of the limit.
_PLACES = 100
#: Nodes of numbers that are charged together.
_TOGETHER = 100
_ZERO, _NONE = -1, -2
#: The value number of a structural zero: known to be 0 whatever the inputs are.
ZERO = _ZERO


def fixed_shape(shape: Shape) -> tuple[int, ...]:
    """Return a shape as whole numbers; symbolic sizes are refused."""
    known = fixed(shape)
    if known is None:
        raise UnsupportedError(f"an array of shape {show(shape)} has sizes known at call time only")
    return known


class ProgramBuilder:
    """Scalar operations under construction; equal operations are one value."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.most = 8 * limit  # operations within one node; most of those of a product are dropped where it is zero
        self.charged = 0
        self.places = 0  # elements of all nodes, structural zeros included, which cost nothing but memory
        self.uncharged = 0
        self.tape = Tape(OPERATIONS)
        self.consts: dict[int, float] = {}
        self.checks: list[tuple[int, str]] = []
        self.wide = False
        self._numbers: dict[tuple[float, float] | str, int] = {}
        self._quotients: dict[tuple[float, int], tuple[int, float]] = {}
        self._others: dict[int, tuple[tuple[int, ...], int]] = {}
        self._with_values: set[int] = set()

    def reserve(self, node: Node) -> None:
        """Refuse a formula before it grows beyond the limit, and charge what has been made."""
        made = self.tape.count
        spend(1 + self.uncharged + made - self.charged)
        self.charged, self.uncharged = made, 0
        self.places += math.prod(fixed_shape(node.shape))
        if made > self.limit or self.places > _PLACES * self.limit:
            raise self.too_long()

    def expect(self, count: float) -> None:
        """Refuse operations within one node before they are made."""
        if self.tape.count + count > self.most:
            raise self.too_long()

    def charge(self) -> None:
        """Charge what a number has made, many at once, and refuse a program that is too long."""
        made = self.tape.count
        self.uncharged += 1
        if made > self.limit:
            raise self.too_long()
        if self.uncharged >= _TOGETHER:
            spend(self.uncharged + made - self.charged)
            self.charged, self.uncharged = made, 0

    def too_long(self) -> UnsupportedError:
        """Return the error of a formula of too many operations."""
        return UnsupportedError(f"the formula takes more than {self.limit} scalar operations")

    def number(self, value: float) -> int:
        """Return the value number of a constant."""
        key = (math.copysign(1.0, value), value) if not math.isnan(value) else "nan"
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self.tape.const()
            self.consts[found] = value
        return found

    def real(self, value: int) -> int:
        """Return a value number that can be stored: a structural zero becomes the number 0."""
        return self.number(0.0) if value == _ZERO else value

    def stored(self, value: int) -> int:
        """Return a value number for an output: a condition becomes 1.0 or 0.0."""
        value = self.real(value)
        return self.emit("to_real", value) if self.tape.code(value) in _MASKS else value

    def call(self, op: str, *args: int) -> int:
        """Return a function's value."""
        return self.function(CODES[op], args[0]) if len(args) == 1 else self.value(CODES[op], args)

    def function(self, code: int, x: int) -> int:
        """Return a function's value: of -a by that of a, and of b - a by that of a - b where this is there already."""
        x = self.real(x)
        tape = self.tape
        if tape.code(x) == _NEGATIVE and (code in _EVEN or code in _ODD):
            of_opposite = self.function(code, tape.operand(x))
            return of_opposite if code in _EVEN else self.negative(of_opposite)
        if tape.code(x) == _SUBTRACT and (code in _EVEN or code in _ODD):
            turned = tape.known(_SUBTRACT, (tape.operand(x, 1), tape.operand(x)))
            other = -1 if turned < 0 else tape.known(code, (turned,))
            if other >= 0:
                # 0 - f, and not -f: where a = b all differences are 0, and so is the function of each
                return other if code in _EVEN else self.two(_SUBTRACT, self.number(0.0), other)
        found = tape.one(code, x)
        if found > self.most:
            raise self.too_long()
        return found

    def emit(self, op: str, *args: int) -> int:
        """Return the value number of an operation on earlier values."""
        return self.value(CODES[op], args)

    def value(self, code: int, args: tuple[int, ...]) -> int:
        """Return the value number of an operation, by its number, on earlier values."""
        found = self.tape.value(code, args)
        if found > self.most:
            raise self.too_long()
        return found

    def two(self, code: int, a: int, b: int) -> int:
        """Return the value number of an operation on two earlier values."""
        found = self.tape.two(code, a, b)
        if found > self.most:
            raise self.too_long()
        return found

    def apply(self, op: str, args: Sequence[int]) -> int:
        """Return the value number of one of :data:`ARITHMETIC`, by the exact identities that it has."""
        if op in PAIRS:
            return self.pair(PAIRS[op], *args)
        if op == "negative":
            return self.negative(*args)
        return self.power(*args) if op == "power" else self.where(*args)

    def pair(self, code: int, a: int, b: int) -> int:
        """Return the value number of one of :data:`PAIRS`."""
        if code == _ADD:
            return self.add(a, b)
        if code == _MULTIPLY:
            return self.multiply(a, b)
        return self.subtract(a, b) if code == _SUBTRACT else self.divide(a, b)

    # structural zeros, ones, signs and powers of two: exact identities, and the pairs of equal roots

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        if a == _ZERO or self.consts.get(a) == 0.0:
            return b
        if b == _ZERO or self.consts.get(b) == 0.0:
            return a
        one, other = self.tape.code(a), self.tape.code(b)
        if other == _NEGATIVE:
            return self.subtract(a, self.tape.operand(b))
        if one == _NEGATIVE:
            return self.subtract(b, self.tape.operand(a))
        if one == _MULTIPLY and other == _MULTIPLY:
            p = self._scale(a)
            if p != 1.0 and p == self._scale(b):
                return self.multiply(self.number(p), self.add(self._unscaled(a), self._unscaled(b)))
        return self.two(_ADD, a, b) if a <= b else self.two(_ADD, b, a)

    def subtract(self, a: int, b: int) -> int:
        """Return a - b."""
        if b == _ZERO or self.consts.get(b) == 0.0:
            return a
        if a == _ZERO:
            return self.negative(b)
        if self.tape.code(b) == _NEGATIVE:
            return self.add(a, self.tape.operand(b))
        if self._others:
            rest = self._less_a_share(a, b)
            if rest is not None:
                return rest
        if self.tape.code(a) == _MULTIPLY and self.tape.code(b) == _MULTIPLY:
            p = self._scale(a)
            if p != 1.0 and p == self._scale(b):
                return self.multiply(self.number(p), self.subtract(self._unscaled(a), self._unscaled(b)))
        return self.two(_SUBTRACT, a, b)

    def shares(self, parts: Sequence[int]) -> list[int]:
        """Return each part over the sum of all, one of which is 1 or all 0; beside a share is the sum of the others."""
        total = self.emit("maximum", self.real(self.sum(parts)), self.number(1.0))
        found = [self.divide(part, total) for part in parts]
        if len(set(parts)) == len(parts) > 1:
            for i, share in enumerate(found):
                self._others[share] = (*parts[:i], *parts[i + 1 :]), total
        return found

    def _less_a_share(self, a: int, b: int) -> int | None:
        """Return 1 - s, x - x s or x s - x for a share s: 1 - s itself has no digits where s is nearly 1."""
        if b in self._others and self.consts.get(a) == 1.0:
            others, total = self._others[b]
            return self.divide(self.sum(others), total)
        for x, product, sign in ((a, b, 1), (b, a, -1)):
            if self.tape.code(product) == _MULTIPLY:
                p, q = self.tape.args(product)
                for s, factor in ((p, q), (q, p)):
                    if s in self._others and factor == x:
                        left = self.multiply(x, self.subtract(self.number(1.0), s))
                        return left if sign > 0 else self.negative(left)
        return None

    def negative(self, a: int) -> int:
        """Return -a."""
        if a == _ZERO:
            return _ZERO
        code = self.tape.code(a)
        if code == _NEGATIVE:
            return self.tape.operand(a)
        if code == _CONST:
            return self.number(-self.consts[a])
        return self.value(_NEGATIVE, (a,))

    def multiply(self, a: int, b: int) -> int:
        """Return a b; a structural zero stays one, whatever the other is, and a written 0 beside what has a value."""
        if _ZERO in (a, b):
            return _ZERO
        one, other = self.tape.code(a), self.tape.code(b)
        if _CONST in (one, other):
            for x, y in ((a, b), (b, a)):
                c = self.consts.get(x)
                if c is not None:
                    if c == 1.0:
                        return y
                    if c == -1.0:
                        return self.negative(y)
                    d = self.consts.get(y)
                    if d is not None:
                        return self.number(c * d)
                    if c == 0.0 and self._has_value(y):
                        return x
        if one == _NEGATIVE:
            return self.negative(self.multiply(self.tape.operand(a), b))
        if other == _NEGATIVE:
            return self.negative(self.multiply(a, self.tape.operand(b)))
        if _MULTIPLY in (one, other):
            found = self._product(a, b)
            if found is not None:
                return found
        return self.two(_MULTIPLY, a, b) if a <= b else self.two(_MULTIPLY, b, a)

    def _has_value(self, a: int) -> bool:
        """Tell whether a value is a number, in real arithmetic, wherever inputs are finite."""
        tape = self.tape
        seen: set[int] = set()
        todo = [a]
        while todo:
            value = todo.pop()
            if value == _ZERO or value in seen or value in self._with_values:
                continue
            seen.add(value)
            code = tape.code(value)
            if code == _CONST:
                if not math.isfinite(self.consts[value]):
                    return False
            elif code in _TOTAL:
                todo += tape.args(value)
            elif code != _LOAD:
                return False
        self._with_values |= seen
        return True

    def _product(self, a: int, b: int) -> int | None:
        """Return a product of which a power of two moves outwards, or where equal roots meet; None for others."""
        p, q = self._scale(a), self._scale(b)
        if p != 1.0 or q != 1.0:
            x, y = self._unscaled(a), self._unscaled(b)
            for c, scale, rest in ((a, q, y), (b, p, x)):
                if c in self.consts and abs(math.frexp(self.consts[c])[1]) < _ROOM:
                    return self.multiply(self.number(scale * self.consts[c]), rest)
            if a not in self.consts and b not in self.consts:
                return self.multiply(self.number(p * q), self.multiply(x, y))
        tape = self.tape
        for root, square in ((a, b), (b, a)):
            if tape.code(root) == _SQRT and tape.code(square) == _MULTIPLY and tape.args(square) == (root, root):
                return self.multiply(tape.operand(root), root)
        return None

    def divide(self, a: int, b: int) -> int:
        """Return a / b."""
        if a == _ZERO:
            return _ZERO
        b = self.real(b)
        tape = self.tape
        if self.consts.get(b) == 1.0:
            return a
        if tape.code(a) == _NEGATIVE:
            return self.negative(self.divide(tape.operand(a), b))
        if tape.code(b) == _NEGATIVE:
            return self.negative(self.divide(a, tape.operand(b)))
        divisor = self.consts.get(b, math.nan)
        mantissa, exponent = math.frexp(divisor)
        if abs(mantissa) == 0.5 and abs(exponent) < _EXACT:
            return self.multiply(a, self.number(1.0 / divisor))
        p, q = self._scale(a), self._scale(b)
        if p != 1.0 or q != 1.0:
            return self.multiply(self.number(p / q), self.divide(self._unscaled(a), self._unscaled(b)))
        c = self.consts.get(a, 0.0)
        if c and math.isfinite(c):
            return self._constant_quotient(a, c, b)
        if tape.code(b) == _SQRT:
            factor = self._factor(a)
            if factor != _NONE and not is_ordinary(self.consts[factor]):
                return self.two(_DIVIDE, a, b)  # without it, the rest might vanish
            inner = a if factor == _NONE else self._beside(a, factor)
            if tape.code(inner) == _DIVIDE and tape.operand(inner, 1) == b and self._holds(tape.operand(inner), b):
                # y / r / r / r with r = sqrt(s) as y / r / s: one division less; where s < 0 both are NaN
                quotient = self.divide(tape.operand(inner), tape.operand(b))
                return quotient if factor == _NONE else self.multiply(factor, quotient)
        return self.two(_DIVIDE, a, b)

    def _constant_quotient(self, a: int, c: float, b: int) -> int:
        """Return c / b; quotients whose numerators differ by a power of two share one division."""
        exponent = math.frexp(c)[1]
        scale = 2.0**exponent if abs(exponent) < _EXACT else 1.0
        first, other = self._quotients.setdefault((c / scale, b), (a, scale))
        quotient = self.two(_DIVIDE, first, b)
        return quotient if first == a else self.multiply(self.number(scale / other), quotient)

    def _scale(self, a: int) -> float:
        """Return the power of two that a product holds as a number, else 1: products with it are exact."""
        c = self._factor(a)
        if c == _NONE:
            return 1.0
        number = self.consts[c]
        mantissa, exponent = math.frexp(number)
        return number if mantissa == 0.5 and abs(exponent) < _EXACT else 1.0

    def _unscaled(self, a: int) -> int:
        """Return what :meth:`_scale` of a product is multiplied by, the whole where that is 1."""
        return a if self._scale(a) == 1.0 else self._beside(a, self._factor(a))

    def _factor(self, a: int) -> int:
        """Return the factor of a product that is a number, ``_NONE`` where there is none."""
        tape = self.tape
        if tape.code(a) == _MULTIPLY:
            p, q = tape.operand(a), tape.operand(a, 1)
            if tape.code(p) == _CONST:
                return p
            if tape.code(q) == _CONST:
                return q
        return _NONE

    def _beside(self, a: int, factor: int) -> int:
        """Return the other factor of a product."""
        p = self.tape.operand(a)
        return self.tape.operand(a, 1) if p == factor else p

    def _holds(self, a: int, root: int) -> bool:
        """Tell whether a root is a factor or a divisor of ``a``, as far as a short look goes."""
        for _ in range(_LOOK):
            factor = self._factor(a)
            if factor != _NONE:
                a = self._beside(a, factor)
            if self.tape.code(a) != _DIVIDE:
                return a == root
            a, divisor = self.tape.args(a)
            if divisor == root:
                return True
        return False

    def where(self, c: int, a: int, b: int) -> int:
        """Return a where the condition c holds and b elsewhere."""
        if a == b:
            return a
        return self.emit("where", c, self.real(a), self.real(b))

    def power(self, x: int, y: int) -> int:
        """Return x**y: products for small whole exponents, roots for halves."""
        n = self.consts.get(y) if y != _ZERO else 0.0
        if n is None or x == _ZERO:
            return self.emit("power", self.real(x), self.real(y))
        if n == 0.0:
            return self.number(1.0)  # of nan, too
        if n.is_integer() and 0 < abs(n) <= 64:
            body = self._whole_power(x, int(abs(n)))
            return body if n > 0 else self.divide(self.number(1.0), body)
        if n == 0.5:
            return self.value(_SQRT, (x,))
        if n == -0.5:
            # the power of -0 is inf, as that of 0; the root would keep the sign
            return self.divide(self.number(1.0), self.value(_SQRT, (self.emit("add", x, self.number(0.0)),)))
        if n == 1.5:
            return self.multiply(x, self.value(_SQRT, (x,)))
        return self.emit("power", x, y)

    def _whole_power(self, x: int, n: int) -> int:
        if n >= 3 and self.tape.code(x) == _SQRT:
            rest = 2 - n % 2  # one root at least stays: NaN where there is no root
            return self.multiply(self._whole_power(self.tape.operand(x), (n - rest) // 2), self._whole_power(x, rest))
        result: int | None = None
        while n:
            if n & 1:
                result = x if result is None else self.multiply(result, x)
            n >>= 1
            if n:
                x = self.multiply(x, x)
        assert result is not None
        return result

    def sum(self, terms: Iterable[int]) -> int:
        """Return the sum, from the left."""
        total = _ZERO
        for term in terms:
            total = self.add(total, term)
        return total

    def dot(self, a: Iterable[int], b: Iterable[int]) -> int:
        """Return the sum of products, from the left."""
        return self.sum(self.multiply(p, q) for p, q in zip(a, b, strict=True))

    def check(self, value: int, message: str) -> None:
        """Require a value to be nonzero when the program runs."""
        entry = (self.real(value), message)
        if entry not in self.checks:
            self.checks.append(entry)

    def finish(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...], stores: list[list[int]]) -> Program:
        """Keep what the outputs need, each value as late as the first use asks for it."""
        checks = self.checks
        self.tape.close()
        tape, place = self.tape.ordered(array("i", itertools.chain((v for v, _ in checks), *stores)))
        return Program(
            inputs=inputs,
            outputs=outputs,
            ops=Operations(tape),
            args=Operands(tape),
            consts={place[v]: c for v, c in self.consts.items() if place[v] >= 0},
            stores=tuple(tuple([place[v] for v in store]) for store in stores),
            checks=tuple((place[v], message) for v, message in checks),
            wide=self.wide,
        )
