"""Work that goes on after the call that began it has ended. Closing a client waits for it, and so does the end of a program."""

from __future__ import annotations

import asyncio
import threading
from typing import Awaitable, Callable, List, Set


class AsyncBackground:
    def __init__(self) -> None:
        # The event loop itself holds no task.
        self._tasks: Set[asyncio.Task[None]] = set()

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(_to_its_end(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        if self._tasks:
            # Where this wait is canceled, the tasks are not.
            await asyncio.wait(self._tasks)


async def _to_its_end(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except asyncio.CancelledError:
        # `asyncio.run` cancels what is left at its end once, and waits for it: reason enough to begin anew, not to leave it undone.
        await work()


class Background:
    def __init__(self) -> None:
        self._threads: List[threading.Thread] = []

    def start(self, work: Callable[[], None]) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        # Not a daemon: the interpreter waits for it.
        thread = threading.Thread(target=work, name="skerry-background")
        self._threads.append(thread)
        thread.start()

    def settled(self) -> None:
        for thread in self._threads:
            thread.join()
