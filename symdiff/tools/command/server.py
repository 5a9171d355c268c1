"""The server of the page in a browser: the requests that it takes, and the processes that answer them.

It is for this machine. A request must name a host that the server is known by, so that no other site reaches it by a
name of its own (DNS rebinding), and come from the page itself where the browser tells the origin. A stranger's text is
read by the budget "strict". Each process answers one question at a time; one that does not answer in time is ended, and
another takes its place. No text of a request reaches HTML: answers are JSON, and the page shows them as text, or as
MathML whose elements it knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ...errors import DataError, UnsupportedError
from .answers import FORMS

__all__ = ["LOOPBACK", "Busy", "Workers", "application", "serve"]


#: Bytes of an answer.
LONGEST = 32 * 2**20


class Busy(Exception):  # noqa: N818 - no error: the answer is to ask again
    """Every process is at work for others."""


class Workers:
    """A number of processes.

    Parameters
    ----------
    count : int
    wait, seconds : float
        How long a question waits for a process, and a process may take for it.
    """

    def __init__(self, count: int = 2, wait: float = 1.25, seconds: float = 3.5) -> None:
        self.count, self.wait, self.seconds = count, wait, seconds
        self._free: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
        self._all: set[asyncio.subprocess.Process] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Start the processes."""
        await asyncio.gather(*(self._add() for _ in range(self.count)))

    async def close(self) -> None:
        """End them."""
        self._closed = True
        for task in self._starting:
            task.cancel()
        for process in list(self._all):
            await self._end(process)

    async def _add(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "symdiff.tools.command.answers",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST,
        )  # fmt: skip
        self._all.add(process)
        if self._closed:
            await self._end(process)
            return
        await self._exchange(process, "derive", {"formula": "x", "wrt": ["x"]})  # what takes long at first is imported
        self._free.put_nowait(process)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._all.discard(process)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    def _replace(self, process: asyncio.subprocess.Process) -> None:
        async def again() -> None:
            await self._end(process)
            if not self._closed:
                await self._add()

        task = asyncio.get_running_loop().create_task(again())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _exchange(self, process: asyncio.subprocess.Process, question: str, request: Any) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([question, request]).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:
            raise ConnectionResetError
        found: dict[str, Any] = json.loads(line)
        return found

    async def ask(self, question: str, request: Any) -> dict[str, Any]:
        """Return the answer to a question.

        Raises
        ------
        Busy
            If no process is free in time.
        """
        try:
            process = await asyncio.wait_for(self._free.get(), self.wait)
        except TimeoutError:
            raise Busy from None
        answered = False
        try:
            found = await asyncio.wait_for(self._exchange(process, question, request), self.seconds)
            answered = True
        except TimeoutError:
            return {"error": f"stopped after {self.seconds:g} seconds: the formula takes too long; take a smaller one"}
        except (ConnectionError, ValueError):
            return {"error": "the formula takes more memory than there is for it; take a smaller one"}
        else:
            return found
        finally:
            if answered:
                self._free.put_nowait(process)
            else:
                self._replace(process)


#: Names of this machine to itself.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
#: Bytes of a request, and seconds until they must be there.
LARGEST, PATIENCE = 64 * 1024, 2.0
_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def application(hosts: Collection[str], workers: Workers | None = None) -> Any:
    """Return the ASGI application.

    Parameters
    ----------
    hosts : collection of str
        What requests may name as their host, with the port: ``127.0.0.1:8000``.
    workers : Workers, optional
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise UnsupportedError(
            f"the page needs starlette and uvicorn ({error}); install them: pip install 'symdiff-compiler[web]'"
        ) from None
    pool = workers or Workers()
    folder = Path(__file__).parent
    texts = {path: (folder / name).read_bytes() for path, (name, _) in _FILES.items()}
    buttons = "".join(f'<button data-form="{name}">{title}</button>' for name, title in FORMS.items())
    texts["/"] = texts["/"].replace(b"<!-- forms -->", buttons.encode())

    def refused(status: int, why: str, **headers: str) -> Response:
        return JSONResponse({"error": why}, status, headers)

    def objection(request: Request) -> Response | None:
        named = request.headers.getlist("host")
        if len(named) != 1 or named[0].lower() not in hosts:
            return refused(421, "this server is not known by that host")
        origins = request.headers.getlist("origin")
        if origins and origins != [f"http://{named[0].lower()}"]:
            return refused(403, "a request from another origin")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return refused(403, "a request from another site")
        return None

    async def file(request: Request) -> Response:
        return objection(request) or Response(texts[request.url.path], media_type=_FILES[request.url.path][1])

    async def body_of(request: Request) -> bytes:
        found = b""
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                found += part
                if len(found) > LARGEST:
                    raise OverflowError
        return found

    async def ask(request: Request) -> Response:
        against = objection(request)
        if against is not None:
            return against
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return refused(415, "expected application/json")
        try:
            asked = json.loads(await body_of(request))
        except OverflowError:
            return refused(413, f"a request of more than {LARGEST} bytes", connection="close")
        except TimeoutError:
            return refused(408, "the request did not come in time", connection="close")
        except (ValueError, RecursionError):
            return refused(400, "a request that is no JSON")
        except ClientDisconnect:
            return refused(400, "a request that ended before its length")
        try:
            found = await pool.ask(request.path_params["question"], asked)
        except Busy:
            return refused(503, "busy with other formulas; ask again in a moment", **{"retry-after": "1"})
        return JSONResponse(found)  # a formula that is refused is answered, too: browsers note other states as failures

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        await pool.start()
        yield
        await pool.close()

    routes = [Route(path, file, methods=["GET"]) for path in _FILES]
    app = Starlette(routes=[*routes, Route("/api/{question}", ask, methods=["POST"])], lifespan=lifespan)

    async def with_headers(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        await app(scope, receive, sent)

    return with_headers


def serve(host: str = "127.0.0.1", port: int = 0, *, browser: bool = True, names: Collection[str] = ()) -> None:
    """Serve the page until it is interrupted.

    Parameters
    ----------
    host : str
        The address that is listened at.
    port : int
        0 for any that is free.
    browser : bool
        Open the page in the browser.
    names : collection of str
        Other names that requests may call this machine by.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise UnsupportedError(
            f"the page needs starlette and uvicorn ({error}); install them: pip install 'symdiff-compiler[web]'"
        ) from None
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        raise DataError(f"{host}, port {port} cannot be listened at: {error.strerror or error}") from None
    listening.listen(64)  # so that a browser that comes before the processes have begun waits
    port = listening.getsockname()[1]
    own = f"[{host}]" if ":" in host else host
    hosts = {f"{name}:{port}".lower() for name in (*LOOPBACK, own, *names)}
    address = f"http://{own if own != '0.0.0.0' else '127.0.0.1'}:{port}/"  # noqa: S104 - it is what was asked for
    print(f"symdiff serves {address} (Ctrl-C ends it)", flush=True)
    if browser:
        webbrowser.open(address)
    config = uvicorn.Config(
        application(hosts), log_level="warning", server_header=False, limit_concurrency=256, timeout_keep_alive=5,
        proxy_headers=False, ws="none", timeout_graceful_shutdown=2,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
