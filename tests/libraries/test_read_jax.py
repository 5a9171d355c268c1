"""Functions of JAX read as formulas: their values and gradients are JAX's own. Runs where JAX is installed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.errors import ArgumentError, LimitError, UnsupportedError

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp, lax = jax.numpy, jax.lax

from tests.frontend.test_jax_names import ROWS  # noqa: E402 - it needs JAX

RNG = np.random.default_rng(4)
X, Y, A, S = RNG.uniform(0.2, 0.9, 4), RNG.uniform(0.2, 0.9, 4), RNG.uniform(0.2, 0.9, (4, 3)), np.eye(3) * 3 + 0.2


def leaves(tree: Any) -> list[Any]:
    found: list[Any] = jax.tree.leaves(tree, is_leaf=lambda one: isinstance(one, Array))
    return found


def compare(function: Callable[..., Any], *args: Any, gradient: bool = True) -> Any:
    """Compare values with JAX's; print the gradient of the sum of squares of all results, and compare it if asked."""
    read = sd.from_jax(function, *args)
    real = [np.asarray(arg) for arg in args if np.asarray(arg).dtype.kind == "f"]
    symbols = [sd.symbol(name, value.shape) for name, value in zip(names_of(function, args), real, strict=True)]
    got = sd.compile(leaves(read), symbols, backend="numpy")(*real)
    theirs = leaves(function(*[jnp.asarray(one) if isinstance(one, np.ndarray) else one for one in args]))
    for one, want in zip(got, theirs, strict=True):
        assert one.shape == np.shape(want)
        kind = complex if np.iscomplexobj(want) else float
        np.testing.assert_allclose(one, np.asarray(want, kind), rtol=1e-12, atol=1e-13)
    parts = [part for one in leaves(read) for part in ([one] if isinstance(one, Array) else one.parts)]
    loss = sum((sd.sum(sd.real(one) ** 2) for one in parts), sd.asarray(0.0))
    slopes = [sd.gradient(loss, symbol, disconnected="zero") for symbol in symbols]
    assert all(map(str, slopes))
    if not gradient:
        return read

    def total(*given: Any) -> Any:
        rest = iter(given)
        whole = [next(rest) if np.asarray(arg).dtype.kind == "f" else arg for arg in args]
        results = [one if jnp.iscomplexobj(one) else jnp.asarray(one, float) for one in leaves(function(*whole))]
        return sum(jnp.sum(jnp.real(one) ** 2 + jnp.imag(one) ** 2) for one in results)

    found = sd.compile(slopes, symbols, backend="numpy")(*real)
    for one, want in zip(found, jax.jacfwd(total, tuple(range(len(real))))(*real), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-9, atol=1e-10)
    return read


def names_of(function: Callable[..., Any], args: Any) -> list[str]:
    from symdiff.libraries.read_jax import _named

    return [name for name, one in _named(function, args) if np.asarray(one).dtype.kind == "f"]


#: What has no counterpart, by what the message says.
REFUSED = "complex|no counterpart|positions|depends on the arguments|reflections decide"
#: Not to be traced with symbols in the place of numbers, by JAX itself; in single precision within; kinks.
UNTRACED = {"numpy.choose", "numpy.compress", "numpy.trim_zeros", "linalg.tensordot", "nn.dot_product_attention"}


@pytest.mark.parametrize("title", [title for title in ROWS if title not in UNTRACED])
def test_functions_of_jax_have_their_values(title: str) -> None:
    row = ROWS[title]
    try:
        compare(row.theirs, *row.args, gradient=False)
    except UnsupportedError as error:
        if not re.search(rf"at .*\.py:\d+.*({REFUSED})", str(error)):
            raise
        pytest.skip(str(error))


def newton(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 6, lambda k, z: 0.5 * (z + x / z) + 0.0 * k, y)


def horner(x: Any, c: Any) -> Any:
    return lax.scan(lambda p, one: (p * x + one, p), jnp.zeros_like(x), c)


def by_position(x: Any) -> Any:
    return lax.fori_loop(0, 4, lambda k, s: s + x[k] * x[(k + 1) % 4], 0.0)


def counted(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.sin(s[1]) + x), (0, x))[1]


def branch(x: Any, y: Any) -> Any:
    return lax.cond(x.sum() > y.sum(), lambda: x * y, lambda: x - y)


def network(w: Any, b: Any, x: Any) -> Any:
    return jax.nn.log_softmax(jax.nn.silu(x @ w + b))


def layers(x: Any, w: Any) -> Any:
    out = lax.conv_general_dilated(x, w, (1, 2), "SAME", rhs_dilation=(2, 1))
    return lax.reduce_window(out, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _softened(x: Any) -> Any:
    return jnp.log1p(jnp.exp(x))


own: Any = jax.custom_jvp(_softened)


own.defjvp(lambda x, t: (own(x[0]), jax.nn.sigmoid(x[0]) * t[0]))

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (newton, (X, Y)),
    (horner, (X, Y)),
    (by_position, (X,)),
    (counted, (X,)),
    (branch, (X, Y)),
    (branch, (Y, X)),
    (network, (A, A[0], X)),
    (layers, (RNG.normal(size=(2, 3, 6, 8)), RNG.normal(size=(4, 3, 3, 2)))),
    (own, (X,)),
    (lambda x: x.at[jnp.array([0, 2, 0])].add(x[1:]), (X,)),
    (lambda x: x.at[jnp.array([0, 2])].set(x[1] * x[:2]), (X,)),
    (lambda x: x.at[1:3].multiply(3.0).at[0].max(0.5), (X,)),
    (lambda a: a[jnp.array([0, 2]), jnp.array([1, 1])] + a[::2, -1], (A,)),
    (lambda a: a[1:, None, ::-1] * a[jnp.ix_(jnp.array([3, 0, 1]), jnp.array([2, 0, 1]))], (A,)),
    (lambda a: lax.dynamic_update_slice(a, a[:2, :2] ** 2, (1, 1)), (A,)),
    (lambda a: jnp.pad(a, ((1, 2), (0, 1)), constant_values=2.0) * 2, (A,)),
    (lambda a: jnp.pad(a, 1, mode="reflect"), (A,)),
    (lambda a: lax.pad(a, 0.0, ((1, 2, 1), (0, 1, 2))), (A,)),
    (lambda a: lax.pad(a, 0.0, ((1, -1, 1), (0, 1, 2))), (A,)),
    (lambda a: lax.pad(a, 3.0, ((1, 0, 1), (-1, 1, 0))), (A,)),
    (lambda s: jnp.linalg.cholesky(s @ s.T) @ jnp.linalg.inv(s), (S,)),
    (lambda s, x: jnp.linalg.solve(s, x[:3]) + jax.scipy.linalg.solve_triangular(s, x[1:], lower=True, trans=1),
     (S, X)),
    (lambda s: jnp.linalg.slogdet(s)[1] + jnp.linalg.det(s) + jnp.linalg.eigvalsh(s + s.T).sum(), (S,)),
    (lambda x, y: jnp.where(x > y, x, y) + jnp.clip(x, 0.3, 0.6), (X, Y)),
    (lambda x: jax.nn.softmax(x) + jax.nn.logsumexp(x), (X,)),
    (lambda a: jax.nn.softmax(a, axis=0) * jax.nn.logsumexp(a, axis=1, keepdims=True), (A,)),
    (lambda a: a - a.max(1, keepdims=True) - jnp.log(jnp.exp(a - a.max(1, keepdims=True)).sum(1, keepdims=True)), (A,)),
    (lambda x: jnp.sort(x)[1:] * jnp.cumsum(x)[:-1] + jnp.median(x), (X,)),
    (lambda x: {"a": x * jax.random.normal(jax.random.key(0), (4,)), "b": (x[0], [x.sum()])}, (X,)),
    (lambda x, k: x[k] * k, (X, np.array([1, 3]))),
    (jax.vmap(lambda x: x * jnp.sum(x)), (A,)),
    (jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 3)), (X,)),
    (jax.checkpoint(lambda x: jnp.tanh(x) * x), (X,)),
    (jax.jit(lambda x: jnp.einsum("i,j,i->j", x, x, x)), (X,)),
    (lambda x: jax.jvp(jnp.tanh, (x,), (x**2,))[1], (X,)),
    (lambda x: lax.top_k(x, 3)[0], (X,)),
    (lambda a: lax.top_k(a, 2)[0] * lax.top_k(-a, 2)[0], (A,)),
    (lambda x: lax.sort((x, x * 2), num_keys=1)[0] * jnp.arange(4.0), (X,)),
    (lambda a: lax.cumlogsumexp(a, axis=1) + lax.cumlogsumexp(a, axis=0, reverse=True), (A,)),
    (lambda x: lax.cumlogsumexp(800 * x), (X,)),
    # positions that the numbers decide
    (lambda x: x[jnp.argmax(x)] * x + x[jnp.argsort(x)] ** 2, (X,)),
    (lambda a: a[jnp.argmax(a[:, 0])] * a[jnp.argmax(a[:, 1]), jnp.argmin(a[0])], (A,)),
    (lambda a: jnp.take_along_axis(a, jnp.argsort(a, axis=1), axis=1) * jnp.arange(3.0), (A,)),
    (lambda a: jnp.take_along_axis(a, jnp.argmax(a, axis=0)[None], axis=0) ** 2, (A,)),
    (lambda x, y: lax.sort((x, y), num_keys=1)[1] * jnp.arange(4.0), (X, Y)),
    (lambda x: lax.top_k(x, 2)[0] * x[lax.top_k(x, 2)[1]], (X,)),
    (lambda x, y: x[jnp.lexsort((y, jnp.round(4 * x)))] * jnp.arange(4.0), (X, Y)),
    (lambda x, y: lax.sort((jnp.round(2 * x), jnp.round(y), x * y), num_keys=2)[2] * jnp.arange(4.0), (X, Y)),
    (lambda x, a: x * jnp.searchsorted(jnp.sort(a[:, 0]), x), (X, A)),
    (lambda a, x: a[jnp.clip(jnp.floor(3 * x), 0, 3).astype(int)] ** 2, (A, X)),
    (lambda x: lax.dynamic_slice(x, (jnp.argmax(x),), (2,)) ** 2, (X,)),
    (lambda a: a.at[:, jnp.array([0, 0, 2])].max(a[:, ::-1]), (A,)),
    (lambda x: jnp.zeros(2).at[jnp.array([0, 1, 0, 0])].min(-x), (X,)),
    (lambda a: jnp.tril(a, -1) ** 2 + jnp.triu(a, -1) ** 3 + jnp.tril(a, 1) * a, (A,)),
    (lambda a: lax.dynamic_slice(a, (jnp.argmax(a[:2, 0]), jnp.argmin(a[0, :2])), (2, 2)) ** 2, (A,)),
    (lambda a, x: jax.vmap(lambda row, k: lax.dynamic_slice(row, (k,), (2,)))(a, jnp.floor(2 * x).astype(int)), (A, X)),
    (lambda a: jax.vmap(lambda k: lax.dynamic_slice(a, (k, 1), (2, 2)))(jnp.argsort(a[:3, 0])), (A,)),
    # written to positions that the numbers decide
    (lambda x: x.at[jnp.argmax(x)].set(0.5) * x.at[jnp.argmin(x)].add(x[0]), (X,)),
    (lambda a, x: a.at[jnp.argsort(x)[:2]].set(a[1:3] ** 2) + a.at[jnp.argsort(x)[1:3]].add(2 * a[:2]), (A, X)),
    (lambda a, x: a.at[jnp.argsort(x)[:3], 1].max(0.5) + a.at[jnp.argsort(x)[:3], 0].min(x[:3]), (A, X)),
    (lambda x, y: x.at[jnp.floor(4 * y).astype(int)].set(y), (X, np.array([0.1, 0.2, 0.6, 0.55]))),
    (lambda x, y: x.at[jnp.floor(8 * y).astype(int)].add(y, mode="drop"), (X, Y)),
    (lambda x, y: x.at[jnp.floor(8 * y).astype(int)].add(y, mode="clip"), (X, Y)),
    (jax.vmap(lambda row: row.at[jnp.argmax(row)].set(row[0] ** 2)), (A,)),
    (lambda a, x: lax.dynamic_update_slice(a, a[:2, :2] ** 2, (jnp.argmax(x[:3]), 0)), (A, X)),
    (lambda a, x: lax.dynamic_update_slice(a, a**2, (jnp.argmax(x), 0)), (A, X)),
    (lambda a: jnp.take_along_axis(a, jnp.argsort(a, axis=0), axis=0) ** 2, (A,)),
    (lambda a, x: jax.vmap(lambda row, s: lax.dynamic_update_slice(row, s, (jnp.argmax(row),)))(a, x[:, None]), (A, X)),
    (lambda a, x: jax.ops.segment_sum(x**2, jnp.argmax(a, axis=1), num_segments=3), (A, X)),
    (jax.grad(lambda x: jnp.sum(jnp.sort(x) ** 3 * jnp.arange(4.0))), (X,)),
    (lambda x: lax.fori_loop(1, 300, lambda k, a: a.at[k].set(0.5 * jnp.sin(a[k - 1]) + a[k]), jnp.tile(x, 75)), (X,)),
    # solutions and their derivatives within the function
    (jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), (S,)),
    (jax.grad(lambda s, x: jnp.sum(jnp.linalg.solve(s, x[1:]) ** 2)), (S, X)),
    (jax.hessian(lambda s: jnp.sum(jnp.linalg.solve(s, jnp.ones(3)) ** 2)), (S,)),
    (jax.vmap(jax.grad(lambda s, x: jnp.sum(jnp.linalg.solve(s, x) ** 2)), (None, 0)), (S, A)),
    (lambda s, x: jnp.linalg.solve(lax.stop_gradient(s), x[1:]) * s[0], (S, X)),
    (lambda s, a: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(s), a.T), (S, A)),
    (lambda s, x: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(s), x[1:], trans=1), (S, X)),
    (lambda s, x: jax.scipy.linalg.solve(s @ s.T, x[1:], assume_a="pos"), (S, X)),
    (lambda s, x: lax.custom_linear_solve(lambda v: s @ v, x[1:], lambda _, b: jnp.linalg.solve(s, b)), (S, X)),
    (lambda x, y: lax.linalg.tridiagonal_solve(x.at[0].set(0.0), y + 3, x.at[-1].set(0.0), y[:, None]), (X, Y)),
    # complex numbers within the function, and results
    (lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, (X,)),
    (lambda x, y: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y), 4), (X, Y)),
    (lambda a: jnp.abs(jnp.fft.fft2(a)) + jnp.fft.ifft2(2j * jnp.fft.fft2(a)).imag, (A,)),
    (lambda a: jnp.fft.irfft2(jnp.fft.rfft2(a) * jnp.arange(2.0), (4, 3)) + jnp.fft.fft(a, axis=0).imag, (A,)),
    (jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 3)), (X,)),
    (lambda x: jax.vmap(lambda s: jnp.abs(jnp.fft.rfft(s * x)))(jnp.arange(1.0, 4)), (X,)),
    (lambda x: jnp.exp(1j * x).real * jnp.angle(x + 1j * x**2) + jnp.abs(lax.complex(x, 0.3)), (X,)),
    (lambda x: (jnp.sin(x + 1j) + jnp.sqrt(x - 2j) + jnp.log(x + 3j) + (x + 1j) ** 3 + 1 / (x - 1j)).real, (X,)),
    (lambda s: jnp.abs(jnp.linalg.solve(s + 1j * s.T, jnp.ones(3))) + ((s + 1j) @ (s - 2j * s)).imag, (S,)),
    (lambda x: jnp.where(x > 0.5, lax.complex(x, x**2)[::-1], 2j * x).reshape(2, 2).T.sum(0), (X,)),
    (lambda x: {"z": jnp.fft.fft(x)[1:3], "constant": jnp.array([1.0 + 2.0j])}, (X,)),
    # reductions and pools of one's own, and the way back through pools
    (lambda a: lax.reduce(a, 1.0, lax.mul, (0,)) + lax.reduce(a, 0.0, lambda p, q: p + q, (0, 1)), (A,)),
    (jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (3, 2), (2, 1), "SAME") ** 2)), (A,)),
    (jax.grad(lambda x: jnp.sum(lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 1), "VALID") ** 2)), (A,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_have_the_values_and_gradients_of_jax(number: int) -> None:
    function, args = PROGRAMS[number]
    compare(function, *args)


def test_a_loop_with_a_bound_beside_its_condition_has_a_gradient_in_both_modes() -> None:
    """JAX has tangents of such loops, and no cotangents."""

    def root(a: Any) -> Any:
        def goes_on(s: Any) -> Any:
            return (jnp.abs(s[0] ** 2 - a) > 1e-14) & (s[1] < 60)

        return lax.while_loop(goes_on, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))[0]

    def descent(x: Any, a: Any) -> Any:
        def step(s: Any) -> Any:
            return s[0] + 1, s[1] - 0.1 * (s[1] - a)

        return lax.while_loop(lambda s: jnp.logical_and(s[0] <= 7, jnp.linalg.norm(s[1]) > 1e-9), step, (0, x))[1].sum()

    for function, args in ((root, (2.0,)), (descent, (X, 0.3))):
        f = sd.from_jax(function, *args)
        k = sd.compile(f)
        np.testing.assert_allclose(k(*args), function(*args), rtol=1e-13)
        for number, name in enumerate(k.inputs):
            tangents = [np.ones(np.shape(arg)) * (i == number) for i, arg in enumerate(args)]
            slope = sd.compile(sd.gradient(f, name.name))(*args)
            np.testing.assert_allclose(np.sum(slope), jax.jvp(function, tuple(map(jnp.asarray, args)), tuple(
                map(jnp.asarray, tangents)))[1], rtol=1e-12)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_random_positions_are_read_and_written_to_as_jax_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape = tuple(map(int, rng.integers(1, 5, rank)))
    part = tuple(int(rng.integers(1, n + 1)) for n in shape)
    axes = sorted(map(int, rng.permutation(rank)[: rng.integers(1, rank + 1)]))
    count = int(rng.integers(1, 4))
    x, start = rng.normal(size=(count, *shape)), rng.integers(-1, 4, (count, rank)).astype(float)
    at = rng.integers(-1, 5, (len(axes), count)).astype(float)
    mode = ("clip", "drop")[seed % 2]

    def places(at: Any) -> Any:
        return tuple(at[axes.index(k)].astype(int) if k in axes else slice(None) for k in range(rank))

    def starts(s: Any) -> Any:
        return tuple(s[k].astype(int) for k in range(rank))

    values = np.ones(shape)[tuple(np.zeros(count, int) if k in axes else slice(None) for k in range(rank))].shape
    compare(jax.vmap(lambda a, s: lax.dynamic_slice(a, starts(s), part)), x, start)
    compare(jax.vmap(lambda a, s: lax.dynamic_update_slice(a, 2.0 * jnp.ones(part), starts(s))), x, start)
    compare(lambda x, at: x[0].at[places(at)].get(mode="clip") ** 2, x, at)
    compare(lambda x, at, v: x[0].at[places(at)].add(v, mode=mode), x, at, rng.normal(size=values))
    compare(lambda x, at: x[0].at[places(at)].set(0.5, mode=mode), x, at)


def test_loops_of_a_batch_end_by_themselves() -> None:
    def one(row: Any, enough: Any) -> Any:
        def goes_on(s: Any) -> Any:
            return (jnp.sum(s[0] ** 2) > enough) & (s[1] < 30)

        return lax.while_loop(goes_on, lambda s: (0.8 * s[0], s[1] + 1), (row, 0))[0]

    compare(jax.vmap(one), A, 0.1 * X)
    compare(jax.vmap(lambda row, n: lax.while_loop(
        lambda s: s[1] < n, lambda s: (jnp.sin(s[0]), s[1] + 1), (row, 0))[0]), A, np.array([1, 3, 0, 2]))  # fmt: skip


def test_an_unusual_pool_has_its_values() -> None:
    """JAX has no gradient of it."""

    def pool(a: Any) -> Any:
        return lax.reduce_window(a, 0.0, jnp.hypot, (2, 2), (2, 1), "SAME")

    np.testing.assert_allclose(sd.compile(sd.from_jax(pool, A))(A), pool(A), rtol=1e-14)


def test_a_tie_of_a_pool_goes_back_to_its_first_element() -> None:
    def pooled(x: Any) -> Any:
        return jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (3,), (1,), "VALID") * jnp.arange(1.0, 4))

    def back(x: Any) -> Any:
        return jax.grad(pooled)(x)

    tied = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(sd.compile(sd.from_jax(back, tied))(tied), back(tied))


def test_what_is_not_chosen_may_be_anything() -> None:
    """An element beside the chosen one that is infinite, and a place beyond the end, as JAX has them."""
    x = np.array([1.0, np.inf, -np.inf, np.nan])
    f = sd.from_jax(lambda x, y: x[jnp.argmin(y)] ** 2, X, X)
    k = sd.compile([f, sd.gradient(f, "x")])
    value, slope = k(x, np.array([-1.0, 2, 3, 4]))
    assert value == 1.0
    assert slope.tolist() == [2.0, 0.0, 0.0, 0.0]
    far = sd.from_jax(lambda x, y: x[jnp.floor(y).astype(int)], X, X)
    places = np.array([0.0, 3.5, 7.0, -1.0])
    np.testing.assert_array_equal(sd.compile(far)(X, places), jax.jit(lambda x: x[places.astype(int)])(X))


@pytest.mark.parametrize("length", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scans_are_read_shown_and_differentiated(length: int, reverse: bool) -> None:
    def affine(x: Any, y: Any) -> Any:
        def after(a: Any, b: Any) -> Any:
            return a[0] * b[0], a[1] * b[0] + b[1]

        return lax.associative_scan(after, (x, y), reverse=reverse)[1] * x

    args = RNG.normal(size=length), RNG.normal(size=length)
    compare(affine, *args)
    read = sd.sum(sd.from_jax(affine, *args) ** 2)
    for name in ("x", "y"):
        gradient = sd.gradient(read, name)
        again = sd.compile(str(gradient), x=length, y=length, inputs=["x", "y"])
        np.testing.assert_allclose(again(*args), sd.compile(gradient, list("xy"))(*args), rtol=1e-12)
        assert ":0]" not in str(gradient)


def test_shifted_exponentials_are_read_as_what_they_are() -> None:
    def hand(a: Any) -> Any:
        powers = jnp.exp(a - a.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    assert str(sd.from_jax(jax.nn.softmax, X)) == "softmax(x)"
    assert str(sd.gradient(sd.from_jax(jax.nn.logsumexp, X), "a")) == "softmax(a)"
    assert str(sd.from_jax(hand, A)) == "softmax(a)"
    assert "logsumexp" not in str(sd.from_jax(lambda a: a + jnp.log(jnp.exp(a).sum()), A))


def test_letters_for_sizes() -> None:
    def loss(w: Any, X: Any, y: Any) -> Any:
        return jnp.mean((X @ w - y) ** 2) + jnp.sum(w[1:] * w[:-1])

    read = sd.from_jax(loss, np.ones(3), np.ones((5, 3)), np.ones(5), sizes={"n": 3, "m": 5})
    args = RNG.normal(size=6), RNG.normal(size=(7, 6)), RNG.normal(size=7)
    kernel = sd.compile(read, [sd.vector("w", "n"), sd.matrix("X", "m", "n"), sd.vector("y", "m")])
    np.testing.assert_allclose(kernel(*args), loss(*args), rtol=1e-13)
    with pytest.raises(UnsupportedError, match="whose size is a letter"):
        sd.from_jax(lambda x: x[jnp.array([0, 1])], np.ones(3), sizes={"n": 3})


def test_structures_are_named_after_their_places() -> None:
    read = sd.from_jax(lambda p, x: p["w"] @ x + p["b"][0], {"w": A.T, "b": [A[0]]}, X)
    assert {"p_b_0", "p_w", "x"} == set(re.findall(r"[a-z_0]{1,}\b", str(read)))


def test_what_has_no_counterpart_is_refused_by_name_and_line() -> None:
    with pytest.raises(UnsupportedError, match=r"JAX's lu at .*test_read_jax\.py:\d+.*no counterpart"):
        sd.from_jax(lambda a: jax.scipy.linalg.lu(a)[2], S)
    with pytest.raises(UnsupportedError, match=r"JAX's while at .*test_read_jax\.py:\d+.*a known number of steps"):
        sd.from_jax(lambda x: lax.while_loop(lambda s: s[0] > 1e-3, lambda s: s * 0.5, x), X)
    with pytest.raises(UnsupportedError, match=r"custom_linear_solve at .*write jnp\.linalg\.solve"):
        sd.from_jax(lambda s: jax.scipy.sparse.linalg.cg(lambda v: s @ v, jnp.ones(3))[0], S)
    with pytest.raises(UnsupportedError, match=r"custom_linear_solve at .*write jnp\.linalg\.solve"):
        sd.from_jax(lambda s: lax.custom_linear_solve(
            lambda v: s @ v, jnp.ones(3), lambda _, b: jnp.linalg.inv(lax.stop_gradient(s)) @ b), S)  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"reduce at .*more than 256 elements"):
        sd.from_jax(lambda x: lax.reduce(x, 0.0, jnp.hypot, (0,)), np.ones(300))
    with pytest.raises(UnsupportedError, match="in more than 1,000,000 elements"):
        sd.from_jax(lambda x: x[jnp.argsort(x)], np.ones(2000))
    with pytest.raises(UnsupportedError, match="signs of rows"):
        sd.from_jax(lambda a: jnp.linalg.qr(a)[1], A)
    with pytest.raises(LimitError, match="more than 10000 steps"):
        sd.from_jax(lambda x: lax.while_loop(lambda s: s[0] < 10**6, lambda s: (s[0] + 1, s[1]), (0, x)), X)
    with pytest.raises(ArgumentError, match="2 examples do not fit"):
        sd.from_jax(lambda x: x, X, X)
    with pytest.raises(UnsupportedError, match=r"scan at .*complex"):
        sd.from_jax(lambda x: lax.scan(lambda c, v: (c * jnp.exp(1j * v), None), 1 + 0j, x)[0].real, X)
    with pytest.raises(UnsupportedError, match="x is complex; expected real numbers"):
        sd.from_jax(lambda x: x.real, X + 1j)


def test_errors_of_the_function_are_its_own() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sd.from_jax(broken, X)


def test_kernels_take_arguments_in_the_order_of_the_function() -> None:
    def f(w: Any, unused: Any, tree: dict[str, Any]) -> Any:
        return jnp.sum(jnp.tanh(tree["b"] * (tree["a"] @ w)))

    read = sd.from_jax(f, jnp.ones(3), jnp.ones(2), {"a": jnp.ones((4, 3)), "b": jnp.ones(4)})
    names = ["w", "unused", "tree_a", "tree_b"]
    assert [one.name for one in sd.compile(read).inputs] == names
    assert [one.name for one in sd.compile(sd.gradient(read, "tree_b")).inputs] == names
