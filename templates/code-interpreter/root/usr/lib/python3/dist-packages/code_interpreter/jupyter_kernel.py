"""A kernel that speaks Jupyter's messages, over two sockets: one for requests, and one on which it publishes."""

import asyncio
import glob
import os
import shutil
import tempfile

import zmq
import zmq.asyncio
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

from .account import give_file, start_as_user
from .kernel import Kernel, KernelDied
from .results import event_of

START_WITHIN_S = 300
# How often it is looked whether the kernel lives, and how long its publications may lag behind its reply.
LOOK_EVERY_S = 1
FOLDERS = "/run"
FOLDER_PREFIX = "kernel-"


def remove_folders():
    """Those of the kernels of a server that died."""
    for folder in glob.glob(os.path.join(FOLDERS, FOLDER_PREFIX + "*")):
        shutil.rmtree(folder, ignore_errors=True)


class JupyterKernel(Kernel):
    def __init__(self, cwd, env):
        super().__init__(cwd, env)
        self._folder = None
        self._context = zmq.asyncio.Context()
        self._session = Session(key=os.urandom(32).hex().encode())

    def argv(self, connection_file):
        raise NotImplementedError

    async def start(self):
        self._folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=FOLDERS)
        give_file(self._folder)
        file, ports = write_connection_file(
            os.path.join(self._folder, "connection.json"),
            transport="ipc",
            ip=os.path.join(self._folder, "socket"),
            key=self._session.key,
        )
        give_file(file)
        # What code prints is published, and would fill the server's log besides.
        streams = {name: asyncio.subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
        self._process = await start_as_user(self.argv(file), self.cwd, self.env, **streams)
        address = f"ipc://{self._folder}/socket-"
        self._shell = self._connect(zmq.DEALER, address + str(ports["shell_port"]))
        self._published = self._connect(zmq.SUB, address + str(ports["iopub_port"]))
        await asyncio.wait_for(self._until_ready(), START_WITHIN_S)

    def _connect(self, kind, address):
        socket = self._context.socket(kind)
        socket.linger = 0
        # Without a bound of messages: `Output` has one of bytes.
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

    async def kill(self):
        await super().kill()
        self._context.destroy(linger=0)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def run_quietly(self, code):
        """Nothing of it is seen by the user."""
        async for message in self._messages(code, silent=True):
            if message["msg_type"] == "error":
                raise RuntimeError(message["content"]["evalue"])

    async def events(self, code):
        async for message in self._messages(code, silent=False):
            event = event_of(message)
            if event is not None:
                yield event

    async def _messages(self, code, silent):
        """All that it publishes of this code, until it is idle again."""
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
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            yield message

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
