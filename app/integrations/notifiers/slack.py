"""A channel of Slack, or of a program that takes what Slack's incoming webhooks take (Mattermost, Zulip)."""

from __future__ import annotations

from app.domain.notifications import Letter
from app.integrations.notifiers.model import Address, Channel, Field, Reach
from app.integrations.notifiers.posting import checked_url, post, shown_url


def _checked(address: Address, reach: Reach) -> dict[str, str]:
    return {"url": checked_url(address.get("url", ""), reach)}


def _deliver(address: Address, letter: Letter, reach: Reach) -> None:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Ratchet",
        "Idempotency-Key": letter.key,
    }
    post(address["url"], letter.body, headers, reach)


SLACK = Channel(
    title="Slack",
    fields=(Field("url", "Incoming webhook", "https://hooks.slack.com/services/…", is_secret=True),),
    checked=_checked,
    shown=lambda address: shown_url(address["url"]),
    deliver=_deliver,
)
