# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""API tokens of the organization."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import Scope, Token, TokenCreated, TokenList
from ._http import Http
from ._streams import every_item


class Tokens:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(
        self,
        *,
        name: Optional[str] = None,
        expires_in: Optional[str] = None,
        scopes: Optional[Sequence[Scope]] = None,
        user_id: Optional[str] = None,
        bound: Optional[bool] = None,
    ) -> TokenCreated:
        """Mints a token. The secret is in ``token`` of this answer and nowhere else. ``expires_in`` is a duration such as ``24h``; ``scopes`` limits
        what it may do; ``user_id`` says which member's it will be, which takes an admin; ``bound`` keeps it to this
        organization. It can have nothing that your own token has not."""
        json = {"name": name, "expires_in": expires_in, "scopes": scopes, "user_id": user_id, "bound": bound}
        return self._http.json(Request("POST", "/v1/auth/tokens", json=json, creates=True), TokenCreated)

    def list(self) -> Iterator[Token]:
        """Your tokens in the organization, or everybody's where you are an admin; newest first, without their secrets."""
        for token in every_item(lambda cursor: self.page(cursor=cursor)):
            yield token

    def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Token]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", "/v1/auth/tokens", query=query), TokenList)
        return Page(found["items"], found["next_cursor"])

    def revoke(self, id: str) -> None:
        """Ends a token at once."""
        self._http.done(Request("DELETE", f"/v1/auth/tokens/{segment(id)}"))
