"""Issues in the project's own repository: told through what the forge should say, so nothing is sent here."""

from __future__ import annotations

from app.integrations.notifiers.model import Address, Channel, Reach


def _checked(address: Address, reach: Reach) -> dict[str, str]:
    return {}


GITHUB_ISSUE = Channel(
    title="GitHub issue",
    fields=(),
    checked=_checked,
    shown=lambda address: "the project's repository",
    deliver=None,
    takes_report=False,
)
