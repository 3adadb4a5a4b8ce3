"""How long each class of data is kept: the one table of it. Whatever is in no class is kept for ever.

So results, series, changes, alerts, checks and verdicts stay, as do runs with their invocations, and what devices and
the control told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from app.config import ServiceSettings
from app.services.retention.delete_rows import delete_rows
from app.services.retention.drop_raw import drop_raw
from app.services.retention.forget_logs import forget_logs
from app.services.retention.step import Step
from app.store.repositories import retention


@dataclass(frozen=True)
class Policy:
    """A class of data: its name, what of it is counted, the setting with its age, and what deletes it."""

    name: str
    counted: str
    setting: str
    step: Step

    def keep(self, settings: ServiceSettings) -> timedelta | None:
        """Return how long it is kept; None for ever."""
        days: int = getattr(settings, self.setting)
        return timedelta(days=days) if days else None


POLICIES = (
    Policy("values", "samples", "keep_raw_days", partial(delete_rows, kind=retention.SAMPLES)),
    Policy("timings", "timings, estimates and readings", "keep_raw_days", drop_raw),
    Policy("logs", "runs with logs", "keep_logs_days", forget_logs),
    Policy("reports", "reports", "keep_reports_days", partial(delete_rows, kind=retention.REPORTS)),
    Policy(
        "weekly",
        "weekly reports",
        "keep_weekly_days",
        partial(delete_rows, kind=retention.WEEKLY_REPORTS),
    ),
    Policy(
        "webhooks",
        "messages of GitHub",
        "keep_webhooks_days",
        partial(delete_rows, kind=retention.DELIVERIES),
    ),
    Policy("ticks", "times of schedules", "keep_requests_days", partial(delete_rows, kind=retention.TICKS)),
    Policy("wishes", "measure requests", "keep_requests_days", partial(delete_rows, kind=retention.WISHES)),
    Policy("groups", "merge groups", "keep_requests_days", partial(delete_rows, kind=retention.GROUPS)),
    Policy("sent", "messages of the outbox", "keep_sent_days", partial(delete_rows, kind=retention.MESSAGES)),
    Policy(
        "messages",
        "messages to notifiers",
        "keep_notifications_days",
        partial(delete_rows, kind=retention.NOTIFICATIONS),
    ),
    Policy("audit", "entries", "keep_audit_days", partial(delete_rows, kind=retention.ENTRIES)),
)
