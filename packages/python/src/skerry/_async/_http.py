"""The connection to one server: headers, deadlines, errors, and sending again what is safe to send twice."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import replace
from typing import Any, AsyncGenerator, AsyncIterable, Callable, Dict, Optional, Type, TypeVar, Union, cast

import httpx

from .._background import AsyncBackground
from .._request import ANSWER_WITHIN_S, RETRIES_DEFAULT, SETTLE_WITHIN_S, Request, pause_before_retry
from .._settings import Settings
from ..errors import SkerryApiError, SkerryConnectionError, SkerryError, SkerryInputError, error_of_body

Answer = TypeVar("Answer")

#: Of an answer: the process that has asked for it.
_PID = "skerry.pid"


class AsyncHttp:
    def __init__(
        self, settings: Settings, *, retries: Optional[int] = None, http_client: Optional[httpx.AsyncClient] = None
    ) -> None:
        self.base_url = settings.base_url
        self._retries = RETRIES_DEFAULT if retries is None else retries
        self._headers: Dict[str, str] = {"accept": "application/json", "accept-encoding": "identity"}
        if settings.token is not None:
            self._headers["authorization"] = f"Bearer {settings.token}"
        if settings.organization is not None:
            self._headers["x-org-id"] = settings.organization
        self._given = http_client
        self._client = httpx.AsyncClient() if http_client is None else http_client
        self._abandoned = AsyncBackground()
        self._pid = os.getpid()
        self._is_used = False

    async def aclose(self) -> None:
        if self._pid != os.getpid():
            # Its connections are those of the process before the fork, which a farewell would end there.
            return
        await self._abandoned.settled()
        await self._client.aclose()

    def _client_here(self) -> httpx.AsyncClient:
        """After a fork the child shares the parent's connections, and each would read what the other has asked for. So it begins with none."""
        if self._pid != os.getpid():
            if self._given is not None and self._is_used:
                raise SkerryInputError(
                    "The `http_client` has connections of the process before the fork, whose answers would cross.",
                    remediation="Make another `http_client`, and with it another client of Skerry, after the fork.",
                )
            if self._given is None:
                self._client = httpx.AsyncClient()
            self._abandoned = AsyncBackground()
            self._pid = os.getpid()
        self._is_used = True
        return self._client

    async def json(self, request: Request, answer: Type[Answer]) -> Answer:
        """The JSON of the answer. The type is the API's word for it; the client does not validate."""
        return await self.answer(await self.open(request), answer)

    async def created(self, request: Request, answer: Type[Answer], destruction: Callable[[Answer], Request]) -> Answer:
        """The JSON of a creation. Where its caller stops waiting (a canceled task, Ctrl-C, a signal's exception), or the server is silent for
        too long, what comes of it is destroyed in the background: the caller would never learn its id. With a key of its own the caller can
        ask again, and nothing is destroyed."""
        sent = request.with_key()
        try:
            return await self.json(sent, answer)
        except (SkerryApiError, SkerryInputError, GeneratorExit):
            # Nothing was created; or the event loop is gone, and with it every way to the server.
            raise
        except BaseException as error:
            # One that broke has been sent again already.
            if request.key is None and not (isinstance(error, SkerryConnectionError) and error.broke):
                self._abandoned.start(lambda: self._destroy_abandoned(sent, answer, destruction))
            raise

    async def _destroy_abandoned(
        self, sent: Request, answer: Type[Answer], destruction: Callable[[Answer], Request]
    ) -> None:
        """The server goes on with a creation whose client has left. The same key has it told what came of that."""
        try:
            created = await self.json(replace(sent, answer_within_s=SETTLE_WITHIN_S), answer)
            await self.done(destruction(created))
        except Exception:
            # Refused, failed, or never answered: there is nothing that could be destroyed, and the caller has its own error.
            pass

    async def answer(self, response: httpx.Response, answer: Type[Answer]) -> Answer:
        """The JSON of an answer that has begun."""
        body = await self._read(response)
        try:
            return cast(Answer, json.loads(body))
        except (ValueError, RecursionError) as error:
            raise self.trouble("the answer is not JSON") from error

    async def done(self, request: Request, *, content: Optional[bytes] = None) -> None:
        """For answers without a body that matters."""
        await self._read(await self.open(request, content=content))

    async def open(
        self, request: Request, *, content: Union[bytes, AsyncIterable[bytes], None] = None
    ) -> httpx.Response:
        """Sends the request, and returns once the server has accepted it. The caller reads the answer by ``chunks``."""
        sent = request.with_key()
        attempt = 1
        while True:
            try:
                return await self._open_once(sent, content)
            except SkerryError as error:
                pause_s = None if attempt > self._retries else pause_before_retry(sent, error, attempt)
                if pause_s is None:
                    raise
            await asyncio.sleep(pause_s)
            attempt += 1

    async def chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The body as it comes. Leaving the loop over it early closes the connection."""
        self._check_process(response)
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
                self._check_process(response)
        except httpx.TransportError as error:
            raise self._named(error, "Lost the connection to") from error
        finally:
            if response.extensions.get(_PID) == os.getpid():
                await response.aclose()

    def _check_process(self, response: httpx.Response) -> None:
        if response.extensions.get(_PID) != os.getpid():
            raise self.trouble("the answer began before the fork and belongs to the other process")

    def trouble(self, what: str) -> SkerryConnectionError:
        """An answer that is not what Skerry answers."""
        return SkerryConnectionError(f"Trouble with Skerry at {self.base_url}: {what}.", base_url=self.base_url)

    async def _open_once(
        self, request: Request, content: Union[bytes, AsyncIterable[bytes], None]
    ) -> httpx.Response:
        headers = {**self._headers, **request.headers}
        body = request.body()
        if body is not None:
            headers["content-type"] = "application/json"
            content = body
        client = self._client_here()
        try:
            response = await client.send(
                client.build_request(
                    request.method,
                    self.base_url + request.path,
                    params=request.query_texts() or None,
                    headers=headers,
                    content=content,
                    timeout=httpx.Timeout(ANSWER_WITHIN_S, read=request.answer_within_s),
                ),
                stream=True,
                # A redirect would turn a POST into a GET, or carry the token to another place.
                follow_redirects=False,
            )
            response.extensions = {**response.extensions, _PID: os.getpid()}
            return await self._accepted(response)
        except httpx.TransportError as error:
            raise self._named(error, "Cannot reach") from error

    async def _accepted(self, response: httpx.Response) -> httpx.Response:
        if response.is_success:
            return response
        body = await self._read(response)
        try:
            found: Any = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        headers = response.headers
        raise error_of_body(
            found,
            response.status_code,
            request_id=headers.get("x-request-id"),
            retry_after_s=_seconds(headers.get("retry-after", "")),
        ) or SkerryApiError(
            f"{self.base_url} answered {response.status_code} {response.reason_phrase}".rstrip() + ", but not as Skerry.",
            code="unexpected_response",
            status=response.status_code,
            remediation="Check the address: something else listens there, or a proxy in between failed.",
        )

    async def _read(self, response: httpx.Response) -> bytes:
        return b"".join([chunk async for chunk in self.chunks(response)])

    def _named(self, error: httpx.TransportError, what: str) -> SkerryConnectionError:
        if isinstance(error, httpx.TimeoutException):
            return self.trouble(f"no answer in time ({type(error).__name__})")
        broke = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
        detail = str(error) or type(error).__name__
        return SkerryConnectionError(
            f"{what} Skerry at {self.base_url} ({detail}).", base_url=self.base_url, broke=broke
        )


def _seconds(text: str) -> Optional[float]:
    return float(text) or None if re.fullmatch("[0-9]{1,9}", text) else None
