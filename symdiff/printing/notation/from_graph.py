"""Graph to terms: every node becomes the term a reader would write for it.

Sums and products that stand nowhere else are flattened, so ten thousand terms are one level
deep; axes that broadcasting adds by itself are left out.

Loops, and functions of matrices by their function of a number, hold a formula of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ...errors import ShapeError
from ...graph import Node, axes_of, broadcast_shapes, constant, elementwise, parts_of, postorder, step_number
from ...graph import number as constant_of
from ...graph.contractions import parameter, point, spectrum, spectrum_parameter
from ...graph.primitives import PRIMITIVES, Isotropic, complete
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, factors_of, terms_of
from ...graph.scalars.functions import FUNCTIONS, as_written
from ...graph.sizes import Shape, product
from ...rewrite.facts import is_definite, is_symmetric
from .contractions import is_kronecker, recognise, written_contraction
from .terms import SHORT, Loop, Term, centred, expand, index, number, quotient, times, total_of, transpose, vector_of
from .terms import postorder as postorder_of_terms

__all__ = ["INNER", "result_of_loop"]


#: Writes formulas, given what some nodes are written as and which names are taken.
Write: TypeAlias = Callable[[Sequence[Node], Mapping[Node, Term], Collection[str]], list[Term]]
#: Functions of matrices that have a name of their own.
_NAMED = {"exp": "expm", "log": "logm", "sqrt": "sqrtm"}


def _fresh(letter: str, shape: Shape, taken: set[str]) -> Term:
    name, count = letter, 0
    while name in taken:
        count += 1
        name = f"{letter}{count}"
    taken.add(name)
    return Term("name", (), name, shape)


def _recurrence(node: Node, args: Sequence[Term], names: Collection[str], write: Write) -> Term:
    """Write a loop: what it starts with and goes along, what it carries on and writes, in letters of its own."""
    body, length, _ = node.payload
    taken = set(names)
    first, second = len(body.carried), len(body.carried) + len(body.read)
    unchanged = {k: args[k] for k in range(first) if body.results[k] is body.carried[k] and first > 1}
    known = {step_number(): _fresh("k", (), taken)}
    known |= {own: _fresh("s", own.shape, taken) for k, own in enumerate(body.carried) if k not in unchanged}
    known |= {own: _fresh("x", own.shape, taken) for own in body.read}
    own = list(known.values())
    held = dict(zip(body.held, args[second:], strict=True)) | {body.carried[k]: arg for k, arg in unchanged.items()}
    formulas = [x for k, x in enumerate(body.results) if k not in unchanged]
    goes_on = _condition(formulas, [own for k, own in enumerate(body.carried) if k not in unchanged])
    if goes_on is not None:
        formulas = [*(x.args[1] for x in formulas), goes_on]
    results = write(formulas, {**known, **held}, taken)
    part = 0 if len(body.results) == 1 else None
    carried = first - len(unchanged)
    reverse, conditional = node.payload.reverse, goes_on is not None
    data = Loop(tuple(own), carried, second - first, length, reverse, part, tuple(unchanged.items()), conditional)
    given = [arg for k, arg in enumerate(args[:second]) if k not in unchanged]
    return _summed(Term("recurrence", (*given, *results), data, node.shape))


def _condition(results: Sequence[Node], carried: Sequence[Node]) -> Node | None:
    """Return the condition outside of which a loop carries everything on as it is, None where there is none."""
    if not results or len(results) != len(carried):
        return None
    for result, own in zip(results, carried, strict=True):
        if not result.is_choice or result.args[2] is not own or result.args[0] is not results[0].args[0]:
            return None
        if result.args[1].shape != own.shape:
            return None
    return results[0].args[0]


def result_of_loop(loop: Term, part: int, shape: Shape) -> Term:
    """Return one result of a loop, by its place among all: what is carried on, then what is written."""
    unchanged: dict[int, Term] = dict(loop.data.unchanged)
    if part in unchanged:
        return unchanged[part]
    own = part - sum(k < part for k in unchanged)
    return _summed(replace(loop, data=loop.data._replace(part=own), shape=shape))


def _summed(term: Term) -> Term:
    """Write a loop that adds up a formula of its number as a sum."""
    loop: Loop = term.data
    if loop.part is None or loop.part >= loop.carried or loop.rows or loop.condition:
        return term
    start, after = term.args[loop.part], term.args[loop.carried + loop.part]
    carried = loop.letters[1 : 1 + loop.carried]
    zero = start.kind in ("number", "filled") and start.data == 0.0
    if not zero or after.kind != "sum":
        return term
    pairs = after.pairs
    others = [(arg, minus) for arg, minus in pairs if arg is not carried[loop.part]]
    if len(others) != len(pairs) - 1 or (carried[loop.part], False) not in pairs:
        return term
    held = {id(letter) for letter in carried}
    if any(id(part) in held for part in postorder_of_terms([arg for arg, _ in others])):
        return term
    (own, minus), *more = others
    whole = total_of(others, term.shape) if more else quotient([own], [], minus, own.shape)
    return Term("series", (whole,), (loop.letters[0], loop.length), term.shape)


def _spectral(node: Node, args: Sequence[Term], names: Collection[str], write: Write) -> Term:
    """Write f(A) by the name that f has as a function of matrices, or by f; a derivative along its directions."""
    matrix, *rest = args
    if node.ndim == 2 and not is_symmetric(node.args[0]):
        matrix = quotient([total_of([(matrix, False), (transpose(matrix), False)], matrix.shape)], [number(2.0)], False,
                          matrix.shape)
    payload = node.payload
    parameters, directions = rest[: payload.parameters], rest[payload.parameters :]
    order = len(directions)
    suffix = ("_differential" if order else "") + (str(order) if order > 1 else "")
    for op, name in _NAMED.items():
        if payload.function is elementwise(op, (point(0),)):
            return Term("function", (matrix, *directions), name + suffix, node.shape)
    f = payload.function
    if f.is_division and f.args[1] is elementwise("sqrt", (point(0),)) and is_definite(node.args[0]) and not order:
        factor = constant_of(f.args[0])
        if factor is not None:
            inverse = Term("inv", (Term("function", (matrix,), "sqrtm", node.shape),), None, node.shape, True)
            return times([number(factor), inverse], node.shape)
    letter = _fresh("x", (), set(names))
    known = {point(0): letter, **{parameter(k): term for k, term in enumerate(parameters)}}
    (body,) = write([payload.function], known, {*names, letter.data})
    function = Term("mapping", (body,), letter.data, ())
    return Term("function", (matrix, function, *directions), "funm" + suffix, node.shape)


def _isotropic(node: Node, args: Sequence[Term], names: Collection[str], write: Write) -> Term:
    """Write an isotropic function with its vector, a formula of the eigenvalues of the matrix."""
    payload: Isotropic = node.payload
    of, *rest = args
    a = node.args[0]
    parameters, directions = rest[: payload.parameters], rest[payload.parameters :]
    shape = a.shape[:-1]
    known = {spectrum(shape): Term("matrix", (of,), "eigvalsh", shape)}
    known |= {spectrum_parameter(k, arg.shape, arg.dtype): term
              for k, (arg, term) in enumerate(zip(node.args[1:], parameters, strict=False))}  # fmt: skip
    (g,) = write([payload.function], known, names)
    suffix = "" if not directions else "_transpose" if payload.transposed else "_differential"
    return Term("function", (of, g, *directions), "isotropic" + suffix, node.shape)


def _custom(node: Node, args: Sequence[Term], names: Collection[str], write: Write) -> Term:
    """Write a custom function by its name, a solution by its equations, functions of a letter of their own."""
    rule = node.payload.rule
    if getattr(rule, "letter", None) is None:
        return Term("function", tuple(args), rule.name, node.shape)
    taken = set(names)
    letter = _fresh(rule.title, rule.letter.shape, taken)
    known = {rule.letter: letter, **dict(zip(rule.parameters, args, strict=True))}
    equations = [Term("mapping", (body,), letter.data, body.shape) for body in write(rule.equations, known, taken)]
    options = [Term("option", (number(value),), key, ()) for key, value in rule.options]
    return Term("function", (*equations, *(args[k] for k in rule.given), *options), rule.name, node.shape)


#: Writers of these operations.
INNER: dict[str, Callable[[Node, Sequence[Term], Collection[str], Write], Term]] = {
    "custom": _custom,
    "recurrence": _recurrence,
    "spectral": _spectral,
    "isotropic": _isotropic,
}


#: Sums and products that continue in one that they are part of, whatever sign they have there.
_ADDED, _MULTIPLIED = ("add", "subtract"), ("multiply", "divide")
#: Numbers of a list that are written one by one, beside elements that are formulas.
FEW = 6


def written(roots: Sequence[Node]) -> list[Term]:
    """Return the terms of ``roots``; a node that is shared becomes one shared term.

    Examples
    --------
    >>> from symdiff.graph import input, matmul, swap
    >>> A = input("A", (2, 3))
    >>> written([matmul(A, swap(A))])[0].kind
    'matmul'
    """
    return _Writer(roots).run()


class _Writer:
    def __init__(
        self, roots: Sequence[Node], known: Mapping[Node, Term] | None = None, taken: Iterable[str] = ()
    ) -> None:
        self.roots = as_written(roots)
        self.known = known or {}
        self.order = postorder(self.roots)
        self.taken = {*taken, *(str(node.name) for node in self.order if node.is_input)}
        self.terms: dict[Node, Term] = {}
        users: dict[Node, list[Node]] = {}
        for node in self.order:
            for arg in node.args:
                users.setdefault(arg, []).append(node)
        tops = set(self.roots)
        #: Nodes written as part of the one sum or product that uses them.
        self.absorbed = {
            node for node, own in users.items() if len(own) == 1 and node not in tops and _continues(node.op, own[0].op)
        }

    def run(self) -> list[Term]:
        for node in self.order:
            if node in self.known:
                self.terms[node] = self.known[node]
            elif node not in self.absorbed:
                term = self.write(node)
                self.terms[node] = replace(term, even=True) if is_symmetric(node) and node.ndim == 2 else term
        return [self.terms[root] for root in self.roots]

    def write(self, node: Node) -> Term:
        if node.op in _ADDED:
            return self.write_sum(node)
        if node.op in _MULTIPLIED:
            return self.write_product(node)
        args = [self.terms[arg] for arg in node.args]
        if node.op in INNER:
            return INNER[node.op](node, args, self.taken, lambda *given: _Writer(*given).run())
        return WRITERS.get(node.op, write_function)(node, args)

    def write_sum(self, node: Node) -> Term:
        parts: list[tuple[Term, bool]] = []
        for sign, part in terms_of(node, enter=lambda part: part is node or part in self.absorbed).parts:
            parts.append((self.write_product(part) if part in self.absorbed else self.terms[part], sign < 0))

        def build(terms: list[Term], shape: Shape) -> Term:
            return total_of([(term, minus) for term, (_, minus) in zip(terms, parts, strict=True)], shape)

        return lifted(trim([term for term, _ in parts], node.shape), node.shape, build)

    def write_product(self, node: Node) -> Term:
        over: list[Term] = []
        under: list[Term] = []
        sign, parts, _ = factors_of(node, enter=lambda part, _: part is node or part in self.absorbed)
        negative = sign < 0
        for part, power in parts:
            divides = power < 0
            term = self.terms[part]
            minus, term = term.signed
            negative ^= minus
            if term.kind == "product" and len(term.args) <= SHORT:
                for arg, own in term.pairs:
                    (under if own != divides else over).append(arg)
                continue
            inverse = _inverse_power(term)
            if inverse is not None:
                term, divides = inverse, not divides
            (under if divides else over).append(term)
        split = len(over)

        def build(terms: list[Term], shape: Shape) -> Term:
            above, below = terms[:split], terms[split:]
            mean = as_mean(above, below)
            if mean is not None:
                return quotient([mean], [], negative, shape)
            return quotient(scaled(above, shape) if len(shape) == 2 else above, below, negative, shape)

        return widened(trim([*over, *under], node.shape), node.shape, build)


def _continues(op: str, user: str) -> bool:
    return (op in SUMS and user in _ADDED) or (op in PRODUCTS and user in _MULTIPLIED)


def _inverse_power(term: Term) -> Term | None:
    """Return x^n for a term x^(-n)."""
    if term.kind != "power" or term.args[1].kind != "number" or term.args[1].data >= 0:
        return None
    base, exponent = term.args
    return base if exponent.data == -1 else Term("power", (base, number(-exponent.data)), None, term.shape)


def trim(args: Sequence[Term], shape: Shape) -> list[Term]:
    """Leave out broadcasting that happens by itself because of the other arguments."""
    result = list(args)
    if len(result) < 2 or len(result) > 64:
        return result
    for place, term in enumerate(args):
        inner = _narrower(term)
        if inner is not None and _reaches([inner, *result[:place], *result[place + 1 :]], shape):
            result[place] = inner
    return result


def _narrower(term: Term) -> Term | None:
    if term.kind == "broadcast":
        return _narrower(term.args[0]) or term.args[0]
    if term.kind == "filled":
        return number(term.data)
    if term.kind == "expand" and not term.data[0]:
        first = term.data.index(True) if True in term.data else len(term.data)
        old = term.data[first:]
        return term.args[0] if all(old) else Term("expand", term.args, old, term.shape[first:])
    return None


def lifted(args: list[Term], shape: Shape, build: Callable[[list[Term], Shape], Term]) -> Term:
    """Write an operation inside the axes of size 1 that all its arrays share, where it is shorter."""
    wide = [term for term in args if term.ndim]
    if not wide or any(t.kind != "expand" or t.data != wide[0].data or t.shape != shape for t in wide):
        return build(args, shape)
    inner = build([term.args[0] if term.ndim else term for term in args], wide[0].args[0].shape)
    return expand(inner, wide[0].data, shape)


def widened(args: list[Term], shape: Shape, build: Callable[[list[Term], Shape], Term]) -> Term:
    """Write arrays of one number as that number, and the result repeated."""
    plain = [number(term.data) if term.kind == "filled" else term for term in args]
    narrow = broadcast_shapes([term.shape for term in plain])
    if narrow == shape or len(narrow) < len(shape) - 1 or plain == args:
        return lifted(args, shape, build)
    return Term("broadcast", (lifted(plain, narrow, build),), None, shape)


#: Quotients by a count that are written as a factor. A half is of other things than two elements more often.
_EXACT = frozenset(0.5**n for n in range(2, 40))


def as_mean(above: Sequence[Term], below: Sequence[Term]) -> Term | None:
    """Recognise the sum of elements divided by how many they are, and the variance."""
    if len(above) == 2 and not below and above[0].kind == "number" and above[0].data in _EXACT:
        above, below = above[1:], [number(1.0 / above[0].data)]  # times 1/4 for 4 elements
    if len(above) != 1 or len(below) != 1 or above[0].kind != "total" or below[0].kind not in ("number", "size"):
        return None
    (x,), axes = above[0].args, above[0].data
    if below[0].data != product(x.shape[axis] for axis in axes):
        return None
    if below[0].data == 2.0:
        return None
    gap = centred(x.args[0]) if x.kind == "power" and x.args[1].data == 2.0 else None
    if gap is not None and gap[1] == axes:
        return Term("reduce", gap[:1], ("var", axes), above[0].shape)
    return Term("reduce", (x,), ("mean", axes), above[0].shape)


def scaled(factors: Sequence[Term], shape: Shape) -> list[Term]:
    """Write a matrix times a vector along its rows or columns as diag(v) A or A diag(v)."""
    scalars = [t for t in factors if t.ndim == 0]
    columns = [t.args[0] for t in factors if _is_column(t)]
    rows = [t for t in factors if t.ndim == 1]
    matrices = [t for t in factors if t.shape == shape and not _is_column(t)]
    if not matrices or not (rows or columns) or len(scalars + columns + rows + matrices) != len(factors):
        return list(factors)
    core = quotient(matrices, [], False, shape)
    if columns:
        core = Term("rows", (quotient(columns, [], False, shape[:1]), core), None, shape)
    if rows:
        core = Term("columns", (core, quotient(rows, [], False, shape[1:])), None, shape)
    return [*scalars, core]


def _is_column(term: Term) -> bool:
    return term.kind == "expand" and term.data == (True, False)


def _reaches(terms: Sequence[Term], shape: Shape) -> bool:
    try:
        return broadcast_shapes([term.shape for term in terms]) == shape
    except ShapeError:
        return False


# ---------------------------------------------------------------------------- one writer an operation


def write_input(node: Node, args: Sequence[Term]) -> Term:
    """Write an input, or a placeholder of a rule."""
    name = node.name if isinstance(node.name, str) else f"_{node.payload.key}"
    return Term("name", (), name, node.shape)


def write_constant(node: Node, args: Sequence[Term]) -> Term:
    """Write numbers; an array of equal ones as such."""
    values = node.value
    if values.ndim == 0:
        return number(float(values)) if node.dtype == "real" else Term("truth", (), bool(values), ())
    if node.dtype == "real" and values.size == 0:  # a list of nothing has no type and no other axes
        return Term("filled", (), 0.0, node.shape)
    if node.dtype == "real" and values.size > 1 and (values == values.flat[0]).all():
        return Term("filled", (), float(values.flat[0]), node.shape)
    return Term("array", (), values, node.shape)


def write_function(node: Node, args: Sequence[Term]) -> Term:
    """Write a scalar function applied element by element."""
    kind = "compare" if FUNCTIONS[node.op].is_comparison else "call"
    return lifted(trim(args, node.shape), node.shape, lambda terms, shape: Term(kind, tuple(terms), node.op, shape))


def write_power(node: Node, args: Sequence[Term]) -> Term:
    """Write a power; with exponent -1 a quotient."""
    base, exponent = trim(args, node.shape)
    power = Term("power", (base, exponent), None, node.shape)
    inverse = _inverse_power(power)
    return power if inverse is None else quotient([], [inverse], False, node.shape)


def write_negative(node: Node, args: Sequence[Term]) -> Term:
    """Write a change of sign."""
    (x,) = args
    return quotient([x], [], True, node.shape) if x.kind != "negative" else x.args[0]


def write_reshape(node: Node, args: Sequence[Term]) -> Term:
    """Write new axes of size 1 as such, a dropped one as an index, the rest as a reshape."""
    (x,) = args
    if x.kind == "series" or (x.kind == "recurrence" and x.data.part is not None):
        return replace(x, shape=node.shape)
    added = _insertion(x.shape, node.shape)
    if added is not None:
        return expand(x, added, node.shape)
    dropped = _insertion(node.shape, x.shape)
    if dropped is not None:
        vector = vector_of(x) if dropped == (True, False) else None
        if vector is not None:
            return vector
        items = tuple((0, 1, size) if own else (0, 1, None) for own, size in zip(dropped, x.shape, strict=True))
        return index(x, items, node.shape)
    if is_kronecker(x) and node.shape == tuple(p * q for p, q in zip(x.args[0].shape, x.args[1].shape, strict=True)):
        return Term("function", x.args, "kron", node.shape)
    return Term("reshape", (x,), None, node.shape)


def _insertion(short: Shape, long: Shape) -> tuple[bool, ...] | None:
    """Tell which axes of ``long`` are those of ``short``, the others having size 1."""
    if len(long) <= len(short):
        return None
    old = []
    at = 0
    for size in long:
        old.append(at < len(short) and size == short[at])
        at += old[-1]
        if not old[-1] and size != 1:
            return None
    return tuple(old) if at == len(short) else None


def write_slice(node: Node, args: Sequence[Term]) -> Term:
    """Write a part of an array, or a result of a loop."""
    if node.args[0].is_recurrence:
        item = node.payload.items[0]
        for k, part in enumerate(parts_of(node.args[0])):
            one = part.size == 1 and item[0] == part.start and item[2] is None
            if one or item == (part.start, 1, part.size):
                return result_of_loop(args[0], k, node.shape)
    return index(args[0], node.payload.items, node.shape)


def write_pad(node: Node, args: Sequence[Term]) -> Term:
    """Write zeros around an array as products with unit vectors and shifted identities."""
    factors = [args[0]]
    labels: list[tuple[int, ...]] = []
    own: list[int] = []
    out = tuple(range(node.ndim))
    for axis, (item, size) in enumerate(zip(node.payload.items, node.shape, strict=True)):
        start, step, length = item
        if length is None:
            factors.append(Term("onehot", (), start, (size,)))
            labels.append((axis,))
        elif (start, step, length) == (0, 1, size):
            own.append(axis)
        else:
            factors.append(Term("eye", (), (start, step), (length, size)))
            labels.append((node.ndim + axis, axis))
            own.append(node.ndim + axis)
    return recognise(factors, [tuple(own), *labels], out, node.shape)


def write_scatter(node: Node, args: Sequence[Term]) -> Term:
    """Write a sum into places as a product with rows of the identity."""
    axis, places = node.payload.axis + node.ndim, node.payload.indices
    size = node.shape[axis]
    identity = Term("eye", (), (0, 1), (size, size))
    rows = Term("take", (identity,), (0, places), (len(places), size))
    own = tuple(node.ndim if a == axis else a for a in range(node.ndim))
    return recognise([args[0], rows], [own, (node.ndim, axis)], tuple(range(node.ndim)), node.shape)


def write_concatenation(node: Node, args: Sequence[Term]) -> Term:
    """Write arrays joined, or stacked where each is a stack, has a new axis of size 1 there, or is numbers."""
    axis = node.payload.axis + node.ndim
    slices = [_slices(arg, axis) for arg in args]
    if any(arg.kind in ("expand", "stack") for arg in args) and all(slices):
        return Term("stack", tuple(one for part in slices for one in part), axis, node.shape)
    places = _roll_of(args, axis, node.shape)
    if places is not None:
        return Term("roll", args[0].args, (places, axis), node.shape)
    return Term("concatenate", tuple(args), axis, node.shape)


def _roll_of(args: Sequence[Term], axis: int, shape: Shape) -> int | None:
    """Return by how many places an array is rolled whose end and beginning are joined; None of any other."""
    if len(args) != 2 or {arg.kind for arg in args} != {"index"} or args[0].args != args[1].args:
        return None
    (end, beginning), (x,) = (arg.data for arg in args), args[0].args
    (start, step, rest), (begin, pace, length) = end[axis], beginning[axis]
    whole = [(0, 1, size) for size in shape]
    if x.shape != shape or any(item[k] != whole[k] for item in (end, beginning) for k in range(x.ndim) if k != axis):
        return None
    if (begin, step, pace) != (0, 1, 1) or start != length:
        return None
    return rest if isinstance(rest, int) else -length if isinstance(length, int) else None


def _slices(arg: Term, axis: int) -> Sequence[Term]:
    """Return the slices of a stack, along an axis that is new, or of a few numbers; none of anything else."""
    if arg.kind == "stack" and arg.data == axis:
        return arg.args
    if arg.kind == "expand" and not arg.data[axis] and sum(arg.data) == arg.ndim - 1:
        return arg.args
    count, rest = arg.shape[axis], arg.shape[:axis] + arg.shape[axis + 1 :]
    if arg.kind not in ("array", "filled") or not isinstance(count, int) or count > FEW:
        return ()
    if arg.kind == "filled":
        return [Term("filled", (), arg.data, rest) if rest else number(arg.data)] * count
    return [write_constant(constant(arg.data.take(k, axis)), ()) for k in range(count)]


def write_named_function(node: Node, args: Sequence[Term]) -> Term:
    """Write an operation by its name, a function of numbers by the name that its author gave it."""
    name = node.payload.name if node.op == "external" else node.op
    return Term("function", tuple(args), name, node.shape)


def _plain(kind: str, data: Callable[[Node], Any] = lambda node: None) -> Callable[[Node, Sequence[Term]], Term]:
    """Return a writer of a kind of term that has the arguments and the shape of its node."""
    return lambda node, args: Term(kind, tuple(args), data(node), node.shape)


#: Writers of the notations of the table of primitives.
_NOTATIONS: dict[str, Callable[[Node, Sequence[Term]], Term]] = {
    "input": write_input,
    "constant": write_constant,
    "eye": _plain("eye", lambda node: tuple(node.payload)),
    "onehot": _plain("onehot", lambda node: node.payload.at),
    "size": _plain("size", lambda node: node.payload.size),
    "tensor": written_contraction,
    "reshape": write_reshape,
    "index": write_slice,
    "pad": write_pad,
    "take": _plain("take", lambda node: (node.payload.axis + node.ndim, node.payload.indices)),
    "scatter": write_scatter,
    "picked": _plain("picked", lambda node: (node.payload[0] + node.args[0].ndim, node.payload[1])),
    "put": _plain("put", lambda node: (node.payload[0] + node.ndim, node.payload[1])),
    "cumulative": _plain("cumulative", lambda node: (node.op, node.payload.axis + node.ndim, node.payload.reverse)),
    "arranged": _plain("arranged", lambda node: (node.payload.axis, node.payload.reverse)),
    "triangle": _plain("triangle", lambda node: tuple(node.payload)),
    "concatenate": write_concatenation,
    "reduce": lambda node, args: Term("reduce", tuple(args[:1]), (node.op, axes_of(node, node.args[0])), node.shape),
    "matrix": _plain("matrix", lambda node: node.op),
    "recurrence": write_named_function,
    "inv": _plain("inv"),
    "function": write_named_function,
    "named": _plain("named", lambda node: node.payload),
}
complete(_NOTATIONS, __name__, {row.notation for row in PRIMITIVES.values()})

WRITERS: dict[str, Callable[[Node, Sequence[Term]], Term]] = {
    "negative": write_negative,
    "power": write_power,
    "logical_and": _plain("and"),
    "logical_or": _plain("or"),
    "logical_not": _plain("not"),
    "where": lambda node, args: Term("where", tuple(trim(args, node.shape)), None, node.shape),
    "to_real": lambda node, args: Term("where", (args[0], number(1.0), number(0.0)), None, node.shape),
    **{name: _NOTATIONS[row.notation] for name, row in PRIMITIVES.items()},
    "expm": _plain("function", lambda node: "expm" if len(node.args) == 1 else "expm_differential"),
}
