"""Calls of every entry of the library, with what NumPy and SciPy say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

import symdiff as sd
from symdiff import Array
from symdiff.frontend.numpy.library import Entry
from tests.support.rule_tables import (
    M23,
    a23,
    a33,
    a34,
    b33,
    draw,
    regular,
    s0,
    spd,
    t0,
    v3,
    w3,
)


def factors(a: Any) -> tuple[Any, Any]:
    """Return the orthogonal and the triangular factor, of which the diagonal is positive."""
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diagonal(r))
    return q * signs, signs[:, None] * r


def minors(a: Any) -> Any:
    """The adjugate of a regular matrix, by its inverse."""
    return np.linalg.inv(a) * np.linalg.det(a)


def along(function: Callable[[Any], Any], a: Any, *ways: Any) -> Any:
    """The divided difference of a function of matrices, directions in order: a block of a triangular matrix's."""
    n, count = len(a), len(ways) + 1
    zero = np.zeros_like(a)
    rows = [[a if i == k else ways[i] if i + 1 == k else zero for k in range(count)] for i in range(count)]
    return np.real(function(np.block(rows)))[:n, -n:]


class Call(NamedTuple):
    """One way to call an entry: over symbols, over NumPy arrays, and the values to do it at."""

    name: str
    symbolic: Callable[..., Array]
    numpy: Callable[..., Any]
    values: tuple[Any, ...]


def both(name: str, values: tuple[Any, ...], *args: Any, reference: Any = None, **kwargs: Any) -> Call:
    """An entry that NumPy (or ``reference``) has under its name, with plain arguments behind the arrays."""
    library = reference or getattr(np, name, None) or getattr(np.linalg, name, None) or getattr(special, name)
    return Call(
        name,
        lambda *xs: sd.function(name)(*xs, *args, **kwargs),
        lambda *xs: library(*xs, *args, **kwargs),
        values,
    )


def listed(name: str, values: tuple[Any, ...], **kwargs: Any) -> Call:
    return Call(
        name,
        lambda *xs: sd.function(name)(list(xs), **kwargs),
        lambda *xs: getattr(np, name)(list(xs), **kwargs),
        values,
    )


#: Files of ``frontend/numpy`` whose functions have tests of their own, which see that each is called.
COMPOSED = ("choices", "pieces", "sequences", "statistics")


def is_composed(entry: Entry) -> bool:
    """Tell whether an operation is composed of others in one of these files, or leaves out nan."""
    module = entry.call.__module__.removeprefix("symdiff.frontend.numpy.")
    return module in COMPOSED or entry.name.startswith("nan")


CALLS = [
    both("square", (a23,)),
    both("reciprocal", (2.0 + a23,)),
    both("positive", (a23,)),
    both("greater", (a23, v3)),
    both("greater_equal", (a23, v3)),
    both("floor_divide", (a23, 2.0 + v3)),
    both("degrees", (v3,)),
    both("radians", (v3,)),
    Call("relu", sd.relu, lambda x: np.maximum(x, 0), (a23,)),
    both("isnan", (np.array([1.0, np.nan, np.inf]),)),
    both("isinf", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    both("isfinite", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    both("heaviside", (np.array([-1.0, 0.2, 2.0]), np.array([0.3, 0.4, 0.5]))),
    Call("sec", sd.sec, lambda x: 1 / np.cos(x), (v3,)),
    Call("csc", sd.csc, lambda x: 1 / np.sin(x), (1.5 + 0.5 * v3,)),
    Call("cot", sd.cot, lambda x: 1 / np.tan(x), (1.5 + 0.5 * v3,)),
    both("logit", (0.5 + 0.3 * v3,)),
    both("xlog1py", (v3, 2.0 + w3)),
    both("copysign", (a23, v3)),
    both("fmod", (3 * a23, 2.0 + v3)),
    both("fmax", (a23, v3)),
    both("fmin", (a23, v3)),
    both("logaddexp2", (a23, v3)),
    both("isposinf", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    both("isneginf", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    *(
        Call(name, sd.function(name), getattr(special, name), (2.0 + a23, 0.5 + 0.1 * v3))
        for name in ("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "pseudo_huber")
    ),
    Call("exprel", sd.special.exprel, special.exprel, (a23,)),
    Call("ldexp", np.ldexp, lambda x, n: x * 2.0**n, (a23, v3)),
    Call("exp10", sd.special.exp10, special.exp10, (a23,)),
    Call("huber", sd.huber, special.huber, (np.array([0.3, 0.5, 0.7]), a23)),
    *(
        Call(name, sd.function(name), reference, (a23 + 0.01,))
        for name, reference in {
            "relu6": lambda x: np.clip(x, 0, 6),
            "silu": lambda x: x * special.expit(x),
            "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
            "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
            "hard_tanh": lambda x: np.clip(x, -1, 1),
            "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
            "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
            "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x < 1, (x + 1) ** 2 / 4, x)),
            "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
            "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
            "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
            "gelu": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
            "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
            "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
            "logmeanexp": lambda x: np.log(np.mean(np.exp(x))),
            "standardize": lambda x: (
                (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
            ),
        }.items()
    ),
    Call("glu", lambda x: sd.nn.glu(x, axis=0), lambda x: x[:1] * special.expit(x[1:]), (a23,)),
    Call("one_hot", lambda x: sd.one_hot([2, 0], 3) @ x, lambda x: np.eye(3)[[2, 0]] @ x, (v3,)),
    Call("polygamma", lambda x: sd.polygamma(2, x), lambda x: special.polygamma(2, x), (2.0 + v3,)),
    Call("polygamma", lambda x: sd.polygamma(0, x), special.digamma, (2.0 + v3,)),
    both("round", (3 * a23,)),
    both("round", (3 * a23,), 1),
    both("round", (300 * a23,), -2),
    both("rint", (3 * a23,)),
    Call("where", lambda x, y: sd.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, y), (a23, v3)),
    both("clip", (a23, np.array(-0.4), np.array(0.5))),
    Call("clip", lambda x: sd.clip(x, None, 0.5), lambda x: np.clip(x, None, 0.5), (a23,)),
    Call("clip", lambda x: sd.clip(x, a_min=0.1, a_max=None), lambda x: np.clip(x, 0.1, None), (a23,)),
    Call("stop_gradient", lambda x: sd.stop_gradient(x) * x, lambda x: x * x, (v3,)),
    *(both(name, (a23,), reference=f) for name, f in (("sum", np.sum), ("mean", np.mean), ("prod", np.prod))),
    *(both(name, (a23,), axis=0) for name in ("sum", "mean", "prod", "max", "min", "var", "std")),
    *(both(name, (a23,), axis=-1, keepdims=True) for name in ("sum", "mean", "prod", "max", "min", "var", "std")),
    both("sum", (draw((2, 3, 2), 10),), axis=(0, 2)),
    both("mean", (draw((2, 3, 2), 10),), axis=(-1, 0)),
    both("var", (a23,)),
    both("var", (a23,), axis=1, ddof=1),
    both("std", (a23,), ddof=1),
    *(
        both("logsumexp", (a23,), reference=special.logsumexp, **kw)
        for kw in ({}, {"axis": 1}, {"axis": 0, "keepdims": True})
    ),
    Call(
        "logsumexp",
        lambda x, b: sd.logsumexp(x, axis=1, b=b),
        lambda x, b: special.logsumexp(x, axis=1, b=b),
        (a23, np.array([0.5, 2.0, 0.3])),
    ),
    Call(
        "logsumexp",
        lambda x, b: sd.logsumexp(x, None, b, keepdims=True),
        lambda x, b: special.logsumexp(x, None, b, keepdims=True),
        (a23, 1.0 + a23 * a23),
    ),
    *(both(name, (np.array([[1.0, 0.0], [2.0, 3.0]]),), axis=1) for name in ("any", "all")),
    Call("softmax", sd.softmax, lambda x: special.softmax(x, -1), (a23,)),
    both("softmax", (a23,), axis=0),
    both("softmax", (a23,), axis=None),
    Call("log_softmax", sd.log_softmax, lambda x: special.log_softmax(x, -1), (a23,)),
    both("log_softmax", (a23,), axis=0),
    Call("unit", lambda x: sd.unit(x, axis=None), lambda x: x / np.linalg.norm(x), (a23,)),
    both("unit", (a23,), axis=-1, reference=lambda x, axis: x / np.linalg.norm(x, axis=axis, keepdims=True)),
    both("norm", (a23,)),
    both("norm", (v3,), ord=1),
    both("norm", (v3,), ord=2),
    both("norm", (v3,), ord=np.inf),
    both("norm", (v3,), ord=-np.inf),
    both("norm", (a23,), axis=1, keepdims=True),
    both("norm", (a23,), ord="fro"),
    both("cumsum", (a23,)),
    both("cumsum", (a23,), axis=1),
    both("cumprod", (a23,)),
    both("cumprod", (a23,), axis=0),
    both("cummax", (a23,), axis=1, reference=np.maximum.accumulate),
    both("cummin", (a23,), axis=0, reference=np.minimum.accumulate),
    both("matmul", (a23, a34)),
    both("matmul", (v3, a34)),
    both("matmul", (a23, v3)),
    both("matmul", (v3, w3)),
    both("matmul", (draw((2, 1, 2, 3), 11), draw((3, 3, 2), 12))),
    both("matmul", (draw((2, 2, 3), 11), v3)),
    both("matmul", (draw((2,), 13), draw((3, 2, 2), 14))),
    both("dot", (a23, a34)),
    both("dot", (v3, w3)),
    both("dot", (s0, a23)),
    both("dot", (a23, draw((2, 3, 2), 12))),
    both("inner", (a23, a33)),
    both("inner", (v3, w3)),
    both("inner", (s0, v3)),
    both("vdot", (a23, draw((3, 2), 15))),
    both("outer", (v3, draw((2,), 16))),
    both("outer", (draw((2, 2), 17), draw((2,), 16))),
    both("kron", (draw((2, 2), 18), draw((1, 3), 19))),
    both("kron", (draw((2,), 18), draw((3,), 19))),
    both("cross", (v3, w3)),
    both("cross", (a23, v3)),
    both("solve", (regular(20), draw((3, 2), 21))),
    both("solve", (regular(20), v3)),
    both("tensordot", (a23, a34), 1),
    both("tensordot", (a23, draw((2, 3), 22))),
    both("tensordot", (a23, draw((2, 4), 22)), axes=([0], [0])),
    both("tensordot", (v3, draw((2,), 22)), axes=0),
    *(
        Call("einsum", lambda *xs, t=text: sd.einsum(t, *xs), lambda *xs, t=text: np.einsum(t, *xs), values)
        for text, values in (
            ("ij,jk->ki", (a23, a34)),
            ("ii", (a33,)),
            ("ii->i", (a33,)),
            ("ij,ij", (a23, draw(M23, 23))),
            ("...i,i->...", (draw((2, 2, 3), 24), v3)),
            ("i...,i...->...", (draw((2, 3), 24), draw((2, 1), 25))),
            ("ba", (a23,)),
            ("i,j,ij->", (draw((2,), 25), v3, a23)),
            ("iij->j", (draw((2, 2, 3), 26),)),
        )
    ),
    both("det", (a33,)),
    Call("logdet", sd.logdet, lambda a: np.log(np.linalg.det(a)), (regular(27),)),
    Call("logabsdet", sd.logabsdet, lambda a: np.linalg.slogdet(a)[1], (regular(28)[::-1],)),
    both("inv", (regular(29),)),
    Call("adjugate", sd.linalg.adjugate, minors, (a33,)),
    Call(  # the adjugate of a 3×3 matrix is quadratic, so a difference is exact
        "adjugate_differential",
        sd.function("adjugate_differential"),
        lambda a, e: (minors(a + e) - minors(a - e)) / 2,
        (a33, b33),
    ),
    both("cholesky", (spd,)),
    Call(
        "slogdet",
        lambda a: sd.slogdet(a)[0] * sd.slogdet(a)[1],
        lambda a: np.linalg.slogdet(a)[0] * np.linalg.slogdet(a)[1],
        (regular(30)[::-1],),
    ),
    both("matrix_rank", (a23,)),
    *(both("matrix_power", (regular(31),), n) for n in (0, 1, 3, -2)),
    Call(
        "multi_dot",
        lambda *xs: sd.linalg.multi_dot(list(xs)),
        lambda *xs: np.linalg.multi_dot(list(xs)),
        (a23, a34, a34.T),
    ),
    both("kron", (v3, draw((2, 2), 18))),
    both("kron", (draw((2, 1, 2), 18), draw((2, 2), 19))),
    both("cross", (draw((3, 2), 18), a23), axisa=0, axisc=0),
    both("cross", (draw((3, 2), 18), draw((3, 2), 19)), axis=0),
    both("vecdot", (draw((2, 1, 3), 18), a23)),
    both("vecdot", (draw((3, 2), 18), draw((3, 1), 19)), axis=0),
    both("matvec", (draw((2, 2, 3), 18), a23)),
    both("vecmat", (draw((2, 1, 3), 18), draw((2, 3, 2), 19))),
    *(both("norm", (v3,), ord=p) for p in (3, 2.5, -1, 0.5, 0)),
    *(both("norm", (a23,), ord=p) for p in (1, -1, np.inf, -np.inf)),
    both("norm", (draw((2, 2, 3), 18),), 1, (2, 0)),
    both("norm", (draw((2, 2, 3), 18),), ord=np.inf, axis=(0, -1), keepdims=True),
    both("norm", (a23,), ord=3, axis=0, keepdims=True),
    both("vector_norm", (draw((2, 2, 3), 18),), axis=(0, 2), ord=3, keepdims=True),
    both("vector_norm", (a23,)),
    both("matrix_norm", (draw((2, 2, 3), 18),), ord=1),
    both("matrix_norm", (a23,)),
    *(both("cond", (regular(32),), p=p) for p in (1, -1, np.inf, "fro")),
    Call("cholesky", lambda a: sd.cholesky(a, upper=True), lambda a: np.linalg.cholesky(a).T, (spd,)),
    *(
        Call(
            "solve_triangular",
            lambda a, b, kw=kw: sd.solve_triangular(a, b, **kw),
            lambda a, b, kw=kw: linalg.solve_triangular(a, b, **kw),
            (regular(33), draw((3, 2), 34)),
        )
        for kw in ({}, {"lower": True}, {"trans": 1}, {"trans": "T", "lower": True, "unit_diagonal": True})
    ),
    *(
        Call(
            "cho_solve",
            lambda a, b, lower=lower: sd.cho_solve(sd.linalg.cho_factor(a, lower), b),
            np.linalg.solve,
            (spd, b),
        )
        for lower, b in ((True, v3), (False, draw((3, 2), 34)))
    ),
    Call("cho_factor", lambda a: sd.linalg.cho_factor(a)[0], lambda a: np.triu(linalg.cho_factor(a)[0]), (spd,)),
    *(
        Call("qr", lambda a, k=k: sd.qr(a)[k], lambda a, k=k: factors(a)[k], (values,))
        for k in (0, 1)
        for values in (draw((4, 2), 35), draw((2, 3), 36))
    ),
    Call("qr", lambda a: sd.qr(a, mode="r"), lambda a: factors(a)[1], (draw((3, 2), 35),)),
    both("pinv", (draw((3, 2), 35),)),
    both("pinv", (draw((2, 2, 3), 35),)),
    both("tensorinv", (regular(36, 4).reshape(2, 2, 2, 2),)),
    both("tensorinv", (regular(36, 4).reshape(4, 2, 2),), ind=1),
    both("tensorsolve", (regular(36, 4).reshape(2, 2, 2, 2), draw((2, 2), 37))),
    both("tensorsolve", (regular(36, 4).reshape(2, 2, 4), draw((4,), 37)), axes=(0, 1)),
    Call("block_diag", sd.block_diag, linalg.block_diag, (a23, v3, s0, draw((2, 1), 38))),
    Call("toeplitz", sd.toeplitz, linalg.toeplitz, (v3,)),
    Call("toeplitz", sd.toeplitz, linalg.toeplitz, (v3, draw((2,), 38))),
    both("vander", (v3,)),
    both("vander", (v3,), 2, increasing=True),
    Call("expm", sd.expm, linalg.expm, (regular(39, 2),)),
    Call(
        "expm_frechet",
        lambda a, e: sd.linalg.expm_frechet(a, e)[1],
        lambda a, e: linalg.expm_frechet(a, e)[1],
        (regular(39, 2), draw((2, 2), 12)),
    ),
    *(
        Call(name, sd.function(name), getattr(linalg, name), (2.0 + v3,))
        for name in ("circulant", "companion", "fiedler")
    ),
    Call("hankel", sd.linalg.hankel, linalg.hankel, (v3, w3)),
    Call("hankel", sd.linalg.hankel, linalg.hankel, (v3,)),
    Call("leslie", lambda f: sd.linalg.leslie(f, f[:2]), lambda f: linalg.leslie(f, f[:2]), (v3,)),
    *(
        Call(
            "convolution_matrix",
            lambda a, n=n, mode=mode: sd.linalg.convolution_matrix(a, n, mode),
            lambda a, n=n, mode=mode: linalg.convolution_matrix(a, n, mode),
            (v3,),
        )
        for n, mode in ((2, "full"), (4, "same"), (2, "same"), (5, "valid"), (1, "full"))
    ),
    Call("solve_sylvester", sd.solve_sylvester, linalg.solve_sylvester, (a33, regular(7), b33)),
    *(
        Call("polar", lambda a, k=k: sd.linalg.polar(a)[k], lambda a, k=k: linalg.polar(a)[k], (regular(39, 2),))
        for k in (0, 1)
    ),
    Call("polar", lambda a: sd.linalg.polar(a, "left")[1], lambda a: linalg.polar(a, "left")[1], (regular(39, 2),)),
    Call(
        "eigh_tridiagonal",
        lambda d, e: sd.linalg.eigh_tridiagonal(d, e[:2], eigvals_only=True),
        lambda d, e: linalg.eigh_tridiagonal(d, e[:2], eigvals_only=True),
        (np.array([1.0, 2.5, 4.0]), w3),
    ),
    Call("eigvalsh", sd.eigvalsh, lambda a: np.linalg.eigvalsh((a + a.mT) / 2), (regular(38, 2, (2,)),)),
    Call("eigh", lambda a: sd.eigh(a)[0], lambda a: np.linalg.eigvalsh((a + a.T) / 2), (regular(38, 2),)),
    Call("simple_eigenvalues", sd.function("simple_eigenvalues"), np.ones_like, (np.array([-1.0, 2.0, 3.0, 5.0]),)),
    Call(
        "simple_eigenvectors",
        sd.function("simple_eigenvectors"),
        lambda a: np.linalg.eigh((a + a.T) / 2).eigenvectors,
        (regular(38, 2),),
    ),
    Call(
        "eigenvectors",
        sd.linalg.eigenvectors,
        lambda a: np.linalg.eigh((a + a.T) / 2).eigenvectors,
        (regular(38, 2),),
    ),
    *(
        Call(
            name,
            lambda a, name=name: sd.function(name)((a + a.T) / 2),
            lambda a, name=name: getattr(linalg, name)((a + a.T) / 2),
            (regular(39, 2),),
        )
        for name in ("expm", "logm", "sqrtm")
    ),
    Call(
        "isotropic",
        lambda a: sd.function("isotropic")(a @ a.T, np.sum(sd.eigvalsh(a @ a.T)) * sd.eigvalsh(a @ a.T) ** 2),
        lambda a: np.trace(a @ a.T) * (a @ a.T) @ (a @ a.T),
        (regular(39, 2),),
    ),
    *(
        Call(
            name,
            lambda a, b, name=name: sd.function(name)(a @ a.T, sd.eigvalsh(a @ a.T) ** 2, b + b.T),
            lambda a, b: a @ a.T @ (b + b.T) + (b + b.T) @ a @ a.T,
            (regular(39, 2), draw((2, 2), 41)),
        )
        for name in ("isotropic_differential", "isotropic_transpose")
    ),
    Call(
        "funm",
        lambda a, t: sd.funm((a + a.T) / 2, lambda x: np.sin(t * x)),
        lambda a, t: linalg.sinm(t * (a + a.T) / 2),
        (regular(39, 2), s0),
    ),
    *(
        Call(
            f"{name}_differential{suffix}",
            lambda a, b, name=name, n=n, suffix=suffix: sd.function(f"{name}_differential{suffix}")(
                a @ a.T, *[b + k * b.T @ b + b.T for k in range(n)]
            ),
            lambda a, b, name=name, n=n: along(
                getattr(linalg, name), a @ a.T, *[b + k * b.T @ b + b.T for k in range(n)]
            ),
            (regular(39, 2), draw((2, 2), 41)),
        )
        for name in ("expm", "logm", "sqrtm")
        for n, suffix in ((1, ""), (2, "2"))
    ),
    *(
        Call(
            f"funm_differential{suffix}",
            lambda a, b, n=n, suffix=suffix: sd.function(f"funm_differential{suffix}")(
                a @ a.T, np.sin, *[b + k * b.T @ b + b.T for k in range(n)]
            ),
            lambda a, b, n=n: along(linalg.sinm, a @ a.T, *[b + k * b.T @ b + b.T for k in range(n)]),
            (regular(39, 2), draw((2, 2), 41)),
        )
        for n, suffix in ((1, ""), (2, "2"))
    ),
    both("svdvals", (draw((2, 1), 40),)),
    both("svdvals", (draw((2, 2), 40),)),
    *(
        Call(
            "svd",
            lambda a, k=k: sd.svd(a, full_matrices=False)[k] ** 2,
            lambda a, k=k: np.linalg.svd(a, full_matrices=False)[k] ** 2,
            (draw(shape, 41),),
        )
        for k in range(3)
        for shape in ((2, 2), (1, 3))
    ),
    *(
        Call("lstsq", lambda a, b, k=k: sd.lstsq(a, b)[k], lambda a, b, k=k: np.linalg.lstsq(a, b)[k], (x, y))
        for k in (0, 1)
        for x, y in ((draw((3, 2), 42), v3), (draw((3, 1), 42), draw((3, 2), 43)))
    ),
    *(both("norm", (draw((2, 2), 44),), ord=p) for p in (2, -2, "nuc")),
    both("norm", (draw((2, 1, 3), 44),), ord="nuc", axis=(2, 0), keepdims=True),
    *(both("cond", (draw((2, 2), 44),), p=p) for p in (None, -2)),
    both("real", (v3,)),
    both("imag", (v3,)),
    both("polyval", (v3, a23)),
    both("ptp", (a23,), axis=1),
    both("average", (a23,), axis=0),
    Call("average", lambda a, w: sd.average(a, 1, weights=w), lambda a, w: (a @ w) / np.sum(w), (a23, np.abs(v3) + 1)),
    both("atleast_1d", (s0,)),
    both("atleast_2d", (v3,)),
    both("atleast_3d", (a23,)),
    both("trace", (draw((2, 3, 3), 33),), axis1=1, axis2=2),
    both("trace", (a33,)),
    both("trace", (a34,), 1),
    both("trace", (draw((3, 3, 2), 32),), offset=-1),
    both("diag", (a34,)),
    both("diag", (a34,), k=-1),
    both("diag", (v3,)),
    both("diag", (v3,), k=1),
    both("diag", (v3,), k=-2),
    both("diagonal", (a34,), offset=2),
    both("diagonal", (draw((2, 3, 3), 33),), 0, 1, 2),
    both("tril", (a34,)),
    both("tril", (a34,), k=-1),
    both("triu", (draw((2, 3, 3), 34),), k=1),
    both("reshape", (a23,), (3, 2)),
    both("reshape", (a23,), -1),
    both("reshape", (draw((2, 3, 2), 35),), (4, -1)),
    both("ravel", (a23,)),
    both("transpose", (a23,)),
    both("transpose", (draw((2, 3, 2), 35),), (1, 2, 0)),
    Call("matrix_transpose", sd.matrix_transpose, lambda a: np.swapaxes(a, -1, -2), (draw((2, 3, 2), 35),)),
    both("swapaxes", (draw((2, 3, 1), 35),), 0, 2),
    both("moveaxis", (draw((2, 3, 4), 35),), 0, -1),
    both("moveaxis", (draw((2, 3, 4), 35),), [0, 2], [1, 0]),
    both("expand_dims", (a23,), 1),
    both("expand_dims", (a23,), (0, -1)),
    both("squeeze", (draw((1, 3, 1), 36),)),
    both("squeeze", (draw((1, 3, 1), 36),), axis=0),
    both("broadcast_to", (draw((3, 1), 37),), (2, 3, 2)),
    listed("concatenate", (a23, draw((1, 3), 38))),
    listed("concatenate", (a23, draw((2, 1), 38)), axis=-1),
    listed("concatenate", (a23, v3), axis=None),
    listed("stack", (v3, w3)),
    listed("stack", (v3, w3), axis=-1),
    listed("stack", (s0, t0)),
    listed("hstack", (v3, w3)),
    listed("hstack", (a23, draw((2, 1), 38))),
    listed("hstack", (s0, v3)),
    listed("vstack", (v3, a23)),
    listed("column_stack", (v3, a33)),
    Call(
        "block",
        lambda a, b, c, d: sd.block([[a, b], [c, d]]),
        lambda a, b, c, d: np.block([[a, b], [c, d]]),
        (a23, draw((2, 1), 38), draw((1, 3), 39), draw((1, 1), 40)),
    ),
    Call("block", lambda a, b: sd.block([a, b]), lambda a, b: np.block([a, b]), (v3, w3)),
    both("take", (a34,), [3, 0, -1, 0], axis=1),
    both("take", (a34,), [[0, 5], [11, 0]]),
    both("flip", (a23,)),
    both("flip", (a23,), axis=1),
    both("roll", (a23,), 2),
    both("roll", (a23,), -1, axis=1),
    both("repeat", (a23,), 2),
    both("repeat", (a23,), 2, axis=1),
    both("tile", (a23,), 2),
    both("tile", (a23,), (2, 1, 2)),
    both("diff", (a34,)),
    both("diff", (a34,), n=2, axis=0),
    *(
        Call(
            name,
            lambda x, n=name, args=args, kw=kw: sd.function(n)(*args, **kw) * x,
            lambda x, n=name, args=args, kw=kw: getattr(np, n)(*args, **kw) * x,
            (s0,),
        )
        for name, args, kw in (
            ("eye", (3,), {}),
            ("eye", (2, 3), {}),
            ("eye", (3,), {"k": 1}),
            ("zeros", ((2, 3),), {}),
            ("ones", (3,), {}),
        )
    ),
    Call("zeros_like", lambda x: sd.zeros_like(x) + x, lambda x: np.zeros_like(x) + x, (a23,)),
    Call("ones_like", lambda x: sd.ones_like(x) * x, lambda x: np.ones_like(x) * x, (a23,)),
    Call("full_like", lambda x, y: sd.full_like(x, y) * x, lambda x, y: np.full_like(x, y) * x, (a23, s0)),
    *(
        Call(
            name,
            lambda x, y, n=name: sd.where(sd.function(n)(x > 0, y > 0), x, y),
            lambda x, y, n=name: np.where(getattr(np, n)(x > 0, y > 0), x, y),
            (v3, w3),
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    ),
    Call("invert", lambda x: sd.where(np.invert(x > 0), x, 2 * x), lambda x: np.where(~(x > 0), x, 2 * x), (v3,)),
    Call(
        "select",
        lambda x, y: sd.select([x > 0, y > 0], [x, 2 * y], 7.0),
        lambda x, y: np.select([x > 0, y > 0], [x, 2 * y], 7.0),
        (v3, w3),
    ),
    both("pad", (a23,), ((1, 2), (0, 3))),
    both("pad", (a23,), 1),
    *(
        Call("shift", lambda x, k=k: sd.function("shift")(x, k), lambda x, k=k: np.eye(3, k=-k) @ x, (a34,))
        for k in (-4, -1, 0, 2)
    ),
    Call("shift", lambda x: sd.function("shift")(x, 1, axis=-1), lambda x: x @ np.eye(3, k=1), (a23,)),
    Call("skew", sd.skew, lambda x: np.cross(x, np.eye(3)).T, (v3,)),
    Call("skew", sd.skew, lambda x: np.stack([np.cross(row, np.eye(3)).T for row in x]), (a23,)),
    *(
        Call(
            "arange",
            lambda x, args=args: sd.arange(*args) * x,
            lambda x, args=args: np.arange(*args) * x,
            (v3,),
        )
        for args in ((3,), (2, 5), (7, 0, -3))
    ),
    Call(
        "take_at",
        lambda x, at: sd.function("take_at")(x, at, 1),
        lambda x, at: x[:, at],
        (a23, np.array([2, 0, 0, 2])),
    ),
    Call(
        "take_at",
        lambda x, at: sd.function("take_at")(x, at, axis=1, shared=1),
        lambda x, at: np.take_along_axis(x, at, 1),
        (a34, np.array([[3, 0], [1, 1], [0, 2]])),
    ),
    Call("add_at", lambda x, at: sd.add_at(x, at, 4), lambda x, at: np.eye(4)[at].T @ x, (a34, np.array([3, 0, 3]))),
    Call(
        "add_at",
        lambda x, at: sd.add_at(x, at, 4, axis=1, shared=1),
        lambda x, at: np.einsum("ij,ijk->ik", x, np.eye(4)[at]),
        (a23, np.array([[3, 0, 3], [1, 1, 1]])),
    ),
    *(
        Call(
            name,
            lambda x, name=name, degree=degree: sd.function(name)(degree, x),
            lambda x, name=name, degree=degree: getattr(special, name)(degree, x),
            (v3,),
        )
        for name in ("eval_legendre", "eval_chebyt", "eval_chebyu", "eval_hermite", "eval_hermitenorm", "eval_laguerre")
        for degree in (0, 1, 4)
    ),
    Call(
        "eval_genlaguerre",
        lambda x: sd.special.eval_genlaguerre(3, 0.5, x),
        lambda x: special.eval_genlaguerre(3, 0.5, x),
        (v3,),
    ),
    Call("factorial", sd.factorial, special.factorial, (v3,)),
    Call(
        "sph_harm_y_real",
        lambda x: sd.special.sph_harm_y_real(4, -3, x, 2.0 * x),
        lambda x: special.sph_harm_y(4, -3, x, 2.0 * x).real,
        (v3,),
    ),
    Call(
        "sph_harm_y_imag",
        lambda x: sd.special.sph_harm_y_imag(5, 2, x, 2.0 * x),
        lambda x: special.sph_harm_y(5, 2, x, 2.0 * x).imag,
        (v3,),
    ),
    Call("multigammaln", lambda x: sd.multigammaln(x, 3), lambda x: special.multigammaln(x, 3), (2.0 + v3,)),
    Call("sici", lambda x: sum(sd.special.sici(x**2)), lambda x: sum(special.sici(x**2)), (v3,)),
    Call("fresnel", lambda x: sum(sd.special.fresnel(x)), lambda x: sum(special.fresnel(x)), (v3,)),
    Call("airy", lambda x: sum(sd.special.airy(x)), lambda x: sum(special.airy(x)), (v3,)),
    Call("divmod", lambda x: sum(np.divmod(x, 2.0)), lambda x: sum(np.divmod(x, 2.0)), (v3,)),
]


def identify(call: Call) -> str:
    return f"{call.name}-{CALLS.index(call)}"
