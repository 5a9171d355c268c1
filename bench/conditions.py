"""Check matrices at every condition: ``python -m bench.conditions [--sizes 2-12] [--count 100]``.

Inverses, solutions, determinants, their logarithms, and first and second derivatives of each are
compared with elimination in many digits, beside NumPy's routines in the dtype of the matrix. The
largest error over all matrices of a size may be ten times NumPy's and four units in the last place.
Determinants of singular matrices of every rank are compared to second order, and may be off by what
rounding the matrix costs. What misses is printed, and then the command ends with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import mpmath
import numpy as np

import symdiff as sd
from symdiff.errors import SingularMatrixError
from symdiff.runtime.runners import BACKENDS

#: Digits of the reference: a condition of 10**14 leaves 36.
DIGITS = 50
#: Digits and disturbance of the reference of singular matrices, whose cofactors are limits.
SINGULAR_DIGITS, NEAR = 240, 60
DTYPES: dict[str, type[np.floating[Any]]] = {"float64": np.float64, "float32": np.float32}
#: Conditions go up to 10 to these.
CONDITIONS = {"float64": 14, "float32": 6}
#: What an error may be: so many times NumPy's, and so many units in the last place.
TIMES, UNITS = 10, 4
#: Units in the last place that each row of a singular matrix may be rounded by.
ROUNDED = 4


# ---------------------------------------------------------------------------- matrices


def orthogonal(g: np.random.Generator, n: int) -> Any:
    """Return an orthogonal matrix."""
    return np.linalg.qr(g.normal(size=(n, n)))[0]


def values(g: np.random.Generator, s: Any) -> Any:
    """Return a matrix with these singular values."""
    return orthogonal(g, len(s)) * s @ orthogonal(g, len(s))


def regular(g: np.random.Generator, n: int) -> Any:
    """Return a matrix of condition 4 or less."""
    return values(g, g.uniform(0.5, 2.0, n))


def nearly_dependent(g: np.random.Generator, n: int, c: float) -> Any:
    """Return a matrix whose last row is the sum of the others but for c."""
    a = g.normal(size=(n, n))
    a[-1] = a[:-1].sum(axis=0) + c * g.normal(size=n)
    return a


def powers(g: np.random.Generator, n: int, c: float) -> Any:
    """Return numbers whose quotients are at most 1/c."""
    return 10.0 ** g.uniform(np.log10(c) / 2, -np.log10(c) / 2, n)


#: Takes a generator, the size, and the inverse of a condition.
FAMILIES: dict[str, Callable[[np.random.Generator, int, float], Any]] = {
    "singular values": lambda g, n, c: values(g, c ** np.linspace(0, 1, n)),
    "one large": lambda g, n, c: values(g, np.where(np.arange(n), c, 1.0)),
    "one small": lambda g, n, c: values(g, np.where(np.arange(n), 1.0, c)),
    "rows": lambda g, n, c: regular(g, n) * powers(g, n, c)[:, None],
    "columns": lambda g, n, c: regular(g, n) * powers(g, n, c),
    "ones": lambda g, n, c: np.ones((n, n)) + c * np.diag(np.arange(1.0, n + 1)),
    "Hilbert": lambda g, n, c: 1 / (np.arange(n)[:, None] + np.arange(n) + g.uniform(0.5, 1.5)),
    "Vandermonde": lambda g, n, c: np.vander(np.linspace(0.5, 1.5, n) + g.uniform(0, 0.2, n)),
    "permuted": lambda g, n, c: values(g, c ** np.linspace(0, 1, n))[g.permutation(n)],
    "small pivot": nearly_dependent,
    "large numbers": lambda g, n, c: values(g, np.geomspace(1, 1e-3, n)) / c**10,
    "small numbers": lambda g, n, c: values(g, np.geomspace(1, 1e-3, n)) * c**10,
}
#: Families of numbers that float32 does not hold.
WIDE = ("large numbers", "small numbers")


def drawn(g: np.random.Generator, n: int, dtype: str, count: int, families: Sequence[str]) -> Any:
    """Return a stack of matrices, of the families in turn; the dtype can tell each from a singular one.

    Half of them have a condition near the largest, since the error of one alone may be small by luck.
    """
    digits = CONDITIONS[dtype]
    names = [name for name in families if dtype == "float64" or name not in WIDE]
    found: list[Any] = []
    for k in range(100 * count):
        lost = g.uniform(digits - 1, digits) if k // len(names) % 2 else g.uniform(digits / 4, digits)
        a = np.asarray(FAMILIES[names[k % len(names)]](g, n, 10.0**-lost), DTYPES[dtype])
        if len(found) < count and np.linalg.cond(np.asarray(a, np.float64)) <= 10.0**digits:
            found.append(a)
    return np.array(found)


def of_rank(g: np.random.Generator, n: int, rank: int) -> Any:
    """Return a matrix of small whole numbers of a rank."""
    while True:
        a = g.integers(-3, 4, (n, rank)) @ g.integers(-3, 4, (rank, n))
        if np.linalg.matrix_rank(a.astype(float)) == rank:
            return a.astype(np.float64)


# ---------------------------------------------------------------------------- what is right, and what NumPy finds


def exact(a: Any) -> tuple[Any, Any]:
    """Return the inverse and the determinant of a matrix in the digits that are set."""
    n = len(a)
    rows = [[mpmath.mpf(x) for x in row] + [mpmath.mpf(i == j) for j in range(n)] for i, row in enumerate(a.tolist())]
    return eliminated(rows)


def eliminated(rows: list[list[Any]]) -> tuple[Any, Any]:
    """Return the inverse and the determinant of a matrix beside the identity, whose rows are changed."""
    n = len(rows)
    det = mpmath.mpf(1)
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(rows[i][k]))
        if p != k:
            rows[k], rows[p] = rows[p], rows[k]
            det = -det
        pivot = rows[k][k]
        det *= pivot
        rows[k] = [x / pivot for x in rows[k]]
        for i in range(n):
            factor = rows[i][k]
            if i != k and factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([row[n:] for row in rows]), det


def closed(x: Any, det: Any, logdet: Any, solution: Any, g: Any, back: Any) -> dict[str, Any]:
    """Return values and derivatives of one matrix A by the formulas of a book.

    x is inv(A); g is x.T @ C @ x.T and back x.T @ C[0], for the weights C of an inverse and C[0] of a solution.
    """
    return {
        "inv": x,
        "solve": solution,
        "logdet": logdet,
        "det": det,
        "gradient of logdet": x.T,
        "gradient of det": det * x.T,
        "Jacobian of inv": -np.einsum("ik,lj->ijkl", x, x),
        "Jacobian of solve": -np.einsum("ik,l->ikl", x, solution),
        "Hessian of logdet": -np.einsum("li,jk->ijkl", x, x),
        "Hessian of inv": np.einsum("li,kj->ijkl", x, g) + np.einsum("il,jk->ijkl", g, x),
        "Hessian of solve": np.einsum("li,k,j->ijkl", x, back, solution) + np.einsum("i,jk,l->ijkl", back, x, solution),
        "Hessian of det": det * (np.einsum("lk,ji->ijkl", x, x) - np.einsum("jk,li->ijkl", x, x)),
    }


#: What is computed of one matrix; Hessians of an inverse and a solution are those of a weighted sum of their elements.
NAMES = (
    *("inv", "solve", "logdet", "det"),
    *("gradient of logdet", "gradient of det", "Jacobian of inv", "Jacobian of solve"),
    *("Hessian of logdet", "Hessian of inv", "Hessian of solve", "Hessian of det"),
)


def minors(x: Any, det: Any) -> Any:
    """Return the second derivatives of a determinant from the inverse: 2×2 minors of it by the determinant."""
    n = len(x)
    found = np.zeros((n,) * 4, np.longdouble)
    for i in range(n):
        for k in range(i):
            for j in range(n):
                for m in range(j):
                    one = longer(det * (x[j, i] * x[m, k] - x[m, i] * x[j, k]))
                    found[i, j, k, m] = found[k, m, i, j] = one
                    found[i, m, k, j] = found[k, j, i, m] = -one
    return found


def longer(x: Any) -> Any:
    """Return a number of many digits as a long double, whose exponent has more bits than a double's."""
    if not x:
        return np.longdouble(0.0)
    exponent = mpmath.frexp(x)[1]
    part = mpmath.ldexp(x, -exponent)
    high = float(part)
    return np.ldexp(np.longdouble(high) + np.longdouble(float(part - high)), exponent)


def right(a: Any, b: Any, c: Any) -> dict[str, Any]:
    """Return all values and derivatives by elimination in many digits."""
    with mpmath.workdps(DIGITS):
        x, det = exact(a)
        wide = np.vectorize(mpmath.mpf, otypes=[object])
        b, c = wide(b.astype(float)), wide(c.astype(float))
        all_ = (x, det, mpmath.log(abs(det)), x.dot(b), x.T.dot(c).dot(x.T), x.T.dot(c[0]))
        rounded = [np.vectorize(longer, otypes=[np.longdouble])(v) for v in all_]
        return {**closed(*rounded), "Hessian of det": minors(x, det)}


def of_numpy(a: Any, b: Any, c: Any) -> dict[str, Any]:
    """Return the same by NumPy's routines in the dtype of the matrix."""
    x = np.linalg.inv(a)
    return closed(
        x, np.linalg.det(a), np.linalg.slogdet(a)[1], np.linalg.solve(a, b), x.T.dot(c).dot(x.T), x.T.dot(c[0])
    )


def off(got: Any, want: Any, dtype: str) -> float:
    """Return the largest error over the largest element; 0 where that is near the ends of the dtype's range."""
    limits = np.finfo(DTYPES[dtype])
    most = np.abs(want).max()
    if not 1e3 * limits.tiny <= most <= 1e-3 * limits.max:
        return 0.0
    error = float(np.abs(np.asarray(got, np.longdouble) - want).max() / most)
    return float("inf") if np.isnan(error) else error


# ---------------------------------------------------------------------------- what symdiff finds


def formulas(n: int) -> tuple[list[sd.Array], dict[str, sd.Array]]:
    """Return the inputs and all formulas of a matrix."""
    A, b, C = sd.matrix("A", n, n), sd.vector("b", n), sd.matrix("C", n, n)
    inverse, solution, det, size = sd.inv(A), sd.solve(A, b), sd.det(A), sd.logabsdet(A)
    asked = (
        *(inverse, solution, size, det),
        *(sd.gradient(size, A), sd.gradient(det, A), sd.jacobian(inverse, A), sd.jacobian(solution, A)),
        *(sd.hessian(f, A) for f in (size, sd.sum(inverse * C), C[0] @ solution, det)),
    )
    return [A, b, C], dict(zip(NAMES, asked, strict=True))


class Miss(NamedTuple):
    """An error above its bar, or a matrix that was refused."""

    n: int
    dtype: str
    backend: str
    name: str
    said: str


#: Matrices that are compared at a time, as results of large ones take memory.
_CHUNK = 25


def sweep(
    n: int, dtype: str, backends: Sequence[str], count: int, seed: int, families: Sequence[str] = (*FAMILIES,)
) -> tuple[dict[tuple[str, str], float], list[Miss]]:
    """Return the largest error by backend (and "NumPy") and name, and what misses the bar."""
    g = np.random.default_rng([seed, n, *dtype.encode()])
    stack = drawn(g, n, dtype, count, families)
    b, c = (g.normal(size=(len(stack), *shape)).astype(DTYPES[dtype]) for shape in ((n,), (n, n)))
    inputs, asked = formulas(n)
    kernels = {
        (backend, name): sd.compile(f, inputs, batch=inputs, backend=cast(Any, backend))
        for backend in backends
        for name, f in asked.items()
    }
    errors = dict.fromkeys([*kernels, *(("NumPy", name) for name in NAMES)], 0.0)
    misses = []
    for start in range(0, len(stack), _CHUNK):
        piece = slice(start, start + _CHUNK)
        arrays = stack[piece], b[piece], c[piece]
        got = {}
        for key, kernel in kernels.items():
            try:
                with np.errstate(all="ignore"):
                    got[key] = kernel(*arrays)
            except SingularMatrixError as refusal:
                misses.append(Miss(n, dtype, *key, str(refusal)))
        for k, one in enumerate(zip(*arrays, strict=True)):
            want = right(*one)
            with np.errstate(all="ignore"):
                theirs = of_numpy(*one)
            for name in NAMES:
                error = off(theirs[name], want[name], dtype)
                if error < np.inf:  # an overflow of NumPy's is no bar
                    errors["NumPy", name] = max(errors["NumPy", name], error)
            for key, found in got.items():
                errors[key] = max(errors[key], off(found[k], want[key[1]], dtype))
    units = UNITS * float(np.finfo(DTYPES[dtype]).eps)
    for backend, name in kernels:
        ours, most = errors[backend, name], TIMES * errors["NumPy", name] + units
        if not ours <= most:
            misses.append(Miss(n, dtype, backend, name, f"off by {ours:.1e}, NumPy by {errors['NumPy', name]:.1e}"))
    return errors, misses


def singular(n: int, dtype: str, backends: Sequence[str], count: int, seed: int) -> tuple[float, list[Miss]]:
    """Return the largest error of determinants of singular matrices, over what rounding costs, and what misses."""
    g = np.random.default_rng([seed, n, *dtype.encode(), 1])
    stack = np.array([of_rank(g, n, rank) for rank in range(n) for _ in range(count)], DTYPES[dtype])
    A = sd.matrix("A", n, n)
    det = sd.det(A)
    asked = {"det": det, "gradient of det": sd.gradient(det, A), "Hessian of det": sd.hessian(det, A)}
    kernels = {
        (backend, name): sd.compile(f, [A], batch=[A], backend=cast(Any, backend))
        for backend in backends
        for name, f in asked.items()
    }
    eps = float(np.finfo(DTYPES[dtype]).eps)
    worst, misses = 0.0, []
    got = {key: kernel(stack) for key, kernel in kernels.items()}
    for k, a in enumerate(stack):
        want = at_singular(a)
        for (backend, name), found in got.items():
            order = ("det", "gradient of det", "Hessian of det").index(name)
            # a derivative of the determinant changes by the next one times the change of the matrix
            sizes = np.linalg.svd(np.asarray(a, float))[1]
            scale = np.prod(sizes[: max(n - order - 1, 0)]) * sizes[0]
            error = float(np.abs(found[k] - want[name]).max())
            if not error <= ROUNDED * n * eps * scale:
                said = f"off by {error:.1e} at rank {np.linalg.matrix_rank(a)}, where rounding costs {eps * scale:.1e}"
                misses.append(Miss(n, dtype, backend, name, said))
            worst = max(worst, error / (n * eps * scale) if scale else 0.0)
    return worst, misses


def at_singular(a: Any) -> dict[str, Any]:
    """Return the determinant, cofactors and second cofactors, by those of a regular matrix nearby."""
    n = len(a)
    with mpmath.workdps(SINGULAR_DIGITS):
        g = np.random.default_rng(n)
        near = np.vectorize(mpmath.mpf, otypes=[object])(a.astype(float))
        near = near + g.integers(-(10**6), 10**6, (n, n)).astype(object) * mpmath.mpf(10) ** -NEAR
        x, det = eliminated([[*row, *(mpmath.mpf(i == j) for j in range(n))] for i, row in enumerate(near)])
        slope = np.vectorize(longer, otypes=[np.longdouble])(det * x.T)
        found = {"det": np.array(longer(det)), "gradient of det": slope, "Hessian of det": minors(x, det)}
    # of whole numbers all of them are whole
    return {name: np.where(np.abs(v) < 0.5, 0.0, v) for name, v in found.items()}


# ---------------------------------------------------------------------------- the command


def sizes(text: str) -> list[int]:
    """Read "2-12" or "3,5"."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the errors of each size beside NumPy's; return 1 if any is above its bar."""
    parser = argparse.ArgumentParser("python -m bench.conditions", description="Check matrices at every condition.")
    parser.add_argument("--sizes", type=sizes, default=sizes("2-12"), metavar="N", help="2-12 by default")
    parser.add_argument("--count", type=int, default=100, metavar="N", help="matrices of a size and dtype (100)")
    parser.add_argument("--ranks", type=int, default=3, metavar="N", help="singular matrices of each rank (3)")
    parser.add_argument("--dtype", action="append", choices=[*DTYPES], help="may come more than once; by default both")
    parser.add_argument("--backend", action="append", choices=[*BACKENDS], help="by default all that run matrices")
    parser.add_argument("--family", action="append", choices=[*FAMILIES], help="kinds of matrices; by default all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    backends = given.backend or ["native", "interpreter", "numpy", "auto"]
    misses: list[Miss] = []
    for line in rows(given, backends, misses):
        print(line, flush=True)
    for miss in misses:
        print(f"MISSED: {miss.name}, n = {miss.n}, {miss.dtype}, {miss.backend}: {miss.said}")
    bar = f"at most {TIMES} times NumPy's and {UNITS} units in the last place"
    print(f"{len(misses)} missed" if misses else f"every error is {bar}; singular matrices are right to second order")
    return 1 if misses else 0


def rows(given: argparse.Namespace, backends: Sequence[str], misses: list[Miss]) -> Iterator[str]:
    """Compare size by size, and give the lines of a table."""
    yield f"{'':18s} {'NumPy':>9s} " + " ".join(f"{backend:>11s}" for backend in backends)
    for dtype in given.dtype or DTYPES:
        for n in given.sizes:
            begin = time.monotonic()
            errors, missed = sweep(n, dtype, backends, given.count, given.seed, given.family or [*FAMILIES])
            ratio, missed_ranks = singular(n, dtype, backends, given.ranks, given.seed)
            misses += missed + missed_ranks
            took = time.monotonic() - begin
            yield f"n = {n}, {dtype}, {took:.0f} s; singular: {ratio:.2f} n eps of what rounding costs"
            for name in NAMES:
                yield f"{name:18s} {errors['NumPy', name]:9.1e} " + " ".join(
                    f"{errors[backend, name]:11.1e}" for backend in backends
                )


if __name__ == "__main__":
    sys.exit(main())
