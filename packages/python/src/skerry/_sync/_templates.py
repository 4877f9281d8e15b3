# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""Templates, which microVMs are made of."""

from __future__ import annotations

from typing import Mapping, Optional

from .._paths import segment
from .._request import Request
from ..types import Build, BuildRequest, TemplatePushRequest
from ._builds import Builds
from ._content import UploadContent
from ._generated._templates import GeneratedTemplates
from ._http import Http


class Templates(GeneratedTemplates):
    def __init__(self, http: Http) -> None:
        super().__init__(http)
        self._builds = Builds(http)

    def begin_build(self, request: BuildRequest, *, idempotency_key: Optional[str] = None) -> Build:
        """Begins a build, and returns as soon as there is one; ``builds`` says how far it is."""
        call = Request("POST", "/v1/templates", json=request, creates=True, key=idempotency_key)
        return self._http.json(call, Build)

    def build(
        self,
        request: BuildRequest,
        *,
        context: Optional[UploadContent] = None,
        secrets: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Build:
        """Builds a template, and returns when the build has ended: ``status`` is ``ready``, ``failed`` or ``canceled``.

        ``context``: what ``copy`` and a Dockerfile read, or the image of ``archive``: a tar archive that is not compressed. To see the log meanwhile, call ``begin_build`` and
        ``builds.follow_log``. ``secrets``: values for ``RUN --mount=type=secret,id=NAME`` of a Dockerfile, by their names.
        """
        wanted = request.copy()
        if context is not None:
            wanted["context"] = True
        begun = self.begin_build(wanted, idempotency_key=idempotency_key)
        # Where nothing has changed, nothing is built, and nothing to be sent.
        if context is None or begun["waits_for_context"]:
            for name, value in (secrets or {}).items():
                self._builds.send_secret(begun["id"], name, value=value)
        if context is not None and begun["waits_for_context"]:
            self._builds.send_context(begun["id"], context)
        return self._until_end(begun)

    def begin_push(
        self, template: str, request: TemplatePushRequest, *, idempotency_key: Optional[str] = None
    ) -> Build:
        """Begins a push, and returns as soon as there is its build; ``builds`` says how far it is."""
        path = f"/v1/templates/{segment(template)}/push"
        call = Request("POST", path, json=request, creates=True, key=idempotency_key)
        return self._http.json(call, Build)

    def push(
        self, template: str, request: TemplatePushRequest, *, idempotency_key: Optional[str] = None
    ) -> Build:
        """Pushes a version to a registry as an OCI image, and returns when that has ended: ``status`` is ``ready``, and ``pushed`` has the digest, or it is ``failed`` or ``canceled``."""
        return self._until_end(self.begin_push(template, request, idempotency_key=idempotency_key))

    def _until_end(self, begun: Build) -> Build:
        with self._builds.follow_log(begun["id"]) as lines:
            for _ in lines:
                pass
        return self._builds.get(begun["id"])
