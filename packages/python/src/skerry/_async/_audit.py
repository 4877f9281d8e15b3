"""Who did what in the organization."""

from __future__ import annotations

from typing import Dict, Literal, Optional

from .._request import QueryValue
from ._bytes import bytes_at
from ._generated._audit import AsyncGeneratedAudit
from ._streams import AsyncStream


class AsyncAudit(AsyncGeneratedAudit):
    """Needs the scope ``audit:read`` and the role ``admin``."""

    def export(
        self,
        *,
        format: Optional[Literal["ndjson", "csv"]] = None,
        action: Optional[str] = None,
        resource_id: Optional[str] = None,
        user_id: Optional[str] = None,
        token_id: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
    ) -> AsyncStream[bytes]:
        """All events that fit all of it, as a file of newline-delimited JSON (``ndjson``, the default) or of ``csv``, as fast as it is read. One that
        breaks off is an error."""
        query: Dict[str, QueryValue] = {
            "format": format,
            "action": action,
            "resource_id": resource_id,
            "user_id": user_id,
            "token_id": token_id,
            "since": since,
            "until": until,
        }
        return AsyncStream(bytes_at(self._http, "/v1/audit/export", query))
