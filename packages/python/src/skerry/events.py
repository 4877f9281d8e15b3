"""What streams give: of a command's output, and of what changes in an organization."""

from __future__ import annotations

from typing import Literal, TypedDict, Union

from .types import EventReset, EventsSynced, ExecuteExit, ResourceEvent


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


class ChangedEvent(ResourceEvent):
    """A resource that has changed, with its newest state. ``cursor`` is one to go on after."""

    type: Literal["changed"]
    cursor: str


class SyncedEvent(EventsSynced):
    """Everything up to ``cursor`` was told. Comes every 15 s at least."""

    type: Literal["synced"]


class ResetEvent(EventReset):
    """What was known is too old to be gone on from: list it anew. What changes from here on is told."""

    type: Literal["reset"]


FollowedChange = Union[ChangedEvent, SyncedEvent, ResetEvent]
