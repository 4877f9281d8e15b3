"""Sizes. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import List

from ..._request import Request
from ...types import Size, SizeList
from .._http import Http


class Sizes:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> List[Size]:
        """List sizes. The sizes that a microVM can have.

        Needs the scope ``templates:read``.
        """
        found = self._http.json(Request("GET", "/v1/sizes"), SizeList)
        return found["items"]
