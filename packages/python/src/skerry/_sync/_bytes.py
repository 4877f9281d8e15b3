# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""Bytes of an answer as they come."""

from __future__ import annotations

from typing import Generator, Mapping, Optional

from .._request import QueryValue, Request
from ._http import Http


def bytes_at(
    http: Http, path: str, query: Optional[Mapping[str, QueryValue]] = None
) -> Generator[bytes, None, None]:
    request = Request("GET", path, query=query or {}, headers={"accept": "application/octet-stream"})
    chunks = http.chunks(http.open(request))
    try:
        for chunk in chunks:
            yield chunk
    finally:
        chunks.close()
