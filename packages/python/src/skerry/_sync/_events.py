# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""What changes in the organization, across broken connections and servers that are restarted."""

from __future__ import annotations

import time
import random
from typing import Generator, Optional, Sequence

from .._event_stream import EventReader, EventStreamError
from .._request import Request
from ..errors import SkerryApiError, SkerryConnectionError, SkerryError
from ..events import FollowedChange
from ._http import Http

FIRST_PAUSE_S = 0.25
PAUSE_MAX_S = 30.0

_PASSING = frozenset(("database_unavailable", "internal", "rate_limited", "shutting_down", "too_many_streams"))


def follow_events(
    http: Http, after: Optional[str], kinds: Optional[Sequence[str]]
) -> Generator[FollowedChange, None, None]:
    """Ends with an error that does not pass by itself, or when its reader leaves."""
    cursor = after
    failures = 0
    while True:
        changes = _stream_once(http, cursor, kinds)
        try:
            for change in changes:
                cursor = change["cursor"]
                failures = 0
                yield change
        except SkerryError as error:
            if not _is_passing(error):
                raise
        finally:
            changes.close()
        failures += 1
        # Half of it by chance, so that clients that failed together do not come back together.
        pause_s = min(PAUSE_MAX_S, FIRST_PAUSE_S * 2 ** min(failures, 10))
        time.sleep(pause_s * (0.5 + random.random() / 2))


def _stream_once(
    http: Http, after: Optional[str], kinds: Optional[Sequence[str]]
) -> Generator[FollowedChange, None, None]:
    query = {"after": after, "kind": None if kinds is None else ",".join(kinds)}
    request = Request("GET", "/v1/events", query=query, headers={"accept": "text/event-stream"})
    chunks = http.chunks(http.open(request))
    reader = EventReader()
    try:
        for chunk in chunks:
            for event in reader.feed(chunk):
                change = event.change()
                if change is not None:
                    yield change
    except EventStreamError as error:
        raise http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
    finally:
        chunks.close()


def _is_passing(error: SkerryError) -> bool:
    if isinstance(error, SkerryConnectionError):
        return True
    return isinstance(error, SkerryApiError) and error.code in _PASSING
