# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""Organizations and their members. Each call names its organization, also where it is not the client's own."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, cast

from .._page import Page
from .._paths import segment
from .._request import Request
from ..types import (
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
from ._http import Http
from ._streams import every_item


class Organizations:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(self, *, name: str, egress_default: Optional[EgressMode] = None) -> Organization:
        """Makes an organization whose first owner you are. Code ``forbidden`` but for the operator's own organization."""
        json = {"name": name, "egress_default": egress_default}
        return self._http.json(Request("POST", "/v1/orgs", json=json, creates=True), Organization)

    def list(self) -> Iterator[Organization]:
        """Every organization that you are a member of, newest first."""
        for organization in every_item(lambda cursor: self.page(cursor=cursor)):
            yield organization

    def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Organization]:
        """One page of the list: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", "/v1/orgs", query=query), OrganizationList)
        return Page(found["items"], found["next_cursor"])

    def get(self, id: str) -> Organization:
        """Code ``organization_not_found`` where there is none, or where you are not a member."""
        return self._http.json(Request("GET", _at(id)), Organization)

    def update(
        self,
        id: str,
        *,
        name: Optional[str] = None,
        egress_default: Optional[EgressMode] = None,
        audit_details: Optional[bool] = None,
    ) -> Organization:
        """Changes what is named: ``name``; ``egress_default``, the egress mode of sandboxes that ask for none; and ``audit_details``, whether
        the audit log keeps commands and paths."""
        json = {"name": name, "egress_default": egress_default, "audit_details": audit_details}
        return self._http.json(Request("PATCH", _at(id), json=json), Organization)

    def delete(self, id: str) -> None:
        """Deletes an organization, as its owner or as the operator: its tokens end, and its members are members no more. Code
        ``organization_not_empty`` while it has sandboxes or machines."""
        self._http.done(Request("DELETE", _at(id)))

    def limits(self, id: str) -> OrganizationLimits:
        """As the operator: what any organization may do and hold, how much of it is taken, and what was set for it."""
        return self._http.json(Request("GET", f"{_at(id)}/limits"), OrganizationLimits)

    def set_limits(self, id: str, changes: LimitsChangeRequest) -> OrganizationLimits:
        """As the operator: sets what is named, such as ``quota_sandboxes`` or ``rate_read_burst``; None takes the installation's setting again."""
        request = Request("PATCH", f"{_at(id)}/limits", json=cast(Mapping[str, object], changes), sends_none=True)
        return self._http.json(request, OrganizationLimits)

    def members(self, id: str) -> Iterator[Member]:
        """Every member, newest users first."""
        for member in every_item(lambda cursor: self.member_page(id, cursor=cursor)):
            yield member

    def member_page(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Member]:
        """One page of the members: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        query = {"limit": limit, "cursor": cursor}
        found = self._http.json(Request("GET", f"{_at(id)}/members", query=query), MemberList)
        return Page(found["items"], found["next_cursor"])

    def add_member(
        self,
        id: str,
        *,
        role: Role,
        name: Optional[str] = None,
        email: Optional[str] = None,
        user_id: Optional[str] = None,
        expires_in: Optional[str] = None,
    ) -> MemberAdded:
        """Adds a member: new with a ``name``, or known with a ``user_id``. ``token["token"]`` of the answer is a secret for the new member to work
        with, and is shown this once; it has the scopes of your token and ends no later. Where it is not used it ends after ``expires_in`` (default: a week)."""
        json = {"role": role, "name": name, "email": email, "user_id": user_id, "expires_in": expires_in}
        return self._http.json(Request("POST", f"{_at(id)}/members", json=json, creates=True), MemberAdded)

    def set_role(self, id: str, user_id: str, role: Role) -> Member:
        """A member cannot give, change or take a role above their own: code ``forbidden``; the last owner stays: code ``last_owner``."""
        return self._http.json(Request("PATCH", _member(id, user_id), json={"role": role}), Member)

    def remove_member(self, id: str, user_id: str) -> None:
        """The member's tokens in the organization end with it."""
        self._http.done(Request("DELETE", _member(id, user_id)))


def _at(id: str) -> str:
    return f"/v1/orgs/{segment(id)}"


def _member(id: str, user_id: str) -> str:
    return f"{_at(id)}/members/{segment(user_id)}"
