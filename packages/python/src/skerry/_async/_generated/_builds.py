"""Builds. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Sequence, Union

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import Build, BuildEgress, BuildList, BuildStatus
from .._http import AsyncHttp
from .._streams import every_item
from .._wait import WAIT_S, wait_for_status


class AsyncGeneratedBuilds:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, *, status: Optional[BuildStatus] = None, name: Optional[str] = None) -> AsyncIterator[Build]:
        """List builds. Newest first. Those that ended 30 days ago are forgotten, and before that those beyond the last
        2,000 that ended.

        Needs the scope ``templates:read``.
        """
        pages = every_item(lambda cursor: self.page(status=status, name=name, cursor=cursor))
        async for item in pages:
            yield item

    async def page(
        self,
        *,
        status: Optional[BuildStatus] = None,
        name: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[Build]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request(
                "GET",
                "/v1/builds",
                query={"status": status, "name": name, "limit": limit, "cursor": cursor},
            ),
            BuildList,
        )
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Build:
        """Get a build.

        Needs the scope ``templates:read``.

        Errors of its own: ``build_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/builds/{segment(id)}"), Build)

    async def egress(self, id: str) -> BuildEgress:
        """Show the egress of a build. Its rules, and the last destinations that were denied, also after its end.

        Needs the scope ``templates:read``.

        Errors of its own: ``build_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/builds/{segment(id)}/egress"), BuildEgress)

    async def cancel(self, id: str) -> Build:
        """Cancel a build. At once, whatever it is doing. One that has ended stays as it is.

        Needs the scope ``templates:write``.

        Errors of its own: ``build_not_found``.
        """
        return await self._http.json(Request("POST", f"/v1/builds/{segment(id)}/cancel"), Build)

    async def retry(self, id: str, *, idempotency_key: Optional[str] = None) -> Build:
        """Try a build again. A new build of the same request. A context has to be sent again.

        Needs the scope ``templates:write``.

        Errors of its own: ``build_not_found``, ``build_over``, ``template_not_found``, ``invalid_cidr``,
        ``invalid_port``, ``invalid_domain``, ``egress_conflict``, ``egress_forbidden`` and others.
        """
        return await self._http.json(
            Request("POST", f"/v1/builds/{segment(id)}/retry", creates=True, key=idempotency_key),
            Build,
        )

    async def wait(
        self, id: str, until: Union[BuildStatus, Sequence[BuildStatus]], *, timeout_s: float = WAIT_S
    ) -> Build:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return await wait_for_status("build", self.get, id, until, timeout_s)
