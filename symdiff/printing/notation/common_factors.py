"""Signs, numbers and matrices that the terms of a derivative have in common, moved to where a book has them.

Products of matrices and vectors are words: what they multiply from left to right, and the scalars in front. Two terms
of a sum have a factor in common where their words begin, or end, with the same letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from .named_forms import holds_turn, is_identity
from .numbers import exact_product, exchanged, without_common_number
from .reader import Reader, ReadingRules
from .terms import CHAIN, SHORT, Term, postorder, transpose

#: Most factors of a product that are looked into.
_MOST_TERMS = 16


class Scaled(NamedTuple):
    """A product with arrays: its sign, its scalars, its scalar divisors, and the product of the arrays."""

    minus: bool
    over: list[Term]
    under: list[Term]
    core: Term


def split_scalars(reader: Reader, term: Term) -> Scaled:
    """Return a product with its scalars apart; of anything else the sign at most."""
    negative, core = term.signed
    if core.kind != "product" or len(core.args) > _MOST_TERMS:
        return Scaled(negative, [], [], core)
    over, under = core.factors
    arrays = [arg for arg in over if arg.ndim]
    scalars = [arg for arg in over if not arg.ndim]
    if any(arg.ndim for arg in under) or not all(arg.shape == core.shape for arg in arrays) or not arrays:
        return Scaled(negative, [], [], core)
    if len(arrays) > 1 and not scalars and not under:
        return Scaled(negative, [], [], core)
    return Scaled(negative, scalars, under, reader.product(arrays, [], core.shape))


class MatrixFactor(NamedTuple):
    """A factor of a product that does not commute: a matrix, a column, a row, or a vector on the diagonal."""

    kind: str
    of: Term

    def alike(self) -> Hashable:
        """Return what is the same for a difference and its negative."""
        return self.kind, without_sign(self.of)


def without_sign(x: Term) -> Hashable:
    """Return the same for a difference and its negative."""
    if x.kind == "sum" and x.data == (False, True):
        return frozenset(x.args)
    if x.kind in ("columns", "rows"):
        return x.kind, *map(without_sign, x.args)
    return x


#: Kinds of arrays by their axes, and of vectors turned over.
_KINDS, _TURNED = {1: "column", 2: "matrix"}, {"column": "row", "row": "column"}


def letters(reader: Reader, x: Term) -> list[MatrixFactor]:
    """Return a vector or a matrix as a product from left to right."""
    if x.kind == "matmul" and all(arg.ndim <= 2 for arg in x.args) and x.args[0].ndim == 2:
        return [
            letter
            for arg in x.args
            for letter in (letters(reader, arg) if arg.kind == "matmul" else [MatrixFactor(_KINDS[arg.ndim], arg)])
        ]
    if x.kind == "outer":
        return [*letters(reader, x.args[0]), *_turned(reader, letters(reader, x.args[1]))]
    if x.kind == "rows":
        return [MatrixFactor("diag", x.args[0]), *letters(reader, x.args[1])]
    if x.kind == "columns":
        return [*letters(reader, x.args[0]), MatrixFactor("diag", x.args[1])]
    if x.kind == "diag":
        return [MatrixFactor("diag", x.args[0])]
    return [MatrixFactor(_KINDS[x.ndim], x)]


def _turned(reader: Reader, word: Sequence[MatrixFactor]) -> list[MatrixFactor]:
    """Return the transpose of a product."""
    turned = [(_TURNED.get(kind, kind), turned_over(reader, of) if of.ndim == 2 else of) for kind, of in word[::-1]]
    return [MatrixFactor(*factor) for factor in turned]


def joined(reader: Reader, word: Sequence[MatrixFactor]) -> MatrixFactor:
    """Return a product as one letter."""
    *front, last = word
    if not front:
        return last
    row = next((k for k, letter in enumerate(word) if letter.kind == "row"), None)
    if row is not None:
        _, right = joined(reader, _turned(reader, word[row:]))
        if row == 0:
            return MatrixFactor("row", right)
        _, left = joined(reader, word[:row])
        return MatrixFactor("matrix", reader.make("outer", (left, right), None, left.shape + right.shape))
    first, *rest = word
    if last.kind == "diag" or first.kind == "diag":
        kind, of = joined(reader, front if last.kind == "diag" else rest)
        v = last.of if last.kind == "diag" else first.of
        if kind != "matrix":
            return MatrixFactor(kind, reader.product([of, v] if last.kind == "diag" else [v, of], [], v.shape))
        if last.kind == "diag":
            return MatrixFactor("matrix", reader.make("columns", (of, v), None, of.shape))
        return MatrixFactor("matrix", reader.make("rows", (v, of), None, of.shape))
    place = next((k for k, letter in enumerate(word) if letter.kind == "diag"), None)
    if place is not None:
        word = [joined(reader, word[: place + 1]), joined(reader, word[place + 1 :])]
    return MatrixFactor(last.kind, reader.chain([letter.of for letter in word]))


def turned_over(reader: Reader, matrix: Term) -> Term:
    """Return the transpose; A + Aᵀ is its own."""
    if matrix.kind == "sum" and matrix.data == (False, False) and count_transposes(matrix) is not None:
        a, b = matrix.args
        if a.shape == b.shape == matrix.shape and turned_over(reader, a) is b:
            return matrix
    return transpose(matrix, make=reader.make)


def count_transposes(x: Term, levels: int = 3) -> int | None:
    """Return how many signs of transposes a sum, or a product, of matrices has; None where there is much below it."""
    if x.kind not in ("matmul", "sum", "negative"):
        return int(x.kind == "transpose")
    counts = [count_transposes(arg, levels - 1) for arg in x.args] if levels and len(x.args) <= _MOST_TERMS else [None]
    return None if None in counts else sum(count or 0 for count in counts)


RULES = ReadingRules()

_MOST = 16  # terms of a sum that are looked into
_SEARCHED = 200  # terms that a sum is looked for among
#: Numbers made of arrays, of which quotients get a name.
_QUOTIENTS = ("dot", "total", "trace", "matrix", "sum")


@RULES.of("matmul", "outer", "pad", "roll", "shift", "take", "diag", "transpose", "index", "rows", "columns",
          "cumulative")
def _scalars_in_front(reader: Reader, term: Term) -> Term | None:
    """Write signs and scalars in front of a linear operation."""
    if term.kind == "cumulative" and term.data[0] != "cumsum":
        return None
    parts = [split_scalars(reader, arg) for arg in term.args]
    if all(part.core is arg for part, arg in zip(parts, term.args, strict=True)):
        return None
    over = [scalar for _, scalars, _, _ in parts for scalar in scalars]
    under = [divisor for _, _, divisors, _ in parts for divisor in divisors]
    arrays = [array for _, _, _, array in parts]
    inner = reader.chain(arrays) if term.kind == "matmul" else reader.make(term.kind, arrays, term.data, term.shape)
    minus, scalars, divisors, core = split_scalars(reader, inner)
    result = reader.product([*over, *scalars, core], [*under, *divisors], term.shape)
    return reader.negative(result) if sum(negative for negative, *_ in parts) % 2 != minus else result


@RULES.of("negative")
def _sign_inside(reader: Reader, term: Term) -> Term | None:
    """Write a sign as that of the other difference: -(a - b) is b - a, -((y - 1) / p + y / q) is (1 - y) / p - y / q.

    In a product of numbers the difference is one from a number or a function; x - m stays as it is, but as a divisor.
    """
    (whole,) = term.args
    x = whole.args[0] if whole.kind == "diag" else whole
    if x.kind == "negative" and x is whole:
        return x.args[0]
    if x.kind in ("product", "matmul", "total"):
        ways = (_is_of_function, lambda _, below: below) if x.kind == "product" else (lambda *_: True,)
        found = next((other for fits in ways if (other := _other_way(reader, x, fits)) is not None), None)
        return found if found is None or x is whole else reader.make("diag", (found,), whole.data, whole.shape)
    if x.kind != "sum":
        return None
    parts = [(arg, not minus) for arg, minus in x.pairs]
    for k, (part, kept) in enumerate(parts if len(parts) <= _MOST else ()):
        turned = _other_way(reader, part, _is_less_number) if kept and part.kind == "product" else None
        if turned is not None:
            total = reader.sum([(turned, False), *parts[:k], *parts[k + 1 :]], x.shape)
            return total if x is whole else reader.make("diag", (total,), whole.data, whole.shape)
    # the halves of a cross product meet by their signs
    if x is not whole or not any(x.data) or any(map(holds_turn, x.args)):
        return None
    return reader.sum(parts, x.shape)


def _is_of_function(gap: Term, below: bool) -> bool:
    return not below and any(arg.kind in ("call", "number") for arg in gap.args)


def _is_less_number(gap: Term, below: bool) -> bool:
    return not below and gap.args[1].kind == "number"


def _other_way(reader: Reader, x: Term, fits: Callable[[Term, bool], bool]) -> Term | None:
    """Return a term with the first difference among its arguments that fits the other way round; None without one."""
    below = x.data if x.kind == "product" else (False,) * len(x.args)
    for k, (arg, divides) in enumerate(zip(x.args, below, strict=True)):
        if arg.kind == "sum" and arg.data == (False, True) and fits(arg, divides):
            other = reader.sum([(arg.args[1], False), (arg.args[0], True)], arg.shape)
            args = [*x.args[:k], other, *x.args[k + 1 :]]
            return reader.chain(args) if x.kind == "matmul" else reader.make(x.kind, args, x.data, x.shape)
    return None


@RULES.of("matmul")
def _without_identity(reader: Reader, term: Term) -> Term | None:
    """Leave an identity out of a product."""
    kept = [factor for factor in term.args if not is_identity(factor)]
    return reader.chain(kept or term.args[:1]) if len(kept) < len(term.args) else None


@RULES.of("matmul")
def _flat_chain(reader: Reader, term: Term) -> Term | None:
    """Write a product of matrices and a vector behind matrices without brackets."""
    *front, last = term.args
    if last.kind != "matmul" or last.ndim != 1 or any(arg.ndim != 2 for arg in (*front, *last.args[:-1])):
        return None
    return reader.chain(term.args) if len(term.args) + len(last.args) <= CHAIN else None


@RULES.of("transpose")
def _transposed_inside(reader: Reader, term: Term) -> Term | None:
    """Write the transpose of a product, or of a sum, without a sign of its own where there are fewer of them then."""
    (x,) = term.args
    before = count_transposes(x)
    if before is None or (x.kind != "matmul" and (x.kind != "sum" or any(part.shape != x.shape for part in x.args))):
        return None
    if x.kind == "matmul":
        found = reader.chain([turned_over(reader, factor) for factor in x.args[::-1]])
    else:
        parts = [turned_over(reader, part) for part in x.args]
        found = reader.sum(list(zip(parts, x.data, strict=True)), term.shape)
    after = count_transposes(found)
    return found if after is not None and after <= before else None


@RULES.of("inv")
def _transposed_inverse(reader: Reader, term: Term) -> Term | None:
    """Write the inverse of a transpose as the transpose of an inverse, as other inverses are."""
    (x,) = term.args
    return turned_over(reader, reader.make("inv", x.args, None, term.shape)) if x.kind == "transpose" else None


@RULES.of("product")
def _flat(reader: Reader, term: Term) -> Term | None:
    """Write a product among the factors as part of the product, and the sign in front."""
    if not any(arg.kind in ("negative", "product") for arg in term.args):
        return None
    over: list[Term] = []
    under: list[Term] = []
    minus = changed = False
    for arg, divides in term.pairs:
        negative, inner = arg.signed
        minus, changed = minus != negative, changed or negative
        if inner.kind == "product" and len(inner.args) <= SHORT:
            changed = True
            for factor, own in inner.pairs:
                (under if own != divides else over).append(factor)
        else:
            (under if divides else over).append(inner)
    if not changed:
        return None
    numbers = [factor.data for factor in over if factor.kind == "number"]
    total = exact_product(numbers)
    if total is not None and (len(numbers) > 1 or (numbers and over[0].kind != "number")):
        over = [factor for factor in over if factor.kind != "number"]
        over = over if total == 1 and over else [reader.number(total), *over]
    result = reader.product(over, under, term.shape)
    return reader.negative(result) if minus else result


@RULES.of("product")
def _quotient(reader: Reader, term: Term) -> Term | None:
    """Name the quotient q in the derivative of a quotient, (f' - q g') / g for q = f / g."""
    over, under = term.factors
    for divisor in under:
        for place, arg in enumerate(over):
            if divisor.ndim or divisor.kind not in _QUOTIENTS or arg.kind != "sum":
                continue
            parts = [_with_quotient(reader, part, divisor) for part in arg.args]
            if any(part is not old for part, old in zip(parts, arg.args, strict=True)):
                parts = [_quotients_inside(reader, part, divisor) for part in parts]
                whole = reader.sum(list(zip(parts, arg.data, strict=True)), arg.shape)
                return reader.product([*over[:place], whole, *over[place + 1 :]], under, term.shape)
    return None


def _quotients_inside(reader: Reader, term: Term, divisor: Term, levels: int = 4) -> Term:
    """Name the quotient in sums among the factors of a term, too."""
    if levels == 0 or term.kind not in ("sum", "product", "outer", "negative", "matmul"):
        return term
    args = [_with_quotient(reader, arg, divisor) for arg in term.args] if term.kind == "sum" else list(term.args)
    args = [_quotients_inside(reader, arg, divisor, levels - 1) for arg in args]
    changed = any(new is not old for new, old in zip(args, term.args, strict=True))
    return reader.make(term.kind, args, term.data, term.shape) if changed else term


def _with_quotient(reader: Reader, part: Term, divisor: Term) -> Term:
    negative, core = part.signed
    if core.kind != "product" or not core.ndim:
        return part
    over, under = core.factors
    tops = [arg for arg in over if not arg.ndim and arg.kind in _QUOTIENTS]
    if under.count(divisor) != 1 or len(tops) != 1:
        return part
    quotient = reader.make("part", (reader.product(tops, [divisor], ()),), "q", ())
    over = [quotient if arg is tops[0] else arg for arg in over]
    result = reader.product(over, [arg for arg in under if arg is not divisor], core.shape)
    return reader.negative(result) if negative else result


def by_quotients(roots: Sequence[Term], quotients: Sequence[Term]) -> list[Term]:
    """Write products that hold what a quotient is made of by the quotient: x / (k**2 (1 - exp(q))) for q = x / k."""
    reader = Reader(())
    made: dict[int, Term] = {}
    for term in postorder([*quotients, *roots]):
        made[id(term)] = reader.make(
            term.kind, [made[id(arg)] for arg in term.args], term.data, term.shape, term.even)
        for quotient in quotients if term.kind == "product" else ():
            whole, part = made[id(term)], made.get(id(quotient))
            if whole.kind == "product" and part is not None and part.kind == "product" and whole is not part:
                made[id(term)] = _by_quotient(reader, whole, part)
    return [made[id(root)] for root in roots]


def _by_quotient(reader: Reader, whole: Term, part: Term) -> Term:
    """Write a product by a quotient, as often as its factors and divisors are among those of the product."""
    powers, inside = _powers(whole), _powers(part)
    often = min((max(0, powers.get(base, 0) * n) // n**2 for base, n in inside.items()), default=0)
    if not often:
        return whole
    sides: tuple[list[Term], list[Term]] = ([_raised(reader, part, often)], [])
    for base, n in powers.items():
        left = n - often * inside.get(base, 0)
        if left:
            sides[left < 0].append(_raised(reader, base, abs(left)))
    return reader.product(*sides, whole.shape)


def _powers(term: Term) -> dict[Term, int]:
    """Return the factors of a product with how often each stands there, below 0 for a divisor."""
    found: dict[Term, int] = {}
    for arg, divides in term.pairs:
        n = arg.args[1].data if arg.kind == "power" and arg.args[1].kind == "number" else 1.0
        base, n = (arg.args[0], n) if n.is_integer() and 1.0 < n <= SHORT else (arg, 1.0)
        found[base] = found.get(base, 0) + int(-n if divides else n)
    return {base: n for base, n in found.items() if n}


def _raised(reader: Reader, base: Term, n: int) -> Term:
    return base if n == 1 else reader.make("power", (base, reader.number(float(n))), None, base.shape)


@RULES.of("sum")
def _signs(reader: Reader, term: Term) -> Term | None:
    """Write the signs of terms as those of the sum, and a sum among the terms as part of it."""
    parts: list[tuple[Term, bool]] = []
    for arg, own in term.pairs:
        negative, inner = arg.signed
        minus = own != negative
        flat = inner.kind == "sum" and len(inner.args) <= SHORT and inner.shape == term.shape
        if flat and not _is_repeated(inner, term):
            parts += [(each, minus != sign) for each, sign in inner.pairs]
        else:
            parts.append((inner, minus))
    if parts == term.pairs:
        return None
    return reader.sum(parts, term.shape)


def _is_repeated(inner: Term, term: Term) -> bool:
    """Tell whether a sum that gets a name stands in another term of a sum, too."""
    if len(inner.args) == 2 and inner.args[1].kind != "reduce":
        return False
    return any(arg is not inner and _holds(arg, inner) for arg in term.args)


def _holds(whole: Term, part: Term) -> bool:
    """Tell whether a term stands in another, within so many parts of that: in a chain each holds all before it."""
    seen, waiting = {id(whole)}, [whole]
    for term in waiting:  # grows meanwhile
        if term is part:
            return True
        for arg in term.args if len(waiting) < _SEARCHED else ():
            if id(arg) not in seen:
                seen.add(id(arg))
                waiting.append(arg)
    return False


@RULES.of("sum")
def _same_terms(reader: Reader, term: Term) -> Term | None:
    """Write a term that is added to itself with a number in front."""
    parts = term.pairs
    if len(parts) > _MOST or len(set(parts)) == len(parts):
        return None
    made = []
    for (arg, minus), times in Counter(parts).items():
        repeated = arg if times == 1 else reader.product([reader.number(float(times)), arg], [], arg.shape)
        made.append((repeated, minus))
    return reader.sum(made, term.shape)


@RULES.of("sum")
def _common_scalars(reader: Reader, term: Term) -> Term | None:
    """Write a scalar that stands in front of every term once, and the sign where all are subtracted."""
    if len(term.args) > _MOST:
        return None
    if all(term.data):
        return reader.negative(reader.sum([(arg, False) for arg in term.args], term.shape))
    return in_front(reader, term, lambda factor: not factor.ndim) if term.ndim else None


def in_front(reader: Reader, term: Term, fits: Callable[[Term], bool]) -> Term | None:
    """Return a sum with the factors that fit, and that all terms have, in front; None where there are none."""
    cores = [arg.signed[1] for arg in term.args]
    factors = [core.factors if core.kind == "product" and len(core.args) <= _MOST else ([core], []) for core in cores]
    over, left = _in_common([top for top, _ in factors], fits)
    under, below = _in_common([bottom for _, bottom in factors], fits)
    shapes = [max((f.shape for f in (*a, *b)), key=len, default=()) for a, b in zip(left, below, strict=True)]
    is_left = all(a or b for a, b in zip(left, below, strict=True))
    if not (over or under) or not is_left or term.shape not in shapes:
        return None
    parts = [
        (reader.product(a or [reader.number(1.0)], b, shape), minus != (arg.kind == "negative"))
        for a, b, shape, arg, minus in zip(left, below, shapes, term.args, term.data, strict=True)
    ]
    return reader.product([*over, reader.sum(parts, term.shape)], under, term.shape)


@RULES.of("product", "outer", "matmul")
def _number_of_sum(reader: Reader, term: Term) -> Term | None:
    """Write a whole number of which all numbers in a sum are multiples in front: (2 A - 4 B) / c is 2 (A - 2 B) / c."""
    for place, arg in enumerate(term.factors[0] if term.kind == "product" else term.args):
        if arg.kind != "sum" or not arg.ndim or len(arg.args) > _MOST:
            continue
        parts = [split_scalars(reader, part) for part in arg.args]
        found = without_common_number([scalars for _, scalars, _, _ in parts])
        if found is None or any(array.shape != arg.shape for *_, array in parts):
            continue
        common, numbers = found
        rests = []
        for value, (negative, scalars, divisors, array), minus in zip(numbers, parts, arg.data, strict=True):
            first = next((factor for factor in scalars if factor.kind == "number"), None)  # of several
            own = [reader.number(value)] if value != 1.0 else []
            own += scalars if first is None else exchanged(scalars, first, [])
            rests.append((reader.product([*own, array], divisors, arg.shape), minus != negative))
        args = [*term.args[:place], reader.sum(rests, arg.shape), *term.args[place + 1 :]]
        rest = reader.chain(args) if term.kind == "matmul" else reader.make(term.kind, args, term.data, term.shape)
        return reader.product([reader.number(common), rest], [], term.shape)
    return None


def _in_common(
    several: Sequence[Sequence[Term]], fits: Callable[[Term], bool] = lambda factor: True
) -> tuple[list[Term], list[list[Term]]]:
    """Return the factors that all products have, as often as each has them, and what is left of each."""
    left = [list(factors) for factors in several]
    common = []
    for factor in several[0]:
        if fits(factor) and all(factor in rest for rest in left):
            common.append(factor)
            for rest in left:
                rest.remove(factor)
    return common, left


# ---------------------------------------------------------------------------- matrices and vectors in common


@RULES.of("sum")
def _common_letters(reader: Reader, term: Term) -> Term | None:
    """Write matrices, or a vector, that products begin or end with once.

    A diag(p) - A p qᵀ is A (diag(p) - p qᵀ), b + A x + Aᵀ x is b + (A + Aᵀ) x, A diag(v) + s A is A diag(v + s 𝟏).
    """
    if term.ndim not in (1, 2) or len(term.args) > _MOST:
        return None
    parts = [split_scalars(reader, arg) for arg in term.args]
    words = [letters(reader, part.core) if part.core.shape == term.shape else [] for part in parts]
    same: list[int] = []
    step = 1
    for way in (1, -1):
        firsts: dict[Hashable, list[int]] = {}
        for k, word in enumerate(words):
            if word and word[::way][0].of.kind not in ("onehot", "take"):  # entries, as those of a cross product
                firsts.setdefault(word[::way][0].alike(), []).append(k)
        for found in (found for group in firsts.values() for found in _worth(group, words, parts, way)):
            if len(found) > len(same):
                same, step = found, way
    if not same:
        return None
    turned_words = {k: words[k][::step] for k in same}
    first = turned_words[min(same, key=lambda k: len(parts[k].over))]
    count = 1
    while all(len(word) > count + 1 and word[count] == first[count] for word in turned_words.values()):
        count += 1
    rests = [joined(reader, word[count:][::step]) if len(word) > count else None for word in turned_words.values()]
    kinds = {rest.kind for rest in rests if rest is not None}
    kind = kinds.pop() if len(kinds) == 1 else "matrix"
    over, left = _in_common([parts[k].over for k in same])
    under, below = _in_common([parts[k].under for k in same])
    inner: list[tuple[Term, bool]] = []
    for k, rest, scalars, divisors in zip(same, rests, left, below, strict=True):
        of = reader.number(1.0) if rest is None else rest.of
        if kind == "matrix" and (rest is None or rest.kind == "diag"):
            size = parts[k].core.shape[0 if step < 0 else -1]
            given: tuple[str, tuple[Term, ...], Any] = ("eye", (), (0, 1)) if rest is None else ("diag", (of,), None)
            of = reader.make(*given, (size, size))
        opposite = turned_words[k][0].of is not first[0].of
        inner.append((reader.product([*scalars, of], divisors, of.shape), (parts[k].minus != term.data[k]) != opposite))
    total = MatrixFactor(kind, reader.sum(inner, max((of.shape for of, _ in inner), key=len)))
    made = joined(reader, [*first[:count], total][::step]).of
    pairs = enumerate(term.pairs)
    new = (reader.product([*over, made], under, term.shape), False)
    return reader.sum([new if k == same[0] else pair for k, pair in pairs if k not in same[1:]], term.shape)


def _worth(
    group: list[int], words: Sequence[Sequence[MatrixFactor]], parts: Sequence[Scaled], step: int
) -> Iterator[list[int]]:
    """Yield those of the products with a first, or last, letter in common that get shorter by writing it once."""
    longer = [k for k in group if len(words[k]) > 1]
    if len(group) < 2 or not longer:
        return
    is_matrix = parts[group[0]].core.ndim == 2
    if all(len(words[k]) == 2 and "diag" in (words[k][0].kind, words[k][1].kind) for k in longer):
        yield group
    if is_matrix and len(group) == len(words) > len(longer) and not any(parts[k].over or parts[k].under for k in group):
        yield group
    alike: dict[Hashable, list[int]] = {}
    for k in longer:  # scalars of a vector go into the vector beside it
        over = () if is_matrix and words[k][::step][0].kind != "matrix" else tuple(parts[k].over)
        alike.setdefault((over, tuple(parts[k].under)), []).append(k)
    yield from (same for same in alike.values() if len(same) > 1)


@RULES.of("rows")
def _diagonal_and_outer(reader: Reader, term: Term) -> Term | None:
    """Write diag(p) (A - 𝟏 (Aᵀ p)ᵀ) as (diag(p) - p pᵀ) A."""
    p, inside = term.args
    if inside.kind == "transpose" and inside.args[0].kind == "sum":
        inside = _transposed_sum(reader, inside.args[0]) or inside
    if inside.kind != "sum" or inside.data != (False, True):
        return None
    matrix, row = inside.args
    if matrix.shape != term.shape or row.ndim != 1 or row.kind != "matmul" or row.args[-1] is not p:
        return None
    if reader.chain([turned_over(reader, matrix), p]) is not row:
        return None
    diagonal = reader.make("diag", (p,), None, p.shape * 2)
    outer = reader.make("outer", (p, p), None, p.shape * 2)
    return reader.chain([reader.sum([(diagonal, False), (outer, True)], diagonal.shape), matrix])


def _transposed_sum(reader: Reader, term: Term) -> Term | None:
    """Return the transpose of a sum term by term, if no term gets longer."""
    turned: list[Term] = []
    for arg in term.args:
        if arg.kind == "transpose" or (arg.kind == "expand" and arg.data == (True, False)):
            turned.append(arg.args[0])
        else:
            return None
    return reader.sum(list(zip(turned, term.data, strict=True)), term.shape[::-1])
