"""What the stream of a command's output gives."""

from __future__ import annotations

from typing import Literal, TypedDict, Union

from .types import ExecuteExit


class OutputEvent(TypedDict):
    """A piece of output as it came."""

    type: Literal["stdout", "stderr"]
    data: bytes


class ExitEvent(ExecuteExit):
    """The end of the command: the last event, which comes exactly once."""

    type: Literal["exit"]


ExecuteEvent = Union[OutputEvent, ExitEvent]


class FollowedOutput(OutputEvent):
    """``position`` counts the bytes of stdout and stderr together up to its end: what ``after`` takes."""

    position: int


class FollowedExit(ExitEvent):
    position: int


#: Bytes between the positions ``from`` and ``to`` are kept no more; ``position`` is ``to``.
DroppedEvent = TypedDict(
    "DroppedEvent", {"type": Literal["dropped"], "from": int, "to": int, "position": int}
)

FollowEvent = Union[FollowedOutput, FollowedExit, DroppedEvent]
