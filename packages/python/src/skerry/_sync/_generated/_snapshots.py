"""Snapshots. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import Iterator, Literal, Optional, Sequence, Union

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import Snapshot, SnapshotList, SnapshotStatus
from .._http import Http
from .._streams import every_item
from .._wait import WAIT_S, wait_for_status


class Snapshots:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, *, of: Optional[Literal["sandbox", "machine"]] = None) -> Iterator[Snapshot]:
        """List snapshots. The snapshots of the organization, newest first: those of sandboxes for a token with
        ``sandboxes:read``, and those of machines for one with ``machines:read``.

        Needs the scope ``sandboxes:read``.
        """
        pages = every_item(lambda cursor: self.page(of=of, cursor=cursor))
        for item in pages:
            yield item

    def page(
        self,
        *,
        of: Optional[Literal["sandbox", "machine"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Snapshot]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = self._http.json(
            Request("GET", "/v1/snapshots", query={"of": of, "limit": limit, "cursor": cursor}),
            SnapshotList,
        )
        return Page(found["items"], found["next_cursor"])

    def get(self, id: str) -> Snapshot:
        """Get a snapshot.

        Needs the scope ``sandboxes:read``.

        Errors of its own: ``snapshot_not_found``.
        """
        return self._http.json(Request("GET", f"/v1/snapshots/{segment(id)}"), Snapshot)

    def delete(self, id: str) -> None:
        """Delete a snapshot. What was made of it stays, and so do the snapshots that have it as their parent.

        Needs the scope ``sandboxes:write``.

        Errors of its own: ``snapshot_not_found``.
        """
        self._http.done(Request("DELETE", f"/v1/snapshots/{segment(id)}"))

    def wait(
        self, id: str, until: Union[SnapshotStatus, Sequence[SnapshotStatus]], *, timeout_s: float = WAIT_S
    ) -> Snapshot:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return wait_for_status("snapshot", self.get, id, until, timeout_s)
