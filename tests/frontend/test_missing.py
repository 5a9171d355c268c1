"""Functions that leave out elements, by where= or as nan: values, derivatives, conditions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import symdiff as sd
from tests.frontend.test_routines import RNG, differences

NAN_FUNCTIONS = ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nancumsum", "nancumprod")


def test_what_where_leaves_out_is_not_observed() -> None:
    x, mask = sd.vector("x", 4), np.array([True, False, True, False])
    numbers = np.array([1.5, np.nan, 2.5, np.inf])
    for function in (np.sum, np.prod, np.mean, np.var, np.std):
        f = function(x, where=mask)
        value, slope, bend = sd.compile((f, sd.gradient(f, x), sd.hessian(f, x)), backend="interpreter")(numbers)
        short = sd.vector("s", 2)
        g = function(short)
        wanted = sd.compile((g, sd.gradient(g, short), sd.hessian(g, short)), backend="interpreter")(numbers[mask])
        np.testing.assert_allclose(value, function(numbers[mask]))
        np.testing.assert_allclose(slope[mask], wanted[1], atol=1e-15)
        np.testing.assert_array_equal(slope[~mask], 0.0)
        np.testing.assert_allclose(bend[np.ix_(mask, mask)], wanted[2], atol=1e-14)
        np.testing.assert_array_equal(bend[~mask], 0.0)


def test_conditions_of_chosen_elements() -> None:
    x, mask = sd.matrix("x", 2, 3), np.array([True, False, True])
    numbers = np.array([[1.0, -1.0, 2.0], [-1.0, 2.0, -3.0]])
    for function in (np.any, np.all):
        f = sd.compile(np.where(function(x > 0, axis=1, where=mask), 1.0, 0.0), backend="interpreter")
        np.testing.assert_array_equal(f(numbers), function(numbers > 0, axis=1, where=mask))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", NAN_FUNCTIONS)
def test_nan_is_left_out_of_value_and_derivative(name: str, axis: int | None) -> None:
    x = sd.array("x", (3, 4))
    function = getattr(np, name)
    values = RNG.uniform(0.5, 1.5, (3, 4))
    values[[0, 2, 1], [1, 1, 3]] = np.nan
    f = function(x, axis=axis)
    weights = RNG.uniform(0.5, 1.5, f.shape)
    for backend in ("interpreter", "numpy"):
        value, slope = sd.compile((f, sd.gradient((weights * f).sum(), x)), [x], backend=backend)(values)
        np.testing.assert_allclose(value, function(values, axis=axis), rtol=1e-13)
        wanted = np.tensordot(weights, differences(lambda v: function(v, axis=axis), [values], 0), weights.ndim)
        np.testing.assert_allclose(slope, np.where(np.isnan(values), 0.0, wanted), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", NAN_FUNCTIONS[:-2])
def test_nan_functions_of_chosen_elements(name: str) -> None:
    """Neither nan nor what is not chosen has an influence; ``initial`` is there where nothing is left."""
    x, function = sd.matrix("x", 3, 4), getattr(np, name)
    values = RNG.uniform(0.5, 1.5, (3, 4))
    values[[0, 2, 1, 0], [1, 1, 3, 2]] = np.nan
    mask = np.array([[True, True, False, True], [True, False, True, True], [True, True, True, False]])
    options = {"where": mask} | ({"initial": 0.7} if name in ("nanmax", "nanmin") else {})
    f = function(x, axis=1, **options)
    value, slope = sd.compile((f, sd.gradient(f.sum(), x)), [x], backend="interpreter")(values)
    np.testing.assert_allclose(value, function(values, axis=1, **options), rtol=1e-13)
    wanted = differences(lambda v: function(v, axis=1, **options).sum(), [values], 0)
    np.testing.assert_allclose(slope, np.where(np.isnan(values) | ~mask, 0.0, wanted), rtol=1e-8, atol=1e-9)
    if name in ("nansum", "nanprod", "nanmax", "nanmin"):
        lost = np.array([[1.0, np.nan, 2.0, 0.1]] * 2 + [[np.nan] * 4])
        got = sd.compile(function(x, axis=1, initial=0.5), [x])(lost)
        np.testing.assert_allclose(got, function(lost, axis=1, initial=0.5))
    with pytest.raises(sd.DtypeError, match="conditions"):
        function(x, where=np.ones((3, 4)), **{k: v for k, v in options.items() if k == "initial"})


def test_weights_of_logsumexp() -> None:
    """SciPy's values; a weight of 0 with a larger exponent, a negative one, no weight at all, and their slopes."""
    v, b = sd.vector("v", 3), sd.vector("b", 3)
    f = sd.logsumexp(v, b=b)
    kernel = sd.compile([f, sd.gradient(f, v), sd.gradient(f, b)], [v, b], backend="interpreter")
    for at, weights in (
        ([1000.0, 1.0, 2.0], [0.0, 1.0, 1.0]),
        ([1.0, 2.0, 3.0], [1.0, -0.5, 2.0]),
        ([-1000.0, -1001.0, 3.0], [1.0, 1.0, 0.0]),
        ([-np.inf, 1.0, 2.0], [1.0, 1.0, 1.0]),
        ([1.0, 2.0, 3.0], [0.0, 0.5, 0.0]),
    ):
        value, by_v, by_b = kernel(at, weights)
        total = special.logsumexp(at, b=weights)
        np.testing.assert_allclose(value, total, rtol=1e-14)
        gap = np.array(at) - total
        far = gap > 700  # a slope that no double has, and its weight is 0
        slopes = np.exp(np.where(far, 0.0, gap))
        np.testing.assert_allclose(by_v, np.where(far, 0.0, weights * slopes), rtol=1e-12)
        np.testing.assert_allclose(by_b[~far], slopes[~far], rtol=1e-12)
        assert np.all(by_b[far] > 1e300)
    assert kernel([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])[0] == -np.inf
    assert np.isnan(kernel([1.0, 2.0, 3.0], [0.0, -1.0, 0.0])[0])


def test_lines_of_nan() -> None:
    x = sd.array("x", (2, 3))
    values = np.array([[np.nan] * 3, [1.0, 2.0, np.nan]])
    with np.errstate(all="ignore"):
        for name, wanted in (("nanmax", 2.0), ("nanmin", 1.0), ("nanmean", 1.5), ("nanvar", 0.25), ("nanstd", 0.5)):
            kernel = sd.compile(getattr(np, name)(x, axis=1), [x], backend="interpreter")
            np.testing.assert_array_equal(kernel(values), [np.nan, wanted])
    assert sd.compile(np.nanvar(x, axis=1, ddof=2), [x], backend="numpy")(values)[1] != 0.0
