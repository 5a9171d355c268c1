"""Processes that answer questions about formulas, one question at a time each.

A question waits for a process for a while, and is told to come again where none is free. A process that does not answer
in time is ended, and another one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

__all__ = ["Busy", "Workers"]

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
            sys.executable, "-m", "symdiff.tools.command.web.answers",
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
