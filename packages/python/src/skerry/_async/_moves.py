"""VMs on their way from one host to another. They are the operator's."""

from __future__ import annotations

from typing import AsyncIterator, Optional

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import Move, MoveList, MoveStatus
from ._http import AsyncHttp
from ._streams import every_item


class AsyncMoves:
    """Needs the scope ``hosts:read``. ``host``: from it, or to it; ``vm``: the id of a sandbox, a machine or a snapshot."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self, *, status: Optional[MoveStatus] = None, host: Optional[str] = None, vm: Optional[str] = None
    ) -> AsyncIterator[Move]:
        """Every move that is under way, or ended within a day, newest first."""
        async for move in every_item(lambda cursor: self.page(status=status, host=host, vm=vm, cursor=cursor)):
            yield move

    async def page(
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
        found = await self._http.json(Request("GET", "/v1/moves", query=query), MoveList)
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Move:
        """Code ``move_not_found`` where there is none."""
        return await self._http.json(Request("GET", f"/v1/moves/{segment(id)}"), Move)
