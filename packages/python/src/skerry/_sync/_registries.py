# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""Credentials of registries: what builds log in with when they pull images."""

from __future__ import annotations

from typing import List

from .._paths import segment
from .._request import Request
from ..types import RegistryCredential, RegistryCredentialList
from ._http import Http


class Registries:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> List[RegistryCredential]:
        """By host, without their passwords."""
        return (self._http.json(Request("GET", "/v1/registry-credentials"), RegistryCredentialList))["items"]

    def set(self, host: str, *, username: str, password: str) -> RegistryCredential:
        """``host`` is the registry as references name it, in lower case and with its port. Needs an admin."""
        request = Request("PUT", _path(host), json={"username": username, "password": password})
        return self._http.json(request, RegistryCredential)

    def delete(self, host: str) -> None:
        """Code ``registry_credential_not_found`` where there are none."""
        self._http.done(Request("DELETE", _path(host)))


def _path(host: str) -> str:
    return f"/v1/registry-credentials/{segment(host)}"
