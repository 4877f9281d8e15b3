"""Bytes of an answer as they come."""

from __future__ import annotations

from typing import AsyncGenerator

from .._request import Request
from ._http import AsyncHttp


async def bytes_at(http: AsyncHttp, path: str) -> AsyncGenerator[bytes, None]:
    request = Request("GET", path, headers={"accept": "application/octet-stream"})
    chunks = http.chunks(await http.open(request))
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        await chunks.aclose()
