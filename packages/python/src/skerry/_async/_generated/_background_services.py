"""Background services. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import List, Sequence, Union

from ..._paths import segment
from ..._request import Request
from ...types import BackgroundService, BackgroundServiceList, BackgroundServiceStatus
from .._http import AsyncHttp
from .._wait import WAIT_S, wait_for_status


class AsyncBackgroundServices:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[BackgroundService]:
        """List the background services. What the control plane does by itself, when each has run, and what came of it.

        Needs the scope ``metrics:read``.
        """
        found = await self._http.json(Request("GET", "/v1/background-services"), BackgroundServiceList)
        return found["items"]

    async def get(self, name: str) -> BackgroundService:
        """Get a background service.

        Needs the scope ``metrics:read``.

        Errors of its own: ``service_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/background-services/{segment(name)}"), BackgroundService)

    async def run(self, name: str) -> BackgroundService:
        """Run a background service now. It is due at once, on one of the replicas. Answers before it has run:
        ``last_run`` tells when it has. One that runs already runs once more.

        Needs the scope ``platform:write``.

        Errors of its own: ``service_not_found``.
        """
        return await self._http.json(
            Request("POST", f"/v1/background-services/{segment(name)}/run"),
            BackgroundService,
        )

    async def wait(
        self, name: str, until: Union[BackgroundServiceStatus, Sequence[BackgroundServiceStatus]], *, timeout_s: float = WAIT_S
    ) -> BackgroundService:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return await wait_for_status("background_service", self.get, name, until, timeout_s)
