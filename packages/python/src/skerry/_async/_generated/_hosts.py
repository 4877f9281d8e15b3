"""Hosts. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Sequence, Union

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import Authority, Host, HostList, HostStatus, JoinToken
from .._http import AsyncHttp
from .._streams import every_item
from .._wait import WAIT_S, wait_for_status


class AsyncHosts:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[Host]:
        """List hosts. The machines that VMs run on, newest first.

        Needs the scope ``hosts:read``.
        """
        pages = every_item(lambda cursor: self.page(cursor=cursor))
        async for item in pages:
            yield item

    async def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Host]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(Request("GET", "/v1/hosts", query={"limit": limit, "cursor": cursor}), HostList)
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Host:
        """Get a host. How it is, what it has, and what is taken of it.

        Needs the scope ``hosts:read``.

        Errors of its own: ``host_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/hosts/{segment(id)}"), Host)

    async def remove(self, id: str, *, force: Optional[bool] = None) -> None:
        """Remove a host. Ends the membership of a host that has joined: control trusts it no more.

        What ran on it has failed, and does not come back; machines start anew elsewhere by their policy. Drain it
        first to lose nothing. Templates that organizations have built do not leave with a drain: it is removed with
        the last copy of one only by ``force``.

        Needs the scope ``hosts:write``.

        Errors of its own: ``host_not_found``, ``host_not_empty``, ``host_not_removable``.
        """
        await self._http.done(Request("DELETE", f"/v1/hosts/{segment(id)}", query={"force": force}))

    async def create_join_token(self, *, idempotency_key: Optional[str] = None) -> JoinToken:
        """Create a join token. By it one machine becomes a host within the next hour. It is in this answer and nowhere
        else.

        Needs the scope ``hosts:write``.

        Errors of its own: ``secrets_unavailable``, ``secret_damaged``.
        """
        return await self._http.json(
            Request("POST", "/v1/hosts/join-tokens", creates=True, key=idempotency_key),
            JoinToken,
        )

    async def authority(self) -> Authority:
        """Get the certificate authority. The authority that certifies control and its hosts, and how far a change of
        it is.

        Needs the scope ``hosts:read``.
        """
        return await self._http.json(Request("GET", "/v1/authority"), Authority)

    async def rotate_authority(self, *, leave_offline: Optional[bool] = None) -> Authority:
        """Rotate the certificate authority. Changes the authority that certifies control and its hosts for a new one,
        while they go on.

        Answers at once; the change goes on by itself, and waits for every host, also for one that is offline, until
        its certificate ends. Asked for again while one is under way, it begins no other.

        Needs the scope ``hosts:write``.
        """
        return await self._http.json(
            Request("POST", "/v1/authority/rotate", json={"leave_offline": leave_offline}),
            Authority,
        )

    async def drain(self, id: str) -> Host:
        """Drain a host. Gives the host no new VMs and moves those that it has to other hosts, with paused sandboxes
        and snapshots, and copies there the templates that no other host has.

        Answers at once; the host is in ``maintenance`` when the last one has left. A host that is offline is
        drained when it is back.

        Needs the scope ``hosts:write``.

        Errors of its own: ``host_not_found``.
        """
        return await self._http.json(Request("POST", f"/v1/hosts/{segment(id)}/drain"), Host)

    async def activate(self, id: str) -> Host:
        """Activate a host. Lets the host have VMs again: cancels a drain, ends maintenance.

        Needs the scope ``hosts:write``.

        Errors of its own: ``host_not_found``, ``host_silent``.
        """
        return await self._http.json(Request("POST", f"/v1/hosts/{segment(id)}/activate"), Host)

    async def wait(
        self, id: str, until: Union[HostStatus, Sequence[HostStatus]], *, timeout_s: float = WAIT_S
    ) -> Host:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return await wait_for_status("host", self.get, id, until, timeout_s)
