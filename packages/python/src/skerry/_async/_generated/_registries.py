"""Registries. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import List

from ..._paths import segment
from ..._request import Request
from ...types import RegistryCredential, RegistryCredentialList
from .._http import AsyncHttp


class AsyncRegistries:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[RegistryCredential]:
        """List credentials of registries. Without their passwords, which no call tells.

        Needs the scope ``templates:read``.
        """
        found = await self._http.json(Request("GET", "/v1/registry-credentials"), RegistryCredentialList)
        return found["items"]

    async def set(self, host: str, *, username: str, password: str) -> RegistryCredential:
        """Set credentials of a registry. Builds of the organization pull images of this registry, and push templates
        to it, with them from now on. They are kept sealed, and reach a build's microVM only while a step pulls or
        pushes.

        Needs the scope ``org:write``.

        Errors of its own: ``quota_exceeded``, ``secret_damaged``, ``secrets_unavailable``.
        """
        return await self._http.json(
            Request(
                "PUT",
                f"/v1/registry-credentials/{segment(host)}",
                json={"username": username, "password": password},
            ),
            RegistryCredential,
        )

    async def delete(self, host: str) -> None:
        """Delete credentials of a registry.

        Needs the scope ``org:write``.

        Errors of its own: ``registry_credential_not_found``.
        """
        await self._http.done(Request("DELETE", f"/v1/registry-credentials/{segment(host)}"))
