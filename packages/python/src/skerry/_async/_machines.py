"""Machines by id: microVMs that are meant to keep running."""

from __future__ import annotations

from typing import AsyncGenerator, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Union, cast

from .._create_call import needs_template
from .._event_stream import EventReader, EventStreamError
from .._other_names import tells_names
from .._page import CountedPage, Page
from .._request import CREATE_WITHIN_S, STOP_WITHIN_S, QueryValue, Request, vm_filter
from ..errors import SkerryConnectionError
from ..types import (
    EgressRequest,
    MachineCreateRequestSecrets,
    Machine,
    MachineForks,
    MachineCreateRequestAutostop,
    MachineCreateRequestCheck,
    MachineCreateRequestRestart,
    MachineList,
    MachineLogs,
    MachineEnd,
    MachineEndList,
    MachineStatus,
    MachineUpdateRequest,
    SizeName,
)
from ._http import AsyncHttp
from ._streams import AsyncStream, every_item
from ._vm_calls import AsyncVmCalls
from ._wait import WAIT_S, wait_for_status


@tells_names
class AsyncMachines(AsyncVmCalls):
    def __init__(self, http: AsyncHttp) -> None:
        super().__init__(http, "/v1/machines")

    @needs_template
    async def create(
        self,
        *,
        template: Optional[str] = None,
        snapshot: Optional[str] = None,
        name: Optional[str] = None,
        size: Optional[SizeName] = None,
        env: Optional[Mapping[str, str]] = None,
        secrets: Optional[Sequence[MachineCreateRequestSecrets]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        egress: Optional[EgressRequest] = None,
        command: Optional[str] = None,
        restart: Optional[MachineCreateRequestRestart] = None,
        stop_timeout: Optional[str] = None,
        check: Optional[MachineCreateRequestCheck] = None,
        autostop: Optional[MachineCreateRequestAutostop] = None,
        autostart: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Machine:
        """Creates a machine and waits until it runs.

        Either ``template`` or a ``snapshot`` of a machine is needed, each by id or name; the main process of a snapshot goes on.
        ``command`` is its main process, whose end is the machine's, and ``restart`` says what then: by default one that failed is started
        again, up to ten times in a row. ``check`` is its health check, which its host runs; ``autostop`` stops it when nothing uses it, and ``autostart`` has a call start it again. Safe to repeat: after a broken connection it is sent again under the same ``Idempotency-Key``, and
        creates one machine.

        A caller that stops waiting (Ctrl-C, a canceled task) has what comes of it destroyed in the background; closing the client and the end
        of the program wait for that, up to about a minute.
        """
        fields = {
            "template": template,
            "snapshot": snapshot,
            "name": name,
            "size": size,
            "env": env,
            "secrets": secrets,
            "metadata": metadata,
            "egress": egress,
            "command": command,
            "restart": restart,
            "stop_timeout": stop_timeout,
            "check": check,
            "autostop": autostop,
            "autostart": autostart,
        }
        request = Request(
            "POST", "/v1/machines", json=fields, creates=True, key=idempotency_key, answer_within_s=CREATE_WITHIN_S
        )
        return await self._http.created(request, Machine, lambda made: Request("DELETE", self._at(made["id"])))

    async def get(self, id: str) -> Machine:
        """Code ``machine_not_found`` where there is none, or where it belongs to another organization."""
        return await self._http.json(Request("GET", self._at(id)), Machine)

    async def list(
        self,
        *,
        status: Optional[MachineStatus] = None,
        template: Optional[str] = None,
        alive: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        host: Optional[str] = None,
        owner: Optional[str] = None,
        q: Optional[str] = None,
        created_after: Optional[str] = None,
        crash_loop: Optional[bool] = None,
        unhealthy: Optional[bool] = None,
    ) -> AsyncIterator[Machine]:
        """Every machine that passes the filter, newest first, read page by page as you go. ``q``: what their name or id begins with. ``owner``: what they belong to, as ``none``, a kind of resource or ``KIND:ID-OR-NAME``. ``alive``: only those that have not been destroyed. ``crash_loop``: only those that their policy starts again and again. ``unhealthy``: only those whose health check fails."""
        items = every_item(
            lambda cursor: self.page(
                status=status,
                template=template,
                alive=alive,
                metadata=metadata,
                host=host,
                owner=owner,
                q=q,
                created_after=created_after,
                crash_loop=crash_loop,
                unhealthy=unhealthy,
                cursor=cursor,
            )
        )
        async for machine in items:
            yield machine

    async def page(
        self,
        *,
        status: Optional[MachineStatus] = None,
        template: Optional[str] = None,
        alive: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        host: Optional[str] = None,
        owner: Optional[str] = None,
        q: Optional[str] = None,
        created_after: Optional[str] = None,
        crash_loop: Optional[bool] = None,
        unhealthy: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        counts: Optional[bool] = None,
    ) -> CountedPage[Machine]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``; with ``counts`` also how
        many there are of each status."""
        query = {
            **vm_filter(
                status=status,
                template=template,
                alive=alive,
                metadata=metadata,
                host=host,
                owner=owner,
                q=q,
                created_after=created_after,
            ),
            "crash_loop": crash_loop,
            "unhealthy": unhealthy,
            "limit": limit,
            "cursor": cursor,
            "counts": counts,
        }
        found = await self._http.json(Request("GET", "/v1/machines", query=query), MachineList)
        return CountedPage(found["items"], found["next_cursor"], cast(Optional[Mapping[str, int]], found.get("counts")))

    async def restarts(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[MachineEnd]:
        """Each time that it ended without being asked to, why, and when it ran again, newest first: one page. The last 100 are kept."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._http.json(Request("GET", f"{self._at(id)}/restarts", query=query), MachineEndList)
        return Page(found["items"], found["next_cursor"])

    async def fork(self, id: str, *, count: int = 1, idempotency_key: Optional[str] = None) -> List[Machine]:
        """Makes ``count`` machines, at most 100, that go on from its memory and its disk as they are now: all or none. It runs on itself."""
        path = f"{self._at(id)}/fork"
        request = Request(
            "POST", path, json={"count": count}, creates=True, key=idempotency_key, answer_within_s=CREATE_WITHIN_S
        )
        return (await self._http.json(request, MachineForks))["items"]

    async def rollback(self, id: str, *, snapshot: str) -> Machine:
        """Has it go on from a snapshot, by id or name, of the same template, size and command. What it was until then is lost, with its disk."""
        path = f"{self._at(id)}/rollback"
        request = Request("POST", path, json={"snapshot": snapshot}, answer_within_s=CREATE_WITHIN_S)
        return await self._http.json(request, Machine)

    async def start(self, id: str, *, new_disk: bool = False) -> Machine:
        """Starts a machine that does not run, from its own disk. It runs when this returns, unless its ``status`` says that work goes on. With
        ``new_disk`` it starts with a new disk of its template, also where its own is lost, unreadable, or on a host that is away; what is on the
        old one is given up."""
        json = {"new_disk": True} if new_disk else None
        request = Request("POST", f"{self._at(id)}/start", json=json, answer_within_s=CREATE_WITHIN_S)
        return await self._http.json(request, Machine)

    async def stop(self, id: str) -> Machine:
        """SIGTERM to its main process, SIGKILL after its ``stop_timeout``. Its disk is kept, and nothing starts it again by itself."""
        request = Request("POST", f"{self._at(id)}/stop", answer_within_s=STOP_WITHIN_S)
        return await self._http.json(request, Machine)

    async def update(self, id: str, changes: MachineUpdateRequest) -> Machine:
        """Changes what is named, and leaves the rest as it is; in ``env`` and ``metadata`` None removes an entry. ``env``, ``command`` and
        ``size`` wait in ``pending`` of the answer until the machine is started next, or with ``restart_now`` until it is restarted for that.
        Code ``no_capacity``, ``size_too_large`` or ``quota_exceeded`` where there is no room for a larger size: nothing is changed then."""
        request = Request(
            "PATCH",
            self._at(id),
            json=cast(Mapping[str, object], changes),
            sends_none=True,
            answer_within_s=STOP_WITHIN_S + CREATE_WITHIN_S,
        )
        return await self._http.json(request, Machine)

    async def restart(self, id: str) -> Machine:
        """Stops a machine and starts it again; one that does not run is started."""
        request = Request("POST", f"{self._at(id)}/restart", answer_within_s=STOP_WITHIN_S + CREATE_WITHIN_S)
        return await self._http.json(request, Machine)

    async def wait(
        self, id: str, until: Union[MachineStatus, Sequence[MachineStatus]], *, timeout_s: float = WAIT_S
    ) -> Machine:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has failed or is destroyed instead,
        and after ``timeout_s`` seconds."""
        return await wait_for_status("machine", self.get, id, until, timeout_s)

    async def destroy(self, id: str) -> None:
        """Destroys a machine and its disk. Works from every status, and more than once."""
        await self._http.done(Request("DELETE", self._at(id)))

    async def logs(
        self,
        id: str,
        *,
        lines: Optional[int] = None,
        grep: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        kernel: Optional[bool] = None,
        timestamps: Optional[bool] = None,
    ) -> List[str]:
        """The last ``lines`` (0 to 10,000, default 100) of its console: what its main process and its kernel have printed. They may hold control
        characters. ``grep``: only those of them that contain this text (no pattern); ``since``, ``until``: only those that began at or after the
        one time and before the other, in ISO 8601; with any of the three ``lines`` is 10,000 by default. ``kernel=False``: without lines that look
        like those of a kernel. ``timestamps=True``: the time at which it began and a blank before each line, ``-`` where that is not known."""
        query: Dict[str, QueryValue] = {"lines": lines, "grep": grep, "since": since, "until": until}
        query.update(kernel=kernel, timestamps=timestamps)
        request = Request("GET", f"{self._at(id)}/logs", query=query)
        return (await self._http.json(request, MachineLogs))["lines"]

    def follow_logs(
        self,
        id: str,
        *,
        lines: Optional[int] = None,
        grep: Optional[str] = None,
        since: Optional[str] = None,
        kernel: Optional[bool] = None,
        timestamps: Optional[bool] = None,
    ) -> AsyncStream[str]:
        """The last ``lines`` and then each one as it comes, over stops and starts, until the machine is destroyed. The others as in ``logs``."""
        query: Dict[str, QueryValue] = {"lines": lines, "grep": grep, "since": since, "follow": True}
        query.update(kernel=kernel, timestamps=timestamps)
        return AsyncStream(self._follow(f"{self._at(id)}/logs", query))

    async def _follow(self, path: str, query: Mapping[str, QueryValue]) -> AsyncGenerator[str, None]:
        request = Request("GET", path, query=query, headers={"accept": "text/event-stream"})
        chunks = self._http.chunks(await self._http.open(request))
        reader = EventReader()
        try:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    if event.event == "line":
                        yield event.line()
                    elif event.event == "error":
                        raise event.error()
                    elif event.event == "end":
                        return
        except EventStreamError as error:
            raise self._http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
        finally:
            await chunks.aclose()
        base_url = self._http.base_url
        raise SkerryConnectionError(f"The connection to {base_url} ended before the log did.", base_url=base_url)
