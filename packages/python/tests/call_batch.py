"""Evaluates expressions with both clients in one process, which starts once: a JSON object a line comes on standard input, and what the expression
gives goes out as one. Its address and its token are in the environment, where the clients look for them."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from dataclasses import is_dataclass
from typing import Any, AsyncIterator, Callable, Iterator, List

from skerry import AsyncSkerry, Skerry


async def plain(value: Any) -> Any:
    """As JSON has it. What comes piece by piece is read to its end, and pieces of bytes are one text."""
    if inspect.isawaitable(value):
        return await plain(await value)
    if isinstance(value, AsyncIterator):
        return await whole([item async for item in value])
    if isinstance(value, Iterator):
        return await whole(list(value))
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {name: await plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [await plain(item) for item in value]
    if hasattr(value, "info"):
        return value.info
    if is_dataclass(value):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        # Counts that were not asked for.
        return {name: await plain(item) for name, item in fields.items() if (name, item) != ("counts", None)}
    return value


async def whole(items: List[Any]) -> Any:
    if items and all(isinstance(item, bytes) for item in items):
        return b"".join(items).decode()
    return [await plain(item) for item in items]


def with_body(method: Callable[..., Any], *arguments: Any) -> Any:
    """Calls it with the fields of a body, which is the last argument, by their names, or with the body as a whole."""
    *places, body = arguments
    names = list(inspect.signature(method).parameters)[len(places) :]
    return method(*places, **body) if set(body) <= set(names) else method(*places, body)


#: Beside the client: the words of JSON, and what generated methods are called by.
NAMES = {"true": True, "false": False, "null": None, "with_body": with_body}


async def main() -> None:
    with Skerry() as skerry:
        async with AsyncSkerry() as async_skerry:
            clients = {"python": skerry, "asyncio": async_skerry}
            for line in sys.stdin:
                asked = json.loads(line)
                try:
                    given = eval(asked["expression"], {**NAMES, "skerry": clients[asked["client"]]})
                    answer = {"gives": await plain(given)}
                except Exception as error:
                    answer = {"failed": repr(error)}
                print(json.dumps(answer), flush=True)


asyncio.run(main())
