"""Organizations. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import AsyncIterator, Mapping, Optional, cast

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import (
    EgressMode,
    LimitsChangeRequest,
    Member,
    MemberAdded,
    MemberList,
    Organization,
    OrganizationLimits,
    OrganizationList,
    Role,
)
from .._http import AsyncHttp
from .._streams import every_item


class AsyncOrganizations:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(
        self, *, name: str, egress_default: Optional[EgressMode] = None, idempotency_key: Optional[str] = None
    ) -> Organization:
        """Create an organization. You are its first owner.

        Only tokens of the operator's organization, the first one of an installation, can have the scope.

        Needs the scope ``platform:write``.
        """
        return await self._http.json(
            Request(
                "POST",
                "/v1/orgs",
                json={"name": name, "egress_default": egress_default},
                creates=True,
                key=idempotency_key,
            ),
            Organization,
        )

    async def list(self) -> AsyncIterator[Organization]:
        """List organizations. Those that you are a member of, newest first.

        Needs the scope ``org:read``.
        """
        pages = every_item(lambda cursor: self.page(cursor=cursor))
        async for item in pages:
            yield item

    async def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Organization]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request("GET", "/v1/orgs", query={"limit": limit, "cursor": cursor}),
            OrganizationList,
        )
        return Page(found["items"], found["next_cursor"])

    async def get(self, id: str) -> Organization:
        """Get an organization.

        Needs the scope ``org:read``.
        """
        return await self._http.json(Request("GET", f"/v1/orgs/{segment(id)}"), Organization)

    async def update(
        self,
        id: str,
        *,
        name: Optional[str] = None,
        egress_default: Optional[EgressMode] = None,
        audit_details: Optional[bool] = None,
    ) -> Organization:
        """Change an organization. What is not named stays.

        Needs the scope ``org:write``.
        """
        return await self._http.json(
            Request(
                "PATCH",
                f"/v1/orgs/{segment(id)}",
                json={
                    "name": name,
                    "egress_default": egress_default,
                    "audit_details": audit_details,
                },
            ),
            Organization,
        )

    async def delete(self, id: str) -> None:
        """Delete an organization. Its sandboxes and machines must be destroyed before. Its tokens end, and its members
        are members no more; its audit log is kept. An owner may, and the operator of the platform with the scope
        ``platform:write``. The operator's own organization cannot be deleted.

        Needs the scope ``org:write``.

        Errors of its own: ``organization_not_empty``, ``operator_organization``.
        """
        await self._http.done(Request("DELETE", f"/v1/orgs/{segment(id)}"))

    async def members(self, id: str) -> AsyncIterator[Member]:
        """List members. The members of an organization, newest users first.

        Needs the scope ``org:read``.
        """
        pages = every_item(lambda cursor: self.members_page(id, cursor=cursor))
        async for item in pages:
            yield item

    async def members_page(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Member]:
        """Reads one page of ``members``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = await self._http.json(
            Request(
                "GET",
                f"/v1/orgs/{segment(id)}/members",
                query={"limit": limit, "cursor": cursor},
            ),
            MemberList,
        )
        return Page(found["items"], found["next_cursor"])

    async def add_member(
        self,
        id: str,
        *,
        role: Role,
        name: Optional[str] = None,
        email: Optional[str] = None,
        user_id: Optional[str] = None,
        expires_in: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> MemberAdded:
        """Add a member. New or known. The answer has a first token to hand over.

        Needs the scope ``org:write``.

        Errors of its own: ``invalid_duration``, ``timeout_too_long``, ``user_not_found``, ``already_member``,
        ``quota_exceeded``.
        """
        return await self._http.json(
            Request(
                "POST",
                f"/v1/orgs/{segment(id)}/members",
                json={
                    "name": name,
                    "email": email,
                    "user_id": user_id,
                    "role": role,
                    "expires_in": expires_in,
                },
                creates=True,
                key=idempotency_key,
            ),
            MemberAdded,
        )

    async def update_member(self, id: str, user_id: str, *, role: Role) -> Member:
        """Change the role of a member.

        Needs the scope ``org:write``.

        Errors of its own: ``member_not_found``, ``last_owner``.
        """
        return await self._http.json(
            Request(
                "PATCH",
                f"/v1/orgs/{segment(id)}/members/{segment(user_id)}",
                json={"role": role},
            ),
            Member,
        )

    async def remove_member(self, id: str, user_id: str) -> None:
        """Remove a member. The member's tokens in this organization end.

        Needs the scope ``org:write``.

        Errors of its own: ``member_not_found``, ``last_owner``.
        """
        await self._http.done(Request("DELETE", f"/v1/orgs/{segment(id)}/members/{segment(user_id)}"))

    async def limits(self, id: str) -> OrganizationLimits:
        """Show the limits of one organization. As the operator: its limits, what of them is taken, and what was set
        for it.

        Only tokens of the operator's organization, the first one of an installation, can have the scope.

        Needs the scope ``platform:write``.
        """
        return await self._http.json(Request("GET", f"/v1/orgs/{segment(id)}/limits"), OrganizationLimits)

    async def set_limits(self, id: str, changes: LimitsChangeRequest) -> OrganizationLimits:
        """Change the limits of one organization. As the operator: what it may do and hold. What is not named stays.

        It counts from the next request on. What the organization holds already it keeps, also where that is more
        than a quota then allows. Only tokens of the operator's organization, the first one of an installation, can
        have the scope.

        Needs the scope ``platform:write``.
        """
        return await self._http.json(
            Request(
                "PATCH",
                f"/v1/orgs/{segment(id)}/limits",
                json=cast(Mapping[str, object], changes),
                sends_none=True,
            ),
            OrganizationLimits,
        )
