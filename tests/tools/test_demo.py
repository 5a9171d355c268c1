from __future__ import annotations

import hashlib
import io
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from click.testing import CliRunner
from rich.console import Console

import symdiff as sd
from symdiff.errors import SymdiffError
from symdiff.tools.command import demo
from symdiff.tools.command.cli import main

RIDGE = 0.01


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    x, y, _ = demo.iris()
    return x, y


@pytest.fixture(scope="module")
def kernel() -> Any:
    return demo.compile_model()[0]


def closed_form(W: Any, x: Any, y: Any, ridge: float) -> tuple[float, Any, Any]:
    """Loss, gradient and Hessian as textbooks have them, one flower at a time."""
    loss, gradient = ridge / 2 * (W**2).sum(), ridge * W
    hessian = ridge * np.eye(W.size)
    for one, label in zip(x, y, strict=True):
        p = scipy.special.softmax(W @ one)
        loss = loss - scipy.special.log_softmax(W @ one) @ label
        gradient = gradient + np.outer(p - label, one)
        hessian = hessian + np.kron(np.diag(p) - np.outer(p, p), np.outer(one, one))
    return float(loss), gradient, hessian.reshape(*W.shape, *W.shape)


def test_iris_is_fishers() -> None:
    x, y, species = demo.iris()
    assert x.shape == (150, 5)
    assert species == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(y.sum(axis=0), [50, 50, 50])
    np.testing.assert_array_equal(x[:, 4], 1.0)
    # Where the copy in the UCI repository is wrong: the 35th and 38th flower.
    np.testing.assert_array_equal(x[34, :4], [4.9, 3.1, 1.5, 0.2])
    np.testing.assert_array_equal(x[37, :4], [4.9, 3.6, 1.4, 0.1])
    # Means of the species as Fisher's table II has them.
    means = [[5.006, 3.428, 1.462, 0.246], [5.936, 2.770, 4.260, 1.326], [6.588, 2.974, 5.552, 2.026]]
    np.testing.assert_allclose([x[y[:, k] == 1, :4].mean(axis=0) for k in range(3)], means, rtol=0, atol=1e-12)
    assert hashlib.sha256((x * 10).round().astype("<i8").tobytes()).hexdigest().startswith(FINGERPRINT)


FINGERPRINT = "aabd18e76522227f"


def test_kernel_is_the_closed_form(data: tuple[Any, Any], kernel: Any) -> None:
    W = np.random.default_rng(2).normal(size=(3, 5))
    found = kernel(W, *data, RIDGE / 150)
    for part, value in zip(("loss", "gradient", "hessian"), closed_form(W, *data, RIDGE), strict=True):
        np.testing.assert_allclose(found[part], value, rtol=1e-10, atol=1e-10, err_msg=part)


@pytest.mark.exhaustive
def test_newton_finds_the_optimum(data: tuple[Any, Any], kernel: Any) -> None:
    path = list(demo.newton(kernel, *data, RIDGE, 50))
    losses = [step.loss for step in path]
    assert losses[0] == pytest.approx(150 * np.log(3))
    assert all(after < before for before, after in pairwise(losses))
    best = scipy.optimize.minimize(
        lambda w: closed_form(w.reshape(3, 5), *data, RIDGE)[0],
        np.zeros(15),
        jac=lambda w: closed_form(w.reshape(3, 5), *data, RIDGE)[1].ravel(),
        method="BFGS",
        options={"gtol": 1e-6, "maxiter": 2000},
    )
    assert losses[-1] == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(path[-1].W.ravel(), best.x, rtol=1e-3, atol=1e-3)
    right = int(((data[0] @ path[-1].W.T).argmax(axis=1) == data[1].argmax(axis=1)).sum())
    assert path[-1].accuracy(*data) == right / 150
    assert right >= 147


def test_steps_are_newtons(data: tuple[Any, Any], kernel: Any) -> None:
    W = np.zeros((3, 5))
    for step in demo.newton(kernel, *data, RIDGE, 3):
        np.testing.assert_allclose(step.W, W, rtol=1e-7, atol=1e-9)
        _, gradient, hessian = closed_form(W, *data, RIDGE)
        W = W - np.linalg.solve(hessian.reshape(15, 15), gradient.ravel()).reshape(3, 5)


def test_a_step_that_overshoots_is_halved(data: tuple[Any, Any]) -> None:
    # log cosh is flat far from its minimum, so that full steps from there overshoot more and more.
    W, x, y, r = sd.matrix("W", 3, 5), sd.vector("x", 5), sd.vector("y", 3), sd.scalar("r")
    loss = np.sum(np.log(np.cosh(W - 3)))
    formulas = {"loss": loss, "gradient": sd.gradient(loss, W), "hessian": sd.hessian(loss, W)}
    flat = sd.compile(formulas, [W, x, y, r], batch=[x, y], reduce="sum")
    path = list(demo.newton(flat, *data, RIDGE, 60))
    assert 0 < path[1].length < 0.1
    assert path[-1].length == 1
    losses = [step.loss for step in path]
    assert all(after < before for before, after in pairwise(losses))
    np.testing.assert_allclose(path[-1].W, 3, atol=1e-4)


def test_a_direction_without_gain_ends_the_walk(data: tuple[Any, Any]) -> None:
    def uphill(W: Any, x: Any, y: Any, share: float) -> dict[str, Any]:
        return {"loss": abs(W).sum(), "gradient": np.ones((3, 5)), "hessian": np.eye(15).reshape(3, 5, 3, 5)}

    assert len(list(demo.newton(uphill, *data, RIDGE, 10))) == 1


def test_without_a_ridge_the_hessian_is_singular(data: tuple[Any, Any], kernel: Any) -> None:
    hessian = kernel(np.zeros((3, 5)), *data, 0.0)["hessian"].reshape(15, 15)
    for feature in range(5):
        direction = np.zeros((3, 5))
        direction[:, feature] = 1.0
        np.testing.assert_allclose(hessian @ direction.ravel(), 0, atol=1e-9)


def test_contenders_compute_the_same(data: tuple[Any, Any], kernel: Any) -> None:
    W = np.random.default_rng(3).normal(size=(3, 5))
    expected = closed_form(W, *data, RIDGE)
    for contender in (demo.by_hand(W), demo.by_lambdify(W)):
        found = contender(*data, RIDGE / 150)
        for part, value in zip(("loss", "gradient", "hessian"), expected, strict=True):
            np.testing.assert_allclose(found[part], value, rtol=1e-10, atol=1e-10)


def test_unequal_results_are_not_timed(data: tuple[Any, Any], kernel: Any) -> None:
    W = np.ones((3, 5))

    def wrong(x: Any, y: Any, share: float) -> dict[str, Any]:
        found = dict(kernel(W, x, y, share))
        found["hessian"] = found["hessian"] + 1e-3
        return found

    with pytest.raises(SymdiffError, match="the hessian by NumPy by hand differs"):
        demo.compare(wrong, W, [(*data, 0.1)])


# ---------------------------------------------------------------------------- the command


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0, result.output
    output = result.output
    assert "rewritten for accuracy: log(sum(exp(W @ x))) → logsumexp(W @ x)" in output
    assert "softmax(W x) - y" in output
    rows = [line.split() for line in output.splitlines() if re.fullmatch(r" +\d+( +[-+.e0-9]+){4}", line)]
    losses = [float(row[2]) for row in rows]
    assert len(losses) > 5
    assert losses == sorted(losses, reverse=True)
    ((accuracy, right),) = re.findall(r"accuracy (\d\.\d+): (\d+) of 150", output)
    assert float(accuracy) >= 0.98
    assert float(accuracy) == pytest.approx(int(right) / 150, abs=5e-4)
    assert Path("symdiff-demo.png").read_bytes().startswith(b"\x89PNG")
    for samples in ("150 flowers", "15000 flowers"):
        part = output.rpartition("median times")[2].partition(f"{samples}\n")[2]
        times = dict(re.findall(r"^  (\S.*?) +([\d.]+) µs", part, re.MULTILINE)[:3])
        assert set(times) == {"symdiff", "NumPy by hand", "sympy.lambdify"}


def test_few_steps_and_a_vector_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["demo", "--steps", "2", "--no-compare", "--out", "loss.svg"])
    assert result.exit_code == 0, result.output
    assert "<svg" in Path("loss.svg").read_text()
    assert "accuracy 0.920" in result.output
    assert "median" not in result.output


@pytest.mark.parametrize("ridge", ["0", "-1", "nan", "inf", "1e-300"])
def test_a_ridge_out_of_range_is_refused(ridge: str) -> None:
    result = CliRunner().invoke(main, ["demo", "--ridge", ridge])
    assert result.exit_code == 2
    assert "expected one from 1e-06 to 1e+06" in result.output


@pytest.mark.parametrize(
    ("out", "words"),
    [("none/plot.png", "there is no folder"), ("plot.txt", "expected a plot called"), (".", "no ordinary file")],
)
def test_a_plot_that_cannot_be_saved_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["demo", "--out", out])
    assert result.exit_code == 2
    assert words in result.output
    assert "Newton" not in result.output


def _show(width: int, terminal: bool, plot: Path) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=terminal, legacy_windows=False)
    demo.run_demo(console, steps=3, ridge=RIDGE, plot=plot, contest=False)
    return stream.getvalue()


def test_on_a_terminal_the_table_grows(tmp_path: Path) -> None:
    output = _show(100, True, tmp_path / "p.png")
    assert "\x1b[" in output
    assert "23.637" in output
    for width in (10, demo.TABLE_WIDTH - 1, demo.TABLE_WIDTH):
        assert "23.637053" in _show(width, True, tmp_path / "p.png")


def test_bars_where_matplotlib_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    output = _show(60, False, tmp_path / "p.png")
    bars = [len(bar) for bar in re.findall(r"^ +\d+ ([█#]+) ", output, re.MULTILINE)]
    assert len(bars) == 4
    assert bars == sorted(bars, reverse=True)
    assert bars[1] == pytest.approx(bars[0] * 68.0 / 164.79, abs=1)
    assert "matplotlib is not installed" in output
    assert max(map(len, output.splitlines()[-6:-2])) <= 60
    assert not (tmp_path / "p.png").exists()
