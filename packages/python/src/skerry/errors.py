"""Everything that a call can fail with. Each is a ``SkerryError``."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Sequence, Type, Union

from .types import ERROR_STATUS, ErrorCode


class SkerryError(Exception):
    """What a call failed with."""

    #: For programs. From the API's closed list where the server refused.
    code: str
    message: str
    #: What to do about it, where that is known.
    remediation: Optional[str]

    def __init__(self, message: str, *, code: str, remediation: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remediation = remediation

    def __str__(self) -> str:
        return " ".join(part for part in (self.message, self.remediation, f"({self.code})") if part)


class SkerryInputError(SkerryError, ValueError):
    """The arguments or the settings cannot be used with any server: nothing was sent.

    ``code`` is ``invalid_input``, ``no_token``, or what is wrong with the saved settings: ``config_not_private``,
    ``config_broken``.
    """

    remediation: str

    def __init__(self, message: str, *, code: str = "invalid_input", remediation: str) -> None:
        super().__init__(message, code=code, remediation=remediation)


class SkerryConnectionError(SkerryError):
    """The server could not be reached, stopped answering, or the connection broke. Whether the call took effect is unknown."""

    #: The address that was called.
    base_url: str
    #: Whether the connection broke, so that the same call can succeed at once; False where the server was silent or answered nonsense.
    broke: bool

    def __init__(self, message: str, *, base_url: str, broke: bool = False) -> None:
        remediation = (
            f"Check that {base_url} is the right address and that the server runs; `skerry up` starts one on this machine."
        )
        super().__init__(message, code="connection_failed", remediation=remediation)
        self.base_url = base_url
        self.broke = broke


class SkerryStatusError(SkerryError):
    """A resource has ended in another status than what was waited for, or has not come there in time."""

    #: Its last state, and the status of that.
    resource: object
    status: str

    def __init__(self, resource: object, status: str, wanted: Sequence[str], *, is_over: bool) -> None:
        words = " or ".join(wanted)
        super().__init__(
            f"It is {status}, and will not be {words}." if is_over else f"It is {status}, and not {words} in time.",
            code="status_not_reached",
            remediation="Read its `reason` or `error`, which says why." if is_over else "Wait longer (`timeout_s`), or read its `waits_for`, which says what it waits for.",
        )
        self.resource = resource
        self.status = status


class SkerryTooLargeError(SkerryError):
    """A file has more bytes than ``download`` may hold in memory. The download has been broken off."""

    max_bytes: int

    def __init__(self, max_bytes: int) -> None:
        super().__init__(
            f"The file has more than {max_bytes} bytes, the most that `download` collects in memory here.",
            code="too_large",
            remediation="Use `download_stream`, which holds no file in memory, or give a larger `max_bytes`.",
        )
        self.max_bytes = max_bytes


class SkerryApiError(SkerryError):
    """The server understood the call and refused it, or failed at it. Usually one of the classes below."""

    #: HTTP status.
    status: int
    #: Facts for a program: the offending field, its value, the limit.
    context: Dict[str, object]
    #: Finds this request in the server's log.
    request_id: Optional[str]
    #: Seconds after which the same call may succeed.
    retry_after_s: Optional[float]

    def __init__(
        self,
        message: str,
        *,
        code: Union[ErrorCode, str],
        status: int,
        remediation: Optional[str] = None,
        context: Optional[Mapping[str, object]] = None,
        request_id: Optional[str] = None,
        retry_after_s: Optional[float] = None,
    ) -> None:
        super().__init__(message, code=code, remediation=remediation)
        self.status = status
        self.context = dict(context or {})
        self.request_id = request_id
        self.retry_after_s = retry_after_s


class InvalidRequestError(SkerryApiError):
    """The request is wrong in every state of the server: a field, a path, a size."""


class UnauthorizedError(SkerryApiError):
    """The token is missing, unknown, expired or revoked."""


class ForbiddenError(SkerryApiError):
    """The token lacks a scope, or its user a role."""


class NotFoundError(SkerryApiError):
    """What the call is about does not exist, or is another organization's."""


class ConflictError(SkerryApiError):
    """What the call is about is in a state that does not allow it, or has another version than the call is for."""


class ImpossibleError(SkerryApiError):
    """The request was understood and cannot be met: an unknown template, a timeout over the maximum."""


class RateLimitedError(SkerryApiError):
    """Too much at once; ``retry_after_s`` says when there is room again."""


class UnavailableError(SkerryApiError):
    """The server cannot do it now: no room, a host or the database is away, or it is shutting down."""


_CLASSES: Mapping[int, Type[SkerryApiError]] = {
    400: InvalidRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: InvalidRequestError,
    408: InvalidRequestError,
    409: ConflictError,
    412: ConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    416: InvalidRequestError,
    422: ImpossibleError,
    429: RateLimitedError,
    426: InvalidRequestError,
    431: InvalidRequestError,
    503: UnavailableError,
}


def error_of_body(
    body: object,
    status: Optional[int],
    *,
    request_id: Optional[str] = None,
    retry_after_s: Optional[float] = None,
) -> Optional[SkerryApiError]:
    """The error that this JSON is; None where it is none of Skerry's. In a stream it has no status of its own."""
    if not isinstance(body, dict):
        return None
    code, message = body.get("code"), body.get("message")
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    status = status if status is not None else ERROR_STATUS.get(code, 500)
    remediation, context, named = body.get("remediation"), body.get("context"), body.get("request_id")
    return _CLASSES.get(status, SkerryApiError)(
        message,
        code=code,
        status=status,
        remediation=remediation if isinstance(remediation, str) else None,
        context=context if isinstance(context, dict) else None,
        request_id=named if isinstance(named, str) else request_id,
        retry_after_s=retry_after_s,
    )
