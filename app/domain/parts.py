"""Many things one after the other in parts of bounded number and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def in_parts(
    items: Iterable[Item], *, most: int, size_of: Callable[[Item], int], largest: int
) -> Iterator[list[Item]]:
    """Yield the items in their order, at most so many a part, of this size together; a larger one is alone."""
    part: list[Item] = []
    size = 0
    for item in items:
        its_size = size_of(item)
        if part and (len(part) == most or size + its_size > largest):
            yield part
            part, size = [], 0
        part.append(item)
        size += its_size
    if part:
        yield part
