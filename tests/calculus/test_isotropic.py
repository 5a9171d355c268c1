"""Functions of all eigenvalues or singular values, however they are written: to second order, at equal values too."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from tests.frontend.test_linear_algebra import draw


def _spread(x: list[Any]) -> Any:
    return sum((e - sum(x) / 3) ** 2 for e in x)


def _ogden(x: list[Any]) -> Any:
    j = mpmath.sqrt(x[0] * x[1] * x[2])
    return sum((e / j ** (mpmath.mpf(2) / 3)) ** mpmath.mpf(0.65) for e in x) - 3 + (j - 1) ** 2


#: Symmetric functions of three eigenvalues: as formula text of ``l``, and of mpmath's numbers.
SYMMETRIC = {
    "squares": ("l[0]**2 + l[1]**2 + l[2]**2", lambda x: sum(e**2 for e in x)),
    "product": ("prod(l)", lambda x: x[0] * x[1] * x[2]),
    "product of elements": ("l[0] * l[1] * l[2]", lambda x: x[0] * x[1] * x[2]),
    "log of it": ("log(l[0] * l[1] * l[2])", lambda x: mpmath.log(x[0] * x[1] * x[2])),
    "halves": ("sum(exp(l[:2])) + exp(l[2])", lambda x: sum(mpmath.exp(e) for e in x)),
    "turned": ("sin(l[::-1]) @ l[::-1]**2", lambda x: sum(mpmath.sin(e) * e**2 for e in x)),
    "pairs": ("l[0]*l[1] + l[1]*l[2] + l[2]*l[0]", lambda x: x[0] * x[1] + x[1] * x[2] + x[2] * x[0]),
    "differences": (
        "(l[0]-l[1])**2 + (l[1]-l[2])**2 + (l[2]-l[0])**2",
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 2 + (x[2] - x[0]) ** 2,
    ),
    "all pairs": ("sum(sqrt(outer(l, l)))", lambda x: sum(mpmath.sqrt(e * f) for e in x for f in x)),
    "variance": ("var(l)", lambda x: sum(e**2 for e in x) / 3 - (sum(x) / 3) ** 2),
    "square of the sum": ("sum(l)**2 * l[0]*l[1]*l[2]", lambda x: sum(x) ** 2 * x[0] * x[1] * x[2]),
    "ratio": ("sum(l**3) / prod(l)", lambda x: sum(e**3 for e in x) / (x[0] * x[1] * x[2])),
    "entropy": (
        "p = l / sum(l)\n-(p @ log(p))",
        lambda x: -sum(e / sum(x) * mpmath.log(e / sum(x)) for e in x),
    ),
    "Hencky": ("h = 0.5 * log(l)\nsum((h - mean(h))**2)", lambda x: _spread([mpmath.log(e) / 2 for e in x])),
    "Ogden": (
        "J = sqrt(l[0]*l[1]*l[2])\nm = l / J**(2/3)\nsum(m**0.65) - 3 + (J - 1)**2",
        _ogden,
    ),
    "logsumexp": ("logsumexp(2 * l)", lambda x: mpmath.log(sum(mpmath.exp(2 * e) for e in x))),
    "norm": ("norm(l)", lambda x: mpmath.sqrt(sum(e**2 for e in x))),
    "fourth root": ("sum(l**4)**0.25", lambda x: mpmath.root(sum(e**4 for e in x), 4)),
    "minimum of products": ("l[0]/(l[1]*l[2]) + l[1]/(l[2]*l[0]) + l[2]/(l[0]*l[1])",
                            lambda x: sum(x[k] / (x[k - 1] * x[k - 2]) for k in range(3))),
}  # fmt: skip


def matrix_of(values: list[float], seed: int) -> Any:
    q = np.linalg.qr(draw(len(values), len(values), seed=seed))[0]
    a = q @ np.diag(values) @ q.T
    return (a + a.T) / 2


def along(f: Any, values_of: Any, a: Any, e: Any) -> list[float]:
    """f of the spectrum of A + t E, and two derivatives by t, at 60 digits."""
    with mpmath.workdps(60):
        exact, change = mpmath.matrix(a.tolist()), mpmath.matrix(e.tolist())
        h = mpmath.mpf("1e-12")
        low, mid, high = (f(values_of(exact + t * change)) for t in (-h, 0, h))
        return [float(mid), float((high - low) / (2 * h)), float((high - 2 * mid + low) / h**2)]


def eigenvalues(a: Any) -> list[Any]:
    return list(mpmath.eigsy((a + a.T) / 2, eigvals_only=True))


def singular_values(a: Any) -> list[Any]:
    """Of A^T A or A A^T, at twice the digits, without the zeros of the larger one."""
    with mpmath.workdps(130):
        gram = a.T * a if a.rows >= a.cols else a * a.T
        found = mpmath.eigsy(gram, eigvals_only=True)
        return sorted((mpmath.sqrt(abs(e)) for e in found), reverse=True)


SPECTRA = [[1.0, 2.0, 3.5], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.5, 0.5, 2.0], [0.7, 2.0, 2.0],
           *([1.0, 1.0 + gap, 1.0 + 2.5 * gap] for gap in (0.1, 1e-3, 1e-5, 1e-8, 1e-12)),
           *([1.0, 1.0 + gap, 3.0] for gap in (1e-3, 1e-6, 1e-8, 1e-14))]  # fmt: skip


def three(text: str, **shapes: Any) -> Any:
    return sd.compile(
        {"value": sd.parse(text, **shapes), "slope": sd.gradient(text, "A", **shapes),
         "bend": sd.hessian(text, "A", **shapes)}, backend="numpy")  # fmt: skip


def compare(kernel: Any, a: Any, e: Any, want: list[float], rtol: float, title: str) -> None:
    got = kernel(a)
    have = [got["value"], (got["slope"] * e).sum(), np.einsum("ij,ijkl,kl", e, got["bend"], e)]
    for part, one, other in zip(("value", "slope", "bend"), have, want, strict=True):
        scale = max(1.0, *map(abs, want))
        assert abs(one - other) <= rtol * scale, f"{title}: {part} {one!r}, expected {other!r}"


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_functions_of_eigenvalues_to_second_order(name: str) -> None:
    text, f = SYMMETRIC[name]
    kernel = three("l = eigvalsh(A)\n" + text, A=(3, 3))
    for seed, values in enumerate(SPECTRA):
        for a in (matrix_of(values, seed), np.diag(values)):
            e = draw(3, 3, seed=seed + 50)
            want = along(f, eigenvalues, a, e)
            compare(kernel, a, e, want, 3e-9, f"{name} at {values}")


#: Functions of singular values that are even in each of them, and those that are smooth where none is 0.
EVEN = {
    "squares": ("sum(s**2)", lambda s: sum(e**2 for e in s)),
    "logarithms": ("sum(log(1 + s**2))", lambda s: sum(mpmath.log(1 + e**2) for e in s)),
    "square of squares": ("(s @ s)**2", lambda s: sum(e**2 for e in s) ** 2),
    "cosines": ("sum(cos(s))", lambda s: sum(mpmath.cos(e) for e in s)),
    "elements": ("cosh(s[0]) + sum(cosh(s[1:]))", lambda s: sum(mpmath.cosh(e) for e in s)),
    "product": ("prod(1 + s**2)", lambda s: mpmath.fprod(1 + e**2 for e in s)),
}
SMOOTH = {
    "product": ("prod(s)", mpmath.fprod),
    "nuclear norm": ("sum(s)", sum),
    "Schatten norm": ("sum(s**3)**(1/3)", lambda s: mpmath.root(sum(e**3 for e in s), 3)),
    "entropy": ("p = s / sum(s)\n-(p @ log(p))", lambda s: -sum(e / sum(s) * mpmath.log(e / sum(s)) for e in s)),
    "logarithm": ("log(prod(s))", lambda s: mpmath.log(mpmath.fprod(s))),
    "square of the sum": ("sum(s)**2", lambda s: sum(s) ** 2),
}
SHAPES = [(1, 1), (1, 4), (4, 1), (2, 2), (3, 3), (2, 3), (3, 2), (4, 2), (2, 5), (5, 2)]


def rectangle(values: list[float], m: int, n: int, seed: int) -> Any:
    u, v = (np.linalg.qr(draw(k, k, seed=seed + k))[0] for k in (m, n))
    middle = np.zeros((m, n))
    np.fill_diagonal(middle, values)
    return u @ middle @ v.T


def singular_cases(p: int, rank_loss: bool) -> list[list[float]]:
    full = [[2.0 - 0.4 * k for k in range(p)], [1.0] * p]
    full += [[1.0 + gap * k for k in range(p)] for gap in (1e-3, 1e-8)]
    lost = [[0.0] * p, [1.0, *[0.0] * (p - 1)], [*[1.5] * (p - 1), 0.0], [*[1.5] * (p - 1), 1e-8]]
    return full + (lost if rank_loss else [])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*EVEN, *SMOOTH])
def test_functions_of_singular_values_to_second_order(name: str, shape: tuple[int, int]) -> None:
    even = name in EVEN and (name != "product" or shape[0] % 2 == 0)
    text, f = EVEN[name] if even else SMOOTH.get(name) or EVEN[name]
    kernel = three("s = svdvals(A)\n" + text, A=shape)
    for seed, values in enumerate(singular_cases(min(shape), even)):
        for a in (rectangle(values, *shape, seed), rectangle(values, *shape, 0) * 0 + np.eye(*shape) * values[0]):
            if not even and not a.any():
                continue
            e = draw(*shape, seed=seed + 50)
            compare(kernel, a, e, along(f, singular_values, a, e), 3e-9, f"{name} of {shape} at {values}")


def test_what_is_used_is_simple_where_others_are_equal() -> None:
    """Eigenvalue 2 alone, where 0 and 1 are equal; and what is not symmetric in equal ones has no derivative."""
    a, e = matrix_of([1.0, 1.0, 3.0], 3), draw(3, 3, seed=9)
    for text, f in {
        "l[-1]": lambda x: x[2],
        "exp(l[-1])": lambda x: mpmath.exp(x[2]),
        "l[2] / (l[0] + l[1])": lambda x: x[2] / (x[0] + x[1]),
        "l[2]**2 * l[0] * l[1]": lambda x: x[2] ** 2 * x[0] * x[1],
        "l[2] - mean(l)": lambda x: x[2] - sum(x) / 3,
    }.items():
        kernel = three("l = eigvalsh(A)\n" + text, A=(3, 3))
        compare(kernel, a, e, along(f, eigenvalues, a, e), 1e-9, text)
    for text in ("l[0]", "l[2] / l[0]", "l[0]**2 + 2 * l[1]**2", "max(l) - min(l) + l[1]", "l @ [1, 2, 3]"):
        kernel = three("l = eigvalsh(A)\n" + text, A=(3, 3))
        assert np.isnan(kernel(a)["slope"]).any(), text
        assert np.isnan(kernel(a)["bend"]).any(), text
        b = matrix_of([1.0, 2.0, 3.0], 3)
        assert np.isfinite(kernel(b)["bend"]).all(), text
    # the first derivative is the same in both, the second is not
    kernel = three("l = eigvalsh(A)\nl[0]**2 + 2 * l[1] + exp(l[2])", A=(3, 3))
    with warnings.catch_warnings():
        got = kernel(a)
    assert np.isfinite(got["slope"]).all()
    assert np.isnan(got["bend"]).any()
    for text in ("sum(s)", "s[0] * s[1]", "norm(s)"):
        kernel = three("s = svdvals(A)\n" + text, A=(3, 3))
        assert np.isnan(kernel(np.zeros((3, 3)))["bend"]).any(), text


def test_eigenvalues_are_those_of_the_symmetric_part() -> None:
    a = draw(3, 3, seed=4)
    kernel = three("l = eigvalsh(A)\nl[0] * l[1] + l[2]", A=(3, 3))
    got = kernel(a)
    want = np.linalg.eigvalsh((a + a.T) / 2)
    np.testing.assert_allclose(got["value"], want[0] * want[1] + want[2], rtol=1e-13)
    np.testing.assert_allclose(got["slope"], got["slope"].T, rtol=1e-13)


def test_printed_derivatives_are_read_back() -> None:
    a = matrix_of([1.0, 1.0, 3.0], 3)
    for text in ("l = eigvalsh(A)\nl[0] * l[1] * exp(l[2])", "s = svdvals(A)\ns @ s / sum(s)"):
        for derive in (sd.gradient, sd.hessian):
            made = derive(text, "A", A=(3, 3))
            again = sd.compile(str(made), A=(3, 3), backend="numpy")
            np.testing.assert_allclose(again(a), sd.compile(made, backend="numpy")(a), rtol=1e-12, atol=1e-12)


def test_sizes_of_inputs_that_vanished_are_read_back() -> None:
    for text in ("x @ x", "x[0] * x[-1]"):
        printed = str(sd.hessian(text, "x", x="n"))
        again = read_formula(printed, {}).value
        assert str(again) == printed
        np.testing.assert_array_equal(sd.compile(printed, x="n")(np.ones(4)), sd.compile(
            sd.hessian(text, "x", x=4))(np.ones(4)))  # fmt: skip


@pytest.mark.parametrize(("n", "rank"), [(3, 1), (4, 1), (4, 2), (5, 2)])
def test_products_are_smooth_where_several_values_are_zero(n: int, rank: int) -> None:
    rng = np.random.default_rng(10 * n + rank)
    u, v = rng.normal(size=(2, n, rank))
    product = " * ".join(f"l[{k}]" for k in range(n))
    for text, like, a in (
        (f"l = eigvalsh(A)\n{product}", "det(0.5 * (A + A.T))", u @ u.T),
        (f"l = svdvals(A)\n({product})**2", "det(A)**2", u @ v.T),
        ("prod(svdvals(A))**2 * sum(A)", "det(A)**2 * sum(A)", u @ v.T),
    ):
        got, want = (sd.compile(sd.hessian(f, "A", A=(n, n)), backend="interpreter")(a) for f in (text, like))
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=text)


def test_what_is_not_symmetric_in_several_zeros_has_no_derivative() -> None:
    a = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    for text in ("l = eigvalsh(A)\nl[0]**2 + l[3]**2", "l = eigvalsh(A)\nl[0] * l[1] * l[3]"):
        assert np.isnan(sd.compile(sd.hessian(text, "A", A=(4, 4)), backend="interpreter")(a)).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 2)])
def test_gradients_by_singular_values_are_read_back_at_zero(shape: tuple[int, int]) -> None:
    again = str(sd.gradient("sum(log(1 + svdvals(A)**2))", "A", A=shape))
    hessian = sd.compile(sd.jacobian(again, "A", A=shape), backend="interpreter")
    want = 2.0 * np.eye(shape[0] * shape[1]).reshape(*shape, *shape)
    np.testing.assert_allclose(hessian(np.zeros(shape)), want, atol=1e-12)
