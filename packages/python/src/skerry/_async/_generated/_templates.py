"""Templates. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import List, Sequence, Union

from ..._paths import segment
from ..._request import Request
from ...types import Template, TemplateList, TemplateStatus
from .._http import AsyncHttp
from .._wait import WAIT_S, wait_for_status


class AsyncGeneratedTemplates:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> List[Template]:
        """List templates. What sandboxes and machines are made of: the built-in templates, and then the organization's
        own versions, newest first.

        Needs the scope ``templates:read``.
        """
        found = await self._http.json(Request("GET", "/v1/templates"), TemplateList)
        return found["items"]

    async def get(self, template: str) -> Template:
        """Get a template. By name, ``NAME:TAG``, ``NAME@DIGEST`` or id. A name alone means the tag ``latest``.

        Needs the scope ``templates:read``.

        Errors of its own: ``template_not_found``.
        """
        return await self._http.json(Request("GET", f"/v1/templates/{segment(template)}"), Template)

    async def prepare(self, template: str) -> Template:
        """Prepare a template. Has every host that is online make the image of a built-in template now, also where it
        is made on demand or its last attempt failed. The template says how that goes.

        Needs the scope ``hosts:write``.

        Errors of its own: ``template_not_found``, ``host_unavailable``, ``host_draining``.
        """
        return await self._http.json(Request("POST", f"/v1/templates/{segment(template)}/prepare"), Template)

    async def delete(self, template: str) -> None:
        """Delete a template. A version of the organization's own, with all its tags. Templates that were built on it
        stay; what was made of it has to be destroyed first.

        Needs the scope ``templates:write``.

        Errors of its own: ``template_not_found``, ``template_in_use``.
        """
        await self._http.done(Request("DELETE", f"/v1/templates/{segment(template)}"))

    async def tag(self, name: str, tag: str, *, template: str) -> Template:
        """Tag a template. Has a tag of a name mean another version of that name. What runs already stays what it is. A
        version has at most 100 tags.

        Needs the scope ``templates:write``.

        Errors of its own: ``template_not_found``, ``too_many_tags``.
        """
        return await self._http.json(
            Request(
                "PUT",
                f"/v1/templates/{segment(name)}/tags/{segment(tag)}",
                json={"template": template},
            ),
            Template,
        )

    async def untag(self, name: str, tag: str) -> None:
        """Remove a tag of a template. The version that it meant stays, also where it has no tag any more: its id finds
        it.

        Needs the scope ``templates:write``.

        Errors of its own: ``template_not_found``.
        """
        await self._http.done(Request("DELETE", f"/v1/templates/{segment(name)}/tags/{segment(tag)}"))

    async def wait(
        self, template: str, until: Union[TemplateStatus, Sequence[TemplateStatus]], *, timeout_s: float = WAIT_S
    ) -> Template:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return await wait_for_status("template", self.get, template, until, timeout_s)
