# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""What the control plane does by itself. It is the operator's."""

from __future__ import annotations

from typing import List

from .._paths import segment
from .._request import Request
from ..types import BackgroundService, BackgroundServiceList
from ._http import Http


class BackgroundServices:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> List[BackgroundService]:
        """All of them, when each has run, and what came of it. Needs the scope ``metrics:read``."""
        return (self._http.json(Request("GET", "/v1/background-services"), BackgroundServiceList))["items"]

    def get(self, name: str) -> BackgroundService:
        """Code ``service_not_found`` where there is none."""
        return self._http.json(Request("GET", f"/v1/background-services/{segment(name)}"), BackgroundService)

    def run(self, name: str) -> BackgroundService:
        """Has it run now. Answers before it has: ``last_run`` tells when. Needs the scope ``platform:write``."""
        return self._http.json(
            Request("POST", f"/v1/background-services/{segment(name)}/run"), BackgroundService
        )
