"""Sandboxes by id, and the sandbox in hand, which is the same with the id filled in."""

from __future__ import annotations

from types import TracebackType
from typing import AsyncIterator, List, Mapping, Optional, Sequence, Type, Union, cast

from .._create_call import needs_template
from .._other_names import tells_names
from .._page import CountedPage
from .._request import CREATE_WITHIN_S, Request, vm_filter
from ..types import (
    EgressRequest,
    SandboxCreateRequestSecrets,
    SandboxCreateRequestMode,
    SandboxForks,
    SandboxInfo,
    SandboxInfoStatus,
    SandboxList,
    SandboxUpdateRequest,
    SizeName,
)
from ._file_system import AsyncFileSystem
from ._generated._bound_calls import AsyncBoundCalls
from ._http import AsyncHttp
from ._streams import every_item
from ._wait import WAIT_S, wait_for_status
from ._vm_calls import AsyncVmCalls


@tells_names
class AsyncSandboxes(AsyncVmCalls):
    def __init__(self, http: AsyncHttp) -> None:
        super().__init__(http, "/v1/sandboxes")

    @needs_template
    async def create(
        self,
        *,
        template: Optional[str] = None,
        snapshot: Optional[str] = None,
        name: Optional[str] = None,
        mode: Optional[SandboxCreateRequestMode] = None,
        timeout: Optional[str] = None,
        pause_after_idle: Optional[str] = None,
        auto_resume: Optional[bool] = None,
        size: Optional[SizeName] = None,
        env: Optional[Mapping[str, str]] = None,
        secrets: Optional[Sequence[SandboxCreateRequestSecrets]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        egress: Optional[EgressRequest] = None,
        idempotency_key: Optional[str] = None,
    ) -> AsyncSandbox:
        """Creates a sandbox and waits until it is usable.

        Either ``template`` or ``snapshot`` is needed, each by id or name. ``timeout`` is a duration such as ``10m`` (default ``5m``, at most ``24h``) after which the sandbox is destroyed, or with the ``mode``
        ``persistent`` paused; ``pause_after_idle`` pauses a persistent one that nothing has used for so long; with ``auto_resume=False`` calls into a paused one do not resume it; ``size`` is a name from ``sizes.list()``; ``egress`` says what the sandbox may reach (default: everything but private networks). Safe to repeat: after a
        broken connection it is sent again under the same ``Idempotency-Key``, and creates one sandbox.

        A caller that stops waiting (Ctrl-C, a canceled task) has what comes of it destroyed in the background; closing the client and the end
        of the program wait for that, up to about a minute.
        """
        fields = {
            "template": template,
            "snapshot": snapshot,
            "name": name,
            "mode": mode,
            "timeout": timeout,
            "pause_after_idle": pause_after_idle,
            "auto_resume": auto_resume,
            "size": size,
            "env": env,
            "secrets": secrets,
            "metadata": metadata,
            "egress": egress,
        }
        request = Request(
            "POST", "/v1/sandboxes", json=fields, creates=True, key=idempotency_key, answer_within_s=CREATE_WITHIN_S
        )
        created = await self._http.created(request, SandboxInfo, lambda info: Request("DELETE", self._at(info["id"])))
        return AsyncSandbox(self, created)

    async def get(self, id: str) -> AsyncSandbox:
        """Code ``sandbox_not_found`` where there is none, or where it belongs to another organization."""
        return AsyncSandbox(self, await self._http.json(Request("GET", self._at(id)), SandboxInfo))

    async def list(
        self,
        *,
        status: Optional[SandboxInfoStatus] = None,
        template: Optional[str] = None,
        alive: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        host: Optional[str] = None,
        owner: Optional[str] = None,
        q: Optional[str] = None,
        created_after: Optional[str] = None,
    ) -> AsyncIterator[AsyncSandbox]:
        """Every sandbox that passes the filter, newest first, read page by page as you go. ``q``: what their name or id begins with. ``owner``: what they belong to, as ``none``, a kind of resource or ``KIND:ID-OR-NAME``. ``alive``: only those that have neither failed nor been destroyed."""
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
                cursor=cursor,
            )
        )
        async for sandbox in items:
            yield sandbox

    async def page(
        self,
        *,
        status: Optional[SandboxInfoStatus] = None,
        template: Optional[str] = None,
        alive: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        host: Optional[str] = None,
        owner: Optional[str] = None,
        q: Optional[str] = None,
        created_after: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        counts: Optional[bool] = None,
    ) -> CountedPage[AsyncSandbox]:
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
            "limit": limit,
            "cursor": cursor,
            "counts": counts,
        }
        found = await self._http.json(Request("GET", "/v1/sandboxes", query=query), SandboxList)
        items = [AsyncSandbox(self, info) for info in found["items"]]
        return CountedPage(items, found["next_cursor"], cast(Optional[Mapping[str, int]], found.get("counts")))

    async def wait(
        self, id: str, until: Union[SandboxInfoStatus, Sequence[SandboxInfoStatus]], *, timeout_s: float = WAIT_S
    ) -> AsyncSandbox:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has failed or is destroyed instead,
        and after ``timeout_s`` seconds."""
        return await wait_for_status("sandbox", self.get, id, until, timeout_s)

    async def destroy(self, id: str) -> None:
        """Destroys a sandbox. Works from every status, and more than once."""
        await self._http.done(Request("DELETE", self._at(id)))

    async def update(self, id: str, changes: SandboxUpdateRequest) -> AsyncSandbox:
        """Changes what is named, and leaves the rest as it is; in ``metadata`` None removes a label, and None for ``name`` or
        ``pause_after_idle`` takes it away. Its time is changed by ``keepalive``, its egress rules by ``set_egress``."""
        json = cast(Mapping[str, object], changes)
        request = Request("PATCH", self._at(id), json=json, sends_none=True)
        return AsyncSandbox(self, await self._http.json(request, SandboxInfo))

    async def keepalive(self, id: str, *, timeout: Optional[str] = None) -> AsyncSandbox:
        """Moves the sandbox's expiry to ``timeout`` from now; never to earlier than it is. More than 24 h counts as 24 h. Without ``timeout`` the
        sandbox's own is used."""
        request = Request("POST", f"{self._at(id)}/keepalive", json={"timeout": timeout})
        return AsyncSandbox(self, await self._http.json(request, SandboxInfo))

    async def pause(self, id: str) -> AsyncSandbox:
        """Pauses a persistent sandbox: its memory and its disk become files, and it holds no memory and no CPU. What runs in it goes on when it is
        resumed, and every call into it resumes it. Code ``sandbox_not_persistent`` for one that is ephemeral."""
        request = Request("POST", f"{self._at(id)}/pause", json={}, answer_within_s=CREATE_WITHIN_S)
        return AsyncSandbox(self, await self._http.json(request, SandboxInfo))

    async def resume(self, id: str) -> AsyncSandbox:
        """Resumes a paused sandbox and waits until it runs; its timeout begins anew. Code ``no_capacity`` where there is no room for it now: it
        stays paused."""
        request = Request("POST", f"{self._at(id)}/resume", json={}, answer_within_s=CREATE_WITHIN_S)
        return AsyncSandbox(self, await self._http.json(request, SandboxInfo))

    async def fork(self, id: str, *, count: int = 1, idempotency_key: Optional[str] = None) -> List[AsyncSandbox]:
        """Makes ``count`` sandboxes, at most 100, that go on from its memory and its disk as they are now: all or none. It goes on itself."""
        path = f"{self._at(id)}/fork"
        request = Request(
            "POST", path, json={"count": count}, creates=True, key=idempotency_key, answer_within_s=CREATE_WITHIN_S
        )
        made = await self._http.json(request, SandboxForks)
        return [AsyncSandbox(self, info) for info in made["items"]]

    async def rollback(self, id: str, *, snapshot: str) -> AsyncSandbox:
        """Has it go on from a snapshot, by id or name, of the same template and size. What it was until then is lost."""
        path = f"{self._at(id)}/rollback"
        request = Request("POST", path, json={"snapshot": snapshot}, answer_within_s=CREATE_WITHIN_S)
        return AsyncSandbox(self, await self._http.json(request, SandboxInfo))


@tells_names
class AsyncSandbox(AsyncBoundCalls):
    """A sandbox in hand: what the server last said about it, and everything that one does with it. An ``async with`` block around it destroys
    it at its end."""

    def __init__(self, sandboxes: AsyncSandboxes, info: SandboxInfo) -> None:
        super().__init__(sandboxes, info["id"])
        self._sandboxes = sandboxes
        self._info = info

    @property
    def info(self) -> SandboxInfo:
        """As of the last ``create``, ``get``, ``refresh``, ``wait``, ``update``, ``keepalive``, ``pause``, ``resume`` or ``rollback``; it does not follow the server by itself."""
        return self._info

    def __repr__(self) -> str:
        # Without `env`, which may hold secrets.
        return f"<{type(self).__name__} {self.id} {self._info.get('status')}>"

    async def refresh(self) -> AsyncSandbox:
        """Reads ``info`` again."""
        self._info = (await self._sandboxes.get(self.id)).info
        return self

    async def wait(
        self, until: Union[SandboxInfoStatus, Sequence[SandboxInfoStatus]], *, timeout_s: float = WAIT_S
    ) -> AsyncSandbox:
        """As ``AsyncSandboxes.wait``."""
        self._info = (await self._sandboxes.wait(self.id, until, timeout_s=timeout_s)).info
        return self

    async def update(self, changes: SandboxUpdateRequest) -> AsyncSandbox:
        """See ``AsyncSandboxes.update``."""
        self._info = (await self._sandboxes.update(self.id, changes)).info
        return self

    async def keepalive(self, *, timeout: Optional[str] = None) -> AsyncSandbox:
        """See ``AsyncSandboxes.keepalive``."""
        self._info = (await self._sandboxes.keepalive(self.id, timeout=timeout)).info
        return self

    async def pause(self) -> AsyncSandbox:
        """See ``AsyncSandboxes.pause``."""
        self._info = (await self._sandboxes.pause(self.id)).info
        return self

    async def resume(self) -> AsyncSandbox:
        """See ``AsyncSandboxes.resume``."""
        self._info = (await self._sandboxes.resume(self.id)).info
        return self

    async def fork(self, count: int = 1, *, idempotency_key: Optional[str] = None) -> List[AsyncSandbox]:
        """See ``AsyncSandboxes.fork``."""
        return await self._sandboxes.fork(self.id, count=count, idempotency_key=idempotency_key)

    async def rollback(self, snapshot: str) -> AsyncSandbox:
        """See ``AsyncSandboxes.rollback``."""
        self._info = (await self._sandboxes.rollback(self.id, snapshot=snapshot)).info
        return self

    async def destroy(self) -> None:
        """See ``AsyncSandboxes.destroy``."""
        await self._sandboxes.destroy(self.id)

    @property
    def files(self) -> AsyncFileSystem:
        """Its file system: see ``AsyncSandboxes.files``."""
        return self._sandboxes.files(self.id)

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.destroy()
