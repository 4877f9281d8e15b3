"""Lists come in pages: newest first, with a cursor to the next page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, List, Optional, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    items: List[Item]
    #: None on the last page.
    next_cursor: Optional[str]
