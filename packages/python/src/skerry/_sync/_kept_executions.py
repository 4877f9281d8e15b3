# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""Commands whose output outlives their sandbox."""

from __future__ import annotations

from typing import Literal, Optional

from .._paths import segment
from .._request import Request
from ..types import KeptOutput
from ._generated._executions import GeneratedExecutions


class KeptExecutions(GeneratedExecutions):
    """Commands that were started with ``keep_output`` or ``destroy_sandbox``: while they run, and for a day after their end."""

    def get(self, id: str, *, encoding: Optional[Literal["utf8", "base64"]] = None) -> KeptOutput:
        """With its output. Code ``execution_not_found`` where there is none, or where it ended long ago. ``encoding="base64"``: ``stdout`` and
        ``stderr`` are the exact bytes."""
        request = Request("GET", f"/v1/executions/{segment(id)}", query={"encoding": encoding})
        return self._http.json(request, KeptOutput)
