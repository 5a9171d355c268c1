"""Eigenvalues, eigenvectors and functions of symmetric matrices, right where eigenvalues are equal.

A function of a symmetric matrix A = V diag(x) V^T is f(A) = V diag(f(x)) V^T. Its derivatives are divided differences
of f in the basis of eigenvectors, which are smooth where eigenvalues meet although eigenvectors are not:
d f(A) = V (f[x_i, x_j] * (V^T dA V)) V^T (Daleckii and Krein 1965; Higham, Functions of Matrices, theorem 3.11), and of
order n the sum of V (f[x_i, x_j, .., x_k] * E_ij .. ) V^T over the orders of the directions.

A cotangent of eigenvalues that is one function of each of them is pulled back as a function of the matrix. So the
gradient of sum(f(eigvalsh(A))) is f'(A), and has derivatives as such. Any other one belongs to single eigenvalues,
which have no derivative where two are equal: it is nan there, and so is that of eigenvectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, nan

from ...errors import UnsupportedError
from ...graph import (
    Node,
    broadcast_to,
    constant,
    delta,
    dependents,
    elementwise,
    matrix,
    number,
    placeholder,
    postorder,
    reduce,
    reshape,
    spectral,
    substitute,
    swap,
    zeros,
)
from ...graph.contractions import parameter, point
from ...graph.deltas.einsum import einsum, is_structured, is_zero, scale_by
from ...graph.deltas.structural import identity
from ...graph.kinds import CHOICE, SPECTRUM
from ...graph.primitives import Spectral
from ...graph.scalars.functions import apply, compare, scalar_constant, where
from ...graph.sizes import Dim
from ...rewrite.facts import is_symmetric
from ...rewrite.matrices.functions import EQUAL
from ..linear import PULLS, WHOLES, Law
from ..modes import pullback, pushforward
from ..rules import DIFFERENTIALS, LAWS, matmul
from .isotropic import differential, gathered, isotropic_function, pulled, zeros_of
from .recognition import as_function, factored


def function_of(function: Node, a: Node, parameters: Sequence[Node] = (), name: str = "funm") -> Node:
    """Return f(A) for the symmetric part of a matrix, or of a stack of them.

    Parameters
    ----------
    function : Node
        A scalar formula of ``point(0)`` and of ``parameter(k)``.
    a : Node
    parameters : sequence of Node
        Numbers, or an array of them with one for each matrix of the stack.
    name : str
        How it is called where it is printed.
    """
    n = a.shape[-1]
    one = constant(1.0)
    function = _without_one(function)
    if point(0) not in postorder([function]):  # the same number for all eigenvalues
        value = _placed(function, parameters)
        if not value.shape and a.ndim == 2:
            return scale_by(value, delta(n, n))
        lead = broadcast_to(delta(n, n), (*a.shape[:-2], n, n))
        return apply("multiply", reshape(value, (*value.shape, 1, 1)), lead)
    if function is apply("divide", one, point(0)) and is_symmetric(a):
        return matrix("inv", a)
    power = _power_of(function, a, name)
    if power is not None:
        return power
    return _by_what_counts(Spectral(name, function, function, len(parameters)), (a, *parameters))


def differential_of(node: Node, directions: Sequence[Node]) -> Node:
    """Return the derivative of a function of a symmetric matrix along directions, as :func:`function_of` makes it.

    Raises
    ------
    UnsupportedError
        If the function has an operation of its own, or none.
    """
    if node.op != "spectral":
        raise UnsupportedError("a differential of a power, an inverse or a constant; write it as a product")
    from .divided_differences import divided  # not needed by most programs

    payload = node.payload._replace(weights=divided(node.payload.function, len(directions)))
    return spectral(payload, (*node.args, *directions))


#: Powers that are products of a matrix, and no function of its eigenvalues.
_PRODUCTS = 4


def _power_of(function: Node, a: Node, name: str) -> Node | None:
    """Return c A**n for the function c x**n of a symmetric matrix; None for another one, or one with its own name."""
    if name != "funm" or a.ndim != 2 or not is_symmetric(a):
        return None
    c, base = 1.0, function
    while base.is_multiplication and number(base.args[0]) is not None:
        c, base = c * (number(base.args[0]) or 0.0), base.args[1]
    n = 1.0 if base is point(0) else None
    if base.is_power and base.args[0] is point(0):
        n = number(base.args[1])
    if n is None or not n.is_integer() or not 1 <= n <= _PRODUCTS:
        return None
    product = a
    for _ in range(int(n) - 1):
        product = matmul(product, a)
    return product if c == 1.0 else elementwise("multiply", (constant(c), product))


def _without_one(function: Node) -> Node:
    """Leave the seed of a derivative out."""
    one = constant(1.0)
    while function.is_multiplication and one in function.args:
        function = function.args[function.args[0] is one]
    return function


def _placed(function: Node, parameters: Sequence[Node]) -> Node:
    return substitute([function], {parameter(k): node for k, node in enumerate(parameters)})[0]


# ---------------------------------------------------------------------------- functions of a matrix


def _parts(node: Node) -> tuple[Node, list[Node], list[Node]]:
    a, *rest = node.args
    count = node.payload.parameters
    return a, rest[:count], rest[count:]


def _spectral(node: Node, tangents: Sequence[Node | None]) -> Node:
    from .divided_differences import divided  # not needed by most programs

    a, parameters, directions = _parts(node)
    count, order = len(parameters), len(directions)
    name, function, _, _ = node.payload
    terms = []
    if tangents[0] is not None:
        payload = node.payload._replace(weights=divided(function, order + 1))
        change = _symmetric(behind(tangents[0], a, node.ndim - a.ndim))
        for place in range(order + 1):
            moved = (*directions[:place], change, *directions[place:])
            terms.append(spectral(payload, (a, *parameters, *moved)))
    for k, (own, tangent) in enumerate(zip(parameters, tangents[1 : 1 + count], strict=True)):
        if tangent is None:
            continue
        (slope,) = pushforward([function], {parameter(k): constant(1.0)})
        if slope is not None:
            payload = Spectral(name, slope, divided(slope, order), count)
            rate = behind(tangent, own, node.ndim - 2 - own.ndim)
            terms.append(apply("multiply", reshape(rate, (*rate.shape, 1, 1)), _by_what_counts(payload, node.args)))
    for k, tangent in enumerate(tangents[1 + count :]):
        if tangent is not None:
            own = directions[k]
            change = behind(tangent, own, node.ndim - own.ndim)
            terms.append(spectral(node.payload, (*node.args[: 1 + count + k], change, *node.args[2 + count + k :])))
    if not terms:  # numbers that decide between branches alone
        return zeros(node.shape)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _by_what_counts(payload: Spectral, args: Sequence[Node]) -> Node:
    """Apply a function without those numbers that are not in it: it is printed so, and has the axes of the others."""
    count = 1 + payload.parameters
    met = set(postorder([payload.function, payload.weights]))
    used = [k for k in range(payload.parameters) if parameter(k) in met]
    whole = spectral(payload, args)
    if len(used) == payload.parameters:
        return whole
    new = {parameter(k): parameter(place) for place, k in enumerate(used)}
    function, weights = substitute([payload.function, payload.weights], new)
    payload = Spectral(payload.name, function, weights, len(used))
    found = spectral(payload, (args[0], *(args[1 + k] for k in used), *args[count:]))
    return found if found.shape == whole.shape else broadcast_to(found, whole.shape)


def behind(tangent: Node, own: Node, missing: int) -> Node:
    """Put axes of size 1 between the seed's and the argument's, as many as the argument is broadcast over."""
    prefix = tangent.ndim - own.ndim
    if not missing or not prefix:
        return tangent
    labels = tuple(range(tangent.ndim))
    new = tuple(range(-missing, 0))
    sizes: dict[int, Dim] = dict.fromkeys(new, 1)
    return einsum([tangent], [labels], (*labels[:prefix], *new, *labels[prefix:]), sizes)


def _symmetric(x: Node) -> Node:
    return scale_by(constant(0.5), x + swap(x))


def _pull_direction(node: Node, i: int, ct: Node, prefix: int) -> Node | None:
    """Transpose in a direction: the others stand around it in the trace of the product with the cotangent."""
    a, parameters, directions = _parts(node)
    place = i - 1 - len(parameters)
    if place < 0:
        return None
    scale = of_trace(ct) if len(directions) == 1 and ct.ndim == 2 else None
    if scale is not None:
        return scale_by(scale, _slope_of(node))
    scale = _of_matrix(ct, a) if len(directions) == 1 and ct.ndim == 2 and is_symmetric(a) else None
    if scale is not None:
        return scale_by(scale, _along_itself(node))
    before = [swap(e) for e in reversed(directions[:place])]
    after = [swap(e) for e in reversed(directions[place + 1 :])]
    pulled = spectral(node.payload, (a, *parameters, *before, ct, *after))
    return gathered(pulled, prefix, node.args[i])


def of_trace(ct: Node) -> Node | None:
    """Return c for a cotangent c I, which is that of a trace: the function is pulled back to c f'(A)."""
    one = delta(*ct.shape)
    if ct is one:
        return constant(1.0)
    if not ct.is_contraction or one not in ct.args or any(arg.ndim for arg in ct.args if arg is not one):
        return None
    scalars = [arg for arg in ct.args if arg is not one]
    upright = ct.payload.labels[ct.args.index(one)] == ct.payload.out and len(scalars) == len(ct.args) - 1
    return einsum(scalars, [()] * len(scalars), ()) if upright and scalars else None


def _of_matrix(ct: Node, a: Node) -> Node | None:
    """Return c for a cotangent c A, which is that of tr(A f(A)): A commutes with its functions."""
    scale = constant(1.0)
    for _ in range(4):
        if ct is a or ct is swap(a):
            return scale
        if ct.is_multiplication:
            first = _is_repeated(ct.args[0])
        elif ct.is_contraction and len(ct.args) == 2 and len({*ct.payload.out}) == 2:
            first = ct.args[0].shape == ()
        else:
            return None
        factor, ct = ct.args if first else ct.args[::-1]
        if factor.is_contraction and len(factor.args) == 1 and not factor.args[0].shape:
            (factor,) = factor.args  # a number that is repeated
        number = scalar_constant(factor)
        if factor.shape and number is None:
            return None
        scale = scale_by(scale, factor if number is None else constant(number))
    return None


def _is_repeated(x: Node) -> bool:
    """Tell whether an array is one number in every place."""
    return not x.shape or (x.is_contraction and not any(arg.shape for arg in x.args))


def _slope_of(node: Node) -> Node:
    """Return f'(A) for a function of a matrix, or its derivative of first order."""
    a, parameters, _ = _parts(node)
    (slope,) = pushforward([node.payload.function], {point(0): constant(1.0)})
    assert slope is not None  # the function is one of its point
    return function_of(slope, a, parameters)


def _along_itself(node: Node) -> Node:
    """Return A f'(A), the derivative in the direction of the matrix, with which its functions commute."""
    a, parameters, _ = _parts(node)
    (slope,) = pushforward([node.payload.function], {point(0): constant(1.0)})
    assert slope is not None  # the function is one of its point
    slope = _without_one(slope)
    c, below = slope.args if slope.is_division else (None, None)
    if c is not None and below is point(0):
        return function_of(c, a, parameters)
    if c is not None and below is apply("sqrt", point(0)) and c.is_constant:
        return scale_by(c, function_of(below, a, (), "sqrtm"))
    return function_of(apply("multiply", point(0), slope), a, parameters)


# ---------------------------------------------------------------------------- eigenvalues and eigenvectors


def _gaps(x: Node) -> tuple[Node, Node]:
    """Return x_j - x_i, and whether these are two eigenvalues that count as equal."""
    n = x.shape[-1]
    rows, columns = reshape(x, (*x.shape, 1)), reshape(x, (*x.shape[:-1], 1, n))
    largest = reduce("max", apply("abs", x), (x.ndim - 1,))
    bound = reshape(EQUAL * largest, (*largest.shape, 1, 1))
    gap = columns - rows
    return gap, compare("less_equal", apply("abs", gap), bound)


def _own(n: Dim) -> Node:
    return compare("equal", delta(n, n), 1.0)


def simple_eigenvalues(x: Node) -> Node:
    """Return 1 for eigenvalues that are apart from all others, and nan for those that are not."""
    gap, _ = _gaps(x)
    nearest = reduce("min", where(_own(x.shape[-1]), inf, apply("abs", gap)), (x.ndim,))
    largest = reduce("max", apply("abs", x), (x.ndim - 1,))
    return where(compare("less", EQUAL * reshape(largest, (*largest.shape, 1)), nearest), 1.0, nan)


def _eigvalsh(node: Node, tangents: Sequence[Node | None]) -> Node:
    (a,), (da,) = node.args, tangents
    assert da is not None
    v = matrix("eigenvectors", a)
    lead = tuple(range(da.ndim - 2))
    own = lead[len(lead) - (a.ndim - 2) :]
    i, p, q = da.ndim, da.ndim - 2, da.ndim - 1
    slopes = einsum([v, da, v], [(*own, p, i), (*lead, p, q), (*own, q, i)], (*lead, i))
    return scale_by(simple_eigenvalues(node), slopes)


def _eigenvectors(node: Node, tangents: Sequence[Node | None]) -> Node:
    (a,), (da,) = node.args, tangents
    assert da is not None
    x = matrix("eigvalsh", a)
    gap, equal = _gaps(x)
    rates = where(_own(x.shape[-1]), 0.0, where(equal, nan, 1.0 / gap))
    inside = matmul(matmul(swap(node), _symmetric(da)), node)
    return matmul(node, scale_by(rates, inside))


def _spread(node: Node, i: int, ct: Node, prefix: int) -> Node:
    """Pull a cotangent c of eigenvalues back: V diag(c) V^T, as a function of the matrix where c is one."""
    (a,) = node.args
    found = as_function(ct, node) if zeros_of(a) is None else None
    if found is not None:
        whole_shape = (*ct.shape[:-1], *a.shape[-2:])
        factor, formula = factored(found)
        result = function_of(formula, a, found.parameters)
        if factor is not None:
            result = scale_by(reshape(factor, (*factor.shape, 1, 1)) if factor.shape else factor, result)
        return result if result.shape == whole_shape else broadcast_to(result, whole_shape)
    if not is_structured(ct) or (zeros_of(a) is not None and node in postorder([ct])):
        return isotropic_function(a, ct)
    v = matrix("eigenvectors", a)
    lead = tuple(range(ct.ndim - 1))
    own = lead[len(lead) - (a.ndim - 2) :]
    k, p, q = ct.ndim - 1, ct.ndim, ct.ndim + 1
    rates = scale_by(simple_eigenvalues(node), ct)
    return einsum([v, rates, v], [(*own, p, k), (*lead, k), (*own, q, k)], (*lead, p, q))


# ---------------------------------------------------------------------------- forward mode


def _spectra(roots: Sequence[Node], tangents: Mapping[Node, Node]) -> list[Node]:
    """Return the eigenvalues that depend on the independent nodes, but not only through other eigenvalues."""
    order = postorder(roots, lambda node: node in tangents or node.op == "eigvalsh")
    met = dict.fromkeys(node for node in (*roots, *(arg for each in order for arg in each.args)))
    found = [node for node in met if node.op == "eigvalsh" and node not in tangents]
    return [node for node in found if node in dependents(postorder([node]), tangents)]


def _push_across(roots: Sequence[Node], tangents: Mapping[Node, Node], prefix: int) -> list[Node | None] | None:
    """Push with eigenvalues held fixed, and add what comes through them, which a pull gives.

    Where two eigenvalues are equal, neither of them has a tangent. A root that depends on both has one, and the
    cotangent of the root with respect to all eigenvalues gives it.
    """
    spectra = _spectra(roots, tangents)
    if not spectra or any(root.below & CHOICE for root in roots):  # what is not taken has strong zeros, node by node
        return None
    held = {node: placeholder(("held", k), node.shape) for k, node in enumerate(spectra)}
    back = {stand_in: node for node, stand_in in held.items()}
    fixed = pushforward(substitute(roots, held), tangents, prefix)
    changes = pushforward([node.args[0] for node in spectra], tangents, prefix)
    result: list[Node | None] = []
    for root, own in zip(roots, fixed, strict=True):
        total = None if own is None else substitute([own], back)[0]
        slopes = pullback({root: identity(root.shape)}, spectra, root.ndim)
        for node, slope, change in zip(spectra, slopes, changes, strict=True):
            if slope is None or change is None or is_zero(slope):
                continue
            spread = _spread(node, 0, slope, root.ndim)
            rank = change.ndim - prefix
            lead, out = tuple(range(-prefix, 0)), tuple(range(root.ndim))
            inside = tuple(range(root.ndim, root.ndim + rank))
            part = einsum([spread, change], [(*out, *inside), (*lead, *inside)], (*lead, *out))
            total = part if total is None else total + part
        result.append(total)
    return result


def register() -> None:
    """Add the rules to the tables."""
    DIFFERENTIALS.update(spectral=_spectral, isotropic=differential, eigvalsh=_eigvalsh, eigenvectors=_eigenvectors)
    LAWS["spectral"] = Law(
        "theorem of Daleckii and Krein", "d f(A) = V (f[xᵢ, xⱼ] ∘ (Vᵀ dA V)) Vᵀ", "Higham 2008, theorem 3.11"
    )
    LAWS["isotropic"] = Law(
        "differential of an isotropic function", "d(V g Vᵀ) = V (K ∘ E + diag(G diag(E))) Vᵀ, E = Vᵀ dA V",
        "Lewis and Sendov 2001",
    )
    LAWS["eigvalsh"] = Law("differential of an eigenvalue", "d xᵢ = vᵢᵀ dA vᵢ", "MN 9.8; MC 67")
    LAWS["eigenvectors"] = Law(
        "differential of eigenvectors", "d V = V (K ∘ (Vᵀ dA V)), Kᵢⱼ = 1 / (xⱼ - xᵢ)", "MN 9.8"
    )
    PULLS.update(spectral=_pull_direction, isotropic=pulled, eigvalsh=_spread)
    WHOLES[SPECTRUM] = _push_across
