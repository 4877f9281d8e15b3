"""Credentials of registries: what builds log in with when they pull images."""

from __future__ import annotations

from typing import List

from .._paths import segment
from .._request import Request
from ..types import RegistryCredential, RegistryCredentialList
from ._http import AsyncHttp


class AsyncRegistries:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[RegistryCredential]:
        """By host, without their passwords."""
        return (await self._http.json(Request("GET", "/v1/registry-credentials"), RegistryCredentialList))["items"]

    async def set(self, host: str, *, username: str, password: str) -> RegistryCredential:
        """``host`` is the registry as references name it, in lower case and with its port. Needs an admin."""
        request = Request("PUT", _path(host), json={"username": username, "password": password})
        return await self._http.json(request, RegistryCredential)

    async def delete(self, host: str) -> None:
        """Code ``registry_credential_not_found`` where there are none."""
        await self._http.done(Request("DELETE", _path(host)))


def _path(host: str) -> str:
    return f"/v1/registry-credentials/{segment(host)}"
