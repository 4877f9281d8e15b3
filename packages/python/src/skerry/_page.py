"""Lists come in pages: newest first, with a cursor to the next page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, List, Mapping, Optional, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    items: List[Item]
    #: None on the last page.
    next_cursor: Optional[str]


@dataclass(frozen=True)
class CountedPage(Page[Item]):
    #: By status: how many pass the filter, whatever its ``status`` and ``alive`` say, without those that are destroyed. None where it was not asked for.
    counts: Optional[Mapping[str, int]] = None
