"""The client."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Sequence, Type

import httpx

from .._request import Request
from .._settings import find_settings
from ..events import FollowedChange
from ..types import ResourceEventKind, ResourceEventPage
from ._audit import AsyncAudit
from ._apps import AsyncApps
from ._builds import AsyncBuilds
from ._events import follow_events
from ._http import AsyncHttp
from ._kept_executions import AsyncKeptExecutions
from ._machines import AsyncMachines
from ._sandboxes import AsyncSandboxes
from ._streams import AsyncStream
from ._generated._client import AsyncGeneratedClient
from ._templates import AsyncTemplates


class AsyncSkerry(AsyncGeneratedClient):
    """A client of one Skerry server.

    ``AsyncSkerry()`` finds address and token by itself: in ``SKERRY_API_URL`` and ``SKERRY_API_TOKEN``, then in what ``skerry auth login`` or
    ``skerry up`` has saved. ``organization`` is the id of the organization to work in (default: the token's own); ``retries`` says how often a
    call that is safe to repeat is sent again after a broken connection or a passing refusal (default: 2; 0: never); ``http_client`` replaces
    the connection pool, for a proxy or certificates of one's own. An empty ``token`` sends none, which is enough for ``health()``.

    Raises ``SkerryInputError`` where there is no token, or where the address or the token cannot be one. Fields have the names that they have
    in the REST API; durations are texts such as ``30s``, ``10m`` or ``1h30m``, times are ISO 8601 in UTC.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        organization: Optional[str] = None,
        retries: Optional[int] = None,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        settings = find_settings(base_url=base_url, token=token, organization=organization)
        super().__init__(AsyncHttp(settings, retries=retries, http_client=http_client))
        self.sandboxes = AsyncSandboxes(self._http)
        self.machines = AsyncMachines(self._http)
        self.executions = AsyncKeptExecutions(self._http)
        self.templates = AsyncTemplates(self._http)
        self.builds = AsyncBuilds(self._http)
        self.apps = AsyncApps(self._http)
        self.audit = AsyncAudit(self._http)

    def events(
        self, *, after: Optional[str] = None, kinds: Optional[Sequence[ResourceEventKind]] = None
    ) -> AsyncStream[FollowedChange]:
        """What changes in the organization, as it changes: ``changed``, ``synced`` and ``reset``, by their ``type``. Nothing is left out.

        ``after`` is a cursor to go on after (default: from now on); ``kinds`` are those of the resources (default: all that the token may read). A
        connection that breaks is opened again, and goes on where it was. To know the state of things and keep it: begin to follow, wait for the first
        ``synced``, list, and put what is told over it; an item whose ``version`` is lower than what is known is old.
        """
        return AsyncStream(follow_events(self._http, after, kinds))

    async def event_page(
        self,
        *,
        after: Optional[str] = None,
        kinds: Optional[Sequence[ResourceEventKind]] = None,
        limit: Optional[int] = None,
    ) -> ResourceEventPage:
        """What has changed after a cursor: ``limit`` items (default 50, at most 500). Without ``after``: the cursor of this moment alone."""
        query = {"after": after, "kind": None if kinds is None else ",".join(kinds), "limit": limit}
        return await self._http.json(Request("GET", "/v1/events", query=query), ResourceEventPage)

    async def aclose(self) -> None:
        """Closes its connections. An ``async with`` block around the client does so at its end."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncSkerry:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.aclose()
