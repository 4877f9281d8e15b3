# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""Commands whose output outlives their sandbox."""

from __future__ import annotations

from typing import Iterator, Literal, Optional

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import KeptExecution, KeptExecutionList, KeptOutput
from ._http import Http
from ._streams import every_item


class KeptExecutions:
    """Commands that were started with ``keep_output`` or ``destroy_sandbox``: while they run, and for a day after their end."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self, id: str, *, encoding: Optional[Literal["utf8", "base64"]] = None) -> KeptOutput:
        """With its output. Code ``execution_not_found`` where there is none, or where it ended long ago. ``encoding="base64"``: ``stdout`` and
        ``stderr`` are the exact bytes."""
        request = Request("GET", f"/v1/executions/{segment(id)}", query={"encoding": encoding})
        return self._http.json(request, KeptOutput)

    def list(self) -> Iterator[KeptExecution]:
        """Every one, newest first, read page by page as you go."""
        for execution in every_item(lambda cursor: self.page(cursor=cursor)):
            yield execution

    def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[KeptExecution]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", "/v1/executions", query=query), KeptExecutionList)
        return Page(found["items"], found["next_cursor"])
