"""Moves. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Sequence, Union

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import Move, MoveList, MoveStatus
from .._http import AsyncHttp
from .._streams import every_item
from .._wait import WAIT_S, wait_for_status


class AsyncMoves:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self, *, status: Optional[MoveStatus] = None, host: Optional[str] = None, vm: Optional[str] = None
    ) -> AsyncIterator[Move]:
        """List moves. VMs and snapshots on their way from one host to another, and moves that ended within a day,
        newest first.

        Needs the scope ``hosts:read``.
        """
        pages = every_item(lambda cursor: self.page(status=status, host=host, vm=vm, cursor=cursor))
        async for item in pages:
            yield item

    async def page(
        self,
        *,
        status: Optional[MoveStatus] = None,
        host: Optional[str] = None,
        vm: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Move]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request(
                "GET",
                "/v1/moves",
                query={"status": status, "host": host, "vm": vm, "limit": limit, "cursor": cursor},
            ),
            MoveList,
        )
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Move:
        """Get a move.

        Needs the scope ``hosts:read``.

        Errors of its own: ``move_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/moves/{segment(id)}"), Move)

    async def wait(
        self, id: str, until: Union[MoveStatus, Sequence[MoveStatus]], *, timeout_s: float = WAIT_S
    ) -> Move:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return await wait_for_status("move", self.get, id, until, timeout_s)
