# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""What microVMs are made of, and the sizes that they come in."""

from __future__ import annotations

from typing import List

from .._paths import segment
from .._request import Request
from ..types import Size, SizeList, Template, TemplateList
from ._http import Http


class Templates:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> List[Template]:
        return (self._http.json(Request("GET", "/v1/templates"), TemplateList))["items"]

    def get(self, name_or_id: str) -> Template:
        """Code ``template_not_found`` where there is none."""
        return self._http.json(Request("GET", f"/v1/templates/{segment(name_or_id)}"), Template)


class Sizes:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> List[Size]:
        """``memory_mib`` is in MiB; ``cpu`` says whether the CPUs are shared with others."""
        return (self._http.json(Request("GET", "/v1/sizes"), SizeList))["items"]
