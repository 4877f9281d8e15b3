"""Where things are below the base address. What goes into a path comes from callers, and URL parsers fold ``..`` even when it is
percent-encoded, so nothing that could climb out of its place may get in."""

from __future__ import annotations

from urllib.parse import quote

from .errors import SkerryInputError


def segment(text: str) -> str:
    if text in ("", ".", ".."):
        raise SkerryInputError(
            "An id is empty." if text == "" else f'"{text}" cannot be part of a path.',
            remediation="Give the id or the name of what is meant, or the whole absolute path of a file.",
        )
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form.
        raise SkerryInputError(
            "The path is not valid Unicode.", remediation="Rename the file, or pack it with `tar` by a command in the VM."
        ) from None


def file_path(vm: str, path: str) -> str:
    """A file in the microVM at this path of the API. ``path`` is absolute in the VM."""
    if path.endswith("/"):
        raise SkerryInputError(
            f'The path "{path}" names a directory, not a file.', remediation="Add the name of the file."
        )
    return directory_path(vm, path)


def directory_path(vm: str, path: str) -> str:
    """``/`` is the root, a slash at the end says nothing more."""
    return path_under(f"{vm}/files", path)


def path_under(base: str, path: str) -> str:
    """What this path of the API has for a path in the VM."""
    checked_absolute(path)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return f"{base}/{'/'.join(segment(part) for part in parts)}"


def checked_absolute(path: str) -> str:
    if not path.startswith("/"):
        raise SkerryInputError(
            f'The path "{path}" is not absolute.', remediation="Begin it with a slash, such as /root/data."
        )
    return path
