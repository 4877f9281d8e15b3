"""Who did what in the organization."""

from __future__ import annotations

from typing import AsyncIterator, Dict, Literal, Optional

from .._page import Page
from .._request import QueryValue, Request
from ..types import AuditEvent, AuditList
from ._bytes import bytes_at
from ._http import AsyncHttp
from ._streams import AsyncStream, every_item


class AsyncAudit:
    """Needs the scope ``audit:read`` and the role ``admin``."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self,
        *,
        action: Optional[str] = None,
        resource_id: Optional[str] = None,
        user_id: Optional[str] = None,
        token_id: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
    ) -> AsyncIterator[AuditEvent]:
        """Every event that fits all of it, newest first. Times are ISO 8601: ``since`` is included, ``until`` is not."""
        items = every_item(
            lambda cursor: self.page(
                action=action,
                resource_id=resource_id,
                user_id=user_id,
                token_id=token_id,
                since=since,
                until=until,
                cursor=cursor,
            )
        )
        async for event in items:
            yield event

    def export(
        self,
        *,
        format: Optional[Literal["ndjson", "csv"]] = None,
        action: Optional[str] = None,
        resource_id: Optional[str] = None,
        user_id: Optional[str] = None,
        token_id: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
    ) -> AsyncStream[bytes]:
        """All events that fit all of it, as a file of newline-delimited JSON (``ndjson``, the default) or of ``csv``, as fast as it is read. One that
        breaks off is an error."""
        query: Dict[str, QueryValue] = {
            "format": format,
            "action": action,
            "resource_id": resource_id,
            "user_id": user_id,
            "token_id": token_id,
            "since": since,
            "until": until,
        }
        return AsyncStream(bytes_at(self._http, "/v1/audit/export", query))

    async def page(
        self,
        *,
        action: Optional[str] = None,
        resource_id: Optional[str] = None,
        user_id: Optional[str] = None,
        token_id: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[AuditEvent]:
        """One page of them: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {
            "action": action,
            "resource_id": resource_id,
            "user_id": user_id,
            "token_id": token_id,
            "since": since,
            "until": until,
            "limit": limit,
            "cursor": cursor,
        }
        found = await self._http.json(Request("GET", "/v1/audit", query=query), AuditList)
        return Page(found["items"], found["next_cursor"])
