"""Operations that hold a formula of their own: loops, and functions of matrices by their function of a number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ...graph import Node, elementwise, step_number
from ...graph import number as constant_of
from ...graph.contractions import parameter, point, spectrum, spectrum_parameter
from ...graph.primitives import Isotropic
from ...graph.sizes import Shape
from ...rewrite.facts import is_definite, is_symmetric
from .terms import Loop, Term, number, postorder, quotient, times, total_of, transpose

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
    pairs = list(zip(after.args, after.data, strict=True))
    others = [(arg, minus) for arg, minus in pairs if arg is not carried[loop.part]]
    if len(others) != len(pairs) - 1 or (carried[loop.part], False) not in pairs:
        return term
    held = {id(letter) for letter in carried}
    if any(id(part) in held for part in postorder([arg for arg, _ in others])):
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


def _exponential(node: Node, args: Sequence[Term], names: Collection[str], write: Write) -> Term:
    name = "expm" if len(args) == 1 else "expm_differential"
    return Term("function", tuple(args), name, node.shape)


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


#: How they are written.
INNER: dict[str, Callable[[Node, Sequence[Term], Collection[str], Write], Term]] = {
    "custom": _custom,
    "recurrence": _recurrence,
    "spectral": _spectral,
    "isotropic": _isotropic,
    "expm": _exponential,
}
