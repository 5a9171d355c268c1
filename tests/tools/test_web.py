"""The page: answers about formulas, requests that are refused, formulas that hang, many at once.

The application runs where starlette is installed; answers do everywhere.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from symdiff.tools.command import server
from symdiff.tools.command.answers import FORMS, answer
from symdiff.tools.command.server import Busy, Workers
from tests.support.browser import PHONE, SCREEN, Page, opened

ASKED = {"formula": "log(det(A)) + x @ inv(A) @ x", "shapes": ["A=n,n", "x=n"], "wrt": ["A", "x"]}


def test_derivatives_are_told_in_each_notation() -> None:
    found = answer("derive", ASKED)
    assert [row["text"] for row in found["results"]][1] == "(inv(A).T + inv(A)) @ x"
    for row in found["results"]:
        parsed = ElementTree.fromstring(row["mathml"])  # noqa: S314 - our own text
        assert parsed.tag == "{http://www.w3.org/1998/Math/MathML}math"
    assert found["inputs"] == {"A": ["n", "n"], "x": ["n"]}
    assert answer("derive", {"formula": "x**2"})["results"][0]["text"] == "x ** 2"


@pytest.mark.parametrize("form", FORMS)
def test_what_is_copied(form: str) -> None:
    found = answer("copy", {"formula": "sum(sin(x) * y)", "shapes": ["x=3", "y=3"], "wrt": ["x"], "form": form})
    assert re.search("cos", found["text"])


def test_examples_of_the_page_are_formulas() -> None:
    script = Path(str(server.__file__)).with_name("page.js").read_text(encoding="utf-8")
    part = script[script.index("const examples") : script.index("function words")]
    rows = [json.loads(found) for found in re.findall(r'\["[^]]*"\](?=[,\]])', part)]
    assert len(rows) > 10
    for formula, wrt, shapes, *declared in rows:
        facts = {fact: [name] for name, fact in (one.split() for one in declared)}
        asked = {"formula": formula, "wrt": wrt.split(", "), "shapes": shapes.split(), "declared": facts}
        found = answer("derive", asked)
        assert found.get("results"), (formula, found)


def test_steps_and_checks() -> None:
    assert "d" in answer("steps", ASKED)["text"]
    found = answer("check", {"formula": "x @ A @ x", "shapes": ["A=2,2", "x=2"], "values": {"x": [1, 2]}})
    assert found["passed"]
    assert "error" in answer("steps", {"formula": "x"})


def junk(rng: random.Random) -> Any:
    """Return any JSON, of which some looks like a request."""
    texts = ["", "x" * 30_000, "\ud800", "<script>alert(1)</script>", "__import__('os')"]
    kinds: list[Any] = [None, True, -1, 1e308, *texts, [], {}]
    pick = rng.choice([*kinds, "formula"])
    if pick == "formula":
        names = ["formula", "wrt", "shapes", "declared", "kind", "form", "values", "__class__"]
        texts = ["x**x**x", "A@" * 500 + "A", "(" * 5000, "sum(" * 300, "hessian(x, x)", "1" * 5000, "lambda: 0", "x;y"]
        values = [*kinds, ["x"], ["x=9999999999999"], {"x": 1}, *texts]
        return {name: rng.choice(values) for name in rng.sample(names, 4)}
    return pick if rng.random() < 0.5 else [pick, {"formula": pick}]


def test_plots_are_of_values_along_a_number_or_of_nonzeros() -> None:
    found = answer("plot", {"formula": "a * log(x)", "wrt": ["x"], "values": {"a": 2}})
    value, slope = found["lines"].values()
    assert list(found["lines"]) == ["value", "d/dx"]
    assert value[0] is None  # the logarithm of a number below 0
    assert (value[-1], slope[-1]) == (pytest.approx(2 * math.log(5)), pytest.approx(0.4))
    chain = {"formula": "sum((x[1:] - x[:-1]**2)**2)", "wrt": ["x"], "shapes": ["x=n"], "kind": "hessian"}
    found = answer("plot", chain)
    assert (found["shape"], found["text"]) == ([12, 12], "34 nonzeros of 12 × 12, n = 12")
    assert {abs(i - j) for i, j in found["at"]} == {0, 1}
    for asked, told in (
        ({"formula": "a * log(x)", "wrt": ["x"]}, "write a=1 into values"),
        ({"formula": "x @ x", "wrt": ["x"], "shapes": ["x=3"]}, "nothing to plot"),
        ({"formula": "x[1:] * x[:-1]", "wrt": ["x"], "shapes": ["x=40000"]}, "the limit"),
        ({"formula": "outer(x, x)", "wrt": ["x"], "shapes": ["x=90"]}, "a plot shows 10000 at most"),
    ):
        assert told in answer("plot", asked)["error"]


def test_any_request_has_an_answer_that_can_be_sent() -> None:
    rng = random.Random(6)
    for _ in range(300):
        found = answer(rng.choice(["derive", "copy", "steps", "derive", "none"]), junk(rng))
        assert set(found) & {"error", "results", "text"}
        assert len(json.dumps(found)) < 10**6
        assert "Traceback" not in str(found)


def test_what_hangs_is_ended_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        workers = Workers(count=1, wait=20.0, seconds=30.0)
        await workers.start()
        try:
            (process,) = workers._all
            process.send_signal(19)  # a formula that hangs: nothing is answered any more
            workers.seconds = 0.5
            start = time.monotonic()
            found = await workers.ask("derive", ASKED)
            assert "stopped after 0.5 seconds" in found["error"]
            assert time.monotonic() - start < 5
            workers.seconds = 30.0
            assert (await workers.ask("derive", ASKED))["results"]
            assert process.returncode is not None
            assert len(workers._all) == 1
        finally:
            await workers.close()
        assert not workers._all

    asyncio.run(run())


def test_an_answer_that_nobody_waits_for_is_not_given_to_the_next() -> None:
    async def run() -> None:
        workers = Workers(count=1, wait=20.0, seconds=30.0)
        await workers.start()
        try:
            task = asyncio.create_task(workers.ask("steps", ASKED))
            await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            found = await workers.ask("derive", {"formula": "x**2", "wrt": ["x"]})
            assert found["results"][0]["text"] == "2 * x"
        finally:
            await workers.close()

    asyncio.run(run())


# ---------------------------------------------------------------------------- the page in a browser


@pytest.mark.exhaustive
def test_the_page_serves_people_on_screens_and_phones(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    with opened(tmp_path / "profile") as page:
        command = [sys.executable, "-m", "symdiff", "serve", "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                found = re.search(r"http://\S+", server.stdout.readline())
                assert found is not None
                look_at(page, found[0])
            finally:
                server.terminate()


def look_at(page: Page, address: str) -> None:
    page.address = address
    fits = {"wider": 0, "elements": []}
    for size, dark in ((SCREEN, False), (PHONE, True)):
        page.open(address, size, dark)
        page.wait_for("document.querySelectorAll('#results math').length == 2")
        assert page.overflow() == fits
    # each example is typeset, and fits a phone
    for k in range(page.evaluate("document.querySelectorAll('#examples button').length")):
        page.evaluate("document.querySelector('#results').replaceChildren()")
        page.evaluate(f"document.querySelectorAll('#examples button')[{k}].click()")
        page.wait_for("document.querySelectorAll('#results math').length")
        assert page.overflow() == fits
    # by keyboard: what is typed is derived, and a link holds it
    page.type("#shapes", "")
    page.type("#wrt", "x")
    page.type("#formula", "x * sin(y)")
    page.wait_for("document.querySelector('#results code')?.textContent == 'sin(y)'")
    page.press("Tab")
    assert page.evaluate("document.activeElement.id") == "wrt"
    link = page.evaluate("location.href")
    page.evaluate("document.querySelector('[data-form=latex]').click()")
    page.wait_for("document.querySelector('#more').textContent == String.raw`\\sin\\left(y\\right)`")
    for question in ("steps", "check"):
        page.evaluate(f"document.querySelector('[data-question={question}]').click()")
        page.wait_for("/chain rule|product rule|linear|ok: /.test(document.querySelector('#more').textContent)")
    page.type("#values", "y=2")
    page.evaluate("document.querySelector('[data-question=plot]').click()")
    page.wait_for("document.querySelectorAll('#more svg path').length == 2")
    assert page.overflow() == fits
    page.open("about:blank")
    page.open(link)
    page.wait_for("document.querySelector('#results code')?.textContent == 'sin(y)'")
    # shapes may stand behind commas; what is refused leaves the last answer dimmed
    page.type("#formula", "x @ A @ y")
    page.type("#shapes", "x=n, A=n,m, y = m")
    page.wait_for("document.querySelector('#results code')?.textContent == 'A @ y'")
    page.type("#wrt", "z")
    page.wait_for("document.querySelector('#results').className == 'old'")
    page.type("#wrt", "x")
    page.wait_for("document.querySelector('#results').className == ''")
    # a mistake is told as text, and is no element of the page
    page.type("#formula", "x +* <img src=x onerror=alert(1)>")
    page.wait_for("document.querySelector('#message').className == 'bad'")
    assert page.evaluate("document.querySelector('#message').textContent").startswith("expected a number")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.overflow() == fits
    assert page.console == []


# ---------------------------------------------------------------------------- the application

HOST = {"host": "127.0.0.1:8000"}


class Client:
    """Calls an application as a server does."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = b"",
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        rows = list(headers.items()) if isinstance(headers, dict) else headers or []
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(a.encode("latin-1"), b.encode("latin-1")) for a, b in rows], "http_version": "1.1",
            "scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "root_path": "",
        }  # fmt: skip
        got: list[Any] = []
        sent = iter([] if body is None else [{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            return next(sent, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            got.append(message)

        await self.app(scope, receive, send)
        start = next(message for message in got if message["type"] == "http.response.start")
        text = b"".join(message.get("body", b"") for message in got if message["type"] == "http.response.body")
        return start["status"], {a.decode(): b.decode() for a, b in start["headers"]}, text


def application(workers: Any) -> Client:
    pytest.importorskip("starlette")
    from symdiff.tools.command.server import application

    return Client(application({"127.0.0.1:8000", "localhost:8000"}, workers))


class Echo:
    """Workers that answer at once."""

    async def ask(self, question: str, request: Any) -> dict[str, Any]:
        return {"text": question}


POST = {**HOST, "content-type": "application/json"}


def test_what_is_refused() -> None:
    client = application(Echo())

    async def run() -> None:
        async def status(*args: Any) -> int:
            return (await client(*args))[0]

        post = ("POST", "/api/derive", b"{}")
        assert await status(*post, POST) == 200
        assert await status(*post, {**POST, "origin": "http://127.0.0.1:8000"}) == 200
        assert await status(*post, {**POST, "origin": "http://localhost:8000"}) == 403
        assert await status(*post, {**POST, "origin": "null"}) == 403
        assert await status(*post, {**POST, "origin": "https://evil.example"}) == 403
        assert await status(*post, {**POST, "sec-fetch-site": "cross-site"}) == 403
        assert await status(*post, {**POST, "host": "evil.example:8000"}) == 421
        assert await status(*post, {**POST, "host": "127.0.0.1:8001"}) == 421
        assert await status(*post, [*POST.items(), ("host", "evil.example")]) == 421
        assert await status(*post, {"content-type": "application/json"}) == 421
        assert await status(*post, {**POST, "content-type": "text/plain"}) == 415
        assert await status("POST", "/api/derive", b"{", POST) == 400
        assert await status("POST", "/api/derive", b"[" * 60_000, POST) == 400
        assert await status("POST", "/api/derive", b"x" * 70_000, POST) == 413
        assert await status("POST", "/api/derive", None, POST) == 400  # who asked has gone
        assert await status("GET", "/api/derive", b"", POST) == 405
        for path in ("/../etc/passwd", "/page.py", "/app.py", "//", "/%2e%2e/app.py", "/page.html"):
            assert await status("GET", path, b"", HOST) == 404

    asyncio.run(run())


def test_the_page_is_whole_and_fetches_nothing() -> None:
    client = application(Echo())

    async def run() -> None:
        for path in ("/", "/page.js", "/page.css"):
            status, headers, text = await client("GET", path, b"", HOST)
            assert status == 200
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
            assert headers["x-content-type-options"] == "nosniff"
            fetched = re.findall(rb"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", text)
            assert set(fetched) <= {b"http://www.w3.org/1998/Math/MathML", b"http://www.w3.org/2000/svg"}

    asyncio.run(run())


def test_nothing_of_an_answer_is_read_as_html() -> None:
    script = Path(str(server.__file__)).with_name("page.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setHTML", script)


def test_hostile_requests_are_all_answered() -> None:
    client = application(Echo())
    rng = random.Random(7)

    async def run() -> None:
        for _ in range(10_000):
            body = bytes(rng.randrange(256) for _ in range(rng.randrange(40)))
            if rng.random() < 0.5:
                body = json.dumps(junk(rng)).encode()[:70_000]
            headers = {**POST, rng.choice(["origin", "x", "cookie"]): rng.choice(["null", "\xff", "a" * 5000])}
            path = rng.choice(["/api/derive", "/api/", "/api/a/b", "/", "/api/" + "x" * 300])
            status, _, text = await client(rng.choice(["POST", "POST", "GET", "PUT", "HEAD"]), path, body, headers)
            assert status in (200, 400, 403, 404, 405, 413)
            assert b"Traceback" not in text

    asyncio.run(run())


@pytest.mark.exhaustive
def test_many_at_once_are_answered_or_told_to_wait() -> None:
    async def run() -> None:
        workers = Workers(count=2)
        await workers.start()
        client = application(workers)
        body = json.dumps(ASKED).encode()
        start = time.monotonic()
        try:
            found = await asyncio.gather(*(client("POST", "/api/derive", body, POST) for _ in range(64)))
        finally:
            await workers.close()
        assert time.monotonic() - start < 10  # of 5 seconds on a machine with nothing else to do
        assert {status for status, _, _ in found} <= {200, 503}
        assert sum(status == 200 for status, _, _ in found) >= 2
        for status, headers, text in found:
            told = json.loads(text)
            assert told["results"] if status == 200 else "ask again" in told["error"] and headers["retry-after"] == "1"

    asyncio.run(run())


def test_busy_is_no_error_of_the_formula() -> None:
    async def run() -> None:
        workers = Workers(count=1, wait=0.01)
        with pytest.raises(Busy):
            await workers.ask("derive", ASKED)

    asyncio.run(run())
