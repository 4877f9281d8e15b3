# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""The file system of a microVM beside the content of single files: what is there, and what becomes of it."""

from __future__ import annotations

from typing import Generator, Literal, Mapping, Optional

from .._event_stream import EventReader, EventStreamError
from .._file_mode import checked_mode
from .._paths import checked_absolute, directory_path, path_under
from .._request import TREE_WITHIN_S, Request
from ..errors import SkerryConnectionError
from ..types import DirectoryListing, FileEvent, FileInfo, SignedUrl
from ._bytes import bytes_at
from ._content import UploadContent, pieces_of
from ._http import Http
from ._streams import Stream


class FileSystem:
    """The file system of one sandbox or machine. Paths are absolute in it."""

    def __init__(self, http: Http, vm: str) -> None:
        self._http = http
        self._vm = vm

    def stat(self, path: str, *, follow: bool = False) -> FileInfo:
        """``type``, ``size`` in bytes, ``mode`` in octal, ``owner``, ``group``, ``modified`` and of a link its ``target``; with ``follow`` of
        what a link leads to. Code ``file_not_found`` where there is nothing."""
        request = Request("GET", self._at("stat", path), query={"follow": follow or None})
        return self._http.json(request, FileInfo)

    def list(self, path: str, *, depth: Optional[int] = None, limit: Optional[int] = None) -> DirectoryListing:
        """The ``entries`` of a directory. With a ``depth`` of 2 to 64 also of those below it, each with its ``path`` from there; links are not
        followed. At most ``limit`` (10,000 without it), then ``truncated``."""
        query = {"list": True, "depth": depth, "limit": limit}
        return self._http.json(Request("GET", directory_path(self._vm, path), query=query), DirectoryListing)

    def make_directory(self, path: str, *, mode: Optional[str] = None) -> FileInfo:
        """Makes a directory and the missing ones above it; ``mode`` is its permissions in octal (default ``0755``). One that is there stays as
        it is."""
        request = Request("PUT", self._at("directories", path), query={"mode": checked_mode(mode)})
        return self._http.json(request, FileInfo)

    def move(self, path: str, to: str) -> FileInfo:
        """Moves a file or a directory, in the place of a file or an empty directory that is there; missing directories above ``to`` are made."""
        return self._change(path, {"path": checked_absolute(to)})

    def set_mode(self, path: str, mode: str) -> FileInfo:
        """Sets permissions, in octal such as ``0755``; of a link, those of what it leads to."""
        return self._change(path, {"mode": checked_mode(mode)})

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file, a link and not what it leads to, an empty directory, and with ``recursive`` a directory with all that is in it. Code
        ``directory_not_empty`` without it."""
        self._http.done(
            Request(
                "DELETE",
                self._at("files", path),
                query={"recursive": recursive or None},
                answer_within_s=TREE_WITHIN_S,
            )
        )

    def pack(self, path: str) -> Stream[bytes]:
        """What is in a directory, as a tar archive that comes as it is written. Needs ``tar`` in the VM. Who unpacks it should not trust its
        names."""
        return Stream(bytes_at(self._http, self._at("archives", path)))

    def unpack(self, path: str, archive: UploadContent) -> None:
        """Unpacks a tar archive, not compressed and of at most 10 GB, into a directory, which is made where it is missing. Needs ``tar`` in the
        VM."""
        request = Request(
            "PUT",
            self._at("archives", path),
            headers={"content-type": "application/octet-stream"},
            answer_within_s=None,
        )
        chunks = self._http.chunks(self._http.open(request, content=pieces_of(archive)))
        for _ in chunks:
            pass

    def watch(self, path: str, *, recursive: bool = False) -> Stream[FileEvent]:
        """What changes in a directory, as events: ``create``, ``write``, ``remove``, ``rename``, ``chmod``, each with its ``path`` from there.

        The first one is ``start``: what changes after it is told. ``overflow``: events were lost, so look again. Ends when the directory is gone;
        leaving the ``with`` block around the loop ends it too. ``recursive``: also the directories below it, those that come later too.
        """
        return Stream(self._events(path, recursive))

    def _events(self, path: str, recursive: bool) -> Generator[FileEvent, None, None]:
        request = Request(
            "GET",
            self._at("watch", path),
            query={"recursive": recursive or None},
            headers={"accept": "text/event-stream"},
        )
        chunks = self._http.chunks(self._http.open(request))
        reader = EventReader()
        try:
            for chunk in chunks:
                for event in reader.feed(chunk):
                    if event.event == "end":
                        return
                    told = event.file_event()
                    if told is not None:
                        yield told
        except EventStreamError as error:
            raise self._http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
        finally:
            chunks.close()
        base_url = self._http.base_url
        raise SkerryConnectionError(f"The connection to {base_url} ended before the watch did.", base_url=base_url)

    def sign_url(
        self,
        path: str,
        *,
        method: Optional[Literal["GET", "PUT"]] = None,
        mode: Optional[str] = None,
        expires_in: Optional[str] = None,
    ) -> SignedUrl:
        """A URL by which everybody who has it reads the file, or with the method ``PUT`` writes it with ``mode`` (octal, default: its own, or ``0644``), without a token;
        ``expires_in`` is at most ``168h``, by default ``1h``."""
        fields = {
            "path": checked_absolute(path),
            "method": method,
            "mode": checked_mode(mode),
            "expires_in": expires_in,
        }
        return self._http.json(Request("POST", f"{self._vm}/urls", json=fields), SignedUrl)

    def _change(self, path: str, fields: Mapping[str, object]) -> FileInfo:
        request = Request("PATCH", self._at("files", path), json=fields, answer_within_s=TREE_WITHIN_S)
        return self._http.json(request, FileInfo)

    def _at(self, part: str, path: str) -> str:
        return path_under(f"{self._vm}/{part}", path)
