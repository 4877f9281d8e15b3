# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""What comes bit by bit: streams that are closed when their reader leaves, and lists that are read page by page."""

from __future__ import annotations

from types import TracebackType
from typing import Generator, Iterator, Callable, Generic, Optional, Type, TypeVar

from .._page import Page

Item = TypeVar("Item")


class Stream(Generic[Item]):
    """Iterate over it. The call begins with the first item; leaving the ``with`` block around the loop, or ``close``, ends it."""

    def __init__(self, items: Generator[Item, None, None]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        return self._items.__next__()

    def close(self) -> None:
        self._items.close()

    def __enter__(self) -> Stream[Item]:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


def every_item(
    read_page: Callable[[Optional[str]], Page[Item]],
) -> Generator[Item, None, None]:
    """Every item of every page; asks for the next page only when it is wanted."""
    cursor: Optional[str] = None
    while True:
        page = read_page(cursor)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return
