"""Waits for the status of a resource."""

from __future__ import annotations

import asyncio
import time
from typing import Awaitable, Callable, Mapping, Optional, Sequence, TypeVar, Union, cast

from ..errors import SkerryStatusError

Resource = TypeVar("Resource")

#: Statuses that a resource does not leave by itself.
_ENDED = frozenset(("canceled", "destroyed", "failed"))

_FIRST_PAUSE_S = 0.25
_PAUSE_MAX_S = 2.0


async def wait_for_status(
    read: Callable[[], Awaitable[Resource]], until: Union[str, Sequence[str]], timeout_s: Optional[float]
) -> Resource:
    """Reads it again and again, at most every two seconds."""
    wanted = (until,) if isinstance(until, str) else tuple(until)
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        resource = await read()
        status = _status_of(resource)
        if status in wanted:
            return resource
        if status in _ENDED or (deadline is not None and time.monotonic() > deadline):
            raise SkerryStatusError(status, wanted, is_over=status in _ENDED)
        await asyncio.sleep(pause_s)
        pause_s = min(_PAUSE_MAX_S, pause_s * 1.5)


def _status_of(resource: object) -> str:
    """A sandbox in hand has its fields in ``info``."""
    fields = getattr(resource, "info", resource)
    return str(cast(Mapping[str, object], fields)["status"])
