# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""Commands whose output comes as it is written: each is an execution, which is followed again where a connection breaks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Generator, Dict, Mapping, Optional, cast

from .._event_stream import EventReader, EventStreamError
from .._request import Request, is_passing
from ..errors import SkerryApiError, SkerryConnectionError, SkerryError
from ..events import ExecuteEvent
from ._executions import Executions
from ._http import Http

#: How long a command lives without its client, and how long the client tries to come back.
_REATTACH_S = 60.0
#: For the call that kills what its caller has left.
_KILL_WITHIN_S = 5.0


@dataclass
class _Reached:
    """How far the stream has come."""

    execution: Optional[str] = None
    #: None where the server numbers no events.
    position: Optional[int] = 0
    #: Its exit has come, or it is not ours to end.
    is_over: bool = False


class Commands:
    """``vm``: its path of the API."""

    def __init__(self, http: Http, vm: str) -> None:
        self._http = http
        self._path = f"{vm}/execute"
        self._executions = Executions(http, vm)

    def run(self, fields: Mapping[str, object]) -> Generator[ExecuteEvent, None, None]:
        """Its caller leaves: the command is killed."""
        reached = _Reached()
        process = os.getpid()
        try:
            events = self._connected(fields, reached)
            try:
                for event in events:
                    yield event
            finally:
                events.close()
        except (SkerryApiError, SkerryConnectionError) as error:
            # The server has ended it, or will.
            reached.is_over = reached.is_over or isinstance(error, SkerryApiError)
            raise
        finally:
            # A process that was forked has the generator too, and the command is not its own.
            if not reached.is_over and reached.execution is not None and os.getpid() == process:
                self._kill(reached.execution)

    def _connected(
        self, fields: Mapping[str, object], reached: _Reached
    ) -> Generator[ExecuteEvent, None, None]:
        first = self._first_connection(fields, reached)
        try:
            for event in first:
                yield event
            return
        except (SkerryApiError, SkerryConnectionError) as error:
            if reached.execution is None or reached.position is None or reached.is_over or not is_passing(error):
                raise
            # Without its first connection it gets no more input, and would wait for the rest.
            if fields.get("stdin") is not None and (self._executions.reach(reached.execution, _REATTACH_S))["stdin"]:
                raise
        finally:
            first.close()
        rest = self._rest(reached.execution, reached)
        try:
            for event in rest:
                yield event
        finally:
            rest.close()

    def _first_connection(
        self, fields: Mapping[str, object], reached: _Reached
    ) -> Generator[ExecuteEvent, None, None]:
        json: Dict[str, object] = {**fields, "reattach": f"{_REATTACH_S:.0f}s"}
        request = Request("POST", self._path, headers={"accept": "text/event-stream"}, json=json)
        chunks = self._http.chunks(self._http.open(request))
        reader = EventReader()
        try:
            # Read to the end, past `exit`, so that the connection can serve the next call.
            for chunk in chunks:
                for event in reader.feed(chunk):
                    if event.event == "start":
                        reached.execution = event.execution()
                    read = None if reached.is_over else event.execute_event()
                    if read is None:
                        continue
                    reached.is_over = read["type"] == "exit"
                    reached.position = event.number()
                    yield read
        except EventStreamError as error:
            raise self._http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
        finally:
            chunks.close()
        if not reached.is_over:
            base_url = self._http.base_url
            raise SkerryConnectionError(f"The connection to {base_url} ended before the command did.", base_url=base_url)

    def _rest(self, execution: str, reached: _Reached) -> Generator[ExecuteEvent, None, None]:
        """From where the first connection has ended. A server keeps for a client that comes back what it has not got."""
        events = self._executions.follow(execution, reached.position, True, _REATTACH_S)
        try:
            for event in events:
                if event["type"] == "dropped":
                    base_url = self._http.base_url
                    lost = f"{event['to'] - event['from']} bytes of output were dropped while there was no connection to {base_url}."
                    raise SkerryConnectionError(lost, base_url=base_url)
                reached.is_over = event["type"] == "exit"
                yield cast(ExecuteEvent, {name: value for name, value in event.items() if name != "position"})
        finally:
            events.close()

    def _kill(self, execution: str) -> None:
        try:
            self._executions.kill(execution, "KILL", within_s=_KILL_WITHIN_S)
        except (SkerryError, RuntimeError):
            # It ends when the time to come back is over. RuntimeError: its client was closed.
            pass
