"""Events on their way from a kernel to the client, and how many bytes they have."""

import asyncio

WAITING_MAX_BYTES = 64 * 1024 * 1024


class OutputTooLarge(Exception):
    """More than the client took."""


class Output:
    def __init__(self, interrupt):
        self._interrupt = interrupt
        self._queue = asyncio.Queue()
        self._bytes = 0
        self._is_over = False

    def put(self, event):
        size = size_of(event)
        if self._is_over:
            return
        room = WAITING_MAX_BYTES - self._bytes
        if size > room:
            self._is_over = True
            self._interrupt()
            if event["type"] not in ("stdout", "stderr"):
                return
            event = {**event, "text": event["text"][:room]}
            size = size_of(event)
        self._bytes += size
        self._queue.put_nowait((event, size))

    def end(self):
        self._queue.put_nowait(None)

    async def events(self):
        while True:
            entry = await self._queue.get()
            if entry is None:
                break
            event, size = entry
            yield event
            self._bytes -= size
        if self._is_over:
            raise OutputTooLarge(f"The code printed {WAITING_MAX_BYTES} bytes that were not read, and was interrupted.")


def size_of(event):
    return sum(len(value) for value in event.values() if isinstance(value, str)) + 100
