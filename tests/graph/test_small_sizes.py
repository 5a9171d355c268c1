"""Numbers that are too small for what a formula takes of axes of symbolic size: NumPy's value, or an error."""

from __future__ import annotations

import pickle
import runpy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.frontend.formula import read_formula

#: Parts of an array, of its rows or of all: as many as there are, or as the formula says.
PARTS: dict[str, Any] = {
    "[1:]": lambda B: B[1:],
    "[:-1]": lambda B: B[:-1],
    "[1:-1]": lambda B: B[1:-1],
    "[:3]": lambda B: B[:3],
    "[-3:]": lambda B: B[-3:],
    "[2:5]": lambda B: B[2:5],
    "[:-3]": lambda B: B[:-3],
    "[::-1]": lambda B: B[::-1],
    "[3:1:-1]": lambda B: B[3:1:-1],
    "[2]": lambda B: B[2],
    "[-2]": lambda B: B[-2],
    "places": lambda B: B[np.array([0, 3, 1])],
    "ones like it": np.ones_like,
    "filled like it": lambda B: np.full_like(B, 0.5),
    "twice": lambda B: np.concatenate([B, 2.0 * B]),
    "differences": lambda B: np.diff(B, axis=0),
    "padded": lambda B: np.pad(B, [(1, 2)] + [(0, 0)] * (B.ndim - 1)),
    "rolled": lambda B: np.roll(B, 1, axis=0),
    "product of few": lambda B: np.prod(B[:4], axis=0),
    "squares": lambda B: B * B,
    "new axis": lambda B: B[None],
    "against itself": lambda B: B[:, None] * B[1:],
    "diagonal": lambda B: np.diag(B)[1:],
}


def chained(names: list[str], x: Any) -> Any:
    for name in names:
        x = PARTS[name](x)
    return x


def value_of(names: list[str], x: Any) -> Any:
    try:
        return np.asarray(chained(names, x))
    except (IndexError, ValueError):
        return None


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from([*PARTS]), min_size=1, max_size=5), st.sampled_from(["interpreter", "numpy"]))
def test_small_arrays_have_numpys_value_or_are_refused(names: list[str], backend: str) -> None:
    large = value_of(names, np.linspace(0.1, 0.9, 20))
    if large is None or large.ndim > 3 or not 0 < large.size < 50_000:
        return
    x = sd.vector("x", "n")
    try:
        f = chained(names, x)
        total = (f * f).sum()
        results = [f, total, sd.gradient(total, x, disconnected="zero"), sd.jvp(total, x, x * x, disconnected="zero")]
        kernel = sd.compile(results, inputs=[x], backend=backend)
    except sd.SymdiffError:
        return
    for n in (20, *range(9)):
        numbers = np.random.default_rng(n).uniform(0.1, 0.9, n)
        wanted = value_of(names, numbers)
        try:
            found, squares, slope, along = kernel(numbers)
        except sd.ShapeError:
            assert n < 20
            continue
        assert wanted is not None, f"NumPy refuses n = {n}"
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        np.testing.assert_allclose(squares, np.sum(wanted**2), rtol=1e-12)
        np.testing.assert_allclose(np.sum(slope * numbers**2), along, rtol=1e-10, atol=1e-12)


FORMS: dict[str, Any] = {
    "a part of a part": lambda x: x[1:-1][:3],
    "an element of a part": lambda x: x[:-2][1],
    "a part of ones": lambda x: np.ones_like(x)[:3] * 2.0,
    "ones like a part": lambda x: np.ones_like(x[2:5]),
    "a gradient that has no part": lambda x: sd.gradient((x[1:-1][:3] * 2.0).sum(), x),
    "a gradient of a gradient": lambda x: sd.gradient(sd.gradient((x[1:-1][:3] ** 3).sum(), x).sum(), x),
    "a Hessian": lambda x: sd.hessian((x[1:-1][:3] ** 2).sum(), x),
    "a product with a Jacobian": lambda x: sd.jvp(x[1:-1][:3] * 2.0, x, np.ones_like(x)),
    "a derivative in a formula": lambda x: 1.0 + 2.0 * sd.gradient((x[1:-1][:3] ** 2).sum(), x),
    "a sum of which a part is zero": lambda x: x.sum() + 0.0 * x[1:-1][:3].sum(),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_way_to_a_formula_keeps_what_it_takes(form: str) -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(FORMS[form](x), inputs=[x])
    for one in (kernel, pickle.loads(pickle.dumps(kernel)), sd.compile(FORMS[form](x), inputs=[x], backend="numpy")):
        for n in (5, 6, 9):
            assert np.all(np.isfinite(one(np.full(n, 0.5))))
        for n in (1, 2):
            with pytest.raises(sd.ShapeError, match=r"out of range|does not exist|a slice of length|too small"):
                one(np.full(n, 0.5))
            with pytest.raises(sd.ShapeError, match=r"out of range|does not exist|a slice of length|too small"):
                one(np.full((7, n), 0.5))


@pytest.mark.parametrize("text", ["sum(x[1:-1][:3]**2)", "gradient(sum(2*x[1:-1][:3]), x)", "x[:-2][1] + x[0]"])
def test_text_and_the_cache_keep_it(text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(tmp_path))
    for _ in range(2):  # the second is made of what the cache has
        kernel = sd.compile(text, x="n")
        kernel(np.ones(6))
        with pytest.raises(sd.ShapeError):
            kernel(np.ones(3))


def test_what_a_formula_takes_is_its_own() -> None:
    """Equal nodes of other formulas, which take a part of the whole, are not refused what suffices for them."""
    x = sd.vector("x", "n")
    inner, outer = x[1:-1][:3], x[1:4]
    narrow, wide = sd.compile(sd.gradient((inner**2).sum(), x)), sd.compile(sd.gradient((outer**2).sum(), x))
    np.testing.assert_array_equal(wide(np.ones(4)), [0, 2, 2, 2])
    with pytest.raises(sd.ShapeError):
        narrow(np.ones(4))
    np.testing.assert_array_equal(narrow(np.ones(5)), [0, 2, 2, 2, 0])
    np.testing.assert_array_equal(wide(np.ones(4)), [0, 2, 2, 2])


def test_sparse_results_keep_it() -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.jacobian(x[1:-1][:3] ** 2, x), sparse="csr")
    np.testing.assert_array_equal(kernel(np.ones(5)).toarray(), 2.0 * np.eye(3, 5, 1))
    with pytest.raises(sd.ShapeError):
        kernel(np.ones(4))


def test_exports_keep_it(tmp_path: Any) -> None:
    x = sd.vector("x", "n")
    part = x[1:-1][:3]
    kernel = sd.compile([part**2, sd.gradient((part**2).sum(), x)], inputs=[x])
    sd.export(kernel, tmp_path, "formula", target="numpy")
    names = runpy.run_path(str(tmp_path / "formula.py"))
    assert len(names["evaluate"](np.ones(5))) == 2
    for n in (3, 4):
        with pytest.raises(ValueError, match="out of range"):
            names["evaluate"](np.ones(n))


@pytest.mark.parametrize("backend", ["interpreter", "numpy", "native"])
def test_a_place_that_is_a_part_of_small_arrays_only(backend: str) -> None:
    """Element 3 is among the last but one to the last but three of five to seven elements."""
    x = sd.vector("x", "n")
    part = np.flip(np.diag(x)[1:][:, :-1][2], 0)[:3]
    kernel = sd.compile([part, sd.gradient((part * part).sum(), x)], inputs=[x], backend=backend)
    for n in (5, 6, 7, 8, 16, 40):
        numbers = np.arange(1.0, n + 1)
        taken, slope = kernel(numbers)
        np.testing.assert_array_equal(taken, np.flip(np.diag(numbers)[1:][:, :-1][2], 0)[:3])
        np.testing.assert_array_equal(slope, np.where((np.arange(n) == 3) & (n < 8), 2 * numbers, 0.0))


#: Functions that NumPy has a value of for no elements, along the axes of a matrix and all of them.
OF_FEW: dict[str, Any] = {
    "any({x}, axis={axis})": lambda x, axis: np.any(x, axis=axis),
    "all({x}, axis={axis})": lambda x, axis: np.all(x, axis=axis),
    "any({x} > 0.5, axis={axis})": lambda x, axis: np.any(x > 0.5, axis=axis),
    "all({x} > 0.5, axis={axis})": lambda x, axis: np.all(x > 0.5, axis=axis),
    "max({x}, axis={axis}, initial=0.3)": lambda x, axis: np.max(x, axis=axis, initial=0.3),
    "min({x}, axis={axis}, initial=0.3)": lambda x, axis: np.min(x, axis=axis, initial=0.3),
    "nanmax({x}, axis={axis}, initial=0.3)": lambda x, axis: np.nanmax(x, axis=axis, initial=0.3),
    "allclose({x}, {x} + 0.0) + 0*sum({x}, axis={axis})": lambda x, axis: 1.0 + 0.0 * np.sum(x, axis=axis),
    "array_equal({x}, 2.0*{x}) + 0*sum({x}, axis={axis})": lambda x, axis: (x.size == 0) + 0.0 * np.sum(x, axis=axis),
    "count_nonzero({x}, axis={axis})": lambda x, axis: np.count_nonzero(x, axis=axis),
    "prod({x}, axis={axis})": lambda x, axis: np.prod(x, axis=axis),
    "norm({x}*{x}, axis={axis})": lambda x, axis: np.sqrt(np.sum(x**4, axis=axis)),
}


@pytest.mark.parametrize("backend", ["interpreter", "numpy", "native"])
@pytest.mark.parametrize("text", OF_FEW)
def test_few_elements_have_numpys_value_and_a_slope(text: str, backend: Any) -> None:
    for axis in (0, 1, None) if backend != "native" else (0,):
        written = text.format(x="A", axis=axis).replace(", axis=None", "")
        for rows, columns in (("m", "n"), (0, "n")) if backend != "native" else (("m", "n"),):
            kernel = sd.compile(written, ["A"], shapes={"A": (rows, columns)}, backend=backend)
            slope = sd.compile(slope_of(written, rows, columns), backend=backend)
            for m in (0, 1, 2) if rows == "m" else (0,):
                for n in (0, 1, 2):
                    numbers = np.random.default_rng(m + 10 * n).uniform(-0.9, 0.9, (m, n))
                    right = OF_FEW[text](numbers, axis)
                    found = np.asarray(kernel(numbers))
                    assert found.shape == np.shape(right)
                    np.testing.assert_allclose(found, right, rtol=1e-12)
                    assert np.all(np.isfinite(slope(numbers)))


def slope_of(text: str, rows: int | str, columns: int | str) -> Any:
    """Return the gradient of the sum of squares of a formula."""
    read = read_formula(text, {"A": (rows, columns)})
    return sd.gradient(((1.0 * read.value) ** 2).sum(), read.inputs["A"], disconnected="zero")


@pytest.mark.parametrize("text", ["mean(x)", "mean(x)**2", "var(x)", "std(x)", "mean(x * x) + 1", "sum(x) / y"])
@pytest.mark.parametrize("size", ["n", 0])
def test_means_of_nothing_are_nan(text: str, size: Any) -> None:
    for backend in ("interpreter", "native", "numpy"):
        shapes = {"x": size} | ({"y": ()} if "y" in text else {})
        kernel = sd.compile(text, shapes=shapes, backend=backend)
        with np.errstate(all="ignore"):
            assert np.isnan(kernel(np.zeros(0), *([0.0] if "y" in text else [])))
