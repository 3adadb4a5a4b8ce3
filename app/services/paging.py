"""Pages of lists: where the next one goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def page_end(is_cut: bool, ids: Sequence[int]) -> dict[str, Any]:
    """Return `{more, next}` of a page that shows these; where it is cut, the next goes on after the last of them."""
    return {"more": is_cut, "next": ids[-1] if is_cut else None}
