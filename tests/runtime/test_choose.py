"""Targets and backends are rows of tables; which one serves, and why, is told."""

from __future__ import annotations

import numpy as np
import pytest

import symdiff as sd
from symdiff.codegen import TARGETS, Language, Request
from symdiff.errors import ArgumentError, UnsupportedError
from symdiff.runtime.runners import BACKENDS

FORMULA = "exp(x) * y"


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_serves_and_tells_what_it_is(backend: str) -> None:
    kernel = sd.compile(FORMULA, x=3, y=(), backend=backend)
    row = BACKENDS[backend]
    assert kernel.backend in (row.serves, "c")
    assert kernel.source() == kernel.source(row.language) == kernel.source(kernel.backend)
    np.testing.assert_allclose(kernel(np.arange(3.0), 2.0), 2 * np.exp(np.arange(3.0)), rtol=1e-15)


@pytest.mark.parametrize("options", [{}, {"batch": ["x"]}, {"reduce": "sum"}, {"accuracy": "high"}], ids=str)
def test_every_backend_shows_the_same_text_of_each_language(options: dict[str, object]) -> None:
    names = [name for name in BACKENDS if name != "cython"]  # whose module takes seconds to build
    kernels = [sd.compile(FORMULA, x=3, y=(), backend=name, **options) for name in names]
    for language in TARGETS:
        texts = {kernel.source(language) for kernel in kernels}
        assert len(texts) == 1
        assert len(texts.pop()) > 50


def test_a_new_target_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(request: Request) -> str:
        return f"{len(request.program().ops)} operations of {len(request.inputs)} inputs"

    kernel = sd.compile(FORMULA, x=3, y=(), backend="numpy")
    known = "'c', 'cython', 'numpy', 'jax', 'torch' or 'array_api'"
    with pytest.raises(ArgumentError, match=rf"source\('count'\); expected {known}"):
        kernel.source("count")
    monkeypatch.setitem(TARGETS, "count", Language(emit, "txt", "how long it is"))
    assert kernel.source("count") == "10 operations of 2 inputs"


def test_a_new_backend_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: Request) -> None:
        raise UnsupportedError("it is Tuesday")

    with pytest.raises(ArgumentError, match="backend='weekly'; expected one of 'auto', 'native'"):
        sd.compile(FORMULA, x=(), y=(), backend="weekly")
    weekly = BACKENDS["numpy"]._replace(lower=refuse)
    monkeypatch.setitem(BACKENDS, "weekly", weekly)
    with pytest.raises(UnsupportedError, match="no weekly code for this formula: it is Tuesday; backend='numpy' runs"):
        sd.compile(FORMULA, x=(), y=(), backend="weekly")
    for behind in ("interpreter", "numpy"):
        monkeypatch.setitem(BACKENDS, "weekly", weekly._replace(instead=behind))
        kernel = sd.compile(f"{FORMULA} + {len(behind)}", x=(), y=(), backend="weekly")
        assert kernel.backend == behind
        assert kernel.stats["reason"] == "it is Tuesday"


def test_reasons() -> None:
    assert sd.compile(FORMULA, x=(), y=(), backend="numpy").stats["reason"] == "asked for"
    ends_overlap = "gradient(sum(x[600:] * exp(x[:-600])), x)"  # or not, as the size is
    fallen = sd.compile(ends_overlap, x="n")
    assert fallen.backend == "numpy"
    assert "as a plan: " in fallen.stats["reason"]
    with pytest.raises(UnsupportedError, match=r"no native code for this formula: .*; backend='numpy' runs it"):
        sd.compile(ends_overlap, x="n", backend="native")
    with pytest.raises(UnsupportedError, match="batch_axis=0"):
        sd.compile(FORMULA, x=3, y=(), backend="cython", batch_axis=-1)
