"""The page about a kernel, and the times on it."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.tools.reading.benchmark import drawn_arguments, in_words
from symdiff.tools.reading.page import MOST_NODES, annotated, curve, expressions, graph, page

X, Y = sd.vector("x", 12), sd.scalar("y")
CHAIN = (100 * (X[1:] - X[:-1] ** 2) ** 2 + (1 - X[:-1]) ** 2).sum()
VOID = {"meta", "link", "br", "line", "rect", "polyline", "circle"}


class Elements(HTMLParser):
    """Collects elements and text, and refuses tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def kernels() -> dict[str, sd.Kernel]:
    return {
        "determinant": sd.compile("gradient(log(det(A)) + sum(sin(A)**2), A)", A=(2, 2), backend="native"),
        "sparse": sd.compile(
            {"slope": sd.gradient(CHAIN, X), "curvature": sd.hessian(CHAIN, X)},
            sparse={"slope": None, "curvature": "csr"},
        ),
        "plan": sd.compile("gradient(sum(exp(A @ x)), x)", A=("n", "n"), x="n"),
        "formula": sd.compile("where(x < y, log(1 + x), 2)", x=(), y=(), backend="interpreter"),
        "rows": sd.compile(lambda cs, idx: cs[idx].sum(), cs=(4, 2), idx=(int, 3)),
        "columns": sd.compile("x @ x", x=3, batch_axis=-1, backend="numpy"),
    }


KERNELS = kernels()


@pytest.mark.parametrize("name", KERNELS)
def test_a_page_is_whole_and_asks_for_nothing(name: str) -> None:
    text = page(KERNELS[name], "A <b>bold</b> & title", timed=name == "formula")
    elements = Elements(text)
    tags = {tag for tag, _ in elements.found}
    assert tags.isdisjoint({"script", "img", "iframe", "b"})
    for tag, attributes in elements.found:
        assert "src" not in attributes
        assert tag == "link" or "href" not in attributes
    assert "url(" not in text
    assert "A <b>bold</b> & title" in elements.words
    assert "prefers-color-scheme: dark" in text
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in elements.found


def test_a_page_tells_what_there_is_to_tell() -> None:
    words = Elements(page(KERNELS["determinant"], timed=False)).words
    for heading in ("Formula", "Derivative", "Steps", "Graph", "Generated C", "Rewritten for stability"):
        assert heading in words
    assert "Time" not in words
    assert "df=tr(A−1dA)+2tr((cos(A)⊙sin(A))⊤dA)" in "".join(words)
    assert "abs(A[0, 0])" in words
    nonzeros = Elements(page(KERNELS["sparse"], timed=False))
    rows, _ = KERNELS["sparse"].pattern()["curvature"]
    dots = [one for tag, one in nonzeros.found if tag == "rect" and one.get("class") == "dot"]
    assert len(dots) == len(rows)
    assert any(f"{len(rows)} of 12×12" in word for word in nonzeros.words)
    assert any("map of" in word or "sum of" in word for word in Elements(page(KERNELS["plan"], timed=False)).words)


def test_names_that_users_choose_are_quoted() -> None:
    f = sd.compile({"<i>out</i>": Y * Y})
    assert "<i>" not in page(f, timed=False)


def test_pages_are_written_whole_or_refused(tmp_path: Path) -> None:
    KERNELS["formula"].report(tmp_path / "page.html", timed=False)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(sd.DataError, match="html"):
        KERNELS["formula"].report(tmp_path / "page.txt")
    with pytest.raises(sd.DataError):
        KERNELS["formula"].report(tmp_path / "none" / "page.html")


HARNESS = """<!DOCTYPE html><meta charset="utf-8"><iframe width="390" height="800" style="border: 0"></iframe>
<pre></pre>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const root = frame.contentDocument.documentElement;
  const paper = frame.contentWindow.getComputedStyle(frame.contentDocument.body).backgroundColor;
  document.querySelector("pre").textContent =
    "width " + root.clientWidth + " content " + root.scrollWidth + " height " + root.scrollHeight + " paper " + paper;
};
frame.srcdoc = PAGE;
</script>"""


def browse(browser: str, harness: Path, profile: Path, *options: str) -> tuple[dict[str, str], str]:
    """Return what a page of 390 pixels says of itself in a browser, and what its console has."""
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
        "--enable-logging=stderr",
        *(f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom", *options, harness.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = re.search(r"<pre>width (\d+) content (\d+) height (\d+) paper ([^<]*)</pre>", done.stdout)
    assert found is not None, done.stdout[:2000]
    told = dict(zip(("width", "content", "height", "paper"), found.groups(), strict=True))
    return told, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_pages_fit_a_phone_in_light_and_dark(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium is installed: pages are not looked at in a browser (apt-get install chromium)")
    papers = set()
    for name, options in (("determinant", ()), ("sparse", ("--blink-settings=preferredColorScheme=0",))):
        quoted = repr(page(KERNELS[name], timed=name == "determinant")).replace("</", "<\\/")
        harness = tmp_path / f"{name}.html"
        harness.write_text(HARNESS.replace("PAGE", quoted), encoding="utf-8")
        told, console = browse(browser, harness, tmp_path / name, *options)
        assert console == ""
        assert told["width"] == told["content"] == "390"
        assert int(told["height"]) > 1000
        papers.add(told["paper"])
    assert papers == {"rgb(253, 253, 251)", "rgb(22, 24, 27)"}


# ---------------------------------------------------------------------------- its parts


def program_of(kernel: sd.Kernel) -> Any:
    units = kernel._units
    assert units is not None
    return units.program


def test_listed_expressions_are_what_the_values_are() -> None:
    """Read the text of each stored value again, as a formula, and compare it with the kernel."""
    rng = np.random.default_rng(0)
    for text in ("x * sin(y) / (1 + z**2)", "-(x - (y - z)) * (x - y)", "where(x < y, z / (x / y), -x)", "x + y * z"):
        k = sd.compile(text, x=(), y=(), z=(), backend="interpreter")
        program = program_of(k)
        written = expressions(program)[program.stores[0][0]]
        again = sd.compile(written, ["x", "y", "z"], shapes={"x": (), "y": (), "z": ()})
        values = rng.uniform(0.5, 2.0, (3, 20))
        np.testing.assert_allclose(again(*values), k(*values), rtol=1e-13)


def test_long_expressions_name_their_parts() -> None:
    k = sd.compile("gradient(log(det(A)), A)", A=(3, 3), backend="native")
    texts = expressions(program_of(k))
    assert max(map(len, texts)) < 200
    assert any(re.search(r"\bv\d+\b", text) for text in texts)
    lines = dict(annotated(k.source("c"), program_of(k)))
    assert sum(map(bool, lines.values())) > len(texts) // 2
    for line, told in lines.items():
        number = re.match(r"[VK] v(\d+)=", line)
        assert number is None or told == texts[int(number[1])]


@pytest.mark.exhaustive
def test_times_of_letters_say_what_the_letters_were() -> None:
    kernel = sd.compile("gradient(sum((X @ w - y)**2), w)", X=("n", "p"), w="p", y="n")
    found = kernel.benchmark([1], sizes={"p": 3})
    assert found.sizes == {"n": 16, "p": 3}
    assert "n = 16, p = 3" in str(found)
    assert "n = 16, p = 3" in found._repr_html_()
    assert "on random numbers, with n = 16, p = 16." in page(kernel)
    assert "=" not in str(sd.compile("x * y").benchmark([1])).splitlines()[0]


def test_one_time_is_no_curve() -> None:
    kernel = sd.compile("hessian(sum((x[1:] - x[:-1]**2)**2), x)", x=5, sparse="csr")
    assert "seconds for a sample against" not in page(kernel)
    assert "<th>a sample</th>" in page(kernel)


def test_steps_of_a_page_stand_below_each_other_on_a_phone() -> None:
    made = page(sd.compile("gradient(log(det(A)), A)", A=(2, 2)), timed=False)
    narrow = made[made.index("@media (max-width: 40rem)") :]
    assert ".steps td { display: block;" in narrow


def test_large_graphs_are_not_drawn() -> None:
    x = sd.scalar("x")
    f: Any = x
    for _ in range(MOST_NODES):
        f = np.sin(f)
    assert graph([f.node]) is None
    drawn = graph([sd.asarray(np.sin(x) * np.cos(x)).node])
    assert drawn is not None
    assert drawn.count("<rect") == 4
    assert drawn.count('class="shared"') == 1


def test_a_curve_has_its_points_in_order() -> None:
    drawn = curve([(1, 1e-6), (10, 1e-7), (1000, 1e-7)], "a <b>", "c")
    places = [tuple(map(float, p.split(","))) for p in re.findall(r'points="([^"]*)"', drawn)[0].split()]
    assert places[0][0] < places[1][0] < places[2][0]
    assert places[0][1] < places[1][1] == places[2][1]
    assert "a &lt;b&gt;" in drawn


@pytest.mark.parametrize("name", KERNELS)
def test_benchmarks_time_what_a_kernel_takes(name: str) -> None:
    kernel = KERNELS[name]
    batches = [1] if name == "sparse" else [1, 7]
    found = kernel.benchmark(batches, sizes={"n": 5} if name == "plan" else None)
    assert [t.batch for t in found.timings] == batches
    assert all(t.seconds > 0 and t.calls >= 5 for t in found.timings)
    assert found.signature == kernel.signature
    assert f"{batches[-1]}" in str(found)
    assert "a sample" in found._repr_html_()


def test_benchmarks_draw_numbers_at_which_kernels_are_finite() -> None:
    k = sd.compile("log(x) + arcsin(y)", x=(), y=())
    given = drawn_arguments(k, 1, {}, np.random.default_rng(0))
    assert np.isfinite(k(inputs=given))
    S = sd.matrix("S", 3, 3, symmetric=True)
    given = drawn_arguments(sd.compile(np.linalg.cholesky(S)), 4, {}, np.random.default_rng(0))
    assert given["S"].shape == (4, 3, 3)
    np.testing.assert_array_equal(given["S"], given["S"].swapaxes(-1, -2))


def test_benchmarks_refuse_what_is_no_batch() -> None:
    for batches in ([], [0], [1.5], [True]):
        with pytest.raises(sd.ArgumentError, match="batches"):
            KERNELS["formula"].benchmark(batches)
    with pytest.raises(sd.ArgumentError, match="sizes of m"):
        KERNELS["plan"].benchmark([1], sizes={"m": 3})


def test_benchmarks_are_drawn_by_matplotlib() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    found = KERNELS["formula"].benchmark([1, 10])
    ax = found.plot(figure.add_subplot())
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [1, 10])
    np.testing.assert_array_equal(line.get_ydata(), [t.per_sample for t in found.timings])


def test_times_have_units() -> None:
    assert [in_words(t) for t in (2.5, 0.0123, 4.2e-5, 3e-9)] == ["2.5 s", "12.3 ms", "42.0 µs", "3.0 ns"]
