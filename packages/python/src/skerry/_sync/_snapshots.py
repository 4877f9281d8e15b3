# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""Snapshots of sandboxes and machines."""

from __future__ import annotations

from typing import Iterator, Literal, Optional

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import Snapshot, SnapshotList
from ._http import Http
from ._streams import every_item


class Snapshots:
    """Snapshots of the organization, by id or name. ``sandbox.snapshot()`` takes one, and ``machines.snapshot(id)``."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self, id: str) -> Snapshot:
        """Code ``snapshot_not_found`` where there is none, or where it belongs to another organization."""
        return self._http.json(Request("GET", f"/v1/snapshots/{segment(id)}"), Snapshot)

    def list(self, *, of: Optional[Literal["sandbox", "machine"]] = None) -> Iterator[Snapshot]:
        """Every snapshot, or only those of sandboxes or of machines, newest first, read page by page as you go."""
        for snapshot in every_item(lambda cursor: self.page(of=of, cursor=cursor)):
            yield snapshot

    def page(
        self,
        *,
        of: Optional[Literal["sandbox", "machine"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Snapshot]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"of": of, "limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", "/v1/snapshots", query=query), SnapshotList)
        return Page(found["items"], found["next_cursor"])

    def delete(self, id: str) -> None:
        """What was made of it stays."""
        self._http.done(Request("DELETE", f"/v1/snapshots/{segment(id)}"))
