"""Commands that run on when their reader goes: one microVM's."""

from __future__ import annotations

import asyncio
import time as clock
from typing import AsyncGenerator, List, Mapping, Optional, Union

from .._event_stream import EventReader, EventStreamError
from .._page import Page
from .._paths import segment
from .._request import ANSWER_WITHIN_S, Request, is_passing
from ..errors import SkerryApiError, SkerryConnectionError
from ..events import FollowEvent
from ..types import Execution, ExecutionList, KillRequestSignal
from ._http import AsyncHttp

_AGAIN_S = 0.5


class AsyncExecutions:
    """``vm``: its path of the API."""

    def __init__(self, http: AsyncHttp, vm: str) -> None:
        self._http = http
        self._path = f"{vm}/executions"

    def _at(self, execution: str) -> str:
        return f"{self._path}/{segment(execution)}"

    async def start(self, fields: Mapping[str, object], key: Optional[str]) -> Execution:
        return await self._http.json(Request("POST", self._path, json=fields, creates=True, key=key), Execution)

    async def page(self, limit: Optional[int], cursor: Optional[str]) -> Page[Execution]:
        request = Request("GET", self._path, query={"limit": limit, "cursor": cursor})
        found = await self._http.json(request, ExecutionList)
        return Page(found["items"], found["next_cursor"])

    async def get(self, execution: str) -> Execution:
        return await self._http.json(Request("GET", self._at(execution)), Execution)

    async def reach(self, execution: str, reconnect_s: float) -> Execution:
        """The same, asked for again until a server that was restarted, or a connection that was lost, is there."""
        end_s = clock.monotonic() + reconnect_s
        while True:
            try:
                return await self.get(execution)
            except (SkerryApiError, SkerryConnectionError) as error:
                if not is_passing(error) or clock.monotonic() + _AGAIN_S > end_s:
                    raise
            await asyncio.sleep(_AGAIN_S)

    async def kill(
        self, execution: str, signal: Optional[KillRequestSignal], *, within_s: float = ANSWER_WITHIN_S
    ) -> Execution:
        request = Request(
            "POST", f"{self._at(execution)}/kill", json={"signal": signal}, answer_within_s=within_s
        )
        return await self._http.json(request, Execution)

    async def send(self, execution: str, stdin: Union[str, bytes], end: bool) -> None:
        content = stdin.encode() if isinstance(stdin, str) else bytes(stdin)
        request = Request(
            "POST",
            f"{self._at(execution)}/stdin",
            query={"end": end},
            headers={"content-type": "application/octet-stream"},
            # As long as the command does not read.
            answer_within_s=None,
        )
        await self._http.done(request, content=content)

    async def follow(
        self, execution: str, after: Optional[int], hold: bool, reconnect_s: float
    ) -> AsyncGenerator[FollowEvent, None]:
        """A connection that breaks is made again, and goes on where it was."""
        reached = after
        lost_s: Optional[float] = None
        while True:
            opened: List[float] = []
            events = self._follow_once(execution, reached, hold, opened)
            try:
                async for event in events:
                    lost_s = None
                    reached = event["position"]
                    yield event
                    if event["type"] == "exit":
                        return
            except (SkerryApiError, SkerryConnectionError) as error:
                now_s = clock.monotonic()
                # A connection that has held was there again, also where the command wrote nothing.
                if lost_s is None or any(now_s - since_s > _AGAIN_S for since_s in opened):
                    lost_s = now_s
                if not is_passing(error) or now_s - lost_s + _AGAIN_S > reconnect_s:
                    raise
            finally:
                await events.aclose()
            await asyncio.sleep(_AGAIN_S)

    async def _follow_once(
        self, execution: str, after: Optional[int], hold: bool, opened: List[float]
    ) -> AsyncGenerator[FollowEvent, None]:
        """Adds to ``opened`` when the connection is there."""
        query = {"after": after, "hold": hold}
        headers = {"accept": "text/event-stream"}
        request = Request("GET", f"{self._at(execution)}/stream", query=query, headers=headers)
        chunks = self._http.chunks(await self._http.open(request))
        opened.append(clock.monotonic())
        reader = EventReader()
        try:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    read = event.follow_event()
                    if read is not None:
                        yield read
        except EventStreamError as error:
            raise self._http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
        finally:
            await chunks.aclose()
        base_url = self._http.base_url
        raise SkerryConnectionError(f"The connection to {base_url} ended before the command did.", base_url=base_url)
