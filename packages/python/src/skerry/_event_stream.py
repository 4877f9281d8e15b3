"""Server-sent events, as the HTML standard defines them, from chunks that may be cut anywhere; and what they say of a command."""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
from typing import Dict, Iterator, List, NamedTuple, Optional, cast

from .errors import SkerryApiError, error_of_body
from .events import (
    ChangedEvent,
    DroppedEvent,
    ExecuteEvent,
    ExitEvent,
    FollowedChange,
    FollowEvent,
    OutputEvent,
    ResetEvent,
    SyncedEvent,
)
from .types import FileEvent

#: Longest event, in characters. A chunk of output is at most 64 KiB before base64; the rest is room.
EVENT_MAX_CHARS = 4 * 1024 * 1024

_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class EventStreamError(ValueError):
    """The stream is not what it should be; nothing that follows can be trusted."""


class ServerEvent(NamedTuple):
    #: ``message`` where the stream names none.
    event: str
    data: str
    #: Its number, where it has one.
    id: Optional[str] = None

    def json(self) -> Dict[str, object]:
        try:
            value = json.loads(self.data)
        except (ValueError, RecursionError):
            raise EventStreamError("an event that is not JSON") from None
        if not isinstance(value, dict):
            raise EventStreamError("an event that is no object")
        return value

    def error(self) -> SkerryApiError:
        """Of an event ``error``."""
        found = error_of_body(self.json(), None)
        if found is None:
            raise EventStreamError("an error without a code")
        return found

    def line(self) -> str:
        """Of an event ``line``."""
        line = self.json().get("line")
        if not isinstance(line, str):
            raise EventStreamError("a line without text")
        return line

    def file_event(self) -> Optional[FileEvent]:
        """None for what only tells that the connection lives. Raises what an event ``error`` says."""
        if self.event == "error":
            raise self.error()
        told = self.json()
        # The server's word for it; the client does not validate.
        return cast(FileEvent, told) if isinstance(told.get("path"), str) else None

    def change(self) -> Optional[FollowedChange]:
        """None for events that a newer server may add. Raises what an event ``error`` says."""
        if self.event == "error":
            raise self.error()
        told = self.json()
        # The server's word for it; the client does not validate.
        if self.event == "synced":
            return cast(SyncedEvent, {**told, "type": "synced"})
        if self.event == "reset":
            return cast(ResetEvent, {**told, "type": "reset"})
        if self.id is None or "resource" not in told:
            return None
        return cast(ChangedEvent, {**told, "type": "changed", "cursor": self.id})

    def execute_event(self) -> Optional[ExecuteEvent]:
        """None for events that a newer server may add. Raises what an event ``error`` says."""
        if self.event == "stdout":
            return OutputEvent(type="stdout", data=self._bytes())
        if self.event == "stderr":
            return OutputEvent(type="stderr", data=self._bytes())
        if self.event == "exit":
            # The server's word for it; the client does not validate.
            return cast(ExitEvent, {**self.json(), "type": "exit"})
        if self.event == "error":
            raise self.error()
        return None

    def follow_event(self) -> Optional[FollowEvent]:
        """None for what only tells that the connection lives, and for events that a newer server may add."""
        position = self._position()
        if self.event == "dropped":
            told = self.json()
            return cast(DroppedEvent, {**told, "type": "dropped", "position": position})
        read = self.execute_event()
        return None if read is None else cast(FollowEvent, {**read, "position": position})

    def execution(self) -> Optional[str]:
        """The id in an event ``start``."""
        id = self.json().get("id")
        return id if isinstance(id, str) else None

    def number(self) -> Optional[int]:
        return int(self.id) if self.id is not None and re.fullmatch("[0-9]{1,16}", self.id) else None

    def _position(self) -> int:
        number = self.number()
        if number is not None:
            return number
        if self.event in ("stdout", "stderr", "dropped", "exit"):
            raise EventStreamError("output without a position")
        return 0

    def _bytes(self) -> bytes:
        data = self.json().get("data")
        if not isinstance(data, str):
            raise EventStreamError("output without data")
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise EventStreamError("output that is not base64") from None


class EventReader:
    """Give it the chunks; it gives the events. One that the end of the stream cuts off is dropped, as the standard says."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished: List[str] = []
        self._unfinished_chars = 0
        #: The text so far ended with a carriage return; a line feed that comes next belongs to it.
        self._ended_in_cr = False
        self._event = ""
        self._data: List[str] = []
        self._id: Optional[str] = None
        self._chars = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        for line in self._lines(self._decoder.decode(chunk)):
            event = self._take(line)
            if event is not None:
                yield event

    def _lines(self, text: str) -> Iterator[str]:
        if text == "":
            return
        start = 1 if self._ended_in_cr and text.startswith("\n") else 0
        self._ended_in_cr = text.endswith("\r")
        for found in _LINE_BREAK.finditer(text, start):
            line = "".join((*self._unfinished, text[start : found.start()]))
            self._unfinished, self._unfinished_chars = [], 0
            start = found.end()
            yield line
        if start < len(text):
            self._unfinished.append(text[start:])
            self._unfinished_chars += len(text) - start
        if self._unfinished_chars > EVENT_MAX_CHARS:
            raise EventStreamError("a line is too long")

    def _take(self, line: str) -> Optional[ServerEvent]:
        """Takes one line; the empty line that ends an event returns it."""
        if line == "":
            return self._finish()
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        self._chars += len(line)
        if self._chars > EVENT_MAX_CHARS:
            raise EventStreamError("an event is too long")
        return None

    def _finish(self) -> Optional[ServerEvent]:
        finished = ServerEvent(self._event or "message", "\n".join(self._data), self._id) if self._data else None
        self._event, self._data, self._id, self._chars = "", [], None, 0
        return finished
