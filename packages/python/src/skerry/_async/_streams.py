"""What comes bit by bit: streams that are closed when their reader leaves, and lists that are read page by page."""

from __future__ import annotations

from types import TracebackType
from typing import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generic, Optional, Type, TypeVar

from .._page import Page

Item = TypeVar("Item")


class AsyncStream(Generic[Item]):
    """Iterate over it. The call begins with the first item; leaving the ``async with`` block around the loop, or ``aclose``, ends it."""

    def __init__(self, items: AsyncGenerator[Item, None]) -> None:
        self._items = items

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        return await self._items.__anext__()

    async def aclose(self) -> None:
        await self._items.aclose()

    async def __aenter__(self) -> AsyncStream[Item]:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.aclose()


async def every_item(
    read_page: Callable[[Optional[str]], Awaitable[Page[Item]]],
) -> AsyncGenerator[Item, None]:
    """Every item of every page; asks for the next page only when it is wanted."""
    cursor: Optional[str] = None
    while True:
        page = await read_page(cursor)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return
