"""Kernels on arrays of Dask: chunk by chunk, and on a cluster of processes. These tests run where Dask is installed."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError
from tests.support.waiting import until

da = pytest.importorskip("dask.array")

SHAPES = {"a": (), "w": 3, "x": 3}
NAMES = list(SHAPES)
RESULTS = "a * w @ x", "gradient(log(sum(exp(w * x))), x)", "outer(x, x) + a"
SAME_BITS: dict[str, Any] = {"backend": "interpreter", "reproducible": True}
KERNELS = {
    "number": sd.compile(RESULTS[0], NAMES, shapes=SHAPES, **SAME_BITS),
    "vector": sd.compile(RESULTS[1], NAMES, shapes=SHAPES, **SAME_BITS),
    "several": sd.compile({"f": RESULTS[0], "g": list(RESULTS[1:])}, NAMES, shapes=SHAPES, **SAME_BITS),
    "letters": sd.compile(RESULTS[0], NAMES, a=(), w="n", x="n", **SAME_BITS),
    "sharing": sd.compile(RESULTS[0], NAMES, a=(), w="n", x="n"),
    "behind": sd.compile(list(RESULTS), NAMES, shapes=SHAPES, batch_axis=-1, **SAME_BITS),
    "sum": sd.compile(list(RESULTS), NAMES, shapes=SHAPES, reduce="sum", backend="interpreter"),
    "sum of few": sd.compile(RESULTS[1], NAMES, shapes=SHAPES, reduce="sum", batch=["x"], backend="interpreter"),
}


def drawn(rng: np.random.Generator, name: str) -> tuple[list[Any], list[Any]]:
    """Arguments whose batches broadcast: plain, and some of them in chunks of any lengths."""
    batch = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 3)))
    plain: list[Any] = []
    for size in ((), (3,), (3,)):
        own = batch[int(rng.integers(0, len(batch) + 1)) :]
        own = tuple(1 if rng.random() < 0.2 else n for n in own)
        if name == "sum of few" and len(plain) < 2:
            own = ()
        kind = rng.choice(["f8", "f8", "f4", "i4"])
        shape = (*size, *own) if name == "behind" else (*own, *size)
        plain.append((rng.normal(size=shape) * 3).astype(kind))
    lazy = []
    for k, array in enumerate(plain):
        if rng.random() < 0.6 or k == 2:
            chunks = tuple(int(rng.integers(1, n + 1)) for n in array.shape)
            lazy.append(da.from_array(array, chunks=chunks))
        else:
            lazy.append(array)
    return plain, lazy


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", KERNELS)
def test_chunks_have_the_values_of_the_whole(name: str) -> None:
    kernel = KERNELS[name]
    for seed in range(12):
        plain, lazy = drawn(np.random.default_rng(seed), name)
        want, found = leaves(kernel(*plain)), leaves(kernel(*lazy))
        computed = da.compute(*found, scheduler="synchronous")
        for one, result, expected in zip(found, computed, want, strict=True):
            assert isinstance(one, da.Array)
            assert one.shape == np.shape(expected) == np.shape(result)
            assert one.dtype == np.asarray(expected).dtype == np.asarray(result).dtype
            if kernel.options.reproducible:
                np.testing.assert_array_equal(result, expected)
            else:
                bound = 1e-4 if one.dtype == np.float32 else 1e-12
                np.testing.assert_allclose(result, expected, rtol=bound, atol=bound * 100)


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    seen = []

    def made(block_info: Any = None) -> Any:
        seen.append(block_info)
        return np.ones((2, 3))

    x = da.map_blocks(made, chunks=((2,) * 5, (3,)), dtype=float, meta=np.empty((0, 0)))
    result = KERNELS["several"](1.0, np.ones(3), x)
    assert not seen
    assert [one.chunks[0] for one in leaves(result)] == 3 * [(2,) * 5]
    result["f"][:2].compute(scheduler="synchronous")
    assert len(seen) == 1  # the chunk that holds these rows, and no other
    seen.clear()
    da.compute(*leaves(result), scheduler="synchronous")
    assert len(seen) == 5  # once for all results


def test_equal_calls_have_equal_names_and_share_work() -> None:
    x = da.ones((4, 3), chunks=2)
    k = KERNELS["vector"]
    assert k(1.0, np.ones(3), x).name == k(1.0, np.ones(3), x).name
    assert k(1.0, np.ones(3), x).name != KERNELS["behind"](1.0, np.ones(3), x.T)[1].name


def test_rows_of_unknown_number_are_taken_and_samples_are_not() -> None:
    x = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 3))
    few = x[x[:, 0] > 2]
    np.testing.assert_array_equal(
        KERNELS["vector"](1.0, np.ones(3), few), KERNELS["vector"](1.0, np.ones(3), few.compute())
    )
    np.testing.assert_allclose(KERNELS["sum"](1.0, np.ones(3), few)[0].compute(), 12 + 21 + 30)
    with pytest.raises(ArgumentError, match="x has samples of unknown length; call"):
        KERNELS["letters"](1.0, np.ones(3), few[:, 0])


def test_arrays_of_xarray_stay_lazy_and_labelled() -> None:
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(da.ones((4, 3), chunks=2), {"t": list("abcd")}, ("t", "part"))
    result = KERNELS["vector"](1.0, np.ones(3), x)
    assert isinstance(result.data, da.Array)
    assert result.name is None
    assert result["t"].to_numpy().tolist() == list("abcd")
    np.testing.assert_array_equal(result, KERNELS["vector"](1.0, np.ones(3), np.ones((4, 3))))


def test_what_a_call_refuses_is_refused_before_a_task_is_made() -> None:
    k, x = KERNELS["vector"], da.ones((4, 3), chunks=2)
    for args, error, message in (
        ((1.0, np.ones(3), da.ones((4, 2))), ShapeError, "x has shape"),
        ((1.0, da.ones((5, 3)), x), ShapeError, "batch axes do not broadcast"),
        ((1.0, np.ones(3), x.astype(complex)), DtypeError, r"x is an array of complex128 \(Dask\)"),
        ((1.0, np.ones(3), x.astype(object)), DtypeError, r"x is an array of object \(Dask\)"),
        ((1.0, np.ones(3), da.ma.masked_equal(x, 0)), DtypeError, "x is an array of Dask of MaskedArray"),
    ):
        with pytest.raises(error, match=message):
            k(*args)
    with pytest.raises(ArgumentError, match="out= in a call of arrays of Dask"):
        k(1.0, np.ones(3), x, out=np.ones((4, 3)))
    with pytest.raises(UnsupportedError, match="sparse results of arrays of Dask"):
        sd.compile("jacobian(sin(x), x)", x=3, sparse="values")(x)
    with pytest.raises(DtypeError, match=r"x is an Array of Dask, whose numbers are not computed here; .*compute\(\)"):
        k.explain(1.0, np.ones(3), x)
    with pytest.raises(sd.SingularMatrixError):
        sd.compile("inv(A)", A=(2, 2))(da.zeros((3, 2, 2), chunks=1)).compute(scheduler="synchronous")


def test_frames_of_dask_are_refused_with_what_to_write() -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "x": [1, 2, 3]})
    lazy = dd.from_pandas(frame, npartitions=2)
    k = sd.compile("a * x", a=(), x=())
    with pytest.raises(DtypeError, match="x is a Series of Dask"):
        k(1.0, lazy["x"])
    with pytest.raises(ArgumentError, match="map_partitions"):
        k(inputs=lazy)
    result = lazy.map_partitions(lambda part: k(**part), meta=("f", float)).compute(scheduler="synchronous")
    pd.testing.assert_series_equal(result, pd.Series([1.0, 4.0, 9.0]), check_names=False)


# ---------------------------------------------------------------------------- a cluster

#: Bytes that a worker may hold, and rows whose numbers take about twice as much.
LIMIT, ROWS, WIDTH, CHUNK = 400_000_000, 1_600_000, 64, 20_000


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("cluster")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what else runs on the machine
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None, local_directory=str(folder)
        )
        with cluster, distributed.Client(cluster) as made:
            yield made


def numbers(place: Path, block_info: Any = None) -> Any:
    """Rows whose columns are known in closed form: the number of the row, modulo 7, plus that of the column.

    The second half is there when a worker has been lost.
    """
    (low, high), _ = block_info[None]["array-location"]
    if low >= ROWS // 2:
        (place / "half").touch()
        until((place / "lost").exists, 120)
    return (np.arange(low, high) % 7)[:, None] + np.arange(WIDTH, dtype=float)


def rows(place: Path) -> Any:
    return da.map_blocks(
        numbers, place, chunks=((CHUNK,) * (ROWS // CHUNK), (WIDTH,)), dtype=float, meta=np.empty((0, 0))
    )


def expected(w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The gradient of the sum of (w @ x)**2 over the rows, from how often each kind of row comes."""
    counts = np.bincount(np.arange(ROWS) % 7)
    kinds = np.arange(7.0)[:, None] + np.arange(WIDTH)
    slope: np.ndarray[Any, Any] = 2 * (counts * (kinds @ w)) @ kinds
    return slope


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_adds_up_more_than_a_worker_holds_and_a_lost_worker_loses_nothing(
    client: Any, tmp_path: Path
) -> None:
    w = np.linspace(-1, 1, WIDTH)
    k = sd.compile("gradient((w @ x)**2, w)", w=WIDTH, x=WIDTH, reduce="sum", batch=["x"])
    x = rows(tmp_path)
    assert x.nbytes > 2 * LIMIT
    pids = client.run(os.getpid)
    assert len(set(pids.values()) - {os.getpid()}) == 2
    future = client.compute(k(w, x))
    until((tmp_path / "half").exists, 120)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    (tmp_path / "lost").touch()
    result = future.result(timeout=600)
    np.testing.assert_allclose(result, expected(w), rtol=1e-12)
    client.wait_for_workers(2, timeout=600)
    assert set(client.run(os.getpid).values()) != set(pids.values())


def stats(pickled: bytes) -> dict[str, Any]:
    from symdiff.libraries.dask import _made

    assert _made(pickled) is _made(pickled)
    return dict(_made(pickled).stats)


@pytest.mark.filterwarnings("ignore")
def test_workers_take_native_code_that_the_machine_has(client: Any, tmp_path: Path) -> None:
    import pickle

    k = sd.compile("sum(sin(a * x)) / 3", a=(), x=5, backend="native")
    x = np.random.default_rng(0).normal(size=(100, 5))
    found = k(2.0, da.from_array(x, chunks=(10, 5)))
    np.testing.assert_array_equal(client.compute(found).result(timeout=600), k(2.0, x))
    for told in client.run(stats, pickle.dumps(k)).values():
        assert told["build_seconds"] == 0.0
