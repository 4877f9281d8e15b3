"""A kernel that is a program on pipes: it reads requests from one descriptor, and writes messages to another; its arguments name both.

A message is a line of JSON: of the type `stdout`, `stderr` or `result` with a `text`, `error` with `name`, `value` and `traceback`, `status` with a
number that is an error unless it is 0, or `end`, the last one of each request. What the program and those that it starts write to their standard
output and error is output of the cell too.
"""

import asyncio
import codecs
import json
import os

from .account import give, start_as_user
from .kernel import Kernel, KernelDied
from .results import count_event, error_event, stream_event

START_WITHIN_S = 300
LOOK_EVERY_S = 1
PART_BYTES = 65_536
# What a full pipe holds is read at once; a program that goes on writing may not keep the end of a cell away.
PARTS_AT_END_MAX = 16


class PipeKernel(Kernel):
    # The first one may be caught; a loop that never waits is not stopped by any.
    interrupts_max = 2

    def __init__(self, cwd, env):
        super().__init__(cwd, env)
        self._requests = None
        self._streams = []
        self._messages = None
        self._arrived = asyncio.Queue()
        self._is_asked = False
        self._count = 0

    def argv(self, requests_fd, messages_fd):
        raise NotImplementedError

    def cell_request(self, code):
        """As bytes."""
        raise NotImplementedError

    def environment_request(self, changes):
        raise NotImplementedError

    def first_request(self):
        """Is answered when the kernel has started."""
        return self.environment_request({})

    async def start(self):
        read_requests, write_requests = os.pipe()
        pipes = {name: os.pipe() for name in ("stdout", "stderr", "messages")}
        written = {name: write for name, (_, write) in pipes.items()}
        for fd in (read_requests, *written.values()):
            give(fd)
        try:
            self._process = await start_as_user(
                self.argv(read_requests, written["messages"]),
                *(self.cwd, self.env),
                **{"stdin": asyncio.subprocess.DEVNULL, "stdout": written["stdout"], "stderr": written["stderr"]},
                pass_fds=[read_requests, written["messages"]],
            )
        finally:
            for fd in (read_requests, *written.values()):
                os.close(fd)
            self._streams = [_Stream(name, pipes[name][0], self._take) for name in ("stdout", "stderr")]
            self._messages = _Messages(pipes["messages"][0], self._take)
            self._requests, _ = await asyncio.get_running_loop().connect_write_pipe(
                asyncio.BaseProtocol, os.fdopen(write_requests, "wb")
            )
        await asyncio.wait_for(self._until_started(), START_WITHIN_S)

    async def _until_started(self):
        await self._ask_quietly(self.first_request())
        await self._ask_quietly(self.environment_request(self.env))

    async def kill(self):
        await super().kill()
        for end in (*self._streams, self._messages, self._requests):
            if end is not None:
                end.close()

    async def change_environment(self, changes):
        await self._ask_quietly(self.environment_request(changes))

    async def events(self, code):
        self._count += 1
        yield count_event(self._count)
        async for message in self._ask(self.cell_request(code)):
            event = event_of(message)
            if event is not None:
                yield event

    async def _ask_quietly(self, request):
        async for message in self._ask(request):
            if message["type"] == "error":
                raise RuntimeError(message["value"])

    async def _ask(self, request):
        """The messages of this request, until its end."""
        self._is_asked = True
        try:
            self._requests.write(request)
            while True:
                message = await self._receive()
                if message["type"] == "end":
                    break
                yield message
            # What was written before the end is in the pipes.
            for stream in self._streams:
                stream.read(PARTS_AT_END_MAX)
        finally:
            self._is_asked = False
        while not self._arrived.empty():
            yield self._arrived.get_nowait()

    def _take(self, message):
        # What programs write after their cell has ended belongs to no cell.
        if self._is_asked:
            self._arrived.put_nowait(message)

    async def _receive(self):
        while True:
            try:
                return await asyncio.wait_for(self._arrived.get(), LOOK_EVERY_S)
            except asyncio.TimeoutError:
                if not self.is_alive():
                    raise KernelDied()


def event_of(message):
    kind = message["type"]
    if kind in ("stdout", "stderr"):
        return stream_event(kind, message["text"])
    if kind == "result":
        return {"type": "result", "text": message["text"], "is_main_result": True}
    if kind == "error":
        return error_event(message["name"], message["value"], message["traceback"])
    if kind == "status" and message["status"] != 0:
        return error_event("ExitStatus", str(message["status"]))
    return None


class _Pipe:
    """One end of a pipe that is read from whenever there is something in it."""

    def __init__(self, fd):
        self._fd = fd
        os.set_blocking(fd, False)
        asyncio.get_running_loop().add_reader(fd, self.read, 1)

    def read(self, parts_max):
        for _ in range(parts_max):
            if self._fd is None:
                return
            try:
                part = os.read(self._fd, PART_BYTES)
            except BlockingIOError:
                return
            if part == b"":
                self.close()
            else:
                self.arrived(part)

    def arrived(self, part):
        raise NotImplementedError

    def close(self):
        if self._fd is not None:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None


class _Stream(_Pipe):
    """Text, whose characters may come in parts."""

    def __init__(self, name, fd, take):
        super().__init__(fd)
        self._name, self._take = name, take
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def arrived(self, part):
        text = self._decoder.decode(part)
        if text:
            self._take({"type": self._name, "text": text})


class _Messages(_Pipe):
    def __init__(self, fd, take):
        super().__init__(fd)
        self._take = take
        self._line = bytearray()

    def arrived(self, part):
        self._line += part
        if b"\n" in part:
            *lines, self._line = self._line.split(b"\n")
            for line in lines:
                self._take_line(line)

    def _take_line(self, line):
        try:
            self._take(json.loads(line))
        except ValueError:
            # Code may write to any descriptor of its kernel.
            pass
