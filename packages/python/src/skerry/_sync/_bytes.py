# Made of ../_async by setup/write-python-client.ts. Do not edit.
"""Bytes of an answer as they come."""

from __future__ import annotations

from typing import Generator

from .._request import Request
from ._http import Http


def bytes_at(http: Http, path: str) -> Generator[bytes, None, None]:
    request = Request("GET", path, headers={"accept": "application/octet-stream"})
    chunks = http.chunks(http.open(request))
    try:
        for chunk in chunks:
            yield chunk
    finally:
        chunks.close()
