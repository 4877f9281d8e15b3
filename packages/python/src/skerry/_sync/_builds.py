# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""Builds of templates: how far they are, and what they print."""

from __future__ import annotations

from typing import Generator, Optional, cast

from .._event_stream import EventReader, EventStreamError
from .._paths import segment
from .._request import Request
from ..errors import SkerryConnectionError
from ..types import BuildLog, BuildLogLine
from ._content import UploadContent, pieces_of
from ._generated._builds import GeneratedBuilds
from ._streams import Stream


class Builds(GeneratedBuilds):
    """Builds of the organization. ``templates.build()`` begins one."""

    def send_context(self, id: str, archive: UploadContent) -> None:
        """Sends the context of a build that waits for it: a tar archive, not compressed and of at most 2 GiB."""
        request = Request(
            "PUT",
            f"{_at(id)}/context",
            headers={"content-type": "application/octet-stream"},
            answer_within_s=None,
        )
        chunks = self._http.chunks(self._http.open(request, content=pieces_of(archive)))
        for _ in chunks:
            pass

    def send_secret(self, id: str, name: str, *, value: str) -> None:
        """Gives a secret of at most 64 KiB to a build that waits for its context, for ``RUN --mount=type=secret,id=NAME`` of its Dockerfile."""
        request = Request(
            "PUT",
            f"{_at(id)}/secrets/{segment(name)}",
            headers={"content-type": "application/octet-stream"},
        )
        chunks = self._http.chunks(self._http.open(request, content=pieces_of(value.encode())))
        for _ in chunks:
            pass

    def log(self, id: str, *, after: Optional[int] = None) -> BuildLog:
        """Up to 1,000 lines of its log, those after the line ``after``."""
        return self._http.json(Request("GET", f"{_at(id)}/logs", query={"after": after}), BuildLog)

    def follow_log(self, id: str, *, after: Optional[int] = None) -> Stream[BuildLogLine]:
        """The lines of its log, and each one as it comes, until the build has ended."""
        return Stream(self._follow(f"{_at(id)}/logs", after))

    def _follow(self, path: str, after: Optional[int]) -> Generator[BuildLogLine, None, None]:
        query = {"after": after, "follow": True}
        request = Request("GET", path, query=query, headers={"accept": "text/event-stream"})
        chunks = self._http.chunks(self._http.open(request))
        reader = EventReader()
        try:
            for chunk in chunks:
                for event in reader.feed(chunk):
                    if event.event == "line":
                        yield cast(BuildLogLine, event.json())
                    elif event.event == "error":
                        raise event.error()
                    elif event.event == "end":
                        return
        except EventStreamError as error:
            raise self._http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
        finally:
            chunks.close()
        base_url = self._http.base_url
        raise SkerryConnectionError(f"The connection to {base_url} ended before the log did.", base_url=base_url)


def _at(id: str) -> str:
    return f"/v1/builds/{segment(id)}"
