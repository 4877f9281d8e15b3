"""Executions. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import Iterator, Optional

from ..._page import Page
from ..._request import Request
from ...types import KeptExecution, KeptExecutionList
from .._http import Http
from .._streams import every_item


class GeneratedExecutions:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[KeptExecution]:
        """List executions whose output is kept. Those that were started with ``keep_output`` or ``destroy_sandbox``,
        newest first: while they run, and for a day after they have ended, also when their sandbox is gone. An
        organization keeps 1,000 that have ended, and 64 MiB of their output.

        Needs the scope ``sandboxes:execute``.
        """
        pages = every_item(lambda cursor: self.page(cursor=cursor))
        for item in pages:
            yield item

    def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[KeptExecution]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = self._http.json(
            Request("GET", "/v1/executions", query={"limit": limit, "cursor": cursor}),
            KeptExecutionList,
        )
        return Page(found["items"], found["next_cursor"])
