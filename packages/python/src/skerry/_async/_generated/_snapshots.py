"""Snapshots. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Literal, Optional, Sequence, Union

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import Snapshot, SnapshotList, SnapshotStatus
from .._http import AsyncHttp
from .._streams import every_item
from .._wait import WAIT_S, wait_for_status


class AsyncSnapshots:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, *, of: Optional[Literal["sandbox", "machine"]] = None) -> AsyncIterator[Snapshot]:
        """List snapshots. The snapshots of the organization, newest first: those of sandboxes for a token with
        ``sandboxes:read``, and those of machines for one with ``machines:read``.

        Needs the scope ``sandboxes:read``.
        """
        pages = every_item(lambda cursor: self.page(of=of, cursor=cursor))
        async for item in pages:
            yield item

    async def page(
        self,
        *,
        of: Optional[Literal["sandbox", "machine"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Snapshot]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request("GET", "/v1/snapshots", query={"of": of, "limit": limit, "cursor": cursor}),
            SnapshotList,
        )
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Snapshot:
        """Get a snapshot.

        Needs the scope ``sandboxes:read``.

        Errors of its own: ``snapshot_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/snapshots/{segment(id)}"), Snapshot)

    async def delete(self, id: str) -> None:
        """Delete a snapshot. What was made of it stays, and so do the snapshots that have it as their parent.

        Needs the scope ``sandboxes:write``.

        Errors of its own: ``snapshot_not_found``.
        """
        await self._http.done(Request("DELETE", f"/v1/snapshots/{segment(id)}"))

    async def wait(
        self, id: str, until: Union[SnapshotStatus, Sequence[SnapshotStatus]], *, timeout_s: float = WAIT_S
    ) -> Snapshot:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return await wait_for_status("snapshot", self.get, id, until, timeout_s)
