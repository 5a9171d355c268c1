"""A headless Chromium that tests drive by its DevTools protocol, over a pipe, with nothing installed beside it."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["PHONE", "SCREEN", "Page", "opened"]

SCREEN, PHONE = (1280, 900), (390, 844)
#: Seconds until an answer, or what is waited for, must be there.
PATIENCE = 60.0


class Page:
    """A page that is looked at: what it says when it is asked, and what its console has."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._out, self._rest = into, out, b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        #: Messages of the console, exceptions, and requests that failed.
        self.console: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        session = {} if self._session is None else {"sessionId": self._session}
        os.write(self._into, json.dumps({"id": number, "method": method, "params": params, **session}).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            message = self._read(end)
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def _read(self, end: float) -> Any:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._out, 1 << 16)
            assert part, "the browser has ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: Any) -> None:
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(one.get("value", one)) for one in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith((self.address, "data:")):
            self.console.append(f"a request to {params['request']['url'][:200]}")

    #: Where requests may go.
    address = ""

    def open(self, url: str, size: tuple[int, int] = SCREEN, dark: bool = False) -> None:
        """Open a page in a window of this size, and wait until it is loaded."""
        width, height = size
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask("Page.navigate", url=url)
        self.wait_for("document.readyState == 'complete'")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Return the value of an expression once it is true."""
        end = time.monotonic() + PATIENCE
        wait = f"new Promise(done => setTimeout(() => done({script}), 50))"
        while not (found := self.evaluate(wait)):
            assert time.monotonic() < end, f"{script} is not true in time"
        return found

    def type(self, selector: str, text: str) -> None:
        """Write into a field as a keyboard does, in place of what it has."""
        self.evaluate(f"(one => {{ one.focus(); one.select(); }})(document.querySelector({json.dumps(selector)}))")
        self._ask("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self._ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self._ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def overflow(self) -> Any:
        """Return how many pixels the page is wider than its window, and elements that reach beyond it unscrolled."""
        return self.evaluate(
            """(() => {
              const root = document.documentElement, width = root.clientWidth, found = [];
              const scrolls = one => {
                for (let at = one.parentElement; at; at = at.parentElement)
                  if (/auto|scroll|hidden/.test(getComputedStyle(at).overflowX)) return true;
                return false;
              };
              for (const one of document.body.querySelectorAll("*")) {
                const box = one.getBoundingClientRect();
                if (box.width && box.right > width + 1 && box.left < width && !scrolls(one))
                  found.push(one.tagName + "." + one.className);
              }
              return { wider: root.scrollWidth - width, elements: found.slice(0, 5) };
            })()"""
        )

    def picture(self, path: Path, whole: bool = False) -> None:
        """Write what is seen as PNG."""
        data = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def opened(profile: Path) -> Iterator[Page]:
    """Give a page of a browser that ends with it; skip the test where there is no browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium is installed: pages are not looked at in a browser (apt-get install chromium)")
    their_in, into = os.pipe()
    out, their_out = os.pipe()

    def place() -> None:  # the browser reads 3 and writes 4
        reading, writing = os.dup(their_in), os.dup(their_out)
        os.dup2(reading, 3)
        os.dup2(writing, 4)

    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
        *("--remote-debugging-pipe", "--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}"),
    ]
    with subprocess.Popen(
        command,
        preexec_fn=place,  # noqa: PLW1509 - tests have one thread here, and file descriptors 3 and 4 are needed
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(their_in)
        os.close(their_out)
        try:
            yield Page(into, out)
        finally:
            os.close(into)
            process.terminate()
            process.wait(30)
            os.close(out)
