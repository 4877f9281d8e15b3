"""Calls of a microVM in hand. Written by setup/write-clients.ts from _vm_calls.py. Do not edit."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence, Union

from ..._command import Command
from ..._other_names import tells_names
from ..._page import Page
from ...events import ExecuteEvent, FollowEvent
from ...types import (
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
    VmMetrics,
)
from .._content import UploadContent
from .._streams import Stream
from .._vm_calls import VmCalls, DOWNLOAD_MAX_BYTES


@tells_names
class BoundCalls:
    """The methods of ``VmCalls``, with the id filled in."""

    def __init__(self, calls: VmCalls, id: str) -> None:
        self._calls = calls
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    def egress(self) -> EgressReport:
        """What it may reach, how much it sent and received, and the last destinations that were denied, newest first."""
        return self._calls.egress(self._id)

    def snapshot(self, *, name: Optional[str] = None, idempotency_key: Optional[str] = None) -> Snapshot:
        """Takes a snapshot of its memory and its disk; it goes on. ``create(snapshot=…)`` begins there, and ``rollback`` goes back to it."""
        return self._calls.snapshot(self._id, name=name, idempotency_key=idempotency_key)

    def events(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[VmEvent]:
        """What has become of it, and why, newest first: one page."""
        return self._calls.events(self._id, limit=limit, cursor=cursor)

    def metrics(self, *, since: Optional[str] = None, step: Optional[str] = None) -> VmMetrics:
        """CPU, memory, disk and network over time, oldest first; of the last 24 h at most. ``since`` is ISO 8601, ``step`` from ``1m``, by default
        ``5m``."""
        return self._calls.metrics(self._id, since=since, step=step)

    def ports(self) -> PortList:
        """The TCP ports that something listens on, and those that are public; by number."""
        return self._calls.ports(self._id)

    def set_port_public(self, port: int, *, public: bool) -> PortAccess:
        """Opens a port to everybody who knows the id, or has it need a token or a signed URL again."""
        return self._calls.set_port_public(self._id, port, public=public)

    def sign_port_url(self, port: int, *, expires_in: Optional[str] = None) -> SignedUrl:
        """A URL by which everybody who has it reaches the port without a token; ``expires_in`` is at most ``168h``, by default ``1h``."""
        return self._calls.sign_port_url(self._id, port, expires_in=expires_in)

    def set_egress(
        self,
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
        return self._calls.set_egress(
            self._id,
            mode=mode,
            allow_cidrs=allow_cidrs,
            deny_cidrs=deny_cidrs,
            allow_ports=allow_ports,
            allow_domains=allow_domains,
            deny_domains=deny_domains,
            inject=inject,
            dns=dns,
            if_version=if_version,
        )

    def execute(
        self,
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
        return self._calls.execute(
            self._id,
            command,
            timeout=timeout,
            workdir=workdir,
            env=env,
            stdin=stdin,
            keep_output=keep_output,
        )

    def execute_stream(
        self,
        command: Command,
        *,
        timeout: Optional[str] = None,
        workdir: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Union[str, bytes, None] = None,
        keep_output: Optional[bool] = None,
    ) -> Stream[ExecuteEvent]:
        """Runs a shell command and gives its output as it comes, as exact bytes, then one ``exit``. The command starts with the first read;
        leaving the ``with`` block around the loop kills it. A connection that breaks is made again for 60 s, and not a byte is lost or
        comes twice; a command whose ``stdin`` was still on its way then is killed."""
        return self._calls.execute_stream(
            self._id,
            command,
            timeout=timeout,
            workdir=workdir,
            env=env,
            stdin=stdin,
            keep_output=keep_output,
        )

    def start_execution(
        self,
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
        return self._calls.start_execution(
            self._id,
            command,
            workdir=workdir,
            env=env,
            timeout=timeout,
            reattach=reattach,
            stdin_open=stdin_open,
            tty=tty,
            cols=cols,
            rows=rows,
            keep_output=keep_output,
            destroy_sandbox=destroy_sandbox,
            idempotency_key=idempotency_key,
        )

    def list_executions(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Execution]:
        """Those that run, and the last ones that have exited; newest first."""
        return self._calls.list_executions(self._id, limit=limit, cursor=cursor)

    def get_execution(self, execution: str) -> Execution:
        """Code ``execution_not_found`` where there is none, or where it ended long ago."""
        return self._calls.get_execution(self._id, execution)

    def kill_execution(self, execution: str, *, signal: Optional[KillRequestSignal] = None) -> Execution:
        """``signal`` (default ``TERM``) to its process group; ``KILL`` to all that it has started. Does nothing to one that has exited."""
        return self._calls.kill_execution(self._id, execution, signal=signal)

    def send_execution_stdin(self, execution: str, stdin: Union[str, bytes], *, end: bool = False) -> None:
        """Returns when the command's pipe or terminal has taken all of it, at most 10 MiB. ``end``: nothing comes after it."""
        return self._calls.send_execution_stdin(self._id, execution, stdin, end=end)

    def follow_execution(
        self,
        execution: str,
        *,
        after: Optional[int] = None,
        hold: bool = False,
        reconnect_s: float = 30.0,
    ) -> Stream[FollowEvent]:
        """Its output as exact bytes, then one ``exit``. Each event has a ``position``, which ``after`` goes on from; without it the first byte that
        is kept comes first. A connection that breaks is made again for ``reconnect_s`` seconds, and not a byte is lost or comes twice; bytes
        that are kept no more are one event ``dropped``, unless ``hold`` has the command wait for this reader."""
        return self._calls.follow_execution(self._id, execution, after=after, hold=hold, reconnect_s=reconnect_s)

    def upload(
        self,
        path: str,
        content: UploadContent,
        *,
        mode: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
    ) -> FileWritten:
        """Writes a file of at most 100 MB; ``path`` is absolute in the VM, ``mode`` its permissions in octal (default: those of the file that is there, or ``0644``).

        ``content`` is text, bytes, a ``pathlib.Path``, a file open for reading bytes, or an iterable of bytes; the last three go through as
        they come. Missing directories are created; a broken upload leaves nothing behind. ``attributes`` are extended attributes of the file
        (``user.NAME`` in the VM), by their names without the prefix.
        """
        return self._calls.upload(self._id, path, content, mode=mode, attributes=attributes)

    def download(self, path: str, *, max_bytes: int = DOWNLOAD_MAX_BYTES) -> bytes:
        """A whole file, held in memory: of more than ``max_bytes`` (default: 256 MiB) it is a ``SkerryTooLargeError``. ``download_stream`` has
        no limit."""
        return self._calls.download(self._id, path, max_bytes=max_bytes)

    def download_stream(self, path: str) -> Stream[bytes]:
        """A file as it comes, however long: what is in a VM decides about its length, so the caller that stores it bounds it. One that breaks
        off is an error."""
        return self._calls.download_stream(self._id, path)

    def list_directory(self, path: str) -> DirectoryListing:
        """``entries`` of a directory, each with ``name``, ``size`` in bytes, ``type`` and ``modified``; at most 10,000, then ``truncated``."""
        return self._calls.list_directory(self._id, path)
