"""The recogniser: what a contraction is called in matrix notation.

Einstein notation says matrix product, dot, outer product, trace, diagonal, transpose, sum,
scaling of rows and broadcasting all alike. Here the factors are merged two at a time into
the forms a reader knows; what fits none stays a tensor product with named indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from ...graph import Labels, Node
from ...graph.sizes import Dim, Shape
from .terms import Term, expand, matmul, times, transpose

#: More factors than this are written with indices at once; looking for pairs takes cubic time.
FACTORS = 16
#: Transposed factors from which on a product is written as one that is transposed.
MANY = 3


@dataclass(eq=False)
class _Factor:
    term: Term
    labels: Labels


def written_contraction(node: Node, args: Sequence[Term]) -> Term:
    """Return a contraction as matrix notation writes it, given its operands as terms."""
    labels, out, repeated = node.payload
    new = [label for label, _ in repeated]
    return recognise(args, labels, out, node.shape, new)


def recognise(
    args: Sequence[Term], labels: Sequence[Labels], out: Labels, shape: Shape, repeated: Sequence[int] = ()
) -> Term:
    """Return the term for a product of ``args`` summed over the labels that ``out`` lacks.

    Parameters
    ----------
    args : sequence of Term
    labels : sequence of tuple of int
        One label an axis of each argument.
    out : tuple of int
    shape : tuple of int or Size
        Of the result.
    repeated : sequence of int, optional
        Labels of ``out`` that no argument has.
    """
    if not repeated and _stacked(args, labels, out):
        return Term("matmul", tuple(args), None, shape)
    wanted = tuple(label for label in out if label not in repeated)
    scales: list[Term] = []
    factors: list[_Factor] = []
    for term, own in zip(args, labels, strict=True):
        if own:
            factors.append(_Factor(term, own))
        else:
            scales.append(term)
    factors = [_diagonals(factor) for factor in factors]
    while True:
        factors = [_sum_alone(factor, factors, wanted) for factor in factors]
        scales += [factor.term for factor in factors if not factor.labels]
        factors = [factor for factor in factors if factor.labels]
        if len(factors) > FACTORS or not _merge_some(factors, wanted):
            break
    core = _arrange(factors, wanted)
    core = core and _turned(core)
    if core is None:
        core = times(scales, ())
    elif scales:
        core = times([*scales, core], core.shape)
    return repeat(core, tuple(label in wanted for label in out), shape)


def _turned(core: Term) -> Term:
    """Write a product of several matrices that are all transposed as the transpose of one: ``(inv(X) @ B @ A).T``.

    The power of one matrix stays ``X.T @ X.T @ X.T``.
    """
    if core.kind != "matmul" or any(arg.ndim != 2 or not (arg.even or arg.kind == "transpose") for arg in core.args):
        return core
    upright = [arg if arg.even else arg.args[0] for arg in core.args[::-1]]
    factors = [factor for arg in upright for factor in (arg.args if arg.kind == "matmul" else (arg,))]
    transposed = sum(not factor.even for factor in factors)
    if transposed < MANY or all(factor == factors[0] for factor in factors):
        return core
    return Term("transpose", (Term("matmul", tuple(factors), None, core.shape[::-1]),), None, core.shape)


def _stacked(args: Sequence[Term], labels: Sequence[Labels], out: Labels) -> bool:
    """Tell whether NumPy's ``@`` on a stack of matrices is what this is."""
    if len(args) != 2 or args[0].ndim < 2 or max(term.ndim for term in args) < 3:
        return False
    if any(len(set(own)) < len(own) for own in labels):
        return False
    a, b = labels
    if args[1].ndim == 1:
        return a[-1] == b[0] and a[:-1] == out and b[0] not in out
    lead = out[:-2]
    prefixes = sorted((a[:-2], b[:-2]), key=len)
    return (
        args[1].ndim >= 2
        and len(out) >= 2
        and a[-1] == b[-2]
        and a[-1] not in out
        and out[-2:] == (a[-2], b[-1])
        and prefixes[1] == lead
        and lead[len(lead) - len(prefixes[0]) :] == prefixes[0]
    )


def is_kronecker(term: Term) -> bool:
    """Tell whether a tensor product of two matrices has the axes of a Kronecker product."""
    return term.kind == "tensor" and term.data == (((0, 2), (1, 3)), (0, 1, 2, 3))


def _diagonals(factor: _Factor) -> _Factor:
    term, labels = factor.term, list(factor.labels)
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        p = labels.index(label)
        q = labels.index(label, p + 1)
        shape = (*(size for axis, size in enumerate(term.shape) if axis not in (p, q)), term.shape[p])
        labels = [*(own for axis, own in enumerate(labels) if axis not in (p, q)), label]
        term = Term("diagonal", (term,), (p, q), shape)
    return _Factor(term, tuple(labels))


def _elsewhere(label: int, factor: _Factor, factors: Sequence[_Factor], wanted: Labels) -> bool:
    return label in wanted or any(label in other.labels for other in factors if other is not factor)


def _sum_alone(factor: _Factor, factors: Sequence[_Factor], wanted: Labels) -> _Factor:
    """Sum over the labels that nothing else has."""
    axes = tuple(a for a, label in enumerate(factor.labels) if not _elsewhere(label, factor, factors, wanted))
    if not axes:
        return factor
    term = factor.term
    kept = tuple(a for a in range(term.ndim) if a not in axes)
    if term.kind == "diagonal" and term.ndim == 1:
        total = Term("trace", term.args, None, ())
    else:
        total = Term("total", (term,), axes, tuple(term.shape[a] for a in kept))
    return _Factor(total, tuple(factor.labels[a] for a in kept))


def _merge_some(factors: list[_Factor], wanted: Labels) -> bool:
    """Merge the first pair that makes a known form, the simplest forms first."""
    for merge in (_dot, _product, _alike, _scaling):
        for a, b in combinations(factors, 2):
            others = [f for f in factors if f is not a and f is not b]
            merged = merge(a, b, others, wanted)
            if merged is not None:
                factors[factors.index(a)] = merged
                factors.remove(b)
                return True
    return False


def _free(label: int, others: Sequence[_Factor], wanted: Labels) -> bool:
    return label in wanted or any(label in other.labels for other in others)


def _dot(a: _Factor, b: _Factor, others: Sequence[_Factor], wanted: Labels) -> _Factor | None:
    if len(a.labels) == 1 and a.labels == b.labels and not _free(a.labels[0], others, wanted):
        return _Factor(Term("dot", (a.term, b.term), None, ()), ())
    return None


def _product(a: _Factor, b: _Factor, others: Sequence[_Factor], wanted: Labels) -> _Factor | None:
    """Recognise a product of matrices, or of a matrix and a vector."""
    shared = set(a.labels) & set(b.labels)
    if len(shared) != 1 or max(len(a.labels), len(b.labels)) > 2 or len(a.labels) + len(b.labels) < 3:
        return None
    (inner,) = shared
    if _free(inner, others, wanted):
        return None
    if len(a.labels) == 1:
        a, b = b, a
    if len(b.labels) == 2:
        (i,), (k,) = (tuple(label for label in f.labels if label != inner) for f in (a, b))
        as_given = (a.term.even or a.labels[1] == inner) + (b.term.even or b.labels[0] == inner)
        turned = (a.term.even or a.labels[0] == inner) + (b.term.even or b.labels[1] == inner)
        swap = wanted.index(i) > wanted.index(k) if i in wanted and k in wanted else turned > as_given
        if swap:
            a, b = b, a
    left = a.term if a.labels[1] == inner else transpose(a.term)
    right = b.term if b.labels[0] == inner else transpose(b.term)
    rest = tuple(label for label in (*a.labels, *b.labels) if label != inner)
    return _Factor(matmul(left, right), rest)


def _aligned(factor: _Factor, labels: Labels) -> Term:
    return permute(factor.term, tuple(factor.labels.index(label) for label in labels))


def _alike(a: _Factor, b: _Factor, others: Sequence[_Factor], wanted: Labels) -> _Factor | None:
    """Recognise an elementwise product of two arrays with the same indices."""
    if set(a.labels) != set(b.labels):
        return None
    order = tuple(sorted(a.labels, key=lambda label: wanted.index(label) if label in wanted else len(wanted)))
    parts = _aligned(a, order), _aligned(b, order)
    return _Factor(times(parts, parts[0].shape), order)


def _scaling(a: _Factor, b: _Factor, others: Sequence[_Factor], wanted: Labels) -> _Factor | None:
    """Recognise the scaling of a matrix's rows or columns by a vector."""
    if len(a.labels) == 2 and len(b.labels) == 1:
        a, b = b, a
    if len(a.labels) != 1 or len(b.labels) != 2 or a.labels[0] not in b.labels:
        return None
    if b.term.kind == "eye" and b.term.data == (0, 1) and b.term.shape[0] == b.term.shape[1]:
        return _Factor(Term("diag", (a.term,), None, b.term.shape), b.labels)
    if a.labels[0] == b.labels[0]:
        return _Factor(Term("rows", (a.term, b.term), None, b.term.shape), b.labels)
    return _Factor(Term("columns", (b.term, a.term), None, b.term.shape), b.labels)


def permute(term: Term, axes: tuple[int, ...]) -> Term:
    """Return a term with its axes in another order."""
    if axes == tuple(range(len(axes))):
        return term
    if axes == (1, 0):
        return transpose(term)
    return Term("permute", (term,), axes, tuple(term.shape[a] for a in axes))


def _upright(factor: _Factor, wanted: Labels) -> _Factor:
    """Transpose a matrix whose axes come in the other order in the result."""
    if len(factor.labels) == 2 and all(label in wanted for label in factor.labels):
        i, j = factor.labels
        if wanted.index(i) > wanted.index(j):
            return _Factor(transpose(factor.term), (j, i))
    return factor


def _arrange(factors: list[_Factor], wanted: Labels) -> Term | None:
    if not factors:
        return None
    if len(factors) == 1 and set(factors[0].labels) == set(wanted):
        return _aligned(factors[0], wanted)
    factors = [_upright(factor, wanted) for factor in factors]
    factors = sorted(factors, key=lambda f: min(wanted.index(label) if label in wanted else 99 for label in f.labels))
    if len(factors) == 2 and wanted == factors[0].labels + factors[1].labels and len(wanted) == 2:
        return Term("outer", (factors[0].term, factors[1].term), None, factors[0].term.shape + factors[1].term.shape)
    sizes: dict[int, Dim] = {}
    for factor in factors:
        sizes.update(zip(factor.labels, factor.term.shape, strict=True))
    names = {label: place for place, label in enumerate(wanted)}
    for label in sizes:
        names.setdefault(label, len(names))
    return Term(
        "tensor",
        tuple(factor.term for factor in factors),
        (tuple(tuple(names[label] for label in f.labels) for f in factors), tuple(range(len(wanted)))),
        tuple(sizes[label] for label in wanted),
    )


def repeat(core: Term, old: tuple[bool, ...], shape: Shape) -> Term:
    """Return ``core`` with new axes where ``old`` is False, repeated to ``shape``."""
    if all(old):
        return core
    if core.kind in ("number", "filled"):
        return Term("filled", (), core.data, shape)
    if core.kind == "negative" and core.args[0].kind == "number":
        return Term("filled", (), -core.args[0].data, shape)
    wide = tuple(size if own else 1 for size, own in zip(shape, old, strict=True))
    if core.ndim and not _trailing(old):
        core = expand(core, old, wide)
    elif wide == shape and core.ndim != len(shape):
        return expand(core, old, wide)
    return core if wide == shape else Term("broadcast", (core,), None, shape)


def _trailing(old: tuple[bool, ...]) -> bool:
    """Tell whether all new axes come first, where broadcasting puts them by itself."""
    return not any(before and not after for before, after in pairwise(old))
