"""Programs under construction: value numbering, exact identities, dead code elimination."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UnsupportedError
from ..graph import Node
from ..graph.sizes import Shape, fixed, show
from ..ground.budget import spend
from .program import MASK_OPS, Port, Program

Ids: TypeAlias = npt.NDArray[np.int64]

#: Powers of two up to this exponent are factored out of quotients, well inside a double's range.
_EXACT = 64
#: Numbers up to this exponent may be multiplied by such a power of two and stay a double's.
_ROOM = 900
#: How many factors of a quotient are looked through for a root.
_LOOK = 4
#: Functions of which f(-x) = f(x), and those of which f(-x) = -f(x), in the libraries' bits as well.
_EVEN = frozenset(("abs", "cos", "cosh"))
_ODD = frozenset(("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "erf", "cbrt"))
#: Elements of all arrays, structural zeros included, for each operation of the limit.
_PLACES = 100
#: Nodes of numbers that are charged together.
_TOGETHER = 100
_NONE: dict[tuple[int, ...], int] = {}
#: The value number of a structural zero: known to be 0 whatever the inputs are.
ZERO = -1


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
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.consts: dict[int, float] = {}
        self.checks: list[tuple[int, str]] = []
        self.wide = False
        self._numbers: dict[tuple[float, float] | str, int] = {}
        #: For each operation the values that are there, by their operands.
        self._known: dict[str, dict[tuple[int, ...], int]] = {}
        self._quotients: dict[tuple[float, int], tuple[int, float]] = {}
        self._others: dict[int, tuple[tuple[int, ...], int]] = {}

    def reserve(self, node: Node) -> None:
        """Refuse a formula before it grows beyond the limit, and charge what has been made."""
        spend(1 + self.uncharged + len(self.ops) - self.charged)
        self.charged, self.uncharged = len(self.ops), 0
        self.places += math.prod(fixed_shape(node.shape))
        if len(self.ops) > self.limit or self.places > _PLACES * self.limit:
            raise self.too_long()

    def expect(self, count: float) -> None:
        """Refuse operations within one node before they are made."""
        if len(self.ops) + count > self.most:
            raise self.too_long()

    def charge(self) -> None:
        """Charge what a number has made, many at once, and refuse a program that is too long."""
        made = len(self.ops)
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
            found = self._numbers[key] = len(self.ops)
            self.ops.append("const")
            self.args.append(())
            self.consts[found] = value
        return found

    def real(self, value: int) -> int:
        """Return a value number that can be stored: a structural zero becomes the number 0."""
        return self.number(0.0) if value == ZERO else value

    def stored(self, value: int) -> int:
        """Return a value number for an output: a condition becomes 1.0 or 0.0."""
        value = self.real(value)
        return self.emit("to_real", value) if self.ops[value] in MASK_OPS else value

    def call(self, op: str, *args: int) -> int:
        """Return a function's value; an even or odd one of b - a is that of a - b, where this is computed already."""
        if op in _EVEN or op in _ODD:
            (x,) = args
            if self.ops[x] == "subtract":
                a, b = self.args[x]
                turned = self._known["subtract"].get((b, a))
                other = None if turned is None else self._known.get(op, _NONE).get((turned,))
                if other is not None:
                    # 0 - f, and not -f: where a = b all differences are 0, and so is the function of each
                    return other if op in _EVEN else self.emit("subtract", self.number(0.0), other)
        return self.emit(op, *args)

    def emit(self, op: str, *args: int) -> int:
        """Return the value number of an operation on earlier values."""
        return self.value(op, args)

    def value(self, op: str, args: tuple[int, ...]) -> int:
        """Return the value number of an operation on earlier values, given together."""
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = {}
        found = known.get(args)
        if found is None:
            made = len(self.ops)
            if made > self.most:
                raise self.too_long()
            found = known[args] = made
            self.ops.append(op)
            self.args.append(args)
        return found

    # structural zeros, ones, signs and powers of two: exact identities, and the pairs of equal roots

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        if a == ZERO:
            return b
        if b == ZERO:
            return a
        one, other = self.ops[a], self.ops[b]
        if other == "negative":
            return self.subtract(a, self.args[b][0])
        if one == "negative":
            return self.subtract(b, self.args[a][0])
        if one == other == "multiply":
            (x, p), (y, q) = self._scaled(a), self._scaled(b)
            if p == q != 1.0:
                return self.multiply(self.number(p), self.add(x, y))
        return self.value("add", (a, b)) if a <= b else self.value("add", (b, a))

    def subtract(self, a: int, b: int) -> int:
        """Return a - b."""
        if b == ZERO:
            return a
        if a == ZERO:
            return self.negative(b)
        if self.ops[b] == "negative":
            return self.add(a, self.args[b][0])
        if self._others:
            rest = self._less_a_share(a, b)
            if rest is not None:
                return rest
        if self.ops[a] == self.ops[b] == "multiply":
            (x, p), (y, q) = self._scaled(a), self._scaled(b)
            if p == q != 1.0:
                return self.multiply(self.number(p), self.subtract(x, y))
        return self.value("subtract", (a, b))

    def shares(self, parts: Sequence[int]) -> list[int]:
        """Return each part over the sum of all; what is left beside a share will be the sum of the others."""
        total = self.sum(parts)
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
            if self.ops[product] == "multiply":
                for s, factor in (self.args[product], self.args[product][::-1]):
                    if s in self._others and factor == x:
                        left = self.multiply(x, self.subtract(self.number(1.0), s))
                        return left if sign > 0 else self.negative(left)
        return None

    def negative(self, a: int) -> int:
        """Return -a."""
        if a == ZERO:
            return ZERO
        op = self.ops[a]
        if op == "negative":
            return self.args[a][0]
        if op == "const":
            return self.number(-self.consts[a])
        return self.value("negative", (a,))

    def multiply(self, a: int, b: int) -> int:
        """Return a b; a structural zero stays one, whatever the other is."""
        if ZERO in (a, b):
            return ZERO
        consts = self.consts
        if a in consts or b in consts:
            for x, y in ((a, b), (b, a)):
                c = consts.get(x)
                if c is not None:
                    if c == 1.0:
                        return y
                    if c == -1.0:
                        return self.negative(y)
                    d = consts.get(y)
                    if d is not None:
                        return self.number(c * d)
        one, other = self.ops[a], self.ops[b]
        if one == "negative":
            return self.negative(self.multiply(self.args[a][0], b))
        if other == "negative":
            return self.negative(self.multiply(a, self.args[b][0]))
        if one != "multiply" and other != "multiply":
            return self.value("multiply", (a, b)) if a <= b else self.value("multiply", (b, a))
        (x, p), (y, q) = self._scaled(a), self._scaled(b)
        if p != 1.0 or q != 1.0:
            for c, scale, rest in ((a, q, y), (b, p, x)):
                if c in self.consts and abs(math.frexp(self.consts[c])[1]) < _ROOM:
                    return self.multiply(self.number(scale * self.consts[c]), rest)
            if a not in self.consts and b not in self.consts:
                return self.multiply(self.number(p * q), self.multiply(x, y))
        for root, square in ((a, b), (b, a)):
            if self.ops[root] == "sqrt" and self.ops[square] == "multiply" and self.args[square] == (root, root):
                return self.multiply(self.args[root][0], root)
        return self.value("multiply", (a, b)) if a <= b else self.value("multiply", (b, a))

    def divide(self, a: int, b: int) -> int:
        """Return a / b."""
        if a == ZERO:
            return ZERO
        b = self.real(b)
        if self.consts.get(b) == 1.0:
            return a
        if self.ops[a] == "negative":
            return self.negative(self.divide(self.args[a][0], b))
        if self.ops[b] == "negative":
            return self.negative(self.divide(a, self.args[b][0]))
        divisor = self.consts.get(b, math.nan)
        mantissa, exponent = math.frexp(divisor)
        if abs(mantissa) == 0.5 and abs(exponent) < _EXACT:
            return self.multiply(a, self.number(1.0 / divisor))
        (x, p), (y, q) = self._scaled(a), self._scaled(b)
        if p != 1.0 or q != 1.0:
            return self.multiply(self.number(p / q), self.divide(x, y))
        c = self.consts.get(a, 0.0)
        if c and math.isfinite(c):
            return self._constant_quotient(a, c, b)
        if self.ops[b] == "sqrt":
            factor, inner = self._factored(a)
            if self.ops[inner] == "divide" and self.args[inner][1] == b and self._holds(self.args[inner][0], b):
                # y / r / r / r with r = sqrt(s) as y / r / s: one division less; where s < 0 both are NaN
                quotient = self.divide(self.args[inner][0], self.args[b][0])
                return quotient if factor is None else self.multiply(factor, quotient)
        return self.value("divide", (a, b))

    def _constant_quotient(self, a: int, c: float, b: int) -> int:
        """Return c / b; quotients whose numerators differ by a power of two share one division."""
        exponent = math.frexp(c)[1]
        scale = 2.0**exponent if abs(exponent) < _EXACT else 1.0
        first, other = self._quotients.setdefault((c / scale, b), (a, scale))
        quotient = self.value("divide", (first, b))
        return quotient if first == a else self.multiply(self.number(scale / other), quotient)

    def _scaled(self, a: int) -> tuple[int, float]:
        """Return (x, p) with a = p x and p a power of two: products with p are exact, so p moves outwards."""
        c, x = self._factored(a)
        if c is not None:
            mantissa, exponent = math.frexp(self.consts[c])
            if mantissa == 0.5 and abs(exponent) < _EXACT:
                return x, self.consts[c]
        return a, 1.0

    def _factored(self, a: int) -> tuple[int | None, int]:
        """Return (c, x) with a = c x and c a constant; None for c where there is none."""
        if self.ops[a] == "multiply":
            for c, x in (self.args[a], self.args[a][::-1]):
                if c in self.consts:
                    return c, x
        return None, a

    def _holds(self, a: int, root: int) -> bool:
        """Tell whether a root is a factor or a divisor of ``a``, as far as a short look goes."""
        for _ in range(_LOOK):
            _, a = self._factored(a)
            if self.ops[a] != "divide":
                return a == root
            a, divisor = self.args[a]
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
        n = self.consts.get(y) if y != ZERO else 0.0
        if n is None or x == ZERO:
            return self.emit("power", self.real(x), self.real(y))
        if n == 0.0:
            return self.number(1.0)  # of nan, too
        if n.is_integer() and 0 < abs(n) <= 64:
            body = self._whole_power(x, int(abs(n)))
            return body if n > 0 else self.divide(self.number(1.0), body)
        if n == 0.5:
            return self.value("sqrt", (x,))
        if n == -0.5:
            return self.divide(self.number(1.0), self.value("sqrt", (x,)))
        if n == 1.5:
            return self.multiply(x, self.value("sqrt", (x,)))
        return self.value("power", (x, y))

    def _whole_power(self, x: int, n: int) -> int:
        if n >= 3 and self.ops[x] == "sqrt":
            rest = 2 - n % 2  # one root at least stays: NaN where there is no root
            return self.multiply(self._whole_power(self.args[x][0], (n - rest) // 2), self._whole_power(x, rest))
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
        total = ZERO
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
        self._known.clear()  # nothing is emitted any more
        order: list[int] = []
        place = [-1] * len(self.ops)
        args = self.args
        ops = self.ops
        for root in itertools.chain((v for v, _ in checks), *stores):
            if place[root] >= 0:
                continue
            stack = [root]
            while stack:
                value = stack.pop()
                if value < 0:  # its operands are there
                    value = ~value
                    if place[value] < 0:
                        place[value] = len(order)
                        order.append(value)
                elif place[value] < 0:
                    stack.append(~value)
                    if ops[value] != "load":
                        stack += [a for a in args[value][::-1] if place[a] < 0]
        return Program(
            inputs=inputs,
            outputs=outputs,
            ops=tuple([ops[v] for v in order]),
            args=tuple([args[v] if ops[v] == "load" else tuple([place[a] for a in args[v]]) for v in order]),
            consts={place[v]: c for v, c in self.consts.items() if place[v] >= 0},
            stores=tuple(tuple([place[v] for v in store]) for store in stores),
            checks=tuple((place[v], message) for v, message in checks),
            wide=self.wide,
        )
