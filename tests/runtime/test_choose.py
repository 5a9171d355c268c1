"""Targets and backends are rows of tables; which one serves, and why, is told."""

from __future__ import annotations

from pathlib import Path

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
    assert len(kernel.source()) > 50
    np.testing.assert_allclose(kernel(np.arange(3.0), 2.0), 2 * np.exp(np.arange(3.0)), rtol=1e-15)


@pytest.mark.parametrize("options", [{}, {"batch": ["x"]}, {"reduce": "sum"}, {"accuracy": "high"}], ids=str)
def test_every_backend_shows_the_same_text_of_each_language(options: dict[str, object]) -> None:
    names = [name for name in BACKENDS if name != "cython"]  # whose module takes seconds to build
    kernels = [sd.compile(FORMULA, x=3, y=(), backend=name, **options) for name in names]
    for language in TARGETS:
        texts = {kernel.source(language) for kernel in kernels}
        assert len(texts) == 1
        assert len(texts.pop()) > 50


def test_a_new_target_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def emit(request: Request) -> str:
        return f"{request.name}: {len(request.program().ops)} operations of {len(request.inputs)} inputs"

    kernel = sd.compile(FORMULA, x=3, y=(), backend="numpy")
    with pytest.raises(ArgumentError, match=r"source\('count'\); expected 'c', 'cython', 'numpy', .* or 'array_api'"):
        kernel.source("count")
    with pytest.raises(ArgumentError, match=r"target='count'; expected one of 'c', 'cython', 'numpy', .*'array_api'"):
        sd.export(kernel, tmp_path, "f", target="count")
    monkeypatch.setitem(TARGETS, "count", Language(emit, "txt", "Count", "the length of the program"))
    assert kernel.source("count") == "formula: 10 operations of 2 inputs"
    (file,) = sd.export(kernel, tmp_path, "f", target="count")
    assert file.name == "f.txt"
    assert file.read_text() == "f: 10 operations of 2 inputs"
    # it is named where others refuse
    with pytest.raises(UnsupportedError, match="'count' can write it"):
        sd.export(sd.compile("airyai(x)"), tmp_path, "f", target="jax")


def test_source_and_export_write_the_same(tmp_path: Path) -> None:
    kernel = sd.compile(FORMULA, x=3, y=(), backend="numpy")
    for target, row in TARGETS.items():
        files = sd.export(kernel, tmp_path, "formula", target=target)
        texts = [file.read_text() for file in files if file.suffix in (f".{row.suffix}", ".h")]
        lines = kernel.source(target).splitlines()
        assert {*lines} <= {line for text in texts for line in text.splitlines()}
        for file in files:
            file.unlink()


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
