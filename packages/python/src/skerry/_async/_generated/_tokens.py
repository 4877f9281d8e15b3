"""Tokens. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Sequence

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import Scope, Token, TokenCreated, TokenList
from .._http import AsyncHttp
from .._streams import every_item


class AsyncTokens:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(
        self,
        *,
        name: Optional[str] = None,
        expires_in: Optional[str] = None,
        scopes: Optional[Sequence[Scope]] = None,
        user_id: Optional[str] = None,
        bound: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> TokenCreated:
        """Mint a token. Its secret is in this answer and nowhere else.

        It never outlives the token of this request: without ``expires_in`` both end together, a longer one is
        refused.

        An admin mints one for another member with ``user_id`` and the scope ``org:write``, to hand over: it does
        what that member's role may, in this organization only, and does not end with the token of this request, but
        with the membership.

        Needs the scope ``tokens:write``.

        Errors of its own: ``invalid_duration``, ``timeout_too_long``, ``quota_exceeded``, ``member_not_found``.
        """
        return await self._http.json(
            Request(
                "POST",
                "/v1/auth/tokens",
                json={
                    "name": name,
                    "expires_in": expires_in,
                    "scopes": scopes,
                    "user_id": user_id,
                    "bound": bound,
                },
                creates=True,
                key=idempotency_key,
            ),
            TokenCreated,
        )

    async def list(self) -> AsyncIterator[Token]:
        """List tokens. The tokens of the organization, newest first, without their secrets.

        Needs the scope ``tokens:read``.
        """
        pages = every_item(lambda cursor: self.page(cursor=cursor))
        async for item in pages:
            yield item

    async def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Token]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request("GET", "/v1/auth/tokens", query={"limit": limit, "cursor": cursor}),
            TokenList,
        )
        return Page(found["items"], found["next_cursor"])

    async def revoke(self, id: str) -> None:
        """Revoke a token. All that it minted for its own user end with it: the next request with any of them is
        refused.

        Needs the scope ``tokens:write``.

        Errors of its own: ``token_not_found``.
        """
        await self._http.done(Request("DELETE", f"/v1/auth/tokens/{segment(id)}"))
