"""The permissions of a file that is uploaded."""

from __future__ import annotations

import re
from typing import Optional

from .errors import SkerryInputError


def checked_mode(mode: Optional[str]) -> Optional[str]:
    # Also what the type does not allow: a number is as often meant in octal as not.
    if mode is None or (isinstance(mode, str) and re.fullmatch("0?[0-7]{3,4}", mode)):
        return mode
    raise SkerryInputError(
        f"The mode {mode!r} is not the permissions of a file.", remediation='Give them in octal as text, such as "0755".'
    )
