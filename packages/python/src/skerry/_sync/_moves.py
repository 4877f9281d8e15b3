# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""VMs on their way from one host to another. They are the operator's."""

from __future__ import annotations

from typing import Iterator, Optional

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import Move, MoveList, MoveStatus
from ._http import Http
from ._streams import every_item


class Moves:
    """Needs the scope ``hosts:read``. ``host``: from it, or to it; ``vm``: the id of a sandbox, a machine or a snapshot."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self, *, status: Optional[MoveStatus] = None, host: Optional[str] = None, vm: Optional[str] = None
    ) -> Iterator[Move]:
        """Every move that is under way, or ended within a day, newest first."""
        for move in every_item(lambda cursor: self.page(status=status, host=host, vm=vm, cursor=cursor)):
            yield move

    def page(
        self,
        *,
        status: Optional[MoveStatus] = None,
        host: Optional[str] = None,
        vm: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Move]:
        """One page of them: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"status": status, "host": host, "vm": vm, "limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", "/v1/moves", query=query), MoveList)
        return Page(found["items"], found["next_cursor"])

    def get(self, id: str) -> Move:
        """Code ``move_not_found`` where there is none."""
        return self._http.json(Request("GET", f"/v1/moves/{segment(id)}"), Move)
