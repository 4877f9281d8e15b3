"""What a command has printed, as far as an answer holds it."""

from __future__ import annotations

from typing import List, Optional, cast

from .events import ExecuteEvent
from .types import ExecuteResponse

#: What an answer holds of stdout, and of stderr, in bytes. The rest is dropped and ``truncated`` says so.
OUTPUT_MAX_BYTES = 10 * 1024 * 1024


class _Output:
    def __init__(self) -> None:
        self._parts: List[bytes] = []
        self._room_bytes = OUTPUT_MAX_BYTES
        self.truncated = False

    def push(self, data: bytes) -> None:
        if len(data) > self._room_bytes:
            self.truncated = True
        kept = data[: self._room_bytes]
        self._room_bytes -= len(kept)
        if kept:
            self._parts.append(kept)

    def text(self) -> str:
        return b"".join(self._parts).decode("utf-8", "replace")


class Collected:
    """The events of a command, made into the answer that the API would give."""

    def __init__(self) -> None:
        self._output = {"stdout": _Output(), "stderr": _Output()}

    def push(self, event: ExecuteEvent) -> Optional[ExecuteResponse]:
        """The whole answer, once the command has ended."""
        if event["type"] != "exit":
            self._output[event["type"]].push(event["data"])
            return None
        exit_fields = {name: value for name, value in event.items() if name != "type"}
        stdout, stderr = self._output["stdout"], self._output["stderr"]
        return cast(
            ExecuteResponse,
            {
                **exit_fields,
                "truncated": bool(event.get("truncated") or stdout.truncated or stderr.truncated),
                "stdout": stdout.text(),
                "stderr": stderr.text(),
            },
        )
