"""Machines that VMs run on. They are the operator's."""

from __future__ import annotations

from typing import AsyncIterator, Optional

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import Authority, Host, HostList, JoinToken
from ._http import AsyncHttp
from ._streams import every_item


class AsyncHosts:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[Host]:
        """Every host, newest first. Needs the scope ``hosts:read``."""
        async for host in every_item(lambda cursor: self.page(cursor=cursor)):
            yield host

    async def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Host]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._http.json(Request("GET", "/v1/hosts", query=query), HostList)
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Host:
        """Code ``host_not_found`` where there is none."""
        return await self._http.json(Request("GET", _at(id)), Host)

    async def drain(self, id: str) -> Host:
        """It gets no new VMs, and those that it has are moved to other hosts. Answers at once; the host is in ``maintenance`` when the last one
        has left."""
        return await self._http.json(Request("POST", f"{_at(id)}/drain"), Host)

    async def activate(self, id: str) -> Host:
        """Takes a drain back, also one that has ended. Code ``host_silent`` where the host does not answer."""
        return await self._http.json(Request("POST", f"{_at(id)}/activate"), Host)

    async def remove(self, id: str, *, force: bool = False) -> None:
        """Ends its membership: it is trusted no more, and what ran on it is lost. Code ``host_not_empty`` where VMs are on it, unless ``force``."""
        await self._http.done(Request("DELETE", _at(id), query={"force": force or None}))

    async def authority(self) -> Authority:
        """The authority that certifies control and its hosts, and how far a change of it is."""
        return await self._http.json(Request("GET", "/v1/authority"), Authority)

    async def rotate_authority(self, *, leave_offline: bool = False) -> Authority:
        """Begins to change the authority for a new one, or goes on with a change that is under way. It waits for every host; ``leave_offline``: not
        for those that are offline, which have to join again. Answers at once; ``authority()`` tells how far it is."""
        request = Request("POST", "/v1/authority/rotate", json={"leave_offline": leave_offline or None})
        return await self._http.json(request, Authority)

    async def create_join_token(self) -> JoinToken:
        """A token by which one machine becomes a host within the next hour. It is in ``token`` of this answer and nowhere else."""
        return await self._http.json(Request("POST", "/v1/hosts/join-tokens", json={}, creates=True), JoinToken)


def _at(id: str) -> str:
    return f"/v1/hosts/{segment(id)}"
