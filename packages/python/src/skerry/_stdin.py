"""What a command reads from its standard input."""

from __future__ import annotations

import base64
from typing import Dict, Union

from .errors import SkerryInputError

STDIN_MAX_BYTES = 10 * 1024 * 1024


def stdin_fields(stdin: Union[str, bytes, None]) -> Dict[str, str]:
    """Of a request. Also text goes as base64: as JSON it could be six times as long as its bytes."""
    if not stdin:
        return {}
    try:
        data = stdin.encode() if isinstance(stdin, str) else bytes(stdin)
    except UnicodeEncodeError:
        raise SkerryInputError("The input is not valid Unicode.", remediation="Give it as bytes.") from None
    if len(data) > STDIN_MAX_BYTES:
        raise SkerryInputError(
            f"The input has {len(data)} bytes; a command takes at most {STDIN_MAX_BYTES}.",
            remediation="Upload it as a file, and redirect it: command < file.",
        )
    return {"stdin": base64.b64encode(data).decode("ascii"), "stdin_encoding": "base64"}
