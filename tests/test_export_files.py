"""What stands in exported files: names, options, comments, and what is refused."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_export import CPP, C, Case, bare, build, call_c, call_numpy, near  # noqa: F401

import symdiff as sd
from symdiff.codegen import TARGETS
from symdiff.codegen.names import comment, harmless_names
from symdiff.codegen.numpy.libraries import LIBRARIES
from symdiff.errors import ArgumentError, DataError, UnsupportedError


def test_options_are_kept(bare: Path, tmp_path: Path) -> None:  # noqa: F811
    kernel = sd.compile("exp(x) * y, x", x=3, y=(), batch=["x"], reduce="sum", backend="numpy")
    for target in ("c", "numpy"):
        sd.export(kernel, tmp_path, "total", target=target)
    x = np.random.default_rng(0).normal(size=(3000, 3))
    want = [2 * np.exp(x).sum(axis=0), x.sum(axis=0)]
    library = build(tmp_path, C)
    status, outs = call_c(library, "total", Case(kernel, [x, np.array(2.0)], {}), 3000)
    assert status == -1
    (found,) = call_numpy(bare, tmp_path, [("total", [x, np.array(2.0)])])
    for got in (outs, found):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    assert call_c(library, "total", Case(kernel, [x, np.array(2.0)], {}), 0)[0] == -1
    assert "y: in, ()" in (tmp_path / "total.h").read_text()
    assert "count: the number of samples, over which results are summed" in (tmp_path / "total.h").read_text()


def test_what_c_returns(tmp_path: Path) -> None:
    sd.export(sd.compile("inv(A)", A=(3, 3)), tmp_path, "fixed", target="c")
    letters = sd.compile("inv(A)", A=("n", "n"), backend="numpy")
    sd.export(letters, tmp_path, "letters", target="c")
    definite = sd.compile("cholesky(A)", A=("n", "n"), backend="numpy")
    sd.export(definite, tmp_path, "definite", target="c")
    stencil = sd.compile("gradient(sum(x[1:] * x[:-1]), x)", x="n", backend="numpy")
    sd.export(stencil, tmp_path, "stencil", target="c")
    library = build(tmp_path, C)
    matrices = np.array([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.eye(3)])
    for name, sizes in (("fixed", {}), ("letters", {"n": 3}), ("definite", {"n": 3})):
        kernel = letters if sizes else sd.compile("inv(A)", A=(3, 3))
        assert call_c(library, name, Case(kernel, [matrices], sizes), 3)[0] == 1
        assert call_c(library, name, Case(kernel, [matrices[:1]], sizes), 1)[0] == -1
        unknown = np.full((1, 3, 3), np.nan)
        status, (out,) = call_c(library, name, Case(kernel, [unknown], sizes), 1)
        assert status == -1
        assert np.isnan(out).all()
    for n in (1, 3, 15, 16, 33):
        x = np.arange(1.0, n + 1)[None]
        status, (out,) = call_c(library, "stencil", Case(stencil, [x], {"n": n}), 1)
        assert status == (-3 if n < 16 else -1)
        if n >= 16:
            near(out, stencil(x))


EVIL = ["double", "I", "λ", "sd_sample", "INT_MAX", "count", "linux", "_x", "k", "evil", "EDOM", "restrict", "a__b",
        "and_eq"]


def test_no_name_of_a_user_means_anything_to_c(bare: Path, tmp_path: Path) -> None:  # noqa: F811
    inputs = list(map(sd.scalar, EVIL))
    kernel = sd.compile({"int": sum(inputs), "y": inputs[0] * 2}, inputs, backend="numpy")
    for target in ("c", "numpy"):
        sd.export(kernel, tmp_path, "evil", target=target)
    values = [np.array([float(k)]) for k in range(len(inputs))]
    for command in (C, CPP):
        status, outs = call_c(build(tmp_path, command), "evil", Case(kernel, values, {}), 1)
        assert status == -1
        near(outs[0], sum(values))
    (found,) = call_numpy(bare, tmp_path, [("evil", values)])
    near(found[0], sum(values))
    head = (tmp_path / "evil.h").read_text()
    assert all(f"input{number}: '{name}'" in head for number, name in enumerate(EVIL))
    without = re.sub(r"/\*.*?\*/", "", head, flags=re.DOTALL)
    assert without.isascii()
    assert "INT_MAX" not in without


def test_names_and_comments() -> None:
    assert harmless_names(["a", "int", "input1", "a"], "input") == ["a", "input1n", "input1", "input3"]
    for evil in ("*/", "/*", "**//", "*/*/", "??/", "\\\n", "\u202e", "a\n*/\nint x;", "/" * 9, "*" * 9 + "/"):
        shown = comment(evil)
        assert "*/" not in shown
        assert "/*" not in shown
        assert "??" not in shown
        assert "\\" not in shown
        assert "\u202e" not in shown


def test_the_module_is_one_function_with_the_names_of_the_user(tmp_path: Path) -> None:
    shapes = {"np": (), "λ": 3, "v0": 3, "evaluate": ()}
    kernel = sd.compile("np + λ @ v0 + evaluate", shapes=shapes, backend="numpy")
    (file,) = sd.export(kernel, tmp_path, "named", target="numpy")
    (function,) = [part for part in ast.parse(file.read_text()).body if getattr(part, "name", "") == "evaluate"]
    assert isinstance(function, ast.FunctionDef)
    assert [arg.arg for arg in function.args.args] == ["input0", "λ", "input2", "input3"]


TAKEN = ["exp", "y0", "int", "class", "sd_f", "main", "printf", "sqrtf", "a__b", "EOF", "INT_MAX"]


@pytest.mark.parametrize("name", TAKEN)
def test_names_that_c_has_taken_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"choose another name|no name"):
        sd.export(sd.compile("x + 1"), tmp_path, name, target="c")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    kernel = sd.compile("x + 1")
    for target in ("fortran", "", None, 3):
        with pytest.raises(ArgumentError, match=r"target=.*expected one of 'c', 'cython', 'numpy'"):
            sd.export(kernel, tmp_path, target=target)
    sparse = sd.compile("hessian(sum(exp(x)), x)", x=3, sparse="csr")
    positions = sd.compile("x[i]", x=3, i=int)
    columns = sd.compile("x + 1", batch_axis=-1)
    large = sd.compile("adjugate(A)", A=("n", "n"), backend="numpy")
    for target in ("c", "cython", "numpy"):
        for kernel, words in ((sparse, "sparse results"), (positions, r"positions among its inputs \(i\)"),
                              (columns, "batch_axis=0")):
            with pytest.raises(UnsupportedError, match=words):
                sd.export(kernel, tmp_path, target=target)
    with pytest.raises(UnsupportedError, match=r"adjugate.*has no C; give its sizes as numbers"):
        sd.export(large, tmp_path, target="c")
    with pytest.raises(UnsupportedError, match="size"):
        sd.export(large, tmp_path, target="cython")
    sd.export(large, tmp_path / "new", target="numpy")
    with pytest.raises(ArgumentError, match="overwrite=True"):
        sd.export(large, tmp_path / "new", target="numpy")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="no folder"):
        sd.export(sd.compile("x + 1"), tmp_path / "file", "f", target="c")


def test_a_module_refuses_wrong_arguments(tmp_path: Path) -> None:
    kernel = sd.compile("A @ x", A=("m", "n"), x="n", batch=["x"], backend="numpy")
    (file,) = sd.export(kernel, tmp_path, "refusing", target="numpy")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), "refusing", "exec"), space)  # noqa: S102 -- our own text, about which the test is
    evaluate = space["evaluate"]
    near(evaluate(np.eye(2), np.ones((5, 2))), np.ones((5, 2)))
    for wrong, words in (
        ((np.eye(2), np.ones(3)), "x has shape"),
        ((np.ones((4, 2, 2)), np.ones(2)), "A has shape"),
        ((np.eye(2), 1.0), "expected 1 axes"),
    ):
        with pytest.raises(ValueError, match=words):
            evaluate(*wrong)
    with pytest.raises(TypeError, match="complex"):
        evaluate(np.eye(2) * 1j, np.ones(2))


@pytest.mark.parametrize("shape", [(), 3, "n"])
@pytest.mark.parametrize("form", ["{}", "gradient({}, x)"])
def test_the_way_out_of_what_numpy_lacks_works(form: str, shape: Any, tmp_path: Path) -> None:
    kernel = sd.compile(form.format("sum(airyai(x))" if shape else "airyai(x)"), x=shape, backend="numpy")
    with pytest.raises(sd.UnsupportedError, match=r"airyai.* is a function that NumPy lacks.*target='c'"):
        sd.export(kernel, tmp_path, "slope", target="numpy")
    assert {path.suffix for path in sd.export(kernel, tmp_path, "slope", target="c")} == {".c", ".h"}


@pytest.mark.parametrize(
    ("text", "shapes", "targets"),
    [
        ("x @ A @ x", {"A": ("n", "n"), "x": "n"}, ["c", "numpy", "numpy+scipy", *LIBRARIES]),
        ("digamma(x) * y", {"x": (), "y": ()}, ["c", "cython", "numpy+scipy", "jax", "torch"]),
        ("airyai(x) * y", {"x": (), "y": ()}, ["c", "cython", "numpy+scipy"]),
        ("gradient(eigvalsh(S)[0], S)", {"S": sd.symmetric(3)}, [*LIBRARIES]),
        ("eigvalsh(S)[0]", {"S": sd.symmetric("n")}, None),
    ],
)
def test_targets_that_are_named_can_write_it(
    text: str, shapes: dict[str, Any], targets: list[str] | None, tmp_path: Path
) -> None:
    kernel = sd.compile(text, shapes=shapes, backend="numpy")
    written, told = set(), {}
    for target in TARGETS:
        try:
            sd.export(kernel, tmp_path / target, "f", target=target)
            written.add(target)
        except UnsupportedError as error:
            told[target] = str(error)
    assert targets is None or written == set(targets)
    for words in told.values():
        named = set(re.findall(r"target='([\w+]+)'", words))
        assert named == written
        assert ("no target can write it; call the kernel" in words) == (not written)
