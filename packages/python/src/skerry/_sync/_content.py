# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""The content of an upload, in pieces. Nothing here holds a file."""

from __future__ import annotations

import os
from typing import Any, Generator, Iterable, BinaryIO, Mapping, Union, cast

from ..errors import SkerryInputError

#: Text, bytes, the path of a file of this machine, a file that is open for reading bytes, or pieces of bytes as they come.
UploadContent = Union[str, bytes, "os.PathLike[str]", BinaryIO, Iterable[bytes]]

_PIECE_BYTES = 64 * 1024


def pieces_of(content: UploadContent) -> Union[bytes, Iterable[bytes]]:
    # Also what the type does not allow: not every caller has its types checked.
    given: Any = content
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if isinstance(given, os.PathLike):
        return _of_path(given)
    if hasattr(given, "read"):
        return _of_file(given)
    # A dictionary can be iterated over as well; what that gives are its names.
    if isinstance(given, Iterable) and not isinstance(given, Mapping):
        return _of_pieces(cast(Iterable[bytes], given))
    raise SkerryInputError(
        f"The content of a file cannot be of the type {type(content).__name__}.",
        remediation="Give text, bytes, a `pathlib.Path`, a file open for reading bytes, or an iterable of bytes.",
    )


def _of_path(path: os.PathLike[str]) -> Generator[bytes, None, None]:
    with open(path, "rb") as file:
        for piece in _of_file(file):
            yield piece


def _of_pieces(pieces: Iterable[bytes]) -> Generator[bytes, None, None]:
    for piece in pieces:
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise SkerryInputError(
                f"A piece of the content cannot be of the type {type(piece).__name__}.", remediation="Give pieces of bytes."
            )
        yield bytes(piece)


def _of_file(file: BinaryIO) -> Generator[bytes, None, None]:
    while True:
        piece = file.read(_PIECE_BYTES)
        if not isinstance(piece, bytes):
            raise SkerryInputError("The file is open for text.", remediation='Open it with "rb", or give its `pathlib.Path`.')
        if not piece:
            return
        yield piece
