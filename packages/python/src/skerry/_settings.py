"""What a client uses where it is given no address and no token: the environment, then the file that ``skerry auth login`` and
``skerry up`` write. As the command line does."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Dict, Mapping, NamedTuple, Optional

import httpx

from .errors import SkerryInputError

DEFAULT_API_URL = "http://127.0.0.1:7070"

_TOKEN_REMEDY = (
    "Give `token`, set SKERRY_API_TOKEN, or save a token with `skerry auth login`; `skerry up` saves one for its own server."
)


class Settings(NamedTuple):
    base_url: str
    token: Optional[str]
    organization: Optional[str]


def find_settings(
    *,
    base_url: Optional[str],
    token: Optional[str],
    organization: Optional[str],
    env: Mapping[str, str] = os.environ,
) -> Settings:
    """What is given counts most, then the environment, then the file. A saved token is used for the server that it was saved for, and
    for no other one. An empty ``token`` is none, and then nothing is looked for."""
    address = base_url if base_url is not None else _non_empty(env.get("SKERRY_API_URL"))
    named = token if token is not None else _non_empty(env.get("SKERRY_API_TOKEN"))
    # A file that nothing is needed from cannot get in the way.
    saved = _find_saved(address, env) if address is None or named is None else {}
    address = address or saved.get("api_url") or DEFAULT_API_URL
    secret = named if named is not None else saved.get("token")
    if secret is None:
        raise SkerryInputError(f"There is no API token for {address}.", code="no_token", remediation=_TOKEN_REMEDY)
    if organization is None and token is None:
        organization = _non_empty(env.get("SKERRY_ORG_ID"))
        # The saved organization was chosen for the saved token; another one's user may not be in it.
        if organization is None and named is None:
            organization = saved.get("organization")
    return Settings(checked_base_url(address), _checked("token", secret or None), _checked("organization", organization))


def checked_base_url(text: str) -> str:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL:
        url = httpx.URL("")
    if not url.host or url.scheme not in ("http", "https"):
        raise SkerryInputError(
            f'"{text}" is not an http or https address.', remediation=f"Give one such as {DEFAULT_API_URL}."
        )
    if url.userinfo:
        raise SkerryInputError(
            "The address must not hold a user name or password.", remediation="Leave them out; `token` goes apart."
        )
    return str(url.copy_with(query=None, fragment=None)).rstrip("/")


def _checked(name: str, value: Optional[str]) -> Optional[str]:
    """For a header. The value itself is not repeated: it may be a secret."""
    if value is not None and (value == "" or not all("!" <= character <= "~" for character in value)):
        raise SkerryInputError(
            f"The {name} is empty or holds spaces or characters outside ASCII.",
            remediation="Give it as it was shown, without quotes or line breaks around it.",
        )
    return value


def _find_saved(base_url: Optional[str], env: Mapping[str, str]) -> Dict[str, str]:
    """What is saved for this server; without an address, what is in the usual file."""
    folder = _config_folder(env)
    usual = _read_saved(folder / "config.json")
    if base_url is None or _is_for(usual, base_url):
        return usual
    # Where `skerry up` saves its token while the usual file has settings for another server.
    local = _read_saved(folder / "local.json")
    return local if _is_for(local, base_url) else {}


def _is_for(saved: Mapping[str, str], base_url: str) -> bool:
    return _normalized(saved.get("api_url", DEFAULT_API_URL)) == _normalized(base_url)


def _normalized(address: str) -> str:
    try:
        # Without the port that its scheme has anyway.
        return str(httpx.URL(address.strip())).rstrip("/")
    except httpx.InvalidURL:
        # What is no address is like no other one; the client refuses it by name.
        return address


def _config_folder(env: Mapping[str, str]) -> Path:
    xdg = env.get("XDG_CONFIG_HOME", "")
    # The XDG specification says to ignore a relative one.
    if os.path.isabs(xdg):
        return Path(xdg, "skerry")
    home = _non_empty(env.get("HOME"))
    return (Path(home) if home is not None else Path.home()) / ".config" / "skerry"


def _read_saved(path: Path) -> Dict[str, str]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise _broken(path, "is not text") from None
    # A token that other users of the machine can read is not a secret any more; going on would hide it. Windows has no such permissions.
    if sys.platform != "win32" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise SkerryInputError(
            f"Other users can read {path}, which holds a token.",
            code="config_not_private",
            remediation=f"Run `chmod 600 {path}`, and revoke the token if another user may have read it.",
        )
    try:
        saved = json.loads(text)
    except ValueError:
        raise _broken(path, "is not JSON") from None
    if not isinstance(saved, dict):
        raise _broken(path, "does not hold an object")
    for name in ("api_url", "token", "organization"):
        if not isinstance(saved.get(name, ""), str):
            raise _broken(path, f"has a field {name} that is not a string")
    return saved


def _broken(path: Path, what: str) -> SkerryInputError:
    return SkerryInputError(
        f"{path} {what}.",
        code="config_broken",
        remediation="Repair it, or delete it and save a token again: `skerry auth login`, or `skerry up`.",
    )


def _non_empty(text: Optional[str]) -> Optional[str]:
    return (text or "").strip() or None
