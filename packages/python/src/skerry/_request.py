"""One call of the API, and when it is sent again."""

from __future__ import annotations

import json
import random
import re
import uuid
from dataclasses import dataclass, field, replace
from typing import Dict, Iterable, Mapping, Optional, Union

from .errors import SkerryApiError, SkerryConnectionError, SkerryError, SkerryInputError

RETRIES_DEFAULT = 2

#: For calls that do little: no answer after this many seconds is a fault. So is a silence of this length within an answer; the server
#: breaks its own silence every 15 s.
ANSWER_WITHIN_S = 60.0
#: A first use of a template freezes it, which takes as long as a cold boot. The server itself gives up before this.
CREATE_WITHIN_S = 240.0
#: How long a program that has given a creation up waits for what comes of it.
SETTLE_WITHIN_S = 60.0
#: A tree is removed, or moved to another file system, within this or not at all.
TREE_WITHIN_S = 180.0
#: The longest grace of a machine, and what comes after it.
STOP_WITHIN_S = 360.0

_FIRST_PAUSE_S = 0.25
#: A server that asks for more patience than this is obeyed by the caller, not by us.
_RETRY_AFTER_MAX_S = 10.0

#: Refusals that say nothing about the request.
_PASSING = frozenset(
    (
        "database_unavailable",
        "host_unavailable",
        "host_draining",
        "idempotency_in_progress",
        "rate_limited",
        "shutting_down",
    )
)

QueryValue = Union[str, int, bool, None]


@dataclass(frozen=True)
class Request:
    method: str
    #: Below the base address, already percent-encoded.
    path: str
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Sent as JSON, without the fields that are None unless they say something.
    json: Optional[Mapping[str, object]] = None
    sends_none: bool = False
    #: It creates something: it gets an `Idempotency-Key`, so that sending it twice still creates one.
    creates: bool = False
    #: That key; None: a random one.
    key: Optional[str] = None
    #: How long the server may take to begin its answer, in seconds; None where only the caller can know.
    answer_within_s: Optional[float] = ANSWER_WITHIN_S

    def with_key(self) -> Request:
        """With the same key for every try."""
        if not self.creates:
            return self
        key = str(uuid.uuid4()) if self.key is None else self.key
        if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
            raise SkerryInputError(
                "The idempotency key is empty, too long, or holds spaces or characters outside ASCII.",
                remediation="Give 1 to 255 printable ASCII characters, such as a random UUID.",
            )
        return replace(self, headers={"idempotency-key": key, **self.headers})

    def body(self) -> Optional[bytes]:
        if self.json is None:
            return None
        named = {name: value for name, value in self.json.items() if value is not None or self.sends_none}
        return json.dumps(named, default=_plain).encode()

    def query_texts(self) -> Dict[str, str]:
        texts = {True: "true", False: "false"}
        return {
            name: texts[value] if isinstance(value, bool) else str(value)
            for name, value in self.query.items()
            if value is not None
        }


def _plain(value: object) -> object:
    """What is no dictionary and no list but can be read like one, as JSON takes it."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return list(value)
    raise SkerryInputError(
        f"A {type(value).__name__} cannot be sent as JSON.",
        remediation="Give text, numbers, booleans, and lists and dictionaries of them.",
    )


def vm_filter(
    *,
    status: Optional[str],
    template: Optional[str],
    alive: Optional[bool],
    metadata: Optional[Mapping[str, str]],
    host: Optional[str],
    owner: Optional[str],
    q: Optional[str],
    created_after: Optional[str],
) -> Dict[str, QueryValue]:
    """What lists of sandboxes and of machines are filtered by."""
    labels = {f"metadata.{key}": value for key, value in (metadata or {}).items()}
    fields: Dict[str, QueryValue] = {"status": status, "template": template, "alive": alive}
    return {**fields, "host": host, "owner": owner, "q": q, "created_after": created_after, **labels}


def is_passing(error: SkerryError) -> bool:
    """The connection was lost, or a server or a host is being restarted, or the microVM moves."""
    if isinstance(error, SkerryApiError):
        return error.code in ("database_unavailable", "host_unavailable", "host_draining", "shutting_down", "vm_moving")
    return isinstance(error, SkerryConnectionError)


def pause_before_retry(request: Request, error: SkerryError, attempt: int) -> Optional[float]:
    """In seconds; None where the call must not, or should not, be sent again. Only where a second one changes nothing that the first one
    has not, and only after failures that pass by themselves. A call that was too slow is not repeated: a caller that waited that long
    should decide."""
    if request.method not in ("GET", "DELETE") and not request.creates:
        return None
    # Half of it by chance, so that clients that failed together do not come back together.
    backoff_s = _FIRST_PAUSE_S * 2 ** (attempt - 1) * (0.5 + random.random() / 2)
    if isinstance(error, SkerryConnectionError):
        return backoff_s if error.broke else None
    if not isinstance(error, SkerryApiError) or error.code not in _PASSING:
        return None
    retry_after_s = error.retry_after_s or 0.0
    return None if retry_after_s > _RETRY_AFTER_MAX_S else max(backoff_s, retry_after_s)
