# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""What steps of builds have left, for the next builds to begin from."""

from __future__ import annotations

from typing import Iterator, Optional

from .._page import Page
from .._request import Request
from ..types import CacheEntry, CacheEntryList, ClearedCache
from ._http import Http
from ._streams import every_item


class BuildCache:
    """The build cache of the organization."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[CacheEntry]:
        """All of it, newest first, read page by page as you go."""
        for entry in every_item(lambda cursor: self.page(cursor=cursor)):
            yield entry

    def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[CacheEntry]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", "/v1/cache", query=query), CacheEntryList)
        return Page(found["items"], found["next_cursor"])

    def clear(self) -> ClearedCache:
        """Removes all of it but what a build that is under way begins on. Templates stay."""
        return self._http.json(Request("DELETE", "/v1/cache"), ClearedCache)
