"""The words by which alerts are asked for: a state, `open`, `closed`, or `all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from app.domain.alerts import CLOSED_STATES, OPEN_STATES, AlertState

StateWord = AlertState | Literal["open", "closed", "all"]

_SEVERAL: dict[str, tuple[AlertState, ...]] = {
    "open": OPEN_STATES,
    "closed": CLOSED_STATES,
    "all": tuple(AlertState),
}


def states_of(words: Iterable[StateWord]) -> frozenset[AlertState]:
    """Return the states that these words name together."""
    return frozenset(state for word in words for state in _SEVERAL.get(str(word)) or (AlertState(str(word)),))
