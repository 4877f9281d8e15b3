"""The client's collections and calls that need nothing but their declarations. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import Optional

from ..._request import Request
from ...types import Health, Limits, Me, Status, Usage
from .._http import AsyncHttp
from ._background_services import AsyncBackgroundServices
from ._cache import AsyncCache
from ._hosts import AsyncHosts
from ._moves import AsyncMoves
from ._organizations import AsyncOrganizations
from ._registries import AsyncRegistries
from ._secrets import AsyncSecrets
from ._sizes import AsyncSizes
from ._snapshots import AsyncSnapshots
from ._tokens import AsyncTokens


class AsyncGeneratedClient:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http
        self.snapshots = AsyncSnapshots(http)
        self.sizes = AsyncSizes(http)
        self.registries = AsyncRegistries(http)
        self.cache = AsyncCache(http)
        self.secrets = AsyncSecrets(http)
        self.tokens = AsyncTokens(http)
        self.organizations = AsyncOrganizations(http)
        self.hosts = AsyncHosts(http)
        self.moves = AsyncMoves(http)
        self.background_services = AsyncBackgroundServices(http)

    async def me(self) -> Me:
        """Show who is calling. For which organization, and what the token can do there."""
        return await self._http.json(Request("GET", "/v1/auth/me"), Me)

    async def limits(self) -> Limits:
        """Show the limits of the organization. What it may do and hold, and how much of each quota is taken.

        Needs the scope ``org:read``.
        """
        return await self._http.json(Request("GET", "/v1/limits"), Limits)

    async def usage(
        self, *, since: Optional[str] = None, until: Optional[str] = None, step: Optional[str] = None
    ) -> Usage:
        """Show the usage of the organization over time. What it has had at once, how much it has made, and what its
        egress rules have refused. It is measured once a minute and kept for 30 days, after two of them in steps of
        ten minutes.

        Needs the scope ``org:read``.

        Errors of its own: ``invalid_duration``, ``timeout_too_long``.
        """
        return await self._http.json(
            Request("GET", "/v1/usage", query={"since": since, "until": until, "step": step}),
            Usage,
        )

    async def status(self) -> Status:
        """Show the status of the organization. What the organization has, by status, and how many hosts there are for
        it.

        Needs the scope ``org:read``.
        """
        return await self._http.json(Request("GET", "/v1/status"), Status)

    async def health(self) -> Health:
        """Check the health of the control plane. Answers where the control plane is running."""
        return await self._http.json(Request("GET", "/v1/health"), Health)
