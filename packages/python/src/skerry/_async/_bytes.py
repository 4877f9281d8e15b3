"""Bytes of an answer as they come."""

from __future__ import annotations

from typing import AsyncGenerator, Mapping, Optional

from .._request import QueryValue, Request
from ._http import AsyncHttp


async def bytes_at(
    http: AsyncHttp, path: str, query: Optional[Mapping[str, QueryValue]] = None
) -> AsyncGenerator[bytes, None]:
    request = Request("GET", path, query=query or {}, headers={"accept": "application/octet-stream"})
    chunks = http.chunks(await http.open(request))
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        await chunks.aclose()
