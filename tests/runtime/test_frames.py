"""Columns and labelled arrays of pandas, Polars, Arrow and xarray as arguments of kernels.

All of them are extras: each test says which one it lacks.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.call import container_library
from symdiff.runtime.calls.containers import numbers_of

KERNEL = sd.compile("a*x**2 + sin(b)", a=(), x=(), b=(), backend="interpreter")
VECTOR = sd.compile("gradient(log(sum(exp(w * x))), x)", w=3, x=3, backend="interpreter")
NORM = sd.compile("sum(w * x**2)", w=3, x=3, backend="interpreter")
OUTER = sd.compile("outer(x, x)", x=3, backend="interpreter")
SEVERAL = sd.compile({"f": "a * x", "g": ("a + x", "[a, x, a]")}, a=(), x=(), backend="interpreter")
BEHIND = sd.compile("gradient(log(sum(exp(w * x))), x)", w=3, x=3, batch_axis=-1, backend="interpreter")
SUM = sd.compile("gradient(sum(w * x**2), w)", w=3, x=3, reduce="sum", batch=["x"], backend="interpreter")


def columns(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray[Any, Any]]:
    """Columns of different types, in any order."""
    made = {
        "a": rng.normal(size=rows),
        "x": rng.integers(-5, 6, rows).astype(rng.choice(["i1", "i4", "i8", "f8"])),
        "b": (rng.normal(size=rows) > 0).astype(rng.choice(["?", "f4", "u2"])),
    }
    return {name: made[name] for name in rng.permutation(list(made))}


def index_of(pd: Any, rng: np.random.Generator, rows: int) -> Any:
    """An index of any kind, named or not, with and without repetitions."""
    made = [
        pd.RangeIndex(3, 3 + rows),
        pd.Index([f"r{k % 5}" for k in rng.permutation(rows)], name="row"),
        pd.date_range("2024-01-01", periods=rows, name="day"),
        pd.MultiIndex.from_arrays([np.arange(rows) % 2, rng.normal(size=rows)], names=["k", None]),
    ]
    return made[rng.integers(len(made))]


# ---------------------------------------------------------------------------- pandas


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_pandas_go_by_name_and_keep_their_index(seed: int) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(0, 8))
    own = columns(rng, rows)
    index = index_of(pd, rng, rows)
    frame = pd.DataFrame(own, index)
    expected = KERNEL(**own)
    for result in (KERNEL(**frame), KERNEL(inputs=frame), KERNEL(inputs=frame.assign(other="text"))):
        pd.testing.assert_series_equal(result, pd.Series(expected, index), check_freq=False)
    # an argument without labels goes along
    pd.testing.assert_series_equal(KERNEL(frame["a"], own["x"], 0.5), pd.Series(KERNEL(own["a"], own["x"], 0.5), index))
    nullable = frame.convert_dtypes()
    pd.testing.assert_series_equal(KERNEL(**nullable), pd.Series(expected, index), check_freq=False)


def test_a_table_as_the_only_argument_is_told_of_its_columns() -> None:
    price = sd.compile("s * exp(-r * t)", s=(), r=(), t=())
    frame = pytest.importorskip("pandas").DataFrame({"s": [100.0], "r": [0.01], "t": [1.0]})
    with pytest.raises(sd.ArgumentError, match=r"missing r: \(\), t: \(\); .*k\(inputs=table\) takes the columns"):
        price(frame)


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_pandas_are_samples(seed: int) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 8))
    values, w = rng.normal(size=(rows, 3)), rng.normal(size=3)
    index = index_of(pd, rng, rows)
    frame = pd.DataFrame(values, index, list("pqr"))
    pd.testing.assert_series_equal(NORM(w, frame), pd.Series(NORM(w, values), index), check_freq=False)
    slope = VECTOR(pd.Series(w), frame)
    pd.testing.assert_frame_equal(slope, pd.DataFrame(VECTOR(w, values), index), check_freq=False)
    pd.testing.assert_frame_equal(
        BEHIND(w, frame.T), pd.DataFrame(BEHIND(w, values.T), None, index), check_freq=False
    )
    # one sample, more axes than a frame has, and no batch: arrays and numbers as ever
    for k, args in ((NORM, (w, frame.iloc[0])), (OUTER, (frame,)), (SUM, (w, frame)), (VECTOR, (w, frame.iloc[0]))):
        result, plain = k(*args), k(*(np.asarray(arg) for arg in args))
        assert type(result) is type(plain)
        np.testing.assert_array_equal(result, plain)
    # each number of a table is a sample of a number
    table = KERNEL(1.0, frame, frame["p"].iloc[:1].to_numpy())
    pd.testing.assert_frame_equal(table, pd.DataFrame(KERNEL(1.0, values, values[:1, :1]), index, list("pqr")))


def test_structures_of_results_hold_series_and_frames() -> None:
    pd = pytest.importorskip("pandas")
    a, x = pd.Series([1.0, 2.0], ["u", "v"], name="a"), pd.Series([3, 4], ["u", "v"])
    result = SEVERAL(a, x)
    pd.testing.assert_series_equal(result["f"], pd.Series([3.0, 8.0], ["u", "v"]))
    pd.testing.assert_series_equal(result["g"][0], pd.Series([4.0, 6.0], ["u", "v"]))
    pd.testing.assert_frame_equal(result["g"][1], pd.DataFrame([[1.0, 3.0, 1.0], [2.0, 4.0, 2.0]], ["u", "v"]))
    out = np.empty(2)
    assert KERNEL(a, x, 0.0, out=out) is out
    np.testing.assert_array_equal(out, [9.0, 32.0])


def test_plans_native_code_positions_and_sparse_values_keep_labels() -> None:
    pd = pytest.importorskip("pandas")
    index = pd.Index(list("uvw"))
    rows = pd.DataFrame(np.arange(12.0).reshape(3, 4), index)
    for backend in ("native", "numpy", "auto"):
        k = sd.compile("sum(sin(x))", x="n", backend=backend)
        pd.testing.assert_series_equal(k(rows), pd.Series(k(rows.to_numpy()), index))
    for size in (4, "n"):
        k = sd.compile("jacobian(sin(x), x)", x=size, sparse="values")
        pd.testing.assert_frame_equal(k(rows), pd.DataFrame(np.cos(rows.to_numpy()), index))
    take = sd.compile("sum(x[idx])", x=4, idx=(int, 2))
    places = pd.DataFrame([[0, 1], [2, 3], [1, 1]], index, dtype="Int32")
    pd.testing.assert_series_equal(take(rows, places), pd.Series([1.0, 13.0, 18.0], index))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (["u", "w", "v"], "'w' and 'v' in place 1"),
        (["u", "v"], "2 and 3 of them"),
    ],
)
def test_labels_that_disagree_are_refused(other: list[str], told: str) -> None:
    pd = pytest.importorskip("pandas")
    a = pd.Series([1.0, 2.0, 3.0], list("uvw"))
    x = pd.Series(np.arange(float(len(other))), other)
    with pytest.raises(sd.ArgumentError, match=f"x and a have different labels: {told}; .*align"):
        KERNEL(a, x, 1.0)
    with pytest.raises(sd.ArgumentError, match="more samples than there are labels"):
        KERNEL(a.iloc[:1], np.ones(3), 1.0)


def test_names_of_an_index_that_differ_are_dropped() -> None:
    pd = pytest.importorskip("pandas")
    a, x = pd.Series([1.0], pd.Index(["u"], name="one")), pd.Series([1.0], pd.Index(["u"], name="other"))
    assert KERNEL(a, x, 0.0).index.name is None
    assert KERNEL(a, a, 0.0).index.name == "one"


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([1.0, Decimal(2)], r"objects, of Decimal among them; .*astype\(float\)"),
        ([1.0, None, "text"], "objects, of NoneType"),
        (["p", "q"], "column of (str|objects, of str)"),
        (np.array(["2024-01-01"], "M8[s]"), r"column of datetime64\[s\]"),
        (np.array([1j]), r"complex128"),
    ],
)
def test_columns_without_numbers_are_refused_by_name(column: Any, told: str) -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(column)
    with pytest.raises(sd.DtypeError, match=f"x is a .*{told}"):
        KERNEL(1.0, series, 1.0)
    with pytest.raises(sd.DtypeError, match="column 'p' of x is a"):
        NORM(np.ones(3), pd.DataFrame({"o": 1.0, "p": series, "q": 2}))


def test_missing_values_of_pandas_are_refused_and_nan_is_a_number() -> None:
    pd = pytest.importorskip("pandas")
    a = pd.Series([1.0, np.nan, 3.0], list("uvw"))
    np.testing.assert_array_equal(KERNEL(a, a, 0.0), [1.0, np.nan, 27.0])
    for kind in ("Float64", "Int64", "boolean"):
        missing = pd.Series([1, None, 1], list("uvw"), dtype=kind)
        with pytest.raises(sd.DtypeError, match=r"x has a missing value, the first at row 'v'; .*fillna.*dropna"):
            KERNEL(1.0, missing, 0.0)
        assert KERNEL(1.0, missing.fillna(kind != "boolean" and 0), 0.0).tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(sd.DtypeError, match="a has a missing value"):
        KERNEL(pd.NA, 1.0, 1.0)
    with pytest.raises(sd.DtypeError, match="x is a Timestamp of pandas"):
        KERNEL(1.0, pd.Timestamp("2024-01-01"), 1.0)


def test_other_forms_of_columns_are_read() -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    numbers = [1.0, 0.0, 4.0]
    forms = [
        pd.array(numbers, "Float32"),
        pd.Index(numbers),
        pd.arrays.SparseArray(numbers),
        pd.Series(numbers, dtype="Sparse[float]"),
        pd.Series(numbers, dtype=pd.ArrowDtype(pa.float32())),
    ]
    for form in forms:
        np.testing.assert_array_equal(KERNEL(1.0, form, 0.0), np.square(numbers))
    # all of float32: so is the result
    assert KERNEL(*3 * [pd.Series(numbers, dtype="float32")]).dtype == np.float32


def test_explain_and_values_look_at_columns_too() -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(sd.DtypeError, match="x has a missing value, the first at row 1"):
        KERNEL.explain(1.0, pl.Series([1.0, None]), 1.0)


# ---------------------------------------------------------------------------- Polars and Arrow


@pytest.mark.parametrize("seed", range(8))
def test_columns_of_polars_and_arrow_are_read(seed: int) -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 9))
    own = columns(rng, rows)
    expected = KERNEL(**own)
    frame = pl.DataFrame(own)
    parts = pl.concat([frame[: rows // 2], frame[rows // 2 :]], rechunk=False)
    table = pa.table(own)
    for result in (
        KERNEL(**frame.to_dict()),
        KERNEL(inputs=frame.with_columns(other=pl.lit("text"))),
        KERNEL(inputs=parts),
        KERNEL(inputs=table),
        KERNEL(inputs=table.to_batches()[0]),
        KERNEL(inputs=pa.concat_tables([table[: rows // 2], table[rows // 2 :]])),
    ):
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, expected)
    values = rng.normal(size=(rows, 3))
    wide = pl.DataFrame(values, ["p", "q", "r"])
    listed = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 3)
    fixed = pl.Series(values, dtype=pl.Array(pl.Float64, 3))
    for x in (wide, wide.to_arrow(), fixed, listed, pa.chunked_array([listed[:1], listed[1:]])):
        np.testing.assert_array_equal(NORM(np.ones(3), x), NORM(np.ones(3), values))


def test_buffers_are_read_where_they_lie() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    numbers = np.arange(5.0)
    for column in (pl.Series(numbers), pa.array(numbers), pa.chunked_array([numbers])):
        read = numbers_of("x", column)
        again = numbers_of("x", column)
        assert read.ctypes.data == again.ctypes.data
        np.testing.assert_array_equal(read, numbers)
    assert numbers_of("x", numbers) is numbers


def test_nulls_are_refused_by_name_and_place() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for column in (
        pl.Series([1.0, 2.0, None]),
        pl.Series([1, 2, None, None]),
        pl.Series([True, True, None]),
        pa.array([1.0, 2.0, None]),
        pa.chunked_array([[1, 2], [None, 3]]),
        pl.Series([[1.0], [1.0], None], dtype=pl.Array(pl.Float64, 1)),
        pl.Series([[1.0], [1.0], [None]], dtype=pl.Array(pl.Float64, 1)),
        pa.array([[1.0], [1.0], None], pa.list_(pa.float64(), 1)),
    ):
        with pytest.raises(sd.DtypeError, match="x has a missing value, the first at row 2; fill it"):
            KERNEL(1.0, column, 1.0)
    with pytest.raises(sd.DtypeError, match="column 'q' of x has a missing value"):
        NORM(np.ones(3), pl.DataFrame({"p": [1.0], "q": [None], "r": [1.0]}, schema_overrides={"q": pl.Float64}))
    np.testing.assert_array_equal(KERNEL(1.0, pl.Series([np.nan, 1.0]), 0.0), [np.nan, 1.0])
    with pytest.raises(sd.DtypeError, match="x has a missing value"):
        KERNEL(1.0, pa.scalar(None, pa.float64()), 1.0)


def test_what_holds_no_numbers_is_refused_with_what_to_write() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = pl.DataFrame({"x": [1.0]})
    for value, told in (
        (pl.Series([Decimal("1.5")]), r"Decimal.*cast\(pl.Float64\)"),
        (pl.Series(["1"]), "String"),
        (pl.Series([[1.0], [1.0, 2.0]]), r"List.*to_array"),
        (pa.array([Decimal("1.5")]), r"decimal128.*cast\(pyarrow.float64\(\)\)"),
        (pa.array(["1"]).dictionary_encode(), "dictionary_decode"),
        (frame.lazy(), "LazyFrame.*collect"),
        (pl.col("x"), "Expr.*frame"),
    ):
        with pytest.raises(sd.DtypeError, match=f"x is a .*{told}"):
            KERNEL(1.0, value, 1.0)
    with pytest.raises(sd.ArgumentError, match="inputs= holds a LazyFrame"):
        KERNEL(inputs=frame.lazy())
    with pytest.raises(sd.ArgumentError, match="missing a: "):
        KERNEL(inputs=frame)


# ---------------------------------------------------------------------------- xarray


def test_arrays_of_xarray_keep_dims_and_coordinates() -> None:
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    time, site = np.arange(4) * 10, ["u", "v"]
    height = ("site", [1.5, 2.5])
    a = xr.DataArray(rng.normal(size=(4, 2)), {"time": time, "site": site, "height": height}, ("time", "site"))
    x = xr.DataArray(rng.normal(size=2), {"site": site, "height": height}, ("site",))
    b = xr.DataArray(rng.normal(size=(2, 4)), {"time": time, "run": 7}, ("site", "time"))
    result = KERNEL(a, x, b)
    xr.testing.assert_allclose(result, a * x**2 + np.sin(b))
    assert result.dims == ("time", "site")
    assert set(result.coords) == {"time", "site", "height", "run"}
    xr.testing.assert_allclose(KERNEL(x, b.T, a), x * b.T**2 + np.sin(a))
    xr.testing.assert_identical(KERNEL(**xr.Dataset({"a": a, "x": x, "b": b})), result)


@pytest.mark.parametrize("behind", [False, True])
def test_samples_of_xarray_are_its_last_axes(behind: bool) -> None:
    xr = pytest.importorskip("xarray")
    values, w = np.random.default_rng(1).normal(size=(4, 2, 3)), np.array([1.0, 0.5, -1.0])
    x = xr.DataArray(values, {"time": list("abcd")}, ("time", "site", "part"))
    weights = xr.DataArray(w, {"part": [3, 4, 5]}, ("part",))
    if behind:
        result = BEHIND(weights, x.transpose("part", "time", "site"))
        assert result.dims == ("dim_0", "time", "site")
        result = result.transpose("time", "site", "dim_0")
    else:
        result = VECTOR(weights, x)
        assert result.dims == ("time", "site", "dim_0")
    np.testing.assert_array_equal(result, VECTOR(w, values))
    np.testing.assert_array_equal(result["time"], list("abcd"))
    assert type(VECTOR(weights, x[0, 0])) is np.ndarray


def test_coordinates_that_disagree_are_refused() -> None:
    xr, pd = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    a = xr.DataArray([1.0, 2.0], {"t": [0, 1]}, ("t",))
    with pytest.raises(sd.ArgumentError, match=r"x and a have different coordinates along 't': .*xarray.align"):
        KERNEL(a, a.assign_coords(t=[0, 2]), 1.0)
    with pytest.raises(sd.ArgumentError, match="x has 3 places along 't', a has 2"):
        KERNEL(a, xr.DataArray(np.ones(3), dims=("t",)), 1.0)
    with pytest.raises(sd.ArgumentError, match="labels of two libraries"):
        KERNEL(a, pd.Series([1.0, 2.0]), 1.0)
    with pytest.raises(sd.ArgumentError, match="b has 2 batch axes without names"):
        KERNEL(a, a, np.ones((3, 2)))
    with pytest.raises(sd.DtypeError, match=r"a is a Dataset of xarray.*\*\*data"):
        KERNEL(xr.Dataset({"a": a}), 1.0, 1.0)
    with pytest.raises(sd.DtypeError, match="DataArray of objects"):
        KERNEL(a.astype(object), 1.0, 1.0)


# ---------------------------------------------------------------------------- anywhere


def test_an_array_is_asked_nothing() -> None:
    """What comes from none of the libraries goes the short way."""
    assert container_library(np.ones(2)) is None
    assert container_library([1.0]) is None
    assert container_library(np.ones(2).view(np.memmap)) is None


def test_a_class_derived_from_a_library_counts_as_its_own() -> None:
    base = type("Series", (), {"__module__": "pandas.core.series"})
    assert container_library(type("GeoSeries", (base,), {"__module__": "geopandas"})()) == "pandas"
    with pytest.raises(sd.DtypeError, match="x is a GeoSeries of pandas; expected"):
        KERNEL(1.0, type("GeoSeries", (base,), {"__module__": "geopandas"})(), 1.0)
