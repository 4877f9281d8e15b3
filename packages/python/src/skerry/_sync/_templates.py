# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""What microVMs are made of, and the sizes that they come in."""

from __future__ import annotations

from typing import List, Mapping, Optional

from .._paths import segment
from .._request import Request
from ..types import Build, BuildRequest, Size, SizeList, Template, TemplateList, TemplatePushRequest
from ._builds import Builds
from ._content import UploadContent
from ._http import Http


class Templates:
    def __init__(self, http: Http) -> None:
        self._http = http
        self._builds = Builds(http)

    def list(self) -> List[Template]:
        """The built-in ones, and then the organization's own, newest first."""
        return (self._http.json(Request("GET", "/v1/templates"), TemplateList))["items"]

    def get(self, name_or_id: str) -> Template:
        """By name, ``NAME:TAG`` or id. Code ``template_not_found`` where there is none."""
        return self._http.json(Request("GET", f"/v1/templates/{segment(name_or_id)}"), Template)

    def begin_build(self, request: BuildRequest) -> Build:
        """Begins a build, and returns as soon as there is one; ``builds`` says how far it is."""
        return self._http.json(Request("POST", "/v1/templates", json=request, creates=True), Build)

    def build(
        self,
        request: BuildRequest,
        *,
        context: Optional[UploadContent] = None,
        secrets: Optional[Mapping[str, str]] = None,
    ) -> Build:
        """Builds a template, and returns when the build has ended: ``status`` is ``ready``, ``failed`` or ``canceled``.

        ``context``: what ``copy`` and a Dockerfile read, or the image of ``archive``: a tar archive that is not compressed. To see the log meanwhile, call ``begin_build`` and
        ``builds.follow_log``. ``secrets``: values for ``RUN --mount=type=secret,id=NAME`` of a Dockerfile, by their names.
        """
        wanted = request.copy()
        if context is not None:
            wanted["context"] = True
        begun = self.begin_build(wanted)
        # Where nothing has changed, nothing is built, and nothing to be sent.
        if context is None or begun["waits_for_context"]:
            for name, value in (secrets or {}).items():
                self._builds.send_secret(begun["id"], name, value=value)
        if context is not None and begun["waits_for_context"]:
            self._builds.send_context(begun["id"], context)
        return self._until_end(begun)

    def begin_push(self, name_or_id: str, request: TemplatePushRequest) -> Build:
        """Begins a push, and returns as soon as there is its build; ``builds`` says how far it is."""
        path = f"/v1/templates/{segment(name_or_id)}/push"
        return self._http.json(Request("POST", path, json=request, creates=True), Build)

    def push(self, name_or_id: str, request: TemplatePushRequest) -> Build:
        """Pushes a version to a registry as an OCI image, and returns when that has ended: ``status`` is ``ready``, and ``pushed`` has the digest, or it is ``failed`` or ``canceled``."""
        return self._until_end(self.begin_push(name_or_id, request))

    def _until_end(self, begun: Build) -> Build:
        with self._builds.follow_log(begun["id"]) as lines:
            for _ in lines:
                pass
        return self._builds.get(begun["id"])

    def prepare(self, name: str) -> Template:
        """Has hosts make the image of a built-in template now, before anything is made of it. Returns before they have: ``get`` says how it goes."""
        return self._http.json(Request("POST", f"/v1/templates/{segment(name)}/prepare"), Template)

    def tag(self, name: str, tag: str, template: str) -> Template:
        """Has a tag of a name mean another version: its id, or ``NAME:TAG``."""
        request = Request("PUT", f"/v1/templates/{segment(name)}/tags/{segment(tag)}", json={"template": template})
        return self._http.json(request, Template)

    def untag(self, name: str, tag: str) -> None:
        """Has a tag of a name mean nothing any more. The version that it meant stays."""
        self._http.done(Request("DELETE", f"/v1/templates/{segment(name)}/tags/{segment(tag)}"))

    def delete(self, name_or_id: str) -> None:
        """A version, with all its tags. Code ``template_in_use`` where something that was made of it is there."""
        self._http.done(Request("DELETE", f"/v1/templates/{segment(name_or_id)}"))


class Sizes:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> List[Size]:
        """``memory_mib`` is in MiB; ``cpu`` says whether the CPUs are shared with others."""
        return (self._http.json(Request("GET", "/v1/sizes"), SizeList))["items"]
