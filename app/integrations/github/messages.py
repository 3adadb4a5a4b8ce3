"""Messages that GitHub could not deliver to the app: those that it tells of, and sending one again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from app.domain.forge import LostMessage
from app.integrations.github.connection import told

MOST_PAGES = 10
"""Pages of what failed that are read in one look."""

PAGE = 100


def lost_messages(apps: Any, since: datetime) -> list[LostMessage]:
    """Return the tries that have failed since then, of those that GitHub lists first: the newest."""
    found: list[LostMessage] = []
    for page in _pages(apps):
        found += [message for message in page if message.sent_at >= since]
        if any(message.sent_at < since for message in page):
            break
    return found


def _pages(apps: Any) -> Iterator[list[LostMessage]]:
    """Yield pages of failed tries, the newest first."""
    options: dict[str, Any] = {"per_page": PAGE, "status": "failure"}
    for _ in range(MOST_PAGES):
        with told():
            answer = apps.list_webhook_deliveries(**options)
        yield [_lost(tried) for tried in answer.json() if not 200 <= int(tried.get("status_code") or 0) < 300]
        following = answer.raw_response.links.get("next", {}).get("url", "")
        cursor = parse_qs(urlsplit(following).query).get("cursor")
        if not cursor:
            return
        options["cursor"] = cursor[0]


def _lost(tried: dict[str, Any]) -> LostMessage:
    sent_at = datetime.fromisoformat(str(tried["delivered_at"]))
    return LostMessage(int(tried["id"]), str(tried["guid"]), sent_at)


def deliver_again(apps: Any, message: LostMessage) -> None:
    """Have GitHub send a message once more."""
    with told():
        apps.redeliver_webhook_delivery(message.id)
