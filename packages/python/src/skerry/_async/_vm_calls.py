"""What reaches into a microVM: the same for sandboxes and for machines."""

from __future__ import annotations

import json
from typing import Dict, Mapping, Optional, Sequence, Union

from .._command import Command, command_line
from .._file_mode import checked_mode
from .._other_names import tells_names
from .._output import Collected
from .._page import Page
from .._paths import file_path, segment
from .._request import CREATE_WITHIN_S, Request
from .._stdin import stdin_fields
from ..errors import SkerryTooLargeError
from ..events import ExecuteEvent, FollowEvent
from ..types import (
    DirectoryListing,
    EgressReport,
    EgressRequestMode,
    ExecuteResponse,
    Execution,
    FileWritten,
    InjectRule,
    KillRequestSignal,
    PortAccess,
    PortList,
    SignedUrl,
    Snapshot,
    VmEvent,
    VmEventList,
    VmMetrics,
)
from ._bytes import bytes_at
from ._commands import AsyncCommands
from ._content import AsyncUploadContent, pieces_of
from ._executions import AsyncExecutions
from ._file_system import AsyncFileSystem
from ._http import AsyncHttp
from ._streams import AsyncStream

#: What ``download`` holds in memory unless it is told otherwise: a file can be larger than any memory and take no room in its VM.
DOWNLOAD_MAX_BYTES = 256 * 1024 * 1024


@tells_names
class AsyncVmCalls:
    """Every method raises a ``SkerryApiError`` where the server refuses, ``SkerryConnectionError`` where it cannot be reached and
    ``SkerryInputError`` where the arguments cannot be sent. Where a method takes an ``id``, the name of one of the organization does as well."""

    def __init__(self, http: AsyncHttp, collection: str) -> None:
        self._http = http
        self._collection = collection

    def _at(self, id: str) -> str:
        return f"{self._collection}/{segment(id)}"

    async def egress(self, id: str) -> EgressReport:
        """What it may reach, how much it sent and received, and the last destinations that were denied, newest first."""
        return await self._http.json(Request("GET", f"{self._at(id)}/egress"), EgressReport)

    async def snapshot(
        self, id: str, *, name: Optional[str] = None, idempotency_key: Optional[str] = None
    ) -> Snapshot:
        """Takes a snapshot of its memory and its disk; it goes on. ``create(snapshot=…)`` begins there, and ``rollback`` goes back to it."""
        path = f"{self._at(id)}/snapshots"
        request = Request(
            "POST", path, json={"name": name}, creates=True, key=idempotency_key, answer_within_s=CREATE_WITHIN_S
        )
        return await self._http.json(request, Snapshot)

    async def events(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[VmEvent]:
        """What has become of it, and why, newest first: one page."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._http.json(Request("GET", f"{self._at(id)}/events", query=query), VmEventList)
        return Page(found["items"], found["next_cursor"])

    async def metrics(self, id: str, *, since: Optional[str] = None, step: Optional[str] = None) -> VmMetrics:
        """CPU, memory, disk and network over time, oldest first; of the last 24 h at most. ``since`` is ISO 8601, ``step`` from ``1m``, by default
        ``5m``."""
        query = {"since": since, "step": step}
        return await self._http.json(Request("GET", f"{self._at(id)}/metrics", query=query), VmMetrics)

    async def ports(self, id: str) -> PortList:
        """The TCP ports that something listens on, and those that are public; by number."""
        return await self._http.json(Request("GET", f"{self._at(id)}/ports"), PortList)

    async def set_port_public(self, id: str, port: int, *, public: bool) -> PortAccess:
        """Opens a port to everybody who knows the id, or has it need a token or a signed URL again."""
        request = Request("PATCH", f"{self._at(id)}/ports/{int(port)}", json={"public": public})
        return await self._http.json(request, PortAccess)

    async def sign_port_url(self, id: str, port: int, *, expires_in: Optional[str] = None) -> SignedUrl:
        """A URL by which everybody who has it reaches the port without a token; ``expires_in`` is at most ``168h``, by default ``1h``."""
        fields: Dict[str, object] = {"port": port}
        if expires_in is not None:
            fields["expires_in"] = expires_in
        return await self._http.json(Request("POST", f"{self._at(id)}/urls", json=fields), SignedUrl)

    async def set_egress(
        self,
        id: str,
        *,
        mode: Optional[EgressRequestMode] = None,
        allow_cidrs: Optional[Sequence[str]] = None,
        deny_cidrs: Optional[Sequence[str]] = None,
        allow_ports: Optional[Sequence[int]] = None,
        allow_domains: Optional[Sequence[str]] = None,
        deny_domains: Optional[Sequence[str]] = None,
        inject: Optional[Sequence[InjectRule]] = None,
        dns: Optional[bool] = None,
        if_version: Optional[int] = None,
    ) -> EgressReport:
        """Replaces the egress rules of one that runs as a whole. When it returns they are in force, and connections that they forbid are cut.
        Code ``host_unavailable``: they are stored, and take effect when its host answers again. With ``if_version``, the ``version`` of the rules
        that the change was made to, nothing of another writer is lost: code ``version_mismatch`` where they have been changed since."""
        rules = {
            "mode": mode,
            "allow_cidrs": allow_cidrs,
            "deny_cidrs": deny_cidrs,
            "allow_ports": allow_ports,
            "allow_domains": allow_domains,
            "deny_domains": deny_domains,
            "inject": inject,
            "dns": dns,
        }
        headers = {} if if_version is None else {"if-match": f'"{if_version}"'}
        request = Request("PUT", f"{self._at(id)}/egress", json=rules, headers=headers)
        return await self._http.json(request, EgressReport)

    async def execute(
        self,
        id: str,
        command: Command,
        *,
        timeout: Optional[str] = None,
        workdir: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Union[str, bytes, None] = None,
        keep_output: Optional[bool] = None,
    ) -> ExecuteResponse:
        """Runs a shell command, or of a list a program with these arguments, and returns its whole output: ``exit_code``, ``stdout``, ``stderr``, ``duration_ms``, ``timed_out`` and more.

        ``timeout`` is a duration (default ``30s``, at most ``24h``, ``0s`` for none), ``workdir`` an absolute path (default ``/root``), ``stdin`` what the
        command reads, at most 10 MiB. A command that fails is an answer, not an error. Bytes that are not UTF-8 become U+FFFD, and what goes
        beyond 10 MiB of either output is dropped (``truncated``); ``execute_stream`` has neither limit. ``keep_output``, in a sandbox: its last
        output is kept for a day, also when the sandbox is gone (``skerry.executions``).
        """
        collected = Collected()
        answer: Optional[ExecuteResponse] = None
        events = self.execute_stream(
            id, command, timeout=timeout, workdir=workdir, env=env, stdin=stdin, keep_output=keep_output
        )
        async with events:
            async for event in events:
                answer = collected.push(event) or answer
        # The stream raises where no exit came.
        assert answer is not None
        return answer

    def execute_stream(
        self,
        id: str,
        command: Command,
        *,
        timeout: Optional[str] = None,
        workdir: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Union[str, bytes, None] = None,
        keep_output: Optional[bool] = None,
    ) -> AsyncStream[ExecuteEvent]:
        """Runs a shell command and gives its output as it comes, as exact bytes, then one ``exit``. The command starts with the first read;
        leaving the ``async with`` block around the loop kills it. A connection that breaks is made again for 60 s, and not a byte is lost or
        comes twice; a command whose ``stdin`` was still on its way then is killed."""
        fields = {
            "command": command_line(command),
            "timeout": timeout,
            "workdir": workdir,
            "env": env,
            "keep_output": keep_output,
            **stdin_fields(stdin),
        }
        return AsyncStream(AsyncCommands(self._http, self._at(id)).run(fields))

    async def start_execution(
        self,
        id: str,
        command: Command,
        *,
        workdir: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[str] = None,
        reattach: Optional[str] = None,
        stdin_open: Optional[bool] = None,
        tty: Optional[bool] = None,
        cols: Optional[int] = None,
        rows: Optional[int] = None,
        keep_output: Optional[bool] = None,
        destroy_sandbox: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Execution:
        """Starts a shell command that belongs to no connection: it ends by itself, after ``timeout`` (default: none), when it has had no reader
        for ``reattach`` (default: it needs none), or with its VM. ``stdin_open``: it reads what ``send_execution_stdin`` sends; ``tty``: it has
        a terminal of ``cols`` × ``rows``. ``destroy_sandbox``: its sandbox ends with it; its output is kept then, as with ``keep_output``, for a
        day (``skerry.executions``)."""
        fields = {
            "command": command_line(command),
            "workdir": workdir,
            "env": env,
            "timeout": timeout,
            "reattach": reattach,
            "stdin_open": stdin_open,
            "tty": tty,
            "cols": cols,
            "rows": rows,
            "keep_output": keep_output,
            "destroy_sandbox": destroy_sandbox,
        }
        return await self._executions(id).start(fields, idempotency_key)

    async def list_executions(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Execution]:
        """Those that run, and the last ones that have exited; newest first."""
        return await self._executions(id).page(limit, cursor)

    async def get_execution(self, id: str, execution: str) -> Execution:
        """Code ``execution_not_found`` where there is none, or where it ended long ago."""
        return await self._executions(id).get(execution)

    async def kill_execution(
        self, id: str, execution: str, *, signal: Optional[KillRequestSignal] = None
    ) -> Execution:
        """``signal`` (default ``TERM``) to its process group; ``KILL`` to all that it has started. Does nothing to one that has exited."""
        return await self._executions(id).kill(execution, signal)

    async def send_execution_stdin(
        self, id: str, execution: str, stdin: Union[str, bytes], *, end: bool = False
    ) -> None:
        """Returns when the command's pipe or terminal has taken all of it, at most 10 MiB. ``end``: nothing comes after it."""
        await self._executions(id).send(execution, stdin, end)

    def follow_execution(
        self,
        id: str,
        execution: str,
        *,
        after: Optional[int] = None,
        hold: bool = False,
        reconnect_s: float = 30.0,
    ) -> AsyncStream[FollowEvent]:
        """Its output as exact bytes, then one ``exit``. Each event has a ``position``, which ``after`` goes on from; without it the first byte that
        is kept comes first. A connection that breaks is made again for ``reconnect_s`` seconds, and not a byte is lost or comes twice; bytes
        that are kept no more are one event ``dropped``, unless ``hold`` has the command wait for this reader."""
        return AsyncStream(self._executions(id).follow(execution, after, hold, reconnect_s))

    def _executions(self, id: str) -> AsyncExecutions:
        return AsyncExecutions(self._http, self._at(id))

    async def upload(
        self,
        id: str,
        path: str,
        content: AsyncUploadContent,
        *,
        mode: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
    ) -> FileWritten:
        """Writes a file of at most 100 MB; ``path`` is absolute in the VM, ``mode`` its permissions in octal (default: those of the file that is there, or ``0644``).

        ``content`` is text, bytes, a ``pathlib.Path``, a file open for reading bytes, or an iterable of bytes; the last three go through as
        they come. Missing directories are created; a broken upload leaves nothing behind. ``attributes`` are extended attributes of the file
        (``user.NAME`` in the VM), by their names without the prefix.
        """
        request = Request(
            "PUT",
            file_path(self._at(id), path),
            query={"mode": checked_mode(mode), "attributes": None if attributes is None else json.dumps(attributes)},
            headers={"content-type": "application/octet-stream"},
            answer_within_s=CREATE_WITHIN_S,
        )
        return await self._http.answer(await self._http.open(request, content=pieces_of(content)), FileWritten)

    async def download(self, id: str, path: str, *, max_bytes: int = DOWNLOAD_MAX_BYTES) -> bytes:
        """A whole file, held in memory: of more than ``max_bytes`` (default: 256 MiB) it is a ``SkerryTooLargeError``. ``download_stream`` has
        no limit."""
        parts = []
        size = 0
        async with self.download_stream(id, path) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > max_bytes:
                    raise SkerryTooLargeError(max_bytes)
                parts.append(chunk)
        return b"".join(parts)

    def download_stream(self, id: str, path: str) -> AsyncStream[bytes]:
        """A file as it comes, however long: what is in a VM decides about its length, so the caller that stores it bounds it. One that breaks
        off is an error."""
        return AsyncStream(bytes_at(self._http, file_path(self._at(id), path)))

    async def list_directory(self, id: str, path: str) -> DirectoryListing:
        """``entries`` of a directory, each with ``name``, ``size`` in bytes, ``type`` and ``modified``; at most 10,000, then ``truncated``."""
        return await self.files(id).list(path)

    def files(self, id: str) -> AsyncFileSystem:
        """Its file system: ``stat``, ``list``, ``make_directory``, ``move``, ``set_mode``, ``remove``, ``pack``, ``unpack``, ``watch`` and
        ``sign_url``."""
        return AsyncFileSystem(self._http, self._at(id))
