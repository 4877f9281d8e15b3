"""The Python client of Skerry: run code in microVMs.

``Skerry`` is the client for plain code, ``AsyncSkerry`` the one for asyncio. ``skerry.types`` has what the API takes and answers.
"""

from ._async._client import AsyncSkerry
from ._async._content import AsyncUploadContent
from ._async._file_system import AsyncFileSystem
from ._async._sandboxes import AsyncSandbox
from ._async._streams import AsyncStream
from ._page import CountedPage, Page
from ._sync._client import Skerry
from ._sync._content import UploadContent
from ._sync._file_system import FileSystem
from ._sync._sandboxes import Sandbox
from ._sync._streams import Stream
from .errors import (
    ConflictError,
    ForbiddenError,
    ImpossibleError,
    InvalidRequestError,
    NotFoundError,
    RateLimitedError,
    SkerryApiError,
    SkerryConnectionError,
    SkerryError,
    SkerryInputError,
    SkerryStatusError,
    SkerryTooLargeError,
    UnauthorizedError,
    UnavailableError,
)
from .events import (
    ChangedEvent,
    DroppedEvent,
    ExecuteEvent,
    ExitEvent,
    FollowedChange,
    FollowedExit,
    FollowedOutput,
    FollowEvent,
    OutputEvent,
    ResetEvent,
    SyncedEvent,
)

__all__ = [
    "AsyncFileSystem",
    "AsyncSandbox",
    "AsyncSkerry",
    "AsyncStream",
    "AsyncUploadContent",
    "ChangedEvent",
    "ConflictError",
    "CountedPage",
    "DroppedEvent",
    "ExecuteEvent",
    "ExitEvent",
    "FileSystem",
    "FollowEvent",
    "FollowedChange",
    "FollowedExit",
    "FollowedOutput",
    "ForbiddenError",
    "ImpossibleError",
    "InvalidRequestError",
    "NotFoundError",
    "OutputEvent",
    "Page",
    "RateLimitedError",
    "ResetEvent",
    "Sandbox",
    "Skerry",
    "SkerryApiError",
    "SkerryConnectionError",
    "SkerryError",
    "SkerryInputError",
    "SkerryStatusError",
    "SkerryTooLargeError",
    "Stream",
    "SyncedEvent",
    "UnauthorizedError",
    "UnavailableError",
    "UploadContent",
]
