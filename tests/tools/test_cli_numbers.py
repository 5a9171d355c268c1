"""The command line on numbers: eval with files, values, batches and tables."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import symdiff as sd
from tests.tools.test_cli import Run, run  # noqa: F401


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(1)


def test_eval_a_batch_from_npy_to_npy(run: Run, numbers: np.random.Generator) -> None:  # noqa: F811
    a = numbers.normal(size=(20, 4, 4))
    np.save("a.npy", a)
    output = run("eval", "log(det(A)**2)", "--wrt", "A", "--data", "A=a.npy", "--batch", "A", "--out", "g.npy").stdout
    np.testing.assert_allclose(np.load("g.npy"), 2 * np.linalg.inv(a).swapaxes(1, 2), rtol=1e-9)
    assert "A: (20, 4, 4) float64, 20 samples from a.npy" in output
    assert re.search(r"wrote g\.npy \(\d+ bytes\)", output)
    assert sorted(os.listdir()) == ["a.npy", "g.npy"]


def test_the_shape_of_a_sample_decides_the_batch(run: Run, numbers: np.random.Generator) -> None:  # noqa: F811
    a = numbers.normal(size=(3, 5, 4, 4))
    np.save("a.npy", a)
    for shape in ("4,4", "n,n"):
        run("eval", "det(A)", "--data", "A=a.npy", "--shape", f"A={shape}", "--out", "d.npy", "--overwrite")
        np.testing.assert_allclose(np.load("d.npy"), np.linalg.det(a), rtol=1e-10)
    np.save("one.npy", a[0, 0])
    run("eval", "det(A)", "--data", "A=one.npy", "--out", "d.npy", "--overwrite")
    np.testing.assert_allclose(np.load("d.npy"), np.linalg.det(a[0, 0]), rtol=1e-10)


def test_eval_from_npz_with_several_results(run: Run, numbers: np.random.Generator) -> None:  # noqa: F811
    X, y = numbers.normal(size=(30, 2, 4)), numbers.normal(size=(30, 4))
    np.savez("d.npz", X=X, y=y)
    run(
        *("eval", "log(softmax(X @ y))", "--wrt", "X", "--wrt", "y", "--data", "X=d.npz", "--data", "y=d.npz:y"),
        *("--batch", "auto", "--out", "j.npz"),
    )
    scores = np.einsum("nij,nj->ni", X, y)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    slopes = np.eye(2) - p[:, None, :]
    with np.load("j.npz") as found:
        np.testing.assert_allclose(found["d/dX"], np.einsum("nki,nj->nkij", slopes, y), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found["d/dy"], np.einsum("nki,nij->nkj", slopes, X), rtol=1e-10, atol=1e-12)


def test_eval_from_csv_with_values_and_reduce(run: Run) -> None:  # noqa: F811
    Path("t.csv").write_text("name,a,b\nu,1,2\nv,3,4\n")
    given = ["--wrt", "w", "--data", "x=t.csv:a,b", "--batch", "x", "--value", "w=[1, 2]"]
    assert "[[10. 20.]\n [66. 88.]]" in run("eval", "sum(w * x)**2", *given).stdout
    run("eval", "sum(w * x)**2 * s", *given, "--value", "s=0.5", "--reduce", "sum", "--out", "r.csv")
    assert Path("r.csv").read_text() == "d/dw\n38\n54\n"


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy", "auto"])
def test_eval_agrees_with_python(run: Run, numbers: np.random.Generator, backend: str) -> None:  # noqa: F811
    x = numbers.normal(size=(50, 3))
    np.save("x.npy", x)
    run(
        *("eval", "sum(exp(sin(x)))", "--wrt", "x", "--kind", "hessian", "--data", "x=x.npy", "--batch", "x"),
        *("--backend", backend, "--out", "h.npy"),
    )
    kernel = sd.compile(sd.hessian("sum(exp(sin(x)))", "x", x=3), backend="numpy")
    np.testing.assert_allclose(np.load("h.npy"), kernel(x), rtol=1e-12)


def test_eval_of_derivatives_within_the_formula(run: Run) -> None:  # noqa: F811
    assert "\n12\n" in run("eval", "gradient(x**3, x)", "--value", "x=2").stdout.replace("12.\n", "12\n")
    given = ["--value", "x=2", "--value", "y=3"]
    for text, names in {
        "gradient(x * y, (x, y))": "gradient_x gradient_y",
        "x * y, gradient(x * y, x), gradient(x * y, y)": "value gradient_x gradient_y",
        "x, x + y, x - y": "x value0 value1",
        "h = x * y\nh, hessian(h, (x, y))": "h hessian_x_x hessian_x_y hessian_y_x hessian_y_y",
        "value0 = x\nvalue0, x + y, 2 * y": "value0 value1 value2",
        "hvp(x**2 * y, x, 1), jvp(x * y, (x, y), (1, 1))": "hvp_x jvp_x_y",
    }.items():
        for form, stdin in ((text, None), ("-", text)):
            found = json.loads(run("eval", form, *given, "--json", stdin=stdin).stdout)["results"]
            assert list(found) == names.split()


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_eval_of_conditions(run: Run, backend: str) -> None:  # noqa: F811
    np.save("x.npy", np.array([1.0, 2.0, 3.0]))
    run("eval", "(x > 1) & (x < 3)", "--data", "x=x.npy", "--backend", backend, "--out", "c.npy")
    np.testing.assert_array_equal(np.load("c.npy"), [0.0, 1.0, 0.0])


def test_eval_of_an_empty_batch_and_of_numbers_that_are_not_finite(run: Run) -> None:  # noqa: F811
    np.save("none.npy", np.empty((0, 3)))
    assert "(0, 3) float64, empty" in run("eval", "x**2", "--data", "x=none.npy", "--batch", "x").stdout
    np.save("odd.npy", np.array([1.0, np.nan, np.inf]))
    assert "2 of 3 not finite" in run("eval", "x**2", "--data", "x=odd.npy").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["sum(x)", "--data", "x=nowhere.npy"], "nowhere.npy: there is no such file"),
        (["sum(x)", "--data", "x=pickled.npy"], "pickled Python objects, which are never loaded"),
        (["sum(x)", "--data", "x=text.csv"], "text.csv, line 2, column 1 (a): 'one' is not a number"),
        (["sum(x)", "--data", "x"], "expected --data X=x.npy"),
        (["sum(x)", "--data", "x=x.npy", "--value", "x=1"], "come twice"),
        (["sum(x)", "--data", "x=x.npy", "--out", "x.npy"], "is the input x.npy"),
        (["sum(x)", "--data", "x=x.npy", "--out", "none/r.npy"], "there is no folder"),
        (["x", "--data", "x=cube.npy", "--out", "r.csv"], "a .csv file holds two axes, the result has 3"),
        (["x", "--data", "x=cube.npy", "--batch", "x", "--out", "r.csv"], "the result has 3"),
        (["sum(x)", "--data", "x=x.npy", "--out", "r.txt"], "ending in .npy, .npz, .csv or .parquet"),
        (["sum(x)", "--data", "x=x.npy", "--shape", "x=4"], "x has shape (5, 3); expected (4,)"),
        (["sum(x)", "--data", "x=x.npy", "--shape", "x=2,5,3"], "x has shape (5, 3); expected (2, 5, 3)"),
        (["x * y", "--data", "x=x.npy", "--shape", "x=n", "--shape", "y=n", "--value", "y=[1]"], "n is 3 from x"),
        (["sum(x)", "--data", "x=x.npy", "--shape", "y=4"], "--shape for 'y', which has no numbers"),
        (["sum(x)", "--data", "x=x.npy", "--batch", "z"], "--batch z, which is no input; expected some of x"),
        (["sum(x) * a", "--data", "x=x.npy", "--value", "a=1", "--batch", "a"], "which is a single number"),
        (["sum(x) + sum(y)", "--data", "x=x.npy", "--data", "y=y.npy", "--batch", "auto"], "x has 5, y has 2"),
        (["sum(x) * q", "--data", "x=x.npy"], "no numbers for 'q'"),
        (["p * q", "--value", "p=1"], "no numbers for 'q'"),
        (["p * q"], "no numbers for 'p'"),
        (["p", "--value", "p=one"], "expected a number, 3.5, or lists"),
        (["p", "--value", "p=[[1],[1,2]]"], "expected a number, 3.5, or lists"),
        (["p", "--value", "p=" + "[" * 5000], "expected a number, 3.5, or lists"),
        (["inv(A)", "--value", "A=[[1,1],[1,1]]"], "singular"),
        (["sum(x)", "--data", "x=x.npy", "--kind", "hessian"], "add --wrt NAME"),
        (["x @ x", "--data", "x=x.npy"], "Shapes of one sample: x (5, 3); say --batch NAME"),
        (["z * exp(-z)", "--data", "z=long.npy", "--wrt", "z"], "Shapes of one sample: z (20000,); say --batch NAME"),
    ],
)
def test_eval_refuses_in_words(run: Run, args: list[str], words: str) -> None:  # noqa: F811
    np.save("x.npy", np.ones((5, 3)))
    np.save("y.npy", np.ones((2, 3)))
    np.save("cube.npy", np.ones((2, 3, 4)))
    np.save("long.npy", np.ones(20_000))
    np.save("pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    Path("text.csv").write_text("a\none\n")
    before = {p: p.read_bytes() for p in Path().iterdir()}
    result = run("eval", *args, code=2)
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert {p: p.read_bytes() for p in Path().iterdir()} == before


TABLE = "S,K,name\n1,2,3\n4,5,6\n"


def test_a_table_without_a_name_gives_its_columns_by_name(run: Run) -> None:  # noqa: F811
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    one_by_one = ("--data", "S=t.csv:S", "--data", "K=t.csv:K")
    wanted = json.loads(run("eval", "S*K", *one_by_one, "--batch", "auto", "--json").stdout)
    for data in (["t.csv"], ["t.csv", "K=t.csv:K"]):
        given = [part for one in data for part in ("--data", one)]
        found = json.loads(run("eval", "S*K", *given, "--batch", "auto", "--json").stdout)
        assert found["results"] == wanted["results"]
    found = json.loads(run("eval", "S*K*r", "--data", "t.csv", "--value", "r=2", "--batch", "auto", "--json").stdout)
    assert found["results"]["value"]["values"] == [4.0, 40.0]
    # what a formula calls or defines is no input
    text = "K = 2\nname = log(S)\nK * exp(name)"
    found = json.loads(run("eval", text, "--data", "t.csv", "--batch", "auto", "--json").stdout)
    assert found["results"]["value"]["values"] == pytest.approx([2.0, 8.0])


def test_a_table_that_nothing_is_taken_of_is_refused(run: Run) -> None:  # noqa: F811
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    Path("bare.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    said = run("eval", "x*log(y)", "--data", "t.csv", "--batch", "auto", code=2)
    assert "t.csv has no column that the formula mentions (x, y); its columns: S, K, name" in said.output
    said = run("eval", "x*y", "--data", "bare.csv", "--batch", "auto", code=2)
    assert "it has no header. Give a column by --data NAME=bare.csv:COLUMN" in said.output


def test_all_columns_are_not_taken_for_the_one_of_the_inputs_name(run: Run) -> None:  # noqa: F811
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    said = run("eval", "S*K", "--data", "S=t.csv", "--data", "K=t.csv", "--batch", "auto", code=2)
    assert "one of them called S; write --data S=t.csv:S for that one" in said.output
    for given in (["--data", "S=t.csv:S,K,name"], ["--data", "S=t.csv", "--shape", "S=3"], ["--data", "x=t.csv"]):
        name = given[1][0]
        found = json.loads(run("eval", f"sum({name})", *given, "--batch", name, "--json").stdout)
        assert found["results"]["value"]["values"] == [6.0, 15.0]


def test_rows_of_a_table_by_name_are_streamed(run: Run) -> None:  # noqa: F811
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    run("eval", "S*K", "--data", "t.csv", "--batch", "auto", "--rows-at-once", "1", "--out", "r.npy")
    assert np.load("r.npy").tolist() == [2.0, 20.0]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--wrt", "s", "--wrt", "r", "--value"], ["value", "d/ds", "d/dr"]),
        (["--value", "--wrt", "s"], ["value", "d/ds"]),
        (["--wrt", "s"], ["d/ds"]),
        (["--wrt", "s", "--value", "--kind", "hessian"], ["value", "d2/ds ds"]),
        (["--wrt", "s", "--wrt", "r", "--kind", "hessian"], ["d2/ds ds", "d2/ds dr", "d2/dr ds", "d2/dr dr"]),
        (["--value"], ["value"]),
        ([], ["value"]),
    ],
)
def test_eval_gives_value_and_derivatives_in_one_run(run: Run, options: list[str], names: list[str]) -> None:  # noqa: F811
    s, r, t = np.array([1.0, 2.0]), np.array([0.1, 0.2]), 3.0
    np.savetxt("t.csv", np.column_stack([s, r]), delimiter=",", header="s,r", comments="")
    given = ["--data", "t.csv", "--batch", "auto", "--value", "t=3", "--out", "g.csv"]
    run("eval", "s * exp(-r * t)", *options, *given)
    head, *rows = Path("g.csv").read_text().splitlines()
    assert head.split(",") == names
    known = {"value": s * np.exp(-r * t), "d/ds": np.exp(-r * t), "d/dr": -t * s * np.exp(-r * t), "d2/ds ds": 0 * s}
    for name, column in zip(names, np.array([[float(x) for x in row.split(",")] for row in rows]).T, strict=True):
        if name in known:
            np.testing.assert_allclose(column, known[name], rtol=1e-14, atol=1e-15)
