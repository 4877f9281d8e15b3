"""Cache. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Optional

from ..._page import Page
from ..._request import Request
from ...types import CacheEntry, CacheEntryList, ClearedCache
from .._http import AsyncHttp
from .._streams import every_item


class AsyncCache:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncIterator[CacheEntry]:
        """List the build cache. Results of steps, from which the organization's next builds begin, newest first. Those
        that were not used for a week are removed.

        Needs the scope ``templates:read``.
        """
        pages = every_item(lambda cursor: self.page(cursor=cursor))
        async for item in pages:
            yield item

    async def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[CacheEntry]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request("GET", "/v1/cache", query={"limit": limit, "cursor": cursor}),
            CacheEntryList,
        )
        return Page(found["items"], found["next_cursor"])

    async def clear(self) -> ClearedCache:
        """Clear the build cache. All of it but what a build that is under way begins on. Templates stay.

        Needs the scope ``templates:write``.
        """
        return await self._http.json(Request("DELETE", "/v1/cache"), ClearedCache)
