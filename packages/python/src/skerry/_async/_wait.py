"""Waits for the status of a resource."""

from __future__ import annotations

import asyncio
import time
from typing import Awaitable, Callable, Mapping, Sequence, TypeVar, Union, cast

from ..errors import SkerryStatusError

Resource = TypeVar("Resource")

#: Longest wait, in seconds, where the caller says nothing else.
WAIT_S = 600.0

_FIRST_PAUSE_S = 0.25
_PAUSE_MAX_S = 2.0

#: Statuses that stay as they are without a further call, by the kind of the resource.
_ENDED: Mapping[str, Sequence[str]] = {
    "build": ("canceled", "failed", "ready"),
    "move": ("canceled", "done", "failed"),
    "sandbox": ("destroyed", "failed"),
    "snapshot": ("failed",),
    "machine": ("destroyed", "failed"),
}


async def wait_for_status(
    kind: str,
    read: Callable[[str], Awaitable[Resource]],
    id: str,
    until: Union[str, Sequence[str]],
    timeout_s: float,
) -> Resource:
    """Reads it again and again, at most every two seconds; by its id, because names are given anew when a resource has ended."""
    wanted = (until,) if isinstance(until, str) else tuple(until)
    deadline = time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    known = id
    while True:
        resource = await read(known)
        fields = _fields_of(resource)
        status = str(fields["status"])
        if status in wanted:
            return resource
        left_s = deadline - time.monotonic()
        is_over = _has_ended(kind, fields)
        if is_over or left_s <= 0:
            raise SkerryStatusError(resource, status, wanted, is_over=is_over)
        known = str(fields.get("id", known))
        await asyncio.sleep(min(pause_s, left_s))
        pause_s = min(_PAUSE_MAX_S, pause_s * 1.5)


def _has_ended(kind: str, fields: Mapping[str, object]) -> bool:
    # The policy of a machine may start one that has failed again.
    starts_again = fields.get("restart_at") is not None or fields.get("waits_for") is not None
    if kind == "machine" and fields["status"] == "failed" and starts_again:
        return False
    return fields["status"] in _ENDED.get(kind, ())


def _fields_of(resource: object) -> Mapping[str, object]:
    """A sandbox in hand has its fields in ``info``."""
    return cast(Mapping[str, object], getattr(resource, "info", resource))
