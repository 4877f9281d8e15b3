"""Secrets. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import List

from ..._paths import segment
from ..._request import Request
from ...types import Secret, SecretDeleted, SecretHistory, SecretList
from .._http import AsyncHttp


class AsyncSecrets:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[Secret]:
        """List secrets. By name, without their values, which no call tells.

        Needs the scope ``secrets:read``.
        """
        found = await self._http.json(Request("GET", "/v1/secrets"), SecretList)
        return found["items"]

    async def get(self, name: str) -> SecretHistory:
        """Get a secret. Its versions, and not its value, which no call tells.

        Needs the scope ``secrets:read``.

        Errors of its own: ``secret_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/secrets/{segment(name)}"), SecretHistory)

    async def set(self, name: str, *, value: str) -> Secret:
        """Set a secret. Adds a version with this value, which counts from now on. The value is kept sealed, and no
        call tells it again. In the place of JSON the request can have the value itself, as
        ``application/octet-stream``.

        Needs the scope ``secrets:write``.

        Errors of its own: ``quota_exceeded``, ``secret_damaged``, ``secrets_unavailable``.
        """
        return await self._http.json(Request("PUT", f"/v1/secrets/{segment(name)}", json={"value": value}), Secret)

    async def roll_back(self, name: str, *, version: int) -> Secret:
        """Roll back a secret. Adds a version with the value of an earlier one that is kept.

        Needs the scope ``secrets:write``.

        Errors of its own: ``secret_not_found``, ``secret_damaged``, ``secrets_unavailable``.
        """
        return await self._http.json(
            Request("POST", f"/v1/secrets/{segment(name)}/rollback", json={"version": version}),
            Secret,
        )

    async def delete(self, name: str) -> SecretDeleted:
        """Delete a secret. With all its versions. Sandboxes and machines that have it keep it until they end or start
        again; the answer names them.

        Needs the scope ``secrets:write``.

        Errors of its own: ``secret_not_found``.
        """
        return await self._http.json(Request("DELETE", f"/v1/secrets/{segment(name)}"), SecretDeleted)
