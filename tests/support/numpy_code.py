"""Ordinary NumPy code, as users have it: run on numbers and on symbols, unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Code = Callable[..., Any]
SNIPPETS: dict[str, tuple[Code, tuple[tuple[int, ...], ...]]] = {}


def snippet(*shapes: tuple[int, ...]) -> Callable[[Code], Code]:
    """Register code with the shapes of its arguments."""

    def register(code: Code) -> Code:
        SNIPPETS[code.__name__] = (code, shapes)
        return code

    return register


@snippet((3, 4))
def softmax_by_hand(x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    exps = np.exp(shifted)
    return exps / exps.sum(axis=-1, keepdims=True)


@snippet((3, 4))
def log_sum_exp(x: Any) -> Any:
    top = np.max(x, axis=1)
    return top + np.log(np.sum(np.exp(x - top[:, None]), axis=1))


@snippet((3, 4), (4,), (4,))
def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(var + 1e-5) + bias


@snippet((5, 3))
def standardise(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


@snippet((3, 4), (3, 4), (3, 4))
def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / np.sqrt(k.shape[-1])
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.matmul(weights, v)


@snippet((2, 3, 4), (2, 5, 4), (2, 5, 4))
def batched_attention(q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("bid,bjd->bij", q, k) / 2.0
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v


@snippet((2, 3, 4))
def heads(x: Any) -> Any:
    return x.reshape(2, 3, 2, 2).transpose(0, 2, 1, 3).swapaxes(-1, -2)


@snippet((5,), (3,))
def convolution(x: Any, w: Any) -> Any:
    return sum(w[i] * x[i : len(x) - 2 + i] for i in range(len(w)))


@snippet((5, 5), (3, 3))
def convolution_in_the_plane(image: Any, kernel: Any) -> Any:
    rows, columns = image.shape
    total = 0
    for i in range(3):
        for j in range(3):
            total = total + kernel[i, j] * image[i : rows - 2 + i, j : columns - 2 + j]
    return total


@snippet((6, 6))
def max_pooling(x: Any) -> Any:
    return x.reshape(3, 2, 3, 2).max(axis=(1, 3))


@snippet((), (3,))
def rotation(angle: Any, p: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * p[0] - s * p[1], s * p[0] + c * p[1], p[2]])


@snippet((), (2,))
def rotation_by_array(angle: Any, p: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ p


@snippet((4, 3))
def pairwise_distances(x: Any) -> Any:
    return np.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1) + 1e-9)


@snippet((4, 3), (5, 3))
def squared_distances(a: Any, b: Any) -> Any:
    return (a**2).sum(1)[:, np.newaxis] - 2 * a @ b.T + np.sum(b * b, axis=1)


@snippet((3,), (3, 3), (2,))
def kalman_step(x: Any, root: Any, z: Any) -> Any:
    p = root @ root.T
    h = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    s = h @ p @ h.T + 0.5 * np.eye(2)
    gain = p @ h.T @ np.linalg.inv(s)
    return x + gain @ (z - h @ x)


@snippet((5, 2), (5,))
def least_squares(a: Any, b: Any) -> Any:
    return np.linalg.solve(a.T @ a, a.T @ b)


@snippet((3, 3), (3,))
def log_likelihood(root: Any, x: Any) -> Any:
    cov = root @ root.T + np.eye(3)
    sign, logdet = np.linalg.slogdet(cov)
    return -0.5 * (x @ np.linalg.solve(cov, x) + logdet + 3 * np.log(2 * np.pi)) * sign


@snippet((3, 3))
def determinants(a: Any) -> Any:
    return np.linalg.det(a) * np.trace(np.linalg.inv(a)) + np.linalg.norm(a) + np.linalg.norm(a[0], 1)


@snippet((3, 3))
def matrix_powers(a: Any) -> Any:
    return np.linalg.matrix_power(a, 3) + np.linalg.matrix_power(a, -1) + np.linalg.matrix_power(a, 0)


@snippet((3, 4))
def cumulative(x: Any) -> Any:
    return np.cumsum(x, axis=1) - np.cumsum(x, axis=0) + x.cumsum().reshape(x.shape)


@snippet((3, 3), (3, 3))
def einsums(a: Any, b: Any) -> Any:
    return (
        np.einsum("ij,jk->ik", a, b)
        + np.einsum("ii->i", a)
        + np.einsum("ij,ij", a, b)
        + np.einsum("ij->ji", a)
        + np.einsum("i...->...", b)
        + np.einsum("ij,kj,k->i", a, b, b[0])
    )


@snippet((4,))
def where_chain(x: Any) -> Any:
    return np.where(x > 0.5, x**2, np.where(x > 0, np.sqrt(np.abs(x)), -x))


@snippet((4,))
def logic(x: Any) -> Any:
    inside = (x > -0.5) & (x < 0.5) | ~(x < 1)
    return np.where(np.logical_and(inside, x != 0), np.sin(x) / x, 1.0) + inside * 2.0


@snippet((5, 3))
def fancy(x: Any) -> Any:
    return x[[0, 2, 2]] + x[np.array([1, 3, 4]), :] - x[:, [2, 0, 1]][:3] + x[[0, 1, 2], [2, 1, 0]]


@snippet((5, 3))
def masks(x: Any) -> Any:
    return x[np.array([True, False, True, False, False])].sum() + x[-1] - x[::-1][0] + x[1::2].sum(0)


@snippet((3, 1), (4,))
def broadcasting(a: Any, b: Any) -> Any:
    return a * b + a.T[0, 0] - b[None, :, None].squeeze() + np.broadcast_to(a, (3, 4)) + np.ones((1, 4)) @ b


@snippet((2, 3, 4))
def reductions(x: Any) -> Any:
    return x.sum() + x.sum(axis=(0, 2)).max() + x.mean(0).min() + x.prod(axis=1, keepdims=True).sum()


@snippet((4,))
def clipping(x: Any) -> Any:
    return np.clip(x, -0.5, 0.5) + np.clip(x, None, 0.2) + x.clip(min=0) + np.maximum(x, 0) - np.minimum(x, 0.1)


@snippet((3,), (4,))
def outers(a: Any, b: Any) -> Any:
    return np.outer(a, b) + np.multiply.outer(a, b) + a[:, None] * b[None, :] + np.tensordot(a, b, 0)


@snippet((3,), (3,))
def products_of_vectors(a: Any, b: Any) -> Any:
    return np.cross(a, b) * np.dot(a, b) + np.inner(a, b) - np.vdot(a, b) * a @ b


@snippet((2, 3), (4, 3))
def joining(a: Any, b: Any) -> Any:
    return (
        np.concatenate([a, b]).sum(0)
        + np.vstack((a, b))[3]
        + np.hstack([a, b[:2]])[0, :3]
        + np.stack([a, b[2:]], axis=1)[0, 1]
    )


@snippet((2, 2), (2, 1))
def blocks(a: Any, b: Any) -> Any:
    return np.block([[a, b], [b.T, np.ones((1, 1))]])


@snippet((3,))
def in_place(x: Any) -> Any:
    total = x * 0
    for k in range(1, 4):
        total += x**k / k
        total *= 0.5
    return total


@snippet((3, 2))
def iteration(x: Any) -> Any:
    total = 0.0
    for row in x:
        a, b = row
        total = total + a * b
    return total * len(x)


@snippet((4,))
def built_in_sum(x: Any) -> Any:
    return sum(x) + sum(xi * xi for xi in x) + abs(x[0]) + pow(x[1], 2) + round(x[2])


@snippet((4,))
def horner(x: Any) -> Any:
    result = 0
    for c in [1.0, -2.0, 0.5, 3.0]:
        result = result * x + c
    return result


@snippet((4,))
def ufuncs(x: Any) -> Any:
    return (
        np.sin(x)
        + np.cosh(x)
        + np.arctan(x)
        + np.log1p(x * x)
        + np.expm1(x)
        + np.square(x)
        + np.reciprocal(x + 3)
        + np.sign(x)
        + np.floor(x)
        + np.exp2(x)
        + np.cbrt(x)
        + np.hypot(x, 1)
        + np.arctan2(x, 2)
        + np.logaddexp(x, 0)
        + np.power(np.abs(x), 1.5)
        + np.true_divide(x, 3)
        + np.negative(x)
        + np.deg2rad(x)
        + np.sinc(x)
        + np.fabs(x)
    )


@snippet((4,))
def arithmetic(x: Any) -> Any:
    return (
        x // 0.3 + x % 0.7 - 2**x + (-x) ** 2 + 1 / (x + 5) - +x + np.mod(x, 2) + np.float64(2.0) * x + np.int32(3) * x
    )


@snippet((4,))
def left_operands(x: Any) -> Any:
    return np.arange(4) * x + np.linspace(0, 1, 4) - np.ones(4) @ x + [1, 2, 3, 4] * x + np.array([1.0, 2, 3, 4]) ** x


@snippet((3, 3))
def triangles(a: Any) -> Any:
    return np.tril(a) + np.triu(a, 1).T + np.diag(np.diag(a)) - a.trace() * np.eye(3) + np.diagonal(a)


@snippet((4, 4))
def views(a: Any) -> Any:
    return a.T.T[1:3, ::2].ravel() + a.flatten()[:4] + a[..., 0] + a[1] - np.flip(a, 0)[0] + np.roll(a, 1, axis=1)[2]


@snippet((6,))
def finite_differences(u: Any) -> Any:
    return np.diff(u)[1:] - np.diff(u, n=2) + (u[2:] - 2 * u[1:-1] + u[:-2])


@snippet((2, 3))
def repeats(x: Any) -> Any:
    return np.tile(x, (2, 1)) + np.repeat(x, 2, axis=0) + np.expand_dims(x, 0)[0, 0]


@snippet((3, 2))
def moving_axes(x: Any) -> Any:
    return np.moveaxis(x, 0, 1) + np.swapaxes(x, 0, 1) + np.transpose(x) + np.reshape(x, (2, -1))


@snippet((3,), (3, 3))
def rodrigues(w: Any, p: Any) -> Any:
    theta = np.linalg.norm(w)
    k = w / theta
    zero = 0 * theta
    cross = np.stack([np.stack([zero, -k[2], k[1]]), np.stack([k[2], zero, -k[0]]), np.stack([-k[1], k[0], zero])])
    return (np.eye(3) + np.sin(theta) * cross + (1 - np.cos(theta)) * cross @ cross) @ p


@snippet((3, 4), (4, 5), (5, 2))
def chains(a: Any, b: Any, c: Any) -> Any:
    return a.dot(b).dot(c) + np.dot(a, np.dot(b, c))


@snippet((2, 3, 3))
def stacks_of_matrices(a: Any) -> Any:
    return np.linalg.det(a).sum() + np.diagonal(np.linalg.inv(a), axis1=1, axis2=2).sum() + np.matmul(a, a)[1, 2, 0]


@snippet((3, 2), (2,), (2, 2))
def network(x: Any, b: Any, w: Any) -> Any:
    hidden = np.tanh(np.dot(x, w) + b)
    logits = hidden @ w.T
    return np.mean(np.logaddexp(0, -logits)) + 0.1 * np.sum(w**2)


@snippet((2,))
def runge_kutta(y: Any) -> Any:
    def f(v: Any) -> Any:
        return np.stack([v[1], -np.sin(v[0])])

    for _ in range(2):
        k1 = f(y)
        k2 = f(y + 0.05 * k1)
        y = y + 0.1 * k2
    return y


@snippet((4,))
def object_array(x: Any) -> Any:
    cells = np.empty((2, 2), dtype=object)
    for i in range(4):
        cells[i // 2, i % 2] = x[i] ** 2
    return np.linalg.det(np.stack([np.stack(list(row)) for row in cells]))


@snippet((3, 4))
def extremes(x: Any) -> Any:
    return np.amax(x) - np.amin(x, axis=0) + np.maximum.reduce(x, axis=0) + np.add.reduce(x) + np.nanmax(np.ones(4))
