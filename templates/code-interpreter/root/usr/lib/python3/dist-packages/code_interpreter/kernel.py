"""One kernel: a process of the sandbox's user, and two sockets to it, one for requests and one on which it publishes."""

import asyncio
import os
import pwd
import shutil
import signal
import tempfile

import zmq
import zmq.asyncio
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

from .results import OutputTooLarge, event_of

USER = "user"
START_WITHIN_S = 300
# How often it is looked whether the kernel lives, and how long its publications may lag behind its reply.
LOOK_EVERY_S = 1
INTERRUPT_EVERY_S = 5
# Of what was published and the client has not taken yet.
WAITING_MAX_BYTES = 64 * 1024 * 1024

# By name, because each module is the user's to import: nothing of ours appears among the variables.
IN_KERNEL = "__import__('code_interpreter.in_kernel').in_kernel."


class KernelDied(Exception):
    """It ended, whatever for."""


class Kernel:
    @classmethod
    async def start(cls, cwd, env):
        kernel = cls()
        try:
            await kernel._start(cwd, env)
        except BaseException:
            await kernel.kill()
            raise
        return kernel

    def __init__(self):
        self._process = None
        self._folder = None
        self._context = zmq.asyncio.Context()
        self._session = Session(key=os.urandom(32).hex().encode())

    async def _start(self, cwd, env):
        account = pwd.getpwnam(USER)
        self._folder = tempfile.mkdtemp(prefix="kernel-", dir="/run")
        os.chown(self._folder, account.pw_uid, account.pw_gid)
        file, ports = write_connection_file(
            os.path.join(self._folder, "connection.json"),
            transport="ipc",
            ip=os.path.join(self._folder, "socket"),
            key=self._session.key,
        )
        os.chown(file, account.pw_uid, account.pw_gid)
        self._process = await asyncio.create_subprocess_exec(
            *("python3", "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", file),
            *("--HistoryManager.enabled=False", "--InteractiveShellApp.extra_extensions=code_interpreter.in_kernel"),
            **{"cwd": cwd, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []},
            env={
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG": "C.UTF-8",
                **{"HOME": account.pw_dir, "USER": USER, "LOGNAME": USER},
                **env,
            },
            # What code prints is published, and would fill the server's log besides.
            **{name: asyncio.subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")},
            start_new_session=True,
        )
        address = f"ipc://{self._folder}/socket-"
        self._shell = self._connect(zmq.DEALER, address + str(ports["shell_port"]))
        self._published = self._connect(zmq.SUB, address + str(ports["iopub_port"]))
        await asyncio.wait_for(self._until_ready(), START_WITHIN_S)

    def _connect(self, kind, address):
        socket = self._context.socket(kind)
        socket.linger = 0
        # Without a bound of messages: `_Waiting` has one of bytes.
        socket.rcvhwm = 0
        if kind == zmq.SUB:
            socket.subscribe(b"")
        socket.connect(address)
        return socket

    async def _until_ready(self):
        """Until it answers, and is heard: what is published before the subscription has arrived is lost."""
        while True:
            request = self._send("kernel_info_request", {})
            while True:
                message = await self._receive(self._published)
                if message is None:
                    break
                if parent_of(message) == request:
                    return
            if not self.is_alive():
                raise KernelDied()

    def is_alive(self):
        return self._process is not None and self._process.returncode is None

    def interrupt(self):
        if self.is_alive():
            # What it runs in the foreground too, as a terminal does.
            os.killpg(self._process.pid, signal.SIGINT)

    async def kill(self):
        if self.is_alive():
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._context.destroy(linger=0)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def run_quietly(self, call):
        """A function of `in_kernel`. Nothing of it is seen by the user."""
        async for kind, content in self._messages(IN_KERNEL + call, silent=True):
            if kind == "error":
                raise RuntimeError(content["evalue"])

    async def run(self, code, gone):
        """Events. Throws `OutputTooLarge` where the client takes less than the code prints."""
        waiting = _Waiting(self.interrupt)
        reading = asyncio.create_task(self._read_into(waiting, code))
        leaving = asyncio.create_task(self._interrupt_when(gone))
        try:
            async for event in waiting.events():
                if not gone.is_set():
                    yield event
            await reading
        finally:
            leaving.cancel()
            if not reading.done():
                # The one who reads the events has left in the middle.
                gone.set()
                await self._interrupt_until(reading)

    async def _read_into(self, waiting, code):
        try:
            async for kind, content in self._messages(code, silent=False):
                event = event_of(kind, content)
                if event is not None:
                    waiting.put(event)
        finally:
            waiting.end()

    async def _interrupt_when(self, gone):
        await gone.wait()
        while True:
            # More than once: code may catch it.
            self.interrupt()
            await asyncio.sleep(INTERRUPT_EVERY_S)

    async def _interrupt_until(self, reading):
        while not reading.done():
            self.interrupt()
            await asyncio.wait([reading], timeout=INTERRUPT_EVERY_S)

    async def _messages(self, code, silent):
        """Kind and content of all that it publishes of this code, until it is idle again."""
        request = self._send(
            "execute_request",
            {
                **{"code": code, "silent": silent, "store_history": not silent},
                **{"user_expressions": {}, "allow_stdin": False, "stop_on_error": False},
            },
        )
        is_replied = False
        while True:
            message = await self._receive(self._published)
            if message is None:
                # Its end is published; where that was lost, its reply says the same.
                if is_replied:
                    return
                is_replied = await self._has_replied(request)
                if not self.is_alive():
                    raise KernelDied()
                continue
            if parent_of(message) != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            yield kind, content

    async def _has_replied(self, request):
        while True:
            message = await self._receive(self._shell, 0)
            if message is None:
                return False
            if parent_of(message) == request:
                return True

    def _send(self, kind, content):
        return self._session.send(self._shell, kind, content)["header"]["msg_id"]

    async def _receive(self, socket, within_s=LOOK_EVERY_S):
        if not await socket.poll(within_s * 1000):
            return None
        _, parts = self._session.feed_identities(await socket.recv_multipart())
        return self._session.deserialize(parts)


def parent_of(message):
    return message["parent_header"].get("msg_id")


def size_of(event):
    return sum(len(value) for value in event.values() if isinstance(value, str)) + 100


class _Waiting:
    """Events on their way to the client, and how many bytes they have."""

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
