"""The client's collections and calls that need nothing but their declarations. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import Optional

from ..._request import Request
from ...types import Health, Limits, Me, Status, Usage
from .._http import Http
from ._background_services import BackgroundServices
from ._cache import Cache
from ._hosts import Hosts
from ._moves import Moves
from ._organizations import Organizations
from ._registries import Registries
from ._secrets import Secrets
from ._sizes import Sizes
from ._snapshots import Snapshots
from ._tokens import Tokens


class GeneratedClient:
    def __init__(self, http: Http) -> None:
        self._http = http
        self.snapshots = Snapshots(http)
        self.sizes = Sizes(http)
        self.registries = Registries(http)
        self.cache = Cache(http)
        self.secrets = Secrets(http)
        self.tokens = Tokens(http)
        self.organizations = Organizations(http)
        self.hosts = Hosts(http)
        self.moves = Moves(http)
        self.background_services = BackgroundServices(http)

    def me(self) -> Me:
        """Show who is calling. For which organization, and what the token can do there."""
        return self._http.json(Request("GET", "/v1/auth/me"), Me)

    def limits(self) -> Limits:
        """Show the limits of the organization. What it may do and hold, and how much of each quota is taken.

        Needs the scope ``org:read``.
        """
        return self._http.json(Request("GET", "/v1/limits"), Limits)

    def usage(
        self, *, since: Optional[str] = None, until: Optional[str] = None, step: Optional[str] = None
    ) -> Usage:
        """Show the usage of the organization over time. What it has had at once, how much it has made, and what its
        egress rules have refused. It is measured once a minute and kept for 30 days, after two of them in steps of
        ten minutes.

        Needs the scope ``org:read``.

        Errors of its own: ``invalid_duration``, ``timeout_too_long``.
        """
        return self._http.json(
            Request("GET", "/v1/usage", query={"since": since, "until": until, "step": step}),
            Usage,
        )

    def status(self) -> Status:
        """Show the status of the organization. What the organization has, by status, and how many hosts there are for
        it.

        Needs the scope ``org:read``.
        """
        return self._http.json(Request("GET", "/v1/status"), Status)

    def health(self) -> Health:
        """Check the health of the control plane. Answers where the control plane is running."""
        return self._http.json(Request("GET", "/v1/health"), Health)
