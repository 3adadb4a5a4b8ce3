"""Who can be told: one module a kind. Each is tried by `tests/integration/notify/test_conformance.py`."""

from __future__ import annotations

from app.domain.notifications import NotifierKind
from app.integrations.notifiers.github_issue import GITHUB_ISSUE
from app.integrations.notifiers.mail import EMAIL
from app.integrations.notifiers.model import (
    Channel,
    Field,
    Reach,
    ReceiverBusyError,
    ReceiverGoneError,
    ReceiverPartlyError,
    ReceiverRefusedError,
)
from app.integrations.notifiers.slack import SLACK
from app.integrations.notifiers.webhook import WEBHOOK

CHANNELS: dict[NotifierKind, Channel] = {
    NotifierKind.SLACK: SLACK,
    NotifierKind.WEBHOOK: WEBHOOK,
    NotifierKind.EMAIL: EMAIL,
    NotifierKind.GITHUB_ISSUE: GITHUB_ISSUE,
}

__all__ = [
    "CHANNELS",
    "Channel",
    "Field",
    "Reach",
    "ReceiverBusyError",
    "ReceiverGoneError",
    "ReceiverPartlyError",
    "ReceiverRefusedError",
]
