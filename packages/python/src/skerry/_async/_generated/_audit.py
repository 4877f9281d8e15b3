"""Audit. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Optional

from ..._page import Page
from ..._request import Request
from ...types import AuditEvent, AuditList
from .._http import AsyncHttp
from .._streams import every_item


class AsyncGeneratedAudit:
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
        """List audit events. Who did what in the organization, newest first.

        Every call that changed something, every call that was forbidden, and what the platform did by itself.
        Filters are combined.

        The log of a deleted organization can be read by the operator of the platform, with the scope
        ``platform:write``, for the organization that the request is for.

        Needs the scope ``audit:read``.
        """
        pages = every_item(
            lambda cursor: self.page(
                action=action,
                resource_id=resource_id,
                user_id=user_id,
                token_id=token_id,
                since=since,
                until=until,
                cursor=cursor,
            ),
        )
        async for item in pages:
            yield item

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
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request(
                "GET",
                "/v1/audit",
                query={
                    "action": action,
                    "resource_id": resource_id,
                    "user_id": user_id,
                    "token_id": token_id,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            AuditList,
        )
        return Page(found["items"], found["next_cursor"])
